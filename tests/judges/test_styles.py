"""Each style in words and in levels: its wording, what it yields, how many calls it makes, what bad
answers get."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.conftest import FakeChat
from tests.judges.conftest import WORDINGS, Bench, FixedJudge
from undogmatic.config.build import build
from undogmatic.errors import ConfigError
from undogmatic.judges import devils_advocate
from undogmatic.judges.asker import Asker, WordsQuestion
from undogmatic.judges.base import Judge
from undogmatic.judges.debate import (
    Advocate,
    Critic,
    Debate,
    DebateJudge,
    Decision,
    RedBlue,
    RedBlueJudge,
    balance,
)
from undogmatic.judges.devils_advocate import (
    CalibrationProbeJudge,
    Critique,
    DevilsAdvocateJudge,
    SinglePassJudge,
)
from undogmatic.judges.questions import Answer, StepWording, numbers, repeats, schema
from undogmatic.judges.score import DistributionalJudge, points_answer
from undogmatic.readouts.prompt import Prompt
from undogmatic.records.records import Failure, Verdict
from undogmatic.records.rubric import Rubric
from undogmatic.safety.paths import conf_folder

ISSUE = {"kind": "missing", "severity": "moderate", "text": "No scope."}
CRITIQUE = {
    "issues": [ISSUE],
    "critique_strength": 4,
    "range_low": 50,
    "range_high": 65,
    "confidence": 70,
}
POINTS = {
    "reason": "It cites.",
    "level_0": 0,
    "level_1": 0,
    "level_2": 10,
    "level_3": 80,
    "level_4": 10,
}
DEBATE = {
    "advocate_strengths": ["cites only", "one theme", "nothing of the case"],
    "advocate_score": 90,
    "critic_weaknesses": ["one reason", "a condition", "says why"],
    "critic_score": 30,
    "rationale": "Mostly citation.",
    "compelling": "advocate",
    "final_score": 81,
    "confidence": 75,
}
RED_BLUE = {
    "red_reasons": ["one reason", "a condition", "says why"],
    "blue_reasons": ["cites", "one theme", "nothing of the case"],
    "red_strength": 2,
    "blue_strength": 8,
    "rationale": "It cites.",
    "final_score": 85,
    "confidence": 66,
}
SINGLE = {
    "score": 60,
    "confidence": 72,
    "range_low": 50,
    "range_high": 75,
    "key_uncertainty": "Is the scope a reason?",
    "rationale": "Half and half.",
}
ACCURACY = {"reason": "Such texts are plain.", "accuracy": 64}
START = Verdict(
    score=80.0, rationale="cites", confidence=90.0, confidence_source="stated"
)


def without(answer: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != name}


def devil(asker: Asker) -> Judge:
    return DevilsAdvocateJudge(FixedJudge(START), asker)


def probe(asker: Asker) -> Judge:
    return CalibrationProbeJudge(FixedJudge(START), asker)


def single(asker: Asker) -> Judge:
    return SinglePassJudge(
        FixedJudge(AssertionError("not asked: the answer holds the score")), asker
    )


STYLES: list[tuple[Callable[[Asker], Judge], dict[str, Any]]] = [
    (devil, CRITIQUE),
    (DistributionalJudge, POINTS),
    (DebateJudge, DEBATE),
    (RedBlueJudge, RED_BLUE),
    (single, SINGLE),
    (probe, ACCURACY),
]


def test_the_initial_score_stands_the_critique_says_how_sure_it_is_and_a_strength_of_1_is_a_tenth(
    bench: Bench,
) -> None:
    found = bench.verdict(devil(bench.words(CRITIQUE)))
    assert (found.score, found.interval, found.uncertainty, found.review) == (
        80,
        (50, 65),
        "medium",
        False,
    )
    assert (found.confidence, found.confidence_source) == (60, "procedure")
    contradiction = (
        "Contradiction: the score 80 lies outside the judge's own range, 50 to 65."
    )
    assert found.issues == ("moderate (missing): No scope.", contradiction)
    told = [
        found.details[name]
        for name in ("critique_strength", "score_delta", "moderate_issues")
    ]
    assert (found.doubt, told) == (0.4, [0.4, 22.5, 1])
    assert (found.is_uncertain, found.revised_score) == (True, 57.5)
    found = bench.verdict(
        devil(bench.words(CRITIQUE | {"critique_strength": 1, "issues": []}))
    )
    assert (found.details["critique_strength"], found.uncertainty) == (0.1, "low")
    assert found.is_uncertain is False


@pytest.mark.parametrize(
    ("changes", "level_from"),
    [
        ({"critique_strength": 7}, "strength"),
        ({"issues": [ISSUE | {"severity": "major"}] * 2}, "major_issues"),
        ({"critique_strength": 0, "range_low": 20, "range_high": 65}, "width"),
        (
            {"critique_strength": 7, "range_low": 20, "range_high": 65},
            "strength, width",
        ),
    ],
)
def test_strength_major_issues_or_width_ask_for_review(
    bench: Bench, changes: dict[str, Any], level_from: str
) -> None:
    """The confidence comes from the strength alone, so the verdict says what else made the
    level."""
    found = bench.verdict(devil(bench.words(CRITIQUE | changes)))
    assert (found.uncertainty, found.review) == ("high", True)
    assert found.details["level_from"] == level_from and found.is_uncertain is True


EMPTY = {
    "critique_strength": 0,
    "range_low": 0,
    "range_high": 0,
    "issues": [],
    "confidence": 0,
}
NOTHING = {"confidence": 0}


@pytest.mark.parametrize(
    ("style", "answer", "level", "level_from"),
    [
        (devil, CRITIQUE | EMPTY, "high", "stated_confidence, range"),
        (devil, CRITIQUE | EMPTY | {"confidence": 90}, "high", "range"),
        (
            devil,
            CRITIQUE | EMPTY | {"range_low": 80, "range_high": 80},
            "high",
            "stated_confidence",
        ),
        (
            devil,
            CRITIQUE | {"critique_strength": 9} | NOTHING,
            "high",
            "strength, stated_confidence",
        ),
        (
            devil,
            CRITIQUE | EMPTY | {"confidence": 90, "range_low": 80, "range_high": 80},
            "low",
            None,
        ),
        (
            devil,
            CRITIQUE | EMPTY | {"confidence": 90, "range_low": 75, "range_high": 85},
            "low",
            None,
        ),
        (
            devil,
            CRITIQUE
            | EMPTY
            | {"confidence": 90, "critique_strength": 2, "issues": [ISSUE]},
            "low",
            None,
        ),
        (
            single,
            SINGLE | NOTHING | {"range_low": 60, "range_high": 60},
            "high",
            "stated_confidence",
        ),
        (
            single,
            SINGLE | NOTHING | {"range_low": 0, "range_high": 100},
            "high",
            "width, stated_confidence",
        ),
        (single, SINGLE | {"range_low": 60, "range_high": 60}, "low", "width"),
        (
            single,
            SINGLE | NOTHING | {"score": 0, "range_low": 0, "range_high": 0},
            "high",
            "stated_confidence",
        ),
        (
            single,
            SINGLE | {"score": 0, "range_low": 0, "range_high": 0},
            "low",
            "width",
        ),
        (DebateJudge, DEBATE | NOTHING, "high", "stated_confidence"),
        (DebateJudge, DEBATE, "medium", None),
        (RedBlueJudge, RED_BLUE | NOTHING, "high", "stated_confidence"),
        (RedBlueJudge, RED_BLUE, "low", None),
    ],
)
def test_an_empty_answer_or_one_that_contradicts_itself_is_of_high_doubt_and_a_sure_one_of_low(
    bench: Bench, style: Any, answer: dict[str, Any], level: str, level_from: str | None
) -> None:
    """A confidence of 0, or nothing against a score beside a single other score, is no
    knowledge."""
    found = bench.verdict(style(bench.words(answer)))
    assert (found.uncertainty, found.review) == (level, level == "high")
    if level_from is not None:
        assert found.details["level_from"] == level_from


@pytest.mark.parametrize(
    ("style", "answer"),
    [
        (devil, CRITIQUE | {"range_low": 65, "range_high": 50}),
        (devil, without(CRITIQUE, "range_low")),
        (devil, without(CRITIQUE, "critique_strength")),
        (single, SINGLE | {"range_low": 75, "range_high": 50}),
        (single, SINGLE | {"range_low": 61}),
        (single, without(SINGLE, "range_high")),
        (DebateJudge, without(DEBATE, "final_score")),
        (RedBlueJudge, without(RED_BLUE, "red_strength")),
    ],
)
def test_a_range_that_is_reversed_or_absent_is_no_verdict(
    bench: Bench, style: Any, answer: dict[str, Any]
) -> None:
    outcome = bench.judge(style(bench.words(answer))).outcome
    assert isinstance(outcome, Failure) and outcome.reason == "unparseable"


def test_a_style_without_a_critique_revised_nothing_and_one_without_levels_is_not_said_to_be_sure(
    bench: Bench,
) -> None:
    debated = bench.verdict(DebateJudge(bench.words(DEBATE)))
    assert debated.revised_score is None and debated.is_uncertain is not None
    plain = Verdict(score=80)
    assert plain.is_uncertain is None and plain.revised_score is None
    assert {"is_uncertain", "revised_score"}.isdisjoint(debated.model_dump()), (
        "kept once, as what they follow from"
    )


def test_the_critic_is_told_the_score_and_the_text_stays_fenced(bench: Bench) -> None:
    bench.judge(devil(bench.words(CRITIQUE)))
    asked = bench.asked()[0]
    assert asked.startswith("<<text-")
    assert "score: 80, on the scale from 0 to 100" in asked.rpartition(">>")[2]
    assert (
        '"severity": "minor" | "moderate" | "major"' in bench.chat.requests[0]["system"]
    )


def test_points_are_the_distribution_and_are_scaled_where_they_do_not_sum_to_100_which_is_named(
    bench: Bench,
) -> None:
    found = bench.verdict(DistributionalJudge(bench.words(POINTS)))
    assert found.distribution.probabilities == pytest.approx((0, 0, 0.1, 0.8, 0.1))
    assert (found.score, found.interval, found.uncertainty) == (
        pytest.approx(75),
        (50, 100),
        "medium",
    )
    assert (found.issues, found.rationale) == ((), "It cites.")
    found = bench.verdict(
        DistributionalJudge(bench.words(POINTS | {"level_2": 33, "level_3": 57}))
    )
    assert sum(found.distribution.probabilities) == pytest.approx(1)
    assert found.details["points_sum"] == 100 and "multiples of 5" in found.issues[0]
    found = bench.verdict(DistributionalJudge(bench.words(POINTS | {"level_3": 60})))
    assert (found.details["points_sum"], "sum to 80" in found.issues[0]) == (80, True)


def test_points_over_the_options_of_a_multiple_choice_item(bench: Bench) -> None:
    file = conf_folder() / "rubric" / "choice.yaml"
    bench.rubric = build(yaml.safe_load(file.read_text(encoding="utf-8")), "rubric")
    said = "Only the Supreme Court decides an extraordinary appeal."
    answer = {"reason": said, "level_0": 70, "level_1": 30, "level_2": 0, "level_3": 0}
    judge = DistributionalJudge(bench.words(answer))
    judge.judge_by(bench.rubric)
    question = {
        "question": "Who decides an extraordinary appeal?",
        "options": "A: STF\nB: STJ\nC: TST\nD: TSE",
    }
    found = bench.verdict(judge, question)
    assert (found.category, found.score, found.rationale, found.uncertainty) == (
        "A",
        None,
        said,
        "medium",
    )
    assert found.distribution.probabilities == pytest.approx((0.7, 0.3, 0, 0))
    # of 0.7 and 0.3, over log2 of 4 options
    assert found.details["entropy"] == pytest.approx(0.8813 / 2, abs=1e-4)
    assert '"level_1": 0-100 (points for: B)' in bench.chat.requests[0]["system"]
    assert "C: TST" in bench.asked()[0]


def test_a_debate_has_two_positions_and_a_judge_and_in_the_middle_or_degenerate_it_is_uncertain(
    bench: Bench,
) -> None:
    found = bench.verdict(DebateJudge(bench.words(DEBATE)))
    assert (found.score, found.interval, found.uncertainty) == (
        81,
        (pytest.approx(30), pytest.approx(90)),
        "medium",
    )
    assert found.details["judge_position"] == pytest.approx(0.85)
    assert (
        found.details["compelling"] == "advocate"
        and found.rationale == "Mostly citation."
    )
    middle = bench.verdict(DebateJudge(bench.words(DEBATE | {"final_score": 60})))
    assert (middle.uncertainty, middle.review) == ("high", True)
    turned = bench.verdict(DebateJudge(bench.words(DEBATE | {"advocate_score": 20})))
    assert (turned.uncertainty, turned.interval) == ("high", (20, 30))
    assert (
        "Degenerate debate" in turned.issues[0]
        and "judge_position" not in turned.details
    )


def test_in_separate_calls_no_side_sees_the_other_and_the_judge_sees_both(
    bench: Bench,
) -> None:
    parts = [
        {
            "advocate_strengths": ["cites only", "one theme", "nothing of the case"],
            "advocate_score": 90,
        },
        {
            "critic_weaknesses": ["one reason", "a condition", "says why"],
            "critic_score": 30,
        },
        {
            k: DEBATE[k]
            for k in ("rationale", "compelling", "final_score", "confidence")
        },
    ]
    judgment = bench.judge(DebateJudge(bench.words(*parts), separate_calls=True))
    assert (judgment.score, judgment.cost.calls) == (81, 3)
    advocate, critic, judge = bench.asked()
    assert "cites only" not in critic and "one reason" not in advocate
    assert "defends 90.0: cites only" in judge and "defends 30.0: one reason" in judge


def test_red_and_blue_and_the_balance_of_teams(bench: Bench) -> None:
    found = bench.verdict(RedBlueJudge(bench.words(RED_BLUE)))
    assert (found.score, found.uncertainty, found.details["stronger_team"]) == (
        85,
        "low",
        "blue",
    )
    even = bench.verdict(RedBlueJudge(bench.words(RED_BLUE | {"red_strength": 8})))
    assert (even.uncertainty, even.review, even.details["stronger_team"]) == (
        "high",
        True,
        "neither",
    )
    assert balance(0, 0) == (None, "neither", "high")
    assert balance(6, 10)[2] == "medium"
    assert balance(2, 8)[1:] == ("blue", "low")
    assert balance(8, 2)[1:] == ("red", "low")


def test_a_single_pass_gives_its_range_and_the_estimated_accuracy_is_the_confidence(
    bench: Bench,
) -> None:
    found = bench.verdict(single(bench.words(SINGLE)))
    assert (found.score, found.interval, found.uncertainty) == (60, (50, 75), "medium")
    assert (
        found.issues == ("Is the scope a reason?",)
        and found.details["level_from"] == "width"
    )
    found = bench.verdict(probe(bench.words(ACCURACY)))
    assert (found.score, found.confidence, found.details["estimated_accuracy"]) == (
        80,
        64,
        64,
    )
    assert (
        found.details["accuracy_reason"] == "Such texts are plain."
        and found.uncertainty == "medium"
    )


@pytest.mark.parametrize(("style", "answer"), STYLES)
def test_a_style_makes_one_call_beside_its_initial_judge_and_a_good_second_answer_counts(
    bench: Bench, style: Any, answer: dict[str, Any]
) -> None:
    for answers in ([answer], ["rubbish", answer]):
        judgment = bench.judge(style(bench.words(*answers)))
        assert (judgment.cost.calls, isinstance(judgment.outcome, Verdict)) == (
            len(answers),
            True,
        )


REASON = "One or two sentences with the reason of the decision."
FORM = [
    "argument with evidence",
    "...",
    "...",
    REASON,
    "Reason 1",
    "reason 2",
    "reason 3",
]
"""Words of the form, which are no words of the model's own."""


