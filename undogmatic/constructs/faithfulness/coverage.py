"""`coverage`: how much of the reference the summary says, by sentence embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from undogmatic.constructs.faithfulness.compared import Means, sides, table
from undogmatic.constructs.faithfulness.embeddings import Embeddings
from undogmatic.constructs.faithfulness.faithfulness import coverage
from undogmatic.judges.base import Judge, Source
from undogmatic.readouts.prompts import Prompt
from undogmatic.records.records import Item, Verdict


class CoverageJudge(Judge):
    """A sentence of the reference is covered if the summary has one similar enough; the score is the share covered.

    It reads what is said, not whether it is true: a reversed outcome is as similar as the right one.

    Args:
        embeddings: What makes the vectors.
        prompt: The run's; it reaches nobody here.
        threshold: Cosine similarity from which a sentence counts as covered.
        inclusive: Whether exactly the threshold counts (>= instead of >).
        least: Shorter sentences are skipped, in characters.
    """

    name = "coverage"
    criteria = ("coverage",)
    asks = False

    def __init__(
        self,
        embeddings: Embeddings,
        prompt: Prompt,
        threshold: Annotated[float, Field(ge=-1, le=1)] = 0.5,
        inclusive: bool = False,
        least: Annotated[int, Field(ge=1, le=1000)] = 11,
    ) -> None:
        super().__init__()
        self.embeddings, self.prompt = embeddings, prompt
        self.threshold, self.inclusive, self.least = threshold, inclusive, least

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """The share covered, and the best match of every sentence."""
        own = sides(item, self.least)
        found = coverage(await self.embeddings.similarities(*own), self.threshold, self.inclusive)
        rows = [
            {
                "sentence": sentence,
                "best_match": own.summary[found.best[n]],
                "similarity": float(found.similarity[n]),
                "covered": bool(found.covered[n]),
            }
            for n, sentence in enumerate(own.reference)
        ]
        details: dict[str, float | str] = {
            "covered": float(found.covered.sum()),
            "reference_sentences": float(len(own.reference)),
            "summary_sentences": float(len(own.summary)),
            "sentences": table(rows),
        }
        missed = tuple(row["sentence"] for row in rows if not row["covered"])
        return {"coverage": Verdict(score=self.rubric.units(found.score), issues=missed, details=details)}

    def readouts(self) -> Sequence[Source]:
        return (Means("embeddings", self.embeddings, self.prompt),)

    def settings(self) -> dict[str, Any]:
        own = {"embeddings": self.embeddings.name, "threshold": self.threshold}
        return super().settings() | own | {"inclusive": self.inclusive, "least": self.least}
