"""A judge of MLflow's is aligned on a part of the labelled traces and judges the rest."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import environment

PROGRAM = r"""
import json, os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ASKED = []

class Server(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        told = json.dumps(body["messages"])
        ASKED.append(told)
        judged = body["messages"][-1]["content"]
        said = "yes" if "kestrel" in judged or "Look for the bird" not in told else "no"
        content = json.dumps({"result": said, "rationale": "so"})
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
        sent = json.dumps({**whole, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["OPENAI_API_KEY"] = "x"
os.environ["OPENAI_API_BASE"] = f"http://127.0.0.1:{server.server_port}/v1"
os.environ["OPENAI_BASE_URL"] = os.environ["OPENAI_API_BASE"]

import mlflow
from mlflow.entities import AssessmentSource
from mlflow.genai.judges import AlignmentOptimizer, make_judge

import undogmatic
from undogmatic.errors import ConfigError

class Rules(AlignmentOptimizer):
    def align(self, judge, traces):
        Rules.seen = {trace.info.trace_id for trace in traces}
        told = judge.instructions + " Look for the bird."
        return make_judge(name=judge.name, instructions=told, model=judge.model)

mlflow.set_tracking_uri("sqlite:///a.db")
mlflow.set_experiment("a")
words = "Does {{ outputs }} name a bird?"
judge = make_judge(name="bird", instructions=words, model="openai:/m", feedback_value_type=str)
ids = []
for k in range(26):
    with mlflow.start_span("x") as span:
        span.set_inputs({"q": "?"})
        span.set_outputs(f"barn {k} " + ("kestrel" if k % 2 else "lantern"))
    mlflow.flush_trace_async_logging()
    ids.append(span.trace_id)
    if k < 24:
        person = AssessmentSource("HUMAN", "anna")
        value = "yes" if k % 2 else "no"
        mlflow.log_feedback(trace_id=span.trace_id, name="bird", value=value, source=person)
traces = [mlflow.get_trace(each) for each in ids]
found = undogmatic.aligned(judge, traces, Rules())
table = found.held_out
try:
    undogmatic.aligned(judge, traces[:12], Rules())
except ConfigError as error:
    refused = str(error)
result = undogmatic.check(table, judge=["before", "after"], human="human")
told = {
    "n": len(table),
    "apart": not Rules.seen & set(table["item"]),
    "after": bool((table["after"] == table["human"]).all()),
    "before": bool((table["before"] == "yes").all()),
    "refused": refused,
    "judges": [each.judge for each in result.judges],
}
print(json.dumps(told))
"""


def test_the_part_that_was_held_out_tells_whether_the_alignment_helped(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment() | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("refused").startswith(
        "12 of 12 traces have feedback of a person called 'bird'"
    )
    assert told == {
        "n": 12,
        "apart": True,
        "after": True,
        "before": True,
        "judges": ["before", "after"],
    }


@pytest.mark.parametrize("share", [0, 1])
def test_a_part_of_nothing_is_refused(share: float) -> None:
    from undogmatic.errors import ConfigError
    from undogmatic.tracking.alignment import aligned

    with pytest.raises(ConfigError, match="`held_out` is"):
        aligned(None, [], held_out=share)  # type: ignore[arg-type]