@pytest.mark.parametrize(
    ("style", "bad", "kind", "said"),
    [
        (
            devil,
            CRITIQUE | {"range_low": 70, "range_high": 40},
            "unparseable",
            "`range_high` is 40, below `range_low`",
        ),
        (
            devil,
            CRITIQUE | {"range_high": 140},
            "off_scale",
            "`range_high` is 140, outside 0-100",
        ),
        (
            devil,
            without(CRITIQUE, "range_low"),
            "unparseable",
            "`range_low` is missing",
        ),
        (devil, CRITIQUE | {"critique_strength": 11}, "off_scale", "outside 0-10"),
        (
            devil,
            CRITIQUE | {"issues": [ISSUE | {"severity": "fatal"}]},
            "unparseable",
            "issues.0.severity",
        ),
        (
            devil,
            CRITIQUE | {"confidence": None},
            "unparseable",
            "`confidence` is None, not a number",
        ),
        (devil, CRITIQUE | {"remark": "x"}, "unparseable", "`remark`"),
        (
            DistributionalJudge,
            "mostly the third level",
            "unparseable",
            "not a JSON object",
        ),
        (
            DistributionalJudge,
            POINTS | {"level_2": "ten"},
            "unparseable",
            "not a number",
        ),
        (DistributionalJudge, POINTS | {"level_2": -10}, "off_scale", "outside 0-100"),
        (
            DistributionalJudge,
            dict.fromkeys(POINTS, 0) | {"reason": "None."},
            "unparseable",
            "all levels got 0 points",
        ),
        (
            DebateJudge,
            without(DEBATE, "final_score"),
            "unparseable",
            "`final_score` is missing",
        ),
        (
            DebateJudge,
            DEBATE | {"rationale": " "},
            "unparseable",
            "`rationale` is empty",
        ),
        (
            DebateJudge,
            DEBATE | {"compelling": None},
            "unparseable",
            "`compelling` is empty",
        ),
        (
            DebateJudge,
            DEBATE | {"advocate_strengths": ["cites", "one theme"]},
            "unparseable",
            "at least 3 items",
        ),
        (
            DebateJudge,
            DEBATE | {"critic_weaknesses": FORM[:3]},
            "unparseable",
            "`critic_weaknesses` has no words of",
        ),
        (
            DebateJudge,
            DEBATE | {"rationale": FORM[3]},
            "unparseable",
            "`rationale` has no words of its own",
        ),
        (
            RedBlueJudge,
            RED_BLUE | {"red_reasons": FORM[4:]},
            "unparseable",
            "`red_reasons`",
        ),
        (
            devil,
            CRITIQUE | {"issues": [ISSUE | {"text": "the problem"}]},
            "unparseable",
            "`issues` has no words",
        ),
        (probe, {"accuracy": 64}, "unparseable", "`reason` is missing"),
        (
            DistributionalJudge,
            POINTS | {"reason": "..."},
            "unparseable",
            "`reason` has no words of its own",
        ),
        (
            RedBlueJudge,
            RED_BLUE | {"blue_strength": True},
            "unparseable",
            "not a number",
        ),
        (
            single,
            SINGLE | {"range_low": 70},
            "unparseable",
            "`range_low` is 70, above `score` 60",
        ),
        (probe, ACCURACY | {"accuracy": 640}, "off_scale", "outside 0-100"),
    ],
)
def test_a_bad_answer_gets_one_retry_with_the_reason_then_a_failure(
    bench: Bench, style: Any, bad: Any, kind: str, said: str
) -> None:
    outcome = bench.judge(style(bench.words(bad))).outcome
    assert isinstance(outcome, Failure)
    assert (outcome.reason, len(bench.chat.requests)) == (kind, 2)
    assert said in outcome.message and said in bench.asked()[1]
    assert outcome.raw


