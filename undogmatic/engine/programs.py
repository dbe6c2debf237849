"""Keeps a judge's program as a file (the instructions and demonstrations of each predictor, and
where they come from) and reads one as the prompt of a run: `prompt=program`.

Plain JSON with a digest over everything else in it. It is read as data; nothing of it is run.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import dspy
import pandas as pd
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from undogmatic.errors import ConfigError, DataError
from undogmatic.judges.base import Judge
from undogmatic.readouts.adapter import lacking
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Record, digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import Unreadable, brief, json_value, read_text
from undogmatic.safety.paths import data_folder

UNNAMED_PROGRAM = (
    "prompt=program reads one program: name its file (prompt.path=outputs/.../program.json) or its"
    " name in the prompt registry (prompt.registry=NAME prompt.alias=best)."
)
_SHOWN = ("text", "score", "level", "confidence", "rationale")


class Predictor(Record):
    """What an optimiser may change of a predictor. `signature` is a hash of its fields, which it
    may not. Of the demonstrations `nearest` are shown, those most like what is judged; None: all.
    """

    signature: str
    instructions: str = Field(max_length=100_000)
    demonstrations: tuple[dict[str, Any], ...] = Field(default=(), max_length=1000)
    # programs were made before they held it
    nearest: int | None = Field(default=None, ge=1, exclude_if=lambda n: n is None)


class Lineage(Record):
    """Where a program comes from."""

    parent: str  # the prompt that it was made from
    optimizer: str
    metric: str
    seed: int
    data: str  # a hash of the texts of both sides
    # what the program that it was made from, and it, reached on validation texts
    before: float | None = None
    after: float | None = None
    # marks (`records.text_mark`) of those that it, or what it was made from, has seen
    texts: tuple[str, ...] = ()


class Program(Record):
    """What `prompt=program` reads. `rubric_digest` holds the scale and wording that it was made
    for."""

    format: Literal[1] = 1
    kind: Literal["undogmatic.program"] = "undogmatic.program"
    name: str
    judge: str
    readout: str
    language: str
    rubric: str
    rubric_digest: str
    model: str
    predictors: dict[str, Predictor] = Field(min_length=1)
    lineage: Lineage

    @property
    def digest(self) -> str:
        """SHA-256 of all of it."""
        return str(self.whole()["digest"])

    def text(self) -> str:
        """The file's content."""
        return json.dumps(self.whole(), indent=1, ensure_ascii=False) + "\n"

    def whole(self) -> dict[str, Any]:
        """What the file holds: all of it, and its digest."""
        whole = self.model_dump(mode="json")
        if not self.lineage.texts:  # as of a prompt that somebody wrote
            del whole["lineage"]["texts"]
        return whole | {"digest": digest(whole)}

    def put_into(self, judge: Judge, key: str) -> None:
        """Give a judge of this rubric, whose key is `key`, these instructions and demonstrations.
        Raises ConfigError where it has other predictors, or predictors with other fields, or a
        demonstration lacks what it needs to be shown."""
        asked = {
            name: signature_hash(predictor)
            for name, predictor in judge.named_predictors()
        }
        made = {name: stored.signature for name, stored in self.predictors.items()}
        # Instructions for other fields would be asked for in good faith and answered
        # beside the point: nothing of it would look like an error.
        if asked != made:
            other = sorted(
                name
                for name in asked.keys() | made.keys()
                if asked.get(name) != made.get(name)
            )
            raise ConfigError(
                f"the program {self.name} was made for another signature: judge={self.judge} with"
                f" readout={self.readout} on {self.model}; `{key}` differs from it in"
                f" {', '.join(other[:3]) or 'all'}. Use that judge, readout and kind of model, or"
                " optimise anew for this one."
            )
        for name, predictor in judge.named_predictors():
            stored = self.predictors[name]
            predictor.signature = predictor.signature.with_instructions(
                stored.instructions or " "
            )
            for n, demo in enumerate(stored.demonstrations):
                if missing := lacking(predictor.signature, demo):
                    raise ConfigError(
                        f"the program {self.name}: `predictors.{name}.demonstrations[{n}]` lacks"
                        f" {', '.join(missing)}, so it cannot be shown. Complete it, or take it out"
                        " of the file."
                    )
            predictor.demos = [
                dspy.Example(**demo).with_inputs(*judge.rubric.inputs)
                for demo in stored.demonstrations
            ]
            if stored.nearest is not None:
                predictor.nearest = stored.nearest
        # Texts that a program was chosen by flatter it, so whoever examines the judge
        # must know them.
        judge.weighed_on = judge.weighed_on | frozenset(self.lineage.texts)


