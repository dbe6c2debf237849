"""From the judgments of both programs on the test split to the verdict, the change of the program, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.analyses.improvement import AFTER, BEFORE, Measured, improvement
from undogmatic.analyses.independence import groups_of
from undogmatic.analyses.truth import Margin, margin_of
from undogmatic.optimize.metrics import Metric, whole_pairs
from undogmatic.optimize.programs import changes
from undogmatic.optimize.search import Found, Search
from undogmatic.optimize.splits import looked
from undogmatic.records.records import Item, Judgment, Verdict
from undogmatic.records.results import AnalysisResult, Finding

LONGEST = 400
"""Characters of a line of what changed; the program's file has all of it."""


def results_of(
    search: Search, found: Found, judgments: Sequence[Judgment], folder: Path, rng: np.random.Generator
) -> list[AnalysisResult]:
    """Is the optimised program better on the test split, and what is it?

    Args:
        search: What was planned.
        found: What came of it.
        judgments: Of the run, both programs'.
        folder: Of the run; the look is noted beside it.
        rng: The source of randomness.
    """
    first = [j for j in judgments if j.repeat == 0 and j.criterion == search.criterion]
    optimizer = search.optimizer
    programs = [
        {name: each.model_dump(mode="json") for name, each in program.predictors.items()}
        for program in (found.before, found.after)
    ]
    claim = [*programs, search.data.metric.name] if found.kept else None
    construct = f"{search.terms.rubric.name}.{search.criterion}"
    looks = looked(folder, search.data.splits.test, construct, claim)
    result = improvement(earned(search, first), rng, optimizer.alpha, optimizer.power, looks)
    return [result, _change(search, found)]


def earned(search: Search, judgments: Sequence[Judgment]) -> Measured:
    """What both programs earned on every test text or pair, in the terms of the verdict."""
    metric, terms = search.data.metric, search.terms
    said = {(j.judge, j.item_id): j.outcome for j in judgments if isinstance(j.outcome, Verdict)}
    test = search.data.splits.test
    group = groups_of(test)
    rows: list[dict[str, Any]] = []
    for items in _units(search, metric):
        row: dict[str, Any] = {"group": group[items[0].id]}
        for arm in (BEFORE, AFTER):
            outcomes = [said.get((arm, item.id)) for item in items]
            if any(outcome is None for outcome in outcomes):
                row[arm] = np.nan
            elif metric.of == "block":
                row[arm] = outcomes[0].score  # type: ignore[union-attr]
            else:
                row[arm] = _told(metric, metric.value(items, outcomes, terms), terms.span)
        if metric.of == "block":
            row["label"] = terms.label(items[0])
        rows.append(row)
    ends = {"share": (0.0, 1.0), "difference": (-terms.span, terms.span), "distance": (-terms.span, 0.0)}[metric.told]
    if metric.of == "block":
        ends = (terms.rubric.minimum, terms.rubric.maximum)
    ranks, falls = metric.of == "block", metric.told == "distance"
    return Measured(metric.name, pd.DataFrame(rows), ranks, falls, ends, _margin(search, metric), _costs(judgments))


def _units(search: Search, metric: Metric) -> list[list[Item]]:
    test, terms = search.data.splits.test, search.terms
    if metric.of == "pair":
        return whole_pairs(test, terms)
    return [[item] for item in test if item.labelled(terms.criterion) is not None]


def _told(metric: Metric, value: float, span: float) -> float:
    """A metric's value in [0, 1] as the verdict states it; higher is better."""
    if metric.told == "difference":
        return (2 * value - 1) * span
    return (value - 1) * span if metric.told == "distance" else value


def _margin(search: Search, metric: Metric) -> Margin:
    """The margin of the rubric for what is measured on its scale; none for a share, unless somebody sets it."""
    own = search.optimizer.margin
    if metric.told != "share" and search.terms.rubric.scale.ordered:
        return margin_of(search.terms.rubric, own)
    return Margin(own or 0.0, "default" if own is None else "analysis", 1.0)


def _costs(judgments: Sequence[Judgment]) -> pd.DataFrame:
    """Per text: calls, thousand characters sent, and money. The cache hides neither calls nor characters."""
    rows = []
    for name in ("calls", "characters", "usd"):
        row: dict[str, Any] = {"cost": name}
        for arm in (BEFORE, AFTER):
            own = [j for j in judgments if j.judge == arm]
            if name == "calls":
                each = [float(len(j.calls)) for j in own]
            elif name == "characters":
                each = [sum(len(str(call.request)) for call in j.calls) / 1000 for j in own]
            else:
                each = [j.cost.usd if j.cost.usd is not None else np.nan for j in own]
            row[arm] = float(np.mean(each)) if each else np.nan
        if not (np.isnan(row[BEFORE]) or np.isnan(row[AFTER])) and (name != "usd" or row[BEFORE] + row[AFTER] > 0):
            rows.append(row)
    return pd.DataFrame(rows, columns=["cost", BEFORE, AFTER])


def _change(search: Search, found: Found) -> AnalysisResult:
    """How the program was found, and what differs in it."""
    lineage, data = found.after.lineage, search.data
    values: dict[str, Any] = {
        "optimizer": lineage.optimizer, "metric": lineage.metric, "before": lineage.before, "after": lineage.after,
        "train": len(data.train), "train_of": f"{data.on_train.of}_of", "validation": len(data.validation),
        "validation_of": f"{data.metric.of}_of", "test": len(data.splits.test),
        "seed": lineage.seed,
    }  # fmt: skip
    spent = {} if found.spent is None else found.spent.model_dump(exclude={"programs"})
    alone = found.spent is not None and found.spent.programs <= 1
    came_to = "found" if found.kept else "untried" if alone else "kept"
    said = [Finding("program.sides", values), Finding(f"program.{came_to}", values)]
    if spent:
        said.append(Finding("program.priced" if spent["usd"] else "program.asked", spent))
    lines = changes(found.before.predictors, found.after.predictors)
    table = pd.DataFrame(
        [each._replace(text=each.text[:LONGEST])._asdict() for each in lines],
        columns=["predictor", "part", "change", "text"],
    )
    if table["predictor"].nunique() <= 1:
        table = table.drop(columns="predictor")
    tables = {"changes": table} if len(table) else {}
    metrics = {} if lineage.before is None else {"program.validation_before": lineage.before}
    metrics |= {} if lineage.after is None else {"program.validation_after": lineage.after}
    metrics |= {f"program.search_{name}": value for name, value in spent.items()}
    return AnalysisResult("program", metrics, tables, said, texts=(Path(__file__).with_name("verdict.texts.yaml"),))
