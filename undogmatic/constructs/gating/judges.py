"""Judges predicted gating hierarchies: five styles that ask once, and one that argues against a
first judgment."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from undogmatic.constructs.gating.hierarchy import Malformed, parse
from undogmatic.errors import UnfitInput
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, written
from undogmatic.judges.devils_advocate import damaged
from undogmatic.judges.questions import Answer, Number, numbers
from undogmatic.records.records import OVERALL, Item, Record, Verdict, entropy_verdict
from undogmatic.records.rubric import NumericScale, OrderedScale

PREDICTION, UNPARSED = "prediction", "unparsed"
SHARE = NumericScale(minimum=0, maximum=1)
YES_NO = OrderedScale(categories=("no", "yes"))
GRADES = OrderedScale(categories=("unusable", "poor", "fair", "good", "excellent"))

Scored = Annotated[float, Number("rubric")]
Estimated = Annotated[float, Number("percent", own=SHARE)]
Asserted = Annotated[float, Number("percent", own=YES_NO)]
Graded = Annotated[float, Number("percent", own=GRADES)]


class GatingAnswer(Answer):
    """What a style says: its number fields are its criteria, `overall` the last; words are issues
    and a summary."""

    room: ClassVar[int] = 1500


class Default(GatingAnswer):
    """How complete, how accurate, how sound as cytometry."""

    issues: tuple[str, ...] = ()
    summary: str | None = None
    completeness: Scored
    accuracy: Scored
    scientific: Scored
    overall: Scored


class Validation(GatingAnswer):
    """What the automatic metrics will say, which the judge has not seen."""

    reasoning: str | None = None
    f1: Estimated
    structure: Estimated
    critical_recall: Estimated
    overall: Scored


class Qualitative(GatingAnswer):
    """Words first, and a grade in words."""

    strengths: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    advice: str | None = None
    coverage: Graded
    logic: Graded
    overall: Graded


class Orthogonal(GatingAnswer):
    """What overlap with the expert's names does not measure."""

    issues: tuple[str, ...] = ()
    summary: str | None = None
    plausibility: Scored
    marker_use: Scored
    gate_order: Scored
    usefulness: Scored
    overall: Scored


class Binary(GatingAnswer):
    """Yes or no, question by question; `overall` is whether an expert would accept it."""

    reasons: tuple[str, ...] = ()
    cleaning_gates: Asserted
    main_lineages: Asserted
    parents_right: Asserted
    panel_respected: Asserted
    overall: Asserted


class GatingJudge(Judge):
    """One answer, a criterion per number in it, each mapped linearly to the rubric's scale.

    The numbers of the criteria, as shares, are in the details of `overall` too, where rules of
    `judge=selective` look for `accuracy` and `scientific`. A prediction that is no hierarchy fails
    as `input`, with the reason, and nobody is asked. Without words, each number is a level
    question.
    """

    asked: ClassVar[type[GatingAnswer]]

    def __init_subclass__(cls, asked: type[GatingAnswer]) -> None:
        super().__init_subclass__()
        cls.name = f"gating_{asked.__name__.lower()}"
        cls.asked = asked
        cls.criteria = tuple(numbers(asked))

    def __init__(self, asker: Asker) -> None:
        super().__init__()
        self.asker, self.rubric = asker, asker.rubric
        self.ask = asker.question(self.name, self.asked)

    async def judge(self, item: Item) -> Mapping[str, Verdict]:
        """A verdict per criterion."""
        hierarchy(item)
        prediction = await self.ask.acall(item=item)
        words = prediction.answer.model_dump()
        verdicts: dict[str, Verdict] = {}
        shares: dict[str, float | str] = {}
        for name, number in numbers(self.asked).items():
            scale = number.scale(self.rubric)
            low, span = scale.minimum, scale.maximum - scale.minimum
            shares[name] = (words[name] - low) / span  # a 1 on 0-10 is 0.1
            score = self.rubric.units((words[name] - low) / span)
            verdicts[name] = Verdict(score=score)
            if (
                asked := prediction.distributions.get(name)
            ) is not None:  # it was read by log-probabilities
                values = tuple(
                    self.rubric.units((level - low) / span) for level in asked.values
                )
                verdicts[name] = entropy_verdict(
                    asked.model_copy(update={"values": values}), score=score
                )
        del shares[OVERALL]
        issues = [
            issue
            for name in ("issues", "errors", "reasons")
            for issue in words.get(name, ())
        ]
        issues += [f"missing: {gate}" for gate in words.get("missing", ())]
        summary = next(
            (
                words[name]
                for name in ("summary", "reasoning", "advice")
                if name in words
            ),
            None,
        )
        whole = verdicts[OVERALL].replace(
            details=shares, issues=tuple(issues), rationale=summary
        )
        return verdicts | {OVERALL: whole}


class DefaultJudge(GatingJudge, asked=Default):
    """`judge=gating/default`."""


