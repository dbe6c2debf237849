"""Puts what judge and people say of an item on its trace, which the MLflow UI shows, and reads back
what people say.

The judge's score and flag are feedback, a human's label is an expectation. A trace's id follows
from its judgment, so nothing need be looked up; a judgment that was not traced with its run is
traced now. Traces are written straight to the store here, so there is no queue to flush before they
can be assessed.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.labels import HUMAN, PROBABILITY, QUEUE, Filled, on_trace
from undogmatic.records.records import Item, Judgment
from undogmatic.records.redaction import redact_item, redact_judgment
from undogmatic.records.results import Finding
from undogmatic.runs.folder import RunFolder
from undogmatic.safety.secrets import scrub_data
from undogmatic.tracking.notes import FLAG, SCORE
from undogmatic.tracking.store import AT_ONCE, Store, WithoutSecrets, database, opened
from undogmatic.tracking.traces import log_traces, mark_of, trace_id
from undogmatic.tracking.tracker import NOTE, still_there, where

if TYPE_CHECKING:
    from mlflow.entities import Assessment

Note = Callable[[bool], "list[Assessment]"]
"""What is said of an item, made once MLflow is there; called with whether texts shall be hidden."""


class Said(NamedTuple):
    """What people say of a run's items."""

    address: str  # the store, without credentials
    traces: int  # how many of the run's judgments have a trace there
    # The valid assessments HUMAN, by trace; the comment is MLflow's rationale (3.17 keeps none with
    # an expectation), QUEUE and PROBABILITY those of the item's last export before the label.
    labels: list[Filled]
    # exported items without any, with QUEUE and PROBABILITY of the export
    waiting: list[Filled]
    others: Counter[str]  # how many other valid human assessments there are, by name


def log_notes(
    folder: Path,
    items: Sequence[Item],
    notes: Sequence[tuple[Judgment, Note]],
    *,
    started: float,
    uri: str | None,
    hide: bool,
) -> Finding:
    """Put the judge's score and flag (`notes.of_judge`), or human labels (`notes.of_human`), on the
    traces of a run's judgments, replacing what an earlier log, export or import put there.

    Args:
        folder: The run's folder; the note in it says where the run was logged.
        items: Gives the texts of traces still to be written.
        notes: Judgment and what to log on its trace.
        started: Unix seconds, for a trace still to be written.
        uri: The address as configured, with any credentials (the note has none); None if not known.
        hide: Replace every text by its hash and length.
    Returns:
        One sentence: how many traces and where to look, or that it was skipped and why.
    """
    try:
        with _logged(folder, uri, "The files on disk are complete.") as (store, run_id):
            marks = {
                mark_of(store.experiment_id, judgment): judgment
                for judgment, _ in notes
            }
            there = _assessments(store, list(map(trace_id, marks)))
            texts = {item.id for item in items}
            traced = {
                mark: there[trace_id(mark)] for mark in marks if trace_id(mark) in there
            }
            untraced = {
                mark: j
                for mark, j in marks.items()
                if mark not in traced and j.item_id in texts
            }
            if hide:
                items = list(map(redact_item, items))
                untraced = {m: redact_judgment(j) for m, j in untraced.items()}
            if untraced and log_traces(store, run_id, items, untraced, started):
                there = _assessments(store, list(map(trace_id, untraced)))
                traced |= {
                    mark: there[trace_id(mark)]
                    for mark in untraced
                    if trace_id(mark) in there
                }
            done = _assess(
                store,
                [(mark_of(store.experiment_id, j), of_it(hide)) for j, of_it in notes],
                traced,
            )
            missing = len(marks) - len(traced)
            left = Finding("review.left_out", {"n": missing}) if missing else ""
            return Finding(
                "review.on_traces",
                {"n": done, "left": left, "where": where(store, run_id)},
            )
    except ConfigError as error:
        return Finding("review.skipped", {"why": str(error)})


def read_labels(
    folder: Path, judgments: Sequence[Judgment], *, uri: str | None
) -> Said:
    """What people added to the traces of a run's judgments (`folder` and `uri` as for `log_notes`);
    nothing is written. Raises ConfigError where the run was not logged, its store is gone or does
    not answer, or it has no traces there.
    """
    try:
        with _logged(folder, uri, "") as (store, _):
            items = {
                trace_id(mark_of(store.experiment_id, j)): j.item_id for j in judgments
            }
            by_trace = _assessments(store, list(items))
            if not by_trace:
                raise ConfigError(
                    f"it has no traces in {store.address}. `undogmatic review export {folder}`"
                    " writes those of the items in its queue (unless tracking.traces=0)."
                )
            return _read(store.address, items, by_trace)
    except ConfigError as error:
        raise ConfigError(
            f"--from-mlflow: nothing was imported for {folder}, because its traces cannot be read:"
            f" {str(error).splitlines()[0]} Labels in a file: undogmatic review import {folder}"
            " LABELS"
        ) from None


