"""Models behind a URL: what they share, and the OpenAI-compatible chat that most of them speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from undogmatic.errors import ConfigError, RefusedAnswer, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.models.calls import Gateway, Reply
from undogmatic.models.http import RAW_LIMIT, JsonClient, checked_base
from undogmatic.models.keys import Secret, find_key
from undogmatic.models.prices import Price, find_price
from undogmatic.records import digest

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

JsonMode = Literal["schema", "object", "off"]


class Tokens(NamedTuple):
    """What a reply says it used; None where it says nothing. `usd` is the server's own figure."""

    input: int | None
    output: int | None
    usd: float | None = None


class HostedModel(Model):
    """A model that answers JSON with JSON over HTTP.

    Args:
        name: The model's name at the server.
        api_base: Address of the API, without the endpoint's own path.
        key_env: Environment variable that holds the key, or None for a server that needs none.
        price: USD per million tokens; looked up by `provider` and `name` where it is not given.
        provider: The price list's name for the provider, or None.
        options: What else changes the answers and is not in the request; a hash of it becomes part of the identity.
    """

    def __init__(
        self,
        name: str,
        api_base: str,
        key_env: str | None,
        price: Price | None,
        provider: str | None,
        options: dict[str, Any] | None = None,
    ) -> None:
        if not name.strip():
            raise ConfigError("`model.name` is empty; give the model's name at the server, e.g. model.name=gpt-4.1-mini.")
        base = checked_base(api_base)
        self.model_name = name
        self.name = f"{name}@{base}" + (f"#{digest(options)[:8]}" if options else "")
        self.price = find_price(price, provider, name)
        secret = find_key(key_env, f"model.name={name}")
        self._client = JsonClient(self._url(base), self._headers(secret), secret, f"{name} at {base}")

    def connect(self, gateway: Gateway) -> None:
        """Use this gateway. Raises ConfigError where a budget of money cannot be kept because the price is unknown."""
        if gateway.budget.max_usd is not None and not self.price.known and not self.reports_price:
            raise ConfigError(
                f"`engine.max_usd` is {gateway.budget.max_usd:g}, but no price is known for {self.name}. "
                "Set model.price.input and model.price.output (USD per million tokens), or engine.max_usd=null."
            )
        super().connect(gateway)

    async def close(self) -> None:
        await self._client.close()

    async def exchange(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Send `payload` through the gateway; the reply's body, of a shape that `_check` accepts."""
        return dict((await self.gateway.call(self.name, payload, lambda: self._send(payload))).data)

    @property
    def reports_price(self) -> bool:
        """Whether the server says what each call cost."""
        return False

    async def _send(self, payload: dict[str, Any]) -> Reply:
        data = await self._client.post(payload)
        self._check(data)
        used = self._tokens(data)
        usd = used.usd
        if usd is None and used.input is not None and used.output is not None:
            usd = self.price.usd(used.input, used.output)
        return Reply(data, used.input or 0, used.output or 0, usd)

    def _headers(self, secret: Secret | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {secret.reveal()}"} if secret is not None else {}

    def _url(self, base: str) -> str:
        """Where to post."""
        raise NotImplementedError

    def _check(self, data: dict[str, Any]) -> None:
        """Raise UnparseableAnswer for a body of another shape: it is neither cached nor an answer."""
        raise NotImplementedError

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        """The reply's usage."""
        raise NotImplementedError


class ChatModel(HostedModel):
    """Any server with OpenAI's `POST {api_base}/chat/completions`.

    Args:
        name: The model's name at the server.
        api_base: Address up to and including the version, e.g. https://api.openai.com/v1.
        key_env: Environment variable with the key, or None.
        provider: The price list's name for the provider, or None.
        price: USD per million tokens, or None to look it up.
        json_mode: How a JSON answer is asked for: "schema" (the server enforces it), "object" (any JSON), "off".
        sampling: Whether temperature and top_p are sent; reasoning models refuse them.
        max_tokens_field: The server's word for the limit on the answer.
        reasoning_effort: Sent as it is, for models that have it.
        extra: Further fields of the request body.
    """

    readouts = ("structured", "logprobs", "samples")

    def __init__(
        self,
        name: str,
        api_base: str,
        key_env: str | None = None,
        provider: str | None = None,
        price: Price | None = None,
        json_mode: JsonMode = "schema",
        sampling: bool = True,
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        reasoning_effort: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        options: dict[str, Any] = {}
        if json_mode != "schema":
            options["json_mode"] = json_mode
        if not sampling:
            options["sampling"] = False
        if reasoning_effort is not None:
            options["reasoning_effort"] = reasoning_effort
        if extra:
            options["extra"] = extra
        self._provider = provider
        super().__init__(name, api_base, key_env, price, provider, options)
        self._json_mode, self._sampling, self._max_tokens_field = json_mode, sampling, max_tokens_field
        self._fixed: dict[str, Any] = dict(extra or {})
        if reasoning_effort is not None:
            self._fixed["reasoning_effort"] = reasoning_effort

    async def complete(self, request: Request) -> Response:
        """One completion. Raises ModelError, BudgetExceeded or ConfigError."""
        return self._response(await self.exchange(self._payload(request)), wants_logprobs(request))

    @property
    def reports_price(self) -> bool:
        return self._provider == "openrouter"

    def _url(self, base: str) -> str:
        return f"{base}/chat/completions"

    def _payload(self, request: Request) -> dict[str, Any]:
        config = request.config
        messages = [{"role": "system", "content": system_text(request)}] if request.system is not None else []
        messages += [{"role": wire_role(m.role), "content": plain_text(m.parts)} for m in request.messages]
        payload: dict[str, Any] = {"model": self.model_name, "messages": messages}
        if config.max_tokens is not None:
            payload[self._max_tokens_field] = config.max_tokens
        if self._sampling:
            payload |= given(temperature=config.temperature, top_p=config.top_p)
        payload |= given(
            seed=config.seed,
            stop=list(config.stop) or None,
            frequency_penalty=config.frequency_penalty,
            presence_penalty=config.presence_penalty,
        )
        if config.logprobs is not None:
            payload["logprobs"] = True
            if config.logprobs:
                payload["top_logprobs"] = config.logprobs
        form = config.response_format
        if form is not None and self._json_mode == "object":
            payload["response_format"] = {"type": "json_object"}
        elif form is not None and self._json_mode == "schema":
            payload["response_format"] = _schema_on_the_wire(form)
        return payload | (config.extensions or {}) | self._fixed

    def _check(self, data: dict[str, Any]) -> None:
        choices = data.get("choices")
        if choices and isinstance(choices, list) and isinstance(choices[0], dict):
            self._client.embedded_fault(choices[0])
            if isinstance(choices[0].get("message"), dict):
                return
        self._client.embedded_fault(data)
        raise UnparseableAnswer("the reply has no `choices` with a message", repr(data)[:RAW_LIMIT])

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        usage = data.get("usage")
        if not isinstance(usage, dict):
            return Tokens(None, None)
        cost = usage.get("cost")
        return Tokens(
            count(usage.get("prompt_tokens")),
            count(usage.get("completion_tokens")),
            float(cost) if isinstance(cost, int | float) else None,
        )

    def _response(self, data: dict[str, Any], with_logprobs: bool) -> Response:
        choice = data["choices"][0]
        message = choice["message"]
        text = _content(message.get("content"))
        reason = choice.get("finish_reason")
        if message.get("refusal") or reason == "content_filter":
            said = message.get("refusal") or text
            raise RefusedAnswer(f"the model declined{f': {said[:200]}' if said else ' (content filter)'}", said or None)
        # One token of a distribution is all that a log-probability readout wants; it always ends for length.
        if reason == "length" and not with_logprobs:
            raise UnparseableAnswer("the answer was truncated at max_tokens; raise readout.max_tokens", text or None)
        if not text and not with_logprobs:
            raise UnparseableAnswer("the answer is empty")
        logprobs = choice.get("logprobs") if with_logprobs else None
        return make_response(data, self.model_name, text, self._tokens(data), _logprobs(logprobs))


class AzureModel(ChatModel):
    """Azure OpenAI's deployments: the deployment's name is in the address, the version in the query, the key in `api-key`.

    Args:
        name: The deployment's name.
        api_base: The resource's address, e.g. https://myresource.openai.azure.com.
        api_version: The API version, e.g. 2024-10-21.
        key_env: Environment variable with the key.
        prices_like: The model behind the deployment, for the price list, e.g. gpt-4.1-mini.
    """

    def __init__(
        self,
        name: str,
        api_base: str,
        api_version: str,
        key_env: str | None = "AZURE_OPENAI_API_KEY",
        prices_like: str | None = None,
        price: Price | None = None,
        json_mode: JsonMode = "schema",
        sampling: bool = True,
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_completion_tokens",
        reasoning_effort: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self._api_version = api_version
        super().__init__(
            name,
            api_base,
            key_env,
            "azure",
            find_price(price, "azure", prices_like if prices_like is not None else name),
            json_mode,
            sampling,
            max_tokens_field,
            reasoning_effort,
            extra,
        )
        self.name += f"?api-version={api_version}"

    def _url(self, base: str) -> str:
        return f"{base}/openai/deployments/{self.model_name}/chat/completions?api-version={self._api_version}"

    def _headers(self, secret: Secret | None) -> dict[str, str]:
        return {"api-key": secret.reveal()} if secret is not None else {}


def wants_logprobs(request: Request) -> bool:
    """Whether log-probabilities are what the caller is after."""
    return request.config.logprobs is not None


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def count(value: Any) -> int | None:
    """A token count as it stands in a reply, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def wire_role(role: str) -> str:
    """DSPy's role in the words of the chat API. Raises ConfigError for tool messages, which no judge sends."""
    if role == "tool":
        raise ConfigError("tool messages cannot be sent to a judge model; write the tool's result into the text.")
    return "system" if role == "developer" else role


def system_text(request: Request) -> str:
    """The request's system prompt."""
    system = request.system
    return system if isinstance(system, str) else plain_text(system or ())


def plain_text(parts: Any) -> str:
    """Text parts joined. Raises ConfigError for images, audio and other media."""
    for part in parts:
        if part.type != "text":
            raise ConfigError(f"a message holds a part of type {part.type!r}; judges send text alone.")
    return "\n".join(part.text for part in parts)


def make_response(
    data: dict[str, Any], model: str, text: str, used: Tokens, logprobs: tuple[Any, ...] | None = None
) -> Response:
    """DSPy's response. An empty `text` becomes a space: DSPy takes empty text for a failed call."""
    from dspy.lm15 import Message, Response, TextPart, Usage

    identifier, resolved = data.get("id"), data.get("model")
    return Response(
        id=identifier if isinstance(identifier, str) and identifier else None,
        model=resolved if isinstance(resolved, str) and resolved else model,
        message=Message(role="assistant", parts=(TextPart(text or " "),)),
        finish_reason="stop",
        usage=Usage(input_tokens=used.input, output_tokens=used.output),
        logprobs=logprobs,
    )


def _schema_on_the_wire(form: dict[str, Any]) -> dict[str, Any]:
    """DSPy's flat `{"type": "json_schema", "schema": ...}` nested as the chat API has it."""
    if form.get("type") != "json_schema":
        return form
    inner = {"name": "answer"} | {key: value for key, value in form.items() if key != "type"}
    return {"type": "json_schema", "json_schema": inner}


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _logprobs(found: Any) -> tuple[Any, ...] | None:
    """The chat API's `logprobs.content` in DSPy's types; None where the server sent none."""
    content = found.get("content") if isinstance(found, dict) else None
    if not content:
        return None
    from dspy.lm15 import TokenLogprob, TopLogprob

    try:
        return tuple(
            TokenLogprob(
                token=entry["token"],
                logprob=float(entry["logprob"]),
                top=tuple(
                    TopLogprob(token=top["token"], logprob=float(top["logprob"]))
                    for top in entry.get("top_logprobs") or ()
                    if top.get("logprob") is not None
                ),
            )
            for entry in content
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnparseableAnswer(f"`logprobs` has another form than agreed ({error!r})", repr(content)[:RAW_LIMIT]) from None
