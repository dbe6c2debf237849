"""Does the instrument test foretell whether a judge agrees with people? For judges of the ShameScore
that run here: what the test finds without a label, beside their agreement with people on labelled
texts of the test split.

    python -m benchmarks.instrument_trust [--model PATH --texts 14 --labelled 60 --judges 0
        --keep FOLDER --write]

Each judge scores the items of `dataset=instrument` (40 texts, all cues of the default, `seed=0`),
and the labelled texts of `dataset=labelled`. Printed are the number of changes that should not
matter and have an effect, the largest of them in points, the share of planted defects in the right
order, the score of a blank page, and Spearman's correlation with the labels. Below stand the rank
correlations, over the judges, of each of these with the agreement, with the interval of 95 % by
Fisher's transformation (over so few judges they are wide). `--model PATH` adds an instruction model
(a GGUF file that is asked in words, on one thread), once for an answer in JSON and once for the
probabilities of levels; with `--keep FOLDER` a benchmark that was ended goes on where it was.
`--write` puts the rows into benchmarks/results/instrument_trust.csv, in place of those of the same
judges; the correlations are over all that stand there then.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from undogmatic.config.door import compose_config, composed
from undogmatic.datasets.labels import load
from undogmatic.experiment import run_experiment

RESULTS = Path(__file__).with_name("results") / "instrument_trust.csv"
JUDGES: dict[str, list[str]] = {
    "embedded, probe": ["model=local"],
    "patterns": ["model=patterns"],
    "tfidf": ["model=tfidf"],
    "random": ["model=fake", "model.kind=random"],
    "length": ["model=fake", "model.kind=length"],
    "short": ["model=fake", "model.kind=length", "model.reverse=true"],
    "capitals": ["model=fake", "model.kind=capitals"],
    "citations": ["model=fake", "model.kind=citations"],
    "boosters": ["model=fake", "model.kind=boosters"],
    "few connectives": ["model=fake", "model.kind=connectives", "model.reverse=true"],
    "hedges": ["model=fake", "model.kind=hedges"],
    "embedded, asked for a level": [
        "model=local",
        "readout=logprobs",
        "prompt=demos_pt",
    ],
}
COLUMNS = (
    "judge",
    "texts",
    "effects",
    "worst",
    "right_orders",
    "blank",
    "agreement",
    "low",
    "high",
    "n",
)
MEASURES = ("effects", "worst", "right_orders", "blank")
QUIET = ["tracking=none", "engine.max_failures=1"]


def run(words: list[str], folder: Path) -> dict[str, float]:
    """The metrics of a run of these words."""
    config, choices = composed([*words, *QUIET], ())
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        run_experiment(config, choices, folder)
    found: dict[str, float] = json.loads(
        (folder / "metrics.json").read_text(encoding="utf-8")
    )
    return found


def agreement(
    scores: pd.DataFrame, labels: dict[str, float]
) -> tuple[float, float, float, int]:
    """Spearman's correlation of scores with labels, with its interval (Fisher; texts as they are),
    and the number of texts."""
    known = scores[scores["score"].notna()]
    people = known["item_id"].map(labels)
    if known["score"].nunique() < 2:
        return 0.0, np.nan, np.nan, len(known)
    value = float(stats.spearmanr(known["score"], people).statistic)
    return value, *fisher(value, len(known)), len(known)


def fisher(value: float, n: int) -> tuple[float, float]:
    """The interval of 95 % of a rank correlation (Bonett and Wright 2000)."""
    if n < 5 or abs(value) >= 1:
        return np.nan, np.nan
    half = 1.96 * np.sqrt((1 + value**2 / 2) / (n - 3))
    return float(np.tanh(np.arctanh(value) - half)), float(
        np.tanh(np.arctanh(value) + half)
    )


def judged(words: list[str], texts: int, labelled: int, folder: Path) -> dict[str, Any]:
    """A judge's row; `labelled` of the texts with labels are drawn, 0 takes all."""
    alone = ["experiment=instrument", f"dataset.n={texts}", *words]
    metrics = run(alone, folder / "instrument")
    of_people = ["dataset=labelled", "analysis=none"]
    if labelled:
        of_people[0] = f"dataset=labelled_subset dataset.n={labelled}"
    run([*" ".join(of_people).split(), *words], folder / "labelled")
    scores = pd.read_csv(folder / "labelled" / "scores.csv")
    items = load(_settings(["dataset=labelled", "analysis=none"])).labelled.items
    labels = {item.id: float(item.label) for item in items if item.label is not None}
    value, low, high, n = agreement(scores, labels)
    return {
        "texts": texts,
        "effects": metrics.get("instrument.effect", np.nan),
        "worst": abs(metrics.get("instrument.worst", np.nan)),
        "right_orders": metrics.get("instrument.ladder.right_orders", np.nan),
        "blank": metrics.get("instrument.dark.mean", np.nan),
        "agreement": value,
        "low": low,
        "high": high,
        "n": n,
    }


