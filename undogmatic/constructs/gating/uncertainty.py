"""`gating/uncertainty`: a hierarchy is judged, then the judgment is argued against as a cytometrist would."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from undogmatic.constructs.gating.judges import Asserted, Scored, hierarchy
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge, Source, written
from undogmatic.judges.questions import Answer, Number
from undogmatic.records.records import OVERALL, Item, Record, Verdict
from undogmatic.stats.uncertainty import critique_uncertainty


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
    """The revised score, with the formulas of the devil's advocate: 1 - confidence is the strength of the case, and the
    range runs from the initial to the revised score. The case is made against every score of the initial judge.

    Unlike in `judge=devils_advocate` the revised score counts, because this style is asked for one; the initial one is
    in the details. A person is asked for where the level is high or the judge wants one.

    Args:
        initial: Any judge with an overall score; it is argued against.
        asker: How the case is asked for.
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
        if initial is None:
            initial = (await self.initial.acall(item=item)).verdict
        rubric, first = self.rubric, float(initial.score or 0)
        context = {"initial": self._quoted(initial)}
        doubts: Doubts = (await self.critique.acall(item=item, context=context)).answer
        ends = sorted((first, doubts.revised_overall))
        counts = Counter(issue.severity for issue in doubts.biological_issues)
        strength = 1 - doubts.confidence / 100
        shares = (10 * rubric.share(ends[0]), 10 * rubric.share(ends[1]))
        found = critique_uncertainty(10 * rubric.share(first), strength, shares, counts["major"])
        details: dict[str, float | str] = {
            "initial_score": first,
            "hallucination_risk": doubts.hallucination_risk / 10,
            "stated_confidence": doubts.confidence,
            "expert_review": doubts.expert_review,
            "level_from": found.level_from,
        }
        if self.asker.in_words:
            details |= {f"{severity}_issues": float(counts[severity]) for severity in ("minor", "moderate", "major")}
            details["missing_critical_gates"] = ", ".join(doubts.missing_critical_gates)
            details["invented_gates"] = ", ".join(doubts.invented_gates)
        return initial.replace(
            score=doubts.revised_overall,
            distribution=None,
            interval=rubric.interval(found.confidence_interval),
            confidence=doubts.confidence,
            confidence_source="procedure",
            issues=(
                *initial.issues,
                *(f"{issue.severity}: {issue.text}" for issue in doubts.biological_issues),
                *(f"missing critical gate: {gate}" for gate in doubts.missing_critical_gates),
                *(f"may be invented: {gate}" for gate in doubts.invented_gates),
                *(f"marker: {concern}" for concern in doubts.marker_concerns),
            ),
            uncertainty=found.level,
            doubt=strength,
            review=found.recommend_human_review or doubts.expert_review > 0.5,
            details=initial.details | details,
        )

    def _quoted(self, initial: Verdict) -> str:
        """All scores of the initial judge: the overall one, and those of its other criteria that its details keep."""
        others = {name: initial.details.get(name) for name in self.initial.criteria if name != OVERALL}
        units = {name: self.rubric.units(share) for name, share in others.items() if isinstance(share, float | int)}
        if not units:
            return written(initial, self.rubric)
        said = [f"{name} {self.rubric.scale.write(score)}" for name, score in units.items()]
        return ", ".join([*said, f"{OVERALL} {written(initial, self.rubric)}"])

    def readouts(self) -> Sequence[Source]:
        return (*self.initial.readouts(), self.asker)
