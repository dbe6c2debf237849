"""Tells what the cells of a column say: a number, a word, or nothing, and then why.

Each distinct cell is read once. Numbers may have a decimal comma, words are compared without case
and accents.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.records.results import Finding, Subject
from undogmatic.safety.outside import read_yaml

EMPTY = "empty"
NOTHING = "nothing"
NOT_APPLICABLE = "not_applicable"
ABSTAINED = "abstained"
REFUSAL = "refusal"
ERROR = "error"
FORMULA = "formula"
DATE = "date"
UNREADABLE, OFF_SCALE, CONTRADICTION = "unreadable", "off_scale", "contradiction"
SEVERAL = "several"
"""Why a cell is no verdict."""
SPOKEN = (NOTHING, NOT_APPLICABLE, ABSTAINED, REFUSAL, ERROR)
"""Why a cell says nothing though a word stands in it: a word that may be a category, too."""

LEXICON: Mapping[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
"""The words that are known."""


def alternatives(words: str) -> tuple[str, ...]:
    """Words that stand in the lexicon with bars between them."""
    return tuple(word.strip() for word in words.split("|"))


_NOTHING = set(alternatives(LEXICON["cells"]["nothing"]))
_BY_PROGRAMS = set(alternatives(LEXICON["cells"]["nothing_by_programs"]))
_NOT_APPLICABLE = set(alternatives(LEXICON["cells"]["not_applicable"]))
_ABSTAINS = set(alternatives(LEXICON["cells"]["abstains"]))
_NUMBER_WORDS = {
    word: float(number)
    for number, words in LEXICON["numbers"].items()
    for word in alternatives(words)
}
_ERRORS = re.compile(
    r"(#(ref|value|div/0|n/a|name|num|null|valor|nome)[!?]?)"
    # "no error" is what people say of a text without one
    r"|((?!(no|sem|without|zero|0)\b).*\b(error|erro|exception|timeout)\b.*)"
)
_REFUSES = re.compile(
    r"(i('m| am) sorry|sorry,|i (can ?not|can't|can’t|am unable|won't)|as an ai|unable to|nao"
    r" posso|nao consigo"
    r"|desculpe|lamento|sinto muito|como (uma )?(ia|modelo)|refus|recus|declined).*"
)
_FORMULA = re.compile(r"=\s*[-+(A-Za-z0-9$@].*", re.DOTALL)
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}([ t]\d{1,2}:\d{2}.*)?|\d{1,2}/\d{1,2}/\d{2,4}"
    r"|\d{1,2}[-/."
    r" ](jan|fe[bv]|mar|a[pb]r|ma[iy]|jun|jul|a[ug]g|ago|se[pt]t?|o[cu]t|nov|de[cz])[a-z]*([-/."
    r" ]\d{2,4})?"
)
_BEFORE, _BEHIND = " \t\n\r\f\v*_\"'`[({<", " \t\n\r\f\v*_\"'`])}>.:!"
"""What may stand around a verdict: **pass**, [[A]], "4"."""
_NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?")
_GROUPED = re.compile(r"[-+]?\d{1,3}((\.\d{3})+,\d+|(,\d{3})+\.\d+)")
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?) ?(?:/|out of|of|de|em) ?(\d{1,3})")
LEAST_OUT_OF = 3
"""The least that a grade is given out of: "1/2" is a half, or the first of two."""


class Cell(NamedTuple):
    """What a cell says: a number (NaN: none), a word that stands for a category (None: none), or
    why it says nothing. A number is a word, too: categories may be numbers."""

    number: float
    word: str | None
    reason: str | None


@dataclass(frozen=True)
class Cells:
    """The cells of a column: row `n` holds the distinct cell `codes[n]`, of which the other arrays
    tell what it says, how it is `written` and how often it is there."""

    codes: np.ndarray
    numbers: np.ndarray
    words: tuple[str | None, ...]
    reasons: tuple[str | None, ...]
    written: tuple[str, ...]
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def says(self) -> np.ndarray:
        """Which distinct cells say something."""
        return np.array([reason is None for reason in self.reasons], dtype=bool)

    @property
    def said(self) -> int:
        """How many cells say something."""
        return int(self.counts[self.says].sum())

    @property
    def numeric(self) -> float:
        """Which share of the cells that say something are numbers; 0 if none says anything."""
        return (
            float(self.counts[~np.isnan(self.numbers)].sum() / self.said)
            if self.said
            else 0.0
        )

    def distinct_words(self) -> dict[str, int]:
        """The words, numbers among them, with how often each is there, the most frequent first."""
        counted: dict[str, int] = {}
        for word, count in zip(self.words, self.counts, strict=True):
            if word is not None:
                counted[word] = counted.get(word, 0) + int(count)
        return dict(sorted(counted.items(), key=lambda each: -each[1]))

    def distinct_numbers(self) -> np.ndarray:
        """The numbers, in order."""
        return np.unique(self.numbers[~np.isnan(self.numbers)])

    def examples(self, most: int = 2) -> list[str]:
        """Some of the cells as they are written, those that say something first, the most frequent
        before."""
        ranked = sorted(
            range(len(self.written)),
            key=lambda n: (self.reasons[n] is not None, -int(self.counts[n])),
        )
        return [self.written[n][:40] for n in ranked[:most]]

    def of_several(self, categories: Collection[str]) -> np.ndarray:
        """Which distinct cells name several of the categories, with bars between them: A|B."""
        return np.array(
            [names_several(word, categories) for word in self.words], dtype=bool
        )

    def values(
        self, mapping: Mapping[str, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Per row the number, or what `mapping` says of the word; NaN, and why, where there is
        none."""
        if mapping is None:
            each = self.numbers
        else:
            each = np.array(
                [
                    np.nan if word is None else mapping.get(word, np.nan)
                    for word in self.words
                ],
                dtype=float,
            )
        lacking = [reason or UNREADABLE for reason in self.reasons]
        reasons = np.array(
            [w if np.isnan(v) else None for v, w in zip(each, lacking, strict=True)],
            dtype=object,
        )
        return each[self.codes], reasons[self.codes]


