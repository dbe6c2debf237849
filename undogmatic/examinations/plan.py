"""A plan that was locked before anything was judged: its hypotheses, tested as one family; all else
is exploratory."""

import difflib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.examinations.base import Analysis, analyse
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.ruling.plan import PLAN, PlanFacts
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.plan import Hypothesis, Plan
from undogmatic.records.records import turns
from undogmatic.records.results import Told
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import in_parts
from undogmatic.stats.means import Anytime, mean_so_far
from undogmatic.stats.paired import holm

NAME = "plan"
OWN_TEXTS = Path(__file__).with_name("plan.texts.yaml")
LEVEL = 0.95
"""Of the intervals that analyses give beside their metrics, unless `analysis.level` says otherwise.
"""


def check_plan(plan: Plan, analysis: Analysis, judged: RunEvidence, seed: int) -> None:
    """Raise ConfigError for a hypothesis on a number that this analysis does not give of such data.

    What it gives is found in a rehearsal: on the table of what is to be judged, with scores drawn
    by chance.
    """
    rng = np.random.default_rng(seed)
    rubric, frame = judged.rubric, judged.sample.frame.copy()
    frame["score"] = rng.uniform(rubric.minimum, rubric.maximum, len(frame))
    frame["confidence"] = rng.uniform(50, 100, len(frame))
    frame["error"] = pd.Series([None] * len(frame), index=frame.index, dtype=object)
    rehearsed = judged.with_rows(frame)
    try:
        metrics = _metrics(analyse(analysis, rehearsed, rng))
    except (UndogmaticError, ValueError, KeyError):
        # it needs what only a judge's answers have; the report says what could not be tested
        return
    for n, hypothesis in enumerate(plan.hypotheses):
        if not _testable(hypothesis, metrics):
            known = [
                name
                for name in metrics
                if _testable(hypothesis.model_copy(update={"test": name}), metrics)
            ]
            close = difflib.get_close_matches(hypothesis.test, known, 1)
            kind = (
                "a p-value" if hypothesis.null is None else "a number with an interval"
            )
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ConfigError(
                f"`plan.hypotheses[{n}].test` is {hypothesis.test!r}, and analysis={analysis.name}"
                f" gives no such number as {kind} of these data.{hint} It gives:"
                f" {', '.join(known[:20]) or 'none of this kind'}."
            )


def of_plan(plan: Plan, results: Sequence[Told], level: float, digest: str) -> Told:
    """The hypotheses of a plan by what the analyses found, with Holm's correction over all of them.

    A hypothesis is supported where its corrected p-value is below alpha and the limit of its
    interval, which has `level`, lies beyond the bound; one that could not be tested stays in the
    family with p = 1. `digest` is that of the plan as it was locked.

    References:
        Holm (1979), A simple sequentially rejective multiple test procedure.
        https://www.jstor.org/stable/4615733
    """
    tell, metrics = Told(NAME), _metrics(results)
    rows = [_tested(each, metrics, level) for each in plan.hypotheses]
    adjusted = holm([1.0 if row["p"] is None else row["p"] for row in rows])
    for row, p_holm in zip(rows, adjusted, strict=True):
        against, beyond, row["p_holm"] = (
            row.pop("against"),
            row.pop("beyond"),
            float(p_holm),
        )
        shown = row["p"] is not None and p_holm < plan.alpha and beyond
        row["shown"] = "refuted" if against else "supported" if shown else "undecided"
    names: dict[str, list[str]] = {}
    for key in ("supported", "refuted", "undecided"):
        names[key] = [row["hypothesis"] for row in rows if row["shown"] == key]
        tell.number(float(len(names[key])), key, unit="count")
    facts = PlanFacts(
        n=len(rows),
        alpha=plan.alpha,
        family=plan.family,
        supported=len(names["supported"]),
        supported_names="; ".join(names["supported"]) or "—",
        refuted=len(names["refuted"]),
        refuted_names="; ".join(names["refuted"]) or "—",
        undecided=len(names["undecided"]),
        undecided_names="; ".join(names["undecided"]) or "—",
    )
    tell.table("hypotheses", pd.DataFrame(rows), p="p", p_holm="p")
    tell.say("plan.locked", digest=digest[:12], n=len(rows))
    for hypothesis in plan.hypotheses:
        if hypothesis.says:
            tell.say("plan.says", name=hypothesis.name, says=hypothesis.says)
    if untested := [row["hypothesis"] for row in rows if row["p"] is None]:
        tell.say("plan.untested", names="; ".join(untested), n=len(untested))
    return tell.result(*verdict(PLAN, facts).decided, texts=(OWN_TEXTS,), planned=True)


