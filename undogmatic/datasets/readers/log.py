"""Holds what the readers share: the first look at a file, JSON that may break off, rows as a
table."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.errors import DataError
from undogmatic.records.evidence import NOT_JUDGED, STATED
from undogmatic.records.records import OVERALL, as_number
from undogmatic.records.results import Finding
from undogmatic.safety.outside import (
    Doubled,
    Unreadable,
    brief,
    decoded,
    doubled_key,
    json_value,
    json_with_doubled,
    opened,
    read_bytes,
    read_lines,
)

if TYPE_CHECKING:
    import pandas as pd

HEAD_BYTES, DEEP_BYTES = 65_536, 8_388_608
"""Of a file what is looked at to know its tool, and of JSON in which the first record is longer."""
LOG_BYTES, LOG_PARTS = 200_000_000, 2_000_000  # of one JSON file
COLUMNS = (
    "item judge criterion repeat order verdict confidence reason label rater group text text_1"
    " text_2 system".split()
)
"""The columns that a reader may fill, in their order; `settings.KEY` (of the judge) and `place`
stand at the end, any other column is a fact about the item."""
NAMES = ("item", "judge", "criterion", "rater", "group", "system")
Row = dict[str, Any]
OURS = "undogmatic"
"""The key in the metadata of another tool under which `undogmatic export` keeps what that tool has
no place for."""


class Head(NamedTuple):
    """The beginning of a file: its bytes, and the value of its JSON or of the JSON in its first
    line as far as that is there (None: it is no JSON). A folder has neither."""

    path: Path
    raw: bytes
    value: Any

    def has(self, *keys: str) -> bool:
        """Whether it begins with an object that has all these keys."""
        return isinstance(self.value, Mapping) and all(
            key in self.value for key in keys
        )

    def first(self, *keys: str) -> Any:
        """What lies at the end of these keys; of a list its first entry."""
        return at(self.value, *keys)

    def record(self, under: str = "") -> Mapping[str, Any]:
        """The first record of its JSON, which may lie in a list under a key; an empty one where it
        has none."""
        first = self.first(under) if under and self.has(under) else self.first()
        return first if isinstance(first, Mapping) else {}

    def names(self, under: str = "") -> set[str]:
        """The columns of a table, or the keys of the first record."""
        return set(self.columns or self.record(under))

    @property
    def line(self) -> str:
        """The first line."""
        line, *_ = self.raw.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)
        return line.decode("utf-8", "replace")

    @property
    def columns(self) -> list[str]:
        """The cells of its first line, if it is a table."""
        return [] if self.value is not None else cells_of(self.line, ",")


def cells_of(line: str, separator: str) -> list[str]:
    """The cells of a line of a table, without the marks around them."""
    return [cell.strip().strip('"') for cell in line.split(separator)]


def at(value: Any, *keys: str) -> Any:
    """What lies at the end of these keys, of a list in its first entry; None if nothing does."""
    for key in keys:
        value = first_of(value)
        value = value.get(key) if isinstance(value, Mapping) else None
    return first_of(value)


def first_of(value: Any) -> Any:
    """The first entry of a list; anything else as it is."""
    return (value[0] if value else None) if isinstance(value, list) else value


def head_of(path: Path, most: int = HEAD_BYTES) -> Head | None:
    """The beginning of a file (at `most` so many bytes), or a folder; None where there is none that
    can be opened."""
    # Some tools write a folder; what is in it is for their reader to say.
    if path.is_dir():
        return Head(path, b"", None)
    try:
        with opened(path) as file:
            raw = file.read(most)
    except DataError:
        return None
    text = raw.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] not in (b"{", b"["):
        return Head(path, raw, None)
    whole = text.decode("utf-8", "ignore")  # the last character may be cut
    # The shorter, where a later part is damaged
    # A file of JSON Lines is no JSON as a whole, and its first line is.
    for part in (whole, whole.split("\n", 1)[0], whole[:2000], whole[:500]):
        try:
            return Head(
                path, raw, json_value(part, infinite=True, partial=True, most=LOG_PARTS)
            )
        except Unreadable:
            continue
    return Head(path, raw, None)


class Unread(str):
    """A problem by which records of a file could not be read; `rows` says how many."""

    rows: int

    def __new__(cls, text: str, rows: int = 1) -> Unread:
        made = super().__new__(cls, text)
        made.rows = rows
        return made


Given = list[tuple[str, Any]]
"""Records of a file, such as its samples, with their places."""
SHAPE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What is raised where a record is built otherwise than its tool builds it."""


