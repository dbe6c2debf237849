"""Compares the judges of one file: who agrees better with people, who is as good within a stated
margin, who is another under a second name, and which errors they share."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.judges import (
    BEST_JUDGE,
    JUDGE_PAIR,
    SHARED_ERRORS,
    BestJudgeFacts,
    JudgePairFacts,
    SharedErrorsFacts,
)
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence, JudgeView, Kind
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Told, Weight
from undogmatic.stats import compare, jackknife, means
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.compare import Apart, Comparison
from undogmatic.stats.estimate import Estimate, unknown
from undogmatic.stats.panel import Paired, shared_errors

MEASURE = "agreement"
MEASURES = {"numeric": "distance", "ordered": "closeness"}
"""How agreement of single items is counted, where it is not the share of labels that the verdict
equals."""
MOST_SENTENCES = 6
"""Pairs of judges of which each is told in a sentence of its own; of more, only the table has all
that matter."""
MOST_COMPARED = 190
"""Of more pairs of judges, the best is compared with each and neighbours in the order with each
other."""
MOST_FOR_FLATTERY = 5000


def tell(table: Evidence, criterion: str, told: Told, options: CheckOptions) -> None:
    """Tell how the judges of a criterion compare."""
    verdicts = table.verdicts[table.verdicts["criterion"] == criterion]
    first = verdicts["repeat"] == verdicts.groupby(["judge", "item"], sort=False)[
        "repeat"
    ].transform("min")
    known = (
        verdicts[first]
        .assign(order=verdicts["order"].fillna(""))
        .drop_duplicates(["judge", "item", "order"])
    )
    # The same verdicts under two names would make a panel of one judge look unanimous.
    rows = _without_twins(known, told)
    judges = rows["judge"].nunique()
    if judges < 2:
        return
    agreement, errors = agreement_per_item(
        table, rows, table.labels[table.labels["criterion"] == criterion]
    )
    if agreement.shape[1] < 2:
        told.lacks("judges", "judges.no_labels", judges=judges)
        return
    groups = pd.factorize(table.items["group"].reindex(agreement.index))[0].astype(
        np.intp
    )
    if np.unique(groups).size < jackknife.FEWEST:
        told.lacks(
            "judges",
            "judges.few",
            groups=int(groups.max()) + 1,
            needed=jackknife.FEWEST,
        )
        return
    _compare(table.kind, agreement, groups, reach_of(table, criterion), told, options)
    _errors(errors, groups, table.kind in ("numeric", "ordered"), told, options)


def _without_twins(rows: pd.DataFrame, told: Told) -> pd.DataFrame:
    """Name judges that gave the same verdicts under two names, and keep the first of them."""
    wide = rows.pivot(
        index=["item", "order"], columns="judge", values="verdict"
    ).reset_index(drop=True)
    first = compare.twins({str(judge): wide[judge] for judge in rows["judge"].unique()})
    for judge in dict.fromkeys(first.values()):
        names = [name for name, twin in first.items() if twin == judge]
        if len(names) > 1:
            n = rows.loc[rows["judge"] == judge, "item"].nunique()
            told.say(
                "judges.twins",
                weight=Weight.LIMITS,
                judges=names,
                count=len(names),
                n=n,
            )
    return rows[rows["judge"].isin(set(first.values()))]


def agreement_per_item(
    table: Evidence, rows: pd.DataFrame, labels: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tell the agreement with people, the more the better, and the error of each judge per item.

    Agreement is the share of labels that are the verdict (over raters and orders); of ordered
    categories, one minus the distance as a share of the longest; of numbers, minus the distance.
    """
    known = rows.dropna(subset=["verdict"])[["item", "judge", "verdict"]]
    both = known.merge(labels.dropna(subset=["label"])[["item", "label"]], on="item")
    error = both["verdict"] - both["label"]
    if table.kind == "numeric":
        # Turned round, so that more is better for each kind, and one test serves all.
        agrees = -error.abs()
    elif table.kind == "ordered":
        agrees = 1 - error.abs() / max(len(table.categories) - 1, 1)
    else:
        error = (error != 0).astype(float)
        agrees = 1 - error
    per_item = (
        both[["item", "judge"]]
        .assign(agrees=agrees, error=error)
        .groupby(["item", "judge"])
        .mean()
    )
    return per_item["agrees"].unstack("judge"), per_item["error"].unstack("judge")


