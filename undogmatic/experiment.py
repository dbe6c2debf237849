"""The one pipeline: config -> dataset -> judge -> judgments -> analyses -> report and tracking."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.analyses.base import AnalysisResult, Judged, analyse, tabulate
from undogmatic.config import Settings, build, settings
from undogmatic.datasets.base import on_scale
from undogmatic.engine.journal import Journal
from undogmatic.errors import RunStopped, UndogmaticError
from undogmatic.judges.base import Judge
from undogmatic.judges.composition import Composer, readout_node
from undogmatic.models.base import Model
from undogmatic.outcome import Asked, FinishedRun
from undogmatic.progress import Progress
from undogmatic.prompts import Prompt
from undogmatic.readouts.base import Readout
from undogmatic.records import (
    RETRIED_ON_RESUME,
    Item,
    Judgment,
    Provenance,
    Rubric,
    Verdict,
    digest,
    items_digest,
    text_mark,
)
from undogmatic.resume import Manifest
from undogmatic.versions import versions
from undogmatic.wordings import Licence, Licensed, texts_beside


class Parts(NamedTuple):
    """What a config composes, built and bound."""

    rubric: Rubric
    prompt: Prompt
    model: Model
    readout: Readout
    judge: Judge
    provenance: Provenance


def run_experiment(config: dict[str, Any], choices: dict[str, str], folder: Path) -> float | None:
    """Run one composed config to its report.

    Args:
        config: The resolved config as plain data.
        choices: The option chosen per group.
        folder: Output folder; an earlier unfinished run in it is continued.
    Returns:
        The headline metric of the first analysis, or None.
    Raises:
        UndogmaticError: With a message for the user.
    """
    started = time.time()
    chosen = settings(config)
    dataset = build(chosen.dataset, "dataset")
    analysis = build(chosen.analysis, "analysis")
    texts = [*texts_beside(dataset), *texts_beside(analysis)]
    engine = build(chosen.engine, "engine")
    tracker = build(chosen.tracking, "tracking")
    items: list[Item] = dataset.load()[: chosen.run.limit]
    parts = compose(chosen, seed=chosen.seed)
    items = on_scale(items, parts.rubric)
    dataset_digest = items_digest(items)
    # Before anything is asked and paid for: does the dataset have what the analysis reads?
    analysis.check(Judged(tabulate(items, [], chosen.run.repeats), parts.rubric, digest=dataset_digest))
    choices = {k: v for k, v in choices.items() if "/" not in k and v is not None}
    choices["readout"] = parts.provenance.readout
    name = chosen.run.name or "-".join(choices[k] for k in ("model", "prompt", "judge", "dataset"))

    manifest = Manifest.open(folder, parts.provenance.config_hash, dataset_digest, name)
    journal = Journal(folder / "judgments.jsonl")
    kept = sum(journal.settled(i.id, r) is not None for r in range(chosen.run.repeats) for i in items)
    with Progress(name, len(items) * chosen.run.repeats, parts, kept) as progress:
        try:
            judgments = engine.run(
                parts.judge, parts.model, items, parts.provenance, journal, chosen.run.repeats, progress.step
            )
        except UndogmaticError as error:
            _keep(folder, items, tabulate(items, list(journal.done.values()), chosen.run.repeats))
            manifest.close("stopped", error=str(error))
            if isinstance(error, RunStopped):
                raise type(error)(
                    f"{error}\n{kept + progress.done} of {progress.total} done. Continue: run.resume={folder}"
                ) from None
            raise
    frame = tabulate(items, judgments, chosen.run.repeats)
    _keep(folder, items, frame)
    _some_verdict(judgments)

    judged = Judged(frame, parts.rubric, name, digest=dataset_digest)
    results = analyse(analysis, judged, np.random.default_rng(chosen.seed))
    finished = FinishedRun(
        name=name,
        folder=folder,
        language=chosen.report.language,
        config=config,
        choices=choices,
        identity=manifest.identity,
        rubric=parts.rubric,
        items=items,
        judgments=judgments,
        frame=frame,
        results=results,
        metrics=_metrics(frame, judgments, progress, results),
        prompt_id=parts.prompt.id,
        prompt_hash=parts.provenance.prompt_hash,
        asked=_asked(parts.judge),
        fitted=_fitted(parts.judge, items),
        model_name=parts.model.name,
        dataset_digest=dataset_digest,
        versions=versions(),
        started=started,
        seconds=time.time() - started,
        repeatability=manifest.compare(frame, judgments, all(r.deterministic for r in parts.judge.readouts())),
        texts=list(dict.fromkeys([*texts, *(path for result in results for path in result.texts)])),
        model_licences=_licences(parts.judge),
        data_licence=dataset.licence if isinstance(dataset, Licensed) else None,
    )
    headline = next((r.headline for r in results if r.headline is not None), None)
    facts: dict[str, Any] = {"headline": headline, "choices": choices, "model": parts.model.name}
    facts |= {"uses_prompt": finished.uses_prompt, "texts": [str(path) for path in finished.texts]}
    _report(finished, tracker)
    unanswered = int(frame["error"].isin(RETRIED_ON_RESUME).sum())
    manifest.close("stopped" if unanswered else "finished", **facts)
    if unanswered:
        raise RunStopped(
            f"{unanswered} of {len(frame)} judgments got no answer from {parts.model.name}; the report says which. To "
            f"ask for these again: the same command with run.resume={folder}"
        )
    return finished.metrics[headline] if headline is not None else None


def compose(chosen: Settings, seed: int = 0) -> Parts:
    """Build rubric, prompt, model, readout and judge, and bind them to one another. Raises ConfigError."""
    rubric: Rubric = build(chosen.rubric, "rubric")
    prompt: Prompt = build(chosen.prompt, "prompt")
    model: Model = build(chosen.model, "model")
    readout: Readout = build(readout_node(chosen.readout, model, rubric, chosen), "readout")
    readout.bind(model, prompt, rubric)
    composer = Composer(chosen, rubric, prompt, model, readout)
    judge = composer.judge()
    model = composer.model()
    program = judge.program_hash()
    state = {"program": program, "model": model.name, "rubric": rubric.model_dump(mode="json"), "seed": seed}
    provenance = Provenance(
        model=model.name,
        readout="+".join(dict.fromkeys(source.name for source in judge.readouts())),
        prompt=prompt.id,
        prompt_hash=prompt.hash(rubric),
        program_hash=program,
        config_hash=digest(state | {"prompt": prompt.hash(rubric)}),
    )
    return Parts(rubric, prompt, model, readout, judge, provenance)


def _asked(judge: Judge) -> tuple[Asked, ...]:
    ways = (Asked(s.name, s.model.name, s.prompt.id, s.uses_prompt, s.shown()) for s in judge.readouts())
    return tuple(dict.fromkeys(ways))


def _licences(judge: Judge) -> list[Licence | None]:
    """What the judge's models say of their licences, each once."""
    found: list[Licence | None] = []
    for source in judge.readouts():
        if source.model.licence not in found:
            found.append(source.model.licence)
    return found


