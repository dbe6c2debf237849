"""DSPy: a signature with a score, judged by `dspy.Evaluate` with its own retries and defaults."""

import json
import sys
from pathlib import Path

import dspy

url, file, in_flight, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
texts = [
    json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()
]


class Rate(dspy.Signature):
    """Rate the text from 0 to 1."""

    text: str = dspy.InputField()
    reason: str = dspy.OutputField()
    score: float = dspy.OutputField()


dspy.configure(lm=dspy.LM("openai/gpt-4.1-mini", api_base=url, api_key="none"))
scores = dict.fromkeys(item["id"] for item in texts)


def metric(example, prediction, trace=None):
    """Keep the score."""
    scores[example.id] = getattr(prediction, "score", None)
    return 1.0


examples = [dspy.Example(**item).with_inputs("text") for item in texts]
evaluate = dspy.Evaluate(
    devset=examples, metric=metric, num_threads=in_flight, display_progress=False
)
try:
    evaluate(dspy.Predict(Rate))
finally:
    Path(out).write_text(json.dumps(scores), encoding="utf-8")
