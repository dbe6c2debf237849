"""Defines what an analysis reads and what it yields.

An analysis never calls a model and never draws: it turns a table of judgments into numbers, tables,
findings and figure data. `report/` gives them words and pictures.
"""

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
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

from undogmatic.config.build import explain
from undogmatic.errors import ConfigError, DataError
from undogmatic.examinations.independence import groups_of
from undogmatic.records.records import (
    NO_VERDICT,
    OVERALL,
    Cost,
    Failure,
    Item,
    Judgment,
    Key,
    Label,
    Verdict,
)
from undogmatic.records.results import Finding, Told, part_names
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import StoredTable, storable, voices
from undogmatic.records.wordings import texts_beside
from undogmatic.runs.progress import doing
from undogmatic.safety.spool import many


class KnownSurface(Protocol):
    """Models that read the surface alone, built when they are first needed."""

    def check(self) -> None:
        """Raise ConfigError where one of them cannot be used."""
        ...

    def __call__(
        self, texts: Sequence[str]
    ) -> Callable[[Sequence[str]], NDArray[np.float64]] | None:
        """Texts to what the models say of them; None where each saw some of `texts` before."""
        ...


COLUMNS = (
    *"item_id judge criterion place pair_id group text condition label repeat".split(),
    *NO_VERDICT,
    *Cost.model_fields,
    *"error characters words".split(),
)

MOST_GROUPS = 50
"""Most groups that an analysis holds against one another, in rows and metrics of their own: two
thousand conditions are rather a column of ids in the wrong place, and two million comparisons find
something whatever the judge is worth. Letters for tests of every two end at 52 (`stats.letters`).
"""
MOST_READ = 50_000
"""Most judgments of a run of many texts that are given to an analysis that holds all it reads."""
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


DIGITS = 12
"""To so many decimals scores and means of them are kept, so that those which differ by rounding
alone are tied."""
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
        lambda one, other: Finding("analyses.comma", {"one": one, "other": other}), before
    )
    return Finding("analyses.and", {"one": some, "other": last})


def quoted(names: Sequence[str]) -> Finding:
    """Names of conditions in quotation marks, as one clause."""
    return listed([Finding("analyses.quoted", {"name": name}) for name in names])


