"""`model=env`: the provider, the model and the key come from four environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from undogmatic.config.build import build
from undogmatic.errors import ConfigError
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway
from undogmatic.models.keys import setting
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import conf_folder

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

PROVIDERS = {
    "openai": "gpt",
    "anthropic": "claude",
    "gemini": "gemini",
    "openrouter": "openrouter",
    "azure": "azure",
    "ollama": "ollama",
    "vllm": "vllm",
    "openai_compatible": "openai_compatible",
}


class EnvModel(Model):
    """The model that LLM_PROVIDER, LLM_MODEL, LLM_API_KEY and LLM_BASE_URL describe, in the environment or `.env`.

    LLM_PROVIDER picks one of the shipped configs; what the other three leave out is taken from it.

    Args:
        options: Further keys of that config, e.g. {"json_mode": "off"}.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        provider = setting("LLM_PROVIDER")
        if provider is None or provider.lower() not in PROVIDERS:
            found = "is not set" if provider is None else f"is {provider!r}"
            raise ConfigError(
                f"model=env: LLM_PROVIDER {found}. Set it in the environment or .env to: {', '.join(PROVIDERS)}. "
                "To use another model: model=NAME."
            )
        file = conf_folder() / "model" / f"{PROVIDERS[provider.lower()]}.yaml"
        node: Any = read_yaml(file)
        node |= options or {}
        for variable, key in (("LLM_MODEL", "name"), ("LLM_BASE_URL", "api_base")):
            value = setting(variable)
            if value is not None:
                node[key] = value
            elif node.get(key) in (None, "???"):
                raise ConfigError(
                    f"model=env with LLM_PROVIDER={provider} needs {variable} in the environment or .env."
                )
        if setting("LLM_API_KEY") is not None:
            node["key_env"] = "LLM_API_KEY"
        self._inner: Any = build(node, "model")
        for name in Model.__annotations__:  # whatever a model says of itself; both have the gateway by `connect`
            if name != "gateway":
                setattr(self, name, getattr(self._inner, name))

    def connect(self, gateway: Gateway) -> None:
        super().connect(gateway)
        self._inner.connect(gateway)

    def count_tokens(self, text: str) -> int:
        count: int = self._inner.count_tokens(text)
        return count

    async def complete(self, request: Request) -> Response:
        """One completion by the model behind it."""
        response: Response = await self._inner.complete(request)
        return response

    async def close(self) -> None:
        await self._inner.close()
