"""Steps, a judge of several criteria and an analysis of all, as a user would write them; configs in
tests name them."""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import yaml

from undogmatic.engine.step import Step
from undogmatic.errors import (
    ModelError,
    RefusedAnswer,
    TransportError,
    UnparseableAnswer,
)
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.experiment import run_experiment
from undogmatic.judges.base import Judge
from undogmatic.models.base import Model
from undogmatic.models.calls import Reply
from undogmatic.records.records import Item, Verdict
from undogmatic.records.results import Told

CHOICES = {
    "model": "patterns",
    "prompt": "anchored_pt",
    "judge": "score",
    "dataset": "texts",
    "analysis": "none",
}
TEXTS = ["model=patterns", "tracking=none", "dataset=texts", "dataset.path=texts.jsonl"]
OUT = Path("out")
HALVE = {"_target_": "tests.engine.parts.Halve"}
TRAITS = {"_target_": "tests.engine.parts.TraitsJudge"}


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def metrics(folder: Path) -> dict[str, float]:
    return json.loads((folder / "metrics.json").read_text(encoding="utf-8"))


def run_in(
    folder: Path, config: dict[str, Any], typed: Sequence[str] = ()
) -> float | None:
    """A run with the files that Hydra leaves."""
    (folder / ".hydra").mkdir(parents=True, exist_ok=True)
    for name, kept in (("config", config), ("overrides", list(typed))):
        (folder / ".hydra" / f"{name}.yaml").write_text(
            yaml.safe_dump(kept), encoding="utf-8"
        )
    return run_experiment(config, CHOICES, folder)


class Halve(Step):
    """Two items from each: its first words and the others. It cannot read "illegible", nor anything
    while `down`."""

    name = "halve"
    down: ClassVar[bool] = False
    asked: ClassVar[Counter[str]] = Counter()

    async def make(self, item: Item) -> Sequence[Item]:
        self.asked[item.id] += 1
        if self.down:
            raise TransportError("nobody there")
        if "illegible" in item.text:
            raise UnparseableAnswer("no words in it", "%%%")
        words = item.text.split()
        halves = (words[: len(words) // 2], words[len(words) // 2 :])
        return [
            Item(id=f"{item.id}.{n}", text=" ".join(half))
            for n, half in enumerate(halves)
        ]


class Summarise(Step):
    """One item from each, under its own id: what a model says of it."""

    name = "summarise"

    def __init__(self, model: Model, length: int = 3) -> None:
        self.asked_model, self.length = model, length

    async def make(self, item: Item) -> Sequence[Item]:
        async def send() -> Reply:
            return Reply(
                " ".join(item.text.split()[: self.length]),
                input_tokens=7,
                output_tokens=3,
                usd=0.5,
            )

        reply = await self.asked_model.gateway.call(
            self.asked_model.name, {"summarise": item.text}, send
        )
        return [item.model_copy(update={"inputs": {"text": reply.data}})]


class Clash(Step):
    """Gives every item it makes the same id."""

    name = "clash"

    async def make(self, item: Item) -> Sequence[Item]:
        return [Item(id="same", text=item.text)]


class TraitsJudge(Judge):
    """Length and calm of a text in one go; "RAGE" has no calm, and silence is refused."""

    name = "traits"
    criteria = ("length", "calm")
    asked: ClassVar[Counter[str]] = Counter()

    async def judge(self, item: Item) -> Mapping[str, Verdict | ModelError]:
        self.asked[item.id] += 1
        if item.text == "silence":
            raise RefusedAnswer("it says nothing")
        calm: Verdict | ModelError = Verdict(score=100.0 - item.text.count("!"))
        if "RAGE" in item.text:
            calm = UnparseableAnswer("no calm in it", "RAGE")
        return {"length": Verdict(score=float(len(item.text))), "calm": calm}


class Whole:
    """An analysis that reads all judges and criteria at once."""

    name = "whole"
    long = True

    def check(self, judged: RunEvidence) -> None:
        """Any will do."""

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]:
        pairs = judged.frame[["judge", "criterion"]].drop_duplicates()
        return [
            Told(self.name, {"whole.parts": float(len(pairs))}, headline="whole.parts")
        ]
