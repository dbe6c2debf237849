"""Every number and text of every shipped option, set to what means nothing: built, or one message
that names the key."""

import copy
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml
from hypothesis import strategies as st

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.fuzzing._values import one_message
from tests.fuzzing.config_yaml import built
from undogmatic.config.build import Settings, settings
from undogmatic.config.door import compose_config
from undogmatic.config.groups import named
from undogmatic.safety.paths import conf_folder

GROUPS = "rubric prompt model readout judge dataset analysis engine tracking".split()
BASE = [
    "model=gpt",
    "prompt=minimal_en",
    "readout=structured",
    "tracking=none",
    "analysis=none",
]
VALUES: list[Any] = [
    float("nan"),
    float("inf"),
    float("-inf"),
    -1,
    0,
    1,
    2,
    -0.5,
    1e308,
    1e-320,
    10**9,
    10**12,
    10**18,
    2**63,
    10**400,
    "x",
    "",
    "nan",
    "1e400",
    None,
    [],
    [None],
    {},
    {"a": 1},
    True,
    "a\0b",
    "a\nb",
    "\ud800",
    "x" * 100_001,
    "../../../x",
    "/dev/null",
    "${nowhere}",
    "{0}",
    ["a"] * 2001,
    [1e308, 1e308],
    {1: 1},
]


class Case(NamedTuple):
    """One value of one option."""

    choice: str
    key: tuple[str, ...]
    value: Any


def enter(case: Case) -> None:
    """Set the value in the composed config and build it."""
    whole = copy.deepcopy(_composed(case.choice))
    node = whole
    for step in case.key[:-1]:
        node = node[step] if isinstance(node[step], dict) else node.setdefault(step, {})
    node[case.key[-1]] = case.value
    with one_message((*case.key, "judge")):
        built(whole)


def strategy() -> st.SearchStrategy[Case]:
    value = st.one_of(
        st.sampled_from(VALUES), st.floats(), st.integers(), st.text(max_size=5)
    )
    return st.builds(
        lambda key, value: Case(*key, value), st.sampled_from(_keys()), value
    )


@functools.cache
def _base() -> Settings:
    return settings(compose_config(BASE))


@functools.cache
def _composed(choice: str) -> dict[str, Any]:
    """The base with another option in one group, whose required values are given."""
    group, _, name = choice.partition("=")
    if "defaults" in _file(choice):  # of several files
        path = ["dataset.path=x"] if group == "dataset" else []
        node = compose_config(
            [
                *(word for word in BASE if not word.startswith("analysis=")),
                choice,
                *path,
            ]
        )[group]
    else:
        node = named(group, name, group, _base())
    for key, value in node.items():
        node[key] = "x" if value == "???" else value
    readout = (
        {"readout": named("readout", "auto", "readout", _base())}
        if group == "model"
        else {}
    )
    return _base().model_dump() | {group: node} | readout


def _file(choice: str) -> dict[str, Any]:
    group, _, name = choice.partition("=")
    found: dict[str, Any] = yaml.safe_load(
        (conf_folder() / group / f"{name}.yaml").read_text(encoding="utf-8")
    )
    return found


@functools.cache
def _keys() -> list[tuple[str, tuple[str, ...]]]:
    found = []
    choices = [
        f"{group}={path.stem}"
        for group in GROUPS
        for path in sorted((conf_folder() / group).glob("*.yaml"))
    ]
    for choice in choices:
        if choice == "model=env":
            continue
        node = (
            _file(choice)
            if choice != "analysis=suite"
            else {"ab": {"level": 0.95}, "costs": {"baseline": None}}
        )
        keys = _leaves(node, (choice.partition("=")[0],))
        found += [(choice, key) for key in keys if "defaults" not in key]
    own = {"run": ["resume", "repeats", "limit", "name"], "report": ["language"]}
    found += [
        ("judge=score", (section, key)) for section, keys in own.items() for key in keys
    ]
    return found + [
        ("judge=score", (key,))
        for key in ("seed", "judges", "steps", "report", "run", "model", "judge")
    ]


def _leaves(node: Any, key: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(node, dict) and node:
        for name, value in node.items():
            if name != "wordings":
                yield from _leaves(value, (*key, name))
    else:
        yield key


_OWN = ("run", "seed", "report", "judges", "steps", "engine")
EXAMPLES = [
    Case(choice, key, value)
    for n, (choice, key) in enumerate(_keys())
    for value in (VALUES if key[0] in _OWN else VALUES[n % 7 :: 7])
]
"""Each number of each option with a few of the values in turn, and each of the program's own with
all."""
