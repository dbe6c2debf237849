"""Finds the names of the columns of CSV where they are not simply its first line: below comments or
a title, in two lines, or above a line of units.

People publish tables so: a program writes `# made by ...` above them, a spreadsheet has a title,
pandas writes a line of names for each level of its columns, and survey tools put the questions
below the names.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from undogmatic.datasets.cells import number_of
from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.roles import EVERY
from undogmatic.safety.outside import ROW_BYTES

MOST_TITLES = 3
"""Lines of a title above the names of the columns."""
SAME_WIDTH = 0.8
"""The share of lines that must have as many cells as the names, below a title."""
_UNIT = re.compile(
    r"\(.*\)|\[.*\]|%|\d+ ?[-–:] ?\d+|(?:int|integer|float|number|numeric|str|string|text|bool"
    r"|boolean|category|categorical|object|int64|float64)",
    re.IGNORECASE | re.DOTALL,
)
"""What a line of units says of a column: (1-5), [string], 1-5, integer."""
_IMPORT = '{"ImportId"'
"""How the cells of the third line begin that Qualtrics writes."""


class Above(NamedTuple):
    """How many lines stand above the names of the columns, how many of them are comments, the
    title if there is one, and whether the line with the names is a comment itself."""

    lines: int = 0
    comments: int = 0
    title: str | None = None
    commented: bool = False


def above(lines: Sequence[str], marks: Iterable[str]) -> Above:
    """What stands above the names of the columns in the first lines of CSV."""
    marks = list(marks)
    begin = 0
    # Blank lines between comments and the names are not rows.
    while begin < len(lines) and (
        _is_comment(lines[begin]) or not lines[begin].strip()
    ):
        begin += 1
    comments = sum(map(_is_comment, lines[:begin]))
    if comments and begin < len(lines):
        if any(uncommented(lines[begin - 1]).startswith(mark) for mark in marks):
            return Above(begin - 1, comments - 1)  # a column is called #
        # numpy.savetxt writes the names of the columns as a comment. Read past it, and
        # the first row would become the names.
        if _is_commented_header(lines[begin - 1], lines[begin:], marks):
            return Above(begin - 1, comments - 1, None, True)
        below = _below_title(lines[begin:], marks)
        return Above(begin + below[0], comments, below[1])
    below = _below_title(lines, marks)
    return Above(below[0], 0, below[1])


def _is_comment(line: str) -> bool:
    return line.lstrip("\ufeff").startswith("#")


def uncommented(line: str) -> str:
    """A line of names without the sign of a comment before it."""
    return line.lstrip("\ufeff").lstrip("#").lstrip()


def _rows(lines: Sequence[str], mark: str) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, each with how many lines were read up to its end."""
    # The limit of the module csv is the whole process's, and is put back below.
    before = csv.field_size_limit(ROW_BYTES)
    found: list[tuple[int, list[str]]] = []
    reader = csv.reader(lines, delimiter=mark)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                found.append((reader.line_num, [cell.strip() for cell in row]))
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(before)
    return found


def _are_names(cells: Sequence[str]) -> bool:
    """Whether cells may be the names of columns: all filled and different, and none a number."""
    plain = all(cell and number_of(cell) is None for cell in cells)
    return plain and len(set(cells)) == len(cells) > 1


def _is_commented_header(line: str, below: Sequence[str], marks: Sequence[str]) -> bool:
    """Whether a comment holds the names of the columns, as in `# id,judge,human`: the line below
    it has as many cells, and is no line of names."""
    bare = uncommented(line)
    for mark in marks:
        names, rows = _rows([bare], mark), _rows(below, mark)
        if not names or not rows or not _are_names(names[0][1]):
            continue
        first = rows[0][1]
        again = {cell for _, row in rows[1:] for cell in row}
        is_row = any(number_of(cell) is not None for cell in first) or bool(
            again & {*first}
        )
        if len(first) == len(names[0][1]) and is_row and _tell_roles(names[0][1]):
            return True
    return False


def _tell_roles(names: Sequence[str]) -> bool:
    """Whether one of the names is known as that of a column."""
    known = {name for role in EVERY for name in role.names}
    return any(
        side_of(name) is not None or " ".join(tokens(name)) in known for name in names
    )


def _below_title(lines: Sequence[str], marks: Sequence[str]) -> tuple[int, str | None]:
    """How many lines a title takes that stands above the names, and the title."""
    parted = {mark: _rows(lines, mark) for mark in marks}
    # A file that reads well as it is stays as it is: only what cannot be a table from
    # its first line on may lose lines.
    if any(map(_is_plain, parted.values())):
        return 0, None
    for rows in parted.values():
        titles = 0
        while titles < min(MOST_TITLES, len(rows) - 2) and _is_title(rows[titles][1]):
            titles += 1
        if not titles:
            continue
        names = rows[titles][1]
        same = sum(len(row) == len(names) for _, row in rows[titles + 1 :])
        fits = same >= SAME_WIDTH * len(rows[titles + 1 :])
        # All three must hold, because a line that is taken for a title is a row that is
        # lost.
        if fits and _are_names(names) and _tell_roles(names):
            return rows[titles - 1][0], rows[0][1][0]
    return 0, None


