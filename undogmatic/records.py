"""The nouns: what travels between the rooms. All records are frozen and reject unknown fields."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, model_validator

from undogmatic.scale import Anchors, Bands, Guide, NumericScale, Record, Scale

FailureKind = Literal["refusal", "unparseable", "off_scale", "transport", "timeout", "budget"]
RETRIED_ON_RESUME: tuple[FailureKind, ...] = ("transport", "timeout", "budget")


def digest(value: Any) -> str:
    """SHA-256 (hex) of a JSON-able value in canonical form: sorted keys, UTF-8, no spaces."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def text_mark(text: str) -> str:
    """A short mark by which a text is known again, 12 hex digits of its SHA-256: what was fitted notes what it saw."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


OVERALL = "overall"
"""The criterion of a judge that says one thing of an item."""
UNNAMED = "unnamed"
"""The rater of a label that does not say whose it is."""


def _number_if_it_is(given: Any) -> Any:
    """Files of text give numbers as text."""
    if isinstance(given, str):
        with contextlib.suppress(ValueError):
            return float(given)
    return given


Label = Annotated[float | str, BeforeValidator(_number_if_it_is)]
"""What a person said: a number of the rubric's scale, or the name of a category."""


class Item(Record):
    """What is judged.

    A plain text has one input, `text`. In files and in Python the short form `text=...` stands for it, and `label=...`
    for one label of unnamed origin.

    Attributes:
        inputs: The named texts to be judged, e.g. {"question": ..., "response": ...}.
        labels: What people said: criterion -> rater -> number or category.
        parent, maker: Of an item made from another: that item's id, and what made it (a step and its model).
        place: Where it was read (file:line), for messages; it is no part of the item and enters no hash or file.
        label_scale: Ends of the scale its labels were given on, where its dataset says so; no part of it either.
    """

    id: str = Field(min_length=1)
    inputs: dict[str, str] = Field(min_length=1)
    pair: str | None = None
    condition: str | None = None
    labels: dict[str, dict[str, Label]] = Field(default_factory=dict)
    parent: str | None = None
    maker: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    place: str | None = Field(default=None, exclude=True, repr=False)
    label_scale: tuple[float, float] | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = dict(given)
        if "text" in fields:
            fields["inputs"] = {"text": fields.pop("text")} | dict(fields.get("inputs") or {})
        if (label := fields.pop("label", None)) is not None:
            known = dict(fields.get("labels") or {})
            fields["labels"] = known | {OVERALL: {UNNAMED: label} | dict(known.get(OVERALL) or {})}
        return fields

    @model_validator(mode="after")
    def _filled(self) -> Item:
        empty = [name for name, text in self.inputs.items() if not text]
        if empty:
            raise ValueError(f"the input `{empty[0]}` is empty")
        return self

    @property
    def text(self) -> str:
        """All that is judged, as one text: the inputs in their order, a blank line between them."""
        return "\n\n".join(self.inputs.values())

    @property
    def label(self) -> float | None:
        """What people said overall; see `labelled`."""
        return self.labelled(OVERALL)

    def labelled(self, criterion: str) -> float | None:
        """The mean of the numbers that people gave for a criterion, or None. Categories count once they are numbers
        (`Rubric.with_labels`)."""
        given = [value for value in self.labels.get(criterion, {}).values() if not isinstance(value, str)]
        return math.fsum(given) / len(given) if given else None

    def with_label(self, value: Label) -> Item:
        """A copy with this one label overall."""
        return self.model_copy(update={"labels": self.labels | {OVERALL: {UNNAMED: value}}})

    def form(self) -> dict[str, Any]:
        """What identifies it, as plain JSON. A plain text with at most one unnamed label is written as it always was,
        so that runs of earlier versions are known again."""
        whole = self.model_dump(mode="json")
        ratings = self.labels.get(OVERALL, {})
        plain = set(self.inputs) == {"text"} and self.labels.keys() <= {OVERALL} and ratings.keys() <= {UNNAMED}
        if not plain or self.parent is not None or self.maker is not None:
            return whole
        short = {name: whole[name] for name in ("id", "pair", "condition", "metadata")}
        return short | {"text": self.inputs["text"], "label": ratings.get(UNNAMED)}


