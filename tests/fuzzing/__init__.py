"""Fuzzers: one module per door through which something from outside comes in.

A module of this folder is a door. It has

    strategy()    a hypothesis strategy of what may stand before the door;
    enter(case)   puts one case through it, and raises AssertionError where anything comes of it but a record, or one
                  UndogmaticError with its place and status 2 or 3; never more than 30 s or 200 MB for it (`watched`):
                  the examples are so long that what grows with the square of the length does not end in that time;
    EXAMPLES      the cases that went wrong once;
    COUNT         how many cases the tests try, 120 where it says nothing.

tests/test_fuzz.py tries each door for some seconds, `python -m benchmarks.fuzz DOOR --minutes 10` for as long as it is
told. What begins with an underscore is no door.
"""

import contextlib
import importlib
import pkgutil
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from undogmatic.errors import ModelError, UndogmaticError

DOORS = sorted(
    module.name
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
)
MOST_SECONDS, MOST_BYTES = 30.0, 200_000_000


def door(name: str) -> ModuleType:
    """The module of a door."""
    return importlib.import_module(f"{__name__}.{name}")


@contextlib.contextmanager
def watched(place: str | None = None) -> Iterator[None]:
    """What is done inside may end in an UndogmaticError with a message and status 2 or 3, and takes
    little.

    Time is this process's own, which others on the machine do not lengthen; memory is coarse: the
    rise of its peak.

    Args:
        place: What the message has to name, e.g. the file; None if that is looked at elsewhere.
    """
    peak, clock = _peak(), time.process_time()
    try:
        yield
    except UndogmaticError as error:
        assert error.exit_status in (2, 3) or isinstance(error, ModelError), (
            f"exit status {error.exit_status}"
        )
        assert str(error).strip(), f"{type(error).__name__} without a message"
        assert len(str(error)) < 20_000, f"a message of {len(str(error))} characters"
        assert place is None or place in str(error), (
            f"{place!r} is not named in: {error}"
        )
        str(error).encode()  # half of a character could not be printed
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}") from error
    seconds, grown = time.process_time() - clock, _peak() - peak
    assert seconds < MOST_SECONDS, f"{seconds:.1f} s"
    assert grown < MOST_BYTES, f"{grown / 1e6:.0f} MB"


def _peak() -> int:
    """The most memory that this process had so far. On Linux the mark is set back to what it has
    now, once read."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = next(
        line for line in status.read_text().splitlines() if line.startswith("VmHWM")
    )
    with contextlib.suppress(OSError):
        reset.write_text("5")
    return int(found.split()[1]) * 1024
