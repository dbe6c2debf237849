"""Draws items for labelling evenly from what a column says of them, such as a judge's verdicts."""

from collections.abc import Sequence

import numpy as np

from undogmatic.stats.checks import Rng

MOST_VALUES = 20
"""Most different values of a column that items are drawn from: of more there would be one or two
items each."""


def evenly(values: Sequence[str], n: int, rng: Rng) -> list[int]:
    """Draw `n` places, as many of each value as of any other, or all that there are of it.

    Args:
        values: What a column says of each item, shape (n_items,).
        n: How many to draw, at most n_items.
    Returns:
        The drawn places, in the order in which they were drawn.
    """
    order = rng.permutation(len(values))
    names, of_value = np.unique(np.asarray(values, dtype=str), return_inverse=True)
    shares = np.zeros(names.size, dtype=int)
    sizes, left = np.bincount(of_value, minlength=names.size), n
    # The rarest values first: what they lack is shared by the others.
    for rank, value in enumerate(np.argsort(sizes, kind="stable")):
        shares[value] = min(sizes[value], left // (names.size - rank))
        left -= shares[value]
    chosen = [order[of_value[order] == value][: shares[value]] for value in range(names.size)]
    drawn = set(np.concatenate(chosen).tolist())
    return [int(place) for place in order if int(place) in drawn]
