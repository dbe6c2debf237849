"""Measures what doubt is worth: whether it orders the errors, and better than the score would (`analysis=calibration`).

Every function reads the judged rows of `truth.Truth` with the columns `truth`, `error_size` (|score - truth|) and
`expected_error` (what the score alone foretells of it) and yields a `Part`; where there is too little, the part holds
one finding that says how much is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.analyses.measures import Measure
from undogmatic.analyses.truth import units
from undogmatic.records.results import FigureData, Finding
from undogmatic.records.rubric import Rubric
from undogmatic.stats import beyond_score, ranking, review
from undogmatic.stats.beyond_score import Beyond
from undogmatic.stats.estimate import Estimate

FEWEST_UNITS = 10
"""Fewest independent texts for coverage, correlations and curves."""


FEWEST_CONFIDENCES = 30
"""Fewest texts for ECE, Brier score and reliability diagram: with less, the bins hold two or three each."""


BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
BUDGET = 0.2  # the one that the report puts into words


@dataclass(frozen=True)
class Part:
    """What one part adds to the result."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    figures: list[FigureData] = field(default_factory=list)

    def __add__(self, other: Part) -> Part:
        return Part(
            {**self.metrics, **other.metrics},
            self.findings + other.findings,
            {**self.tables, **other.tables},
            self.figures + other.figures,
        )


def said(key: str, **values: Any) -> Part:
    """A part that has only something to say."""
    return Part(findings=[Finding(key, values)])


def too_few(what: str, present: int, needed: int) -> Part:
    """A part left out for want of labels."""
    return said("calibration.too_few", what=what, present=present, needed=needed)


class DoubtSettings(NamedTuple):
    """`tolerance`, `middle` and `span` (width of the scale) are in score units; `level` is that of our intervals."""

    tolerance: float
    coverage_margin: float
    middle: float
    nominal: float
    bins: int
    level: float
    resamples: int
    span: float


def groups_or_none(names: list[str]) -> list[str] | None:
    """None where every row is a group of its own."""
    return names if len(set(names)) < len(names) else None


def disagreement(rows: pd.DataFrame, doubt: pd.Series, settings: DoubtSettings, rng: np.random.Generator) -> Part:
    """Rank correlation of uncertainty with how far apart people were, where several labelled (`truth.people_apart`)."""
    given = rows[rows["people_apart"].notna()]
    if given.empty:
        return Part()
    n = len(set(units(given)))
    if n < FEWEST_UNITS:
        return too_few("disagreement", n, FEWEST_UNITS)
    apart = given["people_apart"].to_numpy(dtype=np.float64)
    order = correlation(doubt.loc[given.index].to_numpy(dtype=np.float64), apart, units(given), settings, rng)
    if order is None:
        return said("calibration.no_disagreement_rank", n=len(given))
    values = {**order.values("spearman"), "n": len(given)}
    metrics = order.metrics("calibration.spearman_disagreement")
    return Part(metrics, [Finding("calibration.disagreement", values)])


def correlation(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    names: list[str],
    settings: DoubtSettings,
    rng: np.random.Generator,
) -> Estimate | None:
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
    settings: DoubtSettings,
    rng: np.random.Generator,
) -> tuple[Part, Estimate | None]:
    """Every measure against the size of the error, and beyond the score (`further`); for the one that is used, the
    curves and its gain, None where it is the same for all."""
    error, groups = rows["error_size"].to_numpy(dtype=np.float64), groups_or_none(units(rows))
    expected = rows["expected_error"].to_numpy(dtype=np.float64)
    alone = review.review_gain_interval(expected, error, rng, settings.level, groups=groups)
    table = []
    for name, doubt in found.items():
        u = doubt.to_numpy(dtype=np.float64)
        both = np.column_stack([u, error])
        order = correlation(u, error, units(rows), settings, rng)
        spearman = (None, None, None) if order is None else (order.value, *order.interval)
        row: dict[str, Any] = {"measure": name, "used": name == used, "n_values": int(doubt.round(9).nunique())}
        row |= {"review_gain": review.GAIN.of(both), "gain_of_score": alone.value}
        row |= _cells(further.get(name))
        row |= {"aurc": review.AURC.of(both), "excess_aurc": review.EXCESS_AURC.of(both)}
        table.append(row | dict(zip(("spearman", "spearman_low", "spearman_high"), spearman, strict=True)))
    metrics = alone.metrics("calibration.gain_of_score")
    whole = Part(metrics, tables={"measures": pd.DataFrame(table)})
    doubt = found[used].to_numpy(dtype=np.float64)
    if found[used].round(9).nunique() == 1:
        return whole + said("calibration.constant", measure=used), None
    whole += _rank(doubt, error, rows, settings, rng)
    whole += _risk(doubt, error, groups, settings, rng)
    curves, gain = _review(doubt, error, groups, settings, rng)
    return whole + curves + _said_beyond(further.get(used), len(set(units(rows))), alone), gain


