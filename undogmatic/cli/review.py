"""`undogmatic review export` and `undogmatic review import`; each returns what to print."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from undogmatic.datasets.labels import TEXTS, seem_rescaled
from undogmatic.errors import ConfigError, UndogmaticError
from undogmatic.examinations.run_items import items_of
from undogmatic.records.labels import HUMAN, PROBABILITY, QUEUE, Label
from undogmatic.records.records import OVERALL, Failure, Item, Judgment
from undogmatic.records.results import Finding
from undogmatic.records.rubric import NumericScale
from undogmatic.records.wordings import FALLBACK
from undogmatic.records.words import Words
from undogmatic.review import labels, queue
from undogmatic.runs.folder import RunFolder
from undogmatic.safety.apart import keep_apart, named
from undogmatic.tracking.assessments import Note, Said, log_notes, read_labels
from undogmatic.tracking.notes import of_human, of_judge

OWN_TEXTS = Path(__file__).with_name("review.texts.yaml")


def export(
    run: str,
    out: str = "queue",
    *,
    budget: int | None = None,
    everything: bool = False,
    random: int = 0,
    seed: int = 0,
    redact: bool = False,
    blind: bool = False,
) -> str:
    """Write the review queue of a run: `out`.csv, `out`.jsonl, and feedback on its MLflow traces.

    Args:
        run: The run's folder.
        out: Where to write, without suffix.
        budget: At most so many rows before the random ones; None: all that are flagged or failed.
        everything: Rank all items, not only flagged and failed ones.
        random: So many further items drawn at random, so that labels can be weighted to speak of
            all items.
        seed: Of that draw.
        redact: Write hashes instead of texts.
        blind: Leave out what the judge said: labels by which it is tested must not lean on it.
    Raises:
        ConfigError, DataError: No such run, its dataset has changed, or the queue's file exists.
    """
    if seed < 0:
        raise ConfigError(f"--seed is {seed}; it must be 0 or more.")
    folder = RunFolder.open(run, "RUN")
    items, journal = queue.for_people(folder), folder.judged()
    chosen = queue.select(
        items, journal, budget, everything, random, np.random.default_rng(seed)
    )
    shown = {entry.judgment.item_id for entry in chosen.entries}
    by_id = {item.id: item for item in items if item.id in shown}
    rows = queue.rows(chosen, by_id, folder.rubric, redact, blind)
    words = _words(folder)
    if not rows:
        return words.text("review.nothing", run=str(folder.path))
    written = queue.write(rows, out)
    notes: list[tuple[Judgment, Note]] = []
    for entry, row in zip(
        chosen.entries, queue.rows(chosen, by_id, folder.rubric, redact), strict=True
    ):
        # The probability in full: it comes back by `--from-mlflow`.
        about = {key: str(row[key]) for key in (QUEUE, "rank", "why", PROBABILITY)}
        flagged = queue.flagged(entry.judgment) or isinstance(
            entry.judgment.outcome, Failure
        )
        notes.append(
            (entry.judgment, partial(of_judge, entry.judgment, flagged, about))
        )
    exported = _exported(folder, chosen, len(items), chosen.judged, written, words)
    seen = () if blind else (words.text("review.in_view"),)
    return "\n".join(
        [*exported, *seen, words.say(_logged(folder, items, notes, redact))]
    )


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
    """Check people's labels and add them to the run: from a filled queue, and then they are put on
    its MLflow traces too; or those that people gave to these traces, and then nothing is written to
    MLflow.

    Args:
        run: The run's folder.
        filled: A table with `item_id` and `label`, optionally `labeller`, `comment`,
            `inclusion_probability`; None reads MLflow.
        scale: The scale of the labels that no import has seen yet, e.g. "0-10"; None is the
            rubric's own.
        labeller: Whose labels they are where the file, or MLflow, does not say.
        revise: Labels that differ from earlier ones of the same labeller replace them.
        columns: What `item_id`, `label` and `labeller` are called in the table, where they are not
            recognised.
        sheet: Of a workbook the sheet, a range or both.
    Raises:
        ConfigError: The run is not in MLflow, has no traces there, or the store cannot be read.
        DataError: Every problem with file and line, or with its trace; nothing was imported then.
    """
    folder = RunFolder.open(run, "RUN")
    if filled is not None:
        kept = [
            folder.path / name for name in (labels.FILE, labels.ALL, labels.LABELLED)
        ]
        keep_apart(named("LABELS", filled), named("RUN", kept))
    answers: Said | None = None
    read: list[str] = []
    words = _words(folder)
    if filled is None:
        answers = read_labels(
            folder.path, folder.judgments, uri=_tracking(folder).get("uri")
        )
        source = f"{HUMAN} in {answers.address}"
        rows = [*answers.labels, *answers.waiting]
    else:
        path, rows, notes_read = labels.read_sheet(filled, columns, sheet)
        source, read = str(path), list(map(words.say, notes_read))
    rubric, before = folder.rubric, labels.read(folder.path)
    judged = {item_id for item_id, *_ in folder.judged()}
    options: dict[str, Any] = {
        "scale": None if scale is None else labels.parse_scale(scale),
        "labeller": labeller,
    }
    checked = labels.check(
        source,
        rows,
        items=judged,
        rubric=rubric,
        before=before,
        revise=revise,
        **options,
    )
    labels.append(folder.path, checked.new)
    standing = labels.read(folder.path)
    items: Sequence[Item] = ()
    lines = [*read, *_imported(folder, checked, standing, len(judged), words)]
    if standing:
        with_files, items = _as_dataset(folder, standing, words)
        lines += with_files
    if answers is not None:
        return "\n".join([*lines, *_remarks(answers, standing, words)])
    written: Callable[[float], float | str] = (
        float if isinstance(rubric.scale, NumericScale) else rubric.scale.write
    )
    # else it was taken from there
    said = [label for label in [*checked.new, *checked.known] if label.trace is None]
    by_item = folder.by_item({label.item_id for label in said})
    notes: list[tuple[Judgment, Note]] = [
        (judgment, partial(of_human, label, written(label.label)))
        for label in said
        # A label of a judge that says nothing overall goes beside whatever was judged.
        for judgment in [j for j in by_item[label.item_id] if j.criterion == OVERALL]
        or by_item[label.item_id]
    ]
    return "\n".join(
        [*lines, *([words.say(_logged(folder, items, notes))] if notes else [])]
    )


def _words(folder: RunFolder) -> Words:
    """The words of these commands in the language of the run's report."""
    try:
        language = folder.section("report").get("language", FALLBACK)
    except UndogmaticError:  # it cannot be resolved here, or is not there
        language = FALLBACK
    return Words(language, [TEXTS, OWN_TEXTS])


