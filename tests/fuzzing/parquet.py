"""A Parquet file as a dataset: odd types, and damage."""

import datetime
import functools
import io
from decimal import Decimal
from typing import Any

import pyarrow
import pyarrow.parquet
from hypothesis import strategies as st

from tests.fuzzing._values import reading
from tests.fuzzing.jsonl import COLUMNS

moments = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1))
KINDS: tuple[tuple[pyarrow.DataType, st.SearchStrategy[Any]], ...] = (
    (pyarrow.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=8)),
    (pyarrow.binary(), st.binary(max_size=8)),
    (pyarrow.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pyarrow.float64(), st.floats()),
    (pyarrow.float16(), st.floats(width=16)),
    (pyarrow.bool_(), st.booleans()),
    (pyarrow.date32(), st.dates()),
    (pyarrow.timestamp("ns"), moments),
    (pyarrow.timestamp("us", "America/Sao_Paulo"), moments),
    (pyarrow.time64("us"), st.times()),
    (pyarrow.duration("ms"), st.integers(-(10**12), 10**12)),
    (pyarrow.decimal128(20, 4), st.decimals(-9999, 9999, places=2)),
    (pyarrow.list_(pyarrow.float64()), st.lists(st.floats(), max_size=3)),
    (
        pyarrow.struct({"a": pyarrow.string(), "b": pyarrow.binary()}),
        st.just({"a": "x", "b": b"\xff"}),
    ),
    (pyarrow.map_(pyarrow.string(), pyarrow.int32()), st.just([("k", 1)])),
    (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), st.sampled_from(["a", "b"])),
    (pyarrow.null(), st.none()),
)


def bytes_of(table: pyarrow.Table, **options: Any) -> bytes:
    """The file that holds a table."""
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, **options)
    return out.getvalue()


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Columns of any type under the known names."""
    count = draw(st.integers(0, 4))
    names = draw(st.lists(st.sampled_from(COLUMNS), max_size=4, unique=True))
    columns, types = {}, {}
    for name in {"text": None, **dict.fromkeys(names)}:
        kind, values = draw(
            st.sampled_from(KINDS if name != "text" else KINDS[:1] * 9 + KINDS)
        )
        types[name] = kind
        columns[name] = draw(
            st.lists(st.none() | values, min_size=count, max_size=count)
        )
    arrays = [pyarrow.array(columns[name], types[name]) for name in types]
    return bytes_of(pyarrow.table(arrays, names=list(types)))


@functools.cache
def whole() -> bytes:
    """A plain file, to be damaged."""
    return bytes_of(
        pyarrow.table(
            {"id": ["a", "b", "c"], "text": ["x", "y", "z" * 50], "label": [1, 2, None]}
        )
    )


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file with bytes changed, taken out or cut off; half of the time in its footer."""
    content = bytearray(draw(st.one_of(st.builds(whole), tables())))
    for _ in range(draw(st.integers(1, 4))):
        near_the_end = max(0, len(content) - draw(st.integers(1, 400)))
        at = (
            draw(st.integers(0, len(content) - 1))
            if draw(st.booleans())
            else near_the_end
        )
        content[at] = draw(st.integers(0, 255))
    return bytes(
        content[: draw(st.sampled_from([len(content)] * 3 + [len(content) // 2, 8]))]
    )


def strategy() -> st.SearchStrategy[bytes]:
    return st.one_of(
        tables(),
        damaged(),
        st.binary(max_size=100).map(lambda raw: b"PAR1" + raw + b"PAR1"),
    )


enter = reading("fuzzed.parquet")


def _of(**columns: Any) -> bytes:
    return bytes_of(pyarrow.table({"text": ["a", "b"]} | columns))


EXAMPLES: list[bytes] = [
    b"",
    b"PAR1",
    b"PAR1" + b"\xff" * 4 + b"PAR1",
    whole()[:-10],
    whole()[:-4] + b"PARE",
    bytes_of(pyarrow.table({"text": pyarrow.array([], pyarrow.string())})),
    bytes_of(pyarrow.table({"text": pyarrow.array([b"\xff"], pyarrow.binary())})),
    bytes_of(pyarrow.table({"text": pyarrow.array([float("nan")])})),
    bytes_of(pyarrow.table([["a"], ["b"]], names=["text", "text"])),
    bytes_of(pyarrow.table({"text": ["a" * 1_000_000] * 200})),
    _of(x=[b"\xff", b"a"]),
    _of(x=[datetime.date(2020, 1, 1), None]),
    _of(x=[Decimal("1.5"), None], label=[Decimal("7"), Decimal("8")]),
    _of(x=[float("inf"), float("nan")]),
    _of(x=[[float("nan")], [float("inf")]]),
    _of(x=pyarrow.array([1, 2], pyarrow.timestamp("ns"))),
    _of(x=pyarrow.array([2**62, 2], pyarrow.timestamp("us"))),
    _of(x=pyarrow.array([1, 2], pyarrow.timestamp("us", "Nowhere/Atall"))),
    _of(
        id=[1, 2], label=[7, 8], condition=pyarrow.array(["a", "b"]).dictionary_encode()
    ),
    _of(id=[1.0, 2.0]),
    _of(labels=[{"overall": {"ana": 5}}, {"overall": {"ana": None}}]),
]
