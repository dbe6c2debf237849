"""Logging to MLflow: what arrives, what never does, and what a user is told when nothing can."""

import contextlib
import dataclasses
import json
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import Patch, environment
from tests.report.conftest import Build, asked
from tests.report.conftest import finished as reported  # noqa: F401  the fixture
from undogmatic.errors import ConfigError
from undogmatic.examinations.run_rows import tabulate
from undogmatic.records.records import (
    Call,
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    Verdict,
)
from undogmatic.records.redaction import redact_judgment
from undogmatic.records.results import Told
from undogmatic.records.sweep_result import SweepResult
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import SWEEP_FOLDER, SWEEP_RUN
from undogmatic.safety.secrets import redacted
from undogmatic.tracking import MlflowTracker, NoTracker
from undogmatic.tracking.figures import rounded, telling
from undogmatic.tracking.rows import write_records
from undogmatic.tracking.store import opened
from undogmatic.tracking.traces import log_traces, mark_of, send, told_of
from undogmatic.tracking.tracker import run_name, tags

Make = Callable[..., FinishedRun]
SECRET_TEXT = "o texto que ninguém de fora deve ler"


@pytest.fixture
def finished(tmp_path: Path, provenance: Provenance, reported: Build) -> Make:  # noqa: F811
    """A finished run of `n` items, the last of which failed, with its files on disk."""

    def make(n: int = 3, folder: str = "outputs/run", **changes: Any) -> FinishedRun:
        items = [
            Item(id=f"item-{k}", text=f"{SECRET_TEXT} {k}", condition="explained_only")
            for k in range(n)
        ]
        judgments = []
        for k, item in enumerate(items):
            taken = {
                "input_tokens": 10,
                "output_tokens": 5,
                "usd": 0.001,
                "seconds": 0.25,
            }
            call = Call(
                model="fake-chat",
                request={
                    "messages": [{"role": "user", "content": item.text}],
                    "max_tokens": 5,
                },
                reply={
                    "text": f"sobre {item.text}",
                    "vector": [0.5] * 640,
                    "packed": "AAAA" * 640,
                },
                started=1_800_000_000.0 + k,
                cached=k == 0,
                **taken,
            )
            outcome: Verdict | Failure = Verdict(
                score=10.0 * k, confidence=80, rationale=f"porque {item.text}"
            )
            if k == n - 1:
                outcome = Failure(
                    reason="unparseable",
                    message=f"not JSON: {item.text}",
                    raw=item.text,
                )
            cost, about = (
                Cost(calls=1, usd=0.001, seconds=0.3),
                {
                    "provenance": provenance,
                    "calls": (call,),
                },
            )
            judgments.append(
                Judgment(
                    item_id=item.id, judge="score", outcome=outcome, cost=cost, **about
                )
            )
        place = tmp_path / folder
        (place / "figures").mkdir(parents=True)
        (place / "figures" / "ab_scores.png").write_bytes(b"png")
        (place / "report.html").write_text(f"<p>{SECRET_TEXT}</p>", encoding="utf-8")
        (place / "judgments.jsonl").write_text(SECRET_TEXT, encoding="utf-8")
        (place / "scores.csv").write_text("item_id,score\n", encoding="utf-8")
        model = {"api_key": "sk-123", "max_tokens": 400, "notes": "x" * 9000}
        values: dict[str, Any] = {
            "folder": place,
            "config": {"seed": 0, "model": model, "empty": None},
            "items": items,
            "judgments": judgments,
            "frame": tabulate(items, judgments, 1),
            "results": [Told("ab", {"ab.share": 0.9})],
            "metrics": {"judged": float(n - 1), "ab.share": 0.9},
            "asked": [asked("Judge the text.", uses_prompt=True)],
            "versions": {
                "python": "3.11",
                "git": "0123456789abcdef0123456789abcdef01234567+changes",
            },
        }
        return reported(**(values | changes))

    return make


def only_run(client: Any) -> Any:
    experiment = client.get_experiment_by_name("undogmatic")
    runs = client.search_runs([experiment.experiment_id])
    assert len(runs) == 1
    return runs[0]


