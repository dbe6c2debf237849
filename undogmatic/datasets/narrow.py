"""Prepares tables before their columns are recognised: names typed with commas between them, ids
made of several columns, one criterion of several; files that are joined, and columns of criteria
made rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import fold
from undogmatic.datasets.doors import Door
from undogmatic.datasets.frames import Frame, column_of
from undogmatic.datasets.roles import CRITERION, FAILED, ITEM, JUDGE, REPEAT, SYSTEM
from undogmatic.datasets.scales import TableOptions
from undogmatic.errors import ConfigError
from undogmatic.records.records import as_text

SEVERAL = ("judge", "human", "text", "system")
"""Options that may name several columns."""
VERDICTS = "verdict"
"""The column of verdicts in a table whose criteria were made rows."""


def parted(frames: Sequence[Frame], options: TableOptions) -> TableOptions:
    """The options with names that are separated by commas taken one by one, where nothing has the
    whole as its name: neither a column nor, of judges, what stands in a column."""

    def names(typed: str, option: str) -> Sequence[str]:
        known = any(
            fold(typed) == fold(str(name)) for frame in frames for name in frame.cells
        )
        if (
            "," not in typed
            or known
            or (
                option == "judge"
                and any(typed in frame.cells.values for frame in frames)
            )
        ):
            return (typed,)
        return [name for part in typed.split(",") if (name := part.strip())]

    given = {option: getattr(options, option) for option in SEVERAL}
    return options.model_copy(
        update={
            o: tuple(n for one in typed for n in names(one, o))
            for o, typed in given.items()
        }
    )


def with_ids(frames: Sequence[Frame], item: str | None, door: Door) -> list[Frame]:
    """The frames with a column `item` whose ids are those of several columns joined by "/", where
    `item` names these, separated by commas. Raises ConfigError for a name that is no column of any
    frame."""
    columns = list(dict.fromkeys(str(name) for frame in frames for name in frame.cells))
    names = (
        []
        if item is None or item in columns
        else [name.strip() for name in item.split(",")]
    )
    if len(names) < 2:
        return list(frames)
    if unknown := [name for name in names if name not in columns]:
        raise ConfigError(
            f"{door.typed(ITEM, item or '')} names {unknown[0]!r}, which is no column. Columns:"
            f" {', '.join(columns)}."
        )
    return [
        _with_id(frame, item or "", names)
        if set(names) <= set(map(str, frame.cells))
        else frame
        for frame in frames
    ]


def _with_id(frame: Frame, item: str, names: Sequence[str]) -> Frame:
    parts = frame.cells[list(names)]
    whole = parts.iloc[:, 0].astype(str)
    for name in names[1:]:
        whole = whole + "/" + parts[name].astype(str)
    # An id of which a part is missing would be that of every such row.
    known = parts.notna().all(axis=1)
    return frame._replace(
        cells=frame.cells.assign(**{item: whole.astype(object).where(known, None)})
    )


def of_criterion(
    cells: pd.DataFrame, options: TableOptions, door: Door
) -> tuple[np.ndarray, TableOptions]:
    """Which rows are about the criterion that the options name, or about none, and the options
    with the column of criteria in its place; every row where they name a column. Raises ConfigError
    that names the criteria.
    """
    typed, every = options.criterion, np.ones(len(cells), dtype=bool)
    if typed is None or fold(typed) in (fold(str(name)) for name in cells.columns):
        return every, options
    column = column_of(cells, CRITERION)
    if column is None:
        # that it is no column is said where columns are looked for
        return every, options
    own = np.array(
        [None if cell is None else str(cell) for cell in cells[column]], dtype=object
    )
    criteria = [name for name in dict.fromkeys(own) if name is not None]
    if typed not in criteria:
        listed = ", ".join(criteria[:12]) + (", ..." if len(criteria) > 12 else "")
        option = door.option(CRITERION)
        what = f"{option} is {typed!r}, which is neither a column nor a criterion"
        raise ConfigError(
            f"{what}. Criteria in `{column}`: {listed}. Name one of them, or the column of"
            " criteria."
        )
    return np.array(
        [name is None or name == typed for name in own]
    ), options.model_copy(update={"criterion": column})


class Keys(NamedTuple):
    """The columns that say which verdict it is, of files whose columns are to become rows ("":
    there is none)."""

    item: str
    system: str
    judge: str
    criterion: str
    repeat: str
    failed: str

    @classmethod
    def of(cls, frames: Sequence[Frame], typed: Mapping[str, Any]) -> Keys:
        """The columns that are typed, or else recognised by their names; those that tell verdicts
        apart are made."""
        made = {
            ITEM: "",
            SYSTEM: "",
            JUDGE: "judge",
            CRITERION: "criterion",
            REPEAT: "repeat",
        }
        found = dict[str, str]()
        for role, otherwise in (made | {FAILED: "judge failed"}).items():
            given = typed.get(role.name)
            if not given and given != "":
                named = (column_of(frame.cells, role) for frame in frames)
                given = next(filter(None, named), None)
            column = given if isinstance(given, str) else given[0] if given else ""
            found[role.name] = column or otherwise
        return cls(**found)

    def there(self, frame: Frame) -> list[str]:
        """The columns by which rows of this frame and of another can be put together."""
        return [
            name for name in (self.item, self.system, self.judge) if name in frame.cells
        ]


def has(frames: Sequence[Frame], *names: str) -> bool:
    """Whether a column of any of these names is in any of the frames."""
    return any(name in frame.cells for frame in frames for name in names)


def one_name(
    frames: Sequence[Frame], names: Sequence[str]
) -> tuple[list[Frame], str | None]:
    """The frames with one column in place of those with these names, whose cells are the first that
    a row fills, and its name: the first of them that is there (None: none is)."""
    there = [name for name in names if has(frames, name)]
    if len(there) < 2:
        return list(frames), there[0] if there else None
    found = []
    for frame in frames:
        # One file may call the column so, another file otherwise.
        first, *others = [name for name in there if name in frame.cells] or [there[0]]
        cells = frame.cells
        for name in others:
            cells = cells.assign(
                **{first: cells[first].where(cells[first].notna(), cells[name])}
            )
        found.append(
            frame._replace(
                cells=cells.drop(columns=others).rename(columns={first: there[0]})
            )
        )
    return found, there[0]


def of_cases(frames: Sequence[Frame], keys: Keys) -> list[Frame]:
    """The frames without those that tell of cases, what several systems worked on: what they tell
    stands in each row about the case, as long as any other frame names a system."""
    about = (
        [f for f in frames if keys.there(f) == [keys.item]]
        if has(frames, keys.system)
        else []
    )
    found = [frame for frame in frames if not any(frame is each for each in about)]
    for facts in about:
        once = facts.cells.groupby(keys.item, sort=False).first()
        found = [
            frame._replace(cells=_beside(frame.cells, once, [keys.item]))
            for frame in found
        ]
    return found


def with_quotes(frame: Frame, quotes: Frame, keys: Keys, name: str) -> Frame:
    """The frame with a column `name` of the quotes of each row's judgment, as JSON text."""
    by = keys.there(quotes)
    # Quotes that name no judge cannot be told to be one judge's.
    if not by or not set(by) <= set(keys.there(frame)):
        return frame
    rows = quotes.cells.drop(columns=by).to_dict("records")
    each = pd.Series(
        [{k: v for k, v in row.items() if v is not None} for row in rows], dtype=object
    )
    once = each.groupby([quotes.cells[key] for key in by], sort=False).agg(
        lambda own: as_text(list(own))
    )
    return frame._replace(cells=_beside(frame.cells, once.rename(name).to_frame(), by))


