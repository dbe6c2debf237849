"""Composes configs through Hydra's public doors, and checks each composition before anybody sees
it.

Hydra gets three things of ours, all by public interfaces: a source that reads folders of groups
(`groups`), a plugin that adds the user's folders to the search path, and a loader around its own,
which it hands to sweepers, launchers and a launcher's workers. So no configuration of a run or of a
job comes past `wall.check`.
"""

import copy
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hydra import initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import OverrideType
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from undogmatic.config.groups import (
    FOLDERS,
    NO_USERS,
    SCHEME,
    GroupFiles,
    refuse,
    search,
    source_of,
)
from undogmatic.config.wall import HYDRA, check
from undogmatic.errors import ConfigError
from undogmatic.safety.command import as_typed
from undogmatic.safety.paths import conf_folder
from undogmatic.safety.project import folders
from undogmatic.safety.secrets import scrub_words, without_secrets

SEARCH_PATH = "hydra.searchpath"
_typed_places: list[tuple[str, str]] = []


class UserFolders(SearchPathPlugin):
    """Adds the user's folders to the search path of this program; that of another in the same
    process stays."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        main = [part for part in search_path.get_path() if part.provider == "main"]
        if not any(
            str(part.path).removeprefix("file://") == str(conf_folder())
            for part in main
        ):
            return
        for part in main:
            part.path = f"{SCHEME}://{conf_folder()}"
        users = [
            *_typed_places,
            *(("project", f"{SCHEME}://{folder.absolute()}") for folder in folders()),
        ]
        for provider, path in dict.fromkeys(users):
            if path != main[0].path:
                search_path.append(provider, path)


class Loader(ConfigLoader):
    """Hydra's loader (`inner`), with every composition checked before anybody sees it.

    Launchers hand it to their workers, so that the configs of jobs are checked where they are
    composed. Hydra composes the jobs of a sweep to see that all can be composed, and each again
    when it starts it; what was seen is kept for the start, so that each is composed once. Nor are
    jobs composed whose words differ from those of an earlier one only in plain values (`seed=1`,
    `seed=2`): they get a copy of its config with these values, in a fifth of the time.
    """

    MOST_KEPT = 200  # jobs whose config is kept; each takes about a megabyte
    MOST_SIBLINGS = 20

    def __init__(self, inner: ConfigLoader) -> None:
        self.inner = inner
        # overrides of Hydra's own section as they are shown -> as they were typed
        self.typed: dict[str, str] = {}
        self._looking = False
        self._master: DictConfig | None = None
        self._kept: dict[tuple[str, ...], DictConfig] = {}
        self._siblings: dict[
            tuple[str, ...], tuple[DictConfig, tuple[str, ...], DictConfig]
        ] = {}
        self._values: dict[str, tuple[str | None, Any]] = {}

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        """Compose and check. Raises ConfigError, and what Hydra and OmegaConf raise."""
        # their folders are on the search path already
        words = [word for word in overrides if not _searches(word)]
        try:
            config = self.inner.load_configuration(
                config_name, words, run_mode, from_shell, validate_sweep_overrides
            )
            sources = config.hydra.runtime.config_sources
            if any(source.provider not in NO_USERS for source in sources):
                defaults = self.inner.compute_defaults_list(
                    config_name, words, run_mode
                ).defaults
                _check_places(defaults, [Path(source.path) for source in sources])
        except RecursionError:
            raise ConfigError(
                "the config cannot be composed: a `defaults` list leads back to its own file, or a"
                " value is nested too deeply."
            ) from None
        except HydraException:  # some of which are an OSError too
            raise
        except OSError as error:  # the name of an option that no file can bear
            raise ConfigError(
                f"an option cannot be looked up: {error.strerror or error}."
            ) from None
        _passed.add(_mark(check(config)))
        for source in sources:
            source.schema = "file" if source.schema == SCHEME else source.schema
        search(_users(sources))
        config.hydra.overrides.hydra = [
            *filter(_searches, overrides),
            *config.hydra.overrides.hydra,
        ]
        return config

    def load_sweep_config(
        self, master_config: DictConfig, sweep_overrides: list[str]
    ) -> DictConfig:
        name = tuple(sweep_overrides)
        if not self._looking and master_config is self._master and name in self._kept:
            return self._kept.pop(name)
        shape = tuple(self._plain_value(word)[0] or f" {word}" for word in name)
        if (config := self._like_sibling(master_config, name, shape)) is None:
            words = [
                self.typed.get(word, word)
                for word in master_config.hydra.overrides.hydra
            ]
            config = self.load_configuration(
                master_config.hydra.job.config_name, [*words, *name], RunMode.RUN
            )
            if len(self._siblings) >= self.MOST_SIBLINGS:
                self._siblings.clear()
            # a run writes its folder into its own
            self._siblings[shape] = (
                master_config,
                name,
                copy.deepcopy(config),
            )
        # the same `now` in all jobs
        OmegaConf.copy_cache(from_config=master_config, to_config=config)
        if self._looking and len(self._kept) < self.MOST_KEPT:
            self._master, self._kept[name] = master_config, config
        return config

    def _like_sibling(
        self, master: DictConfig, words: tuple[str, ...], shape: tuple[str, ...]
    ) -> DictConfig | None:
        """The config of these words as a copy of one that was composed of others, if they differ in
        plain values."""
        composed, before, sibling = self._siblings.get(shape, (None, (), master))
        changed = {
            old: new for old, new in zip(before, words, strict=False) if old != new
        }
        keys = [f"{word.lstrip('+~').partition('=')[0]}." for word in words]
        for own in (f"{self._plain_value(word)[0]}." for word in changed.values()):
            # What else is said of such a key, or of what is in it, counts in the order of the
            # words.
            if (
                sum(
                    key.startswith(own)
                    or (own.startswith(key) and not self._is_group(key[:-1]))
                    for key in keys
                )
                > 1
            ):
                return None
        if composed is not master:
            return None
        config = copy.deepcopy(sibling)
        for word in changed.values():
            key, value = self._plain_value(word)
            OmegaConf.update(config, str(key), value)
        config.hydra.overrides.task = tasks = [
            changed.get(word, word) for word in sibling.hydra.overrides.task
        ]
        how = config.hydra.job.config.override_dirname
        named = sorted(
            word
            for word in tasks
            if word.lstrip("+~").partition("=")[0] not in how.exclude_keys
        )
        config.hydra.job.override_dirname = how.item_sep.join(named).replace(
            "=", how.kv_sep
        )
        _passed.add(_mark(check(config)))
        return config

    def _plain_value(self, word: str) -> tuple[str | None, Any]:
        """The key and the value of an override that gives one value to one key of our part; else no
        key."""
        if word not in self._values:
            override = OverridesParser.create().parse_override(word)
            key = override.key_or_group
            value = None if override.is_sweep_override() else override.value()
            usual = override.type == OverrideType.CHANGE and override.package is None
            plain = (
                isinstance(value, bool | int | float | str)
                and "${" not in str(value)
                and value != "???"
            )
            ours = not override.is_hydra_override() and not self._is_group(key)
            self._values[word] = (key if usual and plain and ours else None), value
        return self._values[word]

    def _is_group(self, key: str) -> bool:
        return bool(self.inner.get_group_options(key))

    @contextmanager
    def looking(self) -> Iterator[None]:
        """While a sweeper looks whether its jobs can be composed: their configs are kept for their
        start."""
        self._looking, self._master = True, None
        self._kept.clear()
        try:
            yield
        finally:
            self._looking = False

    def shown(self, config: DictConfig) -> DictConfig:
        """The config as a sweeper may write it down: without secrets. Jobs are composed of what was
        typed."""
        plain = OmegaConf.to_container(config, resolve=False)
        if (clean := without_secrets(plain)) == plain:
            return config
        self.typed = {scrub_words(word): word for word in config.hydra.overrides.hydra}
        shown = OmegaConf.create(clean)
        OmegaConf.copy_cache(from_config=config, to_config=shown)
        return shown

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_master": None, "_kept": {}, "_siblings": {}}

    def get_search_path(self) -> ConfigSearchPath:
        return self.inner.get_search_path()

    def get_sources(self) -> list[ConfigSource]:
        return self.inner.get_sources()

    def list_groups(self, parent_name: str) -> list[str]:
        return self.inner.list_groups(parent_name)

    def get_group_options(self, group_name: str, *rest: Any, **more: Any) -> list[str]:
        return self.inner.get_group_options(group_name, *rest, **more)

    def compute_defaults_list(
        self, config_name: str | None, overrides: list[str], run_mode: RunMode
    ) -> Any:
        words = [word for word in overrides if not _searches(word)]
        return self.inner.compute_defaults_list(config_name, words, run_mode)


def _check_places(defaults: Iterable[Any], folders: Sequence[Path]) -> None:
    """Raise ConfigError where a file of a group is placed in Hydra's section, however its place is
    written."""
    for default in defaults:
        path, place = str(default.config_path), default.package
        if default.primary or not place or path.partition("/")[0] == HYDRA:
            continue
        tried = OmegaConf.create()
        OmegaConf.update(tried, place, {}, force_add=True)
        if HYDRA in tried:
            files = [
                file
                for folder in folders
                if (file := folder / f"{path}.yaml").is_file()
            ]
            refuse(as_typed(files[0]) if files else path, f"its place `{place}`")


Plugins.instance().register(GroupFiles)
Plugins.instance().register(UserFolders)

_passed: set[str] = set()
_opened: list[Loader] = []


def passed(config: DictConfig) -> bool:
    """Whether this very config was composed and checked in this process; Hydra's own section is
    left aside."""
    plain: Any = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
    plain.pop(HYDRA, None)
    return _mark(plain) in _passed


def _mark(plain: dict[Any, Any]) -> str:
    return hashlib.sha256(repr(plain).encode("utf-8", "backslashreplace")).hexdigest()


@contextmanager
def opened(
    words: Sequence[str] = (), config_dirs: Iterable[str | Path] = (), job: str = "app"
) -> Iterator[Loader]:
    """Open Hydra with the folders in `config_dirs`, those that an override names
    (hydra.searchpath=[...]), those of the project and the program's; inside, `current` is the
    loader too. `job` is Hydra's name for the job and for its log. Raises ConfigError where one is
    no folder, or holds a file with the name of a shipped one."""
    _typed_places[:] = [
        ("command-line", f"{SCHEME}://{folder}") for folder in _existing(config_dirs)
    ]
    for override in filter(_searches, words):
        try:
            places = OverridesParser.create().parse_override(override).value()
        except HydraException:
            places = override.partition("=")[2]
        if not isinstance(places, list | None) or not all(
            isinstance(place, str) for place in places or ()
        ):
            raise ConfigError(
                f"{SEARCH_PATH} must be a list of strings. Got: {str(places)[:200]}"
            )
        _typed_places.extend(
            (f"{SEARCH_PATH} in command-line", source_of(place))
            for place in places or ()
        )
    with ExitStack() as stack:
        stack.callback(_typed_places.clear)
        stack.enter_context(
            initialize_config_dir(
                version_base="1.3", config_dir=str(conf_folder()), job_name=job
            )
        )
        _opened.append(Loader(GlobalHydra.instance().config_loader()))
        stack.callback(_opened.pop)
        yield _opened[-1]


def current() -> Loader:
    """The loader of the command that is running."""
    return _opened[-1]


def word(config_dirs: Iterable[str | Path]) -> list[str]:
    """The override that adds folders to the search path, or none. Raises ConfigError for what is
    not a folder."""
    paths = [
        folder.replace("\\", "\\\\").replace("'", "\\'")
        for folder in _existing(config_dirs)
    ]
    quoted = ",".join(f"'file://{path}'" for path in paths)
    return [f"{SEARCH_PATH}=[{quoted}]"] if paths else []


def _existing(config_dirs: Iterable[str | Path]) -> list[str]:
    named_folders = [Path(each).expanduser() for each in config_dirs]
    if nowhere := [str(folder) for folder in named_folders if not folder.is_dir()]:
        raise ConfigError(f"`--config-dir` is {nowhere[0]!r}, which is not a folder.")
    return [str(folder.absolute()) for folder in named_folders]


def _searches(override: str) -> bool:
    return override.partition("=")[0] == SEARCH_PATH


def adopt(config: Mapping[Any, Any], sources: Iterable[Any]) -> dict[str, Any]:
    """Give a composed config, as plain data, the user's folders among Hydra's
    `runtime.config_sources`, so that names used inside its groups are found there too. Raises
    ConfigError where the config sets the key itself.
    """
    if FOLDERS in config:
        raise ConfigError(
            f"`{FOLDERS}` is set by the program. Name folders with --config-dir, or in"
            " undogmatic.toml."
        )
    users = _users(sources)
    return {str(k): v for k, v in config.items()} | ({FOLDERS: users} if users else {})


def _users(sources: Iterable[Any]) -> list[str]:
    return [
        f"file://{s.path}"
        for s in sources
        if s.provider not in NO_USERS and s.schema == "file"
    ]
