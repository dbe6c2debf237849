"""A package from outside: its reader, its examination, its judge, its engine and its command."""

import argparse
import json
import os
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.examinations.builders import evidence_of
from undogmatic import cli
from undogmatic.config.build import build
from undogmatic.datasets import readers
from undogmatic.datasets.table import read_table
from undogmatic.errors import ConfigError
from undogmatic.examinations import examination
from undogmatic.records import added
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import Evidence, JudgeView
from undogmatic.records.examination import Examination, Need
from undogmatic.records.results import Told
from undogmatic.report.check import words_of

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"
DOORS = sorted(ROOT.glob("undogmatic/constructs/*/door.py"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder that is to Python as if the package was installed there."""
    folder = tmp_path / "site" / "undogmatic_helpdesk-0.1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: undogmatic-helpdesk\nVersion: 0\n"
    )
    points = (
        (PLUGIN / "pyproject.toml").read_text().replace("project.entry-points.", "")
    )
    (folder / "entry_points.txt").write_text(
        points[points.index("[undogmatic]") : points.index("[tool.hatch")].replace(
            '"', ""
        )
    )
    return folder.parent


def typed(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(site), str(PLUGIN)])
    return subprocess.run(
        [sys.executable, "-m", "undogmatic.cli", *words],
        env=os.environ | {"PYTHONPATH": path},
        cwd=site,
        capture_output=True,
        text=True,
        check=False,
    )


def test_its_reader_and_its_examination_are_used_by_check(site: Path) -> None:
    done = typed(site, "check", str(PLUGIN / "tickets.jsonl"), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    (judge,) = told["judges"]
    assert judge["judge"] == "grader-2" and judge["n"] == 240
    kinder = judge["figures"]["flattery.kinder"]
    low, high = kinder["interval"]
    assert 0 < low < kinder["value"] < high
    (favours,) = [
        each for each in judge["findings"] if each["key"] == "flattery.favours"
    ]
    assert (
        favours["weight"] == "limits" and "thank whoever asked" in favours["sentence"]
    )


def test_its_judge_is_run_by_its_engine(site: Path) -> None:
    words = [
        f"dataset.path={PLUGIN / 'answers.jsonl'}",
        "judge=twice",
        f"hydra.run.dir={site}/run",
    ]
    words += ["dataset=texts", "model=patterns", "tracking=none", "engine=one_by_one"]
    done = typed(site, "run", *words, "engine.pause=0", "engine.max_calls=100")
    assert done.returncode == 0, done.stderr
    lines = (site / "run" / "judgments.jsonl").read_text().splitlines()
    assert len(lines) == 8 and all("shortened" in line for line in lines)
    engine = yaml.safe_load((site / "run" / ".hydra" / "config.yaml").read_text())[
        "engine"
    ]
    assert (
        engine["_target_"] == "helpdesk.one_by_one.OneByOne"
        and engine["max_calls"] == 100
    )


def test_what_its_engine_cannot_take_is_refused_by_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.setenv("UNDOGMATIC_ALLOW", "helpdesk")
    engine = build({"_target_": "helpdesk.one_by_one.OneByOne", "max_usd": 2}, "engine")
    assert (engine.pause, engine.limits.concurrency, engine.budget.max_usd) == (
        0.5,
        1,
        2.0,
    )
    for key, value, said in (
        ("pause", -1, "greater than or equal to 0"),
        ("max_usd", True, "must be a number"),
        ("cache", False, "not a known key. Known: pause, timeout, "),
    ):
        with pytest.raises(ConfigError, match=rf"`engine\.{key}` is .*{said}"):
            build({"_target_": "helpdesk.one_by_one.OneByOne", key: value}, "engine")


def test_without_the_package_the_file_is_not_known(tmp_path: Path) -> None:
    assert not [point.name for point in readers.installed()]
    assert readers.find(PLUGIN / "tickets.jsonl") is None


def _view(table: Evidence) -> JudgeView:
    return table.of(table.judges[0], table.criteria[0])


@pytest.mark.parametrize(
    ("words", "needs", "kinds", "groups", "lacks"),
    [
        ({}, ("labels",), ("numeric",), 1, None),
        ({}, ("texts",), ("numeric",), 1, "no_texts"),
        ({"text": ["a", "b"] * 10}, ("texts",), ("numeric",), 1, None),
        ({}, ("repeats",), ("numeric",), 1, "no_repeats"),
        ({}, ("raters",), ("numeric",), 1, "no_raters"),
        ({}, ("order",), ("numeric",), 1, "no_order"),
        ({}, ("orders",), ("numeric",), 1, "no_orders"),
        ({}, ("pairs",), ("numeric",), 1, None),
        ({}, ("originals",), ("numeric",), 1, None),
        ({}, ("judges",), ("numeric",), 1, "no_judges"),
        ({}, ("earlier",), ("numeric",), 1, "no_earlier"),
        ({}, ("confidence",), ("numeric",), 1, "no_confidence"),
        ({}, ("systems",), ("numeric",), 1, "no_systems"),
        ({"system": ["a", "b"] * 10}, ("systems",), ("numeric",), 1, None),
        ({}, (), ("pairwise",), 1, "other_kind"),
        ({}, (), ("numeric",), 21, "few_groups"),
    ],
)
def test_what_an_examination_needs_is_said(
    words: dict[str, Any], needs: Any, kinds: Any, groups: int, lacks: str | None
) -> None:
    numbers = np.arange(20.0)
    view = _view(evidence_of("numeric", numbers, numbers[::-1], words))
    asked = Examination("mine", lambda *_: None, needs, kinds, groups)
    found = examination.lacking(asked, view)
    key = None if found is None else found.sentence.key.removeprefix("examination.")
    assert key == lacks


@pytest.mark.parametrize("need", examination.NEEDS)
def test_every_need_has_a_test_of_the_evidence_and_words(need: Need) -> None:
    """The general sentence, in both languages; an examination may have one of its own besides."""
    numbers = np.arange(20.0)
    said = {"labels": (), "pairs": ()}.get(need, numbers[::-1])
    view = _view(evidence_of("numeric", numbers, said))
    if need == "originals":  # labels that were made of the verdicts
        view = _view(evidence_of("numeric", np.arange(60.0) % 12, np.arange(60.0) % 12))
    found = examination.lacking(Examination("mine", lambda *_: None, (need,)), view)
    assert found is not None and not found.unsaid
    for language in ("en", "pt"):
        assert "`mine`" in words_of(language).say(found.sentence)


def test_ours_are_declared_as_those_of_any_package_are() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    points = declared["project"]["entry-points"][examination.GROUP]
    loaded = {
        name: EntryPoint(name, value, examination.GROUP).load()
        for name, value in points.items()
    }
    assert list(loaded.values()) == list(examination.OURS)
    assert list(loaded) == [each.name for each in examination.OURS]


def test_ours_are_not_read_from_the_metadata_of_an_older_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither twice, where it knows them, nor in vain, where one of them was called otherwise."""
    values = (
        "undogmatic.examinations.kinds:AGREEMENT",
        "undogmatic.examinations.kinds:NAMED_OTHERWISE",
    )
    _installed(monkeypatch, *values, f"{HERE}MINE")
    assert examination.installed() == (MINE,)


def _installed(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = [EntryPoint(f"p{n}", value, "any") for n, value in enumerate(values)]
    monkeypatch.setattr(added, "entry_points", lambda group: points)
    for room in (examination, readers):
        room.installed.cache_clear()


MINE = Examination(
    "mine", lambda view, told, options: told.say("found", n=len(view.verdicts))
)
AGAIN = Examination("mine", lambda *_: None)
TAKEN = Examination("surface", lambda *_: None)
NEEDS = Examination("needs", lambda *_: None, needs=("repeats",))
NOTES = readers.of_columns(
    "notes",
    ["id", "by"],
    {
        "item": "id",
        "judge": "by",
        "verdict": "said.it",
        "rater": "=ann",
        "label": "ann",
    },
)
HERE = f"{__name__}:"


@pytest.fixture(autouse=True)
def forgotten() -> Any:
    """What is installed is looked up anew after each test."""
    yield
    examination.installed.cache_clear()
    readers.installed.cache_clear()


def test_an_installed_examination_tells_under_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _installed(monkeypatch, f"{HERE}MINE", f"{HERE}NEEDS")
    numbers = np.arange(20.0)
    view, told = _view(evidence_of("numeric", numbers, numbers, {})), Told()
    examination.ask(examination.installed(), view, CheckOptions(), told)
    assert [(found.key, found.values["n"]) for found in told.findings] == [
        ("mine.found", 20)
    ]
    assert told.not_examined["needs"].key == "examination.no_repeats"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["nowhere.at_all:X"], "cannot be loaded"),
        ([f"{HERE}NOT_THERE"], "cannot be loaded"),
        ([f"{HERE}PLUGIN"], "is no `Examination`"),
        ([f"{HERE}MINE", f"{HERE}AGAIN"], "as another examination is"),
        ([f"{HERE}TAKEN"], "as another examination is"),
    ],
)
def test_a_broken_examination_is_named(
    monkeypatch: pytest.MonkeyPatch, values: list[str], said: str
) -> None:
    _installed(monkeypatch, *values)
    with pytest.raises(ConfigError, match=said):
        examination.installed()


