"""The paired experiment against numbers worked out by hand, its symmetry, and judges of known
behaviour."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import (
    Reading,
    Score,
    configured,
    mirrored,
    paired_run,
    refuses,
)
from tests.examinations.conftest import SHIPPED, placeholders, words_of
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.ab import AbAnalysis, examine
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.comparison import compare
from undogmatic.examinations.pairs import contrast, match
from undogmatic.examinations.rivals import PairSettings
from undogmatic.examinations.ruling import Ruling
from undogmatic.examinations.ruling.ab import AB
from undogmatic.examinations.truth import Margin
from undogmatic.records.words import Words

FAST = configured("ab")
T, B, H = "authority_only", "explained_only", "explained_cited"

# Six pairs, differences 30, 50, -10, 0, 40, 20: mean 130/6, median 25, five of which are not zero.
NAKED = [80.0, 90.0, 30.0, 50.0, 70.0, 60.0]
EXPLAINED = [50.0, 40.0, 40.0, 50.0, 30.0, 40.0]

SIX: dict[str, Any] = {T: NAKED, B: EXPLAINED}


def analyse(
    sides: dict[str, Any],
    analysis: AbAnalysis = FAST,
    worded: bool = True,
    **fields: Any,
) -> Reading:
    (result,) = analysis(paired_run(sides, **fields), np.random.default_rng(0))
    return Reading(result, worded)


@pytest.fixture(scope="module")
def six() -> Reading:
    """The six pairs."""
    return analyse(SIX)


class TestNumbers:
    def test_hand_worked_pairs(self, six: Reading) -> None:
        assert six.of("pairs groups pairs_left_out judged failed zero_differences") == [
            6,
            6,
            0,
            12,
            0,
            1,
        ]
        assert six.of(f"mean_difference share_expected mean.{T}") == pytest.approx(
            [130 / 6, 4 / 6, 380 / 6]
        )
        # Ranks of |d| without the zero: 10 -> 1, 20 -> 2, 30 -> 3, 40 -> 4, 50 -> 5; only the 10 is
        # negative.
        assert six["rank_biserial"] == pytest.approx((2 + 3 + 4 + 5 - 1) / 15)
        # 36 comparisons of a naked with an explained text: 80 and 90 beat all six, 70 and 60 too,
        # 50 beats four and ties with two, 30 ties with one.
        assert six["auc"] == pytest.approx((24 + 4 + 1 + 0.5) / 36)
        # Pratt: the zero takes rank 1, -10 rank 2, so R- = 2; of the 32 sign patterns of ranks 2..6
        # (sum 20), three have R- <= 2 or R+ <= 2: none, {2}, and their mirror images.
        assert six["p"] == pytest.approx(4 / 32)
        assert (six.says["difference"]["median"], six.says["share"]["ties"]) == (25, 1)
        assert six.says["zeros_pratt"] == {"zeros": 1, "n": 6}
        assert six.says["expected"] == {
            "treatment": T,
            "baseline": B,
            "expected": "higher",
        }
        assert six.headline == "ab.share_expected"

    def test_an_interval_that_allows_for_what_was_not_seen_says_so(
        self, six: Reading
    ) -> None:
        alike = [0.5, 0.2, 0.1, 0.3, 0.4, 0.6, 0.5, 0.3, 0.2, 0.1, 0.4, 0.5]
        result = analyse({T: [40 + d for d in alike], B: [40.0] * 12})
        assert result.says["bounded"] == {"same": 2} and "bounded" not in six.says

    def test_group_table_and_pair_table(self, six: Reading) -> None:
        naked = six.tables["groups"].set_index("condition").loc[T]
        expected = {
            "n": 6,
            "median": 65,
            "minimum": 30,
            "maximum": 90,
            "failed": 0,
            "q1": 52.5,
            "q3": 77.5,
            "iqr": 25,
        }
        expected["sd"] = pytest.approx(np.std(NAKED, ddof=1))
        assert naked[list(expected)].to_dict() == expected
        pairs = six.tables["pairs"]
        assert (pairs["difference"].tolist(), pairs["pair_id"].iloc[0]) == (
            [-10, 0, 20, 30, 40, 50],
            "p2",
        )

    @pytest.mark.parametrize("zero_method", ["pratt", "wilcox", "zsplit"])
    def test_zero_handling_is_stated(self, zero_method: str) -> None:
        assert (
            f"zeros_{zero_method}"
            in analyse(SIX, configured("ab", zero_method=zero_method)).says
        )

    def test_swapping_the_sides_mirrors_every_number(self) -> None:
        draw = np.random.default_rng(5)
        a, b = draw.uniform(20, 90, 15), draw.uniform(10, 70, 15)
        forth, back = (
            analyse({T: list(one), B: list(other)}) for one, other in ((a, b), (b, a))
        )
        turned = "mean_difference hodges_lehmann rank_biserial"
        assert back.of(turned) == pytest.approx([-value for value in forth.of(turned)])
        ends = [
            -value for value in forth.of("mean_difference_high hodges_lehmann_high")
        ]
        assert back.of("mean_difference_low hodges_lehmann_low") == pytest.approx(
            ends, abs=1.0
        )
        assert back.of("auc share_expected") == pytest.approx(
            [1 - value for value in forth.of("auc share_expected")]
        )
        assert back.of("p minimum_detectable") == pytest.approx(
            forth.of("p minimum_detectable")
        )

    def test_on_a_scale_where_high_is_good_the_expected_direction_turns(
        self, six: Reading
    ) -> None:
        there = analyse(mirrored(SIX), direction="higher_is_better")
        assert there.of("share_expected auc") == pytest.approx(
            six.of("share_expected auc")
        )
        assert there["mean_difference"] == pytest.approx(-six["mean_difference"])
        assert there["mean_difference_low"] == pytest.approx(
            -six["mean_difference_high"], abs=1.0
        )
        assert there.says["expected"]["expected"] == "lower"

    def test_breakdown_by_court_counts_and_averages_only(self) -> None:
        tables = analyse(
            SIX, metadata={"court": ["STF", "STF", "STJ", "STJ", "STJ", None]}
        ).tables
        table = tables["by_court"].set_index("court").to_dict()
        assert table == {
            "n": {"STF": 2, "STJ": 3},
            "mean_difference": {"STF": 40.0, "STJ": 10.0},
        }
        assert "by_authority_form" not in tables

    def test_the_detectable_difference_lies_beyond_the_margin(
        self, rng: np.random.Generator
    ) -> None:
        a, b = rng.normal(60, 10, 46), rng.normal(40, 10, 46)
        beyond = analyse({T: list(a), B: list(b)}, margin=10)["minimum_detectable"] - 10
        # (1.96 + 0.84) standard errors
        assert beyond == pytest.approx(
            2.8 * np.std(a - b, ddof=1) / np.sqrt(46), rel=0.06
        )


class TestGroups:
    def test_copies_of_pairs_change_no_test_and_no_interval(self) -> None:
        draw = np.random.default_rng(3)
        a, b = draw.uniform(20, 90, 12), draw.uniform(10, 70, 12)
        once = analyse(
            {T: list(a), B: list(b)}, metadata={"precedent": list(range(12))}
        )
        copied = {"precedent": [n % 12 for n in range(96)]}
        often = analyse(
            {T: list(np.tile(a, 8)), B: list(np.tile(b, 8))}, metadata=copied
        )
        assert often.of("pairs groups p") == pytest.approx([96, 12, once["p"]])
        for key in ("mean_difference", "share_expected", "auc"):
            widths = [
                told[f"{key}_high"] - told[f"{key}_low"] for told in (often, once)
            ]
            assert widths[0] > 0.85 * widths[1], key
        assert often.says["pairs"]["groups"] == 12

    def test_random_pairs_copied_give_no_direction(self) -> None:
        """Eight pairs of a judge without a notion, copied to 64: as few directions as eight pairs
        would give."""
        settings, wrong = PairSettings(1, Margin(10, "rubric", 100)), 0
        for draw in map(np.random.default_rng, range(12)):
            given = {c: list(np.tile(draw.uniform(0, 100, 8), 8)) for c in (T, B)}
            judged = paired_run(
                given, metadata={"precedent": [n % 8 for n in range(64)]}
            )
            found = compare(match(judged, (T, B)), T, B, settings)
            assert found is not None and found.claim is not None
            shown = (
                found.claim.outcome in ("beyond", "against")
                or found.share.estimate.low > 0.5
            )
            wrong += shown or found.test.p_value < 0.01
        assert wrong <= 2


class TestConditions:
    def test_pairs_may_lack_the_hybrid_and_without_any_it_is_said(
        self, six: Reading
    ) -> None:
        result = analyse(SIX | {H: [45.0, None, None, 50.0, 40.0, "refusal"]})
        assert (result["pairs"], result.says["hybrid"]["over_groups"]) == (6, 3)
        assert result.tables["comparisons"]["n"].tolist() == [6, 3, 3]
        # Pairs 0, 3, 4: 80 - 45, 50 - 50, 70 - 40; and 45 - 50, 50 - 50, 40 - 30.
        assert result.of("treatment_vs_hybrid hybrid_vs_baseline") == pytest.approx(
            [65 / 3, 5 / 3]
        )
        assert six.says["no_hybrid"] == {"hybrid": [H]}
        assert "no_hybrid" not in analyse(SIX, configured("ab", hybrid=None)).says

    def test_the_first_contrast_that_the_dataset_has_counts_and_pairs_of_another_are_left_alone(
        self,
    ) -> None:
        first = analyse({"imitation": NAKED, "explanation": EXPLAINED}, worded=False)
        assert (
            first["mean.imitation"] == pytest.approx(380 / 6)
            and first.result.verdict is not None
        )
        other: list[Score | None] = [None] * 6
        sides = {"imitation": [*NAKED, *other], "explanation": [*EXPLAINED, *other]}
        sides |= {c: [*other, *NAKED] for c in (T, B, H)}
        both = analyse(sides, worded=False)
        # The hybrid stands with the other design alone.
        assert both["pairs"] == 6 and f"mean.{H}" not in both.numbers
        assert analyse(sides, configured("ab", treatment=T, baseline=B))[
            f"mean.{H}"
        ] == pytest.approx(380 / 6)


class TestFailures:
    def test_a_failed_side_takes_its_pair_out_and_is_counted(self) -> None:
        holed = analyse({T: [*NAKED[:5], "refusal"], B: EXPLAINED})
        assert (
            holed["mean_difference"]
            == analyse({T: NAKED[:5], B: EXPLAINED[:5]})["mean_difference"]
        )
        assert holed.of("pairs_left_out failed") == [1, 1]
        assert holed.tables["groups"].set_index("condition")["failed"].to_dict() == {
            T: 1,
            B: 0,
        }
        assert holed.says["left_out"] == {"n": 1, "total": 6}
        assert holed.says["analyses.failed"] == {
            "n": 1,
            "total": 12,
            "where": "authority_only: refusal 1",
        }

    @pytest.mark.parametrize("direction", ["higher_is_worse", "higher_is_better"])
    def test_bounds_worked_out_by_hand(self, direction: str) -> None:
        """The last pair has 40 on the second side; the first would have had 0 to 100: -40 to 60
        after 110 of five."""
        result = analyse(
            {T: [*NAKED[:5], "refusal"], B: EXPLAINED}, direction=direction
        )
        assert result.of("worst_case_low worst_case_high") == pytest.approx(
            [(110 - 40) / 6, (110 + 60) / 6]
        )
        assert (
            result.says["failures_unclear"]["n_a"] == 1 and "no_robust" in result.says
        )

    def test_failures_of_one_side_are_found_out_and_those_of_both_alike(
        self, rng: np.random.Generator
    ) -> None:
        a: list[Score] = [*rng.normal(60, 5, 30), *["refusal"] * 10]
        result = analyse({T: a, B: list(rng.normal(40, 5, 40))})
        assert result.says["failures_depend"]["p"] == pytest.approx(2 / 2**10)
        assert result["robust_difference"] == pytest.approx(20, abs=4)
        assert result.says["robust"]["level"] == 0.95
        assert (
            "failures_even"
            in analyse({c: ["refusal", *rng.uniform(0, 100, 9)] for c in (T, B)}).says
        )

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
    def test_few_pairs_never_crash_and_never_decide(self, n: int) -> None:
        result = analyse({T: NAKED[:n], B: EXPLAINED[:n]})
        assert result.says["verdict_too_few"] == {"n": n, "groups": n, "needed": 6}
        assert ("slope" in [f.name for f in result.drawings]) == (n >= 3)


@pytest.mark.parametrize(
    ("column", "item", "value", "named"),
    [
        (
            "condition",
            f"p1:{T}",
            "other",
            r"pair 'p1': no text with condition authority_only",
        ),
        ("pair_id", f"p1:{T}", None, r"'p1:authority_only': no `pair`"),
        ("pair_id", "p1:", "p0", r"pair 'p0' has authority_only more than once"),
    ],
)
def test_what_is_no_pair_is_named(
    column: str, item: str, value: str | None, named: str
) -> None:
    judged = paired_run({T: [80.0, 70.0], B: [20.0, 30.0]})
    judged.frame.loc[judged.frame["item_id"].str.startswith(item), column] = value
    refuses(DataError, named, "ab", judged)


def test_one_condition_alone_is_unsuited_not_wrong_and_some_settings_make_no_sense() -> (
    None
):
    alone = paired_run({T: [80.0]})
    refuses(Unsuited, "explained_only", "ab", alone, treatment=T, baseline=B)
    refuses(Unsuited, "condition", "ab", alone)
    wrong = {
        "alpha": [0.0, 0.5],
        "level": [95.0],
        "power": [0.04],
        "treatment": [B, []],
        "hybrid": [[H, B]],
    }
    for key, value in (
        (key, value)
        for key, values in (wrong | {"margin": [-1.0]}).items()
        for value in values
    ):
        refuses(ConfigError, rf"analysis\.{key}", "ab", **{key: value})


N = 40
LETTERS = "bcdfghjklm"


def lengths(
    naked: float, explained: float, spread: float = 0.5
) -> dict[str, list[int]]:
    """Word counts that scatter about two medians."""
    draw = np.random.default_rng(11)
    drawn = {
        c: median * np.exp(draw.normal(0, spread, N))
        for c, median in ((T, naked), (B, explained))
    }
    return {c: [max(1, int(v)) for v in values] for c, values in drawn.items()}


@functools.cache
def neutral() -> dict[str, list[str]]:
    """Texts of the three sides in which nothing that can be counted tells them apart."""
    draw = np.random.default_rng(1)
    word = lambda: "".join(draw.choice(list(LETTERS), draw.integers(3, 9)))  # noqa: E731
    return {
        c: [" ".join(word() for _ in range(draw.integers(8, 15))) for _ in range(N)]
        for c in (T, B, H)
    }


def scattered(seed: int, spread: float, *ups: tuple[str, Any]) -> dict[str, Any]:
    """Scores that scatter so far about a value of each side."""
    draw = np.random.default_rng(seed)
    return {c: list(np.clip(up + draw.normal(0, spread, N), 0, 100)) for c, up in ups}


def sides(difference: float, spread: float = 8.0, seed: int = 2) -> dict[str, Any]:
    """Scores of a judge with this mean difference between the sides, whatever the texts."""
    draw = np.random.default_rng(seed)
    explained = draw.uniform(40, 60, N)
    return {
        T: list(np.clip(explained + draw.normal(difference, spread, N), 0, 100)),
        B: list(explained),
    }


def hybrid(treatment: float, third: float, spread: float = 6.0) -> dict[str, Any]:
    """Baseline about 30, the treatment and the hybrid so much above it."""
    return scattered(4, spread, (T, 30 + treatment), (B, 30), (H, 30 + third))


def capitals(
    naked: tuple[int, int], explained: tuple[int, int]
) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Texts of ten letters, some of them capitals (from-to per side), and the scores of a judge
    that counts these."""
    draw = np.random.default_rng(5)
    texts: dict[str, list[str]] = {T: [], B: []}
    scores: dict[str, Any] = {T: [], B: []}
    for condition, (low, high) in ((T, naked), (B, explained)):
        for _ in range(N):
            words = ["".join(draw.choice(list(LETTERS), 6)) for _ in range(10)]
            count = int(draw.integers(low, high + 1))
            texts[condition].append(
                " ".join(w.upper() if k < count else w for k, w in enumerate(words))
            )
            scores[condition].append(
                float(np.clip(10 + 8 * count + draw.normal(0, 2), 0, 100))
            )
    return texts, scores


