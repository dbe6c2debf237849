"""The figures of an answer: how far verdicts agree with labels, of items alone and in groups, and
of labels by stratum.

Worlds are those that files of verdicts have: items that stand alone, 5 to 20 items of one topic,
groups of very unequal size, and one text that was judged many times; grades, skewed grades,
categories, pass and fail, also where one item in ten passes. Units are items here, of which the
groups hold so many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.coverage.samples import (
    LEVEL,
    MANY,
    Array,
    Ends,
    Question,
    Rng,
    Sample,
    ends_of,
)
from undogmatic.stats import corrected, limits, rated
from undogmatic.stats.estimate import Estimate

ITEMS = (60, 100, 250)
GROUPINGS = ("alone", "5-20", "unequal", "same text")
NOISE = 0.6
"""The spread of what a judge, and a person, adds to what an item is worth, whose spread is 1."""
TOGETHER = {"apart": (0.1, 0.0), "alike": (0.5, 0.2)}
"""How far the worth of items of a group goes together, and how far the errors about them do."""
STRATUM = 15
"""Labels of each verdict."""


class Shape(NamedTuple):
    """Verdict or label from what an item seems to be worth, and how many categories there are (0:
    numbers)."""

    of: Callable[[Array], Array]
    categories: int = 0


_TENTH = float(stats.norm.isf(0.1) * (1 + NOISE**2) ** 0.5)
SHAPES = {
    "grades": Shape(lambda own: 50 + 10 * own),
    "skewed grades": Shape(lambda own: np.clip(np.floor(3 * np.exp(own)), 0, 20)),
    "half pass": Shape(lambda own: (own > 0) * 1.0, 2),
    "one in ten passes": Shape(lambda own: (own > _TENTH) * 1.0, 2),
    "five levels": Shape(lambda own: np.clip(np.round(2 + own), 0, 4), 5),
    "five levels, skewed": Shape(lambda own: np.clip(np.floor(np.exp(own)), 0, 4), 5),
}


def _drawn(rng: Rng, groups: Array, shape: Shape, worth: float, error: float) -> Array:
    """Verdicts and labels, shape (n, 2)."""
    n, alone = groups.size, groups.max() + 1 == groups.size

    def shared(part: float) -> Array:
        own = rng.normal(size=n)
        return (
            own
            if alone
            else part**0.5 * rng.normal(size=groups.max() + 1)[groups]
            + (1 - part) ** 0.5 * own
        )

    item = shared(worth)
    # A text that is judged many times gets one verdict, and people differ each time.
    sides = shared(error), shared(0.0 if error == 1 else error)
    return np.column_stack([shape.of(item + NOISE * own) for own in sides])


def _kappa(weights: str) -> Callable[[rated.Rated, int], Estimate | None]:
    return lambda use, k: use.coefficient(k, rated.kappa(rated.costs(k, weights)))


FIGURES: dict[
    str, tuple[tuple[str, ...], Callable[[rated.Rated, int], Estimate | None]]
] = {
    "answer: Spearman": (
        ("grades", "skewed grades", "five levels, skewed"),
        lambda use, k: limits.order(
            use.verdicts,
            use.labels,
            np.random.default_rng(0),
            groups=use.codes,
            level=use.level,
        ),
    ),
    "answer: Pearson": (("grades", "skewed grades"), lambda use, k: rated.pearson(use)),
    "answer: concordance": (
        ("grades", "skewed grades"),
        lambda use, k: rated.concordance(use),
    ),
    "answer: mean error": (
        ("grades", "skewed grades"),
        lambda use, k: use.mean(np.abs(use.verdicts - use.labels), (0.0, np.inf)),
    ),
    "answer: kappa": (("half pass", "one in ten passes"), _kappa("none")),
    "answer: AC1": (
        ("half pass", "one in ten passes"),
        lambda use, k: use.coefficient(k, rated.ac1),
    ),
    "answer: share": (
        ("half pass", "one in ten passes"),
        lambda use, k: use.mean((use.verdicts == use.labels) * 1.0, (0.0, 1.0)),
    ),
    "answer: weighted kappa": (
        ("five levels", "five levels, skewed"),
        _kappa("quadratic"),
    ),
    "answer: alpha": (
        ("five levels",),
        lambda use, k: use.coefficient(
            k, rated.ordinal_alpha(float(use.weights.sum()))
        ),
    ),
}
"""What is told of verdicts beside labels, and of which shapes it is told."""
OF_MEANS = {"answer: mean error": (0.0, np.inf), "answer: share": (0.0, 1.0)}
"""The ends of those that are means, and no coefficients from -1 to 1."""


def _use(sample: Sample) -> rated.Rated:
    return rated.Rated(
        *sample.values.T, np.ones(len(sample.values)), sample.groups, LEVEL
    )


def of_answers() -> Iterator[Question]:
    """Every figure of every shape, of items whose worth goes together in groups a little, or
    much."""
    for figure, (shapes, of) in FIGURES.items():
        whole = OF_MEANS.get(figure, (-1.0, 1.0))
        # Of fewer groups no limits are told of a coefficient.
        fewest = 2 if figure in OF_MEANS else rated.FEWEST
        for name in shapes:
            for how, (worth, error) in TOGETHER.items():
                shape = SHAPES[name]

                def draw(
                    rng: Rng,
                    g: Array,
                    shape: Shape = shape,
                    worth: float = worth,
                    error: float = error,
                ) -> Array:
                    return _drawn(rng, g, shape, worth, error)

                def same(rng: Rng, g: Array, shape: Shape = shape) -> Array:
                    return _drawn(rng, g, shape, 1.0, 1.0)

                def ends(
                    s: Sample,
                    rng: Rng,
                    shape: Shape = shape,
                    of: Callable[[rated.Rated, int], Estimate | None] = of,
                    fewest: int = fewest,
                ) -> Ends:
                    if s.groups.max() + 1 < fewest:
                        return np.nan, np.nan
                    found = of(_use(s), shape.categories)
                    return (np.nan, np.nan) if found is None else ends_of(found)

                many = draw(np.random.default_rng(0), np.arange(MANY // 4))
                truth = of(
                    _use(Sample(many, np.arange(MANY // 4) % 50)), shape.categories
                )
                assert truth is not None
                groupings = tuple(one for one in GROUPINGS if one != "same text")
                yield Question(
                    figure,
                    f"{name}, {how}",
                    draw,
                    truth.value,
                    {"chosen": ends},
                    units=ITEMS,
                    groupings=groupings if how == "apart" else groupings[1:],
                    of_items=True,
                    whole=whole,
                )
                if how == "alike":
                    yield Question(
                        figure,
                        name,
                        same,
                        truth.value,
                        {"chosen": ends},
                        units=ITEMS,
                        groupings=GROUPINGS[3:],
                        of_items=True,
                        whole=whole,
                    )


LABELS: dict[str, tuple[Shape, Shape, tuple[float, float] | None]] = {
    "half pass": (SHAPES["half pass"], SHAPES["half pass"], (0.0, 1.0)),
    "one in ten passes": (
        SHAPES["one in ten passes"],
        SHAPES["one in ten passes"],
        (0.0, 1.0),
    ),
    "five levels": (SHAPES["five levels"], SHAPES["five levels"], (0.0, 4.0)),
    "five levels, labels exponential": (SHAPES["five levels"], Shape(np.exp), None),
    "five levels, labels skewed grades": (
        SHAPES["five levels"],
        SHAPES["skewed grades"],
        (0.0, 20.0),
    ),
}


def of_strata() -> Iterator[Question]:
    """Mean labels of which STRATUM of each verdict are known."""
    for name, (verdict, label, bounds) in LABELS.items():

        def draw(
            rng: Rng, g: Array, verdict: Shape = verdict, label: Shape = label
        ) -> Array:
            seem = _drawn(rng, g, Shape(lambda own: own), *TOGETHER["alike"])
            verdicts, labels = verdict.of(seem[:, 0]), label.of(seem[:, 1])
            known = np.full(labels.size, np.nan)
            for value in np.unique(verdicts):
                own = rng.permutation(np.flatnonzero(verdicts == value))[:STRATUM]
                known[own] = labels[own]
            return np.column_stack([verdicts, known])

        def ends(
            s: Sample, rng: Rng, bounds: tuple[float, float] | None = bounds
        ) -> Ends:
            n_groups = int(s.groups.max()) + 1
            judged = corrected.Judged(
                *s.values.T, np.full(len(s.values), np.nan), s.groups, n_groups
            )
            found = corrected.mean(judged, "by_verdict", bounds, LEVEL).estimate
            return (np.nan, np.nan) if found is None else found.interval

        truth = float(
            label.of(
                (1 + NOISE**2) ** 0.5 * np.random.default_rng(0).normal(size=10 * MANY)
            ).mean()
        )
        yield Question(
            "answer: mean of strata",
            name,
            draw,
            truth,
            {"chosen": ends},
            units=(500,),
            groupings=("alone", "5-20"),
            of_items=True,
        )
