"""Finds who faces whom in a case, and the words by which each side is called.

Who asks for something began the case, and whoever is named besides faces them; in a criminal case
who is charged faces the prosecution. Besides its name a side is called by the noun before or behind
it ("the painter Ada Corso", "Elias Braga, vigia,"), by its role ("the plaintiff"), and where the
two are of different kinds by a noun of its kind ("the company", "the city").
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.reading import NAME
from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    compiled,
    lexicon,
    plain,
    stem,
    word_set,
)


class Parties(NamedTuple):
    """The words by which who began the case is called, and those of the other side."""

    claimant: frozenset[str]
    other: frozenset[str]
    language: Language
    roles: tuple[str, str] = ("", "")  # patterns of what the sides are called besides
    criminal: bool = False
    person: int | None = None  # which side is a person, where the other one is none
    asked: bool = True  # whether it is told who began the case

    def found(self, text: str) -> list[tuple[int, int]]:
        """Places at which a party is named, each with which it is: 0 for the claimant."""
        folded, places = plain(text), dict[int, int]()
        for n, roles in enumerate(self.roles):
            if roles:
                for match in compiled(roles).finditer(folded):
                    places.setdefault(match.start(), n)
        for match in re.finditer(r"[^\W\d_]+", folded):
            word = stem(match[0], self.language)
            for n, own in enumerate((self.claimant, self.other)):
                if word in own:
                    places[match.start()] = n
        return sorted(places.items())


    def meant(self, pronoun: str) -> int | None:
        """Whom "she" or "it" stands for, where only one side can be."""
        if self.person is None or self.language != "en":
            return None
        if pronoun in ("he", "she", "him", "her", "his"):
            return self.person
        return 1 - self.person if pronoun in ("it", "its") else None


def parties(sentences: Sequence[str], language: Language) -> Parties | None:
    """Who faces whom; None where the sentences do not tell."""
    return (
        _criminal(sentences, language)
        or _civil(sentences, language)
        or _unlike(sentences, language)
    )


def _criminal(sentences: Sequence[str], language: Language) -> Parties | None:
    charged = compiled(lexicon("course")["charged"])
    prosecution, accused = lexicon("course")["roles"]["criminal"]
    for sentence in sentences:
        for match in charged.finditer(plain(sentence)):
            before = called(sentence[: match.start()], language)
            after = called(sentence[match.end() :], language)
            passive = " " in match[0]
            near = before[:1] if passive else after[:1] or before[:1]
            if near:
                return Parties(
                    frozenset(),
                    _stems(near[0], language),
                    language,
                    (prosecution, accused),
                    criminal=True,
                    person=1,
                )
    return None


def _civil(sentences: Sequence[str], language: Language) -> Parties | None:
    asks = compiled(lexicon("course")["asks"])
    for place, sentence in enumerate(sentences):
        for match in asks.finditer(plain(sentence)):
            before = called(sentence[: match.start()], language)[-1:]
            after = called(sentence[match.end() :], language)
            first = (
                before[0] if before else _subject(sentence[: match.start()], language)
            )
            if not first:
                continue
            everybody = [
                other
                for each in (*sentences[place + 1 :], *sentences[:place])
                for other in called(each, language)
            ]
            faces = [each for each in (*after, *everybody) if not each & first]
            if faces:
                return _opposed(first, faces[0], language)
    return None


def _unlike(sentences: Sequence[str], language: Language) -> Parties | None:
    """A person and somebody of another kind, who are named first; who began is not known."""
    names = [own for each in sentences[:FIRST] for own in called(each, language)]
    people = [own for own in names if not _kind(own) and len(own) > 1]
    others = [own for own in names if _kind(own)]
    if not people or not others or people[0] & others[0]:
        return None
    both = _opposed(people[0], others[0], language)
    return both._replace(asked=False)


def _opposed(
    first: frozenset[str], second: frozenset[str], language: Language
) -> Parties:
    """Two sides, with what they are called besides their names."""
    both = (first, second)
    roles = [[own] for own in lexicon("course")["roles"]["civil"]]
    kinds = [_kind(own) for own in both]
    for n in (0, 1):
        if kinds[n] != kinds[1 - n]:
            noun = lexicon("course")["kinds"].get(kinds[n], {}).get("nouns")
            roles[n].append(noun or lexicon("course")["person"])
        for sides in lexicon()["sides"]:
            for side in (0, 1):
                known = compiled("|".join(sides[side]))
                if sides[side][0] not in _OF_AN_INSTANCE and any(
                    map(known.fullmatch, both[n])
                ):
                    roles[n] += sides[side]
                    roles[1 - n] += sides[1 - side]
    stems = [_stems(own, language) for own in both]
    common = stems[0] & stems[1]
    return Parties(
        stems[0] - common,
        stems[1] - common,
        language,
        ("|".join(roles[0]), "|".join(roles[1])),
        person=kinds.index("") if kinds.count("") == 1 else None,
    )


FIRST = 4  # sentences that name the parties, where nobody is said to ask for anything
_OF_AN_INSTANCE = ("petitioners?", "respondents?")
"""Who appeals, which another instance may turn round."""


def _kind(own: frozenset[str]) -> str:
    """Which kind of party has such a name: "" for a person, or one that is not known."""
    kinds = lexicon("course")["kinds"]
    for name, kind in kinds.items():
        if any(map(compiled(kind["names"]).fullmatch, own)):
            return str(name)
    return ""


def _stems(own: frozenset[str], language: Language) -> frozenset[str]:
    every = {stem(word, language) for word in own}
    return frozenset(word for word in every if len(word) > 2)


def _subject(before: str, language: Language) -> frozenset[str]:
    """The noun right before a verb: "the mother", "a mãe"."""
    found = _SUBJECT.search(plain(before))
    stop = word_set("stop function", language)
    known = found is not None and found[1] not in stop
    return frozenset({found[1]}) if found is not None and known else frozenset()


_SUBJECT = re.compile(
    r"\b(?:the|an?|his|her|its|their|os?|as?|uma?|seu|sua) (?:\w+ )?([a-z]{3,}) (?:\w+ )?$"
)
_NAMES = re.compile(
    r"(?:(?P<article>[A-Za-zÀ-ÿ]+) (?:(?P<adjective>[a-zà-ÿ]+) )?(?P<noun>[a-zà-ÿ]{4,}) )?"
    rf"(?P<name>{NAME}(?:(?: (?:of|for|d[aeo]s?))? {NAME})*)"
)
_BEHIND = re.compile(r", (?:an? |the |o |uma? )?(?P<noun>[a-zà-ÿ]{4,})(?=,| in | of | at | d[aeo] | employed)")
_ARTICLES = frozenset(
    "the a an his her its their o as os um uma da do das dos na no pela pelo ao à seu sua".split()
)
_STARTS = frozenset(
    "The A An In On It Its He She His Her They This That There After Before When An As By One For"
    " O Os As Uma Um Em No Na Ao Por Ele Ela Depois Quando Para Ficou Todos Janeiro Judge Justice"
    " Officer December May March Chief Ministro Ministra".split()
)


def called(text: str, language: Language) -> list[frozenset[str]]:
    """Who is named in a text, neither judge nor court, each by the words of the name, and of the
    noun beside it ("the crop duster Dale Renner")."""
    return [own for own in _called(text, language) if own]


def _called(text: str, language: Language) -> Iterator[frozenset[str]]:
    title, courts = re.compile(lexicon()["titles"] + r" $"), _courts()
    stop = word_set("stop function", language) | {"estado", "rio", "new"}
    for match in _NAMES.finditer(text):
        parts = match["name"].split()
        while parts and parts[0] in _STARTS:
            parts = parts[1:]
        name = " ".join(parts)
        if not name:
            continue
        lone = match.start("name") == 0 and len(parts) == 1
        before = text[: match.end("name") - len(name)]
        if title.search(before) or title.match(parts[0] + " "):
            continue
        if courts.search(plain(name)) or (lone and plain(name) in stop):
            continue
        if _CITED.search(before) or _CITED.match(text[match.end() :]):
            continue
        if lone and re.fullmatch(lexicon("support")["past"][language], _verb(name)):
            continue
        if compiled("|".join(months_of_both())).fullmatch(plain(name)):
            continue
        every = list(parts)
        article = (match["article"] or "").lower()
        if match["noun"] and (article in _ARTICLES or match["adjective"] in _ARTICLES):
            every.append(match["noun"])
        behind = _BEHIND.match(text[match.end() :])
        if behind is not None:
            every.append(behind["noun"])
        folded = (plain(word) for word in every)
        yield frozenset(word for word in folded if word not in stop and len(word) > 1)


_CITED = re.compile(r"(?:^| )vs?\. (?:the )?")


def _verb(name: str) -> str:
    """A word without its pronoun: "fundou-se"."""
    return plain(name).partition("-")[0]


@functools.cache
def months_of_both() -> tuple[str, ...]:
    """The names of the months in both languages."""
    return tuple(name for names in lexicon()["months"] for name in names)


@functools.cache
def _courts() -> re.Pattern[str]:
    every = [*lexicon()["levels"].values(), *lexicon("course")["levels"].values()]
    return compiled("|".join(every) + "|justica|trabalho|turma|division")
