"""What judge and humans say of an item, on its trace: the MLflow UI then shows both side by side.

The judge's score and flag are feedback, a human's label is an expectation. A trace's id follows from its judgment, so
nothing need be looked up; a judgment that was not traced with its run is traced now. Traces are written straight to
the store here, so there is no queue to flush before they can be assessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.errors import ConfigError
from undogmatic.records import Failure, Item, Judgment
from undogmatic.tracking.entries import cut
from undogmatic.tracking.hide import redact_judgment, redacted, scrub
from undogmatic.tracking.store import Store, database, opened
from undogmatic.tracking.traces import log_traces, trace_id
from undogmatic.tracking.tracker import NOTE, still_there, where

if TYPE_CHECKING:
    from mlflow.entities import Assessment
    from mlflow.tracing.client import TracingClient

SCORE, FLAG, HUMAN = "judge_score", "judge_flag", "human_label"
LONGEST_SOURCE = 250  # characters, MLflow's limit
_AT_ONCE = 100


class JudgeNote(NamedTuple):
    """What the judge says of an item: its judgment, whether it is flagged, and facts of its row in the queue."""

    judgment: Judgment
    flagged: bool
    about: Mapping[str, str]


class HumanNote(NamedTuple):
    """What a human says of an item: `label` in score units; it goes to the trace of `judgment`."""

    judgment: Judgment
    label: float
    labeller: str
    comment: str | None
    about: Mapping[str, str]


def log_feedback(
    folder: Path, items: Sequence[Item], notes: Sequence[JudgeNote], *, started: float, uri: str | None, hide: bool
) -> str:
    """Put the judge's score and flag on the traces of a run's judgments, replacing what an earlier export put there.

    Args:
        folder: The run's folder; the note in it says where the run was logged.
        items: Gives the texts of traces still to be written.
        notes: What to log.
        started: Unix seconds, for a trace still to be written.
        uri: The address as configured, with any credentials (the note has none); None if not known.
        hide: Replace every text by its hash and length.
    Returns:
        One sentence: how many traces and where to look, or that it was skipped and why.
    """
    return _log(folder, items, [(n.judgment, partial(_of_judge, n, hide)) for n in notes], started, uri, hide)


def log_labels(
    folder: Path, items: Sequence[Item], notes: Sequence[HumanNote], *, started: float, uri: str | None, hide: bool
) -> str:
    """Put human labels on the traces of a run's judgments as expectations; arguments and result as `log_feedback`."""
    return _log(folder, items, [(n.judgment, partial(_of_human, n, hide)) for n in notes], started, uri, hide)


_Made = tuple[Judgment, Callable[[], "list[Assessment]"]]


def _log(folder: Path, items: Sequence[Item], made: list[_Made], started: float, uri: str | None, hide: bool) -> str:
    if not (folder / NOTE).is_file():
        return "MLflow: skipped, because this run was not logged there (tracking=none)."
    note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    address = uri if uri is not None and scrub(uri) == note["uri"] else str(note["uri"])
    file = database(address)
    if file is not None and not file.is_file():
        return f"MLflow: skipped, because the store to which this run was logged is gone ({file})."
    try:
        with opened(address, note["experiment"], "The files on disk are complete.") as store:
            run_id = str(note["run_id"])
            if not still_there(store, run_id):
                return f"MLflow: skipped, because the run {run_id} is no longer in {store.address}."
            judgments = list({id(judgment): judgment for judgment, _ in made}.values())
            traced = _traced(store, run_id, items, judgments, started, hide)
            done = _assess(store, made, traced)
            missing = len(judgments) - len(traced)
            left = f" {missing} without a trace were left out." if missing else ""
            return f"MLflow: on {done} traces.{left} {where(store, run_id)}"
    except ConfigError as error:
        return f"MLflow: skipped. {error}"


