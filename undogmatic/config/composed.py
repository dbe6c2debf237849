"""What is composed is checked as a whole, before Hydra or anybody else builds anything of it.

Hydra builds callbacks, launchers, sweepers and log handlers from the config that it has composed, before a line of ours
is run. Every composition (a command's, a sweep's jobs', `hydra.compose`) passes one method of Hydra's; it is checked
there. What our own sections name is checked by name here, and once more, imported, where it is built (`config.build`).

Hydra composes the jobs of a sweep to see that all can be composed, and each again when it starts it. What it has seen
is kept for the start, so that each is composed once.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.errors import HydraException
from hydra.plugins.sweeper import Sweeper
from omegaconf import Container, DictConfig, ListConfig, Node
from omegaconf.errors import OmegaConfBaseException

from undogmatic.config.configfiles import HYDRA, GroupFiles
from undogmatic.config.project import permits, refused
from undogmatic.errors import ConfigError
from undogmatic.safety.outside import DEEPEST

RUN_BY_HYDRA = ("callbacks", "launcher", "sweeper", "job_logging", "hydra_logging")
_LOGS = ("job_logging", "hydra_logging")
_HYDRAS_OWN = {
    "undogmatic.sweep.SweepCallback",
    "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
    "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
    "hydra.experimental.callbacks.LogJobReturnCallback",
}
_LOGGING = {
    "logging.Formatter",
    "logging.StreamHandler",
    "logging.FileHandler",
    "logging.NullHandler",
    "logging.handlers.RotatingFileHandler",
    "logging.handlers.TimedRotatingFileHandler",
    "logging.handlers.WatchedFileHandler",
    "colorlog.ColoredFormatter",
    "colorlog.StreamHandler",
}
_STREAMS = ("ext://sys.stdout", "ext://sys.stderr")
_RESOLVERS = ("oc.env", "now", HYDRA, "output_folder")
_OF_THE_JOB = re.compile(r"[^$]*(\$\{(hydra\.|hydra:|now:)[\w.:%\-/ ]*\}[^$]*)+")
"""References that have a value only once Hydra starts the job; all of them are texts of its own."""

MOST = 5_000_000
MOST_COMPUTED = 8
_REFERENCE = re.compile(r"\$\{([^${}:]*)\}")
_CALL = re.compile(r"\$\{\s*[\w.]+\s*:")

_load = ConfigLoaderImpl.load_configuration


def _load_checked(self: ConfigLoaderImpl, *arguments: Any, **more: Any) -> DictConfig:
    ours = any(isinstance(source, GroupFiles) for source in self.repository.get_sources())
    try:
        config = _load(self, *arguments, **more)
    except RecursionError:
        if not ours:
            raise
        raise ConfigError(
            "the config cannot be composed: a `defaults` list leads back to its own file, or a value is nested too "
            "deeply."
        ) from None
    except OSError as error:  # the name of an option that no file can bear
        if not ours or isinstance(error, HydraException):
            raise
        raise ConfigError(f"an option cannot be looked up: {error.strerror or error}.") from None
    if ours:
        check(config)
    return config


ConfigLoaderImpl.load_configuration = _load_checked  # type: ignore[method-assign]

MOST_KEPT = 200
"""Jobs of a batch whose config is kept; each takes about a megabyte."""
_validate = Sweeper.validate_batch_is_legal
_load_job = ConfigLoaderImpl.load_sweep_config


class _Seen:
    """The configs of a batch that were composed to see that they can be."""

    looking: ClassVar[bool] = False
    master: ClassVar[DictConfig | None] = None
    by_overrides: ClassVar[dict[tuple[str, ...], DictConfig]] = {}


def _validate_and_keep(self: Sweeper, batch: Sequence[Sequence[str]]) -> None:
    _Seen.looking, _Seen.master = True, None
    _Seen.by_overrides.clear()
    try:
        _validate(self, batch)
    finally:
        _Seen.looking = False


def _load_job_once(self: ConfigLoaderImpl, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
    name = tuple(sweep_overrides)
    if not _Seen.looking and master_config is _Seen.master and name in _Seen.by_overrides:
        return _Seen.by_overrides.pop(name)
    config = _load_job(self, master_config, sweep_overrides)
    if _Seen.looking and len(_Seen.by_overrides) < MOST_KEPT:
        _Seen.master, _Seen.by_overrides[name] = master_config, config
    return config


Sweeper.validate_batch_is_legal = _validate_and_keep  # type: ignore[method-assign]
ConfigLoaderImpl.load_sweep_config = _load_job_once  # type: ignore[method-assign]


def check(config: DictConfig) -> None:
    """Raise ConfigError for the first thing in a composed config that names code which may not be run.

    Before any reference is followed, what all stand for is measured: ten lines can mean more than a memory holds.
    """
    children = sorted(_children(config), key=lambda child: child[0] == HYDRA)  # which quotes what was typed for others
    try:
        sizes = _Sizes(config)
        for key, node in children:
            sizes.of(node, key)
        for key, node in children:
            if key == HYDRA and isinstance(node, DictConfig):
                _check_hydra(node)
            else:
                _check_ours(node, key, frozenset())
    except RecursionError:
        raise ConfigError("the config refers to itself without end, or is nested too deeply.") from None


def _check_hydra(section: DictConfig) -> None:
    for name, node in _children(section):
        if name in RUN_BY_HYDRA:
            _check_run(node, f"{HYDRA}.{name}", name in _LOGS, frozenset())
        else:
            _check_ours(node, f"{HYDRA}.{name}", frozenset(), follow=False)


def _check_ours(node: Any, key: str, seen: frozenset[int], follow: bool = True) -> None:
    """`_target_` within what may be built, wherever a reference leads."""
    raw = node._value() if isinstance(node, Node) else node
    if follow and isinstance(raw, str) and "${" in raw:
        found = _followed(node, key)
        if isinstance(found, Container) and id(found) not in seen:
            _check_ours(found, key, seen | {id(found)})
        elif key.endswith("._target_") and found is None:
            raise ConfigError(f"`{key}` is {raw[:200]!r}, which has no value.")
        raw = found._value() if isinstance(found, Node) and not isinstance(found, Container) else found
    elif isinstance(node, Container):
        for name, child in _children(node):
            _check_ours(child, f"{key}.{name}", seen, follow)
        return
    if key.endswith("._target_") and isinstance(raw, str) and "." in raw and not permits(raw):
        raise ConfigError(refused(raw, key))
    if key.endswith(".()"):
        raise ConfigError(f"`{key}` is {str(raw)[:200]!r}; a config may not name a function to call.")


def _check_run(node: Any, key: str, log: bool, seen: frozenset[int]) -> None:
    """A part of Hydra's own section that Hydra builds: every name in it is a class that is known or allowed."""
    raw = node._value() if isinstance(node, Node) else node
    if isinstance(raw, str) and "${" in raw:
        _only_plain_resolvers(raw, key)
        if key.rpartition(".")[2] in ("_target_", "()", "class"):
            raise ConfigError(f"`{key}` is {raw[:200]!r}; the name of a class must be written out here.")
        found = _followed(node, key)
        if isinstance(found, Container):
            if id(found) in seen:
                raise RecursionError
            return _check_run(found, key, log, seen | {id(found)})
        if found is None and not _OF_THE_JOB.fullmatch(raw):
            raise ConfigError(f"`{key}` is {raw[:200]!r}, which has no value.")
        raw = found._value() if isinstance(found, Node) else found
    elif isinstance(node, Container):
        for name, child in _children(node):
            _check_run(child, f"{key}.{name}", log, seen)
        return None
    name = key.rpartition(".")[2]
    if name == "_target_":
        _check_class(raw, key)
    elif name == "()" or (log and name == "class"):
        if raw not in _LOGGING:
            raise ConfigError(
                f"`{key}` is {str(raw)[:200]!r}; only these log handlers and formatters may be named: "
                f"{', '.join(sorted(_LOGGING))}."
            )
    elif log and isinstance(raw, str) and re.match(r"\s*(ext|cfg)://", raw) and raw not in _STREAMS:
        raise ConfigError(f"`{key}` is {raw[:200]!r}; only {' and '.join(_STREAMS)} may be named.")
    return None


