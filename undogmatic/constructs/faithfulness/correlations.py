"""Asks of a composite whether it deserves belief: do its pillars go together, do the judges of a
pillar agree, and each with itself, would a cheap score of surface likeness do as well, and do
judges count words?"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import NonNegativeFloat
from scipy import stats

from undogmatic.constructs.faithfulness.compared import PAIR, ROUGE, rouge
from undogmatic.constructs.faithfulness.composite import (
    CompositeAnalysis,
    Scores,
    draw_heatmap,
)
from undogmatic.errors import ConfigError
from undogmatic.examinations.association import associate, partial
from undogmatic.examinations.base import (
    Correlation,
    Limited,
    Share,
    Unsuited,
    columns,
    family_level,
)
from undogmatic.examinations.reliability import FEWEST_GROUPS, RELIABLE, TENTATIVE
from undogmatic.examinations.ruling import (
    Rule,
    Rules,
    Ruling,
    Values,
    always,
    known,
    verdict,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import DIGITS
from undogmatic.examinations.truth import Margin, margin_of
from undogmatic.records.results import Told
from undogmatic.stats import agreement, jackknife, limits, paired
from undogmatic.stats.claims import Claim, claim
from undogmatic.stats.estimate import Estimate, unknown
from undogmatic.stats.proportion import proportion

NOISE = 12  # decimals of a change of a score that count
_NEAR = 1e-6


@dataclass(frozen=True)
class AgreementFacts:
    """Holds the agreement of the judges of one pillar over `n` texts in `groups`, of which a
    verdict needs `needed`, and what it shows of the bounds from which it is `reliable` and
    `tentative`; None where no text has two judgments."""

    judges: int
    n: int
    groups: int
    needed: int
    level: float
    alpha: Estimate | None
    tentative: limits.Outcome | None
    reliable: limits.Outcome | None


def _alpha(facts: AgreementFacts) -> Values:
    alpha = known(facts.alpha)
    return {
        "judges": facts.judges,
        "alpha": alpha.value,
        "n": facts.n,
        "level": facts.level,
        "interval": alpha.interval,
    }


def _alpha_bound(facts: AgreementFacts) -> Values:
    return _alpha(facts) | {"bound": TENTATIVE}


AGREEMENT = Rules[AgreementFacts](
    "agreement.verdict_",
    (
        Rule(
            "none",
            "undecided",
            lambda f: f.alpha is None,
            lambda f: {"judges": f.judges},
        ),
        Rule(
            "few",
            "undecided",
            lambda f: f.groups < f.needed,
            lambda f: _alpha(f) | {"groups": f.groups, "needed": f.needed},
        ),
        Rule(
            "agree", "supported", lambda f: f.tentative == f.reliable == "above", _alpha
        ),
        Rule("roughly", "supported", lambda f: f.tentative == "above", _alpha_bound),
        # Failed judgments could turn it, so it is neither agreement nor the lack of it.
        Rule("missing", "undecided", lambda f: f.tentative == "missing", _alpha),
        Rule("disagree", "refuted", lambda f: f.tentative == "below", _alpha_bound),
        Rule("open", "undecided", always, _alpha_bound),
    ),
)


@dataclass(frozen=True)
class ConsistencyFacts:
    """Names the judges whose scores `moved` beyond the margin when they judged again. `within`: it
    is shown of all that theirs did not; `few`: one has fewer than the `fewest` groups, the least
    `groups` of any, so that nothing could be shown."""

    judges: int
    groups: int
    fewest: int
    level: float
    margin: Margin
    moved: Sequence[str]
    within: bool
    few: bool


def _judges_margin(facts: ConsistencyFacts) -> Values:
    return {"judges": facts.judges, "margin": facts.margin.value, "level": facts.level}


CONSISTENCY = Rules[ConsistencyFacts](
    "consistency.verdict_",
    (
        Rule(
            "moves",
            "refuted",
            lambda f: f.moved,
            lambda f: {"margin": f.margin.value, "level": f.level, "names": f.moved},
        ),
        Rule(
            "same",
            "supported",
            lambda f: f.margin.equivalence and f.within,
            _judges_margin,
        ),
        Rule(
            "few",
            "undecided",
            lambda f: f.few,
            lambda f: {"groups": f.groups, "fewest": f.fewest, "judges": f.judges},
        ),
        Rule("open", "undecided", always, _judges_margin),
    ),
)


@dataclass(frozen=True)
class PillarsFacts:
    """Names the pillars, of `n`, that fall where the mean of the others rises (`against`), and
    those that are not shown to rise with it (`open`)."""

    n: int
    level: float
    against: Sequence[str]
    open: Sequence[str]


PILLARS = Rules[PillarsFacts](
    "pillars.verdict_",
    (
        Rule(
            "against",
            "refuted",
            lambda f: f.against,
            lambda f: {"level": f.level, "pillars": f.against},
        ),
        Rule(
            "together",
            "supported",
            lambda f: f.n and not f.open,
            lambda f: {"n": f.n, "level": f.level},
        ),
        Rule(
            "open",
            "undecided",
            always,
            lambda f: {"n": f.n, "level": f.level, "pillars": f.open},
        ),
    ),
)


@dataclass(frozen=True)
class BaselinesFacts:
    """Names the baselines, of `n`, whose correlation with the composite is shown to lie above
    `order`, and those of which it is not shown that it lies below (`open`)."""

    n: int
    order: float
    level: float
    above: Sequence[str]
    open: Sequence[str]


def _bar(facts: BaselinesFacts) -> Values:
    return {"order": facts.order, "level": facts.level}


BASELINES = Rules[BaselinesFacts](
    "baselines.verdict_",
    (
        Rule(
            "follows",
            "refuted",
            lambda f: f.above,
            lambda f: _bar(f) | {"baselines": f.above},
        ),
        Rule(
            "none",
            "supported",
            lambda f: f.n and not f.open,
            lambda f: _bar(f) | {"n": f.n},
        ),
        Rule("open", "undecided", always, lambda f: _bar(f) | {"baselines": f.open}),
    ),
)
"""The claim is the composite's: that no word overlap ranks the texts as it does."""


