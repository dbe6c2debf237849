"""The jobs of a sweep by the worth of their uncertainty: numbers per job, and comparisons over the same items."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from undogmatic.analyses.truth import Margin
from undogmatic.analyses.worth import FEWEST_CONFIDENCES
from undogmatic.runs.progress import doing
from undogmatic.stats import calibration_error, jackknife, means, review, selective
from undogmatic.stats.letters import letter_display
from undogmatic.sweep.family import ALPHA, BETTER, NOISE, Array, Comparison, of_means, twins
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.pairwise import margin_of_jobs, mean_interval
from undogmatic.sweep.whole import DRAWS, Both, LeftOuts, Whole, compare_whole, exchange_p, judged_both

SECTION = "calibration"
ORDER = ("review_gain", "aurc", "excess_aurc", "spearman_error")
CLAIMS = ("ece", "coverage", "width", "interval_score", "mae")
"""Metrics of `analysis=calibration` by job: does the uncertainty find the errors, and does it hold what it says?"""

MERITS = ("review_gain", "aurc", "ece", "interval_score")
"""Tested metrics, good by themselves. A narrow interval is not, nor one that holds more than it claims."""

FEWEST_DRAWS, DRAWS_OF_ALL = 100, 66_000
"""For p-values: DRAWS each up to twelve jobs (66 pairs), fewer for more of them, for the sake of time."""
BINS = 10
DESCRIBED = ["left", "right", "measure", "difference", "low", "high", "n"]


def worth_tables(finished: Mapping[str, Job], tests: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The worth of the jobs' uncertainty, a row per job: tables `worth_order` and `worth_claims`; {} without such jobs.

    Args:
        finished: Jobs by name.
        tests: What was tested between them (`family.Family.table`).
    Returns:
        Per metric m of ORDER or CLAIMS the columns m, m_interval and, for tested MERITS, m_group: two
        jobs share a letter exactly if their test is not significant (ALPHA, after Holm).
    """
    jobs = {name: job for name, job in finished.items() if f"{SECTION}.judged" in job.metrics}
    made = {"worth_order": _numbers(jobs, ORDER, tests), "worth_claims": _numbers(jobs, CLAIMS, tests)}
    return {name: table for name, table in made.items() if len(table.columns) > 1}


def _numbers(jobs: Mapping[str, Job], names: Sequence[str], tests: pd.DataFrame) -> pd.DataFrame:
    table = pd.DataFrame({"name": list(jobs)})
    for name in names:
        metric = f"{SECTION}.{name}"
        values = {job: one.metrics.get(metric, np.nan) for job, one in jobs.items()}
        ends = [(one.metrics.get(f"{metric}_low"), one.metrics.get(f"{metric}_high")) for one in jobs.values()]
        table[name] = list(values.values())
        table[f"{name}_interval"] = [None if None in pair else pair for pair in ends]
        if name in MERITS:
            groups = _letters(values, tests[tests["measure"] == name], -BETTER[name])
            table[f"{name}_group"] = [groups.get(job) for job in jobs]
    return table.dropna(axis="columns", how="all")


def _letters(values: Mapping[str, float], tests: pd.DataFrame, sign: int) -> dict[str, str]:
    """Letters of the jobs that were tested; the best get the first ones. None where two of them were not compared."""
    tests = tests[tests["left"].isin(values) & tests["right"].isin(values)]
    compared = {frozenset(pair) for pair in zip(tests["left"], tests["right"], strict=True)}
    names = sorted(set().union(*compared), key=lambda name: (np.isnan(values[name]), sign * values[name]))
    if len(compared) < len(names) * (len(names) - 1) // 2:
        return {}
    apart = tests[tests["p_holm"].astype(float) < ALPHA]
    return letter_display(names, list(zip(apart["left"], apart["right"], strict=True)))


