"""Words the question: a prompt variant, the fixed sentences of its language, and what they say of a
rubric."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field, model_validator

from undogmatic.config import groups
from undogmatic.config.build import build
from undogmatic.errors import ConfigError
from undogmatic.records.limits import LARGEST_SEED
from undogmatic.records.records import Record, digest
from undogmatic.records.rubric import NumericScale, Rubric


class FixedWords(Record):
    """The fixed sentences around every prompt in one language; each file in `conf/language/` is
    one."""

    scale: str
    scale_in_steps: str
    categories: str
    fence: str
    fences: str
    fence_name: str
    json_only: str = Field(alias="json")
    rationale: str
    reason_first: str
    level: str
    letter: str
    retry: str
    empty: str
    text: str
    answer: str


def language(code: str) -> FixedWords:
    """The fixed sentences of a language. Raises ConfigError naming those that exist."""
    return _language(code, groups.state("language"))


@functools.lru_cache(maxsize=32)
def _language(code: str, state: tuple[tuple[str, int, int], ...]) -> FixedWords:
    """Read the file of a language: each predictor asks for its sentences, and reading takes
    milliseconds. `state` is that of the files, so that one which was changed meanwhile is read
    again."""
    words: FixedWords = build(
        groups.plain("language", code, "prompt.language"), f"language={code}"
    )
    return words


class Demonstration(Record):
    """A worked example: what is judged and the answer it should get. `text` is short for one input
    of that name."""

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["score", "rationale"],
            "additionalProperties": {"type": "string"},
        }
    )
    inputs: dict[str, Annotated[str, Field(min_length=1)]] = Field(min_length=1)
    score: float | str
    confidence: float = Field(default=90, ge=0, le=100)
    rationale: str = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or "text" not in fields:
            return fields
        return {key: value for key, value in fields.items() if key != "text"} | {
            "inputs": {"text": fields["text"]}
        }


NUMBER = "number"
"""The sentence of `readout=integers` that asks for a whole number; a wrapper may replace it."""
FILLED = {
    NUMBER: {"low", "high"},
    "scale": {"low", "high"},
    "scale_in_steps": {"low", "high", "step"},
    "json": {"form"},
    "level": {"labels"},
    "letter": {"labels"},
    "retry": {"reason"},
}
"""What is put into a fixed sentence, where it has the place for it."""


class Prompt(Record):
    """A prompt variant; each file in `conf/prompt/` is one.

    With `follows_item`, a text whose dataset says that it is in another language is asked about in
    that language. A prompt with instructions or demonstrations of its own speaks its own language
    whatever the text is in.
    """

    id: str  # its name in tables and judgments
    language: str  # which wording of the rubric, and which fixed sentences, it uses
    # None: the rubric's own sentence on its domain
    instructions: str | None = Field(default=None, min_length=1)
    # the rubric that the demonstrations were written for; None: any
    rubric: str | None = None
    anchors: bool = True  # whether the rubric's guide is shown
    reasoning: bool = False  # whether the rationale is asked for before the numbers
    # worked examples, in this order
    demonstrations: tuple[Demonstration, ...] = Field(default=(), max_length=1000)
    # else the number of a fixed shuffle
    demo_order: int | None = Field(default=None, ge=0, le=LARGEST_SEED)
    # how many of them are shown; None: all
    demo_count: int | None = Field(default=None, ge=0, le=1000)
    # so many labelled rows of the run's data become such
    examples: int | None = Field(default=None, ge=2, le=100)
    examples_from: Mapping[
        str, Any
    ] = {}  # keys of that dataset which differ where the rows are taken
    follows_item: bool = True
    # its own fixed sentences, by language and name, in place of those of the language; the rubric's
    # sentence on its domain is left out then
    wrapper: Mapping[str, Mapping[str, str]] = {}

    brings_program: ClassVar[bool] = False
    """Whether instructions and demonstrations of its own are put into the judge's predictors once
    that is built."""

    def adapt(self, judge: Any, key: str) -> None:
        """Change a judge that was built with this prompt; `key` is the judge's, for messages.
        Raises ConfigError."""

    @property
    def words(self) -> FixedWords:
        words, own = language(self.language), self.wrapper.get(self.language, {})
        # `json` is a field of that name in files, and a method of records
        fields = {
            "json_only" if name == "json" else name: said for name, said in own.items()
        }
        fields.pop(NUMBER, None)
        return words.model_copy(update=fields)

    def number(self, sentence: str) -> str:
        """The sentence that asks for a whole number: its own, else this one."""
        return self.wrapper.get(self.language, {}).get(NUMBER, sentence)

    def _check_wrapper(self) -> None:
        if not self.wrapper:
            return
        if self.language not in self.wrapper:
            raise ConfigError(
                f"prompt={self.id} has no `wrapper` in {self.language!r} (it has:"
                f" {', '.join(self.wrapper)}). Add `prompt.wrapper.{self.language}`, or set"
                f" prompt.language to one of these."
            )
        known = {
            field.alias or name for name, field in FixedWords.model_fields.items()
        } | {NUMBER}
        for name, said in self.wrapper[self.language].items():
            key = f"`prompt.wrapper.{self.language}.{name}`"
            if name not in known:
                raise ConfigError(
                    f"{key} is no fixed sentence. They are: {', '.join(sorted(known))}."
                )
            allowed = FILLED.get(name, set())
            try:
                places = {
                    place
                    for _, place, _, _ in Formatter().parse(said)
                    if place is not None
                }
            except ValueError as error:
                raise ConfigError(f"{key} is {said!r}: {error}.") from None
            needed = allowed if name == "json" else set()
            # in sentences that nothing is put into, braces are braces
            if (allowed and not places <= allowed) or not needed <= places:
                options = ", ".join(f"{{{place}}}" for place in sorted(allowed))
                verb = "must hold" if needed else "may hold only"
                raise ConfigError(f"{key} is {said!r}; it {verb} {options} in braces.")

    def check(self, rubric: Rubric) -> None:
        """Raise ConfigError unless it can put the questions of this rubric."""
        self._check_wrapper()
        if self.language not in rubric.wordings:
            raise ConfigError(
                f"prompt={self.id} is in {self.language!r}, but rubric={rubric.name} has no wording"
                f" in it (it has: {', '.join(rubric.wordings)})."
            )
        if self.rubric is not None and self.rubric != rubric.name:
            raise ConfigError(
                f"prompt={self.id} shows worked examples of rubric={self.rubric}, and this run"
                f" judges by rubric={rubric.name}: they would teach another scale. Write a prompt"
                f" with examples of your own (`demonstrations`, `rubric: {rubric.name}`), or take"
                f" one without: prompt=anchored_{self.language}."
            )
        if self.examples is not None and not self.demonstrations:
            raise ConfigError(
                f"`prompt.examples` is {self.examples}, and they are taken for the run's own prompt"
                f" alone. Write the examples of prompt={self.id} into its file (`demonstrations`),"
                " or set its `examples` to null."
            )
        lacking = rubric.optional if rubric.partial else ()
        shows = ", ".join(rubric.inputs)
        for n, demo in enumerate(self.demonstrations):
            where = f"prompt={self.id}: `demonstrations[{n}]"
            if missing := [
                name
                for name in rubric.inputs
                if name not in demo.inputs and name not in lacking
            ]:
                raise ConfigError(
                    f"{where}` lacks `{missing[0]}`; rubric={rubric.name} shows {shows}."
                )
            if unknown := [name for name in demo.inputs if name not in rubric.inputs]:
                raise ConfigError(
                    f"{where}.inputs.{unknown[0]}` is no input of rubric={rubric.name} ({shows}),"
                    " so no model would see it. Correct its name, or take it out."
                )
            try:
                rubric.scale.read(demo.score)
            except ValueError as error:
                raise ConfigError(
                    f"{where}.score` {error}, the scale of rubric={rubric.name}."
                ) from None
        if self.demo_count is not None and self.demo_count > len(self.demonstrations):
            raise ConfigError(
                f"`prompt.demo_count` is {self.demo_count}, and prompt={self.id} has"
                f" {len(self.demonstrations)} demonstrations. Give a smaller number, or null for"
                " all."
            )

    def in_language(self, code: str) -> Prompt | None:
        """This prompt in another language, or None where it has words of its own or does not follow
        the item."""
        own_words = (
            self.instructions is not None or self.demonstrations or self.brings_program
        )
        unworded = bool(self.wrapper) and code not in self.wrapper
        if own_words or unworded or not self.follows_item or code == self.language:
            return None
        return self.model_copy(
            update={"language": code, "id": f"{self.id} (in {code})"}
        )

    def shown(self) -> tuple[Demonstration, ...]:
        """The demonstrations in the order in which the model sees them."""
        shown = self.demonstrations
        if self.demo_order is not None:
            shown = tuple(random.Random(self.demo_order).sample(shown, len(shown)))
        return shown[: self.demo_count]

    def hash(self, rubric: Rubric) -> str:
        """SHA-256 of everything that reaches the model: this prompt, the rubric's wording and the
        fixed sentences."""
        newer: dict[str, Any] = {
            "demo_count": None,
            "follows_item": True,
            "wrapper": {},
        }
        unset = {
            name for name, default in newer.items() if getattr(self, name) == default
        }
        own = self.model_dump(
            mode="json", exclude={"id", "examples", "examples_from"} | unset
        )
        judged_by = rubric.model_dump(mode="json", exclude={"optional", "field_words"})
        return digest([own, judged_by, self.words.model_dump(mode="json")])

    def task(self, rubric: Rubric) -> str:
        domain = "" if self.wrapper else rubric.wordings[self.language].domain
        return (self.instructions or domain).strip()

    def definition(self, rubric: Rubric) -> str:
        """What is measured, and the question; in prose where the guide is not shown and the rubric
        has it so."""
        wording = rubric.wordings[self.language]
        prose = "" if self.anchors else wording.prose
        return "\n".join(
            part.strip()
            for part in (wording.definition, prose, wording.question)
            if part.strip()
        )

    def scale(self, rubric: Rubric) -> str:
        """The scale in words, with the guide's meanings where the prompt shows them."""
        words, scale, guided = self.words, rubric.scale, []
        if self.anchors:
            listed = rubric.guided(self.language)
            shown = rubric.shown_examples(self.language)
            guided += [
                _with_examples(f"{name} = {meaning}", examples)
                for (name, meaning), examples in zip(listed, shown, strict=True)
            ]
            guided += [
                f"- {distinction}"
                for distinction in rubric.wordings[self.language].distinctions
            ]
        if not isinstance(scale, NumericScale):
            names = scale.categories[::-1] if rubric.from_top else scale.categories
            return "\n".join([words.categories, *(guided or names)])
        ends = {"low": f"{scale.minimum:g}", "high": f"{scale.maximum:g}"}
        step = "" if scale.step is None else f"{scale.step:g}"
        return "\n".join(
            [
                (words.scale_in_steps if step else words.scale).format(
                    **ends, step=step
                ),
                *guided,
            ]
        )

    def level_lines(self, rubric: Rubric) -> str:
        """The levels by their labels, one a line: "0 = ..."."""
        labels, meanings = rubric.labels, rubric.meanings(self.language)
        if self.anchors:
            shown = rubric.level_examples(self.language)
            meanings = [
                _with_examples(meaning, examples)
                for meaning, examples in zip(meanings, shown, strict=True)
            ]
        return (
            lines(labels[::-1], meanings[::-1])
            if rubric.from_top
            else lines(labels, meanings)
        )


def _with_examples(meaning: str, examples: Sequence[str]) -> str:
    """A meaning with its examples below it, each in quotes on a line of its own."""
    return "\n".join([meaning, *(f'  "{" ".join(text.split())}"' for text in examples)])


def lines(labels: tuple[str, ...], meanings: list[str]) -> str:
    """Labels and what they mean, one a line."""
    return "\n".join(
        f"{label} = {meaning}" for label, meaning in zip(labels, meanings, strict=True)
    )
