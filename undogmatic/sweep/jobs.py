"""The folders of a sweep's jobs, read back: settings, scores, metrics, and why a job has no result.

A job with several judges, or a judge of several criteria, is read as if each of these had been a job by itself. Of an
optimisation only the program that it came to is: what it began with is judged to be compared with that, in its report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import ValidationError

from undogmatic.analyses.costs import spent
from undogmatic.analyses.improvement import AFTER
from undogmatic.errors import DataError, UndogmaticError
from undogmatic.records.records import OVERALL, Verdict
from undogmatic.records.results import part_names
from undogmatic.records.rubric import Rubric
from undogmatic.runs.folder import COMPOSED, PROGRAM, SCORES, RunFolder
from undogmatic.safety.command import ERROR_FILE
from undogmatic.safety.outside import read_text

ITEMS = "items_{name}.csv"
READ = tuple("unit score truth error right uncertainty confidence inside width interval_score".split())
"""Columns of it that are compared between jobs."""
Status = Literal["finished", "stopped", "failed"]
STANDINGS = ("refuted", "undecided", "supported")
"""The worst first."""


@dataclass(frozen=True)
class Job:
    """One job of a sweep, or of such a job what one judge says on one criterion.

    Attributes:
        number: Its place in the sweep, and the name of its folder.
        overrides: What was set for it on the command line, key -> value.
        config: The composed config as Hydra kept it, interpolations unresolved; {} if it was not composed.
        facts: Its `run.json`; {} if it did not get that far.
        metrics: Its `metrics.json`; {} without a result.
        scores: Score by item (index, unique), columns `score` (NaN: failed), `pair_id`, `group` (the independent unit),
            `condition`, `label`, `seconds` (that its judgment took; NaN where the cache had part in it).
        costs: What each judgment took, all repeats: columns of `analyses.costs.QUANTITIES` and `cached`.
        items: What `analysis=calibration` says of each item (its `items_calibration.csv` by `item_id`); empty without.
        status: "finished"; "stopped" (can be continued: budget, server, kill); "failed".
        message: Why it has no result.
        judge, criterion: Whose scores these are, and of what.
        part: Judge, or judge and criterion, by which it is known among those of its job; "" if there is no other.
    """

    number: int
    overrides: Mapping[str, str]
    config: Mapping[str, Any] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    metrics: Mapping[str, float] = field(repr=False)
    scores: pd.DataFrame = field(repr=False)
    status: Status
    message: str | None = None
    items: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)
    costs: pd.DataFrame = field(repr=False, default_factory=pd.DataFrame)
    judge: str = ""
    criterion: str = OVERALL
    part: str = ""

    @cached_property
    def rubric(self) -> Rubric:
        """The rubric it judged by, in whichever form its config gives it."""
        return _rubric(self.config)

    @property
    def standings(self) -> dict[str, str]:
        """How its own verdicts left the judge, by analysis: "supported", "refuted" or "undecided"; {} if none was
        noted."""
        front = f"{self.part}."
        noted: Mapping[str, str] = self.facts.get("standing") or {}
        own = {name.removeprefix(front): each for name, each in noted.items() if self.part and name.startswith(front)}
        return own or {name: each for name, each in noted.items() if "." not in name}

    @property
    def standing(self) -> str | None:
        """The worst of its standings: a judge is supported if all its verdicts say so. None if none was noted."""
        return next((each for each in STANDINGS if each in self.standings.values()), None)

    @property
    def readout(self) -> str:
        """The readout it used, resolved."""
        return str(self.facts.get("choices", {}).get("readout", "?"))


def read_jobs(folder: Path) -> list[Job]:
    """The jobs of a sweep's folder by number, one per judge and criterion of each. A job that never began has no folder
    and is not among them.

    Where the jobs judged by several rubrics, the rubric's name is part of the criterion: what is high on one says
    nothing of another.
    """
    numbers = sorted(int(p.name) for p in folder.iterdir() if p.is_dir() and p.name.isdigit())
    jobs = [job for number in numbers for job in _read(folder / str(number), number)]
    names = {job.number: job.rubric.name for job in jobs if job.status == "finished"}
    if len(set(names.values())) < 2:
        return jobs
    return [replace(job, criterion=_of_rubric(names.get(job.number), job.criterion)) for job in jobs]


def _of_rubric(rubric: str | None, criterion: str) -> str:
    if rubric is None:
        return criterion
    return rubric if criterion == OVERALL else f"{rubric}.{criterion}"


def varying(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The overridden keys whose value differs between jobs, in the order of the command line."""
    keys = dict.fromkeys(key for job in jobs for key in job.overrides)
    return tuple(k for k in keys if len({job.overrides.get(k) for job in jobs}) > 1)