def names_several(word: str | None, categories: Collection[str]) -> bool:
    """Whether a word that is no category itself names several, with bars between them."""
    parts = [fold(part) for part in (word or "").split("|")]
    return len(parts) > 1 and word not in categories and set(parts) <= {*categories}


def read_cells(raw: Any, categories: Collection[str] = ()) -> Cells:
    """Read the cells of a column. `categories` are words that count as such, though elsewhere they
    mean that nothing is said: none, n/a, refused."""
    codes, distinct = pd.factorize(np.asarray(raw, dtype=object), use_na_sentinel=False)
    read = [read_cell(cell, categories) for cell in distinct]
    tops = [_out_of(cell) for cell in distinct]
    if len({top for top in tops if top is not None}) > 1:
        # Out of five here and out of ten there: no number of one scale.
        read = [
            one if top is None else Cell(np.nan, fold(str(cell)), None)
            for one, top, cell in zip(read, tops, distinct, strict=True)
        ]
    read = _in_one_unit(
        distinct, read, words_are_numbers=_NUMBER_WORDS.keys().isdisjoint(categories)
    )
    return Cells(
        codes=codes,
        numbers=np.array([cell.number for cell in read], dtype=float),
        words=tuple(cell.word for cell in read),
        reasons=tuple(cell.reason for cell in read),
        written=tuple("" if is_empty(cell) else str(cell) for cell in distinct),
        counts=np.bincount(codes, minlength=len(distinct)),
    )


