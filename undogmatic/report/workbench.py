"""Makes the table of all items that a report is worked with: a row per item and judge, what it
opens to, the orders in which they can be read, and what was left out of a large run. What it lists
is collected by `listed`, of a run, a check or a sweep in one form.
"""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from undogmatic.records.words import NOTHING, Words
from undogmatic.report.document import Bench, Table
from undogmatic.report.listed import EXCERPT, LEVELS, MOST, Listed, cut, some
from undogmatic.report.parts import Part
from undogmatic.report.tables import digits_of
from undogmatic.safety.outside import visible

PACKED, PLAIN = (300_000, 480), (150_000, 480)
"""Bytes that the packed rows may take, and characters of texts in the table for readers without
script: in any report, and in addition for each row."""


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


def bench(listed: Listed, words: Words) -> Bench:
    """The table, with those of its columns that say something, and the orders that they allow: its
    rows in the first of these, packed for the script, and plain for readers without it."""
    told = {
        key: cells
        for key, cells in listed.cells.items()
        if any(cell is not None for cell in cells)
    }
    heads = {key: _column(key, cells, words) for key, cells in told.items()}
    digits = digits_of([score for scores in listed.scores.values() for score in scores])
    columns = [*heads.values(), *(Column(job, "heat", digits) for job in listed.scores)]
    places = {key: n for n, key in enumerate(heads)}
    views = [
        View(words.text(f"bench.view_{name}"), places[key], down, name)
        for name, key, down in ORDERS
        if key in places
    ]
    views.append(View(words.text("bench.view_data")))
    cells_of_rows = zip(*told.values(), *listed.scores.values(), strict=True)
    rows = [
        Row(opened.id, cells, opened.parts, opened.pair)
        for opened, cells in zip(listed.opened, cells_of_rows, strict=True)
    ]
    ordered = _in_order(rows, views[0], columns)
    kept = (
        ordered
        if len(ordered) <= MOST
        else [ordered[n] for n in some(np.arange(len(ordered)))]
    )
    order = words.text(f"bench.view_{listed.order}")
    notes = [
        *_left_out(len(rows), listed.total, order, words),
        *listed.notes,
        *_left_out(len(kept), len(rows), views[0].title, words),
    ]
    sentence = f"bench.begins_{views[0].name}"
    begins = ""
    if kept and words.find(sentence):
        first = dict(
            zip(heads, zip(kept[0][1].cells, columns, strict=False), strict=False)
        )
        begins = _begins(sentence, kept[0][1].id, first, words)
    caption = listed.caption or words.text("bench.caption", n=len(rows))
    spoken = {key: words.text(f"bench.{key}") for key in _TOLD}
    spoken |= {"caption": caption, "nothing": NOTHING}
    spoken["rows"] = words.text("bench.rows", shown="{shown}", total="{total}")
    spoken |= {
        "decimal": words.text("common.decimal_mark"),
        "comma": words.text("common.interval_separator"),
    }
    fixed = {
        "words": spoken,
        "columns": [c._asdict() for c in columns],
        "views": [v._asdict() for v in views],
    }
    heat = None if listed.heat is None else listed.heat._asdict()
    packed, longest = _packed(fixed | {"heat": heat}, kept)
    if any(len(part.text) > longest for _, row in kept for part in row.parts):
        notes.append(words.text("bench.cut", length=longest, file=listed.source))
    texts = [
        "\n\n".join(part.text for part in row.parts if part.kind == "input")
        for _, row in kept
    ]
    most = fair_length([*map(len, texts)], PLAIN[0] + PLAIN[1] * len(kept))
    at, plain = [column.kind for column in columns].index("text"), []
    for (_, row), text in zip(kept, texts, strict=True):
        written = [
            _written(value, column, words)
            for value, column in zip(row.cells, columns, strict=True)
        ]
        plain.append([*written[:at], cut(text, most), *written[at + 1 :]])
    numeric = [column.kind in ("number", "error", "heat") for column in columns]
    named = [column.kind == "id" for column in columns]
    table = Table([column.title for column in columns], plain, numeric, caption, named)
    # an id stands on the page once
    first = {row.id: n for n, (_, row) in reversed([*enumerate(kept)])}
    ids = [row.id if first[row.id] == n else "" for n, (_, row) in enumerate(kept)]
    return Bench(table, ids, notes, packed, words.text("bench.elsewhere"), begins)


