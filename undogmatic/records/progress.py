"""Shows how far a run is: a bar while judging, then what is being done; plain lines where there is
no terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.records.records import Failure, Judgment, Made
from undogmatic.records.wordings import FALLBACK, REPORT_TEXTS, read

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

# seconds after which what is being done is shown: what takes less is not mentioned
SOON = 1.0
# seconds between plain lines at least, and how many there are of a run at most
LINE_EVERY = 10.0
LINES = 10
KNOWN = 5  # judgments, and seconds, after which the time left is told

TEXTS = Path(__file__).with_name("progress.texts.yaml")

_steps: list[str | Callable[[], str]] = []  # what is being done, the innermost last
# in which it is said, the last counts; no context variable, for threads say it too
_languages = [FALLBACK]


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Say everything in this language, that of the report."""
    _languages.append(language)
    try:
        yield
    finally:
        _languages.pop()


def in_words(key: str, **values: Any) -> str:
    """A wording of `progress.texts.yaml` in the language that is spoken; numbers with a fraction
    bear its mark."""
    mark = read(REPORT_TEXTS / f"{_languages[-1]}.yaml")["common"]["decimal_mark"]
    shown = {
        k: f"{v:.1f}".replace(".", mark) if isinstance(v, float) else v
        for k, v in values.items()
    }
    text: str = read(TEXTS)[_languages[-1]]["progress"][key]
    return text.format(**shown)


@contextmanager
def doing(what: str | Callable[[], str], soon: bool = False) -> Iterator[None]:
    """Say on stderr what is being done for as long as it lasts, so that what is quickly done is not
    mentioned.

    On a terminal there is one live line from SOON on, which is erased at the end. Elsewhere, as in
    a log, there is a line after LINE_EVERY seconds and after each doubling; if `soon`, as where a
    whole command would be silent, also one after SOON. Nothing is printed to stdout, and whoever
    prints there does so after the block.

    Of steps within steps the innermost is shown. `what` is for the user, e.g.
    "analysis=calibration", in English (other languages are in `progress.texts.yaml`); a function
    where it says how far it has come."""
    _steps.append(
        read(TEXTS)[_languages[-1]]["doing"].get(what, what)
        if isinstance(what, str)
        else what
    )
    try:
        with _shown(soon) if len(_steps) == 1 else nullcontext():
            yield
    finally:
        _steps.pop()


@contextmanager
def _shown(soon: bool) -> Iterator[None]:
    """A thread shows the innermost step, because what is waited for computes."""
    began, over = time.perf_counter(), threading.Event()

    def innermost() -> str:
        step = _steps[-1]
        return step if isinstance(step, str) else step()

    def show_live() -> None:
        if over.wait(SOON):
            return
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
        )
        console = Console(stderr=True)
        # What is printed to stdout goes there, which may be a file.
        with Bar(
            *columns,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            task = live.add_task(innermost(), total=None)
            while not over.wait(0.2):
                live.update(task, description=innermost())

    def show_lines() -> None:
        # Seldom enough for a log: what takes an hour is mentioned nine times.
        pauses = (LINE_EVERY * 2**n for n in count())
        for pause in chain([SOON] if soon else [], pauses):
            if over.wait(pause):
                return
            told = f"  {innermost()}: {time.perf_counter() - began:.0f} s\n"
            # one write, so that nothing else is written between the line and its end
            print(told, end="", file=sys.stderr, flush=True)

    watching = threading.Thread(
        target=show_live if sys.stderr.isatty() else show_lines, daemon=True
    )
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


class Progress:
    """Context manager; call `step` with every judgment of the run. `seconds` is the time inside,
    `total` the judgments that it shall have (None where steps decide of how many items), `kept`
    those that an earlier attempt left in the journal, `done` those made now."""

    def __init__(self, name: str, total: int | None, parts: Any, kept: int = 0) -> None:
        self.name, self.total, self.kept = name, total, kept
        names = ", ".join(judge.name for judge in parts.judges)
        who = names
        if parts.asks and (parts.uses_own or parts.prompted):
            model = parts.model.name
            who = (
                model
                if len(parts.judges) == 1
                else in_words("of_model", judges=names, model=model)
            )
            who = in_words("readout", who=who, readout=parts.readout_name)
            who = (
                in_words("prompt", who=who, prompt=parts.prompt.id)
                if parts.prompted
                else who
            )
        key = (
            f"begins{'_steps' if parts.steps else ''}{'_again' if kept else ''}"
            if parts.asks
            else "begins_elsewhere"
        )
        steps = ", ".join(step.name for step in parts.steps)
        self.about = in_words(
            key, name=name, total=total, who=who, steps=steps, kept=kept
        )
        self.done = self.failed = self.answered_by_cache = 0
        self.seconds = 0.0
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        self._clock = self._line = time.perf_counter()
        # when the first judgment was there, for which the model may have been loaded
        self._first = self._clock
        self._due = 0  # judgments before the next line
        print(self.about, file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(
                in_words("judging"), total=self.total, completed=self.kept, note=""
            )
        return self

    @property
    def reached(self) -> str:
        """How far it came, in words."""
        key = "reached_open" if self.total is None else "reached"
        return in_words(key, done=self.kept + self.done, total=self.total)

    def step(self, record: Judgment | Made) -> None:
        """One more record is in its journal; judgments are counted."""
        if not isinstance(record, Judgment):
            return
        self.done += 1
        self.failed += isinstance(record.outcome, Failure)
        self.answered_by_cache += record.cost.calls == 0 and record.cost.cached > 0
        now = time.perf_counter()
        self._first = now if self.done == 1 else self._first
        if self._bar is not None:
            self._bar.update(self._task, advance=1, note=self._note(now))
        elif now - self._line > LINE_EVERY and self.done >= self._due:
            self._line = now
            self._due = (
                2 * self.done
                if self.total is None
                else self.done + -(-(self.total - self.kept) // LINES)
            )
            told = ", ".join(filter(None, (self.reached, self._note(now))))
            print(f"  {told}", file=sys.stderr, flush=True)

    def _note(self, now: float) -> str:
        """How fast it goes, how long the rest takes at that rate, and how much failed. No rate in
        the first second: until then the time is that in which the model was loaded, or workers were
        started."""
        parts = []
        if now - self._first > 1:
            rate = (self.done - 1) / (now - self._first)
            parts.append(
                in_words("rate", rate=rate)
                if rate >= 1
                else in_words("each", seconds=1 / rate)
            )
            if (
                self.total is not None
                and self.done >= KNOWN
                and now - self._clock >= KNOWN
            ):
                left = round(max(0, self.total - self.kept - self.done) / rate)
                long = in_words(
                    "left_long", minutes=left // 60, seconds=f"{left % 60:02}"
                )
                parts.append(long if left >= 60 else in_words("left", seconds=left))
        return ", ".join(
            [*parts, *([in_words("failed", failed=self.failed)] if self.failed else [])]
        )

    def __exit__(self, *raised: object) -> None:
        self.seconds = time.perf_counter() - self._clock
        if self._bar is not None:
            self._bar.stop()
        said = [
            in_words("judged", judged=self.done - self.failed, seconds=self.seconds)
        ]
        said += (
            [in_words("cached", cached=self.answered_by_cache)]
            if self.answered_by_cache
            else []
        )
        said += [in_words("failed", failed=self.failed)] if self.failed else []
        print(f"  {', '.join(said)}", file=sys.stderr, flush=True)
