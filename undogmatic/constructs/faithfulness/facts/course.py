"""Follows a case through the courts: who had won after each instance, as far as a text tells it.

A sentence says that a decision stands or falls, that a claim is granted or refused, that an appeal
succeeds, or that somebody won. So "the jury found for Mercer" and "the verdict was put back" can be
held against each other, though no word is the same. Where a text does not say which instance
decides, or who won before, only what the reference tells in its place is read.
"""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.parties import Parties
from undogmatic.constructs.faithfulness.facts.reading import in_part, undecided
from undogmatic.constructs.faithfulness.facts.words import (
    blanked,
    compiled,
    lexicon,
    plain,
    word_set,
    words,
)

LEVELS = ("below", "jury", "trial", "appeal", "top")
LIKE = {
    "below": ("trial",),
    "jury": ("trial", "below"),
    "trial": ("jury", "below"),
    "appeal": ("top",),
}
"""What an instance may be called, where the reference knows none of its own name."""
UNDONE = 45  # characters between a judgment and the verb that says what became of it
NEXT = 12  # characters of a preposition and an article before a court
WITHIN = 30  # as many, where no other court is named
REACH = 70  # characters beside a verb in which its party or its court is named
NEAR = 40  # characters between a verb and what it is said of
_UNTIL = r"\b.*?(?=, (?:but|mas|and|e|while|whereas|enquanto) |[.;]|$)"
_REASON = {
    "en": re.compile(rf"\b(?:because|since|as|so that){_UNTIL}"),
    "pt": re.compile(rf"\b(?:porque|pois|ja que|uma vez que|por entender){_UNTIL}"),
}
_BEFORE_WHOM = (
    r"(?:(?:by|in|before|at|pel[oa]s?|n[oa]s?|em|perante) (?:the |an? |o |both the )?"
    r"|the (?=appeal\b))"
)

NAMED, THING, CLAIMED, STANDS, FALLS, RESTORED, REMANDED = (
    "named",  # somebody won or lost
    "thing",  # what became of a decision for one side, as a conviction
    "claimed",  # a claim is granted or refused
    "stands",  # what became of the decision before
    "falls",
    "restored",
    "remanded",
)
STRICT = ((NAMED, THING, CLAIMED, STANDS, FALLS, RESTORED), (REMANDED,))
TIERS = ((NAMED,), (THING, CLAIMED), (STANDS, FALLS, RESTORED), (REMANDED,))
LAW, END, COSTS, APPEAL = "law", "end", "costs", "appeal"
"""What is told beside who won: whether a law is valid, who pays in the end, who bears the costs, and
what became of somebody's appeal to an instance that is not named."""


class Decision(NamedTuple):
    """What a verb says, from `start` to `end`; `winner` is 0 for the claimant (of a law: valid), and
    None where that follows from the decision before. Of an appeal `owner` says whose it is."""

    start: int
    end: int
    how: str
    winner: int | None = None
    owner: int | None = None


class Step(NamedTuple):
    """What one instance decided, "" where it is not named; `on` is the instance whose decision it
    was about, where that is."""

    level: str
    decision: Decision
    place: int
    said: str
    on: str = ""
    part: bool = False  # in part only


class Won(NamedTuple):
    """Who had won after an instance, and the words that say so."""

    winner: int
    place: int
    said: str


class Course(NamedTuple):
    """How a case went.

    Attributes:
        won: Who had won after each instance.
        beside: What is told beside that, by its kind and instance.
        appeals: Appeals to an instance that is not named, with whose each is.
        reviews: Of each instance whether the decision before stands by it.
        told: The instances of which anything is told.
        final: Whether nothing is left open at the end.
    """

    won: Mapping[str, Won]
    beside: Mapping[str, Won]
    appeals: Sequence[tuple[int, Won]]
    reviews: Mapping[str, Won]
    told: frozenset[str]
    final: bool


