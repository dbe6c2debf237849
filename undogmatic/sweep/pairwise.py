"""Every two jobs of a sweep on the same items: paired tests, corrected for their number, and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.progress import doing
from undogmatic.stats import agreement, paired, resampling
from undogmatic.sweep.jobs import Job

RESAMPLES = 1000
NOISE = 9  # decimals; scores are kept with six, so what differs beyond is rounding
FEWEST = 3  # items in common; correlations need as many

COMPARISONS = ["left", "right", "measure", "difference", "low", "high", "n", "p", "p_holm", "note"]
AGREEMENT = [
    "left",
    "right",
    "n",
    "pearson",
    "spearman",
    "kendall",
    "kappa",
    "alpha",
    "bias",
    "lower",
    "upper",
    "drift",
]

MEASURES = ("absolute_error", "pair_difference", "score")
"""What is compared, the best evidence of quality first: the distance to human labels; by how much the score tells the
two texts of a pair apart, in the expected direction; the score, which shows a difference but not who is right."""


class Pair(NamedTuple):
    """Two jobs on the same items: rows of both in the same order, failures of either left out."""

    left: str
    right: str
    a: pd.DataFrame
    b: pd.DataFrame

    @property
    def identical(self) -> bool:
        """Whether both gave every item the same score."""
        return bool((self.a["score"].to_numpy() == self.b["score"].to_numpy()).all())


def pairs(jobs: Mapping[str, Job]) -> Iterator[Pair]:
    """Every two of these finished jobs that judged the same items for the same criterion and have FEWEST scored ones in
    common."""
    for (left, one), (right, other) in combinations(jobs.items(), 2):
        if same_items(one, other):
            both = one.scores["score"].notna() & other.scores["score"].reindex(one.scores.index).notna()
            ids = one.scores.index[both]
            if len(ids) >= FEWEST:
                yield Pair(left, right, one.scores.loc[ids], other.scores.loc[ids])


def same_items(one: Job, other: Job) -> bool:
    """Whether two jobs judged the same items, texts included, for the same criterion."""
    same = one.facts.get("dataset_digest") == other.facts.get("dataset_digest") and one.criterion == other.criterion
    return same and set(one.scores.index) == set(other.scores.index)


def compare_pairs(found: Sequence[Pair], jobs: Mapping[str, Job], seed: int) -> pd.DataFrame:
    """Wilcoxon's signed-rank test of every pair and measure, Holm-corrected over the pairs within each measure.

    Args:
        found: The pairs.
        jobs: The jobs by name, for the conditions that form an item pair.
        seed: For the bootstrap intervals of the mean difference, which resample whole pairs of texts. Every interval
            starts from it, so that the same scores give the same interval, whatever their jobs' places in the sweep.
    Returns:
        Columns COMPARISONS, a row per measure and pair. Jobs that agree on every item are no test: they have
        note "identical" and no p-value, and do not count for the correction; see also `correct`.
    """
    rows = []
    for measure in MEASURES:
        own = []
        for n, pair in enumerate(found, 1):
            with doing(f"testing {measure} of pair {n} of {len(found)} of jobs"):
                row = _row(pair, measure, jobs[pair.left], seed)
            own += [] if row is None else [row]
        values = {name: _measure(job.scores, measure, job) for name, job in jobs.items()}
        correct([row for row in own if row["p"] is not None], twins(values))
        rows += own
    return pd.DataFrame(rows, columns=COMPARISONS)


def twins(values: Mapping[str, pd.Series | pd.DataFrame | None]) -> dict[str, str]:
    """Each job's first twin: the first job with the same values of the same items, itself where there is none."""
    known = {name: own.round(NOISE) for name, own in values.items() if own is not None}
    return {name: next(other for other in known if own.equals(known[other])) for name, own in known.items()}


def correct(tests: Sequence[dict[str, Any]], first: Mapping[str, str]) -> None:
    """Set `p_holm` of tests with `left`, `right` and `p`, by Holm over the hypotheses among them.

    Twins against a third job are one hypothesis: it counts once, and all its rows get one p-value (from the largest of
    theirs, where resampling makes them differ).
    """
    own: dict[frozenset[str], float] = {}
    hypotheses = [frozenset((first[row["left"]], first[row["right"]])) for row in tests]
    for hypothesis, row in zip(hypotheses, tests, strict=True):
        own[hypothesis] = max(row["p"], own.get(hypothesis, 0.0))
    if own:
        corrected = dict(zip(own, paired.holm(list(own.values())), strict=True))
        for hypothesis, row in zip(hypotheses, tests, strict=True):
            row["p_holm"] = float(corrected[hypothesis])


