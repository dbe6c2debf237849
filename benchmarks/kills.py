"""Kills commands at random moments and goes on with them: is anything lost, paid twice or wrong?

    python -m benchmarks.kills [DOOR ...] [--kills 20] [--signal KILL] [--seed 0] [--write]

The doors are `run` (with report and MLflow), `sweep`, `optimise`, `label`, `align`, `batch_gpt`,
`batch_claude` and `ray`; without a name all but `ray`. A local server answers after a tenth of a
second, so that most moments lie in the judging; the moment is drawn by the clock for every second
kill, and for the others by how many questions the server has had. Of batches half of the kills fall
within the 50 milliseconds in which a batch is noted, sent and noted again. With `ray` the run has
workers on two machines (both this one), and every second kill falls on one of them.

Counted are, over all kills:

    lost             what was in the journal (a label: what the page had acknowledged) when the kill
                     came, and was asked again, or was not there at the end
    asked_again      questions that were sent twice; no more than were under way may be
    answered_before  those of them whose answer had left the server when the kill came
    wrong            kills after which the command did not go on to the very results of one that
                     nobody disturbed, or asked again more than was under way

`--signal INT`, `TERM` or `HUP` asks the command to end instead. It must then end with the status
of that signal, or be done already, and print no traceback. `--write` keeps what came in
benchmarks/results/kills.csv, of which `python -m benchmarks.pages --write` makes
docs/reliability.md.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import stored
from tests.clusters import two_machines, workers
from tests.conftest import put
from tests.stub_server import KEY, StubServer
from tests.test_faults import results
from undogmatic.engine.batch import BATCHES
from undogmatic.engine.journal import LEDGER, Ledger
from undogmatic.runs.folder import JOURNAL

TEXTS = 40
IN_FLIGHT = 4
LATENCY = 0.1
PATIENCE = 300.0
"""Seconds after which a command that does not end is a fault."""
CLOCKS = re.compile(r"seconds|per_second|token|calls|usd")
"""Metrics that say how long a run took and what it asked: an answer that was under way is asked
for again."""


@dataclass
class Kills:
    """What came of all kills of a door, a row of the stored table."""

    door: str
    signal: str
    tried: int = 0
    items: int = 0
    lost: int = 0
    asked_again: int = 0
    answered_before: int = 0
    wrong: int = 0
    seed: int = 0


class Judging:
    """A command that judges by a server, and goes on when it is given again with `run.resume`.

    Args:
        words: Of the command.
        folder: The key of its folder.
        questions: How many it asks.
        begun: The file in its folder from which on it can be gone on with.
        batch: Whether its questions are sent as one batch.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: str,
        questions: int,
        begun: str,
        batch: bool = False,
    ) -> None:
        self.words, self.folder, self.questions = words, folder, questions
        self.begun, self.batch = begun, batch

    def tried(
        self, kills: int, sent: signal.Signals, draw: random.Random, found: Kills
    ) -> None:
        """Kill and resume it so many times."""
        with StubServer(latency=LATENCY, batch_seconds=2.0) as stub, scratch() as place:
            base = [word.replace("SERVER", stub.url) for word in self.words]
            began = time.perf_counter()
            quiet = run(place, [*base, "engine.cache=false", f"{self.folder}=whole"])
            assert quiet == 0, f"status {quiet} when nobody disturbs it"
            lasts, expected = time.perf_counter() - began, comparable(place / "whole")
            for number in range(kills):
                stub.requests.clear()
                words = [*base, f"engine.cache_dir={place / f'cache{number}'}"]
                why = self._one(
                    stub,
                    place / f"cut{number}",
                    words,
                    lasts,
                    expected,
                    sent,
                    draw,
                    found,
                )
                tell(found, why)

    def _one(
        self,
        stub: StubServer,
        folder: Path,
        words: list[str],
        lasts: float,
        expected: object,
        sent: signal.Signals,
        draw: random.Random,
        found: Kills,
    ) -> str:
        """Kill it once, and resume it; what was wrong, or nothing."""
        place, first = folder.parent, [*words, f"{self.folder}={folder.name}"]
        process = started(place, first)
        if self.batch:
            seen: Callable[[], bool] = (folder / BATCHES).exists
            pause = draw.uniform(0, 3.0) if found.tried % 2 else draw.uniform(0, 0.05)
        elif found.tried % 2:
            after = draw.randint(1, self.questions - 1)
            seen, pause = (
                (lambda: len(stub.requests) >= after),
                draw.uniform(0, LATENCY),
            )
        else:
            seen, pause = (lambda: True), draw.uniform(0.1, 1.0) * lasts
        wait(process, seen)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(pause)
        ended = process.poll() is not None
        if not ended:
            process.send_signal(sent)
        killed = time.monotonic()
        said = process.communicate(timeout=PATIENCE)[1].decode(errors="replace")
        kept, before = in_journals(folder), Counter(map(mark, stub.requests))
        answered = {mark(each) for each in stub.requests if each.answered < killed}
        wrong = ended_wrongly(process.returncode, said, sent) if not ended else ""
        there = (folder / self.begun).is_file()
        status = run(place, [*words, f"run.resume={folder.name}"] if there else first)
        asked = Counter(map(mark, stub.requests))
        twice = Counter(
            {each: n - 1 for each, n in asked.items() if n > 1 and each in before}
        )
        lost = (kept & set(twice)) | (kept - in_journals(folder))
        found.items += len(asked)
        found.lost += len(lost)
        found.asked_again += twice.total()
        found.answered_before += sum(n for each, n in twice.items() if each in answered)
        if status != 0:
            return f"goes on with status {status}"
        if comparable(folder) != expected:
            return "other results"
        allowed = 0 if self.batch else IN_FLIGHT
        if twice.total() > allowed:
            return (
                f"{twice.total()} asked again, where {allowed} may have been under way"
            )
        return wrong or ("lost what was judged" if lost else "")


