"""Defines what an agent or a conversation did, step by step: a run is a `Trace` of `Step`s.

Every reader of another tool's traces makes these records, and our own files hold them, a JSON
object for each run on a line of its own. A step's `run` and `place` follow from where it stands,
so that a file does not repeat them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from undogmatic.records.records import OVERALL, Label, Metadata, Name, Record, Text

StepKind = Literal["user", "assistant", "tool_call", "tool_result", "other"]
KINDS: tuple[StepKind, ...] = ("user", "assistant", "tool_call", "tool_result", "other")


class Step(Record):
    """One step of a run: a message, the call of a tool, what the tool gave back, or another event.

    Attributes:
        run: The id of the run.
        place: Where it stands in the run, from 0.
        parent: The place of the step that it follows from, always an earlier one: of a result its
            call. None: the file does not say, or it is the first.
        kind: Who or what acted; `other` for what is none of these, such as a system message.
        name: Of the tool, for a call and a result; of another step what it is.
        text: What was said, the arguments as JSON, or the result. None: the file does not hold it;
            "" is an empty text.
        error: Whether it failed.
        seconds: How long it took. `tokens`: How many its model used. `time`: When it began, in
            Unix seconds. None of them is guessed.
    """

    run: Name = Field(min_length=1)
    place: int = Field(ge=0)
    kind: StepKind
    text: Text | None = None
    name: Name | None = None
    parent: int | None = Field(default=None, ge=0)
    error: bool = False
    seconds: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    time: float | None = None

    @model_validator(mode="after")
    def _order(self) -> Step:
        # Whoever follows parents must come to an end: two steps that follow from each
        # other would be a ring.
        if self.parent is not None and self.parent >= self.place:
            raise ValueError(
                f"its parent is {self.parent}, which does not stand before it"
            )
        return self

    def replace(self, **fields: Any) -> Step:
        """A copy with other values of these fields, checked like a new one."""
        return Step(**dict(self) | fields)


class Assessment(Record):
    """What a judge or a person said of a run, or of one step of it.

    Attributes:
        by: The judge, or the person.
        person: Whether a person said it, so that it is a label.
        value: What was said; None: the judge failed, for a `reason`.
        step: The place of the step that it is about; None: the whole run.
    """

    by: Name = Field(min_length=1)
    value: Label | None = None
    person: bool = False
    criterion: Name = Field(default=OVERALL, min_length=1)
    step: int | None = Field(default=None, ge=0)
    reason: Text | None = None


class Trace(Record):
    """One run of an agent, or one conversation.

    Attributes:
        run: Its id.
        task: What it was asked to do, where that is known.
        steps: What happened, in order.
        success: How it ended, where something other than a judge knows: a label of the whole run.
        assessments: What judges and people said of it.
        metadata: Other facts about it. An edited run names the run that it was made from as
            `parent`.
    """

    run: Name = Field(min_length=1)
    task: Text | None = None
    steps: tuple[Step, ...] = ()
    success: Label | None = None
    assessments: tuple[Assessment, ...] = ()
    metadata: Metadata = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, given: Any) -> Any:
        """Give the steps of a file, which are mappings, their run and their places."""
        if not isinstance(given, dict) or not isinstance(
            given.get("steps"), list | tuple
        ):
            return given
        steps = [
            {"run": given.get("run"), "place": place, **step}
            if isinstance(step, dict)
            else step
            for place, step in enumerate(given["steps"])
        ]
        return given | {"steps": tuple(steps)}

    @model_validator(mode="after")
    def _fits(self) -> Trace:
        for place, step in enumerate(self.steps):
            if step.run != self.run or step.place != place:
                raise ValueError(
                    f"step {place} says that it is step {step.place} of the run {step.run!r}"
                )
        for said in self.assessments:
            if said.step is not None and said.step >= len(self.steps):
                raise ValueError(
                    f"an assessment is of step {said.step}, which does not exist"
                )
        return self

    def replace(self, **fields: Any) -> Trace:
        """A copy with other values of these fields, checked like a new one."""
        return Trace(**dict(self) | fields)

    def with_steps(self, steps: Iterable[Step], run: str | None = None) -> Trace:
        """A copy with these steps in their order, whose places are counted anew.

        A step may be left out, repeated, moved, edited or come from elsewhere. A parent is looked
        for by its old place among the steps before; where it is gone the step has none. What was
        assessed was another run, so the copy has no assessments and no known success.
        """
        name = self.run if run is None else run
        now = dict[int, int]()
        made = list[Step]()
        for place, step in enumerate(steps):
            parent = None if step.parent is None else now.get(step.parent)
            made.append(step.replace(run=name, place=place, parent=parent))
            now[step.place] = place
        return self.replace(run=name, steps=tuple(made), assessments=(), success=None)

    def calls(self) -> Counter[str]:
        """How often each tool was called."""
        return Counter(
            step.name or "" for step in self.steps if step.kind == "tool_call"
        )

    def line(self) -> str:
        """The run as a line of our own files: JSON without what follows from where it stands, and
        without what is not known."""
        form = self.model_dump(mode="json", exclude_defaults=True)
        for step in form.get("steps", ()):
            del step["run"], step["place"]
        form["steps"] = form.pop("steps", [])  # At the end, behind what is short
        return json.dumps(form, ensure_ascii=False)


def as_jsonl(traces: Iterable[Trace]) -> Iterator[str]:
    """The lines of a file of these runs, each with its line break."""
    for trace in traces:
        yield trace.line() + "\n"
