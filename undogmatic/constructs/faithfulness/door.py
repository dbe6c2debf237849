"""Adds the command `undogmatic extract`, which writes the text of documents into files."""

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError, DataError, UndogmaticError
from undogmatic.safety.apart import keep_apart, named
from undogmatic.safety.command import say


def add(commands: Any) -> None:
    """Add the command."""
    extract = commands.add_parser(
        "extract", help="write the text of PDF, text or Markdown files"
    )
    extract.add_argument(
        "files", nargs="+", metavar="FILE", help="a .pdf, .txt or .md file"
    )
    extract.add_argument(
        "--to",
        metavar="FOLDER",
        help="write the texts here (default: beside each file)",
    )
    extract.add_argument(
        "--overwrite",
        action="store_true",
        help="take the place of a text that is there already",
    )
    extract.set_defaults(run=run, extra="faithfulness")


def run(typed: argparse.Namespace) -> None:
    """Read, write and print a table; exit with 1 if a file could not be read or its text not be
    written."""
    from rich.console import Console
    from rich.table import Table

    from undogmatic.constructs.faithfulness.document import read_document

    targets = _targets([Path(file) for file in typed.files], typed.to)
    table = Table(box=None, pad_edge=False)
    for head in ("file", "pages", "words", "removed", "notes", "text"):
        number = head not in ("file", "text")
        table.add_column(
            head, justify="right" if number else "left", overflow="fold", no_wrap=number
        )
    messages: list[str] = []
    failed = 0
    for source, target in targets.items():
        try:
            document = read_document(source)
            _write(target, f"{document.text}\n", typed.overwrite)
        except (ConfigError, DataError) as error:
            failed += 1
            table.add_row(source.name, "", "", "", "", "not written")
            messages.append(f"error: {error}")
            continue
        numbers = (
            document.pages,
            len(document.text.split()),
            len(document.removed),
            len(document.notes),
        )
        table.add_row(source.name, *(f"{number:,}" for number in numbers), str(target))
        messages += [f"warning: {source}: {warning}" for warning in document.warnings]
    Console(markup=False, highlight=False, emoji=False, soft_wrap=False).print(table)
    for message in messages:
        say(message)
    if failed:
        print(f"{failed} of {len(targets)} files gave no text.", file=sys.stderr)
        sys.exit(1)


def _targets(sources: list[Path], folder: str | None) -> dict[Path, Path]:
    """Where the text of each file goes. Raises ConfigError where two would go to one place, or one
    onto its source."""
    targets: dict[Path, Path] = {}
    for source in sources:
        target = (
            source.parent if folder is None else Path(folder)
        ) / f"{source.stem}.txt"
        if target.absolute() == source.absolute():
            target = target.with_name(f"{source.stem}.extracted.txt")
        if other := next(
            (
                known
                for known, place in targets.items()
                if place == target and known != source
            ),
            None,
        ):
            raise ConfigError(
                f"{other} and {source} would both become {target}. Extract them one after the"
                " other, each with a --to of its own."
            )
        targets[source] = target
    place = Path("texts" if folder is None else folder)
    keep_apart(named("FILE", sources), named("--to", targets.values(), place))
    return targets


def _write(target: Path, text: str, overwrite: bool) -> None:
    from undogmatic.safety import files
    from undogmatic.safety.outside import read_text

    if target.exists() and not overwrite:
        with contextlib.suppress(UndogmaticError):
            if read_text(target) == text:
                return
        raise ConfigError(
            f"{target} is there already, with another text. Name another folder with --to, or"
            " --overwrite."
        )
    files.write(target, text, files.ALL)
