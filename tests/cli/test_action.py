"""The GitHub Action: its shell steps, run with bash and the inputs as its YAML hands them over."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_gate import KAPPA, a_card, edited
from tests.conftest import environment, put

ACTION = yaml.safe_load((Path(__file__).parents[2] / "action" / "action.yml").read_text("utf-8"))
INSTALL, GATE = ACTION["runs"]["steps"]


REAL = f'exec "{sys.executable}" -m undogmatic.cli "$@"'
ENDS = (
    '[ "$*" = "gate --config undogmatic-gate.yaml --markdown undogmatic-gate.md --junit'
    ' undogmatic-gate.xml -- my card.json" ]\nprintf {outcome} | tee undogmatic-gate.md >'
    " undogmatic-gate.xml\nexit {status}"
)
"""What `undogmatic gate` does of which only files and exit status count here;
tests/cli/test_gate.py has the rest."""


def step(
    folder: Path,
    given: dict[str, Any],
    script: dict[str, Any] = GATE,
    tool: str = REAL,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run a step as the runner does: the inputs, else their defaults, in the environment that the
    step names."""
    inputs = {
        name: given.get(name, about.get("default")) for name, about in ACTION["inputs"].items()
    }
    told = {"inputs": inputs, "github": {"action_path": "/somewhere/action"}}

    def value(found: re.Match[str]) -> str:
        return str(told[found[1]][found[2]])

    named = {
        name: re.sub(r"\$\{\{ (\w+)\.([\w-]+) \}\}", value, text)
        for name, text in script["env"].items()
    }
    tools = folder / "bin"
    put(tools / "undogmatic", f"#!/bin/sh\nset -e\n{tool}\n").chmod(0o755)
    outputs = {
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    known = environment(**outputs, PATH=f"{tools}:{os.environ['PATH']}") | named | more
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script["run"]]
    return subprocess.run(
        words, cwd=folder, env=known, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(
    ("bound", "given", "status", "outcome"),
    [
        (0.6, {"card": "my card.json", "judge": "model=gpt-5\nprompt=@my prompt.txt\n"}, 0, "pass"),
        (0.95, {"card": "my card.json"}, 1, "fail"),
        (0.6, {"card": "my card.json", "judge": "model=gpt-6"}, 3, "void"),
        (0.6, {"card": "edited.json"}, 3, "void"),
        (0.6, {"card": "$(touch hacked).json"}, 3, "void"),
    ],
)
def test_the_step_ends_as_the_gate_does(
    bound: float, given: dict[str, str], status: int, outcome: str, tmp_path: Path
) -> None:
    put(tmp_path / "my prompt.txt", "Judge this.")
    put(tmp_path / "my card.json", a_card(model="gpt-5", prompt="Judge this.").text())
    put(tmp_path / "edited.json", edited())
    put(tmp_path / "undogmatic-gate.yaml", KAPPA % bound)
    done = step(tmp_path, given)
    assert done.returncode == status, done.stderr
    assert (tmp_path / "output").read_text() == f"outcome={outcome}\ncomment=undogmatic-gate.md\n"
    comment = (tmp_path / "undogmatic-gate.md").read_text()
    assert (tmp_path / "summary").read_text() == comment and outcome in comment
    assert (tmp_path / "undogmatic-gate.xml").is_file() and not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("given", "status"),
    [({"card": "my card.json"}, 2), ({"card": "my card.json", "fail-on-undecided": "false"}, 0)],
)
def test_undecided_fails_unless_it_shall_not(
    given: dict[str, str], status: int, tmp_path: Path
) -> None:
    done = step(tmp_path, given, tool=ENDS.format(outcome="undecided", status=2))
    assert done.returncode == status, done.stderr
    assert (tmp_path / "output").read_text() == "outcome=undecided\ncomment=undogmatic-gate.md\n"
    assert (tmp_path / "summary").read_text() == "undecided"


