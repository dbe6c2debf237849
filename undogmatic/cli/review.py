"""`undogmatic review`: the queue for a person, and the labels that come back."""

from __future__ import annotations

import argparse
from typing import Any

from undogmatic.errors import ConfigError
from undogmatic.safety.outside import visible


def add(commands: Any) -> None:
    """Add the command."""
    review = commands.add_parser("review", help="queue the items a human should look at; take the labels back")
    doors = review.add_subparsers(dest="action", required=True)
    export = doors.add_parser("export", help="write a run's review queue as CSV and JSON Lines, most uncertain first")
    export.add_argument("run_folder", metavar="RUN", help="the run's folder")
    export.add_argument("--budget", type=int, help="at most so many rows (default: all flagged and failed items)")
    export.add_argument(
        "--all", action="store_true", dest="everything", help="rank every item, not only flagged and failed ones"
    )
    export.add_argument("--random", type=int, default=0, metavar="N", help="so many further items drawn at random")
    export.add_argument("--seed", type=int, default=0, help="of the random draw (default: 0)")
    export.add_argument("--redact", action="store_true", help="write hashes instead of texts")
    export.add_argument("--out", default="queue", help="files to write, without suffix (default: queue)")
    export.set_defaults(run=_export)
    take = doors.add_parser(
        "import",
        help="check a filled queue, or what people said in MLflow, and add the labels to the run",
        usage="%(prog)s [-h] RUN (LABELS | --from-mlflow) [--scale SCALE] [--labeller LABELLER] [--revise]",
    )
    take.add_argument("run_folder", metavar="RUN", help="the run's folder")
    file = take.add_argument("labels", metavar="LABELS", help="the filled CSV or JSON Lines file")
    file.required = False  # not nargs="?", which takes nothing where LABELS stands behind an option
    take.add_argument(
        "--from-mlflow", action="store_true", help="take `human_label` from the run's traces instead of a file"
    )
    take.add_argument("--scale", help="the scale of the labels if it is not the rubric's, e.g. 0-10: maps them")
    take.add_argument("--labeller", help="whose labels they are where nothing else says so")
    take.add_argument("--revise", action="store_true", help="replace the same labeller's earlier labels")
    take.set_defaults(run=_import)


def _export(given: argparse.Namespace) -> None:
    from undogmatic.review.commands import export

    options = {name: vars(given)[name] for name in ("budget", "everything", "random", "seed", "redact")}
    print(visible(export(given.run_folder, given.out, **options)))


def _import(given: argparse.Namespace) -> None:
    from undogmatic.review.commands import import_from_mlflow, import_labels

    options = {"scale": given.scale, "labeller": given.labeller, "revise": given.revise}
    if given.from_mlflow == (given.labels is not None):
        raise ConfigError(
            (f"LABELS is {given.labels!r} and --from-mlflow is given" if given.from_mlflow else "no labels are named")
            + "; give one of them: a filled file, or --from-mlflow for what is on the run's traces."
        )
    if given.from_mlflow:
        print(visible(import_from_mlflow(given.run_folder, **options)))
    else:
        print(visible(import_labels(given.run_folder, given.labels, **options)))
