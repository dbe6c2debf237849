"""The paired experiment against numbers worked out by hand, its symmetry, and judges of known behaviour."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analyses.builders import Said, Score, configured, paired_run
from tests.analyses.conftest import SHIPPED, placeholders
from undogmatic.analyses.ab import AbAnalysis, PairEvidence, compare
from undogmatic.analyses.base import Unsuited
from undogmatic.analyses.pairs import contrast, match
from undogmatic.analyses.rivals import PairSettings
from undogmatic.analyses.ruling import AB, Ruling
from undogmatic.analyses.truth import Margin
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.results import AnalysisResult
from undogmatic.report.words import Words

Draw = np.random.Generator
FAST = configured("ab")
T, B, H = "authority_only", "explained_only", "explained_cited"

# Six pairs, differences 30, 50, -10, 0, 40, 20: mean 130/6, median 25, five of which are not zero.
NAKED = [80.0, 90.0, 30.0, 50.0, 70.0, 60.0]
EXPLAINED = [50.0, 40.0, 40.0, 50.0, 30.0, 40.0]


def analyse(rng: Draw, *args: Any, analysis: AbAnalysis = FAST, **kwargs: Any) -> AnalysisResult:
    (result,) = analysis(paired_run(*args, **kwargs), rng)
    return result


class TestNumbers:
    def test_hand_worked_pairs(self, rng: Draw, said: Said) -> None:
        result = analyse(rng, {T: NAKED, B: EXPLAINED})
        m = result.metrics
        assert (m["ab.pairs"], m["ab.groups"], m["ab.pairs_left_out"], m["ab.judged"], m["ab.failed"]) == (
            6,
            6,
            0,
            12,
            0,
        )
        assert m["ab.mean_difference"] == pytest.approx(130 / 6)
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
        assert found["ab.difference"].values["median"] == 25
        assert found["ab.zeros_pratt"].values == {"zeros": 1, "n": 6}
        assert found["ab.share"].values["ties"] == 1
        assert found["ab.expected"].values == {"treatment": T, "baseline": B, "expected": "higher"}
        assert result.headline == "ab.share_expected"

    def test_an_interval_that_allows_for_what_was_not_seen_says_so(self, rng: Draw, said: Said) -> None:
        alike = [0.5, 0.2, 0.1, 0.3, 0.4, 0.6, 0.5, 0.3, 0.2, 0.1, 0.4, 0.5]
        found = said(analyse(rng, {T: [40 + d for d in alike], B: [40.0] * 12}))
        assert found["ab.bounded"].values == {"same": 2}
        assert "ab.bounded" not in said(analyse(rng, {T: NAKED, B: EXPLAINED}))

    def test_group_table_and_pair_table(self, rng: Draw) -> None:
        tables = analyse(rng, {T: NAKED, B: EXPLAINED}).tables
        naked = tables["groups"].set_index("condition").loc[T]
        assert (naked["n"], naked["median"], naked["minimum"], naked["maximum"], naked["failed"]) == (6, 65, 30, 90, 0)
        assert (naked["q1"], naked["q3"], naked["iqr"]) == (52.5, 77.5, 25)
        assert naked["sd"] == pytest.approx(np.std(NAKED, ddof=1))
        assert tables["pairs"]["difference"].tolist() == [-10, 0, 20, 30, 40, 50]
        assert tables["pairs"]["pair_id"].iloc[0] == "p2"

    @pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
    def test_zero_handling_is_stated(self, rng: Draw, said: Said, zero_method: str) -> None:
        analysis = configured("ab", zero_method=zero_method)
        assert f"ab.zeros_{zero_method}" in said(analyse(rng, {T: NAKED, B: EXPLAINED}, analysis=analysis))

    def test_swapping_the_sides_mirrors_every_number(self) -> None:
        draw = np.random.default_rng(5)
        a, b = draw.uniform(20, 90, 15), draw.uniform(10, 70, 15)
        forth = analyse(np.random.default_rng(1), {T: list(a), B: list(b)}).metrics
        back = analyse(np.random.default_rng(1), {T: list(b), B: list(a)}).metrics
        for key in ("mean_difference", "hodges_lehmann"):
            assert back[f"ab.{key}"] == pytest.approx(-forth[f"ab.{key}"])
            assert back[f"ab.{key}_low"] == pytest.approx(-forth[f"ab.{key}_high"], abs=1.0)
        assert back["ab.rank_biserial"] == pytest.approx(-forth["ab.rank_biserial"])
        assert back["ab.auc"] == pytest.approx(1 - forth["ab.auc"])
        assert back["ab.share_expected"] == pytest.approx(1 - forth["ab.share_expected"])
        assert back["ab.p"] == pytest.approx(forth["ab.p"])
        assert back["ab.minimum_detectable"] == pytest.approx(forth["ab.minimum_detectable"])

    def test_on_a_scale_where_high_is_good_the_expected_direction_turns(self, rng: Draw, said: Said) -> None:
        mirrored = {T: [100 - s for s in NAKED], B: [100 - s for s in EXPLAINED]}
        here = analyse(rng, {T: NAKED, B: EXPLAINED}).metrics
        result = analyse(rng, mirrored, direction="higher_is_better")
        there = result.metrics
        assert there["ab.share_expected"] == here["ab.share_expected"]
        assert there["ab.auc"] == pytest.approx(here["ab.auc"])
        assert there["ab.mean_difference"] == pytest.approx(-here["ab.mean_difference"])
        assert there["ab.mean_difference_low"] == pytest.approx(-here["ab.mean_difference_high"], abs=1.0)
        assert said(result)["ab.expected"].values["expected"] == "lower"

    def test_breakdown_by_court_counts_and_averages_only(self, rng: Draw) -> None:
        courts = {"court": ["STF", "STF", "STJ", "STJ", "STJ", None]}
        tables = analyse(rng, {T: NAKED, B: EXPLAINED}, metadata=courts).tables
        table = tables["by_court"].set_index("court")
        assert table["n"].to_dict() == {"STF": 2, "STJ": 3}
        assert table["mean_difference"].to_dict() == pytest.approx({"STF": 40.0, "STJ": 10.0})
        assert list(table.columns) == ["n", "mean_difference"]
        assert "by_authority_form" not in tables

    def test_the_detectable_difference_lies_beyond_the_margin(self, rng: Draw) -> None:
        a, b = rng.normal(60, 10, 46), rng.normal(40, 10, 46)
        spread = np.std(a - b, ddof=1)
        beyond = analyse(rng, {T: list(a), B: list(b)}, margin=10).metrics["ab.minimum_detectable"] - 10
        assert beyond == pytest.approx(2.8 * spread / np.sqrt(46), rel=0.06)  # (1.96 + 0.84) standard errors


class TestGroups:
    def test_copies_of_pairs_change_no_test_and_no_interval(self, rng: Draw, said: Said) -> None:
        draw = np.random.default_rng(3)
        a, b = draw.uniform(20, 90, 12), draw.uniform(10, 70, 12)
        once = analyse(rng, {T: list(a), B: list(b)}, metadata={"precedent": list(range(12))})
        copied = {"precedent": [n % 12 for n in range(96)]}
        often = analyse(rng, {T: list(np.tile(a, 8)), B: list(np.tile(b, 8))}, metadata=copied)
        assert (often.metrics["ab.pairs"], often.metrics["ab.groups"]) == (96, 12)
        assert often.metrics["ab.p"] == pytest.approx(once.metrics["ab.p"])
        for key in ("mean_difference", "share_expected", "auc"):
            width = often.metrics[f"ab.{key}_high"] - often.metrics[f"ab.{key}_low"]
            assert width > 0.85 * (once.metrics[f"ab.{key}_high"] - once.metrics[f"ab.{key}_low"]), key
        assert said(often)["ab.pairs"].values["groups"] == 12

    def test_random_pairs_copied_give_no_direction(self) -> None:
        """Eight pairs of a judge without a notion, copied to 64: as few directions as eight pairs would give."""
        settings = PairSettings(1, Margin(10, "rubric", 100))
        wrong = 0
        for seed in range(12):
            draw = np.random.default_rng(seed)
            given = {c: list(np.tile(draw.uniform(0, 100, 8), 8)) for c in (T, B)}
            judged = paired_run(given, metadata={"precedent": [n % 8 for n in range(64)]})
            found = compare(match(judged, (T, B)), T, B, settings)
            assert found is not None
            assert found.claim is not None
            wrong += (
                found.claim.outcome in ("beyond", "against")
                or found.test.p_value < 0.01
                or found.share.estimate.low > 0.5
            )
        assert wrong <= 2


class TestHybrid:
    def test_pairs_may_lack_the_hybrid(self, rng: Draw, said: Said) -> None:
        result = analyse(rng, {T: NAKED, B: EXPLAINED, H: [45.0, None, None, 50.0, 40.0, "refusal"]})
        assert result.metrics["ab.pairs"] == 6
        assert result.tables["comparisons"]["n"].tolist() == [6, 3, 3]
        assert said(result)["ab.hybrid"].values["over_groups"] == 3
        # Pairs 0, 3, 4: 80 - 45, 50 - 50, 70 - 40; and 45 - 50, 50 - 50, 40 - 30.
        assert result.metrics["ab.treatment_vs_hybrid"] == pytest.approx(65 / 3)
        assert result.metrics["ab.hybrid_vs_baseline"] == pytest.approx(5 / 3)

    def test_without_any_hybrid_it_is_said(self, rng: Draw, said: Said) -> None:
        assert said(analyse(rng, {T: NAKED, B: EXPLAINED}))["ab.no_hybrid"].values == {"hybrid": [H]}
        switched_off = configured("ab", hybrid=None)
        assert "ab.no_hybrid" not in said(analyse(rng, {T: NAKED, B: EXPLAINED}, analysis=switched_off))


class TestConditions:
    def test_the_first_contrast_that_the_dataset_has_counts(self, rng: Draw) -> None:
        result = analyse(rng, {"imitation": NAKED, "explanation": EXPLAINED})
        assert result.metrics["ab.mean.imitation"] == pytest.approx(380 / 6)
        assert result.verdict is not None

    def test_pairs_of_another_design_are_left_alone(self, rng: Draw, said: Said) -> None:
        other: list[Score | None] = [None] * 6
        sides = {"imitation": [*NAKED, *other], "explanation": [*EXPLAINED, *other]}
        result = analyse(rng, sides | {c: [*other, *NAKED] for c in (T, B, H)})
        assert result.metrics["ab.pairs"] == 6
        assert "ab.mean.explained_cited" not in result.metrics  # stands with the other design alone
        named = configured("ab", treatment=T, baseline=B)
        result = analyse(rng, sides | {c: [*other, *NAKED] for c in (T, B, H)}, analysis=named)
        assert result.metrics["ab.mean.explained_cited"] == pytest.approx(380 / 6)


class TestFailures:
    def test_a_failed_side_takes_its_pair_out_and_is_counted(self, rng: Draw, said: Said) -> None:
        whole = analyse(rng, {T: NAKED[:5], B: EXPLAINED[:5]})
        holed = analyse(rng, {T: [*NAKED[:5], "refusal"], B: EXPLAINED})
        assert holed.metrics["ab.mean_difference"] == whole.metrics["ab.mean_difference"]
        assert (holed.metrics["ab.pairs_left_out"], holed.metrics["ab.failed"]) == (1, 1)
        assert holed.tables["groups"].set_index("condition")["failed"].to_dict() == {T: 1, B: 0}
        found = said(holed)
        assert found["ab.left_out"].values == {"n": 1, "total": 6}
        assert found["analyses.failed"].values == {"n": 1, "total": 12, "where": "authority_only: refusal 1"}

    @pytest.mark.parametrize("direction", ["higher_is_worse", "higher_is_better"])
    def test_bounds_worked_out_by_hand(self, rng: Draw, said: Said, direction: str) -> None:
        """The last pair has 40 on the second side; the first would have had 0 to 100: -40 to 60 after 110 of five."""
        result = analyse(rng, {T: [*NAKED[:5], "refusal"], B: EXPLAINED}, direction=direction)
        assert result.metrics["ab.worst_case_low"] == pytest.approx((110 - 40) / 6)
        assert result.metrics["ab.worst_case_high"] == pytest.approx((110 + 60) / 6)
        assert said(result)["ab.failures_unclear"].values["n_a"] == 1
        assert "ab.no_robust" in said(result)

    def test_failures_of_one_side_are_found_out(self, rng: Draw, said: Said) -> None:
        a: list[Score] = [*rng.normal(60, 5, 30), *["refusal"] * 10]
        result = analyse(rng, {T: a, B: list(rng.normal(40, 5, 40))})
        found = said(result)
        assert found["ab.failures_depend"].values["p"] == pytest.approx(2 / 2**10)
        assert result.metrics["ab.robust_difference"] == pytest.approx(20, abs=4)
        assert found["ab.robust"].values["level"] == 0.95

    def test_failures_on_both_sides_alike(self, rng: Draw, said: Said) -> None:
        sides = {c: ["refusal", *rng.uniform(0, 100, 9)] for c in (T, B)}
        assert "ab.failures_even" in said(analyse(rng, sides))

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    def test_few_pairs_never_crash_and_never_decide(self, rng: Draw, said: Said, n: int) -> None:
        result = analyse(rng, {T: NAKED[:n], B: EXPLAINED[:n]})
        assert said(result)["ab.verdict_too_few"].values == {"n": n, "groups": n, "needed": 6}
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

    def test_one_condition_alone_is_unsuited_not_wrong(self) -> None:
        with pytest.raises(Unsuited, match="explained_only"):
            configured("ab", treatment=T, baseline=B).check(paired_run({T: [80.0]}))
        with pytest.raises(Unsuited, match="condition"):
            FAST.check(paired_run({T: [80.0]}))

    @pytest.mark.parametrize(
        ("settings", "named"),
        [
            ({"alpha": 0.0}, "analysis.alpha"),
            ({"alpha": 0.5}, "analysis.alpha"),
            ({"level": 95.0}, "analysis.level"),
            ({"power": 0.04}, "analysis.power"),
            ({"treatment": B}, "analysis.treatment"),
            ({"treatment": []}, "analysis.treatment"),
            ({"hybrid": [H, B]}, "analysis.hybrid"),
        ],
    )
    def test_settings_that_make_no_sense(self, settings: dict[str, object], named: str) -> None:
        with pytest.raises(ConfigError, match=named):
            configured("ab", **settings)

    def test_a_negative_margin_is_refused_before_anything_is_judged(self) -> None:
        with pytest.raises(ConfigError, match=r"analysis\.margin"):
            configured("ab", margin=-1.0).check(paired_run({T: NAKED, B: EXPLAINED}))


N = 40
LETTERS = "bcdfghjklm"


def lengths(naked: float, explained: float, spread: float = 0.5) -> dict[str, list[int]]:
    """Word counts that scatter about two medians."""
    draw = np.random.default_rng(11)
    return {
        c: [max(1, int(v)) for v in median * np.exp(draw.normal(0, spread, N))]
        for c, median in ((T, naked), (B, explained))
    }


def neutral(seed: int = 1) -> dict[str, list[str]]:
    """Texts of the three sides in which nothing that can be counted tells them apart."""
    draw = np.random.default_rng(seed)
    word = lambda: "".join(draw.choice(list(LETTERS), draw.integers(3, 9)))  # noqa: E731
    return {c: [" ".join(word() for _ in range(draw.integers(8, 15))) for _ in range(N)] for c in (T, B, H)}


def told_apart(texts: dict[str, list[str]]) -> dict[str, list[str]]:
    """The same, but the hybrid's have capitals and a full stop."""
    return texts | {H: [f"{text.title()}." for text in texts[H]]}


