"""Every command and setting that a message, a report or a verdict suggests is accepted when it is typed."""

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_documented_commands import LEFT_OPEN, SETTINGS, composes, jobs, words_of
from undogmatic.cli import _parser
from undogmatic.config.door import compose_config
from undogmatic.config.groups import keys_of, options
from undogmatic.safety.paths import conf_folder

PACKAGE = conf_folder().parent / "undogmatic"
FILLED = "…"  # stands where a message puts a value in
WORD = rf'(?:[A-Z]+|--?[a-z-]+|-|{FILLED}|"text"|\w+\.(?:json|csv|jsonl|txt)|fit|import|export|bash)'
DOORS = re.compile(rf"\b(?:undogmatic) ([a-z]+)((?: {WORD}(?![\w=.…]))*)")
NO_COMMAND = {"undogmatic verdicts", "undogmatic dspy"}
"""The name of a run in MLflow, and a list of packages."""

NO_SETTING = {"model=gpt-5 prompt=@prompt.txt", "hydra/launcher=submitit_local"}
"""What a card is bound to, and a launcher whose plugin is not installed with the tests."""


def sentences(file: Path) -> Iterator[str]:
    """The sentences that a file can say, without docstrings."""
    if file.suffix == ".yaml":
        waiting: list[Any] = [yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)]
        while waiting:
            node = waiting.pop()
            waiting += node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
            if isinstance(node, str):
                yield re.sub(r"\{[^{}]*\}", FILLED, node)
        return
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    whole = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    apart = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    apart |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) not in apart and isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else FILLED for part in node.values)
        elif id(node) not in apart and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@functools.cache
def suggested() -> tuple[dict[str, str], dict[str, str]]:
    """The settings and the commands, each with the file that suggests it."""
    settings: dict[str, str] = {}
    commands: dict[str, str] = {}
    roots = {*options(""), *compose_config()}
    for file in sorted(file for kind in ("*.py", "*.texts.yaml", "texts/*.yaml") for file in PACKAGE.rglob(kind)):
        name = file.relative_to(PACKAGE).as_posix()
        for sentence in sentences(file):
            for found in DOORS.finditer(sentence):
                commands.setdefault(found[0], name)
            for found in () if SETTINGS.fullmatch(sentence) else SETTINGS.finditer(sentence):
                setting = found[0].rstrip(".:`")
                setting = setting.strip("'") if setting.count("'") % 2 else setting
                root = re.split("[./=]", setting.removeprefix("-m ").lstrip("'+"))[0]
                is_open = FILLED in setting or setting.endswith("=") or any(map(setting.count, LEFT_OPEN))
                if root in roots and not is_open and not re.search(r"=\[?\.\.\.|[\[{]\.\.\.|[({]$|\([^)]*$", setting):
                    settings.setdefault(setting, name)
    return settings, {command: name for command, name in commands.items() if command not in NO_COMMAND}


def listed(words: Sequence[str]) -> bool:
    """Whether this is one word that sets a key of an option of its group, which is known without composing."""
    group, _, key = words[0].partition("=")[0].lstrip("+").partition(".")
    return len(words) == 1 and any(key.split(".")[0] in keys_of(group, name) for name in options(group))


def test_every_setting_that_is_suggested_composes() -> None:
    refused, said = {}, suggested()[0]
    assert len(said) > 100
    for setting, name in said.items():
        if setting in NO_SETTING:
            continue
        try:
            words = words_of(setting)
            accepted = listed(words) or all(map(composes, jobs(words) if "," in setting else [words]))
        except Exception as error:
            refused[setting] = f"{name}: {error}"
        else:
            refused |= {} if accepted else {setting: name}
    assert not refused, "\n".join(f"{setting}  # {said}" for setting, said in refused.items())


def test_every_command_that_is_suggested_has_its_door(capsys: pytest.CaptureFixture[str]) -> None:
    said, parser = suggested()[1], _parser()
    assert len(said) > 20
    for command, file in said.items():
        _, door, *words = command.replace(FILLED, "RUN").replace('"text"', "text").split()
        try:
            _ = door == "run" or parser.parse_args([door, *words])  # the words of `run` are read by Hydra
        except SystemExit as ended:
            printed = "".join(capsys.readouterr())
            left_open = any(map(printed.count, ("arguments are required", " argument", "invalid choice: 'RUN'")))
            assert ended.code == 0 or left_open, f"{file}: {printed}"
