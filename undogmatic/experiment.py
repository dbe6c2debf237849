"""The one pipeline: config -> dataset -> steps and judges -> judgments -> examinations -> report
and tracking."""

import asyncio
import contextlib
import itertools
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from undogmatic.config.build import Settings, build, settings
from undogmatic.datasets import base as datasets
from undogmatic.datasets import export
from undogmatic.datasets.labels import OPTION, TEXTS, Loaded, load
from undogmatic.datasets.readers.own_run import EVIDENCE
from undogmatic.engine.journal import Journals
from undogmatic.engine.local import NotingEngine, answering, parts_of
from undogmatic.engine.recipe import Parts, Recipe
from undogmatic.errors import (
    ConfigError,
    DataError,
    RunStopped,
    StorageError,
    UndogmaticError,
)
from undogmatic.examinations.base import Analysis, analyse, read_by, readable
from undogmatic.examinations.independence import (
    Failed,
    of_chosen_labels,
    too_many_failed,
    units,
    withheld,
)
from undogmatic.examinations.plan import LEVEL, check_plan, of_plan, so_far
from undogmatic.examinations.run_evidence import RunEvidence
from undogmatic.examinations.run_rows import tabulate
from undogmatic.examinations.truth import settings as run_settings
from undogmatic.optimize.search import OPTIMISED, Found, Search, results_of
from undogmatic.records.kept import by_id, gathered
from undogmatic.records.limits import Limits
from undogmatic.records.marks import texts_of_marks
from undogmatic.records.metrics import metric_units, metrics
from undogmatic.records.own_scale import OwnScale
from undogmatic.records.progress import Progress, doing, speaking
from undogmatic.records.records import (
    RETRIED_ON_RESUME,
    Cost,
    Failure,
    Item,
    Judgment,
    digest,
    items_digest,
    turns,
)
from undogmatic.records.results import Finding, Subject, Told, Weight, headline_of
from undogmatic.records.rubric import Rubric
from undogmatic.records.stored import in_parts
from undogmatic.records.wordings import Licensed, texts_beside
from undogmatic.runs.ahead import Step, meanwhile, modules
from undogmatic.runs.claim import held
from undogmatic.runs.folder import JOURNAL, METRICS
from undogmatic.runs.growth import Contents
from undogmatic.runs.index import unanswered
from undogmatic.runs.manifest import Manifest
from undogmatic.runs.outcome import FinishedRun, keep_scores
from undogmatic.runs.versions import versions
from undogmatic.safety import files
from undogmatic.safety.command import SWEEP_FOLDER, as_typed
from undogmatic.safety.spool import chosen as in_order


def run_experiment(
    config: dict[str, Any],
    choices: dict[str, str],
    folder: Path,
    loaded: Loaded | None = None,
) -> float | None:
    """Run one composed config to its report.

    Args:
        config: The resolved config as plain data.
        choices: The option chosen per group.
        folder: Output folder; an earlier unfinished run in it is continued.
        loaded: The config's dataset, where it was read before.
    Returns:
        The headline metric of the first analysis, or None.
    Raises:
        UndogmaticError: With a message for the user.
    """
    # Everything that can be wrong with the config is found here, before a call is paid
    # for.
    started, experiment = time.time(), Experiment(config, choices, loaded)
    # A server for tracking that cannot be reached is told now, and not after hours of
    # judging.
    experiment.tracker.check()
    # What was assumed of the file is shown before anything is asked: who sees that the
    # scale is wrong can still stop.
    if experiment.assumed:
        from undogmatic.report import terminal

        texts = [TEXTS, *texts_beside(experiment.dataset)]
        terminal.show_assumed(
            experiment.assumed, texts, experiment.chosen.report.language
        )
    opened = (
        folder,
        experiment.identity,
        experiment.digest,
        experiment.name,
        experiment.locked,
        experiment.redact,
        experiment.contents,
    )
    with (
        held(folder),
        speaking(experiment.chosen.report.language),
        Manifest.open(*opened) as manifest,
    ):
        if isinstance(experiment.dataset, datasets.Kept) and not experiment.redact:
            experiment.dataset.keep(experiment.items, folder)
        if experiment.plan is not None:  # noted before anything is asked
            plan = experiment.plan.model_dump(mode="json")
            experiment.tracker.lock(
                folder, experiment.name, plan, str(experiment.locked)
            )
        found = (
            experiment.search.run(experiment.engine, folder)
            if experiment.search is not None
            else None
        )
        judged = _judge(
            experiment,
            experiment.recipe if found is None else Recipe(config, found.parts),
            manifest,
        )
        results = _results(experiment, judged, found, manifest)
        finished = _finished(experiment, judged, found, results, manifest, started)
        _report(finished, experiment.tracker)
        return _close(finished, manifest, judged.failed, experiment.max_failures)