def items_digest(items: Iterable[Item]) -> str:
    """SHA-256 over the items in their order."""
    return digest([item.form() for item in items])


class Level(NamedTuple):
    """One rung of the scale: its value in score units and what it means."""

    value: float
    meaning: str


class Wording(Record):
    """A rubric's words in one language.

    Attributes:
        definition: What the construct is.
        question: What is asked of every item.
        domain: The judge's role and field, e.g. "You judge Brazilian legal texts."; a prompt may replace it.
        meanings: One per anchor, band or category of the guide, in its order.
        headings: Heading per input, where there are several.
        unit: What one unit of the score is called in reports.
    """

    definition: str
    question: str
    domain: str = ""
    meanings: tuple[str, ...] = ()
    headings: dict[str, str] = Field(default_factory=dict)
    unit: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _earlier_form(cls, given: Any) -> Any:
        if isinstance(given, dict) and "anchors" in given:
            fields = dict(given)
            return fields | {"meanings": fields.pop("anchors")}
        return given


class Rubric(Record):
    """What the score means.

    Attributes:
        name: Its name in `rubric=`.
        scale: What a score can be.
        guide: What values mean: anchors at values or named bands. Categories need none; their meanings follow them.
        inputs: The fields of an item that are shown and judged, in this order.
        direction: What a high score is; None only for unordered categories.
        score_field: The name of the score in a JSON answer.
        wordings: Its words by language.
    """

    name: str
    scale: Scale
    guide: Guide | None = None
    inputs: tuple[str, ...] = Field(default=("text",), min_length=1)
    direction: Literal["higher_is_worse", "higher_is_better"] | None = None
    score_field: str = "score"
    wordings: dict[str, Wording] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _earlier_form(cls, given: Any) -> Any:
        """minimum, maximum and levels, as in runs of earlier versions: a numeric scale with anchors at the levels."""
        if isinstance(given, dict) and {"minimum", "maximum", "levels"} & given.keys():
            fields = dict(given)
            ends = {key: fields.pop(key) for key in ("minimum", "maximum") if key in fields}
            guide = {"guide": {"kind": "anchors", "at": fields.pop("levels")}} if "levels" in fields else {}
            return fields | {"scale": {"kind": "numeric", **ends}} | guide
        return given

    @model_validator(mode="after")
    def _check(self) -> Rubric:
        if self.guide is not None:
            if not isinstance(self.scale, NumericScale):
                raise ValueError("a guide of anchors or bands goes with a numeric scale; categories have meanings only")
            self.guide.check(self.scale)
        if self.direction is None and self.scale.ordered:
            raise ValueError("direction is required: higher_is_worse or higher_is_better")
        if len(set(self.inputs)) != len(self.inputs):
            raise ValueError(f"inputs must differ, got {list(self.inputs)}")
        needed = len(self._guided())
        for language, wording in self.wordings.items():
            if (wording.meanings and len(wording.meanings) != needed) or (
                self.guide is not None and not wording.meanings
            ):
                raise ValueError(
                    f"wordings.{language}.meanings has {len(wording.meanings)} entries for {needed} levels"
                )
            unknown = sorted(wording.headings.keys() - set(self.inputs))
            if unknown:
                raise ValueError(f"wordings.{language}.headings names {unknown[0]!r}, which is not in inputs")
        return self

    @property
    def minimum(self) -> float:
        """Lowest score."""
        return self.scale.minimum

    @property
    def maximum(self) -> float:
        """Highest score."""
        return self.scale.maximum

    @property
    def levels(self) -> tuple[float, ...]:
        """The values offered where a model chooses among a few: anchors, categories, or values of the scale."""
        return self.guide.at if isinstance(self.guide, Anchors) else self.scale.default_levels()

    @property
    def labels(self) -> tuple[str, ...]:
        """The answer that stands for each level where a model answers with one token: the level's own digit where all
        are one-digit numbers, its place where that cannot be taken for another level, else a letter."""
        values = [f"{value:g}" for value in self.levels]
        if isinstance(self.scale, NumericScale) and all(len(value) == 1 for value in values):
            return tuple(values)
        places = [str(n) for n in range(len(values))]
        numeric = isinstance(self.scale, NumericScale)
        misread = numeric and any(value in places and places.index(value) != n for n, value in enumerate(values))
        if len(values) <= 10 and not misread:
            return tuple(places)
        return tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(values)])

    def anchors(self, language: str) -> tuple[Level, ...]:
        """The levels with their meanings in `language`."""
        meanings = self.wordings[language].meanings
        if isinstance(self.guide, Anchors):
            return tuple(Level(v, m) for v, m in zip(self.levels, meanings, strict=True))
        found = []
        for n, value in enumerate(self.levels):
            meaning = self.scale.write(value)
            if isinstance(self.guide, Bands):
                band = self.guide.of(value)
                meaning = f"{meaning}, {self.guide.bands[band].name}: {meanings[band]}"
            elif meanings:
                meaning = f"{meaning}: {meanings[n]}"
            found.append(Level(value, meaning))
        return tuple(found)

    def meanings(self, language: str) -> list[str]:
        """What the levels mean in `language`."""
        return [level.meaning for level in self.anchors(language)]

    def guided(self, language: str) -> tuple[tuple[str, str], ...]:
        """What the guide names, each with its meaning in `language`: ("25", ...), ("HIGH (70-100)", ...), ("yes", ...).
        Empty where nothing has a meaning."""
        return tuple(zip(self._guided(), self.wordings[language].meanings, strict=False))

    def _guided(self) -> tuple[str, ...]:
        if self.guide is not None:
            return self.guide.names()
        return () if isinstance(self.scale, NumericScale) else self.scale.categories

    def contains(self, score: float) -> bool:
        """Whether `score` lies on the scale, ends included; an average may lie between its values."""
        return self.minimum <= score <= self.maximum

    def share(self, score: float) -> float:
        """A score on 0-1."""
        return min(1.0, max(0.0, (score - self.minimum) / (self.maximum - self.minimum)))

    def units(self, share: float) -> float:
        """A share of the scale (0-1) as a score."""
        return self.minimum + share * (self.maximum - self.minimum)

    def interval(self, shares: tuple[float, float]) -> tuple[float, float]:
        """An interval of shares as scores."""
        return self.units(shares[0]), self.units(shares[1])

    def read(self, given: Any, ends: tuple[float, float] | None = None) -> float:
        """A label as a number of this scale.

        Args:
            given: A number or a category's name.
            ends: Of another numeric scale on which it was given, to be mapped linearly; None is this one.
        Raises:
            ValueError: It is on neither, or this scale has no ends to map to.
        """
        if ends is None or ends == (self.minimum, self.maximum):
            return self.scale.read(given)
        if not isinstance(self.scale, NumericScale):
            raise ValueError(f"is of a scale {ends[0]:g}-{ends[1]:g}, and cannot be mapped to {self.scale.span()}")
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise ValueError(f"is {given!r}, not a number on the scale {ends[0]:g}-{ends[1]:g}, mapped to that")
        if not ends[0] <= given <= ends[1]:
            raise ValueError(f"is {given:g}, outside the scale {ends[0]:g}-{ends[1]:g} that is mapped to that")
        return self.units((given - ends[0]) / (ends[1] - ends[0]))

    def with_labels(self, item: Item) -> Item:
        """The item with its overall labels as numbers of this scale.

        Raises:
            ValueError: A label that is not on the scale, named with its rater.
        """
        given = item.labels.get(OVERALL)
        if not given:
            return item
        read = {}
        for rater, value in given.items():
            try:
                read[rater] = self.read(value, item.label_scale)
            except ValueError as error:
                whose = "`label`" if rater == UNNAMED else f"the label of {rater!r}"
                raise ValueError(f"{whose} {error}, the scale of rubric={self.name}") from None
        if read == given:
            return item
        # On this scale from now on, and known to be: a second call changes nothing.
        ends = None if item.label_scale is None else (self.minimum, self.maximum)
        return item.model_copy(update={"labels": item.labels | {OVERALL: read}, "label_scale": ends})


