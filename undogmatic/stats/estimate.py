"""Holds a number with its interval: the one noun for whatever is estimated, and how it is told and
decided.

An analysis tells an estimate once, so that metric, sentence and table row cannot disagree:

    metrics |= share.metrics("ab.share_expected")  # ab.share_expected, ..._low, ..._high
    findings.append(Finding("ab.share", share.values("share")))  # share=0.8, interval=(0.7, 0.9)
    rows.append({"judge": judge} | share.row("share"))  # share, low, high
    if share.against(margin, sign) == "beyond": ...

What has more to say than this holds an `Estimate` in a field (`Claim.estimate`).
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

Outcome = Literal["beyond", "against", "within", "open", "missing"]
Method = Literal["", "studentised", "bounded", "unlimited", "delong", "newcombe"]
Unit = Literal["", "share", "score", "amount", "change", "count", "seconds", "usd", "p"]
"""In what a number is: "share" from 0 to 1, "score" a place on the scale (a mean), "amount" an
amount on it (an error, a width), "change" a difference of two scores with its sign, "count",
"seconds", "usd", "p" a p-value. "" is a number without a unit, such as a correlation. Whoever
computes a number says it, and reports write it so.
"""
UNITS: tuple[Unit, ...] = get_args(Unit)


class Bounds(NamedTuple):
    """The lower and upper ends of many intervals, shape (n,) each."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A number with its interval of confidence `level`; an end that nothing limits is infinite.

    `n` items (or labels) were there, in `n_groups` independent units. `worst` and `best` are the
    lower limit with failed judgments set against the claim and the upper one with them set for it;
    None where none could be set.

    `method` says how the limits were found: "studentised" from the spread and skewness of the
    units, "bounded" from the bounds of the scale alone, as nearly all units agree, "unlimited"
    where nearly all agree and no bounds are known; "delong" and "newcombe" for areas. `se` and `df`
    are the standard error over units and its degrees of freedom, 0 where all units agree, NaN where
    the limits do not come from them. `unit` is that of the value and its limits; `measure` is the
    coefficient that was computed, where the number is not called after it ("agreement" by "kappa").
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    n_groups: int = 0
    n: int = 0
    worst: float | None = None
    best: float | None = None
    method: Method = ""
    se: float = float("nan")
    df: float = float("nan")
    unit: Unit = ""
    measure: str = ""

    @property
    def interval(self) -> tuple[float, float]:
        """Both limits."""
        return self.low, self.high

    @property
    def worst_low(self) -> float:
        """The lower limit with failed judgments against it; `low` where there are none."""
        return self.low if self.worst is None else self.worst

    @property
    def best_high(self) -> float:
        """The upper limit with failed judgments for it; `high` where there are none."""
        return self.high if self.best is None else self.best

    @property
    def widest(self) -> Self:
        """The same with the limits that failed judgments leave in place of its own."""
        return self.replace(low=self.worst_low, high=self.best_high)

    @property
    def hits(self) -> int:
        """How many of the `n` a share counts."""
        return round(self.value * self.n)

    def __neg__(self) -> Self:
        """Turn the estimate round: to B minus A from A minus B."""
        return self.replace(
            value=-self.value,
            low=-self.high,
            high=-self.low,
            worst=None if self.best is None else -self.best,
            best=None if self.worst is None else -self.worst,
        )

    def replace(self, **changes: Any) -> Self:
        """Make a copy with other values of some fields."""
        return replace(self, **changes)

    def against(
        self,
        margin: float,
        sign: int = 1,
        *,
        about: float = 0.0,
        inner: Self | None = None,
    ) -> Outcome:
        """Say what the interval shows of the difference to `about`, against a margin.

        "beyond": all of it lies beyond the margin on the expected side. "against": beyond the
        margin on the other side. "within": `inner` lies within the margin on both sides. "missing":
        it would be beyond or against, but failed judgments could turn it. "open": none of these.

        Args:
            margin: 0 or more, in the unit of the value; with 0 nothing is "within".
            sign: +1 if a high value is expected, else -1.
            about: What the value is compared with, in its unit.
            inner: The interval by which two one-sided tests decide; None: this one.
        """
        inner = self if inner is None else inner
        # The interval lies wholly beyond; that the value does would be so by chance in
        # half of the samples at the margin.
        if self.low - about > margin:
            outcome: Outcome = "beyond" if sign > 0 else "against"
            # What is shown by the judgments that there are is withheld where those that
            # failed could undo it.
            return outcome if self.worst_low - about > margin else "missing"
        if self.high - about < -margin:
            outcome = "against" if sign > 0 else "beyond"
            return outcome if self.best_high - about < -margin else "missing"
        # A difference of which nothing is shown is not shown to be small: that takes both ends.
        inside = inner.low - about > -margin and inner.high - about < margin
        return "within" if inside else "open"

    def metrics(self, name: str) -> dict[str, float]:
        """Name three metrics `name`, `name_low` and `name_high`; also three columns of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def values(self, name: str = "estimate", prefix: str = "") -> dict[str, Any]:
        """Name the values of a sentence: `name`, and `interval` (with `prefix` before it)."""
        return {name: self.value, f"{prefix}interval": self.interval}

    def row(self, name: str = "estimate", prefix: str = "") -> dict[str, float]:
        """Name the columns of a row: `name`, `low` and `high` (with `prefix` before these two)."""
        return {name: self.value, f"{prefix}low": self.low, f"{prefix}high": self.high}


def unknown(level: float = 0.95, n_groups: int = 0, n: int = 0) -> Estimate:
    """Make the estimate of what does not exist for these data: NaN, with n known."""
    return Estimate(float("nan"), float("nan"), float("nan"), level, n_groups, n)
