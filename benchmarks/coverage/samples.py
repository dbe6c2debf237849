"""What the coverage of intervals is measured on: samples in groups, and questions with a known
answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95
MANY = 400_000
"""Texts of which the true values are taken where no formula gives them."""

Array = np.ndarray
Rng = np.random.Generator
Ends = tuple[float, float]


class Sample(NamedTuple):
    """One sample: columns of numbers, shape (n,) or (n, k), and the group of each row."""

    values: Array
    groups: Array


class Question(NamedTuple):
    """What is estimated: how samples are drawn, the truth, and the methods, each from a sample to
    its two limits.

    `units` and `groupings` are those in which it is asked, where it is not asked in all; units are
    groups, or `of_items` items. `whole` are the ends of what the number can be: limits that reach
    both say nothing.
    """

    kind: str
    name: str
    draw: Callable[[Rng, Array], Array]
    truth: float
    methods: dict[str, Callable[[Sample, Rng], Ends]]
    units: tuple[int, ...] = ()
    groupings: tuple[str, ...] = ()
    of_items: bool = False
    whole: Ends = (-np.inf, np.inf)


SHAPES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda u: 50 + 15 * stats.norm.ppf(u),
    "t3": lambda u: 50 + 8 * stats.t.ppf(u, 3),
    "exponential": lambda u: -10 * np.log1p(-u),
    "exponential mirrored": lambda u: 100 + 10 * np.log(u),
    "lognormal": lambda u: 10 * np.exp(stats.norm.ppf(u)),
    "floor 70 %": lambda u: np.clip((u - 0.7) / 0.3, 0, 1) * 100,
    "floor 80 %": lambda u: np.clip((u - 0.8) / 0.2, 0, 1) * 100,
    "floor 90 %": lambda u: np.clip((u - 0.9) / 0.1, 0, 1) * 100,
    "bimodal 50 %": lambda u: 100.0 * (u > 0.5),
    "bimodal 80 %": lambda u: 100.0 * (u > 0.2),
    "uniform": lambda u: 100 * u,
    "fives": lambda u: np.clip(5 * np.round((40 + 15 * stats.norm.ppf(u)) / 5), 0, 100),
}
"""Quantile functions of the scores."""


def _of_steps(shares: dict[float, float]) -> Callable[[Array], Array]:
    """The quantile function of a difference that takes few values, each with its share."""
    values, ends = np.array(list(shares)), np.cumsum(list(shares.values()))
    return lambda u: values[
        np.minimum(np.searchsorted(ends, u, side="right"), values.size - 1)
    ]


STEPS: dict[str, Callable[[Array], Array]] = {
    "five steps": _of_steps({0: 0.36, 25: 0.48, 50: 0.16}),
    "five steps, some against": _of_steps(
        {-50: 0.03, -25: 0.12, 0: 0.30, 25: 0.33, 50: 0.17, 75: 0.05}
    ),
    "one step or a tie": _of_steps({0: 0.6, 25: 0.4}),
    "three steps": _of_steps({-50: 0.05, 0: 0.55, 50: 0.40}),
    "mostly a tie": _of_steps({0: 0.7, 25: 0.2, 50: 0.1}),
    "mostly a tie, few large": _of_steps({0: 0.85, 25: 0.10, 100: 0.05}),
}
"""Differences of two scores that are given in steps."""
UNBOUNDED = ("normal", "t3", "exponential", "exponential mirrored", "lognormal")


def sizes(rng: Rng, n_units: int, grouping: str) -> Array:
    """Members per unit: one, two to four, five to twenty, or from one to twenty with few large
    ones."""
    if grouping == "alone":
        return np.ones(n_units, dtype=np.intp)
    if grouping == "2-4":
        return rng.integers(2, 5, n_units)
    if grouping in ("5-20", "same text"):
        return rng.integers(5, 21, n_units)
    return np.clip(np.round(2 * rng.pareto(1.2, n_units) + 1), 1, 20).astype(np.intp)


def in_groups(rng: Rng, units: int, grouping: str, of_items: bool) -> Array:
    """The group of every item, of so many groups, or of as many as hold so many items."""
    groups = np.repeat(np.arange(units), sizes(rng, units, grouping))
    return groups[:units] if of_items else groups


def related(rng: Rng, groups: Array, columns: int = 1) -> Array:
    """Standard normal numbers, shape (n, columns), of which those of one group correlate with
    0.6."""
    common, own = (
        rng.normal(size=(groups.max() + 1, columns)),
        rng.normal(size=(groups.size, columns)),
    )
    alone = groups.max() + 1 == groups.size
    return np.asarray(own if alone else 0.6**0.5 * common[groups] + 0.4**0.5 * own)


def levels(values: Array) -> Array:
    """Values taken to the nearest of five levels from 0 to 100."""
    return np.asarray(25 * np.clip(np.round(values / 25), 0, 4))


def ends_of(found: object) -> Ends:
    """Limits of whatever interval: by name, or the second and third of a tuple."""
    known: Any = getattr(found, "estimate", found)
    if isinstance(known, tuple) and not hasattr(known, "low"):
        return known[1], known[2]
    return known.low, known.high
