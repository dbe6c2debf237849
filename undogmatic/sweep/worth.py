"""The jobs of a sweep by the worth of their uncertainty: numbers per job, and paired tests over the same items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.worth import FEWEST_CONFIDENCES
from undogmatic.progress import doing
from undogmatic.stats import calibration, paired, resampling, review, selective
from undogmatic.stats.letters import letter_display
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.pairwise import NOISE, correct, mean_interval, twins

SECTION = "calibration"
ORDER = ("review_gain", "aurc", "excess_aurc", "spearman_error")
CLAIMS = ("ece", "coverage", "width", "interval_score", "mae")
"""Metrics of `analysis=calibration` by job: does the uncertainty find the errors, and does it hold what it says?"""

MERITS = {"review_gain": -1, "aurc": 1, "ece": 1, "interval_score": 1}
"""Tested metrics that are good by themselves, with the sign that puts the best first. A narrow interval is not, nor one
that holds more than it claims."""

ALPHA = 0.05
FEWEST = 10
RESAMPLES = 5000
BINS = 10
COLUMNS = ["left", "right", "measure", "difference", "low", "high", "n", "p", "p_holm"]

Array = NDArray[np.float64]


def worth_tables(finished: Mapping[str, Job], tests: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The worth of the jobs' uncertainty, a row per job: tables `worth_order` and `worth_claims`; {} without such jobs.

    Args:
        finished: Jobs by name.
        tests: What `worth_tests` gave for them.
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
            groups = _groups(values, tests[tests["measure"] == name], MERITS[name])
            table[f"{name}_group"] = [groups.get(job) for job in jobs]
    return table.dropna(axis="columns", how="all")


def _groups(values: Mapping[str, float], tests: pd.DataFrame, sign: int) -> dict[str, str]:
    """Letters of the jobs that were tested; the best get the first ones. None where two of them were not compared."""
    compared = {frozenset(pair) for pair in zip(tests["left"], tests["right"], strict=True)}
    names = sorted(set().union(*compared), key=lambda name: (np.isnan(values[name]), sign * values[name]))
    if len(compared) < len(names) * (len(names) - 1) // 2:
        return {}
    apart = tests[tests["p_holm"].astype(float) < ALPHA]
    return letter_display(names, list(zip(apart["left"], apart["right"], strict=True)))


def worth_tests(finished: Mapping[str, Job], seed: int) -> pd.DataFrame:
    """Every two jobs on the texts both judged: paired differences, Holm-corrected over the pairs of each measure.

    review_gain, aurc and ece are numbers of a whole set of texts: their interval and p-value come from resampling the
    texts (pairs of texts together) for both jobs at once. coverage, width, interval_score and seconds are numbers per
    text: Wilcoxon's test of the differences. The errors themselves are compared with all scores, see `pairwise`.

    Returns:
        Columns COLUMNS, measure by measure, `difference` is left minus right; a measure that one of the two lacks has
        no row. Jobs with the same values for every text are no test: their p-values are NaN; see also
        `pairwise.correct`. Nor are the seconds of jobs that agree in all else: they tell of the machine. All resampling
        starts from `seed`, so that the same values give the same numbers, whatever their jobs' places in the sweep.
    """
    judged = {name: job for name, job in finished.items() if not job.items.empty}
    items = {name: job.items.join(job.scores["seconds"]) for name, job in judged.items()}
    copies = twins({name: job.scores[["score"]].join(job.items.drop(columns="score")) for name, job in judged.items()})
    whole = _Resampled(seed)
    rows: list[dict[str, Any]] = []
    for (left, one), (right, other) in combinations(items.items(), 2):
        both = one.index.intersection(other.index)
        if finished[left].criterion != finished[right].criterion:
            continue
        if len(both) < FEWEST or not np.allclose(one.loc[both, "truth"], other.loc[both, "truth"]):
            continue
        a, b = one.loc[both], other.loc[both]
        with doing(f"testing the uncertainty of {left} against {right}"):
            tests = [*_whole(left, right, a, b, whole), *_each(a, b, seed)]
        for found in tests:
            if found["measure"] == "seconds" and copies[left] == copies[right]:
                found["p"] = np.nan
            rows.append({"left": left, "right": right, "n": len(both)} | found)
    for measure, needs in _NEEDS.items():
        first = copies if measure == "seconds" else twins({name: own[needs] for name, own in items.items()})
        correct([row for row in rows if row["measure"] == measure and not np.isnan(row["p"])], first)
    table = pd.DataFrame(rows, columns=COLUMNS)
    places = table["measure"].map({measure: n for n, measure in enumerate(_NEEDS)})
    return table.assign(place=places).sort_values(["place", "p_holm"], kind="stable")[COLUMNS].reset_index(drop=True)


def caught(items: pd.DataFrame) -> tuple[Array, Array]:
    """Shares of texts reviewed, the most uncertain first, from 0 to 1, and the share of the error that they catch."""
    # The curve itself is exact; one resample because the band is not used.
    curve = review.review_curve(items["uncertainty"], items["error"], np.random.default_rng(0), n_resamples=1)
    return curve.budget / len(items), curve.guided


class _Resampled:
    """Measures of _WHOLE on resampled texts (pairs together); jobs on the same texts get the same resamples."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[tuple[str, str, tuple[str, ...]], Array] = {}

    def of(self, job: str, items: pd.DataFrame, measure: str) -> Array:
        """The measure of a job on these texts and on RESAMPLES resamples of them; shape (1 + RESAMPLES,)."""
        texts = tuple(items.index)
        key = (job, measure, texts)
        if key not in self._known:
            needs, statistic = _WHOLE[measure]
            of_draws = statistic.on(items[needs].to_numpy(dtype=np.float64))
            _, codes = np.unique(items["unit"].to_numpy(), return_inverse=True)
            # The same seed gives the same resamples to every job and measure; kept, they would fill the memory.
            draws = resampling.Units(codes).draws(np.random.default_rng(self._seed), RESAMPLES)
            known = of_draws(np.arange(len(items))[None, :]), resampling.distribution(of_draws, draws)
            self._known[key] = np.concatenate(known)
        return self._known[key]


