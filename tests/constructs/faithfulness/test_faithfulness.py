from __future__ import annotations

import json

import numpy as np
import pytest

from tests.conftest import reference
from undogmatic.constructs.faithfulness.compared import coverage, uncontradicted


def test_the_stored_labels_give_the_stored_scores_on_every_row() -> None:
    rows = [json.loads(line) for line in reference("faith/nli.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 18
    for row in rows:
        assert uncontradicted([s["label"] == "contradiction" for s in row["sentences"]]) == row["nli_score"]


def test_the_stored_similarities_give_the_stored_coverage_on_every_row() -> None:
    rows = [json.loads(line) for line in reference("faith/coverage.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        found = coverage(np.array([[s["similarity"]] for s in row["sentences"]]), row["threshold"], inclusive=True)
        assert found.score == pytest.approx(row["coverage_score"], abs=1e-12)
        assert found.covered.tolist() == [s["is_covered"] for s in row["sentences"]]


def test_exactly_the_threshold_counts_only_where_asked() -> None:
    similarities = np.array([[0.2, 0.5], [0.4, 0.1]])
    assert coverage(similarities, 0.5, inclusive=True).score == 0.5
    assert coverage(similarities, 0.5, inclusive=False).score == 0.0
    assert coverage(similarities, 0.3, inclusive=False).best.tolist() == [1, 0]


def test_sentences_that_a_text_has_besides_never_lower_its_coverage() -> None:
    rng = np.random.default_rng(0)
    own, filler = rng.uniform(-1, 1, (9, 5)), rng.uniform(-1, 1, (9, 40))
    more = coverage(np.hstack([own, filler]), 0.5, inclusive=False)
    assert more.score >= coverage(own, 0.5, inclusive=False).score


def test_no_sentence_has_no_share() -> None:
    with pytest.raises(ValueError, match="no sentences"):
        uncontradicted([])
    with pytest.raises(ValueError, match="both sides"):
        coverage(np.empty((0, 3)), 0.5, inclusive=True)
    with pytest.raises(ValueError, match="NaN"):
        coverage(np.array([[np.nan]]), 0.5, inclusive=True)
