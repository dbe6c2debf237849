"""Makes an optimisation of the composed run: a program that is saved, and the verdict whether it is
better."""

import contextlib
import io
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import dspy
import numpy as np
import pandas as pd
from dspy.utils.exceptions import AdapterParseError
from pydantic import Field, ValidationError

from undogmatic.config.build import Settings, build
from undogmatic.datasets.belonging import groups_of
from undogmatic.engine.journal import LEDGER, Ledger
from undogmatic.engine.local import LocalEngine
from undogmatic.engine.programs import (
    Lineage,
    Program,
    changes,
    load,
    predictors,
    rubric_digest,
)
from undogmatic.engine.recipe import Parts
from undogmatic.engine.step import JudgeStep
from undogmatic.errors import ConfigError, DataError, RunStopped, UndogmaticError, ours
from undogmatic.examinations.improvement import AFTER as OPTIMISED
from undogmatic.examinations.improvement import BEFORE as BASELINE
from undogmatic.examinations.improvement import Measured, improvement
from undogmatic.examinations.truth import Margin, margin_of
from undogmatic.judges.base import Judge
from undogmatic.models.base import Chats, Model, SeveralModels
from undogmatic.models.calls import Budget, ReplyCache
from undogmatic.models.language_model import LanguageModel
from undogmatic.models.pace import START
from undogmatic.optimize.metrics import Terms, units
from undogmatic.optimize.optimizers import (
    OTHERS,
    Known,
    Measure,
    Optimizer,
    Task,
    Work,
    example,
)
from undogmatic.optimize.splits import Data, contrast, gather, node_of
from undogmatic.records.marks import text_marks
from undogmatic.records.progress import doing, in_words
from undogmatic.records.records import (
    Item,
    Judgment,
    Record,
    Verdict,
    digest,
    items_digest,
)
from undogmatic.records.results import Told
from undogmatic.runs import claim
from undogmatic.runs.folder import PROGRAM, RunFolder
from undogmatic.runs.looks import looked
from undogmatic.safety import files

PARENT = "baseline.json"
SPLITS = "splits.json"
LOG = "optimisation.log"
SPENT = "optimisation.json"
# seconds in which a call that is under way must have ended once the search is stopped
PATIENCE = 300.0
LONGEST = 400  # characters of a line of what changed; the program's file has all of it


class Spent(Record):
    """What a search took, over all attempts: calls to the models, without the cache's answers, and
    USD; and how many programs judged anything, the one that it began with included."""

    calls: int = Field(ge=0)
    usd: float = Field(ge=0, allow_inf_nan=False)
    programs: int = Field(ge=0)


class Found(NamedTuple):
    """What an optimisation came to: the two programs, and the run's parts with a judge for each."""

    before: Program
    after: Program
    parts: Parts
    # False where nothing that was tried did better on the validation texts: the program is as it
    # was
    kept: bool
    spent: Spent | None  # None where its file was deleted


