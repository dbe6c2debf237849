"""How fast a hosted model is judged, against a bare HTTP client on the same machine in the same run.

    python -m benchmarks.hosted [--items 1500] [--rounds 3] [--in-flight 64] [--latency 0.1] [--limit N]
        [--profile FILE] [--whole] [--write]

A stub server in its own process answers after `latency` seconds. Rounds alternate between (a) an aiohttp client that
posts the same payloads and reads the JSON back, and (b) the whole pipeline: items -> structured readout (DSPy) -> score
judge -> local engine -> journal with the raw calls, cache on, in a fresh folder. Printed are both rates, their ratio
(medians), and the ceiling `in_flight / latency`.

With `--limit 50` the server takes 50 calls a second and answers 429 beyond. Nothing is set, neither calls in flight nor
a rate; printed is the rate that the pipeline reaches against the server's own.

With `--whole` the command itself is measured, `undogmatic run` with `tracking=mlflow` into a new store, over a file of
`--items` texts of drawn words. Printed are its seconds by the clock and of a processor, those of
judging, and what lies outside, by phase. A phase ends when a file of it appears in the run's folder (needs /proc).

`--write` keeps what is printed in benchmarks/results/hosted.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import csv
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from omegaconf import OmegaConf

from benchmarks import stored
from benchmarks.scale import WORDS
from undogmatic.config.build import build
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.hosted import ChatModel
from undogmatic.records.limits import PacedLimits
from undogmatic.records.records import Item, Provenance, Verdict
from undogmatic.safety.paths import conf_folder

TEXT = (
    "Nos termos do Tema {n} da repercussão geral, a pretensão não prospera, porque a verba tem"
    " natureza indenizatória e não integra a base de cálculo da contribuição, salvo se paga com"
    " habitualidade. "
)


def items(count: int, salt: str) -> list[Item]:
    """Texts of 200 to 1,000 characters, all different."""
    return [
        Item(id=str(n), text=f"{salt}-{n}: " + TEXT.format(n=n) * (1 + n % 5))
        for n in range(count)
    ]


def component(group: str, name: str, **parts: Any) -> Any:
    """One shipped config, built."""
    node: Any = OmegaConf.to_container(
        OmegaConf.load(conf_folder() / group / f"{name}.yaml")
    )
    return build(node, group, **parts)


class Pace(NamedTuple):
    """Calls per second, and processor milliseconds per call in this process (which other load does
    not distort)."""

    rate: float
    cpu: float

    @classmethod
    def since(cls, clock: float, processor: float, calls: int) -> Pace:
        """From the clocks' readings at the start."""
        return cls(
            calls / (time.perf_counter() - clock),
            (time.process_time() - processor) * 1e3 / calls,
        )

    def __str__(self) -> str:
        return f"{self.rate:.0f}/s ({self.cpu:.2f} ms CPU)"


async def bare(url: str, payloads: list[dict[str, Any]], in_flight: int) -> Pace:
    """A plain client."""
    queue = list(payloads)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0)
    ) as session:

        async def work() -> None:
            while queue:
                async with session.post(
                    f"{url}/chat/completions", json=queue.pop()
                ) as reply:
                    (await reply.json())["choices"][0]["message"]["content"]

        clock, processor = time.perf_counter(), time.process_time()
        await asyncio.gather(*(work() for _ in range(in_flight)))
        return Pace.since(clock, processor, len(payloads))


def pipeline(url: str, todo: list[Item], in_flight: int | None, folder: Path) -> Pace:
    """The whole path, journal and cache included."""
    model = ChatModel("stub", url)
    rubric, prompt = component("rubric", "shame"), component("prompt", "anchored_pt")
    readout = component("readout", "structured")
    readout.bind(model, prompt, rubric)
    provenance = Provenance(
        model=model.name,
        readout=readout.name,
        prompt=prompt.id,
        prompt_hash=prompt.hash(rubric),
        program_hash="0" * 64,
        config_hash="0" * 64,
    )
    parts = Parts(
        rubric, prompt, model, readout, (JudgeStep(ScoreJudge(readout), provenance),)
    )
    engine = LocalEngine(
        PacedLimits(concurrency=in_flight), cache_dir=str(folder / "cache")
    )
    clock, processor = time.perf_counter(), time.process_time()
    _, judgments = asyncio.run(engine.arun(Recipe({}, parts), todo, Journals(folder)))
    pace = Pace.since(clock, processor, len(todo))
    assert all(
        isinstance(j.outcome, Verdict) and len(j.calls) == 1 and not j.calls[0].cached
        for j in judgments
    )
    return pace


def payloads_of(todo: list[Item], folder: Path) -> list[dict[str, Any]]:
    """What the pipeline posts for these items, so that the bare client posts the same."""
    lines = (folder / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["calls"][0]["request"] for line in lines[: len(todo)]]


PHASES = {
    "start, until the config is composed": ".hydra/overrides.yaml",
    "until it is built": "run.json",
    "judging and the tables of it": "scores.csv",
    "analysis": "metrics.json",
    "report": "report.html",
    "MLflow, and the end": "",
}
"""What a run does, one after the other, and the file in its folder with whose appearance each
ends."""


