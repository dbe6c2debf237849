"""`undogmatic.module`: a judge as a DSPy program, with whatever of DSPy looks on."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import dspy
import pytest

import undogmatic
from tests.conftest import environment, put
from tests.optimize import scripted
from tests.optimize.conftest import texts
from undogmatic.engine.module import JudgeModule
from undogmatic.errors import ConfigError, DataError, ModelError

HIGH, LOW = "barn kestrel 0123", "barn lantern 01"
FOLDER = "conf"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of configs with the scripted model."""
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "tests")
    place = tmp_path / FOLDER / "model" / "scripted.yaml"
    place.parent.mkdir(parents=True)
    place.write_text("_target_: tests.optimize.scripted.Scripted\nkind: 0\n")
    return tmp_path / FOLDER


@pytest.fixture
def module(folder: Path) -> JudgeModule:
    return undogmatic.module(
        model="scripted", prompt="anchored_en", config_dir=[str(folder)]
    )


def test_one_line_makes_a_program_that_gives_the_fields_of_a_verdict(
    module: JudgeModule,
) -> None:
    said = module(text=HIGH)
    assert isinstance(module, dspy.Module) and said.score == (len_of(HIGH) * 37) % 100
    assert (said.rationale, said.confidence) == ("so it is", 50)
    assert said.score == said.verdict.score
    assert [name for name, _ in module.named_predictors()] == ["judge.readout.predict"]
    with pytest.raises(DataError, match=r"judges text=\.\.\.; `text` is missing"):
        module(txt=HIGH)


def len_of(text: str) -> int:
    """How long the last message of a request for this text is."""
    sent = [json.loads(each)["messages"][-1]["content"] for each in scripted.REQUESTS]
    return next(len(content) for content in reversed(sent) if text in content)


def test_the_history_of_dspy_holds_what_was_sent_and_answered(
    module: JudgeModule, capsys: pytest.CaptureFixture[str]
) -> None:
    module(text=HIGH)
    dspy.inspect_history(1)
    printed = capsys.readouterr().out
    assert HIGH in printed and "so it is" in printed


@pytest.mark.parametrize("adapter", [dspy.ChatAdapter(), dspy.JSONAdapter()])
def test_a_users_adapter_formats_and_reads_and_the_scale_holds(
    folder: Path, adapter: dspy.Adapter
) -> None:
    chosen: dict[str, Any] = {"model": "scripted", "prompt": "anchored_en"}
    module = undogmatic.module(**chosen, adapter=adapter, config_dir=[str(folder)])
    writes = "[[ ## shame_score ## ]]\n{0}\n[[ ## confidence ## ]]\n9\n[[ ## rationale ## ]]\nso"
    if isinstance(adapter, dspy.JSONAdapter):
        writes = '{{"shame_score": {0}, "confidence": 9, "rationale": "so"}}'

    def written(self: Any, payload: Any) -> str:
        return writes.format(score)

    model: Any = module.composed.parts.model.asked()
    model._judged = model._written = written.__get__(model)
    score = 70
    said = module(text=HIGH)
    assert (said.score, said.confidence, said.rationale) == (70, 9, "so")
    assert "<<text-" not in scripted.REQUESTS[-1]
    score = 700
    with pytest.raises(ModelError, match="700"):
        module(text=LOW)


def test_an_adapter_is_refused_where_no_answer_is_in_words() -> None:
    with pytest.raises(
        ConfigError, match="`adapter` is ChatAdapter, and readout=rules reads no"
    ):
        undogmatic.module(model="patterns", adapter=dspy.ChatAdapter())


def test_streaming_ends_with_the_prediction(module: JudgeModule) -> None:
    async def all_of_it() -> list[Any]:
        return [part async for part in dspy.streamify(module)(text=HIGH)]

    assert asyncio.run(all_of_it())[-1].rationale == "so it is"


def test_a_program_is_saved_whole_and_loaded_in_another_process(
    module: JudgeModule, folder: Path, tmp_path: Path
) -> None:
    ((_, predictor),) = module.named_predictors()
    predictor.signature = predictor.signature.with_instructions(scripted.MAGIC)
    module.save(str(tmp_path / "saved"), save_program=True)
    program = (
        "import dspy\n"
        f"module = dspy.load({str(tmp_path / 'saved')!r}, allow_pickle=True)\n"
        f"print(module(text={HIGH!r}).score, module(text={LOW!r}).score)"
    )
    told = environment() | {"UNDOGMATIC_ALLOW": "tests"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=told,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["95.0", "5.0"]
    state = tmp_path / "state.json"
    module.save(str(state))
    other = undogmatic.module(
        model="scripted", prompt="anchored_en", config_dir=[str(folder)]
    )
    other.load(str(state))
    assert other(text=HIGH).score == 95


def test_an_optimiser_of_dspy_takes_it_as_any_program(module: JudgeModule) -> None:
    rows = [
        dspy.Example(text=row["text"], score=row["label"]).with_inputs("text")
        for row in texts(8)
    ]

    def close(example: dspy.Example, said: Any, trace: Any = None) -> bool:
        return abs(example.score - said.score) < 10

    compiled = dspy.LabeledFewShot(k=4).compile(module, trainset=rows)
    evaluate = dspy.Evaluate(devset=rows, metric=close, num_threads=2)
    assert evaluate(compiled).score == 100
    assert not module.judge.predictors()[0].demos


def test_several_judges_are_no_program(folder: Path, tmp_path: Path) -> None:
    put(tmp_path / "x.jsonl", texts(2))
    with pytest.raises(ConfigError, match="one judge is one program"):
        undogmatic.module(model="patterns", overrides=["judges=[score,score]"])
