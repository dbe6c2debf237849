"""Which items a human should look at, in which order, and with which probability each came in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from undogmatic.errors import ConfigError
from undogmatic.records import Failure, Item, Judgment, Verdict, digest
from undogmatic.review.sheet import write_csv, write_json_lines
from undogmatic.tracking.hide import redact_judgment, redacted

Why = Literal["failed", "flagged", "unflagged", "random"]
MEASURES = ("interval width", "100 - confidence", "level")
_LEVELS = {"low": 0.0, "medium": 1.0, "high": 2.0}
COLUMNS = (
    "rank item_id pair condition text score low high confidence uncertainty uncertainty_value uncertainty_by "
    "failure rationale issues rules repeat why inclusion_probability queue label labeller comment"
).split()


class Entry(NamedTuple):
    """One row of a queue.

    `why` it is there; `inclusion` is the probability with which it came in (1 unless drawn at random); `value` is
    the number by which it was ranked and `measure` what that number is (None: a failure, or nothing to rank by).
    """

    judgment: Judgment
    why: Why
    inclusion: float
    measure: str | None = None
    value: float | None = None


class Queue(NamedTuple):
    """The rows of a queue in order, how many items were candidates, and by what they were ranked (None: nothing)."""

    entries: list[Entry]
    candidates: int
    remaining: int
    measure: str | None


def flagged(judgment: Judgment) -> bool:
    """Whether the judge itself asked for a human, or was highly uncertain."""
    outcome = judgment.outcome
    return isinstance(outcome, Verdict) and (outcome.review or outcome.uncertainty == "high")


def spokesman(judgments: Sequence[Judgment]) -> Judgment:
    """The judgment that stands for an item with repeats: a failed one, else a flagged one, else the first."""
    failed = [j for j in judgments if isinstance(j.outcome, Failure)]
    return [*failed, *filter(flagged, judgments), *judgments][0]


def select(
    judgments: Sequence[Judgment],
    budget: int | None,
    everything: bool,
    random: int,
    rng: np.random.Generator,
) -> Queue:
    """Choose the rows: failures, then the most uncertain within the budget, then `random` of all others.

    Judgments are ranked by the first of MEASURES that every candidate has (else by the first that any has, those
    without it last); ties are broken by the other measures, then by the order of the dataset.

    Args:
        judgments: One per item, in the order of the dataset.
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
    failed = [j for j in judgments if isinstance(j.outcome, Failure)]
    judged = [j for j in judgments if isinstance(j.outcome, Verdict) and (everything or flagged(j))]
    first = _measure(judged)
    order = [] if first is None else [first, *(n for n in range(len(MEASURES)) if n != first)]
    judged.sort(key=lambda j: [-np.inf if (v := measured(j)[n]) is None else v for n in order], reverse=True)
    candidates = [*failed, *judged]
    chosen = candidates[:budget]
    taken = {j.item_id for j in chosen}
    rest = [j for j in judgments if j.item_id not in taken]
    drawn = [rest[n] for n in rng.choice(len(rest), min(random, len(rest)), replace=False)] if rest else []
    entries = [_entry(j, _why(j), 1.0, first) for j in chosen]
    entries += [_entry(j, "random", len(drawn) / len(rest), first) for j in drawn]
    return Queue(entries, len(candidates), len(rest), None if first is None else MEASURES[first])


def measured(judgment: Judgment) -> tuple[float | None, float | None, float | None]:
    """The numbers of MEASURES: width in score units, 100 - confidence, level (0 low, 1 medium, 2 high)."""
    outcome = judgment.outcome
    if isinstance(outcome, Failure):
        return None, None, None
    return (
        None if outcome.interval is None else outcome.interval[1] - outcome.interval[0],
        None if outcome.confidence is None else 100 - outcome.confidence,
        None if outcome.uncertainty is None else _LEVELS[outcome.uncertainty],
    )


def rows(queue: Queue, items: Mapping[str, Item], hide: bool) -> list[dict[str, Any]]:
    """The queue as plain rows with COLUMNS, the last three empty. `hide` leaves only the hashes of all texts."""
    shown = [_row(rank, e, items[e.judgment.item_id], hide) for rank, e in enumerate(queue.entries, 1)]
    name = digest(shown)[:12]
    return [row | {"queue": name, "label": None, "labeller": None, "comment": None} for row in shown]


def write(rows: Iterable[Mapping[str, Any]], out: str) -> tuple[Path, Path]:
    """Write `out`.csv and `out`.jsonl. Raises ConfigError if one exists: it may hold somebody's labels."""
    stem = out.removesuffix(".csv").removesuffix(".jsonl")
    sheet, lines = Path(f"{stem}.csv"), Path(f"{stem}.jsonl")
    for path in (sheet, lines):
        if path.exists():
            raise ConfigError(f"--out is {out!r}, and {path} exists: it may hold labels. Choose another name.")
    sheet.parent.mkdir(parents=True, exist_ok=True)
    kept = list(rows)
    write_csv(sheet, COLUMNS, kept)
    write_json_lines(lines, kept)
    return sheet, lines


def _measure(judged: Sequence[Judgment]) -> int | None:
    has = [[measured(j)[n] is not None for j in judged] for n in range(len(MEASURES))]
    found = [n for n, column in enumerate(has) if column and all(column)]
    found += [n for n, column in enumerate(has) if any(column)]
    return found[0] if found else None


def _why(judgment: Judgment) -> Why:
    if isinstance(judgment.outcome, Failure):
        return "failed"
    return "flagged" if flagged(judgment) else "unflagged"


def _rules(verdict: Verdict) -> list[str]:
    """The rules that called the expensive judge, where one was called (`judge=selective`)."""
    noted = str(verdict.details.get("rules_fired", ""))
    return [rule.strip() for rule in noted.split(",") if rule.strip()]


def _entry(judgment: Judgment, why: Why, inclusion: float, measure: int | None) -> Entry:
    value = None if measure is None else measured(judgment)[measure]
    return Entry(judgment, why, inclusion, None if measure is None or value is None else MEASURES[measure], value)


def _row(rank: int, entry: Entry, item: Item, hide: bool) -> dict[str, Any]:
    judgment = redact_judgment(entry.judgment) if hide else entry.judgment
    outcome = judgment.outcome
    verdict = outcome if isinstance(outcome, Verdict) else None
    plain = entry.judgment.outcome  # names of rules are ours and quote nothing
    low, high = verdict.interval if verdict is not None and verdict.interval is not None else (None, None)
    return {
        "rank": rank,
        "item_id": item.id,
        "pair": item.pair,
        "condition": item.condition,
        "text": redacted(item.text) if hide else item.text,
        "score": judgment.score,
        "low": low,
        "high": high,
        "confidence": None if verdict is None else verdict.confidence,
        "uncertainty": None if verdict is None else verdict.uncertainty,
        "uncertainty_value": entry.value,
        "uncertainty_by": entry.measure,
        "failure": f"{outcome.reason}: {outcome.message}" if isinstance(outcome, Failure) else None,
        "rationale": None if verdict is None else verdict.rationale,
        "issues": [] if verdict is None else list(verdict.issues),
        "rules": _rules(plain) if isinstance(plain, Verdict) else [],
        "repeat": judgment.repeat,
        "why": entry.why,
        "inclusion_probability": entry.inclusion,
    }