class Experiment:
    """A run that is built from its config and checked, before anything is asked; see
    `run_experiment`.

    Attributes:
        recipe, parts: How the items are judged, and what that builds.
        items: What is judged; of an optimisation its test split.
        assumed, label_scale: What was assumed of the dataset's file, and the scale of its labels,
            if not the rubric's.
        search: The optimisation that comes first, if any.
        fit: What is fitted to the judgments in the end, if anything.
        choices: The option per group as the report and the tracker name it.
        identity: Hash of all that determines the scores.
        redact: Whether the run's folder may hold no judged text.
    Raises:
        UndogmaticError: Where something cannot be built, or the items lack what the analysis or the
            plan reads.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        choices: Mapping[str, str],
        loaded: Loaded | None = None,
    ) -> None:
        self.config, self.chosen = config, settings(config)
        chosen = self.chosen
        # A bad file ends the run before anything else is built.
        with speaking(chosen.report.language), doing("reading the items", soon=True):
            self.dataset, (given, self.label_scale, assumed) = loaded or load(chosen)
        self.analysis = build(chosen.analysis, "analysis")
        self.engine = build(chosen.engine, "engine")
        self.tracker = build(chosen.tracking, "tracking")
        optimizer = build(chosen.optimizer, "optimizer")
        self.fit = build(chosen.fit, "fit") if chosen.fit else None
        self.assumed = [
            *(self.dataset.read if isinstance(self.dataset, datasets.Assumes) else ()),
            *assumed,
        ]
        items = given if chosen.run.limit is None else given[: chosen.run.limit]
        self.recipe, self.repeats = Recipe(config), chosen.run.repeats
        if isinstance(self.dataset, datasets.Judged):
            self.recipe, self.engine = _elsewhere(
                self.dataset, chosen, items, self.engine.limits
            )
            self.repeats = self.engine.repeats(self.repeats)
        parts = self.parts = self.recipe.build()
        self.engine.check(parts.model, optimizer.optimizes)
        if parts.shown:
            # The limit counts what is judged: of 40 items with 4 as examples, 40 are
            # still judged where there are as many.
            unseen = (item for item in given if item.id not in parts.shown)
            items = gathered(itertools.islice(unseen, chosen.run.limit))
        self.items: Sequence[Item] = parts.asked(items)
        self.identity = parts.identity
        judges_named = chosen.judges is not None or isinstance(
            self.dataset, datasets.Judged
        )
        self.choices = _described(choices, parts, judges_named)
        named = [*_naming(self.choices, parts), "dataset"]
        self.search = (
            Search(optimizer, config, chosen, parts, self.items)
            if optimizer.optimizes
            else None
        )
        if self.search is not None:
            self.items = self.search.data.splits.test
            self.identity = self.search.identity
            named.append("optimizer")
        called = _called(self.choices, parts, chosen)
        self.name = chosen.run.name or "-".join(called[group] for group in named)
        self.redact = _redacts(chosen, parts, self.analysis, self.search)
        self.plan, self.max_failures = chosen.plan, self.engine.limits.max_failures
        self.locked = (
            None if self.plan is None else digest(self.plan.model_dump(mode="json"))
        )
        # Hold the items against the analysis and the plan; steps may yet give the items what the
        # analysis reads.
        self.digest = items_digest(self.items)
        # A table without any judgment, which has all the columns that the analysis will
        # read: what they lack is told before the first call.
        empty = tabulate(self.items, [], self.repeats, parts.expected())
        unjudged = self.evidence(self.items, empty, digest=self.digest)
        # What steps make is not known yet.
        if not parts.steps:
            for part in read_by(self.analysis, unjudged).values():
                self.analysis.check(readable(self.analysis, part))
        if self.plan is not None:
            check_plan(self.plan, self.analysis, unjudged, chosen.seed)

    @property
    def contents(self) -> Contents | None:
        """What the run is made of, which tells whether an earlier one may grow to it; None for a
        search, whose judge is found by it, and for judgments that were made elsewhere."""
        made_of = self.parts.made_of
        return (
            None
            if self.search is not None or made_of is None
            else Contents(made_of, self.items)
        )

    def rng(self) -> np.random.Generator:
        """A fresh source of randomness from the run's seed, for each thing that uses one."""
        return np.random.default_rng(self.chosen.seed)

    def evidence(
        self, items: Sequence[Item], frame: pd.DataFrame, **about: Any
    ) -> RunEvidence:
        """What was judged of these items, with what people said of them."""
        about |= {"known": by_id(items), "known_surface": self.parts.rivals()}
        about |= {"label_scale": self.label_scale}
        return RunEvidence(frame, self.parts.rubric, self.name, **about)


