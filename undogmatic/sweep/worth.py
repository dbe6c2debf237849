"""The jobs of a sweep by the worth of their uncertainty: numbers per job, and paired tests over the same items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.stats import calibration, paired, review, selective
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.pairwise import NOISE, correct, twins

SECTION = "calibration"
NUMBERS = ("review_gain", "aurc", "excess_aurc", "spearman_error", "ece", "coverage", "width", "interval_score", "mae")
"""Metrics of `analysis=calibration` in the table of jobs, each with its interval where there is one."""

FEWEST = 10
RESAMPLES = 2000
BINS = 10
COLUMNS = ["left", "right", "measure", "difference", "low", "high", "n", "p", "p_holm"]

Array = NDArray[np.float64]


def worth_table(finished: Mapping[str, Job]) -> pd.DataFrame:
    """One row per job: the worth of its measure with intervals. Empty without such jobs."""
    rows = []
    for name, job in finished.items():
        if f"{SECTION}.judged" not in job.metrics:
            continue
        row: dict[str, Any] = {"name": name}
        for number in NUMBERS:
            metric = f"{SECTION}.{number}"
            row[number] = job.metrics.get(metric, np.nan)
            ends = job.metrics.get(f"{metric}_low"), job.metrics.get(f"{metric}_high")
            if number != "mae":
                row[f"{number}_interval"] = None if None in ends else ends
        row["n_failed"] = int(job.metrics["failed"])
        rows.append(row)
    return pd.DataFrame(rows).dropna(axis="columns", how="all")


def worth_tests(finished: Mapping[str, Job], rng: np.random.Generator) -> pd.DataFrame:
    """Every two jobs on the texts both judged: paired differences, Holm-corrected over the pairs of each measure.

    review_gain, aurc and ece are numbers of a whole set of texts: their interval and p-value come from resampling the
    texts (pairs of texts together) for both jobs at once. error, width and coverage are numbers per text:
    Wilcoxon's test of the differences.

    Returns:
        Columns COLUMNS, `difference` is left minus right; a measure that one of the two lacks has no row. Jobs with the
        same values for every text are no test: their p-values are NaN; see also `pairwise.correct`.
    """
    rows = []
    for (left, one), (right, other) in combinations(finished.items(), 2):
        if one.items.empty or other.items.empty:
            continue
        both = one.items.index.intersection(other.items.index)
        if len(both) < FEWEST or not np.allclose(one.items.loc[both, "truth"], other.items.loc[both, "truth"]):
            continue
        for found in _pair(one.items.loc[both], other.items.loc[both], rng):
            rows.append({"left": left, "right": right} | found)
    for measure, needs in _NEEDS.items():
        first = twins({name: job.items[needs] for name, job in finished.items() if set(needs) <= set(job.items)})
        correct([row for row in rows if row["measure"] == measure and not np.isnan(row["p"])], first)
    return pd.DataFrame(rows, columns=COLUMNS)


def caught(items: pd.DataFrame) -> Array:
    """Share of the error caught by reviewing 0, 1, ..., n texts, the most uncertain first; shape (n + 1,)."""
    # The curve itself is exact; one resample because the band is not used.
    curve = review.review_curve(items["uncertainty"], items["error"], np.random.default_rng(0), n_resamples=1)
    return curve.guided


def _pair(a: pd.DataFrame, b: pd.DataFrame, rng: np.random.Generator) -> list[dict[str, Any]]:
    units = a["unit"].to_numpy()
    draws = _draws(units, rng)
    found = []
    for name, (needs, statistic) in _WHOLE.items():
        if a[needs].notna().all(axis=None) and b[needs].notna().all(axis=None):
            left, right = (side[needs].to_numpy(dtype=np.float64) for side in (a, b))
            row = _UNTESTED if np.array_equal(left, right) else _resampled(left, right, statistic, draws)
            if row is not None:
                found.append({"measure": name, "n": len(a)} | row)
    for measure, name in _EACH.items():
        if a[name].notna().all() and b[name].notna().all():
            difference = (a[name] - b[name]).round(NOISE)
            row = _UNTESTED
            if difference.any():
                groups = units.tolist() if len(set(units)) < len(units) else None
                interval = paired.bootstrap_interval(difference, _mean, rng, n_resamples=RESAMPLES, groups=groups)
                row = {"difference": interval.estimate, "low": interval.low, "high": interval.high}
                row["p"] = paired.wilcoxon(difference).p_value
            found.append({"measure": measure, "n": len(a)} | row)
    return found


def _draws(units: NDArray[Any], rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """RESAMPLES times the rows of as many units, drawn with replacement."""
    _, codes = np.unique(units, return_inverse=True)
    n = int(codes.max()) + 1
    members = [np.flatnonzero(codes == unit) for unit in range(n)]
    return [np.concatenate([members[u] for u in rng.integers(n, size=n)]) for _ in range(RESAMPLES)]


def _resampled(
    left: Array, right: Array, statistic: Callable[[Array], float], draws: list[NDArray[np.intp]]
) -> dict[str, float] | None:
    """Difference with percentile interval and two-sided p-value; None where the statistic does not exist."""
    estimate = statistic(left) - statistic(right)
    if np.isnan(estimate):
        return None
    several = np.array([statistic(left[d]) - statistic(right[d]) for d in draws])
    several = several[~np.isnan(several)]
    if several.size < 0.95 * len(draws):
        return None
    low, high = np.quantile(several, [0.025, 0.975])
    tail = min(np.sum(several <= 0), np.sum(several >= 0))
    # Davison and Hinkley (1997), section 4.4: counting the data themselves keeps p above 0.
    p = min(1.0, 2 * (float(tail) + 1) / (several.size + 1))
    return {"difference": float(estimate), "low": float(low), "high": float(high), "p": p}


def _gain(values: Array) -> float:
    return float("nan") if np.ptp(values[:, 1]) < 1e-9 else review.review_gain(values[:, 0], values[:, 1])


def _aurc(values: Array) -> float:
    return selective.aurc(values[:, 0], values[:, 1])


def _ece(values: Array) -> float:
    return calibration.expected_calibration_error(values[:, 0], values[:, 1], BINS)


def _mean(values: Array) -> float:
    return float(np.mean(values))


_WHOLE: dict[str, tuple[list[str], Callable[[Array], float]]] = {
    "review_gain": (["uncertainty", "error"], _gain),
    "aurc": (["uncertainty", "error"], _aurc),
    "ece": (["confidence", "right"], _ece),
}
WHOLE = tuple(_WHOLE)
"""Measures of a whole set of texts, the one that ranks first."""

_EACH = {"absolute_error": "error", "width": "width", "coverage": "inside"}
_NEEDS = {name: needs for name, (needs, _) in _WHOLE.items()} | {name: [column] for name, column in _EACH.items()}
_UNTESTED = {"difference": 0.0, "low": np.nan, "high": np.nan, "p": np.nan}
