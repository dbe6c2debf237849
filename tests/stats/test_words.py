"""The judge that reads nothing: what it counts, that it never sees what it foretells, how short a
list it writes."""

import re

import numpy as np
import pytest

from tests.stats.conftest import Rng
from undogmatic.stats import surface, words

SYLLABLES = ["ka", "lo", "mi", "ne", "pu", "ra", "si", "to", "ve", "zu"]
VOCABULARY = [a + b for a in SYLLABLES for b in SYLLABLES]


def invented(n: int, rng: Rng, length: int = 20) -> list[str]:
    return [
        " ".join(rng.choice(VOCABULARY, size=int(rng.integers(5, 2 * length)))) + "."
        for _ in range(n)
    ]


def judge(
    seen: words.Marks, n: int, rng: Rng, groups: np.ndarray | None = None
) -> words.Surface:
    codes = np.arange(n) if groups is None else groups
    dealt = rng.permutation(int(codes.max()) + 1)
    return words.Surface(seen, codes, np.ones(n, dtype=bool), dealt)


def test_counts_are_those_of_each_text_alone() -> None:
    texts = [
        'O STF, em 12/3/2019 (Tema 72), disse: "não". Por quê?\nAinda assim - é isso.',
        "",
        "a",
        "B. C! \ud800",
    ]
    shared = [
        name
        for name in words.COUNTS
        if name in surface.COUNTS
        and name not in ("sentences", "sentence_length", "longest_sentence")
    ]
    found = words.counts(texts)
    expected = surface.counts(texts)
    for name in shared:
        column = found[:, words.COUNTS.index(name)]
        assert column == pytest.approx(expected[:, surface.COUNTS.index(name)]), name
    assert found[0, words.COUNTS.index("sentences")] == 3
    assert words.counts([]).shape == (0, len(words.COUNTS))


def test_a_list_of_the_users_may_be_named_like_a_count(rng: Rng) -> None:
    texts, pattern = invented(40, rng), re.compile("kalo|zuve")
    own, like = (
        words.marks(texts, lists={name: pattern}) for name in ("mine", "words")
    )
    assert own.features[1] == pytest.approx(like.features[1])


def test_a_list_names_the_words_of_a_pattern_and_nothing_of_chance(rng: Rng) -> None:
    texts = invented(200, rng)
    seen = words.marks(texts)
    pattern = np.array(
        [
            1 if {"kalo", "zuve", "mimi"} & set(text[:-1].split()) else -1
            for text in texts
        ]
    )
    found = words.listed(seen, pattern, np.arange(200))
    assert {seen.names[step] for step in found.steps} == {
        ("word", "kalo"),
        ("word", "zuve"),
        ("word", "mimi"),
    }
    assert (
        np.array_equal(np.sign(found.said), pattern) and found.bits < found.of_bits / 2
    )
    empty = [
        len(words.listed(seen, rng.choice([-1, 1], size=200), np.arange(200)).steps)
        == 0
        for _ in range(40)
    ]
    assert np.mean(empty) >= 0.9


def test_a_list_is_priced_in_groups(rng: Rng) -> None:
    """Words that all texts of a group share tell which group it is: they are no rule of the
    verdicts, which go together in groups. Words that tell the texts of a group apart are, and so is
    one that half of many groups share.
    """
    groups = np.repeat(np.arange(40), 12)
    common = invented(groups.size, rng, 8)
    own = [f"t{k}a t{k}b t{k}c " for k in groups]
    seen = words.marks([a + b for a, b in zip(own, common, strict=True)])
    together = np.sign(rng.normal(size=40)[groups] + rng.normal(size=groups.size))
    # what rows would pay for
    assert len(words.listed(seen, together, np.arange(groups.size)).steps) > 2
    assert words.listed(seen, together, groups).steps == ()
    within = np.array(
        [1 if "kalo" in text or "zuve" in text else -1 for text in common]
    )
    assert {seen.names[step] for step in words.listed(seen, within, groups).steps} >= {
        ("word", "kalo")
    }
    half = rng.permutation(40) < 20
    seen = words.marks(
        [
            ("refund " if half[k] else "") + a + b
            for k, a, b in zip(groups, own, common, strict=True)
        ]
    )
    assert seen.names[words.listed(seen, 2.0 * half[groups] - 1, groups).steps[0]] == (
        "word",
        "refund",
    )


@pytest.mark.parametrize("paired", [False, True])
def test_ridge_leaves_a_fold_out_as_a_fit_without_it_does(
    paired: bool, rng: Rng
) -> None:
    features, y, folds = (
        rng.normal(size=(30, 50)),
        rng.normal(size=30),
        np.arange(30) % 5,
    )
    ridge = words.Ridge(features, folds, intercept=not paired)
    scale = np.sum(features**2) / 30
    given = (
        features
        if paired
        else np.column_stack([features, np.full(30, 10 * scale**0.5)])
    )
    said = []
    for penalty in (0.03, 0.1, 0.3, 1, 3, 10):
        left = np.empty(30)
        for fold in range(5):
            train, test = folds != fold, folds == fold
            kernel = given[train] @ given[train].T + penalty * scale * np.eye(
                train.sum()
            )
            left[test] = (
                given[test] @ given[train].T @ np.linalg.solve(kernel, y[train])
            )
        said.append(left)
    for fold in range(5):
        others, own = folds != fold, folds == fold
        best = min(said, key=lambda left: float(np.sum((y - left)[others] ** 2)))
        assert ridge.predict(y)[own] == pytest.approx(best[own], abs=1e-6)


