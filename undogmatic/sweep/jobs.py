"""Reads the folders of a sweep's jobs: settings, scores, metrics, and why a job has no result; and
keeps what a search notes of its trials (`search.json`).

A job with several judges, or a judge of several criteria, is read as if each of these had been a
job by itself. Of an optimisation only the program that it came to is: what it began with is judged
to be compared with that, in its report.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from undogmatic.config.build import build
from undogmatic.errors import DataError, UndogmaticError
from undogmatic.examinations.compared import FOLLOWS, ITEM_COLUMNS, OF_NUMBERS, PAIRED
from undogmatic.examinations.costs import per_item, spent
from undogmatic.examinations.improvement import AFTER
from undogmatic.examinations.of_run import kept_evidence
from undogmatic.records.evidence import AS_GIVEN, SWAPPED, Evidence, JudgeView
from undogmatic.records.own_scale import OwnScale
from undogmatic.records.records import OVERALL, Judgment, LabelScale, Verdict
from undogmatic.records.results import STANDINGS, part_names
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import PROGRAM, SCORES, RunFolder
from undogmatic.safety import files
from undogmatic.safety.command import ERROR_FILE
from undogmatic.safety.outside import read_text
from undogmatic.stats.compare import front
from undogmatic.stats.estimate import Unit

SCORED = ("score", "pair_id", "group", "condition", "label", "seconds")
"""The score is NaN where it failed; `group` is the independent unit; `seconds` that the judgment
took, NaN where the cache had part in it."""
SURENESS = ("low", "high", "confidence", "doubt", "uncertainty", "distribution")
"""What a verdict says of how sure it is of its score; None where it says nothing of that."""
Voice = tuple[str, str]  # a judge and a criterion


@dataclass(frozen=True)
class Job:
    """One job of a sweep, or of such a job what one judge says on one criterion."""

    number: int  # its place in the sweep, and the name of its folder
    # what was set for it on the command line, key -> value
    overrides: Mapping[str, str]
    # as composed, {} if it was not; only the rubric's parts are resolved
    config: Mapping[str, Any] = field(repr=False)
    # its `run.json`; {} if it did not get that far
    facts: Mapping[str, Any] = field(repr=False)
    # its `metrics.json`; {} without a result
    metrics: Mapping[str, float] = field(repr=False)
    scores: pd.DataFrame = field(repr=False)  # columns SCORED by item (index, unique)
    # "stopped" can be continued: budget, server, kill
    status: Literal["finished", "stopped", "failed"]
    message: str | None = None  # why it has no result
    # columns SURENESS by item
    sureness: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)
    # What `analysis=calibration` says of each item (its `items_calibration.csv` by `item_id`);
    # empty without.
    items: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)
    # Each verdict of a category beside the label of each rater, as its answer was made of them:
    # columns PAIRED and `unit`. Empty where its headline is of numbers, or of no labels.
    pairs: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)
    # What a judgment took on average, all repeats (`examinations.costs.per_item`).
    costs: Mapping[str, float] = field(repr=False, default_factory=dict)
    judge: str = ""  # whose scores these are
    criterion: str = OVERALL  # and of what
    # judge, or judge and criterion, by which it is known in its job; "" if there is no other
    part: str = ""
    # The scale that its scores, labels and metrics are on, where that is not the rubric's.
    own: OwnScale | None = None

    @cached_property
    def asked(self) -> Rubric:
        """The rubric it judged by. Raises ConfigError or DataError where its config holds none."""
        rubric: Rubric = build(dict(self.config["rubric"]), "rubric")
        return rubric

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric on the scale that its scores are on here."""
        return self.asked if self.own is None else self.own.rubric(self.asked)

    @property
    def levels(self) -> list[float]:
        """The levels of the rubric on the scale that its scores are on here."""
        levels = self.asked.levels
        return sorted(levels if self.own is None else map(self.own.score, levels))

    @property
    def label_scale(self) -> OwnScale | None:
        """The scale on which people gave its labels, where it is not the rubric's and has
        numbers."""
        noted = self.facts.get("label_scale")
        given = None if noted is None else LabelScale.model_validate(noted)
        own = OwnScale.of(given, self.asked)
        return own if own is not None and own.counts else None

    def in_grades(self, own: OwnScale) -> Job:
        """The same on the scale of the labels; how sure it is of its scores stays as it said it."""
        return replace(
            self,
            own=own,
            scores=own.rows(self.scores),
            items=_items_in_grades(self.items, own),
            metrics=self._metrics_in_grades(own),
        )

    def _metrics_in_grades(self, own: OwnScale) -> dict[str, float]:
        """Its numbers on the scale of the labels, of which an analysis may have told some in grades
        already."""
        told = tuple(f"{name}." for name in self.facts.get("graded") or ())
        own_told = (*told, *(name.removeprefix(f"{self.part}.") for name in told))
        # By the unit that whoever computed a number gave it, and never by its name.
        changes: dict[Unit, Callable[[float], float]] = {
            "score": own.score,
            "amount": own.amount,
            "change": own.change,
        }
        units, metrics = self.units, dict(self.metrics)
        for name, value in self.metrics.items():
            change = changes.get(units.get(name, ""))
            if change is None or name.startswith(own_told):
                continue
            placed = name
            if own.turned and change != own.amount:  # the lower end is the other one
                placed = _other_end(name)
            metrics[placed] = change(value)
        return metrics

    @cached_property
    def judged(self) -> tuple[Any, ...]:
        """What was judged, texts included, for which criterion and on which scale."""
        ends = self.rubric.minimum, self.rubric.maximum
        return (
            self.facts.get("dataset_digest"),
            self.criterion,
            *ends,
            {*self.scores.index},
        )

    @property
    def standings(self) -> dict[str, str]:
        """How its own verdicts left the judge, by analysis: "supported", "refuted" or "undecided";
        {} if none was noted."""
        front, noted = f"{self.part}.", self.facts.get("standing") or {}
        of_part = {
            name.removeprefix(front): standing
            for name, standing in noted.items()
            if name.startswith(front)
        }
        # A run with several judges notes the answer of each; a job is one of them.
        return of_part or {
            name: standing for name, standing in noted.items() if "." not in name
        }

    @property
    def units(self) -> dict[str, Unit]:
        """The units of its metrics, of those that have one."""
        front, noted = f"{self.part}.", self.facts.get("units") or {}
        own = {name: unit for name, unit in noted.items() if name.startswith(front)}
        return noted | {name.removeprefix(front): unit for name, unit in own.items()}

    @property
    def standing(self) -> str | None:
        """The worst of its standings: a judge is supported if all its verdicts say so."""
        return worst(self.standings)[0]