@dataclass(frozen=True)
class LengthFacts:
    """Names the `judges`, those whose scores are shown to go with the number of words beyond the
    `bound` (`biased`), and those of whom it is not shown that they stay within it (`open`)."""

    judges: Sequence[str]
    bound: float
    level: float
    biased: Sequence[str]
    open: Sequence[str]


def _bound(facts: LengthFacts) -> Values:
    return {"bound": facts.bound, "level": facts.level}


LENGTH = Rules[LengthFacts](
    "length_bias.verdict_",
    (
        Rule(
            "biased",
            "refuted",
            lambda f: f.biased,
            lambda f: _bound(f) | {"names": f.biased},
        ),
        Rule(
            "none",
            "supported",
            lambda f: f.judges and not f.open,
            lambda f: _bound(f) | {"names": f.judges, "judges": len(f.judges)},
        ),
        Rule("open", "undecided", always, lambda f: _bound(f) | {"names": f.open}),
    ),
)


class Found(NamedTuple):
    """What an analysis of a composite comes to, and numbers per item where any are kept."""

    ruling: Ruling[Any]
    items: pd.DataFrame | None = None


@dataclass(frozen=True)
class OfComposite(Limited):
    """What the analyses of a composite have in common: each tells what it finds, and rules on it.
    `headline` is a metric that sums it up, where there is one.

    Args:
        composite, level: What it is made of; confidence level of every interval, or where an
            analysis says so of several of a kind together.
    """

    name: ClassVar[str]
    long: ClassVar[bool] = True
    headline: ClassVar[str]
    composite: CompositeAnalysis
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        self.composite.check(judged)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        self.check(judged)
        tell = Told(self.name)
        found = self.find(tell, judged, self.composite.scores(judged), rng)
        tell.numbers = {
            key: value for key, value in tell.metrics.items() if not math.isnan(value)
        }
        headline = (
            name if (name := f"{self.name}.{self.headline}") in tell.metrics else None
        )
        return [
            tell.result(*found.ruling.decided, headline=headline, items=found.items)
        ]

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        """Add to what is told, and rule on it."""
        raise NotImplementedError