class _Judgments(NamedTuple):
    """What judging yielded: who judged, the items that were judged in the end, and all about
    them."""

    parts: Parts
    items: Sequence[Item]
    judgments: Sequence[Judgment]
    frame: pd.DataFrame
    costs: Iterable[Cost]
    progress: Progress
    failed: Failed
    fitted: int  # how many of the items something in a judge was fitted on


def _described(
    choices: Mapping[str, str], parts: Parts, judges_named: bool
) -> dict[str, str]:
    """The choices per group, with the readout that `auto` stands for and with all judges; where
    they are named otherwise than by `judge=` (`judges_named`), also a single one."""
    described = {k: v for k, v in choices.items() if "/" not in k and v is not None} | {
        "readout": parts.readout_name
    }
    if not (parts.uses_own and parts.asks):
        # A report that names a model which nobody asked would be believed.
        described["model"] = parts.model.name
        asked = dict.fromkeys(
            step.provenance.model for step in parts.judges if step.judge.asks
        )
        if parts.steps and asked:  # without the models that make the texts
            described["model"] = " + ".join(asked)
    # what the config says of it was not used
    if not (parts.uses_own or parts.prompted) or not parts.asks:
        described.pop("prompt", None)
    if not parts.asks:
        del described["readout"]
    if len(parts.judges) > 1 or judges_named:
        described["judge"] = "+".join(judge.name for judge in parts.judges)
    return described


def _naming(choices: Mapping[str, str], parts: Parts) -> tuple[str, ...]:
    """The groups that a run is named by: the prompt among them only where a model reads it."""
    if "prompt" in choices:
        return ("model", "prompt", "judge") if parts.prompted else ("model", "judge")
    return ("judge",) if parts.asks else ("model",)


def _called(
    choices: Mapping[str, str], parts: Parts, chosen: Settings
) -> dict[str, str]:
    """What each choice is called in a run's name: a hosted model by its own name, where that of the
    option says nothing of it, and a dataset by the file that somebody brought."""
    called, model = dict(choices), parts.model.name.rpartition("@")[0]
    if model and choices.get("model", "") not in model:
        called["model"] = model.rpartition("/")[2]
    file = chosen.dataset.get("path")
    if isinstance(file, str) and Path(file).is_file():
        called["dataset"] = Path(file).stem
    return called