def _other_end(name: str) -> str:
    """The name of the other end of an interval; of what is no end the same."""
    for end, other in (("_low", "_high"), ("_high", "_low")):
        if name.endswith(end):
            return name.removesuffix(end) + other
    return name


def _items_in_grades(items: pd.DataFrame, own: OwnScale) -> pd.DataFrame:
    """What `analysis=calibration` says of each item, on the scale of the labels."""
    scores = {
        name: own.score(items[name]) for name in ("score", "truth") if name in items
    }
    sizes = {
        name: own.change(items[name]).abs()
        for name in ("error", "width", "interval_score")
        if name in items
    }
    return items.assign(**scores, **sizes)


def worst(standings: Mapping[str, str]) -> tuple[str | None, list[str]]:
    """The worst of standings by analysis, None if none was noted; and the analyses that came to
    it."""
    least = next(
        (standing for standing in STANDINGS if standing in standings.values()), None
    )
    return least, [
        analysis for analysis, standing in standings.items() if standing == least
    ]


def read_jobs(folder: Path) -> list[Job]:
    """The jobs of a sweep's folder by number, one per judge and criterion of each. A job that never
    began has no folder and is not among them.

    Where the jobs judged by several rubrics, the rubric's name is part of the criterion: what is
    high on one says nothing of another.
    """
    # By number and not by name, or job 10 would stand before job 2.
    numbers = sorted(
        int(p.name) for p in folder.iterdir() if p.is_dir() and p.name.isdigit()
    )
    jobs = [
        job
        for number in numbers
        for job in _read(RunFolder(folder / str(number)), number)
    ]
    names = {
        n: job.rubric.name for n, job in enumerate(jobs) if job.status == "finished"
    }
    for n, name in names.items() if len({*names.values()}) > 1 else ():
        criterion = jobs[n].criterion
        jobs[n] = replace(
            jobs[n], criterion=name if criterion == OVERALL else f"{name}.{criterion}"
        )
    # Jobs are compared on one scale. Grades of people on several have none in common
    # but the rubric's.
    scales = {job.label_scale for job in jobs if job.status == "finished"}
    own = scales.pop() if len(scales) == 1 else None
    # People who gave 1 to 5 are told of 1 to 5; where they gave several scales, of the rubric's.
    return jobs if own is None else [_told_in(own, job) for job in jobs]


