"""Panels and selective judges over judges that need no model."""

import asyncio
import json
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import PROMPT, RUBRIC, FakeChat, good_answer, reference
from tests.judges.conftest import Bench, FixedJudge
from undogmatic.config.build import build
from undogmatic.errors import ConfigError, DataError, UnparseableAnswer
from undogmatic.judges.devils_advocate import DevilsAdvocateJudge
from undogmatic.judges.panel import PanelJudge
from undogmatic.judges.score import ScoreJudge
from undogmatic.judges.selective import Rules, SelectiveJudge, beyond
from undogmatic.models.calls import Gateway
from undogmatic.readouts.base import categorised, mixture
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.records import (
    Failure,
    Item,
    ScoreDistribution,
    Verdict,
    entropy_verdict,
)
from undogmatic.records.rubric import Rubric, UnorderedScale


def panel(*scores: float, **options: object) -> PanelJudge:
    return PanelJudge([FixedJudge(Verdict(score=s)) for s in scores], RUBRIC, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "score"),
    [
        ({}, 46),
        ({"aggregate": "median"}, 50),
        ({"aggregate": "trimmed_mean"}, 130 / 3),
        ({"aggregate": "weighted", "weights": [3.0, 0.0, 0.0, 0.0, 1.0]}, 30),
    ],
)
def test_aggregates(bench: Bench, options: dict[str, object], score: float) -> None:
    outcome = bench.verdict(panel(10, 20, 50, 60, 90, **options))
    assert outcome.score == pytest.approx(score)


def test_disagreement_is_the_uncertainty_of_members_without_a_level_else_what_they_say_is_joined(
    bench: Bench,
) -> None:
    agreed = bench.judge(panel(50, 55, 60)).outcome
    apart = bench.judge(panel(20, 55, 90)).outcome
    assert (agreed.uncertainty, apart.uncertainty, apart.review) == (
        "low",
        "high",
        True,
    )
    assert agreed.details["spread"] == 10 and agreed.interval == pytest.approx((45, 65))
    assert (
        agreed.confidence > apart.confidence
        and agreed.distribution.values == RUBRIC.levels
    )
    assert (
        agreed.distribution.expectation
        == pytest.approx(agreed.score)
        == pytest.approx(55)
    )
    one = ScoreDistribution(values=(0, 100), probabilities=(0.2, 0.8))
    two = ScoreDistribution(values=(0, 100), probabilities=(0.6, 0.4))
    members = [
        FixedJudge(
            Verdict(
                score=80.0,
                distribution=one,
                uncertainty="high",
                review=True,
                issues=("a",),
            )
        ),
        FixedJudge(
            Verdict(score=40.0, distribution=two, uncertainty="medium", issues=("b",))
        ),
    ]
    outcome = bench.verdict(PanelJudge(members, RUBRIC))
    assert outcome.distribution.probabilities == pytest.approx((0.4, 0.6))
    assert (outcome.uncertainty, outcome.review, outcome.interval) == (
        "high",
        True,
        pytest.approx((40, 80)),
    )
    assert outcome.issues[:2] == ("a", "b") and "medium" in outcome.issues[2]


def shares_of_points(
    *probabilities: float, rubric: Rubric = RUBRIC, **fields: Any
) -> FixedJudge:
    """A member that judges by a distribution over the rubric's levels."""
    spread = ScoreDistribution(values=rubric.levels, probabilities=probabilities)
    fields = {"uncertainty": "low"} | fields
    return FixedJudge(categorised(entropy_verdict(spread, **fields), rubric))


