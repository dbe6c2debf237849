"""Reads cases with a document and a reference summary, and the summaries of them that are to be judged."""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from undogmatic.constructs.faithfulness.document import read_document
from undogmatic.datasets.base import existing_file, make_item, unique
from undogmatic.datasets.rows import listed
from undogmatic.datasets.tabular import SUFFIXES, table_rows
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Item
from undogmatic.records.wordings import Licence
from undogmatic.safety.outside import brief, read_bytes, read_text
from undogmatic.safety.paths import data_folder

DOCUMENTS = (".pdf", ".txt", ".md")
TEXTS = (".txt", ".md")
SHIPPED = "shipped"
MOST_FILES = 100_000
"""That are looked at in one folder."""
_LICENCE = {
    "en": "The shipped cases are part of this project (CC BY 4.0). They are invented, parties and decisions included.",
    "pt": "Os casos que acompanham o programa são parte deste projeto (CC BY 4.0). São inventados, com partes e "
    "decisões.",
}


class Case(NamedTuple):
    """A case as a table or a folder gives it; `about` is what else is said of it."""

    name: str
    place: str
    document: Path | None
    reference: str | None
    about: dict[str, Any]


class CasesDataset:
    """Cases to be summarised or, with `summaries`, the summaries of them.

    Without `summaries` an item is a case: its input `document` is the path of a file, which steps turn into a text and
    summaries. With them an item is a summary with the case's reference and the text of its document; its pair is
    the case, so that summaries of one case count as one. Further columns of both tables are kept as metadata.

    Args:
        path: A table (JSON Lines, CSV, Parquet) with case, document, reference, whose files lie relative to it; or a
            folder with a sub-folder per case, in it one document and `reference.txt` or `.md`. None: the shipped cases.
            A `reference` in a table is the text itself, or the name of a file if it is one line that ends in .txt or
            .md.
        summaries: A table with case, text and system (or model; without either the file's name); "shipped": those of
            the shipped cases, with planted errors; None: none.
        split: "test" (of the shipped cases those that nobody looked at while the rules were made), "dev" (the others)
            or "all"; a case of the user's own that names no split is in "test".
        document: The column of a table that holds the document's path; the shipped one has `document` (Markdown) and
            `pdf`.
        needs_reference: Whether a case without reference is refused; judges that read it fail for such a case.
    """

    name = "cases"

    def __init__(
        self,
        path: str | None = None,
        summaries: str | None = None,
        split: Literal["dev", "test", "all"] = "test",
        document: str = "document",
        needs_reference: bool = True,
    ) -> None:
        self.split, self.document, self.needs_reference = split, document, needs_reference
        self._shipped = path is None
        self.path = data_folder() / "faith" / "cases.jsonl" if path is None else _table_or_folder(path)
        if summaries == SHIPPED and path is not None:
            raise ConfigError(
                f"`dataset.summaries` is {SHIPPED}, which are summaries of the shipped cases, but `dataset.path` names "
                "others. Name a file of their summaries, or leave out `dataset.path`."
            )
        self.summaries = None if summaries is None else _summaries(summaries)
        what = "cases" if summaries is None else f"summaries ({Path(summaries).name})"
        self.about = f"{SHIPPED if path is None else self.path.name} {what}, {split} split"

    @property
    def licence(self) -> Licence | None:
        """That of the shipped cases; none is known of the user's."""
        return _LICENCE if self._shipped and self.summaries in (None, _summaries(SHIPPED)) else None

    def load(self) -> list[Item]:
        """The cases, or the summaries, in file order. Raises DataError naming file and line."""
        cases = self._cases()
        chosen = [case for case in cases.values() if self.split in ("all", case.about.get("split") or "test")]
        if not chosen:
            splits = listed(sorted({str(case.about.get("split") or "test") for case in cases.values()}))
            raise DataError(
                f"{self.path} holds no cases of the split {self.split} (there are: {splits or 'none'}). Give another "
                "`dataset.split`; `all` takes every case."
            )
        for case in chosen:
            if case.reference is None and self.needs_reference:
                raise DataError(
                    f"{case.place}: the case {brief(case.name)} has no reference summary. Give one in the column "
                    "`reference` or the file reference.txt; for judges that need none: dataset.needs_reference=false."
                )
        if self.summaries is None:
            return [_case_item(case, self.document) for case in chosen]
        found = _summary_items(self.summaries, cases, {case.name for case in chosen})
        return unique(found, f"{self.summaries} (split {self.split})")

    def _cases(self) -> dict[str, Case]:
        given = _of_folder(self.path) if self.path.is_dir() else _of_table(self.path, self.document)
        cases: dict[str, Case] = {}
        for case in given:
            if (first := cases.get(case.name)) is not None:
                raise DataError(f"{case.place}: the case {brief(case.name)} was already given at {first.place}.")
            cases[case.name] = case
        return cases


