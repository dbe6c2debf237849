"""`undogmatic probe fit`: a probe on labelled texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from undogmatic.cli.composing import add_words, words


def add(commands: Any) -> None:
    """Add the command."""
    probe = commands.add_parser("probe", help="fit a probe on an embedded model's hidden states")
    actions = probe.add_subparsers(dest="action", required=True)
    fit = actions.add_parser("fit", help="fit a probe on labelled texts and save it")
    fit.add_argument(
        "--data", help="labelled file: text, label, optionally id, pair (default: shipped development texts)"
    )
    fit.add_argument("--out", default="probe.safetensors", help="where to save it (default: probe.safetensors)")
    add_words(fit, "model.path=FILE")
    fit.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Fit and save."""
    from undogmatic.fit.probe import fit_from_config

    print(fit_from_config(given.data, Path(given.out), words(given)))
