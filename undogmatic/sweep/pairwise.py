"""Every two jobs of a sweep on the same items: how their scores differ, and how they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.pairs import contrast
from undogmatic.analyses.truth import Margin, margin_of
from undogmatic.runs.progress import doing
from undogmatic.stats import agreement, inversion, means
from undogmatic.stats.jackknife import Coefficient
from undogmatic.sweep.family import WITH_MARGIN, Array, Comparison, of_means, twins
from undogmatic.sweep.jobs import Job

FEWEST = 3  # items in common; correlations need as many

AGREEMENT = [
    "left",
    "right",
    "n",
    "pearson_between",
    "spearman_between",
    "kendall",
    "kappa",
    "alpha",
    "bias",
    "lower",
    "upper",
    "drift",
]


class Pair(NamedTuple):
    """Two jobs on the same items: the scores of both in the same order, failures of either left out."""

    left: str
    right: str
    a: Array
    b: Array

    @property
    def identical(self) -> bool:
        """Whether both gave every item the same score."""
        return bool((self.a == self.b).all())


def pairs(jobs: Mapping[str, Job]) -> Iterator[Pair]:
    """Every two of these finished jobs that judged the same items for the same criterion and have FEWEST scored ones in
    common."""
    for (left, one), (right, other) in combinations(jobs.items(), 2):
        if same_items(one, other):
            a = one.scores["score"].to_numpy(dtype=np.float64)
            b = other.scores["score"].reindex(one.scores.index).to_numpy(dtype=np.float64)
            both = ~np.isnan(a) & ~np.isnan(b)
            if both.sum() >= FEWEST:
                yield Pair(left, right, a[both], b[both])


def same_items(one: Job, other: Job) -> bool:
    """Whether two jobs judged the same items, texts included, for the same criterion and on the same scale."""
    same = one.facts.get("dataset_digest") == other.facts.get("dataset_digest") and one.criterion == other.criterion
    ends = [(job.rubric.minimum, job.rubric.maximum) for job in (one, other)]
    return same and ends[0] == ends[1] and set(one.scores.index) == set(other.scores.index)


def measured(jobs: Mapping[str, Job]) -> dict[str, dict[str, pd.Series | None]]:
    """The measures of WITH_MARGIN by job, per item or pair of texts: the distance to human labels; by how much the
    score tells the two texts of a pair apart, in the expected direction; the score, which shows a difference but not
    who is right. None where its items do not have it."""
    return {measure: {name: _measure(job, measure) for name, job in jobs.items()} for measure in WITH_MARGIN}


def compare_scores(
    found: Sequence[Pair],
    jobs: Mapping[str, Job],
    values: Mapping[str, Mapping[str, pd.Series | None]],
    margins: Mapping[str, Margin],
) -> list[Comparison]:
    """Every pair of jobs by every measure of WITH_MARGIN, against what matters between the jobs of its criterion.

    Args:
        found: The pairs.
        jobs: The jobs by name.
        values: What was `measured` of them.
        margins: By criterion (`margins_of`).
    """
    comparisons: list[Comparison] = []
    for measure, of_job in values.items():
        groups = {name: _groups(job, measure) for name, job in jobs.items()}
        with doing(f"testing {measure} of every two jobs"):
            for left, right, *_ in found:
                a, b = of_job[left], of_job[right]
                if a is None or b is None:
                    continue
                difference = a.to_numpy(dtype=np.float64) - b.reindex(a.index).to_numpy(dtype=np.float64)
                there = ~np.isnan(difference)
                if there.any():
                    margin = margins[jobs[left].criterion]
                    reach = margin.span * (2 if measure == "pair_difference" else 1)
                    own = groups[left].reindex(a.index).to_numpy()[there]
                    comparisons.append(of_means(left, right, measure, difference[there], own, margin, reach))
    return comparisons


def margins_of(jobs: Mapping[str, Job]) -> dict[str, Margin]:
    """What matters, by criterion: rubrics of one sweep may have different scales and margins."""
    criteria = dict.fromkeys(job.criterion for job in jobs.values())
    return {
        criterion: margin_of_jobs({name: job for name, job in jobs.items() if job.criterion == criterion})
        for criterion in criteria
    }


def margin_of_jobs(jobs: Mapping[str, Job]) -> Margin:
    """What matters between jobs: the margin that all of them set for their paired experiment, else the rubric's."""
    rubric = next(iter(jobs.values())).rubric
    own = {_paired_settings(job).get("margin") for job in jobs.values()}
    value = own.pop() if len(own) == 1 else None
    return margin_of(rubric, float(value) if isinstance(value, int | float) else None)


