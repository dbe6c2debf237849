"""Jobs that are ranked by a kappa with people's labels are compared by it, over the items that both
judged."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.sweep.builders import keys, result_of, write_job
from undogmatic.datasets import export
from undogmatic.datasets.readers.own_run import EVIDENCE
from undogmatic.examinations import kinds
from undogmatic.examinations.compared import FOLLOWS
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import (
    AS_GIVEN,
    FIRST,
    LABEL_COLUMNS,
    SECOND,
    SWAPPED,
    VERDICT_COLUMNS,
    Evidence,
    Kind,
)
from undogmatic.records.records import OVERALL
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.words import Words
from undogmatic.report import sweep as report

N = 90
CATEGORIES: dict[Kind, tuple[str, ...]] = {
    "unordered": ("anger", "fear", "joy"),
    "ordered": ("poor", "fair", "good", "great"),
    "pass_fail": ("fail", "pass"),
    "pairwise": (FIRST, SECOND),
}
HEADLINES = {
    "unordered": "labelled.agreement.kappa",
    "ordered": "labelled.agreement.weighted_kappa",
    "pass_fail": "labelled.agreement.kappa",
    "pairwise": "preference.agreement.pairwise_kappa",
}
WORDINGS = {"en": {"definition": "d", "question": "q", "unit": "", "meanings": None}}


def evidence_of(
    kind: Kind, errs: float, seed: int, n: int = N, group: int = 1
) -> Evidence:
    """What a judge says that errs so often, beside the labels of two people who mostly agree: the
    same items and labels whatever the judge."""
    k = len(CATEGORIES[kind])
    people, own = np.random.default_rng(99), np.random.default_rng(seed)
    truth = people.integers(0, k, n)
    other = np.where(people.random(n) < 0.1, people.integers(0, k, n), truth)
    items = [f"i{number}" for number in range(n)]
    orders = (AS_GIVEN, SWAPPED) if kind == "pairwise" else (None,)
    verdicts = pd.DataFrame(
        {
            "item": [item for item in items for _ in orders],
            "judge": "score",
            "criterion": OVERALL,
            "repeat": 0,
            "order": [order for _ in items for order in orders],
        }
    )
    said = np.repeat(truth, len(orders))
    wrong = own.random(said.size) < errs
    verdicts["verdict"] = np.where(wrong, own.integers(0, k, said.size), said).astype(
        float
    )
    verdicts = verdicts.assign(confidence=np.nan, reason=None, place="")[
        list(VERDICT_COLUMNS)
    ]
    labels = pd.DataFrame(
        [
            (item, OVERALL, rater, float(label))
            for rater, column in (("ana", truth), ("bea", other))
            for item, label in zip(items, column, strict=True)
        ],
        columns=list(LABEL_COLUMNS),
    )
    about = pd.DataFrame(
        {"group": [f"g{number // group}" for number in range(n)]},
        index=pd.Index(items, name="item"),
    )
    return Evidence(kind, verdicts, labels, about, categories=CATEGORIES[kind])


def estimate(evidence: Evidence) -> Any:
    """The headline of the job's own answer."""
    found = kinds.agreement(evidence.of("score", OVERALL), CheckOptions()).estimate
    assert found is not None
    return found


def write(folder: Path, number: int, evidence: Evidence, **facts: Any) -> None:
    """A job's folder as a run leaves it that was held against labels."""
    kind = "unordered" if evidence.kind == "pairwise" else evidence.kind
    direction = {} if kind == "unordered" else {"direction": "higher_is_better"}
    # as rubric=preference has it
    names = (
        ("tie", "first", "second")
        if evidence.kind == "pairwise"
        else evidence.categories
    )
    wordings = {"en": {**WORDINGS["en"], "meanings": list(names)}}
    scale = {
        "scale": {
            "kind": "ordered" if kind == "pass_fail" else kind,
            "categories": list(names),
        },
        "guide": None,
        "margin": None,
        "wordings": wordings,
        "direction": None,
    } | direction
    scores = pd.DataFrame(
        {"item_id": evidence.items.index, "pair_id": None, "condition": None}
    )
    scores["group"] = evidence.items["group"].to_numpy()
    scores = scores.assign(label=np.nan, score=np.nan, seconds=0.1)
    headline = HEADLINES[evidence.kind]
    numbers = estimate(evidence).metrics(headline)
    write_job(
        folder / str(number),
        [f"prompt={number}"],
        scores,
        metrics=numbers | {"labelled.judged": 90, "labelled.failed": 0},
        headline=headline,
        scale=scale,
        **facts,
    )
    rows = export.rows(evidence).to_dict("records")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / str(number) / EVIDENCE).write_text(lines, encoding="utf-8")


