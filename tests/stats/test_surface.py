"""What is counted, and that texts that count alike are alike."""

import random
from string import ascii_lowercase

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from tests.stats.conftest import Rng, peak_memory, refuses
from undogmatic.stats import surface
from undogmatic.stats.surface import copies, enough, versions


def _linear(x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ x.T)


class TestPredict:
    def test_a_function_that_the_kernel_holds_is_found_exactly(self, rng: Rng) -> None:
        x = rng.normal(size=(60, 3))
        y = x @ [1.0, -2.0, 0.5] + 7
        assert surface.predict(
            [_linear(x), np.eye(60)], y, np.arange(60), rng
        ) == pytest.approx(y, abs=1e-3)

    def test_stacking_leaves_a_kernel_of_noise_aside(self, rng: Rng) -> None:
        x, noise = rng.normal(size=(80, 2)), rng.normal(size=(80, 200))
        y = 3 * x[:, 0] + rng.normal(0, 1, 80)
        kernels = [_linear(x), _linear(noise)]
        alone, both = (
            surface.predict(own, y, np.arange(80), rng)
            for own in (kernels[:1], kernels)
        )
        assert np.mean((both - y) ** 2) < 1.15 * np.mean((alone - y) ** 2)

    def test_noise_is_met_as_often_as_by_a_coin(self, rng: Rng) -> None:
        """With the penalty and the stacking weights chosen on the rows that are predicted, it was
        .55."""
        shares = []
        for _ in range(150):
            x, many = rng.normal(size=(24, 4)), rng.normal(size=(24, 60))
            found = surface.predict(
                [_linear(x), _linear(many)],
                np.ones(24),
                np.arange(24),
                rng,
                intercept=False,
            )
            shares.append(np.mean((1 + np.sign(found)) / 2))
        assert np.mean(shares) == pytest.approx(0.5, abs=0.03)

    def test_rows_of_the_own_group_say_nothing(self) -> None:
        """Twins in one group are alike in nothing else: whoever saw the twin would know the
        target."""
        rng = np.random.default_rng(4)
        twins = np.repeat(np.arange(40), 2)
        y = rng.normal(size=40)[twins]
        alike = (twins[:, None] == twins[None, :]).astype(float)
        apart, together = (
            surface.predict([alike], y, groups, rng)
            for groups in (np.arange(80), twins)
        )
        assert np.corrcoef(apart, y)[0, 1] > 0.8
        assert abs(np.corrcoef(together + rng.normal(0, 1e-9, 80), y)[0, 1]) < 0.4

    def test_with_hardly_a_group_the_answer_is_the_mean(self, rng: Rng) -> None:
        kernel, y = _linear(rng.normal(size=(6, 2))), np.arange(6.0)
        assert surface.predict([kernel], y, [0, 0, 1, 1, 2, 2], rng) == pytest.approx(
            np.full(6, 2.5)
        )
        of_others = [np.mean(np.delete(y, k)) for k in range(6)]
        assert surface.predict(
            [np.zeros((6, 6))], y, np.arange(6), rng
        ) == pytest.approx(of_others)
        refuses("NaN", surface.predict, [kernel], [*y[:5], np.nan], np.arange(6), rng)


