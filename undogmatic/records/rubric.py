"""Defines what a score means: the scale, what its values stand for, the inputs judged, and the
words for all of it.

A scale is numeric, or has ordered or unordered categories. Every scale has numbers: a numeric one
its own, categories their place from 0. So one distribution, one table and one set of statistics
serve all; `ordered` says whether the numbers mean anything beyond the names.
"""

from __future__ import annotations

import math
import operator
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from undogmatic.records.records import LabelScale, Record

# a numeric scale with so many values at most is offered to a model value by value
MOST_LEVELS = 11
FEW_LEVELS = 5  # Levels offered of a finer numeric scale without anchors, evenly spaced


class NumericScale(Record):
    """Numbers from `minimum` to `maximum`; with a `step`, only those that are whole steps above the
    minimum."""

    ordered: ClassVar[bool] = True  # whether a higher number means more
    kind: Literal["numeric"] = "numeric"
    minimum: float
    maximum: float
    step: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _check(self) -> NumericScale:
        if self.minimum >= self.maximum:
            raise ValueError(
                f"minimum must be below maximum, got {self.minimum:g} and {self.maximum:g}"
            )
        if self.step is not None and not _whole(
            (self.maximum - self.minimum) / self.step
        ):
            raise ValueError(
                f"step {self.step:g} does not lead from {self.minimum:g} to {self.maximum:g}"
            )
        return self

    def contains(self, value: float) -> bool:
        """Whether `value` can be given: within the ends and, where there is a step, on one."""
        inside = math.isfinite(value) and self.minimum <= value <= self.maximum
        return inside and (
            self.step is None or _whole((value - self.minimum) / self.step)
        )

    def read(self, raw: Any) -> float:
        """A number from outside. Raises ValueError saying what is wrong."""
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise ValueError(f"is {raw!r}, not a number ({self.span()})")
        if not self.contains(raw):
            raise ValueError(f"is {raw:g}, outside {self.span()}")
        return float(raw)

    def write(self, value: float) -> str:
        """`value` with the precision of the scale: about a hundredth of it, and no zeros that say
        nothing."""
        decimals = max(0, 2 - round(math.log10(self.maximum - self.minimum)))
        text = f"{value:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text

    def span(self) -> str:
        """The scale in a few characters, e.g. 1-10 in steps of 1."""
        ends = f"{self.minimum:g}-{self.maximum:g}"
        return ends if self.step is None else f"{ends} in steps of {self.step:g}"

    def default_levels(self) -> tuple[float, ...]:
        """The levels to offer where no guide names any: all values where they are few, else evenly
        spaced ones."""
        span, count = self.maximum - self.minimum, FEW_LEVELS
        if self.step is not None:
            steps = round(span / self.step)
            if steps < MOST_LEVELS:
                return tuple(self.minimum + n * self.step for n in range(steps + 1))
            # As many levels as the steps allow to be evenly spaced, near FEW_LEVELS.
            count = next(
                (
                    n
                    for n in (FEW_LEVELS, 6, 4, 7, 8, 9, 10, 11, 3)
                    if steps % (n - 1) == 0
                ),
                2,
            )
        return tuple(self.minimum + span * n / (count - 1) for n in range(count))


