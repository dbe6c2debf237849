"""`python -m undogmatic.run`: compose the config, run the experiment, say how it ended. Wiring only.

Nothing heavier than Hydra is imported at module level, so that `--help` and `--cfg job` answer at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import hydra
from hydra._internal.utils import get_args_parser
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from undogmatic.config import searchpath
from undogmatic.errors import ConfigError, StorageError, UndogmaticError
from undogmatic.runs import claim, hydrafiles
from undogmatic.safety import files
from undogmatic.safety.command import (
    ERROR_FILE,
    FAULT,
    SWEEP_FOLDER,
    as_typed,
    ending,
    exit_status,
    in_full,
    interrupted,
    note_status,
    patient_streams,
    say,
    tell,
)
from undogmatic.safety.guard import check_words
from undogmatic.safety.paths import conf_folder

# litellm (below DSPy and MLflow) otherwise fetches a price map at import and waits for the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

# For every group that it lists, Hydra copies its store of built-in configs, a hundred times for one `--help`. The store
# is a singleton that hands out copies of what it holds, so a copy of the store itself serves nobody: --help takes half.
ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]


@hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")
def job(cfg: DictConfig) -> float | None:
    """One run (or one job of a sweep). Returns the headline metric, for Hydra's search sweepers."""
    from hydra.core.hydra_config import HydraConfig

    from undogmatic.experiment import run_experiment

    patient_streams()  # in a sweep's worker process too
    logging.captureWarnings(True)
    hide = OmegaConf.select(cfg, "tracking.redact", throw_on_resolution_failure=False) is True
    if hide:
        _log_to_no_file()
    own = HydraConfig.get()
    folder = as_typed(Path(own.runtime.output_dir))  # as messages and hints show it
    try:
        with claim.held(folder):
            try:
                config = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
                assert isinstance(config, dict)
                choices = dict(own.runtime.choices)
                return run_experiment(searchpath.adopt(config, own.runtime.config_sources, choices), choices, folder)
            except Exception as error:  # whatever ends one job of a sweep must not cost the others their report
                _fail(error, folder, hide)
    except Exception as error:  # the folder is another process's, or takes nothing
        _fail(error)
    return None


def _log_to_no_file() -> None:
    """Take the log file of the run's folder away: what a library warns of may quote a judged text."""
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, logging.FileHandler)]:
        root.removeHandler(handler)
        handler.close()


def _fail(error: Exception, folder: Path | None = None, hide: bool = False) -> None:
    """Say what went wrong, and leave it in the folder: a sweep's jobs may run in processes of their own. With `hide`
    the folder is told no more than the kind of a fault in the code, because its message may quote a judged text."""
    from undogmatic.config.overrides import explain

    if isinstance(error, MissingMandatoryValue):
        message, status = f"`{error.full_key}` is required. Set it with {error.full_key}=...", 2
    elif isinstance(error, OmegaConfBaseException):
        message, status = explain(error, []), 2
    else:
        message, status = tell(error)
    note_status(status)
    where = ""
    if folder is not None and (SWEEP_FOLDER in os.environ or not hydrafiles.held_back(folder)):
        kept = message
        if hide and status == FAULT:
            kept = f"a fault in the code ({type(error).__name__}); `tracking.redact` is true, so its text is not kept."
        noted = f"{kept}\n{''.join(traceback.format_exception(error)) if status == FAULT and not hide else ''}"
        with contextlib.suppress(StorageError):
            files.write(folder / ERROR_FILE, noted)
            if status == FAULT:
                claim.keep(folder)
                where = "" if hide else f" The traceback is in {as_typed(folder / ERROR_FILE)}."
    say(f"error: {message}{where}")
    if status == FAULT:
        in_full(error)


def main() -> NoReturn:
    """Entry point; the exit status is not 0 if any job ended with an error.

    What cannot be composed is worded here. Hydra prints such errors itself and ends with 1, unless HYDRA_FULL_ERROR is
    "1": then it hands them on. So it always is; who sets it sees the traceback.
    """
    from undogmatic.config.overrides import combined, explain, typed_wrongly

    with ending():
        os.environ["HYDRA_FULL_ERROR"] = "1"
        try:
            typed = sys.argv[1:]
            sys.argv[1:] = combined(typed)
            check_words(typed)
            _refuse_doors_past_ours()
            job()
        except KeyboardInterrupt:
            note_status(interrupted())
            folder = claim.own()
            if folder is not None and claim.let_go(folder):
                say(f"interrupted: continue with the same command and run.resume={as_typed(folder)}")
            else:
                say("interrupted before anything was judged.")
        except Exception as error:
            if not isinstance(error, UndogmaticError) and typed_wrongly(error):
                say(f"error: {explain(error, typed)}")
                note_status(2)
                in_full(error)
            else:
                _fail(error, claim.own())
        finally:
            folder = claim.own()
            if folder is not None:
                claim.let_go(folder)
    sys.exit(exit_status())


def _refuse_doors_past_ours() -> None:
    """Raise ConfigError for the two options of Hydra's that lead past what checks a config: one loads a pickle."""
    given, _ = get_args_parser().parse_known_args()
    if given.experimental_rerun is not None:
        raise ConfigError(
            "`--experimental-rerun` reads a pickle, which can run code. To do a run again: run.resume=..."
        )
    if given.config_path is not None:
        raise ConfigError(
            f"`--config-path` is {given.config_path!r}; the program's own folder cannot be replaced. Folders of yours "
            "come before it: --config-dir DIR."
        )


if __name__ == "__main__":
    main()
