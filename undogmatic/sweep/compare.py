"""The jobs of a sweep side by side: who leads, whether by more than chance, what agrees, and at what cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.base import FigureData, Finding
from undogmatic.analyses.variance import VarianceAnalysis
from undogmatic.outcome import SweepResult
from undogmatic.records import Rubric
from undogmatic.sweep.costs import costs_table
from undogmatic.sweep.jobs import Job, read_jobs, varying
from undogmatic.sweep.pairwise import MEASURES, Pair, agree, compare_pairs, overall_alpha, pairs
from undogmatic.sweep.sources import variance_of
from undogmatic.sweep.worth import ALPHA, WHOLE, caught, worth_tables, worth_tests
from undogmatic.wordings import texts_beside

OWN_TEXTS = Path(__file__).with_name("compare.texts.yaml")
COUNTS = ("judged", "failed", "calls_cached")
FEWEST_FOR_HEATMAP = 3  # pairs, that is three jobs; two have the Bland-Altman plot
PARTS = ("judge", "criterion")
"""Columns of the table of jobs where one of them had several; each such pair is compared like a job of its own."""
MOST_CURVES = 7
MOST_INTERVALS = 3  # further metrics with an interval, beside the headline


def compare(folder: Path, name: str, language: str, seed: int = 0) -> SweepResult:
    """Everything the sweep in `folder` yielded.

    Jobs are ranked by their headline metric, which every analysis defines so that more is better.

    Args:
        folder: The sweep's folder, with one numbered folder per job.
        name: Name of the sweep.
        language: Of the report.
        seed: For the bootstrap.
    """
    jobs = read_jobs(folder)
    choices = varying(jobs)
    named = _named(jobs, choices)
    finished = {label: job for label, job in named.items() if job.status == "finished"}
    headline = _headline(list(finished.values()))
    tests = worth_tests(finished, seed)
    worth = worth_tables(finished, tests)
    table = _leaderboard(named, choices, headline, further=not worth)
    found = list(pairs(finished))
    comparisons = compare_pairs(found, finished, seed)
    agreement = agree(found, finished)
    further = worth | {"worth_tests": tests, "costs": costs_table(finished, seed)}
    sources = variance_of(finished, choices)
    further["variance"] = sources.table
    tables = {name: frame for name, frame in further.items() if len(frame)}
    verdicts = _verdicts(table, headline, _with_headline(comparisons, tests, headline), found)
    return SweepResult(
        name=name,
        folder=folder,
        language=language,
        jobs=table,
        choices=(*choices, *(column for column in PARTS if column in table and column not in choices)),
        headline=headline,
        comparisons=comparisons,
        agreement=agreement,
        verdicts=len(verdicts),
        findings=[
            *verdicts,
            *_findings(finished, choices, found, comparisons),
            *_worth_findings(finished, tests),
            *sources.findings,
        ],
        figures=[*_figures(table, headline, found, agreement), *_curves(finished)],
        tables=tables,
        failed=[(label, job.message or "") for label, job in named.items() if job.status != "finished"],
        rubric=_rubric(jobs),
        texts=[
            OWN_TEXTS,
            *texts_beside(VarianceAnalysis),
            *dict.fromkeys(Path(path) for job in jobs for path in job.facts.get("texts", ())),
        ],
    )


def _named(jobs: Sequence[Job], choices: Sequence[str]) -> dict[str, Job]:
    """The jobs by what sets them apart ("tfidf, anchored_pt"), and by their number where that does not; of several
    judges or criteria in one job each by its name too."""
    named: dict[str, Job] = {}
    for job in jobs:
        label = ", ".join(job.overrides.get(key, "default") for key in choices) or f"job {job.number}"
        if job.part:
            label = f"{label}, {job.part}"
        named[label if label not in named else f"{label} (job {job.number})"] = job
    return named


def _headline(jobs: Sequence[Job]) -> str | None:
    """The headline metric that most jobs have, or None."""
    named = Counter(job.facts["headline"] for job in jobs if job.facts.get("headline") is not None)
    return named.most_common(1)[0][0] if named else None


def _rubric(jobs: Sequence[Job]) -> Rubric | None:
    """That of the first job with a result; another's may be what it failed on."""
    return next((job.rubric for job in jobs if job.status == "finished" and "rubric" in job.config), None)


