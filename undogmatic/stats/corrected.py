"""Estimates what people would say on average of what a judge judged, by the way in which labels
were chosen.

The estimator follows from that way (`Design`) and from nothing else: labels of all items need no
judge; a random draw is helped by the judge's verdicts with a fitted weight (prediction-powered
inference); labels drawn within each verdict are weighted by how often that verdict occurs; labels
with known probabilities by their inverse. Labels chosen in an unknown way allow none of these.

References: those of `few_labels`, and
    Cochran (1977), Sampling techniques, chapter 5 (strata)
    Zou and Donner (2008), Construction of confidence limits about effect measures.
    doi:10.1002/sim.3095
"""

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from undogmatic.stats import few_labels, jackknife, means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate

Design = Literal["all", "random", "by_verdict", "probabilities"]

FEWEST = few_labels.FEWEST_EFFECTIVE
MOST_STRATA = 10
PER_STRATUM = 10
"""Verdicts on a fine scale are taken in bins that hold at least so many labels."""
TOLERATED = 0.05
"""Up to this share of items may have verdicts of a kind of which no item is labelled."""
_BY_CHANCE = 0.01


class Corrected(NamedTuple):
    """A corrected mean; None where too few labels allow it (`effective` says how many there are in
    effect).

    `outside` is the share of items whose verdict lies beyond, or in another stratum than, all that
    was labelled, and `covered` whether that is little enough, or by chance. `added` is what each
    group adds to the error, shape (n_groups,): it says how much the errors of two means go
    together.
    """

    estimate: Estimate | None
    effective: float
    outside: float
    covered: bool
    added: Array


class Judged(NamedTuple):
    """Verdict (NaN where there is none), label (NaN), inclusion probability and group of every
    item, shape (n,); groups are 0 to `n_groups` - 1, of which these items need not hold all."""

    verdicts: Array
    labels: Array
    probability: Array
    codes: Index
    n_groups: int

    def of(self, chosen: Array) -> "Judged":
        """Some of the items, by flags or positions."""
        return self._replace(
            verdicts=self.verdicts[chosen],
            labels=self.labels[chosen],
            probability=self.probability[chosen],
            codes=self.codes[chosen],
        )


def mean(
    judged: Judged,
    design: Design,
    bounds: means.Bounds | None = None,
    level: float = 0.95,
    *,
    these_items: bool = False,
) -> Corrected:
    """Mean label of the population that these items come from, or of these very items.

    Of the items themselves less is open: only what is not labelled. With all items labelled it
    would be nothing, so that the interval is then that of the population all the same.

    An item without a verdict is given the mean verdict: with labels drawn at random, or with known
    probabilities, any guess is allowed, since the labels correct it. Drawn by verdict, those
    without one are a stratum of their own.

    With all items labelled, those that lack a label are set to either end of `bounds` in `worst`
    and `best`.

    Args:
        bounds: Lowest and highest possible label.
        these_items: Whether the mean is that of these items; systems are compared by that of their
            population.
    Raises:
        ValueError: If a labelled item has no probability in (0, 1] and `design` is "probabilities".
    """
    at = np.flatnonzero(~np.isnan(judged.labels))
    none = np.zeros(judged.n_groups)
    if design == "by_verdict":
        return _by_strata(judged, at, bounds, level, these_items)
    inclusion = judged.probability[at] if design == "probabilities" else None
    effective = few_labels.effective_labels(inclusion, judged.codes[at]) if at.size else 0.0
    if effective < FEWEST:
        return Corrected(None, effective, 0.0, True, none)
    if design == "all":
        return _of_all(judged, at, effective, bounds, level)
    known = ~np.isnan(judged.verdicts)
    verdicts = np.where(
        known, judged.verdicts, judged.verdicts[known].mean() if known.any() else 0.0
    )
    outside, covered = _beyond(judged.verdicts, at, design == "random")
    shared = verdicts, at, judged.labels[at]
    found = few_labels.estimate_mean(
        *shared, inclusion=inclusion, groups=judged.codes, level=level, bounds=bounds
    )
    sample = few_labels.Sample.of(*shared, inclusion, judged.codes)
    from_labels, from_judge = sample.parts()
    added = none.copy()
    added[judged.codes] = (from_labels + found.judge_weight * from_judge)[
        sample.codes
    ] / verdicts.size
    estimate = found.estimate
    if these_items and estimate.method == "studentised":
        estimate = _of_items(sample, estimate)
    return Corrected(estimate, effective, outside, covered, added)


