"""What the offline rules see of the errors planted in the shipped summaries, split by split.

    python -m benchmarks.planted              # the table of data/README.md
    python -m benchmarks.planted --rows dev   # everything that was named in the summaries of a split

An error is found if `bucket_rules` quotes the planted sentence, which says nothing of the faithful summary; what is
left out is found if it is listed as missing, or a sentence of the reference is no longer covered. What is found may
cost nothing: the composite of the faithful summary minus that of the flawed one says what it cost.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from undogmatic.api import judge_items
from undogmatic.datasets.cases import CasesDataset
from undogmatic.records import Item, Judgment, Verdict

JUDGES = ("nli", "coverage", "bucket_rules")
WEIGHTS = {"nli": 0.35, "factual_accuracy": 0.2, "completeness": 0.2, "coverage": 0.25}
"""Of conf/analysis/composite.yaml, the pillar of judges in equal halves."""
FAITHFUL, FILLER = "perfect", "verbose_filler"

Own = Mapping[str, Judgment]
Row = dict[str, Any]


class Seen(NamedTuple):
    """What was seen of one flawed summary.

    Attributes:
        found: What was planted is named.
        named: As what: the rows that quote the planted sentence, or list what is missing.
        lost: Composite of the faithful summary minus its own.
        alarms: What is named as an error and was not planted, and is not named in the faithful summary either.
    """

    case: str
    variant: str
    found: bool
    named: list[Row]
    lost: float
    alarms: list[Row]


def judged(items: Sequence[Item]) -> dict[str, dict[str, Judgment]]:
    """The judgments of each item by criterion."""
    found: dict[str, dict[str, Judgment]] = defaultdict(dict)
    for judge in JUDGES:
        for one in judge_items(items, ["rubric=faithfulness", f"judge={judge}"]):
            found[one.item_id][one.criterion] = one
    return found


def composite(own: Own) -> float:
    """The weighted mean of the pillars. A judgment that failed ends the benchmark."""
    return sum(weight * _verdict(own[name]).score for name, weight in WEIGHTS.items())


def errors(own: Own) -> list[Row]:
    """What is named as wrong."""
    return _table(own["factual_accuracy"], "errors")


def omissions(own: Own) -> list[Row]:
    """What is named as missing."""
    return _table(own["completeness"], "omissions")


def seen(item: Item, own: Own, faithful: Own) -> Seen:
    """What was seen of a summary, beside the faithful one of its case."""
    variant = str(item.metadata["variant"])
    added: list[str] = [" ".join(each.split()) for each in item.metadata["added"]]
    new = [row for row in errors(own) if row not in errors(faithful)]
    planted = [row for row in new if any(row["quote"] in each or each in row["quote"] for each in added)]
    missing = [row for row in omissions(own) if row not in omissions(faithful)]
    uncovered = _verdict(own["coverage"]).score < _verdict(faithful["coverage"]).score
    left_out, filler = variant.startswith("omitted"), variant == FILLER
    named = missing if left_out else [] if filler else planted
    alarms = new if left_out or filler else [row for row in new if row not in planted]
    found, lost = bool(named) or (left_out and uncovered), composite(faithful) - composite(own)
    return Seen(item.id.split("/")[0], variant, found, named, lost, alarms)


def summaries(split: str) -> list[Item]:
    """The shipped summaries of a split."""
    return CasesDataset(summaries="shipped", split=split).load()  # type: ignore[arg-type]


def measured(items: Sequence[Item], found: Mapping[str, Own]) -> list[Seen]:
    """What was seen of every flawed summary, from the judgments of all by the id of the item."""
    flawed = [item for item in items if item.metadata["variant"] != FAITHFUL]
    return [seen(item, found[item.id], found[f"{item.id.split('/')[0]}/{FAITHFUL}"]) for item in flawed]


def table(seen_by_split: Mapping[str, list[Seen]]) -> list[str]:
    """A row per kind of error, in Markdown: split by split how many were found, and the mean loss."""
    rows: dict[str, str] = {}
    for every in seen_by_split.values():
        for kind in dict.fromkeys(each.variant for each in every):
            own = [each for each in every if each.variant == kind]
            found = "" if kind == FILLER else sum(each.found for each in own)
            lost = f"{np.mean([each.lost for each in own]):.3f}".replace("0.", ".")
            rows[kind] = rows.get(kind, f"| `{kind}` |") + f" {found} | {lost} |"
    return list(rows.values())


def _verdict(judgment: Judgment) -> Any:
    assert isinstance(judgment.outcome, Verdict), judgment.outcome
    return judgment.outcome


def _table(judgment: Judgment, name: str) -> list[Row]:
    rows: list[Row] = json.loads(str(_verdict(judgment).details[name]))
    return rows


def main() -> None:
    """Print the table of both splits, or all that was named in one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", choices=("dev", "test"), help="print what was named, summary by summary")
    given = parser.parse_args()
    splits = {}
    for split in (given.rows,) if given.rows else ("dev", "test"):
        items = summaries(split)
        found = judged(items)
        splits[split] = measured(items, found)
        for name, own in found.items() if given.rows else ():
            if name.endswith(f"/{FAITHFUL}"):
                print(f"{name}: composite {composite(own):.3f}")
                _print("named", [*errors(own), *omissions(own)])
        for each in splits[split] if given.rows else ():
            print(f"{each.case}/{each.variant}: {'found' if each.found else 'not found'}, lost {each.lost:.3f}")
            _print("named", each.named)
            _print("false alarm", each.alarms)
    print("| kind |", *(f"found, {split} | lost, {split} |" for split in splits))
    print(*table(splits), sep="\n")


def _print(what: str, rows: list[Row]) -> None:
    for row in rows:
        print(f"    {what}: {json.dumps(row, ensure_ascii=False)}")


if __name__ == "__main__":
    main()
