"""Every readout and every judge style on every kind of scale, and as DSPy modules on which its own
tools work."""

import asyncio
from typing import Any

import dspy
import pytest

from tests.judges.conftest import WORDINGS
from tests.rubrics import (
    ALL,
    COLOURS,
    FIVE,
    HUNDRED,
    ORDERED,
    QUESTION_ANSWER,
    TEN,
    YES_NO,
    FormFiller,
)
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import asker_for
from undogmatic.judges.base import Judge, coherent
from undogmatic.judges.debate import DebateJudge, RedBlueJudge
from undogmatic.judges.devils_advocate import (
    CalibrationProbeJudge,
    DevilsAdvocateJudge,
    SinglePassJudge,
)
from undogmatic.judges.panel import PanelJudge
from undogmatic.judges.score import DistributionalJudge, ScoreJudge
from undogmatic.judges.selective import Rules, SelectiveJudge
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.base import Readout
from undogmatic.readouts.decision import DecisionReadout, RulesReadout
from undogmatic.readouts.logprobs import LogprobsReadout
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.readouts.structured import SamplesReadout, StructuredReadout
from undogmatic.records.records import Item, Judgment, Provenance, Verdict
from undogmatic.records.rubric import Rubric

READOUTS = {
    "structured": (StructuredReadout, False),
    "samples": (lambda: SamplesReadout(n=3), False),
    "logprobs": (lambda: LogprobsReadout(minimum_mass=0.05), False),
    "logprobs of a base model": (lambda: LogprobsReadout(minimum_mass=0.05), True),
}
STYLES: dict[str, Any] = {
    "score": lambda start, asker, rubric: start,
    "devils_advocate": lambda start, asker, rubric: DevilsAdvocateJudge(start, asker()),
    "distributional": lambda start, asker, rubric: DistributionalJudge(asker()),
    "debate": lambda start, asker, rubric: DebateJudge(asker()),
    "debate_apart": lambda start, asker, rubric: DebateJudge(
        asker(), separate_calls=True
    ),
    "red_blue": lambda start, asker, rubric: RedBlueJudge(asker()),
    "single_pass": lambda start, asker, rubric: SinglePassJudge(start, asker()),
    "calibration_probe": lambda start, asker, rubric: CalibrationProbeJudge(
        start, asker()
    ),
    "panel": lambda start, asker, rubric: PanelJudge(
        [start, DistributionalJudge(asker())], rubric
    ),
    "selective": lambda start, asker, rubric: SelectiveJudge(
        start,
        DistributionalJudge(asker()),
        rubric,
        Rules.model_validate(
            {
                "low_confidence": {"confidence_below": 100},
                "high_score": {"overall_above": 0.1},
            }
        ),
    ),
}
ARGUES = ("devils_advocate", "debate", "debate_apart", "red_blue", "single_pass")


