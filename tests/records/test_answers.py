"""What a raw answer says: one verdict where it has one reading, none where it has several."""

from __future__ import annotations

from typing import Any

import pytest

from undogmatic.records.answers import (
    Several,
    as_number,
    is_raw,
    json_in,
    verdicts_of,
    without_reasoning,
)
from undogmatic.safety.outside import Unreadable

FOUR = [
    '{"score": 4, "reason": "x"}',
    '```json\n{"score": 4}\n```',
    'Here it is:\n```\n{"score": 4}\n```\nI hope that it helps.',
    '<think>score: 2, perhaps</think>{"score": 4}',
    "<think>The score: 2 seems low.</think>\n4",
    "The score: 2 seems low.\n</think>\n\nScore: 4",
    '<think>It is fine.\n{"score": 4}',
    "I think **Score: 4/5** is fair.",
    '{"score": "4"}',
    '{"score": 4}\n\nNote: a score of 1 would be unfair.',
    "Rating: 4\nConfidence: 5",
    "[[4]]",
    "At first [[2]]. Then [[4]]",
    "The score is between 3 and 4. Final score: 4.",
    "The score is between 3 and 5. I give it a score of 4.",
    '{"reasoning": "score: 1, no", "score": 4}',
    "My grade: four",
    "Minha nota: quatro",
    '{"score": 4, "max_score": 5, "confidence": 0.9}',
    "4/5",
    "4 out of 5",
    "Score (1-5): 4",
    "Score out of 5: 4",
    '{"verdict": {"score": 4, "reason": "r"}}',
    '[{"score": 4}]',
    '{"result": {"score": 4}}',
    '{"score": 4,}',
    '\ufeff{"score": 4}',
    "{'score': 4, 'reason': 'it\\'s fine'}",
    '{"score": 4}\n{"score": 4}',
    "score=4",
    "**Score:** 4\nA score of 5 would need more.",
    "Clarity score: 2\nTone score: 3\nOverall score: 4",
]


@pytest.mark.parametrize("answer", FOUR)
def test_answers_that_mean_four(answer: str) -> None:
    found = verdicts_of(answer)
    assert list(found) == [None]
    assert str(found[None]).replace("/5", "").replace(" out of 5", "") == "4"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I am not sure what you mean.",
        "I would say that it depends.",
        "Score: 3-4",
        "Score: 3 or 4",
        "Clarity score: 4\nTone score: 2",
        '{"score": 4} or rather {"score": 2}',
        '[{"score": 4}, {"score": 2}]',
        '{"score": 4, "score": 2}',
        '<think>{"score": 4}</think>',
        '<think>{"score": 4} but then again',
        '{"score": null}',
        '{"score": 4, "reason": "it bre',
        "Score: not given",
        "Verdict: it depends on the reader",
    ],
)
def test_answers_without_one_reading_hold_no_verdict(answer: str) -> None:
    assert verdicts_of(answer) == {}


@pytest.mark.parametrize(
    ("answer", "verdicts"),
    [
        ("**4**", {None: "4"}),
        (
            '{"scores": {"clarity": 3, "style": {"score": 2, "reason": "x"}}}',
            {"clarity": 3, "style": 2},
        ),
        (
            '{"clarity": 3, "tone": "good", "rationale": "r"}',
            {"clarity": 3, "tone": "good"},
        ),
        ('Here you are: {"verdict": "fail", "reason": "long"}', {None: "fail"}),
        ("First [[A]]. On reflection [[B]]", {None: "B"}),
        ("O texto é claro.\n\n**Nota:** 7,5", {None: "7,5"}),
        ("Overall score is 3.", {None: "3"}),
        ("true", {None: True}),
        ("Verdict: N/A", {None: "N/A"}),
        ("Verdict: partially correct.", {None: "partially correct"}),
        ("Final Grade: A", {None: "A"}),
        ("Answer: B is better than A", {None: "B"}),
        ("<think>a</think>\n\n**Verdict:** PASS", {None: "PASS"}),
        ("Verdict: pass because it names the capital", {None: "pass"}),
        ("Winner: Assistant A", {None: "Assistant A"}),
    ],
)
def test_the_verdicts_in_an_answer(
    answer: str, verdicts: dict[str | None, Any]
) -> None:
    assert verdicts_of(answer) == verdicts


def test_an_object_that_answers_nothing_is_quoted() -> None:
    text = 'The text is {"name": "Ana"}. {"score": 3}'
    assert json_in(text, ["score"]) == {"score": 3}
    with pytest.raises(Several):
        json_in(text)
    # Part of an answer is one.
    with pytest.raises(Several):
        json_in('{"score": 1} {"score": 3, "reason": "r"}', ["score", "reason"])
    with pytest.raises(Unreadable):
        json_in("no object at all")


@pytest.mark.parametrize(
    ("written", "maximum", "number"),
    [
        (72, 100, 72),
        ("72", 100, 72),
        ("7,5", 10, 7.5),
        ("4/5", 5, 4),
        ("4 out of 5", 5, 4),
        ("4/5", 100, None),
        ("72%", 100, 72),
        ("72%", 5, None),
        ("about 72", 100, None),
        (True, 100, None),
        (None, 100, None),
        ("", 100, None),
    ],
)
def test_a_number_that_is_a_text(
    written: Any, maximum: float, number: float | None
) -> None:
    assert as_number(written, maximum) == number


@pytest.mark.parametrize(
    ("cell", "raw"),
    [
        ('{"score": 1}', True),
        ("```json\n{}\n```", True),
        ("Score: 5", True),
        ("It is long.\n**Final score:** 5", True),
        ("The rain was green.", False),
        ("4", False),
        ("pass", False),
    ],
)
def test_a_raw_answer_is_told_from_a_verdict_and_from_a_text(
    cell: str, raw: bool
) -> None:
    assert is_raw(cell) == raw


@pytest.mark.parametrize(
    "answer",
    ['{"a":' * 20_000, '{"' * 50_000, "{'" * 10_000, "Score: " * 15_000, "[[" * 50_000],
)
def test_an_endless_answer_ends(answer: str) -> None:
    assert verdicts_of(answer) == {}


@pytest.mark.parametrize(
    "hostile",
    [
        '{"a": "' + '\\"' * 200_000,
        '{"score": 1,' + '"\\' * 200_000,
        "<think>" * 100_000 + "</thinking>",
        "<think>" * 50_000 + '{"a": 1}' + "</reasoning>" * 50_000,
        '{"a": {' * 30_000 + '"' * 100_001,
        "[" * 100_000,
        "```" + " " * 90_000 + "x",
        "```" + "a" * 90_000,
        "[[" + " " * 90_000 + "x",
    ],
)
def test_what_no_model_should_say_is_read_in_steps_that_grow_with_it(
    hostile: str,
) -> None:
    """Each of these took minutes where a quote or a tag that is never closed was looked for again
    from every place behind it."""
    with pytest.raises(Unreadable):
        json_in(hostile, ["score"])
    assert len(verdicts_of(hostile)) <= 1
    assert is_raw(" " * 90_000 + hostile[:100]) in (True, False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>a</think>b<think>c</think>d", "b d"),
        ("<THINK>a</think>b", "b"),
        ("<think>İ</think>b", "b"),
        ("<think>a<reasoning>b</reasoning>c</think>d", "d"),
    ],
)
def test_what_stands_between_tags_is_no_answer(text: str, answer: str) -> None:
    assert without_reasoning(text) == answer
