"""Reads the facts of a sentence: dates, votes and numbers, how things ended, what is denied, and
who is or did what."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Literal, NamedTuple

from undogmatic.constructs.faithfulness.facts.words import (
    NAME,
    Language,
    blanked,
    compiled,
    content,
    lexicon,
    pattern,
    plain,
    stem,
    word_set,
    words,
)

MOST_VOTES = 30
ROUNDED = 0.1  # how far a number may lie from that of the source behind "about"
UNANIMOUS, DIVIDED = (1, 0), (1, 1)


class Value(NamedTuple):
    """A value in a sentence. Its parts are year, month, day (None where not said) of a date; votes
    for and against, without numbers (1, 0) for unanimous and (1, 1) for divided; or one number."""

    kind: Literal["date", "vote", "number"]
    parts: tuple[float | None, ...]
    # of a number, the stems of what is counted; of anything else empty
    units: frozenset[str]
    said: str  # as it stands in the sentence
    start: int  # where it stands
    # of a vote, whether the smaller of two numbers is said first
    minority_first: bool = False


def agree(one: Value, other: Value) -> bool:
    """Whether both may be true of the same thing: a year agrees with any day in it, 9-0 with
    "unanimous"."""
    if not comparable(one, other):
        return False
    if counted(one) == counted(other):
        return all(
            a is None or b is None or a == b
            for a, b in zip(one.parts, other.parts, strict=True)
        )
    numbers, words_alone = (one, other) if counted(one) else (other, one)
    return (numbers.parts[1] == 0) == (words_alone.parts == UNANIMOUS)


def comparable(one: Value, other: Value) -> bool:
    """Whether both are of one kind, and numbers of the same things."""
    return one.kind == other.kind and (
        one.kind != "number" or bool(one.units & other.units)
    )


def counted(value: Value) -> bool:
    """Whether it is a vote in numbers."""
    return value.kind == "vote" and value.parts not in (UNANIMOUS, DIVIDED)


def room(value: Value, sentence: str) -> float:
    """How far a number of a sentence may lie from the one that it stands for: a little behind
    "about", else 0."""
    before, about = (
        plain(sentence)[max(0, value.start - 30) : value.start],
        lexicon("support")["about"],
    )
    rounded = re.search(rf"(?<!\w){about}$", f"{before} ") or re.search(
        f"{about}$", before
    )
    return ROUNDED * (value.parts[0] or 0) if rounded else 1e-9


@functools.lru_cache(maxsize=20_000)
def values(sentence: str, language: Language) -> tuple[Value, ...]:
    """The dates, votes and numbers of a sentence, citations left out."""
    text = plain(sentence)
    for source in (*map(compiled, lexicon()["citations"]), _YEARS):
        text = source.sub(lambda match: " " * len(match[0]), text)
    read: list[Value] = []
    for finder in (_dates, _votes, _numbers):
        for value in finder(text, language):
            read.append(value)
            text = blanked(text, value.start, value.start + len(value.said))
    return tuple(sorted(read, key=lambda value: value.start))


_YEARS = re.compile(
    r"(?<!\w)(?:1[6-9]|20)\d\d ?(?:-|/|to|through|until|a|ate)"
    r" ?(?:(?:1[6-9]|20)\d\d|\d\d)(?![\w/-])"
)
"""From a year to another: no date, and no number."""
_BETWEEN = r"\s+e\s+|\s+and\s+|\s*-\s*|\s+"
_CUT = re.compile(
    r"(?:ent[ao]s?|int[ae]|\w*esim[ao]|decim[ao]|cem|cento|mil|milh\w+|\w+ty"
    r"|hundred|thousand|million)"
    r"(?:\s+(?:e|and)\s+|\s*-\s*|,?\s+)$"
)
"""What stands before a number that is only the end of a longer one, of which another part was not
known."""
_LONGEST_CUT = 60
"""Letters in which such an end of a number is looked for: in front of every number of a long text
it must be short."""
_PERCENT = re.compile(r"%|(?:percent(?:age)?|por[ -]cento|per[ -]cent)\b")
_COINS = {
    "dollar": "$",
    "dollars": "$",
    "reais": "r$",
    "real": "r$",
    "euros": "€",
    "pounds": "£",
}


def _is_cut(text: str, place: int) -> bool:
    """Whether what begins at a place is only the end of a longer number."""
    return _CUT.search(text, max(0, place - _LONGEST_CUT), place) is not None


@functools.cache
def months() -> dict[str, int]:
    """The names of months in both languages, by number."""
    return {
        name: number
        for number, names in enumerate(lexicon()["months"], 1)
        for name in names
    }


@functools.cache
def _patterns() -> dict[str, list[re.Pattern[str]]]:
    """The forms of dates, votes and numbers, in the order in which they are looked for."""

    def any_of(names: Iterable[str]) -> str:
        return "|".join(sorted(names, key=len, reverse=True))

    in_words = lexicon()["numbers"]["en"] | lexicon()["numbers"]["pt"]
    month, ones, times = (
        any_of(months()),
        any_of(in_words),
        any_of(lexicon()["multiples"]),
    )
    votes = rf"(?:\d{{1,2}}|{any_of(name for name, number in in_words.items() if number <= 15)})"
    day, year = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th|º|o)?", r"(?P<y>1[6-9]\d\d|20\d\d)"
    against = r"(?: a favor| favoraveis| in favor)?(?: to|,? against|,? e| a| contra| x|,? and)+"
    spelled = rf"(?:{ones}|mil)(?:(?:{_BETWEEN})(?:{ones}|{times}))*"
    written = (
        r"(?P<digits>\d+(?:[.,]\d+)*)"
        rf"(?P<times>(?: (?:{times}))*)"
        r"(?P<ordinal>st|nd|rd|th|[ºª])?"
    )
    dates = (
        r"(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})",
        r"(?P<a>\d{1,2})[./](?P<b>\d{1,2})[./](?P<y>\d{4})",
        rf"(?P<m>{month})\.? {day}(?:,? (?:of )?{year})?",
        rf"{day} (?:de |of )?(?P<m>{month})\.?(?:,? (?:de |of )?{year})?",
        rf"(?P<m>{month})\.?,? (?:de |of )?{year}",
        rf"(?<![\d.,$/-]){year}(?![\d,/%-]|\.\d)",
    )
    counts = (
        rf"(?P<a>{votes}) vot(?:es|e|os|o){against} (?P<b>{votes})",
        r"(?<![\w-])(?P<a>\d{1,2}) ?(?:-|x|/|:) ?(?P<b>\d{1,2})(?![\w/-])",
        rf"(?P<a>{votes})(?: to |-to-| a |-)(?P<b>{votes})",
    )
    number = (
        rf"(?<![\w.,#])(?P<money>r\$|us\$|\$|€|£)? ?(?:{written}|(?P<spelled>{spelled})(?!\w))"
        r"(?:-| ?\([^)]{1,40}\))? ?(?P<unit>%|(?:[a-z]+[ -]?){0,3})"
    )
    return {
        "date": [*map(compiled, dates)],
        "vote": [*map(compiled, counts)],
        "number": [re.compile(number)],
    }


def _dates(text: str, language: Language) -> Iterator[Value]:
    for form in _patterns()["date"]:
        for match in form.finditer(text):
            parts = match.groupdict()
            month, day = parts.get("m"), parts.get("d")
            if "a" in parts:
                month, day = (
                    (parts["b"], parts["a"])
                    if language == "pt"
                    else (parts["a"], parts["b"])
                )
                month, day = (day, month) if int(month) > 12 else (month, day)
            if day is None or 1 <= int(day) <= 31:
                written = (parts.get("y"), month, day)
                date = tuple(
                    None if part is None else months().get(part) or int(part)
                    for part in written
                )
                yield Value("date", date, frozenset(), match[0], match.start())
                text = blanked(text, *match.span())


_BEFORE_A_VOTE = re.compile(
    r"(?:\b(?:por|by|vote of|votacao de|placar de|ruled|voted|held|decided|split|decidiu)) (?:a )?$"
)
"""What tells "4 a 5" from a span of years: "decidiu por 4 a 5"."""


def _votes(text: str, language: Language) -> Iterator[Value]:
    in_words = lexicon()["numbers"]["en"] | lexicon()["numbers"]["pt"]
    if re.search(lexicon()["vote_context"], text):
        for number, form in enumerate(_patterns()["vote"]):
            for match in form.finditer(text):
                a, b = (
                    int(v) if v.isdigit() else in_words[v]
                    for v in (match["a"], match["b"])
                )
                introduced = _BEFORE_A_VOTE.search(text[: match.start()]) is not None
                likely = number == 0 or (
                    max(a, b) >= 2 and (a >= b or number == 1 or introduced)
                )
                if 2 <= a + b <= MOST_VOTES and likely:
                    parts = (max(a, b), min(a, b))
                    yield Value(
                        "vote", parts, frozenset(), match[0], match.start(), a < b
                    )
                    text = blanked(text, *match.span(), "#")
    for name, parts in (("unanimous", UNANIMOUS), ("divided", DIVIDED)):
        for match in pattern(name).finditer(text):
            if word_set("negators", language).isdisjoint(
                words(text[: match.start()])[-3:]
            ):
                yield Value("vote", parts, frozenset(), match[0], match.start())
            text = blanked(text, *match.span(), "#")


def _numbers(text: str, language: Language) -> Iterator[Value]:
    idle = word_set("stop function", language)
    names, ending = (
        lexicon()["ordinals"][language],
        "" if language == "en" else "[oa]s?",
    )
    several = compiled(f"(?:{'|'.join(names)}){ending}")
    for number, name in enumerate(names, 1):
        for match in re.finditer(rf"\b{name}{ending} (?P<unit>[a-z]+)", text):
            if not (
                several.fullmatch(match["unit"])
                or _is_cut(text, match.start())
                or match["unit"] in idle
            ):
                units = frozenset({f"the n-th {stem(match['unit'], language)}"})
                yield Value("number", (number,), units, match[0], match.start())
    for match in _patterns()["number"][0].finditer(text):
        if match["spelled"] is not None:
            value = _spelled(match["spelled"], language)
            if value is None or value <= 1 or _is_cut(text, match.start("spelled")):
                continue
        else:
            value = digits(match["digits"])
            for name in match["times"].split():
                value *= lexicon()["multiples"][name]
        after = words(match["unit"])
        coin = match["money"] or ("%" if _PERCENT.match(match["unit"]) else None)
        coin = coin or next(
            (_COINS[word] for word in after[:3] if word in _COINS), None
        )
        stems = (
            stem(word, language)
            for word in takewhile(lambda word: word not in idle, after[:2])
        )
        units = frozenset(
            f"the n-th {unit}" if match["ordinal"] else unit
            for unit in ([coin] if coin else stems)
        )
        if units:
            kept = 0 if match["money"] else len(units)
            said = match[0][: match.start("unit") - match.start()] + (
                " ".join(after[:kept]) or match["unit"][:1]
            )
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            yield Value("number", (value,), units, said.strip(" -"), start)


def digits(written: str) -> float:
    """What digits come to, 1,500.00 and 1.500,00 alike: the last of two kinds of marks is the
    decimal one, a single one before three digits is none."""
    whole, mark, behind = written.rpartition(max(".,", key=written.rfind))
    kinds = {*written} & {*".,"}
    grouped = len(kinds) == 1 and (mark in whole or len(behind) == 3)
    return float(
        re.sub("[.,]", "", whole) + ("." if kinds and not grouped else "") + behind
    )


def _spelled(written: str, language: Language) -> float | None:
    """two hundred and five, duzentos e cinco: what the words come to; None where they are no number
    in the language."""
    named, times = lexicon()["numbers"][language], lexicon()["multiples"]
    total = current = 0.0
    for word in re.split(_BETWEEN, written):
        if word in named:
            current += named[word]
        elif word not in times:
            return None
        elif times[word] == 100:
            current = max(current, 1) * 100
        else:
            total, current = total + max(current, 1) * times[word], 0
    return total + current


# characters behind a participle in which "by the ..." names who did it, and in which an object
# stands
REACH = 60
NEAR = 4  # words before a word in which a negator turns it round


class Outcome(NamedTuple):
    """One thing that is said to have ended in one of two ways."""

    about: str  # judgment, guilt, motion, reasonable, ...
    stands: bool  # which way; a negation is taken into account
    # the instance that decided: trial, appeal, top, or "" where it is not named
    level: str
    said: str  # as it stands in the sentence
    # of what a judgment speaks: "laws" or "decisions", or "" where that is not said
    of: str = ""
    earlier: bool = False  # whether it is told as past already then: "had denied"
    # where it needs one, words that tell of whom or what it is said
    near: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=20_000)
def outcomes(sentence: str, language: Language) -> tuple[Outcome, ...]:
    """The outcomes in a sentence, in no order."""
    text = plain(sentence)
    negators = word_set("negators", language)
    read = []
    for about, stands, match, quote in _endings(text):
        before, behind = text[: match.start()], text[match.end() :][:REACH]
        if undecided(text, match.start()):
            continue
        # An odd number of negators close before it, in its own clause, turns it round.
        clause = _CLAUSES.split(before)[-1]
        denied = sum(word in negators for word in words(clause)[-NEAR:]) % 2 == 1
        # The instance that did it stands behind "by the"; else it is the last one named before,
        # which acts.
        agent = re.match(r"[^.;,]{0,30}?\b(?:by|pel[oa]|por)\b([^.;,]*)", behind)
        levels = _courts(agent[1])[:1] if agent is not None else []
        passive = _PASSIVE.search(before) is not None
        if not passive:
            levels = levels or _actor(sentence, match.start())
        thing = _CLAUSES.split(before if passive else behind)[-1 if passive else 0]
        level = levels[0] if levels else ""
        if not level and not passive and agent is None and "appeal" in _courts(thing):
            level = "top"  # who reverses a court of appeals is above it
        of = _of(match[0], thing)
        near: list[str] = []
        if about == "liability" or about not in lexicon()["outcomes"]:
            near = content(
                f"{clause} {_CLAUSES.split(text[match.end() :])[0]}", language
            )
        told = Outcome(
            about, stands != denied, level, quote, of, _earlier(before), frozenset(near)
        )
        read.append(told)
    return tuple(dict.fromkeys(read))


_CLAUSES = re.compile(
    r"[,;:]| but | mas | while | although | though | whereas | enquanto | embora "
)
_PASSIVE = re.compile(r"(?:was|were|been|is|be|foi|foram|sido|ser|seja) (?:\w+ ){0,2}$")


def undecided(text: str, start: int) -> bool:
    """Whether what stands at a place of a plain text is only asked, argued or wished by somebody: a
    word for that is before it in its clause."""
    clause = _CLAUSES.split(text[:start])[-1]
    return any(compiled(words).search(clause) for words in lexicon()["undecided"])


def _earlier(before: str) -> bool:
    """Whether what follows is told as past already then: "had ruled", "havia negado"."""
    return any(pattern("before").fullmatch(word) for word in words(before)[-3:])


def _actor(sentence: str, start: int) -> list[str]:
    """The level of the court that is named last before a place, in a list of one; none, where none
    is named. "The Court" with a capital is the one whose decision is summarised."""
    before = _reviewed().sub(lambda match: " " * len(match[0]), plain(sentence)[:start])
    levels = _courts(before)[-1:]
    own = re.search(r"\b[Tt]he Court\b(?! of)(?!.*\b[Cc]ourt)", sentence[:start])
    return ["top"] if levels == [""] and own is not None else levels


@functools.cache
def _reviewed() -> re.Pattern[str]:
    """Courts that do not act there, since it is their decision that stands or falls: "reversed the
    district court"."""
    verbs = "|".join(lexicon()["outcomes"]["judgment"].values())
    return compiled(
        rf"(?:{verbs}) (?:[\w']+ ){{0,4}}(?:{'|'.join(lexicon()['levels'].values())})"
    )