class About(NamedTuple):
    """What the documentation says of a reader: a row of its table."""

    tool: str
    file: str
    verdict: str
    label: str
    fixture: str
    """How the files that it is tested with were made, and with which version."""


@dataclass(frozen=True)
class Reader:
    """Reads what one tool writes.

    Attributes:
        name: The tool and its file, for messages.
        claims: Whether a file that begins so is that tool's.
        records: The records of a file; what is left out is added to the list of problems. Raises
            DataError.
        rows: The rows of records from a file or another source, whose problems are added to the
            list, too.
        about: Its row in the documentation; a package of its own documents itself.
    """

    name: str
    claims: Callable[[Head], bool]
    records: Callable[[Path, list[str]], Given]
    rows: Callable[[Given, Path | str, list[str]], Iterable[Row]]
    about: About | None = None

    def read(self, path: Path) -> pd.DataFrame:
        """The verdicts and labels of a file in long form: the COLUMNS that are known,
        `settings.KEY` and `place`; other columns are facts about the item. `attrs["problems"]`
        names what was left out, `attrs["reader"]` the tool. Raises DataError for a file that is
        damaged or holds no verdict."""
        problems: list[str] = []
        try:
            given = self.records(path, problems)
        except SHAPE as error:
            why = f"{type(error).__name__}: {error}"
            raise DataError(
                f"{path}: begins like {self.name}, and is built otherwise ({why})."
            ) from None
        return self.frame(given, path, problems)

    def frame(
        self, given: Given, source: Path | str, problems: list[str]
    ) -> pd.DataFrame:
        """The table of records in hand, as `read` returns it; one that is built otherwise is a
        problem."""
        more: list[str] = []
        try:
            rows = list(self.rows(given, source, more))
        except SHAPE:
            # One record by one, to find those that are built otherwise: a new version
            # of a tool mostly changes some of them, and the others still count.
            sound = [one for one in given if self._sound(one, source, problems)]
            rows, more = list(self.rows(sound, source, [])), []
        return framed(rows, [*problems, *more], str(source), self.name)

    def _sound(
        self, one: tuple[str, Any], source: Path | str, problems: list[str]
    ) -> bool:
        try:
            list(self.rows([one], source, []))
        except SHAPE as error:
            why = f"{type(error).__name__}: {error}"
            problems.append(
                Unread(
                    f"{one[0]}: is built otherwise than in {self.name} ({why}); it was left out."
                )
            )
            return False
        return True


def of_columns(name: str, keys: Sequence[str], columns: Mapping[str, str]) -> Reader:
    """A reader of files of records with one verdict each: JSON Lines, a list in JSON, or CSV.

    A row has a judge and a verdict, or a label (with its rater), or both. Where a record lacks a
    verdict, its row has none either: the judge's verdict on that item is missing, and counts as
    missing.

    Args:
        name: The tool and its file, for messages.
        keys: What every record of such a file has, by which it is recognised.
        columns: A column of `COLUMNS`, or the name of a fact about the item -> where it stands in a
            record: keys joined by dots. "=words" stands for the words themselves.
    """

    def claims(head: Head) -> bool:
        # All keys, since one alone, such as `input`, is in the files of many tools.
        return head.names() >= set(keys)

    def rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
        for place, record in given:
            row = {
                column: where[1:]
                if where[:1] == "="
                else cell(at(record, *where.split(".")))
                for column, where in columns.items()
            }
            # A rater who gave no label has said nothing of this item, and must not
            # count as one of its raters.
            if "label" in row and row["label"] is None:
                row["rater"] = None
            yield row | {"place": place}

    return Reader(name, claims, records, rows)


def framed(
    rows: list[Row], problems: list[str], source: str, name: str
) -> pd.DataFrame:
    """Rows as the table that `Reader.read` returns. Raises DataError where there are none."""
    import pandas as pd

    rows = _with_people(rows, source, problems)
    # Without a number of the repeat a verdict beside two labels would be taken for two.
    rows = [
        {"repeat": 0} | {k: _plain(k, value) for k, value in row.items()}
        for row in rows
    ]
    # An empty table would be answered with "no labels", where the truth is that nothing
    # was read.
    if not rows:
        left = f" {problems[0]}" if problems else ""
        raise DataError(f"{source}: {name} without a single verdict or label.{left}")
    stated = _stated(rows)
    seen = dict.fromkeys(name for row in rows for name in row)
    settings = [name for name in seen if name.startswith("settings.")]
    others = [name for name in seen if name not in (*COLUMNS, *settings, "place")]
    order = [*(name for name in COLUMNS if name in seen), *others, *settings, "place"]
    for setting in settings:
        _settle(rows, setting)
    frame = pd.DataFrame(
        {
            name: pd.Series([row.get(name) for row in rows], dtype=object)
            for name in order
        }
    )
    frame.attrs |= {
        "problems": problems,
        "reader": name,
        "source": source,
        "stated": stated,
    }
    return frame


