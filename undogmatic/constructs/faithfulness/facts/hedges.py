"""Phrases that take back half of what is said, where the reference says it without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.constructs.faithfulness.facts.contradictions import EXCUSE
from undogmatic.constructs.faithfulness.facts.inventions import support
from undogmatic.constructs.faithfulness.facts.outcomes import outcomes
from undogmatic.constructs.faithfulness.facts.words import Language, compiled, language_of, plain


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
