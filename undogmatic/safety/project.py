"""Reads what a user adds to the program: folders of YAML, and Python packages whose classes a
config may build.

A project file in the working directory, `undogmatic.toml` or the table `[tool.undogmatic]` of
`pyproject.toml`, names folders as `conf` (one, or several; relative to itself) and packages as
`modules` (importable from its own folder). An installed package with an entry point in the group
`undogmatic` (any name; its value is the package) may be built from a config, too, and its folder
`conf/`, if there is one, is searched.

No YAML file can allow code: whatever a config names, only these two, the environment variable
UNDOGMATIC_ALLOW and the program itself decide what may be built.
"""

import functools
import importlib.util
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.errors import ConfigError, DataError
from undogmatic.safety.outside import YAML_BYTES, read_text

# The first of them that says something is the project file
FILES = (
    "undogmatic.toml",
    "pyproject.toml",
)
OWN = "undogmatic"
KEYS = ("conf", "modules")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class Project(NamedTuple):
    """What a project file says. Without one, nothing."""

    folder: Path | None = None
    conf: tuple[Path, ...] = ()
    modules: tuple[str, ...] = ()


def project() -> Project:
    """The project of the working directory. Raises ConfigError naming file and key."""
    for name in FILES:
        file = Path.cwd() / name
        if name == FILES[0] and file.is_dir():
            raise ConfigError(
                f"{name}: is a folder; the project file is a text with {' and '.join(KEYS)}."
            )
        if (
            file.is_file()
            and (read := _read(file, file.stat().st_mtime_ns)) is not None
        ):
            return read
    return Project()


def folders() -> list[Path]:
    """The folders of YAML that the project file and installed packages bring, in the order of
    search."""
    return [*project().conf, *(conf for _, conf in _installed() if conf is not None)]


def allowed() -> tuple[str, ...]:
    """The packages and modules whose classes may be built from a config; they can be imported from
    now on."""
    users = project()
    if users.modules and str(users.folder) not in sys.path:
        # Last, so that a file of the user's cannot be mistaken for a library's.
        sys.path.append(str(users.folder))
    named = [
        part.strip()
        for part in os.environ.get("UNDOGMATIC_ALLOW", "").split(",")
        if part.strip()
    ]
    for module in named:
        if not _MODULE.fullmatch(module):
            raise ConfigError(
                f"UNDOGMATIC_ALLOW names {module[:200]!r}; it must be Python packages:"
                " mine,their.models"
            )
    return tuple(
        dict.fromkeys(
            [OWN, *users.modules, *(package for package, _ in _installed()), *named]
        )
    )


def permits(path: str) -> bool:
    """Whether a dotted path lies in a package that may be built from, and names nothing private on
    its way."""
    return not re.search(r"(^|\.)_", path) and any(
        path.startswith(f"{package}.") for package in allowed()
    )


def refused(path: str, key: str) -> str:
    """What is said of a path that is not permitted."""
    hint = f". {how_to_allow(path.partition('.')[0])}"
    if re.search(r"(^|\.)_", path):
        hint = ", and no name in it may start with an underscore."
    return (
        f"`{key}` is {path[:200]!r}; only classes of {', '.join(allowed())} may be built from a"
        f" config{hint}"
    )


def how_to_allow(package: str) -> str:
    """How a user lets a package of theirs be built from a config; nobody should want that of
    Python's own."""
    if package in sys.stdlib_module_names:
        return f"{package} is Python's own, and no config needs it."
    return (
        f'If {package} is yours or you trust it: `modules = ["{package}"]` in undogmatic.toml of'
        f" the working directory, or UNDOGMATIC_ALLOW={package} in the environment."
    )


@functools.lru_cache(maxsize=8)
def _read(file: Path, _changed: int) -> Project | None:
    try:
        content: Any = tomllib.loads(
            read_text(Path(file.name), YAML_BYTES).replace("\r\n", "\n")
        )
    except DataError as error:
        raise ConfigError(str(error)) from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = file.name if line is None else f"{file.name}:{line[1]}"
        raise ConfigError(
            f"{place}: not TOML: {str(error).partition(' (at ')[0]}."
        ) from None
    # nested too deeply, an endless number
    except (RecursionError, ValueError) as error:
        raise ConfigError(
            f"{file.name}: not TOML that can be used: {str(error).splitlines()[0]}."
        ) from None
    if file.name != FILES[0]:
        tools = content.get("tool", {})
        content = tools.get(OWN) if isinstance(tools, dict) else None
        if content is None:
            return None
    if not isinstance(content, dict):
        raise ConfigError(
            f"{file.name}: `tool.{OWN}` is {content!r}; it must be a table with"
            f" {' and '.join(KEYS)}."
        )
    if unknown := [key for key in content if key not in KEYS]:
        raise ConfigError(
            f"{file.name}: `{unknown[0]}` is not a known key. Known: {', '.join(KEYS)}."
        )
    listed = {key: content.get(key, []) for key in KEYS}
    for key, texts in listed.items():
        listed[key] = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list | str) or not all(
            isinstance(t, str) and t.strip() for t in listed[key]
        ):
            raise ConfigError(
                f"{file.name}: `{key}` is {texts!r}; it must be a text, or a list of texts: {key} ="
                ' ["..."].'
            )
    conf = [file.parent / Path(place).expanduser() for place in listed["conf"]]
    modules = listed["modules"]
    for folder in conf:
        if "\0" in str(folder) or not folder.is_dir():
            raise ConfigError(
                f"{file.name}: `conf` names {str(folder)!r}, which is not a folder."
            )
    if odd := next(
        (module for module in modules if not _MODULE.fullmatch(module)), None
    ):
        raise ConfigError(
            f"{file.name}: `modules` names {odd!r}; it must be a Python package or module, as in"
            f" `import {OWN}`."
        )
    return Project(file.parent, tuple(conf), tuple(modules))


@functools.cache
def _installed() -> tuple[tuple[str, Path | None], ...]:
    """The packages with an entry point of ours, and the conf folder of each. None of them is
    imported."""
    from importlib.metadata import entry_points

    installed = []
    for point in sorted(entry_points(group=OWN), key=lambda each: each.module):
        package = point.module.partition(".")[0]
        spec = importlib.util.find_spec(package)
        places = (spec.submodule_search_locations or ()) if spec is not None else ()
        beside = [
            folder for place in places if (folder := Path(place) / "conf").is_dir()
        ]
        installed.append((package, beside[0] if beside else None))
    return tuple(dict.fromkeys(installed))
