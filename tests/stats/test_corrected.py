"""Corrected means by how labels were chosen: closed forms, coverage, differences, what is not
covered."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.stats.conftest import Rng, held, sure, width
from undogmatic.stats import corrected, means
from undogmatic.stats.corrected import Corrected, Design, Judged

DESIGNS: tuple[Design, ...] = ("all", "random", "by_verdict", "probabilities")
Values = NDArray[np.float64]


def _judged(
    verdicts: Any, labels: Any, probability: Any = None, codes: Any = None
) -> Judged:
    n = len(verdicts)
    groups = np.arange(n) if codes is None else np.asarray(codes)
    chance = np.full(n, np.nan) if probability is None else probability
    return Judged(
        np.asarray(verdicts, float),
        np.asarray(labels, float),
        chance,
        groups,
        int(groups.max()) + 1,
    )


def _drawn(design: Design, rng: Rng, n: int = 300) -> Judged:
    """Labels in five steps with mean 3, a judge that is half a step too high, and labels chosen in
    this way."""
    truth = rng.choice([1.0, 2, 3, 4, 5], n, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    verdicts = np.clip(truth + rng.choice([0.0, 1, 0, 1, -1], n), 1, 5)
    # the lowest step is never given, so that every verdict is common
    verdicts = np.maximum(verdicts, 2)
    chance = np.full(n, np.nan)
    chosen = np.ones(n, dtype=bool)
    if design == "random":
        chosen = rng.permutation(n) < 60
    elif design == "by_verdict":
        # items are in random order
        place = np.array([np.sum(verdicts[:k] == verdicts[k]) for k in range(n)])
        chosen = place < 15
    elif design == "probabilities":
        chance = np.clip(0.1 + 0.1 * (verdicts - 2), 0, 1)
        chosen = rng.random(n) < chance
    return _judged(verdicts, np.where(chosen, truth, np.nan), chance)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_interval_holds_the_mean_of_the_population(design: Design) -> None:
    seeds = iter(range(150))
    share = held(
        3.0,
        150,
        lambda: (
            corrected.mean(
                _drawn(design, np.random.default_rng(next(seeds))), design, (1, 5)
            ).estimate
        ),
    )
    assert share >= 0.92
    biased = _drawn(design, np.random.default_rng(0))
    assert np.nanmean(biased.verdicts) > 3.25


@pytest.mark.parametrize("design", ["random", "by_verdict", "probabilities"])
def test_of_the_items_themselves_less_is_open_and_the_interval_holds_their_mean(
    design: Design,
) -> None:
    held_by, narrower = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        truth = rng.normal(50, 10, 160)
        verdicts = np.round(truth / 20 + rng.normal(0, 0.3, 160))
        chance = np.clip(verdicts / 6, 0.1, 0.9)
        order = rng.permutation(160)
        place = np.array(
            [np.sum(verdicts[order[:k]] == verdicts[order[k]]) for k in range(160)]
        )
        by_verdict = np.zeros(160, dtype=bool)
        by_verdict[order] = place < 25
        chosen = {
            "random": order < 80,
            "by_verdict": by_verdict,
            "probabilities": rng.random(160) < chance,
        }[design]
        judged = _judged(verdicts, np.where(chosen, truth, np.nan), chance)
        own, wide = (
            sure(corrected.mean(judged, design, these_items=i).estimate)
            for i in (True, False)
        )
        held_by.append(own.low <= truth.mean() <= own.high)
        narrower.append(width(own) / width(wide))
    assert np.mean(held_by) >= 0.92
    assert np.median(narrower) < 0.8


def test_by_verdict_is_the_mean_over_verdicts_weighted_by_how_often_they_occur() -> (
    None
):
    verdicts = np.repeat([0.0, 1.0], [60, 40])
    labels = np.full(100, np.nan)
    labels[:10], labels[60:70] = (
        np.tile([1, 2, 3, 4, 5], 2),
        np.tile([3, 4, 5, 6, 7], 2),
    )
    found = sure(corrected.mean(_judged(verdicts, labels), "by_verdict").estimate)
    assert found.value == pytest.approx(0.6 * 3 + 0.4 * 5)
    within = (0.6**2 + 0.4**2) * np.var([1, 2, 3, 4, 5]) / 9
    between = (0.6 * 0.8**2 + 0.4 * 1.2**2) / 100
    assert width(found) / 2 == pytest.approx(2.1 * np.sqrt(within + between), rel=0.02)


def test_labels_that_all_agree_within_a_verdict_do_not_claim_certainty(
    rng: Rng,
) -> None:
    verdicts = np.repeat([0.0, 1.0], [10, 90])
    labels = np.where(np.arange(100) % 5 == 0, verdicts, np.nan)
    found = sure(
        corrected.mean(_judged(verdicts, labels), "by_verdict", (0, 1)).estimate
    )
    assert found.value == pytest.approx(0.9)
    assert found.low < 0.8


def test_labels_of_all_items_need_no_judge_and_missing_ones_are_bounded(
    rng: Rng,
) -> None:
    labels = rng.uniform(0, 10, 50)
    found = sure(
        corrected.mean(_judged(rng.uniform(0, 10, 50), labels), "all", (0, 10)).estimate
    )
    assert found.interval == pytest.approx(
        means.interval(labels, bounds=(0, 10)).interval
    )
    labels[:5] = np.nan
    found = sure(corrected.mean(_judged(np.zeros(50), labels), "all", (0, 10)).estimate)
    assert (found.worst, found.best) == pytest.approx(
        (0.9 * found.low, 0.9 * found.high + 1)
    )


def test_an_item_without_a_verdict_is_corrected_by_labels(rng: Rng) -> None:
    """The judge gives no verdict to the worst items, so that its own mean is far off."""
    errors = []
    for _ in range(40):
        truth = rng.normal(50, 10, 400)
        labels = np.where(rng.permutation(400) < 80, truth, np.nan)
        verdicts = np.where(truth < 45, np.nan, truth)
        errors.append(
            sure(corrected.mean(_judged(verdicts, labels), "random").estimate).value
            - 50
        )
    assert abs(np.mean(errors)) < 0.5


def test_errors_of_paired_systems_go_together_and_their_difference_is_narrower(
    rng: Rng,
) -> None:
    common, n = rng.normal(50, 15, 200), 200
    labelled = rng.permutation(n) < 60
    sides: list[Corrected] = []
    for shift in (3.0, 0.0):
        truth = common + shift + rng.normal(0, 2, n)
        judged = _judged(rng.normal(50, 10, n), np.where(labelled, truth, np.nan))
        sides.append(corrected.mean(judged, "random"))
    paired = sure(corrected.difference(*sides))
    alone = sure(corrected.difference(sides[0], sides[1]._replace(added=np.zeros(n))))
    assert width(paired) < width(alone) / 2
    assert paired.low < 3 < paired.high
    mirrored = sure(corrected.difference(*sides[::-1]))
    assert (-mirrored.high, -mirrored.low) == pytest.approx(paired.interval)


@pytest.mark.parametrize("design", ["random", "by_verdict"])
def test_verdicts_beyond_what_was_labelled_are_not_covered(design: Design) -> None:
    verdicts = np.repeat([1.0, 2.0, 3.0], [50, 50, 30])
    labels = np.where((np.arange(130) % 3 == 0) & (verdicts < 3), verdicts, np.nan)
    found = corrected.mean(_judged(verdicts, labels), design)
    assert not found.covered
    assert found.outside == pytest.approx(30 / 130)


def test_a_few_random_labels_miss_the_ends_of_a_fine_scale_by_chance_and_too_few_give_no_mean(
    rng: Rng,
) -> None:
    verdicts = rng.uniform(0, 100, 200)
    labels = np.where(rng.permutation(200) < 15, verdicts, np.nan)
    found = corrected.mean(_judged(verdicts, labels), "random")
    assert found.outside > corrected.TOLERATED
    assert found.covered
    few = corrected.mean(
        _judged(verdicts, np.where(np.arange(200) < 4, 1.0, np.nan)), "random"
    )
    assert (few.estimate, few.effective) == (None, 4)


def test_fine_verdicts_are_taken_in_bins_and_those_without_one_apart(rng: Rng) -> None:
    verdicts = rng.uniform(0, 100, 200)
    verdicts[::20] = np.nan
    strata = corrected.strata_of(verdicts, np.arange(0, 200, 4))
    assert len(set(strata.tolist())) == 5
    assert set(strata[::20]) == {4}
    assert corrected.strata_of(np.array([3.0, 1, 3]), np.array([0])).tolist() == [
        1,
        0,
        1,
    ]
