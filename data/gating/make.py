"""Write ground_truth.jsonl and predictions.jsonl from cases.yaml: `python -m data.gating.make`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
Node = dict[str, Any]
"""{"name", "children"}, and in the truth "is_critical"."""


def main() -> None:
    """Both files anew."""
    truths, predictions = made(
        yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))
    )
    for name, rows in (("ground_truth", truths), ("predictions", predictions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (HERE / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def made(
    cases: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of both files."""
    truths, predictions = [], []
    for case in cases:
        truth = read(case["truth"])
        panel = [{"marker": marker} for marker in case["panel"]]
        about = {"test_case_id": case["id"]}
        truths.append(
            about
            | {"context": case["context"], "panel": panel, "gating_hierarchy": truth}
        )
        for given in case["predictions"]:
            row = {"id": f"{case['id']}/{given['condition']}"} | about
            predictions.append(
                row
                | {
                    "condition": given["condition"],
                    "prediction": predicted(truth, given),
                }
            )
    return truths, predictions


def read(outline: str) -> Node:
    """An outline as a tree; a * after a name marks a critical gate."""
    path: list[Node] = []
    for line in outline.splitlines():
        name = line.strip()
        node = {
            "name": name.rstrip("*"),
            "is_critical": name.endswith("*"),
            "children": [],
        }
        del path[(len(line) - len(line.lstrip())) // 2 :]
        if path:
            path[-1]["children"].append(node)
        path.append(node)
    return path[0]


def predicted(truth: Node, given: Mapping[str, Any]) -> str:
    """The answer: the truth, changed and written as `given` says."""
    if "raw" in given:
        return str(given["raw"])
    if "deep" in given:
        node: Node = {"name": f"Gate {given['deep']}", "children": []}
        for n in range(given["deep"] - 1, 0, -1):
            node = {"name": f"Gate {n}", "children": [node]}
        return json.dumps(node)
    root = _plain(truth)
    for name in given.get("drop", ()):
        parent, place = _find(root, name)
        del parent["children"][place]
    for name in given.get("skip", ()):
        parent, place = _find(root, name)
        parent["children"][place : place + 1] = parent["children"][place]["children"]
    for name, target in given.get("move", {}).items():
        parent, place = _find(root, name)
        node = parent["children"].pop(place)
        _node(root, target)["children"].append(node)
    for name, gates in given.get("add", {}).items():
        _node(root, name)["children"] += [
            {"name": gate, "children": []} for gate in gates
        ]
    for name, other in given.get("rename", {}).items():
        _node(root, name)["name"] = other
    if "cut" in given:
        text = json.dumps(root, ensure_ascii=False)
        return text[: int(given["cut"] * len(text))]
    return FORMS[given["form"]](root)


def _plain(node: Node) -> Node:
    return {
        "name": node["name"],
        "children": [_plain(child) for child in node["children"]],
    }


def _node(root: Node, name: str) -> Node:
    if root["name"] == name:
        return root
    parent, place = _find(root, name)
    found: Node = parent["children"][place]
    return found


def _find(root: Node, name: str) -> tuple[Node, int]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for place, child in enumerate(node["children"]):
            if child["name"] == name:
                return node, place
        waiting += node["children"]
    raise SystemExit(f"cases.yaml: no gate {name!r} below {root['name']!r}")


def _json(root: Node) -> str:
    return json.dumps(root, ensure_ascii=False)


def _fenced(root: Node) -> str:
    return f"```json\n{json.dumps(root, ensure_ascii=False, indent=2)}\n```"


def _prose(root: Node) -> str:
    before, after = (
        "I gate from clean events to subsets, as the panel allows.",
        "Every gate uses markers of the panel.",
    )
    return f"{before}\n\n{_json(root)}\n\n{after}"


def _outline(root: Node, level: int = 0) -> str:
    return "\n".join(
        [
            f"{'  ' * level}- {root['name']}",
            *(_outline(child, level + 1) for child in root["children"]),
        ]
    )


def _arrows(root: Node, above: tuple[str, ...] = ()) -> str:
    path = (*above, root["name"])
    return (
        "\n".join([_arrows(child, path) for child in root["children"]])
        if root["children"]
        else " -> ".join(path)
    )


FORMS = {
    "json": _json,
    "fenced": _fenced,
    "outline": _outline,
    "arrows": _arrows,
    "prose_json": _prose,
}


if __name__ == "__main__":
    main()
