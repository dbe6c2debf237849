"""`selective`: a cheap judge first, an expensive one only where a rule fires."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from undogmatic.errors import DataError
from undogmatic.judges.base import Judge
from undogmatic.judges.promise import doubt_of, read_promise
from undogmatic.records.records import Item, Record, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.stats.uncertainty import RULES, should_escalate

EVIDENCE = ("accuracy", "scientific", "automatic_f1", "hallucination_rate", "bootstrap_variance")


class HighScore(Record):
    """The overall score (0-1) is above this."""

    overall_above: float = Field(default=0.7, ge=0, le=1)


class DisagreesWithF1(Record):
    """The judge's accuracy score and the automatic F1 (0-1) are further apart than this."""

    f1_gap_above: float = Field(default=0.3, ge=0, le=1)


class HighScientificHallucination(Record):
    """The scientific score is above the one, and the hallucination rate above the other (0-1)."""

    scientific_above: float = Field(default=0.7, ge=0, le=1)
    hallucination_above: float = Field(default=0.1, ge=0, le=1)


class LowVariance(Record):
    """The variance over repeats is below the one, and the overall score above the other (0-1)."""

    variance_below: float = Field(default=0.05, ge=0, le=1)
    stable_overall_above: float = Field(default=0.6, ge=0, le=1)


class LowConfidence(Record):
    """The cheap judge's confidence (a percentage) is below this."""

    confidence_below: float = Field(default=50, ge=0, le=100)


class WideInterval(Record):
    """The cheap judge's interval is wider than this share of the scale."""

    width_above: float = Field(default=0.4, ge=0, le=1)


class Guaranteed(Record):
    """The cheap judge's doubt is above the threshold that a run with analysis=escalation promised for it; without a run
    the rule is off."""

    run: str | None = Field(default=None, min_length=1)


class Rules(Record):
    """The rules with their thresholds; a rule that is null is switched off."""

    high_score: HighScore | None = None
    disagrees_with_f1: DisagreesWithF1 | None = None
    high_scientific_hallucination: HighScientificHallucination | None = None
    low_variance: LowVariance | None = None
    low_confidence: LowConfidence | None = None
    wide_interval: WideInterval | None = None
    guaranteed: Guaranteed | None = None


class SelectiveJudge(Judge):
    """The verdict is the expensive judge's where a rule fired, else the cheap one's.

    `accuracy`, `scientific`, `automatic_f1`, `hallucination_rate` and `bootstrap_variance` (all 0-1) are read from the
    cheap judge's details, else from the item's metadata; a rule whose number is in neither does not fire, and the
    details name it as not evaluated.

    Args:
        cheap: Judges every item.
        expensive: Judges the items where a rule fires. If it starts from the score of a judge equal to `cheap`, it is
            handed that score and does not ask again.
        rubric: The scale.
        rules: The rules that are on. With `guaranteed` alone, what the cheap judge decides alone agrees with the truth
            at the rate, and with the confidence, that the run it names has promised for texts like those of that run.
    """

    name = "selective"

    def __init__(self, cheap: Judge, expensive: Judge, rubric: Rubric, rules: Rules) -> None:
        super().__init__()
        self.cheap, self.expensive, self.rubric, self.rules = cheap, expensive, rubric, rules
        run = None if rules.guaranteed is None else rules.guaranteed.run
        self.promise = None if run is None else read_promise(run, cheap, rubric)
        if self.promise is not None:
            self.contents = {"rules": rules.model_dump(mode="json") | {"guaranteed": self.promise}}
        initial = getattr(expensive, "initial", None)
        self.hands_over = isinstance(initial, Judge) and initial.program_hash() == cheap.program_hash()

    async def judge(self, item: Item) -> Verdict:
        """`verdict` with `escalated` (0 or 1), `rules_fired` and the cheap judge's score."""
        verdict: Verdict = (await self.cheap.acall(item=item)).verdict
        fired, unknown = self.fired(verdict, item)
        details: dict[str, float | str] = {
            "escalated": float(bool(fired)),
            "rules_fired": ", ".join(fired),
            "rules_not_evaluated": ", ".join(unknown),
        }
        if verdict.score is not None:
            details["cheap_score"] = verdict.score
        if fired:
            given = {"initial": verdict} if self.hands_over else {}
            verdict = (await self.expensive.acall(item=item, **given)).verdict
        return verdict.replace(details=verdict.details | details)

    def fired(self, verdict: Verdict, item: Item) -> tuple[list[str], list[str]]:
        """Names of the rules that fired, and of those that are on but lack a number. Raises DataError."""
        rules = {name: rule for name, rule in self.rules if rule is not None}
        evidence: dict[str, Any] = {name: _number(verdict, item, name) for name in EVIDENCE}
        on_evidence = [name for name in rules if name in RULES]
        thresholds = {key: value for name in on_evidence for key, value in rules[name]}
        fired: list[str] = []
        unknown: list[str] = []
        if verdict.score is None:  # categories without an order: there is no overall score to hold against a threshold
            unknown += on_evidence
        else:
            overall = self.rubric.share(verdict.score)
            try:
                found = should_escalate(on_evidence, thresholds, overall=overall, **evidence)
            except ValueError as error:
                raise DataError(f"item {item.id!r}: {error}") from None
            fired += found.fired
            unknown += found.not_evaluated
        if (confident := self.rules.low_confidence) is not None:
            if verdict.confidence is None:
                unknown.append("low_confidence")
            elif verdict.confidence < confident.confidence_below:
                fired.append("low_confidence")
        if (wide := self.rules.wide_interval) is not None:
            if verdict.interval is None:
                unknown.append("wide_interval")
            elif self.rubric.share(verdict.interval[1]) - self.rubric.share(verdict.interval[0]) > wide.width_above:
                fired.append("wide_interval")
        if self.promise is not None:
            doubt = doubt_of(verdict, self.promise.measure)
            if doubt is None or doubt > self.promise.threshold:  # without a doubt there is no promise
                fired.append("guaranteed")
        return fired, unknown


def _number(verdict: Verdict, item: Item, name: str) -> float | None:
    value = verdict.details.get(name, item.metadata.get(name))
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"item {item.id!r}: metadata field `{name}` is {value!r}, not a number.")
    return float(value)
