"""Finds what a summary says that stands in none of its sources: citations, names, dates, numbers, events.

A rule only says that it did not find something. It is lenient wherever it can be: a name is known if each of its words
stands anywhere in a source, a number if it stands there of whatever, and small numbers are never asked for, because a
reader counts. What it does not know is what is said with the sources' own words: who did another's deed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.outcomes import NAME
from undogmatic.constructs.faithfulness.facts.values import Value, agree, digits, months, values
from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    blanked,
    compiled,
    content,
    language_of,
    lexicon,
    plain,
    stem,
    word_set,
    words,
)

SMALL = 20
"""Up to here a number without a currency or per cent may be counted by whoever summarises."""
ROUNDED = 0.1
"""How far a number may lie from that of the source behind "about"."""
BEGINNING = 5
"""Letters that two forms of a name share ("Brazil", "Brazilian")."""
FEWEST, KNOWN = 5, 2
"""An event needs so many words that carry content, and so many of them from the sources: else it may be filler."""
STRANGE = 0.5
"""Share of an event's words that no source has."""
REACH = 20
"""Characters before a word that say whether any word would have a capital there."""
_PARTY = rf"(?<!\w){NAME}(?:(?: (?:&|of|and|the|for|d[aeo]s?))? (?:{NAME}|[A-Z]\.)){{0,8}}"
_CASE = re.compile(
    rf"(?P<one>{_PARTY}) (?:v|vs|versus)\.? (?P<other>{_PARTY})|(?:In re|Ex parte|Matter of) (?P<alone>{_PARTY})"
)
_REPORTER = re.compile(
    r"(?<![\w.])(?P<volume>\d{1,4}) (?P<series>[A-Z][\w.]{0,20}\.[\w. ]{0,20}?) ?§* ?(?P<page>\d+)(?!\w)"
)
_YEAR = re.compile(r"(?:,? \([^()\d]{0,25}\d{4}\))?")
_REGISTER = re.compile(
    r"\d{7}-\d{2}\.\d{4}\.\d\.\d{2}\.\d{4}|(?<!\w)[A-Z]{1,3}-\d{2,4}-\d+|(?<!\w)\d{2}-[A-Z]{1,3}-\d+"
)
_CUT = re.compile(r"(?<![\w.])\d{1,4} [A-Z][\w.]{0,10}\.$")
_DEFINED = re.compile(r"(?:^|\s)(?:the|an?|this|that|its|os?|as?|d[oa]s?|n[oa]s?|um|uma|ao)\s$", re.IGNORECASE)
"""Before a single word with a capital: a term ("the Employer") as likely as a name."""
_NUMBER = r"(?:\d[\d./-]*|[ivxlc]+(?!\w))"


class Invention(NamedTuple):
    """Something that no source has."""

    kind: str  # citation, name, number, date or event
    place: int  # the sentence
    said: str  # as it stands there


class Citation(NamedTuple):
    """A statute, case or docket in a sentence: what sort it is, what identifies it, and where it stands."""

    label: str
    key: str
    said: str
    start: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.start + len(self.said)


class Sources(NamedTuple):
    """What the sources have."""

    vocabulary: frozenset[str]
    stems: frozenset[str]  # of the words that carry content
    citations: frozenset[tuple[str, str]]  # label and key of each
    numbers: frozenset[float]  # of whatever
    dates: tuple[Value, ...]
    initials: str  # of phrases with capitals, so that an abbreviation is known by what it stands for
    language: Language

    def know(self, word: str) -> bool:
        """Whether a name, a form of it, or what an abbreviation stands for is in a source."""
        if word.isupper() and plain(word) in self.initials:
            return True
        pieces = [piece for piece in words(plain(word).removesuffix("'s")) if len(piece) > 2]
        return all(piece in self.vocabulary or self._begins(piece) for piece in pieces)

    def _begins(self, piece: str) -> bool:
        return len(piece) > BEGINNING and any(
            other.startswith(piece[:-1]) or (len(other) > BEGINNING and piece.startswith(other))
            for other in self.vocabulary
        )


