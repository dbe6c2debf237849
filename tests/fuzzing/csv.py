"""A CSV file as a dataset."""

from hypothesis import strategies as st

from tests.fuzzing._values import pieces, reading, sheet
from tests.fuzzing.jsonl import COLUMNS

TOKENS = (
    *"id text label label.a.b , ; \" ' =1+1 -5 é \0 nan".split(),
    "\t",
    "\n",
    "\r",
    "\r\n",
    " ",
)
ENCODINGS = ("utf-8", "utf-8-sig", "latin-1", "utf-16", "cp1252")


def strategy() -> st.SearchStrategy[bytes]:
    cells = st.text(max_size=8) | st.sampled_from(
        ["", "7", "1e400", "nan", "true", "=1+1", "a\rb", "[1]", "x" * 2000]
    )
    header = st.lists(st.sampled_from(COLUMNS) | cells, min_size=1, max_size=5).map(
        lambda names: ["text", *names]
    )
    table = st.builds(
        lambda head, body: [head, *body],
        header,
        st.lists(st.lists(cells, max_size=7), max_size=4),
    )
    ends, marks = st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(",,,;\t")
    tables, parts = (
        st.builds(sheet, table, st.sampled_from(ENCODINGS), ends, marks),
        pieces(TOKENS, 30),
    )
    return st.one_of(
        tables,
        parts.map(lambda rest: b"id,text\n" + rest),
        parts,
        st.binary(max_size=300),
    )


enter = reading("fuzzed.csv")
EXAMPLES: list[bytes] = [
    *(
        b"",
        b"\n\n",
        b'"id";"text"\n1;a',
        b"text,text\na,b\n",
        b",text,\n0,a,\n",
        b"text,id\na\nb,2,3\n",
        b'text,id\r\n"\r0"\r\n',  # a line break of another kind within the only cell
    ),
    *(
        b"text\n" + rest
        for rest in (
            b"",
            b"a" * 200_000,
            b"a" * 11_000_000,
            b"," * 9_000_000,
            b"a\0b\n",
        )
    ),
    *(
        b"text\n" + rest
        for rest in (
            b'"' + b"a\n" * 3_000_000,
            b'"' + b"a\n" * 6_000_000,
            b'"a',
            b"caf\xe9\n",
        )
    ),
    b",".join(b"c%d" % n for n in range(10_000)) + b",text\n" + b"1," * 10_000 + b"a\n",
    b'text\na"b"c\n"d"e\n',
    *("text\na\n".encode(code) for code in ("utf-16", "utf-16-le", "utf-8-sig")),
    b"text\ra\rb\r",
    b'text,id\r\n"a\rb",1\n"c\r\nd",2\r',
    b"a text without a header\nanother\n",
    b"x" * 100_000 + b"\ny\n",
    b"id,text\n=1+1,a\n'=1+1,b\n-5,c\n@x,d\n",
    b"text,label\na,nan\nb,1e400\nc,1_0\nd,true\n",
]
