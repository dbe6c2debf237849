"""`undogmatic gate`: whether a trust card, or a run, meets what is demanded; for continuous
integration."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.check import pairs_of
from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.safety.apart import in_settings, keep_apart, named
from undogmatic.safety.command import tell
from undogmatic.safety.files import ALL, write
from undogmatic.safety.outside import visible

if TYPE_CHECKING:
    from undogmatic.records.card import Datasheet, TrustCard

STATUSES = "exit status: 0 pass, 1 fail, 2 undecided, 3 void or broken"


def add(commands: Any) -> None:
    """Add the command."""
    from undogmatic.records.wordings import languages

    parser = commands.add_parser(
        "gate",
        help="whether a trust card or a run meets thresholds, for continuous integration",
        epilog=STATUSES,
    )
    parser.add_argument(
        "target",
        metavar="CARD|RUN",
        help="a card that `undogmatic check` wrote, or a run's folder",
    )
    now = (
        "a setting of the judge that runs now, e.g. model=gpt-5 prompt=@prompt.txt (@: the text of"
        " a file)"
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=now)
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="what is demanded (default: undogmatic-gate.yaml)",
    )
    begins = "write a gate of what the card's answer needed, instead of asking one"
    parser.add_argument("--init", action="store_true", help=begins)
    data = "labels and items as they are now, read as they were for the card; once for each file"
    parser.add_argument("--data", action="append", metavar="FILE", help=data)
    parser.add_argument(
        "--drift",
        metavar="FILE",
        help="newer verdicts with labels: fail where the judge agrees with people less there than"
        " on the card (in place of `drift` in the gate's file)",
    )
    parser.add_argument(
        "--junit", metavar="FILE", help="write the outcome as JUnit XML"
    )
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help="write the outcome as Markdown, e.g. for a comment on a pull request",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the outcome as JSON, each figure with its interval",
    )
    parser.add_argument(
        "--language",
        choices=languages(),
        help="language of what is printed (default: the card's, else en)",
    )
    parser.refused_with = 3  # where it is 2 elsewhere, which here means undecided
    parser.set_defaults(run=run, refuse=parser.error)


def _begun(path: Path, config: Path) -> str:
    """Write a gate of what a card's answer needed; where it lies, and what to type next. Raises
    ConfigError where there is one already, DataError where the card is none."""
    from undogmatic.records.card import read_card

    text = _demanded(read_card(path))
    if config.exists():
        raise ConfigError(
            f"--config is {str(config)!r}, which is there already, and a gate that somebody wrote"
            " is not written over. Name another: --config FILE."
        )
    write(config, text, ALL)
    return f"{config}\nNext: undogmatic gate {shlex.join([str(path), '--config', str(config)])}"


def _demanded(card: TrustCard) -> str:
    """A gate's file: what a yes needed, each figure with a remark that says how it stands now."""
    from undogmatic.records.checked import CheckOptions

    least = card.data.options.get("least") or CheckOptions().least_of(card.data.kind)
    wanted = {card.headline: least, "surface.increment": 0}
    lines = [
        f"# Made from the card of {visible(card.judge)} of {card.made}.",
        "figures:",
    ]
    for name, bound in wanted.items():
        found = None if name is None else card.figures.get(name)
        if found is not None:
            now = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
            lines.append(f"  {name}: {{at_least: {bound:g}}}  # on the card {now}")
    lines += [] if card.instrument is None else _of_cues(card, card.instrument)
    if all(line.startswith("  # ") for line in lines[2:]):
        # A key without anything below it would be read as a mistake.
        lines[1:2] = ["# figures:"] if len(lines) > 2 else []
    lines += ["standing: supported", f"max_age_days: {(card.expires - card.made).days}"]
    known = {
        key: value
        for key, value in card.settings.items()
        if not value.startswith("sha256:")
    }
    lines += [f"judge: {json.dumps(known, ensure_ascii=False)}"] if known else []
    return "\n".join([*lines, ""])


def _of_cues(card: TrustCard, sheet: Datasheet) -> list[str]:
    """Lines for the cues of an instrument test: demanded is what is shown on the card; the others
    stand there as remarks."""
    from undogmatic.examinations.figure_range import as_held

    lines = []
    for cue, shown in sheet.shown.items():
        name = f"instrument.cue.{cue}"
        if (found := card.figures.get(name)) is None or not sheet.margin:
            continue
        held = as_held(name, found)
        now = f"{shown.replace('_', ' ')}: {held.value:.2f} [{held.low:.2f}, {held.high:.2f}]"
        line = f"{json.dumps(name)}: {{at_most: {sheet.margin:g}}}  # on the card {now}"
        lines.append(f"  {'' if shown == 'no_effect' else '# '}{line}")
    return lines


def run(typed: argparse.Namespace) -> None:
    """Print what came of it, write what was asked for, and exit with its status."""
    from undogmatic.examinations import gate

    if typed.init:
        try:
            print(_begun(Path(typed.target), Path(typed.config or gate.CONFIG)))
        except (UndogmaticError, OSError) as error:
            typed.refuse(tell(error, "undogmatic gate")[0])
        return
    from undogmatic.records.progress import doing, speaking
    from undogmatic.report import gate as shown
    from undogmatic.report.check import words_of

    places = [*named("--junit", typed.junit), *named("--markdown", typed.markdown)]
    demands = gate.CONFIG if typed.config is None else typed.config
    read = [
        *named("CARD|RUN", typed.target),
        *named("--config", demands),
        *named("--data", typed.data),
    ]
    apart = False
    try:
        newer = None if typed.drift is None else Path(typed.drift)
        read += named("drift", newer or gate.drift_file(Path(demands)))
        keep_apart([*read, *in_settings(typed.overrides)], places)
        apart = True
        settings = pairs_of(typed.overrides, "KEY=VALUE")
        data = [Path(path) for path in typed.data or ()]
        config = None if typed.config is None else Path(typed.config)
        with speaking(typed.language or "en"), doing("examining the card", soon=True):
            result, language = gate.examine(
                Path(typed.target), config, settings, data, newer
            )
    except (
        UndogmaticError,
        OSError,
        ImportError,
    ) as error:  # whose exit status would mean undecided
        result = gate.broken(typed.target, tell(error, "undogmatic gate")[0])
        language = "en"
    language = typed.language or language
    words = words_of(language, result.units.get(language), result.texts)
    if typed.json:
        print(json.dumps(shown.as_json(result, words), ensure_ascii=False, indent=2))
    else:
        shown.show(result, words)
    writers = {"--junit": shown.junit, "--markdown": shown.markdown}
    # else it would be written over what it speaks of
    for place in places if apart else ():
        write(place.path, writers[place.option](result, words), ALL)
    sys.exit(result.status)
