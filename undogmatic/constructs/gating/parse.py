"""What a model answered as a hierarchy: JSON, JSON in a fence or among words, an indented outline, or arrows.

Tolerant of form, never of content: what is cut off, runs in a ring, is absurdly large or no hierarchy is `Malformed`
with its reason, so that half an answer is not scored as a small hierarchy.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from undogmatic.constructs.gating.shapes import from_links, from_value, gate_name
from undogmatic.constructs.gating.tree import MOST_GATES, MOST_LEVELS, Gate, Malformed
from undogmatic.safety.outside import Unreadable, json_value

LONGEST_ANSWER = 200_000
"""Characters; the longest known answer has a tenth of it."""
MOST_TRIES = 20
"""Objects in an answer that are tried as hierarchies."""
MOST_WORDS = 12
"""Words in a gate's name; what has more is a sentence."""

_FENCE = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_ARROW = re.compile(r"-{1,3}>|={1,2}>|→|⟶|➔|»")
_MARKS = re.compile(r"^(?P<indent>[\s│|]*)(?P<mark>(?:[├└┣┗╰+`][─━\-]+|[-*•–]|\d{1,3}[.)])\s+)?(?P<name>.*)$")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
_BRACKETS = re.compile(r"[\[\]{}]")


def parse(given: Any) -> Gate:
    """The hierarchy in an answer, which is a text or what JSON made of one.

    Raises:
        Malformed: It is empty, truncated, cyclic, too deep, too wide, or not a hierarchy.
    """
    if isinstance(given, Mapping | list):
        return _guarded(given)
    if not isinstance(given, str):
        raise Malformed("empty" if given is None else "not_a_hierarchy", "there is no answer")
    text = given.strip()
    if not text:
        raise Malformed("empty", "the answer has no words")
    if len(text) > LONGEST_ANSWER:
        raise Malformed("too_wide", f"an answer of {len(text):,} characters; at most {LONGEST_ANSWER:,} are read")
    fenced = [inside.strip() for inside in _FENCE.findall(text)]
    if fenced and not any(fenced) and not _FENCE.sub("", text).strip():
        raise Malformed("empty", "a fence with nothing in it")
    open_fence = text.count("```") % 2 == 1
    reasons = []
    for each in [*filter(None, fenced), text]:
        try:
            found = _parse_text(each)
        except Malformed as error:
            reasons.append(error)
            continue
        if open_fence and not each.rstrip("` \n").endswith(("}", "]")):
            raise Malformed("truncated", "the answer ends inside its fence")
        return found
    # The whole text of a fenced answer is prose with a fence in it: the reason lies in the fence.
    graver = [error for error in reasons if error.defect != "not_a_hierarchy"]
    raise (graver or reasons)[0]


def _guarded(value: Any) -> Gate:
    try:
        return from_value(value)
    except RecursionError:
        raise Malformed("too_deep", f"more than {MOST_LEVELS} levels") from None


def _parse_text(text: str) -> Gate:
    found = None
    for part in _json_parts(text):
        try:
            if part.depth > 2 * MOST_LEVELS + 20:
                raise Malformed("too_deep", f"brackets within brackets, {part.depth} times")
            if not part.closed:
                raise Malformed("truncated", "the answer ends inside its JSON")
            return _guarded(_loaded(part.text))
        except Malformed as error:
            if found is None or found.defect == "not_a_hierarchy":
                found = error
    if found is not None and (found.defect != "not_a_hierarchy" or text[0] in "[{"):
        raise found
    if len(_ARROW.split(text)) > 1:
        return _arrows(text)
    return _outline(text)


class _Part(NamedTuple):
    """A bracketed part of a text, how deeply its brackets are nested, and whether the last one closes."""

    text: str
    depth: int
    closed: bool


def _json_parts(text: str) -> Iterator[_Part]:
    """What stands between an opening bracket and the one that closes it, the outermost ones; brackets in quotes do not
    count. Square brackets count only at the beginning of the text: elsewhere they are words' own."""
    place = 0
    for _ in range(MOST_TRIES):
        start = text.find("{", place)
        if place == 0 and text[0] == "[":
            start = 0
        if start < 0:
            return
        opened, deepest, end = 0, 0, None
        for mark in _outside_strings(text, start):
            opened += 1 if mark[0] in "[{" else -1
            deepest = max(deepest, opened)
            if opened == 0:
                end = mark.end()
                break
        yield _Part(text[start:end], deepest, end is not None)
        if end is None:
            return
        place = end


