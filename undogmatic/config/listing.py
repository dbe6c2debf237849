"""Lists groups, their options and the keys of these, from the files alone: for help and completion,
without Hydra."""

import difflib
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.errors import ConfigError, DataError, UndogmaticError
from undogmatic.records.wordings import languages, of_terminal, translated
from undogmatic.safety.outside import read_text, read_yaml
from undogmatic.safety.paths import conf_folder
from undogmatic.safety.project import folders as of_the_project

_UNUSED = "not of use here"
_SENTENCES = Path(__file__).with_name("run_help.yaml")
FLAGS = (
    (
        "--help",
        "-h",
        "this help; --help GROUP tells of one group and of the keys of its options",
        None,
    ),
    ("--run", "-r", "run a job (the default)", None),
    ("--multirun", "-m", "run a job for each combination of what is swept over", None),
    ("--resolve", None, "with --cfg: write references out", None),
    ("--cfg", "-c", "show the config instead of running", ("job", "hydra", "all")),
    ("--package", "-p", "with --cfg: the part to show", ()),
    ("--config-path", "-cp", _UNUSED, ()),
    ("--config-name", "-cn", "the file to begin with in place of config.yaml", ()),
    ("--config-dir", "-cd", "a folder of config groups of your own", ()),
    ("--experimental-rerun", None, _UNUSED, ()),
)
"""Options of `undogmatic run`: long, short, what they do, what they take (None: nothing)."""
# keys whose value names options of a group
LISTS = {
    "judges": "judge",
    "steps": "step",
    "summarizer": "model",
}
_LONGEST = 110  # characters of a description, so that it stays on its line


def folders(words: Sequence[str] = ()) -> list[Path]:
    """The program's folder of groups and the user's: those of the project, and those that the words
    name."""
    named = [
        after
        for word, after in itertools.pairwise(words)
        if word in ("--config-dir", "-cd")
    ]
    named += [
        word.partition("=")[2] for word in words if word.startswith("--config-dir=")
    ]
    try:
        users = of_the_project()
    except UndogmaticError:  # whoever runs something is told
        users = []
    return [conf_folder(), *users, *(Path(name).expanduser() for name in named)]


def options(group: str, places: Sequence[Path]) -> dict[str, Path]:
    """The options of a group, those in its folders as FOLDER/NAME, and their files."""
    found: dict[str, Path] = {}
    for root in (place / group for place in places):
        for at, inside, names in os.walk(root):
            # Changed in place: os.walk goes on with what is left in it.
            inside[:] = [name for name in inside if not name.startswith((".", "_"))]
            files = (
                Path(at, name)
                for name in names
                if name.endswith(".yaml") and not name.startswith((".", "_"))
            )
            for path in files:
                found.setdefault(
                    path.relative_to(root).with_suffix("").as_posix(), path
                )
    return dict(sorted(found.items()))


def chosen(words: Sequence[str], places: Sequence[Path]) -> dict[str, str]:
    """Which option each group has: by config.yaml, by the experiment and the arm that the words
    name, by the words."""
    typed = dict(word.lstrip("+").split("=", 1) for word in words if "=" in word)
    found = _defaults(_content(places[0] / "config.yaml"))
    for group in ("experiment", "arm"):
        if (path := options(group, places).get(typed.get(group, ""))) is not None:
            found |= _defaults(_content(path))
    return found | {group: option for group, option in typed.items() if group in found}


def about(path: Path) -> str:
    """The first sentence of a file's first comment."""
    try:
        lines = read_text(path).splitlines()
    except DataError:
        return ""
    comment = next(
        (
            line.lstrip("# ")
            for line in lines
            if line.startswith("#") and "# @" not in line
        ),
        "",
    )
    sentence = re.split(r"(?<=[^.].)[.;] |\.$", comment, maxsplit=1)[0]
    return (
        sentence
        if len(sentence) <= _LONGEST
        else f"{sentence[: _LONGEST - 3].rsplit(' ', 1)[0]}..."
    )


def keys(path: Path, extended: bool = True) -> dict[str, tuple[Any, str]]:
    """The keys that a file lists, those within others with dots: the value of each, and the comment
    behind it; and where it is `extended`, those of the files beside it that its `defaults` list
    names."""
    content = _content(path)
    found: dict[str, tuple[Any, str]] = {}
    for base in (content.get("defaults") or ()) if extended else ():
        if isinstance(base, str) and base != "_self_":
            found |= keys(path.with_name(f"{base}.yaml"), extended=False)
    listed = dict(
        _flat({k: v for k, v in content.items() if k not in ("defaults", "hydra")})
    )
    notes = dict(
        re.findall(r"(?m)^\s*(\w+):[^#\n]*#\s*(.+)$", read_text(path) if listed else "")
    )
    return found | {
        key: (value, notes.get(key.rpartition(".")[2], ""))
        for key, value in listed.items()
    }


