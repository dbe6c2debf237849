"""Defines what a judge is, and checks that a verdict does not contradict itself."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import dspy

from undogmatic.errors import ConfigError, ModelError
from undogmatic.judges.asker import Asker
from undogmatic.models.base import Model
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.base import Readout, Unit, categorised
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.marks import text_marks
from undogmatic.records.records import OVERALL, Item, Verdict, digest
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.safety.loops import finished
from undogmatic.stats.uncertainty import Level

if TYPE_CHECKING:
    from undogmatic.runs.outcome import Asked


class Source(Protocol):
    """What a judge asks a model through, for reports: a readout, or a style's asker."""

    @property
    def name(self) -> str: ...
    @property
    def uses_prompt(self) -> bool: ...
    @property
    def deterministic(self) -> bool: ...
    @property
    def model(self) -> Model: ...
    @property
    def prompt(self) -> Prompt: ...
    @property
    def lm(self) -> LanguageModel | None: ...
    def fitted_on(self) -> frozenset[str]: ...
    def shown(self) -> str: ...


class Judge(Unit):
    """Base of all judge styles: a DSPy module whose prediction carries a `verdict`, or `verdicts`
    by criterion.

    A style says how in `judge`. The model that is asked is that of `dspy.context(lm=...)`.
    """

    name = "judge"  # its name in `judge=`
    # what it says of an item; several are given by the same calls
    criteria: tuple[str, ...] = (OVERALL,)
    rubric: Rubric  # the scale of its scores
    # whether it asks the run's model; else its verdicts name what it uses instead
    asks = True
    # whether its procedure has no meaning for categories without an order
    needs_order = False
    # marks of the texts that the procedure itself (no readout) was fitted on
    weighed_on: frozenset[str] = frozenset()
    places: Sequence[
        Mapping[str, Any]
    ] = ()  # model, prompt and readout of each judge inside that has its own

    def judge_by(self, rubric: Rubric) -> None:
        """Take the rubric. Raises ConfigError where the procedure has no meaning on its scale."""
        self.rubric = rubric
        # When the judge is built, and not at the first item.
        if self.needs_order and not rubric.scale.ordered:
            raise ConfigError(
                f"judge={self.name} argues between a low and a high score, and rubric={rubric.name}"
                f" has categories without an order ({rubric.scale.span()}). Use judge=score,"
                " distributional, panel or selective."
            )

    async def judge(self, item: Item) -> Verdict | Mapping[str, Verdict | ModelError]:
        """Judge one item: a verdict, or one per criterion (a ModelError where that one failed).
        Raises ModelError."""
        raise NotImplementedError

    async def aforward(
        self, item: Item | None = None, **inputs: Any
    ) -> dspy.Prediction:
        """Judge an item, or the inputs themselves: `judge(text="...")`, as DSPy's optimisers and
        evaluators call it. Return `verdict` and its `score`; for several criteria `verdicts` by
        criterion, and those of OVERALL where it is one of them, so that such a judge can stand
        inside another."""
        options = {
            name: inputs.pop(name)
            for name in list(inputs)
            if name in inspect.signature(self.judge).parameters
        }
        # DSPy's optimisers hand over fields and no item. The id means nothing there.
        judged = await self.judge(item or Item(id="item", inputs=inputs), **options)
        several = {OVERALL: judged} if isinstance(judged, Verdict) else judged
        verdicts = {name: self._settled(verdict) for name, verdict in several.items()}
        # So that a judge of several criteria can stand in a panel, where one verdict is
        # asked for.
        whole = verdicts.get(OVERALL)
        one = (
            {"verdict": whole, "score": whole.score}
            if isinstance(whole, Verdict)
            else {}
        )
        return (
            dspy.Prediction(**one)
            if isinstance(judged, Verdict)
            else dspy.Prediction(verdicts=verdicts, **one)
        )

    def _settled(self, verdict: Any) -> Any:
        return (
            coherent(categorised(verdict, self.rubric), self.rubric)
            if isinstance(verdict, Verdict)
            else verdict
        )

    def forward(self, item: Item | None = None, **inputs: Any) -> dspy.Prediction:
        """`aforward` for callers without an event loop."""

        async def alone() -> dspy.Prediction:
            try:
                return await self.acall(item=item, **inputs)
            finally:
                for lm in {
                    dspy.settings.lm,
                    *(source.lm for source in self.readouts()),
                }:
                    if isinstance(lm, LanguageModel):
                        # connections belong to this call's event loop
                        await lm.served.close()

        return finished(alone())

    def readouts(self) -> Sequence[Source]:
        """The readouts and askers that it and the judges inside it use, for reports; some may be
        equal."""
        return tuple(_sources(list(vars(self).values())))

    def fitted_on(self) -> frozenset[str]:
        """Marks (`records.text_mark`) of the texts that it, or anything inside it, was fitted on or
        is shown solved."""
        demos = [
            demo for _, predictor in self.named_predictors() for demo in predictor.demos
        ]
        inputs = [
            [str(demo[name]) for name in self.rubric.inputs if name in demo]
            for demo in demos
        ]
        guide = (
            text
            for source in self.readouts()
            if source.uses_prompt and source.prompt.anchors
            for examples in self.rubric.shown_examples(source.prompt.language)
            for text in examples
        )
        # A text that the prompt shows with its answer is a text that the judge has
        # seen, like one that it was fitted on.
        shown = text_marks([*("\n\n".join(texts) for texts in inputs), *guide])
        return self.all_weighed_on().union(
            shown, *(source.fitted_on() for source in self.readouts())
        )

    def all_weighed_on(self) -> frozenset[str]:
        """`weighed_on` of this judge and of all judges inside it."""
        return frozenset().union(
            *(judge.weighed_on for _, judge in self.named_sub_modules(Judge))
        )

    def program_hash(self) -> str:
        """SHA-256 of what determines its answers: the identity of every module, and instructions,
        fields, settings and demonstrations of every predictor inside; and its places. Part of the
        provenance."""
        modules = {
            name: module.identity() for name, module in self.named_sub_modules(Unit)
        }
        predictors = {}
        for name, predictor in self.named_predictors():
            signature = predictor.signature
            fields = [
                [key, str(f.annotation), repr(f.json_schema_extra)]
                for key, f in signature.fields.items()
            ]
            demos = [
                {key: repr(value) for key, value in dict(demo).items()}
                for demo in predictor.demos
            ]
            about = {
                "instructions": signature.instructions,
                "fields": fields,
                "demos": demos,
            }
            # Only where there is some, so that the hash of all other programs stays as
            # it was.
            if (nearest := getattr(predictor, "nearest", None)) is not None:
                about["nearest"] = nearest
            predictors[name] = about | {"config": predictor.config}
        return digest([modules, predictors, *([self.places] if self.places else [])])


