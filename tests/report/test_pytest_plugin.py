"""`@pytest.mark.judge`, in a pytest of its own: a test passes, fails or errs as the gate says."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

from tests.cli.test_gate import KAPPA, a_card, edited
from tests.conftest import put, typed
from undogmatic.report import pytest_plugin

TESTS = """
import pytest

@pytest.mark.judge(card="card.json", config="low.yaml", model="gpt-5")
def test_passes():
    pass

@pytest.mark.judge(card="card.json", config="low.yaml")
def test_runs_behind_a_gate_that_passes():
    assert False, "the body ran"

@pytest.mark.xfail(reason="no excuse")
@pytest.mark.judge(card="card.json", config="high.yaml")
def test_fails():
    pass

@pytest.mark.judge(card="card.json", config="between.yaml")
def test_undecided():
    pass

@pytest.mark.xfail(reason="no excuse")
@pytest.mark.judge(card="card.json", config="low.yaml", model="gpt-6")
def test_void():
    pass

@pytest.mark.judge(card="edited.json", config="low.yaml")
def test_broken():
    pass

@pytest.mark.judge("card.json")
def test_written_wrongly():
    pass

@pytest.mark.skip(reason="skipped before any gate")
@pytest.mark.judge(card="card.json", config="high.yaml")
def test_skipped():
    pass

@pytest.mark.judge(card="card.json")
def test_default_config():
    pass

def test_of_nobody():
    pass
"""


def ran(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    plugin = (
        "-p",
        "undogmatic.report.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        "-W",
        "error",
    )
    return typed(
        "pytest", *plugin, *options, folder=folder, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )


def test_the_outcome_of_a_test_is_that_of_its_gate(tmp_path: Path) -> None:
    put(tmp_path / "inner" / "card.json", a_card(model="gpt-5").text())
    put(tmp_path / "edited.json", edited())
    for name, bound in {"low": 0.6, "high": 0.95, "between": 0.7}.items():
        put(tmp_path / f"{name}.yaml", KAPPA % bound)
    put(tmp_path / "undogmatic-gate.yaml", "standing: supported")
    put(tmp_path / "inner" / "test_it.py", TESTS)
    put(tmp_path / "pytest.ini", "[pytest]\n")
    said = ran(tmp_path, "-rA", "--undogmatic-cards").stdout
    assert "3 failed, 3 passed, 1 skipped, 3 errors" in said
    for line in (
        "PASSED inner/test_it.py::test_passes",
        "PASSED inner/test_it.py::test_default_config",
        "FAILED inner/test_it.py::test_fails - fail: Failed: judge fails",
        "FAILED inner/test_it.py::test_undecided - undecided: Undecided: the data cannot",
        (
            "FAILED inner/test_it.py::test_runs_behind_a_gate_that_passes - AssertionError: the"
            " body ran"
        ),
        "ERROR inner/test_it.py::test_void - void: Void:",
        "ERROR inner/test_it.py::test_broken - void: Nothing was checked:",
        "ERROR inner/test_it.py::test_written_wrongly - void: write @pytest.mark.judge(card=",
    ):
        assert line in said, line
    assert (
        "pass       card.json (2 tests): Passed: judge meets its only requirement."
        in said
    )
    assert (
        "edited or damaged" in said
        and "gpt-6 now, and was gpt-5 when it was checked" in said
    )


def test_without_a_mark_nothing_is_imported_and_nothing_said(tmp_path: Path) -> None:
    put(
        tmp_path / "test_it.py",
        "import sys\ndef test_light():\n    assert not {'pandas', 'yaml'} & set(sys.modules)\n",
    )
    put(tmp_path / "pytest.ini", "[pytest]\n")
    assert "trust cards" not in ran(tmp_path).stdout
    done = ran(tmp_path, "--undogmatic-cards")
    assert done.returncode == 0 and "no test is marked with judge" in done.stdout, (
        done.stdout
    )


def test_the_plugin_is_registered_by_its_name() -> None:
    project = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    )["project"]
    assert (
        import_module(project["entry-points"]["pytest11"]["undogmatic"])
        is pytest_plugin
    )


def test_what_the_mark_needs_is_light() -> None:
    """A gate over a card needs none of what judges or draws."""
    heavy = "dspy hydra omegaconf mlflow matplotlib sklearn".split()
    code = (
        "import sys; from undogmatic.examinations import gate; from undogmatic.report import check,"
        f" gate as shown; check.words_of('en'); print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