class Labelling:
    """`undogmatic label`, while somebody labels without a pause."""

    def tried(
        self, kills: int, sent: signal.Signals, draw: random.Random, found: Kills
    ) -> None:
        """Kill the page so many times, and open it again."""
        with scratch() as place:
            each = 150
            rows = "".join(f"t{k},Text number {k}.\n" for k in range(each * kills))
            put(place / "texts.csv", f"id,text\n{rows}")
            acknowledged: dict[str, str] = {}
            todo = [f"t{k}" for k in range(each * kills)]
            command = ["label", "texts.csv", "--rater", "ana", "--no-browser"]
            for _ in range(kills):
                process, page = opened(place, command)
                given: dict[str, str] = {}
                worker = threading.Thread(
                    target=_label, args=(page, todo, given, draw.random())
                )
                worker.start()
                time.sleep(draw.uniform(0, 0.3))
                process.send_signal(sent)
                said = process.communicate(timeout=PATIENCE)[1]
                worker.join(PATIENCE)
                acknowledged |= given
                why = ended_wrongly(process.returncode, said, sent)
                with (place / "texts.labels.csv").open(
                    encoding="utf-8", newline=""
                ) as file:
                    there = {row["item"]: row["label"] for row in csv.DictReader(file)}
                missing = [
                    item for item, own in acknowledged.items() if there.get(item) != own
                ]
                made_up = [
                    own for own in there.values() if own not in ("pass", "fail", "")
                ]
                found.items, found.lost = len(acknowledged), found.lost + len(missing)
                why = why or (f"{len(missing)} labels lost" if missing else "")
                tell(
                    found,
                    why or (f"labels that nobody gave: {made_up}" if made_up else ""),
                )
                todo = [item for item in todo if item not in there]
            # it opens, and goes on with what is left
            process, page = opened(place, command)
            assert page.ask("/about")["done"] == len(there), (
                "the page counts other labels"
            )
            process.kill()
            process.communicate()


def _label(page: Page, todo: Sequence[str], given: dict[str, str], seed: float) -> None:
    """Label items until nobody answers."""
    draw = random.Random(seed)
    for item in todo:
        label = draw.choice(("pass", "fail"))
        try:
            page.ask("/label", {"item": item, "label": label})
        except (OSError, http.client.HTTPException, ValueError):
            return
        given[item] = label
        time.sleep(0.001)


