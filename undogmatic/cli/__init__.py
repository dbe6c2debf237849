"""The `undogmatic` command: small doors to the same rooms, one file each.

A door has `add(commands)`, which adds its command to the parser and names the function that does
it. An installed package adds commands by an entry point that names such a function, and so do our
own constructs:

    [project.entry-points."undogmatic.commands"]
    tickets = "my_package.door:add"
"""

import argparse
import contextlib
import functools
import os
import re
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, NoReturn

from undogmatic.cli import (
    align,
    check,
    completion,
    demo,
    describe,
    distill,
    doors,
    export,
    first_help,
    gate,
    init,
    inject,
    instrument,
    label,
    mcp,
    plan,
    refusals,
    rejudge,
    report,
    score,
)
from undogmatic.errors import ConfigError
from undogmatic.records.added import added, without_ours
from undogmatic.records.wordings import FALLBACK, languages, of_terminal, translated
from undogmatic.safety.command import FAULT, ending, in_full, interrupted, say, tell
from undogmatic.safety.outside import brief, has_halves
from undogmatic.safety.secrets import know_words

GROUP = "undogmatic.commands"

# litellm (below DSPy and MLflow) otherwise fetches a price map at import and waits for the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point. Our own errors are printed without a traceback; the exit status is then not
    0."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # what a library warns its caller of says nothing to who typed a command
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    know_words(words)
    for word in words:
        if has_halves(word):
            say(
                f"error: the argument {brief(word)} is not UTF-8. Type it in UTF-8, or put it into"
                " a file."
            )
            sys.exit(2)
    if words[:1] == ["run"]:  # Hydra reads these words itself
        try:
            from undogmatic.run import main as run_experiment
        except ModuleNotFoundError as error:
            _end(error, "undogmatic run")
        sys.argv[1:] = words[1:]
        run_experiment()
    with ending():
        try:
            parser = _parser(words)
            typed, rest = parser.parse_known_args(words)
        # a number that is none, a package that cannot be loaded
        except ConfigError as error:
            _end(error, "undogmatic")
        typed.line, typed.parser = words, parser
        # argparse takes no positional words after an option, but `--json model=gpt` is natural.
        stray = [
            word
            for word in rest
            if "=" not in word
            or word.startswith("-")
            or not hasattr(typed, "overrides")
        ]
        lost = [
            word
            for word in [*stray, *getattr(typed, "files", ())]
            if not Path(word).exists()
        ]
        way = _once_each(typed, words, lost)
        if way is not None or stray:
            getattr(typed, "refuse", parser.error)(
                way or _not_known(parser, typed.command, stray)
            )
        if rest:
            typed.overrides += rest
        if typed.command is None:
            parser.print_help()
            sys.exit(2)
        try:
            typed.run(typed)
        except KeyboardInterrupt:
            sys.exit(interrupted())
        except Exception as error:
            _end(error, f"undogmatic {typed.command}", getattr(typed, "extra", None))


def _once_each(
    typed: argparse.Namespace, words: Sequence[str], lost: Sequence[str]
) -> str | None:
    """What to type where words that are nothing else stand behind an option that is given once for
    each; None where that is not so."""
    line, options = list[str](), list[str]()
    for word in words:
        if word.startswith("-"):
            options.append(word)
        elif word in lost:
            if not options or not isinstance(
                vars(typed).get(options[-1].lstrip("-").replace("-", "_")), list
            ):
                return None
            line.append(options[-1])
        line.append(word)
    more = dict.fromkeys(
        option for option in options if line.count(option) > words.count(option)
    )
    # it may be the file that is mistyped
    if not more or not any(Path(word).exists() for word in words):
        return None
    verb = "takes" if len(more) == 1 else "take"
    return f"{' and '.join(more)} {verb} one name each time. Type: undogmatic {shlex.join(line)}"


