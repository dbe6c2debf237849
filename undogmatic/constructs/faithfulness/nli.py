"""Measures how much of the reference a summary leaves uncontradicted, by rules or by a model that
names sentences."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from undogmatic.constructs.faithfulness.compared import (
    Means,
    Sides,
    sides,
    table,
    uncontradicted,
)
from undogmatic.constructs.faithfulness.facts.accusations import (
    CONTRADICTED,
    contradictions,
    is_sure,
)
from undogmatic.constructs.faithfulness.facts.words import lexicon
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer
from undogmatic.models.embeddings import Embeddings
from undogmatic.readouts.base import Unit
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Record, Verdict, as_text, digest


class SentenceFinding(NamedTuple):
    """What was found of one sentence of the reference."""

    contradicted: bool  # whether any sentence of the summary surely contradicts it
    match: int | None = (
        # the place of the one that does, else of the nearest; None where there is none
        None
    )
    why: str = ""  # the rule and what it found, or the words of whoever judged
    # date, vote, outcome, ..., where it is known; with a kind but not `contradicted` it is a doubt
    kind: str = ""
    numbers: Mapping[str, float] = {}  # similarity or probabilities, by name

    @property
    def doubted(self) -> bool:
        """Whether a contradiction is suspected by means that err too often to say so."""
        return bool(self.kind) and not self.contradicted


class Entailment(Unit):
    """Base of the means. A class of one's own has `compare`, and a file in conf/nli/."""

    name = "entailment"  # its name in `nli=`
    group = "nli"

    async def compare(self, item: Item, sides: Sides) -> Sequence[SentenceFinding]:
        """A finding for every sentence of the reference, in order. Raises ModelError."""
        raise NotImplementedError

    def readouts(self) -> Sequence[Source]:
        """What it asks or uses, for reports."""
        raise NotImplementedError


class NliJudge(Judge):
    """1 - contradicted / total over the sentences of the reference; one that any sentence
    contradicts is contradicted.

    A doubt is listed with the sentences and costs nothing. What a summary says besides moves
    nothing, and what it leaves out neither: that is for `coverage`.

    Args:
        nli: Who says whether a sentence contradicts another.
        least: Shorter sentences are skipped, in characters.
    """

    name = "nli"
    criteria = ("nli",)
    asks = False

    def __init__(
        self, nli: Entailment, least: Annotated[int, Field(ge=1, le=1000)] = 10
    ) -> None:
        super().__init__()
        self.nli, self.least = nli, least

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """The share uncontradicted, and what was found of every sentence."""
        texts = sides(item, self.least)
        findings = await self.nli.compare(item, texts)
        rows = []
        for sentence, finding in zip(texts.reference, findings, strict=True):
            match = None if finding.match is None else texts.summary[finding.match]
            label = (
                "contradiction"
                if finding.contradicted
                else "doubt"
                if finding.doubted
                else "none"
            )
            row = {
                "sentence": sentence,
                "best_match": match,
                "label": label,
                "kind": finding.kind,
                "why": finding.why,
            }
            rows.append({**row, **finding.numbers})
        score = self.rubric.units(
            uncontradicted([finding.contradicted for finding in findings])
        )
        issues = tuple(finding.why for finding in findings if finding.contradicted)
        counts = {
            "contradicted": float(len(issues)),
            "doubted": float(sum(finding.doubted for finding in findings)),
        }
        return {
            "nli": Verdict(
                score=score,
                issues=issues,
                details=counts | texts.lengths | {"sentences": table(rows)},
            )
        }


def in_words(asker: Asker, choice: str, wanted: str, instead: str) -> Asker:
    """The asker. Raises ConfigError where its answers hold numbers only."""
    if not asker.in_words:
        raise ConfigError(
            f"{choice} wants {wanted}, and {asker.model.name} answers with numbers only here. Use a"
            f" model that chats (model=gpt, model=ollama, ...), or without one: {instead}."
        )
    return asker


class Named(Record):
    """One contradiction: the numbers of the two sentences, and why both cannot be true."""

    reference: int
    summary: int
    kind: Literal["outcome", "holding", "vote", "date", "number", "party", "fact"]
    why: str


class Contradicted(Answer):
    """All contradictions between the two lists of sentences; often none."""

    room: ClassVar[int] = 2500

    contradictions: tuple[Named, ...] = ()


class LlmEntailment(Entailment):
    """The model, asked in words, sees both texts by numbered sentences and lists the
    contradictions. A number that is on neither list is an unreadable answer."""

    name = "llm"

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker = in_words(asker, "nli=llm", "a list of contradictions", "nli=rules")
        self.ask = asker.question("nli", Contradicted)

    async def compare(self, item: Item, sides: Sides) -> Sequence[SentenceFinding]:
        """What the model says of every sentence of the reference."""
        numbered = {
            k: "\n".join(f"{n}. {text}" for n, text in enumerate(v, 1))
            for k, v in sides._asdict().items()
        }
        # as judged texts, within their fence
        shown = item.model_copy(update={"inputs": item.inputs | numbered})
        answer: Contradicted = (await self.ask.acall(item=shown)).answer
        findings = [SentenceFinding(False)] * len(sides.reference)
        for one in answer.contradictions:
            for name, sentences in sides._asdict().items():
                if not 1 <= (number := getattr(one, name)) <= len(sentences):
                    listed = as_text(
                        {
                            "contradictions": [
                                named.model_dump() for named in answer.contradictions
                            ]
                        }
                    )
                    raise UnparseableAnswer(
                        f"`{name}` is {number}, and there are sentences 1 to {len(sentences)}",
                        listed,
                    )
            if not findings[one.reference - 1].contradicted:
                why = f"{one.kind}: {one.why}"
                findings[one.reference - 1] = SentenceFinding(
                    True, one.summary - 1, why, one.kind
                )
        return findings

    def readouts(self) -> Sequence[Source]:
        return (self.asker,)


class RulesEntailment(Entailment):
    """Sentences are aligned by embedding; then dates, votes, numbers, outcomes, parties and
    negations are compared.

    What the rules do not know they do not find: it is a baseline that says what it found, and no
    reader.

    Args:
        embeddings, prompt: What says which sentences are alike; the run's prompt, which reaches
            nobody here.
        aligned: Cosine similarity from which two sentences are about the same.
        sure: A kind of contradiction counts if its precision on development (facts/precision.yaml)
            is above this share; others are named as doubts.
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
        self.embeddings, self.prompt, self.aligned, self.sure = (
            embeddings,
            prompt,
            aligned,
            sure,
        )
        self.contents = {
            "words": digest(lexicon()),
            "precision": digest(lexicon("precision")),
        }

    async def compare(self, item: Item, sides: Sides) -> Sequence[SentenceFinding]:
        """What the rules find of every sentence of the reference."""
        similarity = await self.embeddings.similarities(*sides)
        accusations = contradictions(
            sides.reference, sides.summary, similarity, self.aligned
        )
        findings = []
        for cosines, one in zip(similarity, accusations, strict=True):
            place = int(cosines.argmax()) if one is None else one.place
            finding = SentenceFinding(
                False, place, numbers={"similarity": float(cosines[place])}
            )
            if one is not None:
                why = f"{one.kind}: the reference says {one.expected!r}, the summary {one.said!r}"
                sure = is_sure(CONTRADICTED, one.kind, self.sure)
                finding = finding._replace(contradicted=sure, why=why, kind=one.kind)
            findings.append(finding)
        return findings

    def readouts(self) -> Sequence[Source]:
        return (Means("rules", self.embeddings, self.prompt),)
