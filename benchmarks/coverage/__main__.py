"""How often stated intervals hold the truth: distribution x number of units x grouping x method.

    python -m benchmarks.coverage         # everything, an hour or more; writes benchmarks/results/coverage.csv
    python -m benchmarks.coverage --samples 200 --only mean --units 10 30 --out part.csv
    python -m benchmarks.coverage --worst # of what is stored, the worst of each kind, of 10 and of 30 groups
    python -m benchmarks.coverage --only answer strata # the figures of an answer, of 60, 100 and 250 items
    python -m benchmarks.coverage --answers # of what is stored, these figures by how items are grouped

A row says in how many samples the truth lay inside the 95 % interval, and below or above it: a limit errs on one side,
and a claim is made by one limit. `unlimited` is the share of intervals with an infinite end, or, of the figures of an
answer, with both ends at those of what is possible: they say nothing, and hold all there is. Samples that give no
interval, such as those of so few groups that none is told, are drawn anew.
The rules that were not chosen stand beside those that were (`student`, `bca`, `bootstrap`, `pseudo-values`). Rows in
the results that are not measured again stay.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.coverage import answers, doubts, jobs, labels, numbers
from benchmarks.coverage.samples import Ends, Question, Sample, in_groups

RESULTS = Path(__file__).parents[1] / "results" / "coverage.csv"
UNITS = (6, 10, 20, 30, 46, 100, 300)
GROUPINGS = ("alone", "2-4", "unequal")
KEY = ("of", "distribution", "units", "groups", "method")
MOST_TRIES = 4
"""So many times as many samples are drawn at most, where some give no interval."""
_MOST_DRAWN = 30
"""Units up to which the bootstrap is tried: beyond, it takes longer than all else together."""

QUESTIONS: dict[str, Callable[[], Iterator[Question]]] = {
    "mean": numbers.of_means,
    "steps": numbers.of_steps,
    "share": numbers.of_shares,
    "area": numbers.of_areas,
    "coefficient": numbers.of_coefficients,
    "middle": numbers.of_middles,
    "doubt": doubts.of_doubts,
    "promise": doubts.of_promises,
    "difference": jobs.of_differences,
    "whole": jobs.of_wholes,
    "labels": labels.of_labels,
    "variance": labels.of_components,
    "missing": labels.of_missing,
    "controlled": labels.of_controlled,
    "answer": answers.of_answers,
    "strata": answers.of_strata,
}


def row(
    question: Question, n_units: int, grouping: str, method: str, samples: int
) -> dict[str, object] | None:
    """Coverage of one method, of so many samples for which it gives an interval; fewer where that
    is rare, and None where it never does. The seed follows from the question, so that every row can
    be had by itself.
    """
    seed = zlib.crc32(f"{question.kind} {question.name} {n_units} {grouping}".encode())
    rng, own = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    ends: list[Ends] = []
    for _ in range(MOST_TRIES * samples):
        groups = in_groups(rng, n_units, grouping, question.of_items)
        found = question.methods[method](
            Sample(question.draw(rng, groups), groups), own
        )
        if not np.isnan(found[0]):
            ends.append(found)
        if len(ends) == samples:
            break
    if not ends:
        return None
    low, high = np.array(ends).T
    limited = np.isfinite(low) & np.isfinite(high)
    limited &= (low > question.whole[0]) | (high < question.whole[1])
    # A share or an area of exactly the truth may differ from it by rounding.
    above, below = low > question.truth + 1e-9, high < question.truth - 1e-9
    return {
        "of": question.kind,
        "distribution": question.name,
        "units": n_units,
        "groups": grouping,
        "method": method,
        "samples": len(ends),
        "coverage": round(1 - float(np.mean(above | below)), 4),
        "truth_below": round(float(np.mean(above)), 4),
        "truth_above": round(float(np.mean(below)), 4),
        "median_width": (
            round(float(np.median((high - low)[limited])), 3)
            if limited.any()
            else np.inf
        ),
        "unlimited": round(1 - float(np.mean(limited)), 4),
    }


def worst(rows: pd.DataFrame) -> str:
    """Of the chosen rules the setting of each kind with the lowest coverage, of 10 and of 30
    groups, in Markdown."""
    own = rows[
        rows["method"].str.startswith("chosen") & rows["units"].isin((10, 30))
    ].copy()
    corrected = (own["of"] == "few labels") & (own["method"] != "chosen, labels alone")
    own.loc[corrected, "of"] = "few labels and a judge"
    own["kind"] = own["of"].where(
        own["of"] != "variance",
        "variance: " + own["distribution"].str.split(": ").str[-1],
    )
    lines = [
        f"{len(own)} settings",
        "| interval of | 10 groups | 30 groups |",
        "|---|---|---|",
    ]
    for kind, of_kind in own.groupby("kind", sort=False):
        cells = []
        for units in (10, 30):
            there = of_kind[of_kind["units"] == units].sort_values("coverage")
            if there.empty:
                cells.append("")
                continue
            row = there.iloc[0]
            way = row["method"].removeprefix("chosen").removeprefix(", ")
            named = ", ".join(
                part for part in (row["distribution"], way, row["groups"]) if part
            )
            cells.append(f"{100 * row['coverage']:.1f} % ({named})")
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def of_answers(rows: pd.DataFrame) -> str:
    """Of the figures of an answer the lowest and the highest coverage by how items are grouped, in
    Markdown."""
    own = rows[rows["of"].str.startswith("answer: ")].sort_values(
        ["of", "units"], kind="stable"
    )
    lines = [
        "| figure | items | " + " | ".join(answers.GROUPINGS) + " |",
        "|---" * (2 + len(answers.GROUPINGS)) + "|",
    ]
    for (figure, items), there in own.groupby(["of", "units"], sort=False):
        cells = []
        for grouping in answers.GROUPINGS:
            found = there.loc[there["groups"] == grouping, "coverage"]
            cells.append(
                ""
                if found.empty
                else f"{100 * found.min():.1f} to {100 * found.max():.1f} %"
            )
        lines.append(
            f"| {figure.removeprefix('answer: ')} | {items} | {' | '.join(cells)} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table row by row, and store it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument(
        "--only", nargs="*", default=list(QUESTIONS), choices=list(QUESTIONS)
    )
    parser.add_argument(
        "--of", nargs="*", help="kinds of numbers, such as alpha; all without it"
    )
    parser.add_argument(
        "--units",
        nargs="*",
        type=int,
        help="of those in which a question is asked; all without it",
    )
    parser.add_argument(
        "--groups",
        nargs="*",
        choices=[*GROUPINGS, *answers.GROUPINGS[1:]],
        help="as --units",
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument(
        "--worst",
        action="store_true",
        help="measure nothing; print the worst of each kind",
    )
    parser.add_argument(
        "--answers",
        action="store_true",
        help="measure nothing; print the figures of an answer",
    )
    given = parser.parse_args()
    if given.answers:
        print(of_answers(pd.read_csv(given.out)))
        return
    if given.worst:
        print(worst(pd.read_csv(given.out)))
        return
    old = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    rows = {tuple(row[name] for name in KEY): row for row in old}
    for kind in given.only:
        for question in (
            each
            for each in QUESTIONS[kind]()
            if given.of is None or each.kind in given.of
        ):
            for n_units in (
                one
                for one in question.units or UNITS
                if not given.units or one in given.units
            ):
                for grouping in (
                    one
                    for one in question.groupings or GROUPINGS
                    if one in (given.groups or [one])
                ):
                    for method in question.methods:
                        if method == "bca" and (
                            n_units > _MOST_DRAWN or grouping != "alone"
                        ):
                            continue
                        if method == "bootstrap" and n_units > _MOST_DRAWN:
                            continue
                        made = row(question, n_units, grouping, method, given.samples)
                        if made is None:
                            continue
                        rows[tuple(made[name] for name in KEY)] = made
                        print(
                            "  ".join(str(value) for value in made.values()), flush=True
                        )
            # After every question, as all of them take an hour and more.
            given.out.parent.mkdir(exist_ok=True)
            pd.DataFrame(rows.values()).to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
