"""The door for the YAML of config groups: read as plain data, and refused where a file says more than a group may.

A folder of groups may be anybody's, and one word (`prompt=theirs`) takes a file of it. So a file of a group cannot
speak to Hydra, which would import and call what it is told to before our own allow-list is looked at.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.outside import YAML_BYTES, Unreadable, read_text, yaml_value
from undogmatic.safety.paths import conf_folder

HYDRA = "hydra"
_HEADER = 512  # characters of a file in which Hydra looks for `# @package`
_STEP = re.compile(r"(?!\.)[^/\\\0]+")  # one name on the way to a file; none leads out of the folder
_SWEPT = re.compile(r"[\w.@-]+(/[\w.@-]+)*")


class GroupFiles(FileConfigSource):
    """A folder of config groups, of the user's or the program's own."""

    def load_config(self, config_path: str) -> ConfigResult:
        """The file's content, checked. Raises ConfigError with file and, where it is known, line."""
        if not self.is_config(config_path):
            raise ConfigLoadError(f"Config not found : {self.path}/{config_path}")
        path = Path(self.path) / self._normalize_file_name(config_path)
        text, shown = _text(path), short(path)
        try:
            header = ConfigSource._get_header_dict(text[:_HEADER])
        except ValueError as error:
            raise ConfigError(f"{shown}: a line `# @...` at the top is not understood: {error}.") from None
        node = _mapping(text, shown)
        group = config_path.rpartition("/")[0]
        if group and not self.shipped:
            _check(node, group, header.get("package"), shown)
            if (conf_folder() / self._normalize_file_name(config_path)).is_file():
                _check_place(node, config_path, header.get("package"), shown)
        return ConfigResult(self.provider, f"{self.scheme()}://{self.path}", _config(node, shown), header)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A launcher's worker composes its job's config: the check of what is composed comes with the files."""
        importlib.import_module("undogmatic.config.searchpath")
        self.__dict__.update(state)

    @property
    def shipped(self) -> bool:
        """Whether it is the program's own folder."""
        return Path(self.path) == conf_folder()

    def is_group(self, config_path: str) -> bool:
        return _leads_inside(config_path) and super().is_group(config_path)

    def is_config(self, config_path: str) -> bool:
        return _leads_inside(config_path) and super().is_config(config_path)

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        try:
            return super().list(config_path, results_filter)
        except OSError:
            return []  # a folder that may not be read has no options


def given(path: Path) -> DictConfig:
    """A file outside all folders that is to be an option of a group. Raises ConfigError."""
    node = _mapping(_text(path), short(path))
    if "defaults" in node:
        raise ConfigError(f"{short(path)}: only a file in a folder of groups may have a `defaults` list.")
    _check(node, "", None, short(path))
    return _config(node, short(path))