def _told_in(own: OwnScale, job: Job) -> Job:
    return job.in_grades(own) if job.status == "finished" else job


def _read(folder: RunFolder, number: int) -> list[Job]:
    # A job that cannot be read is in the report as failed: one that was left out would
    # make the others look like all.
    job = Job(number, {}, {}, {}, {}, pd.DataFrame(), "failed")
    try:
        # A kill may have come before any of these was written.
        message = (
            read_text(folder.path / ERROR_FILE).strip()
            if folder.has(ERROR_FILE)
            else None
        )
        overrides = dict(
            word.lstrip("+~").partition("=")[::2] for word in folder.overrides
        )
        job = replace(job, message=message, overrides=overrides, config=folder.composed)
        job = replace(job, facts=folder.facts)
        status = job.facts.get("status")
        if message is not None:
            return [replace(job, status="stopped")] if status == "stopped" else [job]
        # A kill leaves no message.
        if status != "finished":
            return [
                replace(
                    job,
                    status="stopped",
                    message="it did not come to its end (killed?)",
                )
            ]
        job = replace(
            job,
            config={**job.config, "rubric": folder.section("rubric")},
            status="finished",
        )
        assert job.rubric, "what cannot be built is said here"
        table, voices = folder.table(SCORES), list(folder.voices())
        if "judge" in table:  # also one that came to no item, because a step had failed
            voices = list(
                table[["judge", "criterion"]]
                .drop_duplicates()
                .itertuples(index=False, name=None)
            )
        # an optimisation: what all but its own comparison is of
        if folder.has(PROGRAM):
            voices = [voice for voice in voices if voice[0] == AFTER]
        if any(criterion == AS_GIVEN for _, criterion in voices):
            # A choice in one order is half of what a judge of two outputs says, and no criterion.
            voices = [voice for voice in voices if voice[1] not in (AS_GIVEN, SWAPPED)]
        names = part_names(voices)
        headline = _headline(job, names)
        job = replace(job, facts={**job.facts, "headline": headline})
        # Read only where the headline is of categories, whose pairs are compared by
        # kappa; numbers are compared by their scores.
        evidence = None
        if headline in FOLLOWS and headline != OF_NUMBERS:
            evidence = kept_evidence(folder.path)
        return [_part(folder, job, voice, names, table, evidence) for voice in names]
    except UndogmaticError as damage:
        return [replace(job, status="failed", message=str(damage))]


def _headline(job: Job, names: Mapping[Voice, str]) -> str | None:
    """The headline of a run without the name of the judge that it is of: all its judges are ranked
    by it, each by its own number."""
    headline = job.facts.get("headline")
    fronts = (f"{name}." for name in names.values() if name)
    front = next((front for front in fronts if str(headline).startswith(front)), "")
    return None if headline is None else str(headline).removeprefix(front)


