"""Measures how well a judge did on one text, one pair, or several texts together: the numbers that
an optimiser raises.

All are shares in [0, 1] that are higher for the better judge, so that each can be averaged and told
apart by one rule.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks
from undogmatic.stats.checks import Array

LEAST_PROBABILITY = 1e-3
"""A level that a judge thinks impossible costs as much as one of this probability: the logarithm of
0 has no mean."""


def order(worse: float, better: float) -> float:
    """Score 1 where the worse text has the higher score, 0.5 at a tie, 0 else. Both so that higher
    means worse."""
    # A tie counts half, as it does in the area under the ROC curve: a judge that gives
    # all texts one score gets what tossing a coin would get.
    return 0.5 if worse == better else float(worse > better)


def margin(worse: float, better: float, span: float) -> float:
    """Score by how much the worse text lies above the better one: 0.5 for not at all, 1 for the
    whole width of the scale."""
    # An optimiser that sees only right or wrong has nothing to climb where all pairs
    # are in order; by how much they are leaves something to raise.
    return 0.5 + (worse - better) / (2 * span)


def closeness(score: float, label: float, span: float) -> float:
    """Score 1 less the distance to the label as a share of the scale."""
    return 1.0 - abs(score - label) / span


def log_score(
    values: Sequence[float], probabilities: Sequence[float], label: float
) -> float:
    """Score the logarithm of the probability of the level nearest to the label, from 0
    (LEAST_PROBABILITY) to 1 (certain).

    Args:
        values, probabilities: Levels in score units, and their probabilities, summing to 1; shape
            (n_levels,) each.
        label: In score units; of two levels equally near the lower counts.
    References:
        Good (1952), Rational decisions. doi:10.1111/j.2517-6161.1952.tb00104.x
    """

    def from_label(level: tuple[float, float]) -> tuple[float, float]:
        value, _ = level
        return abs(value - label), value

    by_level = zip(values, probabilities, strict=True)
    _, probability = min(by_level, key=from_label)
    surprise = math.log(max(probability, LEAST_PROBABILITY))
    return 1.0 - surprise / math.log(LEAST_PROBABILITY)


def crps(
    values: ArrayLike, probabilities: ArrayLike, label: float, span: float
) -> float:
    """Score 1 less the continuous ranked probability score as a share of the scale; for one certain
    value its `closeness`.

    References:
        Gneiting and Raftery (2007), Strictly proper scoring rules, equation 21.
        doi:10.1198/016214506000001437
    """
    v = checks.vector(values, "values")
    p = checks.vector(probabilities, "probabilities")
    apart = np.abs(v[:, None] - v[None, :])
    from_label = p @ np.abs(v - label)
    # Half of the expected distance of two draws is taken off: without it the best report would be
    # the median alone, however unsure the judge is.
    from_each_other = 0.5 * p @ apart @ p
    return 1.0 - float(from_label - from_each_other) / span


def concordance(scores: ArrayLike, labels: ArrayLike) -> float:
    """Score the share of pairs of unequal labels that the scores put in the labels' order, ties
    counting half.

    With two labels this is the area under the ROC curve; where all labels are equal it is NaN.

    Args:
        scores, labels: Shape (n,) each, high where the other should be high.
    References:
        Harrell et al. (1982), Evaluating the yield of medical tests.
        doi:10.1001/jama.1982.03320430047030
    """
    s = checks.vector(scores, "scores")
    y = checks.vector(labels, "labels")
    above = y[:, None] > y[None, :]
    # Pairs with equal labels have no right order, and are in neither the sum nor the
    # number.
    n_pairs = int(above.sum())
    if not n_pairs:
        return math.nan
    right = above * _in_order(s, s)
    return float(right.sum() / n_pairs)


def _in_order(first: Array, second: Array) -> Array:
    """Score each row against each column, shape (n, m): 1 where its value is above, 0.5 at a tie, 0
    else."""
    apart = first[:, None] - second[None, :]
    above = apart > 0
    tied = apart == 0
    return np.asarray(above + 0.5 * tied)


def exchange(
    one: ArrayLike, other: ArrayLike, labels: ArrayLike
) -> tuple[float, Array]:
    """Compute the concordance of `other` with the labels less that of `one`, ready for the exchange
    of their scores.

    Of two texts let P be by how much `other` orders them better than `one`, and Q by how much the
    first's score of `one` and the second's of `other` do than the reverse. Exchanging both turns P
    round, exchanging the first gives Q, the second -Q: with s = 1 where a text is exchanged, P (1 -
    s - s') + Q (s - s').

    Returns:
        The difference, and what exchanging both scores of a text adds to it, shape (n,): it is
        linear in which texts are exchanged, so that the sum of what each adds is exact. NaN where
        all labels are equal.
    """
    a = checks.vector(one, "one")
    b = checks.vector(other, "other")
    y = checks.vector(labels, "labels")
    above = y[:, None] > y[None, :]
    n_pairs = int(above.sum())
    if not n_pairs:
        return math.nan, np.full(len(y), math.nan)
    other_better = _in_order(b, b) - _in_order(a, a)
    first_better = _in_order(a, b) - _in_order(b, a)
    p = above * other_better
    q = above * first_better
    # A text stands first in the pairs of its row, and second in those of its column.
    adds = q.sum(1) - q.sum(0) - p.sum(1) - p.sum(0)
    difference = float(p.sum() / n_pairs)
    return difference, adds / n_pairs
