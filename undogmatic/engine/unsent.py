"""Tells what judges would send to a model for an item, and how many calls that is, without sending
it."""

from __future__ import annotations

import asyncio
import json
import string
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ModelError, UnparseableAnswer
from undogmatic.judges.base import Judge
from undogmatic.models.base import Model
from undogmatic.models.batches import SHARE
from undogmatic.models.calls import Gateway, current_rollout
from undogmatic.models.hosted import Tokens, settled
from undogmatic.models.http import without_keys
from undogmatic.readouts.base import Readout
from undogmatic.records.records import (
    Item,
    Items,
    ScoreDistribution,
    Verdict,
    entropy_verdict,
)

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response

COUNTED = (
    "Tokens are counted by the model's tokenizer where it has one here, else estimated from above"
    " by bytes"
)
WORDS = "This answer was made up to show what follows it."
OTHER_WAYS = ("decide", "rate", "pooled", "pieces", "continue_text")
"""How a model is asked that is not sent messages: what it reads is told, and its readout gives the
middle verdict."""


class Sent(NamedTuple):
    """One request to a model."""

    model: Model
    messages: tuple[tuple[str, str], ...]  # role, text
    most: int  # tokens that the answer may have
    # how often it is made for an item (readouts that sample ask the same again)
    times: int = 1
    # the turns in which it is made; made twice in one turn, the cache answers
    turns: frozenset[int] = frozenset()


class Calls(NamedTuple):
    """How many calls items take; `sure` unless a judge asks a second one for some items only."""

    n: int
    sure: bool


Requests: TypeAlias = dict[tuple[str, Any], Sent]


def built_without_keys(config: Mapping[str, Any]) -> Parts:
    """The parts of a composed config, whose models need no key, as nothing is sent to them."""
    with without_keys():
        return Recipe(config).build()


def answering(
    parts: Parts,
    models: Iterable[Model],
    answer: Callable[[Request], str] | None = None,
) -> Requests:
    """Have models answer without asking anybody, with the text that `answer` gives, else with one
    made up that fits the form. Returns what fills with every different request to them."""
    from dspy.lm15 import TokenLogprob, TopLogprob

    requests: Requests = {}
    # The odds of a token that prefer no level: every digit and letter has the same, and none falls
    # outside.
    labels = string.digits + string.ascii_uppercase
    top = tuple(TopLogprob(token=label, logprob=0.0) for label in labels)
    even = (TokenLogprob(token=labels[0], logprob=0.0, top=top),)

    def note(model: Model, messages: tuple[tuple[str, str], ...], most: int) -> None:
        before = requests.get((model.name, messages), Sent(model, messages, most, 0))
        turns = before.turns | {current_rollout()}
        requests[model.name, messages] = before._replace(
            times=before.times + 1, turns=turns
        )

    async def complete(model: Any, request: Request) -> Response:
        turns = [("system", request.system)] if request.system is not None else []
        turns += [
            (message.role, "\n".join(part.text for part in message.parts))
            for message in request.messages
        ]
        note(model, tuple(turns), request.config.max_tokens or 0)
        odds = () if request.config.logprobs is None else even
        text = labels[0] if odds else (answer or made_up)(request)
        return settled({}, model.name, text, Tokens(0, 0), logprobs=odds)

    async def other(model: Any, text: Any, *_: Any) -> Any:
        note(
            model,
            (
                (
                    "reads",
                    text
                    if isinstance(text, str)
                    else json.dumps(text, ensure_ascii=False),
                ),
            ),
            0,
        )
        raise UnparseableAnswer("nothing was sent")

    parts.model.connect(Gateway())
    ways: dict[str, Callable[..., Any]] = {
        "complete": complete,
        **dict.fromkeys(OTHER_WAYS, other),
    }
    for model in models:
        for way, asked in ways.items():
            if hasattr(model, way):
                setattr(model, way, partial(asked, model))
    return requests


def made_first(parts: Parts, item: Item) -> tuple[list[Sent], Item | None]:
    """What would be sent by the steps that make items, and the item that the judges get: None where
    nothing is made."""
    requests = answering(
        parts, [model for step in parts.steps for model in step.models]
    )
    for step in parts.steps:
        with parts.asking():
            (record,) = asyncio.run(step.process(item))
        if not isinstance(record.outcome, Items) or not record.outcome.items:
            return list(requests.values()), None
        item = record.outcome.items[0]
    return list(requests.values()), item


def described(
    parts: Parts,
    judge: Judge,
    item: Item,
    answer: Callable[[Request], str] | None = None,
) -> list[Sent]:
    """Return what would be sent for an item by a judge of `parts` and by each judge inside it, one
    after the other, each request once. `answer` gives the text of a model's answer; None makes one
    up that fits the form.
    """
    counted, inner = _asked(parts, judge, item, answer)
    return [*{**inner, **counted}.values()]


