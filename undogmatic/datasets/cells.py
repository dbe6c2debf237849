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

EMPTY, NOT_APPLICABLE, REFUSAL, ERROR, FORMULA, DATE = (
    "empty",
    "not_applicable",
    "refusal",
    "error",
    "formula",
    "date",
)
UNREADABLE, OFF_SCALE, CONTRADICTION = "unreadable", "off_scale", "contradiction"
"""Why a cell is no verdict."""

LEXICON: Mapping[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
"""The words that are known."""


def alternatives(words: str) -> tuple[str, ...]:
    """Words that stand in the lexicon with bars between them."""
    return tuple(word.strip() for word in words.split("|"))


_NOTHING = {"", *alternatives(LEXICON["cells"]["nothing"])}
_NOT_APPLICABLE = set(alternatives(LEXICON["cells"]["not_applicable"]))
_ERRORS = re.compile(
    r"(#(ref|value|div/0|n/a|name|num|null|valor|nome)[!?]?)|(.*\b(error|erro|exception|timeout)\b.*)"
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
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?) ?(?:/|out of|of|de) ?(?:5|7|10|20|100)")


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
        return float(self.counts[~np.isnan(self.numbers)].sum() / self.said) if self.said else 0.0

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

    def values(self, mapping: Mapping[str, float] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Per row the number, or what `mapping` says of the word; NaN, and why, where there is
        none."""
        if mapping is None:
            each = self.numbers
        else:
            each = np.array(
                [np.nan if word is None else mapping.get(word, np.nan) for word in self.words],
                dtype=float,
            )
        lacking = [reason or UNREADABLE for reason in self.reasons]
        reasons = np.array(
            [w if np.isnan(v) else None for v, w in zip(each, lacking, strict=True)], dtype=object
        )
        return each[self.codes], reasons[self.codes]


def read_cells(raw: Any) -> Cells:
    """Read the cells of a column."""
    codes, distinct = pd.factorize(np.asarray(raw, dtype=object), use_na_sentinel=False)
    read = [read_cell(cell) for cell in distinct]
    return Cells(
        codes=codes,
        numbers=np.array([cell.number for cell in read], dtype=float),
        words=tuple(cell.word for cell in read),
        reasons=tuple(cell.reason for cell in read),
        written=tuple("" if cell is None else str(cell) for cell in distinct),
        counts=np.bincount(codes, minlength=len(distinct)),
    )


def read_cell(raw: Any) -> Cell:
    """Read one cell."""
    text = "" if raw is None else str(raw).strip()
    number = _plain_number(text)
    if number is None:
        number = number_of(text)
    if number is not None:
        return Cell(number, f"{number:g}", None)
    if _FORMULA.fullmatch(text):
        return Cell(np.nan, None, FORMULA)
    inside = text.lstrip(_BEFORE)
    word = fold((inside.rstrip(_BEHIND) if inside != text else text).rstrip(".:! "))
    for reason, is_it in (
        (EMPTY, word in _NOTHING or fold(text) in _NOTHING),
        (NOT_APPLICABLE, fold(text) in _NOT_APPLICABLE),
        (DATE, _DATE.fullmatch(text.lower())),
        (REFUSAL, _REFUSES.fullmatch(word)),
        (ERROR, _ERRORS.fullmatch(fold(text))),
    ):
        if is_it:
            return Cell(np.nan, None, reason)
    inner = number_of(word)
    return Cell(np.nan, word, None) if inner is None else Cell(inner, f"{inner:g}", None)


def _plain_number(text: str) -> float | None:
    """The number that Python reads in a text: the quick way for most cells."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if "_" not in text and np.isfinite(number) else None


def number_of(text: str) -> float | None:
    """The number that a text is, with a decimal point or comma, or "4/5" (4); None if it is
    none."""
    if out_of := _OUT_OF.fullmatch(text):
        text = out_of[1]
    text = text.rstrip("% ").replace("\N{MINUS SIGN}", "-")
    if _NUMBER.fullmatch(text):
        number = float(text.replace(",", "."))
    elif _GROUPED.fullmatch(text):
        whole, _, decimals = text.rpartition("," if text.rfind(",") > text.rfind(".") else ".")
        number = float(whole.replace(".", "").replace(",", "") + "." + decimals)
    else:
        return None
    return number if np.isfinite(number) else None


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """A text without case, accents and doubled spaces; `_` and `-` between words are spaces."""
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
    numbers = pd.to_numeric(held.where(filled, None), errors="coerce").to_numpy(dtype=float)
    if filled.any() and not np.isnan(numbers[filled]).any():
        return numbers
    return held.astype(str).astype(object).where(filled, None).to_numpy(dtype=object)


def unread(
    cells: pd.DataFrame, said: Iterable[str], used: Collection[str], told: Mapping[str, str]
) -> list[Finding]:
    """Name the columns that were not used and hold nothing but values of the columns `said`:
    verdicts or labels that were not recognised, perhaps. `told`: the options that say so."""
    known = {value for name in said for value in cells[name].dropna().unique()}
    held = {name: set(cells[name].dropna()) for name in map(str, cells.columns) if name not in used}
    alike = [f"`{name}`" for name, values in held.items() if values and values <= known]
    if not alike:
        return []
    values = {"columns": alike[:8], "n": len(alike), **told}
    return [Finding("table.read_neither", values, subject=Subject.NOT_READ)]
