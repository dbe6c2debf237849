"""What `undogmatic --help` shows first, and what a command is told that there is none of."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from undogmatic import cli
from undogmatic.cli import first_help
from undogmatic.cli.refusals import SENTENCES, in_language
from undogmatic.config import listing
from undogmatic.records.wordings import read

Capture = pytest.CaptureFixture[str]


def shown(words: list[str], capsys: Capture) -> str:
    with pytest.raises(SystemExit):
        cli.main(words)
    told = capsys.readouterr()
    return told.out + told.err


def commands() -> dict[str, str]:
    return cli._parser()._commands()  # type: ignore[attr-defined]


def test_every_command_stands_in_the_help_once(capsys: Capture) -> None:
    said = shown(["--help"], capsys)
    named = re.findall(r"(?m)^  ([a-z-]+) {2,}\S", said)
    assert sorted(named) == sorted(commands())
    assert said.index("demo") < said.index("  run  ") < said.index("distill")
    assert shown([], capsys) == said


def test_where_the_terminal_speaks_portuguese_so_does_the_help(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    said = shown(["--help"], capsys)
    own = read(Path(first_help.__file__).with_suffix(".yaml"))["pt"]["help"]
    ours = {
        name for names in first_help.GROUPS.values() for name in names
    } & commands().keys()
    assert all(f"  {name:13} {own[name]}" in said for name in ours)
    monkeypatch.setenv("LC_ALL", "xx_YY")
    assert shown(["--help"], capsys).startswith("usage: ")


def test_a_command_that_there_is_none_of_is_answered_with_the_closest(
    capsys: Capture,
) -> None:
    assert "Did you mean `undogmatic check`?" in shown(["chek", "x.csv"], capsys)
    far = shown(["qqqq"], capsys)
    assert "is no command" in far and "check, demo" in far


def test_other_commands_have_their_own_help(capsys: Capture) -> None:
    assert "--least" in shown(["check", "--help"], capsys)


def sentences_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """All that the help of a command and of the commands below it says, in English."""
    yield from filter(None, (parser.description, parser.epilog))
    yield from (
        str(group.title) for group in parser._action_groups if group._group_actions
    )
    for action in parser._actions:
        yield from filter(None, [action.help])
        if isinstance(action, argparse._SubParsersAction):
            yield from (about.help or "" for about in action._choices_actions)
            for below in action.choices.values():
                yield from sentences_of(below)


def test_all_that_the_help_of_our_commands_says_is_there_in_portuguese_and_nothing_else() -> (
    None
):
    (group,) = [
        action
        for action in cli._parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    ours = {name for names in first_help.GROUPS.values() for name in names} - {"run"}
    english = {text for name in ours for text in sentences_of(group.choices[name])}
    translated = read(first_help.SENTENCES)["pt"]["help"]
    assert translated.keys() == english | {"usage: "}
    for name in ("extract", "pairs", "precedents"):
        said = set(sentences_of(group.choices[name]))
        door = Path(group.choices[name].get_default("run").__code__.co_filename)
        own = read(door.with_suffix(".help.yaml"))["pt"]["help"]
        assert own.keys() == said - translated.keys(), name


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "v.csv", "--level"],
        ["check", "v.csv", "--json=3"],
        ["check", "v.csv", "--lan", "pt", "--se", "1", "--a", "0"],
        ["gate", "card.json", "--language", "fr"],
        ["completion", "nosh"],
        ["report", "--nothing"],
        ["nothing"],
    ],
)
def test_what_is_wrong_with_the_words_is_said_in_portuguese(
    words: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> tuple[str, object]:
        with pytest.raises(SystemExit) as end:
            cli.main(words)
        return capsys.readouterr().err.splitlines()[-1], end.value.code

    monkeypatch.setenv("LC_ALL", "C")
    english, status = refused()
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    told, same_status = refused()
    assert same_status == status == (3 if words[0] == "gate" else 2)
    about, _, what = english.partition(": error: ")
    assert told.startswith(f"{about}: erro: ")
    assert what.removeprefix("argument ") not in told


def test_a_refusal_that_nobody_translated_is_told_as_it_is() -> None:
    assert in_language("argument X: can't open it", "pt") == (
        "argumento X: can't open it"
    )
    assert in_language("argument X: can't open it", "en") == "argument X: can't open it"
    translated = read(SENTENCES)["pt"]["help"]
    fields = [
        re.findall(r"\{\w+\}", text) for pair in translated.items() for text in pair
    ]
    assert all(
        sorted(a) == sorted(b) for a, b in zip(fields[::2], fields[1::2], strict=True)
    )


def test_all_that_the_help_of_run_says_is_there_in_portuguese_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    both = [listing.told([], words) for words in ([], ["report.language=pt"])]
    translated = read(listing._SENTENCES)["pt"]["help"]
    unsaid = [text for text in translated if text not in both[0]]
    assert unsaid == ["GROUP=OPTION chooses one of these (* is chosen now):"]
    assert unsaid[0] in listing.told(["model"], [])
    same = {note for _, note in listing.main_keys().values()} - translated.keys()
    assert same == {""}
    assert all(
        flag[2] in translated for flag in listing.FLAGS if flag[2] != listing._UNUSED
    )
    assert not [text for text in translated if text in both[1]]


@pytest.mark.parametrize("name", ["check", "label", "gate", "plan"])
def test_a_command_is_explained_in_the_language_that_is_asked_for(
    name: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    english = shown([name, "--help"], capsys)
    assert english.startswith(f"usage: undogmatic {name}")
    said = shown([name, "--help", "--language", "pt"], capsys)
    assert said.startswith(f"uso: undogmatic {name}") and "mostra esta ajuda" in said
    assert re.findall(r"(?m)^  -\S+", said) == re.findall(r"(?m)^  -\S+", english)
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    assert shown([name, "--help"], capsys) == said
    assert shown([name, "--help", "--language=en"], capsys) == english
    assert shown([name, "--help", "--language"], capsys) == said  # it names none