class Direct(Model):
    """Answers otherwise than by chat: as a decision model with even odds, and as a rater with a
    share."""

    name = "direct"
    readouts = ("decision", "rules")

    async def decide(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        ((name, asked),) = questions.items()
        n = len(asked["criteria"])
        odds = {str(k): 1 / n for k in range(n)}
        return {name: {"type": "score", "probabilities": odds, "score": (n - 1) / 2}}

    async def rate(self, text: str) -> tuple[float, str]:
        return 1.0, text


@pytest.mark.parametrize("make", [DecisionReadout, RulesReadout])
@pytest.mark.parametrize("rubric", ALL, ids=lambda rubric: rubric.name)
def test_models_that_do_not_chat_serve_every_scale(
    rubric: Rubric, make: Any, provenance: Provenance
) -> None:
    readout = make()
    readout.bind(Direct(), Prompt(id="toy", language="en"), rubric)
    outcome = judged(ScoreJudge(readout), rubric, Direct(), provenance).outcome  # type: ignore[arg-type]
    assert isinstance(outcome, Verdict), outcome
    if not rubric.scale.ordered:
        assert outcome.score is None and outcome.category in rubric.scale.categories  # type: ignore[union-attr]
    elif make is RulesReadout:
        assert outcome.score == rubric.maximum
    else:
        assert outcome.score == pytest.approx(sum(rubric.levels) / len(rubric.levels))


def item(rubric: Rubric) -> Item:
    return Item(id="a", inputs={name: f"the {name}" for name in rubric.inputs})


def bound(readout: Readout, rubric: Rubric, model: FormFiller) -> Readout:
    example = {name: f"a {name}" for name in rubric.inputs}
    lowest = (
        rubric.minimum
        if rubric.scale.kind == "numeric"
        else rubric.scale.write(rubric.minimum)
    )
    shots = (Demonstration(inputs=example, score=lowest, rationale="r"),)
    model.connect(Gateway())
    readout.bind(model, Prompt(id="toy", language="en", demonstrations=shots), rubric)
    return readout


def judged(
    judge: Judge, rubric: Rubric, model: FormFiller, provenance: Provenance
) -> Judgment:
    judge.judge_by(rubric)
    with dspy.context(lm=LanguageModel(model)):
        return asyncio.run(JudgeStep(judge, provenance).process(item(rubric)))[0]


@pytest.mark.parametrize("place", [0.0, 1.0])
@pytest.mark.parametrize("readout", READOUTS)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("rubric", ALL, ids=lambda rubric: rubric.name)
def test_every_style_runs_with_every_readout_on_every_scale(
    rubric: Rubric, style: str, readout: str, place: float, provenance: Provenance
) -> None:
    make, base = READOUTS[readout]
    model = FormFiller(place, base)
    ready = bound(make(), rubric, model)
    judge: Judge = STYLES[style](
        ScoreJudge(ready), lambda: asker_for(ready, WORDINGS), rubric
    )
    assert judge.needs_order is (style in ARGUES)
    if judge.needs_order and not rubric.scale.ordered:
        said = (
            f"judge={judge.name} argues between .* rubric={rubric.name} has categories"
        )
        with pytest.raises(ConfigError, match=said):
            judge.judge_by(rubric)
        return
    outcome = judged(judge, rubric, model, provenance).outcome
    degenerate = (
        style == "distributional" and place == 0.0 and "logprobs" not in readout
    )
    if not isinstance(outcome, Verdict):
        assert "0 points" in outcome.message  # all levels got none
        assert degenerate or style in ("panel", "selective")
        return
    if rubric.scale.kind != "numeric":
        assert outcome.category in rubric.scale.categories
    if not rubric.scale.ordered:
        assert outcome.score is None
        return
    assert rubric.contains(outcome.score)
    if outcome.interval is not None:
        assert (
            rubric.minimum
            <= outcome.interval[0]
            <= outcome.interval[1]
            <= rubric.maximum
        )
    if outcome.distribution is not None and style == "score":
        assert outcome.distribution.expectation == pytest.approx(outcome.score)
    if style == "score" and "logprobs" not in readout:
        assert outcome.score == rubric.units(place)


@pytest.mark.parametrize("rubric", ORDERED, ids=lambda rubric: rubric.name)
def test_nothing_of_another_scale_is_said(rubric: Rubric) -> None:
    model = FormFiller()
    readout = bound(StructuredReadout(), rubric, model)
    asker = asker_for(readout, WORDINGS)
    for judge in (
        DebateJudge(asker),
        DevilsAdvocateJudge(ScoreJudge(readout), asker),
        SinglePassJudge(None, asker),
    ):  # type: ignore[arg-type]
        shown = "\n".join(
            source.shown() for source in judge.readouts() if source is asker
        )
        assert "What is meant." in shown
    if rubric is not HUNDRED:  # percentages are asked as such
        assert "from 0 to 100" not in readout.shown()


def test_labels_are_the_numbers_themselves_or_cannot_be_taken_for_them() -> None:
    assert TEN.labels == tuple("ABCDEFGHIJ") and TEN.meanings("en")[:2] == ["1", "2"]
    assert YES_NO.labels == ("0", "1")
    assert HUNDRED.levels == (0, 25, 50, 75, 100)
    assert HUNDRED.meanings("en")[-1] == "100, HIGH: much of it"


@pytest.mark.parametrize("rubric", ALL, ids=lambda rubric: rubric.name)
def test_several_inputs_are_fenced_under_their_headings_by_one_code(
    rubric: Rubric, provenance: Provenance
) -> None:
    model = FormFiller()
    judged(
        ScoreJudge(bound(StructuredReadout(), rubric, model)), rubric, model, provenance
    )
    asked = model.requests[-1]["messages"][-1]["content"]
    fences = {line for line in asked.splitlines() if line.startswith("<<text-")}
    assert len(fences) == 1
    if rubric is QUESTION_ANSWER:
        assert (
            asked.index("The question:")
            < asked.index("the question")
            < asked.index("The answer:")
        )


@pytest.mark.parametrize(
    ("rubric", "score"),
    [
        (TEN, 99),
        (TEN, 7.5),
        (YES_NO, "maybe"),
        (COLOURS, 3),
        (HUNDRED, 50.5),
        (TEN, "seven"),
    ],
)
def test_a_demonstration_off_the_scale_is_refused_by_name(
    rubric: Rubric, score: Any
) -> None:
    shots = (Demonstration(text="t", score=score, rationale="r"),)
    with pytest.raises(
        ConfigError,
        match=rf"prompt=toy: `demonstrations\[0\]\.score` is .*rubric={rubric.name}",
    ):
        StructuredReadout().bind(
            FormFiller(), Prompt(id="toy", language="en", demonstrations=shots), rubric
        )


def test_demonstrations_of_another_rubric_are_refused_and_a_base_model_is_told_of_those_for_this_one() -> (
    None
):
    shots = (Demonstration(text="t", score=99, rationale="r"),)
    prompt = Prompt(id="demos_pt", language="en", rubric="shame", demonstrations=shots)
    with pytest.raises(
        ConfigError,
        match="worked examples of rubric=shame, and this run judges by rubric=ten",
    ):
        StructuredReadout().bind(FormFiller(), prompt, TEN)
    with pytest.raises(ConfigError, match=r"is a base model.*\+\+prompt\.examples=8"):
        LogprobsReadout().bind(
            FormFiller(base=True), Prompt(id="bare", language="en"), TEN
        )


@pytest.mark.parametrize(
    ("rubric", "score", "interval", "contradicts"),
    [
        (TEN, 8.0, (5.5, 7.3), True),
        (TEN, 7.0, (5.5, 7.3), False),
        (YES_NO, 1.0, (0.9, 0.95), False),  # all of it means yes
        (YES_NO, 1.0, (0.1, 0.3), True),
    ],
)
def test_a_score_outside_its_own_range_is_called_a_contradiction(
    rubric: Rubric, score: float, interval: tuple[float, float], contradicts: bool
) -> None:
    found = coherent(Verdict(score=score, interval=interval), rubric)
    assert [issue.startswith("Contradiction: the score") for issue in found.issues] == [
        True
    ] * contradicts
    assert coherent(found, rubric).issues == found.issues, (
        "a judge around the judge does not say it again"
    )


MARKED = "A sentence that no file of ours holds."


def made(
    way: str, style: str, cache: ReplyCache | None = None
) -> tuple[Judge, FormFiller]:
    make, base = READOUTS[way]
    model = FormFiller(1.0, base)
    model.connect(Gateway(cache))
    readout: Readout = make()
    shots = (Demonstration(text="shipped", score=4, rationale="r"),) if base else ()
    readout.bind(model, Prompt(id="toy", language="en", demonstrations=shots), FIVE)
    judge: Judge = STYLES[style](
        ScoreJudge(readout), lambda: asker_for(readout, WORDINGS), FIVE
    )
    judge.rubric = FIVE
    return judge, model


def sent(judge: Judge, model: FormFiller) -> str:
    model.requests.clear()
    with dspy.context(lm=LanguageModel(model)):
        asyncio.run(judge.acall(item=Item(id="a", text="Tema 69.")))
    return "\n".join(repr(request) for request in model.requests)


def an_answer(predictor: dspy.Predict) -> dict[str, Any]:
    """A demonstration in the fields of the predictor."""
    found: dict[str, Any] = {"text": MARKED}
    for name, field in predictor.signature.output_fields.items():
        marks = field.json_schema_extra
        found[name] = (
            marks["labels"][0]
            if "labels" in marks
            else marks["scale"].minimum
            if "scale" in marks
            else "w"
        )
    return found


def changed(judge: Judge, name: str, demonstration: dspy.Example) -> list[Judge]:
    """Copies of the judge, in one of which a predictor has other instructions, and in one a
    demonstration."""
    instructed, shown = judge.deepcopy(), judge.deepcopy()
    predictor = dict(instructed.named_predictors())[name]
    predictor.signature = predictor.signature.with_instructions(MARKED)
    dict(shown.named_predictors())[name].demos = [demonstration]
    return [instructed, shown]


@pytest.mark.parametrize("way", READOUTS)
@pytest.mark.parametrize("style", STYLES)
def test_instructions_and_demonstrations_of_every_predictor_reach_request_and_hash(
    style: str, way: str
) -> None:
    judge, model = made(way, style)
    before, program = sent(judge, model), judge.program_hash()
    assert MARKED not in before
    predictors = judge.named_predictors()
    assert predictors
    for name, predictor in predictors:
        for copy in changed(
            judge, name, dspy.Example(**an_answer(predictor)).with_inputs("text")
        ):
            assert MARKED in sent(copy, model), name
            assert copy.program_hash() != program, name
    assert judge.program_hash() == program and sent(judge, model) == before


@pytest.mark.parametrize("way", READOUTS)
@pytest.mark.parametrize("style", STYLES)
def test_a_copy_asks_the_same_with_the_cache_on(
    style: str, way: str, tmp_path: Any
) -> None:
    cache = ReplyCache(tmp_path / "replies")
    judge, model = made(way, style, cache)
    first = sent(judge, model)
    copy = judge.deepcopy()
    assert copy is not judge and copy.program_hash() == judge.program_hash()
    assert first
    assert sent(copy, model) == ""  # every answer came from the cache
    cache.close()


@pytest.mark.parametrize("way", READOUTS)
@pytest.mark.parametrize("style", STYLES)
def test_evaluate_and_labeled_few_shot_of_dspy_work_unaided(
    style: str, way: str
) -> None:
    judge, model = made(way, style)
    texts = [f"Text number {n} of a stranger." for n in range(4)]
    train = [
        dspy.Example(text=t, score=1.0, confidence=90, rationale="r").with_inputs(
            "text"
        )
        for t in texts
    ]
    with dspy.context(lm=LanguageModel(model)):
        compiled = dspy.LabeledFewShot(k=2).compile(judge, trainset=train)
        model.requests.clear()
        result = dspy.Evaluate(
            devset=train[:2], metric=_near, num_threads=2, display_progress=False
        )(compiled)
    assert 0 <= result.score <= 100
    asked = "\n".join(repr(request) for request in model.requests)
    shown = sum(f"Text number {n} " in asked for n in range(4))
    # A score is an example for every predictor that gives one; a style that gives none by itself is
    # left as it was.
    outputs = (
        f for p in compiled.predictors() for f in p.signature.output_fields.values()
    )
    assert (
        shown > 2
        if any(f.json_schema_extra.get("is_score") for f in outputs)
        else shown == 2
    )
    assert compiled.program_hash() != judge.program_hash()


def _near(
    example: dspy.Example, prediction: dspy.Prediction, trace: Any = None
) -> float:
    return 1.0 - abs(example.score - prediction.score) / 4


def test_two_inputs_are_given_by_name_and_the_model_of_the_context_is_asked() -> None:
    model = FormFiller(1.0)
    model.connect(Gateway())
    readout = StructuredReadout()
    readout.bind(model, Prompt(id="toy", language="en"), QUESTION_ANSWER)
    judge = ScoreJudge(readout)
    with dspy.context(lm=LanguageModel(model)):
        prediction = judge(question="Why?", answer="Because.")
    assert prediction.verdict.category == "right" and prediction.score == 2
    judge, model = made("structured", "debate")
    other = FormFiller(0.0)
    other.connect(Gateway())
    with dspy.context(lm=LanguageModel(other)):
        judge(text="Tema 69.")
    assert other.requests
    assert not model.requests


def test_an_untouched_rollout_is_a_call_of_its_own(tmp_path: Any) -> None:
    cache = ReplyCache(tmp_path / "replies")
    judge, model = made("structured", "score", cache)
    lm = LanguageModel(model)
    for rollout in (None, None, 1, 2, 2):
        with dspy.context(lm=lm.copy(rollout_id=rollout, temperature=1.0)):
            judge(text="Tema 69.")
    assert len(model.requests) == 3
    cache.close()


def test_a_decision_model_is_asked_what_its_predictor_says() -> None:
    class Decider(FormFiller):
        readouts = ("decision",)

        async def decide(self, state: Any, questions: Any) -> dict[str, Any]:
            self.requests.append({"state": state, "questions": questions})
            odds = {str(n): 0.2 for n in range(5)}
            return {"score": {"type": "score", "probabilities": odds, "score": 2.0}}

    model = Decider()
    readout = DecisionReadout()
    readout.bind(model, Prompt(id="toy", language="en"), FIVE)
    judge = ScoreJudge(readout)
    program = judge.program_hash()
    ((name, _),) = judge.named_predictors()
    for copy in changed(judge, name, dspy.Example(text=MARKED, score=3)):
        assert MARKED in sent(copy, model)  # type: ignore[arg-type]
        assert copy.program_hash() != program
