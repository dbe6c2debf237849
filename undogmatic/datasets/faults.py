"""Finds what is wrong between the rows of a verdict table: contradictions, copies, choices in
another numbering."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from undogmatic.datasets.cells import CONTRADICTION, read_cells
from undogmatic.datasets.doors import NONE, Door, spelled
from undogmatic.datasets.roles import CRITERION, GROUP, JUDGE, LABEL, RATER, REPEAT
from undogmatic.datasets.scales import NUMBERS, Scales, TableOptions, is_two
from undogmatic.datasets.vocabulary import FAILS, PASSES
from undogmatic.errors import DataError
from undogmatic.records.evidence import NOT_JUDGED, SLICE, counts_silence
from undogmatic.records.records import OVERALL
from undogmatic.records.results import Finding, Weight
from undogmatic.safety.outside import brief

EXAMPLES = 3
DENSE = 0.8
"""The share of numbers from the first to the last that must be there for them to count rows, some
of which were left out."""
COPIED = 10
"""From this many pairs on, labels that are all the verdicts may be the judge's own."""


def stands_alone(door: Door) -> Finding:
    """That nothing was taken to belong together, since somebody said so: a limit of the answer."""
    return Finding("table.group_none", {"option": door.typed(GROUP, NONE)})


def unique(
    rows: pd.DataFrame,
    keys: list[str],
    value: str,
    notes: list[Finding],
    problems: list[Finding],
    door: Door,
    repeats: bool = False,
) -> pd.DataFrame:
    """The rows without those that say the same again; where two contradict each other, neither
    counts. If `repeats` may be unnumbered, rows that come equally often for each item are numbered.
    """
    again = rows.duplicated(keys, keep=False).to_numpy()
    if not again.any():
        return rows
    # Before contradictions are looked for: a judge that was asked five times of each
    # item contradicts itself, and that is what repeats are there to show.
    if repeats and (numbered := _numbered(rows, keys)) is not None:
        told = {"k": int(numbered["repeat"].max()) + 1, **spelled(door, REPEAT)}
        notes.append(Finding("table.rows_are_repeats", told))
        return numbered
    first = ~rows.duplicated(keys).to_numpy()
    apart = (
        rows.groupby(keys, sort=False, dropna=False)[value].transform("nunique") > 1
    ).to_numpy()
    if apart.any():
        worst = rows[apart]
        same = worst[
            (worst[keys].fillna("") == worst.iloc[0][keys].fillna("")).all(axis=1)
        ]
        facts = {
            "n": int((apart & first).sum()),
            "item": worst["item"].iloc[0],
            "places": list(same["place"][:2]),
            **spelled(door, REPEAT if value == "verdict" else RATER),
        }
        problems.append(Finding(f"table.contradicting_{value}s", facts))
        rows = rows.assign(
            **{
                value: rows[value].mask(apart),
                "reason": rows["reason"].mask(apart, CONTRADICTION),
            }
        )
    if value == "verdict" and (n := int((again & ~apart & ~first).sum())):
        notes.append(Finding("table.same_twice", {"n": n}))
    # A verdict stands before an empty cell of the same key.
    ordered = rows.assign(_none=rows[value].isna()).sort_values("_none", kind="stable")
    return ordered[~ordered.duplicated(keys)].sort_index().drop(columns="_none")


def failures(cells: pd.DataFrame, name: str, places: np.ndarray) -> np.ndarray:
    """In which rows the judge failed, by the column of this name. Raises DataError for what is
    neither yes nor no."""
    held = read_cells(cells[name].to_numpy())
    known = (
        {None: False}
        | dict.fromkeys(FAILS | {"0"}, False)
        | dict.fromkeys(PASSES | {"1"}, True)
    )
    if odd := [code for code, word in enumerate(held.words) if word not in known]:
        place = places[int(np.argmax(held.codes == odd[0]))]
        cell = brief(held.written[odd[0]])
        raise DataError(f"{place}: `{name}` is {cell}; it must be true or false.")
    return np.array([known[word] for word in held.words], dtype=bool)[held.codes]


MOST_JUDGES = 200
"""Judges and criteria that are examined at once: each takes seconds, and each is compared with the
others."""
MOST_VOICES = 20_000
"""Judges times people: each verdict is held against each person's labels."""


