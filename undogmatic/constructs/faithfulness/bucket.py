"""Gives a summary a whole number from 1 to 5 by its worst error and its worst omission: by a model,
or by rules.

The judge by rules and embeddings is a baseline that runs offline, and no person.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from undogmatic.constructs.faithfulness.compared import (
    REFERENCE,
    SUMMARY,
    Means,
    Sides,
    coverage,
    needed,
    sides,
    table,
)
from undogmatic.constructs.faithfulness.facts.accusations import (
    HEDGED,
    INVENTED,
    hedges,
    inventions,
    is_sure,
)
from undogmatic.constructs.faithfulness.facts.reading import outcomes
from undogmatic.constructs.faithfulness.facts.words import (
    language_of,
    lexicon,
    pattern,
    plain,
    sentences,
)
from undogmatic.constructs.faithfulness.nli import Entailment, SentenceFinding, in_words
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number
from undogmatic.models.embeddings import Embeddings
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Record, Verdict, digest
from undogmatic.records.rubric import NumericScale, Rubric

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
    """Two buckets from one answer, each a fifth of the scale per step; an answer off 1-5 fails and
    is never filled in.

    An error whose quote does not stand in the summary is kept, marked, and sends the summary to a
    person. The answer is asked for in words.
    """

    name = "bucket"
    criteria = CRITERIA

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker = in_words(
            asker, "judge=bucket", "errors in words", "judge=bucket_rules"
        )
        values = severities(asker.rubric, asker.prompt.language)
        self.ask = asker.question("bucket", Buckets, values)

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """A verdict per criterion."""
        summary = needed(item, SUMMARY)
        needed(item, REFERENCE)
        answer: Buckets = (await self.ask.acall(item=item)).answer
        errors = [
            error.model_dump() | {"quote_found": stands_in(error.quote, summary)}
            for error in answer.errors
        ]
        invented = [str(error["quote"]) for error in errors if not error["quote_found"]]
        accuracy: dict[str, float | str] = {
            "errors": table(errors),
            "quotes_not_found": float(len(invented)),
        }
        accuracy["hedging"] = float(answer.hedging)
        problems = [error.problem for error in answer.errors]
        problems += [
            f"the quote {quote!r} does not stand in the summary" for quote in invented
        ]
        omissions = {
            "omissions": table(
                [{"omission": omission} for omission in answer.omissions]
            )
        }
        verdicts = (
            _verdict(self.rubric, answer.factual_accuracy, accuracy, problems).replace(
                review=bool(invented)
            ),
            _verdict(self.rubric, answer.completeness, omissions, answer.omissions),
        )
        return {
            c: v.replace(rationale=answer.rationale)
            for c, v in zip(CRITERIA, verdicts, strict=True)
        }


def severities(rubric: Rubric, language: str) -> dict[str, str]:
    """What each bucket stands for: the rubric's meaning of that fifth of its scale. Raises
    ConfigError where it gives a fifth none."""
    meanings = rubric.wordings[language].meanings
    of_share = {
        round(rubric.share(level), 6): meaning
        for level, meaning in zip(rubric.levels, meanings, strict=False)
    }
    if lacking := [n for n in range(1, 6) if n / 5 not in of_share]:
        raise ConfigError(
            f"`rubric` is {rubric.name}, which gives no meaning for {lacking[0]} of 5, and"
            " judge=bucket tells the model what each number stands for. Give the rubric six"
            " meanings, at 0, 0.2, 0.4, 0.6, 0.8 and 1 of its scale, as conf/rubric/faithfulness"
            " does; or choose that rubric."
        )
    return {f"bucket_{n}": of_share[n / 5].rstrip(" .;") for n in range(1, 6)}


def _verdict(
    rubric: Rubric,
    bucket: float,
    details: Mapping[str, float | str],
    issues: Sequence[str],
) -> Verdict:
    return Verdict(
        score=rubric.units(bucket / 5),
        issues=tuple(issues),
        details={"bucket": float(bucket), **details},
    )


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote stands in a text, whatever its case, spaces, quotation marks and the full
    stop at its end; parts around an ellipsis are looked for one by one."""

    def bare(text: str) -> str:
        return " ".join(re.sub(r"[\"'“”‘’«»*_`]", "", text).casefold().split()).strip(
            " .,;:"
        )

    parts = [
        part for piece in re.split(r"\.\.\.|…|\[\.*\]", quote) if (part := bare(piece))
    ]
    return bool(parts) and all(part in bare(text) for part in parts)


