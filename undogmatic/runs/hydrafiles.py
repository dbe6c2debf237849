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

from undogmatic.runs.folder import MANIFEST
from undogmatic.safety import files
from undogmatic.safety.guard import know_environment, know_words
from undogmatic.safety.secrets import learn, scrub_data


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


_held_back: dict[Path, dict[Path, str]] = {}


def _save_config(cfg: DictConfig | ListConfig, filename: str, output_dir: Path) -> None:
    path, folder = Path(output_dir) / filename, Path(output_dir).parent
    if (folder / MANIFEST).is_file():
        _held_back.setdefault(folder.resolve(), {})[path] = _as_yaml(cfg)
    else:
        files.write(path, _as_yaml(cfg))


def held_back(folder: Path) -> bool:
    """Whether the folder holds a run of which it is not known yet that this command goes on with it.

    Hydra's files of that run then stay as they are.
    """
    return folder.resolve() in _held_back


def accept(folder: Path) -> None:
    """This command goes on with the run in the folder: its config takes the place of the earlier one."""
    for path, text in _held_back.pop(folder.resolve(), {}).items():
        files.write(path, text)


_save = OmegaConf.save


def _save_whole(config: Any, f: Any, resolve: bool = False) -> None:
    """`OmegaConf.save`, with which sweepers write multirun.yaml."""
    if isinstance(config, DictConfig) and "hydra" in config and isinstance(f, str | Path):
        files.write(Path(f), _as_yaml(config))
    else:
        _save(config, f, resolve)


hydra.core.utils._save_config = _save_config  # type: ignore[assignment]
OmegaConf.save = staticmethod(_save_whole)  # type: ignore[method-assign]