class _Categories(Record):
    ordered: ClassVar[bool] = True
    minimum: ClassVar[float] = 0.0  # the number of the first category
    categories: tuple[str, ...] = Field(min_length=2, max_length=100)

    @model_validator(mode="after")
    def _check_names(self) -> _Categories:
        folded = [name.strip().casefold() for name in self.categories]
        if len(set(folded)) != len(folded) or not all(folded):
            raise ValueError(
                f"categories must be different and not empty, got {list(self.categories)}"
            )
        return self

    @property
    def maximum(self) -> float:
        return float(len(self.categories) - 1)

    def contains(self, value: float) -> bool:
        return self.minimum <= value <= self.maximum and float(value).is_integer()

    def read(self, raw: Any) -> float:
        """A category's name (whatever its case) or number. Raises ValueError with the options."""
        names, name = (
            [name.strip().casefold() for name in self.categories],
            str(raw).strip().casefold(),
        )
        if (
            len(names) == 2
            and (truth := str(raw).casefold()) in ("false", "true")
            and truth not in names
        ):
            return float(truth == "true")
        if (
            isinstance(raw, int | float)
            and not isinstance(raw, bool)
            and self.contains(raw)
        ):
            return float(raw)
        if isinstance(raw, str) and name in names:
            return float(names.index(name))
        raise ValueError(f"is {raw!r}, not one of {self.span()}")

    def write(self, value: float) -> str:
        """The name of the nearest category."""
        return self.categories[
            min(len(self.categories) - 1, max(0, math.floor(value + 0.5)))
        ]

    def span(self) -> str:
        return " / ".join(self.categories)

    def default_levels(self) -> tuple[float, ...]:
        return tuple(float(n) for n in range(len(self.categories)))


class OrderedScale(_Categories):
    """Categories from least to most; a score between two numbers means between two categories."""

    kind: Literal["ordered"] = "ordered"


class UnorderedScale(_Categories):
    """Categories without an order. Two of them still have one direction: the share of the
    second."""

    kind: Literal["unordered"] = "unordered"

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return len(self.categories) == 2


Scale = Annotated[
    NumericScale | OrderedScale | UnorderedScale, Field(discriminator="kind")
]


class Anchors(Record):
    """Meanings at values of a numeric scale, ascending from its minimum to its maximum."""

    kind: Literal["anchors"] = "anchors"
    at: tuple[float, ...] = Field(max_length=100)

    def check(self, scale: Scale) -> None:
        """Raise ValueError unless it fits the scale."""
        levels = list(self.at)
        if len(levels) < 2 or levels != sorted(set(levels)):
            raise ValueError(
                f"levels must be at least two ascending values, got {levels}"
            )
        if not scale.minimum == levels[0] < levels[-1] == scale.maximum:
            raise ValueError(
                f"levels must run from minimum {scale.minimum} to maximum {scale.maximum}, got"
                f" {levels}"
            )
        if off := [level for level in levels if not scale.contains(level)]:
            raise ValueError(
                f"the anchor {off[0]:g} is not on the scale {scale.span()}"
            )

    def names(self) -> tuple[str, ...]:
        """What the meanings stand beside, e.g. 25."""
        return tuple(f"{value:g}" for value in self.at)


class Band(Record):
    """A named part of a numeric scale, ends included; files call its ends low and high."""

    model_config = ConfigDict(serialize_by_alias=True)
    name: str
    lowest: float = Field(alias="low")
    highest: float = Field(alias="high")


class Bands(Record):
    """Named parts of a numeric scale, such as HIGH 70-100; together they cover it from its minimum
    to its maximum."""

    kind: Literal["bands"] = "bands"
    bands: tuple[Band, ...] = Field(min_length=2, max_length=100)

    def check(self, scale: Scale) -> None:
        """Raise ValueError unless it fits the scale."""
        ends = sorted(
            ((band.lowest, band.highest) for band in self.bands),
            key=operator.itemgetter(0),
        )
        if (
            ends[0][0] != scale.minimum
            or max(highest for _, highest in ends) != scale.maximum
        ):
            raise ValueError(
                f"bands must cover the scale {scale.span()}, got {', '.join(self.names())}"
            )
        gap = (getattr(scale, "step", None) or 0.0) + 1e-9
        if any(
            low >= high or start - high > gap or end <= high
            for (low, high), (start, end) in pairwise(ends)
        ):
            raise ValueError(
                f"bands must follow one another without a gap, got {', '.join(self.names())}"
            )

    def names(self) -> tuple[str, ...]:
        """What the meanings stand beside, e.g. HIGH (70-100)."""
        return tuple(
            f"{band.name} ({band.lowest:g}-{band.highest:g})" for band in self.bands
        )

    def of(self, value: float) -> int:
        """Index of the band that holds `value`; the higher of two that share it."""
        holding = [
            n
            for n, band in enumerate(self.bands)
            if band.lowest <= value <= band.highest
        ]
        return max(holding, key=lambda n: self.bands[n].lowest)


