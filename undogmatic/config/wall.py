"""Checks what Hydra has composed, before Hydra or anybody else builds or resolves anything of it.

Hydra builds callbacks, launchers, sweepers and log handlers from its own section, and sets the
environment by it. Here every name of a class in that section is held against what may be run, the
environment and the folders against what a config may choose, and all that references stand for is
measured first: ten lines can mean more than a memory holds. Our own sections are checked by name
here, and once more, imported, where they are built (`config.build`).
"""

import functools
import importlib
import inspect
import re
from collections.abc import Iterable
from typing import Any

from hydra.experimental.callback import Callback
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from undogmatic.errors import ConfigError
from undogmatic.safety.project import permits, refused
from undogmatic.safety.secrets import holds, know_environment, leaves, secret_name

HYDRA = "hydra"
_LOGS = ("job_logging", "hydra_logging")
_RUN = ("callbacks", "launcher", "sweeper", *_LOGS)
_HYDRAS_OWN = {
    "undogmatic.sweep.SweepCallback",
    "hydra._internal.core_plugins.basic_launcher.BasicLauncher",
    "hydra._internal.core_plugins.basic_sweeper.BasicSweeper",
    "hydra.experimental.callbacks.LogJobReturnCallback",
}
_KINDS = {"callbacks": Callback, "launcher": Launcher, "sweeper": Sweeper}
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
_FUNCTION = re.compile(r"\$\{\s*([^${}:\s]*)\s*:")
_COMPUTED = re.compile(r"\$\{[^}:]*\$\{")  # A name that is itself a reference
_ENVIRONMENT = re.compile(r"\$\{\s*oc\.env\s*:\s*([^,}]*)")
_OF_THE_JOB = re.compile(r"[^$]*(\$\{(hydra\.|hydra:|now:)[\w.:%\-/ ]*\}[^$]*)+")
"""References that have a value only once Hydra starts the job; all of them are texts of its own."""
_NOT_TO_BE_SET = re.compile(
    r"(UNDOGMATIC|HYDRA|PYTHON|LD|DYLD|SSL|OPENSSL)_?.*|PATH|.*_(PROXY|CA_BUNDLE"
    r"|CERT_FILE|CERT_DIR)",
    re.IGNORECASE,
)
"""Variables that decide which code is run, and through whom a key goes to its server."""
_KEYS_OF_SERVERS = frozenset({"extra", "tracking", "engine", "api_base", "options"})
"""Where a secret of the environment may be referred to: parts of requests and addresses, none of
which is a prompt."""

MOST = 5_000_000
MOST_COMPUTED = 8
_REFERENCE = re.compile(r"\$\{([^${}:]*)\}")
_CALL = re.compile(r"\$\{\s*[\w.]+\s*:")
_DEEPEST = 100


def check(config: DictConfig) -> dict[Any, Any]:
    """Return a composed config without Hydra's section; ConfigError for what may not be run, set or
    be so large."""
    plain = OmegaConf.to_container(config, resolve=False, enum_to_str=True)
    assert isinstance(plain, dict)
    try:
        # First of all: everything below walks the config, and would never end on one
        # that stands for more than a memory holds.
        _Sizes(plain).of(())
        hydra = plain.pop(HYDRA, None)
        _check_names(plain, "")
        if hydra is not None:
            _check_hydra(hydra, config[HYDRA])
    except RecursionError:
        raise ConfigError(
            "the config refers to itself without end, or is nested too deeply."
        ) from None
    return plain


def resolved(config: DictConfig, part: str = "") -> dict[str, Any]:
    """Our part of a composed config, or one section of it, as plain data with its references
    followed. Raises ConfigError where one has made a name that may not be built, or put a secret
    where a model may read it; OmegaConfBaseException where a required value is missing, or a
    reference leads nowhere."""
    node = config[part] if part else config
    # Hydra's own section has values only once a job runs.
    if not part and HYDRA in config:
        node = OmegaConf.masked_copy(
            config, [str(key) for key in config if key != HYDRA]
        )
    whole = OmegaConf.to_container(node, resolve=True, throw_on_missing=not part)
    assert isinstance(whole, dict)
    # A second time, after references were followed: two harmless halves may make a
    # forbidden name.
    _check_names(whole, part)
    know_environment()
    _check_secrets(OmegaConf.to_container(node, resolve=False), whole, part)
    return {str(key): value for key, value in whole.items()}


