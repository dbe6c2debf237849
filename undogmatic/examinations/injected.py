"""Tells how many of the defects that somebody planted a judge sees, by kind of defect, and how
often it raises a false alarm: on clean items, and on edits that must not matter.

What was planted stands in the evidence (`--injected`), and so does the item of which each one is a
copy (`--parent`). Nobody has to label anything: each copy is held against its parent, and intervals
are over groups, such as runs of an agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.examinations.truth import Bounded, bounded
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import (
    CLEAN,
    DEFECT,
    EQUIVALENT,
    JudgeView,
    counts_silence,
)
from undogmatic.records.examination import Examination
from undogmatic.records.results import FigureData, Finding, Subject, Told, Weight
from undogmatic.stats import compare, ranking
from undogmatic.stats.checks import Array
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import proportion
from undogmatic.stats.step_down import step_down

Word = Literal["seen", "missed", "open"]
HALF = 0.5
"""A kind of defect of which the judge is shown to see less than this share is missed."""
ENOUGH = 5
"""Items with a defect that people would hardly all label alike."""
MOST_NAMED = 12
"""Kinds of defects that a sentence names; the table has all of them."""
_ORDER: tuple[Word, ...] = ("missed", "open", "seen")


@dataclass(frozen=True)
class Planted:
    """The items of which it is known what was planted in them, with what a judge said.

    Attributes:
        rows: By item: `kind`, `group`; `worse`, the verdict turned so that more of it is worse
            (NaN: none), of pass or fail 1 where it fails; `parent` (an item of the table that has
            no defect, or None) and `before`, `worse` of the parent.
        scores: Whether the verdicts are scores, rather than pass or fail.
        ends: The least and the most that `worse` can be.
        margin: Differences of scores up to this do not matter.
        lost: How many copies name a parent that is no item here, and the first of them.
        only: How many have the only clean item of their group as parent, because they name none.
    """

    rows: pd.DataFrame
    scores: bool
    ends: tuple[float, float]
    margin: float
    lost: tuple[int, str]
    only: int

    @property
    def span(self) -> float:
        """The largest difference that there can be."""
        return self.ends[1] - self.ends[0]

    def of(self, kind: str) -> pd.DataFrame:
        """The items of a kind; of DEFECT all with a defect."""
        kinds = self.rows["kind"]
        chosen = kinds.str.startswith(DEFECT) if kind == DEFECT else kinds == kind
        return self.rows[chosen]

    @property
    def defects(self) -> list[str]:
        """The kinds of defects, in order of appearance."""
        return [str(kind) for kind in self.of(DEFECT)["kind"].unique()]

    def alarms(self, rows: pd.DataFrame) -> pd.Series:
        """Which of the items raise an alarm, NaN where that is not known: they fail; of scores,
        they are worse than their parents by more than the margin."""
        if not self.scores:
            return rows["worse"]
        # A score has no line below which it fails, so what counts is whether the defect
        # made it worse.
        further = rows["worse"] - rows["before"]
        return (further > self.margin).astype(float).where(further.notna())

    def share(self, rows: pd.DataFrame, level: float) -> Estimate | None:
        """The share of the items that raise an alarm; None where nothing tells it."""
        rows = rows[rows["parent"].notna()] if self.scores else rows
        alarms = self.alarms(rows)
        known = alarms.notna()
        if not known.any():
            return None
        groups = rows["group"]
        share = proportion(alarms[known], level, groups=groups[known].tolist())
        if known.all():
            return share
        # An item without a verdict may be seen or not: the ends of what could be are
        # taken with all of them unseen, and with all of them seen.
        all_unseen = proportion(alarms.fillna(0.0), level, groups=groups.tolist())
        all_seen = proportion(alarms.fillna(1.0), level, groups=groups.tolist())
        return share.replace(worst=all_unseen.low, best=all_seen.high)

    def held(
        self, rows: pd.DataFrame, level: float, margin: float = 0.0
    ) -> Bounded | None:
        """How much worse the items are than their parents, against a margin; None where fewer than
        two groups tell it."""
        paired = rows[rows["parent"].notna()]
        further = (paired["worse"] - paired["before"]).to_numpy(dtype=np.float64)
        groups = paired["group"].astype(str).tolist()
        judged = ~np.isnan(further)
        if paired.loc[judged, "group"].nunique() < 2:
            return None
        low, high = self.ends
        # A missing verdict may have been anything: the differences are as small as they can
        # be where the copy is as good as possible and its parent as bad, or the reverse.
        smallest = self._filled(paired, low, high)
        largest = self._filled(paired, high, low)
        bounds = -self.span, self.span
        return bounded(further, [smallest, largest], margin, level, groups, bounds)

    def _filled(self, paired: pd.DataFrame, after: float, before: float) -> Array:
        """The differences where verdicts that are missing are so bad."""
        further = paired["worse"].fillna(after) - paired["before"].fillna(before)
        return further.to_numpy(dtype=np.float64)

    def apart(self, rows: pd.DataFrame, level: float) -> Estimate | None:
        """How much worse the items are than clean ones that are no parents of theirs: the
        difference of the shares that fail; of scores, how often one is worse than a clean one, less
        a half."""
        clean = self.of(CLEAN)
        known = rows.dropna(subset="worse")
        known_clean = clean.dropna(subset="worse")
        if known.empty or known_clean.empty:
            return None
        if self.scores:
            area = ranking.auc(
                known["worse"].to_numpy(),
                known_clean["worse"].to_numpy(),
                level,
                groups_a=known["group"].tolist(),
                groups_b=known_clean["group"].tolist(),
            )
            return _shifted(area, -HALF)
        one = self.share(rows, level)
        other = self.share(clean, level)
        if one is None or other is None:
            return None
        difference = compare.apart(one.widest, other.widest)
        return difference.replace(n=one.n + other.n, n_groups=one.n_groups)

    def difference(self, rows: pd.DataFrame, level: float) -> Estimate | None:
        """How much worse the items are than their parents, else than clean ones."""
        held = self.held(rows, level)
        if held is None:
            return self.apart(rows, level)
        return held.judged.estimate

    def is_seen(self, rows: pd.DataFrame, level: float) -> bool:
        """Whether the items are shown to be worse than their parents, else than clean ones,
        whatever missing verdicts would be."""
        held = self.held(rows, level)
        if held is not None:
            return held.sure and held.judged.outcome == "beyond"
        apart = self.apart(rows, level)
        return apart is not None and apart.low > 0

    def is_missed(self, rows: pd.DataFrame, level: float) -> bool:
        """Whether less than half of the items are shown to raise an alarm; of scores, whether they
        are shown to be worse than their parents by no more than a margin that somebody stated."""
        if self.scores:
            # Without a margin nobody can show that nothing was noticed, only fail to
            # show that something was.
            held = self.held(rows, level, self.margin) if self.margin else None
            return held is not None and held.sure and held.judged.outcome == "within"
        share = self.share(rows, level)
        return share is not None and share.best_high < HALF


class Kind(NamedTuple):
    """What is found of a kind of defect: its name, how many items have it, the share of these that
    raise an alarm, how much worse they are than their parents or clean ones, and what is shown."""

    name: str
    n: int
    share: Estimate | None
    difference: Estimate | None
    word: Word


def planted(view: JudgeView, options: CheckOptions) -> Planted:
    """What was planted, with what the judge said of it."""
    table = view.table
    kinds = table.items["injected"]
    verdict_of = view.first().drop_duplicates("item").set_index("item")["verdict"]
    judged = kinds.index.isin(verdict_of.index)
    known = np.array(kinds.notna(), dtype=bool)
    # Whoever judged a small part of the items was asked for that part; else silence is a
    # verdict that is missing.
    if not counts_silence(int((known & judged).sum()), int(known.sum())):
        known &= judged
    verdicts = verdict_of.reindex(kinds.index).astype(np.float64)
    scores = table.kind != "pass_fail"
    low, high = _ends(view, verdicts) if scores else (0.0, 1.0)
    # Turned within its scale, so that more is worse everywhere below. A pass is 1 and a
    # fail 0, so pass or fail is always turned.
    is_worse_when_high = scores and options.worse == "high"
    worse = verdicts if is_worse_when_high else low + high - verdicts
    rows = pd.DataFrame({"kind": kinds, "group": table.items["group"], "worse": worse})
    parents, lost, only = _parents(rows[known], table.items)
    rows["before"] = parents.reindex(rows.index).map(worse)
    rows["parent"] = parents
    margin = (options.margin or 0.0) if scores else 0.0
    return Planted(rows[known], scores, (low, high), margin, lost, only)


def are_labels(view: JudgeView) -> bool:
    """Whether the labels say what was planted and nothing else: one label for all items in which
    nothing was, and another for all with a defect, or for all with the same one (of which there are
    enough that nobody who looked at them would say the same of each). Whoever planted the defects
    gave them then, and nobody who looked at the items has said anything."""
    if "injected" not in view.table.items:
        return False
    labels = view.labels.dropna(subset=["label"])
    kinds = labels["item"].map(view.table.items["injected"])
    known = labels[kinds.notna()]
    if known.empty or len(known) < len(labels):
        return False
    kinds = kinds.astype(str)
    defect = kinds.str.startswith(DEFECT)
    of_others = known.loc[~defect, "label"]
    if of_others.nunique() != 1 or known["label"].nunique() == 1:
        return False
    of_defects = known[defect].groupby(kinds[defect])["label"]
    if known.loc[defect, "label"].nunique() == 1:
        return True
    return bool(of_defects.nunique().eq(1).all() and of_defects.size().ge(ENOUGH).all())


def _ends(view: JudgeView, verdicts: pd.Series) -> tuple[float, float]:
    """The ends of the scale, as far as scores reach where they are not known."""
    table = view.table
    if table.kind == "ordered":
        return 0.0, float(len(table.categories) - 1)
    low, high = table.scale or (np.inf, -np.inf)
    known = verdicts.dropna()
    if known.empty:
        return (low, high) if low < high else (0.0, 1.0)
    return min(low, float(known.min())), max(high, float(known.max()))


def _parents(
    rows: pd.DataFrame, items: pd.DataFrame
) -> tuple[pd.Series, tuple[int, str], int]:
    """The parent of each copy: the one that it names, else the only clean item of its group; how
    many name one that is not there, with the first of them, and how many name none and have one."""
    copies = rows["kind"] != CLEAN
    named = pd.Series(None, rows.index, dtype=object)
    if "parent" in items:
        named = items["parent"].reindex(rows.index).where(copies)
    # Beside a parent with a defect of its own, a copy would be compared with what is as
    # bad, and the judge would seem to miss its defect.
    able = items.index[~items["injected"].astype(str).str.startswith(DEFECT)]
    there = named.isin(able)
    lost = named[named.notna() & ~there]
    only = _only_clean(rows[~copies])
    own = rows["group"].map(only).where(copies & named.isna()).astype(object)
    parents = named.where(there, None).where(named.notna(), own)
    first = str(lost.iloc[0]) if len(lost) else ""
    n_only = int(own.notna().sum())
    return parents.where(parents.notna(), None), (len(lost), first), n_only


def _only_clean(clean: pd.DataFrame) -> pd.Series:
    """The clean item of each group that has only one: of two nobody knows which is meant."""
    alone = clean[~clean["group"].duplicated(keep=False)]
    return pd.Series(alone.index, alone["group"], dtype=object)


def _examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell what the judge sees of what was planted, and its false alarms."""
    here = planted(view, options)
    if not here.rows["worse"].notna().any():
        told.lacks("injected", "injected.none_judged", n=len(here.rows))
        return
    kinds = _kinds(here, options.level)
    _tell_first(view, here, told, options)
    if kinds:
        _tell_kinds(here, kinds, told, options)
    _tell_equivalent(here, told, options)
    _tell_lacking(here, kinds, told)
    if here.scores:
        told.say(
            "injected.direction",
            high=int(options.worse == "high"),
            weight=Weight.DETAIL,
        )


