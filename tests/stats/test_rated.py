"""Verdicts against the labels of raters who are kept apart: published values, peers, properties,
seeded coverage."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.stats.conftest import Rng, held, sure, width
from tests.stats.test_agreement import MINI, WRIGHT
from undogmatic.stats import agreement, means, ranking, rated
from undogmatic.stats.checks import Array
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.rated import Rated

COHEN, QUADRATIC = (
    rated.kappa(rated.costs(2, "none")),
    rated.kappa(rated.costs(5, "quadratic")),
)


def alone(verdicts: object, labels: object) -> Rated:
    """One rater, every item by itself."""
    x, y = (np.asarray(own, dtype=np.float64) for own in (verdicts, labels))
    return Rated(x, y, np.ones(x.size), np.arange(x.size))


def twice(use: Rated) -> Rated:
    """The same pairs, as if two raters had given every label."""
    x, y, codes = (np.repeat(own, 2) for own in (use.verdicts, use.labels, use.codes))
    return Rated(x, y, np.full(x.size, 0.5), codes)


def of_table(counts: list[list[int]]) -> Rated:
    """Pairs with these counts, verdict by label."""
    cells = np.repeat(np.arange(4), np.ravel(counts))
    return alone(cells // 2, cells % 2)


def grades(rng: Rng, n: int = 60) -> Rated:
    labels = rng.integers(0, 5, n)
    return alone(np.clip(labels + rng.integers(-1, 2, n), 0, 4), labels)


def test_gwet_where_kappa_is_a_paradox() -> None:
    """Gwet (2002), Kappa statistic is not satisfactory: 118 of 125 items in one cell."""
    use = of_table([[118, 5], [2, 0]])
    assert sure(use.coefficient(2, rated.ac1)).value == pytest.approx(0.9408, abs=5e-5)
    assert sure(use.coefficient(2, COHEN)).value == pytest.approx(-0.0234, abs=5e-5)


def test_lin_of_the_peak_flow_meters() -> None:
    """Steichen and Cox (1998) give 0.943 for the data of Bland and Altman (1986)."""
    assert sure(rated.concordance(alone(WRIGHT, MINI))).value == pytest.approx(
        0.943, abs=5e-4
    )


@pytest.mark.parametrize("weights", ["quadratic", "linear", "none"])
def test_with_one_rater_the_numbers_are_the_plain_ones(weights: str, rng: Rng) -> None:
    use = grades(rng)
    plain = agreement.weighted_kappa(use.verdicts, use.labels, np.arange(5), weights)  # type: ignore[arg-type]
    assert use.value(5, rated.kappa(rated.costs(5, weights))) == pytest.approx(
        plain.estimate, abs=1e-12
    )


def test_peers(rng: Rng) -> None:
    import krippendorff

    use = grades(rng)
    theirs = krippendorff.alpha(
        np.stack([use.verdicts, use.labels]), level_of_measurement="ordinal"
    )
    assert sure(use.coefficient(5, rated.ordinal_alpha(60))).value == pytest.approx(
        theirs, abs=1e-9
    )
    x = use.verdicts + rng.normal(size=60)
    numbers = alone(x, use.labels)
    assert sure(rated.pearson(numbers)).value == pytest.approx(
        np.corrcoef(x, use.labels)[0, 1], abs=1e-12
    )
    found, plain = (
        sure(rated.pearson(numbers)),
        sure(agreement.correlation_interval("pearson", x, use.labels, rng)),
    )
    assert found.interval == pytest.approx(plain.interval, abs=1e-6)
    trend = agreement.bland_altman(x, use.labels).drift
    of_both = rated.drift_values(x - use.labels, (x + use.labels) / 2, 4.0)
    assert sure(of_both).mean() == pytest.approx(4 * sure(trend))
    slope = np.polyfit(x, x - use.labels, 1)[0]
    assert sure(rated.drift(numbers, 4.0)).value == pytest.approx(4 * slope)


ENDLESS = (-np.inf, np.inf)


@pytest.mark.parametrize(("slope", "shift"), [(1.0, -1.7), (0.6, 2.0), (1.8, -3.0)])
def test_grades_become_labels_by_the_line_that_they_came_from(
    slope: float, shift: float, rng: Rng
) -> None:
    verdicts = rng.uniform(1, 10, size=120)
    exact = alone(verdicts, slope * verdicts + shift)
    found = sure(rated.conversion(exact, ENDLESS, rng))
    assert found.conversion == pytest.approx(
        (slope, shift)
    ) and found.after == pytest.approx(0, abs=1e-20)
    noisy = alone(verdicts, exact.labels + rng.normal(size=120))
    found = sure(rated.conversion(noisy, ENDLESS, rng))
    assert found.conversion == pytest.approx((slope, shift), abs=0.4)
    assert found.after == pytest.approx(1, abs=0.3) and found.before > found.after + 0.5
    # what people say already
    assert rated.conversion(alone(exact.labels, noisy.labels), ENDLESS, rng) is None
    written = found.conversion.rounded(9.0, 2)
    assert np.abs(written.of(verdicts) - found.conversion.of(verdicts)).max() < 0.01


BENT: dict[str, Callable[[Array], Array]] = {
    "fourth power": lambda share: share**4,
    "full from six tenths on": lambda share: np.minimum(1, share / 0.6),
    "a step": lambda share: np.where(share > 0.5, 0.9, 0.1),
}


@pytest.mark.parametrize("shape", BENT)
@pytest.mark.parametrize("n_grades", [5, 0])
def test_grades_become_labels_by_a_curve_where_no_line_fits(
    shape: str, n_grades: int, rng: Rng
) -> None:
    """Of a short scale the curve has a point for each grade; of many grades (0) one for each tenth
    of them."""
    share = rng.random(300)
    if n_grades:
        share = np.round(share * (n_grades - 1)) / (n_grades - 1)
    expected = BENT[shape](share)
    use = alone(share, expected + rng.normal(0, 0.15, 300))
    found = sure(rated.conversion(use, ENDLESS, rng))
    curve = found.conversion
    assert isinstance(curve, rated.Curve) and len(curve.grades) <= rated.MOST_KNOTS
    assert found.after < found.simpler - 0.003 and found.simpler <= found.before
    assert np.all(np.diff(curve.people) >= 0) and np.all(np.diff(curve.grades) > 0)
    converted = curve.of(share)
    line = np.polynomial.Polynomial.fit(share, use.labels, 1)(share)
    assert np.mean((converted - expected) ** 2) < np.mean((line - expected) ** 2) / 2
    if n_grades:
        assert set(curve.grades) <= set(share)
        assert converted == pytest.approx(expected, abs=0.1)
    written = curve.rounded(1.0, 2)
    assert np.abs(written.of(share) - converted).max() < 0.02


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_no_curve_is_offered_where_a_line_or_the_grade_itself_is_what_people_say(
    slope: float,
) -> None:
    offered = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        grade = rng.integers(1, 6, 150).astype(np.float64)
        found = rated.conversion(
            alone(grade, slope * grade + rng.normal(0, 1, 150)), ENDLESS, rng
        )
        offered.append(None if found is None else type(found.conversion))
    assert offered.count(rated.Curve) == 0
    assert offered.count(None if slope == 1 else rated.Linear) >= 19


def test_a_written_curve_keeps_grades_apart_that_lie_close_together() -> None:
    curve = rated.Curve((0.50011, 0.50012, 0.9), (0.1, 0.2, 0.7))
    written = curve.rounded(1.0, 2)
    assert (
        written.grades == pytest.approx(curve.grades) and len(set(written.grades)) == 3
    )


@pytest.mark.parametrize("parts", [QUADRATIC, rated.ac1, rated.ordinal_alpha(60)])
def test_a_second_rater_who_says_the_same_adds_nothing(
    parts: rated.Parts, rng: Rng
) -> None:
    one, both = grades(rng), twice(grades(np.random.default_rng(0)))
    found, again = sure(one.coefficient(5, parts)), sure(both.coefficient(5, parts))
    assert (again.value, *again.interval, again.n_groups) == pytest.approx(
        (found.value, *found.interval, 60), abs=1e-6
    )


@pytest.mark.parametrize("parts", [QUADRATIC, rated.ac1, rated.ordinal_alpha(60)])
def test_judge_and_rater_may_be_swapped(parts: rated.Parts, rng: Rng) -> None:
    use = grades(rng)
    here, there = (
        sure(use.coefficient(5, parts)),
        sure(alone(use.labels, use.verdicts).coefficient(5, parts)),
    )
    assert (here.value, *here.interval) == pytest.approx(
        (there.value, *there.interval), abs=1e-6
    )


def test_a_constant_agrees_by_chance_alone(rng: Rng) -> None:
    found = sure(alone(np.zeros(100), rng.integers(0, 2, 100)).coefficient(2, COHEN))
    assert (
        found.value == pytest.approx(0, abs=1e-12)
        and -0.1 < found.low < 0 < found.high < 0.1
    )
    assert alone(np.zeros(9), np.zeros(9)).coefficient(2, COHEN) is None


def test_the_numbering_of_two_outputs_means_nothing(rng: Rng) -> None:
    cost = rated.costs(3, "none")
    labels = np.where(rng.random(90) < 0.9, 0, 1)
    verdicts = np.where(rng.random(90) < 0.8, labels, rng.integers(0, 3, 90))
    turned = rng.random(90) < 0.5
    parts, swap = rated.mirrored_kappa(cost), np.array([1, 0, 2])
    here = alone(verdicts, labels).value(3, parts)
    there = alone(
        np.where(turned, swap[verdicts], verdicts),
        np.where(turned, swap[labels], labels),
    ).value(3, parts)
    assert here == pytest.approx(there, abs=1e-12)
    untied = verdicts != 2
    right = np.mean(verdicts[untied] == labels[untied])
    plain = alone(verdicts[untied], labels[untied]).value(
        2, rated.mirrored_kappa(rated.costs(2, "none"))
    )
    assert plain == pytest.approx(2 * right - 1, abs=1e-12)


def test_a_single_disagreement_leaves_a_narrow_interval() -> None:
    labels = np.arange(60) % 2
    verdicts = np.where(np.arange(60) == 3, 1 - labels, labels)
    found = sure(alone(verdicts, labels).coefficient(2, COHEN))
    assert 0.75 < found.low < found.value < found.high < 1
    perfect = sure(alone(labels, labels).coefficient(2, COHEN))
    # Clopper and Pearson's upper limit of no disagreement in 60, doubled by chance agreement.
    assert perfect.high == 1 and perfect.low == pytest.approx(
        1 - 2 * (1 - 0.025 ** (1 / 60)), abs=0.01
    )


@pytest.mark.parametrize("n", [60, 100])
def test_the_interval_of_kappa_holds_it(n: int, rng: Rng) -> None:
    def draw() -> Estimate | None:
        labels = rng.integers(0, 2, n)
        return alone(
            np.where(rng.random(n) < 0.9, labels, 1 - labels), labels
        ).coefficient(2, COHEN)

    found = [sure(draw()) for _ in range(100)]
    shares = iter(found)
    assert held(0.8, 100, lambda: next(shares)) >= 0.93
    assert (
        np.mean([width(one) for one in found])
        < 1.2 * 2 * 1.96 * 2 * (0.9 * 0.1 / n) ** 0.5
    )


def test_a_weight_is_so_many_rows_of_a_rank_correlation(rng: Rng) -> None:
    x, y, w = (
        rng.integers(0, 9, 40).astype(float),
        rng.integers(0, 9, 40).astype(float),
        rng.integers(1, 4, 40),
    )
    rows = np.repeat(np.arange(40), w)
    weighted = ranking.weighted_rank_correlation(w.astype(float)).of(
        np.column_stack([x, y])
    )
    assert weighted == pytest.approx(
        ranking.rank_correlation.of(np.column_stack([x[rows], y[rows]])), abs=1e-12
    )


def test_a_slice_of_units_that_lie_on_both_sides_is_seldom_called_different(
    rng: Rng,
) -> None:
    """Each unit has one pair inside and one outside, so that no unit pulls the difference either
    way."""
    units = 60
    codes = np.repeat(np.arange(units), 2)
    inside = np.tile([True, False], units)

    def p_value(right: np.ndarray) -> float:
        return rated.against_rest(
            Rated(right, right, np.ones(right.size), codes), right, inside
        ).p_value

    chance = [p_value((rng.random(2 * units) < 0.9).astype(float)) for _ in range(400)]
    assert np.mean(np.array(chance) < 0.05) <= 0.07
    worse = rng.random(2 * units) < np.where(inside, 0.6, 0.95)
    assert p_value(worse.astype(float)) < 0.001


def test_a_small_slice_like_the_rest_is_seldom_called_different(rng: Rng) -> None:
    inside = np.arange(100) < 8

    def p_value() -> float:
        right = (rng.random(100) < 0.9).astype(float)
        return rated.against_rest(alone(right, right), right, inside).p_value

    assert np.mean([p_value() < 0.05 for _ in range(400)]) <= 0.06
    apart = np.where(inside, 0.0, 1.0)
    apart[50:60] = 0.0
    assert rated.against_rest(alone(apart, apart), apart, inside).p_value < 0.001


def test_the_limits_of_one_mean_less_another_are_those_of_a_mean(rng: Rng) -> None:
    size = rng.integers(1, 9, 14).astype(float)
    one, other = (means.Sums(size * rng.exponential(size=14), size) for _ in range(2))
    varies = size + 0.3 * size**2
    between = rated._Between.of(one, other, varies)
    for times in (0.0, 0.4, 1.0, 2.0):
        plain = means.of_sums(
            means.Sums(times * one.total - other.total, size, varies), 0.9
        )
        assert between.limits(times, 0.9) == pytest.approx(plain.interval, rel=1e-9)


def test_two_means_that_are_a_multiple_of_each_other_leave_nothing_open(
    rng: Rng,
) -> None:
    size = rng.integers(1, 9, 14).astype(float)
    one = means.Sums(size * rng.exponential(size=14), size)
    between = rated._Between.of(one, means.Sums(3 * one.total, size), None)
    assert between.limits(3.0, 0.95) == pytest.approx((0.0, 0.0), abs=1e-9)
    low, high = between.limits(2.0, 0.95)
    assert low < high < 0
