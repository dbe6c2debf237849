"""`bucket_rules`: the scale of `bucket` from what rules and embeddings find. A baseline that runs offline, and no
person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from undogmatic.facts.outcomes import outcomes
from undogmatic.facts.words import language_of, pattern, plain
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.bucket import CRITERIA
from undogmatic.judges.compared import Means, Sides, sides, table
from undogmatic.judges.entailment import Entailment, Finding
from undogmatic.models.embeddings import Embeddings
from undogmatic.prompts import Prompt
from undogmatic.readouts.base import Reading
from undogmatic.records import Item
from undogmatic.stats.faithfulness import Covered, coverage

Bucket = Annotated[int, Field(ge=1, le=5)]
FLAWLESS, INCOHERENT = 5, 1
LITTLE, MUCH = 0.25, 0.9
"""Shares of the reference: of less the summary says too little whatever is missing, of more nothing much is."""


class Fault(dict[str, Any]):
    """A row of a table of errors or omissions, with the bucket that it alone would give under `bucket`."""


class BucketRulesJudge(Judge):
    """The gravest contradiction decides factual accuracy, the gravest omission completeness.

    An omission is a dissent or concurrence that the summary never speaks of, or a sentence of the reference that it
    does not cover: one with an outcome weighs as a holding. What is invented it cannot know.

    Args:
        nli: What finds contradictions.
        embeddings: What says which sentences are covered.
        prompt: The run's; it reaches nobody here.
        contradicted: The bucket that a contradiction of a kind leaves; `other` is for kinds without a name.
        missing: The bucket that an omission leaves: dissent, concurrence, outcome, much (over a tenth of all).
        threshold: Similarity above which a sentence is covered.
        least: Shorter sentences are skipped, in characters.
    """

    name = "bucket_rules"
    criteria = CRITERIA
    asks = False

    def __init__(
        self,
        nli: Entailment,
        embeddings: Embeddings,
        prompt: Prompt,
        contradicted: dict[str, Bucket],
        missing: dict[str, Bucket],
        threshold: Annotated[float, Field(ge=-1, le=1)] = 0.5,
        least: Annotated[int, Field(ge=1, le=1000)] = 10,
    ) -> None:
        super().__init__()
        self.nli, self.embeddings, self.prompt = nli, embeddings, prompt
        self.contradicted, self.missing = contradicted, missing
        self.threshold, self.least = threshold, least

    async def judge(self, item: Item) -> Mapping[str, Reading]:
        """A reading per criterion."""
        own = sides(item, self.least)
        found = await self.nli.compare(item, own)
        covered = coverage(await self.embeddings.similarities(*own), self.threshold, inclusive=False)
        errors, omissions = self._errors(own, found), self._omissions(own, covered)
        incoherent = covered.score == 0
        readings = {}
        for criterion, name, rows in zip(CRITERIA, ("errors", "omissions"), (errors, omissions), strict=True):
            bucket = INCOHERENT if incoherent else min([row["bucket"] for row in rows], default=FLAWLESS)
            issues = tuple(str(row.get("problem") or row["omission"]) for row in rows)
            details: dict[str, float | str] = {"bucket": float(bucket), name: table(rows)}
            readings[criterion] = Reading(score=self.rubric.units(bucket / 5), issues=issues, details=details)
        return readings

    def _errors(self, own: Sides, found: Sequence[Finding]) -> list[Fault]:
        rows = []
        for sentence, each in zip(own.reference, found, strict=True):
            if each.contradicted:
                bucket = self.contradicted.get(each.kind, self.contradicted.get("other", 3))
                quote = "" if each.match is None else own.summary[each.match]
                rows.append(Fault(quote=quote, problem=each.why, correct=sentence, kind=each.kind, bucket=bucket))
        return rows

    def _omissions(self, own: Sides, covered: Covered) -> list[Fault]:
        rows = []
        said = plain(" ".join(own.summary))
        for name in ("dissents", "concurs"):
            first = next((sentence for sentence in own.reference if pattern(name).search(plain(sentence))), None)
            if first is not None and not pattern(name).search(said):
                kind = {"dissents": "dissent", "concurs": "concurrence"}[name]
                rows.append(Fault(omission=first, kind=kind, bucket=self.missing.get(kind, 3)))
        language = language_of(" ".join(own.reference))
        missed = [sentence for sentence, is_in in zip(own.reference, covered.covered, strict=True) if not is_in]
        for sentence in missed:
            if outcomes(sentence, language) and not any(row["omission"] == sentence for row in rows):
                rows.append(Fault(omission=sentence, kind="outcome", bucket=self.missing.get("outcome", 2)))
        if covered.score < MUCH:
            bucket = self.missing.get("outcome", 2) if covered.score < LITTLE else self.missing.get("much", 4)
            named = {row["omission"] for row in rows}
            rows += [Fault(omission=each, kind="much", bucket=bucket) for each in missed if each not in named]
        return rows

    def readouts(self) -> Sequence[Source]:
        return (*self.nli.sources(), Means("embeddings", self.embeddings, self.prompt))

    def settings(self) -> dict[str, Any]:
        own = {"contradicted": self.contradicted, "missing": self.missing, "threshold": self.threshold}
        return super().settings() | own | {"least": self.least, "embeddings": self.embeddings.name}
