"""Reads what a model answered as a hierarchy: JSON, JSON in a fence or among words, an indented
outline, or arrows.

Tolerant of form, never of content: what is cut off, runs in a ring, is absurdly large or no
hierarchy is `Malformed` with its reason, so that half an answer is not scored as a small hierarchy.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, Literal, NamedTuple

from undogmatic.records.answers import without_reasoning
from undogmatic.safety.outside import Unreadable, brief, json_value

Defect = Literal[
    "empty", "truncated", "cyclic", "too_deep", "too_wide", "not_a_hierarchy"
]

MOST_LEVELS = 40  # steps from the root to a leaf; published hierarchies have about ten
MOST_GATES = 1_000
LONGEST_GATE = 200  # characters of a gate's name; what is longer is prose


class Malformed(ValueError):
    """A prediction that is no hierarchy; reports count by `defect`, what is wrong with it."""

    def __init__(self, defect: Defect, message: str) -> None:
        super().__init__(f"{defect}: {message}")
        self.defect = defect


class Gate(NamedTuple):
    """A gate with those below it. `critical` is whether an expert cannot do without it; None:
    nobody has said."""

    name: str
    children: tuple[Gate, ...] = ()
    critical: bool | None = None


class Place(NamedTuple):
    """A gate in its hierarchy: the name of the gate above it (None: the root) and its level, the
    root's being 0."""

    gate: Gate
    parent: str | None
    level: int


def places(gate: Gate, parent: str | None = None, level: int = 0) -> Iterator[Place]:
    """Every gate from the root down, each before those below it, in their order."""
    yield Place(gate, parent, level)
    for child in gate.children:
        yield from places(child, gate.name, level + 1)


def names(root: Gate) -> list[str]:
    """The names of all gates from the root down, repetitions included."""
    return [place.gate.name for place in places(root)]


def depth(root: Gate) -> int:
    """Steps from the root to the deepest leaf; 0 for a root alone."""
    return max(place.level for place in places(root))


def outline(root: Gate) -> str:
    """The hierarchy as text: a gate per line, two spaces further in than the one above it."""
    return "\n".join(f"{'  ' * place.level}{place.gate.name}" for place in places(root))


NAME = ("name", "gate", "gate_name", "population", "label")
CHILDREN = (
    "children",
    "gates",
    "subgates",
    "sub_gates",
    "subpopulations",
    "populations",
)
WRAPPERS = (
    "gating_hierarchy",
    "hierarchy",
    "prediction",
    "gating_strategy",
    "gating_tree",
    "tree",
    "root",
    "result",
)
PARENT = ("parent", "parent_gate", "parent_name")
CRITICAL = "is_critical"
_SIGNS = str.maketrans(
    dict.fromkeys(
        "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u207b\u208b\ufe58\ufe63\uff0d", "-"
    )
    | dict.fromkeys("\u207a\u208a\ufe62\uff0b", "+")
)


def plain_signs(name: str) -> str:
    """A name with every kind of hyphen, dash, minus and plus as the plain one: CD4⁺ is CD4+."""
    return name.translate(_SIGNS)


def gate_name(value: Any) -> str:
    """A name on one line, with typographic signs as plain ones ("HLA‐DR" and "HLA-DR" are one
    marker). Raises Malformed where it is none."""
    name = " ".join(plain_signs(value).split()) if isinstance(value, str) else ""
    faults = {
        "is": not name,
        f"has {len(name):,} characters:": len(name) > LONGEST_GATE,
    }
    faults["holds what cannot be printed:"] = not name.isprintable()
    if fault := next((what for what, holds in faults.items() if holds), None):
        raise Malformed(
            "not_a_hierarchy", f"a gate's name {fault} {brief(name or value, 60)}"
        )
    return name


class _Node(NamedTuple):
    """A gate as it was read. What stands below it is read when asked for: faults are named from the
    root down."""

    name: Any
    below: Iterable[_Node] = ()
    critical: bool | None = None


