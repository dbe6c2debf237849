"""A run, a check of its folder and a check of its exported table give one answer, to the last
digit."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.conftest import rows_in
from tests.engine.parts import run_in
from tests.judges.test_compare import judged_by
from undogmatic.cli import main
from undogmatic.config.door import compose_config
from undogmatic.datasets import export
from undogmatic.datasets.readers.own_run import EVIDENCE
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import UndogmaticError
from undogmatic.examinations.check import check
from undogmatic.examinations.of_run import evidence_of
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import COUNTED
from undogmatic.safety import files

RUNS = {
    "shame": ["model=patterns", "dataset=labelled"],
    "a trait": ["experiment=trait", "judge=score", "readout=rules", "model=fake"],
    "coherence": ["experiment=coherence", "judge=score", "readout=rules", "model=fake"],
}


@pytest.mark.parametrize("construct", RUNS)
def test_a_run_its_folder_and_its_exported_table_are_answered_alike(
    construct: str, tmp_path: Path
) -> None:
    words = [*RUNS[construct], "analysis=labelled", "tracking=none"]
    folder = tmp_path / "run"
    run_in(folder, compose_config(words), words)
    told = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    (result,) = [
        each
        for each in json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"]
        if each["name"] == "labelled"
    ]
    assert (folder / EVIDENCE).is_file()
    table = tmp_path / "exported.csv"
    main(["export", str(folder), "--to", "csv", "--out", str(table)])
    for source in (folder, table):
        (checked,) = check(read_table(source), CheckOptions()).judges
        assert checked.standing == result["standing"]
        assert checked.verdict is not None
        assert result["verdict"]["$finding"]["key"] in (
            checked.verdict.key,
            "labelled.verdict_promise",
        )
        for name, number in checked.metrics.items():
            assert told[f"labelled.{name}"] == pytest.approx(number, rel=1e-12, nan_ok=True), name


def test_texts_that_may_not_be_kept_are_not_in_the_evidence(tmp_path: Path) -> None:
    words = ["model=patterns", "dataset=labelled", "run.limit=24", "analysis=labelled"]
    words += ["tracking=none", "tracking.redact=true"]
    run_in(tmp_path, compose_config(words), words)
    rows = rows_in(tmp_path / EVIDENCE)
    assert rows and not {"text", "text_1"} & set(rows[0]) and "label" in rows[0]


def test_choices_of_two_outputs_are_the_same_once_exported(tmp_path: Path) -> None:
    evidence = evidence_of(judged_by(lambda item: 0.3 + 0.5 * (len(item.id) % 2)))
    path = tmp_path / "choices.jsonl"
    rows = export.rows(evidence).to_dict("records")
    files.write(path, "".join(json.dumps(row) + "\n" for row in rows))
    again = read_table(path)
    assert (again.kind, again.categories) == (evidence.kind, evidence.categories)
    (one,), (other,) = (check(table, CheckOptions()).judges for table in (evidence, again))
    assert one.metrics == pytest.approx(other.metrics, nan_ok=True)
    assert one.verdict == other.verdict


def test_what_a_table_states_of_all_its_verdicts_is_read_and_may_be_set_otherwise(
    tmp_path: Path,
) -> None:
    """Grades from 3 to 7 of a scale from 0 to 10, what was counted in the texts, and a margin."""
    rng = np.random.default_rng(1)
    label = rng.integers(3, 8, 40)
    rows = pd.DataFrame(
        {
            "item": [f"i{n}" for n in range(40)],
            "judge": "judge",
            "criterion": "overall",
            "repeat": 0,
            "verdict": np.where(np.arange(40) % 5 == 0, 5, label),
            "label": label,
            "rater": "ana",
            "text": [f"word{n} and more" for n in range(40)],
            f"{COUNTED}commas": rng.integers(0, 9, 40),
            "stated.kind": "numeric",
            "stated.scale": "0.0:10.0",
            "stated.margin": 0.5,
        }
    )
    path = tmp_path / "table.csv"
    rows.to_csv(path, index=False)
    table = read_table(path)
    assert (table.kind, table.scale, table.margin) == ("numeric", (0.0, 10.0), 0.5)
    assert f"{COUNTED}commas" in table.items
    assert not any(str(name).startswith("slice.stated") for name in table.items)
    (told,) = check(table, CheckOptions()).judges
    (set_,) = check(table, CheckOptions(margin=3.0)).judges
    margins = [
        finding.values["margin"]
        for each in (told, set_)
        for finding in each.findings
        if finding.key.startswith("kinds.grades")
    ]
    assert margins == [0.5, 3.0]
    assert "table.stated_margin" in {note.key for note in table.read}
    assert read_table(path, TableOptions(scale="1-7")).scale == (1.0, 7.0)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("stated.kind", "grades", "'grades'; it is one of numeric, ordered"),
        ("stated.scale", "high", "`stated.scale` is 'high'; give two ends"),
        ("stated.margin", "little", "'little'; it must be one number above 0"),
        ("stated.margin", -1, "'-1'; it must be one number above 0"),
    ],
)
def test_what_is_stated_and_cannot_be_meant_is_one_message(
    column: str, value: object, said: str, tmp_path: Path
) -> None:
    row = {"item": "a", "judge": "j", "criterion": "overall", "repeat": 0, "verdict": 3, "label": 4}
    path = tmp_path / "table.csv"
    pd.DataFrame([row | {column: value}] * 3).to_csv(path, index=False)
    with pytest.raises(UndogmaticError, match=re.escape(said)):
        read_table(path)