def _is_plain(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether the first line is one of names already: filled, and as wide as most below it."""
    if not rows or sum(map(bool, rows[0][1])) < 2:
        return bool(rows) and rows[0][1][0].lower().startswith("sep=")
    same = sum(len(row) == len(rows[0][1]) for _, row in rows)
    return same >= SAME_WIDTH * len(rows)


def _is_title(cells: Sequence[str]) -> bool:
    return bool(cells[0]) and not any(cells[1:])


# Names in several lines


def joined_names(
    first: Sequence[str], following: Sequence[Sequence[str]]
) -> tuple[list[str], int] | None:
    """The names of columns that take two lines, as pandas writes columns of two levels and
    spreadsheets merged cells, and how many of the `following` lines belong to them; None where
    they take one."""
    if not following:
        return None
    upper = [
        "" if cell.strip().startswith("Unnamed:") else cell.strip() for cell in first
    ]
    lower = [cell.strip() for cell in following[0]] + [""] * (
        len(first) - len(following[0])
    )
    if len(lower) != len(upper) or any(
        number_of(cell) is not None for cell in lower if cell
    ):
        return None
    # A row taken for names is lost without a word, so that in doubt it stays a row.
    if not _is_no_row(lower, following[1:]):
        return None
    counts = Counter(cell for cell in upper if cell)
    used = 1
    index: list[str] = []
    if any(count > 1 for count in counts.values()):
        index = _index_names(following[1:2], upper, lower)
        used += bool(index)
    elif not _are_merged(upper, lower):
        return None
    else:
        for n in range(1, len(upper)):
            upper[n] = upper[n] or (upper[n - 1] if lower[n] else "")
    # Names of the lower line are kept where they are enough to tell columns apart, and
    # who said it is added where they are not.
    once = Counter(lower)
    names = []
    for n, (one, two) in enumerate(zip(upper, lower, strict=True)):
        if n < len(index):
            names.append(index[n])
        elif one and two and (once[two] > 1 or side_of(one) in (1, -1)):
            names.append(f"{one}.{two}")
        else:
            names.append(two or one)
    filled = [name for name in names if name]
    return (names, used) if len(set(filled)) == len(filled) > 1 else None


def _is_no_row(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a second line holds names and no row: nothing in it comes again below, and it names
    roles, or stands above numbers."""
    for n, cell in enumerate(cells):
        if cell and any(n < len(row) and row[n].strip() == cell for row in below):
            return False
    numbers = any(_holds_numbers(below[1:], n) for n, cell in enumerate(cells) if cell)
    return numbers or _tell_roles([cell for cell in cells if cell])


def _index_names(
    below: Sequence[Sequence[str]], upper: Sequence[str], lower: Sequence[str]
) -> list[str]:
    """The names of the columns of pandas' index, which stand in a third line by themselves."""
    if not below:
        return []
    cells = [cell.strip() for cell in below[0]]
    names = [cell for cell in cells if cell]
    alone = bool(names) and cells[: len(names)] == names and len(names) < len(upper)
    numbers = any(number_of(name) is not None for name in names)
    return names if alone and not numbers and all(lower[len(names) :]) else []


def _are_merged(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Whether a name stands above several columns with names of their own, and other columns have
    one name alone."""
    under = [n for n in range(1, len(upper)) if not upper[n] and lower[n]]
    alone = any(one and not two for one, two in zip(upper, lower, strict=True))
    again = max(Counter(cell for cell in lower if cell).values(), default=0) > 1
    return bool(under) and any(upper) and (alone or again)


def lines_of_units(following: Sequence[Sequence[str]]) -> int:
    """How many lines below the names say what the columns are, and are no rows: units, or the
    questions and the ids that a survey tool writes."""
    for n, row in enumerate(following[:2], 1):
        filled = [cell.strip() for cell in row if cell.strip()]
        # Qualtrics writes the questions in the line above, which may be anything; so
        # its ids tell where the rows begin.
        if filled and all(cell.startswith(_IMPORT) for cell in filled):
            return n
    if len(following) < 2:
        return 0
    filled = [cell.strip() for cell in following[0] if cell.strip()]
    if not filled or not all(_UNIT.fullmatch(cell) for cell in filled):
        return 0
    # Of a column of words "text" may be one of them; above numbers it is none.
    above_numbers = any(
        cell.strip()
        and number_of(cell.strip()) is None
        and _holds_numbers(following[1:], n)
        for n, cell in enumerate(following[0])
    )
    return int(above_numbers)


def _holds_numbers(rows: Sequence[Sequence[str]], column: int) -> bool:
    cells = [
        row[column].strip() for row in rows if column < len(row) and row[column].strip()
    ]
    return bool(cells) and all(number_of(cell) is not None for cell in cells)
