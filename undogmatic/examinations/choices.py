"""Makes scores of choices between two outputs, so that the instrument test reads them as it reads
those of texts: how often the output that is watched is chosen, from 0 to 1.

A choice is asked for in both orders. The score is the mean of both answers, where a tie counts
half; that the two orders disagree is no failure here. What something is compared with, and nobody
was asked about, is a row of its own: the same output in the second place, beside which the first
place is held (`asked.place`), and an even chance, beside which planted defects are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.errors import DataError
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import METADATA
from undogmatic.examinations.truth import OtherRun
from undogmatic.records.evidence import AS_GIVEN, SWAPPED
from undogmatic.records.records import OVERALL, WATCHED
from undogmatic.records.rubric import OUTPUTS, NumericScale
from undogmatic.runs.folder import JOURNAL, RunFolder

PLACE = "place"
"""The change by which an output stands in the first place in place of the second."""
BESIDE = "beside"
"""What is expected of a row about which nobody was asked: others are held beside it."""
IN_FIRST, TIED = "choice.in_first", "choice.tied"
"""Columns: how often the output that was shown first was chosen, over both orders, where a tie
counts half; and how often neither was."""
EVEN = 0.5
_FIRST_OUTPUT: Mapping[str, float] = {"first": 1.0, "tie": EVEN, "second": 0.0}
"""Of each choice, whether it is the first output."""
EDITED, ORIGINAL, EXPECTED = (
    METADATA + name for name in ("edit", "original", "expected")
)


def scored(judged: RunEvidence) -> RunEvidence:
    """The choices of one judge as scores of the outputs that are watched, with the rows beside
    which others are held."""
    frame = judged.frame
    keys = ["item_id", "repeat"]
    said = {
        order: frame[frame["criterion"] == order].set_index(keys)
        for order in (AS_GIVEN, SWAPPED)
    }
    rows = frame[frame["criterion"] == OVERALL].reset_index(drop=True)
    places = pd.MultiIndex.from_frame(rows[keys])
    # How often the first output was chosen, in either order, by the numbers that the outputs have.
    chosen = {
        order: own["category"].map(_FIRST_OUTPUT).astype(float).reindex(places)
        for order, own in said.items()
    }
    given, swapped = (chosen[order].to_numpy() for order in (AS_GIVEN, SWAPPED))
    both = not said[SWAPPED].empty
    in_first = (given + 1 - swapped) / 2 if both else given
    swapped = swapped if both else given
    second = (rows[METADATA + WATCHED] == OUTPUTS[1]).to_numpy()

    def of_watched(first: Any) -> Any:
        return np.where(second, 1 - first, first)

    failed = [own["error"].reindex(places).to_numpy() for own in said.values()]
    score = of_watched((given + swapped) / 2)
    error = np.where(pd.isna(failed[0]), failed[1], failed[0])
    error = np.where(pd.notna(error), error, rows["error"])
    # An answer that was no choice, and of which nothing else is known.
    unknown = np.where(pd.isna(error), "fault", error).astype(object)
    error = np.where(np.isnan(score), unknown, np.array(None, dtype=object))
    tied = ((given == EVEN) * 1.0 + (swapped == EVEN)) / 2
    rows = rows.assign(
        score=score,
        error=error,
        **{
            IN_FIRST: in_first,
            TIED: np.where(np.isnan(score), np.nan, tied),
        },
    )
    beside = [rows, _even(rows)]
    if both:
        first = np.where(second, 1 - swapped, given)
        last = np.where(second, 1 - given, swapped)
        beside += _places(rows, first, last)
    made = pd.concat([each for each in beside if len(each)], ignore_index=True)
    return _of_shares(judged, _held_to_even(made))


def other_run(typed: str, judged: RunEvidence, key: str) -> OtherRun:
    """The run in a folder with its choices as the scores of `judged`, which `scored` made. Raises
    ConfigError, DataError, as `truth.read_run`."""
    known = judged.frame
    known = known[(known[EXPECTED] != BESIDE) & (known[EDITED] != f"asked.{PLACE}")]
    evens = known[ORIGINAL].astype(object).map(_without_even)
    known = known[known["repeat"] == 0].assign(**{ORIGINAL: evens})
    folder = RunFolder.open(typed, f"`{key}`", [JOURNAL])
    judgments = folder.judgments
    own = [j for j in judgments if j.repeat == 0]
    here = str(known["judge"].iloc[0])
    own = [j for j in own if j.judge == here] or own
    said = {(j.criterion, j.item_id): j.outcome for j in own}
    orders = {order for order, _ in said} & {AS_GIVEN, SWAPPED}
    if AS_GIVEN not in orders:
        raise DataError(
            f"`{key}`: {typed} holds no choices between two outputs, and this run does. Name one"
            " that judge=compare made."
        )
    rows = [known.assign(criterion=OVERALL)]
    for order in sorted(orders):
        outcomes = [said.get((order, item)) for item in known["item_id"]]
        category = [getattr(each, "category", None) for each in outcomes]
        error = [getattr(each, "reason", None) for each in outcomes]
        rows.append(known.assign(criterion=order, category=category, error=error))
    made = scored(judged.with_rows(pd.concat(rows, ignore_index=True))).frame
    name = str(folder.facts.get("name", folder.path.name))
    return OtherRun(name, made.set_index("item_id")["score"])


def _without_even(name: object) -> object:
    return name.removesuffix("+even") if isinstance(name, str) else name


def _places(rows: pd.DataFrame, first: Any, last: Any) -> list[pd.DataFrame]:
    """The pairs as they were, with how often the output that is watched was chosen where it was
    shown first, and where it was shown second."""
    plain = (rows[EDITED] == "original").to_numpy()
    own = rows[plain]
    second = [f"{name}+second" for name in own["item_id"]]
    there = {"item_id": second, EDITED: "second", EXPECTED: BESIDE}
    here = {
        "item_id": [f"{name}+{PLACE}" for name in own["item_id"]],
        EDITED: f"asked.{PLACE}",
        EXPECTED: "same",
        ORIGINAL: second,
    }
    return [
        own.assign(score=last[plain], **there),
        own.assign(score=first[plain], **here),
    ]


def _even(rows: pd.DataFrame) -> pd.DataFrame:
    """A row with an even chance for every pair of which there are copies with defects."""
    own = rows[rows["item_id"].isin(rows.loc[rows[EXPECTED] == "worse", ORIGINAL])]
    names = own["item_id"] + "+even"
    told = {EDITED: "even", EXPECTED: BESIDE, "error": None}
    return own.assign(item_id=names, score=EVEN, **told)


def _held_to_even(rows: pd.DataFrame) -> pd.DataFrame:
    """A copy with defects stands beside the same output without them, so that an even chance is
    what would be without defects."""
    worse = rows[EXPECTED] == "worse"
    return rows.assign(
        **{ORIGINAL: rows[ORIGINAL].where(~worse, rows[ORIGINAL].astype(str) + "+even")}
    )


def _of_shares(judged: RunEvidence, rows: pd.DataFrame) -> RunEvidence:
    """The run with these rows, whose scores are shares: a high one is good for the output."""
    made = judged.with_rows(rows)
    fields = {"scale": NumericScale(minimum=0, maximum=1), "guide": None}
    ruled = judged.rubric.model_copy(update={**fields, "direction": "higher_is_better"})
    return RunEvidence(
        made.frame,
        ruled,
        judged.name,
        digest=judged.digest,
        set_to=judged.set_to,
        known=judged.known,
        folder=judged.folder,
    )
