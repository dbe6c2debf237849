"""Tells how far the verdicts of one judge agree with people's labels, in the numbers that suit the
kind of verdict.

Raters are kept apart: every verdict is held against the label of each rater, with a weight of one
over the raters of the item. Intervals are over groups of items.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import ABSTAINED
from undogmatic.datasets.readers.own_run import MANIFEST
from undogmatic.examinations import position
from undogmatic.examinations.people import Copied, copied
from undogmatic.examinations.position import beside_labels
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import SLICE, TIE, Evidence, JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.stats import annotators, calibration, limits, lost, proportion, rated
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.margin import usual
from undogmatic.stats.paired import holm
from undogmatic.stats.rated import Bands, Conversion, Curve, Gain, Parts, Rated
from undogmatic.stats.variance import Study

HEADLINES = {
    "numeric": "spearman",
    "ordered": "weighted_kappa",
    "unordered": "kappa",
    "pass_fail": "kappa",
    "pairwise": "pairwise_kappa",
}
"""The coefficient that is held against `CheckOptions.least`, by kind."""
FEWEST = 20
"""Fewest independent units with verdict and label for which anything is concluded."""
FEWEST_GROUPS = 5
"""With fewer groups no coefficient is told."""
FEWEST_IN_SLICE, MOST_VALUES = 8, 30
"""A slice with fewer groups is too small to be told apart; a column with more values has no
slices."""
FEWEST_RARER, MINOR = 20, 1 / 3
"""Of two labels, the rarer one is too rare to answer by where fewer items have it, and less than
this part of all."""
MOST_CALIBRATED = 20_000
"""Of more groups, so many are drawn for the calibration error, which is found by simulation."""
MOST_UNREAD = 100_000
"""Of more rows that could not be read, or four times the pairs where these are more, no more are
thought of."""
ON_AVERAGE = 0.5
"""Without a stated margin, grades that are off by this share of the usual one on average are said
to be wrong, and so are those that are off by the whole of it where the judge gives low grades, or
high ones: a judge that errs as much as a good rater does, to either side, is off by less at its
lowest and highest grades."""
_UNIT = (0.0, 1.0)


class Rarer(NamedTuple):
    """The label that fewer items have, of two: its name, and how many of how many items have it; an
    item of several raters counts with the share of them who gave it."""

    category: str
    items: float
    of: int

    @property
    def is_rare(self) -> bool:
        """Whether there are so few of them that they decide by chance how the judge looks."""
        return self.items < FEWEST_RARER and self.items < MINOR * self.of


@dataclass(frozen=True)
class Agreement:
    """How far a judge agrees with people, for the verdict on it.

    Attributes:
        name: Of the coefficient (HEADLINES). estimate: Agreement beyond chance, over groups;
            `worst` and `best` are its limits with missing verdicts set against and for the judge.
            None: not to be computed, and `why` is the key of the sentence that says so. raw: The
            share of verdicts that agree (numeric: None).
        constant, one_class: The judge said one thing only; people did (in a pairwise choice only
            where not every item was shown in both orders, as the numbering of two outputs means
            nothing).
        copied: How verdicts may be made from the labels, or these from them (`people.made_from`);
            None where nothing says so.
        reversed: The interval lies wholly below 0. first: Share of choices of the output shown
            first (pairwise with known orders).
        n, groups, missing: Items with verdict and label, their groups, and verdicts on labelled
            items that are missing, rows that could not be read among them.
        rarer: The rarer label of two categories.
    """

    name: str
    estimate: Estimate | None
    raw: Estimate | None
    constant: bool
    one_class: bool
    copied: Copied | None
    reversed: bool
    first: Estimate | None
    n: int
    groups: int
    missing: int
    why: str | None = None
    rarer: Rarer | None = None


def agreement(own: JudgeView, options: CheckOptions) -> Agreement:
    """Compute the headline: agreement of the verdicts with people's labels, beyond chance."""
    kind, every = own.table.kind, own.pairs(missing=True)
    pairs = every[every["verdict"].notna()]
    n_missing = (
        len(every[every["verdict"].isna()].drop_duplicates(["item", "order"]))
        + own.table.unaccounted
    )
    # A judge that says one thing and people who say one thing are two findings: the
    # first speaks against the judge, the second against the file.
    constant, one_label = (
        len(pairs) > 0 and pairs[c].nunique() == 1 for c in ("verdict", "label")
    )
    # Which output is numbered first means nothing. Where each item was shown in both
    # orders, a judge by place is told from one that follows people though people always
    # chose the first.
    one_class = one_label and not (kind == "pairwise" and _in_both_orders(pairs))
    groups = int(pairs["code"].nunique())
    why = None
    if pairs.empty:
        why = "kinds.why_no_pairs"
    elif groups < FEWEST_GROUPS:
        why = "kinds.why_few"
    elif one_class:
        why = "kinds.why_one_class"
    estimate = None if why else _bounded(own, every, pairs, options)
    if estimate is None and why is None:
        why = "kinds.why_constant"
    use = beside_labels(pairs, options.level)
    return Agreement(
        name=HEADLINES[kind],
        estimate=estimate,
        constant=constant,
        one_class=one_class,
        raw=None if kind == "numeric" else _share(own, use, use.verdicts == use.labels),
        copied=own.once(copied),
        reversed=estimate is not None and estimate.high < 0,
        first=position.first(own, options.level) if kind == "pairwise" else None,
        n=int(pairs["item"].nunique()),
        groups=groups,
        missing=n_missing,
        why=why,
        rarer=_rarer(own, pairs),
    )


