"""A report made again: what its results came to stays what it was, and what hinders it is said."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf

from tests.conftest import Capture, Patch
from tests.report.conftest import Build, trial_result, verdict
from tests.test_experiment import CHOICES
from undogmatic.cli import main
from undogmatic.config.door import compose_config
from undogmatic.experiment import run_experiment
from undogmatic.records.records import Item, Judgment, LabelScale
from undogmatic.records.results import Finding
from undogmatic.records.wordings import PACKAGE, texts_noted
from undogmatic.report import contents, kept
from undogmatic.report.document import Answered, Bench, Picture, Table
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.index import Records


def test_results_are_read_back_as_they_were() -> None:
    table = pd.DataFrame(
        {
            "n": np.array([1, 2]),
            "interval": [(0.5, np.nan), None],
            "mean": [np.nan, 2.5],
        },
        index=["a", "b"],
    )
    nested = Finding(
        "trial.none",
        {"said": [Finding("trial.plain", {"difference": np.float64(2)})], "p": np.nan},
    )
    own = dataclasses.replace(
        trial_result(),
        tables={"t": table.rename_axis("name")},
        verdict=nested,
        texts=(Path("a.yaml"),),
        part="x",
    )
    read = kept._result(json.loads(json.dumps(kept._of_result(own))))
    pd.testing.assert_frame_equal(
        read.tables["t"], own.tables["t"].reset_index(), check_dtype=False
    )
    assert read.tables["t"]["interval"].map(type).tolist()[0] is tuple
    assert read.verdict is not None and read.verdict.values["said"] == [
        Finding("trial.plain", {"difference": 2.0})
    ]
    assert (
        np.isnan(read.verdict.values["p"])
        and read.metrics == own.metrics
        and read.findings == own.findings
    )
    drawn, before = read.drawings[0], own.drawings[0]
    assert (drawn.name, drawn.kind) == (before.name, before.kind)
    assert drawn.data["pairs"] == [list(pair) for pair in before.data["pairs"]]
    assert (read.part, read.headline, read.texts) == (
        "x",
        own.headline,
        [Path("a.yaml")],
    )


def test_words_are_found_where_the_package_has_moved() -> None:
    gone = "/elsewhere/undogmatic/site-packages/undogmatic/examinations/labelled.texts.yaml"
    assert texts_noted(gone) == PACKAGE / "examinations" / "labelled.texts.yaml"
    for own in ("/elsewhere/mine.texts.yaml", "/elsewhere/undogmatic/mine.texts.yaml"):
        assert texts_noted(own) == Path(own)


def test_what_was_assumed_of_a_file_is_read_back(
    finished: Build, monkeypatch: Patch, tmp_path: Path
) -> None:
    scale, assumed = (
        LabelScale(ends=(1, 10)),
        (Finding("columns.assumed", {"column": "nota"}),),
    )
    run = finished(
        [(Item(id=k, text=k), verdict(50.0)) for k in "ab"],
        label_scale=scale,
        assumed=assumed,
        examples=3,
    )
    kept.keep(run)
    journal = Records(None, Judgment)
    for judgment in run.judgments:
        journal.note(judgment, 0, 0)
    monkeypatch.setattr(kept, "items_of", lambda _: [*run.items])
    for name, value in {"rubric": run.rubric, "journal": journal}.items():
        monkeypatch.setattr(RunFolder, name, value)
    again = kept.remade(RunFolder(run.folder))
    assert (again.label_scale, [*again.assumed], again.examples) == (
        scale,
        [*assumed],
        3,
    )
    assert again.language == run.language
    pd.testing.assert_frame_equal(again.frame, run.frame)
    assert (
        again.settings == run.settings
        and again.repeatability == run.repeatability
        and again.asked == run.asked
    )


def with_settings(folder: Path, config: Any) -> None:
    """Note the settings as Hydra does."""
    (folder / ".hydra").mkdir()
    OmegaConf.save(OmegaConf.create(config), folder / ".hydra" / "config.yaml")


def test_a_report_is_made_again_the_same_or_in_another_language(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    config, folder = (
        compose_config(["model=patterns", "tracking=none", "run.limit=8"]),
        tmp_path / "run",
    )
    run_experiment(config, CHOICES, folder)
    with_settings(folder, config)
    files = [folder / name for name in ("report.html", "report.md")]
    before = [file.read_text(encoding="utf-8") for file in files]
    capsys.readouterr()
    main(["report", str(folder), "--format", "md"])
    assert capsys.readouterr().out == f"{folder / 'report.md'}\n"
    assert [file.read_text(encoding="utf-8") for file in files] == before
    pictures = {path: path.read_bytes() for path in folder.rglob("*.png")}
    main(["report", str(folder), "--language", "pt"])
    assert capsys.readouterr().out == f"{folder / 'report.pt.html'}\n"
    assert "Pode-se confiar" in (folder / "report.pt.html").read_text(encoding="utf-8")
    beside = (folder / "report.pt.md").read_text(encoding="utf-8")
    assert "Pode-se confiar" in beside and "](figures/" not in beside
    assert all(
        (folder / link).is_file()
        for link in re.findall(r"\]\((figures[^)]*)\)", beside)
    )
    assert [
        file.read_text(encoding="utf-8") for file in files
    ] == before  # what was there is left alone
    assert {path: path.read_bytes() for path in pictures} == pictures
    main(["report", str(folder), "--language", "en"])  # the run's own
    assert [file.read_text(encoding="utf-8") for file in files] == before
    whole = (folder / "results.json").read_text(encoding="utf-8")
    (folder / "results.json").write_text(whole.replace('"asked":', '"was_asked":'))
    with pytest.raises(SystemExit):
        main(["report", str(folder)])
    assert (
        "its results.json cannot be read (KeyError: 'asked')" in capsys.readouterr().err
    )
    monkeypatch.setattr("shutil.which", lambda name: None)
    for words, said in (
        (["--format", "pdf"], "needs Chromium, and there is none"),
        ([], "has no results.json"),
    ):
        with pytest.raises(SystemExit):
            main(["report", str(folder), *words])
        assert said in capsys.readouterr().err
        (folder / "results.json").unlink(missing_ok=True)


def test_the_newest_run_is_taken_where_none_is_named(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["report"])
    assert "There is no run below" in capsys.readouterr().err
    for name in ("10-00-00", "11-00-00"):
        config = compose_config(["model=patterns", "tracking=none", "run.limit=8"])
        folder = Path("outputs", "2026-01-31", name)
        run_experiment(config, CHOICES, folder)
        with_settings(folder, config)
    capsys.readouterr()
    main(["report", "--format", "md"])
    assert capsys.readouterr().out == "outputs/2026-01-31/11-00-00/report.md\n"
    with pytest.raises(SystemExit):
        main(["report", "--full"])
    assert "--full is for --format pdf" in capsys.readouterr().err


def test_the_short_report_holds_the_answer_its_picture_and_ten_items(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    config = compose_config(["model=patterns", "tracking=none", "run.limit=24"])
    run_experiment(config, CHOICES, folder)
    with_settings(folder, config)
    made = contents.short(kept.remade(RunFolder.open(str(folder), "RUN")))
    (answer,) = [block for block in made.blocks if isinstance(block, Answered)]
    assert any(line.startswith("Not for: ") for line in answer.below)
    assert sum(isinstance(block, Picture) for block in made.blocks) == 1
    listed = [block for block in made.blocks if isinstance(block, Table)][-1]
    assert len(listed.rows) == 10 and not any(
        isinstance(block, Bench) for block in made.blocks
    )
