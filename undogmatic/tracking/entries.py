"""A run in MLflow's terms: tags, parameters, metrics, the judgments table, the dataset and the prompt."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.records.records import Verdict
from undogmatic.records.results import headline_of
from undogmatic.runs.folder import RunFolder
from undogmatic.safety.command import SWEEP_FOLDER, SWEEP_RUN
from undogmatic.safety.secrets import scrub_data
from undogmatic.tracking.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from undogmatic.runs.outcome import FinishedRun, SweepResult

LONGEST_PARAM = 6000  # characters, MLflow's limit
LONGEST_TAG = 5000
LONGEST_DIGEST = 36
LONGEST_KEY = 250
AT_ONCE = 100  # parameters in one request, MLflow's limit
_NUMBERS = ("score raw_score low high confidence uncertainty is_uncertain revised_score usd seconds").split()
KEY = ("item_id", "judge", "criterion", "repeat")
TABLE = ("item_id", "judge", "criterion", "pair_id", "condition", "label", "repeat", *_NUMBERS, "error")


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
    tags |= {f"version.{package}": version for package, version in run.versions.items() if package != "git"}
    if re.match("[0-9a-f]{40}", commit):
        tags["mlflow.source.git.commit"] = commit.partition("+")[0]
    if parent := os.environ.get(SWEEP_RUN):
        tags["mlflow.parentRunId"] = parent
    return {k: cut(v, LONGEST_TAG) for k, v in tags.items()}


def params(run: FinishedRun) -> dict[str, str]:
    """The choice per group under the group's name, and every value of the config under its dotted key; not the wordings
    of rubric and judges, which are in the logged config."""
    return dict(run.choices) | dict(_flat(_unworded(scrub_data(dict(run.config)))))


def _unworded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _unworded(inner) for key, inner in value.items() if key != "wordings"}
    return [_unworded(inner) for inner in value] if isinstance(value, list | tuple) else value


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def cut(value: str, most: int) -> str:
    """The value, or its beginning and a mark that says how long it was."""
    if len(value) <= most:
        return value
    mark = f" ... [cut: {len(value)} characters]"
    return value[: most - len(mark)] + mark


def log_params(store: Store, run_id: str, params: Mapping[str, str]) -> None:
    """Log parameters; values beyond MLflow's limit are cut visibly."""
    from mlflow.entities import Param

    entities = [Param(plain_key(k), cut(v, LONGEST_PARAM)) for k, v in params.items()]
    for start in range(0, len(entities), AT_ONCE):
        store.client.log_batch(run_id, params=entities[start : start + AT_ONCE])


def run_name(run: FinishedRun) -> str:
    """The run's name; of a job of a sweep what sets it apart, so that MLflow's pages can tell the jobs apart."""
    parent = os.environ.get(SWEEP_FOLDER)
    if parent is None or run.settings.named:
        return run.name
    sweep = RunFolder(Path(parent)).sweep
    typed = set(sweep["overrides"]) if sweep is not None else set()
    own = [word.lstrip("+~") for word in RunFolder(run.folder).overrides if word not in typed]
    own = [word for word in own if not word.startswith(("run.resume=", "run.limit=null"))]
    said = " ".join(f"{key.rpartition('.')[2]}={value}" for key, _, value in (word.partition("=") for word in own))
    return cut(str(scrub_data(said)), LONGEST_KEY) or run.name


def compared(run: FinishedRun) -> dict[str, float]:
    """The metrics of a run in the order in which MLflow's comparison of runs begins with them.

    First the headline of the run with its limits, then those of the other analyses, each under its own name: a column
    that held a share for one run and a correlation for another would be compared, and must not be. Which one sums the
    run up is its tag `undogmatic.headline`.
    """
    first_of_all = headline_of(run.results)
    if first_of_all is None:
        return dict(run.metrics)
    headlines = [f"{first_of_all}{end}" for end in ("", "_low", "_high")]
    headlines += [r.full(r.headline) for r in run.results if r.headline is not None]
    return {h: run.metrics[h] for h in headlines if h in run.metrics} | dict(run.metrics)


def rounded(value: float) -> float:
    """Four digits that count, for axes and tables; whole numbers as they are. metrics.json keeps them all."""
    if not math.isfinite(value) or value == round(value):
        return value
    return round(value, max(0, 3 - math.floor(math.log10(abs(value)))))


def log_metrics(store: Store, run_id: str, metrics: Mapping[str, float]) -> None:
    """Log metrics under their own names, rounded."""
    from mlflow.entities import Metric

    now = int(time.time() * 1000)
    store.client.log_batch(run_id, metrics=[Metric(plain_key(k), rounded(v), now, 0) for k, v in metrics.items()])


def sweep_metrics(result: SweepResult) -> dict[str, float]:
    """How many jobs ended how, and the best job's numbers."""
    metrics = {"sweep.jobs": float(result.count), "sweep.failed": float(len(result.failed))}
    finished = result.jobs[result.jobs["status"] == "finished"] if len(result.jobs) else result.jobs
    if result.headline is not None and len(finished) and finished["headline"].notna().any():
        best = finished[["headline", "low", "high"]].iloc[0].dropna()
        names = {"headline": "", "low": "_low", "high": "_high"}
        metrics |= {f"best.{result.headline}{names[column]}": float(value) for column, value in best.items()}
    return metrics


def table(run: FinishedRun) -> pd.DataFrame:
    """The judgments as a table: numbers, the judged text and the reason given."""
    texts = {item.id: item.text for item in run.items}
    reasons = {
        (j.item_id, j.judge, j.criterion, j.repeat): j.outcome.rationale
        if isinstance(j.outcome, Verdict)
        else j.outcome.message
        for j in run.judgments
    }
    several = len(run.frame[["judge", "criterion"]].drop_duplicates()) > 1
    shown = [column for column in TABLE if column in run.frame and (several or column not in ("judge", "criterion"))]
    table = run.frame[shown].copy()
    keys = list(run.frame[list(KEY)].itertuples(index=False, name=None))
    table["text"] = [texts[key[0]] for key in keys]
    table["rationale"] = [reasons.get(key) for key in keys]
    return table.astype(object).where(table.notna(), None)


def log_dataset(store: Store, run_id: str, run: FinishedRun) -> None:
    """Name, digest and shape of the dataset; its texts are in the judgments table."""
    import pandas as pd
    from mlflow.data.pandas_dataset import from_pandas
    from mlflow.entities import DatasetInput, InputTag

    rows = pd.DataFrame(
        {
            "item_id": [str(i.id) for i in run.items],
            "condition": [i.condition or "" for i in run.items],
            "label": [float("nan") if i.label is None else float(i.label) for i in run.items],
        }
    )
    name = run.choices.get("dataset", "dataset")
    data = from_pandas(rows, name=name, digest=run.dataset_digest[:LONGEST_DIGEST])
    entity = data._to_mlflow_entity()
    store.client.log_inputs(run_id, [DatasetInput(entity, [InputTag("mlflow.data.context", "evaluation")])])


def plain_key(key: str) -> str:
    """A key that MLflow takes: letters, digits, and _ - . / or space; at most LONGEST_KEY."""
    return re.sub(r"[^\w\-. /]", "_", key)[:LONGEST_KEY]