def test_a_rule_is_foretold_and_chance_is_not(rng: Rng) -> None:
    texts = invented(120, rng)
    surface_judge = judge(words.marks(texts), 120, rng)
    long = np.array([len(text) for text in texts])
    rule = (long > np.median(long)).astype(float)
    coins = rng.integers(2, size=(30, 120)).astype(float)
    told = surface_judge.foretell(np.concatenate([rule[None], coins]), shares=True)
    right = ((told > 0.5) == np.concatenate([rule[None], coins])).mean(axis=1)
    # most coins have a more frequent side
    assert right[0] > 0.9 and right[1:].mean() == pytest.approx(0.52, abs=0.03)


def test_texts_of_the_own_group_say_nothing(rng: Rng) -> None:
    """Every text is there twice, with a label that nothing else tells."""
    texts = invented(50, rng)
    label = np.repeat(rng.integers(2, size=50), 2).astype(float)[None]
    seen = words.marks([text for text in texts for _ in range(2)])
    alone, together = (
        judge(seen, 100, rng, groups).foretell(label, shares=True)[0]
        for groups in (np.arange(100), np.arange(100) // 2)
    )
    right = [np.mean((told > 0.5) == label[0]) for told in (alone, together)]
    assert right[0] > 0.8 and right[1] < 0.65


def test_swapping_the_texts_of_pairs_mirrors_what_is_foretold(rng: Rng) -> None:
    first, second = invented(80, rng), invented(80, rng)
    longer = np.array(
        [len(a) > len(b) for a, b in zip(first, second, strict=True)], dtype=float
    )
    told = [
        judge(words.marks(*texts), 80, np.random.default_rng(1)).foretell(
            target[None], shares=True
        )[0]
        for texts, target in (((first, second), longer), ((second, first), 1 - longer))
    ]
    assert told[0] == pytest.approx(1 - told[1], abs=1e-3)
    assert np.mean((told[0] > 0.5) == longer) > 0.9


def test_texts_without_words_have_no_marks_that_tell(rng: Rng) -> None:
    seen = words.marks(["...", "...", "...", "..."] * 5)
    assert seen.columns.shape == (0, 20)
    target = rng.integers(2, size=20).astype(float)
    assert words.listed(seen, 2 * target - 1, np.arange(20)).steps == ()
    told = judge(seen, 20, rng).foretell(target[None], shares=True)
    assert told == pytest.approx(np.full((1, 20), target.mean()))
    assert words.leaning(seen, target, np.arange(20), 3) == []


def test_shares_of_letters_stand_by_themselves() -> None:
    """What a judge makes of letters, or of the ends of words, is learned from a hundred texts."""
    rng = np.random.default_rng(2)
    words_ = [
        "".join(rng.choice(list("abcdefghijklmnopqrstuv"), 6)) for _ in range(400)
    ]
    texts = [" ".join(rng.choice(words_, 40)) for _ in range(120)]
    ends = np.array([sum(word[-1] in "os" for word in text.split()) for text in texts])
    verdict = (ends > np.median(ends)).astype(float)
    seen = words.marks(texts)
    *_, letters, of_ends = seen.features
    assert (
        letters.shape[0] == of_ends.shape[0] == 120
        and of_ends.shape[1] == 2 * letters.shape[1]
    )
    folds = np.arange(120) % 10
    told = words.Ridge(of_ends, folds, intercept=True).predict(verdict - verdict.mean())
    assert np.mean((told > 0) == (verdict > 0)) > 0.75


@pytest.mark.parametrize("texts", [["12 34", "56", "7 8 9", "10"], ["", "", "a", ""]])
@pytest.mark.parametrize("paired", [False, True])
def test_texts_without_letters_are_read(texts: list[str], paired: bool) -> None:
    seen = words.marks(texts, texts[::-1] if paired else None)
    for table in seen.features:
        ridge = words.Ridge(table, np.arange(4) % 2, intercept=not paired)
        assert np.isfinite(ridge.predict(np.array([1.0, -1.0, 1.0, -1.0]))).all()


def test_of_what_is_not_foretold_no_rounding_tells_the_target() -> None:
    """A feature that is the same everywhere says nothing of targets whose mean is 0 but for
    rounding, and the last digits of a difference hold the target's own sign."""
    folds = np.arange(40) // 4
    for off in (6e-16, 1.2e-15, 2.4e-15, 4.8e-15):
        target = np.tile([0.5, 0.5, -0.5, -0.5], 10)
        target[0] += off
        told = words.Ridge(np.ones((40, 1)), folds, intercept=False).predict(target)
        assert not told.any()
