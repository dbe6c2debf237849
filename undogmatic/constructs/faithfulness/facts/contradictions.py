"""Finds the sentences of a reference that a text contradicts, by comparing the facts of sentences about the same.

Every rule wants two things: that the text says something else, and that it does not say the right thing where it speaks
of it. So a summary that leaves things out, or says true things besides, contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.constructs.faithfulness.facts import outcomes as facts
from undogmatic.constructs.faithfulness.facts.inventions import room
from undogmatic.constructs.faithfulness.facts.outcomes import Role, alike, opposed, opposite, outcomes, side_of
from undogmatic.constructs.faithfulness.facts.values import Value, agree, comparable, counted, values
from undogmatic.constructs.faithfulness.facts.words import (
    Language,
    compiled,
    content,
    language_of,
    lexicon,
    plain,
    words,
)

NEARBY = 0.30
"""Similarity above which a sentence that says the right thing excuses another."""
NEARLY_THE_SAME = 0.75
"""Similarity above which a differing value needs no words around it in common."""
QUITE_ALIKE = 0.60
"""Similarity at which two sentences that are each other's best match are about the same event."""
EXCUSE = 0.15
"""A value of the text is that of another sentence of the reference if the text's sentence is so little less similar."""
WINDOW = 6
"""Words around a value that say what it is about."""


class Contradiction(NamedTuple):
    """One that was found."""

    kind: str  # date, vote, number, outcome, negation, party
    place: int  # the sentence of the text that contradicts
    expected: str  # what the reference says, in its words
    found: str  # what the text says, in its words


class Compared(NamedTuple):
    """Two texts in one language, by their sentences."""

    reference: Sequence[str]
    text: Sequence[str]
    similarity: NDArray[np.float64]  # cosines, shape (n_reference, n_text)
    aligned: float  # similarity from which two sentences are about the same
    language: Language

    def near(self, sentence: int, least: float) -> list[int]:
        """The text's sentences at least so similar to one of the reference, the most similar first."""
        own = self.similarity[sentence]
        return [int(n) for n in np.argsort(-own, kind="stable") if own[n] >= least]

    def others(self, n: int, k: int, anywhere: bool, slack: float = 0.0) -> Iterator[str]:
        """Sentences of the reference but `n`: those that sentence `k` of the text resembles as much as it, or all."""
        for m, sentence in enumerate(self.reference):
            if m != n and (anywhere or self.similarity[m, k] >= self.similarity[n, k] - slack):
                yield sentence


def contradictions(
    reference: Sequence[str], text: Sequence[str], similarity: NDArray[np.float64], aligned: float
) -> list[Contradiction | None]:
    """For every sentence of the reference the first contradiction that a rule finds, or None.

    Args:
        reference, text: Sentences.
        similarity: Cosine of every sentence of the reference with every one of the text, shape (n_reference, n_text).
        aligned: Similarity from which two sentences are about the same.
    """
    both = Compared(reference, text, similarity, aligned, language_of(" ".join(reference)))
    return [next((one for rule in RULES for one in rule(both, n)), None) for n in range(len(reference))]


def _votes(both: Compared, n: int) -> Iterator[Contradiction]:
    """As other values, but where each side counts votes but once, those are compared wherever they stand."""
    yield from _values(both, n, "vote")
    expected, found = (
        [(k, value) for k, sentence in enumerate(side) for value in values(sentence, both.language) if counted(value)]
        for side in (both.reference, both.text)
    )
    if all(len({value.parts for _, value in side}) == 1 for side in (expected, found)):
        (place, own), (k, other) = expected[0], found[0]
        if place == n and not agree(own, other):
            yield Contradiction("vote", k, own.said, other.said)


def _values(both: Compared, n: int, kind: str) -> Iterator[Contradiction]:
    """Values that the text nowhere near gives, while it gives another of the kind that the reference has not there."""
    own = [value for value in values(both.reference[n], both.language) if value.kind == kind]
    own = [value for value in own if counted(value)] or own  # "by a majority of 3 to 2" is 3 to 2
    for value in own:
        nearby, aligned = (
            [(k, o) for k in both.near(n, least) for o in values(both.text[k], both.language) if comparable(value, o)]
            for least in (NEARBY, both.aligned)
        )
        if any(agree(value, other) and (counted(other) or not counted(value)) for _, other in nearby):
            continue
        for k, other in nearby if kind == "vote" else aligned:
            # A whole date is that date wherever it stands.
            whole = other.kind == "date" and None not in other.parts
            elsewhere = (each for more in both.others(n, k, whole, EXCUSE) for each in values(more, both.language))
            if any(agree(each, other) for each in own) or any(agree(each, other) for each in elsewhere):
                continue
            gap = abs((value.parts[0] or 0) - (other.parts[0] or 0))
            rounded = kind == "number" and gap <= room(other, both.text[k])
            if not rounded and (kind == "vote" or _same_place(both, n, k, value, other)):
                yield Contradiction(kind, k, value.said, other.said)