def course(
    sentences: Sequence[str], who: Parties, known: Course | None = None
) -> Course:
    """How a case went by the sentences. An instance of which they tell two things is left out;
    somebody who is named counts before a claim, and that before what became of the decision before,
    which is that of `known` where the sentences do not tell of it."""
    told: dict[str, list[Step]] = {}
    beside: dict[str, list[Step]] = {}
    appeals = []
    for step in steps(sentences, who, known):
        one = step.decision
        if one.how in (LAW, END, COSTS):
            level = step.level if one.how == LAW else ""
            beside.setdefault(f"{one.how} {level}".strip(), []).append(step)
        elif one.how == APPEAL:
            if one.owner is not None and one.winner is not None:
                appeals.append((one.owner, Won(one.winner, step.place, step.said)))
        else:
            told.setdefault(step.level, []).append(step)
    found: dict[str, Won] = {}
    # where nobody is known, whoever had won before
    before = None if who.claimant or who.other else 0
    for level in LEVELS:
        own = [
            each
            for each in told.get(level, ())
            if not each.part or each.decision[2:4] == (CLAIMED, 0)
        ]
        if not own:
            if told.get(level):
                before = None
            elif known is not None and level in known.told:
                before = known.won[level].winner if level in known.won else None
            continue
        won = _agreed(own, before, found, known)
        before = None
        if len(won) == 1:
            found[level] = won[0]
            before = won[0].winner
        elif not won and known is not None and level in known.won:
            before = known.won[level].winner  # what is told says nothing else
    one_way = {
        name: every[-1]
        for name, every in beside.items()
        if len({each.decision.winner for each in every}) == 1
    }
    last = max((LEVELS.index(level) for level in told if level), default=0)
    final = LEVELS[last] in found and not any(
        each.part or each.decision.how == REMANDED
        for each in told.get(LEVELS[last], ())
    )
    return Course(
        found,
        {
            name: Won(each.decision.winner or 0, each.place, each.said)
            for name, each in one_way.items()
        },
        appeals,
        _reviews(told),
        frozenset(told),
        final,
    )


def _reviews(told: Mapping[str, Sequence[Step]]) -> Mapping[str, Won]:
    """Of each instance whether the decision before stands (1) or falls (0), if all that is told of it
    says the same, and no other instance is named as the one reviewed."""
    found = {}
    for level, every in told.items():
        ways = {}
        for step in every:
            one = step.decision
            stands = int(one.how == STANDS)
            if one.owner is not None:
                stands = int(one.winner != one.owner)
            elif one.how not in (STANDS, FALLS, RESTORED):
                stands = 2  # another thing
            ways[2 if step.part or step.on else stands] = step
        if len(ways) == 1 and 2 not in ways:
            (stands, step), *_ = ways.items()
            found[level] = Won(stands, step.place, step.said)
    return found


def _agreed(
    own: Sequence[Step],
    before: int | None,
    found: Mapping[str, Won],
    known: Course | None,
) -> list[Won]:
    """Who had won by what is told of one instance: nobody where that is not known, and both where
    two things are told."""
    reviewed = {
        step.place
        for step in own
        if step.decision.how in (STANDS, FALLS, RESTORED) and not step.on
    }
    if known is None and len(reviewed) > 1:
        # an instance that decides twice does so on its own decision
        return [Won(n, own[0].place, own[0].said) for n in (0, 1)]
    for hows in STRICT if known is None else TIERS:
        said = {
            winner: Won(winner, step.place, step.said)
            for step in own
            if step.decision.how in hows
            and (winner := _winner(step, before, found, known)) is not None
        }
        if said:
            return list(said.values())
    return []


def _winner(
    step: Step, before: int | None, found: Mapping[str, Won], known: Course | None
) -> int | None:
    """Who has won by a decision, if who had won before it is known."""
    one = step.decision
    if one.winner is not None:
        return one.winner
    elsewhere = known.won if known is not None else {}
    if step.on and step.on != step.level:
        on = found.get(step.on) or elsewhere.get(step.on)
        if on is not None:
            return on.winner if one.how in (STANDS, RESTORED) else 1 - on.winner
    if one.how == RESTORED and before is None and "trial" in found:
        return found["trial"].winner
    if before is None:
        return None
    return before if one.how == STANDS else 1 - before


