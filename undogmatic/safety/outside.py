"""Reads what comes from outside: bytes as text, JSON, YAML, whoever wrote them.

A server, a disk, a colleague or a download may hand over anything. Each reader returns plain data
or raises one exception with a sentence, whatever it is given: `Unreadable` for a text in hand,
DataError with file and line for a file. None of them runs code, and what would take long or fill
the memory is refused by its size.
"""

import codecs
import functools
import gzip
import json
import math
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader, StringIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import yaml
from yaml.constructor import ConstructorError

from undogmatic.errors import DataError

YAML_BYTES = 1_000_000
# with every alias written out: a file of some lines can stand for more than a memory holds.
YAML_NODES = 100_000
JSON_BYTES = 50_000_000
# the longest line of a journal, and the largest file that is read as one JSON value
LINE_BYTES = 20_000_000
# the longest row of a data file (JSON Lines, CSV), the longest text: more than a model reads
ROW_BYTES = 10_000_000
# lists and objects in one JSON value: a small file of empty ones fills a memory.
JSON_PARTS = 200_000
# of a `.env` file, whose lines take time that grows with their square
ENV_BYTES = 64_000
DEEPEST = 100
LONGEST_INTEGER = 1024  # bits: as much as a float can hold.

_FLOAT = re.compile(
    r"[-+]?[0-9]+(?:_[0-9]+)*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+"
    r"|(?::[0-5]?[0-9])+\.[0-9_]*)$"
    r"|\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)
"""What OmegaConf takes for a number besides what YAML does."""
_DEEP = "it is nested too deeply"
_SAID_BY_THE_PARSER = {
    "exceeded maximum nesting depth": _DEEP,
    "found character that cannot start any token": (
        "a tab or another character with which no value begins; indent with "
        "spaces, and put quotes around a text"
    ),
    "found unexpected end of stream": "a quote is left open",
    "did not find expected ',' or ']'": "a bracket is left open, or a comma is missing",
    "did not find expected ',' or '}'": "a brace is left open, or a comma is missing",
}
_LONG = "it holds an endless number"
TWICE = "the key {} stands in it a second time"
_HALF = "it holds half of a character (a lone surrogate)"
_JSON = {
    "recursion limit": _DEEP,
    "number out of range": _LONG,
    "hex escape": _HALF,
    "surrogate": _HALF,
}
_QUOTED = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BRACKET = re.compile(r"[\[{]")
_BETWEEN = re.compile(r"[\s,]*+")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Control characters and the marks that reverse the direction of writing: a text may use them to
# disguise itself.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)


class Unreadable(ValueError):
    """A text that is not what it should be, and the line where that shows, from 1; None if it is
    the whole."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def at(self, place: str) -> str:
        """The message with the place in front: file:line, or the file alone."""
        return f"{place}{'' if self.line is None else f':{self.line}'}: {self}"


def decoded(raw: bytes) -> str:
    """Bytes as text: UTF-8, with or without a byte order mark, without NUL. Raises Unreadable."""
    # Excel saves "Unicode text" so. Told by its own name, as "not UTF-8" would leave
    # the user guessing.
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("not UTF-8 but UTF-16. Save the file as UTF-8.", 1)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Unreadable(
            f"not UTF-8 (byte {error.start}). Save the file as UTF-8.", line
        ) from None
    # A NUL ends a text for many programs, and what stands behind it would be judged
    # without being seen.
    if "\0" in text:
        before = text[: text.index("\0")].count("\n") + 1
        raise Unreadable(
            "not text (it holds a NUL byte). Save the file as UTF-8 text.", before
        )
    return text


def json_value(
    text: str | bytes,
    deepest: int = DEEPEST,
    infinite: bool = False,
    partial: bool = False,
    most: int = JSON_PARTS,
) -> Any:
    """The value of a JSON text, `partial` if it may break off. NaN and infinity are no JSON
    (`infinite`: that may be in what we wrote), nor half of a character, an endless number, nesting
    beyond the `deepest`, more parts than the `most`. Raises Unreadable."""
    from pydantic_core import from_json  # a fifth of what `--version` takes

    if isinstance(text, bytes):
        text = decoded(text)
    # Before it is parsed: fifty megabytes of "[[[[" take gigabytes as objects.
    countable(text, most)
    try:
        value = from_json(text, allow_inf_nan=infinite, allow_partial=partial)
    except (
        RecursionError,
        TypeError,
        ValueError,
    ) as error:  # TypeError: a text that cannot be encoded
        what, _, place = (str(error) or type(error).__name__).partition(" at line ")
        column = re.search(r"column (\d+)", place)
        known = (words for sign, words in _JSON.items() if sign in what)
        what = next(
            known, _HALF if isinstance(error, TypeError) else what.splitlines()[0]
        )
        what += f", column {column[1]}" if column else ""
        raise Unreadable(
            f"not JSON ({what})", int(place.split()[0]) if place else None
        ) from None
    # Only a text with so many brackets can be so deep; nearly all are let through
    # without a walk.
    if not infinite or text.count("[") + text.count("{") > deepest:
        _check_parts(value, deepest, infinite)
    return value


class Doubled(dict[str, Any]):
    """An object of JSON in which a key stands twice, so that nobody knows which of its values is
    meant."""

    key: str


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen = set[str]()
    doubled = Doubled(made)
    for key, _ in pairs:
        if key in seen:
            doubled.key = key
            break
        seen.add(key)
    return doubled


def json_with_doubled(text: str) -> Any:
    """The value of a text that `json_value` has read, in which an object whose keys are not all
    different is `Doubled`: by itself the reader keeps the last of the values, without a word."""
    return json.loads(text, object_pairs_hook=_object)


def whole_entries(text: str) -> list[Any]:
    """The entries of a list in JSON that breaks off, as far as they are whole; objects as in
    `json_with_doubled`."""
    decoder, found = json.JSONDecoder(object_pairs_hook=_object), list[Any]()
    place = text.index("[") + 1
    while True:
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
        try:
            entry, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return found
        if end == len(text) and not isinstance(entry, dict | list):
            return found  # a number may be cut: 12 of 123
        found.append(entry)
        place = end


def doubled_key(value: Any) -> str | None:
    """A key that stands twice in an object, anywhere in a value of `json_with_doubled`; None if
    there is none."""
    level = [value]
    while level:
        for part in level:
            if isinstance(part, Doubled):
                return part.key
        holders = [part for part in level if isinstance(part, dict | list)]
        level = [
            part
            for holder in holders
            for part in (holder.values() if isinstance(holder, dict) else holder)
        ]
    return None


def _check_parts(value: Any, deepest: int, infinite: bool) -> None:
    """Raise Unreadable for what is nested too deeply, and for a number that no float holds."""
    level, depth = [value], 0
    while level:
        numbers = (
            () if infinite else (part for part in level if type(part) in (int, float))
        )
        if any(
            math.isinf(n) if isinstance(n, float) else n.bit_length() > LONGEST_INTEGER
            for n in numbers
        ):
            raise Unreadable(f"not JSON ({_LONG})")
        holders = [part for part in level if type(part) in (dict, list)]
        if holders and depth == deepest:
            raise Unreadable(f"not JSON ({_DEEP})")
        level = [
            part
            for holder in holders
            for part in (holder.values() if isinstance(holder, dict) else holder)
        ]
        depth += 1


def countable(text: str, most: int = JSON_PARTS) -> None:
    """Raise Unreadable for a JSON text that would take much more memory than its length says."""
    if (
        text.count("[") + text.count("{") > most
        and len(_BRACKET.findall(_QUOTED.sub("", text))) > most
    ):
        raise Unreadable(
            f"not JSON that can be used (it holds more than {most:,} lists and objects)"
        )


def brief(value: Any, most: int = 120) -> str:
    """A value for a message: as `repr` shows it, and no longer than a line or two."""
    if isinstance(value, list | tuple | dict | set) and len(value) > most:
        return f"a {type(value).__name__} of {len(value):,}"
    # `repr`, so that a line break or a quote in what somebody typed cannot look like a
    # part of the message.
    shown = repr(value[: most + 1] if isinstance(value, str | bytes) else value)
    return shown if len(shown) <= most + 2 else f"{shown[:most]}..."


def listed(names: Sequence[str], most: int = 12) -> str:
    """Some names for a message."""
    shown = [
        name if len(name) <= 40 and name.isprintable() else brief(name, 40)
        for name in names[:most]
    ]
    return ", ".join(shown) + (f", ... ({len(names):,})" if len(names) > most else "")


def visible(text: str) -> str:
    """The text with control and direction characters replaced by a visible mark; line breaks and
    tabs stay."""
    if text.isprintable():  # as nearly all are, which is seen much sooner
        return text
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def without_halves(text: str) -> str:
    """The text with each lone surrogate, which no file and no server takes, replaced by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def has_halves(text: str) -> bool:
    """Whether a lone surrogate is in the text, so that it cannot be written anywhere."""
    if text.isascii():  # known at once, however long the text is
        return False
    try:
        text.encode()  # several times faster than a search
    except UnicodeEncodeError:
        return True
    return False


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """A file open for reading. Raises DataError where it cannot be read, or is a folder, a pipe or
    a device."""
    try:
        # Opening a pipe would otherwise last until somebody writes to it.
        with open(
            path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
        ) as file:
            # Asked of the open file, and not of the path, which could mean another file
            # a moment later.
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DataError(f"{path}: not a file but a pipe or a device.")
            yield file
    except IsADirectoryError:
        raise DataError(f"{path}: not a file but a folder.") from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error})."
        ) from None
    except ValueError as error:
        if isinstance(error, Unreadable):
            raise
        raise DataError(
            f"{brief(str(path))}: not the name of a file ({error})."
        ) from None  # a NUL in it


