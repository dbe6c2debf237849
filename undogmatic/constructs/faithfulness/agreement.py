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
from undogmatic.analyses.base import LongTable, NotNegative, Share, Unsuited
from undogmatic.analyses.reliability import FEWEST_GROUPS, RELIABLE, TENTATIVE
from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.analyses.truth import margin_of
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis, OfComposite
from undogmatic.constructs.faithfulness.pillars import draw_heatmap, known, square
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import agreement, coefficients, jackknife, limits
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Estimate, unknown
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
    level: Share = 0.95

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited with fewer than two judges of the pillar."""
        super().check(judged)
        voices = self.composite.pillars.scores(judged).voices.get(self.pillar)
        if voices is None or voices.shape[1] < 2:
            there = 0 if voices is None else voices.shape[1]
            raise Unsuited(
                f"analysis=agreement compares the judges of the pillar {self.pillar!r}, of which there are {there}. "
                "Name another pillar with analysis.pillar, or have the texts judged by a second judge."
            )

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `agreement.alpha`."""
        self.check(judged)
        tell, scores = Telling(self.name), self.composite.pillars.scores(judged)
        voices, groups = scores.voices[self.pillar], scores.about["group"]
        for judge, n in voices.isna().sum().items():
            if n:
                tell.say("failed", judge=judge, n=int(n), total=len(voices))
        tell.tables["pairs"] = pairs = self._pairs(tell, judged, voices, groups, rng)
        ratings = voices.to_numpy(dtype=np.float64).T
        ends = judged.rubric.minimum, judged.rubric.maximum
        alpha = None
        if (~np.isnan(ratings)).sum(axis=0).max() > 1:
            alpha = limits.alpha(ratings, ends, groups=groups.tolist(), level=self.level)
        tell.number(alpha, "alpha")
        matrix = square(pairs, list(voices.columns), "tau")
        self._weakest(tell, voices, groups, matrix, rng)
        draw_heatmap(tell, "matrix", matrix, "tau", limits=(-1.0, 1.0))
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
        headline = None if alpha is None else "agreement.alpha"
        return [tell.result(*verdict(AGREEMENT, evidence).decided, headline=headline)]

    def _pairs(
        self, tell: Telling, judged: LongTable, voices: pd.DataFrame, groups: pd.Series, rng: np.random.Generator
    ) -> pd.DataFrame:
        """Kendall's tau of every two judges, and kappa for each criterion."""
        first = judged.frame[judged.frame["repeat"] == 0]
        wide = first.pivot(index="item_id", columns=["judge", "criterion"], values="score").reindex(voices.index)
        rows = []
        for left, right in itertools.combinations(voices.columns, 2):
            tau, p = associate("kendall", voices[left], voices[right], groups, rng, self.level)
            both = voices[left].notna() & voices[right].notna()
            kappas = {
                criterion: self._kappa(wide[left, criterion][both], wide[right, criterion][both], groups[both], rng)
                for criterion in self.composite.pillars.of(self.pillar)
            }
            counts = {"left": left, "right": right, "n": tau.n, "left_out": len(voices) - tau.n}
            row = counts | tau.metrics("tau") | {"p": p}
            for name, estimate in {"tau": tau, **{f"kappa.{c}": kappa for c, kappa in kappas.items()}}.items():
                row |= estimate.metrics(name.replace(".", "_", 1))
                tell.number(known(estimate), name, f"{left}-{right}")
            shown = {c: kappa.value for c, kappa in kappas.items() if known(kappa)}
            tell.say("pair", counts, tau.values("tau"), p=p, kappas=shown)
            rows.append(row)
        return pd.DataFrame(rows)

    def _kappa(self, a: pd.Series, b: pd.Series, groups: pd.Series, rng: np.random.Generator) -> Estimate:
        """Quadratic weighted kappa with its interval; NaN where scores are no categories, or all one."""
        if not len(self.categories) or a.empty:
            return unknown()
        levels, own = (
            np.asarray(self.categories, dtype=np.float64),
            [each.to_numpy(dtype=np.float64) for each in (a, b)],
        )
        x, y = (agreement.nearest_level(each, levels) for each in own)
        if max(np.abs(x - own[0]).max(), np.abs(y - own[1]).max()) > _NEAR:
            return unknown()
        return coefficients.kappa_interval(x, y, levels, rng, level=self.level, groups=groups.tolist()) or unknown()

    def _weakest(
        self, tell: Telling, voices: pd.DataFrame, groups: pd.Series, matrix: pd.DataFrame, rng: np.random.Generator
    ) -> None:
        """Mean tau of each judge with the others, what it weighs in the composite, and whether the lowest is shown."""
        weight = self.composite.weights[self.pillar] / voices.shape[1]
        mean = (np.nansum(matrix.to_numpy(), axis=1) - 1) / (voices.shape[1] - 1)
        table = pd.DataFrame({"voice": voices.columns, "mean_tau": mean, "weight": weight})
        table["failed"] = voices.isna().sum().to_numpy()
        tell.tables["voices"] = table = table.sort_values("mean_tau", kind="stable").reset_index(drop=True)
        for name, tau in zip(table["voice"], table["mean_tau"], strict=True):
            tell.number(float(tau), "mean_tau", name)
        if voices.shape[1] < 3 or not np.isfinite(matrix.to_numpy()).all():
            return
        low, second = (list(voices.columns).index(table["voice"][n]) for n in (0, 1))

        def behind(rows: NDArray[np.float64]) -> float:
            """Half of what the mean tau of the lowest with the others lies above that of the second."""
            from scipy import stats

            n = rows.shape[1]
            means = [
                np.mean([stats.kendalltau(rows[:, own], rows[:, k]).statistic for k in range(n) if k != own])
                for own in (low, second)
            ]
            return float(means[0] - means[1]) / 2

        interval: tuple[float | None, float | None] = (None, None)
        rated_by_all = groups[voices.notna().all(axis=1)].tolist()
        shown = False
        if len(set(rated_by_all)) > 1:
            data = voices.dropna().to_numpy(dtype=np.float64)
            held = jackknife.interval(data, behind, rng, self.level, groups=rated_by_all)
            interval, shown = (2 * held.low, 2 * held.high), held.high < 0
        (judge, next_judge), (tau, tau_second) = table["voice"][:2], table["mean_tau"][:2]
        values = {"judge": judge, "tau": tau, "weight": weight, "second": next_judge, "tau_second": tau_second}
        tell.say("weakest" if shown else "lowest", values, interval=interval)


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
    margin: NotNegative | None = None
    level: Share = 0.95

    def __post_init__(self) -> None:
        if not self.close >= 0:
            raise ConfigError(f"`analysis.close` is {self.close}; it must be 0 or more.")

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited where nothing was judged a second time."""
        super().check(judged)
        if judged.frame["repeat"].max() < 1:
            raise Unsuited(
                "analysis=consistency compares judgments of the same texts by the same judges, and each was made once. "
                "Set run.repeats=2, or give the table the later judgments (a column `repeat`)."
            )

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `consistency.mean_change`, the largest of all judges."""
        self.check(judged)
        tell, margin, changes = Telling(self.name), margin_of(judged.rubric, self.margin), self._changes(judged)
        alpha = (1 - self.level) / max(1, len(changes))
        rows: list[dict[str, Any]] = []
        claims: list[tuple[str, Claim | None]] = []
        for (pillar, voice), own in changes.items():
            size, groups = own["change"].abs().round(NOISE), own["group"].tolist()
            held = None
            if len(set(groups)) > 1:
                held = claim(size, margin.value, alpha=alpha, groups=groups, bounds=(0.0, margin.span))
            claims.append((voice, held))
            exact = proportion((size == 0).to_numpy(), self.level, groups=groups)
            low, high = held.estimate.interval if held else (np.nan, np.nan)
            row: dict[str, Any] = {"voice": voice, "pillar": pillar, "n": len(own), "mean_change": float(size.mean())}
            row |= {"low": low, "high": high, "mean_shift": float(own["change"].mean()), "largest": float(size.max())}
            row |= exact.metrics("exact_rate") | {"close_rate": float((size <= self.close + 1e-9).mean())}
            for key in ("mean_change", "mean_shift", "largest", "exact_rate", "close_rate"):
                tell.number(row[key], key, voice)
            used = {key: row[key] for key in ("voice", "n", "mean_change", "largest", "exact_rate", "close_rate")}
            tell.say("one", used, close=self.close)
            rows.append(row)
        if rows:
            tell.number(max(row["mean_change"] for row in rows), "mean_change")
            tell.tables["judges"] = pd.DataFrame(rows)
        shown = [held for _, held in claims if held is not None]
        all_shown = bool(claims) and len(shown) == len(claims)
        evidence = SimpleNamespace(
            judges=len(claims),
            margin=margin,
            level=self.level,
            moved=[voice for voice, held in claims if held is not None and held.outcome == "beyond"],
            within=all_shown and all(held.outcome == "within" for held in shown),
            few=not all_shown or any(held.reason == "too_few" for held in shown),
            groups=min((held.estimate.n_groups for held in shown), default=0) if all_shown else 0,
            fewest=max((held.fewest for held in shown), default=2),
        )
        headline = "consistency.mean_change" if rows else None
        return [tell.result(*verdict(CONSISTENCY, evidence).decided, headline=headline)]

    def _changes(self, judged: LongTable) -> dict[tuple[str, str], pd.DataFrame]:
        """By pillar and judge, columns group and change: a row per text judged again without a failure on either
        side."""
        first = self.composite.pillars.scores(judged)
        changes: dict[tuple[str, str], list[pd.DataFrame]] = {}
        for repeat in range(1, int(judged.frame["repeat"].max()) + 1):
            for pillar, voices in self.composite.pillars.scores(judged, repeat).voices.items():
                for voice in voices:
                    change = (voices[voice] - first.voices[pillar][voice]).dropna()
                    if len(change):
                        own = pd.DataFrame({"group": first.about["group"].reindex(change.index), "change": change})
                        changes.setdefault((pillar, str(voice)), []).append(own)
        return {key: pd.concat(own, ignore_index=True) for key, own in changes.items()}