def _whole(left: str, right: str, a: pd.DataFrame, b: pd.DataFrame, resampled: _Resampled) -> Iterator[dict[str, Any]]:
    """Differences of measures of all texts: percentile interval, two-sided p-value; none where one does not exist."""
    for measure, (needs, _) in _WHOLE.items():
        if a[needs].isna().any(axis=None) or b[needs].isna().any(axis=None):
            continue
        if measure == "ece" and a["unit"].nunique() < FEWEST_CONFIDENCES:
            continue
        if np.array_equal(a[needs].to_numpy(), b[needs].to_numpy()):
            yield {"measure": measure} | _UNTESTED
            continue
        differences = resampled.of(left, a, measure) - resampled.of(right, b, measure)
        estimate, several = differences[0], differences[1:][~np.isnan(differences[1:])]
        if np.isnan(estimate) or several.size < 0.95 * RESAMPLES:
            continue
        low, high = np.quantile(several, [0.025, 0.975])
        tail = min(np.sum(several <= 0), np.sum(several >= 0))
        # Davison and Hinkley (1997), section 4.4: counting the data themselves keeps p above 0.
        p = min(1.0, 2 * (float(tail) + 1) / (several.size + 1))
        yield {"measure": measure, "difference": float(estimate), "low": float(low), "high": float(high), "p": p}


def _each(a: pd.DataFrame, b: pd.DataFrame, seed: int) -> Iterator[dict[str, Any]]:
    """Differences of numbers per text: mean with bootstrap interval, Wilcoxon's test."""
    units = a["unit"].tolist()
    for measure, name in _EACH.items():
        if a[name].isna().any() or b[name].isna().any():
            continue
        difference = (a[name] - b[name]).round(NOISE)
        if not difference.any():
            yield {"measure": measure} | _UNTESTED
            continue
        groups = units if len(set(units)) < len(units) else None
        interval = mean_interval(difference, seed, groups)
        found = {"difference": interval.estimate, "low": interval.low, "high": interval.high}
        yield {"measure": measure} | found | {"p": paired.wilcoxon(difference).p_value}


_WHOLE: dict[str, tuple[list[str], resampling.Prepared]] = {
    "review_gain": (["uncertainty", "error"], review.GAIN),
    "aurc": (["uncertainty", "error"], selective.AURC),
    "ece": (["confidence", "right"], calibration.calibration_error(BINS)),
}
WHOLE = tuple(_WHOLE)
"""Measures of a whole set of texts, the one that ranks first."""

_EACH = {"coverage": "inside", "width": "width", "interval_score": "interval_score", "seconds": "seconds"}
_NEEDS = {name: needs for name, (needs, _) in _WHOLE.items()} | {name: [column] for name, column in _EACH.items()}
_UNTESTED = {"difference": 0.0, "low": np.nan, "high": np.nan, "p": np.nan}
