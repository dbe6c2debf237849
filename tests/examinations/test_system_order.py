"""Whether a judge orders the systems as people do: what is told, of which labels, and when not."""

import numpy as np
import pytest

from tests.examinations.builders import evidence_of
from tests.examinations.test_systems import tell
from undogmatic.examinations import system_order
from undogmatic.records.evidence import Evidence
from undogmatic.records.results import Weight

ASKED = (system_order.SYSTEM_ORDER,)
NAMES = np.array(["a", "b", "c", "d", "e", "f"])


def table(
    rng: np.random.Generator,
    offsets: np.ndarray,
    n: int = 100,
    labelled: float = 1.0,
    kinds: int = 6,
    **fields: object,
) -> Evidence:
    """`n` items of each system, a step apart in people's labels; verdicts are off by `offsets`."""
    systems = np.tile(np.arange(kinds), n)
    labels = 2.0 + 0.8 * systems + rng.normal(0, 0.5, systems.size)
    verdicts = labels + offsets[systems] + rng.normal(0, 1.0, systems.size)
    labels = np.where(rng.random(systems.size) < labelled, labels, np.nan)
    more = {"system": NAMES[systems]}
    return evidence_of("numeric", verdicts, labels, more, scale=(-3, 14), **fields)


def test_a_judge_that_is_off_alike_for_all_orders_them_as_people_do(
    rng: np.random.Generator,
) -> None:
    told, said = tell(table(rng, np.full(6, 1.0)), ASKED)
    found = said["system_order.trusted"]
    assert found.weight == Weight.QUALIFIES
    assert found.values["both"] >= 13 and found.values["opposed"] == 0
    assert 0 < told.numbers["system_order.smallest"] < 1.2
    assert told.numbers["system_order.tau"].value == 1
    assert told.numbers["system_order.tau"].low > 0.3


def test_a_judge_that_favours_the_worst_system_is_limited(
    rng: np.random.Generator,
) -> None:
    told, said = tell(table(rng, np.array([6.0, 0, 0, 0, 0, 0])), ASKED)
    found = said["system_order.none_trusted"]
    assert found.weight == Weight.LIMITS and found.values["opposed"] == 5
    assert told.numbers["system_order.smallest"] > 5


@pytest.mark.parametrize("selection", ["unknown", "random"])
def test_labels_of_some_items_are_enough(
    rng: np.random.Generator, selection: str
) -> None:
    some = table(rng, np.zeros(6), n=200, labelled=0.3, selection=selection)
    _, said = tell(some, ASKED)
    assert said["system_order.trusted"].values["both"] >= 12


def test_items_that_were_chosen_by_hand_speak_for_themselves_alone(
    rng: np.random.Generator,
) -> None:
    """Verdicts of items without a label would else stand against labels of others."""
    evidence = table(rng, np.zeros(6), n=200, labelled=0.5)
    known = evidence.labels.dropna(subset=["label"])["item"]
    unlabelled = ~evidence.verdicts["item"].isin(known)
    evidence.verdicts.loc[unlabelled, "verdict"] = 13.0
    _, said = tell(evidence, ASKED)
    assert said["system_order.trusted"].values["opposed"] == 0


def test_two_systems_or_no_labels_are_not_ordered(rng: np.random.Generator) -> None:
    told, said = tell(table(rng, np.zeros(6), kinds=2), ASKED)
    assert not told.numbers and not said
    told, said = tell(table(rng, np.zeros(6), labelled=0.0), ASKED)
    assert not told.numbers and "check.needs_labels" in said


def test_few_systems_have_no_rank_correlation(rng: np.random.Generator) -> None:
    told, said = tell(table(rng, np.zeros(6), kinds=4), ASKED)
    assert "system_order.trusted" in said and "system_order.tau" not in told.numbers


def test_where_no_system_is_shown_to_be_better_one_sentence_says_so() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(4, 1, 60)
    same = evidence_of(
        "numeric",
        values,
        values + rng.normal(0, 1, 60),
        {"system": NAMES[np.arange(60) % 4]},
        scale=(-3, 14),
    )
    told, said = tell(same, ASKED)
    assert [*said] == ["system_order.none_differ"] and told.numbers[
        "system_order.smallest"
    ] > 0
