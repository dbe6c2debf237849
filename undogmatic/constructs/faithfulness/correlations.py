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

from undogmatic.analyses.association import Association, associate, crosses, partial
from undogmatic.analyses.base import DIGITS, Correlation, LongTable, Share, Unsuited, family_level
from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.constructs.faithfulness.composite import CompositeAnalysis, OfComposite
from undogmatic.constructs.faithfulness.pillars import draw_heatmap, known, square
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Telling
from undogmatic.stats import paired
from undogmatic.stats.estimate import Estimate

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
    level: Share = 0.95

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `pillars.lowest`, the lowest correlation of a pillar with the mean of the others."""
        self.check(judged)
        tell, scores = Telling(self.name), self.composite.pillars.scores(judged)
        columns: dict[str, pd.Series] = {}  # every pillar, and where it has several judges, each of them
        for pillar, voices in scores.voices.items():
            columns[pillar] = scores.pillars[pillar]
            if voices.shape[1] > 1:
                columns |= {f"{pillar} ({judge})": voices[judge] for judge in voices}
        rows: list[dict[str, Any]] = []
        for (left, x), (right, y) in itertools.combinations(columns.items(), 2):
            both = associate("spearman", x, y, scores.about["group"], rng, self.level)
            rows.append({"left": left, "right": right, "n": both.estimate.n, **both.estimate.row("rho"), "p": both.p})
            tell.number(known(both.estimate.value), "rho", f"{left}-{right}")
        pairs = pd.DataFrame(rows, columns="left right n rho low high p".split())
        # Each pillar with the weighted mean of the others.
        weights = pd.Series(dict(self.composite.weights), dtype=float)
        rest: dict[str, Association] = {}
        for pillar in weights.index if len(weights) > 1 else ():
            others = weights.drop(pillar)
            mean = (scores.pillars[others.index] * others).sum(axis=1, skipna=False).round(DIGITS)
            level = family_level(self.level, len(weights))
            rest[pillar] = associate("spearman", scores.pillars[pillar], mean, scores.about["group"], rng, level)
        rows = []
        for pillar, (rho, p) in rest.items():
            row = {"pillar": pillar, "n": rho.n, **rho.row("rho"), "p": p, "flagged": bool(rho.value < 0)}
            rows.append(row | {"weight": float(weights[pillar])})
            tell.number(known(rho.value), "rest", pillar)
            key = "flagged" if rho.value < 0 else "with_rest"
            tell.say(key, {"pillar": pillar, "weight": float(weights[pillar])}, rho.values("rho"), n=rho.n)
        columns_of_rest = "pillar n rho low high p flagged weight".split()
        tell.tables |= {"rest": pd.DataFrame(rows, columns=columns_of_rest), "pairs": pairs}
        lowest = min((rho.value for rho, _ in rest.values() if not np.isnan(rho.value)), default=None)
        tell.number(lowest, "lowest")
        draw_heatmap(tell, "matrix", square(pairs, list(columns), "rho"), "rho", limits=(-1.0, 1.0))
        against = [pillar for pillar, (rho, _) in rest.items() if rho.high < 0]
        open_ = [pillar for pillar, (rho, _) in rest.items() if not rho.low > 0]
        evidence = SimpleNamespace(n=len(rest), level=self.level, against=against, open=open_)
        headline = None if lowest is None else "pillars.lowest"
        return [tell.result(*verdict(PILLARS, evidence).decided, headline=headline)]


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
    order: Correlation = 0.5
    rounding: int = 4
    level: Share = 0.95

    def check(self, judged: LongTable) -> None:
        """Raises Unsuited where there is no baseline."""
        self.composite.check(judged)
        texts = judged.inputs and any(_both(own) for own in judged.inputs.values())
        if not texts and not any(self._stored(judged, name) is not None for name in self.of):
            raise Unsuited(
                f"analysis=baselines needs texts with a reference, or one of the columns {', '.join(self.of)}. Give "
                "the items `summary` and `reference`, or name your columns in analysis.of."
            )

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `baselines.best`, the highest tau."""
        self.check(judged)
        tell, scores = Telling(self.name), self.composite.pillars.scores(judged)
        groups, index = scores.about["group"], scores.composite.index
        made = rouge_of(judged, index) if any(name in ROUGE for name in self.of) else pd.DataFrame(index=index)
        values: dict[str, pd.Series] = {}
        for name in self.of:
            stored = self._stored(judged, name)
            if name in made and made[name].notna().any():
                values[name] = made[name]
                if stored is not None:  # is ROUGE as computed what was stored, to the decimals it was stored with?
                    gap = (made[name] - stored.reindex(index)).abs()
                    off, n = gap > 0.5 * 10**-self.rounding + 1e-9, int(gap.notna().sum())
                    more = {"off": int(off.sum()), "gap": float(gap.max())} if off.any() else {}
                    tell.say("stored_differ" if off.any() else "stored_same", {"baseline": name, "n": n}, more)
            elif stored is not None:
                values[name] = stored.reindex(index)
            else:
                tell.say("absent", baseline=name)
        level = family_level(self.level, len(values))
        found = {
            name: [associate(kind, own, scores.composite, groups, rng, level) for kind in ("kendall", "spearman")]
            for name, own in values.items()
        }
        holm = pd.Series({name: tau.p for name, (tau, _) in found.items()}, dtype=float)
        if len(tested := holm.dropna()):
            holm[tested.index] = paired.holm(tested.to_numpy())
        rows = []
        for name, ((tau, p_tau), (rho, p_rho)) in found.items():
            p = {"p_tau": p_tau, "p_holm": float(holm[name]), "p_rho": p_rho}
            rows.append({"baseline": name, "n": tau.n, **tau.metrics("tau"), **rho.metrics("rho"), **p})
            tell.say("one", tau.values("tau"), p, baseline=name, rho=rho.value, n=tau.n)
            for key, estimate in (("tau", tau), ("rho", rho)):
                if known(estimate.value) is not None:
                    tell.number(estimate, key, name)
                    tell.number(p[f"p_{key}"], f"p_{key}", name)
        columns = "baseline n tau tau_low tau_high p_tau p_holm rho rho_low rho_high p_rho".split()
        tell.tables["baselines"] = table = pd.DataFrame(rows, columns=columns)
        headline = None
        if table["tau"].notna().any():
            headline = "baselines.best"
            tell.number(float(table["tau"].max()), "best")
            columns_of = {"labels": "baseline", "estimate": "tau", "low": "tau_low", "high": "tau_high"}
            forest = {name: table[column].tolist() for name, column in columns_of.items()}
            tell.draw("tau", "forest", **forest, x_label="tau", reference=0.0, limits=(-1.0, 1.0))
        above = table.loc[table["tau_low"] > self.order, "baseline"].tolist()
        open_ = table.loc[~(table["tau_high"] < self.order), "baseline"].tolist()
        evidence = SimpleNamespace(n=len(table), order=self.order, level=self.level, above=above, open=open_)
        items = pd.DataFrame(values, index=index).rename_axis("item_id").reset_index()
        return [tell.result(*verdict(BASELINES, evidence).decided, headline=headline, items=items)]

    def _stored(self, judged: LongTable, name: str) -> pd.Series | None:
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


