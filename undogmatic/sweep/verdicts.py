"""What a sweep shows: whether its best judge may be believed, and whether it is better than the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.records.results import Finding
from undogmatic.sweep.family import FOLLOWING, MERITS, WITH_MARGIN, Pair, Sweep
from undogmatic.sweep.jobs import Job

QUALITY = ("absolute_error", "pair_difference")
"""Measures that say which of two jobs is the better judge, the first that was tested decides; where the headline itself
was tested, it does."""
MOST_NAMED = 5


def named(names: Sequence[str]) -> str:
    """Names in a sentence, the first of many and their number."""
    shown = "; ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown}; ... ({len(names)})"


Against = tuple[str, Mapping[Hashable, Any]]
"""What is shown of one job against another, and the row of the table that says so."""


def _names(names: Sequence[str]) -> dict[str, Any]:
    return {"names": named(names), "names_n": len(names)}


def verdicts(table: pd.DataFrame, sweep: Sweep) -> list[Finding]:
    """First that the best judge is not to be believed, where that is so; then what is shown of its lead. Once for each
    criterion, where several were judged: what is high on one says nothing of another.

    Args:
        table: One row per job, best first (`SweepResult.jobs`).
        sweep: All else.
    """
    finished = table[table["status"] == "finished"]
    if "criterion" not in table or finished.empty or sweep.headline is None:
        return _verdicts(table, sweep)
    return [said for _, own in finished.groupby("criterion", sort=False) for said in _of_criterion(own, sweep)]


def _of_criterion(own: pd.DataFrame, sweep: Sweep) -> list[Finding]:
    """As `_verdicts`; of a single job only what its own verdict says, as it leads nothing."""
    name = str(own["name"].iloc[0])
    standing = sweep.jobs[name].standing
    if len(own) > 1 or standing is None or pd.isna(own["headline"].iloc[0]):
        return _verdicts(own, sweep)
    (row,) = own.to_dict("records")
    values = {"best": name, "metric": sweep.headline, "value": row["headline"], "interval": (row["low"], row["high"])}
    analyses = [analysis for analysis, each in sweep.jobs[name].standings.items() if each == standing]
    return [Finding(f"sweep.verdict_alone_{standing}", values | {"analyses": analyses})]


def _verdicts(table: pd.DataFrame, sweep: Sweep) -> list[Finding]:
    finished = table[table["status"] == "finished"]
    ranked = finished[finished["headline"].notna()]
    if finished.empty:
        return [Finding("sweep.verdict_none", {"jobs": len(table)})]
    if sweep.headline is None or ranked.empty:
        return [Finding("sweep.verdict_no_headline", {"jobs": len(finished)})]
    best, distinct = ranked.iloc[0], _distinct(ranked, sweep.pairs)
    twins = _twins(str(best["name"]), ranked, sweep.pairs)
    # Jobs with the same scores are one candidate with several names.
    values = {"best": " = ".join([str(best["name"]), *twins]), "metric": sweep.headline, "n": len(distinct)}
    values |= {"value": float(best["headline"]), "interval": (best["low"], best["high"])}
    counted = finished[~finished["name"].isin(ranked["name"]) | finished["name"].isin(distinct["name"])]
    own = Counter(sweep.jobs[name].standing for name in counted["name"])
    counts = {key: own[key] for key in ("supported", "refuted", "undecided")}
    said = _standing(sweep.jobs[best["name"]], values | counts)
    said.append(_lead(ranked, distinct, len(table), values, sweep))
    names = [str(best["name"]), *twins]
    return [*said, Finding("sweep.twins", {"names": named(names)})] if twins and len(distinct) > 1 else said


def _standing(best: Job, values: Mapping[str, Any]) -> list[Finding]:
    """That the best judge's own verdicts do not support it."""
    if best.standing in (None, "supported"):
        return []
    analyses = [name for name, each in best.standings.items() if each == best.standing]
    return [Finding(f"sweep.verdict_best_{best.standing}", {**values, "analyses": analyses})]


