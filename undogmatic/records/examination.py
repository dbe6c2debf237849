"""Defines an examination: a question that is asked of one judge's evidence, and what it needs.

Our own and those of other packages are of this one class. A package of your own adds one to every
check by an entry point:

    [project.entry-points."undogmatic.examinations"]
    flattery = "my_package.flattery:FLATTERY"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from undogmatic.records.evidence import KINDS, JudgeView, Kind
from undogmatic.records.results import Told

if TYPE_CHECKING:
    from undogmatic.records.checked import CheckOptions

Need = Literal[
    "labels",
    "originals",
    "pairs",
    "raters",
    "texts",
    "repeats",
    "order",
    "orders",
    "confidence",
    "systems",
    "judges",
    "earlier",
    "dates",
    "steps",
    "ends",
    "injected",
    "instrument",
]
"""What evidence may hold beside verdicts: labels that are no copies of the verdicts; no labels that
are copies; items with both a verdict and a label, copies or not; labels of several people; texts;
several verdicts on one item; a known order of the two outputs of a choice; choices that were shown
in both orders; stated confidences; who made what was judged; several judges; an earlier file; a
column of dates that was named; a column that says which defects were planted; one that says which
step commits them; columns that say of which run a step is, and how that ended; an instrument test
of the judge that was named."""
Scope = Literal["judge", "criterion", "table"]
"""How often an examination is asked: of each judge on each criterion, once on each criterion, or
once."""


@dataclass(frozen=True)
class Examination:
    """Asks one question of one judge's verdicts on one criterion.

    Attributes:
        name: By which it is chosen (`--only`), and told not to have been asked. Of another package
            it is also the name of its words (`<name>.texts.yaml` beside its module), and stands in
            front of its numbers.
        examine: Adds numbers, sentences and tables to `told`. A sentence of weight LIMITS limits
            what the judge may be believed for, one of weight REVERSES forbids it.
        needs: What the evidence must hold.
        kinds: The kinds of verdicts of which it can be asked.
        fewest_groups: Fewest independent groups of items with a verdict.
        decides: Whether what it tells may limit or forbid belief. Where one of these is not asked,
            no answer is given. One that promises that it does not may tell no such sentence.
        scope: How often it is asked. Where that is not of each judge, the view is of the first
            judge, and `view.table` has all of them; a sentence limits or forbids belief in the
            judge that its value `judge` names.
        lacks: What is said where it cannot be asked: a need that is not met, a kind of verdicts
            that it does not read, or "kinds" for any such kind -> the key of a sentence of its own.
            With "" it goes without saying, unless somebody asked for this examination by its name.
            For anything else there are general sentences.
    """

    name: str
    examine: Callable[[JudgeView, Told, CheckOptions], None]
    needs: Sequence[Need] = ()
    kinds: Sequence[Kind] = KINDS
    fewest_groups: int = 1
    decides: bool = True
    scope: Scope = "judge"
    lacks: Mapping[Need | Kind | Literal["kinds"], str] = field(default_factory=dict)
