"""Weighs the pillars of every text into one number, and ranks the systems that made the texts by it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses.base import LongTable, NotNegative, Share, check_groups, family_level
from undogmatic.analyses.ruling import Rule, Rules, Ruling, always, verdict
from undogmatic.analyses.truth import Margin, check_order, margin_of
from undogmatic.constructs.faithfulness.pillars import (
    SYSTEM,
    Missing,
    Pillars,
    Scores,
    crossed,
    draw_heatmap,
    group_of_case,
    known,
)
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling, metric_name
from undogmatic.runs.folder import RunFolder
from undogmatic.stats import compare, means
from undogmatic.stats.claims import Claim, Outcome
from undogmatic.stats.compare import NOISE, Apart, Comparison, Differences
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.selection import ranks

ITEMS = "items_composite.csv"
MOST_CASES = 30
"""With more, neither rows of a heatmap nor marks of a case can be read."""


class SystemPair(NamedTuple):
    """Two systems, left minus right over cases: the claim (None where there is one group), and what the margin allows
    to say of it."""

    left: str
    right: str
    differences: Differences
    claim: Claim | None
    outcome: Outcome

    @property
    def needed(self) -> int | None:
        """Cases that would decide; None where it is decided, or no number would."""
        return self.claim.n_needed if self.claim is not None and self.outcome == "open" else None

    @property
    def interval(self) -> tuple[float, float]:
        """Of the difference; NaN where there is one group."""
        return (np.nan, np.nan) if self.claim is None else self.claim.estimate.interval

    def apart(self, alpha: float) -> Apart:
        """What the table of tests says of them, whatever its `alpha`."""
        return Apart(self.interval, self.outcome, self.needed)


class Systems(NamedTuple):
    """Systems over the cases that all have, which is what the verdict rests on: is one ahead of all others? `alpha` is
    what each pair's interval leaves out, so that all together hold with the level asked for (Bonferroni); `order` has
    the systems by their means, the highest first."""

    pairs: list[SystemPair]
    order: list[str]
    means: Mapping[str, float]
    margin: float
    alpha: float
    n: int
    groups: int

    def tests(self) -> pd.DataFrame:
        """A row per pair, with Holm's correction of the p-values; what is shown is decided by the intervals."""
        pairs = [
            Comparison(one.left, one.right, "", one.differences.mean, self.n, one.differences.p, one.apart)
            for one in self.pairs
        ]
        return compare.corrected(pairs, {"": 1}, by_interval=("",), alpha=self.alpha).table.drop(columns="measure")

    @property
    def ahead(self) -> list[SystemPair]:
        """The first system against every other, the second one first."""
        return [pair for pair in self.pairs if pair.left == self.order[0]]

    def needed(self) -> list[int | None]:
        """Cases that would decide each pair of the first system that is open."""
        return [pair.needed for pair in self.ahead if pair.outcome == "open"]

    def sentence(self) -> dict[str, Any]:
        """What sentences say of the first system and the one that comes next."""
        difference, claim = self.ahead[0].differences.mean, self.ahead[0].claim
        first, second = self.order[:2]
        values = {"first": first, "mean": float(self.means[first]), "n": self.n, "margin": self.margin}
        values |= {"second": second, "difference": difference}
        if claim is None:
            return values | {"interval": (None, None), "pair_level": 1 - self.alpha}
        return values | {"interval": claim.estimate.interval, "pair_level": claim.estimate.level}

    def few(self) -> dict[str, Any]:
        """What is said where no claim could be shown with so few groups."""
        nearest = self.ahead[0].claim
        values = {name: self.sentence()[name] for name in ("first", "mean", "second", "difference")}
        fewest = 2 if nearest is None else nearest.fewest
        return values | {"groups": self.groups, "systems": len(self.order), "fewest": fewest}


COMPOSITE = Rules("composite.verdict_", (
    Rule("one", "undecided", lambda e: len(e.order) < 2),
    Rule("none", "undecided", lambda e: not e.n),
    Rule("first", "supported", lambda e: all(pair.outcome == "beyond" for pair in e.ahead), Systems.sentence),
    Rule("equal", "refuted", lambda e: all(pair.outcome == "within" for pair in e.pairs),
         lambda e: {"systems": len(e.order), "margin": e.margin, "n": e.n}),
    Rule("few", "undecided", lambda e: any(p.claim is None or p.claim.reason == "too_few" for p in e.pairs),
         Systems.few),
    Rule("open_endless", "undecided", lambda e: None in e.needed(), Systems.sentence),
    Rule("open", "undecided", always, lambda e: e.sentence() | {"needed": max(e.needed(), default=0)}),
))  # fmt: skip
WITHHELD = Rules("composite.verdict_", (Rule("missing", "undecided", always, "missing total"),))


