"""Shows a file of the gauntlet to this program and to other validators of judges, and reads what
each says of it.

Each tool gets the same rows under its own column names, and runs on its own defaults. Beside the
names: a tool that reads one label per item gets the first person's; one that refuses an id twice
gets the order in it; one that reads the length of a text instead of the text gets the length. What
a tool says counts by `READINGS`, the first that fits.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from benchmarks.gauntlet.judges import GRADES, Case, Kind

Reading = Literal[
    "believed",
    "with care",
    "undecided",
    "not believed",
    "says nothing",
    "not its kind",
    "not read",
]
"""With care: believed, with a reservation. Says nothing: no sentence says whether to believe the
judge. Not its kind: the tool has no place for such verdicts. Not read: it refuses the file, with a
message."""
OURS = "undogmatic"


class Tool(NamedTuple):
    """A validator: its requirement for pip, what it reads, and the function that asks it."""

    requirement: str
    kinds: Sequence[Kind]
    ask: Callable[[Path, Case, Path], str]
    """(folder of its programs, the file, an empty folder) -> what it printed; raises Refused."""


class Refused(Exception):
    """A tool did not take a file, and this is what it said."""


class Answer(NamedTuple):
    """What a tool says of a judge: how that counts, and its own words."""

    reading: Reading
    words: str


READINGS: dict[str, list[tuple[str, Reading]]] = {
    OURS: [
        (r"standing: supported.*within \d+ limit", "with care"),
        (r"standing: supported", "believed"),
        (r"standing: refuted", "not believed"),
        (r"standing: undecided", "undecided"),
    ],
    "judgekeeper": [
        (r"Not trustworthy as a gate", "not believed"),
        (r"Usable with care", "with care"),
        (r"Usable as a gate", "believed"),
    ],
    "judgegate": [
        (r"\bUNTRUSTED\b", "not believed"),
        (r"\bINCONCLUSIVE\b", "undecided"),
        (r"\bTRUSTED\b", "believed"),
    ],
    "evalaudit": [
        (r"The judge favours whichever answer it reads \w+", "not believed"),
        (r"The judge comes apart on one slice of the data", "not believed"),
        (r"The judge is pulled (?:by|toward)", "not believed"),
        (r"Judge-human agreement is below the working threshold", "not believed"),
        (r"Judge-human agreement is undefined on this data", "undecided"),
        (
            r"The data cannot show that the judge clears the working threshold",
            "undecided",
        ),
        (r"The judge tracks the humans(?=[\s\S]*supports tentative)", "with care"),
        (r"The judge tracks the humans", "believed"),
    ],
    "judgekit": [
        (r"FLAG [\w -]+", "not believed"),
    ],
    "judge-audit-mcp": [
        (r".*[1-9]\d* invalidating", "not believed"),
        (r".*[1-9]\d* serious", "not believed"),
        (r"\S+ +Judge–human agreement(?=[\s\S]*[1-9]\d* minor)", "with care"),
        (r"✅ +Judge–human agreement", "believed"),
    ],
}
"""Per tool, an expression over what it printed and how a sentence that fits is read; the first that
fits counts.

