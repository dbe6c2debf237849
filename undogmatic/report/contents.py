"""Composes the report of a run in reading order: verdict, what was run, notes, results, texts,
prompt, repetition."""

import itertools
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from undogmatic.examinations.improvement import AFTER
from undogmatic.records.evidence import AS_GIVEN, SWAPPED
from undogmatic.records.records import Item, Judgment, Verdict
from undogmatic.records.results import FigureData, Told
from undogmatic.records.rubric import Anchors, NumericScale, Rubric
from undogmatic.records.stored import foremost, in_parts
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.wordings import FALLBACK
from undogmatic.records.words import MissingWording, Words, missing
from undogmatic.report.answers import answers, command, exploratory, typed
from undogmatic.report.document import (
    Block,
    Bullets,
    Code,
    Contents,
    Document,
    Fold,
    Heading,
    Paragraph,
    Quote,
    Table,
    names_of,
    save,
)
from undogmatic.report.figures import pictures
from undogmatic.report.listed import LEVELS, of_run
from undogmatic.report.tables import frame_blocks, key_figures
from undogmatic.report.words import words_for
from undogmatic.report.workbench import bench
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import as_typed
from undogmatic.safety.secrets import redacted

EXCERPT = 280  # characters of a judged text
SHORT = 140  # the same in the short report
MOST_FAILURES = 40
ITEMS_EACH, LISTS = 3, 5  # items in each list, and how many lists there are
EMBEDDED = "local"
"""The option of the model that is asked where none is chosen."""
_DIGEST = re.compile(r"-[0-9a-f]{12}$")  # with which the name of a file of weights ends
# by which judgment a row of the table was made
_KEY = itemgetter("item_id", "judge", "criterion", "repeat")
# what only a run has that asks somebody
ASKING = (
    "model",
    "readout",
    "prompt",
    "calls",
    "cached",
    "tokens",
    "usd",
)


def write(run: FinishedRun, beside: str = "") -> None:
    """Write `report.md`, `report.html` (one file, pictures inside) and `figures/` into the run's
    folder, or with the mark `beside` in their names (`report.pt.md`), beside those that are there.
    """
    words = words_for(run)
    words.beside = beside
    date = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(run.started))
    lead = words.text("common.lead", name=run.name, date=date)
    # The answer first, and what it rests on behind it: who reads one screen has read
    # the part that counts.
    parts = (_verdict, scale, _notes, _results, items, _made)
    blocks = [block for part in parts for block in part(run, words)]
    foot, names = words.text("bench.foot"), names_of(run.items)
    document = Document(
        words.language, title(run, words), lead, blocks, foot, names, beside
    )
    save(document, run.folder)


MOST_FURTHEST, MOST_SHORT = 10, 4
"""Items and key figures that the short report lists."""


def short(run: FinishedRun, beside: str = "") -> Document:
    """What fits on two pages: the answer, its picture, the key figures, and the items whose scores
    are furthest from their labels (else those that the judge doubts most, else the highest).
    `beside` as for the whole report."""
    words = words_for(run)
    words.beside = beside
    blocks = [*_answer(run, words)]
    if keys := key_figures(run.results, words, MOST_SHORT):
        blocks += [Heading(words.text("common.headline_title")), keys]
    blocks += _furthest(run, words)
    date = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(run.started))
    lead = words.text("common.lead", name=run.name, date=date)
    return Document(
        words.language, title(run, words), lead, blocks, words.text("common.short")
    )