def _stated(rows: list[Row]) -> dict[str, dict[Any, Any]]:
    """Take out of the rows what they state of all verdicts: by name, and by criterion."""
    stated: dict[str, dict[Any, Any]] = {}
    for row in rows:
        for name in [name for name in row if name.startswith(STATED)]:
            value = row.pop(name)
            if value is not None:
                stated.setdefault(name.removeprefix(STATED), {})[
                    row.get("criterion")
                ] = value
    return stated


def _plain(name: str, value: Any) -> Any:
    return str(value) if name in NAMES and value is not None else cell(value)


_PEOPLE = re.compile(
    r"(human|label|gold|expert|annotator|rater)([_ ]?(label|score|rating|verdict|grade|\d{1,3}))?",
    re.I,
)


_PERSON = re.compile(r"(human|expert|annotator)([ _.-].*|\d*)", re.I)


def is_person(name: str) -> bool:
    """Whether a name by itself says that a person gave what stands under it (`human_correct`)."""
    return _PERSON.fullmatch(name) is not None


def people_among(names: Iterable[str], criteria: Iterable[Any]) -> dict[str, list[Any]]:
    """The facts that are labels by their names (`human_label`, `gold`, `human_score_2`, and with
    the name of a criterion behind it `human_clarity`), with the criteria that they are on: the one
    that is named, else the only one or the overall one."""
    known, found = list(criteria), dict[str, list[Any]]()
    for name in names:
        named = [
            each for each in known if each and name.lower().endswith(f"_{each}".lower())
        ]
        bare = name[: -len(str(named[0])) - 1] if named else name
        # Whole names alone: `human_readable_name` is no label.
        if name not in COLUMNS and _PEOPLE.fullmatch(bare):
            overall = [each for each in known if each in (None, OVERALL)]
            found[name] = named[:1] or overall or (known if len(known) == 1 else [])
    return found


def _with_people(rows: list[Row], source: str, problems: list[str]) -> list[Row]:
    """The rows with the labels among their facts, where they have no others: a row for each."""
    names = dict.fromkeys(name for row in rows for name in row)
    if "label" in names:
        return rows
    people = people_among(names, dict.fromkeys(row.get("criterion") for row in rows))
    every = dict.fromkeys(row.get("criterion") for row in rows)
    # With several criteria, a label that names none could be on any of them.
    for name in [name for name, meant in people.items() if not meant]:
        problems.append(
            f"{source}: `{name}` names no criterion, so each of the {len(every)} was held against"
            f" it. If it is on one of them, name the column after that one ({name}_CRITERION), or"
            " choose it with `--criterion`."
        )
        people[name] = list(every)
    if not people:
        return rows
    found: list[Row] = []
    for row in rows:
        told = {
            n: v
            for n in people
            if (v := row.get(n)) not in (None, "") and row.get("criterion") in people[n]
        }
        bare = {key: value for key, value in row.items() if key not in people}
        found += [
            bare | {"label": as_number(value), "rater": name}
            for name, value in told.items()
        ] or [bare]
    return found


def _settle(rows: list[Row], name: str) -> None:
    """Give a judge one setting: where it was asked in several ways, all of them."""
    ways: dict[Any, dict[str, None]] = {}
    for row in rows:
        if row.get(name) is not None:
            ways.setdefault(row.get("judge"), {})[str(row[name])] = None
    # Sorted, as the digest of a judge's card must not hang on the order of the rows.
    one = {judge: "\n".join(sorted(texts)) for judge, texts in ways.items()}
    for row in rows:
        row[name] = one.get(row.get("judge"))


