"""Reads what a session of commands left, and takes out of it what no two sessions share.

An answer is plain data: what each command printed and its exit status, and the files it wrote.
Texts are lists of lines, JSON stays JSON, of a table each column has a digest.
"""

from __future__ import annotations

import csv
import hashlib
import html.parser
import io
import itertools
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.equality.typing_in import ROOT, Printed, shared

DIGITS = 10
"""Digits of a number that are kept. More than these differ where sums are taken in another order,
which is no change of an answer."""
NOTHING = 1e-15
"""Numbers nearer to 0 than this are what rounding leaves of 0."""
MOST_LINES = 600
"""Lines of a page that are stored as they are; of the rest there is one digest."""
MOST_ROWS = 30
"""Rows of a table on a page that are stored as they are; of the rest there is one digest."""
LONG_ROW = 250
ROW = "|"
"""How a row of a table begins on a page."""
MOST_JSON = 30_000
"""Characters of a file of JSON that are stored; of a longer one the long parts have a digest."""
LONG_LINE = 1200
WINDOW = 6
"""So many words in a row that also stand in unpublished data are a quotation of it, and so is a
whole text that is shorter. One of fewer words than"""
FEWEST = 3
"""is a quotation where it fills a cell of a table; a single word is a name, and never one."""

TIMINGS = {
    "costs.seconds",
    "judging_seconds",
    "judgments_per_second",
    "seconds",
    "costs.ratio.seconds",
    "program.search_seconds",
}
"""Figures that tell how long something took."""
SEAL = "seal"
"""A card's digest over itself, which follows every digit, also those that are not compared."""
MASKS = [
    # When it ran.
    (re.compile(r"\d{4}-\d\d-\d\d/\d\d-\d\d-\d\d"), "DATE/TIME"),
    (
        re.compile(
            r"\b20\d\d-[01]\d-[0-3]\d"
            r"(?:[T ][0-2]\d:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"
        ),
        "DATE",
    ),
    # How long it took.
    (re.compile(r"\b(judged in|julgados em|after|in) \d+(?:[.,]\d+)? s\b"), r"\1 N s"),
    (
        re.compile(
            r"\d+[.,]\d+ s (in all|ao todo), \d+[.,]\d+ s (of it judging|julgando)"
            r"( \([\d.,]+ (judgments per second|julgamentos por segundo)\))?"
        ),
        r"N s \1, N s \2",
    ),
    (re.compile(r"\b(Per text|Por texto): \d+[.,]\d+ s\b"), r"\1: N s"),
    (re.compile(r"^(\| (?:seconds|segundos) \|).*"), r"\1 N"),
    # With what it ran; the releases that matter are in versions.json.
    (re.compile(r"^(\| (?:Versions|Versões|Git commit|Commit do git) \|).*"), r"\1 N"),
    # Marks around a judged text follow from a key that each machine draws for itself.
    (re.compile(r"(<</?text[oe]?)-[0-9a-f]{16}>>"), r"\1-MARK>>"),
    (re.compile(r"/#/experiments/\d+/runs/[0-9a-f]{32}"), "/#/experiments/N/runs/RUN"),
    # A port that was free.
    (re.compile(r"(127\.0\.0\.1|localhost):\d{4,5}"), r"\1:PORT"),
]
PROGRESS = re.compile(
    r"  (?:.*: \d+ s"
    r"|\d+ .*\b(?:done|read|feitos|lidos)\b.*"
    r"|.*, [\d.,]+ (?:a second|por segundo)\b.*)"
)
"""A line on standard error that says how far a command is just then: it depends on the machine."""
READ = ("*.json", "*.md", "*.html", "*.csv", "*.xml", "*.svg", "*.txt", "*.yaml")
UNSTABLE_FILES = set(
    "run.json sweep.json results.json mlflow.json multirun.yaml".split()
)
"""What a program reads and a user does not: their content is in the report and the metrics."""


def answer(
    printed: Sequence[Printed],
    folder: Path,
    laid: Collection[str],
    quoted: Quoted | None = None,
) -> dict[str, Any]:
    """All that is compared of a session: its commands, and what they have written.

    Args:
        printed: What each command printed.
        folder: Where they were typed.
        laid: The files that lay there before.
        quoted: Tells what must not be stored in words; None: anything may.
    """
    clean = Cleaner(folder, Quoted.none() if quoted is None else quoted)
    commands = [
        {
            "typed": each.line,
            "status": each.status,
            **_printed(each.stdout, clean),
            "stderr": clean.lines(_without_progress(each.stderr)),
        }
        for each in printed
    ]
    files = {
        str(path.relative_to(folder)): _content(path, clean)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and _counts(path.relative_to(folder), laid)
    }
    return {"commands": commands, "files": files}


def _without_progress(text: str) -> list[str]:
    return [line for line in text.splitlines() if not PROGRESS.fullmatch(line)]


