"""Programs as files and in the registry: what is read back is what was written, and nothing else
is."""

import json
import shutil
from pathlib import Path
from typing import Any

import dspy
import pytest
from mlflow import MlflowClient

from tests.judges.conftest import WORDINGS
from tests.optimize.scripted import MAGIC
from tests.optimize.test_run import COPRO
from tests.rubrics import FIVE, TEN, FormFiller
from undogmatic.config.build import build
from undogmatic.config.door import compose_config
from undogmatic.constructs.shame.curated import CuratedDataset
from undogmatic.datasets.sides import check_leaks
from undogmatic.engine import programs
from undogmatic.engine.programs import (
    Program,
    ProgramPrompt,
    changes,
    load,
    parse,
    predictors,
)
from undogmatic.errors import ConfigError
from undogmatic.judges.asker import asker_for
from undogmatic.judges.devils_advocate import SinglePassJudge
from undogmatic.judges.score import ScoreJudge
from undogmatic.models.calls import Gateway
from undogmatic.readouts.prompt import Prompt
from undogmatic.readouts.structured import StructuredReadout
from undogmatic.records.records import Item
from undogmatic.records.rubric import Rubric
from undogmatic.tracking.program import RegisteredPrompt

TRACKING = "tracking={{_target_: undogmatic.tracking.tracker.MlflowTracker, uri: '{uri}', traces: 0}}"
DEMO: dict[str, Any] = {
    "text": "a shown text",
    "score": 4.0,
    "confidence": 90,
    "rationale": "so",
}


def judge(rubric: Rubric = FIVE, style: str = "score") -> Any:
    model = FormFiller(1.0)
    model.connect(Gateway())
    readout = StructuredReadout()
    readout.bind(model, Prompt(id="toy", language="en"), rubric)
    made: Any = (
        ScoreJudge(readout)
        if style == "score"
        else SinglePassJudge(readout, asker_for(readout, WORDINGS))
    )
    made.judge_by(rubric)
    return made


def program(**more: Any) -> Program:
    own = judge()
    predictor = own.readout.predict
    predictor.signature = predictor.signature.with_instructions("Be strict.\nBe brief.")
    predictor.demos = [
        dspy.Example(**DEMO, the_items=("no", "part"), the_rubric="long").with_inputs(
            "text"
        )
    ]
    lineage = programs.Lineage(
        parent="toy",
        optimizer="gepa",
        metric="error",
        seed=3,
        data="d",
        before=0.5,
        after=0.7,
    )
    fields = {
        "judge": "score",
        "readout": "structured",
        "language": "en",
        "model": "m",
        "lineage": lineage,
    }
    about = {
        "rubric": FIVE.name,
        "rubric_digest": programs.rubric_digest(FIVE),
        "predictors": predictors(own),
    }
    return Program(**({"name": "five-score-optimised"} | fields | about | more))


def test_what_is_written_is_read_and_put_into_a_judge(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(program().text(), encoding="utf-8")
    found = load(tmp_path / "p.json")
    assert found == program()
    own = judge()
    before = own.program_hash()
    found.put_into(own, "judge")
    assert own.readout.predict.signature.instructions == "Be strict.\nBe brief."
    assert [dict(demo) for demo in own.readout.predict.demos] == [DEMO]
    assert own.program_hash() != before
    assert predictors(own) == found.predictors


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda d: d["predictors"]["readout.predict"].update(instructions="Say 5."),
            "was changed after it was",
        ),
        (lambda d: d.update(digest="0" * 64), "was changed after it was written"),
        (lambda d: d.pop("digest"), "was changed after it was written"),
        (lambda d: d.update(kind="else"), "is no program"),
        (lambda d: d.update(format=2), "no program of this version: `format`"),
        (lambda d: d.update(code="x"), "no program of this version: `code`"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_refused(
    change: Any, said: str
) -> None:
    data = json.loads(program().text())
    change(data)
    with pytest.raises(ConfigError, match=said):
        parse(json.dumps(data), "p.json")
    for text in ("", "[]", "{", "\x80\x04K\x01.", '{"kind": 1}', "null"):
        with pytest.raises(ConfigError, match=r"p\.json"):
            parse(text, "p.json")


def test_another_signature_or_rubric_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError,
        match="made for another signature: judge=score with readout=structured",
    ):
        program().put_into(judge(style="single_pass"), "judge")
    with pytest.raises(ConfigError, match="made for another signature"):
        program().put_into(judge(TEN), "judge")
    (tmp_path / "p.json").write_text(program().text(), encoding="utf-8")
    prompt = ProgramPrompt(path=str(tmp_path / "p.json"))
    assert (prompt.id, prompt.language) == ("five-score-optimised", "en")
    prompt.check(FIVE)
    with pytest.raises(
        ConfigError, match="was made for rubric=five, and this run judges by rubric=ten"
    ):
        prompt.check(TEN)
    other = FIVE.model_copy(update={"direction": "higher_is_worse"})
    with pytest.raises(ConfigError, match="was changed since the program"):
        prompt.check(other)


