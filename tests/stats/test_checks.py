"""One wording for bad arrays; every public function that takes scores refuses NaN by its argument's
name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.stats.conftest import refuses
from undogmatic.stats import (
    agreement,
    calibration,
    checks,
    claims,
    compare,
    conformal,
    confound,
    few_labels,
    means,
    paired,
    proportion,
    ranking,
    review,
    uncertainty,
    variance,
)

GOOD = [1.0, 2.0, 4.0, 3.0, 5.0]
LABELS01 = [0.0, 1.0, 0.0, 1.0, 1.0]
HALVES = [0.5, 0.5]

PAIRED = {"a": GOOD, "b": GOOD[::-1]}
CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (paired.wilcoxon, {"differences": GOOD}),
    (paired.rank_biserial, {"differences": GOOD}),
    (paired.share_in_direction, {"differences": GOOD}),
    (paired.hodges_lehmann, {"differences": GOOD}),
    (paired.summary, {"values": GOOD}),
    (paired.holm, {"p_values": LABELS01}),
    (confound.length_auc, {"lengths_a": GOOD, "lengths_b": GOOD}),
    (partial(agreement.correlation, "kendall"), PAIRED),
    (agreement.nearest_level, {"scores": GOOD, "levels": [1, 3, 5, 7, 9]}),
    (partial(agreement.weighted_kappa, categories=[1, 2, 3, 4, 5]), PAIRED),
    (partial(agreement.weighted_kappa, GOOD, GOOD), {"categories": [1, 2, 3, 4, 5]}),
    (agreement.bland_altman, PAIRED),
    (agreement.back_to_back, {"first": GOOD, "second": GOOD[::-1]}),
    (ranking.auc, {"positive": GOOD, "negative": GOOD}),
    (ranking.mean_shift, {"attack": GOOD, "treatment": GOOD}),
    *(
        (partial(calibration.fit, kind, scale=(1, 5)), {"raw": GOOD, "label": GOOD})
        for kind in ("platt", "linear")
    ),
    (calibration.fit_content_free, {"content_free_probs": HALVES}),
    (calibration.reliability_table, {"confidence": LABELS01, "correct": LABELS01}),
    (uncertainty.normalised_entropy, {"probabilities": HALVES}),
    (uncertainty.quantile_interval, {"probabilities": HALVES, "levels": [0.0, 1.0]}),
]


@pytest.mark.parametrize(
    ("function", "good", "argument"),
    [(function, good, argument) for function, good in CALLS for argument in good],
)
def test_nan_is_refused_by_its_argument(
    function: Callable[..., Any], good: dict[str, Any], argument: str
) -> None:
    function(**good)
    spoiled = [*good[argument][:-1], float("nan")]
    refuses(
        f"`{argument}` holds NaN in 1 places", function, **{**good, argument: spoiled}
    )


def test_labels_become_codes_in_order_of_appearance() -> None:
    assert checks.labels(["b", "a", "b", 3], "groups", 4).tolist() == [0, 1, 0, 2]


NA, ONE_TO_4, TEN, RNG = (
    float("nan"),
    [1, 2, 3, 4],
    np.arange(10.0),
    np.random.default_rng(0),
)
CORRELATION = agreement.correlation
KAPPA, LENGTHS, ALPHA = (
    agreement.weighted_kappa,
    confound.at_equal,
    agreement.krippendorff_alpha,
)
APPLY, FIT, MDE, FIND = (
    calibration.apply,
    calibration.fit,
    claims.minimum_detectable_effect,
    conformal.find_threshold,
)
QUANTILES, CRITIQUE = uncertainty.quantile_interval, uncertainty.critique_uncertainty
JOINED, ISOTONIC = (
    uncertainty.aggregate_uncertainty,
    partial(few_labels.estimate_mean, calibration="isotonic"),
)
STUDY, RATINGS = (
    partial(variance.Study, facets=["judge"]),
    np.outer(range(1, 7), range(1, 5)),
)
DIVIDED = calibration.fit_content_free([0.5, 0.5])
REFUSED: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    ("`a` holds 5 values and `b` 4", CORRELATION, ("pearson", GOOD, GOOD[1:]), {}),
    ("`a` holds 4 values and `b` 5", CORRELATION, ("pearson", GOOD[1:], GOOD), {}),
    ("`differences` holds an infinite value", paired.wilcoxon, ([1.0, np.inf],), {}),
    (
        r"`values` must be one-dimensional; its shape is \(2, 1\)",
        paired.summary,
        ([[1.0], [2.0]],),
        {},
    ),
    ("`differences` holds 0 values; at least 1", paired.hodges_lehmann, ([],), {}),
    *(
        (
            "`groups` holds a missing label",
            checks.labels,
            (["a", missing], "groups", 2),
            {},
        )
        for missing in (None, NA)
    ),
    ("`groups` holds 1 labels for 2 values", checks.labels, (["a"], "groups", 2), {}),
    *(
        ("`level` is", paired.share_in_direction, (GOOD,), {"level": level})
        for level in (0.0, 1.0, 95.0, NA)
    ),
    (
        "`zero_method` is 'drop'.*'pratt', 'wilcox', 'zsplit'",
        paired.wilcoxon,
        (GOOD, "drop"),
        {},
    ),
    ("`weights` is 'cubic'", KAPPA, (GOOD, GOOD, GOOD, "cubic"), {}),
    (
        "`a` holds 2 values; at least 3",
        CORRELATION,
        ("kendall", [1.0, 2], [1.0, 2]),
        {},
    ),
    (
        "`b` holds 30, which is not one of `categories`",
        KAPPA,
        ([0.0, 50], [0.0, 30], [0, 50, 100]),
        {},
    ),
    ("`categories` repeats", KAPPA, ([0.0], [0.0], [0, 0]), {}),
    ("`ratings` has no unit with two ratings", ALPHA, ([[1.0, NA], [NA, 2.0]],), {}),
    ("`ratings` must have shape", ALPHA, ([1.0, 2.0],), {}),
    (
        "has kind 'spline'; known are platt, isotonic, linear, content",
        APPLY,
        ({"kind": "spline"}, [1.0]),
        {},
    ),
    ("has kind None", APPLY, ({}, [1.0]), {}),
    (
        "of kind 'linear' lacks the key 'intercept'",
        APPLY,
        ({"kind": "linear", "slope": 1.0}, [1.0]),
        {},
    ),
    ("`raw` is constant", FIT, ("linear", [5.0, 5], [0.0, 100], (0, 100)), {}),
    ("`label` is constant", FIT, ("platt", [1.0, 2], [1.0, 1], (0, 100)), {}),
    ("`label` must lie on the scale", FIT, ("platt", [1.0, 2], [0.0, 100], (0, 1)), {}),
    ("`scale` is", FIT, ("linear", [1.0, 2], [0.0, 100], (100, 0)), {}),
    (
        "`levels_probs` has 3 levels; the calibration was fitted on 2",
        APPLY,
        (DIVIDED, [0.2, 0.3, 0.5]),
        {},
    ),
    (
        "`content_free_probs` must be non-negative",
        calibration.fit_content_free,
        ([0.0, 0.0],),
        {},
    ),
    (
        "share 2 ids: t2, t3",
        calibration.split_check,
        (["t1", "t2", "t3"], ["t3", "t4", "t2"]),
        {},
    ),
    (
        "share 12 ids: .* and 2 more",
        calibration.split_check,
        (range(12), range(12)),
        {},
    ),
    (
        "`confidence` must lie in .* divide a percentage",
        calibration.reliability_table,
        ([80.0], [1]),
        {},
    ),
    (
        "`correct` must hold only 0 and 1",
        calibration.reliability_table,
        ([0.5], [0.5]),
        {},
    ),
    ("`n_bins` is 0", calibration.reliability_table, ([0.5], [1]), {"n_bins": 0}),
    (
        "1 units",
        calibration.error_interval,
        ([0.5, 0.6], [1, 0], RNG),
        {"groups": ["a", "a"]},
    ),
    ("`n_pairs` is 1", MDE, (1,), {}),
    ("`alpha` is 5.0", MDE, (30,), {"alpha": 5.0}),
    ("`power` is 0.04, not above", MDE, (30,), {"power": 0.04}),
    ("`sd_differences` is 0.0", MDE, (30, 0.0), {}),
    ("`margin` is -1", claims.claim, (GOOD, -1), {}),
    (
        "2 groups are too few",
        LENGTHS,
        (ONE_TO_4, [1, -2, 3, 0], 10),
        {"groups": [0, 0, 1, 1]},
    ),
    ("one group alone fixes", LENGTHS, (ONE_TO_4, [1, 1, 1, 5], 10), {}),
    ("4 values and `controls` 3 rows", LENGTHS, (ONE_TO_4, [0, 1, 2], 10), {}),
    ("rate", FIND, (TEN, np.ones(10)), {"rate": 1.0}),
    ("confidence", FIND, (TEN, np.ones(10)), {"confidence": 0}),
    ("only 0 and 1", FIND, (TEN, 2 * np.ones(10)), {}),
    (
        "'isotonic' with 19.0 effective labelled groups; an inc",
        ISOTONIC,
        (np.ones(100), range(19), np.arange(19.0)),
        {},
    ),
    (
        "target_width",
        few_labels.label_budget,
        (TEN, np.arange(5), np.arange(5.0), 0),
        {},
    ),
    *(
        (
            message,
            means.mean_so_far,
            (values, "ab"[: len(values)], "abcde", 0, maximum),
            {"level": level},
        )
        for message, values, maximum, level in (
            ("values", [], 10, 0.95),
            ("NaN", [1.0, NA], 10, 0.95),
            ("between 0 and 10", [11.0], 10, 0.95),
            ("wider", [1.0, 2.0], 0, 0.95),
            ("level", [1.0, 2.0], 10, 1.0),
        )
    ),
    ("two values", STUDY, (RATINGS[:, :1],), {}),
    ("facets", STUDY, (RATINGS,), {"facets": ["a", "b"]}),
    ("NaN", STUDY, (np.where(RATINGS == 9, NA, RATINGS),), {}),
    ("at least 3", STUDY, (RATINGS,), {"groups": [0, 0, 0, 1, 1, 1]}),
    ("level", STUDY, (RATINGS,), {"level": 0}),
    ("`groups` gives 1 units", means.interval, ([1.0, 2],), {"groups": ["a", "a"]}),
    ("outside `bounds`", means.interval, ([1.0, 2, 120],), {"bounds": (0, 100)}),
    ("matched one to one", paired.failure_test, ([1.0, 2.0], [1.0]), {}),
    ("must hold only 0 and 1", proportion.proportion, ([0.0, 0.5],), {}),
    ("at least 1", proportion.proportion, ([],), {}),
    ("go together", ranking.auc, ([1.0, 2], [3.0, 4]), {"groups_a": [0, 1]}),
    ("`y` is constant", ranking.spearman_interval, ([1.0, 2, 3], [5.0, 5, 5], RNG), {}),
    ("error", review.pair, ([1, 2], [-1, 1]), {}),
    ("nothing", review.curve, ("caught", [1, 2], [0, 0], RNG), {}),
    ("constant", review.review_gain_interval, ([1, 2], [1, 1], RNG), {}),
    ("'w'", compare.letter_display, (["x", "y"], [("x", "w")]), {}),
    ("at least 2 systems", compare.ranks, (np.zeros((3, 1)), RNG), {}),
    ("at least 2 systems", compare.ranks, (np.zeros(3), RNG), {}),
    ("NaN", compare.ranks, ([[1.0, NA]], RNG), {}),
    *(
        ("is no probability", uncertainty.expected_score, ({"5": p}, 0, 100, 0.25), {})
        for p in (-0.1, 1.5, NA)
    ),
    ("range", uncertainty.expected_score, ({}, 5, 4, 0.25), {}),
    ("`probabilities` sum to 0.9", QUANTILES, ([0.5, 0.4], [0, 1]), {}),
    ("`probabilities` holds a negative value", QUANTILES, ([1.5, -0.5], [0, 1]), {}),
    ("`probabilities` holds no level", QUANTILES, ([], [0, 1]), {}),
    (
        "`probabilities` has 3 levels and `levels` 2",
        QUANTILES,
        ([0.2, 0.3, 0.5], [0, 1]),
        {},
    ),
    ("`levels` must increase strictly", QUANTILES, ([0.5, 0.5], [1, 1]), {}),
    (
        "`mean` is 50 and `sd` -1",
        uncertainty.discretised_normal,
        (50, -1, [0, 100]),
        {},
    ),
    ("initial_score", CRITIQUE, (11, 0.5, (1, 2), 0), {}),
    ("critique_strength", CRITIQUE, (5, 6, (1, 2), 0), {}),
    *(
        ("revised_range", CRITIQUE, (5, 0.6, ends, 0), {})
        for ends in ((1, 12), (1,), (NA, 2))
    ),
    ("major_issues", CRITIQUE, (5, 0.6, (1, 2), -1), {}),
    *(
        ("points", uncertainty.points_entropy, (points,), {})
        for points in ([], [0, 0], [-5, 105], [NA, 100])
    ),
    ("scores", JOINED, ([], []), {}),
    ("scores", JOINED, ([1, 8], ["low", "low"]), {}),
    ("levels", JOINED, ([0.5], ["low", "low"]), {}),
    ("levels", JOINED, ([0.5], ["none"]), {}),
    ("review_flags", JOINED, ([0.5, 0.5], ["low", "low"], [True]), {}),
]


@pytest.mark.parametrize(("message", "call", "arguments", "how"), REFUSED)
def test_what_does_not_fit_is_named(
    message: str,
    call: Callable[..., Any],
    arguments: tuple[Any, ...],
    how: dict[str, Any],
) -> None:
    refuses(message, call, *arguments, **how)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_ranks_are_scipys(axis: int | None) -> None:
    values = np.random.default_rng(0).integers(0, 5, size=(6, 9)).astype(float)
    assert np.array_equal(
        checks.ranks(values, axis=axis), stats.rankdata(values, axis=axis)
    )


@pytest.mark.parametrize(
    ("needed", "there", "named"),
    [
        (90.2, 20, 91),
        (200, 8, 200),
        (201, 8, None),
        (900, 100, 900),
        (1001, 100, None),
        (5, 9, 10),
        (3400, 1500, 3400),
        (3600, 1500, None),
        (20_000, 10_000, 20_000),
        (20_001, 10_000, None),
    ],
)
def test_a_number_is_named_that_somebody_would_gather(
    needed: float, there: int, named: int | None
) -> None:
    assert checks.worth_naming(needed, there) == named


@pytest.mark.parametrize(
    "margin",
    [
        lambda place: place - 0.3,
        lambda place: place**7 - 0.3**7,
        lambda place: np.expm1(40 * (place - 0.3)),
        lambda place: np.cbrt(place - 0.3),
        lambda place: np.inf if place > 0.3 else -1.0,
        lambda place: 1.0 if place > 0.3 else -np.inf,
        lambda place: 1e-12 if place > 0.3 else -1e6,
    ],
    ids=[
        "line",
        "flat",
        "steep",
        "root",
        "beyond is infinite",
        "inside is infinite",
        "lopsided step",
    ],
)
@pytest.mark.parametrize(("inside", "end"), [(-0.5, 1.0), (0.0, 0.31), (0.3, 5.0)])
def test_the_farthest_place_is_the_first_that_is_ruled_out(
    margin: Callable[[float], float], inside: float, end: float
) -> None:
    asked: list[float] = []

    def counted(place: float) -> float:
        asked.append(place)
        return float(margin(place))

    found = checks.farthest(counted, inside, end)
    assert margin(found) > 0
    assert 0 < found - 0.3 <= (end - inside) / 2**23
    assert len(asked) <= 28


def test_the_farthest_place_of_a_smooth_margin_takes_few_steps_to_both_sides() -> None:
    for side in (-1.0, 1.0):
        asked: list[float] = []

        def margin(place: float, asked: list[float] = asked) -> float:
            asked.append(place)
            return abs(place) ** 1.5 - 0.2

        assert abs(checks.farthest(margin, 0.0, side)) == pytest.approx(
            0.2 ** (2 / 3), abs=1e-6
        )
        assert len(asked) <= 12
        assert checks.farthest(lambda place: place**2 - 1.0, 0.0, side) == side, (
            "nothing is ruled out"
        )
