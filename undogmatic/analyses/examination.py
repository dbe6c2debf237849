"""Asks the examinations that installed packages add to a check (`records/examination.py`)."""

import functools
import inspect
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from undogmatic.errors import ConfigError
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination
from undogmatic.records.results import Told

GROUP = "undogmatic.examinations"
OURS = tuple(
    "agreement alone check confidence drift judges kin kinds people position repeats surface"
    " systems table variance".split()
)
"""Names in front of our own numbers and sentences, which no other may take."""


@functools.cache
def installed() -> tuple[Examination, ...]:
    """The examinations of installed packages, in the order of their names.

    Raises:
        ConfigError: An entry point names what cannot be imported or is no examination, or two have
            one name.
    """
    found: dict[str, Examination] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        examination = _loaded(point)
        if examination.name in OURS or examination.name in found:
            raise ConfigError(
                f"{_of(point)} is called {examination.name!r}, as another examination is. Give it a"
                " name of its own, or uninstall the package."
            )
        found[examination.name] = examination
    return tuple(found.values())


def _loaded(point: EntryPoint) -> Examination:
    try:
        examination = point.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{_of(point)} cannot be loaded ({error}). Mend or uninstall the package."
        ) from None
    if not isinstance(examination, Examination):
        raise ConfigError(
            f"{_of(point)} is a {type(examination).__name__}; it must be an `Examination`"
            " (undogmatic.records.examination)."
        )
    return examination


def _of(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an installed package"
    return f"The examination {point.name!r} of {package} ({point.value})"


def texts() -> tuple[Path, ...]:
    """The files with the words of the installed examinations."""
    files = []
    for examination in installed():
        module = Path(inspect.getfile(examination.examine))
        files.append(module.with_name(f"{examination.name}.texts.yaml"))
    return tuple(file for file in files if file.is_file())


def tell(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Ask every installed examination, and tell what it tells, or why it could not be asked."""
    for examination in installed():
        if (lacks := examination.lacks(view)) is not None:
            told.not_examined[examination.name] = lacks
            continue
        own = Told(examination.name)
        examination.examine(view, own, options)
        told.numbers |= own.numbers
        told.findings += own.findings
        told.tables |= {f"{examination.name}.{name}": table for name, table in own.tables.items()}
        told.not_examined |= own.not_examined
