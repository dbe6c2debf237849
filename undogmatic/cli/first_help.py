"""Writes what `undogmatic --help` shows first: the commands by what they are for, with examples, in
the language of the terminal."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from undogmatic.records.wordings import of_terminal, read

TEXTS = Path(__file__).with_suffix(".yaml")
SENTENCES = Path(__file__).with_name("option_help.yaml")
"""What the commands' own help says in other languages."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "start": ("demo", "check", "instrument", "inject", "label"),
    "judge": ("run", "init", "score", "describe", "rejudge", "schema"),
    "decide": ("gate", "plan", "report", "export", "review", "align", "ui", "mcp"),
    "smaller": ("distill", "probe", "calibrate"),
    "shell": ("completion",),
}
"""By what they are for, the commands that do it; what an installed package adds stands apart."""


def shown(commands: Mapping[str, str]) -> str:
    """The help, of commands with a line about each."""
    words = read(TEXTS)[of_terminal()]["help"]
    lines = [words["usage"], "", words["about"]]
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in commands if name not in grouped)
    for group, names in {**GROUPS, "others": others}.items():
        there = [name for name in names if name in commands]
        if there:
            lines += ["", words[group]]
            lines += [
                f"  {name:13} {words.get(name) or commands[name]}" for name in there
            ]
    lines += [
        "",
        words["examples"],
        *(f"  {line}" for line in words["lines"].split("; ")),
    ]
    return "\n".join([*lines, "", words["more"]])


def closest(wrong: str, commands: Mapping[str, str]) -> str:
    """What to type in place of a command that there is none of."""
    words = read(TEXTS)[of_terminal()]["help"]
    near = difflib.get_close_matches(wrong, commands, 1)
    if near:
        return words["near"].format(wrong=wrong, near=near[0])
    return words["none"].format(wrong=wrong, all=", ".join(commands))
