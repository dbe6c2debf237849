"""What is said while a run computes and judges nothing."""

import io
import sys
import time
from types import SimpleNamespace

import pytest

from tests.conftest import Capture, Patch
from undogmatic.records import progress
from undogmatic.records.progress import doing
from undogmatic.records.records import Judgment


def test_what_takes_long_is_said_again_and_again_the_innermost_step_first(
    capfd: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.02)
    said = ""

    def wait_for(text: str) -> None:
        nonlocal said
        until = time.monotonic() + 20
        while text not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capfd.readouterr().err
        assert text in said

    with doing("the report"):
        wait_for("  the report: 0 s\n")
        with doing("its figures"):
            wait_for("  its figures: 0 s\n")
        said = ""
        wait_for("  the report: ")
    answers = [0]
    with doing(lambda: f"a search, {answers[0]} judgments"):
        wait_for("  a search, 0 judgments: ")
        answers[0] = 7
        wait_for("  a search, 7 judgments: ")
    time.sleep(0.1)
    capfd.readouterr()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""  # and it stops


def test_what_is_quickly_done_is_not_mentioned_and_an_error_ends_it(
    capfd: Capture, monkeypatch: Patch
) -> None:
    with doing("drawing"):
        pass
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(progress, "LINE_EVERY", 0.01)
    with pytest.raises(RuntimeError), doing("one"), doing("two"):
        raise RuntimeError
    capfd.readouterr()
    time.sleep(0.1)
    assert capfd.readouterr().err == ""


def test_on_a_terminal_there_is_one_live_line(monkeypatch: Patch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", terminal)
    with doing("drawing"):
        pass
    assert terminal.getvalue() == ""  # it did not take long
    monkeypatch.setattr(progress, "SOON", 0.01)
    with doing("drawing [bold]figures"):
        until = time.monotonic() + 20
        while "figures" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
    assert "drawing [bold]figures" in terminal.getvalue()
    assert "\x1b[2K" in terminal.getvalue()[-60:]  # the line is taken away


def test_without_a_terminal_a_line_says_how_far_it_is_how_fast_and_how_long_the_rest_takes(
    capsys: Capture, monkeypatch: Patch
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    parts = SimpleNamespace(
        judges=[SimpleNamespace(name="j")],
        prompted=False,
        uses_own=False,
        steps=[],
        asks=True,
    )
    parts.model = SimpleNamespace(name="m")
    judgment = Judgment.model_construct(
        outcome=None, cost=SimpleNamespace(calls=1, cached=0)
    )
    with progress.Progress("run", 1000, parts, kept=100) as shown:
        now[
            0
            # the first judgment waits until the model is loaded, which says nothing of the others
        ] += 11
        for _ in range(92):
            now[0] += 0.5
            shown.step(judgment)
    first, second = capsys.readouterr().err.splitlines()[1:3]
    assert first == "  101 of 1000 done"  # one judgment does not tell how fast it goes
    assert second == "  191 of 1000 done, 2.0 a second, 6 min 44 s left"


def test_a_silent_command_says_what_it_does_after_a_second_and_later_ever_more_seldom(
    capfd: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(progress, "SOON", 0.01)
    monkeypatch.setattr(progress, "LINE_EVERY", 1000)
    said = ""
    with doing("examining the judge", soon=True), doing("reading the file"):
        until = time.monotonic() + 20
        while "reading the file" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capfd.readouterr().err
        time.sleep(0.1)
    assert said + capfd.readouterr().err == "  reading the file: 0 s\n"


def test_what_is_printed_while_a_terminal_shows_progress_goes_where_it_is_meant_to(
    capfd: Capture, monkeypatch: Patch
) -> None:
    """Stdout may be a file while stderr is a terminal."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "SOON", 0.01)
    with doing("drawing"):
        until = time.monotonic() + 20
        while "drawing" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        print("a result")
    assert capfd.readouterr().out == "a result\n"
    assert "a result" not in terminal.getvalue()
