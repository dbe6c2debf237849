"""The hook for pre-commit: its entry, and where pre-commit is installed a commit that it lets
through and one that it stops."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_action import REAL
from tests.cli.test_gate import KAPPA, a_card
from tests.conftest import environment, put
from undogmatic.safety.paths import conf_folder

MANIFEST = conf_folder().parent / ".pre-commit-hooks.yaml"
(HOOK,) = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder with a card, and the command beside it."""
    put(tmp_path / "mine" / "card.json", a_card(model="gpt-5").text())
    put(tmp_path / "bin" / "undogmatic", f"#!/bin/sh\n{REAL}\n").chmod(0o755)
    return tmp_path / "mine"


def do(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    known = environment(PATH=f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}")
    known |= {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PRE_COMMIT_HOME": str(folder.parent / "home"),
    }
    return subprocess.run(
        words,
        cwd=folder,
        env=known,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("bound", "more", "status"),
    [(0.6, [], 0), (0.95, [], 1), (0.7, [], 2), (0.6, ["model=gpt-6"], 3)],
)
def test_the_entry_ends_as_the_gate_does(
    bound: float, more: list[str], status: int, scratch: Path
) -> None:
    put(scratch / "undogmatic-gate.yaml", KAPPA % bound)
    assert (HOOK["pass_filenames"], HOOK["always_run"], HOOK["language"]) == (
        False,
        True,
        "python",
    )
    done = do(scratch, *shlex.split(HOOK["entry"]), "card.json", *more)
    assert done.returncode == status, done.stderr


def test_a_commit_passes_and_another_is_stopped(scratch: Path) -> None:
    pytest.importorskip("pre_commit")
    program = [sys.executable, "-m", "pre_commit"]
    assert do(scratch, *program, "validate-manifest", str(MANIFEST)).returncode == 0
    # As it stands, but for `language`: an environment of its own would be fetched.
    hook: dict[str, Any] = HOOK | {
        "language": "system",
        "args": ["card.json", "model=gpt-5"],
    }
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    put(scratch / ".pre-commit-config.yaml", yaml.safe_dump(config))
    put(scratch / "undogmatic-gate.yaml", KAPPA % 0.6)
    for words in (
        ["init", "-q"],
        ["config", "user.name", "me"],
        ["config", "user.email", "m@e"],
    ):
        assert do(scratch, "git", *words).returncode == 0
    assert do(scratch, *program, "install").returncode == 0

    def commit(message: str) -> subprocess.CompletedProcess[str]:
        do(scratch, "git", "add", "-A")
        return do(scratch, "git", "commit", "-m", message)

    done = commit("first")
    assert done.returncode == 0 and "Passed" in done.stdout + done.stderr
    put(scratch / "undogmatic-gate.yaml", KAPPA % 0.95)
    done = commit("second")
    said = done.stdout + done.stderr
    assert (
        done.returncode != 0
        and "exit code: 1" in said
        and "At least 0.95 is demanded" in said
    )
    assert do(scratch, "git", "log", "--format=%s").stdout == "first\n"
