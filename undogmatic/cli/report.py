"""Holds `undogmatic report`: makes the report of a run or a sweep again, from what lies in its
folder."""

import argparse
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "chrome",
)
SECONDS = 600  # after which a browser that prints is given up


def add(commands: Any) -> None:
    """Add the command."""
    from undogmatic.records.wordings import languages

    parser = commands.add_parser(
        "report", help="make the report of a run or a sweep again, without judging"
    )
    parser.add_argument("run_folder", metavar="RUN", help="the folder of a run, or of a sweep")
    forms = "what is written (default: html); pdf is printed by Chromium"
    parser.add_argument("--format", choices=("html", "md", "pdf"), default="html", help=forms)
    beside = "its language (default: the run's own); another is written beside, as report.pt.html"
    parser.add_argument("--language", choices=languages(), help=beside)
    parser.set_defaults(run=run, extra="run")


def run(typed: argparse.Namespace) -> None:
    """Write the report into the folder, and say where it is."""
    from undogmatic.report import contents, kept
    from undogmatic.report import sweep as sweeps
    from undogmatic.runs.folder import RunFolder
    from undogmatic.runs.progress import doing, speaking
    from undogmatic.safety.outside import visible

    language = typed.language
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    folder = RunFolder(Path(typed.run_folder))
    page = folder.path / "report.html"
    if typed.format == "pdf" and browser is None:
        way = (
            f"Install Chromium (Debian, Ubuntu: apt install chromium), or open {page} in any"
            " browser and print it"
        )
        raise ConfigError(
            f"--format is 'pdf', which needs Chromium, and there is none on the path. {way} to a"
            " file."
        )
    with speaking(language or "en"), doing("writing the report", soon=True):
        if folder.sweep is not None:
            from undogmatic.sweep import again

            made, own = again(folder.path, language)
            beside = _beside(language, own)
            sweeps.write(made, folder.path, beside)
        else:
            finished = kept.remade(RunFolder.open(typed.run_folder, "RUN"))
            beside = _beside(language, finished.language)
            contents.write(replace(finished, language=language or finished.language), beside)
    page = page.with_stem(f"report{beside}")
    path = page.with_suffix(f".{typed.format}")
    if browser is not None and typed.format == "pdf":
        _print(browser, page, path)
    print(visible(str(path)))


def _beside(language: str | None, own: str) -> str:
    """The mark in the names of a report's files: none in the run's own language, else the
    language, so that the report that is there stays."""
    return "" if language in (None, own) else f".{language}"


def _print(browser: str, page: Path, path: Path) -> None:
    """Have the browser print the page to a file. Raises ConfigError where it does not."""
    options = [
        "--headless",
        "--disable-gpu",
        "--no-pdf-header-footer",
        f"--print-to-pdf={path.resolve()}",
    ]
    # root may have none
    options += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    path.unlink(missing_ok=True)
    try:
        told = subprocess.run(
            [browser, *options, page.resolve().as_uri()],
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        why = told.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or [
            "it says nothing"
        ]
    except (OSError, subprocess.TimeoutExpired) as error:
        why = [str(error)]
    if not path.is_file():
        raise ConfigError(
            f"{browser} printed nothing ({why[0]:.200}). Open {page} in a browser and print it to a"
            " file."
        )