def _beside_labels(own: JudgeView, rubric: Rubric) -> pd.DataFrame:
    """Each verdict beside the label of each rater, by item, order shown and rater: `Job.pairs`.

    Which categories a run's evidence numbers in which order hangs on which occur in it, where they
    have no order; here they have the places that the rubric gives them, in every job of a sweep.
    """
    pairs = own.pairs().rename(columns={"group": "unit"})
    if own.table.kind == "unordered":
        places = np.array([rubric.scale.read(name) for name in own.table.categories])
        for column in ("verdict", "label"):
            pairs[column] = places[pairs[column].to_numpy(dtype=np.intp)]
    keys = ["item", "order", "rater"]
    pairs["order"] = pairs["order"].fillna("")
    pairs["again"] = pairs.groupby(keys, sort=False).cumcount()
    return pairs.set_index([*keys, "again"])[[*PAIRED, "unit"]]


def _part(
    folder: RunFolder,
    job: Job,
    voice: Voice,
    names: Mapping[Voice, str],
    table: pd.DataFrame,
    evidence: Evidence | None,
) -> Job:
    """One of the jobs as which a finished one with this table of scores is read."""
    (judge, criterion), part = voice, names[voice]
    # What a judge of several criteria took is noted with the first of them.
    payer = next(pair for pair in names if pair[0] == judge)
    costs = spent(j for j in folder.judgments if (j.judge, j.criterion) == payer)
    scores, paid = (
        folder.of_voice(SCORES, table, judge=pair[0], criterion=pair[1])
        for pair in (voice, payer)
    )
    labels = folder.labels(*voice)
    cached = costs.loc[(costs["repeat"] == 0) & (costs["cached"] > 0), "item_id"]
    seconds = paid.reindex(columns=["seconds"])["seconds"]
    scores["seconds"] = seconds.mask(seconds.index.isin(cached))
    scores = (scores if labels is None else scores.join(labels["label"])).reindex(
        columns=list(SCORED)
    )
    if scores["group"].isna().any():
        raise DataError(
            f"{folder.named}: its {SCORES} cannot be read (an item without `group`). Repeat that"
            " run."
        )
    doubts = f"items_{part}.calibration.csv" if part else "items_calibration.csv"
    items = folder.by_id(doubts, ITEM_COLUMNS) if folder.has(doubts) else pd.DataFrame()
    metrics = dict(folder.metrics)
    if part or len(folder.voices()) > 1:
        # Its own metrics are called as by an analysis that reads one judge and criterion; those of
        # all together stay.
        fronts = tuple(f"{name}." for name in names.values() if name)
        judged = sum(
            (j.judge, j.criterion) == voice and isinstance(j.outcome, Verdict)
            for j in folder.judgments
        )
        asked = len(scores) * (1 + max((j.repeat for j in folder.judgments), default=0))
        of_part = {
            key.removeprefix(f"{part}."): value
            for key, value in metrics.items()
            if key.startswith(f"{part}.")
        }
        metrics = {
            key: value
            for key, value in metrics.items()
            if "." in key and not key.startswith(fronts)
        } | of_part
        metrics |= {
            "judged": judged,
            "failed": asked - judged,
            "calls_cached": int(costs["cached"].sum()),
        }
        metrics |= (
            {"usd": float(costs["usd"].sum())} if costs["usd"].notna().all() else {}
        )
    job = replace(job, judge=judge, criterion=criterion, part=part, metrics=metrics)
    sureness = _sureness(
        j for j in folder.judgments if (j.judge, j.criterion) == voice and j.repeat == 0
    )
    known = {"scores": scores, "items": items, "sureness": sureness}
    if evidence is not None:
        known["pairs"] = _beside_labels(evidence.of(*voice), job.rubric)
    return replace(job, costs=per_item(costs), **known)


