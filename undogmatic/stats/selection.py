"""What choosing the best of many does to its figure, and what is best by two measures at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from undogmatic.stats.estimate import Estimate

Array = NDArray[np.float64]
RESAMPLES = 2000


def flattery(values: Array, groups: NDArray[np.intp], rng: np.random.Generator, resamples: int = RESAMPLES) -> float:
    """By how much the mean of the candidate that is chosen for its mean exceeds what it is, on average.

    Groups of texts are drawn anew; in each draw the best is chosen by its mean there, and what it shows there beyond
    its mean over all texts is the flattery. What is seen stands for the truth, so where all candidates are alike but
    for chance it says somewhat less than the truth (their seen means differ already).

    Args:
        values: More is better, shape (n_candidates, n_texts), without NaN.
        groups: The independent unit of each text, shape (n_texts,).
        rng: Of the draws.
        resamples: How many draws.
    Returns:
        In units of the values; 0 for a single candidate, but for the draws' own chance.
    Raises:
        ValueError: A value is NaN, or there is nothing to choose from.
    References:
        Efron (1983), Estimating the error rate of a prediction rule. doi:10.1080/01621459.1983.10477973
    """
    if values.ndim != 2 or not values.size or np.isnan(values).any():
        raise ValueError("values must be candidates x texts without NaN")
    codes = np.unique(groups, return_inverse=True)[1]
    n = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes, row, minlength=n) for row in values])
    sizes = np.bincount(codes, minlength=n)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    means = (drawn @ sums.T) / (drawn @ sizes)[:, None]
    best = means.argmax(axis=1)
    return float((means[np.arange(resamples), best] - values.mean(axis=1)[best]).mean())


def apart(one: Estimate, other: Estimate) -> Estimate:
    """The difference of two independent estimates from their intervals, of the same level as these.

    Args:
        one, other: Each with its limits.
    Raises:
        ValueError: A number is none.
    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures. doi:10.1002/sim.3095
    """
    ends = [(found.value, *found.interval) for found in (one, other)]
    if not np.isfinite(ends).all():
        raise ValueError("estimates and limits must be numbers")
    (a, a_low, a_high), (b, b_low, b_high) = ends
    low, high = a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)
    return Estimate(a - b, low, high, one.level)


def front(quality: Array, cost: Array) -> NDArray[np.bool_]:
    """Which candidates no other beats: none is at least as good and as cheap, and better in one of the two.

    Args:
        quality: More is better, shape (n,).
        cost: Less is better, shape (n,).
    """
    good = quality[:, None] <= quality[None, :]
    cheap = cost[:, None] >= cost[None, :]
    better = (quality[:, None] < quality[None, :]) | (cost[:, None] > cost[None, :])
    return np.asarray(~(good & cheap & better).any(axis=1))
