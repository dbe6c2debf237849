"""What reads a run of several judges afterwards: sweeps, other runs, panels, the review queue, MLflow."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.parts import CHOICES, TEXTS, TRAITS, lines, metrics, write_texts
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError, DataError
from undogmatic.experiment import run_experiment
from undogmatic.report.words import Words
from undogmatic.review.commands import export, import_labels
from undogmatic.runs.outcome import SweepResult
from undogmatic.sweep.compare import compare
from undogmatic.tracking.tracker import params, table

TFIDF = {"judge": "score", "model": "tfidf"}
N = 24


def run(folder: Path, judges: list[Any] | None, *overrides: str, analysis: str = "labelled") -> None:
    """A run over labelled texts, with the files that Hydra leaves."""
    texts = [{"id": f"t{n}", "text": "Tema 69 do STF. " * (n % 5) + f"porque {n}" + "!" * n} for n in range(N)]
    rows = [row | {"labels": {c: {"ana": n * 4} for c in ("overall", "length", "calm")}} for n, row in enumerate(texts)]
    write_texts(rows)
    config = compose_config([*TEXTS, f"analysis={analysis}", *overrides]) | {"judges": judges}
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    typed = [f"judges={json.dumps(judges)}", *overrides]
    (folder / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(typed), encoding="utf-8")
    run_experiment(config, CHOICES, folder)


def said(result: SweepResult) -> list[str]:
    return [Words("en", result.texts, strict=True).say(finding) for finding in result.findings]


def test_a_sweep_compares_the_judges_of_its_jobs_like_jobs(tmp_path: Path) -> None:
    run(tmp_path / "0", ["score", TFIDF])
    run(tmp_path / "1", None)
    result = compare(tmp_path, "a sweep", "en")
    assert (result.failed, result.count, result.choices[-1]) == ([], 2, "judge")
    assert sorted(zip(result.jobs["number"], result.jobs["judge"], strict=True)) == [
        (0, "score"),
        (0, "score-2"),
        (1, "score"),
    ]
    assert len(result.agreement) == 3
    same = result.comparisons[result.comparisons["difference"] == 0]
    assert set(same["measure"]) == {"score", "absolute_error", "spearman", "pearson"}  # the judge that both jobs have
    assert same["p"].isna().all()
    headlines = result.jobs.set_index(["number", "judge"])["headline"]
    assert headlines[0, "score"] == headlines[1, "score"] != headlines[0, "score-2"]


def test_a_sweep_does_not_compare_scores_for_different_criteria(tmp_path: Path) -> None:
    for n in range(2):
        run(tmp_path / str(n), [TRAITS], f"seed={n}")
    result = compare(tmp_path, "a sweep", "en")
    assert result.verdicts == 4
    assert "different rubrics or criteria (length, calm) are not compared" in " ".join(said(result))
    pairs = {(row.left.split(".")[-1], row.right.split(".")[-1]) for row in result.comparisons.itertuples()}
    assert pairs == {("length", "length"), ("calm", "calm")}
    assert result.jobs["criterion"].tolist() == ["length", "length", "calm", "calm"]
    assert result.jobs["judged"].tolist() == [N] * 4


def test_other_runs_give_the_scores_of_the_judge_and_criterion_that_ask(tmp_path: Path) -> None:
    run(tmp_path / "both", ["score", TFIDF, TRAITS])
    run(tmp_path / "again", ["score", TFIDF], "analysis.against=[both]", analysis="reliability")
    found = metrics(tmp_path / "again")
    assert found["score.reliability.alpha"] == found["score-2.reliability.alpha"] == 1
    with pytest.raises(DataError, match=r"several scores per item \(score on overall, score-2 on overall\)"):
        run(
            tmp_path / "refused",
            [{"judge": "panel", "members": ["score"]}],
            "analysis.against=[both]",
            analysis="reliability",
        )
    run(tmp_path / "score", None)
    with pytest.raises(DataError, match="a run that judged overall, not length"):
        run(tmp_path / "other", [TRAITS], "analysis.reference=score", analysis="calibration")


def test_a_panel_is_weighted_by_the_judges_of_one_run(tmp_path: Path) -> None:
    run(tmp_path / "both", ["score", TFIDF])
    panel = {"judge": "panel", "aggregate": "weighted", "members": [TFIDF, "score"]}
    run(tmp_path / "panel", [panel | {"history": ["both", "both"]}])
    members = lines(tmp_path / "panel" / "judgments.jsonl")[0]["outcome"]["details"]
    errors = [metrics(tmp_path / "both")[f"{name}.labelled.rmse"] ** 2 for name in ("score-2", "score")]
    share = 1 / errors[0] / (1 / errors[0] + 1 / errors[1])
    assert f"x{share:.4f}" in members["members"].split(",")[0]
    with pytest.raises(ConfigError, match=r"a run by another judge than judge.members\[0\]: .*, nor "):
        run(
            tmp_path / "none",
            [panel | {"members": [{"judge": "panel", "members": ["score"]}, "score"], "history": ["both"] * 2}],
        )


def test_a_flag_of_any_judge_puts_an_item_into_the_queue_once(tmp_path: Path) -> None:
    run(tmp_path / "both", ["score", TFIDF])
    journal = tmp_path / "both" / "judgments.jsonl"
    judged = lines(journal)
    for line in judged:
        outcome, n = line["outcome"], int(line["item_id"][1:])
        if line["judge"] == "score":  # the same for all: it does not tell them apart
            outcome |= {"confidence": 50.0, "doubt": None, "interval": None, "review": n == 3, "uncertainty": None}
        else:
            outcome |= {"doubt": n / N, "review": n in (3, 7), "uncertainty": None}
    journal.write_text("".join(json.dumps(line) + "\n" for line in judged), encoding="utf-8")
    told = export("both", "queue")
    assert "by procedure of score-2" in told
    rows = lines(Path("queue.jsonl"))
    assert [(row["item_id"], row["judge"]) for row in rows] == [("t7", "score-2"), ("t3", "score")]
    assert rows[1]["uncertainty_value"] == 3 / N
    with Path("queue.csv").open(encoding="utf-8-sig") as file:
        assert [row["uncertainty_by"] for row in csv.DictReader(file)] == ["procedure of score-2"] * 2
    Path("filled.csv").write_text("item_id,label,labeller\nt7,50,ana\n", encoding="utf-8")
    assert "1 labels added" in import_labels("both", "filled.csv")


def test_the_report_tells_judges_apart(tmp_path: Path) -> None:
    run(tmp_path / "both", ["score", TFIDF], analysis="none")
    report = (tmp_path / "both" / "report.md").read_text(encoding="utf-8")
    assert f"({N} items x 1 repeat): score, score-2 |" in report
    headings = [line for line in report.splitlines() if line.startswith("### ")]
    assert [line.split(":")[0] for line in headings[-2:]] == ["### score", "### score-2"]
    shown = [line for line in report.splitlines() if line[:1] == "t" and ": score " in line]
    assert shown and all(", score" in line.split(":")[0] for line in shown)


def test_mlflow_gets_each_judges_own_reason_and_no_wordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[Any] = []
    monkeypatch.setattr("undogmatic.tracking.NoTracker.log", lambda _, finished: logged.append(finished))
    run(tmp_path / "both", ["score", TFIDF], "judge=debate", "prompt=anchored_pt")
    rows = table(logged[0])
    reasons = {(j.item_id, j.judge): getattr(j.outcome, "rationale", None) for j in logged[0].judgments}
    assert rows["judge"].tolist() == ["score", "score-2"] * N
    keys = zip(rows["item_id"], rows["judge"], strict=True)
    assert [reasons[key] for key in keys] == rows["rationale"].tolist()
    assert not [key for key in params(logged[0]) if "wordings" in key]
    assert "rubric.name" in params(logged[0])


def test_the_items_that_a_step_made_can_be_reviewed(tmp_path: Path) -> None:
    run(tmp_path / "made", ["score", TFIDF], "steps=[{_target_: tests.engine.parts.Halve}]", analysis="none")
    told = export("made", "queue", everything=True)
    assert f"{2 * N} of {2 * N} judged items" in told
    rows = lines(Path("queue.jsonl"))
    assert {row["item_id"] for row in rows} == {f"t{n}.{half}" for n in range(N) for half in (0, 1)}
