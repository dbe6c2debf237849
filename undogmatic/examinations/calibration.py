"""Holds a judge's intervals, confidence and doubt against the errors that it really made.

What a judge promises of itself is kept or broken only where the limits say so (`stats.promise`); a
test that finds nothing shows nothing. Its doubt must order its errors, and better than the score
would.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeFloat

from undogmatic.errors import ConfigError
from undogmatic.examinations.base import Share, columns, count
from undogmatic.examinations.pairs import numbers
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.calibration import (
    CALIBRATION,
    CalibrationFacts,
    IfFailed,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import AgainstTruth, units
from undogmatic.records.results import Told
from undogmatic.records.rubric import Rubric
from undogmatic.stats import calibration, checks, jackknife, means, ranking, review
from undogmatic.stats.checks import Array
from undogmatic.stats.estimate import Bounds, Estimate, Unit
from undogmatic.stats.proportion import Kept, interval_scores, kept
from undogmatic.stats.review import Beyond

FEWEST_UNITS = 10
"""Fewest independent texts for coverage, correlations and curves."""
FEWEST_CONFIDENCES = 30
"""Fewest texts for ECE, Brier score and reliability diagram: with less, the bins hold two or three
each."""
BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
ITEMS = (
    "item_id unit score truth error right uncertainty confidence inside width interval_score"
    " expected_error"
).split()
_COVERAGE = {"within": "nominal", "below": "narrow", "above": "wide", "open": "open"}
_ESTIMATE = {"within": "holds", "below": "too_high", "above": "too_low", "open": "open"}
Measure = Literal["procedure", "width", "entropy", "confidence", "level"]
Choice = Literal["auto", Measure]

MEASURES: tuple[Measure, ...] = get_args(Measure)
"""What is nearest to the procedure first, and the finest first. `auto` takes the first that all
judgments have and that is not the same for all: a rule that looks at no label, since the measure
that happens to do best on the labels would be chosen with what it is tested on."""


@dataclass(frozen=True)
class CalibrationAnalysis(AgainstTruth):
    """First repeat, against the true score: the label, another run's score, or a score set per
    condition.

    Args:
        uncertainty: Which number per judgment is its uncertainty: procedure (what the judge style
            itself measures), width (of the interval), entropy (of the distribution), confidence
            (the lack of it), level (low, medium, high), or auto: see MEASURES.
        tolerance: Largest error, in score units, that counts as right; None is half the smallest
            step of levels.
        nominal: What share of true scores the judge's intervals claim to hold.
        coverage_margin: How far a share (of true scores inside intervals, of right judgments) may
            lie from the promised one and still keep the promise, in (0, 1).
        bins: Bins of the reliability diagram and of ECE, of equal width.
        level: Confidence level of every interval.
        resamples: Bootstrap resamples for the bands of curves; texts of one pair are resampled
            together.
    """

    name: ClassVar[str] = "calibration"
    uncertainty: Choice = "auto"
    tolerance: NonNegativeFloat | None = None
    nominal: Share = 0.9
    coverage_margin: Share = 0.05
    bins: Annotated[int, Field(ge=2, le=1000)] = 10
    level: Share = 0.95
    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = 2000

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `calibration.review_gain`, absent where no order of review can gain
        anything."""
        truth = self.truth(judged)
        rubric, tell = judged.rubric, Told(self.name)
        # By default the nearest level is the right one.
        tolerance = (
            float(np.diff(rubric.levels).min()) / 2
            if self.tolerance is None
            else self.tolerance
        )
        size = (truth.judged["score"] - truth.judged["truth"]).abs()
        rows = truth.judged.assign(error_size=size, right=size <= tolerance + 1e-9)
        tell.findings += count(tell, truth.rows)
        facts = CalibrationFacts(
            n=len(rows),
            n_groups=len(set(units(rows))),
            fewest=FEWEST_UNITS,
            few=review.FEWEST,
        )
        if facts.n_groups < FEWEST_UNITS:
            return [tell.result(*verdict(CALIBRATION, facts).decided)]
        middle, groups = (rubric.minimum + rubric.maximum) / 2, groups_or_none(rows)
        # What the score alone foretells is the rival here, as words are elsewhere: the
        # size of an error hangs on where the score lies.
        rows["expected_error"] = review.error_by_score(
            size, rows["score"], middle, groups=groups
        )
        right = {"share": float(rows["right"].mean()), "mae": float(size.mean())}
        tell.number(right["mae"], "mae", unit="amount", beside_headline=True)
        tell.number(right["share"], "share_right", unit="share")
        tell.say(f"truth_{truth.source}", truth.told)
        tell.say("right", right, tolerance=tolerance)
        self._intervals(tell, rows, rubric.maximum - rubric.minimum)
        self._confidences(tell, rows, tolerance, rng)
        self._estimated_accuracy(tell, rows)
        measures = uncertainties(rows)
        used = choose(measures, self.uncertainty)
        facts = replace(facts, measure=used)
        if used is None:
            tell.say("no_uncertainty")
        else:
            tell.say("measure", measure=used, measures=list(measures))
            doubt = Doubt(
                tell, rows, measures, used, rubric, self.level, self.resamples, rng
            )
            doubt.disagreement()
            # Of equal errors no order is better than another.
            facts = replace(facts, no_error=size.round(9).nunique() == 1)
            if not facts.no_error:
                beyond = doubt.at_equal_score()
                gain = doubt.errors_found(beyond)
                facts = replace(
                    facts, gain=gain, beyond=beyond.get(used), constant=gain is None
                )
            if not facts.no_error and not facts.constant:
                level = (
                    self.level if facts.beyond is None else facts.beyond.estimate.level
                )
                # A judge that fails on what it would get wrong, and is sure of the
                # rest, would look as if it knew.
                failed = truth.rows[truth.rows["error"].notna()]
                facts = replace(facts, worst=doubt.if_failed(failed, level))
        headline = (
            "calibration.review_gain"
            if "calibration.review_gain" in tell.metrics
            else None
        )
        items = self._items(rows, np.nan if used is None else measures[used])
        ruling = verdict(CALIBRATION, facts)
        return [tell.result(*ruling.decided, headline=headline, items=items)]

    def _items(self, rows: pd.DataFrame, doubt: pd.Series | float) -> pd.DataFrame:
        """Columns ITEMS, one row per judged text with a known true score; `confidence` is a share,
        `inside` 1 or 0."""
        ordered = rows["low"] <= rows["high"]
        score = pd.Series(
            interval_scores(rows["low"], rows["high"], rows["truth"], self.nominal),
            rows.index,
        )
        return rows.assign(
            unit=units(rows),
            error=rows["error_size"],
            uncertainty=doubt,
            confidence=rows["confidence"] / 100,
            inside=rows["truth"]
            .between(rows["low"], rows["high"])
            .astype(float)
            .where(ordered),
            right=rows["right"].astype(float),
            width=(rows["high"] - rows["low"]).where(ordered),
            interval_score=score.where(ordered),
        )[ITEMS].reset_index(drop=True)

    def _intervals(self, tell: Told, rows: pd.DataFrame, span: float) -> None:
        """Coverage of the judge's intervals against `nominal`, their width, and whether wide ones
        are where errors are; `span` is the width of the scale."""
        # a debate whose sides changed places gives none
        given = rows[rows["low"] <= rows["high"]]
        if not enough(tell, "coverage", given, none="calibration.no_intervals"):
            return
        low = given["low"]
        high = given["high"]
        truth = given["truth"]
        groups = groups_or_none(given)
        scores = interval_scores(low, high, truth, self.nominal)
        width, score = (
            # Intervals that leave the scale may be wider than it.
            means.interval(
                values,
                self.level,
                groups=groups,
                bounds=(0.0, max(most, float(values.max()))),
            )
            for values, most in (
                (high - low, span),
                (scores, span * (1 + 2 / (1 - self.nominal))),
            )
        )
        covered = kept(
            truth.between(low, high),
            self.nominal,
            self.coverage_margin,
            self.level,
            groups=groups,
        )
        tell.number(covered.share, "coverage", unit="share")
        tell.number(width, "width", unit="amount")
        tell.number(score, "interval_score", unit="amount")
        tell.say(
            f"coverage_{_COVERAGE[covered.outcome]}",
            _promise(covered),
            width=width.value,
            score=score.value,
        )

    def _confidences(
        self, tell: Told, rows: pd.DataFrame, tolerance: float, rng: np.random.Generator
    ) -> None:
        """ECE, Brier score and reliability diagram of confidence against |error| <= tolerance."""
        rows = rows[rows["confidence"].notna()]
        if not enough(
            tell, "ece", rows, FEWEST_CONFIDENCES, none="calibration.no_confidence"
        ):
            return
        # Stated in per cent, as people read it, and compared as a share.
        stated, right = numbers(rows, "confidence") / 100, numbers(rows, "right")
        groups = groups_or_none(rows)
        error = calibration.error_interval(
            stated, right, rng, self.bins, self.level, groups=groups
        )
        brier = means.interval(
            (stated - right) ** 2, self.level, groups=groups, bounds=(0, 1)
        )
        table = calibration.reliability_table(
            stated, right, self.bins, self.level, groups=groups
        )
        tell.tables["reliability"] = table
        tell.number(error.estimate, "ece")
        tell.number(brier, "brier")
        tell.number(float(right.mean()), "share_right", unit="share")
        tell.number(float(stated.mean()), "mean_confidence", unit="share")
        # Beside the error, because small bins give even a judge that keeps its word an
        # error above 0.
        tell.number(error.if_perfect, "ece_if_perfect")
        values = {
            "perfect": error.if_perfect,
            "beyond": error.beyond,
            "brier": brier.value,
            "n": len(rows),
        }
        values |= {"stated": float(stated.mean()), "right": float(right.mean())}
        tell.say(
            "ece_off" if error.estimate.low > 0 else "ece_open",
            error.estimate.values("ece"),
            values,
        )
        data = columns(
            table, confidence="mean_confidence", accuracy="accuracy", count="n"
        )
        data |= columns(table, low="accuracy_low", high="accuracy_high")
        tell.draw("reliability", "reliability", tolerance=tolerance, **data)

    def _estimated_accuracy(self, tell: Told, rows: pd.DataFrame) -> None:
        """What `judge=calibration_probe` estimated of its own accuracy against the share that was
        right."""
        column = "details.estimated_accuracy"
        rows = rows[rows[column].notna()] if column in rows else rows.head(0)
        if rows.empty or not enough(tell, "estimated_accuracy", rows):
            return
        estimate = float(rows[column].astype(np.float64).mean()) / 100
        right = kept(
            rows["right"],
            estimate,
            self.coverage_margin,
            self.level,
            groups=groups_or_none(rows),
        )
        tell.number(estimate, "estimated_accuracy", unit="share")
        tell.number(estimate - right.share.value, "estimated_accuracy_gap")
        tell.say(f"estimate_{_ESTIMATE[right.outcome]}", _promise(right))


