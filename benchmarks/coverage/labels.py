"""Few labels, variance components, differences at equal controls, and failed judgments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

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
    levels,
    related,
)
from undogmatic.stats import confound, few_labels, paired, variance

UNLABELLED = 300
"""Texts that are judged, but not labelled."""

JUDGES: dict[str, Callable[[Array], Array]] = {
    "off by a line": lambda z: np.column_stack(
        [50 + 15 * z[:, 0], 65 + 10.5 * z[:, 0] + 6 * z[:, 1]]
    ),
    "curved": lambda z: np.column_stack(
        [
            100 * stats.norm.cdf(z[:, 0]),
            100 * stats.norm.cdf(z[:, 0]) ** 4 + 3 * z[:, 1],
        ]
    ),
    "useless": lambda z: 100 * stats.norm.cdf(z[:, :2]),
    "off by a line, labels exponential": lambda z: np.column_stack(
        [
            -20 * np.log(stats.norm.sf(z[:, 0])),
            30 - 14 * np.log(stats.norm.sf(z[:, 0])) + 6 * z[:, 1],
        ]
    ),
    "labels 80 % at the floor": lambda z: np.column_stack(
        [
            100 * np.clip((stats.norm.cdf(z[:, 0]) - 0.8) / 0.2, 0, 1),
            20 + 60 * stats.norm.cdf(z[:, 0] + z[:, 1]),
        ]
    ),
    "labels 95 % at the floor": lambda z: np.column_stack(
        [
            100 * np.clip((stats.norm.cdf(z[:, 0]) - 0.95) / 0.05, 0, 1),
            20 + 60 * stats.norm.cdf(z[:, 0] + z[:, 1]),
        ]
    ),
    "right in 90 %, else anything": lambda z: np.column_stack(
        [
            own := levels(100 * stats.norm.cdf(z[:, 0])),
            np.where(z[:, 2] > 1.2816, levels(100 * stats.norm.cdf(z[:, 1])), own),
        ]
    ),
    "right in 90 %, else 50 too high": lambda z: np.column_stack(
        [
            own := levels(50 * stats.norm.cdf(z[:, 0])),
            np.where(z[:, 2] > 1.2816, own + 50, own),
        ]
    ),
}
"""Label and score of texts, from three standard normal numbers each."""


def of_labels() -> Iterator[Question]:
    """Means from few labels and a judge of all texts, by each map of scores to labels, and from the
    labels alone."""
    for name, judge in JUDGES.items():
        truth = float(
            judge(np.random.default_rng(0).normal(size=(MANY, 3)))[:, 0].mean()
        )
        bounds = None if "exponential" in name or "line" in name else (0.0, 100.0)

        def draw(rng: Rng, g: Array, judge: Callable[[Array], Array] = judge) -> Array:
            return judge(
                np.concatenate([related(rng, g, 3), rng.normal(size=(UNLABELLED, 3))])
            )

        def ends(
            s: Sample, rng: Rng, calibration: str, bounds: Ends | None = bounds
        ) -> Ends:
            n = s.groups.size
            needed = (
                few_labels.FEWEST_ISOTONIC
                if calibration == "isotonic"
                else few_labels.FEWEST_EFFECTIVE
            )
            if few_labels.effective_labels(None, s.groups) < needed:
                return np.nan, np.nan
            groups = np.concatenate(
                [s.groups, s.groups.max() + 1 + np.arange(UNLABELLED)]
            )
            found = few_labels.estimate_mean(
                s.values[:, 1],
                np.arange(n),
                s.values[:n, 0],
                groups=groups,
                bounds=bounds,
                calibration="none" if calibration == "labels alone" else calibration,  # type: ignore[arg-type]
            )
            alone = calibration == "labels alone"
            return found.labels_only.interval if alone else found.estimate.interval

        ways = ("none", "linear", "isotonic", "labels alone")
        yield Question(
            "few labels",
            name,
            draw,
            truth,
            {f"chosen, {way}": partial(ends, calibration=way) for way in ways},
        )


STUDIES: dict[str, Callable[[Array], Array]] = {
    "normal": lambda z: 50 + 10 * z[:, :1] + np.array([-5.0, 0, 7]) + 6 * z[:, 1:],
    "skewed texts": lambda z: (
        20 * np.exp(0.7 * z[:, :1]) + np.array([-5.0, 0, 7]) + 6 * z[:, 1:]
    ),
    "skewed noise": (
        lambda z: (
            50
            + 10 * z[:, :1]
            + np.array([-5.0, 0, 7])
            - 6 * np.log(stats.norm.sf(z[:, 1:]))
        )
    ),
    "half at the floor": lambda z: np.clip(
        20 * z[:, :1] + np.array([-5.0, 0, 7]) + 10 * z[:, 1:], 0, 100
    ),
    "steps of 25": (
        lambda z: (
            25
            * np.clip(
                np.round(2 + z[:, :1] + np.array([-0.2, 0, 0.3]) + 0.5 * z[:, 1:]), 0, 4
            )
        )
    ),
}
"""Scores of texts under three prompts, from four standard normal numbers each."""


def of_components() -> Iterator[Question]:
    """Variance components and reliability of one score, for the three prompts at hand."""

    def limits(study: variance.Study, quantity: str) -> Ends:
        one = study.reliability({})
        if quantity == "phi":
            return one.phi.interval
        if quantity == "relative":
            return one.relative.interval
        (found,) = (
            each for each in study.components() if " ".join(each.source) == quantity
        )
        return found.variance.interval

    for name, scores in STUDIES.items():
        many = variance.Study(
            scores(np.random.default_rng(0).normal(size=(MANY, 4))),
            ["prompt"],
            groups=np.arange(MANY) % 50,
        )
        truths = {" ".join(each.source): each.estimated for each in many.components()}
        truths |= {
            "phi": many.reliability({}).phi.value,
            "relative": many.reliability({}).relative.value,
        }
        for quantity, truth in truths.items():

            def ends(s: Sample, rng: Rng, quantity: str = quantity) -> Ends:
                return limits(
                    variance.Study(s.values, ["prompt"], groups=s.groups), quantity
                )

            yield Question(
                "variance",
                f"{name}: {quantity}",
                lambda rng, g, f=scores: f(related(rng, g, 4)),
                truth,
                {"chosen": ends},
            )


NOISE: dict[str, Callable[[Array], Array]] = {
    "normal": lambda z: 10 * z,
    "exponential": lambda z: -10 * np.log(stats.norm.sf(z)) - 10,
    "exponential mirrored": lambda z: 10 + 10 * np.log(stats.norm.sf(z)),
    "lognormal": lambda z: 10 * np.exp(z) - 10 * np.exp(0.5),
    "70 % at the floor": lambda z: (
        50 * np.clip((stats.norm.cdf(z) - 0.7) / 0.3, 0, 1) - 7.5
    ),
}
"""What differences within pairs hold besides the truth and what a control says of them; its mean is
0."""


def of_controlled() -> Iterator[Question]:
    """Differences within pairs where a control is held equal, which is so on average, or differs by
    a third of its spread or all of it."""
    for name, noise in NOISE.items():
        for apart, where in ((0.0, "alike"), (0.3, "a little apart"), (1.0, "apart")):

            def draw(
                rng: Rng,
                g: Array,
                noise: Callable[[Array], Array] = noise,
                apart: float = apart,
            ) -> Array:
                z = related(rng, g, 2)
                return np.column_stack(
                    [20 + 5 * (z[:, 1] + apart) + noise(z[:, 0]), z[:, 1] + apart]
                )

            def ends(s: Sample, rng: Rng) -> Ends:
                try:
                    found = confound.at_equal(
                        *s.values.T, 10.0, groups=s.groups, bounds=(-200.0, 200.0)
                    ).difference
                except ValueError:  # one group alone fixes the slope
                    return np.nan, np.nan
                return found.estimate.low, found.estimate.high

            yield Question(
                "at equal control",
                f"{name}, the control {where}",
                draw,
                20.0,
                {"chosen": ends},
            )


def of_missing() -> Iterator[Question]:
    """Doubly robust differences of pairs where failures depend on the length of the text, or on the
    other score."""
    for cause in ("length", "the other score"):

        def draw(rng: Rng, g: Array, cause: str = cause) -> Array:
            z = related(rng, g, 5)
            lengths = z[:, :2]
            scores = (
                50
                + 10 * z[:, 2:3]
                + 5 * lengths
                + 8 * z[:, 3:5]
                + np.array([20.0, 0.0])
            )
            why = lengths if cause == "length" else (scores[:, ::-1] - 60) / 15
            failed = rng.random(scores.shape) < stats.norm.cdf(why - 1)
            return np.column_stack([np.where(failed, np.nan, scores), lengths])

        def ends(s: Sample, rng: Rng) -> Ends:
            a, b, long, other = s.values.T
            found = paired.robust_difference(
                a, b, (long, other), rng, groups=s.groups.tolist(), level=LEVEL
            )
            return (np.nan, np.nan) if found is None else found.interval

        yield Question("missing", f"failures by {cause}", draw, 20.0, {"chosen": ends})
