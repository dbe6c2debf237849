"""The share and its interval against a published table, symmetry and its limits."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.promises import broken
from tests.stats.conftest import Rng, held, refuses, sure
from undogmatic.stats.conformal import find_threshold, lower_limit, units_needed
from undogmatic.stats.estimate import Estimate
from undogmatic.stats.proportion import interval_scores, kept, proportion, sign_p


def flags(hits: int, n: int) -> np.ndarray:
    return np.arange(n) < hits


class TestWilson:
    def test_wilson_interval_as_published(self) -> None:
        # Newcombe (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E,
        # table I, method 3.
        found, few, none = (
            proportion(flags(*counts)) for counts in ((81, 263), (15, 148), (0, 20))
        )
        assert (found.hits, found.n) == (81, 263)
        assert found.interval == pytest.approx((0.2553, 0.3662), abs=5e-5)
        assert few.interval == pytest.approx((0.0624, 0.1605), abs=5e-5)
        assert (none.value, *none.interval) == (0, 0, pytest.approx(0.1611, abs=5e-5))

    def test_counting_the_others_mirrors_the_interval(self) -> None:
        yes, no = proportion(flags(3, 5)), proportion(~flags(3, 5))
        assert (yes.value, yes.low, yes.high) == pytest.approx(
            (1 - no.value, 1 - no.high, 1 - no.low)
        )


class TestGroups:
    def test_groups_of_one_change_nothing_one_group_says_nothing_and_copies_are_no_evidence(
        self,
    ) -> None:
        assert proportion([True, True], groups=["a", "a"]).interval == (0.0, 1.0)
        assert proportion(flags(3, 5), groups="abcde") == proportion(flags(3, 5))
        copied = proportion(
            np.repeat(flags(6, 9), 10), groups=np.repeat(np.arange(9), 10)
        )
        assert (copied.value, copied.n, copied.n_groups) == (6 / 9, 90, 9)
        alone = proportion(flags(6, 9))
        assert copied.low < alone.low and copied.high > alone.high

    def test_none_of_many_members_is_none_of_few_groups(self) -> None:
        """By hand: Wilson's upper limit t^2 / (n + t^2) with n = 5 groups and t of 4 degrees of
        freedom."""
        none = proportion([False] * 100, groups=np.arange(100) // 20)
        assert (none.low, none.high) == (
            0,
            pytest.approx(2.776445**2 / (5 + 2.776445**2)),
        )

    @pytest.mark.parametrize(("share", "alike"), [(0.5, 0.3), (0.8, 1.0)])
    def test_it_holds_the_share_as_often_as_it_says(
        self, share: float, alike: float, rng: Rng
    ) -> None:
        """Ten groups of 2 to 4: Wilson's own interval holds it in 88 and 77 % of samples."""

        def draw() -> Estimate:
            groups = np.repeat(np.arange(10), rng.integers(2, 5, 10))
            common, own = (
                rng.random(10)[groups] < share,
                rng.random(groups.size) < share,
            )
            return proportion(
                np.where(rng.random(groups.size) < alike**0.5, common, own),
                groups=groups,
            )

        assert held(share, 400, draw) >= 0.93


class TestKept:
    @pytest.mark.parametrize(
        ("hits", "n", "outcome"),
        [
            (9, 10, "open"),
            (900, 1000, "within"),
            (850, 1000, "below"),
            (960, 1000, "above"),
            (10, 10, "open"),
        ],
    )
    def test_the_outcome_follows_the_limits(
        self, hits: int, n: int, outcome: str
    ) -> None:
        found = kept(flags(hits, n), 0.9, 0.05)
        assert (found.outcome, found.n_needed is not None) == (
            outcome,
            outcome == "open",
        )

    def test_more_than_promised_keeps_a_promise_of_at_least_and_bad_arguments_are_named(
        self,
    ) -> None:
        assert kept(flags(990, 1000), 0.9, 0.05, at_least=True).outcome == "within"
        assert kept(flags(18, 20), 0.9, 0.05, at_least=True).outcome == "open"
        for promised, margin, named in (
            (1.5, 0.05, "`promised`"),
            (0.9, 0.0, "`margin`"),
        ):
            refuses(named, kept, [True], promised, margin)

    def test_the_number_needed_shows_a_kept_promise_as_often_as_stated(
        self, rng: Rng
    ) -> None:
        needed = kept(flags(45, 50), 0.9, 0.05).n_needed
        # (1.645 + 1.282)^2 x 0.9 x 0.1 / 0.05^2
        assert needed == pytest.approx(309, abs=2)
        shown = [
            kept(rng.random(needed) < 0.9, 0.9, 0.05).outcome == "within"
            for _ in range(150)
        ]
        assert np.mean(shown) == pytest.approx(0.8, abs=0.1)

    def test_copies_show_no_more_than_what_they_copy(self) -> None:
        copied = np.repeat(flags(90, 100), 10)
        assert kept(copied, 0.9, 0.05).outcome == "within"
        found = kept(copied, 0.9, 0.05, groups=np.repeat(np.arange(100), 10))
        assert found.outcome == "open" and sure(found.n_needed) > 1000


