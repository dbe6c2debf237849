"""The nouns: what travels between the rooms. All records are frozen and reject unknown fields."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import math
import operator
import os
import re
from array import array
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from undogmatic.safety.outside import DEEPEST, LONGEST_INTEGER, brief, has_halves

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FailureKind = Literal[
    "refusal",
    "unparseable",
    "off_scale",
    "undecided",
    "transport",
    "timeout",
    "budget",
    "input",
    "fault",
]
Key = tuple[str, str, str, int]  # Item, judge or step, criterion, repeat
OVERALL = "overall"  # The criterion of a judge that says one thing of an item
# Metadata: the group that a user named, "" for none; it is final
TYPED_GROUP = "typed_group"
NAMED = "named"  # Metadata: what a reason may name -> how words begin that name it
WATCHED = "watched"  # Metadata: of two outputs the one that the instrument test edits
UNNAMED = "unnamed"  # The rater of a label that does not say whose it is
RETRIED_ON_RESUME: tuple[FailureKind, ...] = ("transport", "timeout", "budget", "fault")


class Record(BaseModel):
    """Frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Flat(Record):
    """A record whose fields are, in a config, keys of the object that is given the record, and no
    mapping of their own: `engine.max_usd`, not `engine.limits.max_usd`."""


def first_problem(error: ValidationError) -> str:
    """The first thing that is wrong with a record: field, value, and what is allowed, in words."""
    problem = error.errors()[0]
    field = ".".join(map(str, problem["loc"]))
    what = wanted(problem["type"], problem["msg"], problem.get("ctx", {}))
    if problem["type"] in ("extra_forbidden", "missing"):
        return f"`{field}` {what}"
    return f"`{field}` is {brief(problem['input'])}: {what}" if field else what


_WANTED = {
    "extra_forbidden": "is no known key",
    "missing": "is required",
    "greater_than": "it must be above {gt:g}",
    "greater_than_equal": "it must be at least {ge:g}",
    "less_than": "it must be below {lt:g}",
    "less_than_equal": "it must be at most {le:g}",
    "literal_error": "it must be {expected}",
    "string_pattern_mismatch": "it must fit the pattern {pattern}",
    "string_too_short": "it must have at least {min_length} characters",
    "finite_number": "it must be a finite number",
} | {
    f"{kind}_{fault}": f"it must be {what}"
    for kind, what in {
        "float": "a number",
        "int": "a whole number",
        "bool": "true or false",
        "string": "a text",
        "tuple": "a list",
        "list": "a list",
        "dict": "keys with values",
        "model": "keys with values",
        "date": "a date",
    }.items()
    for fault in ("type", "parsing", "from_float", "from_date_parsing")
}
"""What is said of each kind of fault that Pydantic finds."""


def wanted(kind: str, message: str, values: Mapping[str, Any]) -> str:
    """What is allowed where Pydantic found this kind of fault, in our words; its own `message`
    where there are none."""
    if kind in _WANTED:
        return _WANTED[kind].format(**values)
    return message.removeprefix("Value error, ")


def digest(value: Any) -> str:
    """SHA-256 (hex) of a JSON-able value in canonical form: sorted keys, UTF-8, no spaces."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def as_text(value: Any) -> str:
    """A value as JSON text for people."""
    return json.dumps(value, ensure_ascii=False, default=str)


def text_mark(text: str) -> str:
    """A short mark by which a text is known again, 12 hex digits of its SHA-256: what was fitted
    notes what it saw."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# characters of an id, a condition, a rater; what a step makes of an item has a longer id
LONGEST_NAME = 1_000


def _name(name: str) -> str:
    if len(name) > 2 * LONGEST_NAME:
        raise ValueError(
            f"it has {len(name):,} characters, and a name at most {LONGEST_NAME:,}"
        )
    if re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", name):
        raise ValueError("a name is one line without control characters")
    return name


def _writable(text: str) -> bool:
    """Whether every file can hold the text."""
    return "\0" not in text and not has_halves(text)


def _text(text: str) -> str:
    if not _writable(text):
        raise ValueError("it holds a NUL or half of a character (a lone surrogate)")
    return text


def as_number(value: Any) -> Any:
    """The number that a text is; files of text give numbers so."""
    # Python takes 1_000 for a number; in a file of labels that is a name.
    if isinstance(value, str) and "_" not in value:
        with contextlib.suppress(ValueError):
            # "nan" and "inf" are numbers for Python, too; of a label they are words.
            return number if math.isfinite(number := float(value)) else value
    return value


