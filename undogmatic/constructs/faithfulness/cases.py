"""Reads cases with a document and a reference summary, and the summaries of them that are to be
judged."""

import contextlib
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from undogmatic.constructs.faithfulness.document import SUFFIXES as DOCUMENTS
from undogmatic.constructs.faithfulness.document import read_document
from undogmatic.datasets.rows import table_file, table_rows
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.evidence import CLEAN, DEFECT, EQUIVALENT, INJECTED, PARENT
from undogmatic.records.items import make_item, unique
from undogmatic.records.records import TYPED_GROUP, UNNAMED, Item
from undogmatic.safety.outside import brief, listed, read_bytes, read_text, read_yaml
from undogmatic.safety.paths import data_folder

TEXTS = (".txt", ".md")
SHIPPED = "shipped"
SHORT = "short"
FAITHFUL, FILLER = "perfect", "verbose_filler"
OUTCOME, PARTY = "reversed_outcome", "wrong_party"
KINDS = {"outcome": OUTCOME, "party": PARTY}
"""What the kinds of errors of fresh.yaml are called as systems."""
GRADES = {FAITHFUL: 1.0, OUTCOME: 0.4, PARTY: 0.4}
"""The label of each kind: the bucket of the rubric that follows from what was planted, over 5."""
FRESH = "fresh.yaml"
OURS = {SHIPPED: "the shipped cases", SHORT: "further invented cases"}
PLANTED = "planted"
"""Who labels a short summary: nobody who looked at it, but what was planted in it."""
LANGUAGES = {"us": "en", "br": "pt"}
"""By how the name of a case in fresh.yaml begins."""
OF_OTHERS = ("seventh", "eighth")
"""The parts of fresh.yaml whose author had not seen the rules."""
MOST_FILES = 100_000  # that are looked at in one folder
_LICENCE = {
    "en": (
        "The shipped cases are part of this project (CC BY 4.0). They are invented, parties and"
        " decisions included."
    ),
    "pt": (
        "Os casos que acompanham o programa são parte deste projeto (CC BY 4.0). São inventados,"
        " com partes e decisões."
    ),
}


class Case(NamedTuple):
    """A case as a table or a folder gives it; `about` is what else is said of it."""

    name: str
    place: str
    document: Path | None
    reference: str | None
    about: dict[str, Any]


class Short(NamedTuple):
    """A short summary of an invented case, the `n`th of it: faithful, or with one phrase replaced,
    so that `planted` stands there."""

    case: str
    n: int
    kind: str
    reference: str
    text: str
    planted: str


@cache
def _fresh() -> Mapping[str, Any]:
    """The parts of data/faith/fresh.yaml, each with its cases."""
    parts: Mapping[str, Any] = read_yaml(data_folder() / "faith" / FRESH)
    return parts


def short_summaries(part: str) -> Iterator[Short]:
    """The short summaries of a part of data/faith/fresh.yaml. Raises DataError where a phrase that
    is to be replaced is not there."""
    for case, own in _fresh()[part].items():
        for n, each in enumerate(own["summaries"], 1):
            yield Short(case, n, FAITHFUL, own["reference"], each["text"], "")
            for kind, (said, planted) in each["wrong"].items():
                if said not in each["text"]:
                    raise DataError(
                        f"{FRESH}, {case}: {brief(said)} is not in the summary {n}"
                    )
                text = each["text"].replace(said, planted)
                yield Short(case, n, kind, own["reference"], text, planted)


