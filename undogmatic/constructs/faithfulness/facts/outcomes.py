"""Reads from sentences how things ended and in which instance, what is denied, and who is or did what."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
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
    """One thing that is said to have ended in one of two ways."""

    about: str  # judgment, guilt, motion, reasonable, ...
    stands: bool  # which way; a negation is taken into account
    level: str  # the instance that decided: trial, appeal, top, or "" where it is not named
    said: str  # as it stands in the sentence


Ending = tuple[str, bool, re.Match[str], str]
"""What a pattern says of an outcome before the words around it are looked at: about, stands, the match, said."""


@functools.lru_cache(maxsize=20_000)
def outcomes(sentence: str, language: Language) -> tuple[Outcome, ...]:
    """The outcomes in a sentence, in no order."""
    text = plain(sentence)
    negators = word_set("negators", language)
    kept: dict[Outcome, None] = {}
    for finder in (_decided, _asked, _qualities):
        for about, stands, match, said in finder(text):
            # An odd number of negators close before it, in its own clause, turns it round.
            clause = re.split(r"[,;:]| but | mas ", text[: match.start()])[-1]
            turned = sum(word in negators for word in words(clause)[-NEAR:]) % 2 == 1
            kept[Outcome(about, stands != turned, _level_of(text, match), said)] = None
    return tuple(kept)


_PARTLY = re.compile(r"in part\b|partial|partly|parcial|em parte")
_NOT_DECIDED = frozenset(
    "to would should if for seek seeks seeking sought request requested requesting urged urging para de a pedindo "
    "pediu requerendo requereu pleiteando pleiteou buscando buscou".split()
)


def _matches(text: str, ways: Mapping[str, str]) -> list[tuple[bool, re.Match[str]]]:
    """What stands and what falls; of two that overlap the first ("negou provimento", not "provimento"). What is said
    to hold in part only is neither."""
    every = [(way == "stands", match) for way in ("stands", "falls") for match in compiled(ways[way]).finditer(text)]
    apart: list[tuple[bool, re.Match[str]]] = []
    for stands, match in sorted(every, key=lambda each: (each[1].start(), -each[1].end())):
        if not any(match.start() < other.end() and other.start() < match.end() for _, other in apart):
            apart.append((stands, match))
    return [each for each in apart if not _PARTLY.search(text[max(0, each[1].start() - 15) : each[1].end() + 15])]


def _decided(text: str) -> Iterator[Ending]:
    """Judgments that stand or fall, guilt, claims; not where the word is used of something other than a decision:
    "provided that", "reverse the car", "seeking reversal", "the upheld rules"."""
    for about, ways in lexicon()["outcomes"].items():
        for stands, match in _matches(text, ways):
            before = (words(text[: match.start()]) or [""])[-1]
            noun = match[0].endswith(("al", "ance", "ing"))
            elsewhere = match[0] == "provided" or before in _NOT_DECIDED or (before == "the" and not noun)
            if about != "judgment" or not elsewhere:
                yield about, stands, match, match[0]


def _asked(text: str) -> Iterator[Ending]:
    """What was granted or refused, by what was asked for."""
    ways = lexicon()["asked"]
    for stands, match in _matches(text, ways):
        around = (text[match.end() : match.end() + REACH], text[max(0, match.start() - REACH) : match.start()])
        for part in around if " appeal" not in around[0][:20] else ():
            clause = re.split(r"[;:.]", part)[0]
            things = [name for name in ways["objects"] if re.search(rf"\b{name}s?\b", clause)]
            yield from ((name, stands, match, f"{match[0]} ({name})") for name in things)
            if things:
                break


def _qualities(text: str) -> Iterator[Ending]:
    """What something is said to be: lawful, void."""
    for good, bad in lexicon()["qualities"]:
        for stands, source in ((True, good), (False, bad)):
            for match in compiled(source).finditer(text):
                if pattern("said").search(" ".join(words(text[: match.start()])[-NEAR:])):
                    yield good, stands, match, match[0]


def _level_of(text: str, match: re.Match[str]) -> str:
    """The instance that did it: behind "by the", else the last one named before; "" where that is no particular one."""
    after = re.match(r"[^.;,]{0,30}?\b(?:by|pel[oa]|por)\b([^.;,]*)", text[match.end() : match.end() + REACH])
    if after is not None and (named := _courts(after[1])):
        return named[0]
    passive = re.search(r"(?:was|were|been|is|be|foi|foram|sido|ser|seja) (?:\w+ ){0,2}$", text[: match.start()])
    named = _courts(text[: match.start()])
    return named[-1] if named and passive is None else ""


@functools.lru_cache(maxsize=20_000)
def _courts(text: str) -> list[str]:
    """The levels of the courts that a text names, in order; a court within the name of another counts once."""
    spans: list[tuple[int, int, str]] = []
    for level, source in lexicon()["levels"].items():
        for match in compiled(source).finditer(text):
            if not any(start < match.end() and match.start() < end for start, end, _ in spans):
                spans.append((*match.span(), "" if level == "any" else level))
    return [level for *_, level in sorted(spans)]


def alike(one: Outcome, other: Outcome) -> bool:
    """Whether both say the same of one matter, before courts that may be the same."""
    same_court = one.level == other.level or not one.level or not other.level
    return one.about == other.about and one.stands == other.stands and same_court


def opposed(one: Outcome, other: Outcome) -> bool:
    """Whether both cannot be true of one thing: the same matter ended both ways, before courts that may be the same."""
    return alike(one, other._replace(stands=not other.stands))


OVERLAP = 0.6
"""Share of the shorter sentence's content words that the other must have."""
_ONLY = re.compile(r"\b(not only|nao so|nao somente|nao apenas|no longer than|no later than|no less than)\b")
_LESS = re.compile(r"(?!unless|regardless|nonetheless|nevertheless)\w{4,}less")
_DOUBLE = re.compile(r"\b(not|nao)\b[^.,;]{0,25}\b(un|in|im|ir|ile|des)\w+")


