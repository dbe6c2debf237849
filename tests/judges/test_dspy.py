"""Judges are DSPy modules: what is changed on a predictor is sent, and DSPy's own tools work on them unaided."""

from __future__ import annotations

import asyncio
from typing import Any

import dspy
import pytest

from tests.judges.conftest import WORDINGS
from tests.judges.test_any_scale import READOUTS, STYLES
from tests.rubrics import FIVE, QUESTION_ANSWER, FormFiller
from undogmatic.judges.asker import asker_for
from undogmatic.judges.base import Judge
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.calls import Gateway, ReplyCache
from undogmatic.readouts.base import Readout
from undogmatic.readouts.chat import LanguageModel
from undogmatic.readouts.decision import DecisionReadout
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.records import Item

MARKED = "A sentence that no file of ours holds."


def made(way: str, style: str, cache: ReplyCache | None = None) -> tuple[Judge, FormFiller]:
    make, base = READOUTS[way]
    model = FormFiller(1.0, base)
    model.connect(Gateway(cache))
    readout: Readout = make()
    shots = (Demonstration(text="shipped", score=4, rationale="r"),) if base else ()
    readout.bind(model, Prompt(id="toy", language="en", demonstrations=shots), FIVE)
    judge: Judge = STYLES[style](ScoreJudge(readout), lambda: asker_for(readout, WORDINGS), FIVE)
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
        found[name] = marks["labels"][0] if "labels" in marks else marks["scale"].minimum if "scale" in marks else "w"
    return found


@pytest.mark.parametrize("way", READOUTS)
@pytest.mark.parametrize("style", STYLES)
def test_instructions_and_demonstrations_of_every_predictor_reach_request_and_hash(style: str, way: str) -> None:
    judge, model = made(way, style)
    before, program = sent(judge, model), judge.program_hash()
    assert MARKED not in before
    predictors = judge.named_predictors()
    assert predictors
    for name, _ in predictors:
        for change in ("instructions", "demonstrations"):
            copy = judge.deepcopy()
            predictor = dict(copy.named_predictors())[name]
            if change == "instructions":
                predictor.signature = predictor.signature.with_instructions(MARKED)
            else:
                predictor.demos = [dspy.Example(**an_answer(predictor)).with_inputs("text")]
            assert MARKED in sent(copy, model), (name, change)
            assert copy.program_hash() != program, (name, change)
    assert judge.program_hash() == program
    assert sent(judge, model) == before


@pytest.mark.parametrize("way", READOUTS)
@pytest.mark.parametrize("style", STYLES)
def test_a_copy_asks_the_same_with_the_cache_on(style: str, way: str, tmp_path: Any) -> None:
    cache = ReplyCache(tmp_path / "replies")
    judge, model = made(way, style, cache)
    first = sent(judge, model)
    copy = judge.deepcopy()
    assert copy is not judge
    assert copy.program_hash() == judge.program_hash()
    assert first
    assert sent(copy, model) == ""  # every answer came from the cache
    cache.close()


@pytest.mark.parametrize("way", READOUTS)
@pytest.mark.parametrize("style", STYLES)
def test_evaluate_and_labeled_few_shot_of_dspy_work_unaided(style: str, way: str) -> None:
    judge, model = made(way, style)
    texts = [f"Text number {n} of a stranger." for n in range(4)]
    train = [dspy.Example(text=t, score=1.0, confidence=90, rationale="r").with_inputs("text") for t in texts]
    with dspy.context(lm=LanguageModel(model)):
        compiled = dspy.LabeledFewShot(k=2).compile(judge, trainset=train)
        model.requests.clear()
        result = dspy.Evaluate(devset=train[:2], metric=_near, num_threads=2, display_progress=False)(compiled)
    assert 0 <= result.score <= 100
    asked = "\n".join(repr(request) for request in model.requests)
    shown = sum(f"Text number {n} " in asked for n in range(4))
    # A score is an example for every predictor that gives one; a style that gives none by itself is left as it was.
    gives = [
        p for p in compiled.predictors() if any(_marks(f).get("is_score") for f in p.signature.output_fields.values())
    ]
    assert shown > 2 if gives else shown == 2
    assert compiled.program_hash() != judge.program_hash()


def _marks(field: Any) -> dict[str, Any]:
    return dict(field.json_schema_extra)


def _near(example: dspy.Example, prediction: dspy.Prediction, trace: Any = None) -> float:
    return 1.0 - abs(example.score - prediction.score) / 4


def test_two_inputs_are_given_by_name() -> None:
    model = FormFiller(1.0)
    model.connect(Gateway())
    readout = StructuredReadout()
    readout.bind(model, Prompt(id="toy", language="en"), QUESTION_ANSWER)
    judge = ScoreJudge(readout)
    with dspy.context(lm=LanguageModel(model)):
        prediction = judge(question="Why?", answer="Because.")
    assert prediction.verdict.category == "right"
    assert prediction.score == 2


def test_the_model_of_the_context_is_asked() -> None:
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
    for change in ("instructions", "demonstrations"):
        copy = judge.deepcopy()
        predictor = copy.predictors()[0]
        if change == "instructions":
            predictor.signature = predictor.signature.with_instructions(MARKED)
        else:
            predictor.demos = [dspy.Example(text=MARKED, score=3)]
        assert MARKED in sent(copy, model)  # type: ignore[arg-type]
        assert copy.program_hash() != program
