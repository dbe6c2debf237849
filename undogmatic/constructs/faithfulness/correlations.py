"""Correlates what the judges of a composite say: its pillars with one another, with cheap scores of surface likeness,
and with the length of the texts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from undogmatic.analyses.association import associate, crosses, partial
from undogmatic.analyses.base import DIGITS, Judged, Unsuited, family_level
from undogmatic.analyses.plots import interval
from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.analyses.truth import check_bound
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis, OfComposite
from undogmatic.constructs.faithfulness.pillars import Scores, finding, heatmap, square
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, FigureData, Finding, metric_name
from undogmatic.stats import paired

ROUGE = ("rouge1", "rouge2", "rougeL")

PILLARS = Rules("pillars.verdict_", (
    Rule("against", "refuted", lambda e: e.against, "level pillars=against"),
    Rule("together", "supported", lambda e: e.n and not e.open, "n level"),
    Rule("open", "undecided", always, "n level pillars=open"),
))  # fmt: skip
BASELINES = Rules("baselines.verdict_", (
    Rule("follows", "supported", lambda e: e.above, "order level baselines=above"),
    Rule("none", "refuted", lambda e: e.n and not e.open, "order level n"),
    Rule("open", "undecided", always, "order level baselines=open"),
))  # fmt: skip
LENGTH = Rules("length_bias.verdict_", (
    Rule("biased", "refuted", lambda e: e.biased, "bound level names=biased"),
    Rule("none", "supported", lambda e: e.judges and not e.open, "bound level judges"),
    Rule("open", "undecided", always, "bound level names=open"),
))  # fmt: skip


def _named(prefix: str, table: pd.DataFrame, name: str, column: str) -> dict[str, float]:
    """A metric per row of a table that has a number in the column, by what the column `name` calls it."""
    rows = zip(table[name], table[column], strict=True)
    return {metric_name(prefix, str(row)): float(value) for row, value in rows if not np.isnan(value)}


@dataclass(frozen=True)
class CorrelationsAnalysis(OfComposite):
    """Spearman's correlation of every two pillars (and of every two judges' pillars), and of each with the mean of the
    others. A pillar that falls where the others rise is flagged; whether it does so beyond chance, its interval says.

    Args:
        composite: What the composite is made of.
        level: Confidence level of every interval; of those of pillars with the rest, together.
    """

    name: ClassVar[str] = "pillars"
    composite: CompositeAnalysis
    level: float = 0.95

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `pillars.lowest`, the lowest correlation of a pillar with the mean of the others."""
        self.check(judged)
        scores = self.composite.pillars.scores(judged)
        columns = _columns(scores)
        rows = []
        for (a, x), (b, y) in itertools.combinations(columns.items(), 2):
            both = associate("spearman", x, y, scores.about["group"], rng, self.level)
            rows.append({"left": a, "right": b, "n": both.estimate.n, **both.estimate.row("rho"), "p": both.p})
        pairs = pd.DataFrame(rows, columns=["left", "right", "n", "rho", "low", "high", "p"] if not rows else None)
        rest = self._rest(scores, rng)
        metrics = _named("pillars.rho", pairs.assign(pair=[f"{a}-{b}" for a, b in pairs[["left", "right"]].to_numpy()]),
                         "pair", "rho")  # fmt: skip
        metrics |= _named("pillars.rest", rest, "pillar", "rho")
        known = rest["rho"].dropna()
        if len(known):
            metrics["pillars.lowest"] = float(known.min())
        findings = []
        for row in rest.to_dict("records"):
            key = "pillars.flagged" if row["flagged"] else "pillars.with_rest"
            findings.append(finding(key, row | {"interval": (row["low"], row["high"])}, "pillar weight rho interval n"))
        against, open_ = (rest.loc[rows, "pillar"].tolist() for rows in (rest["high"] < 0, ~(rest["low"] > 0)))
        ruling = verdict(PILLARS, SimpleNamespace(n=len(rest), level=self.level, against=against, open=open_))
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"rest": rest, "pairs": pairs},
                findings,
                [heatmap("matrix", square(pairs, list(columns), "rho"), "rho", limits=(-1.0, 1.0))],
                ruling.finding,
                ruling.standing,
                headline="pillars.lowest" if len(known) else None,
            )
        ]

    def _rest(self, scores: Scores, rng: np.random.Generator) -> pd.DataFrame:
        """Each pillar with the weighted mean of the others."""
        weights = pd.Series(dict(self.composite.weights), dtype=float)
        level = family_level(self.level, len(weights))
        rows: list[dict[str, Any]] = []
        for pillar in weights.index if len(weights) > 1 else ():
            others = weights.drop(pillar)
            mean = (scores.pillars[others.index] * others).sum(axis=1, skipna=False).round(DIGITS)
            found = associate("spearman", scores.pillars[pillar], mean, scores.about["group"], rng, level)
            row = {"pillar": pillar, "n": found.estimate.n, **found.estimate.row("rho"), "p": found.p}
            rows.append(row | {"flagged": bool(found.estimate.value < 0), "weight": float(weights[pillar])})
        return pd.DataFrame(rows, columns=["pillar", "n", "rho", "low", "high", "p", "flagged", "weight"])