def _grown(
    node: _Node, above: tuple[str, ...] = (), gates: Iterator[int] | None = None
) -> Gate:
    """The gate of a node, the next of `gates`, below those named `above`. Raises Malformed for what
    is absurdly wide or deep, or stands below itself."""
    gates = itertools.count(1) if gates is None else gates
    if next(gates) > MOST_GATES:
        raise Malformed("too_wide", f"more than {MOST_GATES:,} gates")
    name = gate_name(node.name)
    if len(above) > MOST_LEVELS:
        raise Malformed("too_deep", f"more than {MOST_LEVELS} levels")
    if name.casefold() in map(str.casefold, above):
        raise Malformed("cyclic", f"{brief(name, 60)} stands below itself")
    return Gate(
        name,
        tuple(_grown(each, (*above, name), gates) for each in node.below),
        node.critical,
    )


def from_value(value: Any) -> Gate:
    """The hierarchy of a JSON value. Raises Malformed.

    Known shapes: {name, children}; such an object inside a wrapper ({"hierarchy": ...}); names as
    keys ({"All Events": {"Singlets": {}}}); a list of {name, parent}; and a list that holds one
    hierarchy.
    """
    while isinstance(value, Mapping) and not _values(value, NAME):  # the wrappers
        inner = [
            value[key] for key in WRAPPERS if isinstance(value.get(key), Mapping | list)
        ]
        if not inner and set(value) <= set(CHILDREN):
            inner = [each for each in value.values() if isinstance(each, list)]
        if len(inner) != 1:
            break
        value = inner[0]
    if isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(
            isinstance(row, Mapping) and _values(row, PARENT) for row in value
        ):
            return from_links(
                [(_values(row, PARENT)[0], _object(row).name) for row in value]
            )
        if len(value) != 1:
            raise Malformed(
                "not_a_hierarchy", f"a list of {len(value)} and not one root"
            )
        value = value[0]
    if not isinstance(value, Mapping):
        raise Malformed(
            "not_a_hierarchy",
            f"JSON, but {brief(value, 60)} and not an object of gates",
        )
    if _values(value, NAME):
        return _grown(_object(value))
    if len(value) != 1:
        raise Malformed(
            "not_a_hierarchy",
            f"an object with {len(value)} keys and not one root: {brief([*value], 60)}",
        )
    ((root, inside),) = value.items()
    if not isinstance(inside, Mapping | list):
        raise Malformed(
            "not_a_hierarchy",
            f"an object with the key {brief(root, 60)} and nothing below it",
        )
    return _grown(_Node(root, _below(root, inside, keyed=True)))


def _values(node: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    """What an object holds under these keys; a list is no name."""
    return [
        node[key]
        for key in keys
        if key in node and not (keys is NAME and isinstance(node[key], list))
    ]


def _object(node: Any) -> _Node:
    """A name, or an object with a name and perhaps gates below it."""
    if isinstance(node, str):
        return _Node(node)
    if not isinstance(node, Mapping) or not (gate := _values(node, NAME)):
        what = "a gate without a name:" if isinstance(node, Mapping) else "a gate is"
        raise Malformed("not_a_hierarchy", f"{what} {brief(node, 60)}")
    critical, below = node.get(CRITICAL), [*_values(node, CHILDREN), ()][0] or ()
    return _Node(
        gate[0],
        _below(gate[0], below),
        critical if isinstance(critical, bool) else None,
    )


def _below(name: Any, inside: Any, keyed: bool = False) -> Iterator[_Node]:
    """What stands below a gate: a list of names and of objects with a name, or one of these. Where
    gates are keys (`keyed`), also an object of such keys, alone or with a single one in a list, a
    name alone, and nothing.
    """
    if keyed and isinstance(inside, Mapping):
        yield from (
            _Node(key, _below(key, value, keyed)) for key, value in inside.items()
        )
        return
    if keyed and inside in (None, ""):
        return
    alone = (
        isinstance(inside, str)
        if keyed
        else isinstance(inside, Mapping) and _values(inside, NAME)
    )
    parts = [inside] if alone else inside
    if not isinstance(parts, list | tuple):
        where = f"below {brief(gate_name(name), 60)}"
        what = (
            f"{where} stands {brief(inside, 60)}"
            if keyed
            else f"the gates {where} are no list"
        )
        raise Malformed("not_a_hierarchy", what)
    for part in parts:
        if (
            keyed
            and isinstance(part, Mapping)
            and not _values(part, NAME)
            and len(part) == 1
        ):
            yield from _below(name, part, keyed)
        else:
            yield _object(part)


def from_links(links: Iterable[tuple[Any, Any]]) -> Gate:
    """The hierarchy of (parent, gate) pairs by name; a parent that is None or empty makes a root.
    Raises Malformed.

    A gate that is linked to two parents is refused: which of them is meant cannot be known.
    """
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for parent, gate in links:
        name = gate_name(gate)
        parents = above.setdefault(name, [])
        if parent is None or (isinstance(parent, str) and not parent.strip()):
            continue
        above.setdefault(over := gate_name(parent), [])
        if over not in parents:
            parents.append(over)
            below.setdefault(over, []).append(name)
        if len(above) > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} gates")
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        ring = " -> ".join(reversed(error.args[1]))
        raise Malformed(
            "cyclic", f"the gates run in a ring: {brief(ring, 80)}"
        ) from None
    if twice := next(
        (name for name, parents in above.items() if len(parents) > 1), None
    ):
        raise Malformed("not_a_hierarchy", f"{brief(twice, 60)} stands below two gates")
    roots = [name for name, parents in above.items() if not parents]
    if len(roots) != 1:
        raise Malformed(
            "not_a_hierarchy",
            f"{len(roots)} gates without one above them: {brief(roots, 80)}",
        )

    def node(name: str) -> _Node:
        return _Node(name, map(node, below.get(name, ())))

    return _grown(node(roots[0]))