def test_a_panel_of_distributional_judges_is_their_mixture_with_its_entropy_and_interval(
    bench: Bench,
) -> None:
    low = shares_of_points(0.5, 0.5, 0, 0, 0, rationale="low", issues=("a",))
    high = shares_of_points(0, 0, 0, 0.5, 0.5, rationale="high")
    found = bench.verdict(PanelJudge([low, high], RUBRIC))
    assert found.distribution.probabilities == pytest.approx(
        (0.25, 0.25, 0, 0.25, 0.25)
    )
    assert (found.score, found.interval, found.issues) == (
        pytest.approx(50),
        (0, 100),
        ("a",),
    )
    # members of one bit each, and one more bit for which of the two is right
    unit = np.log2(5)
    assert found.doubt == found.details["entropy"] == pytest.approx(2 / unit)
    assert found.details["entropy_between"] == pytest.approx(1 / unit)
    assert found.confidence == pytest.approx(100 * (1 - 2 / unit))
    assert (found.confidence_source, found.uncertainty, found.review) == (
        "entropy",
        "high",
        True,
    )
    agreed = bench.verdict(PanelJudge([low, low], RUBRIC))
    assert agreed.details["entropy_between"] == pytest.approx(0, abs=1e-9)
    assert (agreed.interval, agreed.uncertainty, agreed.review) == (
        (0, 25),
        "medium",
        False,
    )


def test_the_mixture_weighs_members_as_the_score_does_and_the_interval_holds_the_score(
    bench: Bench,
) -> None:
    low, high = shares_of_points(1, 0, 0, 0, 0), shares_of_points(0, 0, 0, 0, 1)
    weighted = PanelJudge([low, high], RUBRIC, aggregate="weighted", weights=[1.0, 3.0])
    found = bench.verdict(weighted)
    assert found.distribution.probabilities == pytest.approx((0.25, 0, 0, 0, 0.75))
    assert (
        found.score
        == pytest.approx(found.distribution.expectation)
        == pytest.approx(75)
    )
    # a member without weight says nothing
    alone = PanelJudge([low, high], RUBRIC, aggregate="weighted", weights=[0.0, 1.0])
    found = bench.verdict(alone)
    assert (found.interval, found.doubt, found.uncertainty) == ((100, 100), 0, "low")
    # 24 of 25 at the top: the mean is 96, and the middle 90 % are the top alone
    found = bench.verdict(PanelJudge([low, *[high] * 24], RUBRIC))
    assert found.score == pytest.approx(96) and found.interval == (
        pytest.approx(96),
        100,
    )


@given(
    st.lists(
        st.lists(st.floats(0.01, 1), min_size=5, max_size=5),
        min_size=1,
        max_size=4,
    )
)
def test_the_entropy_of_a_mixture_is_never_below_its_members_on_average(
    points: list[list[float]],
) -> None:
    verdicts = [
        entropy_verdict(
            ScoreDistribution(
                values=RUBRIC.levels, probabilities=tuple(p / sum(each) for p in each)
            )
        )
        for each in points
    ]
    spread = mixture(verdicts, [1 / len(verdicts)] * len(verdicts))
    own = [v.distribution.normalised_entropy for v in verdicts]
    assert np.mean(own) - 1e-9 <= spread.normalised_entropy <= 1
    assert spread.expectation == pytest.approx(np.mean([v.score for v in verdicts]))


def test_members_without_a_distribution_or_on_other_levels_are_no_mixture(
    bench: Bench,
) -> None:
    spread = shares_of_points(0, 0, 1, 0, 0)
    found = bench.verdict(PanelJudge([spread, FixedJudge(Verdict(score=20.0))], RUBRIC))
    assert (found.score, found.confidence_source) == (35, "procedure")
    assert "entropy_between" not in found.details
    other = ScoreDistribution(values=(0, 100), probabilities=(0.5, 0.5))
    members = [spread, FixedJudge(entropy_verdict(other, uncertainty="high"))]
    found = bench.verdict(PanelJudge(members, RUBRIC))
    assert (found.confidence_source, found.distribution.values) == (
        "procedure",
        RUBRIC.levels,
    )
    # odds alone, of which no member takes a level
    odds = [shares_of_points(0, 0, 1, 0, 0, uncertainty=None)] * 2
    assert bench.verdict(PanelJudge(odds, RUBRIC)).confidence_source == "procedure"


