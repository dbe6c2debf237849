"""What people would have scored on average, from many judged items and few human labels.

Every item is judged, a few are also labelled: the judge's mean is corrected by what the labels show it to be off
(prediction-powered inference). A judge that follows the labels makes the interval narrower than the labels alone
would; a useless one leaves it as wide, since the weight of the judge (`judge_weight`) is fitted too. Labels may be
drawn with unequal but known probabilities, such as more from the unsure; they are then weighted by their inverse.
Labels picked as "the most unsure" have no such probability, and nothing here can repair that.

The target is the mean over the population the items come from, not over these items alone.

The unit is the group: what belongs together (texts of one pair, of one precedent) was sampled together, so increments
are summed by group, and the degrees of freedom are the effective number of labelled groups, less one for the mean and
one for the judge's weight where that is fitted.

Before it is corrected, a judge may be mapped onto the labels' scale (`calibration`). The map is fitted on labels of
other groups only and keeps their mean, so that it does not fit the very labels that correct it; a curved judge, whose
errors a straight line leaves, gains by the isotonic one.

References:
    Angelopoulos et al. (2023), Prediction-powered inference. doi:10.1126/science.adi6000
    Angelopoulos, Duchi and Zrnic (2023), PPI++. arXiv:2311.01453 (the fitted weight of the judge)
    Zrnic and Candes (2024), Active statistical inference. arXiv:2403.03208 (unequal probabilities)
    Zrnic and Candes (2024), Cross-prediction-powered inference. doi:10.1073/pnas.2322083121 (maps fitted across folds)
    Sarndal, Swensson and Wretman (1992), Model assisted survey sampling. doi:10.1007/978-1-4612-4378-6
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from undogmatic.stats import checks

Array = NDArray[np.float64]

Calibration = Literal["none", "linear", "isotonic"]
Groups = Sequence[object] | ArrayLike

FEWEST_EFFECTIVE = 5
"""Fewest labelled groups, in equally likely ones: below, a t interval from residuals of a fitted line says nothing."""

_FOLDS = 10


class FewLabelsEstimate(NamedTuple):
    """All in score units. `labels_only` and its limits use the labels alone, weighted alike, for comparison.

    `judge_mean` is the mean of the judge's scores, `judge_bias` the (weighted) mean of score minus label.
    `effective_labels` is Kish's (sum w)^2 / sum w^2 over labelled groups: how many equally likely ones these are worth.
    `degrees` of freedom are those of the interval, and `calibration` is the map that the judge's scores went through.
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    level: float
    labels_only: float
    labels_only_low: float
    labels_only_high: float
    judge_mean: float
    judge_bias: float
    judge_weight: float
    n_items: int
    n_labels: int
    effective_labels: float
    degrees: float
    calibration: Calibration


class LabelBudget(NamedTuple):
    """Labels needed for an interval `target_width` wide (high minus low), drawn with equal probabilities.

    Either count is None where labelling all `n_items` would not be enough; `width_if_all` is what that would give.
    """

    with_judge: int | None
    labels_only: int | None
    target_width: float
    width_if_all: float
    judge_weight: float
    n_items: int
    n_pilot: int
    level: float


