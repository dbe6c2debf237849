"""Figures: one drawing function per `FigureData.kind`. A figure draws what an analysis counted; it computes nothing.

figures_of_groups     box, slope, histogram
figures_of_estimates  bars, forest, dots, heatmap
figures_of_relations  scatter, bland_altman, calibration, curve, reliability

`FigureData(name, kind, data)`: `name` is short and unique within its analysis ("scores", "pairs"); the file becomes
`figures/<analysis>_<name>.png`. The caption is the wording `<analysis>.caption_<name>` (`caption` in the data names
that of several figures), else `figures.caption_<kind>`; it may use `{n}` (texts, pairs or rows drawn) and every scalar
in `data`.

Keys of `data` by kind (`?` = optional; lists may be arrays; numbers are plain floats in the unit of the axis):

    box           groups: dict[str, list[float]], y_label
    slope         left: str, right: str, pairs: list[tuple[float, float]], y_label
    histogram     groups: dict[str, list[float]], bins: int | list[float], x_label
    scatter       x: list[float], y: list[float], x_label, y_label,
                  groups?: list[str] (one per point; up to seven are told apart),
                  labels?: list[str] (one per point, written beside it),
                  fit?: (slope, intercept), identity?: bool (draws y = x)
    bland_altman  mean: list[float], difference: list[float], bias: float, lower: float, upper: float,
                  x_label?, y_label?
    bars          labels: list[str], values: list[float], low?: list[float], high?: list[float], reference?: float,
                  y_label
    forest        labels: list[str], estimate: list[float], low: list[float], high: list[float], reference?: float,
                  x_label
    dots          labels: list[str] (rows), series: dict[str, list[float]] (a mark per row; NaN draws none), x_label
    heatmap       matrix: list[list[float]] (rows x columns), rows: list[str], columns: list[str], label
    calibration   raw: list[float], calibrated: list[float], label: list[float] (one per item), x_label?, y_label?
    curve         lines: dict[str, {x: list[float], y: list[float], low?: list[float], high?: list[float]}], x_label,
                  y_label, n: int (items behind the curves); low and high are drawn as a band
    reliability   confidence: list[float], accuracy: list[float], low: list[float], high: list[float], count: list[int]
                  (one per bin, shares in [0, 1])

`low` and `high` are ends of intervals, not lengths of whiskers. Every kind also takes `limits?: (low, high)`, the
ends of the axis of scores. A NaN in `matrix`, `low` or `high` is drawn as nothing; elsewhere analyses leave failed
items out.

Axis labels and names (`*_label`, `label`, groups, labels, rows, columns, left, right) are words such as "score",
"control" or "ab.mean_difference": `report.words.Words` translates them (`<analysis>.names`, the dataset's `names`,
`common.names`, `metrics`, `columns`), and what has no translation, like a model's name, stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.records.records import Rubric
from undogmatic.records.results import FigureData
from undogmatic.report import figures_of_estimates, figures_of_groups, figures_of_relations
from undogmatic.report.pen import DPI, Pen
from undogmatic.report.words import Words
from undogmatic.safety.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KINDS: dict[str, Callable[[Mapping[str, Any], Pen], Figure]] = {
    "box": figures_of_groups.box,
    "slope": figures_of_groups.slope,
    "histogram": figures_of_groups.histogram,
    "scatter": figures_of_relations.scatter,
    "bland_altman": figures_of_relations.bland_altman,
    "bars": figures_of_estimates.bars,
    "forest": figures_of_estimates.forest,
    "dots": figures_of_estimates.dots,
    "heatmap": figures_of_estimates.heatmap,
    "calibration": figures_of_relations.calibration,
    "curve": figures_of_relations.curve,
    "reliability": figures_of_relations.reliability,
}


def draw(figure: FigureData, words: Words, section: str, rubric: Rubric | None, path: Path) -> None:
    """Draw `figure` as a PNG at `path`; the rubric's scale bounds the axes of scores.

    Raises:
        ValueError: Unknown kind, or a key of `data` is missing.
    """
    if figure.kind not in KINDS:
        raise ValueError(f"figure {figure.name!r} has kind {figure.kind!r}; there are: {', '.join(KINDS)}")
    try:
        drawn = KINDS[figure.kind](figure.data, Pen(words, section, rubric))
    except KeyError as error:
        raise ValueError(f"figure {figure.name!r} of kind {figure.kind!r} lacks {error} in its data") from None
    layout = drawn.get_layout_engine()
    assert layout is not None  # every figure is made by Pen.figure
    layout.execute(drawn)
    drawn.set_layout_engine(None)  # else all is laid out once more
    write_bytes(path, as_png(drawn))


def as_png(figure: Figure) -> bytes:
    """The figure as it is laid out, as a PNG file.

    Without the transparency that it does not have: `Figure.savefig` packs that too, in twice the time to the same size.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas, packed = FigureCanvasAgg(figure), BytesIO()
    canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image.save(packed, format="png", dpi=(DPI, DPI), compress_level=1)
    return packed.getvalue()


def caption(figure: FigureData, words: Words, section: str) -> str:
    """What the figure shows, with the number of texts, pairs or rows in it."""
    own = f"{section}.caption_{figure.data.get('caption', figure.name)}"
    key = own if words.find(own) is not None else f"figures.caption_{figure.kind}"
    plain = {k: v for k, v in figure.data.items() if isinstance(v, str | int | float)}
    return words.text(key, **(plain | {"n": size(figure)}))


def size(figure: FigureData) -> int:
    """How many marks, pairs, bars, rows or cells a figure shows."""
    data = figure.data
    if figure.kind == "curve":
        return int(data["n"])
    if figure.kind == "reliability":
        return sum(data["count"])
    if "groups" in data and isinstance(data["groups"], Mapping):
        return sum(len(values) for values in data["groups"].values())
    if figure.kind == "heatmap":
        return sum(not _nan(v) for row in data["matrix"] for v in row)
    counted = {"slope": "pairs", "scatter": "x", "bland_altman": "mean", "calibration": "label"}
    return len(data[counted.get(figure.kind, "labels")])


def _nan(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
