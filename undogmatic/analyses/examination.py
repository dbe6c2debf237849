"""Asks the examinations that installed packages add to a check (`records/examination.py`)."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from undogmatic.errors import ConfigError
from undogmatic.records.added import added
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import JudgeView
from undogmatic.records.examination import Examination, Need
from undogmatic.records.results import Finding, Told

GROUP = "undogmatic.examinations"
OURS = tuple(
    "agreement alone check confidence drift judges kin kinds people position repeats surface"
    " systems table variance".split()
)
"""Names in front of our own numbers and sentences, which no other may take."""


_HELD: dict[Need, Callable[[JudgeView], bool]] = {
    "labels": lambda view: bool(view.labels["label"].notna().any()),
    "raters": lambda view: view.labels.dropna(subset=["label"])["rater"].nunique() > 1,
    "texts": lambda view: view.table.has_texts,
    "repeats": lambda view: bool((view.verdicts["repeat"] > 0).any()),
    "orders": lambda view: view.verdicts["order"].nunique(dropna=True) > 1,
    "confidence": lambda view: bool(view.verdicts["confidence"].notna().any()),
    "systems": lambda view: bool({"system", "system_1"} & set(view.table.items.columns)),
}


@functools.cache
def installed() -> tuple[Examination, ...]:
    """The examinations of installed packages, in the order of their names.

    Raises:
        ConfigError: An entry point names what cannot be imported or is no examination, or two have
            one name.
    """
    found: dict[str, Examination] = {}
    for named, examination in added(GROUP, Examination, "examination"):
        if examination.name in OURS or examination.name in found:
            raise ConfigError(
                f"{named} is called {examination.name!r}, as another examination is. Give it a name"
                " of its own, or uninstall the package."
            )
        found[examination.name] = examination
    return tuple(found.values())


def texts() -> tuple[Path, ...]:
    """The files with the words of the installed examinations."""
    files = []
    for examination in installed():
        module = Path(inspect.getfile(examination.examine))
        files.append(module.with_name(f"{examination.name}.texts.yaml"))
    return tuple(file for file in files if file.is_file())


def lacking(examination: Examination, view: JudgeView) -> Finding | None:
    """Say why an examination cannot be asked of this evidence; None where it can."""
    kind, kinds = view.table.kind, examination.kinds
    if kind not in kinds:
        values = {"examination": examination.name, "kind": kind, "kinds": list(kinds)}
        return Finding("examination.other_kind", values)
    for need in examination.needs:
        if not _HELD[need](view):
            return Finding(f"examination.no_{need}", {"examination": examination.name})
    rows = view.first()
    groups = int(rows.loc[rows["verdict"].notna(), "group"].nunique())
    if groups < examination.fewest_groups:
        counts = {"groups": groups, "needed": examination.fewest_groups}
        return Finding("examination.few_groups", {"examination": examination.name, **counts})
    return None


def tell(view: JudgeView, told: Told, options: CheckOptions) -> None:
    """Ask every installed examination, and tell what it tells, or why it could not be asked."""
    for examination in installed():
        if (lacks := lacking(examination, view)) is not None:
            told.not_examined[examination.name] = lacks
            continue
        own = Told(examination.name)
        examination.examine(view, own, options)
        told.numbers |= own.numbers
        told.units |= own.units
        told.findings += own.findings
        for name, table in own.tables.items():
            told.table(f"{examination.name}.{name}", table, **own.columns.get(name, {}))
        told.subjects = own.subjects | told.subjects
        told.drawings += [replace(figure, section=examination.name) for figure in own.drawings]
        told.not_examined |= own.not_examined
