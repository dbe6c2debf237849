"""Finds what a summary says wrongly: what contradicts its reference, what stands in no source, what
it hedges.

Every rule is lenient. One that finds a contradiction wants two things: that the text says something
else, and that it does not say the right thing where it speaks of it. So a summary that leaves
things out, or says true things besides, contradicts nothing. One that finds an invention only says
that it did not find something: a name is known if each of its words stands anywhere in a source, a
number if it stands there of whatever, and small numbers are never asked for, because a reader
counts. What it does not know is what is said with the sources' own words: who did another's deed.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.constructs.faithfulness.facts import course, reading
from undogmatic.constructs.faithfulness.facts.parties import parties
from undogmatic.constructs.faithfulness.facts.reading import (
    NAME,
    Role,
    Value,
    agree,
    alike,
    counted,
    outcomes,
    values,
)
from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    blanked,
    compiled,
    content,
    language_of,
    lexicon,
    pattern,
    plain,
    stem,
    word_set,
    words,
)

CONTRADICTED, INVENTED, HEDGED = "contradicted", "invented", "hedged"


def is_sure(source: str, kind: str, least: float) -> bool:
    """Whether a `kind` of accusation (date, name, ...) by `source` (CONTRADICTED, INVENTED or
    HEDGED) is more precise than the share `least`.

    The precision is (right + 1) / (all + 2), Laplace's rule of succession: what was seen a few
    times is not sure, though it was right each time (above .9 after nine of nine); what was never
    seen is at .5. precision.yaml has both counts.
    """
    right, every = lexicon("precision")[source].get(kind, (0, 0))
    return bool((right + 1) / (every + 2) > least)


# similarity above which a sentence that says the right thing excuses another
NEARBY = 0.30
NEARLY_THE_SAME = (
    0.75  # similarity above which a differing value needs no words around it in common
)
# similarity at which two sentences that are each other's best match are about the same event
QUITE_ALIKE = 0.60
# so little less similar, a sentence of the text may have the value of another one of the reference
EXCUSE = 0.15
WINDOW = 6  # words around a value that say what it is about


class Accusation(NamedTuple):
    """One thing that a sentence of the text says wrongly, or that no source has."""

    kind: (
        # date, vote, number, outcome, negation or party; citation, name, number, date or event
        str
    )
    place: int  # the sentence
    said: str  # what it says, in its words
    # what the reference says, in its words, where that is another thing
    expected: str = ""


class TwoTexts(NamedTuple):
    """Two texts in one language, by their sentences."""

    reference: Sequence[str]
    text: Sequence[str]
    similarity: NDArray[np.float64]  # cosines, shape (n_reference, n_text)
    aligned: float  # similarity from which two sentences are about the same
    language: Language

    def near(self, sentence: int, least: float) -> list[int]:
        """The text's sentences at least so similar to one of the reference, the most similar
        first."""
        cosines = self.similarity[sentence]
        return [
            int(n) for n in np.argsort(-cosines, kind="stable") if cosines[n] >= least
        ]

    def others(
        self, n: int, k: int, anywhere: bool, slack: float = 0.0
    ) -> Iterator[str]:
        """Sentences of the reference but `n`: those that sentence `k` of the text resembles as much
        as it, or all."""
        for m, sentence in enumerate(self.reference):
            if m != n and (
                anywhere or self.similarity[m, k] >= self.similarity[n, k] - slack
            ):
                yield sentence


def contradictions(
    reference: Sequence[str],
    text: Sequence[str],
    similarity: NDArray[np.float64],
    aligned: float,
) -> list[Accusation | None]:
    """For every sentence of the reference the first contradiction that a rule finds, or None.

    Args:
        reference, text: Sentences.
        similarity: Cosine of each of the reference with each of the text, shape (n_reference,
            n_text).
        aligned: Similarity from which two sentences are about the same; where none is, nothing is
            said.
    """
    both = TwoTexts(
        reference, text, similarity, aligned, language_of(" ".join(reference))
    )
    return [
        next((one for rule in RULES for one in rule(both, n)), None)
        for n in range(len(reference))
    ]


def _votes(both: TwoTexts, n: int) -> Iterator[Accusation]:
    """As other values, but where each side counts votes but once, those are compared wherever they
    stand. A court that decides "4-5" has decided by its minority: only what fails, does so by such
    a vote."""
    yield from _values(both, n, "vote")
    yield from _turned_votes(both, n)
    sides = [
        [
            (k, value)
            for k, sentence in enumerate(side)
            for value in values(sentence, both.language)
            if counted(value)
        ]
        for side in (both.reference, both.text)
    ]
    if all(len({value.parts for _, value in side}) == 1 for side in sides):
        (place, right), (k, other) = (side[0] for side in sides)
        if place == n and not agree(right, other):
            yield Accusation("vote", k, other.said, right.said)


def _turned_votes(both: TwoTexts, n: int) -> Iterator[Accusation]:
    for right in (
        each for each in values(both.reference[n], both.language) if counted(each)
    ):
        for k in both.near(n, both.aligned):
            same = [
                v
                for v in values(both.text[k], both.language)
                if v.kind == "vote" and v.parts == right.parts
            ]
            turned = [v for v in same if v.minority_first and not right.minority_first]
            if (
                turned
                and len(turned) == len(same)
                and not pattern("outvoted").search(plain(both.text[k]))
            ):
                yield Accusation("vote", k, turned[0].said, right.said)


def _values(both: TwoTexts, n: int, kind: str) -> Iterator[Accusation]:
    """Values that the text nowhere near gives, while it gives another of the kind that the
    reference has not there."""
    expected = [
        value
        for value in values(both.reference[n], both.language)
        if value.kind == kind
    ]
    expected = [
        value for value in expected if counted(value)
    ] or expected  # "by a majority of 3 to 2" is 3 to 2
    for value in expected:
        nearby, near = (
            [
                (k, other)
                for k in both.near(n, least)
                for other in values(both.text[k], both.language)
            ]
            for least in (NEARBY, both.aligned)
        )
        # What is not comparable never agrees.
        if any(
            agree(value, other) and (counted(other) or not counted(value))
            for _, other in nearby
        ):
            continue
        for k, other in nearby if kind == "vote" else near:
            if not reading.comparable(value, other):
                continue
            # A whole date is that date wherever it stands.
            whole = other.kind == "date" and None not in other.parts
            elsewhere = (
                each
                for more in both.others(n, k, whole, EXCUSE)
                for each in values(more, both.language)
            )
            if any(agree(each, other) for each in chain(expected, elsewhere)):
                continue
            gap = abs((value.parts[0] or 0) - (other.parts[0] or 0))
            rounded = kind == "number" and gap <= reading.room(other, both.text[k])
            if not rounded and (
                kind == "vote" or _same_place(both, n, k, value, other)
            ):
                yield Accusation(kind, k, other.said, value.said)


def _same_place(both: TwoTexts, n: int, k: int, value: Value, other: Value) -> bool:
    """Whether two values are of the same thing: in nearly the same sentences, or among the same
    words; dates also in sentences that are each other's best match, but (unless nearly the same)
    only if a part of them is right.
    """
    if both.similarity[n, k] >= NEARLY_THE_SAME:
        return True
    if value.kind == "date":
        if not any(
            a is not None and a == b
            for a, b in zip(value.parts, other.parts, strict=True)
        ):
            return False  # of which nothing is right is the date of another event
        mutual = (
            both.similarity[n].argmax() == k and both.similarity[:, k].argmax() == n
        )
        if mutual and both.similarity[n, k] >= QUITE_ALIKE:
            return True
    around = []
    for sentence, each in ((both.reference[n], value), (both.text[k], other)):
        before, after = (
            words(sentence[: each.start]),
            words(sentence[each.start + len(each.said) :]),
        )
        around.append(
            set(content(" ".join([*before[-WINDOW:], *after[:WINDOW]]), both.language))
        )
    return bool((around[0] & around[1]) - value.units)


def _outcomes(both: TwoTexts, n: int) -> Iterator[Accusation]:
    """Outcomes turned round, unless a sentence at least as similar, or of the very instance, says
    the right one; or another of the reference, which the text's resembles more or which is not of
    the same level, says just that.
    """
    here = outcomes(both.reference[n], both.language)
    for right in (
        one for one in here if not any(alike(one, other, turned=True) for other in here)
    ):
        nearby = [
            (m, other)
            for m in both.near(n, NEARBY)
            for other in outcomes(both.text[m], both.language)
        ]
        for k in both.near(n, both.aligned):
            there = outcomes(both.text[k], both.language)
            wrong = next(
                (other for other in there if alike(right, other, turned=True)), None
            )
            if wrong is None or any(alike(right, other) for other in there):
                continue
            said_right = any(
                (right.level not in ("", wrong.level) and right.level == other.level)
                or both.similarity[n, m] >= both.similarity[n, k]
                for m, other in nearby
                if alike(right, other)
            )
            unplaced = right.level != wrong.level or not wrong.level
            more = both.others(n, k, anywhere=unplaced)
            elsewhere = (
                each for sentence in more for each in outcomes(sentence, both.language)
            )
            if not said_right and not any(alike(wrong, each) for each in elsewhere):
                yield Accusation("outcome", k, wrong.said, right.said)


def _negations(both: TwoTexts, n: int) -> Iterator[Accusation]:
    for k in both.near(n, max(both.aligned, 0.6)):
        denied = reading.turned(both.reference[n], both.text[k], both.language)
        if denied is not None and both.similarity[:, k].argmax() == n:
            yield Accusation("negation", k, denied[1], denied[0])


def _roles(
    both: TwoTexts,
    n: int,
    read: Callable[[str], Sequence[Role]],
    faces: Callable[[str, str], bool],
    quoted: Callable[[str], Sequence[Role]] | None = None,
) -> Iterator[Accusation]:
    """Somebody with another role, which faces the one that the reference gives, and which it
    nowhere gives. `quoted` reads the reference, where that is another reading."""
    in_text = [
        (k, role) for k, sentence in enumerate(both.text) for role in read(sentence)
    ]
    for right in (quoted or read)(both.reference[n]):
        said = [(k, role) for k, role in in_text if role.who & right.who]
        known = {
            role.what
            for sentence in both.reference
            for role in read(sentence)
            if role.who & right.who
        }
        unsaid = all(role.what != right.what for _, role in said)
        for k, role in said:
            never_both = {right.what, role.what} == {"writes", "dissents"}
            if role.what not in known and (
                never_both or (unsaid and faces(right.what, role.what))
            ):
                yield Accusation("party", k, role.said, right.said)


def _winning(both: TwoTexts, n: int) -> Iterator[Accusation]:
    """The other side wins, or the same one loses; excused as an outcome is."""
    here = reading.winners(both.reference[n], both.language)
    for right in (
        one
        for one in here
        if not any(_same_winner(one, other, turned=True) for other in here)
    ):
        nearby = [
            (m, other)
            for m in both.near(n, NEARBY)
            for other in reading.winners(both.text[m], both.language)
        ]
        for k in both.near(n, both.aligned):
            there = reading.winners(both.text[k], both.language)
            wrong = next(
                (other for other in there if _same_winner(right, other, turned=True)),
                None,
            )
            if wrong is None or any(_same_winner(right, other) for other in there):
                continue
            said_right = any(
                both.similarity[n, m] >= both.similarity[n, k]
                for m, other in nearby
                if _same_winner(right, other)
            )
            more = both.others(n, k, anywhere=True)
            elsewhere = (
                each
                for sentence in more
                for each in reading.winners(sentence, both.language)
            )
            if not said_right and not any(
                _same_winner(wrong, each) for each in elsewhere
            ):
                yield Accusation("party", k, wrong.said, right.said)


def _same_winner(one: Role, other: Role, turned: bool = False) -> bool:
    """Whether two sentences on who won before one court say the same; or `turned`, cannot both be
    true. That the plaintiff wins is that the defendant loses."""
    if one.level != other.level and {one.level, other.level} != {"", "top"}:
        return False
    known = bool(one.side and other.side)
    faces = known and reading.opposite(one.side, other.side)
    same = bool(one.who & other.who) or (known and one.side == other.side)
    return (same and not faces) if (one.what == other.what) != turned else faces


def _doing(both: TwoTexts, n: int) -> Iterator[Accusation]:
    """Who did it and to whom it was done are exchanged."""
    for right in reading.deeds(both.reference[n], both.language):
        verb, *whom = right.what.split()
        for k in both.near(n, both.aligned):
            same = [
                other
                for other in reading.deeds(both.text[k], both.language)
                if other.what.split()[0] == verb
            ]
            if not any(right.who & other.who for other in same):
                for other in same:
                    if right.who & {*other.what.split()[1:]} and other.who & {*whom}:
                        yield Accusation(
                            "party",
                            k,
                            f"{other.said} {other.what}",
                            f"{right.said} {right.what}",
                        )


@functools.lru_cache(maxsize=64)
def _courses(
    reference: tuple[str, ...], text: tuple[str, ...], language: Language
) -> tuple[tuple[course.Won, course.Won], ...]:
    """Where the text tells another course of the case than the reference."""
    who = parties(reference, language)
    known = course.course(reference, who)
    return tuple(course.differences(known, course.course(text, who, known)))


def _course(both: TwoTexts, n: int) -> Iterator[Accusation]:
    """Somebody else has won before an instance, or in the end."""
    for right, other in _courses(
        tuple(both.reference), tuple(both.text), both.language
    ):
        if right.place == n:
            yield Accusation("winner", other.place, other.said, right.said)


RULES: tuple[Callable[[TwoTexts, int], Iterator[Accusation]], ...] = (
    _votes,
    functools.partial(_values, kind="date"),
    _outcomes,
    functools.partial(
        _roles,
        read=reading.judges,
        faces=lambda own, other: True,
        quoted=functools.partial(reading.judges, says=True),
    ),
    _winning,
    functools.partial(_roles, read=reading.named_sides, faces=reading.opposite),
    _doing,
    _course,
    functools.partial(_values, kind="number"),
    _negations,
)
"""In the order in which they are asked; the first that finds something names the kind."""


class Hedge(NamedTuple):
    """A hedged statement."""

    place: int  # of the sentence of the text
    reference: int  # the place of what the reference says of it
    said: tuple[str, ...]  # the phrases
    outcome: bool  # whether an outcome is what it is about


def phrases(sentence: str, language: Language) -> tuple[str, ...]:
    """The hedges of a sentence."""
    matches = compiled(lexicon("support")["hedges"][language]).finditer(plain(sentence))
    return tuple(sentence[match.start() : match.end()].strip(" ,") for match in matches)


def hedges(
    reference: Sequence[str],
    text: Sequence[str],
    similarity: NDArray[np.float64],
    aligned: float,
) -> list[Hedge]:
    """The statements of a text that are hedged there and not in the reference; the arguments are
    those of `contradictions`. What another sentence of the text says much better (EXCUSE) is not
    hedged."""
    language, original = language_of(" ".join(text)), language_of(" ".join(reference))
    hedged = []
    for place, sentence in enumerate(text):
        n = int(similarity[:, place].argmax())
        doubts = phrases(sentence, language)
        best = similarity[n].max() - similarity[n, place] <= EXCUSE
        if (
            doubts
            and best
            and similarity[n, place] >= aligned
            and not phrases(reference[n], original)
        ):
            ends = bool(outcomes(sentence, language)) and bool(
                outcomes(reference[n], original)
            )
            hedged.append(Hedge(place, n, doubts, ends))
    return hedged


SMALL = (
    # up to here a number without a currency or per cent may be counted by whoever summarises
    20
)
BEGINNING = 5  # letters that two forms of a name share ("Brazil", "Brazilian")
FEWEST, KNOWN = 5, 2
"""An event needs so many words that carry content, and so many of them from the sources: else it
may be filler."""
STRANGE = 0.5  # share of an event's words that no source has
# characters before a word that say whether any word would have a capital there
REACH = 20
_PARTY = (
    rf"(?<!\w){NAME}(?:(?: (?:&|of|and|the|for|d[aeo]s?))? (?:{NAME}|[A-Z]\.)){{0,8}}"
)
_CASE = re.compile(
    rf"(?P<one>{_PARTY}) (?:v|vs|versus)\.? (?P<other>{_PARTY})|(?:In re|Ex parte|Matter of)"
    rf" (?P<alone>{_PARTY})"
)
_REPORTER = re.compile(
    r"(?<![\w.])(?P<volume>\d{1,4}) (?P<series>[A-Z][\w.]{0,20}\.[\w. ]{0,20}?) ?§*"
    r" ?(?P<page>\d+)(?!\w)"
)
_YEAR = re.compile(r"(?:,? \([^()\d]{0,25}\d{4}\))?")
_REGISTER = re.compile(
    r"\d{7}-\d{2}\.\d{4}\.\d\.\d{2}\.\d{4}|(?<!\w)(?:[A-Z]{1,3}-\d{2,4}|\d{2}-[A-Z]{1,3})-\d+"
)
_CUT = re.compile(r"(?<![\w.])\d{1,4} [A-Z][\w.]{0,10}\.$")
_DEFINED = re.compile(
    r"(?:^|\s)(?:the|an?|this|that|its|os?|as?|d[oa]s?|n[oa]s?|um|uma|ao)\s$",
    re.IGNORECASE,
)
"""Before a single word with a capital: a term ("the Employer") as likely as a name."""
_NUMBER = r"(?:\d[\d./-]*|[ivxlc]+(?!\w))"


class Citation(NamedTuple):
    """A statute, case or docket in a sentence: what sort it is, what identifies it, and where it
    stands."""

    label: str
    key: str
    start: int
    end: int


class Sources:
    """What the sources of a summary have, by their sentences."""

    def __init__(self, sentences: tuple[str, ...]) -> None:
        text = " ".join(sentences)
        self.language = language_of(text)
        known = [
            value for sentence in sentences for value in values(sentence, self.language)
        ]
        counts = (
            part
            for value in known
            if value.kind != "date"
            for part in value.parts
            if part is not None
        )
        # of whatever
        self.numbers = {
            *counts,
            *map(reading.digits, re.findall(r"\d+(?:[.,]\d+)*", text)),
        }
        self.dates = [value for value in known if value.kind == "date"]
        self.citations = {
            one[:2] for sentence in sentences for one in citations(sentence)
        }
        self.vocabulary, self.stems = (
            {*words(plain(text))},
            {*content(text, self.language)},
        )
        self.long = tuple(word for word in self.vocabulary if len(word) > BEGINNING)
        capitals = (
            "".join(name[0] for name in re.findall(NAME, sentence))
            for sentence in sentences
        )
        self.initials = plain(" ".join(capitals))  # by which an abbreviation is known

    def know(self, word: str) -> bool:
        """Whether a name, a form of it, or what an abbreviation stands for is in a source."""
        if word.isupper() and plain(word) in self.initials:
            return True
        for piece in {
            piece for piece in words(plain(word).removesuffix("'s")) if len(piece) > 2
        } - self.vocabulary:
            begins = piece.startswith(self.long) or any(
                other.startswith(piece[:-1]) for other in self.vocabulary
            )
            if len(piece) <= BEGINNING or not begins:
                return False
        return True

    def cite(self, one: Citation) -> bool:
        """Whether a citation is in a source; of a case, whether the names of its parties are."""
        if one.label == "case":
            heads = [
                [word for word in words(party) if len(word) > 2]
                for party in one.key.split(" v. ")
            ]
            return all(
                not party or {party[0], party[-1]} & self.vocabulary for party in heads
            )
        return one[:2] in self.citations or (
            one.label == "docket" and one.key in {key for _, key in self.citations}
        )

    def tell(self, value: Value, sentence: str) -> bool:
        """Whether a date or number is in a source, or is none that is asked for."""
        if value.kind == "date":
            return any(agree(value, other) for other in self.dates)
        number, near = value.parts[0] or 0, reading.room(value, sentence)
        priced = bool(value.units & {"%", "$", "r$", "us$", "€", "£"})
        ordinal = any(unit.startswith("the n-th") for unit in value.units)
        unasked = value.kind == "vote" or ordinal or (number <= SMALL and not priced)
        return unasked or any(abs(number - other) <= near for other in self.numbers)


_sources = functools.lru_cache(maxsize=16)(Sources)


def inventions(
    text: Sequence[str], given: Sequence[str], events: bool
) -> list[Accusation]:
    """What stands in the text and in no source, in the text's order; both are sentences. With
    `events`, also events without a name or number, which takes sources that say everything."""
    known, language = (
        _sources(tuple(each for _, each in _rejoined(given))),
        language_of(" ".join(text)),
    )
    new: list[Accusation] = []
    for place, sentence in _rejoined(text):
        cited = citations(sentence)
        new += [
            Accusation("citation", place, sentence[one.start : one.end])
            for one in cited
            if not known.cite(one)
        ]
        rest = sentence  # without its citations and the years behind them
        for one in cited:
            year = _YEAR.match(rest[one.end :])
            rest = blanked(rest, one.start, one.end + (year.end() if year else 0))
        read = values(rest, language)
        for value in read:
            if not known.tell(value, rest):
                # A price takes along the one letter of the next word.
                said = re.sub(
                    r" \w$", "", rest[value.start : value.start + len(value.said)]
                )
                new.append(Accusation(value.kind, place, said))
        names = list(_names(rest, language))
        new += [
            Accusation("name", place, name)
            for name, asked in names
            if not all(map(known.know, asked))
        ]
        if not events or cited or read or names or language != known.language:
            continue
        carrying = content(sentence, language)
        strange = [word for word in carrying if word not in known.stems]
        # An event has something of the case; half of it is new.
        if len(carrying) >= max(FEWEST, KNOWN + len(strange)) and len(
            strange
        ) >= STRANGE * len(carrying):
            past = compiled(lexicon("support")["past"][language])
            verbs = (word for word in words(plain(sentence)) if past.fullmatch(word))
            new += [
                Accusation("event", place, verb)
                for verb in verbs
                if stem(verb, language) in strange
            ][:1]
    return new


def _rejoined(sentences: Sequence[str]) -> list[tuple[int, str]]:
    """The sentences with their places; where one was cut within a reporter ("97 Jeff. | App. 211"),
    both as one."""
    whole: list[tuple[int, str]] = []
    for place, sentence in enumerate(sentences):
        if (
            whole
            and _CUT.search(whole[-1][1])
            and re.match(r"[A-Z][\w.]*\.? ?\d|\d|§", sentence)
        ):
            whole[-1] = (whole[-1][0], f"{whole[-1][1]} {sentence}")
        else:
            whole.append((place, sentence))
    return whole


def citations(sentence: str) -> list[Citation]:
    """The citations in a sentence; of two that overlap the first found."""
    every: list[Citation] = []
    for match in _CASE.finditer(sentence):
        parties = map(plain, filter(None, match.groups()))
        every.append(Citation("case", " v. ".join(parties), *match.span()))
    for match in _REPORTER.finditer(sentence):
        if plain(match["series"]).strip(". ") not in reading.months():
            every.append(
                Citation(
                    "reporter", f"{match['volume']} {match['page']}", *match.span()
                )
            )
    every += [
        Citation("docket", plain(match[0]), *match.span())
        for match in _REGISTER.finditer(sentence)
    ]
    for label, form in _labels():
        for match in form.finditer(plain(sentence)):
            end = match.start() + len(
                sentence[match.start() : match.end()].rstrip(" .,/-")
            )
            for number in re.findall(_NUMBER, match["numbers"]):
                if number[0].isdigit() or label == "section":
                    key = number.replace(".", "").split("/")[0].rstrip("-")
                    every.append(Citation(label, key, match.start(), end))
    apart: list[Citation] = []
    for one in every:
        others = (each for each in apart if each[2:] != one[2:])
        if not any(one.start < each.end and each.start < one.end for each in others):
            apart.append(one)
    return sorted(apart, key=lambda one: one.start)


@functools.cache
def _labels() -> tuple[tuple[str, re.Pattern[str]], ...]:
    ordinal = r"[ºª°]?(?:-[a-z](?!\w))?"
    more = rf"{_NUMBER}{ordinal}(?:(?:, | e | and | & |, e |, and ){_NUMBER}{ordinal}(?![\w%]))*"
    return tuple(
        (
            name,
            re.compile(
                rf"(?<![\w.])(?:{source})(?: (?:nos?\.|n\.|n[ºo°]s?\.?))? ?(?P<numbers>{more})"
            ),
        )
        for name, source in lexicon("support")["labels"].items()
    )


def _names(sentence: str, language: Language) -> Iterator[tuple[str, list[str]]]:
    """The names in a sentence, each with those of its words that a source must have. A heading has
    none."""
    long = [word for word in re.findall(r"[^\W\d_]+", sentence) if len(word) > 3]
    if sum(word[0].isupper() for word in long) > 0.7 * len(
        long
    ) and not sentence.rstrip().endswith("."):
        return
    generic = (names.split() for names in lexicon("support")["generic"].values())
    # words that may have a capital
    nobody = word_set("stop", language).union(reading.months(), *generic)
    for match in re.finditer(rf"{NAME}(?:(?: d[aeo]s?)? {NAME})*", sentence):
        parts, named = (
            [
                (part[0], match.start() + part.start())
                for part in re.finditer(NAME, match[0])
            ],
            [],
        )
        for word, start in parts:
            own, before = (
                plain(word).removesuffix("'s"),
                sentence[max(0, start - REACH) : start],
            )
            first = start <= REACH and re.search(r"[^\W\d_]", before) is None
            # where any word has a capital
            begins = first or re.search(r"[.:;!?“\"(«‘]\s?[\W\d_]*$", before)
            if not begins and len(own) > 2 and own not in nobody:
                named.append(word)
        label = sentence[match.end() : match.end() + 1] == ":"
        defined = len(parts) == 1 and _DEFINED.search(
            sentence[max(0, match.start() - REACH) : match.start()]
        )
        if named:
            yield match[0], [] if label or defined else named