def _metrics(results: Sequence[Told]) -> dict[str, float]:
    return {
        result.full(key): float(value)
        for result in results
        for key, value in result.metrics.items()
    }


def _testable(hypothesis: Hypothesis, metrics: Mapping[str, float]) -> bool:
    if hypothesis.null is None:
        return hypothesis.test in metrics and (
            hypothesis.test.endswith(".p") or ".p_" in hypothesis.test
        )
    return all(f"{hypothesis.test}{end}" in metrics for end in ("", "_low", "_high"))


def _tested(
    hypothesis: Hypothesis, metrics: Mapping[str, float], level: float
) -> dict[str, Any]:
    """A row of the table: estimate, limits and p-value; `against` and `beyond`: whether the
    interval lies wholly on the other side, or on the expected one."""
    row: dict[str, Any] = {
        "hypothesis": hypothesis.name,
        "test": hypothesis.test,
        "expects": hypothesis.expects,
    }
    row |= dict.fromkeys(("estimate", "low", "high"), math.nan) | {
        "p": None,
        "against": False,
        "beyond": True,
    }
    if not _testable(hypothesis, metrics):
        return row
    value = metrics[hypothesis.test]
    if hypothesis.null is None:
        return row | {"estimate": value, "p": value if 0 <= value <= 1 else None}
    low, high = metrics[f"{hypothesis.test}_low"], metrics[f"{hypothesis.test}_high"]
    row |= {"estimate": value, "low": low, "high": high}
    if not all(map(math.isfinite, (value, low, high))):
        return row
    # An interval that touches the bound shows nothing.
    up, down = low > hypothesis.null, high < hypothesis.null
    row["against"] = (hypothesis.above is not None and down) or (
        hypothesis.below is not None and up
    )
    row["beyond"] = (
        up
        if hypothesis.above is not None
        else down
        if hypothesis.below is not None
        else up or down
    )
    # At which level the limit would touch the bound, with normal limits of the interval's width on
    # that side: one-sided for `above` and `below`, two-sided for `differs`.
    upward = (
        value > hypothesis.null
        if hypothesis.differs is not None
        else hypothesis.above is not None
    )
    width = (value - low if upward else high - value) / special.ndtri((1 + level) / 2)
    distance = value - hypothesis.null if upward else hypothesis.null - value
    if width <= 0:
        return row | {"p": 0.0 if distance > 0 else 1.0}
    one = float(special.ndtr(-(distance / width)))
    return row | {"p": min(1.0, 2 * one) if hypothesis.differs is not None else one}


OPEN = ("not_judged", "transport", "timeout", "budget", "fault")
"""Reasons for which a text has no score that a continued run may yet give it."""


def so_far(frame: pd.DataFrame, rubric: Rubric, level: float = 0.95) -> Anytime | None:
    """Mean score of all texts of a run from those that were judged; groups of texts are the looks.

    Texts are asked in an order that has nothing to do with their scores (`engine.order`), and
    looked at in that order here. Where a condition is among the texts to come and not among the
    judged ones, nothing is said.

    Args:
        frame: `RunEvidence.frame` of one judge and criterion; failures that a continued run would
            not mend are left out.
        rubric: For the scale.
        level: Confidence level, for all looks together.
    Returns:
        None where all is judged, nothing is, scores have no order, or no statement holds.
    """
    # A run that is whole has a mean that needs no such interval.
    if not any(rows["error"].isin(OPEN).any() for rows in in_parts(frame, ["error"])):
        return None
    first = frame[frame["repeat"] == 0][
        [
            "item_id",
            "judge",
            "criterion",
            "pair_id",
            "group",
            "condition",
            "score",
            "error",
        ]
    ]
    asked = turns(
        first["item_id"].tolist(),
        [None if pd.isna(pair) else str(pair) for pair in first["pair_id"]],
    )
    # That in which they were asked: the order in which answers came may hang on the texts.
    first = first.iloc[asked]
    waited_for = first[first["error"].isna() | first["error"].isin(OPEN)]
    judged = waited_for[waited_for["error"].isna()]
    several = first[["judge", "criterion"]].drop_duplicates().shape[0] > 1
    # Texts of a condition that nobody has seen may have any mean.
    to_come = set(waited_for["condition"].dropna()) - set(judged["condition"])
    if (
        judged.empty
        or len(judged) == len(waited_for)
        or several
        or to_come
        or not rubric.scale.ordered
    ):
        return None
    return mean_so_far(
        judged["score"],
        judged["group"],
        waited_for["group"],
        rubric.minimum,
        rubric.maximum,
        level=level,
    )
