"""What is found outside a run of the pipeline is logged with its figures: a student, precedents, a
training."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Capture, put
from tests.tracking.test_tracking import only_run
from undogmatic.cli import main
from undogmatic.config.door import composed
from undogmatic.experiment import run_experiment
from undogmatic.reward import Alarm, reward
from undogmatic.safety.paths import conf_folder
from undogmatic.tracking.figures import figures


def table_of(client: Any, run: Any, name: str) -> dict[str, list[Any]]:
    """The rows of a table among the artifacts, by their first cell."""
    path = Path(client.download_artifacts(run.info.run_id, f"{name}.json"))
    return {
        row[0]: row[1:] for row in json.loads(path.read_text(encoding="utf-8"))["data"]
    }


def test_a_student_is_logged_with_its_file_by_the_command_and_by_a_run(
    client: Any, tmp_path: Path
) -> None:
    words = [
        "model=patterns",
        "dataset=curated_development",
        "run.limit=60",
        "analysis=labelled",
        "embeddings=letters",
    ]
    config, choices = composed([*words, "fit=student", "tracking.traces=0"], ())
    run_experiment(config, choices, tmp_path / "run")
    (run,) = [only_run(client)]
    assert "student.safetensors" in {
        file.path for file in client.list_artifacts(run.info.run_id)
    }
    assert run.data.metrics["student.teacher_spearman"] > 0
    assert not [
        name
        for name in run.data.params
        if name.startswith(("precedents", "nli", "prompt"))
    ]
    assert (run.data.params["embeddings"], run.data.params["embeddings.width"]) == (
        "letters",
        "8192",
    )
    (tmp_path / "run" / ".hydra").mkdir()
    (tmp_path / "run" / ".hydra" / "config.yaml").write_text(json.dumps(config))
    client.delete_run(run.info.run_id)
    main(
        [
            "distill",
            str(tmp_path / "run"),
            "embeddings=letters",
            "--out",
            str(tmp_path / "s.safetensors"),
        ]
    )
    told = only_run(client)
    assert "A student was fitted to 60 texts" in told.data.tags["mlflow.note.content"]
    assert {
        "teacher": "patterns-2 (judge score)",
        "n": "60",
    }.items() <= told.data.params.items()
    assert not [name for name in told.data.metrics if name.endswith(("_low", "_high"))]
    value, low, high = table_of(client, told, "results")["student.teacher_spearman"]
    assert low < value < high and value == told.data.metrics["student.teacher_spearman"]
    assert {"s.safetensors", "agreement.json"} <= {
        file.path for file in client.list_artifacts(told.info.run_id)
    }


def test_precedents_are_logged_where_it_is_asked_for(
    client: Any, tmp_path: Path, capsys: Capture
) -> None:
    text = put(tmp_path / "text.txt", "Tema 69 do STF e Tema 99999 do STF.")
    main(["precedents", str(text)])
    assert client.get_experiment_by_name("undogmatic") is None
    main(["precedents", str(text), "tracking=mlflow", "--json"])
    run = only_run(client)
    assert (
        run.info.run_id
        in json.loads("{" + capsys.readouterr().out.partition("\n{")[2])["tracking"]
    )
    assert run.data.metrics["precedents.citations"] == 2
    assert "Tema 99999" in str(table_of(client, run, "doubtful"))


def test_a_training_is_logged_with_its_course_and_the_looks(client: Any) -> None:
    spec = importlib.util.spec_from_file_location(
        "toy", conf_folder().parent / "examples" / "reward.py"
    )
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(toy := importlib.util.module_from_spec(spec))
    alarm = Alarm(lambda completions, **_: [0.5] * len(completions), every=2, looks=3)
    course = toy.train(alarm.watch(reward("shame", "patterns")), 8, 1)
    toy.log({"reward": "patterns", "track": True}, course, alarm)
    run = only_run(client)
    history = client.get_metric_history(run.info.run_id, "reward")
    assert [point.step for point in history] == list(range(8))
    assert history[-1].value == pytest.approx(course[-1].reward, abs=1e-3)
    assert list(table_of(client, run, "looks")) == [look.step for look in alarm.history]
    assert run.data.params == {"reward": "patterns"}


def test_a_figure_and_its_interval_are_one_row() -> None:
    table = figures({"a.b": 0.5, "a.b_low": 0.25, "a.b_high": 1.0, "n_low": 3.0})
    assert table.to_numpy().tolist() == [
        ["a.b", 0.5, 0.25, 1.0],
        ["n_low", 3.0, None, None],
    ]
