"""Draws, captions and measures figures. A figure draws what an analysis counted; it computes nothing.

`FigureData(name, kind, data)`: `name` is short and unique within its analysis ("scores", "pairs"); the file becomes
`figures/<analysis>_<name>.png`. The caption is the wording `<analysis>.caption_<name>` (`caption` in the data names
that of several figures), else `figures.caption_<kind>`; it may use `{n}` (texts, pairs or rows drawn) and every scalar
in `data`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.records.results import FigureData
from undogmatic.records.rubric import Rubric
from undogmatic.report import drawings
from undogmatic.report.pen import DPI, Pen
from undogmatic.report.words import Words, missing
from undogmatic.safety.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


KINDS: dict[str, Callable[[Mapping[str, Any], Pen], Figure]] = {
    name: drawing
    for name, drawing in inspect.getmembers(drawings, inspect.isfunction)
    if drawing.__module__ == drawings.__name__ and name[0] != "_"
}
"""Every public function of `report.drawings` draws the kind of its name."""


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
        return sum(not missing(v) for row in data["matrix"] for v in row)
    counted = {"slope": "pairs", "scatter": "x", "bland_altman": "mean", "calibration": "label"}
    return len(data[counted.get(figure.kind, "labels")])
