"""Tests the record of a run: what it refuses, and that a file gives back what was written."""

import json

import pytest
from pydantic import ValidationError

from undogmatic.records.trace import Assessment, Step, Trace, as_jsonl


def trace() -> Trace:
    steps = (
        {"kind": "user", "text": "Quanto é 12 × 7?"},
        {
            "kind": "tool_call",
            "name": "calc",
            "text": '{"a": 12}',
            "parent": 0,
            "time": 1.5,
        },
        {
            "kind": "tool_result",
            "name": "calc",
            "text": "84",
            "parent": 1,
            "seconds": 0.25,
        },
        {"kind": "tool_result", "name": "calc", "error": True, "parent": 1},
        {"kind": "assistant", "text": "84.", "parent": 2, "tokens": 7},
    )
    said = (
        Assessment(by="grader", value=4, criterion="tool_use"),
        Assessment(by="ana", value="ok", person=True, step=2),
        Assessment(by="grader", criterion="safety", reason="refused"),
    )
    return Trace(run="r1", task="contas", steps=steps, success=1, assessments=said)


def test_a_line_gives_back_the_run() -> None:
    whole = trace().replace(metadata={"model": "m", "made": {"a": [1, 2]}})
    (line,) = as_jsonl([whole])
    assert line.endswith("}\n") and line.count("\n") == 1
    assert Trace.model_validate(json.loads(line)) == whole
    form = json.loads(line)
    assert "place" not in form["steps"][1] and "×" in line
    assert "text" not in form["steps"][3], (
        "a text that is not held is not written as an empty one"
    )


def test_steps_get_their_run_and_place() -> None:
    assert [(s.run, s.place) for s in trace().steps] == [("r1", n) for n in range(5)]
    with pytest.raises(
        ValidationError, match="step 0 says that it is step 3 of the run 'x'"
    ):
        Trace(run="r1", steps=(Step(run="x", place=3, kind="user"),))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "robot"}, "Input should be 'user'"),
        ({"kind": "user", "parent": 0}, "does not stand before it"),
        ({"kind": "user", "text": "a\0b"}, "NUL"),
        ({"kind": "user", "seconds": -1}, "greater than or equal to 0"),
        ({"kind": "user", "colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_a_wrong_step_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Step(run="r", place=0, **fields)  # type: ignore[arg-type]


def test_an_assessment_is_of_a_step_that_exists() -> None:
    with pytest.raises(ValidationError, match="step 5, which does not exist"):
        trace().replace(assessments=(Assessment(by="a", value=1, step=5),))


def test_places_and_parents_are_counted_anew() -> None:
    first, call, result, failed, last = trace().steps
    without = trace().with_steps([first, call, failed, last], run="r1-cut")
    assert [s.place for s in without.steps] == [0, 1, 2, 3] and without.run == "r1-cut"
    assert [s.parent for s in without.steps] == [None, 0, 1, None], (
        "the last one's parent is gone"
    )
    assert without.success is None and not without.assessments

    again = trace().with_steps([first, call, result, call, result, last])
    assert [s.parent for s in again.steps] == [None, 0, 1, 0, 3, 4]


def test_tools_are_counted() -> None:
    assert trace().calls() == {"calc": 1}
