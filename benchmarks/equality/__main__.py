"""Compares what the commands answer with what they answered before.

    python -m benchmarks.equality                 compares everything (about ten minutes)
    python -m benchmarks.equality --quick         compares a part (about two minutes)
    python -m benchmarks.equality --only NAME...  compares these sessions
    python -m benchmarks.equality --store         stores what they answer now (with --only: these)
    python -m benchmarks.equality --list          lists the sessions and their commands

The commands stand in `commands.yaml`, what they answered in `benchmarks/results/equality`, and the
differences that are meant in `accepted.yaml`. The exit status is 1 where something differs that is
not meant. Commands that read unpublished data are left out where it is not here, which is said.
"""

from __future__ import annotations

import argparse
import json
import queue
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.equality.answers import Quoted, answer
from benchmarks.equality.compare import (
    Accepted,
    Difference,
    differences,
    judged,
    read_accepted,
)
from benchmarks.equality.sessions import Listed, Session
from benchmarks.equality.typing_in import ROOT, Typist, shared, type_session

STORED = ROOT / "benchmarks" / "results" / "equality"
ACCEPTED = Path(__file__).with_name("accepted.yaml")
VERSIONS = "versions.json"
LIBRARIES = (
    "numpy",
    "scipy",
    "pandas",
    "scikit-learn",
    "matplotlib",
    "dspy",
    "hydra-core",
)
"""Libraries whose releases may change a digit or a word."""
Answered = tuple[Session, dict[str, Any]]


def answers(
    sessions: Sequence[Session],
    files: dict[str, str | bytes],
    jobs: int,
    told: Callable[[str, float], None] = lambda name, seconds: None,
) -> Iterator[Answered]:
    """Type the sessions, several side by side; each with its answer, in the order of the list.

    Args:
        sessions: What is typed.
        files: What lies in each folder.
        jobs: How many are typed side by side.
        told: Called with the name of each session that is over and the seconds that it took.
    """
    with tempfile.TemporaryDirectory(prefix="equality-") as made, ExitStack() as stack:
        free: queue.Queue[Typist] = queue.Queue()
        for n in range(jobs):
            kept = Path(made, f"kept-{n}")
            kept.mkdir()
            free.put(stack.enter_context(Typist(kept)))

        def typed(session: Session) -> dict[str, Any]:
            # Each session has a cache of its own beside its folder: nothing is answered from
            # what another session has asked before.
            folder = Path(made, session.name, "folder")
            typist, began = free.get(), time.monotonic()
            try:
                printed = type_session(typist, session.lines, folder, files)
            finally:
                free.put(typist)
            told(session.name, time.monotonic() - began)
            return answer(printed, folder, files, Quoted.of(session.lines))

        with ThreadPoolExecutor(jobs) as pool:
            yield from zip(sessions, pool.map(typed, sessions), strict=True)


def path_of(name: str, stored: Path = STORED) -> Path:
    """Where the answer of a session is stored."""
    return stored / f"{name}.json"


def store(name: str, value: dict[str, Any], stored: Path = STORED) -> None:
    """Write an answer: a line for each line of text and for each list of numbers."""
    stored.mkdir(parents=True, exist_ok=True)
    path_of(name, stored).write_text(as_text(value) + "\n", "utf-8")


