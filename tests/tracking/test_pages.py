"""What MLflow's pages show of a run: the verdict, scores and labels on traces, datasets, prompts;
and after a move."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.report.conftest import finished as reported  # noqa: F401  the fixture
from tests.tracking.test_tracking import (
    Make,
    finished,  # noqa: F401  the fixture
    only_run,
    traces_of,
)
from undogmatic.cli.doors import server_command
from undogmatic.records.results import Told
from undogmatic.runs.outcome import FinishedRun
from undogmatic.tracking import MlflowTracker
from undogmatic.tracking.store import address_of, pages

REPORT = """# May it be believed?

run, today

> **No.** It may not.
>
> Next: another.

![Scores](figures/ab_scores.png)

### Key figures

| Metric |
| --- |
| 85% |

## What was run
"""


@pytest.fixture
def labelled(finished: Make) -> FinishedRun:  # noqa: F811
    """A run with a label, two verdicts and a report."""
    results = [
        Told("ab", {"ab.share": 0.9}, standing="supported"),
        Told("labelled", {"labelled.agreement.error": 3.0}, standing="refuted"),
        Told("improvement", {}, standing="undecided", relative=True),
    ]
    run = finished(results=results)
    (run.folder / "report.md").write_text(REPORT, encoding="utf-8")
    items = [
        item.model_copy(update={"labels": {"overall": {"file": 25.0}}})
        for item in run.items[:1]
    ]
    return dataclasses.replace(run, items=[*items, *run.items[1:]])


def test_a_run_tells_its_verdict_and_its_traces_what_was_said(
    labelled: FinishedRun, client: Any
) -> None:
    MlflowTracker().log(labelled)
    MlflowTracker().log(labelled)
    run = only_run(client)
    assert run.data.tags["verdict"] == "no"
    assert (
        run.data.tags["mlflow.note.content"]
        == "> **No.** It may not.\n>\n> Next: another.\n\n\n| Metric |\n| --- |\n| 85% |"
    )
    traces = {
        trace.info.tags["item"]: trace.info
        for trace in traces_of(client, run.info.run_id)
    }
    said = {
        item: [(one.name, one.value) for one in info.assessments]
        for item, info in traces.items()
    }
    assert sorted(said["item-0"]) == [("judge_score", 0.0), ("label", 25.0)]
    assert said["item-1"] == [("judge_score", 10.0)]
    assert {info.request_preview for info in traces.values()} == {
        item.text for item in labelled.items
    }
    assert traces["item-1"].response_preview.startswith("10. porque")
    assert traces["item-2"].response_preview.startswith("no verdict (unparseable): ")


def test_a_dataset_and_a_prompt_have_pages_and_come_once(
    labelled: FinishedRun, client: Any
) -> None:
    for _ in range(2):
        MlflowTracker().log(labelled)
    experiment = client.get_experiment_by_name("undogmatic").experiment_id
    (dataset,) = client.search_datasets([experiment])
    assert (dataset.name, dataset.tags["records"]) == ("pairs eeeeeeee", "3 of 3")
    (prompt,) = client.search_prompts(f"experiment_id = '{experiment}'")
    assert [
        version.version for version in client.search_prompt_versions(prompt.name)
    ] == [1]


def test_a_store_that_was_moved_keeps_its_artifacts_and_says_where_to_look(
    labelled: FinishedRun, client: Any, tmp_path: Path
) -> None:
    MlflowTracker().log(labelled)
    run = only_run(client).info.run_id
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "mlruns", tmp_path / "elsewhere" / "a_b mlruns")
    store = address_of(tmp_path / "elsewhere" / "a_b mlruns" / "mlflow.db")
    server_command(store, 0, "127.0.0.1")
    from mlflow import MlflowClient

    moved = MlflowClient(store, store)
    assert "report.html" in {file.path for file in moved.list_artifacts(run)}
    assert (
        Path(moved.download_artifacts(run, "report.md", str(tmp_path))).read_text(
            encoding="utf-8"
        )
        == REPORT
    )
    MlflowTracker(store).log(
        dataclasses.replace(labelled, name="later", started=labelled.started + 60)
    )
    (page, *_), (name, *_) = pages(store).values(), pages(store)
    newest = page.rpartition("/")[2]
    assert (
        name == "the newest run, later"
        and moved.get_run(newest).info.run_name == "later"
    )
    assert not (tmp_path / "mlruns").exists()
    assert pages(address_of(tmp_path / "none.db")) == {}
