"""What a score can be: a numeric scale, ordered categories, or unordered ones; and the guide that says what each means.

Every scale has numbers: a numeric one its own, categories their place from 0. So one distribution, one table and one
set of statistics serve all; `ordered` says whether the numbers mean anything beyond the names.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_LEVELS = 11
"""A numeric scale with so many values at most is offered value by value where a model chooses among levels."""
FEW_LEVELS = 5
"""Levels offered of a finer numeric scale without anchors, evenly spaced."""


class Record(BaseModel):
    """Frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NumericScale(Record):
    """Numbers from `minimum` to `maximum`; with a `step`, only those that are whole steps above the minimum."""

    kind: Literal["numeric"] = "numeric"
    minimum: float
    maximum: float
    step: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _check(self) -> NumericScale:
        if self.minimum >= self.maximum:
            raise ValueError(f"minimum must be below maximum, got {self.minimum:g} and {self.maximum:g}")
        if self.step is not None and not _whole((self.maximum - self.minimum) / self.step):
            raise ValueError(f"step {self.step:g} does not lead from {self.minimum:g} to {self.maximum:g}")
        return self

    @property
    def ordered(self) -> bool:
        """Whether a higher number means more."""
        return True

    def contains(self, value: float) -> bool:
        """Whether `value` can be given: within the ends and, where there is a step, on one."""
        inside = math.isfinite(value) and self.minimum <= value <= self.maximum
        return inside and (self.step is None or _whole((value - self.minimum) / self.step))

    def read(self, given: Any) -> float:
        """A number from outside. Raises ValueError saying what is wrong."""
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise ValueError(f"is {given!r}, not a number ({self.span()})")
        if not self.contains(given):
            raise ValueError(f"is {given:g}, outside {self.span()}")
        return float(given)

    def write(self, value: float) -> str:
        """`value` with the precision of the scale: about a hundredth of it, and no zeros that say nothing."""
        decimals = max(0, 2 - round(math.log10(self.maximum - self.minimum)))
        text = f"{value:.{decimals}f}"
        return text.rstrip("0").rstrip(".") if decimals else text

    def span(self) -> str:
        """The scale in a few characters, e.g. 1-10 in steps of 1."""
        ends = f"{self.minimum:g}-{self.maximum:g}"
        return ends if self.step is None else f"{ends} in steps of {self.step:g}"

    def default_levels(self) -> tuple[float, ...]:
        """The levels to offer where no guide names any: all values where they are few, else evenly spaced ones."""
        span = self.maximum - self.minimum
        count = FEW_LEVELS
        if self.step is not None:
            steps = round(span / self.step)
            if steps < MOST_LEVELS:
                return tuple(self.minimum + n * self.step for n in range(steps + 1))
            # As many levels as the steps allow to be evenly spaced, near FEW_LEVELS.
            count = next((n for n in (FEW_LEVELS, 6, 4, 7, 8, 9, 10, 11, 3) if steps % (n - 1) == 0), 2)
        return tuple(self.minimum + span * n / (count - 1) for n in range(count))


class _Categories(Record):
    categories: tuple[str, ...] = Field(min_length=2, max_length=100)

    @model_validator(mode="after")
    def _check_names(self) -> _Categories:
        folded = [name.strip().casefold() for name in self.categories]
        if len(set(folded)) != len(folded) or not all(folded):
            raise ValueError(f"categories must be different and not empty, got {list(self.categories)}")
        return self

    @property
    def minimum(self) -> float:
        """Number of the first category."""
        return 0.0

    @property
    def maximum(self) -> float:
        """Number of the last category."""
        return float(len(self.categories) - 1)

    def contains(self, value: float) -> bool:
        """Whether `value` is the number of a category."""
        return self.minimum <= value <= self.maximum and float(value).is_integer()

    def read(self, given: Any) -> float:
        """A category's name (whatever its case) or number. Raises ValueError with the options."""
        names = [name.strip().casefold() for name in self.categories]
        if len(names) == 2 and (said := str(given).casefold()) in ("false", "true") and said not in names:
            return float(said == "true")
        if isinstance(given, int | float) and not isinstance(given, bool) and self.contains(given):
            return float(given)
        if isinstance(given, str) and given.strip().casefold() in names:
            return float(names.index(given.strip().casefold()))
        raise ValueError(f"is {given!r}, not one of {self.span()}")

    def write(self, value: float) -> str:
        """The name of the nearest category."""
        return self.categories[min(len(self.categories) - 1, max(0, math.floor(value + 0.5)))]

    def span(self) -> str:
        """The categories, e.g. no / yes."""
        return " / ".join(self.categories)

    def default_levels(self) -> tuple[float, ...]:
        """Every category."""
        return tuple(float(n) for n in range(len(self.categories)))


