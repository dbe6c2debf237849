"""What Hydra writes itself, without secrets: `.hydra/*.yaml` of every job, `multirun.yaml` of a sweep.

Hydra offers no hook between composing a config and writing it, so its two ways of writing are replaced where they are
made. Imported by the Hydra entry point and, through its callback, by a launcher's workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hydra.core.utils
import yaml
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf._utils import get_omega_conf_dumper

from undogmatic import files
from undogmatic.guard import know_environment, know_words
from undogmatic.secrets import learn, scrub_data


def _as_yaml(config: Any) -> str:
    """What Hydra writes of a config or of a list of overrides, without secrets."""
    know_environment()
    plain = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
    if isinstance(plain, Mapping):
        learn({key: value for key, value in plain.items() if key != "hydra"}, "")
        learn(plain.get("hydra", {}).get("job", {}).get("env_set") or {}, "hydra.env_set")
    elif isinstance(plain, list):
        know_words([str(word) for word in plain])
    dumper = get_omega_conf_dumper()
    return str(
        yaml.dump(scrub_data(plain), default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=dumper)
    )


def _save_config(cfg: DictConfig | ListConfig, filename: str, output_dir: Path) -> None:
    files.write(Path(output_dir) / filename, _as_yaml(cfg))


_save = OmegaConf.save


def _save_whole(config: Any, f: Any, resolve: bool = False) -> None:
    """`OmegaConf.save`, with which sweepers write multirun.yaml."""
    if isinstance(config, DictConfig) and "hydra" in config and isinstance(f, str | Path):
        files.write(Path(f), _as_yaml(config))
    else:
        _save(config, f, resolve)


hydra.core.utils._save_config = _save_config  # type: ignore[assignment]
OmegaConf.save = staticmethod(_save_whole)  # type: ignore[method-assign]
