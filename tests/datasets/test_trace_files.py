"""Tests what is read from files of runs: the story of each fixture (tests/fixtures/make_traces.py says
how they were made), bad input, and that runs, turns and steps of a file agree."""

import json
import os
import random
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put, typed
from undogmatic.cli.checked import check
from undogmatic.datasets.frames import read_frame
from undogmatic.datasets.readers.traces import Faults, every, find, page, read_traces
from undogmatic.datasets.readers.traces.messages import drafts_of
from undogmatic.datasets.readers.traces.script import time_of
from undogmatic.datasets.readers.traces.units import UNITS, Unit, turns_of
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.datasets.trace_text import within
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import as_number
from undogmatic.records.trace import Assessment, Step, Trace, as_jsonl
from undogmatic.report.check import words_of
from undogmatic.safety import outside
from undogmatic.safety.outside import json_pieces

HERE = Path(__file__).parents[1] / "fixtures" / "traces"
EN = (
    "Where is my order 17?",
    '{"order": 17}',
    "Order 17: sent on Monday.",
    "It was sent on Monday.",
)
PT = (
    "Onde está o meu pedido 18?",
    '{"order": 18}',
    "Pedido 18 não encontrado.",
    "O pedido 18 foi entregue.",
)
STORY = ("user", "tool_call", "tool_result", "assistant")
TOOLS = {
    "otlp.json": "spans of OpenTelemetry",
    "otlp_lines.jsonl": "spans of OpenTelemetry",
    "console.json": "spans of OpenTelemetry",
    "no_content.jsonl": "spans of OpenTelemetry",
    "desk.eval": "a log of Inspect",
    "desk.json": "a log of Inspect",
    "agents_session.jsonl": "a session of the OpenAI Agents SDK",
    "agents_rows.jsonl": "a session of the OpenAI Agents SDK",
    "codex_rollout.jsonl": "a session of the OpenAI Agents SDK",
    "claude_session.jsonl": "a session of Claude Code",
    "langsmith.jsonl": "runs of LangSmith",
    "langfuse.json": "traces of Langfuse",
}


def read(path: Path) -> tuple[list[Trace], dict[str, dict[str, Any]]]:
    """The runs of a file, and what is wrong with it, by kind."""
    faults = Faults()
    traces = list(read_traces(path, faults))
    return traces, {
        each.key.removeprefix("trace_files."): dict(each.values)
        for each in faults.findings()
    }


def written(path: Path, *lines: Any) -> Path:
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def test_every_file_is_recognised() -> None:
    assert set(TOOLS) == {path.name for path in HERE.iterdir()}
    found = {name: find(HERE / name) for name in TOOLS}
    assert {name: reader and reader.name for name, reader in found.items()} == TOOLS


def test_no_reader_takes_a_table(tmp_path: Path) -> None:
    for path in sorted(HERE.parent.glob("*/*.*")):
        if path.parent != HERE and path.suffix in (".json", ".jsonl", ".csv"):
            reader = find(path)
            known = reader is None or reader.name in (
                "a log of Inspect",
                "traces of Langfuse",
            )
            assert known, f"{path} was taken for {reader and reader.name}"
    rows = written(
        tmp_path / "a.jsonl", {"item": "1", "judge": "a", "verdict": 1, "label": 1}
    )
    assert find(rows) is None


@pytest.mark.parametrize(
    "name",
    ["otlp.json", "agents_rows.jsonl", "langfuse.json", "langsmith.jsonl", "desk.json"],
)
def test_the_whole_story_is_read(name: str) -> None:
    (english, portuguese), _ = read(HERE / name)
    for trace, story in ((english, EN), (portuguese, PT)):
        steps = [s for s in trace.steps if s.text != "tool call for tool look_up"]
        assert tuple(step.kind for step in steps) == STORY
        texts = [step.text for step in steps]
        if name == "langsmith.jsonl" and story is PT:
            assert texts.pop(2) == "KeyError('Pedido 18 não encontrado.')"
            assert texts == [PT[0], PT[1], PT[3]]
        else:
            assert tuple(texts) == story
        assert [s.name for s in steps] == [None, "look_up", "look_up", None]
        assert steps[2].parent == steps[1].place, "a result follows from its call"
        assert trace.task == story[0]
    if name != "agents_rows.jsonl":  # whose items do not say that a tool failed
        assert [s.error for s in portuguese.steps if s.kind == "tool_result"] == [True]
        assert not any(s.error for s in english.steps)


