"""Weighs the pillars of every text into one number, and ranks the systems that made the texts by it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses import plots
from undogmatic.analyses.base import Judged, check_groups, check_level
from undogmatic.analyses.ruling import Rule, Rules, Ruling, always, verdict
from undogmatic.analyses.truth import Margin, check_order, margin_of
from undogmatic.constructs.faithfulness.pillars import (
    SYSTEM,
    Missing,
    Pillars,
    Scores,
    crossed,
    group_of_case,
    heatmap,
)
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.runs.folder import RunFolder
from undogmatic.stats import compare, means
from undogmatic.stats.claims import Claim, Outcome
from undogmatic.stats.compare import NOISE, Apart, Comparison, Differences
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
        comparisons = [
            Comparison(left, right, "", own.mean, self.n, own.p, partial(self._apart, n))
            for n, (left, right, own, *_) in enumerate(self.pairs)
        ]
        return compare.corrected(comparisons, {"": 1}, by_interval=("",), alpha=self.alpha).table.drop(
            columns="measure"
        )

    def _apart(self, n: int, alpha: float) -> Apart:
        _, _, _, claim, outcome = self.pairs[n]
        return Apart((np.nan, np.nan) if claim is None else claim.estimate.interval, outcome, self.pairs[n].needed)

    @property
    def ahead(self) -> list[SystemPair]:
        """The first system against every other, the second one first."""
        return [pair for pair in self.pairs if pair.left == self.order[0]]

    def needed(self) -> list[int | None]:
        """Cases that would decide each pair of the first system that is open."""
        return [pair.needed for pair in self.ahead if pair.outcome == "open"]

    def sentence(self) -> dict[str, Any]:
        """What sentences say of the first system and the one that comes next."""
        nearest = self.ahead[0].claim
        first, second = self.order[:2]
        values: dict[str, Any] = {"first": first, "mean": float(self.means[first]), "n": self.n, "margin": self.margin}
        values |= {"second": second, "difference": self.ahead[0].differences.mean, "pair_level": 1 - self.alpha}
        if nearest is None:
            return values | {"interval": (None, None)}
        return values | {"interval": nearest.estimate.interval, "pair_level": nearest.estimate.level}

    def few(self) -> dict[str, Any]:
        """What is said where no claim could be shown with so few groups."""
        nearest = self.ahead[0].claim
        values = {name: self.sentence()[name] for name in ("first", "mean", "second", "difference")}
        values |= {"groups": self.groups, "systems": len(self.order)}
        return values | {"fewest": 2 if nearest is None else nearest.fewest}


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
    margin: float | None = None
    level: float = 0.95
    power: float = 0.8
    resamples: Annotated[int, Field(le=1_000_000)] = 5000
    against: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_level(self.name, self.resamples, level=self.level, power=self.power)
        self.pillars  # noqa: B018  checks the weights
        lows = list(self.bands.values())
        if lows != sorted(lows, reverse=True) or len(set(lows)) < len(lows):
            raise ConfigError(f"`analysis.bands` is {dict(self.bands)}; give the highest band first.")

    @property
    def pillars(self) -> Pillars:
        """What the composite is made of."""
        return Pillars(self.weights, self.criteria, {} if self.judges is None else self.judges, self.missing)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited without systems or criteria, ConfigError for a judge that is not there."""
        check_order(self.name, judged.rubric)
        margin_of(judged.rubric, self.margin)
        self.pillars.check(self.name, judged)
        made = judged.frame[SYSTEM].dropna().unique()
        check_groups(self.name, SYSTEM.removeprefix("metadata."), made, "compare fewer systems")

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `composite.best`, the mean of the system that comes first."""
        self.check(judged)
        scores = self.pillars.scores(judged)
        margin = margin_of(judged.rubric, self.margin)
        table = crossed(scores.about, -judged.sign * scores.composite)
        whole = table.dropna()
        groups = group_of_case(scores.about, whole.index)
        systems = compare_systems(whole, groups, margin, self.level, self.power)
        ruling = verdict(COMPOSITE, systems._replace(means=dict(-judged.sign * whole.mean())))
        if scores.composite.isna().any() and ruling.standing != "undecided":
            ruling = self._withheld(ruling, judged, scores, margin)
        findings = self._setting(scores, table, margin)
        metrics: dict[str, float] = {
            "composite.systems": table.shape[1],
            "composite.cases": systems.n,
            "composite.cases_left_out": len(table) - systems.n,
            "composite.missing": int(scores.composite.isna().sum()),
            "composite.renormalised": scores.patched,
        }
        tables: dict[str, pd.DataFrame] = {}
        figures: list[FigureData] = []
        if len(whole) and table.shape[1] > 1:
            ranking = self._ranking(judged, scores, whole, groups, rng)
            tables["ranking"], tables["tests"] = ranking, systems.tests()
            metrics |= self._of_systems(ranking)
            findings += self._say(ranking, systems)
            figures += self._drawn(ranking)
        by_judge = self._by_judge(judged, scores)
        if len(by_judge):
            tables["by_judge"] = by_judge
            metrics |= {
                metric_name("composite.by_judge", row.voice, row.system): row.composite
                for row in by_judge.itertuples()
                if not math.isnan(row.composite)
            }
            findings += self._firsts(by_judge)
        cases = crossed(scores.about, scores.composite)
        tables["cases"] = cases.rename_axis(columns=None).reset_index()
        tables["cases"].attrs["names"] = list(cases.columns)
        figures += self._drawn_cases(cases, scores, by_judge)
        differing, history = self._history(judged, scores, margin)
        findings += differing
        if len(history):
            tables["history"] = history
        items = scores.about[["case", "system"]].assign(**dict(scores.pillars.items()), composite=scores.composite)
        return [
            AnalysisResult(
                self.name,
                metrics,
                tables,
                findings,
                figures,
                ruling.finding,
                ruling.standing,
                headline="composite.best" if "composite.best" in metrics else None,
                items=items.rename_axis("item_id").reset_index(),
            )
        ]

    def band(self, value: float) -> str:
        """The band of a composite; "below" under the lowest one."""
        return next((name for name, low in self.bands.items() if value >= low - 1e-12), "below")

    def _setting(self, scores: Scores, table: pd.DataFrame, margin: Margin) -> list[Finding]:
        """What the composite is made of, and what was left out of it."""
        weights = {pillar: f"{weight:g}" for pillar, weight in self.weights.items()}
        findings = [Finding("composite.weights", {"weights": weights})]
        voices = {pillar: list(own.columns) for pillar, own in scores.voices.items() if own.shape[1] > 1}
        for pillar, judges in voices.items():
            findings.append(Finding("composite.voices", {"pillar": pillar, "n": len(judges), "judges": judges}))
        empty = int(scores.composite.isna().sum())
        if self.missing == "renormalise":
            findings.append(Finding("composite.renormalised", {"n": scores.patched, "total": len(scores.composite)}))
        if empty:
            gone = scores.pillars.isna().sum()
            where = {pillar: int(n) for pillar, n in gone.items() if n}
            findings.append(Finding("composite.missing", {"n": empty, "total": len(scores.composite), "where": where}))
            cases = int(table.isna().any(axis=1).sum())
            findings.append(Finding("composite.left_out", {"n": cases, "total": len(table)}))
        source = {"margin": margin.value, "source": f"margin_{margin.source}"}
        return [*findings, Finding("composite.margin", source)]

    def _ranking(
        self, judged: Judged, scores: Scores, whole: pd.DataFrame, groups: list[str], rng: np.random.Generator
    ) -> pd.DataFrame:
        """A row per system, the best first, over the cases that all systems have."""
        sign = -judged.sign
        found = ranks(whole.to_numpy(), rng, self.level, self.resamples, groups=groups)
        kept = scores.about["case"].isin(whole.index)
        pillars = scores.pillars[kept].groupby(scores.about.loc[kept, "system"]).mean()
        rows = []
        for n, system in enumerate(whole.columns):
            own = sign * whole[system].to_numpy()
            row: dict[str, Any] = {"place": found.place[n], "system": system, "n": len(whole), "composite": own.mean()}
            row |= {"low": np.nan, "high": np.nan}
            if len(set(groups)) > 1:
                low, high = judged.rubric.minimum, judged.rubric.maximum
                within = low <= own.min() and own.max() <= high
                held = means.interval(own, self.level, groups=groups, bounds=(low, high) if within else None)
                row |= {"low": held.low, "high": held.high}
            bands = {"band_low": row["low"], "band_high": row["high"]}
            row |= {"band": self.band(row["composite"])}
            row |= {name: "" if math.isnan(end) else self.band(end) for name, end in bands.items()}
            row |= {"place_low": found.ends.low[n], "place_high": found.ends.high[n], "first_share": found.first[n]}
            rows.append(row | {f"of_{pillar}": pillars.loc[system, pillar] for pillar in self.weights})
        return pd.DataFrame(rows).sort_values("place", kind="stable").reset_index(drop=True)

    def _of_systems(self, ranking: pd.DataFrame) -> dict[str, float]:
        metrics: dict[str, float] = {}
        for n, row in enumerate(ranking.itertuples()):
            if n == 0:
                metrics |= plots.interval("composite.best", row.composite, row.low, row.high)
            name = metric_name("composite.mean", str(row.system))
            metrics |= plots.interval(name, row.composite, row.low, row.high)
            metrics[metric_name("composite.place", str(row.system))] = row.place
            metrics[metric_name("composite.first_share", str(row.system))] = row.first_share
            for pillar in self.weights:
                metrics[metric_name("composite.pillar", pillar, str(row.system))] = float(ranking[f"of_{pillar}"][n])
        return {name: value for name, value in metrics.items() if not math.isnan(value)}

    def _say(self, ranking: pd.DataFrame, systems: Systems) -> list[Finding]:
        findings = [Finding("composite.over", {"n": systems.n, "groups": systems.groups})]
        for row in ranking.itertuples():
            values = {"system": row.system, "composite": row.composite, "interval": (row.low, row.high)}
            values |= {"band": f"band_{row.band}", "places": (row.place_low, row.place_high), "first": row.first_share}
            findings.append(Finding("composite.system", values))
        findings.append(Finding("composite.places_note", {"n": systems.n}))
        open_ = sum(pair.outcome == "open" for pair in systems.pairs)
        levels = [pair.claim.estimate.level for pair in systems.pairs if pair.claim is not None]
        pairs = {"n": len(systems.pairs), "open": open_, "level": min(levels, default=1 - systems.alpha)}
        return [*findings, Finding("composite.tests", pairs), Finding("composite.no_truth")]

    def _by_judge(self, judged: Judged, scores: Scores) -> pd.DataFrame:
        """Means of every system with each judge alone, over what that judge judged; its own place among them."""
        rows = []
        for judge, own in self.pillars.by_judge(scores).items():
            table = crossed(own.about, own.composite).dropna()
            kept = own.about["case"].isin(table.index)
            pillars = own.pillars[kept].groupby(own.about.loc[kept, "system"]).mean()
            places = (judged.sign * table.mean()).round(NOISE).rank(method="min")
            for system in table.columns if len(table) else ():
                row = {"voice": judge, "system": system, "n": len(table), "place": places[system]}
                row |= {f"of_{pillar}": value for pillar, value in pillars.loc[system].items()}
                rows.append(row | {"composite": table[system].mean()})
        return pd.DataFrame(rows)

    def _firsts(self, by_judge: pd.DataFrame) -> list[Finding]:
        first = by_judge[by_judge["place"] == 1].groupby("voice", sort=False)["system"].agg(", ".join)
        if first.nunique() == 1:
            return [Finding("composite.firsts_same", {"n": len(first), "system": first.iloc[0]})]
        return [Finding("composite.firsts_differ", {"n": len(first), "firsts": first.to_dict()})]

    def _withheld(self, ruling: Ruling, judged: Judged, scores: Scores, margin: Margin) -> Ruling:
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

    def _history(self, judged: Judged, scores: Scores, margin: Margin) -> tuple[list[Finding], pd.DataFrame]:
        """Each system now and in earlier runs, over the items that both have."""
        rows, findings = [], []
        level = 1 - (1 - self.level) / max(1, len(self.against) * scores.about["system"].nunique())
        for n, typed in enumerate(self.against):
            folder = RunFolder.open(typed, f"`analysis.against[{n}]`", [ITEMS])
            there = folder.table(ITEMS).set_index("item_id")["composite"].astype(float)
            name = str(folder.facts.get("name", folder.path.name))
            change = (scores.composite - there.reindex(scores.composite.index)).dropna()
            if folder.facts.get("dataset_digest") != judged.digest:
                findings.append(Finding("composite.history_differs", {"run": name, "n": len(change)}))
            for system, own in change.groupby(scores.about["system"].reindex(change.index), sort=False):
                groups = scores.about["group"].reindex(own.index).tolist()
                pair = compare_systems(
                    pd.DataFrame({"now": own.to_numpy(), "then": 0.0}), groups, margin, level, self.power
                )
                test = pair.tests().iloc[0]
                ends, shown = [test["low"], test["high"]], str(test["shown"])
                higher = {"better": "higher", "worse": "lower"}
                if test["left"] != "now":
                    ends, higher = [-end for end in reversed(ends)], {"better": "lower", "worse": "higher"}
                row = {"run": name, "system": system, "n": len(own), "then": float(there.reindex(own.index).mean())}
                row |= {"now": float(scores.composite.reindex(own.index).mean()), "difference": float(own.mean())}
                rows.append(row | {"low": ends[0], "high": ends[1], "shown": higher.get(shown, shown)})
        return findings, pd.DataFrame(rows)

    def _drawn(self, ranking: pd.DataFrame) -> list[FigureData]:
        """The ranking with its intervals, and what each pillar says."""
        forest = {name: ranking[column].tolist() for name, column in _FOREST.items()} | {"x_label": "composite"}
        columns = [*(f"of_{pillar}" for pillar in self.weights), "composite"]
        broken = ranking.set_index("system")[columns]
        return [FigureData("ranking", "forest", forest), heatmap("pillars", broken, "mean_of_cases")]

    def _drawn_cases(self, cases: pd.DataFrame, scores: Scores, by_judge: pd.DataFrame) -> list[FigureData]:
        """Every case: the systems beside one another, and a heatmap per judge; and the systems' means by judge."""
        if not len(cases) or len(cases) > MOST_CASES:
            return []
        figures = [_dots("cases", cases)]
        for judge, own in self.pillars.by_judge(scores).items():
            grid = crossed(own.about, own.composite)
            name = metric_name(f"cases_{judge}")
            figures.append(heatmap(name, grid, "composite", judge=judge, caption="cases_of"))
        if len(by_judge):
            wide = by_judge.pivot(index="system", columns="voice", values="composite")
            wide = wide.reindex(index=by_judge["system"].unique(), columns=by_judge["voice"].unique())
            figures.append(_dots("by_judge", wide))
        return figures


_FOREST = {"labels": "system", "estimate": "composite", "low": "low", "high": "high"}


def _dots(name: str, table: pd.DataFrame) -> FigureData:
    """A row per index with a mark per column."""
    series = {str(column): values.astype(float).tolist() for column, values in table.items()}
    data = {"labels": [str(row) for row in table.index], "series": series, "x_label": "composite"}
    return FigureData(name, "dots", data)


class OfComposite:
    """What the analyses of a composite have in common; each is a dataclass with the fields `composite` and `level`."""

    name: ClassVar[str]
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    level: float

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)

    def check(self, judged: Judged) -> None:
        """As the composite."""
        self.composite.check(judged)
