"""Says what a figure can be at all: a share lies between 0 and 1, a coefficient between -1 and 1,
an error within the scale. A limit beyond that could not fail, and an interval beyond that is none.
"""

import math
import re
from typing import NamedTuple

from undogmatic.stats.estimate import Estimate

LEAST_LEVEL = 0.5
"""No check and no analysis tells an interval of this level or of a lower one: it would leave out
the truth as often as not, and be as narrow as anyone wants."""
_SAME = 1e-9  # of the range: what rounding may add

_SHARES = re.compile(
    r"agreement\.(raw|sensitivity|specificity|ppv|npv|ppv_stated|npv_stated|ties|decided|adjacent"
    r"|answered|if_wrong|if_right)"
    r"|alone\.(share|agreement)|position\.(agreement|correct_both|first)"
    r"|repeats\.same|confidence\.brier"
    r"|surface\.accuracy|people\.advantage|injected\.(recall|clean|equivalent|changed)(\..*)?"
    # Of a run, whatever analysis tells it.
    r"|.*\.(share|share_expected|auc|coverage|exact_match|in_band|success_rate)"
)
_COEFFICIENTS = re.compile(
    r"surface\.(agreement|foretold)|people\.(agreement|judge)|agreement\.ac1"
    r"|.*\.(kappa|[a-z]+_kappa|alpha|spearman|pearson|kendall|concordance|rank_biserial)"
)
# of two coefficients
_DIFFERENCES = re.compile(r"(surface\.increment|people\.difference)")
_ON_THE_SCALE = re.compile(r"agreement\.error|repeats\.change")
_SIZES = re.compile(r"(.*\.)?instrument\.(cue\..*|worst)")
"""How far something moves scores, to whichever side: what counts is how far."""
_AROUND_NOUGHT = re.compile(r"agreement\.bias|.*\.mean_difference")


class Range(NamedTuple):
    """The least and the largest that a figure can be."""

    least: float
    largest: float


def range_of(name: str, span: float | None) -> Range | None:
    """What a figure of this name can be; None where that is not known. `span`: how far apart two
    values of the scale may lie, where they are numbers."""
    for names, known in (
        (_SHARES, Range(0, 1)),
        (_COEFFICIENTS, Range(-1, 1)),
        (_DIFFERENCES, Range(-2, 2)),
    ):
        if names.fullmatch(name):
            return known
    if span and (_ON_THE_SCALE.fullmatch(name) or _SIZES.fullmatch(name)):
        return Range(0, span)
    return Range(-span, span) if span and _AROUND_NOUGHT.fullmatch(name) else None


def as_held(name: str, figure: Estimate) -> Estimate:
    """The figure as a gate holds it: of a movement its size, whichever side it is to."""
    if not _SIZES.fullmatch(name):
        return figure

    def sizes(low: float, high: float) -> tuple[float, float]:
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return least, max(abs(low), abs(high))

    (low, high) = sizes(*figure.interval)
    (worst, best) = sizes(figure.worst_low, figure.best_high)
    held = figure.replace(value=abs(figure.value), low=low, high=high)
    lost = figure.worst is not None or figure.best is not None
    return held.replace(worst=worst, best=best) if lost else held


def cannot_fail(bound: float, above: bool, known: Range | None) -> bool:
    """Whether every figure of this range reaches the bound: lies above it, or else below it."""
    return known is not None and (
        bound <= known.least if above else bound >= known.largest
    )


def is_interval(figure: Estimate, known: Range | None) -> str:
    """What is wrong with the interval of a figure: "level", "ends" (they are in the wrong order, or
    one is none) or "range" (it reaches beyond what the figure can be); "" where nothing is. An end
    that nothing limits is infinite.
    """
    ends = [figure.interval, (figure.worst_low, figure.best_high)]
    if not LEAST_LEVEL < figure.level < 1:
        return "level"
    if not all(
        low <= high and low < math.inf and high > -math.inf for low, high in ends
    ):
        return "ends"
    if known is not None:
        room = _SAME * (known.largest - known.least)
        least, largest = known.least - room, known.largest + room
        if not all(
            least <= end <= largest
            for end in (*ends[0], *ends[1])
            if math.isfinite(end)
        ):
            return "range"
    return ""


def holds_its_value(figure: Estimate) -> bool:
    """Whether the value of a figure lies in its interval, as that of every figure does that was
    estimated."""
    if math.isnan(figure.value):
        return True
    room = _SAME * max(1.0, abs(figure.value))
    return figure.low - room <= figure.value <= figure.high + room
