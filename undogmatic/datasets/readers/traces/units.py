"""Makes the rows of a verdict table from runs: an item is a whole run, a turn or a step.

A turn begins with what a user says, and ends before the next time; what stands before the first is
of the first turn. The text of an item is the run up to its end, as a judge reads it, and its group
is the run, or what the file says that several runs belong to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from undogmatic.datasets.inject import AT, EDIT, KIND, PARENT
from undogmatic.datasets.readers.log import COLUMNS, Row, framed, joined
from undogmatic.datasets.readers.traces import Faults, find, read_traces
from undogmatic.datasets.trace_text import within
from undogmatic.errors import DataError
from undogmatic.records.evidence import STATED
from undogmatic.records.results import Finding
from undogmatic.records.trace import Assessment, Step, Trace

if TYPE_CHECKING:
    import pandas as pd

Unit = Literal["step", "turn", "run"]
UNITS: tuple[Unit, ...] = ("step", "turn", "run")
MOST: dict[Unit, int] = {"step": 2_000, "turn": 6_000, "run": 20_000}
"""Characters of an item's text. A run of 200 steps has as many texts that each hold what came
before, so that those of a step are shorter."""
MOST_IN_ALL, FEWEST = 20_000_000, 400
"""Characters of all texts of a file together, beyond which each is shortened further, and of a text
in any case: what counts words takes many times what they take."""
MOST_TOOLS = 12
"""Tools, the most used first, whose calls are counted in a column each."""
RUNS = "runs"
"""What a file of traces states of its groups: that they are runs."""
SUCCESS = "success"
"""Who says how a run ended, where its file knows."""
RUN, RUN_SUCCESS = "run", "run_success"
"""Columns of turns and steps: of which run each is, and how that ended, where its file knows."""


class Part(NamedTuple):
    """An item: its id, its own steps, those of its run up to its end, and its number."""

    item: str
    steps: Sequence[Step]
    so_far: Sequence[Step]
    number: int


@dataclass
class Counts:
    """What a file holds."""

    runs: int = 0
    turns: int = 0
    steps: int = 0
    items: int = 0
    cut: int = 0  # items whose text was shortened
    elsewhere: int = 0  # assessments of another unit
    unsaid: int = 0  # items of which nobody says anything


def turns_of(trace: Trace) -> list[Sequence[Step]]:
    """The turns of a run."""
    begins = [step.place for step in trace.steps if step.kind == "user"]
    starts = [
        0,
        # Two messages of a user in a row are one turn: nothing was answered in between.
        *(place for place in begins[1:] if trace.steps[place - 1].kind != "user"),
    ]
    ends = [*starts[1:], len(trace.steps)]
    return [
        trace.steps[start:end]
        for start, end in zip(starts, ends, strict=True)
        if end > start
    ]


def parts_of(trace: Trace, unit: Unit) -> Iterator[Part]:
    """The items of a run."""
    steps = trace.steps
    if unit == "run":
        yield Part(trace.run, steps, steps, 0)
    elif unit == "step":
        for step in steps:
            own = step.place
            yield Part(f"{trace.run}/{own}", (step,), steps[: own + 1], own)
    else:
        for number, turn in enumerate(turns_of(trace), 1):
            yield Part(
                f"{trace.run}/{number}", turn, steps[: turn[-1].place + 1], number
            )


def frame_of(
    path: Path, unit: Unit, only: Collection[str] | None = None
) -> pd.DataFrame:
    """The items of a file of traces with the verdicts and labels on them, as `Reader.read` returns
    those of another file. Where somebody says something of a part of the items, the others are left
    out, but for those that other files name (`only`; None: there are none). Raises DataError where
    no reader knows the file, or no run of it can be read."""
    reader, faults, counts = find(path), Faults(), Counts()
    verdicts, labels, bare = list[Row](), list[Row](), list[Row]()
    texts = _Texts(unit)
    for trace in read_traces(path, faults):
        counts.runs += 1
        counts.turns += len(turns_of(trace))
        counts.steps += len(trace.steps)
        said, elsewhere = _by_item(trace, unit)
        counts.elsewhere += elsewhere
        for part in parts_of(trace, unit):
            counts.items += 1
            own = said.get(part.item, ())
            # Rows of which nobody says anything would be taken for judgments that are missing.
            if not own and only is not None and part.item not in only:
                counts.unsaid += 1
                continue
            row = _row(trace, part, texts.most, counts, unit)
            found = [row | _as_row(one) for one in own]
            texts.add(found or [row])
            verdicts += [made for made in found if "judge" in made]
            labels += [made for made in found if "judge" not in made]
            if not found:
                bare.append(row)
    if not counts.items:
        told = " ".join(finding.key.partition(".")[2] for finding in faults.findings())
        raise DataError(f"{path}: no run of it can be read ({told or 'it is empty'}).")
    problems: list[str] = []
    # Where nobody says anything of any item, other files may; these items are then all that is
    # known.
    rows = list(joined(verdicts, labels, path, problems)) or bare
    if rows is not bare:
        counts.unsaid += len(bare)
    for row in rows:
        # So that a report says "runs" and not "groups".
        row[f"{STATED}group"] = RUNS
    _keep_common_tools(rows)
    name = reader.name if reader is not None else "traces"
    frame = framed(rows, problems, str(path), name)
    frame.attrs["problems"] = [*faults.findings(), *problems]
    frame.attrs["notes"] = list(_notes(path, unit, counts, texts.most))
    return frame


class _Texts:
    """Keeps the texts of a file's rows together below what is read of them."""

    def __init__(self, unit: Unit) -> None:
        self.most, self._held = MOST[unit], 0
        self._rows: list[Row] = []

    def add(self, rows: Sequence[Row]) -> None:
        """Count the texts of these rows; where there are too many, shorten all."""
        self._rows += rows
        self._held += sum(len(row["text"] or "") for row in rows)
        # Texts that were taken already are shortened too, or the first runs of a file would be
        # judged by more text than the last.
        while self._held > MOST_IN_ALL and self.most // 2 >= FEWEST:
            self.most //= 2
            for row in self._rows:
                row["text"] = _ended(row["text"], self.most)
            self._held = sum(len(row["text"] or "") for row in self._rows)


