"""Asks of the scores of a run what a check asks of verdicts beside people's labels, and besides how
often the judge's own intervals hold the label, and what calibration changed."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeFloat, NonNegativeInt

from undogmatic.examinations import of_run
from undogmatic.examinations.base import (
    FEWEST_DRAWN,
    Limited,
    Share,
    columns,
    count,
    need,
    too_few,
)
from undogmatic.examinations.check_figures import figures_of
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import check_scale, units
from undogmatic.records.checked import CheckOptions
from undogmatic.records.results import Finding, Told
from undogmatic.stats import agreement, limits


@dataclass(frozen=True)
class LabelledAnalysis(Limited):
    """Holds scores against `label`; texts of one group count once.

    Args:
        prefix: Use only the conditions that start so, where there are any: in a mixed dataset,
            controls and attacks have labels too, and analyses of their own. None uses every
            labelled text.
        least: The agreement beyond chance that its lower limit must exceed; None asks for what is
            usual for the kind of verdict.
        margin: Largest difference that does not matter, on the scale of the labels; None takes the
            rubric's.
        level, prevalence, epsilon, alpha, delta, ignore, seed, tried: See `CheckOptions`. The seed
            is not the run's, so that a check of the same verdicts gives the same answer.
        nominal: What share of labels the judge's own intervals claim to hold; None: they claim
            nothing.
    """

    name: ClassVar[str] = "labelled"
    long: ClassVar[bool] = True
    prefix: str | None = None
    least: Annotated[float, Field(ge=0, lt=1)] | None = None
    margin: NonNegativeFloat | None = None
    level: Share = 0.95
    prevalence: Share | None = None
    epsilon: Annotated[float, Field(ge=0, lt=1)] | None = None
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.1
    delta: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    ignore: tuple[str, ...] = ()
    seed: NonNegativeInt = 0
    tried: Annotated[int, Field(ge=1)] = 1
    nominal: Share | None = 0.9

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited if no text has a label, DataError for a label outside the scale."""
        need(judged, self.name, "label")
        judged.check_surface()  # which reads the texts that a rival was fitted on
        check_scale(judged.frame, "label", "label", judged.rubric)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result per judge and criterion; headline the agreement with people."""
        self.check(judged)
        # What is left out is counted, and told beside the answer.
        chosen, left_out = self._chosen(judged)
        asked = {
            name: getattr(self, name)
            for name in CheckOptions.model_fields
            if name in vars(self)
        }
        asked |= {"margin": self.margin or None, "ignore": tuple(self.ignore)}
        usual = {
            name: field.default for name, field in CheckOptions.model_fields.items()
        }
        # What is as usual is not stated: sentences say of it that it is the default.
        stated = {name: value for name, value in asked.items() if value != usual[name]}
        options = CheckOptions(**stated)
        parts = chosen.parts()
        return [
            each
            if each.verdict is None
            else self._beside(each, parts[each.part], left_out)
            for each in of_run.answers(self.name, chosen, options)
        ]

    def _chosen(self, judged: RunEvidence) -> tuple[RunEvidence, int]:
        """The run without the texts of other conditions, and how many labelled texts these are."""
        if self.prefix is None:
            return judged, 0
        begins = judged.frame["condition"].map(
            lambda name: str(name).startswith(str(self.prefix))
        )
        labelled = judged.frame["label"].notna()
        if not (begins & labelled).any():
            return judged, 0
        others = judged.frame.loc[~begins & labelled, "item_id"].nunique()
        return judged.with_rows(judged.frame[begins].reset_index(drop=True)), others

    def _beside(self, tell: Told, part: RunEvidence, left_out: int) -> Told:
        """The answer with what a run alone can say: failures, errors by class, the judge's own
        intervals, calibration, pictures."""
        labelled, ends = part.first().dropna(subset="label"), part.scale
        if tell.graded and part.graded is not None:
            labelled, ends = part.graded.rows(labelled), part.graded.ends
        # Verdict and label lie on one scale, so that "too high" means something.
        tell = replace(tell, directed=True)
        tell.findings = [*count(tell, labelled), *tell.findings]
        if left_out:
            tell.say("only", prefix=self.prefix, n=left_out)
        rows = labelled[labelled["error"].isna() & labelled["score"].notna()]
        if rows.empty:
            return tell
        if rows["condition"].notna().any():
            tell.tables["by_class"] = _by_class(rows)
        # A judge that agrees with people but is wrong about how sure it is must not pass.
        if self._promise_broken(tell, rows):
            values = {"verdict": tell.verdict} | dict(tell.findings[-1].values)
            answer = tell.answer.answer
            tell = replace(
                tell, verdict=Finding("labelled.verdict_promise", values, answer)
            )
        if len(rows) < FEWEST_DRAWN:
            tell.findings.append(too_few("scatter", len(rows)))
        elif tell.evidence.kind == "numeric":
            _draw(tell, ends, rows)
        else:
            tell.drawings += figures_of(tell.evidence.of(tell.judge, tell.criterion))
        _tell_calibration(tell, ends, rows)
        return tell

    def _promise_broken(self, tell: Told, rows: pd.DataFrame) -> bool:
        """Tell whether the judge's own intervals hold the label, and how wide they are. Returns
        whether it is shown that they hold it less often than they promise."""
        rows = rows.dropna(subset=["low", "high"])
        if rows.empty:
            return False
        inside = rows["label"].between(rows["low"], rows["high"])
        # Clopper and Pearson, who never err more often than they say: a promise is broken here.
        covered = limits.share(inside, units(rows), self.level)
        width = float((rows["high"] - rows["low"]).mean())
        tell.number(covered, "coverage", unit="share")
        tell.number(width, "interval_width", unit="amount")
        values = covered.values("coverage") | {"n": len(rows), "width": width}
        if self.nominal is None:
            tell.say("coverage", values)
            return False
        tell.say("coverage_promised", values, nominal=self.nominal)
        # Only where even the upper limit lies below; a few misses too many are chance.
        return covered.high < self.nominal


def _by_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Number, means, bias and error per condition, the largest error first."""
    error = rows["score"] - rows["label"]
    numbers = {
        "mean_label": rows["label"],
        "mean_score": rows["score"],
        "bias": error,
        "mae": error.abs(),
    }
    grouped = pd.DataFrame(numbers).groupby(rows["condition"].to_numpy(dtype=object))
    table = grouped.mean()
    table.insert(0, "n", grouped.size())
    table = table.sort_values("mae", ascending=False, kind="stable")
    return table.rename_axis("class").reset_index()


