"""Writes a run of an agent, or its part up to a step, as a text that a judge can read, within a
budget. What is judged here and what is checked is written alike.

Every step stands on a line with its number, as `[4]`. Where the whole is too long, first the
longest steps are shortened in their middle, the last one less than the others, as it is what a text
is about; then steps in the middle of the run are left out. The text says in those places what is
missing, and `Shown` counts it. What was asked first and the last step stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from undogmatic.datasets.edits import Language
from undogmatic.records.trace import Step
from undogmatic.records.wordings import read

TEXTS = Path(__file__).with_name("trace_text.texts.yaml")
PER_TOKEN = 3
"""Characters that a token has at least, on average: a budget is an estimate from above."""
CAPS = (64_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120)
"""How long a step may be, tried from the longest on."""
LEAST = 6
"""Characters that a line has at least besides the text of its step."""


class Shown(NamedTuple):
    """A run as a text, how many characters of its steps were cut out, and how many steps left
    out."""

    text: str
    cut: int = 0
    left_out: int = 0


def shown(steps: Sequence[Step], tokens: int, language: Language = "en") -> Shown:
    """Write steps as a text of about so many tokens at most.

    Args:
        steps: In their order.
        tokens: The budget; a token is taken for three characters.
        language: Of the words that say what a step is.
    """
    made = within(steps, tokens * PER_TOKEN, language)
    if not made.left_out:
        return made
    whole = sum(len(step.text or "") for step in steps)
    return made._replace(cut=max(0, whole - len(made.text)))


def within(steps: Sequence[Step], budget: int, language: Language = "en") -> Shown:
    """Write steps as a text of about so many characters at most; where steps are left out, nobody
    counts what they hold. Of a run of which only the ends fit, only these are looked at."""
    if not steps:
        return Shown("")
    words = read(TEXTS)[language]["trace"]
    if len(steps) * LEAST > budget:
        return _middle_left_out(steps, budget, words)
    lengths = [len(_text(step, words)) for step in steps]
    besides = LEAST * len(steps)
    for cap in CAPS:
        caps = _caps(len(steps), cap, budget)
        texts = sum(map(min, lengths, caps))
        # Too long already, whatever the lines say besides: writing a run of 100,000 steps nine
        # times would take long.
        if texts + besides > budget:
            continue
        lines, cut = _lines(steps, caps, words)
        if _length(lines) <= budget:
            return Shown("\n".join(lines), cut)
    return _middle_left_out(steps, budget, words)


def _caps(n: int, cap: int, budget: int) -> list[int]:
    """How long each of `n` steps may be: the last one, which a text is about, up to half of the
    budget."""
    return [cap] * (n - 1) + [max(cap, budget // 2)]


def _lines(
    steps: Sequence[Step], caps: Sequence[int], words: Mapping[str, str]
) -> tuple[list[str], int]:
    """A line for each step, with no text longer than its cap, and how many characters that cost."""
    began = _began(steps)
    lines = []
    total_cut = 0
    for step, cap in zip(steps, caps, strict=True):
        line, cut = _line(step, cap, began, words)
        lines.append(line)
        total_cut += cut
    return lines, total_cut


def _text(step: Step, words: Mapping[str, str]) -> str:
    """The text of a step, or a word that says that a log does not hold it."""
    return words["unknown"] if step.text is None else step.text


def _began(steps: Sequence[Step]) -> float | None:
    """When the first of the steps was whose time is known."""
    return next((step.time for step in steps if step.time is not None), None)


def _line(
    step: Step, cap: int, began: float | None, words: Mapping[str, str]
) -> tuple[str, int]:
    """The line of a step, and how many characters were cut out of it."""
    text = _text(step, words)
    cut = max(0, len(text) - cap)
    if cut:
        # What an answer begins with and where it arrives tell more than its middle.
        half = cap // 2
        missing = words["cut"].format(n=cut)
        text = f"{text[:half]} {missing} {text[-half:]}"
    kind: str = step.kind
    if step.error and kind == "tool_result":
        kind = "failed"
    sentence = words[kind].format(name=step.name or "", text=text)
    after = ""
    if step.time is not None and began is not None:
        after = f" +{step.time - began:.0f}s"
    return f"[{step.place}{after}] {sentence}", cut


def _length(lines: Iterable[str]) -> int:
    """How long lines are together, each with the end of its line."""
    return sum(len(line) + 1 for line in lines)


def _middle_left_out(
    steps: Sequence[Step], budget: int, words: Mapping[str, str]
) -> Shown:
    """The first and the last lines, as many as fit, each side in turn; the first and the last one
    in any case."""
    cap = CAPS[-1]
    # A run may have a hundred thousand steps, of which no more than these can be shown.
    began = _began(steps[: budget // LEAST])

    def line(place: int, most: int = cap) -> str:
        text, _ = _line(steps[place], most, began, words)
        return text

    head = [line(0)] if len(steps) > 1 else []
    backward_tail = [line(-1, max(cap, budget // 2))]
    room = budget - _length(head) - _length(backward_tail) - len(words["left_out"])
    left_out = len(steps) - len(head) - len(backward_tail)
    while left_out:
        # The end of a run says more of how it went, so that it is never behind the beginning.
        at_end = len(backward_tail) <= len(head)
        place = -len(backward_tail) - 1 if at_end else len(head)
        next_line = line(place)
        room -= _length([next_line])
        if room < 0:
            break
        side = backward_tail if at_end else head
        side.append(next_line)
        left_out -= 1
    gap = [words["left_out"].format(n=left_out)] if left_out else []
    tail = reversed(backward_tail)
    return Shown("\n".join([*head, *gap, *tail]), 0, left_out)
