"""`undogmatic rejudge` and `undogmatic demo` as a user types them."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from benchmarks import demo_table
from tests.conftest import Capture, Patch, put, typed
from undogmatic.cli import main
from undogmatic.cli.rejudge import _words
from undogmatic.errors import ConfigError
from undogmatic.safety.paths import data_folder


def run(**facts: Any) -> Any:
    overrides = [
        "model=local",
        "model.temperature=0",
        "dataset=texts",
        "dataset.path=t.jsonl",
        "hydra.run.dir=x",
    ]
    return SimpleNamespace(facts=facts, overrides=overrides, named="RUN is 'x'")


def test_what_changes_takes_the_place_of_what_it_changes() -> None:
    assert _words(run(), ["model=gpt"]) == [
        "dataset=texts",
        "dataset.path=t.jsonl",
        "model=gpt",
    ]
    assert _words(run(), ["model.temperature=1"])[0] == "model=local"


@pytest.mark.parametrize(
    ("facts", "changes", "said"),
    [
        ({}, [], "KEY=VALUE is missing"),
        ({}, ["dataset=curated"], "which rejudge holds fixed"),
        ({}, ["+steps=[x]"], "which rejudge holds fixed"),
        ({}, ["run.limit=3"], "which rejudge holds fixed"),
        ({"steps": ["s"]}, ["model=gpt"], "make its items anew"),
        ({"choices": {"optimizer": "gepa"}}, ["model=gpt"], "the search's"),
        ({"choices": {"dataset": "verdicts"}}, ["model=gpt"], "made elsewhere"),
    ],
)
def test_what_is_not_another_judge_is_refused(
    facts: dict[str, Any], changes: list[str], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        _words(run(**facts), changes)


@pytest.fixture
def other_runs(tmp_path: Path, monkeypatch: Patch) -> None:
    """The run of the other judge, which the command starts as a process, is forked from one that
    has the libraries."""

    def started(
        command: Sequence[str], check: bool
    ) -> subprocess.CompletedProcess[str]:
        assert command[:2] == [sys.executable, "-m"] and not check
        return typed(*command[2:], folder=tmp_path)

    monkeypatch.setattr("undogmatic.cli.rejudge.subprocess.run", started)


def test_another_judge_is_asked_about_the_same_items_and_no_others(
    tmp_path: Path, capsys: Capture, other_runs: None
) -> None:
    reason = (
        "O pedido {k} não procede, porque o autor pagou {k} reais e a multa só cabia em caso de"
        " atraso."
    )
    rows = [
        {
            "id": f"t{k}",
            "text": f"STF Tema {k + 10}." if k % 2 else reason.format(k=k),
            "label": 90 if k % 2 else 10,
        }
        for k in range(12)
    ]
    file = put(tmp_path / "t.jsonl", rows)
    words = [
        "dataset=texts",
        "dataset.path=t.jsonl",
        "analysis=none",
        "tracking=none",
        "hydra.run.dir=first",
    ]
    first = typed("undogmatic.run", "model=patterns", *words, folder=tmp_path)
    assert first.returncode == 0, first.stderr
    # which runs the other judge in a process of its own
    main(["rejudge", "first", "model=tfidf", "--margin", "5"])
    shown = capsys.readouterr().out
    (way,) = re.findall(r"`undogmatic (review export first --all)`", shown)
    main(way.split())  # the command that would settle it
    assert "queue" in capsys.readouterr().out
    assert "score (patterns" in shown and "score (tfidf" in shown
    assert "Of the variance of a verdict" in shown
    put(file, [*rows[:-1], rows[-1] | {"text": "Outro texto."}])
    with pytest.raises(SystemExit, match="2"):
        main(["rejudge", "first", "model=tfidf"])
    assert "has changed" in capsys.readouterr().err
    assert len(list(tmp_path.glob("outputs/*/*-rejudged"))) == 1, (
        "nothing more was judged"
    )


def test_the_demo_says_of_each_judge_what_is_known_of_it(capsys: Capture) -> None:
    main(["demo"])
    shown = capsys.readouterr().out
    lines = {
        line.split()[0]: line
        for line in shown.splitlines()
        if line.strip().startswith("judge_")
    }
    assert (
        " yes " in lines["judge_careful"] and "[0.73, 0.91]" in lines["judge_careful"]
    )
    assert (
        "not known (a" in lines["judge_keyword"]
        and " no (not shown " in lines["judge_generous"]
    )
    assert "may do as" in shown and "to beat a" in shown


def test_the_demo_speaks_portuguese(capsys: Capture) -> None:
    main(["demo", "--language", "pt"])
    shown = capsys.readouterr().out
    assert (
        shown.startswith("Uma loja")
        and "uma moeda" in shown
        and "O mesmo com um" in shown
    )


def test_the_table_of_the_demo_is_what_its_program_makes() -> None:
    rows = list(demo_table.rows())
    written = pd.read_csv(data_folder() / "check" / "demo.csv").to_dict("records")
    assert written == [
        {name: cell for name, cell in row.items() if name != "truth"} for row in rows
    ]
    right = [row["judge_careful"] == row["truth"] for row in rows]
    assert 0.93 <= sum(right) / len(right) <= 0.97, "as the demo says"
