"""Prepares tables before their columns are recognised: names typed with commas between them, ids made of several
columns, and one criterion of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import fold
from undogmatic.datasets.columns import NAMES, tokens
from undogmatic.datasets.frames import Frame
from undogmatic.datasets.scales import TableOptions
from undogmatic.errors import ConfigError

SEVERAL = ("judge", "human", "text", "system")
"""Options that may name several columns."""


def parted(frames: Sequence[Frame], options: TableOptions) -> TableOptions:
    """The options with names that are separated by commas taken one by one, where nothing has the whole as its name:
    neither a column nor, of judges, what stands in a column."""

    def names(typed: str, option: str) -> Sequence[str]:
        known = any(fold(typed) == fold(str(name)) for frame in frames for name in frame.cells)
        if "," not in typed or known or (option == "judge" and any(typed in frame.cells.values for frame in frames)):
            return (typed,)
        return [name for part in typed.split(",") if (name := part.strip())]

    given = {option: getattr(options, option) for option in SEVERAL}
    return options.model_copy(
        update={o: tuple(n for one in typed for n in names(one, o)) for o, typed in given.items()}
    )


def with_ids(frames: Sequence[Frame], item: str | None) -> list[Frame]:
    """The frames with a column `item` whose ids are those of several columns joined by "/", where `item` names these,
    separated by commas. Raises ConfigError for a name that is no column of any frame."""
    columns = list(dict.fromkeys(str(name) for frame in frames for name in frame.cells))
    names = [] if item is None or item in columns else [name.strip() for name in item.split(",")]
    if len(names) < 2:
        return list(frames)
    if unknown := [name for name in names if name not in columns]:
        raise ConfigError(f"--item {item!r} names {unknown[0]!r}, which is no column. Columns: {', '.join(columns)}.")
    return [
        _with_id(frame, item or "", names) if set(names) <= set(map(str, frame.cells)) else frame for frame in frames
    ]


def _with_id(frame: Frame, item: str, names: Sequence[str]) -> Frame:
    parts = frame.cells[list(names)]
    whole = parts.iloc[:, 0].astype(str)
    for name in names[1:]:
        whole = whole + "/" + parts[name].astype(str)
    known = parts.notna().all(axis=1)
    return frame._replace(cells=frame.cells.assign(**{item: whole.astype(object).where(known, None)}))


def of_criterion(cells: pd.DataFrame, options: TableOptions) -> tuple[np.ndarray, TableOptions]:
    """Which rows are about the criterion that `--criterion` names, or about none, and the options with the column of
    criteria in its place; every row where `--criterion` names a column. Raises ConfigError that names the criteria."""
    typed, every = options.criterion, np.ones(len(cells), dtype=bool)
    columns = {" ".join(tokens(str(name))): str(name) for name in reversed(list(cells.columns))}
    if typed is None or fold(typed) in map(fold, columns.values()):
        return every, options
    column = next((columns[known] for known in NAMES["criterion"] if known in columns), None)
    if column is None:
        return every, options  # that it is no column is said where columns are looked for
    own = np.array([None if cell is None else str(cell) for cell in cells[column]], dtype=object)
    criteria = [name for name in dict.fromkeys(own) if name is not None]
    if typed not in criteria:
        listed = ", ".join(criteria[:12]) + (", ..." if len(criteria) > 12 else "")
        what = f"--criterion is {typed!r}, which is neither a column nor a criterion"
        raise ConfigError(f"{what}. Criteria in `{column}`: {listed}. Name one of them, or the column of criteria.")
    return np.array([name is None or name == typed for name in own]), options.model_copy(update={"criterion": column})
