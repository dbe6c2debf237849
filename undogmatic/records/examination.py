"""Defines an examination: a question that is asked of one judge's evidence, and what it needs.

A package of your own adds one to every check by an entry point:

    [project.entry-points."undogmatic.examinations"]
    flattery = "my_package.flattery:FLATTERY"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from undogmatic.records.evidence import KINDS, JudgeView, Kind
from undogmatic.records.results import Told

if TYPE_CHECKING:
    from undogmatic.records.checked import CheckOptions

Need = Literal["labels", "raters", "texts", "repeats", "orders", "confidence", "systems"]
"""What evidence may hold beside verdicts: labels, those of several raters, texts, several verdicts
on one item, both orders of a choice, stated confidences, who made what was judged."""


@dataclass(frozen=True)
class Examination:
    """Asks one question of one judge's verdicts on one criterion.

    Attributes:
        name: Of its words (`<name>.texts.yaml` beside its module), and in front of its numbers.
        examine: Adds numbers, sentences and tables to `told`. A sentence of weight LIMITS limits
            what the judge may be believed for, one of weight REVERSES forbids it.
        needs: What the evidence must hold.
        kinds: The kinds of verdicts of which it can be asked.
        fewest_groups: Fewest independent groups of items with a verdict.
    """

    name: str
    examine: Callable[[JudgeView, Told, CheckOptions], None]
    needs: Sequence[Need] = ()
    kinds: Sequence[Kind] = KINDS
    fewest_groups: int = 1
