"""Tells how far the verdicts of one judge agree with people's labels, in the numbers that suit the kind of verdict.

Raters are kept apart: every verdict is held against the label of each rater, with a weight of one over the raters of
the item. Intervals are over groups of items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.records.checked import CheckOptions, Told, Weight
from undogmatic.records.results import Finding
from undogmatic.records.verdict_table import AS_GIVEN, FIRST, SECOND, SWAPPED, TIE, JudgeTable
from undogmatic.stats import limits, rated
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.rated import Parts, Rated

HEADLINES = {
    "numeric": "spearman",
    "ordered": "weighted_kappa",
    "unordered": "kappa",
    "pass_fail": "kappa",
    "pairwise": "pairwise_kappa",
}
"""The coefficient that is held against `CheckOptions.least`, by kind."""
FEWEST_GROUPS = 5
"""With fewer groups no coefficient is told."""
_UNIT = (0.0, 1.0)


@dataclass(frozen=True)
class Agreement:
    """How far a judge agrees with people, for the verdict on it.

    Attributes:
        name: Of the coefficient (HEADLINES). estimate: Agreement beyond chance, over groups; `worst` and `best` are its
            limits with missing verdicts set against and for the judge. None: not to be computed, and `why` is the key
            of the sentence that says so. raw: The share of verdicts that agree (numeric: None).
        constant, one_class: The judge said one thing only; people did (in a pairwise choice only where not every item
            was shown in both orders, as the numbering of two outputs means nothing).
        identical: The verdicts equal all labels of a rater: the labels may be the judge's own. reversed: The interval
            lies wholly below 0. first: Share of choices of the output shown first (pairwise with known orders).
        n, groups, missing: Items with verdict and label, their groups, and verdicts on labelled items that are missing.
    """

    name: str
    estimate: Estimate | None
    raw: Estimate | None
    constant: bool
    one_class: bool
    identical: bool
    reversed: bool
    first: Estimate | None
    n: int
    groups: int
    missing: int
    why: str | None = None


def agreement(own: JudgeTable, options: CheckOptions) -> Agreement:
    """Compute the headline: agreement of the verdicts with people's labels, beyond chance."""
    kind, every = own.table.kind, own.pairs(missing=True)
    pairs = every[every["verdict"].notna()]
    n_missing = len(every[every["verdict"].isna()].drop_duplicates(["item", "order"]))
    constant, one_label = (len(pairs) > 0 and pairs[c].nunique() == 1 for c in ("verdict", "label"))
    one_class = one_label and not (kind == "pairwise" and _in_both_orders(pairs))
    same = pairs["verdict"].eq(pairs["label"]).groupby(pairs["rater"]).all()
    groups = int(pairs["code"].nunique())
    why = None
    if pairs.empty:
        why = "kinds.why_no_labels" if own.labels.empty else "kinds.why_no_pairs"
    elif groups < FEWEST_GROUPS:
        why = "kinds.why_few"
    elif one_class:
        why = "kinds.why_one_class"
    estimate = None if why else _bounded(own, every, pairs, options)
    if estimate is None and why is None:
        why = "kinds.why_constant"
    use = _rated(pairs, options.level)
    return Agreement(
        name=HEADLINES[kind],
        estimate=estimate,
        raw=None if kind == "numeric" else use.mean((use.verdicts == use.labels).astype(float), _UNIT),
        constant=constant,
        one_class=one_class,
        identical=bool(same.any()),
        reversed=estimate is not None and estimate.high < 0,
        first=_first(own, options) if kind == "pairwise" else None,
        n=int(pairs["item"].nunique()),
        groups=groups,
        missing=n_missing,
        why=why,
    )


def _rated(pairs: pd.DataFrame, level: float) -> Rated:
    """Verdicts beside labels as arrays."""
    verdicts, labels, weights = (pairs[c].to_numpy(dtype=np.float64) for c in ("verdict", "label", "weight"))
    return Rated(verdicts, labels, weights, pairs["code"].to_numpy(dtype=np.intp), level)


def _in_both_orders(rows: pd.DataFrame) -> bool:
    """Whether every item was shown in both orders."""
    return bool(len(rows)) and bool((rows.groupby("item", sort=False)["order"].nunique() == 2).all())