@dataclass(frozen=True)
class AgreementAnalysis(OfComposite):
    """Agreement of the judges of one pillar, over the texts that both of a pair judged; failures
    are counted. Names the judge that agrees least with the rest. Headline `agreement.alpha`.

    Args:
        pillar: The pillar with several judges.
        categories: The values that a criterion may have, in score units, for kappa; () leaves kappa
            out.
    """

    name, headline = "agreement", "alpha"
    pillar: str = "judge"
    categories: Sequence[float] = ()

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited with fewer than two judges of the pillar."""
        super().check(judged)
        voices = self.composite.scores(judged).voices.get(self.pillar, pd.DataFrame())
        if voices.shape[1] < 2:
            raise Unsuited(
                f"analysis=agreement compares the judges of the pillar {self.pillar!r}, of which"
                f" there are {voices.shape[1]}. Name another pillar with analysis.pillar, or have"
                " the texts judged by a second judge."
            )

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        voices, groups, criteria = (
            scores.voices[self.pillar],
            scores.about["group"],
            self.composite.of(self.pillar),
        )
        for judge, n in voices.isna().sum().items():
            if n:
                tell.say("failed", judge=judge, n=int(n), total=len(voices))
        rows, taus = (
            [],
            pd.DataFrame(np.eye(voices.shape[1]), voices.columns, voices.columns),
        )
        for left, right in itertools.combinations(voices.columns, 2):
            tau, p = associate(
                "kendall", voices[left], voices[right], groups, rng, self.level
            )
            taus.loc[left, right] = taus.loc[right, left] = tau.value
            both = voices[left].notna() & voices[right].notna()
            rated, units = scores.wide[both], groups[both].tolist()
            kappas = {
                c: self._kappa(rated[left, c], rated[right, c], units) for c in criteria
            }
            counts = {
                "left": left,
                "right": right,
                "n": tau.n,
                "left_out": len(voices) - tau.n,
            }
            rows.append(counts | tau.metrics("tau") | {"p": p})
            for name, estimate in {
                "tau": tau,
                **{f"kappa.{c}": kappa for c, kappa in kappas.items()},
            }.items():
                rows[-1] |= estimate.metrics(name.replace(".", "_", 1))
                tell.number(estimate, name, f"{left}-{right}")
            shown = {
                c: kappa.value
                for c, kappa in kappas.items()
                if not math.isnan(kappa.value)
            }
            tell.say("pair", counts, tau.values("tau"), p=p, kappas=shown)
        tell.table("pairs", pd.DataFrame(rows), p="p")
        rated, alpha = voices.notna().sum(axis=1) >= 2, None
        if rated.any():
            ratings = voices.to_numpy(dtype=np.float64).T
            alpha = limits.alpha(
                ratings, judged.scale, groups=groups.tolist(), level=self.level
            )
        tell.number(alpha, "alpha")
        self._weakest(tell, scores, taus, rng)
        draw_heatmap(tell, "matrix", taus, "tau", limits=(-1.0, 1.0))
        facts = AgreementFacts(
            judges=voices.shape[1],
            n=int(rated.sum()),
            groups=int(groups[rated].nunique()),
            needed=FEWEST_GROUPS,
            level=self.level,
            alpha=alpha,
            tentative=None if alpha is None else limits.hold(alpha, TENTATIVE).outcome,
            reliable=None if alpha is None else limits.hold(alpha, RELIABLE).outcome,
        )
        return Found(verdict(AGREEMENT, facts))

    def _kappa(self, a: pd.Series, b: pd.Series, groups: list[Any]) -> Estimate:
        """Quadratic weighted kappa with its interval; NaN where scores are no categories, or all
        one."""
        levels, scores, kappa = (
            np.asarray(self.categories, dtype=np.float64),
            np.array([a, b], dtype=np.float64),
            None,
        )
        if levels.size and scores.size:
            x, y = (agreement.nearest_level(each, levels) for each in scores)
            if np.abs(np.array([x, y]) - scores).max() <= _NEAR:
                kappa = agreement.kappa_interval(
                    x, y, levels, level=self.level, groups=groups
                )
        return kappa or unknown()

    def _weakest(
        self, tell: Told, scores: Scores, matrix: pd.DataFrame, rng: np.random.Generator
    ) -> None:
        """Mean tau of each judge with the others, what it weighs in the composite, and whether the
        lowest is shown."""
        voices, groups = scores.voices[self.pillar], scores.about["group"]
        weight = self.composite.weights[self.pillar] / voices.shape[1]
        mean_tau = (np.nansum(matrix.to_numpy(), axis=1) - 1) / (voices.shape[1] - 1)
        failed = voices.isna().sum().to_numpy()
        table = pd.DataFrame(
            {
                "voice": voices.columns,
                "mean_tau": mean_tau,
                "weight": weight,
                "failed": failed,
            }
        )
        tell.tables["voices"] = table = table.sort_values(
            "mean_tau", kind="stable", ignore_index=True
        )
        for name, tau in zip(table["voice"], table["mean_tau"], strict=True):
            tell.number(float(tau), "mean_tau", name)
        if voices.shape[1] < 3 or not np.isfinite(matrix.to_numpy()).all():
            return
        last_two = [list(voices.columns).index(name) for name in table["voice"][:2]]

        def behind(rows: NDArray[np.float64]) -> float:
            """Half of what the mean tau of the lowest with the others lies above that of the
            second."""
            taus = [
                [
                    stats.kendalltau(rows[:, own], rows[:, k]).statistic
                    for k in range(rows.shape[1])
                    if k != own
                ]
                for own in last_two
            ]
            return float(np.mean(taus[0]) - np.mean(taus[1])) / 2

        interval: tuple[float | None, float | None] = (None, None)
        rated_by_all, shown = groups[voices.notna().all(axis=1)].tolist(), False
        if len(set(rated_by_all)) > 1:
            data = voices.dropna().to_numpy(dtype=np.float64)
            held = jackknife.LeftOut(data, behind, rng, rated_by_all).coefficient(
                self.level
            )
            interval, shown = (2 * held.low, 2 * held.high), held.high < 0
        (judge, next_judge), (tau, tau_second) = (
            table["voice"][:2],
            table["mean_tau"][:2],
        )
        values = {
            "judge": judge,
            "tau": tau,
            "weight": weight,
            "second": next_judge,
            "tau_second": tau_second,
        }
        tell.say("weakest" if shown else "lowest", values, interval=interval)


@dataclass(frozen=True)
class ConsistencyAnalysis(OfComposite):
    """Every later judgment of a text against the first one of the same judge, pillar by pillar;
    `level` is that of all claims together. Headline `consistency.mean_change`, the largest of all
    judges.

    Args:
        close: Difference, in score units, up to which two scores count as close.
        margin: Largest mean change that does not matter; None takes the rubric's.
    """

    name, headline = "consistency", "mean_change"
    close: NonNegativeFloat = 0.1
    margin: NonNegativeFloat | None = None

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where nothing was judged a second time."""
        super().check(judged)
        if not judged.repeats:
            raise Unsuited(
                "analysis=consistency compares judgments of the same texts by the same judges, and"
                " each was made once. Set run.repeats=2, or give the table the later judgments (a"
                " column `repeat`)."
            )

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        margin, firsts = (
            margin_of(judged.rubric, self.margin),
            pd.concat(scores.voices, axis=1),
        )
        repeats = judged.repeats
        later = [
            pd.concat(self.composite.scores(judged, repeat).voices, axis=1) - firsts
            for repeat in repeats
        ]
        # By pillar and judge, of every text judged again without a failure on either side.
        changes = {
            voice: pd.concat([table[voice] for table in later]).dropna()
            for voice in firsts
        }
        changes = {voice: change for voice, change in changes.items() if len(change)}
        alpha = (1 - self.level) / max(1, len(changes))
        rows: list[dict[str, Any]] = []
        claims: dict[tuple[str, str], Claim] = {}
        for (pillar, voice), change in changes.items():
            size, groups = (
                change.abs().round(NOISE),
                scores.about["group"].reindex(change.index).tolist(),
            )
            ends = (np.nan, np.nan)
            if len(set(groups)) > 1:
                held = claim(
                    size,
                    margin.value,
                    alpha=alpha,
                    groups=groups,
                    bounds=(0.0, margin.span),
                )
                claims[pillar, voice], ends = held, held.estimate.interval
            exact = proportion((size == 0).to_numpy(), self.level, groups=groups)
            row: dict[str, Any] = {
                "voice": voice,
                "pillar": pillar,
                "n": len(size),
                "mean_change": float(size.mean()),
            }
            row |= {"low": ends[0], "high": ends[1], "mean_shift": float(change.mean())}
            row |= {"largest": float(size.max()), **exact.metrics("exact_rate")}
            row["close_rate"] = float((size <= self.close + 1e-9).mean())
            for key in ("mean_change", "mean_shift", "largest"):
                tell.number(row[key], key, voice)
            for key in ("exact_rate", "close_rate"):
                tell.number(row[key], key, voice, unit="share")
            named = ("voice", "n", "mean_change", "largest", "exact_rate", "close_rate")
            tell.say("one", {key: row[key] for key in named}, close=self.close)
            rows.append(row)
        if rows:
            tell.number(max(row["mean_change"] for row in rows), "mean_change")
            table = pd.DataFrame(rows)
            tell.table("judges", table, exact_rate="share", close_rate="share")
        all_shown, shown = bool(rows) and len(claims) == len(rows), claims.values()
        moved = [
            voice for (_, voice), held in claims.items() if held.outcome == "beyond"
        ]
        few = not all_shown or any(held.few for held in shown)
        within = all_shown and all(held.outcome == "within" for held in shown)
        least = min(held.estimate.n_groups for held in shown) if all_shown else 0
        facts = ConsistencyFacts(
            judges=len(rows),
            groups=least,
            fewest=max((held.fewest for held in shown), default=2),
            level=self.level,
            margin=margin,
            moved=moved,
            within=within,
            few=few,
        )
        return Found(verdict(CONSISTENCY, facts))


