"""Cheap scores of surface likeness (ROUGE, BERTScore) against the composite: could one stand in for it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.association import associate
from undogmatic.analyses.base import Judged, Unsuited, check_level
from undogmatic.analyses.classes import family_level
from undogmatic.analyses.plots import interval
from undogmatic.analyses.truth import check_bound
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.pillars import finding
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, Standing, metric_name
from undogmatic.stats import paired

ROUGE = ("rouge1", "rouge2", "rougeL")
_USED = "baseline tau interval p_tau p_holm rho p_rho n"


@dataclass(frozen=True)
class BaselinesAnalysis:
    """Kendall's tau-b and Spearman's correlation of each baseline with the composite, Holm over baselines.

    A baseline is a criterion of the run, else a column of the item's metadata; ROUGE (F, stemmed) is computed from the
    texts where they are known, and held against a column of that name.

    Args:
        composite: What the composite is made of.
        of: Baseline -> the metadata that may hold it.
        order: The correlation that the interval of tau must exceed for a baseline to stand in for the composite.
        rounding: Decimals to which stored values of ROUGE are given, to be held against computed ones.
        level: Confidence level of the intervals of tau together.
    """

    name: ClassVar[str] = "baselines"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    order: float = 0.5
    rounding: int = 4
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        check_bound(self.order)

    def check(self, judged: Judged) -> None:
        """Raises Unsuited where there is no baseline."""
        self.composite.check(judged)
        texts = judged.inputs and any(_both(own) for own in judged.inputs.values())
        if not texts and not any(self._stored(judged, name) is not None for name in self.of):
            raise Unsuited(
                f"analysis=baselines needs texts with a reference, or one of the columns {', '.join(self.of)}. Give "
                "the items `summary` and `reference`, or name your columns in analysis.of."
            )

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `baselines.best`, the highest tau."""
        self.check(judged)
        scores = self.composite.pillars.scores(judged)
        index = scores.composite.index
        made = rouge_of(judged, index) if any(name in ROUGE for name in self.of) else pd.DataFrame(index=index)
        values: dict[str, pd.Series] = {}
        findings = []
        for name in self.of:
            stored = self._stored(judged, name)
            if name in made and made[name].notna().any():
                values[name] = made[name]
                if stored is not None:
                    findings.append(self._held(name, made[name], stored.reindex(index)))
            elif stored is not None:
                values[name] = stored.reindex(index)
            else:
                findings.append(Finding("baselines.absent", {"baseline": name}))
        table = self._table(values, scores.composite, scores.about["group"], rng)
        findings += [
            finding("baselines.one", row | {"interval": (row["tau_low"], row["tau_high"])}, _USED)
            for row in table.to_dict("records")
        ]
        metrics: dict[str, float] = {}
        for row in table.to_dict("records"):
            for key in ("tau", "rho"):
                if not np.isnan(row[key]):
                    name = metric_name("baselines", key, row["baseline"])
                    metrics |= interval(name, row[key], row[f"{key}_low"], row[f"{key}_high"])
                    metrics[metric_name("baselines", f"p_{key}", row["baseline"])] = row[f"p_{key}"]
        known = table["tau"].dropna()
        if len(known):
            metrics["baselines.best"] = float(known.max())
        verdict, standing = self._verdict(table)
        forest = {
            "labels": table["baseline"].tolist(),
            "estimate": table["tau"].tolist(),
            "low": table["tau_low"].tolist(),
        }
        forest |= {"high": table["tau_high"].tolist(), "x_label": "tau", "reference": 0.0, "limits": (-1.0, 1.0)}
        items = pd.DataFrame(values, index=index).rename_axis("item_id").reset_index()
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"baselines": table},
                findings,
                [FigureData("tau", "forest", forest)] if len(known) else [],
                verdict,
                standing,
                headline="baselines.best" if len(known) else None,
                items=items,
            )
        ]

    def _stored(self, judged: Judged, name: str) -> pd.Series | None:
        """A criterion of this name, or what the items' metadata say; None where neither is there."""
        frame = judged.frame[judged.frame["repeat"] == 0]
        own = frame[frame["criterion"] == name]
        if len(own):
            return own.groupby("item_id")["score"].mean()
        first = frame.drop_duplicates("item_id").set_index("item_id")
        for column in (f"metadata.{key}" for key in self.of.get(name, ())):
            if column in first and first[column].notna().any():
                return pd.to_numeric(first[column], errors="coerce")
        return None

    def _held(self, name: str, made: pd.Series, stored: pd.Series) -> Finding:
        """Whether ROUGE as computed is what was stored, to the decimals it was stored with."""
        gap = (made - stored).abs()
        off = gap > 0.5 * 10**-self.rounding + 1e-9
        values: dict[str, Any] = {"baseline": name, "n": int(gap.notna().sum())}
        if not off.any():
            return Finding("baselines.stored_same", values)
        return Finding("baselines.stored_differ", values | {"off": int(off.sum()), "gap": float(gap.max())})

    def _table(
        self, values: Mapping[str, pd.Series], composite: pd.Series, groups: pd.Series, rng: np.random.Generator
    ) -> pd.DataFrame:
        level = family_level(self.level, len(values))
        rows: list[dict[str, Any]] = []
        for name, own in values.items():
            tau = associate("kendall", own, composite, groups, rng, level)
            rho = associate("spearman", own, composite, groups, rng, level)
            rows.append({"baseline": name, "n": tau.n} | tau.row("tau") | rho.row("rho"))
        columns = "baseline n tau tau_low tau_high p_tau p_holm rho rho_low rho_high p_rho".split()
        table = pd.DataFrame(rows).reindex(columns=columns)
        known = table["p_tau"].notna()
        if known.any():
            table.loc[known, "p_holm"] = paired.holm(table.loc[known, "p_tau"].to_numpy(dtype=np.float64))
        return table

    def _verdict(self, table: pd.DataFrame) -> tuple[Finding, Standing]:
        values: dict[str, Any] = {"order": self.order, "level": self.level}
        above, below = table[table["tau_low"] > self.order], table[table["tau_high"] < self.order]
        if len(above):
            return Finding("baselines.verdict_follows", values | {"baselines": above["baseline"].tolist()}), "supported"
        if len(table) and len(below) == len(table):
            return Finding("baselines.verdict_none", values | {"n": len(table)}), "refuted"
        rest = table[~table.index.isin(below.index)]["baseline"].tolist()
        return Finding("baselines.verdict_open", values | {"baselines": rest}), "undecided"


def _both(inputs: Mapping[str, str]) -> bool:
    return "summary" in inputs and "reference" in inputs


def rouge_of(judged: Judged, index: pd.Index) -> pd.DataFrame:
    """F of ROUGE-1, 2 and L (stemmed) of every summary against its reference; NaN where there is no reference.

    References:
        Lin (2004), ROUGE: A package for automatic evaluation of summaries. https://aclanthology.org/W04-1013/
    """
    rows = [judged.inputs.get(str(item_id), {}) for item_id in index]
    if not any(_both(own) for own in rows):
        return pd.DataFrame(index=index)
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ModuleNotFoundError:
        raise ConfigError(
            "analysis=baselines computes ROUGE with the package rouge-score, which is not installed: "
            "pip install 'undogmatic[faithfulness]'. To use stored columns only: analysis.of={bertscore: [...]}."
        ) from None
    scorer = RougeScorer(list(ROUGE), use_stemmer=True)
    found = []
    for own in rows:
        if _both(own):
            each = scorer.score(own["reference"], own["summary"])
            found.append({name: float(each[name].fmeasure) for name in ROUGE})
        else:
            found.append(dict.fromkeys(ROUGE, np.nan))
    return pd.DataFrame(found, index=index)
