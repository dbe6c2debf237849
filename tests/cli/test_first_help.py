"""What `undogmatic --help` shows first, and what a command is told that there is none of."""

import re
from pathlib import Path

import pytest

from undogmatic import cli
from undogmatic.cli import first_help
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
    ours = {name for names in first_help.GROUPS.values() for name in names} & commands().keys()
    assert all(f"  {name:13} {own[name]}" in said for name in ours)
    monkeypatch.setenv("LC_ALL", "xx_YY")
    assert shown(["--help"], capsys).startswith("usage: ")


def test_a_command_that_there_is_none_of_is_answered_with_the_closest(capsys: Capture) -> None:
    assert "Did you mean `undogmatic check`?" in shown(["chek", "x.csv"], capsys)
    far = shown(["qqqq"], capsys)
    assert "is no command" in far and "check, demo" in far


def test_other_commands_have_their_own_help(capsys: Capture) -> None:
    assert "--least" in shown(["check", "--help"], capsys)
