"""Finds how much a cheap judge may decide alone: a threshold on its doubt below which it agrees with the truth at a
stated rate, with a stated confidence."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from undogmatic.stats import checks
from undogmatic.stats.checks import Groups

STEPS = 20
"""Candidate thresholds: shares of the units, evenly spaced. More of them would cost no confidence, since the sequence
stops at the first that fails, but neighbours differ by chance alone."""


class Candidate(NamedTuple):
    """One candidate: `n` units whose doubt is at most `threshold`, of which `n_right` agree throughout.

    `least` is the exact one-sided lower limit of their rate of agreement, `passed` whether it reaches the stated rate.
    """

    threshold: float
    n: int
    n_right: int
    least: float
    passed: bool


class Escalation(NamedTuple):
    """`threshold` is the largest doubt with which the judge decides alone, None where no threshold can be promised.

    `share` is the share of items that it then decides. `steps` are the candidates tried, the strictest first, up to and
    including the first that failed. `needed` is the fewest units, all in agreement, with which a first step can pass.
    """

    threshold: float | None
    share: float
    rate: float
    confidence: float
    needed: int
    n_units: int
    steps: tuple[Candidate, ...]


def units_needed(rate: float, confidence: float, n_wrong: int = 0) -> int:
    """Fewest units, `n_wrong` of which disagree, that show a rate of agreement above `rate`: the lower limit of
    Clopper and Pearson then reaches it.

    Args:
        rate, confidence: As in `find_threshold`.
    """
    checks.share(rate, "rate")
    checks.share(confidence, "confidence")
    if n_wrong < 0:
        raise ValueError(f"`n_wrong` is {n_wrong}; it must be 0 or more.")
    least = max(n_wrong + 1, math.ceil(math.log(1 - confidence) / math.log(rate)))
    units = checks.fewest(lambda n: lower_limit(n - n_wrong, n, confidence) >= rate, least, math.inf)
    assert units is not None, "enough units show any rate below 1"
    return units


def lower_limit(n_true: int, n: int, confidence: float) -> float:
    """Exact one-sided lower limit of a proportion.

    References:
        Clopper and Pearson (1934), doi:10.1093/biomet/26.4.404
    """
    return float(stats.beta.ppf(1 - confidence, n_true, n - n_true + 1)) if n_true else 0.0


def find_threshold(
    doubt: ArrayLike, right: ArrayLike, rate: float = 0.9, confidence: float = 0.95, *, groups: Groups = None
) -> Escalation:
    """The largest doubt below which the judge agrees with the truth at `rate`, with probability `confidence`.

    Fixed-sequence testing: candidates depend on the doubts alone, not on who was right; from the strictest on, each is
    tested at the full level 1 - confidence by the exact binomial test, and the first failure ends the sequence. So the
    probability that the threshold promises more than the truth is at most 1 - confidence, for items drawn like these.
    With `groups`, a group agrees if all of its items below the threshold do, and the promise is for groups; for items
    it is on the safe side, unless the groups that disagree are much larger than the others.

    Args:
        doubt, right: Larger is less sure, any unit; 1 or True where the judge agrees with the truth, else 0.
        rate, confidence: The promised rate of agreement, and the probability with which that holds, in (0, 1).
    References:
        Jung, Brahman and Choi (2024), Trust or escalate. arXiv:2407.18370
        Bauer (1991), Multiple testing in clinical trials. doi:10.1002/sim.4780100609, for fixed sequences.
    """
    u, agrees = checks.paired_vectors(doubt, right, ("doubt", "right"))
    checks.flags(agrees, "right")
    codes = checks.groups(groups, u.size)
    needed, n_units = units_needed(rate, confidence), int(codes.max()) + 1
    surest = np.full(n_units, np.inf)
    np.minimum.at(surest, codes, u)  # a unit is kept in part as soon as its surest item is
    thresholds: list[float] = []
    if n_units >= needed:
        # Distinct doubts at evenly spaced shares of the units, none that keeps fewer units than could ever pass.
        places = np.unique(np.round(np.linspace(needed, n_units, STEPS)).astype(int))
        thresholds = np.unique([*np.sort(surest)[places - 1], u.max()]).tolist()
    steps: list[Candidate] = []
    for threshold in thresholds:
        kept = u <= threshold
        n = np.unique(codes[kept]).size
        n_right = n - np.unique(codes[kept & (agrees == 0)]).size
        low = lower_limit(n_right, n, confidence)
        steps.append(Candidate(threshold, n, n_right, low, low >= rate))
        if low < rate:
            break
    best = max((step.threshold for step in steps if step.passed), default=None)
    share = 0.0 if best is None else float((u <= best).mean())
    return Escalation(best, share, rate, confidence, needed, n_units, tuple(steps))
