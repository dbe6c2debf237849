"""`nli=deberta`: a classifier trained for entailment, from the hub or a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from undogmatic.constructs.faithfulness.compared import Means, Sides
from undogmatic.constructs.faithfulness.embeddings import Embeddings
from undogmatic.constructs.faithfulness.entailing import LABELS, Entailing
from undogmatic.constructs.faithfulness.entailment import Entailment, Finding
from undogmatic.judges.base import Source
from undogmatic.readouts.prompts import Prompt
from undogmatic.records.records import Item

CONTRADICTION = LABELS.index("contradiction")


class DebertaEntailment(Entailment):
    """Every sentence of the reference as premise, every one of the summary as hypothesis; the likeliest label counts.

    Args:
        embeddings: What says which sentences are nearest, where `nearest` is set.
        prompt: The run's; it reaches nobody here.
        path: Hub id or local folder.
        nearest: Ask only about so many of the summary's sentences, the most similar ones; None: about all.
    """

    name = "deberta"

    def __init__(
        self,
        embeddings: Embeddings,
        prompt: Prompt,
        path: str,
        nearest: Annotated[int, Field(ge=1, le=10_000)] | None = None,
    ) -> None:
        super().__init__()
        self.embeddings, self.prompt, self.nearest = embeddings, prompt, nearest
        self.model = Entailing(path)

    async def compare(self, item: Item, sides: Sides) -> Sequence[Finding]:
        """The label of the sentence that most probably contradicts each one of the reference."""
        places = [list(range(len(sides.summary)))] * len(sides.reference)
        if self.nearest is not None and self.nearest < len(sides.summary):
            similarity = await self.embeddings.similarities(*sides)
            places = [[int(k) for k in np.argsort(-row, kind="stable")[: self.nearest]] for row in similarity]
        pairs = [(sides.reference[n], sides.summary[k]) for n, own in enumerate(places) for k in own]
        found = await asyncio.to_thread(self.model.probabilities, pairs)
        findings, start = [], 0
        for own in places:
            rows = found[start : start + len(own)]
            start += len(own)
            against = rows.argmax(axis=1) == CONTRADICTION
            k = int(np.where(against, rows[:, CONTRADICTION], rows[:, CONTRADICTION] - 1).argmax())
            numbers = {label: float(p) for label, p in zip(LABELS, rows[k], strict=True)}
            contradicted = bool(against[k])
            why = f"contradiction with probability {numbers['contradiction']:.2f}" if contradicted else ""
            findings.append(Finding(contradicted, own[k], why, numbers=numbers))
        return findings

    def sources(self) -> Sequence[Source]:
        return (Means("entailment", self.model, self.prompt),)

    def settings(self) -> dict[str, Any]:
        own = {"path": self.model.path, "nearest": self.nearest}
        return super().settings() | own | ({} if self.nearest is None else {"embeddings": self.embeddings.name})
