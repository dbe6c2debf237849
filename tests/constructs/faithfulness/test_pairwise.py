"""Whether the judges behind a ranking tell a better text from a worse one, on scores whose answer is
known and on the short summaries that are shipped."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import typed
from tests.examinations.builders import ORIGIN, Said, configured
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness.cases import CasesDataset
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Cost, Failure, Item, Judgment, Verdict
from undogmatic.records.results import Told

TRUTH = {"good": 1.0, "fair": 0.8, "bad": 0.2}
"""The label of each system's text."""
CRITERIA = ("nli", "coverage", "factual_accuracy", "completeness")


def judged(
    score: Callable[[float, np.random.Generator], float | None],
    cases: int = 30,
    truth: Mapping[str, float] | None = TRUTH,
) -> RunEvidence:
    """The texts of three systems on each case, scored by a judge who sees the label; None is a
    failure."""
    rng = np.random.default_rng(0)
    items, judgments = [], []
    for case in range(cases):
        for system, label in TRUTH.items():
            name = f"c{case}/{system}"
            labels = (
                {} if truth is None else {"factual_accuracy": {"ana": truth[system]}}
            )
            about = {"case": f"c{case}", "system": system, "word_count": 100}
            items.append(
                Item(
                    id=name,
                    inputs={"item": name},
                    pair=f"c{case}",
                    metadata=about,
                    labels=labels,
                )
            )
            given = score(label, rng)
            outcome = (
                Failure(reason="unparseable", message="no")
                if given is None
                else Verdict(score=given)
            )
            judgments += [
                Judgment(
                    item_id=name,
                    judge="j",
                    criterion=criterion,
                    provenance=ORIGIN,
                    outcome=outcome,
                    cost=Cost(),
                )
                for criterion in CRITERIA
            ]
    rubric = build(compose_config(["rubric=faithfulness"])["rubric"], "rubric")
    asked = [("j", criterion) for criterion in CRITERIA]
    return RunEvidence(tabulate(items, judgments, 1, asked, gaps=False), rubric)


def told(evidence: RunEvidence, **changes: Any) -> Told:
    (result,) = configured("pairwise_accuracy", **changes)(
        evidence, np.random.default_rng(0)
    )
    return result  # type: ignore[no-any-return]


def test_a_judge_who_scores_as_people_label_tells_texts_apart(said: Said) -> None:
    result = told(judged(lambda label, rng: label - 0.1))
    assert result.standing == "supported"
    assert "pairwise_accuracy.verdict_told_apart" in said(result)
    assert result.metrics["pairwise_accuracy.composite"] == 1
    assert result.answer.values["n"] == 90 and result.answer.values["groups"] == 30


def test_scores_that_are_the_labels_are_said_to_be(said: Said) -> None:
    """A copy, or a judge who is right each time: the reader can tell which."""
    result = told(judged(lambda label, rng: label))
    assert "pairwise_accuracy.verdict_told_apart_same" in said(result)
    assert result.answer.values["judges"] == ["j"]


@pytest.mark.parametrize(
    ("score", "accuracy"),
    [
        (lambda label, rng: 0.7, 0.0),
        (lambda label, rng: 1 - label, 0.0),
        (lambda label, rng: rng.random(), 0.5),
    ],
    ids=["constant", "turned round", "at random"],
)
def test_a_judge_who_sees_nothing_is_told_to_see_nothing(
    said: Said, score: Callable[[float, np.random.Generator], float], accuracy: float
) -> None:
    result = told(judged(score))
    assert result.standing == "refuted"
    assert "pairwise_accuracy.verdict_alike" in said(result)
    assert result.metrics["pairwise_accuracy.composite"] == pytest.approx(
        accuracy, abs=0.15
    )


def test_texts_with_the_same_score_are_not_told_apart_and_are_counted_by_kind(
    said: Said,
) -> None:
    """The judge sees what is bad, and no difference between good and fair."""
    result = told(judged(lambda label, rng: float(label > 0.5)))
    assert result.answer.key == "pairwise_accuracy.verdict_alike"
    assert result.answer.values["equal"] == pytest.approx(1 / 3)
    assert result.metrics["pairwise_accuracy.composite"] == pytest.approx(2 / 3)
    kinds = {f.values["system"]: f.values for f in result.findings}
    assert kinds["bad"]["right"] == 60 and kinds["fair"]["equal"] == 30
    said(result)


