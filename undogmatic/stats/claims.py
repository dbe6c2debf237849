"""What an interval allows to say against a margin: a difference that matters, none that matters, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks, resampling
from undogmatic.stats.paired import bootstrap_interval

Outcome = Literal["beyond", "against", "within", "open"]


class Claim(NamedTuple):
    """A mean against a margin.

    `low` to `high` is the interval of level 1 - alpha, `inner` that of level 1 - 2 alpha, by which two one-sided tests
    decide whether the mean lies within the margin. `n_units` independent units were there; `n_needed` would settle the
    question with the wanted power if the estimate were the truth, None where no number would.
    """

    outcome: Outcome
    estimate: float
    low: float
    high: float
    inner: tuple[float, float]
    margin: float
    n_units: int
    n_needed: int | None


def claim(
    values: ArrayLike,
    margin: float,
    rng: np.random.Generator,
    *,
    sign: int = 1,
    alpha: float = 0.05,
    power: float = 0.8,
    n_resamples: int = 2000,
    groups: Sequence[object] | ArrayLike | None = None,
) -> Claim:
    """Hold the mean of `values` against a margin.

    "beyond": the whole interval lies beyond the margin on the expected side (`sign`). "against": it lies beyond the
    margin on the other side. "within": both one-sided tests of level alpha put the mean within the margin. Else "open".

    Args:
        values: Shape (n,), in score units.
        margin: 0 or more, in score units; with 0 nothing is "within".
        rng: The source of randomness.
        sign: +1 if a high value is expected, else -1.
        alpha: Level of the two-sided interval's complement, and of each of the two one-sided tests.
        power: For `n_needed`.
        n_resamples: Bootstrap resamples.
        groups: What belongs together, shape (n,); units are groups.
    Raises:
        ValueError: If `values` holds NaN or fewer than two units, or `margin` is negative.
    References:
        Schuirmann (1987), Two one-sided tests. doi:10.1007/BF01068419
    """
    v = checks.vector(values, "values")
    if not margin >= 0:
        raise ValueError(f"`margin` is {margin}; it must be 0 or more.")
    state = rng.bit_generator.state
    outer = bootstrap_interval(v, resampling.MEAN, rng, 1 - alpha, n_resamples, groups=groups)
    rng.bit_generator.state = state
    inner = bootstrap_interval(v, resampling.MEAN, rng, 1 - 2 * alpha, n_resamples, groups=groups)
    near, far = (outer.low, outer.high) if sign > 0 else (-outer.high, -outer.low)
    outcome: Outcome = "open"
    if near > margin:
        outcome = "beyond"
    elif far < -margin:
        outcome = "against"
    elif inner.low > -margin and inner.high < margin:
        outcome = "within"
    ends = (inner.low, inner.high)
    return Claim(outcome, outer.estimate, outer.low, outer.high, ends, margin, outer.n_units, None)
