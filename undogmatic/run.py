"""`python -m undogmatic.run`: compose the config, run the experiment, say how it ended. Wiring
only.

Nothing heavier than Hydra is imported at module level, so that `--help` and `--cfg job` answer at
once.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from undogmatic.safety.command import say, tell

try:
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
except ModuleNotFoundError as missing:
    if __name__ != "__main__":
        raise
    message, status = tell(missing)
    say(f"error: {message}")
    sys.exit(status)

from undogmatic.config import compose, door
from undogmatic.config.build import Settings, settings
from undogmatic.config.wall import resolved
from undogmatic.runs import claim, manifest
from undogmatic.runs.folder import OF_RUN
from undogmatic.safety import command
from undogmatic.safety.apart import Named, keep_apart, named
from undogmatic.safety.paths import conf_folder
from undogmatic.safety.secrets import check_words

if TYPE_CHECKING:
    from undogmatic.datasets.labels import Loaded

# litellm (below DSPy and MLflow) otherwise fetches a price map at import and waits for the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def job(
    cfg: DictConfig, read: Callable[[Settings], Loaded] | None = None
) -> float | None:
    """One run (or one job of a sweep). Returns the headline metric, for Hydra's search sweepers.
    `read` reads the dataset of a config, where somebody has read it already."""
    # A sweeper or launcher of another package may hand on a config that our checks
    # never saw, and a config can name code to run.
    if not compose.passed(cfg):
        raise SystemExit(
            "error: this config was not checked after it was composed, so nothing is run with it."
        )
    command.patient_streams()  # in a sweep's worker process too
    logging.captureWarnings(True)
    hide = (
        OmegaConf.select(cfg, "tracking.redact", throw_on_resolution_failure=False)
        is True
    )
    if hide:
        root = logging.getLogger()  # what a library warns of may quote a judged text
        for handler in [
            handler
            for handler in root.handlers
            if isinstance(handler, logging.FileHandler)
        ]:
            root.removeHandler(handler)
            handler.close()
    hydra_config = HydraConfig.get()
    # as messages and hints show it
    folder = command.as_typed(Path(hydra_config.runtime.output_dir))
    try:
        with claim.held(folder):
            try:
                whole = HydraConfig.instance().cfg
                manifest.write_hydra(folder, cfg, whole)  # type: ignore[arg-type]
                config = compose.adopt(
                    resolved(cfg), hydra_config.runtime.config_sources
                )
                from undogmatic.datasets.labels import load

                written = [folder / name for name in OF_RUN]
                # A folder for the output that holds the input would have the input
                # overwritten.
                keep_apart(_read(config), named("hydra.run.dir", written, folder))
                # a bad file is named before anything heavy is imported
                loaded = (load if read is None else read)(settings(config))
                from undogmatic.experiment import run_experiment

                return run_experiment(
                    config, dict(hydra_config.runtime.choices), folder, loaded
                )
            except Exception as error:
                # whatever ends one job of a sweep must not cost the others their report
                _fail(error, folder, hide)
    except Exception as error:  # the folder is another process's, or takes nothing
        _fail(error)
    return None


def _read(config: Mapping[str, Any]) -> list[Named]:
    """The files from which the items come, and what a setting of the dataset names them by."""
    path = (config.get("dataset") or {}).get("path")
    several = path if isinstance(path, list) else [path]
    return named("dataset.path", [each for each in several if each])


def _fail(error: Exception, folder: Path | None = None, hide: bool = False) -> None:
    """Say what went wrong, and leave it in the folder: a sweep's jobs may run in processes of their
    own. With `hide` the folder is told no more than the kind of a fault in the code, because its
    message may quote a judged text.
    """
    from undogmatic.config.messages import explain

    if isinstance(error, MissingMandatoryValue):
        message = f"`{error.full_key}` is required. Set it with {error.full_key}=..."
        status = 2
    else:
        message, status = (
            (explain(error, []), 2)
            if isinstance(error, OmegaConfBaseException)
            else tell(error)
        )
    command.note_status(status)
    where = ""
    if folder is not None and (
        command.SWEEP_FOLDER in os.environ or not manifest.held_back(folder)
    ):
        kept = message
        if hide and status == command.FAULT:
            kept = (
                f"a fault in the code ({type(error).__name__}); `tracking.redact` is true, so its"
                " text is not kept."
            )
        traced = "".join(traceback.format_exception(error))
        noted = f"{kept}\n{traced if status == command.FAULT and not hide else ''}"
        fault = status == command.FAULT
        if claim.leave(folder, noted, fault) and fault and not hide:
            where = (
                f" The traceback is in {command.as_typed(folder / command.ERROR_FILE)}."
            )
    say(f"error: {message}{where}")
    if status == command.FAULT:
        command.in_full(error)


def main(read: Callable[[Settings], Loaded] | None = None) -> NoReturn:
    """Entry point; the exit status is not 0 if any job ended with an error. What cannot be composed
    is worded here. `read`: see `job`."""
    from undogmatic.config.messages import combined, explain, typed_wrongly

    with command.ending():
        try:
            typed = sys.argv[1:]
            check_words(typed)
            task = job if read is None else functools.partial(job, read=read)
            if door.tells_of_hydra(typed):
                # Hydra prints errors itself and ends with 1, unless this is set: then it hands them
                # on.
                os.environ["HYDRA_FULL_ERROR"] = "1"
                hydra.main(
                    version_base="1.3",
                    config_path=str(conf_folder()),
                    config_name=door.PRIMARY,
                )(job)()
            else:
                door.command(combined(typed), task)
        except KeyboardInterrupt:
            command.note_status(command.interrupted())
            if (folder := claim.own()) is not None and claim.let_go(folder):
                say(
                    "interrupted: continue with the same command and"
                    f" run.resume={command.as_typed(folder)}"
                )
            else:
                say("interrupted before anything was judged.")
        except Exception as error:
            if typed_wrongly(error):
                say(f"error: {explain(error, typed)}")
                command.note_status(2)
                command.in_full(error)
            else:
                _fail(error, claim.own())
        finally:
            # A folder in which nothing was judged is taken away, so that mistyped
            # commands leave none behind.
            if (folder := claim.own()) is not None:
                claim.let_go(folder)
    sys.exit(command.exit_status())


if __name__ == "__main__":
    main()
