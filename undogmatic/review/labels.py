"""Reads the sheets that people fill in, checks their labels one by one, and keeps those of a run in
`RUN/labels.jsonl`, which only ever grows; beside it lie the run's items with their labels as
dataset files: `dataset=texts dataset.path=RUN/with_labels.jsonl`."""

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from pydantic import ValidationError

from undogmatic.datasets.cells import number_of
from undogmatic.datasets.labels import seem_rescaled
from undogmatic.datasets.rows import empty, table_file, table_rows
from undogmatic.datasets.scales import typed_scale
from undogmatic.errors import ConfigError, DataError
from undogmatic.records.labels import IN_VIEW, Filled, Label
from undogmatic.records.records import OVERALL, Item, LabelScale, first_problem
from undogmatic.records.results import Finding
from undogmatic.records.rubric import NumericScale, Rubric
from undogmatic.runs.index import read_records
from undogmatic.safety import files
from undogmatic.safety.outside import brief, listed, opened

FILE, ALL, LABELLED = "labels.jsonl", "with_labels.jsonl", "labelled.jsonl"
NAMELESS = "anonymous"
SHOWN, LONGEST_PROBLEM = 30, 600  # problems listed at once, and the characters of each
NEEDED = ("item_id", "label")


class Checked(NamedTuple):
    """Rows without a problem: what is new, what was there already, and how many have no label (or
    only a comment)."""

    new: list[Label]
    known: list[Label]
    blank: int
    only_comment: int
    random: int  # items that were drawn at random
    random_labelled: int


def read_sheet(
    path: str, columns: Mapping[str, str] | None = None, sheet: str | None = None
) -> tuple[Path, list[Filled], list[Finding]]:
    """Read a filled table of any kind that dataset=my reads, and say how it was read. Columns that
    are not called NEEDED are recognised, or named by `columns`. Raises ConfigError where there is
    no such file or it is not clear which column is meant, DataError naming file and line."""
    from undogmatic.datasets.doors import IMPORT
    from undogmatic.datasets.frames import cells_of
    from undogmatic.datasets.items import find_labels

    file, notes = table_file(path, "LABELS"), list[Finding]()
    with opened(file) as content:
        about = {
            "file": file.name,
            "file_hash": hashlib.file_digest(content, "sha256").hexdigest(),
        }
    rows = table_rows(file, (), False, sheet, notes, door=IMPORT)
    found = find_labels(
        cells_of([row for _, row in rows], flat=False), str(file), dict(columns or {})
    )
    renamed = {names[0]: role for role, names in found.columns.items() if names}
    loose, filled = file.suffix not in (".json", ".jsonl"), []
    for line, row in rows:
        cells = {renamed.get(name, name): cell for name, cell in row.items()}
        if missing := [column for column in NEEDED if column not in cells]:
            fields = listed(list(cells)) or "none"
            raise DataError(
                f"{file}:{line}: the field `{missing[0]}` is missing; fields: {fields}."
            )
        filled.append(
            Filled(f"{file}:{line}", cells, about | {"line": line}, quoted=loose)
        )
    return file, filled, [*notes, *found.notes]


def item_of(row: Filled, known: Container[str]) -> str:
    """The item id of a row: in CSV one that would run as a formula was written with an apostrophe
    before it, which a spreadsheet keeps or removes."""
    cell = str(row.cells["item_id"])
    if not row.quoted:
        return cell
    written, bare = files.as_written(cell), cell.removeprefix("'")
    # a sheet of ours, or of their own
    meant = (written, cell, bare) if row.cells.get("queue") else (cell, written)
    return next((one for one in meant if one in known), cell)


def number(value: Any) -> float | None:
    """The finite number that a cell holds, or None."""
    if isinstance(value, str):
        return number_of(value.strip())
    return (
        float(value) if type(value) in (int, float) and math.isfinite(value) else None
    )


def parse_scale(text: str) -> tuple[float, float]:
    """The ends of the scale on which labels were given: "0-10" -> (0, 10). Raises ConfigError."""
    if (ends := typed_scale(text, "--scale")[0]) is None:
        raise ConfigError(
            f"--scale is {brief(text)}; give the lowest and the highest label, e.g. --scale 0-10."
        )
    return ends


