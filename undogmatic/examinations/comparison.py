"""Compares two conditions over the pairs that have both."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.examinations.pairs import Pairs, numbers
from undogmatic.examinations.rivals import PairSettings
from undogmatic.examinations.truth import units
from undogmatic.stats import claims, paired, ranking


class PairComparison:
    """Condition `a` minus condition `b` over the pairs that have both.

    `differences` has shape (n_pairs,), `groups` the group of each. `claim` holds the mean
    difference *in the expected direction* (sign times a minus b) against the margin, `balance` the
    share of pairs in that direction minus the share of pairs in the other one (`against`) against
    0; None for fewer than two groups. `test` is over the means of groups, `rank_biserial` None
    where no pair differs; `auc` is how often a text of `a` lies on the expected side of a text of
    `b`, pairing ignored.
    """

    claim: claims.Claim | None = None
    balance: claims.Claim | None = None

    def __init__(
        self,
        a: str,
        b: str,
        sides: tuple[pd.DataFrame, pd.DataFrame],
        settings: PairSettings,
    ) -> None:
        self.a, self.b, self.settings, self.groups = a, b, settings, units(sides[0])
        first, second = (numbers(side, "score") for side in sides)
        self.differences = first - second
        groups = self.groups
        level = settings.level
        alpha = settings.alpha
        self.n_groups, expected = len(set(groups)), settings.sign * self.differences
        if self.n_groups > 1:
            margin, bounds = settings.margin.value, settings.bounds
            self.claim = claims.claim(
                expected,
                margin,
                alpha=alpha,
                power=settings.power,
                groups=groups,
                bounds=bounds,
            )
            self.balance = claims.claim(
                np.sign(expected), 0.0, alpha=alpha, groups=groups, bounds=(-1.0, 1.0)
            )
        self.rank_biserial = (
            paired.rank_biserial(self.differences)
            if np.any(self.differences != 0)
            else None
        )
        self.share = paired.share_in_direction(expected, level, groups=groups)
        self.test = paired.wilcoxon(
            of_groups(self.differences, groups), settings.zero_method
        )
        self.untied = int(self.share.n_ties == 0)
        self.against = (
            1 - self.share.estimate.value - self.share.n_ties / self.share.estimate.n
        )
        turned = settings.sign * first, settings.sign * second
        self.auc = ranking.auc(*turned, level, groups_a=groups, groups_b=groups)

    def row(self) -> dict[str, object]:
        """The row of the table `comparisons`."""
        low, high = (
            (None, None)
            if self.claim is None
            else self.settings.turned(self.claim.estimate).interval
        )
        row: dict[str, object] = {
            "a": self.a,
            "b": self.b,
            "n": self.differences.size,
            "n_groups": self.n_groups,
        }
        row |= {
            "n_zero": self.share.n_ties,
            "mean_difference": float(self.differences.mean()),
        }
        row |= {
            "low": low,
            "high": high,
            "median_difference": float(np.median(self.differences)),
        }
        row |= {
            "rank_biserial": self.rank_biserial,
            "share_expected": self.share.estimate.value,
        }
        return row | {"auc": self.auc.value, "p": self.test.p_value}


def compare(
    pairs: Pairs, a: str, b: str, settings: PairSettings
) -> PairComparison | None:
    """Compare two conditions, or None if no pair has both scores."""
    sides = pairs.between(a, b)
    return None if sides[0].empty else PairComparison(a, b, sides, settings)


def of_groups(values: NDArray[np.float64], groups: list[str]) -> NDArray[np.float64]:
    """Mean per group, in order of appearance."""
    by = np.asarray(groups, dtype=object)
    return pd.Series(values).groupby(by, sort=False).mean().to_numpy(dtype=np.float64)
