"""The jobs of a sweep by how their scores follow human labels: numbers per job, and the correlations compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from undogmatic.stats import jackknife
from undogmatic.stats.coefficients import PEARSON
from undogmatic.stats.ranking import RANK_CORRELATION
from undogmatic.sweep.family import NOISE, UNKNOWN, Comparison, Limits, Outcome, twins
from undogmatic.sweep.jobs import Job
from undogmatic.sweep.whole import Both, LeftOuts, judged_both

HEADLINE = "labelled.spearman"
"""Jobs that this metric ranks are compared by what it says."""
NUMBERS = ("spearman", "pearson", "mae")
_FEWEST_GROUPS = 5  # fewer say nothing of a correlation
_CORRELATIONS = {"spearman": RANK_CORRELATION, "pearson": PEARSON}
FOLLOWING = tuple(_CORRELATIONS)
_HALVINGS = 30
"""Of the range of a p-value, which is then known to a billionth."""


def compare_following(finished: Mapping[str, Job]) -> list[Comparison]:
    """Every two jobs by FOLLOWING, on the labelled texts that both judged, by leaving out groups of texts."""
    both = Following()
    pairs = judged_both(_labelled(finished), finished, "label")
    return [each for pair in pairs for measure in FOLLOWING if (each := both.compare(pair, measure)) is not None]


class Following:
    """Differences of correlations."""

    def __init__(self) -> None:
        self._known = LeftOuts()

    def compare(self, both: Both, measure: str) -> Comparison | None:
        """Left minus right with `jackknife.difference`; the p-value is the level at which its interval meets 0.

        None where there are too few groups, or a correlation does not exist.
        """
        left, right, a, b, texts = both
        n = a["unit"].nunique()
        if n < _FEWEST_GROUPS:
            return None
        if a[["score", "label"]].round(NOISE).equals(b[["score", "label"]].round(NOISE)):
            return Comparison(left, right, measure, 0.0, n, None, lambda _: UNKNOWN)
        one, other = (
            self._known.of(job, items, texts, measure, ["score", "label"], _CORRELATIONS[measure])
            for job, items in ((left, a), (right, b))
        )
        if one is None or other is None:
            return None
        spreads = [1 + own.estimate**2 / 2 if measure == "spearman" else 1.0 for own in (one, other)]

        def limits(alpha: float) -> Limits:
            found = jackknife.difference(one, other, 1 - alpha, (spreads[0], spreads[1]))
            outcome: Outcome = "beyond" if found.low > 0 else "against" if found.high < 0 else "open"
            return Limits(found.low, found.high, outcome, None)

        return Comparison(left, right, measure, one.estimate - other.estimate, n, _p_value(limits), limits)


def _p_value(limits: Callable[[float], Limits]) -> float:
    """The smallest share of errors at which the interval leaves 0 out: the wider the interval, the smaller it is."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if limits(middle).outcome == "open" else (low, middle)
    return high


def following_twins(finished: Mapping[str, Job]) -> dict[str, dict[str, str]]:
    """Per measure of FOLLOWING each job's first twin."""
    same = twins({name: own[["score", "label"]] for name, own in _labelled(finished).items()})
    return dict.fromkeys(FOLLOWING, same)


def following_table(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Correlations and error of the jobs, each with the interval that the job's own report gives; a row per job, empty
    where fewer than two of them are ranked by it."""
    jobs = {name: job for name, job in finished.items() if job.facts.get("headline") == HEADLINE}
    if len(jobs) < 2:
        return pd.DataFrame()
    table = pd.DataFrame({"name": list(jobs)})
    for name in NUMBERS:
        metric = f"labelled.{name}"
        table[name] = [job.metrics.get(metric, np.nan) for job in jobs.values()]
        ends = [(job.metrics.get(f"{metric}_low"), job.metrics.get(f"{metric}_high")) for job in jobs.values()]
        table[f"{name}_interval"] = [None if None in pair else pair for pair in ends]
    table["n_judged"] = [int(job.metrics.get("labelled.judged", 0)) for job in jobs.values()]
    table["n_failed"] = [int(job.metrics.get("labelled.failed", 0)) for job in jobs.values()]
    return table.dropna(axis="columns", how="all")


def _labelled(finished: Mapping[str, Job]) -> dict[str, pd.DataFrame]:
    found = {}
    for name, job in finished.items():
        if job.facts.get("headline") == HEADLINE:
            own = job.scores.dropna(subset=["score", "label"])
            found[name] = pd.DataFrame({"score": own["score"], "label": own["label"], "unit": own["group"]})
    return found
