"""`undogmatic review export` and `undogmatic review import`; each returns what to print."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from undogmatic.datasets.labels import TEXTS, seem_rescaled
from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.records.labels import HUMAN, PROBABILITY, QUEUE, Label
from undogmatic.records.records import OVERALL, Failure, Item, Judgment
from undogmatic.records.rubric import NumericScale
from undogmatic.report.words import Words
from undogmatic.review import labels, queue
from undogmatic.runs.folder import RunFolder
from undogmatic.tracking.assessments import Note, Said, log_notes, read_labels
from undogmatic.tracking.notes import of_human, of_judge


def export(
    run: str,
    out: str = "queue",
    *,
    budget: int | None = None,
    everything: bool = False,
    random: int = 0,
    seed: int = 0,
    redact: bool = False,
) -> str:
    """Write the review queue of a run: `out`.csv, `out`.jsonl, and feedback on its MLflow traces.

    Args:
        run: The run's folder.
        out: Where to write, without suffix.
        budget: At most so many rows before the random ones; None: all that are flagged or failed.
        everything: Rank all items, not only flagged and failed ones.
        random: So many further items drawn at random, so that labels can be weighted to speak of all items.
        seed: Of that draw.
        redact: Write hashes instead of texts.
    Raises:
        ConfigError, DataError: No such run, its dataset has changed, or the queue's file exists.
    """
    if seed < 0:
        raise ConfigError(f"--seed is {seed}; it must be 0 or more.")
    folder = RunFolder.open(run, "RUN")
    items, by_item = folder.items(), folder.by_item()
    chosen = queue.select(items, by_item, budget, everything, random, np.random.default_rng(seed))
    rows = queue.rows(chosen, {item.id: item for item in items}, folder.rubric, redact)
    if not rows:
        return f"Nothing is flagged in {folder.path} and nothing was written. --all ranks every item; --random N draws."
    written = queue.write(rows, out)
    notes: list[tuple[Judgment, Note]] = []
    for entry, row in zip(chosen.entries, rows, strict=True):
        # The probability in full: it comes back by `--from-mlflow`.
        about = {key: str(row[key]) for key in (QUEUE, "rank", "why", PROBABILITY)}
        flagged = queue.flagged(entry.judgment) or isinstance(entry.judgment.outcome, Failure)
        notes.append((entry.judgment, partial(of_judge, entry.judgment, flagged, about)))
    exported = _exported(folder, chosen, len(items), len(by_item), written)
    return "\n".join([*exported, _logged(folder, items, notes, redact)])


def import_labels(
    run: str,
    filled: str | None = None,
    *,
    scale: str | None = None,
    labeller: str | None = None,
    revise: bool = False,
    columns: Mapping[str, str] | None = None,
    sheet: str | None = None,
) -> str:
    """Check people's labels and add them to the run: from a filled queue, and then they are put on its MLflow traces
    too; or those that people gave to these traces, and then nothing is written to MLflow.

    Args:
        run: The run's folder.
        filled: A table with `item_id` and `label`, optionally `labeller`, `comment`, `inclusion_probability`; None
            reads MLflow.
        scale: The scale of the labels that no import has seen yet, e.g. "0-10"; None is the rubric's own.
        labeller: Whose labels they are where the file, or MLflow, does not say.
        revise: Labels that differ from earlier ones of the same labeller replace them.
        columns: What `item_id`, `label` and `labeller` are called in the table, where they are not recognised.
        sheet: Of a workbook the sheet, a range or both.
    Raises:
        ConfigError: The run is not in MLflow, has no traces there, or the store cannot be read.
        DataError: Every problem with file and line, or with its trace; nothing was imported then.
    """
    folder = RunFolder.open(run, "RUN")
    answers: Said | None = None
    read: list[str] = []
    if filled is None:
        answers = read_labels(folder.path, folder.judgments, uri=_tracking(folder).get("uri"))
        source, rows = f"{HUMAN} in {answers.address}", [*answers.labels, *answers.waiting]
    else:
        path, rows, notes_read = labels.read_sheet(filled, columns, sheet)
        source, read = str(path), list(map(Words("en", [TEXTS]).say, notes_read))
    rubric, by_item, before = folder.rubric, folder.by_item(), labels.read(folder.path)
    options: dict[str, Any] = {"scale": None if scale is None else labels.parse_scale(scale), "labeller": labeller}
    checked = labels.check(source, rows, items=by_item, rubric=rubric, before=before, revise=revise, **options)
    labels.append(folder.path, checked.new)
    standing = labels.read(folder.path)
    items: Sequence[Item] = ()
    lines = [*read, *_imported(folder, checked, standing, len(by_item))]
    if standing:
        with_files, items = _as_dataset(folder, standing)
        lines += with_files
    if answers is not None:
        return "\n".join([*lines, *_remarks(answers, standing)])
    written: Callable[[float], float | str] = float if isinstance(rubric.scale, NumericScale) else rubric.scale.write
    notes: list[tuple[Judgment, Note]] = [
        (judgment, partial(of_human, label, written(label.label)))
        for label in [*checked.new, *checked.known]
        if label.trace is None  # else it was taken from there
        # A label of a judge that says nothing overall goes beside whatever was judged.
        for judgment in [j for j in by_item[label.item_id] if j.criterion == OVERALL] or by_item[label.item_id]
    ]
    return "\n".join([*lines, *([_logged(folder, items, notes)] if notes else [])])


def _as_dataset(folder: RunFolder, standing: Sequence[Label]) -> tuple[list[str], Sequence[Item]]:
    """Write the run's items with these labels as dataset files; what to print, and the items ([] without them)."""
    rubric = folder.rubric
    try:
        items = folder.items()
        weighted = labels.write_datasets(folder.path, items, standing, rubric)
        odd = seem_rescaled([label.label for label in standing], rubric) is not None
    except UndogmaticError as error:
        return [f"{folder.path / labels.FILE} is written, but no dataset files: {error}"], []
    meant = f" dataset.label_scale=[{rubric.minimum:g},{rubric.maximum:g}]" if odd else ""
    whole = f"dataset.path={folder.path / labels.ALL}{meant}"
    cached = "every item; the call cache answers what was judged before"
    lines = [f"To analyse: dataset=texts {whole} ({cached}). To fit on: {folder.path / labels.LABELLED}"]
    if not weighted:
        why = "Some labelled items have no inclusion probability (not from a queue, or from several)"
        lines.append(f"{why}: estimates over all items cannot be weighted with them.")
    return lines, items


