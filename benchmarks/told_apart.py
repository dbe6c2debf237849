"""How often judges of faithfulness put a faithful summary above one with a wrong outcome or party.

python -m benchmarks.told_apart [--model FILE.gguf --limit 72] [--write]

Runs `analysis=pairwise_accuracy` over the short summaries of the test split, as a user would: with
the judges that need no key (and over the summaries of the shipped cases, which have one planted
error each), and with `--model` (an instruction model) with that model as the judge `bucket` in the
place of `bucket_rules`. `--limit` takes the first summaries alone; a model of 1.5 billion
parameters reads one in about ten seconds of two cores. `--write` keeps the rows in
results/told_apart.csv.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import stored

RUN = (
    "experiment=faithfulness",
    "steps=[]",
    "analysis=pairwise_accuracy",
    "tracking=none",
)
SHORT = ("dataset.summaries=short", "dataset.split=test")
BY_MODEL = (
    "judges=[nli,coverage,bucket]",
    "model=local",
    "model.base=false",
    "readout=structured",
)


def rows(judges: str, overrides: tuple[str, ...], **more: str) -> list[dict[str, Any]]:
    """A row for the composite and for each of its judges, of one run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        subprocess.run(
            [
                sys.executable,
                "-m",
                "undogmatic.run",
                *RUN,
                *overrides,
                f"hydra.run.dir={out}",
            ],
            check=True,
            cwd=folder,
            stdout=sys.stderr,
        )
        said = json.loads((out / "results.json").read_text(encoding="utf-8"))
    made = next(
        each for each in said["results"] if each["name"] == "pairwise_accuracy"
    )["tables"]["judges"]
    table = pd.DataFrame(made["rows"], columns=made["$frame"])
    columns = ["voice", "n", "right", "equal", "wrong", "accuracy", "low", "high"]
    return [
        {"judges": judges, **each, **more}
        for each in table[columns].round(3).to_dict("records")
    ]


def main() -> None:
    """Print the rows, and keep them with --write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--model", type=Path, help="a GGUF file of an instruction model"
    )
    parser.add_argument("--limit", type=int, help="take the first summaries alone")
    parser.add_argument("--write", action="store_true", help="keep the rows")
    given = parser.parse_args()
    limit = () if given.limit is None else (f"run.limit={given.limit}",)
    if given.model is None:
        found = rows("rules", (*SHORT, *limit), sha256="")
        found += rows("rules, shipped", ("dataset.summaries=shipped",), sha256="")
    else:
        digest = hashlib.sha256(given.model.read_bytes()).hexdigest()
        own = (*SHORT, *BY_MODEL, f"model.path={given.model.resolve()}", *limit)
        found = rows(given.model.stem, own, sha256=digest)
    print(pd.DataFrame(found).drop(columns="sha256").to_string(index=False))
    if given.write:
        stored.keep("told_apart", ("judges", "voice"), found)


if __name__ == "__main__":
    main()
