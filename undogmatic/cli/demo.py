"""Holds `undogmatic demo`: checks a shipped example whose truth is known, so that a reader can check the check."""

import argparse
from typing import Any

FILE = "check/demo.csv"
ABOUT = """\
A shop answered 150 questions of the kind "what do 6 lamps at 22 euros cost?". Three people and three judges said
whether the sum in each reply is right. This example was made by a program (benchmarks/demo_table.py), so the truth is
known: judge_careful is right about 95% of the replies; judge_keyword only looks whether a reply gives a reason, which
right replies do more often; judge_generous lets nearly everything pass. This is what `undogmatic check` says of them:
"""


def add(commands: Any) -> None:
    """Add the command."""
    demo = commands.add_parser("demo", help="check an example whose truth is known: one good judge, two without merit")
    demo.set_defaults(run=_demo)


def _demo(typed: argparse.Namespace) -> None:
    from undogmatic.analyses.check import check
    from undogmatic.datasets.table import TableOptions, read_table
    from undogmatic.records.checked import CheckOptions
    from undogmatic.report.check import show, words_of
    from undogmatic.safety.paths import data_folder

    path = data_folder() / FILE
    print(ABOUT, end="")
    show(check(read_table(path, TableOptions(labels="all")), CheckOptions()), words_of("en"), {})
    print(f"The same on a file of yours: undogmatic check FILE.csv   (this one is {path})")
