"""The jobs of a sweep side by side: who leads, whether by more than chance, what agrees, and at
what cost."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.errors import UndogmaticError
from undogmatic.examinations.compared import DESCRIBED, FOLLOWS, OF_NUMBERS
from undogmatic.examinations.reliability import RELIABLE, TENTATIVE
from undogmatic.examinations.ruling import AT_ONCE
from undogmatic.examinations.run_items import items_of
from undogmatic.examinations.variance import (
    COMPONENT_UNITS,
    Divided,
    VarianceAnalysis,
    of_scores,
)
from undogmatic.records.kept import joined
from undogmatic.records.records import Item
from undogmatic.records.results import Finding, Told
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.wordings import texts_beside, texts_noted
from undogmatic.runs.folder import RunFolder
from undogmatic.stats import agreement, means, review
from undogmatic.stats.compare import NOISE, front, letter_display, twins
from undogmatic.stats.estimate import Unit
from undogmatic.sweep.family import (
    ALPHA,
    BETTER,
    FOLLOWING,
    MERITS,
    WITH_MARGIN,
    Pair,
    Sweep,
    judged_both,
    uncertain,
    units_of,
    values_of,
)
from undogmatic.sweep.jobs import COSTS, Job, read_jobs, read_search
from undogmatic.sweep.verdicts import Searched, against_others, named, verdicts

OWN_TEXTS = Path(__file__).with_name("compare.texts.yaml")
# of more jobs, agreement is given between the best: nobody reads a square of forty names
MOST_AGREED = 12
MOST_CURVES = 7  # that can be told apart
MOST_INTERVALS = 3  # further metrics with an interval, beside the headline
# values of what varies, from which on it is said how many of them to average
FEWEST_AVERAGED = 5
AVERAGING = (
    "variance.needed",
    "variance.needed_order",
    "variance.needed_none",
    "variance.cheapest",
)
COUNTS = ("judged", "failed", "calls_cached")
ENDS = ("_low", "_high")
PARTS = ("judge", "criterion")
"""Columns of the table of jobs where one of them had several; each such pair is compared like a job
of its own."""
AGREEMENT = (
    "left right n pearson_between spearman_between kendall kappa_between alpha"
    " bias limit_low limit_high drift"
).split()


def _of_calibration(*names: str) -> dict[str, str]:
    """Metrics of the analysis of calibration, by the columns that they fill."""
    return {name: f"calibration.{name}" for name in names}


WORTH = {
    "worth_order": _of_calibration(
        "review_gain", "aurc", "excess_aurc", "spearman_error"
    ),
    "worth_claims": _of_calibration(
        "ece", "coverage", "width", "interval_score", "mae"
    ),
    "following": {
        "spearman": OF_NUMBERS,
        "pearson": "labelled.agreement.pearson",
        "kappa": "labelled.agreement.kappa",
        "weighted_kappa": "labelled.agreement.weighted_kappa",
        "pairwise_kappa": "preference.agreement.pairwise_kappa",
        "mae": "labelled.agreement.error",
    },
}
"""Columns and the metrics in them, by table: does the uncertainty find the errors, and does it hold
what it says? How do the verdicts of jobs that are ranked by it follow labels?"""
BARE = re.compile(r"(?i:true|false|null)|[-+]?\d[\d.]*(e[-+]?\d+)?")
"""A value that says nothing without its key: a switch or a number."""
UNHEARD = ("analysis", "tracking", "report", "engine", "run", "hydra")
"""Groups of keys that say nothing to a judge: jobs that differ in them alone count once."""


def compare(folder: Path, name: str, language: str) -> SweepResult:
    """Everything that the sweep `name` yielded in its folder, which has one numbered folder per
    job; `language` is the report's. Jobs are ranked by their headline metric, which every analysis
    defines so that more is better.
    """
    jobs = read_jobs(folder)
    # in the order of the command line
    keys = dict.fromkeys(key for job in jobs for key in job.overrides)
    choices = tuple(
        key for key in keys if len({job.overrides.get(key) for job in jobs}) > 1
    )
    by_name = _named(jobs, choices)
    finished = {
        label: job for label, job in by_name.items() if job.status == "finished"
    }
    headlines = Counter(
        job.facts["headline"]
        for job in finished.values()
        if job.facts.get("headline") is not None
    )
    sweep = Sweep(finished, headlines.most_common(1)[0][0] if headlines else None)
    tests = sweep.family.table
    merits = worth(finished, tests)
    table = leaderboard(
        by_name, choices, sweep.headline, further=not merits.keys() - {"following"}
    )
    best = set(table["name"].head(MOST_AGREED))
    agreed = agree(
        [pair for pair in sweep.pairs if {pair.left, pair.right} <= best], finished
    )
    divided = variance(finished, choices, sweep)
    further = merits | {
        "described": described(finished),
        "costs": costs(finished),
        "variance": divided.table,
    }
    first, search = verdicts(table, sweep), read_search(folder)
    tell = Told("sweep", findings=[*first])
    # its verdict is that of the winner's own texts; what the trials' texts say comes after
    if search is not None:
        searched = Searched(folder, search, finished)
        tell.findings = [
            *searched.verdicts,
            Finding("sweep.on_trials"),
            *first,
            *searched.findings,
        ]
        first, further = searched.verdicts, {"trials": searched.table, **further}
    _tell_of_the_best(tell, table, sweep, fresh=search is None)
    _tell_uneven(tell, sweep)
    _tell_of_all(tell, sweep, choices)
    _tell_tests(tell, sweep)
    _draw(tell, table, sweep, agreed)
    _tell_uncertainty(tell, finished)
    # Measure by measure the tests of the best job first: of forty jobs, these can still be read.
    leader = table["name"].iloc[0] if len(table) else ""
    others = (tests[["left", "right"]] != leader).all(axis="columns")
    order = np.lexsort((others, pd.factorize(tests["measure"])[0]))
    # The rubric of a job with a result: another's may be what it failed on. Several have no scale
    # or unit in common.
    rubrics = [job.rubric for job in finished.values()]
    of_jobs = dict.fromkeys(path for job in jobs for path in job.facts.get("texts", ()))
    return SweepResult(
        name=name,
        folder=folder,
        language=language,
        jobs=table,
        choices=(
            *choices,
            *(part for part in PARTS if part in table and part not in choices),
        ),
        headline=sweep.headline,
        unit=sweep.unit,
        columns=units_of_columns(sweep),
        comparisons=tests.iloc[order].reset_index(drop=True),
        agreement=agreed,
        verdicts=len(first),
        **_matrix(
            folder,
            finished,
            [name for name in table["name"] if name in finished],
            sweep,
        ),
        findings=[*tell.findings, *divided.findings],
        figures=tell.drawings,
        tables={name: frame for name, frame in further.items() if len(frame)},
        failed=[
            (label, job.message or "")
            for label, job in by_name.items()
            if job.status != "finished"
        ],
        rubric=rubrics[0] if len({rubric.name for rubric in rubrics}) == 1 else None,
        own=next((job.own for job in finished.values()), None),
        texts=[OWN_TEXTS, *texts_beside(VarianceAnalysis), *map(texts_noted, of_jobs)],
    )


def units_of_columns(sweep: Sweep) -> dict[str, dict[str, Unit]]:
    """The units of the columns of each table of a sweep."""
    columns: dict[str, dict[str, Unit]] = {
        "jobs": {**sweep.units, "seconds": "seconds"},
        "trials": {"usd": "usd", "seconds": "seconds"},
        "comparisons": {"p": "p", "p_holm": "p"},
        "costs": {"trigger_rate": "share"},
        "variance": COMPONENT_UNITS,
    }
    for title, metrics in WORTH.items():
        columns[title] = {
            name: sweep.units.get(metric, "") for name, metric in metrics.items()
        }
    return columns


def _matrix(
    folder: Path, jobs: Mapping[str, Job], ranked: Sequence[str], sweep: Sweep
) -> dict[str, Any]:
    """What each finished job gave each item, and the items of the jobs."""
    read: list[Sequence[Item]] = []
    known: dict[str, Any] = {"numbers": {name: jobs[name].number for name in ranked}}
    for number in {
        str(job.facts.get("dataset_digest")): job.number for job in jobs.values()
    }.values():
        try:
            read.append(items_of(RunFolder(folder / str(number))))
        except UndogmaticError as error:
            known["unread"] = str(error)
    if ranked:
        known["scores"] = pd.concat(
            {name: jobs[name].scores["score"] for name in ranked},
            axis="columns",
            sort=False,
        )
    margins = {margin.value for margin in sweep.margins.values()}
    known |= {
        "items": joined(read),
        "margin": margins.pop() if len(margins) == 1 else None,
    }
    return known | {"redacted": any(job.facts.get("redact") for job in jobs.values())}


def _named(jobs: Sequence[Job], choices: Sequence[str]) -> dict[str, Job]:
    """The jobs by what sets them apart ("tfidf, anchored_pt"), else by their number; parts of a job
    by name too."""
    by_name: dict[str, Job] = {}
    for job in jobs:
        values = [
            (key.rpartition(".")[2], job.overrides.get(key, "default"))
            for key in choices
        ]
        parts = [
            f"{key}={value}" if BARE.fullmatch(value) else value
            for key, value in values
        ]
        label = ", ".join(
            [*(parts or [f"job {job.number}"]), *filter(None, [job.part])]
        )
        by_name[label if label not in by_name else f"{label} (job {job.number})"] = job
    return by_name


def _tell_of_the_best(
    tell: Told, table: pd.DataFrame, sweep: Sweep, fresh: bool
) -> None:
    """Say that the best was chosen by its score (`fresh`: and asks for fresh texts), how the others
    stand to it, and whom their own verdicts support."""
    ranked = table.loc[
        (table["status"] == "finished") & table["headline"].notna(), "name"
    ].tolist()
    if sweep.headline is None or len(ranked) < 2 or "criterion" in table:
        return
    best, *others = ranked
    if fresh:  # a search says it of its own texts
        tell.say("winner", best=best, metric=sweep.headline, n=len(ranked))
    measure, against = against_others(sweep, best, others)
    if len(against) > 1:
        shown = Counter(against["shown"])
        counts = {word: shown[word] for word in ("better", "equal", "worse")}
        counts |= {"same": shown["identical"]}
        tell.say(
            "others",
            counts,
            best=best,
            measure=measure,
            n=len(against),
            open=len(against) - sum(counts.values()),
        )
    supported = [name for name in ranked if sweep.jobs[name].standing == "supported"]
    if sweep.jobs[best].standing is not None:
        key = "others_supported" if supported else "none_supported"
        tell.say(key, names=named(supported), n=len(supported), total=len(ranked))
        if supported and len(ranked) > AT_ONCE:
            tell.say(
                "by_chance",
                n=len(ranked),
                chance=min(len(ranked) * ALPHA / AT_ONCE, 1.0),
            )


def _tell_uneven(tell: Told, sweep: Sweep) -> None:
    """Say that figures are of different texts where some jobs failed on some, and how many pairs of
    texts each job has in the right order among those that all of them judged."""
    failed = {
        name: int(job.scores["score"].isna().sum()) for name, job in sweep.jobs.items()
    }
    if len(set(failed.values())) < 2:
        return
    names = named([f"{name} {n}" for name, n in failed.items() if n])
    differences = {
        name: values_of(job, "pair_difference") for name, job in sweep.jobs.items()
    }
    known = {
        name: values.dropna()
        for name, values in differences.items()
        if values is not None
    }
    both = (
        pd.DataFrame(known).dropna()
        if len(known) == len(sweep.jobs)
        else pd.DataFrame()
    )
    if len(both):
        right = named([f"{name} {int((both[name] > 0).sum())}" for name in both])
        tell.say("uneven_pairs", names=names, n=len(both), right=right)
    else:
        tell.say("uneven", names=names)


def _tell_of_all(tell: Told, sweep: Sweep, choices: Sequence[str]) -> None:
    """Say what of the jobs cannot be compared, or needs care, and how far all of them agree."""
    finished = sweep.jobs
    criteria = Counter(job.criterion for job in sweep.jobs.values())
    if len(finished) > MOST_AGREED:
        tell.say("many", n=len(finished), most=MOST_AGREED)
    blind = {
        label: job
        for label, job in finished.items()
        if not job.facts.get("uses_prompt", True)
    }
    if blind and any(key.partition(".")[0] == "prompt" for key in choices):
        readouts = (
            str(job.facts.get("choices", {}).get("readout", "?"))
            for job in blind.values()
        )
        tell.say(
            "prompt_unused",
            names=named([*blind]),
            readouts=", ".join(dict.fromkeys(readouts)),
        )
    same = [f"{pair.left} = {pair.right}" for pair in sweep.pairs if pair.identical]
    if same:
        tell.say("identical", n=len(same), names=named(same))
    if len(criteria) > 1:
        tell.say("other_criteria", names=", ".join(criteria))
    possible = sum(n * (n - 1) // 2 for n in criteria.values())
    if len(sweep.pairs) < possible:
        tell.say("other_items", n=possible - len(sweep.pairs), total=possible)
    # Jobs with the same score for every item are one rater: a copy agrees with its original,
    # whatever it is worth.
    first = twins({name: job.scores["score"] for name, job in finished.items()})
    raters = [finished[name] for name in dict.fromkeys(first.values())]
    if len(raters) > 1 and all(job.judged == raters[0].judged for job in raters):
        ratings = np.array(
            [job.scores["score"].reindex(raters[0].scores.index) for job in raters],
            dtype=np.float64,
        )
        items = int((np.isfinite(ratings).sum(axis=0) >= 2).sum())
        alpha = (
            agreement.alpha(ratings, groups=units_of(raters[0]).tolist())
            if items
            else None
        )
        if alpha is not None:
            word = (
                "agree"
                if alpha.low >= RELIABLE
                else "roughly"
                if alpha.low >= TENTATIVE
                else "open"
            )
            word = "apart" if alpha.high < TENTATIVE else word
            tell.say(
                f"alpha_{word}",
                alpha.values("alpha"),
                jobs=len(raters),
                n=items,
                groups=alpha.n_groups,
            )
    cached = [
        label
        for label, job in finished.items()
        if job.metrics.get("calls_cached", 0) > 0
    ]
    if cached:
        tell.say("cached", names=named(cached))


def _tell_tests(tell: Told, sweep: Sweep) -> None:
    """Say what the tests of each measure show (of each criterion, which has its margin), and how
    all are corrected."""
    family = sweep.family
    table = family.table[family.table["p"].notna()]
    several = "_of" if len(sweep.margins) > 1 else ""
    criteria = table["left"].map(lambda name: sweep.jobs[name].criterion)
    criteria = criteria.where(table["measure"].isin(WITH_MARGIN), "")
    for (measure, criterion), rows in table.groupby(["measure", criteria], sort=False):
        values = {
            "measure": measure,
            "n": int((rows["p_holm"] < ALPHA).sum()),
            "total": len(rows),
        }
        if len(rows) == 1 and not several:  # counts of one pair are hard to read
            one = rows.iloc[0]
            margin = sweep.margins[sweep.jobs[rows["left"].iloc[0]].criterion].value
            values |= {"left": one["left"], "right": one["right"]}
            if measure not in WITH_MARGIN:
                tell.say("pair_apart" if values["n"] else "pair_alike", values)
            else:
                tell.say(
                    f"pair_{one['shown'] if one['shown'] in ('equal', 'open') else 'beyond'}",
                    values,
                    margin=margin,
                )
            continue
        if measure not in WITH_MARGIN:
            tell.say("tests" if values["n"] < len(rows) else "tests_all", values)
            continue
        shown = Counter(rows["shown"])
        values |= {
            "equal": shown["equal"],
            "open": shown["open"],
            "apart": len(rows) - shown["equal"] - shown["open"],
        }
        margin = sweep.margins[str(criterion)].value
        tell.say(f"tests_margin{several}", values, margin=margin, criterion=criterion)
    if family.size:
        measures = list(table["measure"].unique())
        tell.say(
            "family",
            n=family.size,
            measures=measures,
            level=1 - family.alpha,
            alpha=ALPHA,
        )


def _tell_uncertainty(tell: Told, finished: Mapping[str, Job]) -> None:
    """Say which job leaves the least risk, and draw the error caught by share reviewed, a line for
    each of the best."""
    areas, gains = (
        {
            name: job.metrics[metric]
            for name, job in finished.items()
            if metric in job.metrics
        }
        for metric in ("calibration.aurc", "calibration.review_gain")
    )
    if len(areas) > 1 and len({finished[name].criterion for name in areas}) == 1:
        best = min(areas, key=areas.__getitem__)
        low, high, mae = (
            finished[best].metrics[f"calibration.{name}"]
            for name in ("aurc_low", "aurc_high", "mae")
        )
        tell.say(
            "least_risk", best=best, value=areas[best], mae=mae, interval=(low, high)
        )
    lines = {}
    for name in (
        sorted(gains, key=gains.__getitem__, reverse=True)[:MOST_CURVES]
        if len(gains) > 1
        else ()
    ):
        items = finished[name].items
        # The curve itself is exact; one resample because the band is not used.
        curve = review.curve(
            "caught",
            items["uncertainty"],
            items["error"],
            np.random.default_rng(0),
            n_resamples=1,
        )
        lines[name] = {"x": curve.share.tolist(), "y": curve.guided.tolist()}
    if lines:
        n = len(finished[next(iter(lines))].items)
        tell.draw(
            "review", "curve", lines=lines, x_label="reviewed", y_label="caught", n=n
        )


def _draw(tell: Told, table: pd.DataFrame, sweep: Sweep, agreed: pd.DataFrame) -> None:
    """Draw the leaderboard, quality by cost, and how the jobs agree."""
    headline = sweep.headline
    ranked = table[table["headline"].notna()]
    if headline is not None and len(ranked) > 1:
        columns = {
            "labels": "name",
            "estimate": "headline",
            "low": "low",
            "high": "high",
        }
        shown = {name: ranked[column].tolist() for name, column in columns.items()}
        tell.draw("leaderboard", "forest", **shown, x_label=headline)
        cost = (
            "usd"
            if "usd" in ranked
            and ranked["usd"].notna().all()
            and ranked["usd"].max() > 0
            else "seconds"
        )
        # not known where all answers came from the cache
        ranked = ranked[ranked[cost].notna()]
        if len(ranked) > 1:
            x, y = ranked[cost], ranked["headline"]
            groups = np.where(
                front(y.to_numpy(), x.to_numpy()), "front", "behind"
            ).tolist()
            marks = ranked[
                ["number", *(part for part in PARTS if part in ranked)]
            ].astype(str)
            # names would cover one another
            labels = marks.agg(" ".join, axis=1).tolist()
            data = {
                "x": x.tolist(),
                "y": y.tolist(),
                "groups": groups,
                "labels": labels,
            }
            tell.draw("cost", "scatter", **data, x_label=cost, y_label=headline)
    # of three jobs or more: Spearman's correlation as a square; NaN where it does not exist
    if len(agreed) > 2:
        names = list(dict.fromkeys([*agreed["left"], *agreed["right"]]))
        half = agreed.pivot(
            index="left", columns="right", values="spearman_between"
        ).astype(np.float64)
        half = half.reindex(index=names, columns=names)
        square = half.fillna(half.T).to_numpy(copy=True)
        np.fill_diagonal(square, 1.0)
        tell.draw(
            "agreement",
            "heatmap",
            matrix=square.tolist(),
            rows=names,
            columns=names,
            label="correlation",
        )
    if len(sweep.pairs) == 1 and not sweep.pairs[0].identical:
        a, b, limits = sweep.pairs[0].a, sweep.pairs[0].b, agreed.iloc[0]
        both = [
            sweep.jobs[name].scores["score"]
            for name in (sweep.pairs[0].left, sweep.pairs[0].right)
        ]
        ids = (
            pd.concat(both, axis="columns")
            .reindex(both[0].index)
            .dropna()
            .index.tolist()
        )
        pairs = {
            "mean": ((a + b) / 2).tolist(),
            "difference": (a - b).tolist(),
            "ids": ids,
        }
        ends = {
            key: float(limits[name])
            for key, name in zip(
                ("bias", "lower", "upper"),
                ("bias", "limit_low", "limit_high"),
                strict=True,
            )
        }
        tell.draw(
            "bland_altman",
            "bland_altman",
            **pairs,
            **ends,
            x_label="mean_of_two",
            y_label="difference",
        )


def leaderboard(
    by_name: Mapping[str, Job],
    choices: Sequence[str],
    headline: str | None,
    further: bool,
) -> pd.DataFrame:
    """One row per job, best first, jobs without a result last; see SweepResult. `further`: with
    related metrics."""
    if not by_name:
        return pd.DataFrame(
            columns=["number", "name", "status", "headline", "low", "high"]
        )
    jobs = list(by_name.values())
    present = dict.fromkeys(metric for job in jobs for metric in job.metrics)
    columns: dict[str, list[Any]] = {
        "number": [job.number for job in jobs],
        "name": [*by_name],
        "status": [job.status for job in jobs],
    }
    for key in choices:
        columns[key] = [job.overrides.get(key, "default") for job in jobs]
    criteria = {job.criterion for job in jobs if job.status == "finished"}
    if len(criteria) > 1 or any(job.part for job in jobs):
        for part in PARTS:
            columns[part] = [getattr(job, part) for job in jobs]
    if any(job.standing for job in jobs):
        columns["standing"] = [job.standing for job in jobs]
    for column, end in (("headline", ""), ("low", "_low"), ("high", "_high")):
        columns[column] = [job.metrics.get(f"{headline}{end}", np.nan) for job in jobs]
    related = _related(present, headline, jobs) if further else []
    columns |= _with_intervals(jobs, {name: name for name in related[:MOST_INTERVALS]})
    for count in COUNTS:
        if count in present:
            columns[count] = [job.metrics.get(count) for job in jobs]
    # From the journal, not the run's own clock: a continued run judges nothing again.
    columns["seconds"] = [
        float(job.scores["seconds"].mean()) if len(job.scores) else np.nan
        for job in jobs
    ]
    if "usd" in present:
        columns["usd"] = [job.metrics.get("usd", np.nan) for job in jobs]
    table = pd.DataFrame(columns)
    places = pd.factorize(pd.Series([job.criterion for job in jobs]))[0]
    # The last of these is what is sorted by first.
    order = np.lexsort(
        (table["number"], -table["headline"], places, table["status"] != "finished")
    )
    table = table.iloc[order].reset_index(drop=True)
    return table if places.any() else table.drop(columns="criterion", errors="ignore")


def _related(
    present: Collection[str], headline: str | None, jobs: Sequence[Job]
) -> list[str]:
    """The metrics with an interval that stand beside a headline: of the same analysis, none of
    which repeats another, those with the shortest names first."""

    def analysis(metric: str) -> str:
        return metric.partition(".")[0]

    related = [
        metric
        for metric in present
        if metric != headline and f"{metric}_low" in present
    ]
    if headline is not None:
        related = [name for name in related if analysis(name) == analysis(headline)]
    once = [
        metric
        for metric in related
        if not any(_repeats(metric, other, jobs) for other in related)
    ]
    # "ab.auc" before "ab.length_adjusted.words"
    return sorted(once, key=lambda metric: metric.count("."))


def _repeats(metric: str, other: str, jobs: Sequence[Job]) -> bool:
    """Whether the other metric has the same number in every job that has this one, with wider
    intervals: a number has one interval in a report, the more careful one."""
    numbers = [job.metrics for job in jobs if metric in job.metrics]

    def of_jobs(name: str) -> np.ndarray:
        return np.array([own.get(name, np.nan) for own in numbers], dtype=float)

    own_low, own_high, low, high = (
        of_jobs(f"{name}{end}") for name in (metric, other) for end in ENDS
    )
    # An end that nothing limits, or that is not there, says nothing of which is the wider one.
    limited = np.isfinite([own_low, own_high, low, high]).all(axis=0)
    own_width = (own_high - own_low)[limited].sum()
    width = (high - low)[limited].sum()
    same = np.allclose(of_jobs(metric), of_jobs(other), rtol=1e-9)
    return bool(same and width > own_width)


def _with_intervals(
    jobs: Collection[Job], metrics: Mapping[str, str]
) -> dict[str, list[Any]]:
    """Metrics of the jobs' own reports by the column that each is for, with its interval where that
    has both ends."""
    columns: dict[str, list[Any]] = {}
    for name, metric in metrics.items():
        columns[name] = [job.metrics.get(metric, np.nan) for job in jobs]
        low, high = (
            [job.metrics.get(f"{metric}{end}") for job in jobs] for end in ENDS
        )
        pairs = zip(low, high, strict=True)
        columns[f"{name}_interval"] = [
            None if None in ends or np.isinf(ends).any() else ends  # type: ignore[arg-type]
            for ends in pairs
        ]
    return columns


def worth(finished: Mapping[str, Job], tests: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the jobs' own reports say of their uncertainty and of how they follow labels, a row per
    job: the tables of WORTH, without those that no job has anything for (or only one follows
    labels).

    Per metric m the columns are m, m_interval and, for those that were tested
    (`Sweep.family.table`), m_group: two jobs share a letter exactly if their test is not
    significant (ALPHA, after Holm).
    """
    calibrated = {
        name: job
        for name, job in finished.items()
        if "calibration.judged" in job.metrics
    }
    following = {
        name: job
        for name, job in finished.items()
        if job.facts.get("headline") in FOLLOWS
    }
    tables = {}
    for title, metrics in WORTH.items():
        if title != "following":
            table = _worth_of(calibrated, metrics, tests)
        elif len(following) > 1:
            table = _worth_of(following, metrics, tests)
            for count in ("judged", "failed"):
                known = [
                    job.metrics.get(f"labelled.{count}") for job in following.values()
                ]
                if None not in known:
                    table[f"n_{count}"] = [int(n or 0) for n in known]
        else:
            continue
        if len(table.columns) > 1:
            tables[title] = table
    return tables


