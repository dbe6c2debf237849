"""Scores of other runs over the same items, read from their folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Judged
from undogmatic.engine.journal import last_judgments
from undogmatic.errors import ConfigError, DataError
from undogmatic.records import Judgment

JOURNAL, MANIFEST = "judgments.jsonl", "run.json"


@dataclass(frozen=True)
class OtherRun:
    """Another run's scores by item id (NaN where its judge failed). `differs`: the ids agree, the dataset does not."""

    name: str
    scores: pd.Series
    differs: bool = False


def read_runs(judged: Judged, folders: Sequence[str], key: str = "analysis.against") -> list[OtherRun]:
    """The runs in `judged.others` and in `folders`, first repeats, each under a name of its own.

    Args:
        judged: This run.
        folders: Folders of other runs, as typed.
        key: The config key that names them, for messages.
    Raises:
        ConfigError: A folder holds no journal.
        DataError: A run is over other items.
    """
    own = set(judged.frame["item_id"])
    taken = {judged.name}
    found = []
    for name, frame in judged.others.items():
        first = frame[frame["repeat"] == 0].set_index("item_id")["score"]
        found.append(_checked(OtherRun(_free(name, taken), first), own, f"the run {name!r}"))
    for folder in folders:
        run = _read(Path(folder).expanduser(), folder, judged.digest, key)
        named = OtherRun(_free(run.name, taken), run.scores, run.differs)
        found.append(_checked(named, own, f"`{key}`: {folder}"))
    return found


def _read(path: Path, typed: str, digest: str | None, key: str) -> OtherRun:
    judgments, manifest = judgments_of(path, typed, key), path / MANIFEST
    scores = {j.item_id: np.nan if j.score is None else j.score for j in judgments if j.repeat == 0}
    facts = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    there = facts.get("dataset_digest")
    differs = digest is not None and there is not None and digest != there
    return OtherRun(str(facts.get("name", path.name)), pd.Series(scores, dtype=np.float64), differs)


def judgments_of(path: Path, typed: str, key: str) -> list[Judgment]:
    """The judgments of the run in `path`, typed as `typed` under the config key `key`. Raises ConfigError."""
    journal = path / JOURNAL
    if not journal.is_file():
        beside = sorted(p.parent.name for p in path.parent.glob(f"*/{JOURNAL}")) if path.parent.is_dir() else []
        raise ConfigError(
            f"`{key}` names {typed!r}, which holds no {JOURNAL}. "
            + (f"Runs beside it: {', '.join(beside[-8:])}. " if beside else "")
            + "Give the folder of a run, e.g. outputs/DATE/TIME."
        )
    return list(last_judgments(journal).values())


def _checked(run: OtherRun, own: set[str], where: str) -> OtherRun:
    there = set(run.scores.index)
    if there != own:
        raise DataError(
            f"{where} shares {len(own & there)} items with this run, which has {len(own)}; that one has {len(there)}. "
            "Agreement needs the same items: judge the same dataset with both, to the end."
        )
    return run


def _free(name: str, taken: set[str]) -> str:
    """`name`, numbered if another run bears it."""
    chosen, number = name, 2
    while chosen in taken:
        chosen, number = f"{name} ({number})", number + 1
    taken.add(chosen)
    return chosen
