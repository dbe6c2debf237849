"""Writes down what happened in a run, step by step, from what a file says of it in any order and
more than once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from undogmatic.datasets.readers.log import SHAPE, About, Head, is_person
from undogmatic.records.records import LONGEST_NAME, OVERALL, as_text
from undogmatic.records.results import Finding
from undogmatic.records.trace import Assessment, Step, StepKind, Trace
from undogmatic.safety.outside import Piece, json_pieces, without_halves
from undogmatic.safety.spool import Spool

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")


class Faults:
    """Counts what is wrong in a file, by kind, with the place of the first.

    A fault of a kind that loses `rows` may have lost verdicts.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Any]] = {}

    def add(self, kind: str, place: str, n: int = 1, loses: bool = False) -> None:
        """Count `n` of a kind; `place` is where it is."""
        own = self._found.setdefault(kind, {"n": 0, "place": place})
        own["n"] += n
        if loses:
            own["rows"] = own.get("rows", 0) + n

    def findings(self) -> list[Finding]:
        """A sentence for each kind."""
        return [
            Finding(f"trace_files.{kind}", facts) for kind, facts in self._found.items()
        ]


@dataclass(frozen=True)
class TraceReader:
    """Reads the runs that one tool writes.

    Attributes:
        name: The tool and its file, for messages.
        claims: Whether a file that begins so is that tool's.
        traces: The runs of a file, one at a time; what is left out is counted. Raises DataError.
        about: Its row in the documentation.
    """

    name: str
    claims: Callable[[Head], bool]
    traces: Callable[[Path, Faults], Iterator[Trace]]
    about: About


@dataclass
class Draft:
    """A step before its run is whole.

    Attributes:
        call: The id that a call and its result share. key: By which the file knows the step, or
            the span that it is of. after: The key of what it follows from.
    """

    kind: StepKind
    text: str | None = None
    name: str | None = None
    call: str | None = None
    key: str | None = None
    after: str | None = None
    error: bool = False
    seconds: float | None = None
    tokens: int | None = None
    time: float | None = None

    @property
    def mark(self) -> tuple[object, ...]:
        """By what it is known again where a file repeats it."""
        if self.call is not None and self.kind in ("tool_call", "tool_result"):
            return self.kind, self.call
        # Without an id, the same words are the same step; a hash keeps long texts out of memory.
        name = self.name if self.kind == "tool_call" else None
        return self.kind, name, hash((self.text or "").strip())


class Said(NamedTuple):
    """What a judge or a person said of the span or step with a key (None: of the run)."""

    by: str
    value: Any
    criterion: str = OVERALL
    person: bool = False
    key: str | None = None
    reason: str | None = None


