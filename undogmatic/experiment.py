"""The one pipeline: config -> dataset -> steps and judges -> judgments -> analyses -> report and tracking."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from undogmatic.analyses.base import Analysis, Judged, analyse, read_by, tabulate
from undogmatic.analyses.interim import so_far
from undogmatic.analyses.plan import LEVEL, check_plan, of_plan
from undogmatic.analyses.runs import settings as run_settings
from undogmatic.analyses.units import Failed, too_many_failed, units, withheld
from undogmatic.config.build import Settings, build, settings
from undogmatic.datasets import base as datasets
from undogmatic.datasets.base import on_scale
from undogmatic.engine.elsewhere import Elsewhere
from undogmatic.engine.journal import Journals, unanswered
from undogmatic.engine.local import MAX_FAILURES
from undogmatic.engine.recipe import Buildable, Parts, Recipe
from undogmatic.errors import ConfigError, DataError, RunStopped, StorageError, UndogmaticError
from undogmatic.judges.base import ways
from undogmatic.optimize.search import OPTIMISED, Search
from undogmatic.optimize.verdict import verdict
from undogmatic.records.order import turns
from undogmatic.records.records import Cost, Item, Judgment, Verdict, digest, items_digest
from undogmatic.records.results import AnalysisResult, headline_of
from undogmatic.records.rubric import Rubric
from undogmatic.records.wordings import Licensed, texts_beside
from undogmatic.runs.claim import held
from undogmatic.runs.folder import JOURNAL, METRICS
from undogmatic.runs.manifest import Manifest
from undogmatic.runs.outcome import FinishedRun, keep_scores, metrics
from undogmatic.runs.progress import Progress, doing
from undogmatic.runs.versions import versions
from undogmatic.safety import files


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
    started, chosen, recipe = time.time(), settings(config), cast(Buildable, Recipe(config))
    dataset, analysis = build(chosen.dataset, "dataset"), build(chosen.analysis, "analysis")
    engine, tracker = build(chosen.engine, "engine"), build(chosen.tracking, "tracking")
    optimizer = build(chosen.optimizer, "optimizer")
    items: list[Item] = dataset.load()[: chosen.run.limit]
    repeats = chosen.run.repeats
    if isinstance(dataset, datasets.Judged):
        recipe = engine = _elsewhere(dataset, chosen, items)
        repeats = recipe.repeats(repeats)
    parts = recipe.build()
    items = on_scale(items, parts.rubric)
    said = _said(choices, parts)
    named = "model prompt judge dataset" if "prompt" in said else "judge dataset" if parts.asks else "model dataset"
    search = Search(optimizer, config, chosen, parts, items) if optimizer.optimizes else None
    identity = parts.identity
    if search is not None:
        items, identity, named = search.data.splits.test, search.identity, f"{named} optimizer"
    redact = _redacts(chosen, parts, analysis, search)
    name = chosen.run.name or "-".join(said[group] for group in named.split())
    _check(analysis, items, parts, repeats)
    plan, locked = chosen.plan, None if chosen.plan is None else digest(chosen.plan.model_dump(mode="json"))
    if plan is not None:
        table = tabulate(items, [], repeats, parts.expected())
        inputs = {item.id: item.inputs for item in items}
        check_plan(plan, analysis, Judged(table, parts.rubric, digest=items_digest(items), inputs=inputs), chosen.seed)

    tracker.check()
    with held(folder), Manifest.open(folder, identity, items_digest(items), name, config, locked, redact) as manifest:
        if plan is not None:
            tracker.lock(folder, name, plan.model_dump(mode="json"), str(locked))
        found = search.run(engine, folder) if search is not None else None
        if found is not None:
            recipe = parts = found.parts
        judged = _judge(engine, recipe, items, repeats, manifest, redact)
        table = Judged(
            judged.frame,
            parts.rubric,
            name,
            digest=manifest.dataset_digest,
            settings=run_settings(said, config if parts.asks else {}),
            inputs={item.id: item.inputs for item in judged.items},
            said={item.id: item.labels for item in judged.items},
        )
        results = [units(judged.items)]
        if search is not None and found is not None:
            table = replace(table, frame=table.frame[table.frame["judge"] == OPTIMISED].reset_index(drop=True))
            results[:0] = verdict(search, found, judged.judgments, folder, np.random.default_rng(chosen.seed))
        results[-1:-1] = analyse(analysis, table, np.random.default_rng(chosen.seed))
        if plan is not None:
            results.insert(0, of_plan(plan, results, float(chosen.analysis.get("level") or LEVEL), str(locked)))
        fitted = parts.fitted(judged.items)
        failed, allowed = Failed.of(judged.frame["error"]), chosen.engine.get("max_failures", MAX_FAILURES)
        results = too_many_failed(withheld(results, fitted, len(judged.items)), failed, allowed)
        with doing("comparing with earlier runs"):
            finished = _finished(config, said, parts, manifest, judged, results, fitted, started)
        programs = () if found is None else (found.before.whole(), found.after.whole())
        _report(replace(finished, programs=programs, **_words(dataset, analysis, parts, results)), tracker)
        return _close(finished, manifest, failed, allowed)


class _Judgments(NamedTuple):
    """What judging yielded: the items that were judged, in the end, and all about them."""

    items: list[Item]
    judgments: list[Judgment]
    frame: pd.DataFrame
    costs: list[Cost]
    progress: Progress


def _said(choices: Mapping[str, str], parts: Parts) -> dict[str, str]:
    """The choices per group, with the readout that `auto` stands for and with all judges."""
    said = {k: v for k, v in choices.items() if "/" not in k and v is not None}
    said["readout"] = parts.readout_name
    if not parts.uses_own:
        said["model"] = parts.model.name
    if not (parts.uses_own or parts.prompted):
        del said["prompt"]
    if not parts.asks:  # what the config says of them was not used
        said = {k: v for k, v in said.items() if k not in ("prompt", "readout")} | {"model": parts.model.name}
    if len(parts.judges) > 1:
        said["judge"] = "+".join(judge.name for judge in parts.judges)
    return said


def _elsewhere(dataset: datasets.Judged, chosen: Settings, items: Sequence[Item]) -> Elsewhere:
    """The judgments that a dataset brings with it, in the place of recipe and engine."""
    if chosen.judges is not None or chosen.steps:
        key = "steps" if chosen.steps else "judges"
        raise ConfigError(f"`{key}` is set, and the dataset brings its own judgments: nobody is asked. Leave it out.")
    kept = {item.id for item in items}
    found = dataset.judgments(build(chosen.rubric, "rubric"))
    return Elsewhere([judgment for judgment in found if judgment.item_id in kept], build(chosen.rubric, "rubric"))


def _redacts(chosen: Settings, parts: Parts, analysis: Analysis, search: Search | None) -> bool:
    """Whether the run keeps no judged text (`tracking.redact`). Raises ConfigError where it must keep some to be of
    use."""
    if not chosen.tracking.get("redact"):
        return False
    why = None
    if parts.steps:
        why = f"`steps` ({', '.join(step.name for step in parts.steps)}) keep the texts that they make, to be resumed"
    elif search is not None:
        why = f"optimizer={search.optimizer.name} keeps a program that may quote texts"
    elif getattr(analysis, "reads_words", False):
        why = f"analysis={analysis.name} reads what judges quote, which would be hidden"
    if why is not None:
        raise ConfigError(
            f"`tracking.redact` is true, so the run's folder may hold no judged text, and {why}. Leave that out, or "
            "set tracking.redact=false."
        )
    return True


def _check(analysis: Analysis, items: Sequence[Item], parts: Parts, repeats: int) -> None:
    """Before anything is asked and paid for: have the items what the analysis reads? Steps may yet give it to them, and
    where nothing is asked it is seen soon enough."""
    if not parts.steps and parts.asks:
        frame, people = tabulate(items, [], repeats, parts.expected()), {item.id: item.labels for item in items}
        table = Judged(frame, parts.rubric, digest=items_digest(items), said=people)
        for part in read_by(analysis, table).values():
            analysis.check(part)


def _words(dataset: Any, analysis: Any, parts: Parts, results: Sequence[AnalysisResult]) -> dict[str, Any]:
    """Where the words of dataset and analyses lie, and what models and dataset say of their licences."""
    texts = [*texts_beside(dataset), *texts_beside(analysis), *(path for result in results for path in result.texts)]
    models = [source.model for step in parts.judges for source in step.judge.readouts()]
    models += [model for step in parts.steps for model in step.models]
    said = {str(model.licence): model.licence for model in models}
    return {
        "texts": list(dict.fromkeys(texts)),
        "model_licences": list(said.values()),
        "data_licence": dataset.licence if isinstance(dataset, Licensed) else None,
    }


def _judge(
    engine: Any, recipe: Buildable, items: Sequence[Item], repeats: int, manifest: Manifest, redact: bool
) -> _Judgments:
    """Take all items through the recipe, and keep their scores whatever happens."""
    parts, folder = recipe.build(), manifest.folder
    manifest.data |= {"steps": [step.name for step in parts.steps]} if parts.steps else {}
    journals = Journals(folder, parts.steps, redact)
    _check_kept(journals, parts.rubric, folder)

    def reached() -> tuple[list[Item], list[Judgment], pd.DataFrame]:
        found, judgments = journals.results(items, parts.judges, repeats)
        return found, judgments, tabulate(found, judgments, repeats, parts.expected(), gaps=parts.asks)

    kept = sum(not unanswered(judgment) for judgment in journals.results(items, parts.judges, repeats)[1])
    total = None if parts.steps or not parts.asks else len(items) * repeats * len(parts.expected())
    asked = [items[k] for k in turns([item.id for item in items], [item.pair for item in items])]
    try:
        with Progress(manifest.name, total, parts, kept) as progress:
            asyncio.run(engine.arun(recipe, asked, journals, repeats, progress.step))
    except UndogmaticError as error:
        found, _, frame = reached()
        with contextlib.suppress(StorageError):  # it may be why it ended; what was judged is in the journal
            keep_scores(folder, found, frame)
        if isinstance(error, RunStopped):
            said = f"{error}\n{progress.reached}. {_so_far(frame, parts)}Continue: run.resume={folder}"
            raise type(error)(said) from None
        raise
    found, judgments, frame = reached()
    keep_scores(folder, found, frame)
    _some_verdict(judgments)
    return _Judgments(found, judgments, frame, journals.costs(judgments), progress)


def _check_kept(journals: Journals, rubric: Rubric, folder: Path) -> None:
    """Raise DataError where a score in the journal of an earlier start is not on the scale: it was changed since."""
    for judgment in journals.judgments.done.values():
        score = judgment.score
        if score is not None and not rubric.minimum <= score <= rubric.maximum:
            raise DataError(
                f"{folder / JOURNAL}: item {judgment.item_id!r} has the score {score:g} there, and the scale of "
                f"rubric={rubric.name} is {rubric.scale.span()}. Delete its line to have the item judged again."
            )


def _so_far(frame: pd.DataFrame, parts: Parts) -> str:
    mean = so_far(frame, parts.rubric)
    if mean is None:
        return ""
    return (
        f"By the {mean.n} judged texts of whole groups, the mean of all {mean.n_total} would be {mean.estimate:.1f} "
        f"[{mean.low:.1f}, {mean.high:.1f}] ({mean.level:.0%}, whenever one stops). "
    )


def _some_verdict(judgments: Sequence[Judgment]) -> None:
    if any(isinstance(j.outcome, Verdict) for j in judgments):
        return
    if not judgments:
        raise RunStopped(
            "the steps made nothing of any item, so there was nothing to judge; steps/ says what they did."
        )
    outcome = judgments[0].outcome
    assert not isinstance(outcome, Verdict)
    raise RunStopped(
        f"no item could be judged ({len(judgments)} failures); the first, for {judgments[0].item_id!r}: "
        f"{outcome.reason}: {outcome.message}"
        + (f"\nThe model said: {outcome.raw[:200]!r}" if outcome.raw else "")
        + "\nThe journal keeps every raw answer. Try another readout= or model=."
    )


def _finished(
    config: Mapping[str, Any],
    choices: Mapping[str, str],
    parts: Parts,
    manifest: Manifest,
    judged: _Judgments,
    results: Sequence[AnalysisResult],
    fitted: int,
    started: float,
) -> FinishedRun:
    progress = judged.progress
    return FinishedRun(
        name=manifest.name,
        folder=manifest.folder,
        language=config["report"]["language"],
        config=config,
        choices=choices,
        identity=manifest.identity,
        rubric=parts.rubric,
        items=judged.items,
        judgments=judged.judgments,
        frame=judged.frame,
        results=results,
        metrics=metrics(judged.frame, judged.costs, progress.done, progress.seconds, results),
        prompt_id=parts.prompt.id,
        prompt_hash=parts.provenance.prompt_hash,
        asked=[
            way
            for judge in parts.judges
            for step in dict.fromkeys([judge, *map(judge.for_item, judged.items)])
            for way in ways(step.judge.readouts(), step.name if len(parts.judges) > 1 else "")
        ],
        fitted=fitted,
        model_name=parts.model.name,
        dataset_digest=manifest.dataset_digest,
        versions=versions(),
        started=started,
        seconds=time.time() - started,
        elsewhere=not parts.asks,
        repeatability=manifest.compare(judged.frame, judged.judgments, parts.deterministic()),
    )


def _report(finished: FinishedRun, tracker: Any) -> None:
    from undogmatic.report import terminal, write

    files.write(finished.folder / METRICS, json.dumps(dict(finished.metrics), indent=2, sort_keys=True) + "\n")
    for result in finished.results:
        if result.items is not None:
            files.write_table(finished.folder / f"items_{result.full(result.name)}.csv", result.items)
    with doing("writing the report"):
        write(finished)
    where = None
    try:
        with doing("logging the run"):
            where = tracker.log(finished)
    finally:  # what was measured is shown even if it could not be logged
        terminal.show(finished, where)


def _close(finished: FinishedRun, manifest: Manifest, failed: Failed, allowed: float) -> float | None:
    """Note how the run ended; its headline. Raises RunStopped where some answers are still missing, or where more than
    the share `allowed` of the judgments failed."""
    headline = headline_of(finished.results)
    missing = sum(unanswered(judgment) for judgment in finished.judgments)
    manifest.close(
        "stopped" if missing else "finished",
        headline=headline,
        standing={r.full(r.name): r.standing for r in finished.results if r.standing is not None and not r.relative},
        seen=finished.fitted,
        choices=dict(finished.choices),
        uses_prompt=finished.uses_prompt,
        model=finished.model_name,
        texts=[str(path) for path in finished.texts],
    )
    if missing:
        raise RunStopped(
            f"{missing} of {len(finished.frame)} judgments got no answer from {finished.model_name}; the report says "
            f"which. To ask for these again: the same command with run.resume={finished.folder}"
        )
    if failed.too_many(allowed):
        raise RunStopped(
            f"{failed.n} of {failed.total} judgments failed, more than engine.max_failures={allowed:g} allows; the "
            f"report in {finished.folder} says why. engine.max_failures=1 ends such a run without an error."
        )
    return finished.metrics[headline] if headline is not None else None
