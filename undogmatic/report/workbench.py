"""Makes the table of all items that a report is worked with: a row per item and judge, what it
opens to, the orders in which they can be read, and what was left out of a large run. Subtracts
labels from scores; computes nothing else.
"""

import base64
import json
import math
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.check import name_of
from undogmatic.records.checked import CheckResult
from undogmatic.records.evidence import SLICE, Evidence
from undogmatic.records.records import OVERALL, Item, Verdict
from undogmatic.records.stored import whole
from undogmatic.report.document import Bench, Table, place
from undogmatic.report.parts import Part, Shown, inputs_of, people_of, said_of
from undogmatic.report.tables import digits_of
from undogmatic.report.words import NOTHING, Words, missing
from undogmatic.runs.outcome import FinishedRun, SweepResult
from undogmatic.safety.outside import visible
from undogmatic.safety.secrets import redacted
from undogmatic.safety.spool import many

# rows; of more, half are those that come first in the order, half are taken at even steps of the
# rest
MOST = 10_000
EXCERPT = 300  # characters of a text in its row
PACKED, PLAIN = (300_000, 480), (150_000, 480)
"""Bytes that the packed rows may take, and characters of texts in the table for readers without
script: in any report, and in addition for each row."""
LEVELS = ("low", "medium", "high")
"""Levels of doubt, from least to most."""


class Column(NamedTuple):
    """`kind`: "id", "text", "mark" (of few values, by which one filters), "number", "interval"
    (sorted by its width), "error" (sorted by its size, written with its sign) or "heat" (coloured
    by its place on the scale).
    """

    title: str
    kind: str
    digits: int = 0
    order: Sequence[str] = ()  # of marks: the values from least to most


class Row(NamedTuple):
    """An item, or one judgment of it; `cells` as the columns have them, an interval as a pair."""

    id: str
    cells: Sequence[Any]
    parts: Sequence[Part]
    pair: str | None = None


class View(NamedTuple):
    """An order in which the rows can be read: by a column (None: as in the data), from its least
    value or its most."""

    title: str
    column: int | None = None
    down: bool = True
    name: str = "data"


def bench_of(run: FinishedRun, words: Words) -> Bench:
    """The table of a run: first what is furthest from its label; without labels, what is doubted
    most."""
    # and nothing else is held while the table is made of it
    columns, opened, total, first = _read(run, words)
    block = _laid_out(columns, opened, words, "judgments.jsonl")
    return block._replace(
        notes=[
            *_left_out(len(opened), total, words.text(f"bench.view_{first}"), words),
            *block.notes,
        ]
    )


Opened = tuple[str, Sequence[Part], str | None]  # the item of a row, what it opens to, and its pair


def _read(run: FinishedRun, words: Words) -> tuple[dict[str, list[Any]], list[Opened], int, str]:
    """The columns of the table of a run, what its rows open to, of how many rows these are, and by
    which order."""
    whole = run.frame[run.frame["repeat"] == 0]
    told, first = _told_first(whole, run)
    frame, shown = told.to_dict("records"), set(told["item_id"])
    judged = {j.key: Shown.of(j, words) for j in run.judgments if j.item_id in shown}
    repeats = range(run.repeats[-1] + 1)
    known = [
        [judged.get((r["item_id"], r["judge"], r["criterion"], n)) for n in repeats] for r in frame
    ]
    items, opened = {item.id: item for item in run.items if item.id in shown}, list[Opened]()
    for row, told_of in zip(frame, known, strict=True):
        item = items[row["item_id"]]
        inputs = inputs_of(item, run.rubric, words, run.settings.redacted)
        said = said_of(item, row["criterion"], [each for each in told_of if each], words)
        opened.append((item.id, [*inputs, *said], item.pair))
    return (
        _columns(frame, [each[0] for each in known], items, run, words),
        opened,
        len(whole),
        first,
    )


def _told_first(frame: pd.DataFrame, run: FinishedRun) -> tuple[pd.DataFrame, str]:
    """The rows that a table of a run with many items has: half of MOST are those that come first in
    its order, half are taken at even steps of the rest; and the name of that order. All of a run
    whose items are held.
    """
    if not many(run.items) or len(frame) <= MOST:
        return whole(frame), "data"

    # one after the other: of a million rows each is 8 MB
    def orders() -> Iterator[tuple[str, pd.Series]]:
        yield "furthest", (frame["score"] - frame["label"]).abs()
        yield "doubtful", frame["doubt"]
        yield "unsure", -frame["confidence"]
        yield "highest", frame["score"]

    nothing = ("data", pd.Series(np.nan, range(len(frame))))
    name, worst = next((each for each in orders() if each[1].notna().any()), nothing)
    order = np.argsort(
        np.nan_to_num(-worst.to_numpy(dtype=float), copy=False, nan=np.inf), kind="stable"
    )
    return frame.iloc[_some(order)], name


