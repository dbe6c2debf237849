"""`bucket`: a whole number from 1 to 5, by how grave the worst error and the worst omission of a summary are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from undogmatic.constructs.faithfulness.compared import REFERENCE, SUMMARY, needed, table
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import Item, Record, Verdict
from undogmatic.records.rubric import NumericScale

BUCKETS = NumericScale(minimum=1, maximum=5, step=1)
CRITERIA = ("factual_accuracy", "completeness")


class FactualError(Record):
    """Something that the summary says and that is wrong."""

    quote: str
    problem: str
    correct: str
    severity: Literal["minor", "moderate", "major"]


class Buckets(Answer):
    """What the judge says; errors and omissions come before the numbers that follow from them."""

    room: ClassVar[int] = 2500

    errors: tuple[FactualError, ...] = ()
    omissions: tuple[str, ...] = ()
    hedging: bool = False
    rationale: str | None = None
    factual_accuracy: Annotated[float, Number(own=BUCKETS)]
    completeness: Annotated[float, Number(own=BUCKETS)]


class BucketJudge(Judge):
    """Two buckets from one answer, each a fifth of the scale per step; an answer off 1-5 fails and is never filled in.

    An error whose quote does not stand in the summary is kept, marked, and sends the summary to a person.

    Args:
        asker: How the answer is asked for; it needs words.
    """

    name = "bucket"
    criteria = CRITERIA

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        if not asker.in_words:
            raise ConfigError(
                f"judge=bucket wants errors in words, and {asker.model.name} answers with numbers only here. Use a "
                "model that chats (model=gpt, model=ollama, ...), or without one: judge=bucket_rules."
            )
        self.asker = asker
        self.ask = asker.question("bucket", Buckets)

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """A verdict per criterion."""
        summary = needed(item, SUMMARY)
        needed(item, REFERENCE)
        answer: Buckets = (await self.ask.acall(item=item)).answer
        rows = [{**error.model_dump(), "quote_found": stands_in(error.quote, summary)} for error in answer.errors]
        invented = [str(row["quote"]) for row in rows if not row["quote_found"]]
        accuracy = Verdict(
            score=self.rubric.units(answer.factual_accuracy / 5),
            rationale=answer.rationale,
            issues=(
                *(error.problem for error in answer.errors),
                *(f"the quote {quote!r} does not stand in the summary" for quote in invented),
            ),
            review=bool(invented),
            details={
                "bucket": answer.factual_accuracy,
                "errors": table(rows),
                "quotes_not_found": float(len(invented)),
                "hedging": float(answer.hedging),
            },
        )
        completeness = Verdict(
            score=self.rubric.units(answer.completeness / 5),
            rationale=answer.rationale,
            issues=answer.omissions,
            details={"bucket": answer.completeness, "omissions": table([{"omission": o} for o in answer.omissions])},
        )
        return dict(zip(CRITERIA, (accuracy, completeness), strict=True))

    def readouts(self) -> Sequence[Source]:
        return (self.asker,)


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, whatever its case, spaces, quotation marks and the full stop at its end; parts
    around an ellipsis are looked for one by one."""
    plain_text = _plain(text)
    parts = [part for each in re.split(r"\.\.\.|…|\[\.*\]", quote) if (part := _plain(each))]
    return bool(parts) and all(part in plain_text for part in parts)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[\"'“”‘’«»*_`]", "", text).casefold().split()).strip(" .,;:")
