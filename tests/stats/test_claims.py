"""A mean held against a margin: what is said, how often it is said falsely, and how many units would settle it."""

import numpy as np
import pytest

from undogmatic.stats import claims

SPREAD = np.array([-14.0, -11, -7, -5, -2, -1, 1, 2, 5, 7, 11, 14])


class TestOutcome:
    @pytest.mark.parametrize(
        ("shift", "sign", "outcome"),
        [(25, 1, "beyond"), (25, -1, "against"), (-25, 1, "against"), (-25, -1, "beyond"), (1, 1, "within")],
    )
    def test_it_follows_the_interval_and_the_sign(self, shift: float, sign: int, outcome: str) -> None:
        found = claims.claim(SPREAD + shift, 10, sign=sign)
        assert found.outcome == outcome and found.reason == ""

    def test_an_interval_across_the_margin_leaves_it_open(self) -> None:
        found = claims.claim(SPREAD + 12, 10)
        assert (found.outcome, found.reason) == ("open", "interval")
        assert found.estimate.low < 10 < found.estimate.high and found.n_needed is not None and found.n_needed > 12

    def test_with_a_margin_of_zero_nothing_is_within(self) -> None:
        assert claims.claim(SPREAD, 0).outcome == "open"

    def test_fewer_units_than_could_ever_decide(self) -> None:
        found = claims.claim([50.0, 51, 52, 53, 54], 10)
        assert (found.outcome, found.reason, found.fewest, found.n_needed) == ("open", "too_few", 6, 6)
        copied = claims.claim(np.repeat([50.0, 51, 52, 53, 54], 9), 10, groups=np.repeat(range(5), 9))
        assert copied.outcome == "open" and copied.estimate.n_groups == 5

    def test_equal_values_say_nothing_without_bounds_and_little_with_them(self) -> None:
        nothing = claims.claim(np.full(40, 50.0), 10)
        assert (nothing.outcome, nothing.reason, nothing.n_needed) == ("open", "no_spread", None)
        assert claims.claim(np.full(40, 50.0), 10, bounds=(-100, 100)).outcome == "beyond"
        few = claims.claim(np.zeros(10), 10, bounds=(-100, 100))
        assert few.outcome == "open" and few.n_needed is not None
        assert (
            few.estimate.level == pytest.approx(0.98)
            and claims.claim(np.zeros(20), 10, bounds=(-100, 100)).estimate.level == 0.95
        )
        enough = claims.claim(np.zeros(few.n_needed + 6), 10, bounds=(-100, 100))
        assert enough.outcome == "within"

    def test_a_negative_margin_is_refused(self) -> None:
        with pytest.raises(ValueError, match="`margin` is -1"):
            claims.claim(SPREAD, -1)


class TestNeeded:
    @pytest.mark.parametrize("shift", [16, 3])
    def test_so_many_units_settle_it_as_often_as_asked(self, shift: float) -> None:
        rng = np.random.default_rng(0)
        made = rng.normal(size=30)
        found = claims.claim((made - made.mean()) / made.std(ddof=1) * 15 + shift, 10, power=0.8)
        assert found.n_needed is not None
        settled = [claims.claim(rng.normal(shift, 15, found.n_needed), 10).outcome != "open" for _ in range(500)]
        assert np.mean(settled) == pytest.approx(0.8, abs=0.06)

    def test_at_the_margin_no_number_helps(self) -> None:
        assert claims.claim(SPREAD + 10, 10).n_needed is None
        assert claims.claim(SPREAD, 0).n_needed is None


@pytest.mark.parametrize("n", [6, 12, 46])
@pytest.mark.parametrize(
    "noise",
    [
        lambda rng, n: rng.normal(0, 15, n),
        lambda rng, n: 10 * rng.standard_t(3, n),
        lambda rng, n: rng.uniform(-30, 30, n),
        lambda rng, n: 90 * (rng.random(n) < 0.9) - 81,
        lambda rng, n: 10 * (rng.exponential(1, n) - 1),
        lambda rng, n: 10 * (1 - rng.exponential(1, n)),
    ],
)
def test_a_mean_at_the_margin_is_seldom_called_beyond_it(noise, n) -> None:  # type: ignore[no-untyped-def]
    """400 samples: a true 2.5 % shows 4.5 % or less in all but 1 of 100 cases; the seed is fixed."""
    rng = np.random.default_rng(1)
    said = [claims.claim(10 + noise(rng, n), 10, bounds=(-1000, 1000)).outcome for _ in range(400)]
    assert said.count("beyond") <= 0.04 * 400
    assert said.count("within") == 0 or said.count("within") <= 0.06 * 400