def turned(one: str, other: str, language: Language) -> list[str] | None:
    """The place at which one sentence denies what the other says, as it stands in each, or None.

    Only sentences with mostly the same content words are compared, and only where the same word is denied in one and
    not in the other; with every further negation in either sentence nothing is said.
    """
    both, negators = (one, other), word_set("negators", language)
    if any(_ONLY.search(plain(each)) or _DOUBLE.search(plain(each)) for each in both):
        return None
    first, second = (set(content(each, language)) for each in both)
    shared = first & second
    if len(shared) < max(2, OVERLAP * min(len(first), len(second))):
        return None
    read = [words(plain(each)) for each in both]
    places = [[n for n, w in enumerate(own) if w in negators or _LESS.fullmatch(w)] for own in read]
    if sorted(map(len, places)) != [0, 1]:
        return None
    denying = 0 if places[0] else 1
    place = places[denying][0]
    word = read[denying][place]
    # Denied is the next content word; of "warrantless" it is what stands before the ending.
    near = read[denying][place + 1 : place + 1 + NEAR] if word in negators else [word.removesuffix("less")]
    carrying = (first, second)[denying]
    denied = next((stem(each, language) for each in near if stem(each, language) in carrying), "")
    return [_quoted(each, denied, language) for each in both] if denied in shared else None


def _quoted(sentence: str, word: str, language: Language) -> str:
    """The place of a word by its stem, with what stands before it."""
    text = sentence.split()
    stems = [[stem(part, language) for part in words(plain(each))] for each in text]
    place = next((n for n, parts in enumerate(stems) if word in parts), 0)
    return " ".join(text[max(0, place - 3) : place + 1]).strip(" .,;")


NAME = r"[A-ZÀ-Ý][\w'’-]+"
_NAMES = rf"{NAME}(?: (?:{NAME}|d[aeo]s?|[A-Z]\.))*"
BEHIND = 70
"""Characters behind a verb in which somebody is named."""


class Role(NamedTuple):
    """What somebody is or did, by a name or word that stands for them."""

    who: frozenset[str]  # the words of the name, or the side's canonical word
    what: str  # writes, dissents, concurs; wins, loses; "RELATION:SIDE"; "VERB NAME" for what was done to whom
    said: str  # as it stands in the sentence


@functools.cache
def _sides() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple(
        (compiled("|".join(names)), f"{n}:{side}")
        for n, relation in enumerate(lexicon()["sides"])
        for side, names in enumerate(relation)
    )


def side_of(phrase: str) -> str | None:
    """The side that a phrase names first, "relation:side", or None."""
    places = [(match.start(), name) for each, name in _sides() if (match := each.search(plain(phrase))) is not None]
    return min(places)[1] if places else None


