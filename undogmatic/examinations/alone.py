"""Tells what may be promised of one verdict: how far a new label may lie from it, and which the
judge decides alone.

Both promises hold for items that come as the labelled ones came. Where labels were not of all items
or drawn at random, that is said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Face, Finding, Needs, Subject, Told, Weight
from undogmatic.stats import conformal, lost
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.margin import OF_GRADES, usual
from undogmatic.stats.proportion import proportion


def _examine_reach(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how far the label that a person gives a new item may lie from the verdict, with the
    stated chance."""
    level = 1 - options.alpha
    if own.stands_for is not None:
        told.lacks(ITEM_INTERVAL.name, "alone.reach_unevenly")
        return
    # One label per group, drawn: labels of one group, or of one item, are not exchangeable with
    # those of others.
    rows = (
        own.pairs().sample(frac=1, random_state=options.rng()).drop_duplicates("code")
    )
    needed = conformal.items_needed(level)
    single = int(len(rows) == own.pairs()["item"].nunique())
    if len(rows) < needed:
        told.lacks(
            ITEM_INTERVAL.name,
            "alone.reach_too_few",
            n=len(rows),
            needed=needed,
            level=level,
            single=single,
        )
        return
    labels, verdicts = (
        rows[name].to_numpy(np.float64) for name in ("label", "verdict")
    )
    every = own.first()["verdict"].dropna().to_numpy(np.float64)
    scale = own.table.scale or (-np.inf, np.inf)
    scale = min(scale[0], labels.min()), max(scale[1], labels.max())
    fitted = conformal.fit(verdicts, labels, rows["item"].tolist(), level, scale=scale)
    ends = conformal.intervals(fitted, every)
    values: dict[str, Any] = {
        "reach": next(iter(fitted.reach.values())),
        "width": float((ends.high - ends.low).mean()),
    }
    values |= {"useless": int(values["width"] > conformal.WIDE * (scale[1] - scale[0]))}
    values |= {
        "span": scale[1] - scale[0],
        "n": len(rows),
        "level": level,
        "single": single,
    }
    values["guessed"] = int(
        any(
            read.key in ("table.numeric", "table.numeric_guess")
            for read in own.table.read
        )
    )
    key = "alone.reach" if _representative(own) else "alone.reach_like_labelled"
    told.say(
        key,
        subject=Subject.REACH,
        needs=Needs.NO_NUMBER,
        face=Face("alone.face_reach", "reach"),
        **values,
    )


def _representative(own: JudgeView) -> bool:
    """Whether the labelled items stand for all: all of them are labelled, or they were drawn at
    random."""
    if own.table.selection in ("all", "random"):
        return True
    return bool(
        own.verdicts["item"].isin(own.labels.dropna(subset=["label"])["item"]).all()
    )


class _Doubt(NamedTuple):
    """How unsure the judge is of each item's verdict, larger is less sure; `source` says by
    what."""

    source: str
    of: pd.Series


