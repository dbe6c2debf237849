"""Finds the rows of a table in a JSON value, in the shapes in which pandas and other programs write
one.

A table may be a list of rows, an object of columns, an object of rows under their ids, or lists of
cells beside a list of names. What each column holds is found elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.roles import EVERY, ITEM, JUDGE, ORDER
from undogmatic.errors import DataError
from undogmatic.records.results import Finding
from undogmatic.safety.outside import Doubled, brief

_WAY = (
    "Write it as a list of objects with named fields: in pandas, DataFrame.to_json(FILE,"
    " orient='records')"
)


def rows_of(value: Any, place: str, notes: list[Finding] | None = None) -> list[Any]:
    """The rows in a JSON value; `notes` takes where they lay, and how lists inside of them were
    read. Raises DataError, which begins with the `place`, for rows whose cells have no names."""
    notes = [] if notes is None else notes
    if isinstance(value, dict):
        return _opened(_of_object(value, place, notes), place, notes)
    if not isinstance(value, list):
        return [value]
    if value and _all_are(list, value):
        raise DataError(
            f"{place}: its {len(value):,} rows are lists of cells without names. {_WAY}."
        )
    return _opened(value, place, notes)


def _of_object(value: Mapping[str, Any], place: str, notes: list[Finding]) -> list[Any]:
    """The rows in an object, which may be one row itself."""
    _check_keys(value, place)
    # The forms that pandas writes are known by their keys, and are asked first: what
    # follows guesses.
    if isinstance(value.get("data"), list):
        if isinstance(value.get("columns"), list):
            return _split(value, place)
        if isinstance(value.get("schema"), dict):
            return _with_schema(value)
    columns = [held for held in value.values() if isinstance(held, list)]
    lists = [held for held in columns if held and isinstance(held[0], dict)]
    # An answer of a program often holds its rows beside a version or a count.
    if len(lists) == 1:
        return list(lists[0])
    one_length = len({len(held) for held in columns}) == 1
    if columns and len(columns) == len(value) and one_length:
        rows = zip(*columns, strict=True)
        return [dict(zip(value, cells, strict=True)) for cells in rows]
    # A single object of objects may as well be one row with an object in it.
    objects = value.values()
    is_table = len(value) > 1 and _all_are(dict, objects) and all(objects)
    deeper = _deeper(value)
    # Where the objects have the same keys they are rows, and a list inside of each
    # belongs to its row.
    if deeper and not (is_table and _alike(objects)):
        return _at_path(deeper, place, notes)
    return _of_objects(value, place) if is_table else [value]


def _all_are(kind: type, values: Iterable[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


Way = tuple[str, ...]
DEEPEST_ROWS = 4
"""So many levels down rows are looked for."""
FEWEST_ROWS = 2
FIELDS = 0.5
"""The share of names that must be known as those of columns for all of them to be."""


def _deeper(value: Any, way: Way = ()) -> dict[Way, list[Any]]:
    """The lists of objects inside of objects, by the keys that lead there."""
    found: dict[Way, list[Any]] = {}
    if not isinstance(value, Mapping) or len(way) >= DEEPEST_ROWS:
        return found
    for key, held in value.items():
        way_there = (*way, str(key))
        if not isinstance(held, list) or len(held) < FEWEST_ROWS:
            found |= _deeper(held, way_there)
        elif _all_are(dict, held):
            found[way_there] = held
    return found


def _alike(objects: Collection[Mapping[str, Any]]) -> bool:
    """Whether objects have mostly the same keys, as rows have."""
    keys = [set(one) for one in objects]
    shared = set.intersection(*keys)
    most = max(map(len, keys))
    return len(shared) * 2 >= most


def _at_path(
    deeper: Mapping[Way, list[Any]], place: str, notes: list[Finding]
) -> list[Any]:
    """The rows of the one list that lies deeper, which is told. Raises DataError where there are
    several, with what was found where and the line that writes one of them."""
    ways = {".".join(way): rows for way, rows in deeper.items()}
    telling = dict(ways)
    for way, rows in ways.items():
        if not _has_verdicts(rows):
            del telling[way]
    # Only what names a verdict is taken without asking: a file may hold the texts in
    # one list and the verdicts in another, and the wrong one would be read as a table,
    # too.
    chosen = ways if len(ways) == 1 else telling
    if len(chosen) == 1:
        ((way, rows),) = chosen.items()
        facts = {"file": place, "way": way, "n": len(rows)}
        notes.append(Finding("table.rows_at", facts))
        return rows
    shown = ", ".join(
        f"`{way}` ({len(rows):,} entries)" for way, rows in list(ways.items())[:6]
    )
    way = next(iter(telling or ways))
    steps = next(steps for steps in deeper if ".".join(steps) == way)
    keys = "".join(f"[{key!r}]" for key in steps)
    line = f"import json; json.dump(json.load(open({place!r})){keys}, open('rows.json', 'w'))"
    raise DataError(
        f"{place}: no table, but several lists of entries: {shown}. Write the one that holds the"
        f' verdicts to a file of its own, e.g. python -c "{line}"'
    )


def _has_verdicts(rows: list[Any]) -> bool:
    """Whether a name in the first rows says that it is a verdict, or a label."""
    for row in rows[:3]:
        if not isinstance(row, Mapping):
            continue
        if any(side_of(name) is not None for name in _names(row)):
            return True
    return False


def _names(row: Mapping[str, Any]) -> list[str]:
    """The names in a row, also of objects in it and in their lists."""
    found: list[str] = []
    for name, held in row.items():
        inside = held
        if isinstance(held, list) and held:
            inside = held[0]
        if isinstance(inside, Mapping):
            found += _names(inside)
        else:
            found.append(str(name))
    return found


# Lists inside of rows

_ORDERS = {
    "as given": "as_given",
    "given": "as_given",
    "original": "as_given",
    "ab": "as_given",
    "swap false": "as_given",
    "swapped false": "as_given",
    "forward": "as_given",
    "swapped": "swapped",
    "ba": "swapped",
    "swap true": "swapped",
    "swapped true": "swapped",
    "reversed": "swapped",
    "backward": "swapped",
}
"""What the two answers of a judge are called that saw two outputs in both orders."""
_VOICES = (
    "judge rater annotator model evaluator author user name grader reviewer".split()
)
"""What says whose an entry is."""
MOST_PLACES = 8


_LINE = "\0line"
FIRST_ROWS = 200
"""So many rows tell whether lists stand inside of them."""


def opened(
    rows: Sequence[tuple[int, dict[str, Any]]], place: str, notes: list[Finding]
) -> Sequence[tuple[int, dict[str, Any]]]:
    """Rows with their lines, with the lists of objects in them opened as those of a JSON file."""
    n_first = min(FIRST_ROWS, len(rows))
    # By their numbers, as rows of a large file lie on disk and have no slices.
    first = [rows[n][1] for n in range(n_first)]
    if not _with_lists(first):
        return rows
    # The line travels within the row, so that each of the rows that come of it keeps
    # the place where a message can point.
    marked = [{_LINE: line, **row} for line, row in rows]
    with_entries = _with_entries(marked, place, notes)
    return [(row.pop(_LINE), row) for row in with_entries]


def _with_lists(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The names under which rows hold lists of objects, each once, in order."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(name for name, held in row.items() if _is_list(held))
    return list(found)


def _lists(rows: Iterable[dict[str, Any]], name: str) -> list[list[dict[str, Any]]]:
    """The lists of objects that rows hold under a name."""
    return [row[name] for row in rows if _is_list(row.get(name))]


def _opened(rows: list[Any], place: str, notes: list[Finding]) -> list[Any]:
    """The rows with the lists of objects in them opened: a list of one is its entry; both orders of
    a choice are a row each; entries that say whose they are are a row each; else the entries are
    columns by their number (`decisions.1.winner`)."""
    plain = [row for row in rows if isinstance(row, dict)]
    for name in _with_lists(plain):
        lists = _lists(plain, name)
        # In every row: else a row with two entries would have other columns than the rest.
        if max(map(len, lists)) == 1:
            rows = [_with(row, name, _only) for row in rows]
    return _with_entries(rows, place, notes)


def _with_entries(rows: list[Any], place: str, notes: list[Finding]) -> list[Any]:
    """The rows with those of their lists opened that hold what judges or people said."""
    # Both orders come before other lists, because each entry of such a list is a
    # verdict on the same two texts, and not another judge's.
    if (name := _in_orders(rows)) is not None:
        notes.append(Finding("table.orders_inside", {"file": place, "name": name}))
        in_orders: list[Any] = []
        for row in rows:
            in_orders += _by_order(row, name)
        return in_orders
    plain = [row for row in rows if isinstance(row, dict)]
    for name in _with_lists(plain):
        lists = _lists(plain, name)
        entries: list[dict[str, Any]] = []
        for of_row in lists:
            entries += of_row
        # Grades on several criteria are a judge's or a person's where the list is called so.
        graded = side_of(str(name)) is not None and _are_grades(entries)
        if not _has_verdicts(entries) and not graded:
            continue
        whose = _whose(plain, name)
        if whose is not None:
            values = {"file": place, "name": name, "whose": whose}
            notes.append(Finding("table.entries_inside", values))
            renamed = _of_judges(plain, name, whose, entries)
            with_entries: list[Any] = []
            for row in rows:
                with_entries += _by_entry(row, name, renamed)
            return with_entries
        if max(map(len, lists)) <= MOST_PLACES:
            notes.append(Finding("table.places_inside", {"file": place, "name": name}))
            rows = [_with(row, name, _by_place) for row in rows]
    return rows


def _is_list(held: Any) -> bool:
    """Whether a value is a list of objects."""
    return isinstance(held, list) and bool(held) and _all_are(dict, held)


def _with(row: Any, name: str, change: Callable[[Any], Any]) -> Any:
    """The row with what it holds under a name changed, in its place."""
    # A row with a key twice is kept as it is, or nobody would be told of the key.
    if not isinstance(row, dict) or name not in row or isinstance(row, Doubled):
        return row
    changed = dict(row)
    changed[name] = change(row[name])
    return changed


def _only(held: Any) -> Any:
    return held[0] if _is_list(held) else held


def _by_place(held: Any) -> Any:
    if not _is_list(held):
        return held
    return {str(n): one for n, one in enumerate(held, 1)}


def _order(name: Any) -> str | None:
    return _ORDERS.get(" ".join(tokens(str(name))))


def _in_orders(rows: list[Any]) -> str | None:
    """The name under which rows hold what was said in each of both orders."""
    counted: Counter[str] = Counter()
    for row in rows:
        if isinstance(row, dict):
            counted.update(name for name, held in row.items() if _has_orders(held))
    # A name in most rows is how the file is written; one in a few is what somebody noted there.
    found = [name for name, n in counted.items() if n * 2 > len(rows)]
    return found[0] if len(found) == 1 else None


def _has_orders(held: Any) -> bool:
    """Whether a value holds what was said in both orders, under their names or in two entries."""
    if isinstance(held, dict):
        return {_order(key) for key in held} >= {"as_given", "swapped"}
    return _is_list(held) and len(held) == 2 and _orders_of(held) is not None


def _orders_of(entries: list[dict[str, Any]]) -> list[str] | None:
    """The orders that entries name in a field of theirs: both, or the one that is there."""
    first, *others = entries
    for name in first:
        if not all(name in other for other in others):
            continue
        told = []
        for entry in entries:
            # "swapped: true" says it by both, "order: ba" by the value alone.
            order = _order(f"{name} {entry[name]}") or _order(entry[name])
            if order is not None:
                told.append(order)
        if len(told) != len(entries):
            continue
        if sorted(told) == ["as_given", "swapped"]:
            return told
        # Where one order failed, its entry may be missing. Of a single one the field has to be
        # called so, as its value may be a verdict.
        if not others and " ".join(tokens(name)) in ORDER.names:
            return told
    return None


def _by_order(row: Any, name: str) -> Iterator[Any]:
    held = row.get(name) if isinstance(row, dict) else None
    if isinstance(held, dict):
        rest = _without(row, name)
        for key, told in held.items():
            order = _order(key)
            if order is None:
                continue
            # A verdict that is no object stands under the name of the whole.
            own = told if isinstance(told, dict) else {name: told}
            yield rest | own | {"order": order}
        return
    orders = None
    if held is not None and _is_list(held):
        orders = _orders_of(held)
    if held is None or orders is None:
        yield row
        return
    rest = _without(row, name)
    for order, told in zip(orders, held, strict=True):
        yield rest | told | {"order": order}


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _whose(rows: list[dict[str, Any]], name: str) -> str | None:
    """The field of the entries that says whose they are: it comes once in each row, and again in
    other rows."""
    lists = _lists(rows, name)
    all_entries = [entry for entries in lists for entry in entries]
    fields = dict.fromkeys(key for entry in all_entries for key in entry)
    for field in fields:
        if set(_VOICES).isdisjoint(tokens(field)):
            continue
        names = [entry.get(field) for entry in all_entries]
        if not all(isinstance(name, str | int) for name in names):
            continue
        once = True
        for entries in lists:
            of_row = {entry[field] for entry in entries}
            once = once and len(of_row) == len(entries)
        # As many names as rows would be ids of the entries, and nobody's name.
        few = len(set(names)) <= max(2, len(lists) // 2)
        if once and few:
            return str(field)
    return None


def _of_judges(
    rows: list[dict[str, Any]], name: str, whose: str, entries: list[dict[str, Any]]
) -> dict[str, str]:
    """New names for fields of entries that are judges', where the row has a label of its own: what
    each calls its `label` is a verdict, and its `model` a judge."""
    besides = {str(key) for row in rows[:20] for key in row if key != name}
    has_labels = any(side_of(key) == -1 for key in besides)
    by_judges = {*tokens(whose)} & {"model", "judge", "evaluator", "grader"}
    if not by_judges or not has_labels:
        return {}
    fields = dict.fromkeys(str(key) for entry in entries[:20] for key in entry)
    labels = [key for key in fields if side_of(key) == -1]
    if not labels:
        return {}
    renamed = {key: f"verdict_{key}" for key in labels}
    renamed[whose] = JUDGE.name
    return renamed


def _are_grades(entries: list[dict[str, Any]]) -> bool:
    """Whether entries hold numbers, two at least, and nothing else."""
    every = [cell for entry in entries for cell in entry.values()]
    cells = [cell for cell in every if cell is not None]
    if not cells or not all(map(_is_grade, cells)):
        return False
    return max(map(len, entries)) > 1


def _is_grade(cell: Any) -> bool:
    # For Python true and false are numbers, too.
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _by_entry(row: Any, name: str, renamed: Mapping[str, str]) -> Iterator[Any]:
    held = row.get(name) if isinstance(row, dict) else None
    if not _is_list(held) or held is None:
        yield row
        return
    rest = _without(row, name)
    for number, told in enumerate(held):
        entry = {renamed.get(key, key): value for key, value in told.items()}
        # What stands in the row by itself, such as its label, stands once.
        yield rest | entry if number == 0 else _shared(rest) | entry


def _shared(rest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in rest.items() if side_of(str(key)) != -1}


def _split(value: Mapping[str, Any], place: str) -> list[dict[str, Any]]:
    """The rows of names, index and data (pandas: split, tight)."""
    names = [str(name) for name in value["columns"]]
    rows = value["data"]
    n_names = len(names)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, list) or len(row) != n_names:
            what = (
                f"row {number} of its `data` does not have as many cells as `columns` has names"
                f" ({n_names})"
            )
            raise DataError(f"{place}: {what}. {_WAY}.")
    made = [dict(zip(names, row, strict=True)) for row in rows]
    index = value.get("index")
    if not isinstance(index, list) or len(index) != len(made):
        return made
    # An index that only counts the rows is what pandas made up.
    return made if _counts(index) else _with_ids(made, index)


def _with_schema(value: Mapping[str, Any]) -> list[Any]:
    """The rows of a table with a schema (pandas: table), without an index that only counts them."""
    rows = value["data"]
    keys = value["schema"].get("primaryKey")
    objects = [row for row in rows if isinstance(row, dict)]
    index = [row.get("index") for row in objects]
    if keys != ["index"] or not _counts(index):
        return list(rows)
    if len(objects) == len(rows):
        return [_without(row, "index") for row in objects]
    return [_without(row, "index") if isinstance(row, dict) else row for row in rows]


def _check_keys(value: Any, place: str) -> None:
    """Raise DataError for what holds many rows and a key twice; of a single row that is told where
    rows are read."""
    if isinstance(value, Doubled):
        what = (
            f"the key {brief(value.key)} stands in it a second time, and nobody knows which of them"
            " is meant"
        )
        raise DataError(f"{place}: {what}. Delete one of them.")


def _of_objects(
    value: Mapping[str, dict[str, Any]], place: str
) -> list[dict[str, Any]]:
    """The rows of an object of objects: each is a column (pandas: columns), or each a row (pandas:
    index), whose key is its id unless it only counts. Names that are known tell which, or else that
    the keys of one of both count rows.
    """
    outer = list(value)
    inner = list(dict.fromkeys(key for held in value.values() for key in held))
    if (matrix := _of_matrix(value, outer, inner, place)) is not None:
        return matrix
    if (rows := _of_levels(value, outer, inner)) is not None:
        return rows
    if _counts(inner) != _counts(outer):
        by_column = _counts(inner)
    elif _known(outer) != _known(inner):
        by_column = _known(outer) > _known(inner)
    else:
        what = (
            f"an object of {len(value):,} objects, of which it is not clear whether they are"
            " columns or rows"
        )
        raise DataError(
            f"{place}: {what} ({brief(outer[0], 40)}: {brief(inner[0], 40)}, ...). {_WAY}."
        )
    if by_column:
        by_key: dict[str, dict[str, Any]] = {key: {} for key in inner}
        for name, held in value.items():
            _check_keys(held, place)
            for key, cell in held.items():
                by_key[key][name] = cell
        rows = list(by_key.values())
        return rows if _counts(inner) else _with_ids(rows, inner)
    rows = list(value.values())
    return rows if _counts(outer) else _with_ids(rows, outer)


def _of_matrix(
    value: Mapping[str, dict[str, Any]], outer: list[str], inner: list[str], place: str
) -> list[dict[str, Any]] | None:
    """The rows where one level names raters and the other items (rater -> item -> label, or item ->
    rater -> label); None where the inner names are those of fields. Of raters there are fewer."""
    every = [cell for held in value.values() for cell in held.values()]
    cells = [cell for cell in every if cell is not None]
    # Items may be called by a sentence, in which some word is one that columns are called by.
    if not _are_alike_labels(cells) or _known(inner) >= FIELDS:
        return None
    n_outer = len(outer)
    n_inner = len(inner)
    # A table that is nearly square does not show which side the items are.
    if n_inner >= 3 * n_outer and not _counts(inner):
        by_item: dict[str, dict[str, Any]] = {item: {} for item in inner}
        for name, held in value.items():
            rater = _rater(name, place)
            for item, cell in held.items():
                by_item[item][rater] = cell
        return _with_ids(list(by_item.values()), inner)
    if n_outer >= 3 * n_inner and not _counts(outer):
        raters = {name: _rater(name, place) for name in inner}
        rows = []
        for row in value.values():
            rows.append({raters[name]: cell for name, cell in row.items()})
        return _with_ids(rows, outer)
    return None


def _are_alike_labels(cells: Sequence[Any]) -> bool:
    """Whether cells hold numbers alone, or words alone of which there are few."""
    if any(isinstance(cell, dict | list) for cell in cells):
        return False
    are_numbers = {isinstance(cell, int | float) for cell in cells}
    if len(are_numbers) != 1:
        return False
    words = {str(cell) for cell in cells}
    # Labels come again; texts hardly ever do.
    few = len(words) <= max(20, len(cells) // 10)
    return few or are_numbers == {True}


def _of_levels(
    value: Mapping[str, dict[str, Any]], outer: list[str], inner: list[str]
) -> list[dict[str, Any]] | None:
    """The rows where two levels lead to the fields of a row, such as model -> item -> fields; None
    where they do not. Of the two the one with more names is the items. The other names who made
    what was judged, where a row has both verdict and label, and else who said it."""
    cells = [cell for held in value.values() for cell in held.values()]
    if not cells or not all(cells) or not _all_are(dict, cells):
        return None
    fields = list(dict.fromkeys(str(key) for cell in cells for key in cell))
    numbered = _counts(outer) and _counts(inner)
    if _known(fields) < FIELDS or numbered or len(outer) == len(inner):
        return None
    # A file with a judge's verdict and a person's label in each cell compares the
    # systems that were judged; without a label the names are those who judged.
    both = {1, -1} <= {side_of(name) for name in fields}
    who = "system" if both else JUDGE.name
    items_inside = len(inner) > len(outer)
    rows = []
    for name, held in value.items():
        for key, cell in held.items():
            item, other = (key, name) if items_inside else (name, key)
            rows.append({"id": item, who: other, **cell})
    return rows


def _rater(name: str, place: str) -> str:
    """A rater's column: the file's name says whose it is, where its own does not."""
    if side_of(name) is not None:
        return name
    prefixes = {1: "judge_", -1: "human_", 0: ""}
    side = side_of(Path(place).stem) or 0
    return prefixes[side] + name


def _with_ids(rows: list[dict[str, Any]], ids: list[Any]) -> list[dict[str, Any]]:
    """The rows with their ids, where no column of theirs is called one."""
    names = {" ".join(tokens(name)) for row in rows for name in row}
    # A column of ids that the file itself has is worth more than the keys of an object.
    if names & set(ITEM.names):
        return rows
    made = []
    for key, row in zip(ids, rows, strict=True):
        # A row with a key twice is kept as it is, or nobody would be told of the key.
        made.append(row if isinstance(row, Doubled) else {"id": key, **row})
    return made


def _counts(keys: Collection[Any]) -> bool:
    """Whether keys are the numbers of rows, from 0 or from 1 on."""
    written = [str(key) for key in keys]
    # `isdigit` alone takes superscripts, which `int` refuses.
    if not all(one.isascii() and one.isdigit() for one in written):
        return False
    # Twelve digits or more are somebody's ids, and `int` of a very long one is refused.
    if any(len(one) >= 12 for one in written):
        return False
    numbers = sorted(map(int, written))
    if not numbers:
        return False
    first = numbers[0]
    return first in (0, 1) and numbers == list(range(first, first + len(numbers)))


def _known(keys: Collection[str]) -> float:
    """The share of keys that are known as names of columns."""
    known = {name for role in EVERY for name in role.names}
    n_known = 0
    for key in map(str, keys):
        n_known += side_of(key) is not None or " ".join(tokens(key)) in known
    return n_known / len(keys)
