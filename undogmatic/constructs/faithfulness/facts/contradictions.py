"""Finds the sentences of a reference that a text contradicts, by comparing the facts of sentences about the same.

Every rule wants two things: that the text says something else, and that it does not say the right thing where it speaks
of it. So a summary that leaves things out, or says true things besides, contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.constructs.faithfulness.facts.inventions import room, support
from undogmatic.constructs.faithfulness.facts.outcomes import (
    Outcome,
    Role,
    alike,
    deeds,
    judges,
    named_sides,
    opposed,
    opposite,
    outcomes,
    side_of,
    turned,
    winners,
)
from undogmatic.constructs.faithfulness.facts.values import Value, agree, comparable, counted, values
from undogmatic.constructs.faithfulness.facts.words import Language, compiled, content, language_of, plain, words

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
    """One that was found.

    Attributes:
        kind: date, vote, number, outcome, negation, party.
        place: The sentence of the text that contradicts.
        expected, found: What the reference and what the text says, in their words.
    """

    kind: str
    place: int
    expected: str
    found: str


class Compared(NamedTuple):
    """Two texts by their sentences.

    Attributes:
        reference, text: The sentences.
        similarity: Cosines, shape (n_reference, n_text).
        aligned: Similarity from which two sentences are about the same.
        language: Of both.
    """

    reference: Sequence[str]
    text: Sequence[str]
    similarity: NDArray[np.float64]
    aligned: float
    language: Language

    def near(self, sentence: int, least: float) -> list[int]:
        """The text's sentences at least so similar to one of the reference, the most similar first."""
        own = self.similarity[sentence]
        return [int(n) for n in np.argsort(-own, kind="stable") if own[n] >= least]


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
    return [
        next((found for rule in RULES if (found := rule(both, n)) is not None), None) for n in range(len(reference))
    ]


def _votes(both: Compared, n: int) -> Contradiction | None:
    """As other values, but where each side counts votes but once, those are compared wherever they stand."""
    if (found := _value(both, n, "vote")) is not None:
        return found
    counts = [
        [(k, value) for k, sentence in enumerate(side) for value in values(sentence, both.language) if counted(value)]
        for side in (both.reference, both.text)
    ]
    if any(len({value.parts for _, value in side}) != 1 for side in counts):
        return None
    (place, own), (k, other) = counts[0][0], counts[1][0]
    return None if place != n or agree(own, other) else Contradiction("vote", k, own.said, other.said)


def _value(both: Compared, n: int, kind: str) -> Contradiction | None:
    """A value that the text nowhere near gives, while it gives another of the kind that the reference has not there."""
    own = [value for value in values(both.reference[n], both.language) if value.kind == kind]
    own = [value for value in own if counted(value)] or own  # "by a majority of 3 to 2" is 3 to 2
    for value in own:
        near = [other for k in both.near(n, NEARBY) for other in _alike(both, k, value)]
        if any(agree(value, other) and (counted(other) or not counted(value)) for other in near):
            continue
        for k in both.near(n, NEARBY if kind == "vote" else both.aligned):
            for other in _alike(both, k, value):
                if any(comparable(each, other) and agree(each, other) for each in own) or _excused(both, n, k, other):
                    continue
                rounded = kind == "number" and abs((value.parts[0] or 0) - (other.parts[0] or 0)) <= room(
                    other, both.text[k]
                )
                if not rounded and (kind == "vote" or _same_place(both, n, k, value, other)):
                    return Contradiction(kind, k, value.said, other.said)
    return None


def _alike(both: Compared, k: int, value: Value) -> list[Value]:
    return [other for other in values(both.text[k], both.language) if comparable(value, other)]


def _excused(both: Compared, n: int, k: int, other: Value) -> bool:
    """Whether the text's value is that of another sentence of the reference which its sentence resembles; a whole date
    is that date wherever it stands."""
    whole = other.kind == "date" and None not in other.parts
    return any(
        m != n
        and (whole or both.similarity[m, k] >= both.similarity[n, k] - EXCUSE)
        and any(comparable(each, other) and agree(each, other) for each in values(sentence, both.language))
        for m, sentence in enumerate(both.reference)
    )


def _same_place(both: Compared, n: int, k: int, value: Value, other: Value) -> bool:
    """Whether two values are of the same thing: in nearly the same sentences, or among the same words; dates also in
    sentences that are each other's best match, but (unless nearly the same) only if a part of them is right."""
    if both.similarity[n, k] >= NEARLY_THE_SAME:
        return True
    mutual = both.similarity[n].argmax() == k and both.similarity[:, k].argmax() == n
    right = any(a is not None and a == b for a, b in zip(value.parts, other.parts, strict=True))
    if value.kind == "date" and not right:
        return False  # of which nothing is right is the date of another event
    if value.kind == "date" and mutual and right and both.similarity[n, k] >= QUITE_ALIKE:
        return True
    around = _around(both.reference[n], value, both.language) & _around(both.text[k], other, both.language)
    return bool(around - value.units)


def _around(sentence: str, value: Value, language: Language) -> set[str]:
    before, after = sentence[: value.start], sentence[value.start + len(value.said) :]
    near = [*words(before)[-WINDOW:], *words(after)[:WINDOW]]
    return set(content(" ".join(near), language))


