"""Makes the gauntlet's files: judges without merit where they look best, and good judges where
words give nothing away.

Texts, worlds and most judges are those of `benchmarks.check`. A file has one row per verdict:
`item`, `text` (pairwise: `text_1`, `text_2`), `system` (`system_1`, `system_2`), `order` where the
order is told, `judge`, and `human` or `human_1` to `human_3`. Choices number the two texts as
given, whatever the order shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from benchmarks import check
from undogmatic.records.evidence import AS_GIVEN, SWAPPED

Rng = np.random.Generator
Array = np.ndarray
Kind = Literal["pass_fail", "ordered", "numeric", "pairwise"]
GRADES = ("poor", "fair", "good", "excellent")
MISTAKEN = (1 - np.sqrt(0.8)) / 2
"""How often the judge and each person mistake a text: two who do so independently agree in 0.9 of
them."""


class Case(NamedTuple):
    """A file, what kind of verdicts it holds, and whether its judge should be believed."""

    rows: pd.DataFrame
    kind: Kind
    good: bool


def _about(worlds: Sequence[check.World]) -> dict[str, object]:
    about: dict[str, object] = {
        "item": [f"t{k:03d}" for k in range(len(worlds[0].texts))]
    }
    for k, made in enumerate(worlds, 1):
        end = "" if len(worlds) == 1 else f"_{k}"
        about |= {
            f"text{end}": made.texts,
            f"system{end}": [f"S{k}" for k in made.system],
        }
    return about


def _humans(labels: Sequence[object]) -> dict[str, object]:
    return {
        "human" if len(labels) == 1 else f"human_{k}": own
        for k, own in enumerate(labels, 1)
    }


def _words(values: Array) -> list[str]:
    return ["pass" if value else "fail" for value in values]


def _pass_fail(
    made: check.World, verdicts: Array, *labels: Array, good: bool = False
) -> Case:
    rows = (
        _about([made])
        | {"judge": _words(verdicts)}
        | _humans([_words(own) for own in labels])
    )
    return Case(pd.DataFrame(rows), "pass_fail", good)


def _grades(
    made: check.World, verdicts: Array, *labels: Array, good: bool = False
) -> Case:
    named = [[GRADES[int(value)] for value in values] for values in (verdicts, *labels)]
    return Case(
        pd.DataFrame(_about([made]) | {"judge": named[0]} | _humans(named[1:])),
        "ordered",
        good,
    )


def _numbers(
    made: check.World, verdicts: Array, *labels: Array, good: bool = False
) -> Case:
    told = [np.clip(values, 0, 100).round(1) for values in (verdicts, *labels)]
    return Case(
        pd.DataFrame(_about([made]) | {"judge": told[0]} | _humans(told[1:])),
        "numeric",
        good,
    )


def _choices(
    worlds: Sequence[check.World],
    verdicts: Mapping[str, Array],
    *labels: Array,
    good: bool = False,
    told: bool = True,
) -> Case:
    """One row per item and order; 0 is the first text and 1 the second."""
    about = pd.DataFrame(_about(worlds) | _humans([own + 1 for own in labels]))
    rows = pd.concat(
        [
            about.assign(order=order, judge=said.astype(int) + 1)
            for order, said in verdicts.items()
        ]
    )
    rows = rows.reset_index(drop=True)
    return Case(rows if told else rows.drop(columns="order"), "pairwise", good)


def _reads(name: str, n: int = 164) -> Callable[[Rng], Case]:
    """A judge that reads the surface or nothing; people agree with nine in ten of its verdicts, if
    it reads at all."""

    def case(rng: Rng) -> Case:
        made = check.world(n, rng, check.MEANING.get(name, 0.0))
        verdicts = check.FAKES[name](made, rng)
        labels = (
            made.meaning
            if name in check.MEANING
            else check.turned(verdicts, check.WRONG, rng)
        )
        return _pass_fail(made, verdicts, labels)

    return case


def _punctuation(rng: Rng) -> Case:
    made = check.world(164, rng)
    counts = np.array(
        [sum(not (c.isalnum() or c.isspace()) for c in text) for text in made.texts]
    )
    verdicts = (counts > np.median(counts)).astype(np.intp)
    return _pass_fail(made, verdicts, check.turned(verdicts, check.WRONG, rng))


def _majority(rng: Rng) -> Case:
    """Most texts are good, and the judge says so of every one."""
    made = check.world(150, rng)
    return _pass_fail(made, np.ones(150), rng.random(150) < 0.9)


def _one_class(rng: Rng) -> Case:
    """Passes what people pass, and nearly all that they fail."""
    made = check.world(150, rng)
    labels = (rng.random(150) < 0.85).astype(np.intp)
    return _pass_fail(made, np.where(labels == 1, 1, rng.random(150) < 0.85), labels)


def _copied(rng: Rng) -> Case:
    """The labels are the judge's own verdicts, which are a coin's."""
    made = check.world(150, rng)
    verdicts = rng.integers(2, size=150)
    return _pass_fail(made, verdicts, verdicts)


def _reversed(rng: Rng) -> Case:
    made = check.world(150, rng)
    return _pass_fail(
        made,
        check.turned(1 - made.meaning, MISTAKEN, rng),
        check.turned(made.meaning, MISTAKEN, rng),
    )


def _handful(rng: Rng) -> Case:
    """Eight texts, of which a coin is right about seven: one coin in 28 is right about so many."""
    made = check.world(8, rng)
    labels = rng.permutation([0, 1, 0, 1, 0, 1, 0, 1])
    return _pass_fail(
        made, np.where(np.arange(8) == rng.integers(8), 1 - labels, labels), labels
    )


def _repeated(rng: Rng) -> Case:
    """Five texts, a hundred times each under other ids: the judge is right about four, as one coin
    in six is."""
    made = check.world(5, rng)
    labels = rng.permutation([0, 1, 0, 1, int(rng.integers(2))])
    verdicts = np.where(np.arange(5) == rng.integers(5), 1 - labels, labels)
    again = np.tile(np.arange(5), 100)
    many = check.World(
        made.source,
        [made.texts[k] for k in again],
        made.meaning[again],
        made.system[again],
    )
    return _pass_fail(many, verdicts[again], labels[again])


def _silent(rng: Rng) -> Case:
    """Fails where it is hard: two fifths have no verdict, and of those people pass nearly all."""
    made = check.world(200, rng)
    hard = rng.random(200) < 0.4
    labels = np.where(
        hard, rng.random(200) < 0.9, check.turned(made.meaning, MISTAKEN, rng)
    ).astype(np.intp)
    rows = _pass_fail(made, check.turned(made.meaning, MISTAKEN, rng), labels).rows
    return Case(rows.assign(judge=rows["judge"].where(~hard, "")), "pass_fail", False)


def _length_grades(rng: Rng) -> Case:
    """Quarters by length; people differ by one grade in one text of ten."""
    made = check.world(164, rng)
    place = np.argsort(np.argsort([len(text) for text in made.texts]))
    verdicts = place * 4 // 164
    labels = np.where(
        rng.random(164) < check.WRONG,
        np.clip(verdicts + rng.choice([-1, 1], 164), 0, 3),
        verdicts,
    )
    return _grades(made, verdicts, labels)


def _middle_grade(rng: Rng) -> Case:
    made = check.world(150, rng)
    return _grades(made, np.ones(150), rng.choice(4, 150, p=[0.1, 0.7, 0.1, 0.1]))


def _length_score(rng: Rng) -> Case:
    made = check.world(164, rng)
    length = np.array([float(len(text)) for text in made.texts])
    score = 50 + 20 * (length - length.mean()) / length.std()
    return _numbers(made, score, score + rng.normal(0, 8, 164))


def _random_score(rng: Rng) -> Case:
    made = check.world(150, rng)
    return _numbers(
        made, rng.uniform(0, 100, 150), 30 + 40 * made.meaning + rng.normal(0, 12, 150)
    )


def _paired_worlds(n: int, rng: Rng) -> tuple[list[check.World], Array]:
    """Two texts each, and which is better: where both mean the same, something that no word says
    decides."""
    first = check.world(n, rng)
    worlds = [first, check.world(n, rng, source=first.source)]
    better = worlds[1].meaning - first.meaning
    return worlds, np.where(better == 0, rng.integers(2, size=n), better > 0).astype(
        np.intp
    )


def _chooses(name: str, n: int = 164) -> Callable[[Rng], Case]:
    """A judge of two texts that goes by the surface, in both orders."""

    def case(rng: Rng) -> Case:
        worlds, _ = _paired_worlds(n, rng)
        first, second = (check.PAIRED[name](made, rng) for made in worlds)
        said = (second > first).astype(np.intp)
        return _choices(
            worlds,
            {AS_GIVEN: said, SWAPPED: said},
            check.turned(said, check.WRONG, rng),
        )

    return case


def _always_first(rng: Rng) -> Case:
    worlds, better = _paired_worlds(150, rng)
    return _choices(worlds, {AS_GIVEN: better * 0, SWAPPED: better * 0 + 1}, better)


def _always_first_one_order(rng: Rng) -> Case:
    """Shown in one order, which is not told; people, too, mostly prefer the first."""
    worlds, _ = _paired_worlds(150, rng)
    return _choices(
        worlds,
        {AS_GIVEN: np.zeros(150)},
        (rng.random(150) < 0.15).astype(np.intp),
        told=False,
    )


def _pair_coin(rng: Rng) -> Case:
    worlds, better = _paired_worlds(150, rng)
    return _choices(
        worlds,
        {order: rng.integers(2, size=150) for order in (AS_GIVEN, SWAPPED)},
        better,
    )


WITHOUT_MERIT: dict[str, Callable[[Rng], Case]] = {
    **{
        name: _reads(name)
        for name in ("coin", "constant", "length", "regex_1", "regex_3", "regex_8")
    },
    **{
        name: _reads(name)
        for name in ("upper_case", "digits", "first_word", "tfidf", "system")
    },
    "majority": _majority,
    "punctuation": _punctuation,
    "one_class": _one_class,
    "labels_copied": _copied,
    "reversed": _reversed,
    "handful": _handful,
    "five_texts_repeated": _repeated,
    "silent_where_hard": _silent,
    "length_grades": _length_grades,
    "middle_grade": _middle_grade,
    "length_score": _length_score,
    "random_score": _random_score,
    "always_first": _always_first,
    "always_first_one_order": _always_first_one_order,
    "pair_coin": _pair_coin,
    "pair_longer": _chooses("pair_longer"),
    "pair_system": _chooses("pair_system"),
}


def _agrees(
    n: int, raters: int, language: int | None = None, passes: float = 0.5
) -> Callable[[Rng], Case]:
    """A judge and people who each mistake one text in twenty; `passes`: share of texts that are
    good."""

    def case(rng: Rng) -> Case:
        made = check.world(4 * n, rng, source=language)
        right = rng.random(n) < passes
        pool = {side: iter(np.flatnonzero(made.meaning == side)) for side in (0, 1)}
        kept = [int(next(pool[int(side)])) for side in right]
        made = check.World(
            made.source,
            [made.texts[k] for k in kept],
            made.meaning[kept],
            made.system[kept],
        )
        verdicts, *labels = (
            check.turned(made.meaning, MISTAKEN, rng) for _ in range(1 + raters)
        )
        return _pass_fail(made, verdicts, *labels, good=True)

    return case


def _good_grades(rng: Rng) -> Case:
    """Four grades; judge and people mistake one in twenty by one grade."""
    made = check.world(200, rng)
    truth = 2 * made.meaning + rng.integers(2, size=200)
    told = [
        np.where(
            rng.random(200) < MISTAKEN,
            np.clip(truth + rng.choice([-1, 1], 200), 0, 3),
            truth,
        )
        for _ in range(3)
    ]
    return _grades(made, *told, good=True)


def _good_score(rng: Rng) -> Case:
    """Scores of judge and people correlate at about .9."""
    made = check.world(200, rng)
    truth = 30 + 40 * made.meaning + rng.normal(0, 10, 200)
    return _numbers(made, *(truth + rng.normal(0, 7, 200) for _ in range(3)), good=True)


def _good_pairs(n: int) -> Callable[[Rng], Case]:
    def case(rng: Rng) -> Case:
        worlds, better = _paired_worlds(n, rng)
        said = {
            order: check.turned(better, MISTAKEN, rng) for order in (AS_GIVEN, SWAPPED)
        }
        return _choices(worlds, said, check.turned(better, MISTAKEN, rng), good=True)

    return case


GOOD: dict[str, Callable[[Rng], Case]] = {
    "good_100_two_raters": _agrees(100, 2),
    "good_200": _agrees(200, 1),
    "good_200_three_raters": _agrees(200, 3, language=0),
    "good_300_portuguese": _agrees(300, 1, language=1),
    "good_300_most_pass": _agrees(300, 2, passes=0.7),
    "good_grades": _good_grades,
    "good_score": _good_score,
    "good_pairs_150": _good_pairs(150),
    "good_pairs_300": _good_pairs(300),
}
CASES = WITHOUT_MERIT | GOOD


def make(name: str, seed: int) -> Case:
    """The file of one judge and seed."""
    return CASES[name](np.random.default_rng([24, seed, *map(ord, name)]))
