"""`tracking=mlflow` logs a finished run or sweep to MLflow; `tracking=none` leaves it on disk."""

import contextlib
import getpass
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import yaml
from pydantic import Field

from undogmatic.errors import ConfigError, DataError
from undogmatic.records.progress import doing
from undogmatic.records.records import Failure, Verdict
from undogmatic.records.redaction import redact_item, redact_judgment
from undogmatic.records.results import ANSWERS, STANDINGS, headline_of
from undogmatic.records.stored import voices
from undogmatic.records.sweep_result import SweepResult
from undogmatic.runs.ahead import Step
from undogmatic.runs.folder import RunFolder
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety import files
from undogmatic.safety.command import SWEEP_FOLDER, SWEEP_RUN, say
from undogmatic.safety.secrets import scrub_data
from undogmatic.safety.spool import many, mapped
from undogmatic.tracking import otel, rows, view
from undogmatic.tracking.figures import (
    ENDS,
    LONGEST_KEY,
    cut,
    figures,
    log_all,
    log_tables,
    params,
    telling,
)
from undogmatic.tracking.logged_model import log_model
from undogmatic.tracking.notes import LABEL
from undogmatic.tracking.registry import log_programs, log_prompt, plain_name
from undogmatic.tracking.store import (
    Store,
    WithoutSecrets,
    check_store,
    check_uri,
    database,
    default_uri,
    loading,
    opened,
)
from undogmatic.tracking.traces import log_traces, mark_of

PLAN = "plan.json"  # in a run's folder: the plan that was locked
NOTE = "mlflow.json"  # in a run's folder: where it was logged
PROGRAMS = ("program.json", "baseline.json", "splits.json", "optimisation.json")
FILES = (
    "report.html",
    "report.md",
    "scores.csv",
    "judgments.jsonl",
    "metrics.json",
    *PROGRAMS,
    "figures",
    "tables",
)
NOTE_TAG = "mlflow.note.content"  # what MLflow shows as a run's description
MOST_RECORDS = 1000  # of a dataset's page
# Of the table of judgments, where a run has so many items that they are not held.
MOST_ROWS = 10_000
# They hold judged texts: a report quotes them, and a program has them as its demonstrations.
QUOTING = ("report.html", "report.md", "judgments.jsonl", *PROGRAMS[:2])
LONGEST_TAG, LONGEST_DIGEST = 5000, 36  # characters, MLflow's limits
TABLE = (
    "item_id judge criterion pair_id condition label repeat score raw_score low high confidence"
    " uncertainty is_uncertain revised_score usd seconds error"
).split()


class NoTracker:
    """Results stay on disk; with `redact`, what lies in the run's folder holds no judged text. With
    `otel`, a finished run is sent to an OpenTelemetry collector (`tracking/otel.py`)."""

    def __init__(self, redact: bool = False, otel: bool = False) -> None:
        self.redact, self.otel = redact, otel

    def check(self) -> None:
        """Raise ModuleNotFoundError where what sends evaluations is asked for and not
        installed."""
        if self.otel:
            otel.check_installed()

    def log(self, run: FinishedRun) -> str | None:
        """Send the run's evaluations, where that is asked for; where to, one line."""
        return _sent(run, self.redact) if self.otel else None

    def lock(self, *_: Any, **__: Any) -> None:
        """Do nothing: there is no parent run, and a plan's hash is in the folder."""

    open_sweep = close_sweep = log_found = lock

    def ahead(self) -> Sequence[Step]:
        """What can be loaded before it is needed: nothing."""
        return ()


