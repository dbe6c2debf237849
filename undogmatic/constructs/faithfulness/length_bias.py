"""Do judges score by length: long texts higher or lower, whatever they say?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.association import Association, associate, crosses, partial
from undogmatic.analyses.base import Judged, check_level
from undogmatic.analyses.classes import family_level
from undogmatic.analyses.plots import interval
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis
from undogmatic.constructs.faithfulness.pillars import Scores
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, Standing, metric_name


@dataclass(frozen=True)
class LengthBiasAnalysis:
    """Pearson's correlation of the number of words with the score of each judge, plain and between texts of equal
    coverage or composite. |r| beyond the bound is flagged; bias is said where the whole interval lies beyond it.

    Args:
        composite: What the composite is made of.
        pillar: The pillar whose judges are looked at.
        given: Pillars, or "composite", that are held equal for the partial correlation.
        bound: The |r| from which on it matters.
        level: Confidence level of the intervals of all judges together.
    """

    name: ClassVar[str] = "length_bias"
    long: ClassVar[bool] = True
    composite: CompositeAnalysis
    pillar: str = "judge"
    given: Sequence[str] = ()
    bound: float = 0.3
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.name, level=self.level)
        if not 0 < self.bound < 1:
            raise ConfigError(f"`analysis.bound` is {self.bound}; a correlation between 0 and 1 is needed.")
        options = [*self.composite.weights, "composite"]
        for key, names in (("pillar", [self.pillar]), ("given", self.given)):
            if unknown := [name for name in names if name not in options]:
                raise ConfigError(f"`analysis.{key}` names {unknown[0]!r}; there are: {', '.join(options)}.")

    def check(self, judged: Judged) -> None:
        """As the composite."""
        self.composite.check(judged)

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `length_bias.largest`, the r of the judge that is furthest from 0."""
        self.check(judged)
        scores = self.composite.pillars.scores(judged)
        voices = scores.voices[self.pillar]
        level = family_level(self.level, voices.shape[1])
        table = pd.DataFrame([self._row(judged, scores, str(judge), rng, level) for judge in voices])
        metrics: dict[str, float] = {}
        for row in table.to_dict("records"):
            for key in ("r", *(f"given_{name}" for name in self.given)):
                low, high = (row["low"], row["high"]) if key == "r" else (row[f"{key}_low"], row[f"{key}_high"])
                if not np.isnan(row[key]):
                    metrics |= interval(
                        metric_name("length_bias", key.replace("given_", "given."), row["voice"]), row[key], low, high
                    )
            for key, value in row.items():
                if key == "spearman" or key.startswith("r_"):
                    name = metric_name("length_bias", key.replace("r_", "r."), row["voice"])
                    metrics |= {} if np.isnan(value) else {name: value}
        findings = [Finding("length_bias.given", {"given": list(self.given), "bound": self.bound})]
        findings += [self._said(row) for row in table.to_dict("records")]
        known = table[table["r"].notna()]
        if len(known):
            furthest = known.loc[known["r"].abs().idxmax()]
            ends = {"low": furthest["low"], "high": furthest["high"]}
            metrics |= {"length_bias.largest": float(furthest["r"])} | {
                f"length_bias.largest_{end}": float(value) for end, value in ends.items()
            }
        verdict, standing = self._verdict(table)
        words = scores.about["words"].astype(float)
        shown = voices.stack().dropna()
        scatter = {
            "x": [float(words[item]) for item, _ in shown.index],
            "y": shown.astype(float).tolist(),
            "groups": [str(judge) for _, judge in shown.index],
            "x_label": "words",
            "y_label": "score",
        }
        figures = [FigureData("words", "scatter", scatter)] if len(shown) else []
        headline = "length_bias.largest" if len(known) else None
        return [AnalysisResult(self.name, metrics, {"judges": table}, findings, figures, verdict, standing, headline)]

    def _row(
        self, judged: Judged, scores: Scores, judge: str, rng: np.random.Generator, level: float
    ) -> dict[str, Any]:
        own, groups = scores.voices[self.pillar][judge], scores.about["group"]
        words = scores.about["words"].astype(float)
        plain = associate("pearson", words, own, groups, rng, level)
        row: dict[str, Any] = {"voice": judge, "n": plain.n, "r": plain.estimate, "low": plain.low, "high": plain.high}
        row |= {"p": plain.p, "flagged": bool(abs(plain.estimate) > self.bound)}
        row["spearman"] = associate("spearman", words, own, groups, rng, level).estimate
        for criterion, values in self._criteria(judged, judge).items():
            row[f"r_{criterion}"] = associate("pearson", words, values, groups, rng, level).estimate
        for name in self.given:
            held = self._partial(scores, judge, name, rng, level)
            row |= {f"given_{name}": held.estimate, f"given_{name}_low": held.low, f"given_{name}_high": held.high}
        return row

    def _criteria(self, judged: Judged, judge: str) -> dict[str, pd.Series]:
        criteria = self.composite.pillars.of(self.pillar)
        frame = judged.frame[(judged.frame["repeat"] == 0) & (judged.frame["judge"] == judge)]
        index = pd.Index(judged.frame["item_id"].unique())
        of = {c: frame[frame["criterion"] == c].set_index("item_id")["score"].reindex(index) for c in criteria}
        return of if len(of) > 1 else {}

    def _partial(self, scores: Scores, judge: str, name: str, rng: np.random.Generator, level: float) -> Association:
        given = scores.composite if name == "composite" else scores.pillars[name]
        own = scores.voices[self.pillar][judge]
        return partial(scores.about["words"].astype(float), own, given, scores.about["group"], rng, level)

    def _said(self, row: dict[str, Any]) -> Finding:
        values = {k: row[k] for k in ("n", "r", "p", "spearman")} | {"judge": row["voice"]}
        values |= {
            "interval": (row["low"], row["high"]),
            "partials": {each: row[f"given_{each}"] for each in self.given},
        }
        if row["flagged"]:
            return Finding("length_bias.flagged", values | {"bound": self.bound})
        return Finding("length_bias.one", values)

    def _verdict(self, table: pd.DataFrame) -> tuple[Finding, Standing]:
        values: dict[str, Any] = {"bound": self.bound, "level": self.level}
        biased = [row.voice for row in table.itertuples() if crosses(row.low, row.high, self.bound)]
        if biased:
            return Finding("length_bias.verdict_biased", values | {"names": biased}), "refuted"
        within = (table["low"] > -self.bound) & (table["high"] < self.bound)
        if len(table) and bool(within.all()):
            return Finding("length_bias.verdict_none", values | {"judges": len(table)}), "supported"
        rest = table.loc[~within, "voice"].tolist()
        return Finding("length_bias.verdict_open", values | {"names": rest}), "undecided"
