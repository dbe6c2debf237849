"""Judges of agents' runs that only go by rules, and judges of which it is known what they see.

    python -m benchmarks.traces [--write]             all of it
    python -m benchmarks.traces --draws 20            fewer planted judges

The runs are the 66 shipped ones with their edited copies (`undogmatic inject`). Three tables:

- *rules as judges*: what `undogmatic check` answers of a judge that goes by one rule (any word of an
  error, more tool calls than usual, no word of success in the last step, a long run ...), held
  against what was planted. None may be believed.
- *the best rule*: what a model fitted on words, counts, errors and lengths of other runs reaches:
  the area under the curve, and by kind of edit the share that it flags where it flags a tenth of
  what has no defect. So it is known how far a judge gets that reads nothing.
- *planted judges*: judges with a drawn recall for each kind of defect, which err together within
  a run; how often the interval that a check tells holds the recall that was planted.

Results are kept in results/traces.csv, which docs/traces.md quotes.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse, special

import undogmatic
from undogmatic.datasets.inject import AT, EDIT, KIND, PARENT, injected
from undogmatic.datasets.readers.traces import read_traces
from undogmatic.datasets.readers.traces.units import SUCCESS, frame_of
from undogmatic.datasets.trace_edits import DEFECTS, EQUIVALENT
from undogmatic.datasets.trace_text import shown
from undogmatic.datasets.traces import SHIPPED, counts
from undogmatic.models.trace_rules import ERRORS, REMOVES, count
from undogmatic.models.trace_rules import SUCCESS as SUCCEEDS
from undogmatic.records.folding import plain
from undogmatic.records.trace import Trace, as_jsonl

RESULTS = Path(__file__).with_name("results") / "traces.csv"
COLUMNS = ("table", "name", "n", "value", "answer")
TOGETHER = 0.5
"""How far a planted judge errs alike on the copies of one run (a correlation of normal errors)."""
FLAGGED = 0.9
"""The best rule flags what lies above this quantile of what has no defect."""


def runs_of(seed: int = 0) -> list[Trace]:
    """The shipped runs with their copies."""
    return [
        run
        for family in injected(list(read_traces(SHIPPED)), seed)
        for run in family.runs
    ]


def table_of(runs: list[Trace]) -> pd.DataFrame:
    """The runs as a check reads them: text, names, counts, errors, lengths, and what was planted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.jsonl"
        path.write_text("".join(as_jsonl(runs)), encoding="utf-8")
        frame = frame_of(path, "run")
    frame = frame.drop(
        columns=[EDIT, AT, "rater", "criterion", "place"], errors="ignore"
    )
    frame = frame.rename(columns={"label": SUCCESS})
    plain_frame = frame.loc[:, [c for c in frame if not c.startswith("stated.")]]
    plain_frame.attrs.clear()  # a table of our own now, and no log
    return plain_frame


def rules() -> Mapping[str, Callable[[Trace], float]]:
    """What each rule counts; a run fails where that is above the median."""

    def words(run: Trace, last: bool = False) -> str:
        steps = run.steps[-1:] if last else run.steps
        return plain(" ".join(step.text or "" for step in steps))

    def lookalikes(run: Trace) -> float:
        return count(shown(run.steps, 5_000).text).random_at_end

    return {
        "a word of an error": lambda run: len(ERRORS.findall(words(run))),
        "a step that failed": lambda run: sum(step.error for step in run.steps),
        "the last result failed": lambda run: (
            [step.error for step in run.steps if step.kind == "tool_result"][-1:]
            == [True]
        ),
        "many tool calls": lambda run: run.calls().total(),
        "few tool calls": lambda run: -run.calls().total(),
        "the same call again": lambda run: counts(run.steps)["same_call"],
        "no word of success at the end": lambda run: (
            -len(SUCCEEDS.findall(words(run, True)))
        ),
        "a tool that removes": lambda run: sum(
            REMOVES.search(step.name or "") is not None
            for step in run.steps
            if step.kind == "tool_call"
        ),
        "a random string at the end": lookalikes,
        "a long run": lambda run: sum(len(step.text or "") for step in run.steps),
        "a long answer": lambda run: len(run.steps[-1].text or ""),
        "all rules together": lambda run: (
            len(ERRORS.findall(words(run)))
            + counts(run.steps)["same_call"]
            - len(SUCCEEDS.findall(words(run, True)))
            + lookalikes(run)
        ),
    }


def of_rules(runs: list[Trace]) -> Iterator[dict[str, Any]]:
    """What a check answers of each rule."""
    table = table_of(runs)
    for name, rule in rules().items():
        values = np.array([float(rule(run)) for run in runs])
        flagged = values > np.median(values)
        said = table.assign(judge=np.where(flagged, "fail", "pass"))
        part = undogmatic.check(
            said, judge="judge", human=[SUCCESS], group="group"
        ).judges[0]
        kappa = part.numbers.get("agreement.kappa")
        value = "" if kappa is None else round(kappa.value, 3)
        answer = part.verdict.answer if part.verdict is not None else ""
        yield {
            "table": "rule",
            "name": name,
            "n": len(runs),
            "value": value,
            "answer": answer,
        }


