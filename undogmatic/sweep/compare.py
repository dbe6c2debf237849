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
from undogmatic.records.results import FigureData, Finding
from undogmatic.records.rubric import Rubric
from undogmatic.records.wordings import texts_beside
from undogmatic.runs.outcome import SweepResult
from undogmatic.stats import review
from undogmatic.stats.selection import front
from undogmatic.sweep import tables
from undogmatic.sweep.family import ALPHA, WITH_MARGIN, Sweep
from undogmatic.sweep.jobs import Job, read_jobs, varying
from undogmatic.sweep.verdicts import against_others, named, of_search, verdicts

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
    sweep = Sweep(finished, _headline(list(finished.values())))
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
    own, searched = verdicts(leaderboard, sweep), of_search(folder, finished)
    said, count = own, len(own)
    if searched is not None:  # its verdict is that of the winner's own texts; what the trials' texts say comes after
        said = [*searched.verdicts, *(Finding("sweep.on_trials") for _ in own[:1]), *own, *searched.findings]
        count = len(searched.verdicts)
        further = {"trials": searched.table, **further}
    return SweepResult(
        name=name,
        folder=folder,
        language=language,
        jobs=leaderboard,
        choices=(*choices, *(part for part in tables.PARTS if part in leaderboard and part not in choices)),
        headline=sweep.headline,
        comparisons=_best_first(tests, leaderboard),
        agreement=agreement,
        verdicts=count,
        findings=[
            *said,
            *_of_the_best(leaderboard, sweep),
            *_findings(sweep, choices),
            *_tests(sweep),
            *_least_risk(finished),
            *variance.findings,
        ],
        figures=[*_figures(leaderboard, sweep, agreement), *_curves(finished)],
        tables={name: frame for name, frame in further.items() if len(frame)},
        failed=[(label, job.message or "") for label, job in by_name.items() if job.status != "finished"],
        rubric=_rubric(jobs),
        texts=[
            OWN_TEXTS,
            *texts_beside(VarianceAnalysis),
            *dict.fromkeys(Path(path) for job in jobs for path in job.facts.get("texts", ())),
        ],
    )


