"""Figures of one number per row, bar or cell, with its interval where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.report.pen import BLUE, INK, VERMILLION, Pen, look_of, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def bars(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Bars with whiskers; lying where there are more than five."""
    values = np.asarray(data["values"], dtype=float)
    lying = len(values) > 5
    figure, axes = pen.figure(max(3.2, 0.45 * len(values) + 1.4) if lying else 4.2)
    ax = axes[0, 0]
    places = np.arange(len(values))
    names = [pen.group(name, beside=len(values)) for name in data["labels"]]
    if lying:
        ax.barh(places, values, color=BLUE, alpha=0.8, height=0.62)
        ax.set_yticks(places, [name.replace("\n", " ") for name in names])
        ax.invert_yaxis()
        pen.label(ax, x=data["y_label"], limits=data.get("limits"))
    else:
        ax.bar(places, values, color=BLUE, alpha=0.8, width=0.62)
        ax.set_xticks(places, names)
        pen.label(ax, y=data["y_label"], limits=data.get("limits"))
    whiskers = whisker_lengths(values, data)
    if whiskers is not None:
        ax.errorbar(
            *((values, places) if lying else (places, values)),
            **{"xerr" if lying else "yerr": whiskers},
            fmt="none", ecolor=INK, elinewidth=1.4, capsize=4,
        )  # fmt: skip
    _reference(ax, data, pen, lying)
    return figure


def forest(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A marker with its interval per row, the numbers written beside it."""
    values = np.asarray(data["estimate"], dtype=float)
    places = np.arange(len(values))
    figure, axes = pen.figure(max(2.6, 0.48 * len(values) + 1.5))
    ax = axes[0, 0]
    ax.errorbar(
        values,
        places,
        xerr=whisker_lengths(values, data),
        fmt="s",
        color=BLUE,
        ecolor=BLUE,
        elinewidth=1.8,
        capsize=4,
        markersize=7,
    )
    ax.set_yticks(places, [pen.group(name).replace("\n", " ") for name in data["labels"]])
    ax.set_ylim(len(values) - 0.4, -0.6)
    pen.label(ax, x=data["x_label"], limits=data.get("limits"))
    for place, value, low, high in zip(places, values, data["low"], data["high"], strict=True):
        shown = f"{pen.words.number(float(value), '.2f')} {pen.words.number((low, high), '.2f')}".removesuffix(" —")
        ax.annotate(shown, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=10, color=INK)
    _reference(ax, data, pen, lying=True)
    return figure


def dots(data: Mapping[str, Any], pen: Pen) -> Figure:
    """A row per label with a mark per series, told apart by colour and shape."""
    labels, series = list(data["labels"]), dict(data["series"])
    figure, axes = pen.figure(max(2.6, 0.42 * len(labels) + 1.9))
    ax = axes[0, 0]
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
    """A matrix as coloured cells, the numbers written in where there is room."""
    matrix = np.asarray(data["matrix"], dtype=float)
    figure, axes = pen.figure(max(3.0, 0.5 * matrix.shape[0] + 1.8))
    ax = axes[0, 0]
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


def whisker_lengths(values: np.ndarray, data: Mapping[str, Any]) -> np.ndarray | None:
    """Lengths of whiskers from ends of intervals; a NaN end draws none."""
    if data.get("low") is None or data.get("high") is None:
        return None
    ends = np.array([values - np.asarray(data["low"], float), np.asarray(data["high"], float) - values])
    return np.clip(ends, 0, None)
