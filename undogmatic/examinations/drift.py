"""Compares verdicts with earlier ones: whether the judge agrees with people as before, and on the
same items whether the judge changed, or what it judges; and divides the variance of verdicts among
items, judges and repeats.

Agreement is compared item by item where both files hold largely the same items, else as two
independent estimates, as it always is with a trust card, which keeps figures and no verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.errors import DataError
from undogmatic.examinations.judges import MEASURES, agreement_per_item, reach_of
from undogmatic.examinations.kinds import HEADLINES, Agreement, agreement
from undogmatic.examinations.ruling import Facts, Rules, Ruling, verdict
from undogmatic.examinations.ruling import drift as rules
from undogmatic.examinations.ruling.drift import (
    DriftAgreementFacts,
    DriftApartFacts,
    DriftFacts,
    DriftOtherTextsFacts,
)
from undogmatic.records.card import TrustCard, read_card, setting, table_digests
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import IN_MEMORY, EarlierFigures, Evidence, JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Subject, Told, Weight
from undogmatic.safety.outside import brief
from undogmatic.stats import compare, jackknife, means
from undogmatic.stats.checks import Array
from undogmatic.stats.estimate import Estimate, Unit
from undogmatic.stats.panel import Paired
from undogmatic.stats.variance import FEWEST_GROUPS, ITEM, Study

NEW, OLD = "new", "old"
WITH_MEAN = ("numeric", "ordered", "pass_fail")
"""Kinds of verdict that have a mean, so that they can move up or down."""
MOST_NAMED = 5
# Item by item a change is seen with far fewer items, as what is hard about an item is
# the same both times.
PAIRED = 0.5
"""Where at least so many of the labelled items are in both files, agreement is compared item by
item: the others would say little more."""


@dataclass(frozen=True)
class _Drift:
    """A judge on a criterion now and before, and where to tell what is found; `name` marks its
    figures, where several are compared."""

    new: Evidence
    old: Evidence
    judge: str
    criterion: str
    name: str
    told: Told
    options: CheckOptions
    before: str = ""  # what the judge was called before

    @property
    def then(self) -> Finding:
        """The clause that names the earlier file."""
        return then(self.old)

    @property
    def reach(self) -> float | None:
        """The largest difference of two verdicts."""
        return reach_of(self.new, self.criterion)

    def lacks(self, what: str, key: str, **values: Any) -> None:
        """Say that something could not be examined."""
        self.told.lacks(f"drift.{what}{self.name}", key, judge=self.judge, **values)

    def figure(self, what: str, pair: Paired, unit: Unit = "amount") -> Estimate:
        """Tell the difference of a pair, and return it."""
        found = pair.interval(self.options.level)
        self.told.number(found, f"drift.{what}{self.name}", unit=unit)
        return found

    def within(self, pair: Paired) -> bool:
        """Whether two one-sided tests put the difference within the margin."""
        margin, inner = self.options.margin, 2 * self.options.level - 1
        return margin is not None and pair.interval(inner).against(margin) == "within"

    def told_of(self, pair: Paired) -> Estimate:
        """The difference with the interval that decides: of two one-sided tests where they put it
        within the margin."""
        level = self.options.level
        return pair.interval(2 * level - 1 if self.within(pair) else level)

    def conclude(
        self, table: Rules[Facts], facts: Facts, subject: Subject | None = None
    ) -> Ruling[Facts]:
        """Rule on facts by a table of rules, and tell the ruling, about a subject where one is
        given."""
        ruling = verdict(table, facts)
        found = ruling.finding
        self.told.findings.append(
            found if subject is None else replace(found, subject=subject)
        )
        return ruling


def one_sided(level: float) -> Finding:
    """The clause that says which tests the narrower interval belongs to."""
    return Finding("drift.one_sided", {"alpha": 1 - level})


def then(old: Evidence | EarlierFigures) -> Finding:
    """The clause that says when, or where, it was as before."""
    if isinstance(old, EarlierFigures):
        values = {"date": old.made.isoformat(), "name": Path(old.source).name}
        return Finding("drift.then_card", values)
    paths = [Path(source) for source in old.sources if source != IN_MEMORY]
    if not paths:
        return Finding("drift.then_before")
    # The folder of a run is called by day and time.
    shown = 1 if paths[0].suffix else 2
    return Finding("drift.then_file", {"name": "/".join(paths[0].parts[-shown:])})


def tell(new: Evidence, old: Evidence, told: Told, options: CheckOptions) -> None:
    """Tell whether the judges of `new` judge as they did in `old`, and first whether they agree
    with people as they did."""
    _compare(new, old, told, options)
    if not any(found.subject == Subject.AGREED for found in told.findings):
        _untold(told.not_examined["drift"], told)


def _untold(why: Finding, told: Told, judge: str = "") -> None:
    """Say that it cannot be told whether a judge agrees with people as before, and why; and whether
    its verdicts have changed."""
    found = (each for each in told.findings if each.subject == Subject.CHANGE)
    moved = [
        Finding("drift.meanwhile", {"said": each})
        for each in found
        if each.values["judge"] == judge
    ]
    values = {"judge": judge, "why": why, "moved": moved}
    told.say("drift.untold", values, subject=Subject.AGREED, weight=Weight.DETAIL)


def _compare(new: Evidence, old: Evidence, told: Told, options: CheckOptions) -> None:
    # A share of passes and a mean grade have no difference.
    if new.kind != old.kind:
        told.lacks("drift", "drift.kinds", new=new.kind, old=old.kind)
        return
    old = _recoded(old, new)
    # A step between categories is another one where there are more of them.
    if new.kind == "ordered" and new.categories != old.categories:
        told.lacks(
            "drift",
            "drift.categories",
            new=list(new.categories),
            old=list(old.categories),
        )
        return
    compared = list(_judges(new, old))
    if not compared:
        told.lacks("drift", "drift.no_judge", new=new.judges, old=old.judges)
        return
    if not (new.has_texts and old.has_texts):
        told.say("drift.no_texts")
    named: set[str] = set()
    for now, before, criterion in compared:
        name = "" if len(compared) == 1 else f".{now}.{criterion}"
        drift = _Drift(new, old, now, criterion, name, told, options, before)
        _settings(new, old, now, before, told)
        rows = _beside(new, old, now, before, criterion)
        if rows.empty:
            told.lacks(f"drift{name}", "drift.no_common", judge=now)
            _apart(drift)
            continue
        # An item whose text was changed tells nothing of the judge: whether it, or the
        # text, is another cannot be told from its verdict.
        other = _other_texts(new, old, rows["item"])
        if texts := sorted(set(rows.loc[other, "item"]) - named):
            told.say(
                "drift.other_texts",
                items=texts[:MOST_NAMED],
                n=len(texts),
                rest=", ..." * (len(texts) > MOST_NAMED),
            )
            named |= set(texts)
        same = _same(drift, rows[~other])
        _changed(drift, rows[other], same)
        if not same.agreed:
            _apart(drift)


def _recoded(old: Evidence, new: Evidence) -> Evidence:
    """The old table with the new one's numbering of categories; what only the old one has comes
    behind them."""
    if old.kind == "numeric" or old.categories == new.categories:
        return old
    if set(old.categories) - set(new.categories) and old.kind == "ordered":
        return old
    # Categories are numbered by each file for itself. The same word must have the same
    # number in both before anything is compared.
    names = list(dict.fromkeys([*new.categories, *old.categories]))
    places = {
        float(n): float(names.index(name)) for n, name in enumerate(old.categories)
    }
    return replace(
        old,
        verdicts=old.verdicts.assign(verdict=old.verdicts["verdict"].map(places)),
        labels=old.labels.assign(label=old.labels["label"].map(places)),
        categories=new.categories if old.kind == "ordered" else tuple(names),
    )


def _judges(new: Evidence, old: Evidence) -> Iterator[tuple[str, str, str]]:
    """New judge, old judge and criterion of what is compared: those of the same names; one with one
    whatever they are called."""
    judges = [(judge, judge) for judge in new.judges if judge in old.judges]
    # Of one judge each it is clear which is meant, though a new version mostly has a
    # new name.
    if not judges and len(new.judges) == len(old.judges) == 1:
        judges = [(new.judges[0], old.judges[0])]
    for now, before in judges:
        for criterion in new.criteria:
            if criterion in old.criteria:
                yield now, before, criterion


def _settings(new: Evidence, old: Evidence, now: str, before: str, told: Told) -> None:
    """Name what is known of the judge and differs: model, prompt, settings."""
    after, earlier = new.settings.get(now, {}), old.settings.get(before, {})
    changed = [
        key
        for key in sorted(after.keys() & earlier.keys())
        if after[key] != earlier[key]
    ]
    if changed:
        told.say("drift.settings", judge=now, keys=changed)


def _beside(
    new: Evidence, old: Evidence, now: str, before: str, criterion: str
) -> pd.DataFrame:
    """First verdicts of both on the items and orders that both judged: item, order, new, old,
    code."""
    sides = [
        table.of(judge, criterion).first()
        for table, judge in ((new, now), (old, before))
    ]
    one, other = (
        side.assign(order=side["order"].fillna("")).dropna(subset=["verdict"])[
            ["item", "order", "verdict"]
        ]
        for side in sides
    )
    both = one.merge(other, on=["item", "order"], suffixes=("_new", "_old"))
    rows = both.rename(columns={"verdict_new": NEW, "verdict_old": OLD})
    groups = new.items["group"].reindex(rows["item"]).to_numpy()
    return rows.assign(code=pd.factorize(groups)[0].astype(np.intp))


def _other_texts(new: Evidence, old: Evidence, items: pd.Series) -> pd.Series:
    """Whether an item has another text than before; not, where one of the texts is not known."""
    other = pd.Series(False, index=items.index)
    for column in ("text", "text_1", "text_2"):
        if column in new.items and column in old.items:
            one, before = (
                table.items[column].reindex(items).to_numpy(dtype=object)
                for table in (new, old)
            )
            # Where one file has no texts, ids are believed.
            known = pd.notna(one) & pd.notna(before)
            other |= pd.Series(known & (one != before), index=items.index)
    return other


def _scaled(table: Evidence, values: Array) -> Array:
    """Places of ordered categories as a share of the scale; other values as they are."""
    return (
        values / max(len(table.categories) - 1, 1)
        if table.kind == "ordered"
        else values
    )


class _Unchanged(NamedTuple):
    """What the same texts show of the judge: whether it is shown to have changed, on how many none
    did, and whether they say whether it agrees with people as before."""

    changed: bool = False
    still: int = 0
    agreed: bool = False


def _same(drift: _Drift, rows: pd.DataFrame) -> _Unchanged:
    """Tell how verdicts on the same texts changed, and their agreement with people."""
    new, options, reach = drift.new, drift.options, drift.reach
    groups = int(rows["code"].nunique())
    if groups < jackknife.FEWEST:
        drift.lacks("verdicts", "drift.few", groups=groups, needed=jackknife.FEWEST)
        return _Unchanged()
    numbers = new.kind == "numeric"
    codes = pd.factorize(rows["code"])[0].astype(np.intp)
    now = rows[NEW].to_numpy(dtype=np.float64)
    before = rows[OLD].to_numpy(dtype=np.float64)
    # How many verdicts changed, whichever way: changes in both directions leave the
    # mean where it was.
    apart = np.abs(now - before) if numbers else (now != before).astype(np.float64)
    most = np.inf if reach is None else max(reach, float(apart.max()))
    change = means.interval(apart, options.level, groups=codes, bounds=(0, most))
    shift, told_shift, p, within = None, None, 1.0, False
    if new.kind in WITH_MEAN:
        pair = Paired(_scaled(new, now), _scaled(new, before), codes, reach)
        shift, p, within = drift.figure("shift", pair), pair.p, drift.within(pair)
        told_shift = drift.told_of(pair)
    measure = "distance" if numbers else "share"
    unit: Unit = "amount" if numbers else "share"
    drift.told.number(change, f"drift.change{drift.name}", unit=unit)
    alpha, n = 1 - options.level, int(rows["item"].nunique())
    changed = DriftFacts(
        judge=drift.judge,
        margin=options.margin,
        n=n,
        groups=groups,
        measure=measure,
        change=change,
        shift=shift,
        p=p,
        within=within,
        alpha=alpha,
        told_shift=told_shift,
        tests=one_sided(options.level),
    )
    kept = drift.conclude(rules.DRIFT, changed)
    shown = _Unchanged(kept.standing == "refuted", 0 if apart.any() else n)
    if shown.still:
        drift.lacks("asked", "drift.all_the_same", n=n)
    labels = next(
        (
            t.labels
            for t in (new, drift.old)
            if (t.labels["criterion"] == drift.criterion).any()
        ),
        new.labels,
    )
    long = rows.melt(["item", "code"], [NEW, OLD], "judge", "verdict")
    agrees, _ = agreement_per_item(
        new, long, labels[labels["criterion"] == drift.criterion]
    )
    if agrees.empty:
        return shown
    codes = rows.drop_duplicates("item").set_index("item")["code"].reindex(agrees.index)
    now, before = (agrees[side].to_numpy(dtype=np.float64) for side in (NEW, OLD))
    pair = Paired(now, before, pd.factorize(codes)[0].astype(np.intp), reach)
    if pair.n_units < jackknife.FEWEST:
        return shown
    gained = drift.figure("agreement", pair, unit="")
    measure = f"of_{MEASURES.get(new.kind, 'share')}"
    sign = -1 if numbers else 1  # of grades, the distance from the labels is told
    interval = drift.told_of(pair)
    known = [_labelled(table, drift.criterion) for table in (new, drift.old)]
    # Of few common items the comparison of both files as they are knows more.
    paired = pair.n >= PAIRED * min(filter(None, known))
    agreed = DriftAgreementFacts(
        judge=drift.judge,
        then=drift.then,
        margin=options.margin,
        n=pair.n,
        measure=measure,
        before=sign * float(before.mean()),
        after=sign * float(now.mean()),
        change=gained,
        told_change=-interval if numbers else interval,
        within=drift.within(pair),
        distance=int(numbers),
        tests=one_sided(options.level),
        moved=Finding("drift.moved") if shown.changed else [],
    )
    drift.conclude(rules.DRIFT_AGREEMENT, agreed, Subject.AGREED if paired else None)
    return shown._replace(agreed=paired)


def _labelled(table: Evidence, criterion: str) -> int:
    """How many items have a label on a criterion."""
    labels = table.labels[
        table.labels["label"].notna() & (table.labels["criterion"] == criterion)
    ]
    return int(labels["item"].nunique())


def _apart(drift: _Drift) -> None:
    """Tell how the agreement of both files with people differs, each by its own items and
    labels."""
    sides = ((drift.new, drift.judge), (drift.old, drift.before))
    views = [table.of(judge, drift.criterion) for table, judge in sides]
    now, before = (view.once(agreement, drift.options) for view in views)
    here = _Here(drift.judge, drift.then, drift.told, drift.name)
    here.tell(now, before.estimate, before.n)


def difference(now: Estimate, before: Estimate) -> Estimate | None:
    """Tell by how much two independent figures differ, with the limits that missing verdicts leave;
    None where one of them has no limits."""
    if not np.isfinite(
        [now.value, *now.interval, before.value, *before.interval]
    ).all():
        return None
    widest = compare.apart(now.widest, before.widest)
    return compare.apart(now, before).replace(worst=widest.low, best=widest.high)


class _Here(NamedTuple):
    """A judge now, and where to tell what is found of it beside how it was; `name` marks its
    figures, where several are compared."""

    judge: str
    then: Finding
    told: Told
    name: str = ""

    def tell(self, now: Agreement, before: Estimate | None, before_n: int) -> None:
        """Tell the difference of two independent figures of agreement, or why there is none."""
        why = "now" if now.estimate is None else "then" if before is None else "limits"
        change = None
        if now.estimate is not None and before is not None:
            change = difference(now.estimate, before)
        if now.estimate is None or before is None or change is None:
            values = {"judge": self.judge, "then": self.then}
            self.told.lacks(
                f"drift.agreement{self.name}", f"drift.no_labels_{why}", **values
            )
            lacking = self.told.not_examined[f"drift.agreement{self.name}"]
            _untold(lacking, self.told, self.judge)
            return
        self.told.number(change, f"drift.headline{self.name}", measure=now.name)
        facts = DriftApartFacts(
            judge=self.judge,
            then=self.then,
            measure=now.name,
            before=before,
            before_n=before_n,
            now=now.estimate,
            n=now.n,
            change=change,
        )
        self.told.findings.append(verdict(rules.DRIFT_APART, facts).finding)


def earlier_figures(path: Path) -> EarlierFigures:
    """What a trust card keeps of an earlier check. Raises DataError where it is none, or was
    edited."""
    return _of_card(read_card(path), path)


def _of_card(card: TrustCard, path: Path) -> EarlierFigures:
    known = {key: setting(value) for key, value in card.settings.items()}
    bound = card.digests
    return EarlierFigures(
        source=str(path),
        made=card.made,
        judge=card.judge,
        criterion=card.criterion,
        kind=card.data.kind,
        n=card.data.n,
        figures=card.figures,
        settings=known,
        verdicts=bound.verdicts,
        labels=bound.labels,
    )


def held_against(table: Evidence, card: EarlierFigures, level: float) -> Estimate:
    """The agreement with people that an earlier card keeps, of the same judge, criterion, kind of
    verdict and coefficient. Raises DataError that says which of them differs."""
    name = f"agreement.{HEADLINES[card.kind]}"
    figure = card.figures.get(name)
    own = {
        key: setting(value) for key, value in table.settings.get(card.judge, {}).items()
    }
    other = [
        key
        for key in sorted(own.keys() & card.settings)
        if own[key] != card.settings[key]
    ]
    why = ""
    if card.judge not in table.judges:
        why = f"it is about the judge {brief(card.judge)}, and here is {', '.join(table.judges)}"
        why += ". Name the column of the same judge with --judge"
    # A card says under which settings it was made. With another model or prompt its
    # figures are those of another judge.
    elif other:
        key = other[0]
        why = f"it is about another judge, whose {key} was {brief(card.settings[key])} and is"
        why += f" {brief(own[key])} now"
    elif card.criterion not in table.criteria:
        why = f"it is about the criterion {brief(card.criterion)}, and here is"
        why += f" {', '.join(table.criteria)}"
    elif card.kind != table.kind:
        why = f"its verdicts were {card.kind}, and these are {table.kind}. Say what they are with"
        why += " --kind"
    elif figure is None:
        why = f"it keeps no `{name}`, by which agreement with people is compared"
    # Limits of different levels cannot be subtracted.
    elif figure.level != level:
        why = f"its intervals are of level {figure.level:g}, and these of {level:g}. Add --level"
        why += f" {figure.level:g}"
    if figure is None or why:
        raise DataError(
            f"{card.source}: this card cannot be compared: {why}. Or name the earlier file"
            " of verdicts in its place."
        )
    return figure


def _beside_card(
    new: Evidence, card: EarlierFigures, told: Told, options: CheckOptions
) -> None:
    """Tell whether the judge of a card agrees with people as it did then."""
    before = held_against(new, card, options.level)
    here = _Here(card.judge, then(card), told)
    if unknown := sorted(
        card.settings.keys() - new.settings.get(card.judge, {}).keys()
    ):
        told.say("drift.card_settings", judge=card.judge, keys=unknown, then=here.then)
    for judge in new.judges:
        if judge != card.judge:
            told.lacks(
                f"drift.{judge}", "drift.not_on_card", judge=judge, then=here.then
            )
    digests = table_digests(new, card.judge, card.criterion)
    # The same file held against its own card would show "no change", and be taken for
    # news.
    if (digests.verdicts, digests.labels) == (card.verdicts, card.labels):
        values = {"judge": card.judge, "then": here.then}
        told.say("drift.same_as_card", values, subject=Subject.AGREED)
        return
    now = new.of(card.judge, card.criterion).once(agreement, options)
    here.tell(now, before, card.n)


def _changed(drift: _Drift, rows: pd.DataFrame, same: _Unchanged) -> None:
    """Tell of items with other texts whether the verdicts moved with people's labels."""
    new, options, reach = drift.new, drift.options, drift.reach
    if rows.empty:
        return
    if new.kind not in WITH_MEAN or rows["code"].nunique() < jackknife.FEWEST:
        key = "drift.no_mean" if new.kind not in WITH_MEAN else "drift.few_other"
        drift.lacks("other_texts", key, n=int(rows["item"].nunique()))
        return
    people = (
        table.of(drift.judge, drift.criterion).consensus().reindex(rows["item"])
        for table in (new, drift.old)
    )
    sides = [
        _scaled(new, side.to_numpy(np.float64))
        for side in (rows[NEW], rows[OLD], *people)
    ]
    codes = pd.factorize(rows["code"])[0].astype(np.intp)
    labelled = ~(np.isnan(sides[2]) | np.isnan(sides[3]))
    enough = np.unique(codes[labelled]).size >= jackknife.FEWEST
    if enough:
        sides = [side[labelled] for side in sides]
        codes = np.unique(codes[labelled], return_inverse=True)[1]
    verdicts = Paired(sides[0], sides[1], codes, reach)
    labels = None
    beyond = None
    told = None
    within = False
    if enough:
        labels = Paired(sides[2], sides[3], codes, reach).interval(options.level)
        apart = Paired(
            sides[0] - sides[1],
            sides[2] - sides[3],
            codes,
            None if reach is None else 2 * reach,
        )
        beyond = drift.figure("beyond_labels", apart)
        told = drift.told_of(apart)
        within = drift.within(apart)
    moved = verdicts.interval(options.level)
    facts = DriftOtherTextsFacts(
        judge=drift.judge,
        margin=options.margin,
        n=verdicts.n,
        verdicts=moved,
        labels=labels,
        apart=beyond,
        told_apart=told,
        within=within,
        changed=same.changed,
        unchanged=Finding(
            "drift.same_still" if same.still else "drift.same_unknown",
            {"n": same.still},
        ),
        grades=new.kind == "numeric",
    )
    drift.conclude(rules.DRIFT_OTHER_TEXTS, facts)


