"""What a call costs beyond the model, beside peers: the same server, texts and calls in flight.

    python -m benchmarks.peers --install FOLDER [--peers NAME ...] [--rounds 3] [--texts 2000] [--write]
    python -m benchmarks.peers --install FOLDER --faults [--write]
    python -m benchmarks.peers --install FOLDER --limit 50 [--write]
    python -m benchmarks.peers --install FOLDER --check [--rows 1000 100000] [--write]
    python -m benchmarks.peers --install FOLDER --read [--megabytes 100] [--write]

Each peer has an environment of its own below FOLDER, made where it is not there yet (pip, for
promptfoo npm), and is used as its documentation says, with its own defaults: the programs are
`benchmarks/peers/clients/*.py`. A server answers after 0.1 s; 64 calls are in flight; each text is
asked about once. Every measurement is a process of its own with all that it starts, and its figures
are those that the system keeps. What a start takes is measured with FEW texts and taken off, so that

    rate         is calls a second, and
    processor    milliseconds of a processor per call, between FEW and all texts;
    start        is what a process with FEW texts takes of a processor;
    megabytes    is the most that one process held.

Rounds go over all peers in turn, and the best of the rounds is kept, because other work on a machine
makes calls dearer and none cheaper. `--faults` counts what came of texts whose first answer cannot
be read (2 %) or is a status 500 (1 %), `--limit` of a server that takes so many calls a second.
`--check` lets validators of judges read tables of 1,000 and of 100,000 rows; `--read` reads a log of
Inspect with `read_eval_log` and with `undogmatic check`. `--write` keeps the figures in
benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import undogmatic
from benchmarks import stored
from benchmarks.growth import table as table_of
from benchmarks.hosted import TEXT
from benchmarks.peers.server import score_of

HERE = Path(__file__).parent
IN_FLIGHT, LATENCY, FEW = 64, 0.1, 128
PATIENCE = 1200.0


class Peer(NamedTuple):
    """A program beside which we stand.

    Attributes:
        requirement: What is installed for it; "" where it is installed here already.
        client: Its program in clients/.
        words: What the program is told beside.
        npm: Whether it is a package of npm.
    """

    requirement: str
    client: str
    npm: bool = False
    words: tuple[str, ...] = ()


PEERS = {
    "bare aiohttp": Peer("", "bare"),
    "undogmatic": Peer("", "ours"),
    "openai": Peer("openai", "openai_client"),
    "dspy": Peer("dspy", "dspy_client"),
    "inspect_ai": Peer("inspect_ai openai", "inspect_client"),
    "deepeval": Peer("deepeval", "deepeval_client"),
    "deepeval by default": Peer("deepeval", "deepeval_client", words=("by default",)),
    "promptfoo": Peer("promptfoo", "promptfoo_client", npm=True),
}
VALIDATORS = {
    "undogmatic": Peer("", ""),
    "judgekeeper": Peer("judgekeeper", ""),
    "judgegate": Peer("judgegate", ""),
    "evalaudit": Peer("evalaudit", ""),
}


class Used(NamedTuple):
    """What a process took, with all that it started."""

    wall: float
    processor: float
    megabytes: float
    status: int


def home(name: str, peer: Peer, install: Path) -> Path:
    """The folder of a peer's environment, made where it is not there yet."""
    folder = (install / re.split("[_ ]", name)[0]).resolve()
    if (
        not peer.requirement
        or (folder / "bin").is_dir()
        or (folder / "node_modules").is_dir()
    ):
        return folder
    if peer.npm:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}", encoding="utf-8")
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", peer.requirement],
            cwd=folder,
            check=True,
        )
        return folder
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        *peer.requirement.split(),
    ]
    subprocess.run(pip, check=True)
    return folder


def version(name: str, peer: Peer, folder: Path) -> str:
    """Which version of a peer is installed."""
    if not peer.requirement:
        return (
            metadata.version("aiohttp")
            if name.startswith("bare")
            else undogmatic.__version__
        )
    if peer.npm:
        package = folder / "node_modules" / name / "package.json"
        return str(json.loads(package.read_text(encoding="utf-8"))["version"])
    package = peer.requirement.split()[0]
    asked = f"from importlib import metadata; print(metadata.version({package!r}))"
    line = [folder / "bin" / "python", "-c", asked]
    return subprocess.run(
        line, capture_output=True, text=True, check=True
    ).stdout.strip()


