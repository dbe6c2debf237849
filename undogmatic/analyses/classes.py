"""Classes of texts that are held against one another: their scores, failed judgments included, and a word counter's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from undogmatic.analyses.base import Judged
from undogmatic.analyses.labelled_rival import LabelledRival, known_surface, labelled_rival
from undogmatic.analyses.rivals import MOST_TEXTS, Outcome, similarities
from undogmatic.analyses.truth import units
from undogmatic.records.results import Finding, Standing
from undogmatic.stats import crossfit, jackknife, limits
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
    """Hold the judge against a surface judge fitted to tell the conditions `worse` from `better`.

    The judge must beat it in the area under the ROC curve, too: of two that tell the classes apart without a fault, the
    one with fewer different scores has the higher rank correlation with a class.
    """
    rows = judged.scored()
    rows = rows[rows["condition"].isin([*worse, *better])]
    rows = rows[_drawn(units(rows), rng)]
    own = rows["condition"].isin(list(worse)).to_numpy(dtype=np.float64)
    scores = judged.sign * rows["score"].to_numpy(dtype=np.float64)
    texts, groups = rows["text"].astype(str).tolist(), units(rows)
    known = known_surface(judged.rubric.rivals, texts)
    rival = labelled_rival(texts, scores, own, groups, rng, level=level, known=known)
    if rival.outcome != "beyond_surface":
        return rival
    similar = similarities(texts, known)[1]
    guess = crossfit.predict(similar, own, pd.factorize(np.asarray(groups, dtype=object))[0], rng)
    try:
        gain = jackknife.nearly_mean(
            np.column_stack([scores, guess, own]), _gain, rng, level, groups=groups, bounds=(-1, 1)
        )
    except ValueError:
        return rival._replace(outcome="open")
    return rival if gain.low > 0 else rival._replace(outcome="surface_as_good")


def _gain(columns: NDArray[np.float64]) -> float:
    """The area of the first column minus that of the second, or one half, for telling where the third is 1."""
    own = columns[:, 2] == 1
    n, others = int(own.sum()), int((~own).sum())
    if n == 0 or others == 0:
        return float("nan")
    sums = stats.rankdata(columns[:, :2], axis=0)[own].sum(axis=0)
    areas = (sums - n * (n + 1) / 2) / (n * others)
    return float(areas[0] - max(0.5, areas[1]))


def _drawn(groups: list[str], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which rows to keep: all, or those of groups in random order up to MOST_TEXTS rows."""
    codes = pd.factorize(np.asarray(groups, dtype=object))[0]
    sizes = np.bincount(codes)
    order = rng.permutation(sizes.size) if codes.size > MOST_TEXTS else np.arange(sizes.size)
    return np.isin(codes, order[np.cumsum(sizes[order]) <= MOST_TEXTS])


def outdone(rival: LabelledRival, keys: Mapping[Outcome, str]) -> tuple[Finding, Standing] | None:
    """The verdict where all limits hold but the surface may be what makes them hold; None where it is not.

    Args:
        rival: The surface judge on these texts.
        keys: The wording of each outcome but "beyond_surface".
    """
    if rival.outcome == "beyond_surface":
        return None
    return Finding(keys[rival.outcome]), "refuted" if rival.outcome == "surface_explains" else "undecided"
