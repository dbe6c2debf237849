"""Intervals of coefficients: by hand, at the edges, and how often they hold the coefficient."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from tests.stats.conftest import Rng, held, peak_memory, refuses, sure, width
from undogmatic.stats import agreement, calibration, jackknife, means, ranking, review
from undogmatic.stats.estimate import Estimate

Array = np.ndarray


def _scores(n: int, seed: int = 1) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    x = rng.normal(50, 20, n)
    return x, 0.8 * x + 10 + rng.normal(0, 12, n)


def pearson_interval(*columns: ArrayLike) -> Estimate:
    return jackknife.LeftOut(
        np.column_stack(columns), agreement.pearson, np.random.default_rng(0)
    ).coefficient()


class TestInterval:
    def test_by_hand(self) -> None:
        """Leaving out each item by a loop: z +- t(n - 1) times the jackknife's standard error."""
        x, y = _scores(12)
        left_out = [
            np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(12)
        ]
        z, centre = np.arctanh(left_out), np.arctanh(np.corrcoef(x, y)[0, 1])
        reach = stats.t.ppf(0.975, 11) * np.sqrt(11 / 12 * np.sum((z - z.mean()) ** 2))
        assert pearson_interval(x, y).interval == pytest.approx(
            (np.tanh(centre - reach), np.tanh(centre + reach))
        )

    def test_perfect_agreement_of_few_is_no_certainty_and_one_item_or_four_units_limit_nothing(
        self, rng: Rng
    ) -> None:
        found = pearson_interval(np.arange(6) * 20.0, np.arange(6) * 20.0)
        assert (found.value, found.low, found.high) == (
            1,
            pytest.approx(0.025 ** (1 / 6)),
            1,
        )
        hangs = pearson_interval([0.0] * 9 + [5], range(10))
        assert (
            hangs.interval
            == ranking.spearman_interval(*_scores(4), rng).interval
            == (-1, 1)
        )

    @pytest.mark.parametrize("sign", [1, -1])
    @pytest.mark.parametrize("n", [20, 40, 200])
    def test_one_disagreement_alone_leaves_limits_that_say_something(
        self, n: int, sign: int, rng: Rng
    ) -> None:
        x = np.arange(n) % 5.0
        y = np.where(np.arange(n) == 7, 4 - x, x)
        one, none = (ranking.spearman_interval(x, sign * own, rng) for own in (y, x))
        if sign < 0:
            one, none = (
                found.replace(low=-found.high, high=-found.low) for found in (one, none)
            )
        assert 0.3 < one.low <= none.low < abs(one.value) <= one.high

    def test_where_most_values_are_one_the_known_variance_is_the_least(self) -> None:
        x = np.r_[np.zeros(12), 10, 20, 30, 40]
        y = np.r_[np.zeros(12), 11, 19, 32, 41] + np.tile([0.0, 0.1], 8)
        found = pearson_interval(x, y)
        assert found.low <= np.tanh(np.arctanh(found.value) - 1.9599 / np.sqrt(13))

    def test_copies_in_groups_are_no_evidence(self, rng: Rng) -> None:
        alone = sure(agreement.correlation_interval("spearman", *_scores(10), rng))
        x, y, groups = (np.repeat(own, 7) for own in (*_scores(10), np.arange(10)))
        copied = sure(
            agreement.correlation_interval("spearman", x, y, rng, groups=groups)
        )
        assert (copied.n_groups, copied.interval) == (
            10,
            pytest.approx(alone.interval, abs=0.03),
        )

    def test_many_units_are_left_out_by_groups(self, rng: Rng) -> None:
        x, y = _scores(3000)
        calls = []

        def counted(rows: Array) -> float:
            calls.append(len(rows))
            return float(np.corrcoef(rows.T)[0, 1])

        slow = jackknife.LeftOut(np.column_stack([x, y]), counted, rng).coefficient()
        assert len(calls) == 1 + jackknife.LEFT_OUT_GROUPS
        assert slow.interval == pytest.approx(pearson_interval(x, y).interval, abs=3e-3)


