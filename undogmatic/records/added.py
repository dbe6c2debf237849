"""Finds what installed packages add to this one by an entry point."""

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from undogmatic.errors import ConfigError

Added = TypeVar("Added")
OURS = "undogmatic."
"""How the value of an entry point of our own begins; no other package has modules in there."""


def added(
    group: str, kind: type[Added], what: str, *, ours: bool = False
) -> list[tuple[str, Added]]:
    """Find what installed packages add to a group by entry point, in the order of their names.

    Ours are among them only where that is asked for (`ours`). Where they are known without any
    metadata it is not: this may be that of another version of this package (an editable
    installation keeps the metadata of the day that it was made), and would name what is not there.

    Args:
        group: The group, as a package's `pyproject.toml` names it.
        kind: What each must be.
        what: What one is called in a message, such as "reader".
    Returns:
        How each is named in a message, and the thing itself.
    Raises:
        ConfigError: One cannot be imported, or is of another kind.
    """
    found = []
    every = entry_points(group=group)
    wanted = [point for point in every if ours or not point.value.startswith(OURS)]
    for point in sorted(wanted, key=lambda point: (point.name, point.value)):
        named = _of(point, what)
        found.append((named, _loaded(point, kind, named)))
    return found


def _of(point: EntryPoint, what: str) -> str:
    package = point.dist.name if point.dist is not None else "an installed package"
    return f"The {what} {point.name!r} of {package} ({point.value})"


def _loaded(point: EntryPoint, kind: type[Added], named: str) -> Added:
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{named} cannot be loaded ({error}). Mend or uninstall the package."
        ) from None
    if not isinstance(found, kind):
        raise ConfigError(
            f"{named} is no `{kind.__name__}` ({kind.__module__}) but a {type(found).__name__}."
            " Mend or uninstall the package."
        )
    return found


def without_ours(group: str) -> str:
    """Say what to do where nothing of this very package is found in the group, as in an editable
    installation that is older than the source; nothing where something is."""
    if any(
        point.value.startswith("undogmatic.") for point in entry_points(group=group)
    ):
        return ""
    return (
        f" Part of the commands may be missing: the program finds them by the entry points {group},"
        " and this installation of it names none, so it is older than the program's files."
        " Install it again; in a checkout: pip install -e ."
    )
