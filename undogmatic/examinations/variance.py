"""Divides the variance of scores and of people's labels by its sources, and says how many of which
to average."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.examinations.base import (
    Limited,
    Runs,
    Share,
    Unsuited,
    columns,
    from_cache,
    listed,
)
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.variance import (
    VARIANCE,
    VARIANCE_OF_PEOPLE,
    VarianceFacts,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.truth import check_order, differing, read_runs
from undogmatic.records.results import Finding, Told, metric_name
from undogmatic.stats.estimate import Unit
from undogmatic.stats.variance import FEWEST_GROUPS, ITEM, MOST_FACETS, Study

COMPONENT_UNITS: dict[str, Unit] = {"share": "share"}
"""Of the columns of a table of components."""
_UNITS: dict[str, Unit] = {"share": "share", "needed": "count"}
TARGET = 0.8
AVERAGED = (1, 2, 3, 5, 10)
FEW_LEVELS = 5
"""A facet with fewer values says little of the values that it might have had."""
FEWEST_LEVELS = 3
"""With fewer values of a facet, how many would have to be averaged is not told."""
LEAST_SHARE = 0.005
"""A smaller share of the variance is none."""
NAMED = (
    "judge",
    "repeat",
    "rater",
    "model",
    "prompt",
    "readout",
    "run",
    "seed",
    "arm",
    "prompt.demo_order",
)
"""Facets that have a name in words; of any other setting its values are spoken of."""


class Divided(NamedTuple):
    """What a study of scores yields; without one (nothing crossed, too few items, all equal) a
    finding says why."""

    study: Study | None
    table: pd.DataFrame
    findings: list[Finding]


@dataclass(frozen=True)
class VarianceAnalysis(Limited):
    """Judges and repeats of this run, or this run and others over the same items by what they were
    set to; and raters, where several people labelled the same items.

    With `against`, the first repeat counts. The facets are the settings in which the runs differ,
    if the runs cross them in full; otherwise each run is a value of one facet.

    Args:
        against: Folders of other runs over the same items.
        target: The reliability that is wanted.
        level: Confidence level of every interval.
    """

    name: ClassVar[str] = "variance"
    long: ClassVar[bool] = True
    against: Runs = ()
    target: Share = TARGET
    level: Share = 0.95

    def check(self, judged: RunEvidence) -> None:
        """Raises Unsuited with one judge, one repeat, no other run and no second rater, else as
        `read_runs`."""
        check_order(self.name, judged.rubric)
        several = judged.frame.groupby("criterion")[["judge"]].nunique().max().max() > 1
        raters = judged.labels.groupby(["item", "criterion"]).size()
        people = bool((raters > 1).any())
        if not (several or judged.repeats or self.against or people):
            raise Unsuited(
                "analysis=variance divides what repeats, judges or settings make of the same texts,"
                " and this run has one score per text. Set run.repeats=3, give several judges"
                " ('judges=[score,debate]'), name other runs over the same dataset"
                " (analysis.against=[outputs/DATE/TIME]), or sweep over what is to vary: its report"
                " has the table. Labels of several raters per text (labels.overall.NAME) are"
                " divided, too."
            )
        for part in judged.parts().values():
            read_runs(part, self.against)

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        """One result; headline `variance.phi` of the first criterion."""
        self.check(judged)
        tell, criteria = Told(self.name), judged.frame["criterion"].unique()
        sentence = None
        for criterion in criteria:
            of_criterion = judged.frame[
                judged.frame["criterion"] == criterion
            ].reset_index(drop=True)
            before = [str(criterion)] if len(criteria) > 1 else []
            scores, facets, notes = self._scores(judged.with_rows(of_criterion))
            divided = {"": of_scores(scores, facets, self.target, self.level)}
            if before:
                tell.say("criterion", criterion=criterion)
            people = _labels(judged, str(criterion))
            if people is None or any(scores[facet].nunique() > 1 for facet in facets):
                tell.findings += [*notes, *divided[""].findings]
            if people is not None:
                divided["people"] = of_scores(
                    people, ["rater"], self.target, self.level
                )
                tell.say("people", n=people["rater"].nunique())
                tell.findings += divided["people"].findings
            for whose, (study, table, _) in divided.items():
                if study is None:
                    continue
                kind = f"{whose}_" if whose else ""
                components = metric_name(f"{kind}components", *before)
                tell.table(components, table, **COMPONENT_UNITS)
                # Reliability by how many values of one facet are averaged, the others counting
                # once.
                averaged = [
                    (f, n, study.reliability({f: n}))
                    for f in study.facets
                    for n in AVERAGED
                ]
                tell.tables[metric_name(f"{kind}averaged", *before)] = pd.DataFrame(
                    {"facet": facet, "n": n}
                    | r.phi.values("phi", "phi_")
                    | r.relative.values("relative", "relative_")
                    for facet, n, r in averaged
                )
                one, after = study.reliability({}), [whose] if whose else []
                numbers: dict[tuple[str, ...], Any] = {
                    ("phi",): one.phi,
                    ("relative",): one.relative,
                }
                numbers["phi_of_all",] = study.reliability().phi.value
                shares = zip(
                    table["source"].str.replace(" × ", "-"), table["share"], strict=True
                )
                numbers |= {("share", source): float(share) for source, share in shares}
                needed = {
                    facet: study.needed(facet, self.target) for facet in study.facets
                }
                numbers |= {
                    ("needed", f): None if _few(study, {f: n or 1}) else n
                    for f, n in needed.items()
                }
                for name, value in numbers.items():
                    unit = _UNITS.get(name[0], "")
                    tell.number(value, *before, *name, *after, unit=unit)
                # The first criterion answers, and of it the scores before the labels;
                # each of the others has its numbers and tables.
                if sentence is None:
                    design = study.cheapest(self.target)
                    few = {
                        facet: study.levels[study.facets.index(facet)]
                        for facet in _few(study, design or {})
                    }
                    of = scores if people is None or not whose else people
                    names = [
                        str(name)
                        for facet in few
                        if facet in of
                        for name in of[facet].unique()
                    ]
                    facts = VarianceFacts(
                        phi=one.phi,
                        level=study.level,
                        groups=study.n_groups,
                        target=self.target,
                        design=None if design is None else _several(design),
                        few=_several(few) if few else None,
                        names=names,
                    )
                    sentence = verdict(
                        VARIANCE_OF_PEOPLE if whose else VARIANCE, facts
                    ).finding
                    data = columns(
                        table,
                        labels="source",
                        estimate="variance",
                        low="low",
                        high="high",
                    )
                    tell.draw("components", "forest", **data, x_label="variance")
        headline = next(
            (key for key in tell.metrics if key.endswith((".phi", ".phi.people"))), None
        )
        return [tell.result(sentence, headline=headline)]

    def _scores(
        self, judged: RunEvidence
    ) -> tuple[pd.DataFrame, list[str], list[Finding]]:
        """Scores with their facets, and what is to be said of how they were put together."""
        frame = judged.frame
        if not self.against:
            again = frame[frame["repeat"] > 0]
            cached = int(from_cache(again).sum())
            notes = (
                [Finding("variance.cached", {"n": cached, "total": len(again)})]
                if cached
                else []
            )
            return frame, ["judge", "repeat"], notes
        rows = []
        for part in judged.parts().values():
            first = part.first().set_index("item_id")
            voices = {judged.name: (first["score"], judged.set_to)}
            voices |= {
                run.name: (run.scores, run.settings)
                for run in read_runs(part, self.against)
            }
            changed = differing([settings for _, settings in voices.values()])
            for run, (scores, settings) in voices.items():
                facets = {key: str(settings.get(key)) for key in changed}
                of_run = first[["group", "judge"]].assign(
                    run=run, score=scores.reindex(first.index), **facets
                )
                rows.append(of_run.reset_index())
        table = pd.concat(rows, ignore_index=True)
        names = [
            key
            for key in table
            if key not in ("item_id", "group", "judge", "run", "score")
        ]
        if "judge" not in names and table["judge"].nunique() > 1:
            names.append("judge")
        if _crossed(table, names):
            return table, names, []
        as_one = Finding(
            "variance.runs_as_one", {"facets": names, "runs": table["run"].nunique()}
        )
        return table, ["run", "judge"], [as_one] if names else []


def of_scores(
    frame: pd.DataFrame,
    facets: Sequence[str],
    target: float = TARGET,
    level: float = 0.95,
) -> Divided:
    """Where the variance of scores comes from.

    Args:
        frame: A row per score: columns `item_id`, `group`, `score` (NaN: failed) and one per facet.
        facets: Columns that say under what a score was given. Those with one value are left out,
            and those that change only together count as one.
        target: The reliability that is wanted.
    Returns:
        The table has a row per component: source, share (of the variance of one score), sd (score
            units), variance with
        its limits, degrees (of freedom). Items that lack a score under some combination are left
        out whole.
    """
    tell = Told("variance")
    study = _study(tell, frame, facets, level)
    if study is None:
        return Divided(None, pd.DataFrame(), tell.findings)
    _tell_sources(tell, study, target)
    rows = [
        {
            "source": " × ".join(c.source),
            "share": c.share,
            "sd": math.sqrt(c.variance.value),
        }
        | c.variance.row("variance")
        | {"degrees": c.degrees}
        for c in study.components()
    ]
    return Divided(study, pd.DataFrame(rows), tell.findings)


def _study(
    tell: Told, frame: pd.DataFrame, facets: Sequence[str], level: float
) -> Study | None:
    """The study of the items that have a score under every combination; None, and a sentence says
    why, without one."""
    table, named = _together(frame, [f for f in facets if frame[f].nunique() > 1])
    if not named:
        tell.say("nothing_varies")
        return None
    if len(named) > MOST_FACETS:
        tell.say("too_many", n=len(named), most=MOST_FACETS)
        return None
    if not _crossed(table, named):
        needed = math.prod(table[f].nunique() for f in named)
        tell.say(
            "not_crossed",
            facets=named,
            there=len(table[named].drop_duplicates()),
            needed=needed,
        )
        return None
    wide = table.set_index(["item_id", *named])["score"].unstack(named)
    levels = [list(dict.fromkeys(table[f])) for f in named]
    combinations = list(itertools.product(*levels)) if len(named) > 1 else levels[0]
    # Items are left out whole: the mean squares are those of a full table, and an item
    # with a gap would count in some of them and not in others.
    whole = wide.reindex(columns=combinations).dropna()
    groups = (
        table.drop_duplicates("item_id")
        .set_index("item_id")["group"]
        .reindex(whole.index)
    )
    if len(whole) < len(wide):
        tell.say("left_out", n=len(wide) - len(whole), total=len(wide))
    if groups.nunique() < FEWEST_GROUPS:
        tell.say("too_few", n=len(whole), groups=groups.nunique(), needed=FEWEST_GROUPS)
        return None
    cells = whole.to_numpy(dtype=np.float64).reshape(-1, *map(len, levels))
    study = Study(cells, named, groups=groups, level=level)
    if study.constant:
        tell.say("constant", n=len(whole))
    return None if study.constant else study


def _labels(judged: RunEvidence, criterion: str) -> pd.DataFrame | None:
    """What each rater said of each item, in the columns that `of_scores` reads; None with fewer
    than two raters."""
    labels = judged.labels[judged.labels["criterion"] == criterion]
    if labels["rater"].nunique() < 2:
        return None
    table = labels.rename(columns={"item": "item_id", "label": "score"}).reset_index(
        drop=True
    )
    return table.assign(group=table["item_id"].map(judged.groups))


def _together(
    frame: pd.DataFrame, facets: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Facets that change only together as one, named after all of them."""
    kept: list[list[str]] = []
    for facet in facets:
        for names in kept:
            pairs = frame[[names[0], facet]].drop_duplicates()
            # Two settings that always change together cannot be told apart by any
            # analysis: they are one facet under both names.
            if len(pairs) == frame[names[0]].nunique() == frame[facet].nunique():
                names.append(facet)
                break
        else:
            kept.append([facet])
    return frame.rename(columns={names[0]: " + ".join(names) for names in kept}), [
        " + ".join(names) for names in kept
    ]