def counting_words(short: float, long: float) -> dict[str, Any]:
    """A judge that only counts words, and its texts."""
    counts = lengths(short, long)
    by_words = ((c, 300 - 80 * np.log(np.array(counts[c]))) for c in counts)
    return {"sides": scattered(3, 2, *by_words), "lengths": counts}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "all_failed": lambda: {"sides": {T: ["refusal"] * 6, B: EXPLAINED}},
    "no_pairs": lambda: {"sides": {T: ["refusal", 50.0] * 3, B: [50.0, "refusal"] * 3}},
    "one_group": lambda: {
        "sides": sides(30),
        "metadata": {"precedent": ["Tema 1"] * N},
    },
    "too_few": lambda: {
        "sides": sides(30),
        "metadata": {"precedent": [n % 5 for n in range(N)]},
    },
    "margin_wide": lambda: {"sides": sides(30), "margin": 100},
    "identical": lambda: {
        "sides": {T: list(np.linspace(10, 90, N)), B: list(np.linspace(10, 90, N))}
    },
    "reversed": lambda: {"sides": sides(-30)},
    "within": lambda: {"sides": sides(0)},
    "below": lambda: {"sides": sides(-10)},
    "no_margin": lambda: {"sides": sides(0), "margin": None},
    "open": lambda: {"sides": sides(15, spread=30)},
    "open_endless": lambda: {
        "sides": {T: list(np.tile([55.0, 65.0], 20)), B: [50.0] * N}
    },
    "open_zero": lambda: {"sides": sides(0), "margin": 0},
    "surface_explains": lambda: dict(
        zip(("texts", "sides"), capitals((2, 9), (1, 6)), strict=True)
    ),
    "reads_citation": lambda: {"sides": hybrid(30, 30)},
    "confounded": lambda: counting_words(18, 26),
    "surface_as_good": lambda: dict(
        zip(("texts", "sides"), capitals((8, 9), (1, 2)), strict=True)
    ),
    "citation_first": lambda: {"sides": hybrid(34, 22, spread=15)},
    "inseparable": lambda: {"sides": sides(30), "lengths": lengths(5, 80, spread=0.2)},
    "surface_open": lambda: {"sides": {T: [29.0] * 17 + [90.0] * 23, B: [30.0] * N}},
    "no_texts": lambda: {"sides": sides(30), "without_texts": True},
    "length_open": lambda: {
        "sides": sides(24, spread=26, seed=3),
        "lengths": lengths(16, 26),
    },
    "hybrid_few": lambda: {"sides": hybrid(30, 0) | {H: [30.0] * 5 + [None] * (N - 5)}},
    "hybrid_open": lambda: {"sides": hybrid(24, 12, spread=15)},
    "hybrid_surface": lambda: {
        "sides": hybrid(40, 12),
        "texts": neutral() | {H: [f"{t.title()}." for t in neutral()[H]]},
    },
    "inconsistent": lambda: {"sides": {T: [29.0] * 17 + [90.0] * 23, B: [30.0] * N}},
    "supported": lambda: {"sides": sides(30)},
    "missing": lambda: {
        "sides": {T: [*sides(30)[T][:30], *["refusal"] * 10], B: sides(30)[B]}
    },
}


