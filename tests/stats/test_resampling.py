"""Drawing and leaving out in bounded memory: what a definition gives, batch by batch, and linear in the data."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from undogmatic.stats import calibration, jackknife, ranking, resampling, review

Array = np.ndarray


def rank_correlation(columns: Array) -> float:
    return float(stats.spearmanr(*columns.T).statistic)


def two_columns(n: int, seed: int) -> Array:
    """An uncertainty with ties, and an error that goes with it."""
    rng = np.random.default_rng(seed)
    uncertainty = rng.integers(0, 12, n).astype(float)
    return np.column_stack([uncertainty, np.abs(rng.normal(size=n)) + 0.05 * uncertainty])


# By definition, one draw at a time.
PREPARED: dict[str, tuple[resampling.Prepared, Callable[[Array], float]]] = {
    "rank correlation": (ranking.RANK_CORRELATION, rank_correlation),
    "aurc": (review.AURC, review.AURC.of),
    "review gain": (review.GAIN, review.GAIN.of),
    "calibration error": (calibration.calibration_error(10), calibration.calibration_error(10).of),
}


def data_of(name: str, n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    if name == "calibration error":
        return np.column_stack([np.round(0.8 * rng.random(n), 2), (rng.random(n) < 0.5).astype(float)])
    return two_columns(n, seed)


class TestPrepared:
    @pytest.mark.parametrize("name", PREPARED)
    @pytest.mark.parametrize("groups", [None, np.arange(90) // 2, np.random.default_rng(1).integers(0, 30, 90)])
    def test_a_prepared_statistic_gives_what_its_definition_gives_draw_by_draw(
        self, name: str, groups: Array | None
    ) -> None:
        prepared, definition = PREPARED[name]
        data = data_of(name, 90, seed=3)
        units = resampling.Units(np.arange(90) if groups is None else np.unique(groups, return_inverse=True)[1])
        together = resampling.distribution(prepared.on(data), units.draws(np.random.default_rng(5), 60))
        drawn = [data[rows] for batch in units.draws(np.random.default_rng(5), 60) for rows in batch]
        one_by_one = [definition(rows) for rows in drawn]
        exact = name != "rank correlation"  # SciPy's divides by n on the way
        assert together == pytest.approx(one_by_one, rel=0 if exact else 1e-12, abs=0 if exact else 1e-12)

    def test_every_unit_is_left_out_exactly_once(self) -> None:
        groups = np.repeat(np.arange(700), 2)
        kept: list[Array] = [rows for batch in resampling.Units(groups).left_out() for rows in batch]
        assert len(kept) == 700
        missing = np.concatenate([np.setdiff1d(np.arange(1400), rows) for rows in kept])
        assert np.array_equal(np.sort(missing), np.arange(1400))


class TestMemory:
    def test_no_batch_is_larger_than_promised(self) -> None:
        sizes: list[int] = []

        def counting(data: Array) -> resampling.OfDraws:
            def of_draws(drawn: Array) -> Array:
                sizes.append(drawn.size)
                return data[drawn].mean(axis=1)

            return of_draws

        for n in (50, 3000, 100_000):
            sizes.clear()
            values = np.random.default_rng(0).normal(size=n)
            statistic = resampling.Prepared(counting)
            jackknife.nearly_mean(values, statistic, np.random.default_rng(0))
            draws = resampling.Units(np.arange(n)).draws(np.random.default_rng(0), 50)
            resampling.distribution(statistic.on(values), draws)
            assert max(sizes) <= max(resampling.AT_ONCE, n)

    @pytest.mark.parametrize("name", PREPARED)
    def test_the_peak_grows_with_the_rows_and_not_with_their_square(self, name: str) -> None:
        data = data_of(name, 20_000, seed=2)
        tracemalloc.start()
        try:
            jackknife.nearly_mean(data, PREPARED[name][0], np.random.default_rng(0))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 20e6  # n x n positions would be 3.2 GB, 20 resamples of all positions 3.2 MB

    def test_curves_of_many_items_keep_a_thousand_points(self) -> None:
        u, e = two_columns(5000, seed=1).T
        risk = review.curve("risk", u, e, np.random.default_rng(0), n_resamples=20)
        caught = review.curve("caught", u, e, np.random.default_rng(0), n_resamples=20)
        assert risk.share.size == review.MOST_PLACES
        assert caught.n.size == review.MOST_PLACES + 1
        assert (caught.n[0], caught.n[-1], risk.share[-1]) == (0, 5000, 1)
        # What is kept is what the whole curve has there.
        order = np.argsort(-e, kind="stable")
        assert caught.oracle == pytest.approx(np.concatenate([[0], np.cumsum(e[order]) / e.sum()])[caught.n])
        assert risk.guided[-1] == pytest.approx(e.mean())
        assert np.all(risk.band.low <= risk.band.high)
        assert np.all(caught.band.low <= caught.band.high)
