"""Who is on which side, who won, who did it to whom, and how which judge voted."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.words import Language, compiled, lexicon, pattern, plain, word_set, words

NAME = r"[A-ZÀ-Ý][\w'’-]+"
_NAMES = rf"{NAME}(?: (?:{NAME}|d[aeo]s?|[A-Z]\.))*"
REACH = 70


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
            phrase = re.split(r"[,;.:(]| and | e | on | because | that | que | por ", sentence[match.end() :][:REACH])[
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
            first, second = _party(clause, last=True), _party(re.split(r"[;.,]", after)[0][:REACH], last=False)
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