class CasesDataset:
    """Cases to be summarised or, with `summaries`, the summaries of them.

    Without `summaries` an item is a case: its input `document` is the path of a file, which steps
    turn into a text and summaries. With them an item is a summary with the case's reference and the
    text of its document; its pair is the case, so that summaries of one case count as one. Further
    columns of both tables are kept as metadata.

    Args:
        path: A table (JSON Lines, CSV, Parquet) with case, document, reference, whose files lie
            relative to it; or a folder with a sub-folder per case, in it one document and
            `reference.txt` or `.md`. None: the shipped cases. A `reference` in a table is the text
            itself, or the name of a file if it is one line that ends in .txt or .md.
        summaries: A table with case, text and system (or model; without either the file's name),
            and where people labelled them `labels`, {criterion: score} or {criterion: {rater:
            score}} in the units of the rubric;
            "shipped": those of the shipped cases, with planted errors; "short": short ones of
            further invented cases, faithful and with a wrong outcome or a wrong party, which bring
            their references; None: none.
        split: "test" (of the shipped cases those that nobody looked at while the rules were made,
            of the short summaries those of an author who had not seen the rules), "dev" (the
            others) or "all"; a case of the user's own that names no split is in "test".
        document: The column of a table that holds the document's path; the shipped one has
            `document` (Markdown) and `pdf`.
        needs_reference: Whether a case without reference is refused; judges that read it fail for
            such a case.
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
        self.split, self.document, self.needs_reference = (
            split,
            document,
            needs_reference,
        )
        if summaries in OURS and path is not None:
            raise ConfigError(
                f"`dataset.summaries` is {summaries}, which are summaries of {OURS[summaries]}, but"
                " `dataset.path` names others. Name a file of their summaries, or leave out"
                " `dataset.path`."
            )
        shipped = data_folder() / "faith"
        self.path = shipped / "cases.jsonl" if path is None else _table_or_folder(path)
        self.summaries = None
        if summaries is not None:
            close = get_close_matches(summaries.lower(), [*OURS], 1)
            if summaries not in OURS and "." not in summaries and close:
                raise ConfigError(
                    f"`dataset.summaries` is {brief(summaries)}. Did you mean {close[0]}?"
                )
            typed = str(shipped / "summaries.jsonl") if summaries in OURS else summaries
            self.summaries = table_file(typed, "dataset.summaries")
        what = "cases" if summaries is None else f"summaries ({Path(summaries).name})"
        self.about = (
            f"{SHIPPED if path is None else self.path.name} {what}, {split} split"
        )
        self.planted, self.short = summaries == SHIPPED, summaries == SHORT
        ours = path is None and (summaries is None or summaries in OURS)
        self.licence = _LICENCE if ours else None  # none is known of the user's

    def load(self) -> Sequence[Item]:
        """The cases, or the summaries, in file order. Raises DataError naming file and line."""
        if self.short:
            return unique(_short_items(self.split), FRESH)
        cases: dict[str, Case] = {}
        for case in (
            _of_folder(self.path)
            if self.path.is_dir()
            else _of_table(self.path, self.document)
        ):
            if (first := cases.setdefault(case.name, case)) is not case:
                raise DataError(
                    f"{case.place}: the case {brief(case.name)} was already given at {first.place}."
                )
        splits = {
            name: case.about.get("split") or "test" for name, case in cases.items()
        }
        if not (
            chosen := {
                name: case
                for name, case in cases.items()
                if self.split in ("all", splits[name])
            }
        ):
            there = listed(sorted(set(map(str, splits.values())))) or "none"
            raise DataError(
                f"{self.path} holds no cases of the split {self.split} (there are: {there}). Give"
                " another `dataset.split`; `all` takes every case."
            )
        for case in chosen.values():
            if case.reference is None and self.needs_reference:
                raise DataError(
                    f"{case.place}: the case {brief(case.name)} has no reference summary. Give one"
                    " in the column `reference` or the file reference.txt; for judges that need"
                    " none: dataset.needs_reference=false."
                )
        if self.summaries is not None:
            return unique(
                _summary_items(self.summaries, cases, chosen, self.planted),
                f"{self.summaries} (split {self.split})",
            )
        items = []
        for case in chosen.values():
            if case.document is None:
                raise DataError(
                    f"{case.place}: the case {brief(case.name)} has no document. Give its path in"
                    f" the column `{self.document}`, or bring summaries (dataset.summaries=FILE)."
                )
            about = case.about | {
                "document_sha256": hashlib.sha256(read_bytes(case.document)).hexdigest()
            }
            inputs = {"document": str(case.document)} | (
                {} if case.reference is None else {"reference": case.reference}
            )
            items.append(
                make_item(
                    case.place, {"id": case.name, "inputs": inputs, "metadata": about}
                )
            )
        return items


def _short_items(split: str) -> Iterator[tuple[str, Item]]:
    """The short summaries with their places, each labelled by what was planted in it."""
    for part in _fresh():
        if split not in ("all", "test" if part in OF_OTHERS else "dev"):
            continue
        for each in short_summaries(part):
            case = f"{part}/{each.case}/{each.n}"
            system = KINDS.get(each.kind, each.kind)
            about = {
                "case": case,
                "system": system,
                "word_count": len(each.text.split()),
                "language": LANGUAGES[each.case[:2]],
                TYPED_GROUP: f"{part}/{each.case}",
                **_injected(system, case),
            }
            place = f"{FRESH}, {case}"
            fields = {
                "id": f"{case}/{system}",
                "inputs": {"summary": each.text, "reference": each.reference},
                "pair": case,
                "metadata": about,
                "labels": {"factual_accuracy": {PLANTED: GRADES[system]}},
            }
            yield place, make_item(place, fields)


def _injected(kind: str, case: str) -> dict[str, str]:
    """What was planted in a shipped summary, as metadata say it, and which summary it is a copy
    of."""
    said = {FAITHFUL: CLEAN, FILLER: EQUIVALENT}.get(kind, f"{DEFECT}{kind}")
    return {INJECTED: said} | (
        {} if kind == FAITHFUL else {PARENT: f"{case}/{FAITHFUL}"}
    )


def _table_or_folder(path: str) -> Path:
    # said by existing_file
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        if (folder := Path(path).expanduser()).is_dir():
            return folder
    return table_file(path, "dataset.path")


def _of_table(path: Path, column: str) -> Iterator[Case]:
    for place, name, cells in _rows(path, ("case",), f"case, {column}, reference"):
        document, reference = cells.pop(column, None), cells.pop("reference", "")
        if document is not None:
            document = _file_beside(place, path.parent, document, column, DOCUMENTS)
        if not isinstance(reference, str):
            raise DataError(
                f"{place}: `reference` is {brief(reference)}; it must be a text or the name of a"
                " file."
            )
        reference = reference.strip()
        if reference.lower().endswith(TEXTS) and "\n" not in reference:
            reference = _reference(place, path.parent, reference)
        yield Case(name, place, document, reference or None, cells)


def _of_folder(folder: Path) -> Iterator[Case]:
    """A case per sub-folder, in the order of their names. Raises DataError naming the folder."""
    if not (inside := [each for each in _entries(folder) if each.is_dir()]):
        raise DataError(
            f"{folder}: no sub-folder in it. Give each case one, with its document"
            f" ({', '.join(DOCUMENTS)}) and reference.txt; or a table with case, document,"
            " reference."
        )
    for sub in inside:
        files = [
            file
            for file in _entries(sub)
            if file.is_file() and file.suffix.lower() in DOCUMENTS
        ]
        references = [file for file in files if file.stem.lower() == "reference"]
        documents = [file for file in files if file not in references]
        for what, several in (("documents", documents), ("references", references)):
            if len(several) > 1:
                raise DataError(
                    f"{sub}: {len(several)} {what} ({listed([file.name for file in several])});"
                    " leave one."
                )
        reference = (
            _reference(str(sub), sub, references[0].name) if references else None
        )
        yield Case(sub.name, str(sub), next(iter(documents), None), reference, {})


def _entries(folder: Path) -> list[Path]:
    """What lies in a folder by name, hidden files left out."""
    try:
        return sorted(
            each
            for each in islice(folder.iterdir(), MOST_FILES)
            if not each.name.startswith(".")
        )
    except OSError as error:
        raise DataError(
            f"{folder}: cannot be read ({error.strerror or error})."
        ) from None


def _rows(
    path: Path, needed: tuple[str, ...], columns: str
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The rows of a table: the place of each, the name of its case, and its other cells that are
    filled."""
    for number, row in table_rows(path, needed):
        cells = {
            str(k): v
            for k, v in row.items()
            if v is not None and not (isinstance(v, float) and math.isnan(v))
        }
        yield (
            f"{path}:{number}",
            _name(f"{path}:{number}", cells, "case", columns),
            cells,
        )


