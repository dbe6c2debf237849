"""The door of run folders: damage in any of a run's files ends a command that reads it with one
message, or not at all.

The folder is that of one small run, and of a sweep of which it is a job; each case damages one of
its files and puts it through one of the commands that read run folders.
"""

import contextlib
import functools
import io
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.fuzzing._values import places, texts
from undogmatic.config.door import compose_config
from undogmatic.runs.folder import RunFolder
from undogmatic.safety.command import tell

WORDS = [
    "model=patterns",
    "dataset=texts",
    "dataset.path=texts.jsonl",
    "analysis=none",
    "tracking=none",
]
CHOICES = {
    "model": "patterns",
    "prompt": "anchored_pt",
    "judge": "score",
    "dataset": "texts",
    "analysis": "none",
}
FILES = (
    "run.json judgments.jsonl scores.csv labels.csv metrics.json .hydra/config.yaml"
    " .hydra/overrides.yaml .hydra/hydra.yaml mlflow.json sweep.json multirun.yaml error.txt"
    " steps/cut.jsonl"
).split()
VALUES = (
    "null",
    "true",
    "-1",
    "1e400",
    "NaN",
    '"x"',
    "[]",
    "[[1]]",
    "{}",
    '{"a": {"b": []}}',
    '"\\ud800"',
    "9" * 400,
)


class Case(NamedTuple):
    """What is done to which file, and which door it goes through; `at` is a share of the file's
    length."""

    door: str
    file: str
    damage: str
    at: float = 0.0
    content: bytes = b""


def strategy() -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        st.sampled_from(list(_DOORS)),
        st.sampled_from(FILES),
        st.sampled_from(
            ("cut", "flip", "replace", "insert", "value", "gone", "folder")
        ),
        st.floats(0, 1),
        st.binary(max_size=40) | st.sampled_from(VALUES).map(str.encode) | texts(20),
    )


COUNT = 30
EXAMPLES = [
    Case("sweep", ".hydra/config.yaml", "cut", 0.0, b""),
    Case("neighbour", "run.json", "value", 0.9, b'"x"'),
    Case("neighbour", "scores.csv", "replace", 0, b"\x00\xff\x00"),
    Case("neighbour", "scores.csv", "insert", 1, b"t0,,,9,,,,,\n"),
    Case("resume", "run.json", "cut", 0.5),
    Case("resume", "judgments.jsonl", "replace", 0, bytes(range(256))),
    Case("export", ".hydra/config.yaml", "replace", 0, b"rubric: 5\nrun: [1]\n"),
    Case("export", ".hydra/config.yaml", "replace", 0, b"rubric: ${rubric}\n"),
    Case("export", ".hydra/hydra.yaml", "replace", 0, b"hydra: {runtime: 3}\n"),
    Case("export", "mlflow.json", "replace", 0, b"{}"),
    Case(
        "sweep",
        "sweep.json",
        "replace",
        0,
        b'{"overrides": 3, "started": 1, "mlflow_run": null}',
    ),
    Case("sweep", "metrics.json", "value", 0.3, b'"x"'),
    Case("sweep", ".hydra/overrides.yaml", "replace", 0, b"3"),
    Case("sweep", ".hydra/config.yaml", "replace", 0, b"[1, 2]"),
    Case("sweep", "scores.csv", "replace", 0, b"item_id,score\nt0,inf\nt1,1\nt2,3\n"),
    Case("sweep", "error.txt", "replace", 0, b"\xff\xfe"),
    Case("sweep", "multirun.yaml", "replace", 0, b"hydra: 3"),
    Case("against", "judgments.jsonl", "cut", 0.4),
    Case("against", "run.json", "value", 0.2, b"[]"),
]
"""Damage that was once answered with a traceback, and one of each kind."""