def _of(verb: str, thing: str) -> str:
    """Whether a verb, or else the first noun that it is said of, speaks of a law or a decision; ""
    of neither."""
    for text in (verb, thing):
        found = [
            (match.start(), name)
            for name in ("laws", "decisions")
            for source in lexicon()[name]
            if (match := compiled(source).search(text)) is not None
        ]
        if found:
            return min(found)[1]
    return ""


_PARTLY = re.compile(
    r"in part\b|partial|partly|parcial|em parte|\bexcept\b|\bexceto\b|\bsalvo\b|ressalvad"
)
_NOT_DECIDED = frozenset(
    "to would should if for seek seeks seeking sought request requested requesting urged urging"
    " para de a pedindo pediu requerendo requereu pleiteando pleiteou buscando buscou".split()
)


def _matches(text: str, ways: Mapping[str, str]) -> list[tuple[bool, re.Match[str]]]:
    """What stands and what falls; of two that overlap the first ("negou provimento", not
    "provimento"). What is said to hold in part only is neither."""
    every = [
        (way == "stands", match)
        for way in ("stands", "falls")
        for match in compiled(_whole(ways[way])).finditer(text)
    ]
    apart: list[tuple[bool, re.Match[str]]] = []
    for stands, match in sorted(
        every, key=lambda each: (each[1].start(), -each[1].end())
    ):
        if not any(
            match.start() < other.end() and other.start() < match.end()
            for _, other in apart
        ):
            apart.append((stands, match))
    return [each for each in apart if not in_part(text, *each[1].span())]