def _sources(value: Any) -> Iterator[Source]:
    """The sources in an attribute: itself, those of what has some of its own, or those in a list of
    these."""
    if isinstance(value, Readout | Asker):
        yield value
    elif isinstance(value, Unit) and hasattr(value, "readouts"):
        yield from value.readouts()
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _sources(part)


def ways(sources: Iterable[Source], judge: str = "") -> "tuple[Asked, ...]":
    """The ways in which a judge's readouts and askers ask, each once; `judge` is its name where the
    run has several."""
    from undogmatic.runs.outcome import Asked

    asked = []
    # without them a text is the same however it is escaped or folded
    marks = re.compile(r"\\[nrt\"]|\W")
    for source in sources:
        prompt, text = source.prompt, source.shown()
        # Whether the prompt reached the model is read off what was sent, since adapters
        # may leave parts of it out.
        bare = marks.sub("", text)
        demonstration = next(
            (list(demo.inputs.values()) for demo in prompt.shown()), []
        )
        parts = {
            "instructions": [prompt.instructions or ""],
            "demonstrations": demonstration,
        }
        missing = [
            name
            for name, own in parts.items()
            if source.uses_prompt and any(marks.sub("", p) not in bare for p in own)
        ]
        names = source.name, source.model.name, prompt.id, source.uses_prompt
        asked.append(Asked(*names, text, judge, tuple(missing)))
    return tuple(dict.fromkeys(asked))


def written(verdict: Verdict, rubric: Rubric) -> str:
    """A score as other questions quote it, with the precision of its scale."""
    return verdict.category or rubric.scale.write(float(verdict.score or 0))


def coherent(verdict: Verdict, rubric: Rubric) -> Verdict:
    """The verdict with a word on an interval that does not hold the score, so that the two are not
    read as one."""
    if verdict.score is None or verdict.interval is None:
        return verdict
    (low, high), slack = verdict.interval, 1e-9 * (rubric.maximum - rubric.minimum)
    # Compared as they are written: 4.9999 lies inside of a range that ends at 5.
    score, *ends = map(rubric.scale.write, (verdict.score, low, high))
    # whatever the numbers
    same_category = not isinstance(rubric.scale, NumericScale) and score in ends
    issue = (
        f"Contradiction: the score {score} lies outside the judge's own range, {ends[0]} to"
        f" {ends[1]}."
    )
    # A judge inside of this one may have said so.
    if (
        low - slack <= verdict.score <= high + slack
        or same_category
        or issue in verdict.issues
    ):
        return verdict
    return verdict.replace(issues=(*verdict.issues, issue))


def no_confidence(stated: float | None) -> bool:
    """Whether a confidence of 0 of 100 was stated, which contradicts every low doubt; None: nothing
    was stated."""
    return stated is not None and stated <= 0


def between_sides(
    prediction: dspy.Prediction,
    place: float | None,
    level: Level,
    details: dict[str, float | str],
    **fields: Any,
) -> Verdict:
    """The verdict of a judge who heard two sides, with the `answer` of the prediction
    (`final_score`, `rationale`, `confidence`): half-way between the sides it is as unsure as can
    be. `place` is where the judge stands between them, 0 and 1; None where there is no middle."""
    answer = prediction.answer
    distribution = prediction.distributions.get("final_score")
    doubt = 0.5 if place is None else 0.5 - abs(place - 0.5)  # below 0 beyond the sides
    stated = answer.confidence if distribution is None else distribution.confidence
    # A judge that says it knows nothing is not asked whether its sides were near.
    if no_confidence(stated) and level != "high":
        level, details = "high", details | {"level_from": "stated_confidence"}
    return Verdict(
        score=answer.final_score,
        distribution=distribution,
        confidence=100 * min(1.0, 1 - 2 * doubt),
        confidence_source="procedure",
        rationale=answer.rationale,
        uncertainty=level,
        doubt=doubt,
        review=level == "high",
        details=details | ({} if stated is None else {"stated_confidence": stated}),
        **fields,
    )
