"""Holds `undogmatic label`: opens a page in the browser on which a person labels the items of a
file one by one."""

import argparse
import contextlib
import getpass
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from undogmatic.cli.doors import add_page
from undogmatic.cli.numbers import whole
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.apart import keep_apart, named
from undogmatic.safety.outside import brief, visible

if TYPE_CHECKING:
    from undogmatic.review.page import Entry, Scale, Sheet, Table

OF_A_TABLE = ("scale", "rubric", "text", "item", "sheet", "unit", "reveal", "by")
"""Options that say of a table what a run says of itself."""


def add(commands: Any) -> None:
    """Add the command."""
    label = commands.add_parser(
        "label",
        help="label the items of a file in the browser, blind to what the judge said",
    )
    label.add_argument(
        "file",
        metavar="FILE",
        help="the table with the texts (CSV, XLSX, ODS, JSON Lines, Parquet), or the folder of an"
        " instrument test",
    )
    label.add_argument(
        "--scale",
        help="1-5, 0..100 (any number between), bad<ok<good or pass,fail (default: pass,fail)",
    )
    label.add_argument(
        "--rubric", metavar="YAML", help="take scale and question from a rubric's file"
    )
    label.add_argument(
        "--question",
        metavar="TEXT",
        help="what is asked about each item (default: the rubric's question)",
    )
    label.add_argument(
        "--rater",
        metavar="NAME",
        help="whose labels they are (default: the name of this user)",
    )
    label.add_argument(
        "--text",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column that is shown; once for each (default: recognised)",
    )
    label.add_argument(
        "--item",
        metavar="COLUMN",
        help="the column with the ids of the items (default: recognised)",
    )
    label.add_argument(
        "--sheet",
        metavar="NAME",
        help="of a workbook the sheet, a range (A1:C40) or both (NAME!A1:C40)",
    )
    label.add_argument(
        "--unit",
        choices=("step", "turn", "run"),
        help="of a file of traces what an item is (default: run)",
    )
    tells = "a column that is shown once the item is labelled, e.g. the judge's verdict"
    label.add_argument(
        "--reveal", action="append", default=[], metavar="COLUMN", help=tells
    )
    label.add_argument(
        "--out",
        metavar="FILE",
        help="where the labels are kept (default: FILE with .labels.csv for its suffix)",
    )
    drawn = whole("--random", 1, None, 50)
    label.add_argument(
        "--random",
        type=drawn,
        metavar="N",
        help="label N items drawn at random instead of all",
    )
    label.add_argument(
        "--by",
        metavar="COLUMN",
        help="with --random: draw evenly from the values of this column, e.g. a judge's verdicts",
    )
    seed = whole("--seed", 0, None, 1)
    label.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="seed of that draw (default: 0)",
    )
    label.add_argument(
        "--language",
        choices=("en", "pt"),
        default="en",
        help="language of the page and the terminal (default: en)",
    )
    add_page(label)
    label.set_defaults(run=_label)


class _Asked(NamedTuple):
    """What is labelled: the items, all of the table that they stand in, how they are judged, and
    the folder of the instrument test whose texts they are, None where they are a table's."""

    entries: Sequence["Entry"]
    table: "Table"
    scale: "Scale"
    questions: Mapping[str, str]
    run: str | None = None


def _label(typed: argparse.Namespace) -> None:
    from undogmatic.datasets.labels import TEXTS
    from undogmatic.records.progress import speaking
    from undogmatic.records.words import Words
    from undogmatic.review.page import Server, Sheet
    from undogmatic.review.server import in_browser
    from undogmatic.runs.folder import MANIFEST
    from undogmatic.safety.terminal import put

    with speaking(typed.language):
        is_run = (Path(typed.file) / MANIFEST).is_file()
        asked = _of_run(typed) if is_run else _of_table(typed)
    entries, table, scale, questions, run = asked
    words = Words(typed.language, [TEXTS, Path(__file__).with_name("label.texts.yaml")])
    put([words.say(finding) for finding in table.notes])
    out = Path(typed.out) if typed.out else Path(typed.file).with_suffix(".labels.csv")
    keep_apart(
        [*named("FILE", typed.file), *named("--rubric", typed.rubric)],
        named("--out", out),
    )
    question = (
        typed.question
        or questions.get(typed.language)
        or next(iter(questions.values()), "")
    )
    about: dict[str, Any] = {"every": table.entries, "numbered": table.numbered}
    sheet = Sheet(
        entries,
        scale,
        out,
        typed.rater or getpass.getuser(),
        question,
        typed.language,
        **about,
    )
    if run is not None:
        _check_one_draw(sheet)
    try:
        server = Server(sheet, typed.port)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"--port is {typed.port}, which cannot be used: {error}. Leave it out."
        ) from None
    counts = {"total": len(entries), "rater": sheet.rater, "out": str(out)}
    with server:
        print(visible(words.text("label.begins", done=len(sheet.done), **counts)))
        if sheet.lost:
            put([words.text("label.lost", n=sheet.lost, file=typed.file, **counts)])
        print(f"{words.text('label.here')}\n\n  {server.url}\n", flush=True)
        with (
            in_browser(server, not typed.no_browser),
            contextlib.suppress(KeyboardInterrupt),
        ):
            server.serve_forever()
    if sheet.replaced:
        put([words.text("label.replaced", n=sheet.replaced, **counts)])
    done = len(sheet.done)
    command, refused = _next(typed, out, run)
    key = "ends" if refused is None else "ends_alone"
    lines = [words.text(f"label.{key}", done=done, why=refused or "", **counts)]
    lines += [f"  {command}"] if refused is None else []
    if run is not None and typed.random is not None and 0 < done < len(entries):
        lines.append(words.text("label.unfinished", n=len(entries)))
    print(visible("\n".join(lines)))


