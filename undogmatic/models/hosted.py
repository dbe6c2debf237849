"""Models behind a URL: what they share, their prices and the OpenAI-compatible chat that most of
them speak."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from pydantic import Field

from undogmatic.errors import ConfigError, RefusedAnswer, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.models.batches import Batches, OpenAIBatches
from undogmatic.models.calls import Gateway, Reply, reading, shown
from undogmatic.models.http import JsonClient, checked_base, find_key
from undogmatic.records.records import Record, digest
from undogmatic.safety.secrets import learn, shown_address

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

JsonMode = Literal["schema", "object", "off"]
T = TypeVar("T")
# of one call; a figure beyond is none, and must not use up a budget
MOST_TOKENS = 100_000_000
MOST_USD = 1000.0
# servers round, so that the logarithm of a probability of 1 may be a little more than 0
ROUNDED = 0.01
# characters. Whoever is asked for a score and its reason does not need a tenth of it.
LONGEST_ANSWER = 100_000


class Price(Record):
    """USD per million tokens. Both numbers, or neither: then the price list is asked."""

    input: float | None = Field(default=None, ge=0)
    output: float | None = Field(default=None, ge=0)

    def usd(self, input_tokens: int, output_tokens: int) -> float | None:
        """Price of one call in USD, or None where unknown. Discounts for cached input are not
        applied."""
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def find_price(configured: Price | None, provider: str | None, name: str) -> Price:
    """The configured price (`model.price`), else the one `listed`, else an unknown price. Raises
    ConfigError where only one of the two prices is given."""
    missing = [name for name, price in configured or Price() if price is None]
    if configured is not None and not missing:
        return configured
    if len(missing) == 1:
        raise ConfigError(
            f"`model.price.{missing[0]}` is null while the other price is set; give both, or"
            " neither."
        )
    for entry in listed(provider, name):
        cost_in = entry.get("input_cost_per_token")
        cost_out = entry.get("output_cost_per_token")
        if cost_in is not None and cost_out is not None:
            return Price(input=cost_in * 1e6, output=cost_out * 1e6)
    return Price()


@functools.cache
def listed(provider: str | None, name: str) -> list[dict[str, Any]]:
    """What litellm's list says of a model, the provider's own entry first; `provider` is the list's
    name for it, e.g. "openai", or None for a server that is on no list. litellm is not imported (5
    s, and it asks the network).
    """
    spec = importlib.util.find_spec("litellm")
    file = Path((spec and spec.origin) or "nowhere").with_name(
        "model_prices_and_context_window_backup.json"
    )
    if provider is None or not file.is_file():
        return []
    prices = json.loads(file.read_text(encoding="utf-8"))
    entries = [
        entry
        for key in (f"{provider}/{name}", name)
        if isinstance(entry := prices.get(key), dict)
    ]
    return [
        entry
        for entry in entries
        if str(entry.get("litellm_provider", "")).startswith(provider)
    ]


class Tokens(NamedTuple):
    """What a reply says it used; None where it says nothing. `usd` is the server's own figure."""

    input: int | None
    output: int | None
    usd: float | None = None


