"""A fault of the disk at every write of a whole command, each followed by a resume: does it go on
to the same results?

    python -m benchmarks.faults_on_disk [--tracking mlflow] [--every N] [--write]

The bigger variant of tests/test_faults.py: the command from its words on, Hydra's and MLflow's
writes included, each kind of fault at each place. Prints what did not end with one message and
status 2 or 3, and what differed afterwards. `--write` keeps the counts in
benchmarks/results/faults_on_disk.csv.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks import stored
from tests.conftest import put
from tests.faults import FORBIDDEN, FULL, KILL_STATUS, KILLED, run
from tests.test_faults import TEXTS, WORDS, results, said_once


def main() -> None:
    """Parse the options and try all faults."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tracking", choices=("none", "mlflow"), default="none")
    parser.add_argument("--every", type=int, default=1, help="only every N-th place")
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    given = parser.parse_args()
    words = ["run", *WORDS[:-1], f"tracking={given.tracking}"]
    _preload(given.tracking)
    place, started = Path(tempfile.mkdtemp()), time.perf_counter()
    try:
        undisturbed = run([*words, "hydra.run.dir=r"], _fresh(place / "whole"))
        assert undisturbed.status == 0, undisturbed.stderr
        expected, writes, tried, bad = (
            results(place / "whole" / "r"),
            len(undisturbed.places),
            0,
            0,
        )
        print(f"tracking={given.tracking}: {writes} writes")
        for fault in (FULL, FORBIDDEN, KILLED):
            before = tried, bad
            for at in range(1, writes + 1, given.every):
                why = _tried(words, _fresh(place / "w"), fault, at, expected)
                tried, bad = tried + 1, bad + (why is not None)
                if why is not None:
                    print(
                        f"{fault} at {at} ({undisturbed.places[at - 1]}): {why}",
                        flush=True,
                    )
            row = {"tracking": given.tracking, "fault": fault, "writes": writes}
            row |= {"tried": tried - before[0], "wrong": bad - before[1]}
            if given.write:
                stored.keep("faults_on_disk", ("tracking", "fault"), [row])
        print(
            f"{tried} faults tried, {bad} ended badly, {time.perf_counter() - started:.0f} s"
        )
    finally:
        shutil.rmtree(place)


def _tried(
    words: list[str], folder: Path, fault: str, at: int, expected: object
) -> str | None:
    """What was wrong, if anything."""
    ended = run([*words, "hydra.run.dir=r"], folder, fault, at)
    finished = ended.status == 0 and (folder / "r" / "run.json").is_file()
    if fault == KILLED:
        if ended.status != KILL_STATUS:
            return f"status {ended.status}"
    elif not finished:  # some writes are a library's own affair, which goes on without
        try:
            said_once(ended)
        except AssertionError as error:
            return f"status {ended.status}: {error}"
    there = (folder / "r" / "run.json").is_file() or (folder / "r" / ".hydra").is_dir()
    again = run([*words, "run.resume=r" if there else "hydra.run.dir=r"], folder)
    if again.status != 0:
        return f"resumed with status {again.status}: {again.stderr[-300:]}"
    return None if results(folder / "r") == expected else "the results differ"


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    put(folder / "texts.jsonl", TEXTS)
    return folder


def _preload(tracking: str) -> None:
    """Modules that every child would import."""
    import undogmatic.experiment
    import undogmatic.report.terminal
    import undogmatic.run  # noqa: F401

    if tracking == "mlflow":
        from undogmatic.tracking.store import prepare_environment

        prepare_environment()
        for name in ("tracking", "model_registry"):
            importlib.import_module(f"mlflow.store.{name}.sqlalchemy_store")


if __name__ == "__main__":
    main()
