"""One correction for all that a sweep tests: what counts, what does not, and that nothing is found where nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.family import SIZES, WORLDS, family, null_sweep, wrong
from tests.sweep.builders import change_config, keys, metrics, result_of, said, scored, sweep_of, write_job
from undogmatic.analyses.truth import Margin
from undogmatic.records.wordings import read
from undogmatic.runs.outcome import SweepResult
from undogmatic.stats import compare, paired
from undogmatic.stats.compare import UNKNOWN, Comparison, Family, identical
from undogmatic.sweep.compare import OWN_TEXTS
from undogmatic.sweep.family import ALPHA, BETTER, WITH_MARGIN, of_means

TEN = Margin(10.0, "rubric", 100.0)
ALL = {*BETTER}
TESTED = ALL - {"ece"}
"""With fewer than 30 independent texts."""


def corrected(given: list[Comparison], twins: dict[str, dict[str, str]]) -> Family:
    return compare.corrected(given, BETTER, WITH_MARGIN, twins, ALPHA)


def comparison(left: str, right: str, p: float | None, measure: str = "score") -> Comparison:
    if p is None:
        return identical(left, right, measure, 20)
    return Comparison(left, right, measure, 1.0, 20, p, lambda _: UNKNOWN)


def test_holm_runs_over_all_measures_and_pairs_at_once() -> None:
    given = [comparison("a", "b", p, m) for m, p in (("score", 0.01), ("aurc", 0.02), ("absolute_error", 0.03))]
    given.append(comparison("a", "c", 0.2))
    found = corrected(given, {})
    assert (found.size, found.alpha) == (4, ALPHA / 4)
    by_p = found.table.set_index("p")["p_holm"].astype(float)
    assert by_p.to_dict() == pytest.approx({0.01: 0.04, 0.02: 0.06, 0.03: 0.06, 0.2: 0.2})
    assert by_p.loc[[0.01, 0.02, 0.03, 0.2]].tolist() == pytest.approx(paired.holm([0.01, 0.02, 0.03, 0.2]).tolist())


def test_twins_are_one_hypothesis_and_what_is_the_same_is_none() -> None:
    given = [comparison("a", "b", None), comparison("a", "c", 0.01), comparison("b", "c", 0.01)]
    found = corrected(given, {"score": {"a": "a", "b": "a", "c": "c"}})
    assert found.size == 1
    assert found.table["p_holm"].dropna().tolist() == [0.01, 0.01]
    assert found.table["shown"].tolist().count("identical") == 1
    assert corrected([], {}).size == 0


@pytest.mark.parametrize("n_pairs", SIZES)
@pytest.mark.parametrize("world", WORLDS)
def test_sweeps_of_equal_judges_find_nothing(world: str, n_pairs: int) -> None:
    """A few of each kind; `python -m benchmarks.family` makes hundreds."""
    found = [family(null_sweep(world, n_pairs, 3, seed)) for seed in (1000, 1001)]
    measures = {*found[0].table["measure"]}
    assert measures == {*(TESTED if n_pairs < 30 or world == "clustered" else ALL)}
    assert found[0].size == 3 * len(measures)
    assert not any(any(wrong(each)) for each in found)


def means(values: np.ndarray, groups: Any = None, margin: Margin = TEN, measure: str = "score") -> pd.Series:
    codes = np.arange(len(values)) if groups is None else groups
    return corrected([of_means("a", "b", measure, values, codes, margin, 100.0)], {}).table.iloc[0]


def test_groups_are_the_units_of_test_and_interval() -> None:
    rng = np.random.default_rng(1)
    one, ten = rng.normal(3, 5, 8), np.repeat(np.arange(8), 10)
    alone, copied = means(one), means(np.repeat(one, 10), ten)
    for column in ("p", "n", "low", "high", "difference"):
        assert copied[column] == pytest.approx(alone[column])
    assert means(np.repeat(one, 10))["p"] < alone["p"] / 1000


@pytest.mark.parametrize(
    ("mean", "sd", "margin", "measure", "shown"),
    [
        (30, 5, TEN, "pair_difference", "better"),
        (-30, 5, TEN, "pair_difference", "worse"),
        (30, 5, TEN, "absolute_error", "worse"),
        (30, 5, TEN, "score", "higher"),
        (-30, 5, TEN, "score", "lower"),
        (10.5, 5, TEN, "score", "open"),
        (4.5, 6, TEN, "score", "equal"),  # another than 0 beyond doubt, and too small to matter
        (0.5, 5, TEN, "score", "equal"),
        (0.5, 60, TEN, "score", "open"),
        (0.5, 5, TEN._replace(source="default"), "score", "open"),  # nobody said what is too small to matter
        (30, 5, TEN._replace(source="default"), "score", "higher"),
        (0.5, 5, TEN._replace(value=0.0), "score", "open"),
        (30, 5, TEN._replace(value=100.0), "score", "open"),
        (30, 5, TEN._replace(value=0.0), "aurc", "worse"),
        (0.5, 5, TEN._replace(value=0.0), "aurc", "open"),
    ],
)
def test_what_is_shown_is_shown_by_the_whole_interval(
    mean: float, sd: float, margin: Margin, measure: str, shown: str
) -> None:
    noise = np.random.default_rng(0).standard_normal(40)
    values = mean + sd * (noise - noise.mean())
    row = means(values, margin=margin, measure=measure)
    assert row["shown"] == shown
    if shown == "open" and margin is TEN:
        assert row["needed"] > 40


def test_one_group_and_nothing_different_are_said_and_not_tested() -> None:
    values = np.arange(1.0, 9.0)
    assert means(values, np.zeros(8, dtype=np.intp))["shown"] == "open"
    assert means(np.zeros(8))["shown"] == "identical"


def swept(folder: Path, *standings: dict[str, str] | None) -> SweepResult:
    """Two jobs, of which the first is better, whose own verdicts left them so."""
    jobs = (scored(90, 10), 0.9), (scored(60, 10, seed=1), 0.8)
    return sweep_of(folder, *jobs, standing=list(standings))


class TestStanding:
    @pytest.mark.parametrize("standing", ["refuted", "undecided"])
    def test_the_best_judge_that_is_not_believed_is_named_so_first(self, tmp_path: Path, standing: str) -> None:
        result = swept(
            tmp_path, {"ab": "supported", "controls": standing}, {"ab": "supported", "controls": "supported"}
        )
        assert keys(result)[:2] == [f"sweep.verdict_best_{standing}", "sweep.verdict_clear_margin"]
        assert result.verdicts == 2
        assert result.findings[0].values["analyses"] == ["controls"]
        assert "1 of 2 judges support them: b." in said(result)
        assert result.jobs["standing"].tolist() == [standing, "supported"]

    def test_a_supported_best_judge_needs_no_word(self, tmp_path: Path) -> None:
        result = swept(tmp_path, {"ab": "supported"}, {"ab": "refuted"})
        assert result.verdicts == 1 and "sweep.none_supported" not in keys(result)

    def test_nobody_is_supported(self, tmp_path: Path) -> None:
        assert "The own verdict of none of the 2 judges supports it." in said(
            swept(tmp_path, {"ab": "refuted"}, {"ab": "undecided"})
        )

    def test_analyses_without_a_claim_note_none(self, tmp_path: Path) -> None:
        result = swept(tmp_path, None, None)
        assert result.verdicts == 1 and "standing" not in result.jobs
        assert "verdict_clear" in keys(result)[0]

    def test_the_best_of_several_is_said_to_be_flattered(self, tmp_path: Path) -> None:
        assert "too good on average" in said(swept(tmp_path, None, None))


class TestGroups:
    def test_groups_of_the_run_are_the_units(self, tmp_path: Path) -> None:
        frames = [scored(60, 50, seed=n) for n in range(2)]
        groups = "pair " + (frames[0]["pair_id"].astype(int) // 3).astype(str)
        assert set(sweep_of(tmp_path, *((own.assign(group=groups), 0.9) for own in frames)).comparisons["n"]) == {4}

    def test_texts_without_pair_stand_for_themselves(self, tmp_path: Path) -> None:
        frames = [scored(60, 50, seed=n).drop(columns="pair_id") for n in range(2)]
        rows = sweep_of(tmp_path, *((own.assign(group=own["item_id"]), 0.9) for own in frames)).comparisons
        assert rows["measure"].tolist() == ["score"] and rows["n"].tolist() == [24]

    def test_scores_without_groups_are_named(self, tmp_path: Path) -> None:
        ((_, message),) = sweep_of(tmp_path, (scored(60, 50).drop(columns="group"), 0.9)).failed
        assert "scores.csv cannot be read (an item without `group`)" in message


def test_conditions_may_be_named_as_lists(tmp_path: Path) -> None:
    settings = {"treatment": ["imitation", "naked"], "baseline": ["explanation", "explained"], "margin": 5}
    sweep_of(tmp_path, *((scored(60 + 20 * n, 50, seed=n), 0.9) for n in range(2)))
    change_config(tmp_path, analysis={"suite": {"ab": settings}})
    result = result_of(tmp_path)
    assert "pair_difference" in set(result.comparisons["measure"])
    margins = {f.values["measure"]: f.values["margin"] for f in result.findings if f.key == "sweep.tests_margin"}
    assert margins["pair_difference"] == 5


def test_many_jobs_are_bounded_in_what_is_listed(tmp_path: Path) -> None:
    for n in range(15):
        facts = {"standing": {"ab": "supported" if n else "undecided"}}
        frame = scored(70, 30, seed=n if n < 13 else 0)
        write_job(tmp_path / str(n), [f"model=judge_{n}"], frame, metrics=metrics(0.9 - n / 100), **facts)
    result = result_of(tmp_path)
    assert len(result.comparisons) == 2 * 15 * 14 / 2
    assert set(result.comparisons["left"].head(14)) | set(result.comparisons["right"].head(14)) >= {"judge_0"}
    first = result.comparisons.head(14)
    assert ((first["left"] == "judge_0") | (first["right"] == "judge_0")).all()
    assert len(result.agreement) == 12 * 11 / 2
    assert "; ... (14)" in said(result) and "judge_9;" not in said(result)


SAID = (
    "none no_headline one identical tied untested mixed equal clear clear_margin open open_margin open_needed "
    "best_refuted best_undecided alone_supported alone_refuted alone_undecided seen"
).split()
OTHERS = (
    "winner others others_supported none_supported many prompt_unused identical twins other_criteria other_items tests "
    "tests_margin tests_margin_of family alpha_agree alpha_roughly alpha_apart alpha_open cached least_risk on_trials"
).split()


def test_all_that_a_sweep_can_say_has_words_and_a_verdict_begins_as_one() -> None:
    words = read(OWN_TEXTS)
    begins = {"en": ("Supported: ", "Not supported: ", "Undecided: ")}
    begins["pt"] = ("Confirmado: ", "Não confirmado: ", "Em aberto: ")
    for language, sections in words.items():
        section = sections["sweep"]
        sentences = {key for key in section if not key.startswith(("table_", "title", "caption_")) and key != "names"}
        expected = {f"verdict_{key}" for key in SAID} | {*OTHERS}
        assert sentences == expected
        verdicts = [section[key] for key in expected if key.startswith("verdict_")]
        assert all(text.startswith(begins[language]) for text in verdicts)
