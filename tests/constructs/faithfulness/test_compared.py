"""Comparing a text with a reference, sentence by sentence: the arithmetic, the vectors, and
BERTScore as a judge."""

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.conftest import reference_rows
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness import compared
from undogmatic.constructs.faithfulness.compared import coverage, uncontradicted
from undogmatic.errors import ConfigError, UnparseableAnswer
from undogmatic.models.embeddings import LONGEST, WIDTH, HubEmbeddings, MiniLMEmbeddings
from undogmatic.records.records import Item


def test_the_stored_labels_and_similarities_give_the_stored_scores_on_every_row() -> (
    None
):
    rows = reference_rows("faith/nli.jsonl")
    assert len(rows) == 18
    for row in rows:
        assert (
            uncontradicted([s["label"] == "contradiction" for s in row["sentences"]])
            == row["nli_score"]
        )
    for row in reference_rows("faith/coverage.jsonl"):
        found = coverage(
            np.array([[s["similarity"]] for s in row["sentences"]]),
            row["threshold"],
            inclusive=True,
        )
        assert found.score == pytest.approx(row["coverage_score"], abs=1e-12)
        assert found.covered.tolist() == [s["is_covered"] for s in row["sentences"]]


def test_more_sentences_never_lower_coverage_exactly_the_threshold_counts_where_asked_and_none_has_no_share() -> (
    None
):
    similarities = np.array([[0.2, 0.5], [0.4, 0.1]])
    assert coverage(similarities, 0.5, inclusive=True).score == 0.5
    assert coverage(similarities, 0.5, inclusive=False).score == 0.0
    assert coverage(similarities, 0.3, inclusive=False).best.tolist() == [1, 0]
    with pytest.raises(ValueError, match="no sentences"):
        uncontradicted([])
    with pytest.raises(ValueError, match="both sides"):
        coverage(np.empty((0, 3)), 0.5, inclusive=True)
    with pytest.raises(ValueError, match="NaN"):
        coverage(np.array([[np.nan]]), 0.5, inclusive=True)
    rng = np.random.default_rng(0)
    own, filler = rng.uniform(-1, 1, (9, 5)), rng.uniform(-1, 1, (9, 40))
    more = coverage(np.hstack([own, filler]), 0.5, inclusive=False)
    assert more.score >= coverage(own, 0.5, inclusive=False).score


class Scorer:
    """Says how many words two texts share, of those of the first and of the second."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def score(self, texts: list[str], references: list[str]) -> tuple[list[float], ...]:
        own, other = set(texts[0].split()), set(references[0].split())
        both = len(own & other)
        return (
            [both / len(own)],
            [both / len(other)],
            [2 * both / (len(own) + len(other))],
        )


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[compared.BertScoreJudge]:
    monkeypatch.setitem(sys.modules, "bert_score", SimpleNamespace(BERTScorer=Scorer))
    compared._scorer.cache_clear()
    config = compose_config(["judge=bertscore", "rubric=faithfulness"])
    found: compared.BertScoreJudge = build(config["judge"], "judge")
    found.judge_by(build(config["rubric"], "rubric"))
    yield found
    compared._scorer.cache_clear()


def test_its_f_is_the_score_and_precision_and_recall_are_kept_beside_it(
    judge: compared.BertScoreJudge,
) -> None:
    item = Item(id="a", inputs={"summary": "a b c d", "reference": "a b"})
    reading = asyncio.run(judge.judge(item))["bertscore"]
    assert (reading.score, reading.details) == (
        pytest.approx(2 / 3),
        {"precision": 0.5, "recall": 1.0},
    )
    with pytest.raises(UnparseableAnswer, match="no input 'reference'"):
        asyncio.run(judge.judge(Item(id="a", inputs={"summary": "a"})))


def test_without_the_library_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    compared._scorer.cache_clear()
    with pytest.raises(ConfigError, match=r"undogmatic\[bertscore\]"):
        compared._scorer(None, "en", None, False)


def test_the_stored_similarities_come_out_again() -> None:
    rows = reference_rows("faith/coverage.jsonl")
    texts = sorted(
        {
            s[k]
            for row in rows
            for s in row["sentences"]
            for k in ("sentence", "best_match")
        }
    )
    vectors = dict(zip(texts, MiniLMEmbeddings().read(texts), strict=True))
    flipped = []
    for row in rows:
        pairs = [
            float(vectors[s["sentence"]] @ vectors[s["best_match"]])
            for s in row["sentences"]
        ]
        known = [s["similarity"] for s in row["sentences"]]
        assert np.abs(np.subtract(pairs, known)).max() < 0.02
        found = coverage(np.array(pairs)[:, None], row["threshold"], inclusive=True)
        wrong = found.covered != [s["is_covered"] for s in row["sentences"]]
        flipped += [round(known[n], 4) for n in np.flatnonzero(wrong)]
        assert wrong.any() or found.score == pytest.approx(
            row["coverage_score"], abs=1e-12
        )
    assert flipped == [0.5039]


def test_a_vector_does_not_depend_on_what_it_is_read_with_and_is_of_a_sentence_up_to_its_longest() -> (
    None
):
    model = MiniLMEmbeddings()
    texts = [
        "A ferry sank.",
        "The court held that the carrier owed its passengers a duty of care at all times.",
        "No.",
    ]
    together, alone = (
        model.read(texts),
        np.vstack([model.read([text]) for text in texts]),
    )
    assert together.shape == (3, WIDTH)
    assert np.allclose(together, alone, atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    long = "court " * LONGEST
    one, other = model.read([long, long + "ferry ferry ferry"])
    assert np.allclose(one, other, atol=1e-6)


def test_every_distinct_sentence_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    embeddings, read = MiniLMEmbeddings(), list[str]()
    of_model = embeddings.read
    monkeypatch.setattr(
        embeddings, "read", lambda texts: read.extend(texts) or of_model(texts)
    )
    first = asyncio.run(
        embeddings.similarities(["A ferry sank.", "It rained."], ["A ferry sank."])
    )
    second = asyncio.run(
        embeddings.similarities(["A ferry sank."], ["It rained.", "A ferry sank."])
    )
    assert sorted(read) == ["A ferry sank.", "It rained."]
    assert first.shape == (2, 1) and second.shape == (1, 2)
    assert first[0, 0] == pytest.approx(1) and first[1, 0] == second[0, 0]


def test_a_missing_package_is_named_also_by_embeddings_of_the_hub(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "onnxruntime" else find(name),
    )
    with pytest.raises(
        ConfigError,
        match=r"onnxruntime, which is not installed: pip install 'undogmatic\[embeddings",
    ):
        MiniLMEmbeddings()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        ConfigError, match=r"needs sentence-transformers.*embeddings=minilm"
    ):
        HubEmbeddings("nowhere/model").vectors(["A ferry sank."])
