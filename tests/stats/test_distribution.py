"""Distributions over levels: entropy, intervals, and the cut normal that keeps its mean."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from undogmatic.stats import distribution

WEIGHTS = hnp.arrays(np.float64, st.integers(2, 12), elements=st.integers(0, 20).map(float)).filter(
    lambda w: w.sum() > 0
)
PROBABILITIES = WEIGHTS.map(lambda w: w / w.sum())
FIVE = [0.0, 25, 50, 75, 100]


class TestEntropy:
    def test_known_values(self) -> None:
        assert distribution.normalised_entropy([0.5, 0.25, 0.25, 0.0]) == pytest.approx(1.5 / 2)
        assert distribution.normalised_entropy([1.0]) == 0
        assert distribution.normalised_entropy([0.0, 1.0, 0.0]) == 0
        assert distribution.normalised_entropy(np.full(5, 0.2)) == pytest.approx(1)

    def test_a_level_nobody_chose_still_counts(self) -> None:
        assert distribution.normalised_entropy([0.5, 0.5]) == pytest.approx(1)
        assert distribution.normalised_entropy([0.5, 0.5, 0, 0]) == pytest.approx(0.5)

    @given(PROBABILITIES, st.randoms(use_true_random=False))
    def test_bounds_and_order_do_not_matter(self, p: np.ndarray, random: object) -> None:
        shuffled = p.tolist()
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        entropy = float(distribution.normalised_entropy(p))
        assert 0 <= entropy <= 1
        assert distribution.normalised_entropy(shuffled) == pytest.approx(entropy)


class TestGuards:
    @pytest.mark.parametrize(
        ("probabilities", "message"),
        [
            ([0.5, 0.4], "`probabilities` sum to 0.9"),
            ([1.5, -0.5], "`probabilities` holds a negative value"),
            ([], "`probabilities` holds no level"),
            ([0.2, 0.3, 0.5], "`probabilities` has 3 levels and `levels` 2"),
        ],
    )
    def test_nothing_is_renormalised_silently(self, probabilities: list[float], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            distribution.quantile_interval(probabilities, [0.0, 1.0])


class TestQuantileInterval:
    def test_hand_computed(self) -> None:
        result = distribution.quantile_interval([0.04, 0.06, 0.5, 0.37, 0.03], FIVE, level=0.9)
        assert (result.low, result.high) == (25, 75)
        assert result.mass == pytest.approx(0.93)

    def test_a_tail_met_exactly_is_kept(self) -> None:
        result = distribution.quantile_interval([0.05, 0.9, 0.05], [0, 1, 2], level=0.9)
        assert (result.low, result.high) == (0, 2)

    @given(PROBABILITIES, st.sampled_from([0.5, 0.8, 0.9, 0.95]))
    def test_it_holds_what_it_promises_and_no_end_could_move_in(self, p: np.ndarray, level: float) -> None:
        levels = np.arange(p.size, dtype=float)
        result = distribution.quantile_interval(p, levels, level)
        assert result.mass >= level - 1e-9
        tail = (1 - level) / 2
        assert p[levels < result.low].sum() < tail
        assert p[levels > result.high].sum() < tail
        assert p[levels <= result.low].sum() >= tail - 1e-9
        assert p[levels >= result.high].sum() >= tail - 1e-9

    @given(PROBABILITIES)
    def test_turning_the_scale_round_mirrors_the_interval(self, p: np.ndarray) -> None:
        levels = np.arange(p.size, dtype=float)
        here = distribution.quantile_interval(p, levels)
        there = distribution.quantile_interval(p[::-1], -levels[::-1])
        assert (there.low, there.high) == (-here.high, -here.low)

    def test_levels_must_increase(self) -> None:
        with pytest.raises(ValueError, match="`levels` must increase strictly"):
            distribution.quantile_interval([0.5, 0.5], [1.0, 1.0])


class TestDiscretisedNormal:
    @given(st.floats(0.01, 99.99), st.floats(0, 80), st.sampled_from([2, 5, 11, 101]))
    def test_the_expectation_survives_the_cut(self, mean: float, sd: float, n_levels: int) -> None:
        levels = np.linspace(0, 100, n_levels)
        p = distribution.discretised_normal(mean, sd, levels)
        assert np.all(p >= 0)
        assert p.sum() == pytest.approx(1)
        assert float(p @ levels) == pytest.approx(mean, abs=1e-5)

    def test_inside_a_fine_scale_the_spread_survives_too(self) -> None:
        levels = np.arange(0, 101.0)
        p = distribution.discretised_normal(50, 8, levels)
        spread = np.sqrt(p @ (levels - 50) ** 2)
        assert float(spread) == pytest.approx(8, abs=0.02)

    def test_no_spread_shares_between_neighbours(self) -> None:
        assert distribution.discretised_normal(30, 0, FIVE) == pytest.approx([0, 0.8, 0.2, 0, 0])
        assert distribution.discretised_normal(25, 0, FIVE) == pytest.approx([0, 1, 0, 0, 0])

    def test_a_vanishing_spread_is_the_limit(self) -> None:
        assert distribution.discretised_normal(30, 0.01, FIVE) == pytest.approx([0, 0.8, 0.2, 0, 0], abs=1e-6)

    @pytest.mark.parametrize(("mean", "end"), [(-5, 0), (0, 0), (100, 4), (140, 4)])
    def test_a_mean_at_or_beyond_an_end_takes_the_end(self, mean: float, end: int) -> None:
        assert distribution.discretised_normal(mean, 20, FIVE)[end] == 1

    @given(st.floats(1, 99), st.floats(0.5, 60))
    def test_turning_the_scale_round_mirrors_the_distribution(self, mean: float, sd: float) -> None:
        p = distribution.discretised_normal(mean, sd, FIVE)
        mirrored = distribution.discretised_normal(100 - mean, sd, FIVE)
        assert p == pytest.approx(mirrored[::-1], abs=1e-7)

    def test_more_spread_is_more_entropy(self) -> None:
        doubts = [distribution.normalised_entropy(distribution.discretised_normal(50, sd, FIVE)) for sd in (5, 15, 30)]
        assert doubts[0] < doubts[1] < doubts[2]

    def test_a_negative_spread_is_refused(self) -> None:
        with pytest.raises(ValueError, match="`mean` is 50 and `sd` -1"):
            distribution.discretised_normal(50, -1, FIVE)