def _outcomes(both: Compared, n: int) -> Contradiction | None:
    """An outcome turned round, unless a sentence at least as similar, or of the very instance, says the right one."""
    for own in outcomes(both.reference[n], both.language):
        if any(opposed(own, other) for other in outcomes(both.reference[n], both.language)):
            continue
        for k in both.near(n, both.aligned):
            said = outcomes(both.text[k], both.language)
            wrong = next((other for other in said if opposed(own, other)), None)
            if wrong is None or any(alike(own, other) for other in said):
                continue
            if not _said_right(both, n, k, own, wrong) and not _of_another(both, n, k, own, wrong):
                return Contradiction("outcome", k, own.said, wrong.said)
    return None


def _said_right(both: Compared, n: int, k: int, own: Outcome, wrong: Outcome) -> bool:
    for m in both.near(n, NEARBY):
        for other in outcomes(both.text[m], both.language):
            if not alike(own, other):
                continue
            of_the_very = own.level != "" and own.level == other.level and wrong.level != own.level
            if of_the_very or both.similarity[n, m] >= both.similarity[n, k]:
                return True
    return False


def _of_another(both: Compared, n: int, k: int, own: Outcome, wrong: Outcome) -> bool:
    """Whether another sentence of the reference says just that: one which the text's sentence resembles more, or any
    where not both are of the same level."""
    anywhere = own.level != wrong.level
    return any(
        m != n
        and (anywhere or both.similarity[m, k] >= both.similarity[n, k])
        and any(alike(wrong, each) for each in outcomes(sentence, both.language))
        for m, sentence in enumerate(both.reference)
    )


def _negations(both: Compared, n: int) -> Contradiction | None:
    for k in both.near(n, max(both.aligned, 0.6)):
        word = turned(both.reference[n], both.text[k], both.language)
        if word is not None and both.similarity[:, k].argmax() == n:
            return Contradiction("negation", k, word[0], word[1])
    return None


def _roles(
    both: Compared, n: int, read: Callable[[str], Sequence[Role]], faces: Callable[[str, str], bool]
) -> Contradiction | None:
    """Somebody with another role, which faces the one that the reference gives, and which it nowhere gives."""
    in_text = [(k, role) for k, sentence in enumerate(both.text) for role in read(sentence)]
    for own in read(both.reference[n]):
        said = [(k, role) for k, role in in_text if role.who & own.who]
        if any(role.what == own.what for _, role in said):
            continue
        known = {role.what for sentence in both.reference for role in read(sentence) if role.who & own.who}
        for k, role in said:
            if faces(own.what, role.what) and role.what not in known:
                return Contradiction("party", k, own.said, role.said)
    return None


def _winning(both: Compared, n: int) -> Contradiction | None:
    for own in winners(both.reference[n], both.language):
        for k in both.near(n, both.aligned):
            for other in winners(both.text[k], both.language):
                one, another = side_of(own.said), side_of(other.said)
                faces = one is not None and another is not None and opposite(one, another)
                same = bool(own.who & other.who) or (one is not None and one == another)
                if (own.what == other.what and faces) or (own.what != other.what and same and not faces):
                    return Contradiction("party", k, own.said, other.said)
    return None


def _doing(both: Compared, n: int) -> Contradiction | None:
    """Who did it and to whom it was done are exchanged."""
    for own in deeds(both.reference[n], both.language):
        verb, *whom = own.what.split()
        for k in both.near(n, both.aligned):
            said = [other for other in deeds(both.text[k], both.language) if other.what.split()[0] == verb]
            if any(own.who & other.who for other in said):
                continue
            other = next((x for x in said if own.who & {*x.what.split()[1:]} and x.who & {*whom}), None)
            if other is not None:
                return Contradiction("party", k, f"{own.said} {own.what}", f"{other.said} {other.what}")
    return None


RULES: tuple[Callable[[Compared, int], Contradiction | None], ...] = (
    _votes,
    partial(_value, kind="date"),
    _outcomes,
    partial(_roles, read=judges, faces=lambda own, other: True),
    _winning,
    partial(_roles, read=named_sides, faces=opposite),
    _doing,
    partial(_value, kind="number"),
    _negations,
)
"""In the order in which they are asked; the first that finds something names the kind."""


class Hedge(NamedTuple):
    """A hedged statement.

    Attributes:
        place: The sentence of the text.
        reference: The place of what the reference says of it.
        said: The phrases.
        outcome: Whether an outcome is what it is about.
    """

    place: int
    reference: int
    said: tuple[str, ...]
    outcome: bool


def phrases(sentence: str, language: Language) -> tuple[str, ...]:
    """The hedges of a sentence."""
    found = compiled(support()["hedges"][language]).finditer(plain(sentence))
    return tuple(sentence[match.start() : match.end()].strip(" ,") for match in found)


def hedges(
    reference: Sequence[str], text: Sequence[str], similarity: NDArray[np.float64], aligned: float
) -> list[Hedge]:
    """The statements of a text that are hedged there and not in the reference. What another sentence of the text says
    much better (EXCUSE) is not hedged.

    Args:
        reference, text: Sentences.
        similarity: Cosine of every sentence of the reference with every one of the text, shape (n_reference, n_text).
        aligned: Similarity from which two sentences are about the same. Where none is, nothing is said.
    """
    language = language_of(" ".join(text))
    own = language_of(" ".join(reference))
    found = []
    for place, sentence in enumerate(text):
        n = int(similarity[:, place].argmax())
        said = phrases(sentence, language)
        best = similarity[n].max() - similarity[n, place] <= EXCUSE
        if said and best and similarity[n, place] >= aligned and not phrases(reference[n], own):
            ends = bool(outcomes(sentence, language)) and bool(outcomes(reference[n], own))
            found.append(Hedge(place, n, said, ends))
    return found