class ScoreDistribution(Record):
    """Probability over the rubric's levels, and the mass that fell on anything else.

    `probabilities` are conditional on being on the scale: they sum to 1. `off_scale` is the share of the original mass
    that lay elsewhere.
    """

    values: tuple[float, ...] = Field(min_length=1)
    probabilities: tuple[float, ...]
    off_scale: float = Field(default=0.0, ge=0.0, le=1.0)

    @model_validator(mode="after")
    def _check(self) -> ScoreDistribution:
        if len(self.values) != len(self.probabilities):
            raise ValueError("values and probabilities differ in length")
        if any(p < 0 for p in self.probabilities) or not math.isclose(sum(self.probabilities), 1.0, abs_tol=1e-6):
            raise ValueError(f"probabilities must be non-negative and sum to 1, got sum {sum(self.probabilities)}")
        return self

    @property
    def expectation(self) -> float:
        """Mean score under the distribution, in score units."""
        return math.fsum(v * p for v, p in zip(self.values, self.probabilities, strict=True))

    @property
    def mode(self) -> float:
        """The likeliest value; the lower of two."""
        return max(zip(self.probabilities, (-value for value in self.values), strict=True))[1] * -1.0

    @property
    def normalised_entropy(self) -> float:
        """Shannon entropy over log(number of levels), in [0, 1]; one level gives 0."""
        if len(self.values) == 1:
            return 0.0
        entropy = -math.fsum(p * math.log(p) for p in self.probabilities if p > 0)
        return min(1.0, max(0.0, entropy / math.log(len(self.values))))

    @property
    def confidence(self) -> float:
        """100 x (1 - normalised entropy)."""
        return 100.0 * (1.0 - self.normalised_entropy)


