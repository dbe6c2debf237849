"""`undogmatic score`: one text, or every text of a file."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.doors import add_words, words
from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.apart import in_settings, keep_apart, named
from undogmatic.safety.outside import ROW_BYTES, brief, read_input, read_text, visible

if TYPE_CHECKING:
    from undogmatic.api import ScoreResult
    from undogmatic.records.rubric import Rubric
    from undogmatic.records.words import Words


KEPT = (
    "Prompt, raw answer and result of each text are appended to the file score.log in"
    " $UNDOGMATIC_CACHE (else ~/.cache/undogmatic), which you alone may read. tracking.redact=true:"
    " hashes in place of texts. --no-log: nothing."
)


def add(commands: Any) -> None:
    """Add the command."""
    score = commands.add_parser(
        "score", help="score one text, or every text of a file", epilog=KEPT
    )
    score.add_argument(
        "text", nargs="?", help='the text; "-" reads it from standard input'
    )
    score.add_argument(
        "--file",
        help="JSONL, CSV or Parquet with the field text, or the rubric's inputs (id optional)",
    )
    inputs = (
        'one of the inputs that the rubric judges; "-" for TEXT is standard '
        'input, "@FILE" a file'
    )
    score.add_argument(
        "--input", action="append", default=[], metavar="NAME=TEXT", help=inputs
    )
    score.add_argument(
        "--rubric",
        metavar="NAME|FILE",
        help="a rubric by its name, or a YAML file with one",
    )
    score.add_argument("--prompt", metavar="NAME", help="a prompt by its name")
    score.add_argument(
        "--json", action="store_true", help="print JSON lines instead of words"
    )
    score.add_argument(
        "--no-log",
        action="store_true",
        help="write nothing of this into the log of scores",
    )
    add_words(score, "model=gpt")
    score.set_defaults(run=run)


def run(typed: argparse.Namespace) -> None:
    """Score and print; exit with 1 if a text got no score."""
    from undogmatic.api import chosen, score_composed, scoring_config
    from undogmatic.config.build import build, settings
    from undogmatic.records.progress import doing, speaking

    text = typed.text
    # the first positional is then an override
    if text is not None and (typed.file is not None or typed.input):
        typed.overrides.insert(0, text)
        text = None
    if (text is not None) + (typed.file is not None) + bool(typed.input) != 1:
        if typed.file is not None:
            raise DataError(
                "`--file` and `--input` are given; the inputs of a file are its columns. Leave one"
                " out."
            )
        way = 'undogmatic score "text", undogmatic score --file texts.jsonl'
        raise DataError(
            f"nothing to score: {way}, or --input NAME=TEXT for each input of the rubric."
        )
    read = [*named("--file", typed.file), *named("--rubric", typed.rubric)]
    keep_apart([*read, *in_settings(typed.input)], ())
    if text is not None:
        _check_text(text)
    overrides = [
        *chosen("rubric", typed.rubric, "--rubric"),
        *chosen("prompt", typed.prompt),
        *words(typed),
    ]
    config = settings(scoring_config(overrides))
    rubric: Rubric = build(config.rubric, "rubric")
    told = in_language(config.report.language)
    names, texts = _read(typed, text, rubric)
    with speaking(config.report.language), doing("asking the judge", soon=True):
        results = score_composed(texts, config, overrides, log=not typed.no_log)
    for name, result in zip(names, results, strict=True):
        if typed.json:
            fields = result.model_dump(mode="json", exclude={"overrides"})
            print(
                json.dumps(
                    {"id": name} | fields,
                    ensure_ascii="utf" not in (sys.stdout.encoding or "utf").lower(),
                )
            )
        else:
            print(
                visible(
                    (f"{name}: " if typed.file is not None else "")
                    + _in_words(result, told)
                )
            )
    if not typed.json:
        # What the lowest and the highest score mean, or each of categories without an order.
        guided = rubric.guided(
            told.language
            if told.language in rubric.wordings
            else next(iter(rubric.wordings))
        )
        shown = (guided[0], guided[-1]) if guided and rubric.scale.ordered else guided
        ends = " / ".join(f"{name} = {meaning}" for name, meaning in shown)
        ends = ends or f"{rubric.scale.span()}: {rubric.name}"
        last = {"model": results[-1].model, "readout": results[-1].readout}
        print(told.text("score.ends", ends=ends, **last), file=sys.stderr)
    if any(result.error is not None for result in results):
        sys.exit(1)


_NAMES_A_FILE = re.compile(
    r"(?i)[^\s\"'<>|]+\.(csv|docx?|html?|jsonl?|md|odt|parquet|pdf|rtf|tsv|txt|xlsx?|ya?ml)"
)


def _check_text(text: str) -> None:
    """Raise ConfigError where the text is the name of a file, or an override: then a name would get
    the score."""
    shown, word = brief(text), text.strip()
    anyway = (
        f"To score these very words, send them on standard input: printf '%s' {shown} | undogmatic"
        " score -"
    )
    if re.fullmatch(r"[+~]{0,2}[a-z_]+([./@][\w./@-]+)*=\S*", word):
        way = f'Put the text first: undogmatic score "text" {word}\n{anyway}'
        raise ConfigError(
            f"the text to score is {shown}, which looks like a setting. {way}"
        )
    exists = bool(word) and "\n" not in word and os.path.exists(word)
    if exists or _NAMES_A_FILE.fullmatch(word):
        from undogmatic.datasets.rows import SUFFIXES

        kind, what = Path(word).suffix.lower(), "looks like a file's name"
        way = f"save it as {', '.join(SUFFIXES)} or .txt first."
        if kind in SUFFIXES or kind in (".txt", ".md"):
            way = (
                f"undogmatic score --file {word}"
                if kind in SUFFIXES
                else f"undogmatic score - < {word}"
            )
        if exists:
            what = f"is the name of a {'folder' if Path(word).is_dir() else 'file'}"
        raise ConfigError(
            f"the text to score is {shown}, which {what}. To score what is in it: {way}\n{anyway}"
        )


def _read(
    typed: argparse.Namespace, text: str | None, rubric: Rubric
) -> tuple[Sequence[str], Sequence[str | Mapping[str, str]]]:
    """The names and the texts to score. What else a file holds, labels among it, is left aside."""
    from undogmatic.safety.existing import existing_file

    if typed.file is not None:
        from undogmatic.datasets.tabular import TextsDataset

        items = TextsDataset(typed.file, rubric.inputs, key="--file").load()
        return [item.id for item in items], [
            {name: item.inputs[name] for name in rubric.inputs} for item in items
        ]
    if text is not None:
        return ["text"], [read_input() if text == "-" else text]
    inputs: dict[str, str] = {}
    for word in typed.input:
        name, mark, value = word.partition("=")
        if not mark or name in inputs:
            problem = "names its input a second time" if mark else "has no `=`"
            raise ConfigError(
                f"`--input {brief(word)}` {problem}. Write --input NAME=TEXT once for each input."
            )
        if value.startswith("@"):
            inputs[name] = read_text(
                existing_file(value[1:], f"--input {name}", (".txt", ".md")), ROW_BYTES
            )
        elif _NAMES_A_FILE.fullmatch(value):
            way = f"To judge what is in the file: --input {name}=@{value}"
            raise ConfigError(
                f"`--input {name}={brief(value)}` looks like a file's name. {way}"
            )
        else:
            inputs[name] = read_input() if value == "-" else value
    return ["text"], [inputs]


def in_language(language: str) -> Words:
    """The words of this command."""
    from undogmatic.records.words import Words

    return Words(language, [Path(__file__).with_name("score.texts.yaml")])


def _in_words(result: ScoreResult, told: Words) -> str:
    if result.error is not None:
        return told.text("score.none", why=result.error)
    words = [] if result.category is None else [result.category]
    if result.score is not None:
        words.append(told.number(result.score, ".1f"))
    if result.interval is not None:
        words.append(told.text("score.interval", ends=result.interval))
    if result.confidence is not None:
        source = told.find(f"score.names.{result.confidence_source}") or ""
        words.append(
            told.text(
                "score.confidence", confidence=result.confidence, source=source
            ).strip()
        )
    if result.uncertainty is not None:
        names = filter(None, str(result.details.get("level_from", "")).split(", "))
        by = ", ".join(told.find(f"common.level_from_{name}") or name for name in names)
        sources = told.text("score.sources", sources=by) if by else ""
        review = 1 if result.review else 0
        words.append(
            told.text(
                "score.doubt", level=result.uncertainty, sources=sources, review=review
            )
        )
    return "  ".join([*words, *filter(None, [result.rationale]), *result.issues])
