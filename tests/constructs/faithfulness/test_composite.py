"""Composite, ranking, tests between systems, and what is asked of a ranking, on scores whose answer
is known."""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examinations.builders import ORIGIN, Said, configured
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness.cases import CasesDataset
from undogmatic.constructs.faithfulness.composite import (
    COMPOSITE,
    CompositeAnalysis,
    compare_systems,
)
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.association import associate, partial
from undogmatic.examinations.base import Unsuited
from undogmatic.examinations.ruling import verdict
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.examinations.truth import margin_of
from undogmatic.records.records import Cost, Failure, Item, Judgment, Verdict
from undogmatic.records.results import Told
from undogmatic.records.wordings import texts_beside
from undogmatic.records.words import Words
from undogmatic.safety.secrets import redacted

CRITERIA = (
    ("nli", "nli"),
    ("coverage", "coverage"),
    ("j", "factual_accuracy"),
    ("j", "completeness"),
)


def run(
    scores: Mapping[str, np.ndarray],
    failed: set[tuple[str, str, str]] = frozenset(),  # type: ignore[assignment]
    judges: tuple[str, ...] = ("j",),
    later: Mapping[tuple[str, str], float] | None = None,
    words: Callable[[int, float], int] = lambda case, score: 100,
    **details: str,
) -> RunEvidence:
    """Systems by their scores per case, which every criterion gives; `failed` are (item, judge,
    criterion)."""
    pairs = [
        (judge, c) for judge in judges for c in ("factual_accuracy", "completeness")
    ]
    asked = [("nli", "nli"), ("coverage", "coverage"), *pairs]
    items, judgments = [], []
    for system, own in scores.items():
        for case, score in enumerate(own.tolist()):
            name = f"c{case}/{system}"
            about = {
                "case": f"c{case}",
                "system": system,
                "word_count": words(case, score),
            }
            items.append(
                Item(id=name, inputs={"item": name}, pair=f"c{case}", metadata=about)
            )
            for judge, criterion in asked:
                where: dict[str, Any] = {
                    "item_id": name,
                    "judge": judge,
                    "criterion": criterion,
                    "provenance": ORIGIN,
                }
                outcome: Verdict | Failure = Verdict(
                    score=score, details=dict(details) if judge in judges else {}
                )
                if (name, judge, criterion) in failed:
                    outcome = Failure(reason="unparseable", message="no")
                judgments.append(Judgment(outcome=outcome, cost=Cost(), **where))
                if later and (name, judge) in later:
                    again = Verdict(score=later[name, judge])
                    judgments.append(
                        Judgment(outcome=again, cost=Cost(), repeat=1, **where)
                    )
    rubric = build(compose_config(["rubric=faithfulness"])["rubric"], "rubric")
    return RunEvidence(tabulate(items, judgments, 2, asked, gaps=False), rubric)


def asked(part: str, judged: RunEvidence, **changes: Any) -> Told:
    (result,) = configured(part, **changes)(judged, np.random.default_rng(0))
    return result  # type: ignore[no-any-return]


composite = functools.partial(asked, "composite")


def noise(n: int, mean: float, sd: float, seed: int) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).normal(mean, sd, n), 0, 1)


def test_the_composite_is_the_weighted_mean_with_a_band_and_a_system_well_ahead_is_said_to_be(
    said: Said,
) -> None:
    base = noise(12, 0.6, 0.05, 0)
    result = composite(run({"a": base + 0.3, "b": base}))
    said(result)
    ranking = result.tables["ranking"]
    assert ranking["system"].tolist() == ["a", "b"]
    assert ranking["composite"].tolist() == pytest.approx(
        [base.mean() + 0.3, base.mean()]
    )
    assert ranking["band"].tolist() == (
        ["excellent", "moderate"] if base.mean() >= 0.6 else ["good", "below"]
    )
    assert result.items is not None
    assert list(result.items) == [
        "item_id",
        "case",
        "system",
        "nli",
        "judge",
        "coverage",
        "composite",
    ]
    base = noise(20, 0.5, 0.1, 1)
    result = composite(
        run(
            {
                "b": base,
                "a": base + noise(20, 0.25, 0.06, 2),
                "c": base - noise(20, 0.2, 0.06, 3),
            }
        )
    )
    assert result.standing == "supported" and "composite.verdict_first" in said(result)
    assert result.tables["tests"]["shown"].tolist() == ["better"] * 3
    assert result.metrics["composite.first_share.a"] == 1