@dataclass(frozen=True)
class CorrelationsAnalysis(OfComposite):
    """Spearman's correlation of every two pillars (and of every two judges' pillars), and of each
    with the mean of the others; `level` is that of the latter together. A pillar that falls where
    the others rise is flagged; whether it does so beyond chance, its interval says. Headline
    `pillars.lowest`, the lowest of a pillar with the mean of the others.
    """

    name, headline = "pillars", "lowest"

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        groups, weights = scores.about["group"], self.composite.weighing
        named: dict[
            str, pd.Series
        ] = {}  # every pillar, and where it has several judges, each of them
        for pillar, voices in scores.voices.items():
            named[pillar] = scores.pillars[pillar]
            if voices.shape[1] > 1:
                named |= {f"{pillar} ({judge})": voices[judge] for judge in voices}
        matrix = pd.DataFrame(np.eye(len(named)), [*named], [*named])
        rows: list[dict[str, Any]] = []
        for (left, x), (right, y) in itertools.combinations(named.items(), 2):
            rho, p = associate("spearman", x, y, groups, rng, self.level)
            rows.append(
                {"left": left, "right": right, "n": rho.n, **rho.row("rho"), "p": p}
            )
            matrix.loc[left, right] = matrix.loc[right, left] = rho.value
            tell.number(rho.value, "rho", f"{left}-{right}")
        pairs = pd.DataFrame(rows, columns="left right n rho low high p".split())
        rest: dict[str, Estimate] = {}
        rows = []
        for pillar in weights.index if len(weights) > 1 else ():
            # Held against the others alone: a part goes with the whole that it is a
            # part of, whatever it measures.
            others = weights.drop(pillar)
            mean = (
                (scores.pillars[others.index] * others)
                .sum(axis=1, skipna=False)
                .round(DIGITS)
            )
            level = family_level(self.level, len(weights))
            rho, p = associate(
                "spearman", scores.pillars[pillar], mean, groups, rng, level
            )
            rest[pillar], flagged = rho, bool(rho.value < 0)
            about = {"pillar": pillar, "n": rho.n, "weight": float(weights[pillar])}
            rows.append(about | rho.row("rho") | {"p": p, "flagged": flagged})
            tell.number(rho.value, "rest", pillar)
            tell.say("flagged" if flagged else "with_rest", about, rho.values("rho"))
        with_rest = pd.DataFrame(
            rows, columns="pillar n rho low high p flagged weight".split()
        )
        tell.table("rest", with_rest, p="p")
        tell.table("pairs", pairs, p="p")
        tell.number(
            min(
                (rho.value for rho in rest.values() if not math.isnan(rho.value)),
                default=None,
            ),
            "lowest",
        )
        draw_heatmap(tell, "matrix", matrix, "rho", limits=(-1.0, 1.0))
        facts = PillarsFacts(
            n=len(rest),
            level=self.level,
            against=[pillar for pillar, rho in rest.items() if rho.high < 0],
            open=[pillar for pillar, rho in rest.items() if not rho.low > 0],
        )
        return Found(verdict(PILLARS, facts))


