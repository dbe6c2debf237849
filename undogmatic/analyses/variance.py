"""Divides the variance of scores and of people's labels by its sources, and says how many of which to average."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.base import MOST_GROUPS, Judged, Unsuited, check_level
from undogmatic.analyses.ruling import VARIANCE, VARIANCE_OF_PEOPLE, Ruling, verdict
from undogmatic.analyses.runs import differing, read_runs
from undogmatic.analyses.truth import check_order
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats.variance import FEWEST_GROUPS, MOST_FACETS, Study

TARGET = 0.8
AVERAGED = (1, 2, 3, 5, 10)
FEW_LEVELS = 5
"""A facet with fewer values says little of the values that it might have had."""


class Divided(NamedTuple):
    """What a study of scores yields; without a study (nothing crossed, too few items, all equal) a finding says why."""

    study: Study | None
    table: pd.DataFrame
    findings: list[Finding]


@dataclass(frozen=True)
class VarianceAnalysis:
    """Judges and repeats of this run, or this run and others over the same items by what they were set to; and raters,
    where several people labelled the same items.

    With `against`, the first repeat counts. The facets are the settings in which the runs differ, if the runs cross
    them in full; otherwise each run is a value of one facet.

    Args:
        against: Folders of other runs over the same items.
        target: The reliability that is wanted.
        level: Confidence level of every interval.
    """

    name: ClassVar[str] = "variance"
    long: ClassVar[bool] = True
    against: Sequence[str] = ()
    target: float = TARGET
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level, target=self.target)
        if len(self.against) >= MOST_GROUPS:
            raise ConfigError(f"`analysis.against` names {len(self.against)} runs; give at most {MOST_GROUPS - 1}.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited with one judge, one repeat, no other run and no second rater, else as `read_runs`."""
        check_order(self.name, judged.rubric)
        several = judged.frame.groupby("criterion")[["judge"]].nunique().max().max() > 1
        people = any(len(raters) > 1 for own in judged.said.values() for raters in own.values())
        if not (several or judged.frame["repeat"].max() > 0 or self.against or judged.others or people):
            raise Unsuited(
                "analysis=variance divides what repeats, judges or settings make of the same texts, and this run has "
                "one score per text. Set run.repeats=3, give several judges ('judges=[score,debate]'), name other runs "
                "over the same dataset (analysis.against=[outputs/DATE/TIME]), or sweep over what is to vary: its "
                "report has the table. Labels of several raters per text (labels.overall.NAME) are divided, too."
            )
        for part in judged.parts().values():
            self._runs(part)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `variance.phi` of the first criterion."""
        self.check(judged)
        criteria = judged.frame["criterion"].unique()
        metrics: dict[str, float] = {}
        tables, findings, figures = {}, [], []
        sentence = None
        for criterion in criteria:
            own = judged.frame[judged.frame["criterion"] == criterion].reset_index(drop=True)
            before = [str(criterion)] if len(criteria) > 1 else []
            scores, facets, said = self._scores(replace(judged, frame=own))
            found = of_scores(scores, facets, self.target, self.level)
            if before:
                findings.append(Finding("variance.criterion", {"criterion": criterion}))
            people = _labels(judged, str(criterion), own)
            if people is None or any(scores[facet].nunique() > 1 for facet in facets):
                findings += [*said, *found.findings]
            divided = {"": found}
            if people is not None:
                divided["people"] = of_scores(people, ["rater"], self.target, self.level)
                findings.append(Finding("variance.people", {"n": people["rater"].nunique()}))
                findings += divided["people"].findings
            for whose, part in divided.items():
                if part.study is None:
                    continue
                kind = f"{whose}_" if whose else ""
                tables[metric_name(f"{kind}components", *before)] = part.table
                tables[metric_name(f"{kind}averaged", *before)] = _averaged(part.study)
                metrics |= _metrics(part, before, [whose] if whose else [], self.target)
                if sentence is None:
                    sentence = _ruling(part.study, self.target, people=bool(whose)).finding
                    figures.append(_figure(part.table))
        headline = next((key for key in metrics if key.endswith((".phi", ".phi.people"))), None)
        return [AnalysisResult(self.name, metrics, tables, findings, figures, sentence, headline=headline)]

    def _runs(self, part: Judged) -> list[Any]:
        return read_runs(part, {f"analysis.against[{n}]": folder for n, folder in enumerate(self.against)})

    def _scores(self, judged: Judged) -> tuple[pd.DataFrame, list[str], list[Finding]]:
        """Scores with their facets, and what is to be said of how they were put together."""
        frame, findings = judged.frame, []
        if not self.against and not judged.others:
            again = frame[frame["repeat"] > 0]
            cached = int(((again["cached"] > 0) & (again["calls"] == 0)).sum())
            if cached:
                findings.append(Finding("variance.cached", {"n": cached, "total": len(again)}))
            return frame, ["judge", "repeat"], findings
        rows = []
        for part in judged.parts().values():
            first = part.frame[part.frame["repeat"] == 0]
            of_item = first.set_index("item_id")[["group", "judge"]]
            voices = {judged.name: (first.set_index("item_id")["score"], judged.settings)}
            voices |= {run.name: (run.scores, run.settings) for run in self._runs(part)}
            changed = differing([settings for _, settings in voices.values()])
            for run, (scores, settings) in voices.items():
                said = {key: str(settings.get(key)) for key in changed}
                rows.append(of_item.assign(run=run, score=scores.reindex(of_item.index), **said).reset_index())
        table = pd.concat(rows, ignore_index=True)
        facets = [key for key in table if key not in ("item_id", "group", "judge", "run", "score")]
        if "judge" not in facets and table["judge"].nunique() > 1:
            facets.append("judge")
        if _crossed(table, facets):
            return table, facets, findings
        if facets:
            findings.append(Finding("variance.runs_as_one", {"facets": facets, "runs": table["run"].nunique()}))
        return table, ["run", "judge"], findings


def of_scores(frame: pd.DataFrame, facets: Sequence[str], target: float = TARGET, level: float = 0.95) -> Divided:
    """Where the variance of scores comes from.

    Args:
        frame: A row per score: columns `item_id`, `group`, `score` (NaN: failed) and one per facet.
        facets: Columns that say under what a score was given. Those with one value are left out, and those that change
            only together count as one.
        target: The reliability that is wanted.
        level: Confidence level.
    Returns:
        The table has a row per component: source, share (of the variance of one score), sd (score units), variance with
        its limits, degrees (of freedom). Items that lack a score under some combination are left out whole.
    """
    table, named = _together(frame, [f for f in facets if frame[f].nunique() > 1])
    nothing = pd.DataFrame()
    if not named:
        return Divided(None, nothing, [Finding("variance.nothing_varies")])
    if len(named) > MOST_FACETS:
        return Divided(None, nothing, [Finding("variance.too_many", {"n": len(named), "most": MOST_FACETS})])
    if not _crossed(table, named):
        there = len(table[named].drop_duplicates())
        values = {"facets": named, "there": there, "needed": math.prod(table[f].nunique() for f in named)}
        return Divided(None, nothing, [Finding("variance.not_crossed", values)])
    wide = table.set_index(["item_id", *named])["score"].unstack(named)
    levels = [list(dict.fromkeys(table[f])) for f in named]
    combinations = list(itertools.product(*levels)) if len(named) > 1 else levels[0]
    whole = wide.reindex(columns=combinations).dropna()
    groups = table.drop_duplicates("item_id").set_index("item_id")["group"].reindex(whole.index)
    findings = []
    if len(whole) < len(wide):
        findings.append(Finding("variance.left_out", {"n": len(wide) - len(whole), "total": len(wide)}))
    if groups.nunique() < FEWEST_GROUPS:
        values = {"n": len(whole), "groups": groups.nunique(), "needed": FEWEST_GROUPS}
        return Divided(None, nothing, [*findings, Finding("variance.too_few", values)])
    cells = whole.to_numpy(dtype=np.float64).reshape(-1, *(len(own) for own in levels))
    study = Study(cells, named, groups=groups, level=level)
    if study.constant:
        return Divided(None, nothing, [*findings, Finding("variance.constant", {"n": len(whole)})])
    return Divided(study, _table(study), [*findings, *_findings(study, target)])


def _labels(judged: Judged, criterion: str, frame: pd.DataFrame) -> pd.DataFrame | None:
    """What each rater said of each item, in the columns that `of_scores` reads; None with fewer than two raters."""
    groups = frame.drop_duplicates("item_id").set_index("item_id")["group"]
    said = [
        {"item_id": item, "group": group, "rater": rater, "score": float(label)}
        for item, group in groups.items()
        for rater, label in judged.said.get(str(item), {}).get(criterion, {}).items()
        if not isinstance(label, str)
    ]
    found = pd.DataFrame(said, columns=["item_id", "group", "rater", "score"])
    return found if found["rater"].nunique() > 1 else None


def _together(frame: pd.DataFrame, facets: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Facets that change only together as one, named after all of them."""
    kept: list[list[str]] = []
    for facet in facets:
        for own in kept:
            pairs = frame[[own[0], facet]].drop_duplicates()
            if len(pairs) == frame[own[0]].nunique() == frame[facet].nunique():
                own.append(facet)
                break
        else:
            kept.append([facet])
    return frame.rename(columns={own[0]: " + ".join(own) for own in kept}), [" + ".join(own) for own in kept]


