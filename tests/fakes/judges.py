"""Judges of known worth: what each says of texts of which it may know the condition and the
surface.

`FAKES` are without merit and must not be believed; `GOOD` are honest, at three strengths. Those
that read the text alone are `undogmatic.models.fake.KINDS`, which users can run as well
(`model=fake`); here they are joined by those that need to know what they are tested on.
"""

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from undogmatic.config.groups import plain
from undogmatic.errors import RefusedAnswer
from undogmatic.models.fake import KINDS, SURFACES, Expressions, FakeModel
from undogmatic.records.records import FailureKind, Item, turns

Array = NDArray[np.float64]
Scores = list[float | FailureKind]
Judge = Callable[[Sequence[Item], np.random.Generator], Scores]

EXPRESSIONS = {
    name: Expressions.model_validate(node)
    for name, node in plain("model", "fake", "model")["expressions"].items()
}
HIGH = ("imitation", "authority_only")


def is_high(items: Sequence[Item]) -> Array:
    """1 for texts that should score high, 0 for the others."""
    return np.array([float(item.condition in HIGH) for item in items])


def _model(kind: str, reverse: bool = False) -> Judge:
    def judge(items: Sequence[Item], draw: np.random.Generator) -> Scores:
        model = FakeModel(kind, int(draw.integers(2**31)), reverse, EXPRESSIONS)
        said: Scores = [0.0] * len(items)

        async def ask() -> None:
            for place in turns(
                [item.id for item in items], [item.pair for item in items]
            ):
                try:
                    said[place] = 100 * (await model.rate(items[place].text))[0]
                except RefusedAnswer:
                    said[place] = "refusal"

        asyncio.run(ask())
        return said

    return judge


def _scale(values: Array) -> Scores:
    return [float(value) for value in np.clip(values, 0, 100)]


def _good(difference: float, noise: float) -> Judge:
    """Scores around a middle that depends on the condition, with normal noise."""

    def judge(items: Sequence[Item], draw: np.random.Generator) -> Scores:
        return _scale(
            50 + difference * (is_high(items) - 0.5) + draw.normal(0, noise, len(items))
        )

    return judge


def _in_steps(judge: Judge, step: float = 25.0) -> Judge:
    """The same judge, answering in steps of so many points."""

    def stepped(items: Sequence[Item], draw: np.random.Generator) -> Scores:
        said = judge(items, draw)
        return [
            score if isinstance(score, str) else step * round(score / step)
            for score in said
        ]

    return stepped


def _at_the_margin_in_steps(items: Sequence[Item], draw: np.random.Generator) -> Scores:
    """A true difference of exactly ten points: one step of 25 in two pairs of five, and else a
    tie."""
    return _scale(50 + 25 * is_high(items) * (draw.uniform(size=len(items)) < 0.4))


def _mostly_ties(items: Sequence[Item], draw: np.random.Generator) -> Scores:
    """The whole scale in one pair of four, and else a tie."""
    return _scale(100 * is_high(items) * (draw.uniform(size=len(items)) < 0.25))


def _refusing_what_is_wrong(items: Sequence[Item], draw: np.random.Generator) -> Scores:
    """A coin that says nothing of a pair that it would order wrongly."""
    told = list(
        zip(
            items,
            draw.uniform(0, 100, len(items)),
            is_high(items).astype(bool),
            strict=True,
        )
    )
    by_pair = {item.pair: score for item, score, wanted in told if wanted}
    return [
        "refusal" if not wanted and score >= by_pair[item.pair] else float(score)
        for item, score, wanted in told
    ]


def _sum(first: str, second: str) -> Judge:
    def judge(items: Sequence[Item], draw: np.random.Generator) -> Scores:
        parts = [SURFACES[name] for name in (first, second)]
        values = [
            sum((part.of(item.text) - part.usual) / part.spread for part in parts)
            for item in items
        ]
        return _scale(50 + 20 * np.array(values))

    return judge


def _mostly_length(items: Sequence[Item], draw: np.random.Generator) -> Scores:
    """Forty points by length, two by the condition."""
    lengths = np.array([len(item.text) for item in items])
    place = np.argsort(np.argsort(lengths)) / max(1, len(items) - 1)
    return _scale(30 + 40 * place + 2 * is_high(items) + draw.normal(0, 2, len(items)))


def _saturated(items: Sequence[Item], draw: np.random.Generator) -> Scores:
    """At the end of the scale, but for one text in twenty."""
    return _scale(np.where(draw.uniform(size=len(items)) < 0.05, 60.0, 100.0))


FAKES: dict[str, Judge] = {
    **{name: _model(name) for name in (*KINDS, *EXPRESSIONS)},
    **{
        f"{name}_reversed": _model(name, reverse=True)
        for name in ("length", "capitals", "citations", "connectives")
    },
    "a_tenth_of_a_point": _good(0.1, 0.01),
    "two_points": _good(2.3, 1.0),
    "at_the_margin": _good(10.0, 5.0),
    "reversed_good": _good(-30.0, 10.0),
    "saturated": _saturated,
    "refusing_what_is_wrong": _refusing_what_is_wrong,
    "capitals_and_commas": _sum("capitals", "commas"),
    "words_and_digits": _sum("word_length", "digits"),
    "mostly_length": _mostly_length,
    "at_the_margin_in_steps": _at_the_margin_in_steps,
    "mostly_ties": _mostly_ties,
    **{
        f"{name}_in_steps": _in_steps(_model(name))
        for name in ("random", "length", "capitals", "citations")
    },
    "mostly_length_in_steps": _in_steps(_mostly_length),
}

GOOD: dict[str, Judge] = {
    **{"good": _good(20, 10), "strong": _good(40, 15), "very_strong": _good(70, 20)},
    "good_in_steps": _in_steps(_good(20, 10)),
}
"""True differences of twice the margin and more, the last in five steps."""
