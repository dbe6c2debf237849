"""Does it pay to label the texts first whose scores move most where they should not? For judges of
the ShameScore, the draw of `undogmatic label RUN --random N` beside an even one, on labelled texts.

    python -m benchmarks.label_draw [--judges 6] [--write]

Each judge is put through the instrument test on the 150 labelled texts of `dataset=labelled`, whose
labels the test does not see. Printed are Spearman's correlation, over texts, of how far a text's
scores differ with how far its score is from the label; and, over 4,000 draws of a third of the
texts, the standard deviation of the weighted mean distance by that draw, divided by that of an even
one (below 1 it pays), and how far its mean is off, in points. `--write` keeps the table in
benchmarks/results/label_draw.csv.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from omegaconf import OmegaConf
from scipy import stats

from benchmarks.instrument_trust import JUDGES, _settings, fisher, run
from undogmatic.config.door import compose_config
from undogmatic.datasets.labels import load
from undogmatic.review.unsteady import draw
from undogmatic.stats import drawing

RESULTS = Path(__file__).with_name("results") / "label_draw.csv"
NAMES = ("patterns", "tfidf", "length", "capitals", "boosters", "few connectives")
"""Of the judges of `benchmarks.instrument_trust`, those that take seconds."""
DRAWS = 4000
PART = 3


def judged(
    model: Sequence[str], labels: dict[str, float], texts: Path, folder: Path
) -> dict[str, Any]:
    """A judge's row."""
    words = [f"dataset.path={texts}", f"dataset.n={len(labels)}", *model]
    run(["experiment=instrument", *words], folder)
    # Hydra's entry point writes it, which is not used here.
    composed = folder / ".hydra" / "config.yaml"
    composed.parent.mkdir(exist_ok=True)
    OmegaConf.save(compose_config(["experiment=instrument", *words]), composed)
    n = len(labels) // PART
    table = draw(str(folder), n, 0).table
    rows = pd.DataFrame(
        list(map(json.loads, table.read_text(encoding="utf-8").splitlines()))
    )
    chances = rows["inclusion_probability"].to_numpy()
    off = np.abs(rows["verdict"] - rows["item"].map(labels)).to_numpy()
    ranks = float(stats.spearmanr(chances, off).statistic)
    rng, spreads, biases = np.random.default_rng(0), [], []
    for chance in (chances, np.full(off.size, n / off.size)):
        places = [drawing.systematic(chance, rng) for _ in range(DRAWS)]
        means = [np.average(off[own], weights=1 / chance[own]) for own in places]
        spreads.append(float(np.std(means)))
        biases.append(float(np.mean(means) - off.mean()))
    low, high = fisher(ranks, off.size)
    found = {
        "correlation": ranks,
        "low": low,
        "high": high,
        "ratio": spreads[0] / spreads[1],
    }
    return found | {"bias": biases[0], "n": off.size, "drawn": n}


def main() -> None:
    """Print, and keep, what the draw is worth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--judges", type=int, default=len(NAMES), help="so many of them"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    chosen = parser.parse_args()
    items = load(_settings(["dataset=labelled", "analysis=none"])).labelled.items
    known = [item for item in items if item.label is not None]
    labels = {item.id: float(item.label) for item in known}
    table = []
    with tempfile.TemporaryDirectory() as made:
        texts = Path(made, "texts.jsonl")
        rows = [{"id": i.id, "text": i.text, "group": i.pair or i.id} for i in known]
        texts.write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
        for judge in NAMES[: chosen.judges]:
            folder = Path(made, judge)
            table.append(
                {"judge": judge} | judged(JUDGES[judge], labels, texts, folder)
            )
            print(table[-1], flush=True)
    if chosen.write:
        pd.DataFrame(table).round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