def _elsewhere(
    dataset: datasets.Judged, chosen: Settings, items: Sequence[Item], limits: Limits
) -> tuple[Recipe, NotingEngine]:
    """Recipe and engine of a run whose dataset brings its judgments with it."""
    if chosen.judges is not None or chosen.steps:
        key = "steps" if chosen.steps else "judges"
        raise ConfigError(
            f"`{key}` is set, and the dataset brings its own judgments: nobody is asked. Leave it"
            " out."
        )
    rubric, kept = build(chosen.rubric, "rubric"), {item.id for item in items}
    judgments = [
        judgment for judgment in dataset.judgments(rubric) if judgment.item_id in kept
    ]
    return Recipe({}, parts_of(judgments, rubric)), NotingEngine(judgments, limits)


def _redacts(
    chosen: Settings, parts: Parts, analysis: Analysis, search: Search | None
) -> bool:
    """Whether the run keeps no judged text (`tracking.redact`). Raises ConfigError where it must
    keep some."""
    if not chosen.tracking.get("redact"):
        return False
    if parts.steps:
        why = (
            f"`steps` ({', '.join(step.name for step in parts.steps)}) keep the texts that they"
            " make, to be resumed"
        )
    elif search is not None:
        why = f"optimizer={search.optimizer.name} keeps a program that may quote texts"
    elif getattr(analysis, "reads_words", False):
        why = f"analysis={analysis.name} reads what judges quote, which would be hidden"
    else:
        return True
    what = "`tracking.redact` is true, so the run's folder may hold no judged text"
    raise ConfigError(
        f"{what}, and {why}. Leave that out, or set tracking.redact=false."
    )


def _check_scale(journals: Journals, rubric: Rubric, folder: Path) -> None:
    """Raise DataError where a score in the journal is off the scale, which was changed since."""
    for judgment in journals.judgments.done.values():
        if judgment.score is not None and not rubric.contains(judgment.score):
            there = (
                f"{folder / JOURNAL}: item {judgment.item_id!r} has the score {judgment.score:g}"
                " there"
            )
            scale = f"the scale of rubric={rubric.name} is {rubric.scale.span()}"
            raise DataError(
                f"{there}, and {scale}. Delete its line to have the item judged again."
            )


def _mean_so_far(frame: pd.DataFrame, rubric: Rubric) -> str:
    """What a run that was stopped knows already of the mean of all its items; nothing where it
    knows too little."""
    mean = so_far(frame, rubric)
    if mean is None:
        return ""
    value = mean.estimate
    there = (
        f"{value.value:.1f} [{value.low:.1f}, {value.high:.1f}] ({value.level:.0%},"
        " whenever one stops)"
    )
    return (
        f"By the {value.n} judged texts of whole groups, the mean of all {mean.n_total}"
        f" would be {there}. "
    )


def _check_first(judgments: Sequence[Judgment], folder: Path) -> None:
    """Raise RunStopped with the first of judgments that all failed, where it did."""
    failure = judgments[0].outcome
    if not isinstance(failure, Failure):
        return
    first = (
        f"the first, for {judgments[0].item_id!r}: {failure.reason}: {failure.message}"
    )
    raw = f"\nThe model said: {failure.raw[:200]!r}" if failure.raw else ""
    way = "The journal keeps every raw answer. Try another readout= or model=."
    if unanswered(judgments[0]):
        way = f"Nothing of it is a verdict; to ask again: run.resume={folder}"
    raise RunStopped(
        f"no item could be judged ({len(judgments)} failures); {first}{raw}\n{way}"
    )