def _traced(
    store: Store, run_id: str, items: Sequence[Item], judgments: Sequence[Judgment], started: float, hide: bool
) -> dict[str, Sequence[Assessment]]:
    """The assessments so far by trace id, of judgments that have a trace; it is written first where it can be."""
    from mlflow.tracing.client import TracingClient

    ids = {trace_id(store.experiment_id, j): j for j in judgments}
    found = _assessments(TracingClient(store.uri), list(ids))
    texts = {item.id for item in items}
    missing = [j for own, j in ids.items() if own not in found and j.item_id in texts]
    if missing and log_traces(store, run_id, items, missing, started=started, hide=hide):
        found |= {trace_id(store.experiment_id, j): [] for j in missing}
    return found


def _assessments(client: TracingClient, ids: Sequence[str]) -> dict[str, Sequence[Assessment]]:
    infos = [
        info
        for start in range(0, len(ids), _AT_ONCE)
        for info in client.store.batch_get_trace_infos(ids[start : start + _AT_ONCE])
    ]
    return {info.trace_id: info.assessments or [] for info in infos}


def _assess(store: Store, made: list[_Made], traced: Mapping[str, Sequence[Assessment]]) -> int:
    """Write the assessments; one of the same name and source is updated, and left alone where it says the same."""
    from mlflow.tracing.client import TracingClient

    client = TracingClient(store.uri)
    touched = set()
    for judgment, make in made:
        own = trace_id(store.experiment_id, judgment)
        if own not in traced:
            continue
        touched.add(own)
        for assessment in make():
            before = next((a for a in traced[own] if _same_place(a, assessment)), None)
            if before is None:
                client.log_assessment(own, assessment)
            elif _said(before) != _said(assessment):
                client.update_assessment(own, str(before.assessment_id), assessment)
    return len(touched)


def _same_place(left: Assessment, right: Assessment) -> bool:
    return (left.name, left.source.source_id) == (right.name, right.source.source_id) and left.valid is not False


def _said(assessment: Any) -> tuple[Any, ...]:
    error = None if assessment.error is None else assessment.error.error_code
    return assessment.value, error, assessment.rationale, assessment.metadata or {}


def _of_judge(note: JudgeNote, hide: bool) -> list[Assessment]:
    from mlflow.entities import AssessmentError, AssessmentSource, AssessmentSourceType, Feedback

    judgment = redact_judgment(note.judgment) if hide else note.judgment
    outcome, provenance = judgment.outcome, judgment.provenance
    who = cut(f"{provenance.model} {provenance.readout} {judgment.judge}", LONGEST_SOURCE)
    judge = AssessmentSource(AssessmentSourceType.LLM_JUDGE, who)
    code = AssessmentSource(AssessmentSourceType.CODE, "undogmatic")
    about = dict(note.about)
    if isinstance(outcome, Failure):
        score = Feedback(SCORE, error=AssessmentError(outcome.reason, outcome.message), source=judge, metadata=about)
    else:
        if outcome.interval is not None:
            about["interval"] = "{:g} to {:g}".format(*outcome.interval)
        if outcome.confidence is not None:
            about["confidence"] = f"{outcome.confidence:g}"
        if outcome.uncertainty is not None:
            about["uncertainty"] = outcome.uncertainty
        why = "\n".join([*([outcome.rationale] if outcome.rationale else []), *outcome.issues])
        score = Feedback(SCORE, value=outcome.score, source=judge, rationale=why or None, metadata=about)
    return [score, Feedback(FLAG, value=note.flagged, source=code, metadata=dict(note.about))]


def _of_human(note: HumanNote, hide: bool) -> list[Assessment]:
    from mlflow.entities import AssessmentSource, AssessmentSourceType, Expectation

    about = dict(note.about)
    if note.comment is not None:
        about["comment"] = redacted(note.comment) if hide else note.comment
    human = AssessmentSource(AssessmentSourceType.HUMAN, cut(note.labeller, LONGEST_SOURCE))
    return [Expectation(HUMAN, note.label, source=human, metadata=about)]
