"""What a long file of traces costs to read and to check: processor, peak memory, and whether the units agree.

    python -m benchmarks.trace_files [--mb 50 500] [--files inspect.json inspect.eval otlp.jsonl] [--units run step]
        [--write]

Each row is a process of its own: `undogmatic check FILE --unit UNIT --json` on a file that is made first, with a
person's labels and a judge's verdicts on runs; those on steps are in a table beside it. `seconds` are those of a
processor, which other work on the machine does not lengthen, and `MB` is the peak of the process. `reading` is
`read_traces` alone, in another process, and `runs`, `turns` and `steps` are what it counted. `labelled` are the items
that judge and person judged, one in each run, so that they are as many for each unit. `--write` keeps the rows in
benchmarks/results.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).with_name("results") / "trace_files.csv"
MESSAGE, TURNS, UNITS = 2_500, 40, ("run", "step")
"""Characters of a message, and uses of a tool in a run: a run has about 100,000 characters, and twice that where a log
holds its events, too."""
WORDS = (
    "the order was sent on Monday and found in the store by Ana who asked whether it could be changed"
    " before noon error timeout retry saved deleted confirmed o pedido foi enviado ontem"
).split()


def main() -> None:
    """Every file by every unit at every size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", nargs="+", type=int, default=[50])
    parser.add_argument("--files", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument(
        "--units", nargs="+", choices=(*UNITS, "turn"), default=list(UNITS)
    )
    parser.add_argument("--write", action="store_true")
    typed = parser.parse_args()
    for mb in typed.mb:
        for name in typed.files:
            for row in measured(name, mb, typed.units):
                if typed.write:
                    _keep(row)


def _keep(row: dict[str, Any]) -> None:
    """Put a row in the place of that of before."""
    kept: list[dict[str, Any]] = []
    if RESULTS.is_file():
        with RESULTS.open(encoding="utf-8", newline="") as file:
            kept = list(csv.DictReader(file))
    key = ("file", "mb", "unit")
    kept = [old for old in kept if [old[k] for k in key] != [str(row[k]) for k in key]]
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(row), lineterminator="\n")
        table.writeheader()
        table.writerows(
            sorted([*kept, row], key=lambda r: (int(r["mb"]), r["file"], r["unit"]))
        )


def measured(name: str, mb: int, units: list[str]) -> Iterator[dict[str, Any]]:
    """The rows of one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        FORMS[name](path, mb * 1_000_000)
        alone = _run(["-c", READ, str(path)])
        counted = json.loads(alone["out"].splitlines()[-1])
        beside = _verdicts_on_steps(Path(folder) / "steps.csv", name, counted["runs"])
        for unit in units:
            files = [str(path), *([str(beside)] if unit == "step" else [])]
            found = _run(
                ["-m", "undogmatic.cli", "check", *files, "--unit", unit, "--json"]
            )
            row = {
                "file": name,
                "mb": mb,
                "on disk": round(path.stat().st_size / 1e6),
                "unit": unit,
                "seconds": round(found["seconds"], 1),
                "MB": round(found["peak"]),
                "reading": round(alone["seconds"], 1),
                "reading MB": round(alone["peak"]),
                **counted,
                **_said(found["out"]),
            }
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            yield row


READ = """
import json, sys
from pathlib import Path
from undogmatic.datasets.readers.traces import read_traces
from undogmatic.datasets.readers.traces.units import turns_of
runs = turns = steps = 0
for trace in read_traces(Path(sys.argv[1])):
    runs += 1
    turns += len(turns_of(trace))
    steps += len(trace.steps)
print(json.dumps({"runs": runs, "turns": turns, "steps": steps}))
"""


def _verdicts_on_steps(path: Path, name: str, runs: int) -> Path:
    """A table with a judge's verdict and a person's label on a step of each run."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["item", "judge", "human"])
        for number in range(runs):
            run = f"{number:032x}" if name == "otlp.jsonl" else f"s{number}"
            truth, said = _opinions(number)
            table.writerow([f"{run}/2", said, truth])
    return path


def _said(out: str) -> dict[str, Any]:
    """What the check said of how many items and labels."""
    answer = json.loads(out)
    (judge,) = answer["judges"]
    return {"labelled": judge["n"], "groups": judge["groups"]}