def variance_of(
    table: Evidence, criterion: str, told: Told, options: CheckOptions
) -> Study | None:
    """Divide the variance of verdicts among items, judges and repeats, on the items that all judges
    judged as often.

    Repeats are those of one judge: whatever differs between them, for all items or for one, is the
    share of repeats.

    Returns:
        The study, for reliability and the design of the next one; None where the verdicts have no
        mean, or neither judges nor repeats are several.
    """
    rows = table.verdicts[
        (table.verdicts["criterion"] == criterion) & table.verdicts["verdict"].notna()
    ]
    if table.kind not in WITH_MEAN:
        told.lacks(
            "variance",
            "drift.no_mean",
            judge=", ".join(table.judges),
            n=int(rows["item"].nunique()),
        )
        return None
    wide = rows.pivot_table("verdict", "item", ["judge", "repeat"], aggfunc="first")
    judges = list(dict.fromkeys(wide.columns.get_level_values("judge")))
    repeats = min((wide[judge].shape[1] for judge in judges), default=0)
    # Only what all judges judged as often: a variance over unequal numbers of repeats
    # would mix judges and repeats.
    cells = [
        (judge, repeat)
        for judge in judges
        for repeat in sorted(wide[judge].columns)[:repeats]
    ]
    complete = wide[cells].dropna()
    groups = table.items["group"].reindex(complete.index).to_numpy()
    if max(len(judges), repeats) < 2 or len(set(groups)) < FEWEST_GROUPS:
        told.lacks(
            "variance",
            "drift.no_variance",
            n=len(complete),
            judges=len(judges),
            repeats=repeats,
        )
        return None
    scores = _scaled(table, complete.to_numpy(dtype=np.float64)).reshape(
        len(complete), len(judges), repeats
    )
    facets = [
        name
        for name, size in zip(("judge", "repeat"), scores.shape[1:], strict=True)
        if size > 1
    ]
    shape = (len(complete), *(size for size in scores.shape[1:] if size > 1))
    study = Study(scores.reshape(shape), facets, groups=groups, level=options.level)
    parts = {
        "_".join(c.source): c.variance
        for c in study.components()
        if "repeat" not in c.source
    }
    if repeats > 1:
        spread = scores.var(axis=2, ddof=1).mean(axis=1)
        parts["repeat"] = means.interval(
            spread, options.level, groups=groups, bounds=(0, np.inf)
        )
    total = sum(part.value for part in parts.values())
    shares = {
        name: part.value / total if total > 0 else np.nan
        for name, part in parts.items()
    }
    for name, part in parts.items():
        told.number(part, f"variance.{name}")
    divided = pd.DataFrame(
        {"source": name, "share": shares[name]} | part.row("variance")
        for name, part in parts.items()
    )
    told.table("drift.variance", divided, share="share")
    values: dict[str, Any] = {
        "n": len(complete),
        "judges": len(judges),
        "item": shares[ITEM],
    }
    values |= {
        "judge": shares.get("judge", 0.0),
        "both": shares.get(f"{ITEM}_judge", 0.0),
    }
    if repeats > 1:
        told.say("drift.variance", **values, repeats=repeats, repeat=shares["repeat"])
    else:
        told.say("drift.variance_once", **values)
    return study


def _examine(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell whether all judges judge as they did in the earlier evidence."""
    earlier = view.table.earlier
    if isinstance(earlier, EarlierFigures):
        _beside_card(view.table, earlier, told, options)
    elif earlier is not None:
        tell(view.table, earlier, told, options)


DRIFT = Examination(
    "drift",
    _examine,
    needs=("earlier",),
    fewest_groups=0,
    scope="table",
    lacks={"earlier": ""},
)
