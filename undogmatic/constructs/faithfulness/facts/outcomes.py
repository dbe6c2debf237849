"""Reads from sentences how things ended and in which instance, what is denied, and who is or did what."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    compiled,
    content,
    lexicon,
    pattern,
    plain,
    stem,
    word_set,
    words,
)

REACH = 60
"""Characters behind a participle in which "by the ..." names who did it, and in which an object stands."""
NEAR = 4
"""Words before a word in which a negator turns it round."""


class Outcome(NamedTuple):
    """One thing that is said to have ended in one of two ways.

    Attributes:
        about: What: "judgment", "guilt", "motion", "reasonable", ...
        stands: Which way; a negation is taken into account.
        level: The instance that decided: trial, appeal, top, or "" where it is not named.
        said: As it stands in the sentence.
        quality: Whether it is a quality (lawful, void) and no decision.
    """

    about: str
    stands: bool
    level: str
    said: str
    quality: bool = False


@functools.lru_cache(maxsize=20_000)
def outcomes(sentence: str, language: Language) -> tuple[Outcome, ...]:
    """The outcomes in a sentence, in no order."""
    text = plain(sentence)
    found: list[Outcome] = []
    for about, ways in lexicon()["outcomes"].items():
        for stands, match in _matches(text, ways):
            if about == "judgment" and _elsewhere(text, match):
                continue
            turned = stands != negated(text, match.start(), language)
            found.append(Outcome(about, turned, level_of(text, match), match[0]))
    found += _asked(text, language)
    found += _qualities(text, language)
    return tuple(dict.fromkeys(found))


def _matches(text: str, ways: dict[str, str]) -> list[tuple[bool, re.Match[str]]]:
    """What stands and what falls; of two that overlap the first ("negou provimento", not "provimento"). What is said
    to hold in part only is neither."""
    found = [(way == "stands", match) for way in ("stands", "falls") for match in compiled(ways[way]).finditer(text)]
    kept: list[tuple[bool, re.Match[str]]] = []
    for stands, match in sorted(found, key=lambda each: (each[1].start(), -each[1].end())):
        if not any(match.start() < other.end() and other.start() < match.end() for _, other in kept):
            kept.append((stands, match))
    return [each for each in kept if not _PARTLY.search(text[max(0, each[1].start() - 15) : each[1].end() + 15])]


_PARTLY = re.compile(r"in part\b|partial|partly|parcial|em parte")


def _asked(text: str, language: Language) -> list[Outcome]:
    ways, found = lexicon()["asked"], []
    for stands, match in _matches(text, ways):
        around = (text[match.end() : match.end() + REACH], text[max(0, match.start() - REACH) : match.start()])
        things = [(n, name) for n, part in enumerate(around) for name in ways["objects"] if _has(part, name)]
        if not things or " appeal" in around[0][:20]:
            continue
        side = min(n for n, _ in things)
        turned = stands != negated(text, match.start(), language)
        level = level_of(text, match)
        found += [Outcome(name, turned, level, f"{match[0]} ({name})") for n, name in things if n == side]
    return found


def _has(text: str, name: str) -> bool:
    return re.search(rf"\b{name}s?\b", re.split(r"[;:.]", text)[0]) is not None


def _qualities(text: str, language: Language) -> list[Outcome]:
    found, said = [], compiled(lexicon()["said"])
    for good, bad in lexicon()["qualities"]:
        for stands, source in ((True, good), (False, bad)):
            for match in compiled(source).finditer(text):
                before = " ".join(words(text[: match.start()])[-NEAR:])
                if said.search(before):
                    turned = stands != negated(text, match.start(), language)
                    found.append(Outcome(f"{good}", turned, level_of(text, match), match[0], quality=True))
    return found


def negated(text: str, start: int, language: Language, near: int = NEAR) -> bool:
    """Whether an odd number of negators stands close before a place, in its own clause."""
    clause = re.split(r"[,;:]| but | mas ", text[:start])[-1]
    before = words(clause)[-near:]
    return sum(word in word_set("negators", language) for word in before) % 2 == 1


_NOT_DECIDED = frozenset(
    "to would should if for seek seeks seeking sought request requested requesting urged urging para de a pedindo "
    "pediu requerendo requereu pleiteando pleiteou buscando buscou".split()
)


def _elsewhere(text: str, match: re.Match[str]) -> bool:
    """Whether the word is used of something other than a decision: "provided that", "reverse the car", "seeking
    reversal", "the upheld rules"."""
    before = (words(text[: match.start()]) or [""])[-1]
    noun = match[0].endswith(("al", "ance", "ing"))
    return match[0] == "provided" or before in _NOT_DECIDED or (before == "the" and not noun)


