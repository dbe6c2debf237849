"""Limits that decide: a share, an area or a correlation counts only with its lower or its upper
limit.

Each quantity comes with what failed judgments could make of it: `worst_low` and `best_high` are its
limits with all of them set against the claim, and for it. What these do not bear out is withheld.
"""

import math
from itertools import compress
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import agreement, checks, means, ranking
from undogmatic.stats.checks import Array, Index, Labels, Rng
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.means import Bounds

Outcome = Literal["above", "below", "open", "missing"]
_OUTCOMES: dict[str, Outcome] = {
    "beyond": "above",
    "against": "below",
    "missing": "missing",
}


class Held(NamedTuple):
    """Limits against a bound.

    "above", "below": shown, failures notwithstanding. "missing": shown by the judged items, but
    failed judgments could turn it. "open": neither. `n_needed` (only of "open") is the rough number
    of units that would decide with probability 0.8 if the estimate were the truth and the interval
    shrank with their root; None where no number would.
    """

    outcome: Outcome
    n_needed: int | None = None

    def more(self, limits: Estimate) -> int | None:
        """Say how many units more that is, with no more digits than the guess is worth."""
        if self.n_needed is None:
            return None
        more = self.n_needed - limits.n_groups
        if more <= 0:
            return 1
        # Two digits: 1,234 becomes 1,200.
        return round(more, 1 - int(math.log10(more)))


def hold(limits: Estimate, bound: float) -> Held:
    """Hold a quantity against a bound in its units: the interval must lie wholly on one side."""
    # Held with a margin of 0 about the bound, by the one function that holds anything
    # against anything.
    outcome = limits.against(0.0, about=bound)
    if outcome in _OUTCOMES:
        return Held(_OUTCOMES[outcome])
    needed = units_needed(limits, bound)
    return Held("open", checks.worth_naming(needed, limits.n_groups))


def units_needed(limits: Estimate, bound: float) -> float:
    """Guess the number of units that would put the interval on one side of the bound with
    probability 0.8, if the estimate were the truth and the interval shrank with their root;
    infinite where the estimate is the bound.
    """
    room = limits.value - bound
    # An estimate that is the bound itself could fall on either side for ever.
    if room == 0:
        return math.inf
    # The limit that lies towards the bound is the one that has to pass it.
    reach = limits.value - limits.low if room > 0 else limits.high - limits.value
    quantile = means.normal_quantile(limits.level)
    # An interval that just passes on average would pass in half of the samples only.
    widened = reach * (1 + special.ndtri(0.8) / quantile)
    return float(limits.n_groups * (widened / room) ** 2)


def share(flags: ArrayLike, groups: Labels, level: float = 0.95) -> Estimate:
    """Estimate the share of true flags with exact limits (Clopper and Pearson), which never err
    more often than they say.

    Where groups hold several items, a group counts as one item: right where the flags of a group
    agree, and else on the safe side.

    Args:
        flags: 1 or 0 per item, NaN where it was not judged; shape (n,), one at least judged.
    References:
        Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404. Korn and Graubard (1998),
        Confidence intervals for proportions with small expected number of positive counts, Survey
        Methodology 24(2), for samples in groups.
    """
    checks.share(level, "level")
    f = np.asarray(flags, dtype=np.float64)
    codes = checks.labels(groups, "groups", f.size)
    # A failure is neither right nor wrong. It is left out of the estimate, and put on
    # either side in the two limits that have to hold whatever it would have been.
    judged = ~np.isnan(f)

    def exact(flags: Array, codes: Index) -> tuple[float, float, int]:
        n = int(np.unique(codes).size)
        tail = (1 - level) / 2
        # A group is one item: where its flags differ, hits are a fraction, which the beta
        # distribution takes as it is.
        hits = float(flags.mean()) * n
        # Wilson's limits err more often than they say at some shares; what is held against a bound
        # here must not.
        low, high = 0.0, 1.0
        if hits > 0:
            low = float(special.betaincinv(hits, n - hits + 1, tail))
        if hits < n:
            high = float(special.betaincinv(hits + 1, n - hits, 1 - tail))
        return low, high, n

    low, high, n_units = exact(f[judged], codes[judged])
    worst, _, _ = exact(np.where(judged, f, 0.0), codes)
    _, best, _ = exact(np.where(judged, f, 1.0), codes)
    value = float(f[judged].mean())
    n = int(judged.sum())
    return Estimate(value, low, high, level, n_units, n, worst=worst, best=best)


