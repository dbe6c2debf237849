"""What the figures of a composite show: the ranking, its pillars, and every case by every judge. Nothing is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from undogmatic.constructs.faithfulness.pillars import Scores, crossed
from undogmatic.records.results import FigureData, metric_name

MOST_CASES = 30
"""With more, neither rows of a heatmap nor marks of a case can be read."""


def of_ranking(ranking: pd.DataFrame, pillars: Sequence[str]) -> list[FigureData]:
    """The ranking with its intervals, and what each pillar says."""
    forest = {
        "labels": ranking["system"].tolist(),
        "estimate": ranking["composite"].tolist(),
        "low": ranking["low"].tolist(),
        "high": ranking["high"].tolist(),
        "x_label": "composite",
    }
    columns = [*(f"of_{pillar}" for pillar in pillars), "composite"]
    broken = {
        "rows": ranking["system"].tolist(),
        "columns": columns,
        "matrix": ranking[columns].to_numpy(dtype=float).tolist(),
        "label": "mean_of_cases",
        "limits": (0.0, 1.0) if ranking[columns].to_numpy(dtype=float).max() <= 1 else None,
    }
    return [FigureData("ranking", "forest", forest), FigureData("pillars", "heatmap", broken)]


def of_cases(scores: Scores, by_judge: Mapping[str, Scores], means: pd.DataFrame) -> list[FigureData]:
    """Every case: the systems beside one another, and a heatmap per judge; and the systems' means by judge."""
    table = crossed(scores.about, scores.composite)
    if not len(table) or len(table) > MOST_CASES:
        return []
    figures = [FigureData("cases", "dots", dots(table, "composite"))]
    for judge, own in by_judge.items():
        grid = crossed(own.about, own.composite)
        data = {
            "rows": grid.index.tolist(),
            "columns": grid.columns.tolist(),
            "matrix": grid.to_numpy(dtype=float).tolist(),
            "label": "composite",
            "limits": (0.0, 1.0) if grid.max().max() <= 1 else None,
            "judge": judge,
            "caption": "cases_of",
        }
        figures.append(FigureData(metric_name(f"cases_{judge}"), "heatmap", data))
    if len(means):
        wide = means.pivot(index="system", columns="voice", values="composite")
        wide = wide.reindex(index=means["system"].unique(), columns=means["voice"].unique())
        figures.append(FigureData("by_judge", "dots", dots(wide, "composite")))
    return figures


def dots(table: pd.DataFrame, label: str) -> dict[str, object]:
    """A row per index with a mark per column."""
    series = {str(name): column.astype(float).tolist() for name, column in table.items()}
    return {"labels": [str(row) for row in table.index], "series": series, "x_label": label}
