"""Finds which rows of a verdict table belong together: intervals are over groups, so what depends
on each other counts as one. What a column says and what the texts show are joined, as in a run
(`datasets.belonging`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.stats.surface import copies, enough, without_shared

M = TypeVar("M", bound=Hashable)
Column = NDArray[np.object_]
"""One text or name per row, None where there is none."""


class Groups(NamedTuple):
    """The group of each row, None where it stands alone; `by_copies` counts the groups that a
    column told apart and that hold copies or near-copies of each other's texts."""

    names: Column
    by_copies: int
    alike: tuple[int, int] | None = None
    """Two rows of different items whose texts are the same or nearly the same."""
    shared: tuple[int, ...] = ()
    """The places of the columns (the context first, then the texts) that share what was left
    out."""


def groups_of(
    item: Column,
    named: Column | None,
    context: Column | None,
    texts: Sequence[Column],
    final: bool = False,
) -> Groups:
    """The groups of rows with the same name in the column that says so, with the same or nearly the
    same context, and with the same or nearly the same texts.

    Of a context and a text, or of two texts, those that are long enough (`stats.surface.enough`)
    and not the same in all rows tie each by itself; the two texts of a choice may stand in either
    order.

    Args:
        item: The id of each row's item: rows of one item are together.
        named: What a column says of each row. context: What was answered. texts: What was judged,
            one or two columns.
        final: That somebody said which column it is: what texts show is then told, and ties nothing
            together.
    """
    by_item = pd.factorize(item)[0]
    every = [*([context] if context is not None else []), *texts]
    bare = [_bare(column) for column in every]
    shared = tuple(
        n
        for n, (own, rest) in enumerate(zip(every, bare, strict=True))
        if own is not rest
    )
    context, texts = (bare[0], bare[1:]) if context is not None else (None, bare)
    given = [_codes(named)] if named is not None else []
    if context is not None:
        given.append(_clusters([context])[0])
    every = bare
    shown = [column for column in every if _varies(column)] or every
    wholes = _clusters([_joined(shown)])
    alone = texts if len(shown) > 1 else ()
    each = _clusters([_only(column, enough) for column in alone if _varies(column)])
    apart = _components([by_item, *given], len(item))
    together = (
        _components([by_item, *given, *wholes, *each], len(item)) if texts else apart
    )
    alike = _alike(
        [*given[len(given) - (context is not None) :], *wholes, *each], by_item
    )
    crossed = pd.DataFrame({"apart": apart, "together": together})[
        [
            named is not None and x is not None
            for x in (named if named is not None else apart)
        ]
    ]
    counts = (
        crossed.groupby("together")["apart"].nunique()
        if len(crossed)
        else pd.Series(dtype=int)
    )
    by_copies = int(counts[counts > 1].sum())
    if final and named is not None:
        return Groups(named, by_copies, alike, shared)
    tied = np.any([codes >= 0 for codes in (*given, *wholes, *each)], axis=0)
    heads: dict[int, object] = {}
    for head, name in zip(
        together.tolist(), named if named is not None else (), strict=False
    ):
        if name is not None:
            heads.setdefault(head, name)
    n = 0
    for head in dict.fromkeys(together[tied].tolist()):
        if head not in heads:
            n += 1
            heads[head] = f"text {n}"
    names = np.array([heads.get(head) for head in together.tolist()], dtype=object)
    return Groups(names, by_copies, alike, shared)


def _bare(column: Column) -> Column:
    """The texts of a column without what most of them share; the column itself where they share
    nothing."""
    said = [str(text) for text in column if text is not None and text.strip()]
    rest = without_shared(said)
    if rest == said:
        return column
    known = dict(zip(said, rest, strict=True))
    return np.array([known.get(text, text) for text in column], dtype=object)


def _alike(
    marks: Sequence[NDArray[np.intp]], by_item: NDArray[np.intp]
) -> tuple[int, int] | None:
    """Two rows of different items that bear the same mark."""
    for codes in marks:
        first: dict[int, int] = {}
        for row, code in enumerate(codes.tolist()):
            before = first.setdefault(code, row) if code >= 0 else row
            if by_item[before] != by_item[row]:
                return before, row
    return None


def _varies(column: Column) -> bool:
    said = (text for text in column if text is not None and text.strip())
    first = next(said, None)
    return any(text != first for text in said)


def _codes(column: Column) -> NDArray[np.intp]:
    """A number per different name, -1 where there is none."""
    return np.asarray(pd.factorize(column)[0], dtype=np.intp)


def _joined(columns: Sequence[Column]) -> Column:
    """All that a row shows, in an order that does not hang on that of the columns."""
    whole = np.full(len(columns[0]) if columns else 0, None, dtype=object)
    for place, row in enumerate(zip(*columns, strict=True)):
        texts = sorted(text for text in row if text is not None and text.strip())
        whole[place] = "\n".join(texts) if texts else None
    return whole


def _only(column: Column, kept: Callable[[str], bool]) -> Column:
    """The texts of which this holds, None in place of the others."""
    known = {
        text: text if kept(text) else None for text in set(column) if text is not None
    }
    return np.array([known.get(text) for text in column], dtype=object)


def _clusters(columns: Sequence[Column]) -> list[NDArray[np.intp]]:
    """For each column the cluster of copies and near-copies that each text belongs to, over all
    columns together; -1 where there is none."""
    if not columns or not len(columns[0]):
        return []
    codes, distinct = pd.factorize(
        np.array(
            [
                text if text and text.strip() else None
                for column in columns
                for text in column
            ],
            dtype=object,
        )
    )
    found = np.asarray(copies(tuple(map(str, distinct))), dtype=np.intp)
    clusters = np.where(codes >= 0, found[codes] if len(found) else -1, -1)
    return [part.astype(np.intp) for part in np.split(clusters, len(columns))]


def _components(marks: Sequence[NDArray[np.intp]], n: int) -> NDArray[np.intp]:
    """A number per group of rows that share a mark, by way of others too, in order of appearance; a
    mark of -1 ties nothing."""
    from scipy import sparse

    tied = [np.flatnonzero(codes >= 0) for codes in marks]
    # A place for each row, and behind them one for each mark, whatever row bears it.
    places = [
        pd.factorize(codes[rows])[0] for codes, rows in zip(marks, tied, strict=True)
    ]
    begins = n + np.cumsum([0, *(own.max(initial=-1) + 1 for own in places)])
    rows = np.concatenate([np.empty(0, dtype=np.intp), *tied])
    ends = np.concatenate(
        [np.empty(0, dtype=np.intp), *map(np.add, places, begins[:-1])]
    )
    links = sparse.coo_matrix(
        (np.ones(rows.size, dtype=np.int8), (rows, ends)),
        shape=(begins[-1], begins[-1]),
    )
    found = sparse.csgraph.connected_components(links, directed=False)[1]
    return np.asarray(pd.factorize(found[:n])[0], dtype=np.intp)


def heads_of(marks: Sequence[Sequence[M]]) -> list[M]:
    """For each of several, each with a mark at least, the mark that stands for all that is tied to
    it."""
    heads: dict[M, M] = {}

    def head(mark: M) -> M:
        while heads.setdefault(mark, mark) != mark:
            heads[mark] = heads[heads[mark]]
            mark = heads[mark]
        return mark

    for several in marks:
        for mark in several:
            heads[head(mark)] = head(several[0])
    return [head(several[0]) for several in marks]
