"""Writes `.hydra/*.yaml` into a run's folder: how the run was composed, without secrets.

Hydra would write them itself before anything is known of the folder, so it is told to leave them out
(`hydra.output_subdir: null`). Where a folder holds a run already, they are held back until it is known that this
command goes on with that run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf._utils import get_omega_conf_dumper

from undogmatic.runs.folder import COMPOSED, HYDRA, MANIFEST, OVERRIDES
from undogmatic.safety import files
from undogmatic.safety.guard import without_secrets

_held_back: dict[Path, dict[Path, str]] = {}


def as_yaml(config: Any) -> str:
    """A config or a list of overrides as Hydra writes it, without secrets."""
    plain = without_secrets(OmegaConf.to_container(config, resolve=False, enum_to_str=True))
    return str(
        yaml.dump(plain, default_flow_style=False, allow_unicode=True, sort_keys=False, Dumper=get_omega_conf_dumper())
    )


def write(folder: Path, config: DictConfig, hydras: DictConfig) -> None:
    """Write a job's `config`, Hydra's own section (`hydras`) and the overrides, or hold them back. Raises
    StorageError."""
    sections = {COMPOSED: config, HYDRA: hydras, OVERRIDES: hydras.hydra.overrides.task}
    _held_back[folder.resolve()] = {folder / name: as_yaml(section) for name, section in sections.items()}
    if not (folder / MANIFEST).is_file():
        accept(folder)


def held_back(folder: Path) -> bool:
    """Whether the folder holds a run of which it is not known yet that this command goes on with it."""
    return folder.resolve() in _held_back


def accept(folder: Path) -> None:
    """This command goes on with the run in the folder: its config takes the place of the earlier one."""
    for path, text in _held_back.pop(folder.resolve(), {}).items():
        files.write(path, text)