def _settings(words: list[str]) -> Any:
    from undogmatic.config.build import settings

    return settings(compose_config(words))


def main() -> None:
    """Print, and keep, what the test finds of each judge, beside its agreement with people."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--judges", type=int, default=len(JUDGES), help="so many of them"
    )
    parser.add_argument("--texts", type=int, default=40)
    parser.add_argument(
        "--labelled", type=int, default=0, help="so many texts with labels (0: all)"
    )
    parser.add_argument(
        "--model", type=Path, help="a GGUF file of an instruction model"
    )
    parser.add_argument("--keep", type=Path, help="the folder in which the runs stay")
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    chosen = parser.parse_args()
    judges = dict([*JUDGES.items()][: chosen.judges])
    if chosen.model is not None:
        judges |= instructed(chosen.model)
    rows = []
    print(f"{'judge':40}{'effects':>8}{'worst':>8}{'orders':>8}{'blank':>8}  agreement")
    for name, words in judges.items():
        with kept(chosen.keep, name) as folder:
            row = {
                "judge": name,
                **judged(words, chosen.texts, chosen.labelled, folder),
            }
        rows.append(row)
        print(
            f"{name:40}{row['effects']:>8.0f}{row['worst']:>8.1f}{row['right_orders']:>8.0%}"
            f"{row['blank']:>8.1f}  {row['agreement']:.2f} [{row['low']:.2f}, {row['high']:.2f}]",
            flush=True,
        )
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    if chosen.write:
        stored = pd.read_csv(RESULTS) if RESULTS.exists() else table[:0]
        others = stored[~stored["judge"].isin(table["judge"])]
        table = pd.concat([others, table]) if len(others) else table
        table.round(4).to_csv(RESULTS, index=False)
    for measure in MEASURES:
        known = table[[measure, "agreement"]].dropna()
        value = float(stats.spearmanr(known[measure], known["agreement"]).statistic)
        low, high = fisher(value, len(known))
        print(
            f"rank correlation of {measure} with agreement, {len(known)} judges:",
            end=" ",
        )
        print(f"{value:.2f} [{low:.2f}, {high:.2f}]")


def instructed(model: Path) -> dict[str, list[str]]:
    """An instruction model as a judge, asked for JSON and asked for a level."""
    asked = ["model=local", f"model.path={model}", "model.base=false"]
    asked += ["model.threads=1", "prompt=minimal_pt"]
    return {
        f"{model.stem}, {said}": [*asked, f"readout={readout}"]
        for said, readout in (("a level", "logprobs"), ("JSON", "structured"))
    }


@contextlib.contextmanager
def kept(folder: Path | None, judge: str) -> Iterator[Path]:
    """The folder of a judge's runs: one that stays, or one that is gone afterwards."""
    if folder is not None:
        yield folder / re.sub(r"\W+", "_", judge)
        return
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    main()
