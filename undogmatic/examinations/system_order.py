"""Tells whether a judge puts the systems in the order in which people put them, and from what
difference on two systems' mean verdicts can be trusted without people."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from undogmatic.examinations.systems import WITH_MEAN, Means, present, shown_by
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Finding, Told, Weight
from undogmatic.stats import systems
from undogmatic.stats.checks import Array
from undogmatic.stats.corrected import Corrected, Design, Judged, mean

FEWEST = 3
"""Two systems are one difference, which the corrected means tell."""
MOST = 60


@dataclass(frozen=True)
class _BySystem:
    """The means of each system, in the same order: the judge's, people's, and of verdict less
    label."""

    judge: Sequence[Corrected]
    people: Sequence[Corrected]
    offsets: Sequence[Corrected]


def _examine_order(own: JudgeView, told: Told, options: CheckOptions) -> None:
    """Tell how judge and people order the systems that have labels."""
    told_means = own.once(Means, options)
    labelled = _with_labels(told_means)
    names = [] if labelled is None else present(labelled[1])
    if labelled is None or not FEWEST <= len(names) <= MOST:
        return
    judged, of_system = labelled
    # Items of which it is not known how they were chosen speak for themselves alone.
    known = own.table.selection != "unknown" and not np.isfinite(judged.labels).all()
    design: Design = own.table.selection if known else "all"  # type: ignore[assignment]
    pairs = len(names) * (len(names) - 1) // 2
    strict = 1 - (1 - options.level) / pairs
    parts = [judged.of(of_system == name) for name in names]
    enough = [_means(part, design, told_means.bounds, strict) for part in parts]
    kept = [one for one in enough if all(part.estimate is not None for part in one)]
    if len(kept) < FEWEST:
        return
    by_system = _BySystem(*(list(part) for part in zip(*kept, strict=True)))
    _tell(by_system, told, options, told_means.unit == "share")


def _with_labels(given: Means) -> tuple[Judged, Array] | None:
    """The items that count, and the system of each; None where no system is named or no item has a
    label."""
    if given.systems is None or np.isnan(given.judged.labels).all():
        return None
    judged, of_system = given.judged, np.asarray(given.systems)
    if given.own.table.selection != "unknown":
        return judged, of_system
    labelled = ~np.isnan(judged.labels)
    return judged.of(labelled), of_system[labelled]


def _means(
    part: Judged, design: Design, bounds: tuple[float, float] | None, level: float
) -> tuple[Corrected, Corrected, Corrected]:
    """The judge's mean, people's, and the mean of verdict less label."""
    offsets = part.verdicts - part.labels
    span = None if bounds is None else bounds[1] - bounds[0]
    around = None if span is None else (-span, span)
    return (
        mean(part._replace(labels=part.verdicts), "all", bounds, level),
        mean(part, design, bounds, level),
        mean(part._replace(labels=offsets), design, around, level),
    )


def _tell(found: _BySystem, told: Told, options: CheckOptions, share: bool) -> None:
    ours = systems.directions(found.judge)
    theirs = systems.directions(found.people)
    smallest = systems.smallest_difference(found.offsets)
    means = np.array(
        [one.estimate.value for one in found.judge if one.estimate is not None]
    )
    first, second = np.triu_indices(means.size, 1)
    trusted = int(np.sum(np.abs(means[first] - means[second]) > smallest))
    told.number(smallest, "system_order.smallest", unit="amount")
    about: dict[str, Any] = {
        "systems": means.size,
        "pairs": ours.size,
        "smallest": _amount(smallest, share),
        "level": options.level,
    }
    if not (ours.any() or theirs.any() or trusted):
        told.say("system_order.none_differ", **about)
    else:
        about |= shown_by(ours, theirs)
        weight = Weight.LIMITS if about["opposed"] else Weight.QUALIFIES
        if trusted:
            told.say("system_order.trusted", weight=weight, trusted=trusted, **about)
        else:
            told.say("system_order.none_trusted", weight=weight, **about)
    if not theirs.any():
        return
    rank = systems.rank_correlation(
        found.judge, found.people, options.rng(), options.level
    )
    if rank is not None:
        told.number(rank, "system_order.tau")
        told.say(
            "system_order.tau",
            level=options.level,
            systems=means.size,
            **rank.values("tau"),
        )


def _amount(by: float, share: bool) -> Finding:
    """A difference of two means, of shares in items of a hundred."""
    if share:
        return Finding("system_order.in_hundred", {"by": 100 * by})
    return Finding("system_order.amount", {"by": by})


SYSTEM_ORDER = Examination(
    "system_order",
    _examine_order,
    needs=("labels", "systems"),
    kinds=WITH_MEAN,
    fewest_groups=0,
    lacks={"unordered": "", "kinds": "", "systems": ""},
)