def _check_class(path: Any, key: str) -> None:
    if path is None or path in _HYDRAS_OWN:
        return
    if isinstance(path, str) and path.startswith("hydra_plugins.") and "._" not in path:
        module, _, name = path.rpartition(".")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            raise ConfigError(f"`{key}` is {path[:200]!r}, which is not installed.") from None
        if inspect.isclass(found) and found.__module__.startswith("hydra_plugins."):
            return
    elif isinstance(path, str) and permits(path):
        from undogmatic.config.build import resolve

        resolve(path, key.removesuffix("._target_"))
        return
    raise ConfigError(
        f"`{key}` is {str(path)[:200]!r}; Hydra may run only its own launchers, sweepers and callbacks, those of "
        "installed plugins, and classes that may be built from a config (undogmatic.toml)."
    )


def _children(node: Container) -> Iterator[tuple[str, Any]]:
    if node._is_none() or node._is_missing() or node._is_interpolation():
        return
    if isinstance(node, ListConfig):
        yield from ((str(n), node._get_node(n)) for n in range(len(node)))
    elif isinstance(node, DictConfig):
        yield from ((str(key), node._get_node(key)) for key in node)


def _followed(node: Any, key: str) -> Any:
    """The node that a reference leads to; None where it leads nowhere yet."""
    try:
        return node._maybe_dereference_node(throw_on_resolution_failure=False)
    except (OmegaConfBaseException, ValueError) as error:
        raise ConfigError(f"`{key}` is {str(node._value())[:200]!r}: {str(error).splitlines()[0]}") from None


