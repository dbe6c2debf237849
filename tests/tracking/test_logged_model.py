"""What MLflow keeps of a judge beside its runs: a logged model with the metrics of all of them, and
the view that opens with verdict and headline."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pandas as pd

from tests.report.conftest import finished as reported  # noqa: F401  the fixture
from tests.tracking.test_tracking import Make, finished  # noqa: F401  the fixture
from undogmatic.records.results import Finding, Told
from undogmatic.records.sweep_result import SweepResult
from undogmatic.runs.outcome import FinishedRun
from undogmatic.tracking import MlflowTracker
from undogmatic.tracking.store import VIEW_TAG, pages


def ab(run: FinishedRun, **changes: Any) -> FinishedRun:
    """The run with an interval of its headline."""
    figures = {"ab.share": 0.9, "ab.share_low": 0.8, "ab.share_high": 1.0}
    result = Told("ab", figures, headline="ab.share", standing="supported")
    return dataclasses.replace(run, results=[result], metrics=figures, **changes)


def test_two_runs_of_a_judge_hang_their_metrics_on_one_logged_model(
    finished: Make,  # noqa: F811
    client: Any,
) -> None:
    first = finished()
    MlflowTracker().log(ab(first))
    MlflowTracker().log(ab(finished(folder="outputs/other"), dataset_digest="f" * 64))
    experiment = client.get_experiment_by_name("undogmatic").experiment_id
    (model,) = client.search_logged_models([experiment])
    assert model.name == "local-anchored_pt-score" and model.model_type == "judge"
    assert model.params["prompt.text"] == "Judge the text."
    told = {
        (metric.key, metric.dataset_digest, metric.value) for metric in model.metrics
    }
    assert {digest for _, digest, _ in told} == {"f" * 36, first.dataset_digest[:36]}
    assert {(key, value) for key, _, value in told} == {
        ("ab.share", 0.9),
        ("ab.share_low", 0.8),
        ("ab.share_high", 1.0),
    }
    runs = [client.get_run(run.info.run_id) for run in client.search_runs([experiment])]
    links = [(run.inputs.model_inputs, run.outputs.model_outputs) for run in runs]
    linked = [each.model_id for one in links for side in one for each in side]
    assert linked == [model.model_id] * 2


def test_another_judge_has_a_logged_model_of_its_own(
    finished: Make,  # noqa: F811
    client: Any,
) -> None:
    run = finished()
    MlflowTracker().log(ab(run))
    other = run.judgments[0].provenance.model_copy(update={"config_hash": "e" * 64})
    judged = [
        judgment.model_copy(update={"provenance": other}) for judgment in run.judgments
    ]
    MlflowTracker().log(ab(finished(folder="outputs/other"), judgments=judged))
    experiment = client.get_experiment_by_name("undogmatic").experiment_id
    assert len(client.search_logged_models([experiment])) == 2


def test_the_table_of_runs_opens_with_verdict_and_headline(
    finished: Make,  # noqa: F811
    client: Any,
) -> None:
    MlflowTracker().log(ab(finished()))
    other = Told("labelled", {"labelled.r": 0.5}, headline="labelled.r")
    MlflowTracker().log(
        finished(folder="outputs/b", results=[other], metrics={"labelled.r": 0.5})
    )
    MlflowTracker().log(ab(finished(folder="outputs/c")))
    experiment = client.get_experiment_by_name("undogmatic")
    columns = json.loads(experiment.tags[VIEW_TAG])["columnOrder"]
    assert columns[:4] == [
        "tags.`verdict`",
        "metrics.`ab.share`",
        "metrics.`ab.share_low`",
        "metrics.`ab.share_high`",
    ]
    assert columns.count("metrics.`labelled.r`") == 1
    assert pages(None)["all runs"].endswith("/runs?viewStateShareKey=undogmatic")


def test_a_view_that_somebody_damaged_is_made_anew(
    finished: Make,  # noqa: F811
    client: Any,
) -> None:
    MlflowTracker().log(finished())
    experiment = client.get_experiment_by_name("undogmatic")
    client.set_experiment_tag(experiment.experiment_id, VIEW_TAG, "no json")
    MlflowTracker().log(ab(finished(folder="outputs/b")))
    tags = client.get_experiment(experiment.experiment_id).tags
    assert "metrics.`ab.share`" in json.loads(tags[VIEW_TAG])["selectedColumns"]


def test_the_parent_of_a_sweep_has_the_verdict_by_which_runs_are_sorted(
    client: Any, tmp_path: Path
) -> None:
    tracker, nothing = MlflowTracker(), pd.DataFrame()
    parent = tracker.open_sweep("s", tmp_path, {})
    jobs = pd.DataFrame(
        [(0, "finished", 0.9)], columns=["number", "status", "headline"]
    )
    told = (jobs, (), "ab.share", nothing, nothing)
    answer = Finding("sweep.verdict", answer="no")
    result = SweepResult("s", tmp_path, "en", *told, findings=[answer])
    tracker.close_sweep(parent, "FINISHED", result)
    assert client.get_run(parent).data.tags["verdict"] == "no"
