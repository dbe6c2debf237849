"""Embeddings without a model: what shares runs of letters lies close together."""

import numpy as np

from undogmatic.models.embeddings import (
    CountsEmbeddings,
    LettersEmbeddings,
    MixedEmbeddings,
    StatesEmbeddings,
)


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


def test_counts_tell_texts_apart_by_length_and_marks_alone() -> None:
    made = CountsEmbeddings()
    short, long, marked, other = made.vectors(
        ["Uma frase.", "Uma frase. " * 30, "Uma, frase; (1).", "Oca grama."]
    )
    assert np.allclose(np.linalg.norm([short, long, marked, other], axis=1), 1)
    assert short @ other > 0.999  # as many words, letters and marks, other words
    assert short @ long < short @ marked < 0.999
    assert (short == made.vectors(["Uma frase."])[0]).all()


def test_each_block_of_states_counts_like_an_embedding() -> None:
    states = StatesEmbeddings(threads=1, blocks=[1, 2])
    letters, counts = LettersEmbeddings(64), CountsEmbeddings()
    widths = MixedEmbeddings([states, letters, counts]).widths("Aplica-se o tema.")
    assert widths == [640, 640, 64, 46]
