"""`prompt=program`: what an optimisation found, from its file or from the prompt registry, as a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, PrivateAttr, model_validator

from undogmatic.errors import ConfigError
from undogmatic.optimize.programs import Program, load, parse, rubric_digest
from undogmatic.readouts.prompts import Prompt
from undogmatic.records.records import digest
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import data_folder


class ProgramPrompt(Prompt):
    """A prompt whose instructions and demonstrations are those of an optimised program.

    Attributes:
        path: The file; None where it is in the registry or ships.
        shipped: Its name under data/programs; None where it is elsewhere.
        registry: Its name in MLflow's prompt registry.
        alias: Which version there: `best`, `baseline`, another alias, or a number.
        uri: The MLflow store; None: mlruns/mlflow.db here.
    """

    brings_program: ClassVar[bool] = True
    id: str = "program"
    language: str = ""
    path: str | None = None
    shipped: str | None = None
    registry: str | None = None
    alias: str = "best"
    uri: str | None = None
    program_digest: str = Field(default="", exclude=True)
    _program: Program = PrivateAttr()

    @model_validator(mode="after")
    def _read(self) -> ProgramPrompt:
        if [self.path, self.shipped, self.registry].count(None) != 2:
            raise ConfigError(
                "prompt=program reads one program: name its file (prompt.path=outputs/.../program.json) or its name in "
                "the prompt registry (prompt.registry=NAME prompt.alias=best)."
            )
        if self.shipped is not None:
            found = load(data_folder() / "programs" / f"{self.shipped}.json", "prompt.shipped")
        elif self.path is not None:
            found = load(Path(self.path))
        else:
            from undogmatic.tracking.registry import read

            assert self.registry is not None
            found = parse(read(self.uri, self.registry, self.alias), f"prompt {self.registry} ({self.alias})")
        object.__setattr__(self, "_program", found)
        object.__setattr__(self, "language", found.language)
        if self.shipped is None:
            object.__setattr__(self, "id", found.name)
        return self

    @property
    def program(self) -> Program:
        """What was read."""
        return self._program

    def check(self, rubric: Rubric) -> None:
        """Raise ConfigError for another rubric than the program was made for."""
        if rubric.name != self.program.rubric:
            raise ConfigError(
                f"the program {self.program.name} was made for rubric={self.program.rubric}, and this run judges by "
                f"rubric={rubric.name}. Use that rubric, or optimise anew for this one."
            )
        if rubric_digest(rubric) != self.program.rubric_digest:
            raise ConfigError(
                f"rubric={rubric.name} was changed since the program {self.program.name} was made for it (its scale, "
                "guide or wording). Optimise anew."
            )
        super().check(rubric)

    def hash(self, rubric: Rubric) -> str:
        """SHA-256 of everything that reaches the model."""
        parts = [self.program.predictors[name].model_dump(mode="json") for name in sorted(self.program.predictors)]
        whole = [
            parts,
            rubric.model_dump(mode="json", exclude={"optional", "field_words"}),
            self.words.model_dump(mode="json"),
        ]
        return digest(whole)

    def adapt(self, judge: Any, key: str) -> None:
        """Put instructions and demonstrations into the judge's predictors."""
        self.program.put_into(judge, key)
