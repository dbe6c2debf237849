"""Lists what a file says of its items beside the text: what a judge could go by that reads nothing.

Each is a code per item: the values of a column, parts of a date, remainders of a number, letters of
an id, the place in the file, who labelled, who made what is judged, how many words two texts share.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from undogmatic.records.evidence import SLICE, JudgeView
from undogmatic.stats.checks import Array, Index
from undogmatic.stats.words import Marks

CUTS = 8
"""Into how many parts the values of a column are cut."""
REMAINDERS = (2, 3, 4, 5, 7, 10)
ENDS = 3
"""How many letters from either end of an id are looked at, each in its place."""
MOST_DIFFERENT = 0.75
"""Values, as a share of the items, beyond which hardly two items have the same."""
MOST_CROSSED, CROSSED = 400, 3
"""Aspects of two values of which every two are crossed, and so many of the crossings are looked at
closely."""
MOST_TOGETHER, MOST_VALUES = 150, 12
"""Aspects that are taken together, and most values of one that has no order."""
BY_SIZE = frozenset(
    "size year month day hour length id_size order_size overlap overlap_of overlap_two".split()
)
"""Parts whose values have an order."""
MOST_COLUMNS = 2000
"""Columns of a file beyond which no more are looked at."""
TEXT_LENGTH = 20
"""A column whose values are longer than this on average is a text."""
MOST_TEXTS = 6
"""Texts of a file that are compared with each other."""
SAMPLE = 50
"""Values that are tried before a whole column is read as dates."""
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'")
_BETWEEN = re.compile(r"[|;]")
OF_JUDGE = re.compile(
    r"reason|rational|explan|justif|raw|respon[sc]e_of|comment|feedback|critique|thought|analysis"
    r"|explica|motiv|coment|racioc",
    re.IGNORECASE,
)
"""Names of columns in which a judge says why: they follow from its verdict, and are no rival."""


class Aspect(NamedTuple):
    """What is known of each item beside its text.

    Attributes:
        part: What of the column it is ("whole", "month", "remainder", ...), a key of a wording.
        columns: The columns as the user named them; none for the file's order and its raters.
        detail: Further words of the name: a divisor, a letter.
        codes: Value of each item, 0 to n_values - 1, by size where that means something, shape
            (n_items,).
        of: The aspects that it is made of, where it is made of several.
    """

    part: str
    columns: tuple[str, ...]
    detail: str
    codes: Index
    of: tuple[Aspect, ...] = ()


def aspects(own: JudgeView, items: pd.Index, ignore: Sequence[str]) -> Iterator[Aspect]:
    """What is known of these items, each with more than one value, and so few that some items have
    the same."""
    for part, columns, detail, values in _values(own, items, set(ignore)):
        if set(columns) & set(ignore):
            continue
        by_size = np.asarray(values).dtype != object
        places, _ = pd.factorize(values, use_na_sentinel=False, sort=by_size)
        codes = places.astype(np.intp)
        n_values = codes.max(initial=0) + 1
        # One value tells nothing apart; a value for nearly each item is a name of it,
        # by which nobody can foretell the next one.
        if 1 < n_values <= MOST_DIFFERENT * codes.size:
            yield Aspect(part, columns, detail, codes)


def crossed(found: Sequence[Aspect], target: Array) -> list[Aspect]:
    """The two aspects of two values each whose being alike or not goes with a target most, several
    times over.

    Args:
        target: Shape (n_items,).
    """
    of_two = [aspect for aspect in found if aspect.codes.max() == 1]
    of_two = of_two[:MOST_CROSSED]
    if len(of_two) < 2:
        return []
    signs = np.array([2.0 * aspect.codes - 1 for aspect in of_two])
    # The product of two signs says whether the two are alike (a judge may go by
    # "either, but not both"), which no sum of the two can say.
    centred = target - target.mean()
    pull = np.abs((signs * centred) @ signs.T)
    # Each two once, and no aspect with itself.
    pull[np.tril_indices(len(of_two))] = -1
    # Of 80,000 crossings the strongest is strong by chance, too, so that several are
    # looked at closely.
    strongest = np.argsort(-pull, axis=None, kind="stable")[:CROSSED]
    made = []
    for place in strongest:
        row, column = np.unravel_index(place, pull.shape)
        one = of_two[row]
        other = of_two[column]
        # One of the four pairs of values may not occur, whose number is closed up.
        _, codes = np.unique(2 * one.codes + other.codes, return_inverse=True)
        columns = (*one.columns, *other.columns)
        both = (one, other)
        made.append(Aspect("together", columns, "", codes.astype(np.intp), both))
    return made


def marks(found: Sequence[Aspect]) -> Marks:
    """The aspects as marks, by which one judge that reads nothing goes by all of them together: has
    an item this value, is it above that size? The kind of a mark is the aspect's place among those
    given."""
    rows = []
    names = []
    features = []
    for place, aspect in enumerate(found[:MOST_TOGETHER]):
        n_values = int(aspect.codes.max()) + 1
        values = np.arange(n_values)
        # "Above 3" in place of "is 4": a judge by size is learned from few values so,
        # and a step at any place is one mark.
        if aspect.part in BY_SIZE:
            own = aspect.codes > values[:-1, None]
            features.append(aspect.codes / max(1, n_values - 1))
        elif n_values <= MOST_VALUES:
            own = aspect.codes == values[:, None]
        else:
            continue
        rows.append(own)
        names += [(str(place), str(value)) for value in range(len(own))]
    columns = np.concatenate(rows).astype(np.float32)
    tables = [columns.T.astype(np.float64)]
    if features:
        tables.append(np.column_stack(features))
    standardised = []
    for table in tables:
        spread = table.std(axis=0)
        divisor = np.where(spread > 0, spread, 1.0)
        standardised.append((table - table.mean(axis=0)) / divisor)
    return Marks(
        columns,
        tuple(names),
        coarse=np.arange(len(columns)),
        features=tuple(standardised),
        paired=False,
    )


Values = tuple[str, tuple[str, ...], str, object]


def _values(own: JudgeView, items: pd.Index, ignore: set[str]) -> Iterator[Values]:
    table = own.table.items.reindex(items)
    if "system" in table:
        yield "whole", ("system",), "", table["system"].astype(str).to_numpy()
    if "system_1" in table and "system_2" in table:
        first = table["system_1"].astype(str)
        second = table["system_2"].astype(str)
        both = first + " / " + second
        yield "whole", ("system",), "", both.to_numpy()
    order_of_item = own.first().groupby("item")["order"]
    orders = order_of_item.agg(["nunique", "first"]).reindex(items)
    # Where an item was shown in both orders, the order says nothing of the item.
    if (orders["nunique"] == 1).all():
        yield "whole", ("order",), "", orders["first"].to_numpy()
    named = {}
    for column in map(str, table):
        name = column.removeprefix(SLICE)
        # A user may name a column with the prefix or without it.
        if column.startswith(SLICE) and ignore.isdisjoint((column, name)):
            named[name] = table[column]
    for name, values in itertools.islice(named.items(), MOST_COLUMNS):
        yield from _of_column(name, values)
    yield from _of_ids(own, items)
    yield from _of_order(own, items)
    yield from _of_raters(own, items)
    yield from _of_overlap(own, table, named)


def _of_column(name: str, values: pd.Series) -> Iterator[Values]:
    """The values of a column; numbers also by size and by remainder, dates by their parts, words by
    their length and their first letter."""
    one = (name,)
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=np.float64)
        if values.nunique() <= CUTS:
            yield "whole", one, "", numbers
        else:
            yield from _sizes("size", one, numbers)
        # Even or odd, and the like, which a quantile never sees. Of fractions there is
        # no remainder that anybody would go by.
        finite = numbers[np.isfinite(numbers)]
        are_whole = (finite == np.round(finite)).all()
        if values.nunique() > 2 and finite.size and are_whole:
            filled = np.nan_to_num(numbers, nan=-1)
            for divisor in REMAINDERS:
                yield "remainder", one, str(divisor), filled % divisor
        return
    said = values.fillna("").astype(str)
    dates = _dates(said)
    if dates is not None:
        for part in ("year", "month", "day", "day_of_week", "hour"):
            yield part, one, "", getattr(dates.dt, part).to_numpy()
        moments = dates.astype("int64").to_numpy(dtype=np.float64)
        yield from _sizes("size", one, moments)
        return
    folded = said.str.strip().str.casefold()
    yield "whole", one, "", folded.to_numpy()
    if said.nunique() > CUTS:
        # Only where values differ so much that the whole is no aspect: of eight values
        # the length is one of them.
        lengths = said.str.len().to_numpy(dtype=np.float64)
        yield from _sizes("length", one, lengths)
        yield "first", one, "", folded.str[:1].to_numpy()
        yield "last", one, "", folded.str[-1:].to_numpy()


def _sizes(
    part: str, columns: tuple[str, ...], numbers: np.ndarray
) -> Iterator[Values]:
    """Numbers cut into few parts, which say much of each, and into many, between which hardly a
    limit falls."""
    yield part, columns, "", _cut(numbers, CUTS)
    yield part, columns, "", _cut(numbers, 2 * CUTS)


def _cut(numbers: np.ndarray, parts: int) -> Index:
    """Into parts with as many items each; what is not known is a part of its own."""
    ranks = pd.Series(numbers).rank(pct=True)
    part = np.ceil(ranks * parts).fillna(-1)
    return np.asarray(part.to_numpy(dtype=np.intp))


def _dates(said: pd.Series) -> pd.Series | None:
    """The values as dates, where nine of ten are such."""
    filled = said[said.str.contains(r"\d{1,4}[-/.:]\d{1,2}", regex=True)]
    if not len(said):
        return None
    if len(filled) < 0.9 * len(said):
        return None
    # A few tell that a column holds no dates; to read every cell of a long one as a
    # date takes long.
    few = _as_dates(filled.iloc[:SAMPLE])
    if few.notna().mean() < 0.9:
        return None
    dates = _as_dates(said)
    return dates if dates.notna().mean() >= 0.9 else None


def _as_dates(said: pd.Series) -> pd.Series:
    """The values as dates, NaT where one is none."""
    # Times of several zones can stand in one column in UTC alone.
    return pd.to_datetime(said, errors="coerce", format="mixed", utc=True)


def _in_order(own: JudgeView, items: pd.Index, places: Array) -> bool:
    """Whether the items are sorted by the verdicts, or by the labels: then their places follow from
    these, and not these from the places."""
    order = np.argsort(places, kind="stable")
    verdicts = own.first().groupby("item")["verdict"]
    labels = own.labels.groupby("item")["label"]
    for of_items in (verdicts, labels):
        values = of_items.mean().reindex(items).to_numpy()[order]
        steps = np.diff(values[~np.isnan(values)])
        rises = (steps >= 0).all()
        falls = (steps <= 0).all()
        # Equal verdicts may stand beside each other; one step back, and the file is not
        # sorted by them.
        if steps.any() and (rises or falls):
            return True
    return False


def _rows(own: JudgeView, items: pd.Index) -> Array | None:
    """Where in the file each item stands; None where that is not known."""
    once = own.first().drop_duplicates("item").set_index("item")
    place = once["place"].reindex(items).astype(str)
    # A place is a file and a line, of which the last number is the line.
    lines = place.str.extract(r"(\d+)\D*$")[0]
    rows = pd.to_numeric(lines, errors="coerce")
    if rows.isna().any() or rows.nunique() < len(rows):
        return None
    return rows.to_numpy(dtype=np.float64)


def _of_ids(own: JudgeView, items: pd.Index) -> Iterator[Values]:
    """Letters of the ids in their places, letters that some ids have, and remainders of the last
    number in them."""
    ids = pd.Series(items.astype(str), index=items)
    numbers = [_NUMBER.findall(one) for one in ids]
    if all(numbers):
        # Fifteen digits are what a float holds exactly.
        digits = [found[-1][-15:] for found in numbers]
        last = np.array(list(map(int, digits)), dtype=np.float64)
        for divisor in REMAINDERS:
            yield "id_remainder", (), str(divisor), last % divisor
        if _in_order(own, items, last):
            return  # the digits of such ids say no more than their order
        yield from _sizes("id_size", (), last)
    folded = ids.str.casefold()
    for place in range(ENDS):
        from_end = -1 - place
        letters = folded.str[place].fillna("").to_numpy()
        last_letters = folded.str[from_end].fillna("").to_numpy()
        yield "id_letter", (), str(place + 1), letters
        yield "id_letter", (), str(from_end), last_letters
    letters_there = set("".join(folded.head(1000)))
    for letter in sorted(letters_there):
        holds = folded.str.contains(letter, regex=False).to_numpy()
        # A letter that hardly an id lacks, or has, parts too few items to explain a
        # judge.
        if 0.05 < holds.mean() < 0.95 and not letter.isspace():
            yield "id_holds", (), letter, holds


def _of_order(own: JudgeView, items: pd.Index) -> Iterator[Values]:
    """The place in the file: early or late, and remainders of the row's number."""
    rows = _rows(own, items)
    if rows is None:
        return
    place = pd.Series(rows).rank().to_numpy(dtype=np.float64)
    if not _in_order(own, items, rows):
        yield from _sizes("order_size", (), place)
    for divisor in REMAINDERS:
        yield "order_remainder", (), str(divisor), place % divisor


