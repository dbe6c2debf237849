"""What `nli=` names: who says whether a sentence of a summary contradicts one of the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from undogmatic.constructs.faithfulness.compared import Sides
from undogmatic.judges.base import Source
from undogmatic.readouts.base import Unit
from undogmatic.records.records import Item


class Finding(NamedTuple):
    """What was found of one sentence of the reference.

    Attributes:
        contradicted: Whether any sentence of the summary surely contradicts it.
        match: The place of the sentence that does, else of the one that comes nearest; None where there is none.
        why: The rule and what it found, or the words of whoever judged.
        kind: Of what kind the contradiction is (date, vote, outcome, ...), where that is known; with a kind but not
            `contradicted` it is a doubt.
        numbers: Similarity or probabilities, by name.
    """

    contradicted: bool
    match: int | None = None
    why: str = ""
    kind: str = ""
    numbers: Mapping[str, float] = {}

    @property
    def doubted(self) -> bool:
        """Whether a contradiction is suspected by means that err too often to say so."""
        return bool(self.kind) and not self.contradicted


class Entailment(Unit):
    """Base of the means. A class of one's own has `compare`, and a file in conf/nli/.

    Attributes:
        name: Its name in `nli=`.
    """

    name = "entailment"

    async def compare(self, item: Item, sides: Sides) -> Sequence[Finding]:
        """A finding for every sentence of the reference, in order. Raises ModelError."""
        raise NotImplementedError

    def sources(self) -> Sequence[Source]:
        """What it asks or uses, for reports."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        return {"nli": self.name}