def reach_of(table: Evidence, criterion: str) -> float | None:
    """Tell how far the agreement of two judges can lie apart on an item: the scale's width, or all
    of a share."""
    if table.kind != "numeric":
        return 1.0
    scale = table.criterion_scales.get(criterion, table.scale)
    return None if scale is None else scale[1] - scale[0]


def _compare(
    kind: Kind,
    agreement: pd.DataFrame,
    groups: Index,
    reach: float | None,
    told: Told,
    options: CheckOptions,
) -> None:
    """Compare every two judges on the items that both judged, the one that agrees more first."""
    order = [
        str(judge)
        for judge in agreement.mean().sort_values(ascending=False, kind="stable").index
    ]
    best = order[0]
    columns = {judge: agreement[judge].to_numpy(dtype=np.float64) for judge in order}
    pairs = list(itertools.combinations(order, 2))
    paired = [
        Paired(columns[one], columns[other], groups, reach) for one, other in pairs
    ]
    # Of many judges a reader asks about the best, and about who comes next to whom.
    neighbours = set(itertools.pairwise(order))
    kept = [
        len(pairs) <= MOST_COMPARED or names[0] == best or names in neighbours
        for names in pairs
    ]
    # All hypotheses are corrected for; an interval takes longer than a test, and is made only where
    # it is shown.
    comparisons = [
        _comparison(*names, pair, options.margin if shown else None, shown)
        for names, pair, shown in zip(pairs, paired, kept, strict=True)
    ]
    # Over all pairs, also those that are not shown: they were looked at.
    family = compare.corrected(comparisons, {MEASURE: 1}, level=1 - options.level)
    measure = MEASURES.get(kind, "share")
    rulings = [
        verdict(
            JUDGE_PAIR,
            JudgePairFacts(
                left=row["left"],  # the left one agrees more with people
                right=row["right"],
                difference=row["difference"],
                interval=(row["low"], row["high"]),
                n=row["n"],
                shown=row["shown"],
                pairs=family.size,
                margin=options.margin,
                measure=measure,
            ),
        )
        for row in family.table.to_dict("records")
    ]
    ends = None if reach is None else (-reach, 0.0) if kind == "numeric" else (0.0, 1.0)
    means_of = {
        judge: _mean(column, groups, ends, options.level)
        for judge, column in columns.items()
    }
    listed = pd.DataFrame(
        {"judge": judge, "n": mean.n} | mean.row("agreement")
        for judge, mean in means_of.items()
    )
    different = [
        (one.facts.left, one.facts.right) for one in rulings if one.key == "better"
    ]
    # Letters say of every two whether they differ, and would be wrong if some were not
    # compared.
    if all(kept) and (letters := compare.letter_display(order, different)):
        listed["letters"] = listed["judge"].map(letters)
    told.tables["judges.judges"] = listed
    said = family.table.assign(shown=[ruling.key for ruling in rulings])[kept]
    told.table(
        "judges.pairs", said.drop(columns=["measure", "needed"]), p="p", p_holm="p"
    )
    if len(order) > 2:
        than: dict[str, list[str]] = {
            "worse": [other for one, other in different if one == best],
            "equal": [],
        }
        for one in rulings:
            sides = [one.facts.left, one.facts.right]
            if one.key in ("equivalent", "identical") and best in sides:
                than["equal"].append(sides[1 - sides.index(best)])
        than["open"] = [
            judge
            for judge in order
            if judge not in (best, *than["worse"], *than["equal"])
        ]
        worse, others = len(than["worse"]), len(order) - 1
        shown = [
            Finding(f"judges.than_{name}", {"n": len(of), "judges": of})
            for name, of in than.items()
            if of
        ]
        if len(order) <= MOST_SENTENCES:  # each with its difference
            by = {
                (facts.left, facts.right): facts
                for facts in (one.facts for one in rulings)
                if best in (facts.left, facts.right)
            }
            shown = [
                Finding(f"judges.than_{name}_by", _by(best, judge, by))
                for name, of in than.items()
                for judge in of
            ]
        # of grades, the distance from the labels
        agrees = -means_of[best] if kind == "numeric" else means_of[best]
        of_best = BestJudgeFacts(
            best=best,
            agreement=agrees,
            measure=f"of_{measure}",
            worse=worse,
            others=others,
            shown=shown,
            flattery=_flattery(agreement, groups, options),
        )
        told.findings.append(verdict(BEST_JUDGE, of_best).finding)
    elif paired[0].n_units >= jackknife.FEWEST:
        told.number(paired[0].interval(options.level), "judges.difference")
    if len(pairs) <= MOST_SENTENCES:
        for ruling in rulings:
            settle = (
                Finding("judges.settle_margin", {"grades": int(kind == "numeric")})
                if ruling.key == "no_margin"
                else None
            )
            # of more, the best and a table tell it
            weight = Weight.QUALIFIES if len(order) == 2 else Weight.DETAIL
            told.findings.append(replace(ruling.finding, weight=weight, settle=settle))


