"""Exchanging two jobs' answers unit by unit: copies of texts are no evidence, and the level is kept."""

import numpy as np

from undogmatic.stats import review
from undogmatic.stats.compare import exchange_p


def _jobs(rng: np.random.Generator, n: int, merit: float) -> tuple[np.ndarray, np.ndarray]:
    """Doubt and error of two jobs on the same texts; the doubt of the first follows its error by `merit`."""
    error = np.abs(rng.normal(size=n)) * 10
    doubts = merit * error + rng.normal(size=n) * 10, rng.normal(size=n) * 10
    one, other = (np.column_stack([doubt, error]) for doubt in doubts)
    return one, other


def _p(one: np.ndarray, other: np.ndarray, codes: np.ndarray) -> float:
    estimate = review.GAIN.of(one) - review.GAIN.of(other)
    found = exchange_p(review.GAIN, one, other, codes, estimate, 499)
    assert found is not None
    return found


def test_copies_of_one_unit_are_exchanged_together() -> None:
    one, other = _jobs(np.random.default_rng(3), 12, 0.5)
    alone = _p(one, other, np.arange(12))
    copied = _p(np.repeat(one, 6, axis=0), np.repeat(other, 6, axis=0), np.repeat(np.arange(12), 6))
    each = _p(np.repeat(one, 6, axis=0), np.repeat(other, 6, axis=0), np.arange(72))
    assert abs(copied - alone) < 0.1
    assert each < 0.2 * copied


def test_jobs_without_merit_are_told_apart_no_more_often_than_stated() -> None:
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(20), 3)
    found = []
    for _ in range(250):
        one, other = _jobs(rng, 20, 0.0)
        found.append(_p(one[codes], other[codes], codes))
    assert np.mean(np.array(found) < 0.05) <= 0.085
    strong = _jobs(rng, 60, 2.0)
    assert _p(*strong, np.arange(60)) < 0.01
