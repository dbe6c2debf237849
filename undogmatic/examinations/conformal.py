"""Promises fitted on labelled texts: intervals with a stated coverage, and what a judge may decide
alone.

`judge=selective` keeps the second: it hands on what lies above the threshold
(`judge.rules.guaranteed`).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, NonNegativeFloat

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import FEWEST_DRAWN, Share, check_groups, count
from undogmatic.examinations.calibration import Choice, choose, uncertainties
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.conformal import (
    CONFORMAL,
    ESCALATION,
    ConformalFacts,
    EscalationFacts,
    SplitIntervals,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import AgainstTruth, Truth, drawn, margin_of, units
from undogmatic.records.limits import LARGEST_SEED
from undogmatic.records.records import text_mark
from undogmatic.records.results import Told
from undogmatic.records.rubric import Rubric
from undogmatic.stats import conformal, means
from undogmatic.stats.calibration import Scale
from undogmatic.stats.conformal import find_threshold, units_needed
from undogmatic.stats.estimate import Unit
from undogmatic.stats.proportion import sign_p

Flags = NDArray[np.bool_]
COLUMNS = [
    "method",
    "group",
    "n_fit",
    "n",
    "coverage",
    "low",
    "high",
    "band_low",
    "band_high",
    "mean_width",
    "reach",
]
THRESHOLD = "escalation.threshold"
ITEMS = ("item_id", "measure", "doubt", "right", "decided", "text_mark")
"""Columns of items_escalation.csv; with the metric THRESHOLD it is all that `judge=selective`
needs."""


@dataclass(frozen=True)
class ConformalAnalysis(AgainstTruth):
    """Split conformal intervals around scores and around the judge's own ranges, and per group
    (Mondrian).

    Texts of one pair fall into the same part. A method or group without enough fitted texts is
    refused, with the number needed; nothing is widened in silence to make up for it.

    Args:
        nominal: Wanted coverage.
        fit_share: Share of the labelled texts that the intervals are fitted on; the others verify
            them.
        by: Group for the Mondrian intervals and the slices: "condition" or a metadata key; None for
            none.
        ordinal: Labels can only be the rubric's levels; ends then move to levels.
        seed: Another number is another split.
        level: Confidence level of the intervals of the measured coverage.
        coverage_margin: How far below `nominal` the coverage may lie and still keep the promise, in
            (0, 1).
    """

    name: ClassVar[str] = "conformal"
    nominal: Share = 0.9
    fit_share: Share = 0.5
    by: str | None = "condition"
    ordinal: bool = False
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    level: Share = 0.95
    coverage_margin: Share = 0.05

    def truth(self, judged: RunEvidence) -> Truth:
        """Raises Unsuited without labels, ConfigError for an unknown `by`, DataError for too many
        groups."""
        truth = super().truth(judged)
        column = self._group(truth.rows)
        if self.by is not None:
            groups = truth.rows[column].dropna().unique()
            check_groups(
                self.name,
                column.removeprefix("metadata."),
                groups,
                "set analysis.by=null",
            )
        # Ends that are moved to levels would pass by such a label.
        odd = truth.rows[~truth.rows["truth"].isin(judged.rubric.levels)]
        if self.ordinal and len(odd):
            item, label = odd.iloc[0][["item_id", "truth"]]
            raise DataError(
                f"`analysis.ordinal` is true, but the label of {item!r} is {label:g}, which is no"
                f" level of rubric={judged.rubric.name}. Set analysis.ordinal=false."
            )
        return truth

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; no headline, since every valid method covers alike."""
        truth = self.truth(judged)
        rows = truth.judged
        # With fewer, the interval that keeps the promise is the whole scale.
        needed = conformal.items_needed(self.nominal)
        tell = Told(self.name)
        # Whole units are dealt: with one text of a conversation fitted on and the next
        # one checked, coverage would look better than it will be.
        fitting = drawn(units(rows), self.fit_share, self.seed)
        tell.say(
            "parts",
            fit=int(fitting.sum()),
            check=int((~fitting).sum()),
            nominal=self.nominal,
            needed=needed,
        )
        count(tell, truth.rows)
        tell.number(needed, "needed", unit="count")
        table = self._apply(tell, "split", "score", judged.rubric, rows, fitting)
        if (
            len(rows)
            and rows["low"].notna().all()
            and (rows["low"] <= rows["high"]).all()
        ):
            table += self._apply(
                tell, "ranges", ["low", "high"], judged.rubric, rows, fitting
            )
        if self.by is not None and rows[self._group(rows)].notna().any():
            table += self._apply(
                tell, "mondrian", "score", judged.rubric, rows, fitting
            )
        overall = {str(row["method"]): row for row in table if row["group"] == "all"}
        span = judged.rubric.maximum - judged.rubric.minimum
        facts = ConformalFacts(
            n=len(rows),
            needed=needed,
            nominal=self.nominal,
            margin=self.coverage_margin,
            span=span,
            wide=0,
        )
        if (row := overall.get("split")) is not None:
            one_score, its_width, nearer = self._beside_one_score(
                rows, fitting, judged.scale
            )
            split = SplitIntervals(
                inside=row["inside"],
                promise=row["promise"],
                mean_width=row["mean_width"],
                band_low=row["band_low"],
                one_score=one_score,
                its_width=its_width,
                nearer=nearer,
            )
            facts = replace(
                facts,
                n=row["n"],
                wide=int(split.mean_width > conformal.WIDE * span),
                more=split.promise.n_needed or row["n"] + 1,
                split=split,
            )
        ruling = verdict(CONFORMAL, facts)
        for name, row in overall.items():
            tell.number(row["inside"], "coverage", name, unit="share")
            tell.number(row["mean_width"], "width", name, unit="amount")
        if table:
            shown_in: dict[str, Unit] = {"coverage": "share", "mean_width": "amount"}
            tell.table("coverage", pd.DataFrame(table)[COLUMNS], **shown_in)
        shown = [row for row in table if row["method"] == "mondrian"] or table
        if len(shown) >= FEWEST_DRAWN:
            data = {end: [row[end] for row in shown] for end in ("low", "high")}
            data |= {
                "labels": [str(row["group"]) for row in shown],
                "estimate": [row["coverage"] for row in shown],
            }
            tell.draw(
                "coverage", "forest", **data, reference=self.nominal, x_label="coverage"
            )
        return [tell.result(*ruling.decided)]

    def _beside_one_score(
        self, rows: pd.DataFrame, fitting: Flags, scale: Scale
    ) -> tuple[float, float, bool]:
        """The median label of the fitted texts, how wide intervals would be with this score for all
        others, and whether the judge's scores are shown to lie nearer to their labels."""
        fit, check = rows[fitting], rows[~fitting]
        score, span = float(fit["truth"].median()), scale[1] - scale[0]
        fitted = conformal.fit(
            np.full(len(fit), score),
            fit["truth"],
            units(fit),
            self.nominal,
            scale=scale,
        )
        ends = conformal.intervals(fitted, [score])
        gain = (check["truth"] - score).abs() - (check["truth"] - check["score"]).abs()
        several = len({*units(check)}) > 1
        nearer = (
            several
            and means.interval(
                gain, self.level, groups=units(check), bounds=(-span, span)
            ).low
            > 0
        )
        return score, float(ends.high[0] - ends.low[0]), nearer

    def _group(self, rows: pd.DataFrame) -> str:
        """The column of `by`."""
        column = (
            "condition" if self.by in (None, "condition") else f"metadata.{self.by}"
        )
        if column not in rows:
            known = sorted(
                c.removeprefix("metadata.")
                for c in rows.columns
                if c.startswith("metadata.")
            )
            raise ConfigError(
                f"`analysis.by` is {self.by!r}; there are: condition, {', '.join(known)}."
            )
        return column

    def _apply(
        self,
        tell: Told,
        method: str,
        widened: str | list[str],
        rubric: Rubric,
        rows: pd.DataFrame,
        fitting: Flags,
    ) -> list[dict[str, Any]]:
        """Rows of the table for one method, first of all texts, then per slice; none with too few
        texts.

        `widened` are the columns of what is widened (score, or both ends); "mondrian" fits groups
        apart.
        """
        needed, grouped = conformal.items_needed(self.nominal), method == "mondrian"
        chosen = np.ones(len(rows), dtype=np.bool_)
        if grouped:
            groups = rows[self._group(rows)].astype(object)
            present = groups[fitting].value_counts()
            small = [
                str(g) for g in groups.dropna().unique() if present.get(g, 0) < needed
            ]
            chosen = (
                groups.notna().to_numpy() & ~groups.astype(str).isin(small).to_numpy()
            )
            if small:
                tell.say("groups_refused", groups=small, needed=needed)
        fit, check = rows[fitting & chosen], rows[~fitting & chosen]
        if len(fit) < needed or check.empty:
            if not grouped:
                tell.say(
                    "refused",
                    method=method,
                    present=len(fit),
                    needed=needed,
                    check=len(check),
                )
            return []
        of_fit, of_check = (
            part[self._group(part)].astype(str).tolist() for part in (fit, check)
        )
        fit_by = {"groups": of_fit if grouped else None}
        check_by = {"groups": of_check if grouped else None}
        values, wanted = (
            part[widened].to_numpy(dtype=np.float64) for part in (fit, check)
        )
        scale = (rubric.minimum, rubric.maximum)
        levels = rubric.levels if self.ordinal else None
        fitted = conformal.fit(
            values, fit["truth"], units(fit), self.nominal, scale=scale, **fit_by
        )
        ends = conformal.intervals(fitted, wanted, levels=levels, **check_by)
        slices = (
            of_check
            if self.by is not None and check[self._group(check)].notna().all()
            else None
        )
        checked = check["truth"], units(check), slices
        # How far ends are widened is one number for all texts, or one for each group.
        alone = None if grouped else next(iter(fitted.reach.values()))
        table: list[dict[str, Any]] = []
        for part in conformal.coverage(
            fitted, ends, *checked, self.coverage_margin, self.level
        ):
            # the first slice is all of them, whatever its name
            name = part.group if table else "all"
            row = {"method": method, "group": name, "n": part.inside.n}
            row |= {
                key: getattr(part, key)
                for key in ("inside", "promise", "n_fit", "mean_width")
            }
            row |= dict(
                zip(("band_low", "band_high"), part.band or (None, None), strict=True)
            )
            row["reach"] = fitted.reach.get(name) if alone is None else alone
            table.append(row | part.inside.row("coverage"))
        return table


