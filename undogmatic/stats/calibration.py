"""Map raw scores onto the scale so that the anchors mean what they say, and measure whether
probabilities are honest.

A calibration is plain data (a dict of numbers and lists of numbers, JSON as it stands); `apply`
reads it. Fit it on development labels only: `split_check` raises when a fitted item is also
evaluated.
"""

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from scipy import special

from undogmatic.stats import checks, jackknife, means
from undogmatic.stats.checks import Array, Groups, Index, Rng
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion

Calibration = dict[str, Any]
Scale = tuple[float, float]
_CURVES = ("platt", "isotonic", "linear")


def split_check(fit_ids: Iterable[Hashable], eval_ids: Iterable[Hashable]) -> None:
    """Raise if anything fitted on is also evaluated on.

    Args:
        fit_ids, eval_ids: Of what was fitted on or chosen with, and of what the numbers are
            reported on; pair ids where two texts of one pair must not be split.
    Raises:
        ValueError: Naming the overlapping ids, the first ten in sorted order.
    """
    overlap = sorted(set(map(str, fit_ids)) & set(map(str, eval_ids)))
    # Raised, and not told: a number from the items that something was fitted on looks
    # like any other number.
    if overlap:
        more = f" and {len(overlap) - 10} more" if len(overlap) > 10 else ""
        raise ValueError(
            f"`fit_ids` and `eval_ids` share {len(overlap)} ids: {', '.join(overlap[:10])}{more}."
        )


def fit_content_free(content_free_probs: ArrayLike) -> Calibration:
    """Learn from content-free texts ("N/A", "") which levels the prompt itself favours (contextual
    calibration).

    Needs no labels. Probabilities below 0.0001 are raised to it, since each level is divided by its
    own.

    Args:
        content_free_probs: Level probabilities on content-free texts, shape (k,) or (n_texts, k);
            rows are averaged.
    Returns:
        A calibration of kind `content_free`, applied to level probabilities of shape (n, k).
    Raises:
        ValueError: If a value is negative, or a row all zero.
    References:
        Zhao et al. (2021), Calibrate before use. https://proceedings.mlr.press/v139/zhao21c.html
    """
    p = np.atleast_2d(_level_probabilities(content_free_probs, "content_free_probs"))
    # A level the model never names there would divide by zero; Zhao et al. met none over whole
    # words.
    baseline = np.maximum(p.mean(axis=0), 1e-4)
    return {"kind": "content_free", "weights": (1.0 / baseline).tolist(), "n": len(p)}


def fit(kind: str, raw: ArrayLike, label: ArrayLike, scale: Scale) -> Calibration:
    """Learn a curve from raw scores to labels: "platt", "isotonic" or "linear".

    Platt's is logistic, and its labels may be classes (the two ends of the scale) or anything
    between. They are drawn in by Platt's (N+ + 1) / (N+ + 2) and 1 / (N- + 2), with the shares'
    sums as N+ and N-, so that groups which separate perfectly still give a finite slope. The
    isotonic one is the rising step curve nearest to the labels, linear between its knots; it bends
    to any rising shape and so needs more labels (hundreds rather than dozens), and beyond the
    fitted raw scores it stays at the end values. The linear one is the least-squares line.

    Args:
        raw, label: Scores, any unit, and labels, in units of `scale`; shape (n,).
        scale: The ends of the scale that results are clipped to.
    Raises:
        ValueError: If `raw` is constant; for Platt's, if a label is off the scale or all are one.
    References:
        Platt (1999), Probabilistic outputs for support vector machines. Lin, Lin and Weng (2007),
        doi:10.1007/s10994-007-5018-6. Zadrozny and Elkan (2002), doi:10.1145/775047.775151, for
        isotonic regression.
    """
    checks.option(kind, "kind", _CURVES)
    low, high = scale
    x, y = checks.paired_vectors(raw, label, ("raw", "label"), minimum=2)
    if checks.is_constant(x):
        raise ValueError("`raw` is constant; it cannot be mapped to different labels.")
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(
            f"`scale` is {scale}; it must be (minimum, maximum) with minimum below maximum."
        )
    if kind == "isotonic":
        from sklearn.isotonic import IsotonicRegression

        model = IsotonicRegression().fit(x, y)
        # Plain numbers in place of the fitted object, which only the same version of a
        # library could read.
        curve = {"x": model.X_thresholds_.tolist(), "y": model.y_thresholds_.tolist()}
    elif kind == "linear":
        line = scipy.stats.linregress(x, y)
        curve = {"slope": float(line.slope), "intercept": float(line.intercept)}
    else:
        curve = _platt(x, y, low, high)
    return {
        "kind": kind,
        **curve,
        "minimum": float(low),
        "maximum": float(high),
        "n": x.size,
    }


