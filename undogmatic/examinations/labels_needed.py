"""Says how many labels an answer takes before there are any, from how far the judge is expected to
agree with people."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from undogmatic.examinations import kinds, surface_rival
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Kind
from undogmatic.stats import planning
from undogmatic.stats.planning import Expected, Order, TwoKinds

CHANCES = (0.5, 0.8, 0.9)
"""Of a yes, for which the numbers of labels are told."""
MOST = planning.MOST
"""More labels are not looked at."""


class Needed(NamedTuple):
    """How many labels an answer takes, for each of CHANCES, by the way in which they are drawn:
    "random" or "by_verdict"; None where MOST are too few.

    `value` is the agreement beyond chance that is expected, `least` the one that is asked for,
    `rarer` the share of the rarer label and `fewest` how many of it there must be.
    """

    value: float
    least: float
    rarer: float
    fewest: int
    by_way: Mapping[str, Sequence[int | None]]

    @property
    def is_out_of_reach(self) -> bool:
        """Whether no number of labels would give a yes."""
        return self.value <= self.least or None in self.by_way["random"]

    @property
    def way(self) -> str:
        """How labels should be drawn: at random, which needs no verdicts beforehand, unless the
        other way saves a quarter."""
        worth = {"random": 0.75, "by_verdict": 1.0}
        return min(
            self.by_way, key=lambda name: worth[name] * (self.by_way[name][1] or MOST)
        )


def labels_needed(
    kind: Kind, agreement: float, prevalence: float, options: CheckOptions
) -> Needed:
    """Say how many labels `undogmatic check` will need.

    Args:
        kind: Of the verdicts.
        agreement: The share of items on which the judge will agree with people; of numbers the rank
            correlation.
        prevalence: The share of the items that have one of two labels.
    """
    least = options.least_of(kind)
    rarer = min(prevalence, 1 - prevalence)
    fewest = kinds.FEWEST_RARER if rarer < kinds.MINOR else 0
    ways = _ways(kind, agreement, rarer, fewest)
    by_way = {
        name: planning.labels_needed(
            expected,
            least,
            surface_rival.least_left,
            CHANCES,
            level=options.level,
            fewest=kinds.FEWEST,
        )
        for name, expected in ways.items()
    }
    return Needed(ways["random"].agreement, least, rarer, fewest, by_way)


def _ways(
    kind: str, agreement: float, rarer: float, fewest: int
) -> dict[str, Expected]:
    """The judge that is expected, by each way in which labels may be drawn."""
    if kind == "numeric":
        return {"random": Order(agreement)}
    random = TwoKinds(rarer, agreement, fewest=fewest)
    if kind == "pairwise":
        return {"random": random}
    return {"random": random, "by_verdict": TwoKinds(rarer, agreement, True, fewest)}