Bucket = Annotated[int, Field(ge=1, le=5)]
FLAWLESS, INCOHERENT = 5, 1
LITTLE, MUCH = 0.25, 0.9
"""Shares of the reference: of less the summary says too little whatever is missing, of more nothing
much is."""
_VALUES = ("date", "number", "vote")
Fault = dict[str, Any]
"""A row of a table of errors or omissions, with the bucket that it alone would give under `bucket`.
"""


class BucketRulesJudge(Judge):
    """The gravest error decides factual accuracy, the gravest omission completeness.

    An error is a contradiction; a citation, name, number, date or event that stands neither in the
    opinion nor in the reference; or a hedge on what the reference says without one. Where an item
    has no opinion, nothing is called invented: citations that the reference lacks are noted
    (`details.noted`) and cost nothing.

    Accusations of a kind that was too often wrong on development (facts/precision.yaml) are doubts:
    they are listed with `doubt`, and cost nothing.

    An omission is a dissent or concurrence that the summary never speaks of, or a sentence of the
    reference that it does not cover: one with an outcome weighs as a holding.

    Args:
        nli, embeddings: What finds contradictions, and what says which sentences are covered.
        prompt: The run's; it reaches nobody here.
        contradicted: The bucket that a contradiction of a kind leaves; `other` is for kinds without
            a name.
        missing: The bucket that an omission leaves: dissent, concurrence, outcome, much (over a
            tenth of all).
        invented: The bucket that an invention of a kind leaves: citation, name, number, date,
            event.
        hedged: The bucket that hedging an outcome or `several` statements leaves; less is named and
            costs nothing.
        sure: A kind of accusation costs something if its precision on development is above this
            share.
        aligned: Similarity from which a hedged sentence is about one of the reference.
        threshold, least: Similarity above which a sentence is covered; characters below which one
            is skipped.
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
        invented: dict[str, Bucket],
        hedged: Bucket = 4,
        several: Annotated[int, Field(ge=1)] = 2,
        sure: Annotated[float, Field(ge=0, le=1)] = 0.9,
        aligned: Annotated[float, Field(ge=-1, le=1)] = 0.45,
        threshold: Annotated[float, Field(ge=-1, le=1)] = 0.5,
        least: Annotated[int, Field(ge=1, le=1000)] = 10,
    ) -> None:
        super().__init__()
        self.nli, self.embeddings, self.prompt = nli, embeddings, prompt
        self.contradicted, self.missing = contradicted, missing
        self.invented, self.hedged, self.several, self.aligned = (
            invented,
            hedged,
            several,
            aligned,
        )
        self.threshold, self.least, self.sure = threshold, least, sure
        self.contents = {
            "support": digest(lexicon("support")),
            "precision": digest(lexicon("precision")),
        }

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """A verdict per criterion."""
        texts = sides(item, self.least)
        findings = await self.nli.compare(item, texts)
        similarities = await self.embeddings.similarities(*texts)
        covered = coverage(similarities, self.threshold, inclusive=False)
        missed = [
            sentence
            for sentence, is_in in zip(texts.reference, covered.covered, strict=True)
            if not is_in
        ]
        opinion = item.inputs.get("opinion", "").strip()
        errors: list[Fault] = []
        for sentence, finding in zip(texts.reference, findings, strict=True):
            if finding.contradicted or finding.doubted:
                quote = "" if finding.match is None else texts.summary[finding.match]
                left = self.contradicted.get(
                    finding.kind, self.contradicted.get("other", 3)
                )
                row = {
                    "quote": quote,
                    "problem": finding.why,
                    "correct": sentence,
                    "kind": finding.kind,
                }
                errors.append(row | _cost(left, finding.contradicted))
        beside = self._beside(texts, opinion, findings)
        sources = {"sources": "opinion, reference" if opinion else "reference"}
        if opinion:
            errors += beside
        # Without the opinion nobody knows whether the summary has it from there or from
        # nowhere.
        elif beside:
            sources["noted"] = table(beside)
        hedged = hedges(texts.reference, texts.summary, similarities, self.aligned)
        costly = len(hedged) >= self.several or any(hedge.outcome for hedge in hedged)
        cost = _cost(
            self.hedged if costly else FLAWLESS, is_sure(HEDGED, "hedging", self.sure)
        )
        for place, reference, phrases, _ in hedged:
            problem = f"hedging: {', '.join(map(repr, phrases))}; the reference says it without"
            row = {
                "quote": texts.summary[place],
                "problem": problem,
                "correct": texts.reference[reference],
            }
            errors.append(row | {"kind": "hedging"} | cost)
        verdicts = {}
        for criterion, name, rows, more in (
            (CRITERIA[0], "errors", errors, sources),
            (
                CRITERIA[1],
                "omissions",
                self._omissions(texts, missed, covered.score),
                {},
            ),
        ):
            bucket = (
                INCOHERENT
                if covered.score == 0
                else min([row["bucket"] for row in rows], default=FLAWLESS)
            )
            issues = [
                f"{'doubt: ' if row.get('doubt') else ''}{row.get('problem') or row['omission']}"
                for row in rows
            ]
            verdicts[criterion] = _verdict(
                self.rubric, bucket, {name: table(rows), **more}, issues
            )
        return verdicts

    def _beside(
        self, texts: Sides, opinion: str, findings: Sequence[SentenceFinding]
    ) -> list[Fault]:
        """What is invented; without an opinion the citations that the reference lacks. A value that
        contradicts is named once."""
        wrong = {
            finding.match
            for finding in findings
            if finding.contradicted and finding.kind in _VALUES
        }
        invented: dict[tuple[int, str], dict[str, None]] = {}
        for one in inventions(
            texts.summary, [*texts.reference, *sentences(opinion)], events=bool(opinion)
        ):
            if (one.kind == "citation" or opinion) and not (
                one.kind in _VALUES and one.place in wrong
            ):
                invented.setdefault((one.place, one.kind), {})[repr(one.said)] = None
        where = "neither in the opinion nor in the reference"
        where = (
            where
            if opinion
            else "not in the reference; there is no opinion to look it up in"
        )
        faults = []
        for (place, kind), said in invented.items():
            named = "fabricated_citation" if kind == "citation" else "invented_detail"
            row = {
                "quote": texts.summary[place],
                "problem": f"{kind}: {', '.join(said)} stands {where}",
                "kind": named,
            }
            bucket = self.invented.get(kind, 3) if opinion else FLAWLESS
            faults.append(row | _cost(bucket, is_sure(INVENTED, kind, self.sure)))
        return faults

    def _omissions(
        self, texts: Sides, missed: Sequence[str], share: float
    ) -> list[Fault]:
        """Of a reference of which so large a share is covered, the `missed` sentences not being."""
        summary, language = (
            plain(" ".join(texts.summary)),
            language_of(" ".join(texts.reference)),
        )
        rows: list[Fault] = []
        for name, kind in (("dissents", "dissent"), ("concurs", "concurrence")):
            first = next(
                (
                    sentence
                    for sentence in texts.reference
                    if pattern(name).search(plain(sentence))
                ),
                None,
            )
            if first is not None and not pattern(name).search(summary):
                rows.append(
                    {
                        "omission": first,
                        "kind": kind,
                        "bucket": self.missing.get(kind, 3),
                    }
                )
        decisive = self.missing.get("outcome", 2)
        decided = dict.fromkeys(
            sentence for sentence in missed if outcomes(sentence, language)
        )
        kinds: list[tuple[str, int, Iterable[str]]] = [("outcome", decisive, decided)]
        if share < MUCH:
            kinds.append(
                (
                    "much",
                    decisive if share < LITTLE else self.missing.get("much", 4),
                    missed,
                )
            )
        for kind, bucket, unsaid in kinds:
            named = {row["omission"] for row in rows}
            rows += [
                {"omission": each, "kind": kind, "bucket": bucket}
                for each in unsaid
                if each not in named
            ]
        return rows

    def readouts(self) -> Sequence[Source]:
        return (*self.nli.readouts(), Means("embeddings", self.embeddings, self.prompt))


def _cost(bucket: int, sure: bool) -> Fault:
    """What a fault adds to its row: the bucket that it leaves, and whether it is a doubt, which
    leaves the best."""
    return {"bucket": bucket if sure else FLAWLESS, "doubt": not sure}