def _rank(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    rows: pd.DataFrame,
    settings: DoubtSettings,
    rng: np.random.Generator,
) -> Part:
    order = correlation(doubt, error, units(rows), settings, rng)
    if order is None:
        return said("calibration.no_rank", n=len(rows))
    values = {**order.values("spearman"), "n": len(rows)}
    metrics = order.metrics("calibration.spearman_error")
    return Part(metrics, [Finding("calibration.rank", values)])


def _risk(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    groups: list[str] | None,
    settings: DoubtSettings,
    rng: np.random.Generator,
) -> Part:
    areas = review.aurc_summary(doubt, error, rng, settings.level, groups=groups, span=settings.span)
    curve = review.risk_coverage(doubt, error, rng, settings.level, min(1000, settings.resamples), groups=groups)
    metrics = areas.aurc.metrics("calibration.aurc")
    metrics |= areas.excess.metrics("calibration.excess_aurc")
    values = {**areas.aurc.values("aurc"), "best": areas.oracle, "random": areas.random, "excess": areas.excess.value}
    x, band = curve.share.tolist(), curve.band
    lines = {
        "guided": {"x": x, "y": curve.guided.tolist(), "low": band.low.tolist(), "high": band.high.tolist()},
        "random": {"x": [x[0], 1.0], "y": [areas.random, areas.random]},
        "perfect": {"x": x, "y": curve.oracle.tolist()},
    }
    data = {"lines": lines, "x_label": "kept", "y_label": "risk", "n": error.size}
    return Part(metrics, [Finding("calibration.risk", values)], figures=[FigureData("risk", "curve", data)])


def _review(
    doubt: NDArray[np.float64],
    error: NDArray[np.float64],
    groups: list[str] | None,
    settings: DoubtSettings,
    rng: np.random.Generator,
) -> tuple[Part, Estimate]:
    gain = review.review_gain_interval(doubt, error, rng, settings.level, groups=groups)
    curve = review.review_curve(doubt, error, rng, settings.level, min(1000, settings.resamples), groups=groups)
    band = review.random_review(error, curve.n, settings.level)
    x = curve.share.tolist()
    guided = {"y": curve.guided.tolist(), "low": curve.band.low.tolist(), "high": curve.band.high.tolist()}
    random = {"y": x, "low": band.low.tolist(), "high": band.high.tolist()}
    lines = {"guided": {"x": x} | guided, "random": {"x": x} | random}
    lines["perfect"] = {"x": x, "y": curve.oracle.tolist()}
    at = np.searchsorted(curve.n, np.unique(np.round(np.array(BUDGETS) * error.size).astype(int)))
    table = pd.DataFrame(
        {
            "budget_share": curve.share[at],
            "n": curve.n[at],
            "guided_share": curve.guided[at],
            "random_share": curve.share[at],
            "random_share_low": band.low[at],
            "random_share_high": band.high[at],
            "perfect_share": curve.oracle[at],
        }
    )
    k = int(np.searchsorted(curve.n, round(BUDGET * error.size)))
    values = {
        "budget": float(curve.share[k]),
        "guided": float(curve.guided[k]),
        "random": float(curve.share[k]),
        "interval": (float(band.low[k]), float(band.high[k])),
        **gain.values("gain", "gain_"),
    }
    data = {"lines": lines, "x_label": "reviewed", "y_label": "caught", "n": error.size}
    metrics = gain.metrics("calibration.review_gain")
    figure = FigureData("review", "curve", data)
    return Part(metrics, [Finding("calibration.review", values)], {"review": table}, [figure]), gain


class Worst(NamedTuple):
    """The used measure if every failed judgment were as bad as can be: see `if_failed`."""

    n: int
    gain: Estimate
    beyond: Beyond | None

    @property
    def holds(self) -> bool:
        """Whether it is worth something even so."""
        return self.gain.low > 0 and self.beyond is not None and self.beyond.estimate.low > 0


