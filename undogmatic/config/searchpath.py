"""Where the YAML of a config group lies: in the user's folders first, then in the program's own conf/.

Hydra searches its `--config-dir` and `hydra.searchpath` after the program's folder. Here they come before it, and so do
the folders of `project.py`, so that a user's file may take the place of a shipped one. That is said once, on stderr.

Imported by the Hydra entry point and by a launcher's workers, so it stays light.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra._internal.config_repository import ConfigRepository
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra._internal.sources_registry import SourcesRegistry
from hydra.core.object_type import ObjectType
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.config import composed
from undogmatic.config.configfiles import GroupFiles, given
from undogmatic.config.project import folders, how_to_allow, permits
from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.safety.paths import conf_folder

if TYPE_CHECKING:
    from hydra.core.config_search_path import ConfigSearchPath
    from hydra.plugins.config_source import ConfigSource

    from undogmatic.config.build import Settings

FOLDERS = "folders"
"""The key of a composed config that holds the user's folders, for names used inside a group's file."""
_HYDRAS = ("hydra", "main", "schema")

_latest: list[str] = []
_said: set[str] = set()
_initialize = ConfigRepository.initialize_sources


def _users_first(self: ConfigRepository, config_search_path: ConfigSearchPath) -> None:
    """Hydra's own sources, the user's, the program's, and the schema, which must be last."""
    given = config_search_path.get_path()
    if not any(each.provider == "main" and _place(str(each.path)) == _place(str(conf_folder())) for each in given):
        return _initialize(self, config_search_path)  # another program's, in the same process
    users = [(str(e.provider), _place(str(e.path))) for e in given if e.provider not in _HYDRAS]
    users += [("project", _place(str(folder))) for folder in folders()]
    users = [user for user in dict.fromkeys(users) if user[1] != _place(str(conf_folder()))]
    named = {str(each.provider): str(each.path) for each in given}
    ordered = ConfigSearchPathImpl()
    for provider, path in [("hydra", named["hydra"]), *users, ("main", named["main"])]:
        ordered.append(provider, path)
    if "schema" in named:
        ordered.append("schema", named["schema"])
    _latest[:] = [path for _, path in users]
    self.sources = [_source(str(each.provider), str(each.path)) for each in ordered.get_path()]
    for source in self.get_sources():
        if source.provider not in _HYDRAS and source.is_config("config"):
            raise ConfigError(
                f"{source.path}/config.yaml would take the place of the program's own. Rename it and choose it with "
                "--config-name, or make it a file of experiment/."
            )


def _source(provider: str, path: str) -> ConfigSource:
    """What reads a place of the search path: ours for every folder, Hydra's for what Hydra and its plugins bring."""
    scheme, _, rest = path.partition("://")
    if provider in ("hydra", "schema") or (scheme == "pkg" and rest.partition(".")[0] == "hydra_plugins"):
        return SourcesRegistry.instance().resolve(scheme)(provider, path)
    return GroupFiles(provider, path)


ConfigRepository.initialize_sources = _users_first  # type: ignore[method-assign]


def word(config_dirs: Iterable[str | Path]) -> list[str]:
    """The override that adds folders to the search path, or none. Raises ConfigError for what is not a folder."""
    given = [Path(each).expanduser() for each in config_dirs]
    for folder in given:
        if not folder.is_dir():
            raise ConfigError(f"`--config-dir` is {str(folder)!r}, which is not a folder.")
    quoted = ",".join("'" + _place(str(each)).replace("\\", "\\\\").replace("'", "\\'") + "'" for each in given)
    return [f"hydra.searchpath=[{quoted}]"] if given else []


def given_file(group: str, path: Path) -> str:
    """Make a file outside all folders an option of a group in this process. Returns the option's name.

    Raises:
        ConfigError: It is not YAML, or not a mapping, or says more than a file of a group may.
    """
    from hydra.core.config_store import ConfigStore

    node = given(path)
    name = f"file_{hashlib.sha256(OmegaConf.to_yaml(node).encode()).hexdigest()[:16]}"
    ConfigStore.instance().store(name=name, group=group, node=node)
    return name


def adopt(config: Mapping[Any, Any], sources: Iterable[Any], choices: Mapping[str, Any]) -> dict[str, Any]:
    """A composed config that knows the user's folders, so that names used inside its groups are found there too.

    Args:
        config: As plain data.
        sources: Hydra's `runtime.config_sources`.
        choices: Hydra's `runtime.choices`; says which shipped files the user's take the place of.
    Raises:
        ConfigError: The config sets the key itself.
    """
    if FOLDERS in config:
        raise ConfigError(f"`{FOLDERS}` is set by the program. Name folders with --config-dir, or in undogmatic.toml.")
    users = [_place(f"{s.schema}://{s.path}") for s in sources if s.provider not in _HYDRAS and s.path]
    for group, option in choices.items():
        if isinstance(option, str) and "/" not in group:
            _find(group, option, users)
    return {str(k): v for k, v in config.items()} | ({FOLDERS: users} if users else {})