def differences(reference: Course, text: Course) -> Iterator[tuple[Won, Won]]:
    """What a text tells otherwise than its reference. Of instances only the first, since the
    others may follow from it."""
    for level in LEVELS:
        other = text.won.get(level)
        names = (level, *LIKE.get(level, ()))
        like = next((name for name in names if name in reference.told), "")
        # what the text tells of the other by its own name is not told of twice
        right = reference.won.get(
            like if like == level or like not in text.told else ""
        )
        if other is not None and right is not None and right.winner != other.winner:
            yield right, other
            return
    for level, other in text.reviews.items():
        right = reference.reviews.get(level)
        both = level in reference.won and level in text.won
        if right is not None and right.winner != other.winner and not both:
            yield right, other
            return
    last = [level for level in LEVELS if level in reference.won][-1:]
    for name, other in text.beside.items():
        right = reference.beside.get(name)
        if name == END and reference.final and last:
            right = reference.won[last[0]]
        if name == LAW:
            laws = [reference.beside.get(f"{LAW} {level}") for level in LEVELS]
            right = next((law for law in reversed(laws) if law is not None), right)
        if right is not None and right.winner != other.winner:
            yield right, other
    for owner, other in text.appeals:
        decided = list(_decided(reference, owner))
        if decided and all(right.winner != other.winner for right in decided):
            yield decided[-1], other


def _decided(reference: Course, owner: int) -> Iterator[Won]:
    """What became of the appeals that a side had reason for: it had lost before."""
    known = [reference.won.get(level) for level in LEVELS if level in reference.told]
    for before, after in zip(known, known[1:], strict=False):
        if before is not None and after is not None and before.winner != owner:
            yield after


def steps(
    sentences: Sequence[str], who: Parties, known: Course | None = None
) -> Iterator[Step]:
    """What each instance decided, in the order in which it is told."""
    last = mentioned = ""
    recent: tuple[int, ...] = ()  # the parties that the sentence before names
    for place, sentence in enumerate(sentences):
        text = plain(sentence)
        text = _REASON[who.language].sub(lambda match: " " * len(match[0]), text)
        seen, first_here, decisions = 0, last, _decisions(text, who, recent, known)
        every = _instances(text)
        named = [each for each in every if not _reviewed(text, each[0], decisions)]
        for one in decisions:
            wished = compiled(_source("wished")).search(_before(text, one.start))
            if undecided(text, one.end) or wished:
                continue
            said = sentence[one.start : one.end]
            part = in_part(text, one.start, one.end)
            if one.how in (END, COSTS, LAW) and part:
                continue
            if one.how in (END, COSTS):
                yield Step("", one, place, said)
                continue
            levels = _deciding(text, named, one, seen)
            if len(levels) > 1 and known is not None:
                levels = [level for level in levels if level in known.told]
            on = _object(text, every, one) if one.winner is None else ""
            passive = _PASSIVE.search(text[: one.start]) is not None
            if on and passive and levels == [on]:
                levels = []
            if not levels and one.owner is not None and one.how == NAMED:
                yield Step("", one._replace(how=APPEAL), place, said, part=part)
                continue
            if not levels and not last and one.how == THING:
                yield Step("", one._replace(how=END), place, said, part=part)
                continue
            if not levels and not last and one.how == LAW:
                yield Step("", one, place, said, part=part)
                continue
            generic = _GENERIC.search(_before(text, one.start)) is not None
            claim = one.how == CLAIMED or compiled(_source("appeals", "claims")).search(
                text[one.start : one.end]
            )
            first = ["trial"] if claim and not last and not generic else []
            above = passive and (bool(on) or last == first_here != "")
            follows = [_above(on or last, known)] if above else [last]
            if generic and mentioned:
                follows = [mentioned]
            levels = levels or first or follows
            for level in dict.fromkeys(levels):
                if level:
                    yield Step(level, one, place, said, on, part)
            last, seen = levels[-1] or last, one.end
        mentioned = every[-1][1] if every else mentioned
        recent = tuple(n for _, n in who.found(sentence)) or recent