def _furthest(run: FinishedRun, words: Words) -> Iterator[Block]:
    """A table of the items that a reader looks at first."""

    def told(rows: pd.DataFrame) -> dict[str, np.ndarray]:
        shown = (rows["repeat"] == 0) & rows["error"].isna()
        score, label = (rows[name].to_numpy(dtype=float) for name in ("score", "label"))
        orders = {
            "furthest": np.abs(score - label),
            "uncertain": -rows["confidence"].to_numpy(dtype=float),
            "highest": -score if words.turned else score,
        }
        return {key: np.where(shown, own, np.nan) for key, own in orders.items()}

    columns = ["repeat", "error", "score", "label", "confidence"]
    orders = foremost(run.frame, columns, told, MOST_FURTHEST)
    # The errors are what a reader looks for; without labels it is what the judge
    # doubts, and without a doubt the gravest scores.
    key = next((key for key, order in orders.items() if len(order)), None)
    if key is None:
        return
    rows = run.frame.iloc[orders[key]].to_dict("records")
    items = {
        item.id: item
        for item in run.items
        if item.id in {row["item_id"] for row in rows}
    }
    yield Heading(words.text(f"common.items_{key}"))
    labelled = any(not missing(row["label"]) for row in rows)
    headers = [
        words.heading("item_id"),
        words.text("bench.text"),
        words.heading("score"),
    ]
    headers += [words.heading("label")] * labelled
    table = [_in_short(row, items, run, words)[: len(headers)] for row in rows]
    yield Table(headers, table, (False, False, True, True)[: len(headers)])


def _in_short(
    row: Mapping[Any, Any], items: Mapping[str, Item], run: FinishedRun, words: Words
) -> list[str]:
    """An item's id, the beginning of its text, its score and its label."""
    item = items[row["item_id"]]
    text = redacted(item.text) if run.settings.redacted else item.text
    # A label is shown as the person gave it, and not as the rubric's scale has it:
    # whoever gave it must know it again.
    label = "" if missing(row["label"]) else words.said(row["label"])
    score = "" if missing(row["score"]) else words.quoted(row["score"])
    return [_named(row, run), shorten(text, SHORT), score, label]


def title(run: FinishedRun, words: Words) -> str:
    """The run's question: that of its first analysis with one (`<analysis>.question`), else a
    general one. Where one analysis alone answers, and its question names what was compared
    (`question_sides`), it is that question.
    """
    # A title that names what was compared is true for one analysis alone.
    ruled = [result for result in run.results if result.verdict is not None]
    if len(ruled) == 1:
        values = {} if ruled[0].verdict is None else ruled[0].verdict.values
        with suppress(MissingWording):
            sides = f"{ruled[0].name}.question_sides"
            return words.text(sides, **{**values, "model": judged_by(run)})
    keys = (
        f"{r.name}.question"
        for r in run.results
        if words.find(f"{r.name}.question") is not None
    )
    key = next(keys, "common.question")
    named = {"model": judged_by(run), "rubric": run.rubric.name}
    if (brought := _brought(run)) and words.find(f"{key}_file") is not None:
        return words.text(f"{key}_file", **named, file=words.listed(brought))
    return words.text(key, **named)


def _brought(run: FinishedRun) -> list[str]:
    """The names of the files or folders that were judged, where they are not ours."""
    given = (run.config.get("dataset") or {}).get("path")
    return [
        Path(str(path)).name
        for path in ([given] if isinstance(given, str) else given or ())
    ]


def judged_by(run: FinishedRun) -> str:
    """Who gave the scores: the model that the judges asked, or the judges where they asked none. A
    model that only made the texts is no judge. An option that stands for whatever model is named
    beside it, or for the embedded one, says nothing to a reader; rules are known by theirs."""
    # Where nobody was given a prompt no model decided, however many models made the
    # texts.
    if run.elsewhere or "prompt" not in run.choices:
        return run.choices["judge"].replace("+", ", ")
    model = run.choices["model"]
    hosted = run.model_name.rpartition("@")[0]
    if hosted:
        return hosted
    return _DIGEST.sub("", run.model_name) if model == EMBEDDED else model


