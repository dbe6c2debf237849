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
from undogmatic.report.words import Words, missing
from undogmatic.safety.extras import installed
from undogmatic.safety.files import write_bytes

MARKERS = "osD^vPX"
MANY = 500  # More lines than these are drawn fainter
MOST_MARKS = 1000  # that lead to their items; of more, every second, third, ...


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
    # Only after the figure was drawn: until then the axes have not got their place.
    places = [(ax.transData.transform((x, y)), name) for ax, x, y, name in few]
    return (width, height), [
        (round(x), round(height - y), name) for (x, y), name in places
    ]


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
        yield Paragraph(
            words.text(
                "figures.not_drawn", names=", ".join(figure.name for figure in drawn)
            ),
            "small",
        )
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
    own = f"{section}.caption_{figure.data.get('caption', figure.name)}"
    key = own if words.find(own) is not None else f"figures.caption_{figure.kind}"
    scalars = {k: v for k, v in figure.data.items() if isinstance(v, str | int | float)}
    return words.text(key, **(scalars | {"n": size(figure)}))


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
        return sum(not missing(v) for row in data["matrix"] for v in row)
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
    again = number // len(PALETTE)
    return {
        "color": PALETTE[number % len(PALETTE)],
        "marker": MARKERS[(number + again) % len(MARKERS)],
    }


def box(data: Data, pen: Pen) -> None:
    """Quartiles, whiskers and every value of each group; lying where there are more than four
    groups. data: groups: dict[str, list[float]], y_label"""
    from matplotlib.cbook import boxplot_stats
    from matplotlib.colors import to_rgba

    groups = {
        name: np.asarray(values, dtype=float) for name, values in data["groups"].items()
    }
    lying, ids = len(groups) > 4, iter(data.get("ids") or ())
    ax = pen.plot(max(3.6, 0.62 * len(groups) + 1.2) if lying else 4.4)
    across, along = (ax.vlines, ax.hlines) if lying else (ax.hlines, ax.vlines)
    for place, values in enumerate(groups.values()):
        if not len(values):
            continue
        colour = BLUE if lying else PALETTE[place]
        # Matplotlib's own `boxplot` would start pyplot's global state
        stats = boxplot_stats(values)[0]
        look: dict[str, Any] = {"facecolor": to_rgba(colour, 0.25), "edgecolor": colour}
        (ax.barh if lying else ax.bar)(
            place, stats["q3"] - stats["q1"], 0.5, stats["q1"], **look
        )
        for end, quartile in (("whislo", "q1"), ("whishi", "q3")):
            along(place, stats[end], stats[quartile], color=GREY, linewidth=1.1)
            across(stats[end], place - 0.12, place + 0.12, color=GREY, linewidth=1.1)
        across(stats["med"], place - 0.25, place + 0.25, color=INK, linewidth=2)
        marks = (values, place + _spread(values))
        pen.note(
            {"ids": list(itertools.islice(ids, len(values)))},
            ax,
            *marks[:: 1 if lying else -1],
        )
        ax.plot(
            *marks[:: 1 if lying else -1],
            "o",
            color=colour,
            markersize=4,
            alpha=0.7,
            markeredgewidth=0,
        )
    names = [
        pen.group(name, len(values), None if lying else len(groups))
        for name, values in groups.items()
    ]
    pen.name(ax, names, data["y_label"], data.get("limits"), lying)
    if not lying:
        ax.set_xlim(-0.6, len(groups) - 0.4)


