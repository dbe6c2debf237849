"""Tests every two jobs of a sweep by every measure that both have, and corrects once for all of
these tests."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.config.build import paired_settings
from undogmatic.examinations.compared import COMPARED, FOLLOWS, OF_NUMBERS
from undogmatic.examinations.pairs import contrast
from undogmatic.examinations.truth import Margin, margin_of
from undogmatic.records.progress import doing
from undogmatic.stats import compare, jackknife, means
from undogmatic.stats.checks import Array
from undogmatic.stats.compare import (
    NOISE,
    Apart,
    Comparison,
    Differences,
    Family,
    twins,
)
from undogmatic.stats.estimate import Unit
from undogmatic.sweep.jobs import Job

# probability that anything at all is shown in a sweep in which nothing differs
ALPHA = 0.05
MEASURES = {measure.name: measure for measure in COMPARED}
BETTER = {name: measure.better for name, measure in MEASURES.items()}
WITH_MARGIN, MERITS = (
    tuple(measure.name for measure in COMPARED if measure.of == of)
    for of in ("scores", "calibration")
)
"""Measures in score units, so that there is a difference too small to matter; and of how well a
judge knows its errors."""
FOLLOWING = tuple(measure for measures in FOLLOWS.values() for measure in measures)
"""Of how its verdicts follow human labels."""

LeftOuts = dict[tuple[str, str, tuple[str, ...] | None], jackknife.LeftOut | None]
# texts in common to be compared text by text, and by a number of all of them
FEWEST = 3
FEWEST_OF_ALL = 10
DRAWS, FEWEST_DRAWS, DRAWS_OF_ALL = 1000, 100, 66_000
"""For p-values: DRAWS each up to twelve jobs (66 pairs), fewer for more of them, for the sake of
time."""


class Pair(NamedTuple):
    """What two jobs say of the same items, in one order."""

    left: str
    right: str
    a: Any  # its scores without failures of either, or (`judged_both`) a table
    b: Any
    texts: tuple[str, ...] | None = None  # None where these are all that both judged

    @property
    def identical(self) -> bool:
        """Whether both gave every item the same score."""
        return bool((self.a == self.b).all())


class Sweep:
    """The finished jobs of a sweep by name, the metric that ranks them (None where there is none),
    and what is shown between them."""

    def __init__(self, jobs: Mapping[str, Job], headline: str | None = None) -> None:
        self.jobs, self.headline = jobs, headline

    @property
    def units(self) -> dict[str, Unit]:
        """The units of the metrics of all jobs, of those that have one."""
        return {
            name: unit for job in self.jobs.values() for name, unit in job.units.items()
        }

    @property
    def unit(self) -> Unit:
        """That of the headline."""
        return self.units.get(str(self.headline), "")

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two jobs that judged the same items for the same criterion and have FEWEST scored
        ones in common."""
        pairs = []
        for (left, one), (right, other) in combinations(self.jobs.items(), 2):
            if one.judged == other.judged:
                scores = pd.concat(
                    [one.scores["score"], other.scores["score"]],
                    axis="columns",
                    keys=["a", "b"],
                )
                known = scores.reindex(one.scores.index).astype(np.float64).dropna()
                if len(known) >= FEWEST:
                    pairs.append(
                        Pair(left, right, known["a"].to_numpy(), known["b"].to_numpy())
                    )
        return pairs

    def as_sure(self, left: str, right: str) -> bool:
        """Whether two jobs say the same of how sure they are: doubt, level, confidence, interval
        and distribution of every item that both gave a verdict, as far as the digits of `NOISE` go.
        """
        one, other = (self.jobs[name].sureness for name in (left, right))
        common = one.index.intersection(other.index)
        return all(
            _same(a, b)
            for column in one.columns.intersection(other.columns)
            for a, b in zip(
                one.loc[common, column], other.loc[common, column], strict=True
            )
        )

    @cached_property
    def margins(self) -> dict[str, Margin]:
        """What matters, by criterion: rubrics of one sweep may have different scales and
        margins."""
        jobs = list(self.jobs.values())
        criteria = dict.fromkeys(job.criterion for job in jobs)
        return {
            each: margin_of_jobs([job for job in jobs if job.criterion == each])
            for each in criteria
        }

    @cached_property
    def family(self) -> Family:
        """All that is tested between the jobs, corrected once, the strongest evidence of each
        measure first."""
        comparisons, same = [], {}
        # text by text, against what matters between jobs of the criterion
        for measure in WITH_MARGIN:
            values = {name: values_of(job, measure) for name, job in self.jobs.items()}
            units = {name: units_of(job, measure) for name, job in self.jobs.items()}
            same[measure] = twins(values)
            with doing("testing every two jobs"):
                for left, right, *_ in self.pairs:
                    a, b = values[left], values[right]
                    if a is None or b is None:
                        continue
                    difference = (
                        a.astype(np.float64) - b.reindex(a.index).astype(np.float64)
                    ).dropna()
                    if len(difference):
                        margin = self.margins[self.jobs[left].criterion]
                        groups = units[left].reindex(difference.index)
                        reach = margin.span * (2 if measure == "pair_difference" else 1)
                        about = (
                            left,
                            right,
                            measure,
                            difference.to_numpy(),
                            groups.to_numpy(),
                            margin,
                            reach,
                        )
                        comparisons.append(of_means(*about))
        by_all = [(uncertain(self.jobs), "truth", MERITS)]
        by_all += [
            (following(self.jobs, headline), "label", measures)
            for headline, measures in FOLLOWS.items()
        ]
        for judged, truth, measures in by_all:
            comparisons += self._by_all(judged, truth, measures)
            for measure in measures:
                columns = [*MEASURES[measure].columns]
                same[measure] = twins(
                    {name: of_job[columns] for name, of_job in judged.items()}
                )
        table, size, alpha = compare.corrected(
            comparisons, BETTER, WITH_MARGIN, same, ALPHA
        )
        order = np.lexsort(
            (
                table["p_holm"].astype(float),
                pd.Categorical(table["measure"], [*BETTER]).codes,
            )
        )
        return Family(table.iloc[order].reset_index(drop=True), size, alpha)

    def _by_all(
        self, judged: Mapping[str, pd.DataFrame], truth: str, measures: Sequence[str]
    ) -> Iterator[Comparison]:
        """Every two jobs by the numbers of all texts that both judged, and by the interval score of
        these, a mean.

        A measure that one of the two lacks is left out. The p-value of review_gain, aurc and ece
        comes from exchanging the two jobs' answers, group by group, which is exact where it makes
        no difference whose they are.
        """
        n_pairs = len(self.jobs) * (len(self.jobs) - 1) // 2
        draws = min(DRAWS, max(FEWEST_DRAWS, DRAWS_OF_ALL // max(1, n_pairs)))
        left_outs = LeftOuts()
        with doing("testing every two jobs"):
            for both in judged_both(judged, self.jobs, truth):
                # A sweep may hold jobs of several scales; that of the first says nothing of the
                # others.
                span = max(
                    margin_of_jobs([self.jobs[name]]).span
                    for name in (both.left, both.right)
                )
                yield from filter(
                    None,
                    (
                        of_all(both, measure, span, draws, left_outs)
                        for measure in measures
                    ),
                )


def _same(one: object, other: object) -> bool:
    """Whether two values of a verdict are the same: both absent, equal words, or numbers equal to
    NOISE digits."""
    if isinstance(one, str | tuple) or isinstance(other, str | tuple):
        if isinstance(one, tuple) and isinstance(other, tuple):
            return len(one) == len(other) and all(map(_same, one, other))
        return one == other
    if pd.isna(one) or pd.isna(other):
        return bool(pd.isna(one) and pd.isna(other))
    return bool(round(float(one) - float(other), NOISE) == 0)  # type: ignore[arg-type]


def margin_of_jobs(jobs: Sequence[Job]) -> Margin:
    """What matters between jobs: the margin that all of them set for their paired experiment, else
    the rubric's."""
    margins = {paired_settings(job.config).get("margin") for job in jobs}
    value = margins.pop() if len(margins) == 1 else None
    if not isinstance(value, int | float):
        return margin_of(jobs[0].rubric)
    own = jobs[0].own
    return margin_of(
        jobs[0].rubric, float(value) if own is None else own.amount(float(value))
    )


def of_means(
    left: str,
    right: str,
    measure: str,
    values: Array,
    units: Sequence[object],
    margin: Margin,
    reach: float | None,
) -> Comparison:
    """Two jobs by the mean of a difference per text (or pair): Wilcoxon's test, and the interval
    against the margin.

    Args:
        values: Left minus right, shape (n,).
        units: The independent unit of each value; test and interval are over them.
        margin: What matters, in the units of the values.
        reach: Largest difference possible, None if there is none or it is not known.
    """
    differences = Differences(values, units)
    if differences.none:
        return compare.identical(left, right, measure, differences.n_units)

    def limits(alpha: float) -> Apart:
        held = differences.claim(margin.value, alpha, reach)
        if held is None:
            return compare.UNKNOWN
        allowed = margin.allows(held.outcome)
        return Apart(
            held.estimate.interval,
            held.outcome if allowed else "open",
            held.n_needed if allowed else None,
        )

    return Comparison(
        left,
        right,
        measure,
        differences.mean,
        differences.n_units,
        differences.p,
        limits,
    )


def values_of(job: Job, measure: str) -> pd.Series | None:
    """A measure of WITH_MARGIN per item or pair of texts: the distance to human labels; by how much
    the score tells the two texts of a pair apart, in the expected direction; the score, which shows
    a difference but not who is right. None where the job's items do not have it."""
    scores = job.scores
    if measure == "score":
        return scores["score"]
    if measure == "absolute_error":
        labelled = scores[scores["label"].notna()]
        return (labelled["score"] - labelled["label"]).abs() if len(labelled) else None
    treatment, baseline = map(
        paired_settings(job.config).get, ("treatment", "baseline")
    )
    if not (
        treatment
        and baseline
        and all(isinstance(names, str | list) for names in (treatment, baseline))
    ):
        return None
    sides = contrast(treatment, baseline, scores)
    shown = scores[scores["condition"].isin(sides)]
    by_pair = shown.pivot_table(
        index="pair_id", columns="condition", values="score", sort=False
    )
    if not set(sides) <= set(by_pair.columns):
        return None
    sign = 1 if job.rubric.direction == "higher_is_worse" else -1
    return (sign * (by_pair[sides[0]] - by_pair[sides[1]])).dropna()


def units_of(job: Job, measure: str = "score") -> pd.Series:
    """The number of the independent unit of each item, or of each pair of texts."""
    codes = pd.Series(pd.factorize(job.scores["group"])[0], job.scores.index)
    # without the texts of no pair
    by_pair = codes.groupby(job.scores["pair_id"].to_numpy(), sort=False)
    return by_pair.first() if measure == "pair_difference" else codes


def judged_both(
    judged: Mapping[str, pd.DataFrame], jobs: Mapping[str, Job], truth: str
) -> Iterator[Pair]:
    """Every two jobs on the texts that both judged and whose true score (column `truth`) both take
    for the same.

    `judged` has per job a row per text (index), with the column `unit`, its independent unit; this
    becomes a number.
    """
    units = pd.Index(
        sorted({unit for items in judged.values() for unit in items["unit"]})
    )
    judged = {
        name: rows.assign(unit=units.get_indexer(rows["unit"])).sort_index()
        for name, rows in judged.items()
    }
    for (left, one), (right, other) in combinations(judged.items(), 2):
        if jobs[left].criterion != jobs[right].criterion:
            continue
        a, b, texts = one, other, None
        if not one.index.equals(other.index):
            both = one.index.intersection(other.index)
            a, b, texts = one.loc[both], other.loc[both], tuple(both)
        if len(a) >= FEWEST_OF_ALL and np.allclose(a[truth], b[truth]):
            yield Pair(left, right, a, b, texts)


def uncertain(jobs: Mapping[str, Job]) -> dict[str, pd.DataFrame]:
    """What `analysis=calibration` says of each text, and the seconds that it took, by job."""
    return {
        name: job.items.join(job.scores["seconds"])
        for name, job in jobs.items()
        if not job.items.empty
    }


def following(jobs: Mapping[str, Job], headline: str) -> dict[str, pd.DataFrame]:
    """What the jobs with this headline said beside people's labels, by job: of numbers a row per
    text, of categories one per verdict and rater."""
    beside = {}
    for name, job in jobs.items():
        if job.facts.get("headline") != headline:
            continue
        if headline == OF_NUMBERS:
            known = job.scores.dropna(subset=["score", "label"]).rename(
                columns={"group": "unit"}
            )
            beside[name] = known[["score", "label", "unit"]]
        elif not job.pairs.empty:
            beside[name] = job.pairs
    return beside


def of_all(
    both: Pair, measure: str, span: float, draws: int, left_outs: LeftOuts
) -> Comparison | None:
    """Two jobs by a measure of all texts, left minus right; None where it does not exist.

    Args:
        span: The width of the two jobs' scale.
        draws: So many exchanges give the p-value.
        left_outs: Filled with what the measure is of a job without each unit, so that this is made
            once per job.
    """
    left, right, a, b, texts = both
    n, whole = a["unit"].nunique(), MEASURES[measure].whole
    one, other = (
        side[[*MEASURES[measure].columns]].to_numpy(dtype=np.float64) for side in (a, b)
    )
    if np.isnan(one).any() or np.isnan(other).any():
        return None
    if whole is None:
        # no difference is known to be too small to matter
        any_size = Margin(0.0, "rubric", np.inf)
        return of_means(
            left,
            right,
            measure,
            (one - other)[:, 0],
            a["unit"].to_numpy(),
            any_size,
            None,
        )
    one, other = one.round(NOISE), other.round(NOISE)
    if n < whole.fewest:
        return None
    if np.array_equal(one, other):
        return compare.identical(left, right, measure, n)
    for name, rows, side in ((left, one, a), (right, other, b)):
        if (key := (name, measure, texts)) not in left_outs:
            # where groups are left out many at a time, the same of every job
            rng = np.random.default_rng(0)
            try:
                left_outs[key] = jackknife.LeftOut(
                    rows, whole.statistic, rng, side["unit"].tolist()
                )
            # a constant has no correlation, equal errors no order
            except jackknife.Undefined:
                left_outs[key] = None
    first, second = (left_outs[name, measure, texts] for name in (left, right))
    if first is None or second is None:
        return None

    def ends(alpha: float) -> means.Bounds:
        return whole.apart(first, second, 1 - alpha, span)

    def limits(alpha: float) -> Apart:
        low, high = ends(alpha)
        return Apart(
            (low, high), "beyond" if low > 0 else "against" if high < 0 else "open"
        )

    estimate = first.estimate - second.estimate
    if whole.exchanged:
        codes = np.unique(a["unit"].to_numpy(), return_inverse=True)[1]
        # The same exchanges for every two jobs: what one comparison shows is not by another's luck.
        rng = np.random.default_rng(0)
        p = compare.exchange_p(whole.statistic, one, other, codes, estimate, draws, rng)
    else:
        p = compare.p_of_interval(ends)
    return (
        None if p is None else Comparison(left, right, measure, estimate, n, p, limits)
    )
