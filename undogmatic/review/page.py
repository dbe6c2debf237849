"""Serves a page in the browser on which a person labels items one by one, blind to what judges said of them.

The server listens on 127.0.0.1 alone and answers only to a token that it makes itself, and only to its own page.
Each label is written to a file at once; the same command goes on where it ended.
"""

import hmac
import json
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import Finding
from undogmatic.records.rubric import NumericScale, OrderedScale, UnorderedScale
from undogmatic.safety import files
from undogmatic.safety.outside import Unreadable, brief, json_value, read_text

COLUMNS = ("item", "rater", "label", "comment", "labelled_at")
LONGEST_BODY, LONGEST_COMMENT = 100_000, 20_000
PAGE = Path(__file__).with_name("page.html")
Scale = NumericScale | OrderedScale | UnorderedScale


class Entry(NamedTuple):
    """An item: its id, its texts by name, and what each judge said of it (shown only once it is labelled)."""

    id: str
    texts: Mapping[str, str]
    said: Mapping[str, str]


@dataclass
class Sheet:
    """The items, the scale, and the labels of all raters in the file `out`; `rater` is who labels now."""

    entries: Sequence[Entry]
    scale: Scale
    out: Path
    rater: str
    question: str = ""
    language: str = "en"
    rows: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.ids = {entry.id for entry in self.entries}
        if self.out.exists():
            for place, row in _kept(self.out):
                try:
                    self.scale.read(_number(row["label"]) if isinstance(self.scale, NumericScale) else row["label"])
                except ValueError as error:
                    way = "Name another file with --out, or the scale of its labels with --scale"
                    raise DataError(f"{place}: the label {error}. {way}.") from None
                self.rows[row["item"], row["rater"]] = row

    def label(self, item: str, given: Any, comment: str = "") -> None:
        """Keep a label; `given` None takes it back. Raises ValueError for one that is off the scale, or of no item."""
        if item not in self.ids:
            raise ValueError(f"there is no item {brief(item)}")
        with self.lock:
            rows = dict(self.rows)
            if given is None:
                rows.pop((item, self.rater), None)
            else:
                value = self.scale.read(given)
                label = f"{value:.10g}" if isinstance(self.scale, NumericScale) else self.scale.write(value)
                now = datetime.now(UTC).isoformat(timespec="seconds")
                values = (item, self.rater, label, comment[:LONGEST_COMMENT], now)
                rows[item, self.rater] = dict(zip(COLUMNS, values, strict=True))
            self._write(rows)
            self.rows = rows  # only what was written counts

    def _write(self, rows: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        import pandas as pd

        files.write(self.out, files.csv(pd.DataFrame(list(rows.values()), columns=list(COLUMNS))))

    @property
    def done(self) -> list[str]:
        """The items that the rater has labelled, in the order of the items."""
        return [entry.id for entry in self.entries if (entry.id, self.rater) in self.rows]

    def shown(self, place: int) -> dict[str, Any]:
        """What the page may know of an item: its texts and, once it is labelled, the label and what judges said."""
        entry = self.entries[place]
        row = self.rows.get((entry.id, self.rater))
        known = {"place": place, "id": entry.id, "texts": dict(entry.texts), "label": None, "comment": "", "said": {}}
        if row is not None:
            known |= {"label": row["label"], "comment": row["comment"], "said": dict(entry.said)}
        return known

    def about(self) -> dict[str, Any]:
        """What the page may know of the whole: the scale, who labels, how far they are, and where to begin."""
        scale, done = self.scale, set(self.done)
        facts: dict[str, Any] = {"question": self.question, "rater": self.rater, "language": self.language}
        facts |= {"total": len(self.entries), "done": len(done), "out": self.out.name}
        facts["marks"] = [entry.id in done for entry in self.entries]
        facts["next"] = next((n for n, entry in enumerate(self.entries) if entry.id not in done), None)
        if isinstance(scale, NumericScale):
            levels = [f"{v:g}" for v in scale.default_levels()] if scale.step is not None else []
            facts |= {"minimum": scale.minimum, "maximum": scale.maximum, "step": scale.step, "options": levels[:10]}
        else:
            facts["options"] = list(scale.categories)
        return facts


def scale_of(typed: str) -> Scale:
    """The scale that was typed: `1-5` (whole numbers between), `0..100` (any number between), `bad<ok<good` (ordered),
    `pass,fail` (no order). Raises ConfigError."""
    from pydantic import ValidationError

    try:
        if "<" in typed:
            return OrderedScale(categories=tuple(word.strip() for word in typed.split("<")))
        if "," in typed:
            return UnorderedScale(categories=tuple(word.strip() for word in typed.split(",")))
        low, dots, high = typed.partition(".." if ".." in typed else "-")
        if dots and low and high:
            return NumericScale(minimum=float(low), maximum=float(high), step=None if dots == ".." else 1.0)
    except (ValidationError, ValueError):
        pass
    ways = "1-5 (whole numbers), 0..100 (any number between), bad<ok<good (in order), pass,fail (without order)"
    raise ConfigError(f"--scale is {brief(typed)}, which is no scale. Write it like one of these: {ways}.")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"is {brief(text)}, not a number") from None