def rubric_digest(rubric: Rubric) -> str:
    """Hash of what a rubric means and says."""
    return digest(
        rubric.model_dump(
            # Another margin, or other words that are counted, change how scores are
            # examined and not what is asked.
            mode="json",
            exclude={"margin", "rivals", "optional", "field_words"},
        )
    )


def signature_hash(predictor: dspy.Predict) -> str:
    """Hash of a predictor's fields, as our adapter reads them: neither the instructions, nor the
    prefixes that only DSPy's own adapters write."""
    fields = []
    for name, field in predictor.signature.fields.items():
        marks = {
            key: repr(value)
            for key, value in (field.json_schema_extra or {}).items()
            if key != "prefix"
        }
        fields.append([name, str(field.annotation), marks])
    return digest(fields)


def predictors(judge: Judge) -> dict[str, Predictor]:
    """What a judge's predictors say and show, by name. Of a demonstration what was judged and what
    is answered, as JSON holds it; what an optimiser noted beside (such as log-probabilities) is
    left out, and so are the fixed texts that the readout adds itself."""
    by_name = {}
    for name, predictor in judge.named_predictors():
        signature, demonstrations = predictor.signature, []
        answers = {
            field
            for field in (*signature.fields, *_SHOWN)
            if not field.startswith("the_")
        }
        for demo in (
            dict(demo) for demo in predictor.demos if not lacking(signature, dict(demo))
        ):
            kept = {
                key: value.model_dump(mode="json")
                if hasattr(value, "model_dump")
                else value
                for key, value in demo.items()
                if key in answers or key in judge.rubric.inputs
            }
            demonstrations.append(
                json_value(json.dumps(kept, ensure_ascii=False, default=str))
            )
        by_name[name] = Predictor(
            signature=signature_hash(predictor),
            instructions=signature.instructions,
            demonstrations=tuple(demonstrations),
            nearest=getattr(predictor, "nearest", None),
        )
    return by_name


def load(path: Path, key: str = "prompt.path") -> Program:
    """Read a program. Raises ConfigError where there is none, or it is not as it was written."""
    if not path.is_file():
        raise ConfigError(
            f"`{key}` is {str(path)!r}, which does not exist. An optimisation leaves program.json"
            " in the run's folder."
        )
    try:
        return parse(read_text(path), str(path))
    except DataError as error:
        raise ConfigError(f"`{key}`: {error}") from None


def parse(text: str, place: str) -> Program:
    """A program from its text. Raises ConfigError naming the place."""
    try:
        data = json_value(text)
    except Unreadable as error:
        raise ConfigError(
            f"{error.at(place)} A program is the JSON file that an optimisation wrote."
        ) from None
    if not isinstance(data, dict) or data.get("kind") != "undogmatic.program":
        raise ConfigError(
            f"{place} is no program: an optimisation writes one as program.json."
        )
    noted = data.pop("digest", None)
    try:
        program = Program.model_validate(data)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise ConfigError(
            f"{place} is no program of this version: `{where}`: {problem['msg']}."
        ) from None
    if noted != program.digest:
        raise ConfigError(
            f"{place} was changed after it was written: its digest is {brief(noted)}, and its"
            f" content has {program.digest[:12]}.... Take the file that the optimisation wrote, or"
            " write a prompt of your own in conf/prompt/ instead."
        )
    return program