class Aligning:
    """`undogmatic align`, while an edited prompt is run."""

    def tried(
        self, kills: int, sent: signal.Signals, draw: random.Random, found: Kills
    ) -> None:
        """Kill the page so many times, and go on on the one that is opened next."""
        with StubServer(latency=LATENCY) as stub, scratch() as place:
            texts = [f"Text {k} {'x' * (k * 13 % 90)}" for k in range(TEXTS)]
            put(
                place / "t.jsonl",
                [
                    {"id": f"t{k}", "text": text, "label": k % 101}
                    for k, text in enumerate(texts)
                ],
            )
            words = [
                "run",
                "model=gpt",
                f"model.api_base={stub.url}/v1",
                "dataset=texts",
            ]
            words += ["dataset.path=t.jsonl", "analysis=none", "tracking=none"]
            words += [
                f"engine.concurrency={IN_FLIGHT}",
                f"engine.cache_dir={place / 'cache'}",
            ]
            assert run(place, [*words, "hydra.run.dir=first"]) == 0
            for number in range(kills):
                stub.requests.clear()
                edit = {"text": f"Judge the text, as edit {number} says."}
                process, page = opened(place, ["align", "first", "--no-browser"])
                page.ask("/run", edit)
                after = draw.randint(1, TEXTS // 2 - 1)
                wait(process, lambda after=after: len(stub.requests) >= after)
                time.sleep(draw.uniform(0, LATENCY))
                process.send_signal(sent)
                killed = time.monotonic()
                said = process.communicate(timeout=PATIENCE)[1]
                why = ended_wrongly(process.returncode, said, sent)
                before = Counter(map(mark, stub.requests))
                answered = {
                    mark(each) for each in stub.requests if each.answered < killed
                }
                process, page = opened(place, ["align", "first", "--no-browser"])
                kept = [
                    own
                    for own in page.ask("/state")["edits"]
                    if own["text"] == edit["text"]
                ]
                found.items, found.lost = found.items + 1, found.lost + (not kept)
                made = page.ask("/run", edit)["number"]
                wait(process, lambda page=page: not page.ask("/state")["jobs"])
                is_run = page.ask("/state")["edits"][made]["run"]
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=PATIENCE)
                asked = Counter(map(mark, stub.requests))
                twice = {
                    each: n - 1 for each, n in asked.items() if n > 1 and each in before
                }
                again = sum(twice.values())
                found.asked_again += again
                found.answered_before += sum(
                    n for each, n in twice.items() if each in answered
                )
                why = why or ("" if kept else "the edit is lost")
                why = why or ("" if is_run else "the edit is not run")
                tell(
                    found, why or ("" if again <= IN_FLIGHT else f"{again} asked again")
                )


