"""A run over scores that were made elsewhere: nobody is asked, and all that follows is that of any run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import put, rows_in
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError
from undogmatic.experiment import run_experiment
from undogmatic.runs.folder import RunFolder

CHOICES = {"model": "local", "prompt": "anchored_pt", "judge": "score", "dataset": "verdicts", "analysis": "meta"}
HEADER = "case,system,judge,factual_accuracy,completeness,nli,coverage,word_count,failed\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = []
    for case in range(8):
        for system, gain in (("alder", 1), ("birch", 0)):
            nli, coverage = rng.uniform(0.5, 0.9, 2).round(3)
            for judge in ("ash", "oak"):
                a, b = (int(v) for v in np.clip(rng.integers(2, 5, 2) + gain, 1, 5))
                failed = str(case == 3 and judge == "oak" and system == "alder").lower()
                lines.append(f"k{case},{system},{judge},{a},{b},{nli},{coverage},{100 + 10 * case},{failed}\n")
    return put(tmp_path / "table.csv", HEADER + "".join(lines))


def told(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text())


def run(folder: Path, table: Path, *overrides: str, tracking: str = "none") -> float | None:
    given = ["experiment=faithfulness_meta", f"dataset.path={table}", f"tracking={tracking}", *overrides]
    return run_experiment(compose_config(given), CHOICES, folder)


def test_the_judgments_are_those_of_the_table_and_the_report_says_that_nobody_was_asked(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    headline = run(folder, table)
    metrics = told(folder, "metrics")
    assert headline == metrics["composite.best"]
    assert (metrics["judged"], metrics["failed"], metrics["calls"]) == (16 * 6 - 2, 2, 0)
    rows = rows_in(folder / "judgments.jsonl")
    assert len(rows) == 16 * 6
    assert {row["outcome"].get("reason") for row in rows} == {None, "unparseable"}
    report = (folder / "report.md").read_text()
    assert "Nobody was asked" in report and "anchored" not in report
    assert RunFolder(folder).facts["model"] == "elsewhere"
    printed = capsys.readouterr()
    assert "made elsewhere, by ash, nli, coverage, oak" in printed.err
    assert {"items_composite.csv", "figures", "report.html", "scores.csv"} <= {p.name for p in folder.iterdir()}


def test_a_run_that_was_stopped_goes_on_and_notes_nothing_twice(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run(folder, table, "analysis=none")
    journal = folder / "judgments.jsonl"
    whole = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(whole[:40]) + whole[40][:30])
    put(folder / "run.json", json.dumps(told(folder, "run") | {"status": "running"}))
    run(folder, table, "analysis=none")
    assert journal.read_text() == "".join(whole)


def test_another_table_is_another_run_and_a_limit_takes_the_judgments_of_the_kept_items(
    table: Path, tmp_path: Path
) -> None:
    run(tmp_path / "out", table, "analysis=none", "run.limit=4")
    assert len(rows_in(tmp_path / "out" / "judgments.jsonl")) == 4 * 6
    table.write_text(table.read_text().replace(",false", ",true", 1))
    with pytest.raises(ConfigError, match="holds another run"):
        run(tmp_path / "out", table, "analysis=none", "run.limit=4")


def test_a_ranking_is_held_against_that_of_an_earlier_run(table: Path, tmp_path: Path) -> None:
    run(tmp_path / "first", table, "analysis=composite")
    better = table.read_text().replace(",birch,ash,2,", ",birch,ash,5,").replace(",birch,oak,2,", ",birch,oak,5,")
    table.write_text(better)
    run(tmp_path / "second", table, "analysis=composite", f"analysis.against=[{tmp_path / 'first'}]")
    report = (tmp_path / "second" / "report.md").read_text()
    assert "Against earlier runs: now minus then" in report
    row = next(line for line in report.splitlines() if line.startswith("| elsewhere-verdicts | birch"))
    then, now, difference = (float(cell) for cell in row.split("|")[4:7])
    assert now - then == pytest.approx(difference, abs=2e-3) and difference > 0


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("judges=[score]", "`judges` is set, and the dataset brings its own judgments"),
        ("run.repeats=3", r"`run\.repeats` is 3, and the judgments were made elsewhere, 1 for an item"),
    ],
)
def test_what_would_ask_somebody_is_refused(override: str, said: str, table: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        run(tmp_path / "out", table, override)


def test_a_run_is_logged_like_any_other(table: Path, tmp_path: Path) -> None:
    run(tmp_path / "out", table, "analysis=composite", tracking="mlflow")
    assert told(tmp_path / "out", "mlflow")["run_id"]


def test_quotes_of_a_run_are_classified_by_a_model_and_held_against_the_rules(tmp_path: Path) -> None:
    kinds = ["The date is wrong.", "The outcome is reversed.", "Not in the reference."]
    rows = [
        {"case": f"k{n}", "system": "alder", "judge": "ash", "factual_accuracy": 3, "errors": [{"issue": kinds[n % 3]}]}
        for n in range(6)
    ]
    run(tmp_path / "first", put(tmp_path / "t.jsonl", rows), "analysis=none")
    given = ["experiment=error_classes", f"dataset.path={tmp_path / 'first'}", "model=fake", "tracking=none"]
    run_experiment(compose_config(given), CHOICES | {"model": "fake", "dataset": "quotes"}, tmp_path / "second")
    metrics = told(tmp_path / "second", "metrics")
    assert metrics["taxonomy.quotes"] == 6
    assert 0 <= metrics["taxonomy.agreement"] <= 1
    assert "agree" in (tmp_path / "second" / "report.md").read_text()