def _examine_alone(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how much the judge may decide alone."""
    if own.stands_for is None:
        _tell_alone(own, told, options)
    else:
        told.lacks(DECIDES_ALONE.name, "alone.unevenly")


def _tell_alone(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell it by labels that stand for the other items."""
    rows, undecided = _decisions(own)
    tolerance = _tolerance(own, options)
    right, split = _right(own, rows.set_index("item")["verdict"], tolerance)
    doubt = _doubt(own, rows, undecided)
    rate, confidence = 1 - options.alpha, 1 - options.delta
    needed = conformal.units_needed(rate, confidence)
    unsure = doubt.of.reindex(rows["item"]).to_numpy(np.float64)
    agreed = right.reindex(rows["item"]).to_numpy(np.float64)
    known = ~np.isnan(agreed) & ~np.isnan(unsure)
    codes = rows["code"].to_numpy()
    n = np.unique(codes[known]).size
    asked: dict[str, Any] = {
        "rate": rate,
        "confidence": confidence,
        "single": int(n == known.sum()),
    }
    tried = unsure[known], agreed[known], rate, confidence
    found = (
        conformal.find_threshold(*tried, groups=codes[known]) if n >= needed else None
    )
    if found is None or not found.steps:
        # Where groups on which it is wrong are large, more of them must agree.
        needed = conformal.units_needed(
            rate if found is None else found.of_units, confidence
        )
        told.lacks(DECIDES_ALONE.name, "alone.too_few", n=n, needed=needed, **asked)
        return
    decided = (
        np.zeros(len(rows), dtype=bool)
        if found.threshold is None
        else unsure <= found.threshold
    )
    share = _with_lost(
        own, proportion(decided.astype(float), options.level, groups=codes), len(rows)
    )
    told.number(
        share, "alone.share", unit="share", subject=Subject.ALONE, promises=True
    )
    steps = pd.DataFrame(found.steps)
    told.tables["alone.steps"] = steps.assign(
        threshold=doubt_shown(doubt.source, steps["threshold"])
    )
    if own.table.kind in ("numeric", "ordered"):
        told.say("alone.tolerance", weight=Weight.DETAIL, tolerance=tolerance)
    if found.threshold is None:
        strictest = found.steps[0]
        wrong = strictest.n - strictest.n_right
        against = (
            known
            & (unsure <= strictest.threshold)
            & (agreed == 0)
            & ~rows["item"].isin(split).to_numpy()
        )
        more = _more(
            wrong,
            strictest.n,
            int(np.unique(codes[against]).size),
            found.of_units,
            options,
            asked["single"],
        )
        values: dict[str, Any] = {
            "tried": strictest.n,
            "wrong": wrong,
            "share": wrong / strictest.n,
            "single": asked["single"],
            "more": more,
            "disagrees": (
                Finding("alone.people_disagrees_or_split")
                if len(split)
                else _people(own, "disagrees", tolerance, options)
            ),
        }
        if doubt.source == "nothing":
            told.say("alone.none_whole", weight=Weight.QUALIFIES, **values)
        else:
            told.say(
                "alone.none",
                subject=Subject.ALONE,
                face=Face("alone.face_none", "share"),
                source=doubt.source,
                **values,
            )
        return
    last = [step for step in found.steps if step.passed][-1]
    n_decided = int((known & decided).sum())
    told.number(
        _with_lost(
            own,
            Estimate(
                last.n_right / last.n, last.least, 1.0, confidence, last.n, n_decided
            ),
            n_decided,
        ),
        "alone.agreement",
        unit="share",
        promises=True,
    )
    values = asked | {
        "n": n,
        "least": last.least,
        "default": "alpha" not in options.model_fields_set,
        "agrees": _people(own, "agrees", tolerance, options),
    }
    rest: dict[str, Any] = {"people": int((~decided).sum()), "items": len(rows)}
    if doubt.source == "nothing" and not rest["people"]:
        told.say("alone.whole_all", needs=Needs.BELIEF, **values)
    elif doubt.source == "nothing":
        told.say("alone.whole", needs=Needs.BELIEF, **values, **rest)
    else:
        values |= {"share": share.value, "interval": share.interval, **rest}
        where = _limit(doubt.source, found.threshold)
        told.say(
            "alone.share",
            subject=Subject.ALONE,
            needs=Needs.BELIEF,
            limit=where,
            **values,
        )
    if not _representative(own):
        told.say("alone.like_labelled", weight=Weight.QUALIFIES)


def _limit(source: str, threshold: float) -> Finding:
    """The clause that says up to which doubt the judge decides."""
    if source == "orders":
        return Finding("alone.limit_orders", {})
    shown = float(doubt_shown(source, pd.Series([threshold])).iloc[0])
    return Finding(f"alone.limit_{source}", {"threshold": shown})


def _with_lost(own: JudgeView, share: Estimate, known: int) -> Estimate:
    """A share of so many items, bounded by rows that could not be read: nobody knows whether the
    judge would decide them, and whether rightly."""
    return lost.mixed(share, known, own.table.unaccounted)


def _more(
    wrong: int,
    tried: int,
    against: int,
    of_units: float,
    options: CheckOptions,
    single: int,
) -> Finding:
    """The sentence that says how many labels the promise would take, or that more of them would not
    change it. Where people are split, so that nothing can agree with them, only the groups
    `against` what people say show that. `of_units` is the rate at which groups must agree so that
    their items do."""
    split = wrong - against
    values: dict[str, Any] = {"default": "alpha" not in options.model_fields_set}
    values |= (
        {"split": split, "against": against, "rest": tried - split} if split else {}
    )
    share = proportion(
        (np.arange(tried - split) < against).astype(float), options.level
    )
    # Already shown to be wrong more often than is allowed: no number of further items
    # makes the promise true.
    if share.low > options.alpha:
        values["wrong"] = options.alpha
        if split:
            return Finding("alone.more_split_vain", values)
        return Finding("alone.more_vain", values, subject=Subject.VAIN)
    values |= {
        "rate": 1 - options.alpha,
        "confidence": 1 - options.delta,
        "single": single,
    }
    values["needed"] = conformal.units_needed(of_units, values["confidence"], against)
    # what is missing is a majority, not items
    if split and values["needed"] <= tried - split:
        return Finding("alone.more_split_settles", values)
    return Finding("alone.more_split_needed" if split else "alone.more_needed", values)


def _people(
    own: JudgeView, does: str, tolerance: float, options: CheckOptions
) -> Finding:
    """The clause that a verdict agrees, or disagrees, with the mean of people's labels or with most
    of several."""
    whom = (
        "mean"
        if tolerance
        else "most"
        if len(own.table.raters(own.criterion)) > 1
        else "one"
    )
    usual = int(own.table.kind == "numeric" and options.margin is None)
    return Finding(
        f"alone.people_{does}_{whom}",
        {"tolerance": tolerance, "usual": usual} if tolerance else {},
    )


def doubt_shown(source: str, doubts: pd.Series) -> pd.Series:
    """Doubts in the unit of what they were taken from: a confidence or distance is a doubt turned
    round."""
    return -doubts if source in ("confidence", "distance") else doubts


def _decisions(own: JudgeView) -> tuple[pd.DataFrame, int]:
    """One row per item with a verdict: the first, or that of both orders if they agree. Items
    without one, or whose orders disagree, have NaN and go to people."""
    rows = own.first()
    both = rows.groupby("item", sort=False)["verdict"].agg(
        ["first", "nunique", "size", "count"]
    )
    agree = (both["nunique"] == 1) & (both["size"] == both["count"])
    # A judge that answers otherwise when two outputs change places has not decided: the
    # item is handed on, as one without a verdict is.
    verdict = both["first"].where(agree)
    kept = rows.drop_duplicates("item").reset_index(drop=True)
    return kept.assign(verdict=verdict.reindex(kept["item"]).to_numpy()), int(
        (both["nunique"] > 1).sum()
    )


def _tolerance(own: JudgeView, options: CheckOptions) -> float:
    """How far verdict and label may lie apart and still agree."""
    if own.table.kind not in ("numeric", "ordered"):
        return 0.0
    if options.margin is not None:
        return options.margin
    if own.table.kind == "ordered":
        return OF_GRADES
    low, high = own.table.scale or (
        own.labels["label"].min(),
        own.labels["label"].max(),
    )
    return usual(float(high - low))


def _right(
    own: JudgeView, verdicts: pd.Series, tolerance: float
) -> tuple[pd.Series, pd.Index]:
    """Whether each labelled item's verdict agrees with people: with their mean, or with what most
    of them say. Where no category has more than half of the labels, nothing agrees; the items of
    which that holds are returned besides.
    """
    labels = own.labels.dropna(subset=["label"])
    if own.table.kind in ("numeric", "ordered"):
        people = labels.groupby("item")["label"].mean()
        off = (verdicts.reindex(people.index) - people).abs()
        return (off <= tolerance + 1e-9).astype(float).where(off.notna()), pd.Index([])
    said = labels.groupby(["item", "label"]).size().rename("votes").reset_index()
    most = (
        said.sort_values("votes", kind="stable")
        .drop_duplicates("item", keep="last")
        .set_index("item")
    )
    share = most["votes"] / labels.groupby("item").size().reindex(most.index)
    own_verdict = verdicts.reindex(most.index)
    agrees = (own_verdict == most["label"]) & (share > 0.5)
    return agrees.astype(float).where(own_verdict.notna()), most.index[share <= 0.5]


def _doubt(own: JudgeView, rows: pd.DataFrame, undecided: int) -> _Doubt:
    """The first that is there: stated confidence, spread of the repeats, both orders, distance from
    the middle of the scale; NaN without a verdict."""
    verdict = rows.set_index("item")["verdict"]
    confidence = own.first().groupby("item")["confidence"].min().reindex(verdict.index)
    # The same confidence for all items tells none from another.
    if confidence[verdict.notna()].notna().mean() > 0.5 and confidence.nunique() > 1:
        return _Doubt("confidence", (-confidence).where(verdict.notna()))
    if (spread := _spread(own, verdict)) is not None:
        return _Doubt("repeats", spread.where(verdict.notna()))
    none = pd.Series(0.0, verdict.index).where(verdict.notna())
    if undecided:
        return _Doubt("orders", none)
    scale = own.table.scale
    if own.table.kind == "numeric" and scale is not None and verdict.nunique() > 2:
        return _Doubt("distance", -(verdict - (scale[0] + scale[1]) / 2).abs())
    return _Doubt("nothing", none)


def _spread(own: JudgeView, verdict: pd.Series) -> pd.Series | None:
    """How far repeats differ, per item; None where no item has two, or none differ."""
    said = own.verdicts.dropna(subset=["verdict"])
    repeats = (
        said.groupby("item")["repeat"].nunique().reindex(verdict.index, fill_value=0)
    )
    # Repeats of a few items would make these alone look unsure, since one that was
    # judged once has no spread.
    if repeats.median() < 2:
        return None
    if own.table.kind in ("numeric", "ordered"):
        spread = said.groupby("item")["verdict"].std(ddof=0).reindex(verdict.index)
    else:
        same = said["verdict"] == said["item"].map(verdict)
        spread = 1 - same.groupby(said["item"]).mean().reindex(verdict.index)
    return spread if spread.nunique() > 1 else None


ITEM_INTERVAL = Examination(
    "item_interval",
    _examine_reach,
    needs=("labels",),
    kinds=("numeric",),
    fewest_groups=0,
    decides=False,
    lacks={"kinds": ""},
)
DECIDES_ALONE = Examination(
    "decides_alone", _examine_alone, needs=("labels",), fewest_groups=0, decides=False
)
