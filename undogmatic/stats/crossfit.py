"""Predictions for each group from the others: kernel ridge regressions, stacked, and all of it chosen without them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks

Array = NDArray[np.float64]
Index = NDArray[np.intp]

_PENALTIES = np.logspace(-6, 2, 9)
"""Ridge penalties tried, in units of a kernel's mean eigenvalue: from nearly interpolating to nearly constant."""
_FOLDS, _FEWER_FOLDS = 10, 5
_MANY = 400
FEWEST_GROUPS = 4


class _Fit(NamedTuple):
    """`left_out`: what the others say of each row fitted on; `weights` of these rows in what is said of new ones."""

    left_out: Array
    weights: Array


def predict(
    kernels: Sequence[Array],
    target: ArrayLike,
    groups: Sequence[object] | ArrayLike,
    rng: np.random.Generator,
    *,
    intercept: bool = True,
) -> Array:
    """What the rows of the other groups say of each row, shape (n,).

    Groups are dealt at random to ten folds (five for more than 400 rows). For each fold, one kernel ridge regression
    per kernel is fitted to the other folds, with the penalty that predicts their groups best when left out one at a
    time, and the regressions are stacked with the weights of 0 or more that do so. Nothing has seen the fold that it
    predicts, so that a target that has nothing to do with the kernels is met no more often than by chance.

    Args:
        kernels: Similarities of the rows, each of shape (n, n), positive semidefinite.
        target: Shape (n,).
        groups: Whole groups are left out, shape (n,); with fewer than FEWEST_GROUPS the answer is the mean (or 0).
        rng: Deals the groups.
        intercept: Whether the target has a mean; False for differences whose sign is arbitrary.
    Raises:
        ValueError: If `target` holds NaN or sizes differ.
    References:
        Cook and Weisberg (1982), Residuals and Influence in Regression, section 3.2, for groups left out in one fit.
        Breiman (1996), Stacked regressions. doi:10.1007/BF00117832
    """
    y = checks.vector(target, "target")
    codes = checks.labels(groups, "groups", y.size)
    n_groups = int(codes.max()) + 1
    if n_groups < FEWEST_GROUPS:
        return np.full(y.size, y.mean() if intercept else 0.0)
    folds = rng.permutation(np.arange(n_groups) % min(n_groups, _FOLDS if y.size <= _MANY else _FEWER_FOLDS))[codes]
    out = np.empty(y.size)
    for fold in np.unique(folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        out[test] = _of_fold(kernels, y[train], codes[train], train, test, intercept)
    return out


def _of_fold(kernels: Sequence[Array], y: Array, codes: Index, train: Index, test: Index, intercept: bool) -> Array:
    """Predictions for the rows `test` from the rows `train`, whose targets and groups are `y` and `codes`."""
    from scipy.optimize import nnls

    centre = float(y.mean()) if intercept else 0.0
    tables = by_size(codes)
    known, new = [], []
    for kernel in kernels:
        own, crossed = kernel[np.ix_(train, train)], kernel[np.ix_(test, train)]
        if intercept:
            columns, whole = own.mean(axis=0)[None, :], float(own.mean())
            crossed = crossed - crossed.mean(axis=1)[:, None] - columns + whole
            own = own - columns - columns.T + whole
        fit = _ridge(own, y - centre, tables, 1 / y.size if intercept else 0.0)
        if fit is not None:
            known.append(fit.left_out)
            new.append(crossed @ fit.weights)
    if not known:
        return np.full(test.size, centre)
    weights, _ = nnls(np.column_stack(known), y - centre)
    return np.asarray(centre + np.column_stack(new) @ weights)


def by_size(codes: Index) -> list[Index]:
    """Positions of the rows of groups of one size, one table of shape (n_groups, size) per size."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    first = np.cumsum(sizes) - sizes
    found = [size for size in np.unique(sizes).tolist() if size]
    return [order[first[sizes == size][:, None] + np.arange(size)[None, :]] for size in found]


def _ridge(kernel: Array, y: Array, tables: list[Index], of_mean: float) -> _Fit | None:
    """The regression whose penalty predicts groups left out best; None where the kernel tells no two rows apart.

    A group's residual when it is left out is its residual times the inverse of (1 minus its block of the hat matrix);
    `of_mean` is what the mean adds to that matrix.
    """
    values, vectors = np.linalg.eigh((kernel + kernel.T) / 2)
    values = np.clip(values, 0.0, None)
    if values.max() <= 1e-12:
        return None
    in_basis = vectors.T @ y
    penalties = _PENALTIES * values.mean()
    shrunk = values / (values + penalties[:, None])
    residual = y - (shrunk * in_basis) @ vectors.T
    missed = np.empty_like(residual)  # by the regression without the row's group: one row per penalty
    for table in tables:
        rows = vectors[table]
        own = (rows * shrunk[:, None, None, :]) @ rows.transpose(0, 2, 1) + of_mean
        left = np.eye(table.shape[1]) * (1 + 1e-9) - own
        missed[:, table] = np.linalg.solve(left, residual[:, table, None])[..., 0]
    best = int(np.argmin(np.sum(missed**2, axis=1)))
    return _Fit(y - missed[best], vectors @ (in_basis / (values + penalties[best])))
