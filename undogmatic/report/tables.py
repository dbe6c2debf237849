"""Data frames and metrics as tables in words. Rounds and names; computes nothing."""

import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from undogmatic.records.results import Told
from undogmatic.records.words import Words, missing
from undogmatic.report.document import Block, Paragraph, Table
from undogmatic.safety import files
from undogmatic.stats.estimate import Unit

MOST_ROWS = 25
NAMING = ("item", "item_id", "pair", "pair_id")  # columns of names of items and pairs
MOST_KEY_FIGURES = 6
MOST_OF_SEVERAL = 3
"""Key figures of each analysis where several have a headline."""
ENDS_OF_SPREADS = (
    ("minimum", "maximum"),
    ("p5", "p95"),
    ("q1", "q3"),
    ("lower", "upper"),
)
"""Columns that change places where the scale of the labels runs the other way."""


def key_figures(
    results: Sequence[Told], words: Words, most: int = MOST_KEY_FIGURES
) -> Table | None:
    """The metrics that sum a run up, in a table: the headline, what is told to stand beside it,
    then those with an interval. None where no analysis has a headline. An interval is a pair of
    metrics `<name>_low`, `<name>_high`. Breakdowns by condition and metrics without a label are
    left to metrics.json; a headline never is. At most `most` of one analysis; several get fewer
    figures each, named after them."""
    with_headline = [result for result in results if result.headline is not None]
    several = len(with_headline) > 1
    rows: list[tuple[str, str, str]] = []
    for result in with_headline:
        before = _named_after(result, words) if several else ""
        shown = min(MOST_OF_SEVERAL, most) if several else most
        for metric in _key_metrics(result, words)[:shown]:
            name = before + (words.metric(metric) or metric)
            rows.append(
                (name, *_value_and_interval(result, metric, words.of_result(result)))
            )
    if not rows:
        return None
    headers = [words.text(f"common.{key}") for key in ("metric", "value", "interval")]
    return Table(headers, rows, numeric=(False, True, True))


def _named_after(result: Told, words: Words) -> str:
    """What stands before the names of an analysis' figures, where several have some."""
    title = words.find(f"{result.name}.title")
    if title is None:
        return ""
    return f"{title} ({result.part}): " if result.part else f"{title}: "


def _key_metrics(result: Told, words: Words) -> list[str]:
    """The names of the metrics of an analysis that may sum it up, the headline first."""
    metrics = result.metrics
    # A name with a second dot is one number of a breakdown.
    with_interval = [
        metric
        for metric in metrics
        if f"{metric}_low" in metrics and metric.count(".") == 1
    ]
    names = [
        str(result.headline),
        *map(str, result.beside_headline),
        *map(str, with_interval),
    ]
    return [
        metric
        for metric in dict.fromkeys(names)
        if metric == result.headline or words.metric(metric) is not None
    ]


def _value_and_interval(result: Told, metric: str, words: Words) -> tuple[str, str]:
    """A metric and its interval as cells; "" for an interval that there is none of."""
    metrics = result.metrics
    value = metrics[metric]
    ends = (metrics.get(f"{metric}_low"), metrics.get(f"{metric}_high"))
    spec = words.spec(result.metric_units.get(metric, ""), value, *ends)
    interval = "" if ends == (None, None) else words.number(ends, spec)
    return words.number(value, spec), interval


def frame_blocks(
    frame: pd.DataFrame,
    words: Words,
    section: str,
    name: str,
    folder: Path,
    before: str = "",
    units: Mapping[str, Unit] | None = None,
) -> list[Block]:
    """A data frame, with the units of its columns, as a table with its caption
    (`<section>.table_<name>`, else the name). Beyond MOST_ROWS rows the beginning is shown and the
    whole is written to `tables/<before><section>_<name>.csv`. The name of a table of a check has
    its section in front."""
    of_check, _, own = name.rpartition(".")
    if words.find(f"{of_check}.table_{own}") is not None:
        section, name = of_check, own
    key = f"{section}.table_{name}"
    caption = (
        words.text(key) if words.find(key) is not None else words.heading(name, section)
    )
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    if frame.empty:
        return [
            Paragraph(caption),
            Paragraph(words.text("common.empty_table"), "small"),
        ]
    frame = _in_grades(frame, units or {}, words)
    blocks: list[Block] = [
        _table(frame.head(MOST_ROWS), words, section, caption, units or {})
    ]
    if len(frame) > MOST_ROWS:
        path = f"tables{words.beside}/{before}{section}_{name}.csv"
        files.write(folder / path, files.csv(frame))
        more = words.text(
            "common.more_rows", shown=MOST_ROWS, total=len(frame), path=path
        )
        blocks.append(Paragraph(more, "small"))
    return blocks