def greet(commands: Any) -> None:
    """Add a command."""
    parser = commands.add_parser("greet", help="say hello to somebody")
    parser.add_argument("who")
    parser.set_defaults(run=lambda typed: print(f"Hello, {typed.who}"))


def check_again(commands: Any) -> None:
    """Add a command of a name that is taken."""
    commands.add_parser("check", help="check something else")


def _commands(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    points = [EntryPoint(f"p{n}", value, "any") for n, value in enumerate(values)]
    monkeypatch.setattr(
        added, "entry_points", lambda group: points if group == cli.GROUP else []
    )


def test_an_installed_command_is_there_as_ours_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _commands(monkeypatch, f"{HERE}greet")
    cli.main(["greet", "Ana"])
    assert capsys.readouterr().out == "Hello, Ana\n"
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert "greet         say hello to somebody" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nowhere.at_all:add", "cannot be loaded"),
        (f"{HERE}MINE", "is no `function`"),
        (f"{HERE}check_again", "cannot be added"),
    ],
)
def test_a_broken_command_is_named(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: str,
    said: str,
) -> None:
    _commands(monkeypatch, value)
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "a.csv"])
    printed = capsys.readouterr().err
    assert ended.value.code == 2 and "Traceback" not in printed
    assert f"The command 'p0' of an installed package ({value}) {said}" in printed


