"""All that the dataset allows: paired experiment, controls, attacks, gold labels, or a description;
and the costs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from undogmatic.errors import ConfigError
from undogmatic.examinations.ab import AbAnalysis
from undogmatic.examinations.base import (
    MOST_GROUPS,
    OF_SCORES,
    Analysis,
    Unsuited,
    analyse,
    draw,
    read_by,
    readable,
    tell_failed,
)
from undogmatic.examinations.controls import AdversarialAnalysis, ControlsAnalysis
from undogmatic.examinations.costs import CostsAnalysis
from undogmatic.examinations.labelled import LabelledAnalysis
from undogmatic.examinations.plan import so_far
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.results import Finding, Told
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import in_parts
from undogmatic.stats import paired


@dataclass(frozen=True)
class NoAnalysis:
    """Count, mean, quantiles and failures of all texts and of each condition (first repeat), and a
    histogram.

    Of categories without an order, their number in all texts and in each condition.
    """

    name: ClassVar[str] = "none"
    reads_all: ClassVar[bool] = True

    def check(self, judged: RunEvidence) -> None:
        """Any dataset will do."""

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result without headline."""
        tell, (first, failures) = Told(self.name), _first(judged)
        groups = {
            str(c): rows
            for c, rows in first.groupby("condition", sort=False, observed=True)
        }
        failed = tell_failed(tell, len(first), failures, groups)
        # Texts without condition are one group of their own; with them alone the total says it all.
        shown = {"total": first} | (groups if list(groups) != ["all"] else {})
        if not judged.rubric.scale.ordered:
            _describe_categories(tell, judged.rubric, shown)
            tell.findings += failed
            return [tell.result()]
        # A condition of which every text failed has no scores to describe.
        lines = [
            _row(name, rows) for name, rows in shown.items() if rows["judged"].any()
        ]
        if lines:
            tell.table("scores", pd.DataFrame(lines), **OF_SCORES)
            values = {name: lines[0][name] for name in ("mean", "median", "q1", "q3")}
            for name, value in values.items():
                tell.number(value, name, unit="score")
            quartiles = (values.pop("q1"), values.pop("q3"))
            tell.say("none.summary", values, n=lines[0]["n"], quartiles=quartiles)
        tell.findings += failed
        if (mean := so_far(judged.frame, judged.rubric)) is not None:
            estimate = mean.estimate
            values = estimate.values("mean") | {
                "n": estimate.n,
                "total": mean.n_total,
                "level": estimate.level,
            }
            tell.say("none.so_far", values)
        # More groups than can be told apart are drawn as one; the table has them all.
        drawn = groups if len(groups) <= MOST_GROUPS else {"all": first}
        scores = {
            c: rows["score"].dropna().to_numpy(dtype=np.float64)
            for c, rows in drawn.items()
        }
        draw(judged, tell, scores, "histogram")
        return [tell.result()]


def _first(judged: RunEvidence) -> tuple[pd.DataFrame, Counter[tuple[str, str]]]:
    """The rows of the first repeat in little memory: condition ("all" for none), score or category,
    and whether it was judged; and how many of a condition failed for which reason."""
    scale = judged.rubric.scale
    told = dict[str, list[Any]]()
    failed = Counter[tuple[str, str]]()
    levels = (
        []
        if scale.ordered
        else [scale.write(value) for value in scale.default_levels()]
    )
    for rows in in_parts(
        judged.frame,
        ["repeat", "condition", "error", "score" if scale.ordered else "category"],
    ):
        first = rows[rows["repeat"] == 0]
        conditions = first["condition"].fillna("all").astype(str)
        good = first["error"].isna()
        failed.update(zip(conditions[~good], first["error"][~good], strict=True))
        told.setdefault("condition", []).append(
            # A number for each text in place of a string: a run may have millions.
            pd.Categorical(conditions, pd.Index(conditions.unique(), dtype=object))
        )
        told.setdefault("judged", []).append(good.to_numpy())
        if scale.ordered:
            told.setdefault("score", []).append(
                first["score"].to_numpy(dtype=np.float64)
            )
        else:
            told.setdefault("category", []).append(
                pd.Categorical(first["category"], levels)
            )
    joined = {
        k: np.concatenate(v) if k in ("judged", "score") else union_categoricals(v)
        for k, v in told.items()
    }
    return pd.DataFrame(joined), failed


def _describe_categories(
    tell: Told, rubric: Rubric, groups: Mapping[str, pd.DataFrame]
) -> None:
    """Tell how many texts got which category, those that nobody got included."""
    categories = [rubric.scale.write(value) for value in rubric.scale.default_levels()]
    rows = [
        {
            "condition": group,
            "category": category,
            "n": n,
            "share": n / own["category"].count(),
        }
        for group, own in groups.items()
        for category, n in own["category"]
        .value_counts()
        .reindex(categories, fill_value=0)
        .items()
        if own["category"].count()
    ]
    if not rows:
        return
    tell.table("categories", pd.DataFrame(rows), share="share")
    for row in rows[: len(categories)]:
        tell.number(row["share"], "share", str(row["category"]), unit="share")
    most = max(rows[: len(categories)], key=lambda row: row["n"])
    tell.say(
        "none.most",
        n=int(groups["total"]["category"].count()),
        category=most["category"],
        share=most["share"],
    )