def _table(
    frame: pd.DataFrame,
    words: Words,
    section: str,
    caption: str,
    units: Mapping[str, Unit],
) -> Table:
    """The rows of a data frame in words."""
    columns = {str(column): tuple(frame[column]) for column in frame}
    cells = _cells(columns, words, section, units)
    return Table(
        [words.heading(column, section) for column in columns],
        list(zip(*cells.values(), strict=True)),
        [_numeric(values) for values in columns.values()],
        caption,
        [column in NAMING for column in columns],
    )


def _cells(
    columns: Mapping[str, Sequence[object]],
    words: Words,
    section: str,
    units: Mapping[str, Unit],
) -> dict[str, list[str]]:
    """The cells of a table by column. Numbers of one measure have the same decimals throughout an
    estimate and the ends of its interval."""
    n_rows = max(map(len, columns.values()))
    measures = columns.get("measure") or columns.get("quantity") or [None] * n_rows
    cells = {column: [""] * n_rows for column in columns}
    for group in _with_intervals(columns):
        unit = units.get(group[0], "")
        for measure in dict.fromkeys(measures):
            # In a table of several measures each has decimals of its own: those of a
            # count would leave nothing of a share.
            rows = [row for row, other in enumerate(measures) if other == measure]
            places = [(column, row) for column in group for row in rows]
            values = [columns[column][row] for column, row in places]
            written = column_cells(group[0], values, words, section, unit)
            for (column, row), cell in zip(places, written, strict=True):
                cells[column][row] = cell
    return cells


def _in_grades(
    frame: pd.DataFrame, units: Mapping[str, Unit], words: Words
) -> pd.DataFrame:
    """The table on the scale of the labels, where its numbers are on the rubric's."""
    if words.own is None:
        return frame
    columns: dict[str, list[object]] = {
        str(column): frame[column].tolist() for column in frame
    }
    for group in _with_intervals(columns):
        unit = units.get(group[0], "")
        placed = [
            [words.in_grades(value, unit) for value in columns[name]] for name in group
        ]
        an_interval = len(placed) == 3
        if words.turned and an_interval and unit in ("score", "change"):
            estimate, low, high = placed
            placed = [estimate, high, low]  # the lower end is the other one
        columns |= dict(zip(group, placed, strict=True))
    if words.turned:
        for low_name, high_name in ENDS_OF_SPREADS:
            if low_name in columns and high_name in columns:
                low, high = columns[low_name], columns[high_name]
                columns[low_name], columns[high_name] = high, low
    return pd.DataFrame(columns)


def _with_intervals(columns: Mapping[str, Sequence[object]]) -> list[list[str]]:
    """Columns in groups: an estimate and the ends of its interval after it are written with the
    same decimals."""
    groups: list[list[str]] = []
    for column, values in columns.items():
        named_as_end = column.rpartition("_")[2] in ("low", "high", "lower", "upper")
        if (
            named_as_end
            and groups
            and _numeric(values)
            and _numeric(columns[groups[-1][0]])
        ):
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def column_cells(
    column: str, values: Sequence[object], words: Words, section: str, unit: Unit = ""
) -> list[str]:
    """The cells of one column, numbers with the same decimals throughout."""
    known = [float(value) for value in values if isinstance(value, numbers.Real)]
    spec = words.column_spec(unit, *known)
    return [
        words.number(value, spec)
        if _real(value)
        else words.cell(column, value, section)
        for value in values
    ]


def _real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _numeric(values: Sequence[object]) -> bool:
    """Whether all are numbers, or intervals written as pairs of numbers."""
    return all(
        _real(value) or missing(value) or _an_interval(value) for value in values
    )


def _an_interval(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_real, value))


def digits_of(values: Sequence[float | None]) -> int:
    """With how many decimals numbers of one scale are written: none where all are whole, else by
    the largest."""
    known = [abs(value) for value in values if value is not None]
    if all(value.is_integer() for value in known):
        return 0
    largest = max(known)
    if largest >= 10:
        return 1
    return 2 if largest > 1 else 3