def test_a_system_is_called_as_the_user_calls_it_also_where_a_band_is_called_so() -> (
    None
):
    of_run = [CompositeAnalysis, CasesDataset]
    words = Words("pt", [file for each in of_run for file in texts_beside(each)])
    for name in ("good", "open", "equal", "lower"):
        assert words.value(name, "composite") == name
    assert words.cell("band_low", "good", "composite") == "bom"
    assert words.cell("shown", "open", "composite") == "em aberto"
    level = LEVEL | {"good": LEVEL["a"]}
    level.pop("a")
    verdict = composite(run(level)).answer
    assert "good" in words.say(verdict) and "bom" not in words.say(verdict)


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (0.9, "excellent"),
        (0.899, "good"),
        (0.75, "good"),
        (0.6, "moderate"),
        (0.599, "below"),
    ],
)
def test_bands_begin_at_their_lowest_value(value: float, band: str) -> None:
    assert configured("composite").band(value) == band


NEAR = {
    "a": noise(30, 0.7, 0.1, 3),
    "b": noise(30, 0.7, 0.1, 3) + noise(30, 0.5, 0.06, 4) - 0.5,
}
LEVEL = NEAR | {"c": NEAR["a"] - noise(30, 0.06, 0.08, 8)}
FEW = {
    name: noise(6, 0.5, 0.05, 5) + more
    for name, more in (("a", 0.4), ("b", 0), ("c", -0.2))
}

TWO = {
    name: noise(4, 0.5, 0.05, seed) + more
    for name, more, seed in (("a", 0.2, 5), ("b", 0, 6))
}


@pytest.mark.parametrize(
    ("systems", "standing", "key"),
    [
        (NEAR, "refuted", "equal"),
        (LEVEL, "refuted", "level"),
        (FEW, "undecided", "few_needed"),
        (TWO, "undecided", "few_needed_one"),
        ({"a": noise(8, 0.5, 0.1, 0)}, "undecided", "one"),
    ],
    ids=[
        "systems within the margin are equal",
        "the first is level with the second, whatever the third is",
        "six cases cannot show which of three is ahead",
        "four cases cannot show which of two is ahead",
        "one system",
    ],
)
def test_the_verdict_names_what_the_scores_show(
    systems: Any, standing: str, key: str, said: Said
) -> None:
    result = composite(run(systems))
    assert result.standing == standing and f"composite.verdict_{key}" in said(result)


def test_a_close_race_names_the_cases_that_would_decide(said: Said) -> None:
    base = noise(12, 0.5, 0.1, 6)
    result = composite(run({"a": base + noise(12, 0.08, 0.08, 7), "b": base}))
    assert result.standing == "undecided"
    assert {"composite.verdict_open", "composite.verdict_open_endless"} & said(
        result
    ).keys()


def test_systems_with_the_same_mean_tie_for_the_first_place_and_a_band_is_no_meaning(
    said: Said,
) -> None:
    base = noise(6, 0.5, 0.1, 6)
    found = said(composite(run({"b": base + 0.1, "a": base + 0.1, "c": base})))
    (values,) = (
        finding.values
        for key, finding in found.items()
        if key.startswith("composite.verdict_few")
    )
    assert (
        sorted(values["first"]) == ["a", "b"]
        and values["second"] == "c"
        and values["difference"] > 0.05
    )
    assert found["composite.tests"].values["level"] < 1
    # 1 - 0.4 (1 - 0.4)
    assert found["composite.bands"].values["composite"] == pytest.approx(0.76)