def at_equal_score(
    rows: pd.DataFrame, found: Mapping[Measure, pd.Series], settings: DoubtSettings
) -> dict[Measure, Beyond]:
    """Every measure that varies, at equal score; {} with too few groups. Intervals have the level that Holm's
    correction over all these measures gives them, so that one lies above 0 exactly if its test holds after correction;
    measures that order the texts alike, and those that follow from the score, are no further hypotheses."""
    if len(set(units(rows))) < beyond_score.FEWEST:
        return {}
    own = {name: _beyond(rows, doubt, settings, settings.level) for name, doubt in found.items()}
    tested = {name: one for name, one in own.items() if one is not None}
    orders = {name: stats.rankdata(found[name].round(9)).tobytes() for name in tested}
    p = {orders[name]: one.p_value for name, one in tested.items() if not one.function}
    alpha = 1 - settings.level
    among: dict[bytes, int] = {}
    held = len(p)
    for place, order in enumerate(sorted(p, key=lambda order: p[order])):
        # The first that does not hold ends it: all others are held against what that one was held against.
        if held == len(p) - place:
            held -= p[order] <= alpha / held
            among[order] = len(p) - place
        else:
            among[order] = held
    return {
        name: one
        if among.get(orders[name], 1) == 1
        else _beyond(rows, found[name], settings, 1 - alpha / among[orders[name]]) or one
        for name, one in tested.items()
    }


def _cells(found: Beyond | None) -> dict[str, Any]:
    """The columns of one measure in the table of measures."""
    if found is None:
        return dict.fromkeys(("beyond_score", "beyond_low", "beyond_high", "share_of_score"))
    ends = (found.estimate.value, found.estimate.low, found.estimate.high)
    given = dict(zip(("beyond_score", "beyond_low", "beyond_high"), ends, strict=True))
    return given | {"share_of_score": found.share_of_score}


def _said_beyond(found: Beyond | None, n: int, alone: Estimate) -> Part:
    """Metrics and sentence of the measure that is used."""
    values: dict[str, Any] = alone.values("alone", "alone_")
    if found is None:
        return said("calibration.beyond_few", n=n, needed=beyond_score.FEWEST, **values)
    metrics = {"calibration.share_of_score": found.share_of_score}
    values |= {"share": found.share_of_score, "n": found.estimate.n_groups}
    if np.isnan(found.estimate.value):
        return Part(metrics, [Finding("calibration.beyond_function", values)])
    metrics |= found.estimate.metrics("calibration.beyond_score")
    values |= {**found.estimate.values("beyond"), "level": found.estimate.level}
    return Part(metrics, [Finding("calibration.beyond", values)])


def if_failed(
    failed: pd.DataFrame,
    rows: pd.DataFrame,
    doubt: pd.Series,
    settings: DoubtSettings,
    rubric: Rubric,
    level: float,
    rng: np.random.Generator,
) -> Worst | None:
    """What the measure would be worth if each failed text had the score farthest from its true one and the least doubt.

    A text without a judgment is not one whose error was found. `level` is that of the association. None where nothing
    failed.
    """
    if failed.empty:
        return None
    ends = np.array([rubric.minimum, rubric.maximum])
    away = np.abs(failed["truth"].to_numpy(dtype=np.float64)[:, None] - ends)
    guessed = failed.assign(score=ends[away.argmax(axis=1)], error_size=away.max(axis=1))
    both = pd.concat([rows, guessed], ignore_index=True)[["group", "score", "error_size"]]
    series = pd.concat([doubt, pd.Series(float(doubt.min()), guessed.index)], ignore_index=True)
    gain = review.review_gain_interval(
        series, both["error_size"], rng, settings.level, groups=groups_or_none(units(both))
    )
    few = len(set(units(both))) < beyond_score.FEWEST
    return Worst(len(failed), gain, None if few else _beyond(both, series, settings, level))


def _beyond(rows: pd.DataFrame, doubt: pd.Series, settings: DoubtSettings, level: float) -> Beyond | None:
    """None for a doubt that is the same for all."""
    u = doubt.to_numpy(dtype=np.float64).round(9)
    if np.ptp(u) == 0:
        return None
    groups = groups_or_none(units(rows))
    return beyond_score.beyond_score(u, rows["error_size"], rows["score"], settings.middle, level, groups=groups)
