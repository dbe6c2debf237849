"""Drawing with replacement in linear memory: draws made and evaluated batch by batch.

No more than AT_ONCE drawn rows, few enough for a core's cache, are held at once (more only where a single draw has
more), whatever the number of resamples; time grows with resamples times rows. A batch takes from `rng` exactly what
single draws would.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from undogmatic.stats.checks import Array, Index, Rng

OfDraws = Callable[[Index], Array]
"""Positions of drawn rows, shape (n_draws, n_rows), to the statistic of each draw, shape (n_draws,)."""

AT_ONCE = 2**15

MOST_LEFT_OUT = 2000
LEFT_OUT_GROUPS = 500
"""The jackknife leaves out one unit at a time up to MOST_LEFT_OUT units, beyond that one of so many random groups of
units at a time: its time would else grow with the square of the units."""


class Prepared(NamedTuple):
    """A statistic that is made ready for all rows once (`on`), and then takes many draws of them at a time.

    It must give what its definition gives on the drawn rows, to the last digit. Sorting once instead of once per draw
    makes the difference between seconds and minutes.
    """

    on: Callable[[Array], OfDraws]

    def of(self, rows: ArrayLike) -> float:
        """The statistic of all rows."""
        data = np.asarray(rows, dtype=np.float64)
        return float(self.on(data)(np.arange(len(data))[None, :])[0])


Statistic = Callable[[Array], float] | Prepared
"""Of an array of any number of rows; NaN where it is undefined."""


class Units:
    """What is drawn: groups of rows, whole and in the order of the rows, or each row by itself.

    Args:
        codes: Group per row, 0 to n - 1, shape (n_rows,).
    """

    def __init__(self, codes: Index) -> None:
        self._sizes = np.bincount(codes)
        self._rows = np.argsort(codes, kind="stable")
        self._first = np.cumsum(self._sizes) - self._sizes
        self.n = int(self._sizes.size)
        self._alike = self.n > 0 and self._sizes.min() == self._sizes.max()

    def everything(self) -> Index:
        """All rows, unit by unit, as one draw: shape (1, n_rows)."""
        return self._rows[None, :]

    def draws(self, rng: Rng, n_draws: int) -> Iterator[Index]:
        """Rows of as many units as there are, drawn with replacement `n_draws` times: batches (n_draws, n_rows).

        Draws of unequal groups differ in their number of rows, and come one by one.
        """
        for start, end in self._batches(n_draws):
            yield self._rows_of(rng.integers(self.n, size=(end - start, self.n), dtype=np.intp))

    def left_out(self) -> Iterator[Index]:
        """Rows of all units but one, one unit after the other. Batches as of `draws`."""
        others = np.arange(self.n - 1)[None, :]
        for start, end in self._batches(self.n):
            yield self._rows_of(others + (others >= np.arange(start, end)[:, None]))

    def _batches(self, n_draws: int) -> Iterator[tuple[int, int]]:
        most = max(1, AT_ONCE // self._rows.size) if self._alike else 1
        for start in range(0, n_draws, most):
            yield start, min(start + most, n_draws)

    def _rows_of(self, units: Index) -> Index:
        if self._alike:
            return self._rows.reshape(self.n, -1).take(units, axis=0).reshape(len(units), -1)
        (drawn,) = units
        sizes = self._sizes.take(drawn)
        before = np.cumsum(sizes) - sizes
        places = np.repeat(self._first.take(drawn) - before, sizes)
        places += np.arange(places.size)
        return self._rows.take(places)[None, :]


def ready(statistic: Statistic, data: Array) -> OfDraws:
    """The statistic as a function of draws of the rows of `data`."""
    if isinstance(statistic, Prepared):
        return statistic.on(data)
    return lambda drawn: np.array([float(statistic(data[rows])) for rows in drawn], dtype=np.float64)


def distribution(of_draws: OfDraws, draws: Iterator[Index]) -> Array:
    """The statistic of every draw, shape (n_draws,)."""
    with np.errstate(all="ignore"):
        return np.concatenate([of_draws(drawn) for drawn in draws])


class Tally:
    """The codes of drawn rows, to be counted draw by draw.

    Args:
        codes, n_codes: Code of every row, 0 to n_codes - 1, shape (n_rows,).
        drawn: Positions of drawn rows, shape (n_draws, n_drawn).
    """

    def __init__(self, codes: Index, n_codes: int, drawn: Index) -> None:
        self._shape = len(drawn), n_codes
        self._cells = codes.take(drawn)
        if len(drawn) > 1:
            self._cells += n_codes * np.arange(len(drawn))[:, None]

    def counts(self) -> Index:
        """Number of drawn rows per draw and code, shape (n_draws, n_codes)."""
        return np.bincount(self._cells.ravel(), minlength=self._shape[0] * self._shape[1]).reshape(self._shape)

    def sums(self, weights: Array) -> Array:
        """Sums of `weights` (of the drawn rows, shape (n_draws, n_drawn)), added in the order drawn; as `counts`."""
        cells = self._shape[0] * self._shape[1]
        return np.asarray(np.bincount(self._cells.ravel(), weights.ravel(), cells), np.float64).reshape(self._shape)

    def of_rows(self, numbers: Array) -> Array:
        """What `numbers` (shape (n_draws, n_codes)) says of each drawn row's code, shape (n_draws, n_drawn)."""
        return np.asarray(numbers.take(self._cells))