def _deciding(
    text: str, named: Sequence[tuple[int, str]], one: Decision, seen: int
) -> list[str]:
    """The instances that a sentence names for a decision: by a preposition behind it, or else the
    last one before; of an appeal, behind what was decided before it."""
    since = seen if one.owner is not None else 0
    levels = [
        level
        for at, level in named
        if since <= at < one.end
        and not (_AGENT.search(text[:at]) and _APART.search(text[at : one.start]))
    ]
    if _SEVERAL.search(text[seen : one.end]) is not None:
        levels = [level for at, level in named if seen <= at < one.end]
    else:
        levels = levels[-1:]
    every = compiled(_source("every")).search(text[seen : one.end + REACH])
    if every is not None:
        return ["trial", "appeal"]
    behind = re.match(
        rf"[\w$.' ]{{0,40}}?(?P<court>{_BEFORE_WHOM}.{{0,60}})",
        text[one.end : one.end + 2 * REACH],
    )
    if behind is not None:
        there = _instances(_ELSEWHERE.split(behind["court"])[0])
        if there and there[0][0] <= (NEXT if levels else WITHIN):
            return [level for _, level in there]
    return levels


def _object(text: str, named: Sequence[tuple[int, str]], one: Decision) -> str:
    """The instance whose decision is reviewed, where it is named behind an active verb, or before a
    passive one: "upheld the trial court's ruling", "a sentença foi mantida"."""
    before = text[: one.start]
    if _PASSIVE.search(before) is not None:
        clause = max(before.rfind(mark) for mark in (",", ";", "."))
        inside = [
            level
            for at, level in named
            if clause < at < one.start
            and not _ADVERBIAL.search(text[:at])
            and not text[at:].startswith(("on ", "at ", "em ", "na "))
        ]
        return inside[-1] if inside else ""
    clause = re.split(_AWAY, text[one.end :][:NEAR])[0]
    inside = [level for at, level in named if one.end <= at < one.end + len(clause)]
    return inside[0] if inside else ""


def _before(text: str, start: int) -> str:
    """What stands before a place in its clause."""
    return re.split(r"[,;.:]", text[:start])[-1]


def _reviewed(text: str, at: int, decisions: Sequence[Decision]) -> bool:
    """Whether an instance is named as the one whose decision is reviewed, right behind the verb."""
    return any(
        _BETWEEN.fullmatch(text[one.end : at]) is not None
        for one in decisions
        if one.how not in (END, COSTS) and one.end < at
    )


def _above(level: str, known: Course | None) -> str:
    """The instance that decides next: of those that the reference tells of, where it is known."""
    if level not in LEVELS:
        return ""
    higher = LEVELS[LEVELS.index(level) + 1 :]
    if known is not None:
        higher = tuple(each for each in higher if each in known.told)
    elif level == "below":
        higher = ("trial",)
    return higher[0] if higher else ""


def _decisions(
    text: str, who: Parties, recent: tuple[int, ...], known: Course | None
) -> list[Decision]:
    """What verbs say; of two that overlap what names a party, else the longest. Costs are read
    where the reference tells of them."""
    sentence = _Sentence(text, who, recent)
    costs = list(sentence.costs()) if known is None or COSTS in known.beside else []
    for one in costs:
        sentence.text = blanked(sentence.text, one.start, one.end)
    reviews = list(sentence.reviews())
    things = list(sentence.things(reviews))
    won = [*sentence.won_behind(reviews), *sentence.won_before(), *sentence.verdicts()]
    laws, ends = list(sentence.laws()), list(sentence.ends())
    found = [
        *sentence.appeals(),
        *things,
        *won,
        *laws,
        *ends,
        *sentence.claims(),
        *reviews,
    ]
    rank = (NAMED, END, LAW, THING, CLAIMED)
    found.sort(
        key=lambda each: (
            each.owner is None,
            rank.index(each.how) if each.how in rank else len(rank),
            each.start - each.end,
        )
    )
    apart: list[Decision] = costs
    for one in found:
        if not any(one.start < other.end and other.start < one.end for other in apart):
            apart.append(one)
    return sorted(apart, key=lambda each: (each.start, each.end))