def enter(case: Case) -> None:
    """Damage a copy of the run's folder and put it through the door. AssertionError for anything
    but success or one of our errors with status 2 or 3."""
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        shutil.copytree(_whole(), place, dirs_exist_ok=True)
        above = case.file in ("sweep.json", "multirun.yaml")
        _damage(Path("swept", case.file) if above else Path("swept/0", case.file), case)
        printed = io.StringIO()
        try:
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
            ):
                _DOORS[case.door]()
        except Exception as error:
            if (
                case.door == "neighbour"
                or tell(error)[1] not in (2, 3)
                or not str(error).strip()
            ):
                raise AssertionError(
                    f"{case}: {type(error).__name__}: {error}"
                ) from error


def _judge(into: str, *more: str, **chosen: str) -> None:
    from undogmatic.experiment import run_experiment

    run_experiment(compose_config([*WORDS, *more]), CHOICES | chosen, Path(into))


def _export() -> None:
    from undogmatic.cli.review import export

    export("swept/0", "queue", everything=True)


def _sweep() -> None:
    from undogmatic.report import sweep as report
    from undogmatic.sweep.compare import compare

    _ = RunFolder(Path("swept")).sweep
    report.write(compare(Path("swept"), "a sweep", "en"), Path("swept"))


_AGAINST = ("analysis=reliability", "analysis.against=[swept/0]")
_DOORS: dict[str, Callable[[], None]] = {
    "resume": lambda: _judge("swept/0"),
    "export": _export,
    "against": lambda: _judge("fresh", *_AGAINST, analysis="reliability"),
    "sweep": _sweep,
    "neighbour": lambda: _judge("swept/new"),
}


@functools.cache
def _whole() -> Path:
    """A folder with texts and a sweep of two jobs over them, as runs leave it; made once in a
    process."""
    import atexit

    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    rows = [
        {"id": f"t{n}", "text": f"Conforme o Tema {n} do STF.", "label": 10 * n}
        for n in range(4)
    ]
    (place / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (
        contextlib.chdir(place),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        for job in ("swept/0", "swept/1"):
            _judge(job)
            (Path(job) / ".hydra").mkdir()  # what Hydra writes
            noted = {
                "config": compose_config(WORDS),
                "overrides": ["model=patterns", f"seed={job[-1]}"],
            }
            noted["hydra"] = {"hydra": {"runtime": {"cwd": os.getcwd()}}}
            for name, content in noted.items():
                (Path(job) / ".hydra" / f"{name}.yaml").write_text(json.dumps(content))
    manifest = {
        "overrides": ["seed=0,1"],
        "started": 1.0,
        "mlflow_run": None,
        "status": "finished",
    }
    (place / "swept/sweep.json").write_text(json.dumps(manifest))
    (place / "swept/multirun.yaml").write_text(
        json.dumps({"hydra": {"overrides": {"task": ["seed=0,1"]}}})
    )
    return place


def _damage(path: Path, case: Case) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes() if path.is_file() else b""
    place = int(case.at * len(before))
    first, rest = before[:place], before[place:]
    if case.damage in ("gone", "folder"):
        path.unlink(missing_ok=True)
        return path.mkdir() if case.damage == "folder" else None
    contents = {
        "cut": first,
        "flip": first + bytes(255 - b for b in rest[:3]) + rest[3:],
        "replace": case.content,
        "insert": first + case.content + rest,
        "value": _other_value(before, case),
    }
    path.write_bytes(contents[case.damage])


def _other_value(before: bytes, case: Case) -> bytes:
    """The JSON (or its last line) with one value replaced by another one, of whichever kind."""
    *lines, last = (
        (before.splitlines() or [b""]) if case.file.endswith("l") else [before]
    )
    try:
        found = json.loads(last)
    except ValueError:
        return before + case.content
    nodes, marker = list(places(found)), "\x00here"
    if nodes:
        holder, key = nodes[min(int(case.at * len(nodes)), len(nodes) - 1)]
        holder[key] = marker
    text = json.dumps(found).replace(
        json.dumps(marker), case.content.decode("utf-8", "replace")
    )
    return b"\n".join([*lines, text.encode()]) + b"\n"
