"""Runs what happens around the jobs of a sweep: the parent run before them, the report after them.

Hydra imports this module at start and in every worker, so it stays light: the rest is imported when
a sweep ends.
"""

import atexit
import contextlib
import itertools
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.config import compose
from undogmatic.errors import ConfigError, UndogmaticError, ours
from undogmatic.runs.folder import MANIFEST, SWEEP_MANIFEST, RunFolder

# also the resolver `output_folder`, which a worker needs too
from undogmatic.runs.manifest import (
    claimed,
)
from undogmatic.safety import command, files
from undogmatic.safety.command import (
    FAULT,
    SWEEP_FOLDER,
    SWEEP_RUN,
    WORKERS,
    as_typed,
    in_full,
    note_status,
    say,
    tell,
)
from undogmatic.safety.secrets import check_config, scrub_words
from undogmatic.sweep.launch import (
    announce,
    check_launcher,
    check_reaching,
    free_slot,
    latest,
    take_slot,
)


class SweepCallback(Callback):
    """Hydra's callback around a multirun (`hydra.callbacks.sweep` in config.yaml).

    Errors of the user's end the command here: what a callback raises, Hydra only warns about.
    """

    def on_run_start(self, config: DictConfig, **_: Any) -> None:
        """Claim the run's folder before Hydra makes it; refuse a `run.resume` that cannot be
        continued."""
        with _stopping():
            check_config(config)
            claimed(config, "run")

    def on_job_start(self, config: DictConfig, **_: Any) -> None:
        """Also where a launcher runs the job in a process of its own."""
        if SWEEP_FOLDER in os.environ:
            command.guard_worker()
            take_slot(config)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: Any) -> None:
        """Also where the job failed."""
        free_slot()

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Claim the sweep's folder and tell the jobs of it, whichever process they will run in."""
        with _stopping():
            check_config(config)
            check_reaching(config)
            check_launcher(config)
            folder = claimed(config, "sweep")
            typed = map(str, config.hydra.overrides.task)
            overrides = [
                scrub_words(word)
                for word in typed
                if not word.startswith("run.resume=")
            ]
            earlier = RunFolder(folder).sweep
            if (
                earlier is not None
                and [scrub_words(word) for word in earlier["overrides"]] != overrides
            ):
                raise ConfigError(
                    f"`run.resume` is {str(folder)!r}, which holds another sweep:"
                    f" {' '.join(earlier['overrides'])}. Repeat that command with run.resume, or"
                    " leave run.resume out to start anew."
                )
            # A sweep into the folder of a run would write its jobs among the run's own
            # files.
            if earlier is None and any(
                (folder / name).exists() for name in (MANIFEST, "judgments.jsonl")
            ):
                raise ConfigError(
                    f"`run.resume` is {str(folder)!r}, which holds a single run, not a sweep."
                    " Continue it without -m."
                )
            known: dict[str, Any] = {
                "mlflow_run": None,
                "started": time.time(),
                **(earlier or {}),
            }
            _note(folder, **known | {"overrides": overrides, "status": "running"})
            os.environ[SWEEP_FOLDER] = str(folder)
            announce(config)

    def on_jobs_composed(self, config: DictConfig, **_: Any) -> None:
        """Create (or continue) the parent run, now that no job has a mistake that would end all of
        them."""
        with _stopping():
            folder = Path(os.environ[SWEEP_FOLDER])
            known = RunFolder(folder).sweep
            assert known is not None, "written by on_multirun_start"
            _read_once(config, list(config.hydra.overrides.task))
            params = dict(
                word.lstrip("+~").partition("=")[::2] for word in known["overrides"]
            )
            parent = _tracker(config).open_sweep(
                _name(known["overrides"]), folder, params, known["mlflow_run"]
            )
            _note(folder, **dict(known) | {"mlflow_run": parent})
            if parent is not None:
                os.environ[SWEEP_RUN] = parent
            atexit.register(_abandoned, config)

    def on_multirun_end(self, config: DictConfig, **_: Any) -> None:
        """Write and log the sweep's report and print its table; note the exit status."""
        atexit.unregister(_abandoned)
        try:
            _finish(config, Path(os.environ[SWEEP_FOLDER]), os.environ.get(SWEEP_RUN))
        except Exception as error:  # Hydra would turn it into a warning and exit with 0
            message, status = tell(error)
            say(
                f"error: {message}"
                + (
                    " HYDRA_FULL_ERROR=1 shows the traceback."
                    if status == FAULT
                    else ""
                )
            )
            in_full(error)
            note_status(status)
        finally:
            for name in (SWEEP_FOLDER, SWEEP_RUN, WORKERS):
                os.environ.pop(name, None)


@contextlib.contextmanager
def _stopping() -> Iterator[None]:
    """Print an error, the user's (also of a resolver) or a fault of ours, and end the command with
    its status."""
    try:
        yield
    except Exception as error:
        of_user = isinstance(error, UndogmaticError | OmegaConfBaseException)
        cause = ours(error) if of_user else error
        message, status = (
            (str(error).splitlines()[0], 2) if cause is None else tell(cause)
        )
        say(f"error: {message}")
        if not of_user:
            in_full(error)
        raise SystemExit(status) from None


