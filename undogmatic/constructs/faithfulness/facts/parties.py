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

from undogmatic.constructs.faithfulness.facts.words import (
    NAME,
    Language,
    compiled,
    grammar,
    lexicon,
    plain,
    source,
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
        if grammar("person").fullmatch(pronoun):
            return self.person
        return 1 - self.person if grammar("thing").fullmatch(pronoun) else None


def parties(sentences: Sequence[str], language: Language) -> Parties:
    """Who faces whom; nobody, where the sentences do not tell."""
    sentences = [sentence[:LONGEST] for sentence in sentences]
    names = Names(sentences, language)
    return (
        _criminal(sentences, names)
        or _civil(sentences, names)
        or _unlike(sentences, names)
        or Parties(frozenset(), frozenset(), language, asked=False)
    )


def _criminal(sentences: Sequence[str], names: "Names") -> Parties | None:
    charged = compiled(lexicon("course")["charged"])
    prosecution, accused = lexicon("course")["roles"]["criminal"]
    for sentence in sentences:
        for match in charged.finditer(plain(sentence)):
            before = names.called(sentence[: match.start()])
            after = names.called(sentence[match.end() :])
            passive = " " in match[0]
            near = before[:1] if passive else after[:1] or before[:1]
            if near:
                return Parties(
                    frozenset(),
                    _stems(near[0], names.language),
                    names.language,
                    (prosecution, accused),
                    criminal=True,
                    person=1,
                )
    return None


def _civil(sentences: Sequence[str], names: "Names") -> Parties | None:
    asks = compiled(lexicon("course")["asks"])
    every = [names.called(sentence) for sentence in sentences]
    for place, sentence in enumerate(sentences):
        for match in asks.finditer(plain(sentence)):
            before = list(names.named(sentence[: match.start()]))
            after = names.called(sentence[match.end() :])
            apart = [
                own
                for start, own in before
                if not grammar("preposition").search(sentence[:start].lower())
            ]
            relative = grammar("relative").search(sentence[: match.start()]) is not None
            if relative or not apart:
                apart = [own for _, own in before]
            first = apart[-1:]
            if len(before) > 1 and grammar("two").search(
                sentence[before[-2][0] : match.start()]
            ):
                first = [before[-2][1] | before[-1][1]]
            against = (
                grammar("against").match(sentence[match.end() :].lower()) is not None
            )
            of = (
                grammar("noun_of").search(sentence[: before[-1][0]])
                if before[-1:]
                else None
            )
            if first and of is not None and not _kind(first[0]):
                first = [first[0] | {plain(of[1])}]
            if not first:
                first = [_subject(sentence[: match.start()], names.language, against)]
            if not first[0]:
                continue
            elsewhere = [
                own for each in (*every[place + 1 :], *every[:place]) for own in each
            ]
            around = [*after, *(own for _, own in reversed(before)), *elsewhere]
            whole = _whole(first[0], around, names.places)
            faces = [
                each
                for each in around
                if not (each & whole) - names.places and not _short(each, whole)
            ]
            if faces:
                return _opposed(whole, _whole(faces[0], around, names.places), names)
    return None


def _short(own: frozenset[str], other: frozenset[str]) -> bool:
    """Whether one name is the other one's initials."""
    for short, long in ((own, other), (other, own)):
        letters = sorted(word[0] for word in long)
        if len(letters) > 2 and any(sorted(word) == letters for word in short):
            return True
    return False


def _whole(
    own: frozenset[str], names: Sequence[frozenset[str]], places: frozenset[str]
) -> frozenset[str]:
    """All words by which somebody is called, where their last name stands in each, which is no
    place ("the Islamic Center of Dover")."""
    kinds = compiled(
        "|".join(each["names"] for each in lexicon("course")["kinds"].values())
    )
    telling = {word for word in own if len(word) > 3 and not kinds.fullmatch(word)}
    telling -= places
    same = [each for each in names if each & telling]
    return own.union(*same)


def _unlike(sentences: Sequence[str], names: "Names") -> Parties | None:
    """A person and somebody of another kind, or the two who are named most; who began is not
    known."""
    every = [own for each in sentences for own in names.called(each)]
    early = [own for each in sentences[:FIRST] for own in names.called(each)]
    people = [own for own in early if not _kind(own) and len(own) > 1]
    others = [own for own in early if _kind(own)]
    if not others:
        often = [own for own in people if sum(bool(own & each) for each in every) > 1]
        others = [own for own in often if people and not own & people[0]]
        people = [own for own in often if own == people[0]]
    if not people or not others or people[0] & others[0]:
        return None
    both = _opposed(
        _whole(people[0], every, names.places),
        _whole(others[0], every, names.places),
        names,
    )
    return both._replace(asked=False)


def _opposed(first: frozenset[str], second: frozenset[str], names: "Names") -> Parties:
    """Two sides, with what they are called besides their names."""
    both = (first, second)
    roles = [[own] for own in lexicon("course")["roles"]["civil"]]
    kinds = [names.kind(own) for own in both]
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
    stems = [_stems(own, names.language) for own in both]
    common = stems[0] & stems[1]
    return Parties(
        stems[0] - common,
        stems[1] - common,
        names.language,
        ("|".join(roles[0]), "|".join(roles[1])),
        person=kinds.index("") if kinds.count("") == 1 else None,
    )


LONGEST = 2000
"""Characters of a sentence that are read: what is longer is no sentence, and would take long."""
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


def _subject(before: str, language: Language, against: bool) -> frozenset[str]:
    """The noun right before a verb: "the mother", "a mãe"; of "players sued" (`against` somebody)
    also without an article."""
    found = grammar("subject").search(plain(before))
    if found is None and against:
        found = grammar("plain_subject").search(plain(before))
    word = "" if found is None else found[1]
    known = word and word not in word_set("stop function", language)
    return frozenset({word}) if known else frozenset()


class Names:
    """Who is named in the sentences of a text, neither judge nor court."""

    def __init__(self, sentences: Sequence[str], language: Language) -> None:
        self.language = language
        self.inside = {
            plain(word).removesuffix("'s")
            for sentence in sentences
            for word in re.findall(rf"(?<=\w[ ,]){NAME}|(?<=, ){NAME}", sentence)
        }
        alone, first, last = set[str](), set[str](), set[str]()
        for sentence in sentences:
            for match in grammar("names").finditer(sentence):
                parts = plain(match["name"]).replace("'s", "").split()
                if len(parts) == 1:
                    alone.add(parts[0])
                else:
                    first.add(parts[0])
                    last.add(parts[-1])
        self.places = frozenset(
            plain(word)
            for sentence in sentences
            for word in grammar("place").findall(sentence)
        )
        starts = [sentence.split(" ")[0] for sentence in sentences]
        self.inside |= {
            plain(word)
            for word in starts
            if starts.count(word) > 1
            and re.fullmatch(NAME, word)
            and not _nobody(plain(word), language)
        }
        # "Gail Moss" is later called Moss, "Trident Marine" Trident
        self.companies = frozenset((alone & first) - last)
        self.stop = word_set("stop function", language) | _listed("parts")

    def kind(self, own: frozenset[str]) -> str:
        """Which kind of party has such a name: "" for a person, or one that is not known."""
        return _kind(own) or ("company" if own & self.companies else "")

    def called(self, text: str) -> list[frozenset[str]]:
        """Each by the words of the name, and of the noun beside it ("the crop duster Dale
        Renner")."""
        return [own for _, own in self.named(text)]

    def named(self, text: str) -> Iterator[tuple[int, frozenset[str]]]:
        """The same, with their places."""
        title, courts = re.compile(lexicon()["titles"] + r" $"), _courts()
        nobody = compiled(lexicon("course")["nobody"])
        past = re.compile(lexicon("support")["past"][self.language])
        for match in grammar("names").finditer(text):
            parts = match["name"].split()
            while parts and parts[0] in _listed("starts"):
                parts = parts[1:]
            name = " ".join(parts)
            if not name:
                continue
            start = match.end("name") - len(name)
            lone = match.start("name") == 0 and len(parts) == 1
            before = text[:start]
            if title.search(before) or title.match(parts[0] + " "):
                continue
            if before.endswith(('"', "“", "«")):
                continue
            if courts.search(plain(name)) or nobody.search(plain(name)):
                continue
            if lone and plain(name).removesuffix("'s") not in self.inside:
                continue  # where any word has a capital
            if grammar("cited").search(before) or grammar("cited").match(
                text[match.end() :]
            ):
                continue
            every = list(parts)
            article = (match["article"] or "").lower()
            first = (article, (match["adjective"] or "").lower())
            noun = match["noun"] or ""
            verb = past.fullmatch(plain(noun)) is not None
            if noun and not verb and not _listed("articles").isdisjoint(first):
                every.append(noun)
            behind = grammar("behind").match(text[match.end() :])
            if behind is not None and (behind["noun"] or self.language == "pt"):
                every.append(behind["noun"] or behind["alone"])
            folded = (plain(word).removesuffix("'s") for word in every)
            own = frozenset(w for w in folded if w not in self.stop and len(w) > 1)
            if own - _listed("forms"):
                yield start, own


def _nobody(word: str, language: Language) -> bool:
    """Whether a word at the beginning of sentences names nobody."""
    generic = lexicon("support")["generic"][language].split()
    known = {
        *word_set("stop function", language),
        *generic,
        *map(plain, _listed("starts")),
    }
    return (
        word in known
        or grammar("adverb").search(word) is not None
        or word in _listed("connect")
    )


@functools.cache
def _courts() -> re.Pattern[str]:
    every = [*lexicon()["levels"].values(), *lexicon("course")["levels"].values()]
    return compiled("|".join(every) + "|" + source("grammar", "court"))


@functools.cache
def _listed(name: str) -> frozenset[str]:
    """The words of a list of course.yaml."""
    return frozenset(lexicon("course")["listed"][name].split())
