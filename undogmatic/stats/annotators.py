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
    """Pair every two labels of a unit by different raters; of very many, those of a few raters per
    unit, drawn at random.

    Args:
        unit, rater: Of each label, as codes from 0, shape (n_labels,).
    """
    size = np.bincount(unit)
    rows = np.arange(unit.size)
    if (size * (size - 1) // 2).sum() > MOST_PAIRS:
        shuffled = rng.permutation(unit.size)
        by_unit = shuffled[np.argsort(unit[shuffled], kind="stable")]
        begins = np.cumsum(size) - size
        place_in_unit = np.arange(unit.size) - np.repeat(begins, size)
        # A unit of one label has no pair.
        most = max(2, MOST_PAIRS // size.size)
        rows = by_unit[place_in_unit < most]
    rows = rows[np.lexsort((rater[rows], unit[rows]))]
    # Labels of a unit stand side by side: each is paired with the next, the one after that, and so
    # on as far as the largest unit goes.
    firsts = [rows[:0]]
    seconds = [rows[:0]]
    largest = int(np.bincount(unit[rows]).max(initial=1))
    for lag in range(1, largest):
        one = rows[:-lag]
        other = rows[lag:]
        same_unit = unit[one] == unit[other]
        two_people = rater[one] != rater[other]
        both = same_unit & two_people
        firsts.append(one[both])
        seconds.append(other[both])
    first = np.concatenate(firsts)
    second = np.concatenate(seconds)
    _, pair = np.unique(
        np.stack([rater[first], rater[second]]), axis=1, return_inverse=True
    )
    pair = pair.reshape(-1).astype(np.intp)
    few = np.bincount(pair, minlength=1)[pair] < OWN_MARGINALS
    # Raters who are taken together have no order: each of their pairs stands both ways.
    together = int(pair.max(initial=-1)) + 1
    turned = np.full(int(few.sum()), together)
    return RaterPairs(
        np.concatenate([first, second[few]]),
        np.concatenate([second, first[few]]),
        np.concatenate([np.where(few, together, pair), turned]),
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
    """Estimate the agreement between two raters, and of the judge with both, pooled over pairs of
    raters; None where all labels, or all verdicts too, are the same, so that chance alone would
    give complete agreement.

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
    n_raters = int(pair.max()) + 1
    n_groups = int(groups.max()) + 1
    cells, of_cell = np.unique(groups * n_raters + pair, return_inverse=True)
    cell_group, cell_pair = np.divmod(cells, n_raters)
    by_cell = _totals(of_cell, sums, cells.size)
    by_pair = _totals(cell_pair, by_cell, n_raters)
    # What is expected of a pair of raters without each group that has rows of it.
    expected_of_pair = expected(by_pair)
    without_group = by_pair[cell_pair] - by_cell
    lost = expected_of_pair[cell_pair] - expected(without_group)
    chance = expected_of_pair.sum(axis=0)
    chance_without = chance - _totals(cell_group, lost, n_groups)
    seen_without = seen.sum(axis=0) - _totals(groups, seen, n_groups)
    # Divided by rounding, agreement could be any number.
    if not (chance > 1e-9 * len(first)).all():
        return None
    with np.errstate(all="ignore"):
        people, of_judge = (1 - seen.sum(axis=0) / chance).tolist()
        without_people, without_judge = (1 - seen_without / chance_without).T

    def interval(estimate: float, without: Array, most: float) -> Estimate:
        return jackknife.of_left_out(estimate, without, groups, level, (-most, most))

    return Ceiling(
        interval(people, without_people, 1.0),
        interval(of_judge, without_judge, 1.0),
        interval(of_judge - people, without_judge - without_people, 2.0),
    )


def _totals(codes: Index, columns: Array, n: int) -> Array:
    """Sum the columns per code, shape (n, n_columns)."""
    summed = [np.bincount(codes, column, n) for column in columns.T]
    return np.stack(summed, axis=1).astype(np.float64)


_Prepared = tuple[Array, Array, Callable[[Array], Array]]
"""Disagreement seen per row, of the two raters and of the judge with them, shape (n, 2); what is
summed per pair, shape (n, k); and the disagreement that chance would give from such sums, shape
(n_pairs, k) to (n_pairs, 2)."""


def _nominal(values: Array) -> _Prepared:
    """Count categories as the same or not; values of both raters and of the judge, shape (3, n)."""
    codes = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    a, b, judge = codes
    from_a = (judge != a).astype(float)
    from_b = judge != b
    of_judge = (from_a + from_b) / 2
    seen = np.stack([a != b, of_judge], axis=1).astype(np.float64)
    # Sums of these are all that a coefficient needs, so that leaving out a group is a
    # subtraction.
    categories = np.arange(int(codes.max()) + 1)
    one_hot = (codes[:, :, None] == categories).astype(np.float64)
    one_each = np.ones((len(a), 1))
    sums = np.concatenate([*one_hot, one_each], axis=1)

    def expected(totals: Array) -> Array:
        n = totals[:, -1]
        one, other, verdicts = np.split(totals[:, :-1], 3, axis=1)

        def apart(x: Array, y: Array) -> Array:
            return n - np.where(n > 0, np.sum(x * y, axis=1) / n, 0)

        with np.errstate(all="ignore"):
            return np.stack(
                [apart(one, other), apart(verdicts, (one + other) / 2)], axis=1
            )

    return seen, sums, expected


def _squared(values: Array) -> _Prepared:
    """Count squared differences of numbers; values as of `_nominal`."""
    # Moved and scaled, which changes no coefficient, so that squares lose no digits.
    values = values - values.mean()
    values = values / max(float(np.abs(values).max()), 1e-300)
    a, b, judge = values
    of_people = (a - b) ** 2
    of_judge = ((judge - a) ** 2 + (judge - b) ** 2) / 2
    seen = np.stack([of_people, of_judge], axis=1)
    one_each = np.ones((len(a), 1))
    sums = np.concatenate([values.T, values.T**2, one_each], axis=1)

    def expected(totals: Array) -> Array:
        # (x - y)^2 of independent draws is both squares less twice the product of the means.
        x, y, verdicts, xx, yy, square, n = totals.T
        there = n > 0
        with np.errstate(all="ignore"):
            product = np.where(there, x * y / n, 0)
            product_of_judge = np.where(there, verdicts * (x + y) / 2 / n, 0)
        of_people = xx + yy - 2 * product
        of_judge = square + (xx + yy) / 2 - 2 * product_of_judge
        return np.stack([of_people, of_judge], axis=1)

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
    # An item of one rater has nobody to be near to.
    shared = np.bincount(unit)[unit] >= 2
    unit = unit[shared]
    rater = rater[shared]
    groups = groups[shared]
    label = label[shared]
    verdict = verdict[shared]
    # A rater of a few items would be "replaced" by chance.
    enough = np.flatnonzero(np.bincount(rater) >= FEWEST_ITEMS).tolist()
    if len(enough) < FEWEST_RATERS:
        return None
    judge_wins, rater_wins = _nearer(unit, label, verdict, nominal)
    tied = judge_wins & rater_wins
    estimates, p_values, p_without = [], [], []
    for code in enough:
        rows = rater == code
        if np.unique(groups[rows]).size < 2:
            return None
        behind = rater_wins[rows].astype(np.float64) - judge_wins[rows]
        estimate, p = _behind(behind, groups[rows], epsilon, level)
        estimates.append(estimate)
        p_values.append(p)
        # As if each tie were won by the rater alone.
        ties_lost = behind + tied[rows]
        _, p_lost = _behind(ties_lost, groups[rows], epsilon, level)
        p_without.append(p_lost)
    # The raters are judged by each other's labels, so that their tests hang together in a way that
    # nobody knows: Yekutieli's correction holds for any.
    adjusted = _yekutieli(np.array(p_values)).tolist()
    raters = []
    for code, estimate, p in zip(enough, estimates, adjusted, strict=True):
        advantage = float(judge_wins[rater == code].mean())
        raters.append(
            RaterTest(code, estimate.n, advantage, estimate, p, p <= 1 - level)
        )
    mine = np.isin(rater, enough)
    # Every rater counts alike in the mean advantage, however many labels they gave.
    weight = 1 / np.bincount(rater)[rater[mine]]
    codes = np.unique(groups[mine], return_inverse=True)[1].astype(np.intp)
    columns = np.stack([weight * judge_wins[mine], weight], axis=1)
    weighted = means.Sums(*_totals(codes, columns, codes.max() + 1).T)
    n_labels = int(mine.sum())
    return AlternativeAnnotator(
        raters,
        winning_rate=sum(test.won for test in raters) / len(raters),
        advantage=means.of_sums(weighted, level, (0.0, 1.0)).replace(n=n_labels),
        ties=int(tied[mine].sum()),
        n_labels=n_labels,
        # On coarse scales most comparisons are ties, and how these count may decide. So
        # both ways are told.
        won_without=int(np.sum(_yekutieli(np.array(p_without)) <= 1 - level)),
    )


def _behind(
    behind: Array, groups: Index, epsilon: float, level: float
) -> tuple[Estimate, float]:
    """Estimate how much more often the rater is closer than the judge, and the p-value of "by
    epsilon or more"."""
    estimate = means.of_sums(means.sums(behind, groups), level, (-1.0, 1.0)).replace(
        n=behind.size
    )
    if estimate.se > 0:
        return estimate, float(
            special.stdtr(estimate.df, (estimate.value - epsilon) / estimate.se)
        )
    return estimate, float(not estimate.value < epsilon)


def _nearer(
    unit: Index, label: Array, verdict: Array, nominal: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say whether the judge is at least as close as the row's rater to the labels that the other
    rows of the unit give, and whether the rater is at least as close as the judge; both where they
    are equally close.

    The two distances are never made apart and compared then: what they share would be rounded
    twice. Of categories the same labels are counted, which are whole numbers. The mean squared
    distance to the others is the distance to their mean, squared, plus what does not depend on who
    is asked; so the distances to that mean decide.
    """
    if nominal:
        same_as_judge = _same_others(unit, label, verdict)
        same_as_rater = _same_others(unit, label, label)
        return same_as_judge >= same_as_rater, same_as_rater >= same_as_judge
    n_others = np.bincount(unit)[unit] - 1
    # From a label of the unit on, so that what all labels of a unit have in common costs no digits.
    origin = np.zeros(int(unit.max()) + 1)
    origin[unit] = label
    of_rater = label - origin[unit]
    of_judge = verdict - origin[unit]
    middle = (np.bincount(unit, of_rater)[unit] - of_rater) / n_others
    ahead = np.abs(of_rater - middle) - np.abs(of_judge - middle)
    largest = np.zeros(origin.size)
    np.maximum.at(largest, unit, np.maximum(np.abs(label), np.abs(verdict)))
    # What differs by less is one distance: a decimal fraction as read, and sums of them, err by
    # some 1e-16 of it.
    rounding = ROUNDING * largest[unit]
    return ahead >= -rounding, ahead <= rounding


def _same_others(unit: Index, label: Array, asked: Array) -> Index:
    """Count the other rows of its unit whose label is what is asked of each row, shape
    (n_labels,)."""
    codes = np.unique(np.concatenate([label, asked]), return_inverse=True)[1].astype(
        np.intp
    )
    label_codes, asked_codes = np.split(codes, 2)
    n_codes = int(codes.max()) + 1
    counts = np.bincount(
        unit * n_codes + label_codes, minlength=(int(unit.max()) + 1) * n_codes
    )
    return np.asarray(
        counts[unit * n_codes + asked_codes] - (asked == label), dtype=np.intp
    )


def _yekutieli(p: Array) -> Array:
    """Adjust p-values for any dependence (Benjamini and Yekutieli 2001,
    doi:10.1214/aos/1013699998), shape (n,)."""
    order = np.argsort(p)
    places = np.arange(1, p.size + 1)
    stepped = p[order] * p.size * np.sum(1 / places) / places
    # A larger p-value is never adjusted to a smaller one.
    rising = np.minimum.accumulate(stepped[::-1])[::-1]
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1, rising)
    return adjusted