@contextlib.contextmanager
def _logged(folder: Path, uri: str | None, kept: str) -> Iterator[tuple[Store, str]]:
    """The store and the id of a run in MLflow. Raises ConfigError for none, DataError for a note
    that does not say."""
    if not (folder / NOTE).is_file():
        raise ConfigError("this run was not logged to MLflow (tracking=none).")
    note = RunFolder(folder).json(NOTE)
    if not note.get("uri") or not note.get("run_id"):
        raise DataError(
            f"{folder / NOTE} does not say where the run was logged. Log it again:"
            f" run.resume={folder}"
        )
    address, run_id = str(note["uri"]), str(note["run_id"])
    if uri is not None and scrub_data(uri) == address:
        address = uri  # with its credentials
    file = database(address)
    if file is not None and not file.is_file():
        raise ConfigError(
            f"the store to which this run was logged is gone ({file}). Put the file back."
        )
    with opened(address, note["experiment"], kept) as store:
        if not still_there(store, run_id):
            raise ConfigError(
                f"the run {run_id} is no longer in {store.address}. Restore it there."
            )
        yield store, run_id


def _read(
    address: str, items: Mapping[str, str], by_trace: Mapping[str, Sequence[Assessment]]
) -> Said:
    # a label may be on the trace of any repeat
    by_item: dict[str, list[Assessment]] = {}
    for trace, assessments in by_trace.items():
        by_item.setdefault(items[trace], []).extend(assessments)
    exports: dict[
        str, Assessment
    ] = {}  # what the last one put there, also if a person has overridden it since
    for item, of_it in by_item.items():
        ours = [
            a
            for a in of_it
            if a.name in {SCORE, FLAG} and a.source.source_type != "HUMAN"
        ]
        if ours := [a for a in ours if PROBABILITY in (a.metadata or {})]:
            exports[item] = max(ours, key=lambda a: a.last_update_time_ms or 0)
    labels: list[Filled] = []
    others: Counter[str] = Counter()
    for trace, item in items.items():
        by_id = {a.assessment_id: a for a in by_trace.get(trace, ())}
        standing: list[Any] = [
            a
            for a in by_id.values()
            if a.source.source_type == "HUMAN" and a.valid is not False
        ]
        others.update(
            assessment.name for assessment in standing if assessment.name != HUMAN
        )
        for assessment in (
            assessment for assessment in standing if assessment.name == HUMAN
        ):
            first, export = assessment, exports.get(item)
            while first.overrides in by_id:  # the assessment whose place this one took
                first = by_id[first.overrides]
            origin = {
                "store": address,
                "trace": trace,
                "assessment": str(first.assessment_id),
            }
            # MLflow names one that was not named "default"
            who = assessment.source.source_id or ""
            cells = {
                "item_id": item,
                "label": assessment.value,
                "labeller": "" if who == "default" else who,
            }
            cells["comment"] = assessment.rationale
            # A later export's probability is not the one with which the item came before the person
            # who labelled it.
            if export is not None and (first.create_time_ms or 0) >= (
                export.last_update_time_ms or 0
            ):
                cells |= _about(export)
            labels.append(Filled(on_trace(trace, item), cells, origin))
    labelled = {row.cells["item_id"] for row in labels}
    waiting = [
        Filled(item, {"item_id": item, "label": None} | _about(export), {})
        for item, export in exports.items()
        if item not in labelled
    ]
    return Said(address, len(by_trace), labels, waiting, others)


def _about(export: Assessment) -> dict[str, str]:
    return {
        key: value
        for key, value in (export.metadata or {}).items()
        if key in {QUEUE, PROBABILITY}
    }


def _assessments(store: Store, ids: Sequence[str]) -> dict[str, Sequence[Assessment]]:
    from mlflow.tracing.client import TracingClient

    client = TracingClient(store.uri)
    parts = (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE))
    return {
        info.trace_id: info.assessments or []
        for part in parts
        for info in client.store.batch_get_trace_infos(part)
    }


def _assess(
    store: Store,
    notes: Iterable[tuple[str, Sequence[Assessment]]],
    traced: Mapping[str, Sequence[Assessment]],
) -> int:
    """Write the assessments; one of the same name and source is updated, and left alone where it
    says the same."""
    from mlflow.entities import Feedback
    from mlflow.tracing.client import TracingClient

    client = WithoutSecrets(TracingClient(store.uri))
    notes = [(mark, assessments) for mark, assessments in notes if mark in traced]
    for mark, note in (
        (mark, note) for mark, assessments in notes for note in assessments
    ):
        valid = (a for a in traced[mark] if a.valid is not False)
        before = next(
            (
                a
                for a in valid
                if (a.name, a.source.source_id) == (note.name, note.source.source_id)
            ),
            None,
        )
        if before is None:
            client.log_assessment(trace_id(mark), note)
            continue
        new = note
        if before.feedback is not None and new.expectation is not None:
            # A person gave the label as feedback: MLflow updates neither kind to the other.
            new = Feedback(
                new.name,
                new.expectation.value,
                rationale=before.rationale,
                metadata=new.metadata,
            )
        if _said(before) != _said(new):
            client.update_assessment(trace_id(mark), str(before.assessment_id), new)
    return len({mark for mark, _ in notes})


def _said(assessment: Any) -> tuple[Any, ...]:
    error = None if assessment.error is None else assessment.error.error_code
    return assessment.value, error, assessment.rationale, assessment.metadata or {}