class Search:
    """An optimisation that is planned: its data are split, checked and known, and nothing was asked
    yet.

    `chosen` is the run's composed config, validated; the judge of its parts is the baseline.

    Raises:
        ConfigError, DataError: It cannot be done; says what can.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        config: Mapping[str, Any],
        chosen: Settings,
        parts: Parts,
        items: Sequence[Item],
    ) -> None:
        if len(parts.judges) > 1:
            raise ConfigError(
                "one judge is optimised at a time: name it with judge=, and leave `judges` and"
                " `steps` out."
            )
        if parts.steps or not parts.asks:
            raise ConfigError(
                "an optimisation judges items as they are: leave `steps` out, and choose a dataset"
                " of texts."
            )
        self.optimizer = optimizer
        self.chosen = chosen
        self.parts = parts
        self.baseline = parts.judge
        if not self.baseline.asks or not self.baseline.predictors():
            served = ", ".join(parts.model.readouts)
            raise ConfigError(
                f"judge={self.baseline.name} on {parts.model.name} (readout {parts.readout_name})"
                f" reads no prompt, so there is nothing to optimise. The model serves: {served};"
                " take readout=structured or readout=logprobs, or a model that answers in words"
                " (model=local, model=gpt)."
            )
        criteria = self.baseline.criteria
        self.criterion = (
            criteria[0] if optimizer.criterion is None else optimizer.criterion
        )
        if self.criterion not in criteria:
            raise ConfigError(
                f"`optimizer.criterion` is {self.criterion!r}; judge={self.baseline.name} has:"
                f" {', '.join(criteria)}."
            )
        self.terms = Terms(parts.rubric, self.criterion, *contrast(optimizer, config))
        self.writer = _writer(optimizer, chosen, parts)
        self.data: Data = gather(optimizer, chosen, self.terms, items)
        if optimizer.needs_labels and self.data.on_train.name != "error":
            raise DataError(
                f"optimizer={optimizer.name} shows texts with labels, and the development texts"
                " have none. Name some with optimizer.examples=DATASET, or use"
                " optimizer=bootstrap, which shows the judge's own answers."
            )

    @property
    def identity(self) -> str:
        """Hash of what determines the program and so the judgments: baseline, optimiser, texts,
        seed."""
        optimizer = self.optimizer
        seen = [items_digest(side) for side in self.data.splits]
        writer = None if self.writer is None else self.writer.name
        return digest(
            [
                self.parts.identity,
                optimizer.name,
                optimizer.model_dump(),
                seen,
                self.chosen.seed,
                writer,
            ]
        )

    def run(self, engine: LocalEngine, folder: Path) -> Found:
        """Optimise, or take up what this folder holds already.

        Every answer is in the cache as soon as it is there, and DSPy's optimisers ask the same in
        the same order for the same seed: a search that was killed goes on by asking again, and pays
        for what was not answered yet.

        Raises:
            RunStopped: A budget is full or the server is gone.
        """
        claim.keep(folder)
        files.write(folder / SPLITS, self.data.splits.form(self.chosen.seed))
        before = self._program(self.baseline, BASELINE)
        if (folder / PROGRAM).is_file():
            after = load(folder / PROGRAM, str(folder / PROGRAM))
            judge = self.baseline.deepcopy()
            after.put_into(judge, "judge")
        else:
            with self._connected(engine, folder) as budget:
                judge, scores, programs = self._compile(engine, folder)
                spent = Spent(calls=budget.calls, usd=budget.usd, programs=programs)
            files.write(folder / SPENT, spent.model_dump_json() + "\n")
            after = self._program(judge, OPTIMISED, *scores)
            files.write(folder / PARENT, before.text())
            files.write(folder / PROGRAM, after.text())
        try:
            noted = RunFolder(folder).json(SPENT)
            all_spent = Spent.model_validate(noted) if noted else None
        except ValidationError:
            raise DataError(
                f"{folder / SPENT}: not what a search took (`calls` and `usd`). Delete it: the"
                " report leaves it out then."
            ) from None
        origin = self.parts.judges[0].provenance
        hashes = {"program_hash": judge.program_hash()}
        hashes |= {
            "prompt": after.name,
            "prompt_hash": after.digest,
            "config_hash": self.identity,
        }
        optimised = JudgeStep(judge, origin.model_copy(update=hashes), OPTIMISED)
        steps = JudgeStep(self.baseline, origin, BASELINE), optimised
        kept = after.predictors != before.predictors
        return Found(before, after, self.parts._replace(judges=steps), kept, all_spent)

    def _compile(
        self, engine: LocalEngine, folder: Path
    ) -> tuple[Judge, tuple[float, float], int]:
        """The best judge, what the one before it and it earned on validation examples, and how many
        were tried."""
        data, threads = self.data, engine.limits.concurrency or START
        known = Known(
            item for items in (*data.train, *data.validation) for item in items
        )
        task = Task(self.baseline.deepcopy(), known, self.criterion)
        validation = [
            example(items, data.metric, self.terms) for items in data.validation
        ]
        work = Work(
            task,
            [example(items, data.on_train, self.terms) for items in data.train],
            [*validation],
            Measure(
                self.terms,
                self.parts.prompt.language,
                known,
                self.optimizer.cost_weight,
            ),
            writer=(
                None
                if self.writer is None
                else LanguageModel(self.writer, temperature=1.0, max_tokens=4000)
            ),
            threads=min(threads, self.parts.model.max_concurrency or threads),
            seed=self.chosen.seed,
        )
        evaluate = dspy.Evaluate(
            devset=validation, metric=work.measure, num_threads=work.threads
        )
        told = doing(
            lambda: in_words(
                "searched", optimizer=self.optimizer.name, judged=known.judged
            )
        )
        # A wrong answer is no error here (`Task`), so the first one ends the search.
        with (
            self.parts.asking(),
            dspy.context(max_errors=1),
            told,
            _watched(known, folder),
        ):
            compiled = self.optimizer.compile(work)
            before, after = (
                float(evaluate(program).score) / 100 for program in (task, compiled)
            )
        # As good is not better: a program that was changed for nothing would have to be
        # read and kept by somebody.
        if after <= before:
            return task.judge, (before, before), len(known.programs)
        judge: Judge = compiled.judge
        for _, predictor in judge.named_predictors():
            predictor.lm = None  # SIMBA leaves the one that it sampled with
        return judge, (before, after), len(known.programs)

    @contextlib.contextmanager
    def _connected(self, engine: LocalEngine, folder: Path) -> Iterator[Budget]:
        """Connect the models so that their calls stand in the run's ledger, and give what all
        attempts have spent."""
        model: Model = self.parts.model
        if self.writer is not None and self.writer is not model:
            model = SeveralModels([model, self.writer])
        cache = ReplyCache(
            engine.cache_dir if engine.cache else folder / "optimisation"
        )
        budget = Budget(engine.limits)
        with Ledger(folder / LEDGER, []) as ledger, contextlib.closing(cache):
            budget.calls = ledger.calls
            budget.usd = ledger.usd
            budget.note = ledger.note
            model.connect(engine.gateway(cache, budget))
            yield budget

    def _program(
        self,
        judge: Judge,
        name: str,
        before: float | None = None,
        after: float | None = None,
    ) -> Program:
        """A judge's program, with what it came from; `before` and `after` are what was earned."""
        parts, baseline, optimised = self.parts, self.baseline, name == OPTIMISED
        # What the baseline was chosen by counts for all that is made of it.
        seen = set(baseline.all_weighed_on())
        if optimised:
            seen |= text_marks(
                item.text
                for row in (*self.data.train, *self.data.validation)
                for item in row
            )
        lineage = Lineage(
            parent=parts.provenance.prompt,
            optimizer=self.optimizer.name if optimised else "none",
            metric=self.data.metric.name,
            seed=self.chosen.seed,
            data=digest([items_digest(side) for side in self.data.splits[:2]]),
            before=before,
            after=after,
            texts=tuple(sorted(seen)),
        )
        return Program(
            name=f"{parts.rubric.name}-{baseline.name}-{name}",
            judge=baseline.name,
            readout=parts.provenance.readout,
            language=parts.prompt.language,
            rubric=parts.rubric.name,
            rubric_digest=rubric_digest(parts.rubric),
            model=parts.provenance.model,
            predictors=predictors(judge),
            lineage=lineage,
        )


