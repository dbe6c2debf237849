"""Texts of an instrument test that people label next: drawn with known probabilities that rise with
how far the judge's scores differ, written as a table that `check` weighs by them."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.conftest import Capture, Patch, put, typed
from tests.examinations.builders import made_up
from tests.printed import Person, commands_in
from undogmatic.cli import main
from undogmatic.datasets.instrument import FILE
from undogmatic.datasets.table import TableOptions, read_table
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.labels import PROBABILITY
from undogmatic.review.unsteady import draw

RUBRIC = """\
_target_: undogmatic.records.rubric.Rubric
name: mine
scale: {kind: ordered, categories: [poor, fair, good]}
inputs: [question, response]
direction: higher_is_better
margin: 0.5
wordings:
  en:
    definition: How clear an answer is.
    question: How clear is it?
    meanings: [unclear, so so, clear]
    headings: {question: Question, response: Response}
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished tests: `run`, of texts that ship, and `mine`, of answers."""
    folder = tmp_path_factory.mktemp("unsteady")
    words = (
        "shame",
        "model=patterns",
        "tracking=none",
        "dataset.cues=3",
        "hydra.run.dir=run",
    )
    done = typed("undogmatic.cli", "instrument", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    (command,) = [each for each in commands_in(done.stdout) if " label " in each]
    assert command == "undogmatic label run --random 30"
    (folder / "mine.yaml").write_text(RUBRIC, encoding="utf-8")
    answers = [
        ". ".join(made_up(9, f"{k} {s}").strip() for s in range(2 + k % 7))
        for k in range(24)
    ]
    rows = [
        {"question": f"Who is {k}?", "response": each} for k, each in enumerate(answers)
    ]
    put(folder / "answers.jsonl", rows)
    words = ("mine.yaml", "--texts", "answers.jsonl", "model=fake", "model.kind=length")
    done = typed(
        "undogmatic.cli",
        "instrument",
        *words,
        "tracking=none",
        "hydra.run.dir=mine",
        folder=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(judged: Path, tmp_path: Path, monkeypatch: Patch) -> Path:
    """A copy of it, from which commands are typed."""
    shutil.copytree(judged, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def rows_of(table: Path) -> pd.DataFrame:
    return pd.DataFrame(
        list(map(json.loads, table.read_text(encoding="utf-8").splitlines()))
    )


def test_chances_rise_with_how_far_scores_of_a_text_differ(folder: Path) -> None:
    found = draw("run", 20, 0)
    rows = rows_of(found.table).set_index("item")
    assert len(rows) == 60 and not rows.index.str.contains("+cue.", regex=False).any()
    assert (
        rows[PROBABILITY].sum() == pytest.approx(20)
        and rows[PROBABILITY].min() >= 15 / 60
    )
    assert len({*found.drawn}) == 20 and {*found.drawn} <= {*rows.index}
    scores = pd.read_csv("run/scores.csv").set_index("item_id")["score"]
    text = scores.index.str.replace(r"\+cue\..*", "", regex=True)
    same = ~scores.index.str.contains(r"\+ladder|^dark\.", regex=True)
    apart = scores[same].groupby(text[same]).std().reindex(rows.index)
    assert apart.nunique() > 10
    mixed = 20 / 60 * (0.75 + 0.25 * apart / apart.mean())
    assert mixed.max() < 1, "none is certain here"
    assert rows[PROBABILITY].to_numpy() == pytest.approx(mixed.to_numpy())


def test_the_same_draw_is_the_same_file_and_another_one_another(folder: Path) -> None:
    first, again, other = draw("run", 9, 0), draw("run", 9, 0), draw("run", 9, 1)
    assert first == again and first.drawn != other.drawn
    assert len({first.table, other.table, draw("run", 8, 0).table}) == 3
    everything = draw("mine", None, 0)
    assert len(everything.drawn) == 24 and PROBABILITY not in rows_of(everything.table)


def test_from_the_verdict_to_labels_and_to_a_weighted_check(
    folder: Path, person: Person
) -> None:
    told = person.types("undogmatic label run --random 30")
    (command,) = commands_in(told)
    assert command.startswith(
        "undogmatic check run/label_30_seed_0.jsonl run/label_30_seed_0.labels.csv"
    )
    said = person.types(f"{command} --all")
    assert "Instrument test of" in said and "were drawn with unequal chances" in said
    assert "by inverse probability weighting from 30 labelled items" in said
    assert "verdicts are numbers on the declared scale from 0 to 100" in said


def test_a_rubric_of_several_inputs_and_of_levels(folder: Path, person: Person) -> None:
    found = draw("mine", 12, 3)
    assert found.texts[found.drawn[0]].keys() == {"question", "response"}
    assert {*rows_of(found.table)["verdict"]} <= {"poor", "fair", "good"}
    (command,) = commands_in(person.types("undogmatic label mine --random 12 --seed 3"))
    assert "12 of them" in person.types(command)
    # Without a number all texts are labelled, and nothing needs a weight.
    (command,) = commands_in(person.types("undogmatic label mine"))
    assert "--labels" not in command and "24" in person.types(command)


def test_weights_of_a_check_undo_the_draw(folder: Path) -> None:
    """What people think of texts on which the judge wavers differs from the rest; over many draws
    the weighted distance from the judge is that of all texts, and the plain one is not."""
    first = draw("run", 20, 0)
    rows = rows_of(first.table).set_index("item")
    wavers = rows[PROBABILITY].rank(pct=True)
    labels = (rows["verdict"] - 60 * wavers.where(wavers > 0.7, 0)).clip(0, 100)
    truth = float((labels - rows["verdict"]).abs().mean())
    weighted, plain = list[float](), list[float]()
    options = TableOptions(labels=f"probabilities:{PROBABILITY}")
    for seed in range(40):
        found = draw("run", 20, seed)
        given = pd.DataFrame({"item": found.drawn, "rater": "ana"})
        given["label"] = given["item"].map(labels)
        given.to_csv("labels.csv", index=False)
        table = read_table([str(found.table), "labels.csv"], options)
        pairs = table.of(table.judges[0], table.criteria[0]).pairs()
        apart = (pairs["label"] - pairs["verdict"]).abs()
        assert len(pairs) == 20
        weighted.append(float(np.average(apart, weights=pairs["weight"])))
        plain.append(float(apart.mean()))
    error = float(np.std(weighted)) / 40**0.5
    assert abs(np.mean(weighted) - truth) < 4 * error
    assert np.mean(plain) - truth > 6 * error


def test_labels_of_two_draws_do_not_meet(
    folder: Path, person: Person, capsys: Capture
) -> None:
    person.types("undogmatic label run --random 12 --out l.csv")
    with pytest.raises(SystemExit):
        main("label run --random 12 --seed 1 --out l.csv --no-browser".split())
    assert "which holds labels of" in capsys.readouterr().err


def test_who_stops_early_is_told_to_go_on(
    folder: Path, person: Person, monkeypatch: Patch
) -> None:
    def few(server: Any) -> None:
        for entry in server.sheet.entries[:3]:
            server.sheet.label(entry.id, 50)

    monkeypatch.setattr("undogmatic.review.page.Server.serve_forever", few)
    told = person.types("undogmatic label run --random 12")
    assert "The draw is 12 texts" in told and "3 of 12 items are labelled" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run --random 61", "run has 60 texts to draw from"),
        ("run --random 9 --by verdict", "--by is given"),
        ("run --scale 1-5", "--scale is given"),
        ("run --rubric mine.yaml", "--rubric is given"),
    ],
)
def test_what_was_typed_wrongly_is_said(
    folder: Path, capsys: Capture, words: str, said: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["label", *shlex.split(words), "--no-browser"])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert said in error and "Traceback" not in error


def test_a_run_that_is_no_test_or_has_changed_is_refused(folder: Path) -> None:
    kept = folder / "run" / FILE
    lines = kept.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    put(
        kept,
        "\n".join(
            [json.dumps(first | {"text": first["text"] + " Not so."}), *lines[1:]]
        ),
    )
    with pytest.raises(DataError, match="has changed since it was judged"):
        draw("run", 9, 0)
    kept.unlink()
    with pytest.raises(ConfigError, match="undogmatic review export run"):
        draw("run", 9, 0)


@pytest.fixture
def person(capsys: pytest.CaptureFixture[str], monkeypatch: Patch) -> Person:
    return Person(capsys, monkeypatch)
