"""Prints lines to the terminal as they are: nothing in them is markup, and control characters do
nothing."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from undogmatic.safety.outside import visible

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120


def console() -> Console:
    """Standard output as Rich writes to it, as wide as the terminal is."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return Console(
        file=sys.stdout, highlight=False, width=width, emoji=False, markup=False
    )


def put(lines: Sequence[str], style: str | None = None) -> None:
    """Print lines as they are."""
    plain, screen = not sys.stdout.isatty(), console()
    for line in lines:
        screen.print(visible(line), style=style, soft_wrap=plain)


def put_paths(named: Mapping[str, str]) -> None:
    """Print what was written where, one below the other; a path broken over two lines cannot be
    copied."""
    for label, path in named.items():
        print(visible(f"{label:<{max(map(len, named))}}  {path}"))