def _writer(optimizer: Optimizer, chosen: Settings, parts: Parts) -> Model | None:
    """The model that writes prompts. Raises ConfigError where it cannot."""
    if not optimizer.writes:
        return None
    model, key = parts.model.asked(), "optimizer.prompt_model"
    if optimizer.prompt_model is not None:
        model = build(
            node_of("model", optimizer.prompt_model, key, chosen), f"{key}.model"
        )
    if not isinstance(model, Chats) or model.base or "structured" not in model.readouts:
        raise ConfigError(
            f"optimizer={optimizer.name} needs a model that writes prompts, and {model.name}"
            " cannot. Name one with optimizer.prompt_model=gpt (or another of conf/model), or take"
            f" one that asks for nothing to be written: optimizer={', '.join(OTHERS)}."
        )
    return model


class _Bars(io.TextIOBase):
    """Standard error (`screen`) without DSPy's progress bars, which redraw their line."""

    def __init__(self, screen: TextIO) -> None:
        self.screen, self.open = screen, False

    def write(self, text: str) -> int:
        if "\r" not in text and (text.strip() or self.open):
            self.screen.write(text)
            self.open = not text.endswith("\n")
        return len(text)

    def flush(self) -> None:
        self.screen.flush()


@contextlib.contextmanager
def _watched(known: Known, folder: Path) -> Iterator[None]:
    """Put what DSPy prints of its progress into a file of the run's, and raise what ended the
    search instead of what DSPy made of it, also where DSPy went on without it."""
    log, printed = logging.getLogger("dspy"), io.StringIO()
    handlers, level = log.handlers[:], log.level
    log.handlers[:] = [logging.StreamHandler(printed)]
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(_Bars(sys.stderr)),
        ):
            yield
    except BaseException as error:
        # DSPy leaves its threads to themselves, and they use the cache: none begins any more
        with known.changed:
            known.stopped = known.stopped or error
            known.changed.wait_for(lambda: known.running == 0, PATIENCE)
        if not isinstance(error, Exception):
            raise
        known.stopped = (
            known.stopped if isinstance(known.stopped, UndogmaticError) else ours(error)
        )
        # of the writer: a judge's is a wrong answer
        if isinstance(error, AdapterParseError) and known.stopped is None:
            known.stopped = DataError(
                "the model that writes prompts gave a proposal that cannot be read:"
                f" {str(error).splitlines()[0]} So nothing was found. Choose one that follows"
                " instructions (optimizer.prompt_model=NAME), or an optimiser that needs none:"
                f" {', '.join(OTHERS)}."
            )
        if known.stopped is None:
            raise
    finally:
        log.handlers[:] = handlers
        log.setLevel(level)
        files.write(folder / LOG, printed.getvalue())
    if isinstance(known.stopped, ConfigError | DataError):
        raise known.stopped from None
    if known.stopped is not None:
        raise RunStopped(
            f"{known.stopped}\nThe search was stopped after {known.judged} judgments, whose answers"
            f" are kept. Continue: run.resume={folder}"
        ) from None


