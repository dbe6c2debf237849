"""The end of a run on the terminal: verdict, a short table, notes and paths. Plain text where there is no terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from undogmatic.report.contents import asking_notes, failure_counts, repeatability_notes, review_notes, verdicts
from undogmatic.report.document import Table
from undogmatic.report.sweep import MOST_JOBS, leaderboard
from undogmatic.report.tables import key_figures, key_table
from undogmatic.report.words import Words
from undogmatic.runs.outcome import FinishedRun, SweepResult
from undogmatic.safety.command import as_typed
from undogmatic.safety.outside import visible

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120


def show(run: FinishedRun, where: str | None) -> None:
    """Print to stdout how a run ended whose report is written already; `where` says how to open the tracking UI."""
    words, console = Words.of(run), _console()
    _say(console, "", *verdicts(run, words), style="bold")
    if keys := key_figures(run.results, words):
        _table(console, key_table(keys, words))
    failed = int(run.frame["error"].notna().sum())
    counts = {"judged": len(run.frame) - failed, "failed": failed, "kinds": failure_counts(run, words)}
    notes = [words.text("terminal.judged" if failed else "terminal.judged_all", **counts)]
    whole = run.uses_prompt and not any(way.without for way in run.asked)
    notes += asking_notes(run, words)[: 1 if whole else None]
    notes += review_notes(run, words)
    if run.fitted:
        notes.append(words.text("common.note.fitted", fitted=run.fitted, total=len(run.items)))
    _say(console, "", *notes, " ".join(repeatability_notes(run, words)), "")
    paths = {"report": "report.html", "scores": "scores.csv", "metrics": "metrics.json"}
    _paths(console, words, {key: run.folder / name for key, name in paths.items()}, where)


def show_sweep(sweep: SweepResult, where: str | None) -> None:
    """Print how a sweep ended to stdout: verdict, leaderboard, failed jobs, paths."""
    words, console = Words.of(sweep), _console()
    _say(console, "", *(words.say(finding) for finding in sweep.findings[: sweep.verdicts]), style="bold")
    table = leaderboard(sweep, words, MOST_JOBS)
    if table is not None:
        _table(console, table)
        if len(table.rows) < len(sweep.jobs):
            _say(console, words.text("terminal.leaderboard_cut", shown=len(table.rows), jobs=len(sweep.jobs)))
    _say(console, "", words.text("terminal.sweep_jobs", jobs=sweep.count, failed=len(sweep.failed)))
    _say(console, *(f"  {job}: {message}" for job, message in sweep.failed), "")
    _paths(console, words, {"report": sweep.folder / "report.html"}, where)


def _console() -> Console:
    from rich.console import Console

    plain = not sys.stdout.isatty()
    return Console(file=sys.stdout, highlight=False, width=PLAIN_WIDTH if plain else None, emoji=False, markup=False)


def _say(console: Console, *lines: str, style: str = "") -> None:
    """Lines as they are: nothing in them is markup, and control characters from a model's answer do nothing."""
    for line in lines:
        console.print(visible(line), style=style, soft_wrap=not console.is_terminal)


def _table(console: Console, table: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, title=table.caption, title_justify="left", title_style="", pad_edge=False)
    for header, numeric in zip(table.headers, table.numeric, strict=True):
        shown.add_column(Text(visible(header)), justify="right" if numeric else "left")
    for row in table.rows:
        shown.add_row(*(Text(visible(cell)) for cell in row))
    console.print(shown)


def _paths(console: Console, words: Words, paths: dict[str, Path], where: str | None) -> None:
    named = {key: str(as_typed(path)) for key, path in paths.items()} | ({} if where is None else {"tracking": where})
    labels = {key: words.text(f"terminal.{key}") for key in named}
    width = max(map(len, labels.values()))
    for key, shown in named.items():  # a path broken over two lines cannot be copied
        console.print(f"{labels[key]:<{width}}  {shown}", soft_wrap=True)
