"""Compares a judge with people who labelled the same items: their agreement beside its own, and the
alternative annotator test.

Agreement is one minus the disagreement seen over the disagreement that chance would give, summed
over pairs of raters before the two are divided (de Vries and others 2008). With disagreement
counted as different or not that is Cohen's kappa, with squared differences of places on the scale
his weighted kappa, of numbers Lin's concordance correlation. The judge's agreement is taken over
the same pairs: with the one rater and with the other, half each.

References:
    de Vries, Elliott, Kanouse and Teleki (2008), Using pooled kappa to summarize interrater
    agreement across many
        items. doi:10.1177/1525822X08317166
    Lin (1989), A concordance correlation coefficient to evaluate reproducibility.
    doi:10.2307/2532051 Calderon, Reichart and Dror (2025), The alternative annotator test for
    LLM-as-a-judge. arXiv:2501.10970
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from undogmatic.stats import jackknife, means
from undogmatic.stats.checks import Array, Index, Rng
from undogmatic.stats.estimate import Estimate

EPSILON = 0.1
"""What the judge is given in advance in the alternative annotator test where nobody says otherwise:
the least value that its authors propose, that for raters who are no experts."""
FEWEST_ITEMS, FEWEST_RATERS = 30, 3
"""Of the alternative annotator test: items that a rater shares with others, and raters with so
many."""
ROUNDING = 1e-12
"""Distances that differ by no more than this share of the largest number of the unit are the same
distance."""
OWN_MARGINALS = 10
"""Two raters with fewer shared items do not show how often each gives a label; such pairs are taken
together."""
MOST_PAIRS = 400_000


class RaterPairs(NamedTuple):
    """Rows of labels that two raters gave to the same unit, shape (n_pairs,) each, and the pair of
    raters of each; the pairs of raters with few shared units are one, in which every two labels
    stand both ways."""

    first: Index
    second: Index
    pair: Index


def rater_pairs(unit: Index, rater: Index, rng: Rng) -> RaterPairs:
    """Every two labels of a unit by different raters; of very many, those of a few raters per unit,
    drawn at random.

    Args:
        unit, rater: Of each label, as codes from 0, shape (n_labels,).
    """
    size = np.bincount(unit)
    rows = np.arange(unit.size)
    if (size * (size - 1) // 2).sum() > MOST_PAIRS:
        shuffled = rng.permutation(unit.size)
        by_unit = shuffled[np.argsort(unit[shuffled], kind="stable")]
        place = np.arange(unit.size) - np.repeat(np.cumsum(size) - size, size)
        rows = by_unit[place < max(2, MOST_PAIRS // size.size)]
    rows = rows[np.lexsort((rater[rows], unit[rows]))]
    found = []
    for lag in range(1, int(np.bincount(unit[rows]).max(initial=1))):
        one = rows[:-lag]
        other = rows[lag:]
        both = (unit[one] == unit[other]) & (rater[one] != rater[other])
        found.append((one[both], other[both]))
    first = np.concatenate([one for one, _ in found] or [rows[:0]])
    second = np.concatenate([other for _, other in found] or [rows[:0]])
    _, pair = np.unique(np.stack([rater[first], rater[second]]), axis=1, return_inverse=True)
    pair = pair.reshape(-1).astype(np.intp)
    few = np.bincount(pair, minlength=1)[pair] < OWN_MARGINALS
    together = int(pair.max(initial=-1)) + 1
    return RaterPairs(
        np.concatenate([first, second[few]]),
        np.concatenate([second, first[few]]),
        np.concatenate([np.where(few, together, pair), np.full(int(few.sum()), together)]),
    )


class Ceiling(NamedTuple):
    """Agreement of people among themselves, of the judge with them on the same units, and the
    judge's less theirs."""

    people: Estimate
    judge: Estimate
    difference: Estimate


def ceiling(
    first: Array,
    second: Array,
    judge: Array,
    pair: Index,
    groups: Index,
    *,
    nominal: bool,
    level: float = 0.95,
) -> Ceiling | None:
    """Agreement between two raters, and of the judge with both, pooled over pairs of raters; None
    where all labels, or all verdicts too, are the same, so that chance alone would give complete
    agreement.

    Intervals are those of the jackknife over groups. Pairs that share units, and units that have
    many pairs, are no more than parts of their group.

    Args:
        first, second, judge: Labels and verdict, shape (n_pairs,); with `nominal` any codes of
            categories.
        pair, groups: Pair of raters, and independent unit, of each row, as codes from 0, shape
            (n_pairs,).
        nominal: Count labels as the same or not; else by their squared difference.
    """
    values = np.stack([first, second, judge]).astype(np.float64)
    seen, sums, expected = _nominal(values) if nominal else _squared(values)
    cells, of_cell = np.unique(groups * (int(pair.max()) + 1) + pair, return_inverse=True)
    cell_group, cell_pair = np.divmod(cells, int(pair.max()) + 1)
    by_cell = _totals(of_cell, sums, cells.size)
    whole = _totals(cell_pair, by_cell, int(pair.max()) + 1)
    # What is expected of a pair of raters without each group that has rows of it.
    lost = expected(whole)[cell_pair] - expected(whole[cell_pair] - by_cell)
    n_groups = int(groups.max()) + 1
    chance = expected(whole).sum(axis=0)
    left_chance = chance - _totals(cell_group, lost, n_groups)
    left_seen = seen.sum(axis=0) - _totals(groups, seen, n_groups)
    if not (chance > 1e-9 * len(first)).all():
        return None
    with np.errstate(all="ignore"):
        estimates = 1 - seen.sum(axis=0) / chance
        left = 1 - left_seen / left_chance
    ends = [(float(e), column, (-1.0, 1.0)) for e, column in zip(estimates, left.T, strict=True)]
    ends.append((float(estimates[1] - estimates[0]), left[:, 1] - left[:, 0], (-2.0, 2.0)))
    return Ceiling(
        *(jackknife.of_left_out(e, column, groups, level, bounds) for e, column, bounds in ends)
    )


