"""What the jobs of a sweep took per text, and as multiples of the cheapest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.costs import per_item
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.pairwise import mean_interval

QUANTITIES = ("calls", "tokens", "seconds", "usd")


def costs_table(finished: Mapping[str, Job]) -> pd.DataFrame:
    """One row per job; columns without any number are left out.

    Calls include those that the cache answered, since that is what the procedure needs; tokens, seconds and money are
    of the judgments without any (see `analyses.costs`). The cheapest job has the fewest calls, then the fewest seconds.

    Args:
        finished: Jobs by name.
    Returns:
        Columns name, <quantity>_per_item (seconds with its interval) and <quantity>_ratio per QUANTITIES, trigger_rate
        (of a selective judge).
    """
    rows = []
    for name, job in finished.items():
        spent = per_item(job.costs)
        spent["tokens"] = spent["input_tokens"] + spent["output_tokens"]
        spent["seconds"] = float(job.scores["seconds"].mean())  # of the first repeat, as its interval
        row: dict[str, Any] = {"name": name} | {f"{quantity}_per_item": spent[quantity] for quantity in QUANTITIES}
        row["seconds_per_item_interval"] = _interval(job.scores)
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


def _interval(scores: pd.DataFrame) -> tuple[float, float] | None:
    seconds = scores["seconds"].dropna()
    return mean_interval(seconds, scores["group"].reindex(seconds.index))
