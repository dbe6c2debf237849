"""One number per text from several pillars, and the systems that made the texts ranked by it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from undogmatic.analyses import plots
from undogmatic.analyses.base import Judged, check_groups, check_level
from undogmatic.analyses.margins import Margin, margin_of
from undogmatic.analyses.truth import check_order
from undogmatic.constructs.faithfulness import composite_figures, systems
from undogmatic.constructs.faithfulness.pillars import SYSTEM, Missing, Pillars, Scores, crossed, group_of_case
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding, metric_name
from undogmatic.runs.folder import RunFolder
from undogmatic.stats import means
from undogmatic.stats.ranks import ranks

ITEMS = "items_composite.csv"


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
        table = crossed(scores.about, judged.sign * -1 * scores.composite)
        whole = table.dropna()
        groups = group_of_case(scores.about, whole.index)
        found = systems.compare(whole, groups, margin, self.level, self.power)
        findings = self._setting(scores, table, margin)
        ruled = systems.rule(found, judged.sign * -1 * whole.mean(), margin)
        missing = int(scores.composite.isna().sum())
        if missing and ruled.standing != "undecided":
            ruled = self._withheld(ruled, judged, scores, margin, missing)
        metrics = self._counts(scores, table, found)
        tables: dict[str, pd.DataFrame] = {}
        figures: list[Any] = []
        ranking = pd.DataFrame()
        if len(whole) and table.shape[1] > 1:
            ranking = self._ranking(judged, scores, whole, groups, rng)
            tables["ranking"], tables["tests"] = ranking, systems.tests(found, margin)
            metrics |= self._of_systems(ranking)
            findings += self._say(ranking, found, margin)
            figures += composite_figures.of_ranking(ranking, list(self.weights))
        by_judge = self._by_judge(judged, scores)
        if len(by_judge):
            tables["by_judge"] = by_judge
            metrics |= {
                metric_name("composite.by_judge", row.voice, row.system): row.composite
                for row in by_judge.itertuples()
                if not math.isnan(row.composite)
            }
            findings += self._firsts(by_judge)
        tables["cases"] = _shown_cases(crossed(scores.about, scores.composite))
        figures += composite_figures.of_cases(scores, self.pillars.by_judge(scores), by_judge)
        said, compared = self._history(judged, scores, margin)
        findings += said
        if len(compared):
            tables["history"] = compared
        items = scores.about[["case", "system"]].assign(**dict(scores.pillars.items()), composite=scores.composite)
        return [
            AnalysisResult(
                self.name,
                metrics,
                tables,
                findings,
                figures,
                ruled.verdict,
                ruled.standing,
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

    def _counts(self, scores: Scores, table: pd.DataFrame, found: systems.Comparison) -> dict[str, float]:
        return {
            "composite.systems": table.shape[1],
            "composite.cases": found.n_cases,
            "composite.cases_left_out": len(table) - found.n_cases,
            "composite.missing": int(scores.composite.isna().sum()),
            "composite.renormalised": scores.patched,
        }

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
            row |= {"place_low": found.low[n], "place_high": found.high[n], "first_share": found.first[n]}
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

    def _say(self, ranking: pd.DataFrame, found: systems.Comparison, margin: Margin) -> list[Finding]:
        findings = [Finding("composite.over", {"n": found.n_cases, "groups": found.n_groups})]
        for row in ranking.itertuples():
            values = {"system": row.system, "composite": row.composite, "interval": (row.low, row.high)}
            values |= {"band": f"band_{row.band}", "places": (row.place_low, row.place_high), "first": row.first_share}
            findings.append(Finding("composite.system", values))
        findings.append(Finding("composite.places_note", {"n": found.n_cases}))
        open_ = sum(systems.shown(pair, margin) == "open" for pair in found.pairs)
        levels = [pair.claim.level for pair in found.pairs if pair.claim is not None]
        pairs = {"n": len(found.pairs), "open": open_, "level": min(levels, default=1 - found.alpha)}
        return [*findings, Finding("composite.tests", pairs), Finding("composite.no_truth")]

    def _by_judge(self, judged: Judged, scores: Scores) -> pd.DataFrame:
        """Means of every system with each judge alone, over what that judge judged; its own place among them."""
        rows = []
        for judge, own in self.pillars.by_judge(scores).items():
            table = crossed(own.about, own.composite).dropna()
            kept = own.about["case"].isin(table.index)
            pillars = own.pillars[kept].groupby(own.about.loc[kept, "system"]).mean()
            places = (-judged.sign * -1 * table.mean()).round(systems.NOISE).rank(method="min")
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

    def _withheld(
        self, ruled: systems.Ruled, judged: Judged, scores: Scores, margin: Margin, missing: int
    ) -> systems.Ruled:
        """The verdict if it stands with the missing pillars at the ends of the scale that speak most against it."""
        ends = judged.rubric.minimum, judged.rubric.maximum
        weights = pd.Series(dict(self.weights), dtype=float)
        low, high = (
            crossed(scores.about, -judged.sign * (scores.pillars.fillna(end) * weights).sum(axis=1)).dropna()
            for end in (ends if judged.sign < 0 else ends[::-1])
        )
        groups = group_of_case(scores.about, low.index)
        for one in low.columns if ruled.standing == "refuted" else [ruled.first]:
            worst = high.copy()
            worst[one] = low[one]
            again = systems.rule(systems.compare(worst, groups, margin, self.level, self.power), worst.mean(), margin)
            same = again.standing == ruled.standing and (again.standing == "refuted" or again.first == ruled.first)
            if not same:
                values = {"missing": missing, "total": len(scores.composite)}
                return systems.Ruled(Finding("composite.verdict_missing", values), "undecided")
        return ruled

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
                pair = systems.compare(
                    pd.DataFrame({"now": own.to_numpy(), "then": 0.0}), groups, margin, level, self.power
                )
                held = systems.tests(pair, margin).iloc[0]
                flip = 1 if held["left"] == "now" else -1
                ends = sorted((flip * held["low"], flip * held["high"]))
                word = {"better": "higher", "worse": "lower"}.get(str(held["shown"]), str(held["shown"]))
                if flip < 0:
                    word = {"higher": "lower", "lower": "higher"}.get(word, word)
                row = {"run": name, "system": system, "n": len(own), "then": float(there.reindex(own.index).mean())}
                row |= {"now": float(scores.composite.reindex(own.index).mean()), "difference": float(own.mean())}
                rows.append(row | {"low": ends[0], "high": ends[1], "shown": word})
        return findings, pd.DataFrame(rows)


def _shown_cases(table: pd.DataFrame) -> pd.DataFrame:
    found = table.rename_axis(columns=None).reset_index()
    found.attrs["names"] = list(table.columns)
    return found
