"""A sweep over what does not reach the model is refused before anything is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import undogmatic

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(undogmatic.__file__).parent.parent), "OPENAI_API_KEY": "none"}
HOSTED = ["model=gpt", "model.api_base=http://127.0.0.1:9"]


def sweep(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "undogmatic.run", "-m", "tracking=none", "run.limit=2", *words]
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


@pytest.mark.local_model
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["prompt=anchored_pt,anchored_en"], "readout=probe"),
        (["prompt=anchored_pt,anchored_en", "model=local,patterns"], "readout=rules"),
        (["readout=logprobs", "prompt=demos_pt", "+prompt.instructions=kind,strict"], None),
        (["readout=logprobs", "prompt=demos_pt,anchored_pt,demos_en", "readout.zero_shot=true,false"], None),
    ],
)
def test_two_names_for_the_same_requests_are_refused(words: list[str], named: str | None, tmp_path: Path) -> None:
    done = sweep(tmp_path, *words)
    refused = "would send the same requests" in done.stderr
    assert refused == (named is not None), done.stderr[-2000:]
    if named is not None:
        assert done.returncode == 2 and named in done.stderr
        assert not list(tmp_path.rglob("judgments.jsonl"))


@pytest.mark.local_model
def test_what_reaches_a_model_is_swept(tmp_path: Path) -> None:
    done = sweep(tmp_path, "readout=logprobs", "prompt=demos_pt,demos_en", "prompt.demo_order=range(0,2)")
    assert "would send the same requests" not in done.stderr
    assert len(list(tmp_path.rglob("judgments.jsonl"))) == 4


@pytest.mark.local_model
def test_an_order_that_plays_no_part_for_some_counts_is_no_fault(tmp_path: Path) -> None:
    done = sweep(tmp_path, "readout=logprobs", "prompt=demos_pt", "prompt.demo_order=0,1", "prompt.demo_count=1,3")
    assert "would send the same requests" not in done.stderr


def test_instructions_reach_an_instruction_model(tmp_path: Path) -> None:
    done = sweep(tmp_path, *HOSTED, "+prompt.instructions=kind,strict", "engine.retries=0")
    assert "would send the same requests" not in done.stderr