def _kinds(here: Planted, level: float) -> list[Kind]:
    """The kinds of defects, those that are missed first; what is shown holds of all together."""
    rows = {kind: here.of(kind) for kind in here.defects}

    def is_missed(kind: str, alpha: float) -> bool:
        return here.is_missed(rows[kind], 1 - alpha)

    def is_seen(kind: str, alpha: float) -> bool:
        return here.is_seen(rows[kind], 1 - alpha)

    # Of twenty kinds one would be called missed by chance: what is said of the kinds
    # holds of all of them together.
    missed = step_down(list(rows), is_missed, 1 - level)
    seen = step_down(list(rows), is_seen, 1 - level)
    kinds = []
    for kind, items in rows.items():
        word: Word = "open"
        if missed[kind].shown:
            word = "missed"
        elif seen[kind].shown:
            word = "seen"
        share = here.share(items, level)
        difference = here.difference(items, level)
        name = kind.removeprefix(DEFECT)
        kinds.append(Kind(name, len(items), share, difference, word))
    return sorted(kinds, key=_place)


def _place(kind: Kind) -> tuple[int, float, str]:
    """Where a kind stands among others: those that are missed and seldom seen first."""
    estimate = kind.share or kind.difference
    value = 0.0 if estimate is None else estimate.value
    return _ORDER.index(kind.word), value, kind.name


