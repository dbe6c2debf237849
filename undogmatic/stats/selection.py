"""Corrects for choosing the best of many: flattery, what is best by two measures at once, how sure a ranking is, and
letters for what was not shown to differ.
"""

import math
import string
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import checks, jackknife
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Bounds, Estimate


def flattery(values: Array, groups: Index, rng: Rng, resamples: int = 2000) -> float:
    """By how much the mean of the candidate that is chosen for its mean exceeds what it is, on average.

    Groups of texts are drawn anew; in each draw the best is chosen by its mean there, and what it shows there beyond
    its mean over all texts is the flattery. What is seen stands for the truth, so where all candidates are alike but
    for chance it says somewhat less than the truth (their seen means differ already).

    Args:
        values: More is better, shape (n_candidates, n_texts), one at least, without NaN.
        groups: The independent unit of each text, shape (n_texts,).
    Returns:
        In units of the values; 0 for a single candidate, but for the draws' own chance.
    References:
        Efron (1983), Estimating the error rate of a prediction rule. doi:10.1080/01621459.1983.10477973
    """
    if values.ndim != 2 or not values.size or np.isnan(values).any():
        raise ValueError("values must be candidates x texts without NaN")
    codes = np.unique(groups, return_inverse=True)[1]
    n = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes, row, minlength=n) for row in values])
    sizes = np.bincount(codes, minlength=n)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=resamples)
    means = (drawn @ sums.T) / (drawn @ sizes)[:, None]
    best = means.argmax(axis=1)
    return float((means[np.arange(resamples), best] - values.mean(axis=1)[best]).mean())


def apart(one: Estimate, other: Estimate) -> Estimate:
    """The difference of two independent estimates from their intervals, finite and of the same level as these.

    References:
        Zou and Donner (2008), Construction of confidence limits about effect measures. doi:10.1002/sim.3095
    """
    ends = [(found.value, *found.interval) for found in (one, other)]
    if not np.isfinite(ends).all():
        raise ValueError("estimates and limits must be numbers")
    (a, a_low, a_high), (b, b_low, b_high) = ends
    low, high = a - b - math.hypot(a - a_low, b_high - b), a - b + math.hypot(a_high - a, b - b_low)
    return Estimate(a - b, low, high, one.level)


def front(quality: Array, cost: Array) -> NDArray[np.bool_]:
    """Which candidates no other beats: none is at least as good (high `quality`) and as cheap, and better in one."""
    good = quality[:, None] <= quality[None, :]
    cheap = cost[:, None] >= cost[None, :]
    better = (quality[:, None] < quality[None, :]) | (cost[:, None] > cost[None, :])
    return np.asarray(~(good & cheap & better).any(axis=1))


def letter_display(names: Sequence[str], different: Collection[tuple[str, str]]) -> dict[str, str]:
    """Letters per name: two names share one exactly if they are not a different pair.

    Args:
        names: Distinct, in the order in which letters are given out (best first).
        different: Pairs of them that differ, in any order.
    Returns:
        Name -> its letters, e.g. "ab"; {} where more letters would be needed than there are (52).
    References:
        Piepho (2004), An algorithm for a letter-based representation of all-pairwise comparisons, insert and absorb.
        doi:10.1198/1061860043515
    """
    if unknown := {name for pair in different for name in pair} - set(names):
        raise ValueError(f"pairs name {sorted(unknown)}, which are not among the names")
    groups = [frozenset(names)]
    for one, other in different:
        split = []
        for group in groups:
            split += [group - {one}, group - {other}] if {one, other} <= group else [group]
        groups = [g for n, g in enumerate(split) if not any(g < h or (g == h and m < n) for m, h in enumerate(split))]
    order = {name: n for n, name in enumerate(names)}
    groups.sort(key=lambda group: sorted(order[name] for name in group))
    if len(groups) > len(string.ascii_letters):
        return {}
    lettered = list(zip(string.ascii_letters, groups, strict=False))
    return {name: "".join(letter for letter, group in lettered if name in group) for name in names}


class Ranks(NamedTuple):
    """Per system, shape (n_systems,) each: its place by the mean (1 is the highest, ties share the mean place), the
    `ends` of the interval of its place, and the share of resamples in which it comes first (ties split it)."""

    place: Array
    ends: Bounds
    first: Array
    n_units: int


def ranks(values: ArrayLike, rng: Rng, level: float = 0.95, n_resamples: int = 2000, *, groups: Groups = None) -> Ranks:
    """Places of systems by their means over cases, with percentile intervals of a bootstrap over cases.

    Whole cases are drawn, so that systems stay compared on the same ones. With few cases the bootstrap sees too little
    of what other cases would do, and its intervals are too narrow: they describe, and tests between systems decide.

    Args:
        values: Shape (n_cases, n_systems), two or more, high is good.
    References:
        Goldstein and Spiegelhalter (1996), League tables and their limitations. doi:10.2307/2983325
    """
    table = checks.rows(values, "values")
    checks.share(level, "level")
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"`values` has shape {table.shape}; a ranking needs (n_cases, at least 2 systems).")
    codes = checks.groups(groups, len(table))
    units = jackknife.Units(codes)
    means = np.concatenate([table.take(drawn, axis=0).mean(axis=1) for drawn in units.draws(rng, n_resamples)])
    means = means.round(12)  # equal means differ in the last digits by the order of their sums
    places = stats.rankdata(-means, axis=1)
    ahead = means == means.max(axis=1, keepdims=True)
    low, high = np.quantile(places, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf")
    own = stats.rankdata(-table.mean(axis=0).round(12))
    first = (ahead / ahead.sum(axis=1, keepdims=True)).mean(axis=0)
    return Ranks(own, Bounds(np.minimum(low, own), np.maximum(high, own)), first, units.n)
