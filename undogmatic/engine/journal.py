"""Keeps the journals of a run: records and costs are appended as they come, so that a kill loses
nothing paid for.

The ledger notes what was spent, line by line. The journal knows what judged items took; the ledger
also knows the calls of items that were under way: a call is noted before it is sent, a price as
soon as it is known.
"""

from __future__ import annotations

import contextlib
import math
import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from pydantic_core import PydanticSerializationError

from undogmatic.errors import DataError
from undogmatic.records.kept import gathered
from undogmatic.records.records import OVERALL, Cost, Failure, Item, Judgment, Key, Made
from undogmatic.records.redaction import redact_judgment
from undogmatic.runs.claim import held
from undogmatic.runs.folder import JOURNAL
from undogmatic.runs.index import Records, without_exchange
from undogmatic.safety import files
from undogmatic.safety.files import Log
from undogmatic.safety.outside import (
    LINE_BYTES,
    Unreadable,
    json_value,
    read_lines,
    without_halves,
)

if TYPE_CHECKING:
    from undogmatic.engine.step import JudgeStep, Processes, Step

R = TypeVar("R", Judgment, Made)
LEDGER = "spent.jsonl"
# Nearly every line of a ledger is this one, so that it is neither made nor read as JSON
# each time.
ONE_CALL = '{"calls": 1}'
LONGEST_LINE = LINE_BYTES // 4  # characters; each is four bytes at most


class Journal(Log, Generic[R]):
    """One JSON line per record, in the order in which they were made. The file is created, or
    continued if it exists; a torn last line, of a process that was killed, is cut off. Without a
    path the records are kept in memory only.
    """

    def __init__(self, path: Path | None, record: type[R]) -> None:
        super().__init__(path)
        if path is not None and path.exists():
            cut_torn_line(path)
        self.done: Records[R] = Records(path, record)

    def settled(self, step: Processes, item_id: str, repeat: int = 0) -> bool:
        """Whether a step's records of this item stay, one per criterion: none is still to be made,
        and none failed for want of a server."""
        return all(
            self.done.settled((item_id, step.name, criterion, repeat))
            for criterion in step.criteria
        )

    def append(self, record: R) -> R:
        """Write one record; a later one of the same item, step, criterion and repeat replaces an
        earlier when read. The record as it was written: see `written`. Raises StorageError."""
        record, line = written(record)
        place = self.add(line)
        record = record if self.path is None else without_exchange(record, len(line))
        # Noted after it was written: whoever finds it in `done` may count on its being
        # in the file.
        self.done.note(record, *place)
        return record

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        super().__exit__(kind, error, trace)
        self.done.keep()


class Journals:
    """The journals of a run: judgments.jsonl of its judges, and steps/<name>.jsonl of every step
    that makes items; and spent.jsonl, its ledger. Without a folder all is kept in memory only; with
    `redact` judgments are kept without judged texts and what models said of them."""

    def __init__(
        self, folder: Path | None, steps: Sequence[Step] = (), redact: bool = False
    ) -> None:
        self.folder, self.redact, self.steps = folder, redact, tuple(steps)
        self.judgments = Journal(folder and folder / JOURNAL, Judgment)
        self.made = {
            step.name: Journal(folder and folder / f"steps/{step.name}.jsonl", Made)
            for step in steps
        }
        self.ledger = Ledger(folder and folder / LEDGER, self.costs())

    @property
    def begun(self) -> bool:
        """Whether anything was made or judged already."""
        return bool(len(self.judgments.done)) or any(
            len(journal.done) for journal in self.made.values()
        )

    def append(self, record: Judgment | Made) -> Judgment | Made:
        """Write a record to the journal that it belongs to; what was written (see
        `Journal.append`)."""
        if isinstance(record, Judgment):
            return self.judgments.append(
                redact_judgment(record) if self.redact else record
            )
        return self.made[record.step].append(record)

    def answered(self) -> set[str]:
        """Names of the models that have answered by now: what goes wrong with one of them hardly
        lies in its config."""
        journals: list[Journal[Any]] = [self.judgments, *self.made.values()]
        return {name for journal in journals for name in journal.done.models}

    def served(self) -> dict[str, list[str]]:
        """What servers call the models that have answered, by the names that were asked for."""
        names: dict[str, set[str]] = {}
        journals: list[Journal[Any]] = [self.judgments, *self.made.values()]
        for journal in journals:
            for asked, named in journal.done.served.items():
                names.setdefault(asked, set()).update(named)
        return {asked: sorted(named) for asked, named in names.items()}

    def costs(self, judgments: Iterable[Judgment] | None = None) -> Iterator[Cost]:
        """What these judgments took (all in the journal, if none are given), and all that steps
        made."""
        yield from (
            j.cost
            for j in (self.judgments.done.values() if judgments is None else judgments)
        )
        yield from (
            record.cost
            for journal in self.made.values()
            for record in journal.done.values()
        )

    def judged(
        self, item: Item, stage: int = 0
    ) -> Iterator[tuple[Item, Failure | None]]:
        """What the judges get of an item: what the steps from this stage on made of it, in order.
        An item at which a step has failed, or has not yet been, stands for itself, with the failure
        if there was one.
        """
        step = self.steps[stage] if stage < len(self.steps) else None
        record = (
            None
            if step is None
            else self.made[step.name].done.get((item.id, step.name, OVERALL, 0))
        )
        # A step has not been there yet: the item stands in the results as missing, so
        # that no share is taken of the finished ones alone.
        if record is None:
            yield item, None
        elif isinstance(record.outcome, Failure):
            yield item, record.outcome
        else:
            for made in record.outcome.items:
                yield from self.judged(made, stage + 1)

    def results(
        self, items: Sequence[Item], judges: Sequence[JudgeStep], repeats: int
    ) -> tuple[Sequence[Item], Sequence[Judgment]]:
        """All items that were to be judged, and the judgments of them that there are, in the order
        of the items, repeat by repeat. Of many, both are read when they are asked for."""
        failures: dict[int, Failure] = {}

        def reached() -> Iterator[Item]:
            for place, (item, failure) in enumerate(
                pair for each in items for pair in self.judged(each)
            ):
                if failure is not None:
                    failures[place] = failure
                yield item

        made = gathered(reached() if self.steps else items)

        def wanted() -> Iterator[Key | Judgment]:
            for repeat, place in (
                (n, place) for n in range(repeats) for place in range(len(made))
            ):
                item, failure = made[place], failures.get(place)
                for judge in judges:
                    if failure is not None:
                        yield from judge.judgments(item, repeat, failure)
                    else:
                        yield from (
                            (item.id, judge.name, criterion, repeat)
                            for criterion in judge.criteria
                        )

        return made, self.judgments.done.of(wanted())

    def __enter__(self) -> Journals:
        with contextlib.ExitStack() as opened:
            if self.folder is not None:
                opened.enter_context(held(self.folder))
            logs: list[Log] = [self.judgments, *self.made.values(), self.ledger]
            for log in logs:
                opened.enter_context(log)
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._opened.close()