def _label(value: Any) -> Any:
    """True is no number, but may be one of two categories."""
    return str(value).lower() if isinstance(value, bool) else as_number(value)


def _as_json(raw: Any, where: str = "metadata", depth: int = 0) -> Any:
    """Metadata as JSON can hold it: dates as text, what is no number as nothing. Raises ValueError
    naming the field."""
    if hasattr(raw, "tolist"):  # an array or a number of NumPy's
        raw = raw.tolist()
    if isinstance(raw, list | tuple | Mapping):
        if depth >= DEEPEST:
            raise ValueError(f"`{where[:80]}...` is nested too deeply")
        if not isinstance(raw, Mapping):
            return [_as_json(value, where, depth + 1) for value in raw]
        if wrong := [key for key in map(str, raw) if not _writable(key)]:
            raise ValueError(
                f"`{where}` has the key {brief(wrong[0])}, which cannot be written"
            )
        return {
            str(key): _as_json(value, f"{where}.{key}", depth + 1)
            for key, value in raw.items()
        }
    if raw is None or (isinstance(raw, float | Decimal) and math.isnan(raw)):
        return None
    if isinstance(raw, float | Decimal) and math.isfinite(raw):
        return float(raw)
    if isinstance(raw, datetime.date | datetime.time | datetime.timedelta):
        text = str(raw) if isinstance(raw, datetime.timedelta) else raw.isoformat()
        return None if text == "NaT" else text  # pandas' missing date is a date
    if (
        _writable(raw)
        if isinstance(raw, str)
        else isinstance(raw, int) and raw.bit_length() <= LONGEST_INTEGER
    ):
        return raw
    what = f"{brief(raw)} ({type(raw).__name__})"
    raise ValueError(
        f"`{where}` is {what}, which not every file of a run can hold; correct it or leave it out"
    )


# What stands in tables, file names and tags: one line, not endless
Name = Annotated[str, AfterValidator(_name)]
Text = Annotated[str, AfterValidator(_text)]
Metadata = Annotated[dict[str, Any], BeforeValidator(_as_json)]
"""Facts about a record, as JSON can hold them."""
Label = Annotated[float | Name, BeforeValidator(_label)]
"""What a person said: a number of the rubric's scale, or the name of a category."""


class LabelScale(Record):
    """The scale on which people gave labels, from what stands for the rubric's lowest score to what
    stands for its highest: two `ends` (10 to 1 where 10 is the lowest) or `words`. `assumed`:
    nobody has declared it.
    """

    ends: tuple[float, float] | None = None
    words: tuple[str, ...] = ()
    assumed: bool = False

    @model_validator(mode="after")
    def _check(self) -> LabelScale:
        if self.ends is not None and self.ends[0] == self.ends[1]:
            raise ValueError("its two ends are the same")
        if (self.ends is None) != (
            len(set(self.words)) > 1 and len(set(self.words)) == len(self.words)
        ):
            raise ValueError("it has two ends or at least two different words")
        return self

    @property
    def numbers(self) -> tuple[float, float]:
        """Its ends as numbers. Words count as 1, 2, 3, ... in their order; two words as 0 and 1, so
        that a mean is the share of the second."""
        if self.ends is not None:
            return self.ends
        return (0.0, 1.0) if len(self.words) == 2 else (1.0, float(len(self.words)))

    def shown(self) -> str:
        """The scale as an option takes it: [1,10] or [bad,good]."""
        parts = self.words if self.ends is None else [f"{end:g}" for end in self.ends]
        return f"[{','.join(parts)}]"


def _as_scale(given: Any) -> Any:
    return {"ends": given} if isinstance(given, tuple | list) else given


Way = Literal[
    "again",
    "words",
    "language",
    "levels_reversed",
    "criteria_reversed",
    "examples_reversed",
    "letters",
    "letters_turned",
    "named",
    "numbers_turned",
]
"""What differs: nothing (the same question once more), the words of the rubric, the language of the
question, the order in which levels, distinctions or worked examples are listed, or the names of the
levels: letters, in the order of the levels or in the other; words for how high they are; or
numbers, of which the first stands for the last level."""