def _judge(experiment: Experiment, recipe: Recipe, manifest: Manifest) -> _Judgments:
    """Take all items through the recipe, and keep their scores whatever happens."""
    parts = recipe.build()
    items = experiment.items
    repeats = experiment.repeats
    folder = manifest.folder
    if experiment.label_scale is not None:
        manifest.data["label_scale"] = experiment.label_scale.model_dump(mode="json")
        manifest.data["rubric_scale"] = [parts.rubric.minimum, parts.rubric.maximum]
    manifest.data |= (
        {"steps": [step.name for step in parts.steps]} if parts.steps else {}
    )
    journals = Journals(folder, parts.steps, experiment.redact)
    _check_scale(journals, parts.rubric, folder)
    # What an earlier end of this run concluded from is no longer all that was judged.
    (folder / EVIDENCE).unlink(missing_ok=True)

    def reached() -> tuple[Sequence[Item], Sequence[Judgment], pd.DataFrame]:
        made, judgments = journals.results(items, parts.judges, repeats)
        return (
            made,
            judgments,
            tabulate(made, judgments, repeats, parts.expected(), gaps=parts.asks),
        )

    kept = 0
    if journals.begun:
        kept = sum(
            not unanswered(judgment)
            for judgment in journals.results(items, parts.judges, repeats)[1]
        )
    total = (
        None
        if parts.steps or not parts.asks
        else len(items) * repeats * len(parts.expected())
    )
    asked = in_order(
        items, turns((item.id for item in items), (item.pair for item in items))
    )
    try:
        with (
            meanwhile(_ahead(experiment, parts)),
            Progress(manifest.name, total, parts, kept) as progress,
        ):
            asyncio.run(
                experiment.engine.adrain(
                    recipe, asked, journals, repeats, progress.step
                )
            )
    except UndogmaticError as error:
        known = ""
        # it may be why it ended; what was judged is in the journal
        with contextlib.suppress(StorageError):
            _, _, frame = reached()
            keep_scores(
                folder, frame, OwnScale.of(experiment.label_scale, parts.rubric)
            )
            known = _mean_so_far(frame, parts.rubric)
        if isinstance(error, RunStopped):
            raise type(error)(
                f"{error}\n{progress.reached}. {known}Continue: run.resume={folder}"
            ) from None
        raise
    experiment.engine.findings = (
        *experiment.engine.findings,
        *answering(journals.served()),
    )
    made, judgments, frame = reached()
    keep_scores(folder, frame, OwnScale.of(experiment.label_scale, parts.rubric))
    if not judgments:
        raise RunStopped(
            "the steps made nothing of any item, and nothing was judged; steps/ says what they did."
        )
    if frame["error"].notna().all():
        _check_first(judgments, folder)
    failed = Failed.of(rows["error"] for rows in in_parts(frame, ["error"]))
    fitted = parts.fitted(made)
    return _Judgments(
        parts,
        made,
        judgments,
        frame,
        journals.costs(judgments),
        progress,
        failed,
        fitted,
    )


def _ahead(experiment: Experiment, parts: Parts) -> Sequence[Step]:
    """What report and tracker need can be loaded while a server answers. A model in this process
    needs it itself."""
    if not any(model.waits for model in parts.model.all()):
        return ()
    report = modules(
        "undogmatic.report.contents",
        "undogmatic.report.kept",
        "matplotlib.figure",
        "jinja2",
    )
    return [*report, *experiment.tracker.ahead()]


