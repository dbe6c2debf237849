"""Estimates what people would have scored on average, from many judged items and few human labels.

Every item is judged, a few are also labelled: the judge's mean is corrected by what the labels show
it to be off (prediction-powered inference). A judge that follows the labels makes the interval
narrower than the labels alone would; a useless one leaves it as wide, since the weight of the judge
(`judge_weight`) is fitted too. Labels may be drawn with unequal but known probabilities, such as
more from the unsure; they are then weighted by their inverse. Labels picked as "the most unsure"
have no such probability, and nothing here can repair that.

The target is the mean over the population the items come from, not over these items alone. The unit
is the group: what belongs together (texts of one pair, of one precedent) was sampled together, so
increments are summed by group. Before it is corrected, a judge may be mapped onto the labels' scale
(`mapped_scores`).

References:
    Angelopoulos et al. (2023), Prediction-powered inference. doi:10.1126/science.adi6000
    Angelopoulos, Duchi and Zrnic (2023), PPI++. arXiv:2311.01453 (the fitted weight of the judge)
    Zrnic and Candes (2024), Active statistical inference. arXiv:2403.03208 (unequal probabilities)
    Sarndal, Swensson and Wretman (1992), Model assisted survey sampling.
    doi:10.1007/978-1-4612-4378-6
"""

import bisect
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array, Groups, Index
from undogmatic.stats.estimate import Estimate

Calibration = Literal["none", "linear", "isotonic"]

FEWEST_ISOTONIC = 20
"""Fewest effective labelled groups for an increasing function: with ten, intervals of skewed labels
held in 89 %."""

FEWEST_EFFECTIVE = 5
"""Fewest labelled groups, in equally likely ones: below, a t interval from residuals of a fitted
line says nothing."""


def mapped_scores(
    f: Array, index: Index, y: Array, w: Array, codes: Index, calibration: Calibration
) -> Array:
    """Map the scores of a `Sample` onto the labels' scale, shape (n_items,): of a labelled group by
    the map fitted without its fold, of others by the mean of the maps. Both maps keep the weighted
    mean of the labels they are fitted on.

    In every fold a map is moved by a constant so that its mean over all items is the mean of the
    maps': else chance between the folds' maps would come in as bias.
    """
    names = np.unique(codes[index])
    # A label may not have a part in the map that converts the score of its own group,
    # or the correction would find nothing to correct.
    folds = min(10, names.size)
    # By the rank of a group's mean score, so that every fold sees the whole range.
    mean_scores = np.bincount(codes, f)[names] / np.bincount(codes)[names]
    fold_of = np.empty(names.size, dtype=np.intp)
    fold_of[np.lexsort((names, mean_scores))] = np.arange(names.size) % folds
    fold_of_codes = np.full(int(codes.max()) + 1, -1)
    fold_of_codes[names] = fold_of
    fold = fold_of_codes[codes]
    mapped = []
    for number in range(folds):
        fitted = fold[index] != number
        mapped.append(_map(f, f[index][fitted], y[fitted], w[fitted], calibration))
    maps = np.stack(mapped)
    centred = maps - maps.mean(axis=1, keepdims=True)
    result = centred.mean(axis=0)
    for number in range(folds):
        result[fold == number] = centred[number, fold == number]
    return np.asarray(result + maps.mean())


def _map(f: Array, x: Array, y: Array, w: Array, calibration: Calibration) -> Array:
    """Map scores `f` by what is fitted to labels y of the scores x, with weights w."""
    # Of one score alone there is no slope; the mean label is all that it foretells.
    if np.ptp(x) == 0:
        return np.full(f.size, float(np.average(y, weights=w)))
    if calibration == "linear":
        return np.asarray(
            np.polynomial.Polynomial.fit(x, y, 1, w=np.sqrt(w))(f), np.float64
        )
    knots, place = np.unique(x, return_inverse=True)
    weights = np.bincount(place, w)
    labels = np.bincount(place, w * y) / weights
    steps = scipy.optimize.isotonic_regression(labels, weights=weights).x
    return np.interp(f, knots, steps)


class FewLabelsEstimate(NamedTuple):
    """All in score units. `labels_only` uses the labels alone, weighted alike, for comparison.

    `judge_mean` is the mean of the judge's scores. `effective_labels` is Kish's (sum w)^2 / sum w^2
    over labelled groups: how many equally likely ones these are worth.
    """

    estimate: Estimate
    labels_only: Estimate
    judge_mean: float
    judge_weight: float
    n_items: int
    effective_labels: float
    calibration: Calibration