class Words(Record):
    """Other words for a rubric's own in one language; None keeps these. `{domain}`, `{definition}`
    and `{question}` stand for the rubric's own words."""

    domain: str | None = None
    definition: str | None = None
    question: str | None = None

    @model_validator(mode="after")
    def _some(self) -> Words:
        if not (self.domain or self.definition or self.question):
            raise ValueError("it has neither `domain` nor `definition` nor `question`")
        return self


class Asking(Record):
    """Another way of putting the question. `words` has what is said by language, for the way of
    that name; `language` is the code of the other language."""

    way: Way
    words: Mapping[str, Words] = {}
    language: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Asking:
        if self.way == "words" and not self.words:
            raise ValueError("way `words` needs `words`, by language")
        if self.way == "language" and self.language is None:
            raise ValueError("way `language` needs `language`")
        return self


class Item(Record):
    """What is judged.

    A plain text has one input, `text`. In files and in Python the short form `text=...` stands for
    it, and `label=...` for one label of unnamed origin.

    Attributes:
        inputs: The named texts to be judged, e.g. {"question": ..., "response": ...}.
        labels: What people said: criterion -> rater -> number or category.
        parent, maker: Of an item made from another: that item's id, and what made it (a step and
            its model).
        asking: Another way of putting the question than the run's own; the item is left out where
            its judge cannot be asked so.
        place: Where it was read (file:line), for messages; it is no part of the item and enters no
            hash or file.
        label_scale: The scale its labels were given on, where its dataset says so; no part of it
            either.
    """

    id: Name = Field(min_length=1)
    inputs: dict[Name, Text] = Field(min_length=1)
    pair: Name | None = None
    condition: Name | None = None
    labels: dict[Name, dict[Name, Label]] = Field(default_factory=dict)
    parent: Name | None = None
    maker: Name | None = None
    metadata: Metadata = Field(default_factory=dict)
    asking: Asking | None = Field(default=None, exclude_if=operator.not_)
    place: str | None = Field(default=None, exclude=True, repr=False)
    label_scale: Annotated[LabelScale | None, BeforeValidator(_as_scale)] = Field(
        default=None, exclude=True, repr=False
    )

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        fields = dict(given)
        inputs, known = fields.get("inputs") or {}, fields.get("labels") or {}
        if "text" in fields and isinstance(inputs, dict):
            fields["inputs"] = {"text": fields.pop("text")} | inputs
        if (label := fields.pop("label", None)) is not None:
            given_overall = (
                known.get(OVERALL) or {} if isinstance(known, dict) else None
            )
            if not isinstance(given_overall, dict):
                raise ValueError(
                    f"`labels` is {brief(known)}; it holds criteria, each with raters and their"
                    " labels"
                )
            fields["labels"] = known | {OVERALL: {UNNAMED: label} | given_overall}
        return fields

    @model_validator(mode="after")
    def _filled(self) -> Item:
        if empty := [name for name, text in self.inputs.items() if not text]:
            raise ValueError(f"the input `{empty[0]}` is empty")
        return self

    @property
    def text(self) -> str:
        """All that is judged, as one text: the inputs in their order, a blank line between them."""
        return "\n\n".join(self.inputs.values())

    @property
    def label(self) -> float | None:
        return self.labelled(OVERALL)

    def labelled(self, criterion: str) -> float | None:
        """The mean of the numbers that people gave for a criterion, or None; categories are none
        before `on_scale`."""
        numbers = [
            value
            for value in self.labels.get(criterion, {}).values()
            if not isinstance(value, str)
        ]
        return math.fsum(numbers) / len(numbers) if numbers else None

    @property
    def language(self) -> str | None:
        """The code of the language that its text is in ("en", "pt"), where the metadata `language`
        names one."""
        named = self.metadata.get("language")
        return (
            re.split("[-_]", named.strip().lower())[0] or None
            if isinstance(named, str)
            else None
        )

    def blind(self) -> Item:
        """What a judge is given: without condition, pair and labels, so that none can echo what it
        is tested on. The id stays for messages, and metadata because rules of `judge=selective`
        read numbers in it."""
        return self.model_copy(update={"condition": None, "pair": None, "labels": {}})

    def with_label(self, value: Label) -> Item:
        return self.model_copy(
            update={"labels": self.labels | {OVERALL: {UNNAMED: value}}}
        )

    def form(self) -> dict[str, Any]:
        """What identifies it, as plain JSON. A plain text with at most one unnamed label is written
        as it always was, so that runs of earlier versions are known again."""
        whole = self.model_dump(mode="json")
        ratings = self.labels.get(OVERALL, {})
        plain = (
            set(self.inputs) == {"text"}
            and self.labels.keys() <= {OVERALL}
            and ratings.keys() <= {UNNAMED}
        )
        made = self.parent is not None or self.maker is not None
        if not plain or made or self.asking is not None:
            return whole
        short = {name: whole[name] for name in ("id", "pair", "condition", "metadata")}
        return short | {"text": self.inputs["text"], "label": ratings.get(UNNAMED)}