def _both(inputs: Mapping[str, str]) -> bool:
    return "summary" in inputs and "reference" in inputs


def rouge_of(judged: LongTable, index: pd.Index) -> pd.DataFrame:
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
    made = [scorer.score(own["reference"], own["summary"]) if _both(own) else {} for own in rows]
    f = [[float(each[name].fmeasure) if each else np.nan for name in ROUGE] for each in made]
    return pd.DataFrame(f, index=index, columns=list(ROUGE))


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
    level: Share = 0.95

    def __post_init__(self) -> None:
        if not 0 < self.bound < 1:
            raise ConfigError(f"`analysis.bound` is {self.bound}; a correlation between 0 and 1 is needed.")
        options = [*self.composite.weights, "composite"]
        for key, names in (("pillar", [self.pillar]), ("given", self.given)):
            if unknown := [name for name in names if name not in options]:
                raise ConfigError(f"`analysis.{key}` names {unknown[0]!r}; there are: {', '.join(options)}.")

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[AnalysisResult]:
        """One result; headline `length_bias.largest`, the r of the judge that is furthest from 0."""
        self.check(judged)
        tell, scores = Telling(self.name), self.composite.pillars.scores(judged)
        voices, words = scores.voices[self.pillar], scores.about["words"].astype(float)
        frame = judged.frame[judged.frame["repeat"] == 0]
        criteria = self.composite.pillars.of(self.pillar)
        level = family_level(self.level, voices.shape[1])
        about = scores.about["group"], rng, level
        tell.say("given", given=list(self.given), bound=self.bound)
        rows: list[dict[str, Any]] = []
        plain: dict[str, Estimate] = {}
        for judge in map(str, voices):
            own = voices[judge]
            plain[judge], p = associate("pearson", words, own, *about)
            r, flagged = plain[judge], bool(abs(plain[judge].value) > self.bound)
            others = {"spearman": associate("spearman", words, own, *about).estimate.value}
            for criterion in criteria if len(criteria) > 1 else ():
                named = frame[(frame["judge"] == judge) & (frame["criterion"] == criterion)]
                score = named.set_index("item_id")["score"].reindex(own.index)
                others[f"r_{criterion}"] = associate("pearson", words, score, *about).estimate.value
            equal = {name: scores.composite if name == "composite" else scores.pillars[name] for name in self.given}
            held = {name: partial(words, own, given, *about).estimate for name, given in equal.items()}
            row = {"voice": judge, "n": r.n, **r.row("r"), "p": p, "flagged": flagged, **others}
            rows.append(row | {k: v for name, each in held.items() for k, v in each.metrics(f"given_{name}").items()})
            for key, estimate in {"r": r, **{f"given.{name}": each for name, each in held.items()}}.items():
                tell.number(known(estimate), key, judge)
            for key, value in others.items():
                tell.number(known(value), key.replace("r_", "r."), judge)
            values = {"n": r.n, "r": r.value, "p": p, "spearman": others["spearman"], "judge": judge}
            values |= {"interval": r.interval, "partials": {name: each.value for name, each in held.items()}}
            tell.say("flagged" if flagged else "one", values, {"bound": self.bound} if flagged else {})
        tell.tables["judges"] = pd.DataFrame(rows)
        furthest = max(filter(known, plain.values()), key=lambda r: abs(r.value), default=None)
        tell.number(furthest, "largest")
        shown = voices.stack().dropna()
        if len(shown):
            marks = {"x": [float(words[item]) for item, _ in shown.index], "y": shown.astype(float).tolist()}
            groups = [str(judge) for _, judge in shown.index]
            tell.draw("words", "scatter", **marks, groups=groups, x_label="words", y_label="score")
        biased = [judge for judge, r in plain.items() if crosses(*r.interval, self.bound)]
        open_ = [judge for judge, r in plain.items() if not (r.low > -self.bound and r.high < self.bound)]
        evidence = SimpleNamespace(bound=self.bound, level=self.level, judges=len(plain), biased=biased, open=open_)
        headline = None if furthest is None else "length_bias.largest"
        return [tell.result(*verdict(LENGTH, evidence).decided, headline=headline)]
