"""What a run has spent, line by line as it is spent, so that a killed run goes on with what it had left.

The journal knows what judged items took. The ledger also knows the calls of items that were under way: a call is
noted before it is sent, a price as soon as it is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from undogmatic.errors import DataError
from undogmatic.records.records import Cost
from undogmatic.safety import files
from undogmatic.safety.files import Log
from undogmatic.safety.outside import Unreadable, json_value, read_lines

LEDGER = "spent.jsonl"
ONE_CALL = '{"calls": 1}'


class Ledger:
    """The sums so far, and the file that they are read from and added to.

    Args:
        path: The file; created, or continued if it exists. None keeps the sums in memory only.
        costs: What the run's journals say, for a run that has no ledger yet.
    """

    def __init__(self, path: Path | None, costs: Iterable[Cost]) -> None:
        self.path = path
        self._log: Log | None = None
        self._first: str | None = None
        if path is not None and path.exists():
            cut_torn_line(path)
            self.calls, self.usd = _sums(path)
            return
        known = list(costs)
        self.calls, self.usd = sum(cost.calls for cost in known), math.fsum(cost.usd or 0.0 for cost in known)
        if self.calls or self.usd:
            self._first = f'{{"calls": {self.calls}, "usd": {self.usd!r}}}'

    def note(self, calls: int, usd: float) -> None:
        """Add to the sums. Raises StorageError."""
        self.calls += calls
        self.usd += usd
        if self._log is not None:
            self._log.append(ONE_CALL if calls == 1 and not usd else f'{{"calls": {calls}, "usd": {usd!r}}}')

    def __enter__(self) -> Ledger:
        if self.path is not None:
            self._log = Log(self.path, files.ALL).__enter__()
            if self._first is not None:
                self._log.append(self._first)
                self._first = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.__exit__(kind, error, trace)


def _sums(path: Path) -> tuple[int, float]:
    """Calls and USD. Raises DataError with file and line."""
    calls, usd = 0, 0.0
    for number, line in read_lines(path):
        if line == ONE_CALL.encode():
            calls += 1
            continue
        try:
            found = json_value(line)
            made, price = found.get("calls", 0), found.get("usd", 0.0)
            if not isinstance(made, int) or not isinstance(price, int | float) or made < 0 or not 0 <= price < math.inf:
                raise Unreadable("it holds no calls and no price")
        except (AttributeError, Unreadable) as error:
            raise DataError(
                f"{path}:{number}: not what a run has spent ({error}). Delete the line, or the file to count by the "
                "journal."
            ) from None
        calls, usd = calls + made, usd + price
    return calls, usd


def cut_torn_line(path: Path) -> None:
    """Take back what a kill or a power cut left of an unfinished last line; a whole one gets its end.

    Only what begins as our lines do is taken back: another program's file is left to be complained of.
    """
    step = 1 << 16
    try:
        with path.open("r+b") as file:
            end = file.seek(0, 2)
            tail = b""
            while len(tail) < end and b"\n" not in tail:
                start = max(0, end - len(tail) - step)
                file.seek(start)
                tail = file.read(end - len(tail) - start) + tail
            line = tail[tail.rfind(b"\n") + 1 :]
            if not line.startswith(b"{"):
                return
            try:
                json_value(line)
            except Unreadable:
                file.truncate(end - len(line))
            else:
                file.seek(0, 2)
                file.write(b"\n")
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from None