def _name(place: str, cells: dict[str, Any], key: str, columns: str) -> str:
    """A name, taken out of a row. Raises DataError where it is missing, empty or no name."""
    value = cells.pop(key, None)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        what = "missing" if value is None else f"{brief(value)}, which is no name"
        raise DataError(f"{place}: `{key}` is {what}. Columns: {columns}.")
    return value.strip()


def _file_beside(
    place: str, folder: Path, written: Any, key: str, kinds: tuple[str, ...]
) -> Path:
    """The file that a table names, relative to the folder the table lies in. Raises DataError."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        if (file := folder / Path(str(written)).expanduser()).is_file():
            if file.suffix.lower() in kinds:
                return file
            raise DataError(
                f"{place}: `{key}` is {brief(written)}; known kinds: {', '.join(kinds)}."
            )
    raise DataError(
        f"{place}: `{key}` is {brief(written)}, which is no file (looked for in {folder})."
    )


def _reference(place: str, folder: Path, written: str) -> str:
    """The reference in a text file. Raises DataError where it is missing, empty, no text, or of
    another kind."""
    file = _file_beside(place, folder, written, "reference", TEXTS)
    if not (text := read_text(file).strip()):
        raise DataError(f"{place}: `reference` is {brief(file.name)}, which is empty.")
    return text


def _summary_items(
    path: Path,
    cases: Mapping[str, Case],
    chosen: Mapping[str, Case],
    shipped: bool,
) -> Iterator[tuple[str, Item]]:
    """The summaries of the chosen cases with their places; those of others are only checked. Raises
    DataError."""
    first: dict[tuple[str, str], str] = {}
    columns, read = "case, system (or model), text", cache(read_document)
    for place, name, cells in _rows(path, ("case", "text"), columns):
        if name not in cases:
            close = get_close_matches(name, cases, 1)
            hint = (
                f"Did you mean {brief(close[0])}?"
                if close
                else f"Cases: {listed(list(cases))}."
            )
            raise DataError(
                f"{place}: the case {brief(name)} is not among the cases. {hint}"
            )
        key = "system" if "system" in cells else "model"
        system = _name(place, cells, key, columns) if key in cells else path.stem
        labels, text = cells.pop("labels", None), cells.pop("text", None)
        whose = f"summary of {brief(name)} by {brief(system)}"
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{place}: the {whose} has no words; `text` must hold it.")
        if (before := first.setdefault((name, system), place)) != place:
            raise DataError(f"{place}: a {whose} was already given at {before}.")
        if (case := chosen.get(name)) is not None:
            opinion = None if case.document is None else read(case.document).text
            inputs = {"summary": text, "reference": case.reference, "opinion": opinion}
            inputs = {key: value for key, value in inputs.items() if value is not None}
            about = (
                case.about
                | cells
                | (_injected(system, name) if shipped else {})
                | {
                    "case": name,
                    "system": system,
                    "word_count": len(text.split()),
                }
            )
            fields = {
                "id": f"{name}/{system}",
                "inputs": inputs,
                "pair": name,
                "metadata": about,
            }
            fields |= {} if labels is None else {"labels": _by_rater(labels)}
            yield place, make_item(place, fields)


def _by_rater(labels: Any) -> Any:
    """Labels by criterion and rater; one that names no rater is by somebody unnamed."""
    if not isinstance(labels, dict):
        return labels
    return {
        criterion: said if isinstance(said, dict) else {UNNAMED: said}
        for criterion, said in labels.items()
    }
