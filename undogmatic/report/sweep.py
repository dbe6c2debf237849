"""Writes the report of a sweep: leaderboard, tests between jobs, agreement, figures. Computes
nothing."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pandas import DataFrame

from undogmatic.records.results import Subject
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.words import Words, missing
from undogmatic.report.answers import command, folders_of
from undogmatic.report.contents import scale_notes, shorten
from undogmatic.report.document import (
    Answered,
    Block,
    Bullets,
    Code,
    Contents,
    Document,
    Heading,
    Paragraph,
    Table,
    names_of,
    save,
)
from undogmatic.report.figures import pictures
from undogmatic.report.listed import of_sweep
from undogmatic.report.tables import column_cells, frame_blocks
from undogmatic.report.words import words_for
from undogmatic.report.workbench import bench
from undogmatic.runs.folder import RunFolder

MULTIRUN = "multirun.yaml"  # Hydra leaves in it what was typed
SEARCHING = ("hydra/sweeper", "hydra.sweeper.", "hydra/launcher", "hydra.launcher.")
MOST_JOBS = 12  # on the terminal; the report has all


def write(sweep: SweepResult, folder: Path, beside: str = "") -> None:
    """Write `report.md`, `report.html` and `figures/` of a sweep into `folder`; `beside` as for a
    run."""
    words = words_for(sweep)
    words.beside = beside
    blocks = list(_blocks(sweep, words, folder))
    foot = words.text("common.offline_note" if sweep.scores.empty else "bench.foot")
    names, asked = names_of(sweep.items), title(sweep, words)
    save(
        Document(words.language, asked, sweep.name, blocks, foot, names, beside), folder
    )


def title(sweep: SweepResult, words: Words) -> str:
    """What a sweep asks."""
    return words.text("common.sweep_question", jobs=sweep.count)


def answers(sweep: SweepResult, words: Words) -> list[Answered | str]:
    """The verdicts of a sweep, one per criterion; a sentence where nothing is claimed."""
    said: list[Answered | str] = []
    for finding in sweep.findings[: sweep.verdicts]:
        sentence, answer = words.say(finding), finding.answer
        word = "" if answer is None else words.text(f"common.answer.{answer}")
        said.append(sentence if answer is None else Answered(answer, word, sentence))
    if (
        said
        and isinstance(first := said[0], Answered)
        and (overrides := _whole(typed(sweep)))
    ):
        # what is to be done may be the rule's own
        rule = sweep.findings[0].key.replace(".verdict", "")
        endless = any(
            f.subject == Subject.VAIN for f in sweep.findings[: sweep.verdicts]
        )
        step = "endless" if endless and first.answer == "undecided" else first.answer
        own = f"next.{rule}"
        commands = {"other": wider(overrides), "again": swept(overrides)}
        below = words.text(own if words.find(own) else f"next.sweep_{step}", **commands)
        place, last = [
            (n, each) for n, each in enumerate(said) if isinstance(each, Answered)
        ][-1]
        said[place] = last._replace(below=below.split("\n"))
    return said or [words.text("common.no_verdict")]


def _whole(overrides: Sequence[str]) -> list[str]:
    """Without a limit to the texts: what comes next is asked of all of them."""
    return [each for each in overrides if not each.lstrip("+").startswith("run.limit=")]


def typed(sweep: SweepResult) -> list[str]:
    """What was typed to begin a sweep; empty where it was not noted."""
    noted = RunFolder(sweep.folder)
    task = noted.noted(MULTIRUN, "hydra", "overrides", "task")
    hydra = noted.noted(MULTIRUN, "hydra", "overrides", "hydra")
    how = (
        [str(o) for o in hydra if str(o).lstrip("+").startswith(SEARCHING)]
        if isinstance(hydra, list)
        else []
    )
    return (
        [*folders_of(noted, MULTIRUN), *how, *map(str, task)]
        if isinstance(task, list)
        else []
    )


def swept(overrides: Sequence[str]) -> str:
    """The command of a sweep; that of a run where nothing varies any more."""
    return command(
        ["-m", *overrides]
        if any("," in each or "(" in each for each in overrides)
        else overrides
    )


def wider(overrides: Sequence[str]) -> str:
    """The command of a sweep with one more model to try: the embedded one, which needs no key.
    Where something is set of the model, this one is tried alone, for it need not have that."""
    models = [each for each in overrides if each.startswith("model=")]
    kept = [
        each
        for each in overrides
        if each not in models and not each.lstrip("+~").startswith("model.")
    ]
    alone = len(kept) + len(models) < len(overrides)
    known = models[0].removeprefix("model=").split(",") if models else []
    more = next(
        (model for model in ("local", "qwen", "gpt", "claude") if model not in known),
        "",
    )
    return swept(
        [
            *kept,
            f"model={more if alone and more else ','.join(filter(None, [*known, more]))}",
        ]
    )


def leaderboard(
    sweep: SweepResult, words: Words, most: int | None = None
) -> Table | None:
    """Jobs with what varies between them and their headline metric with its interval; None without
    a headline."""
    if sweep.headline is None:
        return None
    jobs = sweep.jobs.head(most) if most is not None else sweep.jobs
    headline = words.metric(sweep.headline) or sweep.headline
    counts = (
        [c for c in ("judged", "failed") if c in jobs]
        if "failed" in jobs and jobs["failed"].any()
        else []
    )
    names = [
        "number",
        *sweep.choices,
        "status",
        *counts,
        *(["standing"] if "standing" in jobs else []),
    ]
    cells = [column_cells(c, jobs[c].tolist(), words, "sweep") for c in names]
    figures = [*jobs["headline"], *jobs["low"], *jobs["high"]]
    spec = words.spec(sweep.unit, *figures)  # as sentences say it
    numbers = [words.number(figure, spec) for figure in figures]
    values, lows, highs = (numbers[n * len(jobs) :][: len(jobs)] for n in range(3))
    ends = zip(jobs["low"], jobs["high"], lows, highs, strict=True)
    separator = words.text("common.interval_separator")
    intervals = [
        "" if missing(a) and missing(b) else f"[{low}{separator}{high}]"
        for a, b, low, high in ends
    ]
    rows = [
        *_of_unseen(sweep, words, names, jobs),
        *zip(*cells, values, intervals, strict=True),
    ]
    headers = [
        *(words.heading(c, "sweep") for c in names),
        headline,
        words.text("common.interval"),
    ]
    caption = words.text("terminal.leaderboard", headline=headline)
    return Table(
        headers,
        rows,
        [True, *(name in counts for name in names[1:]), True, True],
        caption,
    )


def _of_unseen(
    sweep: SweepResult, words: Words, names: Sequence[str], jobs: DataFrame
) -> list[tuple[str, ...]]:
    """The row of the winner of a search on the texts that no trial has seen, which comes first;
    none without one."""
    verdicts = sweep.findings[: sweep.verdicts]
    found = next((each for each in verdicts if each.subject == Subject.UNSEEN), None)
    if found is None or sweep.headline is None:
        return []
    value, ends = found.values["test"], found.values["test_interval"]
    known = {
        "number": "final",
        "status": words.text("terminal.unseen"),
        "judged": str(found.values["texts"]),
    }
    if found.answer is not None:
        standing = {"yes": "supported", "no": "refuted"}.get(found.answer, "undecided")
        known["standing"] = column_cells("standing", [standing], words, "sweep")[0]
    best = jobs[jobs["name"] == found.values["best"]]
    known |= {
        c: column_cells(c, best[c].tolist(), words, "sweep")[0]
        for c in sweep.choices
        if len(best)
    }
    spec = words.spec(sweep.unit, value, *ends)
    told, low, high = (words.number(figure, spec) for figure in (value, *ends))
    interval = f"[{low}{words.text('common.interval_separator')}{high}]"
    return [
        (
            *(known.get(name, "") for name in names),
            told,
            "" if any(map(missing, ends)) else interval,
        )
    ]


def _blocks(sweep: SweepResult, words: Words, folder: Path) -> Iterator[Block]:
    for said in answers(sweep, words):
        yield Paragraph(said, "verdict") if isinstance(said, str) else said
    if sweep.failed:
        yield Paragraph(
            words.text(
                "common.sweep_failures_alert",
                failed=len(sweep.failed),
                jobs=sweep.count,
            ),
            "alert",
        )
    if sweep.figures:
        yield from pictures(sweep.figures[:1], words, "sweep", sweep.rubric, folder)
    table = None if sweep.scores.empty else bench(of_sweep(sweep, words), words)
    yield from [Paragraph(table.begins)] if table is not None and table.begins else []
    yield Contents(words.text("bench.contents"))
    yield Heading(words.text("common.leaderboard_title"))
    yield leaderboard(sweep, words) or Paragraph(words.text("terminal.no_leaderboard"))
    shown = {*sweep.choices, "status", "standing", "headline", "low", "high"}
    further = sweep.jobs[[c for c in sweep.jobs.columns if c not in shown]]
    if len(further.columns) > 2:
        units = sweep.columns.get("jobs")
        yield from frame_blocks(further, words, "sweep", "jobs", folder, units=units)
    others = [words.say(finding) for finding in sweep.findings[sweep.verdicts :]]
    if others := [*scale_notes(sweep, words), *others]:
        yield Bullets(others)
    yield Paragraph(words.text("common.not_applicable"), "small")
    if table is not None:
        yield Heading(words.text("bench.title"))
        yield table
    if sweep.failed:
        yield Heading(words.text("common.sweep_failed_title"))
        headers = [words.heading("number"), words.text("common.failure_message")]
        yield Table(headers, [(job, shorten(message)) for job, message in sweep.failed])

    titled = [
        (name, frame, f"sweep.title_{name}") for name, frame in sweep.tables.items()
    ]
    titled += [
        (name, getattr(sweep, name), f"common.sweep_{name}_title")
        for name in ("comparisons", "agreement")
    ]
    for name, frame, title in titled:
        yield Heading(words.text(title))
        units = sweep.columns.get(name)
        yield from frame_blocks(frame, words, "sweep", name, folder, units=units)
    if sweep.figures[1:]:
        yield Heading(words.text("common.figures_title"))
        yield from pictures(sweep.figures[1:], words, "sweep", sweep.rubric, folder)

    yield Heading(words.text("common.repeat_title"))
    if overrides := typed(sweep):
        yield Code(command(["-m", *overrides]))
    yield Paragraph(words.text("common.sweep_repeat"))
