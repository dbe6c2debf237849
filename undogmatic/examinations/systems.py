"""Tells what the judged systems deserve: corrected means and differences, and rankings.

The estimator of a mean follows from how the labels were chosen (`stats.corrected`), which is
declared, never guessed. A pairwise choice has no mean: systems are ranked by Bradley and Terry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import AS_GIVEN, SWAPPED, JudgeView, Kind
from undogmatic.records.examination import Examination
from undogmatic.records.results import Face, Needs, Subject, Told, Weight
from undogmatic.stats import bradley_terry, checks, corrected, few_labels, lost, means
from undogmatic.stats.bradley_terry import BradleyTerry
from undogmatic.stats.checks import Array
from undogmatic.stats.corrected import Corrected, Design, Judged
from undogmatic.stats.estimate import Estimate, Unit

MEAN = "corrected_mean"
ENDS = ("value", "low", "high")
MOST_SYSTEMS = 12
"""Every two of more systems are not told one by one."""
TARGET = 0.1
"""Width of the interval of a mean that further labels are counted for, in widths of the scale,
without a margin."""


WITH_MEAN: tuple[Kind, ...] = ("numeric", "ordered", "pass_fail")
"""Kinds of verdicts that have a mean; systems are ranked by choices between two of them."""


def _examine_judge_mean(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell the mean of the verdicts, whatever people say."""
    own.once(Means, options).tell_judge(told)


