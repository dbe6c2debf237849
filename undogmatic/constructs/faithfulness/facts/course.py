"""Follows a case through the courts: who had won after each instance, as far as a text tells it.

A sentence says that a decision stands or falls, that a claim is granted or refused, that an appeal
succeeds, or that somebody won. So "the jury found for Mercer" and "the verdict was put back" can be
held against each other, though no word is the same. Where a text does not say which instance
decides, or who won before, only what the reference tells in its place is read.
"""

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.decisions import (
    APPEAL,
    CLAIMED,
    COSTS,
    END,
    LAW,
    LEFT,
    NAMED,
    NEAR,
    NEXT,
    REACH,
    REMANDED,
    RESTORED,
    REVIEWS,
    STANDS,
    THING,
    Decision,
    decisions,
)
from undogmatic.constructs.faithfulness.facts.parties import LONGEST, Parties
from undogmatic.constructs.faithfulness.facts.reading import in_part, undecided
from undogmatic.constructs.faithfulness.facts.words import (
    compiled,
    grammar,
    lexicon,
    plain,
    source,
)

LEVELS = ("below", "jury", "trial", "appeal", "top")
WITHIN = 30  # as many, where no other court is named

STRICT = ((NAMED, THING, CLAIMED, *REVIEWS), (REMANDED,))
TIERS = ((NAMED,), (THING, CLAIMED), REVIEWS, (REMANDED,))


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
        _stood(told),
        frozenset(told),
        final,
    )


def _stood(told: Mapping[str, Sequence[Step]]) -> Mapping[str, Won]:
    """Of each instance whether the decision before stands (1) or falls (0), if all that is told of
    it says the same, and no other instance is named as the one reviewed."""
    found = {}
    for level, every in told.items():
        ways = {}
        for step in every:
            one = step.decision
            stands = int(one.how in (STANDS, LEFT))
            if one.owner is not None:
                stands = int(one.winner != one.owner)
            elif one.how not in REVIEWS:
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
        step.place for step in own if step.decision.how in REVIEWS and not step.on
    }
    before_that = {
        step.place for step in own if step.decision.how in (NAMED, THING, CLAIMED)
    }
    twice = before_that and reviewed and min(before_that) < min(reviewed)
    if known is None and (len(reviewed) > 1 or twice):
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
    if step.on and step.on != step.level and one.how != LEFT:
        on = found.get(step.on) or elsewhere.get(step.on)
        if on is not None:
            return on.winner if one.how in (STANDS, RESTORED) else 1 - on.winner
    if one.how == RESTORED and before is None and "trial" in found:
        return found["trial"].winner
    if before is None:
        return None
    return before if one.how in (STANDS, LEFT) else 1 - before


def differences(reference: Course, text: Course) -> Iterator[tuple[Won, Won]]:
    """What a text tells otherwise than its reference. Of instances only the first, since the
    others may follow from it."""
    for level in LEVELS:
        other = text.won.get(level)
        right = reference.won.get(level)
        if other is not None and right is not None and right.winner != other.winner:
            yield right, other
            return
    for level, other in text.reviews.items():
        right = reference.reviews.get(level)
        unknown = level not in reference.won
        if right is not None and right.winner != other.winner and unknown:
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
    for before, after in itertools.pairwise(known):
        if before is not None and after is not None and before.winner != owner:
            yield after


def steps(
    sentences: Sequence[str], who: Parties, known: Course | None = None
) -> Iterator[Step]:
    """What each instance decided, in the order in which it is told."""
    reader = _Reader(who, known)
    for place, sentence in enumerate(sentences):
        yield from reader.read(place, sentence[:LONGEST])


