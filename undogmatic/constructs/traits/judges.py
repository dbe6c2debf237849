"""Judges responses: how far one shows a trait, by a scoring guide, and how coherent it is."""

import copy
import re
from typing import Annotated

import dspy
from pydantic import Field

from undogmatic.constructs.traits.relevance import fitted_on, shipped_probe
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge
from undogmatic.judges.questions import Answer, Number
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.language_model import served_model
from undogmatic.readouts.base import Readout
from undogmatic.readouts.integers import IntegersReadout
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Bands, NumericScale, Rubric, UnorderedScale


class TraitJudge(ScoreJudge):
    """Ask once, for a rubric that says what a high and what a low score mean.

    A response may stand alone, after a question, or in a scenario: what the rubric lets an item
    lack is left out.
    """

    name = "trait"

    def judge_by(self, rubric: Rubric) -> None:
        """Take the rubric. Raises ConfigError where it is no scoring guide."""
        super().judge_by(rubric)
        check_guide(rubric)


def check_guide(rubric: Rubric) -> None:
    """Raise ConfigError unless the rubric is a scoring guide: named bands of a numeric scale, a
    HIGH and a LOW one with their meanings in every language."""
    opening = f"judge=trait scores by a guide of bands, and rubric={rubric.name}"
    form = (
        "`guide: {kind: bands, bands: [{name: LOW, low: 0, high: 30}, {name: MID, ...}, {name:"
        " HIGH, ...}]}`"
    )
    if not isinstance(rubric.scale, NumericScale) or not isinstance(
        rubric.guide, Bands
    ):
        what = (
            "has none"
            if rubric.guide is None
            else f"has a guide of {rubric.guide.kind}"
        )
        raise ConfigError(
            f"{opening} {what}. Write {form} and its meanings, or use judge=score."
        )
    names = [band.name.upper() for band in rubric.guide.bands]
    if lacking := [name for name in ("HIGH", "LOW") if name not in names]:
        raise ConfigError(
            f"{opening} has no {' and no '.join(lacking)} (it has: {', '.join(names)}): nobody"
            f" could say what such a score means. Write {form}, with a meaning for each."
        )
    for language, wording in rubric.wordings.items():
        empty = [
            name
            for name, meaning in zip(names, wording.meanings, strict=True)
            if not meaning.strip()
        ]
        if empty:
            raise ConfigError(
                f"{opening} says nothing of {empty[0]} in `wordings.{language}.meanings`. Write it"
                " there."
            )


QUESTION, RESPONSE = "question", "response"
RELEVANCE = UnorderedScale(categories=("ENGAGES", "OFF_TOPIC"))
LONGEST_REST = 40
CONTENT_FREE = "N/A"
ROUNDING = 1e-9  # a corrected probability of .6 is .5999999999999999 in floating point
_ENDED = re.compile(r"[.!?…][\"'”’»)\]*_]*(?=\s|$)")


class Relevance(Answer):
    """Whether the response is about what was asked; a probability where the model gives one."""

    off_topic: Annotated[float, Number(own=RELEVANCE)]


