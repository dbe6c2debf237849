"""Finds citations of precedents in a text, by a grammar: a YAML file that says how those of a
jurisdiction are written.

A text is read without accents, with one space for any white space, so that patterns stay plain.
From the head of a citation ("Tema") the numbers are read one after another, then what stands beside
them and says of which court they are. Each step matches at one place and none goes back, so that
the time grows with the length of the text.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from re import Match, Pattern
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from undogmatic.errors import ConfigError
from undogmatic.records.records import Record, first_problem
from undogmatic.safety.outside import read_yaml

FLAGS = re.IGNORECASE | re.ASCII
STEPS, MARKS, LONGEST, NEAR, WIDEST, EXPANDED = 14, 4, 200, 40, 100, 2000
"""Most words between a head and its number; marks beside a number; characters of a citation that
are kept; characters between a head and a court before it; numbers that a range names, and all
ranges of a text."""
NOTHING = "(?!)"
_SENTENCE = re.compile(
    r"(?:(?<=[A-Za-z]{4})|(?<=\d)|(?<=\))|(?<=[A-Z]{3}))[.!?]+(?= [A-Z])|\n"
)
_ROMAN = re.compile(
    r"(?=[A-Z]{2})(?:C[DM]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})(?![A-Za-z\d])"
)
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ENDS = (  # a number is no part of a longer one, no ordinal and no percentage
    r"(?![A-Za-z\d]|[.,]\d|\.[ao]\b| ?%)"
)


Stated = Literal["beside", "nearby", "kind", "table", "here", "nowhere"]
"""Where a court is from: beside the number, elsewhere in the sentence, the kind itself, the table
(where only one court has the number), or nowhere; here: it is the court that writes, which is not
named."""


class Mark(Record):
    """What may stand beside a citation and say more of it; `speaks`: it is of the court that
    writes, "this Court"."""

    written: str
    court: str | None = None
    kind: str | None = None
    series: str | None = None
    speaks: bool = False


class Kind(Record):
    """How one kind of citation is written; docs/precedents.md explains the keys."""

    name: str = ""
    heads: tuple[str, ...]
    weak: tuple[str, ...] = ()
    kind: str | None = None
    court: str | None = None
    series: str | None = None
    number: str | None = None
    digits: tuple[int, int] = (1, 6)
    years: bool = True
    roman: bool = False
    unaccented: bool = False
    places: bool = True
    case: bool = False
    series_of: str | None = None
    after: str = ""
    unless: str = NOTHING
    marks: tuple[Mark, ...] = ()
    nearby: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


class Layout(Record):
    """A grammar file; docs/precedents.md explains the keys."""

    language: str
    sign: str = NOTHING
    filler: tuple[str, ...] = ()
    thousands: str = ""
    words: tuple[dict[str, int], ...] = ()
    joiner: str = ""
    least: int = 0
    between: tuple[str, ...] = (",",)
    before: tuple[str, ...] = ()
    to: tuple[str, ...] = ()
    items: str = NOTHING
    links: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    masks: tuple[str, ...] = ()
    courts: dict[str, tuple[str, ...]] = Field(min_length=1)
    kinds: dict[str, Kind] = Field(min_length=1)
    status: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    nicknames: dict[str, str] = Field(default_factory=dict)


class Citation(NamedTuple):
    """A precedent that a text names by `words`, from `start` to `end`."""

    kind: str
    number: str
    court: str | None
    stated: Stated
    series: str | None
    words: str
    start: int
    end: int


@cache
def _folded(char: str) -> str:
    """What stands for a character: no accent, no mark that is not seen, one kind of space and of
    dash."""
    category = unicodedata.category(char)
    if char.isspace() or category == "No":  # a raised number is a note's
        return "\n" if char in "\n\u2028\u2029" else " "
    if category == "Pd" or char == "\N{MINUS SIGN}":
        return "-"
    if category in ("Pi", "Pf") or char in '*`"':  # quotes, and what writes bold
        return "'" if char == "\N{RIGHT SINGLE QUOTATION MARK}" else ""
    parts = unicodedata.normalize("NFKD", char.replace("°", "º"))
    return "".join(
        c for c in parts if unicodedata.category(c) not in ("Cc", "Cf", "Mn")
    )


class _Shapes(dict[int, str]):
    """What stands for a character where that is one that is seen, a space for a space, and NUL for
    all others."""

    def __missing__(self, code: int) -> str:
        piece = _folded(chr(code))
        return self.setdefault(
            code,
            piece if code == 32 or (len(piece) == 1 and piece not in " \n") else "\0",
        )


_SHAPES, _PLAIN = _Shapes(), re.compile(r"[^\0 ]+(?: [^\0 ]+)*")


def fold(text: str) -> tuple[str, list[int]]:
    """The text as patterns read it (a line break only between paragraphs), and the place of each
    character of it."""
    plain, places, breaks, shapes, at = (
        list[str](),
        list[int](),
        0,
        text.translate(_SHAPES),
        0,
    )
    while at < len(text):
        run = _PLAIN.search(shapes, at)
        begin, end = (run.start() + 1, run.end()) if run else (len(text), len(text))
        for place in range(at, begin):
            char, piece = text[place], _folded(text[place])
            if piece in (" ", "\n"):
                breaks += piece == "\n"
                if plain and plain[-1] in " \n":
                    plain[-1] = "\n" if breaks > 1 else plain[-1]
                    continue
                piece = " "
            elif piece:
                if (
                    breaks == 1
                    and char.islower()
                    and plain[-2:] == ["-", " "]
                    and "".join(plain[-3:-2]).isalpha()
                ):
                    # a word that was divided at the end of a line
                    del plain[-2:], places[-2:]
                breaks = 0
            plain += piece
            places += [place] * len(piece)
        plain += shapes[begin:end]
        places += range(begin, end)
        at = end
    return "".join(plain), places


def _any(patterns: Sequence[str]) -> str:
    """One of these, the longest first; behind a letter no further letter."""
    ends = {p: "(?![A-Za-z])" if re.search(r"[\w)?}\]]$", p) else "" for p in patterns}
    return (
        "|".join(f"(?:{p}){ends[p]}" for p in sorted(patterns, key=len, reverse=True))
        or NOTHING
    )


def _named(patterns: Sequence[str], firsts: Sequence[str] = ()) -> str:
    """One of these as groups, by their places in the list. Where it is known with which letter each
    begins (`firsts`), only those are tried that begin as the text does, which takes a quarter of
    the time."""
    parts = list[str]()
    named = [f"(?P<n{n}>{p})" for n, p in enumerate(patterns)]
    for known, run in groupby(
        zip(firsts or [""] * len(named), named, strict=True), lambda each: each[0] != ""
    ):
        those = list(run)
        for letter in dict.fromkeys(letter for letter, _ in those):
            these = "|".join(pattern for first, pattern in those if first == letter)
            parts.append(f"(?={letter})(?:{these})" if known else these)
    return "|".join(parts) or NOTHING


def _first(pattern: str) -> str:
    """The letter with which all that a pattern matches begins; empty where that is not plain to
    see."""
    found = re.match(r"(?:\(\?-i:)?([A-Za-z])", pattern)
    if found is None or re.search(r"\[\^?\]", pattern):
        return ""
    rest = re.sub(
        r"\[[^\]]*\]",
        "_",
        re.sub(r"\\.", "_", re.sub(r"^\(\?-i:([A-Za-z]+)\)(?![?*{])", r"\1", pattern)),
    )
    while (shorter := re.sub(r"\([^()]*\)", "_", rest)) != rest:
        rest = shorter
    return found[1].lower() if re.fullmatch(r"[A-Za-z](?![?*{])[^|]*", rest) else ""


def _which(found: Match[str]) -> int:
    return int(str(found.lastgroup)[1:])


def _in_words(layout: Layout) -> str:
    """A pattern of numbers in words: a part of a level, then perhaps parts of smaller ones."""
    tails = list[str]()
    for level in reversed(layout.words):
        smaller = "|".join(reversed(tails)) or NOTHING
        tails.append(
            f"(?:{'|'.join(sorted(level, key=len, reverse=True))})(?: (?:{layout.joiner}"
            f" )?(?:{smaller}))?"
        )
    return "|".join(reversed(tails)) or NOTHING


class _Read(NamedTuple):
    """How a kind is read."""

    key: str
    spec: Kind
    number: Pattern[str]
    marks: Pattern[str]
    after: Pattern[str]
    refused: Pattern[str]


class _Number(NamedTuple):
    """A number that was read, where it ends, whether it is doubtful, and whether it is a Roman
    numeral."""

    value: str
    end: int
    doubtful: bool
    roman: bool


class Grammar:
    """Finds citations. Raises ConfigError for a file that is no grammar, naming it and what is
    wrong."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.layout = Layout.model_validate(read_yaml(path))
            self._compile(self.layout)
        except ValidationError as error:
            raise ConfigError(
                f"{path}: no grammar of citations: {first_problem(error)}."
            ) from None
        except re.error as error:
            raise ConfigError(
                f"{path}: {error.pattern!r} is no regular expression ({error})."
            ) from None

    def _compile(self, layout: Layout) -> None:
        heads = [
            (p, key, p in kind.weak)
            for key, kind in layout.kinds.items()
            for p in (*kind.heads, *kind.weak)
        ]
        heads.sort(key=lambda head: len(head[0]), reverse=True)
        self._of_head = [(key, weak) for _, key, weak in heads]
        written = [
            p if p.startswith("(?=") else f"(?:{p})(?![A-Za-z])" for p, _, _ in heads
        ]
        self._heads = re.compile(
            rf"(?<![A-Za-z0-9])(?:{_named(written, [_first(p) for p, *_ in heads])})",
            FLAGS,
        )
        self._court_names, courts = (
            [*layout.courts],
            [*map(_any, layout.courts.values())],
        )
        self._courts = re.compile(
            rf"(?<![A-Za-z0-9])(?:{_named(courts)})(?![A-Za-z0-9])", FLAGS
        )
        group = layout.thousands or NOTHING
        digits = rf"\d{{1,3}}(?:{group}\d{{3}})+(?!\d)|\d+"
        self._read = {}
        for key, kind in layout.kinds.items():
            marks = _named(
                [f"(?:{mark.written})(?![A-Za-z0-9])" for mark in kind.marks]
            )
            refused = f" ?(?:{_any(layout.units)}|{kind.unless})"
            patterns = (
                kind.number or f"(?:{digits}){_ENDS}",
                marks,
                kind.after,
                refused,
            )
            self._read[key] = _Read(
                key, kind, *(re.compile(pattern, FLAGS) for pattern in patterns)
            )
        self._sign = re.compile(rf"(?:{layout.sign})(?![A-Za-z])", FLAGS)
        self._filler = re.compile(
            rf"(?P<open>[:(\[/,]|(?<= )-|-(?= )|{_any(layout.filler)})|[ )\]-]", FLAGS
        )
        self._glue = re.compile(rf"(?:[ ,/(\[:-]|{_any(layout.links)})*+", FLAGS)
        self._aside = re.compile(r" ?\([^()\n]{1,60}\)", FLAGS)
        self._between = re.compile(
            rf"(?: ?(?:{_any(layout.between)}) ?)++(?:(?:{_any(layout.before)}) )?",
            FLAGS,
        )
        self._to = re.compile(rf" ?(?:{_any(layout.to)}) ?", FLAGS)
        self._items = re.compile(layout.items, FLAGS)
        self._masks = re.compile(
            rf"(?<!\d)(?:{'|'.join(layout.masks) or NOTHING})(?!\d)", FLAGS
        )
        self._values = {
            word: value for level in layout.words for word, value in level.items()
        }
        self._words = re.compile(rf"(?:{_in_words(layout)})(?![A-Za-z])", FLAGS)

        self._nicknames, self._of_nickname = re.compile(NOTHING), []
        self._of_nickname = [
            self._meant(written) for written in layout.nicknames.values()
        ]
        named = _named([*layout.nicknames])
        self._nicknames = re.compile(
            rf"(?<![A-Za-z0-9])(?:{named})(?![A-Za-z0-9])", FLAGS
        )

    def _meant(self, written: str) -> Citation:
        """What a nickname stands for. Raises ConfigError."""
        if len(cited := self.citations(written)) != 1 or cited[0].court is None:
            raise ConfigError(
                f"{self.path}: a nickname stands for {written!r}, which is not one citation with"
                ' its court. Write e.g. "Tema 69 do STF".'
            )
        return cited[0]

    def kind_of(self, written: str) -> str | None:
        """The kind that a table names, by its key or one of its other names."""
        own = [
            (key, kind) for key, kind in self.layout.kinds.items() if kind.kind is None
        ]
        wanted = written.strip().casefold()
        return next(
            (
                k
                for k, spec in own
                if wanted in map(str.casefold, (k, spec.name, *spec.also))
            ),
            None,
        )

    def court_of(self, written: str) -> str | None:
        """The court that a cell of a table names, whatever its spelling; None where it is none."""
        found = self._courts.fullmatch(fold(written.strip())[0])
        return self._court_names[_which(found)] if found else None

    def number_of(self, kind: str, written: str) -> str | None:
        """The number in a cell of a table, as `citations` writes it; None where it is none of this
        kind."""
        plain = fold(written.strip())[0]
        found = self._number(self._read[kind], plain, 0)
        return found.value if found is not None and found.end == len(plain) else None

    def shown(
        self, court: str | None, kind: str, number: str, series: str | None = None
    ) -> str:
        """A citation in a few words."""
        name = self.layout.kinds[kind].name or kind
        return " ".join(filter(None, (name, number, series))) + (
            f" ({court})" if court else ""
        )

    def citations(self, text: str) -> list[Citation]:
        """What a text cites, in its order; a number that is named twice is there twice."""
        plain, places = fold(text)
        # What is no citation (the number of a case, a date) is covered and not cut out,
        # so that all places stay as they are.
        plain = self._masks.sub(lambda masked: "\0" * len(masked[0]), plain)
        found, at, left = list[Citation](), 0, EXPANDED
        while (head := self._heads.search(plain, at)) is not None:
            key, weak = self._of_head[_which(head)]
            cited, end, own = list[Citation](), 0, ""
            if self._read[key].spec.unaccented:
                own = unicodedata.normalize(
                    "NFD",
                    text[places[head.start()] : places[max(head.end() - 1, 0)] + 2],
                )
            if not any(map(unicodedata.combining, own)):
                cited, end = self._phrase(plain, head, self._read[key], weak, left)
            left -= len(cited)
            found += cited
            at = max(end, head.end(), head.start() + 1)
        found = sorted([*found, *self._nicknamed(plain)], key=lambda one: one.start)
        if not found:
            return []
        spans = (
            (one, places[one.start], places[one.end - 1] + 1)
            for one in self._in_context(plain, found)
        )
        return [
            one._replace(
                words=text[start : min(end, start + LONGEST)], start=start, end=end
            )
            for one, start, end in spans
        ]

    def _nicknamed(self, plain: str) -> list[Citation]:
        """What a text names by the name that everybody calls it by, as if it were cited."""
        return [
            self._of_nickname[_which(named)]._replace(
                start=named.start(), end=named.end()
            )
            for named in self._nicknames.finditer(plain)
        ]

    def _phrase(
        self, plain: str, head: Match[str], read: _Read, weak: bool, left: int
    ) -> tuple[list[Citation], int]:
        """The citations that begin with a head, and where they end; a doubtful one only with a
        court or mark beside."""
        before, at, number, doubtful, signed = (
            list[Mark](),
            head.end(),
            None,
            False,
            False,
        )
        for _ in range(STEPS):
            if plain.startswith(" ", at):
                at += 1
                continue
            if number := self._number(read, plain, at):
                break
            if mark := self._mark(read, plain, at):
                before.append(mark[0])
                at = mark[1]
            elif sign := self._sign.match(plain, at):
                at, signed = sign.end(), True
            elif filler := self._filler.match(plain, at):
                at, doubtful = filler.end(), doubtful or filler["open"] is not None
            else:
                break
        if number is None:
            return [], 0
        doubtful = weak or number.doubtful or (doubtful and not signed)
        cited, following = list[Citation](), number
        while True:  # a list goes on behind a court only with another court
            values, end = self._list(read, plain, following, left)
            beside, at = self._beside(read, plain, end, len(values))
            marks = [*beside, *before]
            if (cited and not beside) or (
                doubtful
                and not marks
                and self._court_before(plain, head.start()) is None
            ):
                break
            cited += self._made(
                read,
                marks,
                values,
                [m.court for m in beside if not m.written],
                (head.start(), at),
            )
            if not beside or (more := self._next(read, plain, at, heads=False)) is None:
                break
            following = more
        return cited, cited[-1].end if cited else 0

    def _made(
        self,
        read: _Read,
        marks: list[Mark],
        values: list[str],
        courts: list[str | None],
        span: tuple[int, int],
    ) -> list[Citation]:
        """The citations of numbers with the marks that stand beside them all, or with a court for
        each."""

        def first(name: str) -> str | None:
            return next(
                (value for mark in marks if (value := getattr(mark, name)) is not None),
                None,
            )

        kind, series = (
            first("kind") or read.spec.kind or read.key,
            read.spec.series or first("series"),
        )
        named = next((mark.court for mark in marks if not mark.written), None) or first(
            "court"
        )
        fixed = read.spec.court or self.layout.kinds[kind].court
        stated: Stated = (
            "beside"
            if named
            else "kind"
            if fixed
            else "here"
            if any(m.speaks for m in marks)
            else "nowhere"
        )
        each = courts if len(courts) == len(values) else [named or fixed] * len(values)
        return [
            Citation(kind, v, c, stated, series, "", *span)
            for v, c in zip(values, each, strict=True)
        ]

    def _number(
        self, read: _Read, plain: str, at: int, joined: bool = True
    ) -> _Number | None:
        """The number at a place, if one stands there; one that is `joined` by a mere comma may not
        be a year."""
        spec, doubtful = read.spec, False
        if found := read.number.match(plain, at):
            value = (found[1] if found.re.groups else found[0]).upper()
            if spec.number is None:
                dotted, value = (
                    not value.isdigit(),
                    re.sub(r"\D", "", value).lstrip("0"),
                )
                if not spec.digits[0] <= len(value) <= spec.digits[1]:
                    return None
                if (
                    not (spec.years and joined)
                    and not dotted
                    and 1900 <= int(value) < 2100
                ):
                    return None
        elif spec.number is None and (found := self._words.match(plain, at)):
            total = sum(
                self._values.get(word, 0) for word in found[0].casefold().split()
            )
            value, doubtful = str(total), total < self.layout.least
        elif spec.roman and (found := _ROMAN.match(plain, at)):
            each = [_ROMAN_DIGITS[letter] for letter in found[0]]
            value = str(
                sum(
                    -a if a < b else a
                    for a, b in zip(each, [*each[1:], 0], strict=True)
                )
            )
            doubtful = spec.court is None
        else:
            return None
        refused = read.refused.match(plain, found.end())
        return (
            None
            if refused
            else _Number(value, found.end(), doubtful, found.re is _ROMAN)
        )

    def _list(
        self, read: _Read, plain: str, number: _Number, left: int
    ) -> tuple[list[str], int]:
        """A number and those that follow it in a list, and where the list ends."""
        values, at = [number.value], number.end
        while True:
            for skipped in (read.after, self._items)[: 1 if number.roman else 2]:
                at = found.end() if (found := skipped.match(plain, at)) else at
            last = (
                self._number(read, plain, to.end())
                if (to := self._to.match(plain, at))
                else None
            )
            if (
                last is not None
                and not read.spec.number
                and 0 < int(last.value) - int(values[-1]) <= WIDEST
            ):
                inner = (
                    range(int(values[-1]) + 1, int(last.value))
                    if len(values) < left
                    else ()
                )
                values += map(str, inner)
                following = last
            elif (more := self._next(read, plain, at, roman=number.roman)) is not None:
                following = more
            else:
                return values, at
            values.append(following.value)
            at = following.end

    def _next(
        self, read: _Read, plain: str, at: int, heads: bool = True, roman: bool = False
    ) -> _Number | None:
        """The number with which a list goes on; before it may stand its head again, unless `heads`
        is false. A doubtful one is none, unless those before it are Roman numerals, too."""
        if (between := self._between.match(plain, at)) is None:
            return None
        start, head = (
            between.end(),
            self._heads.match(plain, between.end()) if heads else None,
        )
        # "Súmula 5 e Súmula 7 do STJ"
        if head is not None and self._of_head[_which(head)][0] == read.key:
            start = head.end() + plain.startswith(" ", head.end())
        if sign := self._sign.match(plain, start):
            start = sign.end() + plain.startswith(" ", sign.end())
        number = self._number(
            read, plain, start, joined=re.search("[A-Za-z]", between[0]) is not None
        )
        return (
            None
            if number is None or (number.doubtful and not (roman and number.roman))
            else number
        )

    def _mark(self, read: _Read, plain: str, at: int) -> tuple[Mark, int] | None:
        """The mark at a place, and where it ends; a court is a mark with nothing `written`."""
        if found := read.marks.match(plain, at):
            return read.spec.marks[_which(found)], found.end()
        if read.spec.places and (found := self._courts.match(plain, at)):
            return Mark(written="", court=self._court_names[_which(found)]), found.end()
        return None

    def _beside(
        self, read: _Read, plain: str, at: int, count: int
    ) -> tuple[list[Mark], int]:
        """Marks and then a court behind `count` numbers, or a court for each of them ("of the STF
        and of the STJ")."""
        marks = list[Mark]()
        while len(marks) < max(MARKS, count):
            is_court = bool(marks) and not marks[-1].written
            between = self._between.match(plain, at) if is_court and count > 1 else None
            if is_court and (between is None or not re.search("[A-Za-z]", between[0])):
                break
            found = self._linked(read, plain, at if between is None else between.end())
            aside = (
                self._aside.match(plain, at) if found is None and not marks else None
            )
            if aside is not None and not self._heads.search(plain, at, aside.end()):
                found = self._linked(read, plain, aside.end())
            if found is None or (is_court and found[0].written):
                break
            marks.append(found[0])
            at = found[1] + (plain[found[1] : found[1] + 1] in (")", "]"))
        return marks, at

    def _linked(self, read: _Read, plain: str, at: int) -> tuple[Mark, int] | None:
        """The mark or court behind words that link it."""
        return (
            self._mark(read, plain, glue.end())
            if (glue := self._glue.match(plain, at))
            else None
        )

    def _court_before(self, plain: str, start: int) -> str | None:
        """The court that stands right before a head, with no more than links between."""
        part = plain[max(0, start - NEAR) : start]
        last = next(reversed(list(self._courts.finditer(part))), None)
        links = last and self._glue.fullmatch(re.sub("[.)]", " ", part[last.end() :]))
        return self._court_names[_which(last)] if last and links else None

    def _in_context(self, plain: str, found: list[Citation]) -> list[Citation]:
        """The citations with courts from what surrounds those that have none beside them."""
        own = [
            (one.start, one.end, one.court) for one in found if one.court is not None
        ]
        ends, done = (
            [-1, *(m.start() for m in _SENTENCE.finditer(plain)), len(plain)],
            list[Citation](),
        )
        courts: dict[
            tuple[int, int], list[tuple[int, int, str]]
        ] = {}  # of each sentence that holds a citation without one
        for one in found:
            beside = near = None
            if one.court is None and one.stated != "here":
                beside = self._court_before(plain, one.start)
                part = (
                    ends[bisect_left(ends, one.start) - 1],
                    ends[bisect_left(ends, one.end)],
                )
                if not beside and part not in courts:
                    named = [
                        (m.start(), m.end(), self._court_names[_which(m)])
                        for m in self._courts.finditer(plain, part[0] + 1, part[1])
                    ]
                    courts[part] = sorted(
                        named
                        + own[
                            bisect_left(own, (part[0] + 1,)) : bisect_left(
                                own, (part[1],)
                            )
                        ]
                    )
                near = beside or self._near(plain, one, courts[part])
            done.append(
                one._replace(court=near, stated="beside" if beside else "nearby")
                if near
                else one
            )
        return done

    def _near(
        self, plain: str, one: Citation, named: list[tuple[int, int, str]]
    ) -> str | None:
        """The court of the nearest mention in the sentence: right behind, before, or else one that
        acted ("by it")."""
        n, allowed = (
            bisect_left(named, (one.start, 0, "")),
            self.layout.kinds[one.kind].nearby or self._court_names,
        )
        before = [m[2] for m in named[max(0, n - 8) : n] if m[2] in allowed]
        behind = [
            m
            for m in named[n : n + 8]
            if one.end <= m[0] < one.end + 2 * NEAR and m[2] in allowed
        ]
        gap = plain[one.end : behind[0][0]] if behind else ""
        if before and not (behind and self._glue.fullmatch(gap)):
            return before[-1]
        return (
            behind[0][2]
            if behind and self._glue.fullmatch(gap[gap.rstrip().rfind(" ") + 1 :])
            else None
        )