@pytest.mark.parametrize(
    "word", ["False", "FALSE", "no", "off", "0", "", "flase", "true ", " false", "fa\nlse", "True"]
)
@pytest.mark.parametrize(("outcome", "status"), [("undecided", 2), ("pass", 0)])
def test_only_false_opens_the_gate(word: str, outcome: str, status: int, tmp_path: Path) -> None:
    """A slip is refused by name, also where the gate passes: or it would wait until the gate is
    undecided."""
    given = {"card": "my card.json", "fail-on-undecided": word}
    done = step(tmp_path, given, tool=ENDS.format(outcome=outcome, status=status))
    assert done.returncode == (status or 3)
    assert (
        '::error::fail-on-undecided is "' in done.stdout
        and 'must be "true" or "false"' in done.stdout
    )
    assert ("outcome=void" in (tmp_path / "output").read_text()) == (outcome == "pass")


def test_what_cannot_start_is_no_pass(tmp_path: Path) -> None:
    done = step(
        tmp_path,
        {"card": "card.json"},
        PYTHONPATH="/nowhere",
        PYTHONNOUSERSITE="1",
        PYTHONHOME="/nowhere",
    )
    assert done.returncode == 3 and "outcome=void" in (tmp_path / "output").read_text()


@pytest.mark.parametrize(
    ("given", "asked"),
    [("action", "/somewhere/action/.."), ("undogmatic==0.1.0", "undogmatic==0.1.0")],
)
def test_the_action_installs_what_is_asked(given: str, asked: str, tmp_path: Path) -> None:
    put(tmp_path / "bin" / "python", '#!/bin/sh\nprintf "%s\\n" "$@"\n').chmod(0o755)
    assert step(tmp_path, {"install": given}, INSTALL).stdout.split() == [
        "-m",
        "pip",
        "install",
        "--quiet",
        asked,
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"comment": "./my card.json"},
        {"junit": "link.xml"},
        {"comment": "undogmatic-gate.yaml"},
        {"comment": "prompt.txt", "judge": "model=gpt-5\nprompt=@prompt.txt"},
        {"junit": "new data.csv", "data": "other.csv\nnew data.csv"},
        {"card": "RUN", "comment": "RUN/run.json"},
        {"card": "RUN", "comment": "RUN/report.md"},
    ],
)
def test_nothing_that_is_read_is_removed_or_written_over(
    given: dict[str, str], tmp_path: Path
) -> None:
    for name in (
        "my card.json",
        "prompt.txt",
        "new data.csv",
        "undogmatic-gate.yaml",
        "RUN/run.json",
        "RUN/report.md",
    ):
        put(tmp_path / name, name)
    (tmp_path / "link.xml").symlink_to("my card.json")
    done = step(tmp_path, {"card": "my card.json"} | given)
    assert done.returncode == 3 and "which would be written over" in done.stdout, done.stderr
    assert (tmp_path / "output").read_text() == "outcome=void\ncomment=\n"
    for name in (
        "my card.json",
        "prompt.txt",
        "new data.csv",
        "undogmatic-gate.yaml",
        "RUN/run.json",
        "RUN/report.md",
    ):
        assert (tmp_path / name).read_text() == name
    assert (tmp_path / "link.xml").is_symlink()


def test_the_outcome_of_a_run_may_lie_in_its_folder(tmp_path: Path) -> None:
    put(tmp_path / "RUN" / "gate.md", "of the last time")
    told = "printf pass | tee RUN/gate.md > undogmatic-gate.xml\nexit 0"
    done = step(tmp_path, {"card": "RUN", "comment": "RUN/gate.md"}, tool=told)
    assert done.returncode == 0 and (tmp_path / "RUN" / "gate.md").read_text() == "pass"


def test_inputs_reach_the_shell_as_environment_alone() -> None:
    """An input that stood in the script itself could run commands."""
    assert all("${{" not in each["run"] for each in ACTION["runs"]["steps"])
    assert {name for name, about in ACTION["inputs"].items() if about.get("required")} == {"card"}
