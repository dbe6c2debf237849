"""Reads the list of commands (`commands.yaml`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

COMMANDS = Path(__file__).with_name("commands.yaml")


@dataclass(frozen=True)
class Session:
    """Commands that are typed one after another in one folder.

    Attributes:
        quick: Whether they belong to the quick subset.
    """

    name: str
    lines: tuple[str, ...]
    quick: bool

    @property
    def needs_shared(self) -> bool:
        """Whether a command reads data that is not published."""
        return any("shared/" in line for line in self.lines)


class Listed:
    """The sessions of a file of commands, and the files that lie where they are typed."""

    def __init__(self, path: Path = COMMANDS) -> None:
        self._read: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
        self.sessions = [
            _session(name, typed, section)
            for section in self._read["sections"]
            for name, typed in section["sessions"].items()
        ]
        names = [session.name for session in self.sessions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SystemExit(f"{path}: several sessions are called {', '.join(twice)}.")

    @cached_property
    def files(self) -> dict[str, str | bytes]:
        """The small files that commands name, by their names."""
        written: dict[str, str | bytes] = dict(self._read["files"])
        return written | made()

    def chosen(self, names: Sequence[str], quick: bool) -> list[Session]:
        """The sessions of these names, or all.

        Raises:
            SystemExit: A name is not known.
        """
        known = {session.name for session in self.sessions}
        unknown = [name for name in names if name not in known]
        if unknown:
            what = "no session is" if len(unknown) == 1 else "no sessions are"
            raise SystemExit(f"{what} called {', '.join(unknown)}; --list shows all.")
        return [
            session
            for session in self.sessions
            if (not names or session.name in names) and (session.quick or not quick)
        ]


def _session(name: str, typed: str | list[str], section: dict[str, Any]) -> Session:
    """One session; each of its commands is typed once with each of the section's `forms`."""
    plain = [
        " ".join(line.split())
        for line in ([typed] if isinstance(typed, str) else typed)
    ]
    lines = [
        f"{line} {form}".strip()
        for line in plain
        for form in section.get("forms", [""])
    ]
    quick = section.get("quick", False)
    return Session(name, tuple(lines), quick is True or (quick and name in quick))


def made() -> dict[str, str | bytes]:
    """Files of many rows or of bytes that no list of commands can hold."""
    from tests.optimize.conftest import texts

    rows = texts(60)
    lines = [json.dumps(row) for row in rows]
    graded = []
    for row in rows:
        human, judge = row["label"] // 20 + 1, len(row["text"]) % 5 + 1
        graded.append(f"{row['id']},{row['text']},{human},{judge}")
    return {
        "kestrels.jsonl": "\n".join(lines) + "\n",
        "grades.csv": "\n".join(["item,text,human,judge", *graded]) + "\n",
        "latin.csv": "item,text,human,judge\n1,ação,pass,fail\n".encode("latin-1"),
        "zeros.csv": b"item,text\x00,human,judge\n1,a\x00b,pass,pass\n",
        "not_a_workbook.xlsx": b"PK\x03\x04 and then nothing of a workbook",
        "not_parquet.parquet": b"PAR1 and then nothing of a table PAR1",
    }