def _row(pair: Pair, measure: str, job: Job, seed: int) -> dict[str, Any] | None:
    """One comparison; None where the items do not have what the measure needs."""
    row: dict[str, Any] = {"left": pair.left, "right": pair.right, "measure": measure, "p": None, "p_holm": None}
    values = [_measure(scores, measure, job) for scores in (pair.a, pair.b)]
    if values[0] is None or values[1] is None or len(values[0]) < FEWEST:
        return None
    difference = (values[0] - values[1]).dropna().round(NOISE)
    row |= {"n": len(difference), "note": ""}
    if not difference.any():
        return row | {"difference": 0.0, "low": None, "high": None, "note": "identical"}
    groups = pair.a["pair_id"].reindex(difference.index) if measure != "pair_difference" else None
    units = groups_of(groups)
    interval = mean_interval(difference, seed, units)
    row |= {"difference": interval.estimate, "low": interval.low, "high": interval.high}
    if units is not None:  # the texts of one pair are not independent: interval and test both take the pair as unit
        difference = difference.groupby(units, sort=False).mean()
    return row | {"p": paired.wilcoxon(difference).p_value, "n": len(difference)}


def mean_interval(values: pd.Series, seed: int, groups: Sequence[str] | None) -> paired.BootstrapInterval:
    """Bootstrap interval of a mean, the same wherever it is asked for; `groups` are resampled whole."""
    rng = np.random.default_rng(seed)
    return paired.bootstrap_interval(values, resampling.MEAN, rng, n_resamples=RESAMPLES, groups=groups)


def _measure(scores: pd.DataFrame, measure: str, job: Job) -> pd.Series | None:
    """The measure per item (or per pair of texts), or None where these items do not have it."""
    if measure == "score":
        return scores["score"]
    if measure == "absolute_error":
        labelled = scores[scores["label"].notna()]
        return (labelled["score"] - labelled["label"]).abs() if len(labelled) else None
    analysis = job.config.get("analysis", {})
    for outer in ("suite", "ab"):  # several analyses hold each one's settings one level down, and so does the suite
        analysis = analysis.get(outer, analysis) if isinstance(analysis, dict) else {}
    sides = [analysis.get(key) for key in ("treatment", "baseline")] if isinstance(analysis, dict) else []
    if (
        not sides
        or not all(isinstance(side, str) for side in sides)
        or not set(sides) <= set(scores["condition"].dropna())
    ):
        return None
    by_pair = scores[scores["condition"].isin(sides)].pivot_table(
        index="pair_id", columns="condition", values="score", sort=False
    )
    sign = 1 if job.rubric.direction == "higher_is_worse" else -1
    return (sign * (by_pair[sides[0]] - by_pair[sides[1]])).dropna()


def groups_of(pair_ids: pd.Series | None) -> list[str] | None:
    """A group per item: its pair, or itself where it has none; None where no two items belong together."""
    if pair_ids is None or pair_ids.dropna().is_unique or pair_ids.nunique() < 2:
        return None
    return [f"item {item}" if pd.isna(pair) else f"pair {pair}" for item, pair in pair_ids.items()]


def agree(found: Sequence[Pair], jobs: Mapping[str, Job]) -> pd.DataFrame:
    """Agreement of the scores of every pair: columns AGREEMENT, in score units where they have a unit.

    Kappa is quadratically weighted over the rubric's levels, each score standing for the nearest. A coefficient that
    does not exist (a job that gives every item one score) is None.
    """
    rows = []
    for pair in found:
        a, b = pair.a["score"].to_numpy(dtype=np.float64), pair.b["score"].to_numpy(dtype=np.float64)
        levels = jobs[pair.left].rubric.levels
        steps = agreement.nearest_level(a, levels), agreement.nearest_level(b, levels)
        limits = agreement.bland_altman(a, b)
        rows.append(
            {
                "left": pair.left,
                "right": pair.right,
                "n": len(a),
                "pearson": agreement.correlation("pearson", a, b).estimate,
                "spearman": agreement.correlation("spearman", a, b).estimate,
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


def overall_alpha(jobs: Mapping[str, Job]) -> tuple[agreement.Alpha, int] | None:
    """Krippendorff's alpha (interval) over these jobs and their number, or None if they did not judge the same items.

    Jobs with the same score for every item are one rater: a copy agrees with its original whatever the judge is worth.
    """
    first = twins({name: job.scores["score"] for name, job in jobs.items()})
    several = [jobs[name] for name in dict.fromkeys(first.values())]
    if len(several) < 2 or not all(same_items(several[0], other) for other in several[1:]):
        return None
    ids = several[0].scores.index
    ratings = np.stack([job.scores["score"].reindex(ids).to_numpy(dtype=np.float64) for job in several])
    if not np.any(np.sum(~np.isnan(ratings), axis=0) >= 2):
        return None
    return agreement.krippendorff_alpha(ratings), len(several)
