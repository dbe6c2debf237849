"""Holds what all figures share: the look, the words of their axes, groups and legends, and the PNG.

Matplotlib draws and lays out; nothing here measures a text. Its settings hold only while a figure
is drawn, and begin from its defaults, so that a file of settings on a machine changes no report.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from undogmatic.records.rubric import Rubric
from undogmatic.records.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

Data: TypeAlias = Mapping[str, Any]
# Okabe and Ito's palette, told apart with any kind of colour vision (Wong 2011,
# doi:10.1038/nmeth.1618).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6b6b6b")
BLUE, VERMILLION, GREY = PALETTE[0], PALETTE[1], PALETTE[-1]
INK, FAINT = "#222222", "#e3e3e3"
SCORES = ("score", "raw_score", "label")
IN_UNITS = dict.fromkeys((*SCORES, "mean_of_two"), "s") | {
    "difference": "d",
    "risk": "u",
}
"""What is drawn along an axis in units of the score: see `Pen.in_grades`."""
WIDTH = 7.2  # inches, 1080 pixels
LOOK: Mapping[str, Any] = {
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "text.color": INK,
    "text.parse_math": False,  # a name such as "$5 to $10" is not a formula
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.labelsize": 11,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,  # the grid lies below bars
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "legend.frameon": False,
    "legend.fontsize": 10,
}
_LONGEST_NAME = 56
_ROW = 0.22  # inches that a row of the legend takes
_LINE = 32  # letters of a name beside the axes


def our_look() -> AbstractContextManager[None]:
    """Return a context in which Matplotlib has our settings, to draw and to render in."""
    from matplotlib import style

    return style.context(["default", dict(LOOK)])


class Pen:
    """What the drawing functions share: the figure that they draw, the words (the names of
    `section`, the analysis, come first), the look, and the axis of scores, which runs over the
    rubric's scale; without one, as the scores do.
    """

    drawn: Figure
    canvas: FigureCanvasAgg

    def __init__(self, words: Words, section: str, rubric: Rubric | None) -> None:
        self.words, self.section = words, section
        # where it drew which item
        self.marks: list[tuple[Axes, float, float, str]] = []
        self.scale = (rubric.minimum, rubric.maximum) if rubric is not None else None
        reader = words.reader
        # what is drawn is in grades
        if reader is not None and reader.counts and words.own is None:
            self.scale = min(reader.bottom, reader.top), max(reader.bottom, reader.top)

    def figure(
        self,
        height: float,
        rows: int = 1,
        columns: int = 1,
        sharex: bool = False,
        sharey: bool = False,
    ) -> np.ndarray:
        """Begin the figure, of our width; returns an array (rows, columns) of its axes."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.drawn = Figure(figsize=(WIDTH, height))
        self.canvas = FigureCanvasAgg(self.drawn)
        axes = self.drawn.subplots(
            rows, columns, sharex=sharex, sharey=sharey, squeeze=False
        )
        for ax in axes.flat:
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(self.ticks())
        return axes

    def plot(self, height: float) -> Any:
        return self.figure(height)[0, 0]

    def note(
        self, data: Data, ax: Axes, x: Iterable[float], y: Iterable[float]
    ) -> None:
        """Note of which item, if `data` says so, each mark on the axes is."""
        self.marks += zip(itertools.repeat(ax), x, y, data.get("ids") or ())

    def write(
        self,
        ax: Axes,
        text: str,
        place: tuple[float, float],
        offset: tuple[float, float] = (0, 0),
        *,
        ha: str = "left",
        va: str = "bottom",
        size: float = 9,
        colour: str = INK,
        across: bool = False,
    ) -> None:
        """Write a text beside the data, `offset` (in 1/72 inch) from a place in their units;
        `across`, x is in widths of the axes."""
        ax.annotate(
            text,
            place,
            offset,
            xycoords=ax.get_yaxis_transform() if across else "data",
            textcoords="offset points",
            ha=ha,
            va=va,
            fontsize=size,
            color=colour,
            annotation_clip=False,
        )

    def ticks(self) -> Any:
        """Return a formatter that writes numbers as the language does, and in full: a power of ten
        at the end of an axis is overlooked."""
        from matplotlib.ticker import ScalarFormatter

        words = self.words

        class Localised(ScalarFormatter):
            def __call__(self, x: float, pos: int | None = None) -> str:
                number = Decimal(super().__call__(x, pos).replace("−", "-"))
                return words.localise(f"{number:,f}")

        formatter = Localised(useOffset=False)
        formatter.set_scientific(False)
        return formatter

    def in_grades(self, axis: Axis, what: str) -> None:
        """Write an axis of scores ("s"), of sizes of differences ("u") or of differences ("d") on
        the scale of the labels, where it is drawn on the rubric's; the greater grade lies farther
        up or to the right."""
        if self.words.own is None:
            return
        from matplotlib.ticker import AutoLocator

        own = self.words.own
        zero = own.score(0.0) if what == "s" else 0.0
        factor = own.amount(1.0) if what == "u" else own.change(1.0)
        written = self.ticks()

        class Placed(AutoLocator):
            def tick_values(self, vmin: float, vmax: float) -> Any:
                ends = sorted((zero + factor * vmin, zero + factor * vmax))
                return (np.asarray(super().tick_values(*ends)) - zero) / factor

        class Written(type(written)):  # type: ignore[misc]
            def set_locs(self, locs: Any) -> None:
                super().set_locs(zero + factor * np.asarray(locs))

            def __call__(self, x: float, pos: int | None = None) -> str:
                return str(super().__call__(zero + factor * x, pos))

        formatter = Written(useOffset=False)
        formatter.set_scientific(False)
        axis.set_major_locator(Placed())
        axis.set_major_formatter(formatter)
        axis.set_inverted(factor < 0)

    def axis_label(self, word: str) -> str:
        if word in SCORES:
            known = [*(self.scale or ())]
            if self.words.own is not None:
                known = sorted(map(self.words.own.score, known))
            ends = dict(zip(("low", "high"), known, strict=True)) if known else {}
            return self.text(
                "score_axis_with_ends" if ends else "score_axis",
                score=self.words.heading(word),
                **ends,
            )
        return self.words.find(f"figures.axes.{word}") or self.words.heading(
            word, self.section
        )

    def label(
        self, ax: Axes, x: str | None = None, y: str | None = None, limits: Any = None
    ) -> None:
        """Label the axes; one of scores gets the scale's ends. `limits` are those of `y`, or of `x`
        alone."""
        for axis, word, axis_limits in (
            ("x", x, limits if y is None else None),
            ("y", y, limits),
        ):
            if word is None:
                continue
            getattr(ax, f"set_{axis}label")(self.axis_label(word))
            ends = (
                axis_limits
                if axis_limits is not None
                else self.scale
                if word in SCORES
                else None
            )
            if ends is not None:
                room = 0.03 * (ends[1] - ends[0])
                getattr(ax, f"set_{axis}lim")(ends[0] - room, ends[1] + room)
            drawn = ax.xaxis if axis == "x" else ax.yaxis
            drawn.grid(visible=True)
            if word in IN_UNITS:
                self.in_grades(drawn, IN_UNITS[word])
            if axis == "x" and max(map(abs, ax.get_xlim())) >= 10_000:
                # Beside each other Matplotlib leaves each number the room of about five digits.
                ax.locator_params(axis="x", nbins=4)

    def group(self, name: Any, n: int | None = None, beside: int | None = None) -> str:
        """A group's name, broken into lines where `beside` names share the axis, with its number of
        texts below."""
        full = self.words.value(str(name), self.section)
        # Of a name that would leave the axes no room, such as an instruction that a sweep tries,
        # both ends.
        short = (
            full
            if len(full) <= _LONGEST_NAME
            else f"{full[: _LONGEST_NAME - 21]} … {full[-18:]}"
        )
        shown = " ".join(short.split())
        if beside is not None:
            shown = textwrap.fill(
                shown,
                max(9, 64 // beside),
                break_long_words=False,
                break_on_hyphens=False,
            )
        return shown if n is None else f"{shown}\n{self.text('n', n=n)}"

    def name(
        self, ax: Axes, names: Sequence[str], word: str, limits: Any, lying: bool = True
    ) -> None:
        """Write the names of groups below each other, or else beside, and label the axis of their
        values."""
        self.places(ax.yaxis if lying else ax.xaxis, names)
        self.label(ax, **{"x" if lying else "y": word}, limits=limits)
        if lying:
            ax.invert_yaxis()

    def places(self, axis: Axis, names: Sequence[str]) -> None:
        """Put ticks with these names at 0, 1, 2, ...; beside the axes in lines that leave these
        their room."""
        from matplotlib.axis import YAxis

        if isinstance(axis, YAxis):
            names = [
                "\n".join(itertools.chain(*map(_lines, name.splitlines())))
                for name in names
            ]
        axis.set_ticks(range(len(names)), labels=names)

    def text(self, key: str, **values: Any) -> str:
        return self.words.text(f"figures.{key}", **values)

    def legend(self, ax: Axes) -> None:
        """A legend below the axes, out of the way of the data, in as many columns as fit beside
        each other, up to three. The figure grows by its rows, so that the axes do not shrink."""
        lines, names = ax.get_legend_handles_labels()
        if not names:
            return
        for columns in (3, 2, 1):
            legend = self.drawn.legend(
                lines, names, loc="outside lower center", ncols=columns
            )
            if columns == 1 or legend.get_window_extent().width < self.drawn.bbox.width:
                break
            legend.remove()
        rows = math.ceil(len(names) / columns)
        self.drawn.set_figheight(self.drawn.get_figheight() + _ROW * (rows - 1))

    def identity(self, ax: Axes) -> None:
        """The line y = x as far as both axes reach."""
        ends = (
            max(ax.get_xlim()[0], ax.get_ylim()[0]),
            min(ax.get_xlim()[1], ax.get_ylim()[1]),
        )
        ax.plot(
            ends,
            ends,
            "--",
            label=self.text("identity"),
            color=GREY,
            linewidth=1.3,
            scalex=False,
            scaley=False,
        )

    def reference(self, ax: Axes, data: Data, lying: bool) -> None:
        """A line at the value that the others are held against, if there is one."""
        if data.get("reference") is not None:
            value = float(data["reference"])
            draw_line = ax.axvline if lying else ax.axhline
            of_scores = data.get("x_label", data.get("y_label")) in SCORES
            own = self.words.own if of_scores else None
            line = draw_line(
                value,
                label=self.text(
                    "reference", value=value if own is None else own.score(value)
                ),
                color=VERMILLION,
                linestyle="--",
                linewidth=1.4,
            )
            ax.legend(
                handles=[line],
                loc="lower left",
                bbox_to_anchor=(0, 1),
                borderaxespad=0,
                fontsize=9.5,
            )


def _lines(name: str) -> list[str]:
    return textwrap.wrap(name, _LINE, break_long_words=False, break_on_hyphens=False)


def as_png(canvas: FigureCanvasAgg) -> bytes:
    """Lay a figure out, render it and pack it as a PNG file, the same bytes for the same figure."""
    file = io.BytesIO()
    # `Figure.savefig` would draw it twice.
    canvas.print_png(file, metadata={"Software": None})
    return file.getvalue()