def calls(parts: Parts, items: Sequence[Item], cached: bool) -> Calls:
    """Count the calls of a server that the judges make for items that differ in nothing but their
    texts, the way in which they are asked about, and their language; without retries. `cached`:
    what is asked twice in the same words is sent once. The models of `parts` answer nobody
    afterwards."""
    total, sure = 0, True
    of_kind: dict[tuple[Any, ...], int] = {}
    for item in items:
        asked = None if item.asking is None else item.asking.model_dump_json()
        same = len({*item.inputs.values()}) < len(item.inputs)
        kind = (asked, item.language, same)
        if kind not in of_kind:
            n = 0
            for step in parts.judges:
                counted, inner = _asked(parts, step.for_item(item).judge, item)
                # One that asks another judge for some items only may ask it for this one.
                more = {key: sent for key, sent in inner.items() if key not in counted}
                sure = sure and not more
                for sent in (*counted.values(), *more.values()):
                    if not hasattr(sent.model, "price"):
                        continue  # it works in this process
                    n += len(sent.turns) if cached else sent.times
            of_kind[kind] = n
        total += of_kind[kind]
    return Calls(total, sure)


def _asked(
    parts: Parts,
    judge: Judge,
    item: Item,
    answer: Callable[[Request], str] | None = None,
) -> tuple[Requests, Requests]:
    """What a judge asks of an item, and what each judge inside it asks by itself, each request
    once."""
    requests = answering(parts, [source.model for source in judge.readouts()], answer)
    for readout in judge.readouts():
        if isinstance(readout, Readout):
            readout.read = _middle(readout)  # type: ignore[assignment]
    with parts.asking():
        asyncio.run(JudgeStep(judge, parts.provenance).process(item))
        counted = dict(requests)
        # An inner judge that is called for some items only is asked by itself as well.
        for _, inner in judge.named_sub_modules(Judge):
            if inner is not judge:
                asyncio.run(JudgeStep(inner, parts.provenance).process(item))
    return counted, {key: sent._replace(times=1) for key, sent in requests.items()}


def _middle(readout: Readout) -> Callable[[Item], Awaitable[Verdict]]:
    """Reads an item, and gives all levels the same probability where the answer, which is made up,
    cannot be read."""

    before, levels = readout.read, tuple(readout.rubric.levels)

    async def read(item: Item) -> Verdict:
        try:
            return await before(item)
        except ModelError:
            return entropy_verdict(
                ScoreDistribution(
                    values=levels, probabilities=(1 / len(levels),) * len(levels)
                )
            )

    return read


def made_up(request: Request) -> str:
    """An answer that fits the JSON Schema of a request."""
    form: Mapping[str, Any] = request.config.response_format or {}
    schema = form.get("json_schema", form).get("schema", {})
    return json.dumps(_value(schema, schema.get("$defs", {})), ensure_ascii=False)


def _value(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Any:
    """The middle of a number's scale, the first of several words, a text, a list or an object of
    these."""
    if "$ref" in schema:
        return _value(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return _value(schema["anyOf"][0], definitions)
    middle = (schema.get("minimum", 0) + schema.get("maximum", 0)) / 2
    match schema.get("type"):
        case "object":
            return {
                name: _value(field, definitions)
                for name, field in schema.get("properties", {}).items()
            }
        case "array":
            return [_value(schema.get("items", {}), definitions)] * schema.get(
                "minItems", 1
            )
        case "number" | "integer" as kind:
            return middle if kind == "number" else int(middle)
    return (
        schema.get("type") == "boolean"
        or schema.get("enum", [schema.get("const", WORDS)])[0]
    )


def price(requests: list[Sent], items: Sequence[Item], repeats: int) -> str:
    """What the whole run would cost, by the requests for its first item."""
    lines = []
    for model in {id(sent.model): sent.model for sent in requests}.values():
        asked = [sent for sent in requests if sent.model is model]
        lengths = [model.count_tokens(item.text) for item in items]
        calls = sum(sent.times for sent in asked)
        first = sum(
            sent.times * model.count_tokens(text)
            for sent in asked
            for _, text in sent.messages
        )
        read = repeats * sum(
            first + calls * (length - lengths[0]) for length in lengths
        )
        most = repeats * len(items) * sum(sent.times * sent.most for sent in asked)
        usd = model.price.usd(read, most) if hasattr(model, "price") else 0.0
        cost = "no price is known" if usd is None else f"at most {usd:,.2f} USD"
        if usd and getattr(model, "batches", None) is not None:
            cost += (
                f", or {SHARE * usd:,.2f} USD with engine=batch (answers within a day)"
            )
        asked_for = f"{repeats * len(items) * calls:,} calls for {len(items):,} items"
        tokens = f"about {read:,} tokens in and at most {most:,} out: {cost}"
        lines.append(
            f"{model.name}: {asked_for}, {tokens}. {COUNTED}; retries and answers from the cache"
            " are not counted."
        )
    return "\n".join(lines)
