"""Every judge style can be optimised: the instruction that a hosted judge needs is found in whichever of its questions
has it, and a program of the style is loaded again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import stub_server
from tests.optimize.conftest import CHOICES, texts, write_rows
from tests.optimize.scripted import MAGIC, WORD
from undogmatic.config.door import compose_config
from undogmatic.experiment import run_experiment
from undogmatic.optimize.programs import load

STYLES = (
    "score", "devils_advocate", "distributional", "debate", "red_blue", "single_pass", "calibration_probe", "panel",
    "selective",
)  # fmt: skip


class Knowing(stub_server.StubServer):
    """Judges by `WORD` where MAGIC is an instruction, and else by the text's hash; asked to write, it proposes it."""

    knows = False

    def _chat(self, body: dict[str, Any], text: str, fault: stub_server.Fault | None) -> dict[str, Any]:
        asked = str(body["messages"][-1]["content"])
        self.knows = MAGIC in json.dumps(body["messages"])
        answer = super()._chat(body, text, fault)
        if "[[ ## completed ## ]]" in asked:
            names = dict.fromkeys(re.findall(r"\[\[ ## (\w+) ## \]\]", asked[asked.rfind("Respond with") :]))
            parts = [f"[[ ## {name} ## ]]\n{MAGIC if name != 'completed' else ''}" for name in names]
            answer["choices"][0]["message"]["content"] = "\n\n".join(parts)
        return answer


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Knowing]:
    by_hash = stub_server.score_of
    with Knowing() as server:

        def score(text: str) -> int:
            return (95 if WORD in text else 5) if server.knows else by_hash(text)

        monkeypatch.setattr(stub_server, "score_of", score)
        yield server


@pytest.mark.parametrize("style", STYLES)
def test_what_a_style_asks_is_optimised_saved_and_loaded(style: str, knowing: Knowing, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    write_rows(file, texts(48))
    run = [
        "model=openai_compatible", f"model.api_base={knowing.url}/v1", "model.name=stub", "readout=structured",
        f"judge={style}", "analysis=none", "tracking=none", "dataset=texts", f"dataset.path={file}",
    ]  # fmt: skip
    small = ["optimizer=copro", "optimizer.breadth=2", "optimizer.depth=1", "optimizer.validation=6"]
    folder, again = tmp_path / "outputs/a/b", tmp_path / "outputs/a/c"
    run_experiment(
        compose_config([*run, "prompt=anchored_en", *small]), CHOICES | {"judge": style, "optimizer": "copro"}, folder
    )
    found = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert found["improvement.gain_low"] > 10
    assert found["improvement.p"] < 0.01
    program = load(folder / "program.json")
    assert any(MAGIC in each.instructions for each in program.predictors.values())
    loaded = [*run, "prompt=program", f"prompt.path={folder}/program.json"]
    run_experiment(compose_config(loaded), CHOICES | {"judge": style}, again)
    own, other = (
        {row["item_id"]: row["outcome"] for row in map(json.loads, (place / "judgments.jsonl").read_text().splitlines())
         if row["judge"] in ("optimised", style)}
        for place in (folder, again)
    )  # fmt: skip
    assert own
    assert all(other[item]["score"] == outcome["score"] for item, outcome in own.items())
