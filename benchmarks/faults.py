"""A storm of faults: what is lost, and what is paid twice, when a server misbehaves in every way at
once.

    python -m benchmarks.faults [--items 2000] [--in-flight 32] [--resumes 3] [--seed 1] [--write]

A stub server misbehaves at random: 10 % of the calls are answered with 429, 5 % with 500, 5 % with
rubbish, 2 % are truncated, 1 % hang and 1 % get an odd answer (tests/hostile.py). The run goes its
way and is resumed until nothing is missing. Printed are the items without a record, the calls that
were made although the same one had already been answered well, the calls that the server saw and
the run did not count, and the failures by kind. `--write` keeps that in
benchmarks/results/faults.csv.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web

from benchmarks import stored
from benchmarks.hosted import component, items
from tests import hostile
from tests.stub_server import Fault, StubServer
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import RunStopped
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.hosted import ChatModel
from undogmatic.records.limits import PacedLimits
from undogmatic.records.records import Failure, Item, Provenance

SHARES = {
    "429": 0.10,
    "status": 0.05,
    "prose": 0.05,
    "truncated": 0.02,
    "hang": 0.01,
    "hostile": 0.01,
}

# seconds in which an answer must come; what hangs does so for twice as long
TIMEOUT = 5.0


class Storm(StubServer):
    """Misbehaves at random, and keeps the count of what it answered well.

    Args:
        seed: Of its dice.
        timeout: Seconds for which nobody waits any longer.
    """

    def __init__(self, seed: int, timeout: float = TIMEOUT, **fields: Any) -> None:
        super().__init__(**fields)
        self._hangs = 2 * timeout
        hostile.odd_answers("")  # they take seconds to make
        self._dice = random.Random(seed)
        self.sent: Counter[str] = Counter()
        self.well: Counter[str] = Counter()
        self.faulty: Counter[str] = Counter()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        mark = hashlib.sha256(await request.read()).hexdigest()
        self.sent[mark] += 1
        kind = self._dice.choices(
            [*SHARES, "none"], [*SHARES.values(), 1 - sum(SHARES.values())]
        )[0]
        self.faulty[kind] += 1
        self.well[mark] += kind == "none"
        self.due = (
            None
            if kind == "none"
            else Fault(kind, times=None, after=self._hangs if kind == "hang" else 0.01)
        )
        return await super()._handle(request)

    def _due(self, text: str) -> Fault | None:
        return self.due


class Found(NamedTuple):
    """What came of a storm."""

    lost: int
    paid_twice: int
    uncounted: int
    untyped: int
    failures: Counter[str]
    runs: int
    calls: int
    faulty: Counter[str]
    seconds: float


def storm(
    count: int,
    in_flight: int,
    resumes: int,
    seed: int,
    folder: Path,
    timeout: float = TIMEOUT,
) -> Found:
    """Judge `count` items in it."""
    todo, clock = items(count, f"storm {seed}"), time.perf_counter()
    server = Storm(seed, timeout)
    with server:
        runs = 0
        for _ in range(1 + resumes):
            runs += 1
            if _run(f"{server.url}/v1", todo, in_flight, folder, timeout):
                break
        journals = Journals(folder)
        records = [
            journals.judgments.done.get((item.id, "score", "overall", 0))
            for item in todo
        ]
        failures = [
            r.outcome
            for r in records
            if r is not None and isinstance(r.outcome, Failure)
        ]
        return Found(
            lost=sum(record is None for record in records),
            paid_twice=sum(max(0, times - 1) for times in server.well.values()),
            uncounted=sum(server.sent.values()) - journals.ledger.calls,
            untyped=sum(f.reason == "fault" or not f.message for f in failures),
            failures=Counter(f.reason for f in failures),
            runs=runs,
            calls=sum(server.sent.values()),
            faulty=server.faulty,
            seconds=time.perf_counter() - clock,
        )


def _run(
    url: str, todo: list[Item], in_flight: int, folder: Path, timeout: float
) -> bool:
    """One run or its resumption; whether nothing is missing any more."""
    model = ChatModel("stub", url)
    rubric, prompt = component("rubric", "shame"), component("prompt", "anchored_pt")
    readout = component("readout", "structured")
    readout.bind(model, prompt, rubric)
    hashes = dict.fromkeys(("prompt_hash", "program_hash", "config_hash"), "0" * 64)
    provenance = Provenance(
        model=model.name, readout=readout.name, prompt=prompt.id, **hashes
    )
    parts = Parts(
        rubric, prompt, model, readout, (JudgeStep(ScoreJudge(readout), provenance),)
    )
    limits = PacedLimits(concurrency=in_flight, timeout=timeout, backoff=0.01)
    engine = LocalEngine(limits, cache_dir=str(folder / "cache"))
    try:
        _, judgments = asyncio.run(
            engine.arun(Recipe({}, parts), todo, Journals(folder))
        )
    except RunStopped as error:
        print(f"stopped: {error}", flush=True)
        return False
    kinds = [j.outcome.reason for j in judgments if isinstance(j.outcome, Failure)]
    return not {"transport", "timeout", "budget", "fault"} & set(kinds)


def main() -> None:
    """Make the storm and print what came of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--resumes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = storm(
            options.items,
            options.in_flight,
            options.resumes,
            options.seed,
            Path(folder),
        )
    print(
        f"{options.items} items, {found.calls} calls in {found.runs} runs, {found.seconds:.0f} s:"
        f" {found.lost} lost, {found.paid_twice} paid twice, {found.uncounted} not counted,"
        f" {found.untyped} failures without a kind"
    )
    if options.write:
        row = {
            "seed": options.seed,
            "items": options.items,
            "in_flight": options.in_flight,
        }
        row |= {"calls": found.calls, "runs": found.runs, "lost": found.lost}
        row |= {"paid_twice": found.paid_twice, "uncounted": found.uncounted}
        row |= {"untyped": found.untyped, "failed": found.failures.total()}
        row |= {"answers": json.dumps(found.faulty)}
        stored.keep("faults", ("seed", "items", "in_flight"), [row])
    print(
        f"answers: {json.dumps(found.faulty)}\nfailures that stay: {json.dumps(found.failures)}"
    )


if __name__ == "__main__":
    main()