# Over log-probabilities: one call per number, no words needed

SIXTY = Verdict(score=60.0)
EVEN = dict.fromkeys(range(5), 0.2)


def only(label: int) -> dict[int, float]:
    return {label: 1.0}


def by_words(odds: dict[str, dict[int, float]]) -> Callable[[str], dict[int, float]]:
    """The odds of the first of these words that are in a question."""
    return lambda question: next(
        (found for words, found in odds.items() if words in question), EVEN
    )


@pytest.mark.parametrize(
    ("make", "calls"),
    [
        (lambda asker: DevilsAdvocateJudge(FixedJudge(SIXTY), asker), 3),
        (DistributionalJudge, 5),
        (DebateJudge, 3),
        (lambda asker: DebateJudge(asker, separate_calls=True), 3),
        (RedBlueJudge, 3),
        (lambda asker: SinglePassJudge(FixedJudge(SIXTY), asker), 2),
        (lambda asker: CalibrationProbeJudge(FixedJudge(SIXTY), asker), 1),
    ],
)
@pytest.mark.parametrize("base", [True, False])
def test_one_call_per_number(
    bench: Bench, make: Callable[[Asker], Judge], calls: int, base: bool
) -> None:
    judgment = bench.judge(make(bench.levels(lambda _: EVEN, base=base)))
    assert judgment.cost.calls == len(bench.chat.requests) == calls
    assert judgment.outcome.uncertainty in ("low", "medium", "high")


