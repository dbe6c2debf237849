"""Reads a whole table (CSV, JSON Lines, JSON, Parquet, XLSX) as a data frame of raw cells, with the
line of each row.

A fault in a row is noted with its place, and the rest of the file is still read.
"""

from __future__ import annotations

import hashlib
import math
import shlex
import tempfile
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from undogmatic.datasets import trec
from undogmatic.datasets.contents import Contents
from undogmatic.datasets.doors import CHECK, Door, Question, Way
from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.raw import read_raw
from undogmatic.datasets.readers import find
from undogmatic.datasets.readers.log import Unread
from undogmatic.datasets.readers.traces import find as find_traces
from undogmatic.datasets.readers.traces.units import Unit, frame_of
from undogmatic.datasets.roles import CRITERION, ITEM, JUDGE, LABEL, RATER, Role
from undogmatic.datasets.rows import (
    LARGEST,
    SUFFIXES,
    check_size,
    have,
    table_rows,
    tables_in,
    unread_rows,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import IN_MEMORY
from undogmatic.records.records import as_text
from undogmatic.records.results import Finding
from undogmatic.safety import files
from undogmatic.safety.existing import existing_file
from undogmatic.safety.outside import Unreadable, brief, opened, read_bytes, unpacked


class Frame(NamedTuple):
    """A file's `cells` (columns of objects, by name), the place of each row (file:line), the file's
    name and digest, what a reader should know of how it was read, and what is wrong in it; a
    problem by which rows could not be read says of how many (`rows`)."""

    name: str
    cells: pd.DataFrame
    places: list[str]
    digest: str
    notes: tuple[Finding, ...] = ()
    problems: tuple[Finding, ...] = ()
    is_log: bool = False  # of a tool whose columns are known
    stated: Mapping[str, Mapping[Any, Any]] = {}
    """What it states of all its verdicts, by criterion: their kind and scale, which category
    passes, and a margin."""
    cut: Mapping[int, bool] = {}
    """The rows (from 0) of CSV that end before the last column; whether each stands as a remark
    does."""

    @property
    def unread(self) -> int:
        """How many rows of the file could not be read."""
        return unread_rows(self.problems)


def read_frame(
    source: str | Path | pd.DataFrame,
    sheet: str | None = None,
    door: Door = CHECK,
    called: str = "FILE",
    unit: Unit | None = None,
    only: Collection[str] | None = None,
) -> Frame:
    """Read a file (of a workbook a `sheet` or a range; of traces an item for each `unit`), or take
    a data frame.

    `called` is how the file is named at the door, and `only` are the items of traces that other
    files name. Raises ConfigError where there is no such file or
    it is of no known format, DataError where nothing in it can be read.
    """
    if isinstance(source, pd.DataFrame):
        # A frame that one of our readers made, as from a server: what its columns mean
        # is known.
        if "reader" in source.attrs:
            return _log(source.attrs["source"], source)
        hashed = pd.util.hash_pandas_object(source.astype(str), index=False).to_numpy()
        digest = hashlib.sha256(
            "\0".join(map(str, source.columns)).encode() + hashed.tobytes()
        ).hexdigest()
        have("the data frame", (), list(map(str, source.columns)))
        places = [f"row {n}" for n in range(1, len(source) + 1)]
        return Frame(IN_MEMORY, _cells(source), places, digest)
    path = existing_file(str(source), called, SUFFIXES, folder=True)
    # By its first bytes, since a packed file may be called anything.
    if path.is_file() and _is_packed(path):
        return _unpacked(path, sheet, door, unit)
    # A tool's log before a table: nearly every log can be read as a table, too, and as
    # a wrong one.
    if (logged := _of_tool(path, unit, only)) is not None:
        return _log(str(path), logged, path)
    if not path.is_file():
        inside = [str(file) for file in tables_in(str(path))]
        way = f"Name a table: {', '.join(SUFFIXES)}"
        if inside:
            # Files with the same columns may be versions of one table, so that none is chosen.
            shown = ", ".join(Path(name).name for name in inside[:8])
            way = f"Tables in it: {shown}. Name those that are meant, e.g. {shlex.quote(inside[0])}"
        raise ConfigError(f"{brief(str(source))} is a folder. {way}.")
    if (judged := trec.cells_in(path)) is not None:
        cells, numbers = judged
        digest = hashlib.sha256(read_bytes(path, LARGEST)).hexdigest()
        note = Finding("table.trec", {"file": path.name})
        return Frame(
            str(source), cells, [f"{source}:{n}" for n in numbers], digest, (note,)
        )
    notes, problems = list[Finding](), list[Finding]()
    cut_lines = dict[int, bool]()
    rows = table_rows(path, (), False, sheet, notes, problems, door, cut_lines)
    all_lines = array("Q")

    def noted() -> Iterator[Mapping[str, Any]]:
        for line, row in rows:
            all_lines.append(line)
            yield row

    cells = cells_of(noted(), place=str(path))
    said = cells.notna().to_numpy(dtype=bool).any(axis=1)
    if not said.any():
        faults = (
            f" {unread_rows(problems):,} rows of it cannot be read." if problems else ""
        )
        what = (
            f"the file holds no rows.{faults} Its first line names the columns, each "
            "other is a row"
        )
        raise DataError(f"{path}: {what}.")
    cells, raw = read_raw(cells, path.name)
    notes += raw
    have(str(path), (), list(cells.columns))
    lines = [line for line, kept in zip(all_lines, said, strict=True) if kept]
    places = [f"{source}:{line}" for line in lines]
    digest = hashlib.sha256(read_bytes(path, LARGEST)).hexdigest()
    cut = {n: cut_lines[line] for n, line in enumerate(lines) if line in cut_lines}
    kept_cells = cells[said].reset_index(drop=True)
    return Frame(
        str(source), kept_cells, places, digest, tuple(notes), tuple(problems), cut=cut
    )


def _of_tool(
    path: Path, unit: Unit | None, only: Collection[str] | None
) -> pd.DataFrame | None:
    """What a tool wrote into a file or a folder; None where no reader knows it. Some logs hold
    verdicts and, step by step, what led to them: without a unit they are read as verdicts."""
    reader = find(path)
    if (unit is not None or reader is None) and is_trace(path):
        return frame_of(path, unit or "run", only)
    return None if reader is None else reader.read(path)


def is_trace(path: Path) -> bool:
    """Whether a file holds runs, step by step, and no table."""
    return find_traces(path) is not None


GZIP = b"\x1f\x8b"
MOST_UNPACKED = 100
"""How many times its size a packed table may unpack to, beyond a few megabytes."""


def _is_packed(path: Path) -> bool:
    """Whether a file is one that gzip has packed."""
    with opened(path) as file:
        return file.read(len(GZIP)) == GZIP


def _unpacked(path: Path, sheet: str | None, door: Door, unit: Unit | None) -> Frame:
    """Read a table that is packed with gzip, under its own name. Raises DataError for one that is
    damaged, or unpacks to more than is read."""
    size = path.stat().st_size
    # A table of few different words packs very well; the floor leaves room for small
    # ones.
    most = min(LARGEST, max(50_000_000, MOST_UNPACKED * size))
    inner = path.stem if path.suffix.lower() in (".gz", ".gzip") else path.name
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / (inner if Path(inner).suffix else f"{inner}.jsonl")
        files.write_bytes(inside, unpacked(path, most))
        try:
            frame = read_frame(inside, sheet, door, unit=unit)
        except (ConfigError, DataError) as error:
            raise type(error)(str(error).replace(str(inside), str(path))) from None
    places = [place.replace(str(inside), str(path)) for place in frame.places]
    note = Finding("table.unpacked", {"file": path.name})
    return frame._replace(name=str(path), places=places, notes=(note, *frame.notes))


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of a data frame as those of `cells_of`."""
    return pd.DataFrame(
        {str(n): pd.Series([_plain(c) for c in frame[n]], dtype=object) for n in frame}
    )


def _log(name: str, cells: pd.DataFrame, path: Path | None = None) -> Frame:
    """What the reader of a tool's log found in it."""
    told, tool = cells.attrs["problems"], cells.attrs["reader"]
    stated = cells.attrs.get("stated", {})
    places = [str(place) for place in cells["place"]]
    cells = cells.drop(columns="place")
    cells = cells.loc[:, cells.notna().any()]
    note = Finding("table.log", {"file": Path(name).name, "tool": tool})
    more = cells.attrs.get("notes", ())
    problems = tuple(
        text
        if isinstance(text, Finding)
        else Finding(
            "table.log_fault",
            {"text": text, **({"rows": text.rows} if isinstance(text, Unread) else {})},
        )
        for text in told
    )
    if path is not None and path.is_file():
        with opened(path) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    else:
        digest = hashlib.sha256(cells.to_json(orient="split").encode()).hexdigest()
    return Frame(
        name, _cells(cells), places, digest, (note, *more), problems, True, stated
    )


def cells_of(
    rows: Iterable[Mapping[str, Any]], flat: bool = True, place: str = "the rows"
) -> pd.DataFrame:
    """Rows as a frame of text, numbers and None: lists as JSON, booleans as words, other objects as
    text. If `flat`, an object in a cell is its fields, `retest.score`. Rows are gone through once,
    and none is held beside its cells. Raises DataError, which begins with the `place`, where there
    is too much."""
    columns: dict[str, list[Any]] = {}
    n = 0
    for row in rows:
        for name, cell in (
            _flat(row) if flat and dict in map(type, row.values()) else row
        ).items():
            if name not in columns:
                columns[name] = []
                check_size(place, len(columns), n + 1)
            held = columns[name]
            held.extend([None] * (n - len(held)))  # no row before had it
            try:
                held.append(_plain(cell))
            except Unreadable as error:
                raise DataError(error.at(f"{place}, `{name}`")) from None
        n += 1
    check_size(place, len(columns), n)
    for held in columns.values():
        held.extend([None] * (n - len(held)))
    return pd.DataFrame(
        {name: pd.Series(held, dtype=object) for name, held in columns.items()}
    )


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, cell in row.items():
        cells |= (
            {f"{name}.{k}": v for k, v in _flat(cell).items()}
            if isinstance(cell, dict)
            else {name: cell}
        )
    return cells


def _plain(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell if cell and not cell.isspace() else None
    if hasattr(cell, "tolist"):  # NumPy's
        cell = cell.tolist()
    # Before numbers, as True is 1 to Python, and would become a grade.
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return (
            None
            if not math.isfinite(cell)
            else int(cell)
            if cell.is_integer() and abs(cell) < 2**53
            else cell
        )
    if cell is None or isinstance(cell, int):
        return cell
    if isinstance(cell, bytes):
        raise Unreadable(
            f"a cell holds bytes that are no UTF-8 text ({brief(cell, 40)}). Write the column as"
            " text."
        )
    if cell is pd.NA or cell is pd.NaT:
        return None
    return as_text(cell) if isinstance(cell, list | dict) else str(cell)


def aligned(
    frames: Sequence[Frame],
    item: str | None,
    judge: Sequence[str] = (),
    human: Sequence[str] = (),
    door: Door = CHECK,
) -> list[Frame]:
    """The frames of files that are joined: the column of ids has one name (that of the first file,
    or `item`), and columns of verdicts or labels with the same name are told apart by the names of
    the files, where these say whose they are (`humans.csv`, `judge.csv`) or somebody typed them so
    (`humans.score`). Raises ConfigError where two files hold the same columns about the same items,
    and nothing tells whose."""
    ids = [column_of(frame.cells, ITEM, item) for frame in frames]
    first = item or next((name for name in ids if name is not None), None)
    held = [
        {str(name) for name in frame.cells if side_of(str(name)) is not None}
        for frame in frames
    ]
    sides = _whose_files(frames, ids, held, (judge, human), door)
    told = {1, -1} <= set(sides)
    # Two judges' files with a column `label`, which would be people's.
    judges = set(sides) == {1} and all(
        side_of(name) == -1 for own in held for name in own
    )
    whole = {
        f"{_stem(frame)}.{name}"
        for frame, own in zip(frames, held, strict=True)
        for name in own
    }
    judges = judges or (set(sides) == {1} and bool(whole & {*judge}))
    result = []
    for n, frame in enumerate(frames):
        names = (
            {ids[n]: first}
            if ids[n] is not None and first is not None and first not in frame.cells
            else {}
        )
        if (told and sides[n] in (1, -1)) or judges:
            others = set().union(
                *(
                    held[m]
                    for m in range(len(frames))
                    if m != n and (judges or sides[m] != sides[n])
                )
            )
            names |= {name: f"{_stem(frame)}.{name}" for name in held[n] & others}
        result.append(frame._replace(cells=frame.cells.rename(columns=names)))
    return result


def _stem(frame: Frame) -> str:
    return Path(frame.name).stem


_OF_RUNS = frozenset(
    "run seed v version old new before after baseline prompt rodada antes depois shard part parte"
    " fold split train test dev".split()
)
"""Words in the names of files that are several of one judge, or parts of one table."""


def _whose_files(
    frames: Sequence[Frame],
    ids: Sequence[str | None],
    held: Sequence[set[str]],
    typed: tuple[Sequence[str], Sequence[str]],
    door: Door,
) -> list[int | None]:
    """Whose verdicts or labels each file holds: a judge's (1), people's (-1), or None where its
    name does not tell, nor anything else."""
    sides = [side_of(_stem(frame)) for frame in frames]
    sides = [None if side == 0 else side for side in sides]
    named = False
    for names, side in zip(typed, (1, -1), strict=True):
        for n, frame in enumerate(frames):
            if any(f"{_stem(frame)}.{column}" in names for column in held[n]):
                sides[n], named = side, True
    if named and len(frames) == 2 and None in sides:
        other = sides[1 - sides.index(None)]
        return [-(other or 0) if side is None else side for side in sides]
    if named or any(typed) or len(frames) != 2 or {1, -1} <= set(sides):
        return sides
    of_columns = {side_of(name) for own in held for name in own}
    if of_columns not in ({0}, {-1}) or not _are_of_the_same_items(frames, ids):
        return sides
    known = [side for side in sides if side is not None]
    if known and (of_columns == {-1} or known == [-1]):
        return [-known[0] if side is None else side for side in sides]
    words = {word for frame in frames for word in tokens(_stem(frame))}
    if len(known) == 2 or words & _OF_RUNS:
        return sides
    # A judge's file is named first on the command line, as in all examples.
    one, two = (0, 1) if sides[1] is None else (1, 0)
    columns = {n: f"{_stem(frames[n])}.{min(held[n])}" for n in (one, two)}
    files = {n: Path(frames[n].name).name for n in (one, two)}
    raise Question(
        f"{files[0]} and {files[1]} have the same columns and are about the same items, and"
        f" nothing says whose `{min(held[0])}` each of them holds.",
        [
            Way(
                f"If people gave those of {files[two]}, type",
                [(JUDGE, columns[one]), (LABEL, columns[two])],
            ),
            Way(
                f"if people gave those of {files[one]}:",
                [(JUDGE, columns[two]), (LABEL, columns[one])],
            ),
            Way("if both are of judges:", [(JUDGE, f"{columns[one]},{columns[two]}")]),
        ],
    ).at(door)


def _are_of_the_same_items(frames: Sequence[Frame], ids: Sequence[str | None]) -> bool:
    """Whether two files with the same columns, of which a row is an item, share most items by their
    ids or texts; without both, they have as many rows."""
    one, two = (frame.cells for frame in frames)
    if set(one) != set(two) or any(frame.is_log for frame in frames):
        return False
    if any(column_of(one, role) is not None for role in (RATER, CRITERION)):
        return False
    contents = Contents(one)
    texts = [name for name in contents.names if contents.is_prose(name)]
    keys = [name for name in (ids[0], *texts) if name is not None]
    if not keys:
        return len(one) == len(two)
    sets = [set(map(str, cells[keys[0]].dropna())) for cells in (one, two)]
    return 2 * len(sets[0] & sets[1]) > min(map(len, sets))


def column_of(cells: pd.DataFrame, role: Role, given: str | None = None) -> str | None:
    """The column `given` for a role, or the first that is called so; None without one."""
    known = {
        " ".join(tokens(str(name))): str(name) for name in reversed(list(cells.columns))
    }
    return (
        given
        if given in cells
        else next((known[name] for name in role.names if name in known), None)
    )