def _by(
    best: str, judge: str, by: Mapping[tuple[str, str], JudgePairFacts]
) -> dict[str, Any]:
    """By how much the best judge agrees better with people than another, for a sentence."""
    sign, found = (1, by[best, judge]) if (best, judge) in by else (-1, by[judge, best])
    ends = sorted(sign * end for end in found.interval)
    return {
        "judge": judge,
        "difference": sign * found.difference,
        "interval": tuple(ends),
    }


def _comparison(
    one: str, other: str, pair: Paired, margin: float | None, shown: bool
) -> Comparison:
    """The comparison of two judges, turned so that the left one agrees more with people."""
    if pair.none:
        return compare.identical(one, other, MEASURE, pair.n)
    sign = -1 if pair.difference < 0 else 1
    left, right = (one, other) if sign > 0 else (other, one)
    p = pair.p if pair.n_units >= jackknife.FEWEST else None
    if p is None or not shown:
        return Comparison(
            left,
            right,
            MEASURE,
            sign * pair.difference,
            pair.n,
            p,
            lambda _: compare.UNKNOWN,
        )

    def limits(alpha: float) -> Apart:
        outer = pair.interval(1 - alpha)
        outcome = outer.against(0.0)
        if (
            margin is not None
            and pair.interval(1 - 2 * alpha).against(margin) == "within"
        ):
            outcome = "within"
        return Apart(
            (outer if sign > 0 else -outer).interval,
            "beyond" if outcome == "against" else outcome,
        )

    return Comparison(left, right, MEASURE, sign * pair.difference, pair.n, p, limits)


def _mean(
    column: Array, groups: Index, ends: means.Bounds | None, level: float
) -> Estimate:
    known = ~np.isnan(column)
    units = means.sums(column[known], groups[known])
    if units.total.size < 2:
        return unknown(level, units.total.size, int(known.sum())).replace(
            value=float(column[known].mean())
        )
    return means.of_sums(units, level, ends).replace(n=int(known.sum()))


def _flattery(
    agreement: pd.DataFrame, groups: Index, options: CheckOptions
) -> float | None:
    """By how much the best of the judges looks better than it is for having been chosen as the
    best."""
    # The same items for all judges: the best of them is picked from these.
    known = agreement.notna().all(axis=1).to_numpy()
    if (
        np.unique(groups[known]).size < jackknife.FEWEST
        or known.sum() > MOST_FOR_FLATTERY
    ):
        return None
    return compare.flattery(agreement[known].to_numpy().T, groups[known], options.rng())


def _errors(
    errors: pd.DataFrame,
    groups: Index,
    amounts: bool,
    told: Told,
    options: CheckOptions,
) -> None:
    """Tell which errors the judges share, on the items that all of them judged."""
    known = errors.notna().all(axis=1).to_numpy()
    judged = errors[known].to_numpy(dtype=np.float64)
    found = shared_errors(judged, groups[known], options.level) if known.any() else None
    if found is None:
        told.lacks("shared_errors", "judges.no_errors", n=int(known.sum()))
        return
    told.number(found.mean, "judges.shared_errors")
    names = [str(judge) for judge in errors]
    upper = np.where(np.triu(np.ones_like(found.phi), 1) > 0, found.phi, np.nan)
    a, b = np.unravel_index(int(np.nanargmax(upper)), upper.shape)
    # Of the two that share most: how far they do, and the share of items on which both err.
    left, right = judged[:, a], judged[:, b]
    facts = SharedErrorsFacts(
        found=found,
        one=names[a],
        other=names[b],
        amounts=amounts,
        phi=found.phi[a, b],
        both=(left * right).mean(),
        chance=left.mean() * right.mean(),
    )
    told.findings.append(verdict(SHARED_ERRORS, facts).finding)


def _examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how all judges of the view's criterion compare."""
    tell(view.table, view.criterion, told, options)


JUDGES = Examination(
    "judges",
    _examine,
    needs=("judges",),
    fewest_groups=0,
    scope="criterion",
    lacks={"judges": ""},
)
