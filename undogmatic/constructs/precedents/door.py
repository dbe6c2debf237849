"""Adds the command `undogmatic precedents`, which looks up the precedents that texts cite."""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.errors import ConfigError
from undogmatic.records.wordings import languages
from undogmatic.safety.apart import in_settings, keep_apart, named
from undogmatic.safety.outside import brief

if TYPE_CHECKING:
    from undogmatic.constructs.precedents.describes import Measured
    from undogmatic.constructs.precedents.table import LookedUp
    from undogmatic.records.results import Told
    from undogmatic.records.words import Words

TEXTS = (".txt", ".md")
COLUMN, DESCRIBES = "columns.", "precedents.describes"
SETTINGS = (
    "precedents.path",
    "precedents.grammar",
    f"precedents.{COLUMN}NAME",
    DESCRIBES,
)
TRACKING, IMPORT = "tracking=mlflow", "import"
"""Named as they are for a run; nothing is logged without the last."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "precedents", help="look up the precedents that texts cite"
    )
    kinds = "a table (CSV, JSON Lines, Parquet, XLSX) or a text (.txt, .md); -: standard input"
    parser.add_argument("file", metavar="FILE", help=kinds)
    own = (
        f"{', '.join(SETTINGS)} (words or judge; with judge also its model, as for a run); to log"
        f" it: {TRACKING}"
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=own)
    parser.add_argument(
        "--text",
        metavar="C",
        action="append",
        help="the column of the texts; several count as one",
    )
    parser.add_argument("--item", metavar="C", help="the column of the texts' ids")
    parser.add_argument(
        "--sheet",
        metavar="NAME",
        help="of a workbook the sheet, a range (A1:C40) or both (NAME!A1:C40)",
    )
    parser.add_argument(
        "--language",
        choices=languages(),
        default="en",
        help="of what is said (default: en)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print all that was found as JSON"
    )
    bring = "`precedents import FILE ...`: read tables as courts publish them into one of yours"
    parser.add_argument(
        "--court", metavar="NAME", help=f"{bring}; of which court they are"
    )
    parser.add_argument(
        "--kind", metavar="NAME", help="with import: tema, sumula, adi ..."
    )
    parser.add_argument(
        "--out", metavar="FILE", help="with import (default: precedents.csv)"
    )
    parser.set_defaults(run=run)


def run(typed: argparse.Namespace) -> None:
    """Print what each text cites and what the table knows of it. The exit status is 0 whatever was
    found."""
    from undogmatic.constructs.precedents.analysis import (
        PrecedentsAnalysis,
        counts,
        told,
    )
    from undogmatic.constructs.precedents.table import Precedents
    from undogmatic.datasets import table
    from undogmatic.records.progress import doing, speaking
    from undogmatic.records.wordings import texts_beside
    from undogmatic.records.words import Words
    from undogmatic.safety.terminal import put

    if typed.file == IMPORT:
        bring(typed)
        return
    if typed.court or typed.kind or typed.out:
        raise ConfigError(
            "--court, --kind and --out go with `undogmatic precedents import FILE`, which makes a"
            " table. Leave them out to look up what texts cite."
        )
    file = named("FILE", None if typed.file == "-" else typed.file)
    keep_apart([*file, *in_settings(typed.overrides)], ())
    tracker = _tracker() if TRACKING in typed.overrides else None
    chosen, others = _settings([word for word in typed.overrides if word != TRACKING])
    lookup = Precedents(**chosen)
    about = {"path": str(lookup.path), **lookup.about, "kinds": lookup.sizes}
    with speaking(typed.language), doing("looking up what the texts cite", soon=True):
        texts, notes, problems = _texts(typed.file, typed.text, typed.item, typed.sheet)
        found = {item: lookup.look_up(text) for item, text in texts.items()}
        known = lookup.reliability
    if lookup.describes == "judge":
        from undogmatic.constructs.precedents.asking import ask

        found, known = ask(found, others)
    of_tables = Path(table.__file__).with_suffix(".texts.yaml")
    words = Words(typed.language, [*texts_beside(PrecedentsAnalysis), of_tables])
    faults = [words.say(problem) for problem in problems]
    said = {
        item: [_sentences(one, words) for one in cited] for item, cited in found.items()
    }
    telling = told(found, lookup.about, known)
    summary = [*map(words.say, telling.findings), *faults]
    where = None
    if tracker is not None:
        params = {"table": lookup.path.name, "entries": lookup.about["n"]}
        where = _log(tracker, typed.file, params, telling, summary)
    if typed.json:
        result = {
            "table": about,
            "counts": counts([one for cited in found.values() for one in cited]),
            "describes": None if known is None else _share_right(known),
            "texts": [_as_plain(item, found[item], said[item]) for item in found],
            "problems": faults,
        }
        if where:
            result["tracking"] = where
        print(json.dumps(result, ensure_ascii=False, indent=2))
        return
    read = [*map(words.say, notes), *faults]
    cites = _lines(said) or [words.text("precedents.nothing")]
    sizes = words.text("precedents.sizes", sizes=_sizes(lookup.sizes))
    space = [""] if read else []
    put([*read, *space, *cites, "", *map(words.say, telling.findings), sizes])
    if where is not None:
        print(f"Tracking  {where}")


def _log(
    tracker: Any,
    file: str,
    params: Mapping[str, Any],
    telling: "Told",
    summary: Sequence[str],
) -> Any:
    """Log what was found in a file of texts; where it is."""
    return tracker.log_found(
        "precedents",
        f"precedents-{Path(file).name}",
        {"file": file, **params},
        telling.metrics,
        summary,
        telling.tables,
    )


def _share_right(known: "Measured") -> dict[str, Any]:
    """How often what is said of precedents is right, as plain data."""
    return {**known.right.row("right"), "by": known.by, "always": known.always}


def _lines(said: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each citation; of several texts each begins with its text's id."""
    several = len(said) > 1
    return [
        f"{item}  {sentence}" if several else sentence
        for item, sentences in said.items()
        for sentence in sentences
    ]