def traces_of(client: Any, run_id: str) -> list[Any]:
    experiment = client.get_experiment_by_name("undogmatic").experiment_id
    return list(
        client.search_traces(locations=[experiment], run_id=run_id, max_results=500)
    )


def everything_in(folder: Path) -> bytes:
    return b"".join(
        file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()
    )


class TestLog:
    def test_a_run_arrives_whole_without_secrets(
        self, finished: Make, client: Any
    ) -> None:
        said = MlflowTracker().log(finished())
        run = only_run(client)
        assert run.info.run_id in said
        assert said.startswith("undogmatic ui")
        assert (run.info.run_name, run.info.status) == (
            "local-anchored_pt-score-pairs",
            "FINISHED",
        )
        assert run.info.end_time - run.info.start_time == 4_000
        assert run.data.metrics == {"judged": 2.0, "ab.share": 0.9}
        shown = {
            "model": "local",
            "seed": "0",
            "model.api_key": "***",
            "model.max_tokens": "400",
        }
        assert (
            shown.items() <= run.data.params.items() and "empty" not in run.data.params
        )
        assert len(run.data.params["model.notes"]) == 6000
        assert run.data.params["model.notes"].endswith("[cut: 9000 characters]")
        assert b"sk-123" not in everything_in(Path("mlruns"))
        assert (
            run.data.tags["mlflow.source.git.commit"]
            == "0123456789abcdef0123456789abcdef01234567"
        )
        assert run.data.tags["undogmatic.dataset_digest"] == "e" * 64
        files = {file.path for file in client.list_artifacts(run.info.run_id)}
        assert files >= {
            "report.html",
            "scores.csv",
            "judgments.jsonl",
            "judgments.json",
            "config.yaml",
            "figures",
        }
        (data,) = run.inputs.dataset_inputs
        assert (data.dataset.name, data.dataset.digest) == ("pairs", "e" * 36)
        assert not Path(
            "mlflow.db"
        ).exists()  # MLflow's own default store, which nothing here means
        path = client.download_artifacts(run.info.run_id, "judgments.json")
        table = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
        assert [row["item_id"] for row in rows] == ["item-0", "item-1", "item-2"]
        assert rows[1]["score"] == 10.0
        assert rows[1]["text"] == f"{SECRET_TEXT} 1"
        assert (rows[2]["score"], rows[2]["error"]) == (None, "unparseable")

    def test_a_folder_logged_again_replaces_its_run_and_keeps_its_traces(
        self, finished: Make, client: Any
    ) -> None:
        run = finished()
        MlflowTracker().log(run)
        first = only_run(client).info.run_id
        trace = traces_of(client, first)[0].info.trace_id
        client.set_trace_tag(trace, "reviewed", "by a person")
        MlflowTracker().log(run)
        second = only_run(client).info.run_id
        assert second != first
        again = traces_of(client, second)
        assert len(again) == 3
        assert [t.info.tags["reviewed"] for t in again if t.info.trace_id == trace] == [
            "by a person"
        ]

    def test_jobs_of_a_sweep_point_to_their_parent_and_the_folder_is_found_from_anywhere(
        self, finished: Make, client: Any, tmp_path: Path, monkeypatch: Patch
    ) -> None:
        run = finished(folder="here")
        monkeypatch.setenv(SWEEP_RUN, "the-parent")
        monkeypatch.chdir(tmp_path)
        MlflowTracker().log(dataclasses.replace(run, folder=Path("here")))
        logged = only_run(client).data.tags
        assert logged["mlflow.parentRunId"] == "the-parent"
        assert logged["undogmatic.folder"] == str(tmp_path / "here")