def scale_notes(outcome: FinishedRun | SweepResult, words: Words) -> list[str]:
    """Say on which scale sentences and key figures are, where people gave labels on one of their
    own."""
    given = outcome.own if isinstance(outcome, SweepResult) else outcome.label_scale
    if given is None or (own := words.reader) is None:
        return []
    key = "own_scale" if not own.names else "own_words" if own.counts else "own_names"
    known = own._asdict() | {"names": list(own.names)}
    return [words.text(f"common.note.{key}", **known)]


def asking_notes(run: FinishedRun, words: Words) -> list[str]:
    """How models were asked: which readout was used and what the prompt reaches; or that nobody
    was."""
    if run.elsewhere:
        return [words.text("common.note.elsewhere")]
    if "prompt" not in run.choices:  # nobody was given one
        return [words.text("common.note.computed", judge=run.choices["judge"])]
    readout = "readout" if run.settings.automatic else "readout_named"
    readout_note = words.text(
        f"common.note.{readout}", readout=run.choices["readout"], asked="auto"
    )
    if run.examples:
        shown = any(
            way.uses_prompt and "demonstrations" not in way.without for way in run.asked
        )
        key = "examples" if shown else "examples_unused"
        readout_note += " " + words.text(
            f"common.note.{key}", held=run.examples, judged=len(run.items)
        )
    blind = ", ".join(
        dict.fromkeys(way.readout for way in run.asked if not way.uses_prompt)
    )
    if not run.uses_prompt:
        unseen = (
            [words.text("common.note.unseen", n=run.fitted_on)]
            if run.fitted_on and not run.fitted
            else []
        )
        return [
            readout_note,
            *unseen,
            words.text("common.note.prompt_unused", readout=blind),
        ]
    key = "prompt_partly" if blind else "prompt_used"
    prompt_note = words.text(f"common.note.{key}", prompt=run.prompt_id, readout=blind)
    for part in ("instructions", "demonstrations"):
        # which has found its own
        asked = [way for way in run.asked if way.judge != AFTER]
        if unsent := dict.fromkeys(way.readout for way in asked if part in way.without):
            prompt_note += (
                " "
                f"{words.text(f'common.note.without_{part}', readout=', '.join(unsent))}"
            )
    return [readout_note, prompt_note]


def review_notes(run: FinishedRun, words: Words) -> list[str]:
    """Count, for each judge with levels, how many texts it rated with low, medium and high doubt,
    and marked."""
    notes, counted = [], {pair: Counter[str]() for pair in run.parts}
    for rows in in_parts(
        run.frame, ["judge", "criterion", "repeat", "uncertainty", "error", "review"]
    ):
        for pair, own in rows[rows["repeat"] == 0].groupby(
            ["judge", "criterion"], sort=False
        ):
            counted[pair].update(own["uncertainty"].dropna())
            counted[pair].update(
                {
                    "judged": int(own["error"].isna().sum()),
                    "flagged": int(own["review"].sum()),
                }
            )
    for pair, part in run.parts.items():
        levels = {level: counted[pair][level] for level in LEVELS}
        # A judge without levels has nothing to count. A row of zeros would read as "no
        # doubt".
        if not any(levels.values()):
            continue
        counts = levels | {
            "without": counted[pair]["judged"] - sum(levels.values()),
            "flagged": counted[pair]["flagged"],
        }
        note = words.text(
            "common.note.review", folder=str(as_typed(run.folder)), **counts
        )
        notes.append(f"{part}: {note}" if part else note)
    return notes


def order_notes(run: FinishedRun, words: Words) -> list[str]:
    """Say of each judge that chose between outputs in both orders how often the two orders
    disagree."""
    if not any(criterion in (AS_GIVEN, SWAPPED) for _, criterion in run.parts):
        return []
    shown = run.frame[
        run.frame["criterion"].isin((AS_GIVEN, SWAPPED)) & run.frame["error"].isna()
    ]
    notes = []
    shown = shown[["item_id", "judge", "criterion", "repeat", "category"]]
    for judge, rows in shown.groupby("judge", sort=False):
        both = rows.pivot(
            index=["item_id", "repeat"], columns="criterion", values="category"
        )
        both = both.reindex(columns=[AS_GIVEN, SWAPPED]).dropna()
        if differ := int((both[AS_GIVEN] != both[SWAPPED]).sum()):
            counts = {
                "differ": differ,
                "n": len(both),
                "folder": str(as_typed(run.folder)),
            }
            note = words.text("common.note.orders", **counts)
            notes.append(f"{judge}: {note}" if shown["judge"].nunique() > 1 else note)
    return notes


