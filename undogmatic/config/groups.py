"""Reads the YAML of config groups: a folder of groups as Hydra's source, and names looked up inside
other files.

The folders are the program's own conf/ and the user's; a user's file never takes the place of a
shipped one. A file of a group is data: read without tags, bounded in size and depth, and refused
where it speaks to Hydra.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import hashlib
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigLoadError, ConfigResult, ConfigSource
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.config.wall import HYDRA, check, resolved
from undogmatic.errors import ConfigError, DataError, UndogmaticError
from undogmatic.safety.command import GIVEN, as_typed
from undogmatic.safety.outside import YAML_BYTES, read_text, yaml_value
from undogmatic.safety.paths import conf_folder
from undogmatic.safety.project import how_to_allow, permits

if TYPE_CHECKING:
    from undogmatic.config.build import Settings

# The key of a composed config that holds the user's folders, for names used inside a group's file
FOLDERS = "folders"
SCHEME = "groups"  # Of a place of the search path that is read here
# Who brings a place of the search path that is not the user's
NO_USERS = (
    "hydra",
    "main",
    "schema",
)
_HEADER = 512  # characters of a file in which Hydra looks for `# @package`
# one name on the way to a file; none leads out of the folder
_STEP = re.compile(r"(?!\.)[^/\\\0]+")
_SWEPT = re.compile(r"[\w.@-]+(/[\w.@-]+)*")

_latest: list[str] = []


class GroupFiles(ConfigSource):
    """A folder of config groups, of the user's or the program's own, with provider and path as
    Hydra's search path has them. Raises ConfigError where a file in it would take the place of a
    shipped one."""

    def __init__(self, provider: str, path: str) -> None:
        super().__init__(provider, path)
        self.is_shipped = Path(self.path) == conf_folder()
        # Whoever reads `model=local` in a command must know what ran: a file of that
        # name in somebody's folder would make it something else, unseen.
        for name in () if self.is_shipped else _shipped_files(conf_folder()):
            if Path(self.path, name).is_file():
                raise ConfigError(
                    f"{as_typed(Path(self.path, name))} would take the place of the program's own "
                    f"{conf_folder() / name}. Give it a name of its own, and choose it by that."
                )

    @staticmethod
    def scheme() -> str:
        return SCHEME

    def load_config(self, config_path: str) -> ConfigResult:
        """The file's content, checked. Raises ConfigError with file and, where it is known,
        line."""
        if not self.is_config(config_path):
            raise ConfigLoadError(f"Config not found : {self.path}/{config_path}")
        path = self._file(config_path)
        shown, (node, text) = as_typed(path), _mapping(path)
        try:
            header = ConfigSource._get_header_dict(text[:_HEADER])
        except ValueError as error:
            raise ConfigError(
                f"{shown}: a line `# @...` at the top is not understood: {error}."
            ) from None
        group = config_path.rpartition("/")[0]
        if group and not self.is_shipped:
            _check_file(node, group, header.get("package"), shown)
        config = _config(node, shown)
        searched = (
            OmegaConf.select(config, f"{HYDRA}.searchpath") if not group else None
        )
        if isinstance(searched, ListConfig):
            OmegaConf.update(
                config,
                f"{HYDRA}.searchpath",
                [source_of(str(place)) for place in searched],
            )
        return ConfigResult(self.provider, self.full_path(), config, header)

    def available(self) -> bool:
        return Path(self.path).is_dir()

    def is_group(self, config_path: str) -> bool:
        return _leads_inside(config_path) and Path(self.path, config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        return _leads_inside(config_path) and self._file(config_path).is_file()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        """The options of a group, the groups in it, or both."""
        options: list[str] = []
        # a folder that may not be read has no options
        with contextlib.suppress(OSError):
            for name in os.listdir(Path(self.path, config_path)):
                self._list_add_result(
                    options,
                    f"{config_path}/{name}" if config_path else name,
                    name,
                    results_filter,
                )
        return sorted(set(options))

    def _file(self, config_path: str) -> Path:
        return Path(
            self.path,
            config_path if config_path.endswith(".yaml") else f"{config_path}.yaml",
        )


def source_of(path: str) -> str:
    """Return a place of the search path for our source: a folder, or a package of Hydra's plugins
    as it is. Raises ConfigError for a package that may not be imported, and for no folder at all.
    """
    scheme, _, rest = (path if "://" in path else f"file://{path}").partition("://")
    if scheme == "pkg":
        if rest.partition(".")[0] == "hydra_plugins":
            return path
        if not permits(f"{rest}."):  # not even its name is imported
            raise ConfigError(
                f"`hydra.searchpath` names pkg://{rest}, a package that may not be used:"
                f" {how_to_allow(rest)}"
            )
        try:
            spec = importlib.util.find_spec(rest)
        # whatever the modules above it do when they are imported
        except Exception as error:
            raise ConfigError(
                f"`hydra.searchpath` names pkg://{rest}, which cannot be imported: {error}."
            ) from None
        places = (spec.submodule_search_locations if spec is not None else None) or [""]
        if not places[0] or not Path(places[0]).is_dir():
            raise ConfigError(
                f"`hydra.searchpath` names pkg://{rest}, which is no folder."
            )
        rest = places[0]
    elif scheme not in ("file", SCHEME) or not rest or "\0" in rest:
        raise ConfigError(
            f"`hydra.searchpath` names {path!r}; it must be a folder, e.g. file://my/conf."
        )
    return f"{SCHEME}://{Path(rest).absolute()}"


def given_file(group: str, path: Path) -> str:
    """Make a file outside all folders an option of a group in this process, and return the option's
    name. Raises ConfigError where it is no YAML mapping, or says more than a file of a group may.
    """
    from hydra.core.config_store import ConfigStore

    shown = as_typed(path)
    node, _ = _mapping(path)
    if "defaults" in node:
        raise ConfigError(
            f"{shown}: only a file in a folder of groups may have a `defaults` list."
        )
    _check_file(node, "", None, shown)
    config = _config(node, shown)
    name = f"file_{hashlib.sha256(OmegaConf.to_yaml(config).encode()).hexdigest()[:16]}"
    ConfigStore.instance().store(name=name, group=group, node=config)
    GIVEN[f"{group}={name}"] = str(shown)
    return name


def named(group: str, name: str, key: str, chosen: Settings) -> dict[str, Any]:
    """Return the node of the file `name` of a group, in the user's folders or in conf/, its
    references resolved in the run's config (`chosen`). `key` is where the name stands. Raises
    ConfigError where there is none, or no YAML.
    """
    whole = OmegaConf.create(
        chosen.model_dump(exclude={FOLDERS})
        | {group: _loaded(group, name, key, chosen.folders)}
    )
    check(whole)
    try:
        return resolved(whole, group)
    except OmegaConfBaseException as error:
        raise ConfigError(
            f"`{key}` is {name!r}, whose file cannot be used: {str(error).splitlines()[0]}."
        ) from None


def plain(group: str, name: str, key: str) -> dict[str, Any]:
    """`named` where no config is at hand, in the folders last searched; its references stay as they
    are written."""
    return OmegaConf.to_container(_loaded(group, name, key, _latest))  # type: ignore[return-value]


def state(group: str) -> tuple[tuple[str, int, int], ...]:
    """Tell what the files of a group are by now, in the folders last searched: each with the moment
    of its last change and its size. As long as that is equal, `plain` gives what it gave."""
    found: list[tuple[str, int, int]] = []
    for source in _sources(_latest):
        with (
            contextlib.suppress(OSError),
            os.scandir(Path(source.path, group)) as files,
        ):
            known = [(file.path, file.stat()) for file in files]
            found += sorted(
                (path, stat.st_mtime_ns, stat.st_size) for path, stat in known
            )
    return tuple(found)


def language_of_prompt(*, _parent_: Any) -> str:
    """`${language_of_prompt:}`: the language of the prompt that the node around it describes, for
    those that say it themselves, such as an optimised program. Empty where there is no such prompt:
    it says why when it is built.
    """
    from undogmatic.config.build import build

    prompt = OmegaConf.masked_copy(
        _parent_, [key for key in _parent_ if key != "language"]
    )
    node: Any = OmegaConf.to_container(prompt, resolve=True)
    with contextlib.suppress(UndogmaticError):
        return str(build(node, "prompt").language)
    return ""


OmegaConf.register_new_resolver("language_of_prompt", language_of_prompt, replace=True)


def search(users: Sequence[str]) -> None:
    """Search these folders of the user's from now on; a process that did not compose the config is
    told so."""
    _latest[:] = users


def options(group: str, users: Sequence[str] | None = None) -> list[str]:
    """The options of a group, or the groups (""), in the folders given (None: those last searched)
    and in conf/."""
    kind = ObjectType.CONFIG if group else ObjectType.GROUP
    names = {
        name
        for source in _sources(_latest if users is None else users)
        for name in source.list(group, kind)
    }
    return sorted(name for name in names if not name.startswith((".", "_")))


def keys_of(group: str, name: str) -> frozenset[str]:
    """The keys that the file of an option lists; none where it cannot be read."""
    try:
        return frozenset(map(str, _loaded(group, name, group, _latest, composed=True)))
    except ConfigError:
        return frozenset()


def _loaded(
    group: str, name: str, key: str, users: Sequence[str], composed: bool = False
) -> Any:
    """What the file of an option says, over the options of its group that its `defaults` list
    names; one whose list has more is for Hydra, which composes it, alone."""
    loaded = _said(group, name, key, users)
    # as it is written: an entry may be ??? or a reference
    listed: Any = OmegaConf.to_container(loaded)
    bases = [base for base in listed.get("defaults") or () if base != "_self_"]
    if not bases or not all(
        isinstance(base, str) and base in options(group, users) for base in bases
    ):
        said = [loaded]
    else:
        said = [*(_said(group, base, key, users) for base in bases), loaded]
        del loaded["defaults"]
    if not composed and any("defaults" in each for each in said):
        raise ConfigError(
            f"`{key}` is {name!r}, whose file has a `defaults` list; only a file chosen as"
            f" {group}={name} may have one that names more than other options of {group}. Write its"
            " keys out."
        )
    return OmegaConf.merge(*said)


def _said(group: str, name: str, key: str, users: Sequence[str]) -> Any:
    """What the file of an option holds. Raises ConfigError where there is none."""
    sources = [
        source for source in _sources(users) if source.is_config(f"{group}/{name}")
    ]
    if not sources:
        known = options(group, users)
        close = difflib.get_close_matches(str(name), known, 1)
        hint = f" Did you mean {close[0]}?" if close else ""
        listed = (
            f"Known: {', '.join(known)}."
            if known
            else f"Write {group}/NAME.yaml in a folder of yours."
        )
        raise ConfigError(
            f"`{key}` is {name!r:.200}, which is not in conf/{group}/.{hint} {listed}"
        )
    return sources[0].load_config(f"{group}/{name}").config


def _sources(users: Sequence[str]) -> list[GroupFiles]:
    """The user's sources that exist and the program's, in the order of search."""
    places = [*map(source_of, users), f"{SCHEME}://{conf_folder()}"]
    return [
        source for place in places if (source := GroupFiles("user", place)).available()
    ]


@functools.lru_cache(maxsize=4)
def _shipped_files(folder: Path) -> tuple[str, ...]:
    return tuple(str(path.relative_to(folder)) for path in folder.rglob("*.yaml"))


def _leads_inside(config_path: str) -> bool:
    return not config_path or all(map(_STEP.fullmatch, config_path.split("/")))


def _mapping(path: Path) -> tuple[dict[str, Any], str]:
    """What a file holds, and its text. Raises ConfigError."""
    shown = as_typed(path)
    try:
        node, text = read_text(shown, YAML_BYTES, lambda text: (_value(text), text))
    except DataError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(node, dict | None):
        what = "a list" if isinstance(node, list) else "a single value"
        raise ConfigError(f"{shown}: it must hold keys and values, and is {what}.")
    return dict(node or {}), text


_value = functools.lru_cache(maxsize=64)(yaml_value)
"""The value of a YAML text; a sweep composes the same files for each of its jobs."""


def _config(node: Mapping[str, Any], shown: Path) -> DictConfig:
    for key in _odd_keys(node, str):
        raise ConfigError(
            f"{shown}: the key {key!r} is no word; put quotes around it, or choose another."
        )
    try:
        return OmegaConf.create(dict(node))
    except (OmegaConfBaseException, RecursionError, ValueError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ConfigError(f"{shown}: {first}.") from None


def _odd_keys(node: Any, kinds: Any) -> Iterator[Any]:
    """The keys that are of other kinds; deeper in it a number may be one."""
    if isinstance(node, dict):
        yield from (key for key in node if not isinstance(key, kinds))
    for value in (
        node.values()
        if isinstance(node, dict)
        else node
        if isinstance(node, list)
        else ()
    ):
        yield from _odd_keys(value, str | int | float)


def _check_file(
    node: Mapping[str, Any], group: str, package: str | None, shown: Path
) -> None:
    """Refuse a file of a group that speaks to Hydra by its key `hydra` or by Hydra's groups in
    `defaults`."""
    if group.split("/", maxsplit=1)[0] == HYDRA:
        raise ConfigError(
            f"{shown}: a folder of groups may have no options of Hydra's own groups ({group}); set"
            " its keys on the command line, or in a file that you choose with --config-name."
        )
    if HYDRA in node and not (package == "_global_" and _only_sweeps(node[HYDRA])):
        refuse(shown, "the key `hydra`")
    entries = node.get("defaults", [])
    if not isinstance(entries, list):
        raise ConfigError(
            f"{shown}: `defaults` must be a list, e.g. [override /judge: score]."
        )
    for entry in (entry for entry in entries if entry != "_self_"):
        written, values = entry, [""]
        if isinstance(entry, dict) and len(entry) == 1:
            ((written, value),) = entry.items()
            values = (
                value if isinstance(value, list) else ["" if value is None else value]
            )
        if (
            not isinstance(written, str)
            or not written.strip()
            or not all(isinstance(each, str) for each in values)
        ):
            raise ConfigError(
                f"{shown}: `defaults` holds {entry!r}; write each entry as [override] /GROUP:"
                " OPTION."
            )
        place = written.partition("@")[0].split(" ")[-1]  # as Hydra reads it
        place = place.lstrip("/") if place.startswith("/") else f"{group}/{place}"
        for full in (
            [f"{place}/{value or 'null'}" for value in values]
            if isinstance(entry, dict)
            else [place]
        ):
            if HYDRA in full.split("/")[:-1]:
                refuse(shown, f"`defaults` with {written!r}")
            if "/" not in full or not _leads_inside(full.replace("${", "")):
                raise ConfigError(
                    f"{shown}: `defaults` names {written!r}, which is no option of a group."
                )


def refuse(shown: str | Path, what: str) -> NoReturn:
    """Raise ConfigError for a file of a group that speaks to Hydra."""
    raise ConfigError(
        f"{shown}: a file of a group may not set Hydra's own keys, which run code: leave out"
        f" {what}. Set them on the command line, or in a file that you choose with --config-name."
        " (hydra.sweeper.params alone may stand in an experiment.)"
    )


def _only_sweeps(node: Any) -> bool:
    """Whether it only says which keys are swept over: `sweeper: {params: {judge:
    "score,debate"}}`."""
    match node:
        case {"sweeper": {"params": dict(params), **beside}, **others} if (
            not beside and not others
        ):
            swept = (
                isinstance(k, str)
                and _SWEPT.fullmatch(k)
                and HYDRA not in re.split(r"[./@]", k)
                for k in params
            )
            return all(swept) and all(
                isinstance(v, str | int | float) and "${" not in str(v)
                for v in params.values()
            )
    return False
