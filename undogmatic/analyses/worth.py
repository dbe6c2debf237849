"""What `analysis=calibration` counts, part by part: intervals, confidence, ranks, human disagreement, a probe's guess.

Every function reads the judged rows of `truth.Truth` with the columns `truth` and `error_size` (|score - truth|) and
yields a `Part`; where there is too little, the part holds one finding that says how much is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots
from undogmatic.analyses.base import FigureData, Finding
from undogmatic.analyses.measures import Measure
from undogmatic.analyses.truth import units
from undogmatic.stats import calibration, ranking, resampling, review, selective
from undogmatic.stats.intervals import interval_quality
from undogmatic.stats.jackknife import Coefficient
from undogmatic.stats.paired import BootstrapInterval, bootstrap_interval
from undogmatic.stats.proportion import proportion

FEWEST_UNITS = 10
"""Fewest independent texts for coverage, correlations and curves."""

FEWEST_CONFIDENCES = 30
"""Fewest texts for ECE, Brier score and reliability diagram: with less, the bins hold two or three each."""


BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
BUDGET = 0.2  # the one that the report puts into words


class Part(NamedTuple):
    """What one part adds to the result."""

    metrics: dict[str, float]
    findings: list[Finding]
    tables: dict[str, pd.DataFrame]
    figures: list[FigureData]


class Settings(NamedTuple):
    """What the parts share. `tolerance` in score units; `level` is that of every interval of ours."""

    tolerance: float
    nominal: float
    bins: int
    level: float
    resamples: int


def nothing(*findings: Finding) -> Part:
    """A part that has only something to say."""
    return Part({}, list(findings), {}, [])


def too_few(what: str, present: int, needed: int) -> Part:
    """A part left out for want of labels."""
    return nothing(Finding("calibration.too_few", {"what": what, "present": present, "needed": needed}))


def intervals(rows: pd.DataFrame, settings: Settings, rng: np.random.Generator) -> Part:
    """Coverage of the judge's intervals against `nominal`, their width, and whether wide ones are where errors are."""
    given = rows[rows["low"] <= rows["high"]]  # a debate whose sides changed places gives none
    if given.empty:
        return nothing(Finding("calibration.no_intervals", {}))
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("coverage", n, FEWEST_UNITS)
    found = interval_quality(
        given["low"],
        given["high"],
        given["truth"],
        rng,
        settings.nominal,
        settings.level,
        settings.resamples,
        groups=_groups(units(given)),
    )
    covered, width, score = found.coverage, found.mean_width, found.interval_score
    metrics = plots.interval("calibration.coverage", covered.share, covered.low, covered.high)
    metrics |= plots.interval("calibration.width", *_ends(width))
    metrics |= plots.interval("calibration.interval_score", *_ends(score))
    word = "narrow" if covered.high < settings.nominal else "wide" if covered.low > settings.nominal else "nominal"
    values = {
        "coverage": covered.share,
        "interval": (covered.low, covered.high),
        "nominal": settings.nominal,
        "width": width.estimate,
        "score": score.estimate,
        "n": covered.n,
    }
    return Part(metrics, [Finding(f"calibration.coverage_{word}", values)], {}, [])


def confidences(rows: pd.DataFrame, settings: Settings, rng: np.random.Generator) -> Part:
    """ECE, Brier score and reliability diagram of confidence against |error| <= tolerance."""
    given = rows[rows["confidence"].notna()]
    if given.empty:
        return nothing(Finding("calibration.no_confidence", {}))
    n = len(set(units(given)))
    if n < FEWEST_CONFIDENCES:
        return too_few("ece", n, FEWEST_CONFIDENCES)
    stated = given["confidence"].to_numpy(dtype=np.float64) / 100
    right = given["right"].to_numpy(dtype=np.float64)
    both = np.column_stack([stated, right])
    error = _bootstrap(both, calibration.calibration_error(settings.bins), units(given), settings, rng)
    brier = _bootstrap((stated - right) ** 2, resampling.MEAN, units(given), settings, rng)
    table = pd.DataFrame(calibration.reliability_table(stated, right, settings.bins, level=settings.level))
    metrics = plots.interval("calibration.ece", *_ends(error)) | plots.interval("calibration.brier", *_ends(brier))
    metrics["calibration.share_right"] = float(right.mean())
    metrics["calibration.mean_confidence"] = float(stated.mean())
    values = {
        "ece": error.estimate,
        "interval": (error.low, error.high),
        "brier": brier.estimate,
        "stated": float(stated.mean()),
        "right": float(right.mean()),
        "n": len(given),
    }
    columns = {"confidence": "mean_confidence", "accuracy": "accuracy", "low": "accuracy_low", "high": "accuracy_high"}
    data = {name: table[column].tolist() for name, column in columns.items()} | {"count": table["n"].tolist()}
    figure = FigureData("reliability", "reliability", data | {"tolerance": settings.tolerance})
    return Part(metrics, [Finding("calibration.ece", values)], {"reliability": table}, [figure])