def test_few_cases_leave_it_open_and_labels_that_do_not_differ_show_nothing(
    said: Said,
) -> None:
    few = told(judged(lambda label, rng: label, cases=4))
    assert few.answer.key == "pairwise_accuracy.verdict_open"
    for truth in (
        None,
        dict.fromkeys(TRUTH, 0.6),
        {"good": 0.6, "fair": 0.57, "bad": 0.6},
    ):
        result = told(judged(lambda label, rng: label, truth=truth))
        key = "unlabelled" if truth is None else "none"
        assert result.answer.key == f"pairwise_accuracy.verdict_{key}"
        assert result.answer.answer == "not_yet" and not result.metrics
        said(result)


def test_failures_that_could_turn_the_answer_leave_it_undecided(said: Said) -> None:
    seen = np.random.default_rng(1)
    result = told(judged(lambda label, rng: None if seen.random() < 0.3 else label))
    assert result.answer.key == "pairwise_accuracy.verdict_unjudged"
    assert result.answer.values["unjudged"] > 20
    said(result)
    blind = told(judged(lambda label, rng: None if seen.random() < 0.05 else 0.5))
    assert blind.standing == "refuted", "failures cannot save a judge who sees nothing"


def test_labels_of_another_run_by_the_same_judges_answer_for_a_run_without_labels(
    said: Said, tmp_path: Path
) -> None:
    earlier = judged(lambda label, rng: label).frame
    earlier.to_csv(tmp_path / "scores.csv", index=False)
    here = judged(lambda label, rng: 0.5, truth=None)
    with pytest.raises(DataError, match="a run over texts without labels"):
        told(here, labelled=str(tmp_path))
    columns = ["item_id", "judge", "criterion", "label"]
    earlier[columns].to_csv(tmp_path / "labels.csv", index=False)
    result = told(here, labelled=str(tmp_path))
    assert result.standing == "supported"
    assert "pairwise_accuracy.elsewhere" in said(result)
    with pytest.raises(ConfigError, match="which is not a folder"):
        configured("pairwise_accuracy", labelled=str(tmp_path / "nowhere"))
    others = pd.read_csv(tmp_path / "scores.csv").assign(judge="stranger")
    others.to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(ConfigError, match=r"`labelled` .*'j' gives no"):
        told(here, labelled=str(tmp_path))


def test_short_summaries_bring_their_labels_and_no_surface_tells_them_apart() -> None:
    items = CasesDataset(summaries="short").load()
    assert {item.metadata["language"] for item in items} == {"en", "pt"}
    by_kind = pd.Series([item.metadata["system"] for item in items]).value_counts()
    assert by_kind.to_dict() == {
        "perfect": 144,
        "reversed_outcome": 144,
        "wrong_party": 144,
    }
    other = {item.id for item in CasesDataset(summaries="short", split="dev").load()}
    assert not other & {item.id for item in items}
    assert len(CasesDataset(summaries="short", split="all").load()) == len(other) + 432
    with pytest.raises(ConfigError, match="are summaries of further invented cases"):
        CasesDataset("cases.jsonl", summaries="short")
    length = {item.id: len(item.inputs["summary"]) for item in items}
    longer = [
        length[f"{item.pair}/perfect"] > length[item.id]
        for item in items
        if item.metadata["system"] != "perfect"
    ]
    assert 0.2 < np.mean(longer) < 0.5


@pytest.mark.slow
def test_a_ranking_by_rules_is_not_believed_once_they_have_judged_short_summaries(
    tmp_path: Path,
) -> None:
    """Rules see about a quarter of what is wrong; a ranking that names the folder says so."""
    run = ["undogmatic.run", "experiment=faithfulness", "steps=[]", "tracking=none"]
    short = ["dataset.summaries=short", "dataset.split=test", "hydra.run.dir=shown"]
    alone = typed(*run, *short, "analysis=pairwise_accuracy", folder=tmp_path)
    assert alone.returncode == 0, alone.stderr
    text = (tmp_path / "shown" / "metrics.json").read_text(encoding="utf-8")
    assert json.loads(text)["pairwise_accuracy.composite"] < 0.4
    named = "analysis.pairwise_accuracy.labelled=shown"
    ranked = typed(*run, "dataset.summaries=shipped", named, folder=tmp_path)
    assert ranked.returncode == 0, ranked.stderr
    said = " ".join(ranked.stdout.split())
    assert "they do not tell better texts from worse ones well enough" in said
    assert (
        "The answer comes from the gravest: Better and worse texts told apart" in said
    )