def as_text(value: Any, indent: str = "") -> str:
    """JSON that reads well in a difference of two versions: short parts on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    texts = isinstance(value, list) and any(isinstance(entry, str) for entry in value)
    if (
        not isinstance(value, dict | list)
        or not value
        or (len(flat) < 80 and not texts)
    ):
        return flat
    inner = f"{indent} "
    if isinstance(value, dict):
        keys = [json.dumps(key, ensure_ascii=False) for key in value]
        values = [as_text(part, inner) for part in value.values()]
        parts = [f"{key}: {text}" for key, text in zip(keys, values, strict=True)]
    else:
        parts = [as_text(part, inner) for part in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    joined = f",\n{inner}".join(parts)
    return f"{begin}\n{inner}{joined}\n{indent}{end}"


def of_any_version(value: Any) -> Any:
    """An answer without our own version, nor the seals of cards, which hold it too."""
    text = json.dumps(value, ensure_ascii=False)
    text = re.sub(r'("version": "|\bundogmatic )\d+\.\d+\.\d+\b', r"\1VERSION", text)
    return json.loads(re.sub(r"\b(Seal|Selo) [0-9a-f]{16}\b", r"\1 N", text))


def compare(
    answered: Iterable[Answered], stored: Path = STORED
) -> Iterator[Difference]:
    """What is not as it was stored."""
    for session, now in answered:
        path = path_of(session.name, stored)
        if path.is_file():
            before = of_any_version(json.loads(path.read_text("utf-8")))
            yield from differences(session.name, before, of_any_version(now))
        else:
            yield Difference(
                session.name, "answer", None, "nothing is stored of it: --store"
            )


def left_over(sessions: Sequence[Session], stored: Path = STORED) -> list[Difference]:
    """Stored answers of sessions that are not in the list any more."""
    names = {path_of(session.name).name for session in sessions} | {VERSIONS}
    return [
        Difference(path.stem, "session", "stored", "not in the list of commands")
        for path in sorted(stored.glob("*.json"))
        if path.name not in names
    ]


def report(
    found: Sequence[Difference],
    accepted: Sequence[Accepted],
    compared: Sequence[str],
    every: Sequence[str],
) -> int:
    """Print what a comparison came to; the exit status."""
    outcome = judged(found, accepted, compared, every)
    for difference in outcome.unexpected:
        print(f"{difference}\n")
    if outcome.accepted:
        print(f"{len(outcome.accepted)} differences are accepted (accepted.yaml).")
    for entry in outcome.stale:
        print(f"accepted, but it differs no longer: {entry}")
    commands = {difference.command for difference in outcome.unexpected}
    if outcome.unexpected:
        n = len(outcome.unexpected)
        print(f"{n} differences in {len(commands)} of {len(compared)} sessions.")
        print(f"Sessions: {' '.join(sorted(commands))}")
        return 1
    print(f"{len(compared)} sessions compared: no difference that is not accepted.")
    return 0


def _versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def _say_versions() -> None:
    path = STORED / VERSIONS
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    others = [
        f"{n} {known[n]}, now {v}"
        for n, v in _versions().items()
        if known.get(n, v) != v
    ]
    if others:
        print(
            f"stored with other libraries, which may change digits: {'; '.join(others)}"
        )


def main(words: Sequence[str] | None = None) -> int:
    """Store, list or compare."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.equality",
        description=(__doc__ or "").splitlines()[0],
    )
    parser.add_argument(
        "--store", action="store_true", help="store what the commands answer now"
    )
    parser.add_argument("--list", action="store_true", help="list the sessions")
    parser.add_argument(
        "--quick", action="store_true", help="a part that takes two minutes"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these sessions"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="typed side by side"
    )
    parser.add_argument(
        "--times", action="store_true", help="also print what took longest"
    )
    typed = parser.parse_args(words)
    listed = Listed()
    chosen = listed.chosen(typed.only, typed.quick)
    if typed.list:
        for session in chosen:
            print(f"{session.name}{'  (quick)' if session.quick else ''}")
            print("".join(f"    {line}\n" for line in session.lines), end="")
        return 0
    here = [
        session
        for session in chosen
        if shared() is not None or not session.needs_shared
    ]
    if len(here) < len(chosen):
        n = len(chosen) - len(here)
        print(
            f"{n} sessions are left out: they read unpublished data, which is not here."
        )
    took: dict[str, float] = {}

    def told(name: str, seconds: float) -> None:
        took[name] = seconds
        if sys.stderr.isatty():
            print(f"\r{len(took)} of {len(here)} ", end="", file=sys.stderr, flush=True)

    answered = answers(here, listed.files, typed.jobs, told)
    status = 0
    if typed.store:
        for session, value in answered:
            store(session.name, value)
        STORED.mkdir(parents=True, exist_ok=True)
        (STORED / VERSIONS).write_text(
            json.dumps(_versions(), indent=1) + "\n", "utf-8"
        )
        print(f"{len(here)} sessions stored in {STORED.relative_to(ROOT)}.")
        for difference in left_over(listed.sessions):
            path_of(difference.command).unlink()
            print(
                f"{difference.command} is not in the list any more: its answer is deleted."
            )
    else:
        _say_versions()
        found = [*compare(answered), *left_over(listed.sessions)]
        names = [session.name for session in here]
        every = [session.name for session in listed.sessions]
        if sys.stderr.isatty():
            print(file=sys.stderr)
        status = report(found, read_accepted(ACCEPTED), names, every)
    if typed.times:
        for name, seconds in sorted(took.items(), key=lambda pair: -pair[1])[:30]:
            print(f"{seconds:6.1f} s  {name}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{used.ru_utime + used.ru_stime:6.1f} s  of a processor in all")
    return status


if __name__ == "__main__":
    sys.exit(main())