def unpacked(path: Path, most: int) -> Iterator[bytes]:
    """The content of a file that is packed with gzip, in pieces. Raises DataError where it is
    damaged, or is more than `most` bytes."""
    written = 0
    with opened(path) as file:
        try:
            with gzip.open(file) as inner:
                # In pieces, so that a small file which unpacks to a hundred gigabytes
                # is stopped at the limit.
                while part := inner.read(1_000_000):
                    written += len(part)
                    if written > most:
                        raise DataError(
                            f"{path}: unpacks to more than {most:,} bytes. Unpack it."
                        )
                    yield part
        except (EOFError, OSError, zlib.error) as error:
            raise DataError(
                f"{path}: packed with gzip, and cannot be unpacked ({error}). Pack it again."
            ) from None


def read_bytes(path: Path, most: int = JSON_BYTES) -> bytes:
    """The content of a file. Raises DataError where it cannot be read, or is larger than `most`
    bytes."""
    with opened(path) as file:
        # One byte more than is allowed says that there is more, without reading it.
        raw = file.read(most + 1)
    if len(raw) > most:
        raise DataError(
            f"{path}: larger than {most:,} bytes, the most that is read of such a file."
        )
    return raw


def read_text(
    path: Path, most: int = JSON_BYTES, value: Callable[[str], Any] = str
) -> Any:
    """A text file, or the `value` of its text. Raises DataError with file and line."""
    try:
        return value(decoded(read_bytes(path, most)))
    except Unreadable as error:
        raise DataError(f"{error.at(str(path)).removesuffix('.')}.") from None