def _columns(scores: Scores) -> dict[str, pd.Series]:
    """Every pillar, and where it has several judges, each of them."""
    found: dict[str, pd.Series] = {}
    for pillar, voices in scores.voices.items():
        found[pillar] = scores.pillars[pillar]
        if voices.shape[1] > 1:
            found |= {f"{pillar} ({judge})": voices[judge] for judge in voices}
    return found


@dataclass(frozen=True)
class BaselinesAnalysis(OfComposite):
    """Kendall's tau-b and Spearman's correlation of each baseline with the composite, Holm over baselines: could a
    cheap score of surface likeness (ROUGE, BERTScore) stand in for it?

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
    composite: CompositeAnalysis
    of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    order: float = 0.5
    rounding: int = 4
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
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
        metrics: dict[str, float] = {}
        for row in table.to_dict("records"):
            used = "baseline tau interval p_tau p_holm rho p_rho n"
            findings.append(finding("baselines.one", row | {"interval": (row["tau_low"], row["tau_high"])}, used))
            for key in ("tau", "rho"):
                if not np.isnan(row[key]):
                    name = metric_name("baselines", key, row["baseline"])
                    metrics |= interval(name, row[key], row[f"{key}_low"], row[f"{key}_high"])
                    metrics[metric_name("baselines", f"p_{key}", row["baseline"])] = row[f"p_{key}"]
        known = table["tau"].dropna()
        if len(known):
            metrics["baselines.best"] = float(known.max())
        above, open_ = (
            table.loc[rows, "baseline"].tolist()
            for rows in (table["tau_low"] > self.order, ~(table["tau_high"] < self.order))
        )
        evidence = SimpleNamespace(n=len(table), order=self.order, level=self.level, above=above, open=open_)
        ruling = verdict(BASELINES, evidence)
        columns = {"labels": "baseline", "estimate": "tau", "low": "tau_low", "high": "tau_high"}
        forest: dict[str, Any] = {name: table[column].tolist() for name, column in columns.items()}
        forest |= {"x_label": "tau", "reference": 0.0, "limits": (-1.0, 1.0)}
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"baselines": table},
                findings,
                [FigureData("tau", "forest", forest)] if len(known) else [],
                ruling.finding,
                ruling.standing,
                headline="baselines.best" if len(known) else None,
                items=pd.DataFrame(values, index=index).rename_axis("item_id").reset_index(),
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
            row = {"baseline": name, "n": tau.estimate.n, **tau.estimate.metrics("tau"), "p_tau": tau.p}
            rows.append(row | rho.estimate.metrics("rho") | {"p_rho": rho.p})
        columns = "baseline n tau tau_low tau_high p_tau p_holm rho rho_low rho_high p_rho".split()
        table = pd.DataFrame(rows).reindex(columns=columns)
        known = table["p_tau"].notna()
        if known.any():
            table.loc[known, "p_holm"] = paired.holm(table.loc[known, "p_tau"].to_numpy(dtype=np.float64))
        return table


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


@dataclass(frozen=True)
class LengthBiasAnalysis(OfComposite):
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
    composite: CompositeAnalysis
    pillar: str = "judge"
    given: Sequence[str] = ()
    bound: float = 0.3
    level: float = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.bound < 1:
            raise ConfigError(f"`analysis.bound` is {self.bound}; a correlation between 0 and 1 is needed.")
        options = [*self.composite.weights, "composite"]
        for key, names in (("pillar", [self.pillar]), ("given", self.given)):
            if unknown := [name for name in names if name not in options]:
                raise ConfigError(f"`analysis.{key}` names {unknown[0]!r}; there are: {', '.join(options)}.")

    def __call__(self, judged: Judged, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `length_bias.largest`, the r of the judge that is furthest from 0."""
        self.check(judged)
        scores = self.composite.pillars.scores(judged)
        voices, words = scores.voices[self.pillar], scores.about["words"].astype(float)
        level = family_level(self.level, voices.shape[1])
        table = pd.DataFrame([self._row(judged, scores, str(judge), rng, level) for judge in voices])
        metrics: dict[str, float] = {}
        findings = [Finding("length_bias.given", {"given": list(self.given), "bound": self.bound})]
        for row in table.to_dict("records"):
            ends = {"r": ("low", "high")} | {f"given_{x}": (f"given_{x}_low", f"given_{x}_high") for x in self.given}
            for key, (low, high) in ends.items():
                if not np.isnan(row[key]):
                    name = metric_name("length_bias", key.replace("given_", "given."), row["voice"])
                    metrics |= interval(name, row[key], row[low], row[high])
            for key, value in row.items():
                if (key == "spearman" or key.startswith("r_")) and not np.isnan(value):
                    metrics[metric_name("length_bias", key.replace("r_", "r."), row["voice"])] = value
            values = {k: row[k] for k in ("n", "r", "p", "spearman")} | {"judge": row["voice"]}
            values |= {"interval": (row["low"], row["high"]), "partials": {x: row[f"given_{x}"] for x in self.given}}
            key, more = ("flagged", {"bound": self.bound}) if row["flagged"] else ("one", {})
            findings.append(Finding(f"length_bias.{key}", values | more))
        known = table[table["r"].notna()]
        if len(known):
            furthest = known.loc[known["r"].abs().idxmax()]
            metrics |= interval("length_bias.largest", *(float(furthest[key]) for key in ("r", "low", "high")))
        biased = [row.voice for row in table.itertuples() if crosses(row.low, row.high, self.bound)]
        open_ = table.loc[~((table["low"] > -self.bound) & (table["high"] < self.bound)), "voice"].tolist()
        evidence = SimpleNamespace(bound=self.bound, level=self.level, judges=len(table), biased=biased, open=open_)
        ruling = verdict(LENGTH, evidence)
        shown = voices.stack().dropna()
        scatter = {
            "x": [float(words[item]) for item, _ in shown.index],
            "y": shown.astype(float).tolist(),
            "groups": [str(judge) for _, judge in shown.index],
            "x_label": "words",
            "y_label": "score",
        }
        return [
            AnalysisResult(
                self.name,
                metrics,
                {"judges": table},
                findings,
                [FigureData("words", "scatter", scatter)] if len(shown) else [],
                ruling.finding,
                ruling.standing,
                headline="length_bias.largest" if len(known) else None,
            )
        ]

    def _row(
        self, judged: Judged, scores: Scores, judge: str, rng: np.random.Generator, level: float
    ) -> dict[str, Any]:
        own, groups = scores.voices[self.pillar][judge], scores.about["group"]
        words = scores.about["words"].astype(float)
        plain = associate("pearson", words, own, groups, rng, level)
        row: dict[str, Any] = {"voice": judge, "n": plain.estimate.n, **plain.estimate.row("r")}
        row |= {"p": plain.p, "flagged": bool(abs(plain.estimate.value) > self.bound)}
        row["spearman"] = associate("spearman", words, own, groups, rng, level).estimate.value
        criteria = self.composite.pillars.of(self.pillar)
        frame = judged.frame[(judged.frame["repeat"] == 0) & (judged.frame["judge"] == judge)]
        for criterion in criteria if len(criteria) > 1 else ():
            values = frame[frame["criterion"] == criterion].set_index("item_id")["score"].reindex(own.index)
            row[f"r_{criterion}"] = associate("pearson", words, values, groups, rng, level).estimate.value
        for name in self.given:
            equal = scores.composite if name == "composite" else scores.pillars[name]
            held = partial(words, own, equal, groups, rng, level)
            row |= held.estimate.metrics(f"given_{name}")
        return row
