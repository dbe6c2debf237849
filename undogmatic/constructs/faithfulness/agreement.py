"""Asks whether judges agree: those of one pillar with one another, and each with itself when it judges again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.analyses.association import associate
from undogmatic.analyses.base import Judged, Unsuited
from undogmatic.analyses.plots import interval
from undogmatic.analyses.reliability import FEWEST_GROUPS, RELIABLE, TENTATIVE
from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.analyses.truth import margin_of
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis, OfComposite
from undogmatic.constructs.faithfulness.pillars import finding, heatmap, square
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding, metric_name
from undogmatic.stats import agreement, coefficients, jackknife, limits
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.proportion import proportion

_NEAR = 1e-6
NOISE = 12
_ALPHA = "judges alpha=alpha.value n level interval=alpha.interval"

AGREEMENT = Rules("agreement.verdict_", (
    Rule("none", "undecided", lambda e: e.alpha is None, "judges"),
    Rule("few", "undecided", lambda e: e.groups < e.needed, f"{_ALPHA} groups needed"),
    Rule("agree", "supported", lambda e: e.tentative == e.reliable == "above", _ALPHA),
    Rule("roughly", "supported", lambda e: e.tentative == "above", f"{_ALPHA} bound"),
    Rule("missing", "undecided", lambda e: e.tentative == "missing", _ALPHA),
    Rule("disagree", "refuted", lambda e: e.tentative == "below", f"{_ALPHA} bound"),
    Rule("open", "undecided", always, f"{_ALPHA} bound"),
))  # fmt: skip
CONSISTENCY = Rules("consistency.verdict_", (
    Rule("moves", "refuted", lambda e: e.moved, "margin=margin.value level names=moved"),
    Rule("same", "supported", lambda e: e.margin.equivalence and e.within, "judges margin=margin.value level"),
    Rule("few", "undecided", lambda e: e.few, "groups fewest judges"),
    Rule("open", "undecided", always, "judges margin=margin.value level"),
))  # fmt: skip


@dataclass(frozen=True)
class AgreementAnalysis(OfComposite):
    """Agreement of the judges of one pillar, over the texts that both of a pair judged; failures are counted. Names the
    judge that agrees least with the rest.

    Args:
        composite: What the composite is made of.
        pillar: The pillar with several judges.
        categories: The values that a criterion may have, in score units, for kappa; () leaves kappa out.
        level: Confidence level of every interval.
    """

    name: ClassVar[str] = "agreement"
    composite: CompositeAnalysis
    pillar: str = "judge"
    categories: Sequence[float] = ()
    level: float = 0.95

    def check(self, judged: Judged) -> None:
        """Raises Unsuited with fewer than two judges of the pillar."""
        super().check(judged)
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
        metrics: dict[str, float] = {}
        coefficients_of = {"tau": "tau"} | {f"kappa_{c}": f"kappa.{c}" for c in self._criteria()}
        for row in pairs.to_dict("records"):
            kappas = {c: row[f"kappa_{c}"] for c in self._criteria() if not np.isnan(row[f"kappa_{c}"])}
            more = {"interval": (row["tau_low"], row["tau_high"]), "kappas": kappas}
            findings.append(finding("agreement.pair", row | more, "left right n left_out tau p interval kappas"))
            for column, name in coefficients_of.items():
                if not np.isnan(row[column]):
                    metric = metric_name("agreement", name, f"{row['left']}-{row['right']}")
                    metrics |= interval(metric, row[column], row[f"{column}_low"], row[f"{column}_high"])
        ratings = voices.to_numpy(dtype=np.float64).T
        ends = judged.rubric.minimum, judged.rubric.maximum
        alpha = None
        if (~np.isnan(ratings)).sum(axis=0).max() > 1:
            alpha = limits.alpha(ratings, ends, groups=groups.tolist(), level=self.level)
        if alpha is not None:
            metrics |= alpha.metrics("agreement.alpha")
        matrix = square(pairs, list(voices.columns), "tau")
        table, weakest = self._weakest(voices, groups, matrix, rng)
        metrics |= {metric_name("agreement.mean_tau", row.voice): float(row.mean_tau) for row in table.itertuples()}
        rated = voices.notna().sum(axis=1) >= 2
        evidence = SimpleNamespace(
            judges=voices.shape[1],
            n=int(rated.sum()),
            groups=int(groups[rated].nunique()),
            needed=FEWEST_GROUPS,
            level=self.level,
            alpha=alpha,
            bound=TENTATIVE,
            tentative=alpha and limits.hold(alpha, TENTATIVE).outcome,
            reliable=alpha and limits.hold(alpha, RELIABLE).outcome,
        )
        ruling = verdict(AGREEMENT, evidence)
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"pairs": pairs, "voices": table},
                [*findings, *weakest],
                [heatmap("matrix", matrix, "tau", limits=(-1.0, 1.0))],
                ruling.finding,
                ruling.standing,
                headline="agreement.alpha" if alpha is not None else None,
            )
        ]

    def _criteria(self) -> list[str]:
        return self.composite.pillars.of(self.pillar)

    def _pairs(self, judged: Judged, voices: pd.DataFrame, groups: pd.Series, rng: np.random.Generator) -> pd.DataFrame:
        first = judged.frame[judged.frame["repeat"] == 0]
        wide = first.pivot(index="item_id", columns=["judge", "criterion"], values="score").reindex(voices.index)
        rows = []
        for left, right in itertools.combinations(voices.columns, 2):
            tau = associate("kendall", voices[left], voices[right], groups, rng, self.level)
            row: dict[str, Any] = {"left": left, "right": right, "n": tau.estimate.n}
            row |= {"left_out": len(voices) - tau.estimate.n} | tau.estimate.metrics("tau") | {"p": tau.p}
            both = voices[left].notna() & voices[right].notna()
            for criterion in self._criteria():
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
        return nothing if found is None else (found.value, found.low, found.high)

    def _weakest(
        self, voices: pd.DataFrame, groups: pd.Series, matrix: pd.DataFrame, rng: np.random.Generator
    ) -> tuple[pd.DataFrame, list[Finding]]:
        """Mean tau of each judge with the others, what it weighs in the composite, and whether the lowest is shown."""
        weight = self.composite.weights[self.pillar] / voices.shape[1]
        mean = (np.nansum(matrix.to_numpy(), axis=1) - 1) / (voices.shape[1] - 1)
        table = pd.DataFrame({"voice": voices.columns, "mean_tau": mean, "weight": weight})
        table["failed"] = voices.isna().sum().to_numpy()
        table = table.sort_values("mean_tau", kind="stable").reset_index(drop=True)
        if voices.shape[1] < 3 or not np.isfinite(matrix.to_numpy()).all():
            return table, []
        low, second = (list(voices.columns).index(table["voice"][n]) for n in (0, 1))
        values: dict[str, Any] = {"judge": table["voice"][0], "tau": table["mean_tau"][0], "weight": weight}
        values |= {"second": table["voice"][1], "tau_second": table["mean_tau"][1], "interval": (None, None)}
        rated_by_all = groups[voices.notna().all(axis=1)].tolist()
        shown = False
        if len(set(rated_by_all)) > 1:
            data = voices.dropna().to_numpy(dtype=np.float64)
            held = jackknife.interval(data, _Behind(low, second), rng, self.level, groups=rated_by_all)
            values["interval"] = (2 * held.low, 2 * held.high)
            shown = held.high < 0
        return table, [Finding("agreement.weakest" if shown else "agreement.lowest", values)]


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


@dataclass(frozen=True)
class ConsistencyAnalysis(OfComposite):
    """Every later judgment of a text against the first one of the same judge, pillar by pillar.

    Args:
        composite: What the composite is made of.
        close: Difference, in score units, up to which two scores count as close.
        margin: Largest mean change that does not matter; None takes the rubric's.
        level: Of all claims together.
    """

    name: ClassVar[str] = "consistency"
    composite: CompositeAnalysis
    close: float = 0.1
    margin: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.close >= 0:
            raise ConfigError(f"`analysis.close` is {self.close}; it must be 0 or more.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited where nothing was judged a second time."""
        super().check(judged)
        if judged.frame["repeat"].max() < 1:
            raise Unsuited(
                "analysis=consistency compares judgments of the same texts by the same judges, and each was made once. "
                "Set run.repeats=2, or give the table the later judgments (a column `repeat`)."
            )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `consistency.mean_change`, the largest of all judges."""
        self.check(judged)
        margin = margin_of(judged.rubric, self.margin)
        changes = self._changes(judged)
        alpha = (1 - self.level) / max(1, changes.groupby(["pillar", "voice"]).ngroups if len(changes) else 1)
        rows: list[dict[str, Any]] = []
        claims: list[tuple[str, Claim | None]] = []
        for (pillar, voice), own in changes.groupby(["pillar", "voice"], sort=False) if len(changes) else ():
            size = own["change"].abs().round(NOISE)
            held = None
            if own["group"].nunique() > 1:
                held = claim(size, margin.value, alpha=alpha, groups=own["group"].tolist(), bounds=(0.0, margin.span))
            exact = proportion((size == 0).to_numpy(), self.level, groups=own["group"].tolist())
            row = {"voice": voice, "pillar": pillar, "n": len(own), "mean_change": float(size.mean())}
            row |= {"low": held.estimate.low if held else np.nan, "high": held.estimate.high if held else np.nan}
            row |= {"mean_shift": float(own["change"].mean()), "largest": float(size.max())}
            row |= {"exact_rate": exact.value, "exact_rate_low": exact.low, "exact_rate_high": exact.high}
            rows.append(row | {"close_rate": float((size <= self.close + 1e-9).mean())})
            claims.append((str(voice), held))
        table = pd.DataFrame(rows)
        metrics: dict[str, float] = {}
        for row in rows:
            for key in ("mean_change", "mean_shift", "largest", "exact_rate", "close_rate"):
                metrics[metric_name("consistency", key, row["voice"])] = row[key]
        if rows:
            metrics["consistency.mean_change"] = float(table["mean_change"].max())
        used = "voice n mean_change largest exact_rate close close_rate"
        findings = [finding("consistency.one", row | {"close": self.close}, used) for row in rows]
        held_claims = [held for _, held in claims]
        evidence = SimpleNamespace(
            judges=len(claims),
            margin=margin,
            level=self.level,
            moved=[voice for voice, held in claims if held is not None and held.outcome == "beyond"],
            within=bool(claims) and all(held is not None and held.outcome == "within" for held in held_claims),
            few=not claims or any(held is None or held.reason == "too_few" for held in held_claims),
            groups=min((0 if held is None else held.estimate.n_groups for held in held_claims), default=0),
            fewest=max((held.fewest for held in held_claims if held is not None), default=2),
        )
        ruling = verdict(CONSISTENCY, evidence)
        headline = "consistency.mean_change" if rows else None
        tables = {"judges": table} if rows else {}
        return [AnalysisResult(self.name, metrics, tables, findings, [], ruling.finding, ruling.standing, headline)]

    def _changes(self, judged: Judged) -> pd.DataFrame:
        """Columns pillar, voice, group, change: a row per text judged again without a failure on either side."""
        first = self.composite.pillars.scores(judged)
        rows = []
        for repeat in range(1, int(judged.frame["repeat"].max()) + 1):
            later = self.composite.pillars.scores(judged, repeat)
            for pillar, voices in later.voices.items():
                for voice in voices:
                    change = (voices[voice] - first.voices[pillar][voice]).dropna()
                    found = pd.DataFrame({"group": first.about["group"].reindex(change.index), "change": change})
                    rows.append(found.assign(pillar=pillar, voice=voice))
        kept = [each for each in rows if len(each)]
        return pd.concat(kept, ignore_index=True) if kept else pd.DataFrame(columns=["pillar", "voice"])
