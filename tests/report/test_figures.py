"""Every kind draws in both languages, with n in its caption and no pyplot behind it."""

import itertools
import struct
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from tests.report.conftest import shame
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.records.results import FigureData
from undogmatic.records.rubric import NumericScale
from undogmatic.records.wordings import texts_beside
from undogmatic.records.words import Words
from undogmatic.report import figures
from undogmatic.report.figures import look_of
from undogmatic.report.pen import Pen, as_png, our_look

NAN = float("nan")
ENDS, SHARES = (
    {"low": [0.5, NAN], "high": [1.5, NAN]},
    {"low": [0.3, NAN], "high": [0.7, NAN]},
)
POINTS = {
    "x": [1.0, 2.0, 3.0],
    "y": [10.0, 20.0, 30.0],
    "x_label": "words",
    "y_label": "score",
}
LINES = {
    "a": {"x": [0.0, 1.0], "y": [1.0, 0.0], "low": [0.5, -0.5], "high": [1.5, 0.5]},
    "b": {"x": [0.0, 0.5, 1.0], "y": [0.0, 0.7, 1.0]},
}
DATA: dict[str, tuple[dict[str, Any], int]] = {
    "box": (
        {
            "groups": {
                "authority_only": [80.0, 90.0, 70.0],
                "explained_only": [10.0, 20.0],
            },
            "y_label": "score",
        },
        5,
    ),
    "slope": (
        {
            "left": "a",
            "right": "b",
            "pairs": [(80.0, 20.0), (30.0, 30.0), (1.0, 2.0)],
            "y_label": "score",
        },
        3,
    ),
    "histogram": (
        {"groups": {"x": [1.0, 2.0], "y": [3.0]}, "bins": 10, "x_label": "words"},
        3,
    ),
    "scatter": (
        POINTS | {"groups": list("aba"), "labels": ["p", "q", "$r$"], "identity": True},
        3,
    ),
    "bland_altman": (
        {
            "mean": [1.0, 2.0],
            "difference": [0.5, -0.5],
            "bias": 0.0,
            "lower": -1.0,
            "upper": 1.0,
        },
        2,
    ),
    "bars": (
        {
            "labels": ["a", "b"],
            "values": [1.0, 2.0],
            **ENDS,
            "reference": 1.0,
            "y_label": "auc",
        },
        2,
    ),
    "forest": (
        {"labels": ["a", "b"], "estimate": [1.0, 2.0], **ENDS, "x_label": "auc"},
        2,
    ),
    "heatmap": (
        {
            "matrix": [[1.0, NAN], [-0.5, 1.0]],
            "rows": list("ab"),
            "columns": list("cd"),
            "label": "correlation",
        },
        3,
    ),
    "calibration": (
        {"raw": [40.0, 60.0], "calibrated": [10.0, 90.0], "label": [5.0, 95.0]},
        2,
    ),
    "curve": ({"lines": LINES, "x_label": "share", "y_label": "auc", "n": 40}, 40),
    "dots": (
        {
            "labels": ["a", "b"],
            "series": {"x": [0.2, NAN], "y": [0.4, 0.6]},
            "x_label": "score",
        },
        2,
    ),
    "reliability": (
        {"confidence": [0.2, 0.9], "accuracy": [0.5, 0.8], **SHARES, "count": [3, 4]},
        7,
    ),
}


def drawn(kind: str, data: dict[str, Any], pen: Pen | None = None) -> Pen:
    """The figure, laid out and rendered."""
    pen = Pen(Words("en"), "trial", shame()) if pen is None else pen
    with our_look():
        figures.KINDS[kind](data, pen)
        as_png(pen.canvas)
    return pen


def ticks(axis: Axis) -> list[str]:
    return axis.get_major_formatter().format_ticks(axis.get_majorticklocs().tolist())