def _kept(path: Path) -> list[tuple[str, dict[str, str]]]:
    """The labels of earlier sittings, each with its place. Raises DataError where the file is another's."""
    from undogmatic.datasets.rows import csv_rows

    rows = csv_rows(path)
    header = next(rows, None)
    if header is None:
        return []
    if tuple(header.cells) != COLUMNS:
        way = "It is no file of labels that this command wrote. Name another with --out"
        raise DataError(f"{path}:1: the columns are {', '.join(header.cells[:8])}. {way}.")
    kept = []
    for row in rows:
        if len(row.cells) != len(COLUMNS):
            raise DataError(f"{path}:{row.first}: {len(row.cells)} cells, and the file has {len(COLUMNS)} columns.")
        cells = dict(zip(COLUMNS, map(files.as_written, row.cells), strict=True))
        kept.append((f"{path}:{row.first}", cells))
    return kept


class Server(ThreadingHTTPServer):
    """The server of one sheet, on 127.0.0.1; `url` is the address that opens the page."""

    daemon_threads = True

    def __init__(self, sheet: Sheet, port: int = 0) -> None:
        self.sheet, self.token = sheet, secrets.token_urlsafe(32)
        super().__init__(("127.0.0.1", port), _Handler)
        self.hosts = {f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"}
        self.url = f"http://127.0.0.1:{self.server_port}/?token={self.token}"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = 30
    server_version, sys_version = "undogmatic", ""

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: addresses hold the token."""

    def _allowed(self, token: str) -> bool:
        """Whether the request comes from the page itself: it names this server as its host and origin, and has the
        token. Answers it otherwise."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        own = host in self.server.hosts and (origin is None or origin == f"http://{host}")
        if own and hmac.compare_digest(token.encode(), self.server.token.encode()):
            return True
        self._answer(403, {"error": "Open the address that the command printed; it has a token that this one lacks."})
        return False

    def _answer(self, status: int, body: Mapping[str, Any] | str, nonce: str = "") -> None:
        page = isinstance(body, str)
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{'text/html' if page else 'application/json'}; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'"
        closed = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        self.send_header("Content-Security-Policy", f"{policy}; {closed}" if page else f"default-src 'none'; {closed}")
        for name, value in {
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        """Answer with the page, what is known of the whole, or an item."""
        address = urlsplit(self.path)
        asked = parse_qs(address.query)
        if address.path == "/":
            if self._allowed(asked.get("token", [""])[0]):
                nonce = secrets.token_urlsafe(16)
                self._answer(200, read_text(PAGE).replace("NONCE", nonce), nonce)
            return
        if not self._allowed(self.headers.get("X-Token", "")):
            return
        sheet, place = self.server.sheet, asked.get("place", [""])[0]
        if address.path == "/about":
            self._answer(200, sheet.about())
        elif address.path == "/item" and place.isascii() and place.isdigit() and int(place) < len(sheet.entries):
            self._answer(200, sheet.shown(int(place)))
        else:
            self._answer(404, {"error": "There is nothing at this address."})

    def do_POST(self) -> None:
        """Keep a label. The page must name itself as the origin."""
        if not self._allowed(self.headers.get("X-Token", "") if self.headers.get("Origin") else ""):
            return
        length = self.headers.get("Content-Length", "")
        if self.path != "/label" or not length.isascii() or not length.isdigit() or int(length) > LONGEST_BODY:
            self._answer(400, {"error": "This is no label."})
            return
        sheet = self.server.sheet
        try:
            sent = json_value(self.rfile.read(int(length)).decode())
            if not isinstance(sent, dict) or not isinstance(sent.get("item"), str):
                raise ValueError("this is no label")
            comment = sent.get("comment") or ""
            if not isinstance(comment, str):
                raise ValueError("the comment is no text")
            sheet.label(sent["item"], sent.get("label"), comment)
        except (Unreadable, UnicodeDecodeError, ValueError) as error:
            self._answer(400, {"error": f"The label was not kept: it {error}."})
        except Exception as error:  # a full disk or a lost folder: the page says so, and the label is asked again
            self._answer(500, {"error": f"The label was not kept: {error}"})
        else:
            places = {entry.id: n for n, entry in enumerate(sheet.entries)}
            self._answer(200, {"about": sheet.about(), "item": sheet.shown(places[sent["item"]])})


def read_entries(
    path: str, item: str | None, text: Sequence[str], hidden: Sequence[str], sheet: str | None = None
) -> tuple[list[Entry], list[Finding]]:
    """The items of a table, each once, and what is to be said of how it was read. `text` names the columns that are
    shown (default: those that are known to hold texts), `hidden` those that are told only once an item is labelled,
    `sheet` a part of a workbook. Raises ConfigError and DataError."""
    from undogmatic.datasets.frames import read_frame
    from undogmatic.datasets.roles import find_texts

    frame = read_frame(path, sheet)
    found = find_texts(frame.cells, path, text, item, every=True)
    if unknown := [name for name in hidden if name not in frame.cells]:
        listed = ", ".join(map(str, frame.cells.columns))
        raise ConfigError(f"--reveal is {brief(unknown[0])}, which is no column of {path}. Columns: {listed}.")
    entries: dict[str, Entry] = {}
    ids, texts = found.columns["item"], found.columns["text"]
    for place, row in zip(frame.places, frame.cells.to_dict("records"), strict=True):
        shown = {name: str(row[name]) for name in texts if row[name] is not None}
        if not shown:
            continue
        key = next((str(row[name]) for name in ids if row[name] is not None), f"row {len(entries) + 1}")
        said = {name: str(row[name]) for name in hidden if row[name] is not None}
        before = entries.setdefault(key, Entry(key, shown, said))
        if before.texts != shown:
            way = "Name the column that tells the items apart: --item COLUMN"
            raise DataError(f"{place}: the item {brief(key)} stands there a second time with other texts. {way}.")
    if not entries:
        raise DataError(f"{path}: {', '.join(texts)} is empty in every row, so there is nothing to label.")
    return list(entries.values()), [*frame.notes, *found.notes, *frame.problems]


def read_rubric(path: str) -> tuple[Scale, dict[str, str]]:
    """The scale of a rubric's file and its question by language. Raises ConfigError and DataError."""
    from pydantic import ValidationError

    from undogmatic.records.records import first_problem
    from undogmatic.records.rubric import Rubric
    from undogmatic.safety.outside import read_yaml

    if not Path(path).is_file():
        raise ConfigError(f"--rubric is {path!r}, which does not exist. Name the YAML file of a rubric.")
    plain = read_yaml(Path(path))
    if not isinstance(plain, dict):
        raise DataError(f"{path} is no rubric: it must hold `name`, `scale`, `inputs` and `wordings`.")
    try:
        rubric = Rubric.model_validate({key: value for key, value in plain.items() if key != "_target_"})
    except ValidationError as error:
        raise DataError(f"{path} is no rubric that can be used ({first_problem(error)}).") from None
    return rubric.scale, {language: wording.question for language, wording in rubric.wordings.items()}