def _run(arguments: list[str]) -> dict[str, Any]:
    """What a process took, and what it printed."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, *arguments], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{arguments} ended with {process.returncode}")
        out.seek(0)
        return {
            "seconds": used.ru_utime + used.ru_stime,
            "peak": used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3),
            "out": out.read(),
        }


def _text(drawn: random.Random, length: int) -> str:
    words = drawn.choices(WORDS, k=length // 6)
    return " ".join(words)


def _story(number: int) -> Iterator[tuple[str, str]]:
    """The texts of a run: what was asked, what a tool was given and gave, what was answered."""
    drawn = random.Random(number)
    yield "user", _text(drawn, 300)
    for _ in range(TURNS):
        yield "call", json.dumps({"query": _text(drawn, 200)})
        yield "result", _text(drawn, MESSAGE)
    yield "assistant", _text(drawn, 1_000)


def _opinions(number: int) -> tuple[int, int]:
    """What a person and a judge say of a run: the judge is right in 8 of 10."""
    drawn = random.Random(f"said {number}")
    truth = drawn.random() < 0.5
    return int(truth), int(truth if drawn.random() < 0.8 else not truth)


def _sample(number: int) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for place, (kind, text) in enumerate(_story(number)):
        call = f"call_{place // 2}"
        if kind == "call":
            calls = [
                {"id": f"call_{place // 2 + 1}", "function": "search", "arguments": {}}
            ]
            calls[0]["arguments"] = json.loads(text)
            messages.append({"id": f"m{place}", "role": "assistant", "content": ""})
            messages[-1]["tool_calls"] = calls
        elif kind == "result":
            messages.append(
                {"role": "tool", "tool_call_id": call, "function": "search"}
            )
            messages[-1]["content"] = text
            events.append(
                {"event": "tool", "id": call, "function": "search", "result": text}
            )
            events[-1] |= {
                "timestamp": "2026-11-01T10:00:00+00:00",
                "working_time": 0.5,
            }
        else:
            messages.append({"id": f"m{place}", "role": kind, "content": text})
    truth, said = _opinions(number)
    scores = {
        name: {"value": "C" if value else "I"}
        for name, value in (("judge", said), ("human", truth))
    }
    asked = messages[0]["content"]
    sample = {
        "id": f"s{number}",
        "epoch": 1,
        "input": asked,
        "target": "",
        "messages": messages,
    }
    return sample | {"scores": scores, "metadata": {}, "events": events}


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "desk", "model": "m", "dataset": {}, "config": {}},
}


def inspect_json(path: Path, size: int) -> None:
    """A log of Inspect as JSON."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(HEADER)[:-1] + ', "samples": [')
        for number, written in _until(size):
            text = json.dumps(_sample(number))
            file.write(("," if number else "") + text)
            written(len(text))
        file.write("]}")


def inspect_eval(path: Path, size: int) -> None:
    """The same in an archive; the size is that of its parts unpacked."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("_journal/start.json", json.dumps(HEADER))
        for number, written in _until(size):
            text = json.dumps(_sample(number))
            archive.writestr(f"samples/s{number}_epoch_1.json", text)
            written(len(text))
        archive.writestr("header.json", json.dumps(HEADER))


def otlp_lines(path: Path, size: int) -> None:
    """Spans of OpenTelemetry in lines: those of ten runs are mixed, and a model hears its last
    messages again."""

    def spans(number: int) -> Iterator[str]:
        heard: list[dict[str, Any]] = []
        truth, said = _opinions(number)
        run = f"{number:032x}"
        named = {"traceId": run, "kind": 1, "status": {}}
        for place, (kind, text) in enumerate(_story(number)):
            span = named | {
                "spanId": f"{number:08x}{place + 1:08x}",
                "parentSpanId": f"{number:08x}00000000",
            }
            at = 1_790_000_000_000_000_000 + place * 1_000_000_000
            span |= {
                "startTimeUnixNano": str(at),
                "endTimeUnixNano": str(at + 500_000_000),
            }
            if kind == "user":
                heard = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
                continue
            if kind == "result":
                about = {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "search",
                }
                about |= {
                    "gen_ai.tool.call.id": f"c{place}",
                    "gen_ai.tool.call.result": text,
                }
            else:
                part: dict[str, Any] = {"type": "text", "content": text}
                if kind == "call":
                    part = {
                        "type": "tool_call",
                        "id": f"c{place + 1}",
                        "name": "search",
                    }
                    part["arguments"] = json.loads(text)
                about = {"gen_ai.operation.name": "chat"}
                about["gen_ai.input.messages"] = json.dumps(heard)
                about["gen_ai.output.messages"] = json.dumps(
                    [{"role": "assistant", "parts": [part]}]
                )
            yield _line(span | {"name": "x"}, about, [])
        events = [
            {
                "name": "gen_ai.evaluation.result",
                "timeUnixNano": "1790000100000000000",
                "attributes": _pairs(about),
            }
            for about in (
                {
                    "gen_ai.evaluation.name": "success",
                    "gen_ai.evaluation.score.value": said,
                },
                {
                    "gen_ai.evaluation.name": "human_success",
                    "gen_ai.evaluation.score.value": truth,
                },
            )
        ]
        root = named | {"spanId": f"{number:08x}00000000", "name": "desk"}
        root |= {
            "startTimeUnixNano": "1790000000000000000",
            "endTimeUnixNano": "1790000100000000000",
        }
        yield _line(root, {"gen_ai.operation.name": "invoke_agent"}, events)

    with path.open("w", encoding="utf-8") as file:
        number, done = 0, 0
        while done < size:
            mixed = [list(spans(number + one)) for one in range(10)]
            for place in range(max(map(len, mixed))):
                for own in mixed:
                    if place < len(own):
                        file.write(own[place])
                        done += len(own[place])
            number += 10


def _pairs(about: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "key": key,
            "value": {"doubleValue" if isinstance(v, int) else "stringValue": v},
        }
        for key, v in about.items()
    ]


def _line(
    span: dict[str, Any], about: dict[str, Any], events: list[dict[str, Any]]
) -> str:
    whole = span | {"attributes": _pairs(about), "events": events}
    return (
        json.dumps(
            {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [whole]}]}]}
        )
        + "\n"
    )


def _until(size: int) -> Iterator[tuple[int, Callable[[int], None]]]:
    """Numbers from 0, until so many characters are written."""
    done = [0]

    def written(more: int) -> None:
        done[0] += more

    number = 0
    while done[0] < size:
        yield number, written
        number += 1


FORMS: dict[str, Callable[[Path, int], None]] = {
    "inspect.json": inspect_json,
    "inspect.eval": inspect_eval,
    "otlp.jsonl": otlp_lines,
}

if __name__ == "__main__":
    main()
