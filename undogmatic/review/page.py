"""Serves a page in the browser on which a person labels items one by one, blind to what judges said
of them.

Each label is written to a file at once; the same command goes on where it ended.
"""

import contextlib
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from undogmatic.datasets.by_row import (
    MARK,
    SHOWN,
    columns_cell,
    marks_of,
    places,
    row_ids,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Finding
from undogmatic.records.rubric import NumericScale, OrderedScale, Rubric, UnorderedScale
from undogmatic.review.kept import COLUMNS, Kept, LabelFile
from undogmatic.review.server import LocalServer, PageHandler
from undogmatic.safety.outside import brief

LONGEST_COMMENT = 20_000
# a numeric scale of more levels has a field into which the number is typed
MOST_BUTTONS = 11
Scale = NumericScale | OrderedScale | UnorderedScale


class Entry(NamedTuple):
    """An item: its id, its texts by name, what each judge said of it (shown only once it is
    labelled), the digest of its texts, the columns that they stand in, and what a column says by
    which items are drawn."""

    id: str
    texts: Mapping[str, str]
    said: Mapping[str, str]
    mark: str = ""
    shown: str = ""
    by: str = ""


class Answer(NamedTuple):
    """What came of a label: how many items the rater has labelled, the next one without a label,
    and the label of the same rater that the page did not know of and that this one has replaced."""

    done: int
    next: int | None
    replaced: str | None


def found_in(
    every: Sequence[Entry], numbered: bool, rows: Sequence[Mapping[str, str]]
) -> list[str | None]:
    """The item of each row of a file of labels, wherever its text stands by now in the table whose
    items are `every`; `numbered` where their ids are but the numbers of rows."""
    shown = next((entry.shown for entry in every), "")
    pairs = [(row["item"], (row[SHOWN] == shown and row[MARK]) or None) for row in rows]
    ids, marks = [entry.id for entry in every], [entry.mark or None for entry in every]
    found = places(pairs, ids, marks, ids if numbered else None)
    return [found[pair].item for pair in pairs]


@dataclass
class Sheet:
    """The items, the scale, and the labels of all raters in the file `out`; `rater` is who
    labels now. Of items that were drawn, `every` are all of the table, where their ids are but
    the numbers of rows (`numbered`)."""

    entries: Sequence[Entry]
    scale: Scale
    out: Path
    rater: str
    question: str = ""
    language: str = "en"
    every: Sequence[Entry] = ()
    numbered: bool = False
    replaced: int = 0

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.places = {entry.id: n for n, entry in enumerate(self.entries)}
        self.file = LabelFile(self.out, self._find)
        # the state of the file for which `_done` holds
        self._counted: Kept | None = None
        self._done = set[int]()  # places of items that the rater has labelled
        self._count()
        for place, row in zip(self.file.kept.places, self.file.kept.rows, strict=True):
            if not row["label"]:
                continue
            try:
                self.scale.read(self._read(row["label"]))
            except ValueError as error:
                way = "Name another file with --out, or the scale of its labels with --scale"
                raise DataError(f"{place}: the label {error}. {way}.") from None

    def label(
        self, item: str, given: Any, comment: str = "", was: str | None = None
    ) -> Answer:
        """Keep a label; `given` None takes it back, `was` is the rater's own label that the page
        knew of. Raises ValueError for one that is off the scale, or of no item, and
        UndogmaticError where it cannot be written."""
        place = self.places.get(item)
        if place is None:
            raise ValueError(f"there is no item {brief(item)}")
        label = "" if given is None else self._written(self.scale.read(given))
        with contextlib.suppress(ValueError):  # 7.0 and 7 are one grade
            was = (
                None if was is None else self._written(self.scale.read(self._read(was)))
            )
        entry = self.entries[place]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        values = (
            item,
            self.rater,
            label,
            comment[:LONGEST_COMMENT],
            now,
            entry.mark,
            entry.shown,
        )
        with self.lock:
            before = self.file.keep(item, dict(zip(COLUMNS, values, strict=True)))
            earlier = (before or {}).get("label") or None
            # Two windows may be open on one file: a label that this page never showed
            # is told of, so that nobody loses one unseen.
            replaced = earlier if earlier not in (None, was, label) else None
            self.replaced += replaced is not None
            if self._counted is self.file.kept:  # nobody else has written meanwhile
                (self._done.add if label else self._done.discard)(place)
            self._count()
            return Answer(len(self._done), self._next(place), replaced)

    def _read(self, label: str) -> Any:
        return _number(label) if isinstance(self.scale, NumericScale) else label

    def _written(self, value: float) -> str:
        return (
            f"{value:.10g}"
            if isinstance(self.scale, NumericScale)
            else self.scale.write(value)
        )

    def _find(self, rows: Sequence[Mapping[str, str]]) -> list[str | None]:
        return found_in(self.every or self.entries, self.numbered, rows)

    def _count(self) -> None:
        """Count the items that the rater has labelled, where the file was read since."""
        if self._counted is not self.file.kept:
            self._done = {
                n for n, entry in enumerate(self.entries) if self._is_done(entry)
            }
            self._counted = self.file.kept

    def _is_done(self, entry: Entry) -> bool:
        row = self.file.kept.by_key.get((entry.id, self.rater))
        return row is not None and bool(row["label"])

    def _next(self, place: int) -> int | None:
        """The next item without a label behind this place, or else the first."""
        around = chain(range(place + 1, len(self.entries)), range(place + 1))
        return next((n for n in around if n not in self._done), None)

    @property
    def done(self) -> list[str]:
        """The items that the rater has labelled, in the order of the items."""
        self._count()
        return [self.entries[n].id for n in sorted(self._done)]

    @property
    def lost(self) -> int:
        """How many labels of the file are of texts that the table does not have any more."""
        return self.file.kept.lost

    def shown(self, place: int) -> dict[str, Any]:
        """What the page may know of an item: its texts and, once it is labelled, the label and
        what judges said."""
        entry = self.entries[place]
        row = self.file.kept.by_key.get((entry.id, self.rater))
        known = {
            "place": place,
            "id": entry.id,
            "texts": dict(entry.texts),
            "label": None,
            "comment": "",
            "said": {},
        }
        # What judges said is told only now: who sees it before is drawn to it, and the
        # agreement would be that of a person with a hint.
        if row is not None and row["label"]:
            known |= {
                "label": row["label"],
                "comment": row["comment"],
                "said": dict(entry.said),
            }
        return known

    def about(self) -> dict[str, Any]:
        """What the page may know of the whole: the scale, who labels, how far they are, and
        where to begin."""
        self._count()
        scale, marks = self.scale, [n in self._done for n in range(len(self.entries))]
        facts: dict[str, Any] = {
            "question": self.question,
            "rater": self.rater,
            "language": self.language,
        }
        facts |= {
            "total": len(self.entries),
            "done": sum(marks),
            "out": self.out.name,
            "marks": marks,
        }
        facts |= {
            "next": self._next(-1),
            "reveals": any(entry.said for entry in self.entries),
        }
        options: Sequence[str] = ()
        if isinstance(scale, NumericScale):
            facts |= {"minimum": scale.minimum, "maximum": scale.maximum}
            if (
                scale.step is not None
                and (scale.maximum - scale.minimum) / scale.step < MOST_BUTTONS - 0.5
            ):
                options = [f"{value:g}" for value in scale.default_levels()]
        else:
            options = scale.categories
        return facts | {"options": list(options), "keys": keys_of(options)}


DIGITS, LETTERS = "1234567890", "abdefghijklmnopqrstuvwyz"
"""Keys of labels; c leads to the comment, and x stands for ten where 0 is a grade itself."""


def keys_of(options: Sequence[str]) -> list[str]:
    """The key of each option, "" where there are more options than keys.

    A grade of one digit has its own digit, and 10 has 0, or x where 0 is a grade itself. Names have
    the digits in their order, and then the letters.
    """
    graded = all(re.fullmatch(r"-?\d+", option) for option in options)
    own = {option: option for option in options if graded and len(option) == 1}
    if graded and "10" in options:
        own["10"] = "x" if "0" in own else "0"
    left = iter(LETTERS if graded else DIGITS + LETTERS)
    return [own[option] if option in own else next(left, "") for option in options]


def scale_of(typed: str) -> Scale:
    """The scale that was typed: `1-5` (whole numbers between), `0..100` (any number between),
    `bad<ok<good` (ordered), `pass,fail` (no order). Raises ConfigError."""
    from pydantic import ValidationError

    try:
        if "<" in typed:
            return OrderedScale(
                categories=tuple(word.strip() for word in typed.split("<"))
            )
        if "," in typed:
            return UnorderedScale(
                categories=tuple(word.strip() for word in typed.split(","))
            )
        low, dots, high = typed.partition(".." if ".." in typed else "-")
        if dots and low and high:
            return NumericScale(
                minimum=float(low),
                maximum=float(high),
                step=None if dots == ".." else 1.0,
            )
    except (ValidationError, ValueError):
        pass
    ways = (
        "1-5 (whole numbers), 0..100 (any number between), bad<ok<good (in order), pass,fail"
        " (without order)"
    )
    raise ConfigError(
        f"--scale is {brief(typed)}, which is no scale. Write it like one of these: {ways}."
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"is {brief(text)}, not a number") from None


class Server(LocalServer):
    """The server of one sheet."""

    name = "label"

    def __init__(self, sheet: Sheet, port: int = 0) -> None:
        self.sheet = sheet
        super().__init__(sheet.file.path.parent, port, _Handler)


class _Handler(PageHandler):
    server: Server
    page = Path(__file__).with_name("page.html")
    refused = "The label was not kept: {}"

    def get(self, path: str, asked: Mapping[str, str]) -> Mapping[str, Any] | None:
        """What is known of the whole, or of an item."""
        sheet, place = self.server.sheet, asked.get("place", "")
        if path == "/about":
            return sheet.about()
        is_number = place.isascii() and place.isdigit()
        if path == "/item" and is_number and int(place) < len(sheet.entries):
            return sheet.shown(int(place))
        return None

    def post(self, path: str, sent: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Keep a label."""
        if path != "/label":
            return None
        sheet = self.server.sheet
        if not isinstance(sent.get("item"), str):
            raise ValueError("is no label")
        comment = sent.get("comment") or ""
        if not isinstance(comment, str):
            raise ValueError("has a comment that is no text")
        was = sent.get("was")
        known = was if isinstance(was, str) else None
        told = sheet.label(sent["item"], sent.get("label"), comment, known)
        return {**told._asdict(), "item": sheet.shown(sheet.places[sent["item"]])}


class Table(NamedTuple):
    """The items of a table, whether their ids are but the numbers of rows, and what is to be
    said of how it was read."""

    entries: list[Entry]
    numbered: bool
    notes: list[Finding]


def read_entries(
    path: str,
    item: str | None,
    text: Sequence[str],
    hidden: Sequence[str],
    sheet: str | None = None,
    *,
    by: str | None = None,
    unit: Literal["step", "turn", "run"] | None = None,
) -> Table:
    """The items of a table, each once. `text` names the columns that are shown (default: those
    that are known to hold texts), `hidden` those that are told only once an item is labelled,
    `sheet` a part of a workbook, `by` the column by which items are drawn, `unit` what an item of a
    file of traces is. Raises ConfigError and DataError."""
    from undogmatic.datasets.frames import read_frame
    from undogmatic.datasets.items import find_texts

    frame = read_frame(path, sheet, unit=unit)
    found = find_texts(frame.cells, path, text, item, every=True)
    named = [("--reveal", name) for name in hidden] + (
        [] if by is None else [("--by", by)]
    )
    if unknown := [(option, name) for option, name in named if name not in frame.cells]:
        listed = ", ".join(map(str, frame.cells.columns))
        option, name = unknown[0]
        raise ConfigError(
            f"{option} is {brief(name)}, which is no column of {path}. Columns: {listed}."
        )
    ids, texts = found.columns["item"], found.columns["text"]
    marks = marks_of(frame.cells, texts)
    numbers = [None] * len(marks) if ids else row_ids(frame.cells, marks)
    columns = columns_cell(texts)
    entries: dict[str, Entry] = {}
    nameless = list[str]()
    rows = zip(
        frame.places, numbers, marks, frame.cells.to_dict("records"), strict=True
    )
    for place, number, mark, row in rows:
        shown = {name: str(row[name]) for name in texts if row[name] is not None}
        if not shown:
            continue
        key = number or next(
            (str(row[name]) for name in ids if row[name] is not None), None
        )
        if key is None:
            nameless.append(place)
            continue
        said = {name: str(row[name]) for name in hidden if row[name] is not None}
        drawn_by = "" if by is None or row[by] is None else str(row[by])
        before = entries.setdefault(
            key, Entry(key, shown, said, mark or "", columns, drawn_by)
        )
        if before.texts != shown:
            way = "Name the column that tells the items apart: --item COLUMN"
            raise DataError(
                f"{place}: the item {brief(key)} stands there a second time with other texts."
                f" {way}."
            )
    if not entries:
        raise DataError(
            f"{path}: {', '.join(texts)} is empty in every row, so there is nothing to label."
        )
    notes = [*frame.notes, *found.notes, *frame.problems]
    if nameless:
        notes.append(
            Finding(
                "table.no_id",
                {"n": len(nameless), "column": ids[0], "place": nameless[0]},
            )
        )
    return Table(list(entries.values()), not ids, notes)


def read_rubric(path: str) -> tuple[Scale, dict[str, str]]:
    """The scale of a rubric's file and its question by language. Raises ConfigError and
    DataError."""
    from pydantic import ValidationError

    from undogmatic.records.records import first_problem
    from undogmatic.safety.outside import read_yaml

    if not Path(path).is_file():
        raise ConfigError(
            f"--rubric is {path!r}, which does not exist. Name the YAML file of a rubric."
        )
    plain = read_yaml(Path(path))
    if not isinstance(plain, dict):
        raise DataError(
            f"{path} is no rubric: it must hold `name`, `scale`, `inputs` and `wordings`."
        )
    try:
        rubric = Rubric.model_validate(
            {key: value for key, value in plain.items() if key != "_target_"}
        )
    except ValidationError as error:
        raise DataError(
            f"{path} is no rubric that can be used ({first_problem(error)})."
        ) from None
    return scale_and_questions(rubric)


def scale_and_questions(rubric: Rubric) -> tuple[Scale, dict[str, str]]:
    """The scale of a rubric and its question by language."""
    return rubric.scale, {
        language: wording.question for language, wording in rubric.wordings.items()
    }
