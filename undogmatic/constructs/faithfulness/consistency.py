"""The same judges on the same texts again: does each repeat itself?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Judged, Unsuited, check_level
from undogmatic.analyses.margins import Margin, margin_of
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.pillars import finding
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding, Standing, metric_name
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.proportion import proportion

NOISE = 12


@dataclass(frozen=True)
class ConsistencyAnalysis:
    """Every later judgment of a text against the first one of the same judge, pillar by pillar.

    Args:
        composite: What the composite is made of.
        close: Difference, in score units, up to which two scores count as close.
        margin: Largest mean change that does not matter; None takes the rubric's.
        level: Of all claims together.
    """

    name: ClassVar[str] = "consistency"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    close: float = 0.1
    margin: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        if not self.close >= 0:
            raise ConfigError(f"`analysis.close` is {self.close}; it must be 0 or more.")

    def check(self, judged: Judged) -> None:
        """Raises Unsuited where nothing was judged a second time."""
        self.composite.check(judged)
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
            row |= {"low": held.low if held else np.nan, "high": held.high if held else np.nan}
            row |= {"mean_shift": float(own["change"].mean()), "largest": float(size.max())}
            row |= {"exact_rate": exact.share, "exact_rate_low": exact.low, "exact_rate_high": exact.high}
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
        verdict, standing = self._verdict(claims, margin)
        headline = "consistency.mean_change" if rows else None
        tables = {"judges": table} if rows else {}
        return [AnalysisResult(self.name, metrics, tables, findings, [], verdict, standing, headline)]

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

    def _verdict(self, claims: list[tuple[str, Claim | None]], margin: Margin) -> tuple[Finding, Standing]:
        values: dict[str, Any] = {"judges": len(claims), "margin": margin.value, "level": self.level}
        moved = [voice for voice, held in claims if held is not None and held.outcome == "beyond"]
        if moved:
            return finding("consistency.verdict_moves", values | {"names": moved}, "margin level names"), "refuted"
        if claims and margin.equivalence and all(held is not None and held.outcome == "within" for _, held in claims):
            return Finding("consistency.verdict_same", values), "supported"
        few = [held for _, held in claims if held is None or held.reason == "too_few"]
        groups = min((0 if held is None else held.n_units for _, held in claims), default=0)
        fewest = max((held.fewest for _, held in claims if held is not None), default=2)
        values |= {"groups": groups, "fewest": fewest}
        if few or not claims:
            return finding("consistency.verdict_few", values, "groups fewest judges"), "undecided"
        return finding("consistency.verdict_open", values, "judges margin level"), "undecided"
