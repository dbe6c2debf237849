"""Holds what one command shares between its modules and processes: the exit status, how it ends,
how a sweep speaks to its jobs, and the streams and logs, which show no secret and may be cut off.

It lives apart from `run.py`, because `python -m undogmatic.run` is the module `__main__`: whoever
imports `undogmatic.run` from elsewhere, such as Hydra's callbacks, meets a second copy of it.
"""

import atexit
import contextlib
import errno
import gc
import io
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from undogmatic.errors import ConfigError, StorageError, UndogmaticError
from undogmatic.safety.extras import lacking
from undogmatic.safety.outside import visible
from undogmatic.safety.secrets import know_environment, scrub

SWEEP_FOLDER = (  # environment variable: set while a sweep runs, in its workers too
    "UNDOGMATIC_SWEEP_FOLDER"
)
SWEEP_RUN = (  # environment variable: the MLflow run that the jobs' runs belong to
    "UNDOGMATIC_SWEEP_RUN"
)
# environment variable: how many jobs of the sweep run at once on this machine
WORKERS = "UNDOGMATIC_WORKERS"
IN_FULL = (  # environment variable: set where the user has set HYDRA_FULL_ERROR=1
    "UNDOGMATIC_FULL_ERROR"
)
ERROR_FILE = "error.txt"  # in a run's folder: why it has no result

FAULT = 70
YOUNG = 10_000
"""How many new objects Python lets a command make before it looks for garbage among them. By its
own count, 700, a tenth of the seconds of a start go into looking through modules that are being
loaded and hold no garbage."""

GIVEN: dict[str, str] = {}
"""Files that are options of the config in this process alone (`config.groups.given_file`), by the
override that chooses each."""

_noted: list[int] = []
_signals: list[int] = []


def note_status(status: int) -> None:
    """The command shall end with at least this exit status."""
    _noted.append(status)


def exit_status() -> int:
    """The highest status noted in this process, 0 if none was."""
    return max(_noted, default=0)


def as_typed(path: Path) -> Path:
    """The path as one would type it here: relative to the working directory if it lies below, else
    absolute."""
    whole = path.absolute()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole


def tell(
    error: BaseException, door: str = "undogmatic run", extra: str | None = None
) -> tuple[str, int]:
    """What to say of an error, and the exit status: of ours, of the system, of an extra that the
    command `door` needs (`extra`, if it names one) and that is not installed, or of a fault of the
    program itself."""
    if isinstance(error, UndogmaticError):
        return str(error), error.exit_status
    if (sentence := lacking(error, door, extra)) is not None:
        return sentence, ConfigError.exit_status
    # which a library has reworded
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(cause, OSError):
        message = (f"{cause.filename}: " if cause.filename else "") + (
            cause.strerror or str(cause)
        )
        of_the_disk = cause.errno in (
            errno.ENOSPC,
            errno.EDQUOT,
            errno.EROFS,
            errno.EIO,
            errno.EFBIG,
        )
        return message, StorageError.exit_status if of_the_disk else 2
    kind_and_text = ": ".join(
        filter(None, (type(error).__name__, str(error).partition("\n")[0]))
    )
    # The last line on the way to it that is ours or an extension's, no library's.
    frames = traceback.extract_tb(error.__traceback__)
    libraries = (os.path.dirname(os.__file__), "site-packages", "<frozen")
    code = [
        frame
        for frame in frames
        if not any(each in frame.filename for each in libraries)
    ] or frames
    place = (
        f"{as_typed(Path(code[-1].filename))}:{code[-1].lineno}"
        if code
        else "no place known"
    )
    return (
        f"a fault in the code, not in what it was given: {kind_and_text} ({place}).",
        FAULT,
    )


def in_full(error: BaseException) -> None:
    """Print the traceback, if HYDRA_FULL_ERROR=1 asks for it."""
    if IN_FULL in os.environ:
        say("".join(traceback.format_exception(error)).rstrip())


