"""Lays out and renders figures: Matplotlib draws the data, and everything around them is drawn
here.

Matplotlib's own axes, ticks, titles and legends are many objects, which its layout measures twice
and then draws (a tenth of a second for each figure). Here the texts around the data are pictures
that are made once per process, and the layout is found by adding their sizes.
"""

from __future__ import annotations

import itertools
import math
import struct
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from undogmatic.records.rubric import Rubric
from undogmatic.report.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Data: TypeAlias = Mapping[str, Any]
DPI = 150
# Okabe and Ito's palette, told apart with any kind of colour vision (Wong 2011,
# doi:10.1038/nmeth.1618).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6b6b6b")
BLUE, VERMILLION, GREY = PALETTE[0], PALETTE[1], PALETTE[-1]
INK, FAINT = "#222222", "#e3e3e3"
SCORES = ("score", "raw_score", "label")
WIDTH = 7.2  # inches, 1080 pixels
POINT = DPI / 72  # pixels
# around all, the length of a tick, and between text and axes
PAD, TICK, NEAR = (
    3 * POINT,
    3.5 * POINT,
    4 * POINT,
)
_LONGEST_NAME = 56


class Placed(NamedTuple):
    """A picture of a text and the place of its left lower corner, in pixels."""

    image: np.ndarray
    x: float
    y: float


class Note(NamedTuple):
    """A text beside the data: its place in their units (of `x`, in widths of the axes, where
    `across`), and the offset of its `ha` and `va` corner from there, in units of `POINT`."""

    text: str
    x: float
    y: float
    offset: tuple[float, float]
    ha: str
    va: str
    size: float
    colour: str
    across: bool


@dataclass
class Frame:
    """What is around the data of one pair of axes."""

    ax: Axes
    row: int
    column: int
    ticks: str = "xy"  # which axes have them
    grid: str = ""
    title: str = ""
    spines: str = "lb"  # left, bottom, right, top
    turned: bool = False  # names along x are slanted
    right: bool = False  # y is to the right
    above: Line2D | None = None  # a line that is named above the axes
    notes: list[Note] = field(default_factory=list)


