"""What the offline rules see of the errors planted in the shipped summaries, split by split.

    python -m benchmarks.planted              # the table of data/README.md
    python -m benchmarks.planted --rows dev   # everything that was named in the summaries of a split
    python -m benchmarks.planted --precision  # how often accusations of a kind are right (facts/precision.yaml)
    python -m benchmarks.planted --fresh      # faithful summaries, outcomes and parties of fresh.yaml; --write keeps it

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
import pandas as pd

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from benchmarks import outcomes, stored
from undogmatic.api import judge_items
from undogmatic.constructs.faithfulness.cases import (
    LANGUAGES,
    CasesDataset,
    short_summaries,
)
from undogmatic.constructs.faithfulness.facts.accusations import (
    CONTRADICTED,
    HEDGED,
    INVENTED,
)
from undogmatic.records.records import Item, Judgment, Verdict
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import data_folder

JUDGES = ("nli", "coverage", "bucket_rules")
WEIGHTS = {"nli": 0.35, "factual_accuracy": 0.2, "completeness": 0.2, "coverage": 0.25}
"""Of conf/analysis/composite.yaml, the pillar of judges in equal halves."""
DOUBTED = 1.0
"""With so much asked of a kind nothing counts, so that no accusation keeps another from being
made."""
FAITHFUL, FILLER, SUMMARY = "perfect", "verbose_filler", "summary"

Own = Mapping[str, Judgment]
Row = dict[str, Any]


class Seen(NamedTuple):
    """What was seen of one flawed summary.

    Attributes:
        found: What was planted is named.
        named: As what: the rows that quote the planted sentence, or list what is missing.
        lost: Composite of the faithful summary minus its own.
        alarms: What is named as an error and was not planted, and is not named in the faithful
            summary either.
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
    planted = [
        row
        for row in new
        if any(row["quote"] in each or each in row["quote"] for each in added)
    ]
    missing = [row for row in omissions(own) if row not in omissions(faithful)]
    uncovered = _verdict(own["coverage"]).score < _verdict(faithful["coverage"]).score
    left_out, filler = variant.startswith("omitted"), variant == FILLER
    named = missing if left_out else [] if filler else planted
    alarms = new if left_out or filler else [row for row in new if row not in planted]
    found, lost = (
        bool(named) or (left_out and uncovered),
        composite(faithful) - composite(own),
    )
    return Seen(item.id.split("/")[0], variant, found, named, lost, alarms)


def summaries(split: str) -> list[Item]:
    """The shipped summaries of a split."""
    return CasesDataset(summaries="shipped", split=split).load()  # type: ignore[arg-type]


def measured(items: Sequence[Item], found: Mapping[str, Own]) -> list[Seen]:
    """What was seen of every flawed summary, from the judgments of all by the id of the item."""
    flawed = [item for item in items if item.metadata["variant"] != FAITHFUL]
    return [
        seen(item, found[item.id], found[f"{item.id.split('/')[0]}/{FAITHFUL}"])
        for item in flawed
    ]


class Told(NamedTuple):
    """A summary whose planted sentence is known ("" where it is faithful)."""

    item: Item
    planted: str
    kind: str


def retold(split: str) -> list[Told]:
    """The summaries of data/faith/retold.yaml: the faithful ones, and each with one of its phrases
    replaced."""
    texts = read_yaml(data_folder() / "faith" / "retold.yaml")
    found = []
    for item in CasesDataset(summaries="shipped", split=split).load():  # type: ignore[arg-type]
        case, variant = item.id.split("/")
        for n, each in enumerate(texts[case] if variant == FAITHFUL else ()):
            own = {FAITHFUL: ("", "")} | each["wrong"]
            for kind, (said, wrong) in own.items():
                inputs = item.inputs | {
                    SUMMARY: each["text"].replace(said, wrong) if said else each["text"]
                }
                copy = item.model_copy(
                    update={"id": f"{case}/retold{n + 1}/{kind}", "inputs": inputs}
                )
                found.append(Told(copy, wrong, kind))
    return found