def case(key: str, **changes: Any) -> Reading:
    """The result on judgments that deserve this verdict, or on changed ones."""
    fields = {"margin": 10} | CASES[key]() | changes
    if "lengths" not in fields:
        fields = {"texts": neutral()} | fields
    blank = fields.pop("without_texts", False)
    judged = paired_run(fields.pop("sides"), **fields)
    if blank:
        judged.frame["text"] = ""
    (result,) = FAST(judged, np.random.default_rng(0))
    return Reading(result)


deserved = functools.cache(case)


@pytest.mark.parametrize(
    ("seen", "pairs"),
    [
        ("beyond", sides(15, spread=30)),
        ("within", sides(2, spread=36)),
        (
            "reversed",
            {T: [0, 0, 0, 80, 90, 10, 10, 10], B: [100, 100, 90, 20, 10, 70, 90, 80]},
        ),
    ],
)
def test_an_open_verdict_says_which_way_more_pairs_would_decide(
    seen: str, pairs: dict[str, list[Any]]
) -> None:
    assert analyse(pairs, margin=10).says["verdict_open"]["seen"] == f"seen_{seen}"


LED = ("confounded", "inseparable", "length_open", "inconsistent")
"""Reasons that a graver one comes with on these judgments: the surface judge counts words, too."""


