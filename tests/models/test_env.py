"""`model=env`: four variables describe the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.conftest import folder_of, run_once, shipped
from tests.models.test_hosted import request
from tests.stub_server import KEY, StubServer
from undogmatic.errors import ConfigError
from undogmatic.models.base import Chats


def test_the_four_variables_make_a_model(stub: StubServer, tmp_path: Path) -> None:
    stub.key = KEY
    folder_of(tmp_path, LLM_PROVIDER="openai", LLM_MODEL="my-model", LLM_API_KEY=KEY, LLM_BASE_URL=stub.url + "/v1")
    model = shipped("env")
    assert isinstance(model, Chats)
    run_once(model, lambda: model.complete(request()))
    assert stub.requests[0].body["model"] == "my-model"
    assert str(shipped("env").name).startswith(f"my-model@{stub.url}/v1")


def test_claude_by_environment_has_claudes_readouts(tmp_path: Path) -> None:
    folder_of(tmp_path, LLM_PROVIDER="anthropic", LLM_API_KEY=KEY)
    assert shipped("env").readouts == ("structured", "samples")


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "LLM_PROVIDER is not set.*openai, anthropic"),
        ({"LLM_PROVIDER": "skynet"}, "LLM_PROVIDER is 'skynet'"),
        ({"LLM_PROVIDER": "vllm"}, "needs LLM_MODEL"),
        ({"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m"}, "needs LLM_BASE_URL"),
        ({"LLM_PROVIDER": "openai"}, "needs OPENAI_API_KEY"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, env: dict[str, str], message: str) -> None:
    folder_of(tmp_path, **env)
    with pytest.raises(ConfigError, match=message):
        shipped("env")
