"""Chooses, of the demonstrations of a predictor, those that are most like what is judged."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from undogmatic.readouts.adapter import judged_text


def chosen(predict: Any, inputs: Mapping[str, Any]) -> Sequence[Any]:
    """The demonstrations that a predictor shows beside these inputs: all of them, or where it has a
    number `nearest`, so many of the most similar, these first.

    Similar is what shares runs of three to five characters, which needs no model and no fitting.
    """
    demos, k = predict.demos, getattr(predict, "nearest", None)
    if k is None or k >= len(demos):
        return list(demos)
    texts = tuple(judged_text(predict.signature, dict(demo)) for demo in demos)
    asked = _vectors((judged_text(predict.signature, inputs),))
    likeness = np.asarray((_vectors(texts) @ asked.T).todense()).ravel()
    # equal ones in the order in which they stand
    return [demos[n] for n in np.argsort(-likeness, kind="stable")[:k]]


@functools.lru_cache(64)
def _vectors(texts: tuple[str, ...]) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    by_characters = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 5), n_features=2**18, alternate_sign=False
    )
    return by_characters.transform(texts)