@dataclass
class Script:
    """The steps of a run, as far as they are known."""

    run: str
    drafts: list[Draft] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    _told: Counter[tuple[object, ...]] = field(default_factory=Counter)
    _calls: dict[str, Draft] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)

    def add(self, draft: Draft) -> None:
        """Add a step at the end."""
        self.drafts.append(draft)
        self._told[draft.mark] += 1
        if draft.call is not None and draft.kind == "tool_call":
            self._calls.setdefault(draft.call, draft)
        if draft.call is not None and draft.kind == "tool_result":
            self._answered.add(draft.call)

    def say(self, drafts: Iterable[Draft]) -> None:
        """Add steps, each of which is new."""
        for draft in drafts:
            self.add(draft)

    def hear(self, drafts: Iterable[Draft]) -> None:
        """Add those of a history that were not told yet. A message that stands in it twice was said
        twice."""
        own = Counter[tuple[object, ...]]()
        for draft in drafts:
            own[draft.mark] += 1
            if own[draft.mark] > self._told[draft.mark]:
                self.add(draft)
            # A span of a tool may have kept no text, which the next model then hears.
            elif draft.text is not None and draft.call is not None:
                self._fill_in(draft)

    def _fill_in(self, draft: Draft) -> None:
        """Note the text of a use of a tool that was measured without it."""
        for known in self.drafts:
            if known.text is None and known.mark == draft.mark:
                known.text = draft.text

    def use(self, call: Draft, result: Draft) -> None:
        """Add the use of a tool that was measured by itself: the call, unless a model was heard
        asking for it, and what came of it."""
        # The model's own call comes first in the file, and is the step; the tool's span only
        # measures it.
        asked = self._asked(call)
        if asked is None:
            self.add(call)
        else:
            asked.text = call.text if asked.text is None else asked.text
            asked.time = call.time if asked.time is None else asked.time
            result.call = asked.call
            if asked.call is None:
                # A history that knows no ids says the result again.
                self._told[result.mark] += 1
                asked.call = result.call = f"place {len(self.drafts)}"
        same = self._told[result.mark] and result.call is not None
        known = next(
            (d for d in reversed(self.drafts) if same and d.mark == result.mark), None
        )
        if known is None:
            self.add(result)
        else:
            known.seconds, known.error = result.seconds, known.error or result.error

    def _asked(self, call: Draft) -> Draft | None:
        """The call for which a model asked and of which nothing came yet: by its id, else the first
        of its name."""
        if call.call is not None:
            return self._calls.get(call.call)
        for draft in self.drafts:
            is_open = draft.call is None or draft.call not in self._answered
            same = (
                draft.kind == "tool_call"
                and draft.name == call.name
                and draft.key is None
            )
            if same and is_open:
                return draft
        return None

    def trace(
        self,
        faults: Faults,
        place: str,
        task: str | None = None,
        success: Any = None,
        metadata: Mapping[str, Any] = {},
    ) -> Trace | None:
        """The run; None where it cannot be one, which is counted."""
        steps, at, calls, silent = list[Step](), dict[str, int](), dict[str, int](), 0
        for number, draft in enumerate(self.drafts):
            parent = None if draft.after is None else at.get(draft.after)
            # The id that both share is surer than what the file says of the order.
            if draft.kind == "tool_result" and draft.call is not None:
                parent = calls.get(draft.call, parent)
            silent += draft.text is None
            steps.append(
                Step(
                    run=self.run,
                    place=number,
                    kind=draft.kind,
                    text=draft.text,
                    name=draft.name or None,
                    parent=parent,
                    error=draft.error,
                    seconds=None
                    if draft.seconds is None
                    else round(max(0.0, draft.seconds), 6),
                    tokens=draft.tokens,
                    time=draft.time,
                )
            )
            if draft.key is not None:
                at[draft.key] = number
            if draft.kind == "tool_call" and draft.call is not None:
                calls[draft.call] = number
        if silent:
            faults.add("no_text", place, silent)
        if not steps and not self.said:
            faults.add("no_steps", place)
            return None
        asked = next((s.text for s in steps if s.kind == "user" and s.text), None)
        try:
            return Trace(
                run=self.run,
                task=asked if task is None else task,
                steps=tuple(steps),
                success=success,
                assessments=tuple(_assessments(self.said, at)),
                metadata=dict(metadata),
            )
        # One run that cannot be does not keep the others of the file from being read.
        except ValidationError:
            faults.add("unfit", place, loses=True)
            return None


def made(
    make: Callable[[], Trace | None], faults: Faults, place: str
) -> Iterator[Trace]:
    """The run that `make` makes; where it is built otherwise than its tool builds it, that is
    counted."""
    try:
        trace = make()
    except SHAPE:
        faults.add("unfit", place, loses=True)
        return
    if trace is not None:
        yield trace


Records = list[dict[str, Any]]
"""What a file has of one run."""


def in_runs(
    records: Callable[[Path, Faults], Iterator[tuple[str, dict[str, Any]]]],
    make: Callable[[str, Records, Faults, str], Trace | None],
) -> Callable[[Path, Faults], Iterator[Trace]]:
    """Reads a file that mixes its runs.

    Args:
        records: Each record of the file, with the run that it is of.
        make: Makes a run of its name, its records, and where it stands.
    """

    def traces(path: Path, faults: Faults) -> Iterator[Trace]:
        for run, own in by_run(records(path, faults)):
            place = f"{path}#{run}"
            yield from made(partial(make, run, own, faults, place), faults, place)

    return traces


