"""What a run says that did not judge everything: the mean of all, with an interval that holds whenever one stops."""

from __future__ import annotations

import pandas as pd

from undogmatic.records.order import turns
from undogmatic.records.rubric import Rubric
from undogmatic.stats.sequential import Anytime, mean_so_far_of_groups

OPEN = ("not_judged", "transport", "timeout", "budget", "fault")
"""Reasons for which a text has no score that a continued run may yet give it."""


def so_far(frame: pd.DataFrame, rubric: Rubric, level: float = 0.95) -> Anytime | None:
    """Mean score of all texts of a run from those that were judged; groups of texts are the looks.

    Texts are asked in an order that has nothing to do with their scores (`engine.order`), and looked at in that order
    here. Where a condition is among the texts to come and not among the judged ones, nothing is said.

    Args:
        frame: `Judged.frame` of one judge and criterion; failures that a continued run would not mend are left out.
        rubric: For the scale.
        level: Confidence level, for all looks together.
    Returns:
        None where all is judged, nothing is, scores have no order, or no statement holds.
    """
    first = frame[frame["repeat"] == 0]
    asked = turns(first["item_id"].tolist(), [None if pd.isna(pair) else str(pair) for pair in first["pair_id"]])
    first = first.iloc[asked]
    waited_for = first[first["error"].isna() | first["error"].isin(OPEN)]
    judged = waited_for[waited_for["error"].isna()]
    if judged.empty or len(judged) == len(waited_for) or not rubric.scale.ordered:
        return None
    if first[["judge", "criterion"]].drop_duplicates().shape[0] > 1:
        return None
    if set(waited_for["condition"].dropna()) != set(judged["condition"].dropna()):
        return None
    return mean_so_far_of_groups(
        judged["score"], judged["group"], waited_for["group"], rubric.minimum, rubric.maximum, level=level
    )