LONGEST_ANSWER = 200_000  # characters; the longest known answer has a tenth of it
MOST_TRIES = 20  # objects in an answer that are tried as hierarchies
MOST_WORDS = 12  # words in a gate's name; what has more is a sentence

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ARROW = re.compile(r"-{1,3}>|={1,2}>|→|⟶|➔|»")
_MARKS = re.compile(
    r"^(?P<indent>[\s│|]*)(?P<mark>(?:[├└┣┗╰+`][─━\-]+|[-*•–]|\d{1,3}[.)])\s+)?(?P<name>.*)$"
)
"""Matches every line: each of its parts may be empty."""
_BRACKET = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
"""A bracket, or a text in quotes, in which brackets do not count."""


def parse(answer: Any) -> Gate:
    """The hierarchy in an answer, which is a text or what JSON made of one. Raises Malformed where
    it is empty, truncated, cyclic, too deep, too wide, or not a hierarchy."""
    if isinstance(answer, Mapping | list):
        return from_value(answer)
    text = without_reasoning(answer) if isinstance(answer, str) else ""
    if not text and isinstance(answer, str) and answer.strip():
        raise Malformed("truncated", "the answer ends inside its reasoning")
    if not text:
        what = (
            "the answer has no words"
            if isinstance(answer, str)
            else "there is no answer"
        )
        raise Malformed(
            "empty" if answer is None or isinstance(answer, str) else "not_a_hierarchy",
            what,
        )
    if len(text) > LONGEST_ANSWER:
        raise Malformed(
            "too_wide",
            f"an answer of {len(text):,} characters; at most {LONGEST_ANSWER:,} are read",
        )
    fenced = [inside.strip() for inside in _FENCE.findall(text)]
    if fenced and not any(fenced) and not _FENCE.sub("", text).strip():
        raise Malformed("empty", "a fence with nothing in it")
    reasons = []
    for part in [*filter(None, fenced), text]:
        try:
            hierarchy = _parse_text(part)
        except Malformed as error:
            reasons.append(error)
            continue
        # An outline that was cut off reads as a smaller one, and would be scored as if
        # its author had left the rest out. JSON shows by its brackets whether it is
        # whole.
        if text.count("```") % 2 == 1 and not part.rstrip("` \n").endswith(("}", "]")):
            raise Malformed("truncated", "the answer ends inside its fence")
        return hierarchy
    # The whole text of a fenced answer is prose with a fence in it: the reason lies in the fence.
    raise min(reasons, key=lambda error: error.defect == "not_a_hierarchy")