def sides(difference: float, spread: float = 8.0, seed: int = 2, n: int = N) -> dict[str, Any]:
    """Scores of a judge with this mean difference between the sides, whatever the texts."""
    draw = np.random.default_rng(seed)
    explained = draw.uniform(40, 60, n)
    return {T: list(np.clip(explained + draw.normal(difference, spread, n), 0, 100)), B: list(explained)}


def hybrid(treatment: float, third: float, spread: float = 6.0) -> dict[str, Any]:
    """Baseline about 30, the treatment and the hybrid so much above it."""
    draw = np.random.default_rng(4)
    return {
        c: list(np.clip(30 + up + draw.normal(0, spread, N), 0, 100)) for c, up in ((T, treatment), (B, 0), (H, third))
    }


def capitals(naked: tuple[int, int], explained: tuple[int, int]) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Texts of ten letters, some of them capitals (from-to per side), and the scores of a judge that counts these."""
    draw = np.random.default_rng(5)
    texts: dict[str, list[str]] = {T: [], B: []}
    scores: dict[str, Any] = {T: [], B: []}
    for condition, (low, high) in ((T, naked), (B, explained)):
        for _ in range(N):
            words = ["".join(draw.choice(list(LETTERS), 6)) for _ in range(10)]
            count = int(draw.integers(low, high + 1))
            texts[condition].append(" ".join(w.upper() if k < count else w for k, w in enumerate(words)))
            scores[condition].append(float(np.clip(10 + 8 * count + draw.normal(0, 2), 0, 100)))
    return texts, scores


def counting_words(short: float, long: float) -> dict[str, Any]:
    """A judge that only counts words, and its texts."""
    counts = lengths(short, long)
    draw = np.random.default_rng(3)
    scores = {c: list(np.clip(300 - 80 * np.log(np.array(counts[c])) + draw.normal(0, 2, N), 0, 100)) for c in counts}
    return {"sides": scores, "lengths": counts}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "all_failed": lambda: {"sides": {T: ["refusal"] * 6, B: EXPLAINED}},
    "no_pairs": lambda: {"sides": {T: ["refusal", 50.0] * 3, B: [50.0, "refusal"] * 3}},
    "one_group": lambda: {"sides": sides(30), "metadata": {"precedent": ["Tema 1"] * N}},
    "too_few": lambda: {"sides": sides(30), "metadata": {"precedent": [n % 5 for n in range(N)]}},
    "margin_wide": lambda: {"sides": sides(30), "margin": 100},
    "identical": lambda: {"sides": {T: list(np.linspace(10, 90, N)), B: list(np.linspace(10, 90, N))}},
    "reversed": lambda: {"sides": sides(-30)},
    "within": lambda: {"sides": sides(0)},
    "below": lambda: {"sides": sides(-10)},
    "no_margin": lambda: {"sides": sides(0), "margin": None},
    "open": lambda: {"sides": sides(15, spread=30)},
    "open_endless": lambda: {"sides": {T: list(np.tile([55.0, 65.0], 20)), B: [50.0] * N}},
    "open_zero": lambda: {"sides": sides(0), "margin": 0},
    "surface_explains": lambda: dict(zip(("texts", "sides"), capitals((2, 9), (1, 6)), strict=True)),
    "reads_citation": lambda: {"sides": hybrid(30, 30)},
    "confounded": lambda: counting_words(18, 26),
    "surface_as_good": lambda: dict(zip(("texts", "sides"), capitals((8, 9), (1, 2)), strict=True)),
    "citation_first": lambda: {"sides": hybrid(34, 22, spread=15)},
    "inseparable": lambda: {"sides": sides(30), "lengths": lengths(5, 80, spread=0.2)},
    "surface_open": lambda: {"sides": {T: [29.0] * 17 + [90.0] * 23, B: [30.0] * N}},
    "no_texts": lambda: {"sides": sides(30), "without_texts": True},
    "length_open": lambda: {"sides": sides(24, spread=26, seed=3), "lengths": lengths(16, 26)},
    "hybrid_few": lambda: {"sides": hybrid(30, 0) | {H: [30.0] * 5 + [None] * (N - 5)}},
    "hybrid_open": lambda: {"sides": hybrid(24, 12, spread=15)},
    "hybrid_surface": lambda: {"sides": hybrid(40, 12), "texts": told_apart(neutral())},
    "inconsistent": lambda: {"sides": {T: [29.0] * 17 + [90.0] * 23, B: [30.0] * N}},
    "supported": lambda: {"sides": sides(30)},
    "missing": lambda: {"sides": {T: [*sides(30)[T][:30], *["refusal"] * 10], B: sides(30)[B]}},
}


@functools.cache
def deserved(key: str) -> AnalysisResult:
    """The result on judgments that deserve this verdict."""
    return case(key)


def case(key: str, **changes: Any) -> AnalysisResult:
    """The same on changed judgments."""
    given = {"margin": 10} | CASES[key]() | changes
    if "lengths" not in given:
        given = {"texts": neutral()} | given
    without = given.pop("without_texts", False)
    judged = paired_run(given.pop("sides"), **given)
    if without:
        judged.frame["text"] = ""
    (result,) = FAST(judged, np.random.default_rng(0))
    return result


@pytest.mark.parametrize(
    ("seen", "pairs"),
    [
        ("beyond", sides(15, spread=30)),
        ("within", sides(6, spread=45)),
        ("reversed", {T: [0, 0, 0, 80, 90, 10, 10, 70], B: [100, 100, 90, 20, 10, 70, 90, 30]}),
    ],
)
def test_an_open_verdict_says_which_way_more_pairs_would_decide(seen: str, pairs: dict[str, list[Any]]) -> None:
    result = analyse(np.random.default_rng(0), pairs, margin=10)
    assert result.verdict is not None
    assert (result.verdict.key, result.verdict.values["seen"]) == ("ab.verdict_open", f"seen_{seen}")


LED = ("confounded", "inseparable", "length_open", "inconsistent")
"""Reasons that a graver one comes with on these judgments: the surface judge counts words, too."""


class TestVerdicts:
    """Judges of known behaviour must get the verdict they deserve."""

    def test_every_verdict_has_its_judgments(self) -> None:
        assert set(CASES) == {rule.key for rule in AB.rules}

    @pytest.mark.parametrize("key", CASES)
    def test_judgments_get_the_verdict_and_the_first_word_that_they_deserve(self, key: str, said: Said) -> None:
        result = deserved(key)
        said(result)
        assert result.verdict is not None
        if key in LED:
            assert f"also_{key}" in result.verdict.values["also"]
        else:
            assert result.verdict.key == f"ab.verdict_{key}"
        begins = {
            "supported": ("Supported: ", "Confirmado: "),
            "refuted": ("Not supported: ", "Não confirmado: "),
            "undecided": ("Undecided: ", "Em aberto: "),
        }
        for language, begin in zip(("en", "pt"), begins[result.standing or ""], strict=True):
            sentence = Words(language, SHIPPED, strict=True).say(result.verdict)
            assert sentence.startswith(begin)
            assert sentence.endswith(".")
            assert "also_" not in sentence
            assert "alone_" not in sentence

    @pytest.mark.parametrize("key", [*LED, "surface_open", "citation_first"])
    def test_a_reason_that_leads_has_a_sentence_of_its_own(self, key: str) -> None:
        judged = paired_run(hybrid(34, 22, spread=15), texts=neutral())
        settings = PairSettings(1, Margin(10, "rubric", 100))
        found = PairEvidence(match(judged, (T, B), (H,)), settings, np.random.default_rng(0))
        rule = next(rule for rule in AB.rules if rule.key == key)
        finding = Ruling(AB, rule, found, ("surface_as_good", "hybrid_open")).finding
        for language in ("en", "pt"):
            words = Words(language, SHIPPED, strict=True)
            wording = words.find(finding.key)
            assert wording is not None
            assert placeholders(wording) == set(finding.values)
            assert "also_" not in words.say(finding)

    def test_the_sentence_names_direction_margin_and_who_set_it(self) -> None:
        words = Words("en", SHIPPED, units="points", strict=True)
        result = deserved("supported")
        assert result.verdict is not None
        sentence = words.say(result.verdict)
        assert "“authority only” scores 30.4 points higher than “explained only”" in sentence
        assert "95% interval [27.7, 33.1], wholly beyond the margin of 10 points of the rubric" in sentence
        (result,) = configured("ab", margin=5.0)(paired_run(sides(30), texts=neutral()), np.random.default_rng(0))
        assert result.verdict is not None
        assert "the margin of 5 points of analysis.margin" in words.say(result.verdict)
        unset = case("supported", margin=None)
        assert unset.verdict is not None
        assert "a tenth of the scale; rubric.margin or analysis.margin sets one" in words.say(unset.verdict)

    def test_on_a_scale_where_high_is_good(self) -> None:
        mirrored = {c: [100 - s for s in scores] for c, scores in sides(30).items()}
        result = case("supported", sides=mirrored, direction="higher_is_better")
        assert result.verdict is not None
        assert result.verdict.key == "ab.verdict_supported"
        assert result.verdict.values["expected"] == "lower"
        assert result.verdict.values["difference"] == pytest.approx(-result.metrics["ab.mean_difference"])

    def test_failures_that_cannot_turn_it_leave_a_verdict(self) -> None:
        given = sides(40)
        given[T][0] = "refusal"
        assert case("supported", sides=given).standing == "supported"
        given = sides(-30)
        given[B][3] = "timeout"
        assert case("reversed", sides=given).standing == "refuted"

    @pytest.mark.parametrize("key", ["identical", "reversed", "within", "reads_citation", "surface_explains"])
    def test_many_failures_withhold_a_refutation_too(self, key: str) -> None:
        given = CASES[key]()["sides"]
        holed = given | {T: [*list(given[T])[:20], *["refusal"] * 20]}
        result = case(key, sides=holed)
        assert result.standing == "undecided"

    def test_a_judge_that_refuses_what_it_would_get_wrong(self) -> None:
        """Random scores; of every pair that is not clearly in the expected order, one side is refused."""
        for seed in range(3):
            draw = np.random.default_rng(seed)
            a, b = draw.uniform(0, 100, N), draw.uniform(0, 100, N)
            wrong = a - b < 20
            given: dict[str, Any] = {
                T: [("refusal" if out and n % 2 else s) for n, (s, out) in enumerate(zip(a, wrong, strict=True))],
                B: [("refusal" if out and not n % 2 else s) for n, (s, out) in enumerate(zip(b, wrong, strict=True))],
            }
            assert case("supported", sides=given).standing == "undecided"


OLD, NEW = ("authority_only", "explained_only"), ("imitation", "explanation")
TREATMENTS, BASELINES = ["imitation", "authority_only"], ["explanation", "explained_only"]


def paired(*pairs: tuple[str, ...]) -> pd.DataFrame:
    """One pair per tuple of conditions."""
    texts = [(f"p{n}", condition) for n, pair in enumerate(pairs) for condition in pair]
    return pd.DataFrame(texts, columns=["pair_id", "condition"])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (paired(OLD, OLD), OLD),
        (paired(NEW), NEW),
        (paired(OLD, NEW), NEW),
        (paired((*OLD, "imitation")), OLD),  # its own other side is missing, and that of another design is none
        (paired(("imitation",), ("explanation",), OLD), OLD),
        (paired(("imitation",), ("explanation",)), NEW),
        (paired(("other",)), NEW),
    ],
)
def test_sides_of_two_designs_are_never_mixed(data: pd.DataFrame, expected: tuple[str, str]) -> None:
    assert contrast(TREATMENTS, BASELINES, data) == expected


def test_one_name_finds_the_one_that_it_stands_with() -> None:
    assert contrast("authority_only", BASELINES, paired(NEW, OLD)) == OLD
    assert contrast(TREATMENTS, "explained_only", paired(NEW, OLD)) == OLD
    assert contrast("a", "b", paired(OLD)) == ("a", "b")


def test_a_text_without_pair_stands_with_nobody() -> None:
    alone = pd.DataFrame({"pair_id": [None, None, "p", "p"], "condition": [*NEW, *OLD]})
    assert contrast(TREATMENTS, BASELINES, alone) == OLD