def area(
    positive: ArrayLike,
    negative: ArrayLike,
    groups_a: Labels,
    groups_b: Labels,
    scale: Bounds,
    level: float = 0.95,
) -> Estimate:
    """Estimate how often a positive item scores above a negative one, ties counting half: the area
    under the ROC curve.

    Args:
        positive, negative: Scores, NaN where not judged, shape (n,) each; one of each side at least
            is judged.
        groups_a, groups_b, scale: What of each belongs together, shape (n,) each; the ends of the
            scale.
    """
    p = np.asarray(positive, dtype=np.float64)
    q = np.asarray(negative, dtype=np.float64)
    a = list(groups_a)  # type: ignore[arg-type]
    b = list(groups_b)  # type: ignore[arg-type]
    up = ~np.isnan(p)
    down = ~np.isnan(q)

    def of(p: Array, q: Array, a: list[object], b: list[object]) -> Estimate:
        m = len(set(a))
        n = len(set(b))
        each_alone = m == p.size and n == q.size
        # A group with items on both sides makes the two sides move together.
        crossed = set(a) & set(b)
        if each_alone and not crossed:
            result = ranking.auc(p, q, level)
        else:
            result = ranking.auc(p, q, level, groups_a=a, groups_b=b)
        # Of one positive and three negative texts, one order in four is the perfect
        # one.
        n_orders = math.comb(m + n, m)
        if 1 / n_orders > (1 - level) / 2:
            # So few that even a perfect order is not rare enough by chance.
            low = min(result.low, 0.5)
            high = max(result.high, 0.5)
            result = result.replace(low=low, high=high)
        return result.replace(n_groups=min(m, n))

    bottom, top = scale
    a_judged = list(compress(a, up))
    b_judged = list(compress(b, down))
    result = of(p[up], q[down], a_judged, b_judged)
    # The failures of both sides at the ends that hurt most: nobody knows what the judge
    # would have said, and the ends of the scale bound it.
    worst = of(np.where(up, p, bottom), np.where(down, q, top), a, b)
    best = of(np.where(up, p, top), np.where(down, q, bottom), a, b)
    return result.replace(worst=worst.low, best=best.high)


