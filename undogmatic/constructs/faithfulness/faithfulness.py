"""The arithmetic of comparing a text with a reference, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def uncontradicted(contradicted: Sequence[bool]) -> float:
    """Share of the reference's sentences that the text does not contradict.

    Args:
        contradicted: Per sentence of the reference, whether any sentence of the text contradicts it. So sentences
            that the text has besides move nothing.
    Returns:
        1 - contradicted / total, in [0, 1].
    Raises:
        ValueError: There is no sentence.
    """
    if not len(contradicted):
        raise ValueError("a reference of no sentences has no share")
    return 1 - sum(map(bool, contradicted)) / len(contradicted)


class Covered(NamedTuple):
    """Per sentence of the reference its best match, and the share that has one.

    Attributes:
        score: Covered / total, in [0, 1].
        best: Places of the best matches among the text's sentences (the first of equals), shape (n_reference,).
        similarity: Their similarities, shape (n_reference,).
        covered: Whether each reaches the threshold, shape (n_reference,).
    """

    score: float
    best: NDArray[np.int64]
    similarity: NDArray[np.float64]
    covered: NDArray[np.bool_]


def coverage(similarities: NDArray[np.float64], threshold: float, inclusive: bool) -> Covered:
    """How much of the reference the text says, by the best match of each of the reference's sentences.

    Args:
        similarities: Cosine of every sentence of the reference with every one of the text, shape (n_reference, n_text).
        threshold: From where a sentence counts as said.
        inclusive: Whether a similarity of exactly the threshold counts.
    Raises:
        ValueError: One of the two has no sentence, or a similarity is NaN.
    """
    if similarities.ndim != 2 or not similarities.size or np.isnan(similarities).any():
        raise ValueError(f"similarities need both sides and no NaN, got shape {similarities.shape}")
    best = similarities.argmax(axis=1)
    similarity = similarities[np.arange(len(best)), best]
    covered = similarity >= threshold if inclusive else similarity > threshold
    return Covered(float(covered.mean()), best, similarity, covered)
