"""Holds `undogmatic rejudge`: asks another judge about the items of a run, and says what differs
between the two."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.doors import add_language, add_words
from undogmatic.cli.numbers import of_check
from undogmatic.errors import ConfigError

if TYPE_CHECKING:
    from undogmatic.records.evidence import Evidence
    from undogmatic.runs.folder import RunFolder

_KEY = re.compile(r"[+~]{0,2}([^=@]+)")
_FIXED = ("dataset", "rubric", "steps", "optimizer", "hydra", "run.limit", "run.resume")


def add(commands: Any) -> None:
    """Add the command."""
    rejudge = commands.add_parser(
        "rejudge",
        help="ask another judge about the items of a run, and compare the two",
    )
    rejudge.add_argument(
        "run_folder",
        metavar="RUN",
        help="the run's folder; its items must be what they were",
    )
    number = of_check("margin", float, "rejudge")
    what = "a difference of verdicts up to this does not matter"
    rejudge.add_argument("--margin", type=number, metavar="D", help=what)
    add_language(rejudge)
    add_words(rejudge, "model=gpt run.repeats=3")
    rejudge.set_defaults(run=_rejudge)


def _rejudge(typed: argparse.Namespace) -> None:
    from undogmatic.cli.checked import made
    from undogmatic.examinations.run_items import items_of
    from undogmatic.records.checked import CheckOptions
    from undogmatic.records.words import Words
    from undogmatic.runs.folder import RunFolder

    options = made(CheckOptions, {"margin": typed.margin}, "rejudge")
    earlier = RunFolder.open(typed.run_folder, "RUN")
    earlier.check_finished()
    words = _words(earlier, typed.overrides)
    n = len(items_of(earlier))  # raises where the file is no longer what was judged
    fresh = Path("outputs") / time.strftime("%Y-%m-%d/%H-%M-%S-rejudged")
    about = Words(typed.language, [Path(__file__).with_name("rejudge.texts.yaml")])
    print(
        about.text("rejudge.asking", n=n, run=str(earlier.path), fresh=str(fresh)),
        flush=True,
    )
    folders = [word for folder in typed.config_dir for word in ("--config-dir", folder)]
    command = [
        sys.executable,
        "-m",
        "undogmatic.run",
        *folders,
        *words,
        f"hydra.run.dir={fresh}",
    ]
    if status := subprocess.run(command, check=False).returncode:
        sys.exit(status)
    later = RunFolder.open(str(fresh), "the new run")
    if later.facts.get("dataset_digest") != earlier.facts.get("dataset_digest"):
        what = f"the items of {later.path} are not those of {earlier.path} (their digests differ)"
        raise ConfigError(
            f"{what}, so the two are not compared. Judge both from one file."
        )
    _compare(earlier, later, options, typed.language)


def _compare(earlier: RunFolder, later: RunFolder, options: Any, language: str) -> None:
    """Print what a check says of both judges, and how the variance divides among items, judges and
    repeats."""
    from undogmatic.datasets.table import read_table
    from undogmatic.examinations.check import check
    from undogmatic.examinations.drift import variance_of
    from undogmatic.records.progress import doing, speaking
    from undogmatic.report.check import show, words_of

    tables = [read_table(run.path) for run in (earlier, later)]
    models = [{s.get("model") for s in table.settings.values()} for table in tables]
    tags = [run.path.name for run in (earlier, later)]
    if all(len(own) == 1 for own in models) and models[0] != models[1]:
        tags = [str(next(iter(own))) for own in models]
    with speaking(language), doing("examining the judge", soon=True):
        whole = _together(
            [_tagged(table, tag) for table, tag in zip(tables, tags, strict=True)]
        )
        result = check(whole, options)
        for criterion in whole.criteria:
            variance_of(whole, criterion, result.together, options)
    show(result, words_of(language))


def _tagged(table: Evidence, tag: str) -> Evidence:
    names = {judge: f"{judge} ({tag})" for judge in table.judges}
    settings = {names[judge]: known for judge, known in table.settings.items()}
    return replace(
        table,
        verdicts=table.verdicts.assign(judge=table.verdicts["judge"].map(names)),
        settings=settings,
    )


def _together(tables: Sequence[Evidence]) -> Evidence:
    """The verdicts of several runs over the same items, as one table with the labels of the
    first."""
    import pandas as pd

    first = tables[0]
    verdicts = pd.concat([table.verdicts for table in tables], ignore_index=True)
    settings = {
        judge: known for table in tables for judge, known in table.settings.items()
    }
    sources = {name: mark for table in tables for name, mark in table.sources.items()}
    return replace(first, verdicts=verdicts, settings=settings, sources=sources)


def _words(earlier: RunFolder, changes: Sequence[str]) -> list[str]:
    """The overrides of the run with the changes in place of what they change. Raises ConfigError
    where nothing changes, or something other than the judge would."""
    if not changes:
        raise ConfigError(
            "KEY=VALUE is missing: say who shall judge now, e.g. model=gpt, judge=debate or"
            " prompt=NAME."
        )
    changed = [_key(word) for word in changes]
    for key, word in zip(changed, changes, strict=True):
        if any(
            key == fixed or key.startswith((f"{fixed}.", f"{fixed}/"))
            for fixed in _FIXED
        ):
            way = "Leave it out, or start a run of its own: undogmatic run"
            raise ConfigError(
                f"{word} would change what is judged, which rejudge holds fixed. {way}"
            )
    check_asks(earlier)

    def replaced(key: str) -> bool:
        return key.startswith("hydra.") or any(
            key == new or key.startswith(f"{new}.") for new in changed
        )

    return [*(word for word in earlier.overrides if not replaced(_key(word))), *changes]


def check_asks(earlier: RunFolder) -> None:
    """Raise ConfigError for a run whose judge cannot be asked again about the same items."""
    choices = earlier.facts.get("choices") or {}
    reasons = {
        "with `steps`, which make its items anew": bool(earlier.facts.get("steps")),
        "with an optimizer, whose judge is the search's": (
            choices.get("optimizer") not in (None, "none")
        ),
        "over verdicts made elsewhere, which nobody is asked for": (
            choices.get("dataset") == "verdicts"
        ),
    }
    if refused := [why for why, holds in reasons.items() if holds]:
        raise ConfigError(f"{earlier.named}, a run {refused[0]}. Name another run.")


def _key(word: str) -> str:
    found = _KEY.match(word)
    return found[1] if found else word