def _tell_first(
    view: JudgeView, here: Planted, told: Told, options: CheckOptions
) -> None:
    """Tell in one sentence what share of the defects it sees, and how often it raises a false
    alarm."""
    level = options.level
    defects = here.of(DEFECT)
    seen = here.share(defects, level)
    apart = None if defects.empty else here.difference(defects, level)
    alarms = {
        # A clean item has no parent than which its score could be worse.
        "clean": None if here.scores else here.share(here.of(CLEAN), level),
        "equivalent": here.share(here.of(EQUIVALENT), level),
    }
    unit: Any = "amount" if here.scores and seen is not None else "share"
    told.number(seen, "injected.recall", unit="share")
    told.number(apart, "injected.difference", unit=unit)
    clauses: dict[str, Any] = {}
    for name, share in alarms.items():
        told.number(share, f"injected.{name}", unit="share")
        clauses[name] = []
        if share is not None:
            facts = share.values("share") | {"n": share.n, "scores": int(here.scores)}
            clauses[name] = Finding(f"injected.of_{name}", facts)
    values = {
        "judge": view.judge,
        "level": level,
        "kinds": len(here.defects),
        **clauses,
    }
    further = Finding("injected.further", {"margin": here.margin})
    values |= {"further": further if here.margin else []}
    how: dict[str, Any] = {"subject": Subject.ASKED, "weight": Weight.DETAIL}
    if seen is not None:
        key = "injected.scores" if here.scores else "injected.flags"
        told.say(key, values, seen.values("share"), n=seen.n, **how)
    elif apart is not None:
        clean = len(here.of(CLEAN))
        order = _shifted(apart, HALF).values("share")
        told.say("injected.order", values, order, n=len(defects), clean=clean, **how)
    elif any(share is not None for share in alarms.values()):
        told.say("injected.alarms", values, **how)
    else:
        told.lacks("injected", "injected.nothing_to_compare", n=len(here.rows))