def _rarer(own: JudgeView, pairs: pd.DataFrame) -> Rarer | None:
    """The rarer label of two categories; None of any other kind, and of choices, whose numbering
    means nothing."""
    names = own.table.categories
    if (
        len(names) != 2
        or own.table.kind not in ("pass_fail", "unordered")
        or pairs.empty
    ):
        return None
    second = float((pairs["label"] == 1).groupby(pairs["item"]).mean().sum())
    of = int(pairs["item"].nunique())
    items, place = min((of - second, 0), (second, 1))
    return Rarer(names[place], items, of)


def _in_both_orders(rows: pd.DataFrame) -> bool:
    """Whether every item was shown in both orders."""
    return bool(len(rows)) and bool(
        (rows.groupby("item", sort=False)["order"].nunique() == 2).all()
    )


def _costs(own: JudgeView) -> np.ndarray:
    """How far categories disagree in the headline."""
    return rated.costs(
        len(own.table.categories),
        "quadratic" if own.table.kind == "ordered" else "none",
    )


def _parts(own: JudgeView) -> Parts:
    """The headline of categories."""
    return (rated.mirrored_kappa if own.table.kind == "pairwise" else rated.kappa)(
        _costs(own)
    )


def _bounded(
    own: JudgeView, every: pd.DataFrame, pairs: pd.DataFrame, options: CheckOptions
) -> Estimate | None:
    """The headline with its interval, and its limits with missing verdicts set against and for the
    judge."""
    if own.table.kind == "numeric":
        return _bounded_order(own, every, pairs, options)
    return _bounded_coefficient(own, every, _parts(own), options)


def _bounded_coefficient(
    own: JudgeView, every: pd.DataFrame, parts: Parts, options: CheckOptions
) -> Estimate | None:
    """A coefficient of categories with its interval, and its limits with the verdicts that are
    missing among `every` pair, and those in rows that could not be read, set against and for the
    judge."""
    pairs, k = every[every["verdict"].notna()], len(own.table.categories)
    estimate = beside_labels(pairs, options.level).coefficient(k, parts)
    if estimate is None or (len(every) == len(pairs) and not own.table.unaccounted):
        return estimate
    worst, best = estimate.low, estimate.high
    for whole in _with_unread(own, every):
        label = whole["label"]
        # The verdict that would disagree most. Which one the judge would have given is
        # not known, so that the limits hold for any.
        farthest = _costs(own).argmax(axis=0)[label.to_numpy(dtype=np.intp)]
        against, with_it = (
            beside_labels(
                whole.assign(verdict=whole["verdict"].fillna(fill)), options.level
            ).coefficient(k, parts)
            for fill in (pd.Series(farthest, whole.index), label)
        )
        assert against is not None and with_it is not None, (
            "further pairs add no certainty"
        )
        worst, best = min(worst, against.low), max(best, with_it.high)
    return estimate.replace(worst=worst, best=best)


def _bounded_order(
    own: JudgeView, every: pd.DataFrame, pairs: pd.DataFrame, options: CheckOptions
) -> Estimate | None:
    """The rank correlation with its interval, and its limits with missing verdicts set against and
    for the judge."""
    if pairs["verdict"].nunique() == 1:
        return None
    found = []
    for whole in _with_unread(own, every):
        scores, labels, weights = (
            whole[c].to_numpy(dtype=np.float64) for c in ("verdict", "label", "weight")
        )
        groups = whole["code"].to_numpy()
        one = limits.order(
            scores,
            labels,
            options.rng(),
            groups=groups,
            level=options.level,
            weights=weights,
        )
        if one is None:
            return None
        found.append(one)
    return found[0].replace(
        worst=min(one.worst_low for one in found),
        best=max(one.best_high for one in found),
    )