def compare_worth(finished: Mapping[str, Job]) -> list[Comparison]:
    """Every two jobs by MERITS on the texts that both judged and whose true score both take for the same.

    review_gain, aurc and ece are numbers of a whole set of texts; their p-value comes from exchanging the two jobs'
    answers, group by group, which is exact where it makes no difference whose they are. The interval score is a mean.
    The errors themselves are compared with all scores, see `pairwise`. A measure that one of the two lacks is left out.
    """
    known = LeftOuts()
    n_pairs = len(finished) * (len(finished) - 1) // 2
    draws = min(DRAWS, max(FEWEST_DRAWS, DRAWS_OF_ALL // max(1, n_pairs)))
    found = []
    with doing("testing the uncertainty of every two jobs"):
        for both in _both(finished):
            # A sweep may hold jobs of several scales; that of the first says nothing of the others.
            span = max(margin_of_jobs({name: finished[name]}).span for name in (both.left, both.right))
            for measure, whole in WHOLES.items():
                exchanged = functools.partial(exchange_p, whole.statistic, draws=draws)
                compared = compare_whole(both, measure, whole, known, exchanged, span)
                found += [compared] if compared is not None else []
            difference = (both.a["interval_score"] - both.b["interval_score"]).to_numpy()
            if not np.isnan(difference).any():
                units = both.a["unit"].to_numpy()
                found.append(of_means(both.left, both.right, "interval_score", difference, units, _ANY))
    return found


def worth_twins(finished: Mapping[str, Job]) -> dict[str, dict[str, str]]:
    """Per measure of MERITS each job's first twin."""
    items = {name: job.items for name, job in finished.items() if not job.items.empty}
    needs = {name: whole.columns for name, whole in WHOLES.items()} | {"interval_score": ["interval_score"]}
    return {measure: twins({name: own[columns] for name, own in items.items()}) for measure, columns in needs.items()}


def described(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Coverage, width and seconds of every two jobs: mean difference with its interval of level 0.95, untested.

    Returns:
        Columns DESCRIBED, `difference` is left minus right; what one of the two lacks, or both have the same, is left
        out.
    """
    rows = []
    for left, right, a, b, _ in _both(finished):
        for measure, name in _EACH.items():
            difference = (a[name] - b[name]).round(NOISE)
            if difference.isna().any() or not difference.any():
                continue
            low, high = mean_interval(difference, a["unit"]) or (np.nan, np.nan)
            numbers = {"difference": float(difference.mean()), "low": low, "high": high, "n": a["unit"].nunique()}
            rows.append({"left": left, "right": right, "measure": measure} | numbers)
    table = pd.DataFrame(rows, columns=DESCRIBED)
    places = table["measure"].map({measure: n for n, measure in enumerate(_EACH)})
    return table.assign(place=places).sort_values("place", kind="stable")[DESCRIBED].reset_index(drop=True)


def _both(finished: Mapping[str, Job]) -> Iterator[Both]:
    judged = {name: job.items.join(job.scores["seconds"]) for name, job in finished.items() if not job.items.empty}
    return judged_both(judged, finished, "truth")


def caught(items: pd.DataFrame) -> tuple[Array, Array]:
    """Shares of texts reviewed, the most uncertain first, from 0 to 1, and the share of the error that they catch."""
    # The curve itself is exact; one resample because the band is not used.
    curve = review.review_curve(items["uncertainty"], items["error"], np.random.default_rng(0), n_resamples=1)
    return curve.budget / len(items), curve.guided


def _gains(one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float) -> means.Bounds:
    found = jackknife.difference_of_means(one, other, level, (-2.0, 2.0))
    return found.low, found.high


def _areas(one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float) -> means.Bounds:
    found = jackknife.difference_of_means(one, other, level, (-span, span))
    return found.low, found.high


def _errors(one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float) -> means.Bounds:
    return calibration_error.error_difference(one, other, (_noise(one), _noise(other)), level)


@functools.lru_cache(maxsize=64)
def _noise(found: jackknife.LeftOut) -> calibration_error.Noise:
    """Drawn once for all comparisons of a job."""
    return calibration_error.Noise(found, np.random.default_rng(0), BINS)


WHOLES = {
    "review_gain": Whole(["uncertainty", "error"], review.GAIN, _gains),
    "aurc": Whole(["uncertainty", "error"], selective.AURC, _areas),
    "ece": Whole(["confidence", "right"], calibration_error.calibration_error(BINS), _errors, FEWEST_CONFIDENCES),
}
"""Measures of a whole set of texts."""

_EACH = {"coverage": "inside", "width": "width", "seconds": "seconds"}
_ANY = Margin(0.0, "rubric", np.inf)
"""Of measures in which no difference is known to be too small to matter."""
