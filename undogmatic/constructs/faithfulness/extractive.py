"""`lead` and `centroid`: baselines that take sentences out of a text instead of writing. They need no key and no model.

They are here to be beaten: who summarises worse than the first sentences has not summarised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from undogmatic.constructs.faithfulness.sentences import sentences
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.base import Model
from undogmatic.records.wordings import of_this_project

REPEATED = 0.6
"""Cosine above which a sentence says what a chosen one says."""
SHORTEST = 5
"""Words; a heading, a number of a docket or a name has fewer."""


class ExtractiveModel(Model):
    """Chooses sentences of a text. It answers no question, so it cannot judge."""

    readouts = ()

    def default_readout(self, rubric: str) -> str:
        raise ConfigError(
            f"model={self.name} takes sentences out of a text and judges nothing. Name it in summarizer=[{self.name}], "
            "and another model here: model=local or model=gpt."
        )

    async def summarise(self, text: str, words: int) -> str:
        """Whole sentences in their order, at most `words` words, but at least one sentence.

        Raises:
            UnparseableAnswer: There is no sentence in it.
        """
        found = sentences(text)
        usable = [n for n, sentence in enumerate(found) if len(sentence.split()) >= SHORTEST] or list(range(len(found)))
        if not usable:
            raise UnparseableAnswer("there is no sentence in the text")
        chosen: list[int] = []
        taken = 0
        for n in self.ranked([found[k] for k in usable]):
            length = len(found[usable[n]].split())
            if chosen and taken + length > words:
                break
            chosen.append(usable[n])
            taken += length
        return " ".join(found[n] for n in sorted(chosen))

    def ranked(self, found: Sequence[str]) -> Iterable[int]:
        """Positions of sentences, the first to be taken first."""
        raise NotImplementedError


class LeadModel(ExtractiveModel):
    """The first sentences."""

    name = "lead"
    licence = of_this_project(name)

    def ranked(self, found: Sequence[str]) -> Iterable[int]:
        return range(len(found))


class CentroidModel(ExtractiveModel):
    """The sentences nearest to the middle of all, by TF-IDF, none of which repeats another.

    References:
        Radev, Jing, Styś and Tam (2004), Centroid-based summarization of multiple documents.
        doi:10.1016/j.ipm.2003.10.006
    """

    name = "centroid"
    licence = of_this_project(name)

    def ranked(self, found: Sequence[str]) -> Iterable[int]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectors = TfidfVectorizer(sublinear_tf=True, strip_accents="unicode").fit_transform(found)
        except ValueError:  # no word in any of them has two letters
            return range(len(found))
        near = np.asarray(vectors @ np.asarray(vectors.mean(axis=0)).T).ravel()
        order: list[int] = []
        for n in np.argsort(-near, kind="stable"):
            if not order or float((vectors[order] @ vectors[n].T).max()) < REPEATED:
                order.append(int(n))
        return order
