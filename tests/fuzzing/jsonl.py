"""A file of JSON Lines as a dataset."""

import json

from hypothesis import strategies as st

from tests.fuzzing import _values as values
from tests.fuzzing._values import lines, reading

COLUMNS = "id text label labels condition pair inputs parent maker metadata label.a.b x".split()
TOKENS = (
    *(json.dumps(name) for name in COLUMNS),
    *'{ } [ ] : , " \\ null true NaN -Infinity 1e400 7 0.5 "7" {} [] "=1+1" "../x" "\\ud800"'
    ' "\\u0000" "a\\nb"'.split(),
    *(" ", "\n", "\r", "1" * 400, '{"text": "a"}'),
)
odd = values.odd() | st.sampled_from(["'=1", "-5", "nan", "1_0", "a\rb", {}, []])
rows = st.dictionaries(st.sampled_from(COLUMNS) | st.text(max_size=5), odd, max_size=6)


def strategy() -> st.SearchStrategy[bytes]:
    whole = st.lists(rows.map(lambda row: {"text": "a"} | row), min_size=1, max_size=3)
    written = st.builds(lines, whole, st.booleans())
    other = whole.map(lambda found: json.dumps(found[0]).encode("utf-16"))
    return written | values.pieces(TOKENS, 20) | other | st.binary(max_size=300)


enter = reading("fuzzed.jsonl")
_ROWS = (
    r'"text": "a\u0000b"|"text": "\ud800"|"text": "a", "x": {"\ud800": 1}|"text": "a", "label":'
    r" 1e400|"
    '"text": "a", "label": NaN|"text": "a", "labels": [1], "label": 2|"text": "a", "labels": [1],'
    ' "label.a": 2|'
    '"text": "a", "labels": {"overall": [1]}, "label": 2|"text": "a", "inputs": [1]|"text": "a",'
    ' "text": "b"|'
    r'"id": "", "text": "a"|"id": null, "text": "a"|"id": true, "text": "a"|"id": "a\nb",'
    r' "text": "a"'
)
EXAMPLES: list[bytes] = [
    *(f"{{{row}}}".encode() for row in _ROWS.split("|")),
    *('{"text": "a"}'.encode(code) for code in ("utf-16", "utf-16-le")),
    *(b"", b"\xef\xbb\xbf", b'{"text": "caf\xe9"}', b'{"text": "a\x00b"}'),
    b'{"text": "a", "label": ' + b"1" * 5000 + b"}",
    b'{"text": "a", "label": true}\n{"text": "b", "label": "7"}\n{"text": "c", "label": [7]}',
    b'{"text": "a", "x": ' + b"[" * 150 + b"]" * 150 + b"}",
    b'{"text": "a", "x": ' + b"[" * 100_000,
    b'{"text": "a", "x": [' + b"{}," * 300_000 + b"{}]}",
    b'{"text": "a", "x": "' + b'\\"' * 300_000 + b"[" * 300_000,
    b'{"id": "' + b"x" * 1_000_000 + b'", "text": "a"}',
    b'{"id": "../../x", "text": "a"}\n{"id": "=1+1", "text": "b"}\n{"id": "\'=1+1", "text": "c"}',
    b'{"text": "a"}\r{"text": "b"}\r',
    b'{"text": "a"}\r\n{"text": "b"}\n\n{"text": "c"}',
    b'{"text": "' + b"a" * 11_000_000 + b'"}',
]