Guide = Annotated[Anchors | Bands, Field(discriminator="kind")]


def _whole(value: float) -> bool:
    return math.isclose(value, round(value), abs_tol=1e-9)


def _newer(default: Any) -> Any:
    """A field that is not written where it is empty, so that the hash of a rubric from before it is
    what it was."""
    return Field(default=default, exclude_if=operator.not_)


class Wording(Record):
    """A rubric's words in one language; `meanings` has one per anchor, band or category of the
    guide, in its order."""

    definition: str  # what the construct is
    question: str  # what is asked of every item
    # the judge's role and field, e.g. "You judge Brazilian legal texts."; a prompt may replace it
    domain: str = ""
    meanings: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("meanings", "anchors")
    )
    # heading per input, where there are several
    headings: dict[str, str] = Field(default_factory=dict)
    unit: str | None = None  # what one unit of the score is called in reports
    # what is easily taken for the construct, and is not; behind the guide
    distinctions: tuple[str, ...] = _newer(())
    # what guide and distinctions say as running text, for prompts that do not show them
    prose: str = _newer("")


OUTPUTS = ("output_1", "output_2")
"""Inputs of a rubric that asks which of two outputs is better."""

# Fields that an answer has beside the score
ANSWERED = ("confidence", "rationale", "level")


Example = Annotated[str, Field(min_length=1, max_length=2000)]
Examples = Annotated[tuple[Example, ...], Field(min_length=2, max_length=3)]