class OrderedScale(_Categories):
    """Categories from least to most; a score between two numbers means between two categories."""

    kind: Literal["ordered"] = "ordered"

    @property
    def ordered(self) -> bool:
        """Whether a higher number means more."""
        return True


class UnorderedScale(_Categories):
    """Categories without an order. Two of them still have one direction: the share of the second."""

    kind: Literal["unordered"] = "unordered"

    @property
    def ordered(self) -> bool:
        """Whether a higher number means more."""
        return len(self.categories) == 2


Scale = Annotated[NumericScale | OrderedScale | UnorderedScale, Field(discriminator="kind")]


class Anchors(Record):
    """Meanings at values of a numeric scale, ascending from its minimum to its maximum."""

    kind: Literal["anchors"] = "anchors"
    at: tuple[float, ...] = Field(max_length=100)

    def check(self, scale: Scale) -> None:
        """Raise ValueError unless it fits the scale."""
        levels = list(self.at)
        if len(levels) < 2 or levels != sorted(set(levels)):
            raise ValueError(f"levels must be at least two ascending values, got {levels}")
        if not scale.minimum == levels[0] < levels[-1] == scale.maximum:
            raise ValueError(f"levels must run from minimum {scale.minimum} to maximum {scale.maximum}, got {levels}")
        off = [level for level in levels if not scale.contains(level)]
        if off:
            raise ValueError(f"the anchor {off[0]:g} is not on the scale {scale.span()}")

    def names(self) -> tuple[str, ...]:
        """What the meanings stand beside, e.g. 25."""
        return tuple(f"{value:g}" for value in self.at)


class Band(Record):
    """A named part of a numeric scale, ends included."""

    name: str
    low: float
    high: float


class Bands(Record):
    """Named parts of a numeric scale, such as HIGH 70-100; together they cover it from its minimum to its maximum."""

    kind: Literal["bands"] = "bands"
    bands: tuple[Band, ...] = Field(min_length=2, max_length=100)

    def check(self, scale: Scale) -> None:
        """Raise ValueError unless it fits the scale."""
        ascending = sorted(self.bands, key=lambda band: band.low)
        if ascending[0].low != scale.minimum or max(band.high for band in ascending) != scale.maximum:
            raise ValueError(f"bands must cover the scale {scale.span()}, got {', '.join(self.names())}")
        for one, following in pairwise(ascending):
            gap = following.low - one.high
            if one.low >= one.high or gap > (getattr(scale, "step", None) or 0.0) + 1e-9 or following.high <= one.high:
                raise ValueError(f"bands must follow one another without a gap, got {', '.join(self.names())}")

    def names(self) -> tuple[str, ...]:
        """What the meanings stand beside, e.g. HIGH (70-100)."""
        return tuple(f"{band.name} ({band.low:g}-{band.high:g})" for band in self.bands)

    def of(self, value: float) -> int:
        """Index of the band that holds `value`; the higher of two that share it."""
        holding = [n for n, band in enumerate(self.bands) if band.low <= value <= band.high]
        return max(holding, key=lambda n: self.bands[n].low)


Guide = Annotated[Anchors | Bands, Field(discriminator="kind")]


def _whole(value: float) -> bool:
    return math.isclose(value, round(value), abs_tol=1e-9)