def _read(path: Path, number: int) -> list[Job]:
    folder = RunFolder(path)
    message: str | None = None
    facts: Mapping[str, Any] = {}
    overrides: list[str] = []
    config: dict[str, Any] = {}
    results: list[dict[str, Any]] = [{"metrics": {}, "scores": pd.DataFrame()}]
    status: Status = "finished"
    try:
        # A kill may have come before any of them was written.
        message = read_text(path / ERROR_FILE).strip() if folder.has(ERROR_FILE) else None
        overrides, config = folder.overrides, folder.mapping(COMPOSED)
        facts = folder.facts
        if message is not None:
            status = "stopped" if facts.get("status") == "stopped" else "failed"
        elif facts.get("status") != "finished":
            status, message = "stopped", "it did not come to its end (killed?)"
        else:
            _rubric(config)
            results = _results(folder)
    except UndogmaticError as damage:
        status, message = "failed", str(damage)
    job = Job(
        number=number,
        overrides=dict(word.lstrip("+~").partition("=")[::2] for word in overrides),
        config=config,
        facts=facts,
        metrics={},
        scores=pd.DataFrame(),
        status=status,
        message=message,
    )
    return [replace(job, **{"facts": facts} | result) for result in results]


def _rubric(config: Mapping[str, Any]) -> Rubric:
    """Raises DataError where the config that was kept holds no rubric."""
    try:
        return Rubric.model_validate({key: v for key, v in (config.get("rubric") or {}).items() if key != "_target_"})
    except (AttributeError, ValidationError):
        raise DataError(f"its {COMPOSED} cannot be read (`rubric` is none). Repeat that run.") from None


def _results(folder: RunFolder) -> list[dict[str, Any]]:
    """What sets apart the jobs as which this one is read."""
    table, voices = folder.table(SCORES), list(folder.voices())
    if "judge" in table:  # also one that came to no item, because a step had failed
        voices = list(table[["judge", "criterion"]].drop_duplicates().itertuples(index=False, name=None))
    if folder.has(PROGRAM):  # an optimisation: what all but its own comparison is of
        voices = [voice for voice in voices if voice[0] == AFTER]
    names = part_names(voices)
    return [_result(folder, voice, name, names) for voice, name in names.items()]


def _result(
    folder: RunFolder, voice: tuple[str, str], name: str, names: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    judge, criterion = voice
    # What a judge of several criteria took is noted with the first of them.
    payer = next(pair for pair in names if pair[0] == judge)
    costs = spent([j for j in folder.judgments if (j.judge, j.criterion) == payer])
    return {
        "judge": judge,
        "criterion": criterion,
        "part": name,
        "facts": _facts(folder, names),
        "metrics": _metrics(folder, voice, names, costs),
        "scores": _scores(folder, voice, payer, costs),
        "items": _items(folder, name),
        "costs": costs,
    }


def _facts(folder: RunFolder, names: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Those of the run, with its headline as an analysis calls it where it reads one judge and criterion."""
    headline = str(folder.facts.get("headline"))
    own = [headline.removeprefix(f"{name}.") for name in names.values() if name and headline.startswith(f"{name}.")]
    return {**folder.facts, **({"headline": own[0]} if own else {})}


def _metrics(
    folder: RunFolder, voice: tuple[str, str], names: Mapping[tuple[str, str], str], costs: pd.DataFrame
) -> dict[str, float]:
    """Those of the run; of one among several, its own without its name in front, and those of all together."""
    whole = dict(folder.metrics)
    if not names[voice] and len(folder.voices()) <= 1:
        return whole
    front = f"{names[voice]}."
    others = tuple(f"{name}." for name in names.values())
    judged = [j for j in folder.judgments if (j.judge, j.criterion) == voice and isinstance(j.outcome, Verdict)]
    asked = len(folder.scores(*voice)) * (1 + max((j.repeat for j in folder.judgments), default=0))
    found = {key: value for key, value in whole.items() if "." in key and not key.startswith(others)}
    found |= {key.removeprefix(front): value for key, value in whole.items() if key.startswith(front)}
    found |= {"judged": len(judged), "failed": asked - len(judged), "calls_cached": int(costs["cached"].sum())}
    return found | ({"usd": float(costs["usd"].sum())} if costs["usd"].notna().all() else {})


def _scores(folder: RunFolder, voice: tuple[str, str], payer: tuple[str, str], costs: pd.DataFrame) -> pd.DataFrame:
    read, labels = folder.scores(*voice), folder.labels(*voice)
    cached = costs.loc[(costs["repeat"] == 0) & (costs["cached"] > 0), "item_id"]
    seconds = folder.scores(*payer).reindex(columns=["seconds"])["seconds"]
    read["seconds"] = seconds.mask(seconds.index.isin(cached))
    if labels is not None:
        read = read.join(labels["label"])
    read = read.reindex(columns=["score", "pair_id", "group", "condition", "label", "seconds"])
    # Runs of earlier versions kept no groups; of what belonged together they knew the pairs.
    own = pd.Series([f"item {name}" for name in read.index], read.index, dtype=object)
    pair = "pair " + read["pair_id"].astype(object)
    return read.assign(group=read["group"].astype(object).fillna(pair).fillna(own))


def _items(folder: RunFolder, part: str) -> pd.DataFrame:
    name = ITEMS.format(name=f"{part}.calibration" if part else "calibration")
    if not folder.has(name):
        return pd.DataFrame()
    found = folder.table(name).set_index("item_id")
    lacking = sorted({*READ} - {*found.columns})
    if lacking or not found.index.is_unique:
        why = f"it lacks {', '.join(lacking)}" if lacking else "an item is twice in it"
        raise DataError(f"{folder.named}: its {name} cannot be read ({why}). Repeat that run.")
    return found
