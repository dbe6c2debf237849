"""Follows a case through the courts: who had won after each instance, as far as a text tells it.

A sentence says that a decision stands or falls, that a claim is granted or refused, or that
somebody won. Who began the case is read from the reference; the other party is whoever faces them.
So "the jury found for Mercer" and "the verdict was put back" can be held against each other, though
no word is the same. Where a text does not say which instance decides, or who won before, nothing is
read.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.reading import NAME, undecided
from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    compiled,
    lexicon,
    plain,
    stem,
    word_set,
    words,
)

LEVELS = ("trial", "appeal", "top")
UNDONE = 45  # characters between a judgment and the verb that says what became of it
NEXT = 12  # characters of a preposition and an article before a court
REACH = 70  # characters beside a verb in which its party or its court is named
_REASON = re.compile(
    r"\b(because|since|as|porque|pois|ja que|uma vez que|por entender|so that)\b"
    r".*?(?=, (?:but|mas|and|e|while|whereas|enquanto) |[.;]|$)"
)
_BEFORE_WHOM = (
    r"(?:(?:by|in|before|at|pel[oa]s?|n[oa]s?|em|perante) (?:the |an? |o |both the )?"
    r"|the (?=appeal\b))"
)
_ROLES = (
    r"(?:plaintiff|claimant|complainant|reclamante|impetrante|requerente)s?|autor(?:a|es|as)?",
    r"defendants?|reus?|re|reclamad[oa]s?|impetrad[oa]s?|requerid[oa]s?",
)


class Parties(NamedTuple):
    """The words by which who began a case is called, and those of the other side."""

    claimant: frozenset[str]
    other: frozenset[str]
    language: Language

    def found(self, text: str) -> list[tuple[int, int]]:
        """Places at which a party is named, each with which it is: 0 for the claimant."""
        places = []
        for match in re.finditer(r"[^\W\d_]+", plain(text)):
            word = stem(match[0], self.language)
            for n, own in enumerate((self.claimant, self.other)):
                if word in own or re.fullmatch(_ROLES[n], match[0]):
                    places.append((match.start(), n))
        return places


class Step(NamedTuple):
    """What one instance decided."""

    level: str
    decision: "Decision"
    place: int
    said: str


class Decision(NamedTuple):
    """What a verb says, from `start` to `end`: that somebody won (`how` is NAMED, or CLAIMED of a
    claim that was granted or refused), or what became of the decision before."""

    start: int
    end: int
    how: str
    winner: int | None = None


class Won(NamedTuple):
    """Who had won after an instance, and the words that say so."""

    winner: int
    place: int
    said: str


def parties(sentences: Sequence[str], language: Language) -> Parties | None:
    """Who began the case, and against whom; None where the sentences do not tell."""
    asks = compiled(_whole("asks"))
    for place, sentence in enumerate(sentences):
        for match in asks.finditer(plain(sentence)):
            before = _called(sentence[: match.start()], language)[-1:]
            after = _called(sentence[match.end() :], language)
            first = (
                before[0] if before else _subject(sentence[: match.start()], language)
            )
            if not first:
                continue
            everybody = [
                other
                for each in (*sentences[place + 1 :], *sentences[:place])
                for other in _called(each, language)
            ]
            faces = [each for each in (*after, *everybody) if not each & first]
            if faces:
                common = first & faces[0]
                return Parties(first - common, faces[0] - common, language)
    return None


def _subject(before: str, language: Language) -> frozenset[str]:
    """The last word with content before a verb: "the mother", "a mãe"."""
    stop = word_set("stop function", language)
    carrying = [
        word for word in words(plain(before)) if word not in stop and len(word) > 2
    ]
    return frozenset({stem(carrying[-1], language)} if carrying else ())


def _called(text: str, language: Language) -> list[frozenset[str]]:
    """Who is named in a text, neither judge nor court, each by the stems of the name and of the
    noun before it ("the crop duster Dale Renner")."""
    found = []
    title, courts = re.compile(lexicon()["titles"] + r" $"), _courts()
    stop = word_set("stop function", language) | {"estado", "rio", "new"}
    pattern = rf"(?:(?P<noun>[a-zà-ÿ]{{4,}}) )?(?P<name>{NAME}(?:(?: (?:of|d[aeo]s?))? {NAME})*)"
    for match in re.finditer(pattern, text):
        name = match["name"]
        first = name.split()[0]
        lone = match.start("name") == 0 and len(name.split()) == 1
        if title.search(text[: match.start("name")]) or title.match(first + " "):
            continue
        if (
            courts.search(plain(name))
            or (lone and plain(first) in stop)
            or first in _STARTS
        ):
            continue
        every = [*name.split(), *([match["noun"]] if match["noun"] else [])]
        stems = {
            stem(plain(word), language) for word in every if plain(word) not in stop
        }
        known = {word for word in stems if len(word) > 2}
        if known:
            found.append(frozenset(known))
    return found


_STARTS = frozenset(
    "The A An In On It Its He She His Her They This That There After Before When An As By One For"
    " O Os As Uma Um Em No Na Ao Por Ele Ela Depois Quando Para Ficou Todos Janeiro Judge Justice"
    " Officer December May March Chief Ministro Ministra".split()
)


@functools.cache
def _courts() -> re.Pattern[str]:
    every = [*lexicon()["levels"].values(), *lexicon("course")["levels"].values()]
    return compiled("|".join(every) + "|justica|trabalho|turma|camara|division")


@functools.cache
def _whole(name: str) -> str:
    source = lexicon("course")[name]
    source = "|".join(source) if isinstance(source, list) else source
    appeal = "(?:recurso|apelo|apelacao|agravo)(?: [a-z]+)?"
    return str(source).replace("{appeal}", appeal).replace("{{", "{").replace("}}", "}")


@functools.cache
def _levels() -> tuple[tuple[str, re.Pattern[str]], ...]:
    own, known = lexicon("course")["levels"], lexicon()["levels"]
    return tuple((name, compiled(f"{own[name]}|{known[name]}")) for name in LEVELS)


def _instances(text: str) -> list[tuple[int, str]]:
    """The instances that a text names, with their places; within a name the longest counts."""
    spans: list[tuple[int, int, str]] = []
    for level, form in _levels():
        spans += [(*match.span(), level) for match in form.finditer(text)]
    spans.sort(key=lambda span: (span[0] - span[1], span[0]))
    apart: list[tuple[int, int, str]] = []
    for start, end, level in spans:
        if not any(start < other and begin < end for begin, other, _ in apart):
            apart.append((start, end, level))
    return sorted((start, level) for start, _, level in apart)


def steps(sentences: Sequence[str], who: Parties) -> Iterator[Step]:
    """What each instance decided, in the order in which it is told."""
    last = ""
    recent: tuple[int, ...] = ()  # the parties that the sentence before names
    for place, sentence in enumerate(sentences):
        text = plain(sentence)
        text = _REASON.sub(lambda match: " " * len(match[0]), text)
        named, seen = _instances(text), 0
        for one in _decisions(text, who, recent):
            if undecided(text, one.end):
                continue
            levels = [level for at, level in named if at < one.start]
            several = _SEVERAL.search(text[seen : one.start]) is not None
            levels = levels if several else levels[-1:]
            behind = re.match(
                rf"[\w$,.' ]{{0,40}}?(?P<court>{_BEFORE_WHOM}.{{0,60}})",
                text[one.end : one.end + 2 * REACH],
            )
            if behind is not None:
                there = _instances(_ELSEWHERE.split(behind["court"])[0])
                if there and (not levels or there[0][0] <= NEXT):
                    levels = [level for _, level in there]
            first = ["trial"] if one.how == CLAIMED and not last else []
            for level in dict.fromkeys(levels or first or [last]):
                if level:
                    yield Step(level, one, place, sentence[one.start : one.end])
            last, seen = (levels or first or [last])[-1], one.end
        recent = tuple(n for _, n in who.found(sentence)) or recent


NAMED, CLAIMED, STANDS, FALLS, RESTORED = (
    "named",
    "claimed",
    "stands",
    "falls",
    "restored",
)
_PRONOUN = re.compile(
    r"\W*(?:her|him|them|it|its|his|their|ela|ele|elas|eles|dela|dele)\b"
)


class _Sentence:
    """A plain sentence, with who is named in it, and in the sentence before."""

    def __init__(self, text: str, who: Parties, recent: tuple[int, ...]) -> None:
        self.text, self.recent = text, recent
        self.named = who.found(text)
        self.negators = word_set("negators", who.language)

    def matches(self, name: str) -> Iterator[re.Match[str]]:
        return compiled(_whole(name)).finditer(self.text)

    def denied(self, match: re.Match[str]) -> bool:
        """Whether a negator stands close before a verb."""
        close = self.text[max(0, match.start() - 25) : match.start()]
        return not self.negators.isdisjoint(words(close)[-3:])

    def reviews(self) -> Iterator[Decision]:
        """What became of the decision before."""
        for name, how in (("keeps", STANDS), ("falls", FALLS), ("restores", RESTORED)):
            for match in self.matches(name):
                own = match[0].startswith(("nao", "declined"))
                turned = self.denied(match) and not own
                told = {STANDS: FALLS, FALLS: STANDS}.get(how, how) if turned else how
                yield Decision(*match.span(), told)

    def won_behind(self, reviews: Sequence[Decision]) -> Iterator[Decision]:
        """Who is named behind a verb as the winner or the loser; of a pronoun there, who is named
        last before it."""
        for name, winner in (("wins_after", 0), ("loses_after", 1)):
            for match in self.matches(name):
                end = match.end()
                near = [n for at, n in self.named if end <= at <= end + REACH]
                if _PRONOUN.match(self.text[end:]) or match[0].startswith(_OWN):
                    before = [n for at, n in self.named if at < match.start()]
                    near = before[-1:] or list(self.recent[-1:])
                # "the judgment against the orchard was reversed" tells what became of it
                told_of = any(0 <= each.start - end <= UNDONE for each in reviews)
                noun = told_of and _NOUN.match(match[0])
                if near and not noun and not self.denied(match):
                    yield Decision(*match.span(), NAMED, abs(winner - near[0]))

    def won_before(self) -> Iterator[Decision]:
        """Who is named before a verb as the winner or the loser; without any, who is named first in
        the sentence before."""
        for name, winner in (("wins_before", 0), ("loses_before", 1)):
            for match in self.matches(name):
                near = [
                    n
                    for at, n in self.named
                    if match.start() - REACH <= at < match.start()
                    and not _OBJECT.search(self.text[:at])
                ]
                near = near or list(self.recent[:1])
                if near and not self.denied(match):
                    yield Decision(*match.span(), NAMED, abs(winner - near[-1]))

    def claims(self) -> Iterator[Decision]:
        """What is granted or refused to who asked for it."""
        for name, winner in (("given", 0), ("refused", 1)):
            for match in self.matches(name):
                if not self.denied(match):
                    yield Decision(*match.span(), CLAIMED, winner)


def _decisions(text: str, who: Parties, recent: tuple[int, ...]) -> list[Decision]:
    """What verbs say; of two that overlap the one that names a party, else the longest."""
    sentence = _Sentence(text, who, recent)
    reviews = list(sentence.reviews())
    won = [*sentence.won_behind(reviews), *sentence.won_before()]
    found = [*reviews, *won, *sentence.claims()]
    found.sort(key=lambda each: (each.how != NAMED, each.start - each.end))
    apart: list[Decision] = []
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in apart):
            apart.append(one)
    return sorted(apart)


_SEVERAL = re.compile(r"\b(both|ambos|ambas|tanto|all (three )?courts)\b")
_ELSEWHERE = re.compile(
    r",|\bbut\b|\bmas\b| and (?!again|also|then)| e (?!tambem|depois|de novo)"
)
_OBJECT = re.compile(
    r"\b(contra|against|from|to|with|com|of|d[aeo]s?|a favor d[aeo]s?)"
    r"( (the|an?|o|as?|os)| \w+)?(?: [\w'-]+){0,1} $"
)
_NOUN = re.compile(r"judgment|verdict|ruling|award")
_OWN = ("in its", "in his", "in her", "in their")


def course(sentences: Sequence[str], who: Parties) -> Mapping[str, Won]:
    """Who had won after each instance that the sentences tell of. An instance of which they tell
    two things is left out; somebody who is named counts before a claim, and that before what became
    of the decision before."""
    told: dict[str, list[Step]] = {}
    for step in steps(sentences, who):
        told.setdefault(step.level, []).append(step)
    found: dict[str, Won] = {}
    before: int | None = None
    for level in LEVELS:
        own = [
            (_winner(step.decision, before, found), step)
            for step in told.get(level, ())
        ]
        said = [(winner, step) for winner, step in own if winner is not None]
        for how in (NAMED, CLAIMED):
            surer = [each for each in said if each[1].decision.how == how]
            if surer:
                said = surer
                break
        winners = {winner for winner, _ in said}
        if len(winners) == 1:
            before = winners.pop()
            step = said[-1][1]
            found[level] = Won(before, step.place, step.said)
        elif own:
            before = None
    return found


def _winner(one: Decision, before: int | None, found: Mapping[str, Won]) -> int | None:
    """Who has won by a decision, if who had won before it is known."""
    if one.winner is not None:
        return one.winner
    if one.how == RESTORED and "trial" in found:
        return found["trial"].winner
    if before is None:
        return None
    return before if one.how == STANDS else 1 - before
