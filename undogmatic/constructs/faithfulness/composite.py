"""Averages the criteria of a text into pillars, weighs these into one number, and ranks systems by
it. The score of a pillar is the mean of its judges', and a judge's the mean of the pillar's
criteria."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field, NonNegativeFloat

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import (
    Limited,
    Share,
    Unsuited,
    check_groups,
    columns,
    family_level,
    need,
)
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
from undogmatic.examinations.truth import Margin, check_order, margin_of
from undogmatic.records.results import Told, metric_name
from undogmatic.runs.folder import LABELS, SCORES, RunFolder
from undogmatic.stats import compare, means
from undogmatic.stats import panel as judges_of
from undogmatic.stats.claims import Claim
from undogmatic.stats.compare import (
    NOISE,
    UNKNOWN,
    Apart,
    Comparison,
    Differences,
    ranks,
)
from undogmatic.stats.estimate import Estimate

CASE, SYSTEM, WORDS = "metadata.case", "metadata.system", "metadata.word_count"
ITEMS = "items_composite.csv"
HERE = "here"  # the labelled texts are those of this run
LEAST = 20  # labelled texts that all judges of a pillar judged
SAME = 1e-9  # means of systems that differ by less are a tie
NEAR = 1e-6  # what rounding may take from a level
MOST_CASES = 30  # with more, neither rows of a heatmap nor marks of a case can be read


class Scores(NamedTuple):
    """Of every item, index `item_id` throughout: `about` has columns case, system, group, words;
    `wide` one per judge and criterion; `pillars` one per pillar, and `composite` is their weighted
    mean (NaN where one is missing). `voices` has a table per pillar with a column per judge, and
    `worth` what the judges of a pillar were worth. `patched` items got a composite though a
    judgment was missing.
    """

    about: pd.DataFrame
    wide: pd.DataFrame
    pillars: pd.DataFrame
    composite: pd.Series
    voices: Mapping[str, pd.DataFrame]
    worth: Mapping[str, "VoicesWorth"]
    patched: int


class VoicesWorth(NamedTuple):
    """What the judges of a pillar were worth on the labelled texts that all of them judged, of
    which there are `n` in `groups`. `found` is None where these are too few, or a judge (`perfect`)
    made no error: then the judges weigh the same. `ranked` of the texts are ranked as well."""

    judges: Sequence[str]
    n: int
    groups: int
    ranked: int
    found: judges_of.Worth | None
    perfect: str | None = None

    @property
    def weights(self) -> pd.Series:
        """The weight of each judge."""
        equal = np.full(len(self.judges), 1 / len(self.judges))
        return pd.Series(
            equal if self.found is None else self.found.weights, list(self.judges)
        )


@dataclass(frozen=True)
class SystemPair:
    """Compares two systems over the cases that all have: the `differences` left minus right, the
    `claim` (None where there is one group), and what the margin allows to say of it."""

    left: str
    right: str
    differences: Differences
    claim: Claim | None
    apart: Apart


@dataclass(frozen=True)
class CompositeFacts:
    """Holds every two systems over the `n` cases that all have (`table`, of the groups `units`).

    `ahead` are the `pairs` of the `first` system, which has the highest `mean`, with every other
    one, of which `nearest` comes first behind those `tied` with it. `needed` cases would decide all
    that is open of it, and `settling` those pairs that so many can decide; `fewest` groups are
    needed to show anything, and `few`: a pair has fewer. Each pair's interval has the level
    1 - `alpha`.
    """

    table: pd.DataFrame
    units: Sequence[str]
    pairs: Sequence[SystemPair]
    ahead: Sequence[SystemPair]
    first: str
    mean: float
    tied: Sequence[str]
    nearest: SystemPair | None
    needed: float
    settling: Sequence[int]
    fewest: int
    few: bool
    margin: float
    alpha: float

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return self.table.shape[1]

    @property
    def n(self) -> int:
        """How many cases all systems have."""
        return len(self.table)

    @property
    def groups(self) -> int:
        """How many independent units these are."""
        return len(set(self.units))


def _leads(facts: CompositeFacts) -> Values:
    nearest = known(facts.nearest)
    return {
        "first": facts.tied,
        "mean": facts.mean,
        "second": nearest.right,
        "difference": nearest.differences.mean,
    }


def _first(facts: CompositeFacts) -> Values:
    return _leads(facts) | {"n_first": len(facts.tied)}


def _next(facts: CompositeFacts) -> Values:
    """Name how far the next system lies behind the first."""
    estimate = known(known(facts.nearest).claim).estimate
    return {
        "n": facts.n,
        "margin": facts.margin,
        "interval": estimate.interval,
        "pair_level": at_least(estimate.level),
    }


def _few(facts: CompositeFacts) -> Values:
    return _first(facts) | {
        "groups": facts.groups,
        "systems": facts.systems,
        "fewest": facts.fewest,
    }


def _level(facts: CompositeFacts) -> list[str]:
    """The systems that are shown to lie within the margin of the first, where no system may lie
    above it by more."""
    # the least by which the first leads, as far as that is shown
    leads = [pair.apart.interval[0] for pair in facts.ahead]
    if not all(lead > -facts.margin for lead in leads):
        return []
    return [pair.right for pair in facts.ahead if pair.apart.outcome == "within"]


COMPOSITE = Rules[CompositeFacts](
    "composite.verdict_",
    (
        Rule("one", "undecided", lambda f: not f.ahead),
        Rule("none", "undecided", lambda f: not f.n),
        Rule(
            "first",
            "supported",
            lambda f: all(pair.apart.outcome == "beyond" for pair in f.ahead),
            lambda f: _leads(f) | _next(f),
        ),
        Rule(
            "equal",
            "refuted",
            lambda f: all(pair.apart.outcome == "within" for pair in f.pairs),
            lambda f: {"systems": f.systems, "margin": f.margin, "n": f.n},
        ),
        Rule(
            "level",
            "refuted",
            _level,
            lambda f: {
                "first": f.first,
                "mean": f.mean,
                "level": _level(f),
                "margin": f.margin,
                "n": f.n,
            },
        ),
        Rule(
            "few_needed_one",
            "undecided",
            lambda f: f.few and len(set(f.settling)) == 1,
            lambda f: _few(f) | {"least": min(f.settling)},
        ),
        Rule(
            "few_needed",
            "undecided",
            lambda f: f.few and f.settling,
            lambda f: _few(f) | {"least": min(f.settling), "most": max(f.settling)},
        ),
        Rule("few", "undecided", lambda f: f.few, _few),
        Rule(
            "open_endless",
            "undecided",
            lambda f: f.needed == math.inf,
            lambda f: _first(f) | _next(f),
        ),
        Rule(
            "open",
            "undecided",
            always,
            lambda f: _first(f) | _next(f) | {"needed": f.needed},
        ),
    ),
)


@dataclass(frozen=True)
class WithheldFacts:
    """Counts the texts without a composite, of a `total`."""

    missing: int
    total: int


WITHHELD = Rules[WithheldFacts](
    "composite.verdict_",
    (
        Rule(
            "missing",
            "undecided",
            always,
            lambda f: {"missing": f.missing, "total": f.total},
        ),
    ),
)


def compare_systems(
    table: pd.DataFrame,
    groups: pd.Series,
    margin: Margin,
    level: float,
    power: float,
    sign: int = 1,
) -> CompositeFacts:
    """Every two systems over the cases that all have: is one ahead of all others?

    Args:
        table: Cases x systems without a missing value, high is good.
        groups: The independent unit of every case.
        margin: Smallest difference that matters.
        level: Of all intervals together; each pair's leaves out a part of the rest (Bonferroni).
        power: For the number of cases that would decide.
        sign: -1 where a low composite is good, so that the mean is told with the sign that it has.
    """
    mean = table.mean()
    order = mean.round(NOISE).sort_values(ascending=False, kind="stable").index.tolist()
    names = list(itertools.combinations(order, 2))
    # That one system leads is a statement about many pairs at once, and the first is
    # chosen by the data.
    alpha = (1 - level) / max(1, len(names))
    pairs, units = [], groups.reindex(table.index).astype(str).tolist()
    for left, right in names:
        differences, apart = Differences(table[left] - table[right], units), UNKNOWN
        if (
            claim := differences.claim(margin.value, alpha, margin.span, power)
        ) is not None:
            outcome = claim.outcome if margin.allows(claim.outcome) else "open"
            apart = Apart(
                claim.estimate.interval,
                outcome,
                claim.n_needed if outcome == "open" else None,
            )
        pairs.append(SystemPair(left, right, differences, claim, apart))
    ahead = [pair for pair in pairs if pair.left == order[0]]
    # The order among systems with the same mean is that of the file; nobody is first by
    # that.
    tied = [
        order[0],
        *(pair.right for pair in ahead if abs(pair.differences.mean) < SAME),
    ]
    open_ = [pair.apart.needed for pair in ahead if pair.apart.outcome == "open"]
    needed = max((math.inf if cases is None else cases for cases in open_), default=0)
    fewest = max(
        (pair.claim.fewest for pair in ahead if pair.claim is not None), default=2
    )
    nearest = next(
        (pair for pair in ahead if pair.right not in tied), next(iter(ahead), None)
    )
    return CompositeFacts(
        table=table,
        units=units,
        pairs=pairs,
        ahead=ahead,
        first=order[0],
        mean=float(mean[order[0]]) * sign,
        tied=tied,
        nearest=nearest,
        needed=needed,
        settling=[
            pair.apart.needed
            for pair in pairs
            if pair.apart.outcome == "open" and pair.apart.needed is not None
        ],
        fewest=fewest,
        few=any(pair.claim is None or pair.claim.few for pair in pairs),
        margin=margin.value,
        alpha=alpha,
    )


def at_least(level: float) -> float:
    """A level to two decimals of a percentage, rounded down: none reads 100%."""
    return math.floor(level * 10_000 + NEAR) / 10_000


def _about(frame: pd.DataFrame) -> pd.DataFrame:
    """Case, system, group and length of every item, in input order."""
    first = frame.drop_duplicates("item_id").set_index("item_id")
    case = first[CASE] if CASE in first else first["pair_id"]
    case = case.where(case.notna(), pd.Series(first.index, index=first.index)).astype(
        str
    )
    words = first[WORDS] if WORDS in first else first["words"]
    about = pd.DataFrame(
        {
            "case": case,
            "system": first[SYSTEM].astype(str),
            "group": first["group"],
            "words": words,
        }
    )
    if (twice := about[about.duplicated(["case", "system"])]).size:
        row = twice.iloc[0]
        both = about.index[
            (about["case"] == row["case"]) & (about["system"] == row["system"])
        ][:2]
        raise DataError(
            f"the items {', '.join(both)} are both by {row['system']!r} about {row['case']!r};"
            " systems are compared on one text per case."
        )
    return about


def crossed(about: pd.DataFrame, values: pd.Series) -> pd.DataFrame:
    """Values of items as a table of cases by systems, both in input order; NaN where there is
    none."""
    table = about.assign(value=values).pivot(
        index="case", columns="system", values="value"
    )
    return table.reindex(index=about["case"].unique(), columns=about["system"].unique())


def labelled_texts(
    judged: RunEvidence, where: str, key: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores of the first repeat (item_id, judge, criterion, pair_id, group, score), and the labels
    of each item by criterion: those of a run's folder, or with HERE of this run. `key` is where the
    folder was named. Raises ConfigError where it is none, DataError where nothing has labels."""
    if where == HERE:
        scores = labels = judged.first()
    else:
        folder = labelled_folder(where, key)
        scores = folder.table(
            SCORES, ("item_id", "judge", "criterion", "pair_id", "group")
        )
        if not folder.has(LABELS):
            raise DataError(
                f"{folder.named}, a run over texts without labels. Name a run over labelled"
                f" texts, or {HERE!r} where the texts of this run have labels."
            )
        labels = folder.table(LABELS, ("item_id", "criterion"))
    once = labels.drop_duplicates(["item_id", "criterion"])
    wide = once.pivot(index="item_id", columns="criterion", values="label")
    return scores, wide.astype(float)


