"""How well the rules of data/faith/error_rules.yaml put into classes what reviewers find wrong or missing.

    python -m benchmarks.taxonomy             # precision and recall by class, on the quotes of data/faith/quotes.yaml
    python -m benchmarks.taxonomy --rows      # every quote that is put into another class
    python -m benchmarks.taxonomy --write     # keeps results/taxonomy.csv
    python -m benchmarks.taxonomy --reference FOLDER   # besides on quotes of real judges: taxonomy_errors.jsonl, taxonomy_omissions.jsonl

The quotes of real judges carry two classes: the one that their file gives (by another program's rules, with `same` of
conf/analysis/taxonomy.yaml), and the one that a reader of this project gave
(benchmarks/taxonomy_read.csv, by place; the texts themselves are not part of the project).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from scipy import stats

from undogmatic.constructs.faithfulness.taxonomy import OTHER, QuoteClasses
from undogmatic.safety.outside import read_yaml
from undogmatic.safety.paths import conf_folder, data_folder

RESULTS = Path(__file__).with_name("results") / "taxonomy.csv"
READ = Path(__file__).with_name("taxonomy_read.csv")
FIELDS = {
    "errors": ("error_quote", "issue", "correct_info"),
    "omissions": ("omission",),
}
GIVEN, READER = "reference, class as given", "reference, class by a reader"


class Labelled(NamedTuple):
    """A quote and the class that it has by somebody's judgement."""

    source: str
    language: str
    kind: str
    text: str
    label: str


def written(split: str) -> Iterator[Labelled]:
    """The quotes of data/faith/quotes.yaml."""
    every = read_yaml(data_folder() / "faith" / "quotes.yaml")[split]
    for language, kinds in every.items():
        for kind, classes in kinds.items():
            for label, texts in classes.items():
                for text in texts:
                    yield Labelled(f"written, {split}", language, kind, text, label)


def reference(folder: Path) -> Iterator[Labelled]:
    """The quotes of real judges, once with each of their two classes."""
    same = read_yaml(conf_folder() / "analysis" / "taxonomy.yaml")["same"]
    with READ.open(encoding="utf-8", newline="") as file:
        read = {
            (row["kind"], int(row["row"])): row["class"] for row in csv.DictReader(file)
        }
    for kind, fields in FIELDS.items():
        lines = (
            (folder / f"taxonomy_{kind}.jsonl").read_text(encoding="utf-8").splitlines()
        )
        for number, row in enumerate(map(json.loads, lines)):
            text = " | ".join(row[field] for field in fields if row.get(field))
            given = row["primary_category"]
            yield Labelled(GIVEN, "en", kind, text, same.get(given, given))
            yield Labelled(READER, "en", kind, text, read[kind, number])


def table(quotes: Sequence[Labelled]) -> pd.DataFrame:
    """A row per source, language, kind and class: precision and recall with exact limits (95 %)."""
    rules = QuoteClasses()
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for each in quotes:
        found = rules.classify(each.kind, each.text)
        pairs = groups.setdefault((each.source, each.language), [])
        pairs.append((each.label, found))
    rows = []
    for (source, language), pairs in groups.items():
        said, true = (
            Counter(found for _, found in pairs),
            Counter(label for label, _ in pairs),
        )
        right = Counter(label for label, found in pairs if label == found)
        for name in sorted({*said, *true}, key=lambda each: (each == OTHER, each)):
            row = {"source": source, "language": language, "class": name}
            row |= {"labelled": true[name], "said": said[name], "right": right[name]}
            for share, of in (("precision", said), ("recall", true)):
                row[share] = right[name] / of[name] if of[name] else float("nan")
                low, high = _exact(right[name], of[name])
                row |= {f"{share}_low": low, f"{share}_high": high}
            rows.append(row)
        every = {
            "labelled": len(pairs),
            "said": len(pairs),
            "right": sum(right.values()),
        }
        low, high = _exact(every["right"], len(pairs))
        share = every["right"] / len(pairs)
        limits = {"precision": share, "precision_low": low, "precision_high": high}
        limits |= {"recall": share, "recall_low": low, "recall_high": high}
        rows.append(
            {"source": source, "language": language, "class": "all"} | every | limits
        )
    return pd.DataFrame(rows).round(3)


def page(frame: pd.DataFrame) -> list[str]:
    """The rows of the table in docs/faithfulness.md: of each class precision and recall on the written
    quotes of each language, and on those of real judges."""
    columns = (
        ("written, test", "en"),
        ("written, test", "pt"),
        (READER, "en"),
        (GIVEN, "en"),
    )
    lines = []
    names = [name for name in dict.fromkeys(frame["class"]) if name != "all"]
    for name in [*names, "all"]:
        cells = [f"`{name}`" if name != "all" else "**all**"]
        for place in columns:
            same = frame[["source", "language", "class"]].apply(tuple, axis=1)
            own = frame[same == (*place, name)]
            cells += _cells(own)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _cells(own: pd.DataFrame) -> list[str]:
    if own.empty:
        return ["", ""]
    row = own.iloc[0]
    return [
        f"{row['right']} of {row[of]} [{row[f'{share}_low']:.2f}, {row[f'{share}_high']:.2f}]"
        for share, of in (("precision", "said"), ("recall", "labelled"))
    ]


def _exact(right: int, of: int) -> tuple[float, float]:
    """Compute the exact limits of a share (95 %); all that is possible where there is nothing."""
    if not of:
        return 0.0, 1.0
    limits = stats.binomtest(right, of).proportion_ci(0.95, "exact")
    return float(limits.low), float(limits.high)


def main() -> None:
    """Print the table, and what is put into another class."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--split", nargs="+", default=["test"], choices=["first", "second", "test"]
    )
    parser.add_argument(
        "--reference", type=Path, help="a folder with quotes of real judges"
    )
    parser.add_argument(
        "--rows", action="store_true", help="the quotes in another class"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"keep the table in {RESULTS.name}"
    )
    given = parser.parse_args()
    quotes = [each for split in given.split for each in written(split)]
    if given.reference is not None:
        quotes += reference(given.reference)
    rules = QuoteClasses()
    for each in quotes if given.rows else ():
        if (found := rules.classify(each.kind, each.text)) != each.label:
            print(f"{each.source} {each.kind}: {each.label}, not {found} | {each.text}")
    frame = table(quotes)
    print(frame.to_string(index=False))
    if given.write:
        frame.to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
