"""Decides what a sweep or a search shows: whether its best judge may be believed, and whether it
beats the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.ruling import Rule, Rules, always, verdict
from undogmatic.records.results import ANSWERS, Finding, Told
from undogmatic.runs.folder import RunFolder
from undogmatic.stats.compare import apart, flattery
from undogmatic.stats.estimate import Estimate
from undogmatic.sweep.family import (
    BETTER,
    FOLLOWING,
    MERITS,
    WITH_MARGIN,
    Sweep,
    units_of,
    values_of,
)
from undogmatic.sweep.jobs import FINAL, STANDINGS, Job, SearchState, reached, worst

QUALITY = {"absolute_error": -1.0, "pair_difference": 1.0}
"""Measures that say which of two jobs is the better judge, and whether more is better; the first
that was tested decides; where the headline itself was tested, it does."""
MOST_NAMED = 5
FEWEST_TEXTS = 5  # for the effect of choosing the best of several trials

_LEADS = "best n metric value interval"
LEAD = Rules(
    "sweep.verdict_",
    (
        Rule("none", "undecided", lambda e: e.finished.empty, "jobs"),
        Rule("no_headline", "undecided", lambda e: e.ranked.empty, "jobs=n_finished"),
        Rule("one", "undecided", lambda e: len(e.ranked) == 1, "best metric value interval"),
        Rule("identical", "refuted", lambda e: e.n == 1, "n=n_ranked jobs metric value interval"),
        Rule("tied", "undecided", lambda e: len(e.tied) > 1, lambda e: e.naming(e.tied)),
        Rule("untested", "undecided", lambda e: e.untested, lambda e: e.naming(e.untested)),
        Rule("mixed", "refuted", lambda e: e.shown("worse"), lambda e: e.naming(e.shown("worse"))),
        Rule(
            "equal",
            "refuted",
            lambda e: e.shown("equal") and not e.open,
            lambda e: e.naming(e.shown("equal")),
        ),
        Rule("seen", "not_yet", lambda e: e.seen and not e.open, f"{_LEADS} seen"),
        Rule(
            "clear_margin",
            "supported",
            lambda e: e.margin is not None and not e.open,
            f"{_LEADS} measure margin size",
        ),
        Rule("clear", "supported", lambda e: not e.open, f"{_LEADS} measure size"),
        Rule(
            "same",
            "undecided",
            lambda e: e.shown("identical"),
            lambda e: e.naming(e.shown("identical")),
        ),
        Rule(
            "open_needed",
            "undecided",
            lambda e: e.needed and e.margin is not None,
            lambda e: e.naming(e.open),
        ),
        Rule(
            "open_margin", "undecided", lambda e: e.margin is not None, lambda e: e.naming(e.open)
        ),
        Rule("open", "undecided", always, lambda e: e.naming(e.open)),
    ),
)
"""Whether the best of several judges is better than the others."""
AHEAD = {"clear": "sweep.ahead", "clear_margin": "sweep.ahead_margin"}
"""What is said of such a lead where the leader's own report does not support it: by the rule of
LEAD that decided."""

_TRIAL = "value=trial.value interval=trial.interval"
_TESTED = f"best metric test=test.value test_interval=test.interval texts=test.n n {_TRIAL}"
SEARCH = Rules(
    "search.verdict_",
    (
        Rule("none", "undecided", lambda e: e.best is None, "n=n_trials"),
        Rule(
            "stopped", "not_yet", lambda e: e.test is None and e.why, f"best n metric {_TRIAL} why"
        ),
        Rule("untested", "not_yet", lambda e: e.test is None, f"best n metric {_TRIAL}"),
        Rule("refuted", "refuted", lambda e: e.standing == "refuted", f"{_TESTED} analyses"),
        Rule("undecided", "undecided", lambda e: e.standing == "undecided", f"{_TESTED} analyses"),
        Rule("supported", "supported", lambda e: e.standing == "supported", f"{_TESTED} analyses"),
        Rule("silent", "undecided", always, _TESTED),
    ),
)
"""Whether the winner of a search holds on texts that no trial has seen."""


def named(names: Sequence[str]) -> str:
    """Names in a sentence, the first of many and their number."""
    shown = "; ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown}; ... ({len(names)})"


def verdicts(table: pd.DataFrame, sweep: Sweep) -> list[Finding]:
    """First that the best judge is not to be believed, where that is so; then what is shown of its
    lead. Once for each criterion, where several were judged: what is high on one says nothing of
    another. `table` has one row per job, best first (`SweepResult.jobs`)."""
    finished = table[table["status"] == "finished"]
    several = "criterion" in table and not finished.empty and sweep.headline is not None
    parts = [rows for _, rows in finished.groupby("criterion", sort=False)] if several else [table]
    return [
        finding for rows in parts for finding in _of_the_first(Lead(rows, sweep), sweep, several)
    ]


def _of_the_first(lead: Lead, sweep: Sweep, of_several: bool) -> list[Finding]:
    """What the first job's own verdict says where that does not support it, what is shown of its
    lead, its twins."""
    ruling = verdict(LEAD, lead)
    findings = [ruling.finding]
    if lead.ranked.empty:
        return findings
    job = sweep.jobs[lead.names[0]]
    standing, analyses = worst(job.standings)
    values = {field: getattr(lead, field) for field in _LEADS.split()} | {"analyses": analyses}
    if of_several and lead.jobs == 1 and standing is not None:  # it leads nothing
        return [Finding(f"sweep.verdict_alone_{standing}", values, ANSWERS[standing])]
    if standing not in (None, "supported"):
        twins = set(lead.ranked["name"]) - set(lead.distinct)
        counts = Counter(
            sweep.jobs[name].standing for name in lead.finished["name"] if name not in twins
        )
        values |= {each: counts[each] for each in STANDINGS} | {"twins": int(bool(twins))}
        if ruling.key in AHEAD:  # the better of judges that are not to be trusted: no tick
            findings = [Finding(AHEAD[ruling.key], findings[0].values)]
        findings.insert(0, Finding(f"sweep.verdict_best_{standing}", values, ANSWERS[standing]))
    if len(lead.names) > 1 and lead.n > 1:
        findings.append(Finding("sweep.twins", {"names": named(lead.names)}))
    if lead.same_scores:
        findings.append(
            Finding("sweep.equal_scores", {"names": named([lead.names[0], *lead.same_scores])})
        )
    return findings


class Lead:
    """The first of some jobs, and what is shown of it against the others: the evidence of LEAD.

    Jobs with the same scores, the same doubt of them and the same headline are one candidate with
    several names. Two judges that give the same scores and differ in how sure they are of them are
    two (`same_scores`). What follows `ranked` is there where any job is ranked.
    """

    def __init__(self, table: pd.DataFrame, sweep: Sweep) -> None:
        self.jobs, self.metric = len(table), sweep.headline
        self.finished = table[table["status"] == "finished"]
        self.ranked = self.finished[
            self.finished["headline"].notna() & (sweep.headline is not None)
        ]
        self.n_finished, self.n_ranked = len(self.finished), len(self.ranked)
        if self.ranked.empty:
            return
        headlines = self.ranked.set_index("name")["headline"]
        equal = {frozenset((pair.left, pair.right)) for pair in sweep.pairs if pair.identical}
        same = {
            both
            for both in equal
            if np.isclose(*(headlines.get(name, np.nan) for name in sorted(both)))
            and sweep.as_sure(*sorted(both))
        }
        first, *others = map(str, headlines.index)
        # it and its twins
        self.names = [
            first,
            *(other for other in others if frozenset((first, other)) in same),
        ]
        self.same_scores = [  # other judges with the scores of the first, who doubt them otherwise
            other
            for other in others
            if frozenset((first, other)) in equal and not sweep.as_sure(first, other)
        ]
        self.distinct = [first]  # the ranked jobs without those that repeat one above them
        for name in others:
            if not any(frozenset((name, other)) in same for other in self.distinct):
                self.distinct.append(name)
        self.best, self.n, self.value = (
            " = ".join(self.names),
            len(self.distinct),
            float(headlines.iloc[0]),
        )
        self.interval = tuple(self.ranked[["low", "high"]].iloc[0])
        self.tied = [
            name
            for name in self.distinct
            if np.isclose(headlines[name], self.value, rtol=0, atol=1e-12)
        ]
        # "" where none was tested
        self.measure, self.against = against_others(sweep, first, self.distinct[1:])
        self.untested = [name for name in self.distinct[1:] if name not in self.against.index]
        # The smallest difference that matters in this measure, where there is one.
        self.margin = (
            sweep.margins[sweep.jobs[first].criterion].value
            if self.measure in WITH_MARGIN
            else None
        )
        self.size = sweep.family.size  # hypotheses that were corrected for
        self.seen = sweep.jobs[first].facts.get("seen")  # texts that something in it was fitted on
        # against which nothing is shown of it
        self.open = [
            *self.shown("open"),
            *self.shown("identical"),
        ]
        # independent groups that would decide it, NaN where none would
        needed = self.against.loc[self.open, "needed"]
        self.needed = None if needed.isna().any() else int(max(needed, default=0))

    def shown(self, wanted: str) -> list[str]:
        """The jobs against which this is shown of the first."""
        return list(self.against.index[self.against["shown"] == wanted])

    def naming(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of a sentence that names jobs."""
        values = {
            field: getattr(self, field)
            for field in [*_LEADS.split(), "measure", "margin", "size", "needed"]
        }
        tests, sign = self.against[self.against.index.isin(names)], BETTER.get(self.measure, 1) or 1
        leads = [
            self._lead(str(name), row, sign) for name, row in tests.head(MOST_NAMED).iterrows()
        ]
        if (more := len(tests) - MOST_NAMED) > 0:
            leads.append(Finding("sweep.lead_more", {"more": more}))
        values |= {"units_n": int(max(tests["n"], default=0)), "leads": leads}
        return values | {"names": named(names), "names_n": len(names)}

    def _lead(self, name: str, test: pd.Series, sign: int) -> Finding:
        """By how much it leads another job, more being better, with the interval of that."""
        ends = sorted(sign * test[["low", "high"]].to_numpy(dtype=np.float64))
        values = {
            "name": name,
            "lead": sign * float(test["difference"]),
            "interval": tuple(map(float, ends)),
        }
        key = "sweep.lead" if self.margin is None else "sweep.lead_units"
        return Finding(key, values | {"measure": self.measure})


