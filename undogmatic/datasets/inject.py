"""Makes edited copies of clean runs: those with a planted defect, and those in which nothing that
matters was changed.

Of each edited run it is known what it was made from (`parent`), what was done (`edit`), of what
kind it is (`injected`: clean, defect:NAME or equivalent), and the step that commits the defect
(`defect_step`). These are metadata of the run; a defect is a failure, so that `success` is known,
too. Its id does not say what was done.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from undogmatic.datasets.edits import Language, language_of
from undogmatic.datasets.trace_edits import (
    DEFECTS,
    EQUIVALENT,
    Bench,
    Made,
    Make,
    wordings,
)
from undogmatic.records.records import digest
from undogmatic.records.trace import Step, Trace

CLEAN, EQUAL = "clean", "equivalent"
KIND, EDIT, PARENT, AT = "injected", "edit", "parent", "defect_step"
"""What is noted of each run in its metadata; its `group` is what it was made from, too."""
GROUP = "group"
ATTEMPTS = 4
"""Draws of an edit before it is taken for one that this run does not allow."""
FAILS, PASSES = "fail", "pass"
"""The success of a run with a planted defect, and of any other."""


def defect(name: str) -> str:
    """The kind of a run with this defect."""
    return f"defect:{name}"


class Injected(NamedTuple):
    """One clean run with its edited copies, and the edits that changed nothing in it or could not
    be made of it."""

    runs: list[Trace]
    unmade: list[str]


def injected(traces: Sequence[Trace], seed: int = 0) -> Iterator[Injected]:
    """Edit each run in every way that it allows.

    What is drawn hangs on the seed, the run's id and the edit alone, and what is borrowed on the
    other runs of the file: a run gives the same copies whatever order the file has.

    Args:
        traces: Clean runs, whose ids differ.
        seed: Of the draws.
    """
    described = [_described(trace) for trace in traces]
    # Sorted, so that what is borrowed does not hang on the order of the file.
    others = sorted(described, key=lambda run: run.run)
    for trace in described:
        about = trace.metadata | {PARENT: trace.run, **_about(CLEAN)}
        clean = trace.replace(metadata=about, success=PASSES)
        runs, unmade = [clean], list[str]()
        seen: set[str | None] = {_content(trace.steps)}
        for name, make in [*DEFECTS.items(), *EQUIVALENT.items()]:
            made = _made(trace, others, name, make, seed)
            content = None if made is None else _content(made.steps)
            # Two edits may come to the same, as leaving out the only step and the last one.
            if made is None or content in seen:
                unmade.append(name)
                continue
            seen.add(content)
            runs.append(_as_run(trace, made, name, seed))
        yield Injected(runs, unmade)


def is_edited(trace: Trace) -> bool:
    """Whether a run was edited already, so that it is no clean one."""
    return trace.metadata.get(KIND) not in (None, CLEAN)


def spoken(trace: Trace) -> Language:
    """The language of a run: what it says of itself, else that of its words."""
    # A log may say "pt-BR".
    named = str(trace.metadata.get("language", "")).lower()[:2]
    if named == "pt":
        return "pt"
    if named == "en":
        return "en"
    # Calls are code, whose words are English in any language.
    texts = [step.text or "" for step in trace.steps if step.kind != "tool_call"]
    return language_of(" ".join(texts))


def _described(trace: Trace) -> Trace:
    """The run with its language, by which runs are found that it may borrow from, and its
    group."""
    about = {GROUP: trace.run} | trace.metadata | {"language": spoken(trace)}
    return trace.replace(metadata=about)


def _made(
    trace: Trace, others: Sequence[Trace], name: str, make: Make, seed: int
) -> Made | None:
    """A run with one edit made, None where the edit cannot be made of it."""
    words = wordings(spoken(trace))
    before = _content(trace.steps)
    # A draw may hit on what changes nothing, so there are several.
    for attempt in range(ATTEMPTS):
        draw = random.Random(digest([seed, trace.run, name, attempt]))
        made = make(Bench(trace, others, words, draw))
        if made is not None and _content(made.steps) != before:
            return made
    return None


def _content(steps: Iterable[Step]) -> str:
    """What a judge can see of steps, as one mark."""
    return digest([[s.kind, s.name, s.text, s.error, s.time, s.seconds] for s in steps])


def _about(kind: str, edit: str = "", at: int | None = None) -> dict[str, object]:
    return {KIND: kind, EDIT: edit, AT: at}


def _as_run(trace: Trace, made: Made, name: str, seed: int) -> Trace:
    """An edited run as one of its own, which says what was done to what."""
    at = None
    if made.at is not None:
        # By identity: a run may take the same step twice.
        at = next(place for place, step in enumerate(made.steps) if step is made.at)
    is_defect = name in DEFECTS
    kind = defect(name) if is_defect else EQUAL
    success = FAILS if is_defect else PASSES
    # Marks in place of the edit's name: a judge that sees ids shall learn nothing from them.
    mark = digest([seed, trace.run, name])[:6]
    run = f"{trace.run}-{mark}"
    about = trace.metadata | {PARENT: trace.run, **_about(kind, name, at)}
    return trace.with_steps(made.steps, run).replace(metadata=about, success=success)
