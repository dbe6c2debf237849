"""Several judges and criteria in one run: journal, long table, files and report, and what reads
them afterwards."""

import csv
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import put, rows_in
from tests.engine.parts import OUT, TEXTS, TRAITS, TraitsJudge, metrics, run_in, table
from undogmatic.cli.review import export, import_labels
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.words import Words
from undogmatic.runs.folder import JOURNAL
from undogmatic.sweep.compare import compare
from undogmatic.tracking import tracker

ROWS = [
    {"id": "a", "text": "Calma!", "labels": {"calm": {"ana": 90, "rui": 80}}},
    {"id": "b", "text": "RAGE!!", "labels": {"calm": {"ana": 5}, "length": {"ana": 6}}},
    {"id": "c", "text": "silence"},
]
TFIDF = {"judge": "score", "model": "tfidf"}
N = 24
LABELLED = [
    {
        "id": f"t{n}",
        "text": "Tema 69 do STF. " * (n % 5) + f"porque {n}" + "!" * n,
        "labels": {
            criterion: {"ana": n * 4} for criterion in ("overall", "length", "calm")
        },
    }
    for n in range(N)
]


def run(
    folder: Path,
    judges: list[Any] | None,
    *overrides: str,
    rows: Any = ROWS,
    reads: str = "none",
    **changed: Any,
) -> float | None:
    """A run over texts, with the files that Hydra leaves."""
    put(Path("texts.jsonl"), rows)
    words = [*TEXTS, f"analysis={reads}", "engine.max_failures=1", *overrides]
    config = compose_config(words) | {"judges": judges} | changed
    return run_in(folder, config, [f"judges={json.dumps(judges)}", *overrides])


labelled = partial(run, rows=LABELLED, reads="labelled")


def test_one_judge_of_the_list_is_the_short_form(tmp_path: Path) -> None:
    run(tmp_path / "short", None)
    run(tmp_path / "list", ["score"])
    short, listed = (
        json.loads((tmp_path / name / "run.json").read_text())
        for name in ("short", "list")
    )
    assert short["identity"] == listed["identity"]
    assert list(table(tmp_path / "list" / "scores.csv")[0]) == list(
        table(tmp_path / "short" / "scores.csv")[0]
    )


def test_judges_of_one_name_are_told_apart_everywhere() -> None:
    run(OUT, ["score", {"judge": "score"}], "run.repeats=2")
    rows = table(OUT / "scores.csv")
    assert list(rows[0])[:3] == ["item_id", "judge", "criterion"]
    assert [(r["item_id"], r["judge"]) for r in rows] == [
        (i, j) for i in "abc" for j in ("score", "score-2")
    ]
    assert all(
        one["score"] == two["score"]
        for one, two in zip(rows[::2], rows[1::2], strict=True)
    )
    assert len(rows_in(OUT / JOURNAL)) == metrics(OUT)["judged"] == 12
    assert metrics(OUT)["score.none.mean"] == metrics(OUT)["score-2.none.mean"]
    headings = [
        line
        for line in (OUT / "report.md").read_text(encoding="utf-8").splitlines()
        if line[:2] == "##"
    ]
    assert (
        len([line for line in headings if line.endswith((": score", ": score-2"))]) == 2
    )
    assert len(list((OUT / "figures").iterdir())) == 2


def cells(name: str, column: str) -> dict[tuple[str, str, str], str]:
    """A column of a table by item, judge and criterion."""
    return {
        (row["item_id"], row["judge"], row["criterion"]): row[column]
        for row in table(OUT / f"{name}.csv")
    }


def test_a_judge_of_several_criteria_notes_its_cost_once_and_each_failure_where_it_belongs() -> (
    None
):
    run(OUT, ["score", TRAITS])
    scores, errors, labels = (
        cells("scores", "score"),
        cells("scores", "error"),
        cells("labels", "label"),
    )
    assert len(scores) == 9
    assert [
        float(scores["a", "traits", criterion]) for criterion in ("length", "calm")
    ] == [6, 99]
    failed = [
        errors[item, "traits", criterion]
        for item in "bc"
        for criterion in ("length", "calm")
    ]
    assert failed == ["", "unparseable", "refusal", "refusal"]
    kept = [line for line in rows_in(OUT / JOURNAL) if line["judge"] == "traits"]
    assert all(
        (line["cost"]["seconds"] > 0) == (line["criterion"] == "length")
        for line in kept
    )
    places = [
        ("a", "traits", "calm"),
        ("b", "traits", "length"),
        ("a", "score", "overall"),
    ]
    assert [labels[place] for place in places] == ["85.0", "6.0", ""]
    numbers = metrics(OUT)
    assert (numbers["judged"], numbers["failed"], numbers["usd"]) == (6, 3, 0.0)
    assert numbers["traits.calm.none.mean"] == 99
    assert "score.none.mean" in numbers
    assert "no calm in it" in (OUT / "report.md").read_text(encoding="utf-8")
    assert (
        run(OUT, ["score", TRAITS], analysis={"_target_": "tests.engine.parts.Whole"})
        == 3.0
    ), "it reads all at once"


