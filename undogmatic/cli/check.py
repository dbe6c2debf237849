"""`undogmatic check`: whether to trust a judge whose verdicts are in a file."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.cli.doors import add_language
from undogmatic.cli.numbers import of_check, whole
from undogmatic.errors import ConfigError
from undogmatic.safety.apart import in_settings, keep_apart, named, report_files
from undogmatic.safety.command import say
from undogmatic.safety.outside import brief, read_text

AGREES_LESS = 4
"""The exit status where it is shown that a judge agrees with people less than before."""
STATUSES = (
    "exit status: 4 where --against or --over shows that a judge agrees with people less than"
    " before, else 0 whatever was found"
)
READING = {
    "judge": "the column of a judge's verdicts; once for each judge",
    "human": "the column of a person's labels; once for each person; none: nobody labelled",
    "text": "the column of what was judged; twice for the two outputs of a choice",
    "item": (
        "the column of the items' ids; several that are one id together: COLUMN,COLUMN; none: there"
        " are none, and several files are joined row by row"
    ),
    "group": (
        "the column of what belongs together, such as the pair or the document; none: nothing does"
    ),
    "system": "the column of who made what was judged; twice for the two outputs of a choice",
    "criterion": (
        "the column of the criterion, where a row is one verdict; or the one criterion to look at"
    ),
    "repeat": "the column of the repeat",
    "order": "the column of the order in which two outputs were shown",
    "confidence": "the column of the judge's confidence",
    "rater": "the column of who gave the label, where a row is one label",
    "failed": "the column that says where the judge failed, so that no verdict of the row counts",
    "injected": (
        "the column that says what was planted in the item: clean, equivalent (an edit that must"
        " not matter) or defect:NAME"
    ),
    "parent": "the column of the item of which this one is a copy, beside --injected",
    "verdict": "the column of the verdict, where a row is one verdict",
    "kind": "numeric, ordered, unordered, pass_fail or pairwise",
    "scale": "the scale of the verdicts, e.g. 1-5, or the categories: 'poor<fair<good'",
    "human_scale": "the scale of the labels, where it is another; 10-1: 10 is the lowest verdict",
    "labels": "how the labelled items were chosen: all, random, by-verdict or probabilities:COLUMN",
    "sheet": "of a workbook the sheet, a range (A1:C40) or both (NAME!A1:C40)",
    "choices": "whether a choice numbers the two outputs as given or as shown",
    "passes": "the category that passes",
    "unit": "of a file of traces what an item is: step, turn or run (default: run)",
}
"""How the files are read: the options of `TableOptions`."""
SETTING = {
    "level": ("P", "confidence level of the intervals (default: 0.95)"),
    "least": (
        "K",
        (
            "least agreement beyond chance of a trusted judge (default: a kappa of 0.4, a rank"
            " correlation of 0.5)"
        ),
    ),
    "margin": (
        "D",
        'differences up to this do not matter; without it "no difference" is never claimed',
    ),
    "prevalence": (
        "P",
        'share of "pass" where the judge will be used (default: that of the labels)',
    ),
    "epsilon": (
        "P",
        (
            "alternative annotator test: by what share of the items a person may be closer more"
            " often than the judge (default: --margin where the verdicts are categories, else 0.1)"
        ),
    ),
    "alpha": (
        "P",
        "how often the judge may be wrong where it decides alone (default: 0.1)",
    ),
    "delta": ("P", "with what probability that may fail (default: 0.05)"),
    "tried": (
        "N",
        (
            "answers that are asked of these labels in all, one for each prompt that was tried and"
            " for each look as labels grow; each is paid for (default: those that the card counts"
            " which is written over, and this one)"
        ),
    ),
    "seed": ("N", "seed of every random draw (default: 0)"),
}
"""What is asked of the check: the options of `CheckOptions`."""


def add(commands: Any) -> None:
    """Add the command."""

    parser = commands.add_parser(
        "check",
        help="whether to trust a judge whose verdicts are in a file",
        epilog=STATUSES,
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="CSV, XLSX, ODS, JSON Lines or Parquet; or another's log",
    )
    parser.add_argument(
        "--against",
        action="append",
        metavar="OLD",
        help="an earlier file, run or trust card: does it agree with people less than then?",
    )
    parser.add_argument(
        "--over",
        metavar="COLUMN",
        help="a column of dates: since when does it agree with people less? A change is looked for"
        " with a rate of false alarms of 1 - --level",
    )
    parser.add_argument(
        "--instrument",
        metavar="RUN|CARD",
        help="an instrument test of the judge: does what moved it there matter in these data?",
    )
    add_reading(parser)
    setting = parser.add_argument_group("what is asked")
    for name, (metavar, what) in SETTING.items():
        read = of_check(name, int if name in ("seed", "tried") else float, "check")
        setting.add_argument(
            f"--{name}", metavar=metavar, type=read, help=what.replace("%", "%%")
        )
    setting.add_argument(
        "--worse",
        choices=("low", "high"),
        help="beside --injected: which end of the scores is the worse one (default: low)",
    )
    leave = (
        "a column to leave out: no rival explanation and no slice; once for each column"
    )
    setting.add_argument("--ignore", action="append", metavar="COLUMN", help=leave)
    some = (
        "ask this examination and no other; once for each, or NAME,NAME (docs/check.md lists them)."
        " Without those that could speak against the judge there is no answer"
    )
    setting.add_argument("--only", action="append", metavar="NAME", help=some)
    shown = parser.add_argument_group("what is written")
    add_language(shown)
    shown.add_argument(
        "--all",
        action="store_true",
        help="print all findings, and how the files were read, instead of the first lines",
    )
    shown.add_argument(
        "--explain",
        action="store_true",
        help="print how each column is read, and why, instead of an answer",
    )
    shown.add_argument(
        "--report",
        metavar="DIR",
        help="write report.html, report.md, figures and tables into this folder",
    )
    shown.add_argument(
        "--card",
        action="append",
        metavar="FILE",
        help="write a trust card: .json, .md, .html or .svg; once for each file",
    )
    shown.add_argument(
        "--json", action="store_true", help="print all that was found as JSON"
    )
    shown.add_argument(
        "--use", metavar="TEXT", help="what the card says that the judge is used for"
    )
    days = whole("--expires", 1, 3650, 180)
    shown.add_argument(
        "--expires",
        type=days,
        metavar="DAYS",
        help="how long the card holds (default: 180)",
    )
    known = "what the card is bound to, e.g. model=gpt-5 prompt=@prompt.txt (@: the text of a file)"
    shown.add_argument(
        "--judge-config",
        action="append",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help=known,
    )
    sent = (
        "send the answers to an OpenTelemetry collector (OTEL_EXPORTER_OTLP_ENDPOINT)"
    )
    shown.add_argument("--otel", action="store_true", help=sent)
    parser.set_defaults(run=run)


def add_reading(parser: argparse.ArgumentParser, but: Sequence[str] = ()) -> None:
    """Add the options that say how files are read, `but` for some that mean something else
    there."""
    reading = parser.add_argument_group(
        "how the files are read (recognised where not given)"
    )
    for name, what in READING.items():
        if name in but:
            continue
        several: dict[str, Any] = (
            {"action": "append"} if name in ("judge", "human", "text", "system") else {}
        )
        reading.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="COLUMN" if "column" in what else "X",
            help=what,
            **several,
        )


def run(typed: argparse.Namespace) -> None:
    """Check, print what was found and write what was asked for. The exit status is AGREES_LESS
    where that is shown, else 0 whatever was found."""
    from undogmatic.cli import explain
    from undogmatic.cli.checked import checked, column_roles, made
    from undogmatic.datasets.scales import TableOptions
    from undogmatic.records.progress import doing, speaking
    from undogmatic.report import card
    from undogmatic.report.check import as_json, show, words_of, write

    card_paths = [card.checked_path(path) for path in typed.card or ()]
    for name in ("use", "expires", "judge_config"):
        if vars(typed)[name] and not card_paths:
            what = f"--{name.replace('_', '-')} says something of a trust card, and none is written"
            raise ConfigError(f"{what}. Add --card card.json.")
    given = {
        name: vars(typed)[name]
        for name in (*READING, *SETTING, "ignore", "only", "over", "worse")
        if vars(typed)[name] is not None
    }
    if typed.otel:
        from undogmatic.tracking import otel

        otel.check_installed()
    known = [word for words in typed.judge_config for word in words]
    read = [
        *named("FILE", typed.files),
        *named("--against", typed.against),
        *in_settings(known),
    ]
    read += named("--instrument", typed.instrument)
    report = (
        []
        if typed.report is None
        else report_files(Path(typed.report), read, "--report")
    )
    # Before anything is read: a file that is read and written over is lost for good.
    keep_apart(read, [*named("--card", card_paths), *report])
    settings = pairs_of(known, "--judge-config")
    if typed.explain:
        columns, question = column_roles(
            typed.files, made(TableOptions, _reading(given))
        )
        explain.show(columns, question, words_of(typed.language))
        return
    began = time.time()
    with speaking(typed.language), doing("examining the judge", soon=True):
        tested = (typed.instrument, typed.language, card_paths)
        result, reading = checked(typed.files, typed.against, given, settings, *tested)
    words = words_of(typed.language)
    paths: dict[str, list[Path]] = {}
    if typed.report is not None:
        with speaking(typed.language), doing("writing the report", soon=True):
            write(
                result,
                words,
                Path(typed.report),
                f"undogmatic {shlex.join(typed.line)}",
            )
        paths["report"] = [Path(typed.report) / "report.html"]
    if card_paths:
        days = card.DAYS if typed.expires is None else typed.expires
        cards = card.cards_of(
            result,
            words,
            reading.model_dump(mode="json", exclude_defaults=True),
            typed.use,
            days,
        )
        paths["card"] = [
            path for asked in card_paths for path in card.write(cards, asked)
        ]
    if typed.json:
        print(json.dumps(as_json(result, words), ensure_ascii=False, indent=2))
    else:
        show(result, words, paths, typed.line, typed.all)
    if typed.otel:
        say(
            otel.send(
                "undogmatic check", otel.of_check(result, words), (began, time.time())
            )
        )
    if result.agrees_less:
        go_on = f"|| test $? -eq {AGREES_LESS}"
        say(words.text("terminal.agrees_less", status=AGREES_LESS, go_on=go_on))
        sys.exit(AGREES_LESS)


def _reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that say how the files are read."""
    return {name: value for name, value in given.items() if name in READING}


def pairs_of(words: Sequence[str], option: str) -> dict[str, str]:
    """Words of the form KEY=VALUE; @FILE stands for the text in a file. Raises ConfigError,
    DataError."""
    pairs: dict[str, str] = {}
    for word in words:
        key, mark, value = word.partition("=")
        if not mark or not key or key in pairs:
            why = (
                f"gives `{key}` a second time"
                if key in pairs
                else "is not of the form KEY=VALUE"
            )
            is_file = Path(word).is_file()
            hint = (
                " It is a file: --help says which option takes it." if is_file else ""
            )
            raise ConfigError(
                f"{option}: {brief(word)} {why}, e.g. model=gpt-5 prompt=@prompt.txt.{hint}"
            )
        pairs[key] = read_text(Path(value[1:])) if value.startswith("@") else value
    return pairs