def _worth_of(
    jobs: Mapping[str, Job], metrics: Mapping[str, str], tests: pd.DataFrame
) -> pd.DataFrame:
    """A table of WORTH: the metrics that any of the jobs has, with intervals, and with letters
    where they were tested."""
    columns: dict[str, list[Any]] = {"name": [*jobs]}
    for name, metric in metrics.items():
        columns |= _with_intervals(jobs.values(), {name: metric})
        if name in (*MERITS, *FOLLOWING):
            values = pd.Series(columns[name], columns["name"])
            letters = _letters(values, tests[tests["measure"] == name], -BETTER[name])
            columns[f"{name}_group"] = [letters.get(job, np.nan) for job in jobs]
    return pd.DataFrame(columns).dropna(axis="columns", how="all")


def _letters(values: pd.Series, tests: pd.DataFrame, sign: int) -> dict[str, str]:
    """Letters of the jobs that were tested; the best get the first ones. {} where two of them were
    not compared."""
    tests = tests[tests["left"].isin(values.index) & tests["right"].isin(values.index)]
    compared = {
        frozenset(pair) for pair in zip(tests["left"], tests["right"], strict=True)
    }
    tested = set().union(*compared)
    names = [
        name
        for name in (sign * values).sort_values(kind="stable").index
        if name in tested
    ]
    if len(compared) < len(names) * (len(names) - 1) // 2:
        return {}
    apart = tests[tests["p_holm"] < ALPHA]
    return letter_display(names, list(zip(apart["left"], apart["right"], strict=True)))