def results_of(
    search: Search,
    searched: Found,
    judgments: Sequence[Judgment],
    folder: Path,
    rng: np.random.Generator,
) -> list[Told]:
    """Is the optimised program better on the test split, and what is it? `judgments` are both
    programs'; the look is noted beside the run's folder."""
    first = [j for j in judgments if j.repeat == 0 and j.criterion == search.criterion]
    programs = [
        program.model_dump(mode="json")["predictors"]
        for program in (searched.before, searched.after)
    ]
    noted = [*programs, search.data.metric.name] if searched.kept else None
    looks = looked(
        folder,
        search.data.splits.test,
        f"{search.terms.rubric.name}.{search.criterion}",
        noted,
    )
    result = improvement(
        earned(search, first),
        rng,
        search.optimizer.alpha,
        search.optimizer.power,
        looks,
        not searched.kept,
    )
    return [result, _change(search, searched)]


def earned(search: Search, judgments: Sequence[Judgment]) -> Measured:
    """What both programs earned on every test text or pair, in the terms of the verdict."""
    metric = search.data.metric
    terms = search.terms
    test = search.data.splits.test
    margin = search.optimizer.margin
    outcomes = {
        (j.judge, j.item_id): j.outcome
        for j in judgments
        if isinstance(j.outcome, Verdict)
    }
    group = groups_of(test)
    ranks = metric.of == "block"
    rubric = terms.rubric
    span = terms.span

    def stated(value: float) -> float:
        """A metric's value in [0, 1] as the verdict states it: a share, a difference or a distance
        (below 0)."""
        return {
            "share": value,
            "difference": (2 * value - 1) * span,
            "distance": (value - 1) * span,
        }[metric.told]

    rows: list[dict[str, Any]] = []
    for items in units(test, metric, terms):
        row: dict[str, Any] = {"group": group[items[0].id]} | (
            {"label": terms.label(items[0])} if ranks else {}
        )
        for arm in (BASELINE, OPTIMISED):
            row[arm], verdicts = (
                np.nan,
                [
                    outcomes[arm, item.id]
                    for item in items
                    if (arm, item.id) in outcomes
                ],
            )
            if len(verdicts) == len(items):
                row[arm] = (
                    verdicts[0].score
                    if ranks
                    else stated(metric.value(items, verdicts, terms))
                )
        rows.append(row)
    ends = (rubric.minimum, rubric.maximum) if ranks else (stated(0.0), stated(1.0))
    # The rubric's margin is one of what is measured on its scale; a share has none, unless somebody
    # sets it.
    none = Margin(margin or 0.0, "default" if margin is None else "analysis", 1.0)
    matters = (
        margin_of(rubric, margin)
        if metric.told != "share" and rubric.scale.ordered
        else none
    )
    table = pd.DataFrame(rows)
    return Measured(
        metric.name,
        table,
        ranks,
        metric.told == "distance",
        ends,
        matters,
        _costs(judgments),
    )


