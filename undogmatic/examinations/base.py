"""Defines what an analysis reads and what it yields.

An analysis never calls a model and never draws: it turns a table of judgments into numbers, tables,
findings and figure data. `report/` gives them words and pictures.
"""

import copy
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    get_type_hints,
    runtime_checkable,
)

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, ValidationError, create_model

from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.run_evidence import MOST_READ, RunEvidence
from undogmatic.records.problems import explain
from undogmatic.records.progress import doing
from undogmatic.records.results import Finding, Told
from undogmatic.records.wordings import texts_beside
from undogmatic.stats.estimate import Unit

MOST_GROUPS = 50
"""Most groups that an analysis holds against one another, in rows and metrics of their own: two
thousand conditions are rather a column of ids in the wrong place, and two million comparisons find
something whatever the judge is worth. Letters for tests of every two end at 52 (`stats.letters`).
"""
Share = Annotated[float, Field(gt=0, lt=1)]
"""A level, a probability or a part, as a constructor takes it."""
Correlation = Annotated[float, Field(ge=0, lt=1)]
"""A correlation that another can exceed."""
Runs = Annotated[Sequence[str], Field(max_length=MOST_GROUPS - 1)]
"""Folders of other runs, every two of which are compared, this one among them."""


class Limited:
    """Holds the settings of an analysis against their annotations, wherever it is built. Raises
    ConfigError.

    What a config gives is checked by `config.build` already, which does not see an analysis that is
    built in Python.
    """

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self), include_extras=True)
        limited: dict[str, Any] = {
            n: (hints[n], ...) for n in vars(self) if "Annotated" in repr(hints[n])
        }
        try:
            create_model("Limits", **limited).model_validate(vars(self))
        except ValidationError as error:
            raise ConfigError(explain(error, "analysis")) from None


OF_SCORES: dict[str, Unit] = {"iqr": "amount", "sd": "amount"}
OF_SCORES |= dict.fromkeys(
    ("mean", "median", "minimum", "p5", "q1", "q3", "p95", "maximum"), "score"
)
"""The units of the columns of a table that describes scores."""
FEWEST_DRAWN = 3
"""Fewest marks, pairs or scores per group for which a picture says more than the numbers."""


class Unsuited(DataError):
    """The dataset lacks what an analysis reads, though nothing is wrong with it: another analysis
    may suit it.

    `lacks` says in the words of the report what is missing, where `analysis=suite` may have to tell
    it.
    """

    def __init__(self, message: str, lacks: Finding | None = None) -> None:
        super().__init__(message)
        self.lacks = lacks


def listed(said: Sequence[Finding]) -> Finding:
    """Several clauses as one: "a, b and c"."""
    *before, last = said
    if not before:
        return last
    some = reduce(
        lambda one, other: Finding("analyses.comma", {"one": one, "other": other}),
        before,
    )
    return Finding("analyses.and", {"one": some, "other": last})


def quoted(names: Sequence[str]) -> Finding:
    """Names of conditions in quotation marks, as one clause."""
    return listed([Finding("analyses.quoted", {"name": name}) for name in names])


@runtime_checkable
class Analysis(Protocol):
    """judgments -> numbers. Constructor arguments are the keys of `conf/analysis/<name>.yaml`.

    A list comes back because an analysis may consist of several (`analysis=suite`). A class that
    sets `long = True` reads all judges and criteria of a run at once; any other is given each of
    `RunEvidence.parts` by itself (`analyse`). One that sets `reads_words = True` reads what judges
    said, which a run with `tracking.redact` does not keep. One that sets `reads_all = True` asks
    the frame for the columns that it reads, and may have a whole table on disk.
    """

    @property
    def name(self) -> str: ...

    def check(self, judged: RunEvidence) -> None:
        """Raise Unsuited, DataError or ConfigError if this analysis cannot read such a dataset,
        whatever the scores.

        It can therefore be asked before anything is judged, with `tabulate(items, [], repeats)`.
        """
        ...

    def __call__(self, judged: RunEvidence, rng: np.random.Generator) -> list[Told]: ...


def read_by(analysis: Analysis, judged: RunEvidence) -> dict[str, RunEvidence]:
    """What an analysis is given of a run, by the name that its results are to bear in front."""
    return {"": judged} if getattr(analysis, "long", False) else judged.parts()


def analyse(
    analysis: Analysis, judged: RunEvidence, rng: np.random.Generator
) -> list[Told]:
    """What an analysis yields on all that it is to read (a result of one of several parts says
    which), with where its words lie: beside the module that defines it.

    Linear algebra takes one thread: its matrices are small, threads of a busy machine wait for each
    other (five times as long on two shared cores), and sums in another order give other last bits.
    """
    from threadpoolctl import threadpool_limits

    texts = texts_beside(analysis)
    results = []
    for part, own in read_by(analysis, judged).items():
        read = readable(analysis, own)
        with (
            doing(f"analysis={analysis.name}{f' ({part})' if part else ''}"),
            threadpool_limits(1, "blas"),
        ):
            # Each starts from the same state, so that its intervals are those of a run with this
            # judge alone.
            found = analysis(read, copy.deepcopy(rng))
        if len(read.frame) < len(own.frame):
            sampled = Finding(
                "analyses.sampled", {"n": len(read.frame), "total": len(own.frame)}
            )
            found = [
                replace(result, findings=[sampled, *result.findings])
                for result in found
            ]
        results += [
            replace(result, part=part or result.part, texts=result.texts or texts)
            for result in found
        ]
    return results


def readable(analysis: Analysis, judged: RunEvidence) -> RunEvidence:
    """What an analysis reads of a table: all of it, or its `sample`."""
    return judged if getattr(analysis, "reads_all", False) else judged.sample