def _totals(codes: Index, columns: Array, n: int) -> Array:
    """Sums of the columns per code, shape (n, n_columns)."""
    summed = [np.bincount(codes, column, n) for column in columns.T]
    return np.stack(summed, axis=1).astype(np.float64)


_Prepared = tuple[Array, Array, Callable[[Array], Array]]
"""Disagreement seen per row, of the two raters and of the judge with them, shape (n, 2); what is
summed per pair, shape (n, k); and the disagreement that chance would give from such sums, shape
(n_pairs, k) to (n_pairs, 2)."""


def _nominal(values: Array) -> _Prepared:
    codes = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    a, b, judge = codes
    seen = np.stack([a != b, ((judge != a).astype(float) + (judge != b)) / 2], axis=1).astype(
        np.float64
    )
    hot = (codes[:, :, None] == np.arange(int(codes.max()) + 1)).astype(np.float64)
    sums = np.concatenate([*hot, np.ones((len(a), 1))], axis=1)

    def expected(totals: Array) -> Array:
        n = totals[:, -1]
        one, other, own = np.split(totals[:, :-1], 3, axis=1)
        with np.errstate(all="ignore"):
            same = [
                np.where(n > 0, np.sum(x * y, axis=1) / n, 0)
                for x, y in ((one, other), (own, (one + other) / 2))
            ]
        return np.stack([n - part for part in same], axis=1)

    return seen, sums, expected


def _squared(values: Array) -> _Prepared:
    values = values - values.mean()
    values = values / max(float(np.abs(values).max()), 1e-300)
    a, b, judge = values
    seen = np.stack([(a - b) ** 2, ((judge - a) ** 2 + (judge - b) ** 2) / 2], axis=1)
    sums = np.concatenate([values.T, values.T**2, np.ones((len(a), 1))], axis=1)

    def expected(totals: Array) -> Array:
        n = totals[:, -1]
        (x, y, own), (xx, yy, square) = totals[:, :3].T, totals[:, 3:6].T
        with np.errstate(all="ignore"):
            products = [np.where(n > 0, part / n, 0) for part in (x * y, own * (x + y) / 2)]
        return np.stack(
            [xx + yy - 2 * products[0], square + (xx + yy) / 2 - 2 * products[1]], axis=1
        )

    return seen, sums, expected


class RaterTest(NamedTuple):
    """One rater beside the judge: `advantage` is the share of items on which the judge is at least
    as close to the other raters as this one is, `behind` by how much the rater's own share exceeds
    it; `p_adjusted` is of the test that this is less than epsilon, and `won` says that it was
    passed."""

    rater: int
    n: int
    advantage: float
    behind: Estimate
    p_adjusted: float
    won: bool


class AlternativeAnnotator(NamedTuple):
    """`winning_rate` is the share of raters that the judge may stand in for; from half of them on
    it passes the test. `advantage` is its mean advantage over them. On `ties` of their `n_labels`
    labels rater and judge were equally close, which counts for both; `won_without` raters would be
    won if it counted for the rater alone.
    """

    raters: list[RaterTest]
    winning_rate: float
    advantage: Estimate
    ties: int
    n_labels: int
    won_without: int

    @property
    def passes(self) -> bool:
        """Whether the judge may stand in for a rater by this test."""
        return self.winning_rate >= 0.5


