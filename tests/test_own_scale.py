"""What a person sees is on the scale on which people gave the labels, whichever that is: sentences,
tables, pictures, CSV and a check of the run's folder."""

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from omegaconf import OmegaConf

from tests.conftest import put
from tests.sweep.builders import RUBRIC
from tests.test_experiment import CHOICES
from undogmatic.cli.checked import check
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.datasets.labels import read_labels
from undogmatic.datasets.verdicts import VerdictsDataset
from undogmatic.errors import DataError
from undogmatic.experiment import run_experiment
from undogmatic.records.records import Item, LabelScale
from undogmatic.report import kept
from undogmatic.report.figures import Pen
from undogmatic.report.words import words_for
from undogmatic.runs.folder import RunFolder

CURATED = Path(__file__).parents[1] / "data" / "curated" / "labelled.jsonl"
JUDGED = [
    json.loads(line) for line in CURATED.read_text(encoding="utf-8").splitlines()[-60:]
]
POINTS = [25 * round(row["label"] / 25) for row in JUDGED]
"""What people give the texts, on the rubric's scale: one of five grades."""


def given(points: float, scale: LabelScale) -> float | str:
    """What stands for these points on a scale."""
    if scale.words:
        return scale.words[round(points / 100 * (len(scale.words) - 1))]
    bottom, top = scale.numbers
    return bottom + points / 100 * (top - bottom)


def run(folder: Path, scale: LabelScale, analysis: str = "labelled") -> Path:
    """A run of the rule-based model on texts that are labelled on this scale; its folder."""
    rows = [
        {"id": row["id"], "text": row["text"], "label": given(points, scale)}
        for row, points in zip(JUDGED, POINTS, strict=True)
    ]
    data = put(folder / "my.jsonl", rows)
    typed = [
        "model=patterns",
        "tracking=none",
        "rubric=shame",
        "dataset=my",
        f"analysis={analysis}",
    ]
    typed += [f"dataset.path={data}", f"dataset.label_scale={scale.shown()}"]
    choices = CHOICES | {"dataset": "my", "analysis": analysis}
    config = compose_config(typed)
    run_experiment(config, choices, folder / "out")
    (folder / "out" / ".hydra").mkdir()
    OmegaConf.save(config, folder / "out" / ".hydra" / "config.yaml")
    return folder / "out"


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def metric(folder: Path, name: str) -> float:
    return float(json.loads((folder / "metrics.json").read_text())[name])


SCALES = {
    "reversed": LabelScale(ends=(10, 1)),
    "1 to 5": LabelScale(ends=(1, 5)),
    "0 to 10": LabelScale(ends=(0, 10)),
    "letters": LabelScale(words=("A", "B", "C", "D", "E")),
}


@pytest.mark.parametrize("scale", SCALES.values(), ids=[*SCALES])
def test_a_run_speaks_in_the_grades_of_its_labels(
    scale: LabelScale, tmp_path: Path
) -> None:
    on_rubric = run(tmp_path / "rubric", LabelScale(ends=(0, 100)))
    folder, (bottom, top) = run(tmp_path / "own", scale), scale.numbers
    factor = (top - bottom) / 100
    for name, sign in (("error", abs(factor)), ("bias", factor)):
        there = metric(on_rubric, f"labelled.agreement.{name}")
        assert metric(folder, f"labelled.agreement.{name}") == pytest.approx(
            there * sign, abs=1e-6
        )
    same = "labelled.agreement.spearman"
    assert metric(folder, same) == pytest.approx(metric(on_rubric, same), abs=1e-9)
    finished = kept.remade(RunFolder(folder))
    words = words_for(finished)
    (result, *_) = finished.results
    assert result.graded and words.of_result(result).own is None
    drawn = next(each for each in result.drawings if each.kind == "scatter").data
    assert drawn["limits"] == [min(bottom, top), max(bottom, top)]
    assert sorted(drawn["x"]) == sorted(bottom + factor * points for points in POINTS)
    text = (folder / "report.md").read_text(encoding="utf-8")
    error = words.number(
        metric(folder, "labelled.agreement.error"), f".{words.decimals}f"
    )
    assert f"| Mean absolute error | {error} |" in text


