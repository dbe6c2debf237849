"""Promises are kept or broken by limits, and open where neither is shown."""

import numpy as np
import pytest

from undogmatic.stats.promise import kept


def flags(hits: int, n: int) -> np.ndarray:
    return np.arange(n) < hits


@pytest.mark.parametrize(
    ("hits", "n", "outcome"),
    [(9, 10, "open"), (900, 1000, "within"), (850, 1000, "below"), (960, 1000, "above"), (10, 10, "open")],
)
def test_the_outcome_follows_the_limits(hits: int, n: int, outcome: str) -> None:
    found = kept(flags(hits, n), 0.9, 0.05)
    assert found.outcome == outcome
    assert (found.n_needed is not None) == (outcome == "open")


def test_more_than_promised_keeps_a_promise_of_at_least() -> None:
    assert kept(flags(990, 1000), 0.9, 0.05, at_least=True).outcome == "within"
    assert kept(flags(18, 20), 0.9, 0.05, at_least=True).outcome == "open"


def test_the_number_needed_shows_a_kept_promise_as_often_as_stated() -> None:
    needed = kept(flags(45, 50), 0.9, 0.05).n_needed
    assert needed == pytest.approx(309, abs=2)  # (1.645 + 1.282)^2 x 0.9 x 0.1 / 0.05^2
    draw = np.random.default_rng(0)
    shown = [kept(draw.random(needed) < 0.9, 0.9, 0.05).outcome == "within" for _ in range(150)]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.1)


def test_copies_show_no_more_than_what_they_copy() -> None:
    alone, groups = flags(90, 100), np.repeat(np.arange(100), 10)
    assert kept(np.repeat(alone, 10), 0.9, 0.05).outcome == "within"
    found = kept(np.repeat(alone, 10), 0.9, 0.05, groups=groups)
    assert found.outcome == "open"
    assert found.n_needed is not None and found.n_needed > 1000


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="`promised`"):
        kept([True], 1.5, 0.05)
    with pytest.raises(ValueError, match="`margin`"):
        kept([True], 0.9, 0.0)
