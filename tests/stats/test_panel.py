"""Several judges of the same items: the test of two, and the errors they share."""

import numpy as np
import pytest
from scipy import stats

from tests.stats.conftest import held
from undogmatic.stats import jackknife, panel
from undogmatic.stats.checks import Array, Rng
from undogmatic.stats.estimate import Estimate


def errors(rng: Rng, n: int, k: int, common: float) -> Array:
    """Errors of k judges, as large as chance and partly the item's."""
    item = rng.normal(size=(n, 1))
    return (
        np.sqrt(common) * item + np.sqrt(1 - common) * rng.normal(size=(n, k)) > 0.8
    ).astype(float)


def test_right_and_wrong_is_mcnemars_exact_test() -> None:
    """Ten items that only the one judge gets right, three that only the other does (McNemar's exact
    p)."""
    one, other = (
        np.r_[np.ones(10), np.zeros(3), np.ones(20)],
        np.r_[np.zeros(10), np.ones(3), np.ones(20)],
    )
    pair = panel.Paired(one, other, np.arange(33), 1.0)
    assert pair.p == pytest.approx(stats.binomtest(3, 13).pvalue)
    assert pair.difference == pytest.approx(7 / 33) and pair.interval(0.9).low > 0


def test_amounts_and_groups_are_students_test(rng) -> None:
    one, other = rng.normal(size=(2, 40))
    pair = panel.Paired(one, other, np.arange(40))
    assert pair.p == pytest.approx(stats.ttest_rel(one, other).pvalue)
    twice = panel.Paired(
        np.repeat(one, 2), np.repeat(other, 2), np.repeat(np.arange(40), 2)
    )
    assert twice.p == pytest.approx(pair.p) and (twice.n, twice.n_units) == (80, 40)


def test_items_without_a_verdict_of_one_judge_are_left_out(rng) -> None:
    one, other = rng.normal(size=(2, 40))
    gaps = np.where(np.arange(40) < 10, np.nan, one)
    kept = panel.Paired(one[10:], other[10:], np.arange(30))
    assert panel.Paired(gaps, other, np.arange(40)).interval(0.95) == kept.interval(
        0.95
    )
    assert (
        panel.Paired(one, one, np.arange(40)).none
        and panel.Paired(one, one, np.arange(40)).p == 1
    )


def test_the_mean_correlation_of_errors_and_its_spread_are_those_of_all_pairs(
    rng,
) -> None:
    """The influence values give the spread that leaving out items gives."""
    wrong = errors(rng, 200, 4, 0.4)
    found = panel.shared_errors(wrong, np.arange(200))
    upper = np.triu_indices(4, 1)

    def mean(rows: Array) -> float:
        return float(np.corrcoef(rows.T)[upper].mean())

    assert found is not None and found.mean.value == pytest.approx(mean(wrong))
    left = jackknife.LeftOut(wrong, mean, rng).nearly_mean()
    assert found.mean.interval == pytest.approx(left.interval, abs=0.01)


def test_the_interval_of_the_mean_correlation_holds(rng) -> None:
    def draw() -> Estimate | None:
        found = panel.shared_errors(
            rng.normal(size=(100, 3)) + rng.normal(size=(100, 1)), np.arange(100)
        )
        return found and found.mean

    assert 0.92 <= held(0.5, 300, draw) <= 0.98


def test_a_panel_of_copies_is_one_judge_and_one_of_strangers_is_many(rng) -> None:
    wrong = errors(rng, 4000, 3, 0.0)
    apart = panel.shared_errors(wrong, np.arange(4000))
    copies = panel.shared_errors(np.repeat(wrong[:, :1], 3, axis=1), np.arange(4000))
    assert apart is not None and apart.effective == pytest.approx(3, abs=0.3)
    assert copies is not None and copies.effective == pytest.approx(1)
    never = np.column_stack([wrong[:, :2], np.zeros(4000)])
    without = panel.shared_errors(never, np.arange(4000))
    assert (
        without is not None and without.judges == 2 and np.isnan(without.phi[2]).all()
    )
    assert panel.shared_errors(never[:, 1:], np.arange(4000)) is None


def test_without_chance_weights_are_the_inverse_errors_and_no_others_have_a_smaller_variance() -> (
    None
):
    errors_of = np.array([4.0, 25.0, 100.0])
    found = panel.worth(np.tile(errors_of, (24, 1)), np.arange(24))
    assert found.kept == 1 and found.weights == pytest.approx(found.inverse)
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights[0] / found.weights[2] == pytest.approx(25)
    others = np.random.default_rng(0).dirichlet(np.ones(3), size=500)
    assert (found.weights**2 @ errors_of <= others**2 @ errors_of).all()


def test_weights_drawn_towards_equal_lose_less_by_chance_than_inverse_errors_or_equal_weights(
    rng,
) -> None:
    """Over judges that are equally good and judges that are not, with 20 labelled items."""
    lost = np.zeros(3)
    for sds in ((1, 1, 1), (1, 1.2, 1.5), (1, 1), (1, 2, 3)):
        true = np.array(sds, dtype=float) ** 2
        for _ in range(300):
            found = panel.worth(
                rng.normal(0, np.sqrt(true), (20, len(sds))) ** 2, np.arange(20)
            )
            equal = np.full(len(sds), 1 / len(sds))
            ways = (found.weights, found.inverse, equal)
            lost += [way**2 @ true * (1 / true).sum() for way in ways]
    assert lost[0] < lost[1] < lost[2]


def test_items_that_go_together_count_as_one_and_too_few_are_refused(rng) -> None:
    squared = rng.normal(0, [1, 1.6], (24, 2)) ** 2
    alone = panel.worth(squared, np.arange(24))
    twice = panel.worth(np.repeat(squared, 2, axis=0), np.repeat(np.arange(24), 2))
    assert twice.kept == pytest.approx(alone.kept) and 0 < alone.kept < 1
    assert panel.worth(np.repeat(squared, 2, axis=0), np.arange(48)).kept > alone.kept
    swapped = panel.worth(squared[:, ::-1], np.arange(24))
    assert swapped.weights == pytest.approx(alone.weights[::-1])
    for wrong, groups in (
        (squared * [0, 1], np.arange(24)),
        (squared, np.arange(24) % 4),
    ):
        with pytest.raises(ValueError, match="an error above 0 of each"):
            panel.worth(wrong, groups)