def test_an_item_is_settled_when_all_its_criteria_are() -> None:
    run(OUT, [TRAITS])
    before, path = cells("scores", "score"), OUT / JOURNAL
    # of b only its length
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[:3]
    path.write_text("".join(kept), encoding="utf-8")
    whole, cut = (json.loads(kept[n])["item_id"] for n in (0, 2))
    TraitsJudge.asked.clear()
    run(OUT, [TRAITS])
    assert (
        dict(TraitsJudge.asked) == {each: 1 for each in "abc" if each != whole}
        and cut in TraitsJudge.asked
    )
    assert list(cells("scores", "score").items()) == list(before.items())


def built(*judges: str) -> Parts:
    return Recipe(compose_config(["model=patterns", *judges])).build()


def test_an_empty_list_of_judges_is_refused_and_a_judge_is_checked_at_its_place() -> (
    None
):
    with pytest.raises(ConfigError, match=r"`judges` is \[\]; name at least one"):
        built("judges=[]")
    with pytest.raises(
        ConfigError,
        match=r"`judges\[1\].judge` is 'scroe', which is not in conf/judge/",
    ):
        built("judges=[score,scroe]")


def test_each_judge_says_where_its_judgments_come_from() -> None:
    one, two = built("judges=[score,{judge: score, model: tfidf}]").judges
    assert (one.provenance.model, two.provenance.model) == (
        "patterns-2",
        two.judge.readouts()[0].model.name,
    )
    assert one.provenance == built().provenance
    assert two.provenance.config_hash != one.provenance.config_hash


def test_a_sweep_compares_the_judges_of_its_jobs_like_jobs(tmp_path: Path) -> None:
    labelled(tmp_path / "0", ["score", TFIDF])
    labelled(tmp_path / "1", None)
    result = compare(tmp_path, "a sweep", "en")
    assert (result.failed, result.count, result.choices[-1]) == ([], 2, "judge")
    judges = sorted(zip(result.jobs["number"], result.jobs["judge"], strict=True))
    assert judges == [(0, "score"), (0, "score-2"), (1, "score")]
    assert len(result.agreement) == 3
    same = result.comparisons[result.comparisons["difference"] == 0]
    # the judge that both jobs have
    assert set(same["measure"]) == {
        "score",
        "absolute_error",
        "spearman",
        "pearson",
    }
    assert same["p"].isna().all()
    headlines = result.jobs.set_index(["number", "judge"])["headline"]
    assert headlines[0, "score"] == headlines[1, "score"] != headlines[0, "score-2"]


def test_a_sweep_does_not_compare_scores_for_different_criteria(tmp_path: Path) -> None:
    for n in range(2):
        labelled(tmp_path / str(n), [TRAITS], f"seed={n}")
    result = compare(tmp_path, "a sweep", "en")
    assert result.verdicts == 4
    said = " ".join(map(Words("en", result.texts, strict=True).say, result.findings))
    assert "different rubrics or criteria (length, calm) are not compared" in said
    pairs = {
        (row.left.split(".")[-1], row.right.split(".")[-1])
        for row in result.comparisons.itertuples()
    }
    assert pairs == {("length", "length"), ("calm", "calm")}
    judged = result.jobs[["criterion", "judged"]].to_numpy().tolist()
    assert judged == [["length", N], ["length", N], ["calm", N], ["calm", N]]


def test_other_runs_give_the_scores_of_the_judge_and_criterion_that_ask(
    tmp_path: Path,
) -> None:
    labelled(tmp_path / "both", ["score", TFIDF, TRAITS])
    labelled(
        tmp_path / "again",
        ["score", TFIDF],
        "analysis.against=[both]",
        reads="reliability",
    )
    found = metrics(tmp_path / "again")
    assert found["score.reliability.alpha"] == found["score-2.reliability.alpha"] == 1
    with pytest.raises(
        DataError,
        match=r"several scores per item \(score on overall, score-2 on overall\)",
    ):
        members: dict[str, Any] = {"judge": "panel", "members": ["score"]}
        labelled(
            tmp_path / "refused",
            [members],
            "analysis.against=[both]",
            reads="reliability",
        )
    labelled(tmp_path / "score", None)
    with pytest.raises(DataError, match="a run that judged overall, not length"):
        labelled(
            tmp_path / "other",
            [TRAITS],
            "analysis.reference=score",
            reads="calibration",
        )


