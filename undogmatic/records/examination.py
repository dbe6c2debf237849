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
from undogmatic.records.results import Finding, Told

if TYPE_CHECKING:
    from undogmatic.records.checked import CheckOptions

Need = Literal["labels", "raters", "texts", "repeats", "orders", "confidence", "systems"]
"""What evidence may hold beside verdicts: labels, those of several raters, texts, several verdicts
on one item, both orders of a choice, stated confidences, who made what was judged."""

_HELD: dict[Need, Callable[[JudgeView], bool]] = {
    "labels": lambda view: bool(view.labels["label"].notna().any()),
    "raters": lambda view: view.labels.dropna(subset=["label"])["rater"].nunique() > 1,
    "texts": lambda view: view.table.has_texts,
    "repeats": lambda view: bool((view.verdicts["repeat"] > 0).any()),
    "orders": lambda view: view.verdicts["order"].nunique(dropna=True) > 1,
    "confidence": lambda view: bool(view.verdicts["confidence"].notna().any()),
    "systems": lambda view: bool({"system", "system_1"} & set(view.table.items.columns)),
}


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

    def lacks(self, view: JudgeView) -> Finding | None:
        """Why it cannot be asked of this evidence; None where it can."""
        if view.table.kind not in self.kinds:
            values = {"kind": view.table.kind, "kinds": list(self.kinds)}
            return Finding("examination.other_kind", {"examination": self.name, **values})
        for need in self.needs:
            if not _HELD[need](view):
                return Finding(f"examination.no_{need}", {"examination": self.name})
        rows = view.first()
        groups = int(rows.loc[rows["verdict"].notna(), "group"].nunique())
        if groups < self.fewest_groups:
            counts = {"groups": groups, "needed": self.fewest_groups}
            return Finding("examination.few_groups", {"examination": self.name, **counts})
        return None