def short(path: Path) -> str:
    """The path as one would type it: relative to the working directory if it lies below."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _leads_inside(config_path: str) -> bool:
    return all(_STEP.fullmatch(step) for step in config_path.split("/")) if config_path else True


def _text(path: Path) -> str:
    try:
        return read_text(Path(short(path)), YAML_BYTES)
    except DataError as error:
        raise ConfigError(str(error)) from None


def _mapping(text: str, shown: str) -> dict[str, Any]:
    try:
        node = _plain(text)
    except Unreadable as error:
        raise ConfigError(error.at(shown)) from None
    if node is None:
        return {}
    if not isinstance(node, dict):
        raise ConfigError(f"{shown}: it must hold keys and values, and is {_kind(node)}.")
    return dict(node)


@functools.lru_cache(maxsize=64)
def _plain(text: str) -> Any:
    """Hydra composes twice for one command, and three times for a sweep."""
    return yaml_value(text)


def _kind(node: Any) -> str:
    return "a list" if isinstance(node, list) else "a single value"


def _config(node: Mapping[str, Any], shown: str) -> DictConfig:
    for key in _odd_keys(node):
        raise ConfigError(f"{shown}: the key {key!r} is no word; put quotes around it, or choose another.")
    try:
        return OmegaConf.create(dict(node))
    except (OmegaConfBaseException, RecursionError, ValueError) as error:
        raise ConfigError(f"{shown}: {_first_line(error)}.") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _odd_keys(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        for key, value in node.items():
            if not isinstance(key, str | int | float):
                yield key
            yield from _odd_keys(value)
    elif isinstance(node, list):
        for value in node:
            yield from _odd_keys(value)


def _check(node: Mapping[str, Any], group: str, package: str | None, shown: str) -> None:
    """Refuse what speaks to Hydra: the package or the key `hydra`, its groups in `defaults`. Raises ConfigError."""
    for key in node:
        if not isinstance(key, str):
            raise ConfigError(f"{shown}: the key {key!r} is no word; put quotes around it, or choose another.")
    if group.split("/", maxsplit=1)[0] == HYDRA:
        raise ConfigError(
            f"{shown}: a folder of groups may have no options of Hydra's own groups ({group}); set its keys on the "
            f"command line, or in a file that you choose with --config-name."
        )
    if package is not None and HYDRA in re.split(r"[.:]", package):
        _refuse(shown, f"`# @package {package}`")
    if HYDRA in node and not (package == "_global_" and _only_sweeps(node[HYDRA])):
        _refuse(shown, "the key `hydra`")
    for named, full, placed in _defaults(node, group, shown):
        if HYDRA in full.split("/")[:-1] or HYDRA in re.split(r"[.:]", placed):
            _refuse(shown, f"`defaults` with {named!r}")
        if "/" not in full or not _leads_inside(full.replace("${", "")):
            raise ConfigError(f"{shown}: `defaults` names {named!r}, which is no option of a group.")


def _refuse(shown: str, what: str) -> NoReturn:
    raise ConfigError(
        f"{shown}: a file of a group may not set Hydra's own keys, which run code: leave out {what}. Set them on the "
        "command line, or in a file that you choose with --config-name. (hydra.sweeper.params alone may stand in an "
        "experiment.)"
    )


def _only_sweeps(node: Any) -> bool:
    """Whether it only says which keys are swept over: `sweeper: {params: {judge: "score,debate"}}`."""
    if not isinstance(node, dict) or list(node) != ["sweeper"] or not isinstance(node["sweeper"], dict):
        return False
    params = node["sweeper"].get("params")
    if list(node["sweeper"]) != ["params"] or not isinstance(params, dict):
        return False
    return all(
        isinstance(key, str)
        and _SWEPT.fullmatch(key)
        and HYDRA not in re.split(r"[./@]", key)
        and isinstance(value, str | int | float)
        and "${" not in str(value)
        for key, value in params.items()
    )


def _defaults(node: Mapping[str, Any], group: str, shown: str) -> Iterator[tuple[str, str, str]]:
    """Each entry of the `defaults` list: as written, the path of the option in full, and the package it names."""
    entries = node.get("defaults", [])
    if not isinstance(entries, list):
        raise ConfigError(f"{shown}: `defaults` must be a list, e.g. [override /judge: score].")
    for entry in entries:
        options: list[Any] = [""]
        if isinstance(entry, dict) and len(entry) == 1 and all(isinstance(key, str) for key in entry):
            (said, value), *_ = entry.items()
            options = value if isinstance(value, list) else ["" if value is None else value]
        elif isinstance(entry, str):
            said = entry
            if entry == "_self_":
                continue
        else:
            raise ConfigError(f"{shown}: `defaults` holds {entry!r}; write each entry as [override] /GROUP: OPTION.")
        if not said.strip() or not all(isinstance(option, str) for option in options):
            raise ConfigError(f"{shown}: `defaults` holds {entry!r}; write each entry as [override] /GROUP: OPTION.")
        place, _, package = said.split(" ")[-1].partition("@")
        place = place.lstrip("/") if place.startswith("/") else f"{group}/{place}"
        for option in options:
            yield said, f"{place}/{option or 'null'}" if isinstance(entry, dict) else place, package


def _check_place(node: Mapping[str, Any], config_path: str, package: str | None, shown: str) -> None:
    """A file that takes a shipped one's place is at work without having been chosen: it may set its own group only."""
    shipped = (conf_folder() / f"{config_path}.yaml").read_text(encoding="utf-8")
    if "# @package" in shipped:
        return
    wide = [f"# @package {package}"] if package is not None else []
    for named, _, placed in _defaults(node, config_path.rpartition("/")[0], shown):
        if named.split(" ")[-1].startswith("/") or "override" in named.split(" ")[:-1] or placed.startswith("_"):
            wide.append(f"defaults: {named}")
    if wide:
        raise ConfigError(
            f"{shown} takes the place of a shipped file, so it may set only its own group: leave out {wide[0]!r}, or "
            "give the file a name of its own."
        )
