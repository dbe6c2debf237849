"""Writes verdicts and labels in the forms in which other tools take them in: people's labels go
back to where texts are annotated or traces lie.

Each of these forms holds one verdict of a judge on an item and criterion. Repeats, and choices in
both orders, have no place in them and are refused.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from undogmatic.datasets import export
from undogmatic.errors import ConfigError
from undogmatic.records.evidence import Evidence


class Output(NamedTuple):
    """An item: its id, what is known of it, its verdicts and its labels."""

    item: str
    about: Mapping[str, Any]
    verdicts: list[Mapping[str, Any]]
    labels: list[Mapping[str, Any]]

    @property
    def text(self) -> str:
        """What was judged."""
        return str(self.about.get("text") or "")


def outputs(table: Evidence, tool: str) -> Iterator[Output]:
    """The items with what was said of each. Raises ConfigError for what the tool cannot hold."""
    rows = export.rows(table)
    lacks = None
    if table.kind == "pairwise":
        lacks = "choices between two outputs"
    elif (rows["repeat"] > 0).any():
        lacks = "repeats of a judge"
    if lacks is not None:
        raise ConfigError(
            f"--to is {tool}, which has no place for {lacks}. Use --to jsonl or --to inspect."
        )
    for item, of_item in rows.groupby("item", sort=False):
        about = {
            name: value for name, value in of_item.iloc[0].items() if value is not None
        }
        said = of_item[of_item["judge"].notna()].drop_duplicates(["judge", "criterion"])
        labels = (
            of_item[of_item["label"].notna()] if "label" in of_item else of_item[:0]
        )
        labels = (
            labels.drop_duplicates(["criterion", "rater"]) if len(labels) else labels
        )
        yield Output(
            str(item), about, said.to_dict("records"), labels.to_dict("records")
        )


def label_studio(table: Evidence) -> list[dict[str, Any]]:
    """Tasks of Label Studio: verdicts are predictions, labels annotations."""

    def result(name: Any, value: Any) -> dict[str, Any]:
        number = isinstance(value, int | float)
        held = {"number": value} if number else {"choices": [str(value)]}
        kind = "number" if number else "choices"
        return {"from_name": str(name), "to_name": "text", "type": kind, "value": held}

    tasks = []
    for one in outputs(table, "label-studio"):
        predictions = [
            {
                "model_version": str(judge),
                "result": [result(v["criterion"], v["verdict"]) for v in of_judge],
            }
            for judge, of_judge in _by(one.verdicts, "judge").items()
        ]
        annotations = [
            {
                "completed_by": {"email": str(rater)},
                "was_cancelled": False,
                "result": [
                    result(label["criterion"], label["label"]) for label in of_rater
                ],
            }
            for rater, of_rater in _by(one.labels, "rater").items()
        ]
        data = {"text": one.text} | _facts(one)
        tasks.append(
            {
                "id": one.item,
                "data": data,
                "predictions": predictions,
                "annotations": annotations,
            }
        )
    return tasks


def argilla(table: Evidence) -> list[dict[str, Any]]:
    """Records of Argilla: verdicts of the first judge are suggestions, labels responses. Raises
    ConfigError for several judges, of which a record holds one."""
    if len(table.judges) > 1:
        names = ", ".join(table.judges[:3])
        raise ConfigError(
            f"--to is argilla, whose records hold the suggestions of one judge, and there are"
            f" {len(table.judges)} ({names}). Choose one: --judge NAME."
        )
    records = []
    for one in outputs(table, "argilla"):
        suggestions = {
            str(v["criterion"]): {
                "value": v["verdict"],
                "score": v.get("confidence"),
                "agent": str(v["judge"]),
            }
            for v in one.verdicts
            if v["verdict"] is not None
        }
        responses = {
            str(criterion): [
                {"value": label["label"], "user_id": str(label["rater"])}
                for label in several
            ]
            for criterion, several in _by(one.labels, "criterion").items()
        }
        record = {"id": one.item, "fields": {"text": one.text}, "metadata": _facts(one)}
        more = {"suggestions": suggestions, "responses": responses, "vectors": {}}
        records.append(record | more | {"status": "pending", "_server_id": None})
    return records


def phoenix(table: Evidence) -> dict[str, Any]:
    """Annotations of Phoenix's spans: the items are the ids of spans."""
    data = []
    for one in outputs(table, "phoenix"):
        for kind, who, value, row in _all(one):
            result = {"explanation": row.get("reason") if kind == "LLM" else None}
            result |= _score(value, "label")
            said_by = {"judge": who} if kind == "LLM" else {}
            data.append(
                {
                    "name": str(row["criterion"]),
                    "annotator_kind": kind,
                    "span_id": one.item,
                    "result": result,
                    "metadata": said_by,
                    "identifier": who,
                }
            )
    return {"data": data}