@dataclass(frozen=True)
class EscalationAnalysis(AgainstTruth):
    """First repeat, against people's labels or another run (`reference`): the expensive judge that
    would be asked when this one hands on.

    A judgment that failed is never decided alone.

    Args:
        rate: Rate of agreement that is promised for what the judge decides alone.
        confidence: Probability with which the promise holds.
        tolerance: Largest difference that counts as agreement, in score units; None is the rubric's
            margin.
        uncertainty: Which measure of doubt the threshold is on; see analysis=calibration.
    """

    name: ClassVar[str] = "escalation"
    rate: Share = 0.9
    confidence: Share = 0.95
    tolerance: NonNegativeFloat | None = None
    uncertainty: Choice = "auto"

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `escalation.share`, the share that the judge may decide alone."""
        truth = self.truth(judged)
        tolerance = (
            margin_of(judged.rubric).value if self.tolerance is None else self.tolerance
        )
        rows = truth.judged
        needed = units_needed(self.rate, self.confidence)
        tell = Told(self.name)
        failed = count(tell, truth.rows)
        tell.number(needed, "needed", unit="count")
        measures = uncertainties(rows)
        used = choose(measures, self.uncertainty) if len(rows) else None
        facts = EscalationFacts(
            rate=self.rate,
            confidence=self.confidence,
            measure=used,
            tolerance=tolerance,
        )
        if used is None:
            tell.findings += failed
            return [tell.result(*verdict(ESCALATION, facts).decided)]
        # 0.3 - 0.2 is a little more than 0.1 in binary, and must not count as a
        # disagreement for that.
        right = ((rows["score"] - rows["truth"]).abs() <= tolerance + 1e-9).to_numpy()
        doubt = measures[used].to_numpy(dtype=np.float64)
        result = find_threshold(
            doubt, right, self.rate, self.confidence, groups=units(rows)
        )
        constant = (
            None
            if result.threshold is None
            else self._constant(rows, right, doubt <= result.threshold, tolerance)
        )
        threshold, steps = None if constant else result.threshold, result.steps
        # Of all texts, those without a judgment included: these are handed on as well.
        share = 0.0 if constant else result.share * len(rows) / len(truth.rows)
        agreement = float(right.mean())
        tell.say(f"escalation.truth_{truth.source}", truth.told)
        tell.say(
            "escalation.agreement", tolerance=tolerance, right=agreement, measure=used
        )
        tell.findings += failed
        tell.number(share, "share", unit="share")
        tell.number(agreement, "agreement", unit="share")
        of_constant, always = constant or (None, None)
        facts = replace(
            facts,
            threshold=threshold,
            texts=len(truth.rows),
            share=share,
            units=result.n_units,
            needed=units_needed(result.of_units, self.confidence),
            of_units=result.of_units,
            if_alike=needed,
            constant=of_constant,
            always=always,
        )
        if steps:
            wrong = steps[0].n - steps[0].n_right
            more = units_needed(result.of_units, self.confidence, wrong)
            facts = replace(facts, surest=steps[0], wrong=wrong, more=more)
            tell.tables["steps"] = pd.DataFrame(steps).rename(columns={"least": "low"})
        decided = (
            np.zeros(len(rows), dtype=np.bool_)
            if threshold is None
            else doubt <= threshold
        )
        if threshold is not None:
            least = [step for step in steps if step.passed][-1].least
            facts = replace(facts, least=least, decided=int(decided.sum()))
            tell.numbers[THRESHOLD] = threshold
            tell.number(least, "least_agreement", unit="share")
            calls = float(rows["calls"].sum() + rows["cached"].sum()) / len(rows)
            tell.say("escalation.saved", calls=calls, handed=100 * (1 - share))
        if len(steps) >= 3:
            x = [step.n / result.n_units for step in steps]
            lines = {
                "agreement": {"x": x, "y": [step.n_right / step.n for step in steps]},
                "lower_limit": {"x": x, "y": [step.least for step in steps]},
                "promised": {"x": [x[0], x[-1]], "y": [self.rate, self.rate]},
            }
            tell.draw(
                "escalation",
                "curve",
                lines=lines,
                x_label="decided",
                y_label="agreement",
                n=result.n_units,
            )
        items = {
            "item_id": rows["item_id"].to_numpy(),
            "measure": used,
            "doubt": doubt,
            "right": right.astype(float),
        }
        marks = [text_mark(str(text)) for text in rows["text"]]
        table = pd.DataFrame(
            items | {"decided": decided.astype(float), "text_mark": marks},
            columns=ITEMS,
        )
        return [
            tell.result(
                *verdict(ESCALATION, facts).decided,
                headline="escalation.share",
                items=table,
            )
        ]

    def _constant(
        self, rows: pd.DataFrame, right: Flags, decided: Flags, tolerance: float
    ) -> tuple[float, float] | None:
        """The score that agrees most often if it is given to all texts, and how often it does:
        where it would be promised the same for all of them, and the judge, where it decides, is not
        shown to agree more often.
        """
        labels = rows["truth"].to_numpy(dtype=np.float64)
        ordered, scores = np.sort(labels), np.unique(labels)
        low = np.searchsorted(ordered, scores - tolerance - 1e-9, side="left")
        high = np.searchsorted(ordered, scores + tolerance + 1e-9, side="right")
        score = float(scores[np.argmax(high - low)])
        always = np.abs(labels - score) <= tolerance + 1e-9
        promised = find_threshold(
            np.zeros(len(rows)), always, self.rate, self.confidence, groups=units(rows)
        )
        if promised.threshold is None:
            return None
        wrong = (
            pd.DataFrame({"judge": ~right, "always": ~always})[decided]
            # Units are compared and not texts: a unit has it wrong where any of its
            # texts is, so that a long conversation counts once.
            .groupby(np.array(units(rows))[decided])
            .any()
        )
        better = int((wrong["always"] & ~wrong["judge"]).sum())
        worse = int((wrong["judge"] & ~wrong["always"]).sum())
        if better > worse and sign_p(better, better + worse) <= 1 - self.confidence:
            return None
        return score, float(always.mean())