def load(path: Path) -> tuple[Any, bool]:
    """The value of a JSON file, and whether the file breaks off: then it is the value of what is
    there, whose last part may be half. Raises DataError."""
    try:
        text = decoded(read_bytes(path, LOG_BYTES))
        try:
            json_value(text, infinite=True, most=LOG_PARTS)
            return _single(json_with_doubled(text), path), False
        except Unreadable as error:
            try:
                return json_value(
                    text, infinite=True, most=LOG_PARTS, partial=True
                ), True
            except Unreadable:
                raise error from None
    except Unreadable as error:
        raise DataError(
            f"{error.at(str(path)).removesuffix('.')}. Is it the file as the tool wrote it?"
        ) from None


def _single(value: Any, path: Path) -> Any:
    """What holds the records of a file. Raises DataError where a key stands twice in it."""
    if isinstance(value, Doubled):
        what = (
            f"the key {brief(value.key)} stands in it a second time, so that it is not known which"
            " is meant"
        )
        raise DataError(f"{path}: {what}. Delete one of them.")
    return value


def entries(path: Path, problems: list[str], *keys: str) -> list[Any]:
    """The list at the end of these keys of a JSON file; without its last entry where the file
    breaks off there."""
    value, half = load(path)
    for key in keys:
        value = _single(value.get(key), path) if isinstance(value, Mapping) else None
    return whole(value, half, path, problems)


def whole(found: Any, half: bool, path: Path, problems: list[str]) -> list[Any]:
    """The objects in a list that are whole: all, or all but the last of a file that breaks off in
    it."""
    kept = list(found) if isinstance(found, list) else []
    if half:
        # A number that is cut is still a number: 12 of 125.
        kept = kept[:-1]
        problems.append(
            Unread(
                f"{path}: breaks off; {len(kept)} whole entries were read, the one that is cut was"
                " left out."
            )
        )
    return [
        value
        for n, value in enumerate(kept, 1)
        if is_record(value, f"{path}#{n}", problems)
    ]


def records(path: Path, problems: list[str], *keys: str) -> Given:
    """The objects of a file with their places: of a list in JSON (at the end of these keys, if it
    is an object), of JSON Lines or of CSV."""
    head = head_of(path)
    if head is None or head.value is None:
        found = list(_cells(path, problems))
    elif isinstance(head.value, list) or any(head.has(key) for key in keys):
        inside = keys if isinstance(head.value, Mapping) else ()
        found = [
            (f"{path}#{n}", value)
            for n, value in enumerate(entries(path, problems, *inside), 1)
        ]
    else:
        found = [(f"{path}:{n}", value) for n, value in lines(path, problems)]
    return [
        (place, value) for place, value in found if is_record(value, place, problems)
    ]


def is_record(value: Any, place: str, problems: list[str]) -> bool:
    """Whether a value is an object in which no key stands twice; else it is a problem."""
    if not isinstance(value, Mapping):
        problems.append(
            Unread(
                f"{place}: {brief(value)}, where an object was expected; it was left out."
            )
        )
        return False
    if (twice := doubled_key(value)) is not None:
        problems.append(
            Unread(
                f"{place}: the key {brief(twice)} stands in it a second time; it was left out."
            )
        )
        return False
    return True