def in_part(text: str, start: int, end: int) -> bool:
    """Whether words close to a place say that what stands there holds in part only."""
    return _PARTLY.search(text[max(0, start - 15) : end + 15]) is not None


def _endings(text: str) -> Iterator[tuple[str, bool, re.Match[str], str]]:
    """What patterns say of outcomes, before the words around them are looked at: about, stands, the
    match, said."""
    # judgments that stand or fall, guilt, claims
    for about, ways in lexicon()["outcomes"].items():
        for stands, match in _matches(text, ways):
            # Of something other than a decision: "provided that", "seeking reversal", "the upheld
            # rules".
            before = (words(text[: match.start()]) or [""])[-1]
            noun = match[0].endswith(("al", "ance", "ing")) or match[0].startswith(
                "appeal"
            )
            elsewhere = (
                match[0] == "provided"
                or before in _NOT_DECIDED
                or (before == "the" and not noun)
            )
            if about != "judgment" or not elsewhere:
                yield about, stands, match, match[0]
    ways = lexicon()["asked"]  # granted or refused, by what was asked for
    for stands, match in _matches(text, ways):
        around = (
            text[match.end() : match.end() + REACH],
            text[max(0, match.start() - REACH) : match.start()],
        )
        for part in around if " appeal" not in around[0][:20] else ():
            clause = re.split(r"[;:.]", part)[0]
            things = [
                name for name in ways["objects"] if re.search(rf"\b{name}s?\b", clause)
            ]
            yield from (
                (name, stands, match, f"{match[0]} ({name})") for name in things
            )
            if things:
                break
    # what something is said to be: lawful, void
    for good, bad in lexicon()["qualities"]:
        for stands, source in ((True, good), (False, bad)):
            for match in compiled(source).finditer(text):
                said = pattern("said").search(
                    " ".join(words(text[: match.start()])[-NEAR:])
                )
                if said is not None and not in_part(text, *match.span()):
                    yield good, stands, match, match[0]


