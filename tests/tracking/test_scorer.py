"""A judge that may be trusted is a scorer of MLflow, and no other is."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import undogmatic
import undogmatic.run  # registers the resolver that config.yaml uses
from tests.conftest import environment, put
from tests.optimize.conftest import NOUNS
from undogmatic.config.door import compose_config
from undogmatic.errors import ConfigError, DataError
from undogmatic.experiment import run_experiment
from undogmatic.models.fake import FakeModel
from undogmatic.tracking.scorer import said
from undogmatic.tracking.store import default_uri

FLAG = "MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS"
FAKE = ("model=fake", "model.kind=random")


def rows(trusted: bool, n: int = 80) -> list[dict[str, Any]]:
    """Texts of which people say what the fake judge says, or what nobody can foresee."""
    draw, model = random.Random(0), FakeModel("random")
    made = []
    for k in range(n):
        text = f"{' '.join(draw.choices(NOUNS, k=12))} {draw.random():.9f}"
        share = model.draw(text) + draw.gauss(0, 0.08) if trusted else draw.random()
        label = round(100 * min(1.0, max(0.0, share)))
        made.append({"id": f"t{k}", "text": text, "label": label})
    return made


def made_run(folder: Path, texts: list[dict[str, Any]], *overrides: str) -> Path:
    """The folder of a run of the fake judge over texts with labels."""
    put(folder.parent / f"{folder.name}.jsonl", texts)
    config = compose_config(
        [
            *FAKE,
            "dataset=texts",
            f"dataset.path={folder.parent / folder.name}.jsonl",
            "analysis=labelled",
            "tracking=none",
            *overrides,
        ]
    )
    choices = {
        "model": "fake",
        "prompt": "anchored_pt",
        "judge": "score",
        "dataset": "texts",
    }
    (folder / ".hydra").mkdir(parents=True)
    (folder / ".hydra" / "config.yaml").write_text(yaml.safe_dump(config))
    run_experiment(config, choices | {"analysis": "labelled"}, folder)
    return folder


EVALUATED = """
import json, os, sys
import mlflow
import undogmatic

mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("evaluated")
scorer = undogmatic.scorer(sys.argv[2])
first, second = sys.argv[3:]
data = [
    {"inputs": {"question": "?"}, "outputs": first},
    {"inputs": {"text": second}, "outputs": None},
]
found = mlflow.genai.evaluate(data=data, scorers=[scorer])
told = {"description": scorer.description, "mean": found.metrics["shame/mean"]}
try:
    scorer.register()
except mlflow.MlflowException as error:
    told["refused"] = str(error)
os.environ["MLFLOW_SERVER_ENABLE_CUSTOM_SCORERS"] = "true"
scorer.register()
again = mlflow.genai.scorers.get_scorer(name="shame")
told |= {"kept": again.description, "again": again(outputs=first).value}
print(json.dumps(told))
"""


def test_a_believed_judge_scores_in_mlflows_evaluate_with_its_answer_as_description(
    client: Any, tmp_path: Path
) -> None:
    texts = rows(trusted=True)
    folder = made_run(tmp_path / "yes", texts)
    judged = [row["text"] for row in texts[:2]]
    command = [sys.executable, "-c", EVALUATED, default_uri(), str(folder), *judged]
    done = subprocess.run(
        command,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    lines = told["description"].splitlines()
    assert lines[0].startswith("Yes. You may trust")
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "Use it for",
        "Not for",
        "Not known",
    ]
    draws = [100 * FakeModel("random").draw(text) for text in judged]
    assert told["mean"] == pytest.approx(sum(draws) / 2)
    assert FLAG in told["refused"]
    assert (told["kept"], told["again"]) == (
        told["description"],
        pytest.approx(draws[0]),
    )


def test_a_judge_that_may_not_be_believed_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    folder = made_run(tmp_path / "no", rows(trusted=False))
    with pytest.raises(
        ConfigError, match=r"should not be trusted, so it is no scorer of MLflow\. No"
    ):
        undogmatic.scorer(folder)


def test_what_was_not_held_against_labels_is_refused(tmp_path: Path) -> None:
    texts = [row | {"label": None} for row in rows(trusted=True, n=4)]
    folder = made_run(tmp_path / "none", texts, "analysis=none")
    with pytest.raises(ConfigError, match="was not held against labels of people"):
        undogmatic.scorer(folder)
    with pytest.raises(ConfigError, match="is no folder of a finished run"):
        undogmatic.scorer(tmp_path)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_run_registers_its_judge_where_mlflow_may_keep_code(
    client: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    trusted: bool,
) -> None:
    monkeypatch.setenv(FLAG, "true")
    made_run(tmp_path / "run", rows(trusted), "tracking=mlflow")
    experiment = client.get_experiment_by_name("undogmatic").experiment_id
    (run,) = client.search_runs([experiment])
    noted = run.data.tags.get("undogmatic.scorer")
    told = capsys.readouterr().err
    assert noted == ("shame, version 1" if trusted else None)
    assert ("not registered as a scorer of MLflow" in told) is not trusted


def test_what_is_judged_is_taken_by_name_and_else_is_the_output() -> None:
    config = json.dumps(compose_config(["model=patterns"]))
    bare = said(config, "shame", {"text": "STF Tema 69"}, None).value
    assert bare > 50
    assert said(config, "shame", {"question": "?"}, "STF Tema 69").value == bare
    assert (
        said(config, "shame", {"question": "?"}, {"text": "STF Tema 69"}).value == bare
    )
    with pytest.raises(DataError, match="`text` is missing"):
        said(config, "shame", {"question": "?"}, None)
    with pytest.raises(DataError, match="`text` is empty"):
        said(config, "shame", {"question": "?"}, " ")


@pytest.mark.local_model
def test_the_embedded_model_answers_as_a_scorer() -> None:
    """Without a network; that it may be trusted is not what is asked here."""
    config = json.dumps(compose_config(["model=local"]))
    bare, reasoned = (
        said(config, "shame", {"question": "?"}, text)
        for text in (
            "Aplica-se o Tema 69 do STF.",
            "A multa cai porque a convenção exige aviso, e o morador não o recebeu.",
        )
    )
    assert bare.value > reasoned.value
