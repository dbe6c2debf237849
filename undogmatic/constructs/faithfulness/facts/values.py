"""Reads the dates, votes and numbers of a sentence as values that can be told to agree or not."""

from __future__ import annotations

import functools
import re
from typing import Literal, NamedTuple

from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    compiled,
    lexicon,
    pattern,
    plain,
    stem,
    word_set,
    words,
)

MOST_VOTES = 30
Kind = Literal["date", "vote", "number"]


class Value(NamedTuple):
    """A value in a sentence.

    Attributes:
        kind: date (year, month, day; None where not said), vote (for, against; without numbers
            (1, 0) unanimous, (1, 1) divided) or number (the number).
        parts: The value.
        units: Of a number, the stems of what is counted; of anything else empty.
        said: As it stands in the sentence.
        start: Where.
    """

    kind: Kind
    parts: tuple[float | None, ...]
    units: frozenset[str]
    said: str
    start: int


def agree(one: Value, other: Value) -> bool:
    """Whether both may be true of the same thing: a year agrees with any day in it, 9-0 with "unanimous"."""
    if one.kind == "vote":
        return _votes_agree(one.parts, other.parts)
    return all(a is None or b is None or a == b for a, b in zip(one.parts, other.parts, strict=True))


def comparable(one: Value, other: Value) -> bool:
    """Whether both are of one kind, and numbers of the same things."""
    return one.kind == other.kind and (one.kind != "number" or bool(one.units & other.units))


def counted(value: Value) -> bool:
    """Whether it is a vote in numbers."""
    return value.kind == "vote" and value.parts not in _NUMBERLESS


def _votes_agree(one: tuple[float | None, ...], other: tuple[float | None, ...]) -> bool:
    if {one, other} <= _NUMBERLESS:
        return one == other
    if one in _NUMBERLESS:
        one, other = other, one
    if other in _NUMBERLESS:
        return (one[1] == 0) == (other == UNANIMOUS)
    return sorted(one, key=str) == sorted(other, key=str)


UNANIMOUS, DIVIDED = (1, 0), (1, 1)
_NUMBERLESS = {UNANIMOUS, DIVIDED}


@functools.lru_cache(maxsize=20_000)
def values(sentence: str, language: Language) -> tuple[Value, ...]:
    """The dates, votes and numbers of a sentence, citations left out."""
    text = plain(sentence)
    for source in lexicon()["citations"]:
        text = _blank(compiled(source), text)
    text = _blank(_YEARS, text)
    found: list[Value] = []
    for finder in (_dates, _votes, _numbers):
        own = finder(text, language)
        found += own
        for value in own:
            end = value.start + len(value.said)
            text = text[: value.start] + " " * len(value.said) + text[end:]
    return tuple(sorted(found, key=lambda value: value.start))


_YEARS = re.compile(r"(?<!\w)(?:1[6-9]|20)\d\d ?(?:-|/|to|through|until|a|ate) ?(?:(?:1[6-9]|20)\d\d|\d\d)(?![\w/-])")
"""From a year to another: no date, and no number."""


def _blank(found: re.Pattern[str], text: str) -> str:
    return found.sub(lambda match: " " * len(match[0]), text)


@functools.cache
def months() -> dict[str, int]:
    """The names of months in both languages, by number."""
    return {name: number for number, names in enumerate(lexicon()["months"], 1) for name in names}


@functools.cache
def _date_patterns() -> tuple[re.Pattern[str], ...]:
    month = "|".join(sorted(months(), key=len, reverse=True))
    day, year = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th|º|o)?", r"(?P<y>1[6-9]\d\d|20\d\d)"
    return tuple(
        compiled(source)
        for source in (
            r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
            r"(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y>\d{4})",
            rf"(?P<m>{month})\.? {day}(?:,? (?:of )?{year})?",
            rf"{day} (?:de |of )?(?P<m>{month})\.?(?:,? (?:de |of )?{year})?",
            rf"(?P<m>{month})\.?,? (?:de |of )?{year}",
            rf"(?<![\d.,$/-]){year}(?![\d,/%-]|\.\d)",
        )
    )


def _dates(text: str, language: Language) -> list[Value]:
    found = []
    for each in _date_patterns():
        for match in each.finditer(text):
            given = match.groupdict()
            if "a" in given:
                month, day = (given["b"], given["a"]) if language == "pt" else (given["a"], given["b"])
                month, day = (day, month) if int(month) > 12 else (month, day)
                number: int | None = int(month)
            else:
                name, day = given.get("m"), given.get("d")
                number = None if name is None else int(name) if name.isdigit() else months()[name]
            year = None if given.get("y") is None else int(given["y"])
            if day is not None and not 1 <= int(day) <= 31:
                continue
            parts = (year, number, None if day is None else int(day))
            found.append(Value("date", parts, frozenset(), match[0], match.start()))
            text = text[: match.start()] + " " * len(match[0]) + text[match.end() :]
    return found


@functools.cache
def _vote_patterns() -> tuple[re.Pattern[str], ...]:
    small = "|".join(sorted((w for w in (*_small("en"), *_small("pt"))), key=len, reverse=True))
    number = rf"(?:\d{{1,2}}|{small})"
    between = r"(?: a favor| favoraveis| in favor)?(?: to|,? against|,? e| a| contra| x|,? and)+"
    return (
        compiled(rf"(?P<a>{number}) vot(?:es|e|os|o){between} (?P<b>{number})"),
        compiled(r"(?<![\w-])(?P<a>\d{1,2}) ?(?:-|x|/|:) ?(?P<b>\d{1,2})(?![\w/-])"),
        compiled(rf"(?P<a>{number})(?: to |-to-| a |-)(?P<b>{number})"),
    )


