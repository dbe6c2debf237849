"""What a run says of the way in which a model was asked: by what was rendered, not by what was meant."""

from typing import Any

import pytest

from tests.conftest import FakeChat, good_answer
from undogmatic.judges.base import ways
from undogmatic.models.calls import Gateway
from undogmatic.readouts.logprobs import LogprobsReadout
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.rubric import Rubric


@pytest.mark.parametrize("base", [False, True], ids=["a chat model", "a base model"])
def test_a_prompt_says_whether_its_instructions_reach_the_model(prompt: Prompt, rubric: Rubric, base: bool) -> None:
    """Two prompts "strict" and "kind" once sent a base model the same requests, and each was said to reach it."""
    model = FakeChat(lambda _: (good_answer(1), None))
    model.base = base
    model.connect(Gateway())
    shown = (Demonstration(inputs={"text": "Tema 69."}, score=100, rationale="cita"),)
    strict, kind = (
        prompt.model_copy(update={"id": name, "instructions": words, "demonstrations": shown})
        for name, words in (("strict", "Be severe with every citation."), ("kind", "Be kind to who cites."))
    )
    asked = []
    for each in (strict, kind):
        readout: Any = LogprobsReadout() if base else StructuredReadout()
        readout.bind(model, each, rubric)
        asked += ways([readout])
    assert [way.without for way in asked] == [(), ()]
    assert "Be severe" in asked[0].text and "Be kind" in asked[1].text
    readout.predict.signature = readout.predict.signature.with_instructions("Another question.")
    assert ways([readout])[0].without == ("instructions",)