@pytest.mark.parametrize("language", ["pt", "en"])
def test_the_shipped_programs_were_made_on_development_texts_of_the_rubric_as_it_is(
    language: str,
) -> None:
    config = compose_config([f"prompt=found_{language}"])
    prompt, rubric = (
        build(config["prompt"], "prompt"),
        build(config["rubric"], "rubric"),
    )
    prompt.check(rubric)
    assert (
        prompt.program.model.startswith("gemma-3-270m") and prompt.language == language
    )
    (asked,) = prompt.program.predictors.values()
    assert len(asked.demonstrations) == 6
    seen = [
        Item(id=f"shown-{n}", text=demo["text"])
        for n, demo in enumerate(asked.demonstrations)
    ]
    check_leaks(
        seen,
        CuratedDataset(
            parts=["pairs", "theses", "labelled", "adversarial", "controls"]
        ).load(),
    )
    development = {
        item.text
        for item in CuratedDataset(parts=["theses"], split="development").load()
    }
    assert {item.text for item in seen} <= development


def test_a_program_has_to_be_named_and_its_hash_is_of_what_is_asked(
    tmp_path: Path,
) -> None:
    for several in (
        {},
        {"path": "p.json", "shipped": "x"},
        {"path": "p.json", "registry": "x"},
    ):
        with pytest.raises(ConfigError, match=r"prompt.path=outputs"):
            RegisteredPrompt(**several)
    with pytest.raises(ConfigError, match="does not exist"):
        ProgramPrompt(path=str(tmp_path / "none.json"))
    hashes = []
    for n, change in enumerate(
        ({}, {"name": "other-name"}, {"predictors": predictors(judge())})
    ):
        (tmp_path / f"{n}.json").write_text(program(**change).text(), encoding="utf-8")
        hashes.append(ProgramPrompt(path=str(tmp_path / f"{n}.json")).hash(FIVE))
    assert hashes[0] == hashes[1] != hashes[2]


def test_what_changed_is_told_line_by_line() -> None:
    found, own = (
        changes(predictors(judge()), program().predictors),
        program().predictors,
    )
    told = {
        ("instructions", "removed"),
        ("instructions", "added"),
        ("demonstrations", "added"),
    }
    assert {*zip(found["part"], found["change"], strict=True)} >= told
    assert found.loc[found["part"] == "demonstrations", "text"].tolist() == [
        "[label 4.0] a shown text"
    ]
    assert {*changes(own, own)["change"]} == {"kept"}


@pytest.fixture
def store(migrated: Path, tmp_path: Path) -> str:
    """The address of a fresh local store."""
    return f"sqlite:///{shutil.copy(migrated, tmp_path)}"


def test_the_registry_keeps_versions_aliases_and_lineage(
    tmp_path: Path, optimise: Any, store: str
) -> None:
    uri = store
    optimise("copro", *COPRO, TRACKING.format(uri=uri))
    name = "shame-score-program"
    best, first = (
        RegisteredPrompt(registry=name, uri=uri),
        RegisteredPrompt(registry=name, alias="baseline", uri=uri),
    )
    assert best.program == load(tmp_path / "outputs/a/b/program.json")
    assert first.program == load(tmp_path / "outputs/a/b/baseline.json")
    assert best.program.lineage.optimizer == "copro"
    with pytest.raises(
        ConfigError, match=r"`prompt.alias` is 'gold'.*baseline, best, newest"
    ):
        RegisteredPrompt(registry=name, alias="gold", uri=uri)
    with pytest.raises(
        ConfigError, match=rf"not in the prompt registry.*There are: {name}"
    ):
        RegisteredPrompt(registry="nope", uri=uri)


def test_best_moves_only_to_what_was_shown_to_be_better_than_the_best(
    tmp_path: Path, optimise: Any, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    uri, name = store, "shame-score-program"
    words = [*COPRO, "engine.cache=false", TRACKING.format(uri=uri)]

    def best(folder: str, **model: Any) -> dict[str, Any]:
        optimise("copro", *words, folder=f"outputs/a/{folder}", **model)
        return dict(RegisteredPrompt(registry=name, uri=uri).program.predictors)

    def found(folder: str) -> dict[str, Any]:
        return dict(load(tmp_path / "outputs/a" / folder / "program.json").predictors)

    assert (
        best("1", writes="Judge as you please.")
        == load(tmp_path / "outputs/a/1/baseline.json").predictors
    )
    # better than the best, which was what it began with
    assert best("2") == found("2") != found("1")
    assert "`best` stays" not in capsys.readouterr().err
    assert best("3", writes=MAGIC + " Be brief.") == found("2") != found("3")
    assert (
        "`best` stays at version 2, with which it was not compared"
        in capsys.readouterr().err
    )
    assert best("4", kind=1) == found("2")  # the same program, found for another model
    assert "`best` stays" in capsys.readouterr().err
    assert (
        RegisteredPrompt(registry=name, alias="newest", uri=uri).program.model
        == "scripted-1"
    )
    client = MlflowClient(uri, uri)
    client.set_prompt_alias(
        name, "best", int(client.register_prompt(name, "Judge well.").version)
    )
    # what is no program is not compared
    optimise("copro", *words, folder="outputs/a/5")
    assert "`best` stays" in capsys.readouterr().err
