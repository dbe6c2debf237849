"""How far a run is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from undogmatic.records import Failure, Judgment

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_EVERY = 10.0  # seconds between plain lines


class Progress:
    """Context manager; call `step` with every judgment. `seconds` is the time inside.

    Args:
        name: Of the run.
        total: Judgments that it shall have.
        parts: What judges.
        kept: Judgments that an earlier attempt left in the journal; `done` counts those made now.
    """

    def __init__(self, name: str, total: int, parts: Any, kept: int = 0) -> None:
        self.name, self.total, self.kept = name, total, kept
        self.about = f"{parts.model.name}, readout {parts.provenance.readout}, prompt {parts.prompt.id}"
        self.done = self.failed = self.answered_by_cache = 0
        self.seconds = 0.0
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        self._clock = self._line = time.perf_counter()
        kept = f" ({self.kept} made before)" if self.kept else ""
        print(f"{self.name}: {self.total} judgments{kept} by {self.about}", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("judging", total=self.total, completed=self.kept, note="")
        return self

    def step(self, judgment: Judgment) -> None:
        """One more judgment is in the journal."""
        self.done += 1
        self.failed += isinstance(judgment.outcome, Failure)
        self.answered_by_cache += judgment.cost.calls == 0 and judgment.cost.cached > 0
        note = f"{self.failed} failed" if self.failed else ""
        now = time.perf_counter()
        if self._bar is not None:
            self._bar.update(self._task, advance=1, note=note)
        elif now - self._line > LINE_EVERY:
            self._line = now
            rate = self.done / (now - self._clock)
            print(f"  {self.done} judged, {rate:.1f}/s {note}".rstrip(), file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._clock
        if self._bar is not None:
            self._bar.stop()
        cached = f", {self.answered_by_cache} from the cache" if self.answered_by_cache else ""
        failed = f", {self.failed} failed" if self.failed else ""
        print(
            f"  {self.done - self.failed} judged in {self.seconds:.1f} s{cached}{failed}", file=sys.stderr, flush=True
        )
