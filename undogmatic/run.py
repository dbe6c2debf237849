"""`python -m undogmatic.run`: compose the config, run the experiment, say how it ended. Wiring only.

Nothing heavier than Hydra is imported at module level, so that `--help` and `--cfg job` answer at once.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.errors import UndogmaticError
from undogmatic.paths import conf_folder
from undogmatic.resume import output_folder

# litellm (below DSPy and MLflow) otherwise fetches a price map at import and waits for the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("HYDRA_FULL_ERROR", "0")

OmegaConf.register_new_resolver("output_folder", output_folder, replace=True)

exit_status = 0


@hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name="config")
def job(cfg: DictConfig) -> float | None:
    """One run (or one job of a sweep). Returns the headline metric, for Hydra's search sweepers."""
    global exit_status
    from hydra.core.hydra_config import HydraConfig

    from undogmatic.experiment import run_experiment

    logging.captureWarnings(True)
    own = HydraConfig.get()
    try:
        config = OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
        exit_status = 2
        return None
    try:
        assert isinstance(config, dict)
        return run_experiment(config, dict(own.runtime.choices), Path(own.runtime.output_dir))
    except UndogmaticError as error:
        print(f"error: {error}", file=sys.stderr)
        exit_status = error.exit_status
        (Path(own.runtime.output_dir) / "error.txt").write_text(f"{error}\n", encoding="utf-8")
    except KeyboardInterrupt:
        print(f"interrupted: continue with the same command and run.resume={own.runtime.output_dir}", file=sys.stderr)
        raise SystemExit(130) from None
    return None


def main() -> None:
    """Entry point; the exit status is not 0 if any job ended with an error."""
    job()
    sys.exit(exit_status)


if __name__ == "__main__":
    main()
