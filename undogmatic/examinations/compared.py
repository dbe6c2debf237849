"""Declares the measures by which sweeps compare judges, beside the analyses that give each judge
its own number.

A further one is an entry of COMPARED, and a name in `sweep/compare.texts.yaml`.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from undogmatic.examinations.calibration import FEWEST_CONFIDENCES
from undogmatic.stats import calibration, jackknife, means, rated, review
from undogmatic.stats.agreement import pearson
from undogmatic.stats.checks import Array
from undogmatic.stats.ranking import rank_correlation

BINS = 10


class Whole(NamedTuple):
    """A measure that is a number of all texts: the statistic, its interval, and the fewest
    independent units it is tested on.

    `apart` gives the limits of left minus right at a level, from what is left out of each and the
    width of the scale. The p-value comes from exchanging rows where `exchanged`, else it is the
    level at which the interval meets 0.
    """

    statistic: jackknife.Prepared
    apart: Callable[[jackknife.LeftOut, jackknife.LeftOut, float, float], means.Bounds]
    fewest: int = 2
    exchanged: bool = True


class Compared(NamedTuple):
    """A measure that is tested between every two judges.

    Attributes:
        name: As in the metrics of its analysis.
        better: +1 where more is better, -1 where less is, 0 where neither is.
        of: The analysis that keeps its columns per item; "scores" are in score units, so that there
            is a difference too small to matter; "verdicts" are categories, of which every one
            stands beside the label of each rater.
        columns: What it is made of.
        whole: How, where it is a number of all texts; None: it is the mean of its only column.
    """

    name: str
    better: Literal[1, -1, 0]
    of: Literal["calibration", "labelled", "verdicts", "scores"]
    columns: tuple[str, ...]
    whole: Whole | None = None


def _of_coefficients(
    one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float
) -> means.Bounds:
    """Limit a difference of two numbers between -1 and 1.

    In simulations of two equal judges (20 to 120 groups of items; pass and fail, rare passes, five
    grades, groups of three) kappas differed by this in 0 to 6 % of the samples at 95 %. The limits
    of `_pearson`, on Fisher's z, did in up to 9 %: a kappa has not the variance of a correlation.
    """
    return _of_means(one, other, level, 2.0)


def _of_means(
    one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float
) -> means.Bounds:
    return one.nearly_mean(level, (-span, span), less=other).interval


def _errors(
    one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float
) -> means.Bounds:
    return calibration.error_difference(_noisy(one), _noisy(other), level)


@functools.lru_cache(maxsize=64)
def _noisy(left_out: jackknife.LeftOut) -> calibration.NoisyError:
    """Its noise is drawn once for all comparisons of a job."""
    return calibration.NoisyError(left_out, np.random.default_rng(0), BINS)


def _pearson(
    one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float
) -> means.Bounds:
    return jackknife.difference(one, other, level).interval


def _spearman(
    one: jackknife.LeftOut, other: jackknife.LeftOut, level: float, span: float
) -> means.Bounds:
    return jackknife.difference(
        one, other, level, (1 + one.estimate**2 / 2, 1 + other.estimate**2 / 2)
    ).interval


def _kappa(
    name: str, coefficient: Callable[[Array], rated.Parts], weights: str
) -> Compared:
    """Compare judges by a kappa with people's labels."""
    whole = Whole(
        rated.of_rows(coefficient, weights),
        _of_coefficients,
        jackknife.FEWEST,
        exchanged=False,
    )
    return Compared(name, 1, "verdicts", PAIRED, whole)


_ERROR = calibration.calibration_error(BINS)
_DOUBT = ("uncertainty", "error")
_PROMISE = ("confidence", "right")
_LABEL = ("score", "label")
PAIRED = ("verdict", "label", "weight")
"""Of a verdict of categories beside the label of one rater: places among the categories, and one
over the raters of the item."""
COMPARED = (
    Compared(
        "review_gain", 1, "calibration", _DOUBT, Whole(review.gain, _of_coefficients)
    ),
    Compared("aurc", -1, "calibration", _DOUBT, Whole(review.aurc, _of_means)),
    Compared(
        "ece", -1, "calibration", _PROMISE, Whole(_ERROR, _errors, FEWEST_CONFIDENCES)
    ),
    Compared(
        "spearman",
        1,
        "labelled",
        _LABEL,
        Whole(rank_correlation, _spearman, jackknife.FEWEST, exchanged=False),
    ),
    _kappa("kappa", rated.kappa, "none"),
    _kappa("weighted_kappa", rated.kappa, "quadratic"),
    _kappa("pairwise_kappa", rated.mirrored_kappa, "none"),
    Compared("absolute_error", -1, "scores", _LABEL),
    Compared("pair_difference", 1, "scores", ("score", "pair_id", "condition")),
    Compared("interval_score", -1, "calibration", ("interval_score",)),
    Compared(
        "pearson",
        1,
        "labelled",
        _LABEL,
        Whole(pearson, _pearson, jackknife.FEWEST, exchanged=False),
    ),
    Compared("score", 0, "scores", ("score",)),
)
"""All of them, what speaks most to quality first. Coverage, width and seconds are described and not
tested: a narrow interval is no merit by itself, nor one that holds more than it claims."""
OF_NUMBERS = "labelled.agreement.spearman"
"""The headline of judges whose verdicts are numbers."""
FOLLOWS: Mapping[str, tuple[str, ...]] = {
    OF_NUMBERS: ("spearman", "pearson"),
    "labelled.agreement.kappa": ("kappa",),
    "labelled.agreement.weighted_kappa": ("weighted_kappa",),
    "preference.agreement.pairwise_kappa": ("pairwise_kappa",),
}
"""By what it is tested which of two judges follows labels better: by the headline of both, so that
only those are compared whose verdicts are of one kind."""
DESCRIBED = {"coverage": "inside", "width": "width", "seconds": "seconds"}
"""These, and the columns that they are read from."""
_OF_CALIBRATION = [
    column
    for measure in COMPARED
    if measure.of == "calibration"
    for column in measure.columns
]
ITEM_COLUMNS = (
    "unit",
    "score",
    "truth",
    *dict.fromkeys(_OF_CALIBRATION),
    "inside",
    "width",
)
"""What sweeps read of `items_calibration.csv`."""
