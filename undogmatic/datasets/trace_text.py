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
    words = read(TEXTS)[language]["trace"]
    if len(steps) * LEAST <= budget:
        lengths = [
            len(words["unknown"] if step.text is None else step.text) for step in steps
        ]
        for cap in CAPS:
            last = max(cap, budget // 2)
            least = sum(min(length, cap) for length in lengths[:-1])
            least += min(lengths[-1], last) if lengths else 0
            if least + LEAST * len(steps) > budget:
                continue  # whatever the lines say besides
            lines, cut = _lines(steps, cap, last, words)
            if _length(lines) <= budget:
                return Shown("\n".join(lines), cut)
    return _middle_left_out(steps, budget, words)


def _lines(
    steps: Iterable[Step], cap: int, last: int, words: Mapping[str, str]
) -> tuple[list[str], int]:
    """A line for each step, with none longer than `cap`, the last no longer than `last`, and how
    many characters that cost."""
    every = list(steps)
    began = _began(every)
    made = [_line(step, cap, began, words) for step in every[:-1]]
    made += [_line(step, last, began, words) for step in every[-1:]]
    return [line for line, _ in made], sum(cut for _, cut in made)


def _began(steps: Sequence[Step]) -> float | None:
    """When the first of the steps was whose time is known."""
    return next((step.time for step in steps if step.time is not None), None)


def _line(
    step: Step, cap: int, began: float | None, words: Mapping[str, str]
) -> tuple[str, int]:
    """The line of a step, and how many characters were cut out of it."""
    text, cut = words["unknown"] if step.text is None else step.text, 0
    if len(text) > cap:
        cut, half = len(text) - cap, cap // 2
        text = f"{text[:half]} {words['cut'].format(n=cut)} {text[-half:]}"
    kind = "failed" if step.error and step.kind == "tool_result" else step.kind
    said = words[kind].format(name=step.name or "", text=text)
    after = ""
    if step.time is not None and began is not None:
        after = f" +{step.time - began:.0f}s"
    return f"[{step.place}{after}] {said}", cut


def _length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _middle_left_out(
    steps: Sequence[Step], budget: int, words: Mapping[str, str]
) -> Shown:
    """The first and the last lines, as many as fit, each side in turn; the first and the last one
    in any case."""
    if not steps:
        return Shown("")
    cap, began = CAPS[-1], _began(steps[: budget // LEAST])

    def line(place: int, most: int = cap) -> str:
        return _line(steps[place], most, began, words)[0]

    head = [line(0)] if len(steps) > 1 else []
    tail = [line(-1, max(cap, budget // 2))]
    room = budget - _length([*head, *tail]) - len(words["left_out"])
    while len(head) + len(tail) < len(steps):
        backward = len(tail) <= len(head)
        said = line(-len(tail) - 1 if backward else len(head))
        if len(said) + 1 > room:
            break
        room -= len(said) + 1
        (tail if backward else head).append(said)
    gone = len(steps) - len(head) - len(tail)
    missing = [words["left_out"].format(n=gone)] if gone else []
    return Shown("\n".join([*head, *missing, *reversed(tail)]), 0, gone)