def _sentences(one: "LookedUp", words: "Words") -> str:
    """What is known of a citation, and of what is said of it."""
    sentences = [words.say(one.told)]
    if one.described:
        sentences.append(words.say(one.described.told))
    return " ".join(sentences)


def _as_plain(
    item: str, cited: "Sequence[LookedUp]", sentences: Sequence[str]
) -> dict[str, Any]:
    """What a text cites as plain data."""
    precedents = [
        {
            "cited": one.shown,
            "outcome": one.outcome,
            **one.citation._asdict(),
            "described": one.described and one.described._asdict(),
            "sentence": sentence,
            "entries": [entry.cells for entry in one.entries],
        }
        for one, sentence in zip(cited, sentences, strict=True)
    ]
    return {"item": item, "precedents": precedents}


def bring(typed: argparse.Namespace) -> None:
    """Read tables as courts publish them, write them with the one that ships as one table, and say
    what was read."""
    from undogmatic.constructs.precedents.published import read_published, write_table
    from undogmatic.constructs.precedents.table import Precedents

    if not typed.overrides:
        raise ConfigError(
            "`precedents import` names no file. Name the tables that a court publishes (CSV, XLSX,"
            " JSON Lines): undogmatic precedents import temas.csv --court STJ"
        )
    out = Path(typed.out or "precedents.csv")
    keep_apart(named("FILE", typed.overrides), named("--out", out))
    shipped = Precedents()
    courts = {name.casefold(): name for name in shipped.grammar.layout.courts}
    if typed.court and typed.court.casefold() not in courts:
        raise ConfigError(
            f"`--court` is {brief(typed.court)}; it may be: {', '.join([*courts.values()][:9])} ..."
        )
    kind = typed.kind and shipped.grammar.kind_of(typed.kind)
    if typed.kind and kind is None:
        kinds = [
            key for key, spec in shipped.grammar.layout.kinds.items() if not spec.kind
        ]
        raise ConfigError(
            f"`--kind` is {brief(typed.kind)}; it may be: {', '.join(kinds)}."
        )
    court = courts[typed.court.casefold()] if typed.court else None
    read = []
    for file in typed.overrides:
        found = read_published(file, shipped, court, kind, typed.sheet)
        read.append(found)
        roles = ", ".join(
            f"{role} = {column}" for role, column in found.columns.items()
        )
        print(f"{file}: {len(found.rows)} precedents read ({roles}).")
        for why, n in found.left_out.items():
            print(f"  left out: {n} {why}")
    table = write_table(read, shipped, out)
    of_kinds = _sizes(table.sizes)
    print(
        f"\n{out}: {table.about['n']} precedents, those that ship among them: {of_kinds}."
    )
    print(f"Next: undogmatic precedents FILE precedents.path={out}")