class ByRay:
    """A run by Ray on two machines, of which the run or a worker is killed."""

    def tried(
        self, kills: int, sent: signal.Signals, draw: random.Random, found: Kills
    ) -> None:
        """Kill it, or one of its workers, as soon as the server has had so many questions."""
        with (
            StubServer(latency=LATENCY) as stub,
            two_machines() as machines,
            scratch() as place,
        ):
            words = [
                "run",
                "model=gpt",
                f"model.api_base={stub.url}/v1",
                f"run.limit={TEXTS}",
            ]
            words += [
                "analysis=none",
                "tracking=none",
                "engine=ray",
                "engine.workers=2",
            ]
            words += [
                f"engine.address={machines.address}",
                f"engine.concurrency={IN_FLIGHT}",
            ]
            assert (
                run(place, [*words, "engine.cache=false", "hydra.run.dir=whole"]) == 0
            )
            expected = comparable(place / "whole")
            for number in range(kills):
                stub.requests.clear()
                folder, after = place / f"cut{number}", draw.randint(1, TEXTS - 1)
                own = [*words, f"engine.cache_dir={place / f'cache{number}'}"]
                moment = draw.uniform(0, LATENCY)
                process = started(place, [*own, f"hydra.run.dir={folder.name}"])
                wait(process, lambda after=after: len(stub.requests) >= after)
                victim = draw.choice(workers() or [0]) if number % 2 else process.pid
                time.sleep(moment)
                killed = time.monotonic()
                # on a busy machine it may have ended by now
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim or process.pid, sent if victim else 0)
                before, kept = Counter(map(mark, stub.requests)), in_journals(folder)
                process.communicate(timeout=PATIENCE)
                status = process.returncode
                if victim == process.pid:
                    status = run(place, [*own, f"run.resume={folder.name}"])
                asked = Counter(map(mark, stub.requests))
                twice = {
                    each: n - 1 for each, n in asked.items() if n > 1 and each in before
                }
                answered = {
                    mark(each) for each in stub.requests if each.answered < killed
                }
                unsure = Ledger(folder / LEDGER, ()).calls - len(stub.requests)
                found.items += TEXTS
                found.lost += len(kept & set(twice)) + len(kept - in_journals(folder))
                found.asked_again += sum(twice.values())
                found.answered_before += sum(
                    n for each, n in twice.items() if each in answered
                )
                wrong = {
                    "ended badly": status != 0,
                    "other results": status == 0 and comparable(folder) != expected,
                    "more asked again than was under way": sum(twice.values())
                    > IN_FLIGHT,
                    "asked again what was judged": bool(kept & set(twice)),
                    "counts other calls": not 0 <= unsure <= IN_FLIGHT,
                }
                tell(found, ", ".join(what for what, there in wrong.items() if there))


_HOSTED = ["model=gpt", "model.api_base=SERVER/v1", f"engine.concurrency={IN_FLIGHT}"]
_BATCH = [
    "engine=batch",
    "engine.poll=0.2",
    "tracking=none",
    "analysis=none",
    f"run.limit={TEXTS}",
]
_HALF = [f"run.limit={TEXTS // 2}", "analysis=none", "tracking=none"]
_LEARN = [
    "optimizer=labeled_fewshot",
    "dataset=theses",
    "tracking=none",
    "run.limit=20",
]
_LEARN += ["dataset.conditions=[authority_only,explained_only]"]
DOORS: dict[str, Any] = {
    "run": Judging(
        ["run", *_HOSTED, f"run.limit={TEXTS}", "analysis=none"],
        "hydra.run.dir",
        TEXTS,
        "run.json",
    ),
    "sweep": Judging(
        ["run", "-m", "prompt=anchored_pt,anchored_en", *_HOSTED, *_HALF],
        *("hydra.sweep.dir", TEXTS, "sweep.json"),
    ),
    "optimise": Judging(["run", *_LEARN, *_HOSTED], "hydra.run.dir", 60, "run.json"),
    "label": Labelling(),
    "align": Aligning(),
    "batch_gpt": Judging(
        ["run", "model=gpt", "model.api_base=SERVER/v1", *_BATCH],
        *("hydra.run.dir", TEXTS, "run.json", True),
    ),
    "batch_claude": Judging(
        ["run", "model=claude", "model.api_base=SERVER", *_BATCH],
        *("hydra.run.dir", TEXTS, "run.json", True),
    ),
    "ray": ByRay(),
}


def mark(received: Any) -> str:
    """A question by its digest, whichever way it was written."""
    body = received if isinstance(received, dict) else received.body
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def in_journals(folder: Path) -> set[str]:
    """The questions whose answers are in the journals by now; a last line may be half written."""
    kept = set()
    for journal in folder.rglob(JOURNAL):
        for line in journal.read_bytes().split(b"\n")[:-1]:
            kept |= {mark(call["request"]) for call in json.loads(line)["calls"]}
    return kept


def comparable(folder: Path) -> object:
    """Scores, metrics and judged items of a run, or of each job, and what an optimiser found."""
    found: dict[str, object] = {}
    for journal in sorted(folder.rglob(JOURNAL)):
        scores, metrics, judged = results(journal.parent)
        rows = [
            {k: v for k, v in row.items() if not CLOCKS.search(k)} for row in scores
        ]
        own = {k: v for k, v in metrics.items() if not CLOCKS.search(k)}
        found[str(journal.relative_to(folder))] = (rows, own, sorted(judged))
    for name in ("program.json", "splits.json"):
        found |= (
            {name: (folder / name).read_text()} if (folder / name).is_file() else {}
        )
    return found, (folder / "report.html").is_file()