def alternative_annotator(
    unit: Index,
    rater: Index,
    label: Array,
    verdict: Array,
    groups: Index,
    *,
    nominal: bool,
    epsilon: float = EPSILON,
    level: float = 0.95,
) -> AlternativeAnnotator | None:
    """Test for each rater in turn whether the judge is as close to the other raters as that rater
    is.

    Closeness is the share of the others with the same category, or the root mean squared distance
    to them. Per rater, a t-test over groups asks whether the rater is closer more often than the
    judge by less than epsilon, and the raters' p-values are corrected by Benjamini and Yekutieli's
    procedure.

    Args:
        unit, rater, label, verdict, groups: One row per label, shape (n_labels,): its item, its
            rater (codes from 0), the label, the judge's verdict on the item, and the item's
            independent unit.
        epsilon: What the judge is given in advance, as it costs less: a share of items.
    Returns:
        None with fewer than FEWEST_RATERS raters who share FEWEST_ITEMS items with another.
    References:
        Calderon, Reichart and Dror (2025), arXiv:2501.10970. Benjamini and Yekutieli (2001),
        doi:10.1214/aos/1013699998
    """
    shared = np.bincount(unit)[unit] >= 2
    unit = unit[shared]
    rater = rater[shared]
    groups = groups[shared]
    label = label[shared]
    verdict = verdict[shared]
    enough = np.flatnonzero(np.bincount(rater) >= FEWEST_ITEMS)
    if enough.size < FEWEST_RATERS:
        return None
    judge_wins, rater_wins = _nearer(unit, label, verdict, nominal)
    tied = judge_wins & rater_wins
    found: list[tuple[int, float, Estimate, float]] = []
    p_without = []
    for code in enough:
        rows = rater == code
        if np.unique(groups[rows]).size < 2:
            return None
        behind = rater_wins[rows].astype(np.float64) - judge_wins[rows]
        estimate, p = _behind(behind, groups[rows], epsilon, level)
        found.append((int(code), float(judge_wins[rows].mean()), estimate, p))
        p_without.append(_behind(behind + tied[rows], groups[rows], epsilon, level)[1])
    adjusted = _yekutieli(np.array([p for *_, p in found]))
    raters = [
        RaterTest(code, estimate.n, advantage, estimate, float(p), bool(p <= 1 - level))
        for (code, advantage, estimate, _), p in zip(found, adjusted, strict=True)
    ]
    mine = np.isin(rater, enough)
    weight = 1 / np.bincount(rater)[rater[mine]]
    codes = np.unique(groups[mine], return_inverse=True)[1]
    weighted = _totals(
        codes.astype(np.intp),
        np.stack([weight * judge_wins[mine], weight], axis=1),
        codes.max() + 1,
    )
    advantage = means.of_sums(means.Sums(*weighted.T), level, (0.0, 1.0)).replace(n=int(mine.sum()))
    won_without = int(np.sum(_yekutieli(np.array(p_without)) <= 1 - level))
    rate = sum(test.won for test in raters) / len(raters)
    return AlternativeAnnotator(
        raters, rate, advantage, int(tied[mine].sum()), int(mine.sum()), won_without
    )


def _behind(behind: Array, groups: Index, epsilon: float, level: float) -> tuple[Estimate, float]:
    """How much more often the rater is closer than the judge, and the p-value of "by epsilon or
    more"."""
    estimate = means.of_sums(means.sums(behind, groups), level, (-1.0, 1.0)).replace(n=behind.size)
    if estimate.se > 0:
        return estimate, float(special.stdtr(estimate.df, (estimate.value - epsilon) / estimate.se))
    return estimate, float(not estimate.value < epsilon)


def _nearer(
    unit: Index, label: Array, verdict: Array, nominal: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether the judge is at least as close as the row's rater to the labels that the other rows
    of the unit give, and whether the rater is at least as close as the judge; both where they are
    equally close.

    The two distances are never made apart and compared then: what they share would be rounded
    twice. Of categories the same labels are counted, which are whole numbers. The mean squared
    distance to the others is the distance to their mean, squared, plus what does not depend on who
    is asked; so the distances to that mean decide.
    """
    if nominal:
        same_as_judge, same_as_rater = (
            _same_others(unit, label, said) for said in (verdict, label)
        )
        return same_as_judge >= same_as_rater, same_as_rater >= same_as_judge
    others = np.bincount(unit)[unit] - 1
    # From a label of the unit on, so that what all labels of a unit have in common costs no digits.
    origin = np.zeros(int(unit.max()) + 1)
    origin[unit] = label
    own = label - origin[unit]
    said = verdict - origin[unit]
    middle = (np.bincount(unit, own)[unit] - own) / others
    ahead = np.abs(own - middle) - np.abs(said - middle)
    largest = np.zeros(origin.size)
    np.maximum.at(largest, unit, np.maximum(np.abs(label), np.abs(verdict)))
    # What differs by less is one distance: a decimal fraction as read, and sums of them, err by
    # some 1e-16 of it.
    rounding = ROUNDING * largest[unit]
    return ahead >= -rounding, ahead <= rounding


def _same_others(unit: Index, label: Array, said: Array) -> Index:
    """How many of the other rows of its unit give as label what each row says."""
    codes = np.unique(np.concatenate([label, said]), return_inverse=True)[1].astype(np.intp)
    given, asked = (unit * (int(codes.max()) + 1) + part for part in np.split(codes, 2))
    counts = np.bincount(given, minlength=int(max(given.max(), asked.max())) + 1)
    return np.asarray(counts[asked] - (said == label), dtype=np.intp)


def _yekutieli(p: Array) -> Array:
    """Adjusted p-values under any dependence (Benjamini and Yekutieli 2001,
    doi:10.1214/aos/1013699998)."""
    order = np.argsort(p)
    places = np.arange(1, p.size + 1)
    stepped = p[order] * p.size * np.sum(1 / places) / places
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1, np.minimum.accumulate(stepped[::-1])[::-1])
    return adjusted