def written(record: R) -> tuple[R, str]:
    """The record that can be written and read back, and its line: an exchange that would make the
    line too long is left out, and a record with something in it that no file takes becomes a
    Failure."""
    try:
        line = record.model_dump_json()
        if len(line) > LONGEST_LINE:
            record = without_exchange(
                record, len(line), LONGEST_LINE, "it is too long for a journal"
            )
            line = record.model_dump_json()
        if len(line) <= LONGEST_LINE:
            return record, line
        why = f"its record has {len(line):,} characters"
    except (PydanticSerializationError, RecursionError, ValueError) as error:
        why = f"its record cannot be written ({without_halves(str(error))[:200]})"
    record = record.model_copy(
        update={"outcome": Failure(reason="fault", message=why), "calls": ()}
    )
    return record, record.model_dump_json()


class Ledger(Log):
    """The sums so far, and the file that they are read from and added to; `costs` are what the
    journals say, for a run that has no ledger yet. Raises DataError with file and line, where the
    file holds something else.
    """

    def __init__(self, path: Path | None, costs: Iterable[Cost]) -> None:
        super().__init__(path, files.ALL)
        self._first: str | None = None
        self.calls, self.usd = 0, 0.0
        # A run of before there were ledgers, or a new one.
        if path is None or not path.exists():
            self.calls, prices = 0, array("d")
            for cost in costs:
                self.calls += cost.calls
                prices.append(cost.usd or 0.0)
            self.usd = math.fsum(prices)
            self._first = (
                _spent(self.calls, self.usd) if self.calls or self.usd else None
            )
            return
        cut_torn_line(path)
        for number, line in read_lines(path):
            try:
                noted = json_value(line) if line != ONE_CALL.encode() else {"calls": 1}
                calls, usd = noted.get("calls", 0), noted.get("usd", 0.0)
                if (
                    not isinstance(calls, int)
                    or not isinstance(usd, int | float)
                    or min(calls, usd) < 0
                ):
                    raise Unreadable("it holds no calls and no price")
            except (AttributeError, Unreadable) as error:
                why = f"{path}:{number}: not what a run has spent ({error})"
                raise DataError(
                    f"{why}. Delete the line, or the file to count by the journal."
                ) from None
            self.calls, self.usd = self.calls + calls, self.usd + usd

    def note(self, calls: int, usd: float) -> None:
        """Add to the sums. Raises StorageError."""
        self.calls, self.usd = self.calls + calls, self.usd + usd
        if self._file is not None:
            self.add(ONE_CALL if calls == 1 and not usd else _spent(calls, usd))

    def __enter__(self) -> Self:
        super().__enter__()
        if self._first is not None:
            self.add(self._first)
            self._first = None
        return self


def _spent(calls: int, usd: float) -> str:
    return f'{{"calls": {calls}, "usd": {usd!r}}}'


def cut_torn_line(path: Path) -> None:
    """Take back what a kill or a power cut left of an unfinished last line; a whole one gets its
    end. Only what begins as our lines do is taken back: another program's file is left to be
    complained of."""
    try:
        with path.open("r+b") as file:
            if not (end := file.seek(0, 2)):
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                line = content[content.rfind(b"\n") + 1 :]
            # A file that is not ours is complained of where it is read, and is never
            # cut.
            if not line.startswith(b"{"):
                return
            try:
                json_value(line)
            except Unreadable:
                file.truncate(end - len(line))
            else:
                file.write(b"\n")
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error})."
        ) from None
