"""One correction for all that a sweep tests: what counts, what does not, and that nothing is found
where nothing is.

Copies of a job change nothing, letters say exactly what their caption says, and jobs ranked by how
they follow labels are compared by their correlations.
"""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.family import SIZES, WORLDS, family, null_sweep, wrong
from tests.sweep import builders
from tests.sweep.builders import (
    keys,
    metrics,
    result_of,
    said,
    scored,
    sweep_of,
    texts,
    write_job,
)
from undogmatic.examinations.compared import OF_NUMBERS
from undogmatic.examinations.truth import Margin
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.wordings import read
from undogmatic.report import sweep as report
from undogmatic.stats import compare, paired
from undogmatic.stats.compare import COLUMNS, UNKNOWN, Comparison, Family, identical
from undogmatic.sweep.compare import OWN_TEXTS, worth
from undogmatic.sweep.family import ALPHA, BETTER, FOLLOWING, WITH_MARGIN, of_means
from undogmatic.sweep.jobs import Job

TEN = Margin(10.0, "rubric", 100.0)
ALL = {*BETTER} - {"kappa", "weighted_kappa", "pairwise_kappa"}
"""Of judges whose verdicts are numbers."""
TESTED = ALL - {"ece"}
"""With fewer than 30 independent texts."""


def corrected(given: list[Comparison], twins: dict[str, dict[str, str]]) -> Family:
    return compare.corrected(given, BETTER, WITH_MARGIN, twins, ALPHA)


def comparison(
    left: str, right: str, p: float | None, measure: str = "score"
) -> Comparison:
    if p is None:
        return identical(left, right, measure, 20)
    return Comparison(left, right, measure, 1.0, 20, p, lambda _: UNKNOWN)


def test_holm_runs_over_all_measures_and_pairs_at_once_and_twins_are_one_hypothesis() -> (
    None
):
    given = [
        comparison("a", "b", p, m)
        for m, p in (("score", 0.01), ("aurc", 0.02), ("absolute_error", 0.03))
    ]
    given.append(comparison("a", "c", 0.2))
    found = corrected(given, {})
    assert (found.size, found.alpha) == (4, ALPHA / 4)
    by_p = found.table.set_index("p")["p_holm"].astype(float)
    assert by_p.to_dict() == pytest.approx(
        {0.01: 0.04, 0.02: 0.06, 0.03: 0.06, 0.2: 0.2}
    )
    assert by_p.loc[[0.01, 0.02, 0.03, 0.2]].tolist() == pytest.approx(
        paired.holm([0.01, 0.02, 0.03, 0.2]).tolist()
    )
    given = [
        comparison("a", "b", None),
        comparison("a", "c", 0.01),
        comparison("b", "c", 0.01),
    ]
    found = corrected(given, {"score": {"a": "a", "b": "a", "c": "c"}})
    assert found.size == 1 and found.table["p_holm"].dropna().tolist() == [0.01, 0.01]
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


def means(
    values: np.ndarray, groups: Any = None, margin: Margin = TEN, measure: str = "score"
) -> pd.Series:
    codes = np.arange(len(values)) if groups is None else groups
    return corrected(
        [of_means("a", "b", measure, values, codes, margin, 100.0)], {}
    ).table.iloc[0]


def test_groups_are_the_units_of_test_and_interval_and_what_is_one_group_or_the_same_is_not_tested() -> (
    None
):
    rng = np.random.default_rng(1)
    one, ten = rng.normal(3, 5, 8), np.repeat(np.arange(8), 10)
    alone, copied = means(one), means(np.repeat(one, 10), ten)
    for column in ("p", "n", "low", "high", "difference"):
        assert copied[column] == pytest.approx(alone[column])
    assert means(np.repeat(one, 10))["p"] < alone["p"] / 1000
    values = np.arange(1.0, 9.0)
    assert means(values, np.zeros(8, dtype=np.intp))["shown"] == "open"
    assert means(np.zeros(8))["shown"] == "identical"