def langsmith(table: Evidence) -> list[dict[str, Any]]:
    """Feedback of LangSmith: the items are the ids of runs."""
    feedback = []
    for one in outputs(table, "langsmith"):
        for kind, who, value, row in _all(one):
            source: dict[str, Any] = {"type": "model", "metadata": {"judge": who}}
            if kind == "HUMAN":
                source = {"type": "app", "user_name": who, "metadata": {}}
            about = {
                "run_id": one.item,
                "key": str(row["criterion"]),
                "comment": row.get("reason"),
            }
            feedback.append(
                about | _score(value, "value") | {"feedback_source": source}
            )
    return feedback


def langfuse(table: Evidence) -> list[dict[str, Any]]:
    """Scores of Langfuse: the items are the ids of traces."""
    scores = []
    for one in outputs(table, "langfuse"):
        for kind, who, value, row in _all(one):
            if value is None:
                # a score has a value; the item's other scores show that it is missing
                continue
            number = isinstance(value, int | float)
            about = {
                "traceId": one.item,
                "name": str(row["criterion"]),
                "comment": None,
            }
            held = {
                "value": value if number else None,
                "stringValue": None if number else value,
            }
            said_by = {
                "metadata": {"judge": who},
                "authorUserId": None,
                "source": "EVAL",
            }
            if kind == "HUMAN":
                said_by = {"metadata": {}, "authorUserId": who, "source": "ANNOTATION"}
            form = {"dataType": "NUMERIC" if number else "CATEGORICAL"}
            scores.append(about | held | form | said_by)
    return scores


def prodigy(table: Evidence) -> list[dict[str, Any]]:
    """Tasks of Prodigy with the labels of people, for `db-in`."""
    names = list(table.categories)
    tasks = []
    for number, one in enumerate(outputs(table, "prodigy"), 1):
        for label in one.labels:
            values = names or sorted({str(label["label"])})
            task = {"text": one.text, "meta": {"id": one.item}, "_input_hash": number}
            task |= {"_task_hash": number, "_view_id": "choice", "answer": "accept"}
            task |= {"options": [{"id": name, "text": name} for name in values]}
            task |= {
                "accept": [str(label["label"])],
                "_annotator_id": str(label["rater"]),
            }
            tasks.append(task | {"_session_id": str(label["rater"])})
    return tasks


FORMS: Mapping[str, tuple[str, Callable[[Evidence], Any]]] = {
    "argilla": (".json", argilla),
    "label-studio": (".json", label_studio),
    "langfuse": (".json", langfuse),
    "langsmith": (".json", langsmith),
    "phoenix": (".json", phoenix),
    "prodigy": (".jsonl", prodigy),
}
"""The suffix of a file in each form, and what writes it."""


def _by(rows: list[Mapping[str, Any]], name: str) -> dict[Any, list[Mapping[str, Any]]]:
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        if "verdict" not in row or name != "judge" or row["verdict"] is not None:
            found.setdefault(row[name], []).append(row)
        else:
            found.setdefault(row[name], [])
    return found


def _all(one: Output) -> Iterator[tuple[str, str, Any, Mapping[str, Any]]]:
    """Everything that was said of an item: LLM or HUMAN, by whom, the value, and the row."""
    for row in one.verdicts:
        yield "LLM", str(row["judge"]), row["verdict"], row
    for row in one.labels:
        yield "HUMAN", str(row["rater"]), row["label"], row


def _score(value: Any, word: str) -> dict[str, Any]:
    """A value as a score where it is a number, else under the name that a tool has for words."""
    is_number = isinstance(value, int | float)
    return {"score": value if is_number else None, word: None if is_number else value}


def _facts(one: Output) -> dict[str, Any]:
    return {
        k: v
        for k, v in export.facts_of(one.about).items()
        if not k.startswith("stated.")
    }