def _lead(ranked: pd.DataFrame, distinct: pd.DataFrame, jobs: int, values: dict[str, Any], sweep: Sweep) -> Finding:
    """Whether the first of the ranked jobs is shown to be better than every other; `distinct` has no twins."""
    first = str(distinct["name"].iloc[0])
    top = distinct["name"][np.isclose(distinct["headline"], values["value"], rtol=0, atol=1e-12)]
    if len(distinct) == 1:
        key = "one" if len(ranked) == 1 else "identical"
        return Finding(f"sweep.verdict_{key}", values | {"jobs": jobs, "n": len(ranked)})
    if len(top) > 1:
        return Finding("sweep.verdict_tied", values | {"names": named(list(top))})
    others = [str(name) for name in distinct["name"][1:]]
    measure, against = against_others(sweep, first, others)
    untested = [name for name in others if name not in against]
    if untested:
        return Finding("sweep.verdict_untested", values | {"names": named(untested)})
    margin = sweep.margins[sweep.jobs[first].criterion].value if measure in WITH_MARGIN else None
    values |= {"measure": measure, "size": sweep.family.size} | ({} if margin is None else {"margin": margin})
    said = _shown(against, values, "" if margin is None else "_margin")
    seen = sweep.jobs[first].facts.get("seen")
    if seen and said.key.startswith("sweep.verdict_clear"):
        return Finding("sweep.verdict_seen", values | {"seen": seen})
    return said


def _shown(against: Mapping[str, Against], values: dict[str, Any], ending: str) -> Finding:
    """The verdict over what is shown of the best job against each other one; `ending` of keys with a margin."""
    by: dict[str, list[str]] = {}
    for name, (shown, _) in against.items():
        by.setdefault(shown, []).append(name)
    open_ = [*by.get("open", ()), *by.get("identical", ())]
    if "worse" in by:
        return Finding("sweep.verdict_mixed", values | _names(by["worse"]))
    if not open_ and "equal" in by:
        return Finding("sweep.verdict_equal", values | _names(by["equal"]))
    if not open_:
        return Finding(f"sweep.verdict_clear{ending}", values)
    needed = [against[name][1]["needed"] for name in open_]
    values |= {"names": named(open_), "units_n": int(max(against[name][1]["n"] for name in open_))}
    if any(pd.isna(each) for each in needed):
        return Finding(f"sweep.verdict_open{ending}", values)
    return Finding("sweep.verdict_open_needed", values | {"needed": int(max(needed))})


def _same(ranked: pd.DataFrame, found: Sequence[Pair]) -> set[frozenset[str]]:
    """The pairs of ranked jobs with the same scores and the same headline: two judges may give the same scores and
    differ in how well they know their errors."""
    value = ranked.set_index("name")["headline"]
    return {
        frozenset((pair.left, pair.right))
        for pair in found
        if pair.identical and np.isclose(value.get(pair.left, np.nan), value.get(pair.right, np.nan))
    }


def _twins(name: str, ranked: pd.DataFrame, found: Sequence[Pair]) -> list[str]:
    """The other ranked jobs with the same scores as this one."""
    same = _same(ranked, found)
    return [str(other) for other in ranked["name"] if frozenset((name, str(other))) in same]


def _distinct(ranked: pd.DataFrame, found: Sequence[Pair]) -> pd.DataFrame:
    """The ranked jobs without those that repeat one above them."""
    same = _same(ranked, found)
    kept: list[str] = []
    for name in ranked["name"]:
        if not any(frozenset((name, other)) in same for other in kept):
            kept.append(name)
    return ranked[ranked["name"].isin(kept)]


def against_others(sweep: Sweep, best: str, others: Sequence[str]) -> tuple[str, dict[str, Against]]:
    """The measure that decides, and by it of each other job what is shown of `best` against it, and the whole row."""
    table, own = sweep.family.table, str(sweep.headline).rpartition(".")[2]
    mirrored = {"better": "worse", "worse": "better"}
    for measure in (own,) if own in table["measure"].values and own in (*MERITS, *FOLLOWING) else QUALITY:
        rows = table[(table["measure"] == measure) & ((table["left"] == best) | (table["right"] == best))]
        found: dict[str, Against] = {}
        for row in rows.to_dict("records"):
            other = row["right"] if row["left"] == best else row["left"]
            shown = row["shown"] if row["left"] == best else mirrored.get(row["shown"], row["shown"])
            found |= {other: (shown, row)} if other in others else {}
        if found:
            return measure, found
    return "", {}