@functools.lru_cache(maxsize=20_000)
def _courts(text: str) -> list[str]:
    """The levels of the courts that a text names, in order; a court within the name of another
    counts once."""
    spans: list[tuple[int, int, str]] = []
    for level, source in lexicon()["levels"].items():
        for match in compiled(source).finditer(text):
            if not any(
                start < match.end() and match.start() < end for start, end, _ in spans
            ):
                spans.append((*match.span(), "" if level == "any" else level))
    return [level for *_, level in sorted(spans)]


def alike(one: Outcome, other: Outcome, turned: bool = False) -> bool:
    """Whether both say the same of one matter, before courts that may be the same; or `turned`,
    that it ended both ways, so that both cannot be true."""
    same_court = one.level == other.level or not one.level or not other.level
    if turned and one.earlier != other.earlier:
        same_court = one.level == other.level != ""
    same_thing = one.of == other.of or not one.of or not other.of
    same_whom = bool(one.near & other.near) or not one.near or not other.near
    same_matter = one.about == other.about and same_thing and same_whom
    return same_matter and (one.stands != other.stands) == turned and same_court


OVERLAP = 0.6  # share of the shorter sentence's content words that the other must have
_ONLY = re.compile(
    r"\b(not only|nao so|nao somente|nao apenas|no longer than|no later than|no less than)\b"
)
_LESS = re.compile(r"(?!unless|regardless|nonetheless|nevertheless)\w{4,}less")
_DOUBLE = re.compile(r"\b(not|nao)\b[^.,;]{0,25}\b(un|in|im|ir|ile|des)\w+")


