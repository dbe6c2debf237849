"""Judges beside people: pooled agreement, and the alternative annotator test."""

import numpy as np
import pytest
from scipy import stats

from tests.stats.conftest import held
from undogmatic.stats import agreement, annotators
from undogmatic.stats.checks import Array, Rng
from undogmatic.stats.estimate import Estimate

N = 80


def raters(rng: Rng, n: int, accuracies: list[float], k: int = 2) -> list[Array]:
    """What each rater says of n items: the truth as often as this, else anything."""
    truth = rng.integers(0, k, n)
    return [
        np.where(rng.random(n) < own, truth, rng.integers(0, k, n)).astype(float)
        for own in accuracies
    ]


def long(labels: list[Array]) -> tuple[Array, ...]:
    """Unit, rater and label of each label."""
    units = np.tile(np.arange(labels[0].size), len(labels))
    return (
        units,
        np.repeat(np.arange(len(labels)), labels[0].size),
        np.concatenate(labels),
    )


def of_people(
    judge: Array, labels: list[Array], nominal: bool, groups: Array | None = None
) -> annotators.Ceiling:
    unit, rater, label = long(labels)
    pairs = annotators.rater_pairs(unit, rater, np.random.default_rng(0))
    rows = unit[pairs.first]
    found = annotators.ceiling(
        label[pairs.first],
        label[pairs.second],
        judge[rows],
        pairs.pair,
        rows if groups is None else groups[rows],
        nominal=nominal,
    )
    assert found is not None
    return found


@pytest.mark.parametrize(("nominal", "weights"), [(True, "none"), (False, "quadratic")])
def test_of_two_raters_it_is_kappa_of_them_and_nearly_the_mean_of_the_judges_kappas(
    rng, nominal, weights
) -> None:
    judge, *labels = raters(rng, N, [0.7, 0.8, 0.8], k=4)
    found = of_people(judge, labels, nominal)
    own = [
        agreement.weighted_kappa(judge, one, range(4), weights).estimate
        for one in labels
    ]
    assert found.people.value == pytest.approx(
        agreement.weighted_kappa(*labels, range(4), weights).estimate
    )
    assert min(own) <= found.judge.value <= max(own)
    assert found.difference.value == pytest.approx(
        found.judge.value - found.people.value
    )


def test_raters_in_another_order_and_other_codes_change_nothing(rng) -> None:
    judge, *labels = raters(rng, N, [0.7, 0.8, 0.9, 0.6], k=3)
    found = of_people(judge, labels, nominal=True)
    other = of_people(
        7 - 2 * judge, [7 - 2 * own for own in labels[::-1]], nominal=True
    )
    assert other.people.interval == pytest.approx(found.people.interval)
    assert other.difference.interval == pytest.approx(found.difference.interval)


def test_left_out_groups_are_those_of_the_coefficient_without_them(rng) -> None:
    """Pseudo-values average to the estimate, and the spread is that of kappas really computed
    without each group."""
    judge, *labels = raters(rng, 40, [0.7, 0.8, 0.8])
    groups = np.arange(40) % 8
    found = of_people(judge, labels, nominal=True, groups=groups)
    without = [
        of_people(
            judge[keep],
            [one[keep] for one in labels],
            nominal=True,
            groups=groups[keep] - (groups[keep] > g),
        )
        for g in range(8)
        for keep in [groups != g]
    ]
    left = np.array([one.difference.value for one in without])
    assert found.difference.se == pytest.approx(
        np.sqrt(7 / 8 * np.sum((left - left.mean()) ** 2)), rel=1e-6
    )


def test_a_judge_that_says_one_thing_agrees_by_chance_and_a_crowd_is_taken_together(
    rng,
) -> None:
    labels = raters(rng, N, [0.9, 0.9])
    assert of_people(np.ones(N), labels, nominal=True).judge.value == pytest.approx(0)
    assert of_people(
        np.full(N, 0.3), labels, nominal=False
    ).judge.value == pytest.approx(0)
    unit = np.repeat(np.arange(N), 2)
    pairs = annotators.rater_pairs(unit, np.arange(2 * N), rng)  # nobody labels twice
    assert np.unique(pairs.pair).size == 1 and pairs.first.size == 2 * N
    assert np.array_equal(np.sort(pairs.first), np.sort(pairs.second))