FRESH = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "development",
)
MENDED_ON = ("first", "second", "fourth", "fifth", "development")
"""The parts that rules were mended on; the others are measured and never developed on."""
AFTER = "fifth"
"""The part that rules were mended on last, which says what rules a stored figure is of."""


def fresh(part: str) -> list[Told]:
    """The short summaries of a part of data/faith/fresh.yaml, faithful, and each with one phrase
    replaced. They have a reference and no opinion."""
    return [
        Told(
            Item(
                id=f"{each.case}/{each.n}/{each.kind}",
                inputs={SUMMARY: each.text, "reference": each.reference},
            ),
            each.planted,
            each.kind,
        )
        for each in short_summaries(part)
    ]


def fresh_table(part: str) -> pd.DataFrame:
    """A row per language and kind: how many summaries, of how many the planted phrase (or, of a
    faithful one, anything) is named as wrong, and of how many at a cost."""
    told = fresh(part)
    found = accused(told, 0.9)
    rows = []
    for each in told:
        own = [
            row
            for one, row, right in found
            if one.item.id == each.item.id and (right or not each.planted)
        ]
        rows.append(
            {
                "part": part,
                "rules": AFTER,
                "language": LANGUAGES[each.item.id[:2]],
                "kind": each.kind,
                "named": bool(own),
                "cost": any(row["bucket"] < 5 for row in own),
            }
        )
    grouped = pd.DataFrame(rows).groupby(
        ["part", "rules", "language", "kind"], sort=False
    )
    counted = grouped.agg(
        n=("named", "size"), named=("named", "sum"), cost=("cost", "sum")
    )
    return counted.reset_index()


def shipped(split: str) -> list[Told]:
    """The shipped summaries with the sentence that was planted in each."""
    return [
        Told(each, " ".join(each.metadata["added"]), each.metadata["variant"])
        for each in summaries(split)
    ]


def accused(told: Sequence[Told], sure: float) -> list[tuple[Told, Row, bool]]:
    """Every accusation that bucket_rules makes of a summary, and whether it is right: it quotes
    what was planted."""
    by_id = {each.item.id: each for each in told}
    settings = [
        "rubric=faithfulness",
        "judge=bucket_rules",
        f"judge.sure={sure}",
        f"nli.sure={sure}",
    ]
    found = []
    for one in judge_items([each.item for each in told], settings):
        if one.criterion == "factual_accuracy":
            each = by_id[one.item_id]
            wrong = " ".join(each.planted.split())
            for row in _table(one, "errors"):
                quote = " ".join(row["quote"].split())
                right = (
                    bool(wrong)
                    and each.kind != FILLER
                    and (wrong in quote or quote in wrong)
                )
                found.append((each, row, right))
    return found


def precision(
    found: Sequence[tuple[Told, Row, bool]],
) -> dict[str, dict[str, list[int]]]:
    """Of each kind of accusation how many are right, and how many there are, where all are DOUBTED;
    what is said of one sentence of a case in several summaries counts once."""
    counts: dict[str, dict[str, list[int]]] = {
        CONTRADICTED: {},
        INVENTED: {},
        HEDGED: {},
    }
    once = {
        (told.item.id.split("/")[0], row["quote"], row["problem"]): (row, right)
        for told, row, right in found
    }
    for row, right in once.values():
        source = HEDGED if row["kind"] == "hedging" else CONTRADICTED
        source = (
            INVENTED
            if row["kind"] in ("fabricated_citation", "invented_detail")
            else source
        )
        own = counts[source].setdefault(row["problem"].split(":")[0], [0, 0])
        own[0], own[1] = own[0] + right, own[1] + 1
    return counts