def test_equal_systems_are_hardly_ever_said_to_be_ahead() -> None:
    """Of 200 pairs of systems of the same quality, at most one in forty is called ahead by more
    than the margin."""
    judged, wrong = run({"a": noise(2, 0.5, 0.1, 0)}), 0
    margin = margin_of(judged.rubric)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame(
            {name: np.clip(rng.normal(0.6, 0.1, 12), 0, 1) for name in "ab"}
        )
        systems = compare_systems(table, table.index.to_series(), margin, 0.95, 0.8)
        wrong += verdict(COMPOSITE, systems).standing == "supported"
    assert wrong <= 5  # what a two-sided level of 95 % allows on one side


def test_a_verdict_that_missing_judgments_could_turn_is_withheld(said: Said) -> None:
    base = noise(30, 0.45, 0.02, 9)
    scores = {"a": base + noise(30, 0.2, 0.06, 10), "b": base}
    assert composite(run(scores)).standing == "supported"
    failed = {(f"c{n}/a", judge, c) for n in range(10) for judge, c in CRITERIA}
    result = composite(run(scores, failed=failed))
    assert (
        "composite.verdict_missing" in said(result) and result.standing == "undecided"
    )


class TestAMissingJudgment:
    BASE = noise(12, 0.5, 0.05, 8)
    JUDGED = run({"a": BASE + 0.3, "b": BASE}, failed={("c3/a", "j", "completeness")})

    def test_makes_the_composite_missing_and_its_case_is_left_out(
        self, said: Said
    ) -> None:
        result = composite(self.JUDGED)
        assert said(result)["composite.missing"].values["where"] == {"judge": 1}
        counts = [
            result.metrics[f"composite.{name}"]
            for name in ("missing", "cases", "cases_left_out")
        ]
        assert counts == [1, 11, 1] and result.items is not None
        assert np.isnan(result.items.set_index("item_id").loc["c3/a", "composite"])

    def test_is_counted_and_said_where_composites_are_renormalised(
        self, said: Said
    ) -> None:
        result = composite(self.JUDGED, missing="renormalise")
        assert said(result)["composite.renormalised"].values == {"n": 1, "total": 24}
        assert result.metrics["composite.missing"] == 0 and result.items is not None
        row = result.items.set_index("item_id").loc["c3/a"]
        assert row["composite"] == pytest.approx(row["nli"])


def test_one_judge_of_several_that_failed_makes_the_pillar_missing() -> None:
    base = noise(8, 0.5, 0.05, 8)
    judged = run(
        {"a": base, "b": base},
        failed={("c0/a", "k", "completeness")},
        judges=("j", "k"),
    )
    assert composite(judged).metrics["composite.missing"] == 1
    assert composite(judged, judges={"judge": ["j"]}).metrics["composite.missing"] == 0


@pytest.mark.parametrize(
    ("changes", "said_"),
    [
        (
            {"weights": {"nli": 0.5, "judge": 0.4}},
            r"sum to 0\.9 \(nli 0\.5, judge 0\.4\); they must sum to 1",
        ),
        (
            {"weights": {"nli": 1.0, "judge": 0.0}},
            r"every pillar needs a weight above 0",
        ),
        (
            {"weights": {"nli": 1.0}, "criteria": {"judge": ["x"]}},
            r"`criteria` names 'judge', which has no weight",
        ),
        ({"bands": {"good": 0.5, "excellent": 0.9}}, r"give the highest band first"),
    ],
)
def test_what_is_wrong_with_the_config_is_named(
    changes: dict[str, Any], said_: str
) -> None:
    with pytest.raises(ConfigError, match=said_):
        configured("composite", **changes)


