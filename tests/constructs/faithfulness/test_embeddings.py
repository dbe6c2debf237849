"""all-MiniLM-L6-v2 in ONNX Runtime, and what makes vectors of sentences."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

from tests.conftest import reference_rows
from undogmatic.constructs.faithfulness.compared import coverage
from undogmatic.constructs.faithfulness.embeddings import LONGEST, WIDTH, HubEmbeddings, MiniLMEmbeddings, load
from undogmatic.errors import ConfigError


@pytest.mark.parametrize(("precision", "tolerance", "flips"), [("fp32", 1e-5, []), ("int8", 0.02, [0.5039])])
def test_the_stored_similarities_come_out_again(precision: Any, tolerance: float, flips: list[float]) -> None:
    rows = reference_rows("faith/coverage.jsonl")
    texts = sorted({s[k] for row in rows for s in row["sentences"] for k in ("sentence", "best_match")})
    vectors = dict(zip(texts, load(precision).vectors(texts), strict=True))
    flipped = []
    for row in rows:
        pairs = [float(vectors[s["sentence"]] @ vectors[s["best_match"]]) for s in row["sentences"]]
        known = [s["similarity"] for s in row["sentences"]]
        assert np.abs(np.subtract(pairs, known)).max() < tolerance
        found = coverage(np.array(pairs)[:, None], row["threshold"], inclusive=True)
        wrong = found.covered != [s["is_covered"] for s in row["sentences"]]
        flipped += [round(known[n], 4) for n in np.flatnonzero(wrong)]
        assert wrong.any() or found.score == pytest.approx(row["coverage_score"], abs=1e-12)
    assert flipped == flips


def test_a_vector_does_not_depend_on_what_it_is_read_with_and_is_of_a_sentence_up_to_its_longest() -> None:
    model = load("fp32")
    texts = ["A ferry sank.", "The court held that the carrier owed its passengers a duty of care at all times.", "No."]
    together, alone = model.vectors(texts), np.vstack([model.vectors([text]) for text in texts])
    assert together.shape == (3, WIDTH)
    assert np.allclose(together, alone, atol=1e-6)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    long = "court " * LONGEST
    one, other = load("fp32").vectors([long, long + "ferry ferry ferry"])
    assert np.allclose(one, other, atol=1e-6)


def test_every_distinct_sentence_is_read_once() -> None:
    embeddings = MiniLMEmbeddings()
    first = asyncio.run(embeddings.similarities(["A ferry sank.", "It rained."], ["A ferry sank."]))
    second = asyncio.run(embeddings.similarities(["A ferry sank."], ["It rained.", "A ferry sank."]))
    assert embeddings.sentences_read == 2
    assert first.shape == (2, 1) and second.shape == (1, 2)
    assert first[0, 0] == pytest.approx(1) and first[1, 0] == second[0, 0]


def test_a_missing_package_is_named_also_by_embeddings_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else find(name))
    with pytest.raises(ConfigError, match=r"onnxruntime, which is not installed: pip install 'undogmatic\[faith"):
        MiniLMEmbeddings()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"needs sentence-transformers.*embeddings=minilm"):
        HubEmbeddings("nowhere/model").vectors(["A ferry sank."])