def changes(
    before: Mapping[str, Predictor], after: Mapping[str, Predictor]
) -> pd.DataFrame:
    """What an optimiser changed: `predictor`, `part` ("instructions", line by line where they
    differ, and then "demonstrations"), `change` ("removed", "added" or "kept") and `text`."""
    marks, rows = {"- ": "removed", "+ ": "added", "  ": "kept"}, []
    for name, new in after.items():
        old = before[name]
        instructions = (old.instructions.splitlines(), new.instructions.splitlines())
        parts = (
            {"instructions": instructions}
            if old.instructions != new.instructions
            else {}
        )
        parts["demonstrations"] = (
            [*map(_line, old.demonstrations)],
            [*map(_line, new.demonstrations)],
        )
        for part, sides in parts.items():
            lines = [(line[:2], line[2:]) for line in difflib.ndiff(*sides)]
            rows += [
                (name, part, marks[mark], text)
                for mark, text in lines
                if mark in marks and text.strip()
            ]
    return pd.DataFrame(rows, columns=["predictor", "part", "change", "text"])


def _line(demo: Mapping[str, Any]) -> str:
    """A demonstration on one line: its answer, then what it judges."""
    answer = (
        f"level {demo['level']}" if "level" in demo else f"label {demo.get('score')}"
    )
    inputs = [str(v) for k, v in demo.items() if k not in _SHOWN or k == "text"]
    return f"[{answer}] {' '.join(' / '.join(inputs).split())}"


class ProgramPrompt(Prompt):
    """A prompt whose instructions and demonstrations are those of an optimised program."""

    brings_program: ClassVar[bool] = True
    id: str = "program"
    language: str = ""
    path: str | None = None  # the file; None where it ships
    # its name under data/programs; None where it is elsewhere
    shipped: str | None = None
    _program: Program = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> ProgramPrompt:
        program = self.read()
        named = {} if self.shipped is not None else {"id": program.name}
        for name, value in {
            "_program": program,
            "language": program.language,
            **named,
        }.items():
            object.__setattr__(self, name, value)
        return self

    def read(self) -> Program:
        """The program. Raises ConfigError where none is named, or it cannot be read."""
        if (self.path is None) == (self.shipped is None):
            raise ConfigError(UNNAMED_PROGRAM)
        if self.shipped is not None:
            return load(
                data_folder() / "programs" / f"{self.shipped}.json", "prompt.shipped"
            )
        return load(Path(str(self.path)))

    @property
    def program(self) -> Program:
        """What was read."""
        return self._program

    def check(self, rubric: Rubric) -> None:
        """Raise ConfigError for another rubric than the program was made for."""
        if rubric.name != self.program.rubric:
            raise ConfigError(
                f"the program {self.program.name} was made for rubric={self.program.rubric}, and"
                f" this run judges by rubric={rubric.name}. Use that rubric, or optimise anew for"
                " this one."
            )
        if rubric_digest(rubric) != self.program.rubric_digest:
            raise ConfigError(
                f"rubric={rubric.name} was changed since the program {self.program.name} was made"
                " for it (its scale, guide or wording). Optimise anew."
            )
        super().check(rubric)

    def hash(self, rubric: Rubric) -> str:
        """SHA-256 of everything that reaches the model."""
        parts = [
            predictor.model_dump(mode="json")
            for _, predictor in sorted(self.program.predictors.items())
        ]
        shown = rubric.model_dump(mode="json", exclude={"optional", "field_words"})
        return digest([parts, shown, self.words.model_dump(mode="json")])

    def adapt(self, judge: Any, key: str) -> None:
        """Put instructions and demonstrations into the judge's predictors."""
        self.program.put_into(judge, key)