class _Reader:
    """Reads sentence after sentence which instance decided what.

    Attributes:
        last: The instance that decided last.
        mentioned: The instance that a sentence before names last.
        recent: The parties that the sentence before names.
    """

    def __init__(self, who: Parties, known: Course | None) -> None:
        self.who, self.known = who, known
        self.last = self.mentioned = ""
        self.recent: tuple[int, ...] = ()

    def read(self, place: int, sentence: str) -> Iterator[Step]:
        """What one sentence tells."""
        text = plain(sentence)
        text = grammar(f"reason_{self.who.language}").sub(
            lambda match: " " * len(match[0]), text
        )
        costs_told = self.known is None or COSTS in self.known.beside
        told = decisions(text, self.who, self.recent, costs_told)
        every, seen = _instances(text), 0
        named = [each for each in every if not _reviewed(text, each[0], told)]
        for one in told:
            if undecided(text, one.end) or _in_clause("wished", text, one.start):
                continue
            said, part = sentence[one.start : one.end], _in_part(text, one)
            on = _object(text, every, one) if one.winner is None else ""
            levels, on = self._levels(text, named, one, seen, on)
            beside = self._beside(text, one, levels)
            if beside is not None:
                if not part:
                    yield Step("", beside, place, said)
                continue
            levels = levels or self._follows(text, one)
            for level in dict.fromkeys(levels):
                if level and not (part and one.how == LAW):
                    yield Step(level, one, place, said, on, part)
            self.last, seen = (levels or [self.last])[-1] or self.last, one.end
            if len(levels) > 1:
                seen += len(text[one.end : one.end + REACH].split(",")[0])
        self.mentioned = every[-1][1] if every else self.mentioned
        named_here = tuple(n for _, n in self.who.found(sentence))
        self.recent = named_here or self.recent

    def _levels(
        self,
        text: str,
        named: Sequence[tuple[int, str]],
        one: Decision,
        seen: int,
        on: str,
    ) -> tuple[list[str], str]:
        """The instances that a sentence names for a decision, of several those that the reference
        tells of, and the one whose decision is reviewed."""
        levels = _deciding(text, named, one, seen)
        if len(levels) > 1 and self.known is not None:
            levels = [level for level in levels if level in self.known.told]
        if (
            one.how in REVIEWS
            and grammar("passive").search(text[: one.start]) is not None
        ):
            acting = [at for at, _ in named if at < one.start]
            only = acting and not _adverbial(text, acting[-1])
            if len(levels) == 1 and only and not _acts_behind(text, one):
                return [], on or levels[0]
        return levels, on

    def _beside(
        self, text: str, one: Decision, levels: Sequence[str]
    ) -> Decision | None:
        """What is told without an instance, and is no step of the course."""
        if one.how in (END, COSTS):
            return one
        if levels:
            return None
        if one.how == NAMED and one.owner is not None:
            return one._replace(how=APPEAL)
        at_last = compiled(source("finally")).search(text) is not None
        if (one.how == NAMED and at_last) or (one.how == THING and not self.last):
            return one._replace(how=END)
        return one if one.how == LAW and not self.last else None

    def _follows(self, text: str, one: Decision) -> list[str]:
        """The instance of a decision for which the sentence names none: that of "the court" is the
        one named last, that of a claim the first one, and else the one that decided last."""
        generic = _in_clause_of(grammar("generic"), text, one.start)
        claim = one.how == CLAIMED or compiled(source("appeals", "claims")).search(
            text[one.start : one.end]
        )
        if claim and not self.last and not generic:
            return ["trial"]
        if generic and self.mentioned:
            return [self.mentioned]
        # a text tells the end first; where it names no instance, it may be any
        return [] if self.known is not None else [self.last]


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
        and not (
            grammar("agent").search(text[:at])
            and grammar("apart").search(text[at : one.start])
        )
    ]
    if grammar("several").search(text[seen : one.end]) is not None:
        levels = [level for at, level in named if seen <= at < one.end]
    else:
        levels = levels[-1:]
    behind = text[one.end : one.end + REACH].split(",", maxsplit=1)[0]
    around = f"{text[seen : one.start]} {behind}"
    if compiled(source("every")).search(around) is not None:
        return ["trial", "appeal"]
    there = _acts_behind(text, one)
    if there and there[0][0] <= (NEXT if levels else WITHIN):
        return [level for _, level in there]
    return levels


def _acts_behind(text: str, one: Decision) -> list[tuple[int, str]]:
    """The instances that a preposition names behind a verb, with their places behind that."""
    behind = grammar("acts_behind").match(text[one.end : one.end + 2 * REACH])
    return (
        _instances(grammar("elsewhere").split(behind["court"])[0])
        if behind is not None
        else []
    )


def _object(text: str, named: Sequence[tuple[int, str]], one: Decision) -> str:
    """The instance whose decision is reviewed, where it is named behind an active verb, or before a
    passive one: "upheld the trial court's ruling", "a sentença foi mantida"."""
    before = text[: one.start]
    if grammar("passive").search(before) is not None:
        clause = max(before.rfind(mark) for mark in (",", ";", "."))
        inside = [
            level
            for at, level in named
            if clause < at < one.start and not _adverbial(text, at)
        ]
        return inside[-1] if inside else ""
    behind = grammar("away").split(text[one.end :][:NEAR])[0]
    inside = [level for at, level in named if one.end <= at < one.end + len(behind)]
    return inside[0] if inside else ""


def _adverbial(text: str, at: int) -> bool:
    """Whether an instance is named by "in the ..." or "by the ..."."""
    itself = grammar("in_court").match(text[at:]) is not None
    return itself or grammar("adverbial").search(text[:at]) is not None


def _in_clause_of(form: re.Pattern[str], text: str, start: int) -> bool:
    """Whether a pattern is found before a place in its clause."""
    return form.search(re.split(r"[,;.:]", text[:start])[-1]) is not None


def _in_clause(name: str, text: str, start: int) -> bool:
    return _in_clause_of(compiled(source(name)), text, start)


def _in_part(text: str, one: Decision) -> bool:
    """Whether something falls in part only: "in part", "to reduce the damages"."""
    lowered = compiled(source("lowers")).search(text[one.end : one.end + NEAR])
    return in_part(text, one.start, one.end) or lowered is not None


def _reviewed(text: str, at: int, told: Sequence[Decision]) -> bool:
    """Whether an instance is named as the one whose decision is reviewed, right behind the verb."""
    return any(
        grammar("between").fullmatch(text[one.end : at]) is not None
        for one in told
        if one.how not in (END, COSTS) and one.end < at
    )


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
