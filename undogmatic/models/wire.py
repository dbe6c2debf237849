"""Between DSPy's request and response and the JSON that chat servers speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.calls import shown

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response


MOST_TOKENS, MOST_USD = 100_000_000, 1000.0
"""More than any one call takes: a figure beyond is no figure, and must not use up a budget."""
ROUNDED = 0.01
LONGEST_ANSWER = 100_000
"""Characters. Whoever is asked for a score and its reason does not need a tenth of it."""


class Tokens(NamedTuple):
    """What a reply says it used; None where it says nothing. `usd` is the server's own figure."""

    input: int | None
    output: int | None
    usd: float | None = None


def wants_logprobs(request: Request) -> bool:
    """Whether log-probabilities are what the caller is after."""
    return request.config.logprobs is not None


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def count(value: Any) -> int | None:
    """A token count as it stands in a reply, or None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def money(value: Any) -> float | None:
    """What a server says that one call cost, or None for what is no price."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= MOST_USD else None


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
    """DSPy's response. An empty `text` becomes a space: DSPy takes empty text for a failed call.

    Raises:
        UnparseableAnswer: The text is endless.
    """
    from dspy.lm15 import Message, Response, TextPart, Usage

    if len(text) > LONGEST_ANSWER:
        raise UnparseableAnswer(
            f"the answer has {len(text):,} characters; {LONGEST_ANSWER:,} are read at most", shown(text)
        )
    identifier, resolved = data.get("id"), data.get("model")
    return Response(
        id=identifier if isinstance(identifier, str) and identifier else None,
        model=resolved if isinstance(resolved, str) and resolved else model,
        message=Message(role="assistant", parts=(TextPart(text or " "),)),
        finish_reason="stop",
        usage=Usage(input_tokens=used.input, output_tokens=used.output),
        logprobs=logprobs,
    )


def schema_on_the_wire(form: dict[str, Any]) -> dict[str, Any]:
    """DSPy's flat `{"type": "json_schema", "schema": ...}` nested as the chat API has it."""
    if form.get("type") != "json_schema":
        return form
    inner = {"name": "answer"} | {key: value for key, value in form.items() if key != "type"}
    return {"type": "json_schema", "json_schema": inner}


def content_text(content: Any) -> str:
    """A message's `content`, which some servers send as a list of parts."""
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def token_logprobs(found: Any) -> tuple[Any, ...] | None:
    """The chat API's `logprobs.content` in DSPy's types; None where the server sent none."""
    content = found.get("content") if isinstance(found, dict) else None
    if not content:
        return None
    from dspy.lm15 import TokenLogprob, TopLogprob

    return tuple(
        TokenLogprob(
            token=_token(entry["token"]),
            logprob=_logprob(entry["logprob"]),
            top=tuple(
                TopLogprob(token=_token(top["token"]), logprob=_logprob(top["logprob"]))
                for top in entry.get("top_logprobs") or ()
                if top.get("logprob") is not None
            ),
        )
        for entry in content
    )


def _token(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"the token {value!r:.40} is no text")
    return value


def _logprob(value: Any) -> float:
    """A logarithm of a probability; servers round, so 1 may be a little more."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value <= ROUNDED:
        raise TypeError(f"{value!r:.40} is no log-probability")
    return float(value)
