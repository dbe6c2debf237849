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
from undogmatic.optimize.metrics import units
from undogmatic.optimize.programs import changes
from undogmatic.optimize.search import Found, Search
from undogmatic.optimize.splits import looked
from undogmatic.records.records import Judgment, Verdict
from undogmatic.records.results import AnalysisResult, Telling

LONGEST = 400
"""Characters of a line of what changed; the program's file has all of it."""


def results_of(
    search: Search, found: Found, judgments: Sequence[Judgment], folder: Path, rng: np.random.Generator
) -> list[AnalysisResult]:
    """Is the optimised program better on the test split, and what is it? `judgments` are both programs'; the look is
    noted beside the run's folder."""
    first = [j for j in judgments if j.repeat == 0 and j.criterion == search.criterion]
    programs = [
        {name: predictor.model_dump(mode="json") for name, predictor in program.predictors.items()}
        for program in (found.before, found.after)
    ]
    claim = [*programs, search.data.metric.name] if found.kept else None
    looks = looked(folder, search.data.splits.test, f"{search.terms.rubric.name}.{search.criterion}", claim)
    result = improvement(earned(search, first), rng, search.optimizer.alpha, search.optimizer.power, looks)
    return [result, _change(search, found)]


def earned(search: Search, judgments: Sequence[Judgment]) -> Measured:
    """What both programs earned on every test text or pair, in the terms of the verdict."""
    metric, terms, test, margin = search.data.metric, search.terms, search.data.splits.test, search.optimizer.margin
    said = {(j.judge, j.item_id): j.outcome for j in judgments if isinstance(j.outcome, Verdict)}
    group, ranks, rubric = groups_of(test), metric.of == "block", search.terms.rubric
    # A metric's value in [0, 1] becomes what the verdict states: a share, a difference or a distance (below 0).
    span = terms.span
    low, high = {"share": (0.0, 1.0), "difference": (-span, span), "distance": (-span, 0.0)}[metric.told]
    rows: list[dict[str, Any]] = []
    for items in units(test, metric, terms):
        row: dict[str, Any] = {"group": group[items[0].id]}
        for arm in (BEFORE, AFTER):
            outcomes = [said.get((arm, item.id)) for item in items]
            if any(outcome is None for outcome in outcomes):
                row[arm] = np.nan
            elif ranks:
                row[arm] = outcomes[0].score  # type: ignore[union-attr]
            else:
                value = metric.value(items, outcomes, terms)
                row[arm] = {"share": value, "difference": (2 * value - 1) * span, "distance": (value - 1) * span}[
                    metric.told
                ]
        rows.append(row | ({"label": terms.label(items[0])} if ranks else {}))
    ends = (rubric.minimum, rubric.maximum) if ranks else (low, high)
    # The rubric's margin is one of what is measured on its scale; a share has none, unless somebody sets it.
    on_scale = metric.told != "share" and rubric.scale.ordered
    none = Margin(margin or 0.0, "default" if margin is None else "analysis", 1.0)
    matters = margin_of(rubric, margin) if on_scale else none
    falls = metric.told == "distance"
    return Measured(metric.name, pd.DataFrame(rows), ranks, falls, ends, matters, _costs(judgments))


def _costs(judgments: Sequence[Judgment]) -> pd.DataFrame:
    """Per text: calls, thousand characters sent, and money. The cache hides neither calls nor characters."""
    table = pd.DataFrame(
        {
            "judge": [j.judge for j in judgments],
            "calls": [float(len(j.calls)) for j in judgments],
            "characters": [sum(len(str(call.request)) for call in j.calls) / 1000 for j in judgments],
            "usd": [np.nan if j.cost.usd is None else j.cost.usd for j in judgments],
        }
    )
    rows = []
    for name in ("calls", "characters", "usd"):
        of_arms = [table.loc[table["judge"] == arm, name].to_numpy() for arm in (BEFORE, AFTER)]
        before, after = (float(own.mean()) if own.size else np.nan for own in of_arms)
        if not np.isnan(before + after) and (name != "usd" or before + after > 0):
            rows.append((name, before, after))
    return pd.DataFrame(rows, columns=["cost", BEFORE, AFTER])


def _change(search: Search, found: Found) -> AnalysisResult:
    """How the program was found, and what differs in it."""
    lineage, data, tell = found.after.lineage, search.data, Telling("program")
    sides: dict[str, Any] = {
        "optimizer": lineage.optimizer, "metric": lineage.metric, "before": lineage.before, "after": lineage.after,
        "train": len(data.train), "train_of": f"{data.on_train.of}_of", "validation": len(data.validation),
        "validation_of": f"{data.metric.of}_of", "test": len(data.splits.test),
        "seed": lineage.seed,
    }  # fmt: skip
    alone = found.spent is not None and found.spent.programs <= 1
    tell.say("sides", sides)
    tell.say("found" if found.kept else "untried" if alone else "kept", sides)
    tell.number(lineage.before, "validation_before")
    tell.number(lineage.after, "validation_after")
    if found.spent is not None:
        spent = found.spent.model_dump(exclude={"programs"})
        tell.say("priced" if spent["usd"] else "asked", spent)
        tell.metrics |= {f"program.search_{name}": value for name, value in spent.items()}
    lines = changes(found.before.predictors, found.after.predictors)
    if lines:
        table = pd.DataFrame([line._replace(text=line.text[:LONGEST]) for line in lines])
        tell.tables["changes"] = table if table["predictor"].nunique() > 1 else table.drop(columns="predictor")
    return tell.result(texts=(Path(__file__).with_name("verdict.texts.yaml"),))