@functools.lru_cache(maxsize=16)
def sources(sentences: tuple[str, ...]) -> Sources:
    """The sources of a summary, by their sentences."""
    language = language_of(" ".join(sentences))
    known = [value for each in sentences for value in values(each, language)]
    spelled = {value.parts[0] for value in known if value.kind != "date"}
    written = {digits(number) for each in sentences for number in re.findall(r"\d+(?:[.,]\d+)*", each)}
    votes = {part for value in known if value.kind == "vote" for part in value.parts}
    capitals = ["".join(word[0] for word in re.findall(NAME, each)) for each in sentences]
    return Sources(
        frozenset(word for each in sentences for word in words(plain(each))),
        frozenset(word for each in sentences for word in content(each, language)),
        frozenset((one.label, one.key) for each in sentences for one in citations(each)),
        frozenset(number for number in spelled | written | votes if number is not None),
        tuple(value for value in known if value.kind == "date"),
        plain(" ".join(capitals)),
        language,
    )


def inventions(text: Sequence[str], given: Sequence[str], events: bool) -> list[Invention]:
    """What stands in the text and in no source, in the text's order.

    Args:
        text: Its sentences.
        given: The sentences of all sources.
        events: Whether to look for events without a name or number too. It takes sources that say everything.
    """
    known, language = sources(tuple(each for _, each in _rejoined(given))), language_of(" ".join(text))
    strange: list[Invention] = []
    for place, sentence in _rejoined(text):
        cited = citations(sentence)
        strange += [Invention("citation", place, one.said) for one in cited if not _cited(one, known)]
        rest = sentence  # without its citations and the years behind them
        for one in cited:
            year = _YEAR.match(rest[one.end :])
            rest = blanked(rest, one.start, one.end + (year.end() if year else 0))
        read = values(rest, language)
        for value in read:
            new_date = value.kind == "date" and not any(agree(value, other) for other in known.dates)
            if new_date or (value.kind == "number" and not _counted(value, rest, known)):
                # A price takes along the one letter of the next word.
                said = re.sub(r" \w$", "", rest[value.start : value.start + len(value.said)])
                strange.append(Invention(value.kind, place, said))
        names = list(_names(rest, language))
        strange += [Invention("name", place, name) for name, asked in names if not all(map(known.know, asked))]
        told = not (cited or read or names) and language == known.language
        if events and told and (verb := _event(sentence, known, language)):
            strange.append(Invention("event", place, verb))
    return strange


def _rejoined(sentences: Sequence[str]) -> list[tuple[int, str]]:
    """The sentences with their places; where one was cut within a reporter ("97 Jeff. | App. 211"), both as one."""
    whole: list[tuple[int, str]] = []
    for place, sentence in enumerate(sentences):
        if whole and _CUT.search(whole[-1][1]) and re.match(r"[A-Z][\w.]*\.? ?\d|\d|§", sentence):
            whole[-1] = (whole[-1][0], f"{whole[-1][1]} {sentence}")
        else:
            whole.append((place, sentence))
    return whole


def citations(sentence: str) -> list[Citation]:
    """The citations in a sentence; of two that overlap the first found."""
    apart: list[Citation] = []
    for one in _every_citation(sentence):
        others = (each for each in apart if (each.start, each.said) != (one.start, one.said))
        if not any(one.start < each.end and each.start < one.end for each in others):
            apart.append(one)
    return sorted(apart, key=lambda one: one.start)


def _every_citation(sentence: str) -> Iterator[Citation]:
    for match in _CASE.finditer(sentence):
        parties = [match[name] for name in ("one", "other", "alone") if match[name]]
        yield Citation("case", " v. ".join(plain(each) for each in parties), match[0], match.start())
    for match in _REPORTER.finditer(sentence):
        if plain(match["series"]).strip(". ") not in months():
            yield Citation("reporter", f"{match['volume']} {match['page']}", match[0], match.start())
    for match in _REGISTER.finditer(sentence):
        yield Citation("docket", plain(match[0]), match[0], match.start())
    for label, form in _labels():
        for match in form.finditer(plain(sentence)):
            said = sentence[match.start() : match.end()].rstrip(" .,/-")
            for number in re.findall(_NUMBER, match["numbers"]):
                if number[0].isdigit() or label == "section":
                    key = number.replace(".", "").split("/")[0].rstrip("-")
                    yield Citation(label, key, said, match.start())


