"""Judges over a fake chat model, in words (one JSON answer per step) or in levels (one number per
question)."""

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import dspy
import pytest
import yaml

from tests.conftest import FakeChat
from undogmatic.engine.step import JudgeStep
from undogmatic.judges.asker import Asker, LevelsQuestion, WordsQuestion
from undogmatic.judges.base import Judge
from undogmatic.models.calls import Gateway
from undogmatic.models.language_model import LanguageModel
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Item, Judgment, Provenance, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import conf_folder


def _wordings() -> dict[str, dict[str, Any]]:
    """Those of all styles that ship, as if one judge had all their steps."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((conf_folder() / "judge").glob("*.yaml")):
        for language, steps in (
            yaml.safe_load(path.read_text(encoding="utf-8")).get("wordings") or {}
        ).items():
            found.setdefault(language, {}).update(steps)
    return found


WORDINGS = _wordings()


class FixedJudge(Judge):
    """Gives a verdict, or raises; counts how often it was asked. No model."""

    def __init__(self, answer: Verdict | Exception, name: str = "fixed") -> None:
        super().__init__()
        self.answer, self.name, self.asked = answer, name, 0

    async def judge(self, item: Item) -> Verdict:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def _settled(self, verdict: Any) -> Any:
        return verdict


class Bench:
    """Askers over scripted models, and a judgment of one text."""

    def __init__(self, prompt: Prompt, rubric: Rubric, provenance: Provenance) -> None:
        self.prompt, self.rubric, self.provenance = prompt, rubric, provenance

    def words(self, *answers: Any) -> Asker:
        """Answers in this order: objects become JSON, texts stay as they are. The last one
        repeats."""
        texts = [a if isinstance(a, str) else json.dumps(a) for a in answers]
        self.chat = FakeChat(
            lambda _: (texts.pop(0) if len(texts) > 1 else texts[0], None)
        )
        self.chat.connect(Gateway())
        return Asker(WordsQuestion, self.chat, self.prompt, self.rubric, WORDINGS)

    def levels(
        self, answer: Callable[[str], dict[int, float]], base: bool = True
    ) -> Asker:
        """`answer` gives the odds of the labels for a question (the last message)."""

        def reply(question: str) -> tuple[str, dict[str, float]]:
            return "0", {
                str(label): math.log(odds) for label, odds in answer(question).items()
            }

        self.chat = FakeChat(reply, base=base)
        self.chat.connect(Gateway())
        return Asker(LevelsQuestion, self.chat, self.prompt, self.rubric, WORDINGS)

    def judge(
        self, judge: Judge, text: str | Mapping[str, str] = "Tema 69.", **metadata: Any
    ) -> Judgment:
        item = Item(
            id="a",
            inputs={"text": text} if isinstance(text, str) else text,
            metadata=metadata,
        )
        with dspy.context(
            lm=LanguageModel(self.chat) if hasattr(self, "chat") else None
        ):
            return asyncio.run(JudgeStep(judge, self.provenance).process(item))[0]

    def verdict(
        self, judge: Judge, text: str | Mapping[str, str] = "Tema 69.", **metadata: Any
    ) -> Verdict:
        outcome = self.judge(judge, text, **metadata).outcome
        assert isinstance(outcome, Verdict), outcome
        return outcome

    def asked(self) -> list[str]:
        """The last message of every call."""
        return [request["messages"][-1]["content"] for request in self.chat.requests]


@pytest.fixture
def bench(prompt: Prompt, rubric: Rubric, provenance: Provenance) -> Bench:
    return Bench(prompt, rubric, provenance)
