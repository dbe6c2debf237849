"""Collects the flat numbers of a run: what was judged, what it cost, and what its analyses told."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from undogmatic.records.records import Cost
from undogmatic.records.results import Told
from undogmatic.records.stored import in_parts
from undogmatic.stats.estimate import Unit

UNITS: Mapping[str, Unit] = dict.fromkeys(
    ("judged", "failed", "calls", "calls_cached", "input_tokens", "output_tokens"),
    "count",
)
"""Of the numbers that every run has."""


def metric_units(results: Sequence[Told]) -> dict[str, Unit]:
    """The unit of each of the numbers of a run that has one."""
    told = {
        result.full(name): unit
        for result in results
        for name, unit in result.metric_units.items()
    }
    return {**UNITS, "judging_seconds": "seconds", "usd": "usd"} | told


def metrics(
    frame: pd.DataFrame,
    costs: Iterable[Cost],
    made: int,
    seconds: float,
    results: Sequence[Told],
) -> dict[str, float]:
    """The flat numbers of a run, from its rows, the `costs` of its judgments and of what its
    steps made, and the results of its analyses. `made` and `seconds` are the judgments made now and
    the time they took: a continued run is as fast as these, and one with nothing left has no rate.
    """
    failed = sum(
        int(rows["error"].notna().sum()) for rows in in_parts(frame, ["error"])
    )
    totals, prices = Counter[str](), array("d")
    for cost in costs:
        totals.update(
            {
                name: getattr(cost, name)
                for name in ("calls", "cached", "input_tokens", "output_tokens")
            }
        )
        prices.append(np.nan if cost.usd is None else cost.usd)
    numbers = {"judged": float(len(frame) - failed), "failed": float(failed)}
    for name in ("calls", "cached", "input_tokens", "output_tokens"):
        numbers["calls_cached" if name == "cached" else name] = float(totals[name])
    numbers |= {"judging_seconds": seconds} | (
        {"judgments_per_second": made / seconds} if made else {}
    )
    usd = pd.Series(np.array(prices), dtype=float)
    numbers |= {"usd": float(usd.sum())} if usd.notna().all() else {}
    for result in results:
        numbers |= {result.full(k): float(v) for k, v in result.metrics.items()}
    return numbers
