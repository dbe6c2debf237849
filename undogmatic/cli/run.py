"""`undogmatic run`: an experiment. The same as `python -m undogmatic.run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn


def add(commands: Any) -> None:
    """Add the command; its words are Hydra's, so that only its line of help is said here."""
    commands.add_parser("run", help="run an experiment (undogmatic run --help)", add_help=False)


def run(words: Sequence[str]) -> NoReturn:
    """Hand the words to Hydra, which reads them from the command line."""
    sys.argv[1:] = words
    from undogmatic.run import main

    main()
