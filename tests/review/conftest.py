"""A run's folder made by hand, with or without its traces in MLflow; reading and filling its queue
as a person does."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import put
from undogmatic.cli.review import import_labels
from undogmatic.datasets.tabular import TextsDataset
from undogmatic.records.records import (
    Cost,
    Failure,
    Item,
    Judgment,
    Provenance,
    Verdict,
    items_digest,
)
from undogmatic.records.rubric import OrderedScale, Rubric

PROVENANCE = Provenance(
    model="fake-chat",
    readout="structured",
    prompt="toy",
    prompt_hash="p",
    program_hash="g",
    config_hash="c",
)
Outcome = Verdict | Failure


def judgment(item: str, outcome: Outcome, repeat: int = 0) -> Judgment:
    return Judgment(
        item_id=item,
        repeat=repeat,
        judge="score",
        outcome=outcome,
        cost=Cost(calls=1),
        provenance=PROVENANCE,
    )


def sure(width: float, **more: Any) -> Verdict:
    return Verdict(score=40.0, interval=(40 - width / 2, 40 + width / 2), **more)


MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path, rubric: Rubric) -> MakeRun:
    """A run's folder as `undogmatic.run` leaves it: one item per outcome."""

    def make(
        outcomes: Sequence[Outcome],
        items: Sequence[Item] = (),
        folder: str = "run",
        repeats: Sequence[Judgment] = (),
        rubric: Rubric = rubric,
    ) -> Path:
        items = items or [
            Item(id=f"i{k}", text=f"text {k}", condition="c")
            for k in range(len(outcomes))
        ]
        path, data = tmp_path / folder, tmp_path / f"{folder}.jsonl"
        # Not TextsDataset's own reading of CSV or numbers: JSON keeps every text as it is.
        data.parent.mkdir(exist_ok=True)
        data.write_text(
            "".join(
                i.model_dump_json(exclude_none=True, exclude={"metadata"}) + "\n"
                for i in items
            )
        )
        config = {
            "rubric": {
                "_target_": "undogmatic.records.rubric.Rubric",
                **rubric.model_dump(mode="json"),
            },
            "dataset": {
                "_target_": "undogmatic.datasets.tabular.TextsDataset",
                "path": data.name,
            },
            "tracking": {"uri": None, "redact": False, "traces": 200},
            "run": {"limit": None},
        }
        put(path / ".hydra" / "config.yaml", yaml.safe_dump(config))
        put(
            path / ".hydra" / "hydra.yaml",
            yaml.safe_dump({"hydra": {"runtime": {"cwd": str(tmp_path)}}}),
        )
        facts = {
            "started": 1_800_000_000.0,
            "dataset_digest": items_digest(TextsDataset(str(data)).load()),
        }
        put(path / "run.json", json.dumps(facts))
        made = [
            judgment(i.id, outcome) for i, outcome in zip(items, outcomes, strict=True)
        ]
        put(
            path / "judgments.jsonl",
            "".join(f"{j.model_dump_json()}\n" for j in [*made, *repeats]),
        )
        return path

    return make


def sheet_rows(path: str = "queue.csv") -> list[dict[str, str]]:
    before = csv.field_size_limit(10**9)
    try:
        return list(
            csv.DictReader(
                io.StringIO(Path(path).read_bytes().decode("utf-8-sig"), newline="")
            )
        )
    finally:
        csv.field_size_limit(before)


