"""The door of all texts: JSON and YAML as `undogmatic.safety.outside` reads them."""

import json

from hypothesis import strategies as st

from tests.fuzzing import watched
from tests.fuzzing._values import odd, pieces, texts, written
from undogmatic.errors import DataError
from undogmatic.safety.outside import Unreadable, decoded, json_value, yaml_value

EXAMPLES: list[bytes] = [
    *(
        b'{"a": "\\ud800"}',
        b"1" * 5000,
        b"[" * 100_000,
        b"- " * 5000,
        b"&a [*a]",
        b"a: 1\na: 2",
    ),
    *(b"!!python/object/apply:os.system [exit]", b"\xff\xfe{}", b"a: b\0"),
]


def strategy() -> st.SearchStrategy[bytes]:
    marks = pieces(
        [
            '{"',
            '":',
            "[",
            "]",
            "}",
            ",",
            "- ",
            "a: ",
            "&a ",
            "*a",
            "\n",
            "\t",
            "!!",
            "|",
            "'",
        ]
    )
    return st.one_of(st.binary(max_size=60), odd().map(written), texts(40), marks)


def enter(case: bytes) -> None:
    """A value that can be written as JSON again, or a sentence."""
    for read in (json_value, lambda text: yaml_value(decoded(text))):
        with watched():
            try:
                found = read(case)
            except Unreadable as error:
                raise DataError(error.at("here")) from None
            if read is json_value:
                json.dumps(found, allow_nan=False).encode()