@functools.cache
def _labels() -> tuple[tuple[str, re.Pattern[str]], ...]:
    ordinal = r"[ºª°]?(?:-[a-z](?!\w))?"
    more = rf"{_NUMBER}{ordinal}(?:(?:, | e | and | & |, e |, and ){_NUMBER}{ordinal}(?![\w%]))*"
    return tuple(
        (name, re.compile(rf"(?<![\w.])(?:{source})(?: (?:nos?\.|n\.|n[ºo°]s?\.?))? ?(?P<numbers>{more})"))
        for name, source in lexicon("support")["labels"].items()
    )


def _cited(one: Citation, known: Sources) -> bool:
    if one.label == "case":
        heads = [[word for word in words(party) if len(word) > 2] for party in one.key.split(" v. ")]
        return all(not party or party[0] in known.vocabulary or party[-1] in known.vocabulary for party in heads)
    if one.label == "docket":
        return any(one.key == key for _, key in known.citations)
    return (one.label, one.key) in known.citations


def _counted(value: Value, sentence: str, known: Sources) -> bool:
    number = value.parts[0] or 0
    priced = bool(value.units & {"%", "$", "r$", "us$", "€", "£"})
    if any(unit.startswith("the n-th") for unit in value.units) or (number <= SMALL and not priced):
        return True
    near = room(value, sentence)
    return any(abs(number - other) <= near for other in known.numbers)


def room(value: Value, sentence: str) -> float:
    """How far a number of a sentence may lie from the one that it stands for: a little behind "about", else 0."""
    before = plain(sentence)[max(0, value.start - 30) : value.start]
    about = lexicon("support")["about"]
    rounded = re.search(rf"(?<!\w){about}$", f"{before} ") or re.search(f"{about}$", before)
    return ROUNDED * (value.parts[0] or 0) if rounded else 1e-9


def _names(sentence: str, language: Language) -> Iterator[tuple[str, list[str]]]:
    """The names in a sentence, each with those of its words that a source must have. A heading has none."""
    long = [word for word in re.findall(r"[^\W\d_]+", sentence) if len(word) > 3]
    if sum(word[0].isupper() for word in long) > 0.7 * len(long) and not sentence.rstrip().endswith("."):
        return
    for match in re.finditer(rf"{NAME}(?:(?: d[aeo]s?)? {NAME})*", sentence):
        parts = [(part[0], match.start() + part.start()) for part in re.finditer(NAME, match[0])]
        named = []
        for word, start in parts:
            own, before = plain(word).removesuffix("'s"), sentence[max(0, start - REACH) : start]
            first = start <= REACH and re.search(r"[^\W\d_]", before) is None
            begins = first or re.search(r"[.:;!?“\"(«‘]\s?[\W\d_]*$", before)  # where any word has a capital
            if not begins and len(own) > 2 and own not in _nobody(language):
                named.append(word)
        label = sentence[match.end() : match.end() + 1] == ":"
        defined = len(parts) == 1 and _DEFINED.search(sentence[max(0, match.start() - REACH) : match.start()])
        if named:
            yield match[0], [] if label or defined else named


@functools.cache
def _nobody(language: Language) -> frozenset[str]:
    """Words that may have a capital and name nobody."""
    return word_set("stop", language).union(months(), *(x.split() for x in lexicon("support")["generic"].values()))


def _event(sentence: str, known: Sources, language: Language) -> str:
    """The verb of an event that no source tells, or "". The sentence has something of the case; half of it is new."""
    own = content(sentence, language)
    strange = [word for word in own if word not in known.stems]
    if len(own) < FEWEST or len(own) - len(strange) < KNOWN or len(strange) < STRANGE * len(own):
        return ""
    past = compiled(lexicon("support")["past"][language])
    verbs = (word for word in words(plain(sentence)) if past.fullmatch(word))
    return next((verb for verb in verbs if stem(verb, language) in strange and verb not in lexicon()["stop"]), "")
