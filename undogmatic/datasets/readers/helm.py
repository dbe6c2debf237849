"""Reads a run of HELM: `per_instance_stats.json`, or the folder of the run, whose
`scenario_state.json` holds the texts and what annotators said.

Each statistic is a verdict on the criterion of its name, with the judge `helm`; what a program
counts of an instance (tokens, seconds, the length of a prompt) is none, and is counted in a line.
An annotation of a model (`annotations`) is a verdict of its annotator.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    facts,
    text_of,
)
from undogmatic.errors import DataError

JUDGE = "helm"
_STATS, _STATE = "per_instance_stats.json", "scenario_state.json"
_COUNTED = re.compile(
    r"num_|.*(runtime|_tokens|logprob|_length|truncated|num_bytes|perplexity|bits_per_byte)"
    r"|training_|inference_|finish_reason_|max_prob|batch_size|references|estimated_"
)


def _claims(head: Head) -> bool:
    if head.path.is_dir():
        return (head.path / _STATS).is_file()
    if head.has("adapter_spec", "request_states"):
        return True
    return head.record().keys() >= {"instance_id", "stats", "train_trial_index"}


def _records(path: Path, problems: list[str]) -> Given:
    stats = path / _STATS if path.is_dir() else path
    head = log.head_of(stats)
    if head is not None and head.has("adapter_spec"):
        return _of_state(stats, problems)
    found = log.entries(stats, problems)
    states: dict[tuple[str, Any, str], Mapping[str, Any]] = {}
    beside = stats.with_name(_STATE)
    if beside.is_file():
        try:
            listed = log.entries(beside, problems, "request_states")
        except DataError as error:
            problems.append(f"{error} So the texts are not known.")
            listed = []
        for one in listed:
            instance = one.get("instance") or {}
            states.setdefault(_key(instance.get("id"), one, instance), one)
    return [
        (
            f"{stats}#{number}",
            (one, states.get(_key(one.get("instance_id"), one, one)) or {}),
        )
        for number, one in enumerate(found, 1)
    ]


def _of_state(path: Path, problems: list[str]) -> Given:
    """The annotations of models in the state of a run, without its statistics."""
    found: Given = []
    for number, one in enumerate(log.entries(path, problems, "request_states"), 1):
        instance = one.get("instance") or {}
        about = {
            "instance_id": instance.get("id"),
            "perturbation": instance.get("perturbation"),
        }
        about |= {"train_trial_index": one.get("train_trial_index"), "stats": []}
        found.append((f"{path}#{number}", (about, one)))
    return found


def _key(
    item: Any, trial: Mapping[str, Any], held: Mapping[str, Any]
) -> tuple[str, Any, str]:
    change = held.get("perturbation") or {}
    return str(item), trial.get("train_trial_index") or 0, str(change.get("name") or "")


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    counted: dict[str, None] = {}
    names: dict[str, None] = {}
    for _, (one, _) in given:
        for stat in one.get("stats") or ():
            name = str((stat.get("name") or {}).get("name"))
            (counted if _COUNTED.match(name) else names)[name] = None
    annotated = dict.fromkeys(
        voice for _, (_, state) in given for voice in _annotations(state)
    )
    for place, (one, state) in given:
        item, trial, change = _key(one.get("instance_id"), one, one)
        instance = state.get("instance") or {}
        completions = (state.get("result") or {}).get("completions")
        about = facts(instance.get("extra_data") or {}) | {
            # The system answered anew, with other examples or on another form of the question.
            "item": " ".join(
                [
                    item,
                    *([change] if change else []),
                    *([f"trial {trial}"] * bool(trial)),
                ]
            ),
            "group": item,
            "text": text_of(log.at(completions, "text")),
            "input": text_of((instance.get("input") or {}).get("text")),
            "context": text_of(log.at(instance, "references", "output", "text")),
            "place": place,
        }
        values = {
            str((stat.get("name") or {}).get("name")): _mean(stat)
            for stat in one.get("stats") or ()
        }
        for name in names:
            value = values.get(name)
            said = (
                {"reason": "the statistic is missing"}
                if value is None
                else {"verdict": value}
            )
            yield about | {"judge": JUDGE, "criterion": name} | said
        told = _annotations(state)
        for judge, name in annotated if state else ():
            value = told.get((judge, name))
            said = (
                {"reason": "the annotator gave none"}
                if value is None
                else {"verdict": value}
            )
            yield about | {"judge": judge, "criterion": name} | said
    if counted:
        shown = ", ".join(list(counted)[:4])
        problems.append(
            f"{source}: {len(counted)} statistics only count or time ({shown}); they are no"
            " verdicts and were left out."
        )


def _mean(stat: Mapping[str, Any]) -> Any:
    """The value of a statistic of one instance; without one (count 0) it is missing."""
    if not stat.get("count"):
        return None
    return cell(stat.get("mean", stat.get("sum")))


def _annotations(state: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
    """What models said of an output, by annotator and name; a list has one entry for each
    completion, of which the first was judged."""
    found: dict[tuple[str, str], Any] = {}
    for annotator, held in (state.get("annotations") or {}).items():
        first = log.first_of(held)
        for name, value in first.items() if isinstance(first, Mapping) else ():
            if isinstance(value, int | float) and not isinstance(value, bool):
                found[str(annotator), str(name)] = cell(value)
    return found


READER = Reader(
    "a run of HELM",
    _claims,
    _records,
    _rows,
    About(
        tool="HELM",
        file="a run's folder, `per_instance_stats.json` or `scenario_state.json`",
        verdict=(
            "each statistic of an instance that does not only count or time, and the "
            "annotations of models"
        ),
        label="-",
        fixture="from what is known of its format, not seen with a file of its own",
    ),
)