def opposite(one: str, other: str) -> bool:
    """Whether two sides face one another."""
    return one != other and one.partition(":")[0] == other.partition(":")[0]


@functools.lru_cache(maxsize=20_000)
def judges(sentence: str) -> tuple[Role, ...]:
    """Which judge wrote, dissented or concurred, by last names."""
    roles: list[Role] = []
    waiting: list[str] = []
    titles = lexicon()["titles"]
    clauses = re.split(rf"[;,]? (?:and|while|whereas|but|e|enquanto|mas) (?=(?:the )?{titles})|;", sentence)
    for clause in clauses:
        named = [
            plain(name.split()[-1])
            for match in re.finditer(rf"{titles} ({_NAMES}(?:(?:, | and |, and | e ){_NAMES})*)", clause)
            for name in re.split(r",? and |, | e ", match[1])
            if name
        ]
        text = plain(clause)
        deeds = [name for name in ("dissents", "concurs", "writes") if pattern(name).search(text)]
        if re.search(r"\bjoined\b|\bin which\b", text) and deeds:
            named = named[:1]  # who joined did not write
        waiting += named
        if deeds:
            done = deeds[:-1] if deeds[-1] == "writes" and len(deeds) > 1 else deeds  # wrote a dissent
            roles += [Role(frozenset({name}), deed, clause.strip()) for name in waiting for deed in done]
            waiting = []
    return tuple(roles)


@functools.lru_cache(maxsize=20_000)
def winners(sentence: str, language: Language) -> tuple[Role, ...]:
    """Whom a decision is said to favour, and against whom it goes."""
    roles, known = [], word_set("function stop", language)
    for what in ("wins", "loses"):
        for match in pattern(what).finditer(plain(sentence)):
            behind = sentence[match.end() :][:BEHIND]
            phrase = re.split(r"[,;.:(]| and | e | on | because | that | que | por ", behind)[0]
            who = frozenset(word for word in words(plain(phrase)) if word not in known and len(word) > 2)
            roles.append(Role(who, what, sentence[match.start() : match.end()] + phrase))
    return tuple(roles)


@functools.lru_cache(maxsize=20_000)
def named_sides(sentence: str) -> tuple[Role, ...]:
    """Names that a sentence puts on a side: "the plaintiff, Ana Reis", "Ana Reis, the plaintiff", "autora Ana Reis"."""
    roles, before = [], rf"({_NAMES}),? (?:\(|the |a |o |as |was the |is the |era [ao] )+$"
    for each, side in _sides():
        for match in each.finditer(plain(sentence)):
            after = re.match(rf",? (?:the |a |o )?({_NAMES})", sentence[match.end() :])
            for name in (after, re.search(before, sentence[: match.start()])):
                if name is not None:
                    roles.append(Role(frozenset(words(plain(name[1]))), side, name[0].strip(" ,(") + " / " + match[0]))
    return tuple(roles)


@functools.lru_cache(maxsize=20_000)
def deeds(sentence: str, language: Language) -> tuple[Role, ...]:
    """Who did it to whom, for verbs that cannot be turned round: the parties nearest before and behind the verb."""
    roles = []
    for verb in word_set("acts", language):
        for match in re.finditer(rf"\b{verb}\b", plain(sentence)):
            before, after = sentence[: match.start()], sentence[match.end() :]
            first = _parties(re.split(r"[;.]| that | que ", before)[-1])[-1:]
            second = _parties(re.split(r"[;.,]", after)[0][:BEHIND])[:1]
            if not first or not second or first[0] & second[0]:
                continue
            if re.search(r"\b(?:was|were|been|foi|foram)\s+(?:\w+\s+)?$", plain(before)):
                if not re.match(r"\s*(?:\w+\s+){0,3}?(?:by|pel[oa]|por)\b", plain(after)):
                    continue
                first, second = second, first
            whom, who = (" ".join(sorted(each[0])) for each in (second, first))
            roles.append(Role(first[0], f"{verb} {whom}", f"{who} {verb}"))
    return tuple(roles)


def _parties(text: str) -> list[frozenset[str]]:
    """The names, and the words for sides, in the order in which a text has them."""
    places = [(match.start(), frozenset(words(plain(match[0])))) for match in re.finditer(_NAMES, text)]
    places += [(match.start(), frozenset({side})) for each, side in _sides() for match in each.finditer(plain(text))]
    first = dict(reversed(places))  # a name, where a side begins at the same place
    return [first[start] for start in sorted(first)]
