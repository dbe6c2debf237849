"""Data frames and metrics as tables in words. Rounds and names; computes nothing."""

import itertools
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from undogmatic.records.results import Told
from undogmatic.report.document import Block, Paragraph, Table
from undogmatic.report.words import Words, missing
from undogmatic.safety import files
from undogmatic.stats.estimate import Unit

MOST_ROWS = 25
NAMING = ("item", "item_id", "pair", "pair_id")  # columns of names of items and pairs
MOST_KEY_FIGURES = 6


def key_figures(
    results: Sequence[Told], words: Words, most: int = MOST_KEY_FIGURES
) -> Table | None:
    """The metrics that sum a run up, in a table: the headline, what is told to stand beside it,
    then those with an interval. None where no analysis has a headline. An interval is a pair of
    metrics `<name>_low`, `<name>_high`. Breakdowns by condition and metrics without a label are
    left to metrics.json; a headline never is. At most `most` of one analysis; several get fewer
    figures each, named after them."""
    with_headline = [r for r in results if r.headline is not None]
    several = len(with_headline) > 1
    rows = []
    for result in with_headline:
        metrics, units, own = result.metrics, result.metric_units, words.of_result(result)
        with_interval = [m for m in metrics if f"{m}_low" in metrics and m.count(".") == 1]
        ordered = dict.fromkeys(
            str(m) for m in (result.headline, *result.beside_headline, *with_interval)
        )
        kept = [m for m in ordered if m == result.headline or words.metric(m) is not None]
        before = ""
        if several and (title := words.find(f"{result.name}.title")) is not None:
            before = f"{title} ({result.part}): " if result.part else f"{title}: "
        for metric in kept[: min(3, most) if several else most]:
            ends = (metrics.get(f"{metric}_low"), metrics.get(f"{metric}_high"))
            spec = own.spec(units.get(metric, ""), metrics[metric], *ends)
            interval = "" if ends == (None, None) else own.number(ends, spec)
            rows.append(
                (
                    before + (words.metric(metric) or metric),
                    own.number(metrics[metric], spec),
                    interval,
                )
            )
    headers = [words.text(f"common.{key}") for key in ("metric", "value", "interval")]
    return Table(headers, rows, numeric=(False, True, True)) if rows else None


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
    caption = words.text(key) if words.find(key) is not None else words.heading(name, section)
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    if frame.empty:
        return [Paragraph(caption), Paragraph(words.text("common.empty_table"), "small")]
    frame = _in_grades(frame, units or {}, words)
    shown = frame.head(MOST_ROWS)
    values = zip(*shown.itertuples(index=False, name=None), strict=True)
    columns = dict(zip(map(str, shown.columns), values, strict=True))
    cells: dict[str, list[str]] = {column: [""] * len(shown) for column in columns}
    measures = columns.get("measure") or columns.get("quantity") or [None] * len(shown)
    for group, measure in itertools.product(_with_intervals(columns), dict.fromkeys(measures)):
        places = [(c, n) for c in group for n, other in enumerate(measures) if other == measure]
        # Numbers of one measure have the same decimals.
        values_of_measure = [columns[c][n] for c, n in places]
        unit = (units or {}).get(group[0], "")
        together = column_cells(group[0], values_of_measure, words, section, unit)
        for (column, n), written in zip(places, together, strict=True):
            cells[column][n] = written
    headers = [words.heading(column, section) for column in columns]
    rows = list(zip(*cells.values(), strict=True))
    named = [column in NAMING for column in columns]
    blocks: list[Block] = [Table(headers, rows, [*map(_numeric, columns.values())], caption, named)]
    if len(frame) > MOST_ROWS:
        path = f"tables{words.beside}/{before}{section}_{name}.csv"
        files.write(folder / path, files.csv(frame))
        blocks.append(
            Paragraph(
                words.text("common.more_rows", shown=MOST_ROWS, total=len(frame), path=path),
                "small",
            )
        )
    return blocks


def _in_grades(frame: pd.DataFrame, units: Mapping[str, Unit], words: Words) -> pd.DataFrame:
    """The table on the scale of the labels, where its numbers are on the rubric's."""
    if words.own is None:
        return frame
    columns = {str(column): frame[column].tolist() for column in frame}
    for group in _with_intervals(columns):
        unit = units.get(group[0], "")
        placed = [[words.in_grades(v, unit) for v in columns[name]] for name in group]
        if unit in ("score", "change") and words.turned and len(placed) == 3:
            placed[1:] = placed[:0:-1]  # the lower end is the other one
        columns |= dict(zip(group, placed, strict=True))
    if words.turned:
        for low, high in (("minimum", "maximum"), ("p5", "p95"), ("q1", "q3"), ("lower", "upper")):
            if low in columns and high in columns:
                columns[low], columns[high] = columns[high], columns[low]
    return pd.DataFrame(columns)


def _with_intervals(columns: Mapping[str, Sequence[object]]) -> list[list[str]]:
    """Columns in groups: an estimate and the ends of its interval after it are written with the
    same decimals."""
    groups: list[list[str]] = []
    for column, values in columns.items():
        an_end = column.rpartition("_")[2] in ("low", "high", "lower", "upper")
        if an_end and groups and _numeric(values) and _numeric(columns[groups[-1][0]]):
            groups[-1].append(column)
        else:
            groups.append([column])
    return groups


def column_cells(
    column: str, values: Sequence[object], words: Words, section: str, unit: Unit = ""
) -> list[str]:
    """The cells of one column, numbers with the same decimals throughout."""
    spec = words.column_spec(unit, *(float(v) for v in values if isinstance(v, numbers.Real)))
    return [words.number(v, spec) if _real(v) else words.cell(column, v, section) for v in values]


def _real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _numeric(values: Sequence[object]) -> bool:
    """Numbers, or intervals written as pairs of numbers."""
    return all(
        _real(v) or missing(v) or (isinstance(v, tuple) and all(map(_real, v))) for v in values
    )


def digits_of(values: Sequence[float | None]) -> int:
    """With how many decimals numbers of one scale are written: none where all are whole, else by
    the largest."""
    known = [abs(value) for value in values if value is not None]
    if all(value.is_integer() for value in known):
        return 0
    return 1 if max(known) >= 10 else 2 if max(known) > 1 else 3
