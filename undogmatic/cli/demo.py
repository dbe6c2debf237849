"""Holds `undogmatic demo`: checks a shipped example whose truth is known, so that a reader can
check the check."""

import argparse
from pathlib import Path
from typing import Any

from undogmatic.cli.doors import add_language

FILE = "check/demo.csv"
TEXTS = Path(__file__).with_name("demo.texts.yaml")


def add(commands: Any) -> None:
    """Add the command."""
    demo = commands.add_parser(
        "demo",
        help="check an example whose truth is known: one good judge, two without merit",
    )
    add_language(demo)
    demo.set_defaults(run=_demo)


def _demo(typed: argparse.Namespace) -> None:
    from undogmatic.datasets.table import TableOptions, read_table
    from undogmatic.examinations.check import check
    from undogmatic.records.checked import CheckOptions
    from undogmatic.records.progress import doing, speaking
    from undogmatic.records.words import Words
    from undogmatic.report.check import show, words_of
    from undogmatic.safety.paths import data_folder

    path, words = data_folder() / FILE, Words(typed.language, [TEXTS])
    print(words.text("demo.about"), end="")
    with speaking(typed.language), doing("examining the judge", soon=True):
        result = check(read_table(path, TableOptions(labels="all")), CheckOptions())
    show(result, words_of(typed.language), {})
    print(words.text("demo.yours", path=str(path)))
