"""The journals: records are appended as they come, so that a killed run loses nothing that was paid for."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Generic, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from undogmatic.errors import ConfigError, DataError
from undogmatic.records import OVERALL, RETRIED_ON_RESUME, Cost, Failure, Item, Judgment, Made

if TYPE_CHECKING:
    from undogmatic.engine.judging import JudgeStep
    from undogmatic.steps.base import Processes, Step

R = TypeVar("R", Judgment, Made)
Key = tuple[str, str, str, int]
JUDGMENTS = "judgments.jsonl"


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
            _cut_torn_line(path)
            self.done = {_key(each): each for each in _read(path, record)}
        self._file: IO[str] | None = None

    def settled(self, step: Processes, item_id: str, repeat: int = 0) -> list[R] | None:
        """A step's records to keep for this item, one per criterion, or None if there is one that is still to be made
        (or failed for want of a server)."""
        found = [self.done.get((item_id, step.name, criterion, repeat)) for criterion in step.criteria]
        kept = [record for record in found if record is not None and not unanswered(record)]
        return kept if len(kept) == len(found) else None

    def append(self, record: R) -> None:
        """Write one record; a later one of the same item, step, criterion and repeat replaces an earlier when read."""
        if self.path is not None:
            assert self._file is not None, "append is for use inside `with journal`"
            self._file.write(record.model_dump_json() + "\n")
            self._file.flush()
        self.done[_key(record)] = record

    def __enter__(self) -> Journal[R]:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise ConfigError(
                    f"another process is writing {self.path}; wait for it, or leave run.resume out to start anew."
                ) from None
            self._file = self.path.open("a", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._file = None
        self._lock.release()


class Journals:
    """The journals of a run: judgments.jsonl of its judges, and steps/<name>.jsonl of every step that makes items.

    Args:
        folder: Of the run; None keeps all in memory only.
        steps: The steps that make items, in their order.
    """

    def __init__(self, folder: Path | None, steps: Sequence[Step] = ()) -> None:
        self.judgments = Journal(folder / JUDGMENTS if folder is not None else None, Judgment)
        self.steps = tuple(steps)
        self.made = {
            step.name: Journal(folder / "steps" / f"{step.name}.jsonl" if folder is not None else None, Made)
            for step in steps
        }

    def append(self, record: Judgment | Made) -> None:
        """Write a record to the journal that it belongs to."""
        if isinstance(record, Judgment):
            self.judgments.append(record)
        else:
            self.made[record.step].append(record)

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
            opened.enter_context(self.judgments)
            for journal in self.made.values():
                opened.enter_context(journal)
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


def read_journal(path: Path) -> Iterator[Judgment]:
    """The judgments of a journal, in file order. Raises DataError naming file and line."""
    return _read(path, Judgment)


def read_made(path: Path) -> Iterator[Made]:
    """What a step made, in file order. Raises DataError naming file and line."""
    return _read(path, Made)


def last_judgments(path: Path) -> dict[Key, Judgment]:
    """The judgment that counts per item, judge, criterion and repeat: the last one, since a resumed run asks again what
    got no answer."""
    return {_key(judgment): judgment for judgment in read_journal(path)}


def _key(record: Judgment | Made) -> Key:
    if isinstance(record, Judgment):
        return record.item_id, record.judge, record.criterion, record.repeat
    return record.item_id, record.step, OVERALL, record.repeat


def _read(path: Path, record: type[R]) -> Iterator[R]:
    what = "a judgment" if record is Judgment else "what a step made"
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                yield record.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"]))
                raise DataError(
                    f"{path}:{number}: not {what} ({place + ': ' if place else ''}{first['msg']}). "
                    "Delete the line to have its item judged again."
                ) from None


def _cut_torn_line(path: Path) -> None:
    """Remove an incomplete last line, left by a kill in the middle of a write."""
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        end = data.rfind(b"\n") + 1
        try:
            json.loads(data[end:])
        except ValueError:
            with path.open("r+b") as file:
                file.truncate(end)
        else:
            with path.open("ab") as file:
                file.write(b"\n")
