"""The tables of a sweep's report: the leaderboard, how jobs agree, what each is worth and costs, what varies scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.compared import DESCRIBED
from undogmatic.analyses.costs import per_item
from undogmatic.analyses.variance import Divided, of_scores
from undogmatic.stats import agreement, coefficients, means
from undogmatic.stats.compare import NOISE, twins
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.selection import letter_display
from undogmatic.sweep.family import ALPHA, BETTER, LABELLED, MERITS, Pair, judged_both, same_items, uncertain, units_of
from undogmatic.sweep.jobs import Job

COUNTS = ("judged", "failed", "calls_cached")
PARTS = ("judge", "criterion")
"""Columns of the table of jobs where one of them had several; each such pair is compared like a job of its own."""
MOST_INTERVALS = 3  # further metrics with an interval, beside the headline
AGREEMENT = ("left right n pearson_between spearman_between kendall kappa alpha bias lower upper drift").split()
WORTH = {
    "worth_order": ("review_gain", "aurc", "excess_aurc", "spearman_error"),
    "worth_claims": ("ece", "coverage", "width", "interval_score", "mae"),
}
"""Metrics of `analysis=calibration`, by table: does the uncertainty find the errors, and does it hold what it says?"""
NUMBERS = ("spearman", "pearson", "mae")
"""Metrics of `analysis=labelled`, of jobs that are ranked by how they follow labels."""
QUANTITIES = ("calls", "tokens", "seconds", "usd")
_MERIT = ("", "_interval", "_group")
UNHEARD = ("analysis", "tracking", "report", "engine", "run", "hydra")
"""Groups of keys that say nothing to a judge: jobs that differ in them alone count once."""


def leaderboard(
    by_name: Mapping[str, Job], choices: Sequence[str], headline: str | None, further: bool
) -> pd.DataFrame:
    """One row per job, best first, jobs without a result last; see SweepResult. `further`: with related metrics."""
    present = dict.fromkeys(m for job in by_name.values() for m in job.metrics)
    related = [m for m in present if further and m != headline and f"{m}_low" in present]
    if headline is not None:
        related = [m for m in related if m.partition(".")[0] == headline.partition(".")[0]]
    related.sort(key=lambda m: m.count("."))  # "ab.auc" before "ab.length_adjusted.words"
    criteria = {job.criterion for job in by_name.values() if job.status == "finished"}
    parted = any(job.part for job in by_name.values()) or len(criteria) > 1
    standing = any(job.standing is not None for job in by_name.values())
    rows = []
    for label, job in by_name.items():
        row: dict[str, Any] = {"number": job.number, "name": label, "status": job.status}
        row |= {key: job.overrides.get(key, "default") for key in choices}
        row |= dict(zip(PARTS, (job.judge, job.criterion), strict=True)) if parted else {}
        row |= {"standing": job.standing} if standing else {}
        for column, end in (("headline", ""), ("low", "_low"), ("high", "_high")):
            row[column] = job.metrics.get(f"{headline}{end}", np.nan)
        row |= _with_intervals(job, related[:MOST_INTERVALS])
        counts = {count: job.metrics.get(count) for count in COUNTS if count in present}
        row |= {count: None if value is None else int(value) for count, value in counts.items()}
        # From the journal, not the run's own clock: a continued run judges nothing again.
        row["seconds"] = float(job.scores["seconds"].mean()) if len(job.scores) else np.nan
        rows.append(row | ({"usd": job.metrics.get("usd", np.nan)} if "usd" in present else {}))
    if not rows:
        return pd.DataFrame(columns=["number", "name", "status", "headline", "low", "high"])
    table = pd.DataFrame(rows)
    places = pd.factorize(pd.Series([job.criterion for job in by_name.values()]))[0]
    order = np.lexsort((table["number"], -table["headline"], places, table["status"] != "finished"))
    table = table.iloc[order].reset_index(drop=True)
    return table if places.any() else table.drop(columns="criterion", errors="ignore")


def _with_intervals(job: Job, names: Iterable[str], section: str = "") -> dict[str, Any]:
    """Metrics of a job's own report, each with its interval where that has both ends."""
    cells: dict[str, Any] = {}
    for name in names:
        value, low, high = (job.metrics.get(f"{section}{name}{end}") for end in ("", "_low", "_high"))
        cells[name] = np.nan if value is None else value
        cells[f"{name}_interval"] = None if low is None or high is None else (low, high)
    return cells


