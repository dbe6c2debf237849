"""Against human labels: does the score follow them, in order and in size, and what did calibration
change?"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import NonNegativeFloat

from undogmatic.analyses import rivals, scored
from undogmatic.analyses.base import (
    FEWEST_DRAWN,
    Correlation,
    Limited,
    LongTable,
    Share,
    columns,
    count,
    texts_of,
    too_few,
)
from undogmatic.analyses.ruling import verdict
from undogmatic.analyses.ruling.labelled import LABELLED, SIZE, LabelledFacts, SizeFacts
from undogmatic.analyses.truth import bounded, check_order, check_scale, margin_of, units
from undogmatic.records.results import Finding, Needs, Told
from undogmatic.records.wordings import texts_beside
from undogmatic.stats import agreement, checks, limits, ranking, rated
from undogmatic.stats.estimate import Unit

FEWEST_GROUPS = 10
"""Fewest independent groups of labelled texts for a verdict and for intervals."""
Array = NDArray[np.float64]
_BIAS = {
    "within": "bias_none",
    "beyond": "bias_matters",
    "against": "bias_matters",
    "open": "bias_open",
}
_ERROR = {"beyond": "error_smaller", "against": "error_larger"}


@dataclass(frozen=True)
class LabelledAnalysis(Limited):
    """Scores against `label`, first repeat. Texts of one group are resampled together.

    Args:
        prefix: Use only the conditions that start so, where there are any: in a mixed dataset,
            controls and attacks have labels too, and analyses of their own. None uses every
            labelled text.
        order: The rank correlation that the lower limit must exceed: then the score follows the
            labels.
        margin: Largest bias that does not matter, in score units; None takes the rubric's.
        level: Confidence level of every interval.
        nominal: What share of labels the judge's own intervals claim to hold; None: they claim
            nothing.
    """

    name: ClassVar[str] = "labelled"
    prefix: str | None = None
    order: Correlation = 0.5
    margin: NonNegativeFloat | None = None
    level: Share = 0.95
    nominal: Share | None = 0.9

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited if no text has a label, DataError for a label outside the scale."""
        check_order(self.name, judged.rubric)
        judged.need(self.name, "label")
        judged.check_surface()  # which reads the texts that a rival was fitted on
        check_scale(judged.frame, "label", "label", judged.rubric)

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[Told]:
        """One result; headline `labelled.spearman`, absent where no rank correlation exists."""
        self.check(judged)
        tell, labelled = Told(self.name), judged.first().dropna(subset="label")
        first = labelled
        if self.prefix is not None:
            chosen = labelled[
                labelled["condition"].map(
                    lambda c: isinstance(c, str) and c.startswith(self.prefix)
                )
            ]
            first = chosen if len(chosen) else labelled
        rows = first[first["error"].isna()]
        tell.findings += count(tell, first)
        if len(first) < len(labelled):
            tell.say("only", prefix=self.prefix, n=len(labelled) - len(first))
        facts = self._facts(judged, first, rng)
        sentence, standing = verdict(LABELLED, facts).decided
        sentence = replace(sentence, needs=Needs.DIRECTION)
        if rows.empty:
            return [tell.result(sentence, standing)]
        accuracy = self._accuracy(rows, "score", rng)
        for name, value in accuracy.items():
            of_scores = name.startswith(("mae", "rmse", "bias"))
            unit: Unit = "points" if of_scores else ""
            if name != "n":
                tell.number(value, name, unit=unit, beside_headline=name == "mae")
        order, size = (
            (accuracy[f"{name}_low"], accuracy[f"{name}_high"]) for name in ("spearman", "mae")
        )
        tell.say(
            "order", {name: accuracy[name] for name in ("spearman", "pearson", "n")}, interval=order
        )
        tell.say("size", {name: accuracy[name] for name in ("mae", "rmse")}, interval=size)
        label = rows["label"].to_numpy(dtype=np.float64)
        constant = float(np.mean(constant_errors(label, units(rows))))
        tell.number(constant, "mae_of_constant", unit="points", beside_headline=True)
        tell.say("constant", mae=constant, median=float(np.median(label)))
        _tell_facts(tell, facts)
        # Per tenth of the scale that the label lies in.
        edges = np.linspace(*judged.scale, 11)
        table = _errors(rows, np.clip(np.searchsorted(edges, label, side="right") - 1, 0, 9))
        ends = {"label_from": edges[table.index], "label_to": edges[table.index + 1]}
        tell.tables["by_label"] = pd.DataFrame(ends, table.index).join(table).reset_index(drop=True)
        _tell_ends(tell, rows, facts.margin.value, self.level, judged.scale[1] - judged.scale[0])
        for column in ("condition", "metadata.register"):
            if column in rows and rows[column].notna().any():
                name = "class" if column == "condition" else "register"
                table = _errors(rows, rows[column].to_numpy(dtype=object))
                worst_first = table.sort_values("mae", ascending=False, kind="stable")
                tell.tables[f"by_{name}"] = worst_first.rename_axis(name).reset_index()
        if self._intervals(tell, rows):
            values = {"verdict": sentence} | dict(tell.findings[-1].values)
            sentence = Finding("labelled.verdict_promise", values, sentence.answer)
        if len(rows) >= FEWEST_DRAWN:
            data = columns(rows, x="label", y="score", ids="item_id")
            data |= columns(rows, groups="condition") if rows["condition"].notna().all() else {}
            tell.draw(
                "scatter",
                "scatter",
                **data,
                x_label="label",
                y_label="score",
                identity=True,
                limits=judged.scale,
            )
        self._calibration(tell, judged, rows, rng)
        if len(rows) < FEWEST_DRAWN:
            tell.findings.append(too_few("scatter", len(rows)))
        headline = "labelled.spearman" if accuracy["spearman"] is not None else None
        return [
            tell.result(
                sentence, standing, headline=headline, texts=(*texts_beside(self), *scored.TEXTS)
            )
        ]

    def _accuracy(
        self, rows: pd.DataFrame, column: str, rng: np.random.Generator
    ) -> dict[str, Any]:
        """One set of scores against the labels. What does not exist for these data is None; bias is
        score minus label."""
        score, label = (
            rows[column].to_numpy(dtype=np.float64),
            rows["label"].to_numpy(dtype=np.float64),
        )
        groups = units(rows)
        order = linear = ranks = error = lines = None
        if score.size >= 3:
            order = agreement.correlation("spearman", score, label).estimate
            linear = agreement.correlation("pearson", score, label).estimate
        if len(set(groups)) >= FEWEST_GROUPS:
            lines = agreement.correlation_interval(
                "pearson", score, label, rng, self.level, groups=groups
            )
            error = ranking.mean_absolute_error(label, score, self.level, groups=groups)
            if order is not None:
                ranks = limits.order(score, label, rng, groups=groups, level=self.level)
        row: dict[str, Any] = {"n": score.size}
        size = float(np.mean(np.abs(score - label)))
        for name, value, held in (
            ("spearman", order, ranks),
            ("pearson", linear, lines),
            ("mae", size, error),
        ):
            low, high = (None, None) if held is None else held.interval
            row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        return row | {
            "rmse": float(np.sqrt(np.mean((score - label) ** 2))),
            "bias": float(np.mean(score - label)),
        }

    def _intervals(self, tell: Told, rows: pd.DataFrame) -> bool:
        """Tell whether the judge's own intervals hold the label, and how wide they are. Returns
        whether it is shown that they hold it less often than they promise."""
        rows = rows.dropna(subset=["low", "high"])
        if rows.empty:
            return False
        covered = limits.share(
            rows["label"].between(rows["low"], rows["high"]), units(rows), self.level
        )
        width = float((rows["high"] - rows["low"]).mean())
        tell.number(covered, "coverage", unit="share")
        tell.number(width, "interval_width", unit="points")
        values = covered.values("coverage") | (
            {} if self.nominal is None else {"nominal": self.nominal}
        )
        tell.say(
            "coverage" if self.nominal is None else "coverage_promised",
            values,
            n=len(rows),
            width=width,
        )
        return self.nominal is not None and covered.high < self.nominal

    def _calibration(
        self, tell: Told, judged: LongTable, rows: pd.DataFrame, rng: np.random.Generator
    ) -> None:
        """Raw and calibrated score on the texts that have both."""
        both = rows[rows["raw_score"].notna()]
        if both.empty or (both["raw_score"] == both["score"]).all():
            return
        raw, calibrated = self._accuracy(both, "raw_score", rng), self._accuracy(both, "score", rng)
        tell.tables["calibration"] = pd.DataFrame(
            [{"score": "raw"} | raw, {"score": "calibrated"} | calibrated]
        )
        for name in ("mae", "bias", "rmse"):
            tell.number(raw[name], f"raw_{name}", unit="points")
        tell.number(raw["spearman"], "raw_spearman")
        order = {"spearman_before": raw["spearman"], "spearman_after": calibrated["spearman"]}
        tell.say("calibrated", order, n=raw["n"], before=raw["mae"], after=calibrated["mae"])
        if len(both) >= FEWEST_DRAWN:
            data = columns(both, raw="raw_score", calibrated="score", label="label", ids="item_id")
            tell.draw("calibration", "calibration", **data, limits=judged.scale)

    def _facts(
        self, judged: LongTable, rows: pd.DataFrame, rng: np.random.Generator
    ) -> LabelledFacts:
        """Gather what the verdict looks at, of labelled texts, judged and failed."""
        there = rows["error"].isna().to_numpy()
        done, margin = rows[there], margin_of(judged.rubric, self.margin)
        score, label = (
            rows["score"].to_numpy(dtype=np.float64),
            rows["label"].to_numpy(dtype=np.float64),
        )
        same_score, same_label = (
            float(values[there][0]) if len(done) and checks.is_constant(values[there]) else None
            for values in (score, label)
        )
        facts = LabelledFacts(
            n=len(done),
            n_groups=len(set(units(done))),
            few=FEWEST_GROUPS,
            failed=len(rows) - len(done),
            order=self.order,
            margin=margin,
            small=rivals.SMALL_CORRELATION,
            same_score=same_score,
            same_label=same_label,
        )
        if facts.n_groups < FEWEST_GROUPS:
            return facts
        # The error smaller than that of the constant answer, and the bias, each against its margin.
        groups, (bottom, top) = units(rows), judged.scale
        constant, bounds = constant_errors(label, groups), (bottom - top, top - bottom)
        farthest = np.where(label - bottom > top - label, bottom, top)
        ends = [constant - np.abs(farthest - label), constant]
        gain = bounded(constant - np.abs(score - label), ends, 0.0, self.level, groups, bounds)
        bias = bounded(
            score - label, [bottom - label, top - label], margin.value, self.level, groups, bounds
        )
        sizes = SizeFacts(gain, bias, margin)
        facts = replace(
            facts,
            sizes=sizes,
            error=_ERROR.get(gain.judged.outcome, "error_open"),
            size=verdict(SIZE, sizes).key,
        )
        if same_label is None and same_score is not None:
            facts = replace(
                facts,
                same=True,
                enough_same=limits.most_order(facts.n_groups, self.level) < self.order,
                fewest_same=limits.fewest_same(self.order, self.level),
            )
        if same_score is not None or same_label is not None:
            return facts
        follows = limits.order(score, label, rng, groups=groups, level=self.level)
        if follows is None:
            return facts
        held = limits.hold(follows, self.order)
        facts = replace(facts, follows=follows, held=held)
        if held.outcome != "above":
            return facts
        reason = scored.against(judged, rows, self.level, self.order)
        equal = scored.equal(judged, rows)
        texts = texts_of(done)
        seen = rivals.seen_of(judged, texts)
        rival = rivals.labelled_rival(
            texts, score[there], label[there], units(done), rng, seen, self.level
        )
        return replace(facts, reason=reason, equal=equal, rival=rival, counts=len(seen.columns))


