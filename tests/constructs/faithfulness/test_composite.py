"""Composite, ranking and tests between systems, on scores whose verdict is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analyses.builders import ORIGIN, Said, analysed, configured
from undogmatic.analyses.base import LongTable, Unsuited, tabulate
from undogmatic.analyses.ruling import verdict
from undogmatic.analyses.truth import margin_of
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness.composite import COMPOSITE, compare_systems
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import Cost, Failure, Item, Judgment, Verdict

CRITERIA = (("nli", "nli"), ("coverage", "coverage"), ("j", "factual_accuracy"), ("j", "completeness"))


def run(
    scores: Mapping[str, np.ndarray],
    failed: set[tuple[str, str, str]] = frozenset(),  # type: ignore[assignment]
    judges: tuple[str, ...] = ("j",),
    later: Mapping[tuple[str, str], float] | None = None,
    words: Callable[[int, float], int] = lambda case, score: 100,
    **details: str,
) -> LongTable:
    """Systems by their scores per case, which every criterion gives; `failed` are (item, judge, criterion)."""
    pairs = [(judge, c) for judge in judges for c in ("factual_accuracy", "completeness")]
    asked = [("nli", "nli"), ("coverage", "coverage"), *pairs]
    items, judgments = [], []
    for system, own in scores.items():
        for case, score in enumerate(own.tolist()):
            name = f"c{case}/{system}"
            about = {"case": f"c{case}", "system": system, "word_count": words(case, score)}
            items.append(Item(id=name, inputs={"item": name}, pair=f"c{case}", metadata=about))
            for judge, criterion in asked:
                where: dict[str, Any] = {"item_id": name, "judge": judge, "criterion": criterion, "provenance": ORIGIN}
                outcome: Verdict | Failure = Verdict(score=score, details=dict(details) if judge in judges else {})
                if (name, judge, criterion) in failed:
                    outcome = Failure(reason="unparseable", message="no")
                judgments.append(Judgment(outcome=outcome, cost=Cost(), **where))
                if later and (name, judge) in later:
                    again = Verdict(score=later[name, judge])
                    judgments.append(Judgment(outcome=again, cost=Cost(), repeat=1, **where))
    rubric = build(compose_config(["rubric=faithfulness"])["rubric"], "rubric")
    return LongTable(tabulate(items, judgments, 2, asked, gaps=False), rubric)


composite = partial(analysed, "composite")


def noise(n: int, mean: float, sd: float, seed: int) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).normal(mean, sd, n), 0, 1)


def test_the_composite_is_the_weighted_mean_with_a_band_and_a_system_well_ahead_is_said_to_be(said: Said) -> None:
    base = noise(12, 0.6, 0.05, 0)
    result = composite(run({"a": base + 0.3, "b": base}))
    said(result)
    ranking = result.tables["ranking"]
    assert ranking["system"].tolist() == ["a", "b"]
    assert ranking["composite"].tolist() == pytest.approx([base.mean() + 0.3, base.mean()])
    assert ranking["band"].tolist() == (["excellent", "moderate"] if base.mean() >= 0.6 else ["good", "below"])
    assert result.items is not None
    assert list(result.items) == ["item_id", "case", "system", "nli", "judge", "coverage", "composite"]
    base = noise(20, 0.5, 0.1, 1)
    result = composite(run({"b": base, "a": base + noise(20, 0.25, 0.06, 2), "c": base - noise(20, 0.2, 0.06, 3)}))
    assert result.standing == "supported" and "composite.verdict_first" in said(result)
    assert result.tables["tests"]["shown"].tolist() == ["better"] * 3
    assert result.metrics["composite.first_share.a"] == 1


@pytest.mark.parametrize(
    ("value", "band"), [(0.9, "excellent"), (0.899, "good"), (0.75, "good"), (0.6, "moderate"), (0.599, "below")]
)
def test_bands_begin_at_their_lowest_value(value: float, band: str) -> None:
    assert configured("composite").band(value) == band


NEAR = {"a": noise(30, 0.7, 0.1, 3), "b": noise(30, 0.7, 0.1, 3) + noise(30, 0.5, 0.06, 4) - 0.5}
FEW = {name: noise(6, 0.5, 0.05, 5) + more for name, more in (("a", 0.4), ("b", 0), ("c", -0.2))}


@pytest.mark.parametrize(
    ("systems", "standing", "key"),
    [(NEAR, "refuted", "equal"), (FEW, "undecided", "few"), ({"a": noise(8, 0.5, 0.1, 0)}, "undecided", "one")],
    ids=["systems within the margin are equal", "six cases cannot show which of three is ahead", "one system"],
)
def test_the_verdict_names_what_the_scores_show(systems: Any, standing: str, key: str, said: Said) -> None:
    result = composite(run(systems))
    assert result.standing == standing and f"composite.verdict_{key}" in said(result)


def test_a_close_race_names_the_cases_that_would_decide(said: Said) -> None:
    base = noise(12, 0.5, 0.1, 6)
    result = composite(run({"a": base + noise(12, 0.08, 0.08, 7), "b": base}))
    assert result.standing == "undecided"
    assert {"composite.verdict_open", "composite.verdict_open_endless"} & said(result).keys()


def test_equal_systems_are_hardly_ever_said_to_be_ahead() -> None:
    """Of 200 pairs of systems of the same quality, at most one in forty is called ahead by more than the margin."""
    judged, wrong = run({"a": noise(2, 0.5, 0.1, 0)}), 0
    margin = margin_of(judged.rubric)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({name: np.clip(rng.normal(0.6, 0.1, 12), 0, 1) for name in "ab"})
        systems = compare_systems(table, [str(n) for n in range(12)], margin, 0.95, 0.8)
        wrong += verdict(COMPOSITE, systems).standing == "supported"
    assert wrong <= 5  # what a two-sided level of 95 % allows on one side


def test_a_verdict_that_missing_judgments_could_turn_is_withheld(said: Said) -> None:
    base = noise(30, 0.45, 0.02, 9)
    scores = {"a": base + noise(30, 0.2, 0.06, 10), "b": base}
    assert composite(run(scores)).standing == "supported"
    failed = {(f"c{n}/a", judge, c) for n in range(10) for judge, c in CRITERIA}
    result = composite(run(scores, failed=failed))
    assert "composite.verdict_missing" in said(result) and result.standing == "undecided"


class TestAMissingJudgment:
    BASE = noise(12, 0.5, 0.05, 8)
    JUDGED = run({"a": BASE + 0.3, "b": BASE}, failed={("c3/a", "j", "completeness")})

    def test_makes_the_composite_missing_and_its_case_is_left_out(self, said: Said) -> None:
        result = composite(self.JUDGED)
        assert said(result)["composite.missing"].values["where"] == {"judge": 1}
        counts = [result.metrics[f"composite.{name}"] for name in ("missing", "cases", "cases_left_out")]
        assert counts == [1, 11, 1] and result.items is not None
        assert np.isnan(result.items.set_index("item_id").loc["c3/a", "composite"])

    def test_is_counted_and_said_where_composites_are_renormalised(self, said: Said) -> None:
        result = composite(self.JUDGED, missing="renormalise")
        assert said(result)["composite.renormalised"].values == {"n": 1, "total": 24}
        assert result.metrics["composite.missing"] == 0 and result.items is not None
        row = result.items.set_index("item_id").loc["c3/a"]
        assert row["composite"] == pytest.approx(row["nli"])


def test_one_judge_of_several_that_failed_makes_the_pillar_missing() -> None:
    base = noise(8, 0.5, 0.05, 8)
    judged = run({"a": base, "b": base}, failed={("c0/a", "k", "completeness")}, judges=("j", "k"))
    assert composite(judged).metrics["composite.missing"] == 1
    assert composite(judged, judges={"judge": ["j"]}).metrics["composite.missing"] == 0


@pytest.mark.parametrize(
    ("changes", "said_"),
    [
        ({"weights": {"nli": 0.5, "judge": 0.4}}, r"sum to 0\.9 \(nli 0\.5, judge 0\.4\); they must sum to 1"),
        ({"weights": {"nli": 1.0, "judge": 0.0}}, r"every pillar needs a weight above 0"),
        ({"weights": {"nli": 1.0}, "criteria": {"judge": ["x"]}}, r"`criteria` names 'judge', which has no weight"),
        ({"bands": {"good": 0.5, "excellent": 0.9}}, r"give the highest band first"),
    ],
)
def test_what_is_wrong_with_the_config_is_named(changes: dict[str, Any], said_: str) -> None:
    with pytest.raises(ConfigError, match=said_):
        configured("composite", **changes)


def test_a_criterion_or_judge_that_is_not_there_and_two_texts_of_one_system_about_one_case_are_named() -> None:
    judged = run({"a": noise(3, 0.5, 0.1, 0), "b": noise(3, 0.5, 0.1, 1)})
    with pytest.raises(Unsuited, match=r"needs the criterion 'tone' for the pillar 'tone'.*there are: completeness"):
        composite(judged, weights={"tone": 1.0}, criteria={})
    with pytest.raises(ConfigError, match=r"`judges\.judge` names 'k'; there are"):
        composite(judged, judges={"judge": ["k"]})
    judged.frame.loc[judged.frame["metadata.case"] == "c1", "metadata.case"] = "c0"
    with pytest.raises(DataError, match=r"c0/a, c1/a are both by 'a' about 'c0'"):
        composite(judged)
