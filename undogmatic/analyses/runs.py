"""Scores of other runs over the same items, read from their folders: of the same criterion, and where such a run has
several judges, of the same judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from undogmatic.analyses.base import Judged
from undogmatic.errors import DataError
from undogmatic.runs.folder import COMPOSED, JOURNAL, RunFolder


@dataclass(frozen=True)
class OtherRun:
    """Another run's scores by item id (NaN where its judge failed). `differs`: the ids agree, the dataset does not."""

    name: str
    scores: pd.Series
    differs: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def read_runs(judged: Judged, folders: Mapping[str, str]) -> list[OtherRun]:
    """The runs in `judged.others` and in `folders`, first repeats, each under a name of its own.

    Args:
        judged: This run.
        folders: Folders of other runs as typed, by the config key that names each.
    Raises:
        ConfigError: A folder holds no journal.
        DataError: A run is over other items, or on another scale.
    """
    own = set(judged.frame["item_id"])
    judge, criterion = judged.frame.iloc[0][["judge", "criterion"]]
    taken = {judged.name}
    found = []
    for name, frame in judged.others.items():
        first = frame[frame["repeat"] == 0].set_index("item_id")["score"]
        found.append(_checked(OtherRun(_free(name, taken), first), own, f"the run {name!r}"))
    for key, folder in folders.items():
        run = _read(folder, judged, key, (str(judge), str(criterion)))
        named = replace(run, name=_free(run.name, taken))
        found.append(_checked(named, own, f"`{key}`: {folder}"))
    return found


def _read(typed: str, judged: Judged, key: str, voice: tuple[str, str]) -> OtherRun:
    folder = RunFolder.open(typed, f"`{key}`", [JOURNAL])
    own, other = judged.rubric.scale, folder.rubric.scale
    if own.span() != other.span():
        raise DataError(
            f"`{key}`: {typed} was judged on the scale {other.span()}, and this run on {own.span()}. Agreement needs "
            "one scale: compare runs of one rubric."
        )
    digest, there = judged.digest, folder.facts.get("dataset_digest")
    differs = digest is not None and there is not None and digest != there
    said = settings(folder.facts.get("choices") or {}, folder.mapping(COMPOSED))
    return OtherRun(str(folder.facts.get("name", folder.path.name)), folder.first_scores(*voice), differs, said)


SET = ("model", "prompt", "readout", "judge")
"""The groups of the config that make a score what it is."""


def settings(choices: Mapping[str, str], config: Mapping[str, Any]) -> dict[str, str]:
    """What a run was set to: the option of every group of SET, every plain value below it, and the seed.

    Args:
        choices: Option per group.
        config: The composed config; values that refer to others are left out.
    """
    found = {group: choices[group] for group in SET if choices.get(group) is not None}
    for group in SET:
        found |= dict(_plain(group, config.get(group)))
    return found | dict(_plain("seed", config.get("seed")))


def _plain(name: str, node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _plain(f"{name}.{key}", value)
    elif isinstance(node, bool | int | float | str) and "${" not in str(node):
        yield name, str(node)


def differing(runs: Sequence[Mapping[str, str]]) -> list[str]:
    """The settings that all runs have and in which they differ; of a group whose option differs, that alone."""
    shared = [key for key in runs[0] if all(key in run for run in runs)]
    found = [key for key in shared if len({run[key] for run in runs}) > 1]
    groups = set(found) & set(SET)
    return [key for key in found if key in groups or key.partition(".")[0] not in groups]


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
