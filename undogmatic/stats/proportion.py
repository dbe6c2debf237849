"""A share of items with its interval, whether it keeps what was promised of it, and scores of
intervals."""

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Groups
from undogmatic.stats.estimate import Estimate

POWER = 0.8
FEW = 10
"""Fewer groups than these with the rarer answer do not tell how much the members of a group go
together."""


def proportion(
    flags: ArrayLike, level: float = 0.95, *, groups: Groups = None
) -> Estimate:
    """Estimate the share of true flags with Wilson's score interval, which stays within [0, 1] and
    is honest at 0 and at 1.

    With groups of more than one member, Wilson's interval of the effective number of items, which
    gives the binomial the variance that is seen between groups (CR2), never more than there are
    items, and with the quantile of t for the degrees of freedom of that variance. Where fewer than
    FEW groups hold the rarer answer, members of a group are taken to say the same: no more items
    than Kish's effective number of groups.

    Args:
        flags: True or false per item, shape (n,).
    References:
        Wilson (1927), doi:10.1080/01621459.1927.10502953
        Korn and Graubard (1998), Confidence intervals for proportions with small expected number of
        positive counts estimated from survey data. Survey Methodology 24(2), 193-201, for effective
        number and degrees of freedom.
    """
    # Numbers other than 0 and 1 have a mean, too, but Wilson's variance would be wrong
    # for it.
    values = checks.flags(checks.vector(flags, "flags"), "flags")
    checks.share(level, "level")
    sums = means.sums(values, groups)
    n = values.size
    n_units = sums.total.size
    share = int(values.sum()) / n
    # A single group says nothing of others: nothing is ruled out.
    low, high = 0.0, 1.0
    if n_units == n:
        low, high = _wilson(share, means.normal_quantile(level) ** 2 / n)
    elif n_units >= 2:
        part = sums.size / n
        effective = float(n)
        variance = float(np.sum((part * (sums.means - share)) ** 2 / (1 - part)))
        # Groups that all have the same share give a variance of 0, and would be worth
        # infinitely many items.
        if variance > 0:
            effective = min(effective, share * (1 - share) / variance)
        n_with = np.count_nonzero(sums.total)
        n_without = np.count_nonzero(sums.size - sums.total)
        if min(n_with, n_without) < FEW:
            effective = min(effective, float(1 / np.sum(part**2)))
        quantile = means.t_quantile(means.degrees_of_freedom(part), level)
        low, high = _wilson(share, quantile**2 / effective)
    return Estimate(share, low, high, level, n_units, n, unit="share")


def _wilson(share: float, reach: float) -> tuple[float, float]:
    """Limit a share; `reach` is the squared quantile over the number of items."""
    middle = share + reach / 2
    half = (reach * share * (1 - share) + reach**2 / 4) ** 0.5
    # At 0 and at 1 rounding would leave a little on the wrong side.
    low = max(0.0, (middle - half) / (1 + reach)) if share > 0 else 0.0
    high = min(1.0, (middle + half) / (1 + reach)) if share < 1 else 1.0
    return low, high


def middle(one: Estimate, other: Estimate, *, apart: bool) -> Estimate:
    """Average two shares with an interval made of theirs: balanced accuracy of sensitivity and
    specificity.

    Args:
        apart: Whether the two are of different groups, so that they err independently. Otherwise
            the limits are those of two that err together.
    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures.
        doi:10.1002/sim.3095, for limits of a sum from the limits of its terms.
    """
    value = (one.value + other.value) / 2
    below = one.value - one.low, other.value - other.low
    above = one.high - one.value, other.high - other.value
    # Errors that are independent add as squares, those that go together plainly.
    reach_below, reach_above = (
        math.hypot(*ends) if apart else sum(ends) for ends in (below, above)
    )
    low = max(0.0, value - reach_below / 2)
    high = min(1.0, value + reach_above / 2)
    found = Estimate(
        value,
        low,
        high,
        one.level,
        one.n_groups + other.n_groups,
        one.n + other.n,
        unit="share",
    )
    if one.worst is None and other.worst is None:
        return found
    return found.replace(
        worst=min(low, (one.worst_low + other.worst_low) / 2),
        best=max(high, (one.best_high + other.best_high) / 2),
    )


