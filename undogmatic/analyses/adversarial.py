"""Attacks: texts that lean on naked authority, dressed so that a careless judge takes them for an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses import plots
from undogmatic.analyses.base import (
    AnalysisResult,
    FigureData,
    Finding,
    Judged,
    Unsuited,
    check_level,
    failed_finding,
    metric_name,
)
from undogmatic.stats import ranking

PREFIX = "attack:"


@dataclass(frozen=True)
class AdversarialAnalysis:
    """Per attack: is it still told from honest explanations, and how often does it pass for one?

    Args:
        explained: Conditions of honest explanations; those that the dataset has are pooled.
        naked: Conditions of the same authority undressed; pooled; without any there is no mean shift.
        success: When an attack counts as successful: it scores on the good side of the middle of the scale, or within
            the 95 % of explained texts that score best.
        level: Confidence level of every interval.
    """

    name: ClassVar[str] = "adversarial"
    explained: Sequence[str] = ("explained_only", "gold:explained", "humble")
    naked: Sequence[str] = ("authority_only", "gold:naked", "hubristic")
    success: Literal["midpoint", "explained_95"] = "midpoint"
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited if the dataset has no attacks, or no explanations to compare them with."""
        present = judged.conditions()
        has = f" (it has: {', '.join(sorted(present)[:12])})" if present else ""
        if not _attacks(judged):
            raise Unsuited(
                f"analysis=adversarial needs texts with a condition that starts with '{PREFIX}', which the dataset "
                f"does not have{has}. Use dataset=curated."
            )
        if not set(self.explained) & set(present):
            raise Unsuited(
                "analysis=adversarial compares attacks with honest explanations: condition "
                f"{' or '.join(self.explained)}, which the dataset does not have{has}. Use dataset=curated, or name "
                "your own conditions in `analysis.explained`."
            )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `adversarial.auc_worst`, the AUC of the attack that works best on this judge."""
        self.check(judged)
        present, attacks = judged.conditions(), _attacks(judged)
        used = {
            "explained": [c for c in self.explained if c in present],
            "naked": [c for c in self.naked if c in present],
        }
        counts = judged.counts([*attacks, *used["explained"], *used["naked"]])
        metrics: dict[str, float] = {
            "adversarial.judged": int(counts["judged"].sum()),
            "adversarial.failed": int(counts["failed"].sum()),
        }
        findings = failed_finding(counts)
        explained, naked = judged.scores(*used["explained"]), judged.scores(*used["naked"])
        if not explained.size or not any(judged.scores(a).size for a in attacks):
            findings.append(Finding("adversarial.nothing_judged", {"conditions": used["explained"]}))
            return [AnalysisResult(name=self.name, metrics=metrics, findings=findings)]

        table = self._table(judged, attacks, explained, naked, counts)
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
        values: dict[str, Any] = {"attacks": len(table), "n": len(explained), "explained": used["explained"]}
        findings.append(Finding("adversarial.against", values))
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
        if naked.size:
            findings.append(Finding("adversarial.shift", {"n": naked.size, "naked": used["naked"]}))
        else:
            findings.append(Finding("adversarial.no_naked", {"naked": list(self.naked)}))
        return [
            AnalysisResult(
                name=self.name,
                metrics=metrics,
                tables={"attacks": table.drop(columns="threshold")},
                findings=findings,
                figures=[_forest(table)],
                verdict=_verdict(table),
                headline="adversarial.auc_worst",
            )
        ]

    def _table(
        self,
        judged: Judged,
        attacks: Sequence[str],
        explained: NDArray[np.float64],
        naked: NDArray[np.float64],
        counts: pd.DataFrame,
    ) -> pd.DataFrame:
        """One row per attack with a judged text, the most successful (lowest AUC) first."""
        sign, rubric = judged.sign, judged.rubric
        scale = (rubric.minimum, rubric.maximum) if sign > 0 else (-rubric.maximum, -rubric.minimum)
        failed = dict(zip(counts["condition"], counts["failed"], strict=True))
        rows = []
        for attack in attacks:
            scores = judged.scores(attack)
            if not scores.size:
                continue
            s = ranking.attack_summary(
                sign * scores,
                sign * explained,
                sign * naked if naked.size else None,
                self.success,
                scale,
                self.level,
            )
            ends = sorted(sign * e for e in (s.mean_shift_low, s.mean_shift_high) if e is not None) or [np.nan, np.nan]
            rows.append(
                {
                    "attack": attack,
                    "n": s.n_attack,
                    "failed": failed[attack],
                    "mean": float(scores.mean()),
                    "auc": s.auc.auc,
                    "auc_low": s.auc.low,
                    "auc_high": s.auc.high,
                    "mean_shift": np.nan if s.mean_shift is None else sign * s.mean_shift,
                    "mean_shift_low": ends[0],
                    "mean_shift_high": ends[1],
                    "success_rate": s.success_rate,
                    "success_low": s.success_low,
                    "success_high": s.success_high,
                    "threshold": sign * s.threshold,
                }
            )
        return pd.DataFrame(rows).sort_values(["auc", "attack"], kind="stable").reset_index(drop=True)


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


def _verdict(table: pd.DataFrame) -> Finding:
    """docs/verdicts.md, "Attacks"."""
    blind = table.loc[table["auc_low"] <= 0.5, "attack"].tolist()
    if blind:
        return Finding("adversarial.verdict_vulnerable", {"attacks": blind, "n": len(blind), "total": len(table)})
    passed = table.loc[table["success_rate"] > 0.5, "attack"].tolist()
    if passed:
        return Finding("adversarial.verdict_lenient", {"attacks": passed, "n": len(passed), "total": len(table)})
    return Finding("adversarial.verdict_withstood", {"total": len(table)})
