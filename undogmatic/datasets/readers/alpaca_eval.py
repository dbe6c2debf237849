"""Reads annotations of AlpacaEval: which of two outputs the annotator prefers, from 1 (the first)
to 2 (the second).

A weighted annotator gives a number between: the nearer choice is the verdict, and how likely it is
the confidence; 1.5 is a tie. The annotations of people, who are numbered, are labels.
"""

import hashlib
import math
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
    joined,
)
from undogmatic.records.records import as_number

_NEEDED = {"instruction", "output_1", "output_2", "preference"}
MIDDLE = 1.5


def _claims(head: Head) -> bool:
    names = head.names()
    return names >= _NEEDED and bool(
        names & {"generator_1", "annotator", "annotator_index"}
    )


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    verdicts, labels = list[Row](), list[Row]()
    for place, one in given:
        texts = [str(one.get(name)) for name in ("instruction", "output_1", "output_2")]
        asked = hashlib.sha256(texts[0].encode("utf-8", "replace")).hexdigest()[:8]
        whole = hashlib.sha256("\n".join(texts).encode("utf-8", "replace")).hexdigest()[
            :8
        ]
        systems = [cell(one.get(f"generator_{n}")) for n in (1, 2)]
        row: Row = {
            "item": f"{whole} ({systems[0]} / {systems[1]})",
            "group": asked,
            "input": texts[0],
            "text_1": texts[1],
            "text_2": texts[2],
            "system_1": systems[0],
            "system_2": systems[1],
            "stated.kind": "pairwise",
            "place": place,
        }
        row |= {"dataset": cell(one["dataset"])} if one.get("dataset") else {}
        choice, sure = _choice(one.get("preference"))
        person = _person(one)
        if person is not None:
            labels.append(row | {"label": choice, "rater": person})
            continue
        raw = one.get("preference_raw_completion") or one.get("raw_completion")
        lack = (
            f"the annotator gave no preference: {raw}" if cell(raw) else "no preference"
        )
        said = (
            {"reason": lack}
            if choice is None
            else {"verdict": choice, "confidence": sure}
        )
        verdicts.append(
            row | {"judge": str(one.get("annotator") or "alpaca_eval")} | said
        )
    yield from joined(verdicts, labels, source, problems)


def _person(one: Mapping[str, Any]) -> str | None:
    """The person who annotated, by number or name."""
    number = one.get("annotator_index")
    named = one.get("annotator")
    if number is not None and named is None:
        return f"annotator {number}"
    if isinstance(named, int) or str(named).isdigit():
        return f"annotator {named}"
    return str(named) if str(named).lower().startswith("human") else None


def _choice(value: Any) -> tuple[str | None, float | None]:
    """The preferred output, and how likely it is; earlier versions wrote 0 for a tie."""
    number = as_number(value)
    if not isinstance(number, int | float) or math.isnan(number):
        return None, None
    if number in (0, MIDDLE):
        return "tie", None
    if not 1 <= number <= 2:
        return None, None
    whole = number in (1, 2)
    return "first" if number < MIDDLE else "second", None if whole else 0.5 + abs(
        number - MIDDLE
    )


READER = Reader(
    "annotations of AlpacaEval",
    _claims,
    log.records,
    _rows,
    About(
        tool="AlpacaEval",
        file="`annotations.json`",
        verdict="the preferred of two outputs; between 1 and 2 the nearer one, with a confidence",
        label="the preference of a person, who is numbered",
        fixture="by the tool (0.6.6)",
    ),
)