def _promise(held: Kept) -> dict[str, Any]:
    """The values of a sentence about a promise; what is not shown names the margin, and what would
    show it."""
    values: dict[str, Any] = {
        "share": held.share.value,
        "n": held.share.n,
        "promised": held.promised,
    }
    values["interval"] = held.inner if held.outcome == "within" else held.share.interval
    values |= {"margin": held.margin} if held.outcome in ("within", "open") else {}
    return values | ({"needed": held.n_needed} if held.outcome == "open" else {})


def groups_or_none(rows: pd.DataFrame) -> list[str] | None:
    """The group of each row; None where every row is a group of its own."""
    names = units(rows)
    return names if len(set(names)) < len(names) else None


def enough(
    tell: Told,
    what: str,
    rows: pd.DataFrame,
    needed: int = FEWEST_UNITS,
    none: str = "",
) -> bool:
    """Whether the rows are from so many independent texts; else it says what is left out, or `none`
    without any."""
    present = len(set(units(rows)))
    if none and not present:
        tell.say(none)
    elif present < needed:
        tell.say("too_few", what=what, present=present, needed=needed)
    return present >= needed


@dataclass(frozen=True)
class Doubt:
    """Holds the measures of a judge's doubt against its errors, and adds what it finds to `tell`.

    `rows` are the judged ones of `truth.Truth`, with `error_size` (|score - truth|) and
    `expected_error` (what the score alone foretells of it). `measures` are those that all rows
    have, by row; `used` is the one that speaks for the judge. `level` is that of every interval,
    `resamples` are for the bands of curves.
    """

    tell: Told
    rows: pd.DataFrame
    measures: Mapping[Measure, pd.Series]
    used: Measure
    rubric: Rubric
    level: float
    resamples: int
    rng: np.random.Generator

    def _correlation(
        self, first: Array, second: Array, rows: pd.DataFrame
    ) -> Estimate | None:
        """Spearman's correlation with its interval; None where one side is constant, or nearly
        so."""
        try:
            return ranking.spearman_interval(
                first, second, self.rng, self.level, groups=groups_or_none(rows)
            )
        except ValueError:
            # Constant: no rank correlation exists. NaN was excluded before.
            return None

    def disagreement(self) -> None:
        """Correlate doubt with how far apart people were, where several labelled
        (`truth.people_apart`)."""
        rows = self.rows[self.rows["people_apart"].notna()]
        if rows.empty or not enough(self.tell, "disagreement", rows):
            return
        doubt = self.measures[self.used].loc[rows.index].to_numpy()
        order = self._correlation(doubt, numbers(rows, "people_apart"), rows)
        if order is None:
            self.tell.say("no_disagreement_rank", n=len(rows))
        else:
            self.tell.number(order, "spearman_disagreement")
            self.tell.say("disagreement", order.values("spearman"), n=len(rows))

    def at_equal_score(self) -> dict[Measure, Beyond]:
        """Every measure that varies, at equal score; {} with too few groups. Intervals have the
        level that Holm's correction over all these measures gives them, so that one lies above 0
        exactly if its test holds after correction; measures that order the texts alike, and those
        that follow from the score, are no further hypotheses."""
        if len(set(units(self.rows))) < review.FEWEST:
            return {}
        alone = {
            name: self._beyond(self.rows, doubt, self.level)
            for name, doubt in self.measures.items()
        }
        tested = {name: one for name, one in alone.items() if one is not None}
        orders = {
            name: checks.ranks(self.measures[name].round(9)).tobytes()
            for name in tested
        }
        # Two measures that order the texts alike are one hypothesis, and a function of
        # the score is none of its own.
        p = {
            orders[name]: one.p_value
            for name, one in tested.items()
            if not one.function
        }
        alpha = 1 - self.level
        n = len(p)
        ordered = sorted(p, key=lambda order: p[order])
        # The first that does not hold ends it: all others are held against what that one was held
        # against.
        first = next(
            (place for place in range(n) if p[ordered[place]] > alpha / (n - place)), n
        )
        among = {order: n - min(place, first) for place, order in enumerate(ordered)}
        for name, order in orders.items():
            if among.get(order, 1) > 1:
                corrected = self._beyond(
                    self.rows, self.measures[name], 1 - alpha / among[order]
                )
                tested[name] = corrected or tested[name]
        return tested

    def _beyond(
        self, rows: pd.DataFrame, doubt: pd.Series, level: float
    ) -> Beyond | None:
        """What a doubt says of the errors beyond the score; None for one that is the same for
        all."""
        rounded = doubt.to_numpy(dtype=np.float64).round(9)
        if np.ptp(rounded) == 0:
            return None
        middle = (self.rubric.minimum + self.rubric.maximum) / 2
        groups = groups_or_none(rows)
        return review.beyond_score(
            rounded, rows["error_size"], rows["score"], middle, level, groups=groups
        )

    def errors_found(self, beyond: Mapping[Measure, Beyond]) -> Estimate | None:
        """Tell of every measure how it orders the errors, and of the one that is used the curves.

        Args:
            beyond: The measures `at_equal_score`.
        Returns:
            The gain of the used measure over a review in random order; None where it is the same
            for all texts.
        """
        tell, groups = self.tell, groups_or_none(self.rows)
        error, expected = (
            numbers(self.rows, name) for name in ("error_size", "expected_error")
        )
        alone = review.review_gain_interval(
            expected, error, self.rng, self.level, groups=groups
        )
        tell.number(alone, "gain_of_score")
        table = []
        for name, series in self.measures.items():
            values, one = series.to_numpy(), beyond.get(name)
            both = np.column_stack([values, error])
            order = self._correlation(values, error, self.rows)
            row: dict[str, Any] = {
                "measure": name,
                "used": name == self.used,
                "n_values": series.round(9).nunique(),
            }
            row |= {"review_gain": review.gain.of(both), "gain_of_score": alone.value}
            row |= dict.fromkeys(
                ("beyond_score", "beyond_low", "beyond_high", "share_of_score")
            )
            if one is not None:
                row |= one.estimate.row("beyond_score", "beyond_") | {
                    "share_of_score": one.share_of_score
                }
            row |= {
                "aurc": review.aurc.of(both),
                "excess_aurc": review.excess_aurc.of(both),
            }
            row |= dict.fromkeys(("spearman", "spearman_low", "spearman_high"))
            table.append(row | ({} if order is None else order.metrics("spearman")))
        tell.table("measures", pd.DataFrame(table), share_of_score="share")
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
        both = np.column_stack([doubt, error])
        area, excess = (
            jackknife.LeftOut(both, of, self.rng, groups).nearly_mean(
                self.level, (0.0, span)
            )
            for of in (review.aurc, review.excess_aurc)
        )
        curve = review.curve(
            "risk",
            doubt,
            error,
            self.rng,
            self.level,
            min(1000, self.resamples),
            groups=groups,
        )
        self.tell.number(area, "aurc", unit="amount")
        self.tell.number(excess, "excess_aurc", unit="amount")
        best = review.aurc.of(np.column_stack([error, error]))
        mean = float(error.mean())
        self.tell.say(
            "risk", area.values("aurc"), best=best, random=mean, excess=excess.value
        )
        random = {"x": [float(curve.share[0]), 1.0], "y": [mean, mean]}
        lines = {
            "guided": _line(curve.share, curve.guided, curve.band),
            "random": random,
        }
        lines["perfect"] = _line(curve.share, curve.oracle)
        self.tell.draw(
            "risk", "curve", lines=lines, x_label="kept", y_label="risk", n=error.size
        )

    def _review(self, doubt: Array, error: Array, groups: list[str] | None) -> Estimate:
        """How much of all error is caught when the most doubtful texts are reviewed first."""
        gain = review.review_gain_interval(
            doubt, error, self.rng, self.level, groups=groups
        )
        curve = review.curve(
            "caught",
            doubt,
            error,
            self.rng,
            self.level,
            min(1000, self.resamples),
            groups=groups,
        )
        share, band = curve.share, review.random_review(error, curve.n, self.level)
        lines = {
            "guided": _line(share, curve.guided, curve.band),
            "random": _line(share, share, band),
        }
        lines["perfect"] = _line(share, curve.oracle)
        self.tell.draw(
            "review",
            "curve",
            lines=lines,
            x_label="reviewed",
            y_label="caught",
            n=error.size,
        )
        columns = {
            "budget_share": share,
            "n": curve.n,
            "guided_share": curve.guided,
            "random_share": share,
        }
        columns |= {
            "random_share_low": band.low,
            "random_share_high": band.high,
            "perfect_share": curve.oracle,
        }
        at = np.searchsorted(
            curve.n, np.unique(np.round(np.array(BUDGETS) * error.size).astype(int))
        )
        budgets = pd.DataFrame({name: values[at] for name, values in columns.items()})
        shares: dict[str, Unit] = {name: "share" for name in columns if name != "n"}
        self.tell.table("review", budgets, **shares)
        # the budget that the report puts into words
        k = int(np.searchsorted(curve.n, round(0.2 * error.size)))
        budget, guided, low, high = (
            float(line[k]) for line in (share, curve.guided, band.low, band.high)
        )
        self.tell.number(gain, "review_gain")
        values = {
            "budget": budget,
            "guided": guided,
            "random": budget,
            "interval": (low, high),
        }
        self.tell.say("review", values, gain.values("gain", "gain_"))
        return gain

    def _say_beyond(self, beyond: Beyond | None, alone: Estimate) -> None:
        """Metrics and sentence of the used measure at equal score."""
        values = alone.values("alone", "alone_")
        if beyond is None:
            return self.tell.say(
                "beyond_few", values, n=len(set(units(self.rows))), needed=review.FEWEST
            )
        self.tell.number(beyond.share_of_score, "share_of_score", unit="share")
        values |= {"share": beyond.share_of_score, "n": beyond.estimate.n_groups}
        if np.isnan(beyond.estimate.value):
            return self.tell.say("beyond_function", values)
        self.tell.number(beyond.estimate, "beyond_score")
        self.tell.say(
            "beyond",
            values,
            beyond.estimate.values("beyond"),
            level=beyond.estimate.level,
        )

    def if_failed(self, failed: pd.DataFrame, level: float) -> IfFailed | None:
        """What the measure would be worth if each failed text had the score farthest from its true
        one and the least doubt.

        A text without a judgment is not one whose error was found. `level` is that of the
        association. `n` texts failed; `holds` says whether the measure is worth something even so.
        None where nothing failed.
        """
        if failed.empty:
            return None
        doubt = self.measures[self.used]
        ends = np.array([self.rubric.minimum, self.rubric.maximum])
        away = np.abs(failed["truth"].to_numpy(dtype=np.float64)[:, None] - ends)
        guessed = failed.assign(
            score=ends[away.argmax(axis=1)], error_size=away.max(axis=1)
        )
        both = pd.concat([self.rows, guessed], ignore_index=True)[
            ["group", "score", "error_size"]
        ]
        series = pd.concat(
            [doubt, pd.Series(float(doubt.min()), guessed.index)], ignore_index=True
        )
        size, groups = both["error_size"], groups_or_none(both)
        gain = review.review_gain_interval(
            series, size, self.rng, self.level, groups=groups
        )
        beyond = (
            self._beyond(both, series, level)
            if len(set(units(both))) >= review.FEWEST
            else None
        )
        holds = gain.low > 0 and beyond is not None and beyond.estimate.low > 0
        self.tell.number(gain, "worst_gain")
        self.tell.say("if_failed", gain.values("gain"), n=len(failed))
        return IfFailed(n=len(failed), gain=gain, holds=holds)


