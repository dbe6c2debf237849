"""The nouns: what travels between the rooms. All records are frozen and reject unknown fields."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

FailureKind = Literal["refusal", "unparseable", "off_scale", "transport", "timeout", "budget"]
RETRIED_ON_RESUME: tuple[FailureKind, ...] = ("transport", "timeout", "budget")


def digest(value: Any) -> str:
    """SHA-256 (hex) of a JSON-able value in canonical form: sorted keys, UTF-8, no spaces."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def text_mark(text: str) -> str:
    """A short mark by which a text is known again, 12 hex digits of its SHA-256: what was fitted notes what it saw."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class Record(BaseModel):
    """Frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Item(Record):
    """What is judged. `label` is a human label on the rubric's scale.

    `place` is where it was read (file:line), for messages; it is no part of the item and enters no hash or file.
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    pair: str | None = None
    condition: str | None = None
    label: float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    place: str | None = Field(default=None, exclude=True, repr=False)


class Level(NamedTuple):
    """One rung of the scale: its value in score units and what it means."""

    value: float
    meaning: str


class Wording(Record):
    """A rubric's words in one language."""

    definition: str
    question: str
    anchors: tuple[str, ...]


class Rubric(Record):
    """What the score means.

    `levels` are the anchor values in ascending order; `wordings` gives, per language, the definition of the construct,
    the question and one meaning per level. `direction` says what a high score is.
    """

    name: str
    minimum: float
    maximum: float
    levels: tuple[float, ...]
    direction: Literal["higher_is_worse", "higher_is_better"]
    score_field: str = "score"
    wordings: dict[str, Wording]

    @model_validator(mode="after")
    def _check(self) -> Rubric:
        if len(self.levels) < 2 or list(self.levels) != sorted(set(self.levels)):
            raise ValueError(f"levels must be at least two ascending values, got {list(self.levels)}")
        if not self.minimum == self.levels[0] < self.levels[-1] == self.maximum:
            raise ValueError(
                f"levels must run from minimum {self.minimum} to maximum {self.maximum}, got {list(self.levels)}"
            )
        for language, wording in self.wordings.items():
            if len(wording.anchors) != len(self.levels):
                raise ValueError(
                    f"wordings.{language}.anchors has {len(wording.anchors)} entries for {len(self.levels)} levels"
                )
        return self

    def anchors(self, language: str) -> tuple[Level, ...]:
        """The levels with their meanings in `language`."""
        return tuple(Level(v, m) for v, m in zip(self.levels, self.wordings[language].anchors, strict=True))

    def contains(self, score: float) -> bool:
        """Whether `score` lies on the scale, ends included."""
        return self.minimum <= score <= self.maximum


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

    `details` are the numbers and words that a judge style yields besides (positions, strength, rules fired, ...);
    scores among them are in the rubric's units. docs/judges.md lists them.
    """

    kind: Literal["verdict"] = "verdict"
    score: float
    raw_score: float | None = None
    distribution: ScoreDistribution | None = None
    interval: tuple[float, float] | None = None
    confidence: float | None = Field(default=None, ge=0, le=100)
    confidence_source: Literal["stated", "entropy", "procedure", "none"] = "none"
    uncertainty: Literal["low", "medium", "high"] | None = None
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
    """One result for one item: the outcome, what it cost, where it comes from and the raw exchange."""

    item_id: str
    repeat: int = 0
    judge: str
    outcome: Annotated[Verdict | Failure, Field(discriminator="kind")]
    cost: Cost
    provenance: Provenance
    calls: tuple[Call, ...] = ()

    @property
    def score(self) -> float | None:
        """The score, or None where the judge failed."""
        return self.outcome.score if isinstance(self.outcome, Verdict) else None
