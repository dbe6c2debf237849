"""`nli`: how much of the reference the summary leaves uncontradicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from undogmatic.constructs.faithfulness.compared import Sides, sides, table
from undogmatic.constructs.faithfulness.entailment import Entailment, Finding
from undogmatic.constructs.faithfulness.faithfulness import uncontradicted
from undogmatic.judges.base import Judge, Source
from undogmatic.records.records import Item, Verdict


class NliJudge(Judge):
    """1 - contradicted / total over the sentences of the reference; one that any sentence contradicts is contradicted.

    A doubt is listed with the sentences and costs nothing. What a summary says besides moves nothing, and what it
    leaves out neither: that is for `coverage`.

    Args:
        nli: Who says whether a sentence contradicts another.
        least: Shorter sentences are skipped, in characters.
    """

    name = "nli"
    criteria = ("nli",)
    asks = False

    def __init__(self, nli: Entailment, least: Annotated[int, Field(ge=1, le=1000)] = 10) -> None:
        super().__init__()
        self.nli, self.least = nli, least

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """The share uncontradicted, and what was found of every sentence."""
        own = sides(item, self.least)
        found = await self.nli.compare(item, own)
        score = uncontradicted([each.contradicted for each in found])
        details: dict[str, float | str] = {
            "contradicted": float(sum(each.contradicted for each in found)),
            "doubted": float(sum(each.doubted for each in found)),
            "reference_sentences": float(len(own.reference)),
            "summary_sentences": float(len(own.summary)),
            "sentences": table(rows(own, found)),
        }
        issues = tuple(each.why for each in found if each.contradicted)
        return {"nli": Verdict(score=self.rubric.units(score), issues=issues, details=details)}

    def readouts(self) -> Sequence[Source]:
        return self.nli.sources()

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"least": self.least}


def rows(own: Sides, found: Sequence[Finding]) -> list[dict[str, Any]]:
    """The sentence table: what was found of every sentence of the reference."""
    return [
        {
            "sentence": sentence,
            "best_match": None if each.match is None else own.summary[each.match],
            "label": "contradiction" if each.contradicted else "doubt" if each.doubted else "none",
            "kind": each.kind,
            "why": each.why,
            **each.numbers,
        }
        for sentence, each in zip(own.reference, found, strict=True)
    ]
