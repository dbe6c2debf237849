"""Models behind a URL that do not speak the chat API, and the one that environment variables
describe."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from undogmatic.config.build import build
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models import hosted
from undogmatic.models.base import Model
from undogmatic.models.batches import AnthropicBatches
from undogmatic.models.calls import shown
from undogmatic.models.hosted import HostedModel, Price, Stop, Tokens
from undogmatic.models.http import checked_base, is_local
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import conf_folder
from undogmatic.safety.variables import setting

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_STOPS: dict[str, Stop] = {
    "refusal": "refusal",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
# by Anthropic's schemas
_UNSUPPORTED_KEYWORDS = (
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
)
PROVIDERS = {"openai": "gpt", "anthropic": "claude"} | {
    name: name
    for name in ("gemini", "openrouter", "azure", "ollama", "vllm", "openai_compatible")
}
"""What LLM_PROVIDER may be -> the shipped config."""


class AnthropicModel(HostedModel):
    """Claude by Anthropic's own Messages API (`POST {api_base}/v1/messages`), which gives no
    log-probabilities."""

    readouts = ("structured", "samples")
    key_header = "x-api-key"
    headers: ClassVar[dict[str, str]] = {"anthropic-version": "2023-06-01"}
    path = "/v1/messages"
    batches = AnthropicBatches

    def __init__(
        self,
        name: str,  # e.g. claude-sonnet-4-5
        api_base: str = "https://api.anthropic.com",  # without the version
        key_env: str | None = "ANTHROPIC_API_KEY",
        price: Price | None = None,
        json_mode: Literal[
            "schema", "off"
        ] = "schema",  # the server enforces a schema without bounds on numbers
        sampling: bool = True,  # whether the temperature is sent; some models refuse it
        extra: dict[str, Any] | None = None,  # further fields of the request body
    ) -> None:
        super().__init__(
            name, api_base, key_env, price, "anthropic", json_mode, sampling, extra
        )

    async def complete(self, request: Request) -> Response:
        """One completion. Raises ModelError, BudgetExceeded or ConfigError."""

        def read(data: dict[str, Any]) -> Response:
            text = hosted.content_text(
                [block for block in data["content"] if block.get("type") == "text"]
            )
            stop = _STOPS.get(str(data.get("stop_reason")), "stop")
            return hosted.settled(data, self.model_name, text, self._tokens(data), stop)

        return await self.exchange(self._payload(request), read)

    def _payload(self, request: Request) -> dict[str, Any]:
        config = request.config
        turns = hosted.messages(request)
        system = [turn["content"] for turn in turns if turn["role"] == "system"]
        # Current models refuse temperature and top_p together; a top_p of 1 changes nothing.
        sampling = {
            "temperature": config.temperature,
            "top_p": config.top_p if config.top_p != 1 else None,
        }
        payload: dict[str, Any] = hosted.set_only(
            model=self.model_name,
            # the API requires a number
            max_tokens=(1024 if config.max_tokens is None else config.max_tokens),
            messages=[turn for turn in turns if turn["role"] != "system"],
            system="\n\n".join(system) if system else None,
            **(sampling if self._sampling else {}),
            stop_sequences=list(config.stop) or None,
        )
        form = config.response_format
        if (
            form is not None
            and form.get("type") == "json_schema"
            and self._json_mode == "schema"
        ):
            payload["output_config"] = {
                "format": {
                    "type": "json_schema",
                    "schema": _without_bounds(form["schema"]),
                }
            }
        return payload | (config.extensions or {}) | self._fixed

    def _lacking(self, data: dict[str, Any]) -> str:
        content = data.get("content")
        fits = isinstance(content, list) and all(
            isinstance(block, dict) for block in content
        )
        return "" if fits else "`content`"

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        used = super()._tokens(data)
        if used.input is None:
            return Tokens(None, None)
        cached = (
            data["usage"].get(f"cache_{how}_input_tokens")
            for how in ("read", "creation")
        )
        counts = (
            hosted.figure(tokens, hosted.MOST_TOKENS, int) or 0 for tokens in cached
        )
        return Tokens(used.input + sum(counts), used.output)


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            k: _without_bounds(v)
            for k, v in schema.items()
            if k not in _UNSUPPORTED_KEYWORDS
        }
    if isinstance(schema, list):
        return [_without_bounds(entry) for entry in schema]
    return schema


class DecisionModel(HostedModel):
    """A System One server. It serves our decision readout, and DSPy's `Predict` as a
    decision-request client.

    Answers to questions that were not asked, and answer types we do not know, are kept in the
    journal and left alone.
    """

    readouts = ("decision",)
    supports_decision_requests = True

    def __init__(
        self,
        # or an alias; what that stood for is the reply's own `model` (in the journal)
        name: str = "jev-latest",
        api_base: str = "https://api.typesafe.ai",  # the server's origin, without /v1
        # its path; "" where `api_base` is already the full address (Cloudflare)
        endpoint: str = "/v1/systemone",
        # on this machine an unset variable means no key
        key_env: str | None = "TYPESAFE_API_KEY",
        price: Price | None = None,  # USD per million tokens, or None where unknown
    ) -> None:
        self.path = endpoint
        if (
            key_env is not None
            and is_local(checked_base(api_base))
            and setting(key_env) is None
        ):
            key_env = None
        changed = None if endpoint == "/v1/systemone" else endpoint
        super().__init__(name, api_base, key_env, price, None, endpoint=changed)

    async def decide(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """Ask typed questions about `state` (text, object or array): one answer per question, in
        their order. Raises UnparseableAnswer where one is missing or of another type than its
        question."""

        def read(body: dict[str, Any]) -> dict[str, Any]:
            data = _unwrapped(body)
            for name, question in questions.items():
                answer, wanted, why = data["answers"].get(name), question["type"], ""
                if not isinstance(answer, dict):
                    why = f"no answer to {name!r} came back"
                elif answer.get("type") != wanted or answer.get(wanted) is None:
                    why = (
                        f"the answer to {name!r} is of type {answer.get('type')!r}, not a {wanted}"
                        " answer"
                    )
                if why:
                    raise UnparseableAnswer(why, shown(data))
            return {name: data["answers"][name] for name in questions}

        return await self.exchange(
            {"model": self.model_name, "state": state, "questions": questions}, read
        )

    async def acall(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """What DSPy's `Predict` calls when this model is its `lm`."""
        # DSPy edits the answers; the journal keeps them
        return copy.deepcopy(await self.decide(state, questions))

    def __call__(self, state: Any, questions: dict[str, Any]) -> dict[str, Any]:
        """`acall` for synchronous programs, e.g. optimisers. Not for use inside a running event
        loop."""

        async def once() -> dict[str, Any]:
            try:
                return await self.acall(state, questions)
            finally:
                await self.close()

        return asyncio.run(once())

    def _lacking(self, data: dict[str, Any]) -> str:
        inner = _unwrapped(data)
        if data.get("success") is False:
            self.client.embedded_fault({"error": data.get("errors")})
        if isinstance(inner.get("answers"), dict):
            return ""
        self.client.embedded_fault(inner)
        return "`answers`"

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        return super()._tokens(_unwrapped(data))


