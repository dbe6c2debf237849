"""Explains how a table is read: the role of each column, why it has it, and what else it may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from undogmatic.datasets.columns import Columns, found_so_far
from undogmatic.datasets.contents import Contents
from undogmatic.datasets.doors import CHECK
from undogmatic.datasets.frames import Frame
from undogmatic.datasets.names import is_fact, is_measured, side_of
from undogmatic.datasets.roles import (
    CONFIDENCE,
    EVERY,
    GROUP,
    ITEM,
    JUDGE,
    LABEL,
    RATER,
    SYSTEM,
    TEXT,
    Role,
)
from undogmatic.datasets.scales import TableOptions
from undogmatic.datasets.table import columns_of
from undogmatic.errors import ConfigError, DataError

_ASKED = (JUDGE, LABEL, TEXT, ITEM, GROUP, RATER, SYSTEM, CONFIDENCE)
"""The roles that a column without one may be given."""


@dataclass(frozen=True)
class ColumnRole:
    """A column: its name, what it holds, the keys of the words for its role and for why, and what
    else it may be, as it is typed."""

    name: str
    holds: str
    role: str
    why: str
    otherwise: Sequence[str] = ()


def roles_of_columns(
    frames: Sequence[Frame], options: TableOptions
) -> tuple[list[ColumnRole], ConfigError | DataError | None]:
    """Each column of a table, and the question that stands between it and an answer, if there is
    one: the roles of columns are then told as far as names and contents tell."""
    try:
        cells, columns = columns_of(frames, options)
        doubt = None
    except (ConfigError, DataError) as error:
        doubt = error
        cells = pd.concat([frame.cells for frame in frames], ignore_index=True).astype(
            object
        )
        cells = cells.where(cells.notna(), None)
        columns = found_so_far(cells, options)
    contents = Contents(cells)
    typed = _typed(options)
    found = [_described(contents, columns, name, typed) for name in contents.names]
    return found, doubt


def _typed(options: TableOptions) -> set[str]:
    """The columns that somebody named."""
    many = (*options.judge, *options.human, *options.text, *options.system)
    names = [getattr(options, role.name, None) for role in EVERY]
    return {
        *many,
        *(name for name in (*names, options.verdict) if isinstance(name, str)),
    }


def _described(
    contents: Contents, columns: Columns, name: str, typed: set[str]
) -> ColumnRole:
    role = _role_of(columns, name)
    examples = ", ".join(contents.sample(name).examples())
    return ColumnRole(
        name,
        examples,
        role,
        _why(contents, name, role, name in typed),
        [CHECK.typed(other, name) for other in _others(contents, name, role)],
    )


def _role_of(columns: Columns, name: str) -> str:
    """The key of the role that a column has."""
    many = {
        "judge": columns.verdicts,
        "human": columns.labels,
        "text": columns.texts,
        "system": columns.systems,
        "setting": columns.settings,
        "remark": columns.remarks,
        "ignored": columns.others,
        "confidence": tuple(columns.confidences.values()),
    }
    for role, names in many.items():
        if name in names:
            return role
    if name == columns.judges:
        return "judges"
    single = ("criterion", "repeat", "order", "confidence", "rater", "group", "failed")
    for role in (ITEM.name, *single, "injected", "parent", "context"):
        if name == getattr(columns, role):
            return role
    return "slice"


def _why(contents: Contents, name: str, role: str, typed: bool) -> str:
    """The key of why a column has a role, or has none."""
    if typed:
        return "typed"
    if not contents.sample(name).said:
        return "empty"
    if role in ("judge", "human"):
        return "by_name" if side_of(name) is not None else "by_content"
    if role != "slice":
        return "by_name"
    reasons = {
        "measured": is_measured(name),
        "fact": is_fact(name),
        "no_value": not contents.is_value(name),
        "not_named": True,
    }
    return next(why for why, is_it in reasons.items() if is_it)


def _others(contents: Contents, name: str, role: str) -> list[Role]:
    """What else a column may be, by what it holds."""
    if not contents.sample(name).said or is_measured(name):
        return []
    is_value = contents.is_value(name) or contents.is_category(name)
    side = side_of(name)
    able = {
        JUDGE: is_value and side != -1 and role != "item",
        LABEL: is_value and side != 1 and role != "item",
        TEXT: contents.is_prose(name),
        ITEM: contents.identifies(name),
        GROUP: contents.repeats(name) and contents.is_names(name),
        RATER: contents.repeats(name) and contents.is_names(name),
    }
    own = {"judge": JUDGE, "human": LABEL}.get(role)
    return [
        each
        for each in _ASKED
        if able.get(each) and each is not own and each.name != role
    ][:3]
