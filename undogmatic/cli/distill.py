"""Holds `undogmatic distill`: fits a student to what a judge said, and reports how far the two
agree."""

import argparse
from pathlib import Path
from typing import Any

from undogmatic.cli.check import READING, add_reading
from undogmatic.cli.doors import words
from undogmatic.cli.numbers import whole
from undogmatic.errors import ConfigError
from undogmatic.safety.apart import in_settings, keep_apart, named

OWN = ("judge", "criterion")
"""Options that name what a student learns, in runs and tables alike."""


def add(commands: Any) -> None:
    """Add the command."""
    distill = commands.add_parser(
        "distill",
        help="fit a small, fast student to what a judge said in a run or a table",
    )
    what = (
        "folders of runs, tables of verdicts with texts; and config overrides, "
        "e.g. embeddings=e5"
    )
    distill.add_argument(
        "overrides", nargs="+", metavar="RUN|FILE|KEY=VALUE", help=what
    )
    distill.add_argument(
        "--out",
        default="student.safetensors",
        help="where to save it (default: student.safetensors)",
    )
    distill.add_argument("--judge", help="whose scores, where there are several judges")
    distill.add_argument(
        "--criterion", default="overall", help="on which criterion (default: overall)"
    )
    most = "of each run or table at most so many texts, whole groups of them (default: 2000)"
    distill.add_argument(
        "--most", type=whole("--most", 1, None, 500), metavar="N", help=most
    )
    own = "a folder of config groups of your own"
    distill.add_argument(
        "--config-dir", action="append", default=[], metavar="DIR", help=own
    )
    add_reading(distill, OWN)
    distill.set_defaults(run=_distill)


def _distill(typed: argparse.Namespace) -> None:
    from undogmatic.cli.checked import made
    from undogmatic.cli.distilling import distil
    from undogmatic.datasets.table import TableOptions
    from undogmatic.fit.student import MOST

    sources = [
        word for word in typed.overrides if "=" not in word or Path(word).exists()
    ]
    typed.overrides = [word for word in typed.overrides if word not in sources]
    if not sources:
        raise ConfigError(
            "RUN is missing: name the folder of a run, or a table of verdicts with their texts."
        )
    given = {
        name: value
        for name in READING
        if name not in OWN and (value := vars(typed)[name]) is not None
    }
    reading = made(TableOptions, given)
    keep_apart(
        [*named("RUN|FILE", sources), *in_settings(words(typed))],
        named("--out", typed.out),
    )
    most = MOST if typed.most is None else typed.most
    distil(
        sources,
        Path(typed.out),
        words(typed),
        typed.judge,
        typed.criterion,
        reading,
        most,
    )
