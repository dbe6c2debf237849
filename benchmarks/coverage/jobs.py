"""Differences between two jobs of a sweep: correlations, review gain, AURC and calibration
error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.coverage.samples import (
    LEVEL,
    MANY,
    Array,
    Ends,
    Question,
    Rng,
    Sample,
    related,
)
from undogmatic.examinations.compared import COMPARED, Whole
from undogmatic.stats import jackknife
from undogmatic.sweep.family import DRAWS, Pair, of_all


def of_differences() -> Iterator[Question]:
    """Differences between two jobs of a sweep in how their scores follow labels."""
    truths = {
        "spearman": lambda a, b: stats.spearmanr(a, b).statistic,
        "pearson": lambda a, b: np.corrcoef(a, b)[0, 1],
    }
    for first, second in ((0.6, 0.6), (0.3, 0.8)):
        for shape in ("normal", "floor"):

            def columns(
                z: Array, strengths: Ends = (first, second), shape: str = shape
            ) -> Array:
                scores = [
                    r * z[:, 0] + (1 - r**2) ** 0.5 * z[:, n]
                    for n, r in enumerate(strengths, 1)
                ]
                found = np.column_stack([z[:, 0], *scores])
                return (
                    found
                    if shape == "normal"
                    else np.asarray(np.clip((stats.norm.cdf(found) - 0.6) / 0.4, 0, 1))
                )

            many = columns(np.random.default_rng(0).normal(size=(MANY, 3))).T
            for measure, of in truths.items():
                truth = float(of(many[0], many[1]) - of(many[0], many[2]))

                def ends(s: Sample, rng: Rng, measure: str = measure) -> Ends:
                    one, other = (
                        pd.DataFrame(
                            {
                                "score": s.values[:, n],
                                "label": s.values[:, 0],
                                "unit": s.groups,
                            }
                        )
                        for n in (1, 2)
                    )
                    compared = of_all(
                        Pair("a", "b", one, other), measure, 1.0, DRAWS, {}
                    )
                    return (
                        (np.nan, np.nan)
                        if compared is None
                        else compared.limits(1 - LEVEL).interval
                    )

                name = f"{measure} of jobs, {shape} {first:g} {second:g}"
                yield Question(
                    "difference",
                    name,
                    lambda rng, g, c=columns: c(related(rng, g, 3)),
                    truth,
                    {"chosen": ends},
                )


def of_wholes() -> Iterator[Question]:
    """Differences between two jobs of a sweep in review gain, AURC and calibration error."""

    def doubts(z: Array, knowing: Ends, few: bool) -> list[Array]:
        found = []
        for n, strength in enumerate(knowing, 1):
            u, own = (
                0.7 * z[:, 0] + 0.714 * z[:, n],
                0.5 * z[:, 5] + 0.866 * z[:, 2 + n],
            )
            rare = np.where(0.6 * strength * u + 0.8 * own > 1, 20.0, 0.0)
            found.append(
                np.column_stack(
                    [u, rare if few else 10 * np.exp(0.5 * strength * u) * np.abs(own)]
                )
            )
        return found

    def promises(z: Array, off: Ends) -> list[Array]:
        found = []
        for n, too_high in enumerate(off, 1):
            stated = 0.5 + 0.5 * stats.norm.cdf(0.7 * z[:, 0] + 0.714 * z[:, n])
            right = (
                stats.norm.cdf(0.5 * z[:, 5] + 0.866 * z[:, 2 + n]) < stated - too_high
            )
            found.append(np.column_stack([stated, right]))
        return found

    cases: list[tuple[str, str, Callable[[Array], list[Array]], float | None]] = []
    for few in (False, True):
        for knowing in ((0, 0), (1, 1), (0, 1)):
            known = " and ".join(("nothing", "much")[own] for own in knowing)
            name = f"{'few errors, ' if few else ''}doubts that know {known}"
            made: Callable[[Array], list[Array]] = partial(
                doubts, knowing=knowing, few=few
            )
            cases += [("review_gain", name, made, None), ("aurc", name, made, None)]
    for off in ((0.0, 0.0), (0.2, 0.2), (0.0, 0.2)):
        name = " and ".join("kept" if not own else "20 points too high" for own in off)
        cases.append(("ece", name, partial(promises, off=off), off[0] - off[1]))
    many = np.random.default_rng(0).normal(size=(MANY // 2, 6))
    for measure, name, made, known in cases:
        whole = next(own.whole for own in COMPARED if own.name == measure)
        assert whole is not None
        truth = 0.0 if known is None else known
        if known is None:
            one, other = (
                whole.statistic.on(own)(np.arange(len(own))[None, :])[0]
                for own in made(many)
            )
            truth = float(one - other)

        def ends(s: Sample, rng: Rng, whole: Whole = whole) -> Ends:
            two = s.values[:, :2], s.values[:, 2:]
            try:
                found = [
                    jackknife.LeftOut(
                        own, whole.statistic, np.random.default_rng(0), s.groups
                    )
                    for own in two
                ]
            except jackknife.Undefined:  # all errors are equal
                return np.nan, np.nan
            return whole.apart(found[0], found[1], LEVEL, 100.0)

        def boot(s: Sample, rng: Rng, whole: Whole = whole) -> Ends:
            seed, units = int(rng.integers(2**32)), jackknife.Units(s.groups)
            of = [whole.statistic.on(own) for own in (s.values[:, :2], s.values[:, 2:])]
            drawn = np.subtract(
                *(
                    jackknife.distribution(
                        each, units.draws(np.random.default_rng(seed), 300)
                    )
                    for each in of
                )
            )
            estimate = float(
                np.subtract(
                    *(each(np.arange(len(s.values))[None, :])[0] for each in of)
                )
            )
            reach = float(
                np.nanstd(drawn, ddof=1) * stats.t.ppf((1 + LEVEL) / 2, s.groups.max())
            )
            return estimate - reach, estimate + reach

        def draw(
            rng: Rng, g: Array, made: Callable[[Array], list[Array]] = made
        ) -> Array:
            return np.column_stack(made(related(rng, g, 6)))

        methods: dict[str, Callable[[Sample, Rng], Ends]] = {
            "chosen": ends,
            "bootstrap": boot,
        }
        yield Question(f"difference in {measure}", name, draw, truth, methods)