def estimate_mean(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    inclusion: ArrayLike | None = None,
    judge_weight: float | None = None,
    calibration: Calibration = "none",
    groups: Groups = None,
    level: float = 0.95,
    bounds: means.Bounds | None = None,
) -> FewLabelsEstimate:
    """Estimate the mean human label over the population of the items, from all scores and a few
    labels.

    Weighted sums are divided by the sum of the weights (Hajek's estimator), which is mostly far
    narrower than dividing by the number of items. The interval is that of every mean
    (`means.interval`), of what each group adds, with the labelled groups' degrees of freedom less
    one for a fitted weight; its variance treats labels as drawn independently, which for a fixed
    number of them errs a little on the wide side.

    Where most labels are the same, or most scores equal their labels, and fewer than `means.FEW`
    differ, the spread says too little: the interval is then where two of level (1 + `level`) / 2
    meet, that of the labels alone and that of the correction by the bounds of the scale
    (`means.bounded_limits`).

    Args:
        scores: The judge's score of every item, shape (n_items,), in score units.
        labelled, labels: Positions in `scores` of the labelled items, no position twice, and their
            labels, shape (n_labels,).
        inclusion: Probability with which each labelled item was drawn, shape (n_labels,), in (0,
            1]; None where all items had the same.
        judge_weight: 1 trusts the judge's differences fully (classical PPI), 0 ignores it, None
            fits the weight that makes the interval narrowest, within [0, 1].
        calibration: The map of scores to labels, fitted across groups: none, a line, or an
            increasing function.
    Raises:
        ValueError: If there are fewer than five labels (or effective labelled groups), fewer than
            twenty of these for the isotonic map, or an argument is not as said above.
    """
    checks.share(level, "level")
    checks.option(calibration, "calibration", get_args(Calibration))
    sample = Sample.of(scores, labelled, labels, inclusion, groups)
    f, at, y, w, codes = sample
    effective = kish(w, codes[at])
    if effective < FEWEST_EFFECTIVE:
        raise ValueError(
            f"{at.size} labels are worth {effective:.1f} equally likely ones of different groups;"
            f" at least {FEWEST_EFFECTIVE} are needed. Label more groups, or draw with a floor"
            " under the smallest `inclusion`."
        )
    if calibration == "isotonic" and effective < FEWEST_ISOTONIC:
        raise ValueError(
            f"`calibration` is 'isotonic' with {effective:.1f} effective labelled groups; an"
            f" increasing function needs {FEWEST_ISOTONIC}. Take 'linear' or 'none', or label more"
            " groups."
        )
    if judge_weight is not None and not 0 <= judge_weight <= 1:
        raise ValueError(f"`judge_weight` is {judge_weight}; it must lie in [0, 1].")
    mapped = sample
    if calibration != "none":
        mapped = sample._replace(f=mapped_scores(*sample, calibration))
    weight = mapped.fitted_weight() if judge_weight is None else float(judge_weight)
    alone = means.of_sums(sample.of_labelled(y), level, bounds)
    corrected = mapped.corrected(weight, int(judge_weight is None), level)
    if sample.agree(bounds):
        # Each of two intervals may err in half as many cases, so that both hold as often as asked.
        both = means.of_sums(sample.of_labelled(y), (1 + level) / 2, bounds)
        corrected = (
            alone if weight == 0 else _scarce(corrected, mapped, both, weight, bounds)
        )
    return FewLabelsEstimate(
        estimate=corrected.replace(level=level, n=at.size, df=round(corrected.df, 9)),
        labels_only=alone,
        judge_mean=float(f.mean()),
        judge_weight=weight,
        n_items=f.size,
        effective_labels=effective,
        calibration=calibration,
    )


def effective_labels(inclusion: ArrayLike | None, groups: Groups) -> float:
    """Say how many equally likely labels of different groups these are worth (Kish); arguments as
    of `estimate_mean`, of the labelled items alone."""
    listed = list(groups)  # type: ignore[arg-type]
    n = len(listed)
    return kish(label_weights(inclusion, n, n), checks.labels(listed, "groups", n))


def label_weights(inclusion: ArrayLike | None, n_labels: int, n_items: int) -> Array:
    """Say how many items each label stands for, shape (n_labels,)."""
    if inclusion is None:
        return np.full(n_labels, n_items / n_labels)
    p = checks.vector(inclusion, "inclusion")
    if p.size != n_labels:
        raise ValueError(f"`inclusion` holds {p.size} values for {n_labels} labels.")
    if np.any((p <= 0) | (p > 1)):
        raise ValueError(
            "`inclusion` must lie in (0, 1]; an item that could not be drawn cannot have been."
        )
    return np.asarray(1 / p)


