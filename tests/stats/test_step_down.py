"""Holm's procedure for questions that are asked at any level."""

import numpy as np

from undogmatic.stats import paired
from undogmatic.stats.step_down import step_down


def test_it_is_holms_procedure() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        p = rng.uniform(0, 0.1, 6) ** 2
        found = step_down(range(6), lambda key, alpha, p=p: bool(p[key] <= alpha), 0.05)
        expected = paired.holm(p) <= 0.05
        assert [found[key].shown for key in range(6)] == expected.tolist()


def test_each_answer_has_the_alpha_at_which_it_was_given() -> None:
    p = {"a": 0.001, "b": 0.02, "c": 0.9}
    found = step_down(list(p), lambda key, alpha: p[key] <= alpha, 0.06)
    assert found["a"] == (True, 0.02) and found["b"] == (True, 0.02)
    assert found["c"] == (False, 0.06)
    assert step_down([], lambda key, alpha: True) == {}
