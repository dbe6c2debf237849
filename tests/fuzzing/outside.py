"""The door of all texts: JSON and YAML as `undogmatic.safety.outside` reads them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.fuzzing import watched
from tests.fuzzing._values import odd
from undogmatic.errors import DataError
from undogmatic.safety.outside import Unreadable, json_value, yaml_value

EXAMPLES: list[bytes] = [
    b'{"a": "\\ud800"}',
    b"1" * 5000,
    b"[" * 100_000,
    b"- " * 5000,
    b"&a [*a]",
    b"!!python/object/apply:os.system [exit]",
    b"a: 1\na: 2",
    b"\xff\xfe{}",
    b"a: b\0",
]


def strategy() -> st.SearchStrategy[bytes]:
    """Bytes, and texts that are nearly JSON or YAML."""
    written = odd().map(lambda value: json.dumps(value).encode())
    pieces = st.lists(
        st.sampled_from(['{"', '":', "[", "]", "}", ",", "- ", "a: ", "&a ", "*a", "\n", "\t", "!!", "|", "'"])
    )
    return st.one_of(
        st.binary(max_size=60), written, st.text(max_size=40).map(_encoded), pieces.map("".join).map(_encoded)
    )


def enter(case: bytes) -> None:
    """A value that can be written as JSON again, or a sentence."""
    for read in (json_value, _yaml):
        with watched():
            try:
                found = read(case)
            except Unreadable as error:
                raise DataError(error.at("here")) from None
            if read is json_value:
                json.dumps(found, allow_nan=False).encode()


def _yaml(case: bytes) -> Any:
    from undogmatic.safety.outside import decoded

    return yaml_value(decoded(case))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
