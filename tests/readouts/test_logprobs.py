import asyncio
import json
import math
from pathlib import Path

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import PROMPT, RUBRIC, FakeChat, reading_of
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ConfigError, OffScaleAnswer, UnparseableAnswer
from undogmatic.fit.calibration import fit_content_free
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.calls import Gateway
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.logprobs import LogprobsReadout, level_distribution
from undogmatic.readouts.prompt import Demonstration, Prompt
from undogmatic.records.records import Item, Provenance, Verdict, text_mark
from undogmatic.stats.calibration import fit

LABELS = ("0", "1", "2", "3", "4")
LEVELS = (0.0, 25.0, 50.0, 75.0, 100.0)


def bound(
    model: FakeChat, prompt: Prompt = PROMPT, **options: object
) -> LogprobsReadout:
    readout = LogprobsReadout(**options)  # type: ignore[arg-type]
    model.connect(Gateway())
    readout.bind(model, prompt, RUBRIC)
    return readout


def read(model: FakeChat, prompt: Prompt = PROMPT, **options: object) -> Verdict:
    readout = bound(model, prompt, **options)
    return reading_of(readout, model, Item(id="a", text="linha um\nlinha dois"))


def test_spellings_are_added_and_the_rest_is_off_scale() -> None:
    odds = {"4": 0.3, " 4": 0.2, "\u25810": 0.25, "x": 0.1, "7": 0.1}
    top = [(token, math.log(share)) for token, share in odds.items()]
    distribution = level_distribution(top, LABELS, LEVELS, 0.25)
    assert distribution.probabilities == pytest.approx((1 / 3, 0, 0, 0, 2 / 3))
    assert distribution.off_scale == pytest.approx(0.25)
    assert distribution.expectation == pytest.approx(200 / 3)


@pytest.mark.parametrize("token", ["04", "4.", "-4", "\u0664", "44", "", "five"])
def test_what_only_looks_like_a_label_is_off_scale_and_too_little_mass_names_share_and_key(
    token: str,
) -> None:
    with pytest.raises(
        OffScaleAnswer, match=r"carry 0\.200 .* readout\.minimum_mass=0\.25"
    ):
        level_distribution(
            [("1", math.log(0.2)), (token, math.log(0.8))], LABELS, LEVELS, 0.25
        )


@given(st.lists(st.floats(0.01, 1), min_size=5, max_size=5))
def test_the_score_is_the_expectation_and_stays_on_the_scale(
    weights: list[float],
) -> None:
    total = sum(weights)
    top = [(str(n), math.log(w / total)) for n, w in enumerate(weights)]
    distribution = level_distribution(top, LABELS, LEVELS, 0.25)
    assert distribution.expectation == pytest.approx(
        sum(v * w for v, w in zip(LEVELS, weights, strict=True)) / total
    )
    assert 0 <= distribution.expectation <= 100
    assert 0 <= distribution.confidence <= 100


def test_confidence_comes_from_the_entropy_and_a_server_without_logprobs_is_told_apart() -> (
    None
):
    uniform = {str(n): math.log(0.2) for n in range(5)}
    reading = read(FakeChat(lambda _: ("0", uniform)))
    assert reading.score == pytest.approx(50) and reading.confidence == pytest.approx(
        0, abs=1e-9
    )
    assert reading.confidence_source == "entropy"
    with pytest.raises(UnparseableAnswer, match="sent no log-probabilities"):
        read(FakeChat(lambda _: ("3", None)))


def test_a_base_model_gets_a_text_to_continue_and_a_demonstration_shows_the_level_nearest_to_its_score() -> (
    None
):
    model = FakeChat(lambda _: ("3", {"3": 0.0}), base=True)
    with pytest.raises(ConfigError, match="answers with a level only after examples"):
        read(model)
    example = Demonstration(text="Tema 1.", score=100, rationale="only a number")
    read(model, PROMPT.model_copy(update={"demonstrations": (example,)}))
    beginning, end = (message["content"] for message in model.requests[0]["messages"])
    assert beginning.endswith("Text: Tema 1.\nLevel:4\n\nText:")
    assert end == " linha um linha dois\nLevel:"
    shots = tuple(
        Demonstration(text=f"demo {score}", score=score, rationale="r")
        for score in (0, 12, 13, 88, 100)
    )
    model = FakeChat(lambda _: ("1", {"1": 0.0}))
    read(model, PROMPT.model_copy(update={"demonstrations": shots}))
    said = [
        m["content"] for m in model.requests[0]["messages"] if m["role"] == "assistant"
    ]
    assert said == ["0", "0", "1", "4", "4"]


def test_calibration_moves_the_score_keeps_the_raw_one_and_knows_the_texts_it_was_fitted_on(
    tmp_path: Path,
) -> None:
    model = FakeChat(lambda _: ("1", {"1": math.log(0.5), "3": math.log(0.5)}))
    path = tmp_path / "c.json"
    fitted = {
        "model": "fake-chat",
        "prompt_hash": PROMPT.hash(RUBRIC),
        "method": "linear",
        "texts": [text_mark("seen")],
        "parameters": fit("linear", [40.0, 60.0], [0.0, 100.0], (0, 100)),
    }
    path.write_text(json.dumps(fitted))
    reading = read(model, calibration=str(path))
    assert (reading.raw_score, reading.score) == (pytest.approx(50), pytest.approx(50))
    assert bound(model, calibration=str(path)).fitted_on() == {text_mark("seen")}
    path.write_text(json.dumps(fitted | {"model": "another"}))
    with pytest.raises(ConfigError, match="was fitted for model 'another'"):
        read(model, calibration=str(path))
    with pytest.raises(ConfigError, match="does not exist"):
        read(model, calibration=str(tmp_path / "none.json"))


def test_content_free_calibration_divides_out_what_the_prompt_favours(
    tmp_path: Path, provenance: Provenance
) -> None:
    favoured = {str(n): math.log(p) for n, p in enumerate((0.6, 0.1, 0.1, 0.1, 0.1))}
    model = FakeChat(lambda _: ("0", favoured))
    readout = bound(model)
    where = provenance.model_copy(update={"prompt_hash": PROMPT.hash(RUBRIC)})
    empty = Item(id="0", text="N/A")
    with dspy.context(lm=LanguageModel(model)):
        judged = asyncio.run(JudgeStep(ScoreJudge(readout), where).process(empty))
    fitted, _ = fit_content_free([empty], judged[:1])
    path = tmp_path / "c.json"
    path.write_text(json.dumps(fitted))
    reading = read(model, calibration=str(path))
    assert reading.score == pytest.approx(50) and reading.raw_score == pytest.approx(25)


@pytest.mark.parametrize("base", [False, True])
def test_what_is_shown_holds_the_demonstrations_in_their_order(base: bool) -> None:
    shots = tuple(
        Demonstration(text=f"demo {n}", score=25 * n, rationale="r") for n in range(4)
    )
    shown = []
    for order in (None, 1):
        prompt = PROMPT.model_copy(
            update={"demonstrations": shots, "demo_order": order}
        )
        shown.append(
            bound(FakeChat(lambda text: ("2", None), base=base), prompt).shown()
        )
    assert all(f"demo {n}" in text for n in range(4) for text in shown)
    assert shown[0] != shown[1]
    # A base model reads the instructions first, too.
    assert shown[0].index("Judge the text.") < shown[0].index("demo 0")
