"""Every kind draws in both languages, with n in its caption and no pyplot behind it."""

import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axis import Axis
from PIL import Image

from tests.report.conftest import shame
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.records.results import FigureData
from undogmatic.records.rubric import NumericScale
from undogmatic.records.wordings import texts_beside
from undogmatic.report import figures
from undogmatic.report.figures import look_of
from undogmatic.report.pen import Pen, texts_of
from undogmatic.report.words import Words

NAN = float("nan")
ENDS, SHARES = {"low": [0.5, NAN], "high": [1.5, NAN]}, {"low": [0.3, NAN], "high": [0.7, NAN]}
POINTS = {"x": [1.0, 2.0, 3.0], "y": [10.0, 20.0, 30.0], "x_label": "words", "y_label": "score"}
LINES = {
    "a": {"x": [0.0, 1.0], "y": [1.0, 0.0], "low": [0.5, -0.5], "high": [1.5, 0.5]},
    "b": {"x": [0.0, 0.5, 1.0], "y": [0.0, 0.7, 1.0]},
}
DATA: dict[str, tuple[dict[str, Any], int]] = {
    "box": (
        {
            "groups": {"authority_only": [80.0, 90.0, 70.0], "explained_only": [10.0, 20.0]},
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
    "histogram": ({"groups": {"x": [1.0, 2.0], "y": [3.0]}, "bins": 10, "x_label": "words"}, 3),
    "scatter": (POINTS | {"groups": list("aba"), "labels": ["p", "q", "$r$"], "identity": True}, 3),
    "bland_altman": (
        {"mean": [1.0, 2.0], "difference": [0.5, -0.5], "bias": 0.0, "lower": -1.0, "upper": 1.0},
        2,
    ),
    "bars": (
        {"labels": ["a", "b"], "values": [1.0, 2.0], **ENDS, "reference": 1.0, "y_label": "auc"},
        2,
    ),
    "forest": ({"labels": ["a", "b"], "estimate": [1.0, 2.0], **ENDS, "x_label": "auc"}, 2),
    "heatmap": (
        {
            "matrix": [[1.0, NAN], [-0.5, 1.0]],
            "rows": list("ab"),
            "columns": list("cd"),
            "label": "correlation",
        },
        3,
    ),
    "calibration": ({"raw": [40.0, 60.0], "calibrated": [10.0, 90.0], "label": [5.0, 95.0]}, 2),
    "curve": ({"lines": LINES, "x_label": "share", "y_label": "auc", "n": 40}, 40),
    "dots": (
        {"labels": ["a", "b"], "series": {"x": [0.2, NAN], "y": [0.4, 0.6]}, "x_label": "score"},
        2,
    ),
    "reliability": (
        {"confidence": [0.2, 0.9], "accuracy": [0.5, 0.8], **SHARES, "count": [3, 4]},
        7,
    ),
}


def drawn(kind: str, data: dict[str, Any], pen: Pen | None = None) -> Pen:
    pen = Pen(Words("en"), "trial", shame()) if pen is None else pen
    figures.KINDS[kind](data, pen)
    return pen


def ticks(axis: Axis) -> list[str]:
    return axis.get_major_formatter().format_ticks(axis.get_majorticklocs())


@pytest.mark.parametrize("language", ["en", "pt"])
@pytest.mark.parametrize("kind", DATA)
def test_a_figure_is_drawn_and_its_caption_counts(kind: str, language: str, tmp_path: Path) -> None:
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
def test_the_page_knows_where_each_item_is_drawn(kind: str, marks: int, tmp_path: Path) -> None:
    data, n = DATA[kind]
    named = FigureData("it", kind, data | {"ids": [f"i{k}" for k in range(n)]})
    size, places = figures.draw(named, Words("en"), "trial", shame(), tmp_path / "it.png")
    picture = np.asarray(Image.open(tmp_path / "it.png").convert("L"))
    assert (
        picture.shape == size[::-1]
        and len(places) == marks
        and {name for *_, name in places} == {f"i{k}" for k in range(n)}
    )
    assert [picture[y - 2 : y + 3, x - 2 : x + 3].min() < 225 for x, y, _ in places] == [
        True
    ] * marks
    assert (
        figures.draw(
            FigureData("it", kind, data), Words("en"), "trial", shame(), tmp_path / "it.png"
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


def test_an_unknown_kind_is_named_with_the_known_ones_which_are_all_tried(tmp_path: Path) -> None:
    assert DATA.keys() == figures.KINDS.keys()
    with pytest.raises(ValueError, match=r"pie.*box.*calibration"):
        figures.draw(
            FigureData("it", "pie", {}), Words("en"), "trial", shame(), tmp_path / "it.png"
        )


def test_axes_say_the_unit_and_run_over_the_scale_in_the_language_with_its_decimal_mark() -> None:
    five = shame().model_copy(update={"scale": NumericScale(minimum=1, maximum=5)})
    own = Pen(Words("pt", texts_beside(CuratedDataset), "pontos"), "trial", five)
    ax = drawn("box", DATA["box"][0], own).drawn.axes[0]
    assert ax.get_ylabel() == "Nota (pontos, 1–5)"
    low, high = ax.get_ylim()
    assert low < 1 and high > 5
    assert ticks(ax.xaxis) == ["só autoridade\nn = 3", "só explicação\nn = 2"]
    data = {"labels": ["a"], "estimate": [0.5], "low": [0.25], "high": [0.75], "x_label": "auc"}
    told = ticks(drawn("forest", data, Pen(Words("pt"), "trial", shame())).drawn.axes[0].xaxis)
    assert any("," in t for t in told) and not any("." in t for t in told)


def test_groups_look_different_and_too_many_are_not_told_apart_by_repeated_colours() -> None:
    assert len({tuple(look_of(n).values()) for n in range(49)}) == 49
    data = POINTS | {"x": list(range(9)), "y": list(range(9)), "groups": list("abcdefghi")}
    pen = drawn("scatter", data)
    assert pen.named == [] and len(pen.drawn.axes[0].lines) == 1


@pytest.mark.parametrize("kind", ["bars", "forest", "heatmap"])
def test_names_of_two_hundred_letters_leave_the_axes_their_room(kind: str, tmp_path: Path) -> None:
    data = dict(DATA[kind][0])
    rows = "rows" if kind == "heatmap" else "labels"
    data[rows] = [f"instructions={'so far ' * 30}{n}" for n in range(len(data[rows]))]
    ax = (pen := drawn(kind, data)).drawn.axes[0]
    pen.rendered()
    assert ax.bbox.width > 300 and ax.bbox.height > 100
    names = [*ticks(ax.yaxis), *ticks(ax.xaxis)]
    told = [name for name in names if name.startswith("instructions")]
    assert len(told) == len(set(told)) == len(data[rows]) and max(map(len, told)) < 70


@pytest.mark.parametrize("kind", DATA)
def test_no_text_is_cut_off_and_none_around_the_data_lies_on_them(kind: str) -> None:
    pen = drawn(kind, DATA[kind][0], Pen(Words("pt"), "trial", shame()))
    height, width, _ = pen.rendered().shape
    for frame in pen.frames.values():
        inside = frame.ax.bbox
        for image, x, y in texts_of(replace(frame, notes=[])):
            tall, wide = image.shape[:2]
            assert min(x, y) > -1 and x + wide < width + 1 and y + tall < height + 1
            apart = (inside.x0 - x - wide, x - inside.x1, inside.y0 - y - tall, y - inside.y1)
            assert max(apart) > 0
    assert frame.ax.bbox.height > 100


def test_equal_points_lie_beside_each_other_and_thousands_of_pairs_are_one_object() -> None:
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
