"""Each style over log-probabilities: one call per number, no words needed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.judges.conftest import Bench, FixedJudge
from undogmatic.judges.asker import Asker
from undogmatic.judges.base import Judge
from undogmatic.judges.calibration_probe import CalibrationProbeJudge
from undogmatic.judges.debate import DebateJudge
from undogmatic.judges.devils_advocate import DevilsAdvocateJudge
from undogmatic.judges.distributional import DistributionalJudge
from undogmatic.judges.red_blue import RedBlueJudge
from undogmatic.judges.single_pass import SinglePassJudge
from undogmatic.records.records import Failure, Verdict

START = Verdict(score=60.0)
EVEN = dict.fromkeys(range(5), 0.2)


def only(label: int) -> dict[int, float]:
    return {label: 1.0}


@pytest.mark.parametrize(
    ("make", "calls"),
    [
        (lambda asker: DevilsAdvocateJudge(FixedJudge(START), asker), 3),
        (DistributionalJudge, 5),
        (DebateJudge, 3),
        (lambda asker: DebateJudge(asker, separate_calls=True), 3),
        (RedBlueJudge, 3),
        (lambda asker: SinglePassJudge(FixedJudge(START), asker), 2),
        (lambda asker: CalibrationProbeJudge(FixedJudge(START), asker), 1),
    ],
)
@pytest.mark.parametrize("base", [True, False])
def test_one_call_per_number(bench: Bench, make: Callable[[Asker], Judge], calls: int, base: bool) -> None:
    judgment = bench.judge(make(bench.levels(lambda _: EVEN, base=base)))
    assert isinstance(judgment.outcome, Verdict), judgment.outcome
    assert judgment.cost.calls == len(bench.chat.requests) == calls
    assert judgment.outcome.uncertainty in ("low", "medium", "high")


def test_each_number_is_the_expectation_over_its_own_levels(bench: Bench) -> None:
    def odds(question: str) -> dict[int, float]:
        return only(3) if "objections damage" in question else only(1) if "lowest" in question else only(2)

    judgment = bench.judge(DevilsAdvocateJudge(FixedJudge(START), bench.levels(odds)))
    outcome = judgment.outcome
    assert isinstance(outcome, Verdict)
    assert outcome.details["critique_strength"] == pytest.approx(0.75)
    assert outcome.interval == pytest.approx((25, 50))
    assert (outcome.score, outcome.uncertainty) == (60, "high")
    assert (outcome.confidence, outcome.confidence_source) == (pytest.approx(25), "procedure")


def test_what_was_answered_is_context_of_the_next_question(bench: Bench) -> None:
    bench.judge(DevilsAdvocateJudge(FixedJudge(START), bench.levels(lambda _: only(2), base=True)))
    _, low, high = bench.asked()
    assert "Strength of the objections: 5 of 10." in low
    assert "Lowest defensible score: 50." in high
    assert high.endswith("4 = all\nLevel: ")
    assert {request["messages"][0]["content"] for request in bench.chat.requests} == {"Text: Tema 69.\n\n"}
    assert all("A judge's score: 60, on the scale from 0 to 100." in question for question in bench.asked())


def test_the_high_end_is_read_from_the_levels_not_below_the_low_end(bench: Bench) -> None:
    def odds(question: str) -> dict[int, float]:
        return (
            only(2) if "the lowest" in question else {0: 0.5, 3: 0.25, 4: 0.25} if "the highest" in question else EVEN
        )

    outcome = bench.judge(DevilsAdvocateJudge(FixedJudge(START), bench.levels(odds))).outcome
    assert isinstance(outcome, Verdict)
    assert outcome.interval == pytest.approx((50, 87.5))


def test_a_range_that_cannot_be_put_in_order_is_a_failure(bench: Bench) -> None:
    def odds(question: str) -> dict[int, float]:
        return only(3) if "the lowest" in question else only(0) if "the highest" in question else EVEN

    outcome = bench.judge(DevilsAdvocateJudge(FixedJudge(START), bench.levels(odds))).outcome
    assert isinstance(outcome, Failure)
    assert (outcome.reason, "below `range_low`" in outcome.message) == ("unparseable", True)


def test_a_model_that_answers_with_something_else_is_a_failure(bench: Bench) -> None:
    outcome = bench.judge(DebateJudge(bench.levels(lambda _: {8: 0.9, 1: 0.1}))).outcome
    assert isinstance(outcome, Failure)
    assert outcome.reason == "off_scale"


def test_the_sides_of_a_debate_argue_within_their_bands(bench: Bench) -> None:
    outcome = bench.judge(DebateJudge(bench.levels(lambda _: EVEN))).outcome
    assert isinstance(outcome, Verdict)
    assert (outcome.details["advocate_score"], outcome.details["critic_score"]) == pytest.approx((90, 25))
    assert outcome.distribution is not None
    # What is printed as confidence follows from where the judge stands between the sides, as level and doubt do.
    position = outcome.details["judge_position"]
    assert outcome.doubt == pytest.approx(0.5 - abs(position - 0.5))
    assert (outcome.confidence, outcome.confidence_source) == (
        pytest.approx(100 * (1 - 2 * outcome.doubt)),
        "procedure",
    )
    assert outcome.details["stated_confidence"] == pytest.approx(outcome.distribution.confidence)


def test_chances_asked_one_by_one_become_a_distribution(bench: Bench) -> None:
    outcome = bench.judge(DistributionalJudge(bench.levels(lambda q: only(4) if "75: much" in q else only(1)))).outcome
    assert isinstance(outcome, Verdict)
    assert outcome.distribution is not None
    assert outcome.distribution.probabilities == pytest.approx((0.125, 0.125, 0.125, 0.5, 0.125))
    assert outcome.details["points_sum"] == pytest.approx(200)


def test_the_range_of_a_single_pass_holds_the_initial_score(bench: Bench) -> None:
    outcome = bench.judge(SinglePassJudge(FixedJudge(START), bench.levels(lambda _: EVEN))).outcome
    assert isinstance(outcome, Verdict)
    assert (outcome.score, outcome.interval) == (60, pytest.approx((25, 87.5)))