def swept(folder: Path, *judged: Evidence) -> SweepResult:
    for number, evidence in enumerate(judged):
        write(folder, number, evidence)
    return result_of(folder)


@pytest.mark.parametrize("kind", CATEGORIES)
def test_the_job_that_follows_labels_better_is_shown_by_its_kappa(
    kind: Kind, tmp_path: Path
) -> None:
    good, poor = evidence_of(kind, 0.1, 1), evidence_of(kind, 0.8, 2)
    result = swept(tmp_path, good, poor)
    (measure,) = FOLLOWS[HEADLINES[kind]]
    row = result.comparisons.set_index("measure").loc[measure]
    sign = 1 if row["left"] == "prompt=0" else -1
    # the very numbers by which the jobs are ranked
    apart = estimate(good).value - estimate(poor).value
    assert sign * row["difference"] == pytest.approx(apart, abs=1e-9)
    assert row["n"] == N and row["shown"] == ("better" if sign == 1 else "worse")
    assert "sweep.verdict_clear" in keys(result)
    table = result.tables["following"].set_index("name")
    assert table[f"{measure}_group"].to_dict() == {"prompt=0": "a", "prompt=1": "b"}
    for language in ("en", "pt"):
        words = Words(language, result.texts, strict=True)
        assert all(words.say(finding) for finding in result.findings)
    report.write(result, tmp_path)
    assert "kappa" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", CATEGORIES)
def test_jobs_that_err_as_often_are_not_told_apart(kind: Kind, tmp_path: Path) -> None:
    result = swept(tmp_path, evidence_of(kind, 0.3, 1), evidence_of(kind, 0.3, 2))
    (measure,) = FOLLOWS[HEADLINES[kind]]
    row = result.comparisons.set_index("measure").loc[measure]
    assert row["shown"] == "open" and row["low"] < 0 < row["high"]
    assert set(result.tables["following"][f"{measure}_group"]) == {"a"}
    assert "sweep.verdict_open" in keys(result)


def test_all_pairs_of_jobs_are_corrected_together_and_copies_are_one(
    tmp_path: Path,
) -> None:
    judged = [
        evidence_of("unordered", errs, seed)
        for errs, seed in ((0.1, 1), (0.1, 1), (0.8, 2))
    ]
    result = swept(tmp_path, *judged)
    shown = result.comparisons.set_index(["left", "right"])["shown"]
    assert shown["prompt=0", "prompt=1"] == "identical"
    assert set(shown.drop(("prompt=0", "prompt=1"))) <= {"better", "worse"}
    # the copies' tests are one hypothesis
    assert result.comparisons["p_holm"].nunique() == 1


def test_categories_that_one_job_never_names_do_not_move_the_others(
    tmp_path: Path,
) -> None:
    """Categories without an order are numbered as they occur in a file."""
    full, part = evidence_of("unordered", 0.2, 1), evidence_of("unordered", 0.2, 2)
    verdicts = part.verdicts.assign(verdict=part.verdicts["verdict"].clip(lower=1.0))
    missing = Evidence(
        "unordered",
        verdicts,
        part.labels,
        part.items,
        categories=CATEGORIES["unordered"],
    )
    result = swept(tmp_path, full, missing)
    (row,) = result.comparisons.to_dict("records")
    sign = 1 if row["left"] == "prompt=0" else -1
    apart = estimate(full).value - estimate(missing).value
    assert sign * row["difference"] == pytest.approx(apart, abs=1e-9)


def test_jobs_with_other_labels_or_another_headline_are_not_compared(
    tmp_path: Path,
) -> None:
    other = evidence_of("unordered", 0.1, 1)
    turned = (other.labels["label"] + 1) % 3
    relabelled = Evidence(
        "unordered",
        other.verdicts,
        other.labels.assign(label=turned),
        other.items,
        categories=other.categories,
    )
    assert swept(
        tmp_path / "labels", evidence_of("unordered", 0.2, 2), relabelled
    ).comparisons.empty
    mixed = swept(tmp_path / "kinds", other, evidence_of("ordered", 0.1, 1))
    assert mixed.comparisons.empty


def test_a_job_without_its_evidence_is_ranked_and_not_tested(tmp_path: Path) -> None:
    swept(tmp_path, evidence_of("unordered", 0.1, 1), evidence_of("unordered", 0.8, 2))
    (tmp_path / "1" / EVIDENCE).unlink()
    result = result_of(tmp_path)
    assert result.comparisons.empty
    assert "sweep.verdict_untested" in keys(result)
    assert result.jobs["headline"].notna().all()