def whole(url: str, count: int, in_flight: int, folder: Path) -> dict[str, float]:
    """Measure the command over so many texts, and print where its seconds go. They are given back
    by what they were spent on."""
    folder.mkdir()
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        table, drawn = csv.writer(file), random.Random(0)
        table.writerow(["id", "text"])
        table.writerows(
            [n, " ".join(drawn.choices(WORDS, k=drawn.randint(30, 150)))]
            for n in range(count)
        )
    run = folder / "run"
    words = [
        "model=openai_compatible",
        f"model.api_base={url}",
        "model.name=stub",
        "readout=structured",
    ]
    words += [
        "dataset=texts",
        f"dataset.path={folder / 'texts.csv'}",
        f"engine.concurrency={in_flight}",
    ]
    words += [
        f"engine.cache_dir={folder / 'cache'}",
        "tracking=mlflow",
        f"tracking.uri=sqlite:///{folder}/mlflow.db",
    ]
    command = [
        sys.executable,
        "-m",
        "undogmatic.cli",
        "run",
        *words,
        f"hydra.run.dir={run}",
    ]
    clock, reached = time.perf_counter(), list[tuple[float, float]]()
    with (
        (folder / "said.txt").open("w") as said,
        subprocess.Popen(command, stdout=said, stderr=said) as process,
    ):
        for name in PHASES.values():
            while process.poll() is None and not (name and (run / name).exists()):
                used = processor_of(process.pid)
                time.sleep(0.01)
            reached.append((time.perf_counter() - clock, used))
    if process.returncode:
        sys.exit((folder / "said.txt").read_text()[-2000:])
    judging = float(json.loads((run / "metrics.json").read_text())["judging_seconds"])
    (seconds, processor), before = reached[-1], (0.0, 0.0)
    print(
        f"{count} calls, the whole command: {seconds:.1f} s, judging {judging:.1f} s, outside"
        f" {seconds - judging:.1f} s"
    )
    print(
        f"{processor:.1f} s of a processor in all; by phase, seconds of the clock and of a"
        " processor:"
    )
    spent = {"calls": count, "seconds": seconds, "seconds judging": judging}
    spent |= {"processor": processor}
    for name, now in zip(PHASES, reached, strict=True):
        print(f"  {name:38}{now[0] - before[0]:6.2f}{now[1] - before[1]:7.2f}")
        spent[f"processor: {name}"] = now[1] - before[1]
        before = now
    return spent


def keep(what: str, figures: dict[str, float]) -> None:
    """Store figures of one kind of measurement."""
    rows = [
        {"what": what, "figure": name, "value": f"{n:.4g}"}
        for name, n in figures.items()
    ]
    stored.keep("hosted", ("what", "figure"), rows)


def processor_of(process: int) -> float:
    """Seconds of a processor that a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def beside_bare(url: str, options: argparse.Namespace, folder: Path) -> None:
    """Measure the pipeline and a bare client in turn, and print both."""
    plain, ours = [], []
    for n in range(options.rounds):
        todo = items(options.items, f"round {n}")
        ours.append(pipeline(url, todo, options.in_flight, folder / str(n)))
        payloads = payloads_of(todo, folder / str(n))
        plain.append(asyncio.run(bare(url, payloads, options.in_flight)))
        print(
            f"round {n + 1}: bare client {plain[-1]}, pipeline {ours[-1]}", flush=True
        )
    client, own = (
        Pace(*map(statistics.median, zip(*paces, strict=True)))
        for paces in (plain, ours)
    )
    print(
        f"median of {options.rounds}: bare client {client}, pipeline {own}, ratio"
        f" {own.rate / client.rate:.2f} (ceiling"
        f" {options.in_flight / options.latency:.0f}/s)"
    )
    if options.write:
        shares = [
            mine.rate / other.rate for mine, other in zip(ours, plain, strict=True)
        ]
        figures = {"calls": options.items, "rounds": options.rounds}
        figures |= {
            "bare: calls a second": client.rate,
            "bare: processor ms": client.cpu,
        }
        figures |= {"ours: calls a second": own.rate, "ours: processor ms": own.cpu}
        keep("beside bare", figures | {"best ratio of a round": max(shares)})


def main() -> None:
    """Run the rounds and print the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument(
        "--profile",
        default=None,
        help="write cProfile statistics of one pipeline round to this file",
    )
    parser.add_argument(
        "--limit", type=float, default=None, help="calls a second that the server takes"
    )
    parser.add_argument(
        "--whole", action="store_true", help="measure the command `undogmatic run`"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    options = parser.parse_args()

    command = [
        sys.executable,
        "-m",
        "tests.stub_server",
        "--latency",
        str(options.latency),
    ]
    command += ["--limit", str(options.limit)] if options.limit is not None else []
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            if options.limit is not None:
                reached = pipeline(
                    url, items(options.items, "limited"), None, Path(folder) / "limited"
                )
                share = reached.rate / options.limit
                print(
                    f"{options.items} calls, the server takes {options.limit:g}/s: {reached},"
                    f" {share:.0%} of it"
                )
                if options.write:
                    limited = {"calls": options.items, "limit": options.limit}
                    keep("limit", limited | {"rate": reached.rate})
                return
            if options.whole:
                spent = whole(
                    url, options.items, options.in_flight, Path(folder) / "whole"
                )
                if options.write:
                    keep("whole", spent)
                return
            warm = items(2 * options.in_flight, "warm")
            pipeline(url, warm, options.in_flight, Path(folder) / "warm")
            if options.profile:
                profiler = cProfile.Profile()
                profiler.enable()
                pipeline(
                    url,
                    items(options.items, "profile"),
                    options.in_flight,
                    Path(folder) / "profile",
                )
                profiler.disable()
                profiler.dump_stats(options.profile)
                return
            beside_bare(url, options, Path(folder))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