def level_of(text: str, match: re.Match[str]) -> str:
    """The instance that did it: behind "by the", else the last one named before; "" where that is no particular one."""
    after = re.match(r"[^.;,]{0,30}?\b(?:by|pel[oa]|por)\b([^.;,]*)", text[match.end() : match.end() + REACH])
    if after is not None and (named := _courts(after[1])):
        return named[0][1]
    named = _courts(text[: match.start()])
    if not named:
        return ""
    passive = re.search(r"(?:was|were|been|is|be|foi|foram|sido|ser|seja) (?:\w+ ){0,2}$", text[: match.start()])
    return "" if passive is not None else named[-1][1]


@functools.lru_cache(maxsize=20_000)
def _courts(text: str) -> list[tuple[int, str]]:
    """Courts that are named in a text, with their level, in order; one within another counts once."""
    spans: list[tuple[int, int, str]] = []
    for level, source in lexicon()["levels"].items():
        for match in compiled(source).finditer(text):
            if not any(start < match.end() and match.start() < end for start, end, _ in spans):
                spans.append((match.start(), match.end(), "" if level == "any" else level))
    return [(start, level) for start, _, level in sorted(spans)]


def opposed(one: Outcome, other: Outcome) -> bool:
    """Whether both cannot be true of one thing: the same matter ended both ways, before courts that may be the same."""
    return one.about == other.about and one.stands != other.stands and _may_be_one(one.level, other.level)


def alike(one: Outcome, other: Outcome) -> bool:
    """Whether both say the same of one matter, before courts that may be the same."""
    return one.about == other.about and one.stands == other.stands and _may_be_one(one.level, other.level)


def _may_be_one(one: str, other: str) -> bool:
    return not one or not other or one == other


OVERLAP = 0.6
"""Share of the shorter sentence's content words that the other must have."""
_ONLY = re.compile(r"\b(not only|nao so|nao somente|nao apenas|no longer than|no later than|no less than)\b")
_LESS = re.compile(r"(?!unless|regardless|nonetheless|nevertheless)\w{4,}less")
_DOUBLE = re.compile(r"\b(not|nao)\b[^.,;]{0,25}\b(un|in|im|ir|ile|des)\w+")


def turned(one: str, other: str, language: Language) -> tuple[str, str] | None:
    """The place at which one sentence denies what the other says, as it stands in each, or None.

    Only sentences with mostly the same content words are compared, and only where the same word is denied in one and
    not in the other; with every further negation in either sentence nothing is said.
    """
    if any(_ONLY.search(plain(each)) or _DOUBLE.search(plain(each)) for each in (one, other)):
        return None
    first, second = set(content(one, language)), set(content(other, language))
    shared = first & second
    if not shared or len(shared) < OVERLAP * min(len(first), len(second)) or len(shared) < 2:
        return None
    denied = [_denied(each, language) for each in (one, other)]
    count = [_negators(each, language) for each in (one, other)]
    if sorted(count) != [0, 1]:
        return None
    said = 0 if count[0] == 1 else 1
    word = next((stem for stem in denied[said] if stem in shared), None)
    if word is None:
        return None
    found = [_quoted(each, word, language) for each in (one, other)]
    return found[0], found[1]


def _negators(sentence: str, language: Language) -> int:
    return sum(word in word_set("negators", language) or _LESS.fullmatch(word) is not None for word in _words(sentence))


def _denied(sentence: str, language: Language) -> list[str]:
    """The stems of the content words that come next behind a negator, and of words such as "warrantless"."""
    found, near = [], 0
    carrying = set(content(sentence, language))
    for word in _words(sentence):
        if word in word_set("negators", language):
            near = NEAR
        elif _LESS.fullmatch(word):
            found.append(stem(word.removesuffix("less"), language))
        elif near:
            near -= 1
            if stem(word, language) in carrying:
                found.append(stem(word, language))
                near = 0
    return found


def _words(sentence: str) -> list[str]:
    return words(plain(sentence))


def _quoted(sentence: str, word: str, language: Language) -> str:
    """The place of a word, with what stands before it."""
    text = sentence.split()
    stems = [[stem(part, language) for part in words(plain(each))] for each in text]
    place = next((n for n, parts in enumerate(stems) if word in parts), 0)
    return " ".join(text[max(0, place - 3) : place + 1]).strip(" .,;")


NAME = r"[A-ZÀ-Ý][\w'’-]+"
_NAMES = rf"{NAME}(?: (?:{NAME}|d[aeo]s?|[A-Z]\.))*"
BEHIND = 70
"""Characters behind a verb in which somebody is named."""


class Role(NamedTuple):
    """What somebody is or did, by a name or word that stands for them.

    Attributes:
        who: The words of the name (or the side's canonical word).
        what: writes, dissents, concurs; "side 0/1 of relation n"; wins, loses; "does VERB to NAME".
        said: As it stands in the sentence.
    """

    who: frozenset[str]
    what: str
    said: str


@functools.cache
def _sides() -> tuple[tuple[re.Pattern[str], str], ...]:
    found = []
    for n, relation in enumerate(lexicon()["sides"]):
        for side, names in enumerate(relation):
            found.append((compiled("|".join(names)), f"{n}:{side}"))
    return tuple(found)