def _shifted(estimate: Estimate, by: float) -> Estimate:
    """An estimate moved with its ends: how often one is worse than a clean one is by a half more
    than how much more often than half that is."""
    return estimate.replace(
        value=estimate.value + by, low=estimate.low + by, high=estimate.high + by
    )


def _tell_kinds(
    here: Planted, kinds: list[Kind], told: Told, options: CheckOptions
) -> None:
    """Tell what it sees of each kind of defect, and which it is shown to miss."""
    # Without parents a difference of scores says how often one is the worse, which is a share.
    in_points = here.scores and any(kind.share for kind in kinds)
    unit: Any = "amount" if in_points else "share"
    rows = []
    said = []
    for kind in kinds:
        told.number(kind.share, "injected.recall", kind.name, unit="share")
        told.number(kind.difference, "injected.difference", kind.name, unit=unit)
        row: dict[str, Any] = {"planted": kind.name, "n": kind.n, "outcome": kind.word}
        if kind.share is not None:
            row |= kind.share.row("recall", "recall_")
        if kind.difference is not None:
            row |= kind.difference.row("difference", "difference_")
        rows.append(row)
        share = kind.share
        if share is None and here.scores and kind.difference is not None:
            share = _shifted(kind.difference, HALF)
        if share is not None:
            key = "injected.of_missed" if kind.word == "missed" else "injected.of_kind"
            said.append(Finding(key, share.values("share") | {"planted": kind.name}))
    told.table("injected.kinds", pd.DataFrame(rows), recall="share", difference=unit)
    left = len(said) - MOST_NAMED
    more: Any = Finding("injected.and_more", {"more": left}) if left > 0 else []
    how: dict[str, Any] = {"subject": Subject.ASKED, "weight": Weight.DETAIL}
    if len(said) > 1:
        told.say("injected.by_kind", each=said[:MOST_NAMED], more=more, **how)
    if missed := [each.name for each in kinds if each.word == "missed"]:
        facts = {
            "kinds": missed,
            "n": len(missed),
            "level": options.level,
            "margin": here.margin,
        }
        key = "injected.missed_scores" if here.scores else "injected.missed"
        told.say(key, facts, weight=Weight.LIMITS)
    _draw(kinds, told)
    defects = here.of(DEFECT)
    apart = here.difference(defects, options.level)
    if apart is not None and apart.high < 0:
        settle = Finding("injected.settle_reversed", {}) if here.scores else None
        how |= {"weight": Weight.LIMITS, "settle": settle}
        told.say("injected.reversed", n=len(defects), **how)
    elif apart is not None and not here.is_seen(defects, options.level):
        told.say("injected.not_apart", n=len(defects), subject=Subject.ASKED)