def test_labels_that_are_all_the_same_have_no_agreement_beyond_chance() -> None:
    zeros, pair = np.zeros(9), np.zeros(9, dtype=np.intp)
    assert (
        annotators.ceiling(zeros, zeros, zeros, pair, np.arange(9), nominal=False)
        is None
    )


def test_the_interval_of_the_difference_holds(rng) -> None:
    """Equally good raters and judge: the true difference is 0."""

    def draw() -> Estimate:
        judge, *labels = raters(rng, N, [0.8, 0.8, 0.8])
        return of_people(judge, labels, nominal=True).difference

    assert 0.92 <= held(0, 300, draw) <= 0.99


def by_definition(
    judge: Array, labels: Array, epsilon: float, nominal: bool
) -> tuple[list[float], list[float]]:
    """Adjusted p-values and advantages of the alternative annotator test, item by item as its
    authors state it."""
    p_values, advantages = [], []
    for j, own in enumerate(labels):
        others = np.delete(labels, j, axis=0)

        def closeness(said: Array, others: Array = others) -> Array:
            apart = said != others if nominal else (said - others) ** 2
            return -np.sqrt(apart.mean(axis=0))

        judged, human = closeness(judge), closeness(own)
        wins, losses = (judged >= human).astype(float), (human >= judged).astype(float)
        p_values.append(
            stats.ttest_1samp(losses - wins, epsilon, alternative="less").pvalue
        )
        advantages.append(wins.mean())
    order = np.argsort(p_values)
    m = len(p_values)
    ranked = (
        np.array(p_values)[order]
        * m
        * np.sum(1 / np.arange(1, m + 1))
        / np.arange(1, m + 1)
    )
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1)
    return adjusted.tolist(), advantages


@pytest.mark.parametrize("nominal", [True, False])
def test_the_alternative_annotator_test_is_that_of_its_authors(rng, nominal) -> None:
    judge, *labels = raters(rng, N, [0.75, 0.8, 0.7, 0.8], k=5)
    found = annotators.alternative_annotator(
        *long(labels),
        np.tile(judge, 3),
        np.tile(np.arange(N), 3),
        nominal=nominal,
        epsilon=0.2,
    )
    assert found is not None
    p_values, advantages = by_definition(judge, np.array(labels), 0.2, nominal)
    assert [one.p_adjusted for one in found.raters] == pytest.approx(p_values)
    assert [one.advantage for one in found.raters] == pytest.approx(advantages)
    assert found.advantage.value == pytest.approx(np.mean(advantages))
    assert found.winning_rate == np.mean(np.array(p_values) <= 0.05)


def test_the_alternative_annotator_test_by_hand() -> None:
    """Three raters, 30 items. All agree on 20; on the other ten, a alone says 1, and so does the
    judge on two of them.

    Beside b and c, the judge is as close as a on 22 items and closer on eight; beside a and c, it
    is as close as b on all of them, as each agrees with one of two on the two items, and for c
    alike.
    """
    odd = np.zeros(30)
    odd[:10] = 1
    judge = np.zeros(30)
    judge[:2] = 1
    labels = [odd, np.zeros(30), np.zeros(30)]
    found = annotators.alternative_annotator(
        *long(labels), np.tile(judge, 3), np.tile(np.arange(30), 3), nominal=True
    )
    assert found is not None
    assert [one.advantage for one in found.raters] == [1, 1, 1]
    assert [one.behind.value for one in found.raters] == pytest.approx(
        [22 / 30 - 1, 0, 0]
    )
    assert found.winning_rate == 1 and found.passes