def _costs(own: JudgeTable) -> np.ndarray:
    """How far categories disagree in the headline."""
    return rated.costs(len(own.table.categories), "quadratic" if own.table.kind == "ordered" else "none")


def _parts(own: JudgeTable) -> Parts:
    """The headline of categories."""
    return (rated.mirrored_kappa if own.table.kind == "pairwise" else rated.kappa)(_costs(own))


def _bounded(own: JudgeTable, every: pd.DataFrame, pairs: pd.DataFrame, options: CheckOptions) -> Estimate | None:
    """The headline with its interval, and its limits with missing verdicts set against and for the judge."""
    if own.table.kind == "numeric":
        scores, labels, weights = (every[c].to_numpy(dtype=np.float64) for c in ("verdict", "label", "weight"))
        if pairs["verdict"].nunique() == 1:
            return None
        groups = every["code"].to_numpy()
        return limits.order(scores, labels, options.rng(), groups=groups, level=options.level, weights=weights)
    parts, k = _parts(own), len(own.table.categories)
    estimate = _rated(pairs, options.level).coefficient(k, parts)
    if estimate is None or len(every) == len(pairs):
        return estimate
    label = every["label"]
    farthest = _costs(own).argmax(axis=0)[label.to_numpy(dtype=np.intp)]
    worst, best = (
        _rated(every.assign(verdict=every["verdict"].fillna(fill)), options.level).coefficient(k, parts)
        for fill in (pd.Series(farthest, every.index), label)
    )
    assert worst is not None and best is not None, "further pairs add no certainty"
    return estimate.replace(worst=min(worst.low, estimate.low), best=max(best.high, estimate.high))


def tell(own: JudgeTable, told: Told, options: CheckOptions, agreement: Agreement) -> None:
    """Tell all numbers that suit the kind of verdict."""
    pairs = own.pairs()
    if agreement.estimate is None:
        told.lacks("agreement", agreement.why or "", groups=agreement.groups, needed=FEWEST_GROUPS)
    else:
        _tell_headline(own, told, options, agreement, agreement.estimate)
    if len(pairs):
        told.figure("agreement.raw", agreement.raw)
        if own.table.kind in _BY_KIND:
            _BY_KIND[own.table.kind](own, told, options, pairs)
    if own.table.kind == "pairwise":
        _tell_position(own, told, options)


def _tell_headline(
    own: JudgeTable, told: Told, options: CheckOptions, agreement: Agreement, estimate: Estimate
) -> None:
    """The headline, what missing verdicts could make of it, and how many labels would settle what it leaves open."""
    told.figure(f"agreement.{agreement.name}", estimate)
    counts = {"n": agreement.n, "groups": agreement.groups, "least": options.least, "level": options.level}
    held, settle = limits.hold(estimate, options.least), None
    if held.outcome == "open" and estimate.value > options.least and held.n_needed is not None:
        settle = Finding("kinds.settle_labels", {"more": held.n_needed - estimate.n_groups, "file": _file(own)})
    elif held.outcome == "open":
        settle = Finding("kinds.settle_close", {"least": options.least})
    told.note(f"kinds.headline_{agreement.name}", Weight.DETAIL, settle=settle, **estimate.values("value"), **counts)
    if agreement.missing:
        bounds = estimate.worst_low, estimate.best_high
        turns = estimate.low > options.least >= estimate.worst_low
        told.note(
            "kinds.missing_turns" if turns else "kinds.missing",
            Weight.LIMITS if turns else Weight.QUALIFIES,
            missing=agreement.missing,
            n=agreement.n,
            bounds=bounds,
            coefficient=f"agreement.{agreement.name}",
        )


def _file(own: JudgeTable) -> str:
    """The file to label more of, for a command."""
    return next(iter(own.table.sources), "FILE")


def _tell_categories(own: JudgeTable, told: Told, options: CheckOptions, pairs: pd.DataFrame) -> None:
    """The confusion matrix and, but for choices of two outputs, Gwet's AC1."""
    use, names = _rated(pairs, options.level), own.table.categories
    if own.table.kind != "pairwise":
        told.figure("agreement.ac1", use.coefficient(len(names), rated.ac1))
    counts = use.table(len(names)).T
    table = pd.DataFrame(counts, columns=list(names))
    table.insert(0, "label", list(names))
    table.attrs["names"] = names
    told.tables["kinds.confusion"] = table


