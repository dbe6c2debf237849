"""Chooses the items that a human should look at, their order, and the probability with which each came in."""

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.base import tabulate
from undogmatic.analyses.calibration import Measure, choose, measured, uncertainties
from undogmatic.engine.journal import redact_item, redact_judgment
from undogmatic.errors import ConfigError
from undogmatic.records.records import Failure, Item, Judgment, Verdict, digest
from undogmatic.records.results import part_names
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.records.stored import whole
from undogmatic.safety import files
from undogmatic.safety.outside import brief

Why = Literal["failed", "flagged", "unflagged", "random"]
COLUMNS = (
    "rank item_id pair condition text judge score low high confidence uncertainty uncertainty_value uncertainty_by "
    "failure rationale issues rules repeat why inclusion_probability queue label labeller comment"
).split()

OF_JUDGE = (
    *"judge score low high confidence uncertainty uncertainty_value uncertainty_by".split(),
    *"failure rationale issues rules repeat why".split(),
)
"""Of these, what tells what the judge said."""


class Entry(NamedTuple):
    """One row of a queue."""

    judgment: Judgment
    why: Why
    inclusion: float  # the probability with which it came in, 1 unless it was drawn at random
    value: float | None = None  # by which it was ranked, by whichever judge (None: a failure, or nothing to rank by)


class Queue(NamedTuple):
    """The rows of a queue in order."""

    entries: list[Entry]
    candidates: int
    remaining: int
    order: str | None  # by what they were ranked: "width", "width of debate"; None: nothing
    names: Mapping[tuple[str, str], str]  # judges and criteria of the run


def flagged(judgment: Judgment) -> bool:
    """Whether the judge itself asked for a human, or was highly uncertain."""
    outcome = judgment.outcome
    return isinstance(outcome, Verdict) and (outcome.review or outcome.uncertainty == "high")


def spokesman(judgments: Sequence[Judgment]) -> Judgment:
    """The judgment that stands for an item with several: a failed one, else a flagged one, else the first."""
    return min(judgments, key=lambda j: (not isinstance(j.outcome, Failure), not flagged(j)))


def select(
    items: Sequence[Item],
    by_item: Mapping[str, Sequence[Judgment]],
    budget: int | None,
    everything: bool,
    random: int,
    rng: np.random.Generator,
) -> Queue:
    """Choose the rows: failures, then the most uncertain within the budget, then `random` of all others.

    Judgments are ranked by the measure of `analysis=calibration`; ties are broken by the order of the dataset. Of
    several judges or criteria, the first that tells items apart ranks them: numbers of two judges have no common scale.
    A flag of any of them makes an item a candidate.

    Args:
        items: In the order of the dataset; those without a judgment are left out.
        by_item: The judgments of each, repeats in order.
        budget: At most so many rows before the random ones; None takes all candidates.
        everything: Candidates are all items, not only the failed and flagged.
        random: How many more to draw without replacement, each with probability `random` / remaining.
        rng: For the draw.
    Raises:
        ConfigError: A negative number.
    """
    for name, given in (("--budget", budget), ("--random", random)):
        if given is not None and given < 0:
            raise ConfigError(f"{name} is {given}; it must be 0 or more.")
    judgments = [spokesman(by_item[item.id]) for item in items if item.id in by_item]
    by_voice: dict[tuple[str, str], list[Judgment]] = {}
    for judgment in itertools.chain.from_iterable(by_item.values()):
        by_voice.setdefault(_voice(judgment), []).append(judgment)
    names = part_names(by_voice)
    rankings = [(voice, *ranked(items, made)) for voice, made in by_voice.items()]
    # The first whose measure is not the same for all items, else the first with one.
    voice, measure, doubts = max(rankings, key=lambda found: (len(set(found[2].values())) > 1, found[1] is not None))
    doubt = {}
    for judgment in judgments:
        asked = spokesman([j for j in by_item[judgment.item_id] if _voice(j) == voice] or [judgment])
        doubt[judgment.item_id] = doubts.get((judgment.item_id, *_voice(asked), asked.repeat))
    judged = [j for j in judgments if isinstance(j.outcome, Verdict) and (everything or flagged(j))]
    judged.sort(key=lambda j: -np.inf if (value := doubt[j.item_id]) is None else value, reverse=True)
    candidates = [*(j for j in judgments if isinstance(j.outcome, Failure)), *judged]
    chosen = candidates[:budget]
    taken = {j.item_id for j in chosen}
    rest = [j for j in judgments if j.item_id not in taken]
    drawn = [rest[n] for n in rng.choice(len(rest), min(random, len(rest)), replace=False)] if rest else []
    entries = []
    for j in chosen:
        why: Why = "failed" if isinstance(j.outcome, Failure) else "flagged" if flagged(j) else "unflagged"
        entries.append(Entry(j, why, 1.0, doubt[j.item_id]))
    entries += [Entry(j, "random", len(drawn) / len(rest), doubt[j.item_id]) for j in drawn]
    order = f"{measure} of {names[voice]}" if measure is not None and names[voice] else measure
    return Queue(entries, len(candidates), len(rest), order, names)