def _crossed(frame: pd.DataFrame, facets: Sequence[str]) -> bool:
    """Whether there is a row for each item under every combination of the facets' values, and only one."""
    varied = [f for f in facets if frame[f].nunique() > 1]
    if not varied or frame.duplicated(["item_id", *varied]).any():
        return False
    return len(frame[varied].drop_duplicates()) == math.prod(frame[f].nunique() for f in varied)


def _name(source: Sequence[str]) -> str:
    return " × ".join(source)


def _table(study: Study) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "source": _name(c.source),
                "share": c.share,
                "sd": math.sqrt(c.variance.value),
                "variance": c.variance.value,
                "low": c.variance.low,
                "high": c.variance.high,
                "degrees": c.degrees,
            }
            for c in study.components()
        ]
    )


def _averaged(study: Study) -> pd.DataFrame:
    """Reliability by how many values of one facet are averaged, the others counting once."""
    rows = []
    for facet in study.facets:
        for n in AVERAGED:
            r = study.reliability({facet: n})
            rows.append({"facet": facet, "n": n, **r.phi.values("phi", "phi_")})
            rows[-1] |= r.relative.values("relative", "relative_")
    return pd.DataFrame(rows)


def _findings(study: Study, target: float) -> list[Finding]:
    components = study.components()
    others = sorted(components[1:], key=lambda c: -c.variance.value)
    values: dict[str, Any] = {"n": study.n_items, "groups": study.n_groups, "item": components[0].share}
    values |= {"first": _name(others[0].source), "first_share": others[0].share}
    values |= {"second": _name(others[1].source), "second_share": others[1].share}
    findings = [Finding("variance.sources", values)]
    one, all_ = study.reliability({}), study.reliability()
    values = one.phi.values("phi", "phi_") | one.relative.values("relative", "relative_")
    values |= {"level": study.level}
    values |= {"scores": math.prod(study.levels), "phi_all": all_.phi.value, "relative_all": all_.relative.value}
    findings.append(Finding("variance.reliability", values))
    for facet in study.facets:
        n, order = study.needed(facet, target), study.needed(facet, target, absolute=False)
        counts: dict[str, Any] = {"facet": facet, "n": n, "order": order, "target": target}
        findings.append(Finding("variance.needed" if n is not None else "variance.needed_none", counts))
    design = study.cheapest(target)
    if design is None:
        findings.append(Finding("variance.cheapest_none", {"target": target}))
    elif sum(n > 1 for n in design.values()) > 1:
        own = {"target": target, "design": design, "scores": math.prod(design.values())}
        findings.append(Finding("variance.cheapest", own))
    negative = [_name(c.source) for c in components if c.estimated < 0]
    if negative:
        findings.append(Finding("variance.negative", {"n": len(negative), "names": "; ".join(negative)}))
    few = {f: n for f, n in zip(study.facets, study.levels, strict=True) if n < FEW_LEVELS}
    if few:
        findings.append(Finding("variance.few_levels", {"facets": few}))
    return findings


