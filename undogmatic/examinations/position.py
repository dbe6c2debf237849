"""Tells what the order in which two outputs were shown does to a judge's choice between them."""

from typing import Any

import numpy as np
import pandas as pd

from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import AS_GIVEN, FIRST, SECOND, SWAPPED, JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Told, Weight
from undogmatic.stats import rated
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import sign_p
from undogmatic.stats.rated import Rated

_UNIT = (0.0, 1.0)


def beside_labels(pairs: pd.DataFrame, level: float) -> Rated:
    """Verdicts beside the label of each rater (`JudgeView.pairs`) as arrays."""
    verdicts, labels, weights = (
        pairs[c].to_numpy(dtype=np.float64) for c in ("verdict", "label", "weight")
    )
    return Rated(
        verdicts, labels, weights, pairs["code"].to_numpy(dtype=np.intp), level
    )


def first(own: JudgeView, level: float) -> Estimate | None:
    """Share of choices of the output that was shown first, ties left out; over items shown in both
    orders where there are any, so that what the better output was does not matter."""
    return _of_first(_choices(own), level)


def _of_first(shown: pd.DataFrame, level: float) -> Estimate | None:
    if shown.empty:
        return None
    codes = shown["code"].to_numpy(dtype=np.intp)
    ones = np.ones(len(shown))
    use = Rated(ones, ones, ones, codes, level)
    return use.mean(shown["chose_first"].to_numpy(dtype=np.float64), _UNIT)


def _choices(own: JudgeView) -> pd.DataFrame:
    """First verdicts with a known order that are no tie, with `chose_first`; of items with both if
    there are any."""
    rows = own.first()
    numbers = {own.table.categories.index(c) for c in (FIRST, SECOND)}
    rows = rows[rows["order"].isin([AS_GIVEN, SWAPPED]) & rows["verdict"].isin(numbers)]
    both = rows.groupby("item", sort=False)["order"].transform("nunique") == 2
    rows = rows[both] if both.any() else rows
    first = own.table.categories.index(FIRST)
    return rows.assign(
        chose_first=(rows["verdict"] == first) == (rows["order"] == AS_GIVEN)
    )


def _both_orders(own: JudgeView, level: float) -> tuple[Rated, Rated]:
    """The choices between two outputs that were shown in both orders, as far as both can be read:
    the verdict in the given order beside that in the other, per item; and 1 where both are right,
    else 0, per item and rater.
    """
    rows = own.first().dropna(subset=["verdict"]).drop_duplicates(["item", "order"])
    given, swapped = (
        rows[rows["order"] == order].set_index("item") for order in (AS_GIVEN, SWAPPED)
    )
    shown = given[["verdict", "code"]].join(
        swapped["verdict"].rename("other"), how="inner"
    )
    first, second, codes = (
        shown[column].to_numpy() for column in ("verdict", "other", "code")
    )
    pairs = own.pairs()
    pairs = pairs.assign(right=(pairs["verdict"] == pairs["label"]).astype(float))[
        pairs["item"].isin(shown.index)
    ]
    by_rater = pairs.groupby(["item", "rater"], sort=False)[
        ["right", "code", "weight"]
    ].min()
    right, weights, of_both = (
        by_rater[column].to_numpy() for column in ("right", "weight", "code")
    )
    return Rated(first, second, np.ones(len(shown)), codes, level), Rated(
        right, right, weights, of_both, level
    )


def _examine(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell what the order in which two outputs were shown does to the choice."""
    between, both = _both_orders(own, options.level)
    n, k = between.verdicts.size, len(own.table.categories)
    agree = between.mean((between.verdicts == between.labels).astype(float), _UNIT)
    shown = _choices(own)
    shown_first = _of_first(shown, options.level)
    told.number(agree, "position.agreement", unit="share")
    told.number(
        between.coefficient(k, rated.kappa(rated.costs(k, "none"))), "position.kappa"
    )
    told.number(both.mean(both.verdicts, _UNIT), "position.correct_both", unit="share")
    told.number(shown_first, "position.first", unit="share")
    if shown_first is None or agree is None:
        return
    counts: dict[str, Any] = {
        "n": n,
        "level": options.level,
        "agree": agree.value,
        "p": _first_p(shown),
    }
    outcome = shown_first.against(
        0.0 if options.margin is None else options.margin,
        about=0.5,
        inner=_of_first(shown, 2 * options.level - 1),
    )
    key = {"beyond": "first", "against": "last", "within": "none"}.get(outcome, "open")
    if key == "open" and options.margin is None:
        key = "no_margin"
    weight = (
        Weight.LIMITS
        if key in ("first", "last")
        else Weight.DETAIL
        if key == "none"
        else Weight.QUALIFIES
    )
    told.say(
        f"position.prefers_{key}",
        weight=weight,
        **shown_first.values("share"),
        **counts,
        margin=options.margin,
    )


def _first_p(shown: pd.DataFrame) -> float:
    """Exact test that neither position is preferred: groups that chose one position more often, by
    the sign test."""
    net = np.bincount(
        shown["code"].to_numpy(dtype=np.intp), 2.0 * shown["chose_first"].to_numpy() - 1
    )
    first, second = int(np.sum(net > 0)), int(np.sum(net < 0))
    return sign_p(first, first + second) if first + second else 1.0


POSITION = Examination(
    "position",
    _examine,
    needs=("order", "orders"),
    kinds=("pairwise",),
    lacks={
        "kinds": "",
        "order": "position.order_unknown",
        "orders": "position.one_order",
    },
)
