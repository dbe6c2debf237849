"""Try one door of tests/fuzzing, or each of them, for as long as you like.

    python -m benchmarks.fuzz [DOOR ... | --all] [--minutes 10] [--seed 1] [--write]

Without a DOOR it lists them. Ends with status 1 and the smallest case that it found, if it found
one; put it into the EXAMPLES of the door. `--write` keeps how many cases were tried, and whether
one went wrong, in benchmarks/results/fuzz.csv.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
import traceback

from hypothesis import HealthCheck, Phase, given, seed, settings

from benchmarks import stored
from tests.fuzzing import DOORS, door

BATCH = 500


def tried(name: str, minutes: float, first: int) -> int:
    """How many cases went well. Raises what `enter` raises."""
    found, ends, number = door(name), time.monotonic() + 60 * minutes, first
    clock, count = time.monotonic(), 0

    def enter(case: object) -> None:
        nonlocal count
        if time.monotonic() < ends:
            found.enter(case)
            count += 1

    calm = settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.target, Phase.shrink],
    )
    for case in found.EXAMPLES:
        found.enter(case)
        count += 1
    ends = time.monotonic() + 60 * minutes  # the examples take the time that they take
    while time.monotonic() < ends:
        seed(number)(calm(given(found.strategy())(enter)))()
        number += 1
        if sys.stderr.isatty():
            print(
                f"\r{name}: {count:,} cases, {(time.monotonic() - clock) / 60:.1f} min",
                end="",
                file=sys.stderr,
            )
    return count


def main() -> int:
    """Try the doors that were named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=", ".join(DOORS))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="try each door")
    parser.add_argument(
        "--write", action="store_true", help="keep it in benchmarks/results"
    )
    options = parser.parse_args()
    options.doors = DOORS if options.all else options.doors
    if unknown := [name for name in options.doors if name not in DOORS]:
        parser.error(
            f"no such door: {', '.join(unknown)}. There are: {', '.join(DOORS)}."
        )
    if not options.doors:
        print("\n".join(DOORS))
        return 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["UNDOGMATIC_CACHE"] = str(folder)
        for name in options.doors:
            count, wrong = 0, 0
            try:
                count = tried(name, options.minutes, options.seed)
            except Exception:  # whatever it is, it is a finding
                traceback.print_exc()
                wrong = 1
            if options.write:
                row = {"door": name, "minutes": options.minutes, "seed": options.seed}
                stored.keep("fuzz", ("door",), [row | {"cases": count, "wrong": wrong}])
            if wrong:
                print(f"{name}: found something", flush=True)
                return 1
            print(
                f"{name}: {count:,} cases in {options.minutes:g} min, nothing found",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
