"""What is asked of a ranking: on scores whose answer is known, and on too few of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analyses.builders import configured
from tests.constructs.faithfulness.test_composite import noise, run
from undogmatic.analyses.association import associate, partial
from undogmatic.analyses.base import Judged, Unsuited
from undogmatic.errors import ConfigError
from undogmatic.records.results import AnalysisResult, Finding
from undogmatic.safety.secrets import redacted

Said = Callable[[AnalysisResult], dict[str, Finding]]


def asked(part: str, judged: Judged, **changes: Any) -> AnalysisResult:
    (result,) = configured(part, **changes)(judged, np.random.default_rng(0))
    return result  # type: ignore[no-any-return]


def with_judges(*columns: np.ndarray, **more: Any) -> Judged:
    """One system, a judge per column; NLI and coverage follow the first."""
    judged = run({"a": columns[0]}, judges=tuple("jklm"[: len(columns)]), **more)
    for name, column in zip("jklm", columns, strict=False):
        own = judged.frame["judge"] == name
        cases = judged.frame.loc[own, "metadata.case"].str[1:].astype(int)
        judged.frame.loc[own & (judged.frame["repeat"] == 0), "score"] = column[cases]
    return judged


def buckets(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 6, n) / 5


class TestAgreement:
    def test_judges_that_say_the_same_agree(self, said: Said) -> None:
        own = buckets(40, 0)
        near = np.where(np.arange(40) % 10 == 0, np.clip(own + 0.2, 0.2, 1.0), own)
        result = asked("agreement", with_judges(own, near, own))
        assert result.standing == "supported"
        assert said(result).keys() >= {"agreement.pair", "agreement.lowest", "agreement.verdict_agree"}
        pairs = result.tables["pairs"]
        assert pairs["tau"].between(0.9, 1).all() and pairs["kappa_completeness"].between(0.9, 1).all()

    def test_judges_by_chance_do_not(self, said: Said) -> None:
        result = asked("agreement", with_judges(*(buckets(60, seed) for seed in (1, 2, 3))))
        assert result.standing == "refuted"
        assert "agreement.verdict_disagree" in said(result)

    def test_the_judge_that_agrees_least_is_named_with_its_weight_and_whether_that_is_shown(self, said: Said) -> None:
        own = buckets(60, 4)
        result = asked("agreement", with_judges(own, own, buckets(60, 5)))
        found = said(result)
        assert found["agreement.weakest"].values["judge"] == "l"
        assert found["agreement.weakest"].values["weight"] == pytest.approx(0.4 / 3)

    def test_failures_are_left_out_and_counted(self, said: Said) -> None:
        own = buckets(12, 6)
        failed = {("c0/a", "k", "completeness"), ("c5/a", "k", "factual_accuracy")}
        judged = run({"a": own}, failed=failed, judges=("j", "k"))
        result = asked("agreement", judged)
        assert said(result)["agreement.failed"].values == {"judge": "k", "n": 2, "total": 12}
        assert result.tables["pairs"].loc[0, ["n", "left_out"]].tolist() == [10, 2]

    def test_scores_that_are_no_categories_have_no_kappa(self) -> None:
        pairs = asked("agreement", with_judges(noise(12, 0.5, 0.2, 0), noise(12, 0.5, 0.2, 1))).tables["pairs"]
        assert pairs["kappa_completeness"].isna().all() and pairs["tau"].notna().all()

    def test_one_judge_is_no_agreement(self) -> None:
        with pytest.raises(Unsuited, match="of which there are 1"):
            asked("agreement", run({"a": buckets(4, 0)}))


class TestPillars:
    def test_pillars_that_go_together(self, said: Said) -> None:
        result = asked("pillars", run({"a": noise(40, 0.5, 0.2, 0)}))
        assert result.standing == "supported"
        assert "pillars.verdict_together" in said(result)

    def test_a_pillar_that_is_turned_around_is_shown_to_be(self, said: Said) -> None:
        judged = run({"a": noise(40, 0.5, 0.2, 0)})
        nli = judged.frame["judge"] == "nli"
        judged.frame.loc[nli, "score"] = 1 - judged.frame.loc[nli, "score"]
        found = said(result := asked("pillars", judged))
        assert result.standing == "refuted"
        assert "nli" in found["pillars.verdict_against"].values["pillars"]
        assert "pillars.flagged" in found

    def test_few_cases_show_nothing(self, said: Said) -> None:
        judged = run({name: noise(6, 0.5, 0.2, seed) for seed, name in enumerate("abc")})
        nli = judged.frame["judge"] == "nli"
        judged.frame.loc[nli, "score"] = np.random.default_rng(7).uniform(size=int(nli.sum()))
        assert asked("pillars", judged).standing == "undecided"


class TestBaselines:
    def judged(self, scores: np.ndarray) -> Judged:
        words = "the board granted the permit because the plan kept the old trees near the mill".split()
        judged = run({"a": scores})
        kept = [max(1, round(score * len(words))) for score in scores]
        inputs = {f"c{n}/a": {"summary": " ".join(words[:k]), "reference": " ".join(words)} for n, k in enumerate(kept)}
        return Judged(judged.frame, judged.rubric, inputs=inputs)

    def test_rouge_from_the_texts_stands_in_where_it_follows(self, said: Said) -> None:
        result = asked("baselines", self.judged(np.linspace(0.1, 1, 30)))
        found = said(result)
        assert result.standing == "supported"
        assert found["baselines.absent"].values == {"baseline": "bertscore"}
        assert result.tables["baselines"]["baseline"].tolist() == ["rouge1", "rouge2", "rougeL"]
        assert "rougeL" in found["baselines.verdict_follows"].values["baselines"]

    def test_stored_values_are_held_against_computed_ones(self, said: Said) -> None:
        judged = self.judged(np.linspace(0.1, 1, 12))
        made = asked("baselines", judged).items
        assert made is not None
        rouge = made.set_index("item_id")["rouge1"].round(4)
        judged.frame["metadata.rouge1_f"] = judged.frame["item_id"].map(rouge)
        assert "baselines.stored_same" in said(asked("baselines", judged))
        judged.frame.loc[judged.frame["item_id"] == "c3/a", "metadata.rouge1_f"] += 0.01
        differ = said(asked("baselines", judged))["baselines.stored_differ"].values
        assert (differ["off"], differ["n"]) == (1, 12)

    def test_a_criterion_of_the_run_is_a_baseline_too(self) -> None:
        judged = run({"a": noise(12, 0.5, 0.2, 0)})
        table = asked("baselines", judged, of={"nli": []}).tables["baselines"]
        assert table["tau"].tolist() == pytest.approx([1.0])

    def test_without_texts_and_columns_it_is_unsuited(self) -> None:
        with pytest.raises(Unsuited, match="rouge1, rouge2, rougeL, bertscore"):
            asked("baselines", run({"a": buckets(4, 0)}))


class TestLength:
    def test_a_judge_that_counts_words_is_found_out(self, said: Said) -> None:
        def words(case: int, score: float) -> int:
            return round(100 + 400 * score)

        result = asked("length_bias", run({"a": noise(60, 0.5, 0.2, 0)}, words=words))
        assert result.standing == "refuted"
        assert said(result).keys() >= {"length_bias.flagged", "length_bias.verdict_biased"}

    def test_a_judge_that_does_not_is_cleared_where_there_are_enough_texts(self, said: Said) -> None:
        def words(case: int, score: float) -> int:
            return 100 + 37 * case % 211

        result = asked("length_bias", run({"a": noise(200, 0.5, 0.2, 0)}, words=words), level=0.9)
        assert result.standing == "supported"
        assert said(result).keys() >= {"length_bias.one", "length_bias.verdict_none"}

    def test_eighteen_texts_of_six_cases_leave_it_open(self, said: Said) -> None:
        systems = {name: noise(6, 0.5, 0.2, seed) for seed, name in enumerate("abc")}
        result = asked("length_bias", run(systems, words=lambda case, score: round(100 + 100 * case * score)))
        assert result.standing == "undecided"
        assert "length_bias.verdict_open" in said(result)

    @pytest.mark.parametrize("changes", [{"given": ["tone"]}, {"pillar": "tone"}, {"bound": 1.0}])
    def test_unknown_names_and_bounds_are_refused(self, changes: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            configured("length_bias", **changes)


class TestConsistency:
    def again(self, change: Callable[[int], float], n: int = 20) -> Judged:
        own = buckets(n, 1)
        later = {(f"c{case}/a", "j"): float(np.clip(own[case] + change(case), 0, 1)) for case in range(n)}
        return run({"a": own}, later=later)

    def test_a_judge_that_repeats_itself(self, said: Said) -> None:
        result = asked("consistency", self.again(lambda case: 0.0, 120))
        assert result.standing == "supported"
        assert result.metrics["consistency.exact_rate.j"] == 1
        assert "consistency.verdict_same" in said(result)

    def test_a_judge_that_moves(self, said: Said) -> None:
        result = asked("consistency", self.again(lambda case: -0.2 if case % 3 else 0.2))
        assert result.standing == "refuted"
        assert "consistency.verdict_moves" in said(result)

    def test_two_texts_decide_nothing(self, said: Said) -> None:
        judged = self.again(lambda case: 0.0, 2)
        result = asked("consistency", judged)
        assert result.standing == "undecided"
        assert "consistency.verdict_few" in said(result)

    def test_without_repeats_it_is_unsuited(self) -> None:
        with pytest.raises(Unsuited, match=r"run\.repeats=2"):
            asked("consistency", run({"a": buckets(4, 0)}))


class TestTaxonomy:
    ERRORS = json.dumps(
        [{"issue": "The date is wrong.", "severity": "Minor", "category": "wrong_date_or_vote"}, {"issue": "No."}]
    )

    def test_quotes_are_counted_once_though_kept_beside_two_criteria(self, said: Said) -> None:
        result = asked("taxonomy", run({"a": buckets(5, 0)}, errors=self.ERRORS, omissions='["The dissent"]'))
        said(result)
        assert result.metrics["taxonomy.quotes"] == 15
        assert result.metrics["taxonomy.class.errors.wrong_date_or_vote"] == 5
        assert result.metrics["taxonomy.class.omissions.omitted_dissent"] == 5
        assert result.metrics["taxonomy.severity.Minor"] == 5

    @pytest.mark.parametrize(
        "details",
        [
            {"errors": '[{"problem": "It says perhaps.", "kind": "hedging"}]'},
            {"errors": "[]", "hedging": 1.0},
            {"errors": "[]", "hedging": "true"},
        ],
        ids=["quoted", "said", "said in a table"],
    )
    def test_summaries_that_hedge_are_counted_in_a_metric_and_a_table(self, details: Any, said: Said) -> None:
        result = asked("taxonomy", run({"a": buckets(5, 0), "b": buckets(4, 1)}, judges=("j", "k"), **details))
        said(result)
        assert result.metrics["taxonomy.hedging"] == 18, "each of two judges finds nine summaries hedging"
        assert result.metrics["taxonomy.hedging_by_system.b"] == 8
        modes = result.tables["modes"].set_index(["judge", "system"])
        assert modes.loc[("k", "a")].to_dict() == {
            "summaries": 5,
            "errors": 5 if "kind" in details["errors"] else 0,
            "omissions": 0,
            "hedging": 5,
        }

    def test_hidden_quotes_are_not_counted(self) -> None:
        with pytest.raises(Unsuited, match=r"`tracking\.redact` is true"):
            asked("taxonomy", run({"a": buckets(5, 0)}, errors=redacted(self.ERRORS)))

    def test_where_no_summary_hedges_the_count_is_zero_and_not_absent(self) -> None:
        result = asked("taxonomy", run({"a": buckets(5, 0)}, errors=self.ERRORS))
        assert result.metrics["taxonomy.hedging"] == 0

    def test_given_classes_are_held_against_the_rules(self, said: Said) -> None:
        result = asked("taxonomy", run({"a": buckets(5, 0)}, errors=self.ERRORS))
        assert result.metrics["taxonomy.agreement"] == 1
        assert "taxonomy.verdict_none" in said(result)

    def test_a_model_that_was_asked_is_held_against_the_rules(self, said: Said) -> None:
        judged = run({"a": buckets(24, 0)})
        frame = judged.frame[judged.frame["judge"] == "nli"].reset_index(drop=True)
        texts = ["The date is wrong.", "The outcome is reversed.", "Not in the reference."]
        answers = ["wrong_date_or_vote", "reversed_outcome", "invented_detail"]
        frame = frame.assign(criterion="overall", text=[texts[n % 3] for n in range(24)])
        frame = frame.assign(category=[answers[n % 3] for n in range(24)], score=np.nan)
        frame["metadata.kind"], frame["metadata.judge"], frame["metadata.quoted"] = "errors", "j", "c/a"
        result = asked("taxonomy", Judged(frame, judged.rubric))
        assert result.standing == "supported"
        assert (result.headline, result.metrics["taxonomy.kappa"]) == ("taxonomy.kappa", 1)
        frame["category"] = np.random.default_rng(0).permutation(frame["category"])
        assert asked("taxonomy", Judged(frame, judged.rubric)).standing == "refuted"
        said(result)

    def test_without_quotes_it_is_unsuited(self) -> None:
        with pytest.raises(Unsuited, match="dataset=quotes"):
            asked("taxonomy", run({"a": buckets(4, 0)}))


def test_all_parts_read_one_composite_and_what_does_not_suit_is_named() -> None:
    analysis = configured("meta")
    own = (analysis.agreement, analysis.pillars, analysis.baselines, analysis.length_bias, analysis.consistency)
    assert all(part.composite == analysis.composite for part in own)
    results = analysis(run({"a": buckets(6, 0), "b": buckets(6, 1)}), np.random.default_rng(0))
    assert [result.name for result in results] == ["composite", "pillars", "length_bias", "meta"]
    left_out = [finding.values["analysis"] for finding in results[-1].findings if finding.key == "meta.left_out"]
    assert left_out == ["agreement", "baselines", "consistency", "taxonomy"]


def test_a_partial_correlation_is_that_of_the_residuals() -> None:
    rng = np.random.default_rng(0)
    given = pd.Series(rng.normal(size=40))
    x, y = given + rng.normal(size=40), 2 * given + rng.normal(size=40)
    groups = pd.Series(range(40))
    design = np.column_stack([np.ones(40), given])
    left = [each - design @ np.linalg.lstsq(design, each, rcond=None)[0] for each in (x.to_numpy(), y.to_numpy())]
    found = partial(x, y, given, groups, rng)
    assert found.estimate.value == pytest.approx(np.corrcoef(*left)[0, 1])
    assert found.estimate.low < found.estimate.value < found.estimate.high
    assert abs(found.estimate.value) < abs(associate("pearson", x, y, groups, rng).estimate.value)


def test_what_does_not_vary_has_no_correlation() -> None:
    same, other = pd.Series([1.0] * 8), pd.Series(np.arange(8.0))
    groups = pd.Series(range(8))
    assert np.isnan(associate("kendall", same, other, groups, np.random.default_rng(0)).estimate.value)
    assert np.isnan(partial(other, other * 2, same, groups, np.random.default_rng(0)).estimate.value)
