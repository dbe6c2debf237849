"""The journals: records are appended as they come, so that a killed run loses nothing that was paid for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic_core import PydanticSerializationError

from undogmatic.engine.ledger import LEDGER, Ledger, cut_torn_line
from undogmatic.engine.redaction import redact_judgment
from undogmatic.records.records import OVERALL, RETRIED_ON_RESUME, Cost, Failure, Item, Judgment, Key, Made
from undogmatic.runs.claim import held
from undogmatic.runs.folder import JOURNAL, read_records
from undogmatic.safety.files import Log
from undogmatic.safety.outside import LINE_BYTES, without_halves

if TYPE_CHECKING:
    from undogmatic.engine.judging import JudgeStep
    from undogmatic.engine.step import Processes, Step

R = TypeVar("R", Judgment, Made)
LONGEST_LINE = LINE_BYTES // 4
"""Characters; each is four bytes at most."""
LONGEST_HELD = 200_000
"""Characters of a line whose exchange stays in memory as well; parsed, a long one takes nine times its length."""


class Journal(Generic[R]):
    """One JSON line per record, in the order in which they were made.

    A line is handed to the operating system as soon as it is written, so that killing the process loses at most the
    line being written; a torn last line is cut off when the journal is opened again.

    Args:
        path: The file; created, or continued if it exists. None keeps the records in memory only.
        record: What its lines are.
    """

    def __init__(self, path: Path | None, record: type[R]) -> None:
        self.path = path
        self.done: dict[Key, R] = {}
        if path is not None and path.exists():
            cut_torn_line(path)
            self.done = {each.key: each for each in read_records(path, record)}
            if path.stat().st_size > LONGEST_HELD * len(self.done) // 4:  # else few lines can be long
                self.done = {key: _held(each, len(each.model_dump_json())) for key, each in self.done.items()}
        self._log: Log | None = None

    def settled(self, step: Processes, item_id: str, repeat: int = 0) -> list[R] | None:
        """A step's records to keep for this item, one per criterion, or None if there is one that is still to be made
        (or failed for want of a server)."""
        found = [self.done.get((item_id, step.name, criterion, repeat)) for criterion in step.criteria]
        kept = [record for record in found if record is not None and not unanswered(record)]
        return kept if len(kept) == len(found) else None

    def append(self, record: R) -> R:
        """Write one record; a later one of the same item, step, criterion and repeat replaces an earlier when read.

        Returns:
            The record as it was written: one that cannot be written as it is becomes a Failure that says why.
        Raises:
            StorageError: The disk takes no more.
        """
        record, line = written(record)
        if self.path is not None:
            assert self._log is not None, "append is for use inside `with journal`"
            self._log.append(line)
            record = _held(record, len(line))
        self.done[record.key] = record
        return record

    def __enter__(self) -> Journal[R]:
        if self.path is not None:
            self._log = Log(self.path).__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.__exit__(kind, error, trace)


class Journals:
    """The journals of a run: judgments.jsonl of its judges, and steps/<name>.jsonl of every step that makes items;
    and spent.jsonl, its ledger.

    Args:
        folder: Of the run; None keeps all in memory only.
        steps: The steps that make items, in their order.
        redact: Whether judgments are kept without judged texts and what models said of them.
    """

    def __init__(self, folder: Path | None, steps: Sequence[Step] = (), redact: bool = False) -> None:
        self.folder, self.redact = folder, redact
        self.judgments = Journal(folder / JOURNAL if folder is not None else None, Judgment)
        self.steps = tuple(steps)
        self.made = {
            step.name: Journal(folder / "steps" / f"{step.name}.jsonl" if folder is not None else None, Made)
            for step in steps
        }
        self.ledger = Ledger(folder / LEDGER if folder is not None else None, self.costs())

    def append(self, record: Judgment | Made) -> Judgment | Made:
        """Write a record to the journal that it belongs to; what was written (see `Journal.append`)."""
        if isinstance(record, Judgment):
            return self.judgments.append(redact_judgment(record) if self.redact else record)
        return self.made[record.step].append(record)

    def answered(self) -> set[str]:
        """Names of the models that have answered by now: what goes wrong with one of them hardly lies in its config."""
        journals: list[Journal[Any]] = [self.judgments, *self.made.values()]
        kept = (record for journal in journals for record in journal.done.values() if not unanswered(record))
        return {call.model for record in kept for call in record.calls}

    def costs(self, judgments: Sequence[Judgment] | None = None) -> list[Cost]:
        """What these judgments took (all in the journal, if none are given), and all that steps made."""
        made = [record.cost for journal in self.made.values() for record in journal.done.values()]
        return [j.cost for j in (self.judgments.done.values() if judgments is None else judgments)] + made

    def judged(self, item: Item) -> Iterator[tuple[Item, Failure | None]]:
        """What the judges get of an item: what the steps made of it, in order. An item at which a step has failed, or
        has not yet been, stands for itself, with the failure if there was one."""
        yield from self._after(item, 0)

    def _after(self, item: Item, stage: int) -> Iterator[tuple[Item, Failure | None]]:
        if stage == len(self.steps):
            yield item, None
            return
        step = self.steps[stage]
        record = self.made[step.name].done.get((item.id, step.name, OVERALL, 0))
        if record is None:
            yield item, None
        elif isinstance(record.outcome, Failure):
            yield item, record.outcome
        else:
            for made in record.outcome.items:
                yield from self._after(made, stage + 1)

    def results(
        self, items: Sequence[Item], judges: Sequence[JudgeStep], repeats: int
    ) -> tuple[list[Item], list[Judgment]]:
        """All items that were to be judged, and the judgments of them that there are, in the order of the items,
        repeat by repeat."""
        reached = [pair for item in items for pair in self.judged(item)]
        found: list[Judgment] = []
        for repeat in range(repeats):
            for item, failure in reached:
                for judge in judges:
                    if failure is not None:
                        found += judge.unmade(item, failure, repeat)
                        continue
                    keys = ((item.id, judge.name, criterion, repeat) for criterion in judge.criteria)
                    found += [self.judgments.done[key] for key in keys if key in self.judgments.done]
        return [item for item, _ in reached], found

    def __enter__(self) -> Journals:
        with contextlib.ExitStack() as opened:
            if self.folder is not None:
                opened.enter_context(held(self.folder))
            opened.enter_context(self.judgments)
            for journal in self.made.values():
                opened.enter_context(journal)
            opened.enter_context(self.ledger)
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()


def unanswered(record: Judgment | Made) -> bool:
    """Whether it failed for want of a server, and is to be asked for again."""
    outcome = record.outcome
    return isinstance(outcome, Failure) and outcome.reason in RETRIED_ON_RESUME


def written(record: R) -> tuple[R, str]:
    """The record that can be written and read back, and its line.

    An exchange that would make the line too long is left out of it; a record with something in it that no file takes
    becomes a Failure.
    """
    try:
        line = record.model_dump_json()
        if len(line) > LONGEST_LINE:
            record = _without_exchange(record, "left out, because it is too long for a journal")
            line = record.model_dump_json()
        if len(line) <= LONGEST_LINE:
            return record, line
        why = f"its record has {len(line):,} characters"
    except (PydanticSerializationError, RecursionError, ValueError) as error:
        why = f"its record cannot be written ({without_halves(str(error))[:200]})"
    failed = Failure(reason="fault", message=why)
    record = record.model_copy(update={"outcome": failed, "calls": ()})
    return record, record.model_dump_json()


def _held(record: R, length: int) -> R:
    """The record as it stays in memory: without an exchange that is long, which the journal has."""
    if length <= LONGEST_HELD:
        return record
    return _without_exchange(record, "left out, because it is long; the journal has it")


def _without_exchange(record: R, why: str) -> R:
    calls = tuple(call.model_copy(update={"request": {}, "reply": why}) for call in record.calls)
    return record.model_copy(update={"calls": calls})
