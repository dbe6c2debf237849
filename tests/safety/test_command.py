"""A whole command, around which streams, signals and the search for garbage are set."""

import gc
import subprocess
import sys

from tests.conftest import environment
from undogmatic.safety.command import YOUNG, ending


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
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
