"""Scores of other runs over the same items, read from their folders: of the same criterion, and where such a run has
several judges, of the same judge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from undogmatic.analyses.base import LongTable
from undogmatic.errors import DataError
from undogmatic.runs.folder import COMPOSED, JOURNAL, RunFolder


@dataclass(frozen=True)
class OtherRun:
    """Another run's scores by item id (NaN where its judge failed). `differs`: the ids agree, the dataset does not."""

    name: str
    scores: pd.Series
    differs: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)


def against(folders: Sequence[str]) -> dict[str, str]:
    """The folders of `analysis.against` by the key that names each, as `read_runs` takes them."""
    return {f"analysis.against[{n}]": folder for n, folder in enumerate(folders)}


def read_runs(judged: LongTable, folders: Mapping[str, str]) -> list[OtherRun]:
    """The runs in `judged.others` and in `folders`, first repeats, each under a name of its own.

    Args:
        judged: This run.
        folders: Folders of other runs as typed, by the config key that names each.
    Raises:
        ConfigError: A folder holds no journal.
        DataError: A run is over other items, or on another scale.
    """
    own, taken, runs = set(judged.frame["item_id"]), {judged.name}, []
    for where, run in itertools.chain(
        ((f"the run {name!r}", OtherRun(name, _first(frame))) for name, frame in judged.others.items()),
        ((f"`{key}`: {folder}", _read(folder, judged, key)) for key, folder in folders.items()),
    ):
        there = set(run.scores.index)
        if there != own:
            raise DataError(
                f"{where} shares {len(own & there)} items with this run, which has {len(own)}; that one has "
                f"{len(there)}. Agreement needs the same items: judge the same dataset with both, to the end."
            )
        names = itertools.chain([run.name], (f"{run.name} ({n})" for n in itertools.count(2)))
        runs.append(replace(run, name=next(name for name in names if name not in taken)))
        taken.add(runs[-1].name)
    return runs


def _first(frame: pd.DataFrame) -> pd.Series:
    return frame[frame["repeat"] == 0].set_index("item_id")["score"]


def _read(typed: str, judged: LongTable, key: str) -> OtherRun:
    folder = RunFolder.open(typed, f"`{key}`", [JOURNAL])
    own, other = judged.rubric.scale, folder.rubric.scale
    if own.span() != other.span():
        raise DataError(
            f"`{key}`: {typed} was judged on the scale {other.span()}, and this run on {own.span()}. Agreement needs "
            "one scale: compare runs of one rubric."
        )
    digest, there = judged.digest, folder.facts.get("dataset_digest")
    differs = digest is not None and there is not None and digest != there
    set_to = settings(folder.facts.get("choices") or {}, folder.mapping(COMPOSED))
    scores = folder.first_scores(*judged.frame.iloc[0][["judge", "criterion"]].astype(str))
    return OtherRun(str(folder.facts.get("name", folder.path.name)), scores, differs, set_to)


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