def _in_one_unit(
    distinct: Any, read: list[Cell], words_are_numbers: bool
) -> list[Cell]:
    """The cells of a column in one unit: 80% beside 0.8 is 0.8, "four" beside "3" is 4, and of
    1/4 beside 2/3 each is a share."""
    written = [_text(cell) for cell in distinct]
    are_percents = np.array([text.endswith("%") for text in written], dtype=bool)
    outs_of = [_OUT_OF.fullmatch(text) for text in written]
    wholes = np.array([float(out[2]) if out else np.nan for out in outs_of])
    numbers = np.array([cell.number for cell in read], dtype=float)
    plain = numbers[~are_percents & np.isnan(wholes)]
    plain = plain[~np.isnan(plain)]
    # A column of percents alone stays one of percents. Only beside numbers that are
    # shares must one of the two give way, or 80% would be a hundred times 0.8.
    if are_percents.any() and plain.size and plain.max() <= 1:
        numbers[are_percents] /= 100
    # Of one whole, the grades 3/5 and 4/5 stay 3 and 4.
    if len({out[2] for out in outs_of if out}) > 1:
        numbers = np.where(np.isnan(wholes), numbers, numbers / wholes)
    words = [
        cell.word for cell in read if cell.word is not None and np.isnan(cell.number)
    ]
    # One word that is no number makes all of them categories: "one" beside "none" may
    # be the name of a level.
    if words_are_numbers and words and all(word in _NUMBER_WORDS for word in words):
        for place, cell in enumerate(read):
            numbers[place] = _NUMBER_WORDS.get(cell.word or "", numbers[place])
    cells = []
    for cell, number in zip(read, numbers.tolist(), strict=True):
        same = number == cell.number or np.isnan(number)
        cells.append(cell if same else Cell(number, f"{number:g}", cell.reason))
    return cells


def said_of_nothing(cell: Any) -> str | None:
    """The word in a cell that may be a category or may say nothing, as it is compared; None where
    another word stands there, or what programs write where there is nothing (NaN, null)."""
    text = _text(cell)
    if not text or fold(text) in _BY_PROGRAMS or read_cell(cell).reason not in SPOKEN:
        return None
    return _bare(text)


def is_empty(cell: Any) -> bool:
    """Whether nothing stands in a cell: None, or NaN where columns of files were put together."""
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


def _text(cell: Any) -> str:
    """What is written in a cell, without what cannot be seen; "" where it is empty."""
    return "" if is_empty(cell) else visible(str(cell))


def _bare(text: str) -> str:
    """A word without the marks around it, as it is compared."""
    inside = text.lstrip(_BEFORE)
    return fold(
        (inside.rstrip(_BEHIND) if inside != text else text).rstrip(".:! ")
    ) or fold(text)


def read_cell(raw: Any, categories: Collection[str] = ()) -> Cell:
    """Read one cell; `categories` are words that are no sign that nothing is said."""
    text = _text(raw)
    # Python reads 4_000 as a number and "inf", too, and nobody writes a grade so;
    # everything else that it reads is one, and files have millions of cells.
    number = _plain_number(text)
    if number is None:
        number = number_of(text)
    if number is not None:
        return Cell(number, f"{number:g}", None)
    if _FORMULA.fullmatch(text):
        return Cell(np.nan, None, FORMULA)
    word, whole = _bare(text), fold(text)
    # Before all reasons for which a cell says nothing: whoever names `none` or
    # `refused` as a category means it as one.
    if text and categories and word in categories:
        return Cell(np.nan, word, None)
    for reason, is_it in (
        (EMPTY, not text),
        (NOTHING, {word, whole} & (_NOTHING | _BY_PROGRAMS)),
        (NOT_APPLICABLE, whole in _NOT_APPLICABLE),
        (ABSTAINED, word in _ABSTAINS),
        (DATE, _DATE.fullmatch(text.lower())),
        (REFUSAL, _REFUSES.fullmatch(word)),
        (ERROR, _ERRORS.fullmatch(fold(text))),
    ):
        if is_it:
            return Cell(np.nan, None, reason)
    inner = number_of(word)
    return (
        Cell(np.nan, word, None) if inner is None else Cell(inner, f"{inner:g}", None)
    )


