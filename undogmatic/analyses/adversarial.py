"""Attacks: texts with the fault, dressed so that a careless judge takes them for texts without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots
from undogmatic.analyses.base import Judged, Unsuited, check_groups, check_level, failed_finding, family_level
from undogmatic.analyses.controls import Class, class_of, surface_of_classes, told
from undogmatic.analyses.rivals import Outcome, Seen
from undogmatic.analyses.ruling import ADVERSARIAL, verdict
from undogmatic.analyses.truth import check_order
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats import checks, limits, means, ranking
from undogmatic.stats.limits import Held

PREFIX = "attack:"
HALF = 0.5


Success = Literal["midpoint", "baseline_95"]


@dataclass(frozen=True)
class AdversarialAnalysis:
    """Per attack: is it still told from texts without the fault, and how often does it pass for one?

    Args:
        baseline: Conditions without the fault; those that the dataset has are pooled.
        treatment: Conditions with the same fault undressed; pooled; without any there is no mean shift.
        success: When an attack counts as successful: it scores on the good side of the middle of the scale, or within
            the 95 % of baseline texts that score best.
        level: Confidence level of the intervals of all attacks together; each has a higher one (Bonferroni).
    """

    name: ClassVar[str] = "adversarial"
    baseline: Sequence[str]
    treatment: Sequence[str]
    success: Success = "midpoint"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        checks.option(self.success, "success", get_args(Success))

    def check(self, judged: Judged) -> None:
        """Raises Unsuited if the dataset has no attacks or no baseline to compare them with, DataError for too many."""
        check_order(self.name, judged.rubric)
        judged.check_surface()
        present = judged.conditions()
        has = f" (it has: {', '.join(sorted(present)[:12])})" if present else ""
        if not _attacks(judged):
            raise Unsuited(
                f"analysis=adversarial needs texts with a condition that starts with '{PREFIX}', which the dataset "
                f"does not have{has}. Use dataset=curated."
            )
        if not set(self.baseline) & set(present):
            raise Unsuited(
                "analysis=adversarial compares attacks with texts without the fault: condition "
                f"{' or '.join(self.baseline)}, which the dataset does not have{has}. Use dataset=curated, or name "
                "your own conditions in `analysis.baseline`."
            )
        check_groups(self.name, "condition", _attacks(judged), "choose another `analysis=`")

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `adversarial.auc_worst`, the AUC of the attack that works best on this judge."""
        self.check(judged)
        present, attacks = judged.conditions(), _attacks(judged)
        used = {
            "baseline": [c for c in self.baseline if c in present],
            "treatment": [c for c in self.treatment if c in present],
        }
        counts = judged.counts([*attacks, *used["baseline"], *used["treatment"]])
        metrics: dict[str, float] = {
            "adversarial.judged": int(counts["judged"].sum()),
            "adversarial.failed": int(counts["failed"].sum()),
        }
        findings = failed_finding(counts)
        baseline, treatment = judged.scores(*used["baseline"]), judged.scores(*used["treatment"])
        if not baseline.size or not any(judged.scores(a).size for a in attacks):
            ruling = verdict(ADVERSARIAL, AttacksHeld(used["baseline"], pd.DataFrame()))
            return [
                AnalysisResult(self.name, metrics, findings=findings, verdict=ruling.finding, standing=ruling.standing)
            ]

        honest = class_of(judged, *used["baseline"])
        table = self._table(judged, attacks, honest, treatment, counts)
        ruling, rival = verdict(ADVERSARIAL, AttacksHeld(used["baseline"], table)), None
        if ruling.standing == "supported":
            counts = len(Seen(judged.rubric.field_words).columns)
            rival = surface_of_classes(judged, attacks, used["baseline"], self.level, rng)
            ruling = verdict(ADVERSARIAL, ruling.evidence._replace(surface=rival.outcome, counts=counts))
        for row in table.to_dict("records"):
            attack = str(row["attack"]).removeprefix(PREFIX)
            metrics |= plots.interval(
                metric_name("adversarial.auc", attack), row["auc"], row["auc_low"], row["auc_high"]
            )
            metrics[metric_name("adversarial.success", attack)] = row["success_rate"]
            if not np.isnan(row["mean_shift"]):
                metrics[metric_name("adversarial.shift", attack)] = row["mean_shift"]
        worst = table.iloc[0]
        metrics |= {
            "adversarial.auc_worst": float(worst["auc"]),
            "adversarial.auc_mean": float(table["auc"].mean()),
            "adversarial.success_mean": float(table["success_rate"].mean()),
        }
        values: dict[str, Any] = {"attacks": len(table), "n": len(baseline), "baseline": used["baseline"]}
        findings.append(Finding("adversarial.against", values))
        each = family_level(self.level, len(table))
        findings.append(Finding("adversarial.family", {"attacks": len(table), "level": self.level, "each": each}))
        findings.append(
            Finding(
                "adversarial.worst",
                {
                    "attack": worst["attack"],
                    "n": int(worst["n"]),
                    "auc": float(worst["auc"]),
                    "interval": (float(worst["auc_low"]), float(worst["auc_high"])),
                    "success": float(worst["success_rate"]),
                },
            )
        )
        findings.append(Finding(f"adversarial.success_{self.success}", {"threshold": float(worst["threshold"])}))
        if rival is not None and rival.correlation is not None and rival.increment is not None:
            gain = rival.increment.estimate.interval
            values = {"surface": rival.correlation, "gain": rival.increment.estimate.value, "interval": gain}
            findings.append(Finding("adversarial.surface", values))
        if treatment.size:
            findings.append(Finding("adversarial.shift", {"n": treatment.size, "treatment": used["treatment"]}))
        else:
            findings.append(Finding("adversarial.no_treatment", {"treatment": list(self.treatment)}))
        tables = {"attacks": table.drop(columns="threshold")}
        if len(moved := movement(judged)):
            tables["movement"] = moved
            first, span = moved.iloc[0], (float(moved.iloc[0]["movement_low"]), float(moved.iloc[0]["movement_high"]))
            own = {"family": first["family"], "movement": float(first["movement"]), "interval": span}
            mean = float(moved["movement"].mean())
            findings.append(Finding("adversarial.movement", {"families": len(moved), "mean": mean} | own))
            metrics |= {"adversarial.movement_mean": mean, "adversarial.movement_worst": own["movement"]}
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables=tables,
                findings=findings,
                figures=[_forest(table)],
                verdict=ruling.finding,
                standing=ruling.standing,
                headline="adversarial.auc_worst",
            )
        ]

    def _table(
        self,
        judged: Judged,
        attacks: Sequence[str],
        honest: Class,
        treatment: NDArray[np.float64],
        counts: pd.DataFrame,
    ) -> pd.DataFrame:
        """One row per attack with a judged text, the most successful (lowest AUC) first."""
        classes = {attack: class_of(judged, attack) for attack in attacks}
        classes = {attack: own for attack, own in classes.items() if not np.isnan(own.scores).all()}
        level, baseline = family_level(self.level, len(classes)), honest.scores[~np.isnan(honest.scores)]
        sign, rubric = judged.sign, judged.rubric
        scale = (rubric.minimum, rubric.maximum) if sign > 0 else (-rubric.maximum, -rubric.minimum)
        failed = dict(zip(counts["condition"], counts["failed"], strict=True))
        threshold = sum(scale) / 2 if self.success == "midpoint" else float(np.percentile(baseline, 95))
        rows = []
        for attack, own in classes.items():
            scores = judged.scores(attack)
            shift = ranking.mean_shift(sign * scores, sign * treatment, self.level)
            apart = told(judged, own, honest, level)
            flags = np.where(np.isnan(own.scores), np.nan, own.scores < threshold)
            passed = limits.share(flags, own.groups, level)
            outcome, needed = _outcome(limits.hold(apart, HALF), limits.hold(passed, HALF))
            shift = shift if sign > 0 else -shift
            rows.append(
                {
                    "attack": attack,
                    "n": scores.size,
                    "failed": failed[attack],
                    "mean": float(scores.mean()),
                    "outcome": outcome,
                    "needed": needed,
                    "auc": apart.value,
                    "auc_low": apart.low,
                    "auc_high": apart.high,
                    "mean_shift": shift.value,
                    "mean_shift_low": shift.low,
                    "mean_shift_high": shift.high,
                    "success_rate": passed.value,
                    "success_low": passed.low,
                    "success_high": passed.high,
                    "threshold": sign * threshold,
                }
            )
        return pd.DataFrame(rows).sort_values(["auc", "attack"], kind="stable").reset_index(drop=True)


