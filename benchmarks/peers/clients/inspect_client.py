"""Inspect: `generate()` and a scorer that reads the JSON, with its own retries and defaults."""

import json
import math
import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate, system_message

url, file, in_flight, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
texts = [
    json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()
]
INSTRUCTION = (
    'Rate the text from 0 to 1. Answer with JSON: {"score": number, "reason": text}.'
)


@scorer(metrics=[mean()])
def read():
    """Read the score."""

    async def score(state, target):
        try:
            return Score(value=json.loads(state.output.completion)["score"])
        except (ValueError, KeyError):
            return Score(value=float("nan"))

    return score


samples = [Sample(id=item["id"], input=item["text"]) for item in texts]
task = Task(
    dataset=MemoryDataset(samples),
    solver=[system_message(INSTRUCTION), generate()],
    scorer=read(),
)
(log,) = eval(
    task,
    model="openai/gpt-4.1-mini",
    model_base_url=url,
    model_args={"responses_api": False, "api_key": "none"},
    max_connections=in_flight,
    max_samples=in_flight,
    log_dir="logs",
    display="none",
)
scores = dict.fromkeys(item["id"] for item in texts)
for sample in log.samples or ():
    value = next(iter((sample.scores or {}).values())).value if sample.scores else None
    scores[sample.id] = None if value is None or math.isnan(value) else value
Path(out).write_text(json.dumps(scores), encoding="utf-8")