@pytest.mark.parametrize("name", ["otlp_lines.jsonl", "console.json"])
def test_older_conventions_of_opentelemetry(name: str) -> None:
    traces, faults = read(HERE / name)
    for trace, story in zip(traces, (EN, PT), strict=True):
        assert tuple(step.kind for step in trace.steps) == STORY
        result = story[2] if name == "otlp_lines.jsonl" else None
        assert tuple(s.text for s in trace.steps) == (*story[:2], result, story[3])
        assert [s.seconds for s in trace.steps] == [None, 1.0, 0.75, 1.0]
        assert [s.tokens for s in trace.steps] == [None, 7, None, 8]
    assert ("no_text" in faults) == (name == "console.json")


def test_spans_without_content_are_counted() -> None:
    traces, faults = read(HERE / "no_content.jsonl")
    for trace in traces:
        assert [s.kind for s in trace.steps] == ["assistant", *STORY[1:]]
        assert [s.text for s in trace.steps] == [None] * 4
        assert trace.steps[2].seconds == 0.75 and trace.steps[2].name == "look_up"
    assert (
        faults["no_text"]["n"] == 8
        and "no_content.jsonl#" in faults["no_text"]["place"]
    )


def test_a_session_of_claude_code() -> None:
    (session, agent), faults = read(HERE / "claude_session.jsonl")
    assert not faults
    kinds = [(s.kind, s.name) for s in session.steps]
    assert kinds == [
        ("user", None),
        ("other", "reasoning"),
        ("assistant", None),
        ("tool_call", "Bash"),
        ("tool_result", "Bash"),
        ("tool_call", "Task"),
        ("tool_result", "Task"),
        ("assistant", None),
        ("user", None),
    ]
    assert session.steps[4].error and session.steps[4].seconds == 2.0
    assert session.steps[4].text == PT[2]
    assert [s.tokens for s in session.steps if s.tokens] == [9, 9, 9], (
        "once for each reply"
    )
    assert agent.run == f"{session.run}/a1" and agent.metadata["group"] == session.run
    assert [s.text for s in agent.steps] == ["Find order 18", "There is none."]
    assert [len(turn) for turn in turns_of(session)] == [8, 1]


def test_a_session_of_codex() -> None:
    ((trace,), faults) = read(HERE / "codex_rollout.jsonl")
    assert trace.run == "019a-codex" and not faults
    assert [s.kind for s in trace.steps] == ["user", "other", *STORY[1:]]
    assert trace.steps[3].text == EN[2] and trace.steps[3].seconds == 1.5


def test_a_session_is_called_as_its_file() -> None:
    ((trace,), _) = read(HERE / "agents_session.jsonl")
    assert trace.run == "agents_session" and tuple(s.text for s in trace.steps) == EN


@pytest.mark.parametrize(
    ("name", "judge", "criterion"),
    [
        ("otlp.json", "gen_ai.evaluation", "task_success"),
        ("langsmith.jsonl", "langsmith feedback", "correctness"),
        ("langfuse.json", "langfuse eval", "success"),
        ("desk.json", "includes", "overall"),
        ("desk.eval", "includes", "overall"),
    ],
)
def test_verdicts_and_labels_of_runs(name: str, judge: str, criterion: str) -> None:
    table = read_table(HERE / name, TableOptions(unit="run"))
    verdicts = table.verdicts
    assert set(verdicts["judge"]) == {judge} and set(verdicts["criterion"]) == {
        criterion
    }
    assert verdicts["verdict"].tolist() == [1.0, 1.0]
    assert table.labels["label"].tolist() == [1.0, 0.0], (
        "a person saw that the second one failed"
    )
    assert table.items["text"].str.contains("look_up").all()


