"""Reads what verbs say of the course of a case in one sentence.

A decision stands or falls, a claim is granted or refused, an appeal succeeds, somebody won, pays or
bears the costs.

What the verbs and nouns are stands in course.yaml.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from undogmatic.constructs.faithfulness.facts.parties import Parties
from undogmatic.constructs.faithfulness.facts.words import (
    blanked,
    compiled,
    grammar,
    lexicon,
    source,
    word_set,
    words,
)

UNDONE = 45  # characters between a judgment and the verb that says what became of it
REACH = 70  # characters beside a verb in which its party or its court is named
NEXT = 12  # characters of a preposition and an article before a court or a party
NEAR = 40  # characters between a verb and what it is said of

NAMED, THING, CLAIMED, STANDS, FALLS, RESTORED, REMANDED = (
    "named",  # somebody won or lost
    "thing",  # what became of a decision for one side, as a conviction
    "claimed",  # a claim is granted or refused
    "stands",  # what became of the decision before
    "falls",
    "restored",
    "remanded",
)
LEFT = "left"  # as "stands", of what was not restored
REVIEWS = (STANDS, FALLS, RESTORED, LEFT)
LAW, END, COSTS, APPEAL = "law", "end", "costs", "appeal"
"""What is told beside who won: whether a law is valid, who pays in the end, who bears the costs,
and what became of somebody's appeal to an instance that is not named."""


class Decision(NamedTuple):
    """What a verb says, from `start` to `end`.

    Attributes:
        how: One of the words above.
        winner: 0 for the claimant (of a law: valid), 1 for the other side; None where that follows
            from the decision before.
        owner: Whose appeal it is, where it is one.
    """

    start: int
    end: int
    how: str
    winner: int | None = None
    owner: int | None = None