def _voice(judgment: Judgment) -> tuple[str, str]:
    return judgment.judge, judgment.criterion


def ranked(
    items: Sequence[Item], judgments: Sequence[Judgment]
) -> tuple[Measure | None, Mapping[tuple[Any, ...], float]]:
    """Choose the measure that speaks for the judge as `analysis=calibration` does, on the verdicts of the first repeat.
    Returns it, None if the judge gives no uncertainty, and its value by item, judge, criterion and repeat."""
    table = whole(tabulate(items, judgments, 1 + max((j.repeat for j in judgments), default=0)))
    verdicts = table[table["error"].isna()].set_index(["item_id", "judge", "criterion", "repeat"], drop=False)
    first = verdicts[verdicts["repeat"] == 0]
    measure = None if first.empty else choose(uncertainties(first), "auto")
    return measure, {} if measure is None else measured(verdicts)[measure].dropna().to_dict()


def rows(
    queue: Queue, items: Mapping[str, Item], rubric: Rubric, hide: bool, blind: bool = False
) -> list[dict[str, Any]]:
    """The queue as plain rows with COLUMNS, the last three empty; `judge`, whose judgment is shown, only of several.
    `hide` leaves only the hashes of all texts; `blind` leaves out what the judge said (OF_JUDGE)."""
    shown = [
        _row(rank, entry, items[entry.judgment.item_id], rubric, hide)
        | {"uncertainty_by": None if entry.value is None else queue.order}
        | ({"judge": queue.names[_voice(entry.judgment)]} if len(queue.names) > 1 else {})
        for rank, entry in enumerate(queue.entries, 1)
    ]
    unfilled = {"queue": digest(shown)[:12], "label": None, "labeller": None, "comment": None}
    gone = OF_JUDGE if blind else ()
    return [{key: value for key, value in row.items() if key not in gone} | unfilled for row in shown]


def write(rows: Iterable[Mapping[str, Any]], out: str) -> tuple[Path, Path]:
    """Write `out`.csv and `out`.jsonl. Raises ConfigError if one exists: it may hold somebody's labels."""
    stem = out.removesuffix(".csv").removesuffix(".jsonl")
    table, lines = Path(f"{stem}.csv"), Path(f"{stem}.jsonl")
    if not stem or stem.endswith("/"):
        raise ConfigError(f"--out is {brief(out)}; give a file's name without suffix, e.g. --out queue.")
    for path in (table, lines):
        if os.path.lexists(path):
            raise ConfigError(f"--out is {brief(out)}, and {path} exists: it may hold labels. Choose another name.")
    kept = list(rows)
    columns = [name for name in COLUMNS if any(name in row for row in kept)]
    cells = [[_cell(row[column]) for column in columns] for row in kept]
    # UTF-8 with a mark for spreadsheets; no cell would run as a formula.
    files.write(table, "\ufeff" + files.csv(pd.DataFrame(cells, columns=columns, dtype=object)))
    files.write(lines, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    return table, lines


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " | ".join(map(str, value)) if isinstance(value, list) else value


def _row(rank: int, entry: Entry, item: Item, rubric: Rubric, hide: bool) -> dict[str, Any]:
    judgment, item = (redact_judgment(entry.judgment), redact_item(item)) if hide else (entry.judgment, item)
    outcome = judgment.outcome
    verdict = outcome if isinstance(outcome, Verdict) else None
    # The rules that called the expensive judge (`judge=selective`): their names are ours and quote nothing.
    rules = str(getattr(entry.judgment.outcome, "details", {}).get("rules_fired", ""))

    def shown(value: float | None) -> float | str | None:
        """A score with the precision of its scale; a category by its name."""
        if value is None:
            return None
        return float(rubric.scale.write(value)) if isinstance(rubric.scale, NumericScale) else rubric.scale.write(value)

    low, high = getattr(verdict, "interval", None) or (None, None)
    return {
        "rank": rank,
        "item_id": item.id,
        "pair": item.pair,
        "condition": item.condition,
        "text": item.text,
        "score": getattr(verdict, "category", None) or shown(judgment.score),
        "low": shown(low),
        "high": shown(high),
        "confidence": getattr(verdict, "confidence", None),
        "uncertainty": getattr(verdict, "uncertainty", None),
        "uncertainty_value": entry.value,
        "failure": f"{outcome.reason}: {outcome.message}" if isinstance(outcome, Failure) else None,
        "rationale": getattr(verdict, "rationale", None),
        "issues": list(getattr(verdict, "issues", ())),
        "rules": [rule.strip() for rule in rules.split(",") if rule.strip()],
        "repeat": judgment.repeat,
        "why": entry.why,
        "inclusion_probability": entry.inclusion,
    }
