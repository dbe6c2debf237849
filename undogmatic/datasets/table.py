"""Reads files of verdicts that were made elsewhere, with or without labels, as one verdict table.

Files with the same columns are one after the other; others are joined by the ids of their items. What was recognised
and what is wrong is told in findings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.datasets import cells as said
from undogmatic.datasets.cells import Cells, read_cells
from undogmatic.datasets.columns import SETTINGS, Columns, TableOptions, find_columns, order_words, quoted, tokens
from undogmatic.datasets.frames import Frame, read_frame
from undogmatic.datasets.scales import Declared, Scales, find_scales
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Finding
from undogmatic.records.verdict_table import (
    AS_GIVEN,
    LABEL_COLUMNS,
    SLICE,
    SWAPPED,
    VERDICT_COLUMNS,
    Selection,
    VerdictTable,
)
from undogmatic.safety.outside import brief

__all__ = ["TableOptions", "read_table"]
EXAMPLES = 3
DEFAULT = TableOptions()
_FAULTS = (said.FORMULA, said.DATE, said.UNREADABLE, said.REFUSAL, said.ERROR)


def read_table(
    sources: str | Path | pd.DataFrame | Sequence[str | Path | pd.DataFrame], options: TableOptions = DEFAULT
) -> VerdictTable:
    """Read verdicts, labels and what is known of the items from files or data frames. Raises ConfigError where an
    option is wrong or a guess would be doubtful, DataError where nothing can be read."""
    given = [sources] if isinstance(sources, str | Path | pd.DataFrame) else list(sources)
    if not given:
        raise ConfigError("no file is named; name a table of verdicts.")
    selection, probability = _selection(options.labels)
    return _Builder([read_frame(source) for source in given], options, selection, probability).table()


def _selection(labels: str) -> tuple[Selection, str | None]:
    """How the labelled items were chosen, and the column of probabilities."""
    kind, _, column = labels.partition(":")
    known: dict[str, Selection] = {"unknown": "unknown", "all": "all", "random": "random", "by-verdict": "by_verdict"}
    if kind in known and not column:
        return known[kind], None
    if kind == "probabilities" and column:
        return "probabilities", column
    ways = "all, random, by-verdict, probabilities:COLUMN or unknown"
    raise ConfigError(f"--labels is {brief(labels)}; it says how the labelled items were chosen: {ways}.")


class _Builder:
    """Puts a verdict table together, step by step."""

    def __init__(
        self, frames: Sequence[Frame], options: TableOptions, selection: Selection, probability: str | None
    ) -> None:
        self.options, self.selection, self.probability = options, selection, probability
        self.frames = _aligned(frames, options)
        self.joined = len({frozenset(frame.cells.columns) for frame in self.frames}) > 1
        self.cells = pd.concat([frame.cells for frame in self.frames], ignore_index=True, sort=False).astype(object)
        self.cells = self.cells.where(self.cells.notna(), None)
        self.file = np.repeat(np.arange(len(frames)), [len(frame.cells) for frame in self.frames])
        self.places = [f"{frame.name}:{line}" for frame in self.frames for line in frame.lines]
        self.notes: list[Finding] = [note for frame in self.frames for note in frame.notes]
        self.problems: list[Finding] = [problem for frame in self.frames for problem in frame.problems]
        self.columns: Columns = find_columns(self.cells, options)
        if self.joined and self.columns.item is None:
            raise ConfigError(
                "the files have different columns, and no column with the ids of the items by which they could be "
                f"joined. Columns: {', '.join(map(str, self.cells.columns))}. Name it: --item COLUMN."
            )

    def table(self) -> VerdictTable:
        """The verdict table."""
        columns = self.columns
        self.systems = [self._text(name) for name in columns.systems]
        self.texts = [self._text(name) for name in columns.texts]
        item = self._items()
        verdicts = self._stack(item, columns.verdicts, columns.judges, "judge")
        labels = self._stack(item, columns.labels, columns.rater, "rater")
        of_verdicts, of_labels = read_cells(verdicts["raw"].to_numpy()), read_cells(labels["raw"].to_numpy())
        if not of_verdicts.said and not of_labels.said:
            shown = ", ".join(f"`{name}`" for name in (*columns.verdicts, *columns.labels))
            raise DataError(f"{self.frames[0].name}: {shown} is empty in every row. Name other columns with --judge.")
        options = self.options
        declared = Declared(options.kind, options.scale, options.human_scale, options.passes)
        scales = find_scales(of_verdicts, of_labels, declared, columns.pairwise)
        self.notes += scales.notes
        verdicts["verdict"], verdicts["reason"] = self._values(verdicts, of_verdicts, scales, "verdicts")
        labels["label"], reasons = self._values(labels, of_labels, scales, "labels")
        labels = labels[[reason not in (said.EMPTY, said.NOT_APPLICABLE) for reason in reasons]]
        if scales.kind == "pairwise":
            self._orient(verdicts, labels)
        verdicts = self._unique(verdicts, ["item", "judge", "criterion", "repeat", "order"], "verdict")
        labels = self._unique(labels, ["item", "criterion", "rater"], "label").dropna(subset=["label"])
        items = self._about(item)
        self._compare(verdicts, labels, scales)
        settings = self._settings()
        table = VerdictTable(
            kind=scales.kind,
            verdicts=_plain(verdicts, VERDICT_COLUMNS),
            labels=_plain(labels, LABEL_COLUMNS),
            items=items,
            scale=scales.ends,
            categories=scales.categories,
            selection=self.selection,
            sources={frame.name: frame.digest for frame in self.frames},
            settings=settings,
        )
        return dataclasses.replace(table, read=(*columns.notes, *self.notes), problems=tuple(self.problems))

    # Columns as arrays

    def _text(self, name: str) -> np.ndarray:
        """A column as texts; None where a cell is empty."""
        held = self.cells[name].to_numpy(dtype=object)
        return np.array([None if cell is None or cell == "" else str(cell) for cell in held], dtype=object)

    def _present(self, name: str) -> np.ndarray:
        """The rows whose file has the column."""
        return np.array([name in frame.cells.columns for frame in self.frames], dtype=bool)[self.file]

    def _items(self) -> np.ndarray:
        """The id of the item of each row: its column, with the system where one id stands for several of them."""
        columns = self.columns
        if columns.item is None:
            if columns.judges is None and columns.rater is None and columns.repeat is None and columns.order is None:
                return np.array([f"row {n}" for n in range(1, len(self.cells) + 1)], dtype=object)
            if not self.texts:
                raise ConfigError(
                    "no column with the ids of the items was recognised, and a file with several rows per item needs "
                    f"one. Columns: {', '.join(map(str, self.cells.columns))}. Name it: --item COLUMN."
                )
            keys = pd.DataFrame(dict(enumerate([*self.texts, *self.systems]))).fillna("")
            self.notes.append(Finding("table.item_is_text", {"columns": [f"`{name}`" for name in columns.texts]}))
            return np.array([f"text {n + 1}" for n in keys.groupby(list(keys), sort=False).ngroup()], dtype=object)
        ids = self._text(columns.item)
        lacking = np.array([each is None for each in ids], dtype=bool)
        if lacking.any():
            first = self.places[int(np.argmax(lacking))]
            self.problems.append(
                Finding("table.no_id", {"n": int(lacking.sum()), "column": columns.item, "place": first})
            )
        self.case = ids
        if self.systems:
            keys = pd.DataFrame({"id": ids} | {str(n): system for n, system in enumerate(self.systems)})
            several = keys.dropna().drop_duplicates().groupby("id").size().max()
            if several > 1:
                whole = keys["id"].astype(object)
                for n in range(len(self.systems)):
                    whole = whole + "/" + keys[str(n)].fillna("?")
                self.notes.append(
                    Finding("table.item_and_system", {"item": columns.item, "systems": list(columns.systems)})
                )
                whole[lacking] = None
                return whole.to_numpy(dtype=object)
        return ids

    def _stack(self, item: np.ndarray, columns: Sequence[str], names: str | None, who: str) -> pd.DataFrame:
        """One row per verdict or label: those of one column after the other."""
        own = self.columns
        criterion = self._named(own.criterion, OVERALL)
        repeat = self._repeats()
        order = self._orders()
        confidence = self._confidence()
        parts = []
        for column in columns:
            rows = np.flatnonzero(self._present(column) & np.array([each is not None for each in item], dtype=bool))
            name = self._named(names, column)[rows] if names is not None else column
            parts.append(
                pd.DataFrame(
                    {
                        "item": item[rows],
                        who: name,
                        "criterion": criterion[rows],
                        "repeat": repeat[rows],
                        "order": order[rows],
                        "confidence": confidence[rows],
                        "raw": self.cells[column].to_numpy(dtype=object)[rows],
                        "row": rows,
                    }
                )
            )
        if not parts:
            empty = {name: pd.Series(dtype=object) for name in ("item", who, "criterion", "repeat", "order", "raw")}
            return pd.DataFrame(empty | {"confidence": pd.Series(dtype=float), "row": pd.Series(dtype=int)})
        return pd.concat(parts, ignore_index=True)

    def _named(self, column: str | None, default: str) -> np.ndarray:
        if column is None:
            return np.full(len(self.cells), default, dtype=object)
        return np.array([default if each is None else each for each in self._text(column)], dtype=object)

    def _repeats(self) -> np.ndarray:
        if self.columns.repeat is None:
            return np.zeros(len(self.cells), dtype=int)
        held = read_cells(self.cells[self.columns.repeat].to_numpy())
        whole = held.numeric == 1 and held.said == len(held)
        keys = held.numbers[held.codes] if whole else self._named(self.columns.repeat, "")
        return np.asarray(pd.factorize(keys, sort=True)[0])

    def _orders(self) -> np.ndarray:
        name = self.columns.order
        if name is None:
            return np.full(len(self.cells), None, dtype=object)
        held = read_cells(self.cells[name].to_numpy())
        known = order_words(" ".join(tokens(name)), held.distinct_words())
        if known is None:
            shown = ", ".join(list(held.distinct_words())[:6])
            raise ConfigError(f"--order {quoted(name)}: its cells are {shown}; write as_given and swapped.")
        return np.array([None if w is None else (AS_GIVEN, SWAPPED)[known[w]] for w in held.words], dtype=object)[
            held.codes
        ]

    def _confidence(self) -> np.ndarray:
        if self.columns.confidence is None:
            return np.full(len(self.cells), np.nan)
        return read_cells(self.cells[self.columns.confidence].to_numpy()).values()[0]

    # Values

    def _values(self, rows: pd.DataFrame, held: Cells, scales: Scales, what: str) -> tuple[np.ndarray, np.ndarray]:
        """The values on the scale of the table, and why there is none; faults are told."""
        mapping = scales.of_verdicts if what == "verdicts" else scales.of_labels
        values, reasons = held.values(mapping)
        if what == "labels" and mapping is None:
            values = values * scales.mapped[0] + scales.mapped[1]
        if scales.ends is not None:
            outside = (values < scales.ends[0] - 1e-9) | (values > scales.ends[1] + 1e-9)
            values, reasons = np.where(outside, np.nan, values), np.where(outside, said.OFF_SCALE, reasons)
        raw, at = rows["raw"].to_numpy(), rows["row"].to_numpy()
        for reason in (*_FAULTS, said.OFF_SCALE):
            where = np.flatnonzero(reasons == reason)
            if len(where):
                examples = list(dict.fromkeys(brief(raw[n], 40) for n in where[:50]))[:EXAMPLES]
                facts = {"n": len(where), "what": what, "examples": examples, "place": self.places[at[where[0]]]}
                self.problems.append(Finding(f"table.{reason}", facts))
        return values, reasons

    def _orient(self, verdicts: pd.DataFrame, labels: pd.DataFrame) -> None:
        """Put choices of outputs as shown into the given numbering."""
        shown = self.options.choices == "shown"
        if self.columns.order is None:
            self.problems.append(Finding("table.no_order"))
            return
        swapped = (verdicts["order"] == SWAPPED).to_numpy()
        if shown:
            values = verdicts["verdict"].to_numpy()
            verdicts["verdict"] = np.where(swapped & (values < 2), 1 - values, values)
        if self.options.choices is None:
            self.notes.append(Finding("table.choices_given", {"order": self.columns.order}))

    def _unique(self, rows: pd.DataFrame, keys: list[str], value: str) -> pd.DataFrame:
        """The rows without those that say the same again; where two contradict each other, neither counts."""
        rows = rows.assign(place=np.array(self.places, dtype=object)[rows["row"].to_numpy(dtype=int)])
        again = rows.duplicated(keys, keep=False)
        if not again.any():
            return rows
        twice = rows[again]
        grouped = twice.groupby(keys, sort=False, dropna=False)[value]
        apart = (grouped.transform("nunique") > 1).to_numpy()
        first = ~rows.duplicated(keys)
        if apart.any():
            worst = twice[apart]
            key = worst.iloc[0]
            same = worst[(worst[keys].fillna("") == key[keys].fillna("")).all(axis=1)]
            facts = {"n": int(first[worst.index].sum()), "item": key["item"], "places": list(same["place"][:2])}
            self.problems.append(Finding(f"table.contradicting_{value}s", facts))
            rows.loc[worst.index, value] = np.nan
            if "reason" in rows:
                rows.loc[worst.index, "reason"] = said.CONTRADICTION
        # A verdict stands before an empty cell of the same key.
        ordered = rows.assign(_none=rows[value].isna()).sort_values("_none", kind="stable")
        kept = ordered[~ordered.duplicated(keys)].sort_index().drop(columns="_none")
        if value == "verdict" and not apart.all():
            self.notes.append(Finding("table.same_twice", {"n": len(rows) - len(kept)}))
        return kept

    # Items

    def _about(self, item: np.ndarray) -> pd.DataFrame:
        """What is known of each item: the first that a row says of it."""
        columns = self.columns
        facts: dict[str, Any] = {"item": item}
        names = ("text",) if len(self.texts) == 1 else ("text_1", "text_2")
        facts |= dict(zip(names, self.texts, strict=False)) if self.texts else {}
        names = ("system",) if len(self.systems) == 1 else ("system_1", "system_2")
        facts |= dict(zip(names, self.systems, strict=False)) if self.systems else {}
        for name in map(str, self.cells.columns):
            if name not in columns.used():
                facts[SLICE + name] = _slice(self.cells[name])
        if self.probability is not None:
            if self.probability not in self.cells:
                listed = ", ".join(map(str, self.cells.columns))
                raise ConfigError(f"--labels probabilities:{self.probability}: no such column. Columns: {listed}.")
            facts["probability"] = self._probabilities(self.probability)
            facts.pop(SLICE + self.probability, None)
        group, how = self._group(item)
        facts["group"] = group
        table = pd.DataFrame(facts)
        table = table[table["item"].notna()]
        items = table.groupby("item", sort=False).first()
        items["group"] = items["group"].fillna(pd.Series(items.index, index=items.index)).astype(str)
        if how is not None and items["group"].nunique() < len(items):
            facts_of = {"column": how, "groups": int(items["group"].nunique()), "n": len(items)}
            self.notes.append(Finding("table.group_text" if how == "" else "table.group", facts_of))
        return items

    def _group(self, item: np.ndarray) -> tuple[np.ndarray, str | None]:
        """What belongs together, and from which column that is known ("": from the texts; None: nothing is)."""
        columns = self.columns
        if columns.group is not None:
            return self._text(columns.group), columns.group
        if columns.item is not None and self.systems and (self.case != item).any():
            return self.case, columns.item
        if columns.context is not None:
            same = self._text(columns.context)
            return _by_text([same]), columns.context
        if self.texts:
            return _by_text(self.texts), ""
        return item, None

    def _probabilities(self, column: str) -> np.ndarray:
        values = read_cells(self.cells[column].to_numpy()).values()[0]
        wrong = ~((values > 0) & (values <= 1)) & ~np.isnan(values)
        if wrong.any():
            n = int(np.argmax(wrong))
            raise DataError(f"{self.places[n]}: `{column}` is {values[n]:g}; a probability is above 0 and at most 1.")
        return values

    def _settings(self) -> dict[str, dict[str, str]]:
        """What columns of settings say of each judge, where they say one thing."""
        own = self.columns
        if not own.settings:
            return {}
        judge = self._named(own.judges, "") if own.judges is not None else None
        names = own.verdicts if judge is None else list(dict.fromkeys(judge))
        found: dict[str, dict[str, str]] = {}
        for name in names:
            rows = np.ones(len(self.cells), dtype=bool) if judge is None else judge == name
            for column in own.settings:
                values = {cell for cell in self._text(column)[rows] if cell is not None}
                if len(values) == 1:
                    found.setdefault(name, {})[SETTINGS[" ".join(tokens(column))]] = values.pop()
        return found

    # What is wrong with labels and verdicts together

    def _compare(self, verdicts: pd.DataFrame, labels: pd.DataFrame, scales: Scales) -> None:
        judged, labelled = set(verdicts["item"]), set(labels["item"])
        if lost := sorted(labelled - judged):
            facts = {"n": len(lost), "examples": lost[:EXAMPLES], "total": len(labelled)}
            self.problems.append(Finding("table.labels_without_verdict", facts))
        if self.joined and (rest := sorted(judged - labelled)) and labelled:
            facts = {"n": len(rest), "examples": rest[:EXAMPLES], "total": len(judged)}
            self.problems.append(Finding("table.verdicts_without_label", facts))
        if labels.empty:
            self.problems.append(Finding("table.no_labels"))
            return
        if labels["rater"].nunique() == 1:
            self.notes.append(Finding("table.one_rater", {"rater": str(labels["rater"].iloc[0])}))
        if labels["label"].nunique() == 1:
            value = float(labels["label"].iloc[0])
            shown = scales.categories[int(value)] if scales.categories else f"{value:g}"
            self.problems.append(Finding("table.one_class", {"label": shown, "n": len(labels)}))
        for judge, own in verdicts[["judge", "item", "criterion", "verdict"]].groupby("judge", sort=False):
            both = own.merge(labels, on=["item", "criterion"]).dropna(subset=["verdict", "label"])
            for rater, rows in both.groupby("rater", sort=False):
                if copied := _copied(rows["verdict"].to_numpy(), rows["label"].to_numpy(), scales.kind):
                    facts = {"judge": str(judge), "rater": str(rater), "n": len(rows)}
                    self.problems.append(Finding(f"table.{copied}", facts))


def _plain(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The columns, those of texts as objects with None where there is none."""
    rows = rows[list(columns)].reset_index(drop=True)
    for name in columns:
        if name in ("verdict", "label", "confidence"):
            rows[name] = rows[name].astype(float)
        elif name == "repeat":
            rows[name] = rows[name].astype(int)
        else:
            held = rows[name].astype(object)
            rows[name] = held.where(held.notna(), None)
    return rows


