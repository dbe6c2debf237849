"""Says whether a run that is continued with other settings is the same benchmark, only larger: with
a further judge, a further model that makes texts, or further items. Then what was judged stays, and
only the new combinations are asked.

A run notes what it is made of in `run.json` (`made_of`): digests of the rubric, of each step's
settings and of each judge, and the names of the models that the steps ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.runs.folder import JOURNAL
from undogmatic.safety.outside import Unreadable, brief, json_value, read_lines

if TYPE_CHECKING:
    from undogmatic.records.records import Item

OF_JUDGE = {
    "model": "another model",
    "prompt": "another prompt",
    "program": "other settings or another readout",
}
"""What determines a judge, and what is said where it differs."""


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What keeps the run `now` from being the one `before` with more judges or models; nothing
    where it is."""
    found = [
        f"the {name} differs"
        for name in ("rubric", "seed")
        if before[name] != now[name]
    ]
    for judge, there in before["judges"].items():
        here = now["judges"].get(judge)
        if here is None:
            found.append(f"the judge {judge} is no longer named")
            continue
        found += [
            f"the judge {judge} has {word}"
            for key, word in OF_JUDGE.items()
            if there[key] != here[key]
        ]
    if [step["name"] for step in before["steps"]] != [
        step["name"] for step in now["steps"]
    ]:
        return [*found, "the steps are others"]
    for there, here in zip(before["steps"], now["steps"], strict=True):
        if there["settings"] != here["settings"]:
            found.append(f"the settings of the step {here['name']} differ")
        for model in there["models"]:
            if model not in here["models"]:
                found.append(
                    f"{model} is no longer among the models of the step {here['name']}"
                )
    return found


def outgrown(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The stages that ask nobody and list the models of a step that has more of them now: what they
    noted is made anew."""
    steps = zip(before["steps"], now["steps"], strict=True)
    grown = [here for there, here in steps if there["models"] != here["models"]]
    return [stage for step in grown for stage in step["unasked"]]


def begun_with(folder: Path, made_of: Mapping[str, Any]) -> set[str]:
    """The ids of the items of the run in this folder, as far as it came. Raises DataError."""
    first = next((stage for step in made_of["steps"] for stage in step["stages"]), None)
    path = folder / (JOURNAL if first is None else f"steps/{first}.jsonl")
    ids = set()
    for _, line in read_lines(path) if path.is_file() else ():
        try:
            ids.add(str(json_value(line.decode("utf-8", "replace"))["item_id"]))
        except (Unreadable, KeyError, TypeError):
            continue  # a torn line, of a run that was killed
    return ids


class Contents(NamedTuple):
    """What a run is made of, and which items it is of."""

    made_of: Mapping[str, Any]
    items: Sequence[Item]

    def others(self, folder: Path, facts: Mapping[str, Any]) -> str | None:
        """What keeps these items from being those of the run in the folder with more of them; None
        where they are. `facts` are those of its run.json."""
        from undogmatic.records.records import items_digest

        if facts.get("status") != "finished":
            return "that run has not ended, so it is not known which items it is of"
        known = begun_with(folder, facts["made_of"])
        if lost := sorted(known - {item.id for item in self.items}):
            more = f" (nor are {len(lost) - 1} more)" if len(lost) > 1 else ""
            return f"the item {brief(lost[0])} is no longer among the items{more}"
        if (
            items_digest(item for item in self.items if item.id in known)
            != facts["dataset_digest"]
        ):
            return "texts, labels or other fields of items that were judged differ, or their order"
        return None
