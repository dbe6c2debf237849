"""YAML of every group, as somebody else may have written it: composed and built, or one message."""

import functools
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from hypothesis import strategies as st

import undogmatic.run  # noqa: F401  registers the resolver that config.yaml uses
from tests.fuzzing._values import one_message, spoiled
from undogmatic.config import groups
from undogmatic.config.build import Settings, build, settings
from undogmatic.config.door import compose_config
from undogmatic.engine.recipe import Recipe
from undogmatic.records.wordings import read
from undogmatic.safety.paths import conf_folder

GROUPS = (
    "prompt rubric judge model dataset analysis experiment arm language readout engine tracking"
    " step optimizer texts"
).split()
BASE = dict(
    model="gpt",
    prompt="minimal_en",
    judge="score",
    readout="auto",
    dataset="pairs",
    tracking="none",
    analysis="none",
)
EMBEDDED = "EmbeddedModel"  # its file is assembled where it is built


class Case(NamedTuple):
    """A file of a group."""

    group: str
    content: bytes
    chosen: bool = True
    """Whether it is chosen on the command line, or named inside another group's file (which costs
    no composition)."""


def built(config: Mapping[str, Any]) -> None:
    """Build all that a composed config describes, but not what assembles or downloads something."""
    chosen = settings(config)
    if not str(chosen.model.get("_target_")).endswith(EMBEDDED):
        Recipe(chosen.model_dump()).build()
    for group in ("dataset", "analysis", "engine", "tracking"):
        build(getattr(chosen, group), group)


def strategy() -> st.SearchStrategy[Case]:
    chosen = st.sampled_from([True, False, False, False, False, False, False, False])
    return st.sampled_from(GROUPS).flatmap(
        lambda group: st.builds(Case, st.just(group), _content(group), chosen)
    )


def enter(case: Case) -> None:
    """Put the file into a folder of groups, choose it, and build what comes of it."""
    with tempfile.TemporaryDirectory() as folder:
        suffix = ".texts.yaml" if case.group == "texts" else ".yaml"
        path = Path(folder, case.group, f"fuzz{suffix}")
        path.parent.mkdir()
        path.write_bytes(case.content)
        with one_message():
            if case.group == "texts":
                read(path)
                return
            if case.chosen or case.group in ("experiment", "arm"):
                config = compose_config(_words(case.group), folder)
            else:
                chosen = _base().model_copy(update={"folders": (f"file://{folder}",)})
                groups.search(chosen.folders)
                node = groups.named(case.group, "fuzz", case.group, chosen)
                config = chosen.model_dump() | {case.group: node}
                if case.group in ("step", "language"):
                    config.pop(case.group)
                    config["steps"] = ["fuzz"] if case.group == "step" else []
            if case.group == "language":
                from undogmatic.readouts.prompt import language

                language("fuzz")
            built(config)


@functools.cache
def _base() -> Settings:
    return settings(compose_config(_words("texts")))


def _words(group: str) -> list[str]:
    chosen = dict(BASE) | (
        {} if group in ("language", "step", "texts") else {group: "fuzz"}
    )
    more = ["steps=[fuzz]"] if group == "step" else []
    return [*(f"{key}={value}" for key, value in chosen.items()), *more]


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1,
    2**63,
    10**18,
    1e308,
    float("nan"),
    float("inf"),
    -1.5,
    "",
    "x",
    "???",
    " ",
    "null",
    "a\nb",
    "${",
    "${}",
    "${nowhere}",
    "${seed}",
    "${model}",
    "${.}",
    "${..}",
    "${oc.env:NO_SUCH}",
    "${oc.create:{a: 1}}",
    "${oc.decode:'['}",
    "$",
    "{",
    "{x}",
    "{0.__class__}",
    "%s",
    "../../x",
    "/",
    "x" * 200_000,
    "é",
    "\U0001f600",
    [],
    [None],
    [[]],
    ["a", 1],
    {},
    {"a": None},
    {"_target_": "os.system"},
    {"_target_": None},
    {1: 2},
    {"_target_": "undogmatic.safety.paths.Path"},
    {"_target_": "undogmatic.judges.score.ScoreJudge"},
    "nan",
    "1e400",
    "-inf",
]
KEYS: list[Any] = [
    *"hydra defaults _target_ _partial_ _args_ _self_  a.b é self cls".split(" "),
    " ",
    "a b",
]
KEYS += [1, 1.5, True, None]


@functools.cache
def _shipped(group: str) -> list[Any]:
    if group == "step":
        return [
            {"_target_": "undogmatic.engine.step.Step"},
            {"_target_": "undogmatic.judges.score.ScoreJudge"},
        ]
    if group == "texts":
        return [{"en": {"mine": {"title": "x"}}}]
    return [
        yaml.safe_load(path.read_text()) or {}
        for path in sorted((conf_folder() / group).glob("*.yaml"))
    ]