def kept(split: str) -> dict[str, dict[str, list[int]]]:
    """The counts that facts/precision.yaml keeps of development: of the summaries, of the
    parts of fresh.yaml that rules were mended on, and of the pairs of sentences of benchmarks/outcomes.py."""
    parts = MENDED_ON if split == "dev" else ()
    seen_already = [each for part in parts for each in fresh(part)]
    counted = precision(accused(shipped(split) + retold(split) + seen_already, DOUBTED))
    for kind, (right, every) in outcomes.counts(
        outcomes.told(outcomes.pairs(split))
    ).items():
        own = counted[CONTRADICTED].setdefault(kind, [0, 0])
        own[0], own[1] = own[0] + right, own[1] + every
    return counted


def table(seen_by_split: Mapping[str, list[Seen]]) -> list[str]:
    """A row per kind of error, in Markdown: split by split how many were found, and the mean
    loss."""
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows",
        choices=("dev", "test"),
        help="print what was named, summary by summary",
    )
    parser.add_argument(
        "--precision",
        action="store_true",
        help="print how often accusations of a kind are right",
    )
    parser.add_argument(
        "--sure",
        type=float,
        default=0.9,
        help="with --precision: judge.sure and nli.sure (0.9)",
    )
    parser.add_argument(
        "--fresh",
        choices=FRESH,
        help="a part of fresh.yaml; with --rows dev, all that is named",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="with --fresh: keep it in results/planted.csv",
    )
    given = parser.parse_args()
    if given.fresh:
        return _print_fresh(given.fresh, bool(given.rows), given.write)
    if given.precision:
        return _print_precision(given.sure)
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
            print(
                f"{each.case}/{each.variant}: {'found' if each.found else 'not found'}, lost"
                f" {each.lost:.3f}"
            )
            _print("named", each.named)
            _print("false alarm", each.alarms)
    print("| kind |", *(f"found, {split} | lost, {split} |" for split in splits))
    print(*table(splits), sep="\n")


def _print_fresh(part: str, rows: bool, write: bool) -> None:
    table = fresh_table(part)
    print(table.to_string(index=False))
    if rows:
        told = fresh(part)
        found = accused(told, 0.9)
        for each in told:
            print(each.item.id, "|", each.planted)
            _print(
                "named", [row for one, row, _ in found if one.item.id == each.item.id]
            )
    if write:
        keys = ("part", "rules", "language", "kind")
        stored.keep("planted", keys, table.to_dict("records"))


def _print_precision(sure: float) -> None:
    for split in ("dev", "test"):
        told = retold(split)
        found = accused(shipped(split) + told, sure)
        print(f"# {split}")
        # Of the pairs of sentences only the development half, which the rules were mended on.
        summaries_alone = precision(accused(shipped(split) + told, DOUBTED))
        for source, counted in (
            kept(split) if split == "dev" else summaries_alone
        ).items():
            print(
                f"{source}: {json.dumps(dict(sorted(counted.items())))}".replace(
                    '"', ""
                )
            )
        faithful = [each for each in shipped(split) + told if each.kind == FAITHFUL]
        for word, most in (("named", 5), ("at a cost", 4)):
            ids = {
                each.item.id
                for each, row, _ in found
                if row["bucket"] <= most and each.kind == FAITHFUL
            }
            print(
                f"# faithful summaries of which something is {word}: {len(ids)} of {len(faithful)}"
            )
        wrong = [each for each in told if each.kind != FAITHFUL]
        for kind in dict.fromkeys(each.kind for each in wrong):
            own = [each.item.id for each in wrong if each.kind == kind]
            hit = {each.item.id for each, _, right in found if right}
            paid = {
                each.item.id
                for each, row, right in found
                if right and row["bucket"] < 5
            }
            print(
                f"# retold, {kind}: {len(hit & set(own))} of {len(own)} found,"
                f" {len(paid & set(own))} at a cost"
            )
        alarms = {
            (each.item.id.split("/")[0], row["problem"]): row
            for each, row, right in found
            if not right
        }
        for (case, _), row in alarms.items():
            _print(f"false alarm, {case}", [row])


def _print(what: str, rows: list[Row]) -> None:
    for row in rows:
        print(f"    {what}: {json.dumps(row, ensure_ascii=False)}")


if __name__ == "__main__":
    main()