def repeated(run: FinishedRun, words: Words) -> list[str]:
    """How the scores compare with those of an earlier run, where there is one and nobody else made
    them."""
    scores = run.repeatability
    if run.elsewhere or scores.identical is None:
        return []
    key = "repeat_identical" if scores.identical else "repeat_differs"
    if key == "repeat_differs" and not scores.max_difference:
        key = "repeat_failed"  # the same numbers, and other items without one
    return [
        words.text(
            f"common.note.{key}",
            earlier=str(scores.earlier),
            difference=scores.max_difference,
        )
    ]


def repeatability_notes(run: FinishedRun, words: Words) -> list[str]:
    """How the scores compare with an earlier run, what the cache answered, and whether the readout
    samples; nothing of scores that were made elsewhere."""
    if run.elsewhere:
        return []
    scores, text = run.repeatability, words.text
    notes = repeated(run, words) or [text("common.note.repeat_first")]
    notes.append(
        text(
            f"common.note.repeat_{'cached' if scores.cached > 0 else 'fresh'}",
            cached=scores.cached,
        )
    )
    return [
        *notes,
        text(
            "common.note.deterministic"
            if scores.deterministic
            else "common.note.sampled"
        ),
    ]


def _answer(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The answer, what takes it back, and its picture."""
    for said in answers(run, words) or [words.text("common.no_verdict")]:
        yield Paragraph(said, "verdict") if isinstance(said, str) else said
    # Beside the answer, and not among the notes: it takes back what the answer says.
    if run.fitted:
        yield Paragraph(
            words.text("common.note.fitted", fitted=run.fitted, total=len(run.items)),
            "alert",
        )
    if (counts := counted(run, words))["failed"]:
        yield Paragraph(words.text("common.failures_alert", **counts), "alert")
    if first := _first_figure(run):
        own = words.of_result(first[0])
        yield from pictures(
            [first[1]], own, first[0].name, run.rubric, run.folder, first[0].full("")
        )


def _verdict(run: FinishedRun, words: Words) -> Iterator[Block]:
    yield from _answer(run, words)
    table = bench(of_run(run, words), words)
    yield from [Paragraph(table.begins)] if table.begins else []
    yield Contents(words.text("bench.contents"))
    if keys := key_figures(run.results, words):
        yield Heading(words.text("common.headline_title"))
        yield keys
    yield Heading(words.text("bench.title"))
    yield table


def _first_figure(run: FinishedRun) -> tuple[Told, FigureData] | None:
    """The picture under the verdict: the first of the first analysis with a verdict that draws
    one."""
    drawing = [
        result
        for result in run.results
        if result.drawings and result.verdict is not None
    ]
    return (drawing[0], drawing[0].drawings[0]) if drawing else None


def _notes(run: FinishedRun, words: Words) -> Iterator[Block]:
    yield Heading(words.text("common.notes_title"))
    notes = [
        *map(words.say, run.assumed),
        *scale_notes(run, words),
        *order_notes(run, words),
        *asking_notes(run, words),
        *review_notes(run, words),
        *repeatability_notes(run, words),
    ]
    if run.settings.limit is not None:
        notes.append(words.text("common.note.few_items", limit=run.settings.limit))
    counts = counted(run, words)
    notes.append(
        words.text(
            "common.note.failures" if counts["failed"] else "common.note.no_failures",
            **counts,
        )
    )
    yield Bullets(notes)
    if counts["failed"]:
        yield from failures(run, words)
    yield Paragraph(words.text("common.not_applicable"), "small")


def _results(run: FinishedRun, words: Words) -> Iterator[Block]:
    several = sum(result.verdict is not None for result in run.results) > 1
    for result in run.results:
        own = words.of_result(result)
        heading = words.find(f"{result.name}.title") or result.name
        heading = f"{heading}: {result.part}" if result.part else heading
        yield Heading(
            words.text("common.exploratory_title", title=heading)
            if exploratory(result, run)
            else heading
        )
        if result.verdict is not None and several:
            yield Paragraph(own.answered(result.verdict))
        if result.findings:
            yield Bullets([own.say(finding) for finding in result.findings])
        # The picture that stands under the answer is not shown a second time.
        first = _first_figure(run)
        below = [
            figure
            for figure in result.drawings
            if first is None or figure is not first[1]
        ]
        yield from pictures(
            below, own, result.name, run.rubric, run.folder, result.full("")
        )
        for name, frame in result.tables.items():
            units, before = result.columns.get(name), result.full("")
            yield from frame_blocks(
                frame, own, result.name, name, run.folder, before, units
            )
    if not any(result.drawings for result in run.results):
        yield Heading(words.text("common.scores_title"))
        # categories without an order have none
        scores: dict[str, list[np.ndarray]] = {}
        for rows in in_parts(run.frame, ["condition", "score"]):
            scored = rows[rows["score"].notna()]
            conditions = scored["condition"].fillna("all").astype(str)
            for name, own in scored["score"].groupby(conditions, sort=False):
                scores.setdefault(str(name), []).append(own.to_numpy())
        groups = {name: np.concatenate(own) for name, own in scores.items()}
        drawn = FigureData(
            "scores", "histogram", {"groups": groups, "bins": 20, "x_label": "score"}
        )
        yield from pictures(
            [drawn] if groups else [], words, "common", run.rubric, run.folder
        )


def counted(run: FinishedRun, words: Words) -> dict[str, Any]:
    """How many judgments there are in `total`, `judged` and `failed`, and these by kind: "refused:
    3, off scale: 1"."""
    kinds = Counter(
        str(kind)
        for rows in in_parts(run.frame, ["error"])
        for kind in rows["error"].dropna()
    )
    told = ", ".join(
        f"{_kind(kind, words)}: {words.number(n)}" for kind, n in kinds.most_common()
    )
    total, failed = len(run.frame), kinds.total()
    return {"total": total, "judged": total - failed, "failed": failed, "kinds": told}


def _kind(kind: str, words: Words) -> str:
    return words.find(f"common.failure.{kind}") or kind


def failures(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The first MOST_FAILURES failed judgments with kind and message, and how many more there
    are."""
    failed = [
        rows["error"].notna().to_numpy() for rows in in_parts(run.frame, ["error"])
    ]
    places, rows = np.flatnonzero(np.concatenate(failed)), []
    told = run.frame.iloc[places[:MOST_FAILURES]].to_dict("records")
    named = {row["item_id"] for row in told}
    by_key = {
        judgment.key: judgment
        for judgment in run.judgments
        if judgment.item_id in named
    }
    for row in told:
        message = getattr(
            getattr(by_key.get(_KEY(row)), "outcome", None), "message", ""
        )
        rows.append(
            (_named(row, run), _kind(str(row["error"]), words), shorten(message))
        )
    headers = [
        words.text(f"common.failure_{key}") for key in ("item", "kind", "message")
    ]
    yield Table(headers, rows, named=(True, False, False))
    if len(places) > MOST_FAILURES:
        yield Paragraph(
            words.text("common.note.failures_more", more=len(places) - MOST_FAILURES),
            "small",
        )


def items(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The texts furthest from their label, with the highest, lowest and least certain scores, and
    those marked for review; of an optimisation by the program that it came to, as in all analyses.
    """

    def told(rows: pd.DataFrame) -> dict[str, np.ndarray]:
        shown = (
            (rows["repeat"] == 0)
            & rows["error"].isna()
            & ((rows["judge"] == AFTER) if run.programs else True)
        )
        score = rows["score"].to_numpy(dtype=float)
        flagged = rows["review"].to_numpy(dtype=bool)
        values = {"furthest": np.abs(score - rows["label"].to_numpy(dtype=float))}
        score = -score if words.turned else score
        # Categories without an order have no score, and come as they are.
        values |= {
            "highest": np.nan_to_num(score, nan=-np.inf),
            "lowest": np.nan_to_num(-score, nan=-np.inf),
        }
        values |= {
            "uncertain": -rows["confidence"].to_numpy(dtype=float),
            "review": np.where(flagged, 1.0, np.nan),
        }
        return {key: np.where(shown, own, np.nan) for key, own in values.items()}

    # a list lacks the items of those before it
    # An item is shown once, though it may be the furthest, the highest and the least
    # certain.
    most = ITEMS_EACH * (1 + LISTS * len(run.parts))
    columns = ["repeat", "error", "judge", "score", "label", "confidence", "review"]
    orders = foremost(run.frame, columns, told, most)
    known = iter(run.frame.iloc[np.concatenate([*orders.values()])].to_dict("records"))
    lists = {
        key: list(itertools.islice(known, len(order))) for key, order in orders.items()
    }
    yield Heading(words.text("common.items_title"))
    intro = "items_redacted" if run.settings.redacted else "items_intro"
    yield Paragraph(words.text(f"common.{intro}", length=EXCERPT))
    seen, shown = set[str](), dict[str, list[dict[Any, Any]]]()
    for key, own in lists.items():
        shown[key] = [row for row in own if row["item_id"] not in seen][:ITEMS_EACH]
        seen |= {row["item_id"] for row in shown[key]}
    judged = {item.id: item for item in run.items if item.id in seen}
    by_key = {
        judgment.key: judgment for judgment in run.judgments if judgment.item_id in seen
    }
    for key, rows in shown.items():
        if rows:
            yield Heading(words.text(f"common.items_{key}"), level=3)
        for row in rows:
            item = judged[row["item_id"]]
            text = (
                redacted(item.text)
                if run.settings.redacted
                else _excerpt(item, run.rubric, words)
            )
            yield _quote(row, by_key[_KEY(row)], _named(row, run), text, words)


def _named(row: Mapping[Any, Any], run: FinishedRun) -> str:
    """The item, and whose judgment of it this is where there are several."""
    part = run.parts[row["judge"], row["criterion"]]
    return f"{row['item_id']}, {part}" if part else str(row["item_id"])


def _excerpt(item: Item, rubric: Rubric, words: Words) -> str:
    """What was judged, shortened; under headings where the rubric shows several inputs."""
    shown = [name for name in rubric.inputs if name in item.inputs]
    if len(shown) < 2:
        return shorten(item.inputs[shown[0]] if shown else item.text)
    headings = getattr(rubric.wordings.get(words.language), "headings", {})
    return "\n".join(
        f"{headings.get(name, name)}: {shorten(item.inputs[name])}" for name in shown
    )


def _quote(
    row: Mapping[Any, Any], judgment: Judgment, name: str, text: str, words: Words
) -> Quote:
    verdict, facts = judgment.outcome, []
    assert isinstance(verdict, Verdict)
    for field in ("score", "category", "interval", "confidence"):
        if (value := getattr(verdict, field)) is not None:
            key = (
                f"{field}_{verdict.confidence_source}"
                if field == "confidence"
                else field
            )
            if field in ("score", "interval"):
                value = words.quoted(*np.atleast_1d(value))
            facts.append(words.text(f"common.item_{key}", **{field: value}))
    if verdict.uncertainty is not None:
        told = {"level": words.text(f"common.level_{verdict.uncertainty}")}
        # What gives the level: the confidence beside it may come from something else.
        if isinstance(known := verdict.details.get("level_from"), str):
            told["sources"] = ", ".join(
                words.find(f"common.level_from_{name}") or name
                for name in known.split(", ")
            )
        facts.append(
            words.text(
                f"common.item_uncertainty{'_from' if 'sources' in told else ''}", **told
            )
        )
    if not missing(row["label"]):
        facts.append(words.text("common.item_label", label=words.said(row["label"])))
    condition = (
        "" if row["condition"] is None else f" ({words.value(row['condition'])})"
    )
    details = (
        f"{k} {words.number(v, 'g') if isinstance(v, float) else v}"
        for k, v in verdict.details.items()
    )
    below = {
        "rationale": verdict.rationale,
        "issues": "; ".join(verdict.issues),
        "details": "; ".join(details),
    }
    lines = (
        f"{words.text(f'common.{key}')} {shorten(line)}"
        for key, line in below.items()
        if line
    )
    return Quote(
        f"{name}{condition}: {'; '.join(facts)}",
        text,
        " ".join(lines) or None,
        judgment.item_id,
    )


def shorten(text: str, most: int = EXCERPT) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rstrip() + "…"


def what_was_run(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The facts of a run as a two-column table."""
    yield Heading(words.text("common.ran_title"))
    metrics, split, text = run.metrics, run.settings.split, words.text
    counts = counted(run, words) | {
        "items": len(run.items),
        "repeats": len(run.repeats),
    }
    parts = ", ".join(run.parts.values())
    # of an optimisation, what it came to
    program = run.programs[-1] if run.programs else None
    kept = (
        text("common.split_none")
        if split is None
        else text("common.split_of", split=split)
    )
    times = {
        "total": words.duration(run.seconds),
        "judging": words.duration(metrics.get("judging_seconds", 0.0)),
    }
    facts = {
        "model": ": ".join(dict.fromkeys((run.choices["model"], run.model_name))),
        "readout": run.choices.get("readout"),
        "prompt": text(
            "common.prompt_field", id=run.prompt_id, hash=run.prompt_hash[:12]
        ),
        "program": (
            program
            and text(
                "common.prompt_field", id=program["name"], hash=program["digest"][:12]
            )
        ),
        "judge": run.choices["judge"],
        "rubric": run.rubric.name,
        "dataset": text(
            "common.dataset_field",
            name=run.choices["dataset"],
            items=len(run.items),
            split=kept,
        ),
        "digest": run.dataset_digest[:16],
        "analysis": run.choices["analysis"],
        "judged": text("common.judged_field", **counts)
        + (f": {parts}" if parts else ""),
        "failed": counts["kinds"] or "0",
        **{
            name: words.number(metrics[key], "d")
            for name, key in (("calls", "calls"), ("cached", "calls_cached"))
        },
        "tokens": " / ".join(
            words.number(metrics[k], "d") for k in ("input_tokens", "output_tokens")
        ),
        "usd": (
            words.number(metrics["usd"], "g")
            if "usd" in metrics
            else text("common.usd_unknown")
        ),
        "seconds": text(
            "common.time_field", rate=metrics.get("judgments_per_second"), **times
        ),
        "seed": str(run.settings.seed),
        "config": run.judgments[0].provenance.config_hash[:16],
        "identity": run.identity[:16],
        "git": run.versions.get("git", "unknown"),
        "versions": ", ".join(
            f"{k} {v}" for k, v in run.versions.items() if k != "git"
        ),
    }
    absent = {
        *(ASKING if run.elsewhere else ()),
        *(() if run.programs else ("program",)),
    }
    yield Table(
        (),
        [
            (text(f"common.field.{key}"), str(value))
            for key, value in facts.items()
            if key not in absent
        ],
    )


def scale(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The rubric: what it measures, what it asks, of which inputs, on which scale, and what the
    values mean."""
    rubric = run.rubric
    language = (
        words.language
        if words.language in rubric.wordings
        else next(iter(rubric.wordings))
    )
    wording, scale = rubric.wordings[language], rubric.scale
    direction = (
        [words.text(f"common.{rubric.direction}")]
        if rubric.direction is not None
        else []
    )
    if direction and words.turned:
        direction.append(words.text(f"common.{rubric.direction}_turned"))
    yield Heading(words.text("common.rubric_title"))
    yield Paragraph(" ".join([wording.definition.strip(), *direction]))
    if run.uses_prompt:  # else nobody is asked it
        yield Paragraph(
            words.text("common.rubric_question", question=wording.question.strip())
        )
    if len(rubric.inputs) > 1:
        shown = "; ".join(wording.headings.get(name, name) for name in rubric.inputs)
        yield Paragraph(words.text("common.rubric_inputs", inputs=shown))
    span = scale.span()
    if isinstance(scale, NumericScale):
        steps = "span" if scale.step is None else "span_in_steps"
        units = wording.unit or words.units
        ends = {"low": scale.minimum, "high": scale.maximum, "step": scale.step}
        span = words.text(f"common.{steps}", **ends, unit=units).rstrip()
    yield Paragraph(words.text("common.rubric_scale", span=span))
    if guided := rubric.guided(language):
        anchored = isinstance(rubric.guide, Anchors)
        rows = [
            (words.localise(name) if anchored else name, meaning)
            for name, meaning in guided
        ]
        headers = [words.text("common.level"), words.text("common.meaning")]
        own = words.reader
        if anchored and own is not None and own.counts:
            headers.insert(1, words.text("common.own_level"))
            grades = [words.number(own.label(float(name)), "g") for name, _ in guided]
            table = [
                (score, grade, said)
                for (score, said), grade in zip(rows, grades, strict=True)
            ]
            yield Table(headers, table, numeric=(True, True, False))
            return
        yield Table(headers, rows, numeric=(anchored, False))


def prompt(run: FinishedRun, words: Words) -> Iterator[Block]:
    """What models were shown, for each way in which the judge asks."""
    if run.elsewhere:
        return
    yield Heading(words.text("common.prompt_title"))
    for way in run.asked:
        if len(run.asked) > 1:
            asked = words.text(
                "common.prompt_way",
                readout=way.readout,
                prompt=way.prompt,
                model=way.model,
            )
            yield Heading(f"{way.judge}: {asked}" if way.judge else asked, level=3)
        yield Paragraph(
            words.text(
                "common.prompt_shown" if way.uses_prompt else "common.prompt_unused"
            )
        )
        if way.text:
            yield Code(way.text)


def licences(run: FinishedRun, words: Words) -> Iterator[Block]:
    """Whose the models and the texts are, as they say themselves."""
    yield Heading(words.text("common.licence_title"))
    bullets = []
    for licence, what in [
        *((licence, "model") for licence in run.model_licences),
        (run.data_licence, "data"),
    ]:
        # in the report's language, else in English, else as it is there
        known = licence or {}
        texts = filter(
            None, (*map(known.get, (words.language, FALLBACK)), *known.values())
        )
        bullets.append(next(texts, None) or words.text(f"common.licence_{what}"))
    yield Bullets(bullets)


def repeat(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The command that repeats the run: as Hydra noted it, or made from the choices."""
    overrides, exact = typed(run)
    yield Heading(words.text("common.repeat_title"))
    yield Paragraph(
        words.text("common.repeat_exact" if exact else "common.repeat_from_choices")
    )
    yield Code(command(overrides))
    yield Paragraph(words.text("common.repeat_files"), "small")


def _made(run: FinishedRun, words: Words) -> Iterator[Block]:
    """Where the numbers come from, folded: what was run with its versions and hashes, prompt,
    licences, command."""
    yield Fold(words.text("common.made_title"))
    for part in (what_was_run, prompt, licences, repeat):
        yield from part(run, words)
    yield Fold()