def line_rows(path: str = "queue.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]


def fill(rows: Sequence[dict[str, Any]], path: str, delimiter: str = ",") -> str:
    """Write rows back as a person's spreadsheet or script would."""
    if path.endswith(".jsonl"):
        return str(put(Path(path), rows))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def yes_no(rubric: Rubric) -> Rubric:
    """A rubric of two categories."""
    wordings = {"en": rubric.wordings["en"].model_copy(update={"meanings": ()})}
    scale = OrderedScale(categories=("no", "yes"))
    return rubric.model_copy(
        update={"scale": scale, "guide": None, "wordings": wordings}
    )


@pytest.fixture(scope="session")
def fresh_store(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh MLflow database with our experiment in it."""
    from undogmatic.tracking.store import opened

    file = Path(shutil.copy(migrated, tmp_path_factory.mktemp("review")))
    with opened(f"sqlite:///{file}", "undogmatic", ""):
        pass
    return file


@pytest.fixture
def logged(make_run: MakeRun, fresh_store: Path, tmp_path: Path) -> str:
    """A run of a flagged item judged twice, a failed and a sure one, logged, but only the failed
    one traced."""
    from undogmatic.tracking.store import default_uri, opened
    from undogmatic.tracking.traces import log_traces, mark_of

    flagged = sure(
        30, review=True, confidence=20, rationale="só cita", issues=("no reason",)
    )
    failed = Failure(reason="refusal", message="no")
    run = make_run([flagged, failed, sure(2)], repeats=[judgment("i0", sure(4), 1)])
    (tmp_path / "mlruns").mkdir()
    shutil.copy(fresh_store, tmp_path / "mlruns")
    with opened(None, "undogmatic", "") as store:
        run_id = store.client.create_run(store.experiment_id).info.run_id
        items = [Item(id="i1", text="text 1", condition="c")]
        made = judgment("i1", failed)
        log_traces(
            store,
            run_id,
            items,
            {mark_of(store.experiment_id, made): made},
            1_800_000_000,
        )
    note = {"uri": default_uri(), "experiment": "undogmatic", "run_id": run_id}
    put(run / "mlflow.json", json.dumps(note))
    return str(run)


def say(
    note: dict[str, str], item: str, value: Any, who: str | None, **more: Any
) -> Any:
    """Add an assessment of a person to an item's trace, as the UI does; returns it."""
    from mlflow.entities import AssessmentSource, Expectation, Feedback
    from mlflow.tracing.client import TracingClient

    kind = {"feedback": Feedback, "expectation": Expectation}[
        more.pop("kind", "feedback")
    ]
    trace, name = (
        trace_of(note, item, more.pop("repeat", 0)),
        more.pop("name", "human_label"),
    )
    made = kind(name, value, source=AssessmentSource("HUMAN", who), **more)
    return TracingClient(note["uri"]).log_assessment(trace, made)


def traces(note: dict[str, str], **which: Any) -> Any:
    """What MLflow knows of the traces of a run."""
    from mlflow import MlflowClient

    client = MlflowClient(note["uri"], note["uri"])
    experiment = str(client.get_experiment_by_name("undogmatic").experiment_id)
    return [
        trace.info for trace in client.search_traces(locations=[experiment], **which)
    ]


def trace_of(note: dict[str, str], item: str, repeat: int = 0) -> str:
    (found,) = traces(
        note, filter_string=f"tags.item = '{item}' AND tags.repeat = '{repeat}'"
    )
    return str(found.trace_id)


def noted(run: str, **changes: Any) -> dict[str, str]:
    """Where the run says that it was logged; with changes, which are kept."""
    path = Path(run, "mlflow.json")
    found: dict[str, str] = json.loads(path.read_text()) | changes
    put(path, json.dumps(found))
    return found


def configure(run: str, old: str, new: str) -> None:
    """Have the run's config say something else."""
    config = Path(run, ".hydra", "config.yaml")
    assert old in config.read_text()
    put(config, config.read_text().replace(old, new))


def by_hand(
    run: str,
    path: str = "f.csv",
    /,
    *,
    scale: str | None = None,
    revise: bool = False,
    **cells: Any,
) -> str:
    """Import a file with one row."""
    return import_labels(run, fill([cells], path), scale=scale, revise=revise)


UNREADABLE = (
    ("a", {"run_id": "0" * 32}, "is no longer in"),
    ("b", {"uri": "sqlite:////nowhere/mlflow.db"}, r"is gone \(/nowhere/mlflow\.db\)"),
    ("c", {"uri": "sqlite:///broken.db"}, "not a database"),
)
"""Names, what mlflow.json may say of a store that cannot be read, and what is said of that."""