def _sureness(judgments: Iterable[Judgment]) -> pd.DataFrame:
    """How sure the verdicts among these judgments are of their scores, by item."""
    rows = {}
    for judgment in judgments:
        verdict = judgment.outcome
        if isinstance(verdict, Verdict):
            known = verdict.row()
            told = (
                None
                if verdict.distribution is None
                else verdict.distribution.probabilities
            )
            rows[judgment.item_id] = {name: known.get(name) for name in SURENESS} | {
                "distribution": told
            }
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(SURENESS))


SEARCH = "search.json"
FINAL = "final"  # the folder of the winner's run, beside those of the trials
PRUNING = "pruning"
COSTS = ("calls", "tokens", "seconds", "usd")
State = Literal["waiting", "complete", "pruned", "failed"]


class Trial(BaseModel):
    """One point of the space."""

    model_config = ConfigDict(extra="forbid")
    number: int = Field(ge=0)  # the name of its folder
    params: dict[str, str | int | float]  # key -> value
    state: State = "waiting"  # until its job has ended
    values: list[float] = []  # the objectives, in their order; empty without a result
    # the headline by the number of texts it was judged on, before all of them were
    rungs: dict[int, float] = {}
    why: str | None = None  # it has no result


class SearchState(BaseModel):
    """`search.json`: what is searched, and how far it has come."""

    model_config = ConfigDict(extra="forbid")
    space: dict[str, str]
    objectives: list[str]
    search: list[str]
    final: list[str]
    seed: int
    trials: list[Trial] = []
    winner: int | None = None
    looks: int | None = (
        None  # the number of the winner's look at its test texts (`optimize.splits`)
    )
    stopped_by: str | None = None

    def ranked(self) -> list[Trial]:
        """The complete trials, best quality first; of equals the cheaper, then the earlier."""
        done = [trial for trial in self.trials if trial.state == "complete"]
        return sorted(done, key=lambda t: (-t.values[0], *t.values[1:], t.number))

    def front(self) -> list[Trial]:
        """The complete trials that no other one beats in one of two objectives without losing in
        the other."""
        done = self.ranked()
        kept = front(*np.array([trial.values for trial in done]).T)
        return [trial for trial, unbeaten in zip(done, kept, strict=True) if unbeaten]

    def write(self, folder: Path) -> None:
        """Keep how far the search has come; the file is whole at any moment."""
        files.write(
            folder / SEARCH,
            json.dumps(self.model_dump(mode="json"), indent=1, ensure_ascii=False)
            + "\n",
        )


def read_search(folder: Path) -> SearchState | None:
    """The search of a sweep's folder; None where it holds none. Raises DataError for a damaged
    one."""
    noted = RunFolder(folder)
    if not noted.has(SEARCH):
        return None
    try:
        return SearchState.model_validate(noted.json(SEARCH))
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise DataError(
            f"{folder / SEARCH} is damaged: `{key}`: {problem['msg']}. Start the search anew."
        ) from None


def reached(
    folder: Path, objectives: Sequence[str] = ("quality",)
) -> tuple[list[float], str | None]:
    """What the job in this folder came to by these objectives: its headline and its costs; or none,
    and why."""
    run = RunFolder(folder)
    if run.has(ERROR_FILE):
        return [], read_text(folder / ERROR_FILE).strip().splitlines()[0]
    if run.facts.get("status") != "finished":
        return [], "it did not come to its end"
    quality = run.metrics.get(str(run.facts.get("headline")), math.nan)
    if not math.isfinite(quality):
        return [], "its analysis gave no headline metric to search by"
    costs = per_item(spent(run.judgments))
    costs |= {
        "quality": quality,
        "tokens": costs["input_tokens"] + costs["output_tokens"],
    }
    if unknown := [name for name in objectives if not math.isfinite(costs[name])]:
        return (
            [],
            (
                f"{unknown[0]} per text are not known: all answers came from the cache, or have no"
                " known price. engine.cache=false asks again; calls are always known"
            ),
        )
    return [costs[name] for name in objectives], None