def _draw(kinds: list[Kind], told: Told) -> None:
    """Draw the shares of the kinds beside each other."""
    shares = [(each.name, each.share) for each in kinds if each.share is not None]
    if len(shares) > 1:
        data = {
            "labels": [name for name, _ in shares],
            "estimate": [share.value for _, share in shares],
            "low": [share.low for _, share in shares],
            "high": [share.high for _, share in shares],
            "x_label": "recall",
            "limits": (0.0, 1.0),
        }
        told.drawings.append(FigureData("kinds", "forest", data, "injected"))


def _tell_equivalent(here: Planted, told: Told, options: CheckOptions) -> None:
    """Tell whether edits that must not matter change its verdicts."""
    rows = here.of(EQUIVALENT)
    paired = rows[rows["parent"].notna()]
    both = paired.dropna(subset=["worse", "before"])
    if both.empty:
        return
    further = (both["worse"] - both["before"]).abs()
    turned = (further > here.margin).to_numpy(dtype=float)
    changed = proportion(turned, options.level, groups=both["group"].tolist())
    told.number(changed, "injected.changed", unit="share")
    told.say(
        "injected.changed",
        changed.values("share"),
        n=len(both),
        scores=int(here.scores),
        margin=here.margin,
        weight=Weight.DETAIL,
    )
    held = here.held(rows, options.level, here.margin)
    if held is None:
        return
    unit: Any = "amount" if here.scores else "share"
    told.number(held.judged.estimate, "injected.difference_equivalent", unit=unit)
    if held.sure and held.judged.outcome in ("beyond", "against"):
        # Of scores the least difference is one, where nobody has said which does not matter.
        limits = not here.scores or here.margin > 0
        facts = held.judged.estimate.values("difference") | {"level": options.level}
        key = "injected.moved_scores" if here.scores else "injected.moved"
        weight = Weight.LIMITS if limits else Weight.QUALIFIES
        worse = int(held.judged.outcome == "beyond")
        told.say(
            key, facts, worse=worse, n=len(paired), margin=here.margin, weight=weight
        )


def _tell_lacking(here: Planted, kinds: list[Kind], told: Told) -> None:
    """Tell what is not there, so that it cannot be known."""
    lost, first = here.lost
    if lost:
        told.say("injected.lost_parents", n=lost, first=first)
    if here.only:
        told.say("injected.only_clean", n=here.only, weight=Weight.DETAIL)
    silent = here.rows["worse"].isna()
    if silent.any():
        told.say("injected.silent", n=int(silent.sum()), of=len(silent))
    counts = here.rows["kind"].value_counts()
    how: dict[str, Any] = {"subject": Subject.ASKED}
    if len(kinds) == 1:
        told.say("injected.one_kind", planted=kinds[0].name, **how)
    if here.scores and EQUIVALENT not in counts and here.rows["parent"].notna().any():
        told.say("injected.no_equivalent", **how)
    elif not here.scores and CLEAN not in counts:
        told.say("injected.no_clean", equivalent=int(EQUIVALENT in counts), **how)


INJECTED = Examination(
    "injected",
    _examine,
    needs=("injected",),
    kinds=("numeric", "ordered", "pass_fail"),
    lacks={"injected": ""},
)
"""What it sees of planted defects, and its false alarms."""