def _tell_facts(tell: Told, facts: LabelledFacts) -> None:
    """Metrics and sentences of what the verdict rests on: errors, bias, failures, surface."""
    follows, margin = facts.follows, facts.margin
    if facts.sizes is not None:
        gain, bias = facts.sizes.gain, facts.sizes.bias
        tell.number(gain.judged.estimate, "gain", unit="points")
        tell.number(bias.judged.estimate, "bias", unit="points")
        tell.say("gain", gain.judged.estimate.values("gain"))
        outcome = bias.judged.outcome
        said = (
            "bias_no_margin" if outcome == "within" and not margin.equivalence else _BIAS[outcome]
        )
        tell.say("bias", bias.judged.estimate.values("bias"), margin=margin.value, said=said)
        if facts.failed:
            both = {"gain": gain, "bias": bias}
            ends = {
                name: (held.worst.estimate.value, held.best.estimate.value)
                for name, held in both.items()
            }
            tell.say("bounds", ends, failed=facts.failed)
            if follows is not None:
                tell.number(follows.worst_low, "spearman_worst")
                tell.number(follows.best_high, "spearman_best")
                tell.say("bounds_order", worst=follows.worst_low, best=follows.best_high)
    if facts.equal is not None:
        tell.findings.append(facts.equal)
    if facts.rival is not None:
        rivals.tell_labelled(tell, facts.rival)


