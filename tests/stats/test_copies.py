"""Copies and near-copies: what is found, what is not, and how long it takes."""

from __future__ import annotations

import random
import tracemalloc
from string import ascii_lowercase

import pytest

from undogmatic.stats.surface import copies, enough

LONG = (
    "A multa de atraso já antecipa o prejuízo de quem espera a chave. Quando ela equivale mais ou menos a um aluguel, "
    "somar lucros cessantes pagaria duas vezes a mesma perda, e por isso o tribunal manda escolher entre as duas."
)


def words(n: int, seed: object, vocabulary: int = 5000) -> str:
    """A text of n words from a vocabulary that all seeds share."""
    draw = random.Random(str(seed))
    known = random.Random(0)
    pool = ["".join(known.choices(ascii_lowercase, k=known.randint(2, 9))) for _ in range(vocabulary)]
    return " ".join(draw.choices(pool, k=n))


def edited(text: str, share: float, seed: int) -> str:
    """The text with this share of its words replaced."""
    draw, parts = random.Random(seed), text.split()
    for place in draw.sample(range(len(parts)), round(share * len(parts))):
        parts[place] = "".join(draw.choices(ascii_lowercase, k=6))
    return " ".join(parts)


@pytest.mark.parametrize(
    "changed",
    [
        LONG,
        LONG.upper(),
        f"  {LONG}\n\n",
        LONG.replace(" ", "\u00a0 ").replace(",", ";"),
        LONG.replace("í", "i").replace("á", "a"),
        "\u200b".join(LONG),
        LONG.replace("aluguel", "aluguer"),
        f"{LONG} Nada mais.",
        LONG.split(". ")[1] + " " + LONG.split(". ", maxsplit=1)[0],
        edited(LONG, 0.08, 1),
    ],
)
def test_a_copy_is_found_however_it_was_disguised(changed: str) -> None:
    assert copies((LONG, words(40, "other"), changed)) == (0, 1, 0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Sim.", "sim", True),
        ("Sim.", "Não.", False),
        ("Tema 1 do STF", "Tema 2 do STF", False),
        ("?!", "?!", True),
        ("?!", "...", False),
        ("x" * 300, "x" * 340, False),  # one shingle: nothing that could have been copied
        ("palavra " * 40, "palavra " * 41, False),
        ("a b c d e f g h i j k", "a b c d e f g h i j l", False),
    ],
)
def test_what_says_too_little_is_a_copy_only_if_it_is_the_same(one: str, other: str, same: bool) -> None:
    assert not enough(one)
    assert (copies((one, other)) == (0, 0)) == same


def test_texts_that_share_a_subject_or_a_phrase_are_no_copies() -> None:
    phrase = words(10, "phrase")
    texts = tuple(f"{words(40, seed)} {phrase} {words(20, (seed, 'end'))}" for seed in range(60))
    assert len(set(copies(texts))) == 60


def test_eight_texts_copied_to_sixty_four_are_eight() -> None:
    originals = [words(60, seed) for seed in range(8)]
    texts = tuple(edited(originals[n % 8], 0.05 * (n >= 8), n) for n in range(64))
    assert copies(texts) == tuple(n % 8 for n in range(64))


def test_the_order_of_the_texts_changes_nothing() -> None:
    texts = [edited(words(40, n % 20), 0.15, n) for n in range(60)]
    of = dict(zip(texts, copies(tuple(texts)), strict=True))
    random.Random(1).shuffle(texts)
    again = dict(zip(texts, copies(tuple(texts)), strict=True))
    clusters = [{frozenset(t for t in texts if found[t] == head) for head in found.values()} for found in (of, again)]
    assert clusters[0] == clusters[1]


def test_many_texts_take_less_memory_than_a_number_for_every_two_of_them() -> None:
    texts = tuple(words(30, n, vocabulary=300) for n in range(3000))
    tracemalloc.start()
    try:
        assert len(set(copies(texts))) == 3000
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 4 * 3000**2
    assert copies(()) == ()
