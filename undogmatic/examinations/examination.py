"""Asks examinations of evidence, ours and those that installed packages add, and says in one place
which of them could not be asked, and why (`records/examination.py`)."""

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from undogmatic.errors import ConfigError
from undogmatic.examinations import (
    alone,
    datasheet,
    drift,
    injected,
    judges,
    kin,
    kinds,
    people,
    position,
    since,
    steps,
    surface,
    system_order,
    systems,
)
from undogmatic.records.added import added
from undogmatic.records.checked import CheckOptions
from undogmatic.records.evidence import AS_GIVEN, SWAPPED, JudgeView
from undogmatic.records.examination import Examination, Need
from undogmatic.records.results import Finding, Told, Weight
from undogmatic.safety.outside import brief

GROUP = "undogmatic.examinations"
# The order is that of the report, and nothing else: each is asked of the same evidence,
# and none reads what another told.
OURS: tuple[Examination, ...] = (
    kinds.AGREEMENT,
    kinds.LEFT_OUT,
    kinds.CONFIDENCE,
    kinds.SLICES,
    kinds.GRADES,
    position.POSITION,
    kinds.REPEATS,
    surface.SURFACE,
    injected.INJECTED,
    datasheet.DATASHEET,
    people.LABELS,
    people.CEILING,
    people.ANNOTATOR,
    people.STRICTNESS,
    systems.JUDGE_MEAN,
    systems.CORRECTED_MEAN,
    systems.RANKING,
    system_order.SYSTEM_ORDER,
    kin.OWN_FAMILY,
    alone.ITEM_INTERVAL,
    alone.DECIDES_ALONE,
    judges.JUDGES,
    drift.DRIFT,
    since.SINCE,
    steps.STEPS,
    steps.FORETELL,
)
"""Our examinations in the order in which they tell. `pyproject.toml` declares them as entry points,
as any package does, and a test holds the two against each other; they are read from here, because
an installation that is older than one of them does not know its entry point."""
TAKEN = frozenset(
    (
        *(examination.name for examination in OURS),
        *"alone check instrument kin kinds people systems table variance".split(),
    )
)
"""Names in front of our own numbers and sentences, which no other may take."""


class Unmet(NamedTuple):
    """A need that is not met: its general sentence, what an examination's own sentence names, and
    where everybody who needs the same lacks it, the name and the sentence under which that is told
    once for all."""

    key: str
    values: Mapping[str, Any] = {}
    of_all: tuple[str, str] | None = None


ALL_LABELS = ("labels", "check.needs_labels")
COPIES = ("surface", "check.rival_identical")
"""What is told once for all examinations that need labels: that there are none, or that they may be
copies of the verdicts."""


def _labels(view: JudgeView) -> Unmet | None:
    if not view.labels["label"].notna().any():
        return Unmet("examination.no_labels", of_all=ALL_LABELS)
    return _originals(view)


def _originals(view: JudgeView) -> Unmet | None:
    # Labels that are the judge's own show nothing of what it may be used for.
    return (
        Unmet("examination.copied_labels", of_all=COPIES)
        if view.once(people.copied)
        else None
    )


def _pairs(view: JudgeView) -> Unmet | None:
    if not view.labels["label"].notna().any():
        return Unmet("examination.no_labels", of_all=ALL_LABELS)
    return Unmet("examination.no_pairs") if view.pairs().empty else None


def _raters(view: JudgeView) -> Unmet | None:
    raters = [str(name) for name in view.pairs()["rater"].unique()]
    return (
        None
        if len(raters) > 1
        else Unmet("examination.no_raters", {"rater": ", ".join(raters)})
    )


def _texts(view: JudgeView) -> Unmet | None:
    return None if view.table.has_texts else Unmet("examination.no_texts")


def _repeats(view: JudgeView) -> Unmet | None:
    return Unmet("examination.no_repeats") if view.again().empty else None


def _order(view: JudgeView) -> Unmet | None:
    return (
        None if view.verdicts["order"].notna().any() else Unmet("examination.no_order")
    )


def _orders(view: JudgeView) -> Unmet | None:
    rows = view.first().dropna(subset=["verdict"])
    given, swapped = (
        rows.loc[rows["order"] == order, "item"] for order in (AS_GIVEN, SWAPPED)
    )
    return None if given.isin(swapped).any() else Unmet("examination.no_orders")