def turned(one: str, other: str, language: Language) -> list[str] | None:
    """The place at which one sentence denies what the other says, as it stands in each, or None.

    Only sentences with mostly the same content words are compared, and only where the same word is
    denied in one and not in the other; with every further negation in either sentence nothing is
    said.
    """
    both, negators = (one, other), word_set("negators", language)
    if any(
        _ONLY.search(plain(sentence)) or _DOUBLE.search(plain(sentence))
        for sentence in both
    ):
        return None
    first, second = (set(content(sentence, language)) for sentence in both)
    shared = first & second
    if len(shared) < max(2, OVERLAP * min(len(first), len(second))):
        return None
    read = [words(plain(sentence)) for sentence in both]
    places = [
        [n for n, w in enumerate(own) if w in negators or _LESS.fullmatch(w)]
        for own in read
    ]
    if sorted(map(len, places)) != [0, 1]:
        return None
    denying, carrying = (read[0], first) if places[0] else (read[1], second)
    ((place,),) = filter(None, places)
    # Denied is the next content word; of "warrantless" it is what stands before the ending.
    word, *near = denying[place : place + 1 + NEAR]
    near = near if word in negators else [word.removesuffix("less")]
    denied = next(
        (stem(each, language) for each in near if stem(each, language) in carrying), ""
    )
    if denied not in shared:
        return None
    quotes = []
    for parts in (sentence.split() for sentence in both):
        stems = [
            [stem(word, language) for word in words(plain(part))] for part in parts
        ]
        end = next((n for n, inside in enumerate(stems, 1) if denied in inside), 1)
        quotes.append(" ".join(parts[max(0, end - 4) : end]).strip(" .,;"))
    return quotes