def _cells(path: Path, problems: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a CSV file by column; one that is cut is a problem."""
    from undogmatic.datasets.rows import csv_rows

    quotes = list[Finding]()
    rows = csv_rows(path, ",;\t", quotes)
    header = next(rows).cells
    for row in rows:
        if len(row.cells) == len(header):
            yield f"{path}:{row.first}", dict(zip(header, row.cells, strict=True))
        else:
            what = f"{len(row.cells)} cells under {len(header)} columns"
            problems.append(
                Unread(f"{path}:{row.first}: {what}; the row was left out.")
            )
    for one in quotes:
        where, n = one.values.get("place", path), one.values["rows"]
        what = (
            f"a quote is never closed, so that about {n} {'row' if n == 1 else 'rows'} could not be"
            " read"
        )
        problems.append(Unread(f"{where}: {what}.", n))


def joined(
    verdicts: list[Row], labels: list[Row], path: Path | str, problems: list[str]
) -> Iterator[Row]:
    """The verdicts with the labels of the same item and criterion, a row for each label; an item
    that was only labelled has a verdict that is missing. Labels on what no judge judged are a
    problem; of a file in which no judge speaks they are all that there is."""
    if not verdicts:
        yield from labels
        return
    by_key: dict[tuple[Any, Any], list[Row]] = {}
    for row in labels:
        # By both: labels on another criterion are no labels of this verdict.
        by_key.setdefault((row["item"], row.get("criterion")), []).append(row)
    judges: dict[Any, dict[Any, None]] = {}
    for row in verdicts:
        judges.setdefault(row.get("criterion"), {})[row.get("judge")] = None
        of_item = by_key.get((row["item"], row.get("criterion")), [{}])
        yield from (
            row | {key: label[key] for key in ("label", "rater") if key in label}
            for label in of_item
        )
    judged = {(row["item"], row.get("criterion")) for row in verdicts}
    for key, rows in by_key.items():
        if key not in judged:
            yield from (
                r | {"judge": judge, "reason": NOT_JUDGED}
                for r in rows
                for judge in judges.get(key[1], ())
            )
    for criterion in dict.fromkeys(key[1] for key in by_key if key[1] not in judges):
        count = sum(len(rows) for key, rows in by_key.items() if key[1] == criterion)
        problems.append(
            f"{path}: {count} labels on {brief(criterion)}, on which no judge gave a verdict, were"
            " left out."
        )


class Kept(NamedTuple):
    """What `undogmatic export` kept of an item in the metadata of another tool: fields of the rows,
    the kind of verdict (None: it was not written by us), labels, and confidences by judge and
    criterion."""

    row: Row
    kind: str | None
    labels: list[Row]
    confidence: Mapping[str, Any]

    def of(self, judge: Any, criterion: Any) -> Row:
        """The confidence of a verdict."""
        found = self.confidence.get(f"{judge}\n{criterion}")
        return {} if found is None else {"confidence": found}


def kept(metadata: Any) -> Kept:
    """What we kept in the metadata of an item."""
    # What we exported comes back as it was, confidences and labels too.
    held = at(metadata, OURS)
    held = held if isinstance(held, Mapping) else {}
    named = {
        key: value
        for key, value in held.items()
        if key in COLUMNS or key.startswith("system_")
    }
    row = {key: value for key, value in named.items() if key != "confidence"}
    labels = [
        {"item": row.get("item"), **one}
        for one in held.get("labels") or ()
        if isinstance(one, Mapping)
    ]
    return Kept(row, held.get("kind"), labels, held.get("confidence") or {})


def lines(path: Path, problems: list[str]) -> Iterator[tuple[int, Any]]:
    """The values of the lines of a JSON Lines file with their numbers; a line that is no JSON is a
    problem."""
    for number, raw in read_lines(path):
        try:
            text = decoded(raw)
            json_value(text, infinite=True)
            value = json_with_doubled(text)
        except Unreadable as error:
            problems.append(
                Unread(
                    f"{path}:{number}: {str(error).removesuffix('.')}; the line was left out."
                )
            )
            continue
        if not isinstance(value, Mapping) or is_record(
            value, f"{path}:{number}", problems
        ):
            yield number, value


def snake(name: Any) -> str:
    """A name such as `traceId` as `trace_id`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(name)).lower()


def cell(value: Any) -> Any:
    """A value as a cell of a table: a number or text, None for nothing and NaN; true and false are
    words."""
    if isinstance(value, bool):
        # As a float True would be a grade of 1.
        return "true" if value else "false"
    if value is None or (isinstance(value, float) and math.isnan(value)) or value == "":
        return None
    return value if isinstance(value, int | float | str) else brief(value, 300)


def text_of(value: Any) -> str | None:
    """The text that a value holds: itself, the content of messages, of an object with one text that
    text; else JSON as it is shown."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, Mapping):
        for key in ("content", "text", "output", "response", "answer", "completion"):
            if key in value:
                return text_of(value[key])
        return (
            "\n".join(f"{key}: {text_of(inner)}" for key, inner in value.items())
            or None
        )
    if isinstance(value, list):
        return "\n".join(filter(None, map(text_of, value))) or None
    return str(value)


def facts(*mappings: Any) -> Row:
    """The entries of mappings that are facts about an item, or its label: numbers, words and
    texts."""
    pairs = (
        (str(key), value)
        for each in mappings
        if isinstance(each, Mapping)
        for key, value in each.items()
    )
    plain = {
        key: value
        for key, value in pairs
        if isinstance(value, int | float | str) and not key.startswith("_")
    }
    return {
        key: cell(value)
        for key, value in plain.items()
        # A fact that is called `verdict` or `judge` would be taken for the reader's own.
        if key not in COLUMNS or key in TOLD
    }


TOLD = ("label", "rater", "system", "group")
"""Of the columns, those that users of a tool write into an item's facts themselves."""
