"""Runs what happens around the jobs of a sweep: the parent run before them, the report after them.

jobs      the jobs' folders -> records
family    every two jobs tested by every measure, corrected once
tables    leaderboard, agreement, worth, costs
verdicts  whether the best may be believed, and whether it is better than the others
compare   all of that as one result
search    a search in place of a grid: jobs chosen by those before them; `trials`: what it leaves in its folder
reaching  whether what is swept reaches a model at all
workers   jobs side by side share the cores

Hydra imports this module at start and in every worker, so it stays light: the rest is imported when a sweep ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.errors import ConfigError, UndogmaticError, ours
from undogmatic.runs.folder import MANIFEST, SWEEP_MANIFEST, RunFolder
from undogmatic.runs.manifest import claimed  # also the resolver `output_folder`, which a worker needs too
from undogmatic.safety import files
from undogmatic.safety.command import FAULT, SWEEP_FOLDER, SWEEP_RUN, WORKERS, as_typed, in_full, note_status, say, tell
from undogmatic.safety.guard import check_config, guard_worker
from undogmatic.safety.secrets import scrub_words
from undogmatic.sweep.reaching import check_reaching
from undogmatic.sweep.workers import announce, check_launcher, free_slot, take_slot


class SweepCallback(Callback):
    """Hydra's callback around a multirun (`hydra.callbacks.sweep` in config.yaml).

    Errors of the user's end the command here: what a callback raises, Hydra only warns about.
    """

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Claim the run's folder before Hydra makes it; refuse a `run.resume` that cannot be continued."""
        with _stopping():
            check_config(config)
            claimed(config, "run")

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        """Also where a launcher runs the job in a process of its own."""
        if SWEEP_FOLDER in os.environ:
            guard_worker()
            take_slot(config)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Also where the job failed."""
        free_slot()

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Create (or continue) the parent run and tell the jobs, whichever process they will run in."""
        with _stopping():
            check_config(config)
            check_reaching(config)
            self._start(config)

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Write and log the sweep's report and print its table; note the exit status."""
        atexit.unregister(_abandoned)
        try:
            _finish(config, Path(os.environ[SWEEP_FOLDER]), os.environ.get(SWEEP_RUN))
        except Exception as error:  # Hydra would turn it into a warning and exit with 0
            message, status = tell(error)
            say(f"error: {message}" + (" HYDRA_FULL_ERROR=1 shows the traceback." if status == FAULT else ""))
            in_full(error)
            note_status(status)
        finally:
            os.environ.pop(SWEEP_FOLDER, None)
            os.environ.pop(SWEEP_RUN, None)
            os.environ.pop(WORKERS, None)

    def _start(self, config: DictConfig) -> None:
        check_launcher(config)
        folder = claimed(config, "sweep")
        overrides = [scrub_words(str(o)) for o in config.hydra.overrides.task if not str(o).startswith("run.resume=")]
        earlier = read_manifest(folder)
        if earlier is not None and [scrub_words(o) for o in earlier["overrides"]] != overrides:
            raise ConfigError(
                f"`run.resume` is {str(folder)!r}, which holds another sweep: {' '.join(earlier['overrides'])}. "
                "Repeat that command with run.resume, or leave run.resume out to start anew."
            )
        if earlier is None and any((folder / name).exists() for name in (MANIFEST, "judgments.jsonl")):
            raise ConfigError(
                f"`run.resume` is {str(folder)!r}, which holds a single run, not a sweep. Continue it without -m."
            )
        parent = _tracker(config).open_sweep(
            _name(overrides),
            folder,
            dict(o.lstrip("+~").partition("=")[::2] for o in overrides),
            earlier["mlflow_run"] if earlier is not None else None,
        )
        started = earlier["started"] if earlier is not None else time.time()
        write_manifest(folder, overrides=overrides, started=started, mlflow_run=parent, status="running")
        os.environ[SWEEP_FOLDER] = str(folder)
        if parent is not None:
            os.environ[SWEEP_RUN] = parent
        announce(config)
        atexit.register(_abandoned, config)


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    """Print an error of the user's and end the command with its status; also one that a resolver raised."""
    try:
        yield
    except (UndogmaticError, OmegaConfBaseException) as error:
        found = ours(error)
        say(f"error: {found or str(error).splitlines()[0]}")
        raise SystemExit(found.exit_status if found is not None else 2) from None
    except Exception as error:  # a fault of ours: as a warning, it would let a run begin that nobody has checked
        message, status = tell(error)
        say(f"error: {message}")
        in_full(error)
        raise SystemExit(status) from None


def _finish(config: DictConfig, folder: Path, parent: str | None) -> None:
    from undogmatic.report import sweep as report
    from undogmatic.report import terminal
    from undogmatic.runs.progress import doing
    from undogmatic.sweep.compare import compare

    manifest = read_manifest(folder)
    assert manifest is not None, "written by on_multirun_start"
    with doing("comparing the jobs"):
        result = compare(folder, _name(manifest["overrides"]), config.report.language)
    with doing("writing the sweep's report"):
        report.write(result, folder)
    write_manifest(
        folder, **dict(manifest) | {"status": "stopped" if result.failed else "finished", "ended": time.time()}
    )
    if result.failed:
        note_status(1)
    where = None
    try:
        with doing("logging the sweep"):
            where = _tracker(config).close_sweep(parent, "FAILED" if result.failed else "FINISHED", result)
    except UndogmaticError as error:
        say(f"error: {error}")
        note_status(error.exit_status)
    terminal.show_sweep(result, where)
    if result.failed:
        hint = f"run.resume={as_typed(folder)}"
        say(f"To do the unfinished jobs again: the same command with {hint}")


def _abandoned(config: DictConfig) -> None:
    """The command ends in the middle of a sweep (Ctrl-C, a job that cannot be composed): close its parent run."""
    try:
        _tracker(config).close_sweep(os.environ.get(SWEEP_RUN), "KILLED")
    except KeyboardInterrupt:  # once more: then it stays open
        pass
    except Exception as error:
        say(f"error: {tell(error)[0]}")


def _tracker(config: DictConfig) -> Any:
    from undogmatic.config.build import build

    node = OmegaConf.to_container(config.tracking, resolve=True)
    assert isinstance(node, dict)
    return build({str(k): v for k, v in node.items()}, "tracking")


def _name(overrides: list[str]) -> str:
    """What is varied, as typed: "model=patterns,tfidf"; values that do not vary are left out where some do."""
    varied = [o for o in overrides if "," in o or "range(" in o or "choice(" in o]
    return " ".join(varied or overrides) or "sweep"


def read_manifest(folder: Path) -> Mapping[str, Any] | None:
    """`sweep.json` of a sweep's folder, or None if there is none. Raises DataError where it is damaged."""
    return RunFolder(folder).sweep


def write_manifest(folder: Path, **facts: Any) -> None:
    """Write `sweep.json`: overrides, status ("running", "finished", "stopped"), start, MLflow run."""
    files.write(folder / SWEEP_MANIFEST, json.dumps(facts, indent=2) + "\n")
