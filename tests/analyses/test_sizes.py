"""What a user's file can hold too much of: conditions, groups, runs, two texts of one pair in a condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.analyses.builders import configured, made_up, run
from undogmatic.analyses.base import MOST_GROUPS, LongTable
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.records.results import AnalysisResult


def with_conditions(names: list[str], **fields: Any) -> LongTable:
    """Two labelled texts per condition."""
    items = [
        Item(id=f"{name} {n}", text=made_up(9, f"{name} {n}"), condition=name, label=50.0, **fields)
        for name in names
        for n in range(2)
    ]
    return run(items, [float(n % 100) for n in range(len(items))])


def attacks(n: int) -> LongTable:
    return with_conditions(["explained_only", *(f"attack:{k}" for k in range(n))])


def results(name: str, judged: LongTable, **changes: Any) -> list[AnalysisResult]:
    return configured(name, **changes)(judged, np.random.default_rng(0))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["adversarial", "suite"])
def test_more_attacks_than_can_be_compared_are_refused_before_judging(name: str) -> None:
    configured(name).check(attacks(MOST_GROUPS))
    with pytest.raises(DataError, match=r"takes the texts apart by `condition`, which has 2000 different values"):
        configured(name).check(attacks(2000))


def test_groups_of_conformal_intervals_are_refused_with_the_way_out() -> None:
    many = with_conditions([f"c{n}" for n in range(MOST_GROUPS + 1)])
    with pytest.raises(DataError, match=r"has 51 different values .*'c0', 'c1', 'c2', \.\.\.\).* set analysis.by=null"):
        configured("conformal").check(many)
    configured("conformal", by=None).check(many)
    configured("conformal").check(with_conditions([f"c{n}" for n in range(MOST_GROUPS)]))


def test_bands_of_more_controls_than_can_be_compared_are_refused() -> None:
    names = [f"c{n}" for n in range(MOST_GROUPS + 1)]
    bands = {name: [0.0, 50.0] for name in names}
    with pytest.raises(DataError, match="analysis=controls takes the texts apart"):
        configured("controls", bands=bands, worst="c0").check(with_conditions(names))


def test_more_runs_than_can_be_compared_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"`analysis\.against` names 50 runs"):
        configured("reliability", against=[f"outputs/{n}" for n in range(MOST_GROUPS)])


def test_two_texts_of_a_pair_in_one_condition_are_no_pair_of_every_two() -> None:
    """Joined, 10,000 texts of one pair id would make 25 million rows."""
    items = [
        Item(
            id=f"i{n}",
            text=made_up(9, str(n)),
            pair="p",
            condition=("authority_only", "explained_only")[n % 2],
            label=1.0,
        )
        for n in range(40)
    ]
    with pytest.raises(DataError, match="pair 'p' has authority_only more than once"):
        configured("few_labels").check(run(items, [1.0] * 40))


def test_many_conditions_are_described_and_drawn_as_one() -> None:
    (found,) = results("none", with_conditions([f"c{n}" for n in range(MOST_GROUPS + 1)]))
    assert len(found.tables["scores"]) == 1 + MOST_GROUPS + 1
    assert list(found.figures[0].data["groups"]) == ["all"]
    (few,) = results("none", with_conditions(["a"] * 2 + ["b"] * 2))
    assert list(few.figures[0].data["groups"]) == ["a", "b"]
