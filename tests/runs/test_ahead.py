"""What is loaded ahead is loaded while there is time for it, and its failure is told where it is
needed."""

import threading
import time
from collections.abc import Callable

import pytest

from undogmatic.runs import ahead
from undogmatic.runs.ahead import meanwhile, modules


def work_until(done: Callable[[], bool], seconds: float) -> None:
    """Keep Python busy."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        sum(range(1000))


def test_steps_are_taken_in_turn_while_one_waits_and_a_failure_is_left_to_who_needs_them() -> (
    None
):
    taken, all_of_them = list[str](), threading.Event()
    steps = [
        *modules("undogmatic.nothing_of_that_name"),
        lambda: taken.append("first"),
        all_of_them.set,
    ]
    with meanwhile(steps):
        assert all_of_them.wait(60)
    assert taken == ["first"]
    with meanwhile([]):
        assert "ahead" not in {thread.name for thread in threading.enumerate()}


def test_a_step_that_has_begun_is_the_last_and_what_was_raised_inside_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "LATE", float("inf"))
    begun, end, taken = threading.Event(), threading.Event(), list[str]()
    with (
        pytest.raises(KeyError),
        meanwhile([begun.set, lambda: end.wait(0.2), lambda: taken.append("late")]),
    ):
        assert begun.wait(60)
        raise KeyError
    assert taken == [] and "ahead" not in {
        thread.name for thread in threading.enumerate()
    }


def test_nothing_is_loaded_while_the_process_has_its_hands_full() -> None:
    taken = threading.Event()
    with meanwhile([taken.set]):
        work_until(taken.is_set, 0.5)
        assert not taken.is_set()
