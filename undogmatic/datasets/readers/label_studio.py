"""Reads exports of Label Studio: the full one (JSON), the short one (JSON_MIN) and the table (CSV).

An annotation is a label of its author, a prediction the verdict of its model. Each control of the
labelling page (`from_name`) is a criterion, where there are several. Annotations that were skipped
are no labels; marks on parts of a text are none either, and both are counted in a line.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.names import side_of
from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    facts,
    joined,
)
from undogmatic.errors import DataError
from undogmatic.safety.outside import Unreadable, json_value

_ABOUT = {
    "annotation_id",
    "annotator",
    "created_at",
    "updated_at",
    "lead_time",
    "id",
    "meta",
}
_NEEDED = {"annotator", "annotation_id", "lead_time"}
_TEXTS = (
    "text",
    "response",
    "answer",
    "output",
    "completion",
    "document",
    "content",
    "prompt",
)
_MOST_CLASSES = 20
_SIDES = {"left": "first", "right": "second"}


def _claims(head: Head) -> bool:
    first = head.record()
    is_task = isinstance(first.get("data"), Mapping)
    kinds = ("annotations", "completions", "predictions")
    full = is_task and any(isinstance(first.get(kind), list) for kind in kinds)
    return full or head.names() >= _NEEDED


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    if any(isinstance(one.get("data"), Mapping) for _, one in given):
        yield from _of_tasks(given, source, problems)
    else:
        yield from _of_table(given, source)


def _of_tasks(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    left = Counter[str]()
    verdicts, labels = list[Row](), list[Row]()
    said_by: dict[str, dict[str, None]] = {}
    for _, task in given:
        for one in task.get("predictions") or ():
            names = [name for name, _ in _values(one, Counter())]
            said_by.setdefault(_model(one), {}).update(dict.fromkeys(names))
    # Without predictions the judge's verdicts may have been imported beside the texts.
    columns = dict.fromkeys(
        name for _, task in given for name in task.get("data") or {}
    )
    beside = (
        [name for name in columns if side_of(str(name)) == 1] if not said_by else []
    )
    for place, task in given:
        data = task.get("data") or {}
        shown = _text(
            {name: value for name, value in data.items() if name not in beside}
        )
        kept = {k: v for k, v in data.items() if k != shown and k not in beside}
        about = facts(kept) | {
            "item": str(task.get("id")),
            "text": data.get(shown) if shown else None,
            "place": place,
        }
        for one in task.get("predictions") or ():
            judge, told = _model(one), dict(_values(one, left))
            row = about | {"judge": judge, "settings.model": one.get("model_version")}
            row |= {"confidence": _share(one.get("score"))}
            for name in list(said_by[judge]) or [""]:
                value = told.get(name)
                # A model that predicted of other tasks and not of this one was asked:
                # its verdict is missing, and leaving the row out would hide that.
                lack = {"reason": "the prediction is empty"}
                verdicts.append(
                    row | {"criterion": name} | ({"verdict": value} if value else lack)
                )
        for name in beside:
            value = cell(data.get(name))
            lack = {"reason": "the task has none"}
            told_beside = lack if value is None else {"verdict": value}
            verdicts.append(about | {"judge": name, "criterion": None} | told_beside)
        for one in [*(task.get("annotations") or ()), *(task.get("completions") or ())]:
            if one.get("was_cancelled") or one.get("skipped"):
                left["skipped annotations"] += 1
                continue
            told = dict(_values(one, left))
            who = one.get("completed_by")
            who = (
                (who.get("email") or who.get("id")) if isinstance(who, Mapping) else who
            )
            labels += [
                about
                | {"criterion": name, "label": value, "rater": str(who or "annotator")}
                for name, value in told.items()
            ]
    problems += [
        f"{source}: {n} {what} are no labels and were left out."
        for what, n in left.items()
    ]
    _drop_only_name([*verdicts, *labels])
    yield from joined(verdicts, labels, source, problems)


def _drop_only_name(rows: list[Row]) -> None:
    """Take the name of the control from the rows, where it is the only one."""
    if len({row.get("criterion") for row in rows} - {None}) < 2:
        for row in rows:
            row["criterion"] = None


def _model(one: Mapping[str, Any]) -> str:
    return str(one.get("model_version") or "predictions")


def _share(score: Any) -> float | None:
    return float(score) if isinstance(score, int | float) and 0 <= score <= 1 else None


def _text(data: Mapping[str, Any]) -> str | None:
    """The name of the text that was judged: one of the usual names, else the longest."""
    texts = {name: value for name, value in data.items() if isinstance(value, str)}
    named = next((name for name in _TEXTS if name in texts), None)
    return named or max(texts, key=lambda name: len(texts[name]), default=None)


def _values(one: Mapping[str, Any], left: Counter[str]) -> Iterator[tuple[str, Any]]:
    """What an annotation or prediction says, by the name of the control."""
    for result in one.get("result") or ():
        value = result.get("value") or {}
        found = _value(value)
        if found is None or "start" in value or "x" in value:
            left["marks on parts, and free texts,"] += 1
        else:
            yield str(result.get("from_name") or "label"), found


def _value(value: Mapping[str, Any]) -> Any:
    if isinstance(value.get("choices"), list):
        return _joined(value["choices"])
    if "selected" in value:
        return _SIDES.get(str(value["selected"]), value["selected"])
    return cell(value.get("rating", value.get("number")))


def _joined(several: Any) -> Any:
    """One choice as it is, several with bars between them."""
    return (
        cell("|".join(map(str, several)))
        if isinstance(several, list)
        else cell(several)
    )


def _of_table(given: Given, source: Path | str) -> Iterator[Row]:
    controls = _controls(given, source)
    for place, one in given:
        data = {k: v for k, v in one.items() if k not in _ABOUT and k not in controls}
        shown = _text(data)
        about = facts(
            {name: value for name, value in data.items() if name != shown}
        ) | {
            "item": str(one.get("id")),
            "text": data.get(shown) if shown else None,
            "rater": str(one.get("annotator")),
            "place": place,
        }
        for name in controls:
            criterion = name if len(controls) > 1 else None
            yield about | {"criterion": criterion, "label": _told(one.get(name))}


def _told(value: Any) -> Any:
    """A label; several choices stand in an object, which in CSV is its JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json_value(value)
        except Unreadable:
            return cell(value)
    if isinstance(value, Mapping):
        value = value.get("choices", value.get("rating"))
    return _joined(value)


