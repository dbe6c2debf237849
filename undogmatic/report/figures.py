"""Figures: one drawing function per `FigureData.kind`. A figure draws what an analysis counted; it computes nothing.

`FigureData(name, kind, data)`: `name` is short and unique within its analysis ("scores", "pairs"); the file becomes
`figures/<analysis>_<name>.png`. The caption is the wording `<analysis>.caption_<name>`, else `figures.caption_<kind>`;
both may use `{n}` (points, pairs or rows drawn) and every scalar in `data`.

Keys of `data` by kind (`?` = optional; lists may be arrays; numbers are plain floats in the unit of the axis):

    box           groups: dict[str, list[float]], y_label
    slope         left: str, right: str, pairs: list[tuple[float, float]], y_label
    histogram     groups: dict[str, list[float]], bins: int | list[float], x_label
    scatter       x: list[float], y: list[float], x_label, y_label,
                  groups?: list[str] (one per point), labels?: list[str] (one per point, written beside it),
                  fit?: (slope, intercept), identity?: bool (draws y = x)
    bland_altman  mean: list[float], difference: list[float], bias: float, lower: float, upper: float,
                  x_label?, y_label?
    bars          labels: list[str], values: list[float], low?: list[float], high?: list[float], reference?: float,
                  y_label
    forest        labels: list[str], estimate: list[float], low: list[float], high: list[float], reference?: float,
                  x_label
    heatmap       matrix: list[list[float]] (rows x columns), rows: list[str], columns: list[str], label
    calibration   raw: list[float], calibrated: list[float], gold: list[float] (one per item), x_label?, y_label?

`low` and `high` are ends of intervals, not lengths of whiskers. Every kind also takes `limits?: (low, high)`, the ends of
the axis of scores. A NaN in `matrix`, `low` or `high` is drawn as nothing; elsewhere analyses leave failed items out.

Axis labels and names (`*_label`, `label`, groups, labels, rows, columns, left, right) are words such as "score",
"authority_only" or "ab.mean_difference": `report.words.Words.name` translates them (sections `columns`, `metrics`,
`figures.names`, then `<analysis>.names`), and what has no translation, like a model's name, stays as it is.
"""
