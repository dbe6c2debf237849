"""Writes traces and a dataset's records into the tables of a store that is a database, each all in
one transaction.

MLflow's own ways ask the database several times per trace (`TracingClient.log_spans`), set each
assessment in a transaction of its own (136 traces took six times as long), and ask for each record
whether it is there. Its tables are no public interface, so what this relies on is pinned (mlflow <
3.18), and tests hold the rows against those that MLflow makes of the same spans and records.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from undogmatic.tracking.store import scrubbed

if TYPE_CHECKING:
    from mlflow.entities import Assessment, Span

AT_ONCE = 500  # traces whose rows are held at once
LONGEST_TAG, LONGEST_MODEL = 4096, 500  # characters, MLflow's limits
USAGE, COST, MODEL = "mlflow.chat.tokenUsage", "mlflow.llm.cost", "mlflow.llm.model"
"""Attributes of spans: the tokens of a call, what it cost, and who was asked."""
# begins the name of a root's attribute that is a tag of its trace
TAG = "mlflow.traceTag."
_MILLI = 1_000_000  # nanoseconds
_TOKENS = ("input_tokens", "output_tokens", "total_tokens")
_COSTS = ("input_cost", "output_cost", "total_cost")


class TraceRows(NamedTuple):
    """What is shown and said of a judgment."""

    spans: Sequence[Span]  # the root first
    request: str  # what a list of traces shows
    response: str
    assessments: Sequence[Assessment]


def write(
    tables: Any, experiment_id: str, run_id: str, traces: Mapping[str, TraceRows]
) -> None:
    """Write traces, by their ids, and link them to the run. Of a trace that is there already, its
    spans and what is told here are written anew; what else was noted on it stays, as does an
    assessment of the same name and source.

    Args:
        tables: MLflow's `SqlAlchemyStore`.
    """
    from mlflow.store.tracking.dbmodels.models import SqlAssessments as Said
    from mlflow.store.tracking.dbmodels.models import SqlEntityAssociation as Link
    from mlflow.store.tracking.dbmodels.models import SqlSpan, SqlTraceInfo, SqlTraceTag
    from sqlalchemy import delete, insert, select, update

    place = tables.get_experiment(experiment_id).artifact_location
    ids = list(traces)
    ends = {"source_type": "trace", "destination_type": "run", "destination_id": run_id}
    # One transaction for all: a run that is stopped here is in MLflow with all of its traces, or
    # with none, and is logged anew.
    with tables.ManagedSessionMaker(read_only=False) as session:
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            spans = {
                trace: [
                    _of_span(span, experiment_id, tables)
                    for span in traces[trace].spans
                ]
                for trace in part
            }
            tags = [
                row for trace in part for row in _of_tags(traces[trace].spans[0], place)
            ]
            infos = [_of_trace(traces[trace], spans[trace]) for trace in part]
            said = [
                row
                for info in infos
                for row in _of_assessments(info, traces[info["request_id"]].assessments)
            ]
            there = {
                *session.scalars(
                    select(SqlTraceInfo.request_id).where(
                        SqlTraceInfo.request_id.in_(part)
                    )
                )
            }
            linked = set[str]()
            known = set[tuple[str, str, str | None]]()
            # A continued run meets traces of its first part.
            if there:
                # Spans are replaced whole: a text that was judged again may have taken fewer calls.
                session.execute(delete(SqlSpan).where(SqlSpan.trace_id.in_(there)))
                own = SqlTraceTag.key.in_({row["key"] for row in tags})
                session.execute(
                    delete(SqlTraceTag).where(SqlTraceTag.request_id.in_(there), own)
                )
                session.execute(
                    update(SqlTraceInfo),
                    [info for info in infos if info["request_id"] in there],
                )
                linked = {
                    *session.scalars(
                        select(Link.source_id)
                        .filter_by(**ends)
                        .where(Link.source_id.in_(there))
                    )
                }
                columns = select(Said.trace_id, Said.name, Said.source_id).where(
                    Said.trace_id.in_(there)
                )
                known = {
                    (trace, name, source)
                    for trace, name, source in session.execute(columns)
                }
            # A person may have corrected an assessment on MLflow's page, which must not be lost.
            said = [
                row
                for row in said
                if (row["trace_id"], row["name"], row["source_id"]) not in known
            ]
            links = [
                ends | {"association_id": uuid4().hex, "source_id": trace}
                for trace in part
                if trace not in linked
            ]
            new = [
                info | {"db_payload_generation": 1}
                for info in infos
                if info["request_id"] not in there
            ]
            # In this order: tags, spans and links refer to the row of their trace.
            written = {
                SqlTraceInfo: new,
                SqlTraceTag: tags,
                SqlSpan: [row for rows in spans.values() for row in rows],
            }
            for table, rows in (written | {Said: said, Link: links}).items():
                if rows:
                    session.execute(insert(table), scrubbed(rows))


def write_records(
    tables: Any, dataset_id: str, records: Sequence[Mapping[str, Any]]
) -> None:
    """Write the records of a dataset that has none yet.

    Those in which a key occurs first, and of records with the same inputs all but the first, are
    left to MLflow: it makes the dataset's schema of the ones, merges the others, and counts what is
    there.

    Args:
        tables: MLflow's `SqlAlchemyStore`.
    """
    from mlflow.entities.dataset_record import DATASET_RECORD_WRAPPED_OUTPUT_KEY
    from mlflow.store.tracking.dbmodels.models import (
        SqlEvaluationDatasetRecord as Record,
    )
    from sqlalchemy import insert

    known = set[tuple[str, str]]()
    hashes = set[str]()
    rows = []
    left = []
    now = int(time.time() * 1000)
    for record in scrubbed(list(records)):
        keys = {
            (part, key) for part in ("inputs", "expectations") for key in record[part]
        }
        # As MLflow makes it: by this hash it would find the record again and merge it.
        content = hashlib.sha256(
            json.dumps(record["inputs"], sort_keys=True).encode()
        ).hexdigest()
        if content in hashes or not keys <= known:
            left.append(record)
        else:
            about: dict[str, Any] = {
                "dataset_record_id": Record.generate_record_id(),
                "dataset_id": dataset_id,
                "input_hash": content,
            }
            about |= {"created_time": now, "last_update_time": now, "source": None}
            rows.append(
                about | {"outputs": {DATASET_RECORD_WRAPPED_OUTPUT_KEY: {}}} | record
            )
        known |= keys
        hashes.add(content)
    with tables.ManagedSessionMaker(read_only=False) as session:
        if rows:
            session.execute(insert(Record), rows)
    tables.upsert_dataset_records(dataset_id, left)


def _of_span(span: Span, experiment_id: str, tables: Any) -> dict[str, Any]:
    from mlflow.tracing.otel.translation import translate_span_when_storing

    whole = translate_span_when_storing(span)
    model = span.get_attribute(MODEL)
    costs = span.get_attribute(COST) or {}
    return {
        "trace_id": span.trace_id,
        "experiment_id": int(experiment_id),
        "span_id": span.span_id,
        "parent_span_id": span.parent_id,
        "name": span.name,
        "type": span.span_type,
        "status": span.status.status_code.value,
        "start_time_unix_nano": span.start_time_ns,
        "end_time_unix_nano": span.end_time_ns,
        # whose column takes no Unicode
        "content": json.dumps(whole, ensure_ascii=tables.db_type == "mssql"),
        "model_name": None if model is None else model[:LONGEST_MODEL],
    } | {name: costs.get(name) for name in _COSTS}


def _of_trace(told: TraceRows, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The row of a trace, from those of its spans. What its root says of tokens counts those of its
    calls already."""
    # Each is cut to milliseconds before they are subtracted, as MLflow does it.
    begin = min(row["start_time_unix_nano"] for row in rows) // _MILLI
    end = max(row["end_time_unix_nano"] for row in rows) // _MILLI
    info = {
        "request_id": rows[0]["trace_id"],
        "experiment_id": rows[0]["experiment_id"],
        "timestamp_ms": begin,
        "execution_time_ms": end - begin,
        "status": rows[0]["status"],
        "request_preview": told.request,
        "response_preview": told.response,
    }
    for key, names, zero in ((USAGE, _TOKENS, 0), (COST, _COSTS, 0.0)):
        known = [used for span in told.spans if (used := span.get_attribute(key))]
        # With the root's own sum, its calls would be counted a second time.
        known = known[:1] if told.spans[0].get_attribute(key) else known
        info |= {
            name: sum((used.get(name, zero) for used in known), zero) if known else None
            for name in names
        }
    return info


