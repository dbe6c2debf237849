"""A full disk, a forbidden file and a kill at each place where a small run writes: one message, and
then it goes on to the very same results."""

import contextlib
import csv
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.conftest import put, rows_in
from tests.faults import FORBIDDEN, FULL, KILL_STATUS, KILLED, Ended, forked, run
from undogmatic.config.door import compose_config
from undogmatic.experiment import run_experiment
from undogmatic.safety.command import say, tell

pytestmark = pytest.mark.slow

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
CLOCKS = ("seconds", "judging_seconds", "judgments_per_second")
TEXTS = [{"id": f"t{n}", "text": f"Conforme o Tema {n} do STF."} for n in range(3)]


def results(folder: Path) -> tuple[list[dict[str, str]], dict[str, float], list[str]]:
    """The scores and metrics of a run without what a clock says, and what was judged."""
    with (folder / "scores.csv").open(encoding="utf-8") as file:
        scores = [
            {k: v for k, v in row.items() if k not in CLOCKS}
            for row in csv.DictReader(file)
        ]
    metrics = json.loads((folder / "metrics.json").read_text())
    judged = sorted(row["item_id"] for row in rows_in(folder / "judgments.jsonl"))
    return scores, {k: v for k, v in metrics.items() if k not in CLOCKS}, judged


def state(folder: Path) -> frozenset[tuple[str, int]]:
    """What lies in a folder, without what differs from attempt to attempt."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    lines = {
        path: path.read_bytes().count(b"\n") if path.suffix in (".jsonl", ".csv") else 0
        for path in files
    }
    return frozenset(
        (re.sub(r"\.\d+$", "", str(path.relative_to(folder))), n)
        for path, n in lines.items()
    )


def said_once(ended: Ended) -> None:
    """Status 2 or 3, one message, no traceback."""
    assert ended.status in (2, 3), (ended.status, ended.stderr, ended.places[-1:])
    assert len(re.findall("^error: ", ended.stderr, re.MULTILINE)) == 1, ended.stderr
    assert (
        "Traceback" not in ended.stderr and "Exception ignored" not in ended.stderr
    ), ended.stderr


@pytest.fixture(scope="module")
def attempt() -> Callable[[Path, str, int], Ended]:
    """A run in `folder`/r, from its composed config on, in a child that has all modules already."""
    config = compose_config(WORDS)

    def judged() -> None:
        from undogmatic.report import figures

        figures.as_png = lambda _: b"a picture"
        try:
            run_experiment(config, CHOICES, Path("r"))
        except Exception as error:
            message, status = tell(error)
            say(f"error: {message}")
            sys.exit(status)

    return lambda folder, fault, at: forked(
        judged, put(folder / "texts.jsonl", TEXTS).parent, fault, at
    )


@pytest.fixture(scope="module")
def whole(attempt: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, int]:
    """The results of an undisturbed run, and how often it writes."""
    folder = put(tmp_path_factory.mktemp("whole") / "w" / "texts.jsonl", TEXTS).parent
    # in this process, so that its children have the modules, words and fonts already
    with contextlib.chdir(folder):
        run_experiment(compose_config(WORDS), CHOICES, Path("here"))
    ended = attempt(folder, "none", 0)
    assert ended.status == 0, ended.stderr
    return results(folder / "r"), len(ended.places)


@pytest.mark.parametrize("fault", [FULL, FORBIDDEN, KILLED])
def test_a_run_survives_a_fault_at_each_write(
    attempt: Any, whole: Any, fault: str, tmp_path: Path
) -> None:
    undisturbed, writes = whole
    assert writes > 20
    seen: set[Any] = set()
    # they take turns; benchmarks/faults_on_disk.py tries all places
    begin = {FULL: 1, FORBIDDEN: 2, KILLED: 3}[fault]
    for at in range(begin, writes + 1, 3):
        folder = tmp_path / str(at)
        ended = attempt(folder, fault, at)
        if fault == KILLED:
            assert ended.status == KILL_STATUS
        else:
            said_once(ended)
        found = state(folder)
        if found not in seen:
            seen.add(found)
            again = attempt(folder, "none", 0)
            assert again.status == 0, (at, again.stderr)
            assert results(folder / "r") == undisturbed, (at, ended.places[-1])
        shutil.rmtree(folder)
    assert len(seen) > 4


@pytest.mark.parametrize(
    ("fault", "at"),
    [(FULL, 1), (FORBIDDEN, 2), (FORBIDDEN, 4), (FULL, 6), (FORBIDDEN, 9)],
)
def test_a_command_for_which_hydra_cannot_write_says_so_and_leaves_nothing(
    tmp_path: Path, fault: str, at: int
) -> None:
    folder = put(tmp_path / "w" / "texts.jsonl", TEXTS).parent
    ended = run(["run", *WORDS], folder, fault, at)
    said_once(ended)
    assert [path.name for path in folder.iterdir()] == ["texts.jsonl"]
