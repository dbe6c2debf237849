"""Embeddings without a model: what shares runs of letters lies close together."""

import numpy as np

from undogmatic.models.embeddings import LettersEmbeddings


def test_texts_with_the_same_runs_of_letters_lie_close() -> None:
    made = LettersEmbeddings(1024)
    one, like, other, blank = made.vectors(
        ["o banco responde", "os bancos respondem", "chuva de março", "!"]
    )
    assert np.linalg.norm([one, like, other], axis=1).round(5).tolist() == [1, 1, 1]
    assert one @ like > 0.5 > one @ other
    assert np.isfinite(blank).all()
    assert (LettersEmbeddings(1024).vectors(["o banco responde"])[0] == one).all()
    assert made.digest != LettersEmbeddings(2048).digest