def _row(label: str, rows: pd.DataFrame) -> dict[str, Any]:
    values, failed = rows["score"].dropna().to_numpy(), int((~rows["judged"]).sum())
    (p5, p95), s = np.quantile(values, (0.05, 0.95)).tolist(), paired.summary(values)
    spread = {
        "minimum": s.minimum,
        "p5": p5,
        "q1": s.q1,
        "median": s.median,
        "q3": s.q3,
        "p95": p95,
    }
    return {
        "condition": label,
        "n": s.n,
        "mean": s.mean,
        "sd": s.sd,
        **spread,
        "maximum": s.maximum,
        "failed": failed,
    }


@dataclass(frozen=True)
class SuiteAnalysis:
    """Runs each analysis whose conditions the dataset has, and says which were left out and why;
    costs come last.

    A dataset that suits none of them, such as a plain list of texts, is described as by
    `analysis=none`.

    Args:
        ab, controls, adversarial, labelled, costs: The analyses; each can be set as if it were run
            alone (`analysis.ab.alpha=0.01`).
        also: Further analyses by name, which tell of the texts rather than of the judge: those that
            suit come at the very end, and nothing is said of the others.
    """

    name: ClassVar[str] = "suite"
    reads_all: ClassVar[bool] = True
    ab: AbAnalysis
    controls: ControlsAnalysis
    adversarial: AdversarialAnalysis
    labelled: LabelledAnalysis
    costs: CostsAnalysis
    also: Mapping[str, Analysis] = field(default_factory=dict)

    def check(self, judged: RunEvidence) -> None:
        """Any dataset will do; raises DataError where one has what an analysis reads, but
        damaged."""
        divided(self.parts, judged)
        self.costs.check(judged)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """The suite's own result (what was run, what left out), then one per analysis, then the
        costs."""
        suited, left_out = divided(self.parts, judged)
        runnable = suited or [NoAnalysis()]
        tell = Told(
            self.name, {"suite.run": len(suited), "suite.left_out": len(left_out)}
        )
        tell.say("suite.run", analyses=[analysis.name for analysis in runnable])
        for name, why in left_out.items():
            tell.say("suite.left_out", analysis=name, reason=why)
        last = [self.costs, *divided([*self.also.values()], judged)[0]]
        return [tell.result(), *run_each([*runnable, *last], judged, rng)]

    @property
    def parts(self) -> tuple[Analysis, ...]:
        """The analyses that it may run, but for the costs, which come last."""
        return self.ab, self.controls, self.adversarial, self.labelled


def divided(
    analyses: Sequence[Analysis], judged: RunEvidence
) -> tuple[list[Analysis], dict[str, str | Finding]]:
    """Those that these data suit, and by name why the others are left out."""
    runnable: list[Analysis] = []
    left_out: dict[str, str | Finding] = {}
    for analysis in analyses:
        try:
            analysis.check(readable(analysis, judged))
        except Unsuited as error:
            # Only what does not suit is left out. Damaged data raise, or a suite would pass over
            # them in silence.
            left_out[analysis.name] = error.lacks or str(error)
        else:
            runnable.append(analysis)
    return runnable, left_out


def run_each(
    analyses: Sequence[Analysis], judged: RunEvidence, rng: np.random.Generator
) -> list[Told]:
    """The results of all. Each starts from the same state, so that its intervals are those of a run
    with it alone."""
    return [
        result for analysis in analyses for result in analyse(analysis, judged, rng)
    ]


class SeveralAnalyses:
    """Runs each analysis named, in this order; the first with a headline gives the run its
    headline.

    Unlike `analysis=suite` it leaves none out: what the dataset does not suit is refused, since it
    was asked for. Each is given what it would be given alone: one that reads all judges and
    criteria at once, all of them.

    Args:
        analyses: The analyses by name; each can be set as if it were run alone
            (`analysis.labelled.level=0.9`).
    """

    name: ClassVar[str] = "several"
    long: ClassVar[bool] = True
    reads_all: ClassVar[bool] = True

    def __init__(self, **analyses: Analysis) -> None:
        self.analyses = list(analyses.values())
        self.reads_words = any(getattr(a, "reads_words", False) for a in self.analyses)
        suites = (a for a in self.analyses if isinstance(a, SuiteAnalysis))
        in_suite = {
            part.name
            for suite in suites
            for part in (*suite.parts, suite.costs, NoAnalysis())
        }
        # An analysis that runs twice would write its numbers under the same names.
        twice = sorted(in_suite & {a.name for a in self.analyses})
        if twice:
            raise ConfigError(
                f"`analysis` names suite, which includes {', '.join(twice)}: leave one of the two"
                " out."
            )

    def check(self, judged: RunEvidence) -> None:
        """Raises what the first analysis raises that cannot read the dataset."""
        for analysis in self.analyses:
            for part in read_by(analysis, judged).values():
                analysis.check(readable(analysis, part))

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """The results of each, with the numbers of a run with it alone."""
        return run_each(self.analyses, judged, rng)