@dataclass(frozen=True)
class BaselinesAnalysis(OfComposite):
    """Kendall's tau-b and Spearman's correlation of each baseline with the composite, Holm over
    baselines: could a cheap score of surface likeness (ROUGE, BERTScore) stand in for it? `level`
    is that of the intervals of tau together. Headline `baselines.best`, the highest tau.

    A baseline is a criterion of the run, else a column of the item's metadata; ROUGE (F, stemmed)
    is computed from the texts where they are known, and held against a column of that name.

    Args:
        of: Baseline -> the metadata that may hold it.
        order: The correlation that the interval of tau must exceed for a baseline to stand in for
            the composite.
        rounding: Decimals to which stored values of ROUGE are given, to be held against computed
            ones.
    """

    name, headline = "baselines", "best"
    of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    order: Correlation = 0.5
    rounding: int = 4

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited where there is no baseline."""
        super().check(judged)
        texts = any(item.inputs.keys() >= PAIR for item in judged.known.values())
        if not texts and not any(
            self._stored(judged, name) is not None for name in self.of
        ):
            raise Unsuited(
                "analysis=baselines needs texts with a reference, or one of the columns"
                f" {', '.join(self.of)}. Give the items `summary` and `reference`, or name your"
                " columns in analysis.of."
            )

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        groups, index = scores.about["group"], scores.composite.index
        items = (judged.known.get(str(item_id)) for item_id in index)
        texts = [{} if item is None else item.inputs for item in items]
        computed = any(name in ROUGE for name in self.of) and any(
            inputs.keys() >= PAIR for inputs in texts
        )
        made = pd.DataFrame(rouge(texts) if computed else {}, index=index)
        values: dict[str, pd.Series] = {}
        for name in self.of:
            stored = self._stored(judged, name)
            if name in made and made[name].notna().any():
                values[name] = made[name]
                # is ROUGE as computed what was stored, to the decimals it was stored with?
                if stored is not None:
                    gap = (made[name] - stored.reindex(index)).abs()
                    off, n = (
                        gap > 0.5 * 10**-self.rounding + 1e-9,
                        int(gap.notna().sum()),
                    )
                    more = (
                        {"off": int(off.sum()), "gap": float(gap.max())}
                        if off.any()
                        else {}
                    )
                    tell.say(
                        "stored_differ" if off.any() else "stored_same",
                        {"baseline": name, "n": n},
                        more,
                    )
            elif stored is not None:
                values[name] = stored.reindex(index)
            else:
                tell.say("absent", baseline=name)
        level = family_level(self.level, len(values))
        correlated = {}
        for name, column in values.items():
            compared = column, scores.composite, groups, rng, level
            correlated[name] = (
                associate("kendall", *compared),
                associate("spearman", *compared),
            )
        holm = pd.Series(
            {name: tau.p for name, (tau, _) in correlated.items()}, dtype=float
        )
        if len(tested := holm.dropna()):
            holm[tested.index] = paired.holm(tested.to_numpy())
        rows = []
        for name, ((tau, p_tau), (rho, p_rho)) in correlated.items():
            p = {"p_tau": p_tau, "p_holm": float(holm[name]), "p_rho": p_rho}
            rows.append(
                {
                    "baseline": name,
                    "n": tau.n,
                    **tau.metrics("tau"),
                    **rho.metrics("rho"),
                    **p,
                }
            )
            tell.say("one", tau.values("tau"), p, baseline=name, rho=rho.value, n=tau.n)
            for key, estimate in (("tau", tau), ("rho", rho)):
                tell.number(estimate, key, name)
                tell.number(p[f"p_{key}"], f"p_{key}", name, unit="p")
        order = "baseline n tau tau_low tau_high p_tau p_holm rho rho_low rho_high p_rho".split()
        table = pd.DataFrame(rows, columns=order)
        tell.table("baselines", table, p_tau="p", p_holm="p", p_rho="p")
        if table["tau"].notna().any():
            tell.number(float(table["tau"].max()), "best")
            forest = columns(
                table, labels="baseline", estimate="tau", low="tau_low", high="tau_high"
            )
            tell.draw(
                "tau",
                "forest",
                **forest,
                x_label="tau",
                reference=0.0,
                limits=(-1.0, 1.0),
            )
        above = table.loc[table["tau_low"] > self.order, "baseline"].tolist()
        open_ = table.loc[~(table["tau_high"] < self.order), "baseline"].tolist()
        items = pd.DataFrame(values, index=index).rename_axis("item_id").reset_index()
        facts = BaselinesFacts(len(table), self.order, self.level, above, open_)
        return Found(verdict(BASELINES, facts), items)

    def _stored(self, judged: RunEvidence, name: str) -> pd.Series | None:
        """A criterion of this name, or what the items' metadata say; None where neither is
        there."""
        frame = judged.first()
        if len(own := frame[frame["criterion"] == name]):
            return own.groupby("item_id")["score"].mean()
        first = frame.drop_duplicates("item_id").set_index("item_id")
        for column in (f"metadata.{key}" for key in self.of.get(name, ())):
            if column in first and first[column].notna().any():
                return pd.to_numeric(first[column], errors="coerce")
        return None


@dataclass(frozen=True)
class LengthBiasAnalysis(OfComposite):
    """Pearson's correlation of the number of words with the score of each judge, plain and between
    texts of equal coverage or composite. |r| beyond the bound is flagged; bias is said where the
    whole interval lies beyond it. `level` is that of the intervals of all judges together. Headline
    `length_bias.largest`, the r of the judge that is furthest from 0.

    Args:
        pillar: The pillar whose judges are looked at.
        given: Pillars, or "composite", that are held equal for the partial correlation.
        bound: The |r| from which on it matters.
    """

    name, headline = "length_bias", "largest"
    pillar: str = "judge"
    given: Sequence[str] = ()
    bound: Share = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        options = [*self.composite.weights, "composite"]
        for key, names in (("pillar", [self.pillar]), ("given", self.given)):
            if unknown := [name for name in names if name not in options]:
                raise ConfigError(
                    f"`analysis.{key}` names {unknown[0]!r}; there are: {', '.join(options)}."
                )

    def find(
        self, tell: Told, judged: RunEvidence, scores: Scores, rng: np.random.Generator
    ) -> Found:
        voices, words = scores.voices[self.pillar], scores.about["words"].astype(float)
        criteria = self.composite.of(self.pillar)
        about = scores.about["group"], rng, family_level(self.level, voices.shape[1])
        tell.say("given", given=list(self.given), bound=self.bound)
        rows: list[dict[str, Any]] = []
        plain: dict[str, Estimate] = {}
        for judge in map(str, voices):
            score = voices[judge]
            r, p = associate("pearson", words, score, *about)
            plain[judge], flagged = r, bool(abs(r.value) > self.bound)
            others = {
                "spearman": associate("spearman", words, score, *about).estimate.value
            }
            for criterion in criteria if len(criteria) > 1 else ():
                r_own = associate(
                    "pearson", words, scores.wide[judge, criterion], *about
                ).estimate
                others[f"r_{criterion}"] = r_own.value
            equal = {
                name: scores.composite if name == "composite" else scores.pillars[name]
                for name in self.given
            }
            held = {
                name: partial(words, score, level, *about)
                for name, level in equal.items()
            }
            rows.append(
                {
                    "voice": judge,
                    "n": r.n,
                    **r.row("r"),
                    "p": p,
                    "flagged": flagged,
                    **others,
                }
            )
            tell.number(r, "r", judge)
            for name, at_equal in held.items():
                rows[-1] |= at_equal.metrics(f"given_{name}")
                tell.number(at_equal, f"given.{name}", judge)
            for key, value in others.items():
                tell.number(value, key.replace("r_", "r."), judge)
            values = {
                "n": r.n,
                "r": r.value,
                "p": p,
                "spearman": others["spearman"],
                "judge": judge,
            }
            values |= {
                "interval": r.interval,
                "partials": {name: at_equal.value for name, at_equal in held.items()},
            }
            tell.say(
                "flagged" if flagged else "one",
                values,
                {"bound": self.bound} if flagged else {},
            )
        tell.table("judges", pd.DataFrame(rows), p="p")
        there = (r for r in plain.values() if not math.isnan(r.value))
        tell.number(max(there, key=lambda r: abs(r.value), default=None), "largest")
        if len(shown := voices.stack().dropna()):
            marks = {
                "x": [float(words[item]) for item, _ in shown.index],
                "y": shown.astype(float).tolist(),
            }
            marks["ids"] = [item for item, _ in shown.index]
            groups = [str(judge) for _, judge in shown.index]
            tell.draw(
                "words",
                "scatter",
                **marks,
                groups=groups,
                x_label="words",
                y_label="score",
            )
        biased = [
            judge
            for judge, r in plain.items()
            if r.against(self.bound) in ("beyond", "against")
        ]
        open_ = [
            judge
            for judge, r in plain.items()
            if not (r.low > -self.bound and r.high < self.bound)
        ]
        facts = LengthFacts(list(plain), self.bound, self.level, biased, open_)
        return Found(verdict(LENGTH, facts))
