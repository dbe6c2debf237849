"""Turns messages of models, as the interfaces of OpenAI, Anthropic, LangChain and OpenTelemetry
write them, into steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from undogmatic.datasets.readers.traces.script import (
    Draft,
    clean,
    name_of,
    text_or_none,
)
from undogmatic.records.records import as_text
from undogmatic.records.trace import StepKind
from undogmatic.safety.outside import Unreadable, json_value

ROLES: Mapping[str, StepKind] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "tool": "tool_result",
    "function": "tool_result",
}
"""Who speaks; anybody else, such as the system, is `other`."""
TEXTS = ("text", "input_text", "output_text", "refusal", "summary_text")
CALLS = ("tool_use", "tool_call", "server_tool_use", "server_tool_call", "mcp_tool_use")
RESULTS = ("tool_result", "tool_call_response", "server_tool_call_response")
THOUGHTS = ("thinking", "reasoning", "redacted_thinking")


def parsed(value: Any) -> Any:
    """The value of a text that is a list or an object in JSON; anything else as it is."""
    # Attributes hold texts alone, so that lists of messages are written into them as JSON.
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json_value(value, infinite=True)
        except Unreadable:
            return value
    return value


def drafts_of(messages: Any, role: StepKind = "user") -> list[Draft]:
    """The steps of a message, of a list of messages, or of a text that `role` said."""
    given = parsed(messages)
    if given is None:
        return []
    if isinstance(given, Mapping):
        return list(_of_message(given, role))
    if isinstance(given, list):
        named = (
            str(given[0]).lower()
            if len(given) == 2 and isinstance(given[1], str)
            else ""
        )
        if named in (*ROLES, "system"):  # LangChain's ("human", "text")
            return list(_of_message({"role": named, "content": given[1]}, role))
        return [draft for each in given for draft in drafts_of(each, role)]
    return [Draft(role, clean(given if isinstance(given, str) else as_text(given)))]


def _unwrapped(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without what serialises it: LangChain's `kwargs` and `data`."""
    inner = message.get("kwargs") if message.get("lc") else message.get("data")
    if isinstance(inner, Mapping) and ("content" in inner or "tool_calls" in inner):
        kind = inner.get("type") or message.get("type")
        # LangChain names the class by its path: [..., "AIMessageChunk"].
        if kind == "constructor":
            ids = message.get("id")
            last = str(ids[-1]) if isinstance(ids, list) and ids else ""
            kind = last.removesuffix("Chunk").removesuffix("Message").lower()
        return {"role": kind, **{k: v for k, v in inner.items() if k != "type"}}
    if (
        str(message.get("type")) in ROLES
        and "role" not in message
        and "content" in message
    ):
        return {**message, "role": str(message["type"])}
    return message


def _of_message(given: Mapping[str, Any], role: StepKind) -> Iterator[Draft]:
    message = _unwrapped(given)
    kind = str(message.get("type") or "")
    if kind in CALLS or kind in RESULTS or kind in THOUGHTS:
        yield from _of_block(message)
        return
    # The Responses interface of OpenAI has items such as `function_call` and
    # `function_call_output` in place of roles.
    if kind.endswith("_call_output"):
        yield _result(message)
        return
    if kind.endswith("_call") or kind.endswith("_call_request"):
        yield _call(message, kind)
        return
    named = str(message.get("role") or "").lower()
    # A message without a role is of whoever the caller says: inputs a user's, outputs a model's.
    who = ROLES.get(named, "other") if named else role
    error = bool(message.get("error")) or message.get("status") == "error"
    name = name_of(message.get("name") or message.get("function")) or None
    call = message.get("tool_call_id") or (
        message.get("id") if who == "tool_result" else None
    )
    made = list(_of_content(message, who))
    # A tool that failed may hold its message in the error alone.
    if error and not any(draft.text for draft in made):
        made = [Draft(who, _of_error(message.get("error")))]
    for draft in made:
        if draft.kind == "tool_result":
            draft.call = draft.call or (str(call) if call else None)
            draft.name, draft.error = draft.name or name, draft.error or error
        elif draft.kind == "other" and draft.name is None:
            draft.name = named or "other"
    yield from made
    for each in _calls_of(message):
        yield _call(each, "")


def _of_error(error: Any) -> str | None:
    """What an error says."""
    held = error.get("message") if isinstance(error, Mapping) else error
    return text_or_none(held) if isinstance(held, str) else None