def _results(
    experiment: Experiment,
    judged: _Judgments,
    searched: Found | None,
    manifest: Manifest,
) -> list[Told]:
    """What the analyses make of the judgments: the plan's tests, the optimisation's gain, the
    analysis, the groups."""
    settled = run_settings(
        experiment.choices, experiment.config if experiment.parts.asks else {}
    )
    evidence = experiment.evidence(
        judged.items,
        judged.frame,
        digest=manifest.dataset_digest,
        set_to=settled,
        folder=str(as_typed(manifest.folder)),
    )
    gains: Sequence[Told] = ()
    if experiment.search is not None and searched is not None:
        gains = results_of(
            experiment.search,
            searched,
            judged.judgments,
            manifest.folder,
            experiment.rng(),
        )
        rows = judged.frame[judged.frame["judge"] == OPTIMISED]
        evidence = evidence.with_rows(rows.reset_index(drop=True))
    results = [
        *gains,
        *analyse(experiment.analysis, evidence, experiment.rng()),
        units(judged.items),
    ]
    if experiment.fit is not None:
        with doing("fitting to what was judged"):
            results.append(
                experiment.fit(
                    judged.items, judged.frame, experiment.chosen, manifest.folder
                )
            )
    if experiment.plan is not None:
        level = float(experiment.chosen.analysis.get("level") or LEVEL)
        results = [
            of_plan(experiment.plan, results, level, str(experiment.locked)),
            *results,
        ]
    # Last, over all answers alike: whatever an analysis found, texts that the judge was
    # fitted on, chosen labels and too many failures take a Yes back.
    supported = withheld(results, judged.fitted, len(judged.items))
    return too_many_failed(
        of_chosen_labels(supported, judged.frame),
        judged.failed,
        experiment.max_failures,
    )


def _finished(
    experiment: Experiment,
    judged: _Judgments,
    searched: Found | None,
    results: Sequence[Told],
    manifest: Manifest,
    started: float,
) -> FinishedRun:
    """All that report and tracker tell of the run: how models were asked, where the words lie,
    under which licences."""
    parts = judged.parts
    dataset = experiment.dataset
    progress = judged.progress
    several = len(judged.parts.judges) > 1
    with doing("comparing with earlier runs"):
        repeatability = manifest.compare(
            judged.frame, judged.judgments, parts.deterministic()
        )
    assumed = list(experiment.assumed)
    verdicts = [
        result.verdict.inner for result in results if result.verdict is not None
    ]
    # A judge that puts everything in the opposite order, with labels whose direction
    # was assumed, is most likely right: the assumption is doubted first.
    if assumed and any(verdict.subject == Subject.REVERSED for verdict in verdicts):
        told = {
            "high": f"{parts.rubric.maximum:g}",
            "back": f"{OPTION}[{parts.rubric.maximum:g},{parts.rubric.minimum:g}]",
        }
        told = next(
            (
                dict(finding.values)
                for finding in assumed
                if finding.key == "labels.assumed"
            ),
            told,
        )
        turned = Finding(
            "labels.reversed", told, weight=Weight.REVERSES, subject=Subject.TURNED
        )
        assumed.append(turned)
    texts = [
        TEXTS,
        *(
            x
            for part in (dataset, experiment.engine, experiment.analysis)
            for x in texts_beside(part)
        ),
    ]
    texts += [x for r in results for x in r.texts]
    models = [source.model for step in parts.judges for source in step.judge.readouts()]
    models += [model for step in parts.steps for model in step.models]
    steps = (
        step
        for judge in parts.judges
        for step in dict.fromkeys(
            itertools.chain([judge], map(judge.for_item, judged.items))
        )
    )
    asked = [way for step in steps for way in step.ways(step.name if several else "")]
    known: dict[str, Any] = {
        name: getattr(manifest, name)
        for name in ("name", "folder", "identity", "dataset_digest")
    }
    known |= {
        name: getattr(judged, name)
        for name in ("items", "judgments", "frame", "fitted")
    }
    known |= {"asked": asked, "fitted_on": texts_of_marks(parts.fitted_on())}
    return FinishedRun(
        **known,
        language=experiment.chosen.report.language,
        config=experiment.config,
        choices=experiment.choices,
        rubric=parts.rubric,
        results=results,
        metrics=metrics(
            judged.frame, judged.costs, progress.done, progress.seconds, results
        ),
        prompt_id=parts.prompt.id,
        prompt_hash=parts.provenance.prompt_hash,
        model_name=parts.model.name,
        versions=versions(),
        started=started,
        seconds=time.time() - started,
        examples=len(experiment.parts.shown),
        elsewhere=not parts.asks,
        unread=experiment.chosen.unread(parts.groups),
        repeatability=repeatability,
        assumed=[*assumed, *experiment.engine.findings],
        label_scale=experiment.label_scale,
        programs=()
        if searched is None
        else (searched.before.whole(), searched.after.whole()),
        texts=list(dict.fromkeys(texts)),
        model_licences=list(
            {str(model.licence): model.licence for model in models}.values()
        ),
        data_licence=dataset.licence if isinstance(dataset, Licensed) else None,
    )