class MlflowTracker:
    """Logs runs and sweeps to MLflow. What writes raises ConfigError where MLflow cannot be reached
    or written; what was judged by then is on disk.

    With `redact`, judged texts and what models said about them are kept as hash and length alone,
    in the run's own folder (journal, report) as in MLflow; reports stay on disk.
    """

    def __init__(
        self,
        # A server or a database; None is `mlruns/mlflow.db` in the current folder.
        uri: str | None = None,
        experiment: str = "undogmatic",  # its name in MLflow
        # At most so many judgments are traced with their calls (failures first); the run's tag says
        # how many.
        traces: Annotated[int, Field(le=1_000_000)] = 200,
        redact: bool = False,
        # Whether a finished run is sent to an OpenTelemetry collector too (`tracking/otel.py`).
        otel: bool = False,
    ) -> None:
        if uri is not None:
            check_uri(uri)
        if not experiment.strip():
            raise ConfigError(
                "`tracking.experiment` is empty; give it a name, e.g."
                " tracking.experiment=undogmatic."
            )
        if traces < 0:
            raise ConfigError(
                f"`tracking.traces` is {traces}; it must be 0 (none) or more."
            )
        self.uri = uri
        self.experiment = experiment
        self.traces = traces
        self.redact = redact
        self.otel = otel

    def check(self) -> None:
        """Raise ConfigError if it is known already that the store cannot be used, and
        ModuleNotFoundError where what sends evaluations is asked for and not installed."""
        check_store(self.uri)
        if self.otel:
            otel.check_installed()

    def ahead(self) -> Sequence[Step]:
        """The steps that load MLflow, for one who has time for it before there is anything to
        log."""
        return loading(self.uri)

    def lock(
        self, folder: Path, name: str, plan: Mapping[str, Any], digest: str
    ) -> None:
        """Log a plan before anything is judged, as a run of its own that bears the plan's hash;
        once per folder."""
        # A plan that is locked again after looking at results would lock nothing.
        if RunFolder(folder).has(PLAN):
            return
        with opened(self.uri, self.experiment, "Nothing was judged yet.") as store:
            tags = {
                "undogmatic.kind": "plan",
                "undogmatic.plan": digest,
                "undogmatic.folder": str(folder.absolute()),
            }
            made = store.client.create_run(
                store.experiment_id, run_name=f"plan of {name}", tags=tags
            ).info.run_id
            store.client.log_dict(made, dict(plan), "plan.json")
            store.client.set_terminated(made, "FINISHED")
        noted = {"digest": digest, "plan": dict(plan), "run_id": made}
        files.write(
            folder / PLAN, json.dumps(noted, indent=2, ensure_ascii=False) + "\n"
        )

    def log(self, run: FinishedRun) -> str:
        """Log a finished run, and send its evaluations where that is asked for. Returns how to look
        at it, one line."""
        told = self._log(run)
        return f"{told}; {_sent(run, self.redact)}" if self.otel else told

    def _log(self, run: FinishedRun) -> str:
        """Log a finished run with everything that its folder and its records hold.

        A folder that was logged before (a continued run) gets a new MLflow run in place of the old
        one. Returns how to look at it, one line.
        """
        kept = (
            f"The results are in {run.folder}; to log them: the same command with"
            f" run.resume={run.folder}."
        )
        if self.redact:
            # First of all, so that nothing below can log a text by oversight.
            run = replace(
                run,
                items=mapped(redact_item, run.items),
                judgments=mapped(redact_judgment, run.judgments),
            )
        # which needs DSPy; what checks logs without it
        from undogmatic.tracking.scorer import register

        with opened(self.uri, self.experiment, kept) as store:
            before = _logged_before(run.folder, store)
            # MLflow counts in milliseconds. The run began when judging did, and not now.
            started = int(run.started * 1000)
            made = store.client.create_run(
                store.experiment_id,
                start_time=started,
                tags=tags(run),
                run_name=run_name(run),
            )
            run_id = made.info.run_id
            note = {
                "uri": store.address,
                "experiment": self.experiment,
                "run_id": run_id,
            }
            # Before anything else is logged: if that fails, the next try finds this run and
            # replaces it.
            files.write(run.folder / NOTE, json.dumps(note, indent=2) + "\n")
            logged = table(run)
            noted = log_tables(
                store,
                run_id,
                judgments=logged,
                results=figures(telling(run) | dict(run.metrics)),
            )
            if len(logged) < len(run.frame):
                noted["undogmatic.judgments"] = f"{len(logged)} of {len(run.frame)}"
            students = sorted(file.name for file in run.folder.glob("*.safetensors"))
            kept_files = [
                name for name in FILES if not (self.redact and name in QUOTING)
            ]
            _log_folder(store, run_id, run.folder, [*kept_files, *students])
            if self.redact and len(run.judgments) <= MOST_ROWS:
                lines = "".join(f"{j.model_dump_json()}\n" for j in run.judgments)
                store.client.log_text(run_id, lines, "judgments.jsonl")
            config = yaml.safe_dump(
                scrub_data(dict(run.config)), sort_keys=False, allow_unicode=True
            )
            store.client.log_text(run_id, config, "config.yaml")
            if run.uses_prompt:
                store.client.log_text(
                    run_id, run.prompt_text, f"prompt/{plain_name(run.prompt_id)}.txt"
                )
            on = log_dataset(store, run_id, run)
            register_dataset(store, run)
            model = log_model(store, run_id, run, described(run.folder))
            noted |= (
                log_prompt(store, run) | log_programs(store, run) | register(store, run)
            )
            with doing("logging the run: traces"):
                # The failures first, for they are what one looks up.
                failed = (j for j in run.judgments if isinstance(j.outcome, Failure))
                others = (
                    j for j in run.judgments if not isinstance(j.outcome, Failure)
                )
                # The frame knows whether there are any; to look through a million judgments on
                # disk for none takes long.
                first = (
                    [*islice(failed, self.traces)]
                    if run.frame["error"].notna().any()
                    else []
                )
                first += islice(others, self.traces - len(first))
                chosen = {mark_of(store.experiment_id, j): j for j in first}
                written = log_traces(store, run_id, run.items, chosen, run.started)
                told = f"{written} of {len(run.judgments)}"
                if written < len(chosen):
                    told += (
                        " (this server is older than MLflow 3.4, which first took traces in"
                        " batches)"
                    )
                noted["undogmatic.traces"] = told
            log_all(
                store, run_id, params(run), telling(run), noted, model and model | on
            )
            view.show(store, headline_of(run.results))
            store.client.set_terminated(
                run_id, "FINISHED", int((run.started + run.seconds) * 1000)
            )
            # Last, so that a failure above leaves the older run where it was.
            if before is not None:
                store.client.delete_run(before)
            return where(store, run_id)

    def open_sweep(
        self,
        name: str,
        folder: Path,
        params: Mapping[str, str],
        run_id: str | None = None,
    ) -> str:
        """Create the parent run of a sweep (or go on with `run_id`, if it is still there); returns
        its id."""
        with opened(self.uri, self.experiment, "Nothing was judged yet.") as store:
            # A sweep that goes on keeps its parent, or its jobs would hang under two.
            if run_id is not None and still_there(store, run_id):
                store.client.update_run(run_id, status="RUNNING")
                return run_id
            tags = {
                "undogmatic.kind": "sweep",
                "undogmatic.folder": str(folder.absolute()),
            }
            tags["mlflow.source.name"] = "undogmatic"
            parent = store.client.create_run(
                store.experiment_id, run_name=name, tags=tags
            ).info.run_id
            log_all(store, parent, params=scrub_data(dict(params)))
            return str(parent)

    def close_sweep(
        self, run_id: str | None, status: str, result: SweepResult | None = None
    ) -> str | None:
        """End the parent run with `status` ("FINISHED", "FAILED", "KILLED") and log the sweep's
        report to it. Returns how to look at it, one line."""
        if run_id is None:
            return None
        kept = (
            "The jobs' results are on disk."
            if result is None
            else f"The sweep's report is in {result.folder}."
        )
        with opened(self.uri, self.experiment, kept) as store:
            if result is not None:
                metrics = {
                    "sweep.jobs": float(result.count),
                    "sweep.failed": float(len(result.failed)),
                }
                finished = result.jobs[result.jobs["status"] == "finished"]
                if result.headline is not None and finished["headline"].notna().any():
                    metrics[f"best.{result.headline}"] = float(
                        finished["headline"].iloc[0]
                    )
                for name in ("jobs", "comparisons", "agreement"):
                    table = getattr(result, name)
                    if len(table):
                        store.client.log_dict(
                            run_id,
                            json.loads(table.to_json(orient="split")),
                            f"{name}.json",
                        )
                _log_folder(store, run_id, result.folder, [*FILES[:2], "figures"])
                noted = {NOTE_TAG: described(result.folder)} | _answer_of(result)
                log_all(store, run_id, metrics=metrics, tags=noted)
            store.client.set_terminated(run_id, status)
            return where(store, run_id)

    def log_found(
        self,
        kind: str,
        name: str,
        params: Mapping[str, Any],
        metrics: Mapping[str, float | Sequence[float]],
        said: Sequence[str],
        tables: Mapping[str, pd.DataFrame] | None = None,
        made: Sequence[Path] = (),
    ) -> str:
        """Log what was found outside a run of the pipeline, e.g. by `undogmatic distill`, as a run
        of its own.

        Args:
            kind: What found it; a tag. name: Of the run.
            params, metrics: A metric of several values is drawn over its steps; ends of intervals
                go to a table.
            said: The sentences that tell what was found; the run's description.
            tables: Artifacts, by name. made: Files that are artifacts.
        Returns:
            How to look at it, one line.
        """
        with opened(
            self.uri, self.experiment, "What was found was written and printed."
        ) as store:
            tags = {
                "undogmatic.kind": kind,
                "mlflow.source.name": "undogmatic",
                NOTE_TAG: "\n\n".join(said),
            }
            run_id = str(
                store.client.create_run(
                    store.experiment_id, run_name=name, tags=tags
                ).info.run_id
            )
            kept = {name: v for name, v in metrics.items() if not name.endswith(ENDS)}
            last = {
                name: v for name, v in metrics.items() if isinstance(v, int | float)
            }
            noted = log_tables(store, run_id, results=figures(last), **(tables or {}))
            log_all(
                store,
                run_id,
                {k: str(v) for k, v in scrub_data(dict(params)).items()},
                kept,
                noted,
            )
            for path in made:
                store.client.log_artifact(run_id, str(path))
            store.client.set_terminated(run_id)
            return where(store, run_id)


