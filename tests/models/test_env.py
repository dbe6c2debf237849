"""`model=env`: four variables describe the model."""

import json
import os
from pathlib import Path

import pytest

from tests.models.conftest import folder_of, run_once, shipped
from tests.models.test_hosted import request
from tests.stub_server import KEY, Fault, StubServer, score_of
from undogmatic import api
from undogmatic.api import score_text
from undogmatic.cli import main
from undogmatic.errors import ConfigError
from undogmatic.models.base import Chats
from undogmatic.models.hosted import ChatModel


@pytest.fixture
def served(stub: StubServer, tmp_path: Path) -> StubServer:
    """A provider that `.env` names."""
    stub.key = KEY
    folder_of(tmp_path, LLM_PROVIDER="openai", LLM_MODEL="my-model", LLM_API_KEY=KEY, LLM_BASE_URL=stub.url + "/v1")
    return stub


def test_the_four_variables_make_a_model_with_its_readouts_that_says_what_the_one_behind_it_says(
    served: StubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = shipped("env")
    assert isinstance(model, Chats)
    run_once(model, lambda: model.complete(request()))
    assert served.requests[0].body["model"] == "my-model"
    assert str(shipped("env").name).startswith(f"my-model@{served.url}/v1")
    folder_of(tmp_path, LLM_PROVIDER="anthropic", LLM_API_KEY=KEY)
    assert shipped("env").readouts == ("structured", "samples")
    said = {"max_concurrency": 3, "context": 1234, "fitted_on": frozenset({"a mark"}), "rubric": "other"}
    for name, value in said.items():
        monkeypatch.setattr(ChatModel, name, value)
    monkeypatch.setattr("undogmatic.models.hosted.listed", lambda *_: [{"max_input_tokens": 1234}])
    monkeypatch.setattr(ChatModel, "count_tokens", lambda self, text: 77)
    folder_of(tmp_path, LLM_PROVIDER="openai", LLM_API_KEY=KEY)
    model = shipped("env")
    assert {name: getattr(model, name) for name in said} == said
    assert model.count_tokens("some words") == 77


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "LLM_PROVIDER is not set.*openai, anthropic"),
        ({"LLM_PROVIDER": "skynet"}, r"LLM_PROVIDER is 'skynet'.*openai, anthropic.*model=NAME"),
        ({"LLM_PROVIDER": "vllm"}, "needs LLM_MODEL"),
        ({"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m"}, "needs LLM_BASE_URL"),
        ({"LLM_PROVIDER": "openai"}, "needs OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, env: dict[str, str], message: str) -> None:
    folder_of(tmp_path, **env)
    with pytest.raises(ConfigError, match=message):
        shipped("env")


def logged(tmp_path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (tmp_path / "cache" / "score.log").read_text("utf-8").splitlines()]


def test_scoring_asks_the_model_of_the_environment_names_it_and_writes_its_log(
    served: StubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Aplica-se o Tema 69."
    found = score_text(text)
    assert (found.score, found.model.split("@")[0]) == (score_of(text), "my-model")
    main(["score", text, "engine.cache=false"])
    out, err = capsys.readouterr()
    assert f"{score_of(text):.1f}" in out and "my-model@" in err
    assert [request.body["model"] for request in served.requests] == ["my-model", "my-model"]
    log = tmp_path / "cache" / "score.log"
    assert log.stat().st_mode & 0o777 == 0o600
    assert [(line["score"], line["model"]) for line in logged(tmp_path)] == [(found.score, found.model)] * 2
    assert KEY not in out + err + found.model_dump_json() + log.read_text("utf-8")
    assert "Tema" not in log.read_text("utf-8")


@pytest.mark.parametrize("words", [["model=patterns"], ["experiment=fakes", "model=patterns"]])
def test_a_model_that_is_chosen_wins(served: StubServer, words: list[str]) -> None:
    assert score_text("Aplica-se o Tema 69.", words).model.startswith("patterns")
    assert served.requests == []


def test_an_unknown_provider_is_an_error_with_the_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder_of(tmp_path, LLM_PROVIDER="skynet", LLM_API_KEY=KEY)
    with pytest.raises(SystemExit) as end:
        main(["score", "um texto"])
    assert end.value.code == 2
    assert "openai, anthropic" in capsys.readouterr().err


def test_a_log_that_cannot_be_written_costs_no_score_and_is_said_once(
    served: StubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "_unlogged", [])
    (tmp_path / "cache").mkdir()
    os.mkfifo(tmp_path / "cache" / "score.log")
    texts = ["Tema 1", "Tema 2"]
    assert [score_text(text).score for text in texts] == [score_of(text) for text in texts]
    assert capsys.readouterr().err.count("score.log cannot be written") == 1


def test_what_ended_the_scoring_is_in_the_log_and_what_a_model_answered_is_not(
    served: StubServer, tmp_path: Path
) -> None:
    served.key = "another"
    with pytest.raises(ConfigError):
        score_text("Tema 1")
    assert logged(tmp_path)[-1]["error"] == "ConfigError"
    served.key = KEY  # a refusal may quote the text, and the error quotes the refusal
    served.faults = {"Tema 69": Fault("refusal", times=None)}
    found = score_text("Aplica-se o Tema 69.", ["engine.cache=false"])
    assert found.score is None and "I cannot judge" in str(found.error)
    assert logged(tmp_path)[-1]["error"] == "refusal"
    assert "I cannot judge" not in (tmp_path / "cache" / "score.log").read_text("utf-8")