def test_whole_groups_are_the_units_of_the_alternative_annotator_test(rng) -> None:
    """Ten copies of each item in a group say no more than the item."""
    judge, *labels = raters(rng, 30, [0.8, 0.8, 0.8, 0.8])
    once = annotators.alternative_annotator(
        *long(labels), np.tile(judge, 3), np.tile(np.arange(30), 3), nominal=True
    )
    ten, many = np.repeat(judge, 10), [np.repeat(one, 10) for one in labels]
    groups = np.tile(np.repeat(np.arange(30), 10), 3)
    copied = annotators.alternative_annotator(
        *long(many), np.tile(ten, 3), groups, nominal=True
    )
    assert once is not None and copied is not None
    assert [one.p_adjusted for one in copied.raters] == pytest.approx(
        [one.p_adjusted for one in once.raters]
    )


def test_a_judge_at_the_margin_wins_few_raters_and_too_few_raters_are_no_test(
    rng,
) -> None:
    """Where raters are closer more often by nearly epsilon, hardly any is beaten; where they are as
    close, most are."""
    shares = {}
    for accuracy in (0.45, 0.9):
        won = []
        for _ in range(40):
            judge, *labels = raters(rng, 100, [accuracy, 0.9, 0.9, 0.9])
            found = annotators.alternative_annotator(
                *long(labels),
                np.tile(judge, 3),
                np.tile(np.arange(100), 3),
                nominal=True,
            )
            assert found is not None
            won.append(found.winning_rate)
        shares[accuracy] = np.mean(won)
    assert shares[0.45] < 0.05 and shares[0.9] > 0.5
    for n, own in ((29, labels), (100, labels[:2])):
        few = [one[:n] for one in own]
        size = n * len(few)
        assert (
            annotators.alternative_annotator(
                *long(few), np.zeros(size), np.arange(size), nominal=True
            )
            is None
        )


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 25.0, 1e-7])
def test_equal_distances_stay_equal_on_every_scale(scale: float) -> None:
    """Beside a and b, who err to either side, c and the judge are both right: a tie on every item,
    however far away the judge's verdict on some other item lies, which once decided how all of its
    distances were rounded.
    """
    truth = np.repeat(np.arange(1.0, 6.0), 8)
    labels = [truth + 1, truth - 1, truth]
    judge = truth.copy()
    judge[0] += 4000
    found = annotators.alternative_annotator(
        *long([scale * own for own in labels]),
        np.tile(scale * judge, 3),
        np.tile(np.arange(40), 3),
        nominal=False,
    )
    assert found is not None
    assert [one.advantage for one in found.raters] == pytest.approx([39 / 40] * 3)
    assert [one.behind.value for one in found.raters] == pytest.approx(
        [-38 / 40, -38 / 40, 1 / 40]
    )


@pytest.mark.parametrize("nominal", [True, False])
def test_a_worse_verdict_never_helps(rng, nominal) -> None:
    """Verdicts are made worse one by one: no rater's advantage and no winning rate ever rises."""
    for _ in range(12):
        judge, *labels = raters(rng, 40, rng.uniform(0.3, 0.9, 4).tolist(), k=5)
        before = None
        for item in rng.permutation(40)[:15]:
            found = annotators.alternative_annotator(
                *long(labels),
                np.tile(judge, 3),
                np.tile(np.arange(40), 3),
                nominal=nominal,
                epsilon=0.2,
            )
            assert found is not None
            now = [found.winning_rate, *(one.advantage for one in found.raters)]
            assert before is None or all(
                new <= old for new, old in zip(now, before, strict=True)
            )
            before = now
            middle = np.mean([own[item] for own in labels])
            judge[item] = (
                9
                if nominal
                else judge[item]
                + rng.choice([1, 3, 1e6]) * (1 if judge[item] >= middle else -1)
            )


def test_p_values_are_adjusted_as_scipy_does() -> None:
    p = np.random.default_rng(1).random(7) ** 3
    assert annotators._yekutieli(p) == pytest.approx(
        stats.false_discovery_control(p, method="by")
    )