def _unwrapped(data: dict[str, Any]) -> dict[str, Any]:
    """The body inside Cloudflare's envelope, or the body itself."""
    inner = data.get("result")
    return inner if isinstance(inner, dict) and "answers" not in data else data


class EnvModel(Model):
    """Becomes the model that four variables describe, in the environment or `.env`: LLM_PROVIDER
    picks one of the shipped configs; what LLM_MODEL, LLM_API_KEY and LLM_BASE_URL leave out is
    taken from it. `options` are further keys of that config, e.g. {"json_mode": "off"}."""

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        provider = setting("LLM_PROVIDER")
        if provider is None or provider.lower() not in PROVIDERS:
            what = "is not set" if provider is None else f"is {provider!r}"
            raise ConfigError(
                f"model=env: LLM_PROVIDER {what}. Set it in the environment or .env to:"
                f" {', '.join(PROVIDERS)}. To use another model: model=NAME."
            )
        node: Any = read_yaml(
            conf_folder() / "model" / f"{PROVIDERS[provider.lower()]}.yaml"
        ) | (options or {})
        for name, key in (("LLM_MODEL", "name"), ("LLM_BASE_URL", "api_base")):
            if (value := setting(name)) is not None:
                node[key] = value
            elif node.get(key) in (None, "???"):
                raise ConfigError(
                    f"model=env with LLM_PROVIDER={provider} needs {name} in the environment or"
                    " .env."
                )
        if setting("LLM_API_KEY") is not None:
            node["key_env"] = "LLM_API_KEY"
        described: Any = build(node, "model")
        # It says of itself, and can do, exactly what that model says and can.
        self.__class__, self.__dict__ = type(described), vars(described)
