"""Draws the rooms of the package, floor by floor, and writes their table, from tests/house.yaml and
the imports.

    python -m benchmarks.house --picture

writes docs/architecture.svg and the table of docs/architecture.md. A test holds both, so that they
name the rooms that exist and no others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks import house

PICTURE = house.ROOT / "docs" / "architecture.svg"
PAGE = house.ROOT / "docs" / "architecture.md"
BEGIN, END = (
    "<!-- rooms: python -m benchmarks.house --picture -->",
    "<!-- end of rooms -->",
)

STORY = ("config", "dataset", "judge", "evidence", "examinations", "answer", "report")
"""What a run goes through."""
CHECKED = ("file of verdicts", "reader")
"""What a check goes through before the evidence."""
ON_THE_WAY = ("config", "datasets", "judges", "records", "examinations", "report")
"""The rooms in which these steps happen."""

WIDTH, MARGIN = 960, 24
FLOOR, GAP = 54, 8
INK, QUIET, LINE = "#1f2933", "#52606d", "#9fb3c8"
STEP, WAY, ROOM = "#0b5394", "#d6e6f5", "#f5f8fb"


def room_imports() -> dict[str, set[str]]:
    """Room -> the other rooms that it imports."""
    rooms: dict[str, set[str]] = {room: set() for room in house.ROOMS}
    for module, targets in house.arrows(house.trees()).items():
        own = module.split(".")[0]
        rooms[own] |= {target.split(".")[0] for target in targets} - {own}
    return rooms


def floors(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """The rooms by floor, from the ground up: each lies right above the highest that it imports."""
    level: dict[str, int] = {}
    for room in house.ROOMS:  # those that it imports come before it
        level[room] = 1 + max((level[below] for below in imports[room]), default=-1)
    return [
        [room for room in house.ROOMS if level[room] == floor]
        for floor in range(max(level.values()) + 1)
    ]


def called(room: str) -> str:
    """The room as it is called on disk: a folder, or a module at the root."""
    return f"{room}/" if (house.PACKAGE / room).is_dir() else f"{room}.py"


def table() -> str:
    """The table of the rooms, the top floor first, in Markdown."""
    imports = room_imports()
    lines = ["| Floor | Room | What it is for |", "|---|---|---|"]
    by_floor = list(enumerate(floors(imports)))
    for floor, rooms in reversed(by_floor):
        for room in rooms:
            lines.append(f"| {floor} | `{called(room)}` | {house.ABOUT[room]} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """A page with the table of rooms as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def picture() -> str:
    """The picture as SVG."""
    imports = room_imports()
    by_floor = floors(imports)
    top = 222
    height = top + len(by_floor) * (FLOOR + GAP) + 36
    imported = set[str]().union(*imports.values())
    drawn = [*_story()]
    drawn.append(_text(MARGIN, top - 18, "The rooms", 17, INK, weight=600))
    rule = "Each imports only from floors below it. Darker rooms: the steps above happen there."
    drawn.append(_text(MARGIN + 112, top - 18, rule, 13, QUIET))
    for place, rooms in enumerate(reversed(by_floor)):
        y = top + place * (FLOOR + GAP)
        drawn += _floor(rooms, y, imported)
    foot = top + len(by_floor) * (FLOOR + GAP) + 18
    dashed = "Dashed: no other room imports it. It is a door, or comes in by an entry point as a"
    dashed += " package of your own would."
    drawn.append(_text(MARGIN, foot, dashed, 13, QUIET))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">'
    )
    title = (
        "<title>The steps of a run and of a check, and the rooms of the package</title>"
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7"'
        f' markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="{QUIET}"/></marker></defs>'
    )
    ground = f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#ffffff"/>'
    return "\n".join([head, title, marker, ground, *drawn, "</svg>", ""])


def _story() -> Iterator[str]:
    """The steps of a run in a line, and those of a check, which join it at the evidence."""
    n = len(STORY)
    gap = 20
    width = (WIDTH - 2 * MARGIN - (n - 1) * gap) / n
    left = {step: MARGIN + place * (width + gap) for place, step in enumerate(STORY)}
    run, check, tall = 42, 120, 40
    yield _text(MARGIN, run - 14, "A run", 13, QUIET)
    for before, step in itertools.pairwise(STORY):
        yield _arrow(left[before] + width, run + tall / 2, left[step], run + tall / 2)
    for step in STORY:
        yield _box(left[step], run, width, tall, STEP, STEP)
        yield _text(left[step] + width / 2, run + 25, step, 14, "#ffffff", middle=True)
    # The way of a check stands below the steps of a run that it does without.
    yield _text(MARGIN, check - 14, "A check", 13, QUIET)
    places = (MARGIN, left["judge"])
    widths = (2 * width + gap, width)
    yield _arrow(places[0] + widths[0], check + tall / 2, places[1], check + tall / 2)
    for step, x, wide in zip(CHECKED, places, widths, strict=True):
        yield _box(x, check, wide, tall, "#ffffff", STEP)
        yield _text(x + wide / 2, check + 25, step, 14, STEP, middle=True)
    middle = left["evidence"] + width / 2
    yield (
        f'<path d="M{places[1] + width:.0f} {check + tall / 2:.0f}H{middle:.0f}V{run + tall:.0f}"'
        f' fill="none" stroke="{QUIET}" stroke-width="1.5" marker-end="url(#tip)"/>'
    )
    x = middle + 18
    said = "From here on they are one: the same evidence, the same answer."
    yield _text(x, check + 25, said, 13, QUIET)


def _floor(rooms: Sequence[str], y: float, imported: set[str]) -> Iterator[str]:
    """The rooms of a floor side by side, over the whole width."""
    width = (WIDTH - 2 * MARGIN - (len(rooms) - 1) * GAP) / len(rooms)
    for place, room in enumerate(rooms):
        x = MARGIN + place * (width + GAP)
        fill = WAY if room in ON_THE_WAY else ROOM
        yield _box(x, y, width, FLOOR, fill, LINE, dashed=room not in imported)
        yield _text(x + 14, y + 23, called(room), 15, INK, weight=600)
        yield _text(x + 14, y + 42, house.ABOUT[room], 12.5, QUIET)


def _box(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    line: str,
    dashed: bool = False,
) -> str:
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"'
        f' fill="{fill}" stroke="{line}" stroke-width="1.2"{dashes}/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    size: float,
    colour: str,
    weight: int = 400,
    middle: bool = False,
) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" font-weight="{weight}"'
        f' fill="{colour}"{anchor}>{escape(text)}</text>'
    )


def _arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{QUIET}"'
        ' stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def write() -> list[Path]:
    """Write both files anew; their paths."""
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return [PICTURE, PAGE]
