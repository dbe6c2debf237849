"""Answers as hierarchies: every form is read alike, and what is no hierarchy is named as what it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import reference
from undogmatic.constructs.gating.hierarchy import (
    MOST_GATES,
    MOST_LEVELS,
    Gate,
    Malformed,
    depth,
    names,
    outline,
    parse,
)

TREE = Gate("All Events", (Gate("Singlets", (Gate("Live cells", (Gate("T cells"), Gate("B cells"))),)), Gate("Time")))


def as_json(gate: Gate, **other: str) -> dict[str, Any]:
    keys = {"name": "name", "children": "children"} | other
    return {keys["name"]: gate.name, keys["children"]: [as_json(child, **other) for child in gate.children]}


def keyed(gate: Gate) -> dict[str, Any]:
    return {gate.name: {key: value for child in gate.children for key, value in keyed(child).items()}}


def arrows(gate: Gate, above: tuple[str, ...] = ()) -> list[str]:
    path = (*above, gate.name)
    return [line for child in gate.children for line in arrows(child, path)] or [" -> ".join(path)]


def links(gate: Gate) -> list[str]:
    return [line for child in gate.children for line in (f"{gate.name} → {child.name}", *links(child))]


BULLETS = "\n".join(
    f"{line[: len(line) - len(line.lstrip())]}- **{line.strip()}**" for line in outline(TREE).splitlines()
)
DRAWN = """All Events
├── Singlets
│   └── Live cells
│       ├── T cells
│       └── B cells
└── Time"""
FORMS = {
    "object": as_json(TREE),
    "json": json.dumps(as_json(TREE)),
    "fenced": f"```json\n{json.dumps(as_json(TREE), indent=2)}\n```",
    "fence that does not end": f"```json\n{json.dumps(as_json(TREE))}",
    "among words": f"Step {{1}}: clean.\n\n{json.dumps(as_json(TREE))}\n\nThat is [all] of it.",
    "other keys": json.dumps({"gating_hierarchy": as_json(TREE, name="gate", children="subpopulations")}),
    "names as keys": json.dumps({"hierarchy": keyed(TREE)}),
    "comma too many": json.dumps(as_json(TREE)).replace("]}]", "],}]"),
    "rows": json.dumps(
        [{"name": "All Events", "parent": None}]
        + [{"name": n, "parent": p} for n, p in (("Singlets", "All Events"), ("Live cells", "Singlets"))]
        + [{"name": n, "parent": p} for n, p in (("T cells", "Live cells"), ("B cells", "Live cells"))]
        + [{"name": "Time", "parent": "All Events"}]
    ),
    "outline": outline(TREE),
    "bullets": f"My strategy:\n\n{BULLETS}\n\nI hope that this helps.",
    "tabs": outline(TREE).replace("  ", "\t"),
    "drawn": DRAWN,
    "fenced drawing": f"```\n{DRAWN}\n```",
    "paths": "\n".join(arrows(TREE)),
    "links": "\n".join(links(TREE)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_hierarchy(form: str) -> None:
    assert parse(FORMS[form]) == TREE


def deep(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"name": str(levels), "children": []}
    for n in range(levels - 1, -1, -1):
        node = {"name": str(n), "children": [node]}
    return node


WIDE = {"name": "a", "children": [{"name": str(n)} for n in range(MOST_GATES)]}
BROKEN: list[tuple[Any, str]] = [
    ("", "empty"),
    (" \n\t", "empty"),
    (None, "empty"),
    ("```json\n\n```", "empty"),
    (json.dumps(as_json(TREE))[:-9], "truncated"),
    (f"```json\n{json.dumps(as_json(TREE), indent=2)[:80]}", "truncated"),
    (f"```\n{DRAWN}", "truncated"),
    ('{"name": "All Ev', "truncated"),
    ("All Events -> Singlets ->", "truncated"),
    ("A -> B\nB -> C\nC -> A", "cyclic"),
    ("All -> A\nA -> B\nB -> A", "cyclic"),
    ('{"name": "A", "children": [{"name": "B", "children": [{"name": "a"}]}]}', "cyclic"),
    ('[{"name": "A", "parent": "B"}, {"name": "B", "parent": "A"}]', "cyclic"),
    (deep(MOST_LEVELS + 1), "too_deep"),
    (json.dumps(deep(300)), "too_deep"),
    ('{"a":' * 5000, "too_deep"),
    (outline(parse(deep(MOST_LEVELS))) + "\n" + "  " * 50 + "x", "too_deep"),
    (WIDE, "too_wide"),
    (json.dumps(WIDE), "too_wide"),
    ("a\n" + "  b\n" * (MOST_GATES + 1), "too_wide"),
    ("x" * 300_000, "too_wide"),
    ("I cannot tell from this panel.", "not_a_hierarchy"),
    ("T cells", "not_a_hierarchy"),
    ("T cells\nB cells\nNK cells", "not_a_hierarchy"),
    ("A -> B\nC -> B", "not_a_hierarchy"),
    ("null", "not_a_hierarchy"),
    ("[1, 2]", "not_a_hierarchy"),
    ('{"a": 1}', "not_a_hierarchy"),
    ('{"name": 7, "children": []}', "not_a_hierarchy"),
    ('{"name": "a", "children": "b"}', "not_a_hierarchy"),
    ('{"name": "a", "children": [{"children": []}]}', "not_a_hierarchy"),
    ({"error": "refused"}, "not_a_hierarchy"),
    (7, "not_a_hierarchy"),
]


@pytest.mark.parametrize(("given", "defect"), BROKEN, ids=range(len(BROKEN)))
def test_what_is_no_hierarchy_is_named_as_what_it_is(given: Any, defect: str) -> None:
    with pytest.raises(Malformed) as raised:
        parse(given)
    assert raised.value.defect == defect
    assert str(raised.value).startswith(f"{defect}: ") and len(str(raised.value)) < 400


def test_a_hierarchy_at_the_limits_is_read() -> None:
    assert depth(parse(deep(MOST_LEVELS))) == MOST_LEVELS
    WIDEST = {"name": "a", "children": [{"name": str(n)} for n in range(MOST_GATES - 1)]}
    assert len(names(parse(json.dumps(WIDEST)))) == MOST_GATES


def test_hyphens_that_only_look_different_are_one() -> None:
    assert names(parse({"name": "HLA\u2010DR+", "children": ["CD45\u2013"]})) == ["HLA-DR+", "CD45-"]


def test_flags_of_critical_gates_are_kept() -> None:
    found = parse({"name": "All", "is_critical": True, "children": [{"name": "A", "is_critical": False}, "B"]})
    assert [found.critical, *(child.critical for child in found.children)] == [True, False, None]


TREES = st.recursive(st.just(()), lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=12)


def named(shape: Any, path: str = "Gate") -> Gate:
    return Gate(path, tuple(named(inner, f"{path}.{n}") for n, inner in enumerate(shape, 1)))


@given(TREES)
def test_whatever_is_written_as_json_outline_or_paths_is_read_back(shape: Any) -> None:
    tree = named(shape)
    assert parse(as_json(tree)) == parse(json.dumps(as_json(tree))) == tree
    if tree.children:
        assert parse(outline(tree)) == parse("\n".join(arrows(tree))) == tree


@given(TREES, st.floats(0.05, 0.99))
def test_json_that_is_cut_off_is_never_a_smaller_hierarchy(shape: Any, share: float) -> None:
    text = json.dumps(as_json(named(shape)))
    with pytest.raises(Malformed):
        parse(text[: int(share * len(text))])


def test_every_reference_prediction_is_read_in_four_forms() -> None:
    for line in reference("flow/predictions.jsonl").read_text(encoding="utf-8").splitlines():
        given = json.loads(line)["prediction"]
        tree = parse(given)
        assert len(names(tree)) == json.dumps(given).count('"name"')
        fenced = f"I see.\n```json\n{json.dumps(given, indent=1)}\n```\nDone."
        assert (
            parse(json.dumps(given)) == parse(fenced) == parse(outline(tree)) == parse("\n".join(arrows(tree))) == tree
        )