CHOICE = Rubric(
    name="choice",
    scale=UnorderedScale(categories=("A", "B", "C", "D")),
    wordings={"en": {"definition": "Right option.", "question": "Which?"}},
)


def test_options_of_multiple_choice_add_up_too_and_votes_count_their_weights(
    bench: Bench,
) -> None:
    first = shares_of_points(0.4, 0.6, 0, 0, rubric=CHOICE, rationale="B, said one")
    other = shares_of_points(
        0.9, 0.1, 0, 0, rubric=CHOICE, rationale="A, said the other"
    )
    found = bench.verdict(PanelJudge([first, other], CHOICE))
    # votes would have been even; the points say A
    assert (found.category, found.score, found.interval) == ("A", None, None)
    assert found.distribution.probabilities == pytest.approx((0.65, 0.35, 0, 0))
    entropy = -(0.65 * np.log2(0.65) + 0.35 * np.log2(0.35)) / 2
    assert found.doubt == found.details["entropy"] == pytest.approx(entropy)
    assert (found.uncertainty, found.rationale) == ("medium", "A, said the other")
    assert found.details["members"] == "fixed B, fixed A"

    options = {"aggregate": "weighted", "weights": [9.0, 1.0]}
    found = bench.verdict(PanelJudge([first, other], CHOICE, **options))
    assert (found.category, found.rationale) == ("B", "B, said one")
    votes = [FixedJudge(Verdict(category=name)) for name in "BA"]
    found = bench.verdict(PanelJudge(votes, CHOICE, **options))
    assert (found.category, found.distribution.probabilities) == (
        "B",
        pytest.approx((0.1, 0.9, 0, 0)),
    )


