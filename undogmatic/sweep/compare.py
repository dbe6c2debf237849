"""The jobs of a sweep side by side: who leads, whether by more than chance, what agrees, and at what cost."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.reliability import RELIABLE, TENTATIVE
from undogmatic.analyses.variance import VarianceAnalysis
from undogmatic.records.results import Finding, Telling
from undogmatic.records.wordings import texts_beside
from undogmatic.runs.outcome import SweepResult
from undogmatic.stats import review
from undogmatic.stats.selection import front
from undogmatic.sweep import tables
from undogmatic.sweep.family import ALPHA, WITH_MARGIN, Sweep
from undogmatic.sweep.jobs import Job, read_jobs, varying
from undogmatic.sweep.trials import read_search
from undogmatic.sweep.verdicts import Searched, against_others, named, verdicts

OWN_TEXTS = Path(__file__).with_name("compare.texts.yaml")
FEWEST_FOR_HEATMAP = 3  # pairs, that is three jobs; two have the Bland-Altman plot
MOST_AGREED = 12
"""Of more jobs, agreement is given between the best: nobody reads 780 rows or a square of forty names."""
MOST_CURVES = 7


def compare(folder: Path, name: str, language: str) -> SweepResult:
    """Everything the sweep in `folder` yielded.

    Jobs are ranked by their headline metric, which every analysis defines so that more is better.

    Args:
        folder: The sweep's folder, with one numbered folder per job.
        name: Name of the sweep.
        language: Of the report.
    """
    jobs = read_jobs(folder)
    choices = varying(jobs)
    by_name = _named(jobs, choices)
    finished = {label: job for label, job in by_name.items() if job.status == "finished"}
    headlines = Counter(job.facts["headline"] for job in finished.values() if job.facts.get("headline") is not None)
    sweep = Sweep(finished, headlines.most_common(1)[0][0] if headlines else None)
    tests = sweep.family.table
    worth = tables.worth(finished, tests)
    leaderboard = tables.leaderboard(by_name, choices, sweep.headline, further=not worth)
    best = set(leaderboard["name"].head(MOST_AGREED))
    agreement = tables.agree([pair for pair in sweep.pairs if {pair.left, pair.right} <= best], finished)
    variance = tables.variance(finished, choices)
    further = worth | {
        "following": tables.following(finished),
        "described": tables.described(finished),
        "costs": tables.costs(finished),
        "variance": variance.table,
    }
    tell = Telling("sweep")
    on_trials, search = verdicts(leaderboard, sweep), read_search(folder)
    count = len(on_trials)
    if search is None:
        tell.findings += on_trials
    else:  # its verdict is that of the winner's own texts; what the trials' texts say comes after
        searched = Searched(folder, search, finished)
        count = len(searched.verdicts)
        tell.findings += [*searched.verdicts, Finding("sweep.on_trials"), *on_trials, *searched.findings]
        further = {"trials": searched.table, **further}
    _tell_of_the_best(tell, leaderboard, sweep)
    _tell_of_all(tell, sweep, choices)
    _tell_tests(tell, sweep)
    _draw(tell, leaderboard, sweep, agreement)
    _tell_uncertainty(tell, finished)
    # Measure by measure the tests of the best job first: of forty jobs, these can still be read.
    leader = leaderboard["name"].iloc[0] if len(leaderboard) else ""
    others = (tests[["left", "right"]] != leader).all(axis="columns")
    order = np.lexsort((others, pd.factorize(tests["measure"])[0]))
    # The rubric of a job with a result: another's may be what it failed on. Several have no scale or unit in common.
    rubrics = [job.rubric for job in finished.values()]
    return SweepResult(
        name=name,
        folder=folder,
        language=language,
        jobs=leaderboard,
        choices=(*choices, *(part for part in tables.PARTS if part in leaderboard and part not in choices)),
        headline=sweep.headline,
        comparisons=tests.iloc[order].reset_index(drop=True),
        agreement=agreement,
        verdicts=count,
        findings=[*tell.findings, *variance.findings],
        figures=tell.figures,
        tables={name: frame for name, frame in further.items() if len(frame)},
        failed=[(label, job.message or "") for label, job in by_name.items() if job.status != "finished"],
        rubric=rubrics[0] if len({rubric.name for rubric in rubrics}) == 1 else None,
        texts=[
            OWN_TEXTS,
            *texts_beside(VarianceAnalysis),
            *dict.fromkeys(Path(path) for job in jobs for path in job.facts.get("texts", ())),
        ],
    )


def _named(jobs: Sequence[Job], choices: Sequence[str]) -> dict[str, Job]:
    """The jobs by what sets them apart ("tfidf, anchored_pt"), and by their number where that does not; of several
    judges or criteria in one job each by its name too. A switch or a number says nothing without its key."""
    by_name: dict[str, Job] = {}
    for job in jobs:
        parts = []
        for key in choices:
            value = job.overrides.get(key, "default")
            bare = value.lower() in ("true", "false", "null") or re.fullmatch(r"[-+]?\d[\d.]*(e[-+]?\d+)?", value)
            parts.append(f"{key.rpartition('.')[2]}={value}" if bare else value)
        label = ", ".join(parts) or f"job {job.number}"
        label = f"{label}, {job.part}" if job.part else label
        by_name[label if label not in by_name else f"{label} (job {job.number})"] = job
    return by_name


def _tell_of_the_best(tell: Telling, table: pd.DataFrame, sweep: Sweep) -> None:
    """Say that the best was chosen by what it is praised for, how the others stand to it, and whom their own verdicts
    support."""
    ranked = table.loc[(table["status"] == "finished") & table["headline"].notna(), "name"].tolist()
    if sweep.headline is None or len(ranked) < 2 or "criterion" in table:
        return
    best, *others = ranked
    tell.say("winner", best=best, metric=sweep.headline, n=len(ranked))
    measure, against = against_others(sweep, best, others)
    if len(against) > 1:
        shown = Counter(word for word, _ in against.values())
        counts = {word: shown[word] for word in ("better", "equal", "worse")}
        tell.say("others", counts, best=best, measure=measure, n=len(against), open=len(against) - sum(counts.values()))
    supported = [name for name in ranked if sweep.jobs[name].standing == "supported"]
    if sweep.jobs[best].standing not in (None, "supported"):
        key = "others_supported" if supported else "none_supported"
        tell.say(key, names=named(supported), n=len(supported), total=len(ranked))


def _tell_of_all(tell: Telling, sweep: Sweep, choices: Sequence[str]) -> None:
    """Say what of the jobs cannot be compared, or needs care, and how far all of them agree."""
    finished, criteria = sweep.jobs, Counter(job.criterion for job in sweep.jobs.values())
    if len(finished) > MOST_AGREED:
        tell.say("many", n=len(finished), most=MOST_AGREED)
    blind = {label: job for label, job in finished.items() if not job.facts.get("uses_prompt", True)}
    if blind and any(key.partition(".")[0] == "prompt" for key in choices):
        readouts = (str(job.facts.get("choices", {}).get("readout", "?")) for job in blind.values())
        tell.say("prompt_unused", names=named([*blind]), readouts=", ".join(dict.fromkeys(readouts)))
    same = [f"{pair.left} = {pair.right}" for pair in sweep.pairs if pair.identical]
    if same:
        tell.say("identical", n=len(same), names=named(same))
    if len(criteria) > 1:
        tell.say("other_criteria", names=", ".join(criteria))
    possible = sum(n * (n - 1) // 2 for n in criteria.values())
    if len(sweep.pairs) < possible:
        tell.say("other_items", n=possible - len(sweep.pairs), total=possible)
    overall = tables.overall_alpha(finished)
    if overall is not None:
        alpha, n_jobs, items = overall
        word = "agree" if alpha.low >= RELIABLE else "roughly" if alpha.low >= TENTATIVE else "open"
        word = "apart" if alpha.high < TENTATIVE else word
        tell.say(f"alpha_{word}", alpha.values("alpha"), jobs=n_jobs, n=items, groups=alpha.n_groups)
    cached = [label for label, job in finished.items() if job.metrics.get("calls_cached", 0) > 0]
    if cached:
        tell.say("cached", names=named(cached))


def _tell_tests(tell: Telling, sweep: Sweep) -> None:
    """Say what all the tests show, measure by measure (and criterion by criterion, as each has its margin), and how
    they were corrected."""
    family = sweep.family
    table = family.table[family.table["p"].notna()]
    several = "_of" if len(sweep.margins) > 1 else ""
    criteria = table["left"].map(lambda name: sweep.jobs[name].criterion)
    for (measure, criterion), rows in table.groupby(
        ["measure", criteria.where(table["measure"].isin(WITH_MARGIN), "")], sort=False
    ):
        values = {"measure": measure, "n": int((rows["p_holm"] < ALPHA).sum()), "total": len(rows)}
        if measure not in WITH_MARGIN:
            tell.say("tests", values)
            continue
        shown = Counter(rows["shown"])
        values |= {"equal": shown["equal"], "open": shown["open"], "apart": len(rows) - shown["equal"] - shown["open"]}
        margin = sweep.margins[str(criterion)].value
        tell.say(f"tests_margin{several}", values, margin=margin, criterion=criterion)
    if family.size:
        measures = list(table["measure"].unique())
        tell.say("family", n=family.size, measures=measures, level=1 - family.alpha, alpha=ALPHA)


def _tell_uncertainty(tell: Telling, finished: Mapping[str, Job]) -> None:
    """Say which job leaves the least risk, and draw the error caught by share reviewed, a line per job; at most seven
    can be told apart, so the best seven."""

    def having(metric: str) -> dict[str, float]:
        return {name: job.metrics[metric] for name, job in finished.items() if metric in job.metrics}

    areas, gains = having("calibration.aurc"), having("calibration.review_gain")
    if len(areas) > 1 and len({finished[name].criterion for name in areas}) == 1:
        best = min(areas, key=lambda name: areas[name])
        metrics = finished[best].metrics
        interval = (metrics["calibration.aurc_low"], metrics["calibration.aurc_high"])
        tell.say("least_risk", best=best, value=areas[best], mae=metrics["calibration.mae"], interval=interval)
    if len(gains) < 2:
        return
    lines: dict[str, Any] = {}
    for name in sorted(gains, key=lambda name: -gains[name])[:MOST_CURVES]:
        items = finished[name].items
        # The curve itself is exact; one resample because the band is not used.
        curve = review.curve("caught", items["uncertainty"], items["error"], np.random.default_rng(0), n_resamples=1)
        lines[name] = {"x": curve.share.tolist(), "y": curve.guided.tolist()}
    n = len(finished[next(iter(lines))].items)
    tell.draw("review", "curve", lines=lines, x_label="reviewed", y_label="caught", n=n)


def _draw(tell: Telling, table: pd.DataFrame, sweep: Sweep, agreement: pd.DataFrame) -> None:
    """Draw the leaderboard, quality by cost, and how the jobs agree."""
    headline = sweep.headline
    ranked = table[table["headline"].notna()]
    if headline is not None and len(ranked) > 1:
        ends = {end: ranked[end].tolist() for end in ("low", "high")}
        estimate = ranked["headline"].tolist()
        tell.draw("leaderboard", "forest", labels=ranked["name"].tolist(), estimate=estimate, **ends, x_label=headline)
        cost = "usd" if "usd" in ranked and ranked["usd"].notna().all() and ranked["usd"].max() > 0 else "seconds"
        ranked = ranked[ranked[cost].notna()]  # not known where all answers came from the cache
        if len(ranked) > 1:
            on_front = front(ranked["headline"].to_numpy(), ranked[cost].to_numpy())
            marks = ranked[["number", *(part for part in tables.PARTS if part in ranked)]].astype(str)
            tell.draw(
                "cost",
                "scatter",
                x=ranked[cost].tolist(),
                y=ranked["headline"].tolist(),
                groups=np.where(on_front, "front", "behind").tolist(),
                labels=marks.agg(" ".join, axis=1).tolist(),  # names would cover one another
                x_label=cost,
                y_label=headline,
            )
    if len(agreement) >= FEWEST_FOR_HEATMAP:  # Spearman's correlation as a square; NaN where it does not exist
        names = list(dict.fromkeys([*agreement["left"], *agreement["right"]]))
        half = agreement.set_index(["left", "right"])["spearman_between"].astype(np.float64).unstack()
        half = half.reindex(index=names, columns=names)
        square = half.fillna(half.T).to_numpy(copy=True)
        np.fill_diagonal(square, 1.0)
        tell.draw("agreement", "heatmap", matrix=square.tolist(), rows=names, columns=names, label="correlation")
    if len(sweep.pairs) == 1 and not sweep.pairs[0].identical:
        a, b, limits = sweep.pairs[0].a, sweep.pairs[0].b, agreement.iloc[0]
        pairs = {"mean": ((a + b) / 2).tolist(), "difference": (a - b).tolist()}
        ends = {key: float(limits[key]) for key in ("bias", "lower", "upper")}
        tell.draw("bland_altman", "bland_altman", **pairs, **ends, x_label="mean_of_two", y_label="difference")