def line_of(peer: Peer, folder: Path) -> list[str]:
    """The interpreter of a peer and its program."""
    own = bool(peer.requirement) and not peer.npm
    python = str(folder / "bin" / "python") if own else sys.executable
    return [python, str(HERE / "clients" / f"{peer.client}.py")]


def measured(line: Sequence[str], place: Path, said: str = "said.txt") -> Used:
    """Run a command to its end in a folder."""
    known = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    known |= {
        "OPENAI_API_KEY": "none",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
    }
    known |= {"PROMPTFOO_DISABLE_DEBUG_LOG": "1", "PROMPTFOO_DISABLE_ERROR_LOG": "1"}
    known |= {
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_CONFIG_DIR": str(place / "promptfoo"),
    }
    known |= {
        "DSPY_CACHEDIR": str(place / "dspy"),
        "DEEPEVAL_RESULTS_FOLDER": str(place / "deepeval"),
    }
    known |= {
        "CONFIDENT_OPEN_BROWSER": "0",
        "OTEL_SDK_DISABLED": "true",
        "COLUMNS": "200",
    }
    if line[0] != sys.executable:
        known.pop("PYTHONPATH", None)
    began = time.perf_counter()
    with (place / said).open("w", encoding="utf-8") as file:
        # a small process starts it, or the memory of this one would be the least of any
        helper = [sys.executable, "-I", "-c", _HELPER, str(place / "used.json"), *line]
        subprocess.run(
            helper, cwd=place, env=known, stdout=file, stderr=file, check=True
        )
    wall = time.perf_counter() - began
    processor, peak, status = json.loads(
        (place / "used.json").read_text(encoding="utf-8")
    )
    return Used(
        wall, processor, peak / (1024 if sys.platform != "darwin" else 1024**2), status
    )


_HELPER = """
import os, sys
process = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(process, 0)
with open(sys.argv[1], "w") as file:
    file.write(f"[{used.ru_utime + used.ru_stime}, {used.ru_maxrss}, {os.waitstatus_to_exitcode(status)}]")
"""


