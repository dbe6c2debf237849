"""Where the variance of the scores of a sweep comes from: what varies between its jobs, crossed with the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from undogmatic.analyses.variance import Divided, of_scores
from undogmatic.sweep.jobs import Job

UNHEARD = ("analysis", "tracking", "report", "engine", "run", "hydra")
"""Groups of keys that say nothing to a judge: jobs that differ in them alone count once."""


def variance_of(finished: Mapping[str, Job], choices: Sequence[str]) -> Divided:
    """A study of the jobs that judged the same items; without a table where there are none or several criteria, and
    with a sentence where the jobs do not cross what varies in full."""
    jobs = list(finished.values())
    nothing = Divided(None, pd.DataFrame(), [])
    facets = [key for key in choices if key.partition(".")[0] not in UNHEARD]
    if len(jobs) < 2 or len({job.criterion for job in jobs}) > 1:
        return nothing
    if any(set(job.scores.index) != set(jobs[0].scores.index) for job in jobs):
        return nothing
    if any(job.part for job in jobs):
        facets = [*facets, "judge"] if "judge" not in facets else facets
    rows = []
    for job in jobs:
        own = pd.DataFrame({"item_id": job.scores.index, "score": job.scores["score"].to_numpy()})
        own["group"] = job.scores["group"].to_numpy()
        said = {key: job.overrides.get(key, "default") for key in facets} | ({"judge": job.judge} if job.part else {})
        rows.append(own.assign(**said))
    table = pd.concat(rows, ignore_index=True).drop_duplicates(["item_id", *facets])
    return of_scores(table, facets) if any(table[key].nunique() > 1 for key in facets) else nothing
