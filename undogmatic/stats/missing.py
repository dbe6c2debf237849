"""Failed judgments of pairs: whether they depend on the side, and the mean difference over all pairs nevertheless.

Scores come as two vectors, one per side of the pairs, with NaN where the judge failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from undogmatic.stats import checks, means
from undogmatic.stats.estimate import Estimate

Array = NDArray[np.float64]

FEWEST_FAILED, FEWEST_JUDGED, FEWEST_UNITS = 5, 10, 20
"""For the doubly robust estimate: failures (of both sides together), judged texts of each side, independent units."""

_FOLDS = 5
_LEAST_CHANCE = 0.05


class FailureTest(NamedTuple):
    """`p_value` of "failures are as frequent on side a as on side b"; None where no unit has more on one side.

    `n_a` and `n_b` are failed texts, `n_more_a` and `n_more_b` the units with more of them on that side.
    """

    n_a: int
    n_b: int
    n_more_a: int
    n_more_b: int
    p_value: float | None


def failure_test(a: ArrayLike, b: ArrayLike, groups: Sequence[object] | None = None) -> FailureTest:
    """Exact test whether the judge fails more often on one side: McNemar's, over independent units.

    A unit counts for the side on which it has more failures; with pairs as units that is McNemar's exact test.

    Args:
        a, b: Scores of the sides of the same pairs, shape (n_pairs,), NaN where the judge failed.
        groups: What belongs together, shape (n_pairs,); None: each pair is a unit.
    References:
        McNemar (1947), doi:10.1007/BF02295996. Datta and Satten (2008), doi:10.1111/j.1541-0420.2007.00923.x, for signs
        of groups.
    """
    failed = [np.isnan(side) for side in _sides(a, b)]
    codes = checks.groups(groups, failed[0].size)
    excess = np.bincount(codes, failed[0].astype(np.float64) - failed[1], minlength=int(codes.max(initial=-1)) + 1)
    more_a, more_b = int(np.sum(excess > 0)), int(np.sum(excess < 0))
    n = more_a + more_b
    p_value = float(stats.binomtest(more_a, n).pvalue) if n else None
    return FailureTest(int(failed[0].sum()), int(failed[1].sum()), more_a, more_b, p_value)


def robust_difference(
    a: ArrayLike,
    b: ArrayLike,
    covariates: tuple[ArrayLike, ArrayLike],
    rng: np.random.Generator,
    *,
    groups: Sequence[object] | None = None,
    level: float = 0.95,
) -> Estimate | None:
    """Doubly robust (AIPW) mean difference over all pairs, cross-fitted over groups.

    Holds if failures are missing at random given the texts' covariates and the other side's score: if either the model
    of the scores (ridge regression) or that of the failures (logistic regression) is right. Both are fitted without the
    group that they are used on. A failure that depends on the score itself is beyond it: only worst cases hold then.

    Args:
        a, b: Scores of the sides of the same pairs, shape (n_pairs,), NaN where the judge failed.
        covariates: What is known of the texts of each side, judged or not, each of shape (n_pairs, k).
        rng: For the folds.
        groups: What belongs together, shape (n_pairs,); None: each pair is a unit.
        level: Confidence level.
    Returns:
        None where there is too little to fit with: fewer than FEWEST_FAILED failures, FEWEST_JUDGED judged texts of a
        side, or FEWEST_UNITS units.
    References:
        Robins, Rotnitzky and Zhao (1994), doi:10.1080/01621459.1994.10476818
        Chernozhukov et al. (2018), doi:10.1111/ectj.12097, for cross-fitting.
    """
    checks.share(level, "level")
    first, second = _sides(a, b)
    codes = checks.groups(groups, first.size)
    n_units = int(codes.max(initial=-1)) + 1
    failed = [np.isnan(first), np.isnan(second)]
    few_judged = min(int(np.sum(~own)) for own in failed) < FEWEST_JUDGED
    if sum(int(own.sum()) for own in failed) < FEWEST_FAILED or few_judged or n_units < FEWEST_UNITS:
        return None
    surface = np.column_stack([np.asarray(own, dtype=np.float64).reshape(first.size, -1) for own in covariates])
    fold = rng.permutation(np.arange(n_units) % _FOLDS)[codes]
    of_a = _pseudo_values(first, np.column_stack([surface, _known(second)]), fold)
    of_b = _pseudo_values(second, np.column_stack([surface, _known(first)]), fold)
    d = of_a - of_b
    return means.interval(d, level, groups=codes)


def _pseudo_values(scores: Array, known: Array, fold: NDArray[np.intp]) -> Array:
    """Per pair: the expected score, and for judged ones the rest of theirs over their chance of being judged."""
    judged = ~np.isnan(scores)
    if judged.all():
        return scores
    values = np.empty_like(scores)
    for own in np.unique(fold):
        here, others = fold == own, fold != own
        expected = _expected(known[others & judged], scores[others & judged], known[here])
        chance = _chance(known[others], judged[others], known[here])
        rest = np.where(judged[here], np.nan_to_num(scores[here]) - expected, 0.0)
        values[here] = expected + rest / chance
    return values


def _expected(known: Array, scores: Array, wanted: Array) -> Array:
    if len(known) < 2:
        return np.full(len(wanted), scores.mean() if len(scores) else 0.0)
    return np.asarray(_scaled(_ridge()).fit(known, scores).predict(wanted), dtype=np.float64)


def _chance(known: Array, judged: NDArray[np.bool_], wanted: Array) -> Array:
    """Of being judged, not below _LEAST_CHANCE: one pair must not outweigh the rest."""
    if min(int(judged.sum()), int((~judged).sum())) < FEWEST_FAILED - 1:
        return np.full(len(wanted), max(float(judged.mean()), _LEAST_CHANCE))
    from sklearn.linear_model import LogisticRegression

    model = _scaled(LogisticRegression(C=1.0)).fit(known, judged)
    return np.maximum(np.asarray(model.predict_proba(wanted)[:, 1], dtype=np.float64), _LEAST_CHANCE)


def _ridge() -> Any:
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=(1.0, 10.0, 100.0))


def _scaled(model: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def _known(scores: Array) -> Array:
    """What the other side's score tells: whether there is one, and how far it lies from the mean of them."""
    judged = ~np.isnan(scores)
    middle = float(scores[judged].mean()) if judged.any() else 0.0
    return np.column_stack([judged.astype(np.float64), np.where(judged, np.nan_to_num(scores) - middle, 0.0)])


def _sides(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"`a` has shape {first.shape} and `b` {second.shape}; they are matched one to one.")
    return first, second