def test_each_number_is_the_expectation_over_its_own_levels_and_context_of_the_next_question(
    bench: Bench,
) -> None:
    odds = by_words({"objections damage": only(3), "lowest": only(1), "": only(2)})
    outcome = bench.verdict(DevilsAdvocateJudge(FixedJudge(SIXTY), bench.levels(odds)))
    assert outcome.details["critique_strength"] == pytest.approx(0.75)
    assert outcome.interval == pytest.approx((25, 50))
    assert (outcome.score, outcome.uncertainty) == (60, "high")
    assert (outcome.confidence, outcome.confidence_source) == (
        pytest.approx(25),
        "procedure",
    )
    bench.judge(
        DevilsAdvocateJudge(
            FixedJudge(SIXTY), bench.levels(lambda _: only(2), base=True)
        )
    )
    _, low, high = bench.asked()
    assert "Strength of the objections: 5 of 10." in low
    assert "Lowest defensible score: 50." in high
    assert high.endswith("4 = all\nLevel: ")
    assert {request["messages"][0]["content"] for request in bench.chat.requests} == {
        "Text: Tema 69.\n\n"
    }
    assert all(
        "A judge's score: 60, on the scale from 0 to 100." in question
        for question in bench.asked()
    )


def test_the_high_end_is_not_read_below_the_low_end_and_answers_without_order_or_off_the_scale_fail(
    bench: Bench,
) -> None:
    odds = {"the lowest": only(2), "the highest": {0: 0.5, 3: 0.25, 4: 0.25}}
    outcome = bench.verdict(
        DevilsAdvocateJudge(FixedJudge(SIXTY), bench.levels(by_words(odds)))
    )
    assert outcome.interval == pytest.approx((50, 87.5))
    turned = bench.levels(by_words({"the lowest": only(3), "the highest": only(0)}))
    failed = bench.judge(DevilsAdvocateJudge(FixedJudge(SIXTY), turned)).outcome
    assert isinstance(failed, Failure)
    assert (failed.reason, "below `range_low`" in failed.message) == (
        "unparseable",
        True,
    )
    other = bench.judge(DebateJudge(bench.levels(lambda _: {8: 0.9, 1: 0.1}))).outcome
    assert isinstance(other, Failure) and other.reason == "off_scale"


