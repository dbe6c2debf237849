"""Judges of predicted gating hierarchies that ask once: five styles of one procedure, each with criteria of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from undogmatic.constructs.gating.parse import parse
from undogmatic.constructs.gating.tree import Malformed
from undogmatic.errors import UnfitInput
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source
from undogmatic.judges.questions import Answer, Number, numbers
from undogmatic.records.records import OVERALL, Item, ScoreDistribution, Verdict
from undogmatic.records.rubric import NumericScale, OrderedScale, Rubric

PREDICTION, UNPARSED = "prediction", "unparsed"
SHARE = NumericScale(minimum=0, maximum=1)
YES_NO = OrderedScale(categories=("no", "yes"))
GRADES = OrderedScale(categories=("unusable", "poor", "fair", "good", "excellent"))

Scored = Annotated[float, Number("rubric")]
Estimated = Annotated[float, Number("percent", own=SHARE)]
Asserted = Annotated[float, Number("percent", own=YES_NO)]
Graded = Annotated[float, Number("percent", own=GRADES)]


class Judged(Answer):
    """What a style says: its number fields are its criteria, `overall` the last; words are issues and a summary."""

    room: ClassVar[int] = 1500

    def found(self) -> tuple[str, ...]:
        """What is wrong with the prediction, in words."""
        return ()

    def said(self) -> str | None:
        """The verdict in a sentence or two."""
        return None


class Default(Judged):
    """How complete, how accurate, how sound as cytometry."""

    issues: tuple[str, ...] = ()
    summary: str | None = None
    completeness: Scored
    accuracy: Scored
    scientific: Scored
    overall: Scored

    def found(self) -> tuple[str, ...]:
        return self.issues

    def said(self) -> str | None:
        return self.summary


class Validation(Judged):
    """What the automatic metrics will say, which the judge has not seen."""

    reasoning: str | None = None
    f1: Estimated
    structure: Estimated
    critical_recall: Estimated
    overall: Scored

    def said(self) -> str | None:
        return self.reasoning


class Qualitative(Judged):
    """Words first, and a grade in words."""

    strengths: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    advice: str | None = None
    coverage: Graded
    logic: Graded
    overall: Graded

    def found(self) -> tuple[str, ...]:
        return (*self.errors, *(f"missing: {each}" for each in self.missing))

    def said(self) -> str | None:
        return self.advice


class Orthogonal(Judged):
    """What overlap with the expert's names does not measure."""

    issues: tuple[str, ...] = ()
    summary: str | None = None
    plausibility: Scored
    marker_use: Scored
    gate_order: Scored
    usefulness: Scored
    overall: Scored

    def found(self) -> tuple[str, ...]:
        return self.issues

    def said(self) -> str | None:
        return self.summary


class Binary(Judged):
    """Yes or no, question by question; `overall` is whether an expert would accept it."""

    reasons: tuple[str, ...] = ()
    cleaning_gates: Asserted
    main_lineages: Asserted
    parents_right: Asserted
    panel_respected: Asserted
    overall: Asserted

    def found(self) -> tuple[str, ...]:
        return self.reasons


class GatingJudge(Judge):
    """One answer, a criterion per number in it, each mapped linearly to the rubric's scale.

    The numbers of the criteria, as shares, are in the details of `overall` too, where rules of `judge=selective` look
    for `accuracy` and `scientific`. A prediction that is no hierarchy fails as `input`, with the reason, and nobody is
    asked.

    Args:
        asker: How the answer is asked for; without words, each number is a level question.
    """

    asked: ClassVar[type[Judged]] = Default

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker, self.rubric = asker, asker.rubric
        self.ask = asker.question(self.name, self.asked)

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """A verdict per criterion."""
        hierarchy(item)
        prediction = await self.ask.acall(item=item)
        answer: Judged = prediction.answer
        verdicts: dict[str, Verdict] = {}
        shares: dict[str, float | str] = {}
        for name, number in numbers(self.asked).items():
            verdicts[name] = verdict_of(getattr(answer, name), number, self.rubric, prediction.distributions.get(name))
            if name != OVERALL:
                shares[name] = share(getattr(answer, name), number, self.rubric)
        whole = verdicts[OVERALL].replace(details=shares, issues=answer.found(), rationale=answer.said())
        return verdicts | {OVERALL: whole}

    def readouts(self) -> Sequence[Source]:
        return (self.asker,)


class DefaultJudge(GatingJudge):
    """`judge=gating/default`."""

    name, asked = "gating_default", Default
    criteria = tuple(numbers(Default))


class ValidationJudge(GatingJudge):
    """`judge=gating/validation`: estimates F1, structure accuracy and recall of critical gates unseen."""

    name, asked = "gating_validation", Validation
    criteria = tuple(numbers(Validation))


class QualitativeJudge(GatingJudge):
    """`judge=gating/qualitative`: strengths, errors, gaps, advice, and grades in words."""

    name, asked = "gating_qualitative", Qualitative
    criteria = tuple(numbers(Qualitative))


class OrthogonalJudge(GatingJudge):
    """`judge=gating/orthogonal`: what the automatic metrics do not measure."""

    name, asked = "gating_orthogonal", Orthogonal
    criteria = tuple(numbers(Orthogonal))


class BinaryJudge(GatingJudge):
    """`judge=gating/binary`: yes or no."""

    name, asked = "gating_binary", Binary
    criteria = tuple(numbers(Binary))


def hierarchy(item: Item) -> None:
    """Raise UnfitInput, with the reason, unless the item's prediction is a hierarchy."""
    try:
        parse(item.inputs.get(PREDICTION, item.inputs.get(UNPARSED)))
    except Malformed as error:
        raise UnfitInput(f"the prediction is no hierarchy; {error}", item.inputs.get(UNPARSED)) from None
    if PREDICTION not in item.inputs:
        raise UnfitInput(f"there is no {PREDICTION} (the item has: {', '.join(item.inputs)})")


def share(value: float, number: Number, rubric: Rubric) -> float:
    """An answer as a share of the scale that it was asked on: a 1 on 0-10 is 0.1."""
    scale = number.scale(rubric)
    return (value - scale.minimum) / (scale.maximum - scale.minimum)


def verdict_of(value: float, number: Number, rubric: Rubric, asked: ScoreDistribution | None) -> Verdict:
    """A number as a score of the rubric; read by log-probabilities, with its distribution and that one's confidence."""
    score = rubric.units(share(value, number, rubric))
    if asked is None:
        return Verdict(score=score)
    values = tuple(rubric.units(share(level, number, rubric)) for level in asked.values)
    spread = asked.model_copy(update={"values": values})
    return Verdict(score=score, distribution=spread, confidence=spread.confidence, confidence_source="entropy")
