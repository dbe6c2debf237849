"""Holds `undogmatic report`: makes the report of a run or a sweep again, from what lies in its
folder."""

import argparse
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from undogmatic.errors import ConfigError
from undogmatic.safety import files

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
    which = "the folder of a run, or of a sweep (default: the newest below outputs/)"
    parser.add_argument("run_folder", metavar="RUN", nargs="?", help=which)
    forms = "what is written (default: html); pdf is printed by Chromium, on two pages"
    parser.add_argument(
        "--format", choices=("html", "md", "pdf"), default="html", help=forms
    )
    whole = "with --format pdf: all of the report, not the two pages that say most"
    parser.add_argument("--full", action="store_true", help=whole)
    beside = "its language (default: the run's own); another is written beside, as report.pt.html"
    parser.add_argument("--language", choices=languages(), help=beside)
    parser.set_defaults(run=run, extra="run")


def run(typed: argparse.Namespace) -> None:
    """Write the report into the folder, and say where it is."""
    from undogmatic.records.progress import doing, speaking
    from undogmatic.report import contents, kept
    from undogmatic.report import sweep as sweeps
    from undogmatic.report.document import rendered
    from undogmatic.runs.folder import RunFolder
    from undogmatic.safety.outside import visible

    language = typed.language
    if typed.full and typed.format != "pdf":
        raise ConfigError(
            f"--full is for --format pdf, and --format is {typed.format!r}, which holds the whole"
            " report. Leave --full out."
        )
    if typed.run_folder is None:
        typed.run_folder = _newest()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    folder = RunFolder(Path(typed.run_folder))
    page, brief = folder.path / "report.html", None
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
            finished = replace(finished, language=language or finished.language)
            contents.write(finished, beside)
            if typed.format == "pdf" and not typed.full:
                brief = contents.short(finished, beside)
    page = page.with_stem(f"report{beside}")
    path = page.with_suffix(f".{typed.format}")
    if browser is not None and typed.format == "pdf":
        with TemporaryDirectory() as made:
            if brief is not None:
                page = Path(made, page.name)
                files.write(page, rendered(brief, "report.html"))
            _print(browser, page, path)
    print(visible(str(path)))


def _newest() -> str:
    """The folder of the run or sweep that ended last below outputs/. Raises ConfigError where there
    is none."""
    from undogmatic.runs.manifest import MANIFEST, SWEEP_MANIFEST

    root = Path("outputs")
    found = [*root.glob(f"*/*/{MANIFEST}"), *root.glob(f"*/*/{SWEEP_MANIFEST}")]
    if not found:
        raise ConfigError(
            f"There is no run below {root.absolute()}. Name the folder of one: undogmatic report"
            " RUN, or judge first: undogmatic run."
        )
    return str(max(found, key=lambda path: path.stat().st_mtime).parent)


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
