"""All that the dataset allows: paired experiment, controls, attacks, gold labels, or a description; and the costs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses import plots
from undogmatic.analyses.ab import AbAnalysis
from undogmatic.analyses.adversarial import AdversarialAnalysis
from undogmatic.analyses.base import MOST_GROUPS, Analysis, Judged, Unsuited, analyse, failed_finding
from undogmatic.analyses.controls import ControlsAnalysis
from undogmatic.analyses.costs import CostsAnalysis
from undogmatic.analyses.labelled import LabelledAnalysis
from undogmatic.analyses.plan import so_far
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding, metric_name
from undogmatic.stats import paired

_QUANTILES = (0.05, 0.95)


@dataclass(frozen=True)
class NoAnalysis:
    """Count, mean, quantiles and failures of all texts and of each condition (first repeat), and a histogram.

    Of categories without an order, their number in all texts and in each condition.
    """

    name: ClassVar[str] = "none"

    def check(self, judged: Judged) -> None:
        """Any dataset will do."""

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result without headline."""
        first = judged.frame[judged.frame["repeat"] == 0]
        scores = judged.scored()["score"].to_numpy(dtype=np.float64)
        # Texts without condition are one group of their own; with them alone the total says it all.
        named = first.assign(condition=first["condition"].where(first["condition"].notna(), "all"))
        everything = Judged(named, judged.rubric)
        conditions = everything.conditions()
        if not judged.rubric.scale.ordered:
            return [_categories(everything, conditions)]
        by_condition = dict(iter(everything.scored().groupby("condition", sort=False)["score"]))
        groups = {c: by_condition.get(c, named["score"].head(0)).to_numpy(dtype=np.float64) for c in conditions}
        counts = everything.counts(conditions)
        failed = int(counts["failed"].sum())
        metrics: dict[str, float] = {"none.judged": scores.size, "none.failed": failed}
        rows = []
        for label, values, n_failed in [
            ("total", scores, failed),
            *((str(r.condition), groups[str(r.condition)], int(r.failed)) for r in counts.itertuples()),
        ]:
            if values.size and not (label == "all" and len(conditions) == 1):
                rows.append(_row(label, values, n_failed))
        findings = failed_finding(counts)
        if scores.size:
            s = paired.summary(scores)
            metrics |= {"none.mean": s.mean, "none.median": s.median, "none.q1": s.q1, "none.q3": s.q3}
            values_said = {"n": s.n, "mean": s.mean, "median": s.median, "quartiles": (s.q1, s.q3)}
            findings.insert(0, Finding("none.summary", values_said))
        mean = so_far(judged.frame, judged.rubric)
        if mean is not None:
            said = {"n": mean.estimate.n, "total": mean.n_total, **mean.estimate.values("mean")}
            findings.append(Finding("none.so_far", said | {"level": mean.estimate.level}))
        # More groups than can be told apart are drawn as one; the table has them all.
        drawn = groups if len(groups) <= MOST_GROUPS else {"all": scores}
        figures, missing = plots.distributions(judged.rubric, drawn, kinds=("histogram",))
        tables = {"scores": pd.DataFrame(rows)} if rows else {}
        return [AnalysisResult(self.name, metrics, tables, findings + missing, figures)]


def _categories(judged: Judged, conditions: list[str]) -> AnalysisResult:
    """How many texts got which category, those that nobody got included."""
    rows, counts = judged.scored(), judged.counts(conditions)
    scale = judged.rubric.scale
    categories = [scale.write(value) for value in scale.default_levels()]
    groups = {"total": rows}
    if conditions != ["all"]:
        by_condition = dict(iter(rows.groupby("condition", sort=False)))
        groups |= {c: by_condition.get(c, rows.head(0)) for c in conditions}
    table = pd.DataFrame(
        [
            {"condition": group, "category": category, "n": n, "share": n / len(own)}
            for group, own in groups.items()
            for category, n in own["category"].value_counts().reindex(categories, fill_value=0).items()
            if len(own)
        ]
    )
    metrics: dict[str, float] = {"none.judged": len(rows), "none.failed": int(counts["failed"].sum())}
    findings = failed_finding(counts)
    if len(rows):
        total = table[table["condition"] == "total"]
        metrics |= {metric_name("none.share", str(row.category)): float(row.share) for row in total.itertuples()}
        most = total.loc[total["n"].idxmax()]
        findings.insert(0, Finding("none.most", {"n": len(rows), "category": most["category"], "share": most["share"]}))
    return AnalysisResult(NoAnalysis.name, metrics, {"categories": table} if len(rows) else {}, findings)