def estimate_mean(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    inclusion: ArrayLike | None = None,
    judge_weight: float | None = None,
    calibration: Calibration = "none",
    groups: Groups | None = None,
    level: float = 0.95,
) -> FewLabelsEstimate:
    """Mean human label over the population of the items, from all scores and a few labels.

    Weighted sums are divided by the sum of the weights (Hajek's estimator), which is mostly far narrower than dividing
    by the number of items. The interval uses Student's t with the effective number of labelled groups, less what is
    fitted; its variance treats labels as drawn independently, which for a fixed number of them errs a little on the
    wide side.

    Args:
        scores: The judge's score of every item, shape (n_items,), in score units.
        labelled: Positions in `scores` of the labelled items, shape (n_labels,), no position twice.
        labels: Human labels of those, shape (n_labels,), in score units.
        inclusion: Probability with which each labelled item was drawn, shape (n_labels,), in (0, 1]; None where all
            items had the same.
        judge_weight: 1 trusts the judge's differences fully (classical PPI), 0 ignores it, None fits the weight
            that makes the interval narrowest, within [0, 1].
        calibration: The map of scores to labels, fitted across groups: none, a line, or an increasing function.
        groups: What belongs together, shape (n_items,); None where every item is its own.
        level: Confidence level.
    Raises:
        ValueError: If there are fewer than five labels (or effective labelled groups), a position is off the items or
            twice, a probability outside (0, 1], a value NaN, or lengths differ.
    """
    f, index, y = _sample(scores, labelled, labels)
    checks.share(level, "level")
    checks.option(calibration, "calibration", get_args(Calibration))
    w = _weights(inclusion, index.size, f.size)
    codes = checks.groups(groups, f.size)
    effective = _kish(w, codes[index])
    if effective < FEWEST_EFFECTIVE:
        raise ValueError(
            f"{index.size} labels are worth {effective:.1f} equally likely ones of different groups; at least "
            f"{FEWEST_EFFECTIVE} are needed. Label more groups, or draw with a floor under the smallest `inclusion`."
        )
    mapped = f if calibration == "none" else _mapped(f, index, y, w, codes, calibration)
    weight = _fitted_weight(mapped, index, y, w, codes) if judge_weight is None else _unit(judge_weight)
    degrees = effective - 1 - (judge_weight is None)
    estimate, error = _estimate(mapped, index, y, w, codes, weight)
    alone, alone_error = _estimate(mapped, index, y, w, codes, 0.0)
    reach, alone_reach = (float(stats.t.ppf((1 + level) / 2, d)) for d in (degrees, effective - 1))
    return FewLabelsEstimate(
        estimate=estimate,
        low=estimate - reach * error,
        high=estimate + reach * error,
        standard_error=error,
        level=level,
        labels_only=alone,
        labels_only_low=alone - alone_reach * alone_error,
        labels_only_high=alone + alone_reach * alone_error,
        judge_mean=float(f.mean()),
        judge_bias=float(w @ (f[index] - y) / w.sum()),
        judge_weight=weight,
        n_items=f.size,
        n_labels=index.size,
        effective_labels=effective,
        degrees=degrees,
        calibration=calibration,
    )


def estimate_difference(
    scores_a: ArrayLike,
    scores_b: ArrayLike,
    labelled: ArrayLike,
    labels_a: ArrayLike,
    labels_b: ArrayLike,
    *,
    inclusion: ArrayLike | None = None,
    calibration: Calibration = "none",
    groups: Groups | None = None,
    level: float = 0.95,
) -> FewLabelsEstimate:
    """Mean paired difference A minus B of human labels, from all pairs judged and a few pairs labelled on both sides.

    Args:
        scores_a: The judge's score of each pair's first text, shape (n_pairs,), in score units.
        scores_b: The same of the second text.
        labelled: Positions of the labelled pairs, shape (n_labels,).
        labels_a: Human labels of their first texts, shape (n_labels,).
        labels_b: Human labels of their second texts.
        inclusion: Probability with which each labelled pair was drawn, shape (n_labels,); None where all had the same.
        calibration: The map of the judge's differences to the labels'; see `estimate_mean`.
        groups: What belongs together, shape (n_pairs,).
        level: Confidence level.
    Raises:
        ValueError: As `estimate_mean`.
    """
    a, b = checks.paired_vectors(scores_a, scores_b, ("scores_a", "scores_b"))
    y_a, y_b = checks.paired_vectors(labels_a, labels_b, ("labels_a", "labels_b"))
    return estimate_mean(
        a - b, labelled, y_a - y_b, inclusion=inclusion, calibration=calibration, groups=groups, level=level
    )


def effective_labels(inclusion: ArrayLike | None, groups: Groups) -> float:
    """How many equally likely labels of different groups these are worth (Kish); see `estimate_mean`.

    Args:
        inclusion: Probability with which each labelled item was drawn, or None where all had the same.
        groups: Group of each labelled item, shape (n_labels,).
    """
    listed = list(groups)  # type: ignore[arg-type]
    return _kish(_weights(inclusion, len(listed), len(listed)), checks.labels(listed, "groups", len(listed)))