_NAMES = rf"{NAME}(?: (?:{NAME}|d[aeo]s?|[A-Z]\.))*"
BEHIND = 70  # characters behind a verb in which somebody is named


class Role(NamedTuple):
    """What somebody is or did, by a name or word that stands for them."""

    who: frozenset[str]  # the words of the name, or the side's canonical word
    # writes, dissents, concurs; wins, loses; "RELATION:SIDE"; "VERB NAME" for what was done to whom
    what: str
    said: str  # as it stands in the sentence
    level: str = ""  # of who wins or loses: the instance before which, as of an outcome
    side: str = ""  # of who wins or loses: "relation:side", where the words name one


@functools.cache
def _sides() -> tuple[tuple[re.Pattern[str], str], ...]:
    sides = (
        (n, side, names)
        for n, both in enumerate(lexicon()["sides"])
        for side, names in enumerate(both)
    )
    return tuple((compiled("|".join(names)), f"{n}:{side}") for n, side, names in sides)


def side_of(phrase: str) -> str | None:
    """The side that a phrase names first, "relation:side", or None."""
    places = [
        (match.start(), name)
        for each, name in _sides()
        if (match := each.search(plain(phrase))) is not None
    ]
    return min(places)[1] if places else None


def opposite(one: str, other: str) -> bool:
    """Whether two sides face one another."""
    return one != other and one.partition(":")[0] == other.partition(":")[0]