@contextmanager
def served(*words: str) -> Iterator[str]:
    """A server, and its address."""
    line = [sys.executable, "-m", "benchmarks.peers.server", *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.terminate()


def counts(url: str) -> dict[str, int]:
    """What the server was asked since this was last asked for."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/counts") as answer:
        return dict(json.loads(answer.read()))


class Asked(NamedTuple):
    """What came of some texts."""

    used: Used
    counts: dict[str, int]
    scored: int
    failed: int
    bad: int
    wrong: int


def asked(name: str, install: Path, url: str, texts: int) -> Asked:
    """Let a peer judge so many texts."""
    peer = PEERS[name]
    folder = home(name, peer, install)
    place = Path(tempfile.mkdtemp(prefix="peer"))
    try:
        file = place / "texts.jsonl"
        rows = [
            {"id": str(n), "text": f"peer-{n}: {TEXT.format(n=n) * (1 + n % 5)}"}
            for n in range(texts)
        ]
        file.write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
        line = [
            *line_of(peer, folder),
            url,
            str(file),
            str(IN_FLIGHT),
            str(place / "out.json"),
        ]
        line += [
            *peer.words,
            *([str(folder / "node_modules" / ".bin" / name)] if peer.npm else []),
        ]
        counts(url)
        used = measured(line, place)
        told = place / "out.json"
        scores = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
        own = {int(k): v for k, v in scores.items() if k.isdigit() and v is not None}
        wrong = sum(abs(value - score_of(n)) > 0.006 for n, value in own.items())
        bad = sum(key.startswith("bad:") for key in scores)
        if used.status:
            tail = (place / "said.txt").read_text(encoding="utf-8")[-1500:]
            print(f"{name}: status {used.status} {tail}", file=sys.stderr)
        return Asked(used, counts(url), len(own), texts - len(own), bad, wrong)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def speeds(
    names: Sequence[str], install: Path, rounds: int, texts: int
) -> list[dict[str, Any]]:
    """Rates and costs of all peers, in turn; the best of the rounds."""
    best: dict[str, dict[str, float]] = {}
    with served("--latency", str(LATENCY)) as url:
        for name in names:
            asked(name, install, url, FEW)  # compiles what is imported
        for number in range(rounds):
            for name in names:
                few, many = (asked(name, install, url, n) for n in (FEW, texts))
                more = texts - FEW
                now = {
                    "rate": more / max(many.used.wall - few.used.wall, 1e-9),
                    "processor": 1000
                    * (many.used.processor - few.used.processor)
                    / more,
                    "start": few.used.processor,
                    "megabytes": many.used.megabytes,
                }
                before = best.get(name, now)
                pick = {key: (max if key == "rate" else min) for key in now}
                best[name] = {key: pick[key](now[key], before[key]) for key in now}
                good = many.scored == texts and many.wrong == 0
                told = ", ".join(f"{key} {value:.3g}" for key, value in now.items())
                print(
                    f"round {number + 1}, {name}: {told}; {many.counts}{'' if good else ' NOT ALL SCORED'}",
                    flush=True,
                )
    return [
        {
            "peer": name,
            "version": version(name, PEERS[name], home(name, PEERS[name], install)),
            "what": "speed",
            "texts": texts,
            "rounds": rounds,
        }
        | {key: f"{value:.4g}" for key, value in own.items()}
        for name, own in best.items()
    ]


COLUMNS = (
    "peer",
    "version",
    "what",
    "texts",
    "rounds",
    "rate",
    "processor",
    "start",
    "megabytes",
)
COLUMNS += ("asked", "scored", "without", "bad", "wrong", "seconds", "status")


def troubles(
    names: Sequence[str], install: Path, what: str, texts: int, words: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """What came of texts on a server that misbehaves."""
    with served("--latency", str(LATENCY), *words) as url:
        for name in names:
            found = asked(name, install, url, texts)
            row = {
                "peer": name,
                "version": version(name, PEERS[name], home(name, PEERS[name], install)),
            }
            row |= {"what": what, "texts": texts, "asked": found.counts.get("asked", 0)}
            row |= {
                "scored": found.scored,
                "without": found.failed,
                "bad": found.bad,
                "wrong": found.wrong,
            }
            row |= {"seconds": f"{found.used.wall:.1f}", "status": found.used.status}
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            yield row


def checks(
    install: Path, sizes: Sequence[int], rounds: int
) -> Iterator[dict[str, Any]]:
    """What a table of verdicts and labels takes, each validator asked as the gauntlet asks it; the
    least of the rounds."""
    import pandas as pd

    from benchmarks.gauntlet.judges import Case
    from benchmarks.gauntlet.tools import TOOLS, Refused

    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            rows = pd.read_csv(table_of(place / "rows.csv", size)).rename(
                columns={"id": "item"}
            )
            case = Case(rows.assign(system="S1"), "pass_fail", True)
            for name, peer in VALIDATORS.items():
                there = home(name, peer, install)
                programs = (
                    there / "bin" if peer.requirement else Path(sys.executable).parent
                )
                spent, said = [], "read"
                # the first compiles
                for number in range(rounds + (size == min(sizes))):
                    own = place / f"{name}{number}"
                    own.mkdir()
                    before = resource.getrusage(resource.RUSAGE_CHILDREN)
                    try:
                        TOOLS[name].ask(programs, case, own)
                    except (Refused, subprocess.TimeoutExpired) as error:
                        said = str(error)[:120]
                    after = resource.getrusage(resource.RUSAGE_CHILDREN)
                    spent.append(
                        after.ru_utime
                        + after.ru_stime
                        - before.ru_utime
                        - before.ru_stime
                    )
                row = {
                    "peer": name,
                    "version": version(name, peer, there),
                    "rows": size,
                }
                row |= {
                    "processor": f"{min(spent):.2f}",
                    "rounds": rounds,
                    "said": said,
                }
                print(
                    ", ".join(f"{key} {value}" for key, value in row.items()),
                    flush=True,
                )
                yield row


_MAKE = """
import json, sys
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate

count = int(sys.argv[1])
@scorer(metrics=[mean()])
def judged():
    async def score(state, target):
        return Score(value="C" if len(state.input) % 2 else "I", explanation="Stub.")
    return score

words = "O tema da repercussao geral nao se aplica a este caso porque a verba indeniza. ".split()
text = lambda n: f"{n} " + " ".join(words[(n * 7 + k * (n % 5 + 1)) % len(words)] for k in range(n % 400 + 800))
samples = [Sample(id=str(n), input=text(n), target="x", metadata={"human_ana": "CI"[n % 3 == 0]})
           for n in range(count)]
told = ModelOutput.from_content(model="mockllm/model", content="Stub.")
# without a usage it would count tokens, for which it asks the network
told.usage = ModelUsage(input_tokens=900, output_tokens=2, total_tokens=902)
model = get_model("mockllm/model", custom_outputs=[told] * count)
(log,) = eval(Task(dataset=MemoryDataset(samples), solver=generate(), scorer=judged()),
              model=model, log_dir="made", log_format="json", display="none")
assert log.status == "success", log.error
copies = [own.model_copy(update={"id": f"{n}-{own.id}", "uuid": f"{n}-{own.uuid}"})
          for n in range(int(sys.argv[2])) for own in log.samples]
write_eval_log(log.model_copy(update={"samples": copies}), "log.json", format="json")
"""
_READ = "import sys\nfrom inspect_ai.log import read_eval_log\nprint(len(read_eval_log(sys.argv[1]).samples))"


def readers(install: Path, megabytes: int, rounds: int) -> Iterator[dict[str, Any]]:
    """What reading a log of Inspect takes, with its own reader and by a check."""
    folder = home("inspect_ai", PEERS["inspect_ai"], install)
    python = str(folder / "bin" / "python")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        log = place / "log.json"
        made = measured([python, "-c", _MAKE, "20", "1"], place)
        assert made.status == 0, (place / "said.txt").read_text()[-2000:]
        copies = round(megabytes * 1e6 / log.stat().st_size)
        count = 20 * copies
        measured([python, "-c", _MAKE, "20", str(copies)], place)
        (place / "read.py").write_text(_READ, encoding="utf-8")
        for name, line in (
            ("inspect_ai read_eval_log", [python, "read.py", str(log)]),
            (
                "undogmatic check",
                [sys.executable, "-m", "undogmatic.cli", "check", str(log)],
            ),
        ):
            found = [measured(line, place) for _ in range(rounds)]
            least = min(found, key=lambda used: used.processor)
            own = name.split()[0]
            row = {
                "reader": name,
                "version": version(own, PEERS[own], folder),
                "samples": count,
            }
            row |= {"megabytes_read": f"{log.stat().st_size / 1e6:.0f}"}
            row |= {
                "processor": f"{least.processor:.2f}",
                "megabytes": f"{least.megabytes:.0f}",
            }
            row |= {
                "status": least.status,
                "said": (place / "said.txt").read_text()[:120].strip(),
            }
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            yield row


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--install", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=list(PEERS),
        default=[name for name, peer in PEERS.items() if not peer.words],
        metavar="NAME",
    )
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--faults",
        action="store_true",
        help="2 % unreadable answers, 1 % status 500".replace("%", "%%"),
    )
    parser.add_argument(
        "--limit", type=float, help="calls a second that the server takes"
    )
    parser.add_argument(
        "--check", action="store_true", help="validators of judges, on tables"
    )
    parser.add_argument("--rows", nargs="+", type=int, default=[1000, 100_000])
    parser.add_argument(
        "--read", action="store_true", help="readers of a log of Inspect"
    )
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    given = parser.parse_args()
    table, keys = "peers", ("peer", "what")
    if given.check:
        table, keys = "peers_check", ("peer", "rows")
        found = checks(given.install, given.rows, given.rounds)
    elif given.read:
        table, keys = "peers_read", ("reader", "")
        keys = ("reader",)
        found = readers(given.install, given.megabytes, given.rounds)
    elif given.faults:
        found = troubles(
            given.peers, given.install, "faults", given.texts, ["--faulty"]
        )
    elif given.limit:
        words = ["--limit", f"{given.limit:g}"]
        found = troubles(
            given.peers, given.install, f"limit {given.limit:g}", given.texts, words
        )
    else:
        found = iter(speeds(given.peers, given.install, given.rounds, given.texts))
    for row in found:
        if given.write:
            known = dict.fromkeys(COLUMNS, "") if table == "peers" else {}
            stored.keep(table, keys, [known | row])


if __name__ == "__main__":
    main()