def test_sides_of_a_debate_argue_within_bands_and_chances_one_by_one_become_a_distribution(
    bench: Bench,
) -> None:
    outcome = bench.verdict(DebateJudge(bench.levels(lambda _: EVEN)))
    assert (
        outcome.details["advocate_score"],
        outcome.details["critic_score"],
    ) == pytest.approx((90, 25))
    # What is printed as confidence follows from where the judge stands between the sides, as level
    # and doubt do.
    position = outcome.details["judge_position"]
    assert outcome.doubt == pytest.approx(0.5 - abs(position - 0.5))
    assert outcome.confidence == pytest.approx(100 * (1 - 2 * outcome.doubt))
    assert outcome.confidence_source == "procedure"
    assert outcome.details["stated_confidence"] == pytest.approx(
        outcome.distribution.confidence
    )
    outcome = bench.verdict(
        DistributionalJudge(
            bench.levels(lambda q: only(4) if "75: much" in q else only(1))
        )
    )
    assert outcome.distribution.probabilities == pytest.approx(
        (0.125, 0.125, 0.125, 0.5, 0.125)
    )
    assert outcome.details["points_sum"] == pytest.approx(200)
    outcome = bench.verdict(
        SinglePassJudge(FixedJudge(SIXTY), bench.levels(lambda _: EVEN))
    )
    assert (outcome.score, outcome.interval) == (60, pytest.approx((25, 87.5)))


