"""A table of cases, and a table of their summaries, as a dataset."""

from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from tests.fuzzing._values import lines, named_or_writable
from tests.fuzzing.jsonl import odd
from undogmatic.constructs.faithfulness.cases import CasesDataset

COLUMNS = (
    "case",
    "document",
    "reference",
    "split",
    "system",
    "model",
    "text",
    "metadata",
    "x",
)
NAMES = (
    "A",
    "A/b",
    "a.md",
    "b.txt",
    "../a.md",
    ".",
    "~",
    "~nobody/a.md",
    "/dev/zero",
    "a.md\n",
    "\0",
    "x" * 3000,
)


class Case(NamedTuple):
    """What stands in the one table or the other, the other being a good one."""

    summaries: bool
    content: bytes


def strategy() -> st.SearchStrategy[Case]:
    cells = st.sampled_from(NAMES) | odd
    row = st.dictionaries(
        st.sampled_from(COLUMNS) | st.text(max_size=5), cells, max_size=6
    )
    filled = row.map(
        lambda found: (
            {"case": "A", "text": "t", "reference": "r", "document": "a.md"} | found
        )
    )
    table = st.lists(filled | row, min_size=1, max_size=4)
    return st.builds(Case, st.booleans(), table.map(lines) | st.binary(max_size=100))


def enter(case: Case) -> None:
    """The table is read: items that can be written everywhere, or one message with file and
    line."""
    Path("a.md").write_text("The document.", encoding="utf-8")
    Path("b.txt").write_text("The reference.", encoding="utf-8")
    path, other = Path("fuzzed.jsonl"), Path("good.jsonl")
    path.write_bytes(case.content)
    rows = [
        {"case": name, "document": "a.md", "reference": "b.txt"} for name in ("A", "b")
    ]
    other.write_bytes(lines(rows))
    files = (other, path) if case.summaries else (path,)
    named_or_writable(path, lambda: CasesDataset(*map(str, files), split="all").load())


def _lines(*rows: object) -> bytes:
    return lines(rows)


EXAMPLES: list[Case] = [
    Case(False, b""),
    Case(True, b""),
    Case(False, b"[1]"),
    Case(False, _lines({"case": True, "document": "a.md", "reference": "r"})),
    Case(
        False,
        _lines({"case": 7, "document": "a.md", "reference": "b.txt"}, {"case": "7"}),
    ),
    Case(False, _lines({"case": "A", "document": "/dev/zero", "reference": "r"})),
    Case(False, _lines({"case": "A", "document": "x" * 5000, "reference": "r"})),
    Case(
        False, _lines({"case": "A", "document": "~nobody/a.md", "reference": "\0.txt"})
    ),
    Case(
        False,
        _lines(
            {"case": "A", "document": "a.md", "reference": "r\nb.txt", "split": [1]}
        ),
    ),
    Case(False, _lines({"case": "x" * 1001, "document": "a.md", "reference": "r"})),
    Case(
        True,
        _lines(
            {"case": "A", "system": "b/c", "text": "t"},
            {"case": "A", "model": "c", "text": "\ud800"},
        ),
    ),
    Case(True, _lines({"case": "A", "system": "a\nb", "text": "t"})),
    Case(
        True,
        _lines(
            {"case": "A", "text": "t", "document_sha256": 1, "case ": {"a": [1e300]}}
        ),
    ),
    Case(True, _lines({"case": "A", "text": ["t"]}, {"case": "b", "text": "\0"})),
]