def _confidence(view: JudgeView) -> Unmet | None:
    return (
        None
        if view.verdicts["confidence"].notna().any()
        else Unmet("examination.no_confidence")
    )


def _systems(view: JudgeView) -> Unmet | None:
    columns = {"system_1", "system_2"} if view.table.kind == "pairwise" else {"system"}
    return (
        None
        if columns <= set(view.table.items.columns)
        else Unmet("examination.no_systems")
    )


def _judges(view: JudgeView) -> Unmet | None:
    verdicts = view.table.verdicts
    judges_here = verdicts.loc[
        verdicts["criterion"] == view.criterion, "judge"
    ].nunique()
    return None if judges_here > 1 else Unmet("examination.no_judges")


def _earlier(view: JudgeView) -> Unmet | None:
    return Unmet("examination.no_earlier") if view.table.earlier is None else None


def _steps(view: JudgeView) -> Unmet | None:
    return Unmet("examination.no_steps") if steps.steps_of(view).empty else None


def _ends(view: JudgeView) -> Unmet | None:
    return Unmet("examination.no_ends") if steps.ends_of(view).empty else None


def _dates(view: JudgeView) -> Unmet | None:
    return Unmet("examination.no_dates") if view.table.dates is None else None


def _injected(view: JudgeView) -> Unmet | None:
    return None if "injected" in view.table.items else Unmet("examination.no_injected")


def _instrument(view: JudgeView) -> Unmet | None:
    return (
        None
        if view.table.instrument is not None
        else Unmet("examination.no_instrument")
    )


