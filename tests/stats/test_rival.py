"""Agreement from sums, what is left of it at equal rival, and slopes: against other computations,
and coverage."""

from itertools import combinations

import numpy as np
import pytest

from tests.stats.conftest import Rng, held, sure
from undogmatic.stats import agreement, rival
from undogmatic.stats.rival import Coefficient, Voice


def one_hot(values: np.ndarray, k: int) -> Voice:
    return rival.voice((values[:, None] == np.arange(k)).astype(float))


@pytest.mark.parametrize("weights", ["none", "quadratic"])
def test_kappa_is_that_of_the_labels(weights: str, rng: Rng) -> None:
    a = rng.integers(3, size=60)
    b = np.where(rng.random(60) < 0.6, a, rng.integers(3, size=60))
    kind: Coefficient = "nominal" if weights == "none" else "quadratic"
    sides = [
        one_hot(v, 3) if weights == "none" else rival.voice(v.astype(float))
        for v in (a, b)
    ]
    found = sure(rival.agreement(sides[0], sides[1], kind, rng, None))
    for rows, value in [
        (np.arange(60), found.estimate),
        (np.arange(60) != 7, found.values[7]),
    ]:
        expected = agreement.weighted_kappa(a[rows], b[rows], np.arange(3), weights)  # type: ignore[arg-type]
        assert value == pytest.approx(expected.estimate)


def test_raters_of_an_item_count_as_rows_of_one_group(rng: Rng) -> None:
    """Two raters per item: the coefficient is that of the item's verdict beside each of its
    labels."""
    verdict = rng.integers(2, size=40)
    labels = np.where(rng.random((2, 40)) < 0.7, verdict, 1 - verdict)
    people = [one_hot(own, 2) for own in labels]
    mean = Voice(*(np.mean(parts, axis=0) for parts in zip(*people, strict=True)))
    found = sure(rival.agreement(one_hot(verdict, 2), mean, "nominal", rng, None))
    rows = agreement.weighted_kappa(np.tile(verdict, 2), labels.ravel(), [0, 1], "none")
    assert found.estimate == pytest.approx(rows.estimate)
    assert (
        rival.agreement(
            one_hot(verdict * 0, 2), one_hot(verdict * 0, 2), "nominal", rng, None
        )
        is None
    )


def test_nothing_is_left_of_what_the_rival_says_and_all_of_what_it_does_not(
    rng: Rng,
) -> None:
    verdict = rng.integers(2, size=200)
    label = np.where(rng.random(200) < 0.9, verdict, 1 - verdict)
    judge, people = one_hot(verdict, 2), one_hot(label, 2)
    kappa = sure(rival.agreement(judge, people, "nominal", rng, None)).estimate

    def left(control: np.ndarray) -> tuple[float, float, float]:
        table = control.astype(float)[:, None]
        found = sure(
            rival.at_equal(judge, people, [table, table], "nominal", 0.95, None)
        )
        return found.low, found.value, found.high

    assert left(verdict) == (0, 0, 0)
    assert left(label)[1] == pytest.approx(0, abs=1e-9)
    low, value, high = left(rng.normal(size=200))
    assert value == pytest.approx(kappa, abs=0.03) and low < kappa < high


def test_a_column_is_its_values_as_controls(rng: Rng) -> None:
    values = rng.integers(4, size=90)
    a = rng.normal(size=90) + values
    b = a + rng.normal(size=90)
    dummies = (values[:, None] == np.arange(1, 4)).astype(float)
    sides = rival.voice(a), rival.voice(b)
    within = sure(rival.within(*sides, values, "rank", 0.95, None))
    assert within == sure(
        rival.at_equal(*sides, [dummies], "rank", 0.95, None)
    ).replace(
        low=pytest.approx(within.low),
        high=pytest.approx(within.high),
        value=pytest.approx(within.value),
        se=pytest.approx(within.se),
        df=pytest.approx(within.df),
    )


def test_what_is_left_is_held_by_its_interval(rng: Rng) -> None:
    """Verdict and label have nothing in common but a rival that both follow in part: 0 is left."""

    def draw() -> rival.Estimate | None:
        seen = rng.random(80)
        sides = [one_hot((rng.random(80) < seen).astype(int), 2) for _ in range(2)]
        table = seen[:, None]
        return rival.at_equal(sides[0], sides[1], [table, table], "nominal", 0.95, None)

    assert 0.92 <= held(0.0, 400, draw) <= 0.98


def test_what_controls_take_is_counted_in_groups(rng: Rng) -> None:
    """Seven controls that say nothing, the same for all 30 rows of a group, as is most of what both
    sides share."""
    groups = np.repeat(np.arange(20), 30)

    def left(share: float) -> float:
        def mixed(k: int) -> np.ndarray:
            return share**0.5 * rng.normal(size=(20, k))[groups] + (
                1 - share
            ) ** 0.5 * rng.normal(size=(600, k))

        both = 0.7**0.5 * mixed(1) + 0.3**0.5 * mixed(2)
        one, other = (rival.voice(side) for side in both.T)
        found = sure(
            rival.at_equal(
                one, other, [rng.normal(size=(20, 7))[groups]], "rank", 0.95, groups
            )
        )
        return float(found.value * both[:, 0].std() * both[:, 1].std())

    assert np.mean([left(1.0) for _ in range(80)]) == pytest.approx(0.67, abs=0.05)
    assert np.mean([left(0.0) for _ in range(20)]) == pytest.approx(0.7, abs=0.05)


