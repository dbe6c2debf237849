"""A run that is killed (SIGKILL) at random moments, report and MLflow included, and resumed: are
its tables the same?

    python -m benchmarks.kills [--kills 20] [--seed 0] [--batch gpt|claude | --ray]

Asks a local server that takes some time for each answer, so that most moments lie in the judging.
Prints where each kill fell, and whether scores and metrics are those of a run that nobody
disturbed. With `--batch` the run judges by `engine=batch` of that model: half of the kills fall
within the 50 milliseconds in which a batch is noted, sent and noted again, the others until its
answers are in the journal, and the server must have had each question once.

With `--ray` the run judges by `engine=ray` on two machines (both this one). Every second kill falls
on one of its workers, the others on the run itself. Asked again may be only what was under way, at
most as many as are in flight at once, and nothing that was in the journal when the kill came. Their
number is printed, and how many of them the server had answered by then: such an answer was on its
way, or not yet in the cache.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.clusters import two_machines, workers
from tests.stub_server import KEY, StubServer, judged_text
from tests.test_faults import results
from undogmatic.engine.batch import BATCHES
from undogmatic.engine.journal import LEDGER, Ledger
from undogmatic.runs.folder import JOURNAL

TEXTS = 40
IN_FLIGHT = 4


def main() -> None:
    """Parse the options, kill and resume."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", choices=("gpt", "claude"), help="judge by batches of this model")
    parser.add_argument("--ray", action="store_true", help="judge by workers of Ray")
    given = parser.parse_args()
    if given.ray:
        by_ray(given.kills, random.Random(given.seed))
        return
    draw = random.Random(given.seed)
    place = Path(tempfile.mkdtemp())
    try:
        with StubServer(latency=0.1, batch_seconds=2.0) as stub:
            version = "" if given.batch == "claude" else "/v1"
            words = [
                f"model={given.batch or 'gpt'}",
                f"model.api_base={stub.url}{version}",
                f"run.limit={TEXTS}",
            ]
            words += ["analysis=none", "engine.cache=false"]
            words += (
                ["engine=batch", "engine.poll=0.2", "tracking=none"]
                if given.batch
                else [f"engine.concurrency={IN_FLIGHT}"]
            )
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
                    notes, moment = (
                        folder / BATCHES,
                        (draw.uniform(0, 3.0) if number % 2 else draw.uniform(0, 0.05)),
                    )
                stub.requests.clear()
                _run(place, [*words, f"hydra.run.dir={folder.name}"], moment, notes)
                judged = folder / "judgments.jsonl"
                before = judged.read_bytes().count(b"\n") if judged.exists() else 0
                there = (folder / "run.json").is_file()
                status = _run(
                    place,
                    [
                        *words,
                        f"run.resume={folder.name}" if there else f"hydra.run.dir={folder.name}",
                    ],
                )
                same = status == 0 and _comparable(folder) == expected
                same = same and (not given.batch or len(stub.requests) == TEXTS)
                bad += not same
                print(
                    f"killed after {moment:4.1f} s, {before:2d} judged:"
                    f" {'same' if same else f'DIFFERS ({status})'}",
                    flush=True,
                )
            print(f"{given.kills} kills, {bad} with other tables")
    finally:
        shutil.rmtree(place)


def by_ray(kills: int, draw: random.Random) -> None:
    """Kill a run by Ray, or one of its workers, as soon as the server has had so many questions."""
    place, bad, repeated, late = Path(tempfile.mkdtemp()), 0, 0, 0
    with (
        StubServer(latency=0.1) as stub,
        two_machines() as machines,
        contextlib.ExitStack() as at_last,
    ):
        at_last.callback(shutil.rmtree, place)
        words = [
            "model=gpt",
            f"model.api_base={stub.url}/v1",
            f"run.limit={TEXTS}",
            "analysis=none",
            "tracking=none",
        ]
        words += [
            "engine=ray",
            f"engine.address={machines.address}",
            f"engine.concurrency={IN_FLIGHT}",
        ]
        words += ["engine.workers=2"]
        assert _run(place, [*words, "engine.cache=false", "hydra.run.dir=whole"]) == 0
        expected = _comparable(place / "whole")
        for number in range(kills):
            stub.requests.clear()
            folder, after = place / f"cut{number}", draw.randint(1, TEXTS - 1)
            own = [*words, f"engine.cache_dir={place / f'cache{number}'}"]
            whom = "a worker" if number % 2 else "the run"
            moment = draw.uniform(0, 0.1)  # within the time that an answer takes
            process = _started(place, [*own, f"hydra.run.dir={folder.name}"])
            while len(stub.requests) < after and process.poll() is None:
                time.sleep(0.001)
            victim = draw.choice(workers() or [0]) if number % 2 else process.pid
            time.sleep(moment)
            killed = time.monotonic()
            # on a busy machine it may have ended by now
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim or process.pid, signal.SIGKILL if victim else 0)
            asked, kept = len(stub.requests), _kept(folder / JOURNAL)
            status = process.wait()
            if victim == process.pid:
                status = _run(place, [*own, f"run.resume={folder.name}"])
            again = [text for text, count in stub.texts().items() for _ in range(count - 1)]
            answered = {each.text for each in stub.requests if each.answered < killed}
            unsure = Ledger(folder / LEDGER, ()).calls - len(stub.requests)  # noted, and never sent
            wrong = {
                "ended badly": status != 0,
                "other tables": status == 0 and _comparable(folder) != expected,
                "asked again what was judged": (
                    bool(kept.intersection(again)) or len(again) > IN_FLIGHT
                ),
                "did not ask for all": len(stub.texts()) != TEXTS,
                "counts other calls": not 0 <= unsure <= IN_FLIGHT,
            }
            same = not any(wrong.values())
            bad, repeated, late = (
                bad + (not same),
                repeated + len(again),
                late + len(answered.intersection(again)),
            )
            told = (
                "same"
                if same
                else f"FAILED: {', '.join(what for what, there in wrong.items() if there)}"
            )
            print(
                f"killed {whom} when {asked:2d} were asked, {len(kept):2d} judged: {told},"
                f" {len(again)} asked again",
                flush=True,
            )
    told = (
        f"{kills * TEXTS} items, {repeated} asked again of {kills * IN_FLIGHT} that may have been"
        " under way"
    )
    print(f"{kills} kills, {bad} that failed; {told}; {late} of them had an answer on its way")


def _kept(journal: Path) -> set[str]:
    """The texts that are judged by now; the last line may be half written."""
    kept = set()
    for line in journal.read_bytes().split(b"\n")[:-1] if journal.exists() else ():
        kept |= {judged_text(call["request"]) for call in json.loads(line)["calls"]}
    return kept


def _comparable(folder: Path) -> object:
    """Scores, metrics but those of calls (an answer under way when the kill came is asked for
    again, or was kept in the cache), items judged."""
    scores, metrics, judged = results(folder)
    of_calls = ("token", "calls", "usd")
    scores = [{k: v for k, v in row.items() if k not in of_calls} for row in scores]
    return (
        scores,
        {k: v for k, v in metrics.items() if not any(part in k for part in of_calls)},
        sorted(judged),
    )


def _run(
    place: Path, words: list[str], killed_after: float | None = None, once: Path | None = None
) -> int:
    """The status of a run, killed so many seconds after its start, or `once` this file is there."""
    process = _started(place, words)
    while once is not None and not once.exists() and process.poll() is None:
        time.sleep(0.001)
    try:
        return process.wait(killed_after)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _started(place: Path, words: list[str]) -> subprocess.Popen[bytes]:
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": KEY,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "undogmatic.run", *words],
        cwd=place,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
