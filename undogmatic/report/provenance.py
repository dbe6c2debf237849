"""Reports where the numbers come from: what was run, on which scale, with which prompt and licences, and how again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undogmatic.records.rubric import Anchors, NumericScale
from undogmatic.records.wordings import FALLBACK, Licence
from undogmatic.report.document import Block, Bullets, Code, Heading, Paragraph, Table
from undogmatic.report.excerpts import failure_counts
from undogmatic.report.words import Words
from undogmatic.runs.folder import HYDRA, OVERRIDES, RunFolder
from undogmatic.runs.outcome import FinishedRun
from undogmatic.safety.command import as_typed

ASKING = ("model", "readout", "prompt", "calls", "cached", "tokens", "usd")
"""What only a run has that asks somebody."""


def what_was_run(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The facts of a run as a two-column table."""
    yield Heading(words.text("common.ran_title"))
    metrics, split = run.metrics, run.settings.split
    repeats = int(run.frame["repeat"].nunique())
    parts = ", ".join(run.parts.values())
    seconds = metrics.get("judging_seconds", 0.0)
    program = run.programs[-1] if run.programs else None  # of an optimisation, what it came to
    facts = {
        "model": ": ".join(dict.fromkeys((run.choices["model"], run.model_name))),
        "readout": run.choices.get("readout"),
        "prompt": words.text("common.prompt_field", id=run.prompt_id, hash=run.prompt_hash[:12]),
        "program": program and words.text("common.prompt_field", id=program["name"], hash=program["digest"][:12]),
        "judge": run.choices["judge"],
        "rubric": run.rubric.name,
        "dataset": words.text(
            "common.dataset_field",
            name=run.choices["dataset"],
            items=len(run.items),
            split=words.text("common.split_none") if split is None else words.text("common.split_of", split=split),
        ),
        "digest": run.dataset_digest[:16],
        "analysis": run.choices["analysis"],
        "judged": words.text(
            "common.judged_field",
            judged=int(run.frame["error"].isna().sum()),
            total=len(run.frame),
            items=len(run.items),
            repeats=repeats,
        )
        + (f": {parts}" if parts else ""),
        "failed": failure_counts(run, words) or "0",
        "calls": words.number(metrics["calls"], "d"),
        "cached": words.number(metrics["calls_cached"], "d"),
        "tokens": " / ".join(words.number(metrics[k], "d") for k in ("input_tokens", "output_tokens")),
        "usd": words.number(metrics["usd"], "g") if "usd" in metrics else words.text("common.usd_unknown"),
        "seconds": words.text(
            "common.time_field",
            total=words.duration(run.seconds),
            judging=words.duration(seconds),
            rate=metrics.get("judgments_per_second"),
        ),
        "seed": str(run.settings.seed),
        "config": run.judgments[0].provenance.config_hash[:16],
        "identity": run.identity[:16],
        "git": run.versions.get("git", "unknown"),
        "versions": ", ".join(f"{k} {v}" for k, v in run.versions.items() if k != "git"),
    }
    absent = {*(ASKING if run.elsewhere else ()), *(() if run.programs else ("program",))}
    shown = {key: value for key, value in facts.items() if key not in absent}
    yield Table((), [(words.text(f"common.field.{key}"), str(value)) for key, value in shown.items()])