def _platt(x: Array, y: Array, low: float, high: float) -> dict[str, float]:
    """Learn Platt's curve from raw scores to labels, both of shape (n,)."""
    # As a share of the scale, which a logistic curve cannot leave.
    share = (y - low) / (high - low)
    if np.any((share < 0) | (share > 1)):
        raise ValueError(f"`label` must lie on the scale from {low:g} to {high:g}.")
    if checks.is_constant(y):
        raise ValueError("`label` is constant; there is nothing to tell apart.")
    positives = float(share.sum())
    negatives = y.size - positives
    target = share * (positives + 1) / (positives + 2) + (1 - share) / (negatives + 2)
    # Least squares of raw scores far from 0, or of any unit, would lose digits.
    centre = float(x.mean())
    spread = float(x.std())
    constant, slope = _logistic((x - centre) / spread, target)
    return {
        "slope": float(slope / spread),
        "intercept": float(constant - slope * centre / spread),
    }


def _logistic(x: Array, share: Array) -> tuple[float, float]:
    """Fit constant and slope of a logistic regression of shares strictly between 0 and 1, shape
    (n,), by reweighted least squares."""
    design = np.column_stack([np.ones(x.size), x])
    # Drawn to the middle, since a start at 0 or 1 has no logit.
    fitted = (share + 0.5) / 2
    deviance = np.inf
    for _ in range(100):
        weight = fitted * (1 - fitted)
        aim = special.logit(fitted) + (share - fitted) / weight
        root = np.sqrt(weight)
        line = np.linalg.lstsq(design * root[:, None], aim * root, rcond=None)[0]
        fitted = special.expit(design @ line)
        apart = special.rel_entr(share, fitted) + special.rel_entr(
            1 - share, 1 - fitted
        )
        before = deviance
        deviance = 2 * float(np.sum(apart))
        if abs(before - deviance) <= 1e-8:
            break
    return float(line[0]), float(line[1])


def apply(calibration: Calibration, raw: ArrayLike) -> Array:
    """Calibrate scores, clipped to the scale; for kind `content_free`, level probabilities.

    Args:
        calibration: What `fit` or `fit_content_free` returned, or the same read back from JSON.
        raw: Raw scores, shape (n,); for `content_free`, level probabilities of shape (k,) or (n,
            k). The results have its shape.
    """
    kind = calibration.get("kind")
    try:
        if kind in _CURVES:
            return _apply_curve(calibration, checks.vector(raw, "raw", minimum=0))
        if kind != "content_free":
            raise ValueError(
                f"`calibration` has kind {kind!r}; known are {', '.join(_CURVES)}, content_free."
            )
        p = _level_probabilities(raw, "levels_probs")
        weights = np.asarray(calibration["weights"])
    except KeyError as missing:
        raise ValueError(
            f"`calibration` of kind {kind!r} lacks the key {missing}."
        ) from None
    if p.shape[-1] != weights.size:
        raise ValueError(
            f"`levels_probs` has {p.shape[-1]} levels; the calibration was fitted on"
            f" {weights.size}."
        )
    weighted = p * weights
    return np.asarray(weighted / weighted.sum(axis=-1, keepdims=True))


def _apply_curve(calibration: Calibration, x: Array) -> Array:
    """Calibrate scores by a curve, clipped to the scale, shape (n,)."""
    # Beyond the ends the curve stays as it is: it was never seen there.
    if calibration["kind"] == "isotonic":
        y = np.interp(x, calibration["x"], calibration["y"])
    else:
        y = calibration["slope"] * x + calibration["intercept"]
    low = calibration["minimum"]
    high = calibration["maximum"]
    if calibration["kind"] == "platt":
        return np.asarray(special.expit(y) * (high - low) + low)
    return np.asarray(np.clip(y, low, high))