@functools.lru_cache(maxsize=20_000)
def judges(sentence: str, says: bool = False) -> tuple[Role, ...]:
    """Which judge wrote, dissented or concurred, by last names; with `says`, whoever is quoted
    without a word on that wrote."""
    return tuple(role for part in sentence.split(";") for role in _judges(part, says))


def _judges(sentence: str, says: bool) -> Iterator[Role]:
    waiting, titles = list[str](), lexicon()["titles"]
    for clause in re.split(
        rf"[;,]? (?:and|while|whereas|but|e|enquanto|mas) (?=(?:the )?{titles})",
        sentence,
    ):
        lists = re.findall(
            rf"{titles} ({_NAMES}(?:(?:, | and |, and | e ){_NAMES})*)", clause
        )
        names = (
            name
            for several in lists
            for name in re.split(r",? and |, | e ", several)
            if name
        )
        named, text = [plain(name.split()[-1]) for name in names], plain(clause)
        deeds = [
            name
            for name in ("dissents", "concurs", "writes")
            if pattern(name).search(text)
        ]
        if re.search(r"\bjoined\b|\bin which\b", text) and deeds:
            named = named[:1]  # who joined did not write
        waiting += named
        if re.search(r"acompanh\w+[^;]{0,40}\brelator", text):
            deeds = ["writes"]  # the others followed him
        if says and named and not deeds and pattern("says").search(text):
            deeds = ["writes"]
        if deeds:
            # wrote a dissent
            done = deeds[:-1] if deeds[-1] == "writes" and len(deeds) > 1 else deeds
            yield from (
                Role(frozenset({name}), deed, clause.strip())
                for name in waiting
                for deed in done
            )
            waiting = []


@functools.lru_cache(maxsize=20_000)
def winners(sentence: str, language: Language) -> tuple[Role, ...]:
    """Whom a decision is said to favour, and against whom it goes."""
    roles, known = [], word_set("function stop", language)
    text = plain(sentence)
    for what, form in _victories():
        for match in form.finditer(text):
            named = "whom" in form.groupindex
            start = match.start("whom") if named else match.end()
            behind = (
                sentence[start : match.end("whom")]
                if named
                else sentence[start:][:BEHIND]
            )
            phrase = _PHRASE_ENDS.split(behind)[0]
            if (
                undecided(text, match.end())
                or _earlier(text[: match.start()])
                or _denied(text, match, language)
            ):
                continue
            who = frozenset(
                word
                for word in words(plain(phrase))
                if word not in known and len(word) > 2
            )
            acting = match.end("whom") if named else match.start()
            level = "".join(_actor(sentence, acting)[:1])
            for name, appeal in _OF_APPEALS.items():
                level = name if appeal.search(match[0]) else level
            said = match[0] if named else sentence[match.start() : match.end()] + phrase
            roles.append(Role(who, what, said, level, side_of(phrase) or ""))
    return tuple(roles)