@pytest.mark.parametrize("language", ["en", "pt"])
@pytest.mark.parametrize("kind", DATA)
def test_a_figure_is_drawn_and_its_caption_counts(
    kind: str, language: str, tmp_path: Path
) -> None:
    data, n = DATA[kind]
    words, figure = Words(language, strict=True), FigureData("it", kind, data)
    before = "matplotlib.pyplot" in sys.modules
    figures.draw(figure, words, "trial", shame(), tmp_path / "figures" / "it.png")
    assert ("matplotlib.pyplot" in sys.modules) == before
    head = (tmp_path / "figures" / "it.png").read_bytes()[:24]
    width, _ = struct.unpack(">II", head[16:])
    assert head.startswith(b"\x89PNG") and width == 1080
    assert f"(n = {n}" in figures.caption(figure, words, "trial")


@pytest.mark.parametrize(
    ("kind", "marks"),
    [("box", 5), ("slope", 6), ("scatter", 3), ("bland_altman", 2), ("calibration", 4)],
)
def test_the_page_knows_where_each_item_is_drawn(
    kind: str, marks: int, tmp_path: Path
) -> None:
    data, n = DATA[kind]
    named = FigureData("it", kind, data | {"ids": [f"i{k}" for k in range(n)]})
    size, places = figures.draw(
        named, Words("en"), "trial", shame(), tmp_path / "it.png"
    )
    picture = np.asarray(Image.open(tmp_path / "it.png").convert("L"))
    assert (
        picture.shape == size[::-1]
        and len(places) == marks
        and {name for *_, name in places} == {f"i{k}" for k in range(n)}
    )
    assert [
        picture[y - 2 : y + 3, x - 2 : x + 3].min() < 225 for x, y, _ in places
    ] == [True] * marks
    assert (
        figures.draw(
            FigureData("it", kind, data),
            Words("en"),
            "trial",
            shame(),
            tmp_path / "it.png",
        )[1]
        == []
    )


@pytest.mark.parametrize("kind", DATA)
def test_a_missing_key_is_named(kind: str, tmp_path: Path) -> None:
    data, _ = DATA[kind]
    required = next(iter(data))
    broken = FigureData("it", kind, {k: v for k, v in data.items() if k != required})
    with pytest.raises(ValueError, match=required):
        figures.draw(broken, Words("en"), "trial", shame(), tmp_path / "it.png")


def test_an_unknown_kind_is_named_with_the_known_ones_which_are_all_tried(
    tmp_path: Path,
) -> None:
    assert DATA.keys() == figures.KINDS.keys()
    with pytest.raises(ValueError, match=r"pie.*box.*calibration"):
        figures.draw(
            FigureData("it", "pie", {}),
            Words("en"),
            "trial",
            shame(),
            tmp_path / "it.png",
        )


def test_axes_say_the_unit_and_run_over_the_scale_in_the_language_with_its_decimal_mark() -> (
    None
):
    five = shame().model_copy(update={"scale": NumericScale(minimum=1, maximum=5)})
    own = Pen(Words("pt", texts_beside(CuratedDataset), "pontos"), "trial", five)
    ax = drawn("box", DATA["box"][0], own).drawn.axes[0]
    assert ax.get_ylabel() == "Nota (pontos, 1–5)"
    low, high = ax.get_ylim()
    assert low < 1 and high > 5
    assert ticks(ax.xaxis) == ["só autoridade\nn = 3", "só explicação\nn = 2"]
    data = {
        "labels": ["a"],
        "estimate": [0.5],
        "low": [0.25],
        "high": [0.75],
        "x_label": "auc",
    }
    told = ticks(
        drawn("forest", data, Pen(Words("pt"), "trial", shame())).drawn.axes[0].xaxis
    )
    assert any("," in t for t in told) and not any("." in t for t in told)