def kish(w: Array, codes: Index) -> float:
    """Compute the effective number of groups of such weights, both of shape (n,)."""
    by_group = np.bincount(codes, w)
    # Rounded, so that five groups alike are never a little fewer than five.
    return round(float(w.sum() ** 2 / (by_group @ by_group)), 9)


class Sample(NamedTuple):
    """Scores of all items, shape (n_items,), and of the labelled ones place, label and weight;
    codes of groups."""

    f: Array
    at: Index
    y: Array
    w: Array
    codes: Index

    @classmethod
    def of(
        cls,
        scores: ArrayLike,
        labelled: ArrayLike,
        labels: ArrayLike,
        inclusion: Any,
        groups: Groups,
    ) -> Self:
        """Check the arguments of `estimate_mean`, with its errors."""
        f = checks.vector(scores, "scores")
        positions, y = checks.paired_vectors(
            labelled, labels, ("labelled", "labels"), minimum=FEWEST_EFFECTIVE
        )
        at = positions.astype(np.intp)
        if np.any(at != positions) or np.any((at < 0) | (at >= f.size)):
            raise ValueError(f"`labelled` must hold positions from 0 to {f.size - 1}.")
        if np.unique(at).size != at.size:
            raise ValueError("`labelled` holds a position twice.")
        w = label_weights(inclusion, at.size, f.size)
        return cls(f, at, y, w, checks.groups(groups, f.size))

    def of_labelled(self, values: Array) -> means.Sums:
        """Sum weighted values of labelled items, shape (n_labels,), by group."""
        group = np.unique(self.codes[self.at], return_inverse=True)[1]
        total = np.bincount(group, self.w * values).astype(np.float64)
        return means.Sums(total, np.bincount(group, self.w).astype(np.float64))

    def agree(self, bounds: means.Bounds | None) -> bool:
        """Say whether most labels are one, or most scores equal their labels, and fewer than
        `means.FEW` groups differ."""
        largest = max(float(np.abs(self.y).max()), float(np.abs(self.f[self.at]).max()))

        def mostly_same(values: Array, scale: means.Bounds | None) -> bool:
            by_group = self.of_labelled(values).means
            # Of differences between large numbers rounding is larger than of the differences.
            tolerance = max(means.same_within(by_group, scale), checks.SAME * largest)
            return means.mostly_same(by_group, tolerance)

        return mostly_same(self.y, bounds) or mostly_same(
            self.y - self.f[self.at], None
        )

    def parts(self) -> tuple[Array, Array]:
        """Compute per group, shape (n_groups,), what labels add and what each unit of judge weight
        adds, centred; their variance is the estimate's."""
        f, at, y, w, codes = self
        from_labels = np.zeros(f.size)
        from_judge = f - f.mean()
        scaled = w * f.size / w.sum()
        from_labels[at] = scaled * (y - w @ y / w.sum())
        from_judge[at] -= scaled * (f[at] - w @ f[at] / w.sum())
        labels = np.bincount(codes, from_labels)
        judge = np.bincount(codes, from_judge)
        return labels.astype(np.float64), judge.astype(np.float64)

    def fitted_weight(self) -> float:
        """Fit the weight of the judge, from 0 to 1, with which the variance is least (PPI++)."""
        from_labels, from_judge = self.parts()
        power = float(from_judge @ from_judge)
        # A constant judge says nothing, but rounding leaves it a little spread to fit.
        if power <= 1e-20 * float(self.f @ self.f):
            return 0.0
        return float(np.clip(-(from_labels @ from_judge) / power, 0, 1))

    def corrected(self, weight: float, fitted: int, level: float) -> Estimate:
        """Estimate the corrected mean, with the interval of a mean of what the groups add; `fitted`
        degrees of freedom fewer."""
        f, at, y, w, codes = self
        estimate = weight * float(f.mean()) + float(w @ (y - weight * f[at])) / float(
            w.sum()
        )
        from_labels, from_judge = self.parts()
        increments = from_labels + weight * from_judge
        share = np.zeros(increments.size)
        np.add.at(share, codes[at], w / w.sum())
        drawn = np.flatnonzero(share)
        # The labelled groups carry nearly all of the variance, so the loss of degrees of freedom is
        # theirs.
        error = float(np.sqrt(np.sum(increments**2 / (1 - share)))) / f.size
        square = float(increments @ increments)
        skewness = float(np.sum(increments**3)) / square**1.5 if square > 0 else 0.0
        degrees = means.degrees_of_freedom(share[drawn]) - fitted
        skewness *= means.caution(drawn.size)
        low, high = means.studentised_limits(estimate, error, degrees, skewness, level)
        return Estimate(
            estimate,
            low,
            high,
            level,
            drawn.size,
            method="studentised",
            se=error,
            df=degrees,
        )


