"""The paired experiment against numbers worked out by hand, its symmetry, and judges of known behaviour."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.analyses.builders import configured, paired_run
from undogmatic.analyses.ab import AbAnalysis
from undogmatic.analyses.base import AnalysisResult, Finding, Unsuited
from undogmatic.errors import ConfigError, DataError

Said = Callable[[AnalysisResult], dict[str, Finding]]
FAST = configured("ab", resamples=200)
T, B, H = "authority_only", "explained_only", "explained_cited"

# Six pairs, differences 30, 50, -10, 0, 40, 20: mean 130/6, median 25, five of which are not zero.
NAKED = [80.0, 90.0, 30.0, 50.0, 70.0, 60.0]
EXPLAINED = [50.0, 40.0, 40.0, 50.0, 30.0, 40.0]


def analyse(rng: np.random.Generator, *args: object, analysis: AbAnalysis = FAST, **kwargs: object) -> AnalysisResult:
    (result,) = analysis(paired_run(*args, **kwargs), rng)  # type: ignore[arg-type]
    return result


class TestNumbers:
    def test_hand_worked_pairs(self, rng: np.random.Generator, said: Said) -> None:
        result = analyse(rng, {T: NAKED, B: EXPLAINED})
        m = result.metrics
        assert (m["ab.pairs"], m["ab.pairs_left_out"], m["ab.judged"], m["ab.failed"]) == (6, 0, 12, 0)
        assert m["ab.mean_difference"] == pytest.approx(130 / 6)
        assert m["ab.median_difference"] == 25
        # Ranks of |d| without the zero: 10 -> 1, 20 -> 2, 30 -> 3, 40 -> 4, 50 -> 5; only the 10 is negative.
        assert m["ab.rank_biserial"] == pytest.approx((2 + 3 + 4 + 5 - 1) / 15)
        assert m["ab.share_expected"] == pytest.approx(4 / 6)
        # 36 comparisons of a naked with an explained text: 80 and 90 beat all six, 70 and 60 too, 50 beats four and
        # ties with two, 30 ties with one.
        assert m["ab.auc"] == pytest.approx((24 + 4 + 1 + 0.5) / 36)
        # Pratt: the zero takes rank 1, -10 rank 2, so R- = 2; of the 32 sign patterns of ranks 2..6 (sum 20), three
        # have R- <= 2 or R+ <= 2: none, {2}, and their mirror images.
        assert m["ab.p"] == pytest.approx(4 / 32)
        assert m["ab.zero_differences"] == 1
        assert m["ab.mean.authority_only"] == pytest.approx(380 / 6)
        found = said(result)
        assert found["ab.zeros_pratt"].values == {"zeros": 1, "n": 6}
        assert found["ab.share"].values["ties"] == 1
        assert result.headline == "ab.share_expected"

    def test_group_table_and_pair_table(self, rng: np.random.Generator) -> None:
        tables = analyse(rng, {T: NAKED, B: EXPLAINED}).tables
        naked = tables["groups"].set_index("condition").loc[T]
        assert (naked["n"], naked["median"], naked["minimum"], naked["maximum"], naked["failed"]) == (6, 65, 30, 90, 0)
        assert (naked["q1"], naked["q3"], naked["iqr"]) == (52.5, 77.5, 25)
        assert naked["sd"] == pytest.approx(np.std(NAKED, ddof=1))
        assert tables["pairs"]["difference"].tolist() == [-10, 0, 20, 30, 40, 50]
        assert tables["pairs"]["pair_id"].iloc[0] == "p2"

    @pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
    def test_zero_handling_is_stated(self, rng: np.random.Generator, said: Said, zero_method: str) -> None:
        analysis = configured("ab", resamples=200, zero_method=zero_method)  # type: ignore[arg-type]
        assert f"ab.zeros_{zero_method}" in said(analyse(rng, {T: NAKED, B: EXPLAINED}, analysis=analysis))

    def test_swapping_the_sides_mirrors_every_number(self) -> None:
        draw = np.random.default_rng(5)
        a, b = draw.uniform(20, 90, 15), draw.uniform(10, 70, 15)
        forth = analyse(np.random.default_rng(1), {T: list(a), B: list(b)}).metrics
        back = analyse(np.random.default_rng(1), {T: list(b), B: list(a)}).metrics
        for key in ("mean_difference", "median_difference", "hodges_lehmann"):
            assert back[f"ab.{key}"] == pytest.approx(-forth[f"ab.{key}"])
            assert back[f"ab.{key}_low"] == pytest.approx(-forth[f"ab.{key}_high"], abs=1.0)
        assert back["ab.rank_biserial"] == pytest.approx(-forth["ab.rank_biserial"])
        assert back["ab.auc"] == pytest.approx(1 - forth["ab.auc"])
        assert back["ab.share_expected_low"] == pytest.approx(1 - forth["ab.share_expected_high"])
        assert back["ab.p"] == pytest.approx(forth["ab.p"])
        assert back["ab.minimum_detectable"] == pytest.approx(forth["ab.minimum_detectable"])

    def test_on_a_scale_where_high_is_good_the_expected_direction_turns(self, rng: np.random.Generator) -> None:
        mirrored = {T: [100 - s for s in NAKED], B: [100 - s for s in EXPLAINED]}
        here = analyse(rng, {T: NAKED, B: EXPLAINED}).metrics
        there = analyse(rng, mirrored, direction="higher_is_better").metrics
        assert there["ab.share_expected"] == here["ab.share_expected"]
        assert there["ab.auc"] == pytest.approx(here["ab.auc"])
        assert there["ab.mean_difference"] == pytest.approx(-here["ab.mean_difference"])

    def test_breakdown_by_court_counts_and_averages_only(self, rng: np.random.Generator) -> None:
        courts = {"court": ["STF", "STF", "STJ", "STJ", "STJ", None]}
        tables = analyse(rng, {T: NAKED, B: EXPLAINED}, metadata=courts).tables
        table = tables["by_court"].set_index("court")
        assert table["n"].to_dict() == {"STF": 2, "STJ": 3}
        assert table["mean_difference"].to_dict() == pytest.approx({"STF": 40.0, "STJ": 10.0})
        assert list(table.columns) == ["n", "mean_difference"]
        assert "by_authority_form" not in tables

    def test_more_pairs_than_hodges_lehmann_can_take_are_said(self, rng: np.random.Generator, said: Said) -> None:
        a = rng.uniform(40, 90, 301)
        result = analyse(rng, {T: list(a), B: list(a - 20)}, analysis=configured("ab", resamples=100))
        assert said(result)["ab.no_hodges_lehmann"].values["n"] == 301
        assert "ab.hodges_lehmann" not in result.metrics


class TestHybrid:
    def test_three_comparisons_are_corrected_together(self, rng: np.random.Generator, said: Said) -> None:
        steps = np.arange(1.0, 9)
        base = [30.0] * 8
        hybrid = list(30 + steps * [1, 1, 1, 1, 1, 1, 1, -1])
        result = analyse(rng, {T: list(50 + steps), B: base, H: hybrid})
        table = result.tables["comparisons"].set_index(["a", "b"])
        assert table["n"].tolist() == [8, 8, 8]
        # Exact: all eight of one sign 2/256; the largest alone negative: R- = 8, 25 patterns on each side.
        assert table.loc[(T, B), "p"] == pytest.approx(2 / 256)
        assert table.loc[(H, B), "p"] == pytest.approx(50 / 256)
        assert table["p_holm"].tolist() == pytest.approx([6 / 256, 6 / 256, 50 / 256])
        values = said(result)["ab.hybrid"].values
        assert values["over"] == pytest.approx((28 - 8) / 8)
        assert result.metrics["ab.hybrid_vs_baseline_p_holm"] == pytest.approx(50 / 256)

    def test_pairs_may_lack_the_hybrid(self, rng: np.random.Generator, said: Said) -> None:
        result = analyse(rng, {T: NAKED, B: EXPLAINED, H: [45.0, None, None, 50.0, 40.0, "refusal"]})
        assert result.metrics["ab.pairs"] == 6
        assert result.tables["comparisons"]["n"].tolist() == [6, 3, 3]
        assert said(result)["ab.hybrid"].values["over_n"] == 3

    def test_without_any_hybrid_it_is_said(self, rng: np.random.Generator, said: Said) -> None:
        assert said(analyse(rng, {T: NAKED, B: EXPLAINED}))["ab.no_hybrid"].values == {"hybrid": H}
        switched_off = configured("ab", resamples=200, hybrid=None)
        assert "ab.no_hybrid" not in said(analyse(rng, {T: NAKED, B: EXPLAINED}, analysis=switched_off))


class TestFailures:
    def test_a_failed_side_takes_its_pair_out_and_is_counted(self, rng: np.random.Generator, said: Said) -> None:
        whole = analyse(rng, {T: NAKED[:5], B: EXPLAINED[:5]})
        holed = analyse(rng, {T: [*NAKED[:5], "refusal"], B: EXPLAINED})
        assert holed.metrics["ab.mean_difference"] == whole.metrics["ab.mean_difference"]
        assert (holed.metrics["ab.pairs_left_out"], holed.metrics["ab.failed"]) == (1, 1)
        assert holed.tables["groups"].set_index("condition")["failed"].to_dict() == {T: 1, B: 0}
        found = said(holed)
        assert found["ab.left_out"].values == {"n": 1, "total": 6}
        assert found["analyses.failed"].values == {"n": 1, "total": 12, "where": "authority_only: refusal 1"}

    def test_all_of_one_side_failed(self, rng: np.random.Generator, said: Said) -> None:
        result = analyse(rng, {T: ["refusal"] * 6, B: EXPLAINED})
        assert result.headline is None
        assert result.verdict is not None and result.verdict.key == "ab.verdict_too_few"
        assert result.metrics["ab.pairs"] == 0
        assert [f.name for f in result.figures] == ["box", "histogram"]
        assert said(result)["analyses.too_few"].values == {"figure": "slope", "present": 0, "needed": 3}

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    def test_few_pairs_never_crash_and_never_decide(self, rng: np.random.Generator, said: Said, n: int) -> None:
        result = analyse(rng, {T: NAKED[:n], B: EXPLAINED[:n]})
        assert said(result)["ab.verdict_too_few"].values == {"n": n, "needed": 6}
        assert ("slope" in [f.name for f in result.figures]) == (n >= 3)


class TestData:
    def test_a_missing_side_names_pair_and_condition(self) -> None:
        judged = paired_run({T: [80.0, None, 70.0], B: [20.0, 30.0, 40.0]})
        with pytest.raises(DataError, match=r"pair 'p1': no text with condition authority_only"):
            FAST.check(judged)

    def test_a_text_without_pair_is_named(self) -> None:
        judged = paired_run({T: [80.0, 70.0], B: [20.0, 30.0]})
        judged.frame.loc[judged.frame["item_id"] == f"p1:{T}", "pair_id"] = None
        with pytest.raises(DataError, match=r"'p1:authority_only': no `pair`"):
            FAST.check(judged)

    def test_a_condition_twice_in_a_pair_is_named(self) -> None:
        judged = paired_run({T: [80.0, 70.0], B: [20.0, 30.0]})
        judged.frame.loc[judged.frame["pair_id"] == "p1", "pair_id"] = "p0"
        with pytest.raises(DataError, match=r"pair 'p0' has authority_only more than once"):
            FAST.check(judged)

    def test_missing_conditions_are_unsuited_not_wrong(self) -> None:
        with pytest.raises(Unsuited, match="explained_only"):
            FAST.check(paired_run({T: [80.0]}))

    @pytest.mark.parametrize(
        ("settings", "named"),
        [
            ({"alpha": 0.0}, "analysis.alpha"),
            ({"level": 95.0}, "analysis.level"),
            ({"power": 0.04}, "analysis.power"),
            ({"resamples": 1}, "analysis.resamples"),
            ({"treatment": B}, "analysis.treatment"),
        ],
    )
    def test_settings_that_make_no_sense(self, settings: dict[str, object], named: str) -> None:
        with pytest.raises(ConfigError, match=named):
            configured("ab", **settings)  # type: ignore[arg-type]


def lengths(n: int, naked: float, explained: float, spread: float = 0.5) -> dict[str, list[int]]:
    """Word counts that scatter about two medians."""
    draw = np.random.default_rng(11)
    scatter = lambda median: [max(1, int(v)) for v in median * np.exp(draw.normal(0, spread, n))]  # noqa: E731
    return {T: scatter(naked), B: scatter(explained)}


class TestVerdicts:
    """Judges of known behaviour on forty pairs must get the verdict they deserve."""

    n = 40

    def verdict(self, naked: np.ndarray, explained: np.ndarray, said: Said, **fields: object) -> Finding:
        result = analyse(np.random.default_rng(0), {T: list(naked), B: list(explained)}, **fields)
        said(result)
        assert result.verdict is not None
        return result.verdict

    def test_a_judge_that_tells_them_apart(self, said: Said) -> None:
        draw = np.random.default_rng(2)
        explained = draw.uniform(10, 40, self.n)
        naked = explained + draw.normal(30, 8, self.n)
        found = self.verdict(naked, explained, said, lengths=lengths(self.n, 20, 25))
        assert found.key == "ab.verdict_supported"

    def test_a_judge_that_tells_them_apart_backwards(self, said: Said) -> None:
        draw = np.random.default_rng(2)
        explained = draw.uniform(10, 40, self.n)
        naked = explained + draw.normal(30, 8, self.n)
        found = self.verdict(explained, naked, said, lengths=lengths(self.n, 20, 25))
        assert found.key == "ab.verdict_reversed"

    def test_a_judge_that_only_counts_words(self, said: Said) -> None:
        draw = np.random.default_rng(3)
        counts = lengths(self.n, 15, 28, spread=0.6)
        score = {c: 90 - 20 * np.log(np.array(counts[c])) + draw.normal(0, 2, self.n) for c in counts}
        found = self.verdict(score[T], score[B], said, lengths=counts)
        assert found.key == "ab.verdict_confounded"

    def test_where_every_naked_text_is_shorter_nothing_can_be_said(self, said: Said) -> None:
        draw = np.random.default_rng(4)
        explained = draw.uniform(10, 40, self.n)
        naked = explained + draw.normal(30, 8, self.n)
        counts = lengths(self.n, 5, 80, spread=0.2)
        assert self.verdict(naked, explained, said, lengths=counts).key == "ab.verdict_inseparable"

    def test_length_matched_pairs_can_decide_where_the_regression_cannot(self, said: Said) -> None:
        draw = np.random.default_rng(4)
        explained = draw.uniform(10, 40, self.n)
        naked = explained + draw.normal(30, 8, self.n)
        counts = {T: [9] * 20 + [4] * 20, B: [10] * 20 + [40 + n for n in range(20)]}
        found = self.verdict(naked, explained, said, lengths=counts)
        assert found.key == "ab.verdict_supported"
        # The same judge, but the difference vanishes where the lengths agree.
        vanishing = np.where(np.arange(self.n) < 20, explained + draw.normal(0, 3, self.n), naked + 20)
        found = self.verdict(vanishing, explained, said, lengths=counts)
        assert found.key == "ab.verdict_confounded"

    def test_texts_of_equal_length_need_no_control(self, said: Said) -> None:
        draw = np.random.default_rng(4)
        explained = draw.uniform(10, 40, self.n)
        same = {T: list(range(5, 45)), B: list(range(5, 45))}
        result = self.verdict(explained + draw.normal(30, 8, self.n), explained, said, lengths=same)
        assert result.key == "ab.verdict_supported"

    def test_a_judge_that_sees_no_difference_in_enough_pairs(self, said: Said) -> None:
        draw = np.random.default_rng(6)
        explained = draw.uniform(10, 40, self.n)
        found = self.verdict(explained + draw.normal(0, 5, self.n), explained, said)
        assert found.key == "ab.verdict_not_supported"
        assert found.values["detectable"] < 10

    def test_a_noisy_judge_leaves_it_open(self, said: Said) -> None:
        draw = np.random.default_rng(7)
        explained = draw.uniform(0, 100, self.n)
        found = self.verdict(draw.uniform(0, 100, self.n), explained, said)
        assert found.key == "ab.verdict_underpowered"
        assert found.values["detectable"] > found.values["relevant"] == 10

    def test_a_few_large_differences_are_not_a_majority(self, said: Said) -> None:
        small = -np.linspace(0.1, 1, 19)
        large = np.linspace(30, 60, 21)
        explained = np.full(self.n, 30.0)
        found = self.verdict(explained + np.concatenate([small, large]), explained, said)
        assert found.key == "ab.verdict_inconsistent"

    def test_a_judge_that_gives_every_text_the_same_score(self, said: Said) -> None:
        found = self.verdict(np.full(self.n, 50.0), np.full(self.n, 50.0), said)
        assert found.key == "ab.verdict_identical"

    def test_identical_pairs_of_different_scores(self, said: Said) -> None:
        scores = np.linspace(10, 90, self.n)
        result = analyse(np.random.default_rng(0), {T: list(scores), B: list(scores)})
        assert said(result)["ab.verdict_identical"].values["n"] == self.n
        assert (result.metrics["ab.p"], result.metrics["ab.auc"], result.metrics["ab.share_expected"]) == (1, 0.5, 0)
        assert "ab.rank_biserial" not in result.metrics

    def test_a_judge_with_one_difference_throughout(self, said: Said) -> None:
        explained = np.linspace(10, 60, self.n)
        found = self.verdict(explained + 25, explained, said, lengths=lengths(self.n, 20, 25))
        assert found.key == "ab.verdict_supported"
