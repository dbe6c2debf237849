"""Would the tests notice if a rule were broken? Each fault is put into a copy of the project, and
its tests are run.

    python -m benchmarks.mutations [--only NAME ...]

Prints "caught" or "NOT CAUGHT" per fault, and what it was.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PARTS = (
    "undogmatic",
    "conf",
    "data",
    "tests",
    "docs",
    "benchmarks",
    "pyproject.toml",
    "README.md",
)


class Fault(NamedTuple):
    """`old` in `path` becomes `new`; `tests` are those that should notice."""

    path: str
    old: str
    new: str
    tests: tuple[str, ...]


FAULTS = {
    "one control for length is enough": Fault(
        "undogmatic/examinations/rivals.py",
        '"open" if "open" in places else "survives"',
        '"survives" if "beyond" in places else "open"',
        ("tests/examinations/test_rivals.py",),
    ),
    "matched pairs decide however few": Fault(
        "undogmatic/examinations/rivals.py",
        "if matched is not None and matched.telling and",
        "if matched is not None and",
        ("tests/examinations/test_rivals.py",),
    ),
    "matched pairs never decide": Fault(
        "undogmatic/examinations/rivals.py",
        "telling and n_groups >= likely.fewest\n",
        "False\n",
        ("tests/examinations/test_rivals.py",),
    ),
    "no correction in sweeps": Fault(
        "undogmatic/stats/compare.py",
        "paired.holm(list(hypotheses.values()))",
        "list(hypotheses.values())",
        ("tests/sweep/test_family.py", "tests/sweep/test_compare.py"),
    ),
    "a degree of freedom too many in the corrected mean": Fault(
        "undogmatic/stats/few_labels.py",
        "means.degrees_of_freedom(share[drawn]) - fitted",
        "means.degrees_of_freedom(share[drawn])",
        ("tests/stats/test_few_labels.py",),
    ),
    "the normal distribution for the corrected mean": Fault(
        "undogmatic/stats/few_labels.py",
        "means.studentised_limits(estimate, error, degrees, skewness, level)",
        "means.studentised_limits(estimate, error, 1e9, skewness, level)",
        ("tests/stats/test_few_labels.py",),
    ),
    "superiority without the margin": Fault(
        "undogmatic/stats/estimate.py",
        "        if self.low - about > margin:\n",
        "        if self.low - about > 0:\n",
        ("tests/stats/test_claims.py",),
    ),
    "no two one-sided tests": Fault(
        "undogmatic/stats/estimate.py",
        "inside = inner.low - about > -margin and inner.high - about < margin",
        "inside = abs(self.value - about) < margin",
        ("tests/stats/test_claims.py",),
    ),
    "the hybrid does not count": Fault(
        "undogmatic/examinations/ruling/ab.py",
        "        if self.hybrid is None:\n            return None\n",
        "        return None\n",
        ("tests/examinations/test_ruling.py",),
    ),
    "the surface does not count": Fault(
        "undogmatic/examinations/ruling/ab.py",
        "return None if self.rival is None else self.rival.outcome",
        "return None",
        ("tests/examinations/test_ruling.py",),
    ),
    "failed judgments do not count": Fault(
        "undogmatic/examinations/ab.py",
        'if ruling.standing in ("undecided", at_worst.standing):',
        "if True:",
        ("tests/examinations/test_ruling.py", "tests/examinations/test_ab.py"),
    ),
    "copies are independent": Fault(
        "undogmatic/datasets/belonging.py",
        "zip(items, _copied(items, varied), strict=True)",
        "zip(items, [[] for _ in items], strict=True)",
        ("tests/examinations/test_units.py", "tests/fakes"),
    ),
    "texts are asked in file order": Fault(
        "undogmatic/records/records.py",
        "np.lexsort((np.asarray(items), np.asarray(units))).astype(np.int32)",
        "np.arange(len(units), dtype=np.int32)",
        ("tests/records/test_order.py",),
    ),
    "the rival sees what it is tested on": Fault(
        "undogmatic/stats/surface.py",
        "train = np.flatnonzero(folds != fold)",
        "train = np.arange(folds.size)",
        ("tests/stats/test_surface.py",),
    ),
}


def caught(fault: Fault, folder: Path) -> bool:
    """Whether the tests fail on a copy with this fault. Raises ValueError where the text to change
    is not there."""
    path = folder / fault.path
    whole = path.read_text(encoding="utf-8")
    if whole.count(fault.old) != 1:
        raise ValueError(
            f"{fault.path} holds {fault.old!r} {whole.count(fault.old)} times; it must be once."
        )
    path.write_text(whole.replace(fault.old, fault.new), encoding="utf-8")
    try:
        environment = os.environ | {"PYTHONPATH": str(folder)}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *fault.tests,
        ]
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        return done.returncode == 1
    finally:
        path.write_text(whole, encoding="utf-8")


def main() -> None:
    """Print a line per fault."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(FAULTS), default=list(FAULTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(
                    source, folder / part, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(source, folder / part)
        for what in given.only:
            print(
                f"{'caught    ' if caught(FAULTS[what], folder) else 'NOT CAUGHT'}  {what}",
                flush=True,
            )


if __name__ == "__main__":
    main()