def _ended(text: str | None, most: int) -> str | None:
    """The text; of a longer one the beginning and, twice as long, the end."""
    if text is None or len(text) <= most:
        return text
    begin, end = text[: most // 3], text[-(most - most // 3) :]
    return f"{begin} [... {len(text) - most} characters left out ...] {end}"


def _notes(path: Path, unit: Unit, counts: Counts, most: int) -> Iterator[Finding]:
    held = {"runs": counts.runs, "turns": counts.turns, "steps": counts.steps}
    yield Finding(
        f"trace_files.read_{unit}", {"file": path.name, "n": counts.items, **held}
    )
    if counts.cut:
        yield Finding("trace_files.shortened", {"n": counts.cut, "most": most})
    if counts.elsewhere:
        yield Finding("trace_files.elsewhere", {"n": counts.elsewhere, "unit": unit})
    if counts.unsaid:
        yield Finding("trace_files.unsaid", {"n": counts.unsaid, "all": counts.items})


def _by_item(trace: Trace, unit: Unit) -> tuple[dict[str, list[Assessment]], int]:
    """What was said of each item of a run, and how much was said of other things than items."""
    found: dict[str, list[Assessment]] = {}
    ends = {turn[-1].place: number for number, turn in enumerate(turns_of(trace), 1)}
    elsewhere = 0
    said = list(trace.assessments)
    # How a run ended is what people want a judge to tell, so that it stands as a label.
    if trace.success is not None:
        said.append(Assessment(by=SUCCESS, person=True, value=trace.success))
    for one in said:
        if unit == "run" and one.step is None:
            item = trace.run
        elif unit == "step" and one.step is not None:
            item = f"{trace.run}/{one.step}"
        elif unit == "turn" and one.step in ends:
            item = f"{trace.run}/{ends[one.step]}"
        else:
            elsewhere += 1
            continue
        found.setdefault(item, []).append(one)
    return found, elsewhere


def _as_row(said: Assessment) -> Row:
    """An assessment as the columns of a row."""
    about: Row = {"criterion": said.criterion}
    # As other readers write it: "true" and not Python's "True".
    value = str(said.value).lower() if isinstance(said.value, bool) else said.value
    if said.person:
        return about | {"rater": said.by, "label": value}
    reason = said.reason or "the judge gave no value"
    return (
        about
        | {"judge": said.by}
        | ({"verdict": value} if value is not None else {})
        | ({"reason": reason} if value is None else {})
    )


def _row(trace: Trace, part: Part, most: int, counts: Counts, unit: Unit) -> Row:
    """The row of an item, without what was said of it."""
    about = {
        name: value
        for name, value in trace.metadata.items()
        if isinstance(value, str | int | float) and name not in COLUMNS
    }
    group = str(trace.metadata.get("group") or trace.run)
    text, *missing = within(part.so_far, most)
    cut = any(missing)
    counts.cut += cut
    row: Row = {
        "item": part.item,
        "group": group,
        "text": text or None,
        "place": part.item,
    }
    # How the whole run ended is no label of a part: a good step may stand in a run that failed.
    if unit != "run" and trace.success is not None:
        row |= {RUN: trace.run, RUN_SUCCESS: str(trace.success).lower()}
    facts = _of_step(part) if unit == "step" else _of_steps(part, unit)
    if unit != "run" and KIND in trace.metadata:
        about = _of_part(trace, part, about)
    return about | facts | row


def _of_part(trace: Trace, part: Part, about: Row) -> Row:
    """What is known of a turn or step of an edited run: it has the defect if one of its steps
    commits that; of other steps of the run it is not known whether the defect shows in them."""
    at = trace.metadata.get(AT)
    here = at is None or any(step.place == at for step in part.steps)
    known = {
        name: value for name, value in about.items() if name not in (PARENT, EDIT, AT)
    }
    return known | {KIND: trace.metadata[KIND] if here else None}


def _of_step(part: Part) -> Row:
    """What a program sees of a step without reading it."""
    (step,) = part.steps
    # What follows is left out: whoever judges a step while the run goes on does not know it.
    before = part.so_far[:-1]
    return {
        "step": part.number,
        "kind": (step.name or step.kind) if step.kind == "other" else step.kind,
        "tool": step.name if step.kind in ("tool_call", "tool_result") else None,
        "error": "true" if step.error else "false",
        "repeated": "true" if _repeated(part.so_far, (step,)) else "false",
        "calls_before": sum(1 for each in before if each.kind == "tool_call"),
        "errors_before": sum(1 for each in before if each.error),
        "characters": len(step.text or ""),
        "seconds": step.seconds,
        "tokens": step.tokens,
    }


def _of_steps(part: Part, unit: Unit) -> Row:
    """What a program sees of a run or a turn without reading it: names, counts, errors, lengths."""
    own = part.steps
    calls = Counter(step.name or "?" for step in own if step.kind == "tool_call")
    row: Row = {"turn": part.number} if unit == "turn" else {}
    row |= {
        "steps": len(own),
        "calls": calls.total(),
        "tools": ", ".join(sorted(calls)) or None,
        "errors": sum(1 for step in own if step.error),
        "last_kind": own[-1].kind if own else None,
        "last_is_error": "true" if own and own[-1].error else "false",
        "repeated_calls": _repeated(part.so_far, own),
        "characters": sum(len(step.text or "") for step in own),
        "seconds": _seconds(own),
        "tokens": _total([step.tokens for step in own]),
    }
    return row | {f"{CALLS}{name}": count for name, count in calls.items()}


CALLS = "calls of "


def _repeated(so_far: Sequence[Step], own: Sequence[Step]) -> int:
    """How many of the calls were made before with the same arguments."""
    if not any(step.kind == "tool_call" for step in own):
        return 0
    first = own[0].place
    seen = {(s.name, s.text) for s in so_far[:first] if s.kind == "tool_call"}
    repeated = 0
    for step in own:
        if step.kind == "tool_call":
            repeated += (step.name, step.text) in seen
            seen.add((step.name, step.text))
    return repeated


def _seconds(steps: Sequence[Step]) -> float | None:
    """From the first moment that is known to the last; without any, what the steps took."""
    times = [step.time for step in steps if step.time is not None]
    if len(times) > 1:
        return round(max(times) - min(times), 3)
    taken = [step.seconds for step in steps if step.seconds is not None]
    return round(sum(taken), 3) if taken else None


def _total(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _keep_common_tools(rows: Sequence[Row]) -> None:
    """Leave the columns of the most used tools, with 0 where one was not called."""
    counts = Counter[str]()
    for row in rows:
        counts.update({name: n for name, n in row.items() if name.startswith(CALLS)})
    kept = (
        [name for name, _ in counts.most_common(MOST_TOOLS)] if len(counts) > 1 else []
    )
    for row in rows:
        for name in [
            name for name in row if name.startswith(CALLS) and name not in kept
        ]:
            del row[name]
        row |= {name: row.get(name, 0) for name in kept}


def silent(unit: Unit, items: Sequence[Any]) -> str:
    """What is said where a file of traces stands alone, and nobody says anything of its items."""
    shown = ", ".join(repr(str(item)) for item in items[:2])
    others = " or ".join(f"--unit {other}" for other in UNITS if other != unit)
    return (
        f"neither a judge nor a person says anything of a {unit} in it. Name a table beside it with"
        f" the column `item` (here {shown}, ...) and one for each judge and person, or try {others}"
    )
