"""Reads annotations of Prodigy as `db-out` writes them (JSON Lines): labels of people.

The answer "accept" takes the chosen option, or says yes to the label that is asked about (then
"reject" says no); what was ignored is no label, and is counted in a line. Verdicts of a judge lie
in a table beside it, joined by the text's `id`, else by Prodigy's own hash of it.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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

_ANSWERS = ("accept", "reject", "ignore")
_TASK = {
    "text",
    "label",
    "options",
    "accept",
    "answer",
    "meta",
    "config",
    "spans",
    "tokens",
    "html",
}


def _claims(head: Head) -> bool:
    return head.record().keys() >= {"_input_hash", "_task_hash"}


def _rows(given: Given, source: Path | str, problems: list[str]) -> Iterator[Row]:
    left = Counter[str]()
    asked = {
        str(one["label"])
        for _, one in given
        if one.get("label") and not one.get("options")
    }
    for place, one in given:
        answer, meta = one.get("answer"), one.get("meta") or {}
        if answer == "ignore" or answer not in _ANSWERS:
            left[
                "ignored tasks" if answer == "ignore" else "tasks without an answer"
            ] += 1
            continue
        if one.get("spans") and not one.get("options") and not one.get("label"):
            left["tasks with marks on parts of a text"] += 1
            continue
        criterion = None
        if one.get("options") is not None:
            chosen = one.get("accept") or ()
            label = "|".join(map(str, chosen)) if answer == "accept" else None
            if not label:
                left["tasks without a choice"] += 1
                continue
        else:
            label = answer
            criterion = (
                str(one["label"]) if len(asked) > 1 and one.get("label") else None
            )
        session = str(one.get("_annotator_id") or one.get("_session_id") or "annotator")
        plain = {
            k: v for k, v in {**meta, **one}.items() if k not in _TASK and k[:1] != "_"
        }
        yield facts({k: v for k, v in plain.items() if k != "id"}) | {
            "item": str(one.get("id") or meta.get("id") or one.get("_input_hash")),
            "text": text_of(one.get("text") or one.get("html")),
            "criterion": criterion,
            "label": cell(label),
            "rater": session,
            "place": place,
        }
    problems += [
        f"{source}: {n} {what} are no labels and were left out."
        for what, n in left.items()
    ]


READER = Reader(
    "annotations of Prodigy",
    _claims,
    log.records,
    _rows,
    About(
        tool="Prodigy",
        file="`db-out`",
        verdict="- (a table beside it, joined by the id)",
        label="the chosen option, or accept and reject, by session",
        fixture="from what is known of its format, not seen with a file of its own; it is not free",
    ),
)