def test_a_panel_is_weighted_by_the_judges_of_one_run(tmp_path: Path) -> None:
    labelled(tmp_path / "both", ["score", TFIDF])
    panel = {"judge": "panel", "aggregate": "weighted", "members": [TFIDF, "score"]}
    labelled(tmp_path / "panel", [panel | {"history": ["both", "both"]}])
    members = rows_in(tmp_path / "panel" / "judgments.jsonl")[0]["outcome"]["details"]
    scores = pd.read_csv(tmp_path / "both" / "scores.csv")
    labels = scores["item_id"].map(
        {row["id"]: row["labels"]["overall"]["ana"] for row in LABELLED}
    )
    squares = ((scores["score"] - labels) ** 2).groupby(scores["judge"]).mean()
    errors = [squares[name] for name in ("score-2", "score")]
    share = 1 / errors[0] / (1 / errors[0] + 1 / errors[1])
    (weight,) = re.findall(r"x(0\.\d+)", members["members"].split(",")[0])
    # Drawn towards equal weights, as far as so few labels leave open (tests/stats/test_panel.py).
    assert min(share, 0.5) < float(weight) < max(share, 0.5)
    nested = panel | {
        "members": [{"judge": "panel", "members": ["score"]}, "score"],
        "history": ["both"] * 2,
    }
    with pytest.raises(
        ConfigError, match=r"a run by another judge than judge.members\[0\]: .*, nor "
    ):
        labelled(tmp_path / "none", [nested])


def test_a_flag_of_any_judge_puts_an_item_into_the_queue_once(tmp_path: Path) -> None:
    labelled(tmp_path / "both", ["score", TFIDF])
    journal = tmp_path / "both" / "judgments.jsonl"
    judged = rows_in(journal)
    for line in judged:
        outcome, n = line["outcome"], int(line["item_id"][1:])
        if line["judge"] == "score":  # the same for all: it does not tell them apart
            outcome |= {
                "confidence": 50.0,
                "doubt": None,
                "interval": None,
                "review": n == 3,
                "uncertainty": None,
            }
        else:
            outcome |= {"doubt": n / N, "review": n in (3, 7), "uncertainty": None}
    put(journal, judged)
    told = export("both", "queue")
    assert "by procedure of score-2" in told
    rows = rows_in(Path("queue.jsonl"))
    assert [(row["item_id"], row["judge"]) for row in rows] == [
        ("t7", "score-2"),
        ("t3", "score"),
    ]
    assert rows[1]["uncertainty_value"] == 3 / N
    with Path("queue.csv").open(encoding="utf-8-sig") as file:
        assert [row["uncertainty_by"] for row in csv.DictReader(file)] == [
            "procedure of score-2"
        ] * 2
    Path("filled.csv").write_text(
        "item_id,label,labeller\nt7,50,ana\n", encoding="utf-8"
    )
    assert "1 label added" in import_labels("both", "filled.csv")


def test_the_report_tells_judges_apart(tmp_path: Path) -> None:
    labelled(tmp_path / "both", ["score", TFIDF], reads="none")
    report = (tmp_path / "both" / "report.md").read_text(encoding="utf-8")
    assert f"({N} items x 1 repeat): score, score-2 |" in report
    headings = [line for line in report.splitlines() if line.startswith("### ")]
    assert [line.split(":")[0] for line in headings[-2:]] == [
        "### score",
        "### score-2",
    ]
    shown = [
        line for line in report.splitlines() if line[:1] == "t" and ": score " in line
    ]
    assert shown and all(", score" in line.split(":")[0] for line in shown)


def test_mlflow_gets_each_judges_own_reason_and_no_wordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[Any] = []
    monkeypatch.setattr(
        "undogmatic.tracking.NoTracker.log", lambda _, finished: logged.append(finished)
    )
    labelled(tmp_path / "both", ["score", TFIDF], "judge=debate", "prompt=anchored_pt")
    rows = tracker.table(logged[0])
    reasons = {
        (j.item_id, j.judge): getattr(j.outcome, "rationale", None)
        for j in logged[0].judgments
    }
    assert rows["judge"].tolist() == ["score", "score-2"] * N
    keys = zip(rows["item_id"], rows["judge"], strict=True)
    assert [reasons[key] for key in keys] == rows["rationale"].tolist()
    assert not [key for key in tracker.params(logged[0]) if "wordings" in key]
    assert "rubric.name" in tracker.params(logged[0])


def test_the_items_that_a_step_made_can_be_reviewed(tmp_path: Path) -> None:
    labelled(
        tmp_path / "made",
        ["score", TFIDF],
        "steps=[{_target_: tests.engine.parts.Halve}]",
        reads="none",
    )
    told = export("made", "queue", everything=True)
    assert f"{2 * N} of {2 * N} judged items" in told
    rows = rows_in(Path("queue.jsonl"))
    assert {row["item_id"] for row in rows} == {
        f"t{n}.{half}" for n in range(N) for half in (0, 1)
    }