class TestCountsAndKernels:
    def test_counts_by_hand(self) -> None:
        text = 'O STF, em 12/3/2019 (Tema 72), disse: "não". Por quê?\nAinda assim - é isso.'
        expected = {
            "characters": len(text),
            "words": 16,
            "sentences": 3,
            "lines": 2,
            "capitals": 7,
            "capital_words": 5,
        }
        expected |= {
            "digits": 9,
            "numbers": 2,
            "commas": 2,
            "full_stops": 2,
            "parentheses": 2,
            "quotes": 2,
        }
        expected |= {
            "colons": 1,
            "hyphens": 1,
            "other_marks": 3,
            "longest_word": 5,
            "different_words": 1,
        }
        found = dict(
            zip(surface.COUNTS, surface.counts([text])[0].tolist(), strict=True)
        )
        assert {name: found[name] for name in expected} == expected

    def test_a_text_without_words_counts_nothing_and_breaks_nothing_and_extra_columns_stand_beside(
        self,
    ) -> None:
        assert surface.counts(["a", "b"], np.array([[3.0], [4.0]]))[:, -1].tolist() == [
            3,
            4,
        ]
        assert set(surface.counts(["", "   "])[:, 4:8].ravel()) == {0.0}
        for texts in (["", "a"], ["x", "y"], ["a a", "a a", "b"], ["", "", "..."]):
            kernels = np.array(surface.kernels(texts))
            assert (
                kernels.shape == (surface.KERNELS, len(texts), len(texts))
                and np.isfinite(kernels).all()
            )

    def test_kernels_are_of_inner_products(self) -> None:
        texts = [f"{'palavra ' * (n % 7 + 1)}, {n}." for n in range(20)]
        for kernel in surface.kernels(texts):
            assert kernel == pytest.approx(kernel.T)
            assert np.linalg.eigvalsh(kernel)[0] > -1e-6 * max(1, np.abs(kernel).max())

    def test_contrast_is_the_kernel_of_differences(self, rng: Rng) -> None:
        x = rng.normal(size=(10, 3))
        d = x[:5] - x[5:]
        assert surface.contrast(
            x @ x.T, np.arange(5), np.arange(5, 10)
        ) == pytest.approx(d @ d.T)

    @pytest.mark.parametrize(
        "judge",
        [
            lambda t: abs(len(t) - 60) / 2,
            lambda t: 5.0 * t.count(","),
            lambda t: t.count("b") / len(t),
            lambda t: t.count(",") * len(t),
            lambda t: float((t + ",").find(",")),
            lambda t: sum(len(w) for w in t.split()) / len(t.split()),
        ],
    )
    def test_a_judge_of_the_surface_is_foretold(self, judge, rng: Rng) -> None:  # type: ignore[no-untyped-def]
        texts = []
        for _ in range(100):
            words = [
                "".join(rng.choice(list("abcde"), rng.integers(1, 9)))
                for _ in range(rng.integers(4, 22))
            ]
            texts.append(
                " ".join(w + ("," if rng.random() < 0.2 else "") for w in words) + "."
            )
        scores = np.array([judge(t) for t in texts])
        found = surface.predict(surface.kernels(texts), scores, np.arange(100), rng)
        assert np.corrcoef(found, scores)[0, 1] > 0.8


LONG = (
    "A multa de atraso já antecipa o prejuízo de quem espera a chave. Quando ela equivale mais ou"
    " menos a um aluguel, somar lucros cessantes pagaria duas vezes a mesma perda, e por isso o"
    " tribunal manda escolher entre as duas."
)


def words(n: int, seed: object, vocabulary: int = 5000) -> str:
    """A text of n words from a vocabulary that all seeds share."""
    draw = random.Random(str(seed))
    known = random.Random(0)
    pool = [
        "".join(known.choices(ascii_lowercase, k=known.randint(2, 9)))
        for _ in range(vocabulary)
    ]
    return " ".join(draw.choices(pool, k=n))


def edited(text: str, share: float, seed: int) -> str:
    """The text with this share of its words replaced."""
    draw, parts = random.Random(seed), text.split()
    for place in draw.sample(range(len(parts)), round(share * len(parts))):
        parts[place] = "".join(draw.choices(ascii_lowercase, k=6))
    return " ".join(parts)