def _printed(text: str, clean: Cleaner) -> dict[str, Any]:
    """Standard output, as JSON where the command printed JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return {"stdout": clean.lines(text.splitlines())}
    return {"json": clean.value(value)}


def _counts(path: Path, laid: Collection[str]) -> bool:
    """Whether a file was written by the session and for people."""
    hidden = any(part.startswith(".") for part in path.parts)
    linked = path.parts[0] in ("data", "shared", "mlruns")
    return not hidden and not linked and str(path) not in laid and path.suffix != ".log"


def _content(path: Path, clean: Cleaner) -> Any:
    if path.name in UNSTABLE_FILES or not any(path.match(pattern) for pattern in READ):
        return "written"
    text = path.read_text("utf-8")
    if path.suffix == ".json":
        value = clean.value(json.loads(text))
        return value if len(json.dumps(value)) <= MOST_JSON else _shortened(value)
    if path.suffix == ".csv":
        return clean.table(text)
    if path.suffix == ".html":
        return _first(
            _not_twice(_without_long_tables(clean.lines(Page.lines(text))), path)
        )
    return _first(_without_long_tables(clean.lines(text.splitlines())))


def _first(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    rest = lines[MOST_LINES:]
    return [*lines[:MOST_LINES], f"{len(rest)} more lines, digest {digest(rest)}"]


def _without_long_tables(lines: list[str]) -> list[str]:
    """Lines with a digest in place of the rows behind the first ones of each long table."""
    kept: list[str] = []
    for table, group in itertools.groupby(lines, key=lambda line: line.startswith(ROW)):
        rows = list(group)
        if table:
            rows = _without_seconds(rows)
            # A row that long holds a judged text.
            rows = [
                f"{row[:80]}... {digest(row)}" if len(row) > LONG_ROW else row
                for row in rows
            ]
        if table and len(rows) > MOST_ROWS:
            rest = rows[MOST_ROWS:]
            rows = [
                *rows[:MOST_ROWS],
                f"{ROW} {len(rest)} more rows, digest {digest(rest)}",
            ]
        kept += rows
    return kept


def _without_seconds(rows: list[str]) -> list[str]:
    """Rows of tables without the cells that say how long something took.

    These are the columns whose heading begins with "Seconds", and interval and multiple beside it.
    """
    timed: set[int] = set()
    width = 0
    kept = []
    for row in rows:
        cells = row.strip(f" {ROW}").split(f" {ROW} ")
        headings = {
            n
            for n, cell in enumerate(cells)
            if cell.startswith(("Seconds", "Segundos"))
        }
        if headings:
            timed, width = headings, len(cells)
            for n, cell in enumerate(cells):
                if n - 1 in timed and cell in OF_SECONDS:
                    timed.add(n)
        elif timed and len(cells) == width:
            cells = ["N" if n in timed else cell for n, cell in enumerate(cells)]
            kept.append(f"{ROW} {f' {ROW} '.join(cells)}")
            continue
        kept.append(row)
    return kept


OF_SECONDS = ("interval", "multiple", "intervalo", "múltiplo")


def _not_twice(lines: list[str], path: Path) -> list[str]:
    """Lines of a page; in short what also stands in the report of its name in Markdown."""
    same = path.with_suffix(".md")
    if not same.is_file():
        return lines
    known = {_plain(line) for line in same.read_text("utf-8").splitlines()}

    def shortened(line: str) -> str:
        twice = len(line) > 60 and _plain(line) in known
        return f"= {line[:30]} {digest(line)}" if twice else line

    return [shortened(line) for line in lines]


def _plain(line: str) -> str:
    """The words of a line, without the signs of Markdown and without blanks."""
    return re.sub(r"[\s\\*_`>#|-]+", "", line)


def _shortened(value: Any) -> Any:
    """A value with a digest in place of each long list."""
    if isinstance(value, dict):
        return {key: _shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        if len(json.dumps(value)) > MOST_JSON / 20:
            return f"{len(value)} entries, digest {digest(value)}"
        return [_shortened(inner) for inner in value]
    return value


def digest(value: Any) -> str:
    """A short fingerprint of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class Cleaner:
    """Takes out of texts and numbers what differs from session to session without a reason."""

    def __init__(self, folder: Path, quoted: Quoted) -> None:
        self.quoted = quoted
        places = {str(folder): "FOLDER", str(folder.parent): "CACHE", str(ROOT): "ROOT"}
        if (place := shared()) is not None:
            places[str(place)] = "SHARED"
        self.places = dict(sorted(places.items(), key=lambda pair: -len(pair[0])))

    def text(self, text: str) -> str:
        """One line, or one sentence of JSON."""
        if self.quoted.by(text):
            return f"quotes unpublished data: {len(text)} characters, digest {digest(text)}"
        for place, name in self.places.items():
            text = text.replace(place, name)
        for pattern, name in MASKS:
            text = pattern.sub(name, text)
        if len(text) > LONG_LINE:
            text = (
                f"{text[:LONG_LINE]}... {len(text)} characters, digest {digest(text)}"
            )
        return text

    def lines(self, lines: Iterable[str]) -> list[str]:
        """Lines without the blanks at their ends and without empty lines."""
        return [self.text(line.rstrip()) for line in lines if line.strip()]

    def value(self, value: Any) -> Any:
        """JSON, without what says how long something took."""
        if isinstance(value, dict):
            lasting = {
                key: inner
                for key, inner in value.items()
                if key not in TIMINGS | {SEAL}
            }
            return {self.text(key): self.value(inner) for key, inner in lasting.items()}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        if isinstance(value, str):
            return self.text(value)
        return rounded(value)

    def table(self, text: str) -> dict[str, Any]:
        """The number of rows of a table, and a digest of each column."""
        names, *rows = list(csv.reader(io.StringIO(text))) or [[]]
        columns = {
            name: digest([self._cell(row[n]) if n < len(row) else None for row in rows])
            for n, name in enumerate(names)
            if name not in TIMINGS
        }
        return {"rows": len(rows), "columns": columns}

    def _cell(self, cell: str) -> Any:
        try:
            return rounded(float(cell))
        except ValueError:
            return self.text(cell)