def _begins(
    sentence: str, item: str, cells: Mapping[str, tuple[Any, Column]], words: Words
) -> str:
    """Say on which item one looks first and, where that is known, what was said of it."""
    said = {
        key: _written(*cells[key], words)
        for key in ("label", "score", "verdict")
        if key in cells and cells[key][0] is not None
    }
    if "verdict" in said:
        said["score"] = said.pop("verdict")
    if words.find(f"{sentence}_said") and said.keys() == {"label", "score"}:
        return words.text(f"{sentence}_said", item=item, **said)
    return words.text(sentence, item=item)


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


def _left_out(shown: int, total: int, order: str, words: Words) -> list[str]:
    counts = {"shown": shown, "total": total, "first": MOST // 2, "order": order}
    return [words.text("bench.sampled", **counts)] if shown < total else []


def _column(key: str, values: Sequence[Any], words: Words) -> Column:
    kind = KINDS.get(key, "mark")
    order = list[str]()
    known = [value for value in values if value is not None]
    if key == "doubt":
        order = [words.text(f"common.level_{level}") for level in LEVELS]
    elif key == "agrees":
        order = [
            words.text(f"bench.{level}") for level in ("same", "partly", "differs")
        ]
    elif key == "label" and isinstance(known[0], str):
        kind, names = "mark", words.reader.names if words.reader is not None else ()
        places = {
            label: [names.index(each) for each in label.split(" / ") if each in names]
            for label in known
        }
        order = sorted(places, key=places.__getitem__)
    flat = [
        end for value in known for end in (value if kind == "interval" else [value])
    ]
    digits = (
        0
        if kind in ("id", "text", "mark") or (key == "confidence" and max(flat) > 1)
        else digits_of(flat)
    )
    return Column(words.text(f"bench.{key}"), kind, digits, order)


KINDS = {
    "item": "id",
    "text": "text",
    "issues": "text",
    "interval": "interval",
    "error": "error",
}
KINDS |= dict.fromkeys(("score", "label", "confidence", "spread"), "number")
"""The kinds of columns by name; any other is of marks."""
ORDERS = (
    ("apart", "spread", True),
    ("furthest", "error", True),
    ("furthest", "agrees", True),
    ("doubtful", "doubt", True),
    ("unsure", "confidence", False),
    ("highest", "score", True),
    ("lowest", "score", False),
)
"""Orders of a table, the first first: what each is called, by which column, and whether from its
most."""


def _in_order(
    rows: Sequence[Row], view: View, columns: Sequence[Column]
) -> list[tuple[int, Row]]:
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


def _packed(
    fixed: Mapping[str, Any], rows: Sequence[tuple[int, Row]]
) -> tuple[str, int]:
    """The rows with `fixed` as JSON, packed by gzip and written in base64, so that no text in them
    can be markup; what rows open to is cut until all keeps to PACKED. With that, the length to
    which it was cut."""
    lengths = [len(part.text) for _, row in rows for part in row.parts]
    budget = sum(lengths)
    while True:
        longest = fair_length(lengths, budget)
        packer = zlib.compressobj(6, wbits=zlib.MAX_WBITS | 16)  # with the ends of gzip
        pieces = [
            packer.compress(f'{_json(fixed)[:-1]},"rows":['.encode("utf-8", "replace"))
        ]
        # one after the other: all of them would be held three times
        for nth, (number, row) in enumerate(rows):
            written = {
                "n": number,
                "id": row.id,
                "pair": row.pair,
                "cells": [
                    visible(cell) if isinstance(cell, str) else cell
                    for cell in row.cells
                ],
                "parts": [
                    (visible(title), visible(cut(text, longest)), kind)
                    for title, text, kind in row.parts
                ],
            }
            pieces.append(
                packer.compress(
                    f"{',' * (nth > 0)}{_json(written)}".encode("utf-8", "replace")
                )
            )
        packed = base64.b64encode(
            b"".join([*pieces, packer.compress(b"]}"), packer.flush()])
        ).decode()
        if len(packed) <= PACKED[0] + PACKED[1] * len(rows) or longest <= EXCERPT:
            return packed, longest
        budget = int(
            budget * min(0.8, (PACKED[0] + PACKED[1] * len(rows)) / len(packed))
        )


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
