"""The tables of a sweep's report: the leaderboard, how jobs agree, what each is worth and costs, what varies scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
        for metric in related[:MOST_INTERVALS]:
            row[metric], row[f"{metric}_interval"] = _with_interval(job, metric)
        counts = {count: job.metrics.get(count) for count in COUNTS if count in present}
        row |= {count: None if value is None else int(value) for count, value in counts.items()}
        # From the journal, not the run's own clock: a continued run judges nothing again.
        row["seconds"] = float(job.scores["seconds"].mean()) if len(job.scores) else np.nan
        row |= {"usd": job.metrics.get("usd", np.nan)} if "usd" in present else {}
        rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return pd.DataFrame(columns=["number", "name", "status", "headline", "low", "high"])
    places = {criterion: n for n, criterion in enumerate(dict.fromkeys(job.criterion for job in by_name.values()))}
    order = pd.DataFrame({"unfinished": table["status"] != "finished", "headline": -table["headline"]})
    order["criterion"] = [places[job.criterion] for job in by_name.values()]
    order["number"] = table["number"]
    order = order.sort_values(["unfinished", "criterion", "headline", "number"], kind="stable")
    table = table.loc[order.index].reset_index(drop=True)
    return table if len(places) > 1 else table.drop(columns="criterion", errors="ignore")


def _with_interval(job: Job, metric: str) -> tuple[float, tuple[float, float] | None]:
    """A metric of a job's own report, and its interval where that has both ends."""
    low, high = job.metrics.get(f"{metric}_low"), job.metrics.get(f"{metric}_high")
    return job.metrics.get(metric, np.nan), None if low is None or high is None else (low, high)


def _metrics(jobs: Mapping[str, Job], section: str, names: Collection[str]) -> pd.DataFrame:
    """A row per job with these metrics of an analysis and their intervals."""
    table = pd.DataFrame({"name": list(jobs)})
    for name in names:
        pairs = [_with_interval(job, f"{section}.{name}") for job in jobs.values()]
        table[name] = [value for value, _ in pairs]
        table[f"{name}_interval"] = [interval for _, interval in pairs]
    return table


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
        table = _metrics(jobs, "calibration", names)
        for name in (name for name in names if name in MERITS):
            letters = _letters(table.set_index("name")[name], tests[tests["measure"] == name], -BETTER[name])
            table.insert(table.columns.get_loc(f"{name}_interval") + 1, f"{name}_group", table["name"].map(letters))  # type: ignore[operator]
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
    table = _metrics(jobs, "labelled", NUMBERS)
    for count in ("judged", "failed"):
        table[f"n_{count}"] = [int(job.metrics.get(f"labelled.{count}", 0)) for job in jobs.values()]
    return table.dropna(axis="columns", how="all")


def described(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Coverage, width and seconds of every two jobs: mean difference with its interval of level 0.95, untested.

    Returns:
        Columns left, right, measure, difference (left minus right), low, high, n; what one of the two lacks, or both
        have the same, is left out.
    """
    rows = []
    for left, right, a, b, _ in judged_both(uncertain(finished), finished, "truth"):
        for place, (measure, name) in enumerate(DESCRIBED.items()):
            difference = (a[name] - b[name]).round(NOISE)
            if difference.isna().any() or not difference.any():
                continue
            low, high = mean_interval(difference, a["unit"]) or (np.nan, np.nan)
            numbers = (float(difference.mean()), low, high, a["unit"].nunique())
            rows.append((place, left, right, measure, *numbers))
    columns = ["place", "left", "right", "measure", "difference", "low", "high", "n"]
    table = pd.DataFrame(rows, columns=columns).sort_values("place", kind="stable")
    return table.drop(columns="place").reset_index(drop=True)


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
    rows = []
    for left, right, a, b in pairs:
        levels = jobs[left].rubric.levels
        steps = agreement.nearest_level(a, levels), agreement.nearest_level(b, levels)
        limits = agreement.bland_altman(a, b)
        coefficients = (
            agreement.correlation("pearson", a, b),
            agreement.correlation("spearman", a, b),
            agreement.correlation("kendall", a, b),
            agreement.weighted_kappa(*steps, levels),
            agreement.krippendorff_alpha(np.stack([a, b])),
        )
        estimates = [coefficient.estimate for coefficient in coefficients]
        ends = (limits.bias.value, limits.lower.value, limits.upper.value)
        rows.append((left, right, len(a), *estimates, *ends, limits.drift))
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
    ids = several[0].scores.index
    ratings = np.stack([job.scores["score"].reindex(ids).to_numpy(dtype=np.float64) for job in several])
    items = int(np.sum(np.sum(~np.isnan(ratings), axis=0) >= 2))
    if not items:
        return None
    alpha = coefficients.alpha(ratings, groups=units_of(several[0]).tolist())
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
        spent["tokens"] = spent["input_tokens"] + spent["output_tokens"]
        seconds = job.scores["seconds"]
        spent["seconds"] = float(seconds.mean())  # of the first repeat, as its interval
        row: dict[str, Any] = {"name": name} | {f"{quantity}_per_item": spent[quantity] for quantity in QUANTITIES}
        known = seconds.notna()
        row["seconds_per_item_interval"] = mean_interval(seconds[known], job.scores.loc[known, "group"])
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
    jobs = list(finished.values())
    nothing = Divided(None, pd.DataFrame(), [])
    facets = [key for key in choices if key.partition(".")[0] not in UNHEARD]
    if len(jobs) < 2 or len({job.criterion for job in jobs}) > 1:
        return nothing
    if any(set(job.scores.index) != set(jobs[0].scores.index) for job in jobs):
        return nothing
    if any(job.part for job in jobs):
        facets = [*facets, "judge"] if "judge" not in facets else facets
    frames = []
    for job in jobs:
        frame = job.scores[["score", "group"]].rename_axis("item_id").reset_index()
        settings = {key: job.overrides.get(key, "default") for key in facets}
        frames.append(frame.assign(**(settings | ({"judge": job.judge} if job.part else {}))))
    table = pd.concat(frames, ignore_index=True).drop_duplicates(["item_id", *facets])
    return of_scores(table, facets) if any(table[key].nunique() > 1 for key in facets) else nothing