def _assessments(said: Iterable[Said], at: Mapping[str, int]) -> Iterator[Assessment]:
    for one in said:
        value = one.value
        if isinstance(value, str):
            value = name_of(value) or None
        # NaN and infinity are no verdicts; the item counts as one that the judge did not answer.
        elif not isinstance(value, bool | int | float) or not isfinite(value):
            value = None
        yield Assessment(
            by=name_of(one.by) or "judge",
            value=value,
            person=one.person,
            criterion=name_of(one.criterion) or OVERALL,
            step=None if one.key is None else at.get(one.key),
            reason=text_or_none(one.reason),
        )


def spoken(name: str, judge: str) -> tuple[str, bool, str]:
    """Who says what a score of this name says, whether that is a person, and on which criterion:
    a name such as `human_correctness` says that a person did."""
    if not is_person(name):
        return judge, False, name
    criterion = re.sub(
        r"^(human|expert|annotator)[ _.-]*", "", name, flags=re.IGNORECASE
    )
    return name, True, criterion or OVERALL


def clean(text: str) -> str:
    """The text as every file can hold it."""
    return without_halves(text.replace("\0", ""))


def text_or_none(value: Any) -> str | None:
    """A value as a text: itself, or as JSON; None for nothing."""
    if value is None:
        return None
    return clean(value if isinstance(value, str) else as_text(value))


def name_of(value: Any) -> str:
    """A value as a name: one line, not endless; "" for nothing."""
    text = "" if value is None else value if isinstance(value, str) else as_text(value)
    return _CONTROL.sub(" ", clean(text)).strip()[:LONGEST_NAME]


def count_of(value: Any) -> int | None:
    """A number of tokens; None for what is none."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number >= 0 else None


def time_of(value: Any) -> float | None:
    """A moment in Unix seconds, of ISO text, or of a number in seconds, milliseconds, micro- or
    nanoseconds, told apart by its size."""
    if isinstance(value, bool) or value in (None, "", 0, "0"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        try:
            moment = datetime.fromisoformat(
                str(value).strip().replace(" UTC", "+00:00")
            )
        except ValueError:
            return None
        # Servers write times without a zone in UTC; the zone of this machine would move them.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    # 1e11 seconds are the year 5138, and 1e11 milliseconds 1973: no log lies between.
    for least, factor in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
        if number > least:
            return number / factor
    return number if isfinite(number) and number > 0 else None


def pieces(path: Path, faults: Faults, inside: tuple[str, ...] = ()) -> Iterator[Piece]:
    """The pieces of a JSON file; what cannot be read is counted."""
    told: list[str] = []
    yield from json_pieces(path, inside, told)
    for fault in told:
        # What breaks off was still being written, or the disk was full; its beginning is whole.
        faults.add("cut" if "breaks off" in fault else "unreadable", fault, loses=True)


def objects(
    path: Path, faults: Faults, inside: tuple[str, ...] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON file, each with where it stands. What is around them is passed over;
    what is no object is counted."""
    for piece in pieces(path, faults, inside):
        place = f"{path}, byte {piece.place:,}"
        if piece.about:
            continue
        if isinstance(piece.value, dict):
            yield place, piece.value
        else:
            faults.add("no_object", place, loses=True)


def _cleaned(value: Any) -> Any:
    """A value of JSON whose texts every file can hold."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {clean(str(key)): _cleaned(each) for key, each in value.items()}
    return value


def by_run(
    records: Iterable[tuple[str, dict[str, Any]]],
) -> Iterator[tuple[str, Records]]:
    """The records of each run together, though the file mixes them. They lie in a file without a
    name meanwhile, and no more than one run is held."""
    spool = Spool[dict[str, Any]](lambda record: record, lambda record: record)
    places: dict[str, list[int]] = {}
    for run, record in records:
        places.setdefault(run, []).append(len(spool))
        try:
            spool.append(record)
        except ValueError:  # it holds half of a character, which no file can
            spool.append(_cleaned(record))
    for run, own in places.items():
        yield run, list(spool.at(own))
