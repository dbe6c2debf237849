"""Between DSPy's request and response and the JSON that chat servers speak."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.http import RAW_LIMIT

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response


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


def schema_on_the_wire(form: dict[str, Any]) -> dict[str, Any]:
    """DSPy's flat `{"type": "json_schema", "schema": ...}` nested as the chat API has it."""
    if form.get("type") != "json_schema":
        return form
    inner = {"name": "answer"} | {key: value for key, value in form.items() if key != "type"}
    return {"type": "json_schema", "json_schema": inner}


def content_text(content: Any) -> str:
    """A message's `content`, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def token_logprobs(found: Any) -> tuple[Any, ...] | None:
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
        raise UnparseableAnswer(
            f"`logprobs` has another form than agreed ({error!r})", repr(content)[:RAW_LIMIT]
        ) from None
