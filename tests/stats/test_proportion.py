"""The share and its interval against a published table, symmetry and its limits."""

import numpy as np
import pytest

from undogmatic.stats.proportion import proportion


def test_wilson_interval_as_published() -> None:
    # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    found = proportion([True] * 81 + [False] * (263 - 81))
    assert (found.hits, found.n) == (81, 263)
    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert proportion([True] * 15 + [False] * 133).interval == pytest.approx((0.0624, 0.1605), abs=5e-5)


def test_none_of_twenty_is_not_certainty() -> None:
    none = proportion([False] * 20)
    assert none.value == none.low == 0
    assert none.high == pytest.approx(0.1611, abs=5e-5)


def test_counting_the_others_mirrors_the_interval() -> None:
    flags = [True, True, False, True, False]
    yes, no = proportion(flags), proportion([not flag for flag in flags])
    assert (yes.value, yes.low, yes.high) == pytest.approx((1 - no.value, 1 - no.high, 1 - no.low))


class TestGroups:
    def test_groups_of_one_change_nothing(self) -> None:
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

    def test_one_group_says_nothing(self) -> None:
        assert proportion([True, True], groups=["a", "a"]).interval == (0.0, 1.0)

    @pytest.mark.parametrize(("share", "alike"), [(0.5, 0.3), (0.8, 1.0)])
    def test_it_holds_the_share_as_often_as_it_says(self, share: float, alike: float) -> None:
        """Ten groups of 2 to 4: Wilson's own interval holds it in 88 and 77 % of samples."""
        rng = np.random.default_rng(8)
        held = []
        for _ in range(400):
            groups = np.repeat(np.arange(10), rng.integers(2, 5, 10))
            common, own = rng.random(10)[groups] < share, rng.random(groups.size) < share
            found = proportion(np.where(rng.random(groups.size) < alike**0.5, common, own), groups=groups)
            held.append(found.low <= share <= found.high)
        assert np.mean(held) >= 0.93


def test_refuses_what_is_no_truth_value() -> None:
    with pytest.raises(ValueError, match="true or false"):
        proportion([0.0, 0.5])
    with pytest.raises(ValueError, match="at least 1"):
        proportion([])
