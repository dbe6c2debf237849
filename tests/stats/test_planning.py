"""How many labels an answer takes: errors against simulation, and what must hold of any plan."""

import numpy as np
import pytest

from undogmatic.examinations.surface_rival import least_left
from undogmatic.stats.planning import Expected, Order, TwoKinds, labels_needed


def kappa(cells: np.ndarray) -> np.ndarray:
    """Of tables of shares, verdict by label, shape (..., 2, 2)."""
    said, had = cells.sum(axis=-1)[..., 0], cells.sum(axis=-2)[..., 0]
    apart = cells[..., 0, 1] + cells[..., 1, 0]
    return np.asarray(1 - apart / (said + had - 2 * said * had))


@pytest.mark.parametrize(("rarer", "right"), [(0.5, 0.8), (0.1, 0.9), (0.3, 0.95)])
@pytest.mark.parametrize("by_verdict", [False, True])
def test_the_error_of_kappa_is_that_of_a_simulation(
    rarer: float, right: float, by_verdict: bool, rng: np.random.Generator
) -> None:
    expected, n = TwoKinds(rarer, right, by_verdict), 1000
    cells = expected.cells
    assert expected.agreement == pytest.approx(float(kappa(cells)))
    if by_verdict:
        share = cells.sum(axis=1)
        drawn = rng.binomial(n // 2, cells[:, 0] / share, (4000, 2)) / (n // 2) * share
        tables = np.stack([drawn, share - drawn], axis=-1)
    else:
        tables = rng.multinomial(n, cells.ravel(), 4000).reshape(-1, 2, 2) / n
    assert expected.error(n) == pytest.approx(float(kappa(tables).std()), rel=0.05)


@pytest.mark.parametrize(
    "expected",
    [
        TwoKinds(0.5, 0.85),
        TwoKinds(0.1, 0.9, fewest=20),
        TwoKinds(0.1, 0.9, True, 20),
        Order(0.7),
    ],
)
def test_the_number_is_the_fewest_that_reaches_its_chance(expected: Expected) -> None:
    chances = (0.5, 0.8, 0.9)
    needed = labels_needed(expected, 0.4, least_left, chances, level=0.95, fewest=20)
    assert needed == sorted(n for n in needed if n is not None)
    for n, chance in zip(needed, chances, strict=True):
        assert n is not None
        assert expected.chance(n, 0.4, least_left, 0.95) >= chance
        assert n == 20 or expected.chance(n - 1, 0.4, least_left, 0.95) < chance


def test_a_judge_that_is_no_better_than_asked_for_never_gets_there() -> None:
    for expected in (TwoKinds(0.5, 0.7), Order(0.4)):
        needed = labels_needed(expected, 0.4, least_left, (0.5,), level=0.95, fewest=20)
        assert needed == [None]


def test_a_rare_label_takes_more_labels_at_random_than_drawn_by_verdict() -> None:
    random, drawn = (
        labels_needed(
            TwoKinds(0.1, 0.9, by_verdict, 20),
            0.4,
            least_left,
            (0.8,),
            level=0.95,
            fewest=20,
        )[0]
        for by_verdict in (False, True)
    )
    assert random is not None
    assert drawn is not None
    assert random > drawn + 50


@pytest.mark.parametrize(
    "wrong", [{"rarer": 0.0, "right": 0.9}, {"rarer": 0.1, "right": 1.5}]
)
def test_shares_that_are_none_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        TwoKinds(**wrong)