Alarms stand before praise: a tool that praises and warns of the judge's bias has not believed it.
judgekit never says that a judge may be believed, so that no flag is "says nothing"; judge-audit-mcp
grades findings, and none above "minor" is read as belief.
"""


def reading(tool: str, printed: str) -> Answer:
    """How what a tool printed counts, and the line that decided."""
    for expression, own in READINGS[tool]:
        found = re.search(expression, printed)
        if found:
            start, end = (
                printed.rfind("\n", 0, found.start()) + 1,
                printed.find("\n", found.end()),
            )
            line = printed[start : end if end >= 0 else None]
            return Answer(own, " ".join(re.sub(r"[─-╿#*]", " ", line).split())[:160])
    return Answer("says nothing", "")


def run(command: Sequence[str | Path], folder: Path, fine: Sequence[int] = (0,)) -> str:
    """What a command prints; raises Refused where it ends otherwise than with one of the `fine`
    codes."""
    quiet = os.environ | {
        "NO_COLOR": "1",
        "COLUMNS": "200",
        "PYTHONIOENCODING": "utf-8",
        "TERM": "dumb",
    }
    if (
        "site-packages" not in str(command[0])
        and Path(command[0]).parent != Path(sys.executable).parent
    ):
        quiet.pop("PYTHONPATH", None)  # the other tools' environments are their own
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=quiet,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode not in fine:
        lines = [
            line
            for line in (done.stderr or done.stdout).strip().splitlines()
            if line.strip()
        ]
        raise Refused(lines[-1].strip() if lines else f"ended with {done.returncode}")
    return done.stdout


def _jsonl(rows: pd.DataFrame, path: Path) -> Path:
    lines = (
        {name: value for name, value in row.items() if not pd.isna(value)}
        for row in rows.to_dict("records")
    )
    path.write_text(
        "".join(
            json.dumps(line, ensure_ascii=False, default=_plain) + "\n"
            for line in lines
        ),
        "utf-8",
    )
    return path


def _plain(value: object) -> object:
    return value.item() if hasattr(value, "item") else str(value)


def _people(rows: pd.DataFrame) -> list[str]:
    return [str(name) for name in rows if str(name).startswith("human")]


def _one_label(case: Case) -> pd.DataFrame:
    """The rows with an id of their own each, the first person's label, and None where there is no
    verdict."""
    rows = case.rows.rename(columns={"item": "id", _people(case.rows)[0]: "label"})
    if "order" in rows:
        rows["id"] += "-" + rows["order"]
    return rows.astype(object).assign(
        judge=rows["judge"].astype(object).where(rows["judge"] != "", None)
    )


def _ours(programs: Path, case: Case, folder: Path) -> str:
    path = folder / "verdicts.csv"
    case.rows.to_csv(path, index=False)
    told = json.loads(run([programs / OURS, "check", path.name, "--json"], folder))[
        "judges"
    ][0]
    return f"standing: {told['standing']}: {told['answer']}"


def _judgekeeper(programs: Path, case: Case, folder: Path) -> str:
    rows = _one_label(case).rename(columns={"judge": "verdict", "text": "output"})
    rows[["id", "output", "verdict", "label"]].to_csv(
        folder / "verdicts.csv", index=False
    )
    return run(
        [
            programs / "judgekeeper",
            "check",
            "verdicts.csv",
            "--judge",
            "verdict",
            "--human",
            "label",
        ],
        folder,
    )


def _judgegate(programs: Path, case: Case, folder: Path) -> str:
    names = {
        "judge": "judge_label",
        "label": "human_label",
        "text": "output",
        "text_1": "output_a",
        "text_2": "output_b",
    }
    rows = _one_label(case).rename(columns=names)
    for name in ("judge_label", "human_label"):
        rows[name] = [None if value is None else str(value) for value in rows[name]]
    kept = [
        "id",
        "human_label",
        "judge_label",
        *(name for name in rows if str(name).startswith("output")),
    ]
    _jsonl(rows[kept], folder / "labels.jsonl")
    values = {
        "pass_fail": ["fail", "pass"],
        "ordered": list(GRADES),
        "pairwise": ["1", "2"],
    }[case.kind]
    settings = {"judge": {"model": "recorded", "prompt": "recorded"}}
    settings |= {"labels": {"values": values, "ordinal": case.kind == "ordered"}}  # type: ignore[dict-item]
    (folder / "judge.yaml").write_text(json.dumps(settings), "utf-8")
    command: list[str | Path] = [
        programs / "judgegate",
        "verify",
        "labels.jsonl",
        "--config",
        "judge.yaml",
        "--seed",
        "0",
    ]
    return run(command, folder, fine=(0, 1, 2))


_EVALAUDIT = """
import json, pandas as pd, evalaudit
given = json.load(open("given.json", encoding="utf-8"))
for name in ("ratings", "comparisons"):
    given[name] = pd.DataFrame(given[name]) if name in given else None
