"""Holds `undogmatic instrument`: puts a judge through tests that need no labels."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.doors import add_language, add_words, words
from undogmatic.cli.numbers import whole
from undogmatic.errors import ConfigError
from undogmatic.safety.outside import brief

if TYPE_CHECKING:
    from undogmatic.config.build import Settings
    from undogmatic.datasets.labels import Loaded

TEXTS = Path(__file__).with_name("instrument.texts.yaml")


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "instrument", help="no labels yet: what can be told of a judge without any"
    )
    parser.add_argument(
        "rubric", metavar="RUBRIC", help="a rubric by its name, or a YAML file with one"
    )
    parser.add_argument(
        "--texts",
        metavar="FILE",
        help="your texts (default: those that ship for the rubric)",
    )
    number = whole("--n", 2, 1000, 60)
    parser.add_argument("--n", type=number, help="so many texts at most (default: 60)")
    again = "made items to use again: instrument.jsonl in the folder of an earlier run"
    parser.add_argument("--items", metavar="FILE", help=again)
    compared = "an earlier run: its items again, and both judges compared on them"
    parser.add_argument("--against", metavar="RUN", help=compared)
    own = "no test: let the model write the rubric's question in other words into a file of edits"
    parser.add_argument("--write-wordings", metavar="FILE", help=own)
    written = "no test: let the model write `--n` texts to be judged into a file"
    parser.add_argument("--write-texts", metavar="FILE", help=written)
    add_language(parser)
    add_words(parser, "model=gpt")
    parser.set_defaults(run=_instrument)


def _instrument(typed: argparse.Namespace) -> None:
    """Say how many judgments it takes, then start the run."""
    from undogmatic.api import chosen
    from undogmatic.config.build import settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.instrument import FILE
    from undogmatic.datasets.labels import load
    from undogmatic.records.progress import doing, speaking
    from undogmatic.records.rubric import OUTPUTS

    if "=" in typed.rubric:
        raise ConfigError(
            f"RUBRIC is {brief(typed.rubric)}, which is a setting. Name the rubric first:"
            f" undogmatic instrument NAME {typed.rubric}"
        )
    _check(typed)
    if typed.write_wordings is not None or typed.write_texts is not None:
        _write(typed, [*chosen("rubric", typed.rubric, "RUBRIC"), *words(typed)])
        return
    if typed.against is not None:
        typed.items = str(Path(typed.against) / FILE)
    own = {"path": typed.texts, "n": typed.n, "items": typed.items}
    line = ["experiment=instrument", *chosen("rubric", typed.rubric, "RUBRIC")]
    line += [
        f"dataset.{key}={value}" for key, value in own.items() if value is not None
    ]
    line += [] if typed.against is None else [f"analysis.against={typed.against}"]
    line += [] if typed.language == "en" else [f"report.language={typed.language}"]
    line += words(typed)
    composed = compose_config(line)
    config = settings(composed)
    if {*OUTPUTS} <= {*config.rubric.get("inputs", ())} and not _names_judge(line):
        line.append("judge=compare")  # which asks for a choice, in both orders
        composed = compose_config(line)
        config = settings(composed)
    language = config.report.language
    with speaking(language), doing("reading the items", soon=True):
        loaded = load(config)
        _say_price(composed, config, loaded)
    from undogmatic.run import main

    sys.argv[1:] = line

    def read(asked: Settings) -> Loaded:
        """What was read to say the price, unless other items are asked for."""
        same = (asked.dataset, asked.rubric) == (config.dataset, config.rubric)
        return loaded if same else load(asked)

    main(read)


def _say_price(composed: dict[str, Any], config: Settings, loaded: Loaded) -> None:
    """Say how many judgments and calls it takes, and how many items are left out."""
    from undogmatic.engine.unsent import built_without_keys, calls
    from undogmatic.records.words import Words

    items = loaded.labelled.items[: config.run.limit]
    parts = built_without_keys(composed)
    asked = parts.asked(items)
    made = calls(parts, asked, config.engine.get("cache") is not False)
    n, repeats = len(asked), config.run.repeats
    told = {"n": n, "repeats": repeats, "total": n * repeats, "calls": made.n * repeats}
    spoken = Words(config.report.language, [TEXTS])
    key = "no_calls" if not made.n else "asking" if made.sure else "at_most"
    print(spoken.text(f"instrument_door.{key}", **told), flush=True)
    if left := len(items) - n:
        print(spoken.text("instrument_door.left_out", n=left), flush=True)


def _names_judge(line: list[str]) -> bool:
    return any(word.lstrip("+~").startswith(("judge=", "judges=")) for word in line)


def _check(typed: argparse.Namespace) -> None:
    """Raise ConfigError where two options say what is judged."""
    options = {
        "--write-wordings": typed.write_wordings,
        "--write-texts": typed.write_texts,
        "--items": typed.items,
        "--against": typed.against,
        "--texts": typed.texts,
        "--n": typed.n,
    }
    first, *others = [
        option for option, value in options.items() if value is not None
    ] or [""]
    if first.startswith("--write") and others not in ([], ["--n"]):
        raise ConfigError(f"`{first}` and `{others[0]}` are given. Leave one out.")
    if others and first in ("--items", "--against"):
        raise ConfigError(
            f"`{first}` and `{others[0]}` are given; the items of an earlier run are used as they"
            " are. Leave one out."
        )


def _write(typed: argparse.Namespace, line: list[str]) -> None:
    """Let the model write wordings or texts into a new file, and say what is next."""
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.instrument import FEWEST
    from undogmatic.engine import writing
    from undogmatic.records.progress import doing, speaking
    from undogmatic.records.words import Words
    from undogmatic.safety import files

    config = compose_config(line)
    of_words = typed.write_wordings is not None
    if of_words:
        path = _new(Path(typed.write_wordings), "--write-wordings", (".yaml", ".yml"))
    else:
        path = _new(Path(typed.write_texts), "--write-texts", (".jsonl",))
    with speaking(typed.language), doing("asking the model", soon=True):
        made = (
            writing.wordings(config)
            if of_words
            else writing.texts(config, typed.n or FEWEST)
        )
    files.write(path, made.lines)
    told = {
        "n": made.number,
        "model": made.model,
        "file": str(path),
        "rubric": typed.rubric,
    }
    key = "wordings" if of_words else "texts"
    print(
        Words(typed.language, [TEXTS]).text(f"instrument_door.wrote_{key}", **told),
        flush=True,
    )


def _new(path: Path, option: str, suffixes: tuple[str, ...]) -> Path:
    """A file that can be written and is not there yet. Raises ConfigError."""
    from undogmatic.safety.files import check_writable

    if path.suffix not in suffixes:
        raise ConfigError(
            f"`{option}` is {brief(str(path))}; it must end in {' or '.join(suffixes)}."
        )
    if path.exists():
        raise ConfigError(f"`{option}`: {path} exists, and nothing is written over it.")
    check_writable(path)
    return path
