"""Decision models against the stub: the wire, the readout, DSPy's Predict, and every malformed
answer."""

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from dspy.adapters.types.decision import Score

from tests.conftest import Patch
from tests.models.conftest import run_once, shipped
from tests.stub_server import KEY, Fault, StubServer, score_of
from undogmatic.errors import (
    ConfigError,
    ModelError,
    OffScaleAnswer,
    TransportError,
    UnparseableAnswer,
)
from undogmatic.models.calls import Gateway, recording
from undogmatic.models.language_model import LanguageModel
from undogmatic.models.providers import DecisionModel
from undogmatic.readouts.decision import DecisionReadout
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Verdict
from undogmatic.records.rubric import Rubric


def decision(stub: StubServer, **options: Any) -> DecisionModel:
    model: DecisionModel = shipped("decision", api_base=stub.url, **options)
    return model


Judged = Callable[..., Verdict]
NOUL = {"q": {"type": "noul", "instructions": "?"}}


@pytest.fixture
def judge(stub: StubServer, prompt: Prompt, rubric: Rubric) -> Judged:
    """Judges "um texto" with a model, or with a new one."""

    def judged(model: DecisionModel | None = None) -> Verdict:
        readout, asked = DecisionReadout(), model or decision(stub)
        readout.bind(asked, prompt, rubric)
        with dspy.context(lm=LanguageModel(asked)):
            verdict: Verdict = run_once(
                asked, lambda: readout.acall(item=Item(id="a", text="um texto"))
            ).verdict
        return verdict

    return judged


def test_a_score_question_goes_out_as_agreed_and_the_distribution_comes_back(
    stub: StubServer, judge: Judged
) -> None:
    model = decision(stub)
    with recording() as calls:
        verdict = judge(model)
    sent = stub.requests[0]
    assert sent.path == "/v1/systemone"
    assert sent.body["model"] == "jev-latest" and sent.body["state"] == {
        "text": "um texto"
    }
    question = sent.body["questions"]["shame_score"]
    assert question["type"] == "score" and question["criteria"] == [
        "none",
        "little",
        "half",
        "much",
        "all",
    ]
    assert (
        verdict.distribution is not None
        and abs(verdict.score - score_of("um texto")) < 25
    )
    assert (calls[0].input_tokens, calls[0].output_tokens) == (120, 12)
    assert calls[0].reply["model"] == "jev-latest"


def test_the_key_is_optional_on_this_machine_and_needed_elsewhere(
    stub: StubServer, monkeypatch: Patch
) -> None:
    local = decision(stub)
    run_once(local, lambda: local.decide("state", NOUL))
    assert "Authorization" not in stub.requests[0].headers
    with pytest.raises(ConfigError, match="TYPESAFE_API_KEY"):
        shipped("decision")
    stub.key = KEY
    monkeypatch.setenv("TYPESAFE_API_KEY", KEY)
    model = decision(stub)
    run_once(model, lambda: model.decide("state", NOUL))
    assert stub.requests[1].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "labels",
    [["sim", "não"], ["__proto__", "ção", "a b", "0"], [f"l{n}" for n in range(255)]],
)
def test_choices_keep_their_labels_and_order(
    stub: StubServer, labels: list[str]
) -> None:
    model = decision(stub)
    question = {
        "type": "choice",
        "instructions": "Which?",
        "criteria": dict.fromkeys(labels),
    }
    answers = run_once(model, lambda: model.decide({"text": "x"}, {"área": question}))
    assert list(stub.requests[0].body["questions"]["área"]["criteria"]) == labels
    assert list(answers["área"]["probabilities"]) == labels


def test_variants_of_a_good_reply_are_understood(
    stub: StubServer, judge: Judged
) -> None:
    plain = judge()
    stub.faults = {
        "um texto": Fault("status", status=529, body='{"error": {"message": "later"}}')
    }
    assert judge() == plain and len(stub.requests) == 3
    for kind in ("envelope", "no-usage", "unknown-type"):
        stub.faults = {"um texto": Fault(kind, times=None)}
        assert judge() == plain
    # rounded
    stub.faults = {"um texto": Fault("probabilities-off", times=None, after=0.01)}
    assert judge().score == pytest.approx(plain.score, abs=1.5)


@pytest.mark.parametrize(
    ("fault", "expected", "message"),
    [
        (
            Fault("probabilities-off", times=5, after=0.2),
            UnparseableAnswer,
            r"sum to 1\.200",
        ),
        (Fault("missing-id"), UnparseableAnswer, "no answer to 'shame_score'"),
        (Fault("wrong-type"), UnparseableAnswer, "of type 'noul', not a score answer"),
        (Fault("nan"), UnparseableAnswer, "not JSON"),
        (Fault("inconsistent"), OffScaleAnswer, "the probabilities give"),
        (Fault("body", body='{"model": "x"}'), UnparseableAnswer, "no `answers`"),
        (Fault("html", times=None), TransportError, "answered 502"),
    ],
)
def test_bad_answers_are_typed(
    stub: StubServer,
    judge: Judged,
    fault: Fault,
    expected: type[ModelError],
    message: str,
) -> None:
    stub.faults = {"um texto": fault}
    with pytest.raises(expected, match=message):
        judge()


@pytest.mark.parametrize(
    "body",
    [
        (
            '{"detail": [{"loc": ["body", "questions", "q"], "msg": "too many levels", "type":'
            ' "missing"}]}'
        ),
        (
            '{"error": {"code": "too_many_options", "message": "too many levels", "field":'
            ' "questions"}}'
        ),
        (
            '{"result": null, "success": false, "errors": [{"code": 1, "message": "too many'
            ' levels"}], "messages": []}'
        ),
    ],
)
def test_every_shape_of_a_rejected_request_shows_the_servers_reason(
    stub: StubServer, judge: Judged, body: str
) -> None:
    stub.faults = {"um texto": Fault("status", status=422, body=body)}
    with pytest.raises(ConfigError, match="too many levels"):
        judge()


def shame_signature() -> type[dspy.Signature]:
    fields: dict[str, Any] = {
        "text": (str, dspy.InputField()),
        "shame": (Score["none", "some", "bare"], dspy.OutputField(desc="How bare?")),  # type: ignore[type-arg, misc]
        "urgent": (bool, dspy.OutputField(desc="Is it urgent?")),
    }
    signature: type[dspy.Signature] = dspy.Signature(fields, "Judge.")
    return signature


def test_dspys_predict_uses_it_as_a_decision_client(stub: StubServer) -> None:
    model = decision(stub)
    model.connect(Gateway())
    predict = dspy.Predict(shame_signature())
    predict.lm = model
    # synchronously
    assert predict(text="abc").shame.value == predict(text="abc").shame.value
    stub.requests.clear()
    predict.demos = [dspy.Example(text="demo", urgent=True).with_inputs("text")]
    prediction = run_once(model, lambda: predict.acall(text="abc"))
    assert sum(prediction.shame.probabilities.values()) == pytest.approx(1)
    assert float(prediction.shame) == pytest.approx(
        sum(k * p for k, p in prediction.shame.probabilities.items())
    )
    assert prediction.urgent is (score_of("abc") >= 50)
    state = stub.requests[0].body["state"]
    assert state["inputs"] == {"text": "abc"} and state["demos"][0]["text"] == "demo"
    assert stub.requests[0].body["questions"]["shame"]["criteria"] == [
        "none",
        "some",
        "bare",
    ]
