"""Judges that doubt a score, by the same bands: `devils_advocate` scores, then argues against the
score; `calibration_probe` asks how often such a score would be right; `single_pass` asks at once
for the defensible range.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, no_confidence, written
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import Item, Record, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.stats.uncertainty import CritiqueUncertainty, critique_uncertainty


class Issue(Record):
    """One problem of a score."""

    kind: Literal["factual", "logical", "missing", "assumption"]
    severity: Literal["minor", "moderate", "major"]
    text: str


class Critique(Answer):
    """The case against a score."""

    issues: tuple[Issue, ...] = ()
    critique_strength: Annotated[float, Number("strength")]
    range_low: Annotated[float, Number()]
    range_high: Annotated[float, Number(at_least="range_low")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None


class DevilsAdvocateJudge(Judge):
    """The score of `initial`, any judge, stands; the critique gives interval, uncertainty level and
    review flag.

    The confidence is 100 x (1 - strength of the critique); what the critic states of it is kept in
    the details. Without words (log-probabilities) no issues are named.
    """

    name = "devils_advocate"
    needs_order = True

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial, self.asker, self.rubric = initial, asker, asker.rubric
        self.critique = asker.question("critique", Critique)

    async def judge(self, item: Item, initial: Verdict | None = None) -> Verdict:
        """`verdict` with the critique's yield; `initial` is a verdict of the initial judge that was
        already had."""
        initial = initial or (await self.initial.acall(item=item)).verdict
        rubric, score = self.rubric, float(initial.score or 0)
        context = {"initial": written(initial, rubric)}
        critique: Critique = (
            await self.critique.acall(item=item, context=context)
        ).answer
        strength = critique.critique_strength / 10
        ends = (critique.range_low, critique.range_high)
        damage, severities = damaged(
            rubric, score, strength, ends, critique.issues, critique.confidence
        )
        details: dict[str, float | str] = {
            "initial_score": score,
            "critique_strength": strength,
            "score_delta": abs(score - sum(ends) / 2),
            "level_from": damage.level_from,
        }
        details |= severities if self.asker.in_words else {}
        details |= (
            {}
            if critique.confidence is None
            else {"stated_confidence": critique.confidence}
        )
        return initial.replace(
            interval=rubric.interval(damage.confidence_interval),
            confidence=100 - 10 * critique.critique_strength,
            confidence_source="procedure",
            issues=(
                *initial.issues,
                *(f"{i.severity} ({i.kind}): {i.text}" for i in critique.issues),
            ),
            uncertainty=damage.level,
            doubt=strength,
            review=damage.recommend_human_review,
            details=initial.details | details,
        )


def damaged(
    rubric: Rubric,
    score: float,
    strength: float,
    ends: Sequence[float],
    issues: Sequence[Any],
    confidence: float | None = None,
) -> tuple[CritiqueUncertainty, dict[str, float]]:
    """What a critique of this strength (0-1), range (`ends`) and `issues` did to a score, and how
    many issues are of each severity, as details. Score and range are on the rubric's scale.

    The formula alone would call it low doubt where a critic states no confidence at all (0 of 100),
    or says nothing against a score and yet defends one other score alone. Such an answer is empty
    or contradicts itself: the doubt is high, and a person should look.
    """
    counts = Counter(issue.severity for issue in issues)
    low, high = (10 * rubric.share(end) for end in ends)
    damage = critique_uncertainty(
        10 * rubric.share(score), strength, (low, high), counts["major"]
    )
    # A critic with no confidence in its own critique has found nothing out, and
    # strength 0 then is no praise of the score.
    contradictions = ["stated_confidence"] if no_confidence(confidence) else []
    if strength == 0 and not counts and damage.score_delta > 0 and low == high:
        contradictions.append("range")
    if contradictions:
        formula = [damage.level_from] if damage.level == "high" else []
        level_from = ", ".join([*formula, *contradictions])
        damage = damage._replace(
            level="high", recommend_human_review=True, level_from=level_from
        )
    return damage, {
        f"{severity}_issues": float(counts[severity])
        for severity in ("minor", "moderate", "major")
    }


class Accuracy(Answer):
    """Estimated share of right scores, after one sentence on what it rests on."""

    reason: str | None = None
    accuracy: Annotated[float, Number("percent")]


class CalibrationProbeJudge(Judge):
    """How often the score of `initial`, any judge, would be right, as it is estimated, is the
    confidence; the doubt it leaves has the devil's advocate's bands (0.3 and 0.6)."""

    name = "calibration_probe"

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        self.initial, self.asker, self.rubric = initial, asker, asker.rubric
        self.accuracy = asker.question("accuracy", Accuracy)

    async def judge(self, item: Item, initial: Verdict | None = None) -> Verdict:
        """`verdict` with the estimate; `initial` is a verdict of the initial judge that was already
        had."""
        initial = initial or (await self.initial.acall(item=item)).verdict
        context = {"initial": written(initial, self.rubric)}
        answer: Accuracy = (
            await self.accuracy.acall(item=item, context=context)
        ).answer
        details: dict[str, float | str] = {
            "estimated_accuracy": answer.accuracy,
            "level_from": "accuracy",
        }
        details |= {} if answer.reason is None else {"accuracy_reason": answer.reason}
        doubt = 1 - answer.accuracy / 100
        # Score and range are left at 0, so that only the doubt decides by the same
        # bands as that of a critique.
        level = critique_uncertainty(0.0, doubt, (0.0, 0.0), 0).level
        return initial.replace(
            confidence=answer.accuracy,
            confidence_source="stated" if self.asker.in_words else "procedure",
            uncertainty=level,
            doubt=doubt,
            review=level == "high",
            details=initial.details | details,
        )


class SinglePass(Answer):
    """A score and the range that a competent person could still defend."""

    score: Annotated[float, Number("score")]
    confidence: Annotated[float | None, Number("percent", words_only=True)] = None
    range_low: Annotated[float, Number(at_most="score")]
    range_high: Annotated[float, Number(at_least="score")]
    key_uncertainty: str | None = None
    rationale: str | None = None


class SinglePassJudge(Judge):
    """The range is the interval, and its width the uncertainty (the bands of the devil's advocate).
    Where numbers are asked one by one, without words, the score is that of `initial`, and the range
    is asked about that score.
    """

    name = "single_pass"
    needs_order = True

    def __init__(self, initial: Judge, asker: Asker) -> None:
        super().__init__()
        # in words the answer holds its own score
        self.initial = None if asker.in_words else initial
        self.asker, self.rubric = asker, asker.rubric
        self.answer = asker.question("single_pass", SinglePass, known=("score",))

    async def judge(self, item: Item) -> Verdict:
        if self.initial is None:
            answer: SinglePass = (await self.answer.acall(item=item)).answer
            verdict = Verdict(
                score=answer.score,
                confidence=answer.confidence,
                confidence_source="stated",
                rationale=answer.rationale,
                issues=(answer.key_uncertainty,)
                if answer.key_uncertainty is not None
                else (),
            )
        else:
            verdict = (await self.initial.acall(item=item)).verdict
            answer = (
                await self.answer.acall(item=item, known={"score": verdict.score})
            ).answer
        score, *ends = (
            10 * self.rubric.share(n)
            for n in (answer.score, answer.range_low, answer.range_high)
        )
        level = critique_uncertainty(score, 0.0, (ends[0], ends[1]), 0).level
        level_from = "width"
        # a narrow range is no knowledge where nothing is known
        if no_confidence(verdict.confidence):
            level_from = (
                "width, stated_confidence" if level == "high" else "stated_confidence"
            )
            level = "high"
        return verdict.replace(
            interval=(answer.range_low, answer.range_high),
            uncertainty=level,
            review=level == "high",
            details=verdict.details
            | {
                "width": answer.range_high - answer.range_low,
                "level_from": level_from,
            },
        )