def _check_names(node: Any, key: str) -> None:
    """Raise ConfigError for a `_target_` outside of what may be built."""
    for name, value in _children(node):
        place = f"{key}.{name}" if key else str(name)
        if (
            name == "_target_"
            and isinstance(value, str)
            and "." in value
            and "${" not in value
            and not permits(value)
        ):
            raise ConfigError(refused(value, place))
        _check_names(value, place)


def _check_secrets(raw: Any, value: Any, key: str) -> None:
    """Raise ConfigError where a reference has brought the value of a secret to a place that is
    shown to models."""
    if isinstance(raw, str):
        if "${" in raw and any(holds(text) for _, text in leaves(value, key)):
            raise ConfigError(
                f"`{key}` is {raw[:200]!r}, which brings in a secret, and what stands there may be"
                " sent to a model. A secret may be referred to in model.extra only."
            )
        return
    for (name, inner), (_, made) in zip(_children(raw), _children(value), strict=True):
        if name not in _KEYS_OF_SERVERS:
            _check_secrets(inner, made, f"{key}.{name}" if key else str(name))


def _check_hydra(plain: Any, section: DictConfig) -> None:
    if not isinstance(plain, dict):
        raise ConfigError(
            f"`hydra` is {str(plain)[:200]!r}; what it holds must be written out here."
        )
    for name in _RUN:
        if plain.get(name) is not None:
            _check_run({name: plain[name]}, section, HYDRA, name in _LOGS)
    job = plain.get("job") or {}
    variables = job.get("env_set") or {} if isinstance(job, dict) else {}
    whole = {"job": job, "job.env_set": variables} | {
        name: plain.get(name) or {} for name in ("run", "sweep")
    }
    for name, part in whole.items():
        # a reference, to whatever a config says elsewhere
        if not isinstance(part, dict):
            raise ConfigError(
                f"`hydra.{name}` is {str(part)[:200]!r}; what it holds must be written out here."
            )
    for name in variables:
        if _NOT_TO_BE_SET.fullmatch(str(name)):
            raise ConfigError(
                f"`hydra.job.env_set` sets {name}, which decides what code is run, or where a key"
                " is sent. No config may; set it in the environment of the command."
            )
    for part, name in (("run", "dir"), ("sweep", "dir"), ("sweep", "subdir")):
        key, text = f"hydra.{part}.{name}", whole[part].get(name)
        if text is None:
            continue
        if not isinstance(text, str) or not text.strip():
            raise ConfigError(
                f"`{key}` is {str(text)[:200]!r}; it must be the name of a folder."
            )
        _only_plain_functions(text, key)
        if any(
            secret_name(variable.strip("'\" "))
            for variable in _ENVIRONMENT.findall(text)
        ):
            raise ConfigError(
                f"`{key}` is {text!r}, and the name of a folder may not hold a secret."
            )
    if plain.get("output_subdir") is not None:
        raise ConfigError(
            f"`hydra.output_subdir` is {plain['output_subdir']!r}; what it would hold is written to"
            " .hydra, without secrets. Leave it out."
        )


def _check_run(raw: Any, node: Any, key: str, log: bool) -> None:
    """A part of Hydra's own section that Hydra builds: every name in it is a class that is known or
    allowed."""
    for name, value in _children(raw):
        place = f"{key}.{name}"
        if isinstance(value, dict | list):
            _check_run(value, node[name], place, log)
            continue
        if isinstance(value, str) and "${" in value:
            _only_plain_functions(value, place)
            if name in ("_target_", "()", "class"):
                raise ConfigError(
                    f"`{place}` is {value[:200]!r}; the name of a class must be written out here."
                )
            written = f"`{place}` is {value[:200]!r}, which"
            try:
                value = node[name]  # noqa: PLW2901
            except (OmegaConfBaseException, ValueError) as error:
                if not _OF_THE_JOB.fullmatch(value):
                    raise ConfigError(
                        f"{written} has no value: {str(error).splitlines()[0]}"
                    ) from None
                value = None  # noqa: PLW2901
            if OmegaConf.is_config(value):
                raise ConfigError(
                    f"{written} stands for more than one value; write it out here."
                )
        if name == "_target_":
            _check_class(value, place)
        elif name == "()" or (log and name == "class"):
            if value not in _LOGGING:
                raise ConfigError(
                    f"`{place}` is {str(value)[:200]!r}; only these log handlers and formatters may"
                    f" be named: {', '.join(sorted(_LOGGING))}."
                )
        elif (
            log
            and isinstance(value, str)
            and re.match(r"\s*(ext|cfg)://", value)
            and value not in _STREAMS
        ):
            raise ConfigError(
                f"`{place}` is {value[:200]!r}; only {' and '.join(_STREAMS)} may be named."
            )


