"""Time and peak memory of analysing many labelled texts, with ratios to the first size. Prints, judges nothing.

python -m benchmarks.scale [--analysis labelled] [--sizes 2000 5000 20000 50000] [--run] [--tracking none]

Without `--run` a process of its own per size makes a table of judgments that have everything an analysis can read
(label, interval, confidence, entropy, doubt) and analyses it. With `--run` it is the whole program:
`python -m undogmatic.run model=patterns dataset=texts` over a file of generated texts, whose judge has no uncertainty.
Seconds are also given of the processor, since other work on the machine lengthens those of the clock. Neither should
grow faster than the texts; imports (3-5 s, 240 MB) do not grow at all.
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (2000, 5000, 20_000, 50_000)
ANALYSES = ("labelled", "calibration")
WORDS = (
    "o tribunal decidiu que a culpa é do autor e deve pagar multa vergonha absurdo lei artigo STF Tema 69 porque prova "
    "ridículo claro evidente razão pedido recurso negado provido relator voto turma sempre nunca honra dignidade"
).split()


def main() -> None:
    """Every analysis at every size, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--analysis", nargs="+", default=list(ANALYSES))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--run", action="store_true", help="the whole program instead of the analysis alone")
    parser.add_argument("--tracking", default="none", help="with --run: none or mlflow")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        analyse_made_judgments(chosen.child[0], int(chosen.child[1]))
        return
    print("analysis      texts  seconds  processor    MB    x texts  x processor  x MB  bytes per further text")
    for analysis in chosen.analysis:
        first: tuple[float, ...] | None = None
        for size in chosen.sizes:
            with tempfile.TemporaryDirectory() as folder:
                own = ["-m", "benchmarks.scale", "--child", analysis, str(size)]
                words = program(Path(folder), analysis, size, chosen.tracking) if chosen.run else own
                seconds, busy, peak = measured(words)
            first = first or (size, busy, peak)
            ratios = f"{size / first[0]:9.1f} {busy / first[1]:12.1f} {peak / first[2]:5.2f}"
            more = size - first[0]
            ratios += f" {(peak - first[2]) * 2**20 / more:23.0f}" if more else ""
            print(f"{analysis:<12} {size:>6} {seconds:>8.1f} {busy:>10.1f} {peak:>5.0f} {ratios}", flush=True)


def measured(words: list[str]) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak MB of one Python process.

    A process of its own starts it, because what is known of children is known of all of them together.
    """
    middle = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]], check=True, "
        "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    clock = time.perf_counter()
    found = subprocess.run([sys.executable, "-c", middle, *words], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - clock
    busy, peak = map(float, found.stdout.split())
    return seconds, busy, peak / (1024 if sys.platform != "darwin" else 1024**2)


def program(folder: Path, analysis: str, size: int, tracking: str, length: int = 100) -> list[str]:
    """The run of a user, over a file written here."""
    draw = random.Random(1)  # of so many words that no text is a copy of another by chance
    syllables = [first + last for first in "bcdfglmnprstv" for last in "aeiou"]
    words_made = [*WORDS, *("".join(draw.choices(syllables, k=draw.randint(2, 5))) for _ in range(20_000))]
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "label"])
        for n in range(size):
            text = " ".join(draw.choices(words_made, k=length))
            rows.writerow([f"t{n}", f"{text} {n}.", draw.randint(0, 100)])
    words = ["-m", "undogmatic.run", "model=patterns", "dataset=texts", f"dataset.path={folder / 'texts.csv'}"]
    if tracking == "mlflow":
        words.append(f"tracking.uri=sqlite:///{folder / 'mlflow.db'}")
    return [*words, f"analysis={analysis}", f"tracking={tracking}", f"hydra.run.dir={folder / 'run'}"]


def analyse_made_judgments(analysis: str, size: int) -> None:
    """What follows judging, over made judgments with every kind of uncertainty."""
    import numpy as np
    import pandas as pd

    from undogmatic.analyses.base import COLUMNS, LongTable, analyse
    from undogmatic.config.build import build
    from undogmatic.config.door import compose_config
    from undogmatic.engine.recipe import Recipe

    config = compose_config([f"analysis={analysis}", "model=patterns"])
    rng = np.random.default_rng(0)
    label = rng.integers(0, 101, size).astype(float)
    score = np.clip(label + rng.normal(0, 20, size), 0, 100)
    below, above = (15 * rng.random(size) for _ in range(2))
    frame = pd.DataFrame({column: None for column in COLUMNS}, index=range(size)).assign(
        item_id=[f"t{n}" for n in range(size)],
        judge="made",
        criterion="overall",
        label=label,
        repeat=0,
        score=score,
        raw_score=score,
        low=np.clip(score - below, 0, 100),
        high=np.clip(score + above, 0, 100),
        confidence=100 * rng.random(size),
        entropy=rng.random(size),
        doubt=rng.random(size).round(2),
        uncertainty=rng.choice(["low", "medium", "high"], size),
        review=False,
        error=None,
    )
    judged = LongTable(frame, Recipe(config).build().rubric)
    analyse(build(config["analysis"], "analysis"), judged, np.random.default_rng(0))


if __name__ == "__main__":
    main()