def _of_table(typed: argparse.Namespace) -> _Asked:
    """The items of a table, all or those that are drawn."""
    from undogmatic.records.progress import doing
    from undogmatic.review.drawn import drawn
    from undogmatic.review.page import read_entries, read_rubric, scale_of

    if typed.scale is not None and typed.rubric is not None:
        raise ConfigError(
            "--scale and --rubric are both given, and a rubric has a scale. Leave one out."
        )
    scale, questions = (
        read_rubric(typed.rubric)
        if typed.rubric
        else (scale_of(typed.scale or "pass,fail"), {})
    )
    if typed.by is not None and typed.random is None:
        raise ConfigError(
            f"--by is {brief(typed.by)} without --random N, which says how many items are drawn."
        )
    with doing("reading the file", soon=True):
        table = read_entries(
            typed.file,
            typed.item,
            typed.text,
            typed.reveal,
            typed.sheet,
            by=typed.by,
            unit=typed.unit,
        )
    entries: Sequence[Entry] = table.entries
    if typed.random is not None:
        entries = drawn(entries, typed.file, typed.random, typed.by, typed.seed)
    return _Asked(entries, table, scale, questions)


def _of_run(typed: argparse.Namespace) -> _Asked:
    """The texts of an instrument test that are drawn; from here on `typed.file` is the table in
    which they stand. Raises ConfigError for what its run has said already."""
    from undogmatic.review.page import read_entries, scale_and_questions
    from undogmatic.review.unsteady import draw

    own = {f"--{name}": vars(typed)[name] for name in OF_A_TABLE}
    if given := [option for option, value in own.items() if value not in (None, [])]:
        raise ConfigError(
            f"{given[0]} is given, and {brief(typed.file)} is the folder of a run, which has texts,"
            f" rubric and scale of its own. Leave {given[0]} out."
        )
    run = typed.file
    found = draw(run, typed.random, typed.seed)
    typed.file = str(found.table)
    table = read_entries(typed.file, None, (), ())._replace(notes=[])
    by_id = {entry.id: entry for entry in table.entries}
    entries = [by_id[name]._replace(texts=found.texts[name]) for name in found.drawn]
    return _Asked(entries, table, *scale_and_questions(found.rubric), run)


def _check_one_draw(sheet: "Sheet") -> None:
    """Raise ConfigError where the file of labels has some of another draw: what these labels say
    is weighted by the probabilities of one."""
    others = {row["item"] for row in sheet.file.kept.rows if row["label"]} - {
        *sheet.places
    }
    if others:
        raise ConfigError(
            f"--out is {brief(str(sheet.out))}, which holds labels of {len(others)} texts that are"
            f" not in this draw, such as {brief(min(others))}. Name another file, or the --random"
            " and --seed of those labels."
        )


def _next(
    typed: argparse.Namespace, out: Path, run: str | None
) -> tuple[str, str | None]:
    """The command that comes next, and why it would be refused, if it would: the judge's
    verdicts may not be in the table yet, or may be in several columns. Without a label the page
    comes again. `run` is the folder of the instrument test whose texts these are."""
    from undogmatic.datasets.table import TableOptions, read_table
    from undogmatic.records.labels import PROBABILITY

    if not out.is_file():
        return shlex.join(["undogmatic", *typed.line]), None
    chosen = {"item": typed.item, "text": tuple(typed.text), "sheet": typed.sheet}
    chosen["unit"] = typed.unit
    options = [
        word
        for option, names in _named(chosen)
        for name in names
        for word in (option, name)
    ]
    if typed.random is not None:
        drawn = "random" if typed.by is None else "by-verdict"
        options += [
            "--labels",
            drawn if run is None else f"probabilities:{PROBABILITY}",
        ]
    options += [] if run is None else ["--instrument", run]
    options += ["--language", typed.language] if typed.language != "en" else []
    try:
        # alone, it is said what lacks in it
        for files in ([typed.file], [typed.file, str(out)]):
            read_table(files, TableOptions(**chosen))
    except (ConfigError, DataError) as error:
        return "", str(error)
    return shlex.join(["undogmatic", "check", typed.file, str(out), *options]), None


def _named(chosen: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    for option, names in chosen.items():
        several = names if isinstance(names, tuple) else [names]
        yield f"--{option}", [name for name in several if name is not None]