def _best_first(tests: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Measure by measure the tests of the best job first: of forty jobs, these can still be read."""
    best = table["name"].iloc[0] if len(table) else ""
    measures = {measure: n for n, measure in enumerate(dict.fromkeys(tests["measure"]))}
    others = (tests["left"] != best) & (tests["right"] != best)
    order = pd.DataFrame({"measure": tests["measure"].map(measures), "others": others})
    return tests.loc[order.sort_values(["measure", "others"], kind="stable").index].reset_index(drop=True)


def _named(jobs: Sequence[Job], choices: Sequence[str]) -> dict[str, Job]:
    """The jobs by what sets them apart ("tfidf, anchored_pt"), and by their number where that does not; of several
    judges or criteria in one job each by its name too."""
    found: dict[str, Job] = {}
    for job in jobs:
        label = ", ".join(_told(key, job.overrides.get(key, "default")) for key in choices) or f"job {job.number}"
        if job.part:
            label = f"{label}, {job.part}"
        found[label if label not in found else f"{label} (job {job.number})"] = job
    return found


def _told(key: str, value: str) -> str:
    """A choice as it names a job: the value, and with its key where it would say nothing by itself, as a switch or a
    number does."""
    bare = value.lower() in ("true", "false", "null") or re.fullmatch(r"[-+]?\d[\d.]*(e[-+]?\d+)?", value)
    return f"{key.rpartition('.')[2]}={value}" if bare else value


def _headline(jobs: Sequence[Job]) -> str | None:
    """The headline metric that most jobs have, or None."""
    named = Counter(job.facts["headline"] for job in jobs if job.facts.get("headline") is not None)
    return named.most_common(1)[0][0] if named else None


def _rubric(jobs: Sequence[Job]) -> Rubric | None:
    """That of the first job with a result (another's may be what it failed on); None where jobs judged by several, as
    their scores have neither scale nor unit in common."""
    finished = [job.rubric for job in jobs if job.status == "finished"]
    return finished[0] if len({rubric.name for rubric in finished}) == 1 else None


def _of_the_best(table: pd.DataFrame, sweep: Sweep) -> list[Finding]:
    """That the best was chosen by what it is praised for, how the others stand to it, and whom their own verdicts
    support."""
    ranked = table[(table["status"] == "finished") & table["headline"].notna()]
    if sweep.headline is None or len(ranked) < 2 or "criterion" in table:
        return []
    best, *others = map(str, ranked["name"])
    found = [Finding("sweep.winner", {"best": best, "metric": sweep.headline, "n": len(ranked)})]
    measure, against = against_others(sweep, best, others)
    if len(against) > 1:
        shown = Counter(said for said, _ in against.values())
        counts = {said: shown[said] for said in ("better", "equal", "worse")}
        counts |= {"n": len(against), "open": len(against) - sum(counts.values())}
        found.append(Finding("sweep.others", {"best": best, "measure": measure, **counts}))
    supported = [name for name in (best, *others) if sweep.jobs[name].standing == "supported"]
    if sweep.jobs[best].standing not in (None, "supported"):
        key = "sweep.others_supported" if supported else "sweep.none_supported"
        found.append(Finding(key, {"names": named(supported), "n": len(supported), "total": len(ranked)}))
    return found


def _tests(sweep: Sweep) -> list[Finding]:
    """What all the tests show, measure by measure (and criterion by criterion, as each has its margin), and how they
    were corrected."""
    family = sweep.family
    table = family.table[family.table["p"].notna()]
    several = "_of" if len(sweep.margins) > 1 else ""
    found = []
    for measure in table["measure"].unique():
        own = table[table["measure"] == measure]
        if measure not in WITH_MARGIN:
            found.append(Finding("sweep.tests", _counted(own)))
            continue
        for criterion, rows in own.groupby(own["left"].map(lambda name: sweep.jobs[name].criterion), sort=False):
            shown = rows["shown"].value_counts()
            values = _counted(rows) | {key: int(shown.get(key, 0)) for key in ("equal", "open")}
            values |= {"margin": sweep.margins[str(criterion)].value, "criterion": criterion}
            values |= {"apart": len(rows) - values["equal"] - values["open"]}
            found.append(Finding(f"sweep.tests_margin{several}", values))
    if family.size:
        values = {"n": family.size, "measures": list(table["measure"].unique()), "level": 1 - family.alpha}
        found.append(Finding("sweep.family", values | {"alpha": ALPHA}))
    return found


def _counted(rows: pd.DataFrame) -> dict[str, Any]:
    """Of the tested pairs of jobs by one measure, how many there are and how many differ by more than chance."""
    differing = int((rows["p_holm"] < ALPHA).sum())
    return {"measure": rows["measure"].iloc[0], "n": differing, "total": len(rows)}


def _least_risk(finished: Mapping[str, Job]) -> list[Finding]:
    areas = {
        name: job.metrics["calibration.aurc"] for name, job in finished.items() if "calibration.aurc" in job.metrics
    }
    if len(areas) < 2 or len({finished[name].criterion for name in areas}) > 1:
        return []
    best = min(areas, key=lambda name: areas[name])
    metrics = finished[best].metrics
    values = {"best": best, "value": areas[best], "mae": metrics["calibration.mae"]}
    values["interval"] = (metrics["calibration.aurc_low"], metrics["calibration.aurc_high"])
    return [Finding("sweep.least_risk", values)]


def _curves(finished: Mapping[str, Job]) -> list[FigureData]:
    """Error caught by share reviewed, a line per job; at most seven can be told apart, so the best seven."""
    best = sorted(
        (name for name, job in finished.items() if "calibration.review_gain" in job.metrics),
        key=lambda name: -finished[name].metrics["calibration.review_gain"],
    )[:MOST_CURVES]
    if len(best) < 2:
        return []
    lines: dict[str, Any] = {}
    for name in best:
        items = finished[name].items
        # The curve itself is exact; one resample because the band is not used.
        curve = review.review_curve(items["uncertainty"], items["error"], np.random.default_rng(0), n_resamples=1)
        lines[name] = {"x": curve.share.tolist(), "y": curve.guided.tolist()}
    data = {"lines": lines, "x_label": "reviewed", "y_label": "caught", "n": len(finished[best[0]].items)}
    return [FigureData("review", "curve", data)]


def _findings(sweep: Sweep, choices: Sequence[str]) -> list[Finding]:
    finished, findings = sweep.jobs, []
    if len(finished) > MOST_AGREED:
        findings.append(Finding("sweep.many", {"n": len(finished), "most": MOST_AGREED}))
    blind = [label for label, job in finished.items() if not job.facts.get("uses_prompt", True)]
    if blind and any(key.partition(".")[0] == "prompt" for key in choices):
        readouts = ", ".join(dict.fromkeys(finished[label].readout for label in blind))
        findings.append(Finding("sweep.prompt_unused", {"names": named(blind), "readouts": readouts}))
    same = [pair for pair in sweep.pairs if pair.identical]
    if same:
        listed = named([f"{pair.left} = {pair.right}" for pair in same])
        findings.append(Finding("sweep.identical", {"n": len(same), "names": listed}))
    criteria = Counter(job.criterion for job in finished.values())
    if len(criteria) > 1:
        findings.append(Finding("sweep.other_criteria", {"names": ", ".join(criteria)}))
    possible = sum(n * (n - 1) // 2 for n in criteria.values())
    if len(sweep.pairs) < possible:
        findings.append(Finding("sweep.other_items", {"n": possible - len(sweep.pairs), "total": possible}))
    overall = tables.overall_alpha(finished)
    if overall is not None:
        alpha, n_jobs, items = overall
        word = "agree" if alpha.low >= RELIABLE else "roughly" if alpha.low >= TENTATIVE else "open"
        word = "apart" if alpha.high < TENTATIVE else word
        values = {**alpha.values("alpha"), "jobs": n_jobs, "n": items}
        findings.append(Finding(f"sweep.alpha_{word}", values | {"groups": alpha.n_groups}))
    cached = [label for label, job in finished.items() if job.metrics.get("calls_cached", 0) > 0]
    if cached:
        findings.append(Finding("sweep.cached", {"names": named(cached)}))
    return findings


def _figures(table: pd.DataFrame, sweep: Sweep, agreement: pd.DataFrame) -> list[FigureData]:
    figures, headline = [], sweep.headline
    ranked = table[table["headline"].notna()]
    if headline is not None and len(ranked) > 1:
        labels = ranked["name"].tolist()
        forest: dict[str, Any] = {"labels": labels, "estimate": ranked["headline"].tolist()}
        forest |= {"low": ranked["low"].tolist(), "high": ranked["high"].tolist(), "x_label": headline}
        figures.append(FigureData("leaderboard", "forest", forest))
        cost = "usd" if "usd" in ranked and ranked["usd"].notna().all() and ranked["usd"].max() > 0 else "seconds"
        ranked = ranked[ranked[cost].notna()]  # not known where all answers came from the cache
        if len(ranked) > 1:
            best = front(ranked["headline"].to_numpy(), ranked[cost].to_numpy())
            cloud = {"x": ranked[cost].tolist(), "y": ranked["headline"].tolist()}
            cloud["groups"] = ["front" if each else "behind" for each in best]
            marks = ranked[["number", *(part for part in tables.PARTS if part in ranked)]].astype(str)
            cloud["labels"] = marks.agg(" ".join, axis=1).tolist()  # names would cover one another
            figures.append(FigureData("cost", "scatter", cloud | {"x_label": cost, "y_label": headline}))
    if len(agreement) >= FEWEST_FOR_HEATMAP:
        figures.append(FigureData("agreement", "heatmap", _matrix(agreement)))
    if len(sweep.pairs) == 1 and not sweep.pairs[0].identical:
        _, _, a, b = sweep.pairs[0]
        limits = agreement.iloc[0]
        data = {"mean": ((a + b) / 2).tolist(), "difference": (a - b).tolist(), "x_label": "mean_of_two"}
        data |= {key: float(limits[key]) for key in ("bias", "lower", "upper")} | {"y_label": "difference"}
        figures.append(FigureData("bland_altman", "bland_altman", data))
    return figures


def _matrix(agreement: pd.DataFrame) -> dict[str, Any]:
    """Spearman's correlation as a square; NaN where it does not exist."""
    names = list(dict.fromkeys([*agreement["left"], *agreement["right"]]))
    matrix = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(matrix, 1.0)
    for row in agreement.itertuples():
        value = np.nan if row.spearman_between is None else row.spearman_between
        one, other = names.index(row.left), names.index(row.right)
        matrix[one, other] = matrix[other, one] = value
    return {"matrix": matrix.tolist(), "rows": names, "columns": names, "label": "correlation"}
