"""A sweep speaks on the scale on which people gave the labels, where that is not the rubric's."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.sweep.builders import scored, sweep_of
from undogmatic.records.records import LabelScale
from undogmatic.records.sweep_result import SweepResult
from undogmatic.report import sweep as report
from undogmatic.report.listed import of_sweep
from undogmatic.report.words import words_for
from undogmatic.sweep import _name
from undogmatic.sweep.jobs import read_jobs

SCALES = {
    "turned": LabelScale(ends=(10, 1)),
    "words": LabelScale(words=("A", "B", "C", "D", "E")),
}


def swept(folder: Path, scale: LabelScale | None) -> SweepResult:
    """Two jobs, of which one tells the two texts of a pair better apart."""
    known = {
        "ab.mean": 50.0,
        "ab.mean_low": 30.0,
        "ab.mean_high": 60.0,
        "labelled.bias": 0.5,
    }
    units = dict.fromkeys(("ab.mean", "ab.mean_low", "ab.mean_high"), "score")
    facts = {
        "label_scale": None if scale is None else scale.model_dump(mode="json"),
        "units": units | {"labelled.bias": "change"},
        "graded": ["labelled"],
    }
    jobs = [
        (scored(90, 10, 1, labels=True), 0.9),
        (scored(60, 40, 2, labels=True), 0.7),
    ]
    return sweep_of(folder, *jobs, more=known, **facts)


@pytest.mark.parametrize("scale", SCALES.values(), ids=[*SCALES])
def test_differences_scores_and_margins_of_a_sweep_are_in_grades(
    scale: LabelScale, tmp_path: Path
) -> None:
    ours, theirs = swept(tmp_path / "own", scale), swept(tmp_path / "rubric", None)
    bottom, top = scale.numbers
    factor = (top - bottom) / 100
    assert ours.margin == pytest.approx(10 * abs(factor))
    pd.testing.assert_frame_equal(
        ours.scores,
        (bottom + factor * theirs.scores).round(9),
        check_exact=False,
        atol=1e-6,
    )
    rows, others = (each.comparisons.set_index("measure") for each in (ours, theirs))
    # a better judge stays the better one, whichever way the grades run
    signs = {"absolute_error": 1, "pair_difference": 1, "score": np.sign(factor)}
    for measure, sign in signs.items():
        wanted = sign * abs(factor) * others.loc[measure, "difference"]
        assert rows.loc[measure, "difference"] == pytest.approx(wanted, abs=1e-6)
        assert rows.loc[measure, "p"] == pytest.approx(
            others.loc[measure, "p"], abs=1e-9
        )
        if measure != "score":
            assert rows.loc[measure, "shown"] == others.loc[measure, "shown"]
    kappas = [each.agreement["kappa_between"].iloc[0] for each in (ours, theirs)]
    assert kappas[0] == pytest.approx(kappas[1])


def test_numbers_of_analyses_are_in_grades_once(tmp_path: Path) -> None:
    swept(tmp_path, SCALES["turned"])
    for job in read_jobs(tmp_path):
        told = [job.metrics[f"ab.mean{end}"] for end in ("", "_low", "_high")]
        assert told == pytest.approx([5.5, 4.6, 7.3]), "the lower end is the other one"
        assert job.metrics["labelled.bias"] == 0.5, "it was told in grades already"


def test_the_table_of_items_and_its_note_are_in_grades(tmp_path: Path) -> None:
    ours = swept(tmp_path, SCALES["turned"])
    words = words_for(ours)
    listed = of_sweep(ours, words)
    assert listed.heat is not None
    assert (listed.heat.bottom, listed.heat.top) == (1, 10)
    given = [
        value
        for values in listed.scores.values()
        for value in values
        if value is not None
    ]
    assert min(given) < 3 and max(given) <= 11
    report.write(ours, tmp_path)
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "on which 10 stands for the rubric's 0 and 1 for its 100" in text
    assert "0.9 grades" in text and "points" not in text


def test_jobs_whose_labels_are_on_several_scales_are_told_on_the_rubrics(
    tmp_path: Path,
) -> None:
    scales = [
        LabelScale(ends=ends).model_dump(mode="json") for ends in ((10, 1), (1, 5))
    ]
    jobs = [(scored(90, 10, n, labels=True), 0.9) for n in (1, 2)]
    result = sweep_of(tmp_path, *jobs, label_scale=scales)
    assert result.own is None and result.margin == 10


def test_a_list_is_one_value_and_no_name_of_a_sweep() -> None:
    typed = [
        "dataset.label_scale=[10,1]",
        "model=patterns,tfidf",
        "analysis.least=range(1,3)",
    ]
    assert _name(typed) == "model=patterns,tfidf analysis.least=range(1,3)"
