"""Exchanges verdicts with MLflow: reads the traces of a run, and logs a verdict table as traces
with assessments."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from undogmatic.errors import ConfigError
from undogmatic.records.records import digest
from undogmatic.safety.outside import brief
from undogmatic.tracking.store import (
    AT_ONCE,
    SCHEMES,
    Store,
    WithoutSecrets,
    database,
    default_uri,
    opened,
    prepare_environment,
)
from undogmatic.tracking.traces import _shown, _span, trace_id
from undogmatic.tracking.tracker import cut, where

if TYPE_CHECKING:
    from mlflow.entities import Assessment

EXPERIMENT = "undogmatic verdicts"
LONGEST_TAG = 250  # characters


def address(uri: str | None) -> str:
    """The store that is named, that of MLFLOW_TRACKING_URI, or the local one."""
    return uri or os.environ.get("MLFLOW_TRACKING_URI") or default_uri()


def traces_of(run_id: str, uri: str | None = None) -> list[dict[str, Any]]:
    """The traces of a run with their assessments, each as `Trace.to_dict()`. Raises ConfigError
    where there is no such store or run, or it has no traces."""
    store = address(uri)
    file = database(store)
    # The client would make an empty database there, and say that it has no such run.
    if file is not None and not file.is_file():
        way = "Name the store in MLFLOW_TRACKING_URI, or go to the folder in which mlruns/ lies"
        raise ConfigError(f"mlflow:{run_id}: there is no store at {file}. {way}.")
    prepare_environment()
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    client = MlflowClient(tracking_uri=store)
    found = list[dict[str, Any]]()
    token = None
    try:
        experiment = client.get_run(run_id).info.experiment_id
        # MLflow answers a page at a time, and an empty one may have another behind it.
        while token is not None or not found:
            page = client.search_traces(
                locations=[experiment],
                run_id=run_id,
                max_results=AT_ONCE,
                page_token=token,
            )
            found += [trace.to_dict() for trace in page]
            token = page.token
            if not token:
                break
    except MlflowException as error:
        raise ConfigError(f"mlflow:{run_id}: {str(error).splitlines()[0]}") from None
    if not found:
        raise ConfigError(
            f"mlflow:{run_id}: the run has no traces, so nothing on it was judged."
        )
    return found


def log_verdicts(rows: Iterable[Mapping[str, Any]], uri: str | None, name: str) -> str:
    """Log a verdict table as a new run: a trace for each item, a feedback for each verdict and for
    each label.

    Args:
        rows: The table in long form (`datasets.export.rows`).
        uri: The store; None for that of the environment, or the local one.
        name: Of the run.
    Returns:
        One sentence: how many were logged, and where to look. Raises ConfigError where the store
            cannot be used.
    """
    # What an error calls the store by: whichever of the three the address came from.
    if uri:
        named = "--out"
    elif os.environ.get("MLFLOW_TRACKING_URI"):
        named = "MLFLOW_TRACKING_URI"
    else:
        named = "the local store"
    instead = (
        "Name a database or a server: --out sqlite:///mlflow.db, --out http://HOST:PORT. Without"
        " MLflow: --to csv."
    )
    # SQLAlchemy's addresses may name the driver: mysql+pymysql://...
    scheme, colon, _ = (uri or "").partition(":")
    if uri and (not colon or scheme.partition("+")[0] not in SCHEMES):
        raise ConfigError(
            f"--out is {brief(uri)}, which is no address of an MLflow store. {instead}"
        )
    with opened(
        address(uri), EXPERIMENT, "Nothing else was changed.", named, instead
    ) as store:
        run_id = str(
            store.client.create_run(store.experiment_id, run_name=name).info.run_id
        )
        by_item: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            by_item.setdefault(str(row["item"]), []).append(row)
        # The run is in the mark: the same table logged twice makes two sets of traces.
        marks = {item: digest([run_id, item]) for item in by_item}
        tracing = _log_traces(store, run_id, by_item, marks)
        count = 0
        for item, of_item in by_item.items():
            for assessment in _assessments(of_item):
                tracing.log_assessment(trace_id(marks[item]), assessment)
                count += 1
        store.client.set_terminated(run_id)
        return (
            f"MLflow: {count} assessments on {len(by_item)} traces of mlflow:{run_id}."
            f" {where(store, run_id)}"
        )


def _log_traces(
    store: Store,
    run_id: str,
    by_item: Mapping[str, Sequence[Mapping[str, Any]]],
    marks: Any,
) -> Any:
    from mlflow.tracing.client import TracingClient

    # A table says nothing of when its verdicts were given.
    now = time.time()
    spans = []
    for item, (row, *_) in by_item.items():
        sides = {
            side: row[side]
            for side in ("text_1", "text_2")
            if row.get(side) is not None
        }
        tags = {"item": item} | {
            str(k): cut(str(v), LONGEST_TAG) for k, v in row.items() if _is_fact(k, v)
        }
        about = {f"mlflow.traceTag.{key}": value for key, value in tags.items()}
        about |= _shown("UNKNOWN", row.get("input"), sides or row.get("text"))
        spans.append(_span(marks[item], 0, item, (now, now), None, about))
    tracing = WithoutSecrets(TracingClient(store.uri))
    tracing.log_spans(store.experiment_id, spans)
    ids = [trace_id(mark) for mark in marks.values()]
    for start in range(0, len(ids), AT_ONCE):
        store.client.link_traces_to_run(ids[start : start + AT_ONCE], run_id)
    return tracing


# What is told otherwise: as a text, an assessment, or the trace itself.
_NO_TAG = (
    "item judge criterion repeat order verdict confidence reason label rater text text_1 text_2"
    " input place".split()
)


def _is_fact(name: Any, value: Any) -> bool:
    return (
        name not in _NO_TAG
        and not str(name).startswith("settings.")
        and value is not None
    )


def _assessments(rows: Sequence[Mapping[str, Any]]) -> list[Assessment]:
    """What judges and people say of an item, each once."""
    from mlflow.entities import (
        AssessmentError,
        AssessmentSource,
        AssessmentSourceType,
        Feedback,
    )

    # A table in long form has a row for each verdict and label, so that a label comes again beside
    # every judge.
    made: dict[tuple[Any, ...], Assessment] = {}
    for row in sorted(rows, key=lambda row: row.get("repeat") or 0):
        criterion = str(row["criterion"])
        if row.get("judge") is not None:
            judge = AssessmentSource(AssessmentSourceType.LLM_JUDGE, str(row["judge"]))
            noted = {key: row.get(key) for key in ("order", "confidence")}
            noted |= {
                str(key).removeprefix("settings."): v
                for key, v in row.items()
                if str(key).startswith("settings.")
            }
            about: dict[str, Any] = {
                key: str(value) for key, value in noted.items() if value is not None
            }
            # A failure is an error in MLflow, too: a value of 0 or "" would be averaged.
            if row.get("verdict") is None:
                error = AssessmentError(
                    "NO_VERDICT", str(row.get("reason") or "no verdict")
                )
                said = Feedback(criterion, error=error, source=judge, metadata=about)
            else:
                said = Feedback(
                    criterion, value=row["verdict"], source=judge, metadata=about
                )
            made.setdefault(
                ("judge", row["judge"], criterion, row.get("repeat"), row.get("order")),
                said,
            )
        if row.get("label") is not None:
            person = AssessmentSource(
                AssessmentSourceType.HUMAN, str(row.get("rater") or "human")
            )
            label = Feedback(criterion, value=row["label"], source=person)
            made.setdefault(("person", row.get("rater"), criterion), label)
    return list(made.values())