class TestTraces:
    def test_each_judgment_has_a_trace_with_its_calls_as_they_were(
        self, finished: Make, client: Any
    ) -> None:
        MlflowTracker().log(finished())
        run = only_run(client)
        assert run.data.tags["undogmatic.traces"] == "3 of 3"
        traces = {t.info.tags["item"]: t for t in traces_of(client, run.info.run_id)}
        judged, failed = traces["item-1"], traces["item-2"]
        assert (
            judged.info.response_preview
            == "10. porque o texto que ninguém de fora deve ler 1"
        )
        assert judged.info.request_preview == f"{SECRET_TEXT} 1"
        assert [(one.name, one.value) for one in judged.info.assessments] == [
            ("judge_score", 10.0)
        ]
        assert [one.error.error_code for one in failed.info.assessments] == [
            "unparseable"
        ]
        assert judged.info.request_time == 1_800_000_001_000
        root, call = judged.data.spans
        assert root.inputs["text"] == f"{SECRET_TEXT} 1"
        assert root.outputs["score"] == 10.0
        assert call.parent_id == root.span_id
        assert call.inputs["messages"][0]["content"] == f"{SECRET_TEXT} 1"
        assert call.outputs["vector"] == "[640 numbers, in judgments.jsonl]"
        assert call.outputs["packed"] == "[2560 characters of data, in judgments.jsonl]"
        assert call.end_time_ns - call.start_time_ns == pytest.approx(0.25e9, rel=1e-3)
        assert failed.info.state == "ERROR"
        assert failed.info.tags["error"] == "unparseable"
        assert traces["item-0"].info.tags["cached"] == "True"

    def test_tokens_of_a_call_without_a_price_are_counted_and_no_price_is_looked_for(
        self, finished: Make, client: Any, monkeypatch: Patch
    ) -> None:
        run, priced = finished(1), list[Any]()
        (judgment,) = run.judgments
        call = judgment.calls[0].model_copy(update={"usd": None})
        name = "mlflow.tracing.otel.translation.calculate_cost_by_model_and_token_usage"
        monkeypatch.setattr(name, lambda *asked: priced.append(asked))
        MlflowTracker().log(
            dataclasses.replace(
                run, judgments=[judgment.model_copy(update={"calls": (call, call)})]
            )
        )
        (trace,) = traces_of(client, only_run(client).info.run_id)
        assert (
            trace.info.token_usage["total_tokens"] == 30
            and not trace.info.cost
            and not priced
        )

    def test_the_rows_of_traces_are_those_that_mlflow_itself_makes(
        self, finished: Make, migrated: Path, tmp_path: Path
    ) -> None:
        run, others = (
            finished(),
            {
                "assessment_id",
                "association_id",
                "created_time",
                "created_timestamp",
            },
        )
        others |= {
            "destination_id",
            "last_updated_timestamp",
            "request_preview",
            "response_preview",
        }
        call, free = (
            run.judgments[0].calls[0],
            run.judgments[0].calls[0].model_copy(update={"usd": None}),
        )
        changes: list[dict[str, Any]] = [
            {"calls": (call, call)},
            {"calls": (call, free), "repeat": 1},
            {"calls": ()},
        ]
        judged = [
            j.model_copy(update=change)
            for j, change in zip(run.judgments, changes, strict=True)
        ]
        items = [item.model_copy(update={"label": 5.0}) for item in run.items]
        made: list[dict[str, list[Any]]] = []
        # the second time all is there already
        for ours, times in (
            (False, 1),
            (True, 1),
            (True, 2),
        ):
            shutil.copy(migrated, file := tmp_path / "traces.db")
            with opened(f"sqlite:///{file}", "undogmatic", "") as store:
                run_id, marks = (
                    store.client.create_run("1").info.run_id,
                    {mark_of("1", j): j for j in judged},
                )
                for _ in range(times):
                    if ours:
                        log_traces(store, run_id, items, marks, 1e9)
                    else:
                        send(store, run_id, told_of(items, marks, 1e9))
            with contextlib.closing(sqlite3.connect(file)) as database:
                tables = {}
                for name in (
                    "trace_info",
                    "trace_tags",
                    "spans",
                    "assessments",
                    "entity_associations",
                ):
                    found = pd.read_sql(
                        f"SELECT * FROM {name} ORDER BY 1, 2, 3", database
                    )
                    rows = found.drop(columns=others, errors="ignore").to_json(
                        orient="records", lines=True
                    )
                    tables[name] = sorted(rows.splitlines())
                made.append(tables)
        assert made[0] == made[1] == made[2] and len(made[0]["spans"]) == 7

    def test_the_records_of_a_dataset_are_those_that_mlflow_itself_makes(
        self, migrated: Path, tmp_path: Path
    ) -> None:
        record = {
            "inputs": {"item": "1", "text": "um"},
            "expectations": {"label": 5.0},
            "tags": {},
        }
        changes: list[dict[str, Any]] = [
            {},
            {"inputs": {"item": "2", "n": 1}, "expectations": {}},
        ]
        changes += [
            {"inputs": {"item": str(n)}, "tags": {"condition": "c"}}
            for n in range(3, 6)
        ]
        changes += [
            {"tags": {"again": "yes"}},
            {"inputs": {"item": "4"}, "expectations": {"label": 9.0}},
        ]
        from mlflow.tracing.client import TracingClient

        made, others = (
            list[list[str]](),
            [
                "dataset_record_id",
                "dataset_id",
                "digest",
                "created_time",
                "last_update_time",
            ],
        )
        for ours in (False, True):
            shutil.copy(migrated, file := tmp_path / "records.db")
            with opened(f"sqlite:///{file}", "undogmatic", "") as store:
                tables = TracingClient(store.uri).store
                into = tables.create_dataset("d", {}, ["1"]).dataset_id
                write = (
                    partial(write_records, tables)
                    if ours
                    else tables.upsert_dataset_records
                )
                write(into, [record | change for change in changes])
            with contextlib.closing(sqlite3.connect(file)) as database:
                for name in ("evaluation_datasets", "evaluation_dataset_records"):
                    found = pd.read_sql(f"SELECT * FROM {name}", database).drop(
                        columns=others, errors="ignore"
                    )
                    made.append(
                        sorted(found.to_json(orient="records", lines=True).splitlines())
                    )
        assert made[:2] == made[2:] and len(made[3]) == 5

    @pytest.mark.parametrize(
        ("most", "traced"), [(2, {"item-4", "item-0"}), (0, set())]
    )
    def test_failures_are_traced_before_others(
        self, finished: Make, client: Any, most: int, traced: set[str]
    ) -> None:
        MlflowTracker(traces=most).log(finished(5))
        run = only_run(client)
        assert run.data.tags["undogmatic.traces"] == f"{most} of 5"
        assert {
            t.info.tags["item"] for t in traces_of(client, run.info.run_id)
        } == traced