def _as_dataset(
    folder: RunFolder, standing: Sequence[Label], words: Words
) -> tuple[list[str], Sequence[Item]]:
    """Write the run's items with these labels as dataset files; what to print, and the items ([]
    without them)."""
    rubric = folder.rubric
    try:
        items = items_of(folder)
        weighted = labels.write_datasets(folder.path, items, standing, rubric)
        odd = seem_rescaled([label.label for label in standing], rubric) is not None
    except UndogmaticError as error:
        return [
            words.text(
                "review.no_files", file=str(folder.path / labels.FILE), why=str(error)
            )
        ], []
    meant = (
        f" dataset.label_scale=[{rubric.minimum:g},{rubric.maximum:g}]" if odd else ""
    )
    whole = f"dataset.path={folder.path / labels.ALL}{meant}"
    lines = [
        words.text(
            "review.analyse", data=whole, labelled=str(folder.path / labels.LABELLED)
        )
    ]
    return lines if weighted else [*lines, words.text("review.unweighted")], items


def _remarks(answers: Said, standing: Sequence[Label], words: Words) -> list[str]:
    """What the user should know of the store beyond the labels taken from it, one sentence each."""
    lines = []
    if not answers.labels:
        about = {"human": HUMAN, "traces": answers.traces, "store": answers.address}
        lines.append(words.text("review.not_in_mlflow", **about))
    if answers.others:
        listed = ", ".join(
            f"{name} ({count})" for name, count in sorted(answers.others.items())
        )
        lines.append(words.text("review.others", names=listed, human=HUMAN))
    there = {row.origin["assessment"] for row in answers.labels}
    gone = [
        one
        for one in standing
        if one.store == answers.address and one.assessment not in there
    ]
    if gone:
        places = ", ".join(one.place for one in gone[:3]) + (
            ", ..." if len(gone) > 3 else ""
        )
        lines.append(words.text("review.gone", n=len(gone), places=places))
    return lines