def compare_systems(table: pd.DataFrame, groups: Sequence[str], margin: Margin, level: float, power: float) -> Systems:
    """Every two systems over the cases.

    Args:
        table: Cases x systems without a missing value, high is good.
        groups: The independent unit of each case.
        margin: Smallest difference that matters.
        level: Of all intervals together.
        power: For the number of cases that would decide.
    """
    order = table.mean().round(NOISE).sort_values(ascending=False, kind="stable").index.tolist()
    names = list(itertools.combinations(order, 2))
    alpha = (1 - level) / max(1, len(names))
    pairs = []
    for left, right in names:
        differences = Differences(table[left] - table[right], [str(group) for group in groups])
        claim = differences.claim(margin.value, alpha, margin.span, power)
        outcome: Outcome = claim.outcome if claim is not None and margin.allows(claim.outcome) else "open"
        pairs.append(SystemPair(left, right, differences, claim, outcome))
    return Systems(pairs, order, dict(table.mean()), margin.value, alpha, len(table), len(set(map(str, groups))))


@dataclass(frozen=True)
class CompositeAnalysis:
    """Weighted mean of pillars, ranking of systems with intervals over cases, tests between every two.

    Args:
        weights, criteria, judges, missing: See `pillars.Pillars`.
        bands: Name -> lowest composite that bears it.
        margin: Smallest difference between systems that matters, in score units; None takes the rubric's.
        level: Confidence level of every interval, and of all tests between systems together.
        power: Wanted probability of finding a difference, for the number of cases that would decide.
        resamples: Bootstrap resamples over cases, for the places in the ranking.
        against: Folders of earlier runs with a composite over the same items: what changed since?
    """

    name: ClassVar[str] = "composite"
    long: ClassVar[bool] = True
    weights: Mapping[str, float]
    criteria: Mapping[str, Sequence[str]] = field(default_factory=dict)
    judges: Mapping[str, Sequence[str]] | None = None
    missing: Missing = "missing"
    bands: Mapping[str, float] = field(default_factory=dict)
    margin: NotNegative | None = None
    level: Share = 0.95
    power: Share = 0.8
    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = 5000
    against: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.pillars  # noqa: B018  checks the weights
        lows = list(self.bands.values())
        if lows != sorted(lows, reverse=True) or len(set(lows)) < len(lows):
            raise ConfigError(f"`analysis.bands` is {dict(self.bands)}; give the highest band first.")

    @property
    def pillars(self) -> Pillars:
        """What the composite is made of."""
        return Pillars(self.weights, self.criteria, {} if self.judges is None else self.judges, self.missing)

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited without systems or criteria, ConfigError for a judge that is not there."""
        check_order(self.name, judged.rubric)
        self.pillars.check(self.name, judged)
        made = judged.frame[SYSTEM].dropna().unique()
        check_groups(self.name, SYSTEM.removeprefix("metadata."), made, "compare fewer systems")

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `composite.best`, the mean of the system that comes first."""
        self.check(judged)
        tell, scores, margin = Telling(self.name), self.pillars.scores(judged), margin_of(judged.rubric, self.margin)
        table = crossed(scores.about, -judged.sign * scores.composite)
        whole = table.dropna()
        groups = group_of_case(scores.about, whole.index)
        systems = compare_systems(whole, groups, margin, self.level, self.power)
        ruling = verdict(COMPOSITE, systems._replace(means=dict(-judged.sign * whole.mean())))
        if scores.composite.isna().any() and ruling.standing != "undecided":
            ruling = self._withheld(ruling, judged, scores, margin)
        self._set_out(tell, scores, table, margin)
        if len(whole) and table.shape[1] > 1:
            self._rank(tell, judged, scores, whole, groups, systems, rng)
        by_judge = self._by_judge(tell, judged, scores)
        cases = crossed(scores.about, scores.composite)
        tell.tables["cases"] = cases.rename_axis(columns=None).reset_index()
        tell.tables["cases"].attrs["names"] = list(cases.columns)
        if 0 < len(cases) <= MOST_CASES:
            _draw_dots(tell, "cases", cases)
            for judge, own in self.pillars.by_judge(scores).items():
                grid, name = crossed(own.about, own.composite), metric_name(f"cases_{judge}")
                draw_heatmap(tell, name, grid, "composite", judge=judge, caption="cases_of")
            if len(by_judge):
                wide = by_judge.pivot(index="system", columns="voice", values="composite")
                wide = wide.reindex(index=by_judge["system"].unique(), columns=by_judge["voice"].unique())
                _draw_dots(tell, "by_judge", wide)
        self._compare_with_earlier(tell, judged, scores, margin)
        items = scores.about[["case", "system"]].assign(**dict(scores.pillars.items()), composite=scores.composite)
        headline = "composite.best" if "composite.best" in tell.metrics else None
        items = items.rename_axis("item_id").reset_index()
        return [tell.result(*ruling.decided, headline=headline, items=items)]

    def band(self, value: float) -> str:
        """The band of a composite; "below" under the lowest one."""
        return next((name for name, low in self.bands.items() if value >= low - 1e-12), "below")

    def _set_out(self, tell: Telling, scores: Scores, table: pd.DataFrame, margin: Margin) -> None:
        """Tell what the composite is made of, and what was left out of it."""
        incomplete, total = int(table.isna().any(axis=1).sum()), len(scores.composite)
        missing = int(scores.composite.isna().sum())
        tell.number(table.shape[1], "systems")
        tell.number(len(table) - incomplete, "cases")
        tell.number(incomplete, "cases_left_out")
        tell.number(missing, "missing")
        tell.number(scores.patched, "renormalised")
        tell.say("weights", weights={pillar: f"{weight:g}" for pillar, weight in self.weights.items()})
        for pillar, own in scores.voices.items():
            if own.shape[1] > 1:
                tell.say("voices", pillar=pillar, n=own.shape[1], judges=list(own.columns))
        if self.missing == "renormalise":
            tell.say("renormalised", n=scores.patched, total=total)
        if missing:
            where = {pillar: int(n) for pillar, n in scores.pillars.isna().sum().items() if n}
            tell.say("missing", n=missing, total=total, where=where)
            tell.say("left_out", n=incomplete, total=len(table))
        tell.say("margin", margin=margin.value, source=f"margin_{margin.source}")

    def _rank(
        self,
        tell: Telling,
        judged: LongTable,
        scores: Scores,
        whole: pd.DataFrame,
        groups: list[str],
        systems: Systems,
        rng: np.random.Generator,
    ) -> None:
        """Tell of every system, the best first, over the cases that all systems have."""
        places = ranks(whole.to_numpy(), rng, self.level, self.resamples, groups=groups)
        pillars = _pillars_of_systems(scores, whole.index)
        ends = judged.rubric.minimum, judged.rubric.maximum
        rows: list[dict[str, Any]] = []
        for n, system in enumerate(whole.columns):
            own = -judged.sign * whole[system].to_numpy()
            mean, low, high = own.mean(), np.nan, np.nan
            if len(set(groups)) > 1:
                within = ends[0] <= own.min() and own.max() <= ends[1]
                low, high = means.interval(own, self.level, groups=groups, bounds=ends if within else None).interval
            bands = {"band": mean, "band_low": low, "band_high": high}
            row = {"place": places.place[n], "system": system, "n": len(whole), "composite": mean}
            row |= {"low": low, "high": high}
            row |= {name: "" if math.isnan(end) else self.band(end) for name, end in bands.items()}
            row |= {"place_low": places.ends.low[n], "place_high": places.ends.high[n], "first_share": places.first[n]}
            rows.append(row | {f"of_{pillar}": pillars.loc[system, pillar] for pillar in self.weights})
        tell.tables["ranking"] = ranking = pd.DataFrame(rows).sort_values("place", kind="stable", ignore_index=True)
        tell.tables["tests"] = systems.tests()
        tell.say("over", n=systems.n, groups=systems.groups)
        for row in ranking.to_dict("records"):
            system = str(row["system"])
            mean = Estimate(row["composite"], row["low"], row["high"])
            if "composite.best" not in tell.metrics:
                tell.number(mean, "best")
            tell.number(mean, "mean", system)
            tell.number(row["place"], "place", system)
            tell.number(row["first_share"], "first_share", system)
            for pillar in self.weights:
                tell.number(row[f"of_{pillar}"], "pillar", pillar, system)
            shown = {"band": f"band_{row['band']}", "places": (row["place_low"], row["place_high"])}
            tell.say("system", mean.values("composite"), shown, system=row["system"], first=row["first_share"])
        tell.metrics = {name: value for name, value in tell.metrics.items() if not math.isnan(value)}
        tell.say("places_note", n=systems.n)
        open_ = sum(pair.outcome == "open" for pair in systems.pairs)
        levels = [pair.claim.estimate.level for pair in systems.pairs if pair.claim is not None]
        tell.say("tests", n=len(systems.pairs), open=open_, level=min(levels, default=1 - systems.alpha))
        tell.say("no_truth")
        columns = {"labels": "system", "estimate": "composite", "low": "low", "high": "high"}
        forest = {name: ranking[column].tolist() for name, column in columns.items()}
        tell.draw("ranking", "forest", **forest, x_label="composite")
        broken = ranking.set_index("system")[[*(f"of_{pillar}" for pillar in self.weights), "composite"]]
        draw_heatmap(tell, "pillars", broken, "mean_of_cases")

    def _by_judge(self, tell: Telling, judged: LongTable, scores: Scores) -> pd.DataFrame:
        """Means of every system with each judge alone, over what that judge judged; its own place among them."""
        rows: list[dict[str, Any]] = []
        for judge, own in self.pillars.by_judge(scores).items():
            table = crossed(own.about, own.composite).dropna()
            pillars = _pillars_of_systems(own, table.index).add_prefix("of_")
            places = (judged.sign * table.mean()).round(NOISE).rank(method="min")
            for system in table.columns if len(table) else ():
                row = {"voice": judge, "system": system, "n": len(table), "place": places[system]}
                rows.append(row | pillars.loc[system].to_dict() | {"composite": table[system].mean()})
        by_judge = pd.DataFrame(rows)
        if rows:
            tell.tables["by_judge"] = by_judge
            for row in rows:
                tell.number(known(row["composite"]), "by_judge", row["voice"], row["system"])
            first = by_judge[by_judge["place"] == 1].groupby("voice", sort=False)["system"].agg(", ".join)
            if first.nunique() == 1:
                tell.say("firsts_same", n=len(first), system=first.iloc[0])
            else:
                tell.say("firsts_differ", n=len(first), firsts=first.to_dict())
        return by_judge

    def _withheld(self, ruling: Ruling, judged: LongTable, scores: Scores, margin: Margin) -> Ruling:
        """The verdict if it stands with the missing pillars at the ends of the scale that speak most against it."""
        ends = judged.rubric.minimum, judged.rubric.maximum
        weights = pd.Series(dict(self.weights), dtype=float)
        low, high = (
            crossed(scores.about, -judged.sign * (scores.pillars.fillna(end) * weights).sum(axis=1)).dropna()
            for end in (ends if judged.sign < 0 else ends[::-1])
        )
        groups = group_of_case(scores.about, low.index)
        first = ruling.evidence.order[0]
        for one in low.columns if ruling.standing == "refuted" else [first]:
            worst = high.copy()
            worst[one] = low[one]
            again = verdict(COMPOSITE, compare_systems(worst, groups, margin, self.level, self.power))
            same = again.standing == "refuted" or again.evidence.order[0] == first
            if again.standing != ruling.standing or not same:
                empty = scores.composite.isna()
                return verdict(WITHHELD, SimpleNamespace(missing=int(empty.sum()), total=len(empty)))
        return ruling

    def _compare_with_earlier(self, tell: Telling, judged: LongTable, scores: Scores, margin: Margin) -> None:
        """Tell of each system now and in earlier runs, over the items that both have."""
        rows = []
        level = family_level(self.level, len(self.against) * scores.about["system"].nunique())
        for n, typed in enumerate(self.against):
            folder = RunFolder.open(typed, f"`analysis.against[{n}]`", [ITEMS])
            there = folder.table(ITEMS).set_index("item_id")["composite"].astype(float)
            name = str(folder.facts.get("name", folder.path.name))
            change = (scores.composite - there.reindex(scores.composite.index)).dropna()
            if folder.facts.get("dataset_digest") != judged.digest:
                tell.say("history_differs", run=name, n=len(change))
            for system, own in change.groupby(scores.about["system"].reindex(change.index), sort=False):
                groups = scores.about["group"].reindex(own.index).tolist()
                both = pd.DataFrame({"now": own.to_numpy(), "then": 0.0})
                (pair,) = (systems := compare_systems(both, groups, margin, level, self.power)).pairs
                (low, high), shown = pair.interval, str(systems.tests()["shown"].iloc[0])
                higher = {"better": "higher", "worse": "lower"}
                if pair.left != "now":
                    (low, high), higher = (-high, -low), {"better": "lower", "worse": "higher"}
                row = {"run": name, "system": system, "n": len(own), "then": float(there.reindex(own.index).mean())}
                row |= {"now": float(scores.composite.reindex(own.index).mean()), "difference": float(own.mean())}
                rows.append(row | {"low": low, "high": high, "shown": higher.get(shown, shown)})
        if rows:
            tell.tables["history"] = pd.DataFrame(rows)


def _pillars_of_systems(scores: Scores, cases: pd.Index) -> pd.DataFrame:
    """The mean of every pillar over some cases, a row per system."""
    kept = scores.about["case"].isin(cases)
    return scores.pillars[kept].groupby(scores.about.loc[kept, "system"]).mean()


def _draw_dots(tell: Telling, name: str, table: pd.DataFrame) -> None:
    """Add a figure with a row per index and a mark per column."""
    series = {str(column): values.astype(float).tolist() for column, values in table.items()}
    tell.draw(name, "dots", labels=[str(row) for row in table.index], series=series, x_label="composite")


class OfComposite:
    """What the analyses of a composite have in common; each is a dataclass with the fields `composite` and `level`."""

    name: ClassVar[str]
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    level: float

    def check(self, judged: LongTable) -> None:
        """As the composite."""
        self.composite.check(judged)