@pytest.mark.parametrize(
    ("mean", "sd", "margin", "measure", "shown"),
    [
        (30, 5, TEN, "pair_difference", "better"),
        (-30, 5, TEN, "pair_difference", "worse"),
        (30, 5, TEN, "absolute_error", "worse"),
        (30, 5, TEN, "score", "higher"),
        (-30, 5, TEN, "score", "lower"),
        (11, 5, TEN, "score", "open"),
        # another than 0 beyond doubt, and too small to matter
        (4.5, 6, TEN, "score", "equal"),
        (0.5, 5, TEN, "score", "equal"),
        (0.5, 60, TEN, "score", "open"),
        # nobody said what is too small to matter
        (
            0.5,
            5,
            TEN._replace(source="default"),
            "score",
            "open",
        ),
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


def swept(folder: Path, *standings: dict[str, str] | None) -> SweepResult:
    """Two jobs, of which the first is better, whose own verdicts left them so."""
    jobs = (scored(90, 10), 0.9), (scored(60, 10, seed=1), 0.8)
    return sweep_of(folder, *jobs, standing=list(standings))


@pytest.mark.parametrize("standing", ["refuted", "undecided"])
def test_the_best_judge_that_is_not_believed_is_named_so_first(
    tmp_path: Path, standing: str
) -> None:
    result = swept(
        tmp_path,
        {"ab": "supported", "controls": standing},
        {"ab": "supported", "controls": "supported"},
    )
    assert keys(result)[:2] == [f"sweep.verdict_best_{standing}", "sweep.ahead_margin"]
    # no tick on a judge that is not to be trusted
    assert result.findings[1].answer is None
    assert result.verdicts == 2 and result.findings[0].values["analyses"] == [
        "controls"
    ]
    assert "1 of the 2 judges can be trusted by its own report: b." in said(result)
    assert result.jobs["standing"].tolist() == [standing, "supported"]


def test_a_judge_that_is_supported_or_makes_no_claim_needs_no_word_and_nobody_may_be_supported(
    tmp_path: Path,
) -> None:
    result = swept(tmp_path / "a", {"ab": "supported"}, {"ab": "refuted"})
    assert result.verdicts == 1 and "sweep.none_supported" not in keys(result)
    nobody = swept(tmp_path / "b", {"ab": "refuted"}, {"ab": "undecided"})
    assert "None of the 2 judges is shown to be trustworthy by its own report." in said(
        nobody
    )
    result = swept(tmp_path / "c", None, None)
    assert result.verdicts == 1 and "standing" not in result.jobs
    assert "verdict_clear" in keys(result)[
        0
    ] and "looks better here than it is" in said(result)


def test_groups_of_the_run_are_the_units_and_texts_without_pair_stand_for_themselves(
    tmp_path: Path,
) -> None:
    frames = [scored(60, 50, seed=n) for n in range(2)]
    groups = "pair " + (frames[0]["pair_id"].astype(int) // 3).astype(str)
    grouped = sweep_of(
        tmp_path / "a", *((own.assign(group=groups), 0.9) for own in frames)
    )
    assert set(grouped.comparisons["n"]) == {4}
    alone = [
        (own.drop(columns="pair_id").assign(group=own["item_id"]), 0.9)
        for own in frames
    ]
    rows = sweep_of(tmp_path / "b", *alone).comparisons
    assert rows["measure"].tolist() == ["score"] and rows["n"].tolist() == [24]
    ((_, message),) = sweep_of(
        tmp_path / "c", (frames[0].drop(columns="group"), 0.9)
    ).failed
    assert "scores.csv cannot be read (an item without `group`)" in message


@pytest.mark.parametrize("of_several", [False, True])
def test_conditions_may_be_named_as_lists_also_in_a_suite(
    tmp_path: Path, of_several: bool
) -> None:
    chosen = {
        "treatment": ["imitation", "naked"],
        "baseline": ["explanation", "explained"],
        "margin": 5,
    }
    sweep_of(tmp_path, *((scored(60 + 20 * n, 50, seed=n), 0.9) for n in range(2)))
    builders.change_config(
        tmp_path, analysis={"suite": {"ab": chosen}} if of_several else {"ab": chosen}
    )
    result = result_of(tmp_path)
    assert "pair_difference" in set(result.comparisons["measure"])
    margins = {
        f.values["measure"]: f.values.get("margin")
        for f in result.findings
        if f.key.startswith("sweep.pair_")
    }
    assert margins["pair_difference"] == 5


def test_many_jobs_are_bounded_in_what_is_listed(tmp_path: Path) -> None:
    for n in range(15):
        facts = {"standing": {"ab": "supported" if n else "undecided"}}
        frame = scored(70, 30, seed=n if n < 13 else 0)
        write_job(
            tmp_path / str(n),
            [f"model=judge_{n}"],
            frame,
            metrics=metrics(0.9 - n / 100),
            **facts,
        )
    result = result_of(tmp_path)
    assert len(result.comparisons) == 2 * 15 * 14 / 2
    assert set(result.comparisons["left"].head(14)) | set(
        result.comparisons["right"].head(14)
    ) >= {"judge_0"}
    first = result.comparisons.head(14)
    assert ((first["left"] == "judge_0") | (first["right"] == "judge_0")).all()
    assert len(result.agreement) == 12 * 11 / 2
    chance = {f.key: f.values.get("chance") for f in result.findings}["sweep.by_chance"]
    # 15 judges, each of which may get an undeserved yes in 2.5 % of sweeps
    assert chance == 0.375
    assert "; ... (14)" in said(result) and "judge_9;" not in said(result)


SAID = (
    "none no_headline one identical tied untested mixed equal clear clear_margin open open_margin"
    " open_needed best_refuted best_undecided alone_supported alone_refuted alone_undecided seen"
    " same"
).split()
OTHERS = (
    "winner others others_supported by_chance none_supported many prompt_unused identical twins"
    " other_criteria equal_scores other_items tests tests_all tests_margin tests_margin_of family"
    " alpha_agree alpha_roughly alpha_apart alpha_open cached least_risk on_trials ahead"
    " ahead_margin uneven uneven_pairs pair_apart pair_alike pair_beyond pair_equal pair_open lead"
    " lead_units lead_more"
).split()


def test_all_that_a_sweep_can_say_has_words() -> None:
    for sections in read(OWN_TEXTS).values():
        section = sections["sweep"]
        sentences = {
            key
            for key in section
            if not key.startswith(("table_", "title", "caption_")) and key != "names"
        }
        expected = {f"verdict_{key}" for key in SAID} | {*OTHERS}
        assert sentences == expected


ARMS = list("ABCDEF")
PAIRS = list(combinations(ARMS, 2))
P = st.one_of(st.just(float("nan")), st.sampled_from([0.001, 0.049, ALPHA, 0.2, 1.0]))


def of_arms(folder: Path, arms: str) -> SweepResult:
    """A sweep whose arms differ by letter; a letter named again is a copy, which took another
    time."""
    for n, arm in enumerate(arms):
        seed = ord(arm)
        facts = {
            "metrics": (
                metrics(0.5)
                | {"calibration.judged": 24.0, "calibration.review_gain": 0.1 * n}
            )
        }
        frame = scored(60 + seed % 3 * 10, 40, seed=seed, labels=True)
        seconds = np.random.default_rng(n).uniform(1, 2 + n, len(frame))
        write_job(
            folder / str(n),
            [f"arm={arm}", f"seed={n}"],
            frame.assign(seconds=seconds),
            **facts,
        )
        builders.doubting(seed, informed=False).to_csv(
            folder / str(n) / "items_calibration.csv", index=False
        )
    return result_of(folder)


def test_a_copy_gets_the_intervals_of_its_twin_changes_nobody_elses_and_agrees_with_nobody(
    tmp_path: Path,
) -> None:
    plain, copied = (
        of_arms(tmp_path / "plain", "abc"),
        of_arms(tmp_path / "copied", "abacc"),
    )
    of = {
        f"{arm}, seed={n}": arm
        for arm, n in zip("abcacc", (0, 1, 2, 2, 3, 4), strict=True)
    }
    expected, found = (by_pair(result.comparisons, of) for result in (plain, copied))
    assert {measure for measure, *_ in expected} == {*BETTER} - {"ece", *FOLLOWING}
    assert found.keys() == expected.keys()
    for key, several in found.items():
        assert len(set(several)) == 1, key
        assert several[0] == pytest.approx(expected[key][0], abs=1e-12), key
    copied_pair = [
        of[row.left] == of[row.right] for row in copied.comparisons.itertuples()
    ]
    assert copied.comparisons.loc[copied_pair, "p"].isna().all()
    assert plain.comparisons["p_holm"].astype(float).min() < 0.05
    sizes = [
        next(f for f in result.findings if f.key == "sweep.family").values["n"]
        for result in (plain, copied)
    ]
    assert sizes[0] == sizes[1] == 3 * len({measure for measure, *_ in expected})
    alphas = [
        next(f for f in result.findings if f.key.startswith("sweep.alpha"))
        for result in (plain, copied)
    ]
    assert alphas[0] == alphas[1]
    assert not any(
        key.startswith("sweep.alpha") for key in keys(of_arms(tmp_path / "same", "aa"))
    )


def by_pair(
    table: pd.DataFrame, of: dict[str, str]
) -> dict[tuple[str, str, str], list[tuple[float, ...]]]:
    """Measure and two arms -> difference, interval and p-values of each row, as first minus second
    in order of name."""
    found: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
    for row in table.itertuples():
        one, other = of[row.left], of[row.right]
        if one == other:
            continue
        ends = (
            (row.difference, row.low, row.high)
            if one < other
            else (-row.difference, -row.high, -row.low)
        )
        numbers = (*ends, row.p, row.p_holm)
        rounded = tuple(
            round(float("nan") if v is None else float(v), 9) for v in numbers
        )
        found.setdefault((row.measure, min(one, other), max(one, other)), []).append(
            rounded
        )
    return {
        key: [tuple(-1 if np.isnan(v) else v for v in row) for row in rows]
        for key, rows in found.items()
    }


@settings(deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys(PAIRS, P)), st.permutations(ARMS))
def test_jobs_share_a_letter_exactly_if_not_told_apart(
    p: dict[tuple[str, str], float], order: list[str]
) -> None:
    groups = letters(p, order)
    for (one, other), value in p.items():
        assert bool(set(groups[one]) & set(groups[other])) == (not value < ALPHA)
    assert "a" in groups[order[0]]


def test_jobs_that_were_not_all_compared_get_no_letters() -> None:
    assert letters(dict.fromkeys(PAIRS[1:], 0.2), ARMS) is None


def letters(p: dict[tuple[str, str], float], order: list[str]) -> dict[str, str] | None:
    """The letters of review gain, the best first in `order`."""
    rows = [
        dict.fromkeys(COLUMNS, 0.0) | {"left": a, "right": b, "p_holm": v}
        for (a, b), v in p.items()
    ]
    tests = pd.DataFrame(rows).assign(measure="review_gain")
    assert BETTER["review_gain"] == 1
    jobs = {}
    for place, name in enumerate(order):
        told = {"calibration.judged": 24.0, "calibration.review_gain": -float(place)}
        jobs[name] = Job(place, {}, {}, {}, told, pd.DataFrame(), "finished")
    table = worth(jobs, tests)["worth_order"].set_index("name")
    return (
        table["review_gain_group"].to_dict() if "review_gain_group" in table else None
    )


TEXTS = 60


def labelled(noise: float, seed: int, groups: int = TEXTS // 3) -> pd.DataFrame:
    """Sixty labelled texts, three of one source, scored with so much noise."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "item_id": [f"i{n}" for n in range(TEXTS)],
            "pair_id": None,
            "condition": "gold:x",
        }
    )
    frame["group"] = [f"g{n % groups}" for n in range(TEXTS)]
    frame["label"] = np.random.default_rng(99).uniform(0, 100, TEXTS)
    frame["score"] = (
        50 + 0.3 * (frame["label"] - 50) + rng.normal(scale=noise, size=TEXTS)
    ).clip(0, 100)
    return frame.assign(seconds=0.1)[
        [*texts().columns[:3], "group", "label", "score", "seconds"]
    ]


def followed(
    folder: Path, *frames: pd.DataFrame, headline: str = OF_NUMBERS
) -> SweepResult:
    for n, frame in enumerate(frames):
        rho = float(frame["score"].corr(frame["label"], method="spearman"))
        numbers = {
            OF_NUMBERS: rho,
            f"{OF_NUMBERS}_low": rho - 0.1,
            f"{OF_NUMBERS}_high": rho + 0.1,
        }
        numbers |= {
            "labelled.agreement.pearson": float(frame["score"].corr(frame["label"])),
            "labelled.agreement.error": 20.0,
        }
        write_job(
            folder / str(n), [f"prompt={n}"], frame, metrics=numbers, headline=headline
        )
    return result_of(folder)


def test_the_better_follower_is_shown_by_its_correlations(tmp_path: Path) -> None:
    good, poor = labelled(2, 1), labelled(60, 2)
    result = followed(tmp_path, good, poor)
    rows = result.comparisons.set_index("measure")
    for measure, kind in (("spearman", "spearman"), ("pearson", "pearson")):
        row = rows.loc[measure]
        apart = good["score"].corr(good["label"], method=kind) - poor["score"].corr(
            poor["label"], method=kind
        )  # type: ignore[arg-type]
        sign = 1 if row["left"] == "prompt=0" else -1
        assert sign * row["difference"] == pytest.approx(apart)
        assert row["n"] == TEXTS // 3
        assert row["shown"] == ("better" if sign == 1 else "worse")
        assert row["p_holm"] < 0.05
    assert "sweep.verdict_clear" in keys(result)
    table = result.tables["following"].set_index("name")
    assert table.loc["prompt=0", "spearman"] > table.loc["prompt=1", "spearman"]
    report.write(result, tmp_path)
    assert "How far do the verdicts follow the labels?" in (
        tmp_path / "report.md"
    ).read_text(encoding="utf-8")


def test_few_groups_copies_and_jobs_ranked_otherwise_are_not_compared_by_correlations(
    tmp_path: Path,
) -> None:
    many = followed(tmp_path / "many", labelled(20, 1), labelled(45, 2))
    few = followed(
        tmp_path / "few", labelled(20, 1, groups=4), labelled(45, 2, groups=4)
    )
    assert "spearman" in set(many.comparisons["measure"])
    assert "spearman" not in set(few.comparisons["measure"])
    result = followed(
        tmp_path / "a",
        labelled(2, 1),
        labelled(60, 2),
        headline="labelled.agreement.error",
    )
    assert not {"spearman", "pearson"} & set(result.comparisons["measure"])
    assert "following" not in result.tables
    copies = followed(tmp_path / "b", labelled(10, 1), labelled(10, 1))
    assert set(copies.comparisons["shown"]) == {"identical"}
