"""From a rubric's units to the 0-10 scale of the procedures, and from their 0-1 intervals back."""

from __future__ import annotations

from undogmatic.records import Rubric


def share(score: float, rubric: Rubric) -> float:
    """A score on the rubric's scale as 0-1."""
    return min(1.0, max(0.0, (score - rubric.minimum) / (rubric.maximum - rubric.minimum)))


def ten(score: float, rubric: Rubric) -> float:
    """A score on the rubric's scale as 0-10."""
    return 10.0 * share(score, rubric)


def units(interval: tuple[float, float], rubric: Rubric) -> tuple[float, float]:
    """An interval on 0-1 in the rubric's units."""
    span = rubric.maximum - rubric.minimum
    return rubric.minimum + interval[0] * span, rubric.minimum + interval[1] * span
