"""Conformal intervals keep their word on items they were not fitted on, per group where fitted per
group."""

import functools
import json

import numpy as np
import pytest
from crepes import ConformalRegressor
from hypothesis import given
from hypothesis import strategies as st
from mapie.regression import SplitConformalRegressor
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

from tests.stats.conftest import Rng, refuses
from undogmatic.stats import conformal

LEVELS = np.array([0.0, 25, 50, 75, 100])


_fit = functools.partial(conformal.fit, scale=(0.0, 100.0))


def _judge(
    rng: np.random.Generator, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.str_]]:
    """Scores, labels and courts; the judge is three times as noisy on one court as on the other."""
    truth = rng.uniform(0, 100, n)
    court = np.where(rng.random(n) < 0.4, "tst", "stf")
    return (
        np.clip(truth + rng.normal(0, np.where(court == "tst", 18, 6)), 0, 100),
        truth,
        court,
    )


class TestScores:
    @pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
    def test_coverage_is_within_two_points_of_nominal_on_2000_fresh_items(
        self, level: float, rng: Rng
    ) -> None:
        score, truth, court = _judge(rng, 4000)
        old, new = slice(0, 2000), slice(2000, 4000)
        fitted = _fit(
            score[old], truth[old], range(2000), level, groups=court[old].tolist()
        )
        made = conformal.intervals(fitted, score[new], groups=court[new].tolist())
        table = conformal.coverage(
            fitted, made, truth[new], range(2000, 4000), court[new].tolist()
        )
        assert [row.inside.n for row in table] == [
            2000,
            *[int(np.sum(court[new] == row.group)) for row in table[1:]],
        ]
        assert abs(table[0].inside.value - level) < 0.02
        assert all(
            row.band and row.band[0] <= row.inside.value <= row.band[1]
            for row in table[1:]
        )
        by_court = {row.group: row.mean_width for row in table}
        assert by_court["tst"] > 2 * by_court["stf"]

    def test_a_fit_over_all_items_fails_the_noisy_group_and_the_table_shows_it(
        self, rng: Rng
    ) -> None:
        score, truth, court = _judge(rng, 4000)
        fitted = _fit(score[:2000], truth[:2000], range(2000))
        made = conformal.intervals(fitted, score[2000:])
        table = conformal.coverage(
            fitted, made, truth[2000:], range(2000, 4000), court[2000:].tolist()
        )
        shares = {row.group: row.inside.value for row in table}
        assert (
            abs(shares["all items"] - 0.9) < 0.02
            and shares["tst"] < 0.85
            and shares["stf"] > 0.95
        )
        assert table[1].band is None

    def test_the_average_coverage_over_many_small_fits_is_the_exact_one(
        self, rng: Rng
    ) -> None:
        covered = []
        for _ in range(400):
            score, truth, _court = _judge(rng, 219)
            fitted = _fit(score[:19], truth[:19], range(19))
            made = conformal.intervals(fitted, score[19:])
            covered.append(
                np.mean((made.low <= truth[19:]) & (truth[19:] <= made.high))
            )
        # rank 18 of 19: exactly 18/20
        assert np.mean(covered) == pytest.approx(18 / 20, abs=0.012)

    def test_the_reach_is_the_ranked_miss_by_hand(self) -> None:
        fitted = _fit(np.arange(51.0, 70), np.full(19, 50.0), range(19))
        made = conformal.intervals(fitted, [50, 5, 99])
        assert fitted.reach == {"all items": 18.0}
        assert (made.low.tolist(), made.high.tolist()) == ([32, 0, 81], [68, 23, 100])

    @given(
        st.lists(st.integers(0, 100), min_size=19, max_size=60),
        st.floats(0.5, 0.94),
        st.floats(0.5, 0.94),
    )
    def test_a_higher_level_is_never_narrower(
        self, misses: list[int], one: float, other: float
    ) -> None:
        truth = np.zeros(len(misses))
        low, high = (
            _fit(misses, truth, range(len(misses)), level)
            for level in sorted((one, other))
        )
        assert low.reach["all items"] <= high.reach["all items"]

    def test_labels_that_are_levels_get_interval_ends_that_are_levels_and_keep_coverage(
        self, rng: Rng
    ) -> None:
        truth = rng.choice(LEVELS, 3000)
        score = np.clip(truth + rng.normal(0, 20, 3000), 0, 100)
        fitted = _fit(score[:1000], truth[:1000], range(1000))
        plain = conformal.intervals(fitted, score[1000:])
        snapped = conformal.intervals(fitted, score[1000:], levels=LEVELS)
        assert set(snapped.low) | set(snapped.high) <= set(LEVELS)
        in_plain, in_snapped = (
            (own.low <= truth[1000:]) & (truth[1000:] <= own.high)
            for own in (plain, snapped)
        )
        assert np.all(in_snapped[in_plain])
        assert np.mean(snapped.high - snapped.low) < np.mean(plain.high - plain.low)
        # An interval between two levels becomes the nearer.
        between = conformal.intervals(
            _fit(np.full(9, 51.0), np.full(9, 50.0), range(9)), [35, 40], levels=LEVELS
        )
        assert between.low.tolist() == between.high.tolist() == [25, 50]