def test_a_criterion_or_judge_that_is_not_there_and_two_texts_of_one_system_about_one_case_are_named() -> (
    None
):
    judged = run({"a": noise(3, 0.5, 0.1, 0), "b": noise(3, 0.5, 0.1, 1)})
    with pytest.raises(
        Unsuited,
        match=r"needs the criterion 'tone' for the pillar 'tone'.*there are: completeness",
    ):
        composite(judged, weights={"tone": 1.0}, criteria={})
    with pytest.raises(ConfigError, match=r"`judges\.judge` names 'k'; there are"):
        composite(judged, judges={"judge": ["k"]})
    judged.frame.loc[judged.frame["metadata.case"] == "c1", "metadata.case"] = "c0"
    with pytest.raises(DataError, match=r"c0/a, c1/a are both by 'a' about 'c0'"):
        composite(judged)


def with_judges(*columns: np.ndarray, **more: Any) -> RunEvidence:
    """One system, a judge per column; NLI and coverage follow the first."""
    judged = run({"a": columns[0]}, judges=tuple("jklm"[: len(columns)]), **more)
    for name, column in zip("jklm", columns, strict=False):
        own = judged.frame["judge"] == name
        cases = judged.frame.loc[own, "metadata.case"].str[1:].astype(int)
        judged.frame.loc[own & (judged.frame["repeat"] == 0), "score"] = column[cases]
    return judged


def buckets(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 6, n) / 5


def with_pillar(judged: RunEvidence, change: Callable[[pd.Series], Any]) -> RunEvidence:
    nli = judged.frame["judge"] == "nli"
    judged.frame.loc[nli, "score"] = change(judged.frame.loc[nli, "score"])
    return judged


def turned_pillar() -> RunEvidence:
    return with_pillar(run({"a": noise(40, 0.5, 0.2, 0)}), lambda scores: 1 - scores)


def pillar_by_chance() -> RunEvidence:
    scores = {name: noise(6, 0.5, 0.2, seed) for seed, name in enumerate("abc")}
    return with_pillar(
        run(scores), lambda scores: np.random.default_rng(7).uniform(size=len(scores))
    )


def again(change: Callable[[int], float], n: int = 20) -> RunEvidence:
    """A judge that judges every text twice."""
    own = buckets(n, 1)
    later = {
        (f"c{case}/a", "j"): float(np.clip(own[case] + change(case), 0, 1))
        for case in range(n)
    }
    return run({"a": own}, later=later)


def lengths(
    n: int, words: Callable[[int, float], int], systems: str = "a"
) -> RunEvidence:
    return run(
        {name: noise(n, 0.5, 0.2, seed) for seed, name in enumerate(systems)},
        words=words,
    )


