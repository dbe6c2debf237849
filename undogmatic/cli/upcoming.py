"""Says which items of a table or of a run people should label next, without what the judge said of
them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from undogmatic.cli.review import OWN_TEXTS
from undogmatic.datasets.instrument import FILE
from undogmatic.datasets.labels import TEXTS
from undogmatic.records.redaction import redact_item
from undogmatic.records.words import Words
from undogmatic.review import labels, queue
from undogmatic.review.drawn import drawn
from undogmatic.review.kept import LabelFile
from undogmatic.review.page import Entry, found_in, read_entries
from undogmatic.review.unsteady import planned
from undogmatic.runs.folder import MANIFEST, RunFolder

UPCOMING = Path(__file__).with_name("upcoming.texts.yaml")


def upcoming(
    source: str, n: int, by: str | None, language: str, longest: int
) -> tuple[list[str], dict[str, Any]]:
    """The next `n` items for people to label, and the command with which they do it: in words, and
    as JSON holds them.

    Args:
        source: A table, of which items are drawn as `undogmatic label` draws them, or the folder of
            a run, of which they are taken as `undogmatic review export` takes them.
        by: The column of a table from whose values they are drawn evenly.
        language: Of the words.
        longest: Characters of a text that are shown.
    Raises:
        ConfigError, DataError: It cannot be read, or has no such column.
    """
    words = Words(language, [TEXTS, OWN_TEXTS, UPCOMING])
    if (Path(source) / MANIFEST).is_file():
        return _of_run(source, n, words, longest)
    table = read_entries(source, None, (), (), by=by)
    kept = Path(source).with_suffix(".labels.csv")
    known = LabelFile(kept, partial(found_in, table.entries, table.numbered)).kept
    done = {item for (item, _), row in known.by_key.items() if row["label"]}
    left = sum(entry.id not in done for entry in table.entries)
    typed = ["undogmatic", "label", source]
    taken: list[Entry] = []
    if left:
        # As many are drawn as it takes until `n` of them have no label: the page skips the others.
        size = min(n, len(table.entries))
        while True:
            every = drawn(table.entries, source, size, by)
            taken = [entry for entry in every if entry.id not in done]
            if len(taken) >= min(n, left):
                break
            size = min(size + n - len(taken), len(table.entries))
        typed += ["--random", str(size), *([] if by is None else ["--by", by])]
    items = [_shown(entry.id, entry.texts, longest) for entry in taken]
    lines = [words.say(note) for note in table.notes]
    key = "upcoming.at_random" if by is None else "upcoming.evenly"
    return _told(words, key, items, left, typed, lines, by=by or "", file=str(kept))


def _of_run(
    source: str, n: int, words: Words, longest: int
) -> tuple[list[str], dict[str, Any]]:
    """The items of a run that the judge failed on or was least sure of, first."""
    folder = RunFolder.open(source, "RUN")
    if (folder.path / FILE).is_file() and not folder.rubric.of_pairs:
        return _of_test(source, n, words, longest)
    done = {label.item_id for label in labels.read(folder.path)}
    items = [item for item in queue.for_people(folder) if item.id not in done]
    if not items:
        return _told(words, "upcoming.none", [], 0, [], [])
    rng = np.random.default_rng(0)
    chosen = queue.select(items, folder.judged(), n, True, 0, rng)
    hide = bool(folder.facts.get("redact"))
    by_id = {item.id: redact_item(item) if hide else item for item in items}
    ids = [entry.judgment.item_id for entry in chosen.entries]
    shown = [_shown(name, by_id[name].inputs, longest) for name in ids]
    # those that have a label are among the rows that the command writes
    budget = str(len(ids) + len(done))
    typed = [
        "undogmatic",
        "review",
        "export",
        source,
        "--blind",
        "--all",
        "--budget",
        budget,
    ]
    key = "upcoming.doubtful" if chosen.order else "upcoming.in_order"
    return _told(
        words, key, shown, chosen.candidates, typed, [words.text("review.no_random")]
    )


def _of_test(
    source: str, n: int, words: Words, longest: int
) -> tuple[list[str], dict[str, Any]]:
    """The texts of an instrument test that `undogmatic label` draws."""
    every = planned(source, None, 0)
    plan = planned(source, min(n, len(every.texts)), 0)
    entries = [Entry(item.id, item.inputs, {}) for item in plan.drawn]
    kept = plan.table.with_suffix(".labels.csv")
    known = LabelFile(kept, partial(found_in, entries, False)).kept
    done = {item for (item, _), row in known.by_key.items() if row["label"]}
    left = [item for item in plan.drawn if item.id not in done]
    hide = bool(plan.folder.facts.get("redact"))
    items = [
        _shown(item.id, (redact_item(item) if hide else item).inputs, longest)
        for item in left
    ]
    typed = ["undogmatic", "label", source, "--random", str(len(plan.places))]
    key = "upcoming.of_test"
    return _told(
        words, key, items, len(every.texts) - len(done), typed, [], file=str(kept)
    )


def _shown(name: str, texts: Mapping[str, str], longest: int) -> dict[str, Any]:
    cut = {
        key: text if len(text) <= longest else f"{text[:longest]} ..."
        for key, text in texts.items()
    }
    return {"item": name, "texts": cut}


def _told(
    words: Words,
    key: str,
    items: Sequence[Mapping[str, Any]],
    left: int,
    typed: Sequence[str],
    notes: Sequence[str],
    **more: Any,
) -> tuple[list[str], dict[str, Any]]:
    command = shlex.join(typed)
    found = {"items": list(items), "without_label": left, "command": command}
    if not items:
        return [*notes, words.text("upcoming.none")], found
    ids = [str(each["item"]) for each in items]
    first = words.text(key, n=len(ids), left=left, items=ids, **more)
    return [first, words.text("upcoming.command", command=command), *notes], found