class TestPrompts:
    def test_one_version_per_content_and_a_deleted_one_hides_none_after_it(
        self, finished: Make, client: Any
    ) -> None:
        for folder, text in (
            ("a", "Judge."),
            ("b", "Judge."),
            ("c", "Judge otherwise."),
        ):
            MlflowTracker().log(
                finished(folder=folder, asked=[asked(text, uses_prompt=True)])
            )
        assert (
            client.get_prompt_version("shame-anchored_pt-score-probe", 1).template
            == "Judge."
        )
        assert (
            client.get_prompt_version("shame-anchored_pt-score-probe", 2).template
            == "Judge otherwise."
        )
        experiment = client.get_experiment_by_name("undogmatic").experiment_id
        linked = [
            run.data.tags["undogmatic.prompt"]
            for run in client.search_runs([experiment])
        ]
        assert sorted(linked) == [
            f"shame-anchored_pt-score-probe, version {n}" for n in (1, 1, 2)
        ]
        client.delete_prompt_version("shame-anchored_pt-score-probe", "1")
        MlflowTracker().log(
            finished(folder="d", asked=[asked("Judge otherwise.", uses_prompt=True)])
        )
        assert [
            version.version
            for version in client.search_prompt_versions(
                "shame-anchored_pt-score-probe"
            )
        ] == [2]

    def test_a_prompt_that_no_model_saw_is_not_registered(
        self, finished: Make, client: Any
    ) -> None:
        MlflowTracker().log(finished(asked=[asked("Judge.")]))
        assert list(client.search_prompts()) == []
        assert only_run(client).data.tags["undogmatic.uses_prompt"] == "false"