def test_a_verdict_on_a_step_is_of_that_step() -> None:
    table = read_table(HERE / "langfuse.json", TableOptions(unit="step"))
    assert set(table.verdicts["judge"]) == {"langfuse api"}
    assert list(table.verdicts["item"]) == ["trace-order-en/2", "trace-order-pt/2"]
    assert set(table.items["group"]) == {"session-1"}
    (found,) = [n for n in table.read if n.key == "trace_files.elsewhere"]
    assert found.values["n"] == 4


def test_inspect_says_of_a_run_what_it_says_of_a_sample() -> None:
    path = HERE.parent / "inspect_ai-0.3.285" / "capitals.eval"
    alone, unit = read_table(path), read_table(path, TableOptions(unit="run"))
    said = [
        t.verdicts.groupby(["judge", "criterion"])["verdict"].apply(
            lambda own: own.notna().sum()
        )
        for t in (alone, unit)
    ]
    assert said[0].to_dict() == said[1].to_dict()
    assert unit.items["group"].nunique() == 4, "the epochs of a sample are one group"


# Units


def own_file(path: Path, runs: int = 5) -> Path:
    """Runs of one, two, ... turns, each with a use of a tool; the last step of each turn and the
    whole are judged."""
    traces = []
    for number in range(runs):
        steps: list[dict[str, Any]] = []
        said = [
            Assessment(by="judge", value=number % 2),
            Assessment(by="ana", value=1, person=True),
        ]
        for turn in range(number + 1):
            steps += [
                {"kind": "user", "text": f"Pergunta {turn}"},
                {"kind": "tool_call", "name": "busca", "text": "{}"},
                {
                    "kind": "tool_result",
                    "name": "busca",
                    "error": turn == 1,
                    "seconds": 2,
                },
                {"kind": "assistant", "text": "Pronto.", "tokens": 3},
            ]
            said.append(Assessment(by="judge", value=1, step=len(steps) - 1))
        traces.append(
            Trace(run=f"r{number}", steps=tuple(steps), assessments=tuple(said))
        )
    path.write_text("".join(as_jsonl(traces)), encoding="utf-8")
    return path


def rows_of(path: Path, unit: Unit) -> list[dict[str, Any]]:
    return list(read_frame(path, unit=unit).cells.to_dict("records"))


def test_the_units_of_a_file_agree(tmp_path: Path) -> None:
    path = own_file(tmp_path / "runs.jsonl")
    read_notes = {}
    for unit in UNITS:
        frame = read_frame(path, unit=unit)
        read_notes[unit] = next(
            n for n in frame.notes if n.key == f"trace_files.read_{unit}"
        )
    held = [
        {k: note.values[k] for k in ("runs", "turns", "steps")}
        for note in read_notes.values()
    ]
    assert held == [{"runs": 5, "turns": 15, "steps": 60}] * 3
    assert [read_notes[unit].values["n"] for unit in ("run", "turn", "step")] == [
        5,
        15,
        60,
    ]
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(as_jsonl(t.replace(assessments=()) for t in read_traces(path))),
        encoding="utf-8",
    )
    runs, turns, steps = (rows_of(bare, unit) for unit in ("run", "turn", "step"))
    assert [len(rows) for rows in (runs, turns, steps)] == [5, 15, 60]
    for name in ("steps", "calls", "errors", "characters"):
        assert sum(row[name] for row in runs) == sum(row[name] for row in turns), name
    assert sum(row["steps"] for row in runs) == len(steps)
    assert (
        sum(row["errors"] for row in runs)
        == sum(row["error"] == "true" for row in steps)
        == 4
    )
    assert sum(row["characters"] for row in runs) == sum(
        row["characters"] for row in steps
    )
    assert sum(row["calls"] for row in runs) == sum(
        row["kind"] == "tool_call" for row in steps
    )
    assert {row["group"] for row in steps} == {row["item"] for row in runs}
    assert sum(row["repeated_calls"] for row in runs) == sum(
        row["kind"] == "tool_call" and row["repeated"] == "true" for row in steps
    )