def _of_items(sample: few_labels.Sample, population: Estimate) -> Estimate:
    """The mean of the items: their verdicts, with the fitted weight, plus what the labelled ones
    are off. Its variance is that of drawing labels alone, less the share of items that are labelled
    (1 - p of each)."""
    f, at, y, w, codes = sample
    own = np.unique(codes[at], return_inverse=True)[1]

    def centred(values: Array) -> Array:
        return np.asarray(np.bincount(own, w * (values - w @ values / w.sum())), np.float64)

    from_labels = centred(y)
    from_judge = centred(f[at])
    power = float(from_judge @ from_judge)
    weight = float(np.clip(from_labels @ from_judge / power, 0, 1)) if power > 0 else 0.0
    found = means.of_sums(sample.of_labelled(y - weight * f[at]), population.level)
    squares = (from_labels - weight * from_judge) ** 2
    # of the items for which a group's labels stand
    left = np.bincount(own, w - 1) / np.bincount(own, w)
    open_share = float((squares * left).sum() / squares.sum()) if squares.sum() > 0 else 0.0
    df = found.df - (weight > 0)
    # Student's and Hall's limits again, for the degree of freedom that the weight took.
    wider = float(
        special.stdtrit(df, (1 + population.level) / 2)
        / special.stdtrit(found.df, (1 + population.level) / 2)
    )
    times = wider * math.sqrt(open_share)
    middle = weight * float(f.mean()) + found.value
    low, high = (middle + times * (end - found.value) for end in found.interval)
    return population.replace(
        value=middle, low=low, high=high, se=found.se * math.sqrt(open_share), df=df
    )


def difference(a: Corrected, b: Corrected) -> Estimate | None:
    """A minus B, from the limits of both and how much their errors go together over groups
    (MOVER)."""
    if a.estimate is None or b.estimate is None:
        return None
    square = float(a.added @ a.added) * float(b.added @ b.added)
    together = float(a.added @ b.added) / square**0.5 if square > 0 else 0.0
    one = a.estimate
    other = b.estimate
    n_groups = int(np.count_nonzero((a.added != 0) | (b.added != 0)))
    ends = jackknife.apart(one, other, together, math.inf)
    return Estimate(one.value - other.value, *ends, one.level, n_groups, one.n + other.n)


