"""Finds which rows of a verdict table belong together: intervals are over groups, so what depends
on each other counts as one. What a column says and what the texts show are joined, as in a run
(`datasets.belonging`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

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
    n = len(item)
    by_item = pd.factorize(item)[0]
    columns = [*texts] if context is None else [context, *texts]
    bare = [_bare(column) for column in columns]
    # `_bare` gives a column back as it is where there was nothing to leave out.
    shared = tuple(
        place for place, column in enumerate(columns) if bare[place] is not column
    )
    by_name = [] if named is None else [_codes(named)]
    by_context = [] if context is None else _clusters(bare[:1])
    # An instruction that all rows have in common ties nothing.
    shown = [column for column in bare if _varies(column)] or bare
    by_whole = _clusters([_joined(shown)])
    # Where a row shows one column, its whole is that column.
    alone = bare[len(by_context) :] if len(shown) > 1 else []
    # Short texts are the same by chance: "yes" ties no two answers.
    long_ones = [_only(column, enough) for column in alone if _varies(column)]
    by_text = _clusters(long_ones)
    stated = [*by_name, *by_context]
    seen = [*by_whole, *by_text]
    apart = _components([by_item, *stated], n)
    together = apart
    if texts:
        together = _components([by_item, *stated, *seen], n)
    alike = _alike([*by_context, *seen], by_item)
    by_copies = 0 if named is None else _crossed(named, apart, together)
    if final and named is not None:
        return Groups(named, by_copies, alike, shared)
    bears_mark = [codes >= 0 for codes in (*stated, *seen)]
    tied = np.any(bears_mark, axis=0)
    names = _names(together, tied, named)
    return Groups(names, by_copies, alike, shared)


def _crossed(named: Column, apart: NDArray[np.intp], together: NDArray[np.intp]) -> int:
    """How many groups that a column told apart are together by what texts show."""
    there = np.array([name is not None for name in named], dtype=bool)
    rows = pd.DataFrame({"apart": apart[there], "together": together[there]})
    counts = rows.groupby("together")["apart"].nunique()
    return int(counts[counts > 1].sum())


def _names(
    together: NDArray[np.intp], tied: NDArray[np.bool_], named: Column | None
) -> Column:
    """The name of each row's group: the first that the column gives to one of its rows, else a
    number; None where it is tied to nothing."""
    name_of: dict[int, object] = {}
    for head, name in zip(
        together.tolist(), () if named is None else named, strict=False
    ):
        if name is not None:
            name_of.setdefault(head, name)
    unnamed = [
        head for head in dict.fromkeys(together[tied].tolist()) if head not in name_of
    ]
    for number, head in enumerate(unnamed, 1):
        name_of[head] = f"text {number}"
    by_row = [name_of.get(head) for head in together.tolist()]
    return np.array(by_row, dtype=object)


def _bare(column: Column) -> Column:
    """The texts of a column without what most of them share; the column itself where they share
    nothing."""
    said = [str(text) for text in _there(column)]
    rest = without_shared(said)
    if rest == said:
        return column
    known = dict(zip(said, rest, strict=True))
    shortened = [known.get(text, text) for text in column]
    return np.array(shortened, dtype=object)


def _there(column: Iterable[Any]) -> Iterator[str]:
    """The texts of a column or a row; a blank cell is none."""
    return (text for text in column if text is not None and text.strip())


def _alike(
    marks: Sequence[NDArray[np.intp]], by_item: NDArray[np.intp]
) -> tuple[int, int] | None:
    """Two rows of different items that bear the same mark."""
    for codes in marks:
        first: dict[int, int] = {}
        for row, code in enumerate(codes.tolist()):
            if code < 0:
                continue
            before = first.setdefault(code, row)
            if by_item[before] != by_item[row]:
                return before, row
    return None


def _varies(column: Column) -> bool:
    """Whether a column holds two different texts."""
    texts = _there(column)
    first = next(texts, None)
    return any(text != first for text in texts)


def _codes(column: Column) -> NDArray[np.intp]:
    """A number per different name, -1 where there is none."""
    return np.asarray(pd.factorize(column)[0], dtype=np.intp)


def _joined(columns: Sequence[Column]) -> Column:
    """All that a row shows, in an order that does not hang on that of the columns."""
    n_rows = len(columns[0]) if columns else 0
    whole = np.full(n_rows, None, dtype=object)
    for place, row in enumerate(zip(*columns, strict=True)):
        texts = sorted(_there(row))
        if texts:
            whole[place] = "\n".join(texts)
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
    filled = [
        text if text and text.strip() else None for column in columns for text in column
    ]
    # Each different text once, as most tables judge a text several times.
    codes, distinct = pd.factorize(np.array(filled, dtype=object))
    clusters = np.full(codes.size, -1, dtype=np.intp)
    first_copies = copies(tuple(map(str, distinct)))
    first_copy = np.asarray(first_copies, dtype=np.intp)
    there = codes >= 0
    clusters[there] = first_copy[codes[there]]
    return np.split(clusters, len(columns))


def _components(marks: Sequence[NDArray[np.intp]], n: int) -> NDArray[np.intp]:
    """A number per group of rows that share a mark, by way of others too, in order of appearance; a
    mark of -1 ties nothing."""
    from scipy import sparse

    # A graph with a place for each row, and behind them one for each mark, whatever row bears it.
    nothing = np.empty(0, dtype=np.intp)
    rows, ends = [nothing], [nothing]
    n_places = n
    for codes in marks:
        tied = np.flatnonzero(codes >= 0)
        numbers, distinct = pd.factorize(codes[tied])
        rows.append(tied)
        ends.append(n_places + numbers)
        n_places += len(distinct)
    row_places = np.concatenate(rows)
    mark_places = np.concatenate(ends)
    weights = np.ones(row_places.size, dtype=np.int8)
    links = weights, (row_places, mark_places)
    graph = sparse.coo_matrix(links, shape=(n_places, n_places))
    _, component = sparse.csgraph.connected_components(graph, directed=False)
    # SciPy promises nothing about the order of its numbers.
    codes, _ = pd.factorize(component[:n])
    return np.asarray(codes, dtype=np.intp)


def heads_of(marks: Sequence[Sequence[M]]) -> list[M]:
    """For each of several, each with a mark at least, the mark that stands for all that is tied to
    it."""
    heads: dict[M, M] = {}

    def head(mark: M) -> M:
        # Each step shortens the way for those who come later, or long chains would take for ever.
        while heads.setdefault(mark, mark) != mark:
            heads[mark] = heads[heads[mark]]
            mark = heads[mark]
        return mark

    for several in marks:
        for mark in several:
            heads[head(mark)] = head(several[0])
    return [head(several[0]) for several in marks]