@pytest.mark.parametrize("scale", SCALES.values(), ids=[*SCALES])
def test_files_for_programs_keep_the_rubrics_scale_and_have_the_grades_beside(
    scale: LabelScale, tmp_path: Path
) -> None:
    folder = run(tmp_path, scale)
    bottom, top = scale.numbers
    for row in rows(folder, "scores.csv"):
        grade = bottom + float(row["score"]) / 100 * (top - bottom)
        assert float(row["score_on_label_scale"]) == pytest.approx(grade, abs=1e-5)
    for points, row in zip(POINTS, rows(folder, "labels.csv"), strict=True):
        assert float(row["label"]) == pytest.approx(points)
        wanted = given(points, scale)
        assert row["label_as_given"] == (wanted if scale.words else f"{float(wanted)}")
    journal = (folder / "judgments.jsonl").read_text().splitlines()
    judged = map(json.loads, journal)
    there = {each["item_id"]: each["outcome"]["score"] for each in judged}
    kept_as = {
        row["item_id"]: float(row["score"]) for row in rows(folder, "scores.csv")
    }
    assert kept_as == pytest.approx(there, abs=1e-5)


def test_labels_on_the_rubrics_scale_add_no_column(tmp_path: Path) -> None:
    folder = run(tmp_path, LabelScale(ends=(0, 100)))
    assert "score_on_label_scale" not in rows(folder, "scores.csv")[0]
    assert "label_as_given" not in rows(folder, "labels.csv")[0]


@pytest.mark.parametrize("evidence", [True, False], ids=["evidence", "journal"])
@pytest.mark.parametrize("scale", SCALES.values(), ids=[*SCALES])
def test_a_check_of_the_folder_speaks_in_the_same_grades(
    scale: LabelScale, evidence: bool, tmp_path: Path
) -> None:
    folder = run(tmp_path, scale)
    if not evidence:  # as of a run that was not held against labels
        (folder / "evidence.jsonl").unlink()
    found = check([folder]).judges[0].numbers["agreement.error"]
    value: Any = getattr(found, "value", found)
    assert value == pytest.approx(metric(folder, "labelled.agreement.error"), abs=1e-6)


@pytest.mark.parametrize(
    ("typed", "ends"), [("1-5", (1, 5)), ("10-1", (10, 1)), ("0-10", (0, 10))]
)
def test_a_check_of_two_scales_tells_verdicts_in_peoples_grades(
    typed: str, ends: tuple[float, float]
) -> None:
    bottom, top = ends
    judge = [(37 * n) % 101 / 100 for n in range(60)]
    people = [
        bottom + (top - bottom) * ((37 * n + n % 7) % 101) / 100 for n in range(60)
    ]
    rows = pd.DataFrame(
        {"item": [f"i{n}" for n in range(60)], "judge": judge, "human": people}
    )
    result = check(rows, scale="0-1", human_scale=typed)
    table = result.table
    assert table.scale == (min(ends), max(ends))
    assert table.labels["label"].tolist() == pytest.approx(people)
    grades = [bottom + (top - bottom) * verdict for verdict in judge]
    assert table.verdicts["verdict"].tolist() == pytest.approx(grades)
    (placed,) = [note for note in table.read if note.key == "table.placed"]
    assert (placed.values["bottom"], placed.values["top"]) == ends
    off = sum(abs(a - b) for a, b in zip(grades, people, strict=True)) / 60
    assert result.judges[0].estimates["agreement.error"].value == pytest.approx(off)
    same = check(
        rows.assign(human=[(p - bottom) / (top - bottom) for p in people]), scale="0-1"
    )
    one, other = (
        each.judges[0].estimates["agreement.spearman"].value for each in (result, same)
    )
    assert one == pytest.approx(other)


def test_a_margin_is_typed_in_grades(tmp_path: Path) -> None:
    """`analysis.margin` is on the scale that sentences are on; the rubric's is converted."""
    folder = run(tmp_path, LabelScale(ends=(1, 5)))
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "lies within 0.4" in text  # a tenth of 4, as the rubric's 10 is of 100


def test_the_axes_of_pictures_on_the_rubrics_scale_are_written_in_grades(
    tmp_path: Path,
) -> None:
    folder = run(tmp_path, LabelScale(ends=(10, 1)), "none")
    finished = kept.remade(RunFolder(folder))
    words = words_for(finished)
    pen = Pen(words, "none", finished.rubric)
    ax = pen.plot(4.0)
    pen.label(ax, x="score", y="difference", limits=(-50.0, 50.0))
    pen.canvas.draw()
    lower, upper = ax.get_xlim()
    assert lower > upper, "the greater grade lies to the right"
    shown = [float(each.get_text()) for each in ax.get_xticklabels() if each.get_text()]
    places = [
        each.get_position()[0] for each in ax.get_xticklabels() if each.get_text()
    ]
    assert [10 - 0.09 * place for place in places] == pytest.approx(shown)
    assert "1–10" in ax.get_xlabel()
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "On your scale, a low grade is bad." in text and "| 25 | 7.75 |" in text
    assert "mean score" in text and "0–100 grades" not in text


