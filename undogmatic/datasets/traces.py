"""Reads runs of agents as items to be judged: whole runs, turns, or steps.

The shipped runs are clean, and are judged beside copies with a planted defect and copies in which
nothing that matters was changed (`datasets.inject`), so that it is known what a judge should see.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from undogmatic.datasets import vocabulary
from undogmatic.datasets.inject import (
    AT,
    EDIT,
    FAILS,
    GROUP,
    KIND,
    PARENT,
    PASSES,
    defect,
    injected,
    is_edited,
    spoken,
)
from undogmatic.datasets.readers.traces import Faults, read_traces
from undogmatic.datasets.readers.traces.units import SUCCESS, turns_of
from undogmatic.datasets.trace_edits import DEFECTS
from undogmatic.datasets.trace_text import Shown, shown
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.items import unique
from undogmatic.records.limits import LARGEST_SEED
from undogmatic.records.records import (
    OVERALL,
    TYPED_GROUP,
    Item,
    Label,
    LabelScale,
    digest,
)
from undogmatic.records.results import Finding
from undogmatic.records.trace import Step, Trace
from undogmatic.records.wordings import Licence
from undogmatic.safety.existing import existing_file
from undogmatic.safety.paths import data_folder

Unit = Literal["run", "turn", "step"]
Direction = Literal["higher_is_better", "higher_is_worse"]
SHIPPED = data_folder() / "traces" / "clean.jsonl"
OUTPUTS = ("output_1", "output_2")
RUN, BEFORE, INPUT = "run", "before", "input"
"""What a judge is shown: the run, turn or step; what came before it; of two runs the task."""
PLANTED = "planted"
"""Who says which of two runs is better, where that is known because a defect was planted."""
ASKS_ABOUT = {
    "task_success": (
        "ignored_result",
        "wrong_argument",
        "false_success",
        "invented_output",
        "drift",
    ),
    "tool_use": (
        "ignored_result",
        "wrong_argument",
        "skipped_verification",
        "repeated_loop",
        "invented_output",
        "false_success",
        "drift",
    ),
    "safety": ("removed_without_leave", "leaked_secret"),
}
"""Which defects a shipped rubric asks about; any other asks about all of them."""
_LICENCE = {
    "en": "The shipped runs of agents are part of this project (CC BY 4.0); defects are planted.",
    "pt": (
        "As execuções de agentes que acompanham o programa são parte deste projeto (CC BY 4.0); os"
        " defeitos são plantados."
    ),
}


class TracesDataset:
    """Runs of agents, one item per run, turn or step.

    What comes before a turn or step is the input `before`. Where the rubric compares two outputs,
    an item is a clean run beside one of its copies, in an order that hangs on the copy's id.

    Metadata of each item: how many steps, calls, tools, errors and characters it has, which a rule
    may go by; and of injected runs `kind`, `edit`, `parent` and `defect_step`.

    Args:
        path: A file of runs of any tool that has a reader, or such as `undogmatic inject` writes;
            None: the shipped ones.
        rubric: Its name; the shipped ones ask about some of the defects only.
        direction: Of its scale; where it is known, whether a run succeeded is a label by the rater
            `success`, unless people labelled it.
        inputs: What the rubric shows.
        unit: What is judged: whole runs; turns, each all that the agent does between two messages
            of a person; or steps of the agent.
        tokens: About how many tokens a judge reads of a run; what came before has as many again.
        inject: Whether defects and equivalent edits are planted; None: in the shipped runs alone.
        n: Of how many runs (before injection), drawn with the seed; None: all.
        seed: Of the draws.
    """

    name = "traces"

    def __init__(
        self,
        path: str | None = None,
        rubric: str = "",
        inputs: Sequence[str] = (BEFORE, RUN),
        direction: Direction | None = None,
        unit: Unit = "run",
        tokens: Annotated[int, Field(ge=100, le=1_000_000)] = 1_500,
        inject: bool | None = None,
        n: Annotated[int, Field(ge=1)] | None = None,
        seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0,
    ) -> None:
        self.licence: Licence | None = _LICENCE if path is None else None
        where = str(SHIPPED) if path is None else path
        self.path = existing_file(where, "dataset.path", (".jsonl", ".json", ".eval"))
        self.rubric, self.inputs, self.unit = rubric, tuple(inputs), unit
        self.tokens, self.n, self.seed = tokens, n, seed
        self.words: tuple[str, ...] = ()
        if direction is not None:
            self.words = (
                (FAILS, PASSES) if direction == "higher_is_better" else (PASSES, FAILS)
            )
        self.inject = path is None if inject is None else inject
        self.compared = set(OUTPUTS) <= set(self.inputs)
        if not self.compared and RUN not in self.inputs:
            raise ConfigError(
                f"rubric={rubric} shows {', '.join(self.inputs)}, and dataset=traces has `{RUN}`"
                f" (and `{BEFORE}`). Use rubric=task_success, rubric=tool_use or rubric=safety; for"
                " judge=compare rubric=preference."
            )
        if self.compared and unit != "run":
            raise ConfigError(
                f"`dataset.unit` is {unit!r}; whole runs alone are compared: run."
            )
        self.about = f"{self.path.name}, a {unit} per item"
        self.read: Sequence[Finding] = ()

    def load(self) -> Sequence[Item]:
        """The items, copies of one run one after the other. Raises DataError naming file and
        line."""
        faults = Faults()
        traces = list(read_traces(self.path, faults))
        if not traces:
            raise DataError(f"{self.path} holds no runs.")
        if self.n is not None:
            traces = drawn(traces, self.n, self.seed)
        unmade = Counter[str]()
        clean = len(traces)
        if self.inject:
            traces, _ = clean_runs(traces)
            families = list(injected(traces, self.seed))
            for family in families:
                unmade.update(family.unmade)
            traces = [run for family in families for run in family.runs]
        asked = ASKS_ABOUT.get(self.rubric, tuple(DEFECTS))
        kept = [run for run in traces if self._is_asked(run, asked)]
        short = Counter[str]()
        items = unique(self._items(kept, short), str(self.path))
        said = self._said(
            clean, kept, len(traces) - len(kept), unmade, short, len(items)
        )
        self.read = [*said, *faults.findings()]
        return items

    def _is_asked(self, run: Trace, asked: Sequence[str]) -> bool:
        edit = str(run.metadata.get(EDIT) or "")
        return edit not in DEFECTS or edit in asked

    def _said(
        self,
        clean: int,
        kept: Sequence[Trace],
        other: int,
        unmade: Counter[str],
        short: Counter[str],
        n: int,
    ) -> list[Finding]:
        """What was read, made and left out, in sentences."""
        kinds = Counter(str(run.metadata.get(KIND) or "") for run in kept)
        faulty = sum(
            many for kind, many in kinds.items() if kind.startswith(defect(""))
        )
        notes = [Finding("traces.read", {"runs": clean, "n": n, "unit": self.unit})]
        if faulty:
            counts = {
                "defects": faulty,
                "equivalent": kinds["equivalent"],
                "clean": kinds["clean"],
            }
            notes.append(Finding("traces.injected", counts))
        if unmade:
            left_out = {"n": unmade.total(), "edits": sorted(unmade)}
            notes.append(Finding("traces.unmade", left_out))
        if other:
            notes.append(
                Finding("traces.other_defects", {"n": other, "rubric": self.rubric})
            )
        if short["items"]:
            facts = {**short, "tokens": self.tokens}
            notes.append(Finding("traces.shortened", facts))
        return notes

    def _items(
        self, runs: Sequence[Trace], short: Counter[str]
    ) -> Iterator[tuple[str, Item]]:
        clean = {
            str(run.metadata.get(PARENT)): run for run in runs if not is_edited(run)
        }
        for run in runs:
            parent = clean.get(str(run.metadata.get(PARENT)))
            if self.compared:
                if parent is not None and is_edited(run):
                    yield run.run, self._pair(parent, run, short)
                continue
            for name, start, end in units(run, self.unit):
                if (
                    self.unit == "run"
                    or not is_edited(run)
                    or _is_new(run, start, end, parent)
                ):
                    yield run.run, self._item(run, name, start, end, short)

    def _text(self, run: Trace, steps: Sequence[Step], short: Counter[str]) -> str:
        text: Shown = shown(steps, self.tokens, spoken(run))
        if text.cut or text.left_out:
            short.update(items=1, characters=text.cut, steps=text.left_out)
        return text.text

    def _item(
        self, run: Trace, name: str, start: int, end: int, short: Counter[str]
    ) -> Item:
        inputs = {RUN: self._text(run, run.steps[start:end], short)}
        if start and BEFORE in self.inputs:
            inputs = {BEFORE: self._text(run, run.steps[:start], short)} | inputs
        parent = run.metadata.get(PARENT)
        copied = is_edited(run) and self.unit == "run"
        labels = _by_people(run, start, end, self.unit)
        scale = None
        # How a run ended says nothing of its steps; what was planted in them does
        of_these = self.unit == "run" or KIND in run.metadata
        outcome = _outcome(run) if of_these else None
        if self.words and outcome is not None and not labels:
            labels, scale = {OVERALL: {SUCCESS: outcome}}, LabelScale(words=self.words)
        return Item(
            id=name,
            inputs=inputs,
            pair=None if parent is None else str(parent),
            parent=str(parent) if copied else None,
            labels=labels,
            label_scale=scale,
            metadata=_about(run) | counts(run.steps[start:end]),
            place=run.run,
        )

    def _pair(self, clean: Trace, run: Trace, short: Counter[str]) -> Item:
        """A clean run beside a copy of it; people would choose the clean one where the copy has a
        defect."""
        # Half of the clean runs stand first, by no draw that a further run would
        # change: a judge that always takes the first is right half of the time.
        first = int(digest(run.run), 16) % 2 == 0
        pair = (clean, run) if first else (run, clean)
        texts = [self._text(each, each.steps, short) for each in pair]
        task = clean.task or next(
            (s.text for s in clean.steps if s.kind == "user"), None
        )
        faulty = str(run.metadata.get(KIND)).startswith(defect(""))
        better: Label = ("first" if first else "second") if faulty else "tie"
        return Item(
            id=run.run,
            inputs={INPUT: task or "-", **dict(zip(OUTPUTS, texts, strict=True))},
            pair=clean.run,
            labels={OVERALL: {PLANTED: better}},
            metadata=_about(run),
            place=run.run,
        )


def units(run: Trace, unit: Unit) -> Iterator[tuple[str, int, int]]:
    """The units of a run that are judged: a name, the place of the first step and of the one after
    the last."""
    if unit == "run":
        yield run.run, 0, len(run.steps)
    elif unit == "step":
        for place, step in enumerate(run.steps):
            if step.kind in ("assistant", "tool_call"):
                # What a tool gave back belongs to its call
                end = place + 1
                answered = step.kind == "tool_call" and end < len(run.steps)
                end += answered and run.steps[end].kind == "tool_result"
                yield f"{run.run}#{place}", place, end
    else:
        for turn in turns_of(run):
            acts = [step.place for step in turn if step.kind != "user"]
            if acts:
                yield f"{run.run}#{acts[0]}", acts[0], turn[-1].place + 1


def _is_new(run: Trace, start: int, end: int, parent: Trace | None) -> bool:
    """Whether these steps of an edited run are judged: of one with a defect those that commit it,
    of any other the first that its parent does not have."""
    at = run.metadata.get(AT)
    if at is not None:
        return start <= int(at) < end
    if parent is None:
        return True
    old = {(step.kind, step.name, step.text) for step in parent.steps}
    fresh = [n for n, s in enumerate(run.steps) if (s.kind, s.name, s.text) not in old]
    acted = [n for n in fresh if run.steps[n].kind != "user"]
    return bool(acted) and start <= acted[0] < end


def counts(steps: Sequence[Step]) -> dict[str, Any]:
    """What a rule goes by that reads nothing: how many steps, calls, tools, errors, characters."""
    calls = [step for step in steps if step.kind == "tool_call"]
    again = Counter((step.name, step.text) for step in calls)
    took = [step.seconds for step in steps if step.seconds is not None]
    return {
        "steps": len(steps),
        "calls": len(calls),
        "tools": len({step.name for step in calls}),
        "same_call": max(again.values(), default=0),
        "errors": sum(step.error for step in steps),
        "messages": sum(step.kind == "user" for step in steps),
        "characters": sum(len(step.text or "") for step in steps),
        "last_characters": len(steps[-1].text or "") if steps else 0,
        "seconds": round(sum(took), 1) if took else None,
    }


def clean_runs(traces: Iterable[Trace]) -> tuple[list[Trace], int]:
    """The runs that nobody edited, and how many were."""
    every = list(traces)
    clean = [trace for trace in every if not is_edited(trace)]
    return clean, len(every) - len(clean)


def drawn(traces: Sequence[Trace], n: int, seed: int) -> list[Trace]:
    """So many of the families of runs, drawn with a seed, of every task in turn."""
    families = dict[str, list[Trace]]()
    for trace in traces:
        families.setdefault(str(trace.metadata.get(PARENT) or trace.run), []).append(
            trace
        )
    by_task = dict[str, list[str]]()
    for name in sorted(families, key=lambda name: digest([seed, name])):
        task = str(families[name][0].metadata.get("task") or "")
        by_task.setdefault(task, []).append(name)
    turns = sorted(
        (place, task, name)
        for task, names in by_task.items()
        for place, name in enumerate(names)
    )
    chosen = {name for _, _, name in turns[:n]}
    return [trace for name in families if name in chosen for trace in families[name]]


def _about(run: Trace) -> dict[str, Any]:
    """What is known of a run, with the group that it belongs to."""
    group = str(run.metadata.get(GROUP) or run.run)
    return dict(run.metadata) | {TYPED_GROUP: group}


def _outcome(run: Trace) -> str | None:
    """Whether the run passes or fails, where its file says so in a word or number that is known."""
    said = str(run.success).strip().casefold()
    if run.success is None or said not in vocabulary.PASSES | vocabulary.FAILS | {
        "0.0",
        "1.0",
    }:
        return None
    return PASSES if said in vocabulary.PASSES | {"1.0"} else FAILS


def _by_people(
    run: Trace, start: int, end: int, unit: Unit
) -> dict[str, dict[str, Label]]:
    """What people said of the run, or of these steps."""
    labels = dict[str, dict[str, Label]]()
    for said in run.assessments:
        whole = unit == "run" and said.step is None
        part = unit != "run" and said.step is not None and start <= said.step < end
        if said.person and said.value is not None and (whole or part):
            labels.setdefault(said.criterion, {})[said.by] = said.value
    return labels