def _some(order: np.ndarray) -> np.ndarray:
    """MOST of these places, sorted: half of them are the first, half are taken at even steps of the
    rest."""
    first, rest = order[: MOST // 2], order[MOST // 2 :]
    return np.sort(np.concatenate([first, rest[np.arange(MOST // 2) * len(rest) // (MOST // 2)]]))


def _left_out(shown: int, total: int, order: str, words: Words) -> list[str]:
    counts = {"shown": shown, "total": total, "first": MOST // 2, "order": order}
    return [words.text("bench.sampled", **counts)] if shown < total else []


def bench_of_sweep(sweep: SweepResult, words: Words) -> Bench:
    """The table of a sweep: a row for each item, a column for each job, first where the jobs are
    furthest apart."""
    matrix, order = sweep.scores, "data"
    if len(matrix) > MOST:
        apart = (matrix.max(axis="columns") - matrix.min(axis="columns")).where(
            matrix.count(axis="columns") > 1
        )
        order = "apart" if apart.notna().any() else order
        matrix = matrix.iloc[_some(np.argsort(-apart.to_numpy(), kind="stable"))]
    shown = set(matrix.index)
    items = {item.id: item for item in sweep.items if item.id in shown}
    notes = _left_out(len(matrix), len(sweep.scores), words.text(f"bench.view_{order}"), words)
    told: dict[str, list[Any]] = {"item": list(matrix.index), "text": [], "label": [], "spread": []}
    rows: list[tuple[str, list[Part], str | None]] = []
    for name in matrix.index:
        item, scores = items.get(name), matrix.loc[name].dropna()
        parts = [] if item is None else inputs_of(item, sweep.rubric, words, sweep.redacted)
        told["text"].append(_cut(" ".join(parts[0].text.split()) if parts else "", EXCERPT))
        told["label"].append(None if item is None else item.label)
        told["spread"].append(float(scores.max() - scores.min()) if len(scores) > 1 else None)
        parts += [] if item is None else people_of(item, OVERALL, words)
        parts += [
            Part(job, f"{sweep.numbers[job]}/report.html#{place(name)}", "link")
            for job in scores.index
        ]
        rows.append((name, parts, None if item is None else item.pair))
    told = {
        key: cells
        for key, cells in told.items()
        if key in ("item", "text") or any(v is not None for v in cells)
    }
    heads = {key: _column(key, values, words) for key, values in told.items()}
    values = {
        job: [None if missing(v) else float(v) for v in matrix[job]] for job in matrix.columns
    }
    digits = digits_of([v for own in values.values() for v in own])
    columns = [*heads.values(), *(Column(job, "heat", digits) for job in values)]
    cells = zip(*told.values(), *values.values(), strict=True)
    made = [
        Row(name, own, parts, pair) for (name, parts, pair), own in zip(rows, cells, strict=True)
    ]
    views = [View(words.text("bench.view_data"))]
    if "spread" in told:
        views.insert(0, View(words.text("bench.view_apart"), [*told].index("spread"), name="apart"))
    known = [v for own in values.values() for v in own if v is not None]
    ends = (
        (min(known), max(known))
        if sweep.rubric is None
        else (sweep.rubric.minimum, sweep.rubric.maximum)
    )
    heat = {"low": ends[0], "high": ends[1], "margin": sweep.margin}
    notes += (
        [words.text("bench.colour", margin=sweep.margin)]
        if sweep.margin is not None and len(values) > 1
        else []
    )
    notes += [words.text("bench.unread", why=sweep.unread)] if sweep.unread else []
    block = bench(
        columns,
        made,
        views,
        words,
        words.text("bench.caption_sweep", n=len(sweep.scores)),
        "judgments.jsonl",
        heat,
    )
    return block._replace(notes=[*notes, *block.notes])


def bench_of_check(result: CheckResult, words: Words) -> Bench:
    """The table of a check: a row for each item and judge, first where judge and people are
    furthest apart."""
    table, told, opened = result.table, defaultdict[str, list[Any]](list), []
    sizes = table.items.groupby("group")["group"].transform("size")
    for each in result.judges:
        own = table.of(each.judge, each.criterion)
        people = dict(iter(own.labels.dropna(subset=["label"]).groupby("item")))
        for row in own.first().to_dict("records"):
            item = str(row["item"])
            about = {
                str(key): value
                for key, value in table.items.loc[row["item"]].items()
                if not missing(value)
            }
            texts = {key: str(about[key]) for key in ("text", "text_1", "text_2") if about.get(key)}
            labels = people.get(row["item"], own.labels.iloc[:0])
            cells = _checked(table, row["verdict"], labels["label"].tolist(), words)
            cells |= {
                "item": item,
                "text": _cut(
                    " / ".join(" ".join(text.split()) for text in texts.values()), EXCERPT
                ),
                "judge": (
                    name_of(table, each.judge, each.criterion) if len(result.judges) > 1 else None
                ),
                "shown": None if missing(row["order"]) else words.text(f"bench.{row['order']}"),
                "confidence": None if missing(row["confidence"]) else float(row["confidence"]),
                "failed": row["reason"],
            }
            for key in CHECKED:
                told[key].append(cells.get(key))
            given = [
                f"{r}: {_shown(table, v, words)}"
                for r, v in zip(labels["rater"], labels["label"], strict=True)
            ]
            known = [
                f"{k.removeprefix(SLICE)}: {words.number(v)}"
                for k, v in about.items()
                if k not in _INNER
            ]
            said = {"labels": given, "known": known, "place": [str(row["place"])]}
            parts = [Part(words.text(f"bench.{key}"), text, "input") for key, text in texts.items()]
            parts += [
                Part(words.text(f"bench.{key}"), "\n".join(lines))
                for key, lines in said.items()
                if lines
            ]
            opened.append((item, parts, about["group"] if sizes[row["item"]] == 2 else None))
    return _laid_out(told, opened, words, ", ".join(Path(name).name for name in table.sources))


CHECKED = (
    "item",
    "text",
    "judge",
    "shown",
    "score",
    "verdict",
    "label",
    "error",
    "agrees",
    "confidence",
    "failed",
)
# what is known of an item, and shown otherwise
_INNER = (
    "group",
    "probability",
    "text",
    "text_1",
    "text_2",
)


def _checked(
    table: Evidence, verdict: float, labels: Sequence[float], words: Words
) -> dict[str, Any]:
    """What a judge and people said of an item, and how far they are apart: numbers by their
    difference, categories by whether they are the same."""
    gaps, shown = (
        [verdict - label for label in labels if not missing(verdict)],
        partial(_shown, table, words=words),
    )
    if table.kind == "numeric":
        cells: dict[str, Any] = {
            "score": verdict,
            "label": math.fsum(labels) / len(labels) if labels else None,
        }
        cells |= {"error": math.fsum(gaps) / len(gaps) if gaps else None}
        return {key: None if missing(value) else value for key, value in cells.items()}
    cells = {"label": " / ".join(map(shown, sorted(set(labels)))) or None}
    cells |= {"verdict": None if missing(verdict) else shown(verdict)}
    differ = sum(gap != 0 for gap in gaps)
    key = "same" if not differ else "differs" if differ == len(gaps) else "partly"
    return cells | {"agrees": words.text(f"bench.{key}") if gaps else None}


def _shown(table: Evidence, value: float, words: Words) -> str:
    """A verdict or label as it is read."""
    return (
        words.number(value, "g")
        if table.kind == "numeric"
        else words.value(table.categories[int(value)], "check")
    )


def _laid_out(
    columns: Mapping[str, Sequence[Any]],
    opened: Sequence[Opened],
    words: Words,
    whole: str,
) -> Bench:
    """The table with those of these columns that say something, and the orders that they allow."""
    told = {key: cells for key, cells in columns.items() if any(cell is not None for cell in cells)}
    heads = {key: _column(key, values, words) for key, values in told.items()}
    places = {key: n for n, key in enumerate(heads)}
    views = [
        View(words.text(f"bench.view_{name}"), places[key], down, name)
        for name, key, down in ORDERS
        if key in places
    ]
    views.append(View(words.text("bench.view_data")))
    cells = zip(*told.values(), strict=True)
    rows = [
        Row(item, own, parts, pair) for (item, parts, pair), own in zip(opened, cells, strict=True)
    ]
    return bench(
        [*heads.values()], rows, views, words, words.text("bench.caption", n=len(rows)), whole
    )


def bench(
    columns: Sequence[Column],
    rows: Sequence[Row],
    views: Sequence[View],
    words: Words,
    caption: str,
    whole: str,  # the file in which stands whole what is cut here
    heat: (
        Mapping[str, float | None] | None
    ) = None,  # `low` and `high` of the scale, and the `margin` from which jobs differ
) -> Bench:
    """The block: rows in the order of the first view, packed for the script, and plain for readers
    without it."""
    ordered = _in_order(rows, views[0], columns)
    kept = ordered if len(ordered) <= MOST else [ordered[n] for n in _some(np.arange(len(ordered)))]
    notes = _left_out(len(kept), len(rows), views[0].title, words)
    sentence = f"bench.begins_{views[0].name}"
    begins = words.text(sentence, item=kept[0][1].id) if kept and words.find(sentence) else ""
    told = {key: words.text(f"bench.{key}") for key in _TOLD} | {
        "caption": caption,
        "nothing": NOTHING,
    }
    told["rows"] = words.text("bench.rows", shown="{shown}", total="{total}")
    told |= {
        "decimal": words.text("common.decimal_mark"),
        "comma": words.text("common.interval_separator"),
    }
    fixed = {
        "words": told,
        "columns": [c._asdict() for c in columns],
        "views": [v._asdict() for v in views],
    }
    packed, longest = _packed(fixed | {"heat": heat}, kept)
    if any(len(part.text) > longest for _, row in kept for part in row.parts):
        notes.append(words.text("bench.cut", length=longest, file=whole))
    texts = [
        "\n\n".join(part.text for part in row.parts if part.kind == "input") for _, row in kept
    ]
    most = fair_length([*map(len, texts)], PLAIN[0] + PLAIN[1] * len(kept))
    at, plain = [column.kind for column in columns].index("text"), []
    for (_, row), text in zip(kept, texts, strict=True):
        written = [
            _written(value, column, words) for value, column in zip(row.cells, columns, strict=True)
        ]
        plain.append([*written[:at], _cut(text, most), *written[at + 1 :]])
    numeric = [column.kind in ("number", "error", "heat") for column in columns]
    named = [column.kind == "id" for column in columns]
    table = Table([column.title for column in columns], plain, numeric, caption, named)
    # an id stands on the page once
    first = {row.id: n for n, (_, row) in reversed([*enumerate(kept)])}
    ids = [row.id if first[row.id] == n else "" for n, (_, row) in enumerate(kept)]
    return Bench(table, ids, notes, packed, words.text("bench.elsewhere"), begins)


_TOLD = (
    "search",
    "all",
    "order",
    "clear",
    "raw",
    "differ",
    "none",
    "reports",
    "more_like",
    "less_like",
)
"""What the script itself says."""


def fair_length(lengths: Sequence[int], budget: int) -> int:
    """The length to which texts of these `lengths` are cut, so that all together keep to a budget;
    that of the longest where nothing need be cut."""
    for n, length in enumerate(ordered := sorted(lengths)):
        if length * (len(ordered) - n) > budget:
            return max(1, budget // (len(ordered) - n))
        budget -= length
    return max(lengths, default=0)


def _columns(
    rows: Sequence[Mapping[Any, Any]],
    judgments: Sequence[Shown | None],
    items: Mapping[str, Item],
    run: FinishedRun,
    words: Words,
) -> dict[str, list[Any]]:
    """The cells of the columns by name; None where there is nothing to say."""

    def number(key: str) -> list[float | None]:
        return [None if missing(row[key]) else float(row[key]) for row in rows]

    def scores(key: str) -> list[float | None]:
        return [None if value is None else words.placed(value) for value in number(key)]

    def marks(key: str, section: str) -> list[str | None]:
        values = (row[key] for row in rows)
        return [
            None if missing(v) else words.find(f"common.{section}{v}") or str(v) for v in values
        ]

    hidden, texts = run.settings.redacted, {name: item.text for name, item in items.items()}
    shown = {
        name: redacted(text) if hidden else " ".join(text.split()) for name, text in texts.items()
    }
    score, label = scores("score"), scores("label")
    ends = zip(scores("low"), scores("high"), strict=True)
    outcomes = [judgment and judgment.outcome for judgment in judgments]
    return {
        "item": [row["item_id"] for row in rows],
        "text": [_cut(shown[row["item_id"]], EXCERPT) for row in rows],
        "judge": [run.parts[row["judge"], row["criterion"]] or None for row in rows],
        "condition": [
            None if missing(row["condition"]) else words.value(row["condition"]) for row in rows
        ],
        "score": score,
        "category": marks("category", "names."),
        "interval": [None if a is None or b is None else (min(a, b), max(a, b)) for a, b in ends],
        "label": [None if value is None else words.label(value) for value in number("label")],
        "error": [
            None if a is None or b is None else a - b for a, b in zip(score, label, strict=True)
        ],
        "doubt": marks("uncertainty", "level_"),
        "confidence": number("confidence"),
        "issues": [
            "; ".join(each.issues) or None if isinstance(each, Verdict) else None
            for each in outcomes
        ],
        "review": [words.text("common.yes") if row["review"] else None for row in rows],
        "failed": marks("error", "failure."),
    }


def _column(key: str, values: Sequence[Any], words: Words) -> Column:
    kind, order, known = (
        KINDS.get(key, "mark"),
        list[str](),
        [value for value in values if value is not None],
    )
    if key == "doubt":
        order = [words.text(f"common.level_{level}") for level in LEVELS]
    elif key == "agrees":
        order = [words.text(f"bench.{level}") for level in ("same", "partly", "differs")]
    elif key == "label" and isinstance(known[0], str):
        kind, names = "mark", words.reader.names if words.reader is not None else ()
        places = {
            label: [names.index(each) for each in label.split(" / ") if each in names]
            for label in known
        }
        order = sorted(places, key=places.__getitem__)
    flat = [end for value in known for end in (value if kind == "interval" else [value])]
    digits = (
        0
        if kind in ("id", "text", "mark") or (key == "confidence" and max(flat) > 1)
        else digits_of(flat)
    )
    return Column(words.text(f"bench.{key}"), kind, digits, order)


KINDS = {"item": "id", "text": "text", "issues": "text", "interval": "interval", "error": "error"}
KINDS |= dict.fromkeys(("score", "label", "confidence", "spread"), "number")
"""The kinds of columns by name; any other is of marks."""
ORDERS = (
    ("furthest", "error", True),
    ("furthest", "agrees", True),
    ("doubtful", "doubt", True),
    ("unsure", "confidence", False),
    ("highest", "score", True),
    ("lowest", "score", False),
)
"""Orders of a table, the first first: what each is called, by which column, and whether from its
most."""


def _in_order(rows: Sequence[Row], view: View, columns: Sequence[Column]) -> list[tuple[int, Row]]:
    """The rows with their places in the data, as the view orders them; what has no value comes
    last."""
    numbered = list(enumerate(rows))
    if view.column is None:
        return numbered
    column, sign = columns[view.column], -1 if view.down else 1

    def place(each: tuple[int, Row]) -> tuple[bool, float]:
        value = each[1].cells[view.column or 0]
        if value is None:
            return True, 0.0
        if column.kind == "mark":
            value = column.order.index(value) if value in column.order else -1
        return False, sign * (abs(value) if column.kind == "error" else value)

    return sorted(numbered, key=place)


def _packed(fixed: Mapping[str, Any], rows: Sequence[tuple[int, Row]]) -> tuple[str, int]:
    """The rows with `fixed` as JSON, packed by gzip and written in base64, so that no text in them
    can be markup; what rows open to is cut until all keeps to PACKED. With that, the length to
    which it was cut."""
    lengths = [len(part.text) for _, row in rows for part in row.parts]
    budget = sum(lengths)
    while True:
        longest = fair_length(lengths, budget)
        packer = zlib.compressobj(6, wbits=zlib.MAX_WBITS | 16)  # with the ends of gzip
        pieces = [packer.compress(f'{_json(fixed)[:-1]},"rows":['.encode("utf-8", "replace"))]
        # one after the other: all of them would be held three times
        for nth, (number, row) in enumerate(rows):
            written = {
                "n": number,
                "id": row.id,
                "pair": row.pair,
                "cells": [visible(cell) if isinstance(cell, str) else cell for cell in row.cells],
                "parts": [
                    (visible(title), visible(_cut(text, longest)), kind)
                    for title, text, kind in row.parts
                ],
            }
            pieces.append(
                packer.compress(f"{',' * (nth > 0)}{_json(written)}".encode("utf-8", "replace"))
            )
        packed = base64.b64encode(
            b"".join([*pieces, packer.compress(b"]}"), packer.flush()])
        ).decode()
        if len(packed) <= PACKED[0] + PACKED[1] * len(rows) or longest <= EXCERPT:
            return packed, longest
        budget = int(budget * min(0.8, (PACKED[0] + PACKED[1] * len(rows)) / len(packed)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _written(value: Any, column: Column, words: Words) -> str:
    """A cell of the plain table."""
    if value is None:
        return NOTHING if column.kind not in ("mark", "text") else ""
    if column.kind in ("id", "text", "mark"):
        return str(value)
    sign = "+" if column.kind == "error" else ""
    return words.number(value, f"{sign}.{column.digits}f")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rstrip() + "…"
