"""DeepEval: a `GEval` whose steps are given, so that it asks once per text, with its defaults but one:
an error of one text does not end the evaluation (`ignore_errors`; `by default` it does)."""

import json
import sys
from pathlib import Path

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import GEval
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase, SingleTurnParams

url, file, in_flight, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
texts = [
    json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()
]
metric = GEval(
    name="Rated",
    evaluation_steps=["Rate the text."],
    evaluation_params=[SingleTurnParams.ACTUAL_OUTPUT],
    model=GPTModel(model="gpt-4.1-mini", base_url=url, api_key="none"),
)
cases = [LLMTestCase(input=item["id"], actual_output=item["text"]) for item in texts]
shown = DisplayConfig(
    show_indicator=False, print_results=False, inspect_after_run=False
)
scores = dict.fromkeys(item["id"] for item in texts)
try:
    found = evaluate(
        cases,
        [metric],
        async_config=AsyncConfig(max_concurrent=in_flight),
        display_config=shown,
        error_config=ErrorConfig(ignore_errors=sys.argv[5:] != ["by default"]),
    )
    for result in found.test_results:
        (own,) = result.metrics_data
        # it divides by ten what it asked for on a scale to ten
        scores[result.input] = (
            None if own.score is None or own.error else 10 * own.score
        )
finally:
    Path(out).write_text(json.dumps(scores), encoding="utf-8")