class _Sentence:
    """A plain sentence, with who is named in it, and in the sentence before."""

    def __init__(self, text: str, who: Parties, recent: tuple[int, ...]) -> None:
        self.text, self.who, self.recent = text, who, recent
        self.named = who.found(text)
        self.negators = word_set("negators", who.language)

    def matches(self, *name: str) -> Iterator[re.Match[str]]:
        return compiled(_source(*name)).finditer(self.text)

    def denied(self, match: re.Match[str]) -> bool:
        """Whether a negator stands close before a verb."""
        close = self.text[max(0, match.start() - 25) : match.start()]
        close = re.split(r",| (?:and|e) ", close)[-1]
        return not self.negators.isdisjoint(words(close)[-3:])

    def within(self, start: int, end: int) -> list[int]:
        """The parties that are named from one place to another."""
        return [n for at, n in self.named if start <= at < end]

    def meant(self, pronoun: str, start: int, place: int) -> list[int]:
        """Whom a pronoun at a place stands for: of those named before it, or else in the sentence
        before, the first for the subject of a verb (`place` 0) and the last for its object (-1)."""
        only = self.who.meant(pronoun)
        if only is not None:
            return [only]
        before = self.within(0, start)[-1:] or list(self.recent)
        return before[place:][:1]

    def reviews(self) -> Iterator[Decision]:
        """What became of the decision before."""
        for name, how in (
            ("keeps", STANDS),
            ("falls", FALLS),
            ("restores", RESTORED),
            ("remands", REMANDED),
        ):
            for match in self.matches(name):
                own = match[0].startswith(("nao", "declined", "refused", "did not"))
                turned = self.denied(match) and not own
                told = {STANDS: FALLS, FALLS: STANDS, RESTORED: STANDS}
                if how != REMANDED or not turned:
                    yield Decision(*match.span(), told[how] if turned else how)

    def things(self, reviews: Sequence[Decision]) -> Iterator[Decision]:
        """What became of a decision that is for one side, whoever made it: a conviction that stands,
        a dismissal that is vacated."""
        if not self.who.asked:
            return
        kind = "criminal" if self.who.criminal else "civil"
        undone = (
            Decision(*match.span(), STANDS if self.denied(match) else FALLS)
            for match in self.matches("undoes")
        )
        for one in (*(each for each in reviews if each.how != REMANDED), *undone):
            before = re.split(r"[,;.:]", self.text[: one.start])[-1][-NEAR:]
            behind = re.split(r"[,;.:]", self.text[one.end :])[0][:NEAR]
            verb = self.text[one.start : one.end]
            subject = _PASSIVE.search(before) or _ALONE.match(verb)
            for side, source in enumerate(lexicon("course")["things"][kind]):
                thing = compiled(source)
                if thing.search(before if subject else behind):
                    winner = side if one.how in (STANDS, RESTORED) else 1 - side
                    yield Decision(one.start, one.end, THING, winner)
                    break

    def verdicts(self) -> Iterator[Decision]:
        """Who has won a criminal case by a conviction or an acquittal."""
        if self.who.criminal:
            for name, winner in (
                ("convicts", 0),
                ("acquits", 1),
                ("refuses_freedom", 0),
            ):
                for match in self.matches(name):
                    if match[0].strip() and not self.denied(match):
                        yield Decision(*match.span(), NAMED, winner)

    def won_behind(self, reviews: Sequence[Decision]) -> Iterator[Decision]:
        """Who is named behind a verb as the winner or the loser; of a pronoun there, who is named
        last before it."""
        for name, winner in (("wins_after", 0), ("loses_after", 1)):
            for match in self.matches(name):
                end = match.end()
                phrase = _PHRASE.split(self.text[end : end + REACH])[0]
                near = self.within(end, end + len(phrase) + 1)
                pronoun = _PRONOUN.match(self.text[end:])
                own = match[0].split()[1] if match[0].startswith(_OWN) else ""
                if pronoun is not None or own:
                    near = self.meant(pronoun[1] if pronoun else own, match.start(), -1)
                # "the judgment against the orchard was reversed" tells what became of it
                told_of = any(0 <= each.start - end <= UNDONE for each in reviews)
                noun = told_of and _NOUN.match(match[0])
                noun = noun or (
                    match[0].startswith("agreed")
                    and _JUDGE.search(self.text[: match.start()])
                )
                if near and not noun and not self.denied(match):
                    yield Decision(*match.span(), NAMED, abs(winner - near[0]))
        for match in self.matches("gives_them"):
            near = self.meant("", match.start(), -1)
            if near and not self.denied(match):
                yield Decision(*match.span(), NAMED, near[0])

    def won_before(self) -> Iterator[Decision]:
        """Who is named before a verb as the winner or the loser; without any, who is named first in
        the sentence before."""
        for name, winner in (("wins_before", 0), ("loses_before", 1)):
            for match in self.matches(name):
                clause = max(self.text.rfind(mark, 0, match.start()) for mark in ";:(")
                near = [
                    n
                    for at, n in self.named
                    if clause <= at < match.start()
                    and not _OBJECT.search(self.text[:at])
                    and not _OWNED.match(self.text[at:])
                ]
                if _HELD.search(self.text[: match.start()]):
                    continue  # a reason, not what became of the case
                if match[0].endswith(("vencer", "perder")):
                    near = self.within(match.end(), match.end() + REACH)[:1]
                subject = _SUBJECTS.search(self.text[: match.start()])
                if subject is not None:
                    near = self.meant(subject[1], match.start(), 0)
                elif not near and _NO_SUBJECT.search(self.text[: match.start()]):
                    owned = self.within(0, match.start())[-1:]
                    near = owned or self.meant("", match.start(), 0)
                if near and not self.denied(match):
                    yield Decision(*match.span(), NAMED, abs(winner - near[-1]))

    def appeals(self) -> Iterator[Decision]:
        """What became of an appeal, for whoever it is of: "the landlord's appeal failed", "negou
        provimento ao recurso da empresa"."""
        for noun in self.matches("appeals", "nouns"):
            if self.text[: noun.start()].endswith(("on ", "em ")):
                continue
            start, end, owner = self._owned(noun)
            alone = compiled(_source("appeals", "alone")).fullmatch(noun[0])
            verb = self._active(start) or self._passive(end)
            if verb is None or (owner is None and alone is None):
                continue
            claim = compiled(_source("appeals", "claims")).fullmatch(noun[0])
            span, succeeds = verb
            place = min(start, span[0]), max(noun.end(), span[1])
            if owner is None:
                yield Decision(*place, FALLS if succeeds else STANDS)
            else:
                winner = owner if succeeds else 1 - owner
                yield Decision(*place, NAMED, winner, None if claim else owner)

    def _owned(self, noun: re.Match[str]) -> tuple[int, int, int | None]:
        """Where an appeal is named from and to, and whose it is."""
        before, behind = self.text[: noun.start()], self.text[noun.end() :]
        whose = re.search(r"(?P<whom>[\w .-]{2,40})(?:'s|s') $", before)
        if whose is not None:
            inside = self.within(*whose.span("whom"))
            start = max(
                (at for at, _ in self.named if at < noun.start()), default=noun.start()
            )
            return (start, noun.end(), inside[-1]) if inside else (*noun.span(), None)
        of = re.match(
            r"(?: (?:interpost|apresentad|ajuizad)[oa])? (?:d[aeo]s?|pel[oa]s?|by|of)"
            r" (?P<whom>[\w .'-]{2,40})",
            behind,
        )
        if of is not None:
            start, end = (noun.end() + at for at in of.span("whom"))
            places = [(at, n) for at, n in self.named if start <= at < end]
            if places:
                return noun.start(), places[0][0], places[0][1]
        theirs = re.match(r" (?:dele|dela|deles|delas)\b", behind)
        own = re.search(r"\b(his|her|its|their|seu|sua) $", before)
        if theirs or own:
            near = self.meant(own[1] if own else "", noun.start(), -1)
            named = {*self.within(0, noun.start()), *self.recent}
            if near and (len(named) == 1 or self.who.person is not None):
                return *noun.span(), near[0]
        return *noun.span(), None

    def _active(self, start: int) -> tuple[tuple[int, int], bool] | None:
        """The verb right before an appeal, and whether the appeal succeeds by it."""
        for name, succeeds in (("denies", False), ("grants", True)):
            for match in self.matches("appeals", name):
                between = self.text[match.end() : start]
                if match.end() <= start and re.fullmatch(
                    r" ?(?:(?:the|an?|his|her|its|their|ao?s?|os?|d[oae]s?|seu|sua|de) ?)*",
                    between,
                ):
                    own = match[0].startswith(("nao", "nem", "sequer", "did"))
                    turned = not own and self.denied(match)
                    return match.span(), succeeds != turned
        return None

    def _passive(self, end: int) -> tuple[tuple[int, int], bool] | None:
        """The verb behind an appeal in its clause, and whether it succeeds."""
        clause = _ANOTHER.split(self.text[end:])[0][: 2 * REACH]
        found = []
        for name, succeeds in (("succeeds", True), ("fails", False), ("unheard", True)):
            for match in self.matches("appeals", name):
                if end <= match.start() < end + len(clause):
                    turned = self.denied(match)
                    if name != "unheard" or turned:
                        found.append((match.span(), succeeds != turned))
        # "conhecido e desprovido": the first, unless another verb stands with it
        return min(found) if found else None

    def claims(self) -> Iterator[Decision]:
        """What is granted or refused to who asked for it."""
        if self.who.criminal or not self.who.asked:
            return
        for name, winner in (("given", 0), ("refused", 1)):
            for match in self.matches("claims", name):
                theirs = _COUNTER.search(self.text[: match.start()])
                if not self.denied(match) and theirs is None:
                    yield Decision(*match.span(), CLAIMED, winner)
        thing = compiled(_source("claims", "objects"))
        for name, winner in (("gives", 0), ("takes", 1)):
            for match in self.matches("claims", name):
                behind = re.match(
                    r"(?: (?:the|an?|his|her|its|their|this|that|o|os|as?|seu|sua))?"
                    r"(?: [\w'-]+){0,2}? ?",
                    self.text[match.end() :],
                )
                assert behind is not None
                after = self.text[match.end() : match.end() + NEAR]
                active = re.match(
                    r" (?:(?:the|an?|his|her|its|their|o|os|as?|seu|sua) )?"
                    rf"(?:[\w'-]+ ){{0,2}}?{thing.pattern}",
                    after,
                )
                before = self.text[max(0, match.start() - NEAR) : match.start()]
                passive = re.search(
                    rf"{thing.pattern}(?: [\w'-]+){{0,3}}"
                    r" (?:was|were|is|been|foi|foram|fora|restou|julgad[oa]) (?:\w+ )?$",
                    before,
                )
                if (active or passive) and not self.denied(match):
                    yield Decision(*match.span(), CLAIMED, winner)

    def laws(self) -> Iterator[Decision]:
        """Whether a law, a tax or a measure holds: the noun stands in the clause of the verb."""
        nouns = compiled("|".join([*lexicon()["laws"][:-1], _source("laws", "nouns")]))
        for name, winner in (("void", 1), ("valid", 0)):
            for match in self.matches("laws", name):
                around = (
                    re.split(r"[,;.:]", self.text[: match.start()])[-1][-NEAR:],
                    re.split(r"[,;.:]", self.text[match.end() :])[0][:NEAR],
                    match[0],
                )
                decision = compiled(_DECISION).search(around[1])
                if any(map(nouns.search, around)) and not decision:
                    turned = self.denied(match)
                    yield Decision(*match.span(), LAW, 1 - winner if turned else winner)

    def ends(self) -> Iterator[Decision]:
        """Who pays in the end, and who gets something or nothing."""
        for name, winner in (("pays", 1), ("gets", 0), ("gets_nothing", 1)):
            for match in self.matches(name):
                near = self.within(match.start() - REACH, match.start())[-1:]
                first = near or list(self.recent[-1:])
                if first:
                    lost = winner if not self.denied(match) else 1 - winner
                    if match[0].startswith(("need not", "owes nothing")):
                        lost = 0
                    yield Decision(*match.span(), END, abs(lost - first[0]))

    def costs(self) -> Iterator[Decision]:
        """Who bears the costs."""
        for noun in self.matches("costs", "nouns"):
            start = max(
                (each.end() for each in _CLAUSE.finditer(self.text, 0, noun.start())),
                default=0,
            )
            stop = _STOP.search(self.text, noun.end())
            end = stop.start() if stop is not None else len(self.text)
            clause = self.text[start:end]
            paid = compiled(_source("costs", "to")).search(clause)
            by = compiled(_source("costs", "by")).search(clause)
            verb = paid or by
            if verb is None:
                continue
            before = self.within(start, start + verb.start())
            behind = self.within(start + verb.end(), end)
            award = verb[0].startswith("award")
            near = behind[:1] if award else before[-1:] or behind[:1]
            if near:
                yield Decision(start, end, COSTS, near[0] if paid else 1 - near[0])


