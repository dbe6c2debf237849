"""A share of items with its interval: how many lie in a band, pass a check, are covered by an interval."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks


class Proportion(NamedTuple):
    """`low` and `high` are Wilson's interval of the share."""

    share: float
    low: float
    high: float
    n_true: int
    n: int
    level: float


def proportion(flags: ArrayLike, level: float = 0.95) -> Proportion:
    """Share of true flags with Wilson's score interval, which stays within [0, 1] and is honest at 0 and at 1.

    Args:
        flags: One truth value per item, shape (n,).
        level: Confidence level.
    Raises:
        ValueError: If there are no flags, one is neither true nor false, or `level` is outside (0, 1).
    References:
        Wilson (1927), doi:10.1080/01621459.1927.10502953
    """
    values = checks.vector(flags, "flags")
    checks.share(level, "level")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("`flags` must be true or false.")
    hits = int(values.sum())
    interval = stats.binomtest(hits, values.size).proportion_ci(confidence_level=level, method="wilson")
    return Proportion(hits / values.size, float(interval.low), float(interval.high), hits, values.size, level)