def _sent(run: FinishedRun, hide: bool) -> str:
    """Send a run's evaluations to an OpenTelemetry collector; where to, one line."""
    with doing("sending the evaluations"):
        times = (run.started, run.started + run.seconds)
        return otel.send(
            f"undogmatic run {run_name(run)}", otel.of_run(run, hide), times
        )


def _log_folder(store: Store, run_id: str, place: Path, names: Sequence[str]) -> None:
    """Log those of a folder's files and folders that are there."""
    for name in names:
        if (place / name).is_file():
            store.client.log_artifact(run_id, str(place / name))
        elif (place / name).is_dir():
            store.client.log_artifacts(run_id, str(place / name), name)


def _logged_before(folder: Path, store: Store) -> str | None:
    """The MLflow run that this folder was logged as, if it is still in this store."""
    try:
        note = RunFolder(folder).json(NOTE)
    except DataError as error:
        say(f"{error} The run is logged anew beside what was logged then.")
        return None
    run_id = note.get("run_id")
    # In another store the same id would be nobody's, and is left alone.
    if not run_id or note.get("uri") != store.address:
        return None
    return run_id if still_there(store, run_id) else None


def still_there(store: Store, run_id: str) -> bool:
    """Whether the run is in this experiment and was not deleted."""
    # `get_run` also answers for deleted runs, and raises for others.
    return bool(
        store.client.search_runs(
            [store.experiment_id], f"attributes.run_id = '{run_id}'", max_results=1
        )
    )


