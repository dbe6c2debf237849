"""The texts that `undogmatic score` is given: on standard input, as `--input`, in `@FILE`."""

import io
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.conftest import RUBRIC
from tests.fuzzing._values import one_message, writable
from undogmatic.api import _item
from undogmatic.cli import main
from undogmatic.cli.score import _read

Case = tuple[str, bytes | None, tuple[str, ...]]
"""The text or "" for none, what is on standard input (None: it is closed) and in fuzzed.txt, the
words of --input."""


def strategy() -> st.SearchStrategy[Case]:
    encoded = st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace"))
    words = st.sampled_from(
        "text=- text=@fuzzed.txt text=@ text=@. text=@/dev/null text=@~nobody/x".split()
    )
    words |= st.sampled_from(["text=@\0", "text=", "=", "text"]) | st.text(max_size=8)
    text = st.sampled_from(["", "-", "a"]) | st.text(max_size=8)
    return st.tuples(
        text,
        st.none() | st.binary(max_size=100) | encoded,
        st.lists(words, max_size=2).map(tuple),
    )


def enter(case: Case) -> None:
    """A text that can be judged and written, or one message."""
    text, content, inputs = case
    Path("fuzzed.txt").write_bytes(content or b"")
    given = Namespace(file=None, input=list(inputs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys,
            "stdin",
            None if content is None else io.TextIOWrapper(io.BytesIO(content)),
        )
        with one_message():
            _, texts = _read(given, None if inputs else text, RUBRIC)
            writable([_item(1, texts[0], RUBRIC)])
        words = ["score", *(word for one in inputs for word in ("--input", one)), text]
        if any("\ud800" <= c <= "\udfff" for word in words for c in word):
            with pytest.raises(SystemExit) as stopped:
                main(words)
            assert stopped.value.code == 2


EXAMPLES: list[Case] = [
    *(
        ("-", said, ())
        for said in (
            None,
            b"",
            b"caf\xe9",
            "café".encode("utf-16"),
            b"a\0b",
            b"a" * 11_000_000,
        )
    ),
    *((text, b"", ()) for text in ("\udce9", "a\0b", "")),
    ("", b"\xe9", ("text=@fuzzed.txt",)),
    *(
        ("", b"x", (f"text=@{file}",))
        for file in ("/dev/zero", "~nobody/x", "x" * 5000, "\0")
    ),
    *(
        ("", b"x", words)
        for words in (
            ("text=-", "text=-"),
            ("=x",),
            ("nobody=" + "x" * 100_000,),
            ("x" * 100_000,),
        )
    ),
]
