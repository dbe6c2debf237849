"""Whatever bytes come from outside: plain data, or one sentence with its place."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from omegaconf._utils import get_yaml_loader  # what Hydra reads with has no public name

from undogmatic.errors import DataError
from undogmatic.safety.outside import (
    Unreadable,
    has_halves,
    json_value,
    read_json,
    read_lines,
    read_text,
    read_yaml,
    yaml_value,
)

SURROGATE = range(0xD800, 0xE000)


@given(
    st.lists(
        st.integers(0, 0x10FFFF).map(chr)
        | st.sampled_from(["\ud800", "\udfff", "é", "a"])
    )
)
def test_half_of_a_character_is_found_wherever_it_stands(parts: list[str]) -> None:
    assert has_halves("".join(parts)) == any(ord(part) in SURROGATE for part in parts)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n"
    for n in range(8)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"\\ud800"', "half of a character"),
        ('"\ud800"', "half of a character"),
        ("1" * 5000, "endless number"),
        ("1" * 400, "endless number"),
        ("1e999", "endless number"),
        ("[" * 5000, "nested too deeply"),
        ('{"a": NaN}', "not JSON"),
        ('{"a": 1} x', "trailing characters"),
        ("", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b'"\xe9"', "not UTF-8"),
        ('"a"'.encode("utf-16"), "UTF-16"),
        (b'"a\x00"', "NUL"),
    ],
)
def test_what_is_not_json_is_said_in_one_line(text: str | bytes, said: str) -> None:
    with pytest.raises(Unreadable, match=said) as caught:
        json_value(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a: "x', "a quote is left open"),
        ("a: 1\na: 2", "second time"),
        ("a: !!python/object/apply:os.system [x]", "Python object"),
        ("a: !!python/name:os.system", "Python object"),
        ("\ta: 1", "a tab or another character"),
        ("a: &x [*x]", "stands for what it lies in"),
        ("{" * 20000, "nested too deeply"),
        ("- " * 20000, "nested too deeply"),
        ("a: 0x" + "f" * 5000, "endless number"),
        ("a: " + "1" * 5000, "digits"),
        ("a: !!timestamp x", "tag"),
        ("a: !!binary '%%'", "tag"),
        ("? [a]\n: 1", "no word"),
        ("a: \ud800", "not YAML"),
        ("a\n---\nb", "another document"),
        (BOMB, "more than 100,000 values"),
    ],
)
def test_what_is_not_yaml_is_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said) as caught:
        yaml_value(text)
    assert "\n" not in str(caught.value)


def test_yaml_is_read_as_hydra_reads_it() -> None:
    read = {"a": 0.001, "b": "2020-01-01", "c": True, "d": [1], "e": [1], "f": None}
    assert yaml_value("a: 1e-3\nb: 2020-01-01\nc: on\nd: &x [1]\ne: *x\nf: ~") == read


@given(st.text("0159-+._:eExoinfINFaAN", min_size=1, max_size=7))
def test_a_scalar_is_what_omegaconf_takes_it_for(word: str) -> None:
    def read(load: Callable[[str], Any]) -> str:
        try:
            return repr(load(word))
        except (Unreadable, yaml.YAMLError, ValueError):
            return "refused"

    assert read(yaml_value) == read(lambda text: yaml.load(text, get_yaml_loader()))


WORDS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = (
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
)


@given(
    st.recursive(
        PLAIN,
        lambda inner: st.lists(inner) | st.dictionaries(WORDS, inner),
        max_leaves=20,
    )
)
def test_json_comes_back_as_it_was(value: object) -> None:
    assert json_value(json.dumps(value)) == value


def test_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b'{"a":\n  1,\n')
    with pytest.raises(DataError, match=r"run\.json:3: not JSON"):
        read_json(path)
    path.write_bytes("a: café".encode("latin-1"))
    for reader in (read_text, read_yaml, read_json):
        with pytest.raises(DataError, match=r"run\.json:1: not UTF-8 \(byte 6\)"):
            reader(path)
    with pytest.raises(DataError, match="not a file"):
        read_text(tmp_path)
    with pytest.raises(DataError, match="No such file"):
        read_text(tmp_path / "nowhere")
    path.write_bytes(b"\xef\xbb\xbfone\r\n\n two\n")
    assert list(read_lines(path)) == [(1, b"one"), (3, b" two")]
    with pytest.raises(DataError, match=r"run\.json:1: a line of more than 2 bytes"):
        list(read_lines(path, most=2))
    assert math.isclose(yaml_value("1.5e3"), 1500)
