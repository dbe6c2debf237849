"""Reads the folder of a run of ours: its journal, the labels that people gave it or its dataset
had, and its texts.

A run that was held against labels has kept its evidence, which is read where it is there. Else the
texts are those of `with_labels.jsonl`, or of the dataset's file where it is still as it was.
Of several judgments with one key the last counts, as a resumed run asks again what got no answer.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import own_table
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    at,
    cell,
    facts,
    joined,
    lines,
    records,
)
from undogmatic.errors import DataError
from undogmatic.records.evidence import (
    AS_GIVEN,
    SWAPPED,
    settings_of,
    settings_of_judges,
)
from undogmatic.records.own_scale import OwnScale
from undogmatic.records.records import OVERALL, LabelScale, text_mark
from undogmatic.safety.outside import read_json, read_yaml

MANIFEST, JOURNAL, SCORES = "run.json", "judgments.jsonl", "scores.csv"
EVIDENCE = "evidence.jsonl"
REVIEWED, LABELS, WITH_LABELS = "labels.jsonl", "labels.csv", "with_labels.jsonl"
CHOICES = ("tie", "first", "second")
"""The categories of rubric=preference, where the run's config does not name others."""
_CONFIG, _START = ".hydra/config.yaml", ".hydra/hydra.yaml"
_NOT_FACTS = (
    "id",
    "text",
    "inputs",
    "pair",
    "maker",
    "label_count",
    "label_spread",
    "parent",
)


def _claims(head: Head) -> bool:
    return (
        head.path.is_dir()
        and (head.path / MANIFEST).is_file()
        and (head.path / JOURNAL).is_file()
    )


def _journal(path: Path, problems: list[str]) -> Given:
    if (path / EVIDENCE).is_file():
        return records(path / EVIDENCE, problems)
    return [
        (f"{path / JOURNAL}:{number}", given)
        for number, given in lines(path / JOURNAL, problems)
    ]


