"""Composes the report of a run in reading order: verdict, what was run, notes, results, texts, prompt, repetition."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from undogmatic.analyses.plan import NAME as PLAN
from undogmatic.records.results import AnalysisResult, FigureData
from undogmatic.records.rubric import Rubric
from undogmatic.report import figures
from undogmatic.report.document import Block, Bullets, Document, Heading, Paragraph, Picture
from undogmatic.report.excerpts import failure_counts, failures, items
from undogmatic.report.provenance import licences, prompt, repeat, scale, what_was_run
from undogmatic.report.tables import frame_blocks, key_figures, key_table
from undogmatic.report.words import Words
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import as_typed


def compose(run: FinishedRun, words: Words) -> Document:
    """The document of a run; draws its figures into `run.folder/figures` on the way."""
    date = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(run.started))
    lead = words.text("common.lead", name=run.name, date=date)
    document = Document(words.language, title(run, words), lead, foot=words.text("common.offline_note"))
    for part in (_verdict, what_was_run, scale, _notes, _results, items, prompt, licences, repeat):
        document.blocks.extend(part(run, words))
    return document


def title(run: FinishedRun, words: Words) -> str:
    """The run's question: that of its first analysis with one (`<analysis>.question`), else a general one."""
    keys = (f"{r.name}.question" for r in run.results if words.find(f"{r.name}.question") is not None)
    return words.text(next(keys, "common.question"), model=run.choices["model"], rubric=run.rubric.name)


def verdicts(run: FinishedRun, words: Words) -> list[str]:
    """The verdict sentence of every analysis that gives one; one sentence if none does."""
    sentences = [
        (f"{result.part}: " if result.part else "")
        + words.say(result.verdict)
        + (f" {words.text('common.exploratory')}" if _exploratory(result, run) else "")
        for result in run.results
        if result.verdict is not None
    ]
    return sentences or [words.text("common.no_verdict")]


def asking_notes(run: FinishedRun, words: Words) -> list[str]:
    """How models were asked: which readout was used and what the prompt reaches; or that nobody was."""
    if run.elsewhere:
        return [words.text("common.note.elsewhere")]
    if "prompt" not in run.choices:  # nobody was given one
        return [words.text("common.note.computed", judge=run.choices["judge"])]
    asked = {"readout": run.choices["readout"]} | ({"asked": "auto"} if run.settings.automatic else {})
    readout_note = words.text(f"common.note.readout{'' if run.settings.automatic else '_named'}", **asked)
    blind = ", ".join(dict.fromkeys(way.readout for way in run.asked if not way.uses_prompt))
    if not run.uses_prompt:
        return [readout_note, words.text("common.note.prompt_unused", readout=blind)]
    key = "prompt_partly" if blind else "prompt_used"
    prompt_note = words.text(f"common.note.{key}", prompt=run.prompt_id, readout=blind)
    for part in ("instructions", "demonstrations"):
        if unsent := ", ".join(dict.fromkeys(way.readout for way in run.asked if part in way.without)):
            prompt_note += f" {words.text(f'common.note.without_{part}', readout=unsent)}"
    return [readout_note, prompt_note]


def review_notes(run: FinishedRun, words: Words) -> list[str]:
    """Count, for each judge with levels, how many texts it rated with low, medium and high doubt, and marked."""
    notes = []
    for (judge, criterion), part in run.parts.items():
        rows = (run.frame["judge"] == judge) & (run.frame["criterion"] == criterion) & (run.frame["repeat"] == 0)
        first = run.frame[rows]
        levels = first["uncertainty"].dropna()
        if levels.empty:
            continue
        counts = {level: int((levels == level).sum()) for level in ("high", "medium", "low")}
        counts |= {"without": int(first["error"].isna().sum()) - len(levels), "flagged": int(first["review"].sum())}
        note = words.text("common.note.review", folder=str(as_typed(run.folder)), **counts)
        notes.append(f"{part}: {note}" if part else note)
    return notes


