"""Items in the order of their uncertainty, for `selective` and `review`, of many draws of the items at once."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks, resampling
from undogmatic.stats.resampling import Index

Groups = Sequence[object] | ArrayLike
Array = NDArray[np.float64]

MOST_PLACES = 1000
"""Places of a curve: one per item up to so many items, beyond that so many, evenly spaced. A band over every one of
50,000 items would take 400 MB, and no page shows more."""


def pair(uncertainty: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Uncertainty and error of the same items, checked; raises ValueError if they differ in length or e < 0."""
    u, e = checks.paired_vectors(uncertainty, error, ("uncertainty", "error"))
    if np.any(e < 0):
        raise ValueError("`error` holds a negative value; pass its size, |score - label|.")
    return u, e


def surest_first(u: Array, e: Array) -> Callable[[Index], Array]:
    """Errors in ascending order of uncertainty, each replaced by the mean over its tie, of draws of the items.

    The items are sorted once, here, and not again for each draw.

    Returns:
        Positions of drawn items, shape (n_draws, n_drawn), to their errors in order, same shape.
    """
    _values, tie = np.unique(u, return_inverse=True)
    n_ties = int(tie.max()) + 1

    def of_draws(drawn: Index) -> Array:
        tally = resampling.Tally(tie, n_ties, drawn)
        size = tally.counts().ravel()
        mean = tally.sums(e.take(drawn)).ravel() / np.maximum(size, 1)
        return np.asarray(np.repeat(mean, size).reshape(drawn.shape))

    return of_draws


def whole(n: int) -> Index:
    """All of n items as one draw."""
    return np.arange(n)[None, :]


def resamples(n: int, groups: Groups | None, rng: np.random.Generator, n_resamples: int) -> Iterator[Index]:
    """Positions of items drawn with replacement, whole groups at a time, in batches (n_draws, n_drawn)."""
    units = resampling.Units(checks.groups(groups, n))
    if units.n < 2:
        raise ValueError(
            f"`{'uncertainty' if groups is None else 'groups'}` gives {units.n} units; at least 2 are needed."
        )
    return units.draws(rng, n_resamples)


def places(n: int) -> Index:
    """Numbers of items, from 0 to n, at which a curve is kept; see MOST_PLACES."""
    return np.unique(np.round(np.linspace(0, n, min(n, MOST_PLACES) + 1)).astype(np.intp))
