"""Scores of other runs over the same items, read from their folders: of the same criterion, and where such a run has
several judges, of the same judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from undogmatic.analyses.base import Judged
from undogmatic.errors import DataError
from undogmatic.runfolder import JOURNAL, RunFolder


@dataclass(frozen=True)
class OtherRun:
    """Another run's scores by item id (NaN where its judge failed). `differs`: the ids agree, the dataset does not."""

    name: str
    scores: pd.Series
    differs: bool = False


def read_runs(judged: Judged, folders: Mapping[str, str]) -> list[OtherRun]:
    """The runs in `judged.others` and in `folders`, first repeats, each under a name of its own.

    Args:
        judged: This run.
        folders: Folders of other runs as typed, by the config key that names each.
    Raises:
        ConfigError: A folder holds no journal.
        DataError: A run is over other items.
    """
    own = set(judged.frame["item_id"])
    judge, criterion = judged.frame.iloc[0][["judge", "criterion"]]
    taken = {judged.name}
    found = []
    for name, frame in judged.others.items():
        first = frame[frame["repeat"] == 0].set_index("item_id")["score"]
        found.append(_checked(OtherRun(_free(name, taken), first), own, f"the run {name!r}"))
    for key, folder in folders.items():
        run = _read(folder, judged.digest, key, (str(judge), str(criterion)))
        named = OtherRun(_free(run.name, taken), run.scores, run.differs)
        found.append(_checked(named, own, f"`{key}`: {folder}"))
    return found


def _read(typed: str, digest: str | None, key: str, voice: tuple[str, str]) -> OtherRun:
    folder = RunFolder.open(typed, f"`{key}`", [JOURNAL])
    there = folder.facts.get("dataset_digest")
    differs = digest is not None and there is not None and digest != there
    return OtherRun(str(folder.facts.get("name", folder.path.name)), folder.first_scores(*voice), differs)


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