def _line(x: Array, y: Array, band: Bounds | None = None) -> dict[str, list[float]]:
    """A line of a figure of curves, with its band."""
    ends = {} if band is None else {"low": band.low, "high": band.high}
    return {name: values.tolist() for name, values in ({"x": x, "y": y} | ends).items()}


def uncertainties(rows: pd.DataFrame) -> dict[Measure, pd.Series]:
    """Every measure that all of these judged rows have; see `measured`."""
    return {
        name: column for name, column in measured(rows).items() if column.notna().all()
    }


def measured(rows: pd.DataFrame) -> dict[Measure, pd.Series]:
    """Every measure, larger where the judge is less sure, NaN where a row has it not.

    procedure: the doubt that the judge style itself measures. width: of the interval, in score
    units. entropy: of the score distribution, normalised to [0, 1]. confidence: 100 - confidence.
    level: low 0, medium 1, high 2.
    """
    columns: dict[Measure, pd.Series] = {
        "procedure": rows["doubt"],
        "width": (rows["high"] - rows["low"]).abs(),
        "entropy": rows["entropy"],
        "confidence": 100.0 - rows["confidence"],
        "level": rows["uncertainty"].map({"low": 0.0, "medium": 1.0, "high": 2.0}),
    }
    return {name: column.astype("float64") for name, column in columns.items()}


def choose(measures: dict[Measure, pd.Series], wanted: Choice) -> Measure | None:
    """The measure of these `uncertainties` that speaks for the judge: the wanted one, or for "auto"
    as MEASURES says, and the first where all are constant; None if there is none at all. Raises
    ConfigError where the wanted one does not exist for every judgment."""
    if wanted != "auto":
        if wanted not in measures:
            raise ConfigError(
                f"`analysis.uncertainty` is {wanted!r}, which not every judgment has; they all"
                f" have: {', '.join(measures) or 'none'}. Use analysis.uncertainty=auto or another"
                " judge."
            )
        return wanted
    present = [name for name in MEASURES if name in measures]
    return next(
        (name for name in present if measures[name].round(9).nunique() > 1),
        next(iter(present), None),
    )