def _read_once(config: DictConfig, overrides: list[str]) -> None:
    """Read the dataset of the jobs, or the first that can be read where they have several, so that
    missing and broken files are said before anything is made. Raises the first job's ConfigError or
    DataError if no job can read its own; if some can, the others say at their start what is wrong.
    """
    if "search" in config.hydra.sweeper:  # a search has read its texts already
        return
    fixed, sweeps = latest(overrides, compose.current())
    varied = [
        key
        for key in sweeps
        if re.split("[./]", key.lstrip("+~"))[0] in ("dataset", "experiment", "arm")
    ]
    values = [
        [f"{key}={value}" for value in sweeps[key].sweep_string_iterator()]
        for key in varied
    ]
    first: UndogmaticError | None = None
    for words in itertools.product(*values):
        job = (
            compose.current().load_sweep_config(config, [*fixed.values(), *words])
            if varied
            else config
        )
        try:
            _read(job.dataset)
        except UndogmaticError as error:
            first = first or error
        else:
            return
    if first is not None:
        raise first


def _read(dataset: DictConfig) -> None:
    from undogmatic.config.build import build

    for key in sorted(OmegaConf.missing_keys(dataset)):
        raise ConfigError(f"`{key}` is required. Set it with {key}=...")
    node: Any = OmegaConf.to_container(dataset, resolve=True)
    build(node, "dataset").load()


def again(folder: Path, language: str | None) -> tuple[Any, str]:
    """What a sweep yielded, read from its folder once more, and its own language, in which its
    report is to be if none is given."""
    from undogmatic.sweep.compare import compare

    noted = RunFolder(folder)
    jobs = sorted(
        (path for path in folder.iterdir() if path.name.isdigit()),
        key=lambda path: int(path.name),
    )
    if noted.sweep is None or not jobs:
        raise ConfigError(
            f"{noted.named} holds no job of a sweep yet. Continue it: its command with"
            f" run.resume={folder}"
        )
    own = str(RunFolder(jobs[0]).section("report")["language"])
    return compare(folder, _name(noted.sweep["overrides"]), language or own), own


def _finish(config: DictConfig, folder: Path, parent: str | None) -> None:
    """Compare the jobs, write and log the report, and print it."""
    from undogmatic.records.progress import doing, speaking
    from undogmatic.report import sweep as report
    from undogmatic.report import terminal
    from undogmatic.sweep.compare import compare

    manifest = RunFolder(folder).sweep
    assert manifest is not None, "written by on_multirun_start"
    with speaking(config.report.language), doing("comparing the jobs"):
        result = compare(folder, _name(manifest["overrides"]), config.report.language)
    with speaking(config.report.language), doing("writing the sweep's report"):
        report.write(result, folder)
    _note(
        folder,
        **dict(manifest)
        | {
            "status": "stopped" if result.failed else "finished",
            "ended": time.time(),
        },
    )
    where = None
    try:
        with speaking(config.report.language), doing("logging the sweep"):
            where = _tracker(config).close_sweep(
                parent, "FAILED" if result.failed else "FINISHED", result
            )
    except UndogmaticError as error:
        say(f"error: {error}")
        note_status(error.exit_status)
    terminal.show_sweep(result, where)
    if result.failed:
        note_status(1)
        say(
            f"To do the unfinished jobs again: the same command with run.resume={as_typed(folder)}"
        )


def _abandoned(config: DictConfig) -> None:
    """The command ends in the middle of a sweep (Ctrl-C, a job that cannot be composed): close its
    parent run."""
    try:
        _tracker(config).close_sweep(os.environ.get(SWEEP_RUN), "KILLED")
    except KeyboardInterrupt:  # once more: then it stays open
        pass
    except Exception as error:
        say(f"error: {tell(error)[0]}")


def _tracker(config: DictConfig) -> Any:
    from undogmatic.config.build import build

    node: Any = OmegaConf.to_container(config.tracking, resolve=True)
    return build(node, "tracking")


def _name(overrides: list[str]) -> str:
    """What is varied, as typed: "model=patterns,tfidf"; values that do not vary are left out where
    some do."""
    varied = [word for word in overrides if _varies(word)]
    return " ".join(varied or overrides) or "sweep"


def _varies(word: str) -> bool:
    value = re.sub(r"\[[^]]*\]|\{[^}]*\}", "", word)  # a list is one value
    return "," in value or re.search(r"(range|choice)\(", word) is not None


def _note(folder: Path, **facts: Any) -> None:
    """Write `sweep.json`: overrides, status ("running", "finished", "stopped"), start, MLflow
    run."""
    files.write(folder / SWEEP_MANIFEST, json.dumps(facts, indent=2) + "\n")
