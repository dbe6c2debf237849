"""Repeats and other runs: hand-worked agreement, cached answers, folders that do not fit."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examinations.builders import (
    Reading,
    analysed,
    refuses,
    repeated_run,
    rubric,
    scored_folder,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.records.records import Cost

analyse = partial(analysed, "reliability")

CACHED = Cost(calls=0, cached=1)
SPREAD = np.linspace(12, 88, 60)
WIDE = np.tile(SPREAD, 20)
NOISE = np.tile([2.0, -1, -2, 1, 0.5, -0.5], 10)


def repeats(*runs: Any, **fields: Any) -> RunEvidence:
    """One column of scores per repeat."""
    return repeated_run(runs, margin=10.0, **fields)


def beside(own: Any, *others: Any, digest: str | None = None) -> Reading:
    """Scores held against those of other runs, each in a folder of its own."""
    facts = {"name": "other", "dataset_digest": digest}
    against = [
        scored_folder(Path(str(len(os.listdir()))), scores, **facts)
        for scores in others
    ]
    return analyse(
        own if isinstance(own, RunEvidence) else repeats(own), against=against
    )


class TestRepeats:
    def test_numbers_by_hand(self) -> None:
        result = analyse(repeats([10.0, 20, 30, 40], [10.0, 20, 36, 38]))
        names = (
            "repeat.exact_match repeat.max_difference repeat.mean_abs_difference repeat.spearman"
            " repeat.sd_within"
        )
        assert result.of(names) == pytest.approx(
            [0.5, 6, 2, 1, np.sqrt((36 + 4) / 4 / 2)]
        )
        assert result.says["repeat"]["matches"] == 2
        assert result.says["verdict_repeat_few"] == {"n": 4, "groups": 4, "needed": 10}
        assert result.headline == "reliability.repeat.exact_match"

    def test_a_tolerance_forgives_small_differences(self) -> None:
        judged = repeats([10.0, 20, 30], [10.4, 20, 29.6])
        assert [
            analyse(judged, tolerance=t).says["repeat"]["matches"] for t in (0.0, 0.5)
        ] == [
            1,
            3,
        ]

    @pytest.mark.parametrize(
        ("again", "key", "standing"),
        [
            (SPREAD, "repeats", "supported"),
            (SPREAD + NOISE, "repeats", "supported"),
            (SPREAD[::-1], "varies", "refuted"),
            (SPREAD + 8 * NOISE, "repeat_open", "undecided"),
            ([*SPREAD[:-2], "refusal", "refusal"], "repeats", "supported"),
            ([*SPREAD[:-12], *["refusal"] * 12], "repeat_missing", "undecided"),
            ([*SPREAD[::-1][:52], *["refusal"] * 8], "varies", "refuted"),
        ],
    )
    def test_verdicts_against_the_margin(
        self, again: Any, key: str, standing: str
    ) -> None:
        assert analyse(repeats(SPREAD, again)).ruled == (key, standing)

    def test_what_cannot_be_said_of_repetition(self) -> None:
        constant = analyse(repeats([50.0] * 30, [50.0] * 30))
        assert constant.says["verdict_repeat_constant"] == {"n": 30}
        judged, even = repeats(SPREAD, SPREAD), np.linspace(20, 80, 30)
        assert (
            analyse(RunEvidence(judged.frame, rubric())).ruled[0] == "repeat_no_margin"
        )
        assert (
            analyse(repeats(even, even + np.tile([-10, 10], 15))).ruled[0]
            == "repeat_open_endless"
        )
        few = analyse(repeats([50.0] * 4, [50.0] * 4))  # no correlation either
        assert (few.says["repeat"]["pearson"], few.ruled[0]) == (None, "repeat_few")

    def test_texts_that_belong_together_are_one_in_the_interval_of_exact_repeats(
        self,
    ) -> None:
        alone, together = (repeats(SPREAD, SPREAD) for _ in range(2))
        together.frame["group"] = (
            together.frame["item_id"].str[1:].astype(int).floordiv(10).astype(str)
        )
        low = [analyse(each)["repeat.exact_match_low"] for each in (alone, together)]
        assert low[0] > 0.9 and low[1] < 0.7

    def test_cached_answers_prove_nothing_and_do_not_count_among_fresh_ones(
        self,
    ) -> None:
        judged = repeats(SPREAD, [*SPREAD[:55], *SPREAD[:5]])
        rows = (judged.frame["repeat"] == 1) & judged.frame["item_id"].isin(
            [f"t{n}" for n in range(55)]
        )
        judged.frame.loc[rows, ["cached", "calls"]] = [1, 0]
        assert analyse(judged).says["verdict_repeat_few"]["n"] == 5
        same = [10.0, 20, 30]
        cached = analyse(repeats(same, same, costs=(None, CACHED)))
        assert cached.says["cached"] == {"repeat": 2, "n": 3, "total": 3}
        assert (cached.ruled[0], cached["repeat.cached_share"]) == ("cached", 1)
        assert (
            analyse(repeats(same, same, costs=(CACHED, None))).ruled[0] == "repeat_few"
        )

    def test_the_worst_of_several_repeats_counts(self) -> None:
        result = analyse(repeats([10.0, 20, 30], [10.0, 20, 30], [10.0, 20, 33]))
        assert result.tables["repeats"]["exact_match_rate"].tolist() == pytest.approx(
            [1, 2 / 3]
        )
        assert result.of("repeat.exact_match repeat.max_difference") == pytest.approx(
            [2 / 3, 3]
        )
        assert result.ruled[0] == "repeat_few"

    def test_failures_are_left_out_and_counted(self) -> None:
        result = analyse(repeats([10.0, 20, 30, "refusal"], [10.0, 20, 31, 40]))
        assert result.says["repeat_left_out"] == {"repeat": 2, "n": 1}
        assert result.tables["repeats"]["n"].tolist() == [3]
        few = analyse(repeats([10.0, "refusal", 30], [10.0, 20, "timeout"]))
        assert (
            few.says["repeat_too_few"] == {"repeat": 2, "n": 1, "needed": 3}
            and few.headline is None
        )
        assert few.says["verdict_repeat_few"] == {"n": 1, "groups": 1, "needed": 10}


class TestAgreement:
    def test_numbers_by_hand(self) -> None:
        result = beside(repeats([10.0, 30, 60, 90], name="mine"), [0.0, 20, 50, 80])
        assert result.of("bias.other lower.other upper.other") == [10, 10, 10]
        # Levels 0 25 50 100 (60 is nearer to 50, 90 to 100) against 0 25 50 75: steps 0 1 2 4 and 0
        # 1 2 3. Quadratic disagreement 1/4; expected over all 16 pairs of the two: (14 + 6 + 6 +
        # 30) / 16.
        kappa = 1 - (1 / 4) / (56 / 16)
        assert result.of("change.other pearson.other kappa.other") == pytest.approx(
            [0, 1, kappa]
        )
        assert result.says["agreement"]["a"] == "mine"
        assert result.headline == "reliability.alpha"
        assert result.says["verdict_few"] == {
            "runs": 2,
            "n": 4,
            "groups": 4,
            "needed": 10,
        }

    def test_swapping_the_runs_turns_the_bias_round(self) -> None:
        a, b = np.random.default_rng(1).uniform(0, 100, (2, 12))
        forth, again = beside(a, b), beside(b, a)
        turned = [-value for value in forth.of("bias.other change.other lower.other")]
        assert again.of("bias.other change.other upper.other") == pytest.approx(turned)
        same = "alpha pearson.other spearman.other kendall.other kappa.other"
        assert again.of(same) == pytest.approx(forth.of(same))

    def test_three_runs_are_compared_in_pairs_and_together(self) -> None:
        scores = np.array([5.0, 20, 45, 70, 95])
        result = beside(
            repeats(scores, name="mine"), scores, scores + np.array([4, -6, 5, -3, 2])
        )
        pairs = result.tables["agreement"][["a", "b"]].itertuples(
            index=False, name=None
        )
        assert list(pairs) == [
            ("mine", "other"),
            ("mine", "other (2)"),
            ("other", "other (2)"),
        ]
        assert [f.name for f in result.drawings] == ["bland_altman", "bland_altman_2"]
        assert result.says["alpha"]["runs"] == 3

    @pytest.mark.parametrize(
        ("other", "key", "standing"),
        [
            (SPREAD, "agree", "supported"),
            (SPREAD + NOISE, "agree", "supported"),
            (WIDE + 12.5 * np.tile(NOISE, 20), "agree_roughly", "supported"),
            (SPREAD[::-1], "disagree", "refuted"),
            (SPREAD + 15 * NOISE, "open", "undecided"),
            ([*SPREAD[:40], *["refusal"] * 20], "missing", "undecided"),
            ([50.0] * 60, "no_alpha", "undecided"),
            (["refusal"] * 55 + [1.0] * 5, "few", "undecided"),
        ],
    )
    def test_verdicts(self, other: Any, key: str, standing: str) -> None:
        own = {"no_alpha": other, "agree_roughly": WIDE}.get(key, SPREAD)
        assert beside(own, other).ruled == (key, standing)

    def test_bias_and_drift_against_the_margin(self) -> None:
        def found(other: Any, own: Any = SPREAD) -> Any:
            return beside(own, other).says["agreement"]

        near = found(SPREAD + NOISE)
        assert (near["bias_outcome"], near["change_outcome"]) == ("is_none", "is_none")
        assert near["change_interval"][0] < near["change"] < near["change_interval"][1]
        assert found(SPREAD - 14 + 4 * NOISE)["bias_outcome"] == "matters"
        # Half the slope: 2 / 3 per unit of the mean.
        bent = found(SPREAD / 2 + NOISE / 9)
        assert (bent["change"], bent["change_outcome"]) == (
            pytest.approx(100 * 2 / 3, abs=0.5),
            "matters",
        )
        assert found(SPREAD + 8 * NOISE)["change_outcome"] == "is_open"
        assert (
            found(SPREAD + NOISE, RunEvidence(repeats(SPREAD).frame, rubric()))[
                "bias_outcome"
            ]
            == "no_margin"
        )

    def test_failures_on_either_side_and_coefficients_of_constant_scores_are_left_out(
        self,
    ) -> None:
        result = beside([10.0, "refusal", 60, 90, 40], [0.0, 20, "refusal", 80, 30])
        assert (
            result.says["left_out"]["n"],
            result.tables["agreement"]["n"].tolist(),
        ) == (2, [3])
        assert beside([10.0, 20, 30], ["refusal", 20.0, 30.0]).says["too_few"]["n"] == 2
        result = beside([50.0] * 4, [50.0] * 4)
        assert (
            result.says["agreement"]["kappa"] is None and "alpha" not in result.numbers
        )

    @pytest.mark.parametrize(("digest", "other"), [("here", True), ("there", False)])
    def test_the_same_ids_over_another_dataset_are_pointed_out(
        self, digest: str, other: bool
    ) -> None:
        told = beside(
            repeats([10.0, 30, 60], digest=digest), [10.0, 30, 60], digest="there"
        )
        assert ("other_dataset" in told.says) is other


def test_what_does_not_fit() -> None:
    scored_folder(Path("10-22-33"), [1.0, 2])
    judged, shares = (
        repeats([1.0, 2, 3]),
        "shares 2 items with this run, which has 3; that one has 2",
    )
    refuses(Unsuited, r"run\.repeats=2", "reliability", judged)
    refuses(DataError, shares, "reliability", judged, against=["10-22-33"])
    missing = r"`analysis\.against\[0\]` is .*not a folder.*10-22-33"
    refuses(ConfigError, missing, "reliability", judged, against=["10-22-34"])
    refuses(ConfigError, r"analysis\.tolerance", "reliability", tolerance=-1)