def _small(language: str) -> dict[str, int]:
    return {name: value for name, value in lexicon()["numbers"][language].items() if value <= 15}


def _votes(text: str, language: Language) -> list[Value]:
    named = _small("en") | _small("pt")
    found = []
    if pattern("vote_context").search(text) or re.search(lexicon()["vote_context"], text):
        for number, each in enumerate(_vote_patterns()):
            for match in each.finditer(text):
                a, b = (int(v) if v.isdigit() else named[v] for v in (match["a"], match["b"]))
                likely = number == 0 or (a >= b and a >= 2) or (b > a and b >= 2 and number == 1)
                if 2 <= a + b <= MOST_VOTES and likely:
                    found.append(Value("vote", (max(a, b), min(a, b)), frozenset(), match[0], match.start()))
                    text = text[: match.start()] + "#" * len(match[0]) + text[match.end() :]
    for name, parts in (("unanimous", UNANIMOUS), ("divided", DIVIDED)):
        for match in pattern(name).finditer(text):
            before = words(text[: match.start()])[-3:]
            if not any(word in word_set("negators", language) for word in before):
                found.append(Value("vote", parts, frozenset(), match[0], match.start()))
            text = text[: match.start()] + "#" * len(match[0]) + text[match.end() :]
    return found


_BETWEEN = r"\s+e\s+|\s+and\s+|\s*-\s*|\s+"
_CUT = re.compile(
    r"(?:ent[ao]s?|int[ae]|\w*esim[ao]|decim[ao]|cem|cento|mil|milh\w+|\w+ty|hundred|thousand|million)"
    r"(?:\s+(?:e|and)\s+|\s*-\s*|,?\s+)$"
)
"""What stands before a number that is only the end of a longer one, of which another part was not known."""


@functools.cache
def _number_pattern() -> re.Pattern[str]:
    named = [*lexicon()["numbers"]["en"], *lexicon()["numbers"]["pt"]]
    ones = "|".join(sorted(named, key=len, reverse=True))
    times = "|".join(sorted(lexicon()["multiples"], key=len, reverse=True))
    spelled = rf"(?:{ones}|mil)(?:(?:{_BETWEEN})(?:{ones}|{times}))*"
    digits = r"\d+(?:[.,]\d+)*"
    money = r"(?P<money>r\$|us\$|\$|€|£)? ?"
    written = rf"(?P<digits>{digits})(?P<times>(?: (?:{times}))*)(?P<ordinal>st|nd|rd|th|[ºª])?"
    return re.compile(
        rf"(?<![\w.,#]){money}(?:{written}|(?P<spelled>{spelled})(?!\w))"
        r"(?:-| ?\([^)]{1,40}\))? ?(?P<unit>%|(?:[a-z]+[ -]?){0,3})"
    )


_COINS = {"dollar": "$", "dollars": "$", "reais": "r$", "real": "r$", "euros": "€", "pounds": "£"}


def _numbers(text: str, language: Language) -> list[Value]:
    found = [*_ordinals(text, language)]
    for match in _number_pattern().finditer(text):
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
            found.append(Value("number", (value,), frozenset(units), said.strip(" -"), start))
    return found


def _units(raw: str, after: list[str], language: Language) -> set[str]:
    if (
        raw == "%"
        or (after and after[0] in ("percent", "percentage"))
        or after[:2] in (["por", "cento"], ["per", "cent"])
    ):
        return {"%"}
    coin = next((_COINS[word] for word in after[:3] if word in _COINS), None)
    if coin is not None:
        return {coin}
    units = set()
    for word in after[:2]:
        if word in word_set("stop", language) or word in word_set("function", language):
            break
        units.add(stem(word, language))
    return units


def _ordinals(text: str, language: Language) -> list[Value]:
    found = []
    ending = "" if language == "en" else "[oa]s?"
    several = compiled(rf"(?:{'|'.join(lexicon()['ordinals'][language])}){ending}")
    for number, name in enumerate(lexicon()["ordinals"][language], 1):
        for match in re.finditer(rf"\b{name}{ending} (?P<unit>[a-z]+)", text):
            unit = match["unit"]
            if several.fullmatch(unit) or _CUT.search(text[: match.start()]):
                continue
            if unit not in word_set("stop", language) and unit not in word_set("function", language):
                units = frozenset({f"the n-th {stem(unit, language)}"})
                found.append(Value("number", (number,), units, match[0], match.start()))
    return found


def digits(given: str) -> float:
    """What digits come to, 1,500.00 and 1.500,00 alike.

    The last of two kinds of marks is the decimal one, a single one before three digits is none.
    """
    marks = [mark for mark in given if mark in ".,"]
    if not marks:
        return float(given)
    last = marks[-1]
    behind = given.rpartition(last)[2]
    if len(set(marks)) == 1 and (len(marks) > 1 or len(behind) == 3):
        return float(re.sub("[.,]", "", given))
    whole = given.rpartition(last)[0]
    return float(f"{re.sub('[.,]', '', whole)}.{behind}")


def _spelled(given: str, language: Language) -> float | None:
    """two hundred and five, duzentos e cinco: what the words come to, or None where they are no number in this
    language."""
    named, times = lexicon()["numbers"][language], lexicon()["multiples"]
    total, current = 0.0, 0.0
    for word in re.split(_BETWEEN, given):
        if word in named:
            current += named[word]
        elif word in times:
            factor = times[word]
            if factor == 100:
                current = max(current, 1) * factor
            else:
                total += max(current, 1) * factor
                current = 0
        else:
            return None
    return total + current
