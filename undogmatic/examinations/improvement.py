"""Is the optimised program better than what it was made from, on texts that neither of them has
seen?"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy import special

from undogmatic.examinations.ruling import Ruling, verdict
from undogmatic.examinations.ruling.improvement import (
    IMPROVEMENT,
    Gain,
    ImprovementFacts,
)
from undogmatic.examinations.truth import Margin
from undogmatic.records.results import Finding, Told
from undogmatic.stats import checks, claims, jackknife, quality
from undogmatic.stats.compare import Differences
from undogmatic.stats.estimate import Unit

NAME = "improvement"
BEFORE, AFTER = "baseline", "optimised"
_UNITS: dict[str, Unit] = {"p": "p", "n": "count", "n_groups": "count"}
EXCHANGES = 2000
"""At least; more where the level is so low that so many could not reach it."""
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """What both programs earned on the test split, by the metric that the optimiser raised.

    Attributes:
        metric: Its name.
        values: One row per text or pair: `group`, `baseline`, `optimised` (higher is better; NaN
            where a judgment failed), and, for a metric that ranks, `label` (the other two columns
            then hold scores that should rise with it).
        ranks: Whether it ranks: its value is the share of pairs of labels in the right order.
        falls: Whether it is a distance, which is told as such: the values are its negatives.
        ends: Lowest and highest value that could be earned.
        margin: The smallest gain that matters.
        costs: One row per thing that a program costs: `cost`, `baseline`, `optimised`, per text.
    """

    metric: str
    values: pd.DataFrame
    ranks: bool
    falls: bool
    ends: tuple[float, float]
    margin: Margin
    costs: pd.DataFrame


BOTH = 1.065
"""How much more gain, in units of the scale, both the interval and the signed-rank test need to
find it than the interval alone, at a power of 0.5 and 0.8 (`benchmarks.improvement`). Of shares the
two decide alike."""


def improvement(
    earned: Measured,
    rng: np.random.Generator,
    alpha: float = 0.05,
    target: float = 0.8,
    looks: int = 1,
    unchanged: bool = False,
) -> Told:
    """The verdict on an optimised program.

    Better or worse: the whole interval of the gain lies beyond the margin, and the signed-rank test
    of the groups' means against it (of a metric that ranks: exchanging the two programs' scores
    group by group) has p below the level; the interval alone found a gain that was none in up to
    6.8 % of 600 trials. The level is that of the look (`level_of`). A failed judgment leaves its
    text or pair out; a verdict that does not stand with every failed judgment set to what speaks
    against it is withheld.

    Args:
        alpha: Level of the first look.
        target: Power at which the detectable gain is given.
        looks: How many programs were judged on these test texts, this one included; one that is the
            baseline itself is no look.
        unchanged: Whether the optimised program is the baseline itself, so that there is nothing to
            gain.
    """
    level = level_of(alpha, looks)
    complete = earned.values.dropna(subset=[BEFORE, AFTER])
    ruling = _ruling(earned, complete, rng, level, target, unchanged)
    if ruling.key in ("better", "worse") and len(complete) < len(earned.values):
        # Every failed judgment is set to what speaks against the difference; of a metric that
        # ranks, to the end of the scale that is farthest from where the label would put the text.
        low, high = earned.ends if ruling.key == "better" else earned.ends[::-1]
        rows, upper = earned.values, np.ones(len(earned.values), dtype=np.bool_)
        if earned.ranks:
            upper = (rows["label"] > rows["label"].median()).to_numpy()
        ends = {AFTER: np.where(upper, low, high), BEFORE: np.where(upper, high, low)}
        worst = rows.assign(
            **{
                side: rows[side].fillna(pd.Series(end, rows.index))
                for side, end in ends.items()
            }
        )
        if _ruling(earned, worst, rng, level, target).key != ruling.key:
            ruling = verdict(ruling.rules, replace(ruling.facts, turned=True))
    gain = ruling.facts.gain
    values: dict[str, Any] = {
        "metric": earned.metric,
        "margin": earned.margin.value,
        "alpha": level,
        "power": target,
        "n": len(complete),
        "left_out": len(earned.values) - len(complete),
        "looks": looks,
        "first": alpha,
    }
    values["strict"] = Finding("improvement.strict", dict(values)) if looks > 1 else ""
    tell = Told(NAME)
    table = earned.costs.rename(columns={"cost": "measure"}).assign(
        low=np.nan, high=np.nan, p=np.nan
    )
    rows = table.to_dict("records")
    if gain is not None:
        estimate = (
            gain.gain.replace(low=math.nan, high=math.nan) if unchanged else gain.gain
        )
        numbers = {
            name: getattr(gain, name) for name in ("before", "after", "p", "detectable")
        }
        values |= (
            numbers
            | estimate.values("gain")
            | {
                "n_groups": estimate.n_groups,
                "level": estimate.level,
            }
        )
        numbers = {
            "before": gain.before,
            "after": gain.after,
            "gain": estimate.value,
            "p": gain.p,
            "n": estimate.n,
        }
        numbers |= {
            "n_groups": estimate.n_groups,
            "detectable": gain.detectable,
        } | estimate.metrics("gain")
        for name, value in numbers.items():
            unit = _UNITS.get(name, "")
            number = None if value is None else float(value)
            beside = name in ("before", "after")
            tell.number(number, name, unit=unit, beside_headline=beside)
        low, high = (-estimate if earned.falls else estimate).interval
        told = {
            "measure": earned.metric,
            BEFORE: gain.before,
            AFTER: gain.after,
            "low": low,
            "high": high,
            "p": gain.p,
        }
        rows.insert(0, told)
    tell.number(float(looks), "looks", unit="count")
    if rows:
        table = pd.DataFrame(rows)
        table.insert(3, "change", table[AFTER] - table[BEFORE])
        tell.table("before_after", table, p="p")
    if not unchanged:
        tell.say("looks_again" if looks > 1 else "looks_first", values)
    if gain is not None and gain.detectable is not None and not unchanged:
        tell.say("detectable", values)
    if values["left_out"]:
        tell.say("left_out", values)
    sentence = Finding(
        f"improvement.verdict_{ruling.key}", values, ruling.finding.answer
    )
    headline = None if gain is None else "improvement.gain"
    texts = (Path(__file__).with_name("improvement.texts.yaml"),)
    return tell.result(
        sentence, ruling.standing, headline=headline, relative=True, texts=texts
    )


def level_of(alpha: float, looks: int) -> float:
    """The level of the look of this number at the same test texts: alpha at the first, alpha / (k
    (k - 1)) at the k-th.

    These sum to 2 alpha, however many looks follow. A verdict of this level errs to either side
    with half of it, so that among all looks some program that is no better is called better with a
    probability of alpha at most (Bonferroni's inequality).
    """
    return alpha if looks <= 1 else alpha / (looks * (looks - 1))


def _ruling(
    earned: Measured,
    complete: pd.DataFrame,
    rng: np.random.Generator,
    alpha: float,
    target: float,
    unchanged: bool = False,
) -> Ruling[ImprovementFacts]:
    few = complete["group"].nunique() < claims.fewest_pairs(alpha)
    gain = (
        None
        if few
        else (_ranked if earned.ranks else _mean)(earned, complete, rng, alpha, target)
    )
    identical = bool(np.all(complete[BEFORE].to_numpy() == complete[AFTER].to_numpy()))
    facts = ImprovementFacts(
        gain=gain,
        margin=earned.margin,
        alpha=alpha,
        identical=identical,
        unchanged=unchanged,
    )
    return verdict(IMPROVEMENT, facts)


def _mean(
    earned: Measured,
    rows: pd.DataFrame,
    rng: np.random.Generator,
    alpha: float,
    target: float,
) -> Gain:
    """The gain of a metric that is a mean over texts or pairs."""
    margin = earned.margin.value
    differences = Differences(rows[AFTER] - rows[BEFORE], rows["group"].tolist())
    claimed = differences.claim(margin, alpha, earned.ends[1] - earned.ends[0], target)
    assert claimed is not None, "there are as many groups as a verdict needs"
    p = differences.p_beyond(margin)
    before, after = (
        float(rows[side].mean()) * (-1 if earned.falls else 1)
        for side in (BEFORE, AFTER)
    )
    reach = (claimed.estimate.high - claimed.estimate.low) / 2
    se = claimed.sd / claimed.estimate.n_groups**0.5
    detectable = None
    if np.isfinite(reach) and reach > 0:
        distance = reach + float(special.ndtri(target)) * se
        share = earned.ends == (0.0, 1.0)
        detectable = (
            _of_share(distance, margin, claimed.sd, claimed.estimate.value)
            if share
            else margin + BOTH * distance
        )
        detectable = (
            detectable
            if detectable <= earned.ends[1] - float(rows[BEFORE].mean())
            else None
        )
    return Gain(claimed.outcome, before, after, claimed.estimate, p, detectable)


def _of_share(distance: float, margin: float, sd: float, mean: float) -> float:
    """The detectable gain of a share, whose spread falls as the gain grows: of as many turned pairs
    more go one way.

    It is the gain g with g - margin = distance * sqrt(sd^2 + mean^2 - g^2) / sd, where `distance`
    is that from the margin, were the spread that of the data, and the mean square of the groups'
    differences, sd^2 + mean^2, stays. Where all groups differ alike, so that the distance comes
    from the ends of the scale, it is margin + distance.
    """
    if sd == 0:
        return margin + distance
    k, square = (distance / sd) ** 2, sd**2 + mean**2
    inside = k * (square * (1 + k) - margin**2)
    return (margin + float(inside**0.5)) / (1 + k) if inside > 0 else margin + distance


def _of_ranks(
    distance: float, margin: float, old: jackknife.LeftOut, new: jackknife.LeftOut
) -> float | None:
    """The detectable gain of a share of pairs of labels in order, whose spread falls as it nears
    its end.

    It is the gain g with g - margin = distance * SD(g) / SD, where the optimised program's own SD
    is that of the data times the square root of v(before + g) / v(after), v as in `_variance`; None
    where no possible gain is as large. `old` and `new` are what baseline and optimised program earn
    without each group.
    """
    spread, before, after = np.cov([new.values, old.values]), old.estimate, new.estimate
    two = len(np.unique(new.data[:, 2])) == 2
    variance_now = max(_variance(after, two), 1 / len(new.values) ** 2)
    observed = spread[0, 0] + spread[1, 1] - 2 * spread[0, 1]
    # Where nothing moves, or it is not known without one of the groups, the spread says nothing.
    if not observed > checks.SAME**2:
        return margin + distance if margin + distance <= 1 - before else None

    def lacking(gain: float) -> float:
        scale = (_variance(before + gain, two) / variance_now) ** 0.5
        variance = scale**2 * spread[0, 0] + spread[1, 1] - 2 * scale * spread[0, 1]
        return float(margin + distance * max(0.0, variance / observed) ** 0.5 - gain)

    if lacking(1 - before) > 0:
        return None
    return float(scipy.optimize.brentq(lacking, min(margin, 1 - before), 1 - before))


def _variance(concordance: float, two: bool) -> float:
    """How the variance of a concordance goes with its value, but for a factor: of two labels as
    that of a share, else as under a bivariate normal distribution.

    References:
        Esscher (1924), On a method of determining correlation from the ranks of the variates, for
        Kendall's tau.
    """
    if two:
        return max(0.0, concordance * (1 - concordance))
    half = np.arcsin(np.sin(np.pi * (concordance - 0.5)) / 2)
    return max(0.0, float(1 / 9 - 4 / np.pi**2 * half**2))


def _ranked(
    earned: Measured,
    rows: pd.DataFrame,
    rng: np.random.Generator,
    alpha: float,
    target: float,
) -> Gain:
    """The gain of a metric that ranks texts: the difference of two concordances, by leaving out
    groups."""
    data = rows[[BEFORE, AFTER, "label"]].to_numpy(dtype=np.float64)
    codes = checks.labels(rows["group"].tolist(), "groups", len(rows))

    def of(side: int) -> Callable[[Array], float]:
        return lambda part: quality.concordance(part[:, side], part[:, 2])

    seed = rng.integers(2**32)  # both sides leave out the same groups
    old, new = (
        jackknife.LeftOut(data, of(side), np.random.default_rng(seed), codes)
        for side in (0, 1)
    )
    gain = new.nearly_mean(1 - alpha, (-1.0, 1.0), less=old)
    margin = earned.margin.value
    outcome = gain.against(margin)
    start, by_text = quality.exchange(data[:, 0], data[:, 1], data[:, 2])
    by_group = np.bincount(codes, by_text)
    turned = rng.integers(2, size=(max(EXCHANGES, math.ceil(2 / alpha)), len(by_group)))
    # If nothing was gained, either program's scores of a group might as well be the
    # other's. Sums in another order differ in their last digits, and a tie must count
    # as one.
    beyond = np.abs(start + turned @ by_group) >= abs(gain.value) - checks.SAME
    # The scores as they are count as one of the exchanges, so that p is never 0
    # (Phipson and Smyth 2010).
    p = float((1 + beyond.sum()) / (1 + len(beyond)))
    reach = (gain.high - gain.low) / 2
    quantile = float(special.ndtri(1 - alpha / 2))
    distance = reach * (1 + float(special.ndtri(target)) / quantile)
    detectable = _of_ranks(distance, margin, old, new) if reach > 0 else None
    return Gain(
        "open" if outcome == "within" else outcome,
        old.estimate,
        new.estimate,
        gain,
        p,
        detectable,
    )