def disagreement(rows: pd.DataFrame, doubt: pd.Series, settings: Settings, rng: np.random.Generator) -> Part:
    """Rank correlation of uncertainty with |label - second label|, where a second human labelled (`second_label`)."""
    if "metadata.second_label" not in rows or rows["label"].isna().all():
        return nothing()
    given = rows[rows["metadata.second_label"].notna() & rows["label"].notna()]
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("disagreement", n, FEWEST_UNITS)
    apart = (given["label"] - given["metadata.second_label"].astype(np.float64)).abs().to_numpy()
    order = correlation(doubt.loc[given.index].to_numpy(dtype=np.float64), apart, units(given), settings, rng)
    if order is None:
        return nothing(Finding("calibration.no_disagreement_rank", {"n": len(given)}))
    values = {"spearman": order.estimate, "interval": (order.low, order.high), "n": len(given)}
    metrics = plots.interval("calibration.spearman_disagreement", *_ends(order))
    return Part(metrics, [Finding("calibration.disagreement", values)], {}, [])


def estimated_accuracy(rows: pd.DataFrame, settings: Settings) -> Part:
    """What `judge=calibration_probe` estimated of its own accuracy against the share that was right."""
    column = "details.estimated_accuracy"
    given = rows[rows[column].notna()] if column in rows else rows.head(0)
    if given.empty:
        return nothing()
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("estimated_accuracy", n, FEWEST_UNITS)
    right = proportion(given["right"], settings.level)
    estimate = float(given[column].astype(np.float64).mean()) / 100
    metrics = {"calibration.estimated_accuracy": estimate, "calibration.estimated_accuracy_gap": estimate - right.share}
    values = {"estimate": estimate, "right": right.share, "interval": (right.low, right.high), "n": right.n}
    word = "too_high" if estimate > right.high else "too_low" if estimate < right.low else "holds"
    return Part(metrics, [Finding(f"calibration.estimate_{word}", values)], {}, [])


def correlation(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    names: list[str],
    settings: Settings,
    rng: np.random.Generator,
) -> Coefficient | None:
    """Spearman's correlation with its interval; None where one side is constant, or nearly so."""
    try:
        return ranking.spearman_interval(first, second, rng, settings.level, settings.resamples, groups=_groups(names))
    except ValueError:
        # Constant, or constant in too many resamples: no rank correlation exists. NaN was excluded before.
        return None


def errors_found(
    rows: pd.DataFrame, found: Mapping[Measure, pd.Series], used: Measure, settings: Settings, rng: np.random.Generator
) -> Part:
    """Every measure against the size of the error; for the one that is used, the curves."""
    error, groups = rows["error_size"].to_numpy(dtype=np.float64), _groups(units(rows))
    table = []
    for name, doubt in found.items():
        u = doubt.to_numpy(dtype=np.float64)
        order = correlation(u, error, units(rows), settings, rng)
        spearman = (None, None, None) if order is None else _ends(order)
        areas = {"aurc": selective.aurc(u, error), "excess_aurc": selective.excess_aurc(u, error)}
        row = {"measure": name, "used": name == used, "n_values": int(doubt.round(9).nunique())} | areas
        row["review_gain"] = review.review_gain(u, error)
        table.append(row | dict(zip(("spearman", "spearman_low", "spearman_high"), spearman, strict=True)))
    whole = Part({}, [], {"measures": pd.DataFrame(table)}, [])
    doubt = found[used].to_numpy(dtype=np.float64)
    if not doubt.size or found[used].round(9).nunique() == 1:
        return whole._replace(findings=[Finding("calibration.constant", {"measure": used})])
    parts = [whole, _rank(doubt, error, rows, settings, rng), _risk(doubt, error, groups, settings, rng)]
    return merged([*parts, _review(doubt, error, groups, settings, rng)])