def items_digest(items: Iterable[Item]) -> str:
    """SHA-256 over the items in their order: the `digest` of the list of their forms, one after the
    other."""
    hashed, between = hashlib.sha256(b"["), b""
    for item in items:
        form = json.dumps(
            _wherever_it_lies(item.form()),
            sort_keys=True,
            ensure_ascii=False,
            separators=(",", ":"),
        )
        hashed.update(between + form.encode())
        between = b","
    hashed.update(b"]")
    return hashed.hexdigest()


def _wherever_it_lies(form: dict[str, Any]) -> dict[str, Any]:
    """The form of an item without the paths of its files: a path whose contents stand in the
    metadata (`document_sha256` of `document`) is known by these."""
    inputs = {
        name: value
        for name, value in form.get("inputs", {}).items()
        if not (os.path.isabs(value) and f"{name}_sha256" in form["metadata"])
    }
    return form | {"inputs": inputs} if "inputs" in form else form


def turns(ids: Iterable[str], pairs: Iterable[str | None]) -> NDArray[np.int32]:
    """Find the order in which a run asks: pair by pair, pairs and the texts of a pair in the order
    of a hash.

    Files list texts by condition, or the two texts of a pair in the same order throughout. A judge
    that drifts while it works would then differ between conditions, and a run that a budget stops
    would have judged the file's beginning. An item that stands alone has None among the `pairs`.
    What is returned are positions, the first to be asked first.
    """

    import numpy as np

    def place(what: str, name: str) -> int:
        return int.from_bytes(
            hashlib.sha256(f"{what} {name}".encode()).digest()[:8], "big"
        )

    units, items = array("Q"), array("Q")
    for item, pair in zip(ids, pairs, strict=True):
        units.append(place("unit", item if pair is None else pair))
        items.append(place("item", item))
    return np.lexsort((np.asarray(items), np.asarray(units))).astype(np.int32)