def _with_unread(own: JudgeView, every: pd.DataFrame) -> list[pd.DataFrame]:
    """The pairs with those that may have stood in the rows that could not be read, each time with
    other labels.

    Neither the verdict nor the label of such a row is known. The labels are thought once like those
    that are known, and once half at one end and half at the other (without an order: at the two
    most frequent categories), as there the agreement by chance, and with it what the verdicts could
    undo, is the largest. Each counts as an item of its own weight, in groups as large as those of
    the others.
    """
    # Four times as many rows unread as read leave nothing certain, and more would only
    # take memory.
    n = min(own.table.unaccounted, max(MOST_UNREAD, 4 * len(every)))
    if not n:
        return [every]
    labels = np.sort(every["label"].to_numpy(dtype=np.float64))
    if own.table.kind in ("unordered", "pairwise"):
        frequent = [float(label) for label in every["label"].value_counts().index]
        ends = [
            *frequent,
            *(
                c
                for c in map(float, range(len(own.table.categories)))
                if c not in frequent
            ),
        ][:2]
    else:
        ends = (
            [0.0, len(own.table.categories) - 1.0]
            if own.table.categories
            else [float(labels[0]), float(labels[-1])]
        )
    # At even steps through the sorted labels, and not drawn: the same file gives the
    # same bounds.
    alike = labels[np.arange(n) * len(labels) // n]
    size = -(-every["item"].nunique() // every["code"].nunique())
    code = int(every["code"].max()) + 1 + np.arange(n) // size
    unread = pd.DataFrame(
        {"verdict": np.nan, "weight": 1.0, "code": code}, index=range(n)
    )
    return [
        pd.concat(
            [
                every[["verdict", "label", "weight", "code"]],
                unread.assign(label=thought),
            ],
            ignore_index=True,
        )
        for thought in (alike, np.resize(ends, n))
    ]


def _examine_agreement(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell the headline, and all further numbers that suit the kind of verdict."""
    found = own.once(agreement, options)
    if found.estimate is None:
        told.lacks("agreement", found.why or "", groups=found.groups, needed=FEWEST)
    else:
        _tell_headline(own, told, options, found, found.estimate)
    told.number(found.raw, "agreement.raw", unit="share")
    if found.raw is not None:
        told.say(
            "kinds.raw",
            weight=Weight.DETAIL,
            **found.raw.values("share"),
            n=found.n,
            level=options.level,
        )
    _tell_answered(own, told, options, found)
    _BY_KIND[own.table.kind](own, told, options, own.pairs())


def _tell_answered(
    own: JudgeView, told: Told, options: CheckOptions, found: Agreement
) -> None:
    """The risk and the coverage of a judge that abstains: which share of the labels it answers, how
    often it is right there, and how often it would be if it were wrong, or right, on all others.
    """
    abstains = bool((own.verdicts["reason"] == ABSTAINED).any())
    every = own.pairs(missing=True)
    answers = every["verdict"].notna().to_numpy(dtype=bool)
    # A judge that abstains is not one that failed: it said that it does not know, which
    # may be worth as much as an answer.
    if not abstains or answers.all() or not answers.any():
        return
    # What is missing is neither right nor wrong: its place among the numbers is never looked at.
    use = beside_labels(
        every.assign(verdict=every["verdict"].fillna(-1.0)), options.level
    )
    share = _share(own, use, answers)
    told.number(share, "agreement.answered", unit="share")
    if share is None:
        return
    counts = {
        "n": int(every.loc[answers, "item"].nunique()),
        "of": int(every["item"].nunique()),
    }
    facts: dict[str, Any] = share.values("share") | counts | {"level": options.level}
    right = answers & (use.verdicts == use.labels)
    ends = [_share(own, use, flags) for flags in (right, right | ~answers)]
    raw = found.raw
    if raw is None or ends[0] is None or ends[1] is None:
        told.say("kinds.answered_numbers", weight=Weight.QUALIFIES, **facts)
        return
    for name, end in zip(("if_wrong", "if_right"), ends, strict=True):
        told.number(end, f"agreement.{name}", unit="share")
        facts |= (
            {} if end is None else {name: end.value, f"{name}_interval": end.interval}
        )
    facts |= {"right": raw.value, "right_interval": raw.interval}
    told.say("kinds.answered", weight=Weight.QUALIFIES, **facts)


def _examine_left_out(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how many rows could not be read, and that the judge gave verdicts on a part of the
    labelled items alone."""
    if own.table.unread:
        _tell_unread(own, told, own.once(agreement, options))
    judged, labelled = own.labelled
    # Which labelled items a judge did not get may hang on how hard they are.
    if 0 < 2 * judged < labelled:
        told.say("kinds.part_judged", weight=Weight.LIMITS, n=judged, of=labelled)


def _tell_headline(
    own: JudgeView,
    told: Told,
    options: CheckOptions,
    agreement: Agreement,
    estimate: Estimate,
) -> None:
    """The headline, what missing verdicts could make of it, and how many labels would settle what
    it leaves open."""
    told.number(estimate, f"agreement.{agreement.name}", subject=Subject.HEADLINE)
    least = options.least_of(own.table.kind)
    counts = {
        "n": agreement.n,
        "groups": agreement.groups,
        "least": least,
        "level": options.level,
    }
    held, settle = limits.hold(estimate, least), None
    if (
        held.outcome == "open"
        and estimate.value > least
        and (more := held.more(estimate)) is not None
    ):
        table = own.table
        beyond = more > table.items["group"].nunique() - agreement.groups
        values = {
            "more": more,
            "label": label_of(table),
            "beyond": beyond,
            "no_texts": not table.has_texts,
        }
        settle = Finding("kinds.settle_labels", values)
    elif held.outcome == "open":
        settle = Finding("kinds.settle_close", {"least": least}, subject=Subject.VAIN)
    told.say(
        f"kinds.headline_{agreement.name}",
        estimate.values("value"),
        counts,
        weight=Weight.DETAIL,
        subject=Subject.HEADLINE,
        settle=settle,
    )
    if agreement.missing > own.table.unaccounted:
        turns = estimate.low > least >= estimate.worst_low
        told.say(
            "kinds.missing_turns" if turns else "kinds.missing",
            weight=Weight.LIMITS if turns else Weight.QUALIFIES,
            missing=agreement.missing,
            n=agreement.n,
            widened=_widened(estimate, agreement.name, turns),
        )


def _widened(estimate: Estimate, coefficient: str, turns: bool = False) -> Finding:
    """What missing verdicts could make of an interval, as far as it shows where it is written."""
    bounds = estimate.worst_low, estimate.best_high
    seen = [f"{end:.2f}" for end in estimate.interval] != [
        f"{end:.2f}" for end in bounds
    ]
    key = "kinds.widened" if seen or turns else "kinds.widened_little"
    return Finding(key, {"bounds": bounds, "coefficient": coefficient})


def _tell_unread(own: JudgeView, told: Told, agreement: Agreement) -> None:
    """How many rows could not be read, and what they could make of the headline: this limits every
    use of a judge."""
    values: dict[str, Any] = {
        "n": own.table.unread,
        "rows": own.table.rows,
        "could": [],
    }
    if agreement.estimate is not None and agreement.missing == own.table.unaccounted:
        widened = _widened(agreement.estimate, agreement.name)
        values["could"] = [Finding("kinds.unread_could", {"widened": widened})]
    told.say("kinds.unread", weight=Weight.LIMITS, **values)


def label_of(table: Evidence, *, by: str | None = None, n: int = 0) -> str:
    """The command with which people label more of what the table was read from, on its scale: `n`
    items drawn evenly from the verdicts of the judge `by`, where these stand in a column."""
    words = label_command(next(iter(table.sources), "FILE"))
    if not words.startswith("undogmatic label"):
        return words
    scale, column = _scale_option(table), None if by is None else table.columns.get(by)
    drawn = "" if column is None else shlex.join([f"--by={column}", f"--random={n}"])
    parts = [words, scale or "", drawn, shlex.join(table.reading)]
    return " ".join(part for part in parts if part)


def _scale_option(table: Evidence) -> str | None:
    """The scale of the verdicts as it is typed; None for pass and fail, which are usual, and for
    names that cannot be typed."""
    if table.kind == "pass_fail":
        return None
    if table.kind == "numeric":
        if table.scale is None:
            return None
        low, high = table.scale
        whole = low >= 0 and bool((table.verdicts["verdict"].dropna() % 1 == 0).all())
        return f"--scale={low:g}{'-' if whole else '..'}{high:g}"
    if any(mark in name for name in table.categories for mark in "<,"):
        return None
    mark = "<" if table.kind == "ordered" else ","
    return f"--scale={shlex.quote(mark.join(table.categories))}"


def label_command(source: str) -> str:
    """The command with which people label more of what is in a file or a run's folder."""
    if (Path(source) / MANIFEST).is_file():
        return f"undogmatic review export {shlex.quote(source)} --all"
    return f"undogmatic label {shlex.quote(source)}"


def _tell_categories(
    own: JudgeView, told: Told, options: CheckOptions, pairs: pd.DataFrame
) -> None:
    """Gwet's AC1, and the confusion matrix."""
    told.number(_bounded_coefficient(own, pairs, rated.ac1, options), "agreement.ac1")
    _tell_confusion(own, told, pairs, options)


def _tell_confusion(
    own: JudgeView, told: Told, pairs: pd.DataFrame, options: CheckOptions
) -> None:
    """Labels against verdicts, in items."""
    names = own.table.categories
    counts = beside_labels(pairs, options.level).table(len(names)).T
    table = pd.DataFrame(counts, columns=list(names))
    table.insert(0, "label", list(names))
    table.attrs["names"] = names
    told.tables["kinds.confusion"] = table


def _tell_pass_fail(
    own: JudgeView, told: Told, options: CheckOptions, pairs: pd.DataFrame
) -> None:
    """Sensitivity and specificity, and predictive values at the labels' prevalence and at the
    stated one."""
    _tell_categories(own, told, options, pairs)
    use = beside_labels(pairs, options.level)
    said, true = use.verdicts == 1, use.labels == 1
    prevalence = use.mean(true.astype(float), _UNIT)
    rates = {"sensitivity": (said, true), "specificity": (~said, ~true)}
    found = {
        name: _share(own, use, right, among) for name, (right, among) in rates.items()
    }
    found |= {
        "ppv": _share(own, use, true, said),
        "npv": _share(own, use, ~true, ~said),
    }
    for name, estimate in found.items():
        told.number(estimate, f"agreement.{name}", unit="share")
    passes, fails = found["sensitivity"], found["specificity"]
    if passes is not None and fails is not None:
        # Sensitivity and specificity err independently only where no group has items of
        # both labels.
        apart = bool((pairs.groupby("code")["label"].nunique() == 1).all())
        found["balanced"] = proportion.middle(passes, fails, apart=apart)
        told.number(found["balanced"], "agreement.balanced", unit="share")
    if None not in found.values() and prevalence is not None:
        values: dict[str, Any] = {"prevalence": prevalence.value}
        for name, estimate in found.items():
            values |= {} if estimate is None else estimate.values(name, f"{name}_")
        key = "kinds.rates" if options.prevalence is not None else "kinds.rates_here"
        told.say(key, weight=Weight.DETAIL, **values)
    if options.prevalence is None or prevalence is None or not 0 < prevalence.value < 1:
        return
    # Every pair counts as if passes were as frequent among the labels as stated.
    # Predictive values hang on how frequent passes are. Labels that were drawn to hold
    # many rare cases say too much of them, until they are weighted back.
    scale = np.where(
        true,
        options.prevalence / prevalence.value,
        (1 - options.prevalence) / (1 - prevalence.value),
    )
    there = Rated(use.verdicts, use.labels, use.weights * scale, use.codes, use.level)
    ppv, npv = _share(own, there, true, said), _share(own, there, ~true, ~said)
    told.number(ppv, "agreement.ppv_stated", unit="share")
    told.number(npv, "agreement.npv_stated", unit="share")
    if ppv is not None and npv is not None:
        stated = ppv.values("ppv", "ppv_") | npv.values("npv", "npv_")
        told.say(
            "kinds.rates_stated",
            weight=Weight.DETAIL,
            **stated,
            prevalence=options.prevalence,
        )


def _share(
    own: JudgeView, use: Rated, flags: np.ndarray, among: np.ndarray | None = None
) -> Estimate | None:
    """Share of flags among some of the pairs (None: all); where rows could not be read, its limits
    if all of these were among them, and none of them or each had the flag."""
    among = np.ones(flags.shape, dtype=bool) if among is None else among
    found = use.mean((flags & among).astype(float), _UNIT, size=among.astype(float))
    known = float(use.weights[among].sum())
    return (
        None
        if found is None
        else lost.mixed(found, known, own.table.unaccounted, _UNIT)
    )


def _tell_choices(
    own: JudgeView, told: Told, options: CheckOptions, pairs: pd.DataFrame
) -> None:
    """Ties, counted apart; the confusion matrix of choices."""
    _tell_confusion(own, told, pairs, options)
    if TIE in own.table.categories:
        use, tie = beside_labels(pairs, options.level), own.table.categories.index(TIE)
        ties, right = _share(own, use, use.verdicts == tie), use.verdicts == use.labels
        decided = _share(own, use, right, (use.verdicts != tie) & (use.labels != tie))
        told.number(ties, "agreement.ties", unit="share")
        told.number(decided, "agreement.decided", unit="share")
        if ties is not None and decided is not None:
            told.say(
                "kinds.ties",
                **ties.values("share"),
                **decided.values("decided", "decided_"),
            )


def _tell_ordered(
    own: JudgeView, told: Told, options: CheckOptions, pairs: pd.DataFrame
) -> None:
    """Linear weights, Krippendorff's alpha, categories next to each other; the confusion matrix."""
    _tell_confusion(own, told, pairs, options)
    use, k = beside_labels(pairs, options.level), len(own.table.categories)
    told.number(
        _bounded_coefficient(
            own, pairs, rated.kappa(rated.costs(k, "linear")), options
        ),
        "agreement.linear_kappa",
    )
    alpha = rated.ordinal_alpha(float(use.weights.sum()))
    told.number(_bounded_coefficient(own, pairs, alpha, options), "agreement.alpha")
    adjacent = _share(own, use, np.abs(use.verdicts - use.labels) <= 1)
    told.number(adjacent, "agreement.adjacent", unit="share")
    if adjacent is not None:
        told.say("kinds.adjacent", weight=Weight.DETAIL, **adjacent.values("share"))


def _tell_numeric(
    own: JudgeView, told: Told, options: CheckOptions, pairs: pd.DataFrame
) -> None:
    """Pearson's and Lin's coefficients, the error, and people's mean label by fifths of the
    verdict."""
    use, span = beside_labels(pairs, options.level), _span(own, pairs)
    low, high = _ends(own, pairs)
    numbers: dict[str, Callable[[Rated], Estimate | None]] = {
        "pearson": rated.pearson,
        "concordance": rated.concordance,
        "error": lambda use: use.mean(np.abs(use.verdicts - use.labels), (0.0, span)),
    }
    for name, number in numbers.items():
        found = number(use)
        for whole in (
            _with_unread(own, pairs)
            if found is not None and own.table.unaccounted
            else ()
        ):
            far = whole["label"].map(
                lambda label: low if label > (low + high) / 2 else high
            )
            for fill in (far, whole["label"]):
                moved = number(
                    beside_labels(
                        whole.assign(verdict=whole["verdict"].fillna(fill)),
                        options.level,
                    )
                )
                if moved is not None and found is not None:
                    ends = (
                        min(found.worst_low, moved.low),
                        max(found.best_high, moved.high),
                    )
                    found = found.replace(worst=ends[0], best=ends[1])
        told.number(
            found, f"agreement.{name}", unit="amount" if name == "error" else ""
        )
    fifths = (
        pd.qcut(use.verdicts, 5, labels=False, duplicates="drop")
        if pairs["verdict"].nunique() > 1
        else [0]
    )
    rows = []
    for fifth in np.unique(fifths):
        among = np.asarray(
            np.broadcast_to(fifths, use.verdicts.shape) == fifth, dtype=np.float64
        )
        label = use.mean(use.labels * among, _ends(own, pairs), size=among)
        if label is not None:
            verdict = float(np.average(use.verdicts, weights=use.weights * among))
            rows.append(
                {"n": label.n, "mean_verdict": verdict, **label.row("mean_label")}
            )
    told.tables["kinds.fifths"] = pd.DataFrame(rows)


def _ends(own: JudgeView, pairs: pd.DataFrame) -> tuple[float, float]:
    """The ends of the scale, as far as values reach where they lie outside."""
    both = pairs[["verdict", "label"]].to_numpy()
    low, high = own.table.scale or (np.inf, -np.inf)
    return min(low, float(both.min())), max(high, float(both.max()))


def _span(own: JudgeView, pairs: pd.DataFrame) -> float:
    low, high = _ends(own, pairs)
    return high - low


def _examine_grades(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell whether grades are off, where the order may be right."""
    _tell_grades(own, told, options, own.once(agreement, options))


def _tell_grades(
    own: JudgeView, told: Told, options: CheckOptions, agreed: Agreement
) -> None:
    """Tell whether grades are too high or too low on average, or over the scale, where the order
    may be right."""
    pairs = own.pairs()
    use, span = beside_labels(pairs, options.level), _span(own, pairs)
    apart = use.verdicts - use.labels
    # Two levels: the interval that is told, and the one by which two one-sided tests
    # show that there is no bias that matters.
    bias, inner = (
        use.mean(apart, (-span, span), level=level)
        for level in (options.level, 2 * options.level - 1)
    )
    n_items = float(use.weights.sum())
    with_lost = bias and lost.mixed(bias, n_items, own.table.unaccounted, (-span, span))
    told.number(with_lost, "agreement.bias", unit="amount")
    told.number(rated.drift(use, span), "agreement.drift", unit="amount")
    if bias is None or not span or agreed.groups < FEWEST_GROUPS:
        return
    order = agreed.estimate is not None and agreed.estimate.low > options.least_of(
        "numeric"
    )
    matters = somewhere = options.margin
    if matters is None or somewhere is None:
        matters, somewhere = ON_AVERAGE * usual(span), usual(span)
    wrong = bias.low > matters or bias.high < -matters
    people = _of_two_people(pairs, options)
    along = rated.bands(use, span, somewhere, people)
    # Only of a judge that puts items in the right order is it worth saying that its
    # grades are too high: what converts grades cannot mend an order.
    if order and (wrong or along.off):
        key, weight = "grades", Weight.LIMITS
    elif bias.low > 0 or bias.high < 0:
        key, weight = "bias", Weight.QUALIFIES
    elif options.margin is None:
        key, weight = "bias_no_margin", Weight.QUALIFIES
    elif bias.against(options.margin, inner=inner) == "within":
        key, weight = "bias_none", Weight.DETAIL
    else:
        key, weight = "bias_open", Weight.QUALIFIES
    values: dict[str, Any] = {"margin": options.margin}
    off = -bias if bias.value < 0 else bias
    digits = 1 if span >= 20 else 2  # as scores are written
    ends = off.values("off") | {"level": options.level, "digits": digits}
    values["off"] = Finding(
        "kinds.off_lower" if bias.value < 0 else "kinds.off_higher", ends
    )
    held_to = {
        "limit": somewhere,
        "usual": int(options.margin is None),
        "people": int(people is not None),
    }
    values["along"] = _along(along, held_to | {"digits": digits})
    settle = None
    if key == "grades":
        found = rated.conversion(
            use, own.table.scale or (-np.inf, np.inf), options.rng()
        )
        written = None if found is None else found.conversion.rounded(span, digits)
        values |= {
            "conversion": written,
            "since": [],
            "convert": Finding("kinds.convert_none"),
        }
        values["above"] = bias.value >= 0
        if found is not None and written is not None:
            values["convert"] = _formula(found, written, span, digits, own)
            settle = Finding("kinds.settle_convert")
    subject = Subject.GRADES if key == "grades" else None
    told.say(
        f"kinds.grades_{key}", weight=weight, settle=settle, subject=subject, **values
    )


def _of_two_people(pairs: pd.DataFrame, options: CheckOptions) -> Rated | None:
    """What one person said in place of verdicts, beside what another said of the same items; None
    where too few items have labels of two people."""
    once = pairs.drop_duplicates(["item", "rater"])
    item, rater = (
        pd.factorize(once[column])[0].astype(np.intp) for column in ("item", "rater")
    )
    found = annotators.rater_pairs(item, rater, options.rng())
    label = once["label"].to_numpy(dtype=np.float64)
    codes = once["code"].to_numpy(dtype=np.intp)
    if np.unique(codes[found.first]).size < FEWEST:
        return None
    one = np.concatenate([found.first, found.second])
    other = np.concatenate([found.second, found.first])
    return Rated(label[one], label[other], np.ones(one.size), codes[one], options.level)


def _along(found: Bands, values: dict[str, Any]) -> Finding:
    """The sentence that says where along its grades the judge is shown to be off."""
    if len(found.every) < 2:
        return Finding("kinds.along_unknown")
    if not found.off:
        return Finding("kinds.along_nowhere", values)
    said = []
    for band in found.off:
        off = -band.off if band.off.value < 0 else band.off
        where = "kinds.band_one" if band.first == band.last else "kinds.band"
        ends = {"first": band.first, "last": band.last, "digits": values["digits"]}
        key = "kinds.too_low" if band.off.value < 0 else "kinds.too_high"
        said.append(
            Finding(
                key,
                off.values("off")
                | {"digits": values["digits"], "where": Finding(where, ends)},
            )
        )
    return Finding("kinds.along_off", values | {"bands": said})


def _formula(
    found: Gain, written: Conversion, span: float, digits: int, own: JudgeView
) -> Finding:
    """The sentence that says how a grade is converted, and how much nearer to people's that brings
    it."""
    values: dict[str, Any] = {
        "before": found.before,
        "after": found.after,
        "digits": digits,
    }
    if isinstance(written, Curve):
        knots = zip(written.grades, written.people, strict=True)
        values["knots"] = [
            Finding(
                "kinds.curve_point",
                {"grade": grade, "people": people, "digits": digits},
            )
            for grade, people in knots
        ]
        return Finding("kinds.convert_curve", values | {"simpler": found.simpler})
    values |= {
        "slope": written.slope,
        "shift": abs(written.shift),
        "adds": int(written.shift > 0),
    }
    values |= {"decimals": written.decimals(span, digits), "ends": []}
    cut = converted(own, written).verdicts["verdict"]
    grades = written.of(own.verdicts["verdict"].to_numpy(dtype=np.float64))
    if own.table.scale is not None and not np.allclose(cut, grades, equal_nan=True):
        values["ends"] = Finding(
            "kinds.convert_ends",
            dict(zip(("low", "high"), own.table.scale, strict=True)),
        )
    return Finding(
        "kinds.convert_shift" if written.slope == 1 else "kinds.convert_line", values
    )


def converted(own: JudgeView, conversion: Conversion) -> JudgeView:
    """The judge with its grades converted, cut off at the ends of the scale."""
    grades = conversion.of(own.verdicts["verdict"].to_numpy(dtype=np.float64))
    low, high = own.table.scale or (-np.inf, np.inf)
    return replace(own, verdicts=own.verdicts.assign(verdict=grades.clip(low, high)))


_BY_KIND: dict[str, Callable[[JudgeView, Told, CheckOptions, pd.DataFrame], None]] = {
    "numeric": _tell_numeric,
    "ordered": _tell_ordered,
    "unordered": _tell_categories,
    "pass_fail": _tell_pass_fail,
    "pairwise": _tell_choices,
}


def _examine_confidence(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell whether the stated confidence is how often the judge is right."""
    pairs = own.pairs()
    rows = pairs[pairs["confidence"].notna()]
    if rows["code"].nunique() < FEWEST_GROUPS:
        return
    if own.stands_for is not None:
        told.lacks("confidence", "kinds.confidence_unevenly")
        return
    most = float(rows["confidence"].max())
    if rows["confidence"].min() < 0 or most > 100:
        told.lacks("confidence", "kinds.confidence_scale", most=most)
        return
    stated = rows["confidence"].to_numpy(dtype=np.float64) / (100 if most > 1 else 1)
    use = beside_labels(rows, options.level)
    right = (use.verdicts == use.labels).astype(float)
    rng = options.rng()
    kept = np.isin(use.codes, rng.permutation(np.unique(use.codes))[:MOST_CALIBRATED])
    groups = np.unique(use.codes[kept], return_inverse=True)[1]
    error = calibration.error_interval(
        stated[kept], right[kept], rng, level=options.level, groups=groups
    )
    told.number(error.estimate.replace(n=int(kept.sum())), "confidence.error")
    told.number(use.mean((stated - right) ** 2, _UNIT), "confidence.brier")
    mean = float(np.average(stated, weights=use.weights))
    share = float(np.average(right, weights=use.weights))
    honest = error.estimate.low == 0
    values: dict[str, Any] = error.estimate.values("error") | {
        "mean": mean,
        "share": share,
        "level": options.level,
    }
    told.say(
        "kinds.confidence_open" if honest else "kinds.confidence_off",
        weight=Weight.QUALIFIES,
        **values,
    )
    bins = calibration.reliability_table(
        stated[kept], right[kept], level=options.level, groups=groups
    )
    told.tables["kinds.confidence"] = bins


def _examine_slices(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell where the judge agrees less than elsewhere, corrected for having looked at all
    slices."""
    pairs = own.pairs()
    use, numeric = beside_labels(pairs, options.level), own.table.kind == "numeric"
    apart = np.abs(use.verdicts - use.labels)
    values = apart if numeric else (apart == 0).astype(float)
    rows: list[dict[str, Any]] = []
    small: list[str] = []
    for column in own.table.items.columns:
        name = str(column).removeprefix(SLICE)
        if not (str(column).startswith(SLICE) or column == "system") or {
            name,
            str(column),
        } & set(options.ignore):
            continue
        own_values = own.table.items[column].reindex(pairs["item"]).to_numpy()
        codes, levels = pd.factorize(own_values)
        if not 2 <= len(levels) <= MOST_VALUES:
            continue
        for code, level in enumerate(levels):
            found = rated.against_rest(use, values, codes == code)
            if found.groups < FEWEST_IN_SLICE:
                small.append(f"{name}={level}")
                continue
            rows.append(
                {
                    "slice": f"{name}={level}",
                    "n": found.n,
                    "groups": found.groups,
                    "value": found.inside,
                    "others": found.others,
                    "p": found.p_value,
                }
            )
    if small:
        told.say(
            "kinds.slices_small",
            weight=Weight.DETAIL,
            slices=", ".join(small),
            n=len(small),
            least=FEWEST_IN_SLICE,
        )
    if not rows:
        return
    table = pd.DataFrame(rows)
    table["p_holm"] = holm(table["p"])
    table = table.sort_values(
        "value", ascending=not numeric, kind="stable"
    ).reset_index(drop=True)
    told.table("kinds.slices", table, p="p", p_holm="p")
    # A difference of less than a hundredth (of the scale) changes nothing, however surely it is
    # there.
    least = 0.01 * (_span(own, pairs) if numeric else 1.0)
    further = (
        table["value"] - table["others"]
        if numeric
        else table["others"] - table["value"]
    )
    for row in table[
        (further >= least) & (table["p_holm"] < 1 - options.level)
    ].to_dict("records"):
        told.say(
            "kinds.slice_error" if numeric else "kinds.slice_agreement",
            weight=Weight.LIMITS,
            **row,
            looked=len(table),
        )


def _examine_repeats(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how often the judge says the same again."""
    rows, again = own.verdicts[own.verdicts["verdict"].notna()], own.again()
    keys = ["item", "order"]
    weights = 1 / again.groupby(keys, dropna=False)["repeat"].transform(
        "size"
    ).to_numpy(dtype=np.float64)
    one, other = (
        again[c].to_numpy(dtype=np.float64) for c in ("verdict_first", "verdict")
    )
    use = Rated(
        one, other, weights, again["code"].to_numpy(dtype=np.intp), options.level
    )
    counts: dict[str, Any] = {"n": int(again["item"].nunique()), "level": options.level}
    if own.table.kind != "numeric":
        same = use.mean((one == other).astype(float), _UNIT)
        told.number(same, "repeats.same", unit="share")
        if same is not None:
            told.say(
                "kinds.repeats",
                weight=Weight.QUALIFIES,
                **same.values("share"),
                **counts,
            )
        return
    span = max(
        float(np.ptp(np.concatenate([one, other]))),
        _span(own, again.assign(label=again["verdict_first"])),
    )
    change = use.mean(np.abs(one - other), (0.0, span))
    told.number(change, "repeats.change", unit="amount")
    wide = rows.pivot_table(index="item", columns="repeat", values="verdict").dropna()
    icc = None
    if (
        wide.shape[1] > 1
        and own.table.items["group"].reindex(wide.index).nunique() >= FEWEST_GROUPS
    ):
        groups = own.table.items["group"].reindex(wide.index).tolist()
        study = Study(wide.to_numpy(), ["repeat"], groups=groups, level=options.level)
        icc = None if study.constant else study.reliability({"repeat": 1}).phi
    told.number(icc, "repeats.icc")
    if icc is not None and change is not None:
        told.say(
            "kinds.repeats_numeric",
            weight=Weight.QUALIFIES,
            **icc.values("icc"),
            change=change.value,
            **counts,
        )


AGREEMENT = Examination(
    "agreement",
    _examine_agreement,
    needs=("pairs",),
    lacks={"pairs": "kinds.why_no_pairs"},
)
LEFT_OUT = Examination("left_out", _examine_left_out, fewest_groups=0)
CONFIDENCE = Examination(
    "confidence",
    _examine_confidence,
    needs=("pairs", "confidence"),
    kinds=("ordered", "unordered", "pass_fail", "pairwise"),
    decides=False,
    lacks={"pairs": "", "confidence": "", "kinds": ""},
)
SLICES = Examination("slices", _examine_slices, needs=("pairs",), lacks={"pairs": ""})
GRADES = Examination(
    "grades",
    _examine_grades,
    needs=("pairs",),
    kinds=("numeric",),
    lacks={"pairs": "", "kinds": ""},
)
REPEATS = Examination(
    "repeats",
    _examine_repeats,
    needs=("repeats",),
    decides=False,
    lacks={"repeats": "kinds.no_repeats"},
)
