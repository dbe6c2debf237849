"""`judge=compare`: both orders decide together, a preference for a place decides nothing, swapped
outputs mirror."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dspy
import numpy as np
import pytest

from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.errors import (
    ConfigError,
    ModelError,
    UndecidedAnswer,
    UnparseableAnswer,
)
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.of_run import evidence_of
from undogmatic.examinations.preference import PreferenceAnalysis
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.judges.compare import CompareJudge
from undogmatic.readouts.base import Readout, categorised
from undogmatic.records.records import (
    OVERALL,
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    ScoreDistribution,
    entropy_verdict,
)
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import voices
from undogmatic.records.words import Words
from undogmatic.report.contents import order_notes

RUBRIC: Rubric = build(compose_config(["rubric=preference"])["rubric"], "rubric")
Says = Callable[[Item], float]


class Told(Readout):
    """Says with which probability the first output that it is shown is better; NaN fails."""

    def __init__(self, says: Says) -> None:
        super().__init__()
        self.says, self.rubric = says, RUBRIC

    async def aforward(self, item: Item) -> dspy.Prediction:
        p = self.says(item)
        if np.isnan(p):
            raise UnparseableAnswer("nothing", "")
        spread = ScoreDistribution(values=RUBRIC.levels, probabilities=(0.0, p, 1 - p))
        return dspy.Prediction(verdict=categorised(entropy_verdict(spread), RUBRIC))


def longer(item: Item) -> float:
    return 0.9 if len(item.inputs["output_1"]) > len(item.inputs["output_2"]) else 0.2


def first(item: Item) -> float:
    return 0.8


def pair(n: int, one: str, other: str, label: str = "first") -> Item:
    inputs = {"input": f"Question {n}?", "output_1": one, "output_2": other}
    return Item(
        id=f"i{n}",
        inputs=inputs,
        labels={OVERALL: {"ana": float(RUBRIC.scale.read(label))}},
        metadata={"system_1": "a", "system_2": "b"},
    )


def asked(says: Says, item: Item, **options: Any) -> Mapping[str, Any]:
    judge = CompareJudge(Told(says), **options)
    judge.judge_by(RUBRIC)
    found: Mapping[str, Any] = judge(item=item).verdicts
    return found


def test_the_choice_of_both_orders_is_the_verdict_with_the_mean_of_their_probabilities() -> (
    None
):
    found = asked(longer, pair(0, "a longer output", "short"))
    assert [found[name].category for name in (OVERALL, "as_given", "swapped")] == [
        "first"
    ] * 3
    assert found[OVERALL].distribution.probabilities == pytest.approx(
        (0, (0.9 + 0.8) / 2, (0.1 + 0.2) / 2)
    )


def test_swapped_outputs_mirror_the_verdict() -> None:
    one, other = (
        asked(longer, pair(0, "a longer output", "short")),
        asked(longer, pair(0, "short", "a longer output")),
    )
    assert (one[OVERALL].category, other[OVERALL].category) == ("first", "second")
    assert one[OVERALL].distribution.probabilities[1:] == pytest.approx(
        other[OVERALL].distribution.probabilities[:0:-1]
    )


def test_a_judge_that_takes_the_first_is_undecided_and_that_is_no_tie() -> None:
    found = asked(first, pair(0, "a", "b"))
    assert (
        isinstance(found[OVERALL], UndecidedAnswer)
        and found[OVERALL].kind == "undecided"
    )
    assert (found["as_given"].category, found["swapped"].category) == (
        "first",
        "second",
    )


def test_a_failure_in_one_order_keeps_what_was_said_in_the_other() -> None:
    found = asked(
        lambda item: np.nan if item.inputs["output_1"] == "b" else 0.9,
        pair(0, "a", "b"),
    )
    assert (
        isinstance(found[OVERALL], ModelError) and found["as_given"].category == "first"
    )


def test_one_order_alone_is_a_verdict_without_the_other() -> None:
    found = asked(first, pair(0, "a", "b"), both_orders=False)
    assert found[OVERALL].category == "first" and "swapped" not in found


def test_a_rubric_that_is_not_about_two_outputs_is_refused() -> None:
    shame = build(compose_config(["rubric=shame"])["rubric"], "rubric")
    with pytest.raises(ConfigError, match="Use rubric=preference"):
        CompareJudge(Told(first)).judge_by(shame)


def judged_by(says: Says, n: int = 60) -> RunEvidence:
    rng = np.random.default_rng(4)
    items, judgments = [], []
    for k in range(n):
        better = bool(rng.integers(2))
        good, bad = f"a good output {k} with more to it", f"bad {k}"
        item = pair(
            k,
            good if better else bad,
            bad if better else good,
            "first" if better else "second",
        )
        items.append(
            item.model_copy(
                update={
                    "metadata": {"system_1": "ab"[not better], "system_2": "ab"[better]}
                }
            )
        )
        where = Provenance(
            model="m",
            readout="r",
            prompt="p",
            prompt_hash="",
            program_hash="",
            config_hash="",
        )
        for criterion, found in asked(says, item).items():
            failed = isinstance(found, ModelError)
            outcome = (
                Failure(reason="undecided", message=str(found)) if failed else found
            )
            about = {"item_id": item.id, "judge": "compare", "criterion": criterion}
            judgments.append(
                Judgment(**about, outcome=outcome, cost=Cost(), provenance=where)
            )
    frame = tabulate(items, judgments, 1)
    return RunEvidence(frame, RUBRIC, known={item.id: item for item in items})


def test_the_analysis_names_a_judge_that_takes_the_first_and_ranks_systems_by_one_that_reads() -> (
    None
):
    analysis = PreferenceAnalysis()
    (biased,) = analysis(judged_by(first), np.random.default_rng(0))
    assert (
        biased.verdict is not None
        and biased.verdict.key == "check.verdict_first"
        and biased.standing == "refuted"
    )
    table = judged_by(longer)
    (reading,) = analysis(table, np.random.default_rng(0))
    assert reading.metrics["preference.agreement.pairwise_kappa"] == pytest.approx(1)
    # the longer output is always the better one: a word counter does as well
    assert reading.standing == "undecided"
    made = evidence_of(table)
    assert made.kind == "pairwise" and set(made.verdicts["order"]) == {
        "as_given",
        "swapped",
    }
    assert {"text_1", "text_2", "system_1", "system_2"} <= set(made.items)
    with pytest.raises(Unsuited, match="judge=compare"):
        analysis.check(
            RunEvidence(table.frame[table.frame["criterion"] == OVERALL], RUBRIC)
        )


@pytest.mark.parametrize("language", ["en", "pt"])
def test_a_run_says_how_often_the_two_orders_disagree_however_few_there_are(
    language: str,
) -> None:
    def said(says: Says) -> list[str]:
        frame = judged_by(says, 6).frame
        run: Any = SimpleNamespace(
            frame=frame, folder=Path("outputs/r"), parts=dict.fromkeys(voices(frame))
        )
        return order_notes(run, Words(language, ()))

    (note,) = said(first)
    assert re.search(r"(In|Em) 6 (of|de) 6 .*undogmatic review export outputs/r", note)
    assert said(longer) == []
