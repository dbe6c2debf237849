"""What is to be said of a sweep that was a search: the winner on texts that no trial has seen, and what choosing the
best of many did to its figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.records.results import Finding
from undogmatic.runs.folder import RunFolder
from undogmatic.stats.selection import apart, flattery
from undogmatic.sweep.family import values_of
from undogmatic.sweep.jobs import STANDINGS, Job
from undogmatic.sweep.trials import FINAL, Search, Trial, outcome, read_search
from undogmatic.sweep.verdicts import QUALITY

OWN_TEXTS = Path(__file__).with_name("searched.texts.yaml")
FEWEST_TEXTS = 5


class Searched(NamedTuple):
    """The verdict, further findings, and the table of all trials."""

    verdicts: list[Finding]
    findings: list[Finding]
    table: pd.DataFrame


def of_search(folder: Path, finished: Mapping[str, Job]) -> Searched | None:
    """What a search in this folder came to; None where the sweep was none.

    Args:
        folder: The sweep's.
        finished: Its finished jobs by name.
    """
    search = read_search(folder)
    if search is None:
        return None
    ranked = search.ranked()
    if not ranked:
        return Searched([Finding("search.verdict_none", {"n": len(search.trials)})], [], _table(search))
    best, names = ranked[0], {job.number: name for name, job in finished.items()}
    name = names.get(best.number, f"{best.number}")
    own = _told(folder / str(best.number))
    values: dict[str, Any] = {"best": name, "n": len(ranked), "metric": own["metric"], "value": own["value"]}
    values["interval"] = own["interval"]
    verdict, more = _test(folder, best, values, own)
    again = [Finding("search.looks_again", {"looks": search.looks})] if (search.looks or 0) > 1 else []
    findings = [*more, *_flattered(finished, len(ranked))]
    given_up = sum(trial.state == "pruned" for trial in search.trials)
    counts = {"n": len(search.trials), "complete": len(ranked), "pruned": given_up}
    counts["failed"] = sum(trial.state == "failed" for trial in search.trials)
    findings.append(Finding("search.trials", counts))
    if search.stopped_by == "searched_through":
        findings.append(Finding("search.searched_through", {"n": len(search.trials)}))
    if len(search.objectives) > 1:
        shown = [names.get(trial.number, str(trial.number)) for trial in search.front()]
        findings.append(
            Finding("search.front", {"names": "; ".join(shown), "n": len(shown), "cost": search.objectives[1]})
        )
    return Searched([verdict, *again], findings, _table(search))


def _test(folder: Path, best: Trial, values: dict[str, Any], own: Mapping[str, Any]) -> tuple[Finding, list[Finding]]:
    """The verdict by the winner's run on texts of its own, and how that differs from what the trials said."""
    places = [folder / f"{FINAL}-{best.number}", folder / FINAL]
    place = next((each for each in places if outcome(each).quality is not None), None)
    if place is None:
        return Finding("search.verdict_untested", values), []
    test = _told(place)
    values |= {"test": test["value"], "test_interval": test["interval"], "texts": test["judged"]}
    noted = [each for each in STANDINGS if each in test["standings"].values()]
    analyses = [analysis for analysis, each in test["standings"].items() if noted and each == noted[0]]
    verdict = Finding(f"search.verdict_{noted[0] if noted else 'silent'}", {**values, "analyses": analyses})
    numbers = [own["value"], *own["interval"], test["value"], *test["interval"]]
    if not np.isfinite(numbers).all():
        return verdict, []
    gap = apart((numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5]))
    key = "search.gap_shown" if gap.low > 0 else "search.gap_open"
    said = {"gap": gap.estimate, "interval": (gap.low, gap.high), "n": values["n"], "metric": own["metric"]}
    return verdict, [Finding(key, said)]


def _told(place: Path) -> dict[str, Any]:
    run = RunFolder(place)
    metric = str(run.facts.get("headline"))
    ends = tuple(run.metrics.get(f"{metric}{end}", np.nan) for end in ("_low", "_high"))
    found = {"metric": metric, "value": run.metrics.get(metric, np.nan), "interval": ends}
    return found | {"judged": int(run.metrics.get("judged", 0)), "standings": run.facts.get("standing") or {}}


def _flattered(finished: Mapping[str, Job], n: int) -> list[Finding]:
    """What choosing the best of the trials is worth by itself, in the first measure that all of them have."""
    jobs = {name: job for name, job in finished.items() if job.scores["score"].notna().any()}
    if len(jobs) < 2:
        return []
    of_jobs = values_of(jobs)
    for measure in QUALITY:
        columns = of_jobs[measure]
        if any(own is None for own in columns.values()):
            continue
        table = pd.DataFrame({name: own for name, own in columns.items() if own is not None}).dropna()
        if len(table) < FEWEST_TEXTS:
            continue
        sign = -1.0 if measure == "absolute_error" else 1.0
        first = next(iter(jobs.values())).scores
        keyed = first if measure == "absolute_error" else first.drop_duplicates("pair_id").set_index("pair_id")
        groups = pd.factorize(keyed["group"].reindex(table.index))[0]
        effect = flattery(sign * table.to_numpy(dtype=np.float64).T, groups, np.random.default_rng(0))
        values = {"n": n, "effect": effect, "measure": measure, "texts": len(table), "groups": len(set(groups))}
        return [Finding("search.flattery", values)]
    return []


def _table(search: Search) -> pd.DataFrame:
    """A row per trial, in the order in which they were tried."""
    rows = []
    for trial in search.trials:
        row: dict[str, Any] = {"number": trial.number, **trial.params, "state": trial.state}
        row |= {f"at_{count}": trial.rungs.get(count, np.nan) for count in _counts(search)}
        for n, objective in enumerate(search.objectives):
            row[objective] = trial.values[n] if trial.values else np.nan
        rows.append(row | {"why": trial.why})
    table = pd.DataFrame(rows)
    return table.drop(columns="why") if len(table) and table["why"].isna().all() else table


def _counts(search: Search) -> list[int]:
    return sorted({count for trial in search.trials for count in trial.rungs})
