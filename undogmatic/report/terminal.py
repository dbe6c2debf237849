"""The end of a run on the terminal: verdict, a short table, notes and paths. Plain text where there is no terminal."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from undogmatic.records.results import Finding
from undogmatic.report.document import Table
from undogmatic.report.words import Words
from undogmatic.runs.folder import METRICS, SCORES
from undogmatic.runs.outcome import FinishedRun, SweepResult
from undogmatic.safety.command import as_typed
from undogmatic.safety.outside import visible

PLAIN_WIDTH = 120


def show(run: FinishedRun, where: str | None) -> None:
    """Print to stdout how a run ended whose report is written already; `where` says how to open the tracking UI."""
    from undogmatic.report.contents import (
        asking_notes,
        counted,
        order_notes,
        repeatability_notes,
        review_notes,
        verdicts,
    )
    from undogmatic.report.tables import key_figures

    words = Words.of(run)
    counts = counted(run, words)
    notes = [words.text("terminal.judged" if counts["failed"] else "terminal.judged_all", **counts)]
    notes += order_notes(run, words)
    whole = run.uses_prompt and not any(way.without for way in run.asked)
    notes += asking_notes(run, words)[: 1 if whole else None]
    notes += review_notes(run, words)
    if run.fitted:
        notes.append(words.text("common.note.fitted", fitted=run.fitted, total=len(run.items)))
    notes.append(" ".join(repeatability_notes(run, words)))
    paths = {"report": run.folder / "report.html", "scores": run.folder / SCORES, "metrics": run.folder / METRICS}
    _print(words, verdicts(run, words), key_figures(run.results, words), ["", *notes, ""], paths, where)


def show_assumed(assumed: Sequence[Finding], texts: Path, language: str) -> None:
    """Print to stdout what was assumed of the dataset's file, before anything is judged."""
    words = Words(language, [texts])
    put([*map(words.say, assumed), ""])


def show_sweep(sweep: SweepResult, where: str | None) -> None:
    """Print how a sweep ended to stdout: verdict, leaderboard, failed jobs, paths."""
    from undogmatic.report.sweep import MOST_JOBS, leaderboard

    words = Words.of(sweep)
    table, lines = leaderboard(sweep, words, MOST_JOBS), [""]
    if table is not None and len(table.rows) < len(sweep.jobs):
        lines.insert(0, words.text("terminal.leaderboard_cut", shown=len(table.rows), jobs=len(sweep.jobs)))
    lines.append(words.text("terminal.sweep_jobs", jobs=sweep.count, failed=len(sweep.failed)))
    lines += [*(f"  {job}: {message}" for job, message in sweep.failed), ""]
    sentences = [words.say(finding) for finding in sweep.findings[: sweep.verdicts]]
    _print(words, sentences, table, lines, {"report": sweep.folder / "report.html"}, where)


def _print(
    words: Words, sentences: list[str], table: Table | None, lines: list[str], paths: dict[str, Path], where: str | None
) -> None:
    put(["", *sentences], style="bold")
    put(lines, table)
    named = {key: str(as_typed(path)) for key, path in paths.items()} | ({} if where is None else {"tracking": where})
    put_paths({words.text(f"terminal.{key}"): path for key, path in named.items()})


def put(lines: Sequence[str] = (), table: Table | None = None, style: str | None = None) -> None:
    """Print a table and then lines as they are: nothing in them is markup, and control characters do nothing."""
    from rich.console import Console
    from rich.text import Text

    plain = not sys.stdout.isatty()
    width = PLAIN_WIDTH if plain else None
    console = Console(file=sys.stdout, highlight=False, width=width, emoji=False, markup=False)
    if table is not None:
        from rich import box
        from rich.table import Table as RichTable

        look: dict[str, Any] = {"box": box.SIMPLE_HEAD, "title_justify": "left", "title_style": "", "pad_edge": False}
        shown = RichTable(title=table.caption, **look)
        for header, numeric in zip(table.headers, table.numeric, strict=True):
            shown.add_column(Text(visible(header)), justify="right" if numeric else "left")
        for row in table.rows:
            shown.add_row(*(Text(visible(cell)) for cell in row))
        console.print(shown)
    for line in lines:
        console.print(visible(line), style=style, soft_wrap=plain)


def put_paths(named: Mapping[str, str]) -> None:
    """Print what was written where, one below the other; a path broken over two lines cannot be copied."""
    for label, path in named.items():
        print(visible(f"{label:<{max(map(len, named))}}  {path}"))
