"""Collects the commands that a door prints, and runs them as a person does who copies them."""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from undogmatic.cli import main

_COMMAND = r"(?:python -m undogmatic\.run|undogmatic)(?= )"
_QUOTED = re.compile(rf"`({_COMMAND}[^`]*)`")
_BARE = re.compile(rf"^(?:.*: )?\s*({_COMMAND} .*?)\s*$", re.MULTILINE)
_LEFT_OPEN = re.compile(
    r"\.\.\.|\b(?:FILE|RUN|COLUMN|KEY|NAME|LABELS|DIR)\b|--help|^undogmatic \w+$"
)


def commands_in(told: str) -> list[str]:
    """The commands in what was printed, each once: between backticks, alone on a line, and behind a
    colon at the end of one. Those that leave a name to the reader are no commands yet."""
    found = [*_QUOTED.findall(told), *_BARE.findall(_QUOTED.sub("", told))]
    return [each for each in dict.fromkeys(found) if not _LEFT_OPEN.search(each)]


def _label(server: Any) -> None:
    """Answer for the first items of a page."""
    sheet = server.sheet
    about = sheet.about()
    options = about["options"] or [str(about["minimum"]), str(about["maximum"])]
    for n, entry in enumerate(sheet.entries[:40]):
        sheet.label(entry.id, sheet._read(options[n % len(options)]))


class Person:
    """Somebody who types a command, reads what it prints, and types whatever it suggests."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.capsys, self.typed = capsys, list[str]()
        served = "undogmatic.review.page.Server.serve_forever"
        monkeypatch.setattr(served, _label)

    def types(self, command: str) -> str:
        """What a command prints; it may end with the status of a gate, and with no other error."""
        words = shlex.split(command)
        assert words[0] == "undogmatic", (
            f"{command}: is started by tests/test_documented_commands.py"
        )
        self.capsys.readouterr()
        status: Any = 0
        try:
            main([*words[1:], *(["--no-browser"] if words[1] == "label" else [])])
        except SystemExit as ended:
            status = ended.code or 0
        told = self.capsys.readouterr()
        gate = words[1] == "gate" and status in (0, 1, 2)
        assert gate or status == 0, f"{command}\n{told.out}{told.err}"
        self.typed.append(command)
        return told.out

    def follows(self, command: str, most: int = 8) -> list[str]:
        """Type a command and then each that was printed since, and so on; those that were typed."""
        waiting, begun = [command], len(self.typed)
        while waiting and len(self.typed) - begun < most:
            now = waiting.pop(0)
            if now not in self.typed:
                waiting += commands_in(self.types(now))
        return self.typed[begun:]


def written_in(folder: Path) -> Iterator[str]:
    """The commands in the pages that a door has written."""
    for path in sorted([*folder.rglob("*.md")]):
        with contextlib.suppress(UnicodeDecodeError):
            text = path.read_text(encoding="utf-8")
            blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
            yield from commands_in("\n".join([text.replace("\\", ""), *blocks]))