def where(store: Store, run_id: str) -> str:
    """The command or address under which a run can be looked at."""
    page = f"#/experiments/{store.experiment_id}/runs/{run_id}"
    if database(store.uri) is None and store.uri.startswith("http"):
        return f"{store.address.rstrip('/')}/{page}"
    command = (
        "undogmatic ui"
        if store.uri == default_uri()
        else f"undogmatic ui --uri {store.address}"
    )
    return f"{command}  (/{page})"


def tags(run: FinishedRun) -> dict[str, str]:
    """Git commit, versions, hashes and, for a job of a sweep, the parent run."""
    commit = run.versions.get("git", "unknown")
    tags = {
        "undogmatic.kind": "run",
        "undogmatic.folder": str(run.folder.absolute()),
        "undogmatic.identity": run.identity,
        "undogmatic.dataset_digest": run.dataset_digest,
        "undogmatic.prompt_hash": run.prompt_hash,
        "undogmatic.uses_prompt": str(run.uses_prompt).lower(),
        "undogmatic.model": run.model_name,
        "undogmatic.status": "finished",
        "undogmatic.headline": headline_of(run.results) or "",
        "undogmatic.git": commit,
        "mlflow.source.name": "undogmatic",
        "mlflow.source.type": "LOCAL",
    }
    tags["undogmatic.versions"] = ", ".join(
        f"{package} {v}" for package, v in run.versions.items() if package != "git"
    )
    if (verdict := verdict_of(run)) is not None:
        tags["verdict"] = verdict
    tags[NOTE_TAG] = described(run.folder)
    if re.match("[0-9a-f]{40}", commit):
        tags["mlflow.source.git.commit"] = commit.partition("+")[0]
    if parent := os.environ.get(SWEEP_RUN):
        tags["mlflow.parentRunId"] = parent
    return {k: cut(v, LONGEST_TAG) for k, v in tags.items()}