class TestCopies:
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
    def test_a_copy_is_found_however_it_was_disguised(self, changed: str) -> None:
        assert copies((LONG, words(40, "other"), changed)) == (0, 1, 0)

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("Sim.", "sim", True),
            ("Sim.", "Não.", False),
            ("Tema 1 do STF", "Tema 2 do STF", False),
            ("?!", "?!", True),
            ("?!", "...", False),
            # one shingle: nothing that could have been copied
            ("x" * 300, "x" * 340, False),
            ("palavra " * 40, "palavra " * 41, False),
            ("a b c d e f g h i j k", "a b c d e f g h i j l", False),
        ],
    )
    def test_what_says_too_little_is_a_copy_only_if_it_is_the_same(
        self, one: str, other: str, same: bool
    ) -> None:
        assert not enough(one)
        assert (copies((one, other)) == (0, 0)) == same

    def test_versions_share_less_than_copies_and_no_formula(self) -> None:
        rng = np.random.default_rng(1)

        def said(n: int) -> str:
            return " ".join(f"word{rng.integers(10**6)}" for _ in range(n))

        kept = [said(16) for _ in range(30)]
        texts = [f"{kept[n // 2]} {said(14)}" for n in range(60)]
        order = rng.permutation(60)
        found = versions([texts[n] for n in order])
        assert len(set(copies(tuple(texts)))) > 50
        assert {tuple(sorted(order[found == k])) for k in set(found)} == {
            (n, n + 1) for n in range(0, 60, 2)
        }
        formula = said(16)
        sharing = [f"{formula} {said(14)}" for _ in range(7)]
        assert len(set(versions([*texts, *sharing]))) == 30 + 7
        assert len(set(versions([*texts, *sharing[:6]]))) == 30 + 1
        short = ["It was good.", "It was good!!", "It was bad."] * 20
        assert len(set(versions(short))) == 60

    def test_texts_that_share_a_subject_or_a_phrase_are_no_copies(self) -> None:
        phrase = words(10, "phrase")
        texts = tuple(
            f"{words(40, seed)} {phrase} {words(20, (seed, 'end'))}"
            for seed in range(60)
        )
        assert len(set(copies(texts))) == 60

    def test_eight_texts_copied_to_sixty_four_are_eight(self) -> None:
        originals = [words(60, seed) for seed in range(8)]
        texts = tuple(edited(originals[n % 8], 0.05 * (n >= 8), n) for n in range(64))
        assert copies(texts) == tuple(n % 8 for n in range(64))

    def test_many_texts_are_signed_together_as_each_is_alone(self) -> None:
        """Shingles that begin in one text and end in the next are none, and a part of the texts
        ends anywhere."""
        texts = [words(1 + n % 70, n, 300) for n in range(400)]
        texts += ["x" * 300, "ab" * 50_000, "", "ação " * 30 + LONG, "\U0001f600" * 60]
        places, signatures = surface.signatures(texts)
        alone = {
            n: own[0]
            for n, text in enumerate(texts)
            if len(own := surface.signatures([text])[1])
        }
        assert places.tolist() == list(alone)
        assert np.array_equal(signatures, np.stack([*alone.values()]))
        assert [n for n, text in enumerate(texts) if enough(text)] == list(alone)
        assert 200 < len(alone) < 400

    def test_clusters_are_those_of_every_pair_that_falls_together(self) -> None:
        """Each band's pairs are joined at once, without those whose rows are together already."""
        texts = sorted(
            {
                surface.letters(edited(words(40, n % 40), 0.2 * (n // 40), n))
                for n in range(200)
            }
        )
        signatures = surface._signatures(texts)[1]
        pairs = [
            surface.fallen_together(surface.banded(signatures, band))
            for band in range(surface.BANDS)
        ]
        one, other = (np.concatenate(side) for side in zip(*pairs, strict=True))
        near = surface.alike(signatures[one], signatures[other])
        links = csr_matrix(
            (np.ones(near.sum()), (one[near], other[near])),
            shape=(len(texts), len(texts)),
        )
        wanted = connected_components(links, directed=False)[1]
        found = surface._clusters(signatures)
        assert (
            len(set(zip(found.tolist(), wanted.tolist(), strict=True)))
            == len(set(found))
            == len(set(wanted))
        )
        assert 40 <= len(set(found)) < 200

    def test_the_order_of_the_texts_changes_nothing(self) -> None:
        texts = [edited(words(40, n % 20), 0.15, n) for n in range(60)]
        of = dict(zip(texts, copies(tuple(texts)), strict=True))
        random.Random(1).shuffle(texts)
        again = dict(zip(texts, copies(tuple(texts)), strict=True))
        clusters = [
            {frozenset(t for t in texts if found[t] == head) for head in found.values()}
            for found in (of, again)
        ]
        assert clusters[0] == clusters[1]

    def test_many_texts_take_less_memory_than_a_number_for_every_two_of_them(
        self,
    ) -> None:
        texts = tuple(words(30, n, vocabulary=300) for n in range(3000))
        found, most = peak_memory(lambda: copies(texts))
        assert len(set(found)) == 3000 and most < 4 * 3000**2
        assert copies(()) == ()