class TestVerdicts:
    """Judges of known behaviour must get the verdict they deserve."""

    def test_every_verdict_has_its_judgments(self) -> None:
        assert set(CASES) == {rule.key for rule in AB.rules}

    @pytest.mark.parametrize("key", CASES)
    def test_judgments_get_the_verdict_and_the_first_word_that_they_deserve(
        self, key: str
    ) -> None:
        result = deserved(key)
        led = result.says[f"verdict_{result.ruled[0]}"].get("also", ())
        assert f"also_{key}" in led if key in LED else result.ruled[0] == key
        for sentence in result.sentences():
            assert (
                sentence.endswith(".")
                and "also_" not in sentence
                and "alone_" not in sentence
            )

    @pytest.mark.parametrize("key", [*LED, "surface_open", "citation_first"])
    def test_a_reason_that_leads_has_a_sentence_of_its_own(self, key: str) -> None:
        judged = paired_run(hybrid(34, 22, spread=15), texts=neutral())
        settings = PairSettings(1, Margin(10, "rubric", 100))
        found = examine(match(judged, (T, B), (H,)), settings, np.random.default_rng(0))
        rule = next(rule for rule in AB.rules if rule.key == key)
        finding = Ruling(
            AB, rule, found.facts, ("surface_as_good", "hybrid_open")
        ).finding
        for words in map(words_of, ("en", "pt")):
            wording = words.find(finding.key)
            assert wording is not None and placeholders(wording) == set(
                finding.values
            ), key
            assert "also_" not in words.say(finding)

    def test_the_sentence_names_direction_margin_and_who_set_it(self) -> None:
        words = Words("en", SHIPPED, units="points", strict=True)
        sentence = words.say(deserved("supported").result.verdict)
        assert (
            "scores “authority only” 30.4 points higher than “explained only”"
            in sentence
        )
        assert (
            "95% interval [27.7, 33.1]), which is clearly more than the margin of 10 points that"
            in sentence
        )
        own = analyse(sides(30), configured("ab", margin=5.0), texts=neutral())
        assert "the margin of 5 points (analysis.margin)" in words.say(
            own.result.verdict
        )
        unset = words.say(case("supported", margin=None).result.verdict)
        assert "a tenth of the scale, because nobody set another" in unset

    def test_on_a_scale_where_high_is_good(self) -> None:
        result = case(
            "supported", sides=mirrored(sides(30)), direction="higher_is_better"
        )
        found = result.says["verdict_supported"]
        assert (found["expected"], found["difference"]) == (
            "lower",
            pytest.approx(-result["mean_difference"]),
        )

    def test_failures_that_cannot_turn_it_leave_a_verdict(self) -> None:
        good, bad = sides(40), sides(-30)
        good[T][0], bad[B][3] = "refusal", "timeout"
        assert case("supported", sides=good).standing == "supported"
        assert case("reversed", sides=bad).standing == "refuted"

    @pytest.mark.parametrize(
        "key", ["identical", "reversed", "within", "reads_citation", "surface_explains"]
    )
    def test_many_failures_withhold_a_refutation_too(self, key: str) -> None:
        scores = CASES[key]()["sides"]
        assert (
            case(
                key, sides=scores | {T: [*list(scores[T])[:20], *["refusal"] * 20]}
            ).standing
            == "undecided"
        )

    @pytest.mark.parametrize("seed", range(3))
    def test_a_judge_that_refuses_what_it_would_get_wrong(self, seed: int) -> None:
        """Random scores; of every pair that is not clearly in the expected order, one side is
        refused."""
        draw = np.random.default_rng(seed)
        a, b = draw.uniform(0, 100, N), draw.uniform(0, 100, N)
        wrong = a - b < 20
        scores: dict[str, Any] = {
            side: [
                ("refusal" if out and n % 2 == odd else s)
                for n, (s, out) in enumerate(zip(of, wrong, strict=True))
            ]
            for side, of, odd in ((T, a, 1), (B, b, 0))
        }
        assert case("supported", sides=scores).standing == "undecided"