_COUNTER = re.compile(
    r"\b(?:embargos|reconvencao|excecao|impugnacao|contestacao)\b[^.;]*$"
)
_ANOTHER = re.compile(
    r"[;.:]|, (?:but|mas|e|and|where|which|who|that|onde|que|em que|so|while|enquanto) "
)
_CLAUSE = re.compile(r"[,;.](?!\d) ?| (?:and|but|e|mas) ")
_STOP = re.compile(r"[;.](?!\d)| (?:and|but|e|mas) ")
_BETWEEN = re.compile(
    r" (?:(?:the|an?|that|this|os?|as?|essa|esta|aquela|tal|sua) )?"
    r"(?:\w+ (?:of|d[aeo]) (?:the |os? |as? )?)?"
)
_ALONE = re.compile(
    r"surviv|stood|stand|remain|resisti|sobreviv|subsist|prevalece|caiu|fic|segu|continua|perman|volt"
)
_PASSIVE = re.compile(
    r"\b(?:was|were|been|is|be|foi|foram|fora|sido|ser|seja) (?:\w+ ){0,2}$"
)
_AWAY = r"[,;.:]| (?:by|pel[oa]|and|e|after|when|where|which|that|que|depois|quando|onde|as) "
_AGENT = re.compile(r"\b(?:by|pel[oa]s?) (?:the |an? )?$")
_APART = re.compile(r",(?! (?:que|which|who)\b)")
_ADVERBIAL = re.compile(
    r"\b(?:by|in|before|at|on|from|pel[oa]s?|n[oa]s?|em|perante) (?:the |an? |o )?$"
)
_PHRASE = re.compile(r"[,;.:(]| (?:that|que|because|and|but|e|mas|holding) ")
_PRONOUN = re.compile(
    r"\W*(her|him|them|it|its|his|their|ela|ele|elas|eles|dela|dele)\b"
)
_GENERIC = re.compile(
    r"\b(?:the court|the panel|o tribunal|a corte|a turma|a camara) (?!of\b)"
)
_SUBJECTS = re.compile(r"\b(he|she|it|they|ele|ela|eles|elas) (?:\w+ ){0,2}$")
_OWNED = re.compile(r"[\w-]+'")
_HELD = re.compile(
    r"\b(?:held|found|concluded|reasoned|noted|explained|wrote|said|stressed|observed|ruled"
    r"|decidiu|entendeu|afirmou|concluiu|considerou|disse) (?:\w+ )?(?:that|que)\b[^;]*$"
)
_NO_SUBJECT = re.compile(
    r"(?:^|[,;:(]|\b(?:and|but|then|e|mas|depois))"
    r"(?: ?(?:(?:in|at|on|before|em|n[ao]s?|perante|depois d[aeo]|apos)\b[^,;:(]*|\w+)?,?)? ?$"
)
_SEVERAL = re.compile(r"\b(both|ambos|ambas|tanto|all (three )?courts)\b")
_ELSEWHERE = re.compile(
    r"[,:;.]|\bbut\b|\bmas\b| and (?!again|also|then)| e (?!tambem|depois|de novo)"
)
_OBJECT = re.compile(
    r"\b(contra|against|from|to|with|com|of|d[aeo]s?|a favor d[aeo]s?)"
    r"( (the|an?|o|as?|os)| \w+)?(?: [\w'-]+){0,1} $"
)
_JUDGE = re.compile(
    r"\b(?:justice|judge|ministr[oa]|desembargadora?) (?:[\w.'-]+ ){1,3}$"
)
_NOUN = re.compile(r"judgment|verdict|ruling|award")
_OWN = ("in its", "in his", "in her", "in their")
_DECISION = (
    "judgments?|decisions?|rulings?|orders?|verdicts?|convictions?|sentencas?|acordaos?"
    "|decis(ao|oes)|condenac(ao|oes)"
)


@functools.cache
def _source(*name: str) -> str:
    """A pattern of course.yaml; of several, any."""
    source = lexicon("course")
    for key in name:
        source = source[key]
    return "|".join(source) if isinstance(source, list) else str(source)


@functools.cache
def _levels() -> tuple[tuple[str, re.Pattern[str]], ...]:
    own, known = lexicon("course")["levels"], lexicon()["levels"]
    forms = []
    for name in LEVELS:
        courts = known.get(name, "").replace("|jury|", "|")
        forms.append((name, compiled(f"{own[name]}|{courts}" if courts else own[name])))
    return tuple(forms)


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