def _examine_mean(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell the mean of all items, and of each system, corrected by the labels."""
    own.once(Means, options).tell_corrected(told)


@dataclass
class Means:
    """Verdicts and labels by item, and what is told of their means."""

    own: JudgeView
    options: CheckOptions

    def __post_init__(self) -> None:
        table = self.own.table
        rows, items, kind = self.own.first(), table.items, table.kind
        names = rows["item"].to_numpy()
        verdicts = rows["verdict"].to_numpy(np.float64)
        labels = self.own.labels.groupby("item")["label"].mean()
        people = labels.reindex(names).to_numpy(np.float64)
        chance = np.full(len(names), np.nan)
        self.drawn = 0.0
        if "probability" in items:
            chance = items["probability"].reindex(names).to_numpy(np.float64)
            self.drawn = float(items["probability"].sum())
        # Of those that were drawn in a random order only a part may have a label yet: each had
        # that much less of a chance.
        n_labelled = int((~np.isnan(people) & ~np.isnan(chance)).sum())
        self.part = min(1.0, n_labelled / self.drawn) if self.drawn > 0 else 1.0
        codes = rows["code"].to_numpy()
        n_groups = int(codes.max(initial=-1)) + 1
        self.judged = Judged(verdicts, people, chance * self.part, codes, n_groups)
        self.systems = None
        if "system" in items:
            self.systems = items["system"].reindex(names).to_numpy()
        named = {"pass_fail": "share_passed", "ordered": "mean_level"}
        self.what = named.get(kind, "mean_label")
        self.spec = ".0%" if kind == "pass_fail" else ""  # how a mean is written
        self.unit: Unit = "share" if kind == "pass_fail" else "score"
        self.bounds = table.scale
        if kind != "numeric":
            self.bounds = 0.0, len(table.categories) - 1.0

    @cached_property
    def judge(self) -> Estimate | None:
        """The mean of the verdicts; None of fewer than two."""
        known = ~np.isnan(self.judged.verdicts)
        return self._judge_mean(known) if known.sum() > 1 else None

    def tell_judge(self, told: Told) -> None:
        """Tell the mean of the verdicts, and what it could be with those that are missing."""
        known, judge = ~np.isnan(self.judged.verdicts), self.judge
        if judge is None:
            return
        told.number(judge, "systems.judge_mean", unit=self.unit)
        unread = self.own.table.unaccounted
        if unread or not known.all():
            ends: dict[str, Any] = {
                "lowest": judge.worst_low,
                "highest": judge.best_high,
            }
            told.say(
                "systems.missing_rows" if unread else "systems.missing",
                missing=int((~known).sum()) + unread,
                n=known.size + unread,
                **ends,
                what=self.what,
                spec=self.spec,
            )

    def tell_corrected(self, told: Told) -> None:
        """Tell the mean by the labels, of all items and of each system, where it is known how the
        labels were chosen."""
        judged, judge = self.judged, self.judge
        if judge is None:
            return
        labelled = ~np.isnan(judged.labels)
        # That every item has a label is seen, and needs no declaration.
        design: Design | None = "all" if labelled.all() else None
        if design is None:
            design = (
                self.own.table.selection
                if self.own.table.selection != "unknown"
                else None
            )
        # those that there are belong to items without a row of this judge
        if not labelled.any():
            told.lacks(MEAN, "systems.no_labels")
        # How labels were chosen cannot be seen from them. Without it every estimator
        # would be a guess.
        elif design is None:
            told.lacks(
                MEAN, "systems.unknown", labels=int(labelled.sum()), n=labelled.size
            )
        # An item that could not have been drawn stands for none, and its inverse
        # probability is infinite.
        elif design == "probabilities" and not np.all(
            self._within(judged.probability[labelled])
        ):
            lacking = int((~self._within(judged.probability[labelled])).sum())
            told.lacks(
                MEAN,
                "systems.no_probability",
                lacking=lacking,
                labels=int(labelled.sum()),
            )
        else:
            # a probability or two may be lost to rounding
            if design == "probabilities" and self.part < 1 - 1 / (2 * self.drawn):
                told.say(
                    "systems.part_of_draw",
                    labels=int(labelled.sum()),
                    drawn=round(self.drawn),
                )
            self._all_items(design, judge, told)
            self._each_system(design, told)

    @staticmethod
    def _within(probability: Array) -> Any:
        return (probability > 0) & (probability <= 1)

    def _judge_mean(self, known: Any) -> Estimate:
        verdicts, codes = self.judged.verdicts[known], self.judged.codes[known]
        if np.unique(codes).size < 2:
            return Estimate(
                float(verdicts.mean()),
                -np.inf,
                np.inf,
                self.options.level,
                1,
                verdicts.size,
            )
        found = means.interval(
            verdicts, self.options.level, groups=codes, bounds=self._holding(verdicts)
        )
        share = float(known.sum() / (known.size + self.own.table.unaccounted))
        # Verdicts that are missing may all lie at one end of the scale.
        if share < 1 and self.bounds is not None:
            worst, best = (
                share * end + (1 - share) * edge
                for end, edge in zip(found.interval, self.bounds, strict=True)
            )
            found = found.replace(worst=worst, best=best)
        return found

    def _holding(self, values: Array) -> means.Bounds | None:
        """The ends of the scale, if the values keep to them."""
        # Bounds that values do not keep to bound nothing.
        inside = (
            self.bounds is not None
            and self.bounds[0] <= values.min()
            and values.max() <= self.bounds[1]
        )
        return self.bounds if inside else None

    def _mean(
        self,
        design: Design,
        chosen: Any = slice(None),
        level: float | None = None,
        these_items: bool = False,
    ) -> Corrected:
        part = self.judged.of(chosen)
        labels = part.labels[~np.isnan(part.labels)]
        bounds = self._holding(labels) if labels.size else None
        level = self.options.level if level is None else level
        return corrected.mean(part, design, bounds, level, these_items=these_items)

    def _refused(self, found: Corrected) -> tuple[str, Mapping[str, Any]] | None:
        """Why there is no mean, if so."""
        if not found.covered:
            return "outside", {"share": found.outside}
        if found.estimate is None:
            return "too_few", {"effective": found.effective, "needed": corrected.FEWEST}
        return None

    def _all_items(self, design: Design, judge: Estimate, told: Told) -> None:
        labelled, level = ~np.isnan(self.judged.labels), self.options.level
        found = self._mean(design, these_items=True)
        if self.systems is not None and design != "all":
            # Of a system without labels nothing is known, however the verdicts of the others look.
            bare = [
                name
                for name in present(self.systems)
                if not labelled[self.systems == name].any()
            ]
            share = float(np.isin(self.systems, bare).mean())
            if bare and share > corrected.TOLERATED:
                told.lacks(MEAN, "systems.bare", systems=bare, share=share)
                return
        if (why := self._refused(found)) is not None:
            told.lacks(MEAN, f"systems.refused_{why[0]}", **why[1])
            return
        estimate = found.estimate
        assert estimate is not None
        if self.bounds is not None:
            estimate = lost.mixed(
                estimate, labelled.size, self.own.table.unaccounted, self.bounds
            )
        told.number(estimate, "systems.mean", unit=self.unit)
        # Two intervals that do not meet: the judge's mean is then another than
        # people's, whatever the chance.
        beyond = judge.high < estimate.low or judge.low > estimate.high
        values = estimate.values("mean") | judge.values("judge", "judge_")
        values |= {
            "what": self.what,
            "spec": self.spec,
            "estimator": design,
            "level": level,
            "n": labelled.size,
        }
        values |= {"labels": int(labelled.sum()), "groups": estimate.n_groups}
        values |= {"scope": "like_these" if design == "all" else "these_items"}
        told.say(
            "systems.mean_off" if beyond else "systems.mean",
            weight=Weight.LIMITS if beyond else Weight.QUALIFIES,
            subject=Subject.MEAN,
            needs=Needs.NO_NUMBER,
            face=Face("systems.face_mean", "judge") if beyond else None,
            **values,
        )
        if design == "random":
            self._budget(estimate, told)

    def _budget(self, estimate: Estimate, told: Told) -> None:
        """How many labels a useful interval of the mean takes, where this one is wider."""
        margin = self.options.margin
        span = (
            self.bounds[1] - self.bounds[0]
            if self.bounds is not None
            else float(np.ptp(self.judged.labels))
        )
        # An interval narrower than what matters need not be narrower still.
        width = 2 * margin if margin is not None else TARGET * span
        if estimate.high - estimate.low <= width or not width > 0:
            return
        at = np.flatnonzero(~np.isnan(self.judged.labels))
        known = ~np.isnan(self.judged.verdicts)
        verdicts = np.where(
            known, self.judged.verdicts, self.judged.verdicts[known].mean()
        )
        labels, codes = self.judged.labels[at], self.judged.codes
        shared: dict[str, Any] = {
            "level": self.options.level,
            "groups": codes,
            "bounds": self._holding(labels),
        }
        found = few_labels.label_budget(verdicts, at, labels, width, **shared)
        if found is None:
            told.say(
                "systems.budget_unknown",
                weight=Weight.DETAIL,
                labels=at.size,
                few=means.FEW,
            )
        elif found.with_judge is None:
            beyond: dict[str, Any] = {
                "width": width,
                "n": found.n_items,
                "all": found.width_if_all,
            }
            told.say("systems.budget_beyond", weight=Weight.DETAIL, **beyond)
        else:
            told.say(
                "systems.budget",
                width=width,
                needed=found.with_judge,
                labels=at.size,
                n=found.n_items,
            )

    def _each_system(self, design: Design, told: Told) -> None:
        if self.systems is None or len(names := present(self.systems)) < 2:
            return
        chosen = {name: self.systems == name for name in names}
        found = {name: self._mean(design, chosen[name]) for name in names}
        refused = {
            name: why
            for name, one in found.items()
            if (why := self._refused(one)) is not None
        }
        for name, (reason, values) in refused.items():
            n = int(chosen[name].sum())
            if found[name].effective == 0:
                told.say("systems.system_bare", system=name, n=n)
            else:
                told.say(f"systems.system_{reason}", system=name, n=n, **values)
        kept = [name for name in names if name not in refused]
        for name in kept:
            told.number(found[name].estimate, f"systems.mean.{name}", unit=self.unit)
        pairs = list(combinations(range(len(kept)), 2))
        # The ranking looks at all pairs at once; its limits allow for that.
        # Who looks for the best of ten systems looks at 45 differences.
        strict = 1 - (1 - self.options.level) / max(1, len(pairs))
        strictly = {name: self._mean(design, chosen[name], strict) for name in kept}
        apart: dict[tuple[int, int], Estimate] = {}
        for i, j in pairs:
            one = corrected.difference(strictly[kept[i]], strictly[kept[j]])
            assert one is not None
            apart[i, j] = one
            if len(kept) <= MOST_SYSTEMS:
                plain = corrected.difference(found[kept[i]], found[kept[j]])
                # As exact as the sentence about it, of shares too.
                names_of = f"{kept[i]}_{kept[j]}"
                told.number(plain, f"systems.difference.{names_of}", unit="score")
        # Places follow from differences that are shown, and not from the means: two
        # systems that are not told apart share a place.
        ranks = bradley_terry.ranks(apart, len(kept))
        rows = []
        for place, name in enumerate(kept):
            estimate = found[name].estimate
            verdicts = self.judged.verdicts[chosen[name]]
            assert estimate is not None
            row: dict[str, Any] = {
                "system": name,
                "items": verdicts.size,
                "labels": estimate.n,
            }
            row |= {
                "judge_mean": (
                    float(np.nanmean(verdicts))
                    if not np.isnan(verdicts).all()
                    else np.nan
                )
            }
            rows.append(
                row
                | estimate.row("mean")
                | dict(zip(("best", "worst"), ranks[place], strict=True))
            )
        if rows:
            means = pd.DataFrame(rows).sort_values(
                "mean", ascending=False, ignore_index=True
            )
            told.table("systems.means", means, mean=self.unit, judge_mean=self.unit)
        if pairs:
            _ranked(told, kept, [row["mean"] for row in rows], apart, self.options)
            labels = [row["labels"] for row in rows]
            self._closest(kept, [row["mean"] for row in rows], apart, labels, told)

    def _closest(
        self,
        names: Sequence[str],
        values: Sequence[float],
        apart: Mapping[tuple[int, int], Estimate],
        n: Sequence[int],
        told: Told,
    ) -> None:
        """How many labels would tell the first from the second, where they are not told apart."""
        # The first place is what most readers ask about.
        first, second = np.argsort(values)[::-1][:2].tolist()
        one = apart[min(first, second), max(first, second)]
        if one.low <= 0 <= one.high and one.value != 0:
            there = n[first] + n[second]
            times = ((one.high - one.low) / 2 / abs(one.value)) ** 2
            if needed := checks.worth_naming(times * there, there):
                told.say(
                    "systems.closest",
                    a=names[first],
                    b=names[second],
                    labels=there,
                    needed=needed,
                )


def present(systems: Any) -> list[str]:
    """List the systems that are named, in the order in which they come."""
    return [str(name) for name in pd.unique(systems[~pd.isna(systems)])]


def _ranked(
    told: Told,
    names: Sequence[str],
    values: Sequence[float],
    apart: Mapping[tuple[int, int], Estimate],
    options: CheckOptions,
) -> None:
    """The ranking in a sentence: of two systems their difference, of more how many pairs are told
    apart."""
    separable = sum(not one.low <= 0 <= one.high for one in apart.values())
    if len(names) == 2:
        one = apart[0, 1]
        key = "systems.difference" if separable else "systems.difference_open"
        told.say(
            key, a=names[0], b=names[1], level=options.level, **one.values("difference")
        )
        return
    order = [names[k] for k in np.argsort(values)[::-1]]
    told.say(
        "systems.ranking",
        order=order,
        pairs=len(apart),
        separable=separable,
        systems=len(names),
        level=options.level,
    )


def _examine_ranking(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Rank systems by whose output was chosen."""
    items = own.table.items
    rows = own.first()
    systems = items[["system_1", "system_2"]].reindex(rows["item"])
    rows = rows.assign(
        one=systems["system_1"].to_numpy(), other=systems["system_2"].to_numpy()
    )
    rows = rows[
        rows[["one", "other"]].notna().all(axis=1)
        & (rows["one"] != rows["other"])
        & rows["verdict"].notna()
    ]
    names = sorted(
        pd.unique(rows[["one", "other"]].to_numpy().ravel()).tolist(), key=str
    )
    decided = rows[rows["verdict"].isin((0, 1))]
    ties = len(rows) - len(decided)
    if len(names) < 2 or decided["code"].nunique() < 2:
        told.lacks("ranking", "systems.too_few_choices", n=len(decided), ties=ties)
        return
    winner, loser = _sides(decided, names, decided["verdict"].to_numpy() == 0)
    linked = bradley_terry.components(winner, loser, len(names))
    if len(linked) > 1:
        sets = " | ".join(", ".join(str(names[k]) for k in part) for part in linked)
        told.lacks("ranking", "systems.disconnected", sets=sets, n=len(linked))
        return
    shown = decided["order"].map({AS_GIVEN: 0.0, SWAPPED: 1.0}).to_numpy(np.float64)
    placed = not np.isnan(shown).any()
    first = (
        np.where(shown == 0, *_sides(decided, names, np.ones(len(decided), dtype=bool)))
        if placed
        else None
    )
    found = _fitted(decided, names, options, first)
    labels = own.labels.dropna(subset=["label"]).assign(
        verdict=lambda frame: frame["label"]
    )
    labels = labels.join(
        rows.drop_duplicates("item").set_index("item")[["one", "other", "code"]],
        on="item",
        how="inner",
    )
    labels = labels[labels["verdict"].isin((0, 1))]
    people = _of_people(labels, names, told, options)
    table = []
    for place, name in enumerate(names):
        n = int((rows["one"] == name).sum() + (rows["other"] == name).sum())
        row: dict[str, Any] = {"system": name, "choices": n}
        for part, fit, prefix in (
            ("strength", found, ""),
            ("people", people, "people_"),
        ):
            if fit is not None:
                strength = fit.strengths[place]
                chance = strength.replace(
                    **{
                        end: float(special.expit(getattr(strength, end)))
                        for end in ENDS
                    }
                )
                told.number(chance, f"systems.{part}.{name}", unit="share")
                row |= chance.row(part, prefix)
                row |= dict(
                    zip(
                        (f"{prefix}best", f"{prefix}worst"),
                        fit.ranks[place],
                        strict=True,
                    )
                )
        table.append(row)
    strengths = pd.DataFrame(table).sort_values(
        "strength", ascending=False, ignore_index=True
    )
    told.table("systems.strengths", strengths, strength="share", people="share")
    counts: dict[str, Any] = {
        "pairs": len(found.differences),
        "separable": found.separable,
        "systems": len(names),
    }
    counts |= {
        "n": len(decided),
        "ties": ties,
        "order": _order(found, names),
        "level": options.level,
    }
    told.say("systems.choices_placed" if placed else "systems.choices", **counts)
    if people is not None:
        _both_told(
            found,
            people,
            told,
            order=_order(people, names),
            n=len(labels),
            level=options.level,
        )


def _fitted(
    rows: pd.DataFrame,
    names: Sequence[Any],
    options: CheckOptions,
    first: Array | None = None,
) -> BradleyTerry:
    """The strengths by choices without ties, all those of one item together counting as one."""
    weights = 1 / rows.groupby("item")["item"].transform("size").to_numpy(np.float64)
    codes = rows["code"].to_numpy()
    sides = _sides(rows, names, rows["verdict"].to_numpy() == 0)
    more: dict[str, Any] = {
        "first": first,
        "weights": weights,
        "groups": codes,
        "level": options.level,
    }
    return bradley_terry.fit(*sides, len(names), options.rng(), **more)


def _of_people(
    labels: pd.DataFrame, names: Sequence[Any], told: Told, options: CheckOptions
) -> BradleyTerry | None:
    """The strengths by people's own choices between the outputs that the judge chose between; None
    without labels, or where they do not link all systems, which is told."""
    if labels.empty:
        return None
    linked = bradley_terry.components(
        *_sides(labels, names, labels["verdict"].to_numpy() == 0), len(names)
    )
    if len(linked) > 1 or labels["code"].nunique() < 2:
        told.lacks(
            "people_ranking",
            "systems.people_unranked",
            n=len(labels),
            systems=len(names),
        )
        return None
    return _fitted(labels, names, options)


def _both_told(
    judge: BradleyTerry, people: BradleyTerry, told: Told, **values: Any
) -> None:
    """Whether the judge and people tell the same pairs of systems apart, the same way round."""
    ours, theirs = (
        np.array(
            [(one.low > 0) - (one.high < 0) for one in fit.differences.values()],
            dtype=int,
        )
        for fit in (judge, people)
    )
    counts = shown_by(ours, theirs)
    pairs = ours.size
    if np.array_equal(ours, theirs):
        told.say("systems.people_same", pairs=pairs, both=counts["both"], **values)
        return
    weight = Weight.LIMITS if counts["opposed"] else Weight.QUALIFIES
    told.say("systems.people_differ", weight=weight, pairs=pairs, **counts, **values)


def shown_by(judge: Array, people: Array) -> dict[str, Any]:
    """Count the pairs of systems that both show to differ, in the same direction or in opposite
    ones, or only one of the two; of each pair 1 or -1 says in which direction, 0 that it is open.
    """
    return {
        "both": int(np.sum(judge * people > 0)),
        "opposed": int(np.sum(judge * people < 0)),
        "judge": int(np.sum((judge != 0) & (people == 0))),
        "people": int(np.sum((judge == 0) & (people != 0))),
    }


def _order(found: BradleyTerry, names: Sequence[Any]) -> list[str]:
    return [str(names[k]) for k in np.argsort([-one.value for one in found.strengths])]


def _sides(rows: pd.DataFrame, names: Sequence[Any], first: Any) -> tuple[Array, Array]:
    """Places in `names` of the system numbered 1 where `first`, else 2, and of the other one."""
    place = {name: k for k, name in enumerate(names)}
    one, other = (
        rows[column].map(place).to_numpy(np.float64) for column in ("one", "other")
    )
    return np.where(first, one, other), np.where(first, other, one)


JUDGE_MEAN = Examination(
    "judge_mean",
    _examine_judge_mean,
    needs=("originals",),
    kinds=WITH_MEAN,
    fewest_groups=0,
    decides=False,
    lacks={"kinds": ""},
)
CORRECTED_MEAN = Examination(
    MEAN,
    _examine_mean,
    needs=("labels",),
    kinds=WITH_MEAN,
    fewest_groups=0,
    lacks={"unordered": "systems.unordered", "kinds": ""},
)
RANKING = Examination(
    "ranking",
    _examine_ranking,
    needs=("originals", "systems"),
    kinds=("pairwise",),
    fewest_groups=0,
    lacks={"kinds": "", "systems": "systems.no_systems"},
)
