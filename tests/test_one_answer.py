"""A run, a check of its folder and a check of its exported table give one answer, to the last
digit."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import rows_in
from tests.engine.parts import run_in
from tests.judges.test_compare import judged_by
from undogmatic.cli import main
from undogmatic.config.door import compose_config
from undogmatic.constructs.faithfulness.cases import CasesDataset
from undogmatic.constructs.gating.dataset import GatingDataset
from undogmatic.datasets import export
from undogmatic.datasets.readers.own_run import EVIDENCE
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import UndogmaticError
from undogmatic.examinations.check import check
from undogmatic.examinations.of_run import evidence_of
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import COUNTED
from undogmatic.safety import files
from undogmatic.safety.paths import data_folder


def gating() -> list[dict[str, Any]]:
    """The shipped predictions of gating hierarchies, labelled as if by a person who roughly follows
    what can be measured of them."""
    rng = np.random.default_rng(0)
    rows = []
    for item in GatingDataset().load():
        if "prediction" in item.inputs:  # no judge can score the others
            graded = 10 * float(item.metadata["automatic_f1"]) + rng.normal()
            label = round(float(np.clip(graded, 0, 10)), 1)
            # Faults of one case are planted in the same hierarchy. There are few cases, so that
            # here each prediction counts, or nothing would be concluded.
            rows.append({"id": item.id, **item.inputs, "label": label})
    return rows


def precedents() -> list[dict[str, Any]]:
    """The shipped passages, of which people said whether they describe what a precedent decided."""
    return rows_in(data_folder() / "precedents" / "described_test.jsonl")


def faithfulness() -> list[dict[str, Any]]:
    """The shipped summaries of court decisions, labelled by how many errors are planted in them,
    by two people who do not always agree."""
    rng = np.random.default_rng(0)
    rows = []
    for item in CasesDataset(summaries="shipped", split="all").load():
        right = 1 - 0.2 * len(item.metadata["planted"])
        labels = {
            who: round(float(np.clip(right + rng.normal(0, 0.1), 0, 1)), 1)
            for who in ("ana", "bea")
        }
        shown = {name: item.inputs[name] for name in ("summary", "reference")}
        about = {"group": item.pair, "system": item.metadata["system"]}
        rows.append({"id": item.id, **shown, **about, "labels": {"overall": labels}})
    return rows


MADE: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "gating": gating,
    "precedents": precedents,
    "faithfulness": faithfulness,
}
"""Labelled items of constructs that ship none, or ship them in a form of their own."""
FAKE = ["model=fake", "readout=rules", "dataset=my"]
RUNS = {
    "gating": [*FAKE, "rubric=gating", "prompt=gating_en"],
    "precedents": [*FAKE, "rubric=described", "prompt=minimal_pt"],
    "faithfulness": [*FAKE, "rubric=faithfulness", "prompt=minimal_en"],
    "shame": ["model=patterns", "dataset=labelled"],
    "a trait": ["experiment=trait", "judge=score", "readout=rules", "model=fake"],
    "coherence": ["experiment=coherence", "judge=score", "readout=rules", "model=fake"],
}

OF_A_RUN_ALONE = {
    *("judged", "failed"),
    *("coverage", "coverage_low", "coverage_high", "interval_width"),
    *("raw_mae", "raw_bias", "raw_rmse", "raw_spearman"),
}
"""Failures by what made them, the intervals of single scores, and the scores before they were
calibrated: none of these is in a table of verdicts."""


@pytest.mark.parametrize(
    ("typed", "groups"), [("null", 10), ("place", 3), ("none", 30)]
)
def test_groups_that_are_named_are_final_in_a_run_and_in_a_check_of_it(
    typed: str, groups: int, tmp_path: Path
) -> None:
    items = tmp_path / "items.jsonl"
    texts = [
        "a rule of law and its reasons, told at length " + f"{n // 3} " * 30
        for n in range(30)
    ]
    rows = [
        {"id": f"i{n}", "text": text, "place": f"p{n % 3}", "label": 10 * (n % 7)}
        for n, text in enumerate(texts)
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ["model=patterns", "dataset=my", f"dataset.path={items}", "tracking=none"]
    words += ["analysis=labelled", f"dataset.columns.group={typed}"]
    folder = tmp_path / "run"
    run_in(folder, compose_config(words), words)
    told = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    table = read_table(str(folder))
    exported = tmp_path / "exported.csv"
    main(["export", str(folder), "--to", "csv", "--out", str(exported)])
    again = read_table(str(exported))
    for found in (table, again):
        assert found.items["group"].nunique() == groups == told["units.groups"]
        assert ("table.group_none" in {p.key for p in found.problems}) == (
            typed == "none"
        )
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert ("intervals are too narrow" in report) == (typed == "none")


@pytest.mark.parametrize("construct", RUNS)
def test_a_run_its_folder_and_its_exported_table_are_answered_alike(
    construct: str, tmp_path: Path
) -> None:
    words = [*RUNS[construct], "analysis=labelled", "tracking=none"]
    if construct in MADE:
        items = tmp_path / "items.jsonl"
        lines = (
            json.dumps(row, ensure_ascii=False) + "\n" for row in MADE[construct]()
        )
        items.write_text("".join(lines), encoding="utf-8")
        words.append(f"dataset.path={items}")
    folder = tmp_path / "run"
    run_in(folder, compose_config(words), words)
    told = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    (result,) = [
        each
        for each in json.loads((folder / "results.json").read_text(encoding="utf-8"))[
            "results"
        ]
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
        assert checked.metrics
        for name, number in checked.metrics.items():
            assert told[f"labelled.{name}"] == pytest.approx(
                number, rel=1e-12, nan_ok=True
            ), name
        # What the run tells beside this is of things that no table of verdicts has.
        further = {
            name.removeprefix("labelled.")
            for name in told
            if name.startswith("labelled.")
        }
        assert further - set(checked.metrics) <= OF_A_RUN_ALONE


@pytest.mark.parametrize(
    "words",
    [
        ["experiment=gating", "judge=score", "model=fake", "readout=rules"],
        ["experiment=faithfulness"],
    ],
)
def test_a_run_without_labels_is_answered_alike_by_its_folder_and_its_exported_table(
    words: list[str], tmp_path: Path
) -> None:
    """What a construct asks of its own (do judges follow what is measured, is a ranking to be
    believed) rests on more than verdicts; what a check says of these is that labels are missing."""
    folder, table = tmp_path / "run", tmp_path / "exported.csv"
    run_in(folder, compose_config([*words, "tracking=none"]), words)
    main(["export", str(folder), "--to", "csv", "--out", str(table)])
    of_folder, of_table = (
        check(read_table(source), CheckOptions()) for source in (folder, table)
    )
    assert of_folder.judges
    tables = {(each.judge, each.criterion): each for each in of_table.judges}
    assert tables.keys() == {(each.judge, each.criterion) for each in of_folder.judges}
    for one in of_folder.judges:
        other = tables[one.judge, one.criterion]
        assert one.metrics == pytest.approx(other.metrics, nan_ok=True)
        assert one.standing == other.standing == "undecided"
        assert one.verdict is not None and other.verdict is not None
        assert one.verdict.key == other.verdict.key == "check.verdict_no_labels"


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
    (one,), (other,) = (
        check(table, CheckOptions()).judges for table in (evidence, again)
    )
    assert one.metrics == pytest.approx(other.metrics, nan_ok=True)
    assert one.verdict == other.verdict


def test_categories_without_an_order_are_those_that_are_stated(tmp_path: Path) -> None:
    """One that nobody was given is still one that could have been."""
    path = tmp_path / "table.csv"
    rows = pd.DataFrame(
        {
            "item": [f"i{n}" for n in range(30)],
            "judge": "judge",
            "verdict": ["silent", "describes", "silent"] * 10,
            "label": ["silent", "describes", "describes"] * 10,
        }
    )
    rows.to_csv(path, index=False)
    assert read_table(path).categories == ("describes", "silent")
    stated = TableOptions(kind="unordered", scale="silent<describes<otherwise")
    table = read_table(path, stated)
    assert (table.kind, table.categories) == (
        "unordered",
        ("silent", "describes", "otherwise"),
    )
    export.rows(table).to_csv(path, index=False)
    again = read_table(path)
    assert (again.kind, again.categories) == (table.kind, table.categories)
    said, said_again = (
        each.verdicts.set_index("item")["verdict"] for each in (table, again)
    )
    assert said.to_dict() == said_again.to_dict()


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
    row = {
        "item": "a",
        "judge": "j",
        "criterion": "overall",
        "repeat": 0,
        "verdict": 3,
        "label": 4,
    }
    path = tmp_path / "table.csv"
    pd.DataFrame([row | {column: value}] * 3).to_csv(path, index=False)
    with pytest.raises(UndogmaticError, match=re.escape(said)):
        read_table(path)


@pytest.mark.parametrize("turned", [True, False])
def test_a_run_whose_judge_goes_the_other_way_asks_whether_its_labels_are_turned_round(
    turned: bool, tmp_path: Path
) -> None:
    """Where the direction of the labels was assumed, it is the first thing to look at."""
    sign = -1 if turned else 1
    items = tmp_path / "items.jsonl"
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.arange(4, 84, 2))
    letters = list("abcdefghijklmnopqrstuvwxyz")
    rows = [
        {
            "id": f"i{n}",
            "text": " ".join("".join(rng.choice(letters, 6)) for _ in range(length)),
            "label": int(
                np.clip(round(3 + sign * (length - 43) / 16 + 0.7 * rng.normal()), 1, 5)
            ),
        }
        for n, length in enumerate(lengths.tolist())
    ]
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = [
        "model=fake",
        "model.kind=words",
        "readout=rules",
        "dataset=my",
        "tracking=none",
    ]
    words += [f"dataset.path={items}", "analysis=labelled"]
    run_in(tmp_path / "run", compose_config(words), words)
    report = (tmp_path / "run" / "report.md").read_text(encoding="utf-8")
    assert ("they were read the wrong way round" in report) == turned