def _of_tags(root: Span, place: str) -> list[dict[str, Any]]:
    from mlflow.utils.uri import append_to_uri_path

    trace = root.trace_id
    tags = {
        name.removeprefix(TAG): value[:LONGEST_TAG]
        for name, value in root.attributes.items()
        if name.startswith(TAG)
    }
    # Without this tag MLflow looks for the spans in a file of the artifacts, and shows none.
    tags["mlflow.trace.spansLocation"] = "TRACKING_STORE"
    tags["mlflow.artifactLocation"] = append_to_uri_path(
        place, "traces", trace, "artifacts"
    )
    return [
        {"request_id": trace, "key": key, "value": value} for key, value in tags.items()
    ]


def _of_assessments(
    info: Mapping[str, Any], assessments: Sequence[Assessment]
) -> list[dict[str, Any]]:
    from mlflow.store.tracking.dbmodels.models import SqlAssessments

    rows = []
    for assessment in assessments:
        made = SqlAssessments.from_mlflow_entity(assessment)
        made.trace_id = info["request_id"]
        made.trace_timestamp_ms = info["timestamp_ms"]
        made.experiment_id = info["experiment_id"]
        rows.append(
            {
                column.key: getattr(made, column.key)
                for column in SqlAssessments.__table__.columns
            }
        )
    return rows
