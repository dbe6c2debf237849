"""A whole command, around which streams, signals and the search for garbage are set."""

import gc

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
