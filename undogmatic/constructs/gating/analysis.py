"""Compares judges of predicted hierarchies with what can be measured of them: do they follow the
automatic metrics?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from undogmatic.examinations.association import partial
from undogmatic.examinations.base import (
    Correlation,
    Limited,
    Share,
    check_groups,
    family_level,
    need,
)
from undogmatic.examinations.reliability import FEWEST_GROUPS
from undogmatic.examinations.ruling import Rule, Rules, Values, always, known, verdict
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import check_order, units
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Told
from undogmatic.stats import agreement, checks, limits, means
from undogmatic.stats.estimate import Estimate

F1, GATES, DEFECT = "metadata.automatic_f1", "metadata.gates", "metadata.defect"
_LIKEWISE = (
    "precision",
    "recall",
    "structure_accuracy",
    "critical_recall",
    "hallucination_rate",
    "depth_accuracy",
)
MEASURED = {"automatic_f1": "f1"} | dict(zip(_LIKEWISE, _LIKEWISE, strict=True))
"""Metadata of the dataset, and what the report calls it."""
COUNTERPARTS = {
    OVERALL: "automatic_f1",
    "f1": "automatic_f1",
    "completeness": "recall",
    "accuracy": "precision",
}
COUNTERPARTS |= {
    "structure": "structure_accuracy",
    "critical_recall": "critical_recall",
}
"""Criterion -> the metric that measures the same, or the nearest to it."""


@dataclass(frozen=True)
class JudgeFacts:
    """Holds how the overall score of one judge follows F1, over `n` judged predictions in `groups`.

    `overall`: it gives an overall score at all. `constant`: it gives the same one throughout, and
    `whole` says that no judgment failed and that so many groups show that it cannot follow F1, for
    which `needed` are enough. `found` is the rank correlation, None where there is none, `outcome`
    what it shows of `order`, and `beyond` the correlation at an equal number of gates.
    """

    judge: str
    n: int
    groups: int
    level: float
    order: float
    needed: int
    overall: bool
    constant: bool
    whole: bool = False
    found: Estimate | None = None
    outcome: limits.Outcome | None = None
    beyond: Estimate | None = None


def _counted(facts: JudgeFacts) -> Values:
    return {
        "judge": facts.judge,
        "n": facts.n,
        "groups": facts.groups,
        "level": facts.level,
        "order": facts.order,
        "needed": facts.needed,
    }


def _held(facts: JudgeFacts) -> Values:
    found = known(facts.found)
    return {
        "judge": facts.judge,
        "n": facts.n,
        "groups": facts.groups,
        "level": facts.level,
        "order": facts.order,
        "spearman": found.value,
        "interval": found.interval,
    }


def _held_beyond(facts: JudgeFacts) -> Values:
    beyond = known(facts.beyond)
    return _held(facts) | {"beyond": beyond.value, "beyond_interval": beyond.interval}


JUDGE = Rules[JudgeFacts](
    "gating.judge_",
    (
        Rule("no_overall", "undecided", lambda f: not f.overall, _counted),
        Rule("few", "undecided", lambda f: f.groups < FEWEST_GROUPS, _counted),
        # A judge that says the same of everything has no rank correlation. It is
        # refuted where so many groups rule one out, and only where no judgment failed:
        # one that did might have said something else.
        Rule("constant", "refuted", lambda f: f.constant and f.whole, _counted),
        Rule("constant", "undecided", lambda f: f.constant, _counted),
        Rule("same_f1", "undecided", lambda f: f.found is None, _counted),
        Rule("reversed", "refuted", lambda f: known(f.found).best_high < 0, _held),
        Rule("below", "refuted", lambda f: f.outcome == "below", _held),
        Rule("open", "undecided", lambda f: f.outcome == "open", _held),
        Rule("missing", "undecided", lambda f: f.outcome == "missing", _held),
        # F1 may go with the number of gates, and then whoever merely counts them
        # follows it, too.
        Rule("size", "undecided", lambda f: not known(f.beyond).low > 0, _held_beyond),
        Rule("follows", "supported", always, _held_beyond),
    ),
)


@dataclass(frozen=True)
class GatingFacts:
    """Names the judges by what is shown of whether they follow F1."""

    order: float
    level: float
    refuted: Sequence[str]
    undecided: Sequence[str]
    supported: Sequence[str]


def _named(facts: GatingFacts, judges: Sequence[str]) -> Values:
    return {"order": facts.order, "level": facts.level, "judges": judges}


# The claim is about all judges, so one that is refuted refutes it, and one that is open
# leaves it open.
GATING = Rules[GatingFacts](
    "gating.verdict_",
    (
        Rule("refuted", "refuted", lambda f: f.refuted, lambda f: _named(f, f.refuted)),
        Rule(
            "undecided",
            "undecided",
            lambda f: f.undecided or not f.supported,
            lambda f: _named(f, f.undecided),
        ),
        Rule("supported", "supported", always, lambda f: _named(f, f.supported)),
    ),
)


@dataclass(frozen=True)
class GatingAnalysis(Limited):
    """Automatic metrics by fault and by system, predictions that are no hierarchy by defect, and
    whether each judge's criteria follow the metric that measures the same. Predictions of one case
    are one unit.

    The claim is about the overall score and F1: the whole interval of their rank correlation lies
    above `order`, and it stays above 0 between predictions with equally many gates, or counting
    gates would do as well.

    Args:
        order: The rank correlation that the lower limit must exceed.
        level: Confidence level of every interval; for several judges, of those of all together.
    """

    name: ClassVar[str] = "gating"
    long: ClassVar[bool] = True
    order: Correlation = 0.5
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited without F1 per item, DataError for more conditions or systems than can be
        compared."""
        check_order(self.name, judged.rubric)
        need(judged, self.name, F1)
        for column in ("condition", "metadata.system"):
            if column in judged.frame:
                check_groups(
                    self.name,
                    column,
                    judged.frame[column].dropna().unique(),
                    "leave the column out",
                )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `gating.spearman`, the lowest of the judges'."""
        self.check(judged)
        tell = Told(self.name)
        first = judged.first()
        self._tell_predictions(tell, first.drop_duplicates("item_id"))
        judges = [str(judge) for judge in first["judge"].dropna().unique()]
        level = family_level(self.level, max(1, len(judges)))
        known = first[first[F1].notna()]
        rulings = [
            verdict(JUDGE, self._followed(tell, known, judge, level, rng))
            for judge in judges
        ]
        tell.findings += [ruling.finding for ruling in rulings]
        if failed := len(
            known[known["error"].notna()].drop_duplicates(["item_id", "judge"])
        ):
            tell.say("failed", n=failed)
        self._tell_tracking(tell, judged, known, rng, level)
        correlations = [
            ruling.facts.found for ruling in rulings if ruling.facts.found is not None
        ]
        tell.number(
            min(correlations, key=lambda each: each.value, default=None), "spearman"
        )
        facts = GatingFacts(
            order=self.order,
            level=level,
            refuted=[one.facts.judge for one in rulings if one.standing == "refuted"],
            undecided=[
                one.facts.judge for one in rulings if one.standing == "undecided"
            ],
            supported=[
                one.facts.judge for one in rulings if one.standing == "supported"
            ],
        )
        ruling = verdict(GATING, facts)
        return [
            tell.result(
                *ruling.decided, headline="gating.spearman" if correlations else None
            )
        ]

    def _tell_predictions(self, tell: Told, items: pd.DataFrame) -> None:
        """What was predicted, before anybody judges it."""
        measured = items[items[F1].notna()]
        malformed = len(items) - len(measured)
        tell.number(len(items), "predictions", unit="count")
        tell.number(malformed, "malformed", unit="count")
        tell.say(
            "predictions",
            n=len(measured),
            total=len(items),
            cases=int(measured["group"].nunique()),
        )
        if malformed:
            tell.say("malformed", n=malformed)
            counts = items[DEFECT].value_counts()
            tell.tables["defects"] = counts.rename_axis("defect").reset_index(name="n")
            for kind, n in counts.items():
                tell.number(int(n), "defect", str(kind), unit="count")
        columns = {
            f"metadata.{name}": label
            for name, label in MEASURED.items()
            if f"metadata.{name}" in measured
        }
        rows = []
        for column, label in columns.items():
            if not (having := measured[measured[column].notna()]).empty:
                average = float(having[column].mean())
                rows.append({"metric": label, "n": len(having), "average": average})
                if having["group"].nunique() > 1:
                    held = means.interval(
                        having[column],
                        self.level,
                        groups=units(having),
                        bounds=(0.0, 1.0),
                    )
                    rows[-1] |= {"low": held.low, "high": held.high}
                tell.number(average, "mean", label)
        tell.tables["metrics"] = pd.DataFrame(rows)
        for name, column in (("condition", "condition"), ("system", "metadata.system")):
            # means per group, the lowest F1 first
            if column in measured and measured[column].notna().any():
                grouped = measured.rename(columns=columns).groupby(column, sort=False)
                table = pd.concat(
                    [
                        grouped.size().rename("n"),
                        grouped[list(columns.values())].mean(),
                    ],
                    axis=1,
                )
                table = (
                    table.sort_values("f1", kind="stable")
                    .rename_axis(name)
                    .reset_index()
                )
                tell.table(f"by_{name}", table, hallucination_rate="share")

    def _followed(
        self,
        tell: Told,
        known: pd.DataFrame,
        judge: str,
        level: float,
        rng: np.random.Generator,
    ) -> JudgeFacts:
        """How the overall score of one judge follows F1, failures of it included."""
        rows = known[(known["judge"] == judge) & (known["criterion"] == OVERALL)]
        done = rows[rows["score"].notna()]
        n_groups = done["group"].nunique()
        enough = n_groups >= FEWEST_GROUPS
        facts = JudgeFacts(
            judge=judge,
            n=len(done),
            groups=n_groups,
            level=level,
            order=self.order,
            needed=FEWEST_GROUPS,
            overall=not rows.empty,
            constant=enough
            and checks.is_constant(done["score"].to_numpy(dtype=np.float64)),
        )
        found = None
        if facts.constant:
            shown = limits.most_order(n_groups, level) < self.order
            facts = replace(
                facts,
                whole=len(done) == len(rows) and shown,
                needed=limits.fewest_same(self.order, level),
            )
        elif facts.overall and enough:
            found = limits.order(
                rows["score"], rows[F1], rng, groups=units(rows), level=level
            )
        if found is not None:
            beyond = partial(
                done["score"].rank(),
                done[F1].rank(),
                done[GATES].rank(),
                done["group"],
                rng,
                level,
            )
            outcome = limits.hold(found, self.order).outcome
            facts = replace(facts, found=found, outcome=outcome, beyond=beyond)
        if facts.n > 2:
            groups = (
                {"groups": done["condition"].tolist()}
                if done["condition"].notna().all()
                else {}
            )
            groups |= {"ids": done["item_id"].tolist()}
            points = {
                "x": done[F1].tolist(),
                "y": done["score"].tolist(),
                "x_label": "f1",
                "y_label": "score",
            }
            tell.draw(f"scatter_{judge}", "scatter", **points, **groups)
        return facts

    def _tell_tracking(
        self,
        tell: Told,
        judged: RunEvidence,
        known: pd.DataFrame,
        rng: np.random.Generator,
        level: float,
    ) -> None:
        """A row per judge and criterion that a metric measures: rank correlation, error and bias in
        shares."""
        rows = []
        for (judge, criterion), both in known.groupby(
            ["judge", "criterion"], sort=False
        ):
            metric = COUNTERPARTS.get(str(criterion), "")
            if (column := f"metadata.{metric}") not in both:
                continue
            having = both[both[column].notna()]
            done = having[having["score"].notna()]
            share = done["score"].map(judged.rubric.share)
            away, whole = share - done[column], None
            if len(done) >= 4:
                whole = agreement.correlation(
                    "spearman", share.to_numpy(), done[column].to_numpy()
                ).estimate
            held = None
            if whole is not None and done["group"].nunique() >= FEWEST_GROUPS:
                held = limits.order(
                    having["score"],
                    having[column],
                    rng,
                    groups=units(having),
                    level=level,
                )
            numbers = {"spearman": np.nan if whole is None else whole}
            numbers |= {
                end: np.nan if held is None else getattr(held, end)
                for end in ("low", "high")
            }
            numbers |= {"mae": float(away.abs().mean()), "bias": float(away.mean())}
            rows.append(
                {
                    "judge": judge,
                    "criterion": criterion,
                    "metric": MEASURED[metric],
                    "n": len(done),
                    **numbers,
                }
            )
            for name, number in numbers.items():
                tell.number(
                    number if np.isfinite(number) else None,
                    name,
                    str(judge),
                    str(criterion),
                )
        if rows:
            tell.tables = {"tracking": pd.DataFrame(rows)} | tell.tables
