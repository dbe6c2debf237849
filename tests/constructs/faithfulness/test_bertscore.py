"""BERTScore as a judge, with a stand-in for its library."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness import bertscore
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.records.records import Item


class Scorer:
    """Says how many words two texts share, of those of the first and of the second."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def score(self, texts: list[str], references: list[str]) -> tuple[list[float], ...]:
        own, other = set(texts[0].split()), set(references[0].split())
        both = len(own & other)
        return [both / len(own)], [both / len(other)], [2 * both / (len(own) + len(other))]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> bertscore.BertScoreJudge:
    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(BERTScorer=Scorer))
    bertscore._scorer.cache_clear()
    config = compose_config(["judge=bertscore", "rubric=faithfulness"])
    found: bertscore.BertScoreJudge = build(config["judge"], "judge")
    found.judge_by(build(config["rubric"], "rubric"))
    return found


def test_its_f_is_the_score_and_precision_and_recall_are_kept(judge: bertscore.BertScoreJudge) -> None:
    item = Item(id="a", inputs={"summary": "a b c d", "reference": "a b"})
    reading = asyncio.run(judge.judge(item))["bertscore"]
    assert reading.score == pytest.approx(2 / 3)
    assert reading.details == {"precision": 0.5, "recall": 1.0}
    bertscore._scorer.cache_clear()


def test_without_a_reference_there_is_no_score(judge: bertscore.BertScoreJudge) -> None:
    with pytest.raises(UnparseableAnswer, match="no input 'reference'"):
        asyncio.run(judge.judge(Item(id="a", inputs={"summary": "a"})))


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    bertscore._scorer.cache_clear()
    with pytest.raises(ConfigError, match=r"undogmatic\[bertscore\]"):
        bertscore._scorer(None, "en", None, False)
