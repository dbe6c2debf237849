"""Reports where the numbers come from: what was run, on which scale, with which prompt and licences, and how again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from undogmatic.records.rubric import Anchors, NumericScale
from undogmatic.records.wordings import FALLBACK
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
    metrics, split, text = run.metrics, run.settings.split, words.text
    parts = ", ".join(run.parts.values())
    program = run.programs[-1] if run.programs else None  # of an optimisation, what it came to
    data = {"name": run.choices["dataset"], "items": len(run.items)}
    judged = {"judged": int(run.frame["error"].isna().sum()), "total": len(run.frame), "items": len(run.items)}
    times = {"total": words.duration(run.seconds), "judging": words.duration(metrics.get("judging_seconds", 0.0))}
    facts = {
        "model": ": ".join(dict.fromkeys((run.choices["model"], run.model_name))),
        "readout": run.choices.get("readout"),
        "prompt": text("common.prompt_field", id=run.prompt_id, hash=run.prompt_hash[:12]),
        "program": program and text("common.prompt_field", id=program["name"], hash=program["digest"][:12]),
        "judge": run.choices["judge"],
        "rubric": run.rubric.name,
        "dataset": text(
            "common.dataset_field",
            split=text("common.split_none") if split is None else text("common.split_of", split=split),
            **data,
        ),
        "digest": run.dataset_digest[:16],
        "analysis": run.choices["analysis"],
        "judged": text("common.judged_field", repeats=int(run.frame["repeat"].nunique()), **judged)
        + (f": {parts}" if parts else ""),
        "failed": failure_counts(run, words) or "0",
        "calls": words.number(metrics["calls"], "d"),
        "cached": words.number(metrics["calls_cached"], "d"),
        "tokens": " / ".join(words.number(metrics[k], "d") for k in ("input_tokens", "output_tokens")),
        "usd": words.number(metrics["usd"], "g") if "usd" in metrics else text("common.usd_unknown"),
        "seconds": text("common.time_field", rate=metrics.get("judgments_per_second"), **times),
        "seed": str(run.settings.seed),
        "config": run.judgments[0].provenance.config_hash[:16],
        "identity": run.identity[:16],
        "git": run.versions.get("git", "unknown"),
        "versions": ", ".join(f"{k} {v}" for k, v in run.versions.items() if k != "git"),
    }
    absent = {*(ASKING if run.elsewhere else ()), *(() if run.programs else ("program",))}
    yield Table((), [(text(f"common.field.{key}"), str(value)) for key, value in facts.items() if key not in absent])


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
    span = scale.span()
    if isinstance(scale, NumericScale):
        ends = {"low": scale.minimum, "high": scale.maximum}
        span = words.text("common.span", **ends)
        if scale.step is not None:
            span = words.text("common.span_in_steps", step=scale.step, **ends)
    yield Paragraph(words.text("common.rubric_scale", span=span))
    if guided := rubric.guided(language):
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
    declared = [*((licence, "model") for licence in run.model_licences), (run.data_licence, "data")]
    bullets = []
    for licence, what in declared:  # in the report's language, else in English, else as it is there
        known = [text for code in (words.language, FALLBACK) if (text := (licence or {}).get(code))]
        bullets.append([*known, *filter(None, (licence or {}).values()), words.text(f"common.licence_{what}")][0])
    yield Bullets(bullets)


def repeat(run: FinishedRun, words: Words) -> Iterator[Block]:
    """The command that repeats the run."""
    overrides = overrides_of(run.folder)
    note = "common.repeat_exact"
    if overrides is None:
        note = "common.repeat_from_choices"
        asked: dict[str, Any] = {k: v for k, v in run.choices.items() if k != "experiment"}
        asked |= {"readout": "auto"} if run.settings.automatic else {}
        asked |= {"seed": run.settings.seed, "report.language": run.language, "run.repeats": run.settings.repeats}
        asked |= {} if run.settings.limit is None else {"run.limit": run.settings.limit}
        overrides = [f"{k}={v}" for k, v in asked.items()]
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
    sources, typed = (
        known if isinstance(known := folder.noted(name, "hydra", *keys), list) else []
        for keys in (("runtime", "config_sources"), ("overrides", "hydra"))
    )
    typed_sources = [s for s in sources if isinstance(s, dict) and s.get("provider") == "command-line"]
    named = [str(as_typed(Path(str(source.get("path"))))) for source in typed_sources]
    searched = [str(o) for o in typed if str(o).lstrip("+").startswith("hydra.searchpath=")]
    return [*(word for folder in named for word in ("--config-dir", folder)), *searched]


def command(overrides: Sequence[str]) -> str:
    """The shell command with these overrides."""
    return " ".join(["python -m undogmatic.run", *(shlex.quote(o) for o in overrides)])