def against_others(sweep: Sweep, best: str, others: Sequence[str]) -> tuple[str, pd.DataFrame]:
    """The measure that decides, and by it the test against each other job (index), with what is
    `shown` of `best`."""
    table, headline = sweep.family.table, str(sweep.headline).rpartition(".")[2]
    ahead = table[(table["left"] == best) & table["right"].isin(others)].set_index("right")
    behind = table[(table["right"] == best) & table["left"].isin(others)].set_index("left")
    turned = {"shown": behind["shown"].replace({"better": "worse", "worse": "better"})}
    turned |= {
        name: -behind[of]
        for name, of in (("difference", "difference"), ("low", "high"), ("high", "low"))
    }
    tests = pd.concat([ahead, behind.assign(**turned)])
    itself = headline in table["measure"].values and headline in (*MERITS, *FOLLOWING)
    measure = next(
        (name for name in ([headline] if itself else QUALITY) if name in tests["measure"].values),
        "",
    )
    return measure, tests[tests["measure"] == measure]


def _headline(run: RunFolder) -> Estimate:
    """The headline of a finished run, over its judgments."""
    metric = run.facts.get("headline")
    value, low, high = (run.metrics.get(f"{metric}{end}", np.nan) for end in ("", "_low", "_high"))
    return Estimate(value, low, high, n=int(run.metrics.get("judged", 0)))


