"""What a text costs as texts become more: seconds, peak memory and bytes per further text of the whole program.

    python -m benchmarks.scale [--models patterns student hosted] [--engines local ray] [--workers 1 2]
        [--sizes 1000 10000] [--analysis none] [--tracking none] [--report] [--write]
    python -m benchmarks.scale --made labelled calibration [--sizes 2000 20000]

Each row is a process of its own: `python -m undogmatic.run` over a file of generated texts, with rules (`patterns`), a
student that was fitted to them (`student`) or a stub server that answers after a hundredth of a second (`hosted`), by
engine=local (one process) and, where it is installed, by engine=ray with so many workers. `MB` is the peak of that
process, `all MB` of it and all that it starts, looked at four times a second; `processor` are its seconds of a
processor, which other work on the machine does not lengthen as it does those of the clock. `x MB` and the bytes per
further text are against the row of 10,000 texts, of this run or of benchmarks/results (without one, of the fewest
texts), so that each size can be measured by itself. `--report` then makes the report anew from the run's folder
(`undogmatic report`) and measures that, too. `--write` keeps the rows in benchmarks/results.

With `--made` nothing is judged: a table of judgments that have everything an analysis can read (label, interval,
confidence, entropy, doubt) is made and analysed. Imports (3-5 s, 240 MB) do not grow with the texts.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

SIZES, BASE, RESULTS = (
    (1000, 10_000),
    10_000,
    Path(__file__).with_name("results") / "scale.csv",
)
MODELS = ("patterns", "student", "hosted")
KEYS = "what model engine workers analysis tracking texts".split()
LATENCY, FITTED = 0.01, 300
WORDS = (
    "o tribunal decidiu que a culpa é do autor e deve pagar multa vergonha absurdo lei artigo STF"
    " Tema 69 porque prova ridículo claro evidente razão pedido recurso negado provido relator voto"
    " turma sempre nunca honra dignidade"
).split()


class Used(NamedTuple):
    """What a process took."""

    seconds: float
    processor: float
    peak: float  # MB, of the process itself
    whole: float  # MB, with what it started


def main() -> None:
    """Every model by every engine at every size, each in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument(
        "--engines",
        nargs="+",
        default=["local", *(["ray"] if find_spec("ray") else [])],
    )
    parser.add_argument(
        "--workers", nargs="+", type=int, default=[1, 2], help="of engine=ray"
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--analysis", default="none")
    parser.add_argument("--tracking", default="none")
    parser.add_argument("--length", type=int, default=20, help="words of a text")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--made", nargs="+", default=[])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        analyse_made_judgments(chosen.child[0], int(chosen.child[1]))
        return
    print(
        f"{'':9}model     engine  workers    texts  seconds  processor     MB  x MB  bytes per"
        " further text  all MB"
    )
    rows: list[dict[str, str]] = []
    before = (
        list(csv.DictReader(RESULTS.open(encoding="utf-8"))) if RESULTS.exists() else []
    )
    ways = [
        (engine, n)
        for engine in chosen.engines
        for n in (chosen.workers if engine == "ray" else (1,))
    ]
    for model, (engine, workers) in (
        (m, w) for m in chosen.models for w in ways if not chosen.made
    ):
        for size in chosen.sizes:
            with (
                tempfile.TemporaryDirectory() as folder,
                judged_by(model, Path(folder)) as own,
            ):
                words = [
                    *own,
                    f"engine={engine}",
                    *([f"engine.workers={workers}"] if engine == "ray" else []),
                ]
                words += [
                    f"analysis={chosen.analysis}",
                    f"tracking={chosen.tracking}",
                    f"hydra.run.dir={folder}/run",
                ]
                if chosen.tracking == "mlflow":
                    words.append(f"tracking.uri=sqlite:///{folder}/mlflow.db")
                words += [
                    "dataset=texts",
                    f"dataset.path={write(Path(folder) / 'texts.csv', size, chosen.length)}",
                ]
                done = {"run": ["undogmatic.run", *words]}
                done |= (
                    {"report": ["undogmatic.cli", "report", f"{folder}/run"]}
                    if chosen.report
                    else {}
                )
                for what, each in done.items():
                    way = (
                        what,
                        model,
                        engine,
                        workers,
                        chosen.analysis,
                        chosen.tracking,
                        size,
                    )
                    rows.append(
                        dict(zip(KEYS, map(str, way), strict=True))
                        | told(measured(["-m", *each]))
                    )
                    print(shown(compared([*before, *rows])[-1]), flush=True)
    for analysis in chosen.made:
        made: list[dict[str, str]] = []
        for size in chosen.sizes:
            used = measured(["-m", "benchmarks.scale", "--child", analysis, str(size)])
            way = ("made", "-", "-", 1, analysis, "none", size)
            made.append(dict(zip(KEYS, map(str, way), strict=True)) | told(used))
            print(shown(compared(made)[-1]), flush=True)
    if chosen.write:
        keep([*before, *rows])


def told(used: Used) -> dict[str, str]:
    """The figures of a row."""
    figures = {
        "seconds": f"{used.seconds:.1f}",
        "processor": f"{used.processor:.1f}",
        "mb": f"{used.peak:.0f}",
    }
    return figures | {"times_mb": "", "bytes": "", "all_mb": f"{used.whole:.0f}"}


def compared(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows, of several of one way and size the last, each beside that of BASE texts judged in
    the same way, or of the fewest."""
    kept = dict[tuple[str, ...], dict[str, str]]()
    for row in rows:
        key = tuple(row[name] for name in KEYS)
        kept.pop(key, None)
        kept[key] = row
    ways = dict[tuple[str, ...], dict[int, float]]()
    for (*way, size), row in kept.items():
        ways.setdefault((*way,), {})[int(size)] = float(row["mb"])
    found = []
    for (*way, size), row in kept.items():
        peaks = ways[(*way,)]
        base = BASE if BASE in peaks else min(peaks)
        more, further = float(row["mb"]) - peaks[base], int(size) - base
        per_text = f"{more * 2**20 / further:.0f}" if further else ""
        found.append(
            row
            | {"times_mb": f"{float(row['mb']) / peaks[base]:.2f}", "bytes": per_text}
        )
    return found


def shown(row: dict[str, str]) -> str:
    """A row as it is printed."""
    about = "{what:9}{model:9} {engine:7} {workers:>7} {texts:>8} {seconds:>8} {processor:>10}"
    return (about + " {mb:>6} {times_mb:>5} {bytes:>23} {all_mb:>7}").format(**row)


def keep(rows: list[dict[str, str]]) -> None:
    """Write benchmarks/results/scale.csv."""
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        table.writeheader()
        table.writerows(
            sorted(
                compared(rows),
                key=lambda row: ([row[name] for name in KEYS[:-1]], int(row["texts"])),
            )
        )


@contextlib.contextmanager
def judged_by(model: str, folder: Path) -> Iterator[list[str]]:
    """The words that choose a model; a student is fitted to the patterns first, a server runs
    meanwhile."""
    if model == "patterns":
        yield ["model=patterns"]
    elif model == "student":
        data, run, student = (
            write(folder / "fitted.csv", FITTED, 20),
            folder / "fitted",
            folder / "student.safetensors",
        )
        plain = [
            "model=patterns",
            "dataset=texts",
            f"dataset.path={data}",
            "analysis=none",
            "tracking=none",
        ]
        for each in (
            ["undogmatic.run", *plain, f"hydra.run.dir={run}"],
            [
                "undogmatic.cli",
                "distill",
                str(run),
                "--out",
                str(student),
                "embeddings=letters",
                "tracking=none",
            ],
        ):
            subprocess.run(
                [sys.executable, "-m", *each], check=True, capture_output=True
            )
        yield ["model=distilled", f"model.path={student}"]
    else:
        command = [sys.executable, "-m", "tests.stub_server", "--latency", str(LATENCY)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            own = [f"model.api_base={url}", "model.name=stub", "readout=structured"]
            yield [
                "model=openai_compatible",
                *own,
                f"engine.cache_dir={folder / 'cache'}",
            ]
            server.kill()


def measured(words: list[str]) -> Used:
    """What one Python process takes, and all that it starts."""
    clock, whole = time.perf_counter(), 0.0
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        whole = max(whole, memory_of(process.pid))
        time.sleep(0.25)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        assert process.stderr is not None
        sys.exit(
            f"{' '.join(words)} ended with {process.returncode}:"
            f" {process.stderr.read().decode()[-2000:]}"
        )
    peak = used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return Used(
        time.perf_counter() - clock,
        used.ru_utime + used.ru_stime,
        peak,
        max(whole, peak),
    )


def memory_of(root: int) -> float:
    """MB that a process and those that it has started hold now, where the system tells (Linux)."""
    parents, held = dict[int, int](), dict[int, int]()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            parents[int(place.name)], held[int(place.name)] = (
                int(fields[1]),
                int(fields[21]),
            )
    own = {root}
    for process in sorted(parents):
        if parents[process] in own:
            own.add(process)
    return (
        sum(held.get(process, 0) for process in own)
        * os.sysconf("SC_PAGE_SIZE")
        / 2**20
    )


def write(file: Path, size: int, length: int) -> Path:
    """A table of so many texts with labels, of so many words that no text is a copy of another by
    chance."""
    draw = random.Random(1)
    syllables = [first + last for first in "bcdfglmnprstv" for last in "aeiou"]
    words_made = [
        *WORDS,
        *(
            "".join(draw.choices(syllables, k=draw.randint(2, 5)))
            for _ in range(20_000)
        ),
    ]
    with file.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["id", "text", "label"])
        for n in range(size):
            text = " ".join(draw.choices(words_made, k=length))
            rows.writerow([f"t{n}", f"{text} {n}.", draw.randint(0, 100)])
    return file


def analyse_made_judgments(analysis: str, size: int) -> None:
    """What follows judging, over made judgments with every kind of uncertainty."""
    import numpy as np
    import pandas as pd

    from undogmatic.config.build import build
    from undogmatic.config.door import compose_config
    from undogmatic.engine.recipe import Recipe
    from undogmatic.examinations.base import analyse
    from undogmatic.examinations.run_evidence import RunEvidence
    from undogmatic.examinations.run_rows import COLUMNS

    config = compose_config([f"analysis={analysis}", "model=patterns"])
    rng = np.random.default_rng(0)
    label = rng.integers(0, 101, size).astype(float)
    score = np.clip(label + rng.normal(0, 20, size), 0, 100)
    below, above = (15 * rng.random(size) for _ in range(2))
    frame = pd.DataFrame(
        {column: None for column in COLUMNS}, index=range(size)
    ).assign(
        item_id=[f"t{n}" for n in range(size)],
        judge="made",
        group=[f"item t{n}" for n in range(size)],
        text=[f"text {n}" for n in range(size)],
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
    judged = RunEvidence(frame, Recipe(config).build().rubric)
    analyse(build(config["analysis"], "analysis"), judged, np.random.default_rng(0))


if __name__ == "__main__":
    main()
