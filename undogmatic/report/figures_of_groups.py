"""Figures of values by group: every value is drawn, beside those of the other groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.report.pen import BLUE, GREY, INK, PALETTE, SCORES, VERMILLION, Pen, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MANY = 500
"""More lines than these are drawn fainter."""


def box(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Quartiles, whiskers and every value of each group; lying where there are more than four groups."""
    groups = {name: np.asarray(values, dtype=float) for name, values in data["groups"].items()}
    lying = len(groups) > 4
    figure, axes = pen.figure(max(3.6, 0.62 * len(groups) + 1.2) if lying else 4.4)
    ax = axes[0, 0]
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
        ax.set_yticks(places, [name.replace("\n", " ").replace(" n =", "\nn =") for name in names])
        ax.invert_yaxis()
        pen.label(ax, x=data["y_label"], limits=data.get("limits"))
    else:
        ax.set_xticks(places, names)
        ax.set_xlim(-0.6, len(groups) - 0.4)
        pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    return figure


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


def slope(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A line per pair from its left value to its right one, coloured by direction."""
    figure, axes = pen.figure(5.0)
    ax = axes[0, 0]
    pairs = [(float(a), float(b)) for a, b in data["pairs"]]
    looks = {
        "falls": ([p for p in pairs if p[1] < p[0]], VERMILLION, "-o"),
        "rises": ([p for p in pairs if p[1] > p[0]], BLUE, "-s"),
        "ties": ([p for p in pairs if p[1] == p[0]], GREY, ":D"),
    }
    alpha = 0.6 if len(pairs) <= MANY else 0.1
    for key, (chosen, colour, style) in looks.items():
        if chosen:
            _lines(ax, chosen, colour, style, alpha)
            look: dict[str, Any] = {"color": colour, "markersize": 4, "linewidth": 1.2, "alpha": 0.6}
            ax.plot([], [], style, label=pen.text(key, n=len(chosen)), **look)
    ax.set_xticks((0, 1), [pen.group(data["left"]), pen.group(data["right"])], fontsize=11)
    ax.set_xlim(-0.25, 1.25)
    pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    pen.legend(figure, ax)
    return figure


def _lines(ax: Axes, pairs: list[tuple[float, float]], colour: str, style: str, alpha: float) -> None:
    """All lines of one look as one object, and their ends as another: thousands by themselves would take gigabytes."""
    from matplotlib.collections import LineCollection

    segments = [[(0, a), (1, b)] for a, b in pairs]
    ax.add_collection(LineCollection(segments, colors=colour, linewidths=1.2, linestyles=style[:-1], alpha=alpha))
    ends = np.repeat((0, 1), len(pairs)), np.array(pairs).T.ravel()
    ax.plot(*ends, style[-1], color=colour, markersize=4, alpha=0.6)


def histogram(data: Mapping[str, Any], pen: Pen) -> Figure:
    """One histogram per group, below one another on the same axes."""
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


def _spread(values: np.ndarray) -> np.ndarray:
    """Sideways places of marks, so that equal values lie beside each other; the same every time."""
    if len(values) == 0:
        return np.zeros(0)
    width = (float(np.max(values)) - float(np.min(values))) / 40 or 1.0
    seen: dict[int, int] = {}
    places = np.zeros(len(values))
    for n, value in enumerate(values):
        row = math.floor(value / width)
        count = seen.get(row, 0)
        places[n] = (1 if count % 2 else -1) * ((count + 1) // 2) * 0.05
        seen[row] = count + 1
    return np.clip(places, -0.32, 0.32)
