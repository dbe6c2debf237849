"""DSPy's optimisers that write prompts where there is nothing to find; what they find is in `test_run`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.optimize.scripted import Scripted
from undogmatic.errors import ConfigError, DataError

SMALL = {
    "gepa": ["optimizer.calls=60", "optimizer.validation=12"],
    "mipro": ["optimizer.candidates=3", "optimizer.trials=3", "optimizer.bootstrapped=0", "optimizer.labeled=0",
              "optimizer.validation=12"],
    "simba": ["optimizer.steps=2", "optimizer.candidates=2", "optimizer.batch=6", "optimizer.demonstrations=0",
              "optimizer.validation=12"],
    "copro": ["optimizer.breadth=2", "optimizer.depth=1", "optimizer.validation=12"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("writes", "said"), [("", "gepa tried no other program"), ("Be kind.", "Nothing that optimizer")]
)
def test_proposals_that_cannot_be_read_are_not_called_worse(
    writes: str, said: str, optimise: Callable[..., Any], tmp_path: Path
) -> None:
    optimise("gepa", *SMALL["gepa"], writes=writes)
    assert said in (tmp_path / "outputs/a/b/report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["mipro", "copro"])
def test_a_writer_that_cannot_be_read_at_all_ends_with_a_plain_message(
    name: str, optimise: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scripted, "_written", lambda self, payload: "blah")
    with pytest.raises(DataError, match=r"a proposal that cannot be read.*optimizer\.prompt_model=NAME"):
        optimise(name, *SMALL[name])


def test_where_the_model_cannot_write_those_that_need_no_writer_are_named(optimise: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"patterns.* cannot\. .*random_search"):
        optimise("gepa", "optimizer.prompt_model=patterns")
    with pytest.raises(ConfigError, match="asks no model to write prompts"):
        optimise("bootstrap", "+optimizer.prompt_model=gpt")