def side_of(phrase: str) -> str | None:
    """The side that a phrase names first, "relation:side", or None."""
    places = [(match.start(), name) for each, name in _sides() if (match := each.search(plain(phrase))) is not None]
    return min(places)[1] if places else None


def opposite(one: str, other: str) -> bool:
    """Whether two sides face one another."""
    return one != other and one.partition(":")[0] == other.partition(":")[0]


def names_in(phrase: str, language: Language) -> frozenset[str]:
    """The words of a phrase that may name somebody."""
    known = word_set("function", language) | word_set("stop", language)
    return frozenset(word for word in words(plain(phrase)) if word not in known and len(word) > 2)


@functools.lru_cache(maxsize=20_000)
def judges(sentence: str) -> tuple[Role, ...]:
    """Which judge wrote, dissented or concurred, by last names."""
    found = []
    clauses = re.split(
        r"[;,]? (?:and|while|whereas|but|e|enquanto|mas) (?=(?:the )?" + lexicon()["titles"] + r")|;", sentence
    )
    carried: list[str] = []
    for clause in clauses:
        named = [
            plain(name.split()[-1])
            for match in re.finditer(rf"{lexicon()['titles']} ({_NAMES}(?:(?:, | and |, and | e ){_NAMES})*)", clause)
            for name in re.split(r",? and |, | e ", match[1])
            if name
        ]
        text = plain(clause)
        deeds = [name for name in ("dissents", "concurs", "writes") if pattern(name).search(text)]
        if re.search(r"\bjoined\b|\bin which\b", text) and named and deeds:
            named = named[:1]  # who joined did not write
        if not deeds:
            carried = [*carried, *named]
            continue
        who = [*carried, *named]
        carried = []
        if "writes" in deeds and len(deeds) > 1:
            deeds.remove("writes")  # wrote a dissent
        found += [Role(frozenset({name}), deed, clause.strip()) for name in who for deed in deeds]
    return tuple(found)


@functools.lru_cache(maxsize=20_000)
def winners(sentence: str, language: Language) -> tuple[Role, ...]:
    """Whom a decision is said to favour, and against whom it goes."""
    found, text = [], plain(sentence)
    for what in ("wins", "loses"):
        for match in pattern(what).finditer(text):
            phrase = re.split(r"[,;.:(]| and | e | on | because | that | que | por ", sentence[match.end() :][:BEHIND])[
                0
            ]
            found.append(Role(names_in(phrase, language), what, sentence[match.start() : match.end()] + phrase))
    return tuple(found)


@functools.lru_cache(maxsize=20_000)
def named_sides(sentence: str) -> tuple[Role, ...]:
    """Names that a sentence puts on a side: "the plaintiff, Ana Reis", "Ana Reis, the plaintiff", "autora Ana Reis"."""
    found, text = [], plain(sentence)
    for each, side in _sides():
        for match in each.finditer(text):
            after = re.match(rf",? (?:the |a |o )?({_NAMES})", sentence[match.end() :])
            before = re.search(
                rf"({_NAMES}),? (?:\(|the |a |o |as |was the |is the |era [ao] )+$", sentence[: match.start()]
            )
            for name in (after, before):
                if name is not None:
                    found.append(Role(frozenset(words(plain(name[1]))), side, name[0].strip(" ,(") + " / " + match[0]))
    return tuple(found)


@functools.lru_cache(maxsize=20_000)
def deeds(sentence: str, language: Language) -> tuple[Role, ...]:
    """Who did it to whom, for verbs that cannot be turned round: the parties nearest before and behind the verb."""
    found, text = [], plain(sentence)
    for verb in word_set("acts", language):
        for match in re.finditer(rf"\b{verb}\b", text):
            before, after = sentence[: match.start()], sentence[match.end() :]
            clause = re.split(r"[;.]| that | que ", before)[-1]
            first, second = _party(clause, last=True), _party(re.split(r"[;.,]", after)[0][:BEHIND], last=False)
            if not first or not second or first & second:
                continue
            if re.search(r"\b(?:was|were|been|foi|foram)\s+(?:\w+\s+)?$", plain(before)):
                if not re.match(r"\s*(?:\w+\s+){0,3}?(?:by|pel[oa]|por)\b", plain(after)):
                    continue
                first, second = second, first
            found.append(Role(first, f"{verb} {' '.join(sorted(second))}", f"{' '.join(sorted(first))} {verb}"))
    return tuple(found)


def _party(text: str, last: bool) -> frozenset[str]:
    """The name, or the word for a side, that comes last or first in a text."""
    places: list[tuple[int, frozenset[str]]] = [
        (match.start(), frozenset(words(plain(match[0])))) for match in re.finditer(_NAMES, text)
    ]
    folded = plain(text)
    places += [(match.start(), frozenset({side})) for each, side in _sides() for match in each.finditer(folded)]
    places = [place for place in places if place[1]]
    if not places:
        return frozenset()
    return (max if last else min)(places, key=lambda place: place[0])[1]
