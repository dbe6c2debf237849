"""Makes what a row of the table of items opens to: the text that was judged, what judge and people
said of it, and the exchange with the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from undogmatic.records.records import Call, Failure, Item, Judgment, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.records.words import Words
from undogmatic.safety.secrets import redacted


class Part(NamedTuple):
    """One thing that a row opens to; `kind`: "input" (compared with that of the other texts of its
    pair), "said" or "raw" (an exchange with a model) or "link" (the text is an address)."""

    title: str
    text: str
    kind: str = "said"


class Shown(NamedTuple):
    """Of a judgment what is shown; of its exchanges, which take far more in memory as records,
    their parts."""

    outcome: Verdict | Failure
    repeat: int
    exchanged: Sequence[Part]

    @classmethod
    def of(cls, judgment: Judgment, words: Words) -> Shown:
        """What is shown of a judgment."""
        parts = [part for call in judgment.calls for part in _exchanged(call, words)]
        return cls(judgment.outcome, judgment.repeat, parts)


def inputs_of(
    item: Item, rubric: Rubric | None, words: Words, hidden: bool
) -> list[Part]:
    """What was judged, under the rubric's headings; a hash of it where texts are `hidden`."""
    text = words.text("bench.text")
    # The hash shows that two rows hold the same text, and lets its owner find it,
    # without the text leaving the run.
    if hidden:
        return [Part(text, redacted(item.text), "input")]
    headings = getattr(rubric and rubric.wordings.get(words.language), "headings", {})
    one = len(item.inputs) == 1
    return [
        Part(text if one else headings.get(name, name), own, "input")
        for name, own in item.inputs.items()
    ]


def people_of(item: Item, criterion: str, words: Words) -> Iterator[Part]:
    """What people said of an item, by rater."""
    given = {
        k: v if isinstance(v, str) else words.number(words.label(v), "g")
        for k, v in item.labels.get(criterion, {}).items()
    }
    if given:
        yield Part(
            words.text("bench.labels"),
            "\n".join(f"{rater}: {value}" for rater, value in given.items()),
        )


def said_of(
    item: Item, criterion: str, judgments: Sequence[Shown], words: Words
) -> Iterator[Part]:
    """What judge and people said of an item, and the exchange with the model."""
    for judgment in judgments:
        told = _of_outcome(judgment, words)
        if judgment.repeat:
            yield Part(
                words.text("bench.repeat", n=judgment.repeat + 1),
                "\n".join(told.values()),
            )
        else:
            yield from (
                Part(words.text(f"bench.{key}"), text) for key, text in told.items()
            )
    yield from people_of(item, criterion, words)
    for judgment in judgments:
        yield from judgment.exchanged


def _of_outcome(judgment: Shown, words: Words) -> dict[str, str]:
    outcome = judgment.outcome
    if not isinstance(outcome, Verdict):
        told = {"message": outcome.message, "reply": outcome.raw}
    else:
        spread = outcome.distribution
        chances = (
            zip(spread.values, spread.probabilities, strict=True)
            if spread is not None
            else ()
        )
        levels = [
            f"{words.number(words.placed(v), 'g')}: {words.number(p, '.0%')}"
            for v, p in chances
            # Less is 0% in the percents shown, and a scale of a hundred levels would
            # fill the row with noughts.
            if p >= 0.005
        ]
        details = (
            f"{k}: {words.number(v, 'g') if isinstance(v, float) else v}"
            for k, v in outcome.details.items()
        )
        score = outcome.category
        if score is None and outcome.score is not None:
            score = words.number(words.placed(outcome.score))
        told = {
            "score": score if judgment.repeat else None,
            "rationale": outcome.rationale,
        }
        told |= {
            "issues": "\n".join(outcome.issues),
            "distribution": "; ".join(levels),
            "details": "\n".join(details),
        }
    return {key: text for key, text in told.items() if text}


def _exchanged(call: Call, words: Words) -> Iterator[Part]:
    """One exchange with a model: the messages that were sent, and what came back."""
    messages = call.request.get("messages")
    if isinstance(messages, list) and all(isinstance(each, dict) for each in messages):
        sent = "\n\n".join(
            f"[{each.get('role')}]\n{_plain(each.get('content'))}" for each in messages
        )
    else:
        sent = _plain(call.request)
    yield Part(words.text("bench.sent", model=call.model), sent, "raw")
    yield Part(
        words.text("bench.reply"),
        _plain(call.reply) if call.error is None else call.error,
        "raw",
    )


def _plain(value: object) -> str:
    """What was sent or answered, to be read: texts as they are, names before their values, numbers
    as JSON."""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    if isinstance(value, list) and any(
        isinstance(inner, str | dict) for inner in value
    ):
        return "\n".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