def _row(label: str, values: np.ndarray, failed: int) -> dict[str, object]:
    p5, p95 = (float(q) for q in np.quantile(values, _QUANTILES))
    s = paired.summary(values)
    spread = {"minimum": s.minimum, "p5": p5, "q1": s.q1, "median": s.median, "q3": s.q3, "p95": p95}
    return {"condition": label, "n": s.n, "mean": s.mean, "sd": s.sd, **spread, "maximum": s.maximum, "failed": failed}


@dataclass(frozen=True)
class SuiteAnalysis:
    """Runs each analysis whose conditions the dataset has, and says which were left out and why; costs come last.

    A dataset that suits none of them, such as a plain list of texts, is described as by `analysis=none`.

    Args:
        ab, controls, adversarial, labelled, costs: The analyses; each can be set as if it were run alone
            (`analysis.ab.alpha=0.01`).
    """

    name: ClassVar[str] = "suite"
    ab: AbAnalysis
    controls: ControlsAnalysis
    adversarial: AdversarialAnalysis
    labelled: LabelledAnalysis
    costs: CostsAnalysis

    def check(self, judged: Judged) -> None:
        """Any dataset will do; raises DataError where one has what an analysis reads, but damaged."""
        divided(self._all(), judged)
        self.costs.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """The suite's own result (what was run, what left out), then one per analysis, then the costs."""
        runnable, left_out = divided(self._all(), judged)
        if not runnable:
            runnable = [NoAnalysis()]
        findings = [Finding("suite.left_out", {"analysis": name, "reason": why}) for name, why in left_out.items()]
        findings.insert(0, Finding("suite.run", {"analyses": [a.name for a in runnable]}))
        own = AnalysisResult(
            self.name,
            {"suite.run": len(self._all()) - len(left_out), "suite.left_out": len(left_out)},
            findings=findings,
        )
        return [own, *run_each([*runnable, self.costs], judged, rng)]

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the analyses it may run."""
        return (*(analysis.name for analysis in self._all()), self.costs.name, NoAnalysis.name)

    def _all(self) -> list[Analysis]:
        return [self.ab, self.controls, self.adversarial, self.labelled]


def divided(analyses: Sequence[Analysis], judged: Judged) -> tuple[list[Analysis], dict[str, str]]:
    """Those that these data suit, and by name why the others are left out."""
    runnable, left_out = [], {}
    for analysis in analyses:
        try:
            analysis.check(judged)
        except Unsuited as error:
            left_out[analysis.name] = str(error)
        else:
            runnable.append(analysis)
    return runnable, left_out


def run_each(analyses: Sequence[Analysis], judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
    """The results of all. Each starts from the same state, so that its intervals are those of a run with it alone."""
    return [result for analysis in analyses for result in analyse(analysis, judged, copy.deepcopy(rng))]


class SeveralAnalyses:
    """Runs each analysis named, in this order; the first with a headline gives the run its headline.

    Unlike `analysis=suite` it leaves none out: what the dataset does not suit is refused, since it was asked for.

    Args:
        analyses: The analyses by name; each can be set as if it were run alone (`analysis.labelled.level=0.9`).
    """

    name: ClassVar[str] = "several"

    def __init__(self, **analyses: Analysis) -> None:
        self.analyses = list(analyses.values())
        self.reads_words = any(getattr(a, "reads_words", False) for a in self.analyses)
        suite = {name for a in self.analyses if isinstance(a, SuiteAnalysis) for name in a.parts}
        twice = sorted(suite & {a.name for a in self.analyses})
        if twice:
            raise ConfigError(f"`analysis` names suite, which includes {', '.join(twice)}: leave one of the two out.")

    def check(self, judged: Judged) -> None:
        """Raises what the first analysis raises that cannot read the dataset."""
        for analysis in self.analyses:
            analysis.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """The results of each, with the numbers of a run with it alone."""
        return run_each(self.analyses, judged, rng)