class TestIntervalScores:
    def test_by_hand(self) -> None:
        scores = interval_scores(
            [0, 10, 20, 30], [10, 20, 30, 50], [5, 23, 16, 50], 0.8
        )
        assert scores == pytest.approx(np.array([10, 10 + 10 * 3, 10 + 10 * 4, 20]))

    def test_the_honest_interval_has_the_best_score_and_the_normals_closed_form(
        self,
    ) -> None:
        truth = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
        z, ones = stats.norm.ppf(0.95), np.ones(1000)
        reaches = (0.8 * z, z, 1.25 * z)
        scores = {
            reach: interval_scores(-reach * ones, reach * ones, truth, 0.9).mean()
            for reach in reaches
        }
        assert min(scores, key=scores.__getitem__) == z
        # 2 z + (2 / 0.1) x 2 x (phi(z) - 0.05 z): the width cancels.
        assert scores[z] == pytest.approx(2 * stats.norm.pdf(z) / 0.05, rel=0.01)


def test_the_fewest_units_are_those_of_the_exact_limit_which_is_that_of_the_exact_test() -> (
    None
):
    """ln 0.05 / ln 0.9 = 28.4; with one or two disagreements as in tables of acceptance sampling
    (46 and 61)."""
    assert [units_needed(0.9, 0.95, wrong) for wrong in (0, 1, 2)] == [29, 46, 61]
    for wrong in (0, 3, 9):
        n = units_needed(0.8, 0.9, wrong)
        assert (
            lower_limit(n - wrong, n, 0.9)
            >= 0.8
            > lower_limit(n - 1 - wrong, n - 1, 0.9)
        )

    for n_true, n in ((0, 5), (3, 10), (46, 46), (80, 100)):
        limit = (
            stats.binomtest(n_true, n, alternative="greater")
            .proportion_ci(0.95, method="exact")
            .low
        )
        assert lower_limit(n_true, n, 0.95) == pytest.approx(float(limit), abs=1e-12)


def _trial(seed: int, n: int, knows: float) -> tuple[float, float]:
    """Share decided alone, and the true rate of agreement there: P(right) falls from 1 to 0.4 with
    the true doubt."""
    true, luck, noise = np.random.default_rng(seed).uniform(size=(3, n))
    right, doubt = luck < 1 - 0.6 * true, knows * true + (1 - knows) * noise
    found = find_threshold(doubt, right, 0.85, 0.95)
    if found.threshold is None:
        return 0.0, 1.0
    true, noise = np.random.default_rng(10_000 + seed).uniform(size=(2, 20_000))
    kept = knows * true + (1 - knows) * noise <= found.threshold
    return found.share, float((1 - 0.6 * true[kept]).mean())


class TestThreshold:
    @pytest.mark.parametrize(
        ("n", "knows"), [(60, 1.0), (300, 1.0), (300, 0.5), (300, 0.0)]
    )
    def test_the_promise_is_kept_as_often_as_it_says(
        self, n: int, knows: float
    ) -> None:
        """At most 5 % of thresholds may promise too much; 400 trials of a true 5 % exceed 7.5 %
        once in 100."""
        broken = [
            rate < 0.85 for _, rate in (_trial(seed, n, knows) for seed in range(400))
        ]
        assert np.mean(broken) <= 0.075

    def test_an_honest_doubt_buys_a_share_and_a_random_one_none(self) -> None:
        assert np.mean([_trial(seed, 400, 1.0)[0] for seed in range(60)]) > 0.15
        assert np.mean([_trial(seed, 400, 0.0)[0] > 0 for seed in range(200)]) <= 0.05

    def test_too_few_units_and_copies_are_refused_with_what_is_needed(self) -> None:
        few = find_threshold(np.arange(28.0), np.ones(28))
        assert (few.threshold, few.steps) == (None, ())
        copied = find_threshold(
            np.repeat(np.arange(10.0), 10),
            np.ones(100),
            groups=np.repeat(np.arange(10), 10),
        )
        assert (copied.threshold, copied.n_units) == (None, 10)

    def test_one_wrong_copy_makes_its_group_wrong(self) -> None:
        right = np.ones(200)
        right[:40:2] = 0
        found = find_threshold(
            np.ones(200), right, 0.8, groups=np.repeat(np.arange(100), 2)
        )
        assert (found.steps[0].n_right, found.threshold) == (80, None)

    def test_many_copies_of_what_is_wrong_break_no_promise(self) -> None:
        """Right on 96 % of the groups and 71 % of the texts: up to half of the samples promised 90
        % of the texts."""
        promised = [
            broken("ten copies of the wrong, of one doubt", 300, seed)[0]
            for seed in range(60)
        ]
        assert not any(promised)

    def test_without_doubt_that_varies_all_or_nothing_is_decided(self) -> None:
        assert find_threshold(np.zeros(60), np.ones(60)).share == 1.0
        half = find_threshold(np.zeros(60), np.arange(60) % 2)
        assert (half.threshold, len(half.steps)) == (None, 1)


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (3, 10), (5, 10), (9, 12), (20, 20)])
def test_the_sign_test_is_scipys_exact_one(hits: int, n: int) -> None:
    assert sign_p(hits, n) == pytest.approx(stats.binomtest(hits, n).pvalue)
