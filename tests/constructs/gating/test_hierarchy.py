"""Answers as hierarchies: every form is read alike, and what is no hierarchy is named as what it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import reference_rows
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
BROKEN: dict[str, list[Any]] = {
    "empty": ["", " \n\t", None, "```json\n\n```"],
    "truncated": [
        *(json.dumps(as_json(TREE))[:-9], f"```json\n{json.dumps(as_json(TREE), indent=2)[:80]}", f"```\n{DRAWN}"),
        *('{"name": "All Ev', "All Events -> Singlets ->"),
    ],
    "cyclic": [
        *("A -> B\nB -> C\nC -> A", "All -> A\nA -> B\nB -> A"),
        '{"name": "A", "children": [{"name": "B", "children": [{"name": "a"}]}]}',
        '[{"name": "A", "parent": "B"}, {"name": "B", "parent": "A"}]',
    ],
    "too_deep": [
        *(deep(MOST_LEVELS + 1), json.dumps(deep(300)), '{"a":' * 5000),
        outline(parse(deep(MOST_LEVELS))) + "\n" + "  " * 50 + "x",
    ],
    "too_wide": [WIDE, json.dumps(WIDE), "a\n" + "  b\n" * (MOST_GATES + 1), "x" * 300_000],
    "not_a_hierarchy": [
        *("I cannot tell from this panel.", "T cells", "T cells\nB cells\nNK cells"),
        *("A -> B\nC -> B", "null", "[1, 2]"),
        *('{"a": 1}', '{"name": 7, "children": []}', '{"name": "a", "children": "b"}'),
        *('{"name": "a", "children": [{"children": []}]}', {"error": "refused"}, 7),
    ],
}
EACH = [(defect, given) for defect in BROKEN for given in BROKEN[defect]]


@pytest.mark.parametrize(("defect", "given"), EACH, ids=range(len(EACH)))
def test_what_is_no_hierarchy_is_named_as_what_it_is(defect: str, given: Any) -> None:
    with pytest.raises(Malformed) as raised:
        parse(given)
    assert raised.value.defect == defect
    assert str(raised.value).startswith(f"{defect}: ") and len(str(raised.value)) < 400


def test_at_its_limits_a_hierarchy_is_read_with_flags_kept_and_hyphens_alike() -> None:
    assert depth(parse(deep(MOST_LEVELS))) == MOST_LEVELS
    WIDEST = {"name": "a", "children": [{"name": str(n)} for n in range(MOST_GATES - 1)]}
    assert len(names(parse(json.dumps(WIDEST)))) == MOST_GATES
    assert names(parse({"name": "HLA\u2010DR+", "children": ["CD45\u2013"]})) == ["HLA-DR+", "CD45-"]
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
    for row in reference_rows("flow/predictions.jsonl"):
        text, tree = json.dumps(row["prediction"]), parse(row["prediction"])
        assert len(names(tree)) == text.count('"name"')
        fenced = f"I see.\n```json\n{json.dumps(row['prediction'], indent=1)}\n```\nDone."
        assert all(parse(form) == tree for form in (text, fenced, outline(tree), "\n".join(arrows(tree))))
