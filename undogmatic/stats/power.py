"""What a paired design can detect with a two-sided signed-rank test: power, minimum detectable effect, pairs needed.

Everything starts from the noncentral t distribution of the paired t-test. For the Wilcoxon signed-rank test the
number of pairs is multiplied by its asymptotic relative efficiency under normal differences, 3/pi = 0.955; under
heavier tails the test does better than this says, and for no symmetric distribution worse than with 0.864.
"""

import math
from typing import NamedTuple

from scipy import optimize, stats

from undogmatic.stats import checks

WILCOXON_EFFICIENCY = 3 / math.pi
_LARGEST_DZ = 50.0
_WRONG_SIDE_REACH = 5.0


class MinimumDetectableEffect(NamedTuple):
    """`dz` is the mean difference over the sd of differences; `effect` the same in score units, if the sd is known."""

    dz: float
    effect: float | None
    n_pairs: int
    sd_differences: float | None
    power: float
    alpha: float


def power_at(effect: float, n_pairs: int, sd_differences: float = 1.0, alpha: float = 0.05) -> float:
    """Probability of a significant result when the true mean difference is `effect`.

    Too few pairs for any result to be significant in an exact signed-rank test give a power of 0.

    Args:
        effect: True mean difference in score units; in standard deviations while `sd_differences` is 1.
        n_pairs: Number of pairs, at least 2.
        sd_differences: Standard deviation of the differences, in score units.
        alpha: Significance level.
    Raises:
        ValueError: If `n_pairs` is below 2, `sd_differences` is not positive or `alpha` is outside (0, 1).
    References:
        Cohen (1988), Statistical power analysis, ISBN 9780805802832.
        Hodges and Lehmann (1956), doi:10.1214/aoms/1177728261, for the efficiency of the signed-rank test.
    """
    from statsmodels.stats.power import TTestPower

    _check_design(n_pairs, alpha)
    if not (math.isfinite(effect) and math.isfinite(sd_differences) and sd_differences > 0):
        raise ValueError(f"`effect` is {effect} and `sd_differences` {sd_differences}; finite, and the sd above 0.")
    if not _can_be_significant(n_pairs, alpha):
        return 0.0
    pairs = n_pairs * WILCOXON_EFFICIENCY
    dz = abs(effect / sd_differences)
    found = float(TTestPower().power(dz, pairs, alpha / 2, alternative="larger"))
    if math.isnan(found):  # statsmodels' function gives up on some effects of thousands of pairs, SciPy's does not
        critical = stats.t.isf(alpha / 2, pairs - 1)
        found = float(stats.nct.sf(critical, pairs - 1, dz * math.sqrt(pairs)))
    # Significance in the wrong direction. Beyond this noncentrality it adds less than 3e-7, and statsmodels gives NaN.
    if dz * math.sqrt(pairs) < _WRONG_SIDE_REACH:
        found += float(TTestPower().power(dz, pairs, alpha / 2, alternative="smaller"))
    return min(found, 1.0)


def minimum_detectable_effect(
    n_pairs: int, sd_differences: float | None = None, power: float = 0.8, alpha: float = 0.05
) -> MinimumDetectableEffect:
    """Smallest true mean difference that `n_pairs` pairs would find significant with probability `power`.

    Choose `sd_differences` before looking at the result being judged; "observed power" only restates the p-value.

    Args:
        n_pairs: Number of pairs, at least 2.
        sd_differences: Standard deviation of the differences, in score units; None leaves `effect` None.
        power: Probability of finding it.
        alpha: Significance level.
    Raises:
        ValueError: If an argument is out of range, or no result of so few pairs can be significant.
    References:
        Bloom (1995), Minimum detectable effects. doi:10.1177/0193841X9501900504
    """
    _check_design(n_pairs, alpha)
    _check_power(power, alpha)
    if not _can_be_significant(n_pairs, alpha):
        raise ValueError(f"`n_pairs` is {n_pairs}: too few for any signed-rank result to reach `alpha` = {alpha}.")
    if sd_differences is not None and not (math.isfinite(sd_differences) and sd_differences > 0):
        raise ValueError(f"`sd_differences` is {sd_differences}; it must be positive.")

    def shortfall(dz: float) -> float:
        return power_at(dz, n_pairs, 1.0, alpha) - power

    largest = 1.0
    while shortfall(largest) < 0:
        largest *= 2
        if largest > _LARGEST_DZ:
            raise ValueError(f"`n_pairs` is {n_pairs}: no effect below {_LARGEST_DZ} sd reaches `power` = {power}.")
    dz = float(optimize.brentq(shortfall, 0.0, largest, xtol=1e-10))
    effect = None if sd_differences is None else dz * sd_differences
    return MinimumDetectableEffect(dz, effect, n_pairs, sd_differences, power, alpha)


def fewest_pairs(alpha: float = 0.05) -> int:
    """Fewest pairs with which a signed-rank test can be significant at all: all of them then point the same way.

    Args:
        alpha: Significance level.
    Raises:
        ValueError: If `alpha` is outside (0, 1).
    """
    checks.share(alpha, "alpha")
    n_pairs = 1
    while not _can_be_significant(n_pairs, alpha):
        n_pairs += 1
    return n_pairs


def _check_design(n_pairs: int, alpha: float) -> None:
    if n_pairs < 2:
        raise ValueError(f"`n_pairs` is {n_pairs}; at least 2 are needed.")
    checks.share(alpha, "alpha")


def _check_power(power: float, alpha: float) -> None:
    checks.share(power, "power")
    checks.share(alpha, "alpha")
    if power <= alpha:
        raise ValueError(f"`power` is {power}, not above `alpha` = {alpha}: no effect at all would do.")


def _can_be_significant(n_pairs: int, alpha: float) -> bool:
    """The smallest p-value of the signed-rank test is 2**-n_pairs on each side."""
    return 2 * 0.5**n_pairs <= alpha