def check_voices(
    verdicts: pd.DataFrame, labels: pd.DataFrame, place: str, door: Door
) -> None:
    """Raise DataError where there are so many judges, criteria or people that comparing them would
    not end."""
    judges = len(verdicts[["judge", "criterion"]].drop_duplicates())
    people = labels["rater"].nunique()
    if judges > MOST_JUDGES:
        what = (
            f"{judges:,} judges (counted for each criterion), and at most {MOST_JUDGES:,} are"
            " examined at once"
        )
        way = (
            f"Name some of them: {door.typed(JUDGE, 'NAME')}, or one criterion:"
            f" {door.typed(CRITERION, 'NAME')}"
        )
        column = door.typed(JUDGE, "COLUMN")
        raise DataError(
            f"{place}: {what}. {way}. If these are no judges, name their column: {column}."
        )
    if judges * people > MOST_VOICES:
        what = (
            f"{judges:,} judges and {people:,} people are more than {MOST_VOICES:,} pairs, the most"
            " that is examined"
        )
        way = (
            f"Name one judge: {door.typed(JUDGE, 'NAME')}. If the names are not those of people,"
            f" name their column: {door.typed(RATER, 'COLUMN')}"
        )
        raise DataError(f"{place}: {what}. {way}.")


def of_one_kind(
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    options: TableOptions,
    problems: list[Finding],
    door: Door,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The verdicts of the kind that the labels have, or else most of the verdicts, and the labels
    on the same criteria: words, pass and fail, numbers from 0 to 1 or numbers beyond are not read
    as one kind. Judges and criteria that are left out are named."""
    if options.kind is not None or options.scale is not None or verdicts.empty:
        return verdicts, labels
    kinds = {
        key: _family(rows["raw"])
        for key, rows in verdicts.groupby(["judge", "criterion"], sort=False)
    }
    sizes = verdicts.groupby(["judge", "criterion"], sort=False).size()
    counted: dict[str, int] = {}
    for key, kind in kinds.items():
        if kind is not None:
            counted[kind] = counted.get(kind, 0) + int(sizes[key])
    if len(counted) < 2:
        return verdicts, labels
    wanted = _family(labels["raw"])
    kept = wanted if wanted in counted else max(counted, key=lambda kind: counted[kind])
    left = [key for key, kind in kinds.items() if kind not in (kept, None)]
    names = [
        f"{judge} ({criterion})" if criterion != OVERALL else str(judge)
        for judge, criterion in left
    ]
    judge, criterion = left[0]
    # the same judge's other criteria are kept
    apart = any(key[0] == judge and key not in left for key in kinds)
    option = (
        door.typed(CRITERION, criterion) if apart else door.typed(JUDGE, str(judge))
    )
    facts = {"names": names[:EXAMPLES], "n": len(names), "option": option}
    problems.append(Finding("table.other_kind", facts))
    out = pd.MultiIndex.from_frame(verdicts[["judge", "criterion"]]).isin(left)
    verdicts = verdicts[~out].reset_index(drop=True)
    return verdicts, labels[
        labels["criterion"].isin(verdicts["criterion"].unique())
    ].reset_index(drop=True)


def _family(raw: pd.Series) -> str | None:
    """Which kind of verdict cells hold; None where it may be several (0 and 1 alone, or
    nothing)."""
    held = read_cells(raw.to_numpy())
    numbers = held.distinct_numbers()
    if not held.said or set(held.distinct_words()) <= {"0", "1"}:
        return None
    if held.numeric < NUMBERS:
        return "pass_fail" if is_two(held) else "words"
    return "share" if numbers[0] >= 0 and numbers[-1] <= 1 else "numbers"


def unaccounted(verdicts: pd.DataFrame, labels: pd.DataFrame, unread: int) -> int:
    """How many of the rows that could not be read are to be counted as missing verdicts, beside the
    gaps that are counted as such already.

    Where files are joined, or a row is one verdict, the item of a lost row is known from another
    row: its label is there, and no row of the judge. The lost rows explain such gaps if there are
    no more of them than lost rows. If there are more, some verdicts were never there, and nothing
    tells which: then all lost rows are counted.
    """
    if not unread:
        return 0
    labelled = labels.dropna(subset=["label"])[["item", "criterion"]].drop_duplicates()
    there = (
        verdicts[["item", "judge", "criterion"]]
        .drop_duplicates()
        .merge(labelled, on=["item", "criterion"])
    )
    judged = there.groupby(["judge", "criterion"], sort=False).size()
    of = labelled["criterion"].value_counts()
    gaps = int((verdicts["verdict"].isna() & (verdicts["reason"] == NOT_JUDGED)).sum())
    for (_, criterion), n in judged.items():
        gaps += (
            int(of[criterion] - n) if counts_silence(int(n), int(of[criterion])) else 0
        )
    return unread - gaps if gaps <= unread else unread


def compare(
    verdicts: pd.DataFrame,
    labels: pd.DataFrame,
    items: pd.DataFrame,
    scales: Scales,
    joined: bool,
    problems: list[Finding],
    door: Door,
) -> None:
    """Note what is wrong with labels and verdicts together; `joined` if they are from different
    files."""
    judged, labelled = set(verdicts["item"]), set(labels["item"])
    if lost := sorted(labelled - judged):
        facts = {"n": len(lost), "examples": lost[:EXAMPLES], "total": len(labelled)}
        problems.append(Finding("table.labels_without_verdict", facts))
    if joined and labelled and (rest := sorted(judged - labelled)):
        facts = {"n": len(rest), "examples": rest[:EXAMPLES], "total": len(judged)}
        problems.append(Finding("table.verdicts_without_label", facts))
    if labels.empty:
        problems.append(Finding("table.no_labels", spelled(door, LABEL)))
        return
    if labels["label"].nunique() == 1:
        value = float(labels["label"].iloc[0])
        shown = scales.categories[int(value)] if scales.categories else f"{value:g}"
        problems.append(Finding("table.one_class", {"label": shown, "n": len(labels)}))
    for judge, own in verdicts.groupby("judge", sort=False):
        problems += counting(str(judge), own, items)
        both = (
            own[["item", "criterion", "verdict"]]
            .merge(
                labels[["item", "criterion", "rater", "label"]],
                on=["item", "criterion"],
            )
            .dropna()
        )
        for rater, rows in both.groupby("rater", sort=False):
            if copied := _copied(
                rows["verdict"].to_numpy(), rows["label"].to_numpy(), scales.kind
            ):
                facts = {"judge": str(judge), "rater": str(rater), "n": len(rows)}
                problems.append(Finding(f"table.{copied}", facts))


def _numbered(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame | None:
    """The rows with their repeats numbered in the order of the rows, if each item stands equally
    often in them and not always with the same verdict."""
    sizes = rows.groupby(list(keys), sort=False, dropna=False).size()
    differs = (
        rows.groupby(list(keys), sort=False, dropna=False)["verdict"].nunique() > 1
    )
    # As often for each item, or some rows are copies; and not always the same, or all
    # of them are.
    if sizes.nunique() != 1 or not differs.any() or len(sizes) < 2:
        return None
    return rows.assign(
        repeat=rows.groupby(list(keys), sort=False, dropna=False).cumcount()
    )


def counting(judge: str, own: pd.DataFrame, items: pd.DataFrame) -> list[Finding]:
    """Say that the verdicts of a judge only count rows, where they do: the rows may have been
    sorted by anything, the labels too."""
    first = own.dropna(subset=["verdict"]).drop_duplicates("item")
    slices = (
        items.loc[first["item"], name] for name in items if str(name).startswith(SLICE)
    )
    numbers = [
        column.to_numpy() for column in slices if pd.api.types.is_numeric_dtype(column)
    ]
    if not counts_rows(
        first["verdict"].to_numpy(dtype=np.float64), first["item"], numbers
    ):
        return []
    values = [f"{value:g}" for value in own["verdict"][:EXAMPLES]]
    facts = {"judge": judge, "values": values}
    return [Finding("table.counts_rows", facts, weight=Weight.REVERSES)]


def counts_rows(
    verdicts: np.ndarray,
    ids: Sequence[str] | pd.Series,
    columns: Sequence[np.ndarray] = (),
) -> bool:
    """Whether verdicts only count rows: as numbers of rows do, they go up or down by one step from
    row to row, of which some may be missing; or they are what the number in the id, or in a column
    that counts, gives by a fixed rule, but for rounding. Verdicts and columns in the order of the
    rows, with the ids of the items."""
    found = np.unique(verdicts)
    if len(verdicts) < COPIED or len(found) * 2 < len(verdicts):
        return False
    # The smallest difference between two verdicts is the step of the scale. Numbers of
    # rows go on by it from row to row, and nobody's judgment does.
    step = float(np.diff(found).min())
    steps = np.diff(verdicts) * np.sign(verdicts[-1] - verdicts[0]) / step
    whole = np.allclose(steps, np.round(steps), rtol=0, atol=1e-6)
    if whole and (steps > 0.5).all() and steps.sum() * DENSE <= len(steps):
        return True
    in_ids = [re.findall(r"\d+", str(each))[-1:] for each in ids]
    counting = (
        [np.array([float(number) for (number,) in in_ids])] if all(in_ids) else []
    )
    for numbers in (*counting, *(own.astype(np.float64) for own in columns)):
        distinct = np.unique(numbers)
        if len(distinct) < len(numbers) or (np.ptp(distinct) + 1) * DENSE > len(
            distinct
        ):
            continue  # it does not count
        line = np.polyval(np.polyfit(numbers, verdicts, 1), numbers)
        if np.abs(verdicts - line).max() <= step:
            return True
    return False


def _copied(verdicts: np.ndarray, labels: np.ndarray, kind: str) -> str | None:
    """Whether the labels may be the judge's own: they are all the same, or one is the other on
    another scale."""
    if (
        len(verdicts) < COPIED
        or len(np.unique(labels)) < 2
        or len(np.unique(verdicts)) < 2
    ):
        return None
    if (verdicts == labels).all():
        return "identical"
    if (
        kind == "numeric"
        and len(np.unique(labels)) > 2
        and abs(np.corrcoef(verdicts, labels)[0, 1]) > 1 - 1e-12
    ):
        return "affine"
    return None
