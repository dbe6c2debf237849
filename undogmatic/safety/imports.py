"""Imports the code that a config names, where it may be imported."""

import importlib
import inspect
import sys
import traceback
import typing
from collections.abc import Callable, Sequence
from typing import Any

from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.safety.project import permits, refused


def imported(path: str, key: str) -> Any:
    """What a dotted path that may be built from names. Whatever goes wrong in a user's module is
    one message."""
    module, _, name = path.rpartition(".")
    if not permits(path) or not module:
        raise ConfigError(refused(path, key))
    try:
        return getattr(importlib.import_module(module), name)
    except UndogmaticError:
        raise
    except (Exception, SystemExit) as error:
        why = f"which cannot be imported: {raised(error)}"
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(
            f"{error.name}."
        ):
            beside = "A module of yours lies beside undogmatic.toml, or is installed"
            why = f"which cannot be imported: there is no module {error.name}. {beside}"
        elif (
            isinstance(error, AttributeError)
            and error.obj is sys.modules.get(module)
            and error.name == name
        ):
            why = f"and the module {module} has no {name}"
        raise ConfigError(f"`{key}` is {path[:200]!r}, {why}.") from None


def counter(
    path: str, key: str
) -> tuple[Callable[[str], Sequence[float]], tuple[str, ...]]:
    """Find the function that `key` of a config names to count what is in a text, and the names of
    what it counts. Raises ConfigError where it may not be imported, or is not annotated to return a
    NamedTuple."""
    function = imported(path, key)
    counts = (
        typing.get_type_hints(function).get("return")
        if inspect.isfunction(function)
        else None
    )
    if not (
        inspect.isclass(counts)
        and issubclass(counts, tuple)
        and hasattr(counts, "_fields")
    ):
        raise ConfigError(
            f"`{key}` is {path!r}, which is no function that returns a NamedTuple of counts."
        )
    if not permits(place := f"{function.__module__}.{path.rpartition('.')[2]}"):
        raise ConfigError(refused(place, key))
    return function, counts._fields


def raised(error: BaseException) -> str:
    """Where something was raised in somebody's code, if that is known; its type, and the first line
    of what it says."""
    what = (
        error.msg if isinstance(error, SyntaxError) else str(error).partition("\n")[0]
    )
    places: list[Any] = [
        p
        for p in traceback.extract_tb(error.__traceback__)
        if not p.filename.startswith("<")
    ][1:]
    if isinstance(error, SyntaxError) and error.filename is not None:
        places = [error]
    where = f"{places[-1].filename}:{places[-1].lineno}: " if places else ""
    # whose text says it all
    kind = "" if isinstance(error, ModuleNotFoundError) else type(error).__name__
    return where + ": ".join(filter(None, (kind, what)))