def rounded(value: Any) -> Any:
    """A number with the digits that count; anything else as it is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return 0.0 if abs(value) < NOTHING else float(f"{value:.{DIGITS}g}")


class Page(html.parser.HTMLParser):
    """The text that a page shows: no scripts, no styles, no pictures."""

    SILENT = ("script", "style", "svg", "template")
    OF_A_ROW = ("td", "th")
    LINES = frozenset(
        "address article aside blockquote body br caption dd details div dl dt fieldset figcaption "
        "figure footer form h1 h2 h3 h4 h5 h6 head header hr html legend li main nav ol option p "
        "pre section summary table tbody tfoot thead title tr ul".split()
    )
    """Elements that begin a line of their own; any other stands within one."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.silent = 0
        self.cell = False  # what stands in a cell is on one line with its row

    @classmethod
    def lines(cls, text: str) -> list[str]:
        """Its lines: what stands in one paragraph, heading or row of a table is one."""
        page = cls()
        page.feed(text)
        joined = (
            re.sub(r"\s+", " ", line).strip()
            for line in "".join(page.parts).split("\n")
        )
        return [line for line in joined if line]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.silent += tag in self.SILENT
        if tag in self.OF_A_ROW:
            self.parts.append(f" {ROW} ")
            self.cell = True
        elif tag in self.LINES:
            self.parts.append(" " if self.cell else "\n")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in self.SILENT
        if tag in self.OF_A_ROW:
            self.cell = False
        elif tag in self.LINES:
            self.parts.append(" " if self.cell else "\n")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(data.replace("\n", " "))


class Quoted:
    """Tells whether a line quotes unpublished data, so that the line is stored as a digest alone.

    Args:
        cells: The cells of the tables, or other texts. Names of columns are no texts.
    """

    def __init__(self, cells: Iterable[str]) -> None:
        self.windows: set[tuple[str, ...]] = set()
        self.pairs: set[str] = set()
        for cell in cells:
            if len(cell.split()) == FEWEST - 1:
                self.pairs.add(cell.strip())
            words = _words(cell)
            # A short text counts as a whole. Names, such as those of categories, have no blanks.
            length = min(WINDOW, len(words))
            if length == WINDOW or (length >= FEWEST and len(cell.split()) >= FEWEST):
                self.windows |= set(_windows(words, length))

    @classmethod
    def none(cls) -> Quoted:
        """Nothing is unpublished."""
        return cls([])

    @classmethod
    def of(cls, lines: Sequence[str]) -> Quoted:
        """The unpublished files that commands name."""
        place = shared()
        named = set(re.findall(r"\bshared/data/[\w./-]+", " ".join(lines)))
        if place is None or not named:
            return cls.none()
        found = [place / name.removeprefix("shared/") for name in named]
        files = [
            file
            for path in found
            for file in ([path] if path.is_file() else _within(path))
        ]
        return cls(cell for file in files for cell in _cells(file))

    def by(self, line: str) -> bool:
        """Whether the line holds several words in a row that stand in the files."""
        if any(part.strip() in self.pairs for part in line.split(ROW)):
            return True
        if not self.windows:
            return False
        words = _words(line)
        lengths = range(FEWEST, WINDOW + 1)
        return any(
            not self.windows.isdisjoint(_windows(words, length)) for length in lengths
        )


def _within(folder: Path) -> list[Path]:
    kinds = (".jsonl", ".csv", ".json", ".txt")
    return [path for path in folder.rglob("*") if path.suffix in kinds]


def _cells(file: Path) -> Iterator[str]:
    """The texts of a file, cell by cell."""
    text = file.read_text("utf-8", errors="replace")
    if file.suffix == ".csv":
        yield from itertools.chain.from_iterable(
            list(csv.reader(io.StringIO(text)))[1:]
        )
    elif file.suffix == ".jsonl":
        yield from (
            cell for line in text.splitlines() for cell in _strings(json.loads(line))
        )
    elif file.suffix == ".json":
        yield from _strings(json.loads(text))
    else:
        yield text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _words(text: str) -> list[str]:
    # Words alone: a text has other quotes and escapes in a file than in a message.
    return re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[nrt\"]", " ", text).casefold())


def _windows(words: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[n : n + length]) for n in range(len(words) - length + 1))