# The wording of the steps, and the schemas that servers get

STEPS: dict[str, type[Answer]] = {
    "critique": Critique,
    "debate": Debate,
    "advocate": Advocate,
    "critic": Critic,
    "arbiter": Decision,
    "red_blue": RedBlue,
    "single_pass": devils_advocate.SinglePass,
    "accuracy": devils_advocate.Accuracy,
}


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize("step", STEPS)
def test_every_field_is_worded_in_every_language(
    step: str, language: str, rubric: Rubric
) -> None:
    words, kind = StepWording.model_validate(WORDINGS[language][step]), STEPS[step]
    assert list(words.form) == list(kind.model_fields)
    for name, number in numbers(kind).items():
        if not number.words_only:
            answers = words.levels[name].answers
            assert len(answers or rubric.levels) == len(number.levels(rubric))


def test_a_language_without_wording_names_those_that_have_one(
    prompt: Prompt, rubric: Rubric
) -> None:
    spoken = Asker(
        WordsQuestion,
        FakeChat(lambda _: ("", None)),
        prompt,
        rubric,
        {"pt": WORDINGS["pt"]},
    )
    with pytest.raises(ConfigError, match=r"no wording in 'en' \(it has: pt\)"):
        spoken.question("critique", Critique)


def test_the_schema_requires_and_bounds_every_field_and_has_points_per_level_that_mean_it(
    rubric: Rubric,
) -> None:
    made = schema(Critique, rubric)
    assert (
        made["required"] == list(Critique.model_fields)
        and made["additionalProperties"] is False
    )
    assert made["properties"]["range_high"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 100,
    }
    assert made["properties"]["critique_strength"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 10,
    }
    asked = schema(Debate, rubric)["properties"]["advocate_strengths"]
    assert (asked["minItems"], asked["maxItems"]) == (3, 3)
    assert schema(Debate, rubric)["properties"]["compelling"]["enum"] == [
        "advocate",
        "critic",
        "neither",
    ]
    marks = numbers(points_answer(rubric, "en"))
    assert [mark.meaning for mark in marks.values()] == [
        "0: none",
        "25: little",
        "50: half",
        "75: much",
        "100: all",
    ]


@pytest.mark.parametrize(
    ("given", "is_one"),
    [
        ("Argument with evidence.", True),
        ("argument 2 with evidence", True),
        ("…", True),
        (["It cites Tema 69.", "..."], True),
        ({"text": "No scope.", "severity": "minor"}, False),
        ("The argument is that no evidence is given.", False),
        ("1988", False),
        (True, False),
    ],
)
def test_what_only_repeats_the_form_is_told_from_an_argument(
    given: object, is_one: bool
) -> None:
    assert (
        repeats(
            '["argument with evidence", "...", {"severity": "minor" | "major"}]', given
        )
        is is_one
    )
