"""Reads columns in which the answers of a model stand as it gave them: JSON, a fence, reasoning and
then a score, "Score: 4". Such a column becomes the verdicts that its answers state, and a note says
so; a column of texts stays what it is.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from undogmatic.datasets.cells import read_cell
from undogmatic.datasets.names import side_of, tokens
from undogmatic.datasets.roles import TEXT
from undogmatic.records.answers import is_raw, verdicts_of
from undogmatic.records.results import Finding
from undogmatic.safety.outside import brief

_LOOKED_AT = 50
_MOST = 0.5
"""The share of the filled cells that must be raw answers, and of these that must state a verdict,
for a column to be one of answers."""
_MOST_WORDS = 20
"""So many different words a column of verdicts has at most: more are what the texts are about."""
_MOST_CRITERIA = 12
_ANSWERS = re.compile(
    r"[\"'](?:score|rating|grade|verdict|judge?ment|winner|preference|decision|label|nota|veredito"
    r"|reason|reasoning|rationale|explanation|justification|justificativa)s?[\"']\s*:"
    r"|\b(?:score|rating|grade|verdict|judge?ment|winner|preference|decision|nota|veredito)\b"
    r"|\[\[|^\s*<think",
    re.IGNORECASE,
)
"""What an answer about a text says of itself, and a text that happens to be JSON does not."""

Columns = Mapping[str, Sequence[Any]]


def read_raw(cells: pd.DataFrame, file: str) -> tuple[pd.DataFrame, list[Finding]]:
    """The cells with the verdicts in place of raw answers, and what is to be said of it. Several
    verdicts in each answer become a column each, `COLUMN.criterion`. Answers that say what another
    column holds already are that column's, and left out."""
    notes = list[Finding]()
    found: dict[str, Columns] = {}
    for name in map(str, cells.columns):
        # A text that is judged may well be JSON, or speak of a score.
        if " ".join(tokens(name)) in TEXT.names:
            continue
        column = cells[name].tolist()
        # Reading all cells of a long column for verdicts takes long; a sample tells most columns
        # apart.
        if not _holds_answers(column):
            continue
        said, n_silent = _verdicts(name, column)
        if said is None:
            continue
        found[name] = said
        values = {"file": file, "column": name, "n": sum(v is not None for v in column)}
        twin = _twin(said, cells, name)
        if twin is not None:
            found[name] = {}
            notes.append(Finding("table.raw_twin", {**values, "other": twin}))
            continue
        example = next(str(v) for v in column if isinstance(v, str) and is_raw(v))
        key = "table.raw_answers" if len(said) == 1 else "table.raw_criteria"
        names = [f"`{one}`" for one in said]
        facts = {"names": names, "example": brief(example, 60), "silent": n_silent}
        notes.append(Finding(key, {**values, **facts}))
    if not found:
        return cells, notes
    columns: dict[str, Any] = {}
    for name in map(str, cells.columns):
        for new, held in (
            found[name].items() if name in found else ((name, cells[name]),)
        ):
            columns[new] = pd.Series(list(held), dtype=object)
    return pd.DataFrame(columns), notes


def _holds_answers(column: Sequence[Any]) -> bool:
    sample = [cell for cell in column if cell is not None][:_LOOKED_AT]
    raw = [c for c in sample if isinstance(c, str) and is_raw(c) and _ANSWERS.search(c)]
    return bool(raw) and len(raw) >= _MOST * len(sample)


def _verdicts(name: str, column: Sequence[Any]) -> tuple[Columns | None, int]:
    """What the answers of a column say, by the names of the new columns, and how many of them say
    nothing; None where the column is one of texts after all."""
    read: dict[Any, dict[str | None, Any]] = {None: {}}
    for cell in column:
        # Answers come again, and reading one is far slower than looking it up.
        if cell not in read:
            read[cell] = verdicts_of(cell) if isinstance(cell, str) else {None: cell}
    told = [read[cell] for cell in column]
    filled = sum(cell is not None for cell in column)
    n_said = sum(bool(one) for one in told)
    if n_said < _MOST * filled:
        return None, 0
    counted = Counter(key for one in told for key in one)
    # Under None stands a verdict on the whole, under other keys that on a criterion.
    whole = counted[None] >= _MOST * n_said
    criteria = [
        key for key, n in counted.items() if key is not None and n >= _MOST * n_said
    ]
    if whole or not criteria or len(criteria) > _MOST_CRITERIA:
        verdicts = [_plain(one.get(None)) for one in told]
        if not whole or not _is_judging(verdicts):
            return None, 0
        return {name: verdicts}, filled - sum(v is not None for v in verdicts)
    columns = {
        f"{name}.{key}": [_plain(one.get(key)) for one in told] for key in criteria
    }
    kept = {new: values for new, values in columns.items() if _is_judging(values)}
    return (kept or None), filled - n_said


def _is_judging(values: Collection[Any]) -> bool:
    """Whether values are numbers, or words of which there are few."""
    said = [value for value in values if value is not None]
    words = {
        str(v).casefold() for v in said if read_cell(v).number != read_cell(v).number
    }
    return bool(said) and len(words) <= min(_MOST_WORDS, max(2, len(said) // 2))


def _plain(value: Any) -> Any:
    # true and not Python's True, as it stood in the answer.
    return json.dumps(value) if isinstance(value, bool) else value


def _twin(said: Columns, cells: pd.DataFrame, own: str) -> str | None:
    """Another column of a judge that holds exactly what these answers say. A column of people may,
    too, and then the judge agrees with them in all items."""
    if len(said) != 1:
        return None
    (verdicts,) = said.values()
    ours = [_key(value) for value in verdicts]
    sides = {name: side_of(name) for name in map(str, cells.columns) if name != own}
    # Without a column of people, one that may be either's is more likely the people's.
    judges = (1, 0) if -1 in sides.values() else (1,)
    for name, side in sides.items():
        if side not in judges:
            continue
        theirs = [_key(value) for value in cells[name]]
        pairs = zip(ours, theirs, strict=True)
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        # Two judges that say one word throughout would be twins by accident.
        if both and all(a == b for a, b in both) and len(set(ours) - {None}) > 1:
            return name
    return None


def _key(value: Any) -> str | None:
    """A value as it is compared: 4, "4.0" and "**4**" are the same."""
    cell = read_cell(value)
    return cell.word