def read_input() -> str:
    """The text on standard input. Raises DataError."""
    if sys.stdin is None:
        raise DataError("standard input is closed; nothing can be read from it.")
    try:
        raw = (
            sys.stdin.buffer.read(ROW_BYTES + 1)
            if hasattr(sys.stdin, "buffer")
            else sys.stdin.read().encode()
        )
        if len(raw) > ROW_BYTES:
            raise DataError(
                f"standard input: more than {ROW_BYTES:,} bytes, the most that one text may have."
            )
        return decoded(raw)
    except Unreadable as error:
        raise DataError(
            error.at("standard input").replace("Save the file", "Send it")
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"standard input cannot be read ({error}).") from None


def read_json(path: Path) -> Any:
    """A JSON file. Raises DataError with file and line."""
    return read_text(path, value=json_value)


def read_lines(path: Path, most: int = LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1, blank ones left out, without their ends.
    Raises DataError."""
    for number, _, line in placed_lines(path, most):
        yield number, line.rstrip(b"\r\n")


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; blank lines are skipped. Raises
    DataError with file and line for a line that is no JSON object, or in which a key stands twice.
    """
    for number, raw in read_lines(path, ROW_BYTES):
        try:
            yield number, json_object(decoded(raw))
        except Unreadable as error:
            raise DataError(
                f"{path}:{number}: {str(error).rstrip('.')}. Every line must be one JSON object."
            ) from None


def json_object(text: str, infinite: bool = False) -> dict[str, Any]:
    """The JSON object that a line is (`infinite`: NaN may be in it). Raises Unreadable, also where
    a key stands in it twice."""
    value = json_value(text, infinite=infinite)
    if not isinstance(value, dict):
        raise Unreadable(f"a JSON {type(value).__name__}; every line must be an object")
    # Which of the two values is meant, nobody knows; a reader that takes the last one
    # would say nothing.
    if (twice := doubled_key(json_with_doubled(text))) is not None:
        raise Unreadable(f"not JSON that can be used ({TWICE.format(brief(twice))})")
    return value


def placed_lines(
    path: Path, most: int = LINE_BYTES
) -> Iterator[tuple[int, int, bytes]]:
    """The lines of a file with their numbers from 1 and the byte at which each begins, blank ones
    left out. Raises DataError."""
    with opened(path) as file:
        start = 0
        for number, line in whole_lines(path, file, most):
            if line.strip():
                yield number, start, line
            start = file.tell()


def whole_lines(path: Path, file: IO[bytes], most: int) -> Iterator[tuple[int, bytes]]:
    """Every line of an open file with its number and its end. Raises DataError for one of more than
    `most` bytes."""
    for number, line in enumerate(iter(lambda: file.readline(most + 1), b""), 1):
        if len(line) > most:
            raise DataError(f"{path}:{number}: a line of more than {most:,} bytes.")
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


class Piece(NamedTuple):
    """A part of a JSON file that is read in pieces: the value, the key of the list that it lies in
    ("": none), and at which byte it was read, about. Where `about` is true it is what stands
    beside such lists, as far as it was read when one of them began."""

    key: str
    value: Any
    place: int
    about: bool = False


PIECE = 64_000_000
"""Characters of the longest piece of a JSON file."""
_PART = 1 << 18
_WHITE = re.compile(r"[ \t\n\r\x1e]*")


class Cut(Exception):
    """A file of JSON that breaks off, or is damaged, at a place behind which nothing is read."""


class _Text:
    """The text of an open file, of which no more is held than a piece of JSON takes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.text, self.at, self.whole, self._read = "", 0, False, 0
        self._more = _PART
        self.fill()
        self.text = self.text.removeprefix("\ufeff")

    @property
    def place(self) -> int:
        """About how many bytes were read before."""
        return max(0, self._read - (len(self.text) - self.at))

    def fill(self) -> None:
        """Read more, twice as much as the time before where no piece has ended since."""
        raw = self._file.read(self._more)
        self._read += len(raw)
        self.whole = len(raw) < self._more
        self.text = self.text[self.at :] + self._decoder.decode(raw, self.whole)
        self.at, self._more = 0, min(2 * self._more, PIECE)

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            self.at = _WHITE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text):
                return self.text[self.at]
            if self.whole:
                return ""
            self.fill()

    def value(self) -> Any:
        """The next value of JSON. Raises Cut where the text ends before it does, Unreadable where
        it is none."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except RecursionError:
                raise Unreadable(f"not JSON ({_DEEP})") from None
            except ValueError as error:
                broken = getattr(error, "pos", 0)
                if self.whole:
                    cut = broken >= len(self.text.rstrip()) or "Untermin" in str(error)
                    raise (
                        Cut("it breaks off") if cut else Unreadable("not JSON")
                    ) from None
                if broken < len(self.text) - 64 and "Untermin" not in str(error):
                    raise Unreadable("not JSON") from None
            else:
                # A number may go on: 12 of 123, -12.5 of -12.5e3.
                may_go_on = type(value) in (int, float) and end + 3 > len(self.text)
                if self.whole or not may_go_on:
                    self.at, self._more = end, _PART
                    return value
            if len(self.text) - self.at > PIECE:
                raise Cut(f"it holds a part of more than {PIECE:,} characters")
            self.fill()


_DECODER = json.JSONDecoder()


def json_pieces(
    path: Path, inside: Collection[str], faults: list[str]
) -> Iterator[Piece]:
    """The values of a file of JSON one after the other, however long it is: JSON Lines, values one
    behind the other, the entries of a list, and of lists under the keys that are named (`inside`),
    also where these lie in each other.

    No more is held than one of them takes. What is wrong is told in `faults`: a line that is no
    JSON, behind which others are read, or the place where another file breaks off or is damaged,
    behind which nothing is. Raises DataError where the file cannot be opened.
    """
    with opened(path) as file:
        if _is_lines(file.read(_FIRST_LINE)):
            file.seek(0)
            yield from _of_lines(path, file, inside, faults)
            return
        file.seek(0)
        text = _Text(file)
        while text.peek():
            try:
                yield from _pieces(text, "", inside)
            except (Cut, Unreadable) as error:
                faults.append(f"{path}, byte {text.place:,}: {error}")
                return


_FIRST_LINE = 4_000_000


def _is_lines(head: bytes) -> bool:
    """Whether the first line of a file is a value of JSON and others follow."""
    first, _, rest = head.lstrip(b"\xef\xbb\xbf \r\n").partition(b"\n")
    try:
        return bool(rest.strip()) and isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return False


def _of_lines(
    path: Path, file: IO[bytes], inside: Collection[str], faults: list[str]
) -> Iterator[Piece]:
    """The pieces of JSON Lines; a line that is no JSON is told, and those behind it are read."""
    place, number = 0, 0
    for raw in iter(lambda: file.readline(PIECE + 1), b""):
        number += 1
        start, place = place, place + len(raw)
        if len(raw) > PIECE:
            faults.append(f"{path}:{number}: a line of more than {PIECE:,} bytes")
            return
        line = raw.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n\x1e")
        if not line:
            continue
        try:
            value = _DECODER.decode(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            cut = not raw.endswith(b"\n")
            what = (
                "it breaks off"
                if cut
                else _DEEP
                if isinstance(error, RecursionError)
                else ""
            )
            faults.append(f"{path}:{number}: {what or 'not JSON'}")
            continue
        yield from _walk(value, "", inside, start)


def _walk(value: Any, key: str, inside: Collection[str], place: int) -> Iterator[Piece]:
    """The pieces of a value that is in hand."""
    if isinstance(value, list):
        for each in value:
            yield from _walk(each, key, inside, place)
        return
    holds = isinstance(value, dict) and [
        k for k in inside if isinstance(value.get(k), list | dict)
    ]
    if not holds:
        yield Piece(key, value, place)
        return
    yield Piece(
        key, {k: v for k, v in value.items() if k not in holds}, place, about=True
    )
    for name in holds:
        yield from _walk(value[name], name, inside, place)


def _pieces(text: _Text, key: str, inside: Collection[str]) -> Iterator[Piece]:
    """Of a list its entries; of an object that has lists under keys `inside` their entries, and
    what stands beside them; any other value itself."""
    begins, place = text.peek(), text.place
    if begins == "[":
        yield from _listed(text, key, inside)
    elif begins != "{":
        yield Piece(key, text.value(), place)
    else:
        yield from _held(text, key, inside)


def _listed(text: _Text, key: str, inside: Collection[str]) -> Iterator[Piece]:
    text.at += 1
    while (sign := text.peek()) != "]":
        if not sign:
            raise Cut("it breaks off")
        if sign == ",":
            text.at += 1
            continue
        yield from _pieces(text, key, inside)
    text.at += 1


def _held(text: _Text, key: str, inside: Collection[str]) -> Iterator[Piece]:
    place, beside, inner = text.place, dict[str, Any](), False
    text.at += 1
    while (sign := text.peek()) != "}":
        if not sign:
            raise Cut("it breaks off")
        if sign == ",":
            text.at += 1
            continue
        name = text.value() if sign == '"' else None
        if not isinstance(name, str) or text.peek() != ":":
            raise Cut("it breaks off") if not text.peek() else Unreadable("not JSON")
        text.at += 1
        if name in inside and text.peek() in ("[", "{"):
            inner = True
            if beside:
                yield Piece(key, dict(beside), place, about=True)
            yield from _pieces(text, name, inside)
        else:
            beside[name] = text.value()
    text.at += 1
    if beside or not inner:
        yield Piece(key, beside, place, about=inner)


def read_yaml(path: Path) -> Any:
    """A YAML file, read as Hydra reads it (1e-3 is a number). Raises DataError with file and
    line."""
    return read_text(path, YAML_BYTES, yaml_value)


def yaml_value(text: str) -> Any:
    """The value of a YAML text. Raises Unreadable with the line, also for Python objects and
    repeated keys."""
    try:
        _measure(text)
        return yaml.load(text, Loader=_loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or str(error).splitlines()[0])
        what = _SAID_BY_THE_PARSER.get(what, what)
        if "python/" in what:
            what = "it names a Python object, which a config cannot hold"
        raise Unreadable(
            f"not YAML: {what}.", None if mark is None else mark.line + 1
        ) from None
    except Unreadable:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise Unreadable(
            f"not YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}."
        ) from None


def _measure(text: str) -> None:
    """Raise Unreadable for what is nested too deeply, or is too large with its aliases written
    out."""
    sizes: dict[str | None, int | None] = {}  # None while a node is open
    above: list[
        tuple[str | None, int]
    ] = []  # of the nodes that are open: anchor, and the size of what lies before
    inside = 0
    # Events and no objects: ten lines of aliases of aliases stand for a billion values,
    # which must be counted before any is made.
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        line = event.start_mark.line + 1  # type: ignore[union-attr]
        if isinstance(event, yaml.AliasEvent):
            if (size := sizes.get(event.anchor, 0)) is None:
                raise Unreadable(
                    f"not YAML: the alias *{event.anchor} stands for what it lies in.",
                    line,
                )
            inside += size
        elif isinstance(event, yaml.ScalarEvent):
            inside += 1
            sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            above.append((event.anchor, inside))
            sizes[event.anchor], inside = None, 1
            if len(above) >= DEEPEST:
                raise Unreadable(f"not YAML: {_DEEP}.", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = above.pop()
            sizes[anchor], inside = inside, inside + before
        if inside > YAML_NODES:
            raise Unreadable(
                f"not YAML that can be used: it holds more than {YAML_NODES:,} values.",
                line,
            )


@functools.cache
def _loader() -> Any:
    """OmegaConf's reading of scalars without its Python objects; a key may stand once in a
    mapping."""

    class Plain(yaml.CSafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = set()
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                wrong = "" if isinstance(key, yaml.ScalarNode) else "a key is no word"
                if (
                    not wrong
                    and key.value in keys
                    and key.tag != "tag:yaml.org,2002:merge"
                ):
                    wrong = f"the key {key.value} stands here a second time"
                if wrong:
                    raise ConstructorError(None, None, wrong, key.start_mark)
                keys.add(key.value)
            return super().construct_mapping(node, deep=deep)

        def construct_yaml_int(self, node: Any) -> int:
            value = int(super().construct_yaml_int(node))
            if value.bit_length() > LONGEST_INTEGER:
                raise ConstructorError(None, None, "an endless number", node.start_mark)
            return value

    Plain.add_implicit_resolver(
        "tag:yaml.org,2002:float", _FLOAT, list("-+0123456789.")
    )
    # A date is a text here, as it is in OmegaConf; YAML would make an object of it that
    # no config takes.
    Plain.yaml_implicit_resolvers = {
        first: [
            (tag, form) for tag, form in forms if tag != "tag:yaml.org,2002:timestamp"
        ]
        for first, forms in Plain.yaml_implicit_resolvers.items()
    }
    tags = [
        f"tag:yaml.org,2002:{kind}"
        for kind in ("null", "bool", "int", "float", "str", "seq", "map")
    ]
    Plain.yaml_constructors = {
        tag: yaml.CSafeLoader.yaml_constructors[tag] for tag in (None, *tags)
    }
    Plain.add_constructor("tag:yaml.org,2002:int", Plain.construct_yaml_int)
    return Plain


def read_env(path: Path, wanted: str | None = None) -> dict[str, str]:
    """The variables of a `.env` file, {} without the file. A line that is not NAME=VALUE is another
    program's matter, unless it may be that of the variable that is `wanted`. Raises DataError with
    file and line, where the file cannot be read, or has a damaged line and not the wanted variable.
    """
    if not path.is_file():
        return {}
    from dotenv.parser import parse_stream

    lines = list(parse_stream(StringIO(read_text(path, ENV_BYTES))))
    variables = {
        line.key: line.value
        for line in lines
        if line.key is not None and line.value is not None
    }
    damaged = [line.original.line for line in lines if line.error]
    # A `.env` file belongs to other programs as well. It is complained of only where it
    # stands in the way.
    if damaged and wanted is not None and wanted not in variables:
        raise DataError(
            f"{path}:{damaged[0]}: not NAME=VALUE; is a quote left open? Correct the line, or"
            " delete it."
        )
    return variables