def test_no_text_leaves_a_redacted_run_and_scores_and_structure_stay(
    finished: Make, client: Any
) -> None:
    whole = finished()
    MlflowTracker(redact=True).log(whole)
    stored = everything_in(Path("mlruns"))
    assert SECRET_TEXT.encode() not in stored
    assert json.dumps(SECRET_TEXT)[1:-1].encode() not in stored
    assert redacted(f"{SECRET_TEXT} 1").encode() in stored
    run = only_run(client)
    assert {"report.html", "report.md"}.isdisjoint(
        f.path for f in client.list_artifacts(run.info.run_id)
    )
    assert len(traces_of(client, run.info.run_id)) == 3
    hidden = redact_judgment(whole.judgments[1])
    assert hidden.score == whole.judgments[1].score
    assert hidden.calls[0].request["messages"][0]["role"] == "user"
    assert SECRET_TEXT not in hidden.model_dump_json()


class TestSweep:
    def test_the_parent_holds_the_report_and_the_best_jobs_numbers(
        self, client: Any, tmp_path: Path
    ) -> None:
        tracker = MlflowTracker()
        parent = tracker.open_sweep("model=a,b", tmp_path, {"model": "a,b"})
        (tmp_path / "report.md").write_text("# sweep", encoding="utf-8")
        rows = [
            (1, "finished", "b", 0.9, 0.8, 1.0),
            (0, "failed", "a", None, None, None),
        ]
        jobs = pd.DataFrame(
            rows, columns=["number", "status", "model", "headline", "low", "high"]
        )
        nothing = pd.DataFrame()
        told = (jobs, ("model",), "ab.share", nothing, nothing)
        said = tracker.close_sweep(
            parent,
            "FAILED",
            SweepResult("s", tmp_path, "en", *told, failed=[("0", "gone")]),
        )
        run = only_run(client)
        assert parent in str(said) and run.info.status == "FAILED"
        assert run.data.params == {"model": "a,b"}
        assert run.data.metrics == {
            "sweep.jobs": 2,
            "sweep.failed": 1,
            "best.ab.share": 0.9,
        }
        assert {f.path for f in client.list_artifacts(parent)} == {
            "report.md",
            "jobs.json",
        }

    def test_an_interrupted_sweep_goes_on_with_its_parent(
        self, client: Any, tmp_path: Path
    ) -> None:
        tracker = MlflowTracker()
        parent = tracker.open_sweep("s", tmp_path, {})
        tracker.close_sweep(parent, "KILLED")
        assert tracker.open_sweep("s", tmp_path, {}, parent) == parent
        assert only_run(client).info.status == "RUNNING"
        client.delete_run(parent)
        assert tracker.open_sweep("s", tmp_path, {}, parent) != parent


class TestErrors:
    def test_an_address_that_cannot_work_is_refused_before_all_else(
        self, monkeypatch: Patch
    ) -> None:
        for uri in ("./mlruns", "file:///tmp/mlruns", "htp://host"):
            with pytest.raises(ConfigError, match=r"`tracking\.uri` is"):
                MlflowTracker(uri=uri)
        with pytest.raises(ConfigError, match=r"`tracking\.traces` is -1"):
            MlflowTracker(traces=-1)
        address = "http://user:hidden@localhost:1"
        with pytest.raises(
            ConfigError, match="MLFLOW_TRACKING_URI in the environment"
        ) as caught:
            MlflowTracker(address)
        assert "hidden" not in str(caught.value)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        assert MlflowTracker(address).uri == address

    def test_a_broken_database_says_where_the_results_are(self, finished: Make) -> None:
        Path("broken.db").write_bytes(b"this is not a database" * 100)
        run = finished()
        with pytest.raises(ConfigError) as error:
            MlflowTracker(uri="sqlite:///broken.db").log(run)
        assert "not a database" in str(error.value)
        assert f"run.resume={run.folder}" in str(error.value)

    def test_an_unreachable_server_is_given_up_without_its_password(
        self, finished: Make, monkeypatch: Patch
    ) -> None:
        monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://user:sesame@127.0.0.1:9/")
        with pytest.raises(ConfigError) as error:
            MlflowTracker(uri="http://user:sesame@127.0.0.1:9/").log(finished())
        assert "tracking=none" in str(error.value)
        assert "sesame" not in str(error.value)

    def test_a_deleted_experiment_is_named(self, finished: Make, client: Any) -> None:
        MlflowTracker().log(finished())
        client.delete_experiment(
            client.get_experiment_by_name("undogmatic").experiment_id
        )
        with pytest.raises(ConfigError, match="was deleted in MLflow"):
            MlflowTracker().log(finished(folder="other"))