def _of_raters(own: JudgeView, items: pd.Index) -> Iterator[Values]:
    """Who labelled each item."""
    labels = own.labels[own.labels["label"].notna()]
    # A judge could say "yes" wherever a mild rater labelled, and agree with people
    # without having read anything.
    who = labels.groupby("item")["rater"].agg(
        lambda names: " / ".join(sorted(set(names)))
    )
    yield "raters", (), "", who.reindex(items).fillna("").to_numpy()


def _of_overlap(
    own: JudgeView, table: pd.DataFrame, named: Mapping[str, pd.Series]
) -> Iterator[Values]:
    """How many words any two texts of an item share, whether one stands in the other; of two
    outputs, which of them shares more with a third text."""
    texts = {}
    for name, values in named.items():
        if pd.api.types.is_numeric_dtype(values) or OF_JUDGE.search(name):
            continue
        written = values.fillna("").astype(str)
        is_long = written.str.len().mean() > TEXT_LENGTH
        # Short answers that mostly differ are texts, too; a category comes again.
        mostly_differ = written.nunique() > len(written) / 2
        if is_long or mostly_differ:
            texts[name] = written
    judged = ["text_1", "text_2"] if own.table.kind == "pairwise" else ["text"]
    if not all(name in table for name in judged):
        return
    known = {name: table[name].fillna("").astype(str) for name in judged}
    others = dict(itertools.islice(texts.items(), MOST_TEXTS))
    words = {name: _words(values) for name, values in known.items()}
    words |= {name: _words(values) for name, values in others.items()}
    first, *second = judged
    for other, of_other in others.items():
        column = (other,)
        of_text, of_column = _shared(words[first], words[other])
        stands = _stands(known[first], of_other)
        if second:
            # Of two outputs, which of both shares more, or holds the other text.
            of_second, _ = _shared(words[second[0]], words[other])
            second_stands = _stands(known[second[0]], of_other)
            yield "overlap", column, "", np.sign(of_text - of_second)
            yield "contains", column, "", np.sign(stands - second_stands)
        else:
            yield from _sizes("overlap", column, of_text)
            yield from _sizes("overlap_of", column, of_column)
            yield "contains", column, "", stands
    for one, other in itertools.combinations(others, 2):
        of_one, _ = _shared(words[one], words[other])
        yield from _sizes("overlap_two", (one, other), of_one)