def _sizes(sizes: Mapping[str, int]) -> str:
    """How many precedents of each kind a table has."""
    return ", ".join(f"{n} {name}" for name, n in sizes.items())


def _tracker() -> Any:
    """What logs to MLflow, found as a run finds it. Raises ModuleNotFoundError, ConfigError."""
    from undogmatic.config.build import build
    from undogmatic.safety.extras import needs

    needs("mlflow")
    store = os.environ.get("MLFLOW_TRACKING_URI")
    tracker = build(
        {"_target_": "undogmatic.tracking.MlflowTracker", "uri": store}, "tracking"
    )
    tracker.check()
    return tracker


def _settings(typed: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The settings of the table, and those of the judge, where one is asked."""
    settings, others = dict[str, Any](columns={}), list[str]()
    for word in typed:
        key, mark, value = word.partition("=")
        own, name = key.startswith("precedents."), key.removeprefix("precedents.")
        if not (
            mark
            and (
                key in SETTINGS or name.startswith(COLUMN)
                if own
                else f"{DESCRIBES}=judge" in typed
            )
        ):
            there = (
                f"{', '.join((*SETTINGS, TRACKING))}, each as KEY=VALUE; with {DESCRIBES}=judge"
                " also those of a judge"
            )
            raise ConfigError(f"{brief(word)} is no setting. There are: {there}.")
        if not own:
            others.append(word)
        elif name.startswith(COLUMN):
            settings["columns"][name.removeprefix(COLUMN)] = value
        else:
            settings[name] = value
    return settings, others


def _texts(
    file: str, columns: Sequence[str] | None, item: str | None, sheet: str | None
) -> tuple[dict[str, str], Sequence[Any], Sequence[Any]]:
    """The texts by their ids, how the file was read, and what is wrong in it. Raises ConfigError,
    DataError."""
    from undogmatic.datasets.frames import read_frame
    from undogmatic.datasets.items import find_texts
    from undogmatic.safety.existing import existing_file
    from undogmatic.safety.outside import read_input, read_text

    if file == "-" or Path(file).suffix.lower() in TEXTS:
        if columns or item:
            raise ConfigError(
                "--text and --item name columns of a table, and this is one text. Leave them out."
            )
        return (
            {
                file: read_input()
                if file == "-"
                else read_text(existing_file(file, "FILE", TEXTS))
            },
            (),
            (),
        )
    frame = read_frame(file, sheet)
    found = find_texts(frame.cells, file, columns or (), item)
    texts: dict[str, str] = {}
    for place, row in zip(frame.places, frame.cells.to_dict("records"), strict=True):
        name = next(
            (str(row[each]) for each in found.columns["item"] if row[each] is not None),
            place,
        )
        told = (row[each] for each in found.columns["text"])
        texts[name if name not in texts else f"{name} ({place})"] = "\n\n".join(
            str(t) for t in told if t is not None
        )
    return texts, [*frame.notes, *found.notes], frame.problems