def set_only(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def figure(value: Any, most: float, *kinds: Any) -> Any:
    """What a reply says that it used or cost, or None for what is no such number."""
    return (
        value
        if isinstance(value, kinds)
        and not isinstance(value, bool)
        and 0 <= value <= most
        else None
    )


def merged(turns: list[dict[str, str]]) -> list[dict[str, str]]:
    """The turns without a system message, whose words stand before those of the first user's turn,
    for models whose template takes none."""
    system = [turn["content"] for turn in turns if turn["role"] == "system"]
    rest = [dict(turn) for turn in turns if turn["role"] != "system"]
    first = next((turn for turn in rest if turn["role"] == "user"), None)
    if not system or first is None:
        return [{**turn, "role": "user"} for turn in turns] if system else rest
    first["content"] = "\n\n".join([*system, first["content"]])
    return rest


def messages(request: Request) -> list[dict[str, str]]:
    """The request in the words of the chat API, system prompt first. Raises ConfigError where it
    holds what no judge sends: tool messages, images, audio and other media."""
    turns: list[tuple[str, Any]] = (
        [("system", request.system)] if request.system is not None else []
    )
    turns += [(message.role, message.parts) for message in request.messages]
    sent = []
    for role, parts in turns:
        if role == "tool":
            raise ConfigError(
                "tool messages cannot be sent to a judge model; write the tool's result into the"
                " text."
            )
        if odd := (
            []
            if isinstance(parts, str)
            else [part.type for part in parts if part.type != "text"]
        ):
            raise ConfigError(
                f"a message holds a part of type {odd[0]!r}; judges send text alone."
            )
        text = (
            parts if isinstance(parts, str) else "\n".join(part.text for part in parts)
        )
        sent.append(
            {"role": "system" if role == "developer" else role, "content": text}
        )
    return sent


Stop = Literal["stop", "length", "refusal", "filter"]


def settled(
    data: dict[str, Any],
    model: str,
    text: str,
    used: Tokens,
    stop: Stop = "stop",
    logprobs: Any = None,
) -> Response:
    """DSPy's response from the text of an answer or refusal. `data` is the reply's body, which may
    name an `id` and the model that answered (else it is `model`); `logprobs` are in DSPy's types.
    Raises RefusedAnswer where the model or a filter declined; UnparseableAnswer for a text that is
    cut off, endless or empty, for DSPy a failed call.
    """
    from dspy.lm15 import Message, Response, TextPart, Usage

    if stop in ("refusal", "filter"):
        why = (
            f": {text[:200]}"
            if text
            else " (content filter)"
            if stop == "filter"
            else ""
        )
        raise RefusedAnswer(f"the model declined{why}", text or None)
    if stop == "length":
        raise UnparseableAnswer(
            "the answer was truncated at max_tokens; raise readout.max_tokens, or max_tokens of a"
            " step",
            text or None,
        )
    if not text:
        raise UnparseableAnswer("the answer is empty")
    if len(text) > LONGEST_ANSWER:
        raise UnparseableAnswer(
            f"the answer has {len(text):,} characters; {LONGEST_ANSWER:,} are read at most",
            shown(text),
        )
    named = {
        key: value
        for key in ("id", "model")
        if isinstance(value := data.get(key), str) and value
    }
    message = Message("assistant", (TextPart(text),))
    usage = Usage(used.input, used.output)
    return Response(
        named.get("id"), named.get("model", model), message, "stop", usage, logprobs
    )


def content_text(content: Any) -> str:
    """A message's `content`, which some servers send as a list of parts."""
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def token_logprobs(sent: Any) -> tuple[Any, ...] | None:
    """The chat API's `logprobs.content` in DSPy's types; None where the server sent none."""
    content = sent.get("content") if isinstance(sent, dict) else None
    if not content:
        return None
    from dspy.lm15 import TokenLogprob, TopLogprob

    def pair(entry: Any) -> dict[str, Any]:
        token, logprob = entry["token"], entry["logprob"]
        if not isinstance(token, str):
            raise TypeError(f"the token {token!r:.40} is no text")
        if (
            isinstance(logprob, bool)
            or not isinstance(logprob, int | float)
            or not logprob <= ROUNDED
        ):
            raise TypeError(f"{logprob!r:.40} is no log-probability")
        return {"token": token, "logprob": float(logprob)}

    def others(entry: Any) -> tuple[Any, ...]:
        tops = entry.get("top_logprobs") or ()
        return tuple(
            TopLogprob(**pair(top)) for top in tops if top.get("logprob") is not None
        )

    return tuple(TokenLogprob(**pair(entry), top=others(entry)) for entry in content)


class HostedModel(Model):
    """A model that answers JSON with JSON over HTTP."""

    key_header = "Authorization"
    headers: ClassVar[dict[str, str]] = {}
    path: str  # where to post, below `api_base`
    # the server's words for tokens of the request and of the answer
    usage = (
        "input_tokens",
        "output_tokens",
    )
    waits = True
    reports_price = False  # whether the server says what each call cost
    timed = True
    batches: type[Batches] | None = (
        None  # how its provider takes many requests at once, for half the price
    )

    def __init__(
        self,
        name: str,
        api_base: str,  # the API's address, without the endpoint's own path
        # the environment variable that holds the key, or None for a server that needs none
        key_env: (str | None),
        # USD per million tokens; looked up by `provider` and `name` where it is not given
        price: (Price | None),
        provider: str | None,  # as the price list calls it
        # this, and what follows, changes the answers: its hash is part of the identity
        json_mode: JsonMode = "schema",
        sampling: bool = True,
        extra: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if not name.strip():
            raise ConfigError(
                "`model.name` is empty; give its name at the server, e.g. model.name=gpt-4.1-mini."
            )
        base = checked_base(api_base)
        learn(extra or None, "model.extra")
        self._json_mode, self._sampling, self._fixed = json_mode, sampling, extra or {}
        mode = None if json_mode == "schema" else json_mode
        sampled = None if sampling else False
        options = set_only(
            json_mode=mode, sampling=sampled, extra=extra or None, **options
        )
        self.model_name, self.api_base, shown = name, base, shown_address(base)
        self.server = "{0.scheme}://{0.netloc}".format(urlsplit(base))
        self.name = f"{name}@{shown}" + (f"#{digest(options)[:8]}" if options else "")
        self.price = find_price(price, provider, name)
        contexts = (entry.get("max_input_tokens") for entry in listed(provider, name))
        self.context = next(
            (tokens for tokens in contexts if isinstance(tokens, int) and tokens > 0),
            None,
        )
        key = find_key(key_env, f"model.name={name}")
        learn(base + self.path, "model.api_base")
        self.client = JsonClient(
            base + self.path,
            self.headers,
            key_env,
            key,
            self.key_header,
            f"{name} at {shown}",
        )

    def connect(self, gateway: Gateway) -> None:
        """Use this gateway. Raises ConfigError where a budget of money cannot be kept because the
        price is unknown."""
        if (
            gateway.limits.max_usd is not None
            and self.price.usd(0, 0) is None
            and not self.reports_price
        ):
            raise ConfigError(
                f"`engine.max_usd` is {gateway.limits.max_usd:g}, but no price is known for"
                f" {self.name}. Set model.price.input and model.price.output (USD per million"
                " tokens), or engine.max_usd=null."
            )
        super().connect(gateway)
        self.client.answered |= self.name in gateway.answered

    async def close(self) -> None:
        await self.client.close()

    async def exchange(
        self, payload: dict[str, Any], read: Callable[[dict[str, Any]], T]
    ) -> T:
        """Send `payload` through the gateway, and `read` the reply's body, which lacks nothing
        (`_lacking`). This is the one door for answers: whatever goes wrong over one, fresh or
        cached, is a ModelError.
        """
        send = functools.partial(self.send, payload)
        data = (
            await self.gateway.call(
                self.name, payload, send, self.timed, self._checked, self.server
            )
        ).data
        with reading(data):
            return read(data)

    def _checked(self, data: Any) -> None:
        if not isinstance(data, dict):
            raise UnparseableAnswer(
                f"the reply is a {type(data).__name__}, not an object"
            )
        if what := self._lacking(data):
            self.client.embedded_fault(data)
            raise UnparseableAnswer(f"the reply has no {what}", shown(data))
        self.client.answered = True

    async def send(self, payload: dict[str, Any]) -> Reply:
        """One request and what came back. A model that is reached otherwise than by HTTP has its
        own."""
        with reading(None):
            data = await self.client.post(payload)
        return self.reply(data)

    def reply(self, data: Any) -> Reply:
        """What came back, with the tokens that it names and their price."""
        with reading(data):
            used = self._tokens(data)
        usd = used.usd
        if usd is None and used.input is not None and used.output is not None:
            usd = self.price.usd(used.input, used.output)
        return Reply(data, used.input or 0, used.output or 0, usd)

    def _lacking(self, data: dict[str, Any]) -> str:
        """What a body of another shape lacks, which is neither cached nor an answer; "" for an
        answer."""
        raise NotImplementedError

    def _tokens(self, data: dict[str, Any]) -> Tokens:
        usage = data.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        sent, written = (
            figure(usage.get(name), MOST_TOKENS, int) for name in self.usage
        )
        usd = figure(usage.get("cost"), MOST_USD, int, float)
        return Tokens(sent, written, None if usd is None else float(usd))


class ChatModel(HostedModel):
    """Any server with OpenAI's `POST {api_base}/chat/completions`; other arguments are those of any
    `HostedModel`."""

    readouts = ("structured", "logprobs", "samples")
    path = "/chat/completions"
    usage = ("prompt_tokens", "completion_tokens")

    def __init__(
        self,
        name: str,
        # up to and including the version, e.g. https://api.openai.com/v1
        api_base: str,
        key_env: str | None = None,
        provider: str | None = None,
        price: Price | None = None,
        # how JSON is asked for: "schema" (enforced), "object" (any JSON) or "off"
        json_mode: JsonMode = "schema",
        # whether temperature and top_p are sent; reasoning models refuse them
        sampling: bool = True,
        max_tokens_field: Literal[
            "max_tokens", "max_completion_tokens"
        ] = "max_tokens",  # the server's word
        reasoning_effort: str | None = None,  # sent as it is, for models that have it
        extra: dict[str, Any] | None = None,  # further fields of the request body
        # whether the server has OpenAI's Batch API; None: OpenAI's own servers have it
        batch: bool | None = None,
        # "merge" puts the system message into the user's turn, for templates that take none
        system: Literal["keep", "merge"] = "keep",
    ) -> None:
        chat = (json_mode, sampling, extra)
        super().__init__(
            name,
            api_base,
            key_env,
            price,
            provider,
            *chat,
            reasoning_effort=reasoning_effort,
            system=None if system == "keep" else system,
        )
        self._merges = system == "merge"
        self.reports_price = provider == "openrouter"
        self._max_tokens_field = max_tokens_field
        self._fixed = self._fixed | set_only(reasoning_effort=reasoning_effort)
        self.batches = (
            OpenAIBatches if batch or (batch is None and provider == "openai") else None
        )

    async def complete(self, request: Request) -> Response:
        """One completion. Raises ModelError, BudgetExceeded or ConfigError."""
        with_logprobs = request.config.logprobs is not None
        return await self.exchange(
            self._payload(request), lambda data: self._response(data, with_logprobs)
        )

    def _payload(self, request: Request) -> dict[str, Any]:
        config = request.config
        turns = messages(request)
        turns = merged(turns) if self._merges else turns
        payload: dict[str, Any] = {"model": self.model_name, "messages": turns}
        payload |= set_only(**{self._max_tokens_field: config.max_tokens})
        payload |= (
            set_only(temperature=config.temperature, top_p=config.top_p)
            if self._sampling
            else {}
        )
        payload |= set_only(seed=config.seed, stop=list(config.stop) or None)
        payload |= set_only(
            frequency_penalty=config.frequency_penalty,
            presence_penalty=config.presence_penalty,
        )
        if config.logprobs is not None:
            payload |= {"logprobs": True} | set_only(
                top_logprobs=config.logprobs or None
            )
        form = config.response_format
        if form is not None and self._json_mode == "object":
            payload["response_format"] = {"type": "json_object"}
        elif form is not None and self._json_mode == "schema":
            # flat in DSPy, nested in the chat API
            if form.get("type") == "json_schema":
                inner = {"name": "answer"} | {
                    key: value for key, value in form.items() if key != "type"
                }
                form = {"type": "json_schema", "json_schema": inner}
            payload["response_format"] = form
        return payload | (config.extensions or {}) | self._fixed

    def _lacking(self, data: dict[str, Any]) -> str:
        choices = data.get("choices")
        if choices and isinstance(choices, list) and isinstance(choices[0], dict):
            self.client.embedded_fault(choices[0])
            if isinstance(choices[0].get("message"), dict):
                return ""
        return "`choices` with a message"

    def _response(self, data: dict[str, Any], with_logprobs: bool) -> Response:
        choice = data["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text = content_text(message.get("content"))
        refusal = content_text(message.get("refusal"))
        stop: Stop = "stop"
        if message.get("refusal") or reason == "content_filter":
            stop = "filter" if reason == "content_filter" else "refusal"
            text = refusal or text
        elif with_logprobs:
            # one token of a distribution is all that is wanted; it always ends for length
            text = text or " "
        elif reason == "length":
            stop = "length"
        logprobs = token_logprobs(choice.get("logprobs")) if with_logprobs else None
        return settled(data, self.model_name, text, self._tokens(data), stop, logprobs)


class AzureModel(ChatModel):
    """Azure OpenAI: the deployment's name is in the address, the version in the query, the key in
    `api-key`."""

    key_header = "api-key"

    def __init__(
        self,
        name: str,  # the deployment's
        # the resource's address, e.g. https://myresource.openai.azure.com
        api_base: str,
        api_version: str,  # e.g. 2024-10-21
        key_env: str | None = "AZURE_OPENAI_API_KEY",
        # the model behind the deployment, for the price list, e.g. gpt-4.1-mini
        prices_like: str | None = None,
        price: Price | None = None,
        json_mode: JsonMode = "schema",
        sampling: bool = True,
        max_tokens_field: Literal[
            "max_tokens", "max_completion_tokens"
        ] = "max_completion_tokens",
        reasoning_effort: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        self.path = (
            f"/openai/deployments/{name}/chat/completions?api-version={api_version}"
        )
        chat = (json_mode, sampling, max_tokens_field, reasoning_effort, extra)
        price = find_price(
            price, "azure", prices_like if prices_like is not None else name
        )
        super().__init__(name, api_base, key_env, "azure", price, *chat)
        self.name += f"?api-version={api_version}"