class Pen:
    """What the drawing functions share: the figure that they draw, the words (the names of
    `section`, the analysis, come first), the look, and the axis of scores, which runs over the
    rubric's scale; without one, as the scores do.
    """

    drawn: Figure

    def __init__(self, words: Words, section: str, rubric: Rubric | None) -> None:
        self.words, self.section = words, section
        self.marks: list[tuple[Axes, float, float, str]] = []  # where it drew which item
        self.scale = (rubric.minimum, rubric.maximum) if rubric is not None else None
        self.frames: dict[Axes, Frame] = {}
        self.named: list[Line2D] = []  # by the legend below
        self.side = ""  # what stands at the left of all rows

    def figure(
        self, height: float, columns: Sequence[float] = (1,), rows: int = 1, shared: str = ""
    ) -> np.ndarray:
        """Begin the figure, of our width; returns an array (rows, columns) of its axes. `columns`
        are their widths beside each other, `shared` names the axes ("x", "y") that all have in
        common."""
        from matplotlib.figure import Figure

        self.drawn, self.widths, first = Figure(figsize=(WIDTH, height), dpi=DPI), columns, None
        axes = np.empty((rows, len(columns)), dtype=object)
        for row, column in np.ndindex(axes.shape):
            common: dict[str, Any] = {f"share{axis}": first for axis in shared if first is not None}
            ax = axes[row, column] = self.drawn.add_axes((0, 0, 1, 1), **common)
            first = first or ax
            inner = ("x" if "x" in shared and row < rows - 1 else "") + (
                "y" if "y" in shared and column else ""
            )
            self.frames[ax] = Frame(
                ax, row, column, ticks="xy".translate(dict.fromkeys(map(ord, inner)))
            )
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(self.ticks())
        return axes

    def plot(self, height: float) -> Any:
        return self.figure(height)[0, 0]

    def note(self, data: Data, ax: Axes, x: Iterable[float], y: Iterable[float]) -> None:
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
        """Write a text beside the data; see `Note`."""
        self.frames[ax].notes.append(Note(text, *place, offset, ha, va, size, colour, across))

    def ticks(self) -> Any:
        from matplotlib.ticker import ScalarFormatter

        words = self.words

        class Localised(ScalarFormatter):
            def __call__(self, x: float, pos: int | None = None) -> str:
                return words.localise(super().__call__(x, pos))

        return Localised(useOffset=False)

    def axis_label(self, word: str) -> str:
        if word in SCORES:
            ends = {} if self.scale is None else dict(zip(("low", "high"), self.scale, strict=True))
            return self.text(
                "score_axis_with_ends" if ends else "score_axis",
                score=self.words.heading(word),
                **ends,
            )
        return self.words.find(f"figures.axes.{word}") or self.words.heading(word, self.section)

    def label(
        self, ax: Axes, x: str | None = None, y: str | None = None, limits: Any = None
    ) -> None:
        """Label the axes; one of scores gets the scale's ends. `limits` are those of `y`, or of `x`
        alone."""
        for axis, word, axis_limits in (("x", x, limits if y is None else None), ("y", y, limits)):
            if word is None:
                continue
            getattr(ax, f"set_{axis}label")(self.axis_label(word))
            ends = (
                axis_limits if axis_limits is not None else self.scale if word in SCORES else None
            )
            if ends is not None:
                room = 0.03 * (ends[1] - ends[0])
                getattr(ax, f"set_{axis}lim")(ends[0] - room, ends[1] + room)
            self.frames[ax].grid += axis

    def group(self, name: Any, n: int | None = None, beside: int | None = None) -> str:
        """A group's name, broken into lines where `beside` names share the axis, with its number of
        texts below."""
        full = self.words.value(str(name), self.section)
        # Of a name that would leave the axes no room, such as an instruction that a sweep tries,
        # both ends.
        short = (
            full if len(full) <= _LONGEST_NAME else f"{full[: _LONGEST_NAME - 21]} … {full[-18:]}"
        )
        shown = " ".join(short.split())
        if beside is not None:
            shown = textwrap.fill(
                shown, max(9, 64 // beside), break_long_words=False, break_on_hyphens=False
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
        """Put ticks with these names at 0, 1, 2, ..."""
        from matplotlib.ticker import FixedFormatter, FixedLocator

        axis.set_major_locator(FixedLocator(range(len(names))))
        axis.set_major_formatter(FixedFormatter(names))

    def text(self, key: str, **values: Any) -> str:
        return self.words.text(f"figures.{key}", **values)

    def legend(self, ax: Axes) -> None:
        """A legend below the axes, out of the way of the data."""
        self.named = [line for line in ax.lines if not str(line.get_label()).startswith("_")]

    def identity(self, ax: Axes) -> None:
        """The line y = x as far as both axes reach."""
        ends = max(ax.get_xlim()[0], ax.get_ylim()[0]), min(ax.get_xlim()[1], ax.get_ylim()[1])
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
            look: dict[str, Any] = {"color": VERMILLION, "linestyle": "--", "linewidth": 1.4}
            line = (ax.axvline if lying else ax.axhline)(
                value, label=self.text("reference", value=value), **look
            )
            self.frames[ax].above = line

    def rendered(self) -> np.ndarray:
        """Lay the figure out and draw it: an array (height, width, 3) of colours."""
        from matplotlib.backends.backend_agg import RendererAgg

        width, height = (
            round(float(side)) for side in (self.drawn.bbox.width, self.drawn.bbox.height)
        )
        legend = _legend(self.named, width)
        _lay_out(
            self,
            width,
            height,
            max((piece.y + piece.image.shape[0] + PAD for _, _, piece in legend), default=0.0),
        )
        renderer = RendererAgg(width, height, DPI)
        canvas = np.asarray(renderer.buffer_rgba())
        canvas[:] = 255
        for frame in self.frames.values():
            _draw(frame, renderer)
        for piece in itertools.chain(*map(texts_of, self.frames.values()), _side(self)):
            _stick(canvas, piece)
        for line, start, piece in legend:
            _sample(line, start, piece.y + piece.image.shape[0] / 2, renderer)
            _stick(canvas, piece)
        return canvas[..., :3]


def as_png(colours: np.ndarray) -> bytes:
    """Pack an array (height, width, 3) of colours as a PNG file. Its rows are not filtered: that
    takes half of the time in most libraries, and drawings get no smaller by it."""
    height, width, _ = colours.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each begins with its filter: none
    for colour in range(3):  # many times as fast as all at once
        rows[:, 1 + colour :: 3] = colours[..., colour]
    per_metre = round(DPI / 0.0254)
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0),
        b"pHYs": struct.pack(">IIB", per_metre, per_metre, 1),
        b"IDAT": zlib.compress(rows.tobytes(), 1),
        b"IEND": b"",
    }
    packed = (
        struct.pack(">I", len(c)) + k + c + struct.pack(">I", zlib.crc32(k + c))
        for k, c in chunks.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)


