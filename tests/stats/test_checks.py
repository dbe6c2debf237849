"""One wording for bad arrays; every public function that takes scores refuses NaN by its argument's name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

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
    (partial(agreement.correlation, "kendall"), PAIRED),
    (agreement.nearest_level, {"scores": GOOD, "levels": [1, 3, 5, 7, 9]}),
    (partial(agreement.weighted_kappa, categories=[1, 2, 3, 4, 5]), PAIRED),
    (partial(agreement.weighted_kappa, GOOD, GOOD), {"categories": [1, 2, 3, 4, 5]}),
    (agreement.bland_altman, PAIRED),
    (agreement.back_to_back, {"first": GOOD, "second": GOOD[::-1]}),
    (ranking.auc, {"positive": GOOD, "negative": GOOD}),
    (ranking.mean_shift, {"attack": GOOD, "treatment": GOOD}),
    *((partial(calibration.fit, kind, scale=(1, 5)), {"raw": GOOD, "label": GOOD}) for kind in ("platt", "linear")),
    (calibration.fit_content_free, {"content_free_probs": HALVES}),
    (calibration.reliability_table, {"confidence": LABELS01, "correct": LABELS01}),
    (uncertainty.normalised_entropy, {"probabilities": HALVES}),
    (uncertainty.quantile_interval, {"probabilities": HALVES, "levels": [0.0, 1.0]}),
]


@pytest.mark.parametrize(
    ("function", "good", "argument"), [(function, good, argument) for function, good in CALLS for argument in good]
)
def test_nan_is_refused_by_the_argument_that_holds_it(
    function: Callable[..., Any], good: dict[str, Any], argument: str
) -> None:
    function(**good)
    spoiled = [*good[argument][:-1], float("nan")]
    refuses(f"`{argument}` holds NaN in 1 places", function, **{**good, argument: spoiled})


@pytest.mark.parametrize("argument", ["a", "b"])
def test_unequal_lengths_name_both_arguments(argument: str) -> None:
    good = {"a": GOOD, "b": GOOD}
    refuses(r"`a` holds . values and `b` .", agreement.correlation, "pearson", **{**good, argument: GOOD[:-1]})


def test_infinity_wrong_shape_and_emptiness_are_refused() -> None:
    refuses("`differences` holds an infinite value", paired.wilcoxon, [1.0, np.inf])
    refuses(r"`values` must be one-dimensional; its shape is \(2, 1\)", paired.summary, [[1.0], [2.0]])
    refuses("`differences` holds 0 values; at least 1", paired.hodges_lehmann, [])


def test_labels_become_codes_in_order_of_appearance_and_may_not_be_missing() -> None:
    assert checks.labels(["b", "a", "b", 3], "groups", 4).tolist() == [0, 1, 0, 2]
    for missing in (None, float("nan")):
        refuses("`groups` holds a missing label", checks.labels, ["a", missing], "groups", 2)
    refuses("`groups` holds 1 labels for 2 values", checks.labels, ["a"], "groups", 2)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
def test_a_confidence_level_is_a_share(level: float) -> None:
    refuses("`level` is", paired.share_in_direction, GOOD, level=level)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired.wilcoxon(GOOD, zero_method="drop"), "`zero_method` is 'drop'.*'pratt', 'wilcox', 'zsplit'"),
        (lambda: agreement.weighted_kappa(GOOD, GOOD, GOOD, "cubic"), "`weights` is 'cubic'"),
    ],
)
def test_an_unknown_word_is_refused_and_the_known_ones_listed(call: Callable[[], Any], message: str) -> None:
    refuses(message, call)


NA, ONE_TO_4, TEN, RNG = float("nan"), [1, 2, 3, 4], np.arange(10.0), np.random.default_rng(0)
KAPPA, LENGTHS, ALPHA = agreement.weighted_kappa, confound.at_equal, agreement.krippendorff_alpha
APPLY, FIT, MDE, FIND = calibration.apply, calibration.fit, claims.minimum_detectable_effect, conformal.find_threshold
QUANTILES, CRITIQUE, JOINED = (
    uncertainty.quantile_interval,
    uncertainty.critique_uncertainty,
    uncertainty.aggregate_uncertainty,
)
DIVIDED = calibration.fit_content_free([0.5, 0.5])
REFUSED: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    ("`a` holds 2 values; at least 3", agreement.correlation, ("kendall", [1.0, 2], [1.0, 2]), {}),
    ("`b` holds 30, which is not one of `categories`", KAPPA, ([0.0, 50], [0.0, 30], [0, 50, 100]), {}),
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
    ("of kind 'linear' lacks the key 'intercept'", APPLY, ({"kind": "linear", "slope": 1.0}, [1.0]), {}),
    ("`raw` is constant", FIT, ("linear", [5.0, 5], [0.0, 100], (0, 100)), {}),
    ("`label` is constant", FIT, ("platt", [1.0, 2], [1.0, 1], (0, 100)), {}),
    ("`label` must lie on the scale", FIT, ("platt", [1.0, 2], [0.0, 100], (0, 1)), {}),
    ("`scale` is", FIT, ("linear", [1.0, 2], [0.0, 100], (100, 0)), {}),
    ("`levels_probs` has 3 levels; the calibration was fitted on 2", APPLY, (DIVIDED, [0.2, 0.3, 0.5]), {}),
    ("`content_free_probs` must be non-negative", calibration.fit_content_free, ([0.0, 0.0],), {}),
    ("share 2 ids: t2, t3", calibration.split_check, (["t1", "t2", "t3"], ["t3", "t4", "t2"]), {}),
    ("share 12 ids: .* and 2 more", calibration.split_check, (range(12), range(12)), {}),
    ("`confidence` must lie in .* divide a percentage", calibration.reliability_table, ([80.0], [1]), {}),
    ("`correct` must hold only 0 and 1", calibration.reliability_table, ([0.5], [0.5]), {}),
    ("`n_bins` is 0", calibration.reliability_table, ([0.5], [1]), {"n_bins": 0}),
    ("1 units", calibration.error_interval, ([0.5, 0.6], [1, 0], RNG), {"groups": ["a", "a"]}),
    ("`n_pairs` is 1", MDE, (1,), {}),
    ("`alpha` is 5.0", MDE, (30,), {"alpha": 5.0}),
    ("`power` is 0.04, not above", MDE, (30,), {"power": 0.04}),
    ("`sd_differences` is 0.0", MDE, (30, 0.0), {}),
    ("`margin` is -1", claims.claim, (GOOD, -1), {}),
    ("2 groups are too few", LENGTHS, (ONE_TO_4, [1, -2, 3, 0], 10), {"groups": [0, 0, 1, 1]}),
    ("one group alone fixes", LENGTHS, (ONE_TO_4, [1, 1, 1, 5], 10), {}),
    ("4 values and `controls` 3 rows", LENGTHS, (ONE_TO_4, [0, 1, 2], 10), {}),
    ("rate", FIND, (TEN, np.ones(10)), {"rate": 1.0}),
    ("confidence", FIND, (TEN, np.ones(10)), {"confidence": 0}),
    ("only 0 and 1", FIND, (TEN, 2 * np.ones(10)), {}),
    (
        "'isotonic' with 19.0 effective labelled groups; an inc",
        few_labels.estimate_mean,
        (np.arange(100.0), np.arange(19), np.arange(19.0)),
        {"calibration": "isotonic"},
    ),
    ("target_width", few_labels.label_budget, (TEN, np.arange(5), np.arange(5.0), 0), {}),
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
    *(("is no probability", uncertainty.expected_score, ({"5": p}, 0, 100, 0.25), {}) for p in (-0.1, 1.5, NA)),
    ("range", uncertainty.expected_score, ({}, 5, 4, 0.25), {}),
    ("`probabilities` sum to 0.9", QUANTILES, ([0.5, 0.4], [0, 1]), {}),
    ("`probabilities` holds a negative value", QUANTILES, ([1.5, -0.5], [0, 1]), {}),
    ("`probabilities` holds no level", QUANTILES, ([], [0, 1]), {}),
    ("`probabilities` has 3 levels and `levels` 2", QUANTILES, ([0.2, 0.3, 0.5], [0, 1]), {}),
    ("`levels` must increase strictly", QUANTILES, ([0.5, 0.5], [1, 1]), {}),
    ("`mean` is 50 and `sd` -1", uncertainty.discretised_normal, (50, -1, [0, 100]), {}),
    ("initial_score", CRITIQUE, (11, 0.5, (1, 2), 0), {}),
    ("critique_strength", CRITIQUE, (5, 6, (1, 2), 0), {}),
    *(("revised_range", CRITIQUE, (5, 0.6, ends, 0), {}) for ends in ((1, 12), (1,), (NA, 2))),
    ("major_issues", CRITIQUE, (5, 0.6, (1, 2), -1), {}),
    *(("points", uncertainty.points_entropy, (points,), {}) for points in ([], [0, 0], [-5, 105], [NA, 100])),
    ("scores", JOINED, ([], []), {}),
    ("scores", JOINED, ([1, 8], ["low", "low"]), {}),
    ("levels", JOINED, ([0.5], ["low", "low"]), {}),
    ("levels", JOINED, ([0.5], ["none"]), {}),
    ("review_flags", JOINED, ([0.5, 0.5], ["low", "low"], [True]), {}),
]


@pytest.mark.parametrize(("message", "call", "arguments", "how"), REFUSED)
def test_what_does_not_fit_is_named(
    message: str, call: Callable[..., Any], arguments: tuple[Any, ...], how: dict[str, Any]
) -> None:
    refuses(message, call, *arguments, **how)
