"""How many labels an interval of a wanted width takes (`few_labels`)."""

import bisect
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from undogmatic.stats import checks, means
from undogmatic.stats.few_labels import FEWEST_EFFECTIVE, Sample, checked, kish, label_weights

Array = NDArray[np.float64]


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


def label_budget(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    target_width: float,
    *,
    level: float = 0.95,
    groups: Sequence[object] | ArrayLike | None = None,
    bounds: means.Bounds | None = None,
) -> LabelBudget | None:
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
        bounds: Lowest and highest label that could be given; None where there are none.
    Returns:
        None where most of the pilot's labels are the same, or most scores equal their labels, and fewer than
        `means.FEW` differ: such a pilot does not know how far labels spread.
    Raises:
        ValueError: As `few_labels.estimate_mean`, or if the width is not positive, or fewer than FEWEST_EFFECTIVE
            groups are labelled.
    """
    f, index, y = checked(scores, labelled, labels)
    checks.share(level, "level")
    if not target_width > 0:
        raise ValueError(f"`target_width` is {target_width}; it must be positive.")
    codes = checks.groups(groups, f.size)
    pilot = Sample(f, index, y, label_weights(None, index.size, f.size), codes)
    weight = pilot.fitted_weight()
    own = np.unique(codes[index], return_inverse=True)[1]
    n_groups = int(own.max()) + 1
    if n_groups < FEWEST_EFFECTIVE:
        raise ValueError(f"`groups` gives {n_groups} labelled groups; at least {FEWEST_EFFECTIVE} are needed.")
    if pilot.agree(bounds):
        return None
    share = kish(np.ones(index.size), own) / index.size

    def spread_of(residual: Array, fitted: int) -> tuple[float, float]:
        """Variance of one label's residual times what its group adds to it, and the skewness of a group's sum."""
        sums = np.bincount(own, residual - residual.mean())
        square = float(sums @ sums)
        skewness = float(np.mean(sums**3)) / (square / n_groups) ** 1.5 if square > 0 else 0.0
        return square / index.size * n_groups / (n_groups - 1 - fitted), skewness

    def width_by(trust: float) -> Callable[[int], float]:
        spread, skewness = spread_of(y - trust * f[index], int(trust > 0))
        # Labelling more shrinks the residual's share; what the items as a sample of their population leave, stays.
        stays = max(0.0, spread_of(y, 0)[0] - spread) / f.size

        def width(m: int) -> float:
            n = m * share
            bent = skewness / n**0.5 * means.caution(n)
            low, high = means.studentised_limits(0.0, (spread / m + stays) ** 0.5, n - 1 - (trust > 0), bent, level)
            return high - low

        return width

    sizes = range(math.ceil(FEWEST_EFFECTIVE / share), f.size + 1)
    counts: list[int | None] = []
    for width in (width_by(weight), width_by(0.0)):
        place = bisect.bisect_left(sizes, True, key=lambda m, width=width: width(m) <= target_width)  # type: ignore[misc]
        counts.append(sizes[place] if place < len(sizes) else None)
    return LabelBudget(
        counts[0],
        counts[1],
        target_width,
        width_by(0.0)(f.size) if sizes else np.inf,
        weight,
        f.size,
        index.size,
        level,
    )