@pytest.mark.parametrize(
    ("part", "judged", "changes", "standing", "keys"),
    [
        (
            "agreement",
            lambda: with_judges(*map(buckets, [60] * 3, (1, 2, 3))),
            {},
            "refuted",
            "verdict_disagree",
        ),
        (
            "pillars",
            lambda: run({"a": noise(40, 0.5, 0.2, 0)}),
            {},
            "supported",
            "verdict_together",
        ),
        ("pillars", turned_pillar, {}, "refuted", "verdict_against flagged"),
        ("pillars", pillar_by_chance, {}, "undecided", "verdict_open"),
        (
            "length_bias",
            lambda: lengths(60, lambda _, score: round(100 + 400 * score)),
            {},
            "refuted",
            "flagged verdict_biased",
        ),
        (
            "length_bias",
            lambda: lengths(200, lambda case, _: 100 + 37 * case % 211),
            {"level": 0.9},
            "supported",
            "one verdict_none",
        ),
        (
            "length_bias",
            lambda: lengths(
                6, lambda case, score: round(100 + 100 * case * score), "abc"
            ),
            {},
            "undecided",
            "verdict_open",
        ),
        (
            "consistency",
            lambda: again(lambda case: 0.0, 120),
            {},
            "supported",
            "verdict_same",
        ),
        (
            "consistency",
            lambda: again(lambda case: -0.2 if case % 3 else 0.2),
            {},
            "refuted",
            "verdict_moves",
        ),
        (
            "consistency",
            lambda: again(lambda case: 0.0, 2),
            {},
            "undecided",
            "verdict_few",
        ),
    ],
    ids=[
        "judges by chance do not agree",
        "pillars that go together",
        "a pillar that is turned around",
        "few cases show nothing of pillars",
        "a judge that counts words",
        "a judge that does not, with enough texts",
        "eighteen texts of six cases leave the length open",
        "a judge that repeats itself",
        "a judge that moves",
        "two texts judged again decide nothing",
    ],
)
def test_the_verdict_is_that_of_scores_whose_answer_is_known(
    part: str,
    judged: Callable[[], RunEvidence],
    changes: dict[str, Any],
    standing: str,
    keys: str,
    said: Said,
) -> None:
    result = asked(part, judged(), **changes)
    assert result.standing == standing
    assert said(result).keys() >= {f"{part}.{key}" for key in keys.split()}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("agreement", "of which there are 1"),
        ("baselines", "rouge1, rouge2, rougeL, bertscore"),
        ("consistency", r"run\.repeats=2"),
        ("taxonomy", "dataset=quotes"),
    ],
)
def test_a_run_without_what_an_analysis_reads_is_unsuited(
    part: str, message: str
) -> None:
    with pytest.raises(Unsuited, match=message):
        asked(part, run({"a": buckets(4, 0)}))


class TestAgreement:
    def test_judges_that_say_the_same_agree_and_who_agrees_least_is_named_with_its_weight(
        self, said: Said
    ) -> None:
        own = buckets(40, 0)
        near = np.where(np.arange(40) % 10 == 0, np.clip(own + 0.2, 0.2, 1.0), own)
        result = asked("agreement", with_judges(own, near, own))
        assert result.standing == "supported"
        assert said(result).keys() >= {
            "agreement.pair",
            "agreement.lowest",
            "agreement.verdict_agree",
        }
        pairs = result.tables["pairs"]
        assert (
            pairs["tau"].between(0.9, 1).all()
            and pairs["kappa_completeness"].between(0.9, 1).all()
        )
        own = buckets(60, 4)
        values = said(asked("agreement", with_judges(own, own, buckets(60, 5))))[
            "agreement.weakest"
        ].values
        assert (values["judge"], values["weight"]) == ("l", pytest.approx(0.4 / 3))

    def test_failures_are_counted_and_left_out_and_scores_without_categories_have_no_kappa(
        self, said: Said
    ) -> None:
        failed = {("c0/a", "k", "completeness"), ("c5/a", "k", "factual_accuracy")}
        result = asked(
            "agreement", run({"a": buckets(12, 6)}, failed=failed, judges=("j", "k"))
        )
        assert said(result)["agreement.failed"].values == {
            "judge": "k",
            "n": 2,
            "total": 12,
        }
        assert result.tables["pairs"].loc[0, ["n", "left_out"]].tolist() == [10, 2]
        pairs = asked(
            "agreement", with_judges(noise(12, 0.5, 0.2, 0), noise(12, 0.5, 0.2, 1))
        ).tables["pairs"]
        assert pairs["kappa_completeness"].isna().all() and pairs["tau"].notna().all()