class TestRanges:
    @pytest.mark.parametrize(("honest", "widened"), [(0.5, True), (3.0, False)])
    def test_ranges_that_overstate_or_understate_are_put_right(
        self, honest: float, widened: bool, rng: Rng
    ) -> None:
        truth = rng.uniform(20, 80, 4000)
        score = truth + rng.normal(0, 5, 4000)
        ranges = np.column_stack([score - 5 * honest, score + 5 * honest])
        fitted = _fit(ranges[:2000], truth[:2000], range(2000))
        made = conformal.intervals(fitted, ranges[2000:])
        row = conformal.coverage(fitted, made, truth[2000:], range(2000, 4000))[0]
        assert abs(row.inside.value - 0.9) < 0.02
        assert (row.mean_width > 10 * honest) == widened

    def test_a_range_narrowed_past_itself_is_its_middle(self) -> None:
        fitted = _fit(np.tile([0.0, 100.0], (9, 1)), np.full(9, 50.0), range(9))
        made = conformal.intervals(fitted, [[40.0, 60.0]])
        assert (made.low.tolist(), made.high.tolist()) == ([50], [50])


class TestGuards:
    @pytest.mark.parametrize(
        ("level", "needed"), [(0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99)]
    )
    def test_the_number_needed_is_enough_and_one_less_is_not(
        self, level: float, needed: int
    ) -> None:
        assert conformal.items_needed(level) == needed
        _fit(np.ones(needed), np.ones(needed), range(needed), level)
        if few := needed - 1:
            message = (
                rf"{100 * level:g} %.*there are {few}; at least {needed} are needed"
            )
            refuses(message, _fit, np.ones(few), np.ones(few), range(few), level)

    def test_a_group_that_is_too_small_is_named_with_its_size_and_a_fitted_item_verifies_nothing(
        self,
    ) -> None:
        groups = ["stf"] * 20 + ["tst"] * 5
        refuses(
            r"90 %.*'tst' has 5; at least 9",
            _fit,
            np.ones(25),
            np.ones(25),
            range(25),
            groups=groups,
        )
        fitted = _fit(np.ones(9), np.ones(9), [f"pair{i}" for i in range(9)])
        refuses(
            "pair3",
            conformal.coverage,
            fitted,
            conformal.intervals(fitted, [1.0]),
            [1.0],
            ["pair3"],
        )

    def test_a_fit_survives_json(self) -> None:
        fitted = _fit(np.arange(9.0), np.zeros(9), range(9), groups=["a"] * 9)
        again = conformal.Conformal(**json.loads(json.dumps(fitted._asdict())))
        one, other = (
            conformal.intervals(each, [5.0], groups=["a"]) for each in (fitted, again)
        )
        assert np.array_equal(one, other)

    def test_what_does_not_match_the_fit_is_refused(self) -> None:
        plain = _fit(np.ones(9), np.ones(9), range(9))
        grouped = _fit(np.ones(9), np.ones(9), range(9), groups=["a"] * 9)
        for fitted, predicted, groups, message in (
            (plain, [1.0], ["a"], "groups"),
            (grouped, [1.0], None, "groups"),
            (grouped, [1.0], ["b"], "holds b; fitted are a"),
            (plain, [[1.0, 2.0]], None, "ranges"),
        ):
            refuses(message, conformal.intervals, fitted, predicted, groups=groups)
        refuses("scale", _fit, np.ones(9), np.full(9, 101.0), range(9))


@pytest.mark.parametrize("grouped", [False, True])
def test_crepes_gives_the_same_split_and_mondrian_intervals(
    grouped: bool, rng: Rng
) -> None:
    score, truth, court = _judge(rng, 800)
    # exact in binary: at 0.9 crepes takes int(0.1 * 360) for 35, one rank wider than needed
    level = 0.75
    groups = [part.tolist() if grouped else None for part in (court[:600], court[600:])]
    bins = [part == "tst" if grouped else None for part in (court[:600], court[600:])]
    other = ConformalRegressor()
    other.fit(truth[:600] - score[:600], bins=bins[0])
    expected = other.predict_int(
        score[600:], bins=bins[1], confidence=level, y_min=0, y_max=100
    )
    fitted = _fit(score[:600], truth[:600], range(600), level, groups=groups[0])
    np.testing.assert_allclose(
        np.column_stack(conformal.intervals(fitted, score[600:], groups=groups[1])),
        expected,
    )


def test_mapie_gives_the_same_split_intervals(rng: Rng) -> None:
    score, truth, _court = _judge(rng, 800)
    identity = LinearRegression(fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    other = SplitConformalRegressor(identity, confidence_level=0.9, prefit=True)
    _point, expected = other.conformalize(
        score[:600, None], truth[:600]
    ).predict_interval(score[600:, None])
    fitted = _fit(score[:600], truth[:600], range(600))
    made = conformal.intervals(fitted, score[600:])
    np.testing.assert_allclose(
        np.column_stack(made), np.clip(expected[:, :, 0], 0, 100), atol=1e-9
    )
