"""Against human labels: does the score follow them, in order and in size, and what did calibration change?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import labelled_rival, plots, rivals
from undogmatic.analyses.base import Judged, check_level, failed_finding
from undogmatic.analyses.ruling import LABELLED, SIZE, verdict
from undogmatic.analyses.truth import Margin, check_bound, check_order, check_scale, margin_of, units
from undogmatic.records.results import AnalysisResult, FigureData, Finding
from undogmatic.stats import agreement, checks, coefficients, limits, ranking
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Estimate

_TENTHS = 10
FEWEST_GROUPS = 10
"""Fewest independent groups of labelled texts for a verdict and for intervals."""
_FOLDS = 50
Array = NDArray[np.float64]


class Accuracy(NamedTuple):
    """One set of scores against the labels. What does not exist for these data is None; bias is score minus label."""

    n: int
    spearman: float | None
    spearman_low: float | None
    spearman_high: float | None
    pearson: float | None
    pearson_low: float | None
    pearson_high: float | None
    mae: float
    mae_low: float | None
    mae_high: float | None
    rmse: float
    bias: float


class Bounded(NamedTuple):
    """A mean against a margin over judged texts (`judged`), and over all texts with failed judgments at whichever end
    is against it (`worst`) and for it (`best`); the three are one where none failed."""

    judged: Claim
    worst: Claim
    best: Claim

    @property
    def sure(self) -> bool:
        """Whether failed judgments cannot turn the outcome."""
        return self.judged.outcome == self.worst.outcome == self.best.outcome


class LabelledEvidence(NamedTuple):
    """What the verdict looks at and what its sentence names.

    `order` is the rank correlation from which scores follow labels, `margin` what a bias must stay within.
    `same_score`, `same_label`: the one value that all judged texts have, or None. `follows` is None without an interval
    of the rank correlation; `gain`, the error of the constant answer minus the judge's, and `bias`, score minus label,
    with fewer than FEWEST_GROUPS groups; `rival` unless the order is shown.
    """

    order: float
    margin: Margin
    level: float
    n: int
    failed: int
    n_groups: int
    same_score: float | None
    same_label: float | None
    follows: Estimate | None = None
    gain: Bounded | None = None
    bias: Bounded | None = None
    rival: labelled_rival.LabelledRival | None = None
    few: int = FEWEST_GROUPS
    small: float = labelled_rival.SMALL_CORRELATION
    counts: int = 0

    @property
    def same(self) -> bool:
        """Whether the judge says the same of texts with different labels."""
        return self.n_groups >= FEWEST_GROUPS and self.same_label is None and self.same_score is not None

    @property
    def enough_same(self) -> bool:
        """Whether so many texts with one score show that it does not follow the labels."""
        return limits.most_order(self.n_groups, self.level) < self.order

    @property
    def fewest_same(self) -> int:
        """How many texts with one score would show it."""
        return limits.fewest_same(self.order, self.level)

    @property
    def held(self) -> limits.Held:
        """The rank correlation against what it must exceed."""
        assert self.follows is not None, "there is an interval"
        return limits.hold(self.follows, self.order)

    @property
    def surface(self) -> rivals.Outcome | None:
        """What the surface judge came to."""
        return None if self.rival is None else self.rival.outcome

    @property
    def error(self) -> str:
        """The word for the error beside that of a constant answer."""
        outcome = "open" if self.gain is None else self.gain.judged.outcome
        return {"beyond": "error_smaller", "against": "error_larger"}.get(outcome, "error_open")

    @property
    def size(self) -> str:
        """Whether the score follows the labels in size, too, and if not, why: the gravest reason."""
        return verdict(SIZE, self).key


@dataclass(frozen=True)
class LabelledAnalysis:
    """Scores against `label`, first repeat. Texts of one group are resampled together.

    Args:
        prefix: Use only the conditions that start so, where there are any: in a mixed dataset, controls and attacks
            have labels too, and analyses of their own. None uses every labelled text.
        order: The rank correlation that the lower limit must exceed: then the score follows the labels.
        margin: Largest bias that does not matter, in score units; None takes the rubric's.
        level: Confidence level of every interval.
        nominal: What share of labels the judge's own intervals claim to hold; None: they claim nothing.
    """

    name: ClassVar[str] = "labelled"
    prefix: str | None = None
    order: float = 0.5
    margin: float | None = None
    level: float = 0.95
    nominal: float | None = 0.9

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        if self.nominal is not None:
            check_level(self.name, nominal=self.nominal)
        check_bound(self.order)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited if no text has a label, DataError for a label outside the scale."""
        check_order(self.name, judged.rubric)
        judged.check_surface()
        judged.need(self.name, "label")
        check_scale(judged.frame, "label", "label", judged.rubric)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `labelled.spearman`, absent where no rank correlation exists."""
        self.check(judged)
        first, others = self._used(judged)
        rows = first[first["error"].isna()]
        named = first.assign(condition=first["condition"].where(first["condition"].notna(), "all"))
        counts = Judged(named, judged.rubric).counts([str(c) for c in named["condition"].unique()])
        findings = failed_finding(counts)
        if others:
            findings.append(Finding("labelled.only", {"prefix": self.prefix, "n": others}))
        metrics: dict[str, float] = {"labelled.judged": len(rows), "labelled.failed": len(first) - len(rows)}
        margin = margin_of(judged.rubric, self.margin)
        evidence = examine(judged, first, self.order, margin, self.level, rng)
        ruling = verdict(LABELLED, evidence)
        sentence = ruling.finding
        if rows.empty:
            return [AnalysisResult(self.name, metrics, findings=findings, verdict=sentence, standing=ruling.standing)]

        accuracy = self._accuracy(rows, "score", rng)
        metrics |= {f"labelled.{k}": v for k, v in accuracy._asdict().items() if v is not None and k != "n"}
        findings += _say(accuracy)
        label = rows["label"].to_numpy(dtype=np.float64)
        constant = float(np.mean(constant_errors(label, units(rows))))
        metrics["labelled.mae_of_constant"] = constant
        findings.append(Finding("labelled.constant", {"mae": constant, "median": float(np.median(label))}))
        numbers, said = _evidence(evidence)
        metrics |= numbers
        findings += said

        tables = {"by_label": _by_label(judged, rows)}
        for table, column in (("by_class", "condition"), ("by_register", "metadata.register")):
            if column in rows and rows[column].notna().any():
                tables[table] = _by(rows, column, table.removeprefix("by_"))
        numbers, said, broken = self._intervals(rows)
        metrics |= numbers
        findings += said
        if broken:
            sentence = Finding("labelled.verdict_promise", {"verdict": sentence} | dict(said[0].values))
        figures, missing = _figures(judged, rows)
        numbers, said, tables_of, drawn = self._calibration(judged, rows, rng)
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics | numbers,
                tables=tables | tables_of,
                findings=[*findings, *said, *missing],
                figures=[*figures, *drawn],
                verdict=sentence,
                standing=ruling.standing,
                headline="labelled.spearman" if accuracy.spearman is not None else None,
            )
        ]

    def _used(self, judged: Judged) -> tuple[pd.DataFrame, int]:
        """The labelled texts to compare, judged or not, and how many other labelled texts there are."""
        labelled = judged.frame[(judged.frame["repeat"] == 0) & judged.frame["label"].notna()]
        if self.prefix is None:
            return labelled, 0
        chosen = labelled[labelled["condition"].map(lambda c: isinstance(c, str) and c.startswith(str(self.prefix)))]
        return (chosen, len(labelled) - len(chosen)) if len(chosen) else (labelled, 0)

    def _accuracy(self, rows: pd.DataFrame, column: str, rng: np.random.Generator) -> Accuracy:
        from sklearn.metrics import root_mean_squared_error

        score, label = rows[column].to_numpy(dtype=np.float64), rows["label"].to_numpy(dtype=np.float64)
        groups = units(rows)
        n = score.size
        order = agreement.correlation("spearman", score, label).estimate if n >= 3 else None
        linear = agreement.correlation("pearson", score, label).estimate if n >= 3 else None
        enough = len(set(groups)) >= FEWEST_GROUPS
        ranks = error = lines = None
        if enough:
            lines = coefficients.correlation_interval("pearson", score, label, rng, self.level, groups=groups)
            error = ranking.mean_absolute_error(label, score, self.level, groups=groups)
            if order is not None:
                ranks = limits.order(score, label, rng, groups=groups, level=self.level)
        return Accuracy(
            n=n,
            spearman=order,
            spearman_low=None if ranks is None else ranks.low,
            spearman_high=None if ranks is None else ranks.high,
            pearson=linear,
            pearson_low=None if lines is None else lines.low,
            pearson_high=None if lines is None else lines.high,
            mae=float(np.mean(np.abs(score - label))),
            mae_low=None if error is None else error.low,
            mae_high=None if error is None else error.high,
            rmse=float(root_mean_squared_error(label, score)),
            bias=float(np.mean(score - label)),
        )

    def _intervals(self, rows: pd.DataFrame) -> tuple[dict[str, float], list[Finding], bool]:
        """Do the judge's own intervals hold the label, and how wide are they? Last whether it is shown that they hold
        it less often than they promise."""
        given = rows[rows["low"].notna() & rows["high"].notna()]
        if given.empty:
            return {}, [], False
        inside = (given["low"] <= given["label"]) & (given["label"] <= given["high"])
        covered = limits.share(inside, units(given), self.level)
        width = float((given["high"] - given["low"]).mean())
        metrics = covered.metrics("labelled.coverage")
        metrics["labelled.interval_width"] = width
        values = {**covered.values("coverage"), "n": len(given), "width": width}
        if self.nominal is None:
            return metrics, [Finding("labelled.coverage", values)], False
        promised = values | {"nominal": self.nominal}
        return metrics, [Finding("labelled.coverage_promised", promised)], covered.high < self.nominal

    def _calibration(
        self, judged: Judged, rows: pd.DataFrame, rng: np.random.Generator
    ) -> tuple[dict[str, float], list[Finding], dict[str, pd.DataFrame], list[FigureData]]:
        """Raw and calibrated score on the texts that have both."""
        both = rows[rows["raw_score"].notna()]
        if both.empty or (both["raw_score"] == both["score"]).all():
            return {}, [], {}, []
        before, after = self._accuracy(both, "raw_score", rng), self._accuracy(both, "score", rng)
        table = pd.DataFrame([{"score": k} | a._asdict() for k, a in (("raw", before), ("calibrated", after))])
        metrics = {"labelled.raw_mae": before.mae, "labelled.raw_bias": before.bias, "labelled.raw_rmse": before.rmse}
        if before.spearman is not None:
            metrics["labelled.raw_spearman"] = before.spearman
        values: dict[str, Any] = {"n": before.n, "before": before.mae, "after": after.mae}
        values |= {"spearman_before": before.spearman, "spearman_after": after.spearman}
        figures = []
        if len(both) >= plots.FEWEST:
            columns = {"raw": "raw_score", "calibrated": "score", "label": "label"}
            data: dict[str, Any] = {name: both[column].tolist() for name, column in columns.items()}
            figures = [FigureData("calibration", "calibration", data | {"limits": plots.limits(judged.rubric)})]
        return metrics, [Finding("labelled.calibrated", values)], {"calibration": table}, figures


def _say(a: Accuracy) -> list[Finding]:
    order = {"spearman": a.spearman, "interval": (a.spearman_low, a.spearman_high), "pearson": a.pearson, "n": a.n}
    size = {"mae": a.mae, "interval": (a.mae_low, a.mae_high), "rmse": a.rmse}
    return [Finding("labelled.order", order), Finding("labelled.size", size)]


_BIAS = {"within": "bias_none", "beyond": "bias_matters", "against": "bias_matters", "open": "bias_open"}


def _evidence(evidence: LabelledEvidence) -> tuple[dict[str, float], list[Finding]]:
    """Metrics and sentences of what the verdict rests on: errors, bias, failures, surface."""
    metrics: dict[str, float] = {}
    findings: list[Finding] = []
    gain, bias, follows, margin = evidence.gain, evidence.bias, evidence.follows, evidence.margin
    if gain is not None and bias is not None:
        metrics |= gain.judged.estimate.metrics("labelled.gain")
        metrics |= bias.judged.estimate.metrics("labelled.bias")
        values: dict[str, Any] = gain.judged.estimate.values("gain")
        findings.append(Finding("labelled.gain", values))
        known = "bias_no_margin" if bias.judged.outcome == "within" and not margin.equivalence else None
        values = bias.judged.estimate.values("bias")
        values |= {"margin": margin.value, "said": known or _BIAS[bias.judged.outcome]}
        findings.append(Finding("labelled.bias", values))
        if evidence.failed:
            values = {"failed": evidence.failed, "gain": (gain.worst.estimate.value, gain.best.estimate.value)}
            values |= {"bias": (bias.worst.estimate.value, bias.best.estimate.value)}
            findings.append(Finding("labelled.bounds", values))
            if follows is not None:
                metrics |= {"labelled.spearman_worst": follows.worst_low, "labelled.spearman_best": follows.best_high}
                values = {"worst": follows.worst_low, "best": follows.best_high}
                findings.append(Finding("labelled.bounds_order", values))
    if evidence.rival is not None:
        numbers, said = labelled_rival.say_labelled(evidence.rival)
        metrics |= numbers
        findings += said
    return metrics, findings


def _by(rows: pd.DataFrame, column: str, name: str) -> pd.DataFrame:
    """Number, means, bias and error per group, the worst first."""
    table = _errors(rows, rows[column].to_numpy(dtype=object))
    ordered = table.sort_values("mae", ascending=False, kind="stable")
    return ordered.rename_axis(name).reset_index()


def _by_label(judged: Judged, rows: pd.DataFrame) -> pd.DataFrame:
    """Per tenth of the scale that the label lies in: where on the scale the score is too high or too low."""
    edges = np.linspace(judged.rubric.minimum, judged.rubric.maximum, _TENTHS + 1)
    tenth = np.clip(np.searchsorted(edges, rows["label"].to_numpy(), side="right") - 1, 0, _TENTHS - 1)
    table = _errors(rows, tenth).reset_index(names="tenth")
    table.insert(0, "label_from", edges[table["tenth"]])
    table.insert(1, "label_to", edges[table["tenth"] + 1])
    return table.drop(columns="tenth")


def _errors(rows: pd.DataFrame, groups: NDArray[Any]) -> pd.DataFrame:
    error = rows["score"] - rows["label"]
    numbers = pd.DataFrame({"label": rows["label"], "score": rows["score"], "bias": error, "mae": error.abs()})
    grouped = numbers.groupby(groups)
    table = grouped.mean().rename(columns={"label": "mean_label", "score": "mean_score"})
    table.insert(0, "n", grouped.size())
    return table


def _figures(judged: Judged, rows: pd.DataFrame) -> tuple[list[FigureData], list[Finding]]:
    if len(rows) < plots.FEWEST:
        return [], [plots.too_few("scatter", len(rows))]
    data: dict[str, Any] = {
        "x": rows["label"].tolist(),
        "y": rows["score"].tolist(),
        "x_label": "label",
        "y_label": "score",
        "identity": True,
        "limits": plots.limits(judged.rubric),
    }
    if rows["condition"].notna().all():
        data["groups"] = rows["condition"].tolist()
    return [FigureData("scatter", "scatter", data)], []


def constant_errors(labels: Array, groups: list[str]) -> Array:
    """The absolute error of always answering the median of the labels of other groups, shape (n,)."""
    codes = pd.factorize(np.asarray(groups, dtype=object))[0]
    folds = codes % min(_FOLDS, int(codes.max()) + 1)
    errors = np.empty(labels.size)
    for fold in np.unique(folds):
        own = folds == fold
        others = labels[~own] if not own.all() else labels
        errors[own] = np.abs(labels[own] - np.median(others))
    return errors


def examine(
    judged: Judged, rows: pd.DataFrame, order: float, margin: Margin, level: float, rng: np.random.Generator
) -> LabelledEvidence:
    """The numbers of labelled texts, judged and failed, that the verdict rests on.

    Args:
        judged: The run.
        rows: Its labelled rows, first repeat.
        order, margin, level: What was asked.
        rng: For the bootstrap.
    """
    done = rows[rows["error"].isna()]
    score, label = rows["score"].to_numpy(dtype=np.float64), rows["label"].to_numpy(dtype=np.float64)
    scored = ~np.isnan(score)
    n, n_groups = int(scored.sum()), len(set(units(done)))
    same_score, same_label = (_same(values[scored]) for values in (score, label))
    evidence = LabelledEvidence(order, margin, level, n, rows.shape[0] - n, n_groups, same_score, same_label)
    if n_groups < FEWEST_GROUPS:
        return evidence
    gain, bias = _gain_and_bias(judged, score, label, units(rows), margin.value, level)
    if same_score is not None or same_label is not None:
        return evidence._replace(gain=gain, bias=bias)
    evidence = evidence._replace(
        follows=limits.order(score, label, rng, groups=units(rows), level=level), gain=gain, bias=bias
    )
    if evidence.follows is None or evidence.held.outcome != "above":
        return evidence
    texts = done["text"].tolist()
    seen = labelled_rival.seen_of(judged, texts)
    rival = labelled_rival.labelled_rival(texts, score[scored], label[scored], units(done), rng, level=level, seen=seen)
    return evidence._replace(rival=rival, counts=len(seen.columns))


def _same(values: Array) -> float | None:
    return float(values[0]) if values.size and checks.is_constant(values) else None


def _gain_and_bias(
    judged: Judged, score: Array, label: Array, groups: list[str], margin: float, level: float
) -> tuple[Bounded, Bounded]:
    """Error smaller than the constant answer's, and bias, each against its margin."""
    bottom, top = judged.rubric.minimum, judged.rubric.maximum
    given = ~np.isnan(score)
    constant = constant_errors(label, groups)
    farthest = np.where(label - bottom > top - label, bottom, top)
    fills: dict[str, list[Array | float]] = {"gain": [farthest, label], "bias": [bottom, top]}

    def bounded(name: str, margin: float) -> Bounded:
        def held(filled: Array, kept: NDArray[np.bool_]) -> Claim:
            values = constant - np.abs(filled - label) if name == "gain" else filled - label
            own = [group for group, one in zip(groups, kept, strict=True) if one]
            return claim(values[kept], margin, alpha=1 - level, groups=own, bounds=(bottom - top, top - bottom))

        alone = held(score, given)
        if given.all():
            return Bounded(alone, alone, alone)
        every = np.ones(score.size, dtype=np.bool_)
        return Bounded(alone, *(held(np.where(given, score, fill), every) for fill in fills[name]))

    return bounded("gain", 0.0), bounded("bias", margin)