def movement(judged: Judged) -> pd.DataFrame:
    """How far scores move when text that has no part in a text is put into it, the worst family first.

    Copies name their text in the metadata `original`; their family is the condition behind its colon.

    Returns:
        A row per family with `n` copies whose text was judged, too: `movement`, the mean of the absolute differences,
        with an interval over groups, and `shift`, the mean difference. Without such copies, no row.
    """
    frame = judged.frame
    if "metadata.original" not in frame:
        return pd.DataFrame()
    scored = frame[(frame["repeat"] == 0) & frame["score"].notna()]
    copies = scored[scored["metadata.original"].isin(scored["item_id"])]
    before = copies["metadata.original"].map(scored.set_index("item_id")["score"]).to_numpy(dtype=float)
    shifts = copies["score"].to_numpy(dtype=float) - before
    families = np.array([str(condition).partition(":")[2] for condition in copies["condition"]], dtype=object)
    groups = copies["group"].to_numpy()
    rows = []
    for family in sorted(set(families)):
        own = families == family
        mean = means.interval(
            np.abs(shifts[own]), groups=groups[own], bounds=(0.0, judged.rubric.maximum - judged.rubric.minimum)
        )
        rows.append(
            {
                "family": family,
                "n": int(own.sum()),
                "movement": mean.value,
                "movement_low": mean.low,
                "movement_high": mean.high,
                "shift": float(shifts[own].mean()),
            }
        )
    found = pd.DataFrame(rows)
    return found.sort_values(["movement", "family"], ascending=[False, True]).reset_index(drop=True) if rows else found