@lru_cache(maxsize=1024)
def written(text: str, size: float = 10, colour: str = INK, angle: float = 0) -> np.ndarray:
    """Return the picture of a text: colours and opacity, (height, width, 4). Of 1,000 it is kept,
    as ticks and names are the same from figure to figure."""
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    look: dict[str, Any] = {"rotation": angle, "multialignment": "center", "parse_math": False}
    words = Text(0, 0, text, fontsize=size, color=colour, **look)
    words.set_figure(Figure(dpi=DPI))
    box = words.get_window_extent(RendererAgg(1, 1, DPI))
    renderer = RendererAgg(math.ceil(box.width), math.ceil(box.height), DPI)
    words.set_position((-box.x0, -box.y0))
    words.draw(renderer)
    return np.array(renderer.buffer_rgba())


def _lay_out(pen: Pen, width: int, height: int, below: float) -> None:
    """Give all axes their places above `below` pixels. How much room the texts need depends a
    little on the places, so they are found twice."""
    frames = list(pen.frames.values())
    rows, columns = 1 + max(frame.row for frame in frames), len(pen.widths)
    # left and right of each column, below and above each row
    margins = np.zeros((4, max(rows, columns)))
    for attempt in range(3):
        aside = sum(PAD + piece.image.shape[1] for piece in _side(pen))
        across = width - aside - 2 * PAD * columns - margins[:2].sum()
        up = height - below - 2 * PAD * rows - margins[2:].sum()
        shares = across * np.asarray(pen.widths) / sum(pen.widths)
        for frame in frames:
            row, column = frame.row, frame.column
            x = (
                aside
                + PAD * (1 + 2 * column)
                + margins[:2, :column].sum()
                + margins[0, column]
                + shares[:column].sum()
            )
            above = (
                PAD * (1 + 2 * row)
                + margins[2:, :row].sum()
                + margins[3, row]
                + (row + 1) * up / rows
            )
            size = max(shares[column], 20) / width, max(up / rows, 20) / height
            frame.ax.set_position((x / width, 1 - above / height, *size))
        if attempt == 2:
            break
        margins[:] = 0
        for frame in frames:
            box = frame.ax.bbox
            for piece in texts_of(frame):
                tall, wide = piece.image.shape[:2]
                ends = (
                    box.x0 - piece.x,
                    piece.x + wide - box.x1,
                    box.y0 - piece.y,
                    piece.y + tall - box.y1,
                )
                for side, (place, end) in enumerate(
                    zip([frame.column] * 2 + [frame.row] * 2, ends, strict=True)
                ):
                    margins[side, place] = max(margins[side, place], end)