def main_keys() -> dict[str, tuple[Any, str]]:
    """The keys of config.yaml itself."""
    return keys(conf_folder() / "config.yaml")


def told(only: Sequence[str], words: Sequence[str]) -> str:
    """The help of `undogmatic run` with the words that were typed: a line for every option, or for
    the options of some groups `only` and their keys. Raises ConfigError for what is no group."""
    places = folders(words)
    now = chosen(words, places)
    if unknown := [name for name in only if name not in now]:
        close = difflib.get_close_matches(unknown[0], now, 1)
        step = (
            f"Did you mean `undogmatic run --help {close[0]}`?"
            if close
            else f"Groups: {', '.join(now)}."
        )
        raise ConfigError(f"`--help {unknown[0]}`: there is no such group. {step}")
    sentences = translated(_SENTENCES, _language(words))

    def said(text: str) -> str:
        return sentences.get(text, text)

    lines = [
        said("usage: undogmatic run [OPTION ...] [KEY=VALUE ...]"),
        "",
        said("options:"),
    ]
    lines += [
        _line(f"{flag[0]}, {flag[1]}" if flag[1] else flag[0], said(flag[2]))
        for flag in FLAGS
        if flag[2] != _UNUSED
    ]
    if only:
        lines += ["", said("GROUP=OPTION chooses one of these (* is chosen now):")]
    for group in [group for group in now if group in only]:
        lines += ["", f"{group}="]
        for name, path in options(group, places).items():
            lines.append(
                _line(f"{'*' if now[group] == name else ' '} {name}", about(path))
            )
            lines += [
                _line(f"      {group}.{key}={shown(value)}", note)
                for key, (value, note) in keys(path).items()
            ]
    if not only:
        lines += ["", said("examples:")]
        lines += [f"  {example:52} {said(what)}" for example, what in EXAMPLES.items()]
        lines += [
            "",
            said(
                "GROUP=OPTION, as it is now, and what else there is (--help GROUP tells more):"
            ),
        ]
        for group, option in now.items():
            others = [name for name in options(group, places) if name != option]
            lines.append(_line(f"{group}={option}", _shortened(", ".join(others))))
        lines += ["", said("keys of every run:")]
        lines += [
            _line(f"{key}={shown(value)}", said(note))
            for key, (value, note) in main_keys().items()
        ]
    last = "The keys of one group's options: undogmatic run --help model. Of a run: --cfg job"
    return "\n".join([*lines, "", said(last)])


def _language(words: Sequence[str]) -> str:
    """The language of the help: that of the report that the words ask for, else the terminal's."""
    asked = [
        word.partition("=")[2] for word in words if word.startswith("report.language=")
    ]
    return asked[-1] if asked and asked[-1] in languages() else of_terminal()


EXAMPLES = {
    "undogmatic run": "the embedded model, the shipped pairs",
    "undogmatic run dataset=my dataset.path=notas.csv": "a table of your own",
    "undogmatic run -m prompt=anchored_pt,minimal_pt": "a sweep over prompts",
    "undogmatic run --help model": "the models, and the keys of each",
}
"""What may be typed, and what it does."""


def _shortened(text: str) -> str:
    """A list of names that stays on its line."""
    if len(text) <= _LONGEST - 30:
        return text
    return f"{text[: _LONGEST - 33].rsplit(', ', 1)[0]}, ..."


def _line(name: str, note: str) -> str:
    return f"  {name:28} {note}".rstrip()


def shown(value: Any) -> str:
    """A value as it is typed, shortened."""
    if isinstance(value, list):
        text = f"[{','.join(map(shown, value))}]"
    else:
        text = (
            "null"
            if value is None
            else str(value).lower()
            if isinstance(value, bool)
            else str(value)
        )
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST // 2 else f"{text[: _LONGEST // 2]}..."


def _flat(node: Mapping[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{before}{key}.")
        elif key != "_target_":
            yield f"{before}{key}", value


def _content(path: Path) -> dict[Any, Any]:
    try:
        node = read_yaml(path)
    except DataError:
        node = None
    return node if isinstance(node, dict) else {}


def _defaults(node: Mapping[Any, Any]) -> dict[str, str]:
    """The groups that a `defaults` list names, and the option of each ("" for none)."""
    entries = [entry for entry in node.get("defaults") or [] if isinstance(entry, dict)]
    named = {
        str(key).rpartition(" ")[2].lstrip("/"): value
        for entry in entries
        for key, value in entry.items()
    }
    return {
        group: "" if value is None else str(value) for group, value in named.items()
    }