def strata_of(verdicts: Array, at: Index) -> Index:
    """The stratum of every item: its verdict, of up to MOST_STRATA; else bins of like size by the
    labelled items, of at least PER_STRATUM labels; the last one is of those without a verdict."""
    known = ~np.isnan(verdicts)
    values = np.unique(verdicts[known])
    labelled = verdicts[at][~np.isnan(verdicts[at])]
    if values.size <= MOST_STRATA or labelled.size == 0:
        codes = np.searchsorted(values, verdicts)
    else:
        bins = int(np.clip(labelled.size // PER_STRATUM, 1, MOST_STRATA))
        cuts = np.unique(np.quantile(labelled, np.arange(1, bins) / bins))
        codes = np.searchsorted(cuts, verdicts, side="right")
    codes = np.where(known, codes, codes.max(initial=0) + 1)
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)


def _of_all(
    judged: Judged, at: Index, effective: float, bounds: means.Bounds | None, level: float
) -> Corrected:
    y = judged.labels[at]
    codes = judged.codes[at]
    found = means.interval(y, level, groups=codes, bounds=bounds)
    share = y.size / judged.labels.size
    if share < 1 and bounds is not None:
        worst, best = (
            share * end + (1 - share) * edge
            for end, edge in zip(found.interval, bounds, strict=True)
        )
        found = found.replace(worst=worst, best=best)
    added = np.bincount(codes, y - found.value, judged.n_groups) / y.size
    return Corrected(found, effective, 0.0, True, added)


def _beyond(verdicts: Array, at: Index, random: bool) -> tuple[float, bool]:
    """Share of verdicts beyond the lowest and highest that are labelled, and whether it is small,
    or by chance."""
    own = verdicts[at][~np.isnan(verdicts[at])]
    known = verdicts[~np.isnan(verdicts)]
    if not (own.size and known.size):
        return float(known.size > 0), not known.size
    beyond = float(np.mean((known < own.min()) | (known > own.max())))
    # Of n random draws, the share beyond both ends has a beta distribution.
    chance = float(special.betainc(own.size - 1, 2, 1 - beyond)) if random and own.size > 1 else 0.0
    return beyond, beyond <= TOLERATED or chance > _BY_CHANCE


def _by_strata(
    judged: Judged, at: Index, bounds: means.Bounds | None, level: float, these_items: bool
) -> Corrected:
    """The mean over strata, with limits from the spread within them and between their means.

    A stratum whose labels are nearly all the same tells too little of their spread: its own limits,
    from the bounds of the scale (`means.interval`), stand for it (MOVER). Those of a stratum of one
    label, or of none, are the ends of the scale: its mean is then that label, or that of the next
    stratum.
    """
    strata = strata_of(judged.verdicts, at)
    count = int(strata.max()) + 1
    share = np.bincount(strata, minlength=count) / strata.size
    y = judged.labels[at]
    bottom, top = bounds or ((float(y.min()), float(y.max())) if y.size else (0.0, 0.0))
    limits: list[Estimate | None] = []
    skewness = np.zeros(count)
    for k in range(count):
        own = at[strata[at] == k]
        groups = judged.codes[own]
        if np.unique(groups).size >= 2:
            limits.append(
                means.interval(judged.labels[own], level, groups=groups, bounds=(bottom, top))
            )
            skewness[k] = means.spread(
                means.sums(judged.labels[own], groups), float(judged.labels[own].mean())
            )[2]
        elif own.size:
            limits.append(
                Estimate(float(judged.labels[own].mean()), bottom, top, level, 1, own.size)
            )
        else:
            limits.append(None)
    known = [k for k in range(count) if limits[k] is not None]
    outside = float(share[[k for k in range(count) if limits[k] is None]].sum())
    none = np.zeros(judged.n_groups)
    effective = few_labels.effective_labels(None, judged.codes[at]) if at.size else 0.0
    if effective < FEWEST:
        return Corrected(None, effective, outside, outside <= TOLERATED, none)
    all_limits = [limits[min(known, key=lambda near, k=k: abs(near - k))] for k in range(count)]  # type: ignore[misc]
    values = np.array([one.value for one in all_limits if one is not None])
    ends = np.array([(bottom, top) if one is None else one.interval for one in limits]).T
    value = float(share @ values)
    # What each group adds: its labels' deviations, weighted, and how far its items' strata lie from
    # the mean.
    own_values = values[strata]
    weight = share[strata[at]] / np.bincount(strata[at], minlength=count)[strata[at]]
    added = np.bincount(judged.codes, own_values - value, judged.n_groups) / strata.size
    between = float(added @ added) * float(special.ndtri((1 + level) / 2)) ** 2
    added += np.bincount(judged.codes[at], weight * (y - own_values[at]), judged.n_groups)
    spread = np.array([one is not None and one.method == "studentised" for one in limits])
    parts = [(k, one) for k, one in enumerate(limits) if one is not None and spread[k]]
    squares = np.array([(share[k] * one.se) ** 2 for k, one in parts])
    if these_items:
        between = 0.0
        squares *= [1 - one.n / (share[k] * strata.size) for k, one in parts]
    within = 0.0, 0.0
    if (square := float(squares.sum())) > 0:
        df = square**2 / sum(
            own**2 / one.df for own, (_, one) in zip(squares, parts, strict=True) if own
        )
        # Third moments add as variances do: of skewed labels one limit lies farther out than
        # Student's.
        skewed = float(np.sum(squares**1.5 * skewness[[k for k, _ in parts]])) / square**1.5
        skewed *= means.caution(sum(one.n_groups for _, one in parts))
        within = means.studentised_limits(0.0, math.sqrt(square), df, skewed, level)
    low, high = (
        value
        + side
        * math.sqrt(float(np.sum(((share * (limit - values))[~spread]) ** 2)) + reach**2 + between)
        for side, limit, reach in zip((-1, 1), ends, within, strict=True)
    )
    n_groups = np.unique(judged.codes[at]).size
    found = Estimate(value, max(low, bottom), min(high, top), level, n_groups, at.size)
    return Corrected(found, effective, outside, outside <= TOLERATED, added)
