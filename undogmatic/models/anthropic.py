"""Claude, through Anthropic's own Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from undogmatic.errors import UnparseableAnswer
from undogmatic.models.calls import shown
from undogmatic.models.hosted import (
    MOST_TOKENS,
    HostedModel,
    Price,
    Stop,
    Tokens,
    content_text,
    figure,
    given,
    messages,
    settled,
)

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

_STOPS: dict[str, Stop] = {"refusal": "refusal", "max_tokens": "length", "model_context_window_exceeded": "length"}
_UNSUPPORTED_KEYWORDS = ("minimum", "maximum", "multipleOf", "minLength", "maxLength")


class AnthropicModel(HostedModel):
    """`POST {api_base}/v1/messages`. It gives no log-probabilities.

    Args:
        name, key_env, price: As for any `HostedModel`; e.g. claude-sonnet-4-5.
        api_base: Address without the version.
        json_mode: "schema" (the server enforces it; bounds on numbers are left out, it takes none) or "off".
        sampling: Whether the temperature is sent; some models refuse it.
        extra: Further fields of the request body.
    """

    readouts = ("structured", "samples")
    key_header = "x-api-key"
    headers: ClassVar[dict[str, str]] = {"anthropic-version": "2023-06-01"}
    path = "/v1/messages"

    def __init__(
        self,
        name: str,
        api_base: str = "https://api.anthropic.com",
        key_env: str | None = "ANTHROPIC_API_KEY",
        price: Price | None = None,
        json_mode: Literal["schema", "off"] = "schema",
        sampling: bool = True,
        extra: dict[str, Any] | None = None,
    ) -> None:
        mode, sampled = None if json_mode == "schema" else json_mode, None if sampling else False
        options = given(json_mode=mode, sampling=sampled, extra=extra or None)
        super().__init__(name, api_base, key_env, price, "anthropic", options)
        self._json_mode, self._sampling, self._extra = json_mode, sampling, extra or {}

    async def complete(self, request: Request) -> Response:
        """One completion. Raises ModelError, BudgetExceeded or ConfigError."""
        return await self.exchange(self._payload(request), self._response)

    def _response(self, data: dict[str, Any]) -> Response:
        text = content_text([block for block in data["content"] if block.get("type") == "text"])
        stop = _STOPS.get(str(data.get("stop_reason")), "stop")
        return settled(data, self.model_name, text, self._tokens(data), stop)

    def _payload(self, request: Request) -> dict[str, Any]:
        config = request.config
        turns = messages(request)
        system = [turn["content"] for turn in turns if turn["role"] == "system"]
        payload: dict[str, Any] = {
            "model": self.model_name,
            "max_tokens": 1024 if config.max_tokens is None else config.max_tokens,  # the API requires a number
            "messages": [turn for turn in turns if turn["role"] != "system"],
        }
        payload |= given(system="\n\n".join(system) if system else None)
        if self._sampling:
            # Current models refuse temperature and top_p together; a top_p of 1 changes nothing.
            payload |= given(temperature=config.temperature, top_p=config.top_p if config.top_p != 1 else None)
        payload |= given(stop_sequences=list(config.stop) or None)
        form = config.response_format
        if form is not None and form.get("type") == "json_schema" and self._json_mode == "schema":
            payload["output_config"] = {"format": {"type": "json_schema", "schema": _without_bounds(form["schema"])}}
        return payload | (config.extensions or {}) | self._extra

    def _check(self, data: dict[str, Any]) -> None:
        content = data.get("content")
        if isinstance(content, list) and all(isinstance(block, dict) for block in content):
            return
        self._client.embedded_fault(data)
        raise UnparseableAnswer("the reply has no `content`", shown(data))

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        used = super()._tokens(data)
        if used.input is None:
            return Tokens(None, None)
        cached = (data["usage"].get(f"cache_{how}_input_tokens") for how in ("read", "creation"))
        return Tokens(used.input + sum(figure(tokens, MOST_TOKENS, int) or 0 for tokens in cached), used.output)


def _without_bounds(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: _without_bounds(v) for k, v in schema.items() if k not in _UNSUPPORTED_KEYWORDS}
    if isinstance(schema, list):
        return [_without_bounds(entry) for entry in schema]
    return schema
