"""Foretells with which chance so many labels show that a judge agrees with people.

All of it is by the first order of the error (delta method), for independent items with one label
each: `benchmarks/planned.py` holds it against what a check then says.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from undogmatic.stats import checks, means
from undogmatic.stats.checks import Array

Left = Callable[[int], float]
"""The agreement that must be shown among texts that a word counter takes for alike, by the number
of labels."""
OF_LEFT, OF_LEFT_BY_VERDICT = 1.75, 1.4
"""How much larger the error of that agreement is than the error of the agreement itself, where
labels are drawn at random and evenly from the verdicts: the counter learns from these very texts,
and a yes near the edge must hold however texts are dealt into parts. Fitted to 30 settings of
benchmarks/planned.py, 40 files each, and held against other files since."""
MOST = 100_000
"""Labels beyond which none are looked for."""


@dataclass(frozen=True)
class TwoKinds:
    """A judge of two categories that is as often right on either of them.

    Args:
        rarer: Share of the items that have the rarer label.
        right: Share of the items of either label on which the judge says the same.
        by_verdict: Whether half of the labels are drawn from each verdict, instead of all at
            random.
        fewest: Labels of the rarer kind that an answer needs.
    """

    rarer: float
    right: float
    by_verdict: bool = False
    fewest: int = 0

    def __post_init__(self) -> None:
        checks.share(self.rarer, "rarer")
        checks.share(self.right, "right")

    @property
    def cells(self) -> Array:
        """Shares of the items, verdict by label, each the rarer kind first, shape (2, 2)."""
        labels = np.array([self.rarer, 1 - self.rarer])
        says = np.array([[self.right, 1 - self.right], [1 - self.right, self.right]])
        return np.asarray(says * labels)

    @property
    def agreement(self) -> float:
        """Cohen's kappa of all items."""
        return _Kappa(self.cells).value

    def error(self, n: int) -> float:
        """Standard error of kappa from `n` labels.

        References:
            Fleiss, Cohen and Everitt (1969), Large sample standard errors of kappa and weighted
            kappa. doi:10.1037/h0028106, for labels drawn at random.
            Cochran (1977), Sampling Techniques, section 5.3, for labels drawn from strata.
        """
        kappa = _Kappa(self.cells)
        if not self.by_verdict:
            return kappa.error(n)
        influence, within = kappa.influence, self._within
        middle = (within * influence).sum(axis=1, keepdims=True)
        spread = (within * (influence - middle) ** 2).sum(axis=1)
        return float(np.sqrt((self.cells.sum(axis=1) ** 2 * spread / (n / 2)).sum()))

    @property
    def _within(self) -> Array:
        """Shares of the labels among the items of each verdict, shape (2, 2)."""
        return np.asarray(self.cells / self.cells.sum(axis=1, keepdims=True))

    def chance(self, n: int, least: float, left: Left, level: float) -> float:
        """The chance that `n` labels show more agreement than `least`, and more than is asked for
        among texts alike, and hold enough of the rarer kind."""
        drawn = _Kappa(self._within / 2 if self.by_verdict else self.cells)
        of_left = OF_LEFT_BY_VERDICT if self.by_verdict else OF_LEFT
        # Both must be shown by the same labels. The smaller chance is taken, as the two
        # hang together: to multiply them would ask for too many labels.
        shown = min(
            _beyond(self.agreement, self.error(n), least, level),
            _beyond(drawn.value, of_left * drawn.error(n), left(n), level),
        )
        if not self.fewest:
            return shown
        if not self.by_verdict:
            return shown * float(special.bdtrc(self.fewest - 1, n, self.rarer))
        found = self._within[:, 0]
        expected = n / 2 * found.sum()
        spread = np.sqrt(n / 2 * (found * (1 - found)).sum())
        # The half is the correction for continuity: labels come in whole numbers, and
        # the normal curve does not.
        return shown * float(special.ndtr((expected - self.fewest + 0.5) / spread))


class _Kappa(NamedTuple):
    """Cohen's kappa of a table of shares, verdict by label, shape (2, 2)."""

    cells: Array

    @property
    def _apart(self) -> float:
        return float(self.cells[0, 1] + self.cells[1, 0])

    @property
    def _by_chance(self) -> float:
        said, had = self.cells.sum(axis=1)[0], self.cells.sum(axis=0)[0]
        return float(said + had - 2 * said * had)

    @property
    def value(self) -> float:
        return 1 - self._apart / self._by_chance

    @property
    def influence(self) -> Array:
        """How an item of each cell moves it, shape (2, 2)."""
        verdict, label = np.array([[1.0], [0.0]]), np.array([[1.0, 0.0]])
        said, had = self.cells.sum(axis=1)[0], self.cells.sum(axis=0)[0]
        moves = (1 - 2 * had) * (verdict - said) + (1 - 2 * said) * (label - had)
        apart = (verdict != label) - self._apart
        return np.asarray(
            self._apart * moves / self._by_chance**2 - apart / self._by_chance
        )

    def error(self, n: int) -> float:
        return float(np.sqrt((self.cells * self.influence**2).sum() / n))


@dataclass(frozen=True)
class Order:
    """A judge whose numbers have this rank correlation with people's."""

    correlation: float

    def __post_init__(self) -> None:
        checks.share(self.correlation, "correlation")

    @property
    def agreement(self) -> float:
        """Spearman's rank correlation of all items."""
        return self.correlation

    def chance(self, n: int, least: float, left: Left, level: float) -> float:
        """The chance that `n` labels show more correlation than `least`, and more than is asked for
        among texts alike.

        References:
            Bonett and Wright (2000), Sample size requirements for estimating Pearson, Kendall and
            Spearman correlations. doi:10.1007/BF02294183
        """
        if n <= 3:
            return 0.0
        error = float(np.sqrt((1 + self.correlation**2 / 2) / (n - 3)))
        value, limit, beside = np.arctanh([self.correlation, least, left(n)]).tolist()
        return min(
            _beyond(value, error, limit, level),
            _beyond(value, OF_LEFT * error, beside, level),
        )


Expected = TwoKinds | Order


def _beyond(value: float, error: float, least: float, level: float) -> float:
    """The chance that the lower limit of an estimate lies above `least`."""
    if error <= 0:
        return float(value > least)
    return float(special.ndtr((value - least) / error - means.normal_quantile(level)))


def labels_needed(
    expected: Expected,
    least: float,
    left: Left,
    chances: Sequence[float],
    *,
    level: float,
    fewest: int,
) -> list[int | None]:
    """The fewest labels with which each chance is reached, at least `fewest`; None where MOST are
    not enough."""

    def enough(n: int, chance: float) -> bool:
        return expected.chance(n, least, left, level) >= chance

    found: list[int | None] = []
    for chance in chances:
        low, high = fewest - 1, fewest
        # Doubled until it is enough, then halved between: the chance grows with the
        # labels, and nobody knows before how many it takes.
        while not enough(high, chance) and high < MOST:
            low, high = high, min(2 * high, MOST)
        if not enough(high, chance):
            found.append(None)
            continue
        while high - low > 1:
            half = (low + high) // 2
            low, high = (low, half) if enough(half, chance) else (half, high)
        found.append(high)
    return found