def test_no_tracker_does_nothing(finished: Make, tmp_path: Path) -> None:
    tracker = NoTracker()
    assert (
        tracker.log(finished())
        is tracker.open_sweep("s", tmp_path, {})
        is tracker.close_sweep(None, "F")
        is None
    )
    assert not Path("mlruns").exists()


def test_four_processes_may_meet_at_a_fresh_store(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import os, sys
        from pathlib import Path
        from undogmatic.tracking import MlflowTracker
        from undogmatic.tracking.store import prepare_environment
        prepare_environment()
        # Once, before the fork: it takes seconds.
        import mlflow, mlflow.store.tracking.sqlalchemy_store, mlflow.store.model_registry.sqlalchemy_store
        children = []
        for n in range(4):
            child = os.fork()
            if child == 0:
                Path(f"{n}.id").write_text(MlflowTracker().open_sweep("s", Path("."), {"a": "b"}))
                os._exit(0)
            children.append(child)
        sys.exit(any(os.waitpid(child, 0)[1] for child in children))
        """)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len({file.read_text() for file in tmp_path.glob("*.id")}) == 4


def test_importing_the_package_does_not_import_mlflow() -> None:
    program = "import sys, undogmatic.tracking; sys.exit('mlflow' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", program], env=environment(), check=False
        ).returncode
        == 0
    )


class TestComparing:
    def test_jobs_are_named_by_what_sets_them_apart_and_a_headline_keeps_its_name(
        self, finished: Make, tmp_path: Path, monkeypatch: Patch
    ) -> None:
        figures = {
            "ab.share": 0.9,
            "ab.share_low": 0.8,
            "ab.share_high": 1.0,
            "ab.ties": 3.0,
        }
        figures |= {"ab.p": 0.04, "ab.rank_biserial": 0.5}
        result = Told("ab", figures, headline="ab.share")
        run = finished(results=[result], metrics={"judged": 2.0, **figures})
        with_ends = ["ab.share", "ab.share_low", "ab.share_high"]
        assert list(telling(run)) == [*with_ends, "ab.p", "ab.rank_biserial", "judged"]
        assert tags(run)["undogmatic.headline"] == "ab.share"
        typed = [
            "model=gpt",
            "prompt.demo_order=0,1",
            "model.api_base=http://a:9/v1",
            "dataset.path='a b.csv'",
        ]
        sweep = {"overrides": typed, "started": 1.0, "mlflow_run": None}
        (tmp_path / "s").mkdir()
        (tmp_path / "s" / "sweep.json").write_text(json.dumps(sweep))
        (run.folder / ".hydra").mkdir(exist_ok=True)
        of_job = [
            "model=gpt",
            "+prompt.demo_order=1",
            r"model.api_base=http\://a\:9/v1",
            r"dataset.path=a\ b.csv",
        ]
        (run.folder / ".hydra" / "overrides.yaml").write_text(json.dumps(of_job))
        assert run_name(run) == run.name
        monkeypatch.setenv(SWEEP_FOLDER, str(tmp_path / "s"))
        assert run_name(run) == "demo_order=1"

    @pytest.mark.parametrize(
        ("value", "told"),
        [
            (0.123456, 0.1235),
            (12345.0, 12345.0),
            (-28.15678, -28.16),
            (0.0000123456, 0.00001235),
        ],
    )
    def test_metrics_are_rounded_to_digits_that_count(
        self, value: float, told: float
    ) -> None:
        assert rounded(value) == pytest.approx(told, rel=1e-12)
