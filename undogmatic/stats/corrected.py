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
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from undogmatic.stats import few_labels, jackknife, means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.estimate import Estimate

Design = Literal["all", "random", "by_verdict", "probabilities"]

FEWEST = few_labels.FEWEST_EFFECTIVE
# More strata leave fewer labels in each, and limits from the bounds of the scale.
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
    """Estimate the mean label of the population that these items come from, or of these very items.

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
    # Here the strata are fixed by the verdicts themselves, so that no weight of the
    # judge need be fitted.
    if design == "by_verdict":
        return _by_strata(judged, at, bounds, level, these_items)
    inclusion = judged.probability[at] if design == "probabilities" else None
    effective = (
        few_labels.effective_labels(inclusion, judged.codes[at]) if at.size else 0.0
    )
    added = np.zeros(judged.n_groups)
    if effective < FEWEST:
        return Corrected(None, effective, 0.0, True, added)
    if design == "all":
        return _of_all(judged, at, effective, bounds, level)
    there = ~np.isnan(judged.verdicts)
    # Any guess is allowed: what it is off, the labels of such items take back on
    # average.
    guess = judged.verdicts[there].mean() if there.any() else 0.0
    verdicts = np.where(there, judged.verdicts, guess)
    labels = judged.labels[at]
    corrected = few_labels.estimate_mean(
        verdicts,
        at,
        labels,
        inclusion=inclusion,
        groups=judged.codes,
        level=level,
        bounds=bounds,
    )
    sample = few_labels.Sample.of(verdicts, at, labels, inclusion, judged.codes)
    from_labels, from_judge = sample.parts()
    by_group = from_labels + corrected.judge_weight * from_judge
    # Kept by group, so that two systems' means, which come from the same items, can be
    # compared with the errors that they share.
    added[judged.codes] = by_group[sample.codes] / verdicts.size
    estimate = corrected.estimate
    # Limits from the bounds of the scale have no standard error that could be shrunk.
    if these_items and estimate.method == "studentised":
        estimate = _of_items(sample, estimate)
    outside, covered = _beyond(judged.verdicts, at, design == "random")
    return Corrected(estimate, effective, outside, covered, added)


def _of_items(sample: few_labels.Sample, population: Estimate) -> Estimate:
    """Estimate the mean of the items: their verdicts, with the fitted weight, plus what the
    labelled ones are off. Its variance is that of drawing labels alone, less the share of items
    that are labelled (1 - p of each)."""
    f, at, y, w, codes = sample
    group = np.unique(codes[at], return_inverse=True)[1]

    def centred(values: Array) -> Array:
        """Sum the weighted deviations of labelled items by group."""
        return np.asarray(
            np.bincount(group, w * (values - w @ values / w.sum())), np.float64
        )

    from_labels = centred(y)
    from_judge = centred(f[at])
    power = float(from_judge @ from_judge)
    weight = 0.0
    if power > 0:
        slope = from_labels @ from_judge / power
        # A judge that goes against the labels is left out, not turned round.
        weight = float(np.clip(slope, 0, 1))
    off = means.of_sums(sample.of_labelled(y - weight * f[at]), population.level)
    squares = (from_labels - weight * from_judge) ** 2
    # Of the items for which a group's labels stand, the share that is not labelled.
    unlabelled = np.bincount(group, w - 1) / np.bincount(group, w)
    square = squares.sum()
    open_share = 0.0
    if square > 0:
        open_share = float((squares * unlabelled).sum() / square)
    # A weight that was fitted takes one; a weight that came out as 0 was not used.
    df = off.df - (weight > 0)
    # Student's and Hall's limits again, for the degree of freedom that the weight took.
    tail = (1 + population.level) / 2
    wider = float(special.stdtrit(df, tail) / special.stdtrit(off.df, tail))
    times = wider * math.sqrt(open_share)
    middle = weight * float(f.mean()) + off.value
    low = middle + times * (off.low - off.value)
    high = middle + times * (off.high - off.value)
    se = off.se * math.sqrt(open_share)
    return population.replace(value=middle, low=low, high=high, se=se, df=df)


def difference(a: Corrected, b: Corrected) -> Estimate | None:
    """Estimate A minus B, from the limits of both and how much their errors go together over groups
    (MOVER); None where either has no estimate."""
    if a.estimate is None or b.estimate is None:
        return None
    square = float(a.added @ a.added) * float(b.added @ b.added)
    # Two systems that are judged on the same items err alike on hard ones, which does
    # not count between them.
    together = 0.0
    if square > 0:
        together = float(a.added @ b.added) / square**0.5
    one = a.estimate
    other = b.estimate
    of_either = (a.added != 0) | (b.added != 0)
    n_groups = int(np.count_nonzero(of_either))
    low, high = jackknife.apart(one, other, together, math.inf)
    value = one.value - other.value
    return Estimate(value, low, high, one.level, n_groups, one.n + other.n)


def strata_of(verdicts: Array, at: Index) -> Index:
    """Number the stratum of every item, shape (n,): its verdict, of up to MOST_STRATA; else bins of
    like size by the labelled items, of at least PER_STRATUM labels; the last one is of those
    without a verdict."""
    there = ~np.isnan(verdicts)
    values = np.unique(verdicts[there])
    labelled = verdicts[at][there[at]]
    if values.size <= MOST_STRATA or labelled.size == 0:
        codes = np.searchsorted(values, verdicts)
    else:
        # By the labelled verdicts, and not by all: a bin without a label would have no
        # mean.
        possible = labelled.size // PER_STRATUM
        bins = int(np.clip(possible, 1, MOST_STRATA))
        shares = np.arange(1, bins) / bins
        cuts = np.unique(np.quantile(labelled, shares))
        codes = np.searchsorted(cuts, verdicts, side="right")
    codes = np.where(there, codes, codes.max(initial=0) + 1)
    return np.unique(codes, return_inverse=True)[1].astype(np.intp)


def _of_all(
    judged: Judged,
    at: Index,
    effective: float,
    bounds: means.Bounds | None,
    level: float,
) -> Corrected:
    """Average the labels alone: where all items are labelled, the verdicts add nothing."""
    y = judged.labels[at]
    codes = judged.codes[at]
    estimate = means.interval(y, level, groups=codes, bounds=bounds)
    share = y.size / judged.labels.size
    # The labels that are missing were to be there. Nobody knows whether they lack by
    # chance.
    if share < 1 and bounds is not None:
        worst = share * estimate.low + (1 - share) * bounds[0]
        best = share * estimate.high + (1 - share) * bounds[1]
        estimate = estimate.replace(worst=worst, best=best)
    added = np.bincount(codes, y - estimate.value, judged.n_groups) / y.size
    return Corrected(estimate, effective, 0.0, True, added)


def _beyond(verdicts: Array, at: Index, random: bool) -> tuple[float, bool]:
    """Measure the share of verdicts beyond the lowest and highest that are labelled, and say
    whether it is small, or by chance."""
    there = ~np.isnan(verdicts)
    labelled = verdicts[at][there[at]]
    every = verdicts[there]
    if not (labelled.size and every.size):
        return float(every.size > 0), not every.size
    beyond = float(np.mean((every < labelled.min()) | (every > labelled.max())))
    chance = 0.0
    # A small draw reaches the lowest and the highest verdict hardly ever; that alone is
    # no sign of a bad one.
    if random and labelled.size > 1:
        # Of n random draws, the share beyond both ends has a beta distribution.
        chance = float(special.betainc(labelled.size - 1, 2, 1 - beyond))
    return beyond, beyond <= TOLERATED or chance > _BY_CHANCE


def _filled_up(
    estimates: Mapping[int, Estimate], count: int, ends: means.Bounds
) -> tuple[Array, Array, Array]:
    """List the mean of every stratum and its limits, shape (n_strata,) each, those without an
    estimate included."""
    bottom, top = ends
    values = np.zeros(count)
    lows = np.full(count, bottom, dtype=np.float64)
    highs = np.full(count, top, dtype=np.float64)
    labelled = sorted(estimates)
    for k in range(count):
        # A guess for the mean only: its limits are the ends of the scale, as nothing is
        # known.
        nearest = min(labelled, key=lambda other, k=k: abs(other - k))  # type: ignore[misc]
        values[k] = estimates[nearest].value
        if nearest == k:
            lows[k], highs[k] = estimates[k].interval
    return values, lows, highs


def _by_strata(
    judged: Judged,
    at: Index,
    bounds: means.Bounds | None,
    level: float,
    these_items: bool,
) -> Corrected:
    """Average over strata, with limits from the spread within them and between their means.

    A stratum whose labels are nearly all the same tells too little of their spread: its own limits,
    from the bounds of the scale (`means.interval`), stand for it (MOVER). Those of a stratum of one
    label, or of none, are the ends of the scale: its mean is then that label, or that of the next
    stratum.
    """
    y = judged.labels[at]
    if bounds is not None:
        bottom, top = bounds
    elif y.size:
        bottom, top = float(y.min()), float(y.max())
    else:
        bottom, top = 0.0, 0.0
    strata = strata_of(judged.verdicts, at)
    count = int(strata.max()) + 1
    share = np.bincount(strata, minlength=count) / strata.size
    estimates, skewness = _within_strata(judged, at, strata, level, (bottom, top))

    labelled = sorted(estimates)
    empty = [k for k in range(count) if k not in estimates]
    outside = float(share[empty].sum())
    effective = few_labels.effective_labels(None, judged.codes[at]) if at.size else 0.0
    if effective < FEWEST:
        none = np.zeros(judged.n_groups)
        return Corrected(None, effective, outside, outside <= TOLERATED, none)
    values, lows, highs = _filled_up(estimates, count, (bottom, top))
    value = float(share @ values)

    # What each group adds: its labels' deviations, weighted, and how far its items' strata lie from
    # the mean.
    of_items = values[strata]
    n_labels = np.bincount(strata[at], minlength=count)
    weight = share[strata[at]] / n_labels[strata[at]]
    added = np.bincount(judged.codes, of_items - value, judged.n_groups) / strata.size
    # How large the strata are in the population is estimated from the items, and errs
    # as they do.
    between = float(added @ added) * means.normal_quantile(level) ** 2
    added += np.bincount(judged.codes[at], weight * (y - of_items[at]), judged.n_groups)

    spread = [k for k in labelled if estimates[k].method == "studentised"]
    unlabelled = np.ones(count)
    if these_items:
        # The strata are as large among these items as they are: only what is not labelled is open.
        between = 0.0
        for k in spread:
            unlabelled[k] = 1 - estimates[k].n / (share[k] * strata.size)
    squares = np.array(
        [(share[k] * estimates[k].se) ** 2 * unlabelled[k] for k in spread]
    )
    of_spread = [estimates[k] for k in spread]
    within_low, within_high = _summed_limits(
        of_spread, squares, skewness[spread], level
    )

    # The distances of strata that have limits of their own add as standard errors do (MOVER).
    limited = ~np.isin(np.arange(count), spread)

    def reach(limits: Array, within: float) -> float:
        own_limits = float(np.sum(((share * (limits - values))[limited]) ** 2))
        return math.sqrt(own_limits + within**2 + between)

    low = value - reach(lows, within_low)
    high = value + reach(highs, within_high)
    n_groups = np.unique(judged.codes[at]).size
    estimate = Estimate(
        value, max(low, bottom), min(high, top), level, n_groups, at.size
    )
    return Corrected(estimate, effective, outside, outside <= TOLERATED, added)


def _summed_limits(
    estimates: list[Estimate], squares: Array, skewness: Array, level: float
) -> tuple[float, float]:
    """Limit the error of a weighted sum of means of strata, from those of the means.

    Args:
        squares, skewness: Of each mean, shape (n_strata,): its variance in the sum, and its skew.
    """
    square = float(squares.sum())
    if square <= 0:
        return 0.0, 0.0
    # Satterthwaite's degrees of freedom, of a sum of variances.
    by_stratum = [s**2 / one.df for s, one in zip(squares, estimates, strict=True) if s]
    df = square**2 / sum(by_stratum)
    # Third moments add as variances do: of skewed labels one limit lies farther out than Student's.
    skewed = float(np.sum(squares**1.5 * skewness)) / square**1.5
    skewed *= means.caution(sum(one.n_groups for one in estimates))
    return means.studentised_limits(0.0, math.sqrt(square), df, skewed, level)


def _within_strata(
    judged: Judged, at: Index, strata: Index, level: float, bounds: means.Bounds
) -> tuple[dict[int, Estimate], Array]:
    """Estimate the mean label of each stratum that has labels, and the skewness of each estimate,
    shape (n_strata,); of a single group the limits are the bounds."""
    count = int(strata.max()) + 1
    estimates = {}
    skewness = np.zeros(count)
    for k in range(count):
        members = at[strata[at] == k]
        if not members.size:
            continue
        labels = judged.labels[members]
        groups = judged.codes[members]
        middle = float(labels.mean())
        if np.unique(groups).size < 2:
            estimates[k] = Estimate(middle, *bounds, level, 1, members.size)
            continue
        estimates[k] = means.interval(labels, level, groups=groups, bounds=bounds)
        skewness[k] = means.spread(means.sums(labels, groups), middle)[2]
    return estimates, skewness