def _only_plain_resolvers(text: str, key: str) -> None:
    """Refuse a function in `${...}` that could make a node (oc.create, oc.decode, a name that is itself computed)."""
    from omegaconf.grammar_parser import OmegaConfGrammarParser, parse

    def calls(tree: Any) -> Iterator[str]:
        if isinstance(tree, OmegaConfGrammarParser.InterpolationResolverContext):
            yield tree.resolverName().getText()
        for child in getattr(tree, "children", None) or ():
            yield from calls(child)

    for name in calls(parse(text)):
        if name not in _RESOLVERS:
            raise ConfigError(f"`{key}` is {text[:200]!r}; of functions only {', '.join(_RESOLVERS)} may be used here.")


class _Sizes:
    """What a config would hold with every reference written out, found without writing any out.

    Args:
        root: The config.
    """

    def __init__(self, root: DictConfig) -> None:
        self.root = root
        self.known: dict[int, int | None] = {}
        self.computed = 0

    def of(self, node: Any, key: str) -> int:
        """Values and characters in a node. Raises ConfigError where it holds itself, or too much."""
        if id(node) in self.known:
            size = self.known[id(node)]
            if size is None:
                raise ConfigError(f"`{key}` refers to itself.")
            return size
        self.known[id(node)] = None
        raw = node._value() if isinstance(node, Node) else node
        size = 1
        if isinstance(raw, str):
            size += len(raw)
            if "${" in raw:
                size += self._referred(raw, node, key)
        elif isinstance(node, Container):
            size += sum(self.of(child, f"{key}.{name}") for name, child in _children(node))
        if size > MOST:
            raise ConfigError(
                f"`{key}` stands for more than {MOST:,} values or characters, its references written out."
            )
        self.known[id(node)] = size
        return size

    def _referred(self, raw: str, node: Node, key: str) -> int:
        found = _REFERENCE.findall(raw)
        self.computed += raw.count("${") - len(found) - len(_CALL.findall(raw))
        if self.computed > MOST_COMPUTED:
            raise ConfigError(f"`{key}`: more than {MOST_COMPUTED} references to names that are references themselves.")
        targets = (self._target(one.strip(), node._get_parent(), 0) for one in found)
        return sum(self.of(target, key) for target in targets if target is not None)

    def _target(self, reference: str, parent: Any, hops: int) -> Any:
        """The node that `a.b[0]`, or `.b` from its own parent, names, not followed any further."""
        dots = len(reference) - len(reference.lstrip("."))
        here: Any = self.root if dots == 0 else parent
        for _ in range(dots - 1):
            here = here._get_parent() if here is not None else None
        for step in filter(None, re.split(r"[.\[\]]+", reference)):
            if isinstance(here, Node) and isinstance(raw := here._value(), str) and hops < DEEPEST:
                whole = _REFERENCE.fullmatch(raw.strip())
                here = self._target(whole[1].strip(), here._get_parent(), hops + 1) if whole is not None else None
            try:
                here = here._get_node(int(step) if isinstance(here, ListConfig) else step)
            except (AttributeError, OmegaConfBaseException, LookupError, TypeError, ValueError):
                return None
        return here
