"""Makes the figures of a check from one judge's verdicts beside people's labels: what each said of
the same items."""

import numpy as np
import pandas as pd

from undogmatic.examinations.surface_rival import SurfaceRival
from undogmatic.records.evidence import JudgeView
from undogmatic.records.results import FigureData
from undogmatic.stats.annotators import Ceiling
from undogmatic.stats.estimate import Estimate

MOST_CATEGORIES = 20
MOST_MARKS = 2000
"""A picture with more marks shows every k-th of them in the order of the labels."""


def figures_of(own: JudgeView) -> list[FigureData]:
    """Categories: how often people and judge said what. Numbers: verdict against label, and their
    difference against their mean with the limits of agreement (Bland and Altman 1986,
    doi:10.1016/S0140-6736(86)90837-8). None where nothing has both."""
    pairs = own.pairs()
    if pairs.empty:
        return []
    if own.table.kind != "numeric":
        return _confusion(pairs, own.table.categories)
    pairs = pairs.sort_values(["label", "verdict"], kind="stable")
    label, verdict = (
        pairs[column].to_numpy(np.float64) for column in ("label", "verdict")
    )
    difference = verdict - label
    shown = np.unique(
        np.linspace(0, len(pairs) - 1, min(len(pairs), MOST_MARKS)).round().astype(int)
    )
    bias = float(difference.mean())
    spread = float(difference.std(ddof=1)) if len(pairs) > 1 else 0.0
    ends = {"bias": bias, "lower": bias - 1.96 * spread, "upper": bias + 1.96 * spread}
    against = {
        "x": label[shown],
        "y": verdict[shown],
        "x_label": "label",
        "y_label": "verdict",
        "identity": True,
    }
    ids = {"ids": pairs["item"].iloc[shown].tolist()}
    means = (label + verdict)[shown] / 2
    return [
        FigureData("agreement", "scatter", against | ids),
        FigureData(
            "difference",
            "bland_altman",
            {"mean": means, "difference": difference[shown], **ends, **ids},
        ),
    ]


def three_questions(
    agreement: Estimate | None,
    least: float,
    rival: SurfaceRival,
    ceiling: Ceiling | None,
) -> list[FigureData]:
    """What the answer hangs on, each with its interval and what it must lie above: agreement with
    people (and beside that of people with each other, where the judge is believed for being no
    worse), its lead over a rival that does not read, and what it shares with people beyond that."""
    shared = None if rival.shared is None else rival.shared.share
    rows = [("question_agrees", agreement, least)]
    if agreement is not None and agreement.low <= least and ceiling is not None:
        rows.append(("question_people", ceiling.difference, 0.0))
    rows.append(("question_leads", rival.increment, 0.0))
    if shared is not None:
        rows.append(("question_shares", shared, rival.least_share))
    else:
        rows.append(("question_left", rival.at_equal, rival.least_left))
    known = [(name, found, limit) for name, found, limit in rows if found is not None]
    if not known:
        return []
    return [
        FigureData(
            "questions",
            "forest",
            {
                "labels": [name for name, _, _ in known],
                "estimate": [found.value for _, found, _ in known],
                "low": [min(found.low, found.worst_low) for _, found, _ in known],
                "high": [found.high for _, found, _ in known],
                "least": [limit for _, _, limit in known],
                "x_label": "question_value",
            },
        )
    ]


def _confusion(pairs: pd.DataFrame, categories: tuple[str, ...]) -> list[FigureData]:
    if len(categories) > MOST_CATEGORIES:
        return []
    places = range(len(categories))
    counts = pd.crosstab(
        pairs["label"], pairs["verdict"], pairs["weight"], aggfunc="sum"
    )
    matrix = (
        counts.reindex(index=places, columns=places).fillna(0.0).to_numpy(np.float64)
    )
    names = list(categories)
    return [
        FigureData(
            "confusion",
            "heatmap",
            {"rows": names, "columns": names, "matrix": matrix, "label": "count"},
        )
    ]