def _table_or_folder(path: str) -> Path:
    try:
        folder = Path(path).expanduser()
        if folder.is_dir():
            return folder
    except (OSError, RuntimeError, ValueError):
        pass  # said by existing_file
    return _table(path, "dataset.path")


def _summaries(given: str) -> Path:
    if given == SHIPPED:
        return data_folder() / "faith" / "summaries.jsonl"
    if "." not in given and difflib.get_close_matches(given.lower(), [SHIPPED], 1):
        raise ConfigError(f"`dataset.summaries` is {brief(given)}. Did you mean {SHIPPED}?")
    return _table(given, "dataset.summaries")


def _table(path: str, key: str) -> Path:
    file = existing_file(path, key, SUFFIXES)
    if file.suffix not in SUFFIXES:
        raise ConfigError(f"`{key}` is {brief(path)}; a table is one of: {', '.join(SUFFIXES)}.")
    return file


def _of_table(path: Path, column: str) -> Iterator[Case]:
    for number, row in table_rows(path, ("case",)):
        place, given = f"{path}:{number}", _given(row)
        name = _said(place, given, "case", f"case, {column}, reference")
        document = None
        if (written := given.pop(column, None)) is not None:
            document = _file_beside(place, path.parent, written, column, DOCUMENTS)
        reference = _reference(place, path.parent, given.pop("reference", None))
        yield Case(name, place, document, reference, given)


def _of_folder(folder: Path) -> Iterator[Case]:
    """A case per sub-folder, in the order of their names. Raises DataError naming the folder."""
    inside = [each for each in _entries(folder) if each.is_dir()]
    if not inside:
        raise DataError(
            f"{folder}: no sub-folder in it. Give each case one, with its document ({', '.join(DOCUMENTS)}) and "
            "reference.txt; or a table with case, document, reference."
        )
    for own in inside:
        files = [each for each in _entries(own) if each.is_file() and each.suffix.lower() in DOCUMENTS]
        references = [each for each in files if each.stem.lower() == "reference"]
        documents = [each for each in files if each not in references]
        for what, found in (("documents", documents), ("references", references)):
            if len(found) > 1:
                raise DataError(f"{own}: {len(found)} {what} ({listed([each.name for each in found])}); leave one.")
        reference = _text(str(own), references[0], "reference") if references else None
        yield Case(own.name, str(own), documents[0] if documents else None, reference, {})


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder by name, hidden files left out."""
    try:
        found = sorted(each for each in islice(folder.iterdir(), MOST_FILES) if not each.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: cannot be read ({error.strerror or error}).") from None
    return found


def _given(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row that are filled."""
    return {str(k): v for k, v in row.items() if v is not None and not (isinstance(v, float) and math.isnan(v))}


def _said(place: str, given: dict[str, Any], key: str, columns: str) -> str:
    """A name, taken out of a row. Raises DataError where it is missing, empty or no name."""
    value = given.pop(key, None)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        what = "missing" if value is None else f"{brief(value)}, which is no name"
        raise DataError(f"{place}: `{key}` is {what}. Columns: {columns}.")
    return value.strip()


