"""Classes of texts that are held against one another: their scores, failed judgments included, and a word counter's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from undogmatic.analyses.base import Finding, Judged, Standing
from undogmatic.analyses.rivals import LabelledRival, Outcome, labelled_rival
from undogmatic.analyses.truth import units
from undogmatic.stats import limits
from undogmatic.stats.limits import Limits


class Class(NamedTuple):
    """`scores` of the first repeat, NaN where the judgment failed, turned so that high means more of the fault;
    `groups` is what the texts belong to. Shape (n,) each."""

    scores: NDArray[np.float64]
    groups: list[str]


def class_of(judged: Judged, *conditions: str) -> Class:
    """All texts of these conditions."""
    rows = judged.frame[(judged.frame["repeat"] == 0) & judged.frame["condition"].isin(conditions)]
    return Class(judged.sign * rows["score"].to_numpy(dtype=np.float64), units(rows))


def told(judged: Judged, worse: Class, better: Class, level: float) -> Limits:
    """How often a text of the one scores worse than one of the other; each has a judged text."""
    ends = judged.rubric.minimum, judged.rubric.maximum
    scale = ends if judged.sign > 0 else (-ends[1], -ends[0])
    return limits.area(worse.scores, better.scores, worse.groups, better.groups, scale, level)


def family_level(level: float, n: int) -> float:
    """The level of each of `n` intervals that hold together with `level` (Bonferroni)."""
    return 1 - (1 - level) / max(1, n)


def surface(
    judged: Judged, worse: Sequence[str], better: Sequence[str], level: float, rng: np.random.Generator
) -> LabelledRival:
    """Hold the judge against a surface judge fitted to tell the conditions `worse` from `better`."""
    rows = judged.scored()
    rows = rows[rows["condition"].isin([*worse, *better])]
    own = rows["condition"].isin(list(worse)).to_numpy(dtype=np.float64)
    scores = judged.sign * rows["score"].to_numpy(dtype=np.float64)
    return labelled_rival(rows["text"].tolist(), scores, own, units(rows), rng, level=level)


def explained(rival: LabelledRival, keys: Mapping[Outcome, str]) -> tuple[Finding, Standing] | None:
    """The verdict where all limits hold but the surface may be what makes them hold; None where it is not.

    Args:
        rival: The surface judge on these texts.
        keys: The wording of each outcome but "beyond_surface".
    """
    if rival.outcome == "beyond_surface":
        return None
    return Finding(keys[rival.outcome]), "refuted" if rival.outcome == "surface_explains" else "undecided"
