"""The control for length: which checks count, that all of them must hold, and that matches come from the texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analyses.builders import paired_run
from undogmatic.analyses.pairs import match
from undogmatic.analyses.rivals import Control, Matched, PairSettings, check_matched, control, say_matched
from undogmatic.analyses.truth import Margin
from undogmatic.records.results import Telling
from undogmatic.stats.claims import Claim
from undogmatic.stats.confound import AtEqual
from undogmatic.stats.estimate import Estimate

T, B = "naked", "explained"
SETTINGS = PairSettings(1, Margin(10.0, "rubric", 100.0))


def _claim(low: float, high: float) -> Claim:
    return Claim("open", Estimate((low + high) / 2, low, high, n_groups=40), (low, high), 10.0, None)


SAME = "all pairs are of one length"
BEYOND, BELOW, OPEN = (15.0, 25.0), (-3.0, 6.0), (5.0, 25.0)


def _check(limits: tuple[float, float], extrapolated: bool = False) -> AtEqual:
    return AtEqual(20.0, _claim(*limits), _claim(-1, 1), 0.1, extrapolated)


def _matched(limits: tuple[float, float], telling: bool = True) -> Matched:
    return Matched(20, 0.0, _claim(*limits), telling)


@pytest.mark.parametrize(
    ("check", "matched", "expected"),
    [
        (_check(BEYOND), None, "survives"),
        (_check(BEYOND), _matched(BEYOND), "survives"),
        # Every check that the data allow must hold: one that does not is enough.
        (_check(BEYOND), _matched(BELOW), "confounded"),
        (_check(BELOW), _matched(BEYOND), "confounded"),
        (_check(BEYOND), _matched(OPEN), "open"),
        (_check(OPEN), _matched(BEYOND), "open"),
        # Matched pairs that are too few to tell decide nothing, either way.
        (_check(BEYOND), _matched(BELOW, telling=False), "survives"),
        (_check(BELOW), _matched(BEYOND, telling=False), "confounded"),
        (None, _matched(BEYOND, telling=False), "inseparable"),
        # Nor does a line drawn to where no pair is.
        (_check(BELOW, extrapolated=True), _matched(BEYOND), "survives"),
        (_check(BEYOND, extrapolated=True), None, "inseparable"),
        # Not significant is not "not there".
        (_check(OPEN), None, "open"),
        (None, None, "inseparable"),
        (SAME, None, "survives"),
        (SAME, _matched(BELOW), "confounded"),
    ],
)
def test_all_checks_that_count_must_hold(check: Any, matched: Matched | None, expected: Control) -> None:
    same = check == SAME
    assert control(None if same else check, matched, SETTINGS, same) == expected


def test_the_expected_side_may_be_the_lower() -> None:
    assert control(_check((-25, -15)), None, SETTINGS._replace(sign=-1)) == "survives"
    assert control(_check((-25, -15)), None, SETTINGS) == "confounded"


def _sides(counts: dict[str, list[int]], scores: dict[str, list[float]], **fields: object) -> list[pd.DataFrame]:
    judged = paired_run(scores, lengths=counts, **fields)  # type: ignore[arg-type]
    return match(judged, (T, B)).between(T, B)


def _match(*sides: pd.DataFrame) -> Matched | None:
    return check_matched(*sides, SETTINGS)


def test_matches_are_computed_from_the_texts_whatever_the_metadata_say() -> None:
    rng = np.random.default_rng(1)
    counts = {T: [9] * 10 + [20] * 10, B: [10] * 10 + [40] * 10}
    scores = {T: (60 + rng.normal(0, 5, 20)).tolist(), B: (30 + rng.normal(0, 5, 20)).tolist()}
    lies = {"length_matched": [False] * 10 + [True] * 10}
    found = _match(*_sides(counts, scores, metadata=lies))
    assert found is not None
    assert (found.n, found.telling) == (10, True)
    assert found.difference is not None
    assert found.difference.outcome == "beyond"


def test_few_matched_pairs_are_not_telling() -> None:
    rng = np.random.default_rng(2)
    counts = {T: [10] * 4 + [20] * 36, B: [10] * 4 + [40] * 36}
    scores = {T: (60 + rng.normal(0, 15, 40)).tolist(), B: (30 + rng.normal(0, 15, 40)).tolist()}
    found = _match(*_sides(counts, scores))
    assert found is not None
    assert (found.n, found.telling) == (4, False)
    assert _match(*_sides({T: [10] * 5, B: [30] * 5}, {T: [60.0] * 5, B: [30.0] * 5})) is None


def test_eight_matched_pairs_do_not_hold_back_a_good_judge() -> None:
    """The interval of eight noisy differences is so wide that it would be open whatever the judge is worth."""
    counts = {T: [10] * 8 + [20] * 20 + [40] * 18, B: [10] * 8 + [40] * 20 + [20] * 18}
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        scores = {c: np.clip(50 + d + rng.normal(0, 20, 46), 0, 100).tolist() for c, d in ((T, 35), (B, -35))}
        matched = _match(*_sides(counts, scores))
        found.append(control(_check(BEYOND), matched, SETTINGS))
    assert found.count("survives") >= 37


def test_matched_pairs_that_all_agree_on_nothing_are_telling() -> None:
    """A judge that tells only texts above a length from those below scores pairs of equal length alike."""
    counts = {T: [10] * 20 + [40] * 40, B: [10] * 20 + [20] * 40}
    found = _match(*_sides(counts, {T: [30.0] * 20 + [70.0] * 40, B: [30.0] * 60}))
    assert found is not None
    assert found.telling
    assert control(_check(BEYOND), found, SETTINGS) != "survives"


def test_one_matched_pair_is_said_without_an_interval() -> None:
    found = _match(*_sides({T: [10, 10, 10], B: [10, 30, 30]}, {T: [60.0, 50, 55], B: [30.0, 20, 25]}))
    assert found is not None
    assert (found.n, found.difference, found.telling) == (1, None, False)
    tell = Telling("ab")
    say_matched(tell, found, SETTINGS)
    assert [finding.key for finding in tell.findings] == ["ab.matched_alone"]


def test_pairs_of_one_group_are_one_unit() -> None:
    rng = np.random.default_rng(3)
    scores = {T: (60 + rng.normal(0, 5, 12)).tolist(), B: (30 + rng.normal(0, 5, 12)).tolist()}
    sides = _sides({T: [10] * 12, B: [10] * 12}, scores)
    found = _match(*(side.assign(group=[f"g{n // 4}" for n in range(12)]) for side in sides))
    assert found is not None
    assert found.difference is not None
    assert (found.difference.estimate.n_groups, found.telling) == (3, False)