def described(finished: Mapping[str, Job]) -> pd.DataFrame:
    """Coverage, width and seconds of every two jobs: mean difference with its interval of level
    0.95, untested.

    Returns:
        Columns left, right, measure, difference (left minus right), low, high, n; what one of the
        two lacks, or both have the same, is left out.
    """
    rows = []
    pairs = list(judged_both(uncertain(finished), finished, "truth"))
    for measure, name in DESCRIBED.items():
        for left, right, a, b, _ in pairs:
            difference = (a[name] - b[name]).round(NOISE)
            if difference.notna().all() and difference.any():
                low, high = mean_interval(difference, a["unit"]) or (np.nan, np.nan)
                rows.append(
                    (
                        left,
                        right,
                        measure,
                        float(difference.mean()),
                        low,
                        high,
                        a["unit"].nunique(),
                    )
                )
    return pd.DataFrame(
        rows, columns=["left", "right", "measure", "difference", "low", "high", "n"]
    )


def mean_interval(values: pd.Series, groups: pd.Series) -> tuple[float, float] | None:
    """The interval of level 0.95 of a mean over independent groups, or None for fewer than two of
    them."""
    return (
        means.interval(values, groups=groups.tolist()).interval
        if groups.nunique() > 1
        else None
    )


def agree(pairs: Sequence[Pair], jobs: Mapping[str, Job]) -> pd.DataFrame:
    """Agreement of the scores of every pair: columns AGREEMENT, in score units where they have a
    unit.

    Kappa is quadratically weighted over the rubric's levels, each score standing for the nearest. A
    coefficient that does not exist (a job that gives every item one score) is None.
    """
    kinds: tuple[agreement.Kind, ...] = ("pearson", "spearman", "kendall")
    rows = []
    for left, right, a, b, _ in pairs:
        levels = jobs[left].levels
        steps = agreement.nearest_level(a, levels), agreement.nearest_level(b, levels)
        limits = agreement.bland_altman(a, b)
        numbers = [agreement.correlation(kind, a, b) for kind in kinds]
        numbers += [
            agreement.weighted_kappa(*steps, levels),
            agreement.krippendorff_alpha(np.stack([a, b])),
        ]
        ends = limits.bias.value, limits.lower.value, limits.upper.value
        rows.append(
            (
                left,
                right,
                len(a),
                *(number.estimate for number in numbers),
                *ends,
                limits.drift,
            )
        )
    return pd.DataFrame(rows, columns=AGREEMENT)


