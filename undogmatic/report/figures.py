"""Draws, captions and measures figures. A figure draws what an analysis counted; it computes nothing.

`FigureData(name, kind, data)`: `name` is short and unique within its analysis ("scores", "pairs"); the file becomes
`figures/<analysis>_<name>.png`. The caption is the wording `<analysis>.caption_<name>` (`caption` in the data names
that of several figures), else `figures.caption_<kind>`; it may use `{n}` (texts, pairs or rows drawn) and every scalar
in `data`. `kind` is the name of one of the functions below that are listed in KINDS, `data` has the keys it lists.

`?` marks an optional key. Lists may be arrays, numbers are plain floats in the unit of the axis. `low` and `high` are
ends of intervals, not lengths of whiskers. Every kind also takes `limits?: (low, high)`, the ends of the axis of
scores. A NaN in `matrix`, `low` or `high` is drawn as nothing; elsewhere analyses leave failed items out.

Axis labels and names (`*_label`, `label`, groups, labels, rows, columns, left, right) are words such as "score",
"control" or "ab.mean_difference": `report.words.Words` translates them (`<analysis>.names`, the dataset's `names`,
`common.names`, `metrics`, `columns`), and what has no translation, like a model's name, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from undogmatic.records.results import FigureData
from undogmatic.records.rubric import Rubric
from undogmatic.report.pen import BLUE, DPI, GREY, INK, PALETTE, SCORES, VERMILLION, Pen, look_of, plain, ticks
from undogmatic.report.words import Words, missing
from undogmatic.safety.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MANY = 500
"""More lines than these are drawn fainter."""


def draw(figure: FigureData, words: Words, section: str, rubric: Rubric | None, path: Path) -> None:
    """Draw `figure` as a PNG at `path`; the rubric's scale bounds the axes of scores. Raises ValueError for an unknown
    kind and for a key that `data` lacks."""
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
    """Return the figure as it is laid out, as a PNG file without the transparency that it does not have:
    `Figure.savefig` packs that too, in twice the time to the same size."""
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


def box(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Quartiles, whiskers and every value of each group; lying where there are more than four groups.
    data: groups: dict[str, list[float]], y_label"""
    groups = {name: np.asarray(values, dtype=float) for name, values in data["groups"].items()}
    lying = len(groups) > 4
    figure, ax = pen.plot(max(3.6, 0.62 * len(groups) + 1.2) if lying else 4.4)
    places = np.arange(len(groups))
    colours = [PALETTE[n % len(PALETTE)] if not lying else BLUE for n in places]
    for place, values, colour in zip(places, groups.values(), colours, strict=True):
        if len(values):
            _one_box(ax, float(place), values, colour, lying)
            beside = place + _spread(values)
            marks = (values, beside) if lying else (beside, values)
            ax.plot(*marks, "o", color=colour, markersize=4, alpha=0.7, markeredgewidth=0)
    names = [pen.group(name, len(values), 2 if lying else len(groups)) for name, values in groups.items()]
    if lying:
        names = [name.replace("\n", " ").replace(" n =", "\nn =") for name in names]
    _name_groups(ax, names, data, pen, lying)
    if not lying:
        ax.set_xlim(-0.6, len(groups) - 0.4)
    return figure


def _name_groups(ax: Axes, names: Sequence[str], data: Mapping[str, Any], pen: Pen, lying: bool) -> None:
    """Name groups that stand beside each other, or lie below each other, and label the axis of their values."""
    (ax.set_yticks if lying else ax.set_xticks)(range(len(names)), names)
    if lying:
        ax.invert_yaxis()
    pen.label(ax, **{"x" if lying else "y": data["y_label"]}, limits=data.get("limits"))