class TestBaselines:
    def judged(self, scores: np.ndarray) -> RunEvidence:
        words = "the board granted the permit because the plan kept the old trees near the mill".split()
        judged = run({"a": scores})
        kept = [max(1, round(score * len(words))) for score in scores]
        whole, known = " ".join(words), dict[str, Item]()
        for n, k in enumerate(kept):
            inputs = {"summary": " ".join(words[:k]), "reference": whole}
            known[f"c{n}/a"] = Item(id=f"c{n}/a", inputs=inputs)
        return RunEvidence(judged.frame, judged.rubric, known=known)

    def test_rouge_from_the_texts_stands_in_where_it_follows_as_a_criterion_of_the_run_may(
        self, said: Said
    ) -> None:
        result = asked("baselines", self.judged(np.linspace(0.1, 1, 30)))
        found = said(result)
        assert result.standing == "refuted"  # of the composite: word overlap would do
        assert found["baselines.absent"].values == {"baseline": "bertscore"}
        assert result.tables["baselines"]["baseline"].tolist() == [
            "rouge1",
            "rouge2",
            "rougeL",
        ]
        assert "rougeL" in found["baselines.verdict_follows"].values["baselines"]
        judged = run({"a": noise(12, 0.5, 0.2, 0)})
        table = asked("baselines", judged, of={"nli": []}).tables["baselines"]
        assert table["tau"].tolist() == pytest.approx([1.0])

    def test_scores_that_word_overlap_does_not_follow_speak_for_the_composite_and_not_for_its_being_right(
        self, said: Said
    ) -> None:
        judged = self.judged(np.linspace(0.1, 1, 60))
        shuffled = judged.frame.assign(
            score=np.random.default_rng(3).permutation(judged.frame["score"])
        )
        result = asked("baselines", judged.with_rows(shuffled))
        assert result.standing == "supported" and "baselines.verdict_none" in said(
            result
        )

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


@pytest.mark.parametrize(
    "changes", [{"given": ["tone"]}, {"pillar": "tone"}, {"bound": 1.0}]
)
def test_unknown_names_and_bounds_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        configured("length_bias", **changes)


def test_a_turned_pillar_is_named_and_a_judge_that_repeats_itself_gives_every_score_again(
    said: Said,
) -> None:
    assert (
        "nli"
        in said(asked("pillars", turned_pillar()))["pillars.verdict_against"].values[
            "pillars"
        ]
    )
    assert (
        asked("consistency", again(lambda case: 0.0)).metrics[
            "consistency.exact_rate.j"
        ]
        == 1
    )


class TestTaxonomy:
    ERRORS = json.dumps(
        [
            {
                "issue": "The date is wrong.",
                "severity": "Minor",
                "category": "wrong_date_or_vote",
            },
            {"issue": "No."},
        ]
    )

    def test_quotes_are_counted_once_and_held_against_their_classes_unless_they_are_hidden(
        self, said: Said
    ) -> None:
        result = asked(
            "taxonomy",
            run({"a": buckets(5, 0)}, errors=self.ERRORS, omissions='["The dissent"]'),
        )
        assert "taxonomy.verdict_none" in said(result)
        counts = [
            "quotes",
            "class.errors.wrong_date_or_vote",
            "class.omissions.omitted_dissent",
            "severity.Minor",
        ]
        # Though they are kept beside two criteria; where no summary hedges the count is zero and
        # not absent.
        assert [
            result.metrics[f"taxonomy.{name}"]
            for name in (*counts, "hedging", "agreement")
        ] == [15, 5, 5, 5, 0, 1]
        with pytest.raises(Unsuited, match=r"`tracking\.redact` is true"):
            asked("taxonomy", run({"a": buckets(5, 0)}, errors=redacted(self.ERRORS)))

    @pytest.mark.parametrize(
        "details",
        [
            {"errors": '[{"problem": "It says perhaps.", "kind": "hedging"}]'},
            {"errors": "[]", "hedging": 1.0},
            {"errors": "[]", "hedging": "true"},
        ],
        ids=["quoted", "said", "said in a table"],
    )
    def test_summaries_that_hedge_are_counted_in_a_metric_and_a_table(
        self, details: Any, said: Said
    ) -> None:
        result = asked(
            "taxonomy",
            run({"a": buckets(5, 0), "b": buckets(4, 1)}, judges=("j", "k"), **details),
        )
        said(result)
        assert result.metrics["taxonomy.hedging"] == 18, (
            "each of two judges finds nine summaries hedging"
        )
        assert result.metrics["taxonomy.hedging_by_system.b"] == 8
        modes = result.tables["modes"].set_index(["judge", "system"])
        errors = 5 if "kind" in details["errors"] else 0
        counts = {"summaries": 5, "errors": errors, "omissions": 0, "hedging": 5}
        assert modes.loc[("k", "a")].to_dict() == counts

    def test_a_model_that_was_asked_is_held_against_the_rules(self, said: Said) -> None:
        judged = run({"a": buckets(24, 0)})
        frame = judged.frame[judged.frame["judge"] == "nli"].reset_index(drop=True)
        texts = [
            "The date is wrong.",
            "The outcome is reversed.",
            "Not in the reference.",
        ]
        answers = ["wrong_date_or_vote", "reversed_outcome", "invented_detail"]
        frame = frame.assign(
            criterion="overall", text=[texts[n % 3] for n in range(24)]
        )
        frame = frame.assign(category=[answers[n % 3] for n in range(24)], score=np.nan)
        frame["metadata.kind"], frame["metadata.judge"], frame["metadata.quoted"] = (
            "errors",
            "j",
            "c/a",
        )
        result = asked("taxonomy", RunEvidence(frame, judged.rubric))
        assert result.standing == "supported"
        assert (result.headline, result.metrics["taxonomy.kappa"]) == (
            "taxonomy.kappa",
            1,
        )
        frame["category"] = np.random.default_rng(0).permutation(frame["category"])
        assert (
            asked("taxonomy", RunEvidence(frame, judged.rubric)).standing == "refuted"
        )
        said(result)