def _costs(judgments: Sequence[Judgment]) -> pd.DataFrame:
    """Per text: calls, thousand characters sent, and money. The cache hides neither calls nor
    characters."""
    rows = [
        (
            j.judge,
            len(j.calls),
            sum(len(str(call.request)) for call in j.calls) / 1000,
            j.cost.usd,
        )
        for j in judgments
    ]
    taken = (
        pd.DataFrame(rows, columns=["judge", "calls", "characters", "usd"])
        .set_index("judge")
        .astype(np.float64)
    )
    means = (
        taken.groupby(level="judge")
        .agg(lambda one: one.mean(skipna=False))
        .reindex([BASELINE, OPTIMISED])
        .T
    )
    table = means.rename_axis(index="cost", columns=None).dropna().reset_index()
    return table[
        (table["cost"] != "usd") | (table[OPTIMISED] + table[BASELINE] > 0)
    ].reset_index(drop=True)


def _change(search: Search, searched: Found) -> Told:
    """How the program was found, and what differs in it."""
    lineage, data, tell = searched.after.lineage, search.data, Told("program")
    sides = lineage.model_dump(
        include={"optimizer", "metric", "before", "after", "seed"}
    )
    sides |= {
        "train": len(data.train),
        "train_of": f"{data.on_train.of}_of",
        "test": len(data.splits.test),
    }
    sides |= {
        "validation": len(data.validation),
        "validation_of": f"{data.metric.of}_of",
    }
    alone = searched.spent is not None and searched.spent.programs <= 1
    tell.say("sides", sides)
    tell.say("found" if searched.kept else "untried" if alone else "kept", sides)
    tell.number(lineage.before, "validation_before")
    tell.number(lineage.after, "validation_after")
    if searched.spent is not None:
        spent = searched.spent.model_dump(exclude={"programs"})
        tell.say("priced" if spent["usd"] else "asked", spent)
        for name, value in spent.items():
            tell.number(
                value, f"search_{name}", unit="usd" if name == "usd" else "count"
            )
    table = changes(searched.before.predictors, searched.after.predictors)
    if len(table):
        table["text"] = table["text"].str[:LONGEST]
        tell.tables["changes"] = (
            table
            if table["predictor"].nunique() > 1
            else table.drop(columns="predictor")
        )
    return tell.result(texts=(Path(__file__).with_name("verdict.texts.yaml"),))
