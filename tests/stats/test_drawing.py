"""Draws with unequal, known probabilities: they are what they are said to be, and labels that are
weighted by them speak for all items."""

import numpy as np
import pytest
from numpy.typing import NDArray

from undogmatic.stats import corrected, drawing

N, DRAWN = 60, 20


def sizes(seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).gamma(0.7, 4.0, N)


@pytest.mark.parametrize("n", [1, DRAWN, 59, N])
def test_chances_rise_with_the_sizes_and_leave_nobody_out(n: int) -> None:
    size = sizes()
    found = drawing.chances(size, n)
    assert found.sum() == pytest.approx(n)
    assert found.min() >= drawing.EVEN * n / N and found.max() <= 1
    assert np.all(np.diff(found[np.argsort(size)]) >= 0)
    # at most a third more weight than in an even draw, and not an even one
    if n == DRAWN:
        assert (1 / found).max() <= 4 / 3 * N / n and found.max() > 1.5 * n / N


def test_without_a_difference_the_draw_is_even() -> None:
    for same in (0.0, 3.0):
        assert drawing.chances(np.full(N, same), DRAWN) == pytest.approx(DRAWN / N)
    assert drawing.chances(sizes(), DRAWN, even=1) == pytest.approx(DRAWN / N)


def test_what_is_no_draw_is_refused() -> None:
    for wrong, said in (
        ({"n": 0}, "`n`"),
        ({"n": N + 1}, "`n`"),
        ({"n": 3, "even": 0}, "`even`"),
    ):
        with pytest.raises(ValueError, match=said):
            drawing.chances(sizes(), **wrong)
    with pytest.raises(ValueError, match="`sizes`"):
        drawing.chances([1.0, -1.0], 1)


def test_each_item_comes_in_as_often_as_its_chance_says() -> None:
    chances, rng, draws = (
        drawing.chances(sizes(), DRAWN),
        np.random.default_rng(3),
        6000,
    )
    times, first = np.zeros(N), np.zeros(N)
    for _ in range(draws):
        places = drawing.systematic(chances, rng)
        assert len(places) == len({*places.tolist()}) == DRAWN
        times[places] += 1
        first[places[0]] += 1
    off = (times / draws - chances) / np.sqrt(
        np.clip(chances * (1 - chances), 1e-9, None) / draws
    )
    assert np.abs(off).max() < 4.5
    # Who stops early has labelled a draw with the same proportions.
    share = chances / DRAWN
    assert (
        np.abs((first / draws - share) / np.sqrt(share * (1 - share) / draws)).max()
        < 4.5
    )


def test_a_seed_is_a_draw() -> None:
    chances = drawing.chances(sizes(), DRAWN)
    one, same, other = (
        drawing.systematic(chances, np.random.default_rng(seed)).tolist()
        for seed in (1, 1, 2)
    )
    assert one == same != other


def test_labels_speak_for_all_texts_and_unweighted_ones_do_not() -> None:
    rng, size = np.random.default_rng(5), sizes()
    verdicts = rng.uniform(20, 80, N)
    # People are stricter where the judge wavers: labels of a draw that favours these are too low.
    labels = np.clip(verdicts - 2.5 * size + rng.normal(0, 4, N), 0, 100)
    chances, truth = drawing.chances(size, DRAWN), float(labels.mean())
    means, plain, holds = [], [], []
    for _ in range(400):
        places = drawing.systematic(chances, rng)
        seen = np.full(N, np.nan)
        seen[places] = labels[places]
        judged = corrected.Judged(verdicts, seen, chances, np.arange(N), N)
        found = corrected.mean(
            judged, "probabilities", (0, 100), these_items=True
        ).estimate
        assert found is not None
        means.append(found.value)
        holds.append(found.low <= truth <= found.high)
        plain.append(labels[places].mean())
    error = np.std(means) / 20
    assert abs(np.mean(means) - truth) < max(4 * error, 0.5)
    assert abs(np.mean(plain) - truth) > 2 > 8 * error
    assert np.mean(holds) >= 0.93