def _crossed(frame: pd.DataFrame, facets: Sequence[str]) -> bool:
    """Whether there is a row for each item under every combination of the facets' values, and only
    one."""
    varied = [f for f in facets if frame[f].nunique() > 1]
    if not varied or frame.duplicated(["item_id", *varied]).any():
        return False
    return len(frame[varied].drop_duplicates()) == math.prod(
        frame[f].nunique() for f in varied
    )


def _tell_sources(tell: Told, study: Study, target: float) -> None:
    """Say where the variance comes from, how reliable a score is, and how many of what to
    average."""
    item, *others = components = study.components()
    values: dict[str, Any] = {
        "n": study.n_items,
        "groups": study.n_groups,
        "item": item.share,
    }
    for place, other in zip(
        ("first", "second"),
        sorted(others, key=lambda c: -c.variance.value),
        strict=False,
    ):
        values |= {
            place: _source(other.source, other is others[-1]),
            f"{place}_share": other.share,
        }
    # A source of 0% is no source, and a sentence that names one makes the reader look
    # for it.
    if values["second_share"] < LEAST_SHARE:
        del values["second"], values["second_share"]
    tell.say("sources" if "second" in values else "sources_one", values)
    one, all_ = study.reliability({}), study.reliability()
    values = one.phi.values("phi", "phi_") | {
        "phi_all": all_.phi.value,
        "level": study.level,
    }
    same = math.isclose(one.phi.value, one.relative.value) and math.isclose(
        all_.phi.value, all_.relative.value
    )
    if not same:
        values |= one.relative.values("relative", "relative_") | {
            "relative_all": all_.relative.value
        }
    tell.say(
        "reliability_same" if same else "reliability",
        values,
        scores=math.prod(study.levels),
    )
    for facet in study.facets:
        n = study.needed(facet, target)
        order = study.needed(facet, target, absolute=False)
        told = {"facet": _facet(facet), "target": target, "n": n, "order": order}
        if n is None:
            tell.say("needed_none" if order is None else "needed_order", told)
        elif n > 1 and not _few(study, {facet: n}):
            tell.say("needed", told)
    design = study.cheapest(target)
    if design is None:
        tell.say("cheapest_none", target=target)
    elif sum(n > 1 for n in design.values()) > 1:
        tell.say(
            "cheapest",
            target=target,
            design=_several(design),
            scores=math.prod(design.values()),
        )
    negative = [" × ".join(c.source) for c in components if c.estimated < 0]
    if negative:
        tell.say("negative", n=len(negative), names=negative)
    few = {
        f: n for f, n in zip(study.facets, study.levels, strict=True) if n < FEW_LEVELS
    }
    if few:
        tell.say("few_levels", facets=_several(few))


