"""Attacks: texts with the fault, dressed so that a careless judge takes them for texts without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.base import Judged, Unsuited, check_groups, check_level, failed_finding, family_level
from undogmatic.analyses.controls import Class, beyond_surface, class_of, told
from undogmatic.analyses.rivals import Outcome
from undogmatic.analyses.ruling import ADVERSARIAL, verdict
from undogmatic.analyses.truth import check_order
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import checks, limits, means, ranking
from undogmatic.stats.estimate import Estimate
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
        tell, present, attacks = Telling(self.name), judged.conditions(), _attacks(judged)
        honest, undressed = ([c for c in names if c in present] for names in (self.baseline, self.treatment))
        counts = judged.counts([*attacks, *honest, *undressed])
        tell.metrics |= {f"adversarial.{name}": int(counts[name].sum()) for name in ("judged", "failed")}
        tell.findings += failed_finding(counts)
        baseline, treatment = judged.scores(*honest), judged.scores(*undressed)
        if not baseline.size or not judged.scores(*attacks).size:
            return [tell.result(*verdict(ADVERSARIAL, AttacksHeld(honest, pd.DataFrame())).decided)]

        table = self._table(judged, class_of(judged, *honest), treatment)
        evidence = AttacksHeld(honest, table)
        ruling, rival = beyond_surface(ADVERSARIAL, evidence, judged, attacks, honest, self.level, rng)
        rows: list[dict[str, Any]] = table.to_dict("records")
        for row in rows:
            attack = row["attack"].removeprefix(PREFIX)
            tell.number(Estimate(row["auc"], row["auc_low"], row["auc_high"]), "auc", attack)
            tell.number(row["success_rate"], "success", attack)
            if not np.isnan(row["mean_shift"]):
                tell.number(row["mean_shift"], "shift", attack)
        worst = rows[0]
        tell.number(worst["auc"], "auc_worst")
        tell.number(float(table["auc"].mean()), "auc_mean")
        tell.number(float(table["success_rate"].mean()), "success_mean")
        tell.say("adversarial.against", attacks=len(rows), n=baseline.size, baseline=honest)
        each = family_level(self.level, len(rows))
        tell.say("adversarial.family", attacks=len(rows), level=self.level, each=each)
        named = {name: worst[name] for name in ("attack", "n", "auc")} | {"success": worst["success_rate"]}
        tell.say("adversarial.worst", named, interval=(worst["auc_low"], worst["auc_high"]))
        tell.say(f"adversarial.success_{self.success}", threshold=worst["threshold"])
        if rival is not None and rival.correlation is not None and rival.increment is not None:
            tell.say("adversarial.surface", rival.increment.estimate.values("gain"), surface=rival.correlation)
        if treatment.size:
            tell.say("adversarial.shift", n=treatment.size, treatment=undressed)
        else:
            tell.say("adversarial.no_treatment", treatment=list(self.treatment))
        tell.tables["attacks"] = table.drop(columns="threshold")
        if len(moved := movement(judged)):
            tell.tables["movement"] = moved
            first, mean = moved.to_dict("records")[0], float(moved["movement"].mean())
            span = (first["movement_low"], first["movement_high"])
            values = {"family": first["family"], "movement": first["movement"], "interval": span}
            tell.say("adversarial.movement", values, families=len(moved), mean=mean)
            tell.number(mean, "movement_mean")
            tell.number(first["movement"], "movement_worst")
        columns = {"labels": "attack", "estimate": "auc", "low": "auc_low", "high": "auc_high"}
        data = {name: table[column].tolist() for name, column in columns.items()}
        tell.draw("attacks", "forest", **data, reference=HALF, x_label="auc")
        return [tell.result(*ruling.decided, headline="adversarial.auc_worst")]

    def _table(self, judged: Judged, honest: Class, treatment: NDArray[np.float64]) -> pd.DataFrame:
        """One row per attack with a judged text, the most successful (lowest AUC) first."""
        classes = {attack: class_of(judged, attack) for attack in _attacks(judged)}
        classes = {attack: own for attack, own in classes.items() if not np.isnan(own.scores).all()}
        level, baseline = family_level(self.level, len(classes)), honest.scores[~np.isnan(honest.scores)]
        sign, rubric = judged.sign, judged.rubric
        scale = (rubric.minimum, rubric.maximum) if sign > 0 else (-rubric.maximum, -rubric.minimum)
        threshold = sum(scale) / 2 if self.success == "midpoint" else float(np.percentile(baseline, 95))
        rows = []
        for attack, own in classes.items():
            failed = np.isnan(own.scores)
            scores = own.scores[~failed]
            shift = ranking.mean_shift(scores, sign * treatment, self.level)
            apart = told(judged, own, honest, level)
            passed = limits.share(np.where(failed, np.nan, own.scores < threshold), own.groups, level)
            outcome, needed = _outcome(limits.hold(apart, HALF), limits.hold(passed, HALF))
            row = {"attack": attack, "n": scores.size, "failed": int(failed.sum())}
            row |= {"mean": float((sign * scores).mean()), "outcome": outcome, "needed": needed}
            row |= apart.row("auc", "auc_") | (shift if sign > 0 else -shift).row("mean_shift", "mean_shift_")
            rows.append(row | passed.row("success_rate", "success_") | {"threshold": sign * threshold})
        return pd.DataFrame(rows).sort_values(["auc", "attack"], kind="stable").reset_index(drop=True)


def movement(judged: Judged) -> pd.DataFrame:
    """How far scores move when text that has no part in a text is put into it, the worst family first.

    Copies name their text in the metadata `original`; their family is the condition behind its colon.

    Returns:
        A row per family with `n` copies whose text was judged, too: `movement`, the mean of the absolute differences,
        with an interval over groups, and `shift`, the mean difference. Without such copies, no row.
    """
    if "metadata.original" not in judged.frame:
        return pd.DataFrame()
    scored = judged.scored()
    copies = scored[scored["metadata.original"].isin(scored["item_id"])]
    before = copies["metadata.original"].map(scored.set_index("item_id")["score"]).astype(np.float64)
    shifts = copies["score"] - before
    families = copies["condition"].map(lambda condition: str(condition).partition(":")[2])
    bounds, rows = (0.0, judged.rubric.maximum - judged.rubric.minimum), []
    for family, own in shifts.groupby(families):
        mean = means.interval(own.abs(), groups=copies.loc[own.index, "group"].tolist(), bounds=bounds)
        row = {"family": family, "n": own.size, **mean.row("movement", "movement_"), "shift": float(own.mean())}
        rows.append(row)
    found = pd.DataFrame(rows)
    return found.sort_values(["movement", "family"], ascending=[False, True]).reset_index(drop=True) if rows else found


def _attacks(judged: Judged) -> list[str]:
    return [c for c in judged.conditions() if c.startswith(PREFIX)]


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
