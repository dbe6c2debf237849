"""Writes a run of an agent as a text that a judge can read, within a budget of tokens.

Every step stands on a line with its number, as `[4]`. Where the whole is too long, first the
longest steps are shortened in their middle, then steps in the middle of the run are left out; the
text says in those places what is missing, and `Shown` counts it. What was asked first and the last
step stay.
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
    words = read(TEXTS)[language]["trace"]
    budget = tokens * PER_TOKEN
    for cap in CAPS:
        lines, cut = _lines(steps, cap, words)
        if _length(lines) <= budget:
            return Shown("\n".join(lines), cut)
    return _middle_left_out(steps, lines, budget, words)


def _lines(
    steps: Iterable[Step], cap: int, words: Mapping[str, str]
) -> tuple[list[str], int]:
    """A line for each step, with none longer than `cap`, and how many characters that cost."""
    lines, cut = list[str](), 0
    began = None
    for step in steps:
        began = step.time if began is None else began
        text = words["unknown"] if step.text is None else step.text
        if len(text) > cap:
            gone = len(text) - cap
            half = cap // 2
            text = f"{text[:half]} {words['cut'].format(n=gone)} {text[-half:]}"
            cut += gone
        kind = "failed" if step.error and step.kind == "tool_result" else step.kind
        said = words[kind].format(name=step.name or "", text=text)
        after = ""
        if step.time is not None and began is not None:
            after = f" +{step.time - began:.0f}s"
        lines.append(f"[{step.place}{after}] {said}")
    return lines, cut


def _length(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _middle_left_out(
    steps: Sequence[Step], lines: Sequence[str], budget: int, words: Mapping[str, str]
) -> Shown:
    """The first and the last lines, as many as fit, each side in turn; the first and the last one
    in any case."""
    head, tail = 1, min(1, len(lines) - 1)
    room = (
        budget
        - _length([*lines[:head], *lines[len(lines) - tail :]])
        - len(words["left_out"])
    )
    while head + tail < len(lines):
        backward = tail <= head
        line = lines[len(lines) - tail - 1] if backward else lines[head]
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        head, tail = (head, tail + 1) if backward else (head + 1, tail)
    gone = len(lines) - head - tail
    missing = [words["left_out"].format(n=gone)] if gone else []
    text = "\n".join([*lines[:head], *missing, *lines[len(lines) - tail :]])
    whole = sum(len(step.text or "") for step in steps)
    return Shown(text, max(0, whole - len(text)), gone)
