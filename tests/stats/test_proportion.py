"""The share and its interval against a published table, symmetry and its limits."""

import pytest

from undogmatic.stats.proportion import proportion


def test_wilson_interval_as_published() -> None:
    # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, table I, method 3.
    found = proportion([True] * 81 + [False] * (263 - 81))
    assert (found.n_true, found.n) == (81, 263)
    assert (found.low, found.high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert proportion([True] * 15 + [False] * 133)[1:3] == pytest.approx((0.0624, 0.1605), abs=5e-5)


def test_none_of_twenty_is_not_certainty() -> None:
    none = proportion([False] * 20)
    assert none.share == none.low == 0
    assert none.high == pytest.approx(0.1611, abs=5e-5)


def test_counting_the_others_mirrors_the_interval() -> None:
    flags = [True, True, False, True, False]
    yes, no = proportion(flags), proportion([not flag for flag in flags])
    assert (yes.share, yes.low, yes.high) == pytest.approx((1 - no.share, 1 - no.high, 1 - no.low))


def test_refuses_what_is_no_truth_value() -> None:
    with pytest.raises(ValueError, match="true or false"):
        proportion([0.0, 0.5])
    with pytest.raises(ValueError, match="at least 1"):
        proportion([])
