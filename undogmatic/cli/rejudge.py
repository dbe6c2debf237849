"""Holds `undogmatic rejudge`: asks another judge about the frozen items of a run, and says what differs between judges."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.doors import add_words
from undogmatic.errors import ConfigError

if TYPE_CHECKING:
    from undogmatic.runs.folder import RunFolder

_FIXED = re.compile(r"[+~]{0,2}(dataset|rubric|steps|optimizer|run\.limit|run\.resume|hydra)([.=@/]|$)")


def add(commands: Any) -> None:
    """Add the command."""
    rejudge = commands.add_parser("rejudge", help="ask another judge about the items of a run, and compare the two")
    rejudge.add_argument("run_folder", metavar="RUN", help="the run's folder; its items must be what they were")
    rejudge.add_argument("--margin", type=float, help="a difference of scores up to this does not matter")
    add_words(rejudge, "model=gpt run.repeats=3")
    rejudge.set_defaults(run=_rejudge)


def _rejudge(typed: argparse.Namespace) -> None:
    from undogmatic.cli.check import show
    from undogmatic.analyses.drift import compare_runs
    from undogmatic.records.checked import CheckOptions
    from undogmatic.runs.folder import RunFolder

    earlier = RunFolder.open(typed.run_folder, "RUN")
    earlier.check_finished()
    words = _words(earlier, typed.overrides)
    items = earlier.items()  # raises where a file is no longer what was judged
    fresh = Path("outputs") / time.strftime("%Y-%m-%d/%H-%M-%S-rejudged")
    print(f"Asking again about the {len(items):,} items of {earlier.path}; the answers go to {fresh}", flush=True)
    dirs = [word for folder in typed.config_dir for word in ("--config-dir", folder)]
    command = [sys.executable, "-m", "undogmatic.run", *dirs, *words, f"hydra.run.dir='{fresh}'"]
    if status := subprocess.run(command, check=False).returncode:
        sys.exit(status)
    later = RunFolder.open(str(fresh), "the new run")
    if later.facts.get("dataset_digest") != earlier.facts.get("dataset_digest"):
        what = f"the items of {later.path} are not those of {earlier.path} (their digests differ)"
        raise ConfigError(f"{what}, so the two are not compared. Judge both again from one file.")
    show(compare_runs(earlier, later, CheckOptions(margin=typed.margin)))


def _words(earlier: RunFolder, changes: Sequence[str]) -> list[str]:
    """The overrides of the run with the changes in place of what they change. Raises ConfigError where nothing changes,
    or something other than the judge would."""
    if not changes:
        raise ConfigError("KEY=VALUE is missing: say who shall judge now, e.g. model=gpt, judge=debate or prompt=NAME.")
    if fixed := [word for word in changes if _FIXED.match(word)]:
        way = "leave it out, or start a run of its own: undogmatic run"
        raise ConfigError(f"{fixed[0]!r} would change what is judged, and rejudge holds that fixed; {way}.")
    for key in ("steps", "optimizer"):
        if key == "steps" and earlier.facts.get("steps"):
            raise ConfigError(f"{earlier.named}, a run with `steps`, which make its items anew. Name a run without them.")
    choices = earlier.facts.get("choices") or {}
    if choices.get("optimizer", "none") != "none" or choices.get("dataset") == "verdicts":
        what = "with an optimizer" if choices.get("dataset") != "verdicts" else "over verdicts made elsewhere"
        raise ConfigError(f"{earlier.named}, a run {what}, whose judge cannot be exchanged. Name another run.")
    changed = [re.split(r"[=@]", word.lstrip("+~"))[0] for word in changes]
    kept = []
    for word in earlier.overrides:
        key = re.split(r"[=@]", word.lstrip("+~"))[0]
        if key.startswith("hydra.") or any(key == new or key.startswith(f"{new}.") for new in changed):
            continue
        kept.append(word)
    return [*kept, *changes]