OLD, NEW = ("authority_only", "explained_only"), ("imitation", "explanation")
ASKED = (["imitation", "authority_only"], ["explanation", "explained_only"])
ALONE = pd.DataFrame({"pair_id": [None, None, "p", "p"], "condition": [*NEW, *OLD]})


def paired(*pairs: tuple[str, ...]) -> pd.DataFrame:
    """One pair per tuple of conditions."""
    texts = [(f"p{n}", condition) for n, pair in enumerate(pairs) for condition in pair]
    return pd.DataFrame(texts, columns=["pair_id", "condition"])


@pytest.mark.parametrize(
    ("asked", "data", "expected"),
    [
        (ASKED, paired(OLD, OLD), OLD),
        (ASKED, paired(NEW), NEW),
        (ASKED, paired(OLD, NEW), NEW),
        # its other side is missing, and that of another design is none
        (
            ASKED,
            paired((*OLD, "imitation")),
            OLD,
        ),
        (ASKED, paired(("imitation",), ("explanation",), OLD), OLD),
        (ASKED, paired(("imitation",), ("explanation",)), NEW),
        (ASKED, paired(("other",)), NEW),
        (ASKED, ALONE, OLD),  # a text without pair stands with nobody
        # one name finds the one that it stands with
        (
            ("authority_only", ASKED[1]),
            paired(NEW, OLD),
            OLD,
        ),
        ((ASKED[0], "explained_only"), paired(NEW, OLD), OLD),
        (("a", "b"), paired(OLD), ("a", "b")),
    ],
)
def test_sides_of_two_designs_are_never_mixed(
    asked: Any, data: pd.DataFrame, expected: tuple[str, str]
) -> None:
    assert contrast(*asked, data) == expected
