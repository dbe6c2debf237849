"""`nli=rules`: contradictions by rules that anyone can read, in English and Portuguese; no key, no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from undogmatic.constructs.faithfulness.compared import Means, Sides
from undogmatic.constructs.faithfulness.embeddings import Embeddings
from undogmatic.constructs.faithfulness.entailment import Entailment, Finding
from undogmatic.constructs.faithfulness.facts.contradictions import contradictions
from undogmatic.constructs.faithfulness.facts.precision import CONTRADICTED, is_sure, measured
from undogmatic.constructs.faithfulness.facts.words import lexicon
from undogmatic.judges.base import Source
from undogmatic.readouts.prompts import Prompt
from undogmatic.records.records import Item, digest


class RulesEntailment(Entailment):
    """Sentences are aligned by embedding; then dates, votes, numbers, outcomes, parties and negations are compared.

    What the rules do not know they do not find: it is a baseline that says what it found, and no reader.

    Args:
        embeddings: What says which sentences are about the same.
        prompt: The run's; it reaches nobody here.
        aligned: Cosine similarity from which two sentences are about the same.
        sure: A kind of contradiction counts if its precision on development (facts/precision.yaml) is above this
            share; others are named as doubts.
    """

    name = "rules"

    def __init__(
        self,
        embeddings: Embeddings,
        prompt: Prompt,
        aligned: Annotated[float, Field(ge=-1, le=1)] = 0.45,
        sure: Annotated[float, Field(ge=0, le=1)] = 0.9,
    ) -> None:
        super().__init__()
        self.embeddings, self.prompt, self.aligned, self.sure = embeddings, prompt, aligned, sure

    async def compare(self, item: Item, sides: Sides) -> Sequence[Finding]:
        """What the rules find of every sentence of the reference."""
        similarity = await self.embeddings.similarities(*sides)
        found = contradictions(sides.reference, sides.summary, similarity, self.aligned)
        best = similarity.argmax(axis=1)
        return [
            Finding(False, int(best[n]), numbers={"similarity": float(similarity[n, best[n]])})
            if one is None
            else Finding(
                is_sure(CONTRADICTED, one.kind, self.sure),
                one.place,
                f"{one.kind}: the reference says {one.expected!r}, the summary {one.found!r}",
                one.kind,
                {"similarity": float(similarity[n, one.place])},
            )
            for n, one in enumerate(found)
        ]

    def sources(self) -> Sequence[Source]:
        return (Means("rules", self.embeddings, self.prompt),)

    def settings(self) -> dict[str, Any]:
        own = {"embeddings": self.embeddings.name, "aligned": self.aligned, "sure": self.sure}
        return super().settings() | own | {"words": digest(lexicon()), "precision": digest(measured())}
