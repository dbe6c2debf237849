"""The uncertainty formulas: published-by-hand cases, shared reference cases, and the properties
they promise."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.conftest import reference_rows
from undogmatic.stats import uncertainty
from undogmatic.stats.uncertainty import (
    completed,
    ends,
    expected_score,
    integer_masses,
    longest_digits,
)

WEIGHTS = hnp.arrays(
    np.float64, st.integers(2, 12), elements=st.integers(0, 20).map(float)
).filter(lambda w: w.sum() > 0)
PROBABILITIES = WEIGHTS.map(lambda w: w / w.sum())
FIVE = [0.0, 25, 50, 75, 100]


class TestEntropy:
    @pytest.mark.parametrize(  # a level that nobody chose still counts
        ("p", "entropy"),
        [
            ([0.5, 0.25, 0.25, 0.0], 0.75),
            ([1.0], 0),
            ([0.0, 1.0, 0.0], 0),
            ([0.2] * 5, 1),
            ([0.5, 0.5, 0, 0], 0.5),
        ],
    )
    def test_known_values(self, p: list[float], entropy: float) -> None:
        assert uncertainty.normalised_entropy(p) == pytest.approx(entropy)

    @given(PROBABILITIES, st.randoms(use_true_random=False))
    def test_bounds_and_order_do_not_matter(
        self, p: np.ndarray, random: object
    ) -> None:
        shuffled = p.tolist()
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        entropy = float(uncertainty.normalised_entropy(p))
        assert 0 <= entropy <= 1
        assert uncertainty.normalised_entropy(shuffled) == pytest.approx(entropy)


class TestQuantileInterval:
    def test_hand_computed_and_a_tail_met_exactly_is_kept(self) -> None:
        assert uncertainty.quantile_interval(
            [0.04, 0.06, 0.5, 0.37, 0.03], FIVE, level=0.9
        ) == (
            25,
            75,
        )
        assert uncertainty.quantile_interval(
            [0.05, 0.9, 0.05], [0, 1, 2], level=0.9
        ) == (0, 2)

    @given(PROBABILITIES, st.sampled_from([0.5, 0.8, 0.9, 0.95]))
    def test_it_holds_what_it_promises_and_no_end_could_move_in(
        self, p: np.ndarray, level: float
    ) -> None:
        levels = np.arange(p.size, dtype=float)
        low, high = uncertainty.quantile_interval(p, levels, level)
        assert p[(low <= levels) & (levels <= high)].sum() >= level - 1e-9
        tail = (1 - level) / 2
        assert p[levels < low].sum() < tail
        assert p[levels > high].sum() < tail
        assert p[levels <= low].sum() >= tail - 1e-9
        assert p[levels >= high].sum() >= tail - 1e-9

    @given(PROBABILITIES)
    def test_turning_the_scale_round_mirrors_the_interval(self, p: np.ndarray) -> None:
        levels = np.arange(p.size, dtype=float)
        here = uncertainty.quantile_interval(p, levels)
        there = uncertainty.quantile_interval(p[::-1], -levels[::-1])
        assert there == (-here[1], -here[0])


class TestDiscretisedNormal:
    @given(st.floats(0.01, 99.99), st.floats(0, 80), st.sampled_from([2, 5, 11, 101]))
    def test_the_expectation_survives_the_cut(
        self, mean: float, sd: float, n_levels: int
    ) -> None:
        levels = np.linspace(0, 100, n_levels)
        p = uncertainty.discretised_normal(mean, sd, levels)
        assert np.all(p >= 0)
        assert p.sum() == pytest.approx(1)
        assert float(p @ levels) == pytest.approx(mean, abs=1e-5)

    def test_inside_a_fine_scale_the_spread_survives_too(self) -> None:
        levels = np.arange(0, 101.0)
        variance = uncertainty.discretised_normal(50, 8, levels) @ (levels - 50) ** 2
        assert float(np.sqrt(variance)) == pytest.approx(8, abs=0.02)

    @pytest.mark.parametrize("sd", [0, 0.01])
    def test_no_or_a_vanishing_spread_shares_between_neighbours(
        self, sd: float
    ) -> None:
        assert uncertainty.discretised_normal(30, sd, FIVE) == pytest.approx(
            [0, 0.8, 0.2, 0, 0], abs=1e-6
        )
        assert uncertainty.discretised_normal(25, sd, FIVE) == pytest.approx(
            [0, 1, 0, 0, 0], abs=1e-6
        )

    @pytest.mark.parametrize(("mean", "end"), [(-5, 0), (0, 0), (100, 4), (140, 4)])
    def test_a_mean_at_or_beyond_an_end_takes_the_end(
        self, mean: float, end: int
    ) -> None:
        assert uncertainty.discretised_normal(mean, 20, FIVE)[end] == 1

    @given(st.floats(1, 99), st.floats(0.5, 60))
    def test_turning_the_scale_round_mirrors_the_distribution(
        self, mean: float, sd: float
    ) -> None:
        p = uncertainty.discretised_normal(mean, sd, FIVE)
        mirrored = uncertainty.discretised_normal(100 - mean, sd, FIVE)
        assert p == pytest.approx(mirrored[::-1], abs=1e-7)

    def test_more_spread_is_more_entropy(self) -> None:
        doubts = [
            uncertainty.normalised_entropy(uncertainty.discretised_normal(50, sd, FIVE))
            for sd in (5, 15, 30)
        ]
        assert doubts[0] < doubts[1] < doubts[2]


RANK = {"low": 0, "medium": 1, "high": 2}
SCORES = st.integers(0, 20).map(lambda i: i / 2)
STRENGTHS = st.integers(0, 20).map(lambda i: i / 20)


OF_KIND: dict[str, Callable[[dict[str, Any]], Any]] = {
    "devils_advocate": lambda given: uncertainty.critique_uncertainty(**given),
    "distribution_entropy": uncertainty.points_entropy,
    "debate": lambda given: uncertainty.debate_uncertainty(
        given["advocate_score"], given["critic_score"], given["judge_final"]
    ),
    "aggregate": lambda given: uncertainty.aggregate_uncertainty(
        given["overall"], given["levels"]
    ),
}
near = functools.partial(pytest.approx, rel=0, abs=1e-9)


def test_a_case_of_each_kind_is_reproduced() -> None:
    # Of uncertainty/cases.jsonl, so that each kind is held to it everywhere.
    critique = uncertainty.critique_uncertainty(7.0, 0.9, (8.5, 10), 2)
    assert (critique.score_delta, *critique.confidence_interval) == near(
        (2.25, 0.85, 1)
    )
    assert (critique.level, critique.recommend_human_review) == ("high", True)
    points = uncertainty.points_entropy({"A": 15, "B": 70, "C": 75})
    assert (points.normalised_entropy, points.total, points.band) == (
        near(0.8544915225751241),
        160,
        "high",
    )
    debate = uncertainty.debate_uncertainty(10, 1, 8.0)
    assert (debate.judge_position, *debate.confidence_interval) == near(
        (0.7777777777777778, 0.1, 1)
    )
    assert debate.level == "medium"
    of_all = uncertainty.aggregate_uncertainty(
        [0.8, 0.9, 0.2, 0.8, 0.3], ["high", "high", "high", "low", "high"]
    )
    assert (of_all.score, *of_all.confidence_interval) == near((0.6, 0.1, 1))
    assert (of_all.uncertainty_level, of_all.recommend_expert_review) == ("high", True)


def test_every_shared_case_is_reproduced() -> None:
    for row in reference_rows("uncertainty/cases.jsonl"):
        result = OF_KIND[row["kind"]](row["input"])._asdict()
        for field, expected in row["expected"].items():
            same = expected if isinstance(expected, str | bool) else near(expected)
            assert result[field] == same, (row, field)


class TestCritique:
    @pytest.mark.parametrize(
        ("strength", "width", "major", "level"),
        [
            (0.3, 2, 0, "low"),
            (0.31, 2, 0, "medium"),
            (0.3, 2.5, 0, "medium"),
            (0.3, 2, 1, "medium"),
            (0.6, 4, 1, "medium"),
            (0.61, 4, 1, "high"),
            (0.6, 4.5, 1, "high"),
            (0.6, 4, 2, "high"),
        ],
    )
    def test_each_threshold_is_strict(
        self, strength: float, width: float, major: int, level: str
    ) -> None:
        result = uncertainty.critique_uncertainty(5, strength, (3, 3 + width), major)
        assert (result.level, result.recommend_human_review) == (level, level == "high")

    def test_a_one_on_ten_is_a_tenth_and_a_width_that_is_4_but_for_rounding_is_not_above_4(
        self,
    ) -> None:
        assert 8.3 - 4.3 > 4  # the trap exists
        assert uncertainty.critique_uncertainty(6, 0.1, (4.3, 8.3), 0).level == "medium"
        assert uncertainty.critique_uncertainty(
            1, 0.1, (1, 1), 0
        ).confidence_interval == (0.1, 0.1)

    @given(SCORES, STRENGTHS, SCORES, SCORES, st.integers(0, 3))
    def test_swapped_ends_are_ordered_and_noted(
        self, score: float, k: float, a: float, b: float, n: int
    ) -> None:
        one, other = (
            uncertainty.critique_uncertainty(score, k, ends, n)
            for ends in ((a, b), (b, a))
        )
        assert one[:4] == other[:4]
        assert len(one.notes) + len(other.notes) == (a != b)

    @given(
        SCORES,
        STRENGTHS,
        STRENGTHS,
        st.integers(0, 10),
        st.integers(0, 10),
        st.integers(0, 4),
        st.integers(0, 4),
    )
    def test_monotone_in_strength_width_and_issues(
        self, score: float, k1: float, k2: float, w1: int, w2: int, n1: int, n2: int
    ) -> None:
        less = uncertainty.critique_uncertainty(
            score, min(k1, k2), (0, min(w1, w2)), min(n1, n2)
        )
        more = uncertainty.critique_uncertainty(
            score, max(k1, k2), (0, max(w1, w2)), max(n1, n2)
        )
        assert RANK[less.level] <= RANK[more.level]


class TestPoints:
    def test_uniform_is_one_and_certain_is_zero(self) -> None:
        assert uncertainty.points_entropy(
            [25, 25, 25, 25]
        ).normalised_entropy == pytest.approx(1)
        certain = uncertainty.points_entropy([0, 100, 0])
        assert (certain.normalised_entropy, certain.band, certain.notes) == (
            0,
            "low",
            (),
        )
        half = uncertainty.points_entropy({"a": 50, "b": 50, "c": 0, "d": 0})
        assert (half.normalised_entropy, half.band) == (pytest.approx(0.5), "medium")
        assert uncertainty.points_entropy([100]).normalised_entropy == 0

    def test_points_that_do_not_sum_to_100_are_scaled_and_the_defect_recorded(
        self,
    ) -> None:
        result = uncertainty.points_entropy([30, 30, 60])
        assert result.probabilities == pytest.approx((0.25, 0.25, 0.5))
        assert result.total == 120
        assert "120" in result.notes[0]
        assert (
            result.normalised_entropy
            == uncertainty.points_entropy([25, 25, 50]).normalised_entropy
        )
        off_the_grid = uncertainty.points_entropy([33, 33, 34])
        assert off_the_grid.total == 100
        assert "multiples of 5" in off_the_grid.notes[0]

    @given(
        st.lists(
            st.integers(0, 20).map(lambda i: 5 * i), min_size=2, max_size=8
        ).filter(any),
        st.randoms(),
    )
    def test_the_order_of_options_does_not_matter(
        self, points: list[int], random: Any
    ) -> None:
        shuffled = random.sample(points, len(points))
        one, other = (
            uncertainty.points_entropy(points),
            uncertainty.points_entropy(shuffled),
        )
        assert one.normalised_entropy == pytest.approx(
            other.normalised_entropy, abs=1e-12
        )
        assert (one.band, one.total) == (other.band, other.total)


class TestDebate:
    @pytest.mark.parametrize(
        ("advocate", "critic", "final", "level"),
        [
            (8, 3, 5.5, "high"),
            (8, 3, 5, "low"),
            (8, 3, 6, "low"),
            (9, 3, 8, "medium"),
            (9, 3, 6, "high"),
        ],
    )
    def test_between_the_sides_is_high_and_the_borders_are_not(
        self, advocate: float, critic: float, final: float, level: str
    ) -> None:
        assert uncertainty.debate_uncertainty(advocate, critic, final).level == level

    @pytest.mark.parametrize(("advocate", "critic"), [(4, 4), (3, 6)])
    def test_a_degenerate_debate_is_high_and_says_why(
        self, advocate: float, critic: float
    ) -> None:
        result = uncertainty.debate_uncertainty(advocate, critic, 5)
        assert (result.level, result.judge_position) == ("high", None)
        assert "Degenerate" in result.notes[0]
        assert result.confidence_interval[0] <= result.confidence_interval[1]

    def test_a_verdict_outside_the_sides_is_kept_and_noted(self) -> None:
        result = uncertainty.debate_uncertainty(8, 4, 1)
        assert result.judge_position == -0.75
        assert "outside" in result.notes[0]

    @given(SCORES, SCORES, SCORES)
    def test_turning_the_scale_round_changes_sides_and_nothing_else(
        self, a: float, c: float, final: float
    ) -> None:
        one = uncertainty.debate_uncertainty(a, c, final)
        mirrored = uncertainty.debate_uncertainty(10 - c, 10 - a, 10 - final)
        assert (one.level, one.gap, len(one.notes)) == (
            mirrored.level,
            mirrored.gap,
            len(mirrored.notes),
        )
        if one.judge_position is not None and mirrored.judge_position is not None:
            assert one.judge_position == pytest.approx(1 - mirrored.judge_position)


class TestAggregate:
    def test_each_high_judgment_widens_both_sides_and_the_ends_are_clipped(
        self,
    ) -> None:
        calm = uncertainty.aggregate_uncertainty([0.4, 0.6], ["low", "low"])
        assert calm.confidence_interval == pytest.approx((0.4, 0.6))
        one = uncertainty.aggregate_uncertainty([0.4, 0.6], ["low", "high"])
        assert one.confidence_interval == pytest.approx((0.3, 0.7))
        assert (
            uncertainty.aggregate_uncertainty(
                [1, 0.9], ["low", "high"]
            ).confidence_interval[1]
            == 1
        )

    def test_medium_does_not_raise_the_level_but_is_said(self) -> None:
        result = uncertainty.aggregate_uncertainty(
            [0.5, 0.5, 0.5], ["low", "medium", "medium"]
        )
        assert (result.uncertainty_level, result.recommend_expert_review) == (
            "low",
            False,
        )
        assert "2 of 3" in result.notes[0]

    def test_one_flag_is_enough_for_review_and_issues_are_joined_in_order(self) -> None:
        result = uncertainty.aggregate_uncertainty(
            [0.5, 0.5],
            ["low", "low"],
            [False, True],
            [["no reasons"], ["wrong court", "no reasons"]],
        )
        assert result.recommend_expert_review
        assert result.uncertainty_level == "low"
        assert result.issues == ("no reasons", "wrong court", "no reasons")
        assert uncertainty.aggregate_uncertainty(
            [0.5], ["low"], issues=["no reasons"]
        ).issues == ("no reasons",)


def test_every_reference_case_is_reproduced() -> None:
    rows = reference_rows("trait/logprob_aggregation.jsonl")
    assert len(rows) >= 8
    for row in rows:
        given_ = row["token_probabilities"]
        assert sum(integer_masses(given_, 0, 100).values()) == pytest.approx(
            row["integer_mass"], abs=1e-9
        )
        for least, key in ((0.25, "expected_trait"), (0.10, "expected_coherence")):
            found = expected_score(given_, 0, 100, least)
            assert found == (
                None if row[key] is None else pytest.approx(row[key], abs=1e-9)
            )


@pytest.mark.parametrize(
    "token", ["7.5", "-5", "N", "101", "5%", "", " ", "\u0664", "1e1", "5 6", "9" * 30]
)
def test_what_is_no_whole_number_of_the_range_is_off_it(token: str) -> None:
    assert expected_score({token: 1.0}, 0, 100, 0.0) is None


def test_spellings_are_added_and_the_least_mass_is_a_bound_from_below() -> None:
    assert integer_masses({"40": 0.1, " 40": 0.05, "\u258140": 0.1}, 0, 100) == {
        40: pytest.approx(0.25)
    }
    assert expected_score({"40": 0.25, "x": 0.75}, 0, 100, 0.25) == 40
    assert expected_score({"40": 0.2499, "x": 0.75}, 0, 100, 0.25) is None
    assert expected_score({}, 0, 100, 0.0) is None


def split(
    odds: dict[int, float],
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Odds of whole numbers where a digit is a token: of the first one, and after each
    beginning."""
    first: dict[str, float] = {}
    joint: dict[str, dict[str, float]] = {}
    for number, mass in odds.items():
        digits = str(number)
        first[digits[0]] = first.get(digits[0], 0.0) + mass
        for n in range(1, len(digits) + 1):
            after = digits[n] if n < len(digits) else "\n"
            own = joint.setdefault(digits[:n], {})
            own[after] = own.get(after, 0.0) + mass
    return first, {
        digits: {token: mass / sum(own.values()) for token, mass in own.items()}
        for digits, own in joint.items()
    }


