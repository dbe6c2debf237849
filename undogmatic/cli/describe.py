"""`undogmatic describe`: what a model would be sent, step by step, and what a whole run would cost; nothing is sent."""

from __future__ import annotations

import argparse
import asyncio
import json
import string
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.cli.composing import add_words, words
from undogmatic.errors import ModelError, UnparseableAnswer

if TYPE_CHECKING:
    from dspy.lm15 import Request, Response, TokenLogprob

    from undogmatic.engine.recipe import Parts
    from undogmatic.judges.base import Judge
    from undogmatic.models.base import Model
    from undogmatic.readouts.base import Readout
    from undogmatic.records.records import Item, Verdict

WORDS = "This answer was made up to show what follows it."
OTHER_WAYS = ("decide", "rate", "pooled", "pieces", "continue_text")
"""How a model is asked that is not sent messages: what it reads is told, and its readout gives the middle verdict."""


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
    from undogmatic.models.http import without_keys

    config = compose_config(words(given))
    chosen = settings(config)
    with without_keys():
        parts = Recipe(config).build()
    items = on_scale(build(chosen.dataset, "dataset").load()[: chosen.run.limit], parts.rubric)
    requests, item = made_first(parts, items[0])
    if item is not None:
        requests += [sent for step in parts.judges for sent in described(parts, step.for_item(item).judge, item)]
    for number, sent in enumerate(requests, 1):
        print(f"=== {number}. to {sent.model.name}")
        print("\n".join(f"[{role}]\n{text}" for role, text in sent.messages) + "\n")
    print(
        f"That is what is asked of the first item, {items[0].id!r}. Nothing was sent: where a request "
        "quotes an earlier answer, that answer is made up (the middle of each scale)."
    )
    if item is None:
        print("The steps make nothing of made-up answers, so what is asked of the judges cannot be shown.")
    if given.price:
        print(price(requests, items, chosen.run.repeats))


class Requests(dict[tuple[str, Any], Sent]):
    """Every different request to some models, which answer without asking anybody while it is in use.

    Args:
        parts: What the run is built of.
        models: Those that are asked.
        answer: The text of a model's answer; None makes one up that fits the form.
    """

    def __init__(self, parts: Parts, models: Iterable[Model], answer: Callable[[Request], str] | None = None) -> None:
        from undogmatic.models.calls import Gateway

        super().__init__()
        self.counting, self.answer = True, answer or made_up
        parts.model.connect(Gateway())
        for model in {id(model): model for model in models}.values():
            self._replace(model)

    def _note(self, model: Model, messages: tuple[tuple[str, str], ...], most: int) -> None:
        before = self.get((model.name, messages), Sent(model, messages, most, 0))
        self[model.name, messages] = before._replace(times=max(1, before.times + self.counting))

    def _replace(self, model: Any) -> None:
        from undogmatic.models.hosted import Tokens, settled

        async def complete(request: Request) -> Response:
            turns = [("system", request.system)] if request.system is not None else []
            turns += [(message.role, "\n".join(part.text for part in message.parts)) for message in request.messages]
            self._note(model, tuple(turns), request.config.max_tokens or 0)
            odds = () if request.config.logprobs is None else (every_label(),)
            return settled({}, model.name, odds[0].token if odds else self.answer(request), Tokens(0, 0), logprobs=odds)

        async def other(text: Any, *_: Any) -> Any:
            self._note(model, (("reads", text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)),), 0)
            raise UnparseableAnswer("nothing was sent")

        if hasattr(model, "complete"):
            model.complete = complete
        for name in OTHER_WAYS:
            if hasattr(model, name):
                setattr(model, name, other)


def made_first(parts: Parts, item: Item) -> tuple[list[Sent], Item | None]:
    """What would be sent by the steps that make items, and the item that the judges get: None where nothing is made."""
    from undogmatic.records.records import Items

    requests = Requests(parts, [model for step in parts.steps for model in step.models])
    current: Item | None = item
    for step in parts.steps:
        with parts.asking():
            (record,) = asyncio.run(step.process(current)) if current is not None else (None,)
        made = record.outcome.items if record is not None and isinstance(record.outcome, Items) else ()
        current = made[0] if made else None
    return list(requests.values()), current


def described(parts: Parts, judge: Judge, item: Item, answer: Callable[[Request], str] | None = None) -> list[Sent]:
    """Return what would be sent for an item by a judge of `parts` and by each judge inside it, one after the other,
    each request once. `answer` gives the text of a model's answer; None makes one up that fits the form."""
    from undogmatic.engine.step import JudgeStep
    from undogmatic.judges.base import Judge
    from undogmatic.readouts.base import Readout

    requests = Requests(parts, [source.model for source in judge.readouts()], answer)
    for readout in judge.readouts():
        if isinstance(readout, Readout):
            readout.read = _middle(readout)  # type: ignore[assignment]
    with parts.asking():
        # An inner judge that is called for some items only is asked by itself as well.
        for each in [judge, *(inner for _, inner in judge.named_sub_modules(Judge) if inner is not judge)]:
            asyncio.run(JudgeStep(each, parts.provenance).process(item))
            requests.counting = False
    return list(requests.values())


def _middle(readout: Readout) -> Callable[[Item], Awaitable[Verdict]]:
    """Reads an item, and gives all levels the same probability where the answer, which is made up, cannot be read."""
    from undogmatic.readouts.base import entropy_verdict
    from undogmatic.records.records import ScoreDistribution

    before, levels = readout.read, tuple(readout.rubric.levels)

    async def read(item: Item) -> Verdict:
        try:
            return await before(item)
        except ModelError:
            even = ScoreDistribution(values=levels, probabilities=(1 / len(levels),) * len(levels))
            return entropy_verdict(even)

    return read


def every_label() -> TokenLogprob:
    """The odds of a token that prefer no level: every digit and every letter has the same, and none falls outside."""
    from dspy.lm15 import TokenLogprob, TopLogprob

    labels = string.digits + string.ascii_uppercase
    odds = tuple(TopLogprob(token=label, logprob=0.0) for label in labels)
    return TokenLogprob(token=labels[0], logprob=0.0, top=odds)


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