def label_budget(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    target_width: float,
    *,
    level: float = 0.95,
    groups: Sequence[object] | ArrayLike | None = None,
) -> LabelBudget:
    """How many labels an interval of a wanted width takes, judged from a pilot drawn with equal probabilities.

    With groups (texts of one pair), labels are thought to come in groups as large and as alike as the pilot's: what
    counts is the number of groups, and the labels are those of so many. A pilot of few labels knows its own spread
    poorly: within 15 % at 25 labels, within 7 % at 100.

    Args:
        scores: The judge's score of every item, shape (n_items,), in score units.
        labelled: Positions of the pilot's items, shape (n_pilot,).
        labels: Human labels of the pilot, shape (n_pilot,).
        target_width: Wanted width, high minus low, in score units.
        level: Confidence level.
        groups: What belongs together, shape (n_items,); None takes each item for itself.
    Raises:
        ValueError: As `estimate_mean`, or if the width is not positive, or fewer than FEWEST_EFFECTIVE groups are
            labelled.
    """
    f, index, y = _sample(scores, labelled, labels)
    checks.share(level, "level")
    if not target_width > 0:
        raise ValueError(f"`target_width` is {target_width}; it must be positive.")
    codes = checks.groups(groups, f.size)
    weight = _fitted_weight(f, index, y, _weights(None, index.size, f.size), codes)
    own = np.unique(codes[index], return_inverse=True)[1]
    n_groups = int(own.max()) + 1
    if n_groups < FEWEST_EFFECTIVE:
        raise ValueError(f"`groups` gives {n_groups} labelled groups; at least {FEWEST_EFFECTIVE} are needed.")
    share = _kish(np.ones(index.size), own) / index.size

    def spread_of(residual: Array, fitted: int) -> float:
        """Variance of one label's residual, times what its group adds to it."""
        sums = np.bincount(own, residual - residual.mean())
        return float(sums @ sums / index.size * n_groups / (n_groups - 1 - fitted))

    m = np.arange(math.ceil(FEWEST_EFFECTIVE / share), f.size + 1)
    counts: list[int | None] = []
    widths = np.empty(0)
    for trust in (weight, 0.0):
        spread = spread_of(y - trust * f[index], int(trust > 0))
        # Labelling more shrinks the residual's share; what the items as a sample of their population leave, stays.
        stays = max(0.0, spread_of(y, 0) - spread) / f.size
        widths = 2 * stats.t.ppf((1 + level) / 2, m * share - 1 - (trust > 0)) * np.sqrt(spread / m + stays)
        reached = np.flatnonzero(widths <= target_width)
        counts.append(int(m[reached[0]]) if reached.size else None)
    return LabelBudget(
        counts[0],
        counts[1],
        target_width,
        float(widths[-1]) if widths.size else np.inf,
        weight,
        f.size,
        index.size,
        level,
    )


def _sample(scores: ArrayLike, labelled: ArrayLike, labels: ArrayLike) -> tuple[Array, NDArray[np.intp], Array]:
    f = checks.vector(scores, "scores")
    positions, y = checks.paired_vectors(labelled, labels, ("labelled", "labels"), minimum=FEWEST_EFFECTIVE)
    index = positions.astype(np.intp)
    if np.any(index != positions) or np.any((index < 0) | (index >= f.size)):
        raise ValueError(f"`labelled` must hold positions from 0 to {f.size - 1}.")
    if np.unique(index).size != index.size:
        raise ValueError("`labelled` holds a position twice.")
    return f, index, y


def _weights(inclusion: ArrayLike | None, n_labels: int, n_items: int) -> Array:
    if inclusion is None:
        return np.full(n_labels, n_items / n_labels)
    p = checks.vector(inclusion, "inclusion")
    if p.size != n_labels:
        raise ValueError(f"`inclusion` holds {p.size} values for {n_labels} labels.")
    if np.any((p <= 0) | (p > 1)):
        raise ValueError("`inclusion` must lie in (0, 1]; an item that could not be drawn cannot have been.")
    return np.asarray(1 / p)


def _kish(w: Array, codes: NDArray[np.intp]) -> float:
    by_group = np.bincount(codes, w)
    return round(float(w.sum() ** 2 / (by_group @ by_group)), 9)


