"""Holds `undogmatic inject`: plants known defects in clean runs of agents, beside edits that must
not matter."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from undogmatic.cli.doors import add_language
from undogmatic.cli.numbers import whole
from undogmatic.errors import ConfigError
from undogmatic.safety.apart import keep_apart, named
from undogmatic.safety.outside import brief

TEXTS = Path(__file__).with_name("inject.texts.yaml")
OUT = "injected.jsonl"
JUDGE = ("experiment=traces",)


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "inject",
        help="plant known defects in clean runs of agents, to see what a judge sees",
    )
    parser.add_argument(
        "traces",
        nargs="?",
        metavar="TRACES",
        help="clean runs (default: those that ship)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        default=OUT,
        help=f"where the runs are written (default: {OUT})",
    )
    parser.add_argument(
        "--seed", type=whole("--seed", 0, 2**32 - 1, 0), default=0, help="of the draws"
    )
    add_language(parser)
    parser.set_defaults(run=_inject)


def _inject(typed: argparse.Namespace) -> None:
    """Write the runs and their edited copies, and say what was made and what was left out."""
    from undogmatic.datasets.inject import injected
    from undogmatic.datasets.readers.traces import Faults, read_traces
    from undogmatic.datasets.trace_edits import DEFECTS, EQUIVALENT
    from undogmatic.datasets.traces import SHIPPED, clean_runs
    from undogmatic.errors import DataError
    from undogmatic.records.trace import as_jsonl
    from undogmatic.records.words import Words
    from undogmatic.report.answers import command
    from undogmatic.safety.command import as_typed
    from undogmatic.safety.existing import existing_file
    from undogmatic.safety.files import write

    file = SHIPPED
    if typed.traces is not None:
        file = existing_file(typed.traces, "TRACES", (".jsonl", ".json", ".eval"))
    out = Path(typed.out)
    if out.suffix != ".jsonl":
        raise ConfigError(f"`--out` is {brief(typed.out)}; it must end in .jsonl.")
    keep_apart(named("TRACES", file), named("--out", out))
    faults = Faults()
    traces, edited = clean_runs(read_traces(file, faults))
    if not traces:
        what = "all of its runs were edited already" if edited else "it holds no runs"
        raise DataError(f"{file}: {what}, and defects are planted in clean ones.")
    made, unmade = Counter[str](), Counter[str]()
    runs = []
    for family in injected(traces, typed.seed):
        unmade.update(family.unmade)
        made.update(
            str(run.metadata["edit"]) for run in family.runs if run.metadata["edit"]
        )
        runs += family.runs
    write(out, as_jsonl(runs))
    words = Words(typed.language, [TEXTS])

    def say(key: str, **values: Any) -> None:
        print(words.text(f"inject.{key}", **values))

    for fault in faults.findings():
        print(words.say(fault))
    if edited:
        say("edited", n=edited)
    say("made", runs=len(traces), n=len(runs), file=typed.out)
    for title, edits in (("defects", DEFECTS), ("equivalent", EQUIVALENT)):
        say(title, n=sum(made[name] for name in edits))
        for name in edits:
            print(f"  {made[name]:>5}  {name}: {words.text(f'edits.{name}')}")
    if unmade:
        say("left_out", n=unmade.total())
    say("next", command=command([*JUDGE, f"dataset.path={as_typed(out)}"]))