def _scarce(
    corrected: Estimate,
    mapped: Sample,
    alone: Estimate,
    weight: float,
    bounds: means.Bounds | None,
) -> Estimate:
    """Limit `corrected` by what the bounds of the scale allow and the labels alone do not rule out
    (level of both)."""
    bottom, top = bounds or (-np.inf, np.inf)
    f = mapped.f
    rest = mapped.of_labelled(mapped.y - weight * f[mapped.at])
    # A label less the weighted score lies as far out as the ends of both allow.
    possible = bottom - weight * float(f.max()), top - weight * float(f.min())
    ends = means.bounded_limits(rest, possible, alone.level)
    of_judge = means.of_sums(means.sums(f, mapped.codes), alone.level).se
    judged = weight * of_judge * means.normal_quantile(alone.level)
    middle = float(rest.total.sum() / rest.size.sum())
    low = max(corrected.value - math.hypot(ends[0] - middle, judged), alone.low)
    high = min(corrected.value + math.hypot(ends[1] - middle, judged), alone.high)
    estimate = float(np.clip(corrected.value, low, high))
    return corrected.replace(value=estimate, low=low, high=high, method=alone.method)


class LabelBudget(NamedTuple):
    """Labels needed for an interval of the wanted width, drawn with equal probabilities.

    Either count is None where labelling all `n_items` would not be enough; `width_if_all` is what
    that would give.
    """

    with_judge: int | None
    labels_only: int | None
    width_if_all: float
    n_items: int


def label_budget(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    target_width: float,
    *,
    level: float = 0.95,
    groups: Groups = None,
    bounds: means.Bounds | None = None,
) -> LabelBudget | None:
    """Say how many labels an interval of a wanted width takes, judged from a pilot drawn with equal
    probabilities.

    With groups (texts of one pair), labels are thought to come in groups as large and as alike as
    the pilot's: what counts is the number of groups, and the labels are those of so many. A pilot
    of few labels knows its own spread poorly: within 15 % at 25 labels, within 7 % at 100.

    Args:
        scores, labelled, labels: As in `estimate_mean`, the labelled items being the pilot.
        target_width: Wanted width, high minus low, above 0, in score units.
    Returns:
        None where most of the pilot's labels are the same, or most scores equal their labels, and
        fewer than
        `means.FEW` differ: such a pilot does not know how far labels spread.
    """
    checks.share(level, "level")
    if not target_width > 0:
        raise ValueError(f"`target_width` is {target_width}; it must be positive.")
    pilot = Sample.of(scores, labelled, labels, None, groups)
    f, index, y, _, codes = pilot
    weight = pilot.fitted_weight()
    units = np.unique(codes[index], return_inverse=True)[1]
    n_groups = int(units.max()) + 1
    if n_groups < FEWEST_EFFECTIVE:
        raise ValueError(
            f"`groups` gives {n_groups} labelled groups; at least {FEWEST_EFFECTIVE} are needed."
        )
    if pilot.agree(bounds):
        return None
    share = kish(np.ones(index.size), units) / index.size

    def spread_of(residual: Array, fitted: int) -> tuple[float, float]:
        """Compute the variance of one label's residual times what its group adds to it, and the
        skewness of a group's sum."""
        sums = np.bincount(units, residual - residual.mean())
        square = float(sums @ sums)
        skewness = (
            float(np.mean(sums**3)) / (square / n_groups) ** 1.5 if square > 0 else 0.0
        )
        return square / index.size * n_groups / (n_groups - 1 - fitted), skewness

    def width_by(trust: float) -> Callable[[int], float]:
        """Make the width of the interval of m labels, with so much weight of the judge."""
        spread, skewness = spread_of(y - trust * f[index], int(trust > 0))
        # Labelling more shrinks the residual's share; what the items as a sample of their
        # population leave, stays.
        stays = max(0.0, spread_of(y, 0)[0] - spread) / f.size

        def width(m: int) -> float:
            n = m * share
            error = (spread / m + stays) ** 0.5
            bent = skewness / n**0.5 * means.caution(n)
            df = n - 1 - (trust > 0)
            low, high = means.studentised_limits(0.0, error, df, bent, level)
            return high - low

        return width

    sizes = range(math.ceil(FEWEST_EFFECTIVE / share), f.size + 1)

    def fewest(width: Callable[[int], float]) -> int | None:
        place = bisect.bisect_left(sizes, True, key=lambda m: width(m) <= target_width)
        return sizes[place] if place < len(sizes) else None

    labels_only = width_by(0.0)
    return LabelBudget(
        fewest(width_by(weight)),
        fewest(labels_only),
        labels_only(f.size) if sizes else np.inf,
        f.size,
    )