def _tell_pass_fail(own: JudgeTable, told: Told, options: CheckOptions, pairs: pd.DataFrame) -> None:
    """Sensitivity and specificity, and predictive values at the labels' prevalence and at the stated one."""
    _tell_categories(own, told, options, pairs)
    use = _rated(pairs, options.level)
    said, true = use.verdicts == 1, use.labels == 1
    prevalence = use.mean(true.astype(float), _UNIT)
    rates = {"sensitivity": (said, true), "specificity": (~said, ~true)}
    found = {name: _share(use, right, among) for name, (right, among) in rates.items()}
    found |= {"ppv": _share(use, true, said), "npv": _share(use, ~true, ~said)}
    for name, estimate in found.items():
        told.figure(f"agreement.{name}", estimate)
    if None not in found.values() and prevalence is not None:
        values: dict[str, Any] = {"prevalence": prevalence.value}
        for name, estimate in found.items():
            values |= {} if estimate is None else estimate.values(name, f"{name}_")
        key = "kinds.rates" if options.prevalence is not None else "kinds.rates_here"
        told.note(key, Weight.DETAIL, **values)
    if options.prevalence is None or prevalence is None or not 0 < prevalence.value < 1:
        return
    # Every pair counts as if passes were as frequent among the labels as stated.
    scale = np.where(true, options.prevalence / prevalence.value, (1 - options.prevalence) / (1 - prevalence.value))
    there = Rated(use.verdicts, use.labels, use.weights * scale, use.codes, use.level)
    ppv, npv = _share(there, true, said), _share(there, ~true, ~said)
    told.figure("agreement.ppv_stated", ppv)
    told.figure("agreement.npv_stated", npv)
    if ppv is not None and npv is not None:
        stated = ppv.values("ppv", "ppv_") | npv.values("npv", "npv_")
        told.note("kinds.rates_stated", Weight.DETAIL, **stated, prevalence=options.prevalence)


def _share(use: Rated, flags: np.ndarray, among: np.ndarray) -> Estimate | None:
    """Share of flags among some of the pairs."""
    return use.mean((flags & among).astype(float), _UNIT, size=among.astype(float))


def _tell_choices(own: JudgeTable, told: Told, options: CheckOptions, pairs: pd.DataFrame) -> None:
    """Ties, counted apart; the confusion matrix of choices."""
    _tell_categories(own, told, options, pairs)
    if TIE in own.table.categories:
        use, tie = _rated(pairs, options.level), own.table.categories.index(TIE)
        ties, right = use.mean((use.verdicts == tie).astype(float), _UNIT), use.verdicts == use.labels
        decided = _share(use, right, (use.verdicts != tie) & (use.labels != tie))
        told.figure("agreement.ties", ties)
        told.figure("agreement.decided", decided)
        if ties is not None and decided is not None:
            told.note("kinds.ties", Weight.DETAIL, **ties.values("share"), decided=decided.value)


_BY_KIND: dict[str, Callable[[JudgeTable, Told, CheckOptions, pd.DataFrame], None]] = {
    "pass_fail": _tell_pass_fail,
    "unordered": _tell_categories,
    "pairwise": _tell_choices,
}


def _first(own: JudgeTable, options: CheckOptions) -> Estimate | None:
    """Share of choices of the output that was shown first, ties left out; over items shown in both orders where there
    are any, so that what the better output was does not matter."""
    shown = _choices(own)
    if shown.empty:
        return None
    codes = shown["code"].to_numpy(dtype=np.intp)
    ones = np.ones(len(shown))
    use = Rated(ones, ones, ones, codes, options.level)
    return use.mean(shown["chose_first"].to_numpy(dtype=np.float64), _UNIT)


def _choices(own: JudgeTable) -> pd.DataFrame:
    """First verdicts with a known order that are no tie, with `chose_first`; of items with both if there are any."""
    rows = own.first()
    numbers = {own.table.categories.index(c) for c in (FIRST, SECOND)}
    rows = rows[rows["order"].isin([AS_GIVEN, SWAPPED]) & rows["verdict"].isin(numbers)]
    both = rows.groupby("item", sort=False)["order"].transform("nunique") == 2
    rows = rows[both] if both.any() else rows
    first = own.table.categories.index(FIRST)
    return rows.assign(chose_first=(rows["verdict"] == first) == (rows["order"] == AS_GIVEN))