@dataclass(frozen=True)
class LongTable:
    """All judgments of one run as a long table: one row per item, judge, criterion and repeat, in
    input order.

    `frame` has COLUMNS; `group` is the unit that a text belongs to (`examinations.independence`),
    `score` is NaN exactly where `error` names a failure kind, and `label` is the item's for the
    criterion. Columns `metadata.<key>` (of the item) and `details.<key>` (of the verdict) follow.
    Most analyses read one score per item, so they are given one of the `parts` at a time.
    """

    frame: pd.DataFrame
    rubric: Rubric
    name: str = "run"
    others: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Frames of other runs over the same items (by run name), for agreement between models."""
    digest: str | None = None
    """SHA-256 over the items, where known; tells two datasets with the same ids apart."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What the run was set to (`examinations.truth.settings`), where known; tells how other runs
    differ from it."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The named texts of each item by its id, where known, for what compares one with another."""
    said: Mapping[str, Mapping[str, Mapping[str, Label]]] = field(default_factory=dict)
    """What people said of each item by its id, where known: criterion -> rater -> label, on the
    rubric's scale."""

    folder: str = ""
    """The run's folder as it would be typed, where known: commands in sentences name it."""
    known_surface: KnownSurface | None = None
    """The models that read the surface alone and were fitted to this construct elsewhere
    (`Rubric.rivals`)."""

    def parts(self) -> dict[str, "LongTable"]:
        """One table per judge and criterion, by `<judge>` or, where a judge has several criteria,
        `<judge>.<criterion>`. Of a run with one score per item it is this whole table, under the
        empty name.
        """
        names = part_names(voices(self.frame))
        if len(names) == 1:
            return {"": self}
        parts, frame = {}, self.frame
        if isinstance(frame, StoredTable):
            own = (
                (pair, (frame["judge"] == pair[0]) & (frame["criterion"] == pair[1]))
                for pair in names
            )
            return {names[pair]: replace(self, frame=frame[rows]) for pair, rows in own}
        for pair, rows in self.frame.groupby(["judge", "criterion"], sort=False):
            parts[names[pair]] = replace(
                self, frame=rows.drop(columns=_empty_details(rows)).reset_index(drop=True)
            )
        return parts

    @cached_property
    def sample(self) -> "LongTable":
        """The table as a data frame; of one on disk at most MOST_READ rows, all of some groups by
        chance."""
        if not isinstance(self.frame, StoredTable):
            return self
        rows = self.frame.sample(MOST_READ)
        return replace(self, frame=rows.drop(columns=_empty_details(rows)))

    @property
    def sign(self) -> int:
        """+1 where a high score is the worse one, -1 where it is the better: `sign * score` rises
        with the fault."""
        return 1 if self.rubric.direction == "higher_is_worse" else -1

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the scale, in score units."""
        return self.rubric.minimum, self.rubric.maximum

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale of `sign * score`, the lower one first."""
        return self.scale if self.sign > 0 else (-self.scale[1], -self.scale[0])

    def first(self, *conditions: str) -> pd.DataFrame:
        """The rows of the first repeat, judged or not; of these conditions, where any are named."""
        rows = self.frame[self.frame["repeat"] == 0]
        return rows[rows["condition"].isin(conditions)] if conditions else rows

    def scored(self) -> pd.DataFrame:
        """The judged rows (no failures) of the first repeat."""
        rows = self.first()
        return rows[rows["error"].isna()]

    def scores(self, *conditions: str) -> NDArray[np.float64]:
        """Scores of the judged texts of these conditions in the first repeat, shape (n,), in score
        units."""
        rows = self.scored()
        return rows.loc[rows["condition"].isin(conditions), "score"].to_numpy(dtype=np.float64)

    def conditions(self) -> list[str]:
        """The conditions of the dataset, in order of appearance, judged or not."""
        return [str(c) for c in self.frame["condition"].dropna().unique()]

    def check_surface(self) -> None:
        """Raise ConfigError where the rubric names a rival that is none."""
        if self.known_surface is not None:
            self.known_surface.check()

    def draw(
        self,
        tell: Told,
        groups: Mapping[str, NDArray[np.float64]],
        *kinds: Literal["box", "histogram"],
        ids: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Draw box plot or histogram of scores by group; a finding names what is too small to be
        drawn. `ids` are the items of the scores."""
        drawn: dict[str, Any] = {
            name: scores for name, scores in groups.items() if scores.size >= FEWEST_DRAWN
        }
        if not drawn:
            present = max((scores.size for scores in groups.values()), default=0)
            tell.findings += [too_few(kind, present) for kind in kinds]
            return
        for kind in kinds:
            edges = np.linspace(*self.scale, 21)
            axis = (
                {"y_label": "score"}
                if kind == "box"
                else {"bins": edges.tolist(), "x_label": "score"}
            )
            axis |= (
                {"ids": [each for name in drawn for each in ids[name]]}
                if kind == "box" and ids
                else {}
            )
            shown = {
                name: scores.tolist() for name, scores in drawn.items() if scores.size <= MOST_READ
            }
            # as many as that are counted instead
            if kind == "histogram" and len(shown) < len(drawn):
                counts = {
                    name: np.histogram(scores, edges)[0].tolist() for name, scores in drawn.items()
                }
                shown, axis = (
                    {name: edges[1:].tolist() for name in drawn},
                    axis | {"counts": counts},
                )
            tell.draw(kind, kind, groups=shown, **axis, limits=self.scale)
        if small := [name for name in groups if name not in drawn]:
            tell.say("analyses.groups_not_drawn", groups=small, needed=FEWEST_DRAWN)

    def need(self, analysis: str, column: str, values: Sequence[str] = ()) -> None:
        """Raise Unsuited unless `column` is filled and holds every one of `values`."""
        present = list(self.frame[column].dropna().unique()) if column in self.frame else []
        missing = [v for v in values if v not in present]
        if not present or missing:
            what = (
                f"texts with condition {', '.join(missing)}" if missing else f"the field `{column}`"
            )
            lacks = Finding("suite.lacks_column", {"column": column})
            if missing:
                lacks = Finding(
                    "suite.lacks_conditions", {"missing": quoted(missing), "n": len(missing)}
                )
            raise Unsuited(
                f"analysis={analysis} needs {what}, which the dataset does not have"
                + (
                    f" (it has: {', '.join(map(str, sorted(present, key=str)[:12]))})"
                    if present
                    else ""
                )
                + ". Choose another `analysis=` (analysis=none only scores) or a dataset with it.",
                lacks,
            )


def _empty_details(rows: pd.DataFrame) -> list[str]:
    return [c for c in rows if c.startswith("details.") and rows[c].isna().all()]


def tabulate(
    items: Sequence[Item],
    judgments: Sequence[Judgment],
    repeats: int,
    expected: Sequence[tuple[str | None, str]] | None = None,
    gaps: bool = True,
) -> Any:
    """Items and judgments -> the frame of `LongTable`. What is not judged yet has error
    "not_judged".

    Of many items, which are read when they are asked for, the frame is a `StoredTable`.

    Args:
        items, judgments, repeats: What was to be judged, and what was.
        expected: Judge and criterion of every judgment that an item shall have; without it, those
            that occur.
        gaps: Whether a judgment that is not there has a row. One that nobody will make has none.
    """
    asked = (
        expected
        or list(dict.fromkeys((j.judge, j.criterion) for j in judgments))
        or [(None, OVERALL)]
    )
    rows = list[dict[str, Any]]()
    stored = StoredTable(items) if many(items) and storable() else None
    found = _in_order(judgments) if many(judgments) else _by_key(judgments)
    groups = groups_of(items)
    every = ((repeat, place, item) for repeat in range(repeats) for place, item in enumerate(items))
    for repeat, place, item in every:  # `product` would hold them all
        for judge, criterion in asked:
            judgment = found((item.id, str(judge), criterion, repeat))
            if judgment is not None or gaps:
                rows.append(_row(item, place, judgment, judge, criterion, repeat, groups))
        if stored is not None and len(rows) >= _AT_ONCE:
            _store(stored, rows)
    if stored is not None:
        _store(stored, rows)
        return stored.close()
    frame = _frame(rows)
    frame["text"] = [items[place].text for place in frame["text"]]
    return frame


_AT_ONCE = 2_000
"""Rows of the long table that are made at a time where it is kept on disk."""


def _store(stored: StoredTable, rows: list[dict[str, Any]]) -> None:
    more = [{name: row.pop(name) for name in [*row] if name not in COLUMNS} for row in rows]
    stored.add(_frame(rows), more)
    rows.clear()


def _by_key(judgments: Sequence[Judgment]) -> Callable[[Key], Judgment | None]:
    return {judgment.key: judgment for judgment in judgments}.get


def _in_order(judgments: Sequence[Judgment]) -> Callable[[Key], Judgment | None]:
    """The judgment of a key, of those in the order of the table: only the next one is held."""
    coming = iter(judgments)
    following = next(coming, None)

    def found(key: Key) -> Judgment | None:
        nonlocal following
        if following is None or following.key != key:
            return None
        judgment, following = following, next(coming, None)
        return judgment

    return found


def _row(
    item: Item,
    place: int,
    judgment: Judgment | None,
    judge: str | None,
    criterion: str,
    repeat: int,
    groups: Mapping[str, str],
) -> dict[str, Any]:
    outcome, label, text = (
        None if judgment is None else judgment.outcome,
        item.labelled(criterion),
        item.text,
    )
    verdict = outcome if isinstance(outcome, Verdict) else None
    reason = (
        "not_judged"
        if outcome is None
        else outcome.reason
        if isinstance(outcome, Failure)
        else None
    )
    row: dict[str, Any] = {
        "item_id": item.id,
        "judge": judge,
        "criterion": criterion,
        "place": item.place,
    }
    row |= {
        "pair_id": item.pair,
        "group": groups[item.id],
        "text": place,
        "condition": item.condition,
    }
    row |= {"label": np.nan if label is None else label, "repeat": repeat}
    row |= NO_VERDICT if verdict is None else verdict.row()
    row |= (judgment.cost if judgment else Cost()).model_dump()
    row |= {"error": reason, "characters": len(text), "words": len(text.split())}
    row |= {f"metadata.{k}": v for k, v in item.metadata.items()}
    return row | {f"details.{k}": v for k, v in (verdict.details.items() if verdict else ())}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows as a frame; `text` is the place of the item."""
    frame = pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(COLUMNS))
    rounded = ["label", "score", "revised_score"]
    numbers = [*rounded, "raw_score", "low", "high", "confidence", "entropy", "doubt", "usd"]
    # Rounded, a mean of criteria ties with what it equals.
    frame[numbers] = frame[numbers].astype(float).round(dict.fromkeys(rounded, DIGITS))
    for column in ("pair_id", "condition", "uncertainty", "is_uncertain", "error"):
        frame[column] = frame[column].astype(object).where(frame[column].notna(), None)
    return frame