class CoherenceJudge(Judge):
    """First the structure of the response, seen alone; then whether it engages with the question. A
    response that is off the topic gets no more than the cap, however well it is written.

    A response that breaks off is judged by its whole sentences. Without a question nothing can be
    off the topic.

    Where log-probabilities tell the relevance, the same is asked of the same response with a
    question that says nothing (CONTENT_FREE), and the odds are divided by those (after Zhao et al.
    2021): many models favour one of the two answers whatever they are asked. The embedded model is
    not asked: a probe ships for it (`constructs.traits.relevance`).

    Args:
        readout, asker: How the score of the structure comes out of the model, and how relevance is
            asked for.
        minimum_mass: Least probability on the numbers of the scale, and on the two answers about
            relevance.
        cap: Highest score of a response that is off the topic, as a share of the scale.
        sure: Least probability of being off the topic at which the score is capped; nearer to even
            it is left alone. A probe may want more: what held on its development pairs.
    """

    name = "coherence"

    def __init__(
        self,
        readout: Readout,
        asker: Asker,
        minimum_mass: Annotated[float, Field(ge=0, le=1)] = 0.1,
        cap: Annotated[float, Field(ge=0, le=1)] = 0.5,
        sure: Annotated[float, Field(ge=0.5, le=1)] = 0.6,
    ) -> None:
        super().__init__()
        self.minimum_mass, self.cap, self.sure = minimum_mass, cap, sure
        self.readout = readout
        if isinstance(readout, IntegersReadout):
            self.readout = copy.copy(readout)
            self.readout.minimum_mass = minimum_mass
        if not asker.in_words:
            asker.options["minimum_mass"] = minimum_mass
        self.probe = shipped_probe(asker.model)
        if self.probe is None:
            self.asker = asker
            self.relevance = asker.question("relevance", Relevance)
        else:
            self.contents = {"relevance": self.probe.digest}
            self.weighed_on = fitted_on()

    async def judge(self, item: Item) -> Verdict:
        """The structure, capped where the response is off the topic."""
        text, broken_off = (
            whole_part(item.inputs[RESPONSE])
            if RESPONSE in item.inputs
            else (item.text, False)
        )
        alone = item.model_copy(update={"inputs": {RESPONSE: text}})
        verdict: Verdict = (await self.readout.acall(item=alone)).verdict
        structure = verdict.score
        assert structure is not None
        details = verdict.details | {
            "structure": structure,
            "cut_off": float(broken_off),
        }
        if QUESTION not in item.inputs:
            return verdict.replace(details=details)
        found = await (self._asked(item) if self.probe is None else self._read(item))
        off_topic, engages, sure = found["off_topic"], 1 - self.sure, self.sure
        if self.probe is not None:
            engages = min(engages, self.probe.engages)
            sure = max(sure, self.probe.off_topic)
        verdict = verdict.replace(details=details | found)
        cap = self.rubric.units(self.cap)
        if structure > cap and off_topic >= sure - ROUNDING:
            # The distribution is that of the structure, and its expectation no longer the score.
            return verdict.replace(score=cap, distribution=None, interval=None)
        unsure = f"unsure: off the topic with probability {off_topic:.2f}, so nothing is capped"
        issues = (unsure,) if structure > cap and off_topic > engages + ROUNDING else ()
        return verdict.replace(issues=(*verdict.issues, *issues))

    async def _read(self, item: Item) -> dict[str, float]:
        """How likely it is by the probe that the response is off the topic."""
        assert self.probe is not None
        question = item.inputs[QUESTION]
        response = "\n\n".join(
            text for name, text in item.inputs.items() if name != QUESTION
        )
        with dspy.context(lm=self.readout.lm or dspy.settings.lm):
            off_topic = await self.probe.read(
                served_model(), question, item.inputs.get(RESPONSE, response)
            )
        return {"off_topic": off_topic}

    async def _asked(self, item: Item) -> dict[str, float]:
        """How likely it is by the model's own answer, as it was given and corrected."""
        asked: float = (await self.relevance.acall(item=item)).answer.off_topic
        if self.asker.in_words:
            return {"off_topic_asked": asked, "off_topic": asked}
        content_free = item.model_copy(
            update={"inputs": item.inputs | {QUESTION: CONTENT_FREE}}
        )
        idle: float = (await self.relevance.acall(item=content_free)).answer.off_topic
        clipped = [
            min(max(probability, 1e-4), 1 - 1e-4) for probability in (asked, idle)
        ]
        odds = clipped[0] / (1 - clipped[0]) * (1 - clipped[1]) / clipped[1]
        return {"off_topic_asked": asked, "off_topic": odds / (1 + odds)}


def whole_part(text: str) -> tuple[str, bool]:
    """A text up to its last whole sentence, and whether something was left out after it.

    What is left out is never more than what stays, nor than LONGEST_REST words: a text that never
    ends a sentence is not cut off, and stays as it is.
    """
    end = max((match.end() for match in _ENDED.finditer(text)), default=0)
    kept, rest = text[:end], text[end:].split()
    cut_off = any(word[:1].isalnum() for word in rest) and len(rest) <= min(
        LONGEST_REST, len(kept.split())
    )
    return (kept, True) if cut_off else (text, False)
