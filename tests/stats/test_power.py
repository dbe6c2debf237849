"""Power against published tables, its own inverses, and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from undogmatic.stats import power

PAIRS = st.integers(10, 200)
DZ = st.floats(0.2, 1.5)


def test_thousands_of_pairs_have_a_power_for_every_effect() -> None:
    # At 10,000 pairs statsmodels' noncentral t is NaN for effects near 0.4, which ended the search for the smallest.
    for n in (3000, 10_000, 50_000):
        found = [power.power_at(dz, n) for dz in np.linspace(0, 1, 77)]
        assert np.all(np.diff(found) >= -1e-9)
        assert found[-1] == pytest.approx(1)
    assert power.minimum_detectable_effect(10_000, 20.0).effect == pytest.approx(0.573, abs=0.005)


@given(PAIRS, DZ)
def test_power_rises_with_pairs_and_effect(n: int, dz: float) -> None:
    here = power.power_at(dz, n)
    assert 0.05 - 1e-9 <= here <= 1
    assert power.power_at(dz, n + 5) >= here - 1e-9
    assert power.power_at(dz + 0.1, n) >= here - 1e-9


@given(PAIRS, st.floats(0.3, 0.95), st.floats(0.5, 30))
def test_detectable_effect_inverts_power_and_scales_with_the_spread(n: int, wanted: float, sd: float) -> None:
    result = power.minimum_detectable_effect(n, sd, power=wanted)
    assert result.effect == pytest.approx(result.dz * sd)
    assert power.power_at(result.effect or 0.0, n, sd) == pytest.approx(wanted, abs=1e-6)


def test_power_ignores_the_sign() -> None:
    assert power.power_at(-0.5, 30) == power.power_at(0.5, 30)


def test_no_effect_is_found_as_often_as_alpha() -> None:
    assert power.power_at(0.0, 30, alpha=0.01) == pytest.approx(0.01)


def test_without_a_spread_the_effect_has_no_score_units() -> None:
    assert power.minimum_detectable_effect(30).effect is None


def test_simulated_wilcoxon_power_at_the_detectable_effect() -> None:
    rng = np.random.default_rng(7)
    dz = power.minimum_detectable_effect(30).dz
    p_values = stats.wilcoxon(rng.normal(dz, 1, size=(3000, 30)), axis=1).pvalue
    # Monte Carlo error 0.007; the 3/pi rule is asymptotic.
    assert np.mean(p_values <= 0.05) == pytest.approx(0.80, abs=0.02)


def test_five_pairs_cannot_be_significant() -> None:
    # The smallest two-sided p-value of five pairs is 2/32.
    assert power.power_at(10.0, 5) == 0.0
    with pytest.raises(ValueError, match="`n_pairs` is 5: too few"):
        power.minimum_detectable_effect(5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_pairs": 1}, "`n_pairs` is 1"),
        ({"n_pairs": 30, "alpha": 5.0}, "`alpha` is 5.0"),
        ({"n_pairs": 30, "power": 0.04}, "`power` is 0.04, not above"),
        ({"n_pairs": 30, "sd_differences": 0.0}, "`sd_differences` is 0.0"),
    ],
)
def test_impossible_designs_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        power.minimum_detectable_effect(**arguments)  # type: ignore[arg-type]


def test_fewest_pairs_is_where_the_exact_test_can_first_be_significant() -> None:
    for alpha in (0.05, 0.01):
        n = power.fewest_pairs(alpha)
        assert stats.wilcoxon(np.arange(1.0, n + 1)).pvalue <= alpha < stats.wilcoxon(np.arange(1.0, n)).pvalue
    assert power.fewest_pairs(0.05) == 6
