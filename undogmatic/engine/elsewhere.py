"""Judgments that were made elsewhere, in the place of recipe and engine: they are noted in the run's journal as if they
had just been made, and all that follows (table, analyses, report, tracking, resuming) is that of any run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from undogmatic.engine.journal import Journals
from undogmatic.engine.judging import JudgeStep
from undogmatic.engine.recipe import Parts
from undogmatic.errors import ConfigError
from undogmatic.judges.base import Judge, Source
from undogmatic.models.base import Nobody
from undogmatic.readouts.base import Readout
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Judgment, Made
from undogmatic.records.rubric import Rubric

NAME = "elsewhere"
"""What stands for the model in tables of runs."""


class NamedJudge(Judge):
    """A judge of which only the name and the criteria are known; it cannot be asked.

    Args:
        name: As its judgments bear it.
        criteria: What it said something of.
        rubric: The scale of its scores here.
    """

    def __init__(self, name: str, criteria: Sequence[str], rubric: Rubric) -> None:
        super().__init__()
        self.name, self.criteria, self.rubric = name, tuple(criteria), rubric

    def readouts(self) -> Sequence[Source]:
        """None."""
        return ()


class Elsewhere:
    """Recipe and engine of a run that asks nobody.

    Args:
        judgments: What was said, of one or more judges.
        rubric: The scale that it is on.
    """

    def __init__(self, judgments: Sequence[Judgment], rubric: Rubric) -> None:
        self.judgments, self.rubric = tuple(judgments), rubric

    def build(self) -> Parts:
        """Judges by name, without anything that could be asked."""
        criteria: dict[str, dict[str, None]] = {}
        for judgment in self.judgments:
            criteria.setdefault(judgment.judge, {})[judgment.criterion] = None
        where = {judgment.judge: judgment.provenance for judgment in self.judgments}
        judges = [JudgeStep(NamedJudge(name, list(own), self.rubric), where[name]) for name, own in criteria.items()]
        prompt = Prompt(id="none", language=next(iter(self.rubric.wordings)))
        return Parts(self.rubric, prompt, Nobody(NAME), cast(Readout, None), tuple(judges), asks=False)

    def repeats(self, asked: int) -> int:
        """How often items were judged at most. Raises ConfigError where `run.repeats` asks for something else."""
        there = 1 + max((judgment.repeat for judgment in self.judgments), default=0)
        if asked not in (1, there):
            raise ConfigError(
                f"`run.repeats` is {asked}, and the judgments were made elsewhere, {there} for an item at most; nobody "
                "is asked again. Leave run.repeats out."
            )
        return there

    async def arun(
        self,
        recipe: Any,
        items: Sequence[Item],
        journals: Journals,
        repeats: int = 1,
        each: Callable[[Judgment | Made], None] | None = None,
    ) -> None:
        """Note in the journal what it does not hold yet."""
        kept = {item.id for item in items}
        with journals:
            for judgment in self.judgments:
                if judgment.item_id in kept and judgment.key not in journals.judgments.done:
                    record = journals.append(judgment)
                    if each is not None:
                        each(record)