class Searched:
    """What the search in this folder came to: the evidence of SEARCH, the sentences and the table
    of all trials."""

    def __init__(self, folder: Path, search: SearchState, finished: Mapping[str, Job]) -> None:
        self.search, tell, ranked = search, Told("search"), search.ranked()
        self.n_trials, self.n, self.findings = len(search.trials), len(ranked), tell.findings
        self.best: str | None = None
        if not ranked:
            self.verdicts = [verdict(SEARCH, self).finding]
            return
        names = {t.number: str(t.number) for t in ranked} | {
            job.number: name for name, job in finished.items()
        }
        winner = ranked[0].number
        on_trials = RunFolder(folder / str(winner))
        self.best, self.metric, self.trial = (
            names[winner],
            str(on_trials.facts.get("headline")),
            _headline(on_trials),
        )
        places = [folder / f"{FINAL}-{winner}", folder / FINAL]
        tested = next((RunFolder(place) for place in places if reached(place)[0]), None)
        ends_of = (reached(place)[1] for place in places if place.is_dir())
        why = next(filter(None, ends_of), "") if search.final and tested is None else ""
        self.why = f"{why.rstrip('.')}." if why else None
        self.test = None if tested is None else _headline(tested)
        self.standing, self.analyses = worst(
            ({} if tested is None else tested.facts.get("standing")) or {}
        )
        self.verdicts = [verdict(SEARCH, self).finding]
        if (search.looks or 0) > 1:
            self.verdicts.append(Finding("search.looks_again", {"looks": search.looks}))
        ends = [(one.value, *one.interval) for one in (self.trial, self.test) if one is not None]
        # how it differs from what the trials said
        if self.test is not None and np.isfinite(ends).all():
            gap = apart(self.trial, self.test)
            told = gap.values("gap") | {"n": self.n, "metric": self.metric}
            if (seen := on_trials.facts.get("seen")) and gap.low > 0:
                tell.say("gap_fitted", told, seen=int(seen))
            else:
                tell.say("gap_shown" if gap.low > 0 else "gap_open", told)
        self._tell_flattery(
            tell, {name: job for name, job in finished.items() if job.scores["score"].notna().any()}
        )
        states = Counter(trial.state for trial in search.trials)
        tell.say(
            "trials",
            {state: states[state] for state in ("complete", "pruned", "failed")},
            n=self.n_trials,
        )
        if search.stopped_by == "searched_through":
            tell.say("searched_through", n=self.n_trials)
        if len(search.objectives) > 1:
            shown = [names[trial.number] for trial in search.front()]
            tell.say("front", names="; ".join(shown), n=len(shown), cost=search.objectives[1])

    def _tell_flattery(self, tell: Told, jobs: Mapping[str, Job]) -> None:
        """Say what choosing the best of the trials is worth by itself, in the first measure that
        all of them have."""
        for measure, sign in QUALITY.items():
            columns = {
                name: values
                for name, job in jobs.items()
                if (values := values_of(job, measure)) is not None
            }
            table = pd.DataFrame(columns).dropna()
            if len(columns) == len(jobs) > 1 and len(table) >= FEWEST_TEXTS:
                groups = pd.factorize(
                    units_of(next(iter(jobs.values())), measure).reindex(table.index)
                )[0]
                effect = flattery(
                    sign * table.to_numpy(dtype=np.float64).T, groups, np.random.default_rng(0)
                )
                counts = {"texts": len(table), "groups": len(set(groups))}
                tell.say(
                    "flattery" if effect > 0 else "flattery_none",
                    counts,
                    n=self.n,
                    effect=effect,
                    measure=measure,
                )
                return

    @property
    def table(self) -> pd.DataFrame:
        """A row per trial, in the order in which they were tried."""
        rows, objectives = list[dict[str, Any]](), self.search.objectives
        counts = sorted({count for trial in self.search.trials for count in trial.rungs})
        for trial in self.search.trials:
            row = {"number": trial.number, **trial.params, "state": trial.state}
            row |= {f"at_{count}": trial.rungs.get(count, np.nan) for count in counts}
            row |= dict.fromkeys(objectives, np.nan) | dict(
                zip(objectives, trial.values, strict=False)
            )
            rows.append(row | {"why": trial.why})
        table = pd.DataFrame(rows)
        return table.drop(columns="why") if len(table) and table["why"].isna().all() else table
