"""The door of the call cache: rows that somebody else wrote, or half of which are gone."""

import asyncio
import contextlib
import functools
import io
import itertools
import sqlite3
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.fuzzing import watched
from tests.fuzzing._values import folder, odd, spoiled, written
from undogmatic.errors import UnparseableAnswer
from undogmatic.models import calls
from undogmatic.models.calls import Gateway, Reply, ReplyCache
from undogmatic.records.limits import PacedLimits

GOOD = {
    "data": {"choices": [{"message": {"content": "x"}}]},
    "input_tokens": 3,
    "output_tokens": 2,
    "usd": 0.5,
}
FRESH = Reply({"choices": []}, 1, 1, 0.25)
_numbers = itertools.count()


class Row(NamedTuple):
    """What stands in the column of a reply, and whether as text or as bytes."""

    reply: Any
    text: bool


EXAMPLES = [
    Row(b'{"data": {"choices": 1}, "usd": NaN}', True),
    Row(b'{"data": {"choices": 1}, "usd": -1}', True),
    Row(b'{"data": {"choices": "\\ud800"}}', True),
    Row(b"\xff\xfe", True),
    Row(b'{"data": {"choices": 1}, "more": 2}', True),
    Row(b'{"choices": 1}', False),
    Row(b"[" * 100_000, True),
    Row(7, False),
]


def strategy() -> st.SearchStrategy[Row]:
    found = st.one_of(
        spoiled(GOOD).map(written),
        odd().map(written),
        st.binary(max_size=40),
        st.integers(-9, 9),
    )
    return st.builds(Row, found, st.booleans())


def enter(case: Row) -> None:
    """The reply of the row where it is a good one, else that of a call, which then stands in the
    row."""
    database, cache = _open()
    gateway, request, sent = (
        Gateway(cache, limits=PacedLimits(retries=0)),
        {"n": next(_numbers)},
        [],
    )

    def check(data: Any) -> None:
        if not data["choices"] and data["choices"] != []:
            raise UnparseableAnswer("no choices")

    async def send() -> Reply:
        sent.append(1)
        return FRESH

    def call() -> Reply:
        return asyncio.run(gateway.call("m", request, send, check=check))

    with contextlib.redirect_stderr(io.StringIO()), watched():
        call()
        key = database.execute(
            "SELECT key FROM replies ORDER BY rowid DESC LIMIT 1"
        ).fetchone()[0]
        kind = "TEXT" if case.text else "BLOB"
        value = (
            case.reply if isinstance(case.reply, int) else sqlite3.Binary(case.reply)
        )
        database.execute(
            f"UPDATE replies SET reply = CAST(? AS {kind}) WHERE key = ?", (value, key)
        )
        found = call()
        assert len(sent) in (1, 2)
        assert found == FRESH or len(sent) == 1
        assert found.usd is None or found.usd >= 0
        made = len(sent)
        assert call() == found and len(sent) == made, "the row was not replaced"


@functools.cache
def _open() -> tuple[sqlite3.Connection, ReplyCache]:
    cache = ReplyCache(folder())
    return sqlite3.connect(folder() / calls.CACHE_FILE, isolation_level=None), cache
