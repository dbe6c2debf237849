"""The folders of a sweep's jobs, read back: settings, scores, metrics, and why a job has no result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import yaml

from undogmatic.command import ERROR_FILE
from undogmatic.records import Rubric

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


def _read(folder: Path, number: int) -> Job:
    facts = _json(folder / "run.json")
    error = folder / ERROR_FILE
    message = error.read_text(encoding="utf-8").strip() if error.is_file() else None
    status: Status = "finished"
    if message is not None:
        status = "stopped" if facts.get("status") == "stopped" else "failed"
    elif facts.get("status") != "finished":
        status, message = "stopped", "it did not come to its end (killed?)"
    overrides = _yaml(folder / ".hydra" / "overrides.yaml") or []
    config = _yaml(folder / ".hydra" / "config.yaml") or {}
    costs = _costs(folder) if status == "finished" else pd.DataFrame()
    return Job(
        number=number,
        overrides=dict(str(o).lstrip("+~").partition("=")[::2] for o in overrides if not o.startswith("run.resume=")),
        config=config,
        facts=facts,
        metrics=_json(folder / "metrics.json") if status == "finished" else {},
        scores=_scores(folder, costs) if status == "finished" else pd.DataFrame(),
        status=status,
        message=message,
        items=_items(folder) if status == "finished" else pd.DataFrame(),
        costs=costs,
    )


def _costs(folder: Path) -> pd.DataFrame:
    from undogmatic.engine.journal import last_judgments

    found = last_judgments(folder / "judgments.jsonl").values()
    return pd.DataFrame([{"item_id": j.item_id, "repeat": j.repeat} | j.cost.model_dump() for j in found])


def _scores(folder: Path, costs: pd.DataFrame) -> pd.DataFrame:
    read = _table(folder / "scores.csv")
    cached = costs.loc[(costs["repeat"] == 0) & (costs["cached"] > 0), "item_id"]
    read["seconds"] = read["seconds"].mask(read.index.isin(cached))
    if (folder / "labels.csv").is_file():
        read = read.join(_table(folder / "labels.csv"))
    return read.reindex(columns=["score", "pair_id", "condition", "label", "seconds"])


def _items(folder: Path) -> pd.DataFrame:
    path = folder / "items_calibration.csv"
    if not path.is_file():
        return pd.DataFrame()
    return pd.read_csv(path, dtype={"item_id": str, "unit": str}).set_index("item_id")


def _table(path: Path) -> pd.DataFrame:
    """A table by item; only an empty cell is a missing value ("NA" may be an id)."""
    text = {"item_id": str, "pair_id": str, "condition": str}
    return pd.read_csv(path, dtype=text, keep_default_na=False, na_values=[""]).set_index("item_id")


def _yaml(path: Path) -> Any:
    """What the file holds, or None where a kill came before it was written."""
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