def _tell_ends(tell: Told, rows: pd.DataFrame, margin: float, level: float, span: float) -> None:
    """Say that scores are too high where they are low, and too low where they are high, or the
    other way round, which a mean bias hides.

    Texts are told apart by their score, not by their label: where labels are lowest, some are so by
    chance, and the score of a judge that is right on average lies above those.
    """
    score, label = (
        rows["score"].to_numpy(dtype=np.float64),
        rows["label"].to_numpy(dtype=np.float64),
    )
    codes = pd.factorize(np.asarray(units(rows), dtype=object))[0].astype(np.intp)
    found = rated.bands(rated.Rated(score, label, np.ones(score.size), codes, level), span, margin)
    first, last = found.every[0], found.every[-1]
    # The first and the last of those that are off are the lowest and the highest scores, off to
    # opposite sides.
    if len(found.off) < 2 or (found.off[0].first, found.off[-1].last) != (first.first, last.last):
        return
    low, high = found.off[0].off.value, found.off[-1].off.value
    if low * high < 0:
        ends = {"low_to": found.off[0].last, "high_from": found.off[-1].first}
        tell.say("bias_averages", ends, low=abs(low), high=abs(high), above=int(low > 0))


def _errors(rows: pd.DataFrame, groups: NDArray[Any]) -> pd.DataFrame:
    """Number, means, bias and error per group."""
    label, score, error = rows["label"], rows["score"], rows["score"] - rows["label"]
    numbers = {"mean_label": label, "mean_score": score, "bias": error, "mae": error.abs()}
    grouped = pd.DataFrame(numbers).groupby(groups)
    table = grouped.mean()
    table.insert(0, "n", grouped.size())
    return table


def constant_errors(labels: Array, groups: list[str]) -> Array:
    """The absolute error of always answering the median of the labels of other groups, shape
    (n,)."""
    codes = pd.factorize(np.asarray(groups, dtype=object))[0]
    folds = codes % min(50, int(codes.max()) + 1)
    errors = np.empty(labels.size)
    for fold in np.unique(folds):
        own = folds == fold
        others = labels[~own] if not own.all() else labels
        errors[own] = np.abs(labels[own] - np.median(others))
    return errors