class ScoreDistribution(Record):
    """Probability over the rubric's levels. `probabilities` are conditional on being on the scale:
    they sum to 1. `off_scale` is the share of the original mass that lay elsewhere."""

    values: tuple[float, ...] = Field(min_length=1)
    probabilities: tuple[float, ...]
    off_scale: float = Field(default=0.0, ge=0.0, le=1.0)

    @model_validator(mode="after")
    def _check(self) -> ScoreDistribution:
        if len(self.values) != len(self.probabilities):
            raise ValueError("values and probabilities differ in length")
        if any(p < 0 for p in self.probabilities) or not math.isclose(
            sum(self.probabilities), 1.0, abs_tol=1e-6
        ):
            raise ValueError(
                "probabilities must be non-negative and sum to 1, got sum"
                f" {sum(self.probabilities)}"
            )
        return self

    @property
    def expectation(self) -> float:
        """Mean score under the distribution, in score units."""
        return math.fsum(
            v * p for v, p in zip(self.values, self.probabilities, strict=True)
        )

    @property
    def mode(self) -> float:
        """The likeliest value; the lower of two."""
        return (
            max(
                zip(self.probabilities, (-value for value in self.values), strict=True)
            )[1]
            * -1.0
        )

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
    """What a judgment took. `calls` were made, `cached` were answered from the cache; `usd` is None
    if unknown."""

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
    """The judge decided, or a readout read a score out of a model's answer.

    The source of the confidence is the model's own word ("stated"), 100 x (1 - normalised entropy)
    ("entropy"), or what follows from a judge's procedure ("procedure"). The details are the numbers
    and words that a judge style yields besides (positions, strength, rules fired, ...;
    docs/judges.md), scores among them in the rubric's units.
    """

    kind: Literal["verdict"] = "verdict"
    # in the rubric's units; None for categories without an order
    score: float | None = None
    category: str | None = None  # that the score stands for, where the scale has any
    raw_score: float | None = None  # before calibration, where there was one
    distribution: ScoreDistribution | None = None  # over the rubric's levels
    interval: tuple[float, float] | None = None  # its ends in the rubric's units
    confidence: float | None = Field(default=None, ge=0, le=100)  # a percentage
    confidence_source: Literal["stated", "entropy", "procedure", "none"] = "none"
    uncertainty: Literal["low", "medium", "high"] | None = (
        None  # level of the doubt; people should look at high ones
    )
    doubt: float | None = None  # as a number; its unit is the judge style's own
    rationale: str | None = None
    issues: tuple[str, ...] = ()
    review: bool = False
    details: dict[str, float | str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_something(self) -> Verdict:
        if self.score is None and self.category is None:
            raise ValueError("a verdict needs a score, or a category")
        return self

    @property
    def is_uncertain(self) -> bool | None:
        """Whether its level of uncertainty is medium or high; None where there is no level."""
        return (
            None if self.uncertainty is None else self.uncertainty in ("medium", "high")
        )

    @property
    def revised_score(self) -> float | None:
        """What a second look at the `initial_score` of the details came to, or None: the score,
        where the new one counts; where the initial one stands, the middle of the critic's range,
        which is the interval.
        """
        first = self.details.get("initial_score")
        if first is None or self.score is None:
            return None
        return (
            self.score
            if self.score != first or self.interval is None
            else sum(self.interval) / 2
        )

    def replace(self, **fields: Any) -> Verdict:
        """A copy with other values of these fields, checked like a new one."""
        return Verdict(**dict(self) | fields)

    def row(self) -> dict[str, Any]:
        """What tables hold of it, by column; None where it says nothing of that."""
        low, high = self.interval or (None, None)
        entropy = (
            None if self.distribution is None else self.distribution.normalised_entropy
        )
        derived = {"low": low, "high": high, "entropy": entropy}
        return {
            name: derived[name] if name in derived else getattr(self, name)
            for name in _COLUMNS.split()
        }


_COLUMNS = (
    "score category raw_score low high confidence entropy doubt uncertainty is_uncertain"
    " revised_score review"
)
NO_VERDICT: Mapping[str, Any] = dict.fromkeys(Verdict(score=0).row()) | {
    "review": False
}
"""The row of a judge that failed."""


def entropy_verdict(distribution: ScoreDistribution, **fields: Any) -> Verdict:
    """A verdict whose score is the expectation, unless it is given, and whose confidence comes from
    the entropy."""
    fields = {"score": distribution.expectation} | fields
    return Verdict(
        distribution=distribution,
        confidence=distribution.confidence,
        confidence_source="entropy",
        **fields,
    )


class Failure(Record):
    """The judge did not decide, and why. Never a number."""

    kind: Literal["failure"] = "failure"
    reason: FailureKind
    message: str
    raw: str | None = None


class Call(Record):
    """One exchange with a model, as the journal and the traces keep it. `request` and `reply` are
    plain JSON."""

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
    """One result of one judge for one criterion of one item: the outcome, what it cost, where it
    comes from and the raw exchange. A judge that gives several criteria by the same calls notes
    cost and exchange with the first of them.
    """

    item_id: str
    repeat: int = 0
    judge: str
    criterion: str = OVERALL
    outcome: Annotated[Verdict | Failure, Field(discriminator="kind")]
    cost: Cost
    provenance: Provenance
    calls: tuple[Call, ...] = ()

    @property
    def key(self) -> Key:
        return self.item_id, self.judge, self.criterion, self.repeat

    @property
    def score(self) -> float | None:
        return self.outcome.score if isinstance(self.outcome, Verdict) else None


class Items(Record):
    """What a step made of one item; none, where there was nothing to make."""

    kind: Literal["items"] = "items"
    items: tuple[Item, ...]


class Made(Record):
    """One result of a step that makes items: the items or why there are none, what it cost and the
    raw exchange."""

    item_id: str
    repeat: int = 0
    step: str
    outcome: Annotated[Items | Failure, Field(discriminator="kind")]
    cost: Cost
    calls: tuple[Call, ...] = ()

    @property
    def key(self) -> Key:
        return self.item_id, self.step, OVERALL, self.repeat