def run_name(run: FinishedRun) -> str:
    """The run's name; of a job of a sweep what sets it apart, so that MLflow's pages can tell the
    jobs apart."""
    parent = os.environ.get(SWEEP_FOLDER)
    if parent is None or run.settings.named:
        return run.name
    of_job = [
        word.lstrip("+~")
        for word in RunFolder(run.folder).apart_from(RunFolder(Path(parent)))
    ]
    words = [
        word.partition("=") for word in of_job if not word.startswith("run.limit=null")
    ]
    told = [f"{key.rpartition('.')[2]}={value}" for key, _, value in words]
    return cut(str(scrub_data(" ".join(told))), LONGEST_KEY) or run.name


def table(run: FinishedRun) -> pd.DataFrame:
    """The judgments as a table: numbers, the judged text and the reason given. Of many, some at
    even steps."""
    frame = run.frame
    if many(run.items) and len(frame) > MOST_ROWS:
        frame = frame.iloc[:: math.ceil(len(frame) / MOST_ROWS)]
    shown_items = set(frame["item_id"])
    texts = {item.id: item.text for item in run.items if item.id in shown_items}
    reasons = {
        j.key: getattr(
            j.outcome, "rationale" if isinstance(j.outcome, Verdict) else "message"
        )
        for j in run.judgments
        if j.item_id in shown_items
    }
    # Columns that say the same in every row take the room of those that do not.
    several = len(voices(frame)) > 1
    shown = [
        column
        for column in TABLE
        if column in frame and (several or column not in ("judge", "criterion"))
    ]
    table = frame[shown].copy()
    keys = frame[["item_id", "judge", "criterion", "repeat"]].itertuples(
        index=False, name=None
    )
    table["text"] = [texts[item] for item in frame["item_id"]]
    table["rationale"] = [reasons.get(key) for key in keys]
    return table.astype(object).where(table.notna(), None)


def verdict_of(run: FinishedRun) -> str | None:
    """The worst verdict of the run's analyses in a word, by which MLflow can sort its runs."""
    own = [
        result
        for result in run.results
        if result.standing is not None and not result.relative
    ]
    worst = min(own, key=lambda result: STANDINGS.index(result.standing), default=None)
    if worst is None:
        return None
    return (worst.verdict and worst.verdict.answer) or ANSWERS[worst.standing]