def named(group: str, name: str, key: str, chosen: Settings) -> dict[str, Any]:
    """The node of the file `name` of a group, in the user's folders or in conf/, its references resolved.

    Args:
        group, name: `judge` and `debate`, for judge/debate.yaml.
        key: Where the name stands, for messages.
        chosen: The run's config: its folders, and what references mean.
    Raises:
        ConfigError: There is no such file, or it is not YAML.
    """
    loaded = _loaded(group, name, key, chosen.folders)
    whole = OmegaConf.create(chosen.model_dump(exclude={FOLDERS}) | {group: loaded})
    composed.check(whole)
    try:
        node = OmegaConf.to_container(whole[group], resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"`{key}` is {name!r}, whose file cannot be used: {str(error).splitlines()[0]}.") from None
    assert isinstance(node, dict)
    return {str(k): v for k, v in node.items()}


def plain(group: str, name: str, key: str) -> dict[str, Any]:
    """`named` where no config is at hand, in the folders last searched; its references stay as they are written."""
    node = OmegaConf.to_container(OmegaConf.create(_loaded(group, name, key, _latest)))
    assert isinstance(node, dict)
    return {str(k): v for k, v in node.items()}


def language_of_prompt(*, _parent_: Any) -> str:
    """`${language_of_prompt:}`: the language of the prompt that the node around it describes, for those that say it
    themselves, such as an optimised program, so that other keys can refer to `prompt.language`. Empty where there is no
    such prompt: it says why when it is built."""
    from undogmatic.config.build import build

    own = OmegaConf.masked_copy(_parent_, [key for key in _parent_ if key != "language"])
    node = OmegaConf.to_container(own, resolve=True)
    assert isinstance(node, dict)
    try:
        return str(build({str(key): value for key, value in node.items()}, "prompt").language)
    except UndogmaticError:
        return ""


OmegaConf.register_new_resolver("language_of_prompt", language_of_prompt, replace=True)


def search(users: Sequence[str]) -> None:
    """Search these folders of the user's from now on; a process that did not compose the config is told so."""
    _latest[:] = users


def options(group: str, users: Sequence[str] | None = None) -> list[str]:
    """The options of a group, or the groups (""), in the folders given (None: those last searched) and in conf/."""
    kind = ObjectType.CONFIG if group else ObjectType.GROUP
    found: set[str] = set()
    for source in _sources(_latest if users is None else users):
        if source.is_group(group):
            found.update(source.list(group, kind))
    return sorted(name for name in found if not name.startswith((".", "_")))


def keys_of(group: str, name: str) -> frozenset[str]:
    """The keys that the file of an option lists; none where it cannot be read."""
    source = _find(group, name, _latest)
    try:
        return frozenset(map(str, source.load_config(f"{group}/{name}").config)) if source is not None else frozenset()
    except ConfigError:
        return frozenset()


def _known(names: Sequence[str], group: str) -> str:
    return (
        f"Known: {', '.join(names)}." if names else f"There is none yet: write {group}/NAME.yaml in a folder of yours."
    )


def _loaded(group: str, name: str, key: str, users: Sequence[str]) -> Any:
    source = _find(group, name, users)
    if source is None:
        known = options(group, users)
        close = difflib.get_close_matches(str(name), known, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise ConfigError(f"`{key}` is {name!r:.200}, which is not in conf/{group}/.{hint} {_known(known, group)}")
    loaded = source.load_config(f"{group}/{name}").config
    if "defaults" in loaded:
        raise ConfigError(
            f"`{key}` is {name!r}, whose file has a `defaults` list; only a file chosen as {group}={name} may have "
            "one. Write its keys out."
        )
    return loaded


def _find(group: str, name: str, users: Sequence[str]) -> ConfigSource | None:
    holding = [source for source in _sources(users) if source.is_config(f"{group}/{name}")]
    if len(holding) > 1 and holding[-1].provider == "main":
        note = f"note: {holding[0].path}/{group}/{name}.yaml takes the place of the shipped {group}={name}"
        if note not in _said:
            _said.add(note)
            print(note, file=sys.stderr)
    return holding[0] if holding else None


def _sources(users: Sequence[str]) -> list[ConfigSource]:
    """The user's sources that exist and the program's, in the order of search."""
    listed = [*(("user", path) for path in users), ("main", _place(str(conf_folder())))]
    return [source for source in (_source(*each) for each in listed) if source.available()]


def _place(path: str) -> str:
    """A place of the search path: an absolute folder, or a package of Hydra's plugins.

    Raises:
        ConfigError: It is a package that may not be imported, or no folder at all.
    """
    scheme, mark, rest = path.partition("://")
    if not mark:
        scheme, rest = "file", path
    if scheme == "pkg":
        if rest.partition(".")[0] == "hydra_plugins":
            return path
        rest = _folder_of(rest)
    elif scheme != "file" or not rest or "\0" in rest:
        raise ConfigError(f"`hydra.searchpath` names {path!r}; it must be a folder, e.g. file://my/conf.")
    return f"file://{Path(rest).absolute()}"


def _folder_of(package: str) -> str:
    """The folder of a package that may be built from a config; of another not even the name is imported."""
    if not permits(f"{package}."):
        raise ConfigError(
            f"`hydra.searchpath` names pkg://{package}, a package that may not be used: {how_to_allow(package)}"
        )
    try:
        spec = importlib.util.find_spec(package)
    except Exception as error:  # whatever the modules above it do when they are imported
        raise ConfigError(f"`hydra.searchpath` names pkg://{package}, which cannot be imported: {error}.") from None
    places = list((spec.submodule_search_locations if spec is not None else None) or ())
    if not places or not Path(places[0]).is_dir():
        raise ConfigError(f"`hydra.searchpath` names pkg://{package}, which is no folder.")
    return str(places[0])
