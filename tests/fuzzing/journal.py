"""The door of a run's own lines: journal and ledger as they lie on the disk when a run is read or
resumed."""

from typing import Any

from hypothesis import strategies as st

from tests.fuzzing import watched
from tests.fuzzing._values import folder, odd, spoiled, written
from undogmatic.engine import journal
from undogmatic.engine.journal import Journal, Ledger
from undogmatic.records.records import Judgment, Made
from undogmatic.runs.index import read_records

PROVENANCE = dict.fromkeys(
    ("model", "readout", "prompt", "prompt_hash", "program_hash", "config_hash"), "x"
)
CALL = {
    "model": "m",
    "request": {"messages": [{"role": "user"}]},
    "reply": {"choices": [1]},
    "usd": 0.1,
    "attempts": 2,
}
VERDICT = {
    "kind": "verdict",
    "score": 1.5,
    "interval": [1, 2],
    "details": {"a": 1.0},
    "rationale": "why",
}
FAILURE = {"kind": "failure", "reason": "transport", "message": "gone"}
GOOD: list[dict[str, Any]] = [
    {
        "item_id": "a",
        "judge": "score",
        "outcome": outcome,
        "cost": {"calls": 1, "usd": 0.5},
        "provenance": PROVENANCE,
    }
    | {"calls": [CALL]}
    for outcome in (VERDICT, FAILURE)
]
MADE = {"kind": "items", "items": [{"id": "b", "text": "t"}]}
GOOD.append({"item_id": "a", "step": "s", "outcome": MADE, "cost": {}})
SPENT = [{"calls": 1}, {"usd": 0.25}, {"calls": 7, "usd": 1.5}]

EXAMPLES: list[bytes] = [
    b"\x00\x01\x02",
    b"\xff\xfe{\x00}\x00",
    b'{"item_id": "\\ud800"}\n',
    b"[" * 50_000 + b"\n",
    b'{"calls": ' + b"9" * 5000 + b"}\n",
    b'{"usd": 1e999}\n{"usd": NaN}\n',
    b'{"item_id": "a", "jud',
    b"[]\n7\nnull\n",
]


def strategy() -> st.SearchStrategy[bytes]:
    good = st.sampled_from([*GOOD, *SPENT])
    line = st.one_of(
        good.map(written),
        good.flatmap(spoiled).map(written),
        odd().map(written),
        st.binary(max_size=30),
    )
    ends = st.sampled_from([b"\n", b"\r\n", b"\n\n", b""])
    return st.lists(st.tuples(line, ends), min_size=1, max_size=4).map(
        lambda pairs: b"".join(a + b for a, b in pairs)
    )


def enter(case: bytes) -> None:
    """Records, which can be written again and go on; or one message with the file and the line."""
    path = folder() / "judgments.jsonl"
    kinds: tuple[Any, ...] = (Judgment, Made)
    for record in kinds:
        path.write_bytes(case)
        with watched(str(path)):
            for each in read_records(path, record):
                assert (
                    record.model_validate_json(journal.written(each)[1]).key == each.key
                )
        with watched(str(path)):
            known = len(Journal(path, record).done)
            assert len(Journal(path, record).done) == known
    path.write_bytes(case)
    with watched(str(path)):
        spent = Ledger(path, ())
        assert spent.calls >= 0 and spent.usd >= 0
        with Ledger(path, ()) as further:
            further.note(1, 0.0)
        assert Ledger(path, ()).calls == spent.calls + 1
