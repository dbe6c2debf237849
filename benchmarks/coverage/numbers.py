"""Means, shares, areas, coefficients and middles."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from benchmarks.coverage.samples import (
    LEVEL,
    MANY,
    SHAPES,
    STEPS,
    UNBOUNDED,
    Array,
    Ends,
    Question,
    Rng,
    Sample,
    ends_of,
    levels,
    related,
)
from undogmatic.stats import agreement, means, paired, proportion, ranking
from undogmatic.stats.estimate import Estimate


def of_means() -> Iterator[Question]:
    """Means of every shape, without and with the bounds of the scale."""
    for name, quantile in SHAPES.items():
        truth = float(np.mean(quantile((np.arange(MANY) + 0.5) / MANY)))
        methods: dict[str, Callable[[Sample, Rng], Ends]] = {
            "chosen": lambda s, rng: ends_of(
                means.interval(s.values, LEVEL, groups=s.groups)
            ),
            "student": _student,
            "bca": lambda s, rng: ends_of(
                stats.bootstrap(
                    (s.values,), np.mean, n_resamples=499, rng=rng
                ).confidence_interval
            ),
        }
        if name not in UNBOUNDED:
            methods["chosen, scale known"] = lambda s, rng: ends_of(
                means.interval(s.values, LEVEL, groups=s.groups, bounds=(0, 100))
            )
            methods["chosen, as difference"] = lambda s, rng: ends_of(
                means.interval(s.values, LEVEL, groups=s.groups, bounds=(-100, 100))
            )
        yield Question(
            "mean",
            name,
            lambda rng, g, q=quantile: q(stats.norm.cdf(related(rng, g)[:, 0])),
            truth,
            methods,
        )


def of_steps() -> Iterator[Question]:
    """Means of differences between scores that are given in steps."""
    for name, quantile in STEPS.items():
        yield Question(
            "mean difference in steps",
            name,
            lambda rng, g, q=quantile: q(stats.norm.cdf(related(rng, g)[:, 0])),
            float(np.mean(quantile((np.arange(MANY) + 0.5) / MANY))),
            {
                "chosen": lambda s, rng: ends_of(
                    means.interval(s.values, LEVEL, groups=s.groups, bounds=(-100, 100))
                ),
                "student": _student,
            },
        )


def of_shares() -> Iterator[Question]:
    """Shares of 50, 80 and 95 %."""
    for share in (0.5, 0.8, 0.95):
        yield Question(
            "share",
            f"{share:.0%}",
            lambda rng, g, p=share: (stats.norm.cdf(related(rng, g)[:, 0]) < p).astype(
                float
            ),
            share,
            {
                "chosen": lambda s, rng: ends_of(
                    proportion.proportion(s.values, LEVEL, groups=s.groups)
                ),
                "each for itself": lambda s, rng: ends_of(
                    proportion.proportion(s.values, LEVEL)
                ),
            },
        )


def of_areas() -> Iterator[Question]:
    """Areas under the curve; both sides of a group are there (pairs), or each group is on one
    side."""
    for shift in (0.0, 1.0, 2.0):
        for together in (True, False):

            def draw(
                rng: Rng, g: Array, shift: float = shift, together: bool = together
            ) -> Array:
                both = related(rng, g, 2)
                if together:
                    common = related(rng, g)[:, 0]
                    both = 0.7**0.5 * both + 0.3**0.5 * common[:, None]
                return np.asarray(both + np.array([shift, 0.0]))

            def chosen(s: Sample, rng: Rng, together: bool = together) -> Ends:
                other = s.groups if together else s.groups + s.groups.size
                return ends_of(
                    ranking.auc(*s.values.T, LEVEL, groups_a=s.groups, groups_b=other)
                )

            yield Question(
                "area",
                f"shift {shift:g}, {'pairs' if together else 'apart'}",
                draw,
                float(stats.norm.cdf(shift / 2**0.5)),
                {
                    "chosen": chosen,
                    "each for itself": lambda s, rng: ends_of(
                        ranking.auc(*s.values.T, LEVEL)
                    ),
                },
            )


def of_coefficients() -> Iterator[Question]:
    """Correlations, kappa and alpha of two judges, also at the floor (most scores 0) and of
    lognormal scores."""
    made: dict[str, Callable[[Sample, Rng], agreement.jackknife.Estimate | None]] = {
        "pearson": lambda s, rng: agreement.correlation_interval(
            "pearson", *s.values.T, rng, groups=s.groups
        ),
        "spearman": lambda s, rng: agreement.correlation_interval(
            "spearman", *s.values.T, rng, groups=s.groups
        ),
        "kendall": lambda s, rng: agreement.correlation_interval(
            "kendall", *s.values.T, rng, groups=s.groups
        ),
        "kappa": lambda s, rng: agreement.kappa_interval(
            *levels(s.values).T, [0, 25, 50, 75, 100], groups=s.groups
        ),
        "alpha": lambda s, rng: agreement.alpha(s.values.T, groups=s.groups),
    }
    for shape, strength in (
        (a, b) for a in ("normal", "floor", "lognormal") for b in (0.0, 0.5, 0.9)
    ):

        def draw(
            rng: Rng, g: Array, shape: str = shape, strength: float = strength
        ) -> Array:
            found = related(rng, g, 3)
            two = 50 + 20 * (
                strength**0.5 * found[:, :1] + (1 - strength) ** 0.5 * found[:, 1:]
            )
            if shape == "floor":
                return np.where(two < 57, 0, two)
            return np.exp(two / 20) if shape == "lognormal" else two

        rng = np.random.default_rng(0)
        many = draw(rng, np.arange(MANY // 10))
        everyone = Sample(many, np.arange(len(many)) % 50)
        for kind, interval in made.items():
            found = interval(everyone, rng)
            if found is None or (kind == "kappa" and shape == "lognormal"):
                continue

            def chosen(s: Sample, rng: Rng, interval: Callable = interval) -> Ends:  # type: ignore[type-arg]
                return ends_of(interval(s, rng) or (np.nan, np.nan, np.nan))

            yield Question(
                kind, f"{shape} {strength:g}", draw, found.value, {"chosen": chosen}
            )


def of_middles() -> Iterator[Question]:
    """Medians, and medians of means of pairs (Hodges and Lehmann)."""
    made: dict[str, Callable[[Sample], Estimate]] = {
        "median": lambda s: paired.median(s.values, LEVEL, groups=s.groups),
        "hodges-lehmann": lambda s: paired.hodges_lehmann_interval(
            s.values, LEVEL, groups=s.groups
        ),
    }
    pairs = np.random.default_rng(0).random((2, MANY))
    for name, quantile in SHAPES.items():
        truths = (
            float(quantile(np.array([0.5]))[0]),
            float(np.median(quantile(pairs).mean(axis=0))),
        )
        for (kind, interval), truth in zip(made.items(), truths, strict=True):
            yield Question(
                kind,
                name,
                lambda rng, g, q=quantile: q(stats.norm.cdf(related(rng, g)[:, 0])),
                truth,
                {"chosen": lambda s, rng, interval=interval: ends_of(interval(s))},
            )


def _student(s: Sample, rng: Rng) -> Ends:
    mean = means.interval(s.values, LEVEL, groups=s.groups)
    reach = stats.t.ppf((1 + LEVEL) / 2, mean.df) * mean.se if mean.se else 0.0
    return mean.value - reach, mean.value + reach