def _rank(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    rows: pd.DataFrame,
    settings: Settings,
    rng: np.random.Generator,
) -> Part:
    order = correlation(doubt, error, units(rows), settings, rng)
    if order is None:
        return nothing(Finding("calibration.no_rank", {"n": len(rows)}))
    values = {"spearman": order.estimate, "interval": (order.low, order.high), "n": len(rows)}
    metrics = plots.interval("calibration.spearman_error", *_ends(order))
    return Part(metrics, [Finding("calibration.rank", values)], {}, [])


def _risk(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    groups: list[str] | None,
    settings: Settings,
    rng: np.random.Generator,
) -> Part:
    areas = selective.aurc_summary(doubt, error, rng, settings.level, settings.resamples, groups=groups)
    curve = selective.risk_coverage(doubt, error, rng, settings.level, min(1000, settings.resamples), groups=groups)
    metrics = plots.interval("calibration.aurc", *_ends(areas.aurc))
    metrics |= plots.interval("calibration.excess_aurc", *_ends(areas.excess))
    values = {
        "aurc": areas.aurc.estimate,
        "interval": (areas.aurc.low, areas.aurc.high),
        "best": areas.oracle,
        "random": areas.random,
        "excess": areas.excess.estimate,
    }
    x = curve.coverage.tolist()
    lines = {
        "guided": {"x": x, "y": curve.risk.tolist(), "low": curve.low.tolist(), "high": curve.high.tolist()},
        "random": {"x": [x[0], 1.0], "y": [areas.random, areas.random]},
        "perfect": {"x": x, "y": curve.oracle.tolist()},
    }
    data = {"lines": lines, "x_label": "kept", "y_label": "risk", "n": error.size}
    return Part(metrics, [Finding("calibration.risk", values)], {}, [FigureData("risk", "curve", data)])


def _review(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    groups: list[str] | None,
    settings: Settings,
    rng: np.random.Generator,
) -> Part:
    gain = review.review_gain_interval(doubt, error, rng, settings.level, settings.resamples, groups=groups)
    curve = review.review_curve(doubt, error, rng, settings.level, min(1000, settings.resamples), groups=groups)
    x = (curve.budget / error.size).tolist()
    guided = {"y": curve.guided.tolist(), "low": curve.guided_low.tolist(), "high": curve.guided_high.tolist()}
    random = {"y": curve.random.tolist(), "low": curve.random_low.tolist(), "high": curve.random_high.tolist()}
    lines = {"guided": {"x": x} | guided, "random": {"x": x} | random}
    lines["perfect"] = {"x": x, "y": curve.oracle.tolist()}
    at = np.searchsorted(curve.budget, np.unique(np.round(np.array(BUDGETS) * error.size).astype(int)))
    table = pd.DataFrame(
        {
            "budget_share": curve.budget[at] / error.size,
            "n": curve.budget[at],
            "guided_share": curve.guided[at],
            "random_share": curve.random[at],
            "random_share_low": curve.random_low[at],
            "random_share_high": curve.random_high[at],
            "perfect_share": curve.oracle[at],
        }
    )
    k = int(np.searchsorted(curve.budget, round(BUDGET * error.size)))
    values = {
        "budget": float(curve.budget[k]) / error.size,
        "guided": float(curve.guided[k]),
        "random": float(curve.random[k]),
        "interval": (float(curve.random_low[k]), float(curve.random_high[k])),
        "gain": gain.estimate,
        "gain_interval": (gain.low, gain.high),
    }
    data = {"lines": lines, "x_label": "reviewed", "y_label": "caught", "n": error.size}
    metrics = plots.interval("calibration.review_gain", *_ends(gain))
    figure = FigureData("review", "curve", data)
    return Part(metrics, [Finding("calibration.review", values)], {"review": table}, [figure])


def merged(parts: list[Part]) -> Part:
    """All parts as one, in order."""
    whole = nothing()
    for part in parts:
        whole = Part(
            whole.metrics | part.metrics,
            whole.findings + part.findings,
            whole.tables | part.tables,
            whole.figures + part.figures,
        )
    return whole


def _ends(found: BootstrapInterval | Coefficient) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


def _bootstrap(
    values: NDArray[np.float64],
    statistic: resampling.Statistic,
    names: list[str],
    settings: Settings,
    rng: np.random.Generator,
) -> BootstrapInterval:
    return bootstrap_interval(values, statistic, rng, settings.level, settings.resamples, groups=_groups(names))


def _groups(names: list[str]) -> list[str] | None:
    return names if len(set(names)) < len(names) else None
