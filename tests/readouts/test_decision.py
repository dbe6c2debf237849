import pytest

from undogmatic.errors import ModelError, OffScaleAnswer, UnparseableAnswer
from undogmatic.readouts.decision import parse_score_answer

LEVELS = (0.0, 50.0, 100.0)


def answer(**change: object) -> dict[str, object]:
    return {
        "type": "score",
        "score": 1.7,
        "confidence": 0.5,
        "probabilities": {"0": 0.1, "1": 0.1, "2": 0.8},
    } | change


def test_levels_are_mapped_to_the_rubric_renormalised_and_the_confidence_recomputed() -> (
    None
):
    distribution = parse_score_answer(answer(), LEVELS)
    assert distribution.expectation == pytest.approx(85)
    assert distribution.confidence == pytest.approx(
        100 * (1 - 0.6390 / 1.0986), abs=0.05
    )
    rounded = answer(probabilities={"0": 0.11, "1": 0.1, "2": 0.8})
    assert sum(parse_score_answer(rounded, LEVELS).probabilities) == pytest.approx(1)


@pytest.mark.parametrize(
    ("sent", "kind", "said"),
    [
        (None, UnparseableAnswer, "no score answer"),
        (answer(type="noul"), UnparseableAnswer, "no score answer"),
        (answer(type="refusal"), UnparseableAnswer, "no score answer"),
        (
            answer(probabilities={"0": 0.1, "1": 0.9}),
            UnparseableAnswer,
            "must name the levels 0, 1, 2",
        ),
        (
            answer(probabilities={"0": 0.1, "1": 0.1, "2": 0.6}),
            UnparseableAnswer,
            r"sum to 0\.800",
        ),
        (
            answer(probabilities={"0": float("nan"), "1": 0.1, "2": 0.9}),
            UnparseableAnswer,
            "not a probability",
        ),
        (
            answer(probabilities={"0": -0.1, "1": 0.1, "2": 1.0}),
            UnparseableAnswer,
            "not a probability",
        ),
        (
            answer(probabilities=[0.1, 0.1, 0.8]),
            UnparseableAnswer,
            "must name the levels",
        ),
        (answer(score=0.2), OffScaleAnswer, r"the probabilities give 1\.700"),
    ],
)
def test_anything_else_is_refused(
    sent: object, kind: type[ModelError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        parse_score_answer(sent, LEVELS)