def test_items_have_what_was_said_of_them(tmp_path: Path) -> None:
    path = own_file(tmp_path / "runs.jsonl")
    run, turn, step = (
        read_table(path, TableOptions(unit=unit)) for unit in ("run", "turn", "step")
    )
    assert len(run.verdicts) == 5 and len(run.labels) == 5
    assert (
        list(turn.verdicts["item"][:3]) == ["r0/1", "r1/1", "r1/2"]
        and len(turn.verdicts) == 15
    )
    assert (
        list(step.verdicts["item"][:3]) == ["r0/3", "r1/3", "r1/7"]
        and len(step.verdicts) == 15
    )
    assert "Pergunta 1" in turn.items.loc["r1/2", "text"]
    assert "Pergunta 1" not in turn.items.loc["r1/1", "text"], (
        "what comes later was not seen"
    )


def test_a_table_beside_it_speaks_of_steps(tmp_path: Path) -> None:
    path = own_file(tmp_path / "runs.jsonl")
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(as_jsonl(t.replace(assessments=()) for t in read_traces(path))),
        encoding="utf-8",
    )
    table = tmp_path / "said.csv"
    table.write_text(
        "run,step,judge,human\nr0,2,1,1\nr1,2,0,1\nr1,6,0,0\n", encoding="utf-8"
    )
    options = TableOptions(unit="step", item="run,step")
    for files in ([bare, table], [table, bare]):
        found = read_table(files, options)
        assert list(found.verdicts["item"]) == ["r0/2", "r1/2", "r1/6"]
        assert len(found.labels) == 3
        assert list(found.items["slice.error"]) == ["false", "false", "true"]
        assert list(found.items["slice.tool"]) == ["busca"] * 3
        (left,) = [n for n in found.read if n.key == "trace_files.unsaid"]
        assert left.values == {"n": 57, "all": 60}


def test_a_table_of_runs_is_joined_by_its_column_run(tmp_path: Path) -> None:
    path = own_file(tmp_path / "runs.jsonl")
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(as_jsonl(t.replace(assessments=()) for t in read_traces(path))),
        encoding="utf-8",
    )
    table = tmp_path / "said.csv"
    table.write_text("run,judge,human\nr0,1,1\nr1,0,1\n", encoding="utf-8")
    for unit in (None, "run"):
        found = read_table([bare, table], TableOptions(unit=unit))
        assert list(found.verdicts["item"]) == ["r0", "r1"] and len(found.labels) == 2


def test_where_nobody_says_anything_it_is_told() -> None:
    with pytest.raises(
        DataError, match=r"says anything of a step.*'agents_session/0'.*--unit run"
    ):
        read_table(HERE / "agents_session.jsonl", TableOptions(unit="step"))
    with pytest.raises(DataError, match=r"says anything of a run"):
        read_table(HERE / "agents_session.jsonl")


def test_a_unit_without_traces_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("item,judge,human\n1,1,1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="--unit is step, and no file holds traces"):
        read_table(table, TableOptions(unit="step"))


def test_success_is_a_label(tmp_path: Path) -> None:
    said = (Assessment(by="judge", value=1),)
    traces = [
        Trace(run=f"r{n}", success=n % 2, steps=({"kind": "user"},), assessments=said)  # type: ignore[arg-type]
        for n in range(4)
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(as_jsonl(traces)), encoding="utf-8")
    table = read_table(path)
    assert table.labels["label"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert set(table.labels["rater"]) == {"success"}


@pytest.mark.parametrize("language", ["en", "pt"])
def test_what_is_said_of_a_file_is_said_in_words(language: str) -> None:
    result = check(HERE / "no_content.jsonl", unit="run")
    words = words_of(language)
    told = [words.say(n) for n in (*result.table.read, *result.table.problems)]
    text = " ".join(told)
    for part in {
        "en": ("holds 2 runs with 2 turns and 8 steps", "8 steps have no text"),
        "pt": ("contém 2 execuções com 2 turnos e 8 passos", "8 passos não têm texto"),
    }[language]:
        assert part in text


# Bad input


def span(
    run: str, own: str, parent: str = "", start: int = 0, **about: Any
) -> dict[str, Any]:
    attributes = [
        {"key": k, "value": {"stringValue": str(v)}} for k, v in about.items()
    ]
    whole = {"traceId": run, "spanId": own, "parentSpanId": parent, "name": own}
    whole |= {
        "startTimeUnixNano": str(10**18 + start * 10**9),
        "attributes": attributes,
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [whole]}]}]}