def sign_p(hits: int, n: int) -> float:
    """Compute the two-sided exact p-value of so many heads of `n` >= 1 throws of a fair coin."""
    return float(min(1.0, 2 * special.bdtr(min(hits, n - hits), n, 0.5)))


class Kept(NamedTuple):
    """A share against the promised one.

    `inner` is the interval of level 1 - 2 (1 - level), by which two one-sided tests decide whether
    the share lies within `margin` of `promised`. `n_needed` items of such groups would show with
    probability POWER that a kept promise is kept; None unless `outcome` is "open".
    """

    outcome: Literal["within", "below", "above", "open"]
    share: Estimate
    inner: tuple[float, float]
    promised: float
    margin: float
    n_needed: int | None = None


def kept(
    flags: ArrayLike,
    promised: float,
    margin: float,
    level: float = 0.95,
    *,
    at_least: bool = False,
    groups: Groups = None,
) -> Kept:
    """Hold a share against what was promised of it.

    "within": both one-sided tests of level 1 - `level` put the share within the margin. "below" and
    "above": the whole interval lies on that side of the promised share. Else "open": a test that
    finds nothing shows nothing.

    Args:
        flags, promised: As of `proportion`; the share that was promised, in [0, 1].
        margin: How far from it a share may lie and still keep it, in (0, 1).
        at_least: More than promised keeps the promise, too: only the lower test counts, and nothing
            is "above".
    References:
        Schuirmann (1987), doi:10.1007/BF01068419
    """
    if not 0 <= promised <= 1:
        raise ValueError(f"`promised` is {promised}; it must lie between 0 and 1.")
    checks.share(margin, "margin")
    share = proportion(flags, level, groups=groups)
    # Two one-sided tests of level 1 - `level` are an interval of twice that error.
    # The same interval by another level, so that the test and the interval that is
    # printed never contradict each other.
    tests = proportion(flags, max(2 * level - 1, 1e-6), groups=groups)
    compared = share, tests.interval, promised, margin
    if tests.low > promised - margin and (at_least or tests.high < promised + margin):
        return Kept("within", *compared)
    # Below what was promised, though perhaps within the margin: "within" has been asked
    # first, because a promise that is kept for all purposes is kept.
    if share.high < promised:
        return Kept("below", *compared)
    if share.low > promised and not at_least:
        return Kept("above", *compared)
    # Two tests must both succeed where the share is as promised: Chow, Shao and Wang (2008),
    # section 4.2.
    power = POWER if at_least else (1 + POWER) / 2
    quantiles = float(special.ndtri(level) + special.ndtri(power))
    # A share of exactly 0 or 1 has no variance, but its margin begins inside.
    inside = float(np.clip(promised, margin / 2, 1 - margin / 2))
    singles = (quantiles / margin) ** 2 * inside * (1 - inside)
    n_needed = int(np.ceil(max(singles * share.n / share.n_groups, share.n + 1)))
    return Kept("open", *compared, n_needed)


def interval_scores(
    low: ArrayLike, high: ArrayLike, truth: ArrayLike, nominal: float = 0.9
) -> Array:
    """Compute Winkler's interval score of each interval, shape (n,), in score units, the smaller
    the better.

    It is the width plus 2 / (1 - nominal) times the distance of a missed label; the honest central
    interval minimises it, so that it settles width against coverage in one number.

    Args:
        low, high, truth: Shape (n,), low <= high; an end belongs to its interval; NaN where there
            is none gives NaN.
        nominal: What share of labels the intervals claim to hold.
    References:
        Winkler (1972), doi:10.1080/01621459.1972.10481224. Gneiting and Raftery (2007),
        doi:10.1198/016214506000001437
    """
    bottom, top, y = (
        np.asarray(values, dtype=np.float64) for values in (low, high, truth)
    )
    missed_by = np.maximum(bottom - y, 0) + np.maximum(y - top, 0)
    return np.asarray(top - bottom + 2 / (1 - nominal) * missed_by)