def _plain_number(text: str) -> float | None:
    """The number that Python reads in a text: the quick way for most cells."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if "_" not in text and np.isfinite(number) else None


_OF_GRADES = re.compile(
    rf"(?<=[\d.,]) ?-?(?:{'|'.join(alternatives(LEXICON['grades']))})\.?$",
    re.IGNORECASE,
)
"""What a grade is counted in: "4 stars"."""
_STARS = re.compile("[★⭐]+☆*\N{VARIATION SELECTOR-16}?")


def number_of(text: str) -> float | None:
    """The number that a text is, with a decimal point or comma, "4/5" (4), or stars that are filled
    (two of them: 2); None if it is none."""
    if _STARS.fullmatch(text):
        return float(sum(sign in "★⭐" for sign in text))
    if _out_of(text) is not None:
        text = _OUT_OF.fullmatch(text)[1]  # type: ignore[index]
    if (unit := _OF_GRADES.search(text)) is not None:
        text = text[: unit.start()]
    text = text.rstrip("% ").replace("\N{MINUS SIGN}", "-")
    if _NUMBER.fullmatch(text):
        number = float(text.replace(",", "."))
    elif _GROUPED.fullmatch(text):
        whole, _, decimals = text.rpartition(
            "," if text.rfind(",") > text.rfind(".") else "."
        )
        number = float(whole.replace(".", "").replace(",", "") + "." + decimals)
    else:
        return None
    return number if np.isfinite(number) else None


def _out_of(cell: Any) -> int | None:
    """Out of how many a grade is written ("4/5": 5); None for what is no such grade."""
    found = _OUT_OF.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if found is None or int(found[2]) < LEAST_OUT_OF:
        return None
    # More than there is to get is no grade: 31/12 is a day.
    return int(found[2]) if float(found[1].replace(",", ".")) <= int(found[2]) else None


_INVISIBLE = re.compile(
    "[\N{SOFT HYPHEN}\N{ZERO WIDTH SPACE}-\N{RIGHT-TO-LEFT MARK}\N{LEFT-TO-RIGHT EMBEDDING}-"
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{WORD JOINER}-\N{NOMINAL DIGIT SHAPES}\N{VARIATION SELECTOR-1}-"
    "\N{VARIATION SELECTOR-16}\N{ZERO WIDTH NO-BREAK SPACE}]"
)
"""Characters that change how others are drawn, or nothing at all: they make no other word."""


def visible(text: str) -> str:
    """A text without characters that cannot be seen, and without blanks around it."""
    bare = text if text.isascii() else _INVISIBLE.sub("", text)
    return bare.strip()


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """A text without case, accents, doubled spaces and characters that cannot be seen; `_` and `-`
    between words are spaces."""
    text = visible(text)
    # An accent may be one sign with its letter or one of its own, and the two look
    # alike; taken apart, it can be left out of both.
    bare = unicodedata.normalize("NFKD", text.casefold())
    bare = (
        "".join(letter for letter in bare if not unicodedata.combining(letter))
        if not bare.isascii()
        else bare
    )
    return " ".join(re.sub(r"(?<=\w)[_-](?=\w)", " ", bare).split())


def as_slice(held: pd.Series) -> np.ndarray:
    """A column as a slice: numbers where all that it says are numbers, else texts."""
    filled = held.notna().to_numpy(dtype=bool)
    numbers = pd.to_numeric(held.where(filled, None), errors="coerce").to_numpy(
        dtype=float
    )
    if filled.any() and not np.isnan(numbers[filled]).any():
        return numbers
    return held.astype(str).astype(object).where(filled, None).to_numpy(dtype=object)


def unread(
    cells: pd.DataFrame,
    said: Iterable[str],
    used: Collection[str],
    told: Mapping[str, str],
) -> list[Finding]:
    """Name the columns that were not used and hold nothing but values of the columns `said`:
    verdicts or labels that were not recognised, perhaps. `told`: the options that say so."""
    known = {value for name in said for value in cells[name].dropna().unique()}
    held = {
        name: set(cells[name].dropna())
        for name in map(str, cells.columns)
        if name not in used
    }
    alike = [f"`{name}`" for name, values in held.items() if values and values <= known]
    if not alike:
        return []
    values = {"columns": alike[:8], "n": len(alike), **told}
    return [Finding("table.read_neither", values, subject=Subject.NOT_READ)]
