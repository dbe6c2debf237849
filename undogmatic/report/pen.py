"""Holds what all figures share: palette, size, type, axis labels in the report's language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from undogmatic.records.rubric import Rubric
from undogmatic.report.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
# Okabe and Ito's palette, told apart with any kind of colour vision (Wong 2011, doi:10.1038/nmeth.1618).
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6b6b6b",
)  # fmt: skip
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY)
MARKERS = "osD^vPX"
INK = "#222222"
SCORES = ("score", "raw_score", "label")
WIDTH = 7.2  # inches, 1080 pixels
_LONGEST_NAME = 56


def look_of(number: int) -> dict[str, str]:
    """Colour and marker of a group by its number: 49 that differ in one of them at least, the first seven in both."""
    again = number // len(PALETTE)
    return {"color": PALETTE[number % len(PALETTE)], "marker": MARKERS[(number + again) % len(MARKERS)]}


class Pen:
    """What the drawing functions share: the words, the axis of scores and the look.

    Args:
        words: The report's language.
        section: The analysis, whose own names come first.
        rubric: Axes of scores run from end to end of its scale; without one, as the scores do.
    """

    def __init__(self, words: Words, section: str, rubric: Rubric | None) -> None:
        self.words, self.section = words, section
        self.scale = (rubric.minimum, rubric.maximum) if rubric is not None else None

    def figure(self, height: float, columns: int = 1, rows: int = 1, **options: Any) -> tuple[Figure, np.ndarray]:
        """An empty figure of our width and an array (rows, columns) of its axes."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, height), dpi=DPI, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options)
        for ax in axes.flat:
            ax.spines[["top", "right"]].set_visible(False)
            ax.spines[["left", "bottom"]].set_color(GREY)
            ax.tick_params(colors=INK, labelsize=10)
            ax.set_axisbelow(True)
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(ticks(self.words))
        return figure, axes

    def plot(self, height: float) -> tuple[Figure, Any]:
        """An empty figure with one pair of axes."""
        figure, axes = self.figure(height)
        return figure, axes[0, 0]

    def axis_label(self, word: str) -> str:
        """An axis label with its unit."""
        if word in SCORES:
            key = "score_axis" if self.scale is None else "score_axis_with_ends"
            low, high = self.scale or (None, None)
            return self.text(key, score=self.words.heading(word), low=low, high=high)
        return self.words.find(f"figures.axes.{word}") or self.words.heading(word, self.section)

    def label(self, ax: Axes, x: str | None = None, y: str | None = None, limits: Any = None) -> None:
        """Label the axes; an axis of scores gets the scale's ends (or `limits`)."""
        for word, set_label, set_limits, axis in (
            (x, ax.set_xlabel, ax.set_xlim, ax.xaxis),
            (y, ax.set_ylabel, ax.set_ylim, ax.yaxis),
        ):
            if word is None:
                continue
            set_label(self.axis_label(word), fontsize=11, color=INK)
            ends = limits if limits is not None else self.scale if word in SCORES else None
            if ends is not None:
                room = 0.03 * (ends[1] - ends[0])
                set_limits(ends[0] - room, ends[1] + room)
            axis.grid(color="#e3e3e3", linewidth=0.8)

    def group(self, name: Any, n: int | None = None, beside: int = 1) -> str:
        """A group's name, with its number of texts below; broken into lines where `beside` names share the axis."""
        full = self.words.value(str(name), self.section)
        # Of a name that would leave the axes no room, such as an instruction that a sweep tries, both ends.
        short = full if len(full) <= _LONGEST_NAME else f"{full[: _LONGEST_NAME - 21]} … {full[-18:]}"
        shown = wrap(short, max(9, 64 // beside))
        return shown if n is None else f"{shown}\n{self.text('n', n=n)}"

    def text(self, key: str, **values: Any) -> str:
        """One of the wordings under `figures`."""
        return self.words.text(f"figures.{key}", **values)

    def legend(self, figure: Figure, ax: Axes) -> None:
        """A legend below the axes, out of the way of the data."""
        handles, labels = ax.get_legend_handles_labels()
        if handles:
            columns = min(len(labels), 3 if max(map(len, labels)) < 32 else 2)
            figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=10)


def ticks(words: Words) -> Any:
    """A formatter of tick labels in the language's signs."""
    from matplotlib.ticker import ScalarFormatter

    class Localised(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return words.localise(super().__call__(x, pos))

    return Localised(useOffset=False)


def plain(text: str) -> str:
    """The text for drawing: Matplotlib reads `$...$` as mathematics, so the sign is escaped."""
    return text.replace("$", r"\$")


def wrap(text: str, width: int) -> str:
    """Break a long name over lines at its blanks."""
    lines: list[str] = []
    for word in plain(text).split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)
