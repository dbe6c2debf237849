"""What `analysis=calibration` counts of doubt: does it order the errors, and better than the score alone would?

Every function reads the judged rows of `truth.Truth` with the columns `truth`, `error_size` (|score - truth|) and
`expected_error` (what the score alone foretells of it) and yields a `Part`; where there is too little, the part holds
one finding that says how much is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import beyond, plots
from undogmatic.analyses.measures import Measure
from undogmatic.analyses.truth import units
from undogmatic.analyses.worth_parts import FEWEST_UNITS, Part, Settings, ends, groups_or_none, merged, nothing, too_few
from undogmatic.records.results import FigureData, Finding
from undogmatic.stats import ranking, review, selective
from undogmatic.stats.beyond_score import Beyond
from undogmatic.stats.jackknife import Coefficient

FEWEST_CONFIDENCES = 30
"""Fewest texts for ECE, Brier score and reliability diagram: with less, the bins hold two or three each."""


BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
BUDGET = 0.2  # the one that the report puts into words


def disagreement(rows: pd.DataFrame, doubt: pd.Series, settings: Settings, rng: np.random.Generator) -> Part:
    """Rank correlation of uncertainty with how far apart people were, where several labelled (`truth.people_apart`)."""
    given = rows[rows["people_apart"].notna()]
    if given.empty:
        return nothing()
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("disagreement", n, FEWEST_UNITS)
    apart = given["people_apart"].to_numpy(dtype=np.float64)
    order = correlation(doubt.loc[given.index].to_numpy(dtype=np.float64), apart, units(given), settings, rng)
    if order is None:
        return nothing(Finding("calibration.no_disagreement_rank", {"n": len(given)}))
    values = {"spearman": order.estimate, "interval": (order.low, order.high), "n": len(given)}
    metrics = plots.interval("calibration.spearman_disagreement", *ends(order))
    return Part(metrics, [Finding("calibration.disagreement", values)], {}, [])


def correlation(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    names: list[str],
    settings: Settings,
    rng: np.random.Generator,
) -> Coefficient | None:
    """Spearman's correlation with its interval; None where one side is constant, or nearly so."""
    try:
        return ranking.spearman_interval(first, second, rng, settings.level, groups=groups_or_none(names))
    except ValueError:
        # Constant: no rank correlation exists. NaN was excluded before.
        return None


def errors_found(
    rows: pd.DataFrame,
    found: Mapping[Measure, pd.Series],
    used: Measure,
    further: Mapping[Measure, Beyond],
    settings: Settings,
    rng: np.random.Generator,
) -> Part:
    """Every measure against the size of the error, and beyond the score (`further`); for the one that is used, the
    curves."""
    error, groups = rows["error_size"].to_numpy(dtype=np.float64), groups_or_none(units(rows))
    expected = rows["expected_error"].to_numpy(dtype=np.float64)
    alone = review.review_gain_interval(expected, error, rng, settings.level, groups=groups)
    table = []
    for name, doubt in found.items():
        u = doubt.to_numpy(dtype=np.float64)
        order = correlation(u, error, units(rows), settings, rng)
        spearman = (None, None, None) if order is None else ends(order)
        row: dict[str, Any] = {"measure": name, "used": name == used, "n_values": int(doubt.round(9).nunique())}
        row |= {"review_gain": review.review_gain(u, error), "gain_of_score": alone.estimate}
        row |= beyond.cells(further.get(name))
        row |= {"aurc": selective.aurc(u, error), "excess_aurc": selective.excess_aurc(u, error)}
        table.append(row | dict(zip(("spearman", "spearman_low", "spearman_high"), spearman, strict=True)))
    metrics = plots.interval("calibration.gain_of_score", *ends(alone))
    whole = Part(metrics, [], {"measures": pd.DataFrame(table)}, [])
    doubt = found[used].to_numpy(dtype=np.float64)
    if found[used].round(9).nunique() == 1:
        return whole._replace(findings=[Finding("calibration.constant", {"measure": used})])
    parts = [whole, _rank(doubt, error, rows, settings, rng), _risk(doubt, error, groups, settings, rng)]
    parts.append(_review(doubt, error, groups, settings, rng))
    return merged([*parts, beyond.said(further.get(used), len(set(units(rows))), alone)])


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
    metrics = plots.interval("calibration.spearman_error", *ends(order))
    return Part(metrics, [Finding("calibration.rank", values)], {}, [])


def _risk(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    groups: list[str] | None,
    settings: Settings,
    rng: np.random.Generator,
) -> Part:
    areas = selective.aurc_summary(doubt, error, rng, settings.level, groups=groups, span=settings.span)
    curve = selective.risk_coverage(doubt, error, rng, settings.level, min(1000, settings.resamples), groups=groups)
    metrics = plots.interval("calibration.aurc", *ends(areas.aurc))
    metrics |= plots.interval("calibration.excess_aurc", *ends(areas.excess))
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
    gain = review.review_gain_interval(doubt, error, rng, settings.level, groups=groups)
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
    metrics = plots.interval("calibration.review_gain", *ends(gain))
    figure = FigureData("review", "curve", data)
    return Part(metrics, [Finding("calibration.review", values)], {"review": table}, [figure])
