"""Holds what a run judged as evidence.

Rows come first, since many of them lie on disk and are read column by column; what people said and
what is known of the items is made of them when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from undogmatic.datasets.belonging import TOGETHER
from undogmatic.datasets.cells import as_slice
from undogmatic.examinations.run_rows import DETAILS, METADATA, texts_of
from undogmatic.examinations.steps import AT, NAMED, PLANTED
from undogmatic.records.evidence import (
    AS_GIVEN,
    FIRST,
    INJECTED,
    LABEL_COLUMNS,
    PARENT,
    SECOND,
    SLICE,
    SWAPPED,
    TIE,
    Evidence,
    Grouping,
    Kind,
)
from undogmatic.records.own_scale import OwnScale
from undogmatic.records.records import (
    OVERALL,
    TYPED_GROUP,
    UNNAMED,
    Item,
    Label,
    LabelScale,
)
from undogmatic.records.results import part_names
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import StoredTable, voices


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


MOST_READ = 50_000
"""Most judgments of a run of many texts that are given to an analysis that holds all it reads."""
CHOICES = {"first": 0.0, "second": 1.0, "tie": 2.0}
"""What `judge=compare` says of two outputs, as a place among the categories of a choice."""


class RunEvidence(Evidence):
    """What a run judged, as evidence: verdicts, labels and items are made of the run's rows.

    A row holds what no file has: the score in the rubric's units beside the category (it may lie
    between two), the judge's own interval, what it cost. So an analysis of a run reads `frame`. One
    that reads one score per item is given one of the `parts` at a time.

    Attributes:
        frame: One row per item, judge, criterion and repeat, in input order; a data frame, or a
            `StoredTable` where there are many. It has the columns
            COLUMNS of `run_rows.py`: `group` is the unit that a text
            belongs to (`datasets.belonging`), `score` is NaN exactly where `error` names a
            failure kind, and `label` is the item's for the criterion. Columns `metadata.<key>` (of
            the item) and `details.<key>` (of the verdict) follow.
        digest: SHA-256 over the items, where known; tells two datasets with the same ids apart.
        set_to: What the run was set to (`examinations.truth.settings`), where known; tells how
            other runs differ from it.
        known: The items by id, where known: their named texts, and what each person said of them.
        folder: The run's folder as it would be typed, where known: commands in sentences name it.
        known_surface: The models that read the surface alone and were fitted to this construct
            elsewhere (`Rubric.rivals`).
        label_scale: The scale on which people gave the labels, where it is not the rubric's.
    """

    def __init__(
        self,
        frame: Any,
        rubric: Rubric,
        name: str = "run",
        *,
        digest: str | None = None,
        set_to: Mapping[str, str] | None = None,
        known: Mapping[str, Item] | None = None,
        folder: str = "",
        known_surface: KnownSurface | None = None,
        label_scale: LabelScale | None = None,
    ) -> None:
        self.frame, self.rubric, self.name = frame, rubric, name
        self.digest, self.folder = digest, folder
        self.set_to = {} if set_to is None else set_to
        self.known = {} if known is None else known
        self.known_surface, self.label_scale = known_surface, label_scale
        # These fields of any evidence say nothing of a run; they cannot be set, as it is frozen.
        vars(self).update(criterion_scales={}, settings={}, columns={})

    def with_rows(self, frame: Any) -> RunEvidence:
        """The same run with these rows."""
        return RunEvidence(
            frame,
            self.rubric,
            self.name,
            digest=self.digest,
            set_to=self.set_to,
            known=self.known,
            folder=self.folder,
            known_surface=self.known_surface,
            label_scale=self.label_scale,
        )

    # The rows of some verdicts

    def parts(self) -> dict[str, RunEvidence]:
        """The run by judge and criterion, as `<judge>` or, where a judge has several criteria,
        `<judge>.<criterion>`. Of a run with one score per item it is all of it, under the empty
        name.
        """
        names = part_names(voices(self.frame))
        if len(names) == 1:
            return {"": self}
        parts, frame = {}, self.frame
        # Rows on disk stay there; only the places of a part's rows are held.
        if isinstance(frame, StoredTable):
            for (judge, criterion), name in names.items():
                rows = (frame["judge"] == judge) & (frame["criterion"] == criterion)
                parts[name] = self.with_rows(frame[rows])
            return parts
        for pair, rows in frame.groupby(["judge", "criterion"], sort=False):
            held = rows.drop(columns=_empty_details(rows)).reset_index(drop=True)
            parts[names[pair]] = self.with_rows(held)
        return parts

    @cached_property
    def sample(self) -> RunEvidence:
        """The run with its rows in memory; of rows on disk at most MOST_READ, all of some groups by
        chance."""
        if not isinstance(self.frame, StoredTable):
            return self
        # Whole groups by a hash of their names: the same run gives the same sample, and
        # intervals over groups stay right.
        rows = self.frame.sample(MOST_READ)
        return self.with_rows(rows.drop(columns=_empty_details(rows)))

    def first(self, *conditions: str) -> pd.DataFrame:
        """The rows of the first repeat, judged or not; of these conditions, where any are named."""
        rows = self.frame[self.frame["repeat"] == 0]
        return rows[rows["condition"].isin(conditions)] if conditions else rows

    @property
    def repeats(self) -> range:
        """The repeats after the first, by their numbers."""
        return range(1, int(self.frame["repeat"].max()) + 1 if len(self.frame) else 1)

    @property
    def groups(self) -> pd.Series:
        """The group of each item, by item, without a look at its text."""
        return self.frame.drop_duplicates("item_id").set_index("item_id")["group"]

    def scored(self) -> pd.DataFrame:
        """The judged rows (no failures) of the first repeat."""
        rows = self.first()
        return rows[rows["error"].isna()]

    def scores(self, *conditions: str) -> NDArray[np.float64]:
        """Scores of the judged texts of these conditions in the first repeat, shape (n,), in score
        units."""
        rows = self.scored()
        return rows.loc[rows["condition"].isin(conditions), "score"].to_numpy(
            dtype=np.float64
        )

    def conditions(self) -> list[str]:
        """The conditions of the dataset, in order of appearance, judged or not."""
        return [str(c) for c in self.frame["condition"].dropna().unique()]

    # The scale

    @property
    def sign(self) -> int:
        """+1 where a high score is the worse one, -1 where it is the better: `sign * score` rises
        with the fault."""
        return 1 if self.rubric.direction == "higher_is_worse" else -1

    @property
    def scale(self) -> tuple[float, float]:
        """The ends of the scale, in score units; of categories the places of the first and the
        last."""
        return self.rubric.minimum, self.rubric.maximum

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the scale of `sign * score`, the lower one first."""
        return self.scale if self.sign > 0 else (-self.scale[1], -self.scale[0])

    @cached_property
    def graded(self) -> OwnScale | None:
        """How a score becomes a grade on the scale of the labels; None where that is the rubric's,
        or has no numbers."""
        own = OwnScale.of(self.label_scale, self.rubric)
        return own if own is not None and own.counts else None

    def check_surface(self) -> None:
        """Raise ConfigError where the rubric names a rival that is none."""
        if self.known_surface is not None:
            self.known_surface.check()

    # The evidence

    @cached_property
    def kind(self) -> Kind:
        """That of the rubric's scale; a choice of two where outputs were compared."""
        # A judge that compares two outputs answers in both orders, whatever its
        # rubric's scale.
        if AS_GIVEN in set(self.frame["criterion"]):
            return "pairwise"
        return self.rubric.scale.kind

    @property
    def categories(self) -> tuple[str, ...]:
        """Those of the scale; of choices a tie only where there is one."""
        if self.kind != "pairwise":
            return getattr(self.rubric.scale, "categories", ())
        # As in a table of choices: a tie that nobody gave is no category.
        given = {*self.verdicts["verdict"], *self.labels["label"]}
        return (FIRST, SECOND, TIE) if CHOICES["tie"] in given else (FIRST, SECOND)

    @property
    def sources(self) -> Mapping[str, str]:
        """The run's folder, so that what would settle an answer names it."""
        return {self.folder: self.digest or ""} if self.folder else {}

    @cached_property
    def grouping(self) -> Grouping:
        """Whether somebody named the groups of the items, or said that there are none."""
        column = METADATA + TYPED_GROUP
        if column not in self.frame:
            return "found"
        return "none" if (self.frame[column] == "").all() else "typed"

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """A row for each row; of choices the place is the one in the given numbering."""
        rows = self.frame
        if self.kind == "pairwise":
            rows = rows[rows["criterion"].isin((AS_GIVEN, SWAPPED))]
            values = rows["category"].map(CHOICES)
        elif self.kind == "numeric":
            values = rows["score"]
        else:
            names = [name.casefold() for name in self.categories]
            places = {name: float(place) for place, name in enumerate(names)}
            values = rows["category"].map(
                lambda name: places.get(str(name).casefold(), np.nan)
            )
        choice = self.kind == "pairwise"
        named = {"step": rows[DETAILS + NAMED]} if DETAILS + NAMED in rows else {}
        return pd.DataFrame(
            {
                "item": rows["item_id"].astype(str),
                "judge": rows["judge"].astype(str),
                "criterion": OVERALL if choice else rows["criterion"].astype(str),
                "repeat": rows["repeat"],
                "order": rows["criterion"] if choice else None,
                "verdict": values.astype(np.float64),
                "confidence": rows["confidence"].astype(float) / 100,
                "reason": rows["error"],
                "place": rows["place"],
                **named,
            }
        ).reset_index(drop=True)

    @cached_property
    def labels(self) -> pd.DataFrame:
        """What people said, a row for each person, item and criterion, in units of `verdicts`;
        where only the mean of an item is known, the mean."""
        scale, choice = self.rubric.scale, self.kind == "pairwise"
        asked = self.first().drop_duplicates(["item_id", "criterion"])
        labels = []
        columns = (asked[name] for name in ("item_id", "criterion", "label"))
        for name, criterion, mean in zip(*columns, strict=True):
            # Of choices people say which is better, whatever the order in which a judge saw them.
            if criterion != AS_GIVEN if choice else np.isnan(mean):
                continue
            of = OVERALL if choice else str(criterion)
            item = self.known.get(name)
            people: Mapping[str, Label] = (
                {} if item is None else item.labels.get(of, {})
            )
            if not people and not choice:
                people = {UNNAMED: float(mean)}
            for rater, label in people.items():
                number = scale.read(label) if isinstance(label, str) else float(label)
                if choice:
                    number = CHOICES[scale.write(number)]
                labels.append((str(name), of, rater, number))
        return pd.DataFrame(labels, columns=list(LABEL_COLUMNS)).astype(
            {"label": np.float64}
        )

    @cached_property
    def items(self) -> pd.DataFrame:
        """What is known of the items: group, text, maker, and the slices of their metadata."""
        first = self.frame.drop_duplicates("item_id")
        known: dict[str, Any] = {"group": first["group"].astype(str).to_numpy()}
        if self.kind == "pairwise":
            for n in (1, 2):
                outputs = (self.known[item].inputs for item in first["item_id"])
                known[f"text_{n}"] = [inputs.get(f"output_{n}") for inputs in outputs]
            for system in ("system_1", "system_2"):
                if METADATA + system in first:
                    known[system] = first[METADATA + system].to_numpy()
        else:
            known |= {"text": texts_of(first)} | _slices(first)
        return pd.DataFrame(
            known, index=pd.Index(first["item_id"].astype(str), name="item")
        )


def _slices(first: pd.DataFrame) -> dict[str, Any]:
    """The maker and the slices of the metadata of items, a row each."""
    known = {}
    injected = METADATA + INJECTED in first
    for column in map(str, first.columns):
        key = column.removeprefix(METADATA)
        if injected and key == AT:
            known[AT] = pd.to_numeric(first[column], errors="coerce").to_numpy()
            continue
        if (
            not column.startswith(METADATA)
            or key in (*TOGETHER, TYPED_GROUP)
            or "label" in key
        ):
            continue
        if injected and key in PLANTED:
            continue
        if injected and key in (INJECTED, PARENT):
            known[key] = (
                first[column]
                .astype(object)
                .where(first[column].notna(), None)
                .to_numpy()
            )
        elif first[column].notna().any():
            known["system" if key == "system" else SLICE + key] = as_slice(
                first[column]
            )
    return known


def _empty_details(rows: pd.DataFrame) -> list[str]:
    return [c for c in rows if c.startswith(DETAILS) and rows[c].isna().all()]
