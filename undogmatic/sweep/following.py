"""The jobs of a sweep by how their scores follow human labels: numbers per job, and the correlations compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from undogmatic.stats.coefficients import PEARSON
from undogmatic.stats.ranking import RANK_CORRELATION
from undogmatic.sweep.family import Comparison, twins
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.whole import Resampled, Whole, compare_whole, judged_both

HEADLINE = "labelled.spearman"
"""Jobs that this metric ranks are compared by what it says."""
NUMBERS = ("spearman", "pearson", "mae")
_FEWEST_GROUPS = 5  # Student's t over fewer says nothing of a correlation
WHOLE = {
    "spearman": Whole(["score", "label"], RANK_CORRELATION, _FEWEST_GROUPS),
    "pearson": Whole(["score", "label"], PEARSON, _FEWEST_GROUPS),
}
FOLLOWING = tuple(WHOLE)


def compare_following(finished: Mapping[str, Job]) -> list[Comparison]:
    """Every two jobs by FOLLOWING, on the labelled texts that both judged, by a paired bootstrap over groups."""
    resampled = Resampled(WHOLE)
    found = []
    for both in judged_both(_labelled(finished), finished, "label"):
        found += [each for measure in WHOLE if (each := compare_whole(both, measure, resampled)) is not None]
    return found


def following_twins(finished: Mapping[str, Job]) -> dict[str, dict[str, str]]:
    """Per measure of FOLLOWING each job's first twin."""
    same = twins({name: own[["score", "label"]] for name, own in _labelled(finished).items()})
    return dict.fromkeys(FOLLOWING, same)


def following_table(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Correlations and error of the jobs, each with the interval that the job's own report gives; a row per job, empty
    where fewer than two of them are ranked by it."""
    jobs = {name: job for name, job in finished.items() if job.facts.get("headline") == HEADLINE}
    if len(jobs) < 2:
        return pd.DataFrame()
    table = pd.DataFrame({"name": list(jobs)})
    for name in NUMBERS:
        metric = f"labelled.{name}"
        table[name] = [job.metrics.get(metric, np.nan) for job in jobs.values()]
        ends = [(job.metrics.get(f"{metric}_low"), job.metrics.get(f"{metric}_high")) for job in jobs.values()]
        table[f"{name}_interval"] = [None if None in pair else pair for pair in ends]
    table["n_judged"] = [int(job.metrics.get("labelled.judged", 0)) for job in jobs.values()]
    table["n_failed"] = [int(job.metrics.get("labelled.failed", 0)) for job in jobs.values()]
    return table.dropna(axis="columns", how="all")


def _labelled(finished: Mapping[str, Job]) -> dict[str, pd.DataFrame]:
    found = {}
    for name, job in finished.items():
        if job.facts.get("headline") == HEADLINE:
            own = job.scores.dropna(subset=["score", "label"])
            found[name] = pd.DataFrame({"score": own["score"], "label": own["label"], "unit": own["group"]})
    return found