def _leaderboard(named: Mapping[str, Job], choices: Sequence[str], headline: str | None, further: bool) -> pd.DataFrame:
    """One row per job, best first, jobs without a result last; see SweepResult. `further`: with related metrics."""
    present = dict.fromkeys(m for job in named.values() for m in job.metrics)
    related = [m for m in present if further and m != headline and f"{m}_low" in present]
    if headline is not None:
        related = [m for m in related if m.partition(".")[0] == headline.partition(".")[0]]
    related.sort(key=lambda m: m.count("."))  # "ab.auc" before "ab.length_adjusted.words"
    parted = any(job.part for job in named.values())
    rows = []
    for label, job in named.items():
        row: dict[str, Any] = {"number": job.number, "name": label, "status": job.status}
        row |= {key: job.overrides.get(key, "default") for key in choices}
        row |= dict(zip(PARTS, (job.judge, job.criterion), strict=True)) if parted else {}
        for column, end in (("headline", ""), ("low", "_low"), ("high", "_high")):
            row[column] = job.metrics.get(f"{headline}{end}", np.nan)
        for metric in related[:MOST_INTERVALS]:
            row[metric] = job.metrics.get(metric, np.nan)
            ends = job.metrics.get(f"{metric}_low"), job.metrics.get(f"{metric}_high")
            row[f"{metric}_interval"] = None if None in ends else ends
        row |= {count: _whole(job.metrics.get(count)) for count in COUNTS if count in present}
        # From the journal, not the run's own clock: a continued run judges nothing again.
        row["seconds"] = float(job.scores["seconds"].mean()) if len(job.scores) else np.nan
        row |= {"usd": job.metrics.get("usd", np.nan)} if "usd" in present else {}
        rows.append(row)
    table = pd.DataFrame(rows)
    if table.empty:
        return pd.DataFrame(columns=["number", "name", "status", "headline", "low", "high"])
    ended = table["status"] == "finished"
    order = pd.DataFrame({"ended": ~ended, "headline": -table["headline"], "number": table["number"]})
    places = {criterion: n for n, criterion in enumerate(dict.fromkeys(job.criterion for job in named.values()))}
    order["criterion"] = [places[job.criterion] for job in named.values()]
    order = order.sort_values(["ended", "criterion", "headline", "number"], kind="stable")
    table = table.loc[order.index].reset_index(drop=True)
    return table if len(places) > 1 else table.drop(columns="criterion", errors="ignore")


def _with_headline(comparisons: pd.DataFrame, tests: pd.DataFrame, headline: str | None) -> pd.DataFrame:
    """For the verdict: where the headline itself was tested between jobs, that test and no other."""
    own = tests[tests["measure"] == str(headline).rpartition(".")[2]]
    return own.assign(note="") if len(own) else comparisons