def _remarks(answers: Said, standing: Sequence[Label]) -> list[str]:
    """What the user should know of the store beyond the labels taken from it, one sentence each."""
    lines = []
    if not answers.labels:
        way = f"In the MLflow UI: open a trace, add an assessment named {HUMAN}, type a number."
        lines.append(f"No person's `{HUMAN}` is on the {answers.traces} traces of this run in {answers.address}. {way}")
    if answers.others:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(answers.others.items()))
        lines.append(f"Other human assessments, not imported: {listed}. Only `{HUMAN}` is.")
    there = {row.origin["assessment"] for row in answers.labels}
    gone = [one for one in standing if one.store == answers.address and one.assessment not in there]
    if gone:
        places = ", ".join(one.place for one in gone[:3]) + (", ..." if len(gone) > 3 else "")
        what = f"{len(gone)} labels that came from MLflow are not there any more and still count"
        lines.append(f"{what}: {places}. To drop one, delete its line in labels.jsonl.")
    return lines


def _tracking(folder: RunFolder) -> dict[str, Any]:
    """The run's `tracking` section; {} if it cannot be resolved here (an environment variable is gone)."""
    try:
        return folder.section("tracking")
    except ConfigError:
        return {}


def _logged(
    folder: RunFolder, items: Sequence[Item], notes: Sequence[tuple[Judgment, Note]], redact: bool = False
) -> str:
    """Put notes on the run's traces, if it keeps any."""
    tracking = _tracking(folder)
    if tracking.get("traces") == 0:
        return "MLflow: skipped, because this run keeps no traces (tracking.traces=0)."
    started, hide = float(folder.facts.get("started", 0)), redact or bool(tracking.get("redact"))
    return log_notes(folder.path, items, notes, started=started, uri=tracking.get("uri"), hide=hide)


def _exported(folder: RunFolder, chosen: queue.Queue, items: int, judged: int, written: tuple[Path, Path]) -> list[str]:
    counts = {why: sum(e.why == why for e in chosen.entries) for why in ("failed", "flagged", "unflagged", "random")}
    listed = ", ".join(f"{n} {why}" for why, n in counts.items() if n)
    certain = len(chosen.entries) - counts["random"]
    lines = [f"{written[0]} and {written[1].name}: {len(chosen.entries)} of {judged} judged items ({listed})."]
    if judged < items:
        lines.append(f"{items - judged} further items were not judged yet (run.resume={folder.path}).")
    if certain < chosen.candidates:
        lines.append(f"The budget left out {chosen.candidates - certain} of {chosen.candidates} candidates.")
    if certain > counts["failed"]:
        ranked = f"Most uncertain first, by {chosen.order}: the measure that analysis=calibration takes too."
        lines.append(ranked if chosen.order else "Listed in the order of the dataset: the judge gives no uncertainty.")
    if counts["failed"]:
        why = "a judge has no score for them." if len(chosen.names) > 1 else "they have no score at all."
        lines.append(f"Failed items come first: {why}")
    if counts["random"]:
        lines.append(f"Random rows: each with inclusion probability {counts['random'] / chosen.remaining:.4g}.")
    elif chosen.remaining:
        lines.append("Labels of these rows say nothing of the others; for estimates over all items add --random N.")
    rubric, way = folder.rubric, f"undogmatic review import {folder.path} {written[0]}"
    lines.append(f"Fill in `label` ({rubric.scale.span()}, rubric {rubric.name}) and `labeller`, then: {way}")
    return lines


def _imported(folder: RunFolder, checked: labels.Checked, standing: Sequence[Label], items: int) -> list[str]:
    labelled, labellers = len({label.item_id for label in standing}), sorted({label.labeller for label in standing})
    extra = f", {len(checked.known)} were there already" if checked.known else ""
    extra += f", {checked.blank} rows have no label" if checked.blank else ""
    whose = f"{len(labellers)} labeller{'' if len(labellers) == 1 else 's'}: {', '.join(labellers) or 'none'}"
    state = f"{labelled} of {items} judged items of {folder.path} are labelled now, by {whose}."
    lines = [f"{len(checked.new)} labels added{extra}.", state]
    if any(label.labeller == labels.NAMELESS for label in checked.new):
        lines.append(f"Labels without labeller were recorded as {labels.NAMELESS!r}; --labeller NAME says who it was.")
    if checked.only_comment:
        lines.append(f"{checked.only_comment} rows have a comment but no label; they were not imported.")
    if 0 < checked.random_labelled < checked.random:
        only = f"Only {checked.random_labelled} of {checked.random} random rows have a label"
        lines.append(f"{only}: their inclusion probabilities hold once all of them do.")
    return lines