def _content(group: str) -> st.SearchStrategy[bytes]:
    whole = st.sampled_from([yaml.safe_dump(each).encode() for each in _shipped(group)])
    put = st.one_of(
        st.text("{}[]:'\"#&*!|>%@?-, \n\t$a1.~=<\\", max_size=6).map(str.encode),
        st.binary(max_size=4),
    )
    damaged = st.builds(_damaged, whole, st.integers(0, 10_000), put, st.integers(0, 6))
    odd, keys = st.sampled_from(ODD), st.sampled_from(KEYS)
    nodes = st.sampled_from(_shipped(group)).flatmap(
        lambda node: spoiled(node, values=odd, keys=keys)
    )
    changed = nodes.map(
        lambda node: yaml.dump(node, allow_unicode=True).encode("utf-8", "replace")
    )
    return st.one_of(changed, changed, damaged)


def _damaged(whole: bytes, at: int, put: bytes, cut: int) -> bytes:
    at %= len(whole) + 1
    return whole[:at] + put + whole[at + cut :]


_LAUGHS = (
    b"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c"
    b" [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
)
_LAUGHS += (
    b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf:"
    b" [*e,*e,*e,*e,*e,*e,*e]\n"
)
_EVERY = [
    b"",
    b"\n",
    b"[]",
    b"- a\n- b\n",
    b"x",
    b"3",
    b"null",
    b"id: [",
    b"id: 'x",
    b'id: "x\ny: 1\nz: 2\n',
    b"\tid: x\n",
    b"id: x\0y\n",
    b"\xff\xfei\0d\0",
    b"id: \xe9\n",
    "id: é\n".encode("utf-16"),
    b"\xef\xbb\xbfid: x\n",
    b"id: 1\nid: 2\n",
    b"id: !!python/object/apply:os.system [id]\n",
    b"id: !!binary x\n",
    b"? [a]\n: b\n",
    _LAUGHS,
    b"a: &a [*a]\n",
    b"a: " + b"[" * 5000,
    b"a: " + b"{b: " * 90 + b"1" + b"}" * 90,
    b"a: " + b"x" * 2_000_000,
    b"1: 2\n",
    b"true: 2\n",
    b"null: 2\n",
    b"a: ${\n",
    b"a: ${a}\n",
    b"a: ${..a}\n",
    b"a: ${b}\nb: ${a}\n",
    b"_target_: ???\n",
    b"_target_: os.system\n",
    b"_target_: [a]\n",
    b"defaults: x\n",
    b"defaults: [1]\n",
    b"defaults: [{a: b, c: d}]\n",
    b"defaults: [{}]\n",
    b"defaults: [fuzz]\n",
    b"defaults: [_self_, _self_]\n",
    b"defaults: [nowhere]\n",
    b"defaults: [../x]\n",
    b"defaults: [/x]\n",
    b"defaults: [{/model: 3}]\n",
    b"defaults: [{override /model: nope}]\n",
    b"defaults: [{override /nope: nope}]\n",
    b"defaults: [{'': x}]\n",
    b"defaults: [{override /hydra/launcher: x}]\n",
    b"defaults: [x@hydra.callbacks]\n",
    b"# @package hydra\na: 1\n",
    b"# @package\na: 1\n",
    b"# @package a b\n",
    b"# @package _global_\nhydra: {callbacks: {x: {_target_: os.system}}}\n",
    b"# @package _global_\nseed: x\n",
    b"# @package a.b..c\na: 1\n",
    b"# @package ${x}\na: 1\n",
    b"hydra: {run: {dir: x}}\n",
    b"# @package _global_\nhydra: {sweeper: {params: {'hydra/launcher': x}}}\n",
    b"a: 0b1\nb: 0x1\nc: 1_0\nd: 1:30\ne: 2020-01-01\n",
    b"a: 1" + b"0" * 5000 + b"\n",
    b"a: .nan\n",
    b"a: .inf\n",
    b"a: 1e999\n",
    b"'\\ud800': 1\n",
    b'a: "\\ud800"\n',
    b"--- 1\n--- 2\n",
    b"%YAML 9.9\n---\na: 1\n",
    b"a: b: c\n",
    b"<<: 1\n",
    b"<<: [1]\n",
    b"a: *x\n",
    b"&a a: *a\n",
]
EXAMPLES = [Case(group, content) for group in GROUPS for content in _EVERY]

os.environ.setdefault("OPENAI_API_KEY", "sk-of-nobody-at-all")