def test_spans_without_parents_are_put_in_their_place_by_time(tmp_path: Path) -> None:
    tool = {"gen_ai.operation.name": "execute_tool"}
    path = written(
        tmp_path / "a.jsonl",
        span("a", "3", "gone", 3, **tool, **{"gen_ai.tool.name": "third"}),
        span("b", "9", "", 9, **tool, **{"gen_ai.tool.name": "other"}),
        span("a", "1", "gone", 1, **tool, **{"gen_ai.tool.name": "first"}),
        span("a", "2", "1", 2, **tool, **{"gen_ai.tool.name": "second"}),
    )
    traces, faults = read(path)
    names = {t.run: [s.name for s in t.steps if s.kind == "tool_call"] for t in traces}
    assert names == {"a": ["first", "second", "third"], "b": ["other"]}
    assert faults["no_parent"]["n"] == 2


def test_events_in_logs_belong_to_their_spans(tmp_path: Path) -> None:
    def logged(own: str, name: str, body: Any = None, **about: Any) -> dict[str, Any]:
        attributes = [
            {
                "key": k,
                "value": {"doubleValue": v}
                if isinstance(v, float)
                else {"stringValue": v},
            }
            for k, v in about.items()
        ]
        record = {
            "traceId": "a",
            "spanId": own,
            "eventName": name,
            "attributes": attributes,
        }
        record["timeUnixNano"] = str(10**18)
        held = [
            {"key": k, "value": {"stringValue": v}} for k, v in (body or {}).items()
        ]
        record["body"] = {"kvlistValue": {"values": held}}
        return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}

    rated = {"gen_ai.evaluation.name": "tool_use", "gen_ai.evaluation.score.value": 0.0}
    path = written(
        tmp_path / "a.jsonl",
        logged("1", "gen_ai.user.message", {"content": "Quantos?"}),
        logged(
            "1",
            "gen_ai.choice",
            {"message": '{"role": "assistant", "content": "Dois."}'},
        ),
        logged("2", "gen_ai.evaluation.result", **rated),
        span("a", "1", "", 1, **{"gen_ai.operation.name": "chat"}),
        span(
            "a",
            "2",
            "1",
            5,
            **{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"},
        ),
    )
    ((trace,), _) = read(path)
    assert [(s.kind, s.text) for s in trace.steps] == [
        ("user", "Quantos?"),
        ("assistant", "Dois."),
        ("tool_call", None),
        ("tool_result", None),
    ]
    (said,) = trace.assessments
    assert (said.criterion, said.value, said.step) == ("tool_use", 0.0, 3)


def test_without_ids_a_call_and_its_span_are_one_step(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Quantos?"}]
    asks = {
        "role": "assistant",
        "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
    }
    came, tool = (
        {"role": "tool", "content": "2"},
        {"gen_ai.operation.name": "execute_tool"},
    )
    chat = {"gen_ai.operation.name": "chat"}
    lines = []
    for turn in range(2):
        about = {
            "gen_ai.input.messages": json.dumps(said),
            "gen_ai.output.messages": json.dumps([asks]),
        }
        lines.append(span("a", f"c{turn}", "", 10 * turn, **chat, **about))
        about = {"gen_ai.tool.name": "f", "gen_ai.tool.call.result": "2"}
        lines.append(span("a", f"t{turn}", "", 10 * turn + 5, **tool, **about))
        said = [*said, asks, came]
    last = {
        "gen_ai.input.messages": json.dumps(said),
        "gen_ai.output.messages": '"Dois."',
    }
    lines.append(span("a", "end", "", 30, **chat, **last))
    ((trace,), _) = read(written(tmp_path / "a.jsonl", *lines))
    kinds = [s.kind for s in trace.steps]
    assert kinds == ["user", *["tool_call", "tool_result"] * 2, "assistant"]
    assert [s.parent for s in trace.steps if s.kind == "tool_result"] == [1, 3]


def test_a_span_of_no_run_is_left_out_and_counted(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl", span("a", "1"), span("", "2"), 5, [], span("a", "3")
    )
    path.write_text(
        json.dumps(span("a", "1")) + "\n" + path.read_text(), encoding="utf-8"
    )
    _, faults = read(path)
    assert faults["no_run"]["n"] == 1 and faults["no_run"]["rows"] == 1
    assert faults["no_object"]["n"] == 1


def test_two_runs_under_one_id(tmp_path: Path) -> None:
    one = {"run": "r", "steps": [{"kind": "user", "text": "a"}]}
    other = {"run": "r", "steps": [{"kind": "user", "text": "b"}]}
    traces, faults = read(written(tmp_path / "a.jsonl", one, other, one))
    assert [(t.run, t.steps[0].run, t.steps[0].text) for t in traces] == [
        ("r", "r", "a"),
        ("r (2)", "r (2)", "b"),
    ]
    assert faults["two_runs"]["n"] == 1 and faults["same_run"]["n"] == 1


def test_a_step_of_a_megabyte_is_kept_and_shown_shortened(tmp_path: Path) -> None:
    long = "início " + "x" * 1_000_000 + " fim"
    path = written(
        tmp_path / "a.jsonl",
        {"run": "r", "steps": [{"kind": "user", "text": long}] * 3},
    )
    ((trace,), _) = read(path)
    assert trace.steps[0].text == long
    for unit in UNITS:
        frame = read_frame(path, unit=unit)
        assert all(len(text) < 21_000 for text in frame.cells["text"])
        assert all(
            "início" in text and text.endswith("fim") for text in frame.cells["text"]
        )
        note = next(n for n in frame.notes if n.key == "trace_files.shortened")
        assert note.values["n"] == len(frame.cells)
        assert frame.cells["characters"].max() >= 1_000_000


@pytest.mark.parametrize("name", sorted(set(TOOLS) - {"desk.eval"}))
def test_half_a_file_is_read_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    raw = (HERE / name).read_bytes()
    whole = sum(len(t.steps) for t in read(HERE / name)[0])
    path = tmp_path / name
    read_some = 0
    for share in (0.97, 0.8, 0.55):
        path.write_bytes(raw[: int(share * len(raw))])
        traces, faults = read(path)
        steps = sum(len(t.steps) for t in traces)
        assert steps <= whole
        assert {"cut", "unreadable"} & faults.keys(), "that it breaks off is told"
        read_some += steps
    assert read_some > 0


def test_half_an_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    raw = (HERE / "desk.eval").read_bytes()
    path = tmp_path / "half.eval"
    path.write_bytes(raw[: int(0.75 * len(raw))])
    traces, faults = read(path)
    assert len(traces) == 2 and "cut" in faults


def test_a_broken_line_costs_only_itself(tmp_path: Path) -> None:
    lines = (HERE / "langsmith.jsonl").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "a.jsonl"
    path.write_text(
        "\n".join([*lines[:2], '{"id": "x", ', *lines[2:]]), encoding="utf-8"
    )
    traces, faults = read(path)
    assert [len(t.steps) for t in traces] == [4, 4] and faults["unreadable"]["n"] == 1
    assert "a.jsonl:3" in faults["unreadable"]["place"]


def test_texts_that_no_file_can_hold_are_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"type": "function_call", "name": "to\\nol", "arguments": "{}", "call_id": "1"}\n'
        '{"role": "user", "content": "a\\u0000b \\ud800 c"}\n',
        encoding="utf-8",
    )
    ((trace,), faults) = read(path)
    assert [s.text for s in trace.steps] == ["{}", "ab \ufffd c"] and not faults
    assert trace.steps[0].name == "to ol"


