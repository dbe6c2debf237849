"""Items in the order of their uncertainty, for `selective` and `review`; drawing items with replacement."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks

Groups = Sequence[object] | ArrayLike
Array = NDArray[np.float64]


def pair(uncertainty: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Uncertainty and error of the same items, checked; raises ValueError if they differ in length or e < 0."""
    u, e = checks.paired_vectors(uncertainty, error, ("uncertainty", "error"))
    if np.any(e < 0):
        raise ValueError("`error` holds a negative value; pass its size, |score - label|.")
    return u, e


def surest_first(u: Array, e: Array) -> Array:
    """Errors in ascending order of uncertainty, each replaced by the mean over its tie."""
    _values, tie, size = np.unique(u, return_inverse=True, return_counts=True)
    return np.asarray(np.repeat(np.bincount(tie, weights=e) / size, size))


def resamples(n: int, groups: Groups | None, rng: np.random.Generator, n_resamples: int) -> Iterator[NDArray[np.intp]]:
    """Indices of items drawn with replacement, whole groups at a time."""
    codes = np.arange(n) if groups is None else checks.labels(groups, "groups", n)
    units = int(codes.max()) + 1
    if units < 2:
        raise ValueError(
            f"`{'uncertainty' if groups is None else 'groups'}` gives {units} units; at least 2 are needed."
        )
    members = [np.flatnonzero(codes == unit) for unit in range(units)] if groups is not None else None
    for _ in range(n_resamples):
        drawn = rng.integers(units, size=units)
        yield drawn if members is None else np.concatenate([members[unit] for unit in drawn])
