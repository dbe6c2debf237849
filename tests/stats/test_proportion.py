"""The share and its interval against a published table, symmetry and its limits."""

import numpy as np
import pytest
from scipy import stats

from tests.stats.conftest import held, refuses
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import interval_quality, kept, proportion


def test_wilson_interval_as_published() -> None:
    # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    found = proportion([True] * 81 + [False] * (263 - 81))
    assert (found.hits, found.n) == (81, 263)
    assert found.interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert proportion([True] * 15 + [False] * 133).interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
    none = proportion([False] * 20)
    assert none.value == none.low == 0
    assert none.high == pytest.approx(0.1611, abs=5e-5)


def test_counting_the_others_mirrors_the_interval() -> None:
    flags = [True, True, False, True, False]
    yes, no = proportion(flags), proportion([not flag for flag in flags])
    assert (yes.value, yes.low, yes.high) == pytest.approx((1 - no.value, 1 - no.high, 1 - no.low))


class TestGroups:
    def test_groups_of_one_change_nothing_and_one_group_says_nothing(self) -> None:
        assert proportion([True, True], groups=["a", "a"]).interval == (0.0, 1.0)
        flags = [True, True, False, True, False]
        assert proportion(flags, groups="abcde") == proportion(flags)

    def test_copies_are_no_evidence(self) -> None:
        flags = np.array([True] * 6 + [False] * 3)
        copied = proportion(np.repeat(flags, 10), groups=np.repeat(np.arange(9), 10))
        assert (copied.value, copied.n, copied.n_groups) == (6 / 9, 90, 9)
        alone = proportion(flags)
        assert copied.low < alone.low and copied.high > alone.high

    def test_none_of_many_members_is_none_of_few_groups(self) -> None:
        """By hand: Wilson's upper limit t^2 / (n + t^2) with n = 5 groups and t of 4 degrees of freedom."""
        none = proportion([False] * 100, groups=np.arange(100) // 20)
        assert none.low == 0
        assert none.high == pytest.approx(2.776445**2 / (5 + 2.776445**2))

    @pytest.mark.parametrize(("share", "alike"), [(0.5, 0.3), (0.8, 1.0)])
    def test_it_holds_the_share_as_often_as_it_says(self, share: float, alike: float) -> None:
        """Ten groups of 2 to 4: Wilson's own interval holds it in 88 and 77 % of samples."""
        rng = np.random.default_rng(8)

        def draw() -> Estimate:
            groups = np.repeat(np.arange(10), rng.integers(2, 5, 10))
            common, own = rng.random(10)[groups] < share, rng.random(groups.size) < share
            return proportion(np.where(rng.random(groups.size) < alike**0.5, common, own), groups=groups)

        assert held(share, 400, draw) >= 0.93


def flags(hits: int, n: int) -> np.ndarray:
    return np.arange(n) < hits


@pytest.mark.parametrize(
    ("hits", "n", "outcome"),
    [(9, 10, "open"), (900, 1000, "within"), (850, 1000, "below"), (960, 1000, "above"), (10, 10, "open")],
)
def test_the_outcome_follows_the_limits(hits: int, n: int, outcome: str) -> None:
    found = kept(flags(hits, n), 0.9, 0.05)
    assert found.outcome == outcome
    assert (found.n_needed is not None) == (outcome == "open")


def test_more_than_promised_keeps_a_promise_of_at_least_and_bad_arguments_are_named() -> None:
    assert kept(flags(990, 1000), 0.9, 0.05, at_least=True).outcome == "within"
    assert kept(flags(18, 20), 0.9, 0.05, at_least=True).outcome == "open"
    for promised, margin, named in ((1.5, 0.05, "`promised`"), (0.9, 0.0, "`margin`")):
        refuses(named, kept, [True], promised, margin)


def test_the_number_needed_shows_a_kept_promise_as_often_as_stated() -> None:
    needed = kept(flags(45, 50), 0.9, 0.05).n_needed
    assert needed == pytest.approx(309, abs=2)  # (1.645 + 1.282)^2 x 0.9 x 0.1 / 0.05^2
    draw = np.random.default_rng(0)
    shown = [kept(draw.random(needed) < 0.9, 0.9, 0.05).outcome == "within" for _ in range(150)]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.1)


def test_copies_show_no_more_than_what_they_copy() -> None:
    alone, groups = flags(90, 100), np.repeat(np.arange(100), 10)
    assert kept(np.repeat(alone, 10), 0.9, 0.05).outcome == "within"
    found = kept(np.repeat(alone, 10), 0.9, 0.05, groups=groups)
    assert found.outcome == "open"
    assert found.n_needed is not None and found.n_needed > 1000


def test_by_hand() -> None:
    width, score = interval_quality([0, 10, 20, 30], [10, 20, 30, 50], [5, 23, 16, 50], 0.8)
    assert width.value == 12.5
    assert score.value == pytest.approx(12.5 + 10 * (3 + 4) / 4)
    refuses("above", interval_quality, [2, 0], [1, 1], [1, 1])


def test_the_honest_interval_has_the_best_score_and_the_normals_closed_form() -> None:
    truth = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    z = stats.norm.ppf(0.95)
    scores = {
        reach: interval_quality(np.full(1000, -reach), np.full(1000, reach), truth, 0.9)[1].value
        for reach in (0.8 * z, z, 1.25 * z)
    }
    assert min(scores, key=scores.__getitem__) == z
    # 2 z + (2 / 0.1) x 2 x (phi(z) - 0.05 z): the width cancels.
    assert scores[z] == pytest.approx(2 * stats.norm.pdf(z) / 0.05, rel=0.01)


def test_intervals_that_leave_the_scale_are_measured_as_they_are() -> None:
    truth = np.linspace(0, 100, 20)
    width, _ = interval_quality(truth - 60, truth + 60, truth, span=100)
    assert (width.value, width.high) == pytest.approx((120, 120))
    few, _ = interval_quality(truth - 1, truth + np.where(truth > 99, 199, 1), truth, span=100)
    assert few.value == pytest.approx(2 + 198 / 20)
