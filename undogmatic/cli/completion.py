"""`undogmatic completion`: prints what lets a shell complete commands, options, groups, keys and
their values."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undogmatic.safety.outside import read_text

SHELLS = ("bash", "zsh", "fish")


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "completion", help="print what lets bash, zsh or fish complete what you type"
    )
    parser.add_argument(
        "shell",
        choices=SHELLS,
        nargs="?",
        help='e.g. eval "$(undogmatic completion bash)"',
    )
    parser.add_argument(
        "--words",
        nargs=argparse.REMAINDER,
        help="print what may follow these words of a command",
    )
    parser.set_defaults(run=run, refuse=parser.error)


def run(typed: argparse.Namespace) -> None:
    """Print the script, or the candidates: one a line, with a tab before what is said of it."""
    if typed.words is None:
        if typed.shell is None:
            typed.refuse(f"name a shell: undogmatic completion {'|'.join(SHELLS)}")
        print(
            read_text(Path(__file__).with_name("shells") / f"undogmatic.{typed.shell}"),
            end="",
        )
        return
    for name, note in candidates(typed.parser, typed.line[2:] or [""]):
        print(f"{name}\t{note}" if note else name)


def candidates(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What the last word may become, given those before it, and what is said of each."""
    *before, begun = words
    command = parser
    for word in before:
        command = _below(command).get(word, (command, ""))[0]
    is_run = before[:1] == ["run"]
    flags = list(_of_run() if is_run else _of(command))
    last = before[-1] if before else ""
    if (
        taken := next(
            (takes for names, _, takes in flags if last in names and takes is not None),
            None,
        )
    ) is not None:
        found = [(value, "") for value in taken]
    elif begun.startswith("-"):
        found = [(names[0], note) for names, note, _ in flags]
    elif below := _below(command):
        found = [(name, note) for name, (_, note) in below.items()]
    elif is_run or any(action.dest == "overrides" for action in command._actions):
        found = list(_words(before, begun))
    else:
        found = []
    yield from (
        (name, " ".join(note.split())) for name, note in found if name.startswith(begun)
    )


Flag = tuple[list[str], str, Sequence[str] | None]
"""The names of an option, what it does, and the values that it takes: None for none, () for any."""


def _below(
    parser: argparse.ArgumentParser,
) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """The commands of a parser, and what each does."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            notes = {
                choice.dest: choice.help or "" for choice in action._choices_actions
            }
            return {
                name: (inner, notes.get(name, ""))
                for name, inner in action.choices.items()
            }
    return {}


def _of(parser: argparse.ArgumentParser) -> Iterator[Flag]:
    for action in (action for action in parser._actions if action.option_strings):
        takes = (
            None
            if action.nargs == 0
            else [str(choice) for choice in action.choices or ()]
        )
        yield list(action.option_strings[::-1]), action.help or "", takes


def _of_run() -> Iterator[Flag]:
    from undogmatic.config.listing import FLAGS

    yield from (
        ([long, *([short] if short else [])], note, takes)
        for long, short, note, takes in FLAGS
    )


def _words(before: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    """KEY=VALUE words: the groups and keys, then the values that a group or a key can have."""
    from undogmatic.config import listing

    places = listing.folders(before)
    own = listing.main_keys()
    choices = listing.chosen(before, places)
    sign = begun[: len(begun) - len(begun.lstrip("+~"))]
    key, given, value = begun.removeprefix(sign).partition("=")
    group = listing.LISTS.get(key, key)
    if given and (group in choices or key in listing.LISTS):
        head = begun[: len(begun) - len(value.replace("[", ",").rpartition(",")[2])]
        taken = value.replace("[", ",").split(",")[:-1]
        for name, path in listing.options(group, places).items():
            if name not in taken:
                yield head + name, listing.about(path)
        return
    section = key.partition(".")[0]
    inside = {}
    if "." in key and section in choices:
        file = listing.options(section, places).get(choices[section])
        inside = {
            f"{section}.{name}": kept
            for name, kept in (listing.keys(file) if file else {}).items()
        }
    elif not given:
        yield from (
            (f"{sign}{name}=", f"now {now or 'none'}") for name, now in choices.items()
        )
        has_keys = [name for name, now in choices.items() if now]
        yield from (
            (f"{sign}{name}.", f"a key of {name}")
            for name in has_keys
            if begun == f"{sign}{name}"
        )
    if not given:
        yield from (
            (f"{sign}{name}=", note or f"now {listing.shown(at)}")
            for name, (at, note) in (own | inside).items()
        )
    elif isinstance((own | inside).get(key, ("", ""))[0], bool):
        yield from ((f"{sign}{key}={word}", "") for word in ("true", "false"))
