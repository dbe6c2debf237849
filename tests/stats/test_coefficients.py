"""Intervals of alpha and Pearson's r: the estimate, few that agree, rare disagreement, skewed and floored scores."""

import numpy as np
import pytest

from tests.stats.conftest import held
from undogmatic.stats import agreement


def _two(rng: np.random.Generator, n: int, shape: str, strength: float) -> np.ndarray:
    """Two raters whose normal scores correlate with `strength`, shape (2, n)."""
    common, own = rng.normal(size=n), rng.normal(size=(2, n))
    scores = 50 + 20 * (strength**0.5 * common + (1 - strength) ** 0.5 * own)
    if shape == "floor":
        return np.clip(np.where(scores < 57, 0, scores), 0, 100)
    return np.exp(scores / 20) if shape == "lognormal" else scores


class TestAlpha:
    def test_the_estimate_is_that_of_the_definition_whatever_is_missing(self) -> None:
        rng = np.random.default_rng(0)
        ratings = rng.uniform(0, 100, (3, 30))
        ratings[1:] = ratings[0] + rng.normal(0, 20, (2, 30))
        ratings[0, :4] = ratings[1, 2] = ratings[:2, 7] = np.nan
        found = agreement.alpha(ratings, groups=np.arange(30) // 2)
        assert found is not None
        assert found.value == pytest.approx(agreement.krippendorff_alpha(ratings).estimate)
        assert found.low < found.value < found.high
        assert found.n_groups == 15

    def test_what_cannot_be_said(self) -> None:
        assert agreement.alpha(np.ones((2, 9))) is None
        few = agreement.alpha([[1.0, 2, 3, 4], [1.0, 2, 4, 4]])
        assert few is not None and few.interval == (-1, 1)

    def test_ten_texts_on_which_all_agree_show_little_and_many_show_much(self) -> None:
        levels = np.linspace(0, 100, 10)
        lows = []
        for n in (1, 5, 40):
            found = agreement.alpha(np.tile(levels, (2, n)))
            assert found is not None and (found.value, found.high) == (1, 1)
            lows.append(found.low)
        assert lows[0] < 0.8 < lows[1] < 0.95 < lows[2]

    def test_a_rare_disagreement_that_the_sample_missed_is_not_ruled_out(self) -> None:
        """The second judge guesses at one text of twenty; 36 % of samples of twenty hold none."""
        rng = np.random.default_rng(1)

        def draw(n: int) -> np.ndarray:
            first = rng.uniform(0, 100, n)
            return np.stack([first, np.where(rng.random(n) < 0.05, rng.uniform(0, 100, n), first)])

        truth = agreement.krippendorff_alpha(draw(200_000)).estimate
        assert truth is not None
        assert held(truth, 150, lambda: agreement.alpha(draw(20))) >= 0.95

    @pytest.mark.parametrize("shape", ["floor", "lognormal"])
    @pytest.mark.parametrize("strength", [0.0, 0.9])
    def test_it_holds_alpha_as_often_as_it_says(self, shape: str, strength: float) -> None:
        """The jackknife held it in 80 % of samples of ten at the floor, 88 % of lognormal ones."""
        rng = np.random.default_rng(2)
        truth = agreement.krippendorff_alpha(_two(rng, 400_000, shape, strength)).estimate
        assert truth is not None
        assert held(truth, 200, lambda: agreement.alpha(_two(rng, 10, shape, strength))) >= 0.93


class TestPearson:
    def test_normal_scores_have_nearly_fishers_interval(self) -> None:
        x, y = _two(np.random.default_rng(3), 300, "normal", 0.6)
        r = float(np.corrcoef(x, y)[0, 1])
        found = agreement.pearson(x, y)
        assert found is not None and found.value == pytest.approx(r)
        ends = np.tanh(np.arctanh(r) + np.array([-1, 1]) * 1.96 / np.sqrt(297))
        assert found.interval == pytest.approx(ends, abs=0.02)
        assert agreement.pearson(x, np.zeros(300)) is None

    @pytest.mark.parametrize("shape", ["floor", "lognormal"])
    def test_it_holds_r_as_often_as_it_says(self, shape: str) -> None:
        rng = np.random.default_rng(4)
        truth = float(np.corrcoef(_two(rng, 400_000, shape, 0.9))[0, 1])
        assert held(truth, 200, lambda: agreement.pearson(*_two(rng, 10, shape, 0.9))) >= 0.9