def costs(finished: Mapping[str, Job]) -> pd.DataFrame:
    """What the jobs took per text, and as multiples of the cheapest of them; columns without any
    number are left out.

    Calls include those that the cache answered, since that is what the procedure needs; tokens,
    seconds and money are of the judgments without any (see `examinations.costs`). The cheapest job
    has the fewest calls, then the fewest seconds.

    Returns:
        Columns name, <quantity>_per_item (seconds with its interval) and <quantity>_ratio per
        COSTS, trigger_rate (of a selective judge).
    """
    if len(finished) < 2:
        return pd.DataFrame()
    spent = pd.DataFrame([job.costs for job in finished.values()])
    spent["tokens"] = spent["input_tokens"] + spent["output_tokens"]
    # of the first repeat
    spent["seconds"] = [
        float(job.scores["seconds"].mean()) for job in finished.values()
    ]
    cheapest = spent.sort_values(["calls", "seconds"], kind="stable").iloc[0]
    table = pd.DataFrame({"name": [*finished]})
    for quantity in COSTS:
        table[f"{quantity}_per_item"], base = spent[quantity], float(cheapest[quantity])
        if quantity == "seconds":
            known = [job.scores.dropna(subset="seconds") for job in finished.values()]
            found = [mean_interval(rows["seconds"], rows["group"]) for rows in known]
            table["seconds_per_item_interval"] = [
                ends and (max(0.0, ends[0]), ends[1]) for ends in found
            ]
        table[f"{quantity}_ratio"] = spent[quantity] / base if base > 0 else np.nan
    table["trigger_rate"] = [
        job.metrics.get("costs.trigger_rate", np.nan) for job in finished.values()
    ]
    return table.dropna(axis="columns", how="all")