def decisions(
    text: str, who: Parties, recent: tuple[int, ...], costs_told: bool
) -> list[Decision]:
    """What verbs say; of two that overlap what names a party, else the longest. Costs are read
    where they are told of in the reference, too."""
    sentence = _Sentence(text, who, recent)
    costs = list(sentence.costs()) if costs_told else []
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
        self.stop = word_set("stop function", who.language)
        self.negators = word_set("negators", who.language)

    def matches(self, *name: str) -> Iterator[re.Match[str]]:
        return compiled(source(*name)).finditer(self.text)

    def denied(self, match: re.Match[str]) -> bool:
        """Whether a negator stands close before a verb."""
        close = self.text[max(0, match.start() - 25) : match.start()]
        close = grammar("joins").split(close)[-1]
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
                own = grammar("denies_itself").match(match[0]) is not None
                turned = self.denied(match) and not own
                told = {STANDS: FALLS, FALLS: STANDS, RESTORED: LEFT}
                if how != REMANDED or not turned:
                    yield Decision(*match.span(), told[how] if turned else how)

    def things(self, reviews: Sequence[Decision]) -> Iterator[Decision]:
        """What became of a decision that is for one side, whoever made it: a conviction that
        stands, a dismissal that is vacated."""
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
            subject = grammar("passive").search(before) or grammar("alone").match(verb)
            for side, form in enumerate(lexicon("course")["things"][kind]):
                thing = compiled(form).search(before if subject else behind)
                if thing is not None:
                    winner = side if one.how in (STANDS, RESTORED) else 1 - side
                    whose = self._condemned(one, thing) if not subject else None
                    if whose is not None:
                        winner = abs(whose - (one.how in (STANDS, RESTORED)))
                    yield Decision(one.start, one.end, THING, winner)
                    break

    def _condemned(self, one: Decision, thing: re.Match[str]) -> int | None:
        """Who is condemned, where "a condenação do banco" names them."""
        start = one.end + thing.end()
        of = grammar("of").match(self.text[start:])
        if of is None or not grammar("condemns").match(thing[0]):
            return None
        near = self.within(start + of.end(), start + of.end() + NEXT)
        return near[0] if near else None

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
                phrase = grammar("phrase").split(self.text[end : end + REACH])[0]
                near = self.within(end, end + len(phrase) + 1)
                pronoun = grammar("pronoun").match(self.text[end:])
                its = grammar("own").match(match[0])
                own = its[1] if its is not None else ""
                whose = grammar("possessive").match(self.text[end:])
                if whose is not None and whose[1] not in self.stop:
                    near = self.within(end, end + REACH)  # "her neighbor, Martin Hale"
                elif pronoun is not None and grammar("agrees_with").search(match[0]):
                    near = []  # with a judge
                elif pronoun is not None or own:
                    near = self.meant(pronoun[1] if pronoun else own, match.start(), -1)
                # "the judgment against the orchard was reversed" tells what became of it
                told_of = any(0 <= each.start - end <= UNDONE for each in reviews)
                noun = told_of and grammar("noun").match(match[0])
                noun = noun or (
                    grammar("agrees").match(match[0])
                    and grammar("judge").search(self.text[: match.start()])
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
                    and not grammar("object").search(self.text[:at])
                    and not _OWNED.match(self.text[at:])
                ]
                if grammar("held").search(self.text[: match.start()]):
                    continue  # a reason, not what became of the case
                if grammar("infinitive").search(match[0]):
                    near = self.within(match.end(), match.end() + REACH)[:1]
                subject = grammar("subjects").search(self.text[: match.start()])
                if subject is not None:
                    near = self.meant(subject[1], match.start(), 0)
                elif not near and grammar("no_subject").search(
                    self.text[: match.start()]
                ):
                    owned = self.within(0, match.start())[-1:]
                    near = owned or self.meant("", match.start(), 0)
                if near and not self.denied(match):
                    yield Decision(*match.span(), NAMED, abs(winner - near[-1]))

    def appeals(self) -> Iterator[Decision]:
        """What became of an appeal, for whoever it is of: "the landlord's appeal failed", "negou
        provimento ao recurso da empresa"."""
        for noun in self.matches("appeals", "nouns"):
            if grammar("about_it").search(self.text[: noun.start()]):
                continue
            start, end, owner = self._owned(noun)
            alone = compiled(source("appeals", "alone")).fullmatch(noun[0])
            verb = self._active(start) or self._passive(end)
            if verb is None or (owner is None and alone is None):
                continue
            claim = compiled(source("appeals", "claims")).fullmatch(noun[0])
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
        whose = grammar("genitive").search(before)
        if whose is not None:
            inside = self.within(*whose.span("whom"))
            start = max(
                (at for at, _ in self.named if at < noun.start()), default=noun.start()
            )
            return (start, noun.end(), inside[-1]) if inside else (*noun.span(), None)
        of = grammar("owner").match(behind)
        if of is not None:
            start, end = (noun.end() + at for at in of.span("whom"))
            places = [(at, n) for at, n in self.named if start <= at < end]
            if places:
                return noun.start(), places[0][0], places[0][1]
        theirs = grammar("theirs").match(behind)
        own = grammar("possessive_before").search(before)
        if theirs or own:
            near = self.meant(own[1] if own else "", noun.start(), -1)
            named = {*self.within(0, noun.start())}
            only = own is not None and self.who.meant(own[1]) is not None
            if near and (len(named) == 1 or only):
                return *noun.span(), near[0]
        return *noun.span(), None

    def _active(self, start: int) -> tuple[tuple[int, int], bool] | None:
        """The verb right before an appeal, and whether the appeal succeeds by it."""
        for name, succeeds in (("denies", False), ("grants", True)):
            for match in self.matches("appeals", name):
                between = self.text[match.end() : start]
                if match.end() <= start and grammar("to_appeal").fullmatch(between):
                    own = grammar("denies_hearing").match(match[0]) is not None
                    turned = not own and self.denied(match)
                    return match.span(), succeeds != turned
        return None

    def _passive(self, end: int) -> tuple[tuple[int, int], bool] | None:
        """The verb behind an appeal in its clause, and whether it succeeds."""
        clause = grammar("another").split(self.text[end:])[0][: 2 * REACH]
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
                theirs = grammar("counter").search(self.text[: match.start()])
                if not self.denied(match) and theirs is None:
                    yield Decision(*match.span(), CLAIMED, winner)
        for name, winner in (("gives", 0), ("takes", 1)):
            for match in self.matches("claims", name):
                after = self.text[match.end() : match.end() + NEAR]
                active = grammar("asked_active").match(after)
                before = self.text[max(0, match.start() - NEAR) : match.start()]
                passive = grammar("asked_passive").search(before)
                by_party = any(
                    _DIRECTLY.fullmatch(self.text[at : match.start()])
                    for at, _ in self.named
                )
                if (passive or (active and not by_party)) and not self.denied(match):
                    yield Decision(*match.span(), CLAIMED, winner)

    def laws(self) -> Iterator[Decision]:
        """Whether a law, a tax or a measure holds: the noun stands in the clause of the verb."""
        nouns = compiled("|".join([*lexicon()["laws"][:-1], source("laws", "nouns")]))
        for name, winner in (("void", 1), ("valid", 0)):
            for match in self.matches("laws", name):
                around = (
                    re.split(r"[,;.:]", self.text[: match.start()])[-1][-NEAR:],
                    re.split(r"[,;.:]", self.text[match.end() :])[0][:NEAR],
                    match[0],
                )
                decision = compiled(lexicon("course")["grammar"]["decision"]).search(
                    around[1]
                )
                if any(map(nouns.search, around)) and not decision:
                    turned = self.denied(match)
                    yield Decision(*match.span(), LAW, 1 - winner if turned else winner)

    def ends(self) -> Iterator[Decision]:
        """Who pays in the end, and who gets something or nothing."""
        for name, winner in (("pays", 1), ("gets", 0), ("gets_nothing", 1)):
            for match in self.matches(name):
                before = self.text[max(0, match.start() - NEAR) : match.start()]
                near = self.within(match.start() - NEAR, match.start())[-1:]
                subject = grammar("subjects").search(self.text[: match.start()])
                if not near and subject is not None:
                    near = self.meant(subject[1], match.start(), 0)
                if near and grammar("anybody").search(before) is None:
                    lost = winner if not self.denied(match) else 1 - winner
                    if grammar("owes_nothing").match(match[0]):
                        lost = 0
                    yield Decision(*match.span(), END, abs(lost - near[0]))

    def costs(self) -> Iterator[Decision]:
        """Who bears the costs."""
        for noun in self.matches("costs", "nouns"):
            start = max(
                (
                    each.end()
                    for each in grammar("clause").finditer(self.text, 0, noun.start())
                ),
                default=0,
            )
            stop = grammar("stop").search(self.text, noun.end())
            end = stop.start() if stop is not None else len(self.text)
            clause = self.text[start:end]
            paid = compiled(source("costs", "to")).search(clause)
            by = compiled(source("costs", "by")).search(clause)
            verb = paid or by
            if verb is None:
                continue
            before = self.within(start, start + verb.start())
            behind = self.within(start + verb.end(), end)
            award = grammar("award").match(verb[0])
            near = behind[:1] if award else before[-1:] or behind[:1]
            if near:
                yield Decision(start, end, COSTS, near[0] if paid else 1 - near[0])


_DIRECTLY = re.compile(r"\w+(?: \w+)? ")
_OWNED = re.compile(r"[\w-]+'")