def test_a_file_of_verdicts_speaks_in_the_grades_of_its_labels(tmp_path: Path) -> None:
    data = tmp_path / "v.csv"
    rows_of_file = ["id,judge_score,human"]
    rows_of_file += [
        f"i{n},{(37 * n) % 101},{10 - (37 * n) % 101 * 9 // 100}" for n in range(60)
    ]
    data.write_text("\n".join(rows_of_file) + "\n", encoding="utf-8")
    typed = ["rubric=shame", "dataset=verdicts", "analysis=labelled", "tracking=none"]
    columns = {"judge": "judge_score", "label": "human"}
    typed += [
        f"dataset.path={data}",
        "dataset.scale=0-100",
        "dataset.label_scale=[10,1]",
    ]
    typed += [f"++dataset.columns.{role}={name}" for role, name in columns.items()]
    choices = CHOICES | {"dataset": "verdicts", "analysis": "labelled"}
    run_experiment(compose_config(typed), choices, tmp_path / "out")
    for n, row in enumerate(rows(tmp_path / "out", "scores.csv")):
        judge = (37 * n) % 101
        assert float(row["score"]) == judge
        assert float(row["score_on_label_scale"]) == pytest.approx(10 - 0.09 * judge)
    for n, row in enumerate(rows(tmp_path / "out", "labels.csv")):
        assert float(row["label_as_given"]) == 10 - (37 * n) % 101 * 9 // 100
    assert metric(tmp_path / "out", "labelled.agreement.error") < 1
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "on which 10 stands for the rubric's 0 and 1 for its 100" in text
    # Whoever reads the file again without a rubric, as a report does, finds the same grades.
    items = VerdictsDataset(
        str(data),
        columns={role: [name] for role, name in columns.items()},
        scale="0-100",
        label_scale=(10, 1),
    ).load()
    given_again = [item.labels["overall"]["human"] for item in items]
    assert given_again == [10 - (37 * n) % 101 * 9 // 100 for n in range(60)]
    assert {item.label_scale for item in items} == {LabelScale(ends=(10, 1))}


def test_verdicts_on_several_criteria_are_told_in_the_grades_of_their_labels(
    tmp_path: Path,
) -> None:
    data = tmp_path / "v.jsonl"
    criteria = ("tone", "reasons")
    said = [
        {
            "item": f"i{n}",
            "judge": "j",
            "criterion": criterion,
            "score": (37 * n) % 101,
            "label": 1 + ((37 * n) % 101 + 7 * (n % 4)) * 9 / 130,
        }
        for n in range(40)
        for criterion in criteria
    ]
    put(data, said)
    typed = ["rubric=shame", "dataset=verdicts", "analysis=labelled", "tracking=none"]
    typed += [
        f"dataset.path={data}",
        "dataset.scale=0-100",
        "dataset.label_scale=[1,10]",
    ]
    choices = CHOICES | {"dataset": "verdicts", "analysis": "labelled"}
    run_experiment(compose_config(typed), choices, tmp_path / "out")
    off = {
        criterion: sum(
            abs(1 + 0.09 * row["score"] - row["label"])
            for row in said
            if row["criterion"] == criterion
        )
        / 40
        for criterion in criteria
    }
    for criterion in criteria:
        found = metric(tmp_path / "out", f"j.{criterion}.labelled.agreement.error")
        assert found == pytest.approx(off[criterion], abs=1e-6)
    kept_as = {row["label_as_given"] for row in rows(tmp_path / "out", "labels.csv")}
    assert {round(float(each), 6) for each in kept_as} == {
        round(r["label"], 6) for r in said
    }


def test_labels_of_every_criterion_are_on_the_scale_that_is_declared() -> None:
    item = Item(
        id="a",
        text="t",
        labels={"overall": {"x": 1}, "tone": {"x": 10}},
        label_scale=LabelScale(ends=(10, 1)),
    )
    rubric = build(dict(RUBRIC), "rubric")
    found = read_labels([item], rubric)
    assert dict(found.items[0].labels) == {"overall": {"x": 100.0}, "tone": {"x": 0.0}}
    assert found.scale == item.label_scale
    again = read_labels(found.items, rubric)
    assert again.items[0].labels == found.items[0].labels
    wrong = item.model_copy(update={"labels": {"tone": {"x": 11}}})
    with pytest.raises(
        DataError, match=r"label of 'x' on tone is 11, outside the scale 10-1"
    ):
        read_labels([wrong], rubric)