def test_a_failed_member_is_left_out_most_failed_is_a_failure_and_a_config_error_stops_the_run(
    bench: Bench,
) -> None:
    good, bad = (
        FixedJudge(Verdict(score=30.0)),
        FixedJudge(UnparseableAnswer("nonsense", "raw words")),
    )
    outcome = bench.verdict(PanelJudge([good, bad], RUBRIC))
    assert (outcome.score, outcome.details["members_failed"]) == (30, 1)
    assert outcome.issues == ("unparseable: nonsense",)
    failed = bench.judge(PanelJudge([good, bad, bad], RUBRIC)).outcome
    assert isinstance(failed, Failure) and failed.raw == "raw words"
    with pytest.raises(ConfigError, match="wrong key"):
        bench.judge(PanelJudge([good, FixedJudge(ConfigError("wrong key"))], RUBRIC))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"repeats": 0}, "greater than or equal to 1"),
        ({"repeats": 2}, "answers the same each time"),
        ({"trim": 0.5}, "less than 0.5"),
        ({"aggregate": "weighted"}, "weights go with"),
        ({"weights": [1.0, 1.0]}, "weights go with"),
        ({"aggregate": "weighted", "weights": [1.0]}, "one number >= 0 per member"),
        ({"aggregate": "weighted", "weights": [0.0, 0.0]}, "not all 0"),
        (
            {"aggregate": "weighted", "weights": [1.0, 1.0], "history": ["a", "b"]},
            "exactly one of the two",
        ),
        (
            {"aggregate": "median", "history": ["a", "b"]},
            "weights go with aggregate=weighted",
        ),
        (
            {"aggregate": "weighted", "history": ["a"]},
            r"names 1 run\(s\), and the panel has 2 members",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused(
    options: dict[str, object], said: str
) -> None:
    members = [FixedJudge(Verdict(score=score)) for score in (10, 20)]
    with pytest.raises(ConfigError, match=said):
        build(
            {"_target_": "undogmatic.judges.panel.PanelJudge", **options},
            "judge",
            members=members,
            rubric=RUBRIC,
        )


def test_repeats_are_real_calls_and_a_repeat_of_the_run_repeats_none_of_them(
    bench: Bench,
) -> None:
    scores = iter(range(100))
    bench.chat, readout = (
        FakeChat(lambda _: (good_answer(next(scores)), None)),
        StructuredReadout(temperature=1.0),
    )
    bench.chat.connect(Gateway())
    readout.bind(bench.chat, PROMPT, RUBRIC)
    judgment = bench.judge(PanelJudge([ScoreJudge(readout)], RUBRIC, repeats=4))
    assert judgment.cost.calls == 4 and judgment.score == pytest.approx(1.5)


def selective(cheap: Verdict, **rules: object) -> tuple[SelectiveJudge, FixedJudge]:
    expensive = FixedJudge(Verdict(score=55.0, uncertainty="low"), "expensive")
    return (
        SelectiveJudge(
            FixedJudge(cheap), expensive, RUBRIC, Rules.model_validate(rules)
        ),
        expensive,
    )


def test_the_expensive_judge_is_called_only_where_a_rule_fires_and_one_without_its_number_is_named(
    bench: Bench,
) -> None:
    judge, expensive = selective(Verdict(score=71.0), high_score={})
    outcome = bench.verdict(judge)
    assert (
        outcome.score,
        outcome.details["escalated"],
        outcome.details["rules_fired"],
    ) == (
        55,
        1,
        "high_score",
    )
    assert outcome.details["cheap_score"] == 71
    judge, expensive = selective(Verdict(score=70.0), high_score={})
    outcome = bench.verdict(judge)
    assert (
        outcome.score,
        outcome.details["escalated"],
        outcome.details["rules_fired"],
    ) == (
        70,
        0,
        "",
    )
    assert expensive.asked == 0
    judge, _ = selective(
        Verdict(score=10.0), disagrees_with_f1={}, low_confidence={}, wide_interval={}
    )
    outcome = bench.verdict(judge, accuracy=0.9)
    assert (
        outcome.details["rules_not_evaluated"]
        == "disagrees_with_f1, low_confidence, wide_interval"
    )


F1, HALLUCINATION = (
    {"accuracy": 0.9, "automatic_f1": 0.5},
    {
        "scientific": 0.8,
        "hallucination_rate": 0.2,
    },
)


@pytest.mark.parametrize(
    ("rules", "metadata", "fired"),
    [
        ({"high_score": None}, {}, ""),
        ({"high_score": {"overall_above": 0.5}}, {}, "high_score"),
        ({"high_score": {"overall_above": 0.62}}, {}, ""),
        ({"disagrees_with_f1": {}}, F1, "disagrees_with_f1"),
        ({"disagrees_with_f1": {"f1_gap_above": 0.5}}, F1, ""),
        ({"disagrees_with_f1": {}}, {"accuracy": 0.9, "automatic_f1": 0.6}, ""),
        (
            {"high_scientific_hallucination": {}},
            HALLUCINATION,
            "high_scientific_hallucination",
        ),
        (
            {"high_scientific_hallucination": {}},
            HALLUCINATION | {"scientific": 0.7},
            "",
        ),
        (
            {"high_scientific_hallucination": {}},
            HALLUCINATION | {"hallucination_rate": 0.1},
            "",
        ),
        ({"low_variance": {}}, {"bootstrap_variance": 0.01}, "low_variance"),
        ({"low_variance": {}}, {"bootstrap_variance": 0.05}, ""),
        (
            {"low_variance": {"stable_overall_above": 0.65}},
            {"bootstrap_variance": 0.01},
            "",
        ),
        ({"low_confidence": {"confidence_below": 41}}, {}, "low_confidence"),
        ({"wide_interval": {"width_above": 0.3}}, {}, "wide_interval"),
        ({"low_confidence": {}, "wide_interval": {}}, {}, "low_confidence"),
    ],
)
def test_each_rule_has_its_switch_and_its_thresholds(
    bench: Bench, rules: dict[str, object], metadata: dict[str, float], fired: str
) -> None:
    judge, _ = selective(
        Verdict(score=62.0, confidence=40.0, interval=(45.0, 80.0)), **rules
    )
    outcome = bench.verdict(judge, **metadata)
    assert outcome.details["rules_fired"] == fired


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_threshold_never_escalates_more(
    value: float, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert beyond("overall_above", high, value) <= beyond("overall_above", low, value)
    assert beyond("variance_below", high, value) >= beyond("variance_below", low, value)


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        ({"highscore": {}}, "highscore"),
        ({"high_score": {"overall_above": 7}}, r"high_score\.overall_above"),
    ],
)
def test_an_unknown_rule_and_a_threshold_off_its_scale_are_named(
    rules: dict[str, object], where: str
) -> None:
    with pytest.raises(ValueError, match=where):
        Rules.model_validate(rules)