def _groups(job: Job, measure: str) -> pd.Series:
    """The number of the independent unit of each item, or of each pair of texts."""
    codes = pd.Series(pd.factorize(job.scores["group"])[0], job.scores.index)
    if measure != "pair_difference":
        return codes
    pair = job.scores["pair_id"]
    return codes[pair.notna()].groupby(pair[pair.notna()].to_numpy(), sort=False).first()


def _measure(job: Job, measure: str) -> pd.Series | None:
    """The measure per item (or per pair of texts), or None where these items do not have it."""
    scores = job.scores
    if measure == "score":
        return scores["score"]
    if measure == "absolute_error":
        labelled = scores[scores["label"].notna()]
        return (labelled["score"] - labelled["label"]).abs() if len(labelled) else None
    settings = _paired_settings(job)
    treatment, baseline = settings.get("treatment"), settings.get("baseline")
    if not (treatment and baseline and all(isinstance(names, str | list) for names in (treatment, baseline))):
        return None
    sides = contrast(treatment, baseline, scores)
    if not set(sides) <= set(scores["condition"].dropna()):
        return None
    by_pair = scores[scores["condition"].isin(sides)].pivot_table(
        index="pair_id", columns="condition", values="score", sort=False
    )
    if not set(sides) <= set(by_pair.columns):
        return None
    sign = 1 if job.rubric.direction == "higher_is_worse" else -1
    return (sign * (by_pair[sides[0]] - by_pair[sides[1]])).dropna()


def _paired_settings(job: Job) -> Mapping[str, Any]:
    """The settings of its paired experiment: of several analyses, and of the suite, one level down."""
    analysis = job.config.get("analysis", {})
    for outer in ("suite", "ab"):
        analysis = analysis.get(outer, analysis) if isinstance(analysis, dict) else {}
    return analysis if isinstance(analysis, dict) else {}


def mean_interval(values: pd.Series, groups: pd.Series) -> tuple[float, float] | None:
    """The interval of level 0.95 of a mean over independent groups, or None for fewer than two of them."""
    if groups.nunique() < 2:
        return None
    found = means.interval(values, groups=groups.tolist())
    return found.low, found.high


def agree(found: Sequence[Pair], jobs: Mapping[str, Job]) -> pd.DataFrame:
    """Agreement of the scores of every pair: columns AGREEMENT, in score units where they have a unit.

    Kappa is quadratically weighted over the rubric's levels, each score standing for the nearest. A coefficient that
    does not exist (a job that gives every item one score) is None.
    """
    rows = []
    for pair in found:
        a, b = pair.a, pair.b
        levels = jobs[pair.left].rubric.levels
        steps = agreement.nearest_level(a, levels), agreement.nearest_level(b, levels)
        limits = agreement.bland_altman(a, b)
        rows.append(
            {
                "left": pair.left,
                "right": pair.right,
                "n": len(a),
                "pearson_between": agreement.correlation("pearson", a, b).estimate,
                "spearman_between": agreement.correlation("spearman", a, b).estimate,
                "kendall": agreement.correlation("kendall", a, b).estimate,
                "kappa": agreement.weighted_kappa(*steps, levels).estimate,
                "alpha": agreement.krippendorff_alpha(np.stack([a, b])).estimate,
                "bias": limits.bias,
                "lower": limits.lower,
                "upper": limits.upper,
                "drift": limits.drift,
            }
        )
    return pd.DataFrame(rows, columns=AGREEMENT)


def overall_alpha(jobs: Mapping[str, Job]) -> tuple[Coefficient, int, int] | None:
    """Krippendorff's alpha (interval) over these jobs with its interval over groups, the number of jobs and of items;
    None if they did not judge the same items.

    Jobs with the same score for every item are one rater: a copy agrees with its original whatever the judge is worth.
    """
    first = twins({name: job.scores["score"] for name, job in jobs.items()})
    several = [jobs[name] for name in dict.fromkeys(first.values())]
    if len(several) < 2 or not all(same_items(several[0], other) for other in several[1:]):
        return None
    ids = several[0].scores.index
    ratings = np.stack([job.scores["score"].reindex(ids).to_numpy(dtype=np.float64) for job in several])
    items = int(np.sum(np.sum(~np.isnan(ratings), axis=0) >= 2))
    if not items:
        return None
    found = inversion.alpha(ratings, groups=_groups(several[0], "score").tolist())
    return None if found is None else (found, len(several), items)
