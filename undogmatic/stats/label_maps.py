"""Maps of a judge's scores onto the scale of a few labels: a line, or an increasing function.

A map is fitted on labels of other groups only and keeps their mean, so that it does not fit the very labels that
correct the judge (`few_labels`); a curved judge, whose errors a straight line leaves, gains by the isotonic one.

References:
    Zrnic and Candes (2024), Cross-prediction-powered inference. doi:10.1073/pnas.2322083121 (maps fitted across folds)
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

Array = NDArray[np.float64]

Calibration = Literal["none", "linear", "isotonic"]

FEWEST_ISOTONIC = 20
"""Fewest effective labelled groups for an increasing function: with ten, intervals of skewed labels held in 89 %."""

_FOLDS = 10


def mapped(
    f: Array, index: NDArray[np.intp], y: Array, w: Array, codes: NDArray[np.intp], calibration: Calibration
) -> Array:
    """The scores on the labels' scale: of a labelled group by the map fitted without its fold, of others by the mean of
    the maps. Both maps keep the weighted mean of the labels they are fitted on.

    In every fold a map is moved by a constant so that its mean over all items is the mean of the maps': else chance
    between the folds' maps would come in as bias.

    Args:
        f: Scores of all items, shape (n_items,).
        index: Places of the labelled ones, shape (n_labels,).
        y, w: Their labels and weights, shape (n_labels,) each.
        codes: Number of the group of each item, shape (n_items,).
        calibration: The map.
    """
    names = np.unique(codes[index])
    folds = min(_FOLDS, names.size)
    # By the rank of a group's mean score, so that every fold sees the whole range.
    mean_scores = np.bincount(codes, f)[names] / np.bincount(codes)[names]
    fold_of = np.empty(names.size, dtype=np.intp)
    fold_of[np.lexsort((names, mean_scores))] = np.arange(names.size) % folds
    own = np.full(int(codes.max()) + 1, -1)
    own[names] = fold_of
    fold = own[codes]
    maps = np.stack([_map(f[index], y, w, fold[index] != k, calibration)(f) for k in range(folds)])
    centred = maps - maps.mean(axis=1, keepdims=True)
    result = centred.mean(axis=0)
    for k in range(folds):
        result[fold == k] = centred[k, fold == k]
    return np.asarray(result + maps.mean())


def _map(x: Array, y: Array, w: Array, kept: NDArray[np.bool_], calibration: Calibration) -> Callable[[Array], Array]:
    x, y, w = x[kept], y[kept], w[kept]
    if np.ptp(x) == 0:
        constant = float(np.average(y, weights=w))
        return lambda scores: np.full(scores.size, constant)
    if calibration == "linear":
        line = np.polynomial.Polynomial.fit(x, y, 1, w=np.sqrt(w))
        return lambda scores: np.asarray(line(scores), np.float64)
    knots, place = np.unique(x, return_inverse=True)
    weights = np.bincount(place, w)
    steps = optimize.isotonic_regression(np.bincount(place, w * y) / weights, weights=weights).x
    return lambda scores: np.interp(scores, knots, steps)
