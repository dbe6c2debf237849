"""`undogmatic review import`: a filled sheet, and the labels that a run's folder holds already."""

from pathlib import Path

from hypothesis import strategies as st

from tests.conftest import RUBRIC
from tests.fuzzing._values import lines, one_message, sheet
from tests.fuzzing.csv import ENCODINGS
from tests.fuzzing.jsonl import odd
from undogmatic.review import labels

ITEMS = dict.fromkeys(["a", "=1+1", "'=1+1", "'a", "-5", "é"])
COLUMNS = (
    "item_id",
    "label",
    "labeller",
    "comment",
    "inclusion_probability",
    "queue",
    "x",
)
Case = tuple[str, bytes, str | None, str | None]
"""The file's suffix, its bytes, --scale, --labeller."""


def strategy() -> st.SearchStrategy[Case]:

    def table(
        rows: list[dict[str, str]], encoding: str, mark: str
    ) -> tuple[str, bytes]:
        cells = [[row.get(name, "") for name in COLUMNS] for row in rows]
        return ".csv", sheet([COLUMNS, *cells], encoding, mark=mark)

    ids = st.sampled_from([*ITEMS, "''=1+1", "nobody", "", "x" * 5000])
    cells = st.sampled_from(
        ["", "7", "7,5", "1e400", "nan", "'5", "true", "-1", "0.5", "a\rb"]
    ) | st.text(max_size=6)
    row = st.fixed_dictionaries(
        {"item_id": ids, "label": cells}, optional={name: cells for name in COLUMNS[2:]}
    )
    tables = st.builds(
        table,
        st.lists(row, max_size=4),
        st.sampled_from(ENCODINGS),
        st.sampled_from(",,;\t"),
    )
    objects = st.fixed_dictionaries(
        {"item_id": ids | odd, "label": odd},
        optional={name: odd for name in COLUMNS[2:]},
    )
    written = st.lists(objects, max_size=4).map(lambda rows: (".jsonl", lines(rows)))
    raw = st.tuples(st.sampled_from([".csv", ".jsonl"]), st.binary(max_size=200))
    scales = (
        st.none()
        | st.sampled_from(["0-10", "10-0", "0-" + "9" * 400, "a", "0--5", "-5--1"])
        | st.text(max_size=5)
    )
    names = st.none() | st.sampled_from(["ana", "", "=x", "a\nb", "\ud800", "x" * 3000])
    return st.builds(
        lambda file, scale, who: (*file, scale, who),
        tables | tables | written | raw,
        scales,
        names,
    )


def enter(case: Case) -> None:
    """Labels are added, and read back as they were; or one message names the file or the option."""
    suffix, content, scale, labeller = case
    path, folder = Path(f"fuzzed{suffix}"), Path("run")
    folder.mkdir(exist_ok=True)
    kept = folder / labels.FILE
    kept.unlink(missing_ok=True)
    path.write_bytes(content)
    checked = None
    with one_message(["--scale"]):
        ends = None if scale is None else labels.parse_scale(scale)
        with one_message([path], lines=20):
            source, rows, _ = labels.read_sheet(str(path))
            options = {"scale": ends, "labeller": labeller, "revise": False}
            checked = labels.check(
                str(source), rows, items=ITEMS, rubric=RUBRIC, before=[], **options
            )
    if checked is None:
        return
    labels.append(folder, checked.new)
    found = labels.read(folder)
    assert found == checked.new
    assert all(one.item_id in ITEMS and 0 <= one.label <= 100 for one in found)
    kept.write_bytes(content)  # and as what a folder holds already
    with one_message([kept]):
        labels.read(folder)


def _csv(*rows: str) -> bytes:
    return "\n".join(("item_id,label,queue", *rows)).encode()


_LONG = ("a," + "9" * 5000 + ",", 'a,"' + "9" * 300_000 + '",', "x" * 1_000_000 + ",5,")
_LABELS = (
    b"[" * 100_000,
    b"[" * 90 + b"]" * 90 + b"}",
    b"[" + b"1," * 100_000 + b"1]}",
)
_MORE = (b'"labeller": {"x": 1}, "comment": [1], "queue": 7}', b'"labeller": "a\\nb"}')


EXAMPLES: list[Case] = [
    (".csv", _csv("a,50,"), "0-" + "9" * 400, None),
    *((".csv", _csv("a,50,"), None, name) for name in ("\ud800", "x" * 5000)),
    (".csv", _csv("=1+1,1,q", "'=1+1,2,q", "''=1+1,99,q", "'a,3,"), "0-100", None),
    *((".csv", _csv(row), None, None) for row in _LONG),
    *(
        (".csv", content, None, None)
        for content in (b"", _csv("a,50,", "a,60,"), b"item_id,label\na,5\0\n")
    ),
    (".csv", "item_id,label\né,5\n".encode("latin-1"), None, None),
    (".csv", "item_id,label\na,5\n".encode("utf-16"), None, None),
    *(
        (".jsonl", b'{"item_id": "a", "label": ' + label, None, None)
        for label in _LABELS
    ),
    *(
        (".jsonl", b'{"item_id": "a", "label": 5, ' + more, None, None)
        for more in _MORE
    ),
    *(
        (".jsonl", content, None, None)
        for content in (b'{"item_id": ["a"], "label": {"b": 1}}', b"\x80\x04\x95")
    ),
]
