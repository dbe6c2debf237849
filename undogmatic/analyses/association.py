"""Correlates two columns of scores over the items that have both, with groups as units."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.stats import agreement, jackknife
from undogmatic.stats.estimate import Estimate, unknown

FEWEST = 4
"""With fewer items a coefficient says nothing."""
Array = NDArray[np.float64]


class Association(NamedTuple):
    """A coefficient with its interval over groups; NaN where it does not exist. `p` takes each item for itself, as the
    usual test does, and is therefore not what decides where items come in groups."""

    estimate: Estimate
    p: float


def associate(
    kind: agreement.Kind,
    x: pd.Series,
    y: pd.Series,
    groups: pd.Series,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Association:
    """A correlation of two columns with the same index; rows where one is missing are left out."""
    both = x.notna() & y.notna()
    a, b = x[both].to_numpy(dtype=np.float64), y[both].to_numpy(dtype=np.float64)
    found = agreement.correlation(kind, a, b) if len(a) >= FEWEST else None
    if found is None or found.estimate is None or found.p_value is None:
        return Association(unknown(level, n=len(a)), np.nan)
    names, ends = groups[both].tolist(), (-1.0, 1.0)
    if len(set(names)) > 1:
        held = agreement.correlation_interval(kind, a, b, rng, level, groups=names)
        ends = ends if held is None else held.interval
    return Association(Estimate(found.estimate, *ends, level, len(set(names)), len(a), "correlation"), found.p_value)


def partial(
    x: pd.Series, y: pd.Series, given: pd.Series, groups: pd.Series, rng: np.random.Generator, level: float = 0.95
) -> Association:
    """Pearson's correlation of x and y between items of equal `given`: that of the residuals of both on it.

    References:
        Fisher (1924), The distribution of the partial correlation coefficient. Metron 3, 329-332.
    """
    both = x.notna() & y.notna() & given.notna()
    n = int(both.sum())
    data = np.column_stack([each[both].to_numpy(dtype=np.float64) for each in (x, y, given)])
    if n < FEWEST + 1 or not np.isfinite(estimate := _partial(data)):
        return Association(unknown(level, n=n), np.nan)
    names, ends = groups[both].tolist(), (-1.0, 1.0)
    if len(set(names)) > 1:
        ends = jackknife.interval(data - data.mean(axis=0), _partial, rng, level, groups=names).interval
    t = estimate * np.sqrt((n - 3) / max(1e-12, 1 - estimate**2))
    p = float(2 * stats.t.sf(abs(t), n - 3))
    return Association(Estimate(estimate, *ends, level, len(set(names)), n, "correlation"), p)


def _partial(columns: Array) -> float:
    r = np.asarray(np.corrcoef(columns.T)) if np.ptp(columns, axis=0).min() > 0 else np.full((3, 3), np.nan)
    left = (1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)
    return float((r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt(left)) if left > 1e-12 else float("nan")


def crosses(low: float, high: float, bound: float) -> bool:
    """Whether an interval lies wholly beyond a bound on either side of 0."""
    return low > bound or high < -bound