def _keep(folder: Path, items: Sequence[Item], frame: pd.DataFrame) -> None:
    """scores.csv: one row per item (the first repeat), in input order; labels.csv beside it where there are labels.

    `text_mark` in labels.csv tells which texts they are labels of, for what is later fitted on them.
    """
    columns = ["item_id", "pair_id", "condition", "score", "confidence", "uncertainty", "calls", "seconds", "error"]
    folder.mkdir(parents=True, exist_ok=True)
    first = frame[frame["repeat"] == 0]
    first[columns].round({"score": 6, "confidence": 4, "seconds": 4}).to_csv(folder / "scores.csv", index=False)
    if first["label"].notna().any():
        labels = first[["item_id", "label"]].assign(text_mark=[text_mark(item.text) for item in items])
        labels.to_csv(folder / "labels.csv", index=False)


def _some_verdict(judgments: Sequence[Judgment]) -> None:
    if any(isinstance(j.outcome, Verdict) for j in judgments):
        return
    outcome = judgments[0].outcome
    assert not isinstance(outcome, Verdict)
    raise RunStopped(
        f"no item could be judged ({len(judgments)} failures); the first, for {judgments[0].item_id!r}: "
        f"{outcome.reason}: {outcome.message}"
        + (f"\nThe model said: {outcome.raw[:200]!r}" if outcome.raw else "")
        + "\nThe journal keeps every raw answer. Try another readout= or model=."
    )


def _metrics(
    frame: pd.DataFrame, judgments: Sequence[Judgment], progress: Progress, results: Sequence[AnalysisResult]
) -> dict[str, float]:
    failed = int(frame["error"].notna().sum())
    usd = frame["usd"]
    metrics: dict[str, float] = {
        "judged": float(len(frame) - failed),
        "failed": float(failed),
        "calls": float(frame["calls"].sum()),
        "calls_cached": float(frame["cached"].sum()),
        "input_tokens": float(sum(j.cost.input_tokens for j in judgments)),
        "output_tokens": float(sum(j.cost.output_tokens for j in judgments)),
        "judging_seconds": progress.seconds,
    }
    if progress.done:  # a continued run is as fast as what it judged itself; one with nothing left has no rate
        metrics["judgments_per_second"] = progress.done / progress.seconds
    if usd.notna().all():
        metrics["usd"] = float(usd.sum())
    for result in results:
        metrics |= {k: float(v) for k, v in result.metrics.items()}
    return metrics


def _fitted(judge: Judge, items: Sequence[Item]) -> int:
    """How many of the items something in the judge was fitted on."""
    seen = judge.fitted_on()
    return sum(text_mark(item.text) in seen for item in items)


def _report(finished: FinishedRun, tracker: Any) -> None:
    from undogmatic.report import terminal, write

    (finished.folder / "metrics.json").write_text(
        json.dumps(dict(finished.metrics), indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    for result in finished.results:
        if result.items is not None:
            result.items.to_csv(finished.folder / f"items_{result.name}.csv", index=False)
    write(finished)
    where = None
    try:
        where = tracker.log(finished)
    finally:  # what was measured is shown even if it could not be logged
        terminal.show(finished, where)
