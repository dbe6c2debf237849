"""`undogmatic probe fit` and `undogmatic calibrate`: what is fitted on labelled texts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from undogmatic.cli.composing import add_words, words


def add(commands: Any) -> None:
    """Add the commands."""
    probe = commands.add_parser("probe", help="fit a probe on an embedded model's hidden states")
    actions = probe.add_subparsers(dest="action", required=True)
    fit = actions.add_parser("fit", help="fit a probe on labelled texts and save it")
    fit.add_argument("--data", help="labelled file: text, label, maybe id, pair (default: shipped development texts)")
    fit.add_argument("--out", default="probe.safetensors", help="where to save it (default: probe.safetensors)")
    add_words(fit, "model.path=FILE")
    fit.set_defaults(run=fit_probe)
    calibrate = commands.add_parser("calibrate", help="fit a score calibration on labelled development texts")
    calibrate.add_argument("--data", help="labelled file (default: shipped development texts)")
    calibrate.add_argument("--method", choices=("linear", "isotonic", "platt", "content_free"), default="isotonic")
    calibrate.add_argument("--out", default="calibration.json", help="where to save it (default: calibration.json)")
    add_words(calibrate, "readout=logprobs")
    calibrate.set_defaults(run=fit_calibration)


def fit_probe(given: argparse.Namespace) -> None:
    """Fit a probe and save it."""
    from undogmatic.fit.probe import fit_from_config

    print(fit_from_config(given.data, Path(given.out), words(given)))


def fit_calibration(given: argparse.Namespace) -> None:
    """Fit a calibration and save it."""
    from undogmatic.fit.calibration import calibrate_from_config

    print(calibrate_from_config(given.data, given.method, Path(given.out), words(given)))