class ValidationJudge(GatingJudge, asked=Validation):
    """`judge=gating/validation`: estimates F1, structure accuracy and recall of critical gates
    unseen."""


class QualitativeJudge(GatingJudge, asked=Qualitative):
    """`judge=gating/qualitative`: strengths, errors, gaps, advice, and grades in words."""


class OrthogonalJudge(GatingJudge, asked=Orthogonal):
    """`judge=gating/orthogonal`: what the automatic metrics do not measure."""


class BinaryJudge(GatingJudge, asked=Binary):
    """`judge=gating/binary`: yes or no."""


def hierarchy(item: Item) -> None:
    """Raise UnfitInput, with the reason, unless the item's prediction is a hierarchy."""
    try:
        parse(item.inputs.get(PREDICTION, item.inputs.get(UNPARSED)))
    except Malformed as error:
        raise UnfitInput(
            f"the prediction is no hierarchy; {error}", item.inputs.get(UNPARSED)
        ) from None
    if PREDICTION not in item.inputs:
        raise UnfitInput(
            f"there is no {PREDICTION} (the item has: {', '.join(item.inputs)})"
        )


class BiologicalIssue(Record):
    """Something that is wrong as biology."""

    severity: Literal["minor", "moderate", "major"]
    text: str


class Doubts(Answer):
    """The case against a judgment of a hierarchy."""

    room: ClassVar[int] = 2000

    biological_issues: tuple[BiologicalIssue, ...] = ()
    missing_critical_gates: tuple[str, ...] = ()
    invented_gates: tuple[str, ...] = ()
    marker_concerns: tuple[str, ...] = ()
    hallucination_risk: Annotated[float, Number("strength")]
    revised_overall: Scored
    confidence: Annotated[float, Number("percent")]
    expert_review: Asserted


class UncertaintyJudge(Judge):
    """The revised score, with the formulas of the devil's advocate: 1 - confidence is the strength
    of the case, and the range runs from the initial to the revised score. The case is made against
    every score of the initial judge.

    Unlike in `judge=devils_advocate` the revised score counts, because this style is asked for one;
    the initial one is in the details. A person is asked for where the level is high or the judge
    wants one.
    """

    name = "gating_uncertainty"
    needs_order = True

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial, self.asker, self.rubric = initial, asker, asker.rubric
        self.critique = asker.question("gating_uncertainty", Doubts)

    async def judge(self, item: Item, initial: Verdict | None = None) -> Verdict:
        """`verdict`; `initial` is one of the initial judge that was already had."""
        hierarchy(item)
        initial = initial or (await self.initial.acall(item=item)).verdict
        rubric, first = self.rubric, float(initial.score or 0)
        # All scores of the initial judge: the overall one, and those of its other criteria that its
        # details keep.
        shares = (
            (name, initial.details.get(name))
            for name in self.initial.criteria
            if name != OVERALL
        )
        others = {
            name: rubric.units(share)
            for name, share in shares
            if not isinstance(share, str | None)
        }
        quoted = [
            f"{name} {rubric.scale.write(score)}" for name, score in others.items()
        ]
        quoted.append(
            f"{OVERALL} {written(initial, rubric)}"
            if quoted
            else written(initial, rubric)
        )
        doubts: Doubts = (
            await self.critique.acall(item=item, context={"initial": ", ".join(quoted)})
        ).answer
        ends = sorted((first, doubts.revised_overall))
        strength = 1 - doubts.confidence / 100
        damage, severities = damaged(
            rubric, first, strength, ends, doubts.biological_issues
        )
        missing, invented = doubts.missing_critical_gates, doubts.invented_gates
        details: dict[str, float | str] = {
            **{
                "initial_score": first,
                "hallucination_risk": doubts.hallucination_risk / 10,
            },
            **{
                "stated_confidence": doubts.confidence,
                "expert_review": doubts.expert_review,
            },
            "level_from": damage.level_from,
        }
        if self.asker.in_words:
            details |= severities
            details |= {
                "missing_critical_gates": ", ".join(missing),
                "invented_gates": ", ".join(invented),
            }
        issues = [
            *initial.issues,
            *(f"{issue.severity}: {issue.text}" for issue in doubts.biological_issues),
        ]
        named = {
            "missing critical gate": missing,
            "may be invented": invented,
            "marker": doubts.marker_concerns,
        }
        issues += [
            f"{what}: {concern}"
            for what, concerns in named.items()
            for concern in concerns
        ]
        return initial.replace(
            score=doubts.revised_overall,
            distribution=None,
            interval=rubric.interval(damage.confidence_interval),
            confidence=doubts.confidence,
            confidence_source="procedure",
            issues=tuple(issues),
            uncertainty=damage.level,
            doubt=strength,
            review=damage.recommend_human_review or doubts.expert_review > 0.5,
            details=initial.details | details,
        )
