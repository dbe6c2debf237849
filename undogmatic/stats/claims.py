"""What an interval allows to say against a margin: a difference that matters, none that matters, or neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, means
from undogmatic.stats.estimate import Estimate, Outcome
from undogmatic.stats.power import fewest_pairs

Reason = Literal["", "too_few", "no_spread", "interval"]

MOST_UNITS = 10**6
"""More than these are as good as no number of units."""
FEW_UNITS = 20
CAUTION = 0.4
"""Of fewer than FEW_UNITS units, alpha is multiplied by CAUTION. One end of their interval errs more often than half of
alpha where values are skewed away from it: with exponential tails in 4.8 % of samples of six and 3.1 % of ten instead
of 2.5 %, and with this in 3.4 and 2.0 %. Asking the exact signed-rank test as well would not mend it (4.2 and 2.8 %):
of skewed values it tests the middle, not the mean."""


class Claim(NamedTuple):
    """A mean against a margin.

    `low` to `high` is the interval of level `level`, 1 - alpha unless units are few (see FEW_UNITS), `inner` that of
    level 1 - 2 alpha, by which two one-sided tests decide whether the mean lies within the margin. `n_units`
    independent units were there; `n_needed` would settle the question with the wanted power if the estimate and the
    spread were the truth, None where no number would.

    `reason` is empty unless the outcome is "open": "too_few" (fewer units than `fewest`), "no_spread" (nearly all
    units have one value and no bounds say where others could lie: an end of the interval is infinite), "interval" (it
    holds values on both sides of the margin). `method` is that of the interval (`Estimate`), `sd` the standard
    deviation over units that `n_needed` takes for the truth.
    """

    outcome: Outcome
    estimate: Estimate
    inner: tuple[float, float]
    margin: float
    n_needed: int | None
    reason: Reason = ""
    sd: float = float("nan")
    fewest: int = 0


def claim(
    values: ArrayLike,
    margin: float,
    *,
    sign: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    groups: Sequence[object] | ArrayLike | None = None,
    bounds: means.Bounds | None = None,
) -> Claim:
    """Hold the mean of `values` against a margin.

    "beyond": the whole interval lies beyond the margin on the expected side (`sign`). "against": it lies beyond the
    margin on the other side. "within": both one-sided tests of level alpha put the mean within the margin. Else "open".

    Args:
        values: Shape (n,), in score units.
        margin: 0 or more, in score units; with 0 nothing is "within".
        sign: +1 if a high value is expected, else -1.
        alpha: Level of the two-sided interval's complement, and of each of the two one-sided tests.
        power: For `n_needed`.
        groups: What belongs together, shape (n,); units are groups.
        bounds: Lowest and highest value that could have occurred: the ends of the scale, or minus and plus its width
            for differences. Give them: only they say anything where nearly all values are equal (`means.interval`).
    Raises:
        ValueError: If `values` holds NaN or fewer than two units, or `margin` is negative.
    References:
        Schuirmann (1987), Two one-sided tests. doi:10.1007/BF01068419
    """
    v = checks.vector(values, "values")
    if not margin >= 0:
        raise ValueError(f"`margin` is {margin}; it must be 0 or more.")
    checks.share(power, "power")
    fewest = fewest_pairs(alpha)
    n_units = v.size if groups is None else int(checks.labels(groups, "groups", v.size).max()) + 1
    level = 1 - _cautious(alpha, n_units)
    outer = means.interval(v, level, groups=groups, bounds=bounds)
    inner = means.interval(v, 1 - 2 * (1 - level), groups=groups, bounds=bounds)
    outcome: Outcome = "open" if outer.n_groups < fewest else outer.against(margin, sign, inner=inner)
    reason: Reason = ""
    if outcome == "open":
        unlimited = outer.method == "unlimited"
        reason = "too_few" if outer.n_groups < fewest else "no_spread" if unlimited else "interval"
    return Claim(
        outcome,
        outer,
        inner.interval,
        margin,
        _needed(outer, inner, margin, power, fewest),
        reason,
        outer.se * outer.n_groups**0.5,
        fewest,
    )


def _cautious(alpha: float, n_units: int) -> float:
    return alpha * (CAUTION if n_units < FEW_UNITS else 1.0)


def _needed(outer: Estimate, inner: Estimate, margin: float, power: float, fewest: int) -> int | None:
    """Units with which the claim is settled with probability `power`, if the estimate and the spread are the truth."""
    size = abs(outer.value)
    if size > margin:
        near = outer.low if outer.value > 0 else -outer.high
        sides = [(size - margin, size - near, outer)]
    else:
        sides = [
            (margin + inner.value, inner.value - inner.low, inner),
            (margin - inner.value, inner.high - inner.value, inner),
        ]
    if any(room <= 0 or not np.isfinite(reach) for room, reach, _ in sides):
        return None
    found = _fewest(lambda n: sum(_missed(n, *side) for side in sides) <= 1 - power, fewest)
    return found if found is not None and found <= checks.MOST_TIMES * outer.n_groups else None


def _missed(n: int, room: float, reach: float, found: Estimate) -> float:
    """Probability that the end of the interval of n units is further than `room` from the truth.

    The reach seen shrinks with the root of the units, and with the quantile of t; where all units agree, and it comes
    from the bounds alone, with the units.
    """
    if found.se == 0:
        return float(reach * found.n_groups / n >= room)
    shrink = (found.n_groups / n) ** 0.5
    tail = (1 - found.level) / 2
    of_n = tail / _cautious(1.0, found.n_groups) * _cautious(1.0, n)
    quantiles = special.stdtrit(n - 1, 1 - of_n) / special.stdtrit(found.df, 1 - tail)
    return float(special.ndtr((reach * shrink * float(quantiles) - room) / (found.se * shrink)))


def _fewest(enough: Callable[[int], bool], at_least: int) -> int | None:
    """The smallest number from `at_least` on that is enough, where every larger one is, too."""
    high = at_least
    while not enough(high):
        high *= 2
        if high > MOST_UNITS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, at_least)