@pytest.mark.parametrize("value", ["high", 1.5, True])
def test_metadata_that_is_no_share_is_named(bench: Bench, value: object) -> None:
    judge, _ = selective(Verdict(score=10.0), low_variance={})
    with pytest.raises(DataError, match=r"item 'a'.*bootstrap_variance"):
        bench.judge(judge, bootstrap_variance=value)


def test_every_shared_trigger_decision_is_reproduced() -> None:
    lines = (
        reference("flow/judge_and_auto.jsonl").read_text(encoding="utf-8").splitlines()
    )
    rows = [row for row in map(json.loads, lines) if row["judge_error"] is None]
    repeats: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        repeats[row["test_case_id"], row["model"], row["condition"]].append(
            row["judge_0_10"]["overall"] / 10
        )
    names = (
        "high_score",
        "disagrees_with_f1",
        "high_scientific_hallucination",
        "low_variance",
    )
    judge, _ = selective(Verdict(score=0.0), **{name: {} for name in names})
    decisions = []
    for row in rows:
        # A raw 1 is a tenth: the scale is 0-10, whatever the number looks like.
        unit = {name: value / 10 for name, value in row["judge_0_10"].items()}
        variance = float(
            np.var(repeats[row["test_case_id"], row["model"], row["condition"]])
        )
        expected = row["expected_trigger"]
        assert variance == pytest.approx(
            expected["bootstrap_variance_population"], abs=1e-9
        )
        about = unit | {
            "automatic_f1": row["auto"]["hierarchy_f1"],
            "bootstrap_variance": variance,
        }
        about["hallucination_rate"] = row["auto"].get("hallucination_rate")
        fired, _ = judge.fired(
            Verdict(score=100 * unit["overall"]), Item(id="a", text="t", metadata=about)
        )
        assert {name: name in fired for name in names} == expected["rules"], row[
            "condition"
        ]
        assert bool(fired) == expected["run"]
        decisions.append(fired)
    totals = json.loads(reference("flow/expected.json").read_text(encoding="utf-8"))[
        "trigger"
    ]
    assert len(decisions) == totals["n"]
    assert np.mean([bool(fired) for fired in decisions]) == pytest.approx(
        totals["rate"], abs=1e-9
    )
    assert {
        name: np.mean([name in fired for fired in decisions]) for name in names
    } == pytest.approx(totals["by_rule"])


def test_a_score_already_had_is_handed_on_and_judges_work_without_an_event_loop(
    bench: Bench,
) -> None:
    critique = {
        "issues": [],
        "critique_strength": 1,
        "range_low": 70,
        "range_high": 80,
        "confidence": 9,
    }
    cheap, initial = FixedJudge(Verdict(score=75.0)), FixedJudge(Verdict(score=75.0))
    devil = DevilsAdvocateJudge(initial, bench.words(critique))
    judgment = bench.judge(SelectiveJudge(cheap, devil, RUBRIC, Rules(high_score={})))  # type: ignore[arg-type]
    assert (cheap.asked, initial.asked, judgment.cost.calls) == (1, 0, 1)
    assert (judgment.outcome.interval, judgment.outcome.details["escalated"]) == (
        (70, 80),
        1,
    )
    judge = panel(10, 20)
    assert judge(item=Item(id="a", text="t")).verdict.score == 15
    assert asyncio.run(judge.acall(item=Item(id="a", text="t"))).verdict.score == 15