def _file_beside(place: str, folder: Path, written: Any, key: str, kinds: tuple[str, ...]) -> Path:
    """The file that a table names, relative to the folder the table lies in. Raises DataError."""
    try:
        file = folder / Path(str(written)).expanduser()
        there = file.is_file()
    except (OSError, RuntimeError, ValueError):
        there = False
    if not there:
        raise DataError(f"{place}: `{key}` is {brief(written)}, which is no file (looked for in {folder}).")
    if file.suffix.lower() not in kinds:
        raise DataError(f"{place}: `{key}` is {brief(written)}; known kinds: {', '.join(kinds)}.")
    return file


def _reference(place: str, folder: Path, given: Any) -> str | None:
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    if not isinstance(given, str):
        raise DataError(f"{place}: `reference` is {brief(given)}; it must be a text or the name of a file.")
    if given.strip().lower().endswith(TEXTS) and "\n" not in given.strip():
        return _text(place, _file_beside(place, folder, given.strip(), "reference", TEXTS), "reference")
    return given.strip()


def _text(place: str, file: Path, key: str) -> str:
    """A text file. Raises DataError where it is empty, no text, or of another kind."""
    if file.suffix.lower() not in TEXTS:
        raise DataError(f"{place}: `{key}` is {brief(file.name)}; known kinds: {', '.join(TEXTS)}.")
    if not (text := read_text(file).strip()):
        raise DataError(f"{place}: `{key}` is {brief(file.name)}, which is empty.")
    return text


def _document_text(case: Case) -> str | None:
    """The text of a case's document, None where it has none. Raises DataError."""
    if case.document is None:
        return None
    return read_document(case.document).text


def _case_item(case: Case, column: str) -> Item:
    if case.document is None:
        raise DataError(
            f"{case.place}: the case {brief(case.name)} has no document. Give its path in the column `{column}`, or "
            "bring summaries (dataset.summaries=FILE)."
        )
    digest = hashlib.sha256(read_bytes(case.document)).hexdigest()
    inputs = {"document": str(case.document)} | ({} if case.reference is None else {"reference": case.reference})
    fields = {"id": case.name, "inputs": inputs, "metadata": case.about | {"document_sha256": digest}}
    return make_item(case.place, fields)


def _summary_items(path: Path, cases: Mapping[str, Case], chosen: Collection[str]) -> Iterator[tuple[str, Item]]:
    """The summaries of the chosen cases with their places; those of others are only checked. Raises DataError naming
    file and line."""
    first: dict[tuple[str, str], str] = {}
    read = cache(lambda name: _document_text(cases[name]))
    for number, row in table_rows(path, ("case", "text")):
        place, given = f"{path}:{number}", _given(row)
        name = _said(place, given, "case", "case, system (or model), text")
        if name not in cases:
            close = difflib.get_close_matches(name, cases, 1)
            hint = f"Did you mean {brief(close[0])}?" if close else f"Cases: {listed(list(cases))}."
            raise DataError(f"{place}: the case {brief(name)} is not among the cases. {hint}")
        key = "system" if "system" in given else "model"
        system = _said(place, given, key, "case, system (or model), text") if key in given else path.stem
        text = given.pop("text", None)
        if not isinstance(text, str) or not text.strip():
            raise DataError(
                f"{place}: the summary of {brief(name)} by {brief(system)} has no words; `text` must hold it."
            )
        if (seen := first.get((name, system))) is not None:
            raise DataError(f"{place}: a summary of {brief(name)} by {brief(system)} was already given at {seen}.")
        first[name, system] = place
        if name not in chosen:
            continue
        case = cases[name]
        inputs = {"summary": text, "reference": case.reference, "opinion": read(name)}
        own = {"case": name, "system": system, "word_count": len(text.split())}
        fields = {
            "id": f"{name}/{system}",
            "inputs": {key: value for key, value in inputs.items() if value is not None},
            "pair": name,
            "metadata": case.about | given | own,
        }
        yield place, make_item(place, fields)