def _beside(cells: pd.DataFrame, once: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """The cells with the columns of a table that has one row for each key, where they are no
    columns yet."""
    joined = cells.merge(
        once[[name for name in once if name not in cells]],
        "left",
        left_on=by,
        right_index=True,
    )
    return joined.astype(object).where(joined.notna(), None)


class Wide(NamedTuple):
    """How a wide table tells its verdicts: the columns of each criterion, those of each time that
    it was judged again (and `failed`), and the judge of a criterion, where that is not the judge of
    the row."""

    scores: Mapping[str, Sequence[str]]
    again: Sequence[Mapping[str, Sequence[str]]]
    judges: Mapping[str, str]

    def rows(self, frame: Frame, keys: Keys) -> Frame:
        """The frame with a row for each verdict; one without a column of verdicts as it is."""
        cells, every = frame.cells, [self.scores, *self.again]
        nothing = pd.Series([None] * len(cells), dtype=object)
        used = {
            VERDICTS,
            keys.failed,
            *(name for time in every for names in time.values() for name in names),
        }
        parts = []
        at = list[int]()
        # What is known of a row stands in each of the rows that are made of it.
        facts = cells.drop(columns=[name for name in used if name in cells])
        for n, time in enumerate(every):
            failed = next(
                (cells[name] for name in time.get("failed", ()) if name in cells),
                nothing,
            )
            # A column of failures in long form tells of the first time alone.
            failed = cells[keys.failed] if n == 0 and keys.failed in cells else failed
            for criterion, names in time.items():
                column = next(
                    (name for name in names if name in cells and criterion != "failed"),
                    None,
                )
                if column is None:
                    continue
                judge = cells.get(keys.judge, nothing).where(
                    lambda own: own.notna(), criterion
                )
                told = {
                    keys.criterion: criterion,
                    keys.judge: self.judges.get(criterion, judge),
                }
                told |= {
                    VERDICTS: cells[column],
                    keys.failed: None if criterion in self.judges else failed,
                }
                # A table may number its repeats itself; further times are then put beside those.
                told |= {keys.repeat: n} if n or keys.repeat not in cells else {}
                made = facts.assign(**told)
                kept = (
                    # Not every item is judged as often as the others: without a verdict
                    # or a failure of another time there was no such time. Of the first
                    # time an empty cell is a verdict that is missing.
                    made[VERDICTS].notna() | made[keys.failed].notna()
                    if n
                    else pd.Series(True, index=made.index)
                )
                parts.append(made[kept])
                at += np.flatnonzero(kept).tolist()
        if not parts:
            return frame
        whole = pd.concat(parts, ignore_index=True).astype(object)
        return frame._replace(
            cells=whole.where(whole.notna(), None), places=[frame.places[n] for n in at]
        )