_OF_APPEALS = {
    "appeal": re.compile(r"apelacao|apelo\b"),
    "top": re.compile(r"recurso (?:especial|extraordinario|de revista)"),
}
"""Appeals that are to one instance alone."""
_PHRASE_ENDS = re.compile(
    r"[,;.:(]| and | e | on | because | that | que | por | a \w+r\b| to | for | para | in "
)


@functools.cache
def _victories() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The patterns of who wins and who loses; `whom` is a group of some."""
    forms = []
    for what in ("wins", "loses"):
        for source in lexicon()[what]:
            forms.append((what, compiled(_whole(source))))
    return tuple(forms)


@functools.cache
def _whole(source: str) -> str:
    """A pattern of the lexicon with its {parts} put in."""
    for name, part in lexicon()["parts"].items():
        source = source.replace(f"{{{name}}}", part)
    return source


def _denied(text: str, match: re.Match[str], language: Language) -> bool:
    """Whether a negator stands close before a match in its clause: nothing is read from that."""
    clause = _CLAUSES.split(text[: match.start()])[-1]
    return not word_set("negators", language).isdisjoint(words(clause)[-NEAR:])


@functools.lru_cache(maxsize=20_000)
def named_sides(sentence: str) -> tuple[Role, ...]:
    """Names that a sentence puts on a side: "the plaintiff, Ana Reis", "Ana Reis, the plaintiff",
    "autora Ana Reis"."""
    roles, before = (
        [],
        rf"({_NAMES}),? (?:\(|the |a |o |as |was the |is the |era [ao] )+$",
    )
    for each, side in _sides():
        for match in each.finditer(plain(sentence)):
            after = re.match(rf",? (?:the |a |o )?({_NAMES})", sentence[match.end() :])
            for name in (after, re.search(before, sentence[: match.start()])):
                if name is not None:
                    roles.append(
                        Role(
                            frozenset(words(plain(name[1]))),
                            side,
                            name[0].strip(" ,(") + " / " + match[0],
                        )
                    )
    return tuple(roles)


@functools.lru_cache(maxsize=20_000)
def deeds(sentence: str, language: Language) -> tuple[Role, ...]:
    """Who did it to whom, for verbs that cannot be turned round: the parties nearest before and
    behind the verb."""
    roles = []
    for verb in word_set("acts", language):
        for match in re.finditer(rf"\b{verb}\b", plain(sentence)):
            before, after = sentence[: match.start()], sentence[match.end() :]
            first = _parties(re.split(r"[;.]| that | que ", before)[-1])[-1:]
            second = _parties(re.split(r"[;.,]", after)[0][:BEHIND])[:1]
            passive = re.search(
                r"\b(?:was|were|been|foi|foram)\s+(?:\w+\s+)?$", plain(before)
            )
            agent = re.match(r"\s*(?:\w+\s+){0,3}?(?:by|pel[oa]|por)\b", plain(after))
            # "Dale Renner, hired by Pell Orchards,"
            passive = passive or (agent and re.search(r",\s*$", before))
            if (
                not first
                or not second
                or first[0] & second[0]
                or (passive and not agent)
            ):
                continue
            first, second = (second, first) if passive else (first, second)
            whom, who = (" ".join(sorted(each[0])) for each in (second, first))
            roles.append(Role(first[0], f"{verb} {whom}", f"{who} {verb}"))
    return tuple(roles)


def _parties(text: str) -> list[frozenset[str]]:
    """The names, and the words for sides, in the order in which a text has them."""
    places = [
        (match.start(), frozenset(words(plain(match[0]))))
        for match in re.finditer(_NAMES, text)
    ]
    places += [
        (match.start(), frozenset({side}))
        for each, side in _sides()
        for match in each.finditer(plain(text))
    ]
    first = dict(reversed(places))  # a name, where a side begins at the same place
    return [first[start] for start in sorted(first)]
