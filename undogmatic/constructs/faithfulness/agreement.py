"""Judges of the same texts against each other: do they agree, and which agrees least with the rest?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.association import associate
from undogmatic.analyses.base import Judged, Unsuited, check_level
from undogmatic.analyses.plots import interval
from undogmatic.analyses.reliability import FEWEST_GROUPS, RELIABLE, TENTATIVE
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.pillars import Scores, finding
from undogmatic.records.results import AnalysisResult, FigureData, Finding, Standing, metric_name
from undogmatic.stats import agreement, coefficients, jackknife, limits

_NEAR = 1e-6


@dataclass(frozen=True)
class AgreementAnalysis:
    """Agreement of the judges of one pillar, over the texts that both of a pair judged; failures are counted.

    Args:
        composite: What the composite is made of.
        pillar: The pillar with several judges.
        categories: The values that a criterion may have, in score units, for kappa; () leaves kappa out.
        level: Confidence level of every interval.
    """

    name: ClassVar[str] = "agreement"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    pillar: str = "judge"
    categories: Sequence[float] = ()
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited with fewer than two judges of the pillar."""
        self.composite.check(judged)
        voices = self.composite.pillars.scores(judged).voices.get(self.pillar)
        if voices is None or voices.shape[1] < 2:
            there = 0 if voices is None else voices.shape[1]
            raise Unsuited(
                f"analysis=agreement compares the judges of the pillar {self.pillar!r}, of which there are {there}. "
                "Name another pillar with analysis.pillar, or have the texts judged by a second judge."
            )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `agreement.alpha`."""
        self.check(judged)
        scores = self.composite.pillars.scores(judged)
        voices, groups = scores.voices[self.pillar], scores.about["group"]
        pairs = self._pairs(judged, voices, groups, rng)
        findings = [
            Finding("agreement.failed", {"judge": judge, "n": int(n), "total": len(voices)})
            for judge, n in voices.isna().sum().items()
            if n
        ]
        findings += [Finding("agreement.pair", self._said(row)) for row in pairs.to_dict("records")]
        metrics = self._metrics(pairs)
        ratings = voices.to_numpy(dtype=np.float64).T
        ends = judged.rubric.minimum, judged.rubric.maximum
        alpha = None
        if (~np.isnan(ratings)).sum(axis=0).max() > 1:
            alpha = limits.alpha(ratings, ends, groups=groups.tolist(), level=self.level)
        if alpha is not None:
            metrics |= interval("agreement.alpha", alpha.estimate, alpha.low, alpha.high)
        weakest, said, own = self._weakest(scores, voices, groups, pairs, rng)
        verdict, standing = self._verdict(alpha, voices, groups)
        matrix = _matrix(pairs, list(voices.columns))
        figure = {"matrix": matrix, "rows": list(voices.columns), "columns": list(voices.columns), "label": "tau"}
        return [
            AnalysisResult(
                self.name,
                metrics | own,
                {"pairs": pairs, "voices": weakest},
                [*findings, *said],
                [FigureData("matrix", "heatmap", figure | {"limits": (-1.0, 1.0)})],
                verdict,
                standing,
                headline="agreement.alpha" if alpha is not None else None,
            )
        ]

    def _pairs(self, judged: Judged, voices: pd.DataFrame, groups: pd.Series, rng: np.random.Generator) -> pd.DataFrame:
        first = judged.frame[judged.frame["repeat"] == 0]
        wide = first.pivot(index="item_id", columns=["judge", "criterion"], values="score").reindex(voices.index)
        rows = []
        for left, right in itertools.combinations(voices.columns, 2):
            tau = associate("kendall", voices[left], voices[right], groups, rng, self.level)
            row: dict[str, Any] = {"left": left, "right": right, "n": tau.n, "left_out": len(voices) - tau.n}
            row |= {"tau": tau.estimate, "tau_low": tau.low, "tau_high": tau.high, "p": tau.p}
            both = voices[left].notna() & voices[right].notna()
            for criterion in self.composite.pillars.of(self.pillar):
                own = self._kappa(wide[(left, criterion)][both], wide[(right, criterion)][both], groups[both], rng)
                row |= {f"kappa_{criterion}{end}": value for end, value in zip(("", "_low", "_high"), own, strict=True)}
            rows.append(row)
        return pd.DataFrame(rows)

    def _kappa(
        self, a: pd.Series, b: pd.Series, groups: pd.Series, rng: np.random.Generator
    ) -> tuple[float, float, float]:
        """Quadratic weighted kappa with its interval; NaN where scores are no categories, or all one."""
        nothing = (np.nan, np.nan, np.nan)
        if not len(self.categories) or a.empty:
            return nothing
        levels = np.asarray(self.categories, dtype=np.float64)
        x, y = (agreement.nearest_level(each.to_numpy(dtype=np.float64), levels) for each in (a, b))
        if max(np.abs(x - a.to_numpy(dtype=float)).max(), np.abs(y - b.to_numpy(dtype=float)).max()) > _NEAR:
            return nothing
        found = coefficients.kappa_interval(x, y, levels, rng, level=self.level, groups=groups.tolist())
        return nothing if found is None else (found.estimate, found.low, found.high)

    def _said(self, row: dict[str, Any]) -> dict[str, Any]:
        kappas = {
            key.removeprefix("kappa_"): value
            for key, value in row.items()
            if key.startswith("kappa_") and not key.endswith(("_low", "_high")) and value == value  # noqa: PLR0124
        }
        shown = ("left", "right", "n", "left_out", "tau", "p")
        return {k: row[k] for k in shown} | {"interval": (row["tau_low"], row["tau_high"]), "kappas": kappas}

    def _metrics(self, pairs: pd.DataFrame) -> dict[str, float]:
        names = {"tau": "tau"} | {f"kappa_{c}": f"kappa.{c}" for c in self.composite.pillars.of(self.pillar)}
        metrics: dict[str, float] = {}
        for row in pairs.to_dict("records"):
            for column, name in names.items():
                if not np.isnan(row[column]):
                    own = metric_name("agreement", name, f"{row['left']}-{row['right']}")
                    metrics |= interval(own, row[column], row[f"{column}_low"], row[f"{column}_high"])
        return metrics

    def _weakest(
        self, scores: Scores, voices: pd.DataFrame, groups: pd.Series, pairs: pd.DataFrame, rng: np.random.Generator
    ) -> tuple[pd.DataFrame, list[Finding], dict[str, float]]:
        """Mean tau of each judge with the others, what it weighs in the composite, and whether the lowest is shown."""
        weight = self.composite.weights[self.pillar] / voices.shape[1]
        matrix = np.asarray(_matrix(pairs, list(voices.columns)))
        mean = (np.nansum(matrix, axis=1) - 1) / (voices.shape[1] - 1)
        table = pd.DataFrame({"voice": voices.columns, "mean_tau": mean, "weight": weight})
        table["failed"] = voices.isna().sum().to_numpy()
        table = table.sort_values("mean_tau", kind="stable").reset_index(drop=True)
        metrics = {metric_name("agreement.mean_tau", row.voice): float(row.mean_tau) for row in table.itertuples()}
        if voices.shape[1] < 3 or not np.isfinite(matrix).all():
            return table, [], metrics
        low, second = (list(voices.columns).index(table["voice"][n]) for n in (0, 1))
        data = voices.dropna().to_numpy(dtype=np.float64)
        values: dict[str, Any] = {"judge": table["voice"][0], "tau": table["mean_tau"][0], "weight": weight}
        values |= {"second": table["voice"][1], "tau_second": table["mean_tau"][1], "interval": (None, None)}
        own = groups[voices.notna().all(axis=1)].tolist()
        shown = False
        if len(set(own)) > 1:
            held = jackknife.interval(data, _Behind(low, second), rng, self.level, groups=own)
            values["interval"] = (2 * held.low, 2 * held.high)
            shown = held.high < 0
        return table, [Finding("agreement.weakest" if shown else "agreement.lowest", values)], metrics

    def _verdict(
        self, alpha: limits.Limits | None, voices: pd.DataFrame, groups: pd.Series
    ) -> tuple[Finding, Standing]:
        rated = voices.notna().sum(axis=1) >= 2
        values: dict[str, Any] = {"judges": voices.shape[1], "n": int(rated.sum())}
        values |= {"groups": int(groups[rated].nunique()), "needed": FEWEST_GROUPS, "level": self.level}
        values |= {"alpha": None if alpha is None else alpha.estimate, "interval": (None, None), "bound": TENTATIVE}
        if alpha is None:
            return finding("agreement.verdict_none", values, "judges"), "undecided"
        values["interval"] = (alpha.low, alpha.high)
        if values["groups"] < FEWEST_GROUPS:
            return finding("agreement.verdict_few", values, "judges alpha n level interval groups needed"), "undecided"
        held = limits.hold(alpha, TENTATIVE)
        if held.outcome == "above":
            if limits.hold(alpha, RELIABLE).outcome == "above":
                return finding("agreement.verdict_agree", values, "judges alpha n level interval"), "supported"
            return finding("agreement.verdict_roughly", values, "judges alpha n level interval bound"), "supported"
        if held.outcome == "missing":
            return finding("agreement.verdict_missing", values, "judges alpha n level interval"), "undecided"
        key = "agreement.verdict_disagree" if held.outcome == "below" else "agreement.verdict_open"
        said = finding(key, values, "judges alpha n level interval bound")
        return said, "refuted" if held.outcome == "below" else "undecided"


class _Behind:
    """Half of what the mean tau of one column with the others lies above that of another one."""

    def __init__(self, one: int, other: int) -> None:
        self.one, self.other = one, other

    def __call__(self, rows: NDArray[np.float64]) -> float:
        from scipy import stats

        n = rows.shape[1]
        means = [
            np.mean([stats.kendalltau(rows[:, own], rows[:, k]).statistic for k in range(n) if k != own])
            for own in (self.one, self.other)
        ]
        return float(means[0] - means[1]) / 2


def _matrix(pairs: pd.DataFrame, judges: Sequence[str]) -> list[list[float]]:
    found = np.eye(len(judges))
    for row in pairs.itertuples():
        a, b = judges.index(row.left), judges.index(row.right)
        found[a, b] = found[b, a] = row.tau
    return [list(map(float, row)) for row in found]