def _ruling(study: Study, target: float, people: bool) -> Ruling:
    """Enough is what the lower limit says is enough."""
    design = study.cheapest(target)
    evidence = SimpleNamespace(one=study.reliability({}), level=study.level, target=target, groups=study.n_groups)
    evidence.design = None if design is None else {facet: n for facet, n in design.items() if n > 1}
    return verdict(VARIANCE_OF_PEOPLE if people else VARIANCE, evidence)


def _metrics(found: Divided, before: Sequence[str], after: Sequence[str], target: float) -> dict[str, float]:
    study = found.study
    assert study is not None

    def named(*parts: str) -> str:
        return metric_name("variance", *before, *parts, *after)

    one = study.reliability({})
    metrics = one.phi.metrics(named("phi")) | one.relative.metrics(named("relative"))
    metrics[named("phi_of_all")] = study.reliability().phi.value
    for row in found.table.itertuples():
        metrics[named("share", str(row.source).replace(" × ", "-"))] = float(row.share)
    for facet in study.facets:
        n = study.needed(facet, target)
        if n is not None:
            metrics[named("needed", facet)] = n
    return metrics


def _figure(table: pd.DataFrame) -> FigureData:
    data: Mapping[str, Any] = {
        "labels": table["source"].tolist(),
        "estimate": table["variance"].tolist(),
        "low": table["low"].tolist(),
        "high": table["high"].tolist(),
        "x_label": "variance",
    }
    return FigureData("components", "forest", data)