def test_an_unknown_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"not recognised as a file of traces.*OpenTelemetry"
    ):
        list(read_traces(written(tmp_path / "a.jsonl", {"a": 1})))


@pytest.mark.parametrize("seed", range(12))
def test_readers_survive_what_is_built_otherwise(seed: int, tmp_path: Path) -> None:
    """Values of any kind in any place end in runs or in a count, never in a traceback."""
    drawn = random.Random(seed)
    strange = [
        None,
        1,
        -1.5,
        "x",
        [],
        {},
        [1],
        {"a": []},
        True,
        "",
        [[]],
        [{"type": 3}],
        "2026",
    ]

    def spoilt(value: Any, depth: int = 0) -> Any:
        if depth > 1 and drawn.random() < 0.08:
            return drawn.choice(strange)
        if isinstance(value, dict):
            return {k: spoilt(v, depth + 1) for k, v in value.items()}
        if isinstance(value, list):
            return [spoilt(v, depth + 1) for v in value]
        return value

    for name in sorted(set(TOOLS) - {"desk.eval", "console.json"}):
        raw = (HERE / name).read_text(encoding="utf-8")
        parts = raw.splitlines() if name.endswith(".jsonl") else [raw]
        path = tmp_path / name
        lines = [json.dumps(spoilt(json.loads(part))) for part in parts]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        reader = find(path)
        if reader is not None:
            for trace in reader.traces(path, Faults()):
                assert Trace.model_validate(json.loads(trace.line())) == trace