class TestDigits:
    @given(
        st.dictionaries(
            st.integers(0, 100), st.floats(0.01, 1), min_size=1, max_size=12
        )
    )
    def test_digits_put_together_are_the_numbers(
        self, weights: dict[int, float]
    ) -> None:
        total = sum(weights.values())
        odds = {number: weight / total for number, weight in weights.items()}
        found = completed(*split(odds), high=100, longest=1)
        assert not found.begun
        assert integer_masses(found.numbers, 0, 100) == pytest.approx(odds)
        assert expected_score(found.numbers, 0, 100, 0.25) == pytest.approx(
            sum(n * p for n, p in odds.items())
        )

    def test_a_beginning_that_was_not_followed_is_no_number(self) -> None:
        first = {"8": 0.6, "1": 0.3, "0": 0.1}
        found = completed(
            first, {"8": {"7": 0.5, "\n": 0.25, ".": 0.25}}, high=100, longest=1
        )
        assert found.numbers == {
            "87": pytest.approx(0.3),
            "8": pytest.approx(0.15),
            "0": pytest.approx(0.1),
        }
        assert found.begun == {"1": pytest.approx(0.3)}

    def test_with_longer_tokens_a_digit_is_a_number_by_itself(self) -> None:
        first = {"8": 0.5, "87": 0.5}
        assert completed(
            first, {}, high=100, longest=longest_digits(first)
        ).numbers == {
            "8": 0.5,
            "87": 0.5,
        }

    def test_white_space_and_markers_end_a_number_and_what_may_be_in_the_middle_of_another_does_not(
        self,
    ) -> None:
        assert [ends(token) for token in ("\n", " ", "<eos>", "<|im_end|>")] == [
            True
        ] * 4
        assert [ends(token) for token in ".,/%a-5"] == [False] * 7

    def test_the_first_digit_alone_would_not_do(self) -> None:
        """Why beginnings are followed: of judges that mean to say 100, 10 and 1 the first digit
        says the same."""
        scores = [
            completed(*split({number: 1.0}), high=100, longest=1)
            for number in (100, 10, 1)
        ]
        assert (
            np.ptp([expected_score(found.numbers, 0, 100, 0.25) for found in scores])
            == 99
        )
