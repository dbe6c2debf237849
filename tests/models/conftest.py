import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from undogmatic.config.build import build
from undogmatic.models.calls import Gateway
from undogmatic.records.limits import PacedLimits
from undogmatic.safety.paths import conf_folder

KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "OPENROUTER_API_KEY",
    "AZURE_OPENAI_API_KEY",
)


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        *KEYS,
        "TYPESAFE_API_KEY",
        "LLM_PROVIDER",
        "LLM_MODEL",
        "LLM_API_KEY",
        "LLM_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def shipped(choice: str, /, **changes: Any) -> Any:
    """The model of `conf/model/CHOICE.yaml` with some keys overridden."""
    node: Any = OmegaConf.to_container(
        OmegaConf.load(conf_folder() / "model" / f"{choice}.yaml")
    )
    return build(node | changes, "model")


def run_once(model: Any, ask: Callable[[], Any], gateway: Gateway | None = None) -> Any:
    """Await `ask()` with the model connected, and close the model in the same event loop."""
    model.connect(
        gateway
        if gateway is not None
        else Gateway(limits=PacedLimits(timeout=2, retries=2, backoff=0.001))
    )

    async def whole() -> Any:
        try:
            return await ask()
        finally:
            await model.close()

    return asyncio.run(whole())


def folder_of(tmp_path: Path, **env: str) -> None:
    """Write a `.env` file."""
    (tmp_path / ".env").write_text(
        "".join(f"{k}={v}\n" for k, v in env.items()), encoding="utf-8"
    )
