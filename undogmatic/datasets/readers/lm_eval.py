"""Reads the samples of lm-evaluation-harness (`samples_*.jsonl`, with `--log_samples`): one verdict
per document and metric.

The judge is `lm-eval`, and where answers were filtered in several ways `lm-eval (FILTER)`. Where a
metric is called a judge's, it is the judge, and metrics that a program computes are left out. The
target is what the answer was compared with and no label; a person's label lies in the document
(`human_score`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from undogmatic.datasets.readers import log
from undogmatic.datasets.readers.log import (
    About,
    Given,
    Head,
    Reader,
    Row,
    cell,
    facts,
    text_of,
)

JUDGE = "lm-eval"
_OWN = set(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash"
    " target_hash schema_version".split()
)


def _claims(head: Head) -> bool:
    return head.has("doc_id", "doc", "resps", "target")


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    filters = dict.fromkeys(str(one.get("filter")) for _, one in given)
    metrics = dict.fromkeys(
        name
        for _, one in given
        for name in (one.get("metrics") or (key for key in one if key not in _OWN))
    )
    by_judges = [name for name in metrics if "judge" in name.lower()]
    computed = [name for name in metrics if name not in by_judges]
    if by_judges and computed:
        left_out = ", ".join(computed)
        problems.append(
            f"{source}: metrics that no judge gave were left out: {left_out}"
        )
    for place, one in given:
        made = one.get("filtered_resps") or one.get("resps")
        document = one.get("doc")
        about = facts(document if isinstance(document, Mapping) else {}) | {
            "item": str(one.get("doc_id")),
            "text": text_of(log.first_of(log.first_of(made))),
            "input": _asked(one.get("arguments")),
            "context": text_of(one.get("target")),
            "place": place,
        }
        judge = JUDGE if len(filters) == 1 else f"{JUDGE} ({one.get('filter')})"
        for name in by_judges or metrics:
            value = _number(one.get(name))
            said = (
                {"reason": "the metric has no value"}
                if value is None
                else {"verdict": value}
            )
            who = name if by_judges else judge
            yield about | {"judge": who, "criterion": name} | said


def _number(value: Any) -> Any:
    """A metric's value; true and false are 1 and 0, as in the harness' own means. Metrics over the
    whole corpus hold parts of a sum in place of a value of the document."""
    if isinstance(value, bool):
        return int(value)
    return cell(value) if isinstance(value, int | float | str) else None


def _asked(arguments: Any) -> str | None:
    """The prompt of a document; earlier versions wrote lists."""
    first = (
        next(iter(arguments.values()), None)
        if isinstance(arguments, Mapping)
        else arguments
    )
    if isinstance(first, list):
        first = log.first_of(log.first_of(first))
    return text_of(first.get("arg_0") if isinstance(first, Mapping) else first)


READER = Reader(
    "samples of lm-evaluation-harness",
    _claims,
    log.records,
    _rows,
    About(
        tool="lm-evaluation-harness",
        file="`samples_*.jsonl`",
        verdict="each metric of a document",
        label="`human_NAME` in the document",
        fixture="by the tool (0.4.13)",
    ),
)
