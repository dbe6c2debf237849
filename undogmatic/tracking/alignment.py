"""Aligns a judge of MLflow's (`make_judge`) with labels of people, and has it judge traces that the
alignment has not seen, so that whether it became better can be checked."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from undogmatic.errors import ConfigError
from undogmatic.tracking.store import prepare_environment

if TYPE_CHECKING:
    from mlflow.entities import Trace
    from mlflow.genai.judges import Judge

LEAST = 10  # traces of each part: what MLflow's own optimisers ask for


class Aligned(NamedTuple):
    """The aligned judge, and what it (`after`), the one before it (`before`) and people (`human`)
    say of the traces that were held out: a row each, for `undogmatic.check`."""

    judge: Judge
    held_out: pd.DataFrame


def aligned(
    judge: Judge,
    traces: Sequence[Trace],
    optimizer: Any = None,
    held_out: float = 0.5,
    seed: int = 0,
) -> Aligned:
    """Align a judge on a part of the traces, and let both judges judge the rest.

    Args:
        judge: Made by `mlflow.genai.judges.make_judge`.
        traces: With feedback of people under the judge's name; others are left out.
        optimizer: Of `mlflow.genai.judges.optimizers`; None: MLflow's default.
        held_out: The share that the alignment does not see.
        seed: Of the split.
    Returns:
        The judge and the table; a verdict that could not be had is empty in it.
    Raises:
        ConfigError: Too few traces have labels.
    """
    if not 0 < held_out < 1:
        raise ConfigError(f"`held_out` is {held_out:g}; it must lie between 0 and 1.")
    labels = {trace.info.trace_id: _label(trace, judge.name) for trace in traces}
    labelled = [trace for trace in traces if labels[trace.info.trace_id] is not None]
    shuffled = random.Random(seed).sample(labelled, len(labelled))
    kept = round(len(shuffled) * held_out)
    if min(kept, len(shuffled) - kept) < LEAST:
        raise ConfigError(
            f"{len(labelled)} of {len(traces)} traces have feedback of a person called"
            f" {judge.name!r}, and each part needs {LEAST}. Label more traces under the judge's"
            " name."
        )
    prepare_environment()
    rest, shown = shuffled[:kept], shuffled[kept:]
    new = judge.align(shown, optimizer)
    rows = [
        {
            "item": trace.info.trace_id,
            "before": _verdict(judge, trace),
            "after": _verdict(new, trace),
            "human": labels[trace.info.trace_id],
        }
        for trace in rest
    ]
    return Aligned(new, pd.DataFrame(rows))


def _label(trace: Trace, name: str) -> Any:
    """What a person said last of a trace under this name; None where nobody did."""
    said: Sequence[Any] = trace.info.assessments or ()
    found = [
        each
        for each in said
        if each.name == name
        and each.source.source_type == "HUMAN"
        and each.valid is not False
        and each.value is not None
    ]
    last = max(found, key=lambda each: each.last_update_time_ms or 0, default=None)
    return None if last is None else last.value


def _verdict(judge: Any, trace: Trace) -> Any:
    """What a judge says of a trace; None where it failed, which is no verdict."""
    said = judge(trace=trace)
    return None if said.error is not None else said.value
