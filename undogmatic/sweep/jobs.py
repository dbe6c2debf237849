"""The folders of a sweep's jobs, read back: settings, scores, metrics, and why a job has no result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from undogmatic.command import ERROR_FILE
from undogmatic.errors import DataError
from undogmatic.records import Cost, Rubric
from undogmatic.runfolder import COMPOSED, JOURNAL, METRICS, OVERRIDES, RunFolder

ITEMS = "items_calibration.csv"
Status = Literal["finished", "stopped", "failed"]


@dataclass(frozen=True)
class Job:
    """One job of a sweep.

    Attributes:
        number: Its place in the sweep, and the name of its folder.
        overrides: What was set for it on the command line, key -> value.
        config: The composed config as Hydra kept it, interpolations unresolved; {} if it was not composed.
        facts: Its `run.json`; {} if it did not get that far.
        metrics: Its `metrics.json`; {} without a result.
        scores: Score by item (index, unique), columns `score` (NaN: failed), `pair_id`, `condition`, `label`,
            `seconds` (that its judgment took; NaN where the cache had part in it).
        costs: What each judgment took, all repeats: columns of `analyses.costs.QUANTITIES` and `cached`.
        items: What `analysis=calibration` says of each item (its `items_calibration.csv` by `item_id`); empty without.
        status: "finished"; "stopped" (can be continued: budget, server, kill); "failed".
        message: Why it has no result.
    """

    number: int
    overrides: Mapping[str, str]
    config: Mapping[str, Any] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    metrics: Mapping[str, float] = field(repr=False)
    scores: pd.DataFrame = field(repr=False)
    status: Status
    message: str | None = None
    items: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)
    costs: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)

    @property
    def rubric(self) -> Rubric:
        """The rubric it judged by, in whichever form its config gives it."""
        return Rubric.model_validate({key: v for key, v in self.config["rubric"].items() if key != "_target_"})

    @property
    def readout(self) -> str:
        """The readout it used, resolved."""
        return str(self.facts.get("choices", {}).get("readout", "?"))


def read_jobs(folder: Path) -> list[Job]:
    """The jobs of a sweep's folder by number. A job that never began has no folder and is not among them."""
    numbers = sorted(int(p.name) for p in folder.iterdir() if p.is_dir() and p.name.isdigit())
    return [_read(folder / str(number), number) for number in numbers]


def varying(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The overridden keys whose value differs between jobs, in the order of the command line."""
    keys = dict.fromkeys(key for job in jobs for key in job.overrides)
    return tuple(k for k in keys if len({job.overrides.get(k) for job in jobs}) > 1)


def _read(path: Path, number: int) -> Job:
    folder = RunFolder(path)
    error = path / ERROR_FILE
    message = error.read_text(encoding="utf-8").strip() if error.is_file() else None
    facts: Mapping[str, Any] = {}
    overrides: list[str] = []
    config: dict[str, Any] = {}
    result: dict[str, Any] = {"metrics": {}, "scores": pd.DataFrame()}
    status: Status = "finished"
    try:
        # A kill may have come before any of them was written.
        overrides = folder.yaml(OVERRIDES) or []
        config = folder.yaml(COMPOSED) or {}
        facts = folder.facts
        if message is not None:
            status = "stopped" if facts.get("status") == "stopped" else "failed"
        elif facts.get("status") != "finished":
            status, message = "stopped", "it did not come to its end (killed?)"
        else:
            costs = _costs(folder)
            result = {
                "metrics": folder.json(METRICS),
                "scores": _scores(folder, costs),
                "items": _items(folder),
                "costs": costs,
            }
    except DataError as damage:
        status, message = "failed", str(damage)
    return Job(
        number=number,
        overrides=dict(str(o).lstrip("+~").partition("=")[::2] for o in overrides if not o.startswith("run.resume=")),
        config=config,
        facts=facts,
        status=status,
        message=message,
        **result,
    )


def _costs(folder: RunFolder) -> pd.DataFrame:
    found = folder.judgments if folder.has(JOURNAL) else []
    rows = [{"item_id": j.item_id, "repeat": j.repeat} | j.cost.model_dump() for j in found]
    return pd.DataFrame(rows, columns=["item_id", "repeat", *Cost.model_fields])


def _scores(folder: RunFolder, costs: pd.DataFrame) -> pd.DataFrame:
    read, labels = folder.scores(), folder.labels()
    cached = costs.loc[(costs["repeat"] == 0) & (costs["cached"] > 0), "item_id"]
    read["seconds"] = read["seconds"].mask(read.index.isin(cached))
    if labels is not None:
        read = read.join(labels["label"])
    return read.reindex(columns=["score", "pair_id", "condition", "label", "seconds"])


def _items(folder: RunFolder) -> pd.DataFrame:
    return folder.table(ITEMS).set_index("item_id") if folder.has(ITEMS) else pd.DataFrame()
