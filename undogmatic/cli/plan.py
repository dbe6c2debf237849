"""Holds `undogmatic plan`: how many labels an answer takes, and how they should be drawn."""

import argparse
from pathlib import Path
from typing import Any

from undogmatic.cli.numbers import of_check
from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief


def add(commands: Any) -> None:
    """Add the command."""
    from undogmatic.cli.doors import add_language

    parser = commands.add_parser(
        "plan", help="how many labels an answer takes, and how they should be drawn"
    )
    parser.add_argument(
        "--kind",
        choices=("pass_fail", "pairwise", "numeric"),
        default="pass_fail",
        help="of the verdicts (default: pass_fail)",
    )
    parser.add_argument(
        "--prevalence",
        type=lambda text: _share("--prevalence", text),
        metavar="P",
        help="pass_fail: the share of the items that have the rarer label (default: 0.5)",
    )
    parser.add_argument(
        "--agreement",
        type=lambda text: _share("--agreement", text),
        required=True,
        metavar="A",
        help="the share of items on which the judge will agree with people; numeric: the rank"
        " correlation",
    )
    parser.add_argument(
        "--least",
        type=of_check("least", float, "plan"),
        metavar="L",
        help="the agreement beyond chance that is asked for (default: as for `undogmatic check`)",
    )
    parser.add_argument(
        "--level",
        type=of_check("level", float, "plan"),
        default=0.95,
        metavar="L",
        help="of the interval (default: 0.95)",
    )
    add_language(parser)
    parser.set_defaults(run=run)


def _share(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ConfigError(
            f"{option} is {brief(text)}; it must be a number between 0 and 1, e.g. {option} 0.8."
        )
    return value


def run(typed: argparse.Namespace) -> None:
    """Print for each chance of a yes how many labels it takes."""
    from undogmatic.cli.checked import made
    from undogmatic.examinations.labels_needed import CHANCES, MOST, labels_needed
    from undogmatic.records.checked import CheckOptions
    from undogmatic.records.words import Words
    from undogmatic.safety.terminal import put

    if typed.prevalence is not None and typed.kind != "pass_fail":
        raise ConfigError(
            f"--prevalence is {typed.prevalence:g}, which --kind {typed.kind} does not use. Leave"
            " it out."
        )
    options = made(CheckOptions, {"least": typed.least, "level": typed.level}, "plan")
    share = typed.prevalence or 0.5
    needed = labels_needed(typed.kind, typed.agreement, share, options)
    words = Words(typed.language, [Path(__file__).with_name("plan.texts.yaml")])
    facts = {
        "agreement": typed.agreement,
        "value": needed.value,
        "least": needed.least,
        "rarer": needed.rarer,
    }
    put([words.text(f"plan.expects_{typed.kind}", **facts)])
    if needed.is_out_of_reach:
        put([words.text("plan.never", most=MOST, **facts)])
        return
    print()
    by_way = needed.by_way
    print(words.text("plan.head" if len(by_way) > 1 else "plan.head_random"))
    for place, chance in enumerate(CHANCES):
        shown = "".join(f"{numbers[place] or '—':>24}" for numbers in by_way.values())
        print(f"{words.text('plan.chance', chance=chance):<17}{shown}")
    print()
    lines = [words.text("plan.means")]
    if needed.fewest:
        lines.append(words.text("plan.rare", few=needed.fewest))
    put(lines)
    put([words.text(f"plan.next_{needed.way}", n=by_way[needed.way][1] or 0)])
