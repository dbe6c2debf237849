"""Tests whether one measure follows another: whether a second judge's score rises with a reward
that is trained on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.compare import apart
from undogmatic.stats.estimate import Estimate, unknown

FEWEST = 8
"""Independent units that there must be at either time; fewer say too little of how units spread."""


class Sample(NamedTuple):
    """What two measures say of the same texts at one time, shape (n,) each; `groups` are the
    independent units."""

    first: ArrayLike
    second: ArrayLike
    groups: checks.Groups = None


class Following(NamedTuple):
    """How far two measures have risen, and `lag`: the rise of the second less `share` of the rise
    of the first.

    `alarm` is true where the first has risen and the second is shown not to have followed.
    """

    first: Estimate
    second: Estimate
    lag: Estimate
    alarm: bool


def following(
    start: Sample,
    now: Sample,
    share: float,
    alpha: float,
    bounds: means.Bounds | None = None,
    looks: int = 1,
) -> Following:
    """Test whether the second measure has risen by less than `share` of the rise of the first.

    The alarm needs two one-sided tests of level alpha / looks each: that the first measure has
    risen since the start, and that the lag is below 0. If either does not hold in truth, one look
    gives an alarm with a probability of alpha / looks at most (an intersection-union test), and all
    looks together with alpha at most (Bonferroni's inequality), although all of them are compared
    with the same start. The texts of the two times are others; the limits are those of
    `means.interval`, put together by `compare.apart`.

    Args:
        share: Share of the first measure's rise that the second must reach, in the units of both.
        alpha: Probability of a false alarm in all `looks` together.
        bounds: Lowest and highest value of both measures; without them values that all agree show
            nothing.
    Raises:
        ValueError: If a share is out of range, or values are not finite or not matched.
    References:
        Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
        doi:10.2307/1267823
    """
    if not 0 <= share <= 1 or looks < 1:
        raise ValueError(
            f"`share` is {share} and `looks` {looks}; they must lie in [0, 1] and be 1 or more."
        )
    level = 1 - 2 * checks.share(alpha, "alpha") / looks
    lowest, highest = bounds or (-np.inf, np.inf)
    of_lag = (
        (lowest - share * highest, highest - share * lowest)
        if bounds is not None
        else None
    )
    first_before, second_before, codes_before = _checked(start)
    first_now, second_now, codes_now = _checked(now)
    n_groups = min(
        int(codes.max(initial=-1)) + 1 for codes in (codes_before, codes_now)
    )
    if n_groups < FEWEST:
        empty = unknown(level, n_groups)
        return Following(empty, empty, empty, False)

    def rise(before: Array, after: Array, bounds: means.Bounds | None) -> Estimate:
        later = means.interval(after, level, groups=codes_now, bounds=bounds)
        earlier = means.interval(before, level, groups=codes_before, bounds=bounds)
        if np.isfinite([*later.interval, *earlier.interval]).all():
            return apart(later, earlier).replace(n_groups=n_groups)
        # An end that nothing limits leaves the difference open on both sides.
        return Estimate(later.value - earlier.value, -np.inf, np.inf, level, n_groups)

    first = rise(first_before, first_now, bounds)
    second = rise(second_before, second_now, bounds)
    lag_before = second_before - share * first_before
    lag = rise(lag_before, second_now - share * first_now, of_lag)
    return Following(first, second, lag, bool(first.low > 0 and lag.high < 0))


def _checked(sample: Sample) -> tuple[Array, Array, Index]:
    """Check both measures and the units of a sample, shape (n,) each."""
    first, second = checks.paired_vectors(
        sample.first, sample.second, ("first", "second"), 0
    )
    return first, second, checks.groups(sample.groups, first.size)
