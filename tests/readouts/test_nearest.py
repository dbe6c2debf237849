"""Which demonstrations stand beside a text where only the most similar are shown."""

from types import SimpleNamespace

import dspy

from undogmatic.readouts import adapter
from undogmatic.readouts.nearest import chosen

TEXTS = (
    "the barn burned down",
    "a river in spring",
    "the barns are burning",
    "two rivers",
)


def predictor(nearest: int | None) -> SimpleNamespace:
    fields = {"text": adapter.material("Text"), "score": adapter.words(float, "score")}
    demos = [dspy.Example(text=text, score=1.0) for text in TEXTS]
    signature = adapter.signature("Judge.", fields)
    return SimpleNamespace(signature=signature, demos=demos, nearest=nearest)


def test_the_most_similar_are_shown_the_most_similar_first() -> None:
    shown = chosen(predictor(2), {"text": "the barns burned"})
    assert {demo.text for demo in shown} == {TEXTS[0], TEXTS[2]}
    assert [demo.text for demo in chosen(predictor(1), {"text": "two rivers"})] == [
        "two rivers"
    ]


def test_all_are_shown_where_no_number_is_set_or_there_are_no_more() -> None:
    for nearest in (None, 4, 9):
        shown = chosen(predictor(nearest), {"text": "two rivers"})
        assert [demo.text for demo in shown] == [*TEXTS]
