"""One wording for bad arrays; every public function that takes scores refuses NaN by its argument's name."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.stats.conftest import refuses
from undogmatic.stats import agreement, calibration, checks, confound, paired, ranking, typical, uncertainty

GOOD = [1.0, 2.0, 4.0, 3.0, 5.0]
LABELS01 = [0.0, 1.0, 0.0, 1.0, 1.0]
HALVES = [0.5, 0.5]

PAIRED = {"a": GOOD, "b": GOOD[::-1]}
CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (paired.wilcoxon, {"differences": GOOD}),
    (paired.rank_biserial, {"differences": GOOD}),
    (paired.share_in_direction, {"differences": GOOD}),
    (typical.hodges_lehmann, {"differences": GOOD}),
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
    refuses("`differences` holds 0 values; at least 1", typical.hodges_lehmann, [])


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
        (lambda: agreement.krippendorff_alpha([GOOD, GOOD], "ratio"), "`measurement` is 'ratio'"),
        (lambda: agreement.weighted_kappa(GOOD, GOOD, GOOD, "cubic"), "`weights` is 'cubic'"),
    ],
)
def test_an_unknown_word_is_refused_and_the_known_ones_listed(call: Callable[[], Any], message: str) -> None:
    refuses(message, call)
