"""A run that is killed (SIGKILL) at random moments, report and MLflow included, and resumed: are its tables the same?

    python -m benchmarks.kills [--kills 20] [--seed 0] [--batch gpt|claude]

Asks a local server that takes some time for each answer, so that most moments lie in the judging. Prints where each
kill fell, and whether scores and metrics are those of a run that nobody disturbed. With `--batch` the run judges by
`engine=batch` of that model: half of the kills fall within the 50 milliseconds in which a batch is noted, sent and
noted again, the others until its answers are in the journal, and the server must have had each question once.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.stub_server import KEY, StubServer
from tests.test_faults import results
from undogmatic.engine.batch import BATCHES

TEXTS = 40


def main() -> None:
    """Parse the options, kill and resume."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", choices=("gpt", "claude"), help="judge by batches of this model")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    place = Path(tempfile.mkdtemp())
    try:
        with StubServer(latency=0.1, batch_seconds=2.0) as stub:
            version = "" if given.batch == "claude" else "/v1"
            words = [f"model={given.batch or 'gpt'}", f"model.api_base={stub.url}{version}", f"run.limit={TEXTS}"]
            words += ["analysis=none", "engine.cache=false"]
            words += ["engine=batch", "engine.poll=0.2", "tracking=none"] if given.batch else ["engine.concurrency=4"]
            began = time.perf_counter()
            assert _run(place, [*words, "hydra.run.dir=whole"]) == 0
            lasts = time.perf_counter() - began
            expected = _comparable(place / "whole")
            print(f"undisturbed: {lasts:.1f} s")
            bad = 0
            for number in range(given.kills):
                folder = place / f"cut{number}"
                moment = draw.uniform(0.1, 1.0) * lasts
                notes = None
                if given.batch:
                    notes, moment = folder / BATCHES, draw.uniform(0, 3.0) if number % 2 else draw.uniform(0, 0.05)
                stub.requests.clear()
                _run(place, [*words, f"hydra.run.dir={folder.name}"], moment, notes)
                judged = folder / "judgments.jsonl"
                before = judged.read_bytes().count(b"\n") if judged.exists() else 0
                there = (folder / "run.json").is_file()
                status = _run(place, [*words, f"run.resume={folder.name}" if there else f"hydra.run.dir={folder.name}"])
                same = status == 0 and _comparable(folder) == expected
                same = same and (not given.batch or len(stub.requests) == TEXTS)
                bad += not same
                print(
                    f"killed after {moment:4.1f} s, {before:2d} judged: {'same' if same else f'DIFFERS ({status})'}",
                    flush=True,
                )
            print(f"{given.kills} kills, {bad} with other tables")
    finally:
        shutil.rmtree(place)


def _comparable(folder: Path) -> object:
    """Scores, metrics but those of calls (an answer under way when the kill came is asked for again), items judged."""
    scores, metrics, judged = results(folder)
    return scores, {k: v for k, v in metrics.items() if "token" not in k and "calls" not in k}, sorted(judged)


def _run(place: Path, words: list[str], killed_after: float | None = None, once: Path | None = None) -> int:
    """The status of a run, killed so many seconds after its start, or `once` this file is there."""
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": KEY,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "undogmatic.run", *words],
        cwd=place,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while once is not None and not once.exists() and process.poll() is None:
        time.sleep(0.001)
    try:
        return process.wait(killed_after)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


if __name__ == "__main__":
    main()
