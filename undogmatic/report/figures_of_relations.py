"""Figures of one quantity against another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.report.figures_of_estimates import whisker_lengths
from undogmatic.report.pen import BLUE, GREY, INK, PALETTE, VERMILLION, Pen, look_of, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def scatter(data: Mapping[str, Any], pen: Pen) -> Figure:
    """Marks, coloured by group where there are few enough, with a fitted line or y = x if asked for."""
    figure, axes = pen.figure(5.0)
    ax = axes[0, 0]
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
    """Difference against mean of two measurements, with bias and limits of agreement."""
    figure, axes = pen.figure(4.6)
    ax = axes[0, 0]
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
    """Gold against score, before and after calibration, each beside y = x."""
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
    """Lines over a common axis, with bands where they have them."""
    figure, axes = pen.figure(4.6)
    ax = axes[0, 0]
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
    """Share right against stated confidence by bin, with intervals and counts, beside y = x."""
    figure, axes = pen.figure(4.6)
    ax = axes[0, 0]
    stated, right = np.asarray(data["confidence"], dtype=float), np.asarray(data["accuracy"], dtype=float)
    whiskers = whisker_lengths(right, data)
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
    ax.plot(
        (low, high),
        (low, high),
        "--",
        color=GREY,
        linewidth=1.3,
        label=pen.text("identity"),
        scalex=False,
        scaley=False,
    )
