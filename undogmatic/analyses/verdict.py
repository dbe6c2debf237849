"""The rules by which a paired comparison is put into one sentence. docs/verdicts.md explains them to readers."""

from __future__ import annotations

from typing import Literal, NamedTuple

from undogmatic.analyses.length import Control

PairVerdict = Literal[
    "too_few", "identical", "supported", "inconsistent", "confounded", "inseparable", "reversed", "not_supported",
    "underpowered",
]  # fmt: skip


class Evidence(NamedTuple):
    """What the rules look at. `direction` is the rank-biserial correlation, positive in the expected direction.

    `direction` is None where every difference is zero; `detectable` is the smallest difference found with the wanted
    power, in score units, None where the spread gives none.
    """

    n_pairs: int
    fewest_pairs: int
    p_value: float
    direction: float | None
    share_low: float
    control: Control
    detectable: float | None


def decide(evidence: Evidence, alpha: float, relevant: float) -> PairVerdict:  # noqa: PLR0911 - one return per rule
    """The verdict; the first rule that applies.

    Args:
        evidence: The numbers.
        alpha: Significance level.
        relevant: Smallest difference worth finding, in score units.
    """
    if evidence.n_pairs < evidence.fewest_pairs:
        return "too_few"
    if evidence.direction is None:
        return "identical"
    if evidence.p_value < alpha:
        if evidence.direction < 0:
            return "reversed"
        if evidence.share_low <= 0.5:
            return "inconsistent"
        found: dict[Control, PairVerdict] = {
            "survives": "supported",
            "confounded": "confounded",
            "open": "underpowered",
            "inseparable": "inseparable",
        }
        return found[evidence.control]
    if evidence.detectable is None or evidence.detectable > relevant:
        return "underpowered"
    return "not_supported"
