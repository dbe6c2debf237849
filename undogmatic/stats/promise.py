"""Does a share keep what was promised of it: intervals that claim to hold 90 %, an accuracy that a judge estimates."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks, proportion
from undogmatic.stats.estimate import Estimate

Outcome = Literal["within", "below", "above", "open"]

POWER = 0.8


class Promise(NamedTuple):
    """A share against the promised one.

    `inner` is the interval of level 1 - 2 (1 - level), by which two one-sided tests decide whether the share lies
    within `margin` of `promised`. `n_needed` items of such groups would show with probability POWER that a kept promise
    is kept; None unless `outcome` is "open".
    """

    outcome: Outcome
    share: Estimate
    inner: tuple[float, float]
    promised: float
    margin: float
    n_needed: int | None


def kept(
    flags: ArrayLike,
    promised: float,
    margin: float,
    level: float = 0.95,
    *,
    at_least: bool = False,
    groups: Sequence[object] | ArrayLike | None = None,
) -> Promise:
    """Hold a share against what was promised of it.

    "within": both one-sided tests of level 1 - `level` put the share within the margin. "below" and "above": the whole
    interval lies on that side of the promised share. Else "open": a test that finds nothing shows nothing.

    Args:
        flags: One truth value per item, shape (n,).
        promised: The share that was promised, in [0, 1].
        margin: How far from it a share may lie and still keep it, in (0, 1).
        level: Level of the interval.
        at_least: More than promised keeps the promise, too: only the lower test counts, and nothing is "above".
        groups: What belongs together, shape (n,); None takes each item for itself.
    Raises:
        ValueError: As `proportion.proportion`, or if `promised` or `margin` is out of range.
    References:
        Schuirmann (1987), doi:10.1007/BF01068419
    """
    if not 0 <= promised <= 1:
        raise ValueError(f"`promised` is {promised}; it must lie between 0 and 1.")
    checks.share(margin, "margin")
    share = proportion.proportion(flags, level, groups=groups)
    tests = proportion.proportion(flags, max(2 * level - 1, 1e-6), groups=groups)
    outcome: Outcome = "open"
    if tests.low > promised - margin and (at_least or tests.high < promised + margin):
        outcome = "within"
    elif share.high < promised:
        outcome = "below"
    elif share.low > promised and not at_least:
        outcome = "above"
    needed = _needed(share, promised, margin, level, at_least) if outcome == "open" else None
    return Promise(outcome, share, (tests.low, tests.high), promised, margin, needed)


def _needed(share: Estimate, promised: float, margin: float, level: float, at_least: bool) -> int:
    # Two tests must both succeed where the share is as promised: Chow, Shao and Wang (2008), section 4.2.
    certain = POWER if at_least else (1 + POWER) / 2
    quantiles = float(stats.norm.ppf(level) + stats.norm.ppf(certain))
    # A share of exactly 0 or 1 has no variance, but its margin begins inside.
    inside = float(np.clip(promised, margin / 2, 1 - margin / 2))
    singles = (quantiles / margin) ** 2 * inside * (1 - inside)
    return int(np.ceil(max(singles * share.n / share.n_groups, share.n + 1)))
