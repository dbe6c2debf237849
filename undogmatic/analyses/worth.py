"""Measures whether a judge's doubt orders its errors, and better than the score would (`analysis=calibration`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.analyses.measures import Measure
from undogmatic.analyses.truth import units
from undogmatic.records.results import Telling
from undogmatic.records.rubric import Rubric
from undogmatic.stats import beyond_score, ranking, review
from undogmatic.stats.beyond_score import Beyond
from undogmatic.stats.estimate import Bounds, Estimate

FEWEST_UNITS = 10
"""Fewest independent texts for coverage, correlations and curves."""
FEWEST_CONFIDENCES = 30
"""Fewest texts for ECE, Brier score and reliability diagram: with less, the bins hold two or three each."""
BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
BUDGET = 0.2  # the one that the report puts into words
Array = NDArray[np.float64]


def groups_or_none(rows: pd.DataFrame) -> list[str] | None:
    """The group of each row; None where every row is a group of its own."""
    names = units(rows)
    return names if len(set(names)) < len(names) else None


def enough(tell: Telling, what: str, rows: pd.DataFrame, needed: int = FEWEST_UNITS) -> bool:
    """Whether the rows are from so many independent texts; a sentence says what is left out if they are not."""
    present = len(set(units(rows)))
    if present < needed:
        tell.say("too_few", what=what, present=present, needed=needed)
    return present >= needed


class Worst(NamedTuple):
    """The used measure if every failed judgment were as bad as can be: see `Doubt.if_failed`."""

    n: int
    gain: Estimate
    beyond: Beyond | None

    @property
    def holds(self) -> bool:
        """Whether it is worth something even so."""
        return self.gain.low > 0 and self.beyond is not None and self.beyond.estimate.low > 0


@dataclass(frozen=True)
class Doubt:
    """Holds the measures of a judge's doubt against its errors, and adds what it finds to `tell`.

    `rows` are the judged ones of `truth.Truth`, with `error_size` (|score - truth|) and `expected_error` (what the
    score alone foretells of it). `measures` are those that all rows have, by row; `used` is the one that speaks for the
    judge. `level` is that of every interval, `resamples` are for the bands of curves.
    """

    tell: Telling
    rows: pd.DataFrame
    measures: Mapping[Measure, pd.Series]
    used: Measure
    rubric: Rubric
    level: float
    resamples: int
    rng: np.random.Generator

    def _correlation(self, first: Array, second: Array, rows: pd.DataFrame) -> Estimate | None:
        """Spearman's correlation with its interval; None where one side is constant, or nearly so."""
        try:
            return ranking.spearman_interval(first, second, self.rng, self.level, groups=groups_or_none(rows))
        except ValueError:
            # Constant: no rank correlation exists. NaN was excluded before.
            return None

    def disagreement(self) -> None:
        """Correlate doubt with how far apart people were, where several labelled (`truth.people_apart`)."""
        rows = self.rows[self.rows["people_apart"].notna()]
        if rows.empty or not enough(self.tell, "disagreement", rows):
            return
        doubt = self.measures[self.used].loc[rows.index].to_numpy()
        order = self._correlation(doubt, rows["people_apart"].to_numpy(dtype=np.float64), rows)
        if order is None:
            self.tell.say("no_disagreement_rank", n=len(rows))
            return
        self.tell.number(order, "spearman_disagreement")
        self.tell.say("disagreement", order.values("spearman"), n=len(rows))

    def at_equal_score(self) -> dict[Measure, Beyond]:
        """Every measure that varies, at equal score; {} with too few groups. Intervals have the level that Holm's
        correction over all these measures gives them, so that one lies above 0 exactly if its test holds after
        correction; measures that order the texts alike, and those that follow from the score, are no further
        hypotheses."""
        if len(set(units(self.rows))) < beyond_score.FEWEST:
            return {}
        alone = {name: self._beyond(self.rows, doubt, self.level) for name, doubt in self.measures.items()}
        tested = {name: one for name, one in alone.items() if one is not None}
        orders = {name: stats.rankdata(self.measures[name].round(9)).tobytes() for name in tested}
        p = {orders[name]: one.p_value for name, one in tested.items() if not one.function}
        alpha = 1 - self.level
        among: dict[bytes, int] = {}
        held = len(p)
        for place, order in enumerate(sorted(p, key=lambda order: p[order])):
            # The first that does not hold ends it: all others are held against what that one was held against.
            if held == len(p) - place:
                held -= p[order] <= alpha / held
                among[order] = len(p) - place
            else:
                among[order] = held
        for name, order in orders.items():
            if among.get(order, 1) > 1:
                corrected = self._beyond(self.rows, self.measures[name], 1 - alpha / among[order])
                tested[name] = corrected or tested[name]
        return tested

    def _beyond(self, rows: pd.DataFrame, doubt: pd.Series, level: float) -> Beyond | None:
        """What a doubt says of the errors beyond the score; None for one that is the same for all."""
        rounded = doubt.to_numpy(dtype=np.float64).round(9)
        if np.ptp(rounded) == 0:
            return None
        middle, groups = (self.rubric.minimum + self.rubric.maximum) / 2, groups_or_none(rows)
        return beyond_score.beyond_score(rounded, rows["error_size"], rows["score"], middle, level, groups=groups)

    def errors_found(self, beyond: Mapping[Measure, Beyond]) -> Estimate | None:
        """Tell of every measure how it orders the errors, and of the one that is used the curves.

        Args:
            beyond: The measures `at_equal_score`.
        Returns:
            The gain of the used measure over a review in random order; None where it is the same for all texts.
        """
        tell, groups = self.tell, groups_or_none(self.rows)
        error, expected = (self.rows[name].to_numpy(dtype=np.float64) for name in ("error_size", "expected_error"))
        alone = review.review_gain_interval(expected, error, self.rng, self.level, groups=groups)
        tell.number(alone, "gain_of_score")
        table = []
        for name, series in self.measures.items():
            values, one = series.to_numpy(), beyond.get(name)
            both, order = np.column_stack([values, error]), self._correlation(values, error, self.rows)
            row: dict[str, Any] = {"measure": name, "used": name == self.used, "n_values": series.round(9).nunique()}
            row |= {"review_gain": review.GAIN.of(both), "gain_of_score": alone.value}
            row |= dict.fromkeys(("beyond_score", "beyond_low", "beyond_high", "share_of_score"))
            if one is not None:
                row |= one.estimate.row("beyond_score", "beyond_") | {"share_of_score": one.share_of_score}
            row |= {"aurc": review.AURC.of(both), "excess_aurc": review.EXCESS_AURC.of(both)}
            row |= dict.fromkeys(("spearman", "spearman_low", "spearman_high"))
            table.append(row | ({} if order is None else order.metrics("spearman")))
        tell.tables["measures"] = pd.DataFrame(table)
        doubt = self.measures[self.used].to_numpy()
        if self.measures[self.used].round(9).nunique() == 1:
            tell.say("constant", measure=self.used)
            return None
        order = self._correlation(doubt, error, self.rows)
        if order is None:
            tell.say("no_rank", n=len(error))
        else:
            tell.number(order, "spearman_error")
            tell.say("rank", order.values("spearman"), n=len(error))
        self._risk(doubt, error, groups)
        gain = self._review(doubt, error, groups)
        self._say_beyond(beyond.get(self.used), alone)
        return gain

    def _risk(self, doubt: Array, error: Array, groups: list[str] | None) -> None:
        """The error of what is kept when the most doubtful texts are left out."""
        span = self.rubric.maximum - self.rubric.minimum
        areas = review.aurc_summary(doubt, error, self.rng, self.level, groups=groups, span=span)
        curve = review.curve("risk", doubt, error, self.rng, self.level, min(1000, self.resamples), groups=groups)
        self.tell.number(areas.aurc, "aurc")
        self.tell.number(areas.excess, "excess_aurc")
        others = {"best": areas.oracle, "random": areas.random, "excess": areas.excess.value}
        self.tell.say("risk", areas.aurc.values("aurc"), others)
        random = {"x": [float(curve.share[0]), 1.0], "y": [areas.random, areas.random]}
        lines = {"guided": _line(curve.share, curve.guided, curve.band), "random": random}
        lines["perfect"] = _line(curve.share, curve.oracle)
        self.tell.draw("risk", "curve", lines=lines, x_label="kept", y_label="risk", n=error.size)

    def _review(self, doubt: Array, error: Array, groups: list[str] | None) -> Estimate:
        """How much of all error is caught when the most doubtful texts are reviewed first."""
        gain = review.review_gain_interval(doubt, error, self.rng, self.level, groups=groups)
        curve = review.curve("caught", doubt, error, self.rng, self.level, min(1000, self.resamples), groups=groups)
        share, band = curve.share, review.random_review(error, curve.n, self.level)
        lines = {"guided": _line(share, curve.guided, curve.band), "random": _line(share, share, band)}
        lines["perfect"] = _line(share, curve.oracle)
        self.tell.draw("review", "curve", lines=lines, x_label="reviewed", y_label="caught", n=error.size)
        columns = {"budget_share": share, "n": curve.n, "guided_share": curve.guided, "random_share": share}
        columns |= {"random_share_low": band.low, "random_share_high": band.high, "perfect_share": curve.oracle}
        at = np.searchsorted(curve.n, np.unique(np.round(np.array(BUDGETS) * error.size).astype(int)))
        self.tell.tables["review"] = pd.DataFrame({name: values[at] for name, values in columns.items()})
        k = int(np.searchsorted(curve.n, round(BUDGET * error.size)))
        values: dict[str, Any] = {
            "budget": float(share[k]),
            "guided": float(curve.guided[k]),
            "random": float(share[k]),
        }
        values["interval"] = (float(band.low[k]), float(band.high[k]))
        self.tell.number(gain, "review_gain")
        self.tell.say("review", values, gain.values("gain", "gain_"))
        return gain

    def _say_beyond(self, found: Beyond | None, alone: Estimate) -> None:
        """Metrics and sentence of the used measure at equal score."""
        values = alone.values("alone", "alone_")
        if found is None:
            self.tell.say("beyond_few", values, n=len(set(units(self.rows))), needed=beyond_score.FEWEST)
            return
        self.tell.number(found.share_of_score, "share_of_score")
        values |= {"share": found.share_of_score, "n": found.estimate.n_groups}
        if np.isnan(found.estimate.value):
            self.tell.say("beyond_function", values)
            return
        self.tell.number(found.estimate, "beyond_score")
        self.tell.say("beyond", values, found.estimate.values("beyond"), level=found.estimate.level)

    def if_failed(self, failed: pd.DataFrame, level: float) -> Worst | None:
        """What the measure would be worth if each failed text had the score farthest from its true one and the least
        doubt.

        A text without a judgment is not one whose error was found. `level` is that of the association. None where
        nothing failed.
        """
        if failed.empty:
            return None
        doubt, ends = self.measures[self.used], np.array([self.rubric.minimum, self.rubric.maximum])
        away = np.abs(failed["truth"].to_numpy(dtype=np.float64)[:, None] - ends)
        guessed = failed.assign(score=ends[away.argmax(axis=1)], error_size=away.max(axis=1))
        both = pd.concat([self.rows, guessed], ignore_index=True)[["group", "score", "error_size"]]
        series = pd.concat([doubt, pd.Series(float(doubt.min()), guessed.index)], ignore_index=True)
        size, groups = both["error_size"], groups_or_none(both)
        gain = review.review_gain_interval(series, size, self.rng, self.level, groups=groups)
        few = len(set(units(both))) < beyond_score.FEWEST
        worst = Worst(len(failed), gain, None if few else self._beyond(both, series, level))
        self.tell.number(gain, "worst_gain")
        self.tell.say("if_failed", gain.values("gain"), n=worst.n)
        return worst


def _line(x: Array, y: Array, band: Bounds | None = None) -> dict[str, list[float]]:
    """A line of a figure of curves, with its band."""
    ends = {} if band is None else {"low": band.low, "high": band.high}
    return {name: values.tolist() for name, values in ({"x": x, "y": y} | ends).items()}