# Need and reason are functions of the evidence alone, so that the same need is worded
# once, and an examination of another package is refused in the same words as ours.
NEEDS: Mapping[Need, Callable[[JudgeView], Unmet | None]] = {
    "labels": _labels,
    "originals": _originals,
    "pairs": _pairs,
    "raters": _raters,
    "texts": _texts,
    "repeats": _repeats,
    "order": _order,
    "orders": _orders,
    "confidence": _confidence,
    "systems": _systems,
    "judges": _judges,
    "earlier": _earlier,
    "dates": _dates,
    "steps": _steps,
    "ends": _ends,
    "injected": _injected,
    "instrument": _instrument,
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
        # Two examinations of one name would write the same numbers, and a gate would
        # read whichever came last.
        if examination.name in TAKEN or examination.name in found:
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


class Lacking(NamedTuple):
    """Why an examination cannot be asked: the sentence; whether that goes without saying where
    nobody asked for it by its name; and the name and the sentence that say it once for all."""

    sentence: Finding
    unsaid: bool = False
    of_all: tuple[str, str] | None = None


def lacking(examination: Examination, view: JudgeView) -> Lacking | None:
    """Say why an examination cannot be asked of this evidence; None where it can."""
    unmet = {
        need: found
        for need in examination.needs
        if (found := NEEDS[need](view)) is not None
    }
    # That there are no labels is said once for all, whatever else they lack.
    for need, found in unmet.items():
        if found.of_all is not None:
            return _said(examination, need, found)
    kind, kinds_read = view.table.kind, examination.kinds
    # Before the other needs: of choices between two it would be no help to hear that
    # confidences are missing.
    if kind not in kinds_read:
        what = kind if kind in examination.lacks else "kinds"
        return _said(
            examination,
            what,
            Unmet("examination.other_kind"),
            kind=kind,
            kinds=list(kinds_read),
        )
    for need, found in unmet.items():
        return _said(examination, need, found)
    rows = view.first()
    groups = int(rows.loc[rows["verdict"].notna(), "group"].nunique())
    if groups < examination.fewest_groups:
        needed = examination.fewest_groups
        return _said(
            examination,
            "groups",
            Unmet("examination.few_groups"),
            groups=groups,
            needed=needed,
        )
    return None


def _said(examination: Examination, what: Any, unmet: Unmet, **more: Any) -> Lacking:
    """The sentence of the examination's own, else the general one, which names the examination and
    `more`."""
    if own := examination.lacks.get(what):
        return Lacking(Finding(own, unmet.values), of_all=unmet.of_all)
    general = Finding(unmet.key, {"examination": examination.name, **more})
    return Lacking(general, own == "", unmet.of_all)


def ask(
    examinations: Sequence[Examination],
    view: JudgeView,
    options: CheckOptions,
    told: Told,
) -> list[Examination]:
    """Ask examinations one after the other, and add what each tells, or why it could not be asked.

    Who asked for an examination by its name (`options.only`) is told in any case why it could not
    be asked.

    Returns:
        Those that told of a fault which other grades than these may not have (`Finding.face`).
    """
    faulty = []
    once_for_all: dict[str, Finding] = {}
    for examination in examinations:
        lacks = lacking(examination, view)
        if lacks is None:
            own = _asked(examination, view, options)
            add(own, told)
            if any(found.face is not None for found in own.findings):
                faulty.append(examination)
        # Twelve examinations need labels. That there are none is one sentence, and not
        # twelve.
        elif lacks.of_all is not None and not options.only:
            once_for_all[lacks.of_all[0]] = Finding(lacks.of_all[1])
        elif options.only or not lacks.unsaid:
            told.not_examined[examination.name] = lacks.sentence
    told.not_examined |= once_for_all
    return faulty


def add(part: Told, told: Told) -> None:
    """Add what a part tells; sentences that are told twice stay twice."""
    told.numbers |= part.numbers
    told.units |= part.units
    told.findings += part.findings
    told.tables |= part.tables
    told.columns |= part.columns
    told.subjects = part.subjects | told.subjects
    told.promises += part.promises
    told.drawings += part.drawings
    told.not_examined |= part.not_examined


def chosen(only: Sequence[str]) -> list[Examination]:
    """The examinations of these names, in the order in which they tell; all of them for no name.

    Raises:
        ConfigError: A name is none of an examination.
    """
    every = [*OURS, *installed()]
    known = [examination.name for examination in every]
    for name in only:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            meant = f" Did you mean `{close[0]}`?" if close else ""
            raise ConfigError(
                f"--only is {brief(name)}, which is no examination.{meant} There are:"
                f" {', '.join(known)}."
            )
    return [
        examination for examination in every if not only or examination.name in only
    ]


def others(asked: Sequence[Examination]) -> list[Examination]:
    """The examinations that are not among these."""
    return [
        examination for examination in (*OURS, *installed()) if examination not in asked
    ]


def leave_out(
    examinations: Sequence[Examination], view: JudgeView, told: Told
) -> list[str]:
    """Say which examinations were not asked.

    Returns:
        The names of those that could have spoken against the judge: what needs something that the
        evidence does not hold could not.
    """
    could = []
    unasked = []
    for examination in examinations:
        lacks = lacking(examination, view)
        # What the evidence does not allow could not have spoken against the judge, so
        # that leaving it out takes nothing from the answer.
        if lacks is None and examination.decides:
            could.append(examination.name)
        if lacks is None or not lacks.unsaid:
            unasked.append(examination)
    asks = [
        Finding(f"examination.asks_{examination.name}")
        if examination in OURS
        else Finding("examination.asks_of_another", {"examination": examination.name})
        for examination in unasked
    ]
    sentence = Finding("examination.not_asked", {"asks": asks})
    told.not_examined |= {examination.name: sentence for examination in unasked}
    return could


def _asked(examination: Examination, view: JudgeView, options: CheckOptions) -> Told:
    """What one examination tells. The numbers of ours have the names that gate files know; those of
    others, and their tables, have the examination's name in front."""
    # A collector of its own, so that no examination can write over what another told,
    # by mistake or to please.
    own = Told("" if examination in OURS else examination.name)
    examination.examine(view, own, options)
    if own.name:
        own.tables = {f"{own.name}.{name}": table for name, table in own.tables.items()}
        own.columns = {
            f"{own.name}.{name}": units for name, units in own.columns.items()
        }
        own.drawings = [replace(figure, section=own.name) for figure in own.drawings]
    if not examination.decides:
        _hold_to_its_promise(examination, own)
    return own


def _hold_to_its_promise(examination: Examination, told: Told) -> None:
    """Raise ConfigError where an examination tells what it promised not to: that its findings limit
    nothing. An answer may have been given without it."""
    for found in told.findings:
        if found.weight <= Weight.LIMITS:
            raise ConfigError(
                f"The examination {examination.name!r} declares `decides=False`, and `{found.key}`"
                f" has the weight {found.weight.name}. Mend it: leave `decides` out, or give the"
                " sentence another weight."
            )
