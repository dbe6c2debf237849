"""Holds `undogmatic plan`: how many labels an answer takes, and how they should be drawn."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.numbers import of_check
from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief

if TYPE_CHECKING:
    from undogmatic.stats.planning import Expected

CHANCES = (0.5, 0.8, 0.9)


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
    from undogmatic.examinations import kinds, surface_rival
    from undogmatic.records.checked import CheckOptions
    from undogmatic.report.terminal import put
    from undogmatic.report.words import Words
    from undogmatic.stats import planning

    if typed.prevalence is not None and typed.kind != "pass_fail":
        raise ConfigError(
            f"--prevalence is {typed.prevalence:g}, which --kind {typed.kind} does not use. Leave"
            " it out."
        )
    options = made(CheckOptions, {"least": typed.least, "level": typed.level}, "plan")
    least = options.least_of(typed.kind)
    share = typed.prevalence or 0.5
    rarer = min(share, 1 - share)
    fewest = kinds.FEWEST_RARER if rarer < kinds.MINOR else 0
    ways = _ways(typed.kind, typed.agreement, rarer, fewest)
    needed = {
        name: planning.labels_needed(
            way,
            least,
            surface_rival.least_left,
            CHANCES,
            level=typed.level,
            fewest=kinds.FEWEST,
        )
        for name, way in ways.items()
    }
    words = Words(typed.language, [Path(__file__).with_name("plan.texts.yaml")])
    value = ways["random"].agreement
    facts = {
        "agreement": typed.agreement,
        "value": value,
        "least": least,
        "rarer": rarer,
    }
    put([words.text(f"plan.expects_{typed.kind}", **facts)])
    if value <= least or None in needed["random"]:
        put([words.text("plan.never", most=planning.MOST, **facts)])
        return
    print()
    print(words.text("plan.head" if len(ways) > 1 else "plan.head_random"))
    for place, chance in enumerate(CHANCES):
        shown = "".join(f"{numbers[place] or '—':>24}" for numbers in needed.values())
        print(f"{words.text('plan.chance', chance=chance):<17}{shown}")
    print()
    put(
        [
            words.text("plan.means"),
            *([words.text("plan.rare", few=fewest)] if fewest else []),
        ]
    )
    # At random, which needs no verdicts beforehand, unless the other way saves a quarter.
    worth = {"random": 0.75, "by_verdict": 1.0}
    way = min(ways, key=lambda name: worth[name] * (needed[name][1] or planning.MOST))
    put([words.text(f"plan.next_{way}", n=needed[way][1] or 0)])


def _ways(
    kind: str, agreement: float, rarer: float, fewest: int
) -> "dict[str, Expected]":
    """The judge that is expected, by each way in which labels may be drawn."""
    from undogmatic.stats.planning import Order, TwoKinds

    if kind == "numeric":
        return {"random": Order(agreement)}
    random = TwoKinds(rarer, agreement, fewest=fewest)
    if kind == "pairwise":
        return {"random": random}
    return {"random": random, "by_verdict": TwoKinds(rarer, agreement, True, fewest)}