def _ticks(axis: Axis) -> list[tuple[float, str]]:
    """The ticks within the ends of an axis, and what is written at each."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    places = np.asarray(axis.get_majorticklocs())
    names = axis.get_major_formatter().format_ticks(places.tolist())
    return [
        (float(p), n) for p, n in zip(places, names, strict=True) if low - room <= p <= high + room
    ]


def texts_of(frame: Frame) -> Iterator[Placed]:
    """All texts around and beside the data, where they are with the present place of the axes."""
    ax, box = frame.ax, frame.ax.bbox
    low, outer = box.y0, box.x1 if frame.right else box.x0
    for place, name in _ticks(ax.xaxis) if "x" in frame.ticks else ():
        image = written(name, 10, INK, 35 if frame.turned else 0)
        x, _ = ax.transData.transform((place, 0))
        x -= image.shape[1] - 4 * POINT if frame.turned else image.shape[1] / 2
        y = box.y0 - TICK - 3.5 * POINT - image.shape[0]
        low = min(low, y)
        yield Placed(image, x, y)
    for place, name in _ticks(ax.yaxis) if "y" in frame.ticks else ():
        image = written(name)
        _, y = ax.transData.transform((0, place))
        x = box.x1 + TICK + NEAR if frame.right else box.x0 - TICK - NEAR - image.shape[1]
        outer = max(outer, x + image.shape[1]) if frame.right else min(outer, x)
        yield Placed(image, x, y - image.shape[0] / 2)
    if (text := ax.get_xlabel()) and "x" in frame.ticks:
        image = written(text, 11)
        yield Placed(image, (box.x0 + box.x1 - image.shape[1]) / 2, low - NEAR - image.shape[0])
    if (text := ax.get_ylabel()) and "y" in frame.ticks:
        image = written(text, 11, INK, 90)
        x = outer + NEAR if frame.right else outer - NEAR - image.shape[1]
        yield Placed(image, x, (box.y0 + box.y1 - image.shape[0]) / 2)
    if frame.title:
        yield Placed(written(frame.title, 10.5), box.x0, box.y1 + 4 * POINT)
    if frame.above is not None:
        yield Placed(
            written(str(frame.above.get_label()), 9.5), box.x0 + 30 * POINT, box.y1 + 3 * POINT
        )
    for note in frame.notes:
        image = written(note.text, note.size, note.colour)
        x, y = ax.transData.transform((0 if note.across else note.x, note.y))
        x = box.x0 + note.x * box.width if note.across else x
        x += (
            note.offset[0] * POINT
            - image.shape[1] * {"left": 0, "center": 0.5, "right": 1}[note.ha]
        )
        yield Placed(
            image,
            x,
            y + note.offset[1] * POINT - image.shape[0] * (0.5 if note.va == "center" else 0),
        )


def _side(pen: Pen) -> Iterator[Placed]:
    """What stands at the left of all rows, in the middle of their height."""
    if pen.side:
        image, boxes = written(pen.side, 11, INK, 90), [ax.bbox for ax in pen.frames]
        middle = (min(box.y0 for box in boxes) + max(box.y1 for box in boxes)) / 2
        yield Placed(image, PAD, middle - image.shape[0] / 2)


def _legend(lines: Sequence[Line2D], width: int) -> list[tuple[Line2D, float, Placed]]:
    """Each line with the beginning of its sample and its text, in two or three columns in the
    middle of `width`."""
    if not lines:
        return []
    images = [written(str(line.get_label())) for line in lines]
    n = min(len(lines), 3 if max(len(str(line.get_label())) for line in lines) < 32 else 2)
    columns = [part.tolist() for part in np.array_split(np.arange(len(lines)), n)]
    widths = [28 * POINT + max(images[k].shape[1] for k in column) for column in columns]
    x, step = (width - sum(widths) - 20 * POINT * (n - 1)) / 2, images[0].shape[0] + 5 * POINT
    found = []
    for column, own in zip(columns, widths, strict=True):
        for place, k in enumerate(reversed([*column, *[-1] * (len(columns[0]) - len(column))])):
            if k >= 0:
                found.append(
                    (lines[k], x, Placed(images[k], x + 28 * POINT, PAD + 2 * POINT + place * step))
                )
        x += own + 20 * POINT
    return found


def _draw(frame: Frame, renderer: RendererAgg) -> None:
    """Draw the grid, the data, and the lines of the axes with their ticks."""
    ax, box = frame.ax, frame.ax.bbox
    x = [ax.transData.transform((place, 0))[0] for place, _ in _ticks(ax.xaxis)]
    y = [ax.transData.transform((0, place))[1] for place, _ in _ticks(ax.yaxis)]
    grid = [((place, box.y0), (place, box.y1)) for place in x if "x" in frame.grid]
    grid += [((box.x0, place), (box.x1, place)) for place in y if "y" in frame.grid]
    _strokes(renderer, grid, FAINT, 0.8)
    artists = [*ax.patches, *ax.images, *ax.collections, *ax.lines]
    for artist in sorted(artists, key=lambda artist: artist.get_zorder()):
        artist.draw(renderer)
    corners = {
        "l": (box.x0, box.x0),
        "r": (box.x1, box.x1),
        "b": (box.x0, box.x1),
        "t": (box.x0, box.x1),
    }
    heights = {
        "l": (box.y0, box.y1),
        "r": (box.y0, box.y1),
        "b": (box.y0, box.y0),
        "t": (box.y1, box.y1),
    }
    spines = [tuple(zip(corners[side], heights[side], strict=True)) for side in frame.spines]
    _strokes(renderer, spines, GREY, 0.8)
    ticks = [((place, box.y0), (place, box.y0 - TICK)) for place in x if not frame.right]
    start, end = (box.x1, box.x1 + TICK) if frame.right else (box.x0, box.x0 - TICK)
    ticks += [((start, place), (end, place)) for place in y]
    _strokes(renderer, ticks, INK, 0.8)
    if frame.above is not None:
        middle = box.y1 + 3 * POINT + written(str(frame.above.get_label()), 9.5).shape[0] / 2
        _sample(frame.above, box.x0 + 2 * POINT, middle, renderer)


def _strokes(renderer: RendererAgg, ends: Sequence[Any], colour: str, width: float) -> None:
    from matplotlib.path import Path
    from matplotlib.transforms import IdentityTransform

    if not len(ends):
        return
    look = renderer.new_gc()
    look.set_foreground(colour)
    look.set_linewidth(width)
    codes = [Path.MOVETO, Path.LINETO] * len(ends)
    renderer.draw_path(look, Path(np.reshape(ends, (-1, 2)), codes), IdentityTransform())


def _sample(line: Line2D, x: float, y: float, renderer: RendererAgg) -> None:
    """Draw a short piece of a line as the legend shows it, with its mark in the middle."""
    from matplotlib.lines import Line2D
    from matplotlib.transforms import IdentityTransform

    assert line.axes is not None  # it was drawn
    sample = Line2D([x, x + 10 * POINT, x + 20 * POINT], [y, y, y])
    sample.update_from(line)
    sample.set_transform(IdentityTransform())
    sample.set_markevery([1])
    sample.set_clip_on(False)
    sample.set_figure(line.axes.figure)
    sample.draw(renderer)


def _stick(canvas: np.ndarray, piece: Placed) -> None:
    """Put the picture of a text onto the canvas, as far as it lies on it."""
    tall, wide = piece.image.shape[:2]
    top, left = canvas.shape[0] - round(piece.y) - tall, round(piece.x)
    inside = np.s_[
        max(0, -top) : max(0, canvas.shape[0] - top), max(0, -left) : max(0, canvas.shape[1] - left)
    ]
    image, below = (
        piece.image[inside],
        canvas[max(0, top) : max(0, top + tall), max(0, left) : max(0, left + wide)],
    )
    opacity = image[..., 3:] / 255
    below[..., :3] = np.round(below[..., :3] * (1 - opacity) + image[..., :3] * opacity)