def order(
    scores: ArrayLike,
    labels: ArrayLike,
    rng: Rng,
    *,
    groups: Labels,
    level: float = 0.95,
    weights: ArrayLike | None = None,
) -> Estimate | None:
    """Estimate Spearman's rank correlation of scores with labels, with the limits of the jackknife
    over groups.

    Where judgments failed, a limit is as far from a correlation that the failures would make as
    that of the judged items is from theirs, or as Bonett and Wright's variance says if that is
    farther, for as many items as the groups are worth. To take the wider of both where none failed
    would hold the truth in 98 % of samples instead of 95.

    Args:
        scores, labels: Shape (n,) each; NaN where not judged.
        weights: Of each pair, above 0, shape (n,); None: all alike.
    Returns:
        None where scores or labels are (nearly) all equal.
    References:
        Bonett and Wright (2000), doi:10.1007/BF02294183
    """
    s = np.asarray(scores, dtype=np.float64)
    y = checks.vector(labels, "labels", minimum=4)
    codes = checks.labels(groups, "groups", s.size)
    judged = ~np.isnan(s)
    w = None
    if weights is not None and not checks.is_constant(np.asarray(weights)):
        w = checks.vector(weights, "weights")
    n_units = int(np.unique(codes[judged]).size)
    # Bonett and Wright's variance divides by n - 3.
    if n_units < 4:
        return None
    try:
        correlation = ranking.spearman_interval(
            s[judged],
            y[judged],
            rng,
            level,
            groups=codes[judged].tolist(),
            weights=None if w is None else w[judged],
        )
    except ValueError:
        return None
    correlation = correlation.replace(n=int(judged.sum()))
    if judged.all():
        return correlation.replace(worst=correlation.low, best=correlation.high)

    worth = _worth(s[judged], y[judged], codes[judged])
    n = worth * int(np.unique(codes).size) / n_units

    def fisher(r: float) -> float:
        """Compute Fisher's z, bounded where all of n items are in perfect order."""
        end = 1 - 1 / n**2
        return math.atanh(min(max(r, -end), end))

    def beyond(limit: float, side: int) -> float:
        """Find the limit with the failures set against the claim, or for it (`side` -1 or 1).

        It is as far from a correlation that failures would make, on Fisher's scale, as the limit of
        the judged texts or as Bonett and Wright's. What is put in for a failure was not drawn; no
        resampling speaks of it.
        """
        # The estimate itself moves to where the failures could take it; only then is
        # the limit laid from there.
        moved = _spearman(imputed(s, y, against=side < 0), y, w)
        quantile = means.normal_quantile(level)
        bonett_wright = quantile * math.sqrt((1 + moved**2 / 2) / (n - 3))
        of_judged = abs(fisher(limit) - fisher(correlation.value))
        far = max(bonett_wright, of_judged)
        return math.tanh(fisher(moved) + side * far)

    worst = min(correlation.low, beyond(correlation.low, -1))
    best = max(correlation.high, beyond(correlation.high, 1))
    return correlation.replace(worst=worst, best=best)


def alpha(
    ratings: ArrayLike, scale: Bounds, *, groups: Labels, level: float = 0.95
) -> Estimate | None:
    """Estimate Krippendorff's alpha (interval) of several raters, over groups of items
    (`agreement.alpha`).

    Args:
        ratings: Shape (n_raters, n_items), NaN where a rater failed.
        scale: Its ends; a failed rating is thought at the one farthest from the others, or at their
            mean.
    Returns:
        None where all ratings are (nearly) equal, or fewer than two groups have two ratings.
    """
    table = np.asarray(ratings, dtype=np.float64)
    codes = checks.labels(groups, "groups", table.shape[1])
    there = ~np.isnan(table)
    pairable = there.sum(axis=0) >= 2
    if np.unique(codes[pairable]).size < 2 or checks.is_constant(
        table[there & pairable]
    ):
        return None

    coefficient = agreement.alpha(table, level, groups=codes)
    if coefficient is None:
        return None
    if there.all():
        return coefficient.replace(worst=coefficient.low, best=coefficient.high)
    rated = there.any(axis=0)
    middle = sum(scale) / 2
    means_of_items = np.full(table.shape[1], middle)
    means_of_items[rated] = np.nanmean(table[:, rated], axis=0)
    bottom, top = scale
    farthest = np.where(means_of_items < middle, top, bottom)
    # Raters of an item that nobody rated are set at odds: to both ends in turn.
    in_turn = np.arange(len(table))[:, None] % 2 == 0
    both_ends = np.where(in_turn, bottom, top)
    thought = np.where(rated, farthest, both_ends)
    at_odds = np.where(there, table, thought)
    at_one = np.where(there, table, means_of_items)
    worst = agreement.alpha(at_odds, level, groups=codes)
    best = agreement.alpha(at_one, level, groups=codes)
    return coefficient.replace(
        worst=-1.0 if worst is None else min(coefficient.low, worst.low),
        best=1.0 if best is None else max(coefficient.high, best.high),
    )


