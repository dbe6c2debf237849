"""Adds the command `undogmatic pairs`, which makes the pairs file from a theses file."""

import argparse
import json
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command."""
    pairs = commands.add_parser("pairs", help="make the pairs file from a theses file")
    pairs.add_argument(
        "theses", nargs="?", help="theses file (default: the shipped one)"
    )
    pairs.add_argument(
        "--out",
        default="ab_pairs.jsonl",
        help="pairs file to write (default: ab_pairs.jsonl)",
    )
    pairs.set_defaults(run=run)


def run(typed: argparse.Namespace) -> None:
    """Write the pairs."""
    from undogmatic.constructs.shame.curated import make_pairs
    from undogmatic.safety.existing import existing_file
    from undogmatic.safety.files import write
    from undogmatic.safety.paths import data_folder

    default = data_folder() / "curated" / "theses.jsonl"
    theses = (
        default
        if typed.theses is None
        else existing_file(typed.theses, "theses", (".jsonl",))
    )
    rows = make_pairs(theses)
    write(
        Path(typed.out),
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
    )
    print(f"{len(rows)} pairs written to {typed.out}")
