"""How often stated intervals hold the truth: distribution x number of units x grouping x method.

    python -m benchmarks.coverage         # everything, an hour or more; writes benchmarks/results/coverage.csv
    python -m benchmarks.coverage --samples 200 --only mean --units 10 30 --out part.csv

A row says in how many samples the truth lay inside the 95 % interval, and below or above it: a limit errs on one side,
and a claim is made by one limit. `unlimited` is the share of intervals with an infinite end, which hold all there is.
The rules that were not chosen stand beside those that were (`student`, `bca`, `pseudo-values`). Rows in
the results that are not measured again stay.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from undogmatic.stats import (
    calibration_error,
    coefficients,
    inversion,
    jackknife,
    means,
    proportion,
    ranking,
    review,
    selective,
    typical,
)
from undogmatic.sweep.following import Following
from undogmatic.sweep.whole import Both

RESULTS = Path(__file__).parent / "results" / "coverage.csv"
UNITS = (6, 10, 20, 30, 46, 100, 300)
GROUPINGS = ("alone", "2-4", "unequal")
LEVEL = 0.95
KEY = ("of", "distribution", "units", "groups", "method")
_MANY = 400_000
_MOST_DRAWN = 30
"""Units up to which the bootstrap is tried: beyond, it takes longer than all else together."""

Array = np.ndarray
Rng = np.random.Generator
Ends = tuple[float, float]


class Sample(NamedTuple):
    """One sample: columns of numbers, shape (n,) or (n, k), and the group of each row."""

    values: Array
    groups: Array


class Question(NamedTuple):
    """What is estimated: how samples are drawn, the truth, and the methods, each from a sample to its two limits."""

    kind: str
    name: str
    draw: Callable[[Rng, Array], Array]
    truth: float
    methods: dict[str, Callable[[Sample, Rng], Ends]]


SHAPES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda u: 50 + 15 * stats.norm.ppf(u),
    "t3": lambda u: 50 + 8 * stats.t.ppf(u, 3),
    "exponential": lambda u: -10 * np.log1p(-u),
    "exponential mirrored": lambda u: 100 + 10 * np.log(u),
    "lognormal": lambda u: 10 * np.exp(stats.norm.ppf(u)),
    "floor 70 %": lambda u: np.clip((u - 0.7) / 0.3, 0, 1) * 100,
    "floor 80 %": lambda u: np.clip((u - 0.8) / 0.2, 0, 1) * 100,
    "floor 90 %": lambda u: np.clip((u - 0.9) / 0.1, 0, 1) * 100,
    "bimodal 50 %": lambda u: 100.0 * (u > 0.5),
    "bimodal 80 %": lambda u: 100.0 * (u > 0.2),
    "uniform": lambda u: 100 * u,
    "fives": lambda u: np.clip(5 * np.round((40 + 15 * stats.norm.ppf(u)) / 5), 0, 100),
}
"""Quantile functions of the scores."""
UNBOUNDED = ("normal", "t3", "exponential", "exponential mirrored", "lognormal")


def sizes(rng: Rng, n_units: int, grouping: str) -> Array:
    """Members per unit: one, two to four, or from one to twenty with few large ones."""
    if grouping == "alone":
        return np.ones(n_units, dtype=np.intp)
    if grouping == "2-4":
        return rng.integers(2, 5, n_units)
    return np.clip(np.round(2 * rng.pareto(1.2, n_units) + 1), 1, 20).astype(np.intp)


def related(rng: Rng, groups: Array, columns: int = 1) -> Array:
    """Standard normal numbers, shape (n, columns), of which those of one group correlate with 0.6."""
    common, own = rng.normal(size=(groups.max() + 1, columns)), rng.normal(size=(groups.size, columns))
    alone = groups.max() + 1 == groups.size
    return np.asarray(own if alone else 0.6**0.5 * common[groups] + 0.4**0.5 * own)


def of_means() -> Iterator[Question]:
    """Means of every shape, without and with the bounds of the scale."""
    for name, quantile in SHAPES.items():
        truth = float(np.mean(quantile((np.arange(_MANY) + 0.5) / _MANY)))
        methods: dict[str, Callable[[Sample, Rng], Ends]] = {
            "chosen": lambda s, rng: _ends(means.interval(s.values, LEVEL, groups=s.groups)),
            "student": _student,
            "bca": lambda s, rng: _ends(
                stats.bootstrap((s.values,), np.mean, n_resamples=499, rng=rng).confidence_interval
            ),
        }
        if name not in UNBOUNDED:
            methods["chosen, scale known"] = lambda s, rng: _ends(
                means.interval(s.values, LEVEL, groups=s.groups, bounds=(0, 100))
            )
            methods["chosen, as difference"] = lambda s, rng: _ends(
                means.interval(s.values, LEVEL, groups=s.groups, bounds=(-100, 100))
            )
        yield Question(
            "mean", name, lambda rng, g, q=quantile: q(stats.norm.cdf(related(rng, g)[:, 0])), truth, methods
        )


def of_shares() -> Iterator[Question]:
    """Shares of 50, 80 and 95 %."""
    for share in (0.5, 0.8, 0.95):
        yield Question(
            "share",
            f"{share:.0%}",
            lambda rng, g, p=share: (stats.norm.cdf(related(rng, g)[:, 0]) < p).astype(float),
            share,
            {
                "chosen": lambda s, rng: _ends(proportion.proportion(s.values, LEVEL, groups=s.groups)),
                "each for itself": lambda s, rng: _ends(proportion.proportion(s.values, LEVEL)),
            },
        )


def of_areas() -> Iterator[Question]:
    """Areas under the curve; both sides of a group are there (pairs), or each group is on one side."""
    for shift in (0.0, 1.0, 2.0):
        for together in (True, False):

            def draw(rng: Rng, g: Array, shift: float = shift, together: bool = together) -> Array:
                both = related(rng, g, 2)
                if together:
                    common = related(rng, g)[:, 0]
                    both = 0.7**0.5 * both + 0.3**0.5 * common[:, None]
                return np.asarray(both + np.array([shift, 0.0]))

            def chosen(s: Sample, rng: Rng, together: bool = together) -> Ends:
                other = s.groups if together else s.groups + s.groups.size
                return _ends(ranking.auc(*s.values.T, LEVEL, groups_a=s.groups, groups_b=other))

            yield Question(
                "area",
                f"shift {shift:g}, {'pairs' if together else 'apart'}",
                draw,
                float(stats.norm.cdf(shift / 2**0.5)),
                {"chosen": chosen, "each for itself": lambda s, rng: _ends(ranking.auc(*s.values.T, LEVEL))},
            )


def of_coefficients() -> Iterator[Question]:
    """Correlations, kappa and alpha of two judges, also at the floor (most scores 0) and of lognormal scores."""
    made: dict[str, Callable[[Sample, Rng], coefficients.jackknife.Coefficient | None]] = {
        "pearson": lambda s, rng: coefficients.correlation_interval("pearson", *s.values.T, rng, groups=s.groups),
        "spearman": lambda s, rng: coefficients.correlation_interval("spearman", *s.values.T, rng, groups=s.groups),
        "kendall": lambda s, rng: coefficients.correlation_interval("kendall", *s.values.T, rng, groups=s.groups),
        "kappa": lambda s, rng: coefficients.kappa_interval(
            *_levels(s.values).T, [0, 25, 50, 75, 100], rng, groups=s.groups
        ),
        "alpha": lambda s, rng: inversion.alpha(s.values.T, groups=s.groups),
    }
    for shape, strength in ((a, b) for a in ("normal", "floor", "lognormal") for b in (0.0, 0.5, 0.9)):

        def draw(rng: Rng, g: Array, shape: str = shape, strength: float = strength) -> Array:
            found = related(rng, g, 3)
            two = 50 + 20 * (strength**0.5 * found[:, :1] + (1 - strength) ** 0.5 * found[:, 1:])
            if shape == "floor":
                return np.where(two < 57, 0, two)
            return np.exp(two / 20) if shape == "lognormal" else two

        rng = np.random.default_rng(0)
        many = draw(rng, np.arange(_MANY // 10))
        everyone = Sample(many, np.arange(len(many)) % 50)
        for kind, interval in made.items():
            found = interval(everyone, rng)
            if found is None or (kind == "kappa" and shape == "lognormal"):
                continue

            def chosen(s: Sample, rng: Rng, interval: Callable = interval) -> Ends:  # type: ignore[type-arg]
                return _ends(interval(s, rng) or (np.nan, np.nan, np.nan))

            yield Question(kind, f"{shape} {strength:g}", draw, found.estimate, {"chosen": chosen})


def of_middles() -> Iterator[Question]:
    """Medians, and medians of means of pairs (Hodges and Lehmann)."""
    made: dict[str, Callable[[Sample], typical.Middle]] = {
        "median": lambda s: typical.median(s.values, LEVEL, groups=s.groups),
        "hodges-lehmann": lambda s: typical.hodges_lehmann_interval(s.values, LEVEL, groups=s.groups),
    }
    pairs = np.random.default_rng(0).random((2, _MANY))
    for name, quantile in SHAPES.items():
        truths = float(quantile(np.array([0.5]))[0]), float(np.median(quantile(pairs).mean(axis=0)))
        for (kind, interval), truth in zip(made.items(), truths, strict=True):
            yield Question(
                kind,
                name,
                lambda rng, g, q=quantile: q(stats.norm.cdf(related(rng, g)[:, 0])),
                truth,
                {"chosen": lambda s, rng, interval=interval: _ends(interval(s))},
            )


def of_doubts() -> Iterator[Question]:
    """Area under the risk-coverage curve, and review gain, of doubts that know nothing or much, of few large errors."""
    errors: dict[str, Callable[[Array, Array], Array]] = {
        "knows nothing": lambda u, own: 10 * np.abs(own),
        "knows much": lambda u, own: 5 * np.exp(u) * np.abs(own),
        "few errors": lambda u, own: np.where(0.6 * u + 0.8 * own > 1, 20.0, 0.0),
    }
    for name, error in errors.items():

        def draw(rng: Rng, g: Array, error: Callable[[Array, Array], Array] = error) -> Array:
            u, own = related(rng, g, 2).T
            return np.column_stack([u, error(u, own)])

        many = draw(np.random.default_rng(0), np.arange(_MANY // 10)).T
        yield Question(
            "aurc",
            name,
            draw,
            selective.aurc(*many),
            {
                "chosen": lambda s, rng: _ends(
                    selective.aurc_summary(*s.values.T, rng, LEVEL, groups=s.groups, span=100.0).aurc
                )
            },
        )
        yield Question("review gain", name, draw, review.review_gain(*many), {"chosen": _gain})


def of_promises() -> Iterator[Question]:
    """Calibration error of a confidence that is kept, that promises too much, and of one that hardly ever fails."""
    spread: Callable[[Array], Array] = lambda u: 0.5 + 0.5 * stats.norm.cdf(u)  # noqa: E731
    sure: Callable[[Array], Array] = lambda u: 0.9 + 0.1 * stats.norm.cdf(u)  # noqa: E731
    promises: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
        "kept": (spread, lambda c: c),
        "20 points too high": (spread, lambda c: c - 0.2),
        "too low and too high": (spread, lambda c: np.where(c < 0.75, c + 0.15, c - 0.15)),
        "always 95 %, right 70 %": (lambda u: np.full(u.shape, 0.95), lambda c: np.full(c.shape, 0.7)),
        "90 to 100 %, kept": (sure, lambda c: c),
        "90 to 100 %, 10 points too high": (sure, lambda c: c - 0.1),
    }
    for name, (stated, right) in promises.items():
        many = stated(np.random.default_rng(0).normal(size=_MANY))
        bins = np.floor(many * 10).clip(0, 9)
        truth = sum(abs(float(np.sum((right(many) - many)[bins == own]))) for own in np.unique(bins)) / _MANY

        def draw(rng: Rng, g: Array, stated: Any = stated, right: Any = right) -> Array:
            u, own = related(rng, g, 2).T
            c = stated(u)
            return np.column_stack([c, stats.norm.cdf(own) < right(c)])

        def ends(s: Sample, rng: Rng) -> Ends:
            return _ends(calibration_error.error_interval(*s.values.T, rng, level=LEVEL, groups=s.groups))

        def pseudo(s: Sample, rng: Rng) -> Ends:
            ece = calibration_error.calibration_error(10)
            return _ends(jackknife.nearly_mean(s.values, ece, rng, LEVEL, groups=s.groups, bounds=(0, 1)))

        yield Question("ece", name, draw, truth, {"chosen": ends, "pseudo-values": pseudo})


def of_differences() -> Iterator[Question]:
    """Differences between two jobs of a sweep in how their scores follow labels."""
    truths = {"spearman": lambda a, b: stats.spearmanr(a, b).statistic, "pearson": lambda a, b: np.corrcoef(a, b)[0, 1]}
    for first, second in ((0.6, 0.6), (0.3, 0.8)):
        for shape in ("normal", "floor"):

            def columns(z: Array, strengths: Ends = (first, second), shape: str = shape) -> Array:
                scores = [r * z[:, 0] + (1 - r**2) ** 0.5 * z[:, n] for n, r in enumerate(strengths, 1)]
                found = np.column_stack([z[:, 0], *scores])
                return found if shape == "normal" else np.asarray(np.clip((stats.norm.cdf(found) - 0.6) / 0.4, 0, 1))

            many = columns(np.random.default_rng(0).normal(size=(_MANY, 3))).T
            for measure, of in truths.items():
                truth = float(of(many[0], many[1]) - of(many[0], many[2]))

                def ends(s: Sample, rng: Rng, measure: str = measure) -> Ends:
                    one, other = (
                        pd.DataFrame({"score": s.values[:, n], "label": s.values[:, 0], "unit": s.groups})
                        for n in (1, 2)
                    )
                    found = Following().compare(Both("a", "b", one, other, None), measure)
                    return (np.nan, np.nan) if found is None else found.limits(1 - LEVEL)[:2]

                name = f"{measure} of jobs, {shape} {first:g} {second:g}"
                yield Question(
                    "difference", name, lambda rng, g, c=columns: c(related(rng, g, 3)), truth, {"chosen": ends}
                )


def _gain(s: Sample, rng: Rng) -> Ends:
    if np.ptp(s.values[:, 1]) == 0:
        return np.nan, np.nan
    return _ends(review.review_gain_interval(*s.values.T, rng, LEVEL, groups=s.groups))


QUESTIONS: dict[str, Callable[[], Iterator[Question]]] = {
    "mean": of_means,
    "share": of_shares,
    "area": of_areas,
    "coefficient": of_coefficients,
    "middle": of_middles,
    "doubt": of_doubts,
    "promise": of_promises,
    "difference": of_differences,
}


def row(question: Question, n_units: int, grouping: str, method: str, samples: int) -> dict[str, object]:
    """Coverage of one method; the seed follows from the question, so that every row can be had by itself."""
    seed = zlib.crc32(f"{question.kind} {question.name} {n_units} {grouping}".encode())
    rng, own = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    ends = []
    for _ in range(samples):
        groups = np.repeat(np.arange(n_units), sizes(rng, n_units, grouping))
        ends.append(question.methods[method](Sample(question.draw(rng, groups), groups), own))
    low, high = np.array(ends).T
    known = ~np.isnan(low)
    low, high = low[known], high[known]
    limited = np.isfinite(low) & np.isfinite(high)
    # A share or an area of exactly the truth may differ from it by rounding.
    above, below = low > question.truth + 1e-9, high < question.truth - 1e-9
    return {
        "of": question.kind,
        "distribution": question.name,
        "units": n_units,
        "groups": grouping,
        "method": method,
        "samples": int(known.sum()),
        "coverage": round(1 - float(np.mean(above | below)), 4),
        "truth_below": round(float(np.mean(above)), 4),
        "truth_above": round(float(np.mean(below)), 4),
        "median_width": round(float(np.median((high - low)[limited])), 3) if limited.any() else np.inf,
        "unlimited": round(1 - float(np.mean(limited)), 4),
    }


def _student(s: Sample, rng: Rng) -> Ends:
    found = means.interval(s.values, LEVEL, groups=s.groups)
    reach = stats.t.ppf((1 + LEVEL) / 2, found.df) * found.se if found.se else 0.0
    return found.estimate - reach, found.estimate + reach


def _levels(values: Array) -> Array:
    return np.asarray(25 * np.clip(np.round(values / 25), 0, 4))


def _ends(found: object) -> Ends:
    if isinstance(found, tuple) and not hasattr(found, "low"):
        return found[1], found[2]
    return found.low, found.high  # type: ignore[attr-defined]


def main() -> None:
    """Print the table row by row, and store it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--only", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--of", nargs="*", help="kinds of numbers, such as alpha; all without it")
    parser.add_argument("--units", nargs="*", type=int, default=list(UNITS))
    parser.add_argument("--groups", nargs="*", default=list(GROUPINGS), choices=list(GROUPINGS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    old = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    rows = {tuple(row[name] for name in KEY): row for row in old}
    for kind in given.only:
        for question in (each for each in QUESTIONS[kind]() if given.of is None or each.kind in given.of):
            for n_units in given.units:
                for grouping in given.groups:
                    for method in question.methods:
                        if method == "bca" and (n_units > _MOST_DRAWN or grouping != "alone"):
                            continue
                        made = row(question, n_units, grouping, method, given.samples)
                        rows[tuple(made[name] for name in KEY)] = made
                        print("  ".join(str(value) for value in made.values()), flush=True)
    given.out.parent.mkdir(exist_ok=True)
    pd.DataFrame(rows.values()).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