def worth(finished: Mapping[str, Job], tests: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The worth of the jobs' uncertainty, a row per job: the tables of WORTH; {} without such jobs.

    Args:
        finished: Jobs by name.
        tests: What was tested between them (`Sweep.family.table`).
    Returns:
        Per metric m the columns m, m_interval and, for tested MERITS, m_group: two jobs share a letter exactly if their
        test is not significant (ALPHA, after Holm).
    """
    jobs = {name: job for name, job in finished.items() if "calibration.judged" in job.metrics}
    tables = {}
    for title, names in WORTH.items():
        rows = [{"name": name} | _with_intervals(job, names, "calibration.") for name, job in jobs.items()]
        table = pd.DataFrame(rows, columns=["name", *(f"{name}{end}" for name in names for end in _MERIT)])
        for name in (name for name in names if name in MERITS and rows):
            letters = _letters(table.set_index("name")[name], tests[tests["measure"] == name], -BETTER[name])
            table[f"{name}_group"] = table["name"].map(letters)
        tables[title] = table.dropna(axis="columns", how="all")
    return {title: table for title, table in tables.items() if len(table.columns) > 1}


def _letters(values: pd.Series, tests: pd.DataFrame, sign: int) -> dict[str, str]:
    """Letters of the jobs that were tested; the best get the first ones. {} where two of them were not compared."""
    tests = tests[tests["left"].isin(values.index) & tests["right"].isin(values.index)]
    compared = {frozenset(pair) for pair in zip(tests["left"], tests["right"], strict=True)}
    tested = set().union(*compared)
    names = [name for name in (sign * values).sort_values(kind="stable").index if name in tested]
    if len(compared) < len(names) * (len(names) - 1) // 2:
        return {}
    apart = tests[tests["p_holm"] < ALPHA]
    return letter_display(names, list(zip(apart["left"], apart["right"], strict=True)))


def following(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Correlations with labels and error of the jobs, each with the interval of the job's own report; a row per job,
    empty where fewer than two of them are ranked by it."""
    jobs = {name: job for name, job in finished.items() if job.facts.get("headline") == LABELLED}
    if len(jobs) < 2:
        return pd.DataFrame()
    counts = {"n_judged": "labelled.judged", "n_failed": "labelled.failed"}
    rows = [
        {"name": name}
        | _with_intervals(job, NUMBERS, "labelled.")
        | {column: int(job.metrics.get(count, 0)) for column, count in counts.items()}
        for name, job in jobs.items()
    ]
    return pd.DataFrame(rows).dropna(axis="columns", how="all")


def described(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Coverage, width and seconds of every two jobs: mean difference with its interval of level 0.95, untested.

    Returns:
        Columns left, right, measure, difference (left minus right), low, high, n; what one of the two lacks, or both
        have the same, is left out.
    """
    rows = []
    pairs = list(judged_both(uncertain(finished), finished, "truth"))
    for measure, name in DESCRIBED.items():
        for left, right, a, b, _ in pairs:
            difference = (a[name] - b[name]).round(NOISE)
            if difference.notna().all() and difference.any():
                low, high = mean_interval(difference, a["unit"]) or (np.nan, np.nan)
                rows.append((left, right, measure, float(difference.mean()), low, high, a["unit"].nunique()))
    return pd.DataFrame(rows, columns=["left", "right", "measure", "difference", "low", "high", "n"])


def mean_interval(values: pd.Series, groups: pd.Series) -> tuple[float, float] | None:
    """The interval of level 0.95 of a mean over independent groups, or None for fewer than two of them."""
    if groups.nunique() < 2:
        return None
    mean = means.interval(values, groups=groups.tolist())
    return mean.low, mean.high


def agree(pairs: Sequence[Pair], jobs: Mapping[str, Job]) -> pd.DataFrame:
    """Agreement of the scores of every pair: columns AGREEMENT, in score units where they have a unit.

    Kappa is quadratically weighted over the rubric's levels, each score standing for the nearest. A coefficient that
    does not exist (a job that gives every item one score) is None.
    """
    kinds: tuple[agreement.Kind, ...] = ("pearson", "spearman", "kendall")
    rows = []
    for left, right, a, b in pairs:
        levels = jobs[left].rubric.levels
        steps = agreement.nearest_level(a, levels), agreement.nearest_level(b, levels)
        limits = agreement.bland_altman(a, b)
        coefficients = [agreement.correlation(kind, a, b).estimate for kind in kinds]
        coefficients.append(agreement.weighted_kappa(*steps, levels).estimate)
        coefficients.append(agreement.krippendorff_alpha(np.stack([a, b])).estimate)
        ends = limits.bias.value, limits.lower.value, limits.upper.value
        rows.append((left, right, len(a), *coefficients, *ends, limits.drift))
    return pd.DataFrame(rows, columns=AGREEMENT)


def overall_alpha(jobs: Mapping[str, Job]) -> tuple[Estimate, int, int] | None:
    """Krippendorff's alpha (interval) over these jobs with its interval over groups, the number of jobs and of items;
    None if they did not judge the same items.

    Jobs with the same score for every item are one rater: a copy agrees with its original whatever the judge is worth.
    """
    first = twins({name: job.scores["score"] for name, job in jobs.items()})
    several = [jobs[name] for name in dict.fromkeys(first.values())]
    if len(several) < 2 or not all(same_items(several[0], other) for other in several[1:]):
        return None
    ratings = pd.DataFrame([job.scores["score"] for job in several], dtype=np.float64)[several[0].scores.index]
    items = int((ratings.count() >= 2).sum())
    alpha = coefficients.alpha(ratings.to_numpy(), groups=units_of(several[0]).tolist()) if items else None
    return None if alpha is None else (alpha, len(several), items)


def costs(finished: Mapping[str, Job]) -> pd.DataFrame:
    """What the jobs took per text, and as multiples of the cheapest of them; columns without any number are left out.

    Calls include those that the cache answered, since that is what the procedure needs; tokens, seconds and money are
    of the judgments without any (see `analyses.costs`). The cheapest job has the fewest calls, then the fewest seconds.

    Returns:
        Columns name, <quantity>_per_item (seconds with its interval) and <quantity>_ratio per QUANTITIES, trigger_rate
        (of a selective judge).
    """
    rows = []
    for name, job in finished.items():
        spent = per_item(job.costs)
        known = job.scores.dropna(subset="seconds")
        spent["tokens"] = spent["input_tokens"] + spent["output_tokens"]
        spent["seconds"] = float(job.scores["seconds"].mean())  # of the first repeat, as its interval
        row: dict[str, Any] = {"name": name} | {f"{quantity}_per_item": spent[quantity] for quantity in QUANTITIES}
        row["seconds_per_item_interval"] = mean_interval(known["seconds"], known["group"])
        rows.append(row | {"trigger_rate": job.metrics.get("costs.trigger_rate", np.nan)})
    if len(rows) < 2:
        return pd.DataFrame()
    table = pd.DataFrame(rows)
    cheapest = table.sort_values(["calls_per_item", "seconds_per_item"], kind="stable").iloc[0]
    for quantity in QUANTITIES:
        base = float(cheapest[f"{quantity}_per_item"])
        table[f"{quantity}_ratio"] = table[f"{quantity}_per_item"] / base if base > 0 else np.nan
    order = [f"{quantity}_{kind}" for quantity in QUANTITIES for kind in ("per_item", "per_item_interval", "ratio")]
    shown = ["name", *(column for column in order if column in table), "trigger_rate"]
    return table[shown].dropna(axis="columns", how="all")


def variance(finished: Mapping[str, Job], choices: Sequence[str]) -> Divided:
    """Where the variance of the scores comes from: what varies between the jobs that judged the same items, crossed
    with the items; without a table where there are none or several criteria, and with a sentence where the jobs do not
    cross what varies in full."""
    jobs, nothing = list(finished.values()), Divided(None, pd.DataFrame(), [])
    several = any(job.part for job in jobs)
    facets = [key for key in choices if key.partition(".")[0] not in UNHEARD]
    facets += ["judge"] if several and "judge" not in facets else []
    alike = {(job.criterion, frozenset(job.scores.index)) for job in jobs}
    if len(jobs) < 2 or len(alike) > 1:
        return nothing
    frames = []
    for job in jobs:
        settings = {key: job.overrides.get(key, "default") for key in facets} | (
            {"judge": job.judge} if several else {}
        )
        frames.append(job.scores[["score", "group"]].rename_axis("item_id").reset_index().assign(**settings))
    table = pd.concat(frames, ignore_index=True).drop_duplicates(["item_id", *facets])
    return of_scores(table, facets) if any(table[key].nunique() > 1 for key in facets) else nothing