def repeatability_notes(run: FinishedRun, words: Words) -> list[str]:
    """How the scores compare with an earlier run, what the cache answered, and whether the readout samples; nothing of
    scores that were made elsewhere."""
    scores = run.repeatability
    if run.elsewhere:
        return []
    if scores.identical is None:
        notes = [words.text("common.note.repeat_first")]
    else:
        key = "repeat_identical" if scores.identical else "repeat_differs"
        earlier = "" if scores.earlier is None else str(scores.earlier)
        notes = [words.text(f"common.note.{key}", earlier=earlier, difference=scores.max_difference)]
    cached = "repeat_cached" if scores.cached > 0 else "repeat_fresh"
    notes.append(words.text(f"common.note.{cached}", cached=scores.cached))
    return [*notes, words.text("common.note.deterministic" if scores.deterministic else "common.note.sampled")]


def pictures(
    drawn: Sequence[FigureData], words: Words, section: str, rubric: Rubric | None, folder: Path, before: str = ""
) -> list[Block]:
    """Draw the figures of one section as `figures/<before><section>_<name>.png`."""
    blocks: list[Block] = []
    for figure in drawn:
        if figures.size(figure) == 0:
            blocks.append(Paragraph(words.text("figures.empty", name=figure.name), "small"))
            continue
        link = f"figures/{before}{section}_{figure.name}.png"
        figures.draw(figure, words, section, rubric, folder / link)
        blocks.append(Picture(folder / link, link, figures.caption(figure, words, section)))
    return blocks


def _verdict(run: FinishedRun, words: Words) -> Iterator[Block]:
    yield Heading(words.text("common.verdict"))
    for sentence in verdicts(run, words):
        yield Paragraph(sentence, "verdict")
    failed = int(run.frame["error"].notna().sum())
    if failed:
        counted = {"failed": failed, "total": len(run.frame), "kinds": failure_counts(run, words)}
        yield Paragraph(words.text("common.failures_alert", **counted), "alert")
    if keys := key_figures(run.results, words):
        yield Heading(words.text("common.headline_title"), level=3)
        yield key_table(keys, words)


def _notes(run: FinishedRun, words: Words) -> Iterator[Block]:
    yield Heading(words.text("common.notes_title"))
    notes = [*asking_notes(run, words), *review_notes(run, words), *repeatability_notes(run, words)]
    if run.fitted:
        notes.append(words.text("common.note.fitted", fitted=run.fitted, total=len(run.items)))
    if run.settings.limit is not None:
        notes.append(words.text("common.note.few_items", limit=run.settings.limit))
    failed = int(run.frame["error"].notna().sum())
    counted = {"failed": failed, "total": len(run.frame), "kinds": failure_counts(run, words)}
    notes.append(words.text("common.note.failures", **counted) if failed else words.text("common.note.no_failures"))
    yield Bullets(notes)
    if failed:
        yield from failures(run, words)
    yield Paragraph(words.text("common.not_applicable"), "small")


def _results(run: FinishedRun, words: Words) -> Iterator[Block]:
    for result in run.results:
        yield from _result(result, run, words)
    if any(result.figures for result in run.results):
        return
    yield Heading(words.text("common.scores_title"))
    scored = run.frame[run.frame["score"].notna()]  # categories without an order have none, and are counted instead
    if not scored.empty:
        conditions = scored["condition"].fillna("all").astype(str)
        groups = {str(name): scores.tolist() for name, scores in scored["score"].groupby(conditions, sort=False)}
        figure = FigureData("scores", "histogram", {"groups": groups, "bins": 20, "x_label": "score"})
        yield from pictures([figure], words, "common", run.rubric, run.folder)


def _result(result: AnalysisResult, run: FinishedRun, words: Words) -> Iterator[Block]:
    heading = words.find(f"{result.name}.title") or result.name
    heading = f"{heading}: {result.part}" if result.part else heading
    yield Heading(words.text("common.exploratory_title", title=heading) if _exploratory(result, run) else heading)
    if result.verdict is not None and sum(other.verdict is not None for other in run.results) > 1:
        yield Paragraph(words.say(result.verdict))
    if result.findings:
        yield Bullets([words.say(finding) for finding in result.findings])
    yield from pictures(result.figures, words, result.name, run.rubric, run.folder, result.full(""))
    for name, frame in result.tables.items():
        yield from frame_blocks(frame, words, result.name, name, run.folder, result.full(""))


def _exploratory(result: AnalysisResult, run: FinishedRun) -> bool:
    """Whether it is no part of the plan that the run has."""
    return run.settings.planned and result.name != PLAN
