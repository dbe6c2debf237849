"""Prints how a run ended: what was asked, the answer, a short table, notes and paths.

Plain text where there is no terminal; of a usual run at most 25 lines, since the report has the
rest.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.records.results import Answer, Finding, Weight
from undogmatic.records.sweep_result import SweepResult
from undogmatic.records.words import Words
from undogmatic.report.document import Answered, Table
from undogmatic.report.words import words_for
from undogmatic.runs.folder import METRICS, SCORES, RunFolder
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import as_typed
from undogmatic.safety.outside import visible
from undogmatic.safety.terminal import console, put, put_paths

# on old terminals
PLAIN_MARKS: Mapping[Answer, str] = {
    "yes": "+",
    "not_yet": "~",
    "no": "x",
    "undecided": "?",
}

STYLES: Mapping[Answer, str] = {
    "yes": "bold green",
    "not_yet": "bold yellow",
    "no": "bold red",
    "undecided": "bold blue",
}
FIGURES = 3  # of the key figures; the report has more


def show(run: FinishedRun, where: str | None, brief: bool = False) -> None:
    """Print to stdout how a run ended whose report is written already; `where` says how to open the
    tracking UI. Of a job of a sweep, whose end tells of all, only the answer (`brief`)."""
    from undogmatic.report.answers import answers
    from undogmatic.report.contents import (
        asking_notes,
        counted,
        order_notes,
        repeated,
        review_notes,
        scale_notes,
        title,
    )
    from undogmatic.report.tables import key_figures

    words = words_for(run)
    said = answers(run, words) or [words.text("common.no_verdict")]
    if brief:
        varied = ", ".join(RunFolder(run.folder).varied)
        name = words.text(
            "terminal.job_varied" if varied else "terminal.job",
            number=run.folder.name,
            varied=varied,
        )
        (
            put([f"{name}: {first}"])
            if isinstance(first := said[0], str)
            else put_answer(
                first._replace(
                    about=f"{name}: {first.about}" if first.about else name, below=()
                )
            )
        )
        return
    counts = counted(run, words)
    judged = words.text(
        "terminal.judged" if counts["failed"] else "terminal.judged_all", **counts
    )
    notes = [" ".join([judged, *asking_notes(run, words)])]
    # On what limits or reverses the answer all scores depend.
    notes += [
        words.say(finding) for finding in run.assumed if finding.weight <= Weight.LIMITS
    ]
    notes += [
        *scale_notes(run, words),
        *order_notes(run, words),
        *review_notes(run, words),
        *repeated(run, words),
    ]
    if run.fitted:  # what takes all figures back comes before them
        said = [
            words.text("common.note.fitted", fitted=run.fitted, total=len(run.items)),
            *said,
        ]
    paths = {
        "report": run.folder / "report.html",
        "scores": run.folder / SCORES,
        "metrics": run.folder / METRICS,
    }
    _print(
        words,
        title(run, words),
        said,
        key_figures(run.results, words, FIGURES),
        [*(note.replace("`", "") for note in notes), ""],
        paths,
        where,
    )


def show_assumed(
    assumed: Sequence[Finding], texts: Sequence[Path], language: str
) -> None:
    """Print to stdout what was assumed of the dataset's file, before anything is judged."""
    words = Words(language, texts)
    put([*map(words.say, assumed), ""])


def show_sweep(sweep: SweepResult, where: str | None) -> None:
    """Print how a sweep ended to stdout: verdict, leaderboard, failed jobs, paths."""
    from undogmatic.report.contents import scale_notes
    from undogmatic.report.sweep import MOST_JOBS, answers, leaderboard, title

    words = words_for(sweep)
    table, lines = leaderboard(sweep, words, MOST_JOBS), [""]
    if table is not None and len(table.rows) < len(sweep.jobs):
        lines.insert(
            0,
            words.text(
                "terminal.leaderboard_cut", shown=len(table.rows), jobs=len(sweep.jobs)
            ),
        )
    lines.append(
        words.text("terminal.sweep_jobs", jobs=sweep.count, failed=len(sweep.failed))
    )
    lines += [f"  {job}: {message}" for job, message in sweep.failed]
    lines += [note.replace("`", "") for note in scale_notes(sweep, words)] + [""]
    paths = {"report": sweep.folder / "report.html"}
    _print(
        words, title(sweep, words), answers(sweep, words), table, lines, paths, where
    )


def _print(
    words: Words,
    title: str,
    said: Sequence[Answered | str],
    table: Table | None,
    lines: list[str],
    paths: dict[str, Path],
    where: str | None,
) -> None:
    put(["", title], style="bold")
    for each in said:
        put_answer(each) if isinstance(each, Answered) else put([each])
    if table is not None:
        put_table(table)
    put(lines)
    named = {key: str(as_typed(path)) for key, path in paths.items()} | (
        {} if where is None else {"tracking": where}
    )
    put_paths({words.text(f"terminal.{key}"): path for key, path in named.items()})


def put_answer(said: Answered) -> None:
    """Print a verdict: its shape and word, in colour where there is colour, its sentence and what
    stands below it."""
    from rich.text import Text

    encoding = sys.stdout.encoding or "utf-8"
    mark = (
        said.mark if said.mark.encode(encoding, "ignore") else PLAIN_MARKS[said.answer]
    )
    about = f"{said.about}: " if said.about else ""
    line = (
        Text(f"{mark} ")
        + Text(f"{said.word}.", STYLES[said.answer])
        + Text(f" {visible(about + said.text)}")
    )
    console().print(line, soft_wrap=not sys.stdout.isatty())
    put([line.replace("`", "") for line in said.below])


def put_table(table: Table) -> None:
    """Print a table as it is: nothing in it is markup, and control characters do nothing."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    look: dict[str, Any] = {
        "box": box.SIMPLE_HEAD,
        "title_justify": "left",
        "title_style": "",
        "pad_edge": False,
    }
    shown = RichTable(title=table.caption, **look)
    for k, (header, numeric) in enumerate(
        zip(table.headers, table.numeric, strict=True)
    ):
        # an interval stays in one line
        whole = any(row[k].startswith("[") for row in table.rows)
        shown.add_column(
            Text(visible(header)),
            justify="right" if numeric else "left",
            no_wrap=whole,
        )
    for row in table.rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    console().print(shown)