def _parse_text(text: str) -> Gate:
    """The hierarchy in the first JSON of a text that is one, else in its arrows or lines. JSON is
    what stands between an opening bracket and the one that closes it. Square brackets count only at
    the beginning of the text: elsewhere they are words' own."""
    fault, end = None, 0
    for _ in range(MOST_TRIES):
        if (start := 0 if end == 0 and text[0] == "[" else text.find("{", end)) < 0:
            break
        opened, deepest, end = 0, 0, len(text)
        for mark in _BRACKET.finditer(text, start):
            opened += {"[": 1, "{": 1, '"': 0}.get(mark[0][0], -1)
            deepest = max(deepest, opened)
            if opened == 0:
                end = mark.end()
                break
        try:
            if deepest > 2 * MOST_LEVELS + 20:
                raise Malformed(
                    "too_deep", f"brackets within brackets, {deepest} times"
                )
            if opened:
                raise Malformed("truncated", "the answer ends inside its JSON")
            return from_value(_loaded(text[start:end]))
        except Malformed as error:
            fault = (
                error if fault is None or fault.defect == "not_a_hierarchy" else fault
            )
    if fault is not None and (fault.defect != "not_a_hierarchy" or text[0] in "[{"):
        raise fault
    return _arrows(text) if _ARROW.search(text) else _outline(text)


def _loaded(text: str) -> Any:
    """JSON, with the one liberty of a comma before a closing bracket."""
    try:
        with contextlib.suppress(Unreadable):
            return json_value(text)
        return json_value(re.sub(r",(\s*[\]}])", r"\1", text))
    except Unreadable as error:
        raise Malformed("not_a_hierarchy", str(error)) from None


def _arrows(text: str) -> Gate:
    """Lines such as `All Events -> Singlets -> Live`, from the root down or link by link."""
    chains = []
    for marks in filter(
        None, map(_MARKS.match, filter(_ARROW.search, text.splitlines()))
    ):
        names = [part.strip(" .`*") for part in _ARROW.split(marks["name"])]
        if not names[-1]:
            raise Malformed(
                "truncated", f"a line ends with an arrow: {marks.string[-60:]!r}"
            )
        if any(len(name.split()) > MOST_WORDS for name in names):
            continue
        chains.append([gate_name(name) for name in names if name])
        if len(chains) > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} lines")
    if not chains:
        raise Malformed(
            "not_a_hierarchy", "arrows, but between sentences and not gates"
        )
    if any(chain[0] != chains[0][0] for chain in chains):
        return from_links(
            [pair for chain in chains for pair in itertools.pairwise(chain)]
        )
    # paths from one root: a gate is known by its whole path, so that two may share a name
    tree: dict[str, Any] = {}
    for chain in chains:
        node = tree
        for name in chain:
            node = node.setdefault(name, {})
    return from_value(tree)


def _outline(text: str) -> Gate:
    """An indented list: what stands further in lies below the nearest line before it that stands
    further out.

    Words before and after the list are left out: lines of more than MOST_WORDS words, and lines
    that end as sentences.
    """
    lines: list[tuple[int, str]] = []
    for marks in filter(
        None, (_MARKS.match(line.expandtabs(4).rstrip()) for line in text.splitlines())
    ):
        name = marks["name"].strip(" *`_#").rstrip(":")
        if not name:
            continue
        bulleted = marks["mark"] is not None
        if len(name.split()) > MOST_WORDS or (not bulleted and name[-1] in ".?!,;"):
            if len(lines) > 1:
                break
            lines.clear()
            continue
        # the width of a drawn branch is part of the indentation
        drawn = bulleted and marks["mark"][0] in "├└┣┗╰+`"
        lines.append(
            (
                len(marks["indent"]) + (len(marks["mark"]) if drawn else 0),
                gate_name(name),
            )
        )
        if len(lines) > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} lines")
    if len(lines) < 2 or len({indent for indent, _ in lines}) < 2:
        raise Malformed(
            "not_a_hierarchy", "neither JSON, nor an indented list, nor arrows"
        )
    # A heading stands as far out as the root and has nothing below it.
    while (
        len(lines) > 2
        and lines[0][0] == lines[1][0]
        and all(indent >= lines[1][0] for indent, _ in lines[1:])
    ):
        lines = lines[1:]  # a heading
    (first, root), below = lines[0], list[_Node]()
    path, hierarchy = [(first, below)], _Node(root, below)
    for indent, name in lines[1:]:
        while path and path[-1][0] >= indent:
            path.pop()
        if not path:
            raise Malformed("not_a_hierarchy", f"a second root: {name!r}")
        below = []
        path[-1][1].append(_Node(name, below))
        path.append((indent, below))
    return _grown(hierarchy)