def _few(study: Study, counts: Mapping[str, int]) -> list[str]:
    """The facets of which several are to be averaged and only two are there, from which nobody
    knows how far others would differ; repeats are drawn alike, so that two on many texts tell it.
    """
    levels = dict(zip(study.facets, study.levels, strict=True))
    return [
        facet
        for facet, n in counts.items()
        if n > 1 and facet != "repeat" and levels[facet] < FEWEST_LEVELS
    ]


def _facet(name: str) -> Finding:
    """A facet in words, such as "judges" or "values of `model.temperature`"."""
    if name in NAMED:
        return Finding("variance.facet", {"name": name})
    return Finding("variance.values", {"setting": name})


def _source(source: Sequence[str], chance: bool) -> Finding:
    """A source of variance in words; the last of all has `chance` in it."""
    facets = listed([_facet(name) for name in source if name != ITEM])
    key = "variance.source_texts" if ITEM in source else "variance.source_all"
    return Finding(key, {"facets": facets, "chance": chance})


def _several(counts: Mapping[str, int]) -> Finding:
    """How many of each facet, where it is more than one, in words: "3 judges and 2 repeats"."""
    several = {facet: n for facet, n in counts.items() if n > 1} or counts
    return listed(
        [
            Finding("variance.several", {"n": n, "facet": _facet(facet)})
            for facet, n in several.items()
        ]
    )