# Parts


@pytest.mark.parametrize("piece", [7, 64, 1 << 18])
def test_pieces_are_what_the_file_holds(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "_PART", piece)
    drawn = random.Random(piece)

    def value(depth: int) -> Any:
        kind = drawn.randrange(7 if depth < 3 else 5)
        if kind < 2:
            return drawn.choice(["", 'a"b\\', "é ç 漢", "[{", "x" * 40])
        if kind < 5:
            return drawn.choice([None, True, 0, -12.5e3, 123456789])
        if kind == 5:
            return [value(depth + 1) for _ in range(drawn.randrange(4))]
        return {f"k{n}": value(depth + 1) for n in range(drawn.randrange(4))}

    entries = [{"n": n, "v": value(0)} for n in range(40)]
    path = tmp_path / "a.json"
    for indent in (None, 1):
        path.write_text(
            json.dumps(
                {"v": 2, "samples": entries, "end": [1]},
                ensure_ascii=False,
                indent=indent,
            ),
            encoding="utf-8",
        )
        faults: list[str] = []
        found = list(json_pieces(path, ("samples",), faults))
        assert [p.value for p in found if not p.about] == entries and not faults
        assert [p.value for p in found if p.about][-1] == {"v": 2, "end": [1]}
        path.write_text(
            "\n".join(json.dumps(e, indent=indent) for e in entries), encoding="utf-8"
        )
        assert [
            p.value for p in json_pieces(path, (), faults)
        ] == entries and not faults
    raw = json.dumps({"samples": entries})
    for cut in drawn.sample(range(20, len(raw) - 1), 25):
        path.write_text(raw[:cut], encoding="utf-8")
        faults = []
        found = [p.value for p in json_pieces(path, ("samples",), faults)]
        assert found == entries[: len(found)] and faults


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(runs: int) -> int:
        path = tmp_path / f"{runs}.json"
        samples: Iterable[dict[str, Any]] = (
            {
                "id": n,
                "epoch": 1,
                "messages": [{"role": "user", "content": "x" * 50_000}] * 2,
            }
            for n in range(runs)
        )
        header = json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}})[
            :-1
        ]
        with path.open("w", encoding="utf-8") as file:
            file.write(
                header + ', "samples": [' + ",".join(map(json.dumps, samples)) + "]}"
            )
        tracemalloc.start()
        try:
            assert sum(1 for _ in read_traces(path)) == runs
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(2)
    assert peak(150) < peak(15) + 1_000_000, "15 MB more are read"


