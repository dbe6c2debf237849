"""Promises fitted on labelled items: intervals with a stated coverage guarantee, and what a judge
may decide alone.

Split conformal prediction: of the fitted items' misses, the one at rank ceil((n + 1) level) is how
far a new interval must reach. If fitted and new items are exchangeable, the new label lies inside
with probability at least `level`, whatever the judge is worth; a poor judge pays in width. With
`groups` (register, condition) each group has its own reach and the guarantee holds within it
(Mondrian). A fit is plain data and keeps the ids it was fitted on, so that `coverage` can refuse to
verify on them.

References:
    Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world. doi:10.1007/b106715
    Lei et al. (2018), Distribution-free predictive inference for regression.
    doi:10.1080/01621459.2017.1307116
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import compress
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from undogmatic.stats import calibration, checks
from undogmatic.stats.calibration import Scale
from undogmatic.stats.checks import Array, Groups
from undogmatic.stats.estimate import Bounds, Estimate
from undogmatic.stats.proportion import Kept, kept

Kind = Literal["score", "range"]
Ids = Sequence[Hashable]

STEPS = 20
"""Candidate thresholds: shares of the units, evenly spaced. More of them would cost no confidence,
since the sequence stops at the first that fails, but neighbours differ by chance alone."""
STRICTEST = 1 / 6
"""Share of the units that the strictest candidate keeps, if so many can pass: of fewer, one miss
ends the sequence."""
WIDE = 2 / 3
"""A range around a score that takes up more of the scale than this says next to nothing."""
# (9 + 1) x 0.9 and 0.9 / (1 - 0.9) miss 9 by a rounding error.
_ROUNDING = 1e-9
_EVERYTHING = "all items"


class Conformal(NamedTuple):
    """A fit; `reach` and the number of fitted items `n` are per group, "all items" without groups.

    `reach` is in score units; `scale` holds the two ends. `n_units` is the effective number of
    different ids among `n`.
    """

    kind: Kind
    level: float
    scale: Scale
    reach: dict[str, float]
    n: dict[str, int]
    n_units: dict[str, int]
    grouped: bool
    fit_ids: tuple[str, ...]


class Coverage(NamedTuple):
    """One slice: share of labels inside with Wilson's interval, against the nominal level.

    `band` is where the share of a valid fit of this size lies in 95 % of cases (beta-binomial); a
    share below it speaks against exchangeability. It is None for a slice that mixes groups fitted
    apart. Items with one id are one unit in all of these. `promise` says whether at least the
    nominal share, but for the margin, is shown to lie inside.
    """

    group: str
    inside: Estimate
    promise: Kept
    mean_width: float
    n_fit: int
    band: tuple[float, float] | None


def items_needed(level: float) -> int:
    """Count the fewest labelled items (per group) for which an interval of this level exists:
    ceil(level / (1 - level)).

    This many make the widest miss the reach. For intervals of a useful, stable width take ten times
    as many.
    """
    checks.share(level, "level")
    return math.ceil(level / (1 - level) - _ROUNDING)


def fit(
    predicted: ArrayLike,
    truth: ArrayLike,
    ids: Ids,
    level: float = 0.9,
    *,
    scale: Scale,
    groups: Groups = None,
) -> Conformal:
    """Fit intervals around scores, or widen (or narrow) the ranges a judge gave until they keep
    their word.

    For scores the miss is |truth - score|; for ranges, the distance of the truth to the nearer end,
    negative inside.

    Args:
        predicted: Scores, shape (n,), or ranges (low, high), shape (n, 2), in score units.
        truth: Human labels, shape (n,), in score units.
        ids: What the items are split by (pair ids where two texts of a pair must not be parted),
            shape (n,).
        level, scale: Wanted coverage; the ends of the scale, which hold the labels; intervals are
            clipped to it.
        groups: Group per item, shape (n,), known before the label is; None fits all items together.
    Raises:
        ValueError: If there are too few items in all or in a group, naming the number needed.
    References:
        Romano, Patterson and Candes (2019), Conformalized quantile regression. arXiv:1905.03222
        (for ranges)
    """
    low, high = _ends(predicted)
    _, y = checks.paired_vectors(low, truth, ("predicted", "truth"))
    if not scale[0] < scale[1]:
        raise ValueError(
            f"`scale` is {scale}; it must be (minimum, maximum) with minimum below maximum."
        )
    # Intervals are clipped to the scale, and a label beyond it could never lie inside.
    if np.any((y < scale[0]) | (y > scale[1])):
        raise ValueError(f"`truth` leaves the scale from {scale[0]:g} to {scale[1]:g}.")
    checks.labels(ids, "ids", y.size)
    # Negative where the label lies inside of a range: ranges that are too wide are
    # narrowed by the same rule that widens others.
    misses = np.maximum(low - y, y - high)
    names = _names(groups, y.size)
    needed = items_needed(level)
    members = {
        name: np.flatnonzero(names == name) for name in dict.fromkeys(names.tolist())
    }
    small = [
        f"{name!r} has {rows.size}"
        for name, rows in members.items()
        if rows.size < needed
    ]
    # The rank that the guarantee needs would be beyond the last miss.
    if small:
        have = f"there are {y.size}" if groups is None else f"group {', '.join(small)}"
        raise ValueError(
            f"Too few labelled items for {100 * level:g} % intervals: {have}; at least {needed} are"
            " needed."
        )
    reach = {}
    n_units = {}
    for name, rows in members.items():
        # One more than n in the rank, for the new item, which is one of n + 1 in random
        # order.
        reach[name] = float(np.sort(misses[rows])[_rank(rows.size, level) - 1])
        # The guarantee holds of units; texts of one pair do not come in random order.
        n_units[name] = _effective([ids[place] for place in rows.tolist()])
    return Conformal(
        kind="score" if np.ndim(predicted) == 1 else "range",
        level=level,
        scale=(float(scale[0]), float(scale[1])),
        reach=reach,
        n={name: rows.size for name, rows in members.items()},
        n_units=n_units,
        grouped=groups is not None,
        fit_ids=tuple(map(str, ids)),
    )


def intervals(
    fitted: Conformal,
    predicted: ArrayLike,
    *,
    groups: Groups = None,
    levels: ArrayLike | None = None,
) -> Bounds:
    """Make intervals for new items, clipped to the scale; both ends belong to them.

    With `levels`, labels can only be levels, and each end moves inwards to the next one, which
    loses no coverage; an interval without a level becomes the level nearest to its middle. A range
    narrowed past itself becomes its middle.

    Args:
        fitted, predicted: What `fit` returned; scores, shape (n,), or ranges, shape (n, 2), as
            fitted.
        groups: Group per item, one of those fitted, shape (n,); given if and only if they were when
            fitting.
        levels: The levels a label can take, ascending, shape (k,).
    """
    kind: Kind = "score" if np.ndim(predicted) == 1 else "range"
    if kind != fitted.kind:
        raise ValueError(f"`predicted` holds {kind}s; this fit is for {fitted.kind}s.")
    low, high = _ends(predicted)
    # A reach that was fitted for a group promises nothing of another one.
    if (groups is not None) != fitted.grouped:
        raise ValueError(
            "`groups` must be given when applying a fit if and only if they were when fitting."
        )
    names = _names(groups, low.size).tolist()
    if unknown := sorted(set(names) - set(fitted.reach)):
        raise ValueError(
            f"`groups` holds {', '.join(unknown)}; fitted are {', '.join(fitted.reach)}."
        )
    reach = np.array([fitted.reach[name] for name in names])
    bottom = low - reach
    top = high + reach
    middle = (low + high) / 2
    past_itself = bottom > top
    bottom = np.clip(np.where(past_itself, middle, bottom), *fitted.scale)
    top = np.clip(np.where(past_itself, middle, top), *fitted.scale)
    if levels is None:
        return Bounds(bottom, top)
    values = checks.increasing(levels)
    first = np.searchsorted(values, bottom - _ROUNDING)
    last = np.searchsorted(values, top + _ROUNDING, side="right") - 1
    middle = (bottom + top) / 2
    nearest = np.argmin(np.abs(values[None, :] - middle[:, None]), axis=1)
    empty = first > last
    first = np.where(empty, nearest, first)
    last = np.where(empty, nearest, last)
    return Bounds(values[first], values[last])


def coverage(
    fitted: Conformal,
    given: Bounds,
    truth: ArrayLike,
    ids: Ids,
    groups: Groups = None,
    margin: float = 0.05,
    level: float = 0.95,
) -> list[Coverage]:
    """Measure coverage on items the fit has not seen: all of them first, then each group in order
    of appearance.

    Groups may be other slices than those fitted, which shows where a guarantee over all items fails
    locally.

    Args:
        fitted, given: The fit, and the intervals of new items from it.
        truth, ids: As in `fit`, of the same items.
        groups: Slice per item, shape (n,).
        margin: How far below the nominal level a share may lie and still keep the promise, in (0,
            1).
    Raises:
        ValueError: If an id was fitted on (`calibration.split_check`).
    """
    low, y = checks.paired_vectors(given.low, truth, ("given.low", "truth"))
    high = checks.vector(given.high, "given.high")
    checks.labels(ids, "ids", y.size)
    # On the items that it was fitted to, every fit keeps its word.
    calibration.split_check(fitted.fit_ids, ids)
    inside = (low - _ROUNDING <= y) & (y <= high + _ROUNDING)
    slices = {_EVERYTHING: np.full(y.size, True)}
    if groups is not None:
        names = _names(groups, y.size)
        slices |= {name: names == name for name in dict.fromkeys(names.tolist())}
    table = []
    for name, members in slices.items():
        ids_inside = list(compress(ids, members))
        n_fit = fitted.n.get(name, sum(fitted.n.values()))
        # Only what was fitted together is promised a share: all items, or a fitted group.
        band = _band(fitted, name, _effective(ids_inside)) if name in fitted.n else None
        promise = kept(
            inside[members],
            fitted.level,
            margin,
            level,
            at_least=True,
            groups=ids_inside,
        )
        width = float((high - low)[members].mean())
        table.append(Coverage(name, promise.share, promise, width, n_fit, band))
    return table


def _band(fitted: Conformal, name: str, n: int) -> tuple[float, float]:
    """Find where the share of n new units inside the intervals of a fitted group lies in 95 % of
    cases."""
    n_units = fitted.n_units[name]
    # So few units that no rank of theirs reaches the level: the band of a rank between two of them.
    few = n_units < items_needed(fitted.level)
    rank = (n_units + 1) * fitted.level if few else _rank(n_units, fitted.level)
    # The covered count of a valid fit without ties is beta-binomial: Vovk (2012), arXiv:1209.2673.
    count = scipy.stats.betabinom(n, rank, n_units + 1 - rank)
    return float(count.ppf(0.025)) / n, float(count.ppf(0.975)) / n


def _effective(ids: Ids) -> int:
    """Compute Kish's effective number of units: items with one id may be covered or missed
    together, so they count once."""
    sizes = np.array(list(Counter(ids).values()), dtype=np.float64)
    return max(1, int(sizes.sum() ** 2 / np.sum(sizes**2) + _ROUNDING))


def _rank(n: int, level: float) -> int:
    """Find the rank of the miss that an interval must reach, of n misses in ascending order."""
    return math.ceil((n + 1) * level - _ROUNDING)


def _names(groups: Groups, n: int) -> NDArray[np.str_]:
    """Name the group of each of n items."""
    if groups is None:
        return np.full(n, _EVERYTHING)
    checks.labels(groups, "groups", n)  # refuses a missing label
    return np.array(list(map(str, groups)), dtype=np.str_)  # type: ignore[arg-type]


def _ends(predicted: ArrayLike) -> tuple[Array, Array]:
    """Read both ends of ranges, shape (n,) each; a score is both."""
    array = checks.rows(predicted, "predicted")
    if array.size == 0:
        raise ValueError("`predicted` holds no item.")
    if array.ndim == 1:
        return array, array
    if array.shape[1] != 2:
        raise ValueError(
            f"`predicted` must hold scores (n,) or ranges (n, 2); its shape is {array.shape}."
        )
    n_swapped = int(np.sum(array[:, 0] > array[:, 1]))
    if n_swapped:
        raise ValueError(f"`predicted` holds {n_swapped} ranges with the ends swapped.")
    return array[:, 0], array[:, 1]


class Candidate(NamedTuple):
    """One candidate: `n` units whose doubt is at most `threshold`, of which `n_right` agree
    throughout; `least` is the one-sided lower limit of their items' rate of agreement, `passed`
    whether it reaches the stated rate.
    """

    threshold: float
    n: int
    n_right: int
    least: float
    passed: bool


class Escalation(NamedTuple):
    """`threshold` is the largest doubt with which the judge decides alone, None where no threshold
    can be promised.

    `share` is the share of items that it then decides. `steps` are the candidates tried, the
    strictest first, up to and including the first that failed: below `units_needed(of_units, ...)`
    none, where `of_units` is the rate at which units must agree so that their items do at the
    stated one.
    """

    threshold: float | None
    share: float
    n_units: int
    steps: tuple[Candidate, ...]
    of_units: float


def units_needed(rate: float, confidence: float, n_wrong: int = 0) -> int:
    """Count the fewest units, `n_wrong` of which disagree, that show a rate of agreement above
    `rate`: the lower limit of Clopper and Pearson then reaches it.

    Args:
        rate, confidence: As in `find_threshold`.
    """
    checks.share(rate, "rate")
    checks.share(confidence, "confidence")
    if n_wrong < 0:
        raise ValueError(f"`n_wrong` is {n_wrong}; it must be 0 or more.")
    least = max(n_wrong + 1, math.ceil(math.log(1 - confidence) / math.log(rate)))
    units = checks.fewest(
        lambda n: lower_limit(n - n_wrong, n, confidence) >= rate, least, math.inf
    )
    assert units is not None, "enough units show any rate below 1"
    return units


def lower_limit(n_true: int, n: int, confidence: float) -> float:
    """Compute the exact one-sided lower limit of a proportion.

    References:
        Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404
    """
    return (
        float(special.betaincinv(n_true, n - n_true + 1, 1 - confidence))
        if n_true
        else 0.0
    )


def find_threshold(
    doubt: ArrayLike,
    right: ArrayLike,
    rate: float = 0.9,
    confidence: float = 0.95,
    *,
    groups: Groups = None,
) -> Escalation:
    """Find the largest doubt below which the judge agrees with the truth at `rate`, with
    probability `confidence`.

    Fixed-sequence testing: candidates depend on the doubts alone, not on who was right; from the
    strictest on, each is tested at the full level 1 - confidence by the exact binomial test, and
    the first failure ends the sequence. So the probability that the threshold promises more than
    the truth is at most 1 - confidence, for items drawn like these. With `groups`, a group agrees
    if all of its items below the threshold do. Where groups that disagree hold more wrong items
    than groups hold items on average, as copies of a text that the judge gets wrong do, groups must
    disagree that many times less often. This holds of groups exactly, of items as far as the sample
    shows how large such groups are.

    Args:
        doubt, right: Larger is less sure, any unit; 1 or True where the judge agrees with the
            truth, else 0.
        rate, confidence: The promised rate of agreement, and the probability with which that holds,
            in (0, 1).
    References:
        Jung, Brahman and Choi (2024), Trust or escalate. arXiv:2407.18370
        Bauer (1991), Multiple testing in clinical trials. doi:10.1002/sim.4780100609, for fixed
        sequences.
    """
    u, agrees = checks.paired_vectors(doubt, right, ("doubt", "right"))
    checks.flags(agrees, "right")
    codes = checks.groups(groups, u.size)
    n_units = int(codes.max()) + 1
    # Promised is a rate of items, and what is independent are groups. Where a wrong
    # group holds ten copies of a wrong text, one wrong group in ten is far more than
    # one wrong item in ten.
    wrong = np.bincount(codes, agrees == 0)
    # How many times more wrong items a group that disagrees holds than a group holds items.
    heavier = 1.0
    if wrong.any():
        heavier = max(1.0, float(wrong[wrong > 0].mean()) * n_units / u.size)
    of_units = 1 - (1 - rate) / heavier
    needed = units_needed(of_units, confidence)
    surest = np.full(n_units, np.inf)
    # a unit is kept in part as soon as its surest item is
    np.minimum.at(surest, codes, u)
    thresholds: list[float] = []
    # Of fewer units even one that is right throughout could not be promised anything.
    if n_units >= needed:
        # Distinct doubts at evenly spaced shares of the units, none that keeps fewer units than
        # could ever pass.
        fewest = max(needed, math.ceil(STRICTEST * n_units))
        places = np.unique(np.round(np.linspace(fewest, n_units, STEPS)).astype(int))
        # Chosen by the doubts alone: thresholds that look at who was right would have
        # to be corrected for looking.
        thresholds = np.unique([*np.sort(surest)[places - 1], u.max()]).tolist()
    steps: list[Candidate] = []
    for threshold in thresholds:
        kept = u <= threshold
        n = np.unique(codes[kept]).size
        n_right = n - np.unique(codes[kept & (agrees == 0)]).size
        low = lower_limit(n_right, n, confidence)
        least = max(0.0, 1 - (1 - low) * heavier)
        steps.append(Candidate(threshold, n, n_right, least, low >= of_units))
        # The first failure ends the sequence, which is what lets every test have the
        # full level.
        if low < of_units:
            break
    best = max((step.threshold for step in steps if step.passed), default=None)
    share = 0.0 if best is None else float((u <= best).mean())
    return Escalation(best, share, n_units, tuple(steps), of_units)
