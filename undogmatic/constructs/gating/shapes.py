"""JSON values and links between names as hierarchies: the shapes in which models and files write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from undogmatic.constructs.gating.tree import LONGEST_GATE, MOST_GATES, MOST_LEVELS, Gate, Malformed
from undogmatic.safety.outside import brief

NAME = ("name", "gate", "gate_name", "population", "label")
CHILDREN = ("children", "gates", "subgates", "sub_gates", "subpopulations", "populations")
WRAPPERS = ("gating_hierarchy", "hierarchy", "prediction", "gating_strategy", "gating_tree", "tree", "root", "result")
PARENT = ("parent", "parent_gate", "parent_name")
CRITICAL = "is_critical"
_HYPHENS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"))


def gate_name(given: Any) -> str:
    """A name on one line, with typographic hyphens as plain ones ("HLA‐DR" and "HLA-DR" are one marker). Raises
    Malformed where it is none."""
    if not isinstance(given, str) or not given.strip():
        raise Malformed("not_a_hierarchy", f"a gate's name is {brief(given, 60)}")
    name = " ".join(given.translate(_HYPHENS).split())
    if len(name) > LONGEST_GATE:
        raise Malformed("not_a_hierarchy", f"a gate's name has {len(name):,} characters: {brief(name, 60)}")
    if not name.isprintable():
        raise Malformed("not_a_hierarchy", f"a gate's name holds what cannot be printed: {brief(name, 60)}")
    return name


class _Counted:
    """Counts gates while they are made, so that what is absurdly wide is refused before it fills the memory."""

    def __init__(self) -> None:
        self.gates = 0

    def more(self) -> None:
        self.gates += 1
        if self.gates > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} gates")


def from_value(value: Any) -> Gate:
    """The hierarchy of a JSON value. Raises Malformed.

    Known shapes: {name, children}; such an object inside a wrapper ({"hierarchy": ...}); names as keys
    ({"All Events": {"Singlets": {}}}); a list of {name, parent}; and a list that holds one hierarchy.
    """
    value = _unwrapped(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(isinstance(each, Mapping) and _key(each, PARENT) is not None for each in value):
            return from_links([(each[str(_key(each, PARENT))], _named(each)) for each in value])
        if len(value) != 1:
            raise Malformed("not_a_hierarchy", f"a list of {len(value)} and not one root")
        value = value[0]
    if not isinstance(value, Mapping):
        raise Malformed("not_a_hierarchy", f"JSON, but {brief(value, 60)} and not an object of gates")
    counted = _Counted()
    if _key(value, NAME) is not None:
        return _object(value, (), counted)
    return _keyed(value, counted)


def _unwrapped(value: Any) -> Any:
    while isinstance(value, Mapping) and _key(value, NAME) is None:
        inner = [value[key] for key in WRAPPERS if isinstance(value.get(key), Mapping | list)]
        if not inner and set(value) <= set(CHILDREN):
            inner = [each for each in value.values() if isinstance(each, list)]
        if len(inner) != 1:
            break
        value = inner[0]
    return value


def _key(given: Mapping[str, Any], known: Sequence[str]) -> str | None:
    return next((key for key in known if key in given and not (known is NAME and isinstance(given[key], list))), None)


def _named(given: Mapping[str, Any]) -> Any:
    key = _key(given, NAME)
    if key is None:
        raise Malformed("not_a_hierarchy", f"a gate without a name: {brief(given, 60)}")
    return given[key]


def _object(given: Any, above: tuple[str, ...], counted: _Counted) -> Gate:
    counted.more()
    if isinstance(given, str):
        return Gate(_below(given, above))
    if not isinstance(given, Mapping):
        raise Malformed("not_a_hierarchy", f"a gate is {brief(given, 60)}")
    name = _below(_named(given), above)
    listed = given.get(str(_key(given, CHILDREN))) or ()
    if isinstance(listed, Mapping):
        listed = [listed] if _key(listed, NAME) is not None else None
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise Malformed("not_a_hierarchy", f"the gates below {brief(name, 60)} are no list")
    critical = given.get(CRITICAL)
    below = tuple(_object(each, (*above, name), counted) for each in listed)
    return Gate(name, below, critical if isinstance(critical, bool) else None)


def _keyed(given: Mapping[str, Any], counted: _Counted) -> Gate:
    """Names as keys, each with an object, a list of names or nothing below it."""
    if len(given) != 1:
        raise Malformed("not_a_hierarchy", f"an object with {len(given)} keys and not one root: {brief([*given], 60)}")

    def made(name: str, inside: Any, above: tuple[str, ...]) -> Gate:
        counted.more()
        own = _below(name, above)
        if inside is None or inside in ("", [], {}):
            return Gate(own)
        if isinstance(inside, str):
            return Gate(own, (made(inside, None, (*above, own)),))
        if isinstance(inside, Mapping):
            return Gate(own, tuple(made(key, value, (*above, own)) for key, value in inside.items()))
        if isinstance(inside, list):
            return Gate(own, tuple(_listed(each, (*above, own)) for each in inside))
        raise Malformed("not_a_hierarchy", f"below {brief(own, 60)} stands {brief(inside, 60)}")

    def _listed(each: Any, above: tuple[str, ...]) -> Gate:
        if isinstance(each, Mapping) and _key(each, NAME) is None:
            if len(each) != 1:
                raise Malformed("not_a_hierarchy", f"a gate without a name: {brief(each, 60)}")
            ((key, value),) = each.items()
            return made(key, value, above)
        return _object(each, above, counted)

    ((root, inside),) = given.items()
    if not isinstance(inside, Mapping | list):
        raise Malformed("not_a_hierarchy", f"an object with the key {brief(root, 60)} and nothing below it")
    return made(root, inside, ())


def _below(given: Any, above: tuple[str, ...]) -> str:
    name = gate_name(given)
    if len(above) > MOST_LEVELS:
        raise Malformed("too_deep", f"more than {MOST_LEVELS} levels")
    if name.casefold() in (each.casefold() for each in above):
        raise Malformed("cyclic", f"{brief(name, 60)} stands below itself")
    return name


def from_links(links: Iterable[tuple[Any, Any]]) -> Gate:
    """The hierarchy of (parent, gate) pairs by name; a parent that is None or empty makes a root. Raises Malformed.

    A gate that is linked to two parents is refused: which of them is meant cannot be known.
    """
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for parent, gate in links:
        name = gate_name(gate)
        own = above.setdefault(name, [])
        if parent is None or (isinstance(parent, str) and not parent.strip()):
            continue
        over = gate_name(parent)
        above.setdefault(over, [])
        if over not in own:
            own.append(over)
            below.setdefault(over, []).append(name)
        if len(above) > MOST_GATES:
            raise Malformed("too_wide", f"more than {MOST_GATES:,} gates")
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        raise Malformed(
            "cyclic", f"the gates run in a ring: {brief(' -> '.join(reversed(error.args[1])), 80)}"
        ) from None
    if twice := next((name for name, parents in above.items() if len(parents) > 1), None):
        raise Malformed("not_a_hierarchy", f"{brief(twice, 60)} stands below two gates")
    roots = [name for name, parents in above.items() if not parents]
    if len(roots) != 1:
        raise Malformed("not_a_hierarchy", f"{len(roots)} gates without one above them: {brief(roots, 80)}")

    def made(name: str, over: tuple[str, ...]) -> Gate:
        return Gate(_below(name, over), tuple(made(each, (*over, name)) for each in below.get(name, ())))

    return made(roots[0], ())