def _words(texts: pd.Series) -> list[frozenset[str]]:
    """The different words of each text, whatever their case."""
    return [frozenset(_WORD.findall(text.casefold())) for text in texts]


def _shared(
    ones: Sequence[frozenset[str]], others: Sequence[frozenset[str]]
) -> tuple[np.ndarray, np.ndarray]:
    """The share of the words of the one that the other has, and the other way round."""
    pairs = zip(ones, others, strict=True)
    common = np.array([len(one & other) for one, other in pairs], dtype=np.float64)
    # A text without words shares none, and 0 is not divided by.
    of_ones = np.array([max(1, len(words)) for words in ones])
    of_others = np.array([max(1, len(words)) for words in others])
    return common / of_ones, common / of_others


def _stands(text: pd.Series, other: pd.Series) -> np.ndarray:
    """2 where the other, or one of those that it lists, stands in the text, 1 where the text stands
    in the other, else 0."""
    answers = []
    folded = text.str.casefold()
    other_folded = other.str.casefold().str.strip()
    for one, another in zip(folded, other_folded, strict=True):
        if any(part in one for part in _listed(another)):
            answers.append(2.0)
        elif one and one in another:
            answers.append(1.0)
        else:
            answers.append(0.0)
    return np.array(answers)


def _listed(cell: str) -> Iterator[str]:
    """A cell, and what it lists: its lines, or the parts of a list as programs write one, of which
    each is a right answer."""
    parts = [cell, *cell.splitlines()]
    if cell.startswith(("[", "(", "{")):
        parts += (quoted[0] or quoted[1] for quoted in _QUOTED.findall(cell))
    else:
        parts += _BETWEEN.split(cell)
    yield from (part for part in map(str.strip, parts) if part)