@runtime_checkable
class Analysis(Protocol):
    """judgments -> numbers. Constructor arguments are the keys of `conf/analysis/<name>.yaml`.

    A list comes back because an analysis may consist of several (`analysis=suite`). A class that
    sets `long = True` reads all judges and criteria of a run at once; any other is given each of
    `LongTable.parts` by itself (`analyse`). One that sets `reads_words = True` reads what judges
    said, which a run with `tracking.redact` does not keep. One that sets `reads_all = True` asks
    the frame for the columns that it reads, and may have a whole table on disk.
    """

    @property
    def name(self) -> str: ...

    def check(self, judged: LongTable) -> None:
        """Raise Unsuited, DataError or ConfigError if this analysis cannot read such a dataset,
        whatever the scores.

        It can therefore be asked before anything is judged, with `tabulate(items, [], repeats)`.
        """
        ...

    def __call__(self, judged: LongTable, rng: np.random.Generator) -> list[Told]: ...


def read_by(analysis: Analysis, judged: LongTable) -> dict[str, LongTable]:
    """What an analysis is given of a run, by the name that its results are to bear in front."""
    return {"": judged} if getattr(analysis, "long", False) else judged.parts()


def analyse(analysis: Analysis, judged: LongTable, rng: np.random.Generator) -> list[Told]:
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
            sampled = Finding("analyses.sampled", {"n": len(read.frame), "total": len(own.frame)})
            found = [replace(result, findings=[sampled, *result.findings]) for result in found]
        results += [
            replace(result, part=part or result.part, texts=result.texts or texts)
            for result in found
        ]
    return results