def test_all_parts_read_one_composite_and_what_does_not_suit_is_named() -> None:
    analysis = configured("meta")
    own = (
        analysis.pairwise_accuracy,
        analysis.agreement,
        analysis.pillars,
        analysis.baselines,
        analysis.length_bias,
        analysis.consistency,
    )
    assert all(part.composite == analysis.composite for part in own)
    results = analysis(
        run({"a": buckets(6, 0), "b": buckets(6, 1)}), np.random.default_rng(0)
    )
    assert [result.name for result in results] == [
        "composite",
        "pairwise_accuracy",
        "pillars",
        "length_bias",
        "meta",
    ]
    left_out = [
        finding.values["analysis"]
        for finding in results[-1].findings
        if finding.key == "meta.left_out"
    ]
    assert left_out == ["agreement", "baselines", "consistency", "taxonomy"]


def test_a_partial_correlation_is_that_of_the_residuals_and_what_does_not_vary_has_none() -> (
    None
):
    rng = np.random.default_rng(0)
    given = pd.Series(rng.normal(size=40))
    x, y = given + rng.normal(size=40), 2 * given + rng.normal(size=40)
    groups = pd.Series(range(40))
    design = np.column_stack([np.ones(40), given])
    left = [
        each - design @ np.linalg.lstsq(design, each, rcond=None)[0]
        for each in (x.to_numpy(), y.to_numpy())
    ]
    found = partial(x, y, given, groups, rng)
    assert found.value == pytest.approx(np.corrcoef(*left)[0, 1])
    assert found.low < found.value < found.high
    assert abs(found.value) < abs(
        associate("pearson", x, y, groups, rng).estimate.value
    )
    same, other = pd.Series([1.0] * 8), pd.Series(np.arange(8.0))
    groups = pd.Series(range(8))
    assert np.isnan(
        associate(
            "kendall", same, other, groups, np.random.default_rng(0)
        ).estimate.value
    )
    assert np.isnan(
        partial(other, other * 2, same, groups, np.random.default_rng(0)).value
    )


