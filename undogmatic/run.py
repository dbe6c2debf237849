"""`python -m undogmatic.run`: compose the config, run the experiment, say how it ended. Wiring only.

Nothing heavier than Hydra is imported at module level, so that `--help` and `--cfg job` answer at once.
"""

from __future__ import annotations

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

from undogmatic import searchpath
from undogmatic.command import ERROR_FILE, SWEEP_FOLDER, as_typed, exit_status, note_status
from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.paths import conf_folder
from undogmatic.resume import output_folder

# litellm (below DSPy and MLflow) otherwise fetches a price map at import and waits for the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

# For every group that it lists, Hydra copies its store of built-in configs, a hundred times for one `--help`. The store
# is a singleton that hands out copies of what it holds, so a copy of the store itself serves nobody: --help takes half.
ConfigStore.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined]
OmegaConf.register_new_resolver("output_folder", output_folder, replace=True, use_cache=True)


@hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")
def job(cfg: DictConfig) -> float | None:
    """One run (or one job of a sweep). Returns the headline metric, for Hydra's search sweepers."""
    from hydra.core.hydra_config import HydraConfig

    from undogmatic.experiment import run_experiment

    logging.captureWarnings(True)
    own = HydraConfig.get()
    folder = as_typed(Path(own.runtime.output_dir))  # as messages and hints show it
    (folder / ERROR_FILE).unlink(missing_ok=True)  # of an earlier attempt, where this one continues it
    try:
        config = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
        assert isinstance(config, dict)
        choices = dict(own.runtime.choices)
        return run_experiment(searchpath.adopt(config, own.runtime.config_sources, choices), choices, folder)
    except MissingMandatoryValue as error:
        _fail(folder, f"`{error.full_key}` is required. Set it with {error.full_key}=...", 2)
    except OmegaConfBaseException as error:
        _fail(folder, str(error).splitlines()[0], 2)
    except OSError as error:
        _fail(folder, f"{error.filename or folder}: {error.strerror or error}", 2)
    except UndogmaticError as error:
        _fail(folder, str(error), error.exit_status)
    except KeyboardInterrupt:
        whole = as_typed(Path(os.environ.get(SWEEP_FOLDER, folder)))
        print(f"interrupted: continue with the same command and run.resume={whole}", file=sys.stderr)
        raise SystemExit(130) from None
    except Exception as error:
        if SWEEP_FOLDER not in os.environ:
            raise
        # A fault of ours in one job of a sweep must not cost the other jobs their report.
        traceback.print_exc()
        _fail(folder, f"{type(error).__name__}: {error}", 70)
    return None


def _fail(folder: Path, message: str, status: int) -> None:
    """Say what went wrong, and leave it in the folder: a sweep's jobs may run in processes of their own."""
    print(f"error: {message}", file=sys.stderr)
    (folder / ERROR_FILE).write_text(f"{message}\n", encoding="utf-8")
    note_status(status)


def main() -> NoReturn:
    """Entry point; the exit status is not 0 if any job ended with an error.

    What cannot be composed is worded here. Hydra prints such errors itself and ends with 1, unless HYDRA_FULL_ERROR is
    "1": then it hands them on. So it always is; who sets it sees the traceback.
    """
    from undogmatic.overrides import combined, explain, typed_wrongly

    typed = sys.argv[1:]
    in_full = os.environ.get("HYDRA_FULL_ERROR") == "1"
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        sys.argv[1:] = combined(typed)
        _refuse_doors_past_ours()
        job()
    except UndogmaticError as error:
        print(f"error: {error}", file=sys.stderr)
        note_status(error.exit_status)
    except Exception as error:
        if in_full or not typed_wrongly(error):
            raise
        print(f"error: {explain(error, typed)}", file=sys.stderr)
        note_status(2)
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
