"""`undogmatic describe`: what a model would be sent, step by step, and what a whole run would cost; nothing is sent."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.cli.composing import add_words, words

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

    from undogmatic.engine.recipe import Parts
    from undogmatic.judges.base import Judge
    from undogmatic.models.base import Model
    from undogmatic.records.records import Item

WORDS = "made up"
OTHER_WAYS = ("decide", "rate", "pooled", "pieces", "continue_text")
"""How a model is asked that is not sent messages; what it reads is told, and its judge goes no further."""


class Sent(NamedTuple):
    """One request: the model, its messages (role, text), the tokens that the answer may have at most, and how often it
    is made for an item (readouts that sample ask the same again)."""

    model: Model
    messages: tuple[tuple[str, str], ...]
    most: int
    times: int = 1


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("describe", help="print what a model would be sent, without sending it")
    parser.add_argument("--price", action="store_true", help="the calls and the price of the whole run, too")
    add_words(parser, "judge=debate prompt=NAME rubric=NAME")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Print the requests for the first item of the dataset."""
    from undogmatic.config.build import build, settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.base import on_scale
    from undogmatic.engine.recipe import Recipe

    config = _keyless(compose_config(words(given)))
    chosen, parts = settings(config), Recipe(config).build()
    items = on_scale(build(chosen.dataset, "dataset").load()[: chosen.run.limit], parts.rubric)
    requests = [sent for step in parts.judges for sent in described(parts, step.for_item(items[0]).judge, items[0])]
    for number, sent in enumerate(requests, 1):
        print(f"=== {number}. to {sent.model.name}")
        print("\n".join(f"[{role}]\n{text}" for role, text in sent.messages) + "\n")
    print(
        f"That is what is asked of the first item, {items[0].id!r}. Nothing was sent: where a request "
        "quotes an earlier answer, that answer is made up (the middle of each scale)."
    )
    if given.price:
        print(price(requests, items, chosen.run.repeats))


def _keyless(node: Any) -> Any:
    """The config without the names of keys: as nothing is sent, none is needed."""
    if isinstance(node, dict):
        return {name: None if name == "key_env" else _keyless(value) for name, value in node.items()}
    return [_keyless(each) for each in node] if isinstance(node, list) else node


def described(parts: Parts, judge: Judge, item: Item, answer: Callable[[Request], str] | None = None) -> list[Sent]:
    """Return what would be sent for an item by a judge of `parts` and by each judge inside it, one after the other,
    each request once. `answer` gives the text of a model's answer; None makes one up that fits the form."""
    from undogmatic.engine.step import JudgeStep
    from undogmatic.judges.base import Judge
    from undogmatic.models.calls import Gateway

    requests: dict[tuple[str, Any], Sent] = {}
    counting = True

    def note(model: Model, messages: tuple[tuple[str, str], ...], most: int) -> None:
        before = requests.get((model.name, messages), Sent(model, messages, most, 0))
        requests[model.name, messages] = before._replace(times=max(1, before.times + counting))

    models = {id(source.model): source.model for source in judge.readouts()}
    parts.model.connect(Gateway())
    for model in models.values():
        _replace(model, note, answer or made_up)
    with parts.asking():
        # An inner judge that is called for some items only is asked by itself as well.
        for each in [judge, *(inner for _, inner in judge.named_sub_modules(Judge) if inner is not judge)]:
            asyncio.run(JudgeStep(each, parts.provenance).process(item))
            counting = False
    return list(requests.values())


def _replace(model: Any, note: Callable[..., None], answer: Callable[[Request], str]) -> None:
    """Let a model note what it is asked, and answer without asking anybody."""
    from undogmatic.errors import UnparseableAnswer
    from undogmatic.models.hosted import Tokens, settled

    async def complete(request: Request) -> Response:
        turns = [("system", request.system)] if request.system is not None else []
        turns += [(message.role, "\n".join(part.text for part in message.parts)) for message in request.messages]
        note(model, tuple(turns), request.config.max_tokens or 0)
        if request.config.logprobs is not None:
            raise UnparseableAnswer("nothing was sent, so there are no probabilities")
        return settled({}, model.name, answer(request), Tokens(0, 0))

    async def other(text: Any, *_: Any) -> Any:
        note(model, (("reads", text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)),), 0)
        raise UnparseableAnswer("nothing was sent")

    if hasattr(model, "complete"):
        model.complete = complete
    for name in OTHER_WAYS:
        if hasattr(model, name):
            setattr(model, name, other)


def made_up(request: Request) -> str:
    """An answer that fits the JSON Schema of a request."""
    form: Mapping[str, Any] = request.config.response_format or {}
    schema = form.get("json_schema", form).get("schema", {})
    return json.dumps(_value(schema, schema.get("$defs", {})), ensure_ascii=False)


def _value(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """The middle of a number's scale, the first of several words, a text, a list or an object of these."""
    if "$ref" in schema:
        return _value(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], definitions)
    middle = (schema.get("minimum", 0) + schema.get("maximum", 0)) / 2
    match schema.get("type"):
        case "object":
            return {name: _value(field, definitions) for name, field in schema.get("properties", {}).items()}
        case "array":
            return [_value(schema.get("items", {}), definitions)] * schema.get("minItems", 1)
        case "number" | "integer" as kind:
            return middle if kind == "number" else int(middle)
    return schema.get("type") == "boolean" or schema.get("enum", [schema.get("const", WORDS)])[0]


def price(requests: list[Sent], items: list[Item], repeats: int) -> str:
    """What the whole run would cost, by the requests for its first item."""
    lines = []
    for model in {id(sent.model): sent.model for sent in requests}.values():
        asked = [sent for sent in requests if sent.model is model]
        lengths = [model.count_tokens(item.text) for item in items]
        calls = sum(sent.times for sent in asked)
        first = sum(sent.times * model.count_tokens(text) for sent in asked for _, text in sent.messages)
        read = repeats * sum(first + calls * (length - lengths[0]) for length in lengths)
        most = repeats * len(items) * sum(sent.times * sent.most for sent in asked)
        usd = model.price.usd(read, most) if hasattr(model, "price") else 0.0
        cost = "no price is known" if usd is None else f"at most {usd:,.2f} USD"
        lines.append(
            f"{model.name}: {repeats * len(items) * calls:,} calls for {len(items):,} items, about {read:,} tokens "
            f"in and at most {most:,} out: {cost}. Tokens are counted by the model's tokenizer where it has one here, "
            "else estimated from above by bytes; retries and answers from the cache are not counted."
        )
    return "\n".join(lines)
