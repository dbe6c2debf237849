"""A light installation (`pip install undogmatic`): what works without any extra, and what says
which one it needs."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.conftest import environment
from undogmatic.safety.extras import EXTRAS, lacking
from undogmatic.safety.paths import conf_folder

ROOT = conf_folder().parent
LIGHT = """
undogmatic undogmatic.cli undogmatic.records undogmatic.stats undogmatic.safety undogmatic.datasets undogmatic.examinations
undogmatic.report undogmatic.review undogmatic.runs.versions
""".split()
"""Packages and modules that import without any extra, with all modules in them."""


HEAVY = {*EXTRAS, "litellm", "openai", "sqlalchemy", "torch", "onnxruntime", "pypdf"}
WITHOUT_EXTRAS = f"""
import runpy, sys

class Nowhere:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {HEAVY}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nowhere())
"""
"""Makes the packages of the extras ones that are not installed."""
DOOR = "sys.argv = sys.argv[1:]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"


def light(
    folder: Path, *words: str, code: str = DOOR
) -> subprocess.CompletedProcess[str]:
    """Run `python -m WORDS`, or some code, where no extra is installed."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS + code, *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_what_checks_imports_without_an_extra(tmp_path: Path) -> None:
    code = f"""
import importlib, pathlib, pkgutil
for name in {LIGHT}:
    module = importlib.import_module(name)
    for found in pkgutil.walk_packages(getattr(module, "__path__", ()) if name != "undogmatic" else (), name + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
            print(found.name)
from undogmatic.safety.outside import yaml_value
assert yaml_value("a: 1e-3") == {{"a": 0.001}}
from undogmatic import judge
"""
    done = light(tmp_path, code=code)
    assert len(done.stdout.split()) > 50
    said = (
        'ImportError: `undogmatic.judge` needs what `pip install "undogmatic[run]"` brings (hydra'
        " is not installed)."
    )
    assert done.stderr.splitlines()[-1] == said


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["undogmatic.run"], "undogmatic run run hydra"),
        (["undogmatic.cli", "run", "--help"], "undogmatic run run hydra"),
        (["undogmatic.cli", "score", "Tema 69."], "undogmatic score run hydra"),
        (["undogmatic.cli", "describe"], "undogmatic describe run hydra"),
        (["undogmatic.cli", "ui"], "undogmatic ui run mlflow"),
        (["undogmatic.cli", "probe", "fit"], "undogmatic probe run dspy"),
        (["undogmatic.cli", "calibrate"], "undogmatic calibrate run dspy"),
        (
            ["undogmatic.cli", "extract", "x.pdf"],
            "undogmatic extract faithfulness dspy",
        ),
        (
            ["undogmatic.cli", "check", "x.csv", "--otel"],
            "undogmatic check otel opentelemetry.exporter.otlp.proto.http",
        ),
        (["undogmatic.cli", "mcp"], "undogmatic mcp mcp mcp"),
    ],
)
def test_a_door_says_which_extra_it_needs(
    tmp_path: Path, words: list[str], needed: str
) -> None:
    first, second, extra, package = needed.split()
    done = light(tmp_path, *words)
    said = (
        f'`{first} {second}` needs what `pip install "undogmatic[{extra}]"` brings ({package} is'
        " not installed)."
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {said}\n")


def test_a_report_without_matplotlib_says_what_is_not_drawn(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from undogmatic.records.results import FigureData
from undogmatic.report.document import Document, save
from undogmatic.report.figures import pictures
from undogmatic.records.words import Words
blocks = list(pictures([FigureData("pairs", "slope", {})], Words("en"), "ab", None, Path()))
save(Document("en", "Title", "Lead", [*blocks, *pictures([], Words("en"), "ab", None, Path())]), Path())
"""
    done = light(tmp_path, code=code)
    assert (done.returncode, done.stderr) == (0, "")
    said = (
        "Not drawn, because Matplotlib is not installed: pairs. To see it: pip install"
        " &#x27;undogmatic[figures]&#x27;"
    )
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count(said) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--help"], "score"),
        (["--version"], "undogmatic "),
        (["pairs", "--out", "mine.jsonl"], "82 pairs written to mine.jsonl"),
    ],
)
def test_a_light_door_works(tmp_path: Path, words: list[str], said: str) -> None:
    done = light(tmp_path, "undogmatic.cli", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert said in done.stdout


def test_another_module_that_is_missing_is_a_fault() -> None:
    assert (
        lacking(
            ModuleNotFoundError("No module named 'mine'", name="mine"), "undogmatic run"
        )
        is None
    )
    assert lacking(ModuleNotFoundError("No module"), "undogmatic run") is None
    assert lacking(ValueError("hydra"), "undogmatic run") is None


def test_an_extra_brings_what_it_is_named_for() -> None:
    """Each package is a requirement of the extra that a message names, and of no light
    installation."""
    project, packages = (
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"],
        packages_distributions(),
    )
    extras = {
        extra: set(map(_name, needed))
        for extra, needed in project["optional-dependencies"].items()
    }
    for package, extra in EXTRAS.items():
        names = set(map(_name, packages[package]))
        assert names & extras[extra], package
        assert not names & set(map(_name, project["dependencies"])), package


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower()