def check(
    source: str,
    rows: Iterable[Filled],
    *,
    items: Collection[str],
    rubric: Rubric,
    before: Sequence[Label],
    scale: tuple[float, float] | None,
    labeller: str | None,
    revise: bool,
) -> Checked:
    """Check every row of a filled file or of what MLflow holds.

    Args:
        source: The file or the store, for messages.
        rows: Its rows; one without a label is skipped. A label that MLflow shows as an earlier
            import put it there, or took it from there, is known; `scale` is not applied to it.
        items: The ids that the run judged.
        rubric: Gives the scale.
        before: The run's labels so far.
        scale: The scale on which labels were given; None is the rubric's own, and labels that look
            as if they were on another are then refused.
        labeller: Whose labels they are where the row does not say (and no earlier import did); None
            is NAMELESS.
        revise: A label that differs from an earlier one of the same labeller replaces it.
    Raises:
        DataError: Every problem with its place (the first SHOWN of them).
    """
    stand = {(one.item_id, one.labeller): one for one in before}
    named = {
        one.assessment: one.labeller for one in before if one.assessment is not None
    }
    labelled, now = {one.item_id for one in before}, time.time()
    problems: list[str] = []
    here: dict[tuple[str, str], Label] = {}
    # as numbers, to see whether they seem to be on another scale
    numbers: list[float] = []
    blank = only_comment = 0
    drawn: dict[str, bool] = {}  # items drawn at random: whether labelled
    for row in rows:
        item = item_of(row, items)
        probability = number(row.cells.get("inclusion_probability"))
        # A probability of 1 is that of items that were sure to be asked for: they were
        # not drawn.
        if probability is not None and probability < 1:
            drawn.setdefault(item, item in labelled)
        if empty(row.cells["label"]):
            blank += 1
            only_comment += not empty(row.cells.get("comment"))
            continue
        typed = "" if empty(cell := row.cells.get("labeller")) else str(cell).strip()
        who = (
            typed or named.get(row.origin.get("assessment", "")) or labeller or NAMELESS
        )
        key, wrong = (item, who), list[str]()
        earlier = stand.get(key)
        if earlier is not None and _still_shown(row, earlier, rubric):
            label: Label | None = earlier.model_copy(update=dict(row.origin))
        else:
            label = _label(
                row, item, items, rubric, scale, wrong, labeller=who, imported=now
            )
            numbers += [] if label is None else [label.label]
        if label is not None:
            wrong = _contradicts(label, here.get(key), None if revise else earlier)
            here.setdefault(key, label)
            if item in drawn:
                drawn[item] = True
        problems += [f"{row.place}: {problem[:LONGEST_PROBLEM]}" for problem in wrong]
    if (
        scale is None
        and not problems
        and (odd := seem_rescaled(numbers, rubric)) is not None
    ):
        other = (
            f"--scale 0-{(rubric.maximum - rubric.minimum) / 10:g} maps them (or "
            "--scale 1-5, ...)"
        )
        same = f"If they are meant as they are: --scale {rubric.minimum:g}-{rubric.maximum:g}."
        problems.append(
            f"{source}: {odd} If they are on another scale: {other}. {same}"
        )
    # All or nothing: half of a sheet imported would have to be told from the other half
    # when it comes again, mended.
    if problems:
        more = (
            f"\n... and {len(problems) - SHOWN} more problems."
            if len(problems) > SHOWN
            else ""
        )
        raise DataError("\n".join(problems[:SHOWN]) + more + "\nNothing was imported.")
    known = {
        key
        for key, one in here.items()
        if key in stand and stand[key].label == one.label
    }
    again = [stand[key] for key in here if key in known]
    new = [one for key, one in here.items() if key not in known]
    return Checked(new, again, blank, only_comment, len(drawn), sum(drawn.values()))


def read(folder: Path) -> list[Label]:
    """The labels of a run, the last one per item and labeller. Raises DataError naming file and
    line."""
    path = folder / FILE
    labels = read_records(path, Label) if path.is_file() else ()
    return list({(label.item_id, label.labeller): label for label in labels}.values())


def append(folder: Path, labels: Iterable[Label]) -> None:
    """Add labels to the run's file, all at once, each on its own line."""
    path, lines = folder / FILE, "\n".join(label.model_dump_json() for label in labels)
    if lines:
        with files.Log(path) as file:
            file.add(lines if files.ends_whole(path) else f"\n{lines}")


def _still_shown(row: Filled, earlier: Label, rubric: Rubric) -> bool:
    """Whether a trace shows an earlier label unchanged: as an import put it there, or as it was
    when it was taken."""
    if "trace" not in row.origin:
        return False
    there = _given(row, rubric)
    with contextlib.suppress(ValueError):
        if rubric.read(there) == earlier.label:
            return True
    return earlier.trace is not None and there == earlier.given


def _given(row: Filled, rubric: Rubric) -> Any:
    """The label as filled in: a number where it is one, else (a category's name) as it stands."""
    cell = row.cells["label"]
    if not isinstance(rubric.scale, NumericScale) and cell in rubric.scale.categories:
        return cell  # a category may be called "1"
    as_number = number(cell)
    return cell if as_number is None else as_number


