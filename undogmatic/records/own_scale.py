"""Places scores on the scale on which people gave their labels.

Judges are asked, and files that a program reads are written, on the rubric's scale. Whoever gave 1
to 5 is told of 1 to 5.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import pandas as pd

from undogmatic.records.records import LabelScale
from undogmatic.records.rubric import NumericScale, Rubric

PLACES = 9
"""Decimals that are kept of a grade: 8.5 becomes 16.666666666667 on a rubric's scale, and 8.5
again."""
Scores = TypeVar("Scores", float, pd.Series)


class OwnScale(NamedTuple):
    """The scale of the labels, and the rubric's.

    Attributes:
        bottom, top: What stands for the rubric's lowest score and for its highest.
        minimum, maximum: The ends of the rubric's scale.
        names: The words that people gave in place of numbers, or the rubric's categories.
        counts: Whether it has numbers, and a score can be written on it.
    """

    bottom: float
    top: float
    minimum: float
    maximum: float
    names: tuple[str, ...] = ()
    counts: bool = True

    @classmethod
    def of(cls, given: LabelScale | None, rubric: Rubric) -> OwnScale | None:
        """That of labels which were `given` on a scale of their own; None where it is the rubric's,
        and of numbers."""
        ends = (rubric.minimum, rubric.maximum)
        if isinstance(rubric.scale, NumericScale):
            return None if given is None else cls(*given.numbers, *ends, given.words)
        names = () if given is None else given.words
        return cls(*ends, *ends, names or rubric.scale.categories, counts=False)

    @property
    def turned(self) -> bool:
        """Whether a low grade stands for a high score."""
        return self.top < self.bottom

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest grade and the highest, as numbers."""
        return min(self.bottom, self.top), max(self.bottom, self.top)

    def change(self, value: Scores) -> Scores:
        """A difference of two scores in grades, with its sign."""
        return value * ((self.top - self.bottom) / (self.maximum - self.minimum))

    def amount(self, value: float) -> float:
        """How large a difference of scores is in grades; its sign stays."""
        return round(-self.change(value) if self.turned else self.change(value), PLACES)

    def score(self, value: Scores) -> Scores:
        """A score as a grade."""
        return round(self.bottom + self.change(value - self.minimum), PLACES)

    def label(self, value: float) -> float | str:
        """A label as people gave it: a number, or its word; between two words both."""
        if not self.names:
            return self.score(value)
        place = round(
            (value - self.minimum)
            / (self.maximum - self.minimum)
            * (len(self.names) - 1),
            6,
        )
        return " / ".join(
            dict.fromkeys(
                self.names[max(0, min(len(self.names) - 1, n))]
                for n in (math.floor(place), math.ceil(place))
            )
        )

    def rubric(self, rubric: Rubric) -> Rubric:
        """The rubric as one of grades: its scale, its margin and what a high value is; without the
        guide, whose meanings stand at scores."""
        bottom, top = self.ends
        direction = rubric.direction
        if self.turned and direction is not None:
            worse = direction == "higher_is_worse"
            direction = "higher_is_better" if worse else "higher_is_worse"
        changed = {
            "scale": NumericScale(minimum=bottom, maximum=top),
            "guide": None,
            "direction": direction,
            "margin": None if rubric.margin is None else self.amount(rubric.margin),
        }
        return rubric.model_copy(update=changed)

    def rows(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows of a run with their scores, labels and intervals as grades."""
        columns = ("score", "raw_score", "label", "low", "high")
        grades = {name: self.score(rows[name]) for name in columns if name in rows}
        if self.turned and "low" in grades:
            grades["low"], grades["high"] = grades["high"], grades["low"]
        return rows.assign(**grades)
