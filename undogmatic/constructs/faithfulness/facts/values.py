"""Reads the dates, votes and numbers of a sentence as values that can be told to agree or not."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Literal, NamedTuple

from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    blanked,
    compiled,
    lexicon,
    pattern,
    plain,
    stem,
    word_set,
    words,
)

MOST_VOTES = 30
UNANIMOUS, DIVIDED = (1, 0), (1, 1)


class Value(NamedTuple):
    """A value in a sentence. Its parts are year, month, day (None where not said) of a date; votes for and against,
    without numbers (1, 0) for unanimous and (1, 1) for divided; or one number."""

    kind: Literal["date", "vote", "number"]
    parts: tuple[float | None, ...]
    units: frozenset[str]  # of a number, the stems of what is counted; of anything else empty
    said: str  # as it stands in the sentence
    start: int  # where it stands


def agree(one: Value, other: Value) -> bool:
    """Whether both may be true of the same thing: a year agrees with any day in it, 9-0 with "unanimous"."""
    if not comparable(one, other):
        return False
    if one.kind != "vote":
        return all(a is None or b is None or a == b for a, b in zip(one.parts, other.parts, strict=True))
    if counted(one) == counted(other):
        return sorted(one.parts, key=str) == sorted(other.parts, key=str)
    numbers, words_alone = (one, other) if counted(one) else (other, one)
    return (numbers.parts[1] == 0) == (words_alone.parts == UNANIMOUS)


def comparable(one: Value, other: Value) -> bool:
    """Whether both are of one kind, and numbers of the same things."""
    return one.kind == other.kind and (one.kind != "number" or bool(one.units & other.units))


def counted(value: Value) -> bool:
    """Whether it is a vote in numbers."""
    return value.kind == "vote" and value.parts not in (UNANIMOUS, DIVIDED)


@functools.lru_cache(maxsize=20_000)
def values(sentence: str, language: Language) -> tuple[Value, ...]:
    """The dates, votes and numbers of a sentence, citations left out."""
    text = plain(sentence)
    for source in (*map(compiled, lexicon()["citations"]), _YEARS):
        text = source.sub(lambda match: " " * len(match[0]), text)
    read: list[Value] = []
    for finder in (_dates, _votes, _numbers):
        for value in finder(text, language):
            read.append(value)
            text = blanked(text, value.start, value.start + len(value.said))
    return tuple(sorted(read, key=lambda value: value.start))


_YEARS = re.compile(r"(?<!\w)(?:1[6-9]|20)\d\d ?(?:-|/|to|through|until|a|ate) ?(?:(?:1[6-9]|20)\d\d|\d\d)(?![\w/-])")
"""From a year to another: no date, and no number."""
_BETWEEN = r"\s+e\s+|\s+and\s+|\s*-\s*|\s+"
_CUT = re.compile(
    r"(?:ent[ao]s?|int[ae]|\w*esim[ao]|decim[ao]|cem|cento|mil|milh\w+|\w+ty|hundred|thousand|million)"
    r"(?:\s+(?:e|and)\s+|\s*-\s*|,?\s+)$"
)
"""What stands before a number that is only the end of a longer one, of which another part was not known."""
_COINS = {"dollar": "$", "dollars": "$", "reais": "r$", "real": "r$", "euros": "€", "pounds": "£"}


@functools.cache
def months() -> dict[str, int]:
    """The names of months in both languages, by number."""
    return {name: number for number, names in enumerate(lexicon()["months"], 1) for name in names}


@functools.cache
def _small() -> dict[str, int]:
    """The numbers in words, in both languages, that a court may have votes."""
    named = lexicon()["numbers"]["en"] | lexicon()["numbers"]["pt"]
    return {name: value for name, value in named.items() if value <= 15}


@functools.cache
def _patterns() -> dict[str, tuple[re.Pattern[str], ...]]:
    """The forms of dates, votes and numbers, in the order in which they are looked for."""

    def any_of(names: Iterable[str]) -> str:
        return "|".join(sorted(names, key=len, reverse=True))

    month, votes = any_of(months()), rf"(?:\d{{1,2}}|{any_of(_small())})"
    day, year = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th|º|o)?", r"(?P<y>1[6-9]\d\d|20\d\d)"
    against = r"(?: a favor| favoraveis| in favor)?(?: to|,? against|,? e| a| contra| x|,? and)+"
    ones = any_of([*lexicon()["numbers"]["en"], *lexicon()["numbers"]["pt"]])
    times = any_of(lexicon()["multiples"])
    spelled = rf"(?:{ones}|mil)(?:(?:{_BETWEEN})(?:{ones}|{times}))*"
    written = rf"(?P<digits>\d+(?:[.,]\d+)*)(?P<times>(?: (?:{times}))*)(?P<ordinal>st|nd|rd|th|[ºª])?"
    dates = (
        r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
        r"(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y>\d{4})",
        rf"(?P<m>{month})\.? {day}(?:,? (?:of )?{year})?",
        rf"{day} (?:de |of )?(?P<m>{month})\.?(?:,? (?:de |of )?{year})?",
        rf"(?P<m>{month})\.?,? (?:de |of )?{year}",
        rf"(?<![\d.,$/-]){year}(?![\d,/%-]|\.\d)",
    )
    counts = (
        rf"(?P<a>{votes}) vot(?:es|e|os|o){against} (?P<b>{votes})",
        r"(?<![\w-])(?P<a>\d{1,2}) ?(?:-|x|/|:) ?(?P<b>\d{1,2})(?![\w/-])",
        rf"(?P<a>{votes})(?: to |-to-| a |-)(?P<b>{votes})",
    )
    number = (
        rf"(?<![\w.,#])(?P<money>r\$|us\$|\$|€|£)? ?(?:{written}|(?P<spelled>{spelled})(?!\w))"
        r"(?:-| ?\([^)]{1,40}\))? ?(?P<unit>%|(?:[a-z]+[ -]?){0,3})"
    )
    return {
        "date": tuple(map(compiled, dates)),
        "vote": tuple(map(compiled, counts)),
        "number": (re.compile(number),),
    }


def _dates(text: str, language: Language) -> Iterator[Value]:
    for form in _patterns()["date"]:
        for match in form.finditer(text):
            parts = match.groupdict()
            month, day = parts.get("m"), parts.get("d")
            if "a" in parts:
                month, day = (parts["b"], parts["a"]) if language == "pt" else (parts["a"], parts["b"])
                month, day = (day, month) if int(month) > 12 else (month, day)
            if day is None or 1 <= int(day) <= 31:
                written = (parts.get("y"), month, day)
                date = tuple(None if part is None else months().get(part) or int(part) for part in written)
                yield Value("date", date, frozenset(), match[0], match.start())
                text = blanked(text, *match.span())


def _votes(text: str, language: Language) -> Iterator[Value]:
    if pattern("vote_context").search(text) or re.search(lexicon()["vote_context"], text):
        for number, form in enumerate(_patterns()["vote"]):
            for match in form.finditer(text):
                a, b = (int(v) if v.isdigit() else _small()[v] for v in (match["a"], match["b"]))
                likely = number == 0 or (a >= b and a >= 2) or (b > a and b >= 2 and number == 1)
                if 2 <= a + b <= MOST_VOTES and likely:
                    yield Value("vote", (max(a, b), min(a, b)), frozenset(), match[0], match.start())
                    text = blanked(text, *match.span(), "#")
    for name, parts in (("unanimous", UNANIMOUS), ("divided", DIVIDED)):
        for match in pattern(name).finditer(text):
            if word_set("negators", language).isdisjoint(words(text[: match.start()])[-3:]):
                yield Value("vote", parts, frozenset(), match[0], match.start())
            text = blanked(text, *match.span(), "#")


def _numbers(text: str, language: Language) -> Iterator[Value]:
    yield from _ordinals(text, language)
    for match in _patterns()["number"][0].finditer(text):
        if match["spelled"] is not None:
            value = _spelled(match["spelled"], language)
            if value is None or value <= 1 or _CUT.search(text[: match.start("spelled")]):
                continue
        else:
            value = digits(match["digits"])
            for name in match["times"].split():
                value *= lexicon()["multiples"][name]
        after = words(match["unit"])
        units = {match["money"]} if match["money"] else _units(match["unit"].strip(), after, language)
        if match["ordinal"]:
            units = {f"the n-th {unit}" for unit in units}
        if units:
            kept = 0 if match["money"] else 1 if len(units) < 2 else 2
            said = match[0][: match.start("unit") - match.start()] + (" ".join(after[:kept]) or match["unit"][:1])
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            yield Value("number", (value,), frozenset(units), said.strip(" -"), start)


def _units(raw: str, after: list[str], language: Language) -> set[str]:
    if raw == "%" or after[:1] in (["percent"], ["percentage"]) or after[:2] in (["por", "cento"], ["per", "cent"]):
        return {"%"}
    coin = next((_COINS[word] for word in after[:3] if word in _COINS), None)
    if coin is not None:
        return {coin}
    idle = word_set("stop function", language)
    return {stem(word, language) for word in takewhile(lambda word: word not in idle, after[:2])}


def _ordinals(text: str, language: Language) -> Iterator[Value]:
    ending = "" if language == "en" else "[oa]s?"
    several = compiled(rf"(?:{'|'.join(lexicon()['ordinals'][language])}){ending}")
    for number, name in enumerate(lexicon()["ordinals"][language], 1):
        for match in re.finditer(rf"\b{name}{ending} (?P<unit>[a-z]+)", text):
            unit = match["unit"]
            part = several.fullmatch(unit) or _CUT.search(text[: match.start()])
            if not part and unit not in word_set("stop function", language):
                yield Value(
                    "number", (number,), frozenset({f"the n-th {stem(unit, language)}"}), match[0], match.start()
                )


def digits(written: str) -> float:
    """What digits come to, 1,500.00 and 1.500,00 alike.

    The last of two kinds of marks is the decimal one, a single one before three digits is none.
    """
    whole, mark, behind = written.rpartition(max(".,", key=written.rfind))
    kinds = {*written} & {*".,"}
    grouped = len(kinds) == 1 and (mark in whole or len(behind) == 3)
    return float(re.sub("[.,]", "", whole) + ("." if kinds and not grouped else "") + behind)


def _spelled(written: str, language: Language) -> float | None:
    """two hundred and five, duzentos e cinco: what the words come to, or None where they are no number in this
    language."""
    named, times = lexicon()["numbers"][language], lexicon()["multiples"]
    total = current = 0.0
    for word in re.split(_BETWEEN, written):
        if word in named:
            current += named[word]
        elif word not in times:
            return None
        elif times[word] == 100:
            current = max(current, 1) * 100
        else:
            total, current = total + max(current, 1) * times[word], 0
    return total + current