def _keep_evidence(finished: FinishedRun) -> None:
    """Write what the answers rest on into the run's folder, so that a check of the folder gives the
    same."""
    known = (
        result.evidence for result in finished.results if result.evidence is not None
    )
    if (evidence := next(known, None)) is None:
        return
    # Even evidence for a later check keeps no text then, at the price that the check
    # cannot fit a word counter.
    if finished.settings.redacted:
        evidence = evidence.without_texts()
    rows = export.rows(evidence).to_dict("records")
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    files.write(finished.folder / EVIDENCE, "".join(lines))


def _report(finished: FinishedRun, tracker: Any) -> None:
    from undogmatic.report import contents, kept, terminal

    files.write(
        finished.folder / METRICS,
        json.dumps(dict(finished.metrics), indent=2, sort_keys=True) + "\n",
    )
    for result in finished.results:
        if result.items is not None:
            files.write(
                finished.folder / f"items_{result.full(result.name)}.csv",
                files.csv(result.items),
            )
    # Before the report: a report that fails must not cost the evidence.
    _keep_evidence(finished)
    kept.keep(finished)
    with doing("writing the report"):
        contents.write(finished)
    where = None
    try:
        with doing("logging the run"):
            where = tracker.log(finished)
    finally:  # what was measured is shown even if it could not be logged
        terminal.show(finished, where, brief=SWEEP_FOLDER in os.environ)


def _close(
    finished: FinishedRun, manifest: Manifest, failed: Failed, allowed: float
) -> float | None:
    """Note how the run ended; its headline. Raises RunStopped where some answers are still missing,
    or where more than the share `allowed` of the judgments failed."""
    headline = headline_of(finished.results)
    missing = sum(
        rows["error"].isin(RETRIED_ON_RESUME).sum()
        for rows in in_parts(finished.frame, ["error"])
    )
    standing = {
        r.full(r.name): r.standing
        for r in finished.results
        if r.standing is not None and not r.relative
    }
    facts: dict[str, Any] = {
        "headline": headline,
        "standing": standing,
        "seen": finished.fitted,
    }
    facts |= {
        "units": metric_units(finished.results),
        "graded": [r.full(r.name) for r in finished.results if r.graded],
        "choices": dict(finished.choices),
        "uses_prompt": finished.uses_prompt,
        "model": finished.model_name,
    }
    manifest.close(
        "stopped" if missing else "finished",
        **facts,
        texts=[str(path) for path in finished.texts],
    )
    # "Stopped", so that the same command goes on: the items are known, and only their
    # answers are missing.
    if missing:
        what = (
            f"{missing} of {len(finished.frame)} judgments got no answer from "
            f"{finished.model_name}"
        )
        way = f"To ask for these again: the same command with run.resume={finished.folder}"
        raise RunStopped(f"{what}; the report says which. {way}")
    # After the report is written. The status tells a script that the figures rest on
    # too few answers; the reader still gets them.
    if failed.too_many(allowed):
        what = (
            f"{failed.n} of {failed.total} judgments failed, more than"
            f" engine.max_failures={allowed:g} allows"
        )
        way = (
            f"the report in {finished.folder} says why. engine.max_failures=1 ends such a run"
            " without an error"
        )
        raise RunStopped(f"{what}; {way}.")
    return finished.metrics[headline] if headline is not None else None
