from __future__ import annotations

import pytest

from undogmatic.errors import OffScaleAnswer, UnparseableAnswer
from undogmatic.readouts.decision import parse_score_answer

LEVELS = (0.0, 50.0, 100.0)


def answer(**change: object) -> dict[str, object]:
    return {"type": "score", "score": 1.7, "confidence": 0.5, "probabilities": {"0": 0.1, "1": 0.1, "2": 0.8}} | change


def test_levels_are_mapped_to_the_rubric_and_confidence_is_recomputed() -> None:
    distribution = parse_score_answer(answer(), LEVELS)
    assert distribution.expectation == pytest.approx(85)
    assert distribution.confidence == pytest.approx(100 * (1 - 0.6390 / 1.0986), abs=0.05)


def test_rounded_probabilities_are_renormalised() -> None:
    rounded = answer(probabilities={"0": 0.11, "1": 0.1, "2": 0.8})
    assert sum(parse_score_answer(rounded, LEVELS).probabilities) == pytest.approx(1)


@pytest.mark.parametrize(
    "change",
    [
        {"type": "noul"},
        {"type": "refusal"},
        {"probabilities": {"0": 0.1, "1": 0.9}},
        {"probabilities": {"0": 0.1, "1": 0.1, "2": 0.6}},
        {"probabilities": {"0": float("nan"), "1": 0.1, "2": 0.9}},
        {"probabilities": {"0": -0.1, "1": 0.1, "2": 1.0}},
        {"probabilities": [0.1, 0.1, 0.8]},
    ],
)
def test_anything_else_is_unparseable(change: dict[str, object]) -> None:
    with pytest.raises(UnparseableAnswer):
        parse_score_answer(answer(**change), LEVELS)


def test_a_missing_answer_is_unparseable() -> None:
    with pytest.raises(UnparseableAnswer):
        parse_score_answer(None, LEVELS)


def test_a_score_that_contradicts_its_probabilities_is_refused() -> None:
    with pytest.raises(OffScaleAnswer, match=r"the probabilities give 1\.700"):
        parse_score_answer(answer(score=0.2), LEVELS)