def imputed(scores: ArrayLike, labels: ArrayLike, *, against: bool) -> Array:
    """Fill in failed scores so that the rank correlation with the labels is (nearly) the lowest, or
    highest, shape (n,).

    Those of low labels go beyond one end of the judged scores and those of high labels beyond the
    other, each part in the order that serves; where to part them is tried at up to 21 places, and
    for the highest also scores among the judged ones at the place of the label. Beyond the ends of
    the scale is allowed, as only ranks count.

    Args:
        scores, labels, against: As in `order`; whether the lowest is asked for.
    """
    s = np.array(scores, dtype=np.float64)
    y = np.asarray(labels, dtype=np.float64)
    failed = np.flatnonzero(np.isnan(s))
    by_label = failed[np.argsort(y[failed], kind="stable")]
    n = by_label.size
    judged = s[~np.isnan(s)]
    if n == 0:
        return s
    bottom, top = (
        (float(judged.min()), float(judged.max())) if judged.size else (0.0, 0.0)
    )
    step = np.arange(1, n + 1) / n
    tried: list[Array] = []
    # Trying all ways to fill in failures would take 2 to the power of their number. The
    # best ways part them by their labels, so that one cut describes each of them.
    cuts = np.linspace(0, n, min(n, 20) + 1).round()
    for cut in np.unique(cuts.astype(int)):
        filled = s.copy()
        if against:
            # Low labels above all that are judged, high ones below, each part upside down.
            up, down = by_label[:cut], by_label[cut:]
            filled[up] = top + step[: up.size][::-1]
            filled[down] = bottom - step[: down.size]
        else:
            up, down = by_label[cut:], by_label[:cut]
            filled[up] = top + step[: up.size]
            filled[down] = bottom - step[: down.size][::-1]
        tried.append(filled)
    if not against and judged.size:
        filled = s.copy()
        labels_of_judged = np.sort(y[~np.isnan(s)])
        places = np.searchsorted(labels_of_judged, y[by_label]) / judged.size
        among_judged = np.quantile(judged, np.clip(places, 0, 1))
        filled[by_label] = among_judged + step * checks.SAME
        tried.append(filled)
    correlations = [_spearman(filled, y) for filled in tried]
    best = np.argmin(correlations) if against else np.argmax(correlations)
    return tried[int(best)]


def _worth(scores: Array, labels: Array, codes: Index) -> float:
    """Say how many independent items those of these groups are worth for a rank correlation, at
    least one per group: their number over the design effect (Kish), with the intraclass correlation
    of what each adds to the coefficient.
    """
    _, units = np.unique(codes, return_inverse=True)
    n_units = float(units.max() + 1)
    adds = ranking.adds(scores, labels)
    return max(n_units, means.worth(adds, units))


def _spearman(x: Array, y: Array, weights: Array | None = None) -> float:
    """Compute the rank correlation, 0 where there is none."""
    columns = np.column_stack([checks.tied(x), checks.tied(y)])
    correlation = ranking.weighted_rank_correlation(weights)
    return float(np.nan_to_num(correlation.of(columns)))


def most_order(n_units: int, level: float = 0.95) -> float:
    """Compute the highest rank correlation that a judge may have that gave `n_units` items one and
    the same score.

    The share of other scores is below 1 - ((1 - level) / 2) ** (1 / n) then; if all others were in
    perfect order at one end, the correlation would be sqrt(1 - (1 - share)**3).

    Args:
        n_units: Independent items, 1 or more.
    """
    # If more than 1 - rest of all items had another score, a sample without any would
    # be too rare.
    rest = ((1 - level) / 2) ** (1 / n_units)
    return math.sqrt(1 - rest**3)


def fewest_same(bound: float, level: float = 0.95) -> int:
    """Compute the number of items of one score with which `most_order` falls below `bound` (above
    0)."""
    rest = (1 - bound**2) ** (1 / 3)
    return (
        math.ceil(math.log((1 - level) / 2) / math.log(rest))
        if rest < 1
        else checks.MOST_UNITS
    )