def _worth_findings(finished: Mapping[str, Job], tests: pd.DataFrame) -> list[Finding]:
    findings = []
    areas = {
        name: job.metrics["calibration.aurc"] for name, job in finished.items() if "calibration.aurc" in job.metrics
    }
    if len(areas) > 1 and len({finished[name].criterion for name in areas}) == 1:
        best = min(areas, key=lambda name: areas[name])
        metrics = finished[best].metrics
        values = {"best": best, "value": areas[best], "mae": metrics["calibration.mae"]}
        values["interval"] = (metrics["calibration.aurc_low"], metrics["calibration.aurc_high"])
        findings.append(Finding("sweep.least_risk", values))
    tested = tests[tests["p_holm"].notna()]
    for measure in tested["measure"].unique():
        own = tested[tested["measure"] == measure]
        differing = int((own["p_holm"].astype(float) < ALPHA).sum())
        values = {"measure": measure, "n": differing, "total": len(own), "alpha": ALPHA}
        findings.append(Finding("sweep.worth_tests", values))
    return findings


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
        reviewed, curve = caught(items)
        lines[name] = {"x": reviewed.tolist(), "y": curve.tolist()}
    data = {"lines": lines, "x_label": "reviewed", "y_label": "caught", "n": len(finished[best[0]].items)}
    return [FigureData("review", "curve", data)]


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _verdicts(
    table: pd.DataFrame, headline: str | None, comparisons: pd.DataFrame, found: Sequence[Pair]
) -> list[Finding]:
    """A verdict, or one per criterion where several were judged: what is high on one says nothing of another."""
    finished = table[table["status"] == "finished"]
    if "criterion" not in table or finished.empty or headline is None:
        return [_verdict(table, headline, comparisons, found)]
    return [_verdict(own, headline, comparisons, found) for _, own in finished.groupby("criterion", sort=False)]


def _verdict(table: pd.DataFrame, headline: str | None, comparisons: pd.DataFrame, found: Sequence[Pair]) -> Finding:
    """One sentence: who leads by the headline metric, and whether a paired test over the same items bears it out.

    Of jobs with identical scores the first speaks for all.
    """
    finished = table[table["status"] == "finished"]
    ranked = finished[finished["headline"].notna()]
    if finished.empty:
        return Finding("sweep.verdict_none", {"jobs": len(table)})
    if headline is None or ranked.empty:
        return Finding("sweep.verdict_no_headline", {"jobs": len(finished)})
    rankable = len(ranked)
    ranked = _distinct(ranked, found)
    best = ranked.iloc[0]
    values = {
        "best": best["name"],
        "metric": headline,
        "value": float(best["headline"]),
        "interval": (best["low"], best["high"]),
    }
    if len(ranked) == 1:
        key = "sweep.verdict_one" if rankable == 1 else "sweep.verdict_identical"
        return Finding(key, values | {"ranked": rankable, "jobs": len(table)})
    top = ranked["name"][np.isclose(ranked["headline"], best["headline"], rtol=0, atol=1e-12)]
    if len(top) > 1:
        return Finding("sweep.verdict_tied", values | {"names": "; ".join(top)})
    second = str(ranked.iloc[1]["name"])
    return _tested(_test(comparisons, str(best["name"]), second), values | {"second": second})


def _distinct(ranked: pd.DataFrame, found: Sequence[Pair]) -> pd.DataFrame:
    """The ranked jobs without those that repeat the scores, and the headline, of one above them.

    Two judges may give the same scores and differ in how well they know their errors.
    """
    value = ranked.set_index("name")["headline"]
    same = {
        frozenset((pair.left, pair.right))
        for pair in found
        if pair.identical and np.isclose(value.get(pair.left, np.nan), value.get(pair.right, np.nan))
    }
    kept: list[str] = []
    for name in ranked["name"]:
        if not any(frozenset((name, other)) in same for other in kept):
            kept.append(name)
    return ranked[ranked["name"].isin(kept)]


def _tested(test: tuple[str, bool, float | None] | None, values: dict[str, Any]) -> Finding:
    """The verdict over the two best jobs of different headline."""
    measure, ahead, p = test if test is not None else ("", False, None)
    if p is None:
        return Finding("sweep.verdict_untested", values)
    values |= {"measure": measure, "p": p}
    if p >= ALPHA:
        return Finding("sweep.verdict_unclear", values)
    return Finding("sweep.verdict_clear" if ahead else "sweep.verdict_mixed", values)


def _test(comparisons: pd.DataFrame, best: str, second: str) -> tuple[str, bool, float | None] | None:
    """The test that speaks most to quality: its measure, whether it favours `best`, and its corrected p-value."""
    for measure in (*WHOLE, *MEASURES[:-1]):
        for row in comparisons[comparisons["measure"] == measure].itertuples():
            if {row.left, row.right} == {best, second}:
                lead = float(row.difference) if row.left == best else -float(row.difference)
                ahead = lead < 0 if measure in ("absolute_error", "aurc", "ece") else lead > 0
                return measure, ahead, None if pd.isna(row.p_holm) else float(row.p_holm)
    return None


