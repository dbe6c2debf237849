"""`tfidf`: the learned baseline. Ridge regression on character n-grams of the labelled development texts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from undogmatic.models.base import Model
from undogmatic.records.records import digest, text_mark
from undogmatic.records.wordings import of_this_project

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


class TfidfModel(Model):
    """Fitted when it is first asked, on the same texts as the shipped probe, so that the two can be compared.

    Args:
        alpha: Ridge penalty.
    """

    readouts = ("rules",)
    rubric = "shame"
    licence = of_this_project("tfidf")

    def __init__(self, alpha: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0) -> None:
        from undogmatic.datasets.labels import development_texts

        self.alpha = alpha
        texts, labels = development_texts()
        self._texts, self._shares = tuple(texts), tuple(label / 100 for label in labels)
        self.name = f"tfidf-{digest([texts, labels, alpha])[:12]}"
        self.fitted_on = frozenset(text_mark(text) for text in texts)

    def pipeline(self) -> Pipeline:
        """The fitted scikit-learn pipeline, text -> share in [0, 1]."""
        return _fitted(self._texts, self._shares, self.alpha)

    async def rate(self, text: str) -> tuple[float, str]:
        """Predicted share of authority, clipped to [0, 1]."""
        value = float(self.pipeline().predict([text])[0])
        return min(1.0, max(0.0, value)), f"ridge on character n-grams: {value:.3f}"


@functools.lru_cache(maxsize=2)  # seconds of work, and several instances of one run ask for the same
def _fitted(texts: tuple[str, ...], shares: tuple[float, ...], alpha: float) -> Pipeline:
    return tfidf_ridge(alpha).fit(texts, shares)


def tfidf_ridge(alpha: float) -> Pipeline:
    """Character 2-5-grams within word boundaries, sublinear TF-IDF, ridge."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=2), Ridge(alpha=alpha)
    )
