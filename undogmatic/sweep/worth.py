"""The jobs of a sweep by the worth of their uncertainty: numbers per job, and comparisons over the same items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from undogmatic.analyses.margins import Margin
from undogmatic.analyses.worth import FEWEST_CONFIDENCES
from undogmatic.progress import doing
from undogmatic.stats import calibration, resampling, review, selective
from undogmatic.stats.letters import letter_display
from undogmatic.sweep.family import ALPHA, BETTER, NOISE, UNKNOWN, Array, Comparison, Limits, of_means, twins
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.pairwise import mean_interval

SECTION = "calibration"
ORDER = ("review_gain", "aurc", "excess_aurc", "spearman_error")
CLAIMS = ("ece", "coverage", "width", "interval_score", "mae")
"""Metrics of `analysis=calibration` by job: does the uncertainty find the errors, and does it hold what it says?"""

MERITS = ("review_gain", "aurc", "ece", "interval_score")
"""Tested metrics, good by themselves. A narrow interval is not, nor one that holds more than it claims."""

FEWEST = 10
DRAWS = 1000
FEWEST_DRAWS, DRAWS_OF_ALL = 100, 66_000
"""For p-values: DRAWS each up to twelve jobs (66 pairs), fewer for more of them, for the sake of time."""
COUNTED = 20
"""Draws at least as far from 0 as the data, below which their share says too little."""
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
    resampled = _Resampled()
    n_pairs = len(finished) * (len(finished) - 1) // 2
    draws = min(DRAWS, max(FEWEST_DRAWS, DRAWS_OF_ALL // max(1, n_pairs)))
    found = []
    with doing("testing the uncertainty of every two jobs"):
        for both in _judged_both(finished):
            found += [each for measure in _WHOLE if (each := _whole(both, measure, resampled, draws)) is not None]
            difference = (both.a["interval_score"] - both.b["interval_score"]).to_numpy()
            if not np.isnan(difference).any():
                units = both.a["unit"].to_numpy()
                found.append(of_means(both.left, both.right, "interval_score", difference, units, _ANY))
    return found


def worth_twins(finished: Mapping[str, Job]) -> dict[str, dict[str, str]]:
    """Per measure of MERITS each job's first twin."""
    items = {name: job.items for name, job in finished.items() if not job.items.empty}
    needs = {name: columns for name, (columns, _) in _WHOLE.items()} | {"interval_score": ["interval_score"]}
    return {measure: twins({name: own[columns] for name, own in items.items()}) for measure, columns in needs.items()}


