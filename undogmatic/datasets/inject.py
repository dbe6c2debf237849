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
    others = sorted(map(_told, traces), key=lambda run: run.run)
    for trace in map(_told, traces):
        about = trace.metadata | {PARENT: trace.run, **_about(CLEAN)}
        clean = trace.replace(metadata=about, success=PASSES)
        runs, unmade = [clean], list[str]()
        seen = {_content(trace.steps)}
        for name, make in [*DEFECTS.items(), *EQUIVALENT.items()]:
            made = _made(trace, others, name, make, seed)
            if made is None or (content := _content(made.steps)) in seen:
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
    named = str(trace.metadata.get("language", "")).lower()[:2]
    if named in ("en", "pt"):
        return "pt" if named == "pt" else "en"
    return language_of(
        " ".join(s.text or "" for s in trace.steps if s.kind != "tool_call")
    )


def _told(trace: Trace) -> Trace:
    """The run with its language, by which runs are found that it may borrow from, and its
    group."""
    about = {GROUP: trace.run} | trace.metadata | {"language": spoken(trace)}
    return trace.replace(metadata=about)


def _made(
    trace: Trace, others: Sequence[Trace], name: str, make: Make, seed: int
) -> Made | None:
    # A draw may hit on what changes nothing, so there are several
    for attempt in range(4):
        draw = random.Random(digest([seed, trace.run, name, attempt]))
        made = make(Bench(trace, others, wordings(spoken(trace)), draw))
        if made is not None and _content(made.steps) != _content(trace.steps):
            return made
    return None


def _content(steps: Iterable[Step]) -> str:
    """What a judge can see of steps, as one mark."""
    return digest([[s.kind, s.name, s.text, s.error, s.time, s.seconds] for s in steps])


def _about(kind: str, edit: str = "", at: int | None = None) -> dict[str, object]:
    return {KIND: kind, EDIT: edit, AT: at}


def _as_run(trace: Trace, made: Made, name: str, seed: int) -> Trace:
    at = None
    if made.at is not None:
        at = next(place for place, step in enumerate(made.steps) if step is made.at)
    kind = defect(name) if name in DEFECTS else EQUAL
    # Marks in place of the edit's name: a judge that sees ids shall learn nothing from them
    run = f"{trace.run}-{digest([seed, trace.run, name])[:6]}"
    about = trace.metadata | {PARENT: trace.run, **_about(kind, name, at)}
    success = FAILS if name in DEFECTS else PASSES
    return trace.with_steps(made.steps, run).replace(metadata=about, success=success)
