"""Every two jobs by a number of a whole set of texts (an area, a correlation), on the texts that both judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from undogmatic.stats import jackknife, means, resampling
from undogmatic.sweep.family import NOISE, UNKNOWN, Array, Comparison, Limits
from undogmatic.sweep.jobs import Job

FEWEST = 10
DRAWS = 1000
COUNTED = 20
"""Draws at least as far from 0 as the data, below which their share says too little."""


class Whole(NamedTuple):
    """A measure of all texts: the columns it reads, the statistic, its interval, and the fewest independent units it is
    tested on.

    `apart` gives the limits of left minus right at a level, from what is left out of each and the width of the scale.
    """

    columns: list[str]
    statistic: resampling.Prepared
    apart: Callable[[jackknife.LeftOut, jackknife.LeftOut, float, float], means.Bounds]
    fewest: int = 2


class Both(NamedTuple):
    """What two jobs say of the same texts, in one order, `unit` as a number; `texts` is None where these are all that
    both judged."""

    left: str
    right: str
    a: pd.DataFrame
    b: pd.DataFrame
    texts: tuple[str, ...] | None


def judged_both(judged: Mapping[str, pd.DataFrame], finished: Mapping[str, Job], truth: str) -> Iterator[Both]:
    """Every two jobs on the texts that both judged and whose true score both take for the same.

    Args:
        judged: Per job a row per text (index), with the column `unit`, its independent unit.
        finished: The jobs.
        truth: The column with the true score.
    """
    units = pd.Index(sorted({unit for items in judged.values() for unit in items["unit"]}))
    judged = {name: own.assign(unit=units.get_indexer(own["unit"])).sort_index() for name, own in judged.items()}
    for (left, one), (right, other) in combinations(judged.items(), 2):
        if finished[left].criterion != finished[right].criterion:
            continue
        a, b, texts = one, other, None
        if not one.index.equals(other.index):
            both = one.index.intersection(other.index)
            a, b, texts = one.loc[both], other.loc[both], tuple(both)
        if len(a) >= FEWEST and np.allclose(a[truth], b[truth]):
            yield Both(left, right, a, b, texts)


class LeftOuts:
    """Statistics of jobs without each unit of their texts; made once for all comparisons of a job."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, tuple[str, ...] | None], jackknife.LeftOut | None] = {}

    def of(
        self,
        job: str,
        items: pd.DataFrame,
        texts: tuple[str, ...] | None,
        measure: str,
        columns: list[str],
        statistic: resampling.Statistic,
    ) -> jackknife.LeftOut | None:
        """Of the columns of a job on these texts; None where it does not exist."""
        key = (job, measure, texts)
        if key not in self._known:
            rows, groups = items[columns].to_numpy(dtype=np.float64).round(NOISE), items["unit"].tolist()
            rng = np.random.default_rng(0)  # where groups are left out many at a time, the same of every job
            try:
                self._known[key] = jackknife.LeftOut(rows, statistic, rng, groups)
            except jackknife.Undefined:  # a constant has no correlation, equal errors no order
                self._known[key] = None
        return self._known[key]


PValue = Callable[[Array, Array, resampling.Index, float], float | None]
"""From the rows of both sides, their units and the difference to its p-value; None where it is mostly undefined."""


def compare_whole(
    both: Both, measure: str, whole: Whole, known: LeftOuts, exchanged: PValue, span: float
) -> Comparison | None:
    """Difference of a measure of all texts, left minus right, with the measure's own interval (`span` is the width of
    the two jobs' scale) and the p-value of `exchanged`; None where it does not exist."""
    left, right, a, b, texts = both
    n = a["unit"].nunique()
    one, other = (side[whole.columns].to_numpy(dtype=np.float64).round(NOISE) for side in (a, b))
    if np.isnan(one).any() or np.isnan(other).any() or n < whole.fewest:
        return None
    if np.array_equal(one, other):
        return Comparison(left, right, measure, 0.0, n, None, lambda _: UNKNOWN)
    first, second = (
        known.of(job, items, texts, measure, whole.columns, whole.statistic) for job, items in ((left, a), (right, b))
    )
    if first is None or second is None:
        return None
    estimate = first.estimate - second.estimate
    p = exchanged(one, other, np.unique(a["unit"].to_numpy(), return_inverse=True)[1], estimate)
    if p is None:
        return None

    def limits(alpha: float) -> Limits:
        low, high = whole.apart(first, second, 1 - alpha, span)
        return Limits(low, high, "beyond" if low > 0 else "against" if high < 0 else "open", None)

    return Comparison(left, right, measure, estimate, n, p, limits)


def exchange_p(
    statistic: resampling.Prepared, one: Array, other: Array, codes: resampling.Index, estimate: float, draws: int
) -> float | None:
    """p-value of a difference under exchange of both sides' rows, unit by unit; None where it is mostly undefined.

    Where fewer than COUNTED of the draws are as far from 0, it is that of a normal distribution with their spread: a
    correction for many comparisons asks for p-values that no number of draws can show.

    References:
        Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.
    """
    of_draws = statistic.on(np.concatenate([one, other]))
    swapped = np.random.default_rng(0).random((draws, int(codes.max()) + 1)) < 0.5
    found = []
    for part in np.array_split(swapped, 1 + draws * len(one) // resampling.AT_ONCE):
        rows, there = np.arange(len(one)), part[:, codes]
        mine, theirs = np.where(there, rows + len(one), rows), np.where(there, rows, rows + len(one))
        with np.errstate(all="ignore"):
            found.append(of_draws(mine) - of_draws(theirs))
    drawn = np.concatenate(found)
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size < 0.95 * draws:
        return None
    as_far = int(np.sum(np.abs(drawn) >= abs(estimate) * (1 - 1e-9)))
    spread = float(np.sqrt(np.mean(drawn**2)))
    if as_far >= COUNTED or spread == 0:
        return (as_far + 1) / (drawn.size + 1)
    return float(2 * special.ndtr(-abs(estimate) / spread))