def _mapped(
    f: Array, index: NDArray[np.intp], y: Array, w: Array, codes: NDArray[np.intp], calibration: Calibration
) -> Array:
    """The scores on the labels' scale: of a labelled group by the map fitted without its fold, of others by the mean of
    the maps. Both maps keep the weighted mean of the labels they are fitted on.

    In every fold a map is moved by a constant so that its mean over all items is the mean of the maps': else chance
    between the folds' maps would come in as bias.
    """
    names = np.unique(codes[index])
    folds = min(_FOLDS, names.size)
    # By the rank of a group's mean score, so that every fold sees the whole range.
    mean_scores = np.bincount(codes, f)[names] / np.bincount(codes)[names]
    fold_of = np.empty(names.size, dtype=np.intp)
    fold_of[np.lexsort((names, mean_scores))] = np.arange(names.size) % folds
    own = np.full(int(codes.max()) + 1, -1)
    own[names] = fold_of
    fold = own[codes]
    maps = np.stack([_map(f[index], y, w, fold[index] != k, calibration)(f) for k in range(folds)])
    centred = maps - maps.mean(axis=1, keepdims=True)
    result = centred.mean(axis=0)
    for k in range(folds):
        result[fold == k] = centred[k, fold == k]
    return np.asarray(result + maps.mean())


def _map(x: Array, y: Array, w: Array, kept: NDArray[np.bool_], calibration: Calibration) -> Callable[[Array], Array]:
    x, y, w = x[kept], y[kept], w[kept]
    if np.ptp(x) == 0:
        constant = float(np.average(y, weights=w))
        return lambda scores: np.full(scores.size, constant)
    if calibration == "linear":
        line = np.polynomial.Polynomial.fit(x, y, 1, w=np.sqrt(w))
        return lambda scores: np.asarray(line(scores), np.float64)
    knots, place = np.unique(x, return_inverse=True)
    weights = np.bincount(place, w)
    steps = optimize.isotonic_regression(np.bincount(place, w * y) / weights, weights=weights).x
    return lambda scores: np.interp(scores, knots, steps)


def _parts(f: Array, index: NDArray[np.intp], y: Array, w: Array, codes: NDArray[np.intp]) -> tuple[Array, Array]:
    """Per group, what labels add and what each unit of judge weight adds, centred; their variance is the estimate's."""
    from_labels, from_judge = np.zeros(f.size), f - f.mean()
    scaled = w * f.size / w.sum()
    from_labels[index] = scaled * (y - w @ y / w.sum())
    from_judge[index] -= scaled * (f[index] - w @ f[index] / w.sum())
    labels, judge = np.bincount(codes, from_labels), np.bincount(codes, from_judge)
    return labels.astype(np.float64), judge.astype(np.float64)


def _fitted_weight(f: Array, index: NDArray[np.intp], y: Array, w: Array, codes: NDArray[np.intp]) -> float:
    from_labels, from_judge = _parts(f, index, y, w, codes)
    power = float(from_judge @ from_judge)
    # A constant judge says nothing, but rounding leaves it a little spread to fit.
    if power <= 1e-20 * float(f @ f):
        return 0.0
    return float(np.clip(-(from_labels @ from_judge) / power, 0, 1))


def _estimate(
    f: Array, index: NDArray[np.intp], y: Array, w: Array, codes: NDArray[np.intp], weight: float
) -> tuple[float, float]:
    estimate = weight * float(f.mean()) + float(w @ (y - weight * f[index])) / float(w.sum())
    from_labels, from_judge = _parts(f, index, y, w, codes)
    increments = from_labels + weight * from_judge
    # Few labelled groups carry the variance, so the loss of a degree of freedom is theirs, not the items'.
    drawn = np.unique(codes[index]).size
    variance = float(increments @ increments) / f.size**2 * drawn / (drawn - 1)
    return estimate, float(np.sqrt(variance))


def _unit(judge_weight: float) -> float:
    if not 0 <= judge_weight <= 1:
        raise ValueError(f"`judge_weight` is {judge_weight}; it must lie in [0, 1].")
    return float(judge_weight)
