"""Defines the evidence: what judges and people said of items, whoever wrote it down, in one
form.

Readers (`datasets/`) make it, analyses (`examinations/`) read it. Nothing in it is judged by this
program.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from undogmatic.records.results import Finding
from undogmatic.stats.estimate import Estimate

Made = TypeVar("Made")
Kind = Literal["numeric", "ordered", "unordered", "pass_fail", "pairwise"]
"""Numbers on a scale; categories with and without an order; two categories of which one passes; a
choice of two."""
KINDS: tuple[Kind, ...] = ("numeric", "ordered", "unordered", "pass_fail", "pairwise")
FIRST, SECOND, TIE = "1", "2", "tie"
"""The categories of a pairwise choice, in the given numbering of the two outputs, whatever the
order shown."""
AS_GIVEN, SWAPPED = "as_given", "swapped"
INJECTED, PARENT = "injected", "parent"
"""Where metadata of an item say what was planted in it, and of which item it is a copy."""
CLEAN, EQUIVALENT, DEFECT = "clean", "equivalent", "defect:"
"""What was planted in an item: nothing, an edit that must not matter, or a known defect, whose name
stands behind the last of these."""

VERDICT_COLUMNS = (
    "item",
    "judge",
    "criterion",
    "repeat",
    "order",
    "verdict",
    "confidence",
    "reason",
    "place",
)
TEXTS = ("text", "text_1", "text_2")
LABEL_COLUMNS = ("item", "criterion", "rater", "label")
SLICE = "slice."
COUNTED = "counted."
STATED = "stated."
"""How the columns of a file begin that say how all its verdicts are to be read: `stated.kind`,
`stated.scale`, `stated.passes`, `stated.margin`, and `stated.group`: that groups are final."""
IN_MEMORY = "data frame"
"""The name of what is read from no file."""
NOT_JUDGED = "not judged"
"""Why an item that was labelled has no verdict where the judge has no record of it at all."""

Grouping = Literal["found", "typed", "none"]
"""Whether it was found which items belong together, or typed, or said that each stands alone."""
Selection = Literal["unknown", "all", "random", "by_verdict", "probabilities"]
"""How the labelled items were chosen: declared, never guessed. "unknown" (nothing was declared),
"all" of them, at "random", "by_verdict" (within each verdict at random), or with known
"probabilities" (the items' column)."""


@dataclass(frozen=True)
class EarlierFigures:
    """What a trust card of `source` keeps of an earlier check: figures, and no verdicts.

    Attributes:
        settings: What is known of the judge, in the form in which cards keep it. verdicts, labels:
            Digests of what the figures were computed from.
    """

    source: str
    made: datetime.date
    judge: str
    criterion: str
    kind: Kind
    n: int  # items with a verdict and a label
    figures: Mapping[str, Estimate]
    settings: Mapping[str, str]
    verdicts: str
    labels: str


@dataclass(frozen=True)
class InstrumentTest:
    """What an instrument test found of a judge without labels, as a run or a card (`source`) keeps
    it.

    Attributes:
        made, answer: The day, and what it came to, in a sentence.
        figures: Its numbers with their intervals, `instrument.cue.flattery` and so on.
        shown: What is shown of each cue: "effect", "no_effect", "open" or "not_examined".
        margin: Differences of scores up to this do not matter; None where nobody said. span: How
            far apart two scores may lie.
        settings: What is known of the judge. judge, items: Digests of its recipe, and of the texts
            and copies that it judged.
    """

    source: str
    made: datetime.date
    answer: str
    figures: Mapping[str, Estimate]
    shown: Mapping[str, str]
    margin: float | None
    span: float
    settings: Mapping[str, str]
    judge: str
    items: str


@dataclass(frozen=True)
class Evidence:
    """Verdicts of one or several judges, the labels that people gave, and what is known of the
    items.

    A verdict or label is a float: the number itself where `kind` is "numeric", else the place of
    its category in `categories` (ordered from the lowest where they have an order; "pass_fail":
    fail, pass; "pairwise": FIRST, SECOND, and TIE where ties occur). NaN is no verdict, and
    `reason` says why.

    Attributes:
        verdicts: One row per verdict, VERDICT_COLUMNS: item (str), judge, criterion, repeat (int
            from 0), order (AS_GIVEN, SWAPPED or None), verdict (float), confidence (float or NaN),
            reason (None where there is a verdict), place ("file:line").
        labels: One row per label, LABEL_COLUMNS: item, criterion, rater, label (float).
        items: Index: item ids. `group` (str): what belongs together (declared, else items with the
            same text, else the item itself). `text` (pairwise: `text_1`, `text_2`), `system` (who
            made what was judged; pairwise: `system_1`, `system_2`), `probability` (of being
            labelled), `injected` (what was planted in it: CLEAN, EQUIVALENT, or DEFECT and a name),
            `parent` (the item of which it is a copy): only where known. `slice.<column>`: any other
            column. `counted.<name>` (float): what a program made of the item's text without reading
            it, such as how often it names a precedent. The word counter sees that, too.
        scale: Lowest and highest value that a number may have; categories: those of any other kind.
        criterion_scales: The scale of a criterion that is not on `scale`.
        margin: Largest difference that does not matter, where whoever wrote the rubric stated one.
        grouping: Whether the groups were found, among others by texts that are alike; or are final,
            because somebody named them ("typed") or said that nothing belongs together ("none").
        read: What was recognised and assumed, in sentences, the most doubtful first.
        problems: What is wrong in the files and was left out, each with its place.
        rows, unread: How many rows the files have, and how many of them could not be read. What
            these say is not known: each may hold a verdict of any judge on a labelled item.
        unaccounted: How many of the unread rows count as missing verdicts of each judge: all but
            those that are counted already, because a labelled item has no row of a judge.
        sources: File name -> SHA-256 of its bytes.
        reading: The options by which the files were read that other commands of the same files
            take too, as they are typed.
        columns: The column of each judge that has one of its own.
        settings: What is known of the judge (model, prompt, settings), for its digest: judge -> key
            -> value.
        earlier: Evidence of before, or what a card keeps of it, to ask what has changed since; None
            where nobody asks.
        instrument: What an instrument test found of the only judge; None where nobody names one.
        dates: The day of each item (NaT: not known), to ask since when something has changed; None
            where nobody asks.
    """

    kind: Kind
    verdicts: pd.DataFrame
    labels: pd.DataFrame
    items: pd.DataFrame
    scale: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()
    criterion_scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    margin: float | None = None
    selection: Selection = "unknown"
    grouping: Grouping = "found"
    read: Sequence[Finding] = ()
    problems: Sequence[Finding] = ()
    rows: int = 0
    unread: int = 0
    unaccounted: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reading: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    earlier: Evidence | EarlierFigures | None = None
    instrument: InstrumentTest | None = None
    dates: pd.Series | None = None

    @property
    def judges(self) -> list[str]:
        """The judges in order of appearance."""
        return [str(judge) for judge in self.verdicts["judge"].unique()]

    @property
    def criteria(self) -> list[str]:
        """The criteria in order of appearance."""
        return [str(criterion) for criterion in self.verdicts["criterion"].unique()]

    @property
    def has_texts(self) -> bool:
        """Whether what was judged can be read."""
        columns = ("text_1", "text_2") if self.kind == "pairwise" else ("text",)
        return all(
            c in self.items and bool((self.items[c].fillna("").str.strip() != "").any())
            for c in columns
        )

    def texts(self, items: pd.Index) -> list[tuple[str, ...]]:
        """What was judged of these items, "" where it is not known: one list, or two of a choice of
        two outputs; none where no text is known."""
        columns = ("text_1", "text_2") if self.kind == "pairwise" else ("text",)
        if not self.has_texts:
            return []
        return [
            tuple(self.items[column].reindex(items).fillna("").astype(str))
            for column in columns
        ]

    def raters(self, criterion: str) -> list[str]:
        """Who gave labels on a criterion, in order of appearance."""
        return [
            str(rater)
            for rater in self.labels.loc[
                self.labels["criterion"] == criterion, "rater"
            ].unique()
        ]

    def changed(self, **changes: Any) -> Evidence:
        """The same with other values of some fields; of a run a copy that its rows have no part
        in."""
        kept = {own.name: getattr(self, own.name) for own in fields(Evidence)}
        return Evidence(**kept | changes)

    def without_texts(self) -> Evidence:
        """The same without what was judged."""
        return self.changed(items=self.items.drop(columns=list(TEXTS), errors="ignore"))

    def in_order(self) -> Evidence:
        """The same table in an order that the order of the rows of its files does not change, as
        what is drawn at random hangs on it: by the items' ids, or by what is known of the items
        where ids are but the places of rows.
        """
        ids = pd.Series(self.items.index.astype(str), index=self.items.index)
        keys = {"length": ids.str.len(), "id": ids}
        # Such an id is the place of a row: by it, a file with its rows in another order
        # would get other random draws and other figures. What is known of the items
        # does not hang on their places.
        if ids.str.fullmatch(r"(row|text) \d+").all():
            means = dict[str, pd.Series]()
            for rows, who, value in (
                (self.labels, "rater", "label"),
                (self.verdicts, "judge", "verdict"),
            ):
                for (_, name), own in rows.groupby(["criterion", who]):
                    means[f"{value} {name}"] = (
                        own.groupby("item")[value].mean().reindex(self.items.index)
                    )
            known = pd.concat(
                [
                    self.items.drop(columns="group"),
                    pd.DataFrame(means, self.items.index),
                ],
                axis=1,
            )
            keys = {
                "known": pd.util.hash_pandas_object(known.astype(str), index=False),
                **keys,
            }
        items = self.items.loc[pd.DataFrame(keys).sort_values(list(keys)).index]
        place = pd.Series(np.arange(len(items)), index=items.index)
        ordered = []
        for rows, names in (
            (self.verdicts, ("criterion", "judge")),
            (self.labels, ("criterion", "rater")),
        ):
            by = {
                name: pd.factorize(rows[name], sort=name == "rater")[0]
                for name in names
            }
            by |= {"place": place.reindex(rows["item"]).to_numpy()}
            by |= {
                name: rows[name].to_numpy()
                for name in ("repeat", "order")
                if name in rows
            }
            turned = pd.DataFrame(by).sort_values(list(by), kind="stable").index
            ordered.append(
                rows.reset_index(drop=True).loc[turned].reset_index(drop=True)
            )
        return self.changed(verdicts=ordered[0], labels=ordered[1], items=items)

    def of(self, judge: str, criterion: str) -> JudgeView:
        """What one judge said on one criterion, beside the labels."""
        verdicts = self.verdicts[
            (self.verdicts["judge"] == judge)
            & (self.verdicts["criterion"] == criterion)
        ]
        labels = self.labels[self.labels["criterion"] == criterion]
        scale = self.criterion_scales.get(criterion, self.scale)
        whole = self.changed(scale=scale)
        return JudgeView(
            whole,
            judge,
            criterion,
            verdicts.reset_index(drop=True),
            labels.reset_index(drop=True),
        )


def counts_silence(judged: int, labelled: int) -> bool:
    """Whether labelled items without a row of a judge count as missing verdicts, as an empty cell
    does: where they are at most half of the labelled ones. A judge that has rows on fewer was asked
    about these alone.
    """
    return 2 * judged >= labelled > judged


@dataclass(frozen=True)
class JudgeView:
    """The verdicts of one judge on one criterion, and the labels on that criterion; `table` has
    everything else."""

    table: Evidence
    judge: str
    criterion: str
    verdicts: pd.DataFrame
    labels: pd.DataFrame
    _made: dict[Hashable, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def once(self, make: Callable[..., Made], *given: Hashable) -> Made:
        """Return `make(view, *given)`, and make it only the first time that somebody asks.

        Several examinations, and the answer, read the same: how far the judge agrees with people,
        what a program reaches that does not read.
        """
        key = (make, given)
        if key not in self._made:
            self._made[key] = make(self, *given)
        found: Made = self._made[key]
        return found

    def first(self) -> pd.DataFrame:
        """The rows of the lowest repeat of each item (both orders of a pairwise choice), with
        columns `group` and `code` (0 to n_groups - 1)."""
        return self._first.copy()

    @cached_property
    def _first(self) -> pd.DataFrame:
        # Its own lowest, not repeat 0: an item whose first repeat is not in the file
        # would have no verdict at all.
        lowest = self.verdicts.groupby("item", sort=False)["repeat"].transform("min")
        rows = self.verdicts[self.verdicts["repeat"] == lowest]
        groups = self.table.items["group"].reindex(rows["item"]).to_numpy()
        return self._coded(rows.assign(group=groups))

    def again(self) -> pd.DataFrame:
        """Each further verdict on an item, in the same order shown, beside the first one: columns
        `verdict` and `verdict_first`."""
        keys = ["item", "order"]
        rows = self.verdicts[self.verdicts["verdict"].notna()]
        first = self._first.dropna(subset=["verdict"])[
            [*keys, "repeat", "verdict", "code"]
        ]
        both = rows.merge(first, on=keys, suffixes=("", "_first"))
        return both[both["repeat"] > both["repeat_first"]]

    def pairs(self, *, missing: bool = False) -> pd.DataFrame:
        """Each first verdict beside the label of each rater: item, order, verdict, rater, label,
        group, code, weight.

        Raters are kept apart: an item with three labels has three rows, of weight 1/3 each, times
        how many items it `stands_for`. Labels without a verdict stay, with NaN, only if `missing`;
        those of items that the judge has no row for if these are at most half.
        """
        return self._pairs[missing].copy()

    @cached_property
    def _pairs(self) -> dict[bool, pd.DataFrame]:
        said = self.labels[["item", "rater", "label"]].dropna(subset=["label"])
        joined = self._first.merge(said, on="item")
        if counts_silence(*self.labelled):
            lost = said[~said["item"].isin(joined["item"])]
            lost = lost.assign(
                group=self.table.items["group"].reindex(lost["item"]).to_numpy(),
                verdict=np.nan,
            )
            joined = pd.concat([joined, lost.assign(order=None)], ignore_index=True)
        weighed = {}
        for missing, rows in {
            True: joined,
            False: joined[joined["verdict"].notna()],
        }.items():
            raters = rows.groupby(["item", "order"], sort=False, dropna=False)[
                "rater"
            ].transform("size")
            # An item with three labels has three rows, and would else count three times
            # as much as one with a single label.
            weight = 1 / raters
            if self.stands_for is not None:
                weight *= self.stands_for.reindex(rows["item"]).fillna(1.0).to_numpy()
            weighed[missing] = self._coded(rows.assign(weight=weight))
        return weighed

    @cached_property
    def stands_for(self) -> pd.Series | None:
        """How many of the judged items each labelled item stands for, by item and divided by their
        mean, where the labelled items were drawn by verdict or with known probabilities. None where
        each stands for as many.

        References:
            Horvitz and Thompson (1952), A generalization of sampling without replacement from a
            finite universe. doi:10.1080/01621459.1952.10483446
            Cochran (1977), Sampling Techniques, section 5A.13, for weights by the strata's sizes.
        """
        items = pd.Index(self.labels.loc[self.labels["label"].notna(), "item"].unique())
        if (
            self.table.selection == "probabilities"
            and "probability" in self.table.items
        ):
            found = 1 / self.table.items["probability"].reindex(items)
        elif self.table.selection == "by_verdict":
            said = (
                self._first.drop_duplicates("item")
                .set_index("item")["verdict"]
                .dropna()
            )
            every = said.value_counts()
            drawn = said[said.index.isin(items)].value_counts()
            found = said.reindex(items).map(every / drawn).dropna()
        else:
            return None
        known = bool(len(found)) and bool(np.isfinite(found).all())
        return found / found.mean() if known and found.nunique() > 1 else None

    @cached_property
    def unlabelled_verdicts(self) -> list[float]:
        """The verdicts that no labelled item has."""
        labelled = self.verdicts["item"].isin(
            self.labels.loc[self.labels["label"].notna(), "item"]
        )
        said = self.verdicts["verdict"]
        return sorted(set(said.dropna()) - set(said[labelled].dropna()))

    @cached_property
    def labelled(self) -> tuple[int, int]:
        """How many of the labelled items the table has this judge's verdict on, or an empty cell,
        and how many there are."""
        items = self.labels.loc[self.labels["label"].notna(), "item"].drop_duplicates()
        return int(items.isin(self.verdicts["item"]).sum()), len(items)

    def consensus(self) -> pd.Series:
        """One label per labelled item, by item: the mean of the raters (numeric, ordered), else the
        most frequent category (the lowest of several). For pictures and cuts; agreement is with
        each rater (`pairs`).
        """
        by_item = self.labels.dropna(subset=["label"]).groupby("item", sort=False)[
            "label"
        ]
        if self.table.kind in ("numeric", "ordered"):
            return by_item.mean()
        return by_item.agg(lambda values: float(values.mode().min()))

    @staticmethod
    def _coded(rows: pd.DataFrame) -> pd.DataFrame:
        codes, _ = pd.factorize(rows["group"])
        return rows.assign(code=codes.astype(np.intp)).reset_index(drop=True)


def settings_of_judges(
    judged: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[str, dict[str, str]]:
    """What each judge of a run was set to (`settings.NAME`), by its name; where it was asked in
    several ways, all of them. `judged`: of each judgment the judge and the provenance."""
    ways: dict[str, dict[str, set[str]]] = {}
    for judge, origin in judged:
        own = ways.setdefault(judge, {})
        for name, value in settings_of(origin).items():
            own.setdefault(name, set()).add(str(value))
    return {
        judge: {name: "\n".join(sorted(values)) for name, values in own.items()}
        for judge, own in ways.items()
    }


def settings_of(origin: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a judge (`settings.NAME`) that the provenance of a judgment names."""
    named = {
        "model": "model",
        "prompt": "prompt_hash",
        "program": "program_hash",
        "readout": "readout",
    }
    return {
        f"settings.{name}": str(origin[key])
        for name, key in named.items()
        if origin.get(key)
    }
