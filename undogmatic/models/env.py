"""`model=env`: the provider, the model and the key come from four environment variables."""

from __future__ import annotations

from typing import Any

from undogmatic.config.build import build
from undogmatic.errors import ConfigError
from undogmatic.models.base import Model
from undogmatic.models.http import setting
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import conf_folder

PROVIDERS = {"openai": "gpt", "anthropic": "claude"} | {
    name: name for name in ("gemini", "openrouter", "azure", "ollama", "vllm", "openai_compatible")
}
"""What LLM_PROVIDER may be -> the shipped config."""


class EnvModel(Model):
    """Becomes the model that four variables describe, in the environment or `.env`: LLM_PROVIDER picks one of the
    shipped configs; what LLM_MODEL, LLM_API_KEY and LLM_BASE_URL leave out is taken from it.

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
        described: Any = build(node, "model")
        # It says of itself, and can do, exactly what that model says and can.
        self.__class__, self.__dict__ = type(described), vars(described)