def _tracking(folder: RunFolder) -> dict[str, Any]:
    """The run's `tracking` section; {} if it cannot be resolved here (an environment variable is
    gone)."""
    try:
        return folder.section("tracking")
    except ConfigError:
        return {}


def _logged(
    folder: RunFolder,
    items: Sequence[Item],
    notes: Sequence[tuple[Judgment, Note]],
    redact: bool = False,
) -> Finding:
    """Put notes on the run's traces, if it keeps any."""
    tracking = _tracking(folder)
    if tracking.get("traces") == 0:
        return Finding("review.no_traces")
    started = float(folder.facts.get("started", 0))
    hide = redact or bool(tracking.get("redact"))
    return log_notes(
        folder.path, items, notes, started=started, uri=tracking.get("uri"), hide=hide
    )


def _exported(
    folder: RunFolder,
    chosen: queue.Queue,
    items: int,
    judged: int,
    written: tuple[Path, Path],
    words: Words,
) -> list[str]:
    counts = {
        why: sum(e.why == why for e in chosen.entries)
        for why in ("failed", "flagged", "unflagged", "random")
    }
    certain, rows = len(chosen.entries) - counts["random"], len(chosen.entries)
    listed = ", ".join(
        words.text(f"review.{why}", n=n) for why, n in counts.items() if n
    )
    names = {"csv": str(written[0]), "jsonl": written[1].name}
    lines = [
        words.text("review.written", **names, rows=rows, judged=judged, counts=listed)
    ]
    if judged < items:
        lines.append(
            words.text("review.not_judged", n=items - judged, run=str(folder.path))
        )
    if certain < chosen.candidates:
        left = chosen.candidates - certain
        lines.append(
            words.text("review.budget", left=left, candidates=chosen.candidates)
        )
    if certain > counts["failed"]:
        lines.append(
            words.text(
                "review.ranked" if chosen.order else "review.unranked",
                order=chosen.order,
            )
        )
    if counts["failed"]:
        lines.append(
            words.text("review.failed_first", several=int(len(chosen.names) > 1))
        )
    if counts["random"]:
        share = words.number(counts["random"] / chosen.remaining, ".4g")
        lines.append(words.text("review.random_rows", share=share))
    elif chosen.remaining:
        lines.append(words.text("review.no_random"))
    rubric, way = folder.rubric, f"undogmatic review import {folder.path} {written[0]}"
    return [
        *lines,
        words.text(
            "review.fill", scale=rubric.scale.span(), rubric=rubric.name, command=way
        ),
    ]


def _imported(
    folder: RunFolder,
    checked: labels.Checked,
    standing: Sequence[Label],
    items: int,
    words: Words,
) -> list[str]:
    labelled = len({label.item_id for label in standing})
    labellers = sorted({label.labeller for label in standing})
    known = words.text("review.known", n=len(checked.known)) if checked.known else ""
    blank = words.text("review.blank", n=checked.blank) if checked.blank else ""
    names = ", ".join(labellers) or words.text("review.nobody")
    about: dict[str, Any] = {
        "n": labelled,
        "items": items,
        "run": str(folder.path),
        "labellers": len(labellers),
    }
    lines = [words.text("review.added", n=len(checked.new), known=known, blank=blank)]
    lines.append(words.text("review.labelled", **about, names=names))
    if any(label.labeller == labels.NAMELESS for label in checked.new):
        lines.append(words.text("review.nameless", name=repr(labels.NAMELESS)))
    if checked.only_comment:
        lines.append(words.text("review.only_comment", n=checked.only_comment))
    if 0 < checked.random_labelled < checked.random:
        lines.append(
            words.text(
                "review.random_part", labelled=checked.random_labelled, n=checked.random
            )
        )
    return lines
