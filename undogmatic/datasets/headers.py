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
    if not comments or begin == len(lines):
        taken, title = _below_title(lines, marks)
        return Above(taken, 0, title)
    last_comment = lines[begin - 1]
    below = lines[begin:]
    bare = uncommented(last_comment)
    if any(bare.startswith(mark) for mark in marks):
        return Above(begin - 1, comments - 1)  # a column is called #
    # numpy.savetxt writes the names of the columns as a comment. Read past it, and
    # the first row would become the names.
    if _is_commented_header(last_comment, below, marks):
        return Above(begin - 1, comments - 1, None, True)
    taken, title = _below_title(below, marks)
    return Above(begin + taken, comments, title)


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


def _is_number(cell: str) -> bool:
    return number_of(cell) is not None


def _are_names(cells: Sequence[str]) -> bool:
    """Whether cells may be the names of columns: all filled and different, and none a number."""
    if not all(cells) or any(map(_is_number, cells)):
        return False
    return len(set(cells)) == len(cells) > 1


def _is_commented_header(line: str, below: Sequence[str], marks: Sequence[str]) -> bool:
    """Whether a comment holds the names of the columns, as in `# id,judge,human`: the line below
    it has as many cells, and is no line of names."""
    bare = uncommented(line)
    for mark in marks:
        read = _rows([bare], mark)
        rows = _rows(below, mark)
        if not read or not rows:
            continue
        _, names = read[0]
        _, first = rows[0]
        if not _are_names(names) or len(first) != len(names):
            continue
        # Names stand once in a file; a verdict or a group comes again further down.
        again = {cell for _, row in rows[1:] for cell in row}
        has_number = any(map(_is_number, first))
        is_row = has_number or not again.isdisjoint(first)
        if is_row and _tell_roles(names):
            return True
    return False


def _tell_roles(names: Sequence[str]) -> bool:
    """Whether one of the names is known as that of a column."""
    known = {name for role in EVERY for name in role.names}
    for name in names:
        if side_of(name) is not None:
            return True
        if " ".join(tokens(name)) in known:
            return True
    return False


def _below_title(lines: Sequence[str], marks: Sequence[str]) -> tuple[int, str | None]:
    """How many lines a title takes that stands above the names, and the title."""
    parted = {mark: _rows(lines, mark) for mark in marks}
    # A file that reads well as it is stays as it is: only what cannot be a table from
    # its first line on may lose lines.
    if any(map(_is_plain, parted.values())):
        return 0, None
    for rows in parted.values():
        # Below a title stand the names and a row at least.
        most = min(MOST_TITLES, len(rows) - 2)
        titles = 0
        while titles < most and _is_title(rows[titles][1]):
            titles += 1
        if not titles:
            continue
        _, names = rows[titles]
        below = rows[titles + 1 :]
        same = sum(len(row) == len(names) for _, row in below)
        fits = same >= SAME_WIDTH * len(below)
        # All three must hold, because a line that is taken for a title is a row that is
        # lost.
        if fits and _are_names(names) and _tell_roles(names):
            _, first_cells = rows[0]
            last_line, _ = rows[titles - 1]
            return last_line, first_cells[0]
    return 0, None


def _is_plain(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether the first line is one of names already: filled, and as wide as most below it."""
    if not rows:
        return False
    _, first = rows[0]
    if sum(map(bool, first)) < 2:
        # Excel takes this line for what parts the cells, and shows it to nobody.
        return first[0].lower().startswith("sep=")
    same = sum(len(row) == len(first) for _, row in rows)
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
    # pandas calls a column without a name so, and writes that into its file.
    upper = ["" if cell.startswith("Unnamed:") else cell for cell in _bare(first)]
    lower = _bare(following[0])
    # Some programs leave empty cells at the end of a line out.
    lower += [""] * (len(upper) - len(lower))
    if len(lower) != len(upper) or any(map(_is_number, filter(None, lower))):
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
        # A merged cell stands in the first of its columns alone.
        for n in range(1, len(upper)):
            if not upper[n] and lower[n]:
                upper[n] = upper[n - 1]
    names = _put_together(upper, lower, index)
    filled = [name for name in names if name]
    if not len(set(filled)) == len(filled) > 1:
        return None
    return names, used


def _put_together(
    upper: Sequence[str], lower: Sequence[str], index: Sequence[str]
) -> list[str]:
    """The names of columns from two lines, those of an index first."""
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
    return names


def _bare(cells: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in cells]


def _is_no_row(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a second line holds names and no row: nothing in it comes again below, and it names
    roles, or stands above numbers."""
    filled = [n for n, cell in enumerate(cells) if cell]
    for n in filled:
        column = [row[n].strip() for row in below if n < len(row)]
        if cells[n] in column:
            return False
    # The third line may be one of names, too: that of an index of pandas.
    if any(_holds_numbers(below[1:], n) for n in filled):
        return True
    return _tell_roles([cells[n] for n in filled])


def _index_names(
    below: Sequence[Sequence[str]], upper: Sequence[str], lower: Sequence[str]
) -> list[str]:
    """The names of the columns of pandas' index, which stand in a third line by themselves."""
    if not below:
        return []
    cells = _bare(below[0])
    names = [cell for cell in cells if cell]
    n_names = len(names)
    if not 0 < n_names < len(upper):
        return []
    at_the_left = cells[:n_names] == names
    others_are_named = all(lower[n_names:])
    if not at_the_left or not others_are_named or any(map(_is_number, names)):
        return []
    return names


def _are_merged(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Whether a name stands above several columns with names of their own, and other columns have
    one name alone."""
    pairs = list(zip(upper, lower, strict=True))
    under = any(two and not one for one, two in pairs[1:])
    alone = any(one and not two for one, two in pairs)
    counts = Counter(cell for cell in lower if cell)
    again = max(counts.values(), default=0) > 1
    return under and any(upper) and (alone or again)


def lines_of_units(following: Sequence[Sequence[str]]) -> int:
    """How many lines below the names say what the columns are, and are no rows: units, or the
    questions and the ids that a survey tool writes."""
    for n, row in enumerate(following[:2], 1):
        filled = list(filter(None, _bare(row)))
        # Qualtrics writes the questions in the line above, which may be anything; so
        # its ids tell where the rows begin.
        if filled and all(cell.startswith(_IMPORT) for cell in filled):
            return n
    if len(following) < 2:
        return 0
    cells = _bare(following[0])
    filled = list(filter(None, cells))
    if not filled or not all(map(_UNIT.fullmatch, filled)):
        return 0
    # Of a column of words "text" may be one of them; above numbers it is none.
    for n, cell in enumerate(cells):
        if cell and not _is_number(cell) and _holds_numbers(following[1:], n):
            return 1
    return 0


def _holds_numbers(rows: Sequence[Sequence[str]], column: int) -> bool:
    held = [row[column].strip() for row in rows if column < len(row)]
    cells = list(filter(None, held))
    return bool(cells) and all(map(_is_number, cells))
