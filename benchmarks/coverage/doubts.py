"""Doubts and promises: AURC, review gain and calibration error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

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
    related,
)
from undogmatic.stats import calibration, jackknife, review


def of_doubts() -> Iterator[Question]:
    """Area under the risk-coverage curve, and review gain, of doubts that know nothing or much, of
    few large errors."""
    errors: dict[str, Callable[[Array, Array], Array]] = {
        "knows nothing": lambda u, own: 10 * np.abs(own),
        "knows much": lambda u, own: 5 * np.exp(u) * np.abs(own),
        "few errors": lambda u, own: np.where(0.6 * u + 0.8 * own > 1, 20.0, 0.0),
    }
    for name, error in errors.items():

        def draw(
            rng: Rng, g: Array, error: Callable[[Array, Array], Array] = error
        ) -> Array:
            u, own = related(rng, g, 2).T
            return np.column_stack([u, error(u, own)])

        many = draw(np.random.default_rng(0), np.arange(MANY // 10)).T
        yield Question(
            "aurc",
            name,
            draw,
            review.aurc.of(many.T),
            {
                "chosen": lambda s, rng: ends_of(
                    jackknife.LeftOut(s.values, review.aurc, rng, s.groups).nearly_mean(
                        LEVEL, (0.0, 100.0)
                    )
                )
            },
        )
        yield Question(
            "review gain", name, draw, review.gain.of(many.T), {"chosen": _gain}
        )


def of_promises() -> Iterator[Question]:
    """Calibration error of a confidence that is kept, that promises too much, and of one that
    hardly ever fails."""
    spread: Callable[[Array], Array] = lambda u: 0.5 + 0.5 * stats.norm.cdf(u)  # noqa: E731
    sure: Callable[[Array], Array] = lambda u: 0.9 + 0.1 * stats.norm.cdf(u)  # noqa: E731
    promises: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
        "kept": (spread, lambda c: c),
        "20 points too high": (spread, lambda c: c - 0.2),
        "too low and too high": (
            spread,
            lambda c: np.where(c < 0.75, c + 0.15, c - 0.15),
        ),
        "always 95 %, right 70 %": (
            lambda u: np.full(u.shape, 0.95),
            lambda c: np.full(c.shape, 0.7),
        ),
        "90 to 100 %, kept": (sure, lambda c: c),
        "90 to 100 %, 10 points too high": (sure, lambda c: c - 0.1),
    }
    for name, (stated, right) in promises.items():
        many = stated(np.random.default_rng(0).normal(size=MANY))
        bins = np.floor(many * 10).clip(0, 9)
        truth = (
            sum(
                abs(float(np.sum((right(many) - many)[bins == own])))
                for own in np.unique(bins)
            )
            / MANY
        )

        def draw(rng: Rng, g: Array, stated: Any = stated, right: Any = right) -> Array:
            u, own = related(rng, g, 2).T
            c = stated(u)
            return np.column_stack([c, stats.norm.cdf(own) < right(c)])

        def ends(s: Sample, rng: Rng) -> Ends:
            return ends_of(
                calibration.error_interval(
                    *s.values.T, rng, level=LEVEL, groups=s.groups
                )
            )

        def pseudo(s: Sample, rng: Rng) -> Ends:
            ece = calibration.calibration_error(10)
            return ends_of(
                jackknife.LeftOut(s.values, ece, rng, s.groups).nearly_mean(
                    LEVEL, (0, 1)
                )
            )

        yield Question(
            "ece", name, draw, truth, {"chosen": ends, "pseudo-values": pseudo}
        )


def _gain(s: Sample, rng: Rng) -> Ends:
    if np.ptp(s.values[:, 1]) == 0:
        return np.nan, np.nan
    return ends_of(
        review.review_gain_interval(*s.values.T, rng, LEVEL, groups=s.groups)
    )