class Cost(Record):
    """What a judgment took. `calls` were made, `cached` were answered from the cache; `usd` is None if unknown."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0


class Provenance(Record):
    """Where a judgment comes from; enough to repeat it."""

    model: str
    readout: str
    prompt: str
    prompt_hash: str
    program_hash: str
    config_hash: str


class Verdict(Record):
    """The judge decided.

    `score` is in the rubric's units, and `category` the category it stands for, where the scale has any; categories
    without an order have no score. `details` are the numbers and words that a judge style yields besides (positions,
    strength, rules fired, ...); scores among them are in the rubric's units. docs/judges.md lists them.
    """

    kind: Literal["verdict"] = "verdict"
    score: float | None = None
    category: str | None = None
    raw_score: float | None = None
    distribution: ScoreDistribution | None = None
    interval: tuple[float, float] | None = None
    confidence: float | None = Field(default=None, ge=0, le=100)
    confidence_source: Literal["stated", "entropy", "procedure", "none"] = "none"
    uncertainty: Literal["low", "medium", "high"] | None = None
    doubt: float | None = None
    rationale: str | None = None
    issues: tuple[str, ...] = ()
    review: bool = False
    details: dict[str, float | str] = Field(default_factory=dict)


class Failure(Record):
    """The judge did not decide, and why. Never a number."""

    kind: Literal["failure"] = "failure"
    reason: FailureKind
    message: str
    raw: str | None = None


class Call(Record):
    """One exchange with a model, as the journal and the traces keep it. `request` and `reply` are plain JSON."""

    model: str
    request: dict[str, Any]
    reply: Any = None
    error: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    started: float = 0.0
    seconds: float = 0.0
    attempts: int = 1
    cached: bool = False


class Judgment(Record):
    """One result of one judge for one criterion of one item: the outcome, what it cost, where it comes from and the raw
    exchange. A judge that gives several criteria by the same calls notes cost and exchange with the first of them."""

    item_id: str
    repeat: int = 0
    judge: str
    criterion: str = OVERALL
    outcome: Annotated[Verdict | Failure, Field(discriminator="kind")]
    cost: Cost
    provenance: Provenance
    calls: tuple[Call, ...] = ()

    @property
    def score(self) -> float | None:
        """The score, or None where the judge failed."""
        return self.outcome.score if isinstance(self.outcome, Verdict) else None


class Items(Record):
    """What a step made of one item; none, where there was nothing to make."""

    kind: Literal["items"] = "items"
    items: tuple[Item, ...]


class Made(Record):
    """One result of a step that makes items: the items or why there are none, what it cost and the raw exchange."""

    item_id: str
    repeat: int = 0
    step: str
    outcome: Annotated[Items | Failure, Field(discriminator="kind")]
    cost: Cost
    calls: tuple[Call, ...] = ()
