"""Reads an optimised program from MLflow's prompt registry as the prompt of a run
(`prompt.registry=NAME`).

Apart from `registry`, so that what only logs runs need not load DSPy.
"""

from undogmatic.engine.programs import UNNAMED_PROGRAM, Program, ProgramPrompt, parse
from undogmatic.errors import ConfigError
from undogmatic.tracking import registry


class RegisteredPrompt(ProgramPrompt):
    """The program of a file, or one of the prompt registry."""

    registry: str | None = None  # its name there; None where it is a file
    # which version there: `best`, `baseline`, another alias, or a number
    alias: str = "best"
    uri: str | None = None  # the MLflow store; None: mlruns/mlflow.db here

    def read(self) -> Program:
        """The program. Raises ConfigError where none is named, or it cannot be read."""
        if self.registry is None:
            return super().read()
        if self.path is not None or self.shipped is not None:
            raise ConfigError(UNNAMED_PROGRAM)
        text = registry.read(self.uri, self.registry, self.alias)
        return parse(text, f"prompt {self.registry} ({self.alias})")
