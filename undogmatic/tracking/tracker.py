"""`tracking=mlflow` logs a finished run or sweep to MLflow; `tracking=none` leaves it on disk."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.errors import ConfigError
from undogmatic.records import Verdict
from undogmatic.tracking.hide import redact_judgment, redacted, scrub
from undogmatic.tracking.store import Store, check_uri, database, default_uri, opened
from undogmatic.tracking.traces import choose, log_traces

if TYPE_CHECKING:
    import pandas as pd

    from undogmatic.outcome import FinishedRun, SweepResult

PARENT = "UNDOGMATIC_SWEEP_RUN"  # environment variable: the MLflow run of the sweep that a job belongs to
NOTE = "mlflow.json"  # in a run's folder: where it was logged
LONGEST_PARAM = 6000  # characters, MLflow's limit
LONGEST_TAG = 5000
LONGEST_DIGEST = 36
AT_ONCE = 100  # parameters in one request, MLflow's limit

FILES = ("report.html", "report.md", "scores.csv", "judgments.jsonl", "metrics.json")
QUOTING = ("report.html", "report.md", "judgments.jsonl")  # they hold judged texts
FOLDERS = ("figures", "tables")
TABLE = (
    "item_id pair_id condition label repeat score raw_score low high confidence uncertainty usd seconds error"
).split()


class NoTracker:
    """Results stay on disk."""

    def log(self, run: FinishedRun) -> str | None:
        """Do nothing."""
        return None

    def open_sweep(self, name: str, folder: Path, params: Mapping[str, str], run_id: str | None = None) -> str | None:
        """Do nothing; there is no parent run."""
        return None

    def close_sweep(self, run_id: str | None, status: str, result: SweepResult | None = None) -> str | None:
        """Do nothing."""
        return None


class MlflowTracker:
    """Logs runs and sweeps to MLflow.

    Args:
        uri: A server or a database; None is `mlruns/mlflow.db` in the current folder.
        experiment: Name of the MLflow experiment.
        traces: At most so many judgments are traced with their calls (failures first); the run's tag says how many.
        redact: Judged texts, and what models said about them, leave only as hash and length; the files that quote them
            (reports, raw journal) stay on disk.
    """

    def __init__(
        self, uri: str | None = None, experiment: str = "undogmatic", traces: int = 200, redact: bool = False
    ) -> None:
        if uri is not None:
            check_uri(uri)
        if not experiment.strip():
            raise ConfigError("`tracking.experiment` is empty; give it a name, e.g. tracking.experiment=undogmatic.")
        if traces < 0:
            raise ConfigError(f"`tracking.traces` is {traces}; it must be 0 (none) or more.")
        self.uri, self.experiment, self.traces, self.redact = uri, experiment, traces, redact

    def log(self, run: FinishedRun) -> str:
        """Log a finished run with everything that its folder and its records hold.

        A folder that was logged before (a continued run) gets a new MLflow run in place of the old one.

        Returns:
            How to look at it, one line.
        Raises:
            ConfigError: MLflow cannot be reached or written; the results are on disk.
        """
        kept = f"The results are in {run.folder}; to log them: the same command with run.resume={run.folder}."
        with opened(self.uri, self.experiment, kept) as store:
            before = _logged_before(run.folder, store)
            run_id = store.client.create_run(
                store.experiment_id, start_time=int(run.started * 1000), tags=_tags(run), run_name=run.name
            ).info.run_id
            _log_params(store, run_id, _params(run))
            _log_metrics(store, run_id, run.metrics)
            store.client.log_table(run_id, _table(run, self.redact), "judgments.json")
            self._log_files(store, run_id, run)
            _log_dataset(store, run_id, run)
            _log_prompt(store, run_id, run)
            self._log_traces(store, run_id, run)
            store.client.set_terminated(run_id, "FINISHED", int((run.started + run.seconds) * 1000))
            note = {"uri": store.address, "experiment": self.experiment, "run_id": run_id}
            (run.folder / NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
            if before is not None:
                store.client.delete_run(before)
            return _where(store, run_id)

    def open_sweep(self, name: str, folder: Path, params: Mapping[str, str], run_id: str | None = None) -> str:
        """Create the parent run of a sweep (or go on with `run_id`, if it is still there); returns its id.

        Raises:
            ConfigError: MLflow cannot be reached or written; nothing was judged yet.
        """
        with opened(self.uri, self.experiment, "Nothing was judged yet.") as store:
            known = {r.info.run_id for r in _runs(store, f"attributes.run_id = '{run_id}'")} if run_id else set()
            if run_id in known:
                store.client.update_run(run_id, status="RUNNING")
                return str(run_id)
            tags = {"undogmatic.kind": "sweep", "undogmatic.folder": str(folder), "mlflow.source.name": "undogmatic"}
            parent = store.client.create_run(store.experiment_id, run_name=name, tags=tags).info.run_id
            _log_params(store, parent, params)
            return str(parent)

    def close_sweep(self, run_id: str | None, status: str, result: SweepResult | None = None) -> str | None:
        """End the parent run with `status` ("FINISHED", "FAILED", "KILLED") and log the sweep's report to it.

        Returns:
            How to look at it, one line.
        Raises:
            ConfigError: MLflow cannot be reached or written; the report is on disk.
        """
        if run_id is None:
            return None
        kept = "The jobs' results are on disk." if result is None else f"The sweep's report is in {result.folder}."
        with opened(self.uri, self.experiment, kept) as store:
            if result is not None:
                _log_metrics(store, run_id, _sweep_metrics(result))
                for name in ("jobs", "comparisons", "agreement"):
                    table = getattr(result, name)
                    if len(table):
                        store.client.log_dict(run_id, json.loads(table.to_json(orient="split")), f"{name}.json")
                for file in FILES[:2]:
                    if (result.folder / file).is_file():
                        store.client.log_artifact(run_id, str(result.folder / file))
                if (result.folder / "figures").is_dir():
                    store.client.log_artifacts(run_id, str(result.folder / "figures"), "figures")
            store.client.set_terminated(run_id, status)
            return _where(store, run_id)

    def _log_files(self, store: Store, run_id: str, run: FinishedRun) -> None:
        """The files of the run's folder, the composed config and the prompt."""
        for file in FILES:
            if (run.folder / file).is_file() and not (self.redact and file in QUOTING):
                store.client.log_artifact(run_id, str(run.folder / file))
        for folder in FOLDERS:
            if (run.folder / folder).is_dir():
                store.client.log_artifacts(run_id, str(run.folder / folder), folder)
        if self.redact:
            lines = [redact_judgment(j).model_dump_json() for j in run.judgments]
            store.client.log_text(run_id, "\n".join(lines) + "\n", "judgments.jsonl")
        import yaml

        config = yaml.safe_dump(scrub(dict(run.config)), sort_keys=False, allow_unicode=True)
        store.client.log_text(run_id, config, "config.yaml")
        store.client.log_text(run_id, run.prompt_text, f"prompt/{_plain_name(run.prompt_id)}.txt")

    def _log_traces(self, store: Store, run_id: str, run: FinishedRun) -> None:
        chosen = choose(run.judgments, self.traces)
        written = log_traces(store, run_id, run.started, run.items, chosen, self.redact)
        said = f"{written} of {len(run.judgments)}"
        if written < len(chosen):
            said += " (this server is older than MLflow 3.4, which first took traces in batches)"
        store.client.set_tag(run_id, "undogmatic.traces", said)