def _level_probabilities(values: ArrayLike, name: str) -> Array:
    """Check rows that are not negative and have some mass, and scale them to sum to 1: a readout
    may leave mass on tokens that are no level."""
    p = checks.rows(values, name)
    sums = p.sum(axis=-1, keepdims=True)
    if p.size == 0 or np.any(p < 0) or np.any(sums <= 0):
        raise ValueError(
            f"`{name}` must be non-negative, each row with a positive sum."
        )
    return np.asarray(p / sums)


class CalibrationError(NamedTuple):
    """Expected calibration error in [0, 1], and the limits of what it would be of infinitely many
    items.

    `if_perfect` is its mean for items that are right exactly as often as stated; these hardly ever
    show more than `beyond`.
    """

    estimate: Estimate
    if_perfect: float
    beyond: float


def reliability_table(
    confidence: ArrayLike,
    correct: ArrayLike,
    n_bins: int = 10,
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> pd.DataFrame:
    """Compare stated confidence with observed accuracy, bin by bin; bins without items are left
    out.

    Columns: low and high (the edges), n, mean_confidence, accuracy, accuracy_low, accuracy_high,
    and gap, which is accuracy minus mean confidence (negative: overconfident).

    Args:
        confidence: Stated probability of being right, shape (n,), in [0, 1] (a percentage divided
            by 100).
        correct: 1 or True where it was right, else 0, shape (n,).
        n_bins: Number of bins, of equal width over [0, 1].
    References:
        Niculescu-Mizil and Caruana (2005), doi:10.1145/1102351.1102430
    """
    c, right = _stated_and_observed(confidence, correct)
    checks.share(level, "level")
    units = checks.groups(groups, c.size)
    edges, codes = _bins(c, n_bins)
    table = []
    for code in np.unique(codes):
        inside = codes == code
        accuracy = proportion(right[inside], level, groups=units[inside])
        stated = float(c[inside].mean())
        row = {
            "low": float(edges[code]),
            "high": float(edges[code + 1]),
            "n": accuracy.n,
            "mean_confidence": stated,
            **accuracy.metrics("accuracy"),
            "gap": accuracy.value - stated,
        }
        table.append(row)
    return pd.DataFrame(table)


def error_interval(
    confidence: ArrayLike,
    correct: ArrayLike,
    rng: Rng,
    n_bins: int = 10,
    level: float = 0.95,
    *,
    groups: Groups = None,
) -> CalibrationError:
    """Estimate `calibration_error` with an interval for its value in infinitely many items.

    What is observed is larger than that on average, for noise is added without its sign. No
    calibration error below the observed one minus what noise alone gives in 97.5 % of draws (at
    level 95 %) could have led to it, as a sum of absolute values grows by at most that of the
    noise: there the lower limit lies. The noise is the larger of that of a perfectly calibrated
    judge and that of the gaps seen between units. The upper limit needs no such thing; it is the
    larger of the one by leaving out units (`LeftOut.nearly_mean`) and, where hardly an item is
    wrong or right, of the observed error plus how much the accuracy may be off (`proportion`).

    Args:
        confidence, correct, n_bins: As in `reliability_table`.
    """
    c, right = _stated_and_observed(confidence, correct)
    codes = checks.groups(groups, c.size, 2)
    columns = np.column_stack([c, right])
    left_out = jackknife.LeftOut(columns, calibration_error(n_bins), rng, codes)
    return NoisyError(left_out, rng, n_bins).limits(level)


class NoisyError:
    """A calibration error, and those that chance alone gives, shape (n_draws,).

    `perfect` is of draws in which each item is right with exactly its stated probability, members
    of a group together; `seen` is of gaps per bin drawn around 0, with the covariance that units
    show and the tails of t.

    Args:
        left_out, n_bins: The error of items, and without each unit; of so many bins.
    References:
        Brocker and Smith (2007), doi:10.1175/WAF993.1, for items that are right as often as stated.
    """

    def __init__(
        self, left_out: jackknife.LeftOut, rng: Rng, n_bins: int, n_draws: int = 1000
    ) -> None:
        self.left_out = left_out
        c, right = left_out.data.T
        n_units = left_out.n_units
        bins = _bins(c, n_bins)[1]
        member = np.eye(n_bins)[bins]
        batch = max(1, 2_000_000 // c.size)
        perfect = []
        for first in range(0, n_draws, batch):
            size = min(batch, n_draws - first)
            # One number for a whole group: its members are right together as far as they can be.
            right_by_chance = rng.random((size, n_units))[:, left_out.codes] < c
            gaps = np.abs((right_by_chance - c) @ member)
            perfect.append(gaps.sum(axis=1) / c.size)
        self.perfect = np.concatenate(perfect)

        gaps_of_units = np.zeros((n_units, n_bins))
        np.add.at(gaps_of_units, (left_out.codes, bins), right - c)
        off = gaps_of_units - gaps_of_units.mean(axis=0)
        df = n_units - 1
        values, vectors = np.linalg.eigh(off.T @ off * n_units / df)
        root = vectors * np.sqrt(np.clip(values, 0, None))
        normal = np.abs(rng.normal(size=(n_draws, n_bins)) @ root.T).sum(axis=1)
        # The covariance is itself estimated from few units, which gives draws the tails of t.
        self.seen = normal * np.sqrt(df / rng.chisquare(df, n_draws)) / c.size

    def limits(self, level: float) -> CalibrationError:
        """Limit the error as `error_interval` says."""
        left_out = self.left_out.nearly_mean(level, (0.0, 1.0))
        tail = (1 + level) / 2
        beyond = max(
            float(np.quantile(self.perfect, tail)), float(np.quantile(self.seen, tail))
        )
        accuracy = proportion(
            self.left_out.data[:, 1], level, groups=self.left_out.codes
        )
        off = max(accuracy.value - accuracy.low, accuracy.high - accuracy.value)
        low = max(0.0, left_out.value - beyond)
        high = min(1.0, max(left_out.high, left_out.value + off))
        estimate = Estimate(left_out.value, low, high, level, self.left_out.n_units)
        return CalibrationError(estimate, float(self.perfect.mean()), beyond)


def error_difference(one: NoisyError, other: NoisyError, level: float) -> means.Bounds:
    """Limit one calibration error minus another of the same units, by those of both.

    What is observed of each is too large by another amount: a bootstrap held their difference in as
    few as 75 % of samples of its 95 %. That both move together does not narrow the limits, as what
    noise adds to each has no sign.
    """
    together = jackknife.together(one.left_out, other.left_out)
    first = one.limits(level).estimate
    second = other.limits(level).estimate
    return jackknife.apart(first, second, min(0.0, together), 1.0)


def calibration_error(n_bins: int) -> jackknife.Prepared:
    """Prepare the ECE of two columns, confidence and 1 or 0, shape (n, 2): the mean absolute gap
    between confidence and accuracy.

    Bins of equal width over [0, 1] are weighted by their items. Biased upward with few items per
    bin: compare only values with the same n and `n_bins`, or see `error_interval`.

    References:
        Naeini, Cooper and Hauskrecht (2015), doi:10.1609/aaai.v29i1.9602
    """

    @jackknife.Prepared
    def error(columns: Array) -> jackknife.OfDraws:
        c, right = _stated_and_observed(*columns.T)
        codes = _bins(c, n_bins)[1]
        gap = right - c

        def of_draws(drawn: Index) -> Array:
            gaps = np.abs(jackknife.Tally(codes, n_bins, drawn).sums(gap.take(drawn)))
            # Empty bins at the end are left out: with them the sum would be another in its last
            # digit.
            used = codes.take(drawn).max(axis=1) + 1
            sums = np.empty(len(drawn))
            for n_used in np.unique(used):
                sums[used == n_used] = gaps[used == n_used, :n_used].sum(axis=1)
            return sums / drawn.shape[1]

        return of_draws

    return error


def _bins(c: Array, n_bins: int) -> tuple[Array, Index]:
    """Find the edges of the bins, shape (n_bins + 1,), and the bin of each confidence, shape
    (n,)."""
    if n_bins < 1:
        raise ValueError(f"`n_bins` is {n_bins}; at least 1 is needed.")
    edges = np.linspace(0, 1, n_bins + 1)
    return edges, np.searchsorted(edges[1:-1], c, side="right")


def _stated_and_observed(
    confidence: ArrayLike, correct: ArrayLike
) -> tuple[Array, Array]:
    """Check confidences from 0 to 1, and 1 or 0 for right or wrong, shape (n,) each."""
    c, right = checks.paired_vectors(confidence, correct, ("confidence", "correct"))
    if np.any((c < 0) | (c > 1)):
        raise ValueError("`confidence` must lie in [0, 1]; divide a percentage by 100.")
    return c, checks.flags(right, "correct")
