import csv
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import Capture, Patch
from undogmatic.cli import main
from undogmatic.config.build import build
from undogmatic.config.door import composed
from undogmatic.experiment import Experiment
from undogmatic.records.rubric import Rubric
from undogmatic.safety.outside import read_yaml

POLITE = [
    "--rubric",
    "how polite is the answer",
    "--scale",
    "1-5",
    "--inputs",
    "question,answer",
]


def init(*words: str) -> None:
    main(["init", *words])


def rows(path: str = "my/polite.csv") -> list[dict[str, str]]:
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def told(capsys: Capture, *words: str) -> str:
    """The one message with which a command ends."""
    with pytest.raises(SystemExit) as caught:
        init(*words)
    assert caught.value.code
    return capsys.readouterr().err


def test_what_is_written_is_complete_and_composes(
    tmp_path: Path, capsys: Capture
) -> None:
    init(*POLITE)
    said = capsys.readouterr().out
    written = {
        str(path.relative_to(tmp_path))
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert all(path in said for path in written)
    assert "made up" in said and said.endswith(
        "Next: undogmatic run experiment=polite\n"
    )
    words = (
        "experiment=polite analysis=none tracking=none model=openai_compatible model.name=m"
        " readout=logprobs"
    )
    made = Experiment(
        *composed([*words.split(), "model.api_base=http://127.0.0.1:9/v1"], ())
    )
    assert len(rows()) == 24 and len(made.items) == 16
    assert len(made.parts.prompt.demonstrations) == 8
    assert made.name == "polite-made-up-rows"  # reports begin with it
    assert made.parts.rubric.inputs == ("question", "answer")


@pytest.mark.parametrize("group", ["rubric", "prompt", "experiment"])
def test_an_editor_finds_the_schema_and_the_files_fit_it(group: str) -> None:
    init(*POLITE, "--language", "pt")
    for file in Path("my/conf", group).glob("*.yaml"):
        line = re.search(
            r"^# yaml-language-server: \$schema=(\S+)$", file.read_text(), re.MULTILINE
        )
        assert line is not None
        checker = jsonschema.Draft7Validator(
            json.loads((file.parent / line[1]).read_text())
        )
        content = read_yaml(file)
        assert not list(checker.iter_errors(content))
        assert list(checker.iter_errors(content | {"unknown_key": 1}))


@pytest.mark.parametrize(
    ("scale", "more", "labels"),
    [
        ("1-5", [], {"1", "2", "3", "4", "5"}),
        ("0..100", [], {"0", "25", "50", "75", "100"}),
        ("0-3", ["--higher-is-worse"], {"0", "1", "2", "3"}),
        ("bad<ok<good", ["--language", "pt"], {"bad", "ok", "good"}),
        ("no,yes", [], {"no", "yes"}),
    ],
)
def test_every_scale_gets_a_rubric_and_rows(
    scale: str, more: list[str], labels: set[str]
) -> None:
    init("--rubric", "how clear is it?", "--scale", scale, "--inputs", "text", *more)
    node = read_yaml(Path("my/conf/rubric/clear.yaml"))
    rubric: Rubric = build(node, "rubric")
    found = rows(f"my/{rubric.name}.csv")
    assert {row["label"] for row in found} == labels
    shown = [
        row["label"]
        for row in found
        if row["text"].startswith(("Two metres", "Dois metros"))
    ]
    assert all(
        rubric.scale.read(float(x) if x.replace(".", "").isdigit() else x) is not None
        for x in shown
    )
    worse = "higher_is_worse" if "--higher-is-worse" in more else "higher_is_better"
    assert rubric.direction == worse or not rubric.scale.ordered


def test_more_inputs_than_two_are_filled() -> None:
    init(
        "--rubric",
        "how polite",
        "--scale",
        "1-5",
        "--inputs",
        "question,context,answer",
    )
    assert {row["context"] for row in rows()} == {"A shop for household goods."}


def test_the_three_questions_are_asked_where_somebody_can_answer(
    monkeypatch: Patch, capsys: Capture
) -> None:
    asked: list[str] = []
    answers = iter(["quão educada é a resposta", "1-5", "resposta"])

    def answer(question: str) -> str:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    init("--language", "pt")
    assert len(asked) == 3 and "O que você quer julgar?" in asked[0]
    assert "experiment=educada" in capsys.readouterr().out
    assert "A seguir" not in Path("my/conf/experiment/educada.yaml").read_text()


def test_a_file_that_is_there_is_never_written_over_without_force(
    tmp_path: Path, capsys: Capture
) -> None:
    init(*POLITE)
    mine = Path("my/conf/rubric/polite.yaml")
    mine.write_text("mine")
    before = {
        path: path.read_text() for path in tmp_path.rglob("*.*") if path.is_file()
    }
    message = told(capsys, *POLITE)
    assert (
        "already here" in message
        and "my/conf/rubric/polite.yaml" in message
        and "--force" in message
    )
    assert {path: path.read_text() for path in before} == before
    toml = Path("undogmatic.toml").read_text() + "# mine\n"
    Path("undogmatic.toml").write_text(toml)
    init(*POLITE, "--force")
    assert "Rubric" in mine.read_text()
    assert Path("undogmatic.toml").read_text() == toml


def test_a_project_that_is_there_and_a_table_of_ones_own_are_used(
    capsys: Capture,
) -> None:
    Path("theirs").mkdir()
    Path("undogmatic.toml").write_text('conf = "theirs"\n')
    Path("my.csv").write_text("question,answer,label\na,b,1\n")
    init(*POLITE, "--data", "my.csv", "--name", "kind")
    assert not Path("my").exists() and not Path("kind.csv").exists()
    config, choices = composed(["experiment=kind"], ())
    assert config["run"]["name"] is None
    assert config["dataset"]["path"] == "my.csv" and choices["rubric"] == "kind"
    assert "my.csv is yours and stays as it is" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--rubric is missing or empty. What do you want to judge?"),
        (
            [*POLITE[:2], "--scale", "five", "--inputs", "a"],
            "--scale is 'five', which is no scale",
        ),
        (
            [*POLITE[:2], "--scale", "5-1", "--inputs", "a"],
            "--scale is '5-1', which is no scale",
        ),
        (
            [*POLITE[:4], "--inputs", "the answer"],
            "--inputs names 'the answer', which is not one word",
        ),
        (
            [*POLITE[:4], "--inputs", "a,a"],
            "--inputs names 'a', which stands there twice",
        ),
        (
            [*POLITE[:4], "--inputs", "text,label"],
            "--inputs names 'label', which means something else here",
        ),
        ([*POLITE, "--name", "Not good"], "--name is 'Not good'"),
        ([*POLITE, "--name", "shame"], "rubric=shame is one of the program's own"),
        (
            [*POLITE, "--data", "nowhere.csv"],
            "`--data` is 'nowhere.csv', which does not exist",
        ),
    ],
)
def test_what_cannot_be_made_is_told_and_nothing_is_written(
    words: list[str], message: str, tmp_path: Path, capsys: Capture
) -> None:
    assert message in told(capsys, *words)
    assert not list(tmp_path.iterdir())


def test_schemas_are_printed_or_written(
    tmp_path: Path, capsys: Capture, monkeypatch: Patch
) -> None:
    main(["schema", "prompt"])
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    main(["schema", "prompt", "--out", "schemas"])
    assert json.loads(Path("schemas/prompt.json").read_text()) == printed
    with pytest.raises(SystemExit):
        main(["schema", "promt"])
    assert "no group 'promt'. Groups:" in capsys.readouterr().err
