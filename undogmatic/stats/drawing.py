"""Draws items with unequal, known probabilities: more often those of which a label is expected to
say more, and every item at least now and then.

Labels of such items speak for all items once each is weighted by the inverse of its probability
(`few_labels`), whatever the sizes were. A poor guess of the sizes costs width and no more.

References:
    Madow (1949), On the theory of systematic sampling, II. doi:10.1214/aoms/1177729988
    Zrnic and Candes (2024), Active statistical inference. arXiv:2403.03208 (mixed with an even
    draw, so that no weight becomes large)
"""

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats import checks
from undogmatic.stats.checks import Array, Index, Rng

EVEN = 0.75
"""The part of the draw that is even. With three quarters of it no item stands for more than a third
more than it would in an even draw, so that sizes which say nothing cost little
(`benchmarks.label_draw`)."""


def chances(sizes: ArrayLike, n: int, even: float = EVEN) -> Array:
    """Compute the probability of each item to be among `n` that are drawn: a part that is the same
    for all, and a part that rises with its size. Those that would be above 1 are 1, and the others
    share the rest.

    Args:
        sizes: How much is expected of an item's label, 0 or more, shape (n_items,), in any unit.
        n: How many are drawn, 1 to n_items.
        even: The part that is the same for all, in (0, 1].
    Returns:
        The probabilities, shape (n_items,); their sum is n, and none is below even * n / n_items.
    """
    size = checks.vector(sizes, "sizes")
    if np.any(size < 0):
        raise ValueError("`sizes` must be 0 or more.")
    if not 1 <= n <= size.size:
        raise ValueError(f"`n` is {n}; there are {size.size} items to draw from.")
    if not 0 < even <= 1:
        raise ValueError(f"`even` is {even}; it must lie in (0, 1].")
    mean = size.mean()
    # Sizes that are all 0 say nothing, and the draw is even.
    parts = np.ones(size.size)
    if mean > 0:
        parts = even + (1 - even) * size / mean
    certain = np.zeros(size.size, dtype=np.bool_)
    # What one item gives up makes the others larger, of which some may then be above 1.
    while True:
        left = n - int(certain.sum())
        others = parts[~certain].sum()
        shared = left * parts / others if others > 0 else 0.0
        found = np.where(certain, 1.0, shared)
        over = ~certain & (found >= 1)
        if not over.any():
            return np.asarray(found, np.float64)
        certain |= over


def systematic(probability: Array, rng: Rng) -> Index:
    """Draw places so that each comes in with exactly its probability, and always as many as these
    add up to: equal steps along the probabilities, laid end to end in a random order.

    (`rng.choice(p=..., replace=False)` would not do: there the shares with which items come in are
    others than p.)

    Returns:
        The drawn places, in a random order.
    """
    order = rng.permutation(probability.size)
    ends = np.cumsum(probability[order])
    n = round(float(ends[-1]))
    steps = rng.uniform() + np.arange(n)
    met = np.searchsorted(ends, steps, side="right")
    # The last end may be a rounding error below n.
    places = np.minimum(met, order.size - 1)
    drawn = rng.permutation(order[places])
    return np.asarray(drawn, np.intp)