def _same_place(both: Compared, n: int, k: int, value: Value, other: Value) -> bool:
    """Whether two values are of the same thing: in nearly the same sentences, or among the same words; dates also in
    sentences that are each other's best match, but (unless nearly the same) only if a part of them is right."""
    if both.similarity[n, k] >= NEARLY_THE_SAME:
        return True
    if value.kind == "date":
        if not any(a is not None and a == b for a, b in zip(value.parts, other.parts, strict=True)):
            return False  # of which nothing is right is the date of another event
        mutual = both.similarity[n].argmax() == k and both.similarity[:, k].argmax() == n
        if mutual and both.similarity[n, k] >= QUITE_ALIKE:
            return True
    around = []
    for sentence, each in ((both.reference[n], value), (both.text[k], other)):
        before, after = words(sentence[: each.start]), words(sentence[each.start + len(each.said) :])
        around.append(set(content(" ".join([*before[-WINDOW:], *after[:WINDOW]]), both.language)))
    return bool((around[0] & around[1]) - value.units)


def _outcomes(both: Compared, n: int) -> Iterator[Contradiction]:
    """Outcomes turned round, unless a sentence at least as similar, or of the very instance, says the right one; or
    another sentence of the reference, which the text's resembles more or which is not of the same level, says just
    that."""
    here = outcomes(both.reference[n], both.language)
    for own in here:
        if any(opposed(own, other) for other in here):
            continue
        right = [
            (m, other)
            for m in both.near(n, NEARBY)
            for other in outcomes(both.text[m], both.language)
            if alike(own, other)
        ]
        for k in both.near(n, both.aligned):
            there = outcomes(both.text[k], both.language)
            wrong = next((other for other in there if opposed(own, other)), None)
            if wrong is None or any(alike(own, other) for other in there):
                continue
            said_right = any(
                (own.level not in ("", wrong.level) and own.level == other.level)
                or both.similarity[n, m] >= both.similarity[n, k]
                for m, other in right
            )
            elsewhere = (
                each
                for sentence in both.others(n, k, anywhere=own.level != wrong.level)
                for each in outcomes(sentence, both.language)
            )
            if not said_right and not any(alike(wrong, each) for each in elsewhere):
                yield Contradiction("outcome", k, own.said, wrong.said)


def _negations(both: Compared, n: int) -> Iterator[Contradiction]:
    for k in both.near(n, max(both.aligned, 0.6)):
        denied = facts.turned(both.reference[n], both.text[k], both.language)
        if denied is not None and both.similarity[:, k].argmax() == n:
            yield Contradiction("negation", k, *denied)


def _roles(
    both: Compared, n: int, read: Callable[[str], Sequence[Role]], faces: Callable[[str, str], bool]
) -> Iterator[Contradiction]:
    """Somebody with another role, which faces the one that the reference gives, and which it nowhere gives."""
    in_text = [(k, role) for k, sentence in enumerate(both.text) for role in read(sentence)]
    for own in read(both.reference[n]):
        said = [(k, role) for k, role in in_text if role.who & own.who]
        known = {role.what for sentence in both.reference for role in read(sentence) if role.who & own.who}
        if all(role.what != own.what for _, role in said):
            for k, role in said:
                if faces(own.what, role.what) and role.what not in known:
                    yield Contradiction("party", k, own.said, role.said)


def _winning(both: Compared, n: int) -> Iterator[Contradiction]:
    for own in facts.winners(both.reference[n], both.language):
        for k in both.near(n, both.aligned):
            for other in facts.winners(both.text[k], both.language):
                one, another = side_of(own.said), side_of(other.said)
                faces = one is not None and another is not None and opposite(one, another)
                same = bool(own.who & other.who) or (one is not None and one == another)
                if (own.what == other.what and faces) or (own.what != other.what and same and not faces):
                    yield Contradiction("party", k, own.said, other.said)


def _doing(both: Compared, n: int) -> Iterator[Contradiction]:
    """Who did it and to whom it was done are exchanged."""
    for own in facts.deeds(both.reference[n], both.language):
        verb, *whom = own.what.split()
        for k in both.near(n, both.aligned):
            same = [other for other in facts.deeds(both.text[k], both.language) if other.what.split()[0] == verb]
            if not any(own.who & other.who for other in same):
                for other in same:
                    if own.who & {*other.what.split()[1:]} and other.who & {*whom}:
                        yield Contradiction("party", k, f"{own.said} {own.what}", f"{other.said} {other.what}")


RULES: tuple[Callable[[Compared, int], Iterator[Contradiction]], ...] = (
    _votes,
    partial(_values, kind="date"),
    _outcomes,
    partial(_roles, read=facts.judges, faces=lambda own, other: True),
    _winning,
    partial(_roles, read=facts.named_sides, faces=opposite),
    _doing,
    partial(_values, kind="number"),
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
    reference: Sequence[str], text: Sequence[str], similarity: NDArray[np.float64], aligned: float
) -> list[Hedge]:
    """The statements of a text that are hedged there and not in the reference. What another sentence of the text says
    much better (EXCUSE) is not hedged.

    Args:
        reference, text, similarity: As of `contradictions`.
        aligned: Similarity from which two sentences are about the same. Where none is, nothing is said.
    """
    language, own = language_of(" ".join(text)), language_of(" ".join(reference))
    hedged = []
    for place, sentence in enumerate(text):
        n = int(similarity[:, place].argmax())
        said = phrases(sentence, language)
        best = similarity[n].max() - similarity[n, place] <= EXCUSE
        if said and best and similarity[n, place] >= aligned and not phrases(reference[n], own):
            ends = bool(outcomes(sentence, language)) and bool(outcomes(reference[n], own))
            hedged.append(Hedge(place, n, said, ends))
    return hedged