class Orders:
    """The choices between two outputs that were shown in both orders, as far as both verdicts can be read.

    Attributes:
        n: Such pairs of outputs. between: The verdict in the given order beside that in the other. both: 1 where both
            are right, else 0, per item and rater. choices: All verdicts beside labels, in whatever order.
    """

    def __init__(self, own: JudgeTable, level: float) -> None:
        rows, pairs = own.first(), own.pairs()
        self.choices = _rated(pairs, level)
        self.n_categories = len(own.table.categories)
        rows = rows[rows["verdict"].notna()].drop_duplicates(["item", "order"])
        given, swapped = (rows[rows["order"] == order].set_index("item") for order in (AS_GIVEN, SWAPPED))
        shown = given[["verdict", "code"]].join(swapped["verdict"].rename("other"), how="inner")
        self.n = len(shown)
        first, second, codes = (shown[column].to_numpy() for column in ("verdict", "other", "code"))
        self.between = Rated(first, second, np.ones(self.n), codes, level)
        pairs = pairs.assign(right=(pairs["verdict"] == pairs["label"]).astype(float))[pairs["item"].isin(shown.index)]
        by_rater = pairs.groupby(["item", "rater"], sort=False)[["right", "code", "weight"]].min()
        right, weights, codes = (by_rater[column].to_numpy() for column in ("right", "weight", "code"))
        self.both = Rated(right, right, weights, codes, level)

    @property
    def accuracy(self) -> float:
        """Share of verdicts that are right, over both orders."""
        return float(np.average(self.choices.verdicts == self.choices.labels, weights=self.choices.weights))

    @property
    def agreement_between_orders(self) -> float:
        """Share of items with the same choice in both orders."""
        return float(np.mean(self.between.verdicts == self.between.labels))

    @property
    def correct_in_both_orders(self) -> float:
        """Share of items with the right choice in both orders."""
        return float(np.average(self.both.verdicts, weights=self.both.weights))

    @property
    def kappa_between_orders(self) -> float | None:
        """Agreement between orders beyond chance."""
        return self.between.value(self.n_categories, _plain(self.n_categories))


def _plain(n_categories: int) -> Parts:
    return rated.kappa(rated.costs(n_categories, "none"))


def _tell_position(own: JudgeTable, told: Told, options: CheckOptions) -> None:
    """What the order in which two outputs were shown does to the choice."""
    orders = Orders(own, options.level)
    if not orders.n:
        known = own.verdicts["order"].notna().any()
        told.lacks("position", "kinds.position_one_order" if known else "kinds.position_unknown")
        return
    between, k = orders.between, orders.n_categories
    agree = between.mean((between.verdicts == between.labels).astype(float), _UNIT)
    first = _first(own, options)
    told.figure("position.agreement", agree)
    told.figure("position.kappa", between.coefficient(k, _plain(k)))
    told.figure("position.correct_both", orders.both.mean(orders.both.verdicts, _UNIT))
    told.figure("position.first", first)
    if first is None or agree is None:
        return
    counts: dict[str, Any] = {"n": orders.n, "level": options.level, "agree": agree.value, "p": _first_p(_choices(own))}
    outcome = first.against(options.margin or 0.0, about=0.5, inner=_first(own, _inner(options)))
    key = {"beyond": "first", "against": "last", "within": "none"}.get(outcome, "open")
    if key == "open" and options.margin is None:
        key = "no_margin"
    weight = Weight.LIMITS if key in ("first", "last") else Weight.DETAIL if key == "none" else Weight.QUALIFIES
    told.note(f"kinds.position_{key}", weight, **first.values("share"), **counts, margin=options.margin)


def _inner(options: CheckOptions) -> CheckOptions:
    """The level by which two one-sided tests decide."""
    return options.model_copy(update={"level": 2 * options.level - 1})


def _first_p(shown: pd.DataFrame) -> float:
    """Exact test that neither position is preferred: groups that chose one position more often, by the sign test."""
    from scipy.stats import binomtest

    net = np.bincount(shown["code"].to_numpy(dtype=np.intp), 2.0 * shown["chose_first"].to_numpy() - 1)
    first, second = int(np.sum(net > 0)), int(np.sum(net < 0))
    return float(binomtest(first, first + second).pvalue) if first + second else 1.0
