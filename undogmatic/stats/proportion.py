"""A share of items with its interval: how many lie in a band, pass a check, are covered by an interval."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from undogmatic.stats import checks, means
from undogmatic.stats.estimate import Estimate

FEW = 10
"""Fewer groups than these with the rarer answer do not tell how much the members of a group go together."""


def proportion(
    flags: ArrayLike, level: float = 0.95, *, groups: Sequence[object] | ArrayLike | None = None
) -> Estimate:
    """Share of true flags with Wilson's score interval, which stays within [0, 1] and is honest at 0 and at 1.

    With groups of more than one member, Wilson's interval of the effective number of items, which gives the binomial
    the variance that is seen between groups (CR2), never more than there are items, and with the quantile of t for the
    degrees of freedom of that variance. Where fewer than FEW groups hold the rarer answer, members of a group are taken
    to say the same: no more items than Kish's effective number of groups.

    Args:
        flags: One truth value per item, shape (n,).
        level: Confidence level.
        groups: What belongs together, shape (n,); None takes each item for itself.
    Raises:
        ValueError: If there are no flags, one is neither true nor false, or `level` is outside (0, 1).
    References:
        Wilson (1927), doi:10.1080/01621459.1927.10502953
        Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data. Survey Methodology 24(2), 193-201, for effective number and degrees of freedom.
    """
    values = checks.vector(flags, "flags")
    checks.share(level, "level")
    if not np.isin(values, (0, 1)).all():
        raise ValueError("`flags` must be true or false.")
    hits = int(values.sum())
    sums = means.sums(values, groups)
    n_units = sums.total.size
    if n_units == values.size:
        interval = stats.binomtest(hits, values.size).proportion_ci(confidence_level=level, method="wilson")
        low, high = float(interval.low), float(interval.high)
    else:
        low, high = _of_groups(sums, level)
    return Estimate(hits / values.size, low, high, level, n_units, values.size, "share")


def _of_groups(sums: means.Sums, level: float) -> tuple[float, float]:
    if sums.total.size < 2:
        return 0.0, 1.0
    share = float(sums.total.sum() / sums.size.sum())
    part = sums.size / sums.size.sum()
    variance = float(np.sum((part * (sums.total / sums.size - share)) ** 2 / (1 - part)))
    effective = float(sums.size.sum())
    if variance > 0:
        effective = min(effective, share * (1 - share) / variance)
    if min(np.count_nonzero(sums.total), np.count_nonzero(sums.size - sums.total)) < FEW:
        effective = min(effective, float(1 / np.sum(part**2)))
    reach = float(special.stdtrit(means.degrees_of_freedom(part), (1 + level) / 2)) ** 2 / effective
    middle = share + reach / 2
    half = (reach * share * (1 - share) + reach**2 / 4) ** 0.5
    return max(0.0, (middle - half) / (1 + reach)), min(1.0, (middle + half) / (1 + reach))