def labelled(n: int, ids: str = "c") -> RunEvidence:
    """Two systems on `n` cases: `near` misses the label by little and puts `a` first, `far` misses
    it by much and puts `b` first."""
    rng, pairs = np.random.default_rng(7), ("factual_accuracy", "completeness")
    items, judgments = [], []
    for case in range(n):
        for system, truth, lead in (("a", 0.6, 1), ("b", 0.5, -1)):
            name = f"{ids}{case}/{system}"
            about = {"case": f"{ids}{case}", "system": system, "word_count": 100}
            labels = {criterion: {"people": truth} for criterion in pairs}
            items.append(
                Item(id=name, inputs={"item": name}, metadata=about, labels=labels)
            )
            near, far = (
                truth + 0.05 * rng.normal(),
                truth - 0.3 * lead + 0.1 * rng.normal(),
            )
            for judge, criterion, score in (
                ("nli", "nli", 0.5),
                ("coverage", "coverage", 0.5),
                *(("near", criterion, near) for criterion in pairs),
                *(("far", criterion, far) for criterion in pairs),
            ):
                where = {"judge": judge, "criterion": criterion, "provenance": ORIGIN}
                outcome = Verdict(score=float(np.clip(score, 0, 1)))
                judgments.append(
                    Judgment(item_id=name, outcome=outcome, cost=Cost(), **where)  # type: ignore[arg-type]
                )
    asked = list(dict.fromkeys((one.judge, one.criterion) for one in judgments))
    rubric = build(compose_config(["rubric=faithfulness"])["rubric"], "rubric")
    return RunEvidence(tabulate(items, judgments, 1, asked, gaps=False), rubric)


def test_judges_weigh_what_they_were_worth_and_the_ranking_with_equal_weights_stands_beside_it(
    said: Said,
) -> None:
    judged = labelled(16)
    result = composite(judged, history="here")
    worth = result.tables["worth"].set_index("voice")
    assert worth["weight"].sum() == pytest.approx(1)
    assert worth.loc["near", "weight"] > 0.9 and worth.loc["far", "error"] > 0.25
    assert 0.5 < worth.loc["near", "weight"] < worth.loc["near", "inverse"]
    ranking = result.tables["by_weights"].set_index("system")
    assert ranking["weighted_place"].to_dict() == {"a": 1, "b": 2}
    assert ranking["unweighted_place"].to_dict() == {"a": 2, "b": 1}
    assert result.tables["ranking"]["system"].tolist() == ["a", "b"]
    alone = composite(judged).tables["ranking"]
    assert (
        alone["system"].tolist() == ["b", "a"]
        and "worth" not in composite(judged).tables
    )
    assert {"composite.worth", "composite.worth_ranked", "composite.weights_move"} <= {
        finding.key for finding in result.findings
    }
    said(result)
    few = composite(labelled(4), history="here")
    assert "composite.worth_few" in said(few) and "worth" not in few.tables


def test_weights_come_from_another_run_over_labelled_texts_by_the_same_judges(
    tmp_path: Any,
) -> None:
    earlier = labelled(16, ids="d").frame
    earlier.to_csv(tmp_path / "scores.csv", index=False)
    judged = labelled(6)
    with pytest.raises(DataError, match="a run over texts without labels"):
        composite(judged, history=str(tmp_path))
    earlier[["item_id", "judge", "criterion", "label"]].to_csv(
        tmp_path / "labels.csv", index=False
    )
    result = composite(judged, history=str(tmp_path))
    worth = result.tables["worth"].set_index("voice")["weight"]
    assert worth["near"] > 0.9 and result.tables["ranking"]["system"].tolist() == [
        "a",
        "b",
    ]
    assert "composite.worth_ranked" not in {finding.key for finding in result.findings}
    others = run({"a": buckets(6, 0), "b": buckets(6, 1)}, judges=("near", "stranger"))
    with pytest.raises(
        ConfigError, match="'stranger' gives no factual_accuracy and completeness"
    ):
        composite(others, history=str(tmp_path))
    with pytest.raises(ConfigError, match="which is not a folder"):
        composite(judged, history=str(tmp_path / "nowhere"))
