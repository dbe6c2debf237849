"""Draws, captions and measures figures. A figure draws what an analysis counted; it computes
nothing.

`FigureData(name, kind, data)`: `name` is short and unique within its analysis ("scores", "pairs");
the file becomes `figures/<analysis>_<name>.png`. The caption is the wording
`<analysis>.caption_<name>` (`caption` in the data names that of several figures), else
`figures.caption_<kind>`; it may use `{n}` (texts, pairs or rows drawn) and every scalar in `data`.
`kind` is the name of one of the functions below that are listed in DRAWINGS, `data` has the keys it
lists.

`?` marks an optional key. Lists may be arrays, numbers are plain floats in the unit of the axis.
`low` and `high` are ends of intervals, not lengths of whiskers. Every kind also takes `limits?:
(low, high)`, the ends of the axis of scores; kinds with a mark per item or pair take `ids?:
list[str]`, its name in the order of the marks, by which the page leads to its row. A NaN in
`matrix`, `low` or `high` is drawn as nothing; elsewhere analyses leave failed items out.

Axis labels and names (`*_label`, `label`, groups, labels, rows, columns, left, right) are words
such as "score", "control" or "ab.mean_difference": `report.words.Words` translates them
(`<analysis>.names`, the dataset's `names`, `common.names`, `metrics`, `columns`), and what has no
translation, like a model's name, stays as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.records.results import FigureData
from undogmatic.records.rubric import Rubric
from undogmatic.records.words import Words, missing
from undogmatic.report.document import Block, Paragraph, Picture
from undogmatic.report.pen import (
    BLUE,
    GREY,
    INK,
    PALETTE,
    SCORES,
    VERMILLION,
    Data,
    Pen,
    as_png,
    our_look,
)
from undogmatic.safety.extras import installed
from undogmatic.safety.files import write_bytes

MARKERS = "osD^vPX"
MANY = 500  # More lines than these are drawn fainter
MOST_MARKS = 1000  # that lead to their items; of more, every second, third, ...
MOST_NUMBERS = 150  # In more cells of a matrix they would be too small to read
SMALL_MARKS: dict[str, Any] = {"markersize": 4, "alpha": 0.7, "markeredgewidth": 0}
TURNED = {"upper": "lower", "lower": "upper"}


def draw(
    figure: FigureData, words: Words, section: str, rubric: Rubric | None, path: Path
) -> tuple[tuple[int, int], list[tuple[int, int, str]]]:
    """Draw `figure` as a PNG at `path`; the rubric's scale bounds the axes of scores. Returns its
    size, and where on it is which item, in pixels. Raises ValueError for an unknown kind and for a
    key that `data` lacks.
    """
    if figure.kind not in KINDS:
        raise ValueError(
            f"figure {figure.name!r} has kind {figure.kind!r}; there are: {', '.join(KINDS)}"
        )
    pen = Pen(words, section, rubric)
    with our_look():
        try:
            KINDS[figure.kind](figure.data, pen)
        except KeyError as error:
            raise ValueError(
                f"figure {figure.name!r} of kind {figure.kind!r} lacks {error} in its data"
            ) from None
        picture = as_png(pen.canvas)
    write_bytes(path, picture)
    width, height = pen.canvas.get_width_height()
    # Each mark that leads to its row is an element of the page, and a page of many
    # thousands of them opens slowly.
    few = pen.marks[:: 1 + len(pen.marks) // MOST_MARKS]
    places = []
    for ax, x, y, name in few:
        # Only after the figure was drawn: until then the axes have not got their place.
        across, up = ax.transData.transform((x, y))
        # A picture's pixels are counted from its top.
        places.append((round(across), round(height - up), name))
    return (width, height), places


def pictures(
    drawn: Iterable[FigureData],
    words: Words,
    section: str,
    rubric: Rubric | None,
    folder: Path,
    before: str = "",
) -> Iterator[Block]:
    """Draw the figures of one section as `figures/<before><section>_<name>.png`. Where Matplotlib,
    which the extra "figures" brings, is not installed, a sentence stands in their place."""
    drawn = list(drawn)
    # A report without figures is a report. Who judged for hours must not lose it for a
    # program that draws.
    if drawn and not installed("matplotlib"):
        names = ", ".join(figure.name for figure in drawn)
        yield Paragraph(words.text("figures.not_drawn", names=names), "small")
        return
    for figure in drawn:
        own = figure.section or section
        link = f"figures{words.beside}/{before}{own}_{figure.name}.png"
        if size(figure) == 0:
            yield Paragraph(words.text("figures.empty", name=figure.name), "small")
        else:
            shown = draw(figure, words, own, rubric, folder / link)
            yield Picture(folder / link, link, caption(figure, words, own), *shown)


def caption(figure: FigureData, words: Words, section: str) -> str:
    """What the figure shows, with the number of texts, pairs or rows in it."""
    name = figure.data.get("caption", figure.name)
    key = f"{section}.caption_{name}"
    if words.find(key) is None:
        key = f"figures.caption_{figure.kind}"
    facts = {}
    for fact, value in figure.data.items():
        if isinstance(value, str | int | float):
            facts[fact] = value
    facts["n"] = size(figure)
    return words.text(key, **facts)


def size(figure: FigureData) -> int:
    """How many marks, pairs, bars, rows or cells a figure shows."""
    data = figure.data
    if figure.kind == "curve":
        return int(data["n"])
    if figure.kind == "reliability":
        return sum(data["count"])
    if isinstance(data.get("groups"), Mapping):
        return sum(map(len, data["groups"].values()))
    if figure.kind == "heatmap":
        cells = itertools.chain.from_iterable(data["matrix"])
        return sum(not missing(cell) for cell in cells)
    counted = {
        "slope": "pairs",
        "scatter": "x",
        "bland_altman": "mean",
        "calibration": "label",
    }
    return len(data[counted.get(figure.kind, "labels")])


def look_of(number: int) -> dict[str, str]:
    """Colour and marker of a group by its number: 49 that differ in one of them at least, the first
    seven in both."""
    again, place = divmod(number, len(PALETTE))
    # A round later the same colours come with the markers one further.
    marker = (number + again) % len(MARKERS)
    return {"color": PALETTE[place], "marker": MARKERS[marker]}


def _groups(data: Data) -> dict[str, np.ndarray]:
    """The values of each group of a figure."""
    groups = data["groups"].items()
    return {name: np.asarray(values, dtype=float) for name, values in groups}


def box(data: Data, pen: Pen) -> None:
    """Quartiles, whiskers and every value of each group; lying where there are more than four
    groups. data: groups: dict[str, list[float]], y_label"""
    from matplotlib.cbook import boxplot_stats
    from matplotlib.colors import to_rgba

    groups = _groups(data)
    # Five names beside each other would lie on one another.
    lying = len(groups) > 4
    ids = iter(data.get("ids") or ())
    # Inches: lying, each group needs a row; standing, the height is that of any figure.
    height = max(3.6, 0.62 * len(groups) + 1.2) if lying else 4.4
    ax = pen.plot(height)
    draw_bar = ax.barh if lying else ax.bar
    across = ax.vlines if lying else ax.hlines
    along = ax.hlines if lying else ax.vlines
    for place, values in enumerate(groups.values()):
        if not len(values):
            continue
        colour = BLUE if lying else PALETTE[place]
        # Matplotlib's own `boxplot` would start pyplot's global state.
        stats = boxplot_stats(values)[0]
        look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.25), "edgecolor": colour}
        lower, upper = stats["q1"], stats["q3"]
        draw_bar(place, upper - lower, 0.5, lower, **look)
        whisker: dict[str, Any] = {"color": GREY, "linewidth": 1.1}
        for end, quartile in ((stats["whislo"], lower), (stats["whishi"], upper)):
            along(place, end, quartile, **whisker)
            across(end, place - 0.12, place + 0.12, **whisker)
        across(stats["med"], place - 0.25, place + 0.25, color=INK, linewidth=2)
        beside = place + _spread(values)
        marks = (values, beside) if lying else (beside, values)
        ids_of_group = list(itertools.islice(ids, len(values)))
        pen.note({"ids": ids_of_group}, ax, *marks)
        ax.plot(*marks, "o", color=colour, **SMALL_MARKS)
    # Names beside each other are broken into lines, the shorter the more there are.
    n_beside = None if lying else len(groups)
    names = [pen.group(name, len(values), n_beside) for name, values in groups.items()]
    pen.name(ax, names, data["y_label"], data.get("limits"), lying)
    if not lying:
        ax.set_xlim(-0.6, len(groups) - 0.4)


def _spread(values: np.ndarray) -> np.ndarray:
    """Sideways places of marks, so that equal values lie beside each other; the same every time."""
    height_of_row = np.ptp(values) / 40 or 1.0
    rows = pd.Series(np.floor(values / height_of_row))
    # How many marks of the row have a place already.
    before = rows.groupby(rows).cumcount().to_numpy()
    # The first in the middle, then one to each side in turn.
    side = np.where(before % 2, 1, -1)
    steps = (before + 1) // 2
    return np.clip(side * steps * 0.05, -0.32, 0.32)


def slope(data: Data, pen: Pen) -> None:
    """A line per pair from its left value to its right one, coloured by direction.
    data: left: str, right: str, pairs: list[tuple[float, float]], y_label"""
    from matplotlib.collections import LineCollection

    ax = pen.plot(5.0)
    pairs = np.array(data["pairs"], dtype=float).reshape(-1, 2)
    left, right = pairs.T
    rise = np.sign(right - left)
    for side, values in enumerate((left, right)):
        pen.note(data, ax, itertools.repeat(side), values)
    # On a scale that is shown turned, with 10 as the lowest, a score that rises falls
    # on the reader's axis.
    if pen.words.turned and data["y_label"] in SCORES:
        rise = -rise
    looks = {
        "falls": (-1, VERMILLION, "-o"),
        "rises": (1, BLUE, "-s"),
        "ties": (0, GREY, ":D"),
    }
    for key, (sign, colour, style) in looks.items():
        chosen = pairs[rise == sign]
        if not len(chosen):
            continue
        # All lines of one look are one object, and their ends another: thousands by themselves
        # would take gigabytes.
        lines = [[(0, start), (1, end)] for start, end in chosen]
        look: dict[str, Any] = {
            "colors": colour,
            "linewidths": 1.2,
            "linestyles": style[:-1],
            "alpha": 0.6 if len(pairs) <= MANY else 0.1,
        }
        n_chosen = len(chosen)
        ax.add_collection(LineCollection(lines, **look))
        marks: dict[str, Any] = {"color": colour, "markersize": 4, "alpha": 0.6}
        sides = np.repeat((0, 1), n_chosen)
        ax.plot(sides, chosen.T.ravel(), style[-1], **marks)
        # Nothing is drawn: an empty line with marks stands in the legend for both objects.
        label = pen.text(key, n=n_chosen)
        ax.plot([], [], style, label=label, linewidth=1.2, **marks)
    names = [pen.group(data["left"]), pen.group(data["right"])]
    pen.places(ax.xaxis, names)
    ax.set_xlim(-0.25, 1.25)
    pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    pen.legend(ax)


def histogram(data: Data, pen: Pen) -> None:
    """One histogram per group, below one another on the same axes.
    data: groups: dict[str, list[float]], bins: int | list[float], x_label; counts: dict[str,
    list[int]], of the bins, where there are too many values to be given"""
    groups = _groups(data)
    height = 1.2 + 1.35 * max(2, len(groups))
    axes = pen.figure(height, rows=len(groups), sharex=True, sharey=True)[:, 0]
    ends = data.get("limits") or (pen.scale if data["x_label"] in SCORES else None)
    edges = np.asarray(data["bins"], dtype=float)
    if edges.ndim == 0:
        if ends is None:
            everything = np.concatenate(list(groups.values()))
            low, high = everything.min(), everything.max()
        else:
            low, high = ends
        # The same edges for all groups, or two histograms below one another could not
        # be compared.
        edges = np.linspace(float(low), float(high), data["bins"] + 1)
    for n, (name, values) in enumerate(groups.items()):
        ax = axes[n]
        if "counts" in data:
            counts = np.asarray(data["counts"][name])
            n_shown = int(counts.sum())
        else:
            counts = np.histogram(values, edges)[0]
            n_shown = len(values)
        ax.stairs(counts, edges, fill=True, color=PALETTE[n % len(PALETTE)])
        # White between the bins, so that each can be counted.
        higher = np.maximum(counts[1:], counts[:-1])
        ax.vlines(edges[1:-1], 0, higher, color="white", linewidth=0.8)
        ax.yaxis.get_major_locator().set_params(integer=True)
        shown_name = pen.words.value(str(name), pen.section)
        ax.set_title(f"{shown_name} ({pen.text('n', n=n_shown)})")
        ax.grid(visible=True, axis="y")
    pen.label(axes[-1], x=data["x_label"], limits=ends)
    axes[-1].grid(visible=False, axis="x")
    pen.drawn.supylabel(pen.text("count"), fontsize=11)


def bars(data: Data, pen: Pen) -> None:
    """Bars with whiskers; lying where there are more than five.
    data: labels: list[str], values: list[float], low?, high?: list[float], reference?: float,
    y_label
    """
    values = np.asarray(data["values"], dtype=float)
    places = np.arange(values.size)
    lying = len(values) > 5
    height = max(3.2, 0.45 * len(values) + 1.4) if lying else 4.2
    ax = pen.plot(height)
    draw_bars = ax.barh if lying else ax.bar
    draw_bars(places, values, 0.62, color=BLUE, alpha=0.8)
    n_beside = None if lying else len(values)
    names = [pen.group(name, beside=n_beside) for name in data["labels"]]
    limits = data.get("limits")
    pen.name(ax, names, data["y_label"], limits, lying)
    whiskers = _whisker_lengths(values, data)
    if whiskers is not None:
        middles = (values, places) if lying else (places, values)
        ends = {"xerr" if lying else "yerr": whiskers}
        look: dict[str, Any] = {"ecolor": INK, "elinewidth": 1.4, "capsize": 4}
        ax.errorbar(*middles, **ends, fmt="none", **look)
    pen.reference(ax, data, lying)


def forest(data: Data, pen: Pen) -> None:
    """A marker with its interval per row, the numbers written beside it; with `least` a thick tick
    above which the interval must lie, and rows where it does not in another colour.
    data: labels: list[str], estimate, low, high: list[float], least?: list[float],
    reference?: float, within?: (low, high) (a band that is shaded), x_label"""
    values = np.asarray(data["estimate"], dtype=float)
    height = max(2.6, 0.48 * values.size + 1.5)
    ax = pen.plot(height)
    if "within" in data:
        ax.axvspan(*data["within"], color=GREY, alpha=0.2, linewidth=0)
    look: dict[str, Any] = {"elinewidth": 1.8, "capsize": 4, "markersize": 7}
    passes = np.ones(values.size, dtype=bool)
    least = None
    if "least" in data:
        least = np.asarray(data["least"], dtype=float)
        passes = np.asarray(data["low"], dtype=float) > least
    whiskers = _whisker_lengths(values, data)
    for place, value in enumerate(values):
        own = None if whiskers is None else whiskers[:, [place]]
        colour = BLUE if passes[place] else VERMILLION
        colours = {"color": colour, "ecolor": colour}
        ax.errorbar([value], [place], xerr=own, fmt="s", **colours, **look)
    if least is not None:
        marks = {
            "color": INK,
            "markersize": 24,
            "markeredgewidth": 2.5,
            "linestyle": "none",
        }
        ax.plot(least, range(values.size), marker="|", label=pen.text("least"), **marks)
        pen.legend(ax)
    names = [pen.group(name) for name in data["labels"]]
    pen.name(ax, names, data["x_label"], data.get("limits"))
    ax.set_ylim(len(values) - 0.4, -0.6)
    # Scores of a scale of the user's own, such as grades, are written as that scale writes them.
    in_own_scale = data["x_label"] in SCORES and pen.words.own is not None
    spec = "s" if in_own_scale else ".2f"
    intervals = zip(data["low"], data["high"], strict=True)
    for place, interval in enumerate(intervals):
        value = pen.words.number(float(values[place]), spec)
        ends = pen.words.number(interval, spec)
        # Where the interval is not known, a dash stands for it; beside a number it says nothing.
        shown = f"{value} {ends}".removesuffix(" —")
        pen.write(ax, shown, (1.02, place), va="center", size=10, across=True)
    pen.reference(ax, data, lying=True)


def dots(data: Data, pen: Pen) -> None:
    """A row per label with a mark per series, told apart by colour and shape.
    data: labels: list[str] (rows), series: dict[str, list[float]] (a mark per row; NaN draws none),
    x_label
    """
    names = [pen.group(name) for name in data["labels"]]
    series = dict(data["series"])
    n_series = len(series)
    ax = pen.plot(max(2.6, 0.42 * len(names) + 1.9))
    for n, (name, values) in enumerate(series.items()):
        # The marks of one row share half of its height, so that none hides another.
        from_middle = n - (n_series - 1) / 2
        beside = from_middle * 0.5 / n_series
        places = np.arange(len(names)) + beside
        look: dict[str, Any] = {
            "linestyle": "",
            "markersize": 6.5,
            "markeredgewidth": 0,
            "alpha": 0.85,
            **look_of(n),
        }
        ax.plot(values, places, label=pen.group(name), **look)
    pen.name(ax, names, data["x_label"], data.get("limits"))
    ax.set_ylim(len(names) - 0.5, -0.5)
    pen.legend(ax)


def heatmap(data: Data, pen: Pen) -> None:
    """A matrix as coloured cells, the numbers written in where there is room.
    data: matrix: list[list[float]] (rows x columns), rows: list[str], columns: list[str], label"""
    matrix = np.asarray(data["matrix"], dtype=float)
    # Of more than 15, names in lines or slanted would lie on each other.
    upright = len(data["columns"]) > 15
    beside = None if upright else len(data["columns"])
    columns = [pen.group(name, beside=beside) for name in data["columns"]]
    lines = [line for name in columns for line in name.splitlines()]
    widest = max(map(len, lines), default=0)
    height = max(3.0, 0.5 * len(matrix) + 1.8)
    # Names that stand upright take their length from the height of the figure.
    room_for_names = 0.08 * widest if upright else 0
    ax = pen.plot(height + room_for_names)
    signed = np.nanmin(matrix, initial=0) < 0
    sizes = np.abs(matrix)
    most = float(np.nanmax(sizes, initial=0))
    if data.get("limits"):
        low, high = data["limits"]
    elif signed:
        # 0 has the colour in the middle.
        low, high = -most, most
    else:
        low, high = np.nanmin(matrix), np.nanmax(matrix)
    # Equal ends leave no room for shades.
    if low == high:
        low -= 0.1
        high += 0.1
    colours = "PuOr" if signed else "cividis"
    image = ax.imshow(matrix, cmap=colours, vmin=low, vmax=high, aspect="auto")
    pen.places(ax.xaxis, columns)
    pen.places(ax.yaxis, [pen.group(r) for r in data["rows"]])
    ax.spines[:].set_visible(False)
    # Names that would lie on each other are slanted.
    if len(columns) > 5 or widest * len(columns) > 40:
        angle, side = (90, "center") if upright else (35, "top")
        for name in ax.get_xticklabels():
            name.set(rotation=angle, ha="right", va=side, rotation_mode="anchor")
    if matrix.size <= MOST_NUMBERS:
        spec = ".2f" if most < 10 else ".0f"
        for (row, column), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                shown = pen.words.number(float(value), spec)
                shade = image.cmap(image.norm(value))
                colour = _readable_on(shade)
                look: dict[str, Any] = {"ha": "center", "va": "center", "size": 9.5}
                pen.write(ax, shown, (column, row), colour=colour, **look)
    label = pen.axis_label(data["label"])
    ticks = pen.ticks()
    bar: dict[str, Any] = {"fraction": 0.05, "pad": 0.02, "aspect": 4 * height}
    pen.drawn.colorbar(image, ax=ax, label=label, format=ticks, **bar)


def _readable_on(shade: tuple[float, float, float, float]) -> str:
    """The colour of writing on a shade, by its luminance: an eye takes green for the brightest."""
    red, green, blue, _ = shade
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    return "white" if luminance < 0.55 else INK


def _whisker_lengths(values: np.ndarray, data: Data) -> np.ndarray | None:
    """Lengths of whiskers from ends of intervals; a NaN end draws none."""
    if data.get("low") is None or data.get("high") is None:
        return None
    below = values - np.asarray(data["low"], float)
    above = np.asarray(data["high"], float) - values
    # Rounding may put an end of an interval past its own value.
    return np.clip([below, above], 0, None)


def scatter(data: Data, pen: Pen) -> None:
    """Marks, coloured by group where there are few enough, with y = x if asked for.
    data: x, y: list[float], x_label, y_label, groups?: list[str] (one per point; up to seven are
    told apart),
        labels?: list[str] (one per point, beside it), identity?: bool (draws y = x)"""
    ax = pen.plot(5.0)
    x = np.asarray(data["x"], dtype=float)
    y = np.asarray(data["y"], dtype=float)
    pen.note(data, ax, x, y)
    groups = data.get("groups")
    # More groups than colours could not be told apart.
    if groups is None or len(set(groups)) > len(PALETTE):
        groups = [None] * len(x)
    for n, group in enumerate(dict.fromkeys(groups)):
        own = np.array([each == group for each in groups])
        label = None
        if group is not None:
            count = pen.text("n", n=int(own.sum()))
            label = f"{pen.group(group)} ({count})"
        look: dict[str, Any] = {
            "linestyle": "",
            "markersize": 5.5,
            "alpha": 0.7,
            "markeredgewidth": 0,
            **look_of(n),
        }
        ax.plot(x[own], y[own], label=label, **look)
    for place, text in enumerate(data.get("labels") or []):
        # So that no name is cut off at the edge.
        ax.margins(x=0.12, y=0.1)
        shown = pen.words.value(str(text), pen.section)
        mark = x[place], y[place]
        pen.write(ax, shown, mark, (5, 4))
    pen.label(ax, data["x_label"], data["y_label"], data.get("limits"))
    if data.get("identity"):
        pen.identity(ax)
    pen.legend(ax)


def bland_altman(data: Data, pen: Pen) -> None:
    """Difference against mean of two measurements, with bias and limits of agreement.
    data: mean, difference: list[float], bias, lower, upper: float, x_label?, y_label?"""
    ax = pen.plot(4.6)
    pen.note(data, ax, data["mean"], data["difference"])
    look: dict[str, Any] = {"markersize": 5, "alpha": 0.6, "markeredgewidth": 0}
    ax.plot(data["mean"], data["difference"], "o", color=BLUE, **look)
    for key, style in (("upper", "--"), ("bias", "-"), ("lower", "--")):
        value = float(data[key])
        ax.axhline(value, color=VERMILLION, linestyle=style, linewidth=1.5)
        place = 1.0, value
        if pen.words.own is not None:
            value = pen.words.own.change(value)
        # On a scale that is shown turned the lower limit lies above.
        end = TURNED.get(key, key) if pen.words.turned else key
        text = pen.text(end, value=value)
        pen.write(ax, text, place, (-4, 4), ha="right", size=9.5, across=True)
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    ax.margins(y=0.15)
    x_label = data.get("x_label", "mean_of_two")
    y_label = data.get("y_label", "difference")
    pen.label(ax, x_label, y_label)
    # A difference is a number of grades, not a grade.
    pen.in_grades(ax.yaxis, "d")


def calibration(data: Data, pen: Pen) -> None:
    """Gold against score, before and after calibration, each beside y = x.
    data: raw, calibrated, label: list[float] (one per item)"""
    axes = pen.figure(4.2, columns=2, sharey=True)
    look: dict[str, Any] = {"markersize": 4.5, "alpha": 0.55, "markeredgewidth": 0}
    before, after = axes[0]
    for ax, key, title in ((before, "raw", "before"), (after, "calibrated", "after")):
        pen.note(data, ax, data[key], data["label"])
        ax.plot(data[key], data["label"], "o", color=BLUE, **look)
        ax.set_title(pen.text(title))
        pen.label(ax, x="score", limits=data.get("limits"))
        pen.label(ax, y="label", limits=data.get("limits"))
        pen.identity(ax)
        ax.label_outer()


def curve(data: Data, pen: Pen) -> None:
    """Lines over a common axis, with bands where they have them.
    data: lines: dict[str, {x: list[float], y: list[float], low?, high?: list[float]}] (the ends are
    drawn as a band),
        x_label, y_label, n: int (items behind the curves)"""
    ax = pen.plot(4.6)
    for n, (name, line) in enumerate(data["lines"].items()):
        x = line["x"]
        colour = PALETTE[n % len(PALETTE)]
        # Also told apart without colours, as in print.
        style = ("-", "--", ":", "-.")[n % 4]
        if line.get("low") is not None:
            band: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0}
            ax.fill_between(x, line["low"], line["high"], **band)
        label = pen.group(name)
        ax.plot(x, line["y"], style, color=colour, linewidth=1.8, label=label)
    pen.label(ax, data["x_label"], data["y_label"], data.get("limits"))
    pen.legend(ax)


def reliability(data: Data, pen: Pen) -> None:
    """Share right against stated confidence by bin, with intervals and counts, beside y = x.
    data: confidence, accuracy, low, high: list[float] (shares in [0, 1], one per bin), count:
    list[int]
    """
    ax = pen.plot(4.6)
    stated = np.asarray(data["confidence"], dtype=float)
    right = np.asarray(data["accuracy"], dtype=float)
    look: dict[str, Any] = {
        "color": BLUE,
        "ecolor": BLUE,
        "elinewidth": 1.4,
        "capsize": 3,
        "markersize": 6,
    }
    ax.errorbar(stated, right, yerr=_whisker_lengths(right, data), fmt="o", **look)
    for x, y, count in zip(stated, right, data["count"], strict=True):
        pen.write(ax, pen.text("n", n=count), (x, y), (6, 5))
    pen.label(ax, x="stated_confidence", limits=(0.0, 1.0))
    pen.label(ax, y="share_right", limits=(0.0, 1.0))
    pen.identity(ax)
    pen.legend(ax)


DRAWINGS = (
    bars,
    bland_altman,
    box,
    calibration,
    curve,
    dots,
    forest,
    heatmap,
    histogram,
    reliability,
    scatter,
    slope,
)
KINDS: dict[str, Callable[[Data, Pen], None]] = {
    drawing.__name__: drawing for drawing in DRAWINGS
}