def _answer_of(result: SweepResult) -> dict[str, str]:
    """The answer of a sweep as the tag by which its jobs are sorted too."""
    # Findings of verdicts stand before all others.
    answer = next((found.answer for found in result.findings[: result.verdicts]), None)
    return {"verdict": answer} if answer else {}


def described(folder: Path) -> str:
    """The verdict and the key figures of the report as the description of the run or sweep, without
    headings, of which MLflow would show little else. Empty where there is no report."""
    report = folder / "report.md"
    text = report.read_text(encoding="utf-8") if report.is_file() else ""
    # What stands below the title, and below the next heading; empty parts stand in for those
    # that a short report lacks.
    parts = [*re.split(r"^#+ .*\n", text, flags=re.MULTILINE), "", "", ""]
    _, below_title, after, *_ = parts
    verdict = "\n".join(
        line for line in below_title.splitlines() if line.startswith(">")
    )
    figures_table = after if after.strip().startswith("|") else ""
    return cut(f"{verdict}\n\n{figures_table}".strip(), LONGEST_TAG)


def register_dataset(store: Store, run: FinishedRun) -> None:
    """Keep the items and their labels as a dataset of MLflow, with a page of its own, where these
    are not there yet.

    Of a large dataset the first items are kept, and its tag says how many. Nothing for a server
    that has no datasets.
    """
    from mlflow.exceptions import MlflowException
    from mlflow.tracing.client import TracingClient

    name = f"{run.choices.get('dataset', 'dataset')} {run.dataset_digest[:8]}"
    shown = run.items[:MOST_RECORDS]
    records = [
        {
            "inputs": {"item": item.id, **item.inputs},
            "expectations": {LABEL: item.label} if item.label is not None else {},
            "tags": {} if item.condition is None else {"condition": item.condition},
        }
        for item in shown
    ]
    try:
        if store.client.search_datasets([store.experiment_id], f"name = '{name}'"):
            return
        tags = {
            "digest": run.dataset_digest,
            "records": f"{len(shown)} of {len(run.items)}",
        }
        with contextlib.suppress(KeyError, OSError):  # a user without a name
            tags["mlflow.user"] = getpass.getuser()
        # The client asks Git about the program first, and a dataset's own method writes to the
        # process-wide store.
        tables = TracingClient(store.uri).store
        made = WithoutSecrets(tables).create_dataset(name, tags, [store.experiment_id])
        if hasattr(tables, "ManagedSessionMaker"):
            rows.write_records(tables, made.dataset_id, records)
        else:
            WithoutSecrets(tables).upsert_dataset_records(made.dataset_id, records)
    except (MlflowException, NotImplementedError) as error:
        say(f"The dataset has no page in MLflow: {str(error).splitlines()[0]}")


def log_dataset(store: Store, run_id: str, run: FinishedRun) -> dict[str, str]:
    """Log name, digest and shape of the dataset, and return the first two as metrics tell them; its
    texts are in the judgments table."""
    from mlflow.data.code_dataset_source import CodeDatasetSource
    from mlflow.data.pandas_dataset import from_pandas
    from mlflow.entities import DatasetInput, InputTag

    # MLflow keeps of this table the shape and the types of columns alone.
    known = [
        (i.id, i.condition or "", math.nan if i.label is None else float(i.label))
        for i in (run.items[:MOST_RECORDS] if many(run.items) else run.items)
    ]
    table = pd.DataFrame(known, columns=["item_id", "condition", "label"])
    name = run.choices.get("dataset", "dataset")
    # Without a source MLflow looks for one, and imports a client of Git for it.
    source = CodeDatasetSource({"mlflow.source.name": "undogmatic"})
    digest = run.dataset_digest[:LONGEST_DIGEST]
    dataset = from_pandas(table, source=source, name=name, digest=digest)
    # The public `mlflow.log_input` writes to the run and the store that are active in the process.
    entity = dataset._to_mlflow_entity()
    store.client.log_inputs(
        run_id, [DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])]
    )
    return {"dataset_name": name, "dataset_digest": digest}