def _one_box(ax: Axes, place: float, values: np.ndarray, colour: str, lying: bool) -> None:
    """Quartiles, median and whiskers as Matplotlib counts them; its own `boxplot` would start pyplot's global state."""
    from matplotlib.cbook import boxplot_stats
    from matplotlib.colors import to_rgba

    box = boxplot_stats(values)[0]
    look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.25), "edgecolor": colour}
    across, along = (ax.vlines, ax.hlines) if lying else (ax.hlines, ax.vlines)
    (ax.barh if lying else ax.bar)(place, box["q3"] - box["q1"], 0.5, box["q1"], **look)
    for end, quartile in (("whislo", "q1"), ("whishi", "q3")):
        along(place, box[end], box[quartile], color=GREY, linewidth=1.1)
        across(box[end], place - 0.12, place + 0.12, color=GREY, linewidth=1.1)
    across(box["med"], place - 0.25, place + 0.25, color=INK, linewidth=2)


def _spread(values: np.ndarray) -> np.ndarray:
    """Sideways places of marks, so that equal values lie beside each other; the same every time."""
    width = (float(np.max(values)) - float(np.min(values))) / 40 or 1.0
    rows = pd.Series(np.floor(values / width))
    before = rows.groupby(rows).cumcount().to_numpy()  # how many marks of the row have a place already
    return np.clip(np.where(before % 2, 1, -1) * ((before + 1) // 2) * 0.05, -0.32, 0.32)


def slope(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A line per pair from its left value to its right one, coloured by direction.
    data: left: str, right: str, pairs: list[tuple[float, float]], y_label"""
    from matplotlib.collections import LineCollection

    figure, ax = pen.plot(5.0)
    pairs = [(float(a), float(b)) for a, b in data["pairs"]]
    looks = {
        "falls": ([p for p in pairs if p[1] < p[0]], VERMILLION, "-o"),
        "rises": ([p for p in pairs if p[1] > p[0]], BLUE, "-s"),
        "ties": ([p for p in pairs if p[1] == p[0]], GREY, ":D"),
    }
    alpha = 0.6 if len(pairs) <= MANY else 0.1
    for key, (chosen, colour, style) in looks.items():
        if not chosen:
            continue
        # All lines of one look are one object, and their ends another: thousands by themselves would take gigabytes.
        look: dict[str, Any] = {"colors": colour, "linewidths": 1.2, "linestyles": style[:-1]}
        ax.add_collection(LineCollection([[(0, a), (1, b)] for a, b in chosen], alpha=alpha, **look))
        ends = np.repeat((0, 1), len(chosen)), np.array(chosen).T.ravel()
        ax.plot(*ends, style[-1], color=colour, markersize=4, alpha=0.6)
        ax.plot([], [], style, label=pen.text(key, n=len(chosen)), color=colour, markersize=4, linewidth=1.2, alpha=0.6)
    ax.set_xticks((0, 1), [pen.group(data["left"]), pen.group(data["right"])], fontsize=11)
    ax.set_xlim(-0.25, 1.25)
    pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    pen.legend(figure, ax)
    return figure


def histogram(data: Mapping[str, Any], pen: Pen) -> Figure:
    """One histogram per group, below one another on the same axes.
    data: groups: dict[str, list[float]], bins: int | list[float], x_label"""
    groups = {name: np.asarray(values, dtype=float) for name, values in data["groups"].items()}
    figure, axes = pen.figure(1.2 + 1.35 * max(2, len(groups)), rows=len(groups), sharex=True, sharey=True)
    ends = data.get("limits") or (pen.scale if data["x_label"] in SCORES else None)
    if isinstance(data["bins"], int):
        everything = np.concatenate(list(groups.values()))
        low, high = ends if ends is not None else (everything.min(), everything.max())
        edges = np.linspace(float(low), float(high), data["bins"] + 1)
    else:
        edges = np.asarray(data["bins"], dtype=float)
    for n, (ax, (name, values)) in enumerate(zip(axes[:, 0], groups.items(), strict=True)):
        counts = np.histogram(values, edges)[0]
        ax.stairs(counts, edges, fill=True, color=PALETTE[n % len(PALETTE)])
        ax.vlines(edges[1:-1], 0, np.maximum(counts[1:], counts[:-1]), color="white", linewidth=0.8)
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.grid(axis="y", color="#e3e3e3", linewidth=0.8)
        title = f"{plain(pen.words.value(str(name), pen.section))} ({pen.text('n', n=len(values))})"
        ax.set_title(title, fontsize=10.5, color=INK, loc="left")
    pen.label(axes[-1, 0], x=data["x_label"], limits=ends)
    axes[-1, 0].grid(visible=False, axis="x")
    figure.supylabel(pen.text("count"), fontsize=11, color=INK)
    return figure


def bars(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Bars with whiskers; lying where there are more than five.
    data: labels: list[str], values: list[float], low?, high?: list[float], reference?: float, y_label"""
    values = np.asarray(data["values"], dtype=float)
    lying = len(values) > 5
    figure, ax = pen.plot(max(3.2, 0.45 * len(values) + 1.4) if lying else 4.2)
    places = np.arange(len(values))
    names = [pen.group(name, beside=len(values)) for name in data["labels"]]
    look: dict[str, Any] = {"color": BLUE, "alpha": 0.8, "height" if lying else "width": 0.62}
    (ax.barh if lying else ax.bar)(places, values, **look)
    _name_groups(ax, [name.replace("\n", " ") for name in names] if lying else names, data, pen, lying)
    whiskers = _whisker_lengths(values, data)
    if whiskers is not None:
        ends = {"xerr" if lying else "yerr": whiskers}
        middles = (values, places) if lying else (places, values)
        ax.errorbar(*middles, **ends, fmt="none", ecolor=INK, elinewidth=1.4, capsize=4)
    _reference(ax, data, pen, lying)
    return figure


def forest(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A marker with its interval per row, the numbers written beside it.
    data: labels: list[str], estimate, low, high: list[float], reference?: float, x_label"""
    values = np.asarray(data["estimate"], dtype=float)
    places = np.arange(len(values))
    figure, ax = pen.plot(max(2.6, 0.48 * len(values) + 1.5))
    look: dict[str, Any] = {"color": BLUE, "ecolor": BLUE, "elinewidth": 1.8, "capsize": 4, "markersize": 7}
    ax.errorbar(values, places, xerr=_whisker_lengths(values, data), fmt="s", **look)
    ax.set_yticks(places, [pen.group(name).replace("\n", " ") for name in data["labels"]])
    ax.set_ylim(len(values) - 0.4, -0.6)
    pen.label(ax, x=data["x_label"], limits=data.get("limits"))
    for place, value, low, high in zip(places, values, data["low"], data["high"], strict=True):
        shown = f"{pen.words.number(float(value), '.2f')} {pen.words.number((low, high), '.2f')}".removesuffix(" —")
        ax.annotate(shown, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=10, color=INK)
    _reference(ax, data, pen, lying=True)
    return figure


def dots(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A row per label with a mark per series, told apart by colour and shape.
    data: labels: list[str] (rows), series: dict[str, list[float]] (a mark per row; NaN draws none), x_label"""
    labels, series = list(data["labels"]), dict(data["series"])
    figure, ax = pen.plot(max(2.6, 0.42 * len(labels) + 1.9))
    shift = 0.5 / max(1, len(series))
    for n, (name, values) in enumerate(series.items()):
        places = np.arange(len(labels)) + (n - (len(series) - 1) / 2) * shift
        look = look_of(n)
        shown = pen.group(name).replace("\n", " ")
        ax.plot(values, places, linestyle="", markersize=6.5, markeredgewidth=0, alpha=0.85, label=shown, **look)
    ax.set_yticks(range(len(labels)), [pen.group(name).replace("\n", " ") for name in labels])
    ax.set_ylim(len(labels) - 0.5, -0.5)
    pen.label(ax, x=data["x_label"], limits=data.get("limits"))
    pen.legend(figure, ax)
    return figure


def heatmap(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A matrix as coloured cells, the numbers written in where there is room.
    data: matrix: list[list[float]] (rows x columns), rows: list[str], columns: list[str], label"""
    matrix = np.asarray(data["matrix"], dtype=float)
    figure, ax = pen.plot(max(3.0, 0.5 * matrix.shape[0] + 1.8))
    signed = bool(np.nanmin(matrix) < 0) if not np.isnan(matrix).all() else False
    most = float(np.nanmax(np.abs(matrix))) if signed else None
    ends = data.get("limits") or ((-most, most) if most is not None else (None, None))
    image = ax.imshow(matrix, cmap="PuOr" if signed else "cividis", vmin=ends[0], vmax=ends[1], aspect="auto")
    columns = [pen.group(c, beside=len(data["columns"])) for c in data["columns"]]
    widest = max((len(line) for name in columns for line in name.splitlines()), default=0)
    crowded = len(columns) > 5 or widest * len(columns) > 40
    ax.set_xticks(range(len(columns)), columns, rotation=35 if crowded else 0, ha="right" if crowded else "center")
    ax.set_yticks(range(matrix.shape[0]), [pen.group(r).replace("\n", " ") for r in data["rows"]])
    ax.spines[:].set_visible(False)
    if matrix.size <= 150:
        decimals = ".2f" if np.nanmax(np.abs(matrix), initial=0) < 10 else ".0f"
        for (row, column), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                shade = image.cmap(image.norm(value))
                dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.55
                written = pen.words.number(float(value), decimals)
                ax.text(column, row, written, ha="center", va="center", fontsize=9.5, color="white" if dark else INK)
    bar = figure.colorbar(image, ax=ax, format=ticks(pen.words), fraction=0.05)
    bar.set_label(pen.axis_label(data["label"]), fontsize=10.5, color=INK)
    return figure


def _reference(ax: Axes, data: Mapping[str, Any], pen: Pen, lying: bool) -> None:
    if data.get("reference") is None:
        return
    value = float(data["reference"])
    line = ax.axvline if lying else ax.axhline
    line(value, color=VERMILLION, linestyle="--", linewidth=1.4, label=pen.text("reference", value=value))
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize=9.5, borderaxespad=0.2)


def _whisker_lengths(values: np.ndarray, data: Mapping[str, Any]) -> np.ndarray | None:
    """Lengths of whiskers from ends of intervals; a NaN end draws none."""
    if data.get("low") is None or data.get("high") is None:
        return None
    ends = np.array([values - np.asarray(data["low"], float), np.asarray(data["high"], float) - values])
    return np.clip(ends, 0, None)


def scatter(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Marks, coloured by group where there are few enough, with a fitted line or y = x if asked for.
    data: x, y: list[float], x_label, y_label, groups?: list[str] (one per point; up to seven are told apart),
        labels?: list[str] (one per point, beside it), fit?: (slope, intercept), identity?: bool (draws y = x)"""
    figure, ax = pen.plot(5.0)
    x, y = np.asarray(data["x"], dtype=float), np.asarray(data["y"], dtype=float)
    groups = list(data["groups"]) if data.get("groups") is not None else [None] * len(x)
    if len(set(groups)) > len(PALETTE):
        groups = [None] * len(x)  # more groups than colours could not be told apart
    for n, group in enumerate(dict.fromkeys(groups)):
        own = np.array([g == group for g in groups])
        label = (
            None if group is None else f"{pen.group(group).replace(chr(10), ' ')} ({pen.text('n', n=int(own.sum()))})"
        )
        look = look_of(n)
        ax.plot(x[own], y[own], linestyle="", markersize=5.5, alpha=0.7, markeredgewidth=0, label=label, **look)
    for point, text in zip(zip(x, y, strict=True), data.get("labels") or [], strict=False):
        shown = plain(pen.words.value(str(text), pen.section))
        ax.margins(x=0.12, y=0.1)
        ax.annotate(shown, point, xytext=(5, 4), textcoords="offset points", fontsize=9, color=INK)
    pen.label(ax, x=data["x_label"])
    pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    if data.get("fit") is not None:
        slope, intercept = data["fit"]
        ends = np.array([x.min(), x.max()])
        ax.plot(ends, intercept + slope * ends, "-", color=INK, linewidth=1.6, label=pen.text("fit"))
    if data.get("identity"):
        _identity(ax, pen)
    pen.legend(figure, ax)
    return figure


def bland_altman(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Difference against mean of two measurements, with bias and limits of agreement.
    data: mean, difference: list[float], bias, lower, upper: float, x_label?, y_label?"""
    figure, ax = pen.plot(4.6)
    ax.plot(data["mean"], data["difference"], "o", color=BLUE, markersize=5, alpha=0.6, markeredgewidth=0)
    for key, style in (("upper", "--"), ("bias", "-"), ("lower", "--")):
        value = float(data[key])
        ax.axhline(value, color=VERMILLION, linestyle=style, linewidth=1.5)
        place = {"xy": (1.0, value), "xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        ax.annotate(pen.text(key, value=value), xytext=(-4, 4), ha="right", fontsize=9.5, color=INK, **place)
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    ax.margins(y=0.15)
    pen.label(ax, x=data.get("x_label", "mean_of_two"), y=data.get("y_label", "difference"))
    return figure


def calibration(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Gold against score, before and after calibration, each beside y = x.
    data: raw, calibrated, label: list[float] (one per item), x_label?, y_label?"""
    figure, axes = pen.figure(4.2, columns=2, sharey=True)
    for ax, key, title in zip(axes[0], ("raw", "calibrated"), ("before", "after"), strict=True):
        ax.plot(data[key], data["label"], "o", color=BLUE, markersize=4.5, alpha=0.55, markeredgewidth=0)
        ax.set_title(pen.text(title), fontsize=11, color=INK, loc="left")
        pen.label(ax, x=data.get("x_label", "score"), limits=data.get("limits"))
        pen.label(ax, y=data.get("y_label", "label"), limits=data.get("limits"))
        _identity(ax, pen)
    axes[0, 1].set_ylabel("")
    return figure


def curve(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Lines over a common axis, with bands where they have them.
    data: lines: dict[str, {x: list[float], y: list[float], low?, high?: list[float]}] (the ends are drawn as a band),
        x_label, y_label, n: int (items behind the curves)"""
    figure, ax = pen.plot(4.6)
    for n, (name, line) in enumerate(data["lines"].items()):
        colour = PALETTE[n % len(PALETTE)]
        style = ("-", "--", ":", "-.")[n % 4]
        if line.get("low") is not None:
            ax.fill_between(line["x"], line["low"], line["high"], color=colour, alpha=0.15, linewidth=0)
        label = pen.group(name).replace("\n", " ")
        ax.plot(line["x"], line["y"], style, color=colour, linewidth=1.8, label=label)
    pen.label(ax, x=data["x_label"])
    pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    pen.legend(figure, ax)
    return figure


def reliability(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Share right against stated confidence by bin, with intervals and counts, beside y = x.
    data: confidence, accuracy, low, high: list[float] (shares in [0, 1], one per bin), count: list[int]"""
    figure, ax = pen.plot(4.6)
    stated, right = np.asarray(data["confidence"], dtype=float), np.asarray(data["accuracy"], dtype=float)
    whiskers = _whisker_lengths(right, data)
    ax.errorbar(stated, right, yerr=whiskers, fmt="o", color=BLUE, ecolor=BLUE, elinewidth=1.4, capsize=3, markersize=6)
    for x, y, count in zip(stated, right, data["count"], strict=True):
        place = {"xytext": (6, 5), "textcoords": "offset points"}
        ax.annotate(pen.text("n", n=count), (x, y), fontsize=9, color=INK, **place)
    pen.label(ax, x="stated_confidence", limits=(0.0, 1.0))
    pen.label(ax, y="share_right", limits=(0.0, 1.0))
    _identity(ax, pen)
    pen.legend(figure, ax)
    return figure


def _identity(ax: Axes, pen: Pen) -> None:
    low = max(ax.get_xlim()[0], ax.get_ylim()[0])
    high = min(ax.get_xlim()[1], ax.get_ylim()[1])
    look: dict[str, Any] = {"color": GREY, "linewidth": 1.3, "scalex": False, "scaley": False}
    ax.plot((low, high), (low, high), "--", label=pen.text("identity"), **look)


KINDS: dict[str, Callable[[Mapping[str, Any], Pen], Figure]] = {
    drawing.__name__: drawing
    for drawing in (
        bars, bland_altman, box, calibration, curve, dots, forest, heatmap, histogram, reliability, scatter, slope
    )
}  # fmt: skip
