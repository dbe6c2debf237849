"""The file `.env` of the working directory: a value, none, or one message."""

import contextlib
import os
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzzing._values import one_message
from undogmatic.models.http import find_key
from undogmatic.safety.variables import setting

NAME = "A_KEY_OF_NOBODY"


def strategy() -> st.SearchStrategy[bytes | None]:
    parts = st.sampled_from(
        [
            NAME,
            "OTHER",
            "=",
            "export ",
            '"',
            "'",
            "\n",
            "\r\n",
            "\r",
            "#",
            " ",
            "\\",
            "$",
            "${X}",
            "sk-123456789",
            "é",
            "\0",
            "\ufeff",
            "`",
            "\x0c",
            "\u2028",
            ";",
            ":",
        ]
    )
    lines = st.lists(parts, max_size=30).map(lambda found: "".join(found).encode())
    named = lines.map(lambda rest: NAME.encode() + b"=" + rest)
    return st.one_of(st.binary(max_size=200), lines, named)


def enter(content: bytes | None) -> None:
    """Look a key up in a folder whose `.env` is this; None: a folder of that name."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        file = Path(".env")
        if content is None:
            file.mkdir()
        else:
            file.write_bytes(content)
        assert NAME not in os.environ
        with one_message((NAME, ".env")):
            value = setting(NAME)
            assert value is None or value.strip()
            find_key(NAME, "model=gpt")


EXAMPLES: list[bytes | None] = [
    None,
    b"",
    NAME.encode(),
    f"{NAME}=".encode(),
    f"export {NAME}=sk-1".encode(),
    f"{NAME}='sk".encode(),
    f'{NAME}="sk\nX=1\n'.encode(),
    f"{NAME}=sk".encode("utf-16"),
    f"{NAME}=\xe9".encode("latin-1"),
    f"{NAME}=a\0b".encode(),
    b"\xef\xbb\xbf" + f"{NAME}=sk-1".encode(),
    b"x" * 10_000_000,
    f"{NAME}=".encode() + b"y" * 900_000,
    b"A=1\n" * 100_000,
    f"{NAME} = sk".encode(),
    f"{NAME}=${{{NAME}}}".encode(),
    b"=\n" * 1000,
    b"'" * 5000,
    b'"\n' * 5000,
    b"\\" * 5000,
    f"{NAME}=sk\n{NAME}='".encode(),
    f"set -a\n{NAME}=sk\n".encode(),
]
