"""Judges against automatic metrics: who follows F1 is believed, and who says always the same,
counts gates, echoes the length or fails is not."""

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import ORIGIN, configured
from undogmatic.config.build import build
from undogmatic.config.groups import plain
from undogmatic.constructs.gating.dataset import GatingDataset
from undogmatic.examinations.base import Unsuited, analyse
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import Cost, Failure, Item, Judgment, Verdict
from undogmatic.records.results import Told

RUBRIC = build(plain("rubric", "gating", "rubric"), "rubric")
Says = Callable[[Item], float | None]


def judged(
    items: Sequence[Item], criteria: dict[str, Says], judge: str = "one"
) -> RunEvidence:
    """A run in which a judge says these things of the items; None is a failure."""
    judgments = []
    for item in items:
        for criterion, says in criteria.items():
            score = None if "defect" in item.metadata else says(item)
            failure = Failure(
                reason="input" if "defect" in item.metadata else "unparseable",
                message="no",
            )
            outcome: Any = failure if score is None else Verdict(score=score)
            where = {"item_id": item.id, "judge": judge, "criterion": criterion}
            judgments.append(
                Judgment(outcome=outcome, cost=Cost(), provenance=ORIGIN, **where)
            )
    return RunEvidence(tabulate(items, judgments, 1), RUBRIC)


def found(run: RunEvidence, **changes: Any) -> Told:
    return analyse(configured("gating", **changes), run, np.random.default_rng(0))[0]


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return GatingDataset().load()


def noisy_f1(item: Item) -> float:
    return float(
        np.clip(
            10 * item.metadata["automatic_f1"] + random.Random(item.id).gauss(0, 0.3),
            0,
            10,
        )
    )


def test_a_judge_that_follows_f1_is_believed(items: list[Item]) -> None:
    result = found(
        judged(
            items,
            {"overall": noisy_f1, "completeness": lambda i: 10 * i.metadata["recall"]},
        )
    )
    assert result.standing == "supported" and result.verdict is not None
    assert result.headline is not None and result.metrics[result.headline] > 0.9
    tracking = result.tables["tracking"].set_index("criterion")
    assert tracking.loc["completeness", "mae"] == pytest.approx(0)
    assert tracking.loc["completeness", "low"] > 0.5
    assert (
        result.metrics["gating.malformed"] == 7
        and result.metrics["gating.defect.truncated"] == 2
    )
    assert list(result.tables["by_condition"]["condition"][:1]) == ["root_only"], (
        "the lowest F1 first"
    )


@pytest.mark.parametrize(
    ("says", "standing", "reason"),
    [
        (lambda item: 5.0, "undecided", "constant"),
        (lambda item: 10 - noisy_f1(item), "refuted", "reversed"),
        (lambda item: float(random.Random(item.id).uniform(0, 10)), "refuted", "below"),
        (
            lambda item: float(min(10, len(item.inputs["panel"]) / 10)),
            "refuted",
            "below",
        ),
        (lambda item: float(min(10, item.metadata["gates"] / 2)), "undecided", "open"),
        (
            lambda item: float(min(10, len(item.inputs["prediction"]) / 50)),
            "undecided",
            "open",
        ),
    ],
    ids=["constant", "reversed", "random", "panel", "gates", "length"],
)
def test_a_judge_without_merit_is_not_believed(
    items: list[Item], says: Says, standing: str, reason: str
) -> None:
    """Noise and the length of the panel's name follow F1 so little that the whole interval lies
    below the limit."""
    result = found(judged(items, {"overall": says}))
    assert result.standing == standing
    assert f"gating.judge_{reason}" in [finding.key for finding in result.findings]


def test_counting_gates_is_seen_through_where_it_works() -> None:
    """Where predictions differ only in how much they leave out, F1 and the number of gates are one
    thing: a judge that counts gates follows F1 and is not believed."""
    items = []
    for case, n in itertools.product(range(12), range(4)):
        gates = 3 + 4 * n + random.Random(f"{case}.{n}").randrange(3)
        about = {
            "automatic_f1": gates / 20 + random.Random(case * 7 + n).uniform(0, 0.02),
            "gates": gates,
        }
        items.append(
            Item(
                id=f"{case}.{n}",
                inputs={"prediction": f"{case} {n}"},
                pair=f"c{case}",
                metadata=about,
            )
        )
    result = found(judged(items, {"overall": lambda i: i.metadata["gates"] / 2}))
    assert result.standing == "undecided"
    assert "gating.judge_size" in [finding.key for finding in result.findings]


def test_of_two_judges_the_worse_decides_and_failures_that_could_turn_one_count_against_it(
    items: list[Item],
) -> None:
    def choosy(item: Item) -> float | None:
        return (
            noisy_f1(item)
            if item.metadata["automatic_f1"] > 0.85 or item.id < "hs-m"
            else None
        )

    result = found(judged(items, {"overall": choosy}))
    assert result.standing == "undecided"
    assert (
        next(
            finding for finding in result.findings if finding.key == "gating.failed"
        ).values["n"]
        > 5
    )
    good, bad = (
        judged(items, {"overall": noisy_f1}),
        judged(items, {"overall": lambda i: 10 - noisy_f1(i)}, "two"),
    )
    result = found(
        RunEvidence(pd.concat([good.frame, bad.frame], ignore_index=True), RUBRIC)
    )
    assert (
        result.standing == "refuted"
        and result.verdict is not None
        and result.verdict.values["judges"] == ["two"]
    )
    assert {
        "gating.spearman.one.overall",
        "gating.mae.two.overall",
    } <= result.metrics.keys()


def test_few_cases_and_no_overall_are_undecided_and_a_dataset_without_metrics_is_named(
    items: list[Item],
) -> None:
    few = [item for item in items if str(item.pair) < "hs-d"]
    assert "gating.judge_few" in [
        f.key for f in found(judged(few, {"overall": noisy_f1})).findings
    ]
    none = found(judged(items, {"accuracy": noisy_f1}))
    assert none.standing == "undecided" and "gating.judge_no_overall" in [
        f.key for f in none.findings
    ]
    assert none.headline is None and len(none.tables["tracking"]) == 1
    plain = judged([Item(id="a", text="t")], {"overall": lambda _: 5.0})
    with pytest.raises(Unsuited, match="automatic_f1"):
        found(plain)