def ended_wrongly(status: int, said: str, sent: signal.Signals) -> str:
    """What is wrong with the end of a command that was sent a signal. SIGKILL allows no manners."""
    if sent == signal.SIGKILL:
        return ""
    if "Traceback" in said:
        return f"a traceback: {said[-3000:]}"
    fine = (0, 128 + sent, -sent)  # one that had not begun has the system's own manners
    return "" if status in fine else f"ended with status {status}"


class Page:
    """A page of ours, asked as its own browser would."""

    def __init__(self, url: str) -> None:
        address, _, self.token = url.partition("/?token=")
        self.host = address.removeprefix("http://")

    def ask(self, path: str, body: object = None) -> Any:
        """What it answers. Raises ValueError where that is no success."""
        headers = {
            "X-Token": self.token,
            "Host": self.host,
            "Origin": f"http://{self.host}",
        }
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            sent = None if body is None else json.dumps(body).encode()
            connection.request("GET" if body is None else "POST", path, sent, headers)
            answer = connection.getresponse()
            told = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise ValueError(f"{path}: status {answer.status}")
        return json.loads(told)


def opened(place: Path, words: Sequence[str]) -> tuple[subprocess.Popen[str], Page]:
    """A command that serves a page, and its page."""
    line = [sys.executable, "-m", "undogmatic.cli", *words]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        line, cwd=place, env=environment(), text=True, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None
    for text in process.stdout:
        if found := re.findall(r"http://\S+", text):
            return process, Page(found[0])
    raise AssertionError(process.communicate()[1])


def environment() -> dict[str, str]:
    """Keys for the local server, and where the package lies."""
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), KEY)
    return os.environ | keys | {"PYTHONPATH": str(Path(__file__).parents[1])}


def started(place: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """A command that judges, begun."""
    line = [sys.executable, "-m", f"undogmatic.{words[0]}", *words[1:]]
    return subprocess.Popen(
        line,
        cwd=place,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def run(place: Path, words: Sequence[str]) -> int:
    """The status with which a command ends."""
    process = started(place, words)
    process.communicate(timeout=PATIENCE)
    return process.returncode


def wait(process: subprocess.Popen[Any], seen: Callable[[], bool]) -> None:
    """Wait until something is seen, or the command has ended."""
    ends = time.monotonic() + PATIENCE
    while process.poll() is None and not seen():
        assert time.monotonic() < ends, "nothing came of it"
        time.sleep(0.001)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    place = Path(tempfile.mkdtemp())
    try:
        yield place
    finally:
        shutil.rmtree(place)


def tell(found: Kills, why: str) -> None:
    """Count a kill, and print what came of it."""
    found.tried += 1
    found.wrong += bool(why)
    counts = f"{found.lost} lost, {found.asked_again} asked again so far"
    print(
        f"{found.door} {found.signal} {found.tried}: {why or 'as it should be'}; {counts}",
        flush=True,
    )


def main() -> None:
    """Parse the options, kill and resume."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = [name for name in DOORS if name != "ray"]
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=", ".join(DOORS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--signal", choices=("KILL", "INT", "TERM", "HUP"), default="KILL"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    given = parser.parse_args()
    if unknown := [name for name in given.doors if name not in DOORS]:
        parser.error(
            f"no such door: {', '.join(unknown)}. There are: {', '.join(DOORS)}."
        )
    # what was started in the background is deaf to these, and so would be what it starts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name in given.doors or usual:
        found = Kills(name, given.signal, seed=given.seed)
        sent = signal.Signals[f"SIG{given.signal}"]
        DOORS[name].tried(given.kills, sent, random.Random(given.seed), found)
        print(
            ", ".join(f"{key} {value}" for key, value in asdict(found).items()),
            flush=True,
        )
        if given.write:
            stored.keep("kills", ("door", "signal"), [asdict(found)])


if __name__ == "__main__":
    main()
