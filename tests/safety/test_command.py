"""A whole command, around which streams, signals and the search for garbage are set."""

import gc
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import environment
from undogmatic.safety.command import YOUNG, ending, guarded


def test_garbage_is_looked_for_less_often_inside_a_command_alone() -> None:
    before = gc.get_threshold()
    with ending():
        assert gc.get_threshold()[0] == max(YOUNG, before[0])
    assert gc.get_threshold() == before
    gc.set_threshold(0, 5, 5)
    try:
        with ending():
            assert gc.get_threshold() == (0, 5, 5)
    finally:
        gc.set_threshold(*before)


def test_no_garbage_is_looked_for_when_the_process_ends_after_a_command() -> None:
    program = """
import atexit, gc
from undogmatic.safety.command import ending
atexit.register(lambda: print(gc.get_freeze_count() > 1000))  # what was registered first comes last
with ending():
    print(gc.get_freeze_count() > 1000)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("exc_info", [False, None, True])
def test_a_record_of_a_library_without_a_traceback_is_logged_as_any_other(
    exc_info: bool | None, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio logs with `exc_info=False` where a task ends without an exception."""
    with guarded():
        logging.getLogger("library").error("a session was left open", exc_info=exc_info)
    assert [record.getMessage() for record in caplog.records] == [
        "a session was left open"
    ]


def test_a_signal_in_code_that_was_made_from_text_ends_a_command_with_its_own_status(
    tmp_path: Path,
) -> None:
    """As in a dataclass that is being made while modules are loaded."""
    (tmp_path / "typed.py").write_text(
        "import os, signal, sys, time\n"
        "from undogmatic.safety import command\n"
        "with command.ending():\n"
        "    try:\n"
        "        exec('os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)')\n"
        "    except KeyboardInterrupt:\n"
        "        status = command.interrupted()\n"
        "sys.exit(status)\n"
    )
    line = [sys.executable, "-m", "typed"]
    assert subprocess.run(line, cwd=tmp_path, env=environment()).returncode == 143