def test_constructs_declare_their_commands_as_a_package_from_outside_does() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    points = [
        EntryPoint(name, value, cli.GROUP)
        for name, value in declared[cli.GROUP].items()
    ]
    doors = {f"undogmatic.constructs.{file.parent.name}.door" for file in DOORS}
    assert {point.module for point in points} == doors and len(points) == len(doors)
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for point in points:
        point.load()(commands)
        # the entry point is called as its command is
        assert point.name in commands.choices


def test_an_installation_that_is_older_than_the_program_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _commands(monkeypatch, f"{HERE}greet")  # of another package
    with pytest.raises(SystemExit):
        cli.main(["pairs"])
    printed = capsys.readouterr().err
    assert "`pairs` is no command" in printed and "Install it again" in printed
    _commands(monkeypatch, "undogmatic.constructs.shame.door:add")
    with pytest.raises(SystemExit):
        cli.main(["pears"])
    assert "Install it again" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "said"),
    [("nowhere.at_all:X", "cannot be loaded"), (f"{HERE}MINE", "is no `Reader`")],
)
def test_a_broken_reader_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    _installed(monkeypatch, value)
    with pytest.raises(ConfigError, match=said):
        readers.installed()


def test_a_record_without_a_verdict_or_label_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(monkeypatch, f"{HERE}NOTES")
    records = [
        {"id": n, "by": "j", "said": {"it": n % 5}} | ({"ann": n % 5} if n % 2 else {})
        for n in range(20)
    ]
    del records[3]["said"]
    file = tmp_path / "notes.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    table = read_table([str(file)])
    assert table.judges == ["j"] and table.raters(table.criteria[0]) == ["ann"]
    assert int(table.verdicts["verdict"].isna().sum()) == 1
    assert len(table.labels.dropna(subset=["label"])) == 10
