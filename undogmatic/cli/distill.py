"""Holds `undogmatic distill`: fits a student to what a judge said, and reports how far the two
agree."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from undogmatic.cli.check import READING, add_reading
from undogmatic.cli.doors import words
from undogmatic.cli.numbers import whole
from undogmatic.errors import ConfigError
from undogmatic.safety import files
from undogmatic.safety.apart import in_settings, keep_apart, named
from undogmatic.safety.terminal import put, put_paths

if TYPE_CHECKING:
    from undogmatic.datasets.table import TableOptions
    from undogmatic.fit.distill import Lesson
    from undogmatic.records.results import Told
    from undogmatic.records.rubric import Rubric
    from undogmatic.runs.folder import RunFolder

OWN = ("judge", "criterion")
"""Options that name what a student learns, in runs and tables alike."""
PARAMS = "rubric teacher embeddings_name method penalty n held_out intervals_of coverage".split()
"""What the record of a run in MLflow has as parameters of the student."""


def add(commands: Any) -> None:
    """Add the command."""
    distill = commands.add_parser(
        "distill",
        help="fit a small, fast student to what a judge said in a run or a table",
    )
    what = (
        "folders of runs, tables of verdicts with texts; and config overrides, "
        "e.g. embeddings=e5"
    )
    distill.add_argument(
        "overrides", nargs="+", metavar="RUN|FILE|KEY=VALUE", help=what
    )
    distill.add_argument(
        "--out",
        default="student.safetensors",
        help="where to save it (default: student.safetensors)",
    )
    distill.add_argument("--judge", help="whose scores, where there are several judges")
    distill.add_argument(
        "--criterion", default="overall", help="on which criterion (default: overall)"
    )
    most = "of each run or table at most so many texts, whole groups of them (default: 2000)"
    distill.add_argument(
        "--most", type=whole("--most", 1, None, 500), metavar="N", help=most
    )
    own = "a folder of config groups of your own"
    distill.add_argument(
        "--config-dir", action="append", default=[], metavar="DIR", help=own
    )
    add_reading(distill, OWN)
    distill.set_defaults(run=_distill)


def _distill(typed: argparse.Namespace) -> None:
    from undogmatic.cli.checked import made
    from undogmatic.datasets.table import TableOptions

    sources = [
        word for word in typed.overrides if "=" not in word or Path(word).exists()
    ]
    typed.overrides = [word for word in typed.overrides if word not in sources]
    if not sources:
        raise ConfigError(
            "RUN is missing: name the folder of a run, or a table of verdicts with their texts."
        )
    given = {
        name: value
        for name in READING
        if name not in OWN and (value := vars(typed)[name]) is not None
    }
    reading = made(TableOptions, given)
    keep_apart(
        [*named("RUN|FILE", sources), *in_settings(words(typed))],
        named("--out", typed.out),
    )
    distil(
        sources,
        Path(typed.out),
        words(typed),
        typed.judge,
        typed.criterion,
        reading,
        typed.most,
    )


def distil(
    sources: Sequence[str],
    out: Path,
    overrides: Sequence[str],
    judge: str | None,
    criterion: str,
    reading: TableOptions | None = None,
    most: int | None = None,
) -> None:
    """Fit a student to what a judge said in runs or tables, of each at most so many texts, write
    it, print the report and log it (`tracking=`); `reading` says how tables are read. Raises
    ConfigError or DataError, and has written nothing then, unless it says that the student could
    not be logged."""
    from undogmatic.config.build import build, settings
    from undogmatic.config.door import compose_config
    from undogmatic.datasets.labels import TEXTS
    from undogmatic.datasets.table import TableOptions
    from undogmatic.fit.distill import of_table, taught, together
    from undogmatic.fit.student import LEAST, MOST
    from undogmatic.records.progress import doing, speaking
    from undogmatic.records.words import Words
    from undogmatic.runs.folder import SCORES, WHOLE, RunFolder

    most = MOST if most is None else most
    if most < LEAST:
        raise ConfigError(
            f"`--most` is {most}; a student needs at least {LEAST} texts."
        )
    if out.suffix != ".safetensors":
        raise ConfigError(f"`--out` is '{out}'; a student is a .safetensors file.")
    files.check_writable(out)  # before anything is read at length
    default = (
        []
        if any(word.startswith("embeddings=") for word in overrides)
        else ["embeddings=shallow"]
    )
    chosen = settings(compose_config([*default, *overrides]))
    tracker = build(chosen.tracking, "tracking")
    tracker.check()
    named = any(word.startswith("rubric") for word in overrides)
    rubric: Rubric | None = build(chosen.rubric, "rubric") if named else None
    lessons = []
    language = chosen.report.language
    for source in sources:
        if Path(source).expanduser().is_dir() or not Path(source).expanduser().exists():
            with speaking(language), doing("reading the run", soon=True):
                lessons.append(
                    of_run(
                        RunFolder.open(source, "RUN", (*WHOLE, SCORES)),
                        judge,
                        criterion,
                        most,
                    )
                )
        else:
            about = rubric or build(chosen.rubric, "rubric")
            with speaking(language), doing("reading the file", soon=True):
                lesson, read = of_table(
                    source, about, judge, criterion, reading or TableOptions(), most
                )
            lessons.append(lesson)
            words = Words(language, [TEXTS])
            put([words.say(finding) for finding in read])
    with speaking(language), doing("fitting the student", soon=True):
        fit, result = taught(together(lessons, rubric), chosen)
        fit.student.save(out)
    said = show(result, fit.lesson.rubric, language, out)
    about = fit.student.about.model_dump(mode="json", include=set(PARAMS))
    params = about | {
        "sources": " ".join(sources),
        "criterion": criterion,
        "seed": chosen.seed,
    }
    name = f"distill-{about['rubric']}-{about['embeddings_name']}"
    where = tracker.log_found(
        "distill", name, params, result.metrics, said, result.tables, [out]
    )
    if where is not None:
        put_paths({Words(language).text("terminal.tracking"): where})


def of_run(
    run: RunFolder, judge: str | None, criterion: str, most: int | None = None
) -> Lesson:
    """What a judge said in a run of at most so many texts, by the first time that it was asked.
    Raises ConfigError or DataError."""
    from undogmatic.examinations.run_items import items_of
    from undogmatic.fit.distill import lesson_of
    from undogmatic.fit.student import MOST

    voices = [
        voice
        for voice in run.voices()
        if judge in (None, voice[0]) and voice[1] == criterion
    ]
    if not voices:
        known = ", ".join(f"{name} on {said}" for name, said in run.voices())
        raise ConfigError(
            f"{run.named}, where {judge or 'nobody'} judged {criterion}; it holds {known}."
        )
    if len(voices) > 1:
        raise ConfigError(
            f"{run.named}, with the judges {', '.join(v[0] for v in voices)}. Name one: --judge"
            " NAME."
        )
    model = run.voices()[voices[0]].provenance.model
    scores = run.first_scores(*voices[0])
    return lesson_of(
        items_of(run),
        scores,
        run.rubric,
        f"{model} (judge {voices[0][0]})",
        criterion,
        MOST if most is None else most,
        run.named,
    )


def show(
    result: Told, rubric: Rubric, language: str = "en", out: Path | None = None
) -> list[str]:
    """Print the report: sentences, then tables, then where the student was written to. Returns the
    sentences."""
    from undogmatic.fit.distill import BETTER
    from undogmatic.records.words import Words
    from undogmatic.report.tables import MOST_ROWS, frame_blocks
    from undogmatic.report.terminal import put_table
    from undogmatic.safety.terminal import put

    words = Words.about(rubric, language, result.texts)
    said = [words.say(finding) for finding in result.findings]
    put(said)
    for name, frame in result.tables.items():
        for block in frame_blocks(
            frame.head(MOST_ROWS), words, result.name, name, Path()
        ):
            put_table(block)  # type: ignore[arg-type]
    if out is not None:
        gain = any(finding.key in BETTER.values() for finding in result.findings)
        put(
            [
                words.text(
                    "student.written" if gain else "student.written_doubtful",
                    out=str(out),
                )
            ]
        )
    return said
