"""Predictions for each group from the others: kernel ridge regressions, left out group by group and stacked."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks

Array = NDArray[np.float64]

_PENALTIES = np.logspace(-6, 2, 9)
"""Ridge penalties tried, in units of a kernel's mean eigenvalue: from nearly interpolating to nearly constant."""
_FOLDS = 10


def predict(
    kernels: Sequence[Array], target: ArrayLike, groups: Sequence[object] | ArrayLike, *, intercept: bool = True
) -> Array:
    """What the rows of the other groups say of each row, shape (n,).

    One kernel ridge regression per kernel, with the group of the row left out exactly (no refitting is needed: the
    residual of a group left out follows from the hat matrix) and the penalty that predicts the left-out groups best;
    the regressions are stacked with weights of 0 or more, found in ten folds of groups without the fold they serve.
    The penalty is one number chosen over all rows; nothing else has seen the row that it predicts.

    Args:
        kernels: Similarities of the rows, each of shape (n, n), positive semidefinite.
        target: Shape (n,).
        groups: Whole groups are left out, shape (n,); with fewer than three the answer is 0 (the mean of `target`).
        intercept: Whether the target has a mean; False for differences whose sign is arbitrary.
    Raises:
        ValueError: If `target` holds NaN or sizes differ.
    References:
        Cook and Weisberg (1982), Residuals and Influence in Regression, section 3.2, for groups left out.
        Breiman (1996), Stacked regressions. doi:10.1007/BF00117832
    """
    y = checks.vector(target, "target")
    codes = checks.labels(groups, "groups", y.size)
    centre = float(y.mean()) if intercept else 0.0
    if codes.max() < 2 or np.allclose(y, centre):
        return np.full(y.size, centre)
    tables = _tables(codes)
    found = [_left_out(kernel, y - centre, tables, intercept) for kernel in kernels]
    kept = [one for one in found if one is not None]
    return centre + (_stacked(np.column_stack(kept), y - centre, codes) if kept else np.zeros(y.size))


def _tables(codes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Positions of the rows of groups of one size, one table of shape (n_groups, size) per size."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    first = np.cumsum(sizes) - sizes
    return [
        order[first[sizes == size][:, None] + np.arange(size)[None, :]] for size in np.unique(sizes).tolist() if size
    ]


def _left_out(kernel: Array, y: Array, tables: list[NDArray[np.intp]], intercept: bool) -> Array | None:
    """Predictions of one regression at its best penalty; None where the kernel tells no two rows apart."""
    k = kernel
    if intercept:
        k = k - k.mean(axis=0)[None, :] - k.mean(axis=1)[:, None] + k.mean()
    values, vectors = np.linalg.eigh((k + k.T) / 2)
    values = np.clip(values, 0.0, None)
    if values.sum() <= 1e-12 * max(1.0, float(np.abs(kernel).max())) * y.size:
        return None
    in_basis = vectors.T @ y
    best, error = None, np.inf
    for penalty in _PENALTIES * values.mean():
        shrunk = values / (values + penalty)
        residual = y - vectors @ (shrunk * in_basis)
        predicted = np.empty(y.size)
        for table in tables:
            rows = vectors[table]
            own = np.einsum("gik,k,gjk->gij", rows, shrunk, rows, optimize=True) + (1 / y.size if intercept else 0.0)
            left = np.eye(table.shape[1])[None] * (1 + 1e-9) - own
            predicted[table] = y[table] - np.linalg.solve(left, residual[table][..., None])[..., 0]
        found = float(np.sum((y - predicted) ** 2))
        if found < error:
            best, error = predicted, found
    return best


def _stacked(predictions: Array, y: Array, codes: NDArray[np.intp]) -> Array:
    from scipy.optimize import nnls

    folds = codes % min(_FOLDS, int(codes.max()) + 1)
    out = np.zeros(y.size)
    for fold in np.unique(folds):
        others = folds != fold
        weights, _ = nnls(predictions[others], y[others])
        out[~others] = predictions[~others] @ weights
    return out