def _label(
    row: Filled,
    item: str,
    items: Collection[str],
    rubric: Rubric,
    scale: tuple[float, float] | None,
    wrong: list[str],
    **more: Any,
) -> Label | None:
    """The label of a row, with `more` of its fields; None where something is `wrong` with it, which
    is added there."""
    cells, value, label, probability = row.cells, _given(row, rubric), 0.0, None
    if item not in items:
        wrong.append(
            f"the item {brief(item)} is not one of the {len(items)} that this run judged."
        )
    try:
        label = rubric.read(value, None if scale is None else LabelScale(ends=scale))
    except ValueError as error:
        hint = (
            ""
            if scale is not None
            else " If labels are on another scale, name it: --scale LOWEST-HIGHEST."
        )
        wrong.append(
            f"`label` {str(error)[:300]} of"
            f" rubric={rubric.name}.{hint if isinstance(value, float) else ''}"
        )
    if not empty(cell := cells.get("inclusion_probability")):
        probability = number(cell)
        if probability is None or not 0 < probability <= 1:
            wrong.append(
                f"`inclusion_probability` is {brief(cell)}; it must be above 0 and at most 1, as"
                " exported."
            )
    texts = {
        name: None if empty(cells.get(name)) else str(cells[name])
        for name in ("comment", "queue")
    }
    more["in_view"] = not empty(cells.get("score")) or "trace" in row.origin
    more |= texts | {
        "item_id": item,
        "given": value,
        "scale": scale,
        "inclusion_probability": probability,
    }
    try:
        return None if wrong else Label(label=label, **more, **row.origin)
    except ValidationError as error:
        wrong.append(f"{first_problem(error)}.")
        return None


def _contradicts(label: Label, here: Label | None, earlier: Label | None) -> list[str]:
    """What is wrong if the same labeller gave the item another label here or in an earlier
    import."""
    start = (
        f"{label.labeller!r} labels the item {label.item_id!r} {label.as_given}, but"
    )
    if here is not None and here.label != label.label:
        way_out = (
            ""
            if label.trace is None
            else " Delete one of them in MLflow, or correct it there."
        )
        return [f"{start} {here.as_given} at {here.place}.{way_out}"]
    if earlier is None or earlier.label == label.label:
        return []
    where = f"{earlier.place}, imported earlier"
    return [
        f"{start} {earlier.as_given} before ({where}). If the new label counts: --revise."
    ]


def write_datasets(
    folder: Path, items: Sequence[Item], labels: Sequence[Label], rubric: Rubric
) -> bool:
    """Write ALL (every item, `label` where there is one) and LABELLED (only those) into a run's
    folder.

    `label` is the mean over labellers, or, where that is no value of the scale (it has steps or
    categories), `labels` holds what each of them said; `label_count` and `label_spread` (largest
    minus smallest) say how many there are and how far apart. A label that the item had before stays
    as `dataset_label`.

    Returns:
        Whether estimates can be weighted: every labelled row has its `inclusion_probability`, or
            all items are labelled
        and none needs one. Where the labels of an item come from several queues, and from none with
        certainty, there is no single one, and the field is left out.
    """
    by_item: dict[str, list[Label]] = {}
    for label in labels:
        by_item.setdefault(label.item_id, []).append(label)
    several_queues = len({label.queue for label in labels}) > 1
    rows = [
        _dataset_row(item, by_item.get(item.id, []), rubric, several_queues)
        for item in items
    ]
    labelled = [row for row in rows if row["id"] in by_item]
    known = all("inclusion_probability" in row for row in labelled)
    if len(labelled) == len(rows):  # nothing was chosen
        for row in rows:
            row.pop("inclusion_probability", None)
        known = True
    for name, kept in ((ALL, rows), (LABELLED, labelled)):
        files.write(
            folder / name,
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept),
        )
    return known


def _dataset_row(
    item: Item, labels: Sequence[Label], rubric: Rubric, several_queues: bool
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": item.id,
        **item.inputs,
        "condition": item.condition,
        "pair": item.pair,
    }
    row |= {"parent": item.parent, "maker": item.maker}
    row |= {
        k: v for k, v in item.metadata.items() if k not in {*row, "label", "labels"}
    }
    if item.label is not None:
        row["dataset_label"] = item.label
    if labels:
        write: Callable[[float], float | str] = (
            float if isinstance(rubric.scale, NumericScale) else rubric.scale.write
        )
        values = [label.label for label in labels]
        # A mean of 2 and 3 is no level of a scale with steps, and a mean of categories
        # is no category: then each label stands for itself.
        if rubric.scale.contains(fmean(values)):
            row["label"] = write(fmean(values))
        else:
            row["labels"] = {
                OVERALL: {label.labeller: write(label.label) for label in labels}
            }
        row |= {"label_count": len(values), "label_spread": max(values) - min(values)}
        row |= {IN_VIEW: True} if any(label.in_view for label in labels) else {}
        probabilities = {label.inclusion_probability for label in labels}
        # What one queue was sure to hold was sure to be labelled, whatever chance it
        # had in another one.
        if 1.0 in probabilities:
            row["inclusion_probability"] = 1.0
        elif (
            len(probabilities) == 1 and None not in probabilities and not several_queues
        ):
            row["inclusion_probability"] = probabilities.pop()
    return {k: v for k, v in row.items() if v is not None}
