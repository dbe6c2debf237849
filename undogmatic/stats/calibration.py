"""Map raw scores onto the scale so that the anchors mean what they say, and measure whether probabilities are honest.

A calibration is plain data (a dict of numbers and lists of numbers, JSON as it stands); `apply` reads it. Fit it on
development labels only: `split_check` raises when a fitted item is also evaluated.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import checks

Calibration = dict[str, Any]
Scale = tuple[float, float]

# A level the model never names on content-free text would divide by zero; Zhao et al. met none over whole words.
_CONTENT_FREE_FLOOR = 1e-4
_MOST_IDS_NAMED = 10


def split_check(fit_ids: Iterable[Hashable], eval_ids: Iterable[Hashable]) -> None:
    """Raise if anything fitted on is also evaluated on.

    Pass pair ids rather than item ids where two texts of one pair must not be split.

    Args:
        fit_ids: Ids of what a calibration, probe or prompt was fitted on or chosen with.
        eval_ids: Ids of what the numbers are reported on.
    Raises:
        ValueError: Naming the overlapping ids, the first ten in sorted order.
    """
    overlap = sorted({str(i) for i in fit_ids} & {str(i) for i in eval_ids})
    if overlap:
        more = f" and {len(overlap) - _MOST_IDS_NAMED} more" if len(overlap) > _MOST_IDS_NAMED else ""
        named = ", ".join(overlap[:_MOST_IDS_NAMED])
        raise ValueError(f"`fit_ids` and `eval_ids` share {len(overlap)} ids: {named}{more}.")


def fit_content_free(content_free_probs: ArrayLike) -> Calibration:
    """Contextual calibration: learn from content-free texts ("N/A", "") which levels the prompt itself favours.

    Needs no labels. Probabilities below 0.0001 are raised to it, since each level is divided by its own.

    Args:
        content_free_probs: Level probabilities on content-free texts, shape (k,) or (n_texts, k); rows are averaged.
    Returns:
        A calibration of kind `content_free`, applied to level probabilities of shape (n, k).
    Raises:
        ValueError: If NaN, a negative value, or a row that is all zero.
    References:
        Zhao et al. (2021), Calibrate before use. https://proceedings.mlr.press/v139/zhao21c.html
    """
    p = np.atleast_2d(_level_probabilities(content_free_probs, "content_free_probs"))
    baseline = np.maximum(p.mean(axis=0), _CONTENT_FREE_FLOOR)
    return {"kind": "content_free", "weights": (1.0 / baseline).tolist(), "n": len(p)}


def fit_platt(raw: ArrayLike, label01: ArrayLike, scale: Scale) -> Calibration:
    """Platt scaling: a logistic curve from raw score to the scale.

    Labels may be classes 0 and 1, or any share between (gold score / 100). They are drawn in by Platt's
    (N+ + 1) / (N+ + 2) and 1 / (N- + 2), with the shares' sums as N+ and N-, so that groups which separate perfectly
    still give a finite slope.

    Args:
        raw: Raw scores, shape (n,), any unit.
        label01: Labels in [0, 1], shape (n,); 1 maps to the upper end of `scale`.
        scale: The ends of the scale scores are mapped to.
    Raises:
        ValueError: If NaN, a label is outside [0, 1], `raw` or `label01` is constant, or the lengths differ.
    References:
        Platt (1999), Probabilistic outputs for support vector machines. Lin, Lin and Weng (2007),
        doi:10.1007/s10994-007-5018-6
    """
    import statsmodels.api as sm

    x, y = _fit_vectors(raw, label01, "label01")
    if np.any((y < 0) | (y > 1)):
        raise ValueError("`label01` must lie in [0, 1].")
    if checks.is_constant(y):
        raise ValueError("`label01` is constant; there is nothing to tell apart.")
    positives = float(y.sum())
    negatives = y.size - positives
    target = y * (positives + 1) / (positives + 2) + (1 - y) / (negatives + 2)
    centre, spread = float(x.mean()), float(x.std())
    design = sm.add_constant((x - centre) / spread)
    constant, slope = sm.GLM(target, design, family=sm.families.Binomial()).fit().params
    return {
        "kind": "platt",
        "slope": float(slope / spread),
        "intercept": float(constant - slope * centre / spread),
        **_scale(scale),
        "n": x.size,
    }


def fit_isotonic(raw: ArrayLike, label: ArrayLike, scale: Scale) -> Calibration:
    """Isotonic regression: the rising step curve nearest to the labels, linear between its knots.

    It bends to any rising shape and so needs more labels than Platt (hundreds rather than dozens); beyond the
    fitted raw scores it stays at the end values.

    Args:
        raw: Raw scores, shape (n,), any unit.
        label: Labels, shape (n,), in units of `scale`.
        scale: The ends of the scale results are clipped to.
    Raises:
        ValueError: If NaN, `raw` is constant, or the lengths differ.
    References:
        Zadrozny and Elkan (2002), doi:10.1145/775047.775151
    """
    from sklearn.isotonic import IsotonicRegression

    x, y = _fit_vectors(raw, label, "label")
    model = IsotonicRegression().fit(x, y)
    knots = {"x": model.X_thresholds_.tolist(), "y": model.y_thresholds_.tolist()}
    return {"kind": "isotonic", **knots, **_scale(scale), "n": x.size}


def fit_linear(raw: ArrayLike, label: ArrayLike, scale: Scale) -> Calibration:
    """Least-squares line from raw score to label, clipped to the scale when applied.

    Args:
        raw: Raw scores, shape (n,), any unit.
        label: Labels, shape (n,), in units of `scale`.
        scale: The ends of the scale results are clipped to.
    Raises:
        ValueError: If NaN, `raw` is constant, or the lengths differ.
    """
    x, y = _fit_vectors(raw, label, "label")
    line = stats.linregress(x, y)
    return {
        "kind": "linear",
        "slope": float(line.slope),
        "intercept": float(line.intercept),
        **_scale(scale),
        "n": x.size,
    }


def apply(calibration: Calibration, raw: ArrayLike) -> NDArray[np.float64]:
    """Calibrated scores, clipped to the scale; for kind `content_free`, calibrated level probabilities.

    Args:
        calibration: What a `fit_` function returned, or the same read back from JSON.
        raw: Raw scores, shape (n,); for `content_free`, level probabilities of shape (k,) or (n, k).
    Returns:
        Shape of `raw`.
    Raises:
        ValueError: If `raw` holds NaN, the kind is unknown, or the calibration lacks a key.
    """
    kind = calibration.get("kind")
    if kind not in _APPLY:
        raise ValueError(f"`calibration` has kind {kind!r}; known are {', '.join(_APPLY)}.")
    try:
        return _APPLY[kind](calibration, raw)
    except KeyError as missing:
        raise ValueError(f"`calibration` of kind {kind!r} lacks the key {missing}.") from None


def _apply_platt(calibration: Calibration, raw: ArrayLike) -> NDArray[np.float64]:
    x = checks.vector(raw, "raw", minimum=0)
    share = stats.logistic.cdf(calibration["slope"] * x + calibration["intercept"])
    low, high = calibration["minimum"], calibration["maximum"]
    return np.asarray(low + (high - low) * share)


def _apply_linear(calibration: Calibration, raw: ArrayLike) -> NDArray[np.float64]:
    x = checks.vector(raw, "raw", minimum=0)
    line = calibration["slope"] * x + calibration["intercept"]
    return np.asarray(np.clip(line, calibration["minimum"], calibration["maximum"]))


def _apply_isotonic(calibration: Calibration, raw: ArrayLike) -> NDArray[np.float64]:
    x = checks.vector(raw, "raw", minimum=0)
    curve = np.interp(x, calibration["x"], calibration["y"])
    return np.clip(curve, calibration["minimum"], calibration["maximum"])


def _apply_content_free(calibration: Calibration, raw: ArrayLike) -> NDArray[np.float64]:
    p, weights = _level_probabilities(raw, "levels_probs"), np.asarray(calibration["weights"])
    if p.shape[-1] != weights.size:
        raise ValueError(f"`levels_probs` has {p.shape[-1]} levels; the calibration was fitted on {weights.size}.")
    weighted = p * weights
    return np.asarray(weighted / weighted.sum(axis=-1, keepdims=True))


_APPLY: dict[str, Callable[[Calibration, ArrayLike], NDArray[np.float64]]] = {
    "platt": _apply_platt,
    "isotonic": _apply_isotonic,
    "linear": _apply_linear,
    "content_free": _apply_content_free,
}


def _fit_vectors(raw: ArrayLike, label: ArrayLike, label_name: str) -> tuple[checks.Vector, checks.Vector]:
    x, y = checks.paired_vectors(raw, label, ("raw", label_name), minimum=2)
    if checks.is_constant(x):
        raise ValueError("`raw` is constant; it cannot be mapped to different labels.")
    return x, y


def _scale(scale: Scale) -> dict[str, float]:
    low, high = scale
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"`scale` is {scale}; it must be (minimum, maximum) with minimum below maximum.")
    return {"minimum": float(low), "maximum": float(high)}


def _level_probabilities(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Non-negative rows with some mass, scaled to sum to 1: a readout may leave mass on tokens that are no level."""
    p = checks.rows(values, name)
    sums = p.sum(axis=-1, keepdims=True)
    if p.size == 0 or np.any(p < 0) or np.any(sums <= 0):
        raise ValueError(f"`{name}` must be non-negative, each row with a positive sum.")
    return np.asarray(p / sums)