def _controls(given: Given, source: Path | str) -> list[str]:
    """The columns that are labels: they differ between the people who labelled one item, or hold
    few values. Raises DataError where that is not clear."""
    columns = dict.fromkeys(name for _, one in given for name in one)
    names = [name for name in columns if name not in _ABOUT]
    held: dict[str, dict[Any, set[str]]] = {name: {} for name in names}
    for _, one in given:
        for name in names:
            if cell(one.get(name)) is not None:
                held[name].setdefault(one.get("id"), set()).add(str(one[name]))
    varying = [
        name for name in names if any(len(told) > 1 for told in held[name].values())
    ]
    # What two people say differently of one item cannot be a fact about the item.
    if varying:
        return varying
    few = []
    for name in [name for name in names if name.lower() not in _TEXTS]:
        values = {told for several in held[name].values() for told in several}
        if 1 < len(values) <= min(_MOST_CLASSES, max(2, len(held[name]) // 2)):
            few.append(name)
    if len(few) > 1:
        # In the short export what people said stands between the id and its author.
        order = list(columns)
        between = (
            order[order.index("id") + 1 : order.index("annotator")]
            if "id" in order
            else []
        )
        told_apart = [name for name in few if name in between and order.index("id") > 0]
        people = [name for name in few if side_of(name) in (0, -1)]
        few = told_apart or people or few
    if len(few) != 1:
        shown = ", ".join(few or names)
        raise DataError(
            f"{source}: it is not clear which of its columns people labelled ({shown}). Export it"
            " as JSON instead, which says so."
        )
    return few


READER = Reader(
    "an export of Label Studio",
    _claims,
    log.records,
    _rows,
    About(
        tool="Label Studio",
        file="an export as JSON, JSON_MIN or CSV",
        verdict=(
            "a prediction by its model; without any a field of the task called as a judge's is"
        ),
        label="an annotation by its author",
        fixture="JSON from what is known of its format, not seen with a file of its own;"
        " the others by its converter (2.1.2)",
    ),
)