def _rows(records: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    path = Path(source)
    if (path / EVIDENCE).is_file():
        judged = (one for _, one in lines(path / JOURNAL, []))
        settings = settings_of_judges(
            (str(one["judge"]), one.get("provenance") or {}) for one in judged
        )
        rows = own_table.READER.rows(records, source, problems)
        with_settings = [row | settings.get(str(row["judge"]), {}) for row in rows]
        yield from _labelled_since(with_settings, path, problems)
        return
    last = {_key(given): (place, given) for place, given in records}
    known = _items(path, problems)
    groups = {
        r["item_id"]: r["group"]
        for _, r in _table(path / SCORES, problems)
        if r.get("group")
    }
    verdicts, scored = list[Row](), list[Row]()
    for place, given in last.values():
        outcome = given["outcome"]
        origin = given.get("provenance") or {}
        item = str(given["item_id"])
        row: Row = (
            {"item": item, "group": groups.get(item)}
            | known.get(item, {})
            | settings_of(origin)
        )
        row |= {
            "judge": given["judge"],
            "criterion": given.get("criterion", OVERALL),
            "repeat": given.get("repeat", 0),
        }
        row |= {"place": place}
        if outcome.get("kind") == "verdict":
            category, score = outcome.get("category"), outcome.get("score")
            confidence = (
                None
                if outcome.get("confidence") is None
                else outcome["confidence"] / 100
            )
            row |= {
                "verdict": cell(score if category is None else category),
                "confidence": confidence,
            }
            scored += [row] if category is None and score is not None else []
        else:
            row |= {"reason": str(outcome.get("message") or outcome.get("reason"))}
        verdicts.append(row)
    criteria = dict.fromkeys(row["criterion"] for row in verdicts)
    labels, own = list(_labels(path, criteria, problems)), _own_scale(path, criteria)
    if own is not None and len(scored) == len(
        [row for row in verdicts if "verdict" in row]
    ):
        for row in scored:
            row["verdict"] = cell(own.score(float(row["verdict"])))
    # judge=compare: what was said in each order, in the given numbering
    if AS_GIVEN in criteria:
        both = (row for row in verdicts if row["criterion"] in (AS_GIVEN, SWAPPED))
        verdicts = [
            row | {"criterion": OVERALL, "order": row["criterion"]} for row in both
        ]
        named = _choices(path)
        overall = [row for row in labels if row["criterion"] == OVERALL]
        labels = [
            row | {"label": named.get(str(row["label"]), row["label"])}
            for row in overall
        ]
    yield from joined(verdicts, labels, path, problems)


def _labelled_since(rows: list[Row], path: Path, problems: list[str]) -> Iterator[Row]:
    """The rows of the run's evidence; where people labelled its items afterwards, with their labels
    in place of those that it had."""
    if not (path / REVIEWED).is_file():
        yield from rows
        return
    verdicts: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(
            row.get(name) for name in ("item", "judge", "criterion", "repeat", "order")
        )
        verdicts.setdefault(key, row | {"label": None, "rater": None})
    criteria = dict.fromkeys(row["criterion"] for row in rows)
    yield from joined(
        [*verdicts.values()], [*_labels(path, criteria, problems)], path, problems
    )


def _choices(path: Path) -> dict[str, str]:
    """What the labels 0, 1, ... of two outputs mean: the categories of the run's rubric in their
    order."""
    named = None
    with contextlib.suppress(DataError):
        named = (at(read_yaml(path / _CONFIG), "rubric", "scale") or {}).get(
            "categories"
        )
    return {str(float(place)): str(name) for place, name in enumerate(named or CHOICES)}


def _key(given: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        given["item_id"],
        given["judge"],
        given.get("criterion"),
        given.get("repeat", 0),
    )


def _own_scale(path: Path, criteria: Mapping[str, None]) -> OwnScale | None:
    """The scale on which people gave the labels of a run, where the run notes that it was not the
    rubric's: whoever checks the run is told of that one."""
    noted = read_json(path / MANIFEST)
    given, ends = (noted.get(key) for key in ("label_scale", "rubric_scale"))
    if not given or not ends or AS_GIVEN in criteria:
        return None
    return OwnScale(*LabelScale.model_validate(given).numbers, *ends)


def _labels(
    path: Path, criteria: Mapping[str, None], problems: list[str]
) -> Iterator[Row]:
    """The labels of the review, where there was one, else those of the dataset."""
    about = [OVERALL] if OVERALL in criteria else list(criteria)
    own = _own_scale(path, criteria)

    def placed(label: Any) -> Any:
        with contextlib.suppress(TypeError, ValueError):  # a word is what it is
            label = label if own is None or label == "" else own.score(float(label))
        return cell(label)

    if (path / REVIEWED).is_file():
        last = {
            (one["item_id"], one["labeller"]): one
            for _, one in lines(path / REVIEWED, problems)
        }
        for (item, who), one in last.items():
            label = one["given"] if isinstance(one.get("given"), str) else one["label"]
            yield from (
                {"item": item, "criterion": c, "label": placed(label), "rater": who}
                for c in about
            )
    else:
        for _, row in _table(path / LABELS, problems):
            named = [row["criterion"]] if row.get("criterion") else about
            yield from (
                {
                    "item": row["item_id"],
                    "criterion": c,
                    "label": row["label"] if own is None else placed(row["label"]),
                    "rater": "dataset",
                }
                for c in named
            )


def _table(path: Path, problems: list[str]) -> list[tuple[str, Mapping[str, Any]]]:
    return records(path, problems) if path.is_file() else []


def _items(path: Path, problems: list[str]) -> dict[str, Row]:
    """What is known of the items, by id."""
    marks = {
        row["item_id"]: row.get("text_mark")
        for _, row in _table(path / LABELS, problems)
    }
    source = path / WITH_LABELS if (path / WITH_LABELS).is_file() else _dataset(path)
    if source is None:
        return {}
    known: dict[str, Row] = {}
    for number, given in enumerate((row for _, row in _table(source, [])), 1):
        inputs = given.get("inputs") or {
            name: given[name]
            for name in ("text", "summary", "source")
            if given.get(name)
        }
        text = "\n\n".join(str(value) for value in inputs.values())
        pair = {
            f"text_{n}": inputs[f"output_{n}"]
            for n in (1, 2)
            if inputs.get(f"output_{n}")
        }
        item = str(given.get("id") or number)
        # The dataset lies elsewhere and may have been changed since: a counter of words
        # that learnt from other texts than the judge read would be no rival of it.
        if marks.get(item, text_mark(text)) != text_mark(text):
            problems.append(
                f"{source}: the text of {item} is no longer the one that was judged; no text was"
                " read."
            )
            return {}
        more = {
            key: value
            for key, value in given.items()
            if key not in _NOT_FACTS and "label" not in key
        }
        about = {
            key: more.pop(key) for key in ("system_1", "system_2") if key in more
        } | pair
        known[item] = (
            facts(more)
            | about
            | {
                "text": None if pair else text or None,
                "system": given.get("maker"),
            }
        )
    return known


def _dataset(path: Path) -> Path | None:
    """The file of the run's dataset, if it is one that is still there."""
    # without Hydra's extra its config is not read
    with contextlib.suppress(DataError, ImportError, OSError):
        named, start = at(read_yaml(path / _CONFIG), "dataset", "path"), None
        with contextlib.suppress(DataError):
            start = at(read_yaml(path / _START), "hydra", "runtime", "cwd")
        found = Path(str(start or ".")) / str(named) if named else None
        if found is not None and found.suffix in (".jsonl", ".csv") and found.is_file():
            return found
    return None


READER = Reader(
    "the folder of a run",
    _claims,
    _journal,
    _rows,
    About(
        tool="undogmatic",
        file="a run's folder, or what `export` wrote",
        verdict="the last judgment of each key",
        label="the labels of the review, else those of the dataset",
        fixture="by itself",
    ),
)
