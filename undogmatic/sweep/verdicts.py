"""Decides what a sweep or a search shows: whether its best judge may be believed, and whether it
beats the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.examinations.ruling import Rule, Rules, Values, always, known, verdict
from undogmatic.records.results import ANSWERS, Finding, Subject, Told
from undogmatic.runs.folder import RunFolder
from undogmatic.stats.compare import apart, flattery
from undogmatic.stats.estimate import Estimate, Unit
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
ENDLESS = ("open_margin", "same")
"""Rules of what more texts will hardly settle."""
FEWEST_TEXTS = 5  # for the effect of choosing the best of several trials


def _value(facts: LeadFacts) -> Values:
    told = {"metric": facts.metric, "value": facts.value, "unit": facts.unit}
    return told | {"interval": facts.interval}


def _leads(facts: LeadFacts) -> Values:
    return {"best": facts.best, "n": facts.n} | _value(facts)


def _clear(facts: LeadFacts) -> Values:
    return _leads(facts) | {"measure": facts.measure, "size": facts.size}


LEAD: Rules[LeadFacts] = Rules(
    "sweep.verdict_",
    (
        Rule(
            "none", "undecided", lambda f: f.finished.empty, lambda f: {"jobs": f.jobs}
        ),
        Rule(
            "no_headline",
            "undecided",
            lambda f: f.ranked.empty,
            lambda f: {"jobs": f.n_finished},
        ),
        Rule(
            "one",
            "undecided",
            lambda f: len(f.ranked) == 1,
            lambda f: {"best": f.best} | _value(f),
        ),
        Rule(
            # One candidate under several names: what was changed between the jobs
            # changes no verdict.
            "identical",
            "refuted",
            lambda f: f.n == 1,
            lambda f: {"n": f.n_ranked, "jobs": f.jobs} | _value(f),
        ),
        Rule(
            "tied", "undecided", lambda f: len(f.tied) > 1, lambda f: f.naming(f.tied)
        ),
        Rule(
            "untested",
            "undecided",
            lambda f: f.untested,
            lambda f: f.naming(f.untested),
        ),
        Rule(
            # First by the headline and shown to be worse by the measure that is tested:
            # then it does not lead.
            "mixed",
            "refuted",
            lambda f: f.shown("worse"),
            lambda f: f.naming(f.shown("worse")),
        ),
        Rule(
            "equal",
            "refuted",
            lambda f: f.shown("equal") and not f.open,
            lambda f: f.naming(f.shown("equal")),
        ),
        Rule(
            # What was fitted on these very texts has an advantage on them that it will
            # not have on others.
            "seen",
            "not_yet",
            lambda f: f.seen and not f.open,
            lambda f: _leads(f) | {"seen": f.seen},
        ),
        Rule(
            "clear_margin",
            "supported",
            lambda f: f.margin is not None and not f.open,
            lambda f: _clear(f) | {"margin": f.margin},
        ),
        Rule("clear", "supported", lambda f: not f.open, _clear),
        Rule(
            "same",
            "undecided",
            lambda f: f.shown("identical"),
            lambda f: f.naming(f.shown("identical")),
        ),
        Rule(
            "open_needed",
            "undecided",
            lambda f: f.needed and f.margin is not None,
            lambda f: f.naming(f.open),
        ),
        Rule(
            "open_margin",
            "undecided",
            lambda f: f.margin is not None,
            lambda f: f.naming(f.open),
        ),
        Rule("open", "undecided", always, lambda f: f.naming(f.open)),
    ),
)
"""Whether the best of several judges is better than the others."""
AHEAD = {"clear": "sweep.ahead", "clear_margin": "sweep.ahead_margin"}
"""What is said of such a lead where the leader's own report does not support it: by the rule of
LEAD that decided."""


@dataclass(frozen=True)
class SearchFacts:
    """Holds what a search came to: of `n_trials`, `n` were ranked, and `best` comes first, None
    where none was. `trial` is its headline on the texts of the trials, `test` that on texts that no
    trial has seen, None where it was not judged on any, and `why` says why not. `standing` is what
    the `analyses` came to there."""

    n_trials: int
    n: int = 0
    best: str | None = None
    metric: str = ""
    trial: Estimate | None = None
    test: Estimate | None = None
    why: str | None = None
    standing: str | None = None
    analyses: Sequence[str] = ()


def _on_trials(facts: SearchFacts) -> Values:
    trial = known(facts.trial)
    return {
        "best": facts.best,
        "n": facts.n,
        "metric": facts.metric,
        "unit": trial.unit,
        "value": trial.value,
        "interval": trial.interval,
    }


def _on_new_texts(facts: SearchFacts) -> Values:
    test, trial = known(facts.test), known(facts.trial)
    return {
        "best": facts.best,
        "metric": facts.metric,
        "unit": trial.unit,
        "test": test.value,
        "test_interval": test.interval,
        "texts": test.n,
        "n": facts.n,
        "value": trial.value,
        "interval": trial.interval,
    }


def _by_analyses(facts: SearchFacts) -> Values:
    return _on_new_texts(facts) | {"analyses": facts.analyses}


SEARCH = Rules[SearchFacts](
    "search.verdict_",
    (
        Rule(
            "none", "undecided", lambda f: f.best is None, lambda f: {"n": f.n_trials}
        ),
        Rule(
            "stopped",
            "not_yet",
            lambda f: f.test is None and f.why,
            lambda f: _on_trials(f) | {"why": f.why},
        ),
        Rule("untested", "not_yet", lambda f: f.test is None, _on_trials),
        # The figure of the winner on the texts of the trials is the best of many, and
        # good luck is part of it. Only texts that no trial has seen answer.
        Rule("refuted", "refuted", lambda f: f.standing == "refuted", _by_analyses),
        Rule(
            "undecided", "undecided", lambda f: f.standing == "undecided", _by_analyses
        ),
        Rule(
            "supported", "supported", lambda f: f.standing == "supported", _by_analyses
        ),
        Rule("silent", "undecided", always, _on_new_texts),
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
    parts = (
        [rows for _, rows in finished.groupby("criterion", sort=False)]
        if several
        else [table]
    )
    return [
        finding
        for rows in parts
        for finding in _of_the_first(lead_of(rows, sweep), sweep, several)
    ]


def _of_the_first(lead: LeadFacts, sweep: Sweep, of_several: bool) -> list[Finding]:
    """What the first job's own verdict says where that does not support it, what is shown of its
    lead, its twins."""
    ruling = verdict(LEAD, lead)
    vain = Subject.VAIN if ruling.key in ENDLESS else None
    findings = [replace(ruling.finding, subject=vain)]
    if lead.ranked.empty:
        return findings
    job = sweep.jobs[lead.names[0]]
    standing, analyses = worst(job.standings)
    values = _leads(lead) | {"analyses": analyses}
    if of_several and lead.jobs == 1 and standing is not None:  # it leads nothing
        return [Finding(f"sweep.verdict_alone_{standing}", values, ANSWERS[standing])]
    if standing not in (None, "supported"):
        twins = set(lead.ranked["name"]) - set(lead.distinct)
        counts = Counter(
            sweep.jobs[name].standing
            for name in lead.finished["name"]
            if name not in twins
        )
        values |= {each: counts[each] for each in STANDINGS} | {
            "twins": int(bool(twins))
        }
        # the better of judges that are not to be trusted: no tick
        if ruling.key in AHEAD:
            findings = [Finding(AHEAD[ruling.key], findings[0].values)]
        findings.insert(
            0, Finding(f"sweep.verdict_best_{standing}", values, ANSWERS[standing])
        )
    if len(lead.names) > 1 and lead.n > 1:
        findings.append(Finding("sweep.twins", {"names": named(lead.names)}))
    if lead.same_scores:
        findings.append(
            Finding(
                "sweep.equal_scores",
                {"names": named([lead.names[0], *lead.same_scores])},
            )
        )
    return findings


@dataclass(frozen=True)
class LeadFacts:
    """Holds the first of some jobs, and what is shown of it against the others.

    Jobs with the same scores, the same doubt of them and the same headline are one candidate with
    several names. Two judges that give the same scores and differ in how sure they are of them are
    two. What follows `ranked` is there where any job is ranked: the `names` of the first and its
    twins, others with its scores that doubt them otherwise (`same_scores`), the ranked jobs without
    those that repeat one above them (`distinct`), the headline of the first with its interval, who
    shares it (`tied`), the `measure` that decides ("" where none was tested) and the tests by it
    `against` others, who is `untested`, the smallest difference that matters (`margin`), how many
    hypotheses were corrected for (`size`), and how many texts something in the first was fitted on
    (`seen`).
    """

    jobs: int
    metric: str | None
    finished: pd.DataFrame
    ranked: pd.DataFrame
    names: Sequence[str] = ()
    same_scores: Sequence[str] = ()
    distinct: Sequence[str] = ()
    value: float = float("nan")
    unit: Unit = ""
    interval: tuple[float, ...] = ()
    tied: Sequence[str] = ()
    measure: str = ""
    against: pd.DataFrame = field(default_factory=pd.DataFrame)
    untested: Sequence[str] = ()
    margin: float | None = None
    size: int = 0
    seen: int | None = None

    @property
    def n_finished(self) -> int:
        """How many jobs finished."""
        return len(self.finished)

    @property
    def n_ranked(self) -> int:
        """How many jobs are ranked."""
        return len(self.ranked)

    @property
    def best(self) -> str:
        """The first and its twins, as one name."""
        return " = ".join(self.names)

    @property
    def n(self) -> int:
        """How many candidates there are."""
        return len(self.distinct)

    @property
    def open(self) -> list[str]:
        """The jobs against which nothing is shown of the first."""
        return [*self.shown("open"), *self.shown("identical")]

    @property
    def needed(self) -> int | None:
        """Independent groups that would decide what is open, None where none would."""
        needed = self.against.loc[self.open, "needed"]
        return None if needed.isna().any() else int(max(needed, default=0))

    def shown(self, wanted: str) -> list[str]:
        """The jobs against which this is shown of the first."""
        return list(self.against.index[self.against["shown"] == wanted])

    def naming(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of a sentence that names jobs."""
        values = _leads(self) | {
            "measure": self.measure,
            "margin": self.margin,
            "size": self.size,
            "needed": self.needed,
        }
        tests = self.against[self.against.index.isin(names)]
        sign = BETTER.get(self.measure, 1) or 1
        leads = [
            self._lead(str(name), row, sign)
            for name, row in tests.head(MOST_NAMED).iterrows()
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


def lead_of(table: pd.DataFrame, sweep: Sweep) -> LeadFacts:
    """Gather what is shown of the first of some jobs against the others."""
    finished = table[table["status"] == "finished"]
    ranked = finished[finished["headline"].notna() & (sweep.headline is not None)]
    if ranked.empty:
        return LeadFacts(len(table), sweep.headline, finished, ranked)
    headlines = ranked.set_index("name")["headline"]
    equal = {
        frozenset((pair.left, pair.right)) for pair in sweep.pairs if pair.identical
    }
    same = {
        both
        for both in equal
        if np.isclose(*(headlines.get(name, np.nan) for name in sorted(both)))
        and sweep.as_sure(*sorted(both))
    }
    first, *others = map(str, headlines.index)
    distinct = [first]
    for name in others:
        # One judge under two names must not be tested against itself: that would be an
        # open test forever, and the others would pay for it in the correction.
        if not any(frozenset((name, other)) in same for other in distinct):
            distinct.append(name)
    value = float(headlines.iloc[0])
    measure, against = against_others(sweep, first, distinct[1:])
    return LeadFacts(
        jobs=len(table),
        metric=sweep.headline,
        finished=finished,
        ranked=ranked,
        names=[
            first,
            *(other for other in others if frozenset((first, other)) in same),
        ],
        same_scores=[
            other
            for other in others
            if frozenset((first, other)) in equal and not sweep.as_sure(first, other)
        ],
        distinct=distinct,
        value=value,
        unit=sweep.unit,
        interval=tuple(ranked[["low", "high"]].iloc[0]),
        tied=[
            name
            for name in distinct
            if np.isclose(headlines[name], value, rtol=0, atol=1e-12)
        ],
        measure=measure,
        against=against,
        untested=[name for name in distinct[1:] if name not in against.index],
        margin=(
            sweep.margins[sweep.jobs[first].criterion].value
            if measure in WITH_MARGIN
            else None
        ),
        size=sweep.family.size,
        seen=sweep.jobs[first].facts.get("seen"),
    )


def against_others(
    sweep: Sweep, best: str, others: Sequence[str]
) -> tuple[str, pd.DataFrame]:
    """The measure that decides, and by it the test against each other job (index), with what is
    `shown` of `best`."""
    table, headline = sweep.family.table, str(sweep.headline).rpartition(".")[2]
    ahead = table[(table["left"] == best) & table["right"].isin(others)].set_index(
        "right"
    )
    behind = table[(table["right"] == best) & table["left"].isin(others)].set_index(
        "left"
    )
    turned = {"shown": behind["shown"].replace({"better": "worse", "worse": "better"})}
    turned |= {
        name: -behind[of]
        for name, of in (("difference", "difference"), ("low", "high"), ("high", "low"))
    }
    tests = pd.concat([ahead, behind.assign(**turned)])
    itself = headline in table["measure"].values and headline in (*MERITS, *FOLLOWING)
    measure = next(
        (
            name
            for name in ([headline] if itself else QUALITY)
            if name in tests["measure"].values
        ),
        "",
    )
    return measure, tests[tests["measure"] == measure]


def _headline(run: RunFolder) -> Estimate:
    """The headline of a finished run, over its judgments."""
    metric = run.facts.get("headline")
    value, low, high = (
        run.metrics.get(f"{metric}{end}", np.nan) for end in ("", "_low", "_high")
    )
    unit = (run.facts.get("units") or {}).get(metric, "")
    return Estimate(value, low, high, n=int(run.metrics.get("judged", 0)), unit=unit)


class Searched:
    """What the search in this folder came to: the sentences and the table of all trials."""

    def __init__(
        self, folder: Path, search: SearchState, finished: Mapping[str, Job]
    ) -> None:
        self.search, tell, ranked = search, Told("search"), search.ranked()
        self.n, self.findings = len(ranked), tell.findings
        n_trials = len(search.trials)
        if not ranked:
            self.verdicts = [verdict(SEARCH, SearchFacts(n_trials)).finding]
            return
        names = {t.number: str(t.number) for t in ranked} | {
            job.number: name for name, job in finished.items()
        }
        winner = ranked[0].number
        on_trials = RunFolder(folder / str(winner))
        metric, trial = str(on_trials.facts.get("headline")), _headline(on_trials)
        places = [folder / f"{FINAL}-{winner}", folder / FINAL]
        tested = next((RunFolder(place) for place in places if reached(place)[0]), None)
        ends_of = (reached(place)[1] for place in places if place.is_dir())
        why = next(filter(None, ends_of), "") if search.final and tested is None else ""
        test = None if tested is None else _headline(tested)
        standing, analyses = worst(
            ({} if tested is None else tested.facts.get("standing")) or {}
        )
        facts = SearchFacts(
            n_trials=n_trials,
            n=self.n,
            best=names[winner],
            metric=metric,
            trial=trial,
            test=test,
            why=f"{why.rstrip('.')}." if why else None,
            standing=standing,
            analyses=analyses,
        )
        unseen = None if test is None else Subject.UNSEEN
        self.verdicts = [replace(verdict(SEARCH, facts).finding, subject=unseen)]
        if (search.looks or 0) > 1:
            self.verdicts.append(Finding("search.looks_again", {"looks": search.looks}))
        ends = [(one.value, *one.interval) for one in (trial, test) if one is not None]
        # how it differs from what the trials said
        if test is not None and np.isfinite(ends).all():
            gap = apart(trial, test)
            told = gap.values("gap") | {"n": self.n, "metric": metric}
            if (seen := on_trials.facts.get("seen")) and gap.low > 0:
                tell.say("gap_fitted", told, seen=int(seen))
            else:
                tell.say("gap_shown" if gap.low > 0 else "gap_open", told)
        self._tell_flattery(
            tell,
            {
                name: job
                for name, job in finished.items()
                if job.scores["score"].notna().any()
            },
        )
        states = Counter(trial.state for trial in search.trials)
        tell.say(
            "trials",
            {state: states[state] for state in ("complete", "pruned", "failed")},
            n=n_trials,
        )
        if search.stopped_by == "searched_through":
            tell.say("searched_through", n=n_trials)
        if len(search.objectives) > 1:
            shown = [names[trial.number] for trial in search.front()]
            tell.say(
                "front", names="; ".join(shown), n=len(shown), cost=search.objectives[1]
            )

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
                    sign * table.to_numpy(dtype=np.float64).T,
                    groups,
                    np.random.default_rng(0),
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
        counts = sorted(
            {count for trial in self.search.trials for count in trial.rungs}
        )
        for trial in self.search.trials:
            row = {"number": trial.number, **trial.params, "state": trial.state}
            row |= {f"at_{count}": trial.rungs.get(count, np.nan) for count in counts}
            row |= dict.fromkeys(objectives, np.nan) | dict(
                zip(objectives, trial.values, strict=False)
            )
            rows.append(row | {"why": trial.why})
        table = pd.DataFrame(rows)
        return (
            table.drop(columns="why")
            if len(table) and table["why"].isna().all()
            else table
        )