def described(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Coverage, width and seconds of every two jobs: mean difference with its interval of level 0.95, untested.

    Returns:
        Columns DESCRIBED, `difference` is left minus right; what one of the two lacks, or both have the same, is left
        out.
    """
    rows = []
    for left, right, a, b, _ in _judged_both(finished):
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


class _Both(NamedTuple):
    """What two jobs say of the same texts, in one order, `unit` as a number; `texts` is None where these are all that
    both judged."""

    left: str
    right: str
    a: pd.DataFrame
    b: pd.DataFrame
    texts: tuple[str, ...] | None


def _judged_both(finished: Mapping[str, Job]) -> Iterator[_Both]:
    judged = {name: job.items.join(job.scores["seconds"]) for name, job in finished.items() if not job.items.empty}
    units = pd.Index(sorted({unit for items in judged.values() for unit in items["unit"]}))
    judged = {name: own.assign(unit=units.get_indexer(own["unit"])).sort_index() for name, own in judged.items()}
    for (left, one), (right, other) in combinations(judged.items(), 2):
        if finished[left].criterion != finished[right].criterion:
            continue
        a, b, texts = one, other, None
        if not one.index.equals(other.index):
            both = one.index.intersection(other.index)
            a, b, texts = one.loc[both], other.loc[both], tuple(both)
        if len(a) >= FEWEST and np.allclose(a["truth"], b["truth"]):
            yield _Both(left, right, a, b, texts)


def caught(items: pd.DataFrame) -> tuple[Array, Array]:
    """Shares of texts reviewed, the most uncertain first, from 0 to 1, and the share of the error that they catch."""
    # The curve itself is exact; one resample because the band is not used.
    curve = review.review_curve(items["uncertainty"], items["error"], np.random.default_rng(0), n_resamples=1)
    return curve.budget / len(items), curve.guided


class _Resampled:
    """Standard errors of measures of _WHOLE need resampled texts (groups together); jobs on the same texts get the same
    resamples."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, tuple[str, ...] | None], Array] = {}

    def of(self, job: str, items: pd.DataFrame, texts: tuple[str, ...] | None, measure: str) -> Array:
        """The measure of a job on these texts and on DRAWS resamples of them; shape (1 + DRAWS,)."""
        key = (job, measure, texts)
        if key not in self._known:
            needs, statistic = _WHOLE[measure]
            of_draws = statistic.on(items[needs].to_numpy(dtype=np.float64))
            # The same seed gives the same resamples to every job and measure; kept, they would fill the memory.
            draws = resampling.Units(_codes(items)).draws(np.random.default_rng(0), DRAWS)
            known = of_draws(np.arange(len(items))[None, :]), resampling.distribution(of_draws, draws)
            self._known[key] = np.concatenate(known)
        return self._known[key]


def _codes(items: pd.DataFrame) -> resampling.Index:
    return np.unique(items["unit"].to_numpy(), return_inverse=True)[1]


def _whole(both: _Both, measure: str, resampled: _Resampled, draws: int) -> Comparison | None:
    """Difference of a measure of all texts; None where it does not exist."""
    left, right, a, b, texts = both
    needs, statistic = _WHOLE[measure]
    n = a["unit"].nunique()
    one, other = (side[needs].to_numpy(dtype=np.float64).round(NOISE) for side in (a, b))
    if np.isnan(one).any() or np.isnan(other).any() or (measure == "ece" and n < FEWEST_CONFIDENCES) or n < 2:
        return None
    if np.array_equal(one, other):
        return Comparison(left, right, measure, 0.0, n, None, lambda _: UNKNOWN)
    differences = resampled.of(left, a, texts, measure) - resampled.of(right, b, texts, measure)
    estimate, several = float(differences[0]), differences[1:][~np.isnan(differences[1:])]
    if np.isnan(estimate) or several.size < 0.95 * DRAWS:
        return None
    p = _exchanged(statistic, one, other, _codes(a), estimate, draws)
    if p is None:
        return None
    spread = float(several.std(ddof=1))

    def limits(alpha: float) -> Limits:
        reach = spread * float(special.stdtrit(n - 1, 1 - alpha / 2))
        low, high = estimate - reach, estimate + reach
        return Limits(low, high, "beyond" if low > 0 else "against" if high < 0 else "open", None)

    return Comparison(left, right, measure, estimate, n, p, limits)


def _exchanged(
    statistic: resampling.Prepared, one: Array, other: Array, codes: resampling.Index, estimate: float, draws: int
) -> float | None:
    """p-value of a difference under exchange of both sides' rows, unit by unit; None where it is mostly undefined.

    Where fewer than COUNTED of the draws are as far from 0, it is that of a normal distribution with their spread: a
    correction for many comparisons asks for p-values that no number of draws can show.

    References:
        Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, section 3.
    """
    of_draws = statistic.on(np.concatenate([one, other]))
    swapped = np.random.default_rng(0).random((draws, int(codes.max()) + 1)) < 0.5
    found = []
    for part in np.array_split(swapped, 1 + draws * len(one) // resampling.AT_ONCE):
        rows, there = np.arange(len(one)), part[:, codes]
        mine, theirs = np.where(there, rows + len(one), rows), np.where(there, rows, rows + len(one))
        with np.errstate(all="ignore"):
            found.append(of_draws(mine) - of_draws(theirs))
    drawn = np.concatenate(found)
    drawn = drawn[~np.isnan(drawn)]
    if drawn.size < 0.95 * draws:
        return None
    as_far = int(np.sum(np.abs(drawn) >= abs(estimate) * (1 - 1e-9)))
    spread = float(np.sqrt(np.mean(drawn**2)))
    if as_far >= COUNTED or spread == 0:
        return (as_far + 1) / (drawn.size + 1)
    return float(2 * special.ndtr(-abs(estimate) / spread))


_WHOLE: dict[str, tuple[list[str], resampling.Prepared]] = {
    "review_gain": (["uncertainty", "error"], review.GAIN),
    "aurc": (["uncertainty", "error"], selective.AURC),
    "ece": (["confidence", "right"], calibration.calibration_error(BINS)),
}
WHOLE = tuple(_WHOLE)
"""Measures of a whole set of texts, the one that ranks first."""

_EACH = {"coverage": "inside", "width": "width", "seconds": "seconds"}
_ANY = Margin(0.0, "rubric", np.inf)
"""Of measures in which no difference is known to be too small to matter."""
