"""The exact null distribution of the signed-rank statistic, whatever ties and zeros there are."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]
ZeroMethod = Literal["pratt", "wilcox", "zsplit"]


class Tails(NamedTuple):
    """`above` is P(R+ >= what was seen) if every sign is as likely as its opposite, `below` is P(R+ <= it)."""

    positive: float
    negative: float
    below: float
    above: float


def tails(differences: Array, zero_method: ZeroMethod) -> Tails:
    """Both tails of the sum of positive ranks over all signs of the differences that are not zero.

    The distribution of R+ is built by adding one rank after the other to it (a convolution): doubled mean ranks are
    whole numbers, so that n differences take n^2 (n + 1) additions instead of 2^n sign patterns.

    Args:
        differences: Shape (n,), not all zero.
        zero_method: `pratt` ranks zeros and drops their ranks, `wilcox` drops them first, `zsplit` gives half their
            ranks to each side.
    References:
        Streitberg and Roehmel (1986), Exact distributions for permutation and rank tests. Statistical Software
        Newsletter 12(1), 10-17.
    """
    d = differences[differences != 0] if zero_method == "wilcox" else differences
    doubled = np.round(2 * stats.rankdata(np.abs(d))).astype(np.intp)
    split = float(doubled[d == 0].sum()) / 4 if zero_method == "zsplit" else 0.0
    ranks = doubled[d != 0]
    chances = np.ones(1)
    for rank in ranks.tolist():
        grown = np.zeros(chances.size + rank)
        grown[: chances.size] += chances / 2
        grown[rank:] += chances / 2
        chances = grown
    seen = int(doubled[d > 0].sum())
    below, above = float(chances[: seen + 1].sum()), float(chances[seen:].sum())
    return Tails(seen / 2 + split, (int(ranks.sum()) - seen) / 2 + split, min(below, 1.0), min(above, 1.0))
