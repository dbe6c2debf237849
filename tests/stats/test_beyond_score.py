"""A doubt that is a function of the score is worth nothing beyond it; one that knows the size of its noise is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.stats.conftest import refuses
from undogmatic.stats import review
from undogmatic.stats.review import FEWEST, Beyond, beyond_score, error_by_score

Array = NDArray[np.float64]
MIDDLE = 50.0


def random_judge(n: int, seed: int) -> tuple[Array, Array]:
    """Scores, and errors of scores that have nothing to do with the labels."""
    draw = np.random.default_rng([n, seed])
    score, label = draw.uniform(0, 100, (2, n))
    return score, np.abs(score - label)


def honest(n: int, seed: int) -> tuple[Array, Array, Array]:
    """A doubt that knows the spread of the noise in its score, the errors and the scores."""
    draw = np.random.default_rng([n, seed, 1])
    label, spread = draw.uniform(0, 100, n), 8 * np.exp(draw.normal(0, 0.6, n))
    score = np.clip(label + spread * draw.normal(size=n), 0, 100)
    return spread, np.abs(score - label), score


def test_a_random_judge_that_doubts_by_the_distance_from_the_middle_orders_its_errors_and_knows_nothing() -> None:
    orders = beyond = 0
    for seed in range(40):
        score, error = random_judge(46, seed)
        doubt = np.abs(score - MIDDLE)
        gain = review.review_gain_interval(doubt, error, np.random.default_rng(seed))
        orders += gain.low > 0
        beyond += beyond_score(doubt, error, score, MIDDLE).estimate.low > 0
    assert orders > 20
    assert beyond <= 1


@pytest.mark.parametrize(
    "shape",
    [
        lambda s: s,
        lambda s: -s,
        lambda s: np.minimum(s, 20.0),
        lambda s: np.abs(s - 37),
        lambda s: -((s - 60) ** 2),
        lambda s: (s > 30).astype(float),
        lambda s: np.digitize(np.abs(s - MIDDLE), [15, 30]).astype(float),
        lambda s: ((s > 30) & (s < 45)).astype(float),
    ],
)
def test_functions_of_the_score_are_named_and_never_worth_anything(shape: Callable[[Array], Array]) -> None:
    found = [beyond_score(shape(s), e, s, MIDDLE) for s, e in (random_judge(150, seed) for seed in range(12))]
    assert not any(one.estimate.low > 0 for one in found)
    assert sum(one.function for one in found) >= 10


def test_whatever_function_of_a_score_with_few_values_is_taken_out_whole() -> None:
    score, error = random_judge(46, 0)
    levels = np.round(score / 25) * 25
    values = dict(zip(np.unique(levels), (3.0, 1.0, 5.0, 2.0, 4.0), strict=True))
    found = beyond_score([values[level] for level in levels], error, levels, MIDDLE)
    assert found.function and found.share_of_score == pytest.approx(1)
    assert np.isnan(found.estimate.value) and found.p_value == 1


def test_random_doubts_are_believed_as_rarely_as_stated() -> None:
    believed = 0
    for seed in range(200):
        score, error = random_judge(30, seed)
        believed += beyond_score(np.random.default_rng(seed).uniform(size=30), error, score, MIDDLE).estimate.low > 0
    assert believed <= 9  # 2.5 % are 5; more than 9 have a probability of 3 %


def test_doubts_that_know_are_found() -> None:
    found = [beyond_score(*honest(150, seed), MIDDLE).estimate.low > 0 for seed in range(20)]
    assert sum(found) >= 18


def test_a_reversed_doubt_mirrors_the_interval_and_only_order_counts() -> None:
    doubt, error, score = honest(60, 3)
    one = beyond_score(doubt, error, score, MIDDLE)
    other = beyond_score(-doubt, error, score, MIDDLE)
    assert other.estimate.interval == pytest.approx((-one.estimate.high, -one.estimate.low), abs=1e-6)
    assert beyond_score(np.exp(doubt / 10), error, score, MIDDLE).estimate.value == pytest.approx(one.estimate.value)


def test_copies_of_a_text_are_one_unit() -> None:
    doubt, error, score = honest(60, 4)
    one = beyond_score(doubt, error, score, MIDDLE)
    groups = np.repeat(np.arange(60), 3)
    thrice = beyond_score(*(np.repeat(v, 3) for v in (doubt, error, score)), MIDDLE, groups=groups)
    assert thrice.estimate.n_groups == one.estimate.n_groups
    assert thrice.estimate.high - thrice.estimate.low == pytest.approx(one.estimate.high - one.estimate.low, rel=0.2)


def test_with_no_noise_the_correlation_is_the_partial_one() -> None:
    """Few score values: the regression is that on one constant per value."""
    draw = np.random.default_rng(9)
    score = np.repeat([0.0, 50.0, 100.0], 40)
    error = np.abs(draw.normal(0, 10, 120)) + score / 10
    doubt = stats.norm.ppf(stats.rankdata(error + draw.normal(0, 8, 120)) / 121)
    ranks = stats.rankdata(doubt)

    def centred(values: Array) -> Array:
        means = values.reshape(3, 40).mean(axis=1)
        return values - np.repeat(means, 40)

    expected = np.corrcoef(centred(ranks), centred(error))[0, 1]
    assert beyond_score(doubt, error, score, MIDDLE).estimate.value == pytest.approx(expected)


def test_the_score_foretells_the_error_of_texts_left_out_where_it_can() -> None:
    score, error = random_judge(300, 1)
    assert (
        review.GAIN.of(np.column_stack([error_by_score(np.abs(score - 37), score, MIDDLE), np.abs(score - 37)])) > 0.99
    )
    noise = np.random.default_rng(2).exponential(size=300)
    assert abs(review.GAIN.of(np.column_stack([error_by_score(noise, score, MIDDLE), noise]))) < 0.25
    assert review.GAIN.of(np.column_stack([error_by_score(error, score, MIDDLE), error])) > 0.2


def test_what_cannot_be_said_is_refused() -> None:
    score, error = random_judge(FEWEST, 0)
    refuses(f"at least {FEWEST}", beyond_score, score[1:], error[1:], score[1:], MIDDLE)
    refuses("constant", beyond_score, np.ones(FEWEST), error, score, MIDDLE)
    everything = beyond_score(np.random.default_rng(0).uniform(size=FEWEST), np.abs(score - 50), score, MIDDLE)
    assert isinstance(everything, Beyond) and not everything.estimate.low > 0