def _not_known(
    parser: argparse.ArgumentParser, command: str | None, words: Sequence[str]
) -> str:
    """That a command does not know these words, and which of its options may have been meant."""
    told = f"unrecognized arguments: {' '.join(words)}"
    (group,) = [
        action
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    if command is None:
        return told
    known = group.choices[command]._option_string_actions
    typed = [word.partition("=")[0] for word in words if word.startswith("--")]
    near = [option for word in typed if (option := refusals.meant(word, known))]
    if near:
        return f"{told}. Did you mean {' and '.join(dict.fromkeys(near))}?"
    return f"{told}. These there are: undogmatic {command} --help"


def _end(error: Exception, door: str, extra: str | None = None) -> NoReturn:
    """Say what went wrong with the command `door`, which may name the `extra` that it needs, and
    exit."""
    message, status = tell(error, door, extra)
    say(
        f"error: {message}"
        + (" HYDRA_FULL_ERROR=1 shows the traceback." if status == FAULT else "")
    )
    in_full(error)
    sys.exit(status)


def _language(words: Sequence[str]) -> str:
    """The language of a command's help: what the words ask for, else the terminal's."""
    asked = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False
    )
    asked.add_argument("--language")
    # nothing stands behind the option
    with contextlib.suppress(argparse.ArgumentError):
        language = asked.parse_known_args(list(words))[0].language
        if language in languages():
            return str(language)
    return of_terminal()


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    language = _language(words)
    from_outside = added(GROUP, FunctionType, "command", ours=True)
    sentences = dict[str, str]()
    for _, add in from_outside:
        sentences |= translated(_help_beside(add), language)
    sentences |= translated(first_help.SENTENCES, language)
    formatter = functools.partial(_Lines, sentences=sentences)
    parser = _Parser(
        prog="undogmatic",
        language=language,
        description="Tells you whether you may trust an LLM judge.",
        formatter_class=formatter,
    )
    parser.add_argument(
        "--version",
        action=_Version,
        nargs=0,
        help="print the version and what it runs on",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser(
        "run", help="run an experiment (options: undogmatic run --help)", add_help=False
    )
    ours = (
        check,
        demo,
        init,
        gate,
        label,
        plan,
        export,
        report,
        rejudge,
        score,
        describe,
        distill,
    )
    for door in (*ours, instrument, inject, align, doors, mcp, completion):
        door.add(commands)
    for named, add in from_outside:
        try:
            add(commands)
        except argparse.ArgumentError as error:  # there is a command of this name
            raise ConfigError(
                f"{named} cannot be added ({error.message}). Mend or uninstall the package."
            ) from None
    return parser


def _help_beside(add: FunctionType) -> Path:
    """The file of what the help of a command says in other languages, beside its door."""
    return Path(add.__code__.co_filename).with_suffix(".help.yaml")


class _Parser(argparse.ArgumentParser):
    """A parser whose help has a line for each option; the terminal wraps what is too long for
    it."""

    def __init__(self, *words: Any, language: str = FALLBACK, **options: Any) -> None:
        super().__init__(*words, **{"formatter_class": _Lines} | options)
        self.language = language
        self.refused_with = 2  # the exit status; a command may set another

    def add_subparsers(self, **options: Any) -> Any:
        """As argparse, with this parser's formatter and language for the parsers below it."""
        made = functools.partial(
            _Parser, formatter_class=self.formatter_class, language=self.language
        )
        return super().add_subparsers(**{"parser_class": made} | options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the words, and exit. Where a command is not known, it may be one
        of ours that the installation does not declare."""
        unknown = re.match(r"argument COMMAND: invalid choice: (.+?) \(choose", message)
        if unknown is not None:
            wrong = unknown[1].strip("'\"")
            message = (
                f"{first_help.closest(wrong, self._commands())}{without_ours(GROUP)}"
            )
        self.print_usage(sys.stderr)
        told = refusals.in_language(f"{self.prog}: error: {message}", self.language)
        self.exit(self.refused_with, f"{told}\n")

    def format_help(self) -> str:
        """The help; of the whole command by what its commands are for."""
        if self.prog != "undogmatic":
            return super().format_help()
        return f"{first_help.shown(self._commands())}\n"

    def _commands(self) -> dict[str, str]:
        """The commands, with a line about each."""
        (group,) = [
            action
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
        ]
        return {action.dest: action.help or "" for action in group._choices_actions}


class _Lines(argparse.HelpFormatter):
    """Writes help in the language of `sentences`; what has none there stays English."""

    def __init__(
        self, prog: str, sentences: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(prog, max_help_position=56)
        self._sentences = sentences
        self._action_max_length = (
            16  # as argparse forgets how far the names of commands are indented
        )

    def add_usage(
        self, usage: Any, actions: Any, groups: Any, prefix: str | None = None
    ) -> None:
        """As argparse, with the word for usage."""
        super().add_usage(
            usage, actions, groups, self._said("usage: " if prefix is None else prefix)
        )

    def start_section(self, heading: str | None) -> None:
        """As argparse, with the heading's words."""
        super().start_section(self._said(heading))

    def add_text(self, text: str | None) -> None:
        """As argparse, with the text's words."""
        super().add_text(self._said(text))

    # argparse's own hook
    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self._said(action.help)

    def _said(self, text: Any) -> Any:
        return self._sentences.get(text, text)

    def _split_lines(
        self, text: str, width: int
    ) -> list[str]:  # no public way leads to a line for each option
        return [" ".join(text.split())]


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from undogmatic.runs.versions import versions

        found = dict(versions())
        print(f"undogmatic {found.pop('undogmatic')}")
        print("  ".join(f"{name} {version}" for name, version in found.items()))
        parser.exit()