report = evalaudit.audit(**given)
print(report.to_markdown())
"""


def _evalaudit(programs: Path, case: Case, folder: Path) -> str:
    rows = _one_label(case)
    judge: dict[str, object] = {
        "human": list(rows["label"]),
        "judge": list(rows["judge"]),
    }
    level = {"ordered": "ordinal", "numeric": "interval"}.get(case.kind, "nominal")
    given: dict[str, object] = {"config": {"seed": 0, "level": level}}
    if case.kind == "ordered":  # an order of words is told by their places
        judge = {
            name: [GRADES.index(value) for value in values]
            for name, values in judge.items()
        }  # type: ignore
    people = _people(case.rows)
    if len(people) > 1:
        long = case.rows.melt("item", people, "rater_id", "rating").rename(
            columns={"item": "item_id"}
        )
        given["ratings"] = long.replace(
            {grade: place for place, grade in enumerate(GRADES)}
        ).to_dict("records")
    if case.kind == "pairwise":
        swapped = (
            (case.rows["order"] == "swapped")
            if "order" in case.rows
            else pd.Series(False, case.rows.index)
        )
        pairs = pd.DataFrame(
            {
                "pair_id": case.rows["item"],
                "winner": "text_" + case.rows["judge"].astype(str),
            }
        )
        shown = {"option_a": swapped.map({True: "text_2", False: "text_1"})}
        shown |= {"option_b": swapped.map({True: "text_1", False: "text_2"})}
        given["comparisons"] = pairs.assign(**shown).to_dict("records")
        judge |= {
            "lengths": [
                [len(a), len(b)]
                for a, b in zip(rows["text_1"], rows["text_2"], strict=True)
            ]
        }
        judge |= {"preferences": [2 - int(value) for value in rows["judge"]]}
        judge |= {"human_preferences": [2 - int(value) for value in rows["label"]]}
    (folder / "given.json").write_text(
        json.dumps(given | {"judge": judge}, default=_plain), "utf-8"
    )
    (folder / "ask.py").write_text(_EVALAUDIT, "utf-8")
    return run([programs / "python", "ask.py"], folder)


def _judgekit(programs: Path, case: Case, folder: Path) -> str:
    rows = _one_label(case)
    rows = rows[rows["judge"].notna()]
    about: dict[str, object] = {"item_id": rows["id"]}
    if case.kind == "pairwise":
        about = {"item_id": case.rows["item"], "kind": "pairwise"}
        about |= {
            "swapped": (case.rows["order"] == "swapped")
            if "order" in case.rows
            else False
        }
        about |= {"a_len": rows["text_1"].str.len(), "b_len": rows["text_2"].str.len()}
        about |= {"a_model": rows["system_1"], "b_model": rows["system_2"]}
    elif case.kind == "pass_fail":
        about |= {"kind": "binary"}
    else:
        ends = (0, len(GRADES) - 1) if case.kind == "ordered" else (0, 100)
        about |= {"kind": "graded", "scale_min": ends[0], "scale_max": ends[1]}
        about |= {
            "candidate_len": rows["text"].str.len(),
            "candidate_model": rows["system"],
        }
    for column, name in (("judge", "judge"), ("label", "human")):
        field, values = {
            "pairwise": ("choice", rows[column].map({1: "a", 2: "b"})),
            "pass_fail": ("label", rows[column] == "pass"),
            "ordered": (
                "score",
                rows[column].map(GRADES.index) if case.kind == "ordered" else None,
            ),
            "numeric": ("score", rows[column]),
        }[case.kind]
        own = pd.DataFrame(about | {"judge_id": name, field: values})
        # a label holds for both orders
        own = own if name == "judge" else own.drop_duplicates("item_id")
        _jsonl(own, folder / f"{name}.jsonl")
    return run(
        [programs / "judgekit", "report", "judge.jsonl", "--human", "human.jsonl"],
        folder,
    )


def _judge_audit_mcp(programs: Path, case: Case, folder: Path) -> str:
    rows = _one_label(case)
    field = {"pass_fail": "label", "pairwise": "choice"}.get(case.kind, "score")
    about = rows[["id", "text"]] if "text" in rows else rows[["id"]]
    for column, name in (("judge", "judge"), ("label", "human")):
        values = (
            rows[column].map(GRADES.index) if case.kind == "ordered" else rows[column]
        )
        own = about.rename(columns={"id": "item_id", "text": "output_text"}).assign(
            **{field: values}
        )
        _jsonl(own[own[field].notna()], folder / f"{name}.jsonl")
    return run(
        [programs / "judge-audit", "calibrate", "judge.jsonl", "human.jsonl"], folder
    )


CHOSEN: tuple[Kind, ...] = ("pass_fail", "ordered", "pairwise")
ALL: tuple[Kind, ...] = (*CHOSEN, "numeric")
TOOLS = {
    OURS: Tool("", ALL, _ours),
    "judgekeeper": Tool("judgekeeper==0.1.3", ("pass_fail",), _judgekeeper),
    "judgegate": Tool("judgegate==0.1.0", CHOSEN, _judgegate),
    "evalaudit": Tool("evalaudit==0.6.0", ALL, _evalaudit),
    "judgekit": Tool("judgekit==0.2.1", ALL, _judgekit),
    "judge-audit-mcp": Tool("judge-audit-mcp==0.1.1", ALL, _judge_audit_mcp),
}


def programs(tool: str, install: Path | None) -> Path:
    """The folder of a tool's programs: its own environment under `install`, made where it is not
    there yet."""
    if tool == OURS:
        return Path(sys.executable).parent
    assert install is not None
    home = (install / tool).resolve()
    if not (home / "ready").exists():
        subprocess.run(["python3.11", "-m", "venv", "--clear", home], check=True)
        subprocess.run(
            [home / "bin" / "pip", "install", "--quiet", TOOLS[tool].requirement],
            check=True,
        )
        (home / "ready").write_text(TOOLS[tool].requirement, "utf-8")
    return home / "bin"


def version(tool: str) -> str:
    """The version of a tool: the one installed of this program, the one asked for of the others."""
    return (
        metadata.version(OURS)
        if tool == OURS
        else TOOLS[tool].requirement.partition("==")[2]
    )


def ask(tool: str, programs: Path, case: Case, folder: Path) -> Answer:
    """What a tool says of a judge."""
    if case.kind not in TOOLS[tool].kinds:
        return Answer("not its kind", "")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return reading(tool, TOOLS[tool].ask(programs, case, folder))
    except Refused as refusal:
        return Answer("not read", str(refusal)[:160])
