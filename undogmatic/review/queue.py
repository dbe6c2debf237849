"""Chooses the items that a human should look at, their order, and the probability with which each
came in."""

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.instrument import FILE, is_copy
from undogmatic.errors import ConfigError
from undogmatic.examinations.calibration import Measure, choose, measured, uncertainties
from undogmatic.examinations.run_items import items_of
from undogmatic.records.records import (
    NO_VERDICT,
    Failure,
    Item,
    Judgment,
    Key,
    Verdict,
    digest,
)
from undogmatic.records.redaction import redact_item, redact_judgment
from undogmatic.records.results import part_names
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.runs.folder import RunFolder
from undogmatic.safety import files
from undogmatic.safety.outside import brief

Why = Literal["failed", "flagged", "unflagged", "random"]
COLUMNS = (
    "rank item_id pair condition text judge score low high confidence uncertainty uncertainty_value"
    " uncertainty_by failure rationale issues rules repeat why inclusion_probability queue label"
    " labeller comment"
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
    # the probability with which it came in, 1 unless it was drawn at random
    inclusion: float
    # by which it was ranked, by whichever judge (None: a failure, or nothing to rank by)
    value: float | None = None


class Queue(NamedTuple):
    """The rows of a queue in order."""

    entries: list[Entry]
    candidates: int
    remaining: int
    judged: int  # items with a judgment
    # by what they were ranked: "width", "width of debate"; None: nothing
    order: str | None
    names: Mapping[tuple[str, str], str]  # judges and criteria of the run


def for_people(folder: RunFolder) -> Sequence[Item]:
    """The items of a run that people may label: of an instrument test its texts without the copies
    that were made of them. Raises ConfigError, DataError as `items_of`."""
    items = items_of(folder)
    if not (folder.path / FILE).is_file():
        return items
    return [item for item in items if not is_copy(item)]


def flagged(judgment: Judgment) -> bool:
    """Whether the judge itself asked for a human, or was highly uncertain."""
    outcome = judgment.outcome
    return isinstance(outcome, Verdict) and (
        outcome.review or outcome.uncertainty == "high"
    )


def select(
    items: Sequence[Item],
    judgments: Mapping[Key, Judgment],
    budget: int | None,
    everything: bool,
    random: int,
    rng: np.random.Generator,
) -> Queue:
    """Choose the rows: failures, then the most uncertain within the budget, then `random` of all
    others.

    Judgments are ranked by the measure of `analysis=calibration`; ties are broken by the order of
    the dataset. Of several judges or criteria, the first that tells items apart ranks them: numbers
    of two judges have no common scale. A flag of any of them makes an item a candidate. Only what
    ranks them is held of all judgments; those that are chosen are read again.

    Args:
        items: In the order of the dataset; those without a judgment are left out.
        judgments: By their keys, in the order in which they were made.
        budget: At most so many rows before the random ones; None takes all candidates.
        everything: Candidates are all items, not only the failed and flagged.
        random: How many more to draw without replacement, each with probability `random` /
            remaining.
        rng: For the draw.
    Raises:
        ConfigError: A negative number.
    """
    for name, given in (("--budget", budget), ("--random", random)):
        if given is not None and given < 0:
            raise ConfigError(f"{name} is {given}; it must be 0 or more.")
    # Numbers alone are held of each judgment: a million judgments with their exchanges
    # fill a memory.
    facts, voices = _facts(items, judgments)
    rankings = [(voice, *ranked(facts[facts["voice"] == voice])) for voice in voices]
    # The first whose measure is not the same for all items, else the first with one.
    # A measure that is the same for all items orders nothing, whoever gave it.
    best, measure, doubts = max(
        rankings, key=lambda found: (found[2].nunique() > 1, found[1] is not None)
    )
    asked, spoken = _spokesmen(facts[facts["voice"] == best]), _spokesmen(facts)
    by_item = pd.Series(doubts.reindex(asked.index).to_numpy(), asked["item"])
    spoken["doubt"] = by_item.reindex(spoken["item"]).to_numpy()
    judged = spoken[~spoken["failed"] & (spoken["flagged"] | everything)]
    judged = judged.iloc[np.argsort(-judged["doubt"].fillna(-np.inf), kind="stable")]
    candidates = pd.concat([spoken[spoken["failed"]], judged])
    chosen = candidates[:budget]
    rest = spoken.drop(chosen.index)
    # Of all others some by chance, since a queue of doubtful items alone says nothing
    # of the judge's other verdicts.
    n_drawn = min(random, len(rest))
    places: Any = rng.choice(len(rest), n_drawn, replace=False) if len(rest) else []
    drawn = rest.iloc[places]
    entries = list[Entry]()
    for row in [*chosen.itertuples(), *drawn.itertuples()]:
        why: Why = "failed" if row.failed else "flagged" if row.flagged else "unflagged"
        # Kept with the row: only with these probabilities do labels from a queue give a
        # mean of all items.
        probability = 1.0
        if len(entries) >= len(chosen):
            why = "random"
            probability = n_drawn / len(rest)
        judgment = judgments[items[row.item].id, *voices[row.voice], row.repeat]
        value = None if np.isnan(row.doubt) else float(row.doubt)
        entries.append(Entry(judgment, why, probability, value))
    names = part_names(voices.values())
    by = names[voices[best]]
    order = f"{measure} of {by}" if measure is not None and by else measure
    return Queue(entries, len(candidates), len(rest), len(spoken), order, names)


def _voice(judgment: Judgment) -> tuple[str, str]:
    return judgment.judge, judgment.criterion


def _facts(
    items: Sequence[Item], judgments: Mapping[Key, Judgment]
) -> tuple[pd.DataFrame, dict[int, tuple[str, str]]]:
    """Of each judgment of an item the item's place, the voice (judge and criterion) and what ranks
    it, repeats in order; and the voices by their numbers, those of the first item first."""
    places = {item.id: n for n, item in enumerate(items)}
    numbers = dict[tuple[str, str], int]()

    def facts() -> Iterator[tuple[Any, ...]]:
        for judgment in judgments.values():
            if (place := places.get(judgment.item_id)) is not None:
                outcome = judgment.outcome
                voice = numbers.setdefault(_voice(judgment), len(numbers))
                failed = isinstance(outcome, Failure)
                said = NO_VERDICT if isinstance(outcome, Failure) else outcome.row()
                told = [said[name] for name in MEASURED]
                yield place, voice, judgment.repeat, failed, flagged(judgment), *told

    names, rows = ["item", "voice", "repeat", "failed", "flagged", *MEASURED], facts()
    kinds: dict[str, Any] = dict.fromkeys(names[:3], "int64") | dict.fromkeys(
        names[3:5], "bool"
    )
    kinds |= dict.fromkeys(names[5:], "float64") | {
        "uncertainty": pd.CategoricalDtype(["low", "medium", "high"])
    }
    parts = [
        pd.DataFrame([*itertools.islice(rows, AT_ONCE)], columns=names).astype(kinds)
    ]
    while len(parts[-1]) == AT_ONCE:
        parts.append(
            pd.DataFrame([*itertools.islice(rows, AT_ONCE)], columns=names).astype(
                kinds
            )
        )
    found = pd.concat(parts).sort_values("repeat", kind="stable", ignore_index=True)
    first = pd.Series(found.index).groupby(found["item"].to_numpy()).transform("min")
    in_order = found["voice"].iloc[np.lexsort((found.index, first))].unique().tolist()
    voices = {number: voice for voice, number in numbers.items()}
    return found, {number: voices[number] for number in in_order}


AT_ONCE = 10_000
"""So many judgments are taken up at a time: as objects they take eight times as much."""
MEASURED = ("doubt", "low", "high", "entropy", "confidence", "uncertainty")


def _spokesmen(facts: pd.DataFrame) -> pd.DataFrame:
    """The judgment that stands for each item with several, in the order of the items: a failed one,
    else a flagged one, else the first."""
    order = np.lexsort(
        (facts.index, ~facts["flagged"], ~facts["failed"], facts["item"])
    )
    return facts.iloc[order].drop_duplicates("item")


def ranked(facts: pd.DataFrame) -> tuple[Measure | None, pd.Series]:
    """Choose the measure that speaks for the judge as `analysis=calibration` does, on the verdicts
    of the first repeat. Returns it, None if the judge gives no uncertainty, and its value by
    judgment."""
    verdicts = facts[~facts["failed"]]
    first = verdicts[verdicts["repeat"] == 0]
    measure = None if first.empty else choose(uncertainties(first), "auto")
    return measure, (
        pd.Series(dtype=float)
        if measure is None
        else measured(verdicts)[measure].dropna()
    )


def rows(
    queue: Queue,
    items: Mapping[str, Item],
    rubric: Rubric,
    hide: bool,
    blind: bool = False,
) -> list[dict[str, Any]]:
    """The queue as plain rows with COLUMNS, the last three empty; `judge`, whose judgment is shown,
    only of several. `hide` leaves only the hashes of all texts; `blind` leaves out what the judge
    said (OF_JUDGE).
    """
    shown = []
    for rank, entry in enumerate(queue.entries, 1):
        row = _row(rank, entry, items[entry.judgment.item_id], rubric, hide)
        row["uncertainty_by"] = None if entry.value is None else queue.order
        if len(queue.names) > 1:
            row["judge"] = queue.names[_voice(entry.judgment)]
        shown.append(row)
    unfilled = {
        "queue": digest(shown)[:12],
        "label": None,
        "labeller": None,
        "comment": None,
    }
    # Who sees the judge's score before labelling agrees with it more often.
    gone = OF_JUDGE if blind else ()
    return [
        {key: value for key, value in row.items() if key not in gone} | unfilled
        for row in shown
    ]


def write(rows: Iterable[Mapping[str, Any]], out: str) -> tuple[Path, Path]:
    """Write `out`.csv and `out`.jsonl. Raises ConfigError if one exists: it may hold somebody's
    labels."""
    stem = out.removesuffix(".csv").removesuffix(".jsonl")
    table, lines = Path(f"{stem}.csv"), Path(f"{stem}.jsonl")
    if not stem or stem.endswith("/"):
        raise ConfigError(
            f"--out is {brief(out)}; give a file's name without suffix, e.g. --out queue."
        )
    for path in (table, lines):
        if os.path.lexists(path):
            raise ConfigError(
                f"--out is {brief(out)}, and {path} exists: it may hold labels. Choose another"
                " name."
            )
    kept = list(rows)
    columns = [name for name in COLUMNS if any(name in row for row in kept)]
    cells = [[_cell(row[column]) for column in columns] for row in kept]
    # UTF-8 with a mark for spreadsheets; no cell would run as a formula.
    files.write(
        table, "\ufeff" + files.csv(pd.DataFrame(cells, columns=columns, dtype=object))
    )
    files.write(
        lines, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
    )
    return table, lines


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " | ".join(map(str, value)) if isinstance(value, list) else value


def _row(
    rank: int, entry: Entry, item: Item, rubric: Rubric, hide: bool
) -> dict[str, Any]:
    judgment, item = (
        (redact_judgment(entry.judgment), redact_item(item))
        if hide
        else (entry.judgment, item)
    )
    outcome = judgment.outcome
    verdict = outcome if isinstance(outcome, Verdict) else None
    # The rules that called the expensive judge (`judge=selective`): their names are ours and quote
    # nothing.
    rules = str(getattr(entry.judgment.outcome, "details", {}).get("rules_fired", ""))

    def shown(value: float | None) -> float | str | None:
        """A score with the precision of its scale; a category by its name."""
        if value is None:
            return None
        return (
            float(rubric.scale.write(value))
            if isinstance(rubric.scale, NumericScale)
            else rubric.scale.write(value)
        )

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
        "failure": f"{outcome.reason}: {outcome.message}"
        if isinstance(outcome, Failure)
        else None,
        "rationale": getattr(verdict, "rationale", None),
        "issues": list(getattr(verdict, "issues", ())),
        "rules": [rule.strip() for rule in rules.split(",") if rule.strip()],
        "repeat": judgment.repeat,
        "why": entry.why,
        "inclusion_probability": entry.inclusion,
    }