def _copied(verdicts: np.ndarray, labels: np.ndarray, kind: str) -> str | None:
    """Whether the labels may be the judge's own: they are all the same, or one is the other on another scale."""
    if len(verdicts) < 10 or len(np.unique(labels)) < 2 or len(np.unique(verdicts)) < 2:
        return None
    if (verdicts == labels).all():
        return "identical"
    if kind == "numeric" and len(np.unique(labels)) > 2 and abs(np.corrcoef(verdicts, labels)[0, 1]) > 1 - 1e-12:
        return "affine"
    return None


def _by_text(texts: Sequence[np.ndarray]) -> np.ndarray:
    """One name per distinct text (or pair of texts), compared without case and spaces; None where there is none."""
    plain = ["\0".join(" ".join(part.split()).casefold() for part in row if part) for row in zip(*texts, strict=True)]
    codes, _ = pd.factorize(np.array(plain, dtype=object))
    return np.array(
        [f"text {code + 1}" if text else None for code, text in zip(codes, plain, strict=True)], dtype=object
    )


def _slice(held: pd.Series) -> np.ndarray:
    """A column as a slice: numbers where nearly all cells are, else texts."""
    numbers = pd.to_numeric(held.replace("", None), errors="coerce")
    filled = held.notna() & (held != "")
    if filled.any() and numbers[filled].notna().all():
        return numbers.to_numpy(dtype=float)
    return np.array([None if cell is None or cell == "" else str(cell) for cell in held], dtype=object)


def _aligned(frames: Sequence[Frame], options: TableOptions) -> list[Frame]:
    """The frames with one name for the column of ids, and with columns of verdicts or labels that two different files
    call the same told apart by the files' names."""
    if len({frozenset(frame.cells.columns) for frame in frames}) == 1:
        return list(frames)
    items = [find_item(frame.cells, options) for frame in frames]
    first = next((name for name in items if name is not None), None)
    aligned = []
    for frame, item in zip(frames, items, strict=True):
        names = {item: first} if item is not None and first is not None and first not in frame.cells else {}
        aligned.append(frame._replace(cells=frame.cells.rename(columns=names)))
    return aligned


def find_item(cells: pd.DataFrame, options: TableOptions) -> str | None:
    """The column of ids in a file."""
    from undogmatic.datasets.columns import NAMES

    known = {" ".join(tokens(str(name))): str(name) for name in reversed(list(cells.columns))}
    if options.item is not None and options.item in cells:
        return options.item
    return next((known[name] for name in NAMES["item"] if name in known), None)