def _findings(
    finished: Mapping[str, Job], choices: Sequence[str], found: Sequence[Pair], comparisons: pd.DataFrame
) -> list[Finding]:
    findings = []
    blind = [label for label, job in finished.items() if not job.facts.get("uses_prompt", True)]
    if blind and any(key.partition(".")[0] == "prompt" for key in choices):
        readouts = ", ".join(dict.fromkeys(finished[label].readout for label in blind))
        findings.append(Finding("sweep.prompt_unused", {"names": "; ".join(blind), "readouts": readouts}))
    same = [pair for pair in found if pair.identical]
    if same:
        listed = "; ".join(f"{pair.left} = {pair.right}" for pair in same)
        findings.append(Finding("sweep.identical", {"n": len(same), "names": listed}))
    criteria = Counter(job.criterion for job in finished.values())
    if len(criteria) > 1:
        findings.append(Finding("sweep.other_criteria", {"names": ", ".join(criteria)}))
    possible = sum(n * (n - 1) // 2 for n in criteria.values())
    if len(found) < possible:
        findings.append(Finding("sweep.other_items", {"n": possible - len(found), "total": possible}))
    tested = comparisons[comparisons["p_holm"].notna()]
    for measure in tested["measure"].unique():
        own = tested[tested["measure"] == measure]
        differing = int((own["p_holm"].astype(float) < ALPHA).sum())
        findings.append(Finding("sweep.tests", {"measure": measure, "n": differing, "total": len(own), "alpha": ALPHA}))
    overall = overall_alpha(finished)
    if overall is not None and overall[0].estimate is not None:
        values = {"alpha": overall[0].estimate, "jobs": overall[1], "n": overall[0].n_units}
        findings.append(Finding("sweep.alpha", values))
    cached = [label for label, job in finished.items() if job.metrics.get("calls_cached", 0) > 0]
    if cached:
        findings.append(Finding("sweep.cached", {"names": "; ".join(cached)}))
    return findings


def _figures(
    table: pd.DataFrame, headline: str | None, found: Sequence[Pair], agreement: pd.DataFrame
) -> list[FigureData]:
    figures = []
    ranked = table[table["headline"].notna()]
    if headline is not None and len(ranked) > 1:
        labels = ranked["name"].tolist()
        forest: dict[str, Any] = {"labels": labels, "estimate": ranked["headline"].tolist()}
        forest |= {"low": ranked["low"].tolist(), "high": ranked["high"].tolist(), "x_label": headline}
        figures.append(FigureData("leaderboard", "forest", forest))
        cost = "usd" if "usd" in ranked and ranked["usd"].notna().all() and ranked["usd"].max() > 0 else "seconds"
        if cost in ranked and ranked[cost].notna().all():
            cloud = {"x": ranked[cost].tolist(), "y": ranked["headline"].tolist()}
            marks = ranked[["number", *(c for c in PARTS if c in ranked)]].astype(str)
            cloud["labels"] = marks.agg(" ".join, axis=1).tolist()  # names would cover one another
            figures.append(FigureData("cost", "scatter", cloud | {"x_label": cost, "y_label": headline}))
    if len(agreement) >= FEWEST_FOR_HEATMAP:
        figures.append(FigureData("agreement", "heatmap", _matrix(agreement)))
    if len(found) == 1 and not found[0].identical:
        a, b = (side["score"].to_numpy(dtype=np.float64) for side in (found[0].a, found[0].b))
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
        value = np.nan if row.spearman is None else row.spearman
        one, other = names.index(row.left), names.index(row.right)
        matrix[one, other] = matrix[other, one] = value
    return {"matrix": matrix.tolist(), "rows": names, "columns": names, "label": "correlation"}
