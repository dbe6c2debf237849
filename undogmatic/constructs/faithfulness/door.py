"""Adds the command `undogmatic extract`, which writes the text of documents into files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.errors import ConfigError, DataError, UndogmaticError
from undogmatic.safety.command import say

if TYPE_CHECKING:
    from undogmatic.constructs.faithfulness.document import Document


def add(commands: Any) -> None:
    """Add the command."""
    extract = commands.add_parser("extract", help="write the text of PDF, text or Markdown files")
    extract.add_argument("files", nargs="+", metavar="FILE", help="a .pdf, .txt or .md file")
    extract.add_argument("--to", metavar="FOLDER", help="write the texts here (default: beside each file)")
    extract.add_argument("--overwrite", action="store_true", help="take the place of a text that is there already")
    extract.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Read, write and print a table; exit with 1 if a file could not be read or its text not be written."""
    from undogmatic.constructs.faithfulness.document import read_document

    targets = _targets([Path(file) for file in given.files], given.to)
    rows: list[tuple[str, ...]] = []
    said: list[str] = []
    failed = 0
    for source, target in targets.items():
        try:
            found = read_document(source)
            _write(target, found, given.overwrite)
        except (ConfigError, DataError) as error:
            failed += 1
            rows.append((source.name, "", "", "", "", "not written"))
            said.append(f"error: {error}")
            continue
        rows.append(_row(source, target, found))
        said += [f"warning: {source}: {warning}" for warning in found.warnings]
    _print_table(("file", "pages", "words", "removed", "notes", "text"), rows)
    for line in said:
        say(line)
    if failed:
        print(f"{failed} of {len(targets)} files gave no text.", file=sys.stderr)
        sys.exit(1)


def _targets(sources: list[Path], folder: str | None) -> dict[Path, Path]:
    """Where the text of each file goes. Raises ConfigError where two would go to one place, or one onto its source."""
    found: dict[Path, Path] = {}
    for source in sources:
        target = (source.parent if folder is None else Path(folder)) / f"{source.stem}.txt"
        if target.absolute() == source.absolute():
            target = target.with_name(f"{source.stem}.extracted.txt")
        other = next((known for known, place in found.items() if place == target and known != source), None)
        if other is not None:
            raise ConfigError(
                f"{other} and {source} would both become {target}. Extract them one after the other, each with a --to "
                "of its own."
            )
        found[source] = target
    return found


def _write(target: Path, found: Document, overwrite: bool) -> None:
    from undogmatic.safety import files
    from undogmatic.safety.outside import read_text

    text = f"{found.text}\n"
    if target.exists() and not overwrite:
        try:
            same = read_text(target) == text
        except UndogmaticError:
            same = False
        if same:
            return
        raise ConfigError(
            f"{target} is there already, with another text. Name another folder with --to, or --overwrite."
        )
    files.write(target, text, files.ALL)


def _row(source: Path, target: Path, found: Document) -> tuple[str, ...]:
    numbers = (found.pages, found.words, len(found.removed), len(found.notes))
    return (source.name, *(f"{number:,}" for number in numbers), str(target))


def _print_table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in heads:
        number = head not in ("file", "text")
        table.add_column(head, justify="right" if number else "left", overflow="fold", no_wrap=number)
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False, emoji=False, soft_wrap=False).print(table)