def _outside_strings(text: str, start: int) -> Iterator[re.Match[str]]:
    place = start
    while (mark := _BRACKETS.search(text, place)) is not None:
        quote = text.find('"', place, mark.start())
        if quote >= 0:
            string = _STRING.match(text, quote)
            assert string is not None, "a quote begins a string, if only one that does not end"
            place = string.end()
            continue
        yield mark
        place = mark.end()


def _loaded(text: str) -> Any:
    """JSON, with the one liberty of a comma before a closing bracket."""
    try:
        return json_value(text)
    except Unreadable:
        pass
    try:
        return json_value(re.sub(r",(\s*[\]}])", r"\1", text))
    except Unreadable as error:
        raise Malformed("not_a_hierarchy", str(error)) from None


def _arrows(text: str) -> Gate:
    """Lines such as `All Events -> Singlets -> Live`, from the root down or link by link."""
    lines = [line for line in text.splitlines() if len(_ARROW.split(line)) > 1]
    chains = []
    for line in lines:
        marks = _MARKS.match(line)
        assert marks is not None, "every part of the pattern may be empty"
        names = [part.strip(" .`*") for part in _ARROW.split(marks["name"])]
        if not names[-1]:
            raise Malformed("truncated", f"a line ends with an arrow: {line[-60:]!r}")
        if any(len(name.split()) > MOST_WORDS for name in names):
            continue
        chains.append([gate_name(name) for name in names if name])
        if len(chains) > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} lines")
    if not chains:
        raise Malformed("not_a_hierarchy", "arrows, but between sentences and not gates")
    root = chains[0][0]
    if all(chain[0] == root for chain in chains):
        return _paths(chains)
    return from_links([pair for chain in chains for pair in itertools.pairwise(chain)])


def _paths(chains: list[list[str]]) -> Gate:
    """Paths from one root: a gate is known by its whole path, so that two may share a name."""
    tree: dict[str, Any] = {}
    for chain in chains:
        node = tree
        for name in chain:
            node = node.setdefault(name, {})
    return _guarded(tree)


def _outline(text: str) -> Gate:
    """An indented list: what stands further in lies below the nearest line before it that stands further out.

    Words before and after the list are left out: lines of more than MOST_WORDS words, and lines that end as sentences.
    """
    lines: list[tuple[int, str]] = []
    for raw in text.splitlines():
        marks = _MARKS.match(raw.expandtabs(4).rstrip())
        assert marks is not None, "every part of the pattern may be empty"
        name = marks["name"].strip(" *`_#").rstrip(":")
        if not name:
            continue
        bulleted = marks["mark"] is not None
        if len(name.split()) > MOST_WORDS or (not bulleted and name[-1] in ".?!,;"):
            if len(lines) > 1:
                break
            lines.clear()
            continue
        lines.append((len(marks["indent"]) + (len(marks["mark"]) if _drawn(marks["mark"]) else 0), gate_name(name)))
        if len(lines) > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} lines")
    if len(lines) < 2 or len({indent for indent, _ in lines}) < 2:
        raise Malformed("not_a_hierarchy", "neither JSON, nor an indented list, nor arrows")
    while len(lines) > 2 and lines[0][0] == lines[1][0] and all(indent >= lines[1][0] for indent, _ in lines[1:]):
        lines = lines[1:]  # a heading
    return _nested(lines)


def _drawn(mark: str | None) -> bool:
    """Whether it is a branch of a drawn tree, whose width is part of the indentation."""
    return mark is not None and mark[0] in "├└┣┗╰+`"


def _nested(lines: list[tuple[int, str]]) -> Gate:
    root: dict[str, Any] = {"name": lines[0][1], "children": []}
    path = [(lines[0][0], root)]
    for indent, name in lines[1:]:
        while path and path[-1][0] >= indent:
            path.pop()
        if not path:
            raise Malformed("not_a_hierarchy", f"a second root: {name!r}")
        made: dict[str, Any] = {"name": name, "children": []}
        path[-1][1]["children"].append(made)
        path.append((indent, made))
        if len(path) > MOST_LEVELS + 1:
            raise Malformed("too_deep", f"more than {MOST_LEVELS} levels")
    return _guarded(root)