def labelled_folder(typed: str, key: str) -> RunFolder:
    """The folder of a run with scores, which was typed for a key. Raises ConfigError."""
    return RunFolder.open(typed, f"`{key}`", [SCORES])


@dataclass(frozen=True)
class CompositeAnalysis(Limited):
    """Weighted mean of pillars, ranking of systems with intervals over cases, tests between every
    two.

    Args:
        weights: Pillar -> its weight; they sum to 1.
        criteria: Pillar -> its criteria; those of its own name where none are given.
        judges: Pillar -> the judges that count; without an entry all that give its criteria.
        history: The judges of a pillar weigh what they were worth on labelled texts: the folder of
            a run of the same judges, or HERE for the labels of this run. None: all weigh the same.
        missing: What a missing judgment makes of a composite: "missing", or "renormalise": the mean
            of what is there, with the weights of the pillars that are.
        bands: Name -> lowest composite that bears it.
        margin: Smallest difference between systems that matters, in score units; None takes the
            rubric's.
        level: Confidence level of every interval, and of all tests between systems together.
        power: Wanted probability of finding a difference, for the number of cases that would
            decide.
        resamples: Bootstrap resamples over cases, for the places in the ranking.
        against: Folders of earlier runs with a composite over the same items: what changed since?
    """

    name: ClassVar[str] = "composite"
    long: ClassVar[bool] = True
    weights: Mapping[str, float]
    criteria: Mapping[str, Sequence[str]] = field(default_factory=dict)
    judges: Mapping[str, Sequence[str]] | None = None
    history: str | None = None
    missing: Literal["missing", "renormalise"] = "missing"
    bands: Mapping[str, float] = field(default_factory=dict)
    margin: NonNegativeFloat | None = None
    level: Share = 0.95
    power: Share = 0.8
    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = 5000
    against: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        told = ", ".join(
            f"{pillar} {weight:g}" for pillar, weight in self.weights.items()
        )
        if not self.weights or any(weight <= 0 for weight in self.weights.values()):
            raise ConfigError(
                f"`weights` are {{{told}}}; every pillar needs a weight above 0 (leave out what has"
                " none)."
            )
        if not math.isclose(total := math.fsum(self.weights.values()), 1, abs_tol=1e-9):
            raise ConfigError(
                f"`weights` sum to {total:g} ({told}); they must sum to 1."
            )
        for key, named in (("criteria", self.criteria), ("judges", self.judges or {})):
            if unknown := sorted(named.keys() - self.weights.keys()):
                raise ConfigError(
                    f"`{key}` names {unknown[0]!r}, which has no weight; weights: {told}."
                )
        if self.history not in (None, HERE):
            # before anything is asked
            labelled_folder(self.history, "analysis.history")
        lows = list(self.bands.values())
        if lows != sorted(lows, reverse=True) or len(set(lows)) < len(lows):
            raise ConfigError(
                f"`analysis.bands` is {dict(self.bands)}; give the highest band first."
            )

    @property
    def weighing(self) -> pd.Series:
        """The weight of each pillar."""
        return pd.Series(dict(self.weights), dtype=float)

    def of(self, pillar: str) -> list[str]:
        """The criteria of a pillar."""
        return list(self.criteria.get(pillar, [pillar]))

    def scores(self, judged: RunEvidence, repeat: int = 0) -> Scores:
        """Pillars and composite of every item, from one repeat."""
        about, scored = (
            _about(judged.frame),
            judged.frame[judged.frame["repeat"] == repeat],
        )
        wide = scored.pivot(
            index="item_id", columns=["judge", "criterion"], values="score"
        ).reindex(about.index)
        voices = self._voices(wide)
        worth = {} if self.history is None else self._worth(judged, voices)
        weights = {pillar: known.weights for pillar, known in worth.items()}
        pillars, composite = self._weighed(
            voices, self.missing == "renormalise", weights
        )
        gaps = pd.DataFrame(
            {p: own.isna().any(axis=1) | own.empty for p, own in voices.items()},
            index=about.index,
        )
        patched = int((gaps.any(axis=1) & composite.notna()).sum())
        return Scores(about, wide, pillars, composite, voices, worth, patched)

    def of_rows(
        self, rows: pd.DataFrame, here: Mapping[str, pd.DataFrame], key: str, where: str
    ) -> tuple[pd.Series, Mapping[str, pd.DataFrame]]:
        """The composite of each item of a table of scores (item_id, judge, criterion, score) by the
        judges of this run, who weigh the same, and their scores by pillar. `key` names the run
        (`where`) that the table is of. Raises ConfigError where one of the judges is not in it."""
        voices = self._same(rows, here, key, where)
        return self._weighed(voices, self.missing == "renormalise")[1], voices

    def _same(
        self, rows: pd.DataFrame, here: Mapping[str, pd.DataFrame], key: str, where: str
    ) -> dict[str, pd.DataFrame]:
        """What the judges of this run (`here`) say in the rows of another, by pillar."""
        found = self._voices(
            rows.pivot(index="item_id", columns=["judge", "criterion"], values="score")
        )
        for pillar, own in here.items():
            there = found[pillar]
            if unknown := [judge for judge in map(str, own) if judge not in there]:
                options = ", ".join(map(str, there)) or "none"
                raise ConfigError(
                    f"`{key}` is {where!r}, a run in which {unknown[0]!r} gives"
                    f" no {' and '.join(self.of(pillar))} (judges that do: {options}). Judge the"
                    " labelled texts with the same judges, by the same names."
                )
        return {pillar: found[pillar][[*own]] for pillar, own in here.items()}

    def _voices(self, wide: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """A table per pillar, with the mean of its criteria by each judge that gives all of
        them."""
        voices = {}
        for pillar in self.weights:
            judges = (self.judges or {}).get(
                pillar, dict.fromkeys(wide.columns.get_level_values("judge"))
            )
            pairs_of = {
                judge: [(judge, criterion) for criterion in self.of(pillar)]
                for judge in judges
            }
            there = {
                judge: wide[pairs]
                for judge, pairs in pairs_of.items()
                if all(p in wide.columns for p in pairs)
            }
            means_of = {
                judge: given.mean(axis=1, skipna=False)
                for judge, given in there.items()
            }
            voices[pillar] = pd.DataFrame(means_of, index=wide.index).round(DIGITS)
        return voices

    def _worth(
        self, judged: RunEvidence, voices: Mapping[str, pd.DataFrame]
    ) -> dict[str, VoicesWorth]:
        """What the judges of each pillar with several were worth on the labelled texts."""
        table, labels = self._labelled(judged)
        ranked, worth = set(judged.frame["item_id"]), {}
        several = {pillar: own for pillar, own in voices.items() if own.shape[1] > 1}
        same = self._same(table, several, "analysis.history", str(self.history))
        group = table.drop_duplicates("item_id").set_index("item_id")["group"]
        for pillar, here in several.items():
            there = same[pillar]
            truth = labels.reindex(columns=self.of(pillar)).mean(axis=1, skipna=False)
            both = there[[*here]].assign(truth=truth.reindex(there.index)).dropna()
            squared = both[[*here]].sub(both["truth"], axis=0).to_numpy() ** 2
            codes = np.unique(
                group.reindex(both.index).astype(str), return_inverse=True
            )[1]
            groups = int(codes.max(initial=-1)) + 1
            # A weight by the error of a judge that made none would be all of it, on the
            # strength of a few texts.
            exact = [
                judge
                for judge, one in zip(here, squared.T, strict=True)
                if not one.any()
            ]
            few = len(both) < LEAST or groups < judges_of.FEWEST_GROUPS
            found = None if few or exact else judges_of.worth(squared, codes)
            worth[pillar] = VoicesWorth(
                [*map(str, here)],
                len(both),
                groups,
                len(ranked & set(both.index)),
                found,
                str(exact[0]) if exact and not few else None,
            )
        return worth

    def _labelled(self, judged: RunEvidence) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Scores of the first repeat and the labels of each item by criterion (`history`)."""
        return labelled_texts(judged, str(self.history), "analysis.history")

    def _weighed(
        self,
        voices: Mapping[str, pd.DataFrame],
        patch: bool = False,
        weights: Mapping[str, pd.Series] | None = None,
    ) -> tuple[pd.DataFrame, pd.Series]:
        """The pillars and their weighted mean; with `patch`, from what is there. The judges of a
        pillar without `weights` weigh the same."""
        # Means are rounded where they are made: (2/5 + 4/5) / 2 shall tie with 3/5.
        made = {}
        for pillar, own in voices.items():
            each = (weights or {}).get(pillar)
            if each is None:
                made[pillar] = own.mean(axis=1, skipna=patch)
                continue
            shares = own.notna() * each
            total = shares.sum(axis=1)
            mean = (own.fillna(0) * each).sum(axis=1) / total.where(total > 0)
            made[pillar] = mean if patch else mean.where(own.notna().all(axis=1))
        pillars = pd.DataFrame(made).round(DIGITS)
        there = (pillars.notna() * self.weighing).sum(axis=1)
        composite = ((pillars.fillna(0) * self.weighing).sum(axis=1) / there).round(
            DIGITS
        )
        return pillars, composite if patch else composite.where(
            pillars.notna().all(axis=1)
        )

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited without systems or criteria, ConfigError for a judge that is not
        there."""
        check_order(self.name, judged.rubric)
        need(judged, self.name, SYSTEM)
        frame, there = judged.frame, set(judged.frame["criterion"].dropna())
        for pillar in self.weights:
            lacking = [
                criterion for criterion in self.of(pillar) if criterion not in there
            ]
            if lacking and self.missing == "missing":
                raise Unsuited(
                    f"analysis={self.name} needs the criterion {lacking[0]!r} for the pillar"
                    f" {pillar!r}, and no judge gives it (there are: {', '.join(sorted(there))})."
                    " Give weights to other pillars that sum to 1 (weights, criteria), or say that"
                    " what is missing is left out (missing=renormalise)."
                )
            for judge in (self.judges or {}).get(pillar, ()):
                if judge not in set(frame["judge"]):
                    options = ", ".join(map(str, frame["judge"].dropna().unique()))
                    raise ConfigError(
                        f"`judges.{pillar}` names {judge!r}; there are: {options}."
                    )
        made = frame[SYSTEM].dropna().unique()
        check_groups(
            self.name, SYSTEM.removeprefix("metadata."), made, "compare fewer systems"
        )

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `composite.best`, the mean of the system that comes first."""
        self.check(judged)
        tell, scores, margin = (
            Told(self.name),
            self.scores(judged),
            margin_of(judged.rubric, self.margin),
        )
        table = crossed(scores.about, -judged.sign * scores.composite)
        whole, groups = (
            table.dropna(),
            scores.about.drop_duplicates("case").set_index("case")["group"],
        )
        systems = compare_systems(
            whole, groups, margin, self.level, self.power, sign=-judged.sign
        )
        ruling: Ruling[CompositeFacts] | Ruling[WithheldFacts] = verdict(
            COMPOSITE, systems
        )
        if scores.composite.isna().any() and ruling.standing != "undecided":
            ruling = self._withheld(systems, judged, scores, groups, margin)
        self._set_out(tell, scores, table, margin)
        if len(whole) and table.shape[1] > 1:
            self._rank(tell, judged, scores, systems, rng)
        self._weigh(tell, judged, scores)
        self._by_judge(tell, judged, scores)
        self._compare_with_earlier(tell, judged, scores, margin)
        tell.numbers = {
            name: value for name, value in tell.metrics.items() if not math.isnan(value)
        }
        items = scores.about[["case", "system"]].assign(
            **dict(scores.pillars.items()), composite=scores.composite
        )
        headline = "composite.best" if "composite.best" in tell.metrics else None
        items = items.rename_axis("item_id").reset_index()
        return [tell.result(*ruling.decided, headline=headline, items=items)]

    def band(self, value: float) -> str:
        """The band of a composite; "below" under the lowest one."""
        return next(
            (name for name, low in self.bands.items() if value >= low - 1e-12), "below"
        )

    def _set_out(
        self, tell: Told, scores: Scores, table: pd.DataFrame, margin: Margin
    ) -> None:
        """Tell what the composite is made of, and what was left out of it."""
        incomplete, total = int(table.isna().any(axis=1).sum()), len(scores.composite)
        counts = {
            "systems": table.shape[1],
            "cases": len(table) - incomplete,
            "cases_left_out": incomplete,
        }
        counts |= {
            "missing": (missing := int(scores.composite.isna().sum())),
            "renormalised": scores.patched,
        }
        for name, count in counts.items():
            tell.number(count, name, unit="count")
        tell.say("weights", weights=dict(self.weights))
        for pillar, own in scores.voices.items():
            if own.shape[1] > 1 and pillar not in scores.worth:
                tell.say(
                    "voices", pillar=pillar, n=own.shape[1], judges=list(own.columns)
                )
        if self.missing == "renormalise":
            tell.say("renormalised", n=scores.patched, total=total)
        if missing:
            where = {
                pillar: int(n) for pillar, n in scores.pillars.isna().sum().items() if n
            }
            tell.say("missing", n=missing, total=total, where=where)
            tell.say("left_out", n=incomplete, total=len(table))
        tell.say("margin", margin=margin.value, source=f"margin_{margin.source}")

    def _rank(
        self,
        tell: Told,
        judged: RunEvidence,
        scores: Scores,
        systems: CompositeFacts,
        rng: np.random.Generator,
    ) -> None:
        """Tell of every system, the best first, over the cases that all systems have."""
        whole, groups, about = systems.table, systems.units, scores.about
        places = ranks(whole.to_numpy(), rng, self.level, self.resamples, groups=groups)
        kept = scores.pillars[about["case"].isin(whole.index)]
        pillars = kept.groupby(about["system"]).mean().add_prefix("of_")
        tell.say("over", n=systems.n, groups=systems.groups)
        rows: list[dict[str, Any]] = []
        for n in np.argsort(places.place, kind="stable"):
            system = str(whole.columns[n])
            values = -judged.sign * whole[system].to_numpy()
            mean = Estimate(float(values.mean()), np.nan, np.nan)
            if systems.groups > 1:
                within = (
                    judged.scale[0] <= values.min() and values.max() <= judged.scale[1]
                )
                held = means.interval(
                    values,
                    self.level,
                    groups=groups,
                    bounds=judged.scale if within else None,
                )
                mean = mean.replace(low=held.low, high=held.high)
            place, low, high, first = (
                float(of_all[n])
                for of_all in (places.place, *places.ends, places.first)
            )
            bands = {
                f"band{end}": "" if math.isnan(x) else self.band(x)
                for end, x in mean.metrics("").items()
            }
            row: dict[str, Any] = {
                "place": place,
                "system": system,
                "n": len(whole),
                **mean.row("composite"),
                **bands,
            }
            row |= {
                "place_low": low,
                "place_high": high,
                "first_share": first,
                **pillars.loc[system].to_dict(),
            }
            rows.append(row)
            if len(rows) == 1:
                tell.number(mean, "best")
            tell.number(mean, "mean", system)
            tell.number(place, "place", system, unit="count")
            tell.number(first, "first_share", system, unit="share")
            for pillar in self.weights:
                tell.number(row[f"of_{pillar}"], "pillar", pillar, system)
            shown = {
                "band": f"band_{bands['band']}",
                "places": (low, high),
                "system": system,
                "first": first,
            }
            tell.say("system", mean.values("composite"), shown)
        ranking = pd.DataFrame(rows)
        tell.table("ranking", ranking, first_share="share")
        # `apart` holds with the level of all together, whatever share of it the table leaves to
        # each
        pairs = [
            Comparison(
                p.left,
                p.right,
                "",
                p.differences.mean,
                systems.n,
                p.differences.p,
                lambda _, p=p: p.apart,  # type: ignore[misc]
            )
            for p in systems.pairs
        ]
        tests = compare.corrected(
            pairs, {"": 1}, by_interval=("",), alpha=systems.alpha
        ).table
        tell.table("tests", tests.drop(columns="measure"), p="p", p_holm="p")
        tell.say("places_note", n=systems.n)
        open_ = sum(pair.apart.outcome == "open" for pair in systems.pairs)
        levels = [
            pair.claim.estimate.level
            for pair in systems.pairs
            if pair.claim is not None
        ]
        tell.say(
            "tests",
            n=len(systems.pairs),
            open=open_,
            level=at_least(min(levels, default=1 - systems.alpha)),
        )
        self._tell_bands(tell, judged)
        tell.say("no_truth")
        forest = columns(
            ranking, labels="system", estimate="composite", low="low", high="high"
        )
        tell.draw("ranking", "forest", **forest, x_label="composite")
        draw_heatmap(
            tell,
            "pillars",
            ranking.set_index("system")[[*pillars, "composite"]],
            "mean_of_cases",
        )

    def _tell_bands(self, tell: Told, judged: RunEvidence) -> None:
        """Say what a bad score of the heaviest pillar alone does to the band: a mean can hide a
        grave error."""
        worst, best = judged.scale[:: -judged.sign]
        bad = [
            level
            for level in judged.rubric.levels
            if abs(level - worst) < abs(level - best)
        ]
        if not self.bands or best < worst or not bad:
            return
        pillar = max(self.weights, key=lambda one: self.weights[one])
        whole = best - self.weights[pillar] * (best - max(bad))
        tell.say(
            "bands",
            pillar=pillar,
            score=max(bad),
            best=best,
            composite=whole,
            band=f"band_{self.band(whole)}",
        )

    def _weigh(self, tell: Told, judged: RunEvidence, scores: Scores) -> None:
        """Tell what the judges were worth, and the ranking with equal weights beside that with
        theirs."""
        rows: list[dict[str, Any]] = []
        for pillar, own in scores.worth.items():
            about = {"pillar": pillar, "n": own.n, "groups": own.groups}
            if own.found is None:
                why = (
                    {"judge": own.perfect}
                    if own.perfect
                    else {"least": LEAST, "fewest": judges_of.FEWEST_GROUPS}
                )
                tell.say("worth_perfect" if own.perfect else "worth_few", about, why)
                continue
            kept, shares = own.found.kept, own.weights
            tell.say("worth", about, shares=shares.to_dict(), kept=kept)
            if own.ranked:
                tell.say("worth_ranked", pillar=pillar, n=own.ranked)
            tell.number(kept, "worth_kept", pillar, unit="share")
            columns_of = zip(own.judges, *own.found[:3], strict=True)
            for judge, error, inverse, weight in columns_of:
                row = {
                    "pillar": pillar,
                    "voice": judge,
                    "n": own.n,
                    "error": math.sqrt(error),
                }
                rows.append(row | {"inverse": inverse, "weight": weight})
                tell.number(weight, "weight", pillar, judge, unit="share")
        if not rows:
            return
        tell.table("worth", pd.DataFrame(rows), inverse="share", weight="share")
        _, equal = self._weighed(scores.voices, self.missing == "renormalise")
        both = {"weighted": scores.composite, "unweighted": equal}
        tables = {
            name: crossed(scores.about, values).dropna()
            for name, values in both.items()
        }
        mean = pd.DataFrame(
            {name: table.mean() for name, table in tables.items()}
        ).round(NOISE)
        places = (judged.sign * mean).rank(method="min").add_suffix("_place")
        ranking = mean.join(places).sort_values("weighted_place", kind="stable")
        tell.tables["by_weights"] = ranking.rename_axis("system").reset_index()
        moved = int((places["weighted_place"] != places["unweighted_place"]).sum())
        tell.say(
            "weights_move" if moved else "weights_same", n=moved, systems=len(places)
        )

    def _by_judge(self, tell: Told, judged: RunEvidence, scores: Scores) -> None:
        """Tell the composite of every case, and with each judge alone of pillars with several: of
        every case, and the means and places of the systems over what that judge judged."""
        about, cases = scores.about, crossed(scores.about, scores.composite)
        drawn = 0 < len(cases) <= MOST_CASES
        if drawn:
            _draw_dots(tell, "cases", cases)
        rows: list[dict[str, Any]] = []
        several = [voices for voices in scores.voices.values() if voices.shape[1] > 1]
        for judge in dict.fromkeys(judge for voices in several for judge in voices):
            alone = {
                p: v[[judge]] if v.shape[1] > 1 and judge in v else v
                for p, v in scores.voices.items()
            }
            of_judge, composite = self._weighed(alone)
            grid = crossed(about, composite)
            if drawn:
                draw_heatmap(
                    tell,
                    metric_name(f"cases_{judge}"),
                    grid,
                    "composite",
                    judge=judge,
                    caption="cases_of",
                )
            table = grid.dropna()
            pillars = (
                of_judge[about["case"].isin(table.index)]
                .groupby(about["system"])
                .mean()
                .add_prefix("of_")
            )
            places = (judged.sign * table.mean()).round(NOISE).rank(method="min")
            for system in table.columns if len(table) else ():
                row = {
                    "voice": judge,
                    "system": system,
                    "n": len(table),
                    "place": places[system],
                }
                rows.append(
                    row
                    | pillars.loc[system].to_dict()
                    | {"composite": table[system].mean()}
                )
                tell.number(rows[-1]["composite"], "by_judge", judge, system)
        if rows:
            tell.tables["by_judge"] = by_judge = pd.DataFrame(rows)
            first = (
                by_judge[by_judge["place"] == 1]
                .groupby("voice", sort=False)["system"]
                .agg(", ".join)
            )
            if first.nunique() == 1:
                tell.say("firsts_same", n=len(first), system=first.iloc[0])
            else:
                tell.say("firsts_differ", n=len(first), firsts=first.to_dict())
            if drawn:
                wide = by_judge.pivot(
                    index="system", columns="voice", values="composite"
                )
                wide = wide.reindex(
                    index=by_judge["system"].unique(),
                    columns=by_judge["voice"].unique(),
                )
                _draw_dots(tell, "by_judge", wide)
        tell.tables["cases"] = cases.rename_axis(columns=None).reset_index()
        tell.tables["cases"].attrs["names"] = list(cases.columns)

    def _withheld(
        self,
        systems: CompositeFacts,
        judged: RunEvidence,
        scores: Scores,
        groups: pd.Series,
        margin: Margin,
    ) -> Ruling[CompositeFacts] | Ruling[WithheldFacts]:
        """The verdict if it stands with the missing pillars at the ends of the scale that speak
        most against it."""
        low, high = (
            crossed(
                scores.about,
                -judged.sign * (scores.pillars.fillna(end) * self.weighing).sum(axis=1),
            ).dropna()
            for end in judged.scale[:: -judged.sign]
        )
        ruling, first = verdict(COMPOSITE, systems), systems.first
        for one in low.columns if ruling.standing == "refuted" else [first]:
            turned = high.assign(**{one: low[one]})
            other = compare_systems(turned, groups, margin, self.level, self.power)
            again = verdict(COMPOSITE, other)
            same = again.standing == "refuted" or other.first == first
            if again.standing != ruling.standing or not same:
                empty = scores.composite.isna()
                return verdict(WITHHELD, WithheldFacts(int(empty.sum()), len(empty)))
        return ruling

    def _compare_with_earlier(
        self, tell: Told, judged: RunEvidence, scores: Scores, margin: Margin
    ) -> None:
        """Tell of each system now and in earlier runs, over the items that both have."""
        rows = []
        level = family_level(
            self.level, len(self.against) * scores.about["system"].nunique()
        )
        for n, typed in enumerate(self.against):
            folder = RunFolder.open(typed, f"`analysis.against[{n}]`", [ITEMS])
            there = folder.table(ITEMS).set_index("item_id")["composite"].astype(float)
            name = str(folder.facts.get("name", folder.path.name))
            change = (scores.composite - there.reindex(scores.composite.index)).dropna()
            if folder.facts.get("dataset_digest") != judged.digest:
                tell.say("history_differs", run=name, n=len(change))
            for system, gain in change.groupby(
                scores.about["system"].reindex(change.index), sort=False
            ):
                both = pd.DataFrame({"now": gain, "then": 0.0})
                (pair,) = compare_systems(
                    both, scores.about["group"], margin, level, self.power
                ).pairs
                (low, high), beyond = pair.apart.interval, "higher"
                if pair.left != "now":
                    (low, high), beyond = (-high, -low), "lower"
                shown = {"within": "equal", "beyond": beyond}.get(
                    pair.apart.outcome, "open"
                )
                row = {
                    "run": name,
                    "system": system,
                    "n": len(gain),
                    "then": float(there.reindex(gain.index).mean()),
                }
                row |= {
                    "now": float(scores.composite.reindex(gain.index).mean()),
                    "difference": float(gain.mean()),
                }
                rows.append(row | {"low": low, "high": high, "shown": shown})
        if rows:
            tell.tables["history"] = pd.DataFrame(rows)


def _draw_dots(tell: Told, name: str, table: pd.DataFrame) -> None:
    """Add a figure with a row per index and a mark per column."""
    series = {
        str(column): values.astype(float).tolist() for column, values in table.items()
    }
    tell.draw(
        name,
        "dots",
        labels=[str(row) for row in table.index],
        series=series,
        x_label="composite",
    )


def draw_heatmap(
    tell: Told, name: str, grid: pd.DataFrame, label: str, **more: Any
) -> None:
    """Add a table as a picture; its colours run over 0-1 where all numbers lie there."""
    limits = (0.0, 1.0) if grid.max().max() <= 1 else None
    matrix, ends = (
        grid.to_numpy(dtype=float).tolist(),
        {
            "rows": grid.index.tolist(),
            "columns": grid.columns.tolist(),
        },
    )
    tell.draw(
        name,
        "heatmap",
        **({**ends, "matrix": matrix, "label": label, "limits": limits} | more),
    )