def _calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The calls that stand beside the content of a message."""
    more = message.get("additional_kwargs")
    listed = message.get("tool_calls")
    # Older versions of LangChain kept the calls here.
    if not listed and isinstance(more, Mapping):
        listed = more.get("tool_calls")
    found = parsed(listed)
    calls = (
        [each for each in found if isinstance(each, Mapping)]
        if isinstance(found, list)
        else []
    )
    # OpenAI's interface before November 2023 knew one call for each message.
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [message["function_call"]]
    return calls


def _of_content(message: Mapping[str, Any], who: StepKind) -> Iterator[Draft]:
    """The steps in the content of a message: texts that follow each other are one."""
    content = next(
        (message[k] for k in ("content", "parts", "text") if k in message), None
    )
    # What a tool gives back may be any JSON, and is a text of its own.
    blocks = parsed(content) if who != "tool_result" else content
    if not isinstance(blocks, list) or not all(
        isinstance(b, Mapping | str) for b in blocks
    ):
        # A message that is nothing but calls has empty content, which was not said.
        if content not in (None, "") or not _calls_of(message):
            yield Draft(who, text_or_none(content))
        return
    texts, told = list[str](), False
    for block in blocks:
        steps = [] if isinstance(block, str) else list(_of_block(block))
        if steps and texts:
            yield Draft(who, "\n".join(texts))
            texts, told = [], True
        yield from steps
        told = told or bool(steps)
        if not steps:
            texts.append(_text_of(block))
    if texts or not (told or _calls_of(message)):
        yield Draft(who, "\n".join(texts))


def _of_block(block: Mapping[str, Any]) -> Iterator[Draft]:
    """The steps that a block of content is by itself; none for a text."""
    kind = str(block.get("type") or "")
    if kind in CALLS:
        yield _call(block, "")
    elif kind in RESULTS or kind.endswith("_tool_result"):
        yield _result(block)
    elif kind in THOUGHTS:
        held = block.get("thinking") or block.get("content") or block.get("reasoning")
        parts = held or block.get("summary") or block.get("text")
        yield Draft("other", _joined(parts) if parts else None, name="reasoning")


def _call(block: Mapping[str, Any], kind: str) -> Draft:
    """The step of a call, whoever writes it: {name, arguments}, {name, input}, {name, args},
    {function: {name, arguments}}, or a call of a built-in tool."""
    inner = block.get("function")
    own = inner if isinstance(inner, Mapping) else block
    name = own.get("name") or (inner if isinstance(inner, str) else None)
    given = next(
        (
            own[k]
            for k in ("arguments", "input", "args", "action", "query", "code")
            if k in own
        ),
        None,
    )
    call = block.get("call_id") or block.get("id")
    return Draft(
        "tool_call",
        text_or_none(given),
        name=name_of(name) or kind.removesuffix("_call") or None,
        call=str(call) if call else None,
        error=bool(block.get("parse_error")),
    )


def _result(block: Mapping[str, Any]) -> Draft:
    keys = ("content", "response", "output", "result")
    given = next((block[k] for k in keys if k in block), None)
    call = block.get("tool_use_id") or block.get("call_id") or block.get("id")
    return Draft(
        "tool_result",
        None if given is None else _joined(given),
        name=name_of(block.get("name")) or None,
        call=str(call) if call else None,
        error=bool(block.get("is_error")) or block.get("status") in ("error", "failed"),
    )


def _joined(content: Any) -> str:
    """The texts of a content one after the other; what is no content, as JSON."""
    if isinstance(content, list) and all(
        isinstance(b, str) or _is_block(b) for b in content
    ):
        return "\n".join(map(_text_of, content))
    return _text_of(content) if _is_block(content) else text_or_none(content) or ""


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def _text_of(block: Any) -> str:
    """The text of a block; of an image and the like what it is."""
    if isinstance(block, str):
        return clean(block)
    kind = str(block.get("type") or "")
    for key in ("text", "content", "refusal", "summary"):
        if isinstance(block.get(key), str) and (
            kind in TEXTS or not kind or key == "text"
        ):
            return clean(block[key])
    # A judge that reads text should see that there was an image.
    return f"[{name_of(kind or 'content')}]"


def listed(value: Any) -> list[Any]:
    """The entries of a list; of one in a list (a batch of one) the inner ones."""
    held = parsed(value)
    if isinstance(held, list) and len(held) == 1 and isinstance(held[0], list):
        return held[0]
    return held if isinstance(held, list) else [held]
