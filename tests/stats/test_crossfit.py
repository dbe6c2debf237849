"""Cross-fitted predictions: they find what the kernels hold, meet noise as chance does, and see no own group."""

import numpy as np
import pytest

from undogmatic.stats import crossfit


def _linear(x: np.ndarray) -> np.ndarray:
    return np.asarray(x @ x.T)


def test_a_function_that_the_kernel_holds_is_found_exactly() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = x @ [1.0, -2.0, 0.5] + 7
    found = crossfit.predict([_linear(x), np.eye(60)], y, np.arange(60), rng)
    assert found == pytest.approx(y, abs=1e-3)


def test_stacking_leaves_a_kernel_of_noise_aside() -> None:
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(80, 2)), rng.normal(size=(80, 200))
    y = 3 * x[:, 0] + rng.normal(0, 1, 80)
    groups = np.arange(80)
    alone = crossfit.predict([_linear(x)], y, groups, np.random.default_rng(2))
    both = crossfit.predict([_linear(x), _linear(noise)], y, groups, np.random.default_rng(2))
    assert np.mean((both - y) ** 2) < 1.15 * np.mean((alone - y) ** 2)


def test_noise_is_met_as_often_as_by_a_coin() -> None:
    """With the penalty and the stacking weights chosen on the rows that are predicted, it was .55."""
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(150):
        x, many = rng.normal(size=(24, 4)), rng.normal(size=(24, 60))
        found = crossfit.predict([_linear(x), _linear(many)], np.ones(24), np.arange(24), rng, intercept=False)
        shares.append(np.mean((1 + np.sign(found)) / 2))
    assert np.mean(shares) == pytest.approx(0.5, abs=0.03)


def test_rows_of_the_own_group_say_nothing() -> None:
    """Twins in one group are alike in nothing else: whoever saw the twin would know the target."""
    rng = np.random.default_rng(4)
    twins = np.repeat(np.arange(40), 2)
    y = rng.normal(size=40)[twins]
    alike = (twins[:, None] == twins[None, :]).astype(float)
    apart = crossfit.predict([alike], y, np.arange(80), rng)
    together = crossfit.predict([alike], y, twins, rng)
    assert np.corrcoef(apart, y)[0, 1] > 0.8
    assert abs(np.corrcoef(together + rng.normal(0, 1e-9, 80), y)[0, 1]) < 0.4


def test_with_hardly_a_group_the_answer_is_the_mean() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(6, 2))
    y = np.arange(6.0)
    assert crossfit.predict([_linear(x)], y, [0, 0, 1, 1, 2, 2], rng) == pytest.approx(np.full(6, 2.5))
    assert crossfit.predict([np.zeros((6, 6))], y, np.arange(6), rng) == pytest.approx(
        [np.mean(np.delete(y, k)) for k in range(6)]
    )
    with pytest.raises(ValueError, match="NaN"):
        crossfit.predict([_linear(x)], [*y[:5], np.nan], np.arange(6), rng)