def test_a_column_foretells_from_other_groups_alone() -> None:
    values, groups = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3])
    side = np.array([[1.0], [1.0], [0.0], [1.0], [0.0]])
    others = [(0 + 0.6) / 2, (0 + 0.6) / 2, (2 + 0.6) / 3, (0 + 0.6) / 2, (1 + 0.6) / 2]
    assert rival.by_value(values, side, groups)[:, 0] == pytest.approx(others)


def test_slopes(rng: Rng) -> None:
    x = rng.exponential(size=50)
    y = 2 * x + rng.normal(size=50)
    assert sure(rival.slope(x, y, 0.95, None)).value == pytest.approx(
        np.polyfit(x, y, 1)[0]
    )
    assert rival.slope(x * 0 + 3, y, 0.95, None) is None

    def draw() -> rival.Estimate | None:
        x = rng.normal(size=60)
        return rival.slope(x, 0.5 * x + rng.normal(size=60) * np.abs(x), 0.95, None)

    assert held(0.5, 400, draw) >= 0.91


def test_groups_widen_intervals(rng: Rng) -> None:
    x = np.repeat(rng.normal(size=20), 5)
    y = x + np.repeat(rng.normal(size=20), 5)
    found = [
        sure(rival.slope(x, y, 0.95, groups)) for groups in (None, np.arange(100) // 5)
    ]
    assert all(
        b.high - b.low > 1.5 * (a.high - a.low) for a, b in combinations(found, 2)
    )


def test_what_is_left_of_an_agreement_is_no_more_than_1(rng: Rng) -> None:
    said = rng.normal(size=(30, 1))
    for judge in (said, said + rng.normal(0, 0.05, said.shape)):
        left = rival.at_equal(
            rival.voice(judge),
            rival.voice(said),
            [rng.normal(size=(30, 3))],
            "rank",
            0.95,
            None,
        )
        assert left is not None and -1 <= left.low <= left.value <= left.high <= 1


def test_what_is_shared_is_measured_by_what_people_share() -> None:
    """Three people and a judge see what the rival sees, and each beyond it the same and something
    of his own: the judge shares as much with people as they with each other, half as much where it
    sees half, and nothing where it sees what the rival sees alone."""
    rng = np.random.default_rng(0)
    n = 4000
    seen, beyond = rng.normal(size=(2, n))
    raters = np.array([seen + beyond + rng.normal(size=n) for _ in range(3)])
    people = Voice(raters.mean(axis=0)[:, None], (raters**2).mean(axis=0)[:, None])
    foretold = rival.by_controls([seen[:, None]])
    three = np.full(n, 3)
    for part in (1.0, 0.5, 0.0):
        judge = rival.voice(seen + part * beyond + (1 - part) * rng.normal(size=n))
        found = sure(
            rival.shared(judge, people, three, foretold, "quadratic", 0.95, None)
        )
        share = sure(found.share)
        assert found.people.value == pytest.approx(1 / 3, abs=0.03)
        assert share.low <= share.value <= share.high
        # Quadratic weights divide by the mean of both variances, of the judge's and of people's.
        variance = 1 + part**2 + (1 - part) ** 2
        assert share.value == pytest.approx(
            part * 3.0 / ((variance + 3.0) / 2), abs=0.1
        )


def test_the_pairs_of_people_are_those_of_every_two() -> None:
    """The mean product of what is left of two people's labels, from means and squares alone."""
    rng = np.random.default_rng(1)
    counts = rng.integers(2, 5, size=60)
    labels = [rng.normal(size=k) for k in counts]
    people = Voice(
        np.array([own.mean() for own in labels])[:, None],
        np.array([(own**2).mean() for own in labels])[:, None],
    )
    control = rng.normal(size=60)
    basis = np.column_stack([np.ones(60), control])
    fitted = basis @ np.linalg.lstsq(basis, people.mean[:, 0], rcond=None)[0]
    every = [
        np.mean([(a - f) * (b - f) for a, b in combinations(own, 2)])
        for own, f in zip(labels, fitted, strict=True)
    ]
    judge = rival.voice(rng.normal(size=60))
    foretold = rival.by_controls([control[:, None]])
    found = sure(rival.shared(judge, people, counts, foretold, "rank", 0.95, None))
    scale = np.mean(people.square) - np.mean(people.mean) ** 2
    assert found.people.value == pytest.approx(np.mean(every) / scale)


def test_a_share_of_what_is_not_there_is_none() -> None:
    rng = np.random.default_rng(2)
    raters = rng.normal(size=(2, 100))
    people = Voice(raters.mean(axis=0)[:, None], (raters**2).mean(axis=0)[:, None])
    judge = rival.voice(rng.normal(size=100))
    foretold = rival.by_column(np.arange(100) % 4)
    found = sure(
        rival.shared(judge, people, np.full(100, 2), foretold, "rank", 0.95, None)
    )
    assert found.share is None and found.people.low <= 0 <= found.people.high


def test_the_interval_of_a_share_holds_the_share() -> None:
    """In 200 samples of 80 items whose judge shares with two people all that they share."""
    rng = np.random.default_rng(3)

    def draw() -> rival.Estimate | None:
        seen, beyond = rng.normal(size=(2, 80))
        said = np.array([seen + 1.2 * beyond + rng.normal(size=80) for _ in range(3)])
        people = Voice(
            said[:2].mean(axis=0)[:, None], (said[:2] ** 2).mean(axis=0)[:, None]
        )
        foretold = rival.by_controls([seen[:, None]])
        judge = rival.voice(said[2])
        found = rival.shared(
            judge, people, np.full(80, 2), foretold, "quadratic", 0.95, None
        )
        return None if found is None else found.share

    shares = [draw() for _ in range(200)]
    inside = [share.low <= 1 <= share.high for share in shares if share is not None]
    assert len(inside) > 190 and np.mean(inside) > 0.9
