"""Are intervals honest and narrow: coverage, width and interval score against labels, whoever made the intervals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks, means
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.ordering import Array, Groups


class IntervalQuality(NamedTuple):
    """`interval_score` is in score units, smaller is better: width plus a fine for each label missed."""

    nominal: float
    mean_width: Estimate
    interval_score: Estimate


def interval_quality(
    low: ArrayLike,
    high: ArrayLike,
    truth: ArrayLike,
    nominal: float = 0.9,
    level: float = 0.95,
    *,
    groups: Groups | None = None,
    span: float = np.inf,
) -> IntervalQuality:
    """Mean width and interval score of intervals against labels, each with the interval of a mean.

    The interval score (Winkler's) is the width plus 2 / (1 - nominal) times the distance of a missed label; the
    honest central interval minimises it, so it settles width against coverage in one number.

    Args:
        low: Lower ends, shape (n,), in score units; an end belongs to its interval.
        high: Upper ends, shape (n,).
        truth: Human labels, shape (n,).
        nominal: What share of labels the intervals claim to hold.
        level: Confidence level of the results' own intervals.
        groups: Group label per item, shape (n,); groups are the units.
        span: The widest that an interval can be, in score units: the width of the scale. Intervals that leave the scale
            may be wider; then it is the widest of them.
    Raises:
        ValueError: If an interval is inverted, lengths differ, a value is NaN, or there are fewer than two units.
    References:
        Winkler (1972), doi:10.1080/01621459.1972.10481224. Gneiting and Raftery (2007), doi:10.1198/016214506000001437
    """
    bottom, y = checks.paired_vectors(low, truth, ("low", "truth"))
    top, _y = checks.paired_vectors(high, truth, ("high", "truth"))
    checks.share(nominal, "nominal")
    if np.any(bottom > top):
        raise ValueError(f"`low` is above `high` in {int(np.sum(bottom > top))} places.")
    score = interval_scores(bottom, top, y, nominal)
    width, total = (
        means.interval(values, level, groups=groups, bounds=(0.0, max(most, float(values.max()))))
        for values, most in ((top - bottom, span), (score, span * (1 + 2 / (1 - nominal))))
    )
    return IntervalQuality(nominal, width, total)


def interval_scores(low: ArrayLike, high: ArrayLike, truth: ArrayLike, nominal: float = 0.9) -> Array:
    """Winkler's interval score of each interval, in score units, the smaller the better; see `interval_quality`.

    Args:
        low, high, truth: Shape (n,), low <= high; NaN where there is no interval gives NaN.
        nominal: What share of labels the intervals claim to hold.
    Returns:
        Shape (n,).
    """
    bottom, top, y = (np.asarray(values, dtype=np.float64) for values in (low, high, truth))
    missed = np.maximum(bottom - y, 0) + np.maximum(y - top, 0)
    scores: Array = top - bottom + 2 / (1 - nominal) * missed
    return scores
