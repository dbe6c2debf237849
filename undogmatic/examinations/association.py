"""Correlates two columns of scores over the items that have both, with groups as units."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from undogmatic.stats import agreement, jackknife
from undogmatic.stats.checks import Array, Rng
from undogmatic.stats.estimate import Estimate, unknown

FEWEST = 4
"""With fewer items a coefficient says nothing."""


class Association(NamedTuple):
    """A coefficient with its interval over groups; NaN where it does not exist. `p` takes each item
    for itself, as the usual test does, and is therefore not what decides where items come in
    groups."""

    estimate: Estimate
    p: float


def associate(
    kind: agreement.Kind,
    x: pd.Series,
    y: pd.Series,
    groups: pd.Series,
    rng: Rng,
    level: float = 0.95,
) -> Association:
    """A correlation of two columns with the same index; rows where one is missing are left out."""
    both = x.notna() & y.notna()
    a, b = x[both].to_numpy(dtype=np.float64), y[both].to_numpy(dtype=np.float64)
    plain = agreement.correlation(kind, a, b) if len(a) >= FEWEST else None
    if plain is None or plain.estimate is None or plain.p_value is None:
        return Association(unknown(level, n=len(a)), np.nan)
    names, ends = groups[both].tolist(), (-1.0, 1.0)
    if len(set(names)) > 1:
        held = agreement.correlation_interval(kind, a, b, rng, level, groups=names)
        ends = ends if held is None else held.interval
    return Association(
        Estimate(plain.estimate, *ends, level, len(set(names)), len(a)), plain.p_value
    )


def partial(
    x: pd.Series,
    y: pd.Series,
    z: pd.Series,
    groups: pd.Series,
    rng: Rng,
    level: float = 0.95,
) -> Estimate:
    """Pearson's correlation of x and y between items of equal z, with its interval over groups:
    that of the residuals of both on it; NaN where it does not exist.

    References:
        Fisher (1924), The distribution of the partial correlation coefficient. Metron 3, 329-332.
    """
    table = pd.concat([x, y, z, groups], axis=1).dropna()
    data = np.ascontiguousarray(table.iloc[:, :3], dtype=np.float64)
    names = table.iloc[:, 3].tolist()
    if len(data) < FEWEST + 1 or not np.isfinite(estimate := _partial(data)):
        return unknown(level, n=len(data))
    ends = (-1.0, 1.0)
    if len(set(names)) > 1:
        ends = (
            jackknife.LeftOut(data - data.mean(axis=0), _partial, rng, names)
            .coefficient(level)
            .interval
        )
    return Estimate(estimate, *ends, level, len(set(names)), len(data))


def _partial(columns: Array) -> float:
    r = (
        np.asarray(np.corrcoef(columns.T))
        if np.ptp(columns, axis=0).min() > 0
        else np.full((3, 3), np.nan)
    )
    left = (1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)
    return (
        float((r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt(left))
        if left > 1e-12
        else float("nan")
    )