class Rubric(Record):
    """What the score means.

    Attributes:
        name: Its name in `rubric=`.
        scale: What a score can be.
        guide: What values mean: anchors at values or named bands. Categories need none; their
            meanings follow them.
        inputs: The fields of an item that are shown and judged, in this order.
        optional: Fields that an item may lack, or have besides; a judge that needs one fails on the
            item without it.
        partial: Whether an item is judged by what it has, where it lacks an optional input: a
            response without the question before it. Else it fails.
        direction: What a high score is; None only for unordered categories.
        score_field: The name of the score in a JSON answer.
        wordings: Its words by language.
        margin: Smallest difference that matters, in score units: what lies within it counts as no
            difference. None: nobody has said; see `examinations.truth`. It decides what verdicts
            say, never what is judged.
        rivals: Dotted names of models (built without arguments) that were fitted to labels of this
            construct and read only the surface of a text; a judge that follows labels must do more
            than they. They decide what verdicts say, too, never what is judged.
        field_words: Dotted name of a function that counts the words of this construct's field in a
            text (it returns a NamedTuple), or None; the surface judge of verdicts sees these
            counts, too.
        from_top: Whether the guide is listed from its last level to its first.
        examples: Two or three clear examples for each anchor, band or category of the guide, in its
            order, by language; prompts that show the guide show them below its meanings. None or a
            language that is absent: none.
        labelled: The dataset option with the development texts that ship with labels of this
            construct; what is fitted without a file is fitted on them. It says nothing of a score,
            and no hash knows it.
    """

    name: str
    scale: Scale
    guide: Guide | None = None
    inputs: tuple[str, ...] = Field(default=("text",), min_length=1)
    direction: Literal["higher_is_worse", "higher_is_better"] | None = None
    score_field: str = "score"
    wordings: dict[str, Wording] = Field(min_length=1)
    margin: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    rivals: tuple[str, ...] = ()
    field_words: str | None = _newer(None)
    optional: tuple[str, ...] = ()
    partial: bool = _newer(False)
    from_top: bool = _newer(False)
    examples: dict[str, tuple[Examples, ...]] | None = _newer(None)
    labelled: str | None = Field(default=None, exclude=True)

    @model_validator(mode="after")
    def _check(self) -> Rubric:
        if self.guide is not None:
            if not isinstance(self.scale, NumericScale):
                raise ValueError(
                    "a guide of anchors or bands goes with a numeric scale; categories have"
                    " meanings only"
                )
            self.guide.check(self.scale)
        if self.direction is None and self.scale.ordered:
            raise ValueError(
                "direction is required: higher_is_worse or higher_is_better"
            )
        if self.partial and set(self.inputs) <= set(self.optional):
            raise ValueError(
                "partial leaves nothing to judge if every input is optional; take one out of"
                " `optional`"
            )
        if len(set(self.inputs)) != len(self.inputs):
            raise ValueError(f"inputs must differ, got {list(self.inputs)}")
        if self.score_field in ANSWERED or not self.score_field.isidentifier():
            what = (
                "one word that is not the name of another field of the answer"
                f" ({', '.join(ANSWERED)})"
            )
            raise ValueError(f"score_field is {self.score_field!r}; it must be {what}")
        needed = len(self._guided())
        for language, wording in self.wordings.items():
            count = len(wording.meanings)
            if count != needed and (count or self.guide is not None):
                raise ValueError(
                    f"wordings.{language}.meanings has {count} entries for {needed} levels"
                )
            examples = (self.examples or {}).get(language)
            if examples is not None and (len(examples) != needed or not count):
                raise ValueError(
                    f"examples.{language} has examples of {len(examples)} parts, and the guide has"
                    f" {count if count else 'no'} meanings: two or three examples for each"
                )
            if unknown := sorted(wording.headings.keys() - set(self.inputs)):
                raise ValueError(
                    f"wordings.{language}.headings names {unknown[0]!r}, which is not in inputs"
                )
        if unworded := sorted((self.examples or {}).keys() - self.wordings.keys()):
            raise ValueError(
                f"examples are in {unworded[0]!r}, and the rubric has no wording in it (it has:"
                f" {', '.join(self.wordings)})"
            )
        return self

    @property
    def of_pairs(self) -> bool:
        """Whether it asks which of two outputs is better."""
        return {*OUTPUTS} <= {*self.inputs}

    @property
    def minimum(self) -> float:
        return self.scale.minimum

    @property
    def maximum(self) -> float:
        return self.scale.maximum

    @property
    def levels(self) -> tuple[float, ...]:
        """The values offered where a model chooses among a few: anchors, categories, or values of
        the scale."""
        return (
            self.guide.at
            if isinstance(self.guide, Anchors)
            else self.scale.default_levels()
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The answer that stands for each level where a model answers with one token: the level's
        own digit where all are one-digit numbers, its place where that cannot be taken for another
        level, else a letter.
        """
        values, numeric = (
            [f"{value:g}" for value in self.levels],
            isinstance(self.scale, NumericScale),
        )
        if numeric and all(len(value) == 1 for value in values):
            return tuple(values)
        places = [str(n) for n in range(len(values))]
        misread = numeric and any(
            value in places and places.index(value) != n
            for n, value in enumerate(values)
        )
        return tuple(
            places
            if len(values) <= 10 and not misread
            else "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(values)]
        )

    def meanings(self, language: str) -> list[str]:
        """What the levels mean in `language`."""
        meanings = self.wordings[language].meanings
        if isinstance(self.guide, Anchors):
            return list(meanings)
        shown = list(map(self.scale.write, self.levels))
        if isinstance(self.guide, Bands):
            places = list(map(self.guide.of, self.levels))
            return [
                f"{one}, {self.guide.bands[n].name}: {meanings[n]}"
                for one, n in zip(shown, places, strict=True)
            ]
        return (
            [f"{one}: {meaning}" for one, meaning in zip(shown, meanings, strict=True)]
            if meanings
            else shown
        )

    def guided(self, language: str) -> tuple[tuple[str, str], ...]:
        """What the guide names, each with its meaning in `language`: ("25", ...), ("HIGH (70-100)",
        ...), ("yes", ...). Empty where nothing has a meaning."""
        listed = tuple(
            zip(self._guided(), self.wordings[language].meanings, strict=False)
        )
        return listed[::-1] if self.from_top else listed

    def shown_examples(self, language: str) -> tuple[tuple[str, ...], ...]:
        """Examples of what `guided` names, in its order; empty ones where there are none."""
        none = ((),) * len(self.guided(language))
        listed = (self.examples or {}).get(language, none)
        return listed[::-1] if self.from_top else listed

    def level_examples(self, language: str) -> tuple[tuple[str, ...], ...]:
        """Examples of the levels, in their order. Of a band with several levels, the first has
        them."""
        listed = (self.examples or {}).get(language)
        if listed is None:
            return ((),) * len(self.levels)
        if not isinstance(self.guide, Bands):
            return listed
        places = list(map(self.guide.of, self.levels))
        if self.from_top:  # the first that is shown
            last = {place: n for n, place in enumerate(places)}
            return tuple(
                listed[p] if last[p] == n else () for n, p in enumerate(places)
            )
        return tuple(
            listed[p] if places.index(p) == n else () for n, p in enumerate(places)
        )

    def _guided(self) -> tuple[str, ...]:
        return (
            self.guide.names()
            if self.guide is not None
            else getattr(self.scale, "categories", ())
        )

    def contains(self, score: float) -> bool:
        """Whether `score` lies on the scale, ends included; an average may lie between its
        values."""
        return self.minimum <= score <= self.maximum

    def share(self, score: float) -> float:
        """A score as a share of the scale, 0-1."""
        return min(
            1.0, max(0.0, (score - self.minimum) / (self.maximum - self.minimum))
        )

    def units(self, share: float) -> float:
        """A share of the scale (0-1) as a score."""
        return self.minimum + share * (self.maximum - self.minimum)

    def interval(self, shares: tuple[float, float]) -> tuple[float, float]:
        return self.units(shares[0]), self.units(shares[1])

    def read(self, raw: Any, own: LabelScale | None = None) -> float:
        """A label, a number or a category's name, as a number of this scale; `own` is another scale
        on which it was given, to be mapped linearly. Raises ValueError where it is on neither, or
        cannot be mapped.
        """
        ends = None if own is None else own.ends
        if own is not None and own.words:
            return self._of_words(raw, own.words)
        if ends is None or ends == (self.minimum, self.maximum):
            return self.scale.read(raw)
        if not isinstance(self.scale, NumericScale):
            raise ValueError(
                f"is of a scale {ends[0]:g}-{ends[1]:g}, and cannot be mapped to"
                f" {self.scale.span()}"
            )
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise ValueError(
                f"is {raw!r}, not a number on the scale {ends[0]:g}-{ends[1]:g}, mapped to that"
            )
        if not min(ends) <= raw <= max(ends):
            raise ValueError(
                f"is {raw:g}, outside the scale {ends[0]:g}-{ends[1]:g} that is mapped to that"
            )
        return self.units((raw - ends[0]) / (ends[1] - ends[0]))

    def _of_words(self, raw: Any, words: tuple[str, ...]) -> float:
        """The number for one of these words, which go evenly from the lowest score to the
        highest."""
        names = [word.strip().casefold() for word in words]
        if (name := str(raw).strip().casefold()) not in names:
            raise ValueError(
                f"is {raw!r}, not one of {' / '.join(words)}, mapped to that"
            )
        if not isinstance(self.scale, NumericScale) and len(names) != self.maximum + 1:
            raise ValueError(
                f"is one of {len(names)} words, and cannot be mapped to {self.scale.span()}"
            )
        return self.units(names.index(name) / (len(names) - 1))