class TestEstimates:
    """Each interval is about the coefficient of `agreement`, to the last digits."""

    @pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
    def test_correlations(self, kind: agreement.Kind, rng: Rng) -> None:
        x, y = (np.round(v, -1) for v in _scores(25))
        found = sure(agreement.correlation_interval(kind, x, y, rng))
        assert found.value == pytest.approx(agreement.correlation(kind, x, y).estimate)
        assert found.low < found.value < found.high
        assert agreement.correlation_interval(kind, x, np.zeros(25), rng) is None

    @pytest.mark.parametrize("weights", ["quadratic", "linear", "none"])
    def test_kappa(self, weights: Any, rng: Rng) -> None:
        levels = np.arange(0, 101, 25.0)
        x, y = (25 * np.clip(np.round(v / 25), 0, 4) for v in _scores(40))
        found = sure(agreement.kappa_interval(x, y, levels, weights))
        assert found.value == pytest.approx(
            agreement.weighted_kappa(x, y, levels, weights).estimate
        )
        assert agreement.kappa_interval([25.0] * 5, [25.0] * 5, levels) is None


class TestNearlyMean:
    @pytest.mark.parametrize(
        "groups",
        [None, np.arange(40) // 3, np.random.default_rng(1).integers(0, 12, 40)],
    )
    def test_of_a_mean_it_is_the_interval_of_the_mean(
        self, groups: Array | None, rng: Rng
    ) -> None:
        values = rng.exponential(size=40)
        found = jackknife.LeftOut(values, np.mean, rng, groups).nearly_mean()
        # Of a group it is known what leaving it out does, not how its members differ.
        known = (
            values
            if groups is None
            else (np.bincount(groups, values) / np.maximum(1, np.bincount(groups)))[
                groups
            ]
        )
        expected = means.interval(known, groups=groups)
        assert (found.value, *found.interval) == pytest.approx(
            (expected.value, *expected.interval), abs=1e-9
        )

    def test_it_stays_within_the_bounds_and_many_units_are_left_out_by_groups(
        self, rng: Rng
    ) -> None:
        assert (
            jackknife.LeftOut(rng.random(30) ** 8, np.mean, rng)
            .nearly_mean(bounds=(0.1, 0.12))
            .low
            == 0.1
        )
        many = rng.exponential(size=3000)
        found, exact = (
            jackknife.LeftOut(many, np.mean, rng).nearly_mean(),
            means.interval(many),
        )
        assert (found.n_groups, found.interval) == (
            3000,
            pytest.approx(exact.interval, abs=0.01),
        )

    def test_what_hangs_on_one_unit_has_no_limits(self, rng: Rng) -> None:

        without = jackknife.LeftOut(
            [1.0, 2, 9], lambda x: x.mean() if x.max() == 9 else np.nan, rng
        )
        found = without.nearly_mean(bounds=(0, 10))
        assert (found.value, found.low, found.high) == (4, 0, 10)
        refuses(
            "1 units", jackknife.LeftOut([1.0, 2], np.mean, rng, ["x", "x"]).nearly_mean
        )


@pytest.mark.parametrize("floor", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_it_holds_the_correlation_as_often_as_it_says(
    floor: bool, grouped: bool, rng: Rng
) -> None:
    """Ten items, or ten groups of 2 to 4: the bootstrap's interval holds it in 88 % of the groups'
    samples."""

    def draw(n: int, groups: Array) -> tuple[Array, Array]:
        common, own = rng.normal(size=(n, 3))[groups], rng.normal(size=(groups.size, 3))
        mixed = 0.8 * common + 0.6 * own if grouped else own
        x, y = (0.7071 * (mixed[:, 0] + mixed[:, k]) for k in (1, 2))
        return (np.where(x < 0.35, 0, x), np.where(y < 0.35, 0, y)) if floor else (x, y)

    def found() -> Estimate | None:
        groups = (
            np.repeat(np.arange(10), rng.integers(2, 5, 10))
            if grouped
            else np.arange(10)
        )
        return agreement.correlation_interval(
            "spearman", *draw(10, groups), rng, groups=groups
        )

    truth = stats.spearmanr(*draw(100_000, np.arange(100_000))).statistic
    assert held(truth, 300, found) >= 0.92


def left_out(
    columns: Array, statistic: Any = agreement.pearson, groups: Any = None
) -> jackknife.LeftOut:
    return jackknife.LeftOut(columns, statistic, np.random.default_rng(0), groups)


class TestDifference:
    """Of two judges' correlations with the same labels."""

    def left_out(
        self, label: Array, *judges: Array, groups: object = None
    ) -> list[jackknife.LeftOut]:
        return [
            left_out(np.column_stack([own, label]), groups=groups) for own in judges
        ]

    def test_by_hand(self) -> None:
        """Zou's formula on the two intervals, with the correlation of both z without each item in
        turn."""
        label, a = _scores(20)
        b = _scores(20, seed=2)[0] + label
        one, other = self.left_out(label, a, b)
        first, second = (own.coefficient(0.9) for own in (one, other))
        without = np.array(
            [
                np.corrcoef([np.delete(own, k) for own in (label, a, b)])[0, 1:]
                for k in range(20)
            ]
        )
        r = np.corrcoef(np.arctanh(without).T)[0, 1]
        below, above = first.value - first.low, second.high - second.value
        found = jackknife.difference(one, other, 0.9)
        assert found.value == pytest.approx(
            np.corrcoef(a, label)[0, 1] - np.corrcoef(b, label)[0, 1]
        )
        assert found.low == pytest.approx(
            found.value - np.sqrt(below**2 + above**2 - 2 * r * below * above), abs=1e-6
        )
        turned = jackknife.difference(other, one, 0.9)
        assert turned.interval == pytest.approx((-found.high, -found.low))

    def test_judges_that_err_together_are_told_apart_sooner(self, rng: Rng) -> None:
        label, noise, more = rng.normal(size=(3, 60))
        alike = label + noise, label + 0.5 * noise
        apart = label + noise, label + 0.5 * more
        one, other = (
            jackknife.difference(*self.left_out(label, *pair))
            for pair in (alike, apart)
        )
        assert width(one) < 0.8 * width(other)

    def test_copies_of_texts_add_nothing(self) -> None:
        label, a = _scores(15)
        b = _scores(15, seed=3)[1]
        alone = jackknife.difference(*self.left_out(label, a, b))
        label, a, b = (np.repeat(own, 6) for own in (label, a, b))
        copied = jackknife.difference(
            *self.left_out(label, a, b, groups=np.repeat(np.arange(15), 6))
        )
        assert copied.interval == pytest.approx(alone.interval, abs=1e-9)

    def test_it_holds_the_difference_where_most_scores_lie_at_the_floor(
        self, rng: Rng
    ) -> None:
        """A paired bootstrap did so in 90 % of samples."""

        def draw() -> Estimate:
            common, *own = rng.normal(size=(3, 30))
            judges = [
                r * common + (1 - r**2) ** 0.5 * noise
                for r, noise in zip((0.6, 0.6), own, strict=True)
            ]
            label, a, b = (
                np.clip((stats.norm.cdf(each) - 0.6) / 0.4, 0, 1)
                for each in (common, *judges)
            )
            return jackknife.difference(*self.left_out(label, a, b))

        assert held(0, 200, draw) >= 0.92


class TestDifferenceOfMeans:
    def test_of_means_it_is_the_interval_of_the_mean_difference(self, rng: Rng) -> None:
        a, b = rng.exponential(10, (2, 24))
        groups = np.repeat(np.arange(8), 3)
        one, other = (left_out(own[:, None], np.mean, groups) for own in (a, b))
        found = one.nearly_mean(0.9, less=other)
        expected = means.interval(a - b, 0.9, groups=groups)
        assert found.metrics("") == pytest.approx(expected.metrics(""))
        assert found.n_groups == 8

    def test_what_does_not_exist_without_a_unit_is_left_open(self) -> None:
        def share(rows: Array) -> float:
            return (
                float(rows[:, 0].sum() / total)
                if (total := rows[:, 1].sum())
                else float("nan")
            )

        rows = np.array([[1.0, 2], [0, 0], [0, 0], [0, 0]])
        one, other = (left_out(own, share) for own in (rows, rows * [0, 1]))
        found = one.nearly_mean(0.95, (-1.0, 1.0), less=other)
        assert (found.value, found.low, found.high) == (0.5, -1, 1)


def two_columns(n: int, seed: int) -> Array:
    """An uncertainty with ties, and an error that goes with it."""
    rng = np.random.default_rng(seed)
    uncertainty = rng.integers(0, 12, n).astype(float)
    return np.column_stack(
        [uncertainty, np.abs(rng.normal(size=n)) + 0.05 * uncertainty]
    )


# By definition, one draw at a time.
PREPARED: dict[str, tuple[jackknife.Prepared, Callable[[Array], float]]] = {
    "rank correlation": (
        ranking.rank_correlation,
        lambda columns: float(stats.spearmanr(*columns.T).statistic),
    ),
    "aurc": (review.aurc, review.aurc.of),
    "review gain": (review.gain, review.gain.of),
    "calibration error": (
        calibration.calibration_error(10),
        calibration.calibration_error(10).of,
    ),
}


def data_of(name: str, n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if name == "calibration error":
        return np.column_stack(
            [np.round(0.8 * rng.random(n), 2), (rng.random(n) < 0.5).astype(float)]
        )
    return two_columns(n, seed)


class TestPrepared:
    @pytest.mark.parametrize("name", PREPARED)
    @pytest.mark.parametrize(
        "groups",
        [None, np.arange(90) // 2, np.random.default_rng(1).integers(0, 30, 90)],
    )
    def test_a_prepared_statistic_gives_what_its_definition_gives_draw_by_draw(
        self, name: str, groups: Array | None
    ) -> None:
        prepared, definition = PREPARED[name]
        data = data_of(name, 90, seed=3)
        units = jackknife.Units(
            np.arange(90)
            if groups is None
            else np.unique(groups, return_inverse=True)[1]
        )
        together = jackknife.distribution(
            prepared.on(data), units.draws(np.random.default_rng(5), 60)
        )
        drawn = [
            data[rows]
            for batch in units.draws(np.random.default_rng(5), 60)
            for rows in batch
        ]
        one_by_one = [definition(rows) for rows in drawn]
        exact = name != "rank correlation"  # SciPy's divides by n on the way
        assert together == pytest.approx(
            one_by_one, rel=0 if exact else 1e-12, abs=0 if exact else 1e-12
        )

    @pytest.mark.parametrize(
        "sizes", [np.full(700, 2), np.random.default_rng(4).integers(1, 9, 300)]
    )
    def test_every_unit_is_left_out_exactly_once(self, sizes: Array) -> None:
        groups = np.random.default_rng(5).permutation(
            np.repeat(np.arange(sizes.size), sizes)
        )
        batches = list(jackknife.Units(groups).left_out())
        assert len(batches) < sizes.size
        missing = {
            int(unit): np.setdiff1d(np.arange(groups.size), kept)
            for units, rows in batches
            for unit, kept in zip(units, rows, strict=True)
        }
        assert sorted(missing) == list(range(sizes.size))
        assert all(
            np.array_equal(rows, np.flatnonzero(groups == unit))
            for unit, rows in missing.items()
        )


class TestMemory:
    def test_no_batch_is_larger_than_promised(self, rng: Rng) -> None:
        sizes: list[int] = []

        def counting(data: Array) -> jackknife.OfDraws:
            def of_draws(drawn: Array) -> Array:
                sizes.append(drawn.size)
                return data[drawn].mean(axis=1)

            return of_draws

        for n in (50, 3000, 100_000):
            sizes.clear()
            values, statistic = rng.normal(size=n), jackknife.Prepared(counting)
            jackknife.LeftOut(values, statistic, rng).nearly_mean()
            jackknife.distribution(
                statistic.on(values), jackknife.Units(np.arange(n)).draws(rng, 50)
            )
            assert max(sizes) <= max(jackknife.AT_ONCE, n)

    @pytest.mark.parametrize("name", PREPARED)
    def test_the_peak_grows_with_the_rows_and_not_with_their_square(
        self, name: str, rng: Rng
    ) -> None:
        data = data_of(name, 20_000, seed=2)
        _, peak = peak_memory(
            lambda: jackknife.LeftOut(data, PREPARED[name][0], rng).nearly_mean()
        )
        # n x n positions would be 3.2 GB, 20 resamples of all positions 3.2 MB
        assert peak < 20e6

    def test_curves_of_many_items_keep_a_thousand_points(self, rng: Rng) -> None:
        u, e = two_columns(5000, seed=1).T
        risk, caught = (
            review.curve(kind, u, e, rng, n_resamples=20) for kind in ("risk", "caught")
        )
        assert (risk.share.size, caught.n.size) == (
            review.MOST_PLACES,
            review.MOST_PLACES + 1,
        )
        assert (caught.n[0], caught.n[-1], risk.share[-1]) == (0, 5000, 1)
        # What is kept is what the whole curve has there.
        order = np.argsort(-e, kind="stable")
        assert caught.oracle == pytest.approx(
            np.concatenate([[0], np.cumsum(e[order]) / e.sum()])[caught.n]
        )
        assert risk.guided[-1] == pytest.approx(e.mean())
        assert np.all(risk.band.low <= risk.band.high) and np.all(
            caught.band.low <= caught.band.high
        )


def _two(rng: Rng, n: int, shape: str, strength: float) -> Array:
    """Two raters whose normal scores correlate with `strength`, shape (2, n)."""
    common, own = rng.normal(size=n), rng.normal(size=(2, n))
    scores = 50 + 20 * (strength**0.5 * common + (1 - strength) ** 0.5 * own)
    if shape == "floor":
        return np.clip(np.where(scores < 57, 0, scores), 0, 100)
    return np.exp(scores / 20) if shape == "lognormal" else scores


class TestAlpha:
    def test_the_estimate_is_that_of_the_definition_whatever_is_missing(
        self, rng: Rng
    ) -> None:
        ratings = rng.uniform(0, 100, 30) + rng.normal(0, [[0], [20], [20]], (3, 30))
        ratings[0, :4] = ratings[1, 2] = ratings[:2, 7] = np.nan
        found = sure(agreement.alpha(ratings, groups=np.arange(30) // 2))
        assert found.value == pytest.approx(
            agreement.krippendorff_alpha(ratings).estimate
        )
        assert found.low < found.value < found.high
        assert found.n_groups == 15

    def test_what_cannot_be_said(self) -> None:
        assert agreement.alpha(np.ones((2, 9))) is None
        assert sure(agreement.alpha([[1.0, 2, 3, 4], [1.0, 2, 4, 4]])).interval == (
            -1,
            1,
        )

    def test_ten_texts_on_which_all_agree_show_little_and_many_show_much(self) -> None:
        found = [
            sure(agreement.alpha(np.tile(np.linspace(0, 100, 10), (2, n))))
            for n in (1, 5, 40)
        ]
        assert {(each.value, each.high) for each in found} == {(1, 1)}
        assert found[0].low < 0.8 < found[1].low < 0.95 < found[2].low

    def test_a_rare_disagreement_that_the_sample_missed_is_not_ruled_out(
        self, rng: Rng
    ) -> None:
        """The second judge guesses at one text of twenty; 36 % of samples of twenty hold none."""

        def draw(n: int) -> Array:
            first = rng.uniform(0, 100, n)
            return np.stack(
                [first, np.where(rng.random(n) < 0.05, rng.uniform(0, 100, n), first)]
            )

        truth = sure(agreement.krippendorff_alpha(draw(200_000)).estimate)
        assert held(truth, 150, lambda: agreement.alpha(draw(20))) >= 0.95

    @pytest.mark.parametrize("shape", ["floor", "lognormal"])
    @pytest.mark.parametrize("strength", [0.0, 0.9])
    def test_it_holds_alpha_as_often_as_it_says(
        self, shape: str, strength: float, rng: Rng
    ) -> None:
        """The jackknife held it in 80 % of samples of ten at the floor, 88 % of lognormal ones."""
        truth = sure(
            agreement.krippendorff_alpha(_two(rng, 400_000, shape, strength)).estimate
        )
        assert (
            held(truth, 200, lambda: agreement.alpha(_two(rng, 10, shape, strength)))
            >= 0.93
        )


class TestPearson:
    def test_normal_scores_have_nearly_fishers_interval(self, rng: Rng) -> None:
        x, y = _two(np.random.default_rng(3), 300, "normal", 0.6)
        r = float(np.corrcoef(x, y)[0, 1])
        found = sure(agreement.correlation_interval("pearson", x, y, rng))
        assert found.value == pytest.approx(r)
        ends = np.tanh(np.arctanh(r) + np.array([-1, 1]) * 1.96 / np.sqrt(297))
        assert found.interval == pytest.approx(ends, abs=0.02)
        assert agreement.correlation_interval("pearson", x, np.zeros(300), rng) is None

    @pytest.mark.parametrize("shape", ["floor", "lognormal"])
    def test_it_holds_r_as_often_as_it_says(self, shape: str, rng: Rng) -> None:
        truth = float(np.corrcoef(_two(rng, 400_000, shape, 0.9))[0, 1])

        def draw() -> Estimate | None:
            return agreement.correlation_interval(
                "pearson", *_two(rng, 10, shape, 0.9), rng
            )

        assert held(truth, 200, draw) >= 0.9
