"""`undogmatic calibrate`: a score calibration on labelled texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from undogmatic.cli.composing import add_words, words


def add(commands: Any) -> None:
    """Add the command."""
    calibrate = commands.add_parser("calibrate", help="fit a score calibration on labelled development texts")
    calibrate.add_argument("--data", help="labelled file (default: shipped development texts)")
    calibrate.add_argument("--method", choices=("linear", "isotonic", "platt", "content_free"), default="isotonic")
    calibrate.add_argument("--out", default="calibration.json", help="where to save it (default: calibration.json)")
    add_words(calibrate, "readout=logprobs")
    calibrate.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Fit and save."""
    from undogmatic.fit.calibration import calibrate_from_config

    print(calibrate_from_config(given.data, given.method, Path(given.out), words(given)))