def variance(
    finished: Mapping[str, Job], choices: Sequence[str], sweep: Sweep
) -> Divided:
    """Where the variance of the scores comes from: what varies between the jobs that judged the
    same items, crossed with the items; without a table where there are none or several criteria,
    and with a sentence where the jobs do not cross what varies in full. Where one thing varies,
    jobs with the same scores are one, and how many to average is not said of fewer than
    FEWEST_AVERAGED."""
    jobs, nothing = list(finished.values()), Divided(None, pd.DataFrame(), [])
    if (
        len(jobs) < 2
        or len({(job.criterion, frozenset(job.scores.index)) for job in jobs}) > 1
    ):
        return nothing
    frames = []
    facets = [key for key in choices if key.partition(".")[0] not in UNHEARD]
    several = {"judge"} if any(job.part for job in jobs) else set()
    facets += several - {*facets}
    for job in jobs:
        settings = {
            key: job.judge if key in several else job.overrides.get(key, "default")
            for key in facets
        }
        frames.append(
            job.scores[["score", "group"]]
            .rename_axis("item_id")
            .reset_index()
            .assign(**settings)
        )
    if len(facets) == 1:
        copies = {pair.right for pair in sweep.pairs if pair.identical}
        frames = [
            frame
            for name, frame in zip(finished, frames, strict=True)
            if name not in copies
        ]
    table = pd.concat(frames, ignore_index=True).drop_duplicates(["item_id", *facets])
    if not any(table[key].nunique() > 1 for key in facets):
        return nothing
    divided = of_scores(table, facets)
    if max(table[key].nunique() for key in facets) < FEWEST_AVERAGED:
        divided = divided._replace(
            findings=[f for f in divided.findings if f.key not in AVERAGING]
        )
    return divided