def scale(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The rubric: what it measures, what it asks, of which inputs, on which scale, and what the values mean."""
    rubric = run.rubric
    language = words.language if words.language in rubric.wordings else next(iter(rubric.wordings))
    wording, scale = rubric.wordings[language], rubric.scale
    direction = [words.text(f"common.{rubric.direction}")] if rubric.direction is not None else []
    yield Heading(words.text("common.rubric_title"), level=3)
    yield Paragraph(" ".join([wording.definition.strip(), *direction]))
    yield Paragraph(words.text("common.rubric_question", question=wording.question.strip()))
    if len(rubric.inputs) > 1:
        shown = "; ".join(wording.headings.get(name, name) for name in rubric.inputs)
        yield Paragraph(words.text("common.rubric_inputs", inputs=shown))
    numeric = isinstance(scale, NumericScale)
    if isinstance(scale, NumericScale) and scale.step is not None:
        span = words.text("common.span_in_steps", low=scale.minimum, high=scale.maximum, step=scale.step)
    else:
        span = words.text("common.span", low=scale.minimum, high=scale.maximum) if numeric else scale.span()
    yield Paragraph(words.text("common.rubric_scale", span=span))
    guided = rubric.guided(language)
    if guided:
        anchored = isinstance(rubric.guide, Anchors)
        rows = [(words.localise(name) if anchored else name, meaning) for name, meaning in guided]
        yield Table([words.text("common.level"), words.text("common.meaning")], rows, numeric=(anchored, False))


def prompt(run: FinishedRun, words: Words) -> Iterator[Block]:
    """What models were shown, for each way in which the judge asks."""
    if run.elsewhere:
        return
    yield Heading(words.text("common.prompt_title"))
    for way in run.asked:
        if len(run.asked) > 1:
            named = {"readout": way.readout, "prompt": way.prompt, "model": way.model}
            said = words.text("common.prompt_way", **named)
            yield Heading(f"{way.judge}: {said}" if way.judge else said, level=3)
        yield Paragraph(words.text("common.prompt_shown" if way.uses_prompt else "common.prompt_unused"))
        if way.text:
            yield Code(way.text)


def licences(run: FinishedRun, words: Words) -> Iterator[Block]:
    """Whose the models and the texts are, as they say themselves."""
    yield Heading(words.text("common.licence_title"))
    declared = [*((given, "model") for given in run.model_licences), (run.data_licence, "data")]
    yield Bullets([_licence(given, words) or words.text(f"common.licence_{what}") for given, what in declared])


def _licence(given: Licence | None, words: Words) -> str | None:
    """The sentence in the report's language, else in English, else as it is there."""
    if not given:
        return None
    return given.get(words.language) or given.get(FALLBACK) or next(iter(given.values()))


def repeat(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The command that repeats the run."""
    overrides = overrides_of(run.folder)
    if overrides is None:
        asked = {k: v for k, v in run.choices.items() if k != "experiment"}
        if run.settings.automatic:
            asked["readout"] = "auto"
        values = {"seed": run.settings.seed, "report.language": run.language, "run.repeats": run.settings.repeats}
        values |= {} if run.settings.limit is None else {"run.limit": run.settings.limit}
        overrides = [f"{k}={v}" for k, v in (asked | values).items()]
        note = "common.repeat_from_choices"
    else:
        note = "common.repeat_exact"
    yield Heading(words.text("common.repeat_title"))
    yield Paragraph(words.text(note))
    yield Code(command(overrides))
    yield Paragraph(words.text("common.repeat_files"), "small")


def overrides_of(folder: Path) -> list[str] | None:
    """What was typed on the command line, as Hydra noted it, without `run.resume`; None where there is no such note."""
    noted = RunFolder(folder)
    return [*folders_of(noted, HYDRA), *noted.overrides] if noted.has(OVERRIDES) else None


def folders_of(folder: RunFolder, name: str) -> list[str]:
    """The words that named further folders of config on the command line, from what Hydra noted of itself."""
    sources = _listed(folder, name, "runtime", "config_sources")
    given = [s for s in sources if isinstance(s, dict) and s.get("provider") == "command-line"]
    named = [str(as_typed(Path(str(source.get("path"))))) for source in given]
    typed = _listed(folder, name, "overrides", "hydra")
    searched = [str(o) for o in typed if str(o).lstrip("+").startswith("hydra.searchpath=")]
    return [*(word for folder in named for word in ("--config-dir", folder)), *searched]


def _listed(folder: RunFolder, name: str, *keys: str) -> list[Any]:
    found = folder.noted(name, "hydra", *keys)
    return found if isinstance(found, list) else []


def command(overrides: Sequence[str]) -> str:
    """The shell command with these overrides."""
    return " ".join(["python -m undogmatic.run", *(shlex.quote(o) for o in overrides)])