def test_groups_look_different_and_too_many_are_not_told_apart_by_repeated_colours() -> (
    None
):
    assert len({tuple(look_of(n).values()) for n in range(49)}) == 49
    data = POINTS | {
        "x": list(range(9)),
        "y": list(range(9)),
        "groups": list("abcdefghi"),
    }
    pen = drawn("scatter", data)
    assert not pen.drawn.legends and len(pen.drawn.axes[0].lines) == 1


@pytest.mark.parametrize("kind", ["bars", "forest", "heatmap"])
def test_names_of_two_hundred_letters_leave_the_axes_their_room(
    kind: str, tmp_path: Path
) -> None:
    data = dict(DATA[kind][0])
    rows = "rows" if kind == "heatmap" else "labels"
    data[rows] = [f"instructions={'so far ' * 30}{n}" for n in range(len(data[rows]))]
    ax = drawn(kind, data).drawn.axes[0]
    assert ax.bbox.width > 300 and ax.bbox.height > 100
    names = [*ticks(ax.yaxis), *ticks(ax.xaxis)]
    told = [name for name in names if name.startswith("instructions")]
    assert len(told) == len(set(told)) == len(data[rows]) and max(map(len, told)) < 70


def written(pen: Pen) -> dict[Text, Bbox]:
    """Every text that a reader sees, with its place in pixels."""
    # ticks that Matplotlib keeps outside the ends of an axis and does not draw
    beyond = set()
    for axis in [axis for ax in pen.drawn.axes for axis in (ax.xaxis, ax.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                beyond |= {tick.label1, tick.label2}
    shown = [text for text in pen.drawn.findobj(Text) if isinstance(text, Text)]
    shown = [text for text in shown if text.get_visible() and text.get_text().strip()]
    boxes = {text: text.get_window_extent(pen.canvas.get_renderer()) for text in shown}
    return {text: box for text, box in boxes.items() if text not in beyond}


LONG = "método de abstenção de nome comprido, número"
HARD: dict[str, tuple[str, dict[str, Any]]] = {
    "a legend of long names": (
        "curve",
        DATA["curve"][0] | {"lines": {f"{LONG} {k}": LINES["b"] for k in range(6)}},
    ),
    "a legend of many rows": (
        "dots",
        {
            "labels": ["a"],
            "series": {f"{LONG} {k}": [0.4] for k in range(20)},
            "x_label": "score",
        },
    ),
    "many long names": (
        "bars",
        {
            "labels": [f"{LONG} {k}" for k in range(9)],
            "values": range(9),
            "y_label": "auc",
        },
    ),
    "large numbers": (
        "forest",
        {
            "labels": ["um método", "outro"],
            "estimate": [-1234567.0, 7654321.0],
            "low": [-1334567.0, 7554321.0],
            "high": [-1134567.0, 7754321.0],
            "x_label": "auc",
        },
    ),
    "slanted names": (
        "heatmap",
        {
            "matrix": np.eye(7).tolist(),
            "rows": [f"juiz número {k}" for k in range(7)],
            "columns": [f"juiz número {k}" for k in range(7)],
            "label": "correlation",
        },
    ),
    "upright names": (
        "heatmap",
        {
            "matrix": np.eye(24).tolist(),
            "rows": [f"juiz número {k}" for k in range(24)],
            "columns": [f"juiz número {k}" for k in range(24)],
            "label": "correlation",
        },
    ),
    "long upright names": (
        "heatmap",
        {
            "matrix": np.eye(20)[:2].tolist(),
            "rows": ["a", "b"],
            "columns": [f"{LONG} {k}" for k in range(20)],
            "label": "correlation",
        },
    ),
    "many histograms": (
        "histogram",
        {
            "groups": {f"{LONG} {k}": [1.0, 2.0] for k in range(6)},
            "bins": 5,
            "x_label": "score",
        },
    ),
}


@pytest.mark.parametrize("name", [*DATA, *HARD])
def test_no_text_is_cut_off_and_none_lies_on_another_or_on_the_data(name: str) -> None:
    kind, data = HARD.get(name) or (name, DATA[name][0])
    pen = drawn(kind, data, Pen(Words("pt"), "trial", shame()))
    texts = written(pen)
    # the data, on purpose
    beside = {text for ax in pen.drawn.axes for text in ax.texts}
    for text, box in texts.items():
        assert pen.drawn.bbox.contains(*box.min) and pen.drawn.bbox.contains(
            *box.max
        ), text
        for ax in [] if text in beside else pen.drawn.axes:
            assert Bbox.intersection(ax.bbox, box) is None, text
    upright = [text for text in texts if text.get_rotation() in (0, 90)]
    for one, other in itertools.combinations(upright, 2):
        assert Bbox.intersection(texts[one], texts[other]) is None, (one, other)
    assert min(ax.bbox.height for ax in pen.drawn.axes) > 50


def test_a_million_texts_are_not_counted_as_one() -> None:
    counts = {"a": [1_000_000, 200_000]}
    data = {
        "groups": {"a": []},
        "counts": counts,
        "bins": [0, 50, 100],
        "x_label": "score",
    }
    for language, million in (("en", "1,000,000"), ("pt", "1.000.000")):
        ax = drawn(
            "histogram", data, Pen(Words(language), "trial", shame())
        ).drawn.axes[0]
        assert (
            million in ticks(ax.yaxis) and ax.yaxis.get_offset_text().get_text() == ""
        )


def test_numbers_have_a_true_minus_and_no_minus_before_a_zero() -> None:
    data = DATA["bland_altman"][0]
    assert ticks(drawn("bland_altman", data).drawn.axes[0].yaxis)[:3] == [
        "−1.5",
        "−1.0",
        "−0.5",
    ]
    small = {
        "x": [0.0, 0.00002],
        "y": [0.0, 1.0],
        "x_label": "words",
        "y_label": "count",
    }
    told = ticks(
        drawn("scatter", small, Pen(Words("pt"), "trial", shame())).drawn.axes[0].xaxis
    )
    assert "0,0000000" in told and "0,0000100" in told


def test_the_same_data_give_the_same_bytes_whatever_matplotlib_is_set_to(
    tmp_path: Path,
) -> None:
    figure = FigureData("it", "curve", DATA["curve"][0])
    settings: dict[Any, Any] = {
        "font.size": 30,
        "figure.dpi": 30,
        "axes.facecolor": "red",
        "savefig.dpi": 20,
    }
    for name, own in (("one", {}), ("two", {}), ("three", settings)):
        with matplotlib.rc_context(own):
            before = dict(matplotlib.rcParams)
            figures.draw(figure, Words("en"), "trial", shame(), tmp_path / name)
            assert dict(matplotlib.rcParams) == before
    one, two, three = (
        (tmp_path / name).read_bytes() for name in ("one", "two", "three")
    )
    assert one == two == three
    with Image.open(tmp_path / "one") as image:
        # no date, and no version of the library that drew it
        assert set(image.info) <= {"dpi"}


def test_equal_points_lie_beside_each_other_and_thousands_of_pairs_are_one_object() -> (
    None
):
    pen = drawn("box", {"groups": {"a": [5.0] * 4}, "y_label": "score"})
    points = next(line for line in pen.drawn.axes[0].lines if line.get_marker() == "o")
    assert len(set(np.asarray(points.get_xdata()).tolist())) == 4
    pairs = [(float(n % 97), float(n % 89)) for n in range(3000)]
    (ax,) = drawn(
        "slope", {"left": "a", "right": "b", "pairs": pairs, "y_label": "score"}
    ).drawn.axes
    shown = sum(len(collection.get_segments()) for collection in ax.collections)  # type: ignore[attr-defined]
    assert shown + sum(len(line.get_xdata()) == 2 for line in ax.lines) == 3000
    assert len(ax.collections) + len(ax.lines) < 200