def readable(analysis: Analysis, judged: LongTable) -> LongTable:
    """What an analysis reads of a table: all of it, or its `sample`."""
    return judged if getattr(analysis, "reads_all", False) else judged.sample


def check_groups(analysis: str, column: str, groups: Collection[Any], instead: str) -> None:
    """Raise DataError for more than MOST_GROUPS groups; `column` is the dataset's, `instead` the
    other way out."""
    if len(groups) > MOST_GROUPS:
        named = ", ".join(repr(str(group)) for group in list(groups)[:3])
        raise DataError(
            f"analysis={analysis} takes the texts apart by `{column}`, which has {len(groups)}"
            f" different values in the dataset ({named}, ...); it compares at most {MOST_GROUPS}."
            f" Name fewer in the column `{column}`, or {instead}."
        )


def texts_of(rows: pd.DataFrame) -> list[str]:
    """The texts of rows of the long table. An item of which only the id is known has none: what it
    is called tells nothing of it, and a word counter that is fitted to names is beaten by anybody.
    """
    ids = rows["item_id"] if "item_id" in rows else [None] * len(rows)
    return ["" if text == item else str(text) for text, item in zip(rows["text"], ids, strict=True)]


def count(tell: Told, rows: pd.DataFrame, conditions: Iterable[str] | None = None) -> list[Finding]:
    """Tell how many of these first-repeat rows were judged and how many failed.

    Args:
        conditions: In which order they are named; None: in that of the rows. A row without a
            condition is of "all".
    Returns:
        The sentence "n texts were not judged", with their conditions and reasons; nothing where all
        were.
    """
    named = rows["condition"].where(rows["condition"].notna(), "all").astype(str)
    failed = Counter(zip(named[rows["error"].notna()], rows["error"].dropna(), strict=True))
    return tell_failed(
        tell, len(rows), failed, named.unique() if conditions is None else conditions
    )


def tell_failed(
    tell: Told, total: int, failed: Mapping[tuple[str, str], int], conditions: Iterable[str]
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


def too_few(figure: str, present: int, needed: int = FEWEST_DRAWN) -> Finding:
    """A figure was left out: `present` of the `needed` marks, pairs or scores."""
    return Finding("analyses.too_few", {"figure": figure, "present": present, "needed": needed})


def from_cache(rows: pd.DataFrame) -> pd.Series:
    """Which of these judgments are wholly answers from the cache, so that nobody was asked
    again."""
    return (rows["cached"] > 0) & (rows["calls"] == 0)


def family_level(level: float, n: int) -> float:
    """The level of each of `n` intervals that hold together with `level` (Bonferroni)."""
    return 1 - (1 - level) / max(1, n)