def say(message: str) -> None:
    """Print a message to stderr, without secrets and without what a terminal would obey."""
    print(visible(scrub(message)), file=sys.stderr, flush=True)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Around a whole command: what is printed may be cut off, SIGTERM ends it as Ctrl-C does, with
    status 143, and garbage is looked for less often, at the end of the process no more."""
    if os.environ.get("HYDRA_FULL_ERROR") == "1":
        os.environ[IN_FULL] = "1"
    patient_streams()
    handled = []
    with contextlib.suppress(ValueError):  # not in the main thread
        for sent in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if signal.getsignal(sent) is signal.SIG_DFL:
                signal.signal(sent, _interrupt)
                handled.append(sent)
    # The memory of a process that ends is given back anyway; to look for garbage in all modules
    # once more takes up to a second.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    counts = gc.get_threshold()
    # 0: somebody has switched it off
    gc.set_threshold(max(YOUNG, counts[0]) if counts[0] else 0, *counts[1:])
    try:
        with guarded():
            yield
    finally:
        gc.set_threshold(*counts)
        for sent in handled:
            signal.signal(sent, signal.SIG_DFL)
        lost = []
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except OSError:  # `> file` on a full disk: it takes anything from now on
                _deafen(getattr(sys, name).fileno())
                lost.append(name)
        if lost:
            with contextlib.suppress(OSError):
                say(
                    f"error: {' and '.join(lost)} cannot be written, so not all that was said is"
                    " there."
                )
            raise SystemExit(StorageError.exit_status)


def patient_streams() -> None:
    """From now on stdout and stderr take what is printed though nobody reads it, in whichever
    characters."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started the command
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif stream is getattr(sys, f"__{name}__"):
            stream.flush()
            pipe = io.BufferedWriter(_Pipe(number, "wb", closefd=False))
            kept = {
                option: getattr(stream, option)
                for option in ("encoding", "line_buffering", "write_through")
            }
            setattr(
                sys, name, io.TextIOWrapper(pipe, errors="backslashreplace", **kept)
            )


def interrupted() -> int:
    """The exit status after a KeyboardInterrupt."""
    # CPython remembers an interrupt that fell into code made from text (a dataclass is), until
    # other such code runs. A `python -m` that ends meanwhile dies by SIGINT, whatever its status
    # (`unhandled_keyboard_interrupt` in Python/pythonrun.c).
    exec("")
    return 128 + _signals[0] if _signals else 130


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does: asyncio, which handles that one, then closes what is open."""
    _signals.append(number)
    handler: Any = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # ignored, as in the background of a script
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


class _Pipe(io.FileIO):
    """A file that takes what nobody reads any more (`| head`), because what was judged shall still
    be kept."""

    def write(self, content: Any) -> int:
        try:
            return super().write(content) or 0
        except BrokenPipeError:
            _deafen(self.fileno())
            return len(content)


def _deafen(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Nothing that is printed or logged inside holds a known secret; nor does the traceback that
    ends it."""
    know_environment()
    before = sys.stdout, sys.stderr, logging.getLogRecordFactory()
    guard_worker()
    try:
        yield
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before[:2]
        logging.setLogRecordFactory(before[2])


def guard_worker() -> None:
    """`guarded` for the rest of a process that a launcher started."""

    def clean_record(*arguments: Any, **more: Any) -> logging.LogRecord:
        """A record for the logs whose message and traceback hold no secret, whoever formats it."""
        record = logging.LogRecord(*arguments, **more)
        # a message that does not fit its arguments: logging says so itself
        with contextlib.suppress(Exception):
            record.msg, record.args = visible(scrub(record.getMessage())), None
        # Some libraries pass `exc_info=False`, which logging hands on as it is: then there is no
        # traceback to clean.
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = visible(
                scrub("".join(traceback.format_exception(*record.exc_info)).rstrip())
            )
        return record

    for name in ("stdout", "stderr"):
        if not isinstance(stream := getattr(sys, name), _Scrubbed | None):
            setattr(sys, name, _Scrubbed(stream))
    logging.setLogRecordFactory(clean_record)


class _Scrubbed:
    """A stream that writes its text without secrets and is the stream it stands for in all else."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(scrub(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