def _spread(values: np.ndarray) -> np.ndarray:
    """Sideways places of marks, so that equal values lie beside each other; the same every time."""
    rows = pd.Series(np.floor(values / (np.ptp(values) / 40 or 1.0)))
    # how many marks of the row have a place already
    before = rows.groupby(rows).cumcount().to_numpy()
    return np.clip(
        np.where(before % 2, 1, -1) * ((before + 1) // 2) * 0.05, -0.32, 0.32
    )


def slope(data: Data, pen: Pen) -> None:
    """A line per pair from its left value to its right one, coloured by direction.
    data: left: str, right: str, pairs: list[tuple[float, float]], y_label"""
    from matplotlib.collections import LineCollection

    ax = pen.plot(5.0)
    pairs = np.array(data["pairs"], dtype=float).reshape(-1, 2)
    rise = np.sign(pairs[:, 1] - pairs[:, 0])
    for side in (0, 1):
        pen.note(data, ax, itertools.repeat(side), pairs[:, side])
    # On a scale that is shown turned, with 10 as the lowest, a score that rises falls
    # on the reader's axis.
    rise = -rise if pen.words.turned and data["y_label"] in SCORES else rise
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
        look: dict[str, Any] = {
            "colors": colour,
            "linewidths": 1.2,
            "linestyles": style[:-1],
        }
        lines = [[(0, left), (1, right)] for left, right in chosen]
        ax.add_collection(
            LineCollection(lines, alpha=0.6 if len(pairs) <= MANY else 0.1, **look)
        )
        marks: dict[str, Any] = {"color": colour, "markersize": 4, "alpha": 0.6}
        ax.plot(np.repeat((0, 1), len(chosen)), chosen.T.ravel(), style[-1], **marks)
        ax.plot(
            [], [], style, label=pen.text(key, n=len(chosen)), linewidth=1.2, **marks
        )
    pen.places(ax.xaxis, [pen.group(data["left"]), pen.group(data["right"])])
    ax.set_xlim(-0.25, 1.25)
    pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    pen.legend(ax)


def histogram(data: Data, pen: Pen) -> None:
    """One histogram per group, below one another on the same axes.
    data: groups: dict[str, list[float]], bins: int | list[float], x_label; counts: dict[str,
    list[int]], of the bins, where there are too many values to be given"""
    groups = {
        name: np.asarray(values, dtype=float) for name, values in data["groups"].items()
    }
    axes = pen.figure(
        1.2 + 1.35 * max(2, len(groups)), rows=len(groups), sharex=True, sharey=True
    )
    ends = data.get("limits") or (pen.scale if data["x_label"] in SCORES else None)
    edges = np.asarray(data["bins"], dtype=float)
    if edges.ndim == 0:
        everything = np.concatenate(list(groups.values()))
        low, high = ends if ends is not None else (everything.min(), everything.max())
        # The same edges for all groups, or two histograms below one another could not
        # be compared.
        edges = np.linspace(float(low), float(high), data["bins"] + 1)
    for n, (ax, (name, values)) in enumerate(
        zip(axes[:, 0], groups.items(), strict=True)
    ):
        counts = np.asarray(
            data["counts"][name] if "counts" in data else np.histogram(values, edges)[0]
        )
        ax.stairs(counts, edges, fill=True, color=PALETTE[n % len(PALETTE)])
        ax.vlines(
            edges[1:-1],
            0,
            np.maximum(counts[1:], counts[:-1]),
            color="white",
            linewidth=0.8,
        )
        ax.yaxis.get_major_locator().set_params(integer=True)
        n_shown = int(counts.sum()) if "counts" in data else len(values)
        ax.set_title(
            f"{pen.words.value(str(name), pen.section)} ({pen.text('n', n=n_shown)})"
        )
        ax.grid(visible=True, axis="y")
    pen.label(axes[-1, 0], x=data["x_label"], limits=ends)
    axes[-1, 0].grid(visible=False, axis="x")
    pen.drawn.supylabel(pen.text("count"), fontsize=11)


def bars(data: Data, pen: Pen) -> None:
    """Bars with whiskers; lying where there are more than five.
    data: labels: list[str], values: list[float], low?, high?: list[float], reference?: float,
    y_label
    """
    values = np.asarray(data["values"], dtype=float)
    places = np.arange(len(data["values"]))
    lying = len(values) > 5
    ax = pen.plot(max(3.2, 0.45 * len(values) + 1.4) if lying else 4.2)
    look: dict[str, Any] = {
        "color": BLUE,
        "alpha": 0.8,
        "height" if lying else "width": 0.62,
    }
    (ax.barh if lying else ax.bar)(places, values, **look)
    names = [
        pen.group(name, beside=None if lying else len(values))
        for name in data["labels"]
    ]
    pen.name(ax, names, data["y_label"], data.get("limits"), lying)
    if (whiskers := _whisker_lengths(values, data)) is not None:
        middles = (values, places) if lying else (places, values)
        ends = {"xerr" if lying else "yerr": whiskers}
        ax.errorbar(*middles, **ends, fmt="none", ecolor=INK, elinewidth=1.4, capsize=4)
    pen.reference(ax, data, lying)


def forest(data: Data, pen: Pen) -> None:
    """A marker with its interval per row, the numbers written beside it; with `least` a thick tick
    above which the interval must lie, and rows where it does not in another colour.
    data: labels: list[str], estimate, low, high: list[float], least?: list[float],
    reference?: float, within?: (low, high) (a band that is shaded), x_label"""
    values = np.asarray(data["estimate"], dtype=float)
    ax = pen.plot(max(2.6, 0.48 * len(values) + 1.5))
    if "within" in data:
        ax.axvspan(*data["within"], color=GREY, alpha=0.2, linewidth=0)
    look: dict[str, Any] = {"elinewidth": 1.8, "capsize": 4, "markersize": 7}
    least = np.asarray(data.get("least", np.full(values.size, -np.inf)), dtype=float)
    passes = np.asarray(data["low"], dtype=float) > least
    whiskers = _whisker_lengths(values, data)
    for place, value in enumerate(values):
        colour = BLUE if passes[place] or "least" not in data else VERMILLION
        own = None if whiskers is None else whiskers[:, [place]]
        ax.errorbar(
            [value], [place], xerr=own, fmt="s", color=colour, ecolor=colour, **look
        )
    if "least" in data:
        marks = {
            "color": INK,
            "markersize": 24,
            "markeredgewidth": 2.5,
            "linestyle": "none",
        }
        ax.plot(least, range(values.size), marker="|", label=pen.text("least"), **marks)
        pen.legend(ax)
    pen.name(
        ax,
        [pen.group(name) for name in data["labels"]],
        data["x_label"],
        data.get("limits"),
    )
    ax.set_ylim(len(values) - 0.4, -0.6)
    for place, (value, low, high) in enumerate(
        zip(values, data["low"], data["high"], strict=True)
    ):
        spec = "s" if data["x_label"] in SCORES and pen.words.own is not None else ".2f"
        interval = pen.words.number((low, high), spec)
        shown = f"{pen.words.number(float(value), spec)} {interval}".removesuffix(" —")
        pen.write(ax, shown, (1.02, place), va="center", size=10, across=True)
    pen.reference(ax, data, lying=True)


def dots(data: Data, pen: Pen) -> None:
    """A row per label with a mark per series, told apart by colour and shape.
    data: labels: list[str] (rows), series: dict[str, list[float]] (a mark per row; NaN draws none),
    x_label
    """
    names, series = [pen.group(name) for name in data["labels"]], dict(data["series"])
    ax = pen.plot(max(2.6, 0.42 * len(names) + 1.9))
    for n, (name, values) in enumerate(series.items()):
        places = np.arange(len(names)) + (n - (len(series) - 1) / 2) * 0.5 / len(series)
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
    columns = [pen.group(c, beside=beside) for c in data["columns"]]
    widest = max(
        (len(line) for name in columns for line in name.splitlines()), default=0
    )
    height = max(3.0, 0.5 * matrix.shape[0] + 1.8)
    ax = pen.plot(height + (0.08 * widest if upright else 0))
    signed = np.nanmin(matrix, initial=0) < 0
    most = float(np.nanmax(np.abs(matrix), initial=0))
    low, high = data.get("limits") or (
        (-most, most) if signed else (np.nanmin(matrix), np.nanmax(matrix))
    )
    if low == high:  # which has no room for shades
        low, high = low - 0.1, high + 0.1
    image = ax.imshow(
        matrix, cmap="PuOr" if signed else "cividis", vmin=low, vmax=high, aspect="auto"
    )
    pen.places(ax.xaxis, columns)
    pen.places(ax.yaxis, [pen.group(r) for r in data["rows"]])
    ax.spines[:].set_visible(False)
    if len(columns) > 5 or widest * len(columns) > 40:
        angle, side = (90, "center") if upright else (35, "top")
        for name in ax.get_xticklabels():
            name.set(rotation=angle, ha="right", va=side, rotation_mode="anchor")
    for (row, column), value in np.ndenumerate(matrix) if matrix.size <= 150 else ():
        if not np.isnan(value):
            shade = image.cmap(image.norm(value))
            dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.55
            shown = pen.words.number(float(value), ".2f" if most < 10 else ".0f")
            colour = "white" if dark else INK
            pen.write(
                ax,
                shown,
                (column, row),
                ha="center",
                va="center",
                size=9.5,
                colour=colour,
            )
    bar: dict[str, Any] = {"fraction": 0.05, "pad": 0.02, "aspect": 4 * height}
    pen.drawn.colorbar(
        image, ax=ax, label=pen.axis_label(data["label"]), format=pen.ticks(), **bar
    )


def _whisker_lengths(values: np.ndarray, data: Data) -> np.ndarray | None:
    """Lengths of whiskers from ends of intervals; a NaN end draws none."""
    if data.get("low") is None or data.get("high") is None:
        return None
    return np.clip(
        [
            values - np.asarray(data["low"], float),
            np.asarray(data["high"], float) - values,
        ],
        0,
        None,
    )


def scatter(data: Data, pen: Pen) -> None:
    """Marks, coloured by group where there are few enough, with y = x if asked for.
    data: x, y: list[float], x_label, y_label, groups?: list[str] (one per point; up to seven are
    told apart),
        labels?: list[str] (one per point, beside it), identity?: bool (draws y = x)"""
    ax = pen.plot(5.0)
    x, y = np.asarray(data["x"], dtype=float), np.asarray(data["y"], dtype=float)
    pen.note(data, ax, x, y)
    groups = data.get("groups")
    if groups is None or len(set(groups)) > len(PALETTE):
        groups = [None] * len(x)  # more groups than colours could not be told apart
    for n, group in enumerate(dict.fromkeys(groups)):
        own = np.array([g == group for g in groups])
        label = (
            None
            if group is None
            else f"{pen.group(group)} ({pen.text('n', n=int(own.sum()))})"
        )
        look: dict[str, Any] = {
            "linestyle": "",
            "markersize": 5.5,
            "alpha": 0.7,
            "markeredgewidth": 0,
            **look_of(n),
        }
        ax.plot(x[own], y[own], label=label, **look)
    for point, text in zip(
        zip(x, y, strict=True), data.get("labels") or [], strict=False
    ):
        ax.margins(x=0.12, y=0.1)
        pen.write(ax, pen.words.value(str(text), pen.section), point, (5, 4))
    pen.label(ax, data["x_label"], data["y_label"], data.get("limits"))
    if data.get("identity"):
        pen.identity(ax)
    pen.legend(ax)


def bland_altman(data: Data, pen: Pen) -> None:
    """Difference against mean of two measurements, with bias and limits of agreement.
    data: mean, difference: list[float], bias, lower, upper: float, x_label?, y_label?"""
    ax = pen.plot(4.6)
    pen.note(data, ax, data["mean"], data["difference"])
    ax.plot(
        data["mean"],
        data["difference"],
        "o",
        color=BLUE,
        markersize=5,
        alpha=0.6,
        markeredgewidth=0,
    )
    for key, style in (("upper", "--"), ("bias", "-"), ("lower", "--")):
        value = float(data[key])
        ax.axhline(value, color=VERMILLION, linestyle=style, linewidth=1.5)
        own, place = pen.words.own, (1.0, value)
        if own is not None:
            value = own.change(value)
        end = (
            {"upper": "lower", "lower": "upper"}.get(key, key)
            if pen.words.turned
            else key
        )
        text = pen.text(end, value=value)
        pen.write(ax, text, place, (-4, 4), ha="right", size=9.5, across=True)
    ax.axhline(0, color=GREY, linewidth=0.8, linestyle=":")
    ax.margins(y=0.15)
    pen.label(ax, data.get("x_label", "mean_of_two"), data.get("y_label", "difference"))
    pen.in_grades(ax.yaxis, "d")


def calibration(data: Data, pen: Pen) -> None:
    """Gold against score, before and after calibration, each beside y = x.
    data: raw, calibrated, label: list[float] (one per item)"""
    axes = pen.figure(4.2, columns=2, sharey=True)
    for ax, key, title in zip(
        axes[0], ("raw", "calibrated"), ("before", "after"), strict=True
    ):
        pen.note(data, ax, data[key], data["label"])
        ax.plot(
            data[key],
            data["label"],
            "o",
            color=BLUE,
            markersize=4.5,
            alpha=0.55,
            markeredgewidth=0,
        )
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
        colour, style = PALETTE[n % len(PALETTE)], ("-", "--", ":", "-.")[n % 4]
        if line.get("low") is not None:
            ax.fill_between(
                line["x"],
                line["low"],
                line["high"],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        ax.plot(
            line["x"],
            line["y"],
            style,
            color=colour,
            linewidth=1.8,
            label=pen.group(name),
        )
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