def _tags(run: FinishedRun) -> dict[str, str]:
    commit = run.versions.get("git", "unknown")
    tags = {
        "undogmatic.kind": "run",
        "undogmatic.folder": str(run.folder),
        "undogmatic.identity": run.identity,
        "undogmatic.dataset_digest": run.dataset_digest,
        "undogmatic.prompt_hash": run.prompt_hash,
        "undogmatic.uses_prompt": str(run.uses_prompt).lower(),
        "undogmatic.model": run.model_name,
        "undogmatic.status": "finished",
        "undogmatic.git": commit,
        "mlflow.source.name": "undogmatic",
        "mlflow.source.type": "LOCAL",
    }
    tags |= {f"version.{package}": version for package, version in run.versions.items() if package != "git"}
    if re.match("[0-9a-f]{40}", commit):
        tags["mlflow.source.git.commit"] = commit.partition("+")[0]
    if parent := os.environ.get(PARENT):
        tags["mlflow.parentRunId"] = parent
    return {k: _cut(v, LONGEST_TAG) for k, v in tags.items()}


def _params(run: FinishedRun) -> dict[str, str]:
    """The choice per group under the group's name, and every value of the config under its dotted key."""
    return dict(run.choices) | dict(_flat(scrub(dict(run.config))))


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(value: str, most: int) -> str:
    """The value, or its beginning and a mark that says how long it was."""
    if len(value) <= most:
        return value
    mark = f" ... [cut: {len(value)} characters]"
    return value[: most - len(mark)] + mark


def _log_params(store: Store, run_id: str, params: Mapping[str, str]) -> None:
    from mlflow.entities import Param

    entities = [Param(_plain_key(k), _cut(v, LONGEST_PARAM)) for k, v in params.items()]
    for start in range(0, len(entities), AT_ONCE):
        store.client.log_batch(run_id, params=entities[start : start + AT_ONCE])


