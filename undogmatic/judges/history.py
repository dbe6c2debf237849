"""A panel's weights from earlier runs: how far was each member from the labels on the same texts?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from undogmatic.errors import ConfigError, DataError
from undogmatic.judges.base import Judge
from undogmatic.readouts.probe import rubric_digest
from undogmatic.records.records import Judgment
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd

LEAST = 20
"""Judged labelled texts. With normal errors the mean squared error of n texts is uncertain by sqrt(2 / n): a third."""


class History(NamedTuple):
    """What earlier runs say. `weights`: one per member, sum 1. `texts`: marks of the texts they were computed on."""

    weights: list[float]
    texts: frozenset[str]


def read_history(folders: Sequence[str], members: Sequence[Judge], rubric: Rubric) -> History:
    """Weights from the runs in `folders`, one per member in the members' order, first repeats only.

    Compared are the texts that every member judged, so that one that fails on hard texts gains nothing by it.

    Args:
        folders: Finished runs over the same labelled texts, as typed in `judge.history`.
        members: The panel's members.
        rubric: The panel's scale.
    Raises:
        ConfigError: A folder holds no such run, or one of another judge or on another scale.
        DataError: No, too few or differing labelled texts, texts a member was fitted on, or a member without error.
    """
    if len(folders) != len(members):
        raise ConfigError(
            f"`judge.history` names {len(folders)} run(s), and the panel has {len(members)} members. Give the folder "
            "of one run per member, in the order of judge.members."
        )
    tables = []
    for n, (typed, member) in enumerate(zip(folders, members, strict=True)):
        folder = RunFolder.open(typed, f"`judge.history[{n}]`")
        folder.check_finished()
        check_scale(folder, rubric, "this panel")
        voice = check_member(folder, member, rubric, f"judge.members[{n}]")
        tables.append(_labelled_texts(folder, voice, member))
    first = tables[0]
    known = set(first["text_mark"].items())
    for typed, table in zip(folders[1:], tables[1:], strict=True):
        texts = set(table["text_mark"].items())
        if texts != known:
            raise DataError(
                f"`judge.history`: {folders[0]!r} holds {len(known)} labelled texts and {typed!r} {len(texts)}, of "
                f"which {len(known & texts)} are the same (by id and text). Weights would compare members on different "
                "texts: judge the same dataset with all of them."
            )
        if changed := int((table["label"] != first["label"].reindex(table.index)).sum()):
            raise DataError(
                f"`judge.history`: {folders[0]!r} and {typed!r} have other labels for {changed} of {len(table)} texts. "
                "Judge the same version of the dataset with all members."
            )
    judged = sorted(set.intersection(*(set(table.index[table["score"].notna()]) for table in tables)))
    if len(judged) < LEAST:
        raise DataError(
            f"`judge.history`: every member judged the same {len(judged)} labelled texts only (each failed on others); "
            f"weights need {LEAST}. Judge more texts, or type the weights: judge.weights=[...]."
        )
    both = [table.loc[judged] for table in tables]
    errors = [math.fsum((table["score"] - table["label"]) ** 2) / len(judged) for table in both]
    if 0 in errors:
        # A floor would be a number of ours that decides the weights: no error in n texts only says it is small.
        raise DataError(
            f"`judge.history`: the scores of {folders[errors.index(0)]!r} equal the labels of all {len(judged)} texts, "
            "so its weight would be infinite. Are the labels its own scores? Else judge more or harder texts, or type "
            "the weights: judge.weights=[...]."
        )
    return History(inverse_weights(errors), frozenset(both[0]["text_mark"]))


def inverse_weights(errors: Sequence[float]) -> list[float]:
    """Weights proportional to 1 / mean squared error.

    For unbiased members with independent errors no other weights give the mean a smaller variance. A bias counts as
    error here, though weights cannot remove it; what members get wrong together is ignored, though it makes the best
    weights others than these.

    Args:
        errors: Mean squared error per member, in squared score units, all above 0.
    Returns:
        One weight per member, sum 1.
    References:
        Bates and Granger (1969), The combination of forecasts. doi:10.1057/jors.1969.103
    """
    inverse = [1 / error for error in errors]
    return [value / math.fsum(inverse) for value in inverse]


def check_scale(folder: RunFolder, rubric: Rubric, who: str) -> None:
    """Raise ConfigError for a run on another scale than that of `who` ("this panel")."""
    if rubric_digest(folder.rubric) != rubric_digest(rubric):
        there, here = (
            f"rubric={each.name} (levels {', '.join(f'{level:g}' for level in each.levels)}, {each.direction})"
            for each in (folder.rubric, rubric)
        )
        raise ConfigError(
            f"{folder.named}, a run on {there}; {who} judges on {here}. Judge the labelled texts on this one: "
            f"rubric={rubric.name}."
        )


def check_member(folder: RunFolder, member: Judge, rubric: Rubric, key: str) -> tuple[str, str]:
    """Judge and criterion of that run that this judge, named by its config key, is. Compared are judge, readout,
    settings, model, and a prompt that is used. Raises ConfigError where none is."""
    differences = {voice: _differences(judgment, member, rubric) for voice, judgment in folder.voices().items()}
    if same := [voice for voice, several in differences.items() if not several]:
        return same[0]
    raise ConfigError(
        f"{folder.named}, a run by another judge than {key}: {', nor '.join(map('; '.join, differences.values()))}. "
        "Name a run of that judge (for a panel, in the order of judge.members), or judge the labelled texts with it."
    )


def _differences(first: Judgment, member: Judge, rubric: Rubric) -> list[str]:
    there, sources, program = first.provenance, member.readouts(), member.program_hash()
    models = {source.model.name for source in sources}
    inner = {place["prompt"] for place in member.places}
    prompts = {source.prompt.hash(rubric): source.prompt.id for source in sources if source.uses_prompt}
    own_prompts = {mark: name for mark, name in prompts.items() if mark not in inner}
    differ = []
    if not models <= set(there.model.split(" + ")):
        differ.append(f"the model ({there.model} there, {' + '.join(sorted(models))} here)")
    if own_prompts and there.prompt_hash not in own_prompts:
        here = ", ".join(f"{name} {mark[:12]}" for mark, name in own_prompts.items())
        differ.append(f"the prompt ({there.prompt} {there.prompt_hash[:12]} there, {here} here)")
    if program != there.program_hash:
        readouts = ", ".join(dict.fromkeys(source.name for source in sources))
        differ.append(
            f"the judge, its readout or their settings (judge={first.judge} readout={there.readout}, "
            f"{there.program_hash[:12]} there; judge={member.name} readout={readouts}, {program[:12]} here)"
        )
    return differ


def _labelled_texts(folder: RunFolder, voice: tuple[str, str], member: Judge) -> pd.DataFrame:
    """Columns label, text_mark and score (NaN where its judge failed) of the labelled texts, by item id."""
    named, labels = folder.named, folder.labels(*voice)
    if labels is None:
        raise DataError(
            f"{named}, a run over texts without labels. Judge labelled ones with this member: dataset=labelled, or a "
            "file of your own with a field `label`."
        )
    if "text_mark" not in labels:
        raise DataError(
            f"{named}, whose labels.csv has no column `text_mark`: it is of an earlier version, so it is not known "
            f"which texts these are. Repeat that run's command with run.resume={folder.path}; nothing is asked again."
        )
    table = labels.dropna(subset="label").join(folder.scores(*voice)["score"])
    judged = int(table["score"].notna().sum())
    if judged < LEAST:
        raise DataError(
            f"{named}, a run with {judged} judged labelled texts (of {len(table)} labelled); weights need {LEAST}. "
            "Judge more labelled texts with it, or type the weights: judge.weights=[...]."
        )
    if known := int(table["text_mark"].isin(member.fitted_on()).sum()):
        raise DataError(
            f"{named}, a run over texts of which {known} of {len(table)} were used to fit this member (its probe, "
            "baseline or calibration), so its error there says nothing about new texts. Give runs over texts that no "
            "member was fitted on, e.g. dataset.split=test."
        )
    return table