def _draw(tell: Told, ends: tuple[float, float], rows: pd.DataFrame) -> None:
    """Draw score against label, on a scale from one of the `ends` to the other."""
    data = columns(rows, x="label", y="score", ids="item_id")
    if rows["condition"].notna().all():
        data |= columns(rows, groups="condition")
    axes = {"x_label": "label", "y_label": "score", "identity": True, "limits": ends}
    tell.draw("scatter", "scatter", **data, **axes)


def _tell_calibration(
    tell: Told, ends: tuple[float, float], rows: pd.DataFrame
) -> None:
    """Tell what calibration changed, on the texts that have a score from before it."""
    both = rows[rows["raw_score"].notna()]
    # Nothing was calibrated, or the calibration changed nothing.
    if both.empty or (both["raw_score"] == both["score"]).all():
        return
    label = both["label"].to_numpy(dtype=np.float64)
    compared = list[dict[str, Any]]()
    for name, column in (("raw", "raw_score"), ("calibrated", "score")):
        score = both[column].to_numpy(dtype=np.float64)
        error = score - label
        order = None
        # Two texts make a correlation of 1 or -1.
        if len(both) > 2:
            order = agreement.correlation("spearman", score, label).estimate
        compared.append(
            {
                "score": name,
                "n": len(both),
                "spearman": order,
                "mae": float(np.abs(error).mean()),
                "rmse": float(np.sqrt((error**2).mean())),
                "bias": float(error.mean()),
            }
        )
    tell.tables["calibration"] = pd.DataFrame(compared)
    raw, calibrated = compared
    for name in ("mae", "bias", "rmse"):
        tell.number(raw[name], f"raw_{name}", unit="amount")
    tell.number(raw["spearman"], "raw_spearman")
    orders = {
        "spearman_before": raw["spearman"],
        "spearman_after": calibrated["spearman"],
    }
    tell.say(
        "calibrated", orders, n=len(both), before=raw["mae"], after=calibrated["mae"]
    )
    if len(both) >= FEWEST_DRAWN:
        data = columns(
            both, raw="raw_score", calibrated="score", label="label", ids="item_id"
        )
        tell.draw("calibration", "calibration", **data, limits=ends)
