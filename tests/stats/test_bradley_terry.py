"""Bradley-Terry strengths: an independent fit, mirrored and renamed systems, the order shown,
coverage, refusals."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.stats.conftest import Rng
from undogmatic.stats import bradley_terry

Choices = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]


def _choices(
    strengths: list[float],
    n_items: int,
    taste: float,
    rng: Rng,
    always_first: int | None = None,
) -> Choices:
    """Winner, loser, first shown and item of each choice: items in both orders, or (of two systems)
    in one."""
    theta = np.array(strengths)
    i = rng.integers(theta.size, size=n_items)
    j = (i + rng.integers(1, theta.size, size=n_items)) % theta.size
    if always_first is not None:
        i, j = np.full(n_items, always_first), np.full(n_items, 1 - always_first)
    parts = []
    for side in (1, -1) if always_first is None else (1,):
        won = rng.random(n_items) < 1 / (
            1 + np.exp(-(theta[i] - theta[j] + side * taste))
        )
        parts.append(
            (
                np.where(won, i, j),
                np.where(won, j, i),
                i if side == 1 else j,
                np.arange(n_items, dtype=np.intp),
            )
        )
    winner, loser, first, item = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    return winner, loser, first, item


def test_strengths_are_those_of_a_logistic_regression_with_the_made_up_choices_added(
    rng: Rng,
) -> None:
    from sklearn.linear_model import LogisticRegression

    winner, loser, first, item = _choices([1.0, 0.0, -0.7], 80, 0.5, rng)
    found = bradley_terry.fit(
        winner, loser, 3, rng, first=first, groups=item, resamples=20
    )
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    won = np.concatenate([winner, [a for a, _ in pairs]])
    lost = np.concatenate([loser, [b for _, b in pairs]])
    place = np.concatenate([np.where(first == winner, 1, -1), np.zeros(len(pairs))])
    weight = np.append(
        np.ones(winner.size), np.full(len(pairs), bradley_terry.PRIOR * 3 / len(pairs))
    )
    x = np.column_stack([np.eye(3)[won] - np.eye(3)[lost], place])
    both, y = np.concatenate([x, -x]), np.repeat([1, 0], len(x))
    model = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10, max_iter=5000)
    expected = model.fit(both, y, sample_weight=np.tile(weight, 2)).coef_[0]
    assert [one.value for one in found.strengths] == pytest.approx(
        expected[:3] - expected[:3].mean(), abs=1e-4
    )
    assert found.first is not None
    assert found.first.value == pytest.approx(expected[3], abs=1e-4)


def test_losers_in_place_of_winners_turn_the_ranking_round_and_names_do_not_matter(
    rng: Rng,
) -> None:
    winner, loser, first, item = _choices([0.8, 0.0, -0.8, 0.3], 120, 0.0, rng)
    plain, mirrored = (
        bradley_terry.fit(
            *sides, 4, np.random.default_rng(5), groups=item, resamples=30
        )
        for sides in ((winner, loser), (loser, winner))
    )
    values = np.array([one.value for one in plain.strengths])
    assert [-one.value for one in mirrored.strengths] == pytest.approx(values, abs=1e-6)
    order = np.array([2, 0, 3, 1])
    renamed = bradley_terry.fit(
        order[winner],
        order[loser],
        4,
        rng,
        first=order[first],
        groups=item,
        resamples=30,
    )
    again = bradley_terry.fit(
        winner, loser, 4, rng, first=first, groups=item, resamples=30
    )
    assert [renamed.strengths[k].value for k in order] == pytest.approx(
        [one.value for one in again.strengths]
    )


def test_a_taste_for_the_first_place_is_no_merit(rng: Rng) -> None:
    """The order varies by item but favours system 0; without its term that system would look
    better."""
    parts = [
        _choices([0.0, 0.0], n, 1.2, rng, always_first=side)
        for side, n in ((0, 160), (1, 40))
    ]
    winner, loser, first, item = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    item = np.arange(item.size)
    told = bradley_terry.fit(winner, loser, 2, rng, first=first, groups=item)
    naive = bradley_terry.fit(winner, loser, 2, rng, groups=item)
    assert told.separable == 0
    assert told.ranks == ((1, 2), (1, 2))
    assert told.first is not None
    assert told.first.low < 1.2 < told.first.high
    assert naive.ranks == ((1, 1), (2, 2))


def test_intervals_of_strengths_and_of_all_differences_together_hold() -> None:
    truth = np.array([0.6, 0.0, -0.6])
    own, together = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        winner, loser, first, item = _choices(truth.tolist(), 60, 0.8, rng)
        half = np.full(winner.size, 0.5)
        found = bradley_terry.fit(
            winner, loser, 3, rng, first=first, weights=half, groups=item, resamples=150
        )
        own += [
            one.low <= theta <= one.high
            for one, theta in zip(found.strengths, truth, strict=True)
        ]
        together.append(
            all(
                one.low <= truth[i] - truth[j] <= one.high
                for (i, j), one in found.differences.items()
            )
        )
    assert 0.92 <= np.mean(own) <= 1
    assert np.mean(together) >= 0.92


def test_a_system_that_always_wins_is_better_by_a_finite_uncertain_amount(
    rng: Rng,
) -> None:
    few, many = (
        bradley_terry.fit(np.zeros(n), np.ones(n), 2, rng, groups=range(n)).differences[
            0, 1
        ]
        for n in (3, 40)
    )
    assert few.low < 0 < few.value < many.low < many.high < 20


@pytest.mark.parametrize(
    ("winner", "loser", "more", "says"),
    [
        ([0, 2], [1, 3], {}, r"never compared: \[\[0, 1\], \[2, 3\]\]"),
        ([0, 1], [0, 2], {}, "two different systems"),
        ([0, 1, 2, 3], [1, 2, 3, 0], {"first": [0, 1, 2, 2]}, "`first`"),
        ([0, 1, 2, 3], [1, 2, 3, 0], {"groups": [1, 1, 1, 1]}, "at least 2"),
    ],
)
def test_refuses(
    winner: list[int], loser: list[int], more: dict[str, list[int]], says: str, rng: Rng
) -> None:
    with pytest.raises(ValueError, match=says):
        bradley_terry.fit(winner, loser, 4, rng, **more)
