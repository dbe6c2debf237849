"""`undogmatic check FILE --explain`: how each column of a table was read, and why."""

from collections.abc import Sequence

from undogmatic.datasets.explain import ColumnRole
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.words import Words
from undogmatic.report.document import Table
from undogmatic.report.terminal import put_table
from undogmatic.safety.terminal import put

HEADERS = ("column", "role", "why", "otherwise")


def show(
    columns: Sequence[ColumnRole],
    question: ConfigError | DataError | None,
    words: Words,
) -> None:
    """Print each column with its role, why it has it and what else it may be, and the question that
    stands between the table and an answer, if there is one."""
    headers = [words.text(f"explain.header_{name}") for name in HEADERS]
    rows = [
        [
            each.name,
            words.text(f"explain.role.{each.role}"),
            words.text(f"explain.why.{each.why}"),
            ", ".join(each.otherwise),
        ]
        for each in columns
    ]
    put_table(Table(headers, rows, [False] * len(headers)))
    put([""])
    if question is not None:
        put(["", words.text("explain.doubt", question=str(question))])
