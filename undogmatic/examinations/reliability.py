"""Would the same judge say it again, and would another judge say it too?"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import NonNegativeFloat

from undogmatic.examinations.base import (
    Limited,
    Runs,
    Share,
    Unsuited,
    family_level,
    from_cache,
)
from undogmatic.examinations.ruling import Ruling, verdict
from undogmatic.examinations.ruling.reliability import (
    AGREEMENT,
    REPEATS,
    AgreementFacts,
    Repeated,
    RepeatsFacts,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import (
    Margin,
    bounded,
    check_order,
    margin_of,
    read_runs,
    units,
)
from undogmatic.records.results import Finding, Told
from undogmatic.stats import agreement, checks, limits, rated
from undogmatic.stats.agreement import back_to_back
from undogmatic.stats.claims import claim
from undogmatic.stats.estimate import Unit

FEWEST_ITEMS = 3
FEWEST_GROUPS = 10
"""Fewest independent texts for a verdict."""
# Krippendorff (2004), Content Analysis, p. 241: rely on 0.8 and above, draw tentative conclusions
# from 0.667.
RELIABLE, TENTATIVE = 0.8, 0.667
_REPEATED = ("pearson", "spearman")
_CORRELATIONS: tuple[agreement.Kind, ...] = ("pearson", "spearman", "kendall")
_COEFFICIENTS = (*_CORRELATIONS, "kappa")
_UNITS: dict[str, Unit] = dict.fromkeys(("exact_match", "cached_share"), "share")
_UNITS |= dict.fromkeys(
    ("max_difference", "mean_abs_difference", "sd_within"), "amount"
)
"""Of the numbers of repeats, of those that have one."""


@dataclass(frozen=True)
class ReliabilityAnalysis(Limited):
    """Repeats of this run against its first, and this run against others over the same items.

    Args:
        against: Folders of other runs, whose `judgments.jsonl` is read; their first repeat is used.
        tolerance: Largest difference that counts as the same score, in score units.
        margin: Largest difference that does not matter, in score units; None takes the rubric's.
        level: Confidence level of every interval, and the share within the limits of agreement.
    """

    name: ClassVar[str] = "reliability"
    against: Runs = ()
    tolerance: NonNegativeFloat = 0.0
    margin: NonNegativeFloat | None = None
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited without repeats and other runs, else ConfigError or DataError for a run
        that does not fit."""
        check_order(self.name, judged.rubric)
        if not judged.repeats and not self.against:
            raise Unsuited(
                "analysis=reliability compares repeats or runs, and there is one run with"
                " run.repeats=1. Set run.repeats=2, or name the folders of other runs over the same"
                " dataset: analysis.against=[outputs/DATE/TIME]."
            )
        read_runs(judged, self.against)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `reliability.alpha` with other runs, else
        `reliability.repeat.exact_match`."""
        self.check(judged)
        tell = Told(self.name)
        repeats = self._repeats(tell, judged)
        again = (
            Finding("reliability.again_unasked", {})
            if repeats is None
            else repeats.finding
        )
        ruling: Ruling[AgreementFacts] | Ruling[RepeatsFacts] | None
        ruling = self._agreement(tell, judged, again) or repeats
        assert ruling is not None, "there are repeats or other runs"
        wanted = ("reliability.alpha", "reliability.repeat.exact_match")
        return [
            tell.result(
                *ruling.decided,
                headline=next((key for key in wanted if key in tell.metrics), None),
            )
        ]

    def _repeats(self, tell: Told, judged: RunEvidence) -> Ruling[RepeatsFacts] | None:
        """Every later repeat against the first; the metrics are those of the worst."""
        frame, margin = judged.frame, margin_of(judged.rubric, self.margin)
        if not judged.repeats:
            return None
        scores = frame.pivot(index="item_id", columns="repeat", values="score")
        groups = judged.groups
        rows: list[dict[str, Any]] = []
        results = []
        for repeat in judged.repeats:
            both = scores[[0, repeat]].dropna()
            again = frame[
                (frame["repeat"] == repeat) & frame["item_id"].isin(both.index)
            ]
            # An answer from the cache is the first answer once more.
            n_cached = int(from_cache(again).sum())
            if len(both) < len(scores):
                tell.say(
                    "repeat_left_out", repeat=repeat + 1, n=len(scores) - len(both)
                )
            if len(both) < FEWEST_ITEMS:
                tell.say(
                    "repeat_too_few",
                    repeat=repeat + 1,
                    n=len(both),
                    needed=FEWEST_ITEMS,
                )
                continue
            first, second = both[0].to_numpy(), both[repeat].to_numpy()
            result = back_to_back(
                first,
                second,
                self.tolerance,
                self.level,
                groups=groups[both.index].tolist(),
            )
            results.append(result)
            row: dict[str, Any] = {
                "repeat": repeat + 1,
                "n": result.n,
                "pearson": result.pearson.estimate,
            }
            row |= {
                "spearman": result.spearman.estimate,
                "mean_difference": result.mean_difference,
            }
            row |= {
                "mean_abs_difference": result.mean_abs_difference,
                "max_difference": result.max_abs_difference,
            }
            row |= {
                "sd_within": result.sd_within,
                "exact_match_rate": result.exact_match.value,
                "n_cached": n_cached,
            }
            rows.append(row)
            if n_cached:
                tell.say("cached", repeat=repeat + 1, n=n_cached, total=len(both))
        if results:
            # The worst repeat is told, because a judge is as steady as it was when it
            # was least so.
            worst = min(
                results,
                key=lambda one: (one.exact_match.value, -one.max_abs_difference),
            )
            exact = worst.exact_match
            correlations = {name: getattr(worst, name).estimate for name in _REPEATED}
            numbers = {
                "exact_match": exact,
                "max_difference": max(row["max_difference"] for row in rows),
            }
            numbers |= {
                name: getattr(worst, name)
                for name in ("mean_abs_difference", "sd_within")
            }
            numbers |= {
                "cached_share": max(row["n_cached"] / row["n"] for row in rows)
            } | correlations
            for name, value in numbers.items():
                tell.number(value, "repeat", name, unit=_UNITS.get(name, ""))
            counts = {
                "n": worst.n,
                "matches": exact.hits,
                "largest": worst.max_abs_difference,
            }
            tell.say(
                "repeat",
                counts,
                exact.values("rate"),
                correlations,
                tolerance=self.tolerance,
            )
            tell.findings.insert(0, tell.findings.pop())  # it leads
            tell.table(
                "repeats", pd.DataFrame(rows), exact_match_rate="share", **_UNITS
            )
        # Each at a level that makes their intervals hold together.
        moved = [
            repeated(
                judged, repeat, margin, family_level(self.level, len(judged.repeats))
            )
            for repeat in judged.repeats
        ]
        claims = [(one.judged, one) for one in moved if one.judged is not None]
        _, worst_moved = max(
            claims, key=lambda claimed: claimed[0].estimate.value, default=(None, None)
        )
        facts = RepeatsFacts(
            margin=margin,
            level=self.level,
            few=FEWEST_GROUPS,
            least=min(moved, key=lambda one: one.n_groups),
            worst=worst_moved,
            open=next(
                (claimed for claimed, _ in claims if claimed.outcome != "within"), None
            ),
            all_cached=not any(one.n for one in moved)
            and any(one.n_cached for one in moved),
            n_cached=max(one.n_cached for one in moved),
            n_failed=max(one.n_failed for one in moved),
            constant=all(one.constant for one in moved),
            sure=all(
                one.worst is not None and one.worst.outcome == "within" for one in moved
            ),
        )
        return verdict(REPEATS, facts)

    def _agreement(
        self, tell: Told, judged: RunEvidence, again: Finding
    ) -> Ruling[AgreementFacts] | None:
        """Every pair of runs, and all runs at once."""
        others = read_runs(judged, self.against)
        if not others:
            return None
        own = judged.first().set_index("item_id")
        first, groups = own["score"], own["group"]
        margin = margin_of(judged.rubric, self.margin)
        scores = pd.DataFrame(
            {judged.name: first}
            | {o.name: o.scores.reindex(first.index) for o in others}
        )
        for other in others:
            if other.differs:
                tell.say("other_dataset", run=other.name)
        rows = []
        for a, b in itertools.combinations(scores.columns, 2):
            both = scores[[a, b]].dropna()
            if len(both) < len(scores):
                tell.say("left_out", a=a, b=b, n=len(scores) - len(both))
            if len(both) < FEWEST_ITEMS:
                tell.say("too_few", a=a, b=b, n=len(both), needed=FEWEST_ITEMS)
                continue
            x, y = both[a].to_numpy(), both[b].to_numpy()
            row = self._compare(
                x, y, groups[both.index].tolist(), judged.rubric.levels, margin
            )
            rows.append({"a": a, "b": b} | row)
            told = {
                key: row[key]
                for key in (
                    "n",
                    *_COEFFICIENTS,
                    "bias",
                    "change",
                    "bias_outcome",
                    "change_outcome",
                )
            }
            told |= {
                f"{name}_interval": (row[f"{name}_low"], row[f"{name}_high"])
                for name in ("bias", "change")
            }
            tell.say(
                "agreement",
                told,
                a=a,
                b=b,
                margin=margin.value,
                limits=(row["lower"], row["upper"]),
            )
            if a == judged.name:
                for key in _COEFFICIENTS:
                    tell.number(row[key], key, b)
                for key in ("bias", "lower", "upper", "change"):
                    tell.number(row[key], key, b, unit="change")
                name = (
                    f"bland_altman_{len(tell.drawings) + 1}"
                    if tell.drawings
                    else "bland_altman"
                )
                data = {
                    "a": a,
                    "b": b,
                    "mean": both.mean(axis=1).tolist(),
                    "difference": (x - y).tolist(),
                }
                data |= {key: row[key] for key in ("bias", "lower", "upper")} | {
                    "ids": both.index.tolist()
                }
                tell.draw(name, "bland_altman", **data, y_label=f"{a} − {b}")
        units: dict[str, Unit] = dict.fromkeys(("bias", "lower", "upper"), "change")
        tell.table("agreement", pd.DataFrame(rows), **units)
        return self._together(tell, judged, scores, groups, again)

    def _together(
        self,
        tell: Told,
        judged: RunEvidence,
        scores: pd.DataFrame,
        groups: pd.Series,
        again: Finding,
    ) -> Ruling[AgreementFacts]:
        """All runs at once; `again` says whether the judge repeats itself."""
        # A text with one score says nothing of agreement, and none of its values can be
        # paired.
        rated = scores.loc[scores.notna().sum(axis=1) >= 2]
        counts: dict[str, Any] = {"runs": len(scores.columns), "n": len(rated)}
        n_groups, held = int(groups[rated.index].nunique()), None
        if len(rated) >= FEWEST_ITEMS:
            alpha = agreement.krippendorff_alpha(rated.to_numpy().T).estimate
            tell.number(alpha, "alpha")
            if alpha is not None and n_groups >= FEWEST_GROUPS:
                ratings = scores.to_numpy(dtype=np.float64).T
                names = groups[scores.index].tolist()
                held = limits.alpha(
                    ratings, judged.scale, groups=names, level=self.level
                )
            interval = (None, None) if held is None else held.interval
            for end, value in zip(("low", "high"), interval, strict=True):
                tell.number(value, f"alpha_{end}")
            tell.say("alpha", counts, alpha=alpha, interval=interval)
        facts = AgreementFacts(
            runs=counts["runs"],
            n=counts["n"],
            groups=n_groups,
            few=FEWEST_GROUPS,
            alpha=held,
            reliable=None if held is None else limits.hold(held, RELIABLE).outcome,
            tentative=None if held is None else limits.hold(held, TENTATIVE),
            repeating=again,
        )
        return verdict(AGREEMENT, facts)

    def _compare(
        self,
        a: np.ndarray,
        b: np.ndarray,
        groups: list[str],
        levels: Sequence[float],
        margin: Margin,
    ) -> dict[str, Any]:
        """The row of two runs in the table of agreement."""

        def held(
            name: str, value: float | None, values: np.ndarray | None, **bounds: Any
        ) -> dict[str, Any]:
            """The columns of a mean that is held against the margin: itself, its limits and what
            they show."""
            low = high = None
            outcome = "is_open"
            if values is not None and len(set(groups)) > 1:
                mean = claim(
                    values, margin.value, alpha=1 - self.level, groups=groups, **bounds
                )
                low, high = mean.estimate.interval
                if mean.outcome == "within":
                    outcome = "is_none" if margin.equivalence else "no_margin"
                elif mean.outcome != "open":
                    outcome = "matters"
            return {
                name: value,
                f"{name}_low": low,
                f"{name}_high": high,
                f"{name}_outcome": outcome,
            }

        row: dict[str, Any] = {"n": len(a)}
        row |= {
            kind: agreement.correlation(kind, a, b).estimate for kind in _CORRELATIONS
        }
        first, second = (agreement.nearest_level(scores, levels) for scores in (a, b))
        row["kappa"] = agreement.weighted_kappa(first, second, levels).estimate
        ends = agreement.bland_altman(a, b, self.level)
        moved = rated.drift_values(a - b, (a + b) / 2, margin.span)
        row |= held("bias", ends.bias.value, a - b, bounds=(-margin.span, margin.span))
        row |= {"lower": ends.lower.value, "upper": ends.upper.value}
        row |= held("change", None if moved is None else float(moved.mean()), moved)
        return row | {"max_difference": float(np.max(np.abs(a - b)))}


def repeated(
    judged: RunEvidence, repeat: int, margin: Margin, level: float
) -> Repeated:
    """Hold the mean absolute difference of the scores of a text in a repeat and in the first
    against the margin, from FEWEST_GROUPS groups on."""
    frame, rubric = judged.frame, judged.rubric
    first = judged.first().set_index("item_id")
    again = frame[frame["repeat"] == repeat].set_index("item_id").loc[first.index]
    cached = from_cache(again).to_numpy()
    a, b = (
        rows["score"].to_numpy(dtype=np.float64)[~cached] for rows in (first, again)
    )
    groups = units(first[~cached])
    failed = np.isnan(a) | np.isnan(b)
    fresh = [group for group, lost in zip(groups, failed, strict=True) if not lost]
    scores = np.concatenate([a[~failed], b[~failed]])
    moved = Repeated(
        n=len(fresh),
        n_groups=len(set(fresh)),
        n_cached=int(cached.sum()),
        n_failed=int(failed.sum()),
        constant=bool(scores.size) and checks.is_constant(scores),
    )
    if moved.n_groups < FEWEST_GROUPS:
        return moved
    one = np.where(np.isnan(a), b, a)
    far = np.where(
        np.isnan(one),
        margin.span,
        np.maximum(one - rubric.minimum, rubric.maximum - one),
    )
    claims = bounded(
        np.abs(b - a), [far, 0.0], margin.value, level, groups, (0.0, margin.span)
    )
    return replace(moved, judged=claims.judged, worst=claims.worst, best=claims.best)