def of_best_rule(runs: list[Trace]) -> Iterator[dict[str, Any]]:
    """What models of words and of counts reach that are fitted on the copies of other runs."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import GroupKFold, cross_val_predict

    faulty = np.array([str(run.metadata[KIND]).startswith("defect") for run in runs])
    edits = np.array([str(run.metadata[EDIT] or "clean") for run in runs])
    groups = [run.metadata[PARENT] for run in runs]
    texts = [" ".join(f"{s.kind} {s.name} {s.text}" for s in run.steps) for run in runs]
    last = [run.steps[-1].text or "" for run in runs]
    words = TfidfVectorizer(min_df=2).fit_transform(texts)
    ending = TfidfVectorizer(min_df=2, ngram_range=(1, 2)).fit_transform(last)
    numbers = np.array(
        [[float(v or 0) for v in counts(run.steps).values()] for run in runs]
    )
    every = sparse.hstack(
        [words, ending, numbers / (numbers.std(axis=0) + 1e-9)]
    ).tocsr()
    linear = LogisticRegression(C=10, max_iter=3_000)
    forest = RandomForestClassifier(300, min_samples_leaf=5, random_state=0)
    seen = {
        "words": (words, linear),
        "words of the answer": (ending, linear),
        "counts, errors, lengths": (numbers, forest),
        "all of them": (every, linear),
    }
    for name, (features, model) in seen.items():
        odds = cross_val_predict(
            model,
            features,
            faulty,
            groups=groups,
            cv=GroupKFold(6),
            method="predict_proba",
        )[:, 1]
        area = round(float(roc_auc_score(faulty, odds)), 3)
        told = {"table": "best rule", "n": len(runs), "answer": ""}
        yield told | {"name": f"{name}: area under the curve", "value": area}
        limit = np.quantile(odds[~faulty], FLAGGED)
        for edit in ("clean", *DEFECTS, *EQUIVALENT):
            flagged = odds[edits == edit] > limit
            own = {"n": len(flagged), "value": round(float(flagged.mean()), 3)}
            yield told | own | {"name": f"{name}: {edit}"}


def of_planted(runs: list[Trace], draws: int) -> Iterator[dict[str, Any]]:
    """How often the intervals hold what was planted."""
    kinds = np.array([str(run.metadata[KIND]) for run in runs])
    groups = pd.factorize(np.array([str(run.metadata[PARENT]) for run in runs]))[0]
    frame = pd.DataFrame(
        {
            "item": [run.run for run in runs],
            KIND: kinds,
            PARENT: [str(run.metadata[PARENT]) for run in runs],
        }
    )
    frame.loc[frame["item"] == frame[PARENT], PARENT] = None
    names = [f"defect:{name}" for name in DEFECTS]
    held: dict[str, list[bool]] = {}
    for draw in range(draws):
        rng = np.random.default_rng([7, draw])
        rates = dict(zip(names, rng.uniform(0.1, 0.95, len(names)), strict=True))
        rates |= {"clean": rng.uniform(0.02, 0.3), "equivalent": rng.uniform(0.02, 0.3)}
        alike = rng.standard_normal(groups.max() + 1)[groups]
        own = rng.standard_normal(len(runs))
        lot = special.ndtr(TOGETHER**0.5 * alike + (1 - TOGETHER) ** 0.5 * own)
        wanted = np.array([rates[kind] for kind in kinds])
        said = frame.assign(judge=np.where(lot < wanted, "fail", "pass"))
        part = undogmatic.check(said, judge="judge", only=["injected"]).judges[0]
        for kind, rate in rates.items():
            name = kind.removeprefix("defect:")
            key = f"injected.recall.{name}" if kind in names else f"injected.{name}"
            found = part.numbers[key]
            held.setdefault(name, []).append(bool(found.low <= rate <= found.high))
    every = [hit for hits in held.values() for hit in hits]
    for name, hits in [*held.items(), ("all of them", every)]:
        value = round(float(np.mean(hits)), 3)
        yield {
            "table": "planted",
            "name": name,
            "n": len(hits),
            "value": value,
            "answer": "",
        }


def main() -> None:
    """Print the three tables, and keep them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=200, help="planted judges (default: 200)"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    given = parser.parse_args()
    runs = runs_of()
    kept = []
    for part in (of_rules(runs), of_best_rule(runs), of_planted(runs, given.draws)):
        for row in part:
            print(
                f"{row['table']:10} {row['name']:52} {row['n']:6} {row['value']!s:>7}",
                end="",
            )
            print(f"  {row['answer']}", flush=True)
            kept.append(row)
    # "Not yet" is the most that labels can earn which say what was planted, so it counts as well.
    believed = [row["name"] for row in kept if row["answer"] in ("yes", "not_yet")]
    print(f"rules that are more than refuted or open: {believed or 'none'}")
    if given.write:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)


if __name__ == "__main__":
    main()
