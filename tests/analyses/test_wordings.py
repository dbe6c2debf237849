"""Every finding that an analysis can make has words, and no wording is left over."""

from __future__ import annotations

import ast
from pathlib import Path

import undogmatic.analyses
from undogmatic.analyses import ruling
from undogmatic.records.wordings import read

FOLDER = Path(undogmatic.analyses.__path__[0])
NOT_FINDINGS = ("question", "title", "names", "metrics")


def keys_in_code() -> tuple[set[str], set[str]]:
    """First arguments of `Finding(...)`: whole keys, and beginnings of keys that end in a value."""
    whole, beginnings = set(), set()
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
    sections = tuple({f"{key.partition('.')[0]}." for key in wordings()})
    return {k for k in whole if k.startswith(sections)}, {b for b in beginnings if b.startswith(sections) and "_" in b}


def wordings() -> set[str]:
    """The keys of the findings' wordings beside the analyses."""
    return {
        f"{section}.{key}"
        for path in FOLDER.glob("*.texts.yaml")
        for section, texts in read(path)["en"].items()
        for key in texts
        if key not in NOT_FINDINGS and not key.startswith(("caption_", "table_"))
    }


def ruled() -> set[str]:
    """The keys of the rules of all verdicts."""
    tables = [table for table in vars(ruling).values() if isinstance(table, ruling.Rules) and table.prefix]
    return {f"{table.prefix}{rule.key}" for table in tables for rule in table.rules}


def finding_keys() -> set[str]:
    """Keys that are the first argument of a `Finding(...)` in the code, as far as they are written out."""
    found = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                first = node.args[0]
                branches = (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)
                found |= {str(b.value) for b in branches if isinstance(b, ast.Constant)}
    return found


def test_every_finding_in_the_code_has_words() -> None:
    assert len(finding_keys()) > 40
    assert finding_keys() | ruled() <= wordings()


def test_no_wording_is_left_over() -> None:
    whole, beginnings = keys_in_code()
    unused = {k for k in wordings() if k not in whole | ruled() and not k.startswith(tuple(beginnings))}
    assert not unused
