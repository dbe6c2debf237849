"""A probability over a rubric's levels: its entropy and interval, and a normal cut into levels."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from undogmatic.stats import checks

_SUM_TOLERANCE = 1e-6


class QuantileInterval(NamedTuple):
    """`low` and `high` are levels of the scale; `mass` is the probability from one to the other, both included."""

    low: float
    high: float
    level: float
    mass: float


def normalised_entropy(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Shannon entropy divided by log2 of the number of levels, in [0, 1]: 0 is certain, 1 uniform.

    Levels of zero probability count as levels; a single level gives 0.

    Args:
        probabilities: Shape (k,) or (n, k); each row sums to 1.
    Returns:
        Shape () or (n,).
    Raises:
        ValueError: If a row is not a distribution.
    References:
        Shannon (1948), doi:10.1002/j.1538-7305.1948.tb01338.x
    """
    p = _distribution(probabilities)
    if p.shape[-1] == 1:
        return np.zeros(p.shape[:-1])
    return np.asarray(np.clip(special.entr(p).sum(axis=-1) / np.log(p.shape[-1]), 0.0, 1.0))


def quantile_interval(probabilities: ArrayLike, levels: ArrayLike, level: float = 0.9) -> QuantileInterval:
    """Central interval of a discrete distribution, from level to level.

    Each end is the first level, counted from its own side, whose cumulative probability reaches (1 - level)/2. Less
    than that lies beyond either end, so the interval holds at least `level`, often more.

    Args:
        probabilities: Shape (k,), summing to 1.
        levels: Score of each level, strictly increasing, shape (k,), in score units.
        level: Probability the interval must hold.
    Raises:
        ValueError: If it is not a distribution, the levels do not increase, or `level` is outside (0, 1).
    """
    p, values = _one_distribution(probabilities), _increasing(levels)
    _match(p, values)
    checks.share(level, "level")
    tail = (1 - level) / 2
    # The tolerance keeps a cumulative 0.05 that rounding left at 0.0499... from moving the end by a level.
    first = int(np.argmax(np.cumsum(p) >= tail - 1e-12))
    last = p.size - 1 - int(np.argmax(np.cumsum(p[::-1]) >= tail - 1e-12))
    return QuantileInterval(float(values[first]), float(values[last]), level, float(p[first : last + 1].sum()))


def discretised_normal(mean: float, sd: float, levels: ArrayLike) -> NDArray[np.float64]:
    """A normal distribution cut into the levels of a scale, with its expectation kept.

    Each level takes the mass between the midpoints to its neighbours and the end levels take the tails. Cutting
    moves the expectation (tails pile up at the ends), so the centre of the normal is shifted until the expectation
    is `mean` again. Near an end this narrows the distribution: the expectation wins over the spread. A mean at or
    beyond an end puts all mass there, which is the one case where the expectation is not `mean`. With `sd` 0 the
    mass is shared by the two neighbouring levels, the limit of the same rule.

    Args:
        mean: Wanted expectation, in score units.
        sd: Residual standard deviation, in score units, 0 or more.
        levels: Score of each level, strictly increasing, shape (k,), in score units.
    Returns:
        Probabilities, shape (k,), summing to 1.
    Raises:
        ValueError: If `mean` or `sd` is not finite, `sd` is negative, or the levels do not increase.
    """
    values = _increasing(levels)
    if not np.isfinite(mean) or not np.isfinite(sd) or sd < 0:
        raise ValueError(f"`mean` is {mean} and `sd` {sd}; both must be finite and `sd` not negative.")
    if mean <= values[0] or mean >= values[-1]:
        return np.asarray(np.eye(values.size)[0 if mean <= values[0] else -1])
    if sd < 1e-6 * float(np.min(np.diff(values))):
        above = int(np.searchsorted(values, mean, side="right"))
        share = (mean - values[above - 1]) / (values[above] - values[above - 1])
        return np.asarray((1 - share) * np.eye(values.size)[above - 1] + share * np.eye(values.size)[above])
    cuts = (values[1:] + values[:-1]) / 2

    def masses(centre: float) -> NDArray[np.float64]:
        return np.asarray(np.diff(special.ndtr((cuts - centre) / sd), prepend=0.0, append=1.0))

    def excess(centre: float) -> float:
        return float(masses(centre) @ values) - mean

    # Beyond 40 sd no mass is left on the far side, so the expectation is exactly an end of the scale.
    centre = optimize.brentq(excess, cuts[0] - 40 * sd, cuts[-1] + 40 * sd, xtol=1e-13, rtol=1e-14)
    return masses(float(centre))


def _distribution(probabilities: ArrayLike) -> NDArray[np.float64]:
    p = checks.rows(probabilities, "probabilities")
    if p.shape[-1] == 0:
        raise ValueError("`probabilities` holds no level.")
    if np.any(p < 0):
        raise ValueError("`probabilities` holds a negative value.")
    sums = p.sum(axis=-1)
    if np.any(np.abs(sums - 1) > _SUM_TOLERANCE):
        worst = float(np.ravel(sums)[np.argmax(np.abs(sums - 1))])
        raise ValueError(f"`probabilities` sum to {worst:.6g}; each row must sum to 1.")
    return p


def _one_distribution(probabilities: ArrayLike) -> NDArray[np.float64]:
    p = _distribution(probabilities)
    if p.ndim != 1:
        raise ValueError(f"`probabilities` must have shape (k,); its shape is {p.shape}.")
    return p


def _increasing(levels: ArrayLike) -> NDArray[np.float64]:
    values = checks.vector(levels, "levels")
    if np.any(np.diff(values) <= 0):
        raise ValueError("`levels` must increase strictly.")
    return values


def _match(p: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    if p.shape[-1] != values.size:
        raise ValueError(f"`probabilities` has {p.shape[-1]} levels and `levels` {values.size}.")