def _attacks(judged: Judged) -> list[str]:
    return [c for c in judged.conditions() if c.startswith(PREFIX)]


def _forest(table: pd.DataFrame) -> FigureData:
    data = {
        "labels": table["attack"].tolist(),
        "estimate": table["auc"].tolist(),
        "low": table["auc_low"].tolist(),
        "high": table["auc_high"].tolist(),
        "reference": 0.5,
        "x_label": "auc",
    }
    return FigureData("attacks", "forest", data)


Attack = Literal["withstood", "succeeds", "missing", "open"]


def _outcome(apart: Held, passed: Held) -> tuple[Attack, float]:
    """What is shown of one attack, and how many of its texts would show more (NaN where that cannot be said)."""
    if passed.outcome == "above" or apart.outcome == "below":
        return "succeeds", np.nan
    if apart.outcome == "above" and passed.outcome == "below":
        return "withstood", np.nan
    undecided = [held for held in (apart, passed) if held.outcome == "open"]
    if not undecided:
        return "missing", np.nan
    return "open", float(np.max([np.nan if held.n_needed is None else held.n_needed for held in undecided]))


class AttacksHeld(NamedTuple):
    """What the verdict looks at: a row per attack with a judged text (`outcome`, `needed`), and what the surface judge
    came to, asked where all attacks are withstood."""

    baseline: Sequence[str]
    table: pd.DataFrame
    surface: Outcome | None = None
    counts: int = 0

    @property
    def total(self) -> int:
        """Of the attacks."""
        return len(self.table)

    def of(self, outcome: Attack) -> dict[str, Any]:
        """The attacks with this outcome, and how many of how many."""
        named = self.table.loc[self.table["outcome"] == outcome, "attack"].tolist() if self.total else []
        return {"attacks": named, "n": len(named), "total": self.total}

    @property
    def needed(self) -> int | None:
        """How many texts would decide all that is open, None where no number would."""
        needed = self.table.loc[self.table["outcome"] == "open", "needed"]
        return None if needed.isna().any() else int(needed.max())
