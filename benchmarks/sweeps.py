"""What a sweep costs per job beside the bare work, over judgments that the cache answers.

    python -m benchmarks.sweeps [--jobs 24] [--tracking none]

A stub server answers the texts of the first job; all later requests are the same, so the cache
answers them. Measured are, one after the other, (a) the bare work: in one process that has all
modules loaded, for each job, the recipe built, the items loaded, judged from the cache and
analysed; (b) the whole command `python -m undogmatic.run -m seed=range(0,N)`: a start, N jobs with
journal, tables, figures, report and tracking, and the report of the sweep. Printed are the seconds
of both, what (b) takes more per job, and the ratio.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from undogmatic.config.build import build, settings
from undogmatic.engine.journal import Journals
from undogmatic.engine.recipe import Recipe
from undogmatic.examinations.base import analyse
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.safety.paths import conf_folder


@contextlib.contextmanager
def served(latency: float) -> Iterator[str]:
    """The address of a stub server in a process of its own."""
    command = [sys.executable, "-m", "tests.stub_server", "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.terminate()


def words(url: str) -> list[str]:
    """What both ways run."""
    model = [
        "model=openai_compatible",
        f"model.api_base={url}",
        "model.name=stub",
        "readout=structured",
    ]
    return [*model, "dataset=pairs", "analysis=ab", "engine.concurrency=64"]


class Spent(NamedTuple):
    """Seconds by the clock, and of a processor (which other load on the machine distorts less)."""

    clock: float
    cpu: float


def bare(given: list[str], jobs: int) -> Spent:
    """The work alone."""
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        composed = compose("config", overrides=given)
    config = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(config, dict)
    clock, processor = time.perf_counter(), time.process_time()
    for seed in range(jobs):
        chosen = settings(config | {"seed": seed})
        recipe = Recipe(config | {"seed": seed})
        items, parts = build(chosen.dataset, "dataset").load(), recipe.build()
        with tempfile.TemporaryDirectory() as folder:
            journals = Journals(Path(folder), parts.steps)
            asyncio.run(
                build(chosen.engine, "engine").arun(
                    recipe, items, journals, 1, lambda *_: None
                )
            )
            found, judgments = journals.results(items, parts.judges, 1)
        table = RunEvidence(
            tabulate(found, judgments, 1, parts.expected()), parts.rubric, "bare"
        )
        analyse(build(chosen.analysis, "analysis"), table, np.random.default_rng(seed))
    return Spent(time.perf_counter() - clock, time.process_time() - processor)


def whole(given: list[str], jobs: int, folder: str, tracking: str) -> Spent:
    """The command."""
    command = [
        sys.executable,
        "-m",
        "undogmatic.run",
        "-m",
        *given,
        f"seed=range(0,{jobs})",
        f"tracking={tracking}",
    ]
    clock, processor = time.perf_counter(), of_children()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    return Spent(time.perf_counter() - clock, of_children() - processor)


def of_children() -> float:
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Fill the cache, measure both, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--tracking", choices=("none", "mlflow"), default="none")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(0.01) as url:
        os.environ["UNDOGMATIC_CACHE"] = f"{folder}/cache"
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(Path.cwd()), os.environ.get("PYTHONPATH", "")]
        )
        whole(words(url), 1, folder, "none")  # the cache is full now
        bare(words(url), 1)  # and all modules are loaded
        work, command = (
            bare(words(url), given.jobs),
            whole(words(url), given.jobs, folder, given.tracking),
        )
    print(f"{given.jobs} jobs of 136 cached judgments, tracking={given.tracking}")
    for name, own, all_ in (
        ("clock", work.clock, command.clock),
        ("processor", work.cpu, command.cpu),
    ):
        more = (all_ - own) / given.jobs
        print(
            f"{name}: bare work {own:.1f} s, sweep {all_:.1f} s, {more:.2f} s more per job, ratio"
            f" {all_ / own:.2f}"
        )


if __name__ == "__main__":
    main()
