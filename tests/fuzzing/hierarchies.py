"""The door of predicted hierarchies: what a model answered, in any form, up to the metrics and the
item."""

import json
from pathlib import Path
from typing import Any, get_args

from hypothesis import strategies as st

from tests.fuzzing import watched
from tests.fuzzing._values import ODD_TEXTS, odd, spoiled
from undogmatic.constructs.gating import hierarchy
from undogmatic.constructs.gating.dataset import GatingDataset
from undogmatic.constructs.gating.hierarchy import (
    Defect,
    Malformed,
    depth,
    names,
    outline,
    parse,
)
from undogmatic.constructs.gating.metrics import metrics
from undogmatic.errors import DataError

COUNT = 60
GOOD = {
    "name": "All Events",
    "children": [
        {
            "name": "Singlets",
            "is_critical": True,
            "children": [{"name": "Live cells", "children": [{"name": "CD3+"}]}],
        },
        {"name": "Time", "children": []},
    ],
}
ROWS = [
    {"name": "A", "parent": None},
    {"name": "B", "parent": "A"},
    {"name": "C", "parent": "B"},
]
TRUTH = parse(GOOD)
PANEL = ("CD3", "CD19")
PIECES = ("All Events", "\n", "\n  ", "\n    ", "- ", "├── ", "│   ", " → ", "\t")


def strategy() -> st.SearchStrategy[Any]:
    values = spoiled(GOOD) | spoiled(ROWS) | odd()
    texts = values.map(json.dumps)
    fenced = texts.map(lambda text: f"So:\n```json\n{text}\n```")
    cut = st.tuples(texts | fenced, st.integers(0, 400)).map(
        lambda pair: pair[0][: pair[1]]
    )
    pieces = st.sampled_from([*'Singlets Live -> ``` " { }'.split(), *PIECES])
    lines = st.lists(pieces | st.sampled_from(ODD_TEXTS), max_size=20).map("".join)
    return values | texts | fenced | cut | lines | st.text(max_size=60)


def enter(case: Any) -> None:
    """A hierarchy within its bounds whose metrics lie on 0-1, or one reason; and an item of a file,
    or one message."""
    with watched():
        try:
            found = parse(case)
        except Malformed as error:
            assert (
                error.defect in get_args(Defect)
                and str(error).startswith(error.defect)
                and len(str(error)) < 1000
            )
        else:
            assert (
                depth(found) <= hierarchy.MOST_LEVELS
                and len(names(found)) <= hierarchy.MOST_GATES
            )
            measured = metrics(found, TRUTH, PANEL)
            assert all(value is None or 0 <= value <= 1 for value in measured[:7])
            odd_names = [
                name
                for name in names(found)
                if len(name.split()) > 12 or name != name.strip(" *`_#-")
            ]
            if found.children and not odd_names:
                assert outline(found).count("\n") + 1 == len(names(found))
    _through_a_file(case)


def _through_a_file(case: Any) -> None:
    """The same as a line of a file of predictions."""
    try:
        line = json.dumps({"test_case_id": "c", "prediction": case})
        line.encode()
    except (UnicodeEncodeError, ValueError):
        return
    truth = {"test_case_id": "c", "panel": list(PANEL), "gating_hierarchy": GOOD}
    Path("ground_truth.jsonl").write_text(json.dumps(truth), encoding="utf-8")
    path = Path("predictions.jsonl")
    path.write_text(line, encoding="utf-8")
    with watched(str(path)):
        try:
            (item,) = GatingDataset(str(path)).load()
        except DataError as error:
            assert "predictions.jsonl:1" in str(error)
            raise
        assert (
            ("prediction" in item.inputs)
            is ("automatic_f1" in item.metadata)
            is ("defect" not in item.metadata)
        )


EXAMPLES = [
    '{"a":' * 50_000,
    "[" * 100_000,
    "{" * 100_000,
    "```" * 60_000,
    "->" * 90_000,
    " " * 190_000 + "->",
    "\n".join(" " * n + "x" for n in range(600)),
    '"' * 100_000 + "{",
    "{" + '"\\' * 90_000,
    "{}" * 90_000,
    "(" * 190_000 + " -> b",
    "A -> B\n" * 20_000,
    ", " * 90_000 + "{,",
    {"name": "(" * 150, "children": [{"name": ")" * 150}]},
    {"name": "a", "children": {"name": "b", "children": {"name": "a"}}},
    {"\0": {"\ud800": {}}},
    [[[]]],
]
