"""Whether a judge of runs names the step that goes wrong, and whether its verdicts on steps foretell
how their run ends."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Patch
from undogmatic.cli.checked import check
from undogmatic.config.door import compose_config
from undogmatic.datasets.inject import AT, KIND, injected
from undogmatic.datasets.readers.traces import read_traces
from undogmatic.datasets.traces import SHIPPED
from undogmatic.examinations.steps import named_step
from undogmatic.experiment import run_experiment
from undogmatic.records.results import Told
from undogmatic.records.trace import Assessment, as_jsonl
from undogmatic.report.check import words_of

CHOICES = dict.fromkeys(
    "model prompt judge dataset analysis readout optimizer".split(), "x"
)
LANGUAGES = [words_of(code) for code in ("en", "pt")]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def file_of(
    rng: np.random.Generator, right: float, named: float = 1.0, n: int = 60
) -> pd.DataFrame:
    """Runs with a defect in a step drawn from the first six of ten, which a judge names so often."""
    rows = []
    for run in range(n):
        at = int(rng.integers(0, 6))
        said = at if rng.random() < right else (at + int(rng.integers(2, 4))) % 10
        name = said if rng.random() < named else None
        facts = {"defect_step": at, "named_step": name, "steps": 10}
        copy = {
            "id": f"r{run} d",
            "kind": "defect:loop",
            "parent": f"r{run}",
            "judge": "fail",
        }
        rows += [
            {"id": f"r{run}", "kind": "clean", "judge": "pass", "steps": 10},
            copy | facts,
        ]
    return pd.DataFrame(rows)


def tell(frame: pd.DataFrame, name: str = "steps", **options: Any) -> Told:
    told = check(frame, only=[name], **options).judges[0]
    for language in LANGUAGES:
        for found in (*told.findings, *told.not_examined.values()):
            assert f"[{name}" not in language.say(found)
    return told


def keys(told: Told) -> set[str]:
    return {found.key for found in told.findings}


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("It goes wrong at [4], not at [2].", 4),
        ("[12 +30s] claims success", 12),
        ("In step 3 the agent ...", 3),
        ("No passo 7 o agente mente.", 7),
        ("Nothing is wrong in these 5 steps [see above].", None),
        (None, None),
    ],
)
def test_the_step_that_is_named_first_counts(
    said: str | None, number: int | None
) -> None:
    assert named_step([said]) == number
    assert named_step([None, said]) == number


def test_a_judge_that_names_the_step_is_told_apart_from_a_fixed_place(
    rng: np.random.Generator,
) -> None:
    told = tell(file_of(rng, 0.8))
    assert "steps.beyond" in keys(told)
    exact, fixed = told.numbers["steps.exact"], told.numbers["steps.fixed"]
    assert exact.low < 0.8 < exact.high and exact.n == 60
    assert fixed.value < 0.4
    blind = tell(file_of(rng, 0.02))
    assert {"steps.below", "steps.open"} & keys(blind)
    assert blind.numbers["steps.error"].value == pytest.approx(2.5, abs=1.5)


def test_intervals_hold_the_share_that_was_planted() -> None:
    held = []
    for seed in range(40):
        told = tell(file_of(np.random.default_rng([3, seed]), 0.6, n=40))
        exact = told.numbers["steps.exact"]
        held.append(exact.low <= 0.6 <= exact.high)
    assert np.mean(held) >= 0.87


def test_what_is_not_named_is_said_and_few_runs_are_not_told(
    rng: np.random.Generator,
) -> None:
    assert "steps.none_named" in keys(tell(file_of(rng, 0.8, named=0.0)))
    few = tell(file_of(rng, 0.8, n=3))
    assert "steps" in few.not_examined and not few.numbers
    bare = file_of(rng, 0.8).drop(columns="defect_step")
    assert "steps" in tell(bare).not_examined


def test_what_was_done_to_a_copy_explains_no_verdicts(rng: np.random.Generator) -> None:
    frame = file_of(rng, 0.9).assign(
        edit=lambda rows: rows["defect_step"].notna().map({True: "loop", False: ""}),
        human=lambda rows: np.where(rows["kind"] == "clean", "pass", "fail"),
        text=[f"a run about {word}" for word in rng.permutation(120)],
    )
    part = check(frame, judge="judge", human=["human"]).judges[0]
    said = " ".join(LANGUAGES[0].say(found) for found in (*part.findings, part.rival))
    assert not any(name in said for name in ("`edit`", "defect_step", "named_step"))


def steps_file(folder: Path, sees: float, rng: np.random.Generator) -> Path:
    """Injected runs, on whose steps a judge failed the one that commits the defect so often."""
    runs = []
    for family in injected(list(read_traces(SHIPPED))[::2]):
        for run in family.runs[::3]:
            at = run.metadata[AT]
            said = [
                Assessment(
                    by="gpt",
                    step=step.place,
                    value="fail"
                    if rng.random() < (sees if step.place == at else 0.03)
                    else "pass",
                )
                for step in run.steps
            ]
            runs.append(run.replace(assessments=tuple(said)))
    path = folder / "steps.jsonl"
    path.write_text("".join(as_jsonl(runs)), encoding="utf-8")
    return path


def test_verdicts_on_steps_foretell_how_a_run_ends(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = steps_file(tmp_path, 0.9, rng)
    told = tell([path], "foretell", unit="step")  # type: ignore[arg-type]
    assert "foretell.shown" in keys(told) and told.numbers["foretell.area"].low > 0.7
    blind = steps_file(tmp_path, 0.03, rng)
    told = tell([blind], "foretell", unit="step")  # type: ignore[arg-type]
    area = told.numbers["foretell.area"]
    assert "foretell.open" in keys(told) and area.low < 0.5 < area.high


def test_of_an_edited_run_the_step_has_the_defect_that_commits_it(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = steps_file(tmp_path, 0.9, rng)
    runs = list(read_traces(path))
    planted = sum(str(run.metadata[KIND]).startswith("defect") for run in runs)
    part = check([path], unit="step", only=["injected"]).judges[0]
    recall = part.numbers["injected.recall"]
    assert recall.n == planted and recall.low < 0.9 < recall.high


def test_rules_are_not_trusted_with_runs_and_the_report_says_what_they_see(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = "experiment=traces model=patterns tracking=none dataset.n=21".split()
    run_experiment(compose_config(line), CHOICES, Path("out"))
    report = Path("out/report.md").read_text(encoding="utf-8")
    assert "Do not trust this judge" in report
    assert "Planted defects that it sees" in report and "false\\_success" in report
    again = check(["out/evidence.jsonl"]).judges[0]
    assert again.verdict is not None and again.verdict.answer == "no"
    seen = again.numbers["injected.recall.false_success"].value
    missed = again.numbers["injected.recall.ignored_result"].value
    assert missed < 0.1 and seen > 0.5
