"""Writes a run, or its part up to a step, as the text that a judge reads."""

from collections.abc import Sequence

from undogmatic.records.trace import Step, StepKind

MARKS: dict[StepKind, str] = {
    "user": "user",
    "assistant": "assistant",
    "tool_call": "call",
    "tool_result": "result",
    "other": "",
}
NOT_KEPT = "(not recorded)"


def shown(step: Step, most: int | None = None) -> str:
    """A step with who or what acted before it; of a text of more than `most` characters the
    beginning and the end."""
    words = [word for word in (MARKS[step.kind], step.name) if word] or ["other"]
    mark = f"[{'error: ' if step.error else ''}{' '.join(words)}]"
    return f"{mark} {NOT_KEPT if step.text is None else shortened(step.text, most)}"


def shortened(text: str, most: int | None) -> str:
    """The text; of one of more than `most` characters the beginning and the end, with how much was
    left out."""
    if most is None or len(text) <= most:
        return text
    left = len(text) - most
    return f"{text[: most - most // 3]} [... {left} characters left out ...] {text[-(most // 3) :]}"


def rendered(steps: Sequence[Step], most: int) -> tuple[str, bool]:
    """The steps as a text of about `most` characters, and whether something was left out of it.

    The last step matters most, then what was asked first, then what came right before: half of the
    characters are the last step's, an eighth is the first one's, and the others go to those before
    the last, as far as they reach.
    """
    if not steps:
        return "", False
    if (
        sum(len(step.text or "") + 40 for step in steps[-most // 40 :])
        <= most
        >= 40 * len(steps)
    ):
        return "\n\n".join(map(shown, steps)), False
    part = max(80, most // 8)
    *before, last = steps
    end = [shown(last, most // 2)]
    begin = [shown(before[0], part)] if before else []
    rest = most - len(end[0]) - sum(map(len, begin))
    kept: list[str] = []
    for step in reversed(before[1:]):
        text = shown(step, part)
        if len(text) > rest:
            break
        kept.append(text)
        rest -= len(text)
    left = len(before) - len(begin) - len(kept)
    gap = [f"[... {left} steps left out ...]"] if left > 0 else []
    cut = any(len(step.text or "") > part for step in steps) or bool(gap)
    return "\n\n".join([*begin, *gap, *reversed(kept), *end]), cut