def _log_metrics(store: Store, run_id: str, metrics: Mapping[str, float]) -> None:
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    store.client.log_batch(run_id, metrics=[Metric(_plain_key(k), v, now, 0) for k, v in metrics.items()])


def _sweep_metrics(result: SweepResult) -> dict[str, float]:
    """How many jobs ended how, and the best job's numbers."""
    finished = result.jobs[result.jobs["status"] == "finished"] if len(result.jobs) else result.jobs
    metrics = {"sweep.jobs": float(len(result.jobs)), "sweep.failed": float(len(result.failed))}
    if result.headline is not None and len(finished) and finished["headline"].notna().any():
        best = finished.iloc[0]
        metrics |= {
            f"best.{result.headline}{end}": float(best[column])
            for end, column in (("", "headline"), ("_low", "low"), ("_high", "high"))
            if best[column] == best[column]
        }
    return metrics


def _table(run: FinishedRun, hide: bool) -> pd.DataFrame:
    """The judgments as a table: numbers, the judged text and the reason given."""
    texts = {item.id: item.text for item in run.items}
    reasons = {
        (j.item_id, j.repeat): j.outcome.rationale if isinstance(j.outcome, Verdict) else j.outcome.message
        for j in run.judgments
    }
    table = run.frame[[column for column in TABLE if column in run.frame]].copy()
    keys = list(zip(table["item_id"], table["repeat"], strict=True))
    text = [texts[item] for item, _ in keys]
    reason = [reasons.get(key) for key in keys]
    table["text"] = [redacted(t) for t in text] if hide else text
    table["rationale"] = [None if r is None else redacted(r) for r in reason] if hide else reason
    return table.astype(object).where(table.notna(), None)


def _log_dataset(store: Store, run_id: str, run: FinishedRun) -> None:
    """Name, digest and shape of the dataset; its texts are in the judgments table."""
    import mlflow.data
    import pandas as pd
    from mlflow.entities import DatasetInput, InputTag

    rows = pd.DataFrame(
        {
            "item_id": [str(i.id) for i in run.items],
            "condition": [i.condition or "" for i in run.items],
            "label": [float("nan") if i.label is None else float(i.label) for i in run.items],
        }
    )
    name = run.choices.get("dataset", "dataset")
    data = mlflow.data.from_pandas(rows, name=name, digest=run.dataset_digest[:LONGEST_DIGEST])
    entity = data._to_mlflow_entity()
    store.client.log_inputs(run_id, [DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])])


def _log_prompt(store: Store, run_id: str, run: FinishedRun) -> None:
    """Link the prompt's version in the registry, registering the content if it is new. Nothing if no model saw it."""
    if not run.uses_prompt:
        return
    client = store.client
    name = _plain_name(f"{run.rubric.name}-{run.prompt_id}")
    content = hashlib.sha256(run.prompt_text.encode()).hexdigest()
    version = _version_with(store, name, content)
    if version is None:
        tags = {"prompt_id": run.prompt_id, "prompt_hash": run.prompt_hash, "content_hash": content}
        version = client.register_prompt(name, run.prompt_text, f"Registered by the run {run.name}", tags)
    client.link_prompt_version_to_run(run_id, version)
    client.set_tag(run_id, "undogmatic.prompt", f"{name}, version {version.version}")


def _version_with(store: Store, name: str, content: str) -> Any:
    """The registered version with this content, or None."""
    from mlflow.exceptions import MlflowException

    number = 1
    while True:
        try:
            version = store.client.get_prompt_version(name, number)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None
        if version is None or version.tags.get("content_hash") == content:
            return version
        number += 1


def _logged_before(folder: Path, store: Store) -> str | None:
    """The MLflow run that this folder was logged as, if it is still in this store."""
    note = folder / NOTE
    if not note.is_file():
        return None
    earlier = json.loads(note.read_text(encoding="utf-8"))
    found = _runs(store, f"attributes.run_id = '{earlier['run_id']}'") if earlier["uri"] == store.address else []
    return str(found[0].info.run_id) if found else None


def _runs(store: Store, which: str) -> list[Any]:
    return list(store.client.search_runs([store.experiment_id], which, max_results=1))


def _where(store: Store, run_id: str) -> str:
    """The command or address under which a run can be looked at."""
    page = f"#/experiments/{store.experiment_id}/runs/{run_id}"
    if database(store.uri) is None and store.uri.startswith("http"):
        return f"{store.address.rstrip('/')}/{page}"
    command = "undogmatic ui" if store.uri == default_uri() else f"undogmatic ui --uri {store.address}"
    return f"{command}  (then /{page})"


def _plain_key(key: str) -> str:
    """A key that MLflow takes: letters, digits, and _ - . / or space; at most 250."""
    return re.sub(r"[^\w\-. /]", "_", key)[:250]


def _plain_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)