def need(
    judged: RunEvidence, analysis: str, column: str, values: Sequence[str] = ()
) -> None:
    """Raise Unsuited unless `column` is filled and holds every one of `values`."""
    present = (
        list(judged.frame[column].dropna().unique()) if column in judged.frame else []
    )
    missing = [v for v in values if v not in present]
    if present and not missing:
        return
    what = f"the field `{column}`"
    lacks = Finding("suite.lacks_column", {"column": column})
    if missing:
        what = f"texts with condition {', '.join(missing)}"
        names = {"missing": quoted(missing), "n": len(missing)}
        lacks = Finding("suite.lacks_conditions", names)
    known = ", ".join(map(str, sorted(present, key=str)[:12]))
    raise Unsuited(
        f"analysis={analysis} needs {what}, which the dataset does not have"
        f"{f' (it has: {known})' if present else ''}."
        " Choose another `analysis=` (analysis=none only scores) or a dataset with it.",
        lacks,
    )


def draw(
    judged: RunEvidence,
    tell: Told,
    groups: Mapping[str, NDArray[np.float64]],
    *kinds: Literal["box", "histogram"],
    ids: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Draw box plot or histogram of scores by group; a finding names what is too small to be
    drawn. `ids` are the items of the scores."""
    drawn = {
        name: scores for name, scores in groups.items() if scores.size >= FEWEST_DRAWN
    }
    if not drawn:
        present = max((scores.size for scores in groups.values()), default=0)
        tell.findings += [too_few(kind, present) for kind in kinds]
        return
    edges = np.linspace(*judged.scale, 21)
    few = {
        name: scores.tolist()
        for name, scores in drawn.items()
        if scores.size <= MOST_READ
    }
    for kind in kinds:
        shown, axis = few, dict[str, Any]()
        if kind == "box":
            axis["y_label"] = "score"
            if ids:
                axis["ids"] = [item for name in drawn for item in ids[name]]
        else:
            axis |= {"bins": edges.tolist(), "x_label": "score"}
            if len(few) < len(drawn):  # what is too many to be listed is counted
                shown = {name: edges[1:].tolist() for name in drawn}
                counts = {
                    name: np.histogram(scores, edges)[0]
                    for name, scores in drawn.items()
                }
                axis["counts"] = {name: own.tolist() for name, own in counts.items()}
        tell.draw(kind, kind, groups=shown, **axis, limits=judged.scale)
    if small := [name for name in groups if name not in drawn]:
        tell.say("analyses.groups_not_drawn", groups=small, needed=FEWEST_DRAWN)


def check_groups(
    analysis: str, column: str, groups: Collection[Any], instead: str
) -> None:
    """Raise DataError for more than MOST_GROUPS groups; `column` is the dataset's, `instead` the
    other way out."""
    if len(groups) > MOST_GROUPS:
        named = ", ".join(repr(str(group)) for group in list(groups)[:3])
        raise DataError(
            f"analysis={analysis} takes the texts apart by `{column}`, which has {len(groups)}"
            f" different values in the dataset ({named}, ...); it compares at most {MOST_GROUPS}."
            f" Name fewer in the column `{column}`, or {instead}."
        )


def count(
    tell: Told, rows: pd.DataFrame, conditions: Iterable[str] | None = None
) -> list[Finding]:
    """Tell how many of these first-repeat rows were judged and how many failed.

    Args:
        conditions: In which order they are named; None: in that of the rows. A row without a
            condition is of "all".
    Returns:
        The sentence "n texts were not judged", with their conditions and reasons; nothing where all
        were.
    """
    named = rows["condition"].where(rows["condition"].notna(), "all").astype(str)
    failed = Counter(
        zip(named[rows["error"].notna()], rows["error"].dropna(), strict=True)
    )
    return tell_failed(
        tell, len(rows), failed, named.unique() if conditions is None else conditions
    )


def tell_failed(
    tell: Told,
    total: int,
    failed: Mapping[tuple[str, str], int],
    conditions: Iterable[str],
) -> list[Finding]:
    """What `count` tells, of so many rows and of how many of a condition failed for a reason."""
    tell.number(total - (n_failed := sum(failed.values())), "judged", unit="count")
    tell.number(n_failed, "failed", unit="count")
    reasons: dict[str, list[str]] = {}
    for (condition, reason), n in sorted(failed.items()):
        reasons.setdefault(condition, []).append(f"{reason} {n}")
    where = "; ".join(
        f"{name}: {', '.join(reasons[name])}" for name in conditions if name in reasons
    )
    return (
        [Finding("analyses.failed", {"n": n_failed, "total": total, "where": where})]
        if n_failed
        else []
    )


def columns(table: pd.DataFrame, **names: str) -> dict[str, list[Any]]:
    """Arguments of a figure that are columns of a table: `estimate="auc"`."""
    return {name: table[column].tolist() for name, column in names.items()}


def too_few(figure: str, present: int) -> Finding:
    """A figure was left out: it has `present` of the marks, pairs or scores that one needs."""
    facts = {"figure": figure, "present": present, "needed": FEWEST_DRAWN}
    return Finding("analyses.too_few", facts)


def from_cache(rows: pd.DataFrame) -> pd.Series:
    """Which of these judgments are wholly answers from the cache, so that nobody was asked
    again."""
    return (rows["cached"] > 0) & (rows["calls"] == 0)


def family_level(level: float, n: int) -> float:
    """The level of each of `n` intervals that hold together with `level` (Bonferroni)."""
    return 1 - (1 - level) / max(1, n)