@pytest.mark.parametrize(
    ("message", "kinds", "text"),
    [
        ("oi", ["user"], "oi"),
        ({"role": "assistant", "content": None, "tool_calls": [{"name": "f", "args": {}}]}, ["tool_call"], "{}"),
        ({"role": "system", "content": "Be brief."}, ["other"], "Be brief."),
        ({"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "a"}}, ["user"], "a"),
        ({"type": "ai", "data": {"content": "b"}}, ["assistant"], "b"),
        (["human", "c"], ["user"], "c"),
        ('[{"role": "user", "parts": [{"type": "text", "content": "d"}]}]', ["user"], "d"),
        ({"role": "user", "content": [{"type": "image", "source": {}}, {"type": "text", "text": "e"}]}, ["user"], "[image]\ne"),
        ({"type": "web_search_call", "id": "1", "action": {"query": "q"}}, ["tool_call"], '{"query": "q"}'),
        ({"role": "tool", "tool_call_id": "1", "content": "", "error": {"message": "late"}}, ["tool_result"], "late"),
    ],
)  # fmt: skip
def test_messages_of_every_interface(message: Any, kinds: list[str], text: str) -> None:
    found = drafts_of(message)
    assert [draft.kind for draft in found] == kinds
    assert found[0].text == text


def test_moments_are_told_apart_by_their_size() -> None:
    seconds = 1_790_000_000.0
    for given in (seconds, seconds * 1e3, seconds * 1e6, str(int(seconds * 1e9))):
        assert time_of(given) == pytest.approx(seconds)
    assert (
        time_of("2026-09-21T14:13:20Z")
        == seconds
        == time_of("2026-09-21T16:13:20+02:00")
    )
    assert time_of("gestern") is None and time_of(None) is None and as_number("3") == 3


def test_a_text_keeps_the_end_and_the_beginning() -> None:
    steps = [
        Step(
            run="r",
            place=n,
            kind="user" if n == 0 else "assistant",
            text=f"step {n} " + "y" * 300,
        )
        for n in range(100)
    ]
    made = within(steps, 2_000)
    assert made.left_out and len(made.text) <= 2_000
    assert (
        made.text.startswith("[0] user: step 0 ")
        and "\n[99] agent: step 99 " in made.text
    )
    assert "[98] agent: step 98 " in made.text and "step 50 " not in made.text
    assert "steps left out" in made.text
    # the last step is what the text is about
    assert len(made.text.rpartition("\n")[2]) > 300
    failed = Step(run="r", place=3, kind="tool_result", name="f", error=True)
    whole = within([*steps[:3], failed], 2_000)
    assert whole.left_out == whole.cut == 0
    assert whole.text.endswith("[3] f failed: (the text was not recorded)")


def test_the_documentation_lists_the_readers() -> None:
    docs = Path(__file__).parents[2] / "docs" / "trace_files.md"
    assert page() in docs.read_text(encoding="utf-8")
    assert len(list(every())) == 7


DESK = '''"""Calls of a help desk: a line for each, `who|what`, and an empty line between two calls."""

from undogmatic.datasets.readers.log import About
from undogmatic.datasets.readers.traces.script import Draft, Script, TraceReader

WHO = {"caller": "user", "desk": "assistant"}


def claims(head):
    return head.raw.startswith((b"caller|", b"desk|"))


def traces(path, faults):
    for number, call in enumerate(path.read_text(encoding="utf-8").split("\\n\\n")):
        script = Script(f"call-{number}")
        for line in call.splitlines():
            who, _, said = line.partition("|")
            script.add(Draft(WHO[who], said))
        yield script.trace(faults, str(path))


READER = TraceReader("calls of a desk", claims, traces, About("Desk", "", "", "", ""))
'''


def test_an_installed_package_reads_runs_of_its_own(tmp_path: Path) -> None:
    package = tmp_path / "path"
    (package / "desk-1.0.dist-info").mkdir(parents=True)
    put(package / "desk.py", DESK)
    put(package / "desk-1.0.dist-info" / "METADATA", "Name: desk\nVersion: 1.0\n")
    point = "[undogmatic.trace_readers]\ncalls = desk:READER\n"
    put(package / "desk-1.0.dist-info" / "entry_points.txt", point)
    calls = [f"caller|Where is order {n}?\ndesk|It was sent." for n in range(3)]
    put(tmp_path / "calls.txt", "\n\n".join(calls))
    rows = "item,judge,human\n" + "".join(f"call-{n},1,1\n" for n in range(3))
    put(tmp_path / "said.csv", rows)
    words = ("check", "calls.txt", "said.csv", "--unit", "run", "--all")
    path = os.pathsep.join([str(package), *filter(None, [os.getenv("PYTHONPATH")])])
    done = typed("undogmatic.cli", *words, folder=tmp_path, PYTHONPATH=path)
    assert "holds 3 runs with 3 turns and 6 steps" in done.stdout, done.stderr
    alone = typed("undogmatic.cli", *words, folder=tmp_path)
    assert alone.returncode == 2 and "no file holds traces" in alone.stderr