def _only_plain_functions(text: str, key: str) -> None:
    """Refuse a function in `${...}` that could make a node (oc.create, oc.decode), and a name that
    is computed."""
    if _COMPUTED.search(text) or any(
        name not in _RESOLVERS for name in _FUNCTION.findall(text)
    ):
        raise ConfigError(
            f"`{key}` is {text[:200]!r}; of functions only {', '.join(_RESOLVERS)} may be used"
            " here."
        )


def _check_class(path: Any, key: str) -> None:
    if path is None or path in _HYDRAS_OWN:
        return
    if isinstance(path, str) and path.startswith("hydra_plugins.") and "._" not in path:
        module, _, name = path.rpartition(".")
        try:
            plugin = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            raise ConfigError(
                f"`{key}` is {path[:200]!r}, which is not installed."
            ) from None
        if inspect.isclass(plugin) and plugin.__module__.startswith("hydra_plugins."):
            return
    elif isinstance(path, str) and permits(path):
        from undogmatic.config.build import resolve

        if issubclass(
            resolve(path, key.removesuffix("._target_")),
            _KINDS.get(key.split(".")[1], ()),
        ):
            return
    raise ConfigError(
        f"`{key}` is {str(path)[:200]!r}; Hydra may run only its own launchers, sweepers and"
        " callbacks, those of installed plugins, and classes that may be built from a config"
        " (undogmatic.toml)."
    )


def _children(node: Any) -> Iterable[tuple[Any, Any]]:
    return (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )


class _Sizes:
    """Measures what a config, as plain data, would hold with every reference written out, without
    writing any out."""

    def __init__(self, root: dict[Any, Any]) -> None:
        self.root, self.computed = root, 0
        self.known: dict[tuple[Any, ...], int | None] = {}

    def of(self, path: tuple[Any, ...]) -> int:
        """Values and characters below a place. Raises ConfigError where it holds itself, or too
        much."""
        key = ".".join(map(str, path))
        if path in self.known:
            if (measured := self.known[path]) is None:
                raise ConfigError(f"`{key}` refers to itself.")
            return measured
        self.known[path] = None
        node = self._at(path)
        size = 1 + sum(self.of((*path, name)) for name, _ in _children(node))
        if isinstance(node, str):
            references = _REFERENCE.findall(node)
            self.computed += (
                node.count("${") - len(references) - len(_CALL.findall(node))
            )
            if self.computed > MOST_COMPUTED:
                most = f"more than {MOST_COMPUTED} references"
                raise ConfigError(
                    f"`{key}`: {most} to names that are references themselves."
                )
            targets = (
                self._target(reference.strip(), path, 0) for reference in references
            )
            size += len(node) + sum(
                self.of(target) for target in targets if target is not None
            )
        if size > MOST:
            raise ConfigError(
                f"`{key}` stands for more than {MOST:,} values or characters, references written"
                " out."
            )
        self.known[path] = size
        return size

    def _at(self, path: tuple[Any, ...]) -> Any:
        return functools.reduce(lambda node, step: node[step], path, self.root)

    def _target(
        self, reference: str, path: tuple[Any, ...], hops: int
    ) -> tuple[Any, ...] | None:
        """The place that `a.b[0]`, or `.b` beside it, names, not followed any further; None for
        nowhere."""
        dots = len(reference) - len(reference.lstrip("."))
        here: tuple[Any, ...] = path[: len(path) - dots] if dots else ()
        for step in filter(None, re.split(r"[.\[\]]+", reference)):
            node = self._at(here)
            if (
                isinstance(node, str)
                and hops < _DEEPEST
                and (whole := _REFERENCE.fullmatch(node.strip()))
            ):
                further = self._target(whole[1].strip(), here, hops + 1)
                if further is None:
                    return None
                here, node = further, self._at(further)
            inside = int(step) if isinstance(node, list) and step.isdecimal() else step
            if inside not in (
                node
                if isinstance(node, dict)
                else range(len(node))
                if isinstance(node, list)
                else ()
            ):
                return None
            here = (*here, inside)
        return here
